"""Waiting for the work of devices, for the compiled files beside."""
from libc.stdint cimport uintptr_t

from lend._core.arrow_owners cimport Mark
from lend._core.driver cimport Driver, PointerFacts
from lend._core.owners cimport Owner
from lend._core.record cimport Record
from lend.views.lent cimport Lent

cdef int wait_for_producer(Owner owner, object shown, int device_type, int device_id, str sync) except -1
cdef int wait_for_all(object shown, int kind, int device_id, str sync) except -1
cdef int ask_once(Owner owner, Driver* driver, uintptr_t low, PointerFacts* facts) except? -1
cdef Owner hold_any(Lent lent, Record* record)
cdef int order_work(Owner owner, object shown, int device_type, int device_id, uintptr_t stream, str sync) except -1
cdef int check_number(Lent lent, const Record* record, const PointerFacts* facts) except -1
cdef int check_capture(Driver* driver, uintptr_t stream) noexcept
cdef int set_mark(Mark made, Driver* driver, uintptr_t stream) noexcept
cdef bint has_event(Owner owner) noexcept
cdef int fail(object shown, Driver* driver, str doing, int error) except -1
