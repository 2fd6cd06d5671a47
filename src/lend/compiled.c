/* lend._compiled: the shared object that holds every compiled module of lend, and the list of how each begins. */
#include <Python.h>

#include "door.h"

#define LEND_MODULE(name) PyMODINIT_FUNC PyInit_##name(void);
#include "modules.h"
#undef LEND_MODULE

#define LEND_MODULE(name) {#name, PyInit_##name},
static const struct lend_beginning beginnings[] = {
#include "modules.h"
    {NULL, NULL}};
#undef LEND_MODULE

static int add_beginnings(PyObject *module) {
    PyObject *capsule = PyCapsule_New((void *)beginnings, LEND_BEGINNINGS, NULL);
    int result = capsule == NULL ? -1 : PyObject_SetAttrString(module, "BEGINNINGS", capsule);
    Py_XDECREF(capsule);
    return result;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)add_beginnings},
#ifdef Py_GIL_DISABLED
                                   {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
                                   {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_compiled", NULL, 0, NULL, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__compiled(void) { return PyModuleDef_Init(&definition); }
