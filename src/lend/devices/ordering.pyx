"""The order of work on devices: what is waited for before the host reads memory that a device writes.

Who knows of the work decides the way. A stream that the interface told is waited for. An object with `__dlpack__` is
asked to order its work before a stream of our own, which is waited for: nothing is guessed. Of what nobody told the
whole device is waited for. While a stream is captured into a graph nothing waits at all, since that would end the
capture: it is refused, and `sync="none"` is the caller's way to say that there is nothing to wait for.
"""
cimport cython
from cpython.exc cimport PyErr_Clear, PyErr_ExceptionMatches
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid
from libc.stdint cimport uintptr_t

from lend._core.arrow_owners cimport ArrowOwner
from lend._core.checked cimport raise_pending
from lend._core.dlpack cimport DLPACK_MAJOR_VERSION, DLDeviceType, DLPackExchangeAPI
from lend._core.driver cimport (
    DRIVER_CAPTURING, DRIVER_CONTEXT, DRIVER_CUDA, DRIVER_HIP, DRIVER_NOT_INITIALIZED, MEMORY_DEVICE, MEMORY_UNKNOWN,
    Driver, Entered, PointerFacts, ask_pointer, driver_error, end_event, end_stream, enter, enter_of, find_driver,
    has_forked, is_capturing, leave,
    new_event, new_stream, order_after, record_event, wait_device, wait_stream,
)
from lend._core.owners cimport DeviceOwner, DLPackOwner, DriverOwner, Owner
from lend._core.record cimport Record, byte_count
from lend.devices.parking cimport remember_stream, sweep
from lend.views.buffers cimport Buffer, hold_bytes
from lend.views.derived cimport check_stream
from lend.views.lent cimport Lent
from lend.views.view cimport View, hold

cdef enum:
    CUDA = 2
    CUDA_HOST = 3
    ROCM = 10
    ROCM_HOST = 11
    MANAGED = 13
    ONEAPI = 14
    DEINITIALIZED = 4
    INVALID_DEVICE = 101
    ON_DEVICE = 2           # what the driver calls memory of a device
    INVALID_HANDLE = 400
    MOST_DEVICES = 64

cdef object ASK = object()       # the producer can be asked to order its work before a stream
cdef object EVENT = object()     # an event of the producer's is done after it
cdef tuple NEWEST = (1, 3)
cdef object module_of = type.__dict__["__module__"].__get__


cdef Owner hold_any(Lent lent, Record* record):
    """The owner of a View or a Buffer, and a copy of the facts."""
    if type(lent) is View:
        return hold(<View> lent, record)
    return hold_bytes(<Buffer> lent, record)


cdef inline int driver_of(int device_type) noexcept:
    return DRIVER_HIP if device_type == ROCM or device_type == ROCM_HOST else DRIVER_CUDA


@cython.final
cdef class _Known:
    """What a driver said of the allocation that an address lies in; it holds for as long as the lease does."""

    cdef Driver* driver
    cdef uintptr_t low
    cdef PointerFacts pointer


cdef int ask_once(Owner owner, Driver* driver, uintptr_t low, PointerFacts* facts) except? -1:
    """`ask_pointer` of memory of a lease: once for each allocation that the driver knows, as it lives with that."""
    cdef _Known known
    cdef int error
    with cython.critical_section(owner):
        known = <_Known> owner.known
    if known is not None and known.driver == driver and not has_forked() and (
            low == known.low or low - known.pointer.start < known.pointer.size
            # of a registration with two addresses the range may be that for the host
            or (known.pointer.host and known.pointer.host + (low - known.low) - known.pointer.start
                < known.pointer.size)):
        facts[0] = known.pointer
        if facts.host:
            facts.host += low - known.low
        if facts.device:
            facts.device += low - known.low
        return 0
    error = ask_pointer(driver, low, facts)
    if not error and facts.type != MEMORY_UNKNOWN:      # what is not known may be registered yet
        known = _Known.__new__(_Known)
        known.driver = driver
        known.low = low
        known.pointer = facts[0]
        with cython.critical_section(owner):
            owner.known = known
    return error


