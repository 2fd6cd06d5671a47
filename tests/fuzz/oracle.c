/* What must hold whatever comes in. A fault ends the process, so that whoever drives the harness keeps the input. */
#include "fuzz.h"
#include <stdarg.h>
#include <stdio.h>

void fault(const char *format, ...) {
    va_list more;
    fputs("\n== FAULT: ", stderr);
    va_start(more, format);
    vfprintf(stderr, format, more);
    va_end(more);
    fputc('\n', stderr);
    if (PyErr_Occurred()) PyErr_Print();
    fflush(stderr);
    abort();
}

void say(const char *format, ...) {
    static int aloud = -1;
    va_list more;
    if (aloud < 0) aloud = getenv("LEND_FUZZ_SAY") != NULL;
    if (!aloud) return;
    va_start(more, format);
    vfprintf(stderr, format, more);
    va_end(more);
    fflush(stderr);
}

void expect_none(const char *where) {
    if (PyErr_Occurred()) fault("an exception was pending %s", where);
}

/* -- exceptions ----------------------------------------------------------------------------------------------------------- */

static int is_allowed(unsigned allowed) {
    static PyObject **const kinds[] = {
        &lend.lend_error, &PyExc_TypeError, &PyExc_ValueError, &PyExc_IndexError, &PyExc_AttributeError,
        &PyExc_OverflowError, &PyExc_BufferError, &PyExc_MemoryError, &PyExc_KeyError,
    };
    unsigned i;
    if (PyErr_ExceptionMatches(PyExc_SystemError)) return 0;
    for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if ((allowed >> i & 1) && PyErr_ExceptionMatches(*kinds[i])) return 1;
    /* what a caller gives is his own, with its exceptions: those of the strange objects of input.c */
    if (strange_made && (allowed & TYPE_ERROR) && PyErr_ExceptionMatches(PyExc_RuntimeError)) return 1;
    /* what is no refusal passes through */
    if (raised_by_producers & 1 << MOOD_INTERRUPT && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) return 1;
    if (raised_by_producers & 1 << MOOD_MEMORY_ERROR && PyErr_ExceptionMatches(PyExc_MemoryError)) return 1;
    if (raised_by_producers & 1 << MOOD_RECURSION_ERROR && PyErr_ExceptionMatches(PyExc_RecursionError)) return 1;
    return lend_fuzz_failed != 0 && PyErr_ExceptionMatches(PyExc_MemoryError);
}

void refused(unsigned allowed) {
    if (!PyErr_Occurred()) fault("a call failed and set no exception");
    say("   refused: %s\n", Py_TYPE(PyErr_Occurred())->tp_name == NULL ? "" : ((PyTypeObject *)PyErr_Occurred())->tp_name);
    if (!is_allowed(allowed)) fault("this exception may not come out (allowed: %#x)", allowed);
    PyErr_Clear();
}

int returned(PyObject *result, unsigned allowed) {
    if (result == NULL) {
        refused(allowed);
        return 0;
    }
    expect_none("beside a result");
    return 1;
}

/* -- layouts --------------------------------------------------------------------------------------------------------------- */

/* The bits of an element of which several share a byte; 0 for what has whole bytes. */
static int shared_bits(const lend_view *view) {
    return view->dtype.itemsize == 0 && view->dtype.bits < 8 ? view->dtype.bits * view->dtype.lanes : 0;
}

/* The bytes that such elements fill. */
static wide packed_bytes(const lend_view *view) {
    const int64_t *shape = lend_shape(view);
    wide bits = shared_bits(view);
    int i;
    for (i = 0; i < view->ndim; i++) bits *= shape[i];
    return (bits + 7) / 8;
}

/* The bytes that the elements touch, from element 0 on; 0 if there are none. */
static int span_of(const lend_view *view, wide *low, wide *high) {
    const int64_t *shape = lend_shape(view), *strides = lend_strides(view);
    int i;
    if (shared_bits(view) != 0) {
        *low = 0;
        *high = packed_bytes(view);
        return *high != 0;
    }
    *low = 0;
    *high = view->dtype.itemsize;
    for (i = 0; i < view->ndim; i++) {
        wide reach;
        if (shape[i] == 0 || view->dtype.itemsize == 0) { /* items of no bytes lie nowhere */
            *low = *high = 0;
            return 0;
        }
        reach = (wide)(shape[i] - 1) * strides[i];
        if (reach < 0) *low += reach;
        else *high += reach;
    }
    return *high != *low;
}

