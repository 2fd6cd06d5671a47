"""Owners: the objects that hold a lease on foreign memory and give it back exactly once; and the protocol records.

One final class per kind of lease. Every Buffer and View has a strong path to its owner, so the Python reference count
of the owner is the number of its holders. An owner is never reused and its lease never changes: what is immutable needs
no lock. The garbage collector sees through owners to the producing object, and never clears one: a lease ends in
`__dealloc__` only, where Cython keeps a pending exception aside.
"""
cimport cython
from cpython.buffer cimport PyBuffer_Release
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport uintptr_t

from lend._core.checked cimport atomic_get, set_buffer_obj
from lend._core.dlpack cimport DLManagedTensor, DLManagedTensorVersioned
from lend._core.driver cimport Driver, Entered, allocate_on, enter, find_driver, free_on, leave
from lend._core.record cimport Record, span_of
from lend._core.seldom cimport seldom
from lend._core.unwinding cimport guard

cdef extern from "Python.h":
    const Py_ssize_t PY_SSIZE_T_MAX

cdef object qualname_of = type.__dict__["__qualname__"].__get__
cdef object module_of = type.__dict__["__module__"].__get__

cdef enum:
    ALIGNMENT = 64       # of memory that lend allocates: a cache line, what jax asks for, what Arrow recommends


cdef ParkFunction park = NULL


cdef void set_park(ParkFunction function) noexcept:
    """devices/parking.pyx says how a lease is parked, once a stream was remembered."""
    global park
    park = function


# what `internal` of a lease points to that is held by a memoryview beside it: no exporter can say so
cdef char BESIDE


@cython.no_gc_clear
cdef class Owner:
    """What keeps lent memory alive: one lease, shared by every object and export made from it.

    Made by `lend.view` and `lend.buffer`, never by hand. While an owner lives the memory is valid; when the last holder
    is gone the lease is given back, exactly once.
    """

    kind = "none"

    def __init__(self):
        seldom()
        raise TypeError(f"{type(self).__name__} is made by lend.view and lend.buffer, not by hand")

    @property
    def producer(self):
        """The object that lent the memory; None when a bare capsule did."""
        return self.held

    @property
    def producer_type(self):
        """Name of the producer's type, as a message would say it."""
        return "PyCapsule" if self.held is None else type_name(self.held)

    @property
    def nbytes(self):
        """Bytes that the lease pins, from the lowest to the highest byte lent."""
        return self.span

    @property
    def ptr(self):
        """Address of the lowest byte lent, as the producer gave it."""
        return <size_t> self.address

    @property
    def exports(self):
        """Open Py_buffers, DLPack tensors and Arrow arrays made from this lease and not yet given back."""
        return atomic_get(&self.open_exports)

    def __repr__(self):
        seldom()
        return (f"<{type(self).__name__}: {self.span} bytes lent by {self.producer_type}, "
                f"{self.exports} open export{'' if self.exports == 1 else 's'}>")


@cython.final
@cython.no_gc_clear
cdef class BufferOwner(Owner):
    """An open Py_buffer: the exporter may not resize or close while it is held."""

    kind = "buffer"

    def __dealloc__(self):
        # nothing was opened yet, or `exporter` is a memoryview that holds the lease
        if (self.held is not None or self.exporter is not None) and self.lease.internal != &BESIDE:
            release_lease(&self.lease, self.held if self.exporter is None else self.exporter)
        # here, where a pending exception is kept aside, and not after it
        self.exporter = None
        self.held = None


@cython.final
@cython.no_gc_clear
cdef class DLPackOwner(Owner):
    """A DLPack tensor; its deleter is called when the last holder goes."""

    kind = "dlpack"

    def __dealloc__(self):
        if self.streams is not None:
            park_tensor(self)
        delete_managed(self.managed, self.versioned)
        self.held = None


@cython.final
@cython.no_gc_clear
cdef class ObjectOwner(Owner):
    """A reference to the producing object: all that pointer-only protocols ask of their consumers."""

    kind = "object"

    def __dealloc__(self):
        if self.streams is not None:
            park_object(self)
        self.beside = None
        self.held = None


