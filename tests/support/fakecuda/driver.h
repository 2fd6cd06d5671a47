/* The few documented types and numbers of the CUDA driver API that the double uses, declared anew, so that it is built
 * with a C compiler alone. Names, numbers and layouts are those of the public reference of CUDA 13; what is not used
 * is not here. */
#ifndef LEND_FAKECUDA_DRIVER_H
#define LEND_FAKECUDA_DRIVER_H
#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUpool_st *CUmemoryPool;
typedef struct CUgraph_st *CUgraph;
typedef void (*CUhostFn)(void *);
typedef struct { char bytes[16]; } CUuuid;
typedef struct { char reserved[64]; } CUipcHandle;
typedef struct { int type, id; } CUmemLocation;
typedef struct { CUmemLocation location; int flags; } CUmemAccessDesc;
typedef struct {
    int allocType, handleTypes;
    CUmemLocation location;
    void *win32SecurityAttributes;
    size_t maxSize;
    unsigned short usage;
    unsigned char reserved[54];
} CUmemPoolProps;
typedef struct {
    int type, requestedHandleTypes;
    CUmemLocation location;
    void *win32HandleMetaData;
    unsigned char allocFlags[8];
} CUmemAllocationProp;
typedef struct {
    size_t srcXInBytes, srcY;
    int srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    void *srcArray;
    size_t srcPitch;
    size_t dstXInBytes, dstY;
    int dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    void *dstArray;
    size_t dstPitch;
    size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;
typedef struct { /* of CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER: where one has a reserved word, the other has a context */
    size_t XInBytes, Y, Z, LOD;
    int memoryType;
    void *host;
    CUdeviceptr device;
    void *array, *contextOrReserved;
    size_t pitch, height;
} CUDA_MEMCPY3D_END;
typedef struct {
    CUDA_MEMCPY3D_END src, dst;
    size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;
_Static_assert(sizeof(CUDA_MEMCPY2D) == 128, "the documented layout");
_Static_assert(sizeof(CUDA_MEMCPY3D) == 200 && offsetof(CUDA_MEMCPY3D, dst) == 88, "the documented layout");

#define CU_STREAM_LEGACY ((CUstream)1)
#define CU_STREAM_PER_THREAD ((CUstream)2)
enum { CU_STREAM_NON_BLOCKING = 1 };
enum { CU_EVENT_DISABLE_TIMING = 2, CU_EVENT_INTERPROCESS = 4 };
enum { CAPTURE_MODE_GLOBAL, CAPTURE_MODE_THREAD_LOCAL, CAPTURE_MODE_RELAXED };
enum { CAPTURE_NONE, CAPTURE_ACTIVE, CAPTURE_INVALIDATED };

enum { /* CUresult */
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_MAP_FAILED = 205,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_ILLEGAL_STATE = 401,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_LAUNCH_TIMEOUT = 702,
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
    CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
    CUDA_ERROR_STREAM_CAPTURE_MERGE = 902,
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904,
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905,
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
    CUDA_ERROR_CAPTURED_EVENT = 907,
    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908
};
enum { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2, CU_MEMORYTYPE_ARRAY = 3, CU_MEMORYTYPE_UNIFIED = 4 };
enum { CU_MEM_LOCATION_TYPE_DEVICE = 1, CU_MEM_LOCATION_TYPE_HOST = 2, CU_MEM_LOCATION_TYPE_HOST_NUMA = 3 };
enum { CU_MEM_ALLOCATION_TYPE_PINNED = 1, CU_MEM_ALLOCATION_TYPE_MANAGED = 2 };
enum { /* CUdevice_attribute */
    DEV_MAX_THREADS_PER_BLOCK = 1,
    DEV_MAX_BLOCK_DIM_X = 2,
    DEV_MAX_GRID_DIM_X = 5,
    DEV_WARP_SIZE = 10,
    DEV_TEXTURE_ALIGNMENT = 14,
    DEV_MULTIPROCESSOR_COUNT = 16,
    DEV_INTEGRATED = 18,
    DEV_CAN_MAP_HOST_MEMORY = 19,
    DEV_UNIFIED_ADDRESSING = 41,
    DEV_COMPUTE_CAPABILITY_MAJOR = 75,
    DEV_COMPUTE_CAPABILITY_MINOR = 76,
    DEV_MANAGED_MEMORY = 83,
    DEV_HOST_NATIVE_ATOMIC_SUPPORTED = 86,
    DEV_PAGEABLE_MEMORY_ACCESS = 88,
    DEV_CONCURRENT_MANAGED_ACCESS = 89,
    DEV_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91,
    DEV_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES = 100,
    DEV_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST = 101,
    DEV_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
    DEV_MEMORY_POOLS_SUPPORTED = 115
};
enum { /* CUpointer_attribute */
    PTR_CONTEXT = 1,
    PTR_MEMORY_TYPE,
    PTR_DEVICE_POINTER,
    PTR_HOST_POINTER,
    PTR_P2P_TOKENS,
    PTR_SYNC_MEMOPS,
    PTR_BUFFER_ID,
    PTR_IS_MANAGED,
    PTR_DEVICE_ORDINAL,
    PTR_IS_LEGACY_CUDA_IPC_CAPABLE,
    PTR_RANGE_START_ADDR,
    PTR_RANGE_SIZE,
    PTR_MAPPED,
    PTR_ALLOWED_HANDLE_TYPES,
    PTR_IS_GPU_DIRECT_RDMA_CAPABLE,
    PTR_ACCESS_FLAGS,
    PTR_MEMPOOL_HANDLE,
    PTR_MAPPING_SIZE,
    PTR_MAPPING_BASE_ADDR,
    PTR_MEMORY_BLOCK_ID,
    PTR_IS_HW_DECOMPRESS_CAPABLE
};
#endif