cdef int wait_for_producer(Owner owner, object shown, int device_type, int device_id, str sync) except -1:
    """Wait until the host may read: for the work that the producer knows of, or as the caller says."""
    cdef int kind = driver_of(device_type)
    cdef object pending
    if sync == "none":
        return 0
    if device_type == ONEAPI:
        return wait_for_queue(owner, shown)
    if sync == "device":
        return wait_for_all(shown, kind, at_work(owner, device_type, device_id), sync)
    pending = pending_of(owner, device_type, device_id)
    if pending is None:
        return 0
    if pending is ASK:
        return wait_by_producer(owner, shown, device_type, device_id)
    if pending is EVENT:
        return wait_for_event(owner, shown, kind, device_id)
    if type(pending) is int:
        return wait_on(shown, kind, device_id, <uintptr_t> pending)
    return wait_for_all(shown, kind, at_work(owner, device_type, device_id), sync)


cdef int at_work(Owner owner, int device_type, int device_id) except -2:
    """The device that may have work on memory: its own; -1, any, where all reach it, whatever it is called.

    Whose work is on managed or pinned memory no number tells: the driver's is of the device that was current when it
    was made, and cuda.core's is always 0.
    """
    cdef Driver* driver
    cdef PointerFacts facts
    if device_type in (CUDA_HOST, ROCM_HOST, MANAGED):
        return -1
    driver = find_driver(driver_of(device_type))
    if driver is not NULL and owner.address is not NULL and ask_once(
            owner, driver, <uintptr_t> owner.address, &facts) == 0:
        if facts.managed or facts.type != MEMORY_DEVICE:
            return -1
    return device_id


cdef object pending_of(Owner owner, int device_type, int device_id):
    """What is known of the work on a lease's memory: None (nothing is pending), a stream, EVENT, ASK, or "unknown"."""
    if type(owner) is DeviceOwner:
        return (<DeviceOwner> owner).pending
    if has_event(owner):
        return EVENT
    if type(owner) is ArrowOwner:
        return None
    # what lend has written itself is complete, until somebody gets it
    if type(owner) is DriverOwner and owner.streams is None:
        return None
    # of pinned memory no stream is taken by `__dlpack__`
    if type(owner) is DLPackOwner and owner.held is not None and device_type not in (CUDA_HOST, ROCM_HOST):
        told = None if ignores_streams(owner.held) else current_stream(owner.held, device_type, device_id)
        return ASK if told is None else told
    return "unknown"


cdef bint ignores_streams(object producer):
    """Whether it is of a class of cuda.core: they know no stream of their memory, and order nothing before one."""
    for cls in type(producer).__mro__:
        module = module_of(cls)
        if type(module) is str and (module == "cuda.core" or module.startswith("cuda.core.")):
            return True
    return False


cdef object current_stream(object producer, int device_type, int device_id):
    """The stream that the exchange table of a producer's type calls current; None: it has none that says so."""
    cdef DLPackExchangeAPI* table
    cdef void* stream = NULL
    capsule = getattr(type(producer), "__dlpack_c_exchange_api__", None)
    if not PyCapsule_IsValid(capsule, "dlpack_exchange_api"):
        return None
    table = <DLPackExchangeAPI*> PyCapsule_GetPointer(capsule, "dlpack_exchange_api")
    if table.header.version.major != DLPACK_MAJOR_VERSION or table.current_work_stream is NULL:
        return None
    if table.current_work_stream(<DLDeviceType> device_type, device_id, &stream) != 0:
        if not PyErr_ExceptionMatches(Exception):
            raise_pending()     # an interrupt
        PyErr_Clear()
        return None
    return <size_t> stream


