"""The front door: view and buffer, and the memory of which protocol serves which type.

The first object of a type is taken by trying the doors in order; what worked is remembered per type, so that the next
one costs a dict probe. The cache is strong, bounded, and never holds a refusal: a type may learn a protocol later, and
dynamic classes must not be kept alive for ever.
"""
from cpython.buffer cimport PyBUF_FULL_RO, PyBuffer_Release
from cpython.exc cimport PyErr_Clear
from cpython.pycapsule cimport PyCapsule_CheckExact
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from lend._core.checked cimport raise_pending
from lend._core.dlpack cimport DLPackExchangeAPI, DLTensor
from lend._core.owners cimport BufferOwner, DLPackOwner, MemoryOwner, Owner, Protocol, taken_by
from lend._core.record cimport (
    C_CONTIGUOUS, DEVICE_CPU, F_CONTIGUOUS, GATHERED, INLINE_LEASE, INLINE_TENSOR, READONLY, RELEASED, UNTOLD, WANT_ANY,
    WANT_BYTES, WANT_WRITABLE, Record, clear_dims, copy_record, element_count, is_aligned,
    span_of,
)
from lend._core.shortcuts cimport shorten_call, shorten_call_2
from lend.dtypes.code cimport code_word
from lend.protocols.buffer cimport take_gathered
from lend.views.view cimport View, blank, hold, track

from lend.protocols.buffer import BUFFER
from lend.views.view import set_hooks

cdef enum:
    REMEMBERED = 256     # types; beyond that the cache is emptied and fills again

# a take as C sees it: NULL with the exception set, looked at only then
ctypedef PyObject* (*RawTake)(object obj, Record* record, Py_buffer* lease, int want, void* data) noexcept

cdef dict takes = {}     # type -> Protocol

cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    #define LEND_SLOTS 0
    #else
    #define LEND_SLOTS 1   /* the table below is read and written under the GIL alone */
    #endif
    #define lend_has_release(o) (Py_TYPE(o)->tp_as_buffer && Py_TYPE(o)->tp_as_buffer->bf_releasebuffer)
    """
    const bint HAVE_SLOTS "LEND_SLOTS"
    bint has_release "lend_has_release"(object exporter)
    PyObject* type_pointer "(PyObject *)Py_TYPE"(object obj)

cdef extern from "Python.h":
    PyObject* call_one "PyObject_CallOneArg"(PyObject* function, object argument)
    int get_buffer "PyObject_GetBuffer"(object, Py_buffer*, int)
    void drop "Py_XDECREF"(PyObject*)
    void PyErr_SetObject(object kind, object value)
    PyObject* PyErr_Occurred()

cdef struct Slot:
    PyObject* type
    PyObject* protocol

# a direct-mapped table before the dict; it borrows from the dict and is emptied with it
cdef Slot[REMEMBERED] slots


cdef inline Protocol known(object obj):
    """The protocol that serves the type of obj, None when it was not met before."""
    cdef PyObject* cls = type_pointer(obj)
    cdef Slot* slot
    if HAVE_SLOTS:
        slot = &slots[(<size_t> cls >> 6) % REMEMBERED]
        if slot.type == cls:
            return <Protocol> slot.protocol
        protocol = looked_up(type(obj))
        if protocol is not None:
            slot.type = cls
            slot.protocol = <PyObject*> protocol
        return <Protocol> protocol
    return <Protocol> looked_up(type(obj))


cdef object looked_up(cls):
    """The protocol of a type in the dict; a type that cannot be hashed (its metaclass says so) is never in it."""
    try:
        return takes.get(cls)
    except TypeError:
        return None


cdef object view_plain(object obj):
    """`view(obj)`: nothing asked, nothing copied."""
    return take(obj, WANT_ANY, False)


cdef object take_own(object obj, Record* record, Py_buffer* lease, int want, void* data):
    """One of our own objects: the same record, the same owner."""
    cdef View other = obj if type(obj) is View else obj.view()
    cdef Record facts
    cdef Owner owner = hold(other, &facts)
    if not copy_record(record, &facts):
        record.ndim = 0
        raise MemoryError
    if want & WANT_WRITABLE and record.flags & READONLY:
        clear_dims(record)
        from lend.protocols import refusals
        raise refusals.read_only(obj, OWN)
    return owner


OWN = taken_by(Protocol(name="lend", dunder="owner", devices=range(1, 256), readonly=True), take_own)
takes[View] = OWN


def view(obj, *, copy=None, writable=None, device=None, stream=None, dtype=None, ndim=None, order=None, align=None):
    """Lend the memory of an array as a View: N-dimensional, strided, typed; nothing is copied unless copy=True.

    Parameters
    ----------
    obj : object
        Anything with the buffer protocol, DLPack (also a bare capsule), `__array_struct__`, `__array_interface__`,
        `__array__`, or an integer `ptr` with a size; a View or Buffer.
    copy : bool, optional
        None (default) and False never copy: what cannot be shown as it lies is refused. True always makes fresh,
        writable, 64-byte aligned memory of lend's own, counted by `lend.copies()`.
    writable : bool, optional
        None: as the producer says. False: a read-only view of anything. True: writable, or ReadOnlyMemory; over an
        unversioned DLPack capsule, which cannot say, it is your word.
    device : Device, str or pair, optional
        Required device; nothing moves between devices by itself.
    stream : int, optional
        Stream of a device to order the memory on; host memory has none.
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
    if copy is not None and copy is not True and copy is not False:
        raise TypeError(f"copy is None, True or False, not {copy!r:.60}")
    if writable and not copy:
        want = WANT_WRITABLE
    made = take(obj, want, copy is True)
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
    if copy is not None and copy is not True and copy is not False:
        raise TypeError(f"copy is None, True or False, not {copy!r:.60}")
    if writable and not copy:
        want |= WANT_WRITABLE
    cdef View made = take(obj, want, copy is True)
    if copy and not made.record.flags & GATHERED:
        from lend.views import derived
        made = derived.copied(made, "C" if made.record.flags & C_CONTIGUOUS else "F", False, "copy=True")
    if writable is not None and not writable:
        made.record.flags |= READONLY
    return made.buffer


