/* Ours, not a floor: what an extension module in C does with lend.h, as functions of one argument. */
#include "lend.h"

/* look at the memory and keep nothing */
static PyObject *borrow(PyObject *module, PyObject *object) {
  lend_view view;
  if (lend_borrow(object, NULL, &view) < 0) return NULL;
  lend_release(&view);
  Py_RETURN_NONE;
}
/* the same with everything asked that a function over floats asks */
static PyObject *borrow_floats(PyObject *module, PyObject *object) {
  lend_view view;
  lend_request request = LEND_REQUEST_INIT;
  request.flags = LEND_C_ORDER | LEND_NEED_ALIGNED;
  request.dtype = lend_native(LEND_FLOAT, 32);
  request.device_type = 1;
  if (lend_borrow(object, &request, &view) < 0) return NULL;
  lend_release(&view);
  Py_RETURN_NONE;
}
/* hold the memory, and give it back */
static PyObject *acquire(PyObject *module, PyObject *object) {
  lend_view view;
  if (lend_acquire(object, NULL, &view) < 0) return NULL;
  lend_release(&view);
  Py_RETURN_NONE;
}
static PyObject *address(PyObject *module, PyObject *object) {
  lend_view view;
  PyObject *found;
  if (lend_borrow(object, NULL, &view) < 0) return NULL;
  found = PyLong_FromVoidPtr(lend_data(&view));
  lend_release(&view);
  return found;
}

/* look at the memory of every argument */
static PyObject *borrow_each(PyObject *module, PyObject *const *objects, Py_ssize_t count) {
  Py_ssize_t i;
  for (i = 0; i < count; i++) {
    lend_view view;
    if (lend_borrow(objects[i], NULL, &view) < 0) return NULL;
    lend_release(&view);
  }
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {{"borrow", borrow, METH_O, NULL},
                                  {"borrow_floats", borrow_floats, METH_O, NULL},
                                  {"acquire", acquire, METH_O, NULL},
                                  {"borrow_each", (PyCFunction)(void (*)(void))borrow_each, METH_FASTCALL, NULL},
                                  {"address", address, METH_O, NULL},
                                  {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "from_c", NULL, -1, functions, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_from_c(void) {
  if (lend_import() < 0) return NULL;
  return PyModule_Create(&definition);
}
