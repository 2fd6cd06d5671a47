/* The file that `import lend.views.view` finds: the module itself is in lend._compiled, and this leads there. */
#include <Python.h>
#include <string.h>

#include "door.h"

#define TEXT(name) #name
#define TEXT_OF(name) TEXT(name)
#define JOINED(a, b) a##b
#define BEGIN(name) JOINED(PyInit_, name)

PyMODINIT_FUNC BEGIN(NAME)(void) {
    const struct lend_beginning *each;
    PyObject *module = PyImport_ImportModule("lend._compiled");
    if (module == NULL) return NULL;
    Py_DECREF(module); /* sys.modules keeps it, and the list is static */
    each = (const struct lend_beginning *)PyCapsule_Import(LEND_BEGINNINGS, 0);
    if (each == NULL) return NULL;
    while (each->name != NULL && strcmp(each->name, TEXT_OF(NAME)) != 0) each++;
    if (each->name == NULL)
        return PyErr_Format(PyExc_ImportError, "lend._compiled has no module " TEXT_OF(NAME)
                                               ": it is of another version of lend");
    return each->begin();
}
