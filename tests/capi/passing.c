/* Passing(nobody): passes buffers of a fresh object on, which only the buffer keeps alive, or says of nobody that it is
 * theirs; there is nothing that it would have to release. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

typedef struct {
    PyObject_HEAD
    int nobody;
} Passing;

static char bytes[64];

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kw) {
    Passing *self;
    int nobody;
    if (!PyArg_ParseTuple(args, "p", &nobody)) return NULL;
    self = (Passing *)type->tp_alloc(type, 0);
    if (self != NULL) self->nobody = nobody;
    return (PyObject *)self;
}

static int pass_on(PyObject *self, Py_buffer *out, int flags) {
    PyObject *fresh;
    int status;
    if (((Passing *)self)->nobody) {
        status = PyBuffer_FillInfo(out, self, bytes, sizeof(bytes), 0, flags);
        Py_CLEAR(out->obj);
        return status;
    }
    fresh = PyObject_CallFunction((PyObject *)&PyByteArray_Type, "n", (Py_ssize_t)1 << 20);
    if (fresh == NULL) return -1;
    memset(PyByteArray_AS_STRING(fresh), 7, 1 << 20);
    status = PyObject_GetBuffer(fresh, out, flags);
    Py_DECREF(fresh);
    return status;
}

static PyBufferProcs procs = {pass_on, NULL};
static PyTypeObject type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "passing.Passing",
    .tp_basicsize = sizeof(Passing),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = make,
    .tp_as_buffer = &procs,
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "passing", NULL, -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_passing(void) {
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL || PyType_Ready(&type) < 0 || PyModule_AddObjectRef(module, "Passing", (PyObject *)&type) < 0)
        return NULL;
    return module;
}
