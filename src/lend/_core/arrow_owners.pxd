"""Owners of what the Arrow C interfaces hand over, for the compiled files above."""
from libc.stdint cimport int32_t

from lend._core.arrow cimport ArrowArray, ArrowArrayStream, ArrowDeviceArray, ArrowSchema
from lend._core.driver cimport Driver
from lend._core.owners cimport Owner


cdef class SchemaOwner:
    cdef ArrowSchema schema


cdef class ArrowOwner(Owner):
    cdef ArrowArray array        # moved in; its release is called once
    cdef tuple parts             # owners of the children that were moved out; then `array` points at theirs
    cdef ArrowArray** places
    cdef SchemaOwner types
    cdef object lender           # class of the producer, None of a bare capsule; what it made does not need it any more
    cdef const ArrowSchema* type  # of the array, in `types`
    cdef void* sync_event        # of the producer's, while the array lives: after it the memory may be read
    cdef int32_t device_id
    cdef int32_t device_type     # the host's where no device was told


cdef class Mark:
    cdef Driver* driver
    cdef void* event             # NULL, once somebody took it out


cdef class StreamOwner:
    cdef ArrowArrayStream stream
    cdef object lender
    cdef const ArrowDeviceArray* device   # of a device stream: what it said of its last array; else NULL
