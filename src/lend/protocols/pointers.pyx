"""Objects that are a pointer and a size, and nothing else: the Buffer of the dataframe protocol and its kin.

Taken as read-only bytes; the object is the owner. The device is asked for before anything else, and no byte is read.
Given: our own Buffer has `ptr` and `size`, which is all there is to give.
https://github.com/data-apis/dataframe-api/issues/39
"""
from libc.stdint cimport uintptr_t

from lend._core.owners cimport Protocol, own_object, taken_by
from lend._core.record cimport (
    DEVICE_CPU, LAYOUT_OK, READONLY, WANT_WRITABLE, Record, check_layout, clear_dims, set_ndim, shape_of, strides_of,
)
from lend.dtypes.code cimport KIND_UINT, make_code
from lend.protocols.integers cimport read_address, read_size

from lend.errors import LendError

POINTERS = taken_by(Protocol(
    name="ptr and size", dunder="ptr", devices=(1, 2, 3, 9, 10, 11, 12, 13, 14, 16, 17, 18), readonly=True,
    strided=False, spec="https://data-apis.org/dataframe-protocol/latest/API.html",
), take)

# the names of a size in bytes; `size` comes last, as some count elements by it
cdef tuple SIZES = ("nbytes", "bufsize", "size")


cdef object take(object obj, Record* record, Py_buffer* lease, int want, void* data):
    """Take `ptr` and a size of obj."""
    cdef object pointer, size
    cdef str field = "size"
    cdef Py_ssize_t room = 0
    cdef uintptr_t address = 0
    cdef int device_type = DEVICE_CPU
    cdef Py_ssize_t device_id = 0
    cdef bint pointed = False
    cdef bint sized = False
    try:
        pointer = getattr(obj, "ptr", None)
        if pointer is None or callable(pointer):
            # a word of another meaning: an array library's own pointer object, a method
            refuse("no_door", obj)
        size = None
        for field in SIZES:
            size = getattr(obj, field, None)
            if size is not None:
                break
        if size is None:
            refuse("no_door", obj)
        if hasattr(obj, "__dlpack_device__"):
            device_type, device_id = ask_device(obj)
        else:
            place = told_otherwise(obj)
            if place:
                refuse("device_untold", obj, (place,))
        pointed = read_address(pointer, &address)
        sized = read_size(size, &room)
    except LendError:
        raise
    except Exception as error:  # noqa: BLE001 - properties, `__index__` and `__dlpack_device__` may be anybody's
        refuse_producer(obj, error)
    if not pointed:
        refuse("bad_interface", obj, ("ptr", pointer, "an address (int)"))
    if not sized or room < 0:
        refuse("bad_interface", obj, (field, size, "a number of bytes (int)"))
    if room and address == 0:
        refuse("bad_interface", obj, ("ptr", 0, f"an address, as {field} is {room}"))
    if address + <uintptr_t> room < address:
        refuse("bad_interface", obj, ("ptr", pointer, f"an address with room for {room} bytes (bounds)"))
    if device_type not in POINTERS.devices:
        refuse("no_such_device", obj, (device_type,))
    if want & WANT_WRITABLE:
        refuse("read_only", obj)
    record.data = <char*> address if room else NULL
    record.itemsize = 1
    record.dtype = make_code(KIND_UINT, 8)
    record.device_type = device_type
    record.device_id = 0 if device_type == DEVICE_CPU else <int> device_id
    record.flags = READONLY
    set_ndim(record, 1)
    shape_of(record)[0] = room
    strides_of(record)[0] = 1
    if check_layout(record) != LAYOUT_OK:
        clear_dims(record)
        refuse("bad_interface", obj, (field, size, "a number of bytes that fits the address space"))
    return own_object(obj, record)


cdef str told_otherwise(object obj):
    """The attribute by which an object without `__dlpack_device__` says that it may not be in host memory."""
    for name in ("device", "device_type", "device_id", "device_ordinal"):
        said = getattr(obj, name, None)
        if said is not None and not str(said).lower().startswith("cpu") and not (
                name == "device_type" and said == DEVICE_CPU):
            return name
    return ""


cdef tuple ask_device(object obj):
    """What obj says of its device, as two C-sized integers."""
    cdef Py_ssize_t kind = 0
    cdef Py_ssize_t number = 0
    cdef object pair = obj.__dlpack_device__()
    # a Buffer of the dataframe protocol has None where a device has no number, or does not tell it
    if isinstance(pair, tuple) and len(pair) == 2 and pair[1] is None:
        pair = (pair[0], 0 if pair[0] == DEVICE_CPU else -1)
    if (not isinstance(pair, tuple) or len(pair) != 2 or not read_size(pair[0], &kind)
            or not 0 < kind < 256 or not read_size(pair[1], &number) or not -1 <= number <= 0x7FFFFFFF):
        refuse("bad_answer", obj, ("__dlpack_device__()", "a pair (device type, device id)", pair))
    return kind, number


cdef int refuse(str how, object obj, tuple facts=()) except -1:
    from lend.protocols import interface_refusals as refusals
    raise getattr(refusals, how)(obj, POINTERS, *facts)


cdef int refuse_producer(object obj, object error) except -1:
    from lend.protocols import interface_refusals as refusals
    if isinstance(error, (MemoryError, RecursionError)):
        raise error
    raise refusals.producer_failed(obj, POINTERS, error) from error
