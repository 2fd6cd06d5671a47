"""`lend.to`: by a way that is known when nothing is to be done but to hand over, else by the drawing.

What the planner said of a target, a dtype and a layout class is remembered, so that it need not be asked for each View.
"""
from cpython.buffer cimport PyBUF_FULL_RO, PyBuffer_Release
from cpython.exc cimport PyErr_Clear
from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport uint32_t, uint64_t

from lend._core.checked cimport has_release
from lend._core.dlpack cimport DLPackExchangeAPI, DLTensor
from lend._core.owners cimport BufferOwner, DLPackOwner, MemoryOwner, Owner, Protocol
from lend._core.record cimport (
    C_CONTIGUOUS, DEVICE_CPU, F_CONTIGUOUS, INLINE_LEASE, INLINE_TENSOR, READONLY, RELEASED, UNTOLD, Record,
    element_count, is_aligned, span_of,
)
from lend._core.seldom cimport seldom
from lend._core.shortcuts cimport shorten_call_2
from lend.dtypes.code cimport KIND_DATETIME, KIND_TIMEDELTA, code_word
from lend.front cimport protocol_known, quiet_view
from lend.views.view cimport View

from lend.plan import drawing

cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    #define LEND_WAYS 0
    #else
    #define LEND_WAYS 1   /* the table of ways is read and written under the GIL alone */
    #endif
    /* 1: x.base, a new reference; 0: there is none; -1: an exception is set */
    static int lend_base_of(PyObject *x, PyObject *name, PyObject **base) {
        *base = PyObject_GetAttr(x, name);
        if (*base != NULL) return 1;
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
        PyErr_Clear();
        return 0;
    }
    """
    const bint HAVE_WAYS "LEND_WAYS"
    int base_of "lend_base_of"(PyObject* x, object name, PyObject** base)
    PyObject* Py_None

cdef extern from "Python.h":
    PyObject* call_one "PyObject_CallOneArg"(PyObject* function, object argument)
    int get_buffer "PyObject_GetBuffer"(object, Py_buffer*, int)
    void drop "Py_XDECREF"(PyObject*)
    void PyErr_SetObject(object kind, object value)
    bint PyErr_ExceptionMatches(PyObject*)
    PyObject* PyErr_Occurred()


def to(obj, target=None, *, copy=None, device=None, nulls=None, alias_readonly=False, **options):
    """Hand the memory of an object to a library, a class or a callable; copied only when it must be.

    Parameters
    ----------
    obj : object
        Whatever `lend.view`, `lend.column` or `lend.table` takes; also a tensor whose value torch has still to write
        out, and a buffer with rows behind pointers, which are copied.
    target : str, module, class or callable
        "numpy", "numpy.ma", "torch", "jax", "pyarrow", "memoryview" or "tvm_ffi"; of columns and tables also "polars",
        "pandas", "arro3" and "duckdb" (duckdb takes tables alone); the module, a class of it such as
        `numpy.ndarray` (also by its dotted name, or `pyarrow.FloatArray` and its kin; of columns and tables also a
        class below one that is made); or any callable, which is called with a View (with a Buffer if obj is one).
        Without a target, and with `device`, a View or Buffer of our own is returned.
    copy : bool, optional
        None (default): copy only what the target cannot take otherwise, and never between devices. True: always into
        fresh, writable, 64-byte aligned memory of lend's own. False: never; what would need a copy is refused, and so
        is a class that always makes one (bytes, list). For other callables lend speaks for itself alone.
    device : Device, str or pair, optional
        Where the memory must be: the only way to have it moved. What the host may read is shared with it, all else is
        copied by the driver.
    nulls : optional
        How the nulls of a column are shown. None: as the target has them, or refused. "mask": beside the values
        (NumPy). "nan": as NaN, integers as float64 where each is exact. "object": Python's values (NumPy, pandas).
        "forbid": none may be there. "struct": values and a mask of bytes through Arrow. ("fill", value): a value. Of a
        table also a dict of these by the names of its columns; those that it does not name have None. An array of one
        dimension is the column that `lend.column` makes of it. Where nothing is null, nothing changes.
    alias_readonly : bool, optional
        True: you promise not to write, and read-only memory is shared with a target that cannot mark it so.
    **options
        Options of the target. Arrays: `stack=True`, a table as one array of two dimensions; `storage=True`, times and
        indices as the numbers that are stored. numpy: `zone="drop"`; `strings=` "object", "StringDType" or "U".
        pandas: `dtype_backend=`, `index=`. polars: `names="unique"`. duckdb: `connection=`. Takers of Arrow data:
        `bool8=True`, bools of one byte as they lie, by that extension type. What one says of text,
        times or zones changes nothing where there are none. Of memory of devices, for each buffer: `sync=` "stream"
        (what its producer knows of is waited for), "device" (all of its device) or "none" (nothing is pending).
        Of what comes from pandas, to whatever target: `index=` and `nested=`, as for `lend.table`.

    Returns
    -------
    object
        A numpy.ndarray, torch.Tensor, jax.Array, pyarrow.Array (one dimension), pyarrow.Tensor, pyarrow.Buffer (of a
        Buffer), memoryview or tvm_ffi.Tensor; of a table a dict of these by its names; of libraries of columns their
        Series or table; or what the callable returned. It holds the lease as long as it lives.

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
    seldom()
    return drawing.draw(obj, target, copy, device, nulls, alias_readonly, options).carry_out()


cdef enum:
    REMEMBERED_WAYS = 64

cdef struct Way:
    PyObject* target         # a str, ours
    PyObject* give           # the function that hands a View over, ours
    uint64_t dtype
    uint32_t layout

