"""The front door: view and buffer, and the memory of which protocol serves which type.

The first object of a type is taken by trying the doors in order; what worked is remembered per type, so that the next
one costs a dict probe. The cache is strong, bounded, and never holds a refusal: a type may learn a protocol later, and
dynamic classes must not be kept alive for ever.
"""
from cpython.pycapsule cimport PyCapsule_CheckExact
from cpython.ref cimport Py_DECREF, PyObject
from libc.string cimport memset

from lend._core.c_view cimport lend_view
from lend._core.checked cimport raise_pending
from lend._core.owners cimport DLPackOwner, MemoryOwner, Owner, Protocol, taken_by
from lend._core.record cimport (
    C_CONTIGUOUS, F_CONTIGUOUS, GATHERED, READONLY, WANT_ANY, WANT_BYTES, WANT_COPY, WANT_WRITABLE, Record, clear_dims,
    copy_record, has_gaps,
)
from lend._core.seldom cimport seldom
from lend._core.shortcuts cimport shorten_call, shorten_other_call
from lend.dtypes.code cimport code_has_objects, code_hides_objects
from lend.protocols.buffer cimport take_gathered
from lend.views.view cimport View, blank, bytes_of, hold, owner_of, track

from lend.protocols.buffer import BUFFER

# a take as C sees it: NULL with the exception set, looked at only then
ctypedef PyObject* (*RawTake)(object obj, Record* record, Py_buffer* lease, int want, void* data) noexcept
ctypedef PyObject* (*RawTakeTold)(object obj, Record* record, Py_buffer* lease, int want, void* data,
                                  lend_view* view) noexcept

cdef dict takes = {}     # type -> Protocol
cdef tuple OF_ARRAYS_ALONE = ("numpy", "torch", "jax", "memoryview", "tvm_ffi")   # targets that take no columns

cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    #define LEND_SLOTS 0
    #else
    #define LEND_SLOTS 1   /* the table below is read and written under the GIL alone */
    #endif
    """
    const bint HAVE_SLOTS "LEND_SLOTS"

# a direct-mapped table before the dict; it borrows from the dict and is emptied with it
cdef Slot[REMEMBERED] slots


cdef Slot* known_slots() noexcept:
    """The table, which stays where it is, for the other compiled files to look into."""
    return slots


cdef Protocol protocol_known(object obj):
    """`known`, for the other compiled files."""
    return known(obj)


cdef inline Protocol known(object obj):
    """The protocol that serves the type of obj, None when it was not met before."""
    cdef PyObject* cls = type_pointer(<PyObject*> obj)
    cdef Slot* slot
    if HAVE_SLOTS:
        slot = slot_of(slots, cls)
        if slot.type == cls:
            return <Protocol> slot.protocol
        protocol = looked_up(type(obj))
        if protocol is not None:
            slot.type = cls
            slot.protocol = <PyObject*> protocol
            slot.columns = UNKNOWN
        return <Protocol> protocol
    return <Protocol> looked_up(type(obj))


cdef object looked_up(cls):
    """The protocol of a type in the dict; a type that cannot be hashed (its metaclass says so) is never in it."""
    seldom()
    try:
        return takes.get(cls)
    except (MemoryError, RecursionError):
        raise
    except Exception:  # noqa: BLE001 - the hash of a metaclass may raise anything
        return None


cdef object view_plain(object obj):
    """`view(obj)`: nothing asked, nothing copied."""
    return take(obj, WANT_ANY, False)


cdef object take_own(object obj, Record* record, Py_buffer* lease, int want, void* data):
    """One of our own objects: the same record, the same owner."""
    seldom()
    cdef View other
    if type(obj) is View:
        other = <View> obj
    else:
        from lend.doors import own_view
        other = own_view(obj)
    cdef Record facts
    cdef Owner owner = hold(other, &facts)
    if not copy_record(record, &facts):
        record.ndim = 0
        raise MemoryError
    if want & WANT_WRITABLE and record.flags & READONLY:
        clear_dims(record)
        from lend.protocols import refusals
        raise refusals.read_only(obj, OWN)
    if want & WANT_BYTES and code_has_objects(record.dtype):
        clear_dims(record)
        from lend.protocols import refusals
        raise refusals.holds_objects(other, "shown as bytes")
    return owner


OWN = taken_by(Protocol(name="lend", dunder="owner", devices=range(1, 256), readonly=True), take_own)
takes[View] = OWN


def view(obj, *, copy=None, writable=None, device=None, stream=None, dtype=None, ndim=None, order=None, align=None):
    """Lend the memory of an array as a View: N-dimensional, strided, typed; nothing is copied unless copy=True.

    Parameters
    ----------
    obj : object
        Anything with the buffer protocol, DLPack (also a bare capsule), `__array_struct__`, `__array_interface__`,
        `__cuda_array_interface__`, `__sycl_usm_array_interface__`, `__array__`, or an integer `ptr` with a size; a View
        or Buffer.
    copy : bool, optional
        None (default) and False never copy: what cannot be shown as it lies is refused. True always makes fresh,
        writable, 64-byte aligned memory of lend's own, counted by `lend.copies()`.
    writable : bool, optional
        None: as the producer says. False: a read-only view of anything. True: writable, or ReadOnlyMemory; over an
        unversioned DLPack capsule, which cannot say, it is your word.
    device : Device, str or pair, optional
        Required device; nothing moves between devices by itself.
    stream : int, optional
        Stream of a device to order the memory on; host memory has none. With a `device` that the memory is copied
        to, a stream of that: the copy is made in its order and not waited for, and who reads the View comes after it.
    dtype, ndim, order, align : optional
        Requirements, as `numpy.require` has them: element type, number of dimensions, "C" or "F", address alignment in
        bytes. Met as it lies, or by a copy under copy=True (a dtype only as far as byte order), or refused by name.

    Returns
    -------
    View
        Valid as long as it, or anything made from it, lives.

    Raises
    ------
    NotLendable
        When no protocol of the object lends it as one array.
    ReadOnlyMemory
        With writable=True on memory that may not be written to.
    CopyRequired
        When a requirement needs a copy and copy is not True.
    MalformedDescriptor, UnsupportedType, UnsupportedLayout
        When what the producer says cannot be true, or cannot be shown as a View.

    Examples
    --------
    >>> import array, lend
    >>> a = array.array("d", [1.0, 2.0, 3.0])
    >>> v = lend.view(a)
    >>> v
    <View float64[3] on cpu, lent by array.array>
    >>> a.append(4.0)
    Traceback (most recent call last):
    BufferError: cannot resize an array that is exporting buffers
    """
    cdef View made
    cdef int want = WANT_ANY
    check_choice("copy", copy)
    check_choice("writable", writable)
    if copy:
        want = WANT_COPY
    elif writable:
        want = WANT_WRITABLE
    made = take(obj, want, copy is True)
    if want == WANT_WRITABLE:
        check_word(obj, made)
    if (copy is None and writable is None and device is None and dtype is None and ndim is None and order is None
            and align is None and stream is None):
        return made
    return required(made, obj, copy, writable, device, stream, dtype, ndim, order, align)


def buffer(obj, *, copy=None, writable=None):
    """Lend the memory of an array as a Buffer: untyped bytes, from the lowest to the highest.

    Parameters
    ----------
    obj : object
        Whatever `lend.view` takes; also what has no dtype that a View could say (records, strings).
    copy : bool, optional
        None (default) and False never copy; True makes fresh, writable memory of lend's own.
    writable : bool, optional
        None: as the producer says. False: read-only. True: writable, or ReadOnlyMemory.

    Returns
    -------
    Buffer
        Valid as long as it, or anything made from it, lives.

    Raises
    ------
    NotLendable
        When no protocol of the object lends its bytes.
    ReadOnlyMemory
        With writable=True on memory that may not be written to.

    Examples
    --------
    >>> import lend
    >>> lend.buffer(b"1234")
    <Buffer 4 bytes on cpu, read-only, lent by bytes>
    """
    cdef int want = WANT_BYTES
    cdef View made
    check_choice("copy", copy)
    check_choice("writable", writable)
    if copy:
        want |= WANT_COPY
    elif writable:
        want |= WANT_WRITABLE
    made = take(obj, want, copy is True)
    if want & WANT_WRITABLE:
        check_word(obj, made)
    if copy and not made.record.flags & GATHERED:
        from lend.views import values
        made = values.copied(made, "C" if made.record.flags & C_CONTIGUOUS else "F", False, "copy=True")
    if writable is not None and not writable:
        made.record.flags |= READONLY
    if writable and (has_gaps(&made.record) or code_hides_objects(made.record.dtype)):
        from lend.requirements import gaps_not_writable
        raise gaps_not_writable(made)
    return bytes_of(owner_of(made), &made.record)


cdef object buffer_plain(object obj):
    """`buffer(obj)`: the bytes of it, without a View in between where the protocol is known."""
    cdef Record record
    cdef Owner owner = owned(obj, &record, WANT_BYTES)
    try:
        return bytes_of(owner, &record)
    finally:
        clear_dims(&record)


cdef Owner owned(object obj, Record* record, int want):
    """What holds the memory of obj, and the facts of it in record, whose far dimensions are the caller's to clear."""
    cdef Protocol protocol = known(obj)
    cdef PyObject* holder
    cdef Owner owner
    cdef View made
    record.ndim = 0
    record.flags = 0
    if protocol is None:
        made = take(obj, want, False)
    else:
        holder = (<RawTake> protocol.take)(obj, record, NULL, want, protocol.data)
        if holder is not NULL:
            owner = <Owner> holder
            Py_DECREF(owner)
            return owner
        record.ndim = 0
        made = second_try(None, obj, want, False, protocol)
    owner = owner_of(made)
    if not copy_record(record, &made.record):
        record.ndim = 0
        raise MemoryError
    return owner


