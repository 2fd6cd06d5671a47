/* The HIP runtime over the same double, for pointers and streams of ROCm: with the other files it becomes a
 * libamdhip64.so of the release HIP_RELEASE (5, 6 or 7), whose answers about pointers differ. The device of a thread is
 * 0 until it says otherwise, and its context is made on first use, as by the real one. */
#include "double.h"

typedef void *P;
CUresult cuInit(unsigned);
CUresult cuGetErrorName(CUresult, const char **);
CUresult cuDeviceGetCount(int *);
CUresult cuDeviceGetPCIBusId(char *, int, CUdevice);
CUresult cuDevicePrimaryCtxRetain(CUcontext *, CUdevice);
CUresult cuDevicePrimaryCtxGetState(CUdevice, unsigned *, int *);
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuCtxSynchronize(void);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemAllocManaged(CUdeviceptr *, size_t, unsigned);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemHostAlloc(void **, size_t, unsigned);
CUresult cuMemFreeHost(void *);
CUresult cuMemHostRegister_v2(void *, size_t, unsigned);
CUresult cuMemHostUnregister(void *);
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *, void *, unsigned);
CUresult cuMemGetInfo_v2(size_t *, size_t *);
CUresult cuMemGetAddressRange_v2(CUdeviceptr *, size_t *, CUdeviceptr);
CUresult cuMemcpy(CUdeviceptr, CUdeviceptr, size_t);
CUresult cuMemcpyAsync(CUdeviceptr, CUdeviceptr, size_t, CUstream);
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *);
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *, CUstream);
CUresult cuMemsetD8_v2(CUdeviceptr, unsigned char, size_t);
CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, size_t, CUstream);
CUresult cuPointerGetAttribute(void *, int, CUdeviceptr);
CUresult cuPointerGetAttributes(unsigned, int *, void **, CUdeviceptr);
CUresult cuStreamCreate(CUstream *, unsigned);
CUresult cuStreamDestroy_v2(CUstream);
CUresult cuStreamSynchronize(CUstream);
CUresult cuStreamQuery(CUstream);
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned);
CUresult cuStreamGetFlags(CUstream, unsigned *);
CUresult cuStreamIsCapturing(CUstream, int *);
CUresult cuStreamBeginCapture_v2(CUstream, int);
CUresult cuStreamEndCapture(CUstream, CUgraph *);
CUresult cuEventCreate(CUevent *, unsigned);
CUresult cuEventDestroy_v2(CUevent);
CUresult cuEventRecord(CUevent, CUstream);
CUresult cuEventQuery(CUevent);
CUresult cuEventSynchronize(CUevent);

static __thread int bound, device_of_thread;
static __thread CUresult last;

static CUresult bind_to(int device) {
    CUcontext c;
    CUresult r = cuDevicePrimaryCtxRetain(&c, device);
    if (r) return r;
    device_of_thread = device;
    bound = 1;
    return cuCtxSetCurrent(c);
}
static CUresult begin(const char *name) {
    CUresult r = enter(name);
    if (!r && !G.inited) r = cuInit(0);
    if (!r && G.forked) r = CUDA_ERROR_NOT_INITIALIZED;
    if (!r && !bound) r = bind_to(device_of_thread);
    return last = r;
}
#define BEGIN() do { CUresult b_ = begin(__func__); if (b_) return b_; } while (0)
#define PASS(call) { BEGIN(); return last = (call); }
#define D(p) ((CUdeviceptr)(uintptr_t)(p))

API hipInit(unsigned f) { BEGIN(); return 0; }
API hipGetDeviceCount(int *n) PASS(cuDeviceGetCount(n))
API hipGetDevice(int *d) { BEGIN(); *d = device_of_thread; return 0; }
API hipSetDevice(int d) {
    BEGIN();
    return last = d < 0 || d >= G.ndev ? CUDA_ERROR_INVALID_DEVICE : bind_to(d);
}
API hipDriverGetVersion(int *v) { *v = HIP_RELEASE * 10000000; return 0; }
API hipRuntimeGetVersion(int *v) { *v = HIP_RELEASE * 10000000; return 0; }
API hipDeviceGetAttribute(int *v, int attribute, int d) { /* FAKEHIP_ATTR=1: every attribute is 1 */
    BEGIN();
    *v = env_int("FAKEHIP_ATTR", 0);
    return 0;
}
API hipDeviceSynchronize(void) PASS(cuCtxSynchronize())
API hipDevicePrimaryCtxGetState(int d, unsigned *f, int *on) { /* asks, and makes nothing */
    CUresult r = enter(__func__);
    if (r) return r;
    *f = 0;
    *on = G.inited && !G.forked && d >= 0 && d < G.ndev && primary[d].refs > 0;
    return 0;
}
API hipGetDevicePropertiesR0600(char *p, int d) {
    BEGIN();
    memset(p, 0, 1024);
    snprintf(p, 256, "FakeHIP");
    return 0;
}
API hipDeviceGetPCIBusId(char *s, int n, int d) PASS(cuDeviceGetPCIBusId(s, n, d))
API hipDeviceCanAccessPeer(int *v, int a, int b) { BEGIN(); *v = 0; return 0; }