@cython.final
@cython.no_gc_clear
cdef class DeviceOwner(Owner):
    """A reference to the producing object of device memory, and what its interface said of pending work."""

    kind = "device"

    def __dealloc__(self):
        if self.streams is not None:
            park_reference(self)
        self.held = None

    @property
    def stream(self):
        """The stream that work on the memory may still be pending on, as the interface told it when it was taken.

        An int (1 and 2 are CUDA's default streams, others handles), None for no pending work, "unknown" where nothing
        was told: `__cuda_array_interface__` before version 3 or without the key, SYCL.
        """
        return self.pending

    @property
    def context(self):
        """The `syclobj` that the memory came with; None for CUDA."""
        return self.syclobj


@cython.final
@cython.no_gc_clear
cdef class MemoryOwner(Owner):
    """Memory of lend's own, made for a copy: fresh, writable, 64-byte aligned."""

    kind = "memory"

    @property
    def producer_type(self):
        """lend itself."""
        return "lend"

    def __dealloc__(self):
        PyMem_RawFree(self.block)


@cython.final
@cython.no_gc_clear
cdef class DriverOwner(Owner):
    """Memory of a device that lend asked the driver for, to copy into."""

    kind = "memory"

    @property
    def producer_type(self):
        """lend itself."""
        return "lend"

    def __dealloc__(self):
        if self.streams is not None:
            park_memory(self)
        if self.address is not NULL:
            free_of_device(self)


@cython.final
@cython.no_gc_clear
cdef class CallbackOwner(Owner):
    """Memory of a program in C, which is told by a release callback when the last holder has gone."""

    kind = "callback"

    @property
    def producer_type(self):
        """Name of the type of the object that stands for the memory, if there is one."""
        return "C" if self.held is None else type_name(self.held)

    def __dealloc__(self):
        if self.streams is not None:
            park_callback(self)
        if self.give_back is not NULL:
            self.give_back(self.context)
        self.beside = None
        self.held = None


cdef void park_tensor(DLPackOwner owner) noexcept:
    """Move a tensor whose last holder went into an owner that waits for the streams of its consumers."""
    seldom()
    cdef DLPackOwner other
    try:
        other = DLPackOwner.__new__(DLPackOwner)
    except MemoryError:
        owner.managed = NULL        # never given back, rather than too early
        return
    move_facts(other, owner)
    other.managed = owner.managed
    other.versioned = owner.versioned
    owner.managed = NULL
    park(other, owner.streams)


cdef void park_reference(DeviceOwner owner) noexcept:
    """The same of a reference to the producer."""
    seldom()
    cdef DeviceOwner other
    try:
        other = DeviceOwner.__new__(DeviceOwner)
    except MemoryError:
        Py_INCREF(owner.held)
        return
    move_facts(other, owner)
    other.pending = owner.pending
    other.syclobj = owner.syclobj
    park(other, owner.streams)


cdef void park_object(ObjectOwner owner) noexcept:
    seldom()
    cdef ObjectOwner other
    try:
        other = ObjectOwner.__new__(ObjectOwner)
    except MemoryError:
        Py_INCREF(owner.held)
        Py_INCREF(owner.beside)
        return
    move_facts(other, owner)
    other.beside = owner.beside
    park(other, owner.streams)


cdef void park_callback(CallbackOwner owner) noexcept:
    """The same of memory of a program in C."""
    seldom()
    cdef CallbackOwner other
    cdef void (*give_back)(void* context) noexcept
    give_back = owner.give_back
    owner.give_back = NULL
    try:
        other = CallbackOwner.__new__(CallbackOwner)
    except MemoryError:
        Py_INCREF(owner.held)
        Py_INCREF(owner.beside)
        return
    move_facts(other, owner)
    other.beside = owner.beside
    other.context = owner.context
    other.give_back = give_back
    park(other, owner.streams)


cdef void park_memory(DriverOwner owner) noexcept:
    """The same of memory of lend's own on a device."""
    seldom()
    cdef DriverOwner other
    try:
        other = DriverOwner.__new__(DriverOwner)
    except MemoryError:
        owner.address = NULL
        return
    move_facts(other, owner)
    other.driver_kind = owner.driver_kind
    other.ordinal = owner.ordinal
    owner.address = NULL
    park(other, owner.streams)


