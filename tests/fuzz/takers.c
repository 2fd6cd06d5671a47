/* How lend is asked for what a path made: a table. */
#include "counted.h"
#include "fuzz.h"
#include "lend_take.h"

struct known lend;

static PyObject *attribute(const char *module, const char *name) {
    PyObject *loaded = PyImport_ImportModule(module);
    PyObject *found = loaded == NULL ? NULL : PyObject_GetAttrString(loaded, name);
    Py_XDECREF(loaded);
    return found;
}

int start_known(void) {
    PyObject *capsule;
    lend.view = attribute("lend", "view");
    lend.buffer = attribute("lend", "buffer");
    lend.to = attribute("lend", "to");
    lend.explain = attribute("lend", "explain");
    lend.view_type = attribute("lend", "View");
    lend.buffer_type = attribute("lend", "Buffer");
    lend.device = attribute("lend", "Device");
    lend.dtype = attribute("lend.dtypes", "DType");
    lend.forget = attribute("lend.front", "forget");
    lend.lend_error = attribute("lend.errors", "LendError");
    lend.pickled_view = attribute("lend.pickling", "_view");
    lend.pickled_buffer = attribute("lend.pickling", "_buffer");
    if (PyErr_Occurred()) return -1;
    capsule = PyObject_GetAttrString(lend.view_type, "__dlpack_c_exchange_api__");
    if (capsule == NULL) return -1;
    lend.table = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    Py_DECREF(capsule);
    return lend.table == NULL ? -1 : lend_import();
}

void keep(story *s, PyObject *object, int trusted) {
    const int at = s->current = (s->current + 1) % SLOTS;
    PyObject *before = s->held[at].object;
    s->held[at].object = object;
    s->held[at].trusted = trusted;
    Py_XDECREF(before);
}

static int readable_now(PyObject *object, int trusted) {
    lend_view view = LEND_VIEW_INIT;
    int answer;
    if (lend_borrow(object, NULL, &view) < 0) {
        refused(LEND_ERROR);
        return 0;
    }
    answer = is_readable(&view, trusted);
    lend_release(&view);
    return answer;
}

/* -- asking --------------------------------------------------------------------------------------------------------------- */

static void take_view(story *s, input *in) {
    PyObject *made = PyObject_CallOneArg(lend.view, s->made);
    if (!returned(made, LEND_ERROR)) return;
    if (Py_TYPE(made) != (PyTypeObject *)lend.view_type) fault("view gave something else");
    check_object(made, single_told(s->made));
    keep(s, made, 0);
}

static void take_buffer(story *s, input *in) {
    PyObject *made = PyObject_CallOneArg(lend.buffer, s->made);
    if (!returned(made, LEND_ERROR)) return;
    if (Py_TYPE(made) != (PyTypeObject *)lend.buffer_type) fault("buffer gave something else");
    keep(s, made, 0);
}

/* A copy reads the memory: only if a view of the same object can be read. */
static int may_copy(story *s) {
    PyObject *made;
    int answer;
    if (PyObject_TypeCheck(s->made, (PyTypeObject *)lend.view_type)) return readable_now(s->made, 0);
    if (single_told(s->made) == NULL) return 0;
    made = PyObject_CallOneArg(lend.view, s->made);
    if (!returned(made, LEND_ERROR)) return 0;
    answer = readable_now(made, 0);
    Py_DECREF(made);
    return answer;
}

static void put(PyObject *options, const char *name, PyObject *value) {
    if (value == NULL || PyDict_SetItemString(options, name, value) < 0) fault("no memory in the harness");
    Py_DECREF(value);
}

static PyObject *next_choice(input *in) {
    const uint8_t tag = next_byte(in);
    return tag < 0x60 ? Py_NewRef(Py_None) : tag < 0xB0 ? Py_NewRef(Py_False) : tag < 0xF8 ? Py_NewRef(Py_True)
                                                                                        : next_object(in, 0);
}

