"""Owners of what the Arrow C interfaces hand over, for the compiled files above."""
from lend._core.arrow cimport ArrowArray, ArrowArrayStream, ArrowSchema
from lend._core.owners cimport Owner


cdef class SchemaOwner:
    cdef ArrowSchema schema


cdef class ArrowOwner(Owner):
    cdef ArrowArray array        # moved in; its release is called once
    cdef tuple parts             # owners of the children that were moved out; then `array` points at theirs
    cdef ArrowArray** places
    cdef SchemaOwner types
    cdef object lender           # class of the producer, None of a bare capsule; what it made does not need it any more


cdef class StreamOwner:
    cdef ArrowArrayStream stream
    cdef object lender
