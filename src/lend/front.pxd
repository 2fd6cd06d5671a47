"""The front door, for the compiled files of its floor."""
from cpython.ref cimport PyObject

from lend._core.c_view cimport lend_view
from lend._core.owners cimport Protocol
from lend.views.view cimport View

cdef enum:
    REMEMBERED = 256     # types; beyond that the cache is emptied and fills again

cdef struct Slot:
    PyObject* type
    PyObject* protocol
    int columns          # whether its objects show columns, which some targets take before any array: YES, or not known

cdef enum:
    UNKNOWN = 2

cdef extern from *:
    PyObject* type_pointer "(PyObject *)Py_TYPE"(PyObject* obj)


cdef inline Slot* slot_of(Slot* slots, PyObject* cls) noexcept:
    """Where the protocol of a type stands, if it was met lately."""
    return &slots[(<size_t> cls >> 6) % REMEMBERED]


cdef Slot* known_slots() noexcept
cdef Protocol protocol_known(object obj)
cdef View quiet_view(object obj, object target, list refused)
cdef View view_wanted(object obj, int want)
cdef View view_told(object obj, int want, lend_view* view)
