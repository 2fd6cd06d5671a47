"""View, for the compiled files above."""
cimport cython

from lend._core.owners cimport Owner
from lend._core.record cimport Record
from lend.dtypes.code cimport Code


@cython.final
cdef class View:
    cdef Record record
    cdef Py_buffer lease         # open while INLINE_LEASE is set
    cdef object holder           # the Owner; while INLINE_LEASE is set, the exporter
    cdef object __weakref__


@cython.final
cdef class ExchangeTable:
    pass

cdef extern from "Python.h":
    # shows a filled View to the garbage collector
    void track "PyObject_GC_Track"(View view)

cdef View blank()
cdef Owner owner_of(View view)
cdef Owner hold(View view, Record* record)
cdef View derive(View view)
cdef View view_of(Owner owner, const Record* record)
cdef object derived()
cdef object call_hook(str name)
