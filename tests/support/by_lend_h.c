/* Both sides of lend.h as Python objects: `Acquired` holds what lend_acquire or lend_borrow gave, `Wrapping` lends memory
 * of C by lend_wrap and counts what comes back. */
#include "lend.h"
#include <stdlib.h>

/* -- the consumer -- */

typedef struct {
    PyObject_HEAD
    lend_view view;
    int open;
} Acquired;

static PyObject *acquired_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"obj", "borrow", NULL};
    const lend_view empty = LEND_VIEW_INIT;
    PyObject *obj;
    int borrow = 0;
    Acquired *self;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|p", names, &obj, &borrow)) return NULL;
    self = (Acquired *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->view = empty;
    if ((borrow ? lend_borrow : lend_acquire)(obj, NULL, &self->view) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    self->open = 1;
    return (PyObject *)self;
}

static char *gather(char *to, const lend_view *view, const char *from, int dim)
{
    int64_t i;
    if (dim == view->ndim) {
        memcpy(to, from, view->dtype.itemsize);
        return to + view->dtype.itemsize;
    }
    for (i = 0; i < lend_shape(view)[dim]; i++) to = gather(to, view, from + i * lend_strides(view)[dim], dim + 1);
    return to;
}

static PyObject *acquired_tobytes(PyObject *op, PyObject *unused)
{
    Acquired *self = (Acquired *)op;
    PyObject *bytes;
    if (!self->open) return PyErr_Format(PyExc_ValueError, "released");
    bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)self->view.nbytes);
    if (bytes != NULL) gather(PyBytes_AsString(bytes), &self->view, (const char *)lend_data(&self->view), 0);
    return bytes;
}

static PyObject *acquired_release(PyObject *op, PyObject *unused)
{
    Acquired *self = (Acquired *)op;
    self->open = 0;
    Py_BEGIN_ALLOW_THREADS
    lend_release(&self->view);
    lend_release(&self->view);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static void acquired_dealloc(PyObject *op)
{
    lend_release(&((Acquired *)op)->view);
    Py_TYPE(op)->tp_free(op);
}

static PyObject *acquired_fact(PyObject *op, void *which)
{
    const lend_view *view = &((Acquired *)op)->view;
    if (!((Acquired *)op)->open) return PyErr_Format(PyExc_ValueError, "released");
    switch (*(const char *)which) {
    case 'a': return PyLong_FromVoidPtr(lend_data(view));
    case 'r': return PyBool_FromLong(view->flags & LEND_READONLY);
    default: return PyBool_FromLong(view->lease != NULL);
    }
}

static PyMethodDef acquired_methods[] = {
    {"tobytes", acquired_tobytes, METH_NOARGS, "the elements in row-major order"},
    {"release", acquired_release, METH_NOARGS, "lend_release without the GIL, twice"},
    {NULL},
};
static PyGetSetDef acquired_facts[] = {
    {"address", acquired_fact, NULL, NULL, "a"},
    {"readonly", acquired_fact, NULL, NULL, "r"},
    {"held", acquired_fact, NULL, NULL, "h"},
    {NULL},
};
static PyTypeObject Acquired_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "by_lend_h.Acquired",
    .tp_basicsize = sizeof(Acquired),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = acquired_new,
    .tp_dealloc = acquired_dealloc,
    .tp_methods = acquired_methods,
    .tp_getset = acquired_facts,
};

/* -- the producer -- */

typedef struct {
    PyObject_HEAD
    lend_view said;
    Py_ssize_t nbytes;
    _Atomic long given, returned;
} Wrapping;

/* with the GIL, as lend_wrap has it; the last one to come back finds the memory overwritten */
static void came_back(void *context)
{
    Wrapping *self = (Wrapping *)context;
    self->returned++;
    if (self->returned == self->given) memset(self->said.data, 0xDD, (size_t)self->nbytes);
    Py_DECREF((PyObject *)self);
}

