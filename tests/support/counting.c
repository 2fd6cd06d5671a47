/* `lend_counting`: exporters and consumers that keep books, for the tests. This file: the buffer protocol.
 *
 * A CountingBuffer allocates for every export and takes it all back in the release, overwriting it first: whoever
 * reads a Py_buffer after its release, or releases a copy that was changed, is found out.
 */
#include "counting.h"

#define REMEMBERED 256 /* requests: a test of many thousands must not see its own list grow */

typedef struct Export {
    struct Export *next;
    Py_buffer given;    /* what the consumer got, field by field */
    Py_buffer *address; /* where it got it */
    size_t bytes;       /* of this allocation */
    Py_ssize_t numbers[];
} Export;

typedef struct {
    PyObject_HEAD
    unsigned char *memory, *start;
    Py_ssize_t nbytes, itemsize, offset, ndim;
    Py_ssize_t *shape, *strides;
    PyObject *format, *lie, *on_get, *on_release, *asked;
    int readonly, poison, fill_info;
    PyThread_type_lock lock; /* over `exports`: free-threaded builds get and release at once */
    Export *exports;
    atomic_long live, gets, releases, refused, unknown, altered, moved, pending;
} CountingBuffer;

static int integers(PyObject *sequence, Py_ssize_t **out, Py_ssize_t *count, const char *name)
{
    PyObject *fast = PySequence_Fast(sequence, name);
    if (fast == NULL) return -1;
    *count = PySequence_Fast_GET_SIZE(fast);
    *out = PyMem_Calloc((size_t)*count + 1, sizeof(Py_ssize_t));
    for (Py_ssize_t i = 0; i < *count; i++) {
        (*out)[i] = PyLong_AsSsize_t(PySequence_Fast_GET_ITEM(fast, i));
        if ((*out)[i] == -1 && PyErr_Occurred()) { Py_DECREF(fast); return -1; }
    }
    Py_DECREF(fast);
    return 0;
}

static int counting_init(PyObject *op, PyObject *args, PyObject *kwargs)
{
    CountingBuffer *self = (CountingBuffer *)op;
    static char *names[] = {"source", "readonly", "format", "itemsize", "shape", "strides", "offset", "poison",
                            "fill_info", "lie", "on_get", "on_release", NULL};
    PyObject *source, *shape = Py_None, *strides = Py_None, *format = NULL;
    PyObject *lie = Py_None, *on_get = Py_None, *on_release = Py_None;
    Py_ssize_t itemsize = 1, offset = 0;
    int readonly = 0, poison = 1, fill_info = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$pOnOOnppOOO", names, &source, &readonly, &format, &itemsize,
                                     &shape, &strides, &offset, &poison, &fill_info, &lie, &on_get, &on_release))
        return -1;
    if (self->memory != NULL) { PyErr_SetString(PyExc_TypeError, "a CountingBuffer is made once"); return -1; }
    Py_buffer from = {0};
    if (PyLong_Check(source)) self->nbytes = PyLong_AsSsize_t(source);
    else if (PyObject_GetBuffer(source, &from, PyBUF_SIMPLE) < 0) return -1;
    else self->nbytes = from.len;
    if (self->nbytes < 0) return -1;
    self->memory = PyMem_Calloc(1, (size_t)self->nbytes + 128);
    self->start = (unsigned char *)(((uintptr_t)self->memory + 63) & ~(uintptr_t)63);
    if (from.obj != NULL) { memcpy(self->start, from.buf, (size_t)from.len); PyBuffer_Release(&from); }
    self->itemsize = itemsize;
    self->offset = offset;
    self->readonly = readonly;
    self->poison = poison;
    self->fill_info = fill_info;
    Py_ssize_t count;
    if (shape == Py_None) {
        self->ndim = 1;
        self->shape = PyMem_Calloc(2, sizeof(Py_ssize_t));
        self->shape[0] = itemsize ? self->nbytes / itemsize : 0;
    } else if (integers(shape, &self->shape, &self->ndim, "shape") < 0) return -1;
    if (strides != Py_None) {
        if (integers(strides, &self->strides, &count, "strides") < 0) return -1;
        if (count != self->ndim) { PyErr_SetString(PyExc_ValueError, "one stride per dimension"); return -1; }
    } else {
        self->strides = PyMem_Calloc((size_t)self->ndim + 1, sizeof(Py_ssize_t));
        Py_ssize_t step = itemsize;
        for (Py_ssize_t i = self->ndim; i-- > 0; step = (Py_ssize_t)((size_t)step * (size_t)self->shape[i]))
            self->strides[i] = step;
    }
    self->format = format == NULL ? PyBytes_FromString("B") : format == Py_None ? Py_NewRef(Py_None)
                                                                               : PyUnicode_AsUTF8String(format);
    self->lie = Py_NewRef(lie);
    self->on_get = Py_NewRef(on_get);
    self->on_release = Py_NewRef(on_release);
    self->asked = PyList_New(0);
    self->lock = PyThread_allocate_lock();
    return self->format != NULL && self->asked != NULL && self->lock != NULL ? 0 : -1;
}

