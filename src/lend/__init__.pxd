"""What a Cython module cimports from lend: include/lend.h, and nothing else; see there for every meaning.

`lend.get_include()` is the folder of the header.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from "lend.h":
    const int LEND_ABI_MAJOR
    const int LEND_ABI_MINOR
    const int LEND_INLINE_DIMS

    const int LEND_INT, LEND_UINT, LEND_FLOAT, LEND_HANDLE, LEND_BFLOAT, LEND_COMPLEX, LEND_BOOL
    const int LEND_FLOAT8_E3M4, LEND_FLOAT8_E4M3, LEND_FLOAT8_E4M3B11FNUZ, LEND_FLOAT8_E4M3FN, LEND_FLOAT8_E4M3FNUZ
    const int LEND_FLOAT8_E5M2, LEND_FLOAT8_E5M2FNUZ, LEND_FLOAT8_E8M0FNU
    const int LEND_FLOAT6_E2M3FN, LEND_FLOAT6_E3M2FN, LEND_FLOAT4_E2M1FN
    const int LEND_OPAQUE, LEND_DATETIME, LEND_TIMEDELTA, LEND_BYTES, LEND_UCS4, LEND_RECORD, LEND_OBJECT, LEND_ANY_TYPE
    const int LEND_UNIT_NONE, LEND_UNIT_Y, LEND_UNIT_M, LEND_UNIT_W, LEND_UNIT_D, LEND_UNIT_h, LEND_UNIT_m, LEND_UNIT_s
    const int LEND_UNIT_ms, LEND_UNIT_us, LEND_UNIT_ns, LEND_UNIT_ps, LEND_UNIT_fs, LEND_UNIT_as
    const int LEND_READONLY, LEND_C_CONTIGUOUS, LEND_F_CONTIGUOUS, LEND_ALIGNED, LEND_EXCLUSIVE, LEND_OPAQUE_HANDLE
    const int LEND_SYNC_UNKNOWN
    const int LEND_WRITABLE, LEND_C_ORDER, LEND_F_ORDER, LEND_COPY_IF_NEEDED, LEND_COPY, LEND_NEED_ALIGNED

    const int LEND_NULLS_NONE, LEND_NULLS_NAN, LEND_NULLS_SENTINEL, LEND_NULLS_BITMASK, LEND_NULLS_BYTEMASK
    const int LEND_NULLS_NAT

    ctypedef struct lend_dtype:
        uint8_t code
        uint8_t order
        uint8_t unit
        uint16_t bits
        uint16_t lanes
        uint32_t itemsize
        uint32_t multiplier

    ctypedef struct lend_view:
        void* data
        uint64_t byte_offset
        uint64_t nbytes
        int32_t device_type
        int32_t device_id
        lend_dtype dtype
        int32_t ndim
        uint32_t flags
        int64_t* far_dims
        int64_t dims[16]
        void* sync
        void* lease

    ctypedef struct lend_request:
        uint32_t flags
        lend_dtype dtype
        int32_t ndim
        uint32_t align
        int32_t device_type
        int32_t device_id
        void* stream

    # as lend.h has them: who cimports this may see nothing of lend._core
    cdef struct ArrowSchema:
        const char* format
        const char* name
        const char* metadata
        int64_t flags
        int64_t n_children
        ArrowSchema** children
        ArrowSchema* dictionary
        void (*release)(ArrowSchema*) noexcept nogil
        void* private_data

    cdef struct ArrowArray:
        int64_t length
        int64_t null_count
        int64_t offset
        int64_t n_buffers
        int64_t n_children
        const void** buffers
        ArrowArray** children
        ArrowArray* dictionary
        void (*release)(ArrowArray*) noexcept nogil
        void* private_data

    cdef struct ArrowDeviceArray:
        ArrowArray array
        int64_t device_id
        int32_t device_type
        void* sync_event

    ctypedef struct lend_column:
        uint32_t flags
        int32_t nulls
        int32_t missing
        int64_t null_count
        const void* mask
        int64_t mask_bit
        int64_t mask_stride
        const void* data
        int64_t stride
        uint32_t width
        uint32_t sentinel_size
        unsigned char[32] sentinel
        int32_t device_type
        int32_t device_id

    lend_view lend_view_init() noexcept nogil
    lend_column lend_column_init() noexcept nogil
    lend_request lend_request_init() noexcept nogil
    lend_dtype lend_native(int code, int bits) noexcept nogil

    int lend_import() except -1
    int lend_acquire(object obj, const lend_request* request, lend_view* view) except -1
    int lend_borrow(object obj, const lend_request* request, lend_view* view) except -1
    void lend_release(lend_view* view) noexcept nogil
    object lend_wrap(const lend_view* description, object owner, void (*release)(void*) noexcept, void* context)
    int lend_host_access(const lend_view* view) except -1
    int lend_acquire_arrow(object obj, uint32_t flags, ArrowSchema* schema, ArrowDeviceArray* array,
                           lend_column* column) except -1
    void lend_release_arrow(ArrowSchema* schema, ArrowDeviceArray* array) noexcept nogil

    void* lend_data(const lend_view* view) noexcept nogil
    const int64_t* lend_shape(const lend_view* view) noexcept nogil
    const int64_t* lend_strides(const lend_view* view) noexcept nogil
    int64_t lend_size(const lend_view* view) noexcept nogil
    bint lend_holds(const lend_view* view, int code, size_t size) noexcept nogil
