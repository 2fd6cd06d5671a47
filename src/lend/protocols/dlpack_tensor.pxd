"""Reading a DLTensor: every field checked before any is believed (DL-I6 to DL-I8), in C alone."""
from libc.stdint cimport int64_t, uint8_t, uint64_t, uintptr_t

from lend._core.c_view cimport lend_view, put_plain
from lend._core.checked cimport mul_overflows
from lend._core.dlpack cimport DLPACK_FLAG_IS_COPIED, DLPACK_FLAG_PADDED, DLPACK_FLAG_READ_ONLY, DLTensor
from lend._core.record cimport (
    DEVICE_CPU, HANDLE, LAYOUT_OK, LAYOUT_TOO_LARGE, LAYOUT_TOO_WIDE, MAX_DIMS, UNBOUNDED, Record, check_layout,
    clear_dims, has_addresses, row_major, set_ndim, shape_of, span_of, strides_of,
)
from lend._core.seldom cimport seldom
from lend.dtypes.c_dtype cimport lend_dtype, number_to_c
from lend.dtypes.code cimport KIND_COMPLEX, Code, code_itemsize
from lend.dtypes.dlpack_type cimport DLPACK_KIND_COUNT, code_from_dlpack

cdef extern from "Python.h":
    const Py_ssize_t PY_SSIZE_T_MAX

# what read_tensor found wrong; the names are those of the struct's fields
cdef enum:
    FIELD_NONE = 0
    FIELD_NDIM
    FIELD_SHAPE
    FIELD_EXTENT
    FIELD_SIZE
    FIELD_DTYPE
    FIELD_DEVICE
    FIELD_DATA
    FIELD_STRIDES
    FIELD_BYTE_OFFSET
    FIELD_MEMORY
    FIELD_VERSION
    FIELD_READ_ONLY
    FIELD_GAPS           # strides between values that share a byte

    # a flag of a later version may say how values of less than a byte lie
    KNOWN_FLAGS = DLPACK_FLAG_READ_ONLY | DLPACK_FLAG_IS_COPIED | DLPACK_FLAG_PADDED


cdef inline int read_tensor(const DLTensor* tensor, Record* record, uint64_t flags=0) noexcept nogil:
    """Read and check a DLTensor (DL-I6 to DL-I8); a FIELD_ code, and the record left without dimensions, if wrong."""
    cdef Py_ssize_t* shape
    cdef Py_ssize_t* strides
    cdef Py_ssize_t low, high
    cdef bint empty = False
    cdef int layout
    cdef int i
    if tensor.ndim < 0 or tensor.ndim > MAX_DIMS:
        return FIELD_NDIM
    if tensor.ndim > 0 and tensor.shape is NULL:
        return FIELD_SHAPE
    if not code_from_dlpack(tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes, &record.dtype,
                            flags & DLPACK_FLAG_PADDED != 0) or (tensor.dtype.bits < 8 and flags & ~KNOWN_FLAGS):
        return FIELD_DTYPE
    if (<int> tensor.device.device_type < 1 or <int> tensor.device.device_type > 255
            or (tensor.device.device_id < 0 and <int> tensor.device.device_type != DEVICE_CPU)):
        return FIELD_DEVICE
    record.itemsize = <unsigned int> code_itemsize(record.dtype)
    record.device_type = <unsigned char> tensor.device.device_type
    record.device_id = 0 if record.device_type == DEVICE_CPU else tensor.device.device_id
    if not set_ndim(record, tensor.ndim):
        return FIELD_MEMORY
    shape = shape_of(record)
    strides = strides_of(record)
    for i in range(tensor.ndim):
        shape[i] = tensor.shape[i]
        if shape[i] == 0:
            empty = True
    if tensor.strides is NULL or empty:
        row_major(record)
    else:
        for i in range(tensor.ndim):
            if mul_overflows(tensor.strides[i], record.itemsize, &strides[i]):
                if shape[i] > 1:
                    clear_dims(record)
                    return FIELD_STRIDES
                strides[i] = record.itemsize   # decides nothing
    layout = check_layout(record)
    if layout != LAYOUT_OK:
        clear_dims(record)
        return (FIELD_SIZE if layout == LAYOUT_TOO_LARGE else
                FIELD_STRIDES if layout == LAYOUT_TOO_WIDE else FIELD_EXTENT)
    if record.itemsize == 0 and not empty and has_strides(tensor):
        clear_dims(record)
        return FIELD_GAPS
    if empty:
        # the pointer of an empty tensor means nothing
        record.data = NULL
        if not has_addresses(record.device_type):
            record.flags |= HANDLE
        return FIELD_NONE
    if tensor.data is NULL and has_addresses(record.device_type):
        clear_dims(record)
        return FIELD_DATA
    if tensor.byte_offset > <uint64_t> PY_SSIZE_T_MAX:
        clear_dims(record)
        return FIELD_BYTE_OFFSET
    span_of(record, &low, &high)
    if has_addresses(record.device_type):
        # as integers: a compiler takes it that the sum of a pointer never wraps
        record.data = <char*> (<uintptr_t> tensor.data + <uintptr_t> tensor.byte_offset)
        # the lowest and the highest byte must be addresses
        if (<uintptr_t> tensor.data > <uintptr_t> record.data
                or (low < 0 and <uintptr_t> record.data <= <uintptr_t> -low)
                or <uintptr_t> record.data + <uintptr_t> high < <uintptr_t> record.data):
            clear_dims(record)
            return FIELD_BYTE_OFFSET
        record.flags |= UNBOUNDED
    else:
        record.flags |= HANDLE
        record.data = <char*> <uintptr_t> tensor.byte_offset
        if low < 0 and <uint64_t> -low > tensor.byte_offset:
            clear_dims(record)
            return FIELD_BYTE_OFFSET
    return FIELD_NONE


cdef enum:
    PLAIN_TYPES = DLPACK_KIND_COUNT << 5     # a table of dtypes, by code and bytes of one lane


cdef inline void fill_plain_types(lend_dtype* types) noexcept nogil:
    """Those that put_tensor may meet: one lane of whole bytes, not complex; of the others the itemsize stays 0."""
    cdef Code code
    cdef int at
    for at in range(PLAIN_TYPES):
        if code_from_dlpack(at >> 5, <uint8_t> ((at & 31) << 3), 1, &code) and code.kind < KIND_COMPLEX:
            number_to_c(code, &types[at])


cdef inline bint put_tensor(const DLTensor* tensor, lend_view* view, const lend_dtype* types) noexcept nogil:
    """Write a DLTensor down that is plain; False: it must be read into a record."""
    cdef const lend_dtype* dtype
    if tensor.dtype.code >= DLPACK_KIND_COUNT:
        return False
    dtype = &types[tensor.dtype.code << 5 | tensor.dtype.bits >> 3]
    return (dtype.itemsize and dtype.bits == tensor.dtype.bits and tensor.dtype.lanes == 1
            and <int> tensor.device.device_type == DEVICE_CPU and tensor.byte_offset == 0
            and tensor.shape is not NULL and tensor.strides is not NULL
            and put_plain(view, tensor.data, dtype, tensor.ndim, tensor.shape, tensor.strides, True, 0))


cdef inline bint has_strides(const DLTensor* tensor) noexcept nogil:
    """Whether values of a checked shape lie otherwise than row-major, one behind the other."""
    seldom()
    cdef int64_t values = 1
    cdef int i
    if tensor.strides is NULL:
        return False
    for i in range(tensor.ndim - 1, -1, -1):
        if tensor.shape[i] > 1:
            if tensor.strides[i] != values:
                return True
            values *= tensor.shape[i]
    return False
