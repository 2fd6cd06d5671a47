"""Buffer, for the compiled files above."""
cimport cython

from lend._core.owners cimport Owner
from lend._core.record cimport Record


@cython.final
cdef class Buffer:
    cdef Record record           # one dimension of uint8
    cdef Owner holder
    cdef object __weakref__

cdef Buffer span_buffer(Owner owner, const Record* record)
