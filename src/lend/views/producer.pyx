"""Producer: a base class for objects that own memory; one method that returns a View gives every protocol."""
cimport cython
from cpython.ref cimport Py_DECREF, PyObject

from lend._core.checked cimport buffer_obj, set_buffer_obj
from lend._core.owners cimport Owner
from lend.views.lent cimport ExchangeTable, call_hook
from lend.views.view cimport View, owner_of

cdef extern from "Python.h":
    int PyObject_GetBuffer(object, Py_buffer*, int) except -1


cdef class Producer:
    """Base class of an object that owns memory: its method `lend` says where, and every library can take it.

    The subclass says once where its memory is. The buffer protocol (on Python 3.11 too), DLPack (capsules and the C
    exchange API), `__array_interface__`, `__array_struct__`, `__array__`, `__arrow_array__` and `__jax_array__` are
    answered by that View. What a consumer gets holds the View, and with it the owner that you named; the object itself
    is asked anew each time, so its memory may move between two loans.

    Examples
    --------
    >>> import ctypes, lend
    >>> class Samples(lend.Producer):
    ...     def __init__(self, n):
    ...         self.block = (ctypes.c_double * n)()
    ...     def lend(self):
    ...         address = ctypes.addressof(self.block)
    ...         return lend.View.from_pointer(address, len(self.block), "float64", owner=self.block, readonly=False)
    >>> memoryview(Samples(3)).tolist()
    [0.0, 0.0, 0.0]
    >>> lend.view(Samples(2)).shape
    (2,)
    """

    __dlpack_c_exchange_api__ = ExchangeTable()

    def lend(self):
        """Return a View of the memory; called whenever a consumer asks by any protocol.

        Returns
        -------
        View
            Made by `View.from_pointer` with what keeps the memory alive as its owner, or by `lend.view` of a part.
        """
        raise NotImplementedError(f"{type(self).__name__} is a lend.Producer and must say how it lends: def lend(self)")

    def __getstate__(self):
        """What `copy` and `pickle` take along: the attributes of the subclass, and nothing of what was lent."""
        from copyreg import _slotnames
        slots = {name: getattr(self, name) for name in _slotnames(type(self)) if hasattr(self, name)}
        own = getattr(self, "__dict__", None)
        return (own, slots) if slots else own

    def __getbuffer__(self, Py_buffer* out, int flags):
        cdef View view = view_of_producer(self)
        cdef PyObject* placed = buffer_obj(out)
        # the View is the exporter: it counts the export, and is told when it is given back
        set_buffer_obj(out, NULL)
        PyObject_GetBuffer(view, out, flags)
        if placed is not NULL:
            Py_DECREF(<object> placed)

    def __dlpack_device__(self):
        """DLPack: (device type, device id)."""
        return view_of_producer(self).__dlpack_device__()

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """DLPack: a capsule over the memory; see `View.__dlpack__`."""
        return view_of_producer(self).__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    @property
    def __array_interface__(self):
        """NumPy's array interface, version 3; AttributeError where it cannot carry this memory."""
        view = view_of_producer(self)
        return told(self, view, view.__array_interface__)

    @property
    def __array_struct__(self):
        """NumPy's array struct; AttributeError where it cannot carry this memory."""
        view = view_of_producer(self)
        return told(self, view, view.__array_struct__)

    @property
    def __cuda_array_interface__(self):
        """CUDA array interface, version 3; AttributeError where it cannot carry this memory."""
        view = view_of_producer(self)
        return told(self, view, view.__cuda_array_interface__)

    @property
    def __sycl_usm_array_interface__(self):
        """SYCL's interface, version 1; AttributeError where it cannot carry this memory."""
        view = view_of_producer(self)
        return told(self, view, view.__sycl_usm_array_interface__)

    def __array__(self, dtype=None, copy=None):
        """A NumPy array: the same memory, or a copy when asked for or needed for dtype."""
        return view_of_producer(self).__array__(dtype, copy)

    def __arrow_array__(self, type=None):
        """A pyarrow.Array, for `pyarrow.array(x)`."""
        return view_of_producer(self).__arrow_array__(type)

    def __jax_array__(self):
        """A jax.Array, for `jax.numpy.asarray(x)`."""
        return view_of_producer(self).__jax_array__()


cdef object told(Producer producer, View view, object facts):
    """Keep a View whose address leaves by an array interface: its reader holds the producer, and that the View.

    One for each block of memory and what keeps it, so that they grow in number only when the memory moves.
    """
    cdef Owner owner = owner_of(view)
    # while the View is kept its keeper lives, and no other object has that id
    key = owner if owner.held is None else (type(owner), id(owner.held), owner.ptr, owner.nbytes)
    with cython.critical_section(producer):
        if producer.told is None:
            producer.told = {}
        producer.told.setdefault(key, view)
    return facts


cdef View view_of_producer(object producer):
    """The View that the producer lends now."""
    return call_hook("own_view")(producer)
