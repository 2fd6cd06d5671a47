"""Owners of what the Arrow C interfaces hand over: an array, a schema, a stream. Each is released exactly once.

What is moved in is copied byte by byte and marked as released where it lay, as the interface asks of who takes it:
https://arrow.apache.org/docs/format/CDataInterface.html#moving-an-array
"""
cimport cython
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t
from libc.stdlib cimport free

from lend._core.arrow cimport ArrowArray
from lend._core.driver cimport end_event
from lend._core.owners cimport Owner, class_name, park_moved
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

    def __cinit__(self):
        self.device_type = 1

    @property
    def producer_type(self):
        """Name of the producer's type, as a message would say it."""
        return "PyCapsule" if self.lender is None else class_name(self.lender)

    @property
    def ptr(self):
        """Address of the lowest buffer; the others of the array lie anywhere."""
        with cython.critical_section(self):
            return lowest(&self.array, 0)

    @property
    def place(self):
        """(device type, device id)."""
        return (self.device_type, self.device_id)

    def __dealloc__(self):
        if self.streams is not None:
            park_array(self)
        if self.array.release is not NULL:
            self.array.release(&self.array)
        free(self.places)
        self.parts = None
        self.types = None
        self.lender = None


cdef void park_array(ArrowOwner owner) noexcept:
    """Move an array whose last holder went into an owner that waits for the streams of its consumers."""
    cdef ArrowOwner other
    try:
        other = ArrowOwner.__new__(ArrowOwner)
    except MemoryError:
        owner.array.release = NULL      # never given back, rather than too early
        Py_INCREF(owner.parts)
        return
    other.array = owner.array
    owner.array.release = NULL
    other.places = owner.places
    owner.places = NULL
    other.parts = owner.parts
    other.types = owner.types
    other.type = owner.type
    other.lender = owner.lender
    other.device_type = owner.device_type
    other.device_id = owner.device_id
    park_moved(other, owner)


cdef size_t lowest(const ArrowArray* array, size_t found) noexcept:
    """The lowest address of all buffers that are not NULL, and of what was found before; 0: none."""
    cdef int64_t i
    for i in range(array.n_buffers):
        if array.buffers[i] is not NULL and (not found or <size_t> array.buffers[i] < found):
            found = <size_t> array.buffers[i]
    for i in range(array.n_children):
        found = lowest(array.children[i], found)
    return found if array.dictionary is NULL else lowest(array.dictionary, found)


@cython.final
cdef class Mark:
    """An event of a driver that lend made for an array that it gives; who takes it out ends it."""

    def __dealloc__(self):
        if self.event is not NULL:
            end_event(self.driver, self.event)


@cython.final
cdef class StreamOwner:
    """An Arrow stream that is not yet drained."""

    def __dealloc__(self):
        if self.stream.release is not NULL:
            self.stream.release(&self.stream)
        self.lender = None


guard(ArrowOwner)