def to(obj, target=None, *, copy=None, device=None, nulls=None, alias_readonly=False, **options):
    """Hand the memory of an object to a library, a class or a callable; copied only when it must be.

    Parameters
    ----------
    obj : object
        Whatever `lend.view` takes; also a tensor whose value torch has still to write out, and a buffer with rows
        behind pointers, which are copied.
    target : str, module, class or callable
        "numpy", "torch", "jax", "pyarrow", "memoryview" or "tvm_ffi", the module, a class of it such as
        `numpy.ndarray`; or any callable, which is called with a View (with a Buffer if obj is one). Without a target,
        and with `device`, a View or Buffer of our own is returned.
    copy : bool, optional
        None (default): copy only what the target cannot take otherwise, and never between devices. True: always into
        fresh, writable, 64-byte aligned memory of lend's own. False: never; what would need a copy is refused.
    device : Device, str or pair, optional
        Where the memory must be. The only way to have it moved, which is built for memory that the host can read.
    nulls : optional
        For columns; arrays have none.
    alias_readonly : bool, optional
        True: you promise not to write, and read-only memory is shared with a target that cannot mark it so.
    **options
        Options of the target; none of those above has any yet.

    Returns
    -------
    object
        A numpy.ndarray, torch.Tensor, jax.Array, pyarrow.Array (one dimension), pyarrow.Tensor, pyarrow.Buffer (of a
        Buffer), memoryview or tvm_ffi.Tensor; or what the callable returned. It holds the lease as long as it lives.

    Raises
    ------
    CopyRequired
        With copy=False, when the target cannot take the memory as it lies.
    UnsupportedType, UnsupportedLayout
        When the target has no such dtype, or would lose values, whatever was copied.
    NotHostAccessible
        When the memory is on a device.
    LeaseLost
        When obj is a View that was released, or whose producer moved the memory since.
    ValueError, ImportError, TypeError
        When the target is unknown, not installed, or does not know an option.

    Examples
    --------
    >>> import lend
    >>> memory = bytearray(b"abcd")
    >>> m = lend.to(memory, "memoryview")
    >>> m[0] = ord("x")
    >>> memory
    bytearray(b'xbcd')
    >>> lend.to(b"1234", bytes)
    b'1234'
    """
    from lend.plan import to as carry_out
    return carry_out(obj, target, copy=copy, device=device, nulls=nulls, alias_readonly=alias_readonly, **options)


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


# -- lend.to(view, "name"), when nothing is to be done but to hand over -----------------------------------------------

cdef enum:
    REMEMBERED_WAYS = 64

cdef struct Way:
    PyObject* target         # a str, ours
    PyObject* give           # the function that hands a View over, ours
    uint64_t dtype
    uint32_t layout

# what the planner said of a target, a dtype and a layout class, so that it need not be asked for each View
cdef Way[REMEMBERED_WAYS] ways