static int contiguous(const lend_view *view, int fortran) {
    const int64_t *shape = lend_shape(view), *strides = lend_strides(view);
    wide step = view->dtype.itemsize;
    int i, wider = 0;
    for (i = 0; i < view->ndim; i++) {
        if (shape[i] == 0) return 1;
        wider += shape[i] > 1;
    }
    if (shared_bits(view) != 0) return !fortran || wider <= 1;
    for (i = 0; i < view->ndim; i++) {
        const int k = fortran ? i : view->ndim - 1 - i;
        if (shape[k] > 1 && strides[k] != step) return 0;
        if (shape[k] > 1) step *= shape[k];
    }
    return 1;
}

static void check_told(const lend_view *view, const facts *told) {
    const int64_t *shape = lend_shape(view), *strides = lend_strides(view);
    wide low, high;
    int i, empty = 0;
    if (told->mood == MOOD_INLINE_SHAPE || told->suboffsets != NULL) return;
    /* elements that are arrays themselves give dimensions more */
    if (view->ndim < told->held) fault("%d dimensions were told, and the View has %d", told->ndim, view->ndim);
    for (i = 0; i < told->held; i++) {
        if (shape[i] != told->shape[i]) fault("extent %d is not what was told", i);
        empty |= shape[i] == 0;
    }
    if (told->readonly && (told->flags & 1) && !(view->flags & LEND_READONLY))
        fault("read-only memory became writable");
    if (empty || view->dtype.itemsize == 0) return;
    if (view->flags & LEND_OPAQUE_HANDLE) return;
    span_of(view, &low, &high);
    if (told->high > told->low) {
        if ((wide)(intptr_t)view->data + low < (wide)(intptr_t)told->low
            || (wide)(intptr_t)view->data + high > (wide)(intptr_t)told->high)
            fault("a View leaves the buffer that its data was given in");
        return;
    }
    if ((uintptr_t)view->data != (uintptr_t)told->data
        && (uintptr_t)view->data != (uintptr_t)told->data + told->byte_offset)
        fault("the address is not what was told");
    for (i = 0; i < told->held && view->ndim == told->held; i++) {
        if (shape[i] <= 1) continue;
        if (told->strides == NULL ? (wide)strides[i] != natural_stride(told, i) && view->dtype.itemsize == told->itemsize
                                  : strides[i] != told->strides[i]
                                        && (wide)strides[i] != (wide)told->steps[i] * view->dtype.itemsize)
            fault("stride %d is not what was told", i);
    }
}

