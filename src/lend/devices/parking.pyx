"""Release in the order of streams: a lease that its last holder let go while a consumer's stream may still read it.

A deleter takes no stream, and a producer's allocator would hand the memory out again at once. So each lease of a
device knows the streams that it was handed out for, as far as lend was told. When it goes, an event is recorded on
each of them. The stream of the producer, where it is known, is made to wait for these, and the lease is given back
right away; else the lease is parked, as an owner that nobody holds but the list below, until its events are done. The
list is looked through when the next one is parked or handed out, and never waited for. What is parked when the
interpreter ends is not given back.
"""
cimport cython
from cpython.ref cimport Py_INCREF

from lend._core.checked cimport interpreter_gone
from lend._core.driver cimport (
    Driver, Entered, end_event, enter, enter_of, find_driver, is_event_done, leave, new_event, order_after,
    record_event,
)
from lend._core.owners cimport DeviceOwner, Owner, set_park


@cython.final
cdef class Parked:
    """An owner, and the events that it waits for."""

    cdef Owner owner
    cdef list events         # of (kind of the driver, device, address of the event)


cdef list parked = []


cdef int remember_stream(Owner owner, int kind, int device_id, size_t stream) except -1:
    """Note that a lease was handed out for the work of a stream."""
    with cython.critical_section(owner):
        if owner.streams is None:
            owner.streams = set()
        owner.streams.add((kind, device_id, stream))
    return 0


cdef void park(Owner owner, object streams) noexcept:
    """Keep an owner, which is nobody's any more, until the streams have done what they were given so far."""
    cdef list events = []
    cdef Parked waiting
    if interpreter_gone():
        Py_INCREF(owner)        # never given back
        return
    try:
        sweep()
        for kind, device_id, stream in streams:
            event = event_on(kind, device_id, stream)
            if event:
                events.append((kind, device_id, event))
        if type(owner) is DeviceOwner and type((<DeviceOwner> owner).pending) is int:
            events = [told for told in events if not let_wait(told, (<DeviceOwner> owner).pending)]
        if events:
            waiting = Parked.__new__(Parked)
            waiting.owner = owner
            waiting.events = events
            parked.append(waiting)
    except MemoryError:
        Py_INCREF(owner)        # better never than too early


cdef int keep_until(Owner owner, int kind, int device_id, size_t stream) except -1:
    """Keep an owner until a stream has done what it was given so far; 0: no event could be made."""
    cdef Parked waiting = Parked.__new__(Parked)
    sweep()
    event = event_on(kind, device_id, stream)
    if not event:
        return 0
    waiting.owner = owner
    waiting.events = [(kind, device_id, event)]
    parked.append(waiting)
    return 1


cdef size_t event_on(int kind, int device_id, size_t stream) except? 0:
    """An event that is done when the stream has done what it was given so far; 0: the driver made none."""
    cdef Driver* driver = find_driver(kind)
    cdef Entered entered
    cdef void* event = NULL
    if driver is NULL or enter_of(driver, stream, device_id, &entered):
        return 0
    if new_event(driver, &event):
        event = NULL
    elif record_event(driver, event, stream):
        end_event(driver, event)     # a stream that is there no more
        event = NULL
    leave(driver, &entered)
    return <size_t> event


cdef bint let_wait(tuple told, size_t stream) except -1:
    """Let the producer's stream wait for an event, which is not needed after that; False: it could not."""
    kind, device_id, event = told
    cdef Driver* driver = find_driver(kind)
    cdef Entered entered
    cdef bint done
    if enter(driver, device_id, &entered):
        return False
    done = order_after(driver, stream, <void*> <size_t> event) == 0
    if done:
        end_event(driver, <void*> <size_t> event)
    leave(driver, &entered)
    return done


cdef void sweep() noexcept:
    """Give back what waits for nothing any more."""
    cdef list ended = []
    cdef list left
    cdef Parked waiting
    if not parked:
        return
    try:
        with cython.critical_section(parked):
            left = []
            for waiting in parked:
                waiting.events = [told for told in waiting.events if not is_over(told)]
                (left if waiting.events else ended).append(waiting)
            parked[:] = left
    except MemoryError:
        pass
    # what they hold goes here, when the list is whole again: a deleter may run anything
    ended.clear()


cdef bint is_over(tuple told) except -1:
    """Whether an event is done; it is ended then."""
    kind, device_id, event = told
    cdef Driver* driver = find_driver(kind)
    cdef Entered entered
    cdef int done = 0
    if enter(driver, device_id, &entered):
        return False
    if is_event_done(driver, <void*> <size_t> event, &done):
        done = 0                    # an error of the device: its memory is given back by nobody
    if done:
        end_event(driver, <void*> <size_t> event)
    leave(driver, &entered)
    return done


def waiting():
    """How many leases wait for streams now; looks at each of them first."""
    sweep()
    return len(parked)


set_park(park)