cdef int wait_on(object shown, int kind, int device_id, uintptr_t stream) except -1:
    """Wait for one stream."""
    cdef Driver* driver = find_driver(kind)
    cdef Entered entered
    cdef int error = enter_of(driver, stream, device_id, &entered)
    if not error:
        error = check_capture(driver, stream)
        if not error:
            with nogil:
                error = wait_stream(driver, stream)
        leave(driver, &entered)
    return fail(shown, driver, "waiting for the stream that its work is pending on", error) if error else 0


include "events.pxi"  # of Arrow arrays


cdef int order_work(Owner owner, object shown, int device_type, int device_id, uintptr_t stream, str sync) except -1:
    """Order the producer's work, on this device, before a stream of our own, whose device is current."""
    cdef Entered entered
    cdef int kind = driver_of(device_type)
    cdef Driver* driver = find_driver(kind)
    cdef object pending
    cdef void* event = NULL
    cdef int error
    if sync == "none":
        return 0
    pending = "unknown" if sync == "device" else pending_of(owner, device_type, device_id)
    if pending is None:
        return 0
    error = check_capture(driver, <uintptr_t> pending if type(pending) is int else 0)
    if error:
        return fail(shown, driver, "asking whether a stream is captured", error)
    if pending is ASK and order_before(owner.held, stream):
        return 0
    if pending is EVENT:
        error = read_event(owner, &event)
        if not error:
            error = order_after(driver, stream, event)
        return fail(shown, driver, "ordering work after the event after which it may be read", error) if error else 0
    if type(pending) is not int:
        return wait_for_all(shown, kind, at_work(owner, device_type, device_id), "device")
    # an event is of the device of the stream that it is recorded on
    error = enter_of(driver, <uintptr_t> pending, device_id, &entered)
    if not error:
        error = new_event(driver, &event)
        if not error:
            error = record_event(driver, event, <uintptr_t> pending)
        leave(driver, &entered)
    if not error:
        error = order_after(driver, stream, event)
    if event is not NULL:
        end_event(driver, event)
    return fail(shown, driver, "ordering a copy after the work on its memory", error) if error else 0


def order(Lent lent, stream):
    """Order what is pending on memory of a device before the stream of a consumer, and remember the stream.

    Parameters
    ----------
    lent : View or Buffer
        On a device.
    stream : int, queue or None
        As DLPack has it: None the default stream, -1 no order, 1 and 2 CUDA's default streams, else a handle; on
        SYCL's devices a queue.
    """
    cdef Record record
    cdef Owner owner = hold_any(lent, &record)
    cdef int kind = record.device_type
    if kind == ONEAPI:
        if hasattr(stream, "wait") and not order_before(owner.held, stream):
            wait_for_queue(owner, lent)     # then it is done before any
        return
    if stream is not None and stream == -1 and record.device_id >= 0:
        return
    if kind not in (CUDA, CUDA_HOST, ROCM, ROCM_HOST, MANAGED) or not is_asked(lent, owner, &record):
        return      # then nothing can be pending in this process
    lent.record.device_id = record.device_id
    if stream is not None and stream == -1:
        return
    if stream is None and kind in (CUDA_HOST, ROCM_HOST, MANAGED):
        # the host reads such memory, and has no stream that it could name: then it is the host that waits
        wait_for_producer(owner, lent, kind, record.device_id, None)
        return
    if stream is None:
        stream = 0 if kind == ROCM else 1
    order_consumer(owner, lent, &record, <uintptr_t> stream)
    sweep()
    remember_stream(owner, driver_of(kind), record.device_id, <size_t> stream)


