"""`__sycl_usm_array_interface__`, version 1, both ways: unified shared memory of SYCL, as dpctl describes it.

Strides and offset count elements. There is no release: the owner keeps the object that the dict was read from, and as
its `context` the `syclobj` (a queue, a context, a capsule or a filter string), without which a USM pointer is nobody's;
so only memory that came with one is given again. Whether the host may read it only the context can tell: it is never
touched here. The number of the device is known where `__dlpack_device__` tells it.

The second item of `data` is "read-only" for arrays, and for dpctl's memory objects, whose dicts have no `offset` and
always True there, "writable". Specification:
https://github.com/IntelPython/dpctl/wiki/Zero-copy-data-exchange-using-SYCL-USM
"""
from libc.stdint cimport uintptr_t

from lend._core.checked cimport mul_overflows
from lend._core.owners cimport DeviceOwner, Owner, Protocol, own_on_device, taken_by
from lend._core.record cimport (
    C_CONTIGUOUS, LAYOUT_OK, READONLY, Record, check_layout, clear_dims, element_count, shape_of, span_of, strides_of,
)
from lend.dtypes.code cimport KIND_BOOL, KIND_COMPLEX, ORDER_BIG
from lend.protocols.array_interface cimport (
    facts_of, read_layout, read_number, read_place, read_typestr, refuse, refuse_layout, refuse_producer, said_typestr,
)
from lend.protocols.device_number cimport number_of
from lend.protocols.integers cimport read_address, tuple_of

SYCL_USM = taken_by(Protocol(
    name="SYCL USM array interface", dunder="__sycl_usm_array_interface__", devices=(14,), readonly=True,
    spec="https://github.com/IntelPython/dpctl/wiki/Zero-copy-data-exchange-using-SYCL-USM",
), take)

cdef enum:
    DEVICE_ONEAPI = 14

cdef object module_of = type.__dict__["__module__"].__get__


cdef object take(object obj, Record* record, Py_buffer* lease, int want, void* data):
    """Take the dict of obj."""
    cdef dict facts = <dict> facts_of(obj, SYCL_USM)
    cdef object owner = None
    cdef tuple values
    cdef Py_ssize_t start = 0
    cdef uintptr_t number = 0
    cdef bint known = False
    cdef int announced = 0
    try:
        values = (facts.get("shape"), facts.get("typestr"), facts.get("data"), facts.get("strides"),
                  facts.get("offset"), facts.get("version"), facts.get("syclobj"))
        shape, typestr, place, strides, offset, version, syclobj = values
        known = read_address(version, &number)
    except Exception as error:  # noqa: BLE001 - keys and numbers may be anybody's
        refuse_producer(obj, SYCL_USM, error)
    if shape is None or typestr is None:
        refuse("missing_key", obj, SYCL_USM, ("shape" if shape is None else "typestr",))
    if not known or number != 1:
        refuse("bad_interface", obj, SYCL_USM, ("version", version, "1, the only one there is"))
    read_typestr(obj, SYCL_USM, facts, typestr, record, want)
    if not KIND_BOOL <= record.dtype.kind <= KIND_COMPLEX or record.dtype.order_unit & ORDER_BIG:
        refuse("bad_interface", obj, SYCL_USM,
               ("typestr", typestr, "a little-endian number of kind b, i, u, f or c"))
    if not isinstance(place, tuple):
        refuse("bad_interface", obj, SYCL_USM, ("data", place, "a pair (address, readonly)"))
    if offset is None and len(<tuple> place) == 2 and is_memory(obj):
        address, _ = <tuple> place
        place = (address, False)
    record.flags = 0
    record.device_type = DEVICE_ONEAPI
    record.device_id = number_of(obj, SYCL_USM, &announced)
    if announced and announced != DEVICE_ONEAPI:
        from lend.protocols import device_refusals
        raise device_refusals.elsewhere(obj, SYCL_USM, announced)
    try:
        read_layout(obj, SYCL_USM, shape, strides, record)
        if offset is not None:
            read_number(obj, SYCL_USM, "offset", offset, &start)
            if mul_overflows(start, record.itemsize, &start):
                refuse("bad_interface", obj, SYCL_USM, ("offset", offset, "elements within reach (bounds)"))
        if strides is not None and element_count(record):
            in_bytes(obj, record)
        read_place(obj, SYCL_USM, <tuple> place, start, record, want)
        owner = own_on_device(obj, record, "unknown", syclobj)
    finally:
        if owner is None:
            clear_dims(record)
    return owner


cdef bint is_memory(object obj):
    """Whether it is of a class of dpctl.memory: USM without a dtype, which is always writable."""
    for cls in type(obj).__mro__:
        module = module_of(cls)
        if type(module) is str and (module == "dpctl.memory" or module.startswith("dpctl.memory.")):
            return True
    return False


cdef int in_bytes(object obj, Record* record) except -1:
    """Turn the strides, which count elements, into bytes, and check them as such."""
    cdef Py_ssize_t* shape = shape_of(record)
    cdef Py_ssize_t* strides = strides_of(record)
    cdef int i
    for i in range(record.ndim):
        if mul_overflows(strides[i], record.itemsize, &strides[i]):
            if shape[i] > 1:
                refuse("bad_interface", obj, SYCL_USM,
                       ("strides", tuple_of(strides, record.ndim), "steps within reach (bounds)"))
            strides[i] = record.itemsize  # decides nothing
    record.flags = 0
    layout = check_layout(record)
    if layout != LAYOUT_OK:
        refuse_layout(obj, SYCL_USM, record, layout)
    return 0


cdef object context_of(Owner owner):
    """What the memory came with; of an array that came by DLPack, the queue that it says is its own. None: nobody's."""
    if type(owner) is DeviceOwner:
        return (<DeviceOwner> owner).syclobj
    return getattr(owner.held, "sycl_queue", None)


cdef dict give(Owner owner, Record* record, object shown):
    """A fresh dict over the record: from the lowest byte, with an offset where strides are negative."""
    cdef str typestr = said_typestr(record.dtype)
    cdef object syclobj = context_of(owner) if record.device_type == DEVICE_ONEAPI else None
    cdef bint here = syclobj is not None
    cdef bint sayable = typestr is not None and KIND_BOOL <= record.dtype.kind <= KIND_COMPLEX
    cdef Py_ssize_t* strides = strides_of(record)
    cdef Py_ssize_t* shape = shape_of(record)
    cdef Py_ssize_t low = 0
    cdef Py_ssize_t high = 0
    cdef Py_ssize_t steps[64]  # MAX_DIMS
    cdef Py_ssize_t natural = 1
    cdef int i
    if here and sayable:
        for i in range(record.ndim - 1, -1, -1):
            if shape[i] > 1:
                if strides[i] % <Py_ssize_t> record.itemsize:
                    sayable = False
                steps[i] = strides[i] // <Py_ssize_t> record.itemsize
                natural = steps[i] * shape[i]
            else:
                steps[i] = natural
    if not here or not sayable:
        from lend.protocols import device_refusals
        raise device_refusals.hidden(shown, SYCL_USM, "USM that came with a context", here)
    span_of(record, &low, &high)
    return {
        "data": (<size_t> record.data + low if high > low else 0, True if record.flags & READONLY else False),
        "offset": -low // <Py_ssize_t> record.itemsize,
        "shape": tuple_of(shape_of(record), record.ndim),
        "strides": None if record.flags & C_CONTIGUOUS else tuple_of(steps, record.ndim),
        "syclobj": syclobj,
        "typestr": typestr,
        "version": 1,
    }