static CUresult given(P *p, CUresult r, CUdeviceptr at) {
    *p = r ? NULL : (P)(uintptr_t)at;
    return last = r;
}
API hipMalloc(P *p, size_t n) {
    BEGIN();
    CUdeviceptr at = 0;
    CUresult r = n ? cuMemAlloc_v2(&at, n) : CUDA_SUCCESS;
    return given(p, r, at);
}
API hipMallocManaged(P *p, size_t n, unsigned f) {
    BEGIN();
    CUdeviceptr at = 0;
    CUresult r = cuMemAllocManaged(&at, n, 1);
    return given(p, r, at);
}
API hipFree(P p) PASS(cuMemFree_v2(D(p)))
API hipHostMalloc(P *p, size_t n, unsigned f) PASS(cuMemHostAlloc(p, n, 0))
API hipHostFree(P p) PASS(cuMemFreeHost(p))
API hipHostRegister(P p, size_t n, unsigned f) PASS(cuMemHostRegister_v2(p, n, f))
API hipHostUnregister(P p) PASS(cuMemHostUnregister(p))
API hipHostGetDevicePointer(P *d, P h, unsigned f) {
    BEGIN();
    CUdeviceptr at = 0;
    CUresult r = cuMemHostGetDevicePointer_v2(&at, h, f);
    return given(d, r, at);
}
API hipMemGetInfo(size_t *a, size_t *b) PASS(cuMemGetInfo_v2(a, b))
API hipMemGetAddressRange(CUdeviceptr *b, size_t *n, CUdeviceptr p) PASS(cuMemGetAddressRange_v2(b, n, p))

API hipMemcpy(P d, P s, size_t n, int k) PASS(cuMemcpy(D(d), D(s), n))
API hipMemcpyAsync(P d, P s, size_t n, int k, CUstream h) PASS(cuMemcpyAsync(D(d), D(s), n, h))
API hipMemcpyWithStream(P d, P s, size_t n, int k, CUstream h) {
    BEGIN();
    CUresult r = cuMemcpyAsync(D(d), D(s), n, h);
    return last = r ? r : cuStreamSynchronize(h);
}
API hipMemcpyDtoH(P d, CUdeviceptr s, size_t n) PASS(cuMemcpy(D(d), s, n))
API hipMemcpyHtoD(CUdeviceptr d, P s, size_t n) PASS(cuMemcpy(d, D(s), n))
API hipMemcpyDtoD(CUdeviceptr d, CUdeviceptr s, size_t n) PASS(cuMemcpy(d, s, n))
API hipMemcpyDtoHAsync(P d, CUdeviceptr s, size_t n, CUstream h) PASS(cuMemcpyAsync(D(d), s, n, h))
API hipMemcpyHtoDAsync(CUdeviceptr d, P s, size_t n, CUstream h) PASS(cuMemcpyAsync(d, D(s), n, h))
API hipMemcpyDtoDAsync(CUdeviceptr d, CUdeviceptr s, size_t n, CUstream h) PASS(cuMemcpyAsync(d, s, n, h))
API hipMemcpyPeer(P d, int dd, P s, int sd, size_t n) PASS(cuMemcpy(D(d), D(s), n))
API hipMemcpyPeerAsync(P d, int dd, P s, int sd, size_t n, CUstream h) PASS(cuMemcpyAsync(D(d), D(s), n, h))
static CUDA_MEMCPY2D rows(P d, size_t dp, P s, size_t sp, size_t w, size_t n) {
    return (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED, .srcDevice = D(s), .srcPitch = sp,
                           .dstMemoryType = CU_MEMORYTYPE_UNIFIED, .dstDevice = D(d), .dstPitch = dp,
                           .WidthInBytes = w, .Height = n};
}
API hipMemcpy2D(P d, size_t dp, P s, size_t sp, size_t w, size_t n, int k) {
    BEGIN();
    CUDA_MEMCPY2D c = rows(d, dp, s, sp, w, n);
    return last = cuMemcpy2D_v2(&c);
}
API hipMemcpy2DAsync(P d, size_t dp, P s, size_t sp, size_t w, size_t n, int k, CUstream h) {
    BEGIN();
    CUDA_MEMCPY2D c = rows(d, dp, s, sp, w, n);
    return last = cuMemcpy2DAsync_v2(&c, h);
}
API hipMemset(P d, int v, size_t n) PASS(cuMemsetD8_v2(D(d), (unsigned char)v, n))
API hipMemsetAsync(P d, int v, size_t n, CUstream h) PASS(cuMemsetD8Async(D(d), (unsigned char)v, n, h))

