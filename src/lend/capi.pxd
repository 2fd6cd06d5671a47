"""The way in from C, for the compiled file beside."""
from cpython.ref cimport PyObject
from libc.stdint cimport uint32_t

ctypedef int (*AcquireArrow)(PyObject* obj, uint32_t flags, void* schema, void* array, void* column) except -1

cdef void set_arrow_way(AcquireArrow way) noexcept