/* One field of the answer is replaced by what the test wants to be told. */
static int tell_lies(CountingBuffer *self, Py_buffer *view, Py_ssize_t *spare)
{
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(self->lie, &position, &key, &value)) {
        const char *name = PyUnicode_AsUTF8(key);
        if (name == NULL) return -1;
        if (strcmp(name, "format") == 0) {
            view->format = value == Py_None ? NULL : (char *)PyUnicode_AsUTF8(value);
        } else if (strcmp(name, "shape") == 0 || strcmp(name, "strides") == 0 || strcmp(name, "suboffsets") == 0) {
            Py_ssize_t **field = name[1] == 'h' ? &view->shape : name[1] == 't' ? &view->strides : &view->suboffsets;
            *field = NULL;
            for (Py_ssize_t i = 0; value != Py_None && i < PyTuple_Size(value); i++) {
                if (*field == NULL) *field = spare;
                *spare++ = PyLong_AsSsize_t(PyTuple_GetItem(value, i));
            }
        } else {
            Py_ssize_t number = PyLong_AsSsize_t(value);
            if (strcmp(name, "len") == 0) view->len = number;
            else if (strcmp(name, "itemsize") == 0) view->itemsize = number;
            else if (strcmp(name, "ndim") == 0) view->ndim = (int)number;
            else if (strcmp(name, "readonly") == 0) view->readonly = (int)number;
            else if (strcmp(name, "buf") == 0) view->buf = (void *)number;
            else PyErr_Format(PyExc_KeyError, "a Py_buffer has no %s to lie about", name);
        }
        if (PyErr_Occurred()) return -1;
    }
    return 0;
}

static int refuse(CountingBuffer *self, Export *kept, const char *why)
{
    self->refused++;
    PyMem_RawFree(kept);
    if (why != NULL) PyErr_SetString(PyExc_BufferError, why);
    return -1;
}

static int counting_getbuffer(PyObject *op, Py_buffer *view, int flags)
{
    CountingBuffer *self = (CountingBuffer *)op;
    view->obj = NULL;
    if (PyList_GET_SIZE(self->asked) < REMEMBERED) {
        PyObject *asked = PyLong_FromLong(flags);
        if (asked == NULL || PyList_Append(self->asked, asked) < 0) { Py_XDECREF(asked); return -1; }
        Py_DECREF(asked);
    }
    if (self->on_get != Py_None) {
        PyObject *answer = PyObject_CallFunction(self->on_get, "i", flags);
        if (answer == NULL) return refuse(self, NULL, NULL);
        Py_DECREF(answer);
    }
    if (self->readonly && (flags & PyBUF_WRITABLE)) return refuse(self, NULL, "CountingBuffer: read-only");
    Py_ssize_t format = self->format == Py_None ? 0 : PyBytes_GET_SIZE(self->format) + 1;
    Py_ssize_t spares = 3 * 80;
    size_t bytes = sizeof(Export) + (size_t)(2 * self->ndim + spares) * sizeof(Py_ssize_t) + (size_t)format;
    Export *kept = PyMem_RawCalloc(1, bytes);
    if (kept == NULL) { PyErr_NoMemory(); return -1; }
    kept->bytes = bytes;
    kept->address = view;
    Py_ssize_t *shape = kept->numbers, *strides = shape + self->ndim, *spare = strides + self->ndim;
    memcpy(shape, self->shape, (size_t)self->ndim * sizeof(Py_ssize_t));
    memcpy(strides, self->strides, (size_t)self->ndim * sizeof(Py_ssize_t));
    view->buf = self->start + self->offset;
    view->itemsize = self->itemsize;
    view->readonly = self->readonly;
    view->ndim = (int)self->ndim;
    view->format = NULL;
    view->suboffsets = NULL;
    view->internal = kept;
    view->shape = self->ndim ? shape : NULL;
    view->strides = self->ndim ? strides : NULL;
    view->len = self->itemsize;
    for (Py_ssize_t i = 0; i < self->ndim; i++) view->len *= self->shape[i];
    int c = PyBuffer_IsContiguous(view, 'C'), f = PyBuffer_IsContiguous(view, 'F');
    if ((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS && !c) return refuse(self, kept, "CountingBuffer: not C");
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && !f) return refuse(self, kept, "CountingBuffer: not F");
    if ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS && !c && !f)
        return refuse(self, kept, "CountingBuffer: not contiguous");
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES) {
        if (!c) return refuse(self, kept, "CountingBuffer: strides are needed");
        view->strides = NULL;
    }
    if (!(flags & PyBUF_ND)) { view->shape = NULL; view->ndim = 1; }
    if ((flags & PyBUF_FORMAT) && format) {
        view->format = (char *)(spare + spares);
        memcpy(view->format, PyBytes_AS_STRING(self->format), (size_t)format);
    }
    if (self->fill_info && view->shape != NULL && self->ndim == 1 && self->itemsize == 1) {
        view->shape = &view->len; /* as PyBuffer_FillInfo does: the struct points into itself */
        if (view->strides != NULL) view->strides = &view->itemsize;
    }
    if (self->lie != Py_None && tell_lies(self, view, spare) < 0) return refuse(self, kept, NULL);
    view->obj = Py_NewRef(op);
    kept->given = *view;
    PyThread_acquire_lock(self->lock, 1);
    kept->next = self->exports;
    self->exports = kept;
    PyThread_release_lock(self->lock);
    self->live++;
    self->gets++;
    return 0;
}