static PyObject *wrapping_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"source", "shape", "code", "bits", "readonly", NULL};
    const lend_view empty = LEND_VIEW_INIT;
    PyObject *shape;
    Wrapping *self;
    Py_buffer from;
    int code, bits, readonly = 0;
    int32_t i;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "y*O!ii|p", names, &from, &PyTuple_Type, &shape, &code, &bits,
                                     &readonly))
        return NULL;
    self = (Wrapping *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->nbytes = from.len;
    self->said = empty;
    self->said.data = malloc((size_t)from.len + 1);
    memcpy(self->said.data, from.buf, (size_t)from.len);
    PyBuffer_Release(&from);
    self->said.dtype = lend_native(code, bits);
    self->said.device_type = 1;
    self->said.flags = LEND_C_CONTIGUOUS | (readonly ? LEND_READONLY : 0);
    self->said.ndim = (int32_t)PyTuple_GET_SIZE(shape);
    for (i = 0; i < self->said.ndim; i++) self->said.dims[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
    return (PyObject *)self;
}

static PyObject *wrapping_lend(PyObject *op, PyObject *unused)
{
    Wrapping *self = (Wrapping *)op;
    PyObject *view;
    self->given++;
    Py_INCREF(op);
    view = lend_wrap(&self->said, NULL, came_back, self);
    if (view == NULL) {
        self->given--;
        Py_DECREF(op);
    }
    return view;
}

static PyObject *wrapping_live(PyObject *op, void *closure)
{
    return PyLong_FromLong(((Wrapping *)op)->given - ((Wrapping *)op)->returned);
}

static void wrapping_dealloc(PyObject *op)
{
    free(((Wrapping *)op)->said.data);
    Py_TYPE(op)->tp_free(op);
}

static PyMethodDef wrapping_methods[] = {
    {"lend", wrapping_lend, METH_NOARGS, "a lend.View of the memory, which comes back once"},
    {NULL},
};
static PyGetSetDef wrapping_facts[] = {{"live", wrapping_live, NULL, "Views given and not come back", NULL}, {NULL}};
static PyTypeObject Wrapping_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "by_lend_h.Wrapping",
    .tp_basicsize = sizeof(Wrapping),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = wrapping_new,
    .tp_dealloc = wrapping_dealloc,
    .tp_methods = wrapping_methods,
    .tp_getset = wrapping_facts,
};

/* lend_wrap of any description, right or wrong: dtype is (code, order, unit, bits, lanes, itemsize, multiplier), `far` 0
 * leaves far_dims NULL, `ndim` may be another than the length of shape. */
static PyObject *wrap(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"owner", "data", "shape", "strides", "ndim", "dtype", "device", "flags", "byte_offset", "abi",
                            "struct_size", "far", NULL};
    lend_view said = LEND_VIEW_INIT;
    PyObject *owner, *shape = NULL, *strides = NULL;
    unsigned long long data = 0, offset = 0;
    int far = 1;
    Py_ssize_t i, count;
    int64_t dims[2 * 80] = {0};
    said.device_type = 1;
    said.ndim = -1000;
    said.dtype = lend_native(LEND_FLOAT, 32);
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$KO!O!i(BBBHHII)(ii)IKIIp", names, &owner, &data, &PyTuple_Type,
                                     &shape, &PyTuple_Type, &strides, &said.ndim, &said.dtype.code, &said.dtype.order,
                                     &said.dtype.unit, &said.dtype.bits, &said.dtype.lanes, &said.dtype.itemsize,
                                     &said.dtype.multiplier, &said.device_type, &said.device_id, &said.flags, &offset,
                                     &said.abi, &said.struct_size, &far))
        return NULL;
    said.data = (void *)(uintptr_t)data;
    said.byte_offset = offset;
    if (shape == NULL || strides == NULL) return PyErr_Format(PyExc_TypeError, "shape and strides are needed");
    count = PyTuple_GET_SIZE(shape);
    for (i = 0; i < 2 * count; i++) {
        PyObject *number = i < count ? PyTuple_GetItem(shape, i) : PyTuple_GetItem(strides, i - count);
        int64_t dim = number == NULL ? -1 : PyLong_AsLongLong(number);
        dims[i] = dim;
        if (count <= LEND_INLINE_DIMS) said.dims[i < count ? i : LEND_INLINE_DIMS + i - count] = dim;
    }
    if (PyErr_Occurred()) return NULL;
    if (said.ndim == -1000) said.ndim = (int32_t)count;
    said.far_dims = far ? dims : NULL;
    return lend_wrap(&said, owner, NULL, NULL);
}

static PyMethodDef functions[] = {
    {"wrap", (PyCFunction)(void (*)(void))wrap, METH_VARARGS | METH_KEYWORDS, "lend_wrap of any description"},
    {NULL},
};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "by_lend_h", NULL, -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_by_lend_h(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL || lend_import() < 0 || PyModule_AddType(module, &Acquired_Type) < 0
        || PyModule_AddType(module, &Wrapping_Type) < 0)
        return NULL;
    return module;
}
