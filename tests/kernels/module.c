/* The kernels in a module of their own, compiled by the tests in the ways that the platform does not choose by itself. */
#define PY_SSIZE_T_CLEAN
#include "kernel_table.h"

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "kernels", NULL, -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_kernels(void);
PyMODINIT_FUNC PyInit_kernels(void) {
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && lend_add_kernels(PyModule_GetDict(module), PyModule_GetNameObject(module)) < 0)
        Py_CLEAR(module);
    return module;
}
