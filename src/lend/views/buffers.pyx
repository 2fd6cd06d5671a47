"""Buffer: untyped bytes with pointer, size, device and owner, the object of dataframe-api issue 39."""
cimport cython

from lend._core.checked cimport atomic_add, atomic_get
from lend._core.owners cimport Owner, own_object
from lend._core.record cimport (
    EXCLUSIVE, HANDLE, READONLY, RELEASED, UNBOUNDED, UNTOLD, Record, check_layout, element_count, set_ndim, shape_of,
    span_of, strides_of,
)
from lend.dtypes.code cimport KIND_UINT, Code, code_itemsize, make_code
from lend.dtypes.dtype cimport code_of, dtype_from_code
from lend.protocols cimport array_interface, buffer, dlpack
from lend.views.checks cimport alignment_of, alive, readable
from lend.views.pointers cimport fill_from_pointer
from lend.views.view cimport ExchangeTable, View, blank, call_hook, derived, hold, track, view_of

from lend.device import Device


@cython.final
@cython.no_gc_clear
cdef class Buffer:
    """Untyped bytes of somebody else's: pointer, size, device and owner; made by `lend.buffer`.

    It spans from the lowest to the highest byte of what was lent, and is handed on as uint8.

    Attributes
    ----------
    ptr : int
        Address of the lowest byte.
    nbytes, size, bufsize : int
        Bytes (three names of one number).
    device : Device
        Where the memory is.
    readonly : bool
        True when it may not be written to.
    owner : Owner
        The lease, shared by all that was made from it.
    alignment : int
        The largest power of two, up to 4096, that divides the address.

    Examples
    --------
    >>> import lend
    >>> b = lend.buffer(b"abcd")
    >>> b
    <Buffer 4 bytes on cpu, read-only, lent by bytes>
    >>> b.view("uint16").shape
    (2,)
    """

    __dlpack_c_exchange_api__ = ExchangeTable()

    def __cinit__(self):
        self.record.flags = RELEASED

    def __init__(self):
        raise TypeError("Buffer is made by lend.buffer(x), or by Buffer.from_pointer for memory of your own")

    @staticmethod
    def from_pointer(ptr, nbytes, *, owner, device="cpu", bint readonly=True):
        """Lend bytes of your own: an address, a size, and the object that keeps them alive.

        Parameters
        ----------
        ptr : int
            Address of the first byte.
        nbytes : int
            How many bytes.
        owner : object
            Kept alive as long as anything made from the Buffer is; required, None is a TypeError.
        device : Device, str or pair, optional
            Where the memory is.
        readonly : bool, optional
            True (default): consumers may not write.

        Returns
        -------
        Buffer
            Over exactly those bytes; nothing is copied or read.

        Examples
        --------
        >>> import ctypes, lend
        >>> block = ctypes.create_string_buffer(b"abcd", 4)
        >>> bytes(lend.Buffer.from_pointer(ctypes.addressof(block), 4, owner=block))
        b'abcd'
        """
        cdef Buffer made = Buffer.__new__(Buffer)
        if not hasattr(nbytes, "__index__"):
            raise TypeError(f"nbytes is a number of bytes (int), not {type(nbytes).__name__}")
        fill_from_pointer(&made.record, ptr, (nbytes,), "uint8", owner, None, device, readonly)
        made.holder = own_object(owner, &made.record)
        return made

    @property
    def ptr(self):
        """Address of the lowest byte (of a device without addresses: its byte offset)."""
        alive(&self.record, self)
        return <size_t> self.record.data

    @property
    def nbytes(self):
        """Bytes."""
        alive(&self.record, self)
        return element_count(&self.record)

    @property
    def size(self):
        """Bytes: the name that takers of (ptr, size) objects look for."""
        return self.nbytes

    @property
    def bufsize(self):
        """Bytes: the name of the dataframe interchange protocol."""
        return self.nbytes

    @property
    def device(self):
        """Where the memory is."""
        alive(&self.record, self)
        return Device(self.record.device_type, self.record.device_id)

    @property
    def readonly(self):
        """True when the memory may not be written to."""
        alive(&self.record, self)
        return bool(self.record.flags & READONLY)

    @property
    def alignment(self):
        """The largest power of two, up to 4096, that divides the address."""
        alive(&self.record, self)
        return alignment_of(&self.record)

    @property
    def owner(self):
        """The lease: what keeps the memory alive, shared by all that was made from it."""
        alive(&self.record, self)
        return self.holder

    @property
    def released(self):
        """True after release()."""
        return bool(self.record.flags & RELEASED)

    def view(self, dtype="uint8", shape=None, strides=None, Py_ssize_t offset=0):
        """The bytes as a typed View; bounds are checked, nothing is copied.

        Parameters
        ----------
        dtype : DType or anything `DType` understands, optional
            Element type.
        shape : int or sequence of int, optional
            Extents; as many elements as fit from offset on, when not given.
        strides : sequence of int, optional
            Steps in bytes; row-major when not given.
        offset : int, optional
            Byte at which element 0 begins.

        Raises
        ------
        MalformedDescriptor
            When the layout leaves the Buffer.
        """
        from lend.protocols import refusals
        cdef View made = blank()
        cdef Code code
        cdef Py_ssize_t low, high, here
        cdef Py_ssize_t room
        cdef Record record
        cdef Owner owner
        # a copy of the facts and a hold of our own: reading dtype and shape may run anything, a release too
        with cython.critical_section(self):
            alive(&self.record, self)
            record = self.record
            owner = self.holder
        room = element_count(&record)
        code_of(dtype, &code)
        here = code_itemsize(code)
        if offset < 0 or offset > room:
            raise refusals.out_of_bounds(self, offset, offset, room)
        if shape is None:
            if here == 0 or (room - offset) % here:
                raise refusals.not_divisible(self, room - offset, dtype_from_code(code))
            shape = ((room - offset) // here,)
        fill_from_pointer(&made.record, <size_t> record.data + offset if room and not record.flags & HANDLE else 64,
                          (shape,) if hasattr(shape, "__index__") else tuple(shape), dtype_from_code(code), owner,
                          strides, (record.device_type, record.device_id), True)
        span_of(&made.record, &low, &high)
        if high > low and (offset + low < 0 or offset + high > room):
            raise refusals.out_of_bounds(self, offset + low, offset + high, room)
        made.record.data = record.data + offset
        made.record.flags = record.flags & (READONLY | HANDLE | UNBOUNDED | UNTOLD | EXCLUSIVE)
        check_layout(&made.record)
        made.holder = owner
        track(made)
        return made

    def __len__(self):
        alive(&self.record, self)
        return element_count(&self.record)

    def __getitem__(self, index):
        """A slice of the bytes (step 1), zero-copy."""
        cdef Buffer part
        alive(&self.record, self)
        if not isinstance(index, slice):
            raise TypeError("a Buffer is sliced; for elements take .view(dtype)")
        first, last, step = index.indices(element_count(&self.record))
        if step != 1:
            raise ValueError("a Buffer is sliced with step 1; for strides take .view(dtype)")
        alive(&self.record, self)
        part = Buffer.__new__(Buffer)
        part.record = self.record
        part.record.exports = 0
        part.record.data += <Py_ssize_t> first
        part.record.dims[0] = max(last - first, 0)
        check_layout(&part.record)
        part.holder = self.holder
        return part

    def tobytes(self):
        """The bytes; copies."""
        readable(&self.record, self)
        _held = self.holder
        return (<char*> self.record.data)[:element_count(&self.record)] if element_count(&self.record) else b""

    def __bytes__(self):
        return self.tobytes()

    def __contains__(self, value):
        raise TypeError("a Buffer does not compare bytes: use bytes(b)")

    def __copy__(self):
        return self[:]

    def __deepcopy__(self, memo):
        return derived().copied(view_of(self.holder, &self.record), "C", False, "copy.deepcopy").buffer

    def to(self, target=None, **options):
        """Hand the bytes to a library, class or callable: `lend.to(self, target, ...)`."""
        alive(&self.record, self)
        return call_hook("to")(self, target, **options)

    def release(self):
        """Give up this object's hold on the memory; what was made from it stays valid.

        Raises
        ------
        LendError
            While a buffer-protocol export of this very object is open.
        """
        cdef Owner _holder = None
        cdef int exports
        with cython.critical_section(self):
            if self.record.flags & RELEASED:
                return
            exports = atomic_get(&self.record.exports)
            if exports == 0:
                _holder = self.holder
                self.record.flags |= RELEASED
                self.record.data = NULL
                self.holder = None
        if exports:
            from lend.protocols import refusals
            raise refusals.still_exported(self, exports)

    def __enter__(self):
        alive(&self.record, self)
        return self

    def __exit__(self, *exc):
        self.release()

    def verify(self):
        """Ask the producer again whether the memory is still where it was lent; see `View.verify`."""
        alive(&self.record, self)
        call_hook("verify")(self)

    def __getbuffer__(self, Py_buffer* out, int flags):
        with cython.critical_section(self):
            alive(&self.record, self)
            buffer.give(self, &self.record, out, flags)
            out.obj = self
            atomic_add(&self.holder.open_exports, 1)

    def __releasebuffer__(self, Py_buffer* out):
        buffer.given_back(&self.record, out)
        atomic_add(&self.holder.open_exports, -1)

    def __dlpack_device__(self):
        """DLPack: (device type, device id)."""
        alive(&self.record, self)
        return (self.record.device_type, self.record.device_id)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """DLPack: a capsule over the bytes as uint8; see `View.__dlpack__`."""
        alive(&self.record, self)
        if stream is None and dl_device is None and copy is None:
            # the numbers first: reading them may run anything, a release of this Buffer too
            minor = dlpack.minor_of(max_version)
            alive(&self.record, self)
            return dlpack.give(self.holder, &self.record, self, minor, False)
        alive(&self.record, self)
        return derived().exported(view_of(self.holder, &self.record), self, stream, max_version, dl_device, copy)

    @property
    def __array_interface__(self):
        """NumPy's array interface over the bytes as uint8."""
        alive(&self.record, self)
        return array_interface.give_interface(&self.record, self)

    @property
    def __array_struct__(self):
        """NumPy's array struct over the bytes as uint8."""
        alive(&self.record, self)
        return array_interface.give_struct(self.holder, &self.record, self)

    def _describe(self):
        """What a refusal shows of this object."""
        from lend.views import describe
        return describe.came(self)

    def __repr__(self):
        from lend.views import describe
        return describe.buffer(self)

    def __sizeof__(self):
        return sizeof(Record) + 40 + (0 if self.record.flags & RELEASED else element_count(&self.record))


cdef Buffer span_buffer(Owner owner, const Record* record):
    """The bytes of a record, from the lowest to the highest, as a Buffer of the same owner."""
    cdef Buffer made = Buffer.__new__(Buffer)
    cdef Py_ssize_t low, high
    span_of(record, &low, &high)
    made.record.data = record.data + low
    made.record.dtype = make_code(KIND_UINT, 8)
    made.record.itemsize = 1
    made.record.device_type = record.device_type
    made.record.device_id = record.device_id
    made.record.flags = record.flags & (READONLY | HANDLE | UNBOUNDED | UNTOLD | EXCLUSIVE)
    set_ndim(&made.record, 1)
    shape_of(&made.record)[0] = high - low
    strides_of(&made.record)[0] = 1
    check_layout(&made.record)
    made.holder = owner
    return made


def buffer_of(View view):
    """The bytes of a View: what `View.buffer` answers.

    Examples
    --------
    >>> import lend
    >>> from lend.views.buffers import buffer_of
    >>> buffer_of(lend.view(b"abcd")).nbytes
    4
    """
    # a hold and a copy of the facts: making a Buffer may run the collector, and that a release
    cdef Record record
    cdef Owner owner = hold(view, &record)
    return span_buffer(owner, &record)
