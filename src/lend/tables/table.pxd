"""Table, for the compiled files above."""
cimport cython

from lend._core.arrow_owners cimport SchemaOwner
from lend.columns.column cimport Column


@cython.final
cdef class Table:
    cdef SchemaOwner types       # of arrays of structs that came by Arrow, kept for its metadata; None of columns
    cdef tuple arrays            # their owners; None of columns
    cdef list made               # a Column for each place, or None until it is asked for; nobody else has these
    cdef list handed             # what was handed out of them: whoever has one may release it
    cdef tuple told_names        # once they are known
    cdef dict told_metadata      # of one that came by no Arrow; None where nobody told any
    cdef object pending          # of a lazy table the capsule of its stream, until it is handed on
    cdef object giver            # of it, weakly, who may give its rows once, which is to be remembered; else None
    cdef object lender           # the class of who gave that, None of a bare capsule
    cdef SchemaOwner told_types  # where some of its columns are wanted, the types of all that the stream gives,
    cdef list picked             # and the places of these; else None
    cdef Py_ssize_t rows         # UNKNOWN_ROWS: lazy
    cdef Py_ssize_t width        # columns
    cdef object origin
    cdef object __weakref__

cdef enum:
    UNKNOWN_ROWS = -1

cdef Table table_of_batches(list owners, SchemaOwner types)
cdef Table table_of_columns(tuple names, list columns, Py_ssize_t rows)
cdef Table other_columns(Table table, tuple names, list columns, Py_ssize_t rows)
cdef Table lazy_table(object capsule, SchemaOwner types, object lender)
cdef Column column_at(Table table, Py_ssize_t place)
cdef Column twin(Column column, object name)
cdef tuple names_of(Table table)
cdef int check_all(Table table) except -1
cdef list pieces(Table table)
