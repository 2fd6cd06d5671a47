"""Copies between devices and the host, made by the driver because they were asked for by name, and counted.

What lies in one block is one call. Rows that lie apart are calls of two and three dimensions, not a call for each row;
rows that are narrow or lie in an order that no such call has (backwards, one over the other) come over as the bytes
from the lowest to the highest, and are put in order here. Pageable memory is staged by the driver; a pinned area of our
own would be one more copy of the same bytes.
"""
from libc.stdint cimport uintptr_t

from lend._core.arrow_owners cimport Mark
from lend._core.driver cimport (
    ACCESS, DRIVER_CUDA, DRIVER_HIP, AccessFacts, Block, Driver, Entered, copy_block, copy_bytes, end_stream, enter,
    find_driver, leave, new_stream, wait_stream,
)
from lend._core.gather cimport gather
from lend._core.owners cimport DriverOwner, MemoryOwner, Owner, allocate, allocate_on_device
from lend._core.record cimport (
    C_CONTIGUOUS, DEVICE_CPU, EXCLUSIVE, F_CONTIGUOUS, Record, byte_count, check_layout, column_major, copy_record,
    row_major, shape_of, span_of, strides_of,
)
from lend.devices.access cimport can_be_copied, look
from lend.devices.ordering cimport check_capture, fail, order_work, set_mark
from lend.devices.parking cimport keep_until
from lend.views.derived cimport check_stream
from lend.views.values cimport fresh_copy, no_objects
from lend.views.view cimport View, blank, hold, track

from lend._core import copies
from lend.views import describe

cdef enum:
    ROCM = 10
    ROCM_HOST = 11
    WIDE = 64              # bytes of a row that is worth a row of a call
    MOST_OF_OTHERS = 8     # how many times its own bytes may come over to spare calls


def to_device(View view, int kind, int ordinal, str why, sync=None, stream=None):
    """Copy memory of the host, or of a device, into fresh memory of a device of lend's own, row-major.

    Parameters
    ----------
    view : View
        Anywhere.
    kind, ordinal : int
        DLPack's code of the device, 2 or 10, and its number.
    why : str
        What `lend.copies()` says of it.
    sync : {None, "stream", "device", "none"}
        What the copy is ordered after.
    stream : int, optional
        Of that device, as DLPack has it: the copy is made in its order and not waited for. Who reads the View is
        ordered after an event behind it, and the source is kept until then.

    Returns
    -------
    View
        Complete, as the copy was waited for, unless a stream was given.
    """
    cdef Record source
    cdef AccessFacts facts
    cdef View made = blank()
    cdef DriverOwner memory
    cdef Owner owner
    cdef Driver* driver = find_driver(DRIVER_HIP if kind == ROCM else DRIVER_CUDA)
    cdef Entered entered
    cdef int error
    no_objects(view, "copied")
    if view.record.device_type == DEVICE_CPU and not view.record.flags & C_CONTIGUOUS:
        check_driver(view, kind, ordinal)   # nothing is read for a device that is not there
        view = fresh_copy(view, False, view.record.dtype, "put in order for a device")
    owner = hold(view, &source)
    if source.device_type != DEVICE_CPU and not can_be_copied(look(view, owner, &source, &facts)):
        from lend.devices import refusals
        raise refusals.not_readable(view, "unknown to the driver", False)
    check_driver(view, kind, ordinal)
    if not copy_record(&made.record, &source):
        raise MemoryError
    row_major(&made.record)
    error = enter(driver, ordinal, &entered)
    if error:
        fail(view, driver, f"making device {ordinal} current", error)
    try:
        memory = allocate_on_device(DRIVER_HIP if kind == ROCM else DRIVER_CUDA, ordinal, byte_count(&source), &error)
        if error:
            fail(view, driver, f"allocating {byte_count(&source)} bytes", error)
        made.record.data = memory.address
        made.record.device_type = <unsigned char> kind
        made.record.device_id = ordinal
        made.record.flags = EXCLUSIVE
        check_layout(&made.record)
        if byte_count(&source):
            if stream is None or stream == -1:
                send(view, owner, &source, &made.record, driver, from_device(&source, &facts), sync)
            else:
                check_stream(&made.record, view, stream)
                queue(view, owner, &source, made, memory, from_device(&source, &facts), sync, <size_t> stream)
    finally:
        leave(driver, &entered)
    made.holder = memory
    track(made)
    copies.note(describe.facts(view), why, byte_count(&source))
    return made