def interface_stream(Lent lent):
    """The stream that an array interface tells: of a producer that would order its work before any the default one,
    once that was done; None where nothing is pending, and of ROCm, once all is done; "unknown" where there is nobody to
    ask. It is remembered."""
    cdef Record record
    cdef Owner owner = hold_any(lent, &record)
    if record.device_type in (ROCM, ROCM_HOST):
        # HIP has no number for its default stream that the interface could tell
        if byte_count(&record) and is_asked(lent, owner, &record):
            wait_for_producer(owner, lent, record.device_type, record.device_id, None)
            sweep()
            remember_stream(owner, DRIVER_HIP, record.device_id, 0)
        return None
    pending = pending_of(owner, record.device_type, record.device_id)
    if pending is ASK or pending is EVENT:
        if not byte_count(&record):
            return None
        if not is_asked(lent, owner, &record):
            return "unknown"
        order_consumer(owner, lent, &record, 1)
        pending = 1
    elif pending is None and type(owner) is DriverOwner:
        pending = 1     # the first who gets it: what others do to it then is on no stream that was told
    elif type(pending) is not int:
        return pending
    sweep()
    # 0, which the interface forbids, is the same
    remember_stream(owner, DRIVER_CUDA, record.device_id, <size_t> (pending or 1))
    return pending or 1


def used_by(Lent lent, stream):
    """Remember a stream of a consumer that works on the memory: its lease goes back after that work."""
    cdef Record record
    cdef Owner owner = hold_any(lent, &record)
    check_stream(&record, lent, stream)
    if record.device_type == ONEAPI:
        return      # of a queue nobody is told when it has done what it was given
    if stream != -1:
        sweep()
        is_asked(lent, owner, &record)
        remember_stream(owner, driver_of(record.device_type), record.device_id, <size_t> stream)


cdef bint is_asked(Lent lent, Owner owner, Record* record) except? -1:
    """Whether a driver has begun; it tells the number of the device where the producer did not."""
    cdef Driver* driver = find_driver(driver_of(record.device_type))
    cdef PointerFacts facts
    cdef int error
    if driver is NULL or record.data is NULL:
        return False
    error = ask_once(owner, driver, <uintptr_t> record.data, &facts)
    check_number(lent, record, &facts)
    if error == DRIVER_NOT_INITIALIZED or error == DEINITIALIZED:
        return False
    if error:
        fail(lent, driver, "asking the driver about its address", error)
    if record.device_id < 0 and facts.ordinal >= 0:
        record.device_id = facts.ordinal
    return True


cdef int check_number(Lent lent, const Record* record, const PointerFacts* facts) except -1:
    """Refuse memory that its producer and the driver place on different devices."""
    if (facts.type == ON_DEVICE and not facts.managed and record.device_type in (CUDA, ROCM)
            and 0 <= facts.ordinal != record.device_id >= 0):
        from lend.devices import refusals
        raise refusals.elsewhere(lent, facts.ordinal)
    return 0


def number(Lent lent):
    """The number of the device, which is asked of the driver where the producer did not tell it; -1: nobody knows."""
    cdef Record record
    cdef Owner owner = hold_any(lent, &record)
    if record.device_id < 0 and record.device_type in (CUDA, ROCM, MANAGED) and is_asked(lent, owner, &record):
        lent.record.device_id = record.device_id
    return record.device_id


cdef int order_consumer(Owner owner, object shown, const Record* record, uintptr_t stream) except -1:
    """Let a stream of somebody's wait for the work that is pending on memory of a device."""
    cdef int kind = driver_of(record.device_type)
    cdef object pending = pending_of(owner, record.device_type, record.device_id)
    cdef Driver* driver
    cdef Entered entered
    cdef int error
    if pending is None or (type(pending) is int and pending == stream):
        return 0
    if pending is ASK and order_before(owner.held, stream):
        return 0
    driver = find_driver(kind)
    if driver is NULL:
        return 0        # then nothing can be pending in this process
    error = enter(driver, record.device_id, &entered)
    if not error:
        error = check_capture(driver, stream)
        if error:
            leave(driver, &entered)
    if error == DRIVER_CONTEXT or error == DRIVER_NOT_INITIALIZED:
        return 0
    if error:
        return fail(shown, driver, "making its device current", error)
    try:
        order_work(owner, shown, record.device_type, record.device_id, stream,
                   "device" if pending is ASK else "stream")
    finally:
        leave(driver, &entered)
    return 0


