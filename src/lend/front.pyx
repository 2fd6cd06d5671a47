"""The front door: view and buffer, and the memory of which protocol serves which type.

The first object of a type is taken by trying the doors in order; what worked is remembered per type, so that the next
one costs a dict probe. The cache is strong, bounded, and never holds a refusal: a type may learn a protocol later, and
dynamic classes must not be kept alive for ever.
"""
from cpython.ref cimport Py_DECREF, PyObject
from libc.string cimport memset

from lend._core.checked cimport raise_pending
from lend._core.owners cimport Owner, Protocol, taken_by
from lend._core.record cimport (
    C_CONTIGUOUS, DEVICE_CPU, F_CONTIGUOUS, READONLY, WANT_ANY, WANT_BYTES, WANT_WRITABLE, Record, clear_dims,
    copy_record,
)
from lend.dtypes.code cimport Code, code_is_swapped, code_in_native_order, code_word
from lend.dtypes.dtype cimport code_of
from lend.protocols.buffer cimport take_gathered
from lend.views.view cimport View, blank, hold, track

from lend.errors import LendError
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
    /* `view(x)` without keywords is the common call: it goes straight to the work, past the unpacking of keywords.
       The function object keeps its own vectorcall for every other call, and with it signature and docstring. */
    static vectorcallfunc lend_view_general;
    static PyObject *(*lend_view_plain)(PyObject *);
    static PyObject *lend_view_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
        if (names == NULL && PyVectorcall_NARGS(nargsf) == 1) return lend_view_plain(args[0]);
        return lend_view_general(self, args, nargsf, names);
    }
    static void lend_shorten(PyObject *function, PyObject *(*plain)(PyObject *)) {
        lend_view_general = ((PyCFunctionObject *)function)->vectorcall;
        lend_view_plain = plain;
        if (lend_view_general != NULL) ((PyCFunctionObject *)function)->vectorcall = lend_view_call;
    }
    """
    const bint HAVE_SLOTS "LEND_SLOTS"
    PyObject* type_pointer "(PyObject *)Py_TYPE"(object obj)
    void shorten "lend_shorten"(object function, object (*plain)(object))

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
        protocol = takes.get(type(obj))
        if protocol is not None:
            slot.type = cls
            slot.protocol = <PyObject*> protocol
        return <Protocol> protocol
    return <Protocol> takes.get(type(obj))


cdef object view_plain(object obj):
    """`view(obj)`: nothing asked, nothing copied."""
    return take(obj, WANT_ANY, False)


cdef object take_own(object obj, Record* record, Py_buffer* lease, int want, void* data):
    """One of our own objects: the same record, the same owner."""
    cdef View other = obj if type(obj) is View else obj.view()
    cdef Owner owner = hold(other, record)
    if not copy_record(record, &other.record):
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
    if writable and not copy:
        want |= WANT_WRITABLE
    cdef View made = take(obj, want, copy is True)
    if copy:
        from lend.views import derived
        made = derived.copied(made, "C" if made.record.flags & C_CONTIGUOUS else "F", False, "copy=True")
    if writable is not None and not writable:
        made.record.flags |= READONLY
    return made.buffer


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


cdef View second_try(View made, object obj, int want, bint gather, Protocol protocol):
    """The known door refused this object: another may serve (a datetime64 array has no buffer)."""
    try:
        raise_pending()
    except LendError as refusal:
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
            track(made)
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
    except LendError as refusal:
        clear_dims(&made.record)
        return refusal


cdef int remember(cls, Protocol protocol) except -1:
    """Serve the type by this protocol from now on. The table of slots borrows from the dict, so it forgets first."""
    memset(&slots[(<size_t> <PyObject*> cls >> 6) % REMEMBERED], 0, sizeof(Slot))
    if len(takes) >= REMEMBERED:
        forget()
    takes[cls] = protocol
    return 0


cdef View required(View made, object obj, copy, writable, device, stream, dtype, ndim, order, align):
    """Meet the requirements as the memory lies, by a copy, or refuse by name."""
    from lend import requirements
    cdef Code wanted = made.record.dtype
    cdef bint fortran
    if dtype is not None:
        code_of(dtype, &wanted)
    if stream is not None:
        requirements.check_stream(made, stream)
    if device is not None:
        requirements.check_device(made, device)
    reasons = requirements.unmet(made, dtype, ndim, order, align)
    if copy:
        fortran = order == "F" or (order is None and made.record.flags & F_CONTIGUOUS
                                   and not made.record.flags & C_CONTIGUOUS)
        from lend.views import derived
        made = derived.copied(made, "F" if fortran else "C", code_word(wanted) != code_word(made.record.dtype),
                              "copy=True", max(align or 0, 64))
    elif reasons:
        raise requirements.copy_required(made, reasons)
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


def _to(obj, target=None, **options):
    from lend.plan import to
    return to(obj, target, **options)


def _array(obj, dtype, copy):
    from lend.adapters.numpy import array
    return array(obj, dtype, copy)


def _verify(obj):
    from lend.plan.recheck import verify
    verify(obj)


set_hooks(buffer=_buffer_of, to=_to, array=_array, verify=_verify)
shorten(view, view_plain)
