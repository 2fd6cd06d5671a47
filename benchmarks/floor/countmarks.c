/* Two marks for callgrind: start counting from zero, and write down what was counted since. Nothing outside valgrind. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <valgrind/callgrind.h>

static PyObject *zero(PyObject *m, PyObject *x) {
  CALLGRIND_ZERO_STATS;
  Py_RETURN_NONE;
}
static PyObject *dump(PyObject *m, PyObject *x) {
  CALLGRIND_DUMP_STATS;
  Py_RETURN_NONE;
}
static PyObject *counting(PyObject *m, PyObject *x) { return PyBool_FromLong(RUNNING_ON_VALGRIND); }
static PyMethodDef methods[] = {
    {"zero", zero, METH_NOARGS}, {"dump", dump, METH_NOARGS}, {"counting", counting, METH_NOARGS}, {0}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "countmarks", NULL, -1, methods};
PyMODINIT_FUNC PyInit_countmarks(void) { return PyModule_Create(&definition); }
