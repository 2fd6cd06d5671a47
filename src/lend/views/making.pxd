"""Making and unmaking a View by hand: half the cost of the most common call lies here. For view.pyx alone."""
from cpython.buffer cimport PyBuffer_Release
from cpython.exc cimport PyErr_Fetch, PyErr_Restore
from cpython.ref cimport PyObject

from lend._core.checked cimport set_buffer_obj
from lend._core.owners cimport delete_managed
from lend._core.record cimport INLINE_LEASE, INLINE_TENSOR, Record, clear_dims

cdef extern from *:
    """
    /* CPython's own guard against long chains of deallocations: beyond some depth the rest waits for its turn */
    static void (*lend_unmake)(PyObject *);
    static void lend_unmake_in_turn(PyObject *self) {
        Py_TRASHCAN_BEGIN(self, Py_TYPE(self)->tp_dealloc)
        lend_unmake(self);
        Py_TRASHCAN_END
    }
    static void lend_set_dealloc(PyTypeObject *type, void (*dealloc)(PyObject *), void (*unmake)(PyObject *)) {
        lend_unmake = unmake;
        type->tp_dealloc = dealloc;
    }
    """
    void unmake_in_turn "lend_unmake_in_turn"(PyObject*)
    void set_dealloc "lend_set_dealloc"(type cls, void (*dealloc)(PyObject*) noexcept,
                                        void (*unmake)(PyObject*) noexcept)


cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        pass
    object gc_new "_PyObject_GC_New"(PyTypeObject* cls)
    void gc_del "PyObject_GC_Del"(void*)
    void gc_untrack "PyObject_GC_UnTrack"(void*)
    void PyObject_ClearWeakRefs(PyObject*)
    PyObject* PyErr_Occurred()
    void drop "Py_XDECREF"(PyObject*)


cdef inline void give_back(Record* record, Py_buffer* lease, PyObject* holder) noexcept:
    """Release what a View held. The reference in `holder` is the one that the Py_buffer gives back; a pending exception
    is kept aside only when there is one, as a release may run anything."""
    cdef PyObject* kind = NULL
    cdef PyObject* value
    cdef PyObject* trace
    if PyErr_Occurred() is not NULL:
        PyErr_Fetch(&kind, &value, &trace)
    if record.flags & INLINE_LEASE:
        set_buffer_obj(lease, holder)
        PyBuffer_Release(lease)
    else:
        if record.flags & INLINE_TENSOR:
            delete_managed(lease.internal, True)
        drop(holder)
    if kind is not NULL:
        PyErr_Restore(kind, value, trace)
    clear_dims(record)
