"""View, for the compiled files above."""
cimport cython

from lend._core.owners cimport Owner
from lend._core.record cimport Record
from lend.views.lent cimport Lent


@cython.final
cdef class View(Lent):
    cdef Py_buffer lease         # open while INLINE_LEASE is set
    cdef object __weakref__


cdef extern from "Python.h":
    # shows a filled View to the garbage collector
    void track "PyObject_GC_Track"(View view)

cdef View blank()
cdef Owner owner_of(View view)
cdef Owner hold(View view, Record* record)
cdef View derive(View view)
cdef View view_of(Owner owner, const Record* record)
# makes a Buffer of an owner and a record
ctypedef object (*SpanBuffer)(Owner owner, const Record* record)
cdef void set_bytes(SpanBuffer make) noexcept
cdef object bytes_of(Owner owner, const Record* record)
