"""Buffer: untyped bytes with pointer, size, device and owner, the object of dataframe-api issue 39."""
cimport cython

from lend._core.checked cimport atomic_add, atomic_get
from lend._core.owners cimport Owner
from lend._core.record cimport (
    ADDRESS_TOLD, DEVICE_CPU, EXCLUSIVE, HANDLE, READONLY, RELEASED, UNBOUNDED, UNTOLD, Record, byte_count,
    check_layout,
    has_gaps, set_ndim, shape_of, span_of, strides_of,
)
from lend.dtypes.code cimport KIND_UINT, code_hides_objects, make_code
from lend.protocols cimport buffer, dlpack
from lend.views.checks cimport alive, pinned
from lend.views.lent cimport ExchangeTable, Lent, call_hook, derived, host_buffer, values
from lend.views.view cimport SpanBuffer, View, set_bytes, view_of


@cython.final
@cython.no_gc_clear
cdef class Buffer(Lent):
    """Untyped bytes of somebody else's: pointer, size, device and owner; made by `lend.buffer`.

    It spans from the lowest to the highest byte of what was lent, and is handed on as uint8; those of a Column as the
    numbers that their role says, offsets as int32 or int64.

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
        return derived().bytes_from_pointer(ptr, nbytes, owner, device, readonly)

    @property
    def size(self):
        """Bytes: the name that takers of (ptr, size) objects look for."""
        return self.nbytes

    @property
    def bufsize(self):
        """Bytes: the name of the dataframe interchange protocol."""
        return self.nbytes

    @property
    def owner(self):
        """The lease: what keeps the memory alive, shared by all that was made from it."""
        alive(&self.record, self)
        return self.holder

    def view(self, dtype=None, shape=None, strides=None, offset=0):
        """The bytes as a typed View; bounds are checked, nothing is copied.

        Parameters
        ----------
        dtype : DType or anything `DType` understands, optional
            Element type; what it is handed on as, when nothing is given: uint8, or what its role in a Column says.
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
        if dtype is None and shape is None and strides is None and offset == 0:
            return view_of_bytes(self)
        return derived().typed(self, "uint8" if dtype is None else dtype, shape, strides, offset)

    def __len__(self):
        alive(&self.record, self)
        return byte_count(&self.record)

    def __getitem__(self, index):
        """A slice of the bytes (step 1), zero-copy."""
        cdef Buffer part
        cdef Record record
        cdef Owner owner = hold_bytes(self, &record)
        if not isinstance(index, slice):
            raise TypeError("a Buffer is sliced; for elements take .view(dtype)")
        first, last, step = index.indices(byte_count(&record))
        if step != 1:
            raise ValueError("a Buffer is sliced with step 1; for strides take .view(dtype)")
        part = Buffer.__new__(Buffer)
        part.record = record
        part.holder = owner
        part.record.exports = 0
        part.record.data += <Py_ssize_t> first
        as_bytes(&part.record, max(last - first, 0))
        return part

    def tobytes(self):
        """The bytes; copies."""
        cdef Record record
        alive(&self.record, self)
        if self.record.device_type != DEVICE_CPU:
            return call_hook("host")(self).tobytes()
        call_hook("verify")(self)
        _held = hold_bytes(self, &record)
        return record.data[:byte_count(&record)] if byte_count(&record) else b""

    def __bytes__(self):
        return self.tobytes()

    def __contains__(self, value):
        raise TypeError("a Buffer does not compare bytes: use bytes(b)")

    def __copy__(self):
        return self[:]

    def __deepcopy__(self, memo):
        return values().copied(view_of_bytes(self), "C", False, "copy.deepcopy").buffer

    def release(self, *, stream=None):
        """Give up this object's hold on the memory; what was made from it stays valid.

        Parameters
        ----------
        stream : int, optional
            Of memory of a device: a stream that works on it still, after which the lease goes back. Streams that it was
            handed out for by `__dlpack__(stream=)` are known.

        Raises
        ------
        LendError
            While a buffer-protocol export of this very object is open.
        """
        cdef Owner _holder = None
        cdef int exports
        if stream is not None and not self.record.flags & RELEASED:
            call_hook("used_by")(self, stream)
        with cython.critical_section(self):
            if self.record.flags & RELEASED:
                return
            exports = atomic_get(&self.record.exports)
            if exports == 0 and self.record.flags & ADDRESS_TOLD:
                # by an array interface, which has no way to give it back: the lease goes when this object does
                self.record.flags |= RELEASED
            elif exports == 0:
                _holder = <Owner> self.holder
                self.record.flags |= RELEASED
                self.record.data = NULL
                self.holder = None
        if exports:
            from lend.protocols import refusals
            raise refusals.still_exported(self, exports)

    def __getbuffer__(self, Py_buffer* out, int flags):
        if self.record.device_type != DEVICE_CPU and not self.record.flags & RELEASED:
            host_buffer(self, out, flags)
            return
        with cython.critical_section(self):
            alive(&self.record, self)
            buffer.give(self, &self.record, out, flags)
            out.obj = self
            atomic_add(&(<Owner> self.holder).open_exports, 1)

    def __releasebuffer__(self, Py_buffer* out):
        buffer.given_back(&self.record, out)
        atomic_add(&(<Owner> self.holder).open_exports, -1)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """DLPack: a capsule over the bytes as uint8; see `View.__dlpack__`."""
        cdef Record record
        cdef Owner owner
        if stream is None and dl_device is None and copy is None:
            # the numbers first: reading them may run anything, a release of this Buffer too
            minor = dlpack.minor_of(max_version)
            owner = hold_bytes(self, &record)
            if record.device_type != DEVICE_CPU:
                call_hook("order")(self, None)
                record.device_id = self.record.device_id
            return dlpack.give(owner, &record, self, minor, False)
        return derived().exported(view_of_bytes(self), self, stream, max_version, dl_device, copy)

    def __array__(self, dtype=None, copy=None):
        """A NumPy array of the bytes: the same memory, or a copy when asked for or needed for dtype."""
        return call_hook("array")(view_of_bytes(self), dtype, copy)

    @property
    def __array_interface__(self):
        """NumPy's array interface over the bytes as uint8."""
        return derived().array_interface_of(view_of_bytes(self), self)

    @property
    def __array_struct__(self):
        """NumPy's array struct over the bytes as uint8."""
        return derived().array_struct_of(view_of_bytes(self), self)

    @property
    def __cuda_array_interface__(self):
        """CUDA array interface over the bytes as uint8; see `View.__cuda_array_interface__`."""
        return derived().cuda_array_interface_of(view_of_bytes(self), self)

    @property
    def __sycl_usm_array_interface__(self):
        """SYCL's interface over the bytes as uint8; see `View.__sycl_usm_array_interface__`."""
        return derived().sycl_usm_of(view_of_bytes(self), self)

    def __repr__(self):
        from lend.views import describe
        return describe.buffer(self)

    def __sizeof__(self):
        return sizeof(Record) + 40 + pinned(&self.record)


