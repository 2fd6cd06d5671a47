"""Small checks and answers that Buffer and View share."""
from libc.stdint cimport uintptr_t

from lend._core.record cimport RELEASED, Record, span_of


cdef inline int alive(const Record* record, object shown) except -1:
    if record.flags & RELEASED:
        from lend.protocols import refusals
        raise refusals.released(shown)
    return 0


cdef inline Py_ssize_t pinned(const Record* record) noexcept:
    """The bytes that a record keeps from going, for sys.getsizeof."""
    cdef Py_ssize_t low, high
    if record.flags & RELEASED:
        return 0
    span_of(record, &low, &high)
    return high - low


cdef inline tuple sizes(const Py_ssize_t* at, int n):
    cdef int i
    return tuple([at[i] for i in range(n)])


cdef inline Py_ssize_t alignment_of(const Record* record) noexcept:
    """The largest power of two, up to 4096, that divides the address."""
    cdef uintptr_t address = <uintptr_t> record.data
    cdef Py_ssize_t alignment = 1
    while alignment < 4096 and not address & alignment:
        alignment *= 2
    return alignment
