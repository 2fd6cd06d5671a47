"""`__cuda_array_interface__`, versions 0 to 3, both ways: memory that CUDA devices reach, described and never touched.

There is no release: the owner keeps the object that the dict was read from, and beside it the stream that its work may
be pending on (`DeviceOwner.stream`), for whoever has to wait. The dict does not tell the number of the device: that is
what `__dlpack_device__` of the object says, else unknown ("cuda:?", -1) until a driver is asked, and whatever needs a
number is refused till then. The kind stays "cuda" where the object announces pinned or managed memory: the host reads
nothing before it has waited.

Libraries that are built for ROCm tell memory of theirs by it, too, and look for nothing else: it is shown to them where
HIP is loaded and CUDA's driver is not, so that nobody takes the address for one of CUDA's. Names of steps (CAI-I2,
CAI-E3): the protocol's design page; specification:
https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html
"""
cimport cython
from cpython.dict cimport PyDict_Next
from cpython.long cimport PyLong_CheckExact
from cpython.ref cimport PyObject
from libc.stdint cimport uintptr_t

from lend._core.driver cimport DRIVER_CUDA, DRIVER_HIP, find_driver
from lend._core.owners cimport Protocol, own_on_device, taken_by
from lend._core.record cimport (
    C_CONTIGUOUS, DEVICE_CUDA_HOST, DEVICE_CUDA_MANAGED, READONLY, Record, clear_dims, element_count, shape_of,
)
from lend.dtypes.code cimport ORDER_BIG
from lend.protocols.array_interface cimport (
    facts_of, read_layout, read_place, read_typestr, refuse, refuse_producer, said_strides, said_typestr,
    say_fields,
)
from lend.protocols.device_number cimport number_of
from lend.protocols.integers cimport int_as_address, read_address, tuple_of

CUDA_ARRAY_INTERFACE = taken_by(Protocol(
    name="CUDA array interface", dunder="__cuda_array_interface__", devices=(2, 3, 10, 13), readonly=True,
    spec="https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html",
), take)

cdef object ABSENT = object()

cdef enum:
    DEVICE_CUDA = 2
    DEVICE_ROCM = 10
    DEVICE_ROCM_HOST = 11
    NEWEST = 3
    STREAMLESS = 2       # the newest that has no word for streams


cdef object take(object obj, Record* record, Py_buffer* lease, int want, void* data):
    """Take the dict of obj (CAI-I1 to CAI-I6)."""
    cdef dict facts = <dict> facts_of(obj, CUDA_ARRAY_INTERFACE)
    cdef object owner = None, pending
    cdef object shape = None, typestr = None, place = None, strides = None, mask = None, version = None, stream = ABSENT
    cdef Py_ssize_t at = 0
    cdef PyObject* key
    cdef PyObject* value
    cdef bint plain = True
    try:
        # the keys are the interned words of everybody's source: most dicts are read without a lookup
        with cython.critical_section(facts):
            while plain and PyDict_Next(facts, &at, &key, &value):
                if key is <PyObject*> "data":
                    place = <object> value
                elif key is <PyObject*> "strides":
                    strides = <object> value
                elif key is <PyObject*> "typestr":
                    typestr = <object> value
                elif key is <PyObject*> "shape":
                    shape = <object> value
                elif key is <PyObject*> "stream":
                    stream = <object> value
                elif key is <PyObject*> "version":
                    version = <object> value
                elif key is <PyObject*> "mask":
                    mask = <object> value
                elif key is not <PyObject*> "descr":
                    plain = False
        if not plain:
            shape = facts.get("shape")
            typestr = facts.get("typestr")
            place = facts.get("data")
            strides = facts.get("strides")
            mask = facts.get("mask")
            version = facts.get("version")
            stream = facts.get("stream", ABSENT)
    except Exception as error:  # noqa: BLE001 - a key of another kind may raise when it is compared
        refuse_producer(obj, CUDA_ARRAY_INTERFACE, error)
    if shape is None or typestr is None:
        refuse("missing_key", obj, CUDA_ARRAY_INTERFACE, ("shape" if shape is None else "typestr",))
    pending = pending_stream(obj, version, stream)
    read_typestr(obj, CUDA_ARRAY_INTERFACE, facts, typestr, record, want)
    if record.dtype.order_unit & ORDER_BIG:
        refuse("bad_interface", obj, CUDA_ARRAY_INTERFACE, ("typestr", typestr, "little-endian, as devices are"))
    if mask is not None:
        refuse("masked", obj, CUDA_ARRAY_INTERFACE)
    if not isinstance(place, tuple):
        refuse("bad_interface", obj, CUDA_ARRAY_INTERFACE, ("data", place, "a pair (address, readonly)"))
    record.flags = 0
    place_on_device(obj, record)
    try:
        read_layout(obj, CUDA_ARRAY_INTERFACE, shape, strides, record)
        read_place(obj, CUDA_ARRAY_INTERFACE, <tuple> place, 0, record, want)
        owner = own_on_device(obj, record, pending)
    finally:
        if owner is None:
            clear_dims(record)
    return owner