cdef PyObject* to_plain(object obj, object target) noexcept:
    """`to(x, target)` by a way that is known; NULL without an exception when it must be found first."""
    cdef View view
    cdef Way* way
    cdef Protocol protocol
    cdef uint64_t dtype
    cdef uint32_t layout
    if not HAVE_SLOTS or not (type(target) is str or type(target) is type):
        return NULL
    if type(obj) is View:
        view = <View> obj
        if view.record.flags & RELEASED or not still_there(view):
            return NULL
    else:
        protocol = known(obj)
        # the bytes of a Buffer go other ways; a bare capsule stays unconsumed if it is refused: the planner looks first
        if protocol is None or protocol is OWN or PyCapsule_CheckExact(obj):
            return NULL
        view = taken(protocol, obj)
        if view is None:
            return NULL
    if view.record.device_type != DEVICE_CPU:
        return NULL if view is obj else long_way(obj, target, view)
    dtype = code_word(view.record.dtype)
    layout = layout_class(&view.record)
    way = &ways[(dtype ^ dtype >> 32 ^ layout ^ <size_t> <PyObject*> target >> 5) % REMEMBERED_WAYS]
    if way.target != <PyObject*> target or way.dtype != dtype or way.layout != layout:
        if find_way(view, target, way, dtype, layout) <= 0:
            return NULL if view is obj or PyErr_Occurred() is not NULL else long_way(obj, target, view)
    # held while it runs: another thread may put another way into the slot meanwhile
    give = <object> way.give
    return call_one(<PyObject*> give, view)


cdef View taken(Protocol protocol, object obj):
    """A View of obj by the protocol of its type; None when that refuses, which the long way says in full."""
    cdef View made
    try:
        made = blank()
        if opened(made, protocol, obj, WANT_ANY) is not None:
            return None
        track(made)
        return made
    except BaseException:  # noqa: BLE001 - the long way meets it again
        return None


cdef PyObject* long_way(object obj, object target, View view) noexcept:
    """By the planner, which gets the View that was taken, so that the producer is asked once."""
    try:
        from lend.plan import planner
        made = planner.draw(obj, target, None, None, None, False, {}, view).carry_out()
        Py_INCREF(made)
        return <PyObject*> made
    except BaseException as error:  # noqa: BLE001 - set again for the caller, who is in C
        PyErr_SetObject(type(error), error)
        return NULL


cdef int find_way(View view, object target, Way* way, uint64_t dtype, uint32_t layout) noexcept:
    """Ask the planner once; whatever it refuses is refused again, in full, by the long way round."""
    cdef PyObject* old
    try:
        from lend.plan.planner import quick
        give = quick(target, view)
    except (BufferError, ValueError, TypeError, ImportError):
        return 0
    except BaseException as error:  # noqa: BLE001 - an interrupt, say: set again for the caller, who is in C
        PyErr_SetObject(type(error), error)
        return -1
    if give is None:
        return 0
    old = way.give
    Py_INCREF(give)
    way.give = <PyObject*> give
    drop(old)
    old = way.target
    Py_INCREF(target)
    way.target = <PyObject*> target
    drop(old)
    way.dtype = dtype
    way.layout = layout
    return 1


cdef uint32_t layout_class(const Record* record) noexcept nogil:
    """What a target's rules may ask of the layout of host memory, in one word."""
    cdef uint32_t layout = record.flags & (READONLY | C_CONTIGUOUS | F_CONTIGUOUS | UNTOLD)
    layout |= <uint32_t> record.ndim << 16
    if is_aligned(record):
        layout |= 1 << 24
    if element_count(record) == 0:
        layout |= 1 << 25
    elif not <size_t> record.data & 63:
        layout |= 1 << 26
    return layout


