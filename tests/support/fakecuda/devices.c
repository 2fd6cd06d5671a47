/* The driver, its devices, its errors and its contexts. */
#include "double.h"

Ctx primary[MAXDEV];
__thread Ctx *ctx_stack[32];
__thread int ctx_depth;

#define DEVICE_OR_FAIL(d) if ((d) < 0 || (d) >= G.ndev) return CUDA_ERROR_INVALID_DEVICE
#define GIVE(place, value) do { *(place) = (value); return CUDA_SUCCESS; } while (0)

API cuInit(unsigned flags) {
    ENTER();
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    if (G.nodevice) return CUDA_ERROR_NO_DEVICE;
    if (G.forked) return CUDA_ERROR_NOT_INITIALIZED;
    G.inited = 1;
    return CUDA_SUCCESS;
}
API cuDriverGetVersion(int *v) {
    ENTER();
    if (!v) return CUDA_ERROR_INVALID_VALUE;
    GIVE(v, env_int("FAKECUDA_DRIVER_VERSION", 13000));
}
API cuDeviceGetCount(int *n) { NEEDINIT(); GIVE(n, G.ndev); }
API cuDeviceGet(CUdevice *d, int o) { NEEDINIT(); DEVICE_OR_FAIL(o); GIVE(d, o); }
API cuDeviceGetName(char *s, int n, CUdevice d) {
    NEEDINIT();
    snprintf(s, (size_t)n, "FakeCUDA %s #%d", model_name[G.model], d);
    return CUDA_SUCCESS;
}
API cuDeviceGetUuid_v2(CUuuid *u, CUdevice d) {
    NEEDINIT();
    memset(u, 0xFA, sizeof *u);
    u->bytes[15] = (char)d;
    return CUDA_SUCCESS;
}
API cuDeviceTotalMem_v2(size_t *b, CUdevice d) { NEEDINIT(); DEVICE_OR_FAIL(d); GIVE(b, dev_arena[d].size); }
API cuDeviceGetPCIBusId(char *s, int n, CUdevice d) {
    NEEDINIT();
    snprintf(s, (size_t)n, "0000:%02X:00.0", d + 1);
    return CUDA_SUCCESS;
}
API cuDeviceComputeCapability(int *major, int *minor, CUdevice d) { NEEDINIT(); *major = 9; GIVE(minor, 0); }
API cuDeviceCanAccessPeer(int *v, CUdevice a, CUdevice b) { NEEDINIT(); GIVE(v, 0); }

static int device_attribute(int attribute) {
    switch (attribute) {
    case DEV_COMPUTE_CAPABILITY_MAJOR: return 9;
    case DEV_WARP_SIZE: return 32;
    case DEV_MAX_THREADS_PER_BLOCK:
    case DEV_MAX_BLOCK_DIM_X: return 1024;
    case DEV_MAX_GRID_DIM_X: return 2147483647;
    case DEV_TEXTURE_ALIGNMENT: return 512;
    case DEV_MULTIPROCESSOR_COUNT:
    case DEV_UNIFIED_ADDRESSING:
    case DEV_MANAGED_MEMORY:
    case DEV_CAN_MAP_HOST_MEMORY:
    case DEV_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case DEV_MEMORY_POOLS_SUPPORTED: return 1;
    case DEV_INTEGRATED: return G.model == M_JETSON;
    case DEV_PAGEABLE_MEMORY_ACCESS: return G.model == M_HMM || G.model == M_ATS;
    case DEV_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES:
    case DEV_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST:
    case DEV_HOST_NATIVE_ATOMIC_SUPPORTED: return G.model == M_ATS;
    case DEV_CONCURRENT_MANAGED_ACCESS: return G.cma;
    case DEV_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM: return !G.disjoint;
    }
    return 0;
}
API cuDeviceGetAttribute(int *v, int attribute, CUdevice d) {
    NEEDINIT();
    DEVICE_OR_FAIL(d);
    GIVE(v, device_attribute(attribute));
}