cdef int wait_by_producer(Owner owner, object shown, int device_type, int device_id) except -1:
    """Let the producer order its work before a stream of ours, and wait for that one."""
    cdef int kind = driver_of(device_type)
    cdef Driver* driver = find_driver(kind)
    cdef Entered entered
    cdef uintptr_t stream = 0
    cdef bint ordered = False
    cdef int error = enter(driver, device_id, &entered)
    if error:
        return fail(shown, driver, "making the device current", error)
    try:
        error = check_capture(driver, 0)
        if not error:
            error = new_stream(driver, &stream)
        if not error:
            ordered = order_before(owner.held, stream)
            if ordered:
                error = check_capture(driver, stream)       # of the producer's, which ours may have joined
            if ordered and not error:
                with nogil:
                    error = wait_stream(driver, stream)
    finally:
        if stream:
            end_stream(driver, stream)
        leave(driver, &entered)
    if error:
        return fail(shown, driver, "waiting for the work of its producer", error)
    return 0 if ordered else wait_for_all(shown, kind, at_work(owner, device_type, device_id), "stream")


cdef bint order_before(object producer, object stream) except -1:
    """Ask `__dlpack__` to order the producer's work before a stream or a queue; False: it would not."""
    if ignores_streams(producer):
        return False
    try:
        try:
            producer.__dlpack__(stream=stream, max_version=NEWEST)
        except TypeError:
            producer.__dlpack__(stream=stream)
    except (MemoryError, RecursionError):
        raise
    except Exception:  # noqa: BLE001 - a producer may raise anything; then all of the device is waited for
        return False
    return True


cdef int wait_for_all(object shown, int kind, int device_id, str sync) except -1:
    """Wait for all work of a device, or (-1) of each that has a context."""
    cdef Driver* driver = find_driver(kind)
    cdef Entered entered
    cdef int first = device_id if device_id >= 0 else 0
    cdef int last = device_id if device_id >= 0 else MOST_DEVICES - 1
    cdef int number, error = 0
    for number in range(first, last + 1):
        error = enter(driver, number, &entered)
        if error == DRIVER_CONTEXT:
            # nothing was ever begun on it in this process
            error = 0
            continue
        if error == INVALID_DEVICE and device_id < 0:
            error = 0
            break
        if not error:
            error = check_capture(driver, 0)
            if not error:
                with nogil:
                    error = wait_device(driver)
            leave(driver, &entered)
        if error:
            break
    return fail(shown, driver, "waiting for all work of the device", error) if error else 0


cdef int wait_for_queue(Owner owner, object shown) except -1:
    """Wait for a queue of SYCL: the `syclobj` of the interface, or the producer's `sycl_queue`."""
    cdef object queue = None
    if type(owner) is DeviceOwner:
        queue = (<DeviceOwner> owner).syclobj
    for candidate in (queue, getattr(owner.held, "sycl_queue", None)):
        if hasattr(candidate, "wait"):
            candidate.wait()
            return 0
    from lend.devices import refusals
    raise refusals.no_queue(shown)


cdef int check_capture(Driver* driver, uintptr_t stream) noexcept:
    """DRIVER_CAPTURING where a wait would end the capture of a graph; 0, or the driver's error."""
    cdef int capturing = 0
    cdef int error
    cdef uintptr_t known
    for known in (stream, <uintptr_t> 0, <uintptr_t> 2):
        error = is_capturing(driver, known, &capturing)
        if error:
            return error
        if capturing:
            return DRIVER_CAPTURING
    return 0


cdef int fail(object shown, Driver* driver, str doing, int error) except -1:
    """Raise what a driver answered."""
    from lend.devices import refusals
    if error == DRIVER_CAPTURING:
        raise refusals.capturing(shown)
    raise refusals.driver_failed(shown, doing, error, driver_error(driver, error).decode("ascii", "replace"))