static void counting_releasebuffer(PyObject *op, Py_buffer *view)
{
    CountingBuffer *self = (CountingBuffer *)op;
    if (PyErr_Occurred()) self->pending++;
    PyThread_acquire_lock(self->lock, 1);
    Export **link = &self->exports;
    while (*link != NULL && *link != view->internal) link = &(*link)->next;
    Export *kept = *link;
    if (kept != NULL) *link = kept->next;
    PyThread_release_lock(self->lock);
    if (kept == NULL) { self->unknown++; return; }
    Py_buffer *was = &kept->given;
    int own = was->shape == &kept->address->len;
    if (view != kept->address) self->moved++;
    if (view->buf != was->buf || view->obj != was->obj || view->len != was->len || view->itemsize != was->itemsize
        || view->readonly != was->readonly || view->ndim != was->ndim || view->format != was->format
        || (!own && (view->shape != was->shape || view->strides != was->strides)) || view->suboffsets != was->suboffsets)
        self->altered++;
    memset(kept, POISON, kept->bytes);
    PyMem_RawFree(kept);
    self->releases++;
    if (--self->live == 0 && self->poison) memset(self->start, POISON, (size_t)self->nbytes);
    if (self->on_release != Py_None) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        PyObject *answer = PyObject_CallNoArgs(self->on_release);
        if (answer == NULL) PyErr_WriteUnraisable(op);
        Py_XDECREF(answer);
        PyErr_Restore(type, value, trace);
    }
}

static int counting_traverse(PyObject *op, visitproc visit, void *arg)
{
    CountingBuffer *self = (CountingBuffer *)op;
    Py_VISIT(self->lie);
    Py_VISIT(self->on_get);
    Py_VISIT(self->on_release);
    return 0;
}

static int counting_clear(PyObject *op)
{
    CountingBuffer *self = (CountingBuffer *)op;
    Py_XSETREF(self->on_get, Py_NewRef(Py_None));
    Py_XSETREF(self->on_release, Py_NewRef(Py_None));
    return 0;
}

static void counting_dealloc(PyObject *op)
{
    CountingBuffer *self = (CountingBuffer *)op;
    PyObject_GC_UnTrack(op);
    if (self->live) fprintf(stderr, "CountingBuffer: gone with %ld exports open\n", (long)self->live);
    Py_XDECREF(self->lie);
    Py_XDECREF(self->on_get);
    Py_XDECREF(self->on_release);
    Py_XDECREF(self->format);
    Py_XDECREF(self->asked);
    if (self->memory != NULL) memset(self->start, POISON, (size_t)self->nbytes);
    PyMem_Free(self->memory);
    PyMem_Free(self->shape);
    PyMem_Free(self->strides);
    if (self->lock != NULL) PyThread_free_lock(self->lock);
    Py_TYPE(op)->tp_free(op);
}

static PyObject *counting_books(PyObject *op, void *closure)
{
    CountingBuffer *self = (CountingBuffer *)op;
    return Py_BuildValue("{s:l,s:l,s:l,s:l,s:l,s:l,s:l,s:l,s:O}", "live", (long)self->live, "gets", (long)self->gets,
                         "releases", (long)self->releases, "refused", (long)self->refused, "unknown",
                         (long)self->unknown, "altered", (long)self->altered, "moved", (long)self->moved, "pending",
                         (long)self->pending, "asked", self->asked);
}

static PyObject *counting_address(PyObject *op, void *closure)
{
    return PyLong_FromVoidPtr(((CountingBuffer *)op)->start);
}

static PyObject *counting_bytes(PyObject *op, void *closure)
{
    return PyBytes_FromStringAndSize((char *)((CountingBuffer *)op)->start, ((CountingBuffer *)op)->nbytes);
}

static PyGetSetDef counting_getset[] = {
    {"books", counting_books, NULL, "all counters as a dict", NULL},
    {"address", counting_address, NULL, "of the first byte", NULL},
    {"memory", counting_bytes, NULL, "a copy of the bytes as they are now", NULL},
    {NULL},
};
static PyBufferProcs counting_buffer = {counting_getbuffer, counting_releasebuffer};

PyTypeObject CountingBuffer_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lend_counting.CountingBuffer",
    .tp_basicsize = sizeof(CountingBuffer),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = counting_init,
    .tp_dealloc = counting_dealloc,
    .tp_traverse = counting_traverse,
    .tp_clear = counting_clear,
    .tp_getset = counting_getset,
    .tp_as_buffer = &counting_buffer,
};
