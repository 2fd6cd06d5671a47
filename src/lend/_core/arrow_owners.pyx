"""Owners of what the Arrow C interfaces hand over: an array, a schema, a stream. Each is released exactly once.

What is moved in is copied byte by byte and marked as released where it lay, as the interface asks of who takes it:
https://arrow.apache.org/docs/format/CDataInterface.html#moving-an-array
"""
cimport cython
from libc.stdlib cimport free

from lend._core.owners cimport Owner, class_name
from lend._core.unwinding cimport guard


@cython.final
cdef class SchemaOwner:
    """The type of a column or table as its producer told it; what was taken by one stream shares one."""

    def __dealloc__(self):
        if self.schema.release is not NULL:
            self.schema.release(&self.schema)


@cython.final
@cython.no_gc_clear
cdef class ArrowOwner(Owner):
    """An Arrow array; its release callback is called when the last holder of any of its buffers goes.

    The children of a struct without a bitmap are moved into owners of their own when somebody asks for one of them:
    each goes as soon as nobody needs it. All else that one callback releases stays together.
    """

    kind = "arrow"

    @property
    def producer_type(self):
        """Name of the producer's type, as a message would say it."""
        return "PyCapsule" if self.lender is None else class_name(self.lender)

    def __dealloc__(self):
        if self.array.release is not NULL:
            self.array.release(&self.array)
        free(self.places)
        self.parts = None
        self.types = None
        self.lender = None


@cython.final
cdef class StreamOwner:
    """An Arrow stream that is not yet drained."""

    def __dealloc__(self):
        if self.stream.release is not NULL:
            self.stream.release(&self.stream)
        self.lender = None


guard(ArrowOwner)
