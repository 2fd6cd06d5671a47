"""Columns as Arrow data, for the compiled files above."""
from lend._core.arrow cimport ArrowArray, ArrowSchema
from lend.columns.column cimport Column

cdef Column sayable(Column column)
cdef int look(Column column) except -1
cdef Column asked_for(Column column, object requested)
cdef object event_of(list columns)
cdef int describe(object given, ArrowSchema* out) except -1
cdef int describe_named(Column column, ArrowSchema* out, bytes name) except -1
cdef int fill(object given, ArrowArray* out) except -1
cdef void push_down(ArrowArray* out) noexcept