cdef void free_of_device(DriverOwner owner) noexcept:
    """Give memory back to the driver; where its device cannot be made current any more, it went with that."""
    seldom()
    cdef Driver* driver = find_driver(owner.driver_kind)
    cdef Entered entered
    if driver is not NULL and enter(driver, owner.ordinal, &entered) == 0:
        free_on(driver, <uintptr_t> owner.address)
        leave(driver, &entered)


cdef DriverOwner allocate_on_device(int kind, int ordinal, Py_ssize_t nbytes, int* error):
    """Memory of a device whose context is current; with an error of the driver's an owner of nothing."""
    seldom()
    cdef DriverOwner owner = DriverOwner.__new__(DriverOwner)
    cdef uintptr_t address = 0
    owner.driver_kind = kind
    owner.ordinal = ordinal
    error[0] = allocate_on(find_driver(kind), nbytes if nbytes else 1, &address)
    owner.address = <char*> address
    owner.span = nbytes
    return owner


cdef void park_moved(Owner other, Owner owner) noexcept:
    """Park what the lease of an owner, whose last holder went, was moved into."""
    move_facts(other, owner)
    park(other, owner.streams)


cdef void move_facts(Owner to, Owner owner) noexcept:
    to.held = owner.held
    to.address = owner.address
    to.span = owner.span


cdef void hold_beside(BufferOwner owner, object held, object beside) noexcept:
    """Let an owner keep a memoryview that holds the lease in its place."""
    owner.lease.internal = &BESIDE
    owner.held = held
    owner.exporter = beside


cdef BufferOwner new_buffer_owner():
    """An owner whose lease is still to be opened."""
    return BufferOwner.__new__(BufferOwner)


cdef void settle_lease(BufferOwner owner, object producer, object exporter, const Record* record) noexcept:
    """Tell an owner whose lease is filled what lent it: from here it releases. Nothing here can fail."""
    owner.held = producer
    owner.exporter = None if exporter is producer else exporter
    remember_span(owner, record)


cdef void remember_span(Owner owner, const Record* record) noexcept:
    """Note which bytes the record was lent: what loans() reports and verify() asks the producer about again."""
    cdef Py_ssize_t low, high
    span_of(record, &low, &high)
    owner.address = record.data + low
    owner.span = high - low


cdef void move_lease(Py_buffer* to, Py_buffer* source) noexcept:
    """Copy the struct and mend what points into it: PyBuffer_FillInfo sets shape and strides to its own fields."""
    to[0] = source[0]
    if source.shape is &source.len:
        to.shape = &to.len
    if source.strides is &source.itemsize:
        to.strides = &to.itemsize
    set_buffer_obj(source, NULL)


cdef void release_lease(Py_buffer* lease, object exporter) noexcept:
    """Give a Py_buffer back whose obj was taken out into exporter."""
    Py_INCREF(exporter)
    set_buffer_obj(lease, <PyObject*> exporter)
    PyBuffer_Release(lease)


cdef void settle_tensor(DLPackOwner owner, DLManagedTensorVersioned* managed, object producer,
                        const Record* record) noexcept:
    """Give an empty owner a tensor: from here it releases. Nothing here can fail."""
    owner.managed = managed
    owner.versioned = True
    owner.held = producer
    remember_span(owner, record)


cdef void delete_managed(void* managed, bint versioned) noexcept:
    """Call the deleter of a DLPack tensor, if it has one."""
    if managed is NULL:
        return
    if versioned:
        if (<DLManagedTensorVersioned*> managed).deleter is not NULL:
            (<DLManagedTensorVersioned*> managed).deleter(<DLManagedTensorVersioned*> managed)
    elif (<DLManagedTensor*> managed).deleter is not NULL:
        (<DLManagedTensor*> managed).deleter(<DLManagedTensor*> managed)


cdef ObjectOwner own_object(object producer, const Record* record, object beside=None):
    """An owner that keeps the producing object (and what must live beside it), for protocols without a release."""
    cdef ObjectOwner owner = ObjectOwner.__new__(ObjectOwner)
    owner.held = producer
    owner.beside = beside
    remember_span(owner, record)
    return owner


