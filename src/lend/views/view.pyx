"""View: a record of memory, what holds it, and the protocol methods, each a line that calls its protocol.

A View made by the buffer protocol holds the open Py_buffer inside itself until a second holder appears (a slice, a
capsule, somebody asking for `.owner`); then the lease moves into a BufferOwner that all of them share. Objects are
immutable but for `release()`. The export slots must live with the types, so they stand here; what they do stands in
protocols/.
"""
cimport cython
from cpython.bytes cimport PyBytes_FromObject
from cpython.ref cimport PyObject

from lend._core.checked cimport atomic_add, atomic_get, has_release
from lend._core.dlpack cimport DLManagedTensorVersioned
from lend._core.owners cimport (
    BufferOwner, DLPackOwner, Owner, delete_managed, move_lease, release_lease, settle_lease, settle_tensor,
)
from lend._core.seldom cimport seldom
from lend._core.shortcuts cimport shorten_method
from lend._core.unwinding cimport unmake_in_turn
from lend._core.record cimport (
    ADDRESS_TOLD, C_CONTIGUOUS, DERIVED, DEVICE_CPU, F_CONTIGUOUS, INLINE, INLINE_LEASE, INLINE_TENSOR, RELEASED,
    Record, copy_record, element_count, is_aligned, is_packed, shape_of, strides_of,
)
from lend.dtypes.code cimport KIND_BOOL, KIND_FLOAT, code_has_objects
from lend.protocols cimport buffer, dlpack
from lend.views.checks cimport alive, pinned, sizes
from lend.views.lent cimport ExchangeTable, Lent, call_hook, derived, host_buffer, values
from lend.views.making cimport (
    PyObject_ClearWeakRefs, PyTypeObject, gc_del, gc_new, gc_untrack, give_back, set_dealloc,
)

cdef SpanBuffer make_bytes = NULL


cdef void set_bytes(SpanBuffer make) noexcept:
    """views/buffers.pyx says how a Buffer is made, once it is loaded."""
    global make_bytes
    make_bytes = make


cdef object bytes_of(Owner owner, const Record* record):
    """The bytes of a record, from the lowest to the highest, as a Buffer of the same owner."""
    if make_bytes is NULL:
        __import__("lend.views.buffers")
    return make_bytes(owner, record)


cdef View view_of(Owner owner, const Record* record):
    """A View of a record whose owner is known."""
    cdef View view = blank()
    if not copy_record(&view.record, record):
        raise MemoryError
    view.record.flags |= DERIVED
    view.holder = owner
    track(view)
    return view


# -- making and unmaking, by hand: half the cost of the most common call lies here -----------------------------------

cdef extern from *:
    """
    #define lend_blank_objects(view) do {                          \\
        (view)->__pyx_base.holder = Py_NewRef(Py_None);            \\
        (view)->lease.obj = NULL;  /* the collector visits it */   \\
        (view)->__weakref__ = NULL;                                \\
    } while (0)
    #define lend_has_weakrefs(view) ((view)->__weakref__ != NULL)
    #define lend_is_last_holder(view) (Py_REFCNT((view)->__pyx_base.holder) == 1)
    """
    void blank_objects "lend_blank_objects"(View view)
    bint has_weakrefs "lend_has_weakrefs"(View view)
    bint is_last_holder "lend_is_last_holder"(View view)


cdef View blank():
    """A View of nothing, not yet shown to the collector: its maker fills it and calls track(). Cheaper than tp_new,
    which zeroes every byte of it."""
    cdef View view = <View> gc_new(<PyTypeObject*> View)
    blank_objects(view)
    view.record.flags = 0
    view.record.exports = 0
    view.record.ndim = 0
    view.record.data = NULL
    return view


cdef void deallocate(PyObject* self) noexcept:
    """tp_dealloc. A View of an array over a View of an array ... must not run down the C stack."""
    gc_untrack(self)
    if is_last_holder(<View> self):
        unmake_in_turn(self, unmake)
    else:
        unmake(self)