cdef object pending_stream(object obj, object version, object stream):
    """The stream that work is pending on (CAI-I4): an int, None for no work, "unknown" before version 3."""
    cdef uintptr_t number = 0
    cdef bint known = False
    if version is None:
        return "unknown"
    if PyLong_CheckExact(version):
        known = int_as_address(version, &number)
    else:
        try:
            known = read_address(version, &number)
        except Exception as error:  # noqa: BLE001 - `__index__` may be anybody's
            refuse_producer(obj, CUDA_ARRAY_INTERFACE, error)
    if not known or number > NEWEST:
        refuse("bad_interface", obj, CUDA_ARRAY_INTERFACE, ("version", version, f"a version from 0 to {NEWEST}"))
    if number < NEWEST or stream is ABSENT:
        return "unknown"
    if stream is None:
        return None
    try:
        known = read_address(stream, &number)
    except Exception as error:  # noqa: BLE001
        refuse_producer(obj, CUDA_ARRAY_INTERFACE, error)
    if not known or number == 0:
        raise_stream(obj, stream)
    return number


cdef int place_on_device(object obj, Record* record) except -1:
    """Where the memory is (CAI-I5): the kind and, if the object announces it, the number of the device."""
    cdef int announced = 0
    cdef int number = number_of(obj, CUDA_ARRAY_INTERFACE, &announced)
    record.device_type = DEVICE_ROCM if announced == DEVICE_ROCM or announced == DEVICE_ROCM_HOST else DEVICE_CUDA
    # pinned and managed memory have no number of their own, or say 0
    record.device_id = number if announced == record.device_type else -1
    if announced and announced not in (DEVICE_CUDA, DEVICE_CUDA_HOST, DEVICE_CUDA_MANAGED, DEVICE_ROCM,
                                       DEVICE_ROCM_HOST):
        from lend.protocols import device_refusals
        raise device_refusals.elsewhere(obj, CUDA_ARRAY_INTERFACE, announced)
    return 0


cdef int raise_stream(object obj, object stream) except -1:
    from lend.protocols import device_refusals
    raise device_refusals.stream(obj, CUDA_ARRAY_INTERFACE, stream)


cdef dict give(Record* record, object shown):
    """A fresh dict over the record (CAI-E1 to CAI-E5), which tells no stream; AttributeError where it cannot say it."""
    cdef str typestr = said_typestr(record.dtype)
    cdef bint here = record.device_type in (DEVICE_CUDA, DEVICE_CUDA_HOST, DEVICE_CUDA_MANAGED) or (
        record.device_type in (DEVICE_ROCM, DEVICE_ROCM_HOST) and is_of_hip())
    cdef dict said
    if not here or typestr is None:
        hide(shown, here)
    said = {
        "data": (<size_t> record.data if element_count(record) else 0, True if record.flags & READONLY else False),
        "shape": tuple_of(shape_of(record), record.ndim),
        "strides": None if record.flags & C_CONTIGUOUS else said_strides(record),
        "typestr": typestr,
        "version": STREAMLESS,
    }
    if not say_fields(record.dtype, said):
        hide(shown, here)
    return said


cdef bint is_of_hip() noexcept:
    """Whether addresses of this process are HIP's, and none is CUDA's."""
    return find_driver(DRIVER_HIP) is not NULL and find_driver(DRIVER_CUDA) is NULL


cdef int tell_stream(dict said, object stream) except -1:
    """Let a dict tell the stream; "unknown" leaves it as it is: without one, version 3 says that nothing is pending."""
    if stream != "unknown":
        said["version"] = NEWEST
        said["stream"] = stream
    return 0


cdef int hide(object shown, bint here) except -1:
    from lend.protocols import device_refusals
    raise device_refusals.hidden(shown, CUDA_ARRAY_INTERFACE, "CUDA memory", here)