cdef DeviceOwner own_on_device(object producer, const Record* record, object pending, object syclobj=None):
    """An owner that keeps the producing object, and what is known of the order of its work."""
    cdef DeviceOwner owner = DeviceOwner.__new__(DeviceOwner)
    owner.held = producer
    owner.pending = pending
    owner.syclobj = syclobj
    remember_span(owner, record)
    return owner


cdef MemoryOwner allocate(Py_ssize_t nbytes, Py_ssize_t alignment=ALIGNMENT):
    """Fresh memory, at a multiple of alignment (a power of two); never NULL, also for 0 bytes."""
    cdef MemoryOwner owner = MemoryOwner.__new__(MemoryOwner)
    cdef size_t start
    if nbytes > PY_SSIZE_T_MAX - 2 * alignment:
        raise MemoryError(f"{nbytes} bytes")
    owner.block = PyMem_RawMalloc(nbytes + alignment)
    if owner.block is NULL:
        raise MemoryError(f"{nbytes} bytes")
    start = <size_t> owner.block
    owner.address = <char*> (start + (-start & (<size_t> alignment - 1)))
    owner.span = nbytes
    return owner


cdef str type_name(object producer):
    """numpy.ndarray, bytes: the type as its users know it."""
    return class_name(type(producer))


cdef str class_name(object cls):
    """The same of a class."""
    seldom()
    # from the slots of the class itself: a metaclass may answer anything, or raise
    cdef object name = qualname_of(cls)
    try:
        module = module_of(cls)
    except AttributeError:
        return name
    if type(module) is not str or module == "builtins":
        return name
    return f"{module}.{name}"


@cython.final
cdef class Protocol:
    """One record per protocol: what it is called, what it carries, where it is specified, and how it is taken.

    The dispatcher, the "tried" line of every refusal and the capability tables follow from these records. `offered`
    answers for an object whether it has this protocol: the record to take it by (this one, or one bound to what the
    type told), or None; without it the attribute `dunder` is looked for.
    """

    def __init__(self, *, str name, str dunder, str carries="array", devices=(1,), bint readonly=False,
                 bint strided=True, bint nulls=False, str spec="", offered=None):
        seldom()
        self.name = name
        self.dunder = dunder
        self.carries = carries
        self.devices = frozenset(devices)
        self.readonly = readonly
        self.strided = strided
        self.nulls = nulls
        self.spec = spec
        self.offered = offered

    cdef Protocol bound(self, void* data):
        """The same protocol, taken by what a type of objects told us once (its exchange table)."""
        cdef Protocol other = Protocol.__new__(Protocol)
        other.name, other.dunder, other.carries, other.spec = self.name, self.dunder, self.carries, self.spec
        other.devices = self.devices
        other.readonly, other.strided, other.nulls = self.readonly, self.strided, self.nulls
        other.take = self.take
        other.take_told = self.take_told
        other.peek = self.peek
        other.offered = self.offered
        other.data = data
        return other

    def __repr__(self):
        return f"<Protocol {self.name}>"


cdef Protocol taken_by(Protocol protocol, TakeFunction take, PeekFunction peek=NULL, TakeToldFunction take_told=NULL):
    """The record, with the C functions that take by it."""
    protocol.take = take
    protocol.peek = peek
    protocol.take_told = take_told
    return protocol


def type_name_of(producer):
    """The type of an object as messages name it: numpy.ndarray, bytes.

    Examples
    --------
    >>> from lend._core.owners import type_name_of
    >>> type_name_of(b"1234")
    'bytes'
    """
    seldom()
    return type_name(producer)


def living(tuple classes):
    """Objects of lend's own that the collector knows: of some classes exactly, and every Owner.

    Others build tuples that the collector shows half made, and that must have no second holder: so the list of all is
    gone before any Python code can run in another thread.
    """
    from gc import get_objects
    cdef list found = []
    cdef list everything = get_objects()
    for obj in everything:
        cls = type(obj)
        if issubclass_of(<PyObject*> cls, <PyObject*> Owner):
            found.append(obj)
            continue
        for wanted in classes:
            if cls is wanted:
                found.append(obj)
    return found


cdef extern from "Python.h":
    bint issubclass_of "PyType_IsSubtype"(PyObject* cls, PyObject* base)


guard(BufferOwner)
guard(DLPackOwner)
guard(ObjectOwner)
guard(DeviceOwner)
guard(CallbackOwner)
