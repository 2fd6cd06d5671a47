/* What a pointer is. */
#include "double.h"

static int reads_as_host(const Alloc *a) { /* managed memory of a pool does on some drivers: NVIDIA/cuda-python#1924 */
    return a->kind == K_PINNED || a->kind == K_REGISTERED || (a->kind == K_MANAGED && a->pool);
}
static CUresult host_pointer(const Alloc *a, uintptr_t off, uintptr_t *out) {
    if (a->from && a->access < 2) return CUDA_ERROR_INVALID_VALUE;
    if (!a->from && a->kind == K_DEVICE && !G.devhost) return CUDA_ERROR_INVALID_VALUE;
    *out = a->base + off;
    return CUDA_SUCCESS;
}
static CUresult known(void *v, int what, const Alloc *a, uintptr_t p) {
    uintptr_t off = at_host_address(a, p) ? p - a->base : p - a->dbase;
    switch (what) {
    case PTR_CONTEXT: *(CUcontext *)v = a->pool || a->from ? NULL : (CUcontext)&primary[a->dev]; break;
    case PTR_MEMORY_TYPE: *(unsigned *)v = reads_as_host(a) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE; break;
    case PTR_IS_MANAGED: *(unsigned *)v = a->kind == K_MANAGED && !a->pool; break;
    case PTR_DEVICE_POINTER:
        if (!has_ctx()) return CUDA_ERROR_INVALID_CONTEXT;
        *(CUdeviceptr *)v = a->dbase + off;
        break;
    case PTR_HOST_POINTER: return host_pointer(a, off, v);
    case PTR_P2P_TOKENS: return CUDA_ERROR_NOT_SUPPORTED;
    case PTR_DEVICE_ORDINAL: *(int *)v = a->dev; break;
    case PTR_RANGE_START_ADDR:
    case PTR_MAPPING_BASE_ADDR: *(CUdeviceptr *)v = a->base; break;
    case PTR_RANGE_SIZE:
    case PTR_MAPPING_SIZE: *(size_t *)v = a->size; break;
    case PTR_BUFFER_ID:
    case PTR_MEMORY_BLOCK_ID: *(unsigned long long *)v = a->id; break;
    case PTR_MEMPOOL_HANDLE: *(CUmemoryPool *)v = (CUmemoryPool)a->pool; break;
    case PTR_MAPPED: *(int *)v = 1; break;
    case PTR_ACCESS_FLAGS: *(unsigned *)v = 3; break;
    case PTR_IS_LEGACY_CUDA_IPC_CAPABLE: *(int *)v = a->kind == K_DEVICE && !a->pool && !a->from; break;
    case PTR_SYNC_MEMOPS:
    case PTR_ALLOWED_HANDLE_TYPES:
    case PTR_IS_GPU_DIRECT_RDMA_CAPABLE:
    case PTR_IS_HW_DECOMPRESS_CAPABLE: *(int *)v = 0; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}
static CUresult pointer_attribute(void *v, int what, uintptr_t p) {
    LOCK();
    Alloc *a = find(p);
    CUresult r = a ? known(v, what, a, p) : CUDA_ERROR_INVALID_VALUE;
    UNLOCK();
    int reached = G.model == M_HMM || G.model == M_ATS; /* no type, but both addresses: seen by NVIDIA/raft#2480 */
    if (!a && reached && p && !out_of_host(p) && (what == PTR_DEVICE_POINTER || what == PTR_HOST_POINTER)) {
        *(uintptr_t *)v = p;
        return CUDA_SUCCESS;
    }
    return r;
}
API cuPointerGetAttribute(void *v, int what, CUdeviceptr p) { NEEDINIT(); return pointer_attribute(v, what, p); }

/* The plural call never fails for a pointer unknown: it answers SUCCESS, with nulls. */
API cuPointerGetAttributes(unsigned n, int *what, void **v, CUdeviceptr p) {
    NEEDINIT();
    for (unsigned i = 0; i < n; i++) {
        if (what[i] < PTR_CONTEXT || what[i] > PTR_IS_HW_DECOMPRESS_CAPABLE) return CUDA_ERROR_INVALID_VALUE;
        if (!pointer_attribute(v[i], what[i], p)) continue;
        switch (what[i]) {
        case PTR_CONTEXT:
        case PTR_HOST_POINTER:
        case PTR_DEVICE_POINTER:
        case PTR_RANGE_START_ADDR:
        case PTR_RANGE_SIZE:
        case PTR_MEMPOOL_HANDLE:
        case PTR_MAPPING_BASE_ADDR:
        case PTR_MAPPING_SIZE:
        case PTR_MEMORY_BLOCK_ID:
        case PTR_BUFFER_ID: *(uint64_t *)v[i] = 0; break;
        case PTR_DEVICE_ORDINAL: *(int *)v[i] = -2; break;
        default: *(unsigned *)v[i] = 0;
        }
    }
    return CUDA_SUCCESS;
}
API cuPointerSetAttribute(const void *v, int what, CUdeviceptr p) { NEEDINIT(); return CUDA_SUCCESS; }
