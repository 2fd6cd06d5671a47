/* Pools and allocation in stream order. An allocation is usable at once; only the free is queued. */
#include "double.h"

static Pool device_pool[MAXDEV], pinned_pool = {0, K_PINNED}, managed_pool = {0, K_MANAGED};

static Pool *default_pool(CUdevice d) {
    device_pool[d] = (Pool){d, K_DEVICE};
    return &device_pool[d];
}
static int pool_kind(int type, CUmemLocation l) {
    if (type == CU_MEM_ALLOCATION_TYPE_MANAGED) return K_MANAGED;
    return l.type == CU_MEM_LOCATION_TYPE_DEVICE ? K_DEVICE : K_PINNED;
}
static Pool *pool_for(int type, CUmemLocation l) {
    int kind = pool_kind(type, l);
    if (kind == K_DEVICE) return default_pool(l.id);
    return kind == K_MANAGED ? &managed_pool : &pinned_pool;
}
static CUresult give_pool(CUmemoryPool *p, Pool *pool) {
    *p = (CUmemoryPool)pool;
    return CUDA_SUCCESS;
}
API cuDeviceGetDefaultMemPool(CUmemoryPool *p, CUdevice d) { NEEDINIT(); return give_pool(p, default_pool(d)); }
API cuDeviceGetMemPool(CUmemoryPool *p, CUdevice d) { NEEDINIT(); return give_pool(p, default_pool(d)); }
API cuDeviceSetMemPool(CUdevice d, CUmemoryPool p) { NEEDINIT(); return CUDA_SUCCESS; }
API cuMemGetMemPool(CUmemoryPool *p, CUmemLocation *l, int t) { NEEDINIT(); return give_pool(p, pool_for(t, *l)); }
API cuMemGetDefaultMemPool(CUmemoryPool *p, CUmemLocation *l, int t) {
    NEEDINIT();
    return give_pool(p, pool_for(t, *l));
}
API cuMemSetMemPool(CUmemLocation *l, int t, CUmemoryPool p) { NEEDINIT(); return CUDA_SUCCESS; }
API cuMemPoolCreate(CUmemoryPool *p, const CUmemPoolProps *q) {
    NEEDINIT();
    Pool *x = malloc(sizeof *x);
    *x = (Pool){q->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? q->location.id : 0,
                pool_kind(q->allocType, q->location)};
    return give_pool(p, x);
}
API cuMemPoolDestroy(CUmemoryPool p) { NEEDINIT(); return CUDA_SUCCESS; }
API cuMemPoolTrimTo(CUmemoryPool p, size_t n) { NEEDINIT(); return CUDA_SUCCESS; }
API cuMemPoolSetAttribute(CUmemoryPool p, int a, void *v) { NEEDINIT(); return CUDA_SUCCESS; }
API cuMemPoolGetAttribute(CUmemoryPool p, int a, void *v) {
    NEEDINIT();
    if (a <= 3) *(int *)v = 1; /* the flags of reuse are ints */
    else *(uint64_t *)v = 0;
    return CUDA_SUCCESS;
}
API cuMemPoolSetAccess(CUmemoryPool p, const CUmemAccessDesc *d, size_t n) { NEEDINIT(); return CUDA_SUCCESS; }
API cuMemPoolGetAccess(int *f, CUmemoryPool p, CUmemLocation *l) {
    NEEDINIT();
    *f = 3; /* reading and writing */
    return CUDA_SUCCESS;
}
static CUresult alloc_pool(CUdeviceptr *p, size_t n, Pool *pool) {
    if (pool->kind == K_PINNED) return alloc_pinned((void **)p, n, pool->dev, pool, 0);
    Arena *arena = pool->kind == K_MANAGED ? &managed_arena : &dev_arena[pool->dev];
    return alloc_arena(arena, p, n, pool->kind, pool->dev, pool);
}
API cuMemAllocFromPoolAsync(CUdeviceptr *p, size_t n, CUmemoryPool pool, CUstream h) {
    NEEDINIT();
    STREAM_OR_FAIL(s, h);
    CUresult r = admit(s);
    return r ? r : alloc_pool(p, n, (Pool *)pool);
}
API cuMemAllocAsync(CUdeviceptr *p, size_t n, CUstream h) {
    NEEDCTX();
    STREAM_OR_FAIL(s, h);
    CUresult r = admit(s);
    return r ? r : alloc_pool(p, n, default_pool(current_dev()));
}
API cuMemFreeAsync(CUdeviceptr p, CUstream h) {
    NEEDINIT();
    STREAM_OR_FAIL(s, h);
    if (!p) return CUDA_SUCCESS;
    LOCK();
    CUresult r = find(p) ? enqueue(s, (Op){.kind = OP_FREE, .dst = p}) : CUDA_ERROR_INVALID_VALUE;
    UNLOCK();
    return r;
}
