"""Lent, for the compiled files above."""
cimport cython

from lend._core.record cimport Record


cdef class Lent:
    cdef Record record
    cdef object holder           # the Owner; while INLINE is set in the record of a View, the exporter


@cython.final
cdef class ExchangeTable:
    pass

cdef object call_hook(str name)
cdef int host_buffer(Lent lent, Py_buffer* out, int flags) except -1
cdef object derived()
cdef object values()
