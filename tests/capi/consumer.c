/* A consumer in C99 within the Limited API (or C++11: the same text), which knows of lend what lend.h says. */
#ifndef FULL_API
#define Py_LIMITED_API 0x030b0000
#endif
#include "lend.h"
#include "pythread.h"

static PyObject *describe(const lend_view *v) {
    PyObject *shape = PyTuple_New(v->ndim), *strides = PyTuple_New(v->ndim);
    int32_t i;
    for (i = 0; i < v->ndim; i++) {
        PyTuple_SetItem(shape, i, PyLong_FromLongLong(lend_shape(v)[i]));
        PyTuple_SetItem(strides, i, PyLong_FromLongLong(lend_strides(v)[i]));
    }
    return Py_BuildValue("{s:K,s:K,s:N,s:N,s:(ii),s:(iiiiiII),s:I,s:K,s:i,s:K}", "address",
                         (unsigned long long)(uintptr_t)lend_data(v), "nbytes", (unsigned long long)v->nbytes, "shape",
                         shape, "strides", strides, "device", v->device_type, v->device_id, "dtype", v->dtype.code,
                         v->dtype.order, v->dtype.unit, v->dtype.bits, v->dtype.lanes, v->dtype.itemsize,
                         v->dtype.multiplier, "flags", v->flags, "offset", (unsigned long long)v->byte_offset, "held",
                         v->lease != NULL, "sync", (unsigned long long)(uintptr_t)v->sync);
}

/* request from (flags, code, order, bits, ndim, align, device_type, stream) */
static int read_request(PyObject *args, PyObject **object, lend_request *r) {
    int code = LEND_ANY_TYPE, order = '|', bits = 0, ndim = -1, device = 0;
    unsigned int flags = 0, align = 0;
    unsigned long long stream = 0;
    if (!PyArg_ParseTuple(args, "O|IiiiiIiK", object, &flags, &code, &order, &bits, &ndim, &align, &device, &stream))
        return -1;
    r->stream = (void *)(uintptr_t)stream;
    r->flags = flags;
    if (code != LEND_ANY_TYPE) {
        r->dtype = lend_native(code, bits);
        r->dtype.order = (uint8_t)order;
        if (bits < 0) r->dtype = lend_native(code, -bits); /* several to a byte */
        else if (bits < 8) r->dtype.itemsize = bits > 0;   /* one to a byte */
    }
    r->ndim = ndim;
    r->align = align;
    r->device_type = device;
    return 0;
}

static PyObject *acquired(PyObject *module, PyObject *args) {
    lend_request r = LEND_REQUEST_INIT;
    lend_view v = LEND_VIEW_INIT;
    PyObject *object, *made;
    if (read_request(args, &object, &r) < 0 || lend_acquire(object, &r, &v) < 0) return NULL;
    made = describe(&v);
    lend_release(&v);
    lend_release(&v);
    return made;
}

static PyObject *borrowed(PyObject *module, PyObject *args) {
    lend_request r = LEND_REQUEST_INIT;
    lend_view v = LEND_VIEW_INIT;
    PyObject *object, *made;
    if (read_request(args, &object, &r) < 0 || lend_borrow(object, &r, &v) < 0) return NULL;
    made = describe(&v);
    lend_release(&v);
    return made;
}

/* the bytes of one-dimensional host memory, read through what was acquired */
static PyObject *bytes_of(PyObject *module, PyObject *object) {
    lend_request r = LEND_REQUEST_INIT;
    lend_view v = LEND_VIEW_INIT;
    PyObject *made;
    r.flags = LEND_C_ORDER | LEND_COPY_IF_NEEDED;
    r.device_type = 1;
    if (lend_acquire(object, &r, &v) < 0) return NULL;
    made = PyBytes_FromStringAndSize((const char *)lend_data(&v), (Py_ssize_t)v.nbytes);
    lend_release(&v);
    return made;
}

static lend_view kept = LEND_VIEW_INIT;

static PyObject *keep(PyObject *module, PyObject *object) {
    lend_view v = LEND_VIEW_INIT;
    if (lend_acquire(object, NULL, &v) < 0) return NULL;
    memcpy(&kept, &v, sizeof(v)); /* a view may be moved */
    return describe(&kept);
}

static void release_kept(void *done) {
    lend_release(&kept);
    PyThread_release_lock((PyThread_type_lock)done);
}

static PyObject *drop(PyObject *module, PyObject *elsewhere) {
    if (PyObject_IsTrue(elsewhere)) {
        PyThread_type_lock done = PyThread_allocate_lock();
        PyThread_acquire_lock(done, 1);
        PyThread_start_new_thread(release_kept, done); /* has no GIL */
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(done, 1);
        Py_END_ALLOW_THREADS
        PyThread_release_lock(done);
        PyThread_free_lock(done);
    } else {
        Py_BEGIN_ALLOW_THREADS
        lend_release(&kept);
        Py_END_ALLOW_THREADS
    }
    Py_RETURN_NONE;
}

static PyObject *drop_and_fail(PyObject *module, PyObject *none) {
    PyErr_SetString(PyExc_ZeroDivisionError, "on its way");
    lend_release(&kept);
    return NULL;
}

static void drop_late(void) { lend_release(&kept); }

