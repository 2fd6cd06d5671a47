/* The consuming side of the buffer protocol: an open Py_buffer as an object, every field to be read. And the module. */
#include "counting.h"

typedef struct {
    PyObject_HEAD
    Py_buffer view;
    int open;
} Hold;

static PyObject *hold_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"obj", "flags", NULL};
    PyObject *obj;
    int flags = PyBUF_FULL_RO;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|i", names, &obj, &flags)) return NULL;
    Hold *self = (Hold *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    memset(&self->view, POISON, sizeof(Py_buffer)); /* an exporter that leaves a field unset is found out */
    self->view.obj = NULL;
    if (PyObject_GetBuffer(obj, &self->view, flags) < 0) {
        if (self->view.obj != NULL) {
            PyErr_SetString(PyExc_AssertionError, "a failed getbuffer must leave view.obj NULL");
            self->view.obj = NULL;
        }
        Py_DECREF(self);
        return NULL;
    }
    self->open = 1;
    return (PyObject *)self;
}

static PyObject *sizes(const Py_ssize_t *first, int count)
{
    if (first == NULL) return Py_NewRef(Py_None);
    PyObject *tuple = PyTuple_New(count < 0 ? 0 : count);
    for (int i = 0; tuple != NULL && i < count; i++) PyTuple_SET_ITEM(tuple, i, PyLong_FromSsize_t(first[i]));
    return tuple;
}

static PyObject *hold_fields(PyObject *op, void *closure)
{
    Hold *self = (Hold *)op;
    Py_buffer *v = &self->view;
    if (!self->open) { PyErr_SetString(PyExc_ValueError, "released"); return NULL; }
    PyObject *dict = PyDict_New();
    if (dict == NULL) return NULL;
    if (put(dict, "buf", PyLong_FromVoidPtr(v->buf)) < 0 || put(dict, "obj", Py_NewRef(v->obj ? v->obj : Py_None)) < 0
        || put(dict, "len", PyLong_FromSsize_t(v->len)) < 0 || put(dict, "itemsize", PyLong_FromSsize_t(v->itemsize)) < 0
        || put(dict, "readonly", PyBool_FromLong(v->readonly)) < 0 || put(dict, "ndim", PyLong_FromLong(v->ndim)) < 0
        || put(dict, "format", v->format ? PyUnicode_FromString(v->format) : Py_NewRef(Py_None)) < 0
        || put(dict, "shape", sizes(v->shape, v->ndim)) < 0 || put(dict, "strides", sizes(v->strides, v->ndim)) < 0
        || put(dict, "suboffsets", sizes(v->suboffsets, v->ndim)) < 0) {
        Py_DECREF(dict);
        return NULL;
    }
    return dict;
}

static PyObject *hold_tobytes(PyObject *op, PyObject *unused)
{
    Hold *self = (Hold *)op;
    if (!self->open) { PyErr_SetString(PyExc_ValueError, "released"); return NULL; }
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, self->view.len);
    if (bytes != NULL && PyBuffer_ToContiguous(PyBytes_AS_STRING(bytes), &self->view, self->view.len, 'C') < 0)
        Py_CLEAR(bytes);
    return bytes;
}

static PyObject *hold_release(PyObject *op, PyObject *unused)
{
    Hold *self = (Hold *)op;
    if (self->open) {
        self->open = 0;
        PyBuffer_Release(&self->view);
    }
    Py_RETURN_NONE;
}

/* Releases with the exception already on its way: the exporter must neither see nor lose it. */
static PyObject *hold_release_pending(PyObject *op, PyObject *unused)
{
    Hold *self = (Hold *)op;
    if (!self->open) { PyErr_SetString(PyExc_ValueError, "released"); return NULL; }
    self->open = 0;
    PyErr_SetString(PyExc_KeyError, "pending");
    PyBuffer_Release(&self->view);
    int kept = PyErr_Occurred() != NULL && PyErr_ExceptionMatches(PyExc_KeyError);
    PyErr_Clear();
    return PyBool_FromLong(kept);
}

static void hold_dealloc(PyObject *op)
{
    Hold *self = (Hold *)op;
    if (self->open) PyBuffer_Release(&self->view);
    Py_TYPE(op)->tp_free(op);
}

static PyMethodDef hold_methods[] = {
    {"tobytes", hold_tobytes, METH_NOARGS, "the elements in row-major order"},
    {"release", hold_release, METH_NOARGS, "PyBuffer_Release; a second call does nothing"},
    {"release_with_error_pending", hold_release_pending, METH_NOARGS, "True if the pending exception survived"},
    {NULL},
};
static PyGetSetDef hold_getset[] = {{"fields", hold_fields, NULL, "every field of the Py_buffer", NULL}, {NULL}};

PyTypeObject Hold_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lend_counting.Hold",
    .tp_basicsize = sizeof(Hold),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = hold_new,
    .tp_dealloc = hold_dealloc,
    .tp_methods = hold_methods,
    .tp_getset = hold_getset,
};

static int execute(PyObject *module)
{
    return PyModule_AddType(module, &CountingBuffer_Type) < 0 || PyModule_AddType(module, &Hold_Type) < 0
        || PyModule_AddType(module, &TensorSource_Type) < 0 || PyModule_AddType(module, &Taken_Type) < 0
        || PyModule_AddType(module, &CarelessBuffer_Type) < 0
        || PyModule_AddFunctions(module, dlpack_functions) < 0 || PyModule_AddFunctions(module, exchange_functions) < 0
        || PyModule_AddFunctions(module, struct_functions) < 0 ? -1 : 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "lend_counting", .m_slots = slots};

PyMODINIT_FUNC PyInit_lend_counting(void)
{
    return PyModuleDef_Init(&definition);
}
