"""The structs of the Arrow C data and stream interfaces, as every producer and consumer has them.

https://arrow.apache.org/docs/format/CDataInterface.html#structure-definitions
https://arrow.apache.org/docs/format/CStreamInterface.html#structure-definition
https://arrow.apache.org/docs/format/CDeviceDataInterface.html#structure-definitions
"""
from libc.stdint cimport int32_t, int64_t


cdef struct ArrowSchema:
    const char* format
    const char* name
    const char* metadata
    int64_t flags
    int64_t n_children
    ArrowSchema** children
    ArrowSchema* dictionary
    void (*release)(ArrowSchema*) noexcept
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
    void (*release)(ArrowArray*) noexcept
    void* private_data

cdef struct ArrowArrayStream:
    int (*get_schema)(ArrowArrayStream*, ArrowSchema*) noexcept nogil
    int (*get_next)(ArrowArrayStream*, ArrowArray*) noexcept nogil
    const char* (*get_last_error)(ArrowArrayStream*) noexcept
    void (*release)(ArrowArrayStream*) noexcept
    void* private_data

cdef struct ArrowDeviceArray:
    ArrowArray array
    int64_t device_id
    int32_t device_type
    void* sync_event
    int64_t reserved[3]

cdef struct ArrowDeviceArrayStream:
    int32_t device_type
    int (*get_schema)(ArrowDeviceArrayStream*, ArrowSchema*) noexcept nogil
    int (*get_next)(ArrowDeviceArrayStream*, ArrowDeviceArray*) noexcept nogil
    const char* (*get_last_error)(ArrowDeviceArrayStream*) noexcept
    void (*release)(ArrowDeviceArrayStream*) noexcept
    void* private_data

cdef enum:
    ARROW_FLAG_DICTIONARY_ORDERED = 1
    ARROW_FLAG_NULLABLE = 2
    ARROW_FLAG_MAP_KEYS_SORTED = 4