cdef void unmake(PyObject* self) noexcept:
    if has_weakrefs(<View> self):
        PyObject_ClearWeakRefs(self)
    give_back(&(<View> self).record, &(<View> self).lease, <PyObject*> (<View> self).holder)
    gc_del(self)


# -- View ----------------------------------------------------------------------------------------------------------

@cython.final
@cython.no_gc_clear
cdef class View(Lent):
    """N-dimensional, strided, typed memory of somebody else's, on any device; made by `lend.view`.

    A View copies nothing and keeps the memory alive: its owner holds a lease (an open buffer, a DLPack tensor, a
    reference) that is given back when the last View, slice, array or capsule made from it is gone. It speaks the buffer
    protocol, DLPack, `__array_interface__` and `__array_struct__`, so every library can take it; of CUDA memory and of
    USM with its context the interfaces of these.

    Attributes
    ----------
    ptr : int
        Address of element 0.
    shape, strides : tuple of int
        Extents, and steps in bytes (signed). Where several elements share a byte strides is None: they lie row-major,
        and what is sliced of them begins a byte.
    ndim, size, itemsize, nbytes : int
        Dimensions, elements, bytes of one element, bytes of all elements.
    dtype : DType
        What one element is.
    device : Device
        Where the memory is.
    readonly : bool
        True when it may not be written to.
    c_contiguous, f_contiguous, aligned : bool
        What the layout promises.
    owner : Owner
        The lease, shared by all that was made from it.
    buffer : Buffer
        The untyped bytes, from the lowest to the highest.

    Examples
    --------
    >>> import lend
    >>> v = lend.view(bytearray(b"abcdef"))
    >>> v
    <View uint8[6] on cpu, lent by bytearray>
    >>> v[::2].tolist()
    [97, 99, 101]
    """

    __dlpack_c_exchange_api__ = ExchangeTable()

    @staticmethod
    def from_pointer(ptr, shape, dtype, *, owner, strides=None, device="cpu", bint readonly=True):
        """Lend memory of your own: an address, its layout, and the object that keeps it alive.

        Parameters
        ----------
        ptr : int
            Address of element 0.
        shape : int or sequence of int
            Extents.
        dtype : DType or anything `DType` understands
            Element type.
        owner : object
            Kept alive as long as anything made from the View is; required, None is a TypeError.
        strides : sequence of int, optional
            Steps in bytes; row-major when not given.
        device : Device, str or pair, optional
            Where the memory is.
        readonly : bool, optional
            True (default): consumers may not write.

        Returns
        -------
        View
            Over exactly that memory; nothing is copied or read.

        Raises
        ------
        TypeError
            Without an owner.
        MalformedDescriptor
            When address, shape or strides contradict themselves.

        Examples
        --------
        >>> import ctypes, lend
        >>> block = (ctypes.c_double * 4)(1, 2, 3, 4)
        >>> v = lend.View.from_pointer(ctypes.addressof(block), (2, 2), "float64", owner=block)
        >>> v.tolist()
        [[1.0, 2.0], [3.0, 4.0]]
        """
        return derived().from_pointer(ptr, shape, dtype, owner, strides, device, readonly)

    # -- facts --

    @property
    def shape(self):
        """Extents."""
        alive(&self.record, self)
        return sizes(shape_of(&self.record), self.record.ndim)

    @property
    def strides(self):
        """Steps from one element to the next, in bytes; None where several share a byte (int4_packed)."""
        alive(&self.record, self)
        if is_packed(&self.record):
            return None
        return sizes(strides_of(&self.record), self.record.ndim)

    @property
    def ndim(self):
        """Number of dimensions."""
        alive(&self.record, self)
        return self.record.ndim

    @property
    def size(self):
        """Number of elements."""
        alive(&self.record, self)
        return element_count(&self.record)

    @property
    def itemsize(self):
        """Bytes of one element; 0 where several share a byte."""
        alive(&self.record, self)
        return self.record.itemsize

    @property
    def dtype(self):
        """What one element is."""
        return derived().dtype_of(self)

    @property
    def c_contiguous(self):
        """True when the elements lie without gaps in row-major order."""
        alive(&self.record, self)
        return bool(self.record.flags & C_CONTIGUOUS)

    @property
    def f_contiguous(self):
        """True when the elements lie without gaps in column-major order."""
        alive(&self.record, self)
        return bool(self.record.flags & F_CONTIGUOUS)

    @property
    def aligned(self):
        """True when every element lies at a multiple of its alignment."""
        alive(&self.record, self)
        return is_aligned(&self.record)

    @property
    def owner(self):
        """The lease: what keeps the memory alive, shared by all that was made from it."""
        alive(&self.record, self)
        return owner_of(self)

    @property
    def native(self):
        """Whose array it was taken from, "numpy", "torch", "arrow" and so on; None of others, and where anything was
        changed (an element, a slice, other bytes as a dtype)."""
        return derived().native(self)

    @property
    def native_object(self):
        """What it was taken from, while nothing was changed here; else None. It shows what its library writes to it."""
        return derived().native_object(self)

    @property
    def buffer(self):
        """The untyped bytes, from the lowest to the highest byte touched."""
        # a hold and a copy of the facts: making a Buffer may run the collector, and that a release
        cdef Record record
        cdef Owner owner = hold(self, &record)
        if code_has_objects(record.dtype):
            from lend.protocols import refusals
            raise refusals.holds_objects(self, "shown as bytes")
        return bytes_of(owner, &record)

    # -- zero-copy derivations --

    def __len__(self):
        alive(&self.record, self)
        if self.record.ndim == 0:
            raise TypeError("len() of a 0-d View")
        return shape_of(&self.record)[0]

    def __getitem__(self, index):
        """Basic indexing: integers, slices, Ellipsis, None and tuples of them, or the name of a field; zero-copy."""
        return derived().indexed(self, index)

    def __contains__(self, value):
        raise TypeError("a View does not compare values: use v.tolist(), or the library of your choice")

    def __iter__(self):
        alive(&self.record, self)
        if self.record.ndim == 0:
            raise TypeError("iteration over a 0-d View")
        from lend.views import reshaping
        return reshaping.elements(self)

    @property
    def T(self):
        """The same memory with the dimensions in reverse order."""
        return derived().transposed(self)

    def reshape(self, *shape):
        """The same memory under another shape, or a refusal; one extent may be -1.

        Raises
        ------
        UnsupportedLayout
            When the strides do not allow it without a copy.
        ValueError
            When the number of elements differs.
        """
        return derived().reshaped(self, shape)

    def reinterpret(self, dtype):
        """The same memory under another dtype; the last dimension changes where the sizes differ (NumPy's rule).

        Raises
        ------
        UnsupportedLayout
            When the sizes differ and the last dimension is not contiguous or does not divide.
        """
        return derived().reinterpreted(self, dtype)

    def low(self, dtype, *, bint check=False):
        """The low part of every element: the same length and strides, and a smaller dtype in the stated byte order.

        Parameters
        ----------
        dtype : DType or anything `DType` understands
            Not wider than the elements. Its byte order is that of the elements; for bytes without a meaning and records
            it says in which the low part is looked for.
        check : bool
            True: compare that nothing is lost, which reads every element: the rest is zero, or repeats the sign.

        Returns
        -------
        View
            Over the same memory, which is not touched without `check`.

        Raises
        ------
        UnsupportedType
            When the elements have no low part, or with `check` one of them has more than fits.

        Examples
        --------
        >>> import lend
        >>> lend.view(bytes(range(32))).reinterpret("opaque[16]").low("uint8").tolist()
        [0, 16]
        """
        return derived().low(self, dtype, check)

    # -- values --

    def item(self, *index):
        """The value of the only element, or of the one at an index for each dimension, as a Python object."""
        return values().item(self, index)

    def tolist(self):
        """The values as (nested lists of) Python objects; datetime64 and timedelta64 as the int in their unit."""
        return values().tolist(self)

    def tobytes(self, order="C"):
        """The bytes of the elements in row-major ("C") or column-major ("F") order; copies."""
        return values().tobytes(self, order)

    def __bytes__(self):
        if (KIND_BOOL <= self.record.dtype.kind <= KIND_FLOAT and self.record.dtype.bits <= 64
                and self.record.dtype.param == 1 and self.record.flags & INLINE_LEASE
                and (has_release(self.holder) or type(self.holder) is bytes)):
            # by the buffer protocol: nothing is loaded, which at exit nothing can be, and such memory does not move
            return PyBytes_FromObject(self)
        return values().tobytes(self, "C")

    # Without these, int() and float() would read the bytes as text. There is no __index__: bytearray(v) would ask for
    # it before the buffer, and make so many zeros.

    def __int__(self):
        seldom()
        return call_hook("number")(self, int)

    def __float__(self):
        seldom()
        return call_hook("number")(self, float)

    def __bool__(self):
        if self.record.ndim or self.record.flags & RELEASED:
            return len(self) != 0
        return bool(values().item(self, ()))

    def __complex__(self):
        seldom()
        return call_hook("number")(self, complex)

    def copy(self, order="C"):
        """A View of fresh, writable, 64-byte aligned memory with the same values; counted by `lend.copies()`."""
        return values().copied(self, order, False, "copy()")

    def __copy__(self):
        alive(&self.record, self)
        return derive(self)

    def __deepcopy__(self, memo):
        return values().copied(self, "C", False, "copy.deepcopy")

    # -- life --

    def release(self, *, stream=None):
        """Give up this object's hold on the memory; what was made from it stays valid.

        The lease goes back at once when nothing else holds it; after the address was handed out by an array interface,
        which has no way to give it back, it goes when this object does.

        Parameters
        ----------
        stream : int, optional
            Of memory of a device: a stream that works on it still, after which the lease goes back. Streams that it was
            handed out for by `__dlpack__(stream=)` are known.

        Raises
        ------
        LendError
            While a buffer-protocol export of this very object (a memoryview, an ndarray) is open.
        """
        cdef object holder = None
        cdef int inlined = 0
        cdef int exports
        if stream is not None and not self.record.flags & RELEASED:
            call_hook("used_by")(self, stream)
        with cython.critical_section(self):
            if self.record.flags & RELEASED:
                return
            exports = atomic_get(&self.record.exports)
            if exports == 0 and self.record.flags & ADDRESS_TOLD:
                self.record.flags |= RELEASED
            elif exports == 0:
                holder = self.holder
                inlined = self.record.flags & INLINE
                self.record.flags = (self.record.flags | RELEASED) & ~INLINE
                self.holder = None
                self.record.data = NULL
        if exports:
            from lend.protocols import refusals
            raise refusals.still_exported(self, exports)
        if inlined == INLINE_LEASE:
            release_lease(&self.lease, holder)
        elif inlined == INLINE_TENSOR:
            delete_managed(self.lease.internal, True)

    # -- protocols --

    def __getbuffer__(self, Py_buffer* out, int flags):
        if self.record.device_type != DEVICE_CPU and not self.record.flags & RELEASED:
            host_buffer(self, out, flags)
            return
        with cython.critical_section(self):
            alive(&self.record, self)
            buffer.give(self, &self.record, out, flags)
            out.obj = self
            if not self.record.flags & INLINE:
                atomic_add(&(<Owner> self.holder).open_exports, 1)

    def __releasebuffer__(self, Py_buffer* out):
        with cython.critical_section(self):
            buffer.given_back(&self.record, out)
            # an owner that was made in between took the count over
            if not self.record.flags & INLINE:
                atomic_add(&(<Owner> self.holder).open_exports, -1)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """DLPack: a capsule over this memory, versioned when max_version allows; pins the owner, not the View.

        Raises
        ------
        LendError
            For what DLPack cannot say: read-only memory without max_version, foreign byte order, datetimes, negative
            strides. A stream that means nothing here is a StreamError, which is a ValueError too.
        """
        if stream is None and dl_device is None and copy is None:
            return dlpack_plain(self, max_version)
        return derived().exported(self, self, stream, max_version, dl_device, copy)

    @property
    def __array_interface__(self):
        """NumPy's array interface, version 3; AttributeError where it cannot carry this View."""
        return derived().array_interface_of(self, self)

    @property
    def __array_struct__(self):
        """NumPy's array struct; AttributeError where it cannot carry this View."""
        return derived().array_struct_of(self, self)

    @property
    def __cuda_array_interface__(self):
        """CUDA array interface, version 3, with the stream that its work is pending on; AttributeError elsewhere.

        The dict holds nothing: this View is the owner, and keeps the memory until it goes. `stream` is None where
        nothing is pending; a producer with `__dlpack__` is asked to order its work before stream 1. Where nobody can
        tell it is version 2, without a stream. `mask` is never there.
        """
        return derived().cuda_array_interface_of(self, self)

    @property
    def __sycl_usm_array_interface__(self):
        """SYCL's interface, version 1, for memory that came with a `syclobj`; AttributeError elsewhere."""
        return derived().sycl_usm_of(self, self)

    def __array__(self, dtype=None, copy=None):
        """A NumPy array: the same memory, or a copy when asked for or needed for dtype."""
        alive(&self.record, self)
        return call_hook("array")(self, dtype, copy)

    def __arrow_array__(self, type=None):
        """A pyarrow.Array, for `pyarrow.array(view)`: `to("pyarrow")`, cast to `type` by pyarrow when asked for."""
        alive(&self.record, self)
        return call_hook("arrow_array")(self, type)

    def __jax_array__(self):
        """A jax.Array, for `jax.numpy.asarray(view)`: `to("jax")`."""
        alive(&self.record, self)
        return call_hook("to")(self, "jax")

    def __repr__(self):
        from lend.views import describe
        return describe.view(self)

    def _repr_html_(self):
        from lend.views import describe
        return describe.html(self)

    def __sizeof__(self):
        return sizeof(Record) + sizeof(Py_buffer) + 40 + pinned(&self.record)


