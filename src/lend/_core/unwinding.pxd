"""Long chains of deallocations, one after the other: unwinding.h."""
from cpython.ref cimport PyObject

ctypedef void (*Destructor)(PyObject* self) noexcept

cdef extern from "unwinding.h":
    void unmake_in_turn "lend_unmake_in_turn"(PyObject* self, Destructor unmake) noexcept
    void guard "lend_guard"(object cls)
