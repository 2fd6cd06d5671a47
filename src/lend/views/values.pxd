"""Reading and copying the values of a View, for the compiled files beside."""
from lend._core.owners cimport Owner
from lend._core.record cimport Record
from lend.dtypes.code cimport Code
from lend.views.view cimport View

cdef int no_objects(View view, str verb) except -1
cdef int raise_objects(View view, str verb) except -1
cdef View for_host(View view)
cdef Owner hold_to_read(View view, Record* record)
cdef View fresh_copy(View view, bint fortran, Code code, str why, Py_ssize_t alignment=*)