cdef Owner owner_of(View view):
    """The owner; a lease that still lies in the View moves out first, for it gets a second holder."""
    cdef BufferOwner buffer_owner = None
    cdef DLPackOwner tensor_owner = None
    cdef Owner owner
    if not view.record.flags & INLINE:
        alive(&view.record, view)
        return <Owner> view.holder
    # allocating may run the collector, and with it anything: look again before moving
    if view.record.flags & INLINE_LEASE:
        owner = buffer_owner = BufferOwner.__new__(BufferOwner)
    else:
        owner = tensor_owner = DLPackOwner.__new__(DLPackOwner)
    with cython.critical_section(view):
        if view.record.flags & INLINE:
            if buffer_owner is not None:
                move_lease(&buffer_owner.lease, &view.lease)
                settle_lease(buffer_owner, view.holder, view.holder, &view.record)
            else:
                settle_tensor(tensor_owner, <DLManagedTensorVersioned*> view.lease.internal, view.holder, &view.record)
            owner.open_exports = view.record.exports
            view.holder = owner
            view.record.flags &= ~INLINE
    if view.record.flags & RELEASED:
        # released in between: allocating may have run the collector, and that a finalizer
        alive(&view.record, view)
    return <Owner> view.holder


cdef Owner hold(View view, Record* record):
    """The owner, and a copy of the facts that a release in another thread cannot change; the far dimensions of many
    are the View's until it dies."""
    cdef Owner owner = owner_of(view)
    with cython.critical_section(view):
        record[0] = view.record
    if owner is None or record.flags & RELEASED:
        record.ndim = 0
        alive(&view.record, view)
    return owner


cdef View derive(View view):
    """Another View of the same record and owner."""
    cdef Record record
    cdef Owner owner = hold(view, &record)
    return view_of(owner, &record)


cdef object dlpack_plain(object obj, object max_version):
    """`__dlpack__(max_version=...)` and nothing else."""
    cdef View view = <View> obj
    # the numbers first: reading them may run anything, a release of this View too
    cdef int minor = dlpack.minor_of(max_version)
    alive(&view.record, view)
    if view.record.device_type != DEVICE_CPU:
        call_hook("order")(view, None)
    return dlpack.give(owner_of(view), &view.record, view, minor, False)


set_dealloc(View, deallocate)
shorten_method(View, View.__dict__["__dlpack__"], dlpack_plain)