cdef int check_choice(str name, object value) except -1:
    """copy= and writable= are one of three: 1 is none of them."""
    seldom()
    if value is not None and value is not True and value is not False:
        from lend.protocols import refusals
        raise refusals.no_choice(name, value)
    return 0


cdef View take(object obj, int want, bint gather):
    """A View of obj by the protocol that its type is known for, or by the first that serves."""
    cdef View made = blank()
    cdef Protocol protocol = known(obj)
    cdef PyObject* holder
    if protocol is None:
        return first_door(made, obj, want, gather, None, None)
    holder = (<RawTake> protocol.take)(obj, &made.record, &made.lease, want, protocol.data)
    if holder is NULL:
        return second_try(made, obj, want, gather, protocol)
    made.holder = <object> holder
    Py_DECREF(made.holder)
    track(made)
    return made


cdef View view_wanted(object obj, int want):
    """`take` without a copy, for the other compiled files."""
    cdef View made = take(obj, want, False)
    if want & WANT_WRITABLE:
        check_word(obj, made)
    return made


cdef int check_word(object obj, View made) except -1:
    """Writable by the caller's word alone (an unversioned capsule): not where the library of obj lets nobody write."""
    seldom()
    if type(made.holder) is DLPackOwner and not (<DLPackOwner> made.holder).versioned:
        from lend import doors
        if getattr(doors.adapter_of(obj), "IMMUTABLE_SOURCE", False):
            from lend.protocols import dlpack, refusals
            raise refusals.read_only(obj, dlpack.DLPACK)
    return 0


cdef View view_told(object obj, int want, lend_view* view):
    """`view_wanted`, which tells what is plain at once; view.data is NULL where that is still to be done."""
    cdef Protocol protocol = known(obj)
    cdef PyObject* holder
    cdef View made
    view.data = NULL
    if protocol is None or protocol.take_told is NULL:
        return view_wanted(obj, want)
    # buffers and tensors of torch: nobody's word is needed, as for an unversioned capsule
    made = blank()
    holder = (<RawTakeTold> protocol.take_told)(obj, &made.record, &made.lease, want, protocol.data, view)
    if holder is NULL:
        view.data = NULL
        made = second_try(made, obj, want, False, protocol)
        if want & WANT_WRITABLE:
            check_word(obj, made)
        return made
    made.holder = <object> holder
    Py_DECREF(made.holder)
    track(made)
    return made


cdef View quiet_view(object obj, object target, list refused):
    """A View of obj by the protocol that its type is known for; None when there is none, or when it refuses: then the
    protocol and the refusal are put into `refused`, for `view_after`.

    The bytes of a Buffer go other ways, a bare capsule must stay unconsumed until it is wanted, and what shows columns
    may go to the target as one: None for them too.
    """
    cdef Protocol protocol = known(obj)
    cdef View made
    if protocol is None or protocol is OWN or PyCapsule_CheckExact(obj):
        return None
    if slot_of(slots, type_pointer(<PyObject*> obj)).columns and may_go_as_a_column(obj, target):
        return None
    made = blank()
    refusal = opened(made, protocol, obj, WANT_ANY)
    if refusal is not None:
        refused += (protocol, refusal)
        return None
    track(made)
    return made


cdef bint may_go_as_a_column(object obj, object target) except -1:
    """Whether the planner has to be asked which road an object goes, however well its door is known."""
    seldom()
    cdef PyObject* cls = type_pointer(<PyObject*> obj)
    cdef int found = slot_of(slots, cls).columns
    if found == UNKNOWN:
        from lend.protocols import classes
        found = classes.shows_columns(type(obj))
        if slot_of(slots, cls).type == cls:
            slot_of(slots, cls).columns = found
    return found and target not in OF_ARRAYS_ALONE