cdef Way[REMEMBERED_WAYS] ways


cdef PyObject* to_plain(object obj, object target) noexcept:
    """`to(x, target)` by a way that is known; NULL without an exception when it must be found first."""
    cdef View view
    cdef list refused = None
    cdef Way* way
    cdef uint64_t dtype
    cdef uint32_t layout
    if not HAVE_WAYS or not (type(target) is str or type(target) is type):
        return NULL
    if type(obj) is View:
        view = <View> obj
        # an interrupt may be set then: the caller looks
        if view.record.flags & RELEASED or still_there(view) <= 0:
            return NULL
    else:
        refused = []
        try:
            view = quiet_view(obj, target, refused)
        except BaseException as error:  # noqa: BLE001 - set again for the caller, who is in C
            PyErr_SetObject(type(error), error)
            return NULL
        if view is None:
            return long_way(obj, target, None, refused) if refused else NULL
    # times of what shows columns are made arrays of its column, which tells their nulls
    if (view.record.device_type != DEVICE_CPU or view.record.dtype.kind == KIND_DATETIME
            or view.record.dtype.kind == KIND_TIMEDELTA):
        return NULL if view is obj else long_way(obj, target, view, refused)
    dtype = code_word(view.record.dtype)
    layout = layout_class(&view.record)
    way = &ways[(dtype ^ dtype >> 32 ^ layout ^ <size_t> <PyObject*> target >> 5) % REMEMBERED_WAYS]
    if way.target != <PyObject*> target or way.dtype != dtype or way.layout != layout:
        if find_way(view, target, way, dtype, layout) <= 0:
            return NULL if view is obj or PyErr_Occurred() is not NULL else long_way(obj, target, view, refused)
    # held while it runs: another thread may put another way into the slot meanwhile
    give = <object> way.give
    return call_one(<PyObject*> give, view)


cdef PyObject* long_way(object obj, object target, View view, list refused) noexcept:
    """By the planner, which gets the View that was taken, or the refusal, so that the producer is asked once."""
    seldom()
    try:
        made = drawing.draw(obj, target, None, None, None, False, {}, view, refused).carry_out()
        Py_INCREF(made)
        return <PyObject*> made
    except BaseException as error:  # noqa: BLE001 - set again for the caller, who is in C
        PyErr_SetObject(type(error), error)
        return NULL


cdef int find_way(View view, object target, Way* way, uint64_t dtype, uint32_t layout) noexcept:
    """Ask the planner once; whatever it refuses is refused again, in full, by the long way round."""
    seldom()
    cdef PyObject* old
    try:
        give = drawing.quick(target, view)
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


cdef int still_there(View view) noexcept:
    """1: the memory is where it was lent, or nobody can have moved it. 0: unknown or moved, the planner asks fully. -1:
    an interrupt, which is set."""
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
        protocol = protocol_known(producer)
        if protocol is not None and protocol.inner is not None:
            protocol = protocol.inner
        if protocol is None or protocol.data is NULL or producer is None:
            return False
        table = <DLPackExchangeAPI*> protocol.data
        if table.dltensor_from_py_object_no_sync is NULL:
            return False
        if table.dltensor_from_py_object_no_sync(<void*> producer, &tensor) != 0:
            return unknown()
        # a slice of it lies elsewhere: only the whole is compared here
        if (<char*> tensor.data + tensor.byte_offset != view.record.data
                or elements(&tensor) != element_count(&view.record)):
            return False
        return has_room(producer, &view.record)
    if has_release(producer):
        return True      # it counts its exports, and does not move while one is open
    if get_buffer(producer, &now, PyBUF_FULL_RO) < 0:
        return unknown()
    same = now.buf is lease.buf and now.len == lease.len
    PyBuffer_Release(&now)
    if not same:
        return 0
    return base_is_there(producer, &view.record)


cdef int has_room(object producer, const Record* record) noexcept:
    """A tensor of torch's goes on showing what was cut of its storage; the tensors of others have none to ask."""
    cdef Py_ssize_t low, high
    try:
        ask = getattr(producer, "untyped_storage", None)
        if ask is None:
            return True
        storage = ask()
        start, room = storage.data_ptr(), storage.nbytes()
    except BaseException as error:  # noqa: BLE001 - looked at next
        PyErr_SetObject(type(error), error)
        return unknown()
    span_of(record, &low, &high)
    return <size_t> record.data + <size_t> high <= <size_t> start + <size_t> room


cdef int unknown() noexcept:
    """A producer raised when asked where its memory is: an interrupt stays set (-1), the planner meets the rest."""
    seldom()
    if PyErr_ExceptionMatches(<PyObject*> Exception) and not PyErr_ExceptionMatches(<PyObject*> MemoryError):
        PyErr_Clear()
        return 0
    return -1


cdef int base_is_there(object producer, const Record* record) noexcept:
    """An array that is a view of another shows the old place when that one moves: the other is asked too."""
    cdef Py_buffer now
    cdef Py_ssize_t low, high
    cdef bint inside
    cdef PyObject* base
    cdef PyObject* above
    cdef int found = base_of(<PyObject*> producer, "base", &base)
    if found <= 0:
        return 1 if found == 0 else unknown()    # it is no array of NumPy's
    if base is Py_None:
        drop(base)
        return 1    # it owns its memory
    found = base_of(base, "base", &above)
    if found <= 0 or above is not Py_None:
        drop(base)
        if found > 0:
            drop(above)
            return 0
        return 1 if found == 0 else unknown()    # what it holds is no array
    drop(above)
    found = get_buffer(<object> base, &now, 0)
    drop(base)
    if found < 0:
        return unknown()
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


shorten_call_2(to, to_plain)