cdef Owner hold_bytes(Buffer self, Record* record):
    """The owner, and a copy of the facts: what is allocated next may run the collector, and that a release."""
    cdef Owner owner
    with cython.critical_section(self):
        alive(&self.record, self)
        record[0] = self.record
        owner = <Owner> self.holder
    record.flags &= ~ADDRESS_TOLD
    return owner


cdef inline void as_bytes(Record* record, Py_ssize_t count) noexcept:
    """So many bytes from the first one on, whatever they were handed on as."""
    record.dtype = make_code(KIND_UINT, 8)
    record.itemsize = 1
    set_ndim(record, 1)
    shape_of(record)[0] = count
    strides_of(record)[0] = 1
    check_layout(record)


cdef View view_of_bytes(Buffer self):
    """A View of the bytes as they are handed on, by the same owner."""
    cdef Record record
    cdef Owner owner = hold_bytes(self, &record)
    return view_of(owner, &record)


cdef Buffer span_buffer(Owner owner, const Record* record):
    """The bytes of a record, from the lowest to the highest, as a Buffer of the same owner."""
    cdef Buffer made = Buffer.__new__(Buffer)
    cdef Py_ssize_t low, high
    span_of(record, &low, &high)
    made.record.data = record.data + low
    made.record.device_type = record.device_type
    made.record.device_id = record.device_id
    made.record.flags = record.flags & (READONLY | HANDLE | UNBOUNDED | UNTOLD | EXCLUSIVE)
    if has_gaps(record) or code_hides_objects(record.dtype):
        # what lies there was not lent: other elements, other fields, pointers to objects perhaps
        made.record.flags |= READONLY
    as_bytes(&made.record, high - low)
    made.holder = owner
    return made


set_bytes(<SpanBuffer> span_buffer)
