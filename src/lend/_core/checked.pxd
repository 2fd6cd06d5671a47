"""Overflow-checked integers and atomics of checked.h."""
from cpython.ref cimport PyObject

cdef extern from "checked.h" nogil:
    bint mul_overflows "lend_mul_overflows"(Py_ssize_t a, Py_ssize_t b, Py_ssize_t* out)
    bint add_overflows "lend_add_overflows"(Py_ssize_t a, Py_ssize_t b, Py_ssize_t* out)
    int atomic_add "lend_atomic_add"(int* counter, int n)
    int atomic_get "lend_atomic_get"(int* counter)
    bint interpreter_gone "lend_interpreter_gone"()
    bint holds_gil "lend_holds_gil"()
    PyObject* buffer_obj "lend_buffer_obj"(Py_buffer* buffer)
    void set_buffer_obj "lend_set_buffer_obj"(Py_buffer* buffer, PyObject* obj)


cdef extern from *:
    """
    #define lend_has_release(o) (Py_TYPE(o)->tp_as_buffer && Py_TYPE(o)->tp_as_buffer->bf_releasebuffer)
    """
    # whether an exporter counts its exports, and so does not move its memory while one is open
    bint has_release "lend_has_release"(object exporter)


cdef extern from "Python.h":
    PyObject* PyErr_Occurred()


cdef inline int raise_pending() except -1:
    """Let Cython see the exception that a foreign C function has set; one that set none is told so."""
    if PyErr_Occurred() is NULL:
        raise SystemError("the C function failed without setting an exception")
    return -1
