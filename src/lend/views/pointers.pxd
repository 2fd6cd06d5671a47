"""Memory that a caller describes in words: an address, a layout, an owner."""
from cpython.number cimport PyNumber_Index
from libc.stdint cimport uintptr_t

from lend._core.record cimport (
    DEVICE_CPU, LAYOUT_OK, LAYOUT_TOO_WIDE, MAX_DIMS, READONLY, UNBOUNDED, Record, byte_count, check_layout,
    has_addresses, row_major, set_ndim, shape_of, span_of, strides_of,
)
from lend.dtypes.code cimport code_has_objects, code_itemsize, code_shared_bits
from lend.dtypes.dtype cimport code_of, dtype_from_code


cdef inline int fill_from_pointer(Record* record, ptr, tuple shape, dtype, owner, strides, device,
                                  bint readonly) except -1:
    """Check and write down memory that a caller describes in words."""
    from lend.device import Device
    from lend.protocols import refusals
    cdef Py_ssize_t low, high
    cdef uintptr_t address
    cdef int i, layout
    if owner is None:
        raise TypeError("from_pointer needs the object that keeps the memory alive: owner=None is nobody")
    if not hasattr(ptr, "__index__"):
        raise refusals.no_address(ptr)
    ptr = PyNumber_Index(ptr)
    if ptr < 0 or ptr.bit_length() > 8 * sizeof(void*):
        raise refusals.bad_pointer(owner, "ptr", ptr, "an address")
    where = device if type(device) is Device else Device(device)
    if not 0 < where.type < 256:
        raise refusals.bad_pointer(owner, "device", where.type, "a device type from 1 to 255")
    if not has_addresses(where.type):
        from lend.protocols import interface_refusals
        raise interface_refusals.no_such_device(owner, None, where.type)
    code_of(dtype, &record.dtype)
    if code_has_objects(record.dtype):
        raise refusals.bad_pointer(
            owner, "dtype", str(dtype), "one without pointers to objects: bytes never become any")
    record.itemsize = <unsigned int> code_itemsize(record.dtype)
    record.device_type = where.type
    record.device_id = where.id if where.type != DEVICE_CPU else 0
    record.flags = (READONLY if readonly else 0) | UNBOUNDED
    record.data = <char*> <uintptr_t> ptr
    if strides is not None:
        strides = tuple(strides)
    if len(shape) > MAX_DIMS:
        raise refusals.bad_pointer(owner, "shape", shape, f"at most {MAX_DIMS} dimensions")
    if strides is not None and code_shared_bits(record.dtype):
        raise refusals.bad_pointer(
            owner, "strides", strides, f"None: several {dtype_from_code(record.dtype)} share a byte, row-major")
    if strides is not None and len(strides) != len(shape):
        raise refusals.bad_pointer(owner, "strides", strides, f"{len(shape)} of them")
    if not set_ndim(record, len(shape)):
        raise MemoryError
    try:
        for i in range(len(shape)):
            shape_of(record)[i] = shape[i]
    except OverflowError:
        raise refusals.bad_pointer(owner, "shape", shape, "extents of 64 bits") from None
    try:
        for i in range(len(shape) if strides is not None else 0):
            strides_of(record)[i] = strides[i]
    except OverflowError:
        raise refusals.bad_pointer(owner, "strides", strides, "steps of 64 bits") from None
    if strides is None:
        row_major(record)
    layout = check_layout(record)
    if layout == LAYOUT_TOO_WIDE:
        raise refusals.bad_pointer(owner, "strides", strides, f"steps within reach, with shape {shape} (bounds)")
    if layout != LAYOUT_OK:
        raise refusals.bad_pointer(owner, "shape", shape, "extents that are not negative and fit the address space")
    if byte_count(record):
        span_of(record, &low, &high)
        address = <uintptr_t> record.data
        if address == 0 or (low < 0 and address <= <uintptr_t> -low) or address + <uintptr_t> high < address:
            raise refusals.bad_pointer(owner, "ptr", ptr, "an address with room for shape and strides")
    return 0