static PyObject *drop_at_the_end(PyObject *module, PyObject *none) {
    if (Py_AtExit(drop_late) < 0) return PyErr_Format(PyExc_RuntimeError, "no room");
    Py_RETURN_NONE;
}

/* producer side: a table of 3 x 4 int16, or something wrong */
static int16_t table[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static int released = 0;
static void count_release(void *context) { *(int *)context += 1; }

static PyObject *wrapped(PyObject *module, PyObject *args) {
    lend_view said = LEND_VIEW_INIT;
    PyObject *owner;
    const char *wrong;
    int callback;
    if (!PyArg_ParseTuple(args, "Opz", &owner, &callback, &wrong)) return NULL;
    said.data = table;
    said.dtype = lend_native(LEND_INT, 16);
    said.device_type = 1;
    said.ndim = 2;
    said.dims[0] = 3;
    said.dims[1] = 4;
    said.flags = LEND_C_CONTIGUOUS | LEND_READONLY;
    if (wrong != NULL) {
        switch (wrong[0]) {
        case 'n': said.ndim = 65; break;
        case 'f': said.ndim = 9; break;
        case 'd': said.data = NULL; break;
        case 't': said.dtype.bits = 17; break;
        case 'u': said.dtype.code = 200; break;
        case 'e': said.dims[0] = -1; break;
        case 'l': said.dims[0] = INT64_MAX; break;
        case 'v': said.device_type = 0; break;
        case 'i': said.device_type = 2; said.device_id = -2; break;
        case '?': said.device_type = 2; said.device_id = -1; break;
        case 'm': said.device_type = 8; break;
        case 'h': said.flags |= LEND_OPAQUE_HANDLE; break;
        case 'a': said.abi = 7 << 16; break;
        case 's': said.struct_size = 8; break;
        case 'F': said.flags = LEND_F_CONTIGUOUS; break;
        case 'z': said.flags = 0; break; /* no strides either */
        case 'r': said.flags = 0; said.dims[LEND_INLINE_DIMS + 1] = 2; break; /* the first row thrice */
        case 'p': said.dtype = lend_native(LEND_UINT, 4); break; /* several to a byte */
        case 'P': said.dtype = lend_native(LEND_UINT, 4); said.flags = LEND_F_CONTIGUOUS; break;
        case '0': said.dtype = lend_native(LEND_UINT, 4); said.flags = 0; break; /* without a flag */
        case '4': said.dtype = lend_native(LEND_UINT, 4); said.flags = 0; said.dims[LEND_INLINE_DIMS + 1] = 1; break;
        case 'N': return lend_wrap(&said, Py_None, NULL, NULL);
        }
    }
    return lend_wrap(&said, owner == Py_None ? NULL : owner, callback ? count_release : NULL, &released);
}

static PyObject *releases(PyObject *module, PyObject *none) { return PyLong_FromLong(released); }

static PyObject *accessible(PyObject *module, PyObject *object) {
    lend_view v = LEND_VIEW_INIT;
    int answer;
    if (lend_acquire(object, NULL, &v) < 0) return NULL;
    answer = lend_host_access(&v);
    lend_release(&v);
    if (answer < 0) return NULL;
    Py_RETURN_NONE;
}

/* nothing of the struct is cleared before it is filled, nor after a refusal */
static PyObject *uninitialised(PyObject *module, PyObject *object) {
    lend_view v;
    PyObject *made;
    memset(&v, 0xA5, sizeof(v));
    if (lend_acquire(object, NULL, &v) < 0) {
        lend_release(&v);
        return NULL;
    }
    made = describe(&v);
    lend_release(&v);
    memset(&v, 0xA5, sizeof(v));
    if (lend_borrow(object, NULL, &v) < 0) {
        Py_XDECREF(made);
        return NULL;
    }
    lend_release(&v);
    return made;
}

/* as a module would call whose lend.h says another ABI, or knows less of the struct */
static PyObject *of_another_header(PyObject *module, PyObject *args) {
    lend_view v = LEND_VIEW_INIT;
    PyObject *object;
    int borrowing;
    if (!PyArg_ParseTuple(args, "OIIi", &object, &v.abi, &v.struct_size, &borrowing)) return NULL;
    if ((borrowing ? lend_functions->borrow : lend_functions->acquire)(object, NULL, &v) < 0) return NULL;
    lend_release(&v);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"of_another_header", of_another_header, METH_VARARGS, NULL},
                                {"acquired", acquired, METH_VARARGS, NULL},
                                {"borrowed", borrowed, METH_VARARGS, NULL},
                                {"bytes_of", bytes_of, METH_O, NULL},
                                {"keep", keep, METH_O, NULL},
                                {"drop", drop, METH_O, NULL},
                                {"drop_and_fail", drop_and_fail, METH_NOARGS, NULL},
                                {"drop_at_the_end", drop_at_the_end, METH_NOARGS, NULL},
                                {"wrapped", wrapped, METH_VARARGS, NULL},
                                {"releases", releases, METH_NOARGS, NULL},
                                {"accessible", accessible, METH_O, NULL},
                                {"uninitialised", uninitialised, METH_O, NULL},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "consumer", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_consumer(void) {
    if (lend_import() < 0) return NULL;
    return PyModule_Create(&definition);
}
