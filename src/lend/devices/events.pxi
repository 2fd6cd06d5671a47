"""Part of ordering.pyx, cut off for its length: the events of Arrow arrays, told by producers or made by
lend, and those after copies that nobody waited for."""
from lend._core.arrow_owners cimport Mark
from lend._core.driver cimport is_mapped, wait_event

cdef int read_event(Owner owner, void** event) except -1:
    """The event of a lease; 0, or the driver's error for a handle that is none."""
    cdef void* told
    if type(owner) is DriverOwner:
        event[0] = (<Mark?> (<DriverOwner> owner).pending).event
        return 0
    told = (<ArrowOwner?> owner).sync_event     # where it stands
    if not is_mapped(<uintptr_t> told, sizeof(void*)):
        from lend.devices import refusals
        raise refusals.no_event_there(owner)
    event[0] = (<void**> told)[0]
    return INVALID_HANDLE if event[0] is NULL else 0


cdef int wait_for_event(Owner owner, object shown, int kind, int device_id) except -1:
    """Wait for the event of a lease, and for nothing else."""
    cdef Driver* driver = find_driver(kind)
    cdef Entered entered
    cdef void* event = NULL
    cdef int error = enter(driver, device_id if device_id > 0 else 0, &entered)
    if error == DRIVER_CONTEXT:
        error = 0       # of pinned and managed memory the number says nothing, and an event knows its own context
    elif not error:
        error = check_capture(driver, 0)
    try:
        if not error:
            error = read_event(owner, &event)
        if not error:
            with nogil:
                error = wait_event(driver, event)
    finally:
        leave(driver, &entered)
    return fail(shown, driver, "waiting for the event after which it may be read", error) if error else 0


cdef bint has_event(Owner owner) noexcept:
    """Whether there is an event that must be waited for: its producer told it, or a copy of lend's was not."""
    if type(owner) is DriverOwner:
        return (<DriverOwner> owner).pending is not None and owner.streams is None
    return type(owner) is ArrowOwner and (<ArrowOwner> owner).sync_event is not NULL


cdef int set_mark(Mark made, Driver* driver, uintptr_t stream) noexcept:
    """Record an event of our own on a stream whose device is current; gives the driver's error."""
    cdef int error
    made.driver = driver
    error = new_event(driver, &made.event)
    if error:
        made.event = NULL
        return error
    return record_event(driver, made.event, stream)


def event_after(shown, list owners, int device_type, int device_id):
    """An event of ours, as a Mark, that is done after all work that is pending on what some owners hold, which is on
    one device; 0 where nothing is. Refused where nobody can say."""
    cdef int kind = DRIVER_HIP if device_type == ROCM or device_type == ROCM_HOST else DRIVER_CUDA
    cdef Driver* driver = find_driver(kind)
    cdef Entered entered
    cdef uintptr_t stream = 0
    cdef Mark made = Mark.__new__(Mark)
    cdef Owner owner
    cdef int error
    if all([pending_of(owner, device_type, device_id) is None for owner in owners]):
        return 0
    if driver is NULL:
        from lend.columns import refusals
        raise refusals.no_event(shown)
    error = enter(driver, device_id, &entered)
    if error == DRIVER_CONTEXT and device_type in (CUDA_HOST, MANAGED, ROCM_HOST):
        error = enter(driver, -1, &entered)     # it is on no device, and its number says little
    if error:
        return fail(shown, driver, "making its device current", error)
    try:
        error = check_capture(driver, 0)
        if not error:
            error = new_stream(driver, &stream)
        if not error:
            for owner in owners:
                order_work(owner, shown, device_type, device_id, stream, None)
            error = set_mark(made, driver, stream)
        if error:
            fail(shown, driver, "making an event for who gets it", error)
    finally:
        if stream:
            end_stream(driver, stream)
        leave(driver, &entered)
    return made
