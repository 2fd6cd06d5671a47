"""Whether the host may read a piece of memory now, and where: the driver is asked, and the work waited for.

The table of the answers is `_core/access.h`. What comes out is an object of the same class on the host, over the same
memory and the same lease, which every protocol of the host can carry; so this is the only place where memory of a
device becomes memory of the host.
"""
cimport cython
from libc.stdint cimport uintptr_t

from lend._core.driver cimport (
    ACCESS, DRIVER_ABSENT, DRIVER_CUDA, DRIVER_HIP, DRIVER_NOT_INITIALIZED, HOST_NO, HOST_SIGNED, HOST_YES,
    MEMORY_UNKNOWN, ROW_ALIAS, ROW_DEVICE, ROW_DEVICE_SEEN, ROW_EMPTY, ROW_HANDLE, ROW_MANAGED_IDLE, ROW_NO_DRIVER,
    ROW_OTHER, ROW_PAGES_BARE, ROW_ROCM_DEVICE, ROW_USM_DEVICE, ROW_USM_UNTOLD, ROWS, WAIT_DEVICE, WAIT_NOTHING,
    AccessFacts, Driver, ask_device, find_driver, is_mapped, row_of,
)
from lend._core.owners cimport Owner
from lend._core.record cimport DEVICE_CPU, HANDLE, Record, copy_record, span_of
from lend.devices.ordering cimport ask_once, check_number, fail, has_event, hold_any, wait_for_all, wait_for_producer
from lend.views.buffers cimport span_buffer
from lend.views.lent cimport Lent
from lend.views.view cimport View, view_of

cdef enum:
    CUDA = 2
    CUDA_HOST = 3
    ROCM = 10
    ROCM_HOST = 11
    MANAGED = 13
    ONEAPI = 14
    DEINITIALIZED = 4

# what the driver may copy, though the host does not read it where it is
cdef tuple COPIED = (ROW_DEVICE, ROW_DEVICE_SEEN, ROW_MANAGED_IDLE, ROW_PAGES_BARE, ROW_ROCM_DEVICE)
# what only the library that made it could copy
cdef tuple ASKED = (ROW_NO_DRIVER, ROW_USM_DEVICE, ROW_USM_UNTOLD, ROW_HANDLE, ROW_OTHER)
cdef tuple SYNCS = (None, "stream", "device", "none")


@cython.final
cdef class Access:
    """What the host may do with a piece of memory, and why.

    Attributes
    ----------
    name : str
        The row of the table: "pinned", "managed", "device" ...
    host : bool or None
        True: the host may read it, after the wait. False: it may not. None: only where the caller signs for it.
    wait : str
        What is waited for first: "nothing", "producer" (the work that it knows of) or "device".
    address : int
        Of element 0 for the host; 0 where there is none.
    copied : bool
        Whether the driver can copy it to the host.
    asked : bool
        Whether its producer can be asked for a copy on the host, where no driver makes one.
    ordinal : int
        The number of the device by the driver's word; -1 where it did not tell.
    """

    cdef readonly str name, wait
    cdef readonly object host, address
    cdef readonly int ordinal, row
    cdef readonly bint copied, asked

    def __repr__(self):
        answer = {True: "the host may read it", False: "the host may not read it", None: "only where signed for"}
        return f"<Access: {self.name}; {answer[self.host]}>"


cdef int look(Lent lent, Owner owner, const Record* record, AccessFacts* facts) except -1:
    """Find the row of a piece of memory: asks the driver, if there is one that has begun."""
    cdef Driver* driver = NULL
    cdef Py_ssize_t low, high
    cdef int ordinal
    cdef int error = DRIVER_ABSENT
    span_of(record, &low, &high)
    facts.declared = record.device_type
    facts.handle = record.flags & HANDLE != 0
    facts.produced = owner.held is not None
    facts.usm = 0
    facts.low = <uintptr_t> record.data + low
    facts.nbytes = high - low
    facts.begun = facts.mapped = 0
    facts.device.pageable = facts.device.concurrent = 0
    facts.pointer.ordinal = -2
    if facts.nbytes == 0 or facts.handle:
        return row_of(facts)
    if record.device_type == ONEAPI:
        facts.usm = usm_kind(owner.held)
        return row_of(facts)
    if record.device_type in (DEVICE_CPU, CUDA, CUDA_HOST, MANAGED):
        driver = find_driver(DRIVER_CUDA)
    elif record.device_type in (ROCM, ROCM_HOST):
        driver = find_driver(DRIVER_HIP)
    if driver is not NULL:
        error = ask_once(owner, driver, facts.low, &facts.pointer)
        facts.begun = error == 0
        if error and error != DRIVER_NOT_INITIALIZED and error != DEINITIALIZED:
            fail(lent, driver, "asking the driver about its address", error)
    if facts.begun:
        check_number(lent, record, &facts.pointer)
        ordinal = record.device_id if record.device_id >= 0 else facts.pointer.ordinal
        if record.device_type in (CUDA_HOST, DEVICE_CPU):
            ordinal = facts.pointer.ordinal
        ask_device(driver, ordinal if ordinal >= 0 else 0, &facts.device)
        if facts.pointer.type == MEMORY_UNKNOWN and facts.device.pageable:
            # what was freed is unknown to the driver, too
            facts.mapped = is_mapped(facts.low, facts.nbytes)
    return row_of(facts)


