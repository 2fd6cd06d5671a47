"""The cross-check of who calls memory the host's: an exporter may wrap the address of a device, on purpose or not.

Types that are known to lend memory of their own are not asked about. For any other the driver is, if one is there: an
address that it calls a device's is refused, whatever the protocol says. Of an array of the host that has an interface
of devices, too, the work that this tells of is waited for.
"""
from libc.stdint cimport uintptr_t

from lend._core.driver cimport DRIVER_CUDA, ROW_CONTRADICTED, AccessFacts, Driver, ask_pointer, find_driver, row_of
from lend._core.owners cimport Owner, Protocol, taken_by
from lend._core.record cimport DEVICE_CPU, Record, clear_dims, span_of
from lend.devices.ordering cimport wait_for_all

from lend.adapters.asking import guarded
from lend.protocols.classes import shows

cdef str INTERFACE = "__cuda_array_interface__"
# protocol -> the same, checked; as many as there are protocols of the host
cdef dict _checked = {}


def checked(Protocol protocol):
    """The protocol, of which every answer is checked that is said to be memory of the host."""
    cdef Protocol made = _checked.get(protocol)
    if made is None:
        made = protocol.bound(<void*> protocol)
        taken_by(made, take)
        if protocol.data is NULL:
            _checked[protocol] = made       # what is bound to a type goes with it
        made.inner = protocol
    return made


cdef object take(object obj, Record* record, Py_buffer* lease, int want, void* data):
    """Take by the protocol itself and, where there is a driver, under an owner, and look at the address."""
    cdef Protocol protocol = <Protocol> data
    cdef Owner owner
    if find_driver(DRIVER_CUDA) is NULL:
        return protocol.take(obj, record, lease, want, protocol.data)
    owner = <Owner> protocol.take(obj, record, NULL, want, protocol.data)
    if record.device_type == DEVICE_CPU and is_contradicted(record):
        clear_dims(record)
        from lend.devices import refusals
        raise refusals.called_the_hosts(obj, protocol)
    if record.device_type == DEVICE_CPU and shows(type(obj), INTERFACE):
        wait_for_told(obj)
    return owner


cdef int wait_for_told(object obj) except -1:
    """Wait for the work on memory of the host that an object tells by its array interface.

    The interface tells no device, and whatever a stream there is, all devices that have work are waited for.
    """
    told = _told_by(obj)
    if type(told) is dict and told.get("stream", "unknown") is not None:
        wait_for_all(obj, DRIVER_CUDA, -1, None)
    return 0


@guarded
def _told_by(obj):
    """What its array interface says; None where it has none."""
    return getattr(obj, INTERFACE, None)


cdef bint is_contradicted(const Record* record) noexcept:
    """Whether a driver says that the memory is a device's, and not for the host."""
    cdef Driver* driver = find_driver(DRIVER_CUDA)
    cdef AccessFacts facts
    cdef Py_ssize_t low, high
    if driver is NULL:
        return False
    span_of(record, &low, &high)
    if high == low:
        return False
    facts.declared = DEVICE_CPU
    facts.low = <uintptr_t> record.data + low
    facts.nbytes = high - low
    if ask_pointer(driver, facts.low, &facts.pointer):
        return False        # it has not begun
    facts.begun = 1
    facts.handle = facts.produced = facts.usm = facts.mapped = 0
    facts.device.pageable = facts.device.concurrent = 1
    return row_of(&facts) == ROW_CONTRADICTED
