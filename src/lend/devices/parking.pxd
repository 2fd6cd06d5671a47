"""Leases that wait for the streams of their last consumers, for the compiled files beside."""
from lend._core.owners cimport Owner

cdef int remember_stream(Owner owner, int kind, int device_id, size_t stream) except -1
cdef int keep_until(Owner owner, int kind, int device_id, size_t stream) except -1
cdef void sweep() noexcept
