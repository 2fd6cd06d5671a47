"""Copies of a View, for the compiled files above."""
from lend.dtypes.code cimport Code
from lend.views.view cimport View

cdef View fresh_copy(View view, bint fortran, Code code, str why, Py_ssize_t alignment=*)
