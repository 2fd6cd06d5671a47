/* Memory that is created, mapped and given access to in steps (cuMemCreate), on a device or on a node of the host. */
#include "double.h"

typedef struct { int fd; size_t size; CUmemLocation at; } Block;
enum { GRANULARITY = 2 << 20 };

static int on_host(CUmemLocation l) {
    return l.type == CU_MEM_LOCATION_TYPE_HOST || l.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
}
API cuMemGetAllocationGranularity(size_t *g, const CUmemAllocationProp *p, int option) {
    NEEDINIT();
    *g = GRANULARITY;
    return CUDA_SUCCESS;
}
API cuMemAddressReserve(CUdeviceptr *p, size_t n, size_t align, CUdeviceptr wish, unsigned long long f) {
    NEEDINIT();
    if (!n || n % GRANULARITY) return CUDA_ERROR_INVALID_VALUE;
    void *v = mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (v == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    LOCK();
    int kept = keep_back((uintptr_t)v, n);
    UNLOCK();
    *p = (uintptr_t)v;
    return kept ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
API cuMemAddressFree(CUdeviceptr p, size_t n) { NEEDINIT(); return CUDA_SUCCESS; } /* never given again */
API cuMemCreate(unsigned long long *handle, size_t n, const CUmemAllocationProp *prop, unsigned long long f) {
    NEEDINIT();
    int device = prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    if (!n || n % GRANULARITY || (!device && !on_host(prop->location))) return CUDA_ERROR_INVALID_VALUE;
    if (device && (prop->location.id < 0 || prop->location.id >= G.ndev)) return CUDA_ERROR_INVALID_DEVICE;
    int fd = memory_file("fakecuda-created", n);
    if (fd < 0) return CUDA_ERROR_OUT_OF_MEMORY;
    Block *b = malloc(sizeof *b);
    *b = (Block){fd, n, prop->location};
    *handle = (uintptr_t)b;
    return CUDA_SUCCESS;
}
API cuMemRelease(unsigned long long handle) { /* the bytes stay as long as they are mapped */
    NEEDINIT();
    Block *b = (Block *)(uintptr_t)handle;
    close(b->fd);
    free(b);
    return CUDA_SUCCESS;
}
API cuMemMap(CUdeviceptr p, size_t n, size_t offset, unsigned long long handle, unsigned long long f) {
    NEEDINIT();
    Block *b = (Block *)(uintptr_t)handle;
    if (offset || n != b->size || !out_of_host(p)) return CUDA_ERROR_INVALID_VALUE;
    void *shadow = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
    if (shadow == MAP_FAILED) return CUDA_ERROR_MAP_FAILED;
    if (mmap((void *)(uintptr_t)p, n, PROT_NONE, MAP_SHARED | MAP_FIXED, b->fd, 0) == MAP_FAILED)
        return CUDA_ERROR_MAP_FAILED;
    LOCK();
    int host = on_host(b->at);
    Alloc *a = add((uintptr_t)p, n, host ? K_PINNED : K_DEVICE, host ? 0 : b->at.id, NULL);
    if (a) {
        a->from = FROM_MAP;
        a->shadow = (uintptr_t)shadow;
        memset(shadow, FRESH, n);
    }
    UNLOCK();
    return a ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
API cuMemSetAccess(CUdeviceptr p, size_t n, const CUmemAccessDesc *desc, size_t count) {
    NEEDINIT();
    CUresult r = CUDA_SUCCESS;
    LOCK();
    Alloc *a = find(p);
    if (!a || a->from != FROM_MAP || a->base != p || a->size != n) r = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && !r; i++) {
        if (!on_host(desc[i].location)) {
            if (!a->access) a->access = 1;
        } else if (a->kind == K_DEVICE && !G.devhost) r = CUDA_ERROR_INVALID_VALUE;
        else {
            a->access = 2; /* for the host, too */
            mprotect((void *)(uintptr_t)p, n, PROT_READ | (desc[i].flags == 3 ? PROT_WRITE : 0));
        }
    }
    UNLOCK();
    return r;
}
API cuMemUnmap(CUdeviceptr p, size_t n) {
    NEEDINIT();
    LOCK();
    run_all(-1);
    Alloc *a = find(p);
    int ok = a && a->from == FROM_MAP && a->base == p && a->size == n;
    if (ok) {
        a->live = 0;
        mmap((void *)(uintptr_t)p, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        munmap((void *)a->shadow, n);
    }
    UNLOCK();
    return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
