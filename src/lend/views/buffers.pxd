"""Buffer, for the compiled files above."""
cimport cython

from lend._core.owners cimport Owner
from lend._core.record cimport Record
from lend.views.lent cimport Lent


@cython.final
cdef class Buffer(Lent):             # its record: bytes without gaps, of uint8 unless a Column knows better
    cdef object __weakref__

cdef Owner hold_bytes(Buffer self, Record* record)
cdef Buffer span_buffer(Owner owner, const Record* record)