def check_driver(shown, int kind, int ordinal):
    """Refuse a device whose driver is not in this process."""
    if find_driver(DRIVER_HIP if kind == ROCM else DRIVER_CUDA) is NULL:
        from lend.devices import refusals
        raise refusals.no_driver(shown, kind, ordinal)


cdef inline int from_device(const Record* source, const AccessFacts* facts) noexcept:
    """The number of the device that a source is on; -1 of the host."""
    if source.device_type == DEVICE_CPU:
        return -1
    return facts.pointer.ordinal if facts.pointer.ordinal >= 0 else source.device_id


cdef int queue(View view, Owner owner, const Record* source, View made, DriverOwner memory, int ordinal, str sync,
               uintptr_t stream) except -1:
    """Copy to a device that is current in the order of somebody's stream, and wait for nothing."""
    cdef Driver* driver = find_driver(memory.driver_kind)
    cdef Mark mark = Mark.__new__(Mark)
    cdef int error = check_capture(driver, stream)
    if error:
        return fail(view, driver, "copying to the device", error)
    if source.device_type != DEVICE_CPU:
        order_work(owner, view, source.device_type, ordinal, stream, sync)
    try:
        error = put(source, &made.record, driver, stream)
        if not error:
            error = set_mark(mark, driver, stream)
        if not error and keep_until(owner, memory.driver_kind, memory.ordinal, stream):
            memory.pending = mark
            return 0
    finally:
        if memory.pending is None:
            # nobody may give back what is still copied
            with nogil:
                wait_stream(driver, stream)
    return fail(view, driver, "copying to the device", error) if error else 0


cdef int put(const Record* source, const Record* made, Driver* driver, uintptr_t stream) except? -1:
    """Queue the calls that copy to a device; gives the driver's error."""
    if source.flags & C_CONTIGUOUS:
        return copy_bytes(driver, <uintptr_t> made.data, <uintptr_t> source.data, byte_count(source), stream)
    return copy_blocks(driver, blocks_of(source, made, -1), True, stream)


cdef int send(View view, Owner owner, const Record* source, const Record* made, Driver* driver, int ordinal,
              str sync) except -1:
    """Copy to a device that is current, by a stream of our own, and wait for it."""
    cdef uintptr_t stream = 0
    cdef int error = new_stream(driver, &stream)
    if error:
        return fail(view, driver, "making a stream", error)
    try:
        if source.device_type != DEVICE_CPU:
            order_work(owner, view, source.device_type, ordinal, stream, sync)
        error = put(source, made, driver, stream)
        if not error:
            with nogil:
                error = wait_stream(driver, stream)
        if error:
            return fail(view, driver, "copying to the device", error)
    finally:
        end_stream(driver, stream)
    return 0


def to_host(View view, why, sync=None):
    """Copy the memory of a device into fresh memory of the host, row-major (column-major, if it lies so).

    Parameters
    ----------
    view : View
        On a device.
    why : str or None
        What `lend.copies()` says of it; None: it is not counted.
    sync : {None, "stream", "device", "none"}
        What the copy is ordered after: the work that the producer knows of, all of the device, nothing.

    Returns
    -------
    View
        Of memory of lend's own, complete: it was waited for.
    """
    cdef Record source
    cdef AccessFacts facts
    cdef View made = blank()
    cdef MemoryOwner memory
    cdef Owner owner = hold(view, &source)
    cdef int row = look(view, owner, &source, &facts)
    if not can_be_copied(row):
        from lend.devices import refusals
        raise refusals.not_readable(view, ACCESS[row].name.decode("ascii"), False)
    if not copy_record(&made.record, &source):
        raise MemoryError
    memory = allocate(byte_count(&source))
    made.record.data = memory.address
    made.record.device_type = DEVICE_CPU
    made.record.device_id = 0
    made.record.flags = EXCLUSIVE
    if source.flags & F_CONTIGUOUS and not source.flags & C_CONTIGUOUS:
        column_major(&made.record)
    else:
        row_major(&made.record)
    check_layout(&made.record)
    if facts.nbytes:
        bring(view, owner, &source, &made.record, &facts, sync)
    made.holder = memory
    track(made)
    if why is not None:
        copies.note(describe.facts(view), why, byte_count(&source))
    return made


