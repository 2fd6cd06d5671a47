"""Column, for the compiled files above."""
cimport cython

from lend._core.arrow_owners cimport SchemaOwner
from lend._core.column cimport ColumnRecord
from lend._core.record cimport Record


@cython.final
cdef class Column:
    cdef ColumnRecord record
    cdef object holder           # an Owner; a tuple of one (or None) for each buffer; None of several chunks
    cdef SchemaOwner types       # keeps record.type
    cdef object kind             # the DType, once it is known
    cdef object told_name        # where it is not the one of record.type
    cdef object told_metadata
    cdef tuple parts             # chunks; of one chunk its children, once they are made: never shown, only twins are
    cdef Column words            # the dictionary, once it is made
    cdef object sentinel         # what stands for null by NULLS_SENTINEL
    cdef Py_ssize_t counted      # nulls, those that a dictionary bears among them; -1: not counted yet
    cdef tuple views             # of text in views that came by no Arrow array: Views of where the longer ones lie
    cdef object origin           # what it was taken from, while nothing is changed
    cdef tuple places            # of one on several devices (record.device_type is 0): (type, id) of each buffer
    cdef object __weakref__

# what columns/giving.pyx does for a Column, once it is loaded
ctypedef object (*GiveColumn)(Column column, object requested)
cdef void set_giving(GiveColumn array, GiveColumn stream) noexcept
cdef Column new_column()
cdef Column column_of(object holder, const ColumnRecord* record, SchemaOwner types)
cdef Column chunked(list chunks, SchemaOwner types)
cdef Column unmasked(Column made)
cdef object held(Column column)
cdef Column twin(Column column)
cdef tuple twins(tuple columns)
cdef Column single(Column column, str what)
cdef tuple children_of(Column column)
cdef Column dictionary_of(Column column)
cdef object owner_of_buffer(Column column, int place)
cdef Py_ssize_t buffer_size(Column column, int place) except -1
cdef object dtype_of(Column column)
cdef int put_device(Column column, int place, Record* record) except -1
