"""The drivers of GPUs that are loaded already, and the table of what the host may touch; see driver.h and access.h."""
from libc.stdint cimport uintptr_t

cdef extern from "driver.h" nogil:
    enum:
        DRIVER_CUDA "LEND_DRIVER_CUDA"
        DRIVER_HIP "LEND_DRIVER_HIP"
        DRIVER_NOT_INITIALIZED "LEND_DRIVER_NOT_INITIALIZED"
        DRIVER_CONTEXT "LEND_DRIVER_CONTEXT"
        DRIVER_ABSENT "LEND_DRIVER_ABSENT"
        DRIVER_CAPTURING "LEND_DRIVER_CAPTURING"
        MEMORY_UNKNOWN "LEND_MEMORY_UNKNOWN"
        MEMORY_DEVICE "LEND_MEMORY_DEVICE"

    ctypedef struct PointerFacts "lend_pointer_facts":
        int type
        int managed
        int pooled
        int ordinal
        uintptr_t host
        uintptr_t device
        uintptr_t start
        size_t size

    ctypedef struct DeviceFacts "lend_device_facts":
        int pageable
        int concurrent

    ctypedef struct Driver "const lend_driver":
        pass

    ctypedef struct Block "lend_block":
        uintptr_t to
        uintptr_t source "from"
        size_t width
        size_t height
        size_t depth
        size_t to_pitch
        size_t from_pitch
        size_t to_slice
        size_t from_slice
        int to_device
        int from_device

    ctypedef struct Entered "lend_entered":
        pass

    Driver* find_driver "lend_find_driver"(int kind)
    const char* driver_error "lend_driver_error"(Driver* driver, int error)
    int ask_pointer "lend_ask_pointer"(Driver* driver, uintptr_t address, PointerFacts* facts)
    int ask_device "lend_ask_device"(Driver* driver, int ordinal, DeviceFacts* facts)
    int enter "lend_enter"(Driver* driver, int ordinal, Entered* entered)
    int enter_of "lend_enter_of"(Driver* driver, uintptr_t stream, int ordinal, Entered* entered)
    void leave "lend_leave"(Driver* driver, Entered* entered)
    int is_capturing "lend_is_capturing"(Driver* driver, uintptr_t stream, int* capturing)
    int wait_stream "lend_wait_stream"(Driver* driver, uintptr_t stream)
    int wait_device "lend_wait_device"(Driver* driver)
    int new_stream "lend_new_stream"(Driver* driver, uintptr_t* stream)
    int end_stream "lend_end_stream"(Driver* driver, uintptr_t stream)
    int new_event "lend_new_event"(Driver* driver, void** event)
    int end_event "lend_end_event"(Driver* driver, void* event)
    int record_event "lend_record_event"(Driver* driver, void* event, uintptr_t stream)
    int is_event_done "lend_is_event_done"(Driver* driver, void* event, int* done)
    int wait_event "lend_wait_event"(Driver* driver, void* event)
    int order_after "lend_order_after"(Driver* driver, uintptr_t stream, void* event)
    int copy_bytes "lend_copy"(Driver* driver, uintptr_t to, uintptr_t source, size_t size, uintptr_t stream)
    int copy_block "lend_copy_block"(Driver* driver, const Block* block, uintptr_t stream)
    int allocate_on "lend_allocate"(Driver* driver, size_t size, uintptr_t* address)
    int free_on "lend_free"(Driver* driver, uintptr_t address)
    bint has_forked "lend_has_forked"()
    bint is_mapped "lend_is_mapped"(uintptr_t address, size_t size)

cdef extern from "access.h" nogil:
    enum:
        ROW_EMPTY "LEND_ROW_EMPTY"
        ROW_HOST "LEND_ROW_HOST"
        ROW_PINNED_TOLD "LEND_ROW_PINNED_TOLD"
        ROW_PAGES "LEND_ROW_PAGES"
        ROW_PAGES_BARE "LEND_ROW_PAGES_BARE"
        ROW_PINNED "LEND_ROW_PINNED"
        ROW_ALIAS "LEND_ROW_ALIAS"
        ROW_MANAGED "LEND_ROW_MANAGED"
        ROW_MANAGED_POOL "LEND_ROW_MANAGED_POOL"
        ROW_MANAGED_IDLE "LEND_ROW_MANAGED_IDLE"
        ROW_DEVICE "LEND_ROW_DEVICE"
        ROW_DEVICE_SEEN "LEND_ROW_DEVICE_SEEN"
        ROW_UNKNOWN "LEND_ROW_UNKNOWN"
        ROW_NO_DRIVER "LEND_ROW_NO_DRIVER"
        ROW_CONTRADICTED "LEND_ROW_CONTRADICTED"
        ROW_OUTSIDE "LEND_ROW_OUTSIDE"
        ROW_ROCM_HOST "LEND_ROW_ROCM_HOST"
        ROW_ROCM_MANAGED "LEND_ROW_ROCM_MANAGED"
        ROW_ROCM_DEVICE "LEND_ROW_ROCM_DEVICE"
        ROW_USM_DEVICE "LEND_ROW_USM_DEVICE"
        ROW_USM_SHARED "LEND_ROW_USM_SHARED"
        ROW_USM_HOST "LEND_ROW_USM_HOST"
        ROW_USM_UNTOLD "LEND_ROW_USM_UNTOLD"
        ROW_HANDLE "LEND_ROW_HANDLE"
        ROW_OTHER "LEND_ROW_OTHER"
        ROWS "LEND_ROWS"
        HOST_NO "LEND_HOST_NO"
        HOST_YES "LEND_HOST_YES"
        HOST_SIGNED "LEND_HOST_SIGNED"
        WAIT_NOTHING "LEND_WAIT_NOTHING"
        WAIT_PRODUCER "LEND_WAIT_PRODUCER"
        WAIT_DEVICE "LEND_WAIT_DEVICE"

    ctypedef struct AccessRow "lend_access_row":
        unsigned char host
        unsigned char wait
        const char* name

    ctypedef struct AccessFacts "lend_access_facts":
        int declared
        int handle
        int produced
        int usm
        uintptr_t low
        size_t nbytes
        int begun
        int mapped
        PointerFacts pointer
        DeviceFacts device

    const AccessRow[25] ACCESS "lend_access"
    int row_of "lend_row_of"(const AccessFacts* facts)