cdef int bring(View view, Owner owner, const Record* source, const Record* made, const AccessFacts* facts,
               str sync) except -1:
    """Copy by a stream of our own, which is ordered after the producer's work, and wait for it."""
    cdef int kind = DRIVER_HIP if source.device_type in (ROCM, ROCM_HOST) else DRIVER_CUDA
    cdef Driver* driver = find_driver(kind)
    cdef int ordinal = facts.pointer.ordinal if facts.pointer.ordinal >= 0 else source.device_id
    cdef Entered entered
    cdef uintptr_t stream = 0
    cdef MemoryOwner staged = None
    cdef Record spread
    cdef Py_ssize_t low, high
    cdef list blocks = None
    cdef uintptr_t to = <uintptr_t> made.data
    cdef int error
    span_of(source, &low, &high)
    if source.flags & (C_CONTIGUOUS | F_CONTIGUOUS) == 0:
        blocks = blocks_of(source, made, high - low)
        if blocks is None:
            staged = allocate(high - low)
            to = <uintptr_t> staged.address
    error = enter(driver, ordinal, &entered)
    if error:
        return fail(view, driver, "making its device current", error)
    try:
        error = new_stream(driver, &stream)
        if error:
            return fail(view, driver, "making a stream", error)
        order_work(owner, view, source.device_type, ordinal, stream, sync)
        if blocks is not None:
            error = copy_blocks(driver, blocks, False, stream)
        else:
            error = copy_bytes(driver, to, <uintptr_t> source.data + low, high - low, stream)
        if not error:
            with nogil:
                error = wait_stream(driver, stream)
        if error:
            return fail(view, driver, "copying to the host", error)
    finally:
        if stream:
            end_stream(driver, stream)
        leave(driver, &entered)
    if staged is not None:
        spread = source[0]
        spread.data = staged.address - low
        with nogil:
            gather(made.data, &spread, False, False)
    return 0


cdef int copy_blocks(Driver* driver, list blocks, bint to_device, uintptr_t stream) except? -1:
    """Carry out what `blocks_of` found."""
    cdef Block block
    cdef int error = 0
    block.to_device = to_device
    block.from_device = 1
    for told in blocks:
        (block.to, block.source, block.width, block.height, block.depth, block.to_pitch, block.from_pitch,
         block.to_slice, block.from_slice) = told
        error = copy_block(driver, &block, stream)
        if error:
            break
    return error


cdef list blocks_of(const Record* source, const Record* made, Py_ssize_t span):
    """The calls that copy a layout; None where its span, from the lowest to the highest byte, is better brought whole
    (below 0: it cannot be)."""
    # from the fastest dimension of the result to the slowest; those that run on are one
    cdef list dims = []
    cdef Py_ssize_t width = source.itemsize
    cdef Py_ssize_t run = 1, step = 0, other = 0
    cdef Py_ssize_t extent, here, there
    cdef int i
    for i in range(source.ndim - 1, -1, -1):
        extent = shape_of(source)[i]
        here = strides_of(source)[i]
        there = strides_of(made)[i]
        if extent == 1:
            continue
        if here <= 0 and span >= 0:
            return None
        if step == 0 and here == width and there == width:
            width *= extent
        elif step and here == step * run and there == other * run:
            run *= extent
        else:
            if step:
                dims.append((run, step, other))
            run, step, other = extent, here, there
    if step:
        dims.append((run, step, other))
    for _, step, _ in dims:
        if step < width and span >= 0:
            return None
    if width < WIDE and 0 <= span <= MOST_OF_OTHERS * byte_count(source):
        return None
    rows = (1, width, width)
    for at, (extent, step, other) in enumerate(dims):
        if step >= width:
            rows = dims.pop(at)
            break
    slices = (1, rows[1] * rows[0], rows[2] * rows[0])
    for at, (extent, step, other) in enumerate(dims):
        # a slice begins so many whole rows after the one before, on both sides
        if step % rows[1] == 0 and other % rows[2] == 0 and step >= rows[1] * rows[0] and other >= rows[2] * rows[0]:
            slices = dims.pop(at)
            break
    blocks = [(<size_t> made.data, <size_t> source.data)]
    for extent, step, other in dims:
        blocks = [(to + i * other, come + i * step) for to, come in blocks for i in range(extent)]
    return [(to, come, width, rows[0], slices[0], rows[2], rows[1], slices[2] // rows[2], slices[1] // rows[1])
            for to, come in blocks]