/* ----------------------------------------------------------------------------------------- pointer queries */
typedef struct { int type, device; void *devicePointer, *hostPointer; int isManaged; unsigned flags; } Attributes;
_Static_assert(sizeof(Attributes) == 32 && offsetof(Attributes, isManaged) == 24, "the documented layout");
enum { HOST, DEVICE, MANAGED, UNREGISTERED };
/* The numbers of hipMemoryType before release 6, and from it on, where 0 became "unregistered". */
static int number_of(int kind) {
    static const int before[] = {0, 1, 4, -1}, since[] = {1, 2, 3, 0};
    return HIP_RELEASE < 6 ? before[kind] : since[kind];
}
API hipPointerGetAttributes(Attributes *a, P p) {
    BEGIN();
    unsigned type = 0, managed = 0;
    int device = 0;
    CUdeviceptr dp = 0;
    void *hp = 0;
    int what[5] = {PTR_MEMORY_TYPE, PTR_IS_MANAGED, PTR_DEVICE_ORDINAL, PTR_DEVICE_POINTER, PTR_HOST_POINTER};
    void *out[5] = {&type, &managed, &device, &dp, &hp};
    cuPointerGetAttributes(5, what, out, D(p));
    memset(a, 0, sizeof *a);
    if (!type && !managed) { /* refused by older releases: ROCm/rocm-systems#6308 */
        if (env_int("FAKEHIP_UNKNOWN", HIP_RELEASE < 7)) return last = CUDA_ERROR_INVALID_VALUE;
        *a = (Attributes){.type = number_of(UNREGISTERED), .device = -2};
        return 0;
    }
    *a = (Attributes){number_of(managed ? MANAGED : type == CU_MEMORYTYPE_HOST ? HOST : DEVICE), device, (void *)dp, hp,
                      (int)managed, 0};
    return 0;
}
API hipPointerGetAttribute(void *v, int what, CUdeviceptr p) PASS(cuPointerGetAttribute(v, what, p))

/* ---------------------------------------------------------------------------------------- streams, events */
/* 1, CUDA's legacy stream, is none of HIP's: the real one takes it for an address. */
#define STREAM(s) do { if ((uintptr_t)(s) == 1) return last = CUDA_ERROR_INVALID_HANDLE; } while (0)
API hipStreamCreate(CUstream *s) PASS(cuStreamCreate(s, 0))
API hipStreamCreateWithFlags(CUstream *s, unsigned f) PASS(cuStreamCreate(s, f))
API hipStreamCreateWithPriority(CUstream *s, unsigned f, int p) PASS(cuStreamCreate(s, f))
API hipStreamDestroy(CUstream s) PASS(cuStreamDestroy_v2(s))
API hipStreamSynchronize(CUstream s) {
    STREAM(s);
    PASS(cuStreamSynchronize(s))
}
API hipStreamQuery(CUstream s) PASS(cuStreamQuery(s))
API hipStreamWaitEvent(CUstream s, CUevent e, unsigned f) {
    STREAM(s);
    PASS(cuStreamWaitEvent(s, e, f))
}
API hipStreamGetFlags(CUstream s, unsigned *f) PASS(cuStreamGetFlags(s, f))
API hipStreamIsCapturing(CUstream s, int *c) {
    STREAM(s);
    PASS(cuStreamIsCapturing(s, c))
}
API hipStreamBeginCapture(CUstream s, int mode) PASS(cuStreamBeginCapture_v2(s, mode))
API hipStreamEndCapture(CUstream s, CUgraph *g) PASS(cuStreamEndCapture(s, g))
API hipEventCreate(CUevent *e) PASS(cuEventCreate(e, 0))
API hipEventCreateWithFlags(CUevent *e, unsigned f) PASS(cuEventCreate(e, f))
API hipEventDestroy(CUevent e) PASS(cuEventDestroy_v2(e))
API hipEventRecord(CUevent e, CUstream s) {
    STREAM(s);
    PASS(cuEventRecord(e, s))
}
API hipEventQuery(CUevent e) PASS(cuEventQuery(e))
API hipEventSynchronize(CUevent e) PASS(cuEventSynchronize(e))
API hipPeekAtLastError(void) { return last; }
API hipGetLastError(void) {
    CUresult e = last;
    last = 0;
    return e;
}
HOOK const char *hipGetErrorName(CUresult e) {
    const char *s = NULL;
    cuGetErrorName(e, &s);
    return s ? s : "hipErrorUnknown";
}
HOOK const char *hipGetErrorString(CUresult e) { return hipGetErrorName(e); }