static PyObject *next_device(input *in) {
    static const char *const names[] = {"cpu", "cuda:0", "cuda_host", "cuda_managed:1", "rocm", "nonsense", "cuda:-1", ""};
    const uint8_t tag = next_byte(in);
    if (tag < 0xC0) return PyUnicode_FromString(names[tag % 8]);
    if (tag < 0xE0) return Py_BuildValue("(LL)", (long long)next_number(in), (long long)next_number(in));
    return next_object(in, 0);
}

static void take_with(story *s, input *in, int bytes) {
    static const char *const orders[] = {"C", "F", "A", ""};
    const uint8_t which = next_byte(in);
    const int copies = may_copy(s);
    PyObject *options = PyDict_New(), *arguments = PyTuple_Pack(1, s->made), *copy, *made;
    if (which & 1) put(options, "writable", next_choice(in));
    if (which & 2 || copies) {
        copy = next_choice(in);
        if (copy == NULL) fault("no memory in the harness");
        if (copy == Py_True && !copies) Py_SETREF(copy, Py_NewRef(Py_None));
        put(options, "copy", copy);
    }
    if (!bytes) {
        if (which & 4) put(options, "dtype", next_dtype(in));
        if (which & 8) put(options, "ndim", which & 0x80 ? next_object(in, 0) : PyLong_FromLongLong(next_number(in)));
        if (which & 16) {
            const uint8_t order = next_byte(in);
            put(options, "order", order < 0xF0 ? PyUnicode_FromString(orders[order & 3]) : next_object(in, 0));
        }
        if (which & 32) put(options, "align", which & 0x80 ? next_object(in, 0) : PyLong_FromLong(1L << (next_byte(in) % 14)));
        if (which & 64) put(options, "device", next_device(in));
        if (which == 0xFF) put(options, "stream", next_object(in, 0));
    }
    made = PyObject_Call(bytes ? lend.buffer : lend.view, arguments, options);
    Py_DECREF(arguments);
    Py_DECREF(options);
    if (!returned(made, LEND_ERROR | TYPE_ERROR | VALUE_ERROR | OVERFLOW_ERROR)) return;
    check_object(made, NULL);
    keep(s, made, 0);
}

static void take_view_with(story *s, input *in) { take_with(s, in, 0); }
static void take_buffer_with(story *s, input *in) { take_with(s, in, 1); }

/* The pixel that a lend_view is kept in until the end. */
static void lease(story *s, lend_view *view) {
    if (s->lease_count == 4) lend_release(&s->leases[--s->lease_count]);
    s->leases[s->lease_count++] = *view; /* a view may be moved */
}

static void by_c(story *s, input *in, int how) {
    lend_view view = LEND_VIEW_INIT;
    lend_request request;
    const uint8_t odd = next_odd(in);
    const int with_request = (next_byte(in) & 3) != 0;
    int result;
    if (with_request) {
        next_request(in, &request);
        if (request.flags & (LEND_COPY | LEND_COPY_IF_NEEDED) && !may_copy(s))
            request.flags &= ~(uint32_t)(LEND_COPY | LEND_COPY_IF_NEEDED);
        /* a large alignment is a large allocation */
        if (request.align > 1 << 16 && request.flags & (LEND_COPY | LEND_COPY_IF_NEEDED)) request.align &= 0xFFFF;
    }
    if (odd == 1) view.abi = (uint32_t)next_number(in);
    if (odd == 3) view.struct_size = (uint32_t)next_number(in);
    result = how == 0 ? lend_acquire(s->made, with_request ? &request : NULL, &view)
                      : lend_borrow(s->made, with_request ? &request : NULL, &view);
    if (result < 0) {
        refused(LEND_ERROR | VALUE_ERROR | TYPE_ERROR);
        if (view.release != NULL || view.lease != NULL) fault("a refusal left something in the view");
        lend_release(&view);
        return;
    }
    expect_none("beside a lend_view");
    check_view(&view, with_request ? NULL : single_told(s->made));
    if (how == 1) lend_release(&view); /* borrowed: for as long as nothing of Python runs */
    else lease(s, &view);
}

