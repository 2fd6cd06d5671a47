"""Lent: what View and Buffer have in common, a record of memory and what holds it, with the facts that follow."""
cimport cython

from cpython.buffer cimport PyObject_GetBuffer
from cpython.ref cimport Py_DECREF

from lend._core.checked cimport atomic_get
from lend._core.owners cimport move_lease
from lend._core.record cimport EXCLUSIVE, READONLY, RELEASED, UNTOLD, byte_count
from lend._core.seldom cimport seldom
from lend.views.checks cimport alignment_of, alive

# what files that are loaded later do for an object of ours: name -> (module, attribute), loaded when first asked for
cdef extern from *:
    """
    /* Python code makes no subclass; the two of ours are made ready in C, which does not ask */
    #define lend_seal(type) (((PyTypeObject *)(type))->tp_flags &= ~Py_TPFLAGS_BASETYPE)
    """
    void seal "lend_seal"(object cls)

cdef dict _hooks = {
    "pinned": ("lend.plan.recheck", "pinned"),
    "own_view": ("lend.doors", "own_view"),
    "array": ("lend.adapters.numpy", "array"),
    "assign": ("lend.views.scalars", "assign"),
    "arrow_array": ("lend.adapters.pyarrow", "arrow_array"),
    "arrow_column": ("lend.adapters.pyarrow", "arrow_column"),
    "dataframe": ("lend.adapters.dataframe_forms", "give"),
    "device": ("lend.views.derived", "device_of"),
    "host": ("lend.devices.access", "on_host"),
    "column_moved": ("lend.devices.moving", "moved"),
    "host_column": ("lend.devices.columns", "on_host"),
    "device_number": ("lend.devices.ordering", "number"),
    "order": ("lend.devices.ordering", "order"),
    "number": ("lend.views.scalars", "number"),
    "reduce": ("lend.pickling", "reduce"),
    "table_array": ("lend.adapters.table_array", "array"),
    "to": ("lend.plan.ways", "to"),
    "view": ("lend.front", "view"),
    "event": ("lend.devices.ordering", "event_after"),
    "interface_stream": ("lend.devices.ordering", "interface_stream"),
    "used_by": ("lend.devices.ordering", "used_by"),
    "verify": ("lend.plan.recheck", "verify"),
}


cdef object call_hook(str name):
    """The function of the floor above that does `name`."""
    found = _hooks[name]
    if type(found) is tuple:
        module, attribute = found
        found = _hooks[name] = getattr(__import__(module, fromlist=["*"]), attribute)
    return found


cdef int host_buffer(Lent lent, Py_buffer* out, int flags) except -1:
    """Fill a Py_buffer over memory of a device, where the host may read it now: by an object on the host, which the
    consumer holds in the place of this one."""
    seldom()
    cdef Py_buffer filled
    PyObject_GetBuffer(call_hook("host")(lent), &filled, flags)
    # Cython keeps None in `obj` until something is put there
    Py_DECREF(None)
    move_lease(out, &filled)
    return 0


cdef object _derived = None
cdef object _values = None


cdef object derived():
    """views/derived.pyx: what a View does beyond holding memory, loaded when it is first asked for."""
    global _derived
    if _derived is None:
        from lend.views import derived as module
        _derived = module
    return _derived


cdef object values():
    """views/values.pyx: the values of a View, read or copied, loaded when they are first asked for."""
    global _values
    if _values is None:
        from lend.views import values as module
        _values = module
    return _values


@cython.final
cdef class ExchangeTable:
    """`View.__dlpack_c_exchange_api__`: the capsule of views/exchange.pyx, loaded when a consumer first asks."""

    def __get__(self, instance, owner):
        from lend.views.exchange import CAPSULE
        return CAPSULE


@cython.no_gc_clear
cdef class Lent:
    """Memory of somebody else's, and the lease on it: the facts that View and Buffer share.

    Attributes
    ----------
    ptr : int
        Address of the first element.
    nbytes : int
        Bytes of all elements, without gaps.
    device : Device
        Where the memory is.
    readonly : bool
        True when it may not be written to.
    """

    def __cinit__(self):
        # what `__new__` makes holds nothing; lend makes its own by other ways
        self.record.flags = RELEASED

    def __init__(self, *args, **options):
        seldom()
        if type(self) is Lent:
            raise TypeError("what is lent is made by lend.view(x) or lend.buffer(x)")
        name = type(self).__name__
        raise TypeError(f"{name} is made by lend.{name.lower()}(x), or by {name}.from_pointer for memory of your own")

    @property
    def ptr(self):
        """Address of element 0 (of a device without addresses: its byte offset)."""
        alive(&self.record, self)
        return <size_t> self.record.data

    @property
    def nbytes(self):
        """Bytes of all elements, without gaps."""
        alive(&self.record, self)
        return byte_count(&self.record)

    @property
    def device(self):
        """Where the memory is."""
        alive(&self.record, self)
        return call_hook("device")(self)

    @property
    def readonly(self):
        """True when the memory may not be written to."""
        alive(&self.record, self)
        return bool(self.record.flags & READONLY)

    @property
    def alignment(self):
        """The largest power of two, up to 4096, that divides the address of element 0."""
        alive(&self.record, self)
        return alignment_of(&self.record)

    @property
    def exclusive(self):
        """True when the producer said that this is a private copy (DLPack's IS_COPIED), or lend made it."""
        alive(&self.record, self)
        return bool(self.record.flags & EXCLUSIVE)

    @property
    def writability_untold(self):
        """True when the producer's protocol could not say whether it may be written to (unversioned DLPack)."""
        alive(&self.record, self)
        return bool(self.record.flags & UNTOLD)

    @property
    def released(self):
        """True after release()."""
        return bool(self.record.flags & RELEASED)

    # -- use --

    def to(self, target=None, **options):
        """Hand the memory to a library, class or callable: `lend.to(self, target, ...)`."""
        seldom()
        alive(&self.record, self)
        return call_hook("to")(self, target, **options)

    def __enter__(self):
        alive(&self.record, self)
        return self

    def __exit__(self, kind, value, traceback):
        seldom()
        # what is still exported is released with its exports; that must not hide what went wrong inside
        if kind is None or atomic_get(&self.record.exports) == 0:
            self.release()

    def verify(self):
        """Ask the producer again whether the memory is still where it was lent.

        Only producers that are known to reallocate under an export (NumPy arrays, torch tensors) are asked; the
        protocol exports never are.

        Raises
        ------
        LeaseLost
            When this was released, or its producer moved or shrank the memory.
        """
        alive(&self.record, self)
        call_hook("verify")(self)

    def __setitem__(self, index, value):
        seldom()
        call_hook("assign")(self, index)

    def __delitem__(self, index):
        seldom()
        call_hook("assign")(self, index)

    # -- protocols --

    def __dlpack_device__(self):
        """DLPack: (device type, device id); UnsupportedType where the id is not known ("cuda:?")."""
        alive(&self.record, self)
        if self.record.device_id < 0 and call_hook("device_number")(self) < 0:
            from lend.protocols import device_refusals
            raise device_refusals.no_number(self, "__dlpack_device__()")
        return (self.record.device_type, self.record.device_id)

    def __reduce_ex__(self, protocol):
        """Pickle by value: with protocol 5 the bytes may go out of band, below it they are copied."""
        seldom()
        alive(&self.record, self)
        return call_hook("reduce")(self, protocol)

    def _describe(self):
        """What a refusal shows of this object."""
        from lend.views import describe
        return describe.came(self)


seal(Lent)
