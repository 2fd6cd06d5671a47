"""Waiting for the work of devices, for the compiled files beside."""
from libc.stdint cimport uintptr_t

from lend._core.driver cimport Driver
from lend._core.owners cimport Owner

cdef int wait_for_producer(Owner owner, object shown, int device_type, int device_id, str sync) except -1
cdef int wait_for_all(object shown, int kind, int device_id, str sync) except -1
cdef int order_work(Owner owner, object shown, int device_type, int device_id, uintptr_t stream, str sync) except -1
cdef int fail(object shown, Driver* driver, str doing, int error) except -1