cdef int usm_kind(object producer) except -1:
    """What the owner says of its memory: 1 device, 2 shared, 3 host, 0 nothing."""
    cdef object told = getattr(producer, "usm_type", None)
    if told is None:
        told = getattr(producer, "get_usm_type", None)
        if told is not None:
            told = told()
    return {"device": 1, "shared": 2, "host": 3}.get(str(told), 0)


cdef bint can_be_copied(int row):
    """Whether the driver copies such memory to the host, when that is asked for by name."""
    return ACCESS[row].host == HOST_YES or row in COPIED


def access(Lent lent):
    """Say whether the host may read memory, without waiting for anything; see `Access`."""
    cdef Record record
    cdef AccessFacts facts
    cdef Owner owner = hold_any(lent, &record)
    cdef int row = look(lent, owner, &record, &facts)
    cdef Access made = Access.__new__(Access)
    made.row = row
    made.name = ACCESS[row].name.decode("ascii")
    made.host = {HOST_NO: False, HOST_YES: True, HOST_SIGNED: None}[ACCESS[row].host]
    made.copied = can_be_copied(row)
    made.asked = row in ASKED and hasattr(type(owner.held), "__dlpack__")
    made.wait = ("nothing", "producer", "device")[ACCESS[row].wait]
    made.address = <size_t> record.data + delta_of(row, &facts) if ACCESS[row].host != HOST_NO else 0
    made.ordinal = facts.pointer.ordinal if facts.pointer.ordinal >= 0 else -1
    return made


cdef inline uintptr_t delta_of(int row, const AccessFacts* facts) noexcept:
    """What must be added to the producer's address to have that for the host."""
    return facts.pointer.host - facts.low if row == ROW_ALIAS else 0


def on_host(Lent lent, sync=None, bint signed=False):
    """The same memory as the host may read it now: waited for, at the host's address, on the device "cpu".

    Parameters
    ----------
    lent : View or Buffer
        On any device.
    sync : {None, "stream", "device", "none"}
        What to wait for: as the table says, the work that the producer knows of, all of the device, nothing.
    signed : bool
        Whether the caller takes the answer upon itself where the table leaves it to it.

    Returns
    -------
    View or Buffer
        Of the same lease; itself if it is on the host already.

    Raises
    ------
    NotHostAccessible
        The host may not read it.
    """
    cdef Record record, made
    cdef AccessFacts facts
    cdef Owner owner = hold_any(lent, &record)
    cdef int row, number
    if sync not in SYNCS:
        raise ValueError(f'sync is None, "stream", "device" or "none", not {sync!r:.60}')
    if record.device_type == DEVICE_CPU:
        return lent
    row = look(lent, owner, &record, &facts)
    if ACCESS[row].host == HOST_NO or (ACCESS[row].host == HOST_SIGNED and not signed):
        from lend.devices import refusals
        raise refusals.not_readable(lent, ACCESS[row].name.decode("ascii"), ACCESS[row].host == HOST_SIGNED)
    # an interface does not tell the number of its device
    number = record.device_id if record.device_id >= 0 else facts.pointer.ordinal
    if ACCESS[row].wait == WAIT_DEVICE and sync != "none":
        wait_for_all(lent, DRIVER_CUDA, -1, sync)      # any device may work on it
    elif ACCESS[row].wait != WAIT_NOTHING or (has_event(owner) and facts.nbytes):
        wait_for_producer(owner, lent, record.device_type, number, sync)
    if not copy_record(&made, &record):
        raise MemoryError
    made.device_type = DEVICE_CPU
    made.device_id = 0
    if row == ROW_EMPTY:
        made.data = NULL
    else:
        made.data = record.data + <Py_ssize_t> delta_of(row, &facts)
    if type(lent) is View:
        return view_of(owner, &made)
    return span_buffer(owner, &made)


def rows():
    """The table: for each row its name, the answer and the wait; for tests and documents."""
    answers = {HOST_NO: "no", HOST_YES: "yes", HOST_SIGNED: "signed"}
    waits = ("nothing", "producer", "device")
    return [(ACCESS[row].name.decode("ascii"), answers[ACCESS[row].host], waits[ACCESS[row].wait])
            for row in range(ROWS)]
