/* A call without keywords, or with the one keyword that everybody passes, goes straight to the work, past the unpacking
 * of all the others: half the cost of such a call lies there. The function object keeps its own vectorcall for every other
 * call, and with it signature, docstring and errors. Each module that includes this has its own shortcuts.
 * A function must be a Cython function object (the build's `shortened`): the interpreter calls a plain C function by its
 * definition. A method may be a plain descriptor: with keywords that, too, is called by its vectorcall.
 */
#ifndef LEND_SHORTCUTS_H
#define LEND_SHORTCUTS_H

#include <Python.h>

/* where a callable keeps its vectorcall; NULL: nowhere */
static inline vectorcallfunc *lend_vectorcall_of(PyObject *callable) {
    PyTypeObject *type = Py_TYPE(callable);
    if (!PyType_HasFeature(type, Py_TPFLAGS_HAVE_VECTORCALL) || type->tp_vectorcall_offset <= 0) return NULL;
    vectorcallfunc *slot = (vectorcallfunc *)((char *)callable + type->tp_vectorcall_offset);
    return *slot != NULL ? slot : NULL;
}

static vectorcallfunc lend_general_2, lend_general_method;
static PyObject *(*lend_plain_2)(PyObject *, PyObject *);
static PyObject *(*lend_plain_method)(PyObject *, PyObject *);
static PyObject *lend_method_keyword;
static PyTypeObject *lend_method_type;

/* After a call that failed: what is commonly meant by a keyword that view and buffer have not. */
static inline PyObject *lend_failed(PyObject *names) {
    Py_ssize_t i = names == NULL || !PyErr_ExceptionMatches(PyExc_TypeError) ? 0 : PyTuple_GET_SIZE(names);
    while (i-- > 0)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "readonly") == 0)
            PyErr_SetString(PyExc_TypeError, "unexpected keyword argument 'readonly': writable=False gives what is "
                                             "read-only, writable=True what is writable, or a refusal");
    return NULL;
}

/* f(x); two such functions a module */
#define LEND_SHORTCUT_1(n)                                                                                             \
    static vectorcallfunc lend_general_1##n;                                                                           \
    static PyObject *(*lend_plain_1##n)(PyObject *);                                                                   \
    static inline PyObject *lend_call_1##n(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {    \
        if (names == NULL && PyVectorcall_NARGS(nargsf) == 1) return lend_plain_1##n(args[0]);                         \
        PyObject *made = lend_general_1##n(self, args, nargsf, names);                                                 \
        return made != NULL ? made : lend_failed(names);                                                               \
    }                                                                                                                  \
    static inline void lend_shorten_1##n(PyObject *function, PyObject *(*plain)(PyObject *)) {                         \
        vectorcallfunc *slot = lend_vectorcall_of(function);                                                           \
        if (slot == NULL) return;                                                                                      \
        lend_plain_1##n = plain;                                                                                       \
        lend_general_1##n = *slot;                                                                                     \
        *slot = lend_call_1##n;                                                                                        \
    }
LEND_SHORTCUT_1(a)
LEND_SHORTCUT_1(b)

/* f(x, y); the plain way answers NULL without an exception when the general one must do it */
static inline PyObject *lend_call_2(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    if (names == NULL && PyVectorcall_NARGS(nargsf) == 2) {
        PyObject *made = lend_plain_2(args[0], args[1]);
        if (made != NULL || PyErr_Occurred()) return made;
    }
    return lend_general_2(self, args, nargsf, names);
}

static inline void lend_shorten_2(PyObject *function, PyObject *(*plain)(PyObject *, PyObject *)) {
    vectorcallfunc *slot = lend_vectorcall_of(function);
    if (slot == NULL) return;
    lend_plain_2 = plain;
    lend_general_2 = *slot;
    *slot = lend_call_2;
}

/* x.__dlpack__(max_version=...) */
static inline PyObject *lend_call_method(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    if (names != NULL && PyTuple_GET_SIZE(names) == 1 && PyTuple_GET_ITEM(names, 0) == lend_method_keyword
        && PyVectorcall_NARGS(nargsf) == 1 && Py_IS_TYPE(args[0], lend_method_type))
        return lend_plain_method(args[0], args[1]);
    return lend_general_method(self, args, nargsf, names);
}

static inline void lend_shorten_method(PyObject *type, PyObject *method, PyObject *(*plain)(PyObject *, PyObject *)) {
    vectorcallfunc *slot = lend_vectorcall_of(method);
    lend_method_keyword = PyUnicode_InternFromString("max_version");
    if (slot == NULL || lend_method_keyword == NULL) return;
    lend_plain_method = plain;
    lend_method_type = (PyTypeObject *)type;
    lend_general_method = *slot;
    *slot = lend_call_method;
}

#endif
