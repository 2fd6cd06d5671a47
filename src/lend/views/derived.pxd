"""Copies of a View, for the compiled files above."""
from lend.views.view cimport View

cdef View fresh_copy(View view, bint fortran, bint swap, str why, Py_ssize_t alignment=*)
