"""The struct of lend.h, and the short way into it: plain numbers are written down without a record in between."""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t

from lend._core.checked cimport mul_overflows
from lend._core.record cimport C_CONTIGUOUS, DEVICE_CPU, F_CONTIGUOUS, FARTHEST, INLINE_DIMS, Record
from lend.dtypes.c_dtype cimport lend_dtype

cdef extern from "lend.h" nogil:
    const uint32_t LEND_ALIGNED

    ctypedef struct lend_view:
        uint32_t abi
        uint32_t struct_size
        void* data
        uint64_t byte_offset
        uint64_t nbytes
        int32_t device_type
        int32_t device_id
        lend_dtype dtype
        int32_t ndim
        uint32_t flags
        int64_t dims[16]
        int64_t* far_dims
        void* sync
        void* lease
        void (*release)(lend_view* view) noexcept

# what a description counts its extents and strides in: Py_buffer, DLTensor
ctypedef fused Extent:
    Py_ssize_t
    int64_t


cdef inline bint put_plain(lend_view* view, void* data, const lend_dtype* dtype, int ndim, const Extent* shape,
                           const Extent* strides, bint in_elements, uint32_t flags) noexcept nogil:
    """Write down numbers in host memory that lie row by row and without gaps, one at least: what nearly always comes.

    False for all else, and whenever something is wrong: a record is to be made of it, whose checks are the ones that
    decide. Of one lane, and not complex, whose alignment is that of a half. Strides are in elements or in bytes.
    """
    cdef Py_ssize_t itemsize = dtype.itemsize
    cdef Py_ssize_t step = 1 if in_elements else itemsize
    cdef Py_ssize_t unit = itemsize if in_elements else 1
    cdef size_t alignment = 16 if itemsize > 16 else itemsize    # as item_alignment
    cdef Py_ssize_t largest = 1
    cdef Py_ssize_t i
    cdef Extent extent
    if <unsigned int> ndim > INLINE_DIMS:
        return False
    for i in range(ndim - 1, -1, -1):
        extent = shape[i]
        # from 1 to what any Py_ssize_t holds
        if <uint64_t> extent - 1 >= 0x7FFFFFFF or strides[i] != step:
            return False
        view.dims[i] = extent
        view.dims[INLINE_DIMS + i] = <Py_ssize_t> (<size_t> step * <size_t> unit)   # overflow is found below
        if extent > largest:
            largest = extent
        if mul_overflows(step, extent, &step):
            return False
    if (mul_overflows(step, unit, &step) or step > FARTHEST or data is NULL
            or <size_t> data + <size_t> step < <size_t> data):
        return False
    view.data = data
    view.byte_offset = 0
    view.nbytes = step
    view.device_type = DEVICE_CPU
    view.device_id = 0
    view.dtype = dtype[0]
    view.ndim = ndim
    flags |= C_CONTIGUOUS
    if largest * itemsize == step:     # the others are 1
        flags |= F_CONTIGUOUS
    if not <size_t> data & (alignment - 1):
        flags |= LEND_ALIGNED
    view.flags = flags
    view.far_dims = NULL
    view.sync = NULL
    return True


cdef inline void record_plain(Record* record, const lend_view* view) noexcept nogil:
    """The record of what put_plain wrote down; its dtype is the caller's to say."""
    cdef int i
    record.data = <char*> view.data
    record.itemsize = view.dtype.itemsize
    record.device_type = DEVICE_CPU
    record.device_id = 0
    record.ndim = view.ndim
    record.flags = <uint16_t> (view.flags & ~LEND_ALIGNED)
    for i in range(view.ndim):
        record.dims[i] = <Py_ssize_t> view.dims[i]
        record.dims[INLINE_DIMS + i] = <Py_ssize_t> view.dims[INLINE_DIMS + i]