void check_view(const lend_view *view, const facts *told) {
    const int64_t *shape, *strides;
    wide count = 1, low, high;
    int i, overlap = 0, empty = 0;
    uint32_t flags = 0;
    if (view->ndim < 0 || view->ndim > 64) fault("a View of %d dimensions", view->ndim);
    shape = lend_shape(view);
    strides = lend_strides(view);
    say("   view: data %p + %llu, device %d, dtype %u/%u x %u (%u bytes), flags %#x, ndim %d", view->data,
        (unsigned long long)view->byte_offset, view->device_type, view->dtype.code, view->dtype.bits, view->dtype.lanes,
        view->dtype.itemsize, view->flags, view->ndim);
    for (i = 0; i < view->ndim; i++) say(" %lld/%lld", (long long)shape[i], (long long)strides[i]);
    say("\n");
    for (i = 0; i < view->ndim; i++) {
        if (shape[i] < 0) fault("a View with a negative extent");
        if (shape[i] == 0) empty = 1;
    }
    for (i = 0; i < view->ndim && !empty; i++) {
        count *= shape[i];
        if (count > INT64_MAX) fault("a View whose elements cannot be counted");
        if (shape[i] > 1 && strides[i] == 0) overlap = 1;
        if (shared_bits(view) != 0 && strides[i] != 0) fault("a stride of elements that share bytes");
    }
    if (empty) count = 0;
    if (count * view->dtype.itemsize > INT64_MAX) fault("a View whose bytes cannot be counted");
    if ((wide)view->nbytes != (shared_bits(view) != 0 ? packed_bytes(view) : count * view->dtype.itemsize))
        fault("nbytes is not elements times itemsize");
    if (view->dtype.bits % 8 == 0 && view->dtype.bits != 0 && view->dtype.itemsize != view->dtype.bits / 8 * (uint32_t)view->dtype.lanes)
        fault("itemsize %u of %u lanes of %u bits", view->dtype.itemsize, view->dtype.lanes, view->dtype.bits);
    if (view->device_type < 1 || view->device_type > 255) fault("device type %d", view->device_type);
    if (span_of(view, &low, &high) && !(view->flags & LEND_OPAQUE_HANDLE)) {
        const wide at = (wide)(uintptr_t)view->data + view->byte_offset;
        if (high - low > INT64_MAX) fault("a View whose span overflows");
        if (at + low < 0 || at + high > (wide)UINT64_MAX) fault("a View that leaves the address space");
        if (view->data == NULL) fault("a View of elements at NULL");
    }
    if (contiguous(view, 0)) flags |= LEND_C_CONTIGUOUS;
    if (contiguous(view, 1)) flags |= LEND_F_CONTIGUOUS;
    if ((view->flags & (LEND_C_CONTIGUOUS | LEND_F_CONTIGUOUS)) != flags)
        fault("contiguity %#x, and the flags say %#x", flags, view->flags);
    if (overlap && view->dtype.itemsize != 0 && !(view->flags & LEND_READONLY))
        fault("elements overlap, and may be written");
    if (told != NULL) check_told(view, told);
}

/* -- objects ----------------------------------------------------------------------------------------------------------------- */

static int64_t number_of(PyObject *object, const char *name) {
    PyObject *found = PyObject_GetAttrString(object, name);
    int64_t number = 0;
    if (found == NULL) {
        /* released by what the test did */
        refused(LEND_ERROR | (lend_fuzz_failed ? MEMORY_ERROR : 0));
        return -1;
    }
    if (PyLong_Check(found)) number = (int64_t)PyLong_AsUnsignedLongLongMask(found);
    Py_DECREF(found);
    expect_none("when an attribute was read");
    return number;
}

static void check_sizes(PyObject *object, const char *name, const int64_t *wanted, int n) {
    PyObject *found = PyObject_GetAttrString(object, name);
    int i;
    if (found == NULL) {
        refused(lend_fuzz_failed ? MEMORY_ERROR : 0);
        return;
    }
    if (!PyTuple_CheckExact(found) || PyTuple_GET_SIZE(found) != n) fault("%s is no tuple of %d", name, n);
    for (i = 0; i < n; i++)
        if (PyLong_AsLongLong(PyTuple_GET_ITEM(found, i)) != wanted[i]) fault("%s and lend_borrow differ", name);
    Py_DECREF(found);
}

void check_object(PyObject *object, const facts *told) {
    lend_view view = LEND_VIEW_INIT;
    if (Py_TYPE(object) != (PyTypeObject *)lend.view_type) return;
    if (lend_borrow(object, NULL, &view) < 0) {
        refused(LEND_ERROR);
        return;
    }
    expect_none("after lend_borrow");
    check_view(&view, told);
    if (number_of(object, "nbytes") != (int64_t)view.nbytes) fault("nbytes and lend_borrow differ");
    if (number_of(object, "itemsize") != (int64_t)view.dtype.itemsize) fault("itemsize and lend_borrow differ");
    if (!(view.flags & LEND_OPAQUE_HANDLE) && number_of(object, "ptr") != (int64_t)(intptr_t)lend_data(&view))
        fault("ptr and lend_borrow differ");
    check_sizes(object, "shape", lend_shape(&view), view.ndim);
    if (shared_bits(&view) == 0) check_sizes(object, "strides", lend_strides(&view), view.ndim);
    lend_release(&view);
}

#define MANY 600