static void take_acquire(story *s, input *in) { by_c(s, in, 0); }
static void take_borrow(story *s, input *in) { by_c(s, in, 1); }

/* By the header that needs no lend; where both take an object they must agree. */
static void take_by_header(story *s, input *in) {
    lend_view view = LEND_VIEW_INIT;
    lend_request request;
    const int with_request = next_byte(in) & 1;
    if (with_request) {
        next_request(in, &request);
        if (request.flags & (LEND_COPY | LEND_COPY_IF_NEEDED) && !may_copy(s))
            request.flags &= ~(uint32_t)(LEND_COPY | LEND_COPY_IF_NEEDED);
        if (request.align > 1 << 16 && request.flags & (LEND_COPY | LEND_COPY_IF_NEEDED)) request.align &= 0xFFFF;
    }
    if (lend_take(s->made, with_request ? &request : NULL, &view) < 0) {
        refused(BUFFER_ERROR | TYPE_ERROR | (with_request ? VALUE_ERROR : 0));
        if (view.release != NULL || view.lease != NULL || view.data != NULL || view.far_dims != NULL)
            fault("a refusal of lend_take left something in the view");
        return;
    }
    expect_none("beside what lend_take took");
    if (view.dtype.code != LEND_UCS4 && view.dtype.code != LEND_BYTES) check_view(&view, NULL);
    if (!with_request) {
        PyObject *made = PyObject_CallOneArg(lend.view, s->made);
        if (returned(made, LEND_ERROR) && single_told(s->made) != NULL) {
            lend_view other = LEND_VIEW_INIT;
            int i;
            if (lend_borrow(made, NULL, &other) < 0) {
                refused(0); /* but where an allocation failed */
                Py_DECREF(made);
                lease(s, &view);
                return;
            }
            if (other.ndim != view.ndim || other.nbytes != view.nbytes) fault("lend_take and lend.view differ in size");
            for (i = 0; i < view.ndim; i++)
                if (lend_shape(&view)[i] != lend_shape(&other)[i]) fault("lend_take and lend.view differ in shape");
            for (i = 0; i < view.ndim; i++)
                if (view.nbytes != 0 && lend_shape(&view)[i] > 1 && lend_strides(&view)[i] != lend_strides(&other)[i])
                    fault("lend_take and lend.view differ in strides");
            if (view.nbytes != 0 && lend_data(&view) != lend_data(&other) && !(view.flags & LEND_OPAQUE_HANDLE))
                fault("lend_take and lend.view differ in the address");
            if (memcmp(&view.dtype, &other.dtype, sizeof(view.dtype)) != 0) fault("lend_take and lend.view differ in dtype");
            lend_release(&other);
        }
        Py_XDECREF(made);
    }
    lease(s, &view);
}

static void take_explained(story *s, input *in) {
    PyObject *made = PyObject_CallFunction(lend.explain, "Os", s->made, "memoryview");
    PyObject *text;
    if (!returned(made, LEND_ERROR)) return;
    text = PyObject_Str(made);
    if (returned(text, 0)) Py_DECREF(text);
    Py_DECREF(made);
}

typedef struct taker {
    const char *name;
    void (*take)(story *s, input *in);
} taker;

static const taker takers[] = {
    {"view", take_view},       {"buffer", take_buffer}, {"view with", take_view_with}, {"buffer with", take_buffer_with},
    {"acquire", take_acquire}, {"borrow", take_borrow}, {"lend_take", take_by_header},
};
#define TAKERS ((int)(sizeof(takers) / sizeof(*takers)))
const int taker_count = TAKERS;

const char *taker_name(int at) { return at < TAKERS ? takers[at].name : NULL; }

void take(story *s, input *in) {
    const uint8_t tag = next_byte(in);
    say(" taken by %s\n", tag == 0xFF ? "explain" : takers[tag % TAKERS].name);
    if (tag == 0xFF) take_explained(s, in);
    else takers[tag % TAKERS].take(s, in);
}