def view_after(obj, Protocol refused_by, refusal):
    """`view(obj)`, when one of its doors was asked already, and refused."""
    seldom()
    return first_door(blank(), obj, WANT_ANY, False, refused_by, refusal)


cdef View second_try(View made, object obj, int want, bint gather, Protocol protocol):
    """The known door refused this object: another may serve (a datetime64 array has no buffer)."""
    seldom()
    try:
        raise_pending()
    except BufferError as refusal:
        refused = refusal
    if made is None:
        made = blank()
    else:
        clear_dims(&made.record)
    return first_door(made, obj, want, gather, protocol, refused)


cdef View first_door(View made, object obj, int want, bint gather, Protocol known_door, object known_refusal):
    """Try the doors of obj in order; keep the reason of each that is closed; remember the one that opens.

    A door that has refused already is not asked again: some producers count.
    """
    seldom()
    from lend import doors
    cdef Protocol protocol
    cdef list tried = []
    if gather:
        written = doors.written_out(obj)
        if written is not obj:
            obj, known_door = written, None
    for entry in doors.doors_of(obj, OWN):
        protocol = <Protocol?> entry.protocol
        if known_door is not None and protocol.name == known_door.name:
            refusal = known_refusal
        else:
            refusal = opened(made, protocol, obj, want)
            if refusal is None:
                if entry.masks:
                    doors.check_masks(obj, entry.masks)
                if entry.remembered and all([error.of_type for _, error in tried]):
                    # one that opened after another had refused this object is not the door of its type
                    remember(type(obj), protocol)
                track(made)
                return made
        if gather and (protocol is BUFFER or protocol.inner is BUFFER) and doors.is_suboffsets(refusal):
            made.holder = take_gathered(obj, &made.record)
            made.record.flags |= GATHERED
            doors.check_masks(obj, entry.masks)
            track(made)
            doors.note_gathered(made)
            return made
        if entry.final or doors.is_final(refusal):
            raise refusal
        tried.append((protocol, refusal))
    raise doors.all_closed(obj, tried)


cdef object opened(View made, Protocol protocol, object obj, int want):
    """Take obj by one protocol into made; None, or the refusal."""
    try:
        made.holder = protocol.take(obj, &made.record, &made.lease, want, protocol.data)
        return None
    except BufferError as refusal:
        # every refusal of ours is one; a take lets nobody else's through
        clear_dims(&made.record)
        return refusal


cdef int remember(cls, Protocol protocol) except -1:
    """Serve the type by this protocol from now on. The table of slots borrows from the dict, so it forgets first."""
    seldom()
    memset(slot_of(slots, <PyObject*> cls), 0, sizeof(Slot))
    if len(takes) >= REMEMBERED:
        forget()
    try:
        takes[cls] = protocol
    except (MemoryError, RecursionError):
        raise
    except Exception:  # noqa: BLE001 - not to be hashed: asked anew each time
        pass
    return 0


cdef View required(View made, object obj, copy, writable, device, stream, dtype, ndim, order, align):
    """Meet the requirements as the memory lies, by a copy, or refuse by name."""
    seldom()
    from lend import requirements
    cdef bint fortran
    if stream is not None:
        requirements.check_stream(made, stream, device, copy)
    reasons, swap = requirements.unmet(made, dtype, ndim, order, align)
    if device is not None:
        here = made
        made = <View> requirements.brought(made, device, copy, view, stream)
        if made is not here:
            reasons, swap = requirements.unmet(made, dtype, ndim, order, align)
            if type(made.holder) is MemoryOwner or made.record.device_type != 1:
                made.record.flags |= GATHERED       # a copy by the driver, which nobody else has
        reasons += requirements.elsewhere(made, device, bool(copy) and not made.record.flags & GATHERED)
    if copy and (reasons or not made.record.flags & GATHERED):
        fortran = order == "F" or (order is None and made.record.flags & F_CONTIGUOUS
                                   and not made.record.flags & C_CONTIGUOUS)
        from lend.views import values
        made = values.copied(made, "F" if fortran else "C", swap, "copy=True", max(align or 0, 64), dtype)
    elif reasons and not copy:
        raise requirements.copy_required(made, reasons)
    made.record.flags &= ~GATHERED
    if writable is not None:
        if not writable:
            made.record.flags |= READONLY
        elif made.record.flags & READONLY:
            raise requirements.not_writable(made, obj)
    return made


def forget():
    """Empty the memory of which protocol serves which type; for tests."""
    seldom()
    memset(slots, 0, sizeof(slots))
    takes.clear()
    takes[View] = OWN


shorten_call(view, view_plain)
shorten_other_call(buffer, buffer_plain)