int is_readable(const lend_view *view, int trusted) {
    wide low, high, count = 1;
    int i;
    const int host = view->device_type == 1 || view->device_type == 3 || view->device_type == 11
                     || view->device_type == 13;
    if (!host || (view->flags & LEND_OPAQUE_HANDLE)) return 0;
    for (i = 0; i < view->ndim; i++) /* also around an extent of 0 there can be too many lists */
        if (lend_shape(view)[i] != 0 && (count *= lend_shape(view)[i]) > MANY) return 0;
    if (view->dtype.itemsize > 1 << 16) return 0;
    if (view->dtype.code == LEND_OBJECT || (view->dtype.code == LEND_RECORD && objects_told)) return 0; /* of nobody */
    if (trusted || !span_of(view, &low, &high)) return 1;
    return (wide)(intptr_t)view->data + low >= (wide)(intptr_t)arena
           && (wide)(intptr_t)view->data + high <= (wide)(intptr_t)(arena + ARENA);
}

static const char *gathered(const lend_view *view, int fortran, int depth, const char *from, const char *to) {
    const int dim = fortran ? view->ndim - 1 - depth : depth;
    const size_t size = view->dtype.itemsize;
    int64_t i;
    if (depth == view->ndim) {
        size_t k;
        for (k = 0; k < size; k++)
            if ((view->dtype.code == LEND_BOOL ? from[k] != 0 : from[k]) != to[k])
                fault("the bytes are not those of the memory");
        return to + size;
    }
    for (i = 0; i < lend_shape(view)[dim]; i++)
        to = gathered(view, fortran, depth + 1, from + i * lend_strides(view)[dim], to);
    return to;
}

void check_bytes(const lend_view *view, PyObject *bytes, int fortran) {
    if (!PyBytes_CheckExact(bytes) || (uint64_t)PyBytes_GET_SIZE(bytes) != view->nbytes)
        fault("tobytes gave another number of bytes");
    if (view->nbytes != 0 && shared_bits(view) != 0) {
        const int rest = (int)(lend_size(view) * shared_bits(view) % 8), last = (int)view->nbytes - 1;
        const unsigned char *from = (const unsigned char *)lend_data(view);
        const unsigned char *to = (const unsigned char *)PyBytes_AS_STRING(bytes);
        if (memcmp(from, to, last) != 0 || to[last] != (rest ? from[last] & ((1 << rest) - 1) : from[last]))
            fault("the bytes are not those of the memory");
    } else if (view->nbytes != 0) gathered(view, fortran, 0, lend_data(view), PyBytes_AS_STRING(bytes));
}

/* A tensor that lend made. */
void check_tensor(const DLTensor *tensor) {
    wide count = 1;
    int i;
    if (tensor->ndim < 0 || tensor->ndim > 64) fault("a tensor of %d dimensions", tensor->ndim);
    if (tensor->shape == NULL || tensor->strides == NULL) fault("a tensor without a shape or strides");
    for (i = 0; i < tensor->ndim; i++) {
        if (tensor->shape[i] < 0) fault("a tensor with a negative extent");
        if (tensor->shape[i] == 0) count = 0;
    }
    for (i = 0; i < tensor->ndim && count != 0; i++) {
        if (tensor->shape[i] > 1 && tensor->strides[i] < 0) fault("a tensor with a negative stride");
        count *= tensor->shape[i];
        if (count > INT64_MAX) fault("a tensor whose elements cannot be counted");
    }
    if (count != 0 && tensor->data == NULL && tensor->device.device_type == 1 && tensor->dtype.lanes != 0)
        fault("a tensor of elements at NULL");
}

/* -- after each input -------------------------------------------------------------------------------------------------------- */

/* Nothing may be left, in no cycle either: what only the collector ends keeps the memory of others until then. */
void check_leftovers(void) {
    if (live_producers != 0) fault("%ld producers are still held", live_producers);
    if (open_buffers != 0) fault("%ld buffers are still open", open_buffers);
    if (live_tensors != 0) fault("%ld DLPack tensors were not given back", live_tensors);
    if (live_structs != 0) fault("%ld array structs are still held", live_structs);
    if (live_arrow != 0) fault("%ld structs of Arrow's were not released", live_arrow);
    if (lend_fuzz_blocks != 0) fault("%ld blocks of lend's own are left", lend_fuzz_blocks);
}