cdef bint still_there(View view) noexcept:
    """The memory is where it was lent, or nobody can have moved it. False: unknown or moved; the planner asks fully."""
    cdef Py_buffer now
    cdef Py_buffer* lease
    cdef DLTensor tensor
    cdef DLPackExchangeAPI* table
    cdef Protocol protocol
    cdef object producer
    cdef bint same
    if view.record.flags & INLINE_LEASE:
        producer = view.holder
        lease = &view.lease
    elif type(view.holder) is BufferOwner:
        producer = (<BufferOwner> view.holder).held
        if (<BufferOwner> view.holder).exporter is not None:
            return False
        lease = &(<BufferOwner> view.holder).lease
    elif type(view.holder) is MemoryOwner:
        return True
    else:
        if view.record.flags & INLINE_TENSOR:
            producer = view.holder
        elif type(view.holder) is DLPackOwner:
            producer = (<Owner> view.holder).held
        else:
            return False
        protocol = known(producer)
        if protocol is None or protocol.data is NULL or producer is None:
            return False
        table = <DLPackExchangeAPI*> protocol.data
        if table.dltensor_from_py_object_no_sync is NULL:
            return False
        if table.dltensor_from_py_object_no_sync(<void*> producer, &tensor) != 0:
            PyErr_Clear()
            return False
        # a slice of it lies elsewhere: only the whole is compared here
        return <char*> tensor.data + tensor.byte_offset == view.record.data and elements(&tensor) == element_count(
            &view.record)
    if has_release(producer):
        return True      # it counts its exports, and does not move while one is open
    if get_buffer(producer, &now, PyBUF_FULL_RO) < 0:
        PyErr_Clear()
        return False
    same = now.buf is lease.buf and now.len == lease.len
    PyBuffer_Release(&now)
    return same and base_is_there(producer, &view.record)


cdef bint base_is_there(object producer, const Record* record) noexcept:
    """An array that is a view of another shows the old place when that one moves: the other is asked too."""
    cdef Py_buffer now
    cdef Py_ssize_t low, high
    cdef bint inside
    base = getattr(producer, "base", None)
    if base is None or getattr(base, "base", base) is base:
        return True      # it owns its memory, or holds that of what is no array
    if base.base is not None or get_buffer(base, &now, 0) < 0:
        PyErr_Clear()
        return False
    span_of(record, &low, &high)
    inside = <char*> now.buf <= record.data + low and record.data + high <= <char*> now.buf + now.len
    PyBuffer_Release(&now)
    return inside


cdef Py_ssize_t elements(const DLTensor* tensor) noexcept nogil:
    cdef Py_ssize_t n = 1
    cdef int i
    for i in range(tensor.ndim):
        n *= tensor.shape[i]
    return n


cdef View second_try(View made, object obj, int want, bint gather, Protocol protocol):
    """The known door refused this object: another may serve (a datetime64 array has no buffer)."""
    try:
        raise_pending()
    except BufferError as refusal:
        clear_dims(&made.record)
        refused = refusal
    return first_door(made, obj, want, gather, protocol, refused)


cdef View first_door(View made, object obj, int want, bint gather, Protocol known_door, object known_refusal):
    """Try the doors of obj in order; keep the reason of each that is closed; remember the one that opens.

    A door that has refused already is not asked again: some producers count.
    """
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
                if entry.remembered and all([error.of_type for _, error in tried]):
                    # one that opened after another had refused this object is not the door of its type
                    remember(type(obj), protocol)
                track(made)
                return made
        if gather and protocol is BUFFER and doors.is_suboffsets(refusal):
            made.holder = take_gathered(obj, &made.record)
            made.record.flags |= GATHERED
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
    memset(&slots[(<size_t> <PyObject*> cls >> 6) % REMEMBERED], 0, sizeof(Slot))
    if len(takes) >= REMEMBERED:
        forget()
    try:
        takes[cls] = protocol
    except TypeError:
        pass    # not to be hashed: asked anew each time
    return 0


cdef View required(View made, object obj, copy, writable, device, stream, dtype, ndim, order, align):
    """Meet the requirements as the memory lies, by a copy, or refuse by name."""
    from lend import requirements
    cdef bint fortran
    if stream is not None:
        requirements.check_stream(made, stream)
    if device is not None:
        requirements.check_device(made, device)
    reasons, swap = requirements.unmet(made, dtype, ndim, order, align)
    if copy and (reasons or not made.record.flags & GATHERED):
        fortran = order == "F" or (order is None and made.record.flags & F_CONTIGUOUS
                                   and not made.record.flags & C_CONTIGUOUS)
        from lend.views import derived
        made = derived.copied(made, "F" if fortran else "C", swap, "copy=True", max(align or 0, 64))
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
    memset(slots, 0, sizeof(slots))
    takes.clear()
    takes[View] = OWN


def _buffer_of(view):
    from lend.views.buffers import buffer_of
    return buffer_of(view)


def _array(obj, dtype, copy):
    from lend.adapters.numpy import array
    return array(obj, dtype, copy)


def _verify(obj):
    from lend.plan.recheck import verify
    verify(obj)


set_hooks(buffer=_buffer_of, to=to, array=_array, verify=_verify)
shorten_call(view, view_plain)
shorten_call_2(to, to_plain)
