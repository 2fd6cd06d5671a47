"""Parts of a Column, for the compiled files above."""
from lend.columns.column cimport Column

cdef object bytes_at(Column column, int place)