#define NAMED(code) case code: return #code
static const char *error_name(CUresult e) {
    switch (e) {
        NAMED(CUDA_SUCCESS);
        NAMED(CUDA_ERROR_INVALID_VALUE);
        NAMED(CUDA_ERROR_OUT_OF_MEMORY);
        NAMED(CUDA_ERROR_NOT_INITIALIZED);
        NAMED(CUDA_ERROR_NO_DEVICE);
        NAMED(CUDA_ERROR_INVALID_DEVICE);
        NAMED(CUDA_ERROR_INVALID_CONTEXT);
        NAMED(CUDA_ERROR_MAP_FAILED);
        NAMED(CUDA_ERROR_INVALID_HANDLE);
        NAMED(CUDA_ERROR_ILLEGAL_STATE);
        NAMED(CUDA_ERROR_NOT_FOUND);
        NAMED(CUDA_ERROR_NOT_READY);
        NAMED(CUDA_ERROR_ILLEGAL_ADDRESS);
        NAMED(CUDA_ERROR_LAUNCH_TIMEOUT);
        NAMED(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
        NAMED(CUDA_ERROR_HARDWARE_STACK_ERROR);
        NAMED(CUDA_ERROR_LAUNCH_FAILED);
        NAMED(CUDA_ERROR_NOT_SUPPORTED);
        NAMED(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        NAMED(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        NAMED(CUDA_ERROR_STREAM_CAPTURE_MERGE);
        NAMED(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
        NAMED(CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
        NAMED(CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
        NAMED(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
        NAMED(CUDA_ERROR_CAPTURED_EVENT);
        NAMED(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    }
    return NULL;
}
API cuGetErrorName(CUresult e, const char **s) {
    ENTER();
    *s = error_name(e);
    return *s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
API cuGetErrorString(CUresult e, const char **s) {
    ENTER();
    *s = error_name(e);
    return *s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* --------------------------------------------------------------------------------------------- contexts */
API cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) {
    NEEDINIT();
    DEVICE_OR_FAIL(d);
    primary[d].refs++;
    GIVE(c, (CUcontext)&primary[d]);
}
API cuDevicePrimaryCtxRelease_v2(CUdevice d) {
    NEEDINIT();
    DEVICE_OR_FAIL(d);
    if (!primary[d].refs) return CUDA_ERROR_INVALID_CONTEXT;
    primary[d].refs--;
    return CUDA_SUCCESS;
}
API cuDevicePrimaryCtxReset_v2(CUdevice d) { NEEDINIT(); return CUDA_SUCCESS; }
API cuDevicePrimaryCtxSetFlags_v2(CUdevice d, unsigned f) { NEEDINIT(); return CUDA_SUCCESS; }
API cuDevicePrimaryCtxGetState(CUdevice d, unsigned *f, int *active) {
    NEEDINIT();
    DEVICE_OR_FAIL(d);
    *f = 0;
    GIVE(active, primary[d].refs > 0);
}
API cuCtxSetCurrent(CUcontext c) {
    NEEDINIT();
    if (!ctx_depth) ctx_depth = 1;
    ctx_stack[ctx_depth - 1] = (Ctx *)c;
    return CUDA_SUCCESS;
}
API cuCtxGetCurrent(CUcontext *c) { NEEDINIT(); GIVE(c, has_ctx() ? (CUcontext)ctx_stack[ctx_depth - 1] : NULL); }
API cuCtxPushCurrent_v2(CUcontext c) {
    NEEDINIT();
    if (!c || ctx_depth == 32) return CUDA_ERROR_INVALID_VALUE;
    ctx_stack[ctx_depth++] = (Ctx *)c;
    return CUDA_SUCCESS;
}
API cuCtxPopCurrent_v2(CUcontext *c) {
    NEEDINIT();
    if (!ctx_depth) return CUDA_ERROR_INVALID_CONTEXT;
    Ctx *x = ctx_stack[--ctx_depth];
    if (c) *c = (CUcontext)x;
    return CUDA_SUCCESS;
}
API cuCtxGetDevice(CUdevice *d) { NEEDCTX(); GIVE(d, current_dev()); }
API cuCtxSynchronize(void) {
    NEEDCTX();
    LOCK();
    CUresult r = refuse_device_wait(current_dev());
    if (!r) run_all(current_dev());
    UNLOCK();
    return r ? r : sticky;
}
API cuCtxGetApiVersion(CUcontext c, unsigned *v) { NEEDINIT(); GIVE(v, 3020); }
API cuCtxGetFlags(unsigned *v) { NEEDINIT(); GIVE(v, 0); }
API cuCtxGetId(CUcontext c, unsigned long long *v) {
    NEEDINIT();
    GIVE(v, (unsigned long long)(c ? ((Ctx *)c)->dev : current_dev()) + 1);
}
API cuCtxGetLimit(size_t *v, int l) { NEEDINIT(); GIVE(v, 0); }
API cuCtxSetLimit(int l, size_t v) { NEEDINIT(); return CUDA_SUCCESS; }
API cuCtxGetStreamPriorityRange(int *lo, int *hi) {
    NEEDINIT();
    if (lo) *lo = 0;
    if (hi) *hi = 0;
    return CUDA_SUCCESS;
}
API cuCtxDestroy_v2(CUcontext c) { NEEDINIT(); return CUDA_SUCCESS; }
