"""The structs of dlpack.h (vendored, DLPack 1.3) as Cython sees them."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

# no nogil here: the functions of the exchange table need the GIL
cdef extern from "dlpack.h":
    ctypedef struct DLPackVersion:
        uint32_t major
        uint32_t minor
    ctypedef enum DLDeviceType:
        pass
    ctypedef struct DLDevice:
        DLDeviceType device_type
        int32_t device_id
    ctypedef struct DLDataType:
        uint8_t code
        uint8_t bits
        uint16_t lanes
    ctypedef struct DLTensor:
        void* data
        DLDevice device
        int32_t ndim
        DLDataType dtype
        int64_t* shape
        int64_t* strides
        uint64_t byte_offset
    ctypedef struct DLManagedTensor:
        DLTensor dl_tensor
        void* manager_ctx
        void (*deleter)(DLManagedTensor*) noexcept nogil
    ctypedef struct DLManagedTensorVersioned:
        DLPackVersion version
        void* manager_ctx
        void (*deleter)(DLManagedTensorVersioned*) noexcept nogil
        uint64_t flags
        DLTensor dl_tensor
    ctypedef struct DLPackExchangeAPIHeader:
        DLPackVersion version
        DLPackExchangeAPIHeader* prev_api
    ctypedef struct DLPackExchangeAPI:
        DLPackExchangeAPIHeader header
        int (*managed_tensor_allocator)(DLTensor*, DLManagedTensorVersioned**, void*,
                                        void (*)(void*, const char*, const char*) noexcept) noexcept
        int (*managed_tensor_from_py_object_no_sync)(void*, DLManagedTensorVersioned**) noexcept
        int (*managed_tensor_to_py_object_no_sync)(DLManagedTensorVersioned*, void**) noexcept
        int (*dltensor_from_py_object_no_sync)(void*, DLTensor*) noexcept
        int (*current_work_stream)(DLDeviceType, int32_t, void**) noexcept
    enum:
        DLPACK_MAJOR_VERSION
        DLPACK_MINOR_VERSION
        DLPACK_FLAG_READ_ONLY "DLPACK_FLAG_BITMASK_READ_ONLY"
        DLPACK_FLAG_IS_COPIED "DLPACK_FLAG_BITMASK_IS_COPIED"
        DLPACK_FLAG_PADDED "DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED"
