"""Part of ordering.pyx, cut off for its length: the events of Arrow arrays, told by producers and made by lend."""
from lend._core.arrow_owners cimport Mark
from lend._core.driver cimport is_mapped, wait_event

cdef int read_event(ArrowOwner owner, void** event) except -1:
    """The event of an array, which its struct points to; 0, or the driver's error for a handle that is none."""
    if not is_mapped(<uintptr_t> owner.sync_event, sizeof(void*)):
        from lend.devices import refusals
        raise refusals.no_event_there(owner)
    event[0] = (<void**> owner.sync_event)[0]
    return INVALID_HANDLE if event[0] is NULL else 0


cdef int wait_for_event(ArrowOwner owner, object shown, int kind, int device_id) except -1:
    """Wait for the event of an array, and for nothing else."""
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
    return fail(shown, driver, "waiting for the event that its producer told", error) if error else 0


cdef bint has_event(Owner owner) noexcept:
    """Whether its producer told an event, which must be waited for."""
    return type(owner) is ArrowOwner and (<ArrowOwner> owner).sync_event is not NULL


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
            made.driver = driver
            for owner in owners:
                order_work(owner, shown, device_type, device_id, stream, None)
            error = new_event(driver, &made.event)
        if error:
            made.event = NULL
        else:
            error = record_event(driver, made.event, stream)
        if error:
            fail(shown, driver, "making an event for who gets it", error)
    finally:
        if stream:
            end_stream(driver, stream)
        leave(driver, &entered)
    return made
