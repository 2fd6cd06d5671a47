"""Integers that come from outside as Python objects, and tuples of our own."""
from cpython.exc cimport PyErr_Clear, PyErr_Occurred
from cpython.number cimport PyIndex_Check, PyNumber_Index
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport uintptr_t

cdef extern from "Python.h":
    # without Cython's exception check: an int that does not fit is an answer, not an error
    Py_ssize_t long_as_size "PyLong_AsSsize_t"(object) noexcept
    size_t long_as_address "PyLong_AsSize_t"(object) noexcept


cdef inline object exact_int(object item):
    """The int that item is, or None; True and False are none. `__index__` may raise anything."""
    if isinstance(item, bool) or not PyIndex_Check(item):
        return None
    return PyNumber_Index(item)


cdef inline bint int_as_size(object item, Py_ssize_t* out) noexcept:
    """Read an exact int into a signed size; False if it does not fit."""
    out[0] = long_as_size(item)
    if out[0] == -1 and PyErr_Occurred() is not NULL:
        PyErr_Clear()
        return False
    return True


cdef inline bint int_as_address(object item, uintptr_t* out) noexcept:
    """Read an exact int into an address; False if it is negative or does not fit."""
    out[0] = long_as_address(item)
    if out[0] == <uintptr_t> -1 and PyErr_Occurred() is not NULL:
        PyErr_Clear()
        return False
    return True


cdef inline bint read_size(object item, Py_ssize_t* out) except? True:
    """The same for any object; False also if it is no integer."""
    item = exact_int(item)
    return item is not None and int_as_size(item, out)


cdef inline bint read_address(object item, uintptr_t* out) except? True:
    """The same for any object; False also if it is no integer."""
    item = exact_int(item)
    return item is not None and int_as_address(item, out)


cdef inline tuple tuple_of(const Py_ssize_t* at, int n):
    """A tuple of n sizes."""
    cdef tuple made = PyTuple_New(n)
    cdef object item
    cdef int i
    for i in range(n):
        item = at[i]
        Py_INCREF(item)
        PyTuple_SET_ITEM(made, i, item)
    return made
