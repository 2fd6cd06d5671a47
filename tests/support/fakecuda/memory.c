/* The address space, and the allocations in it that are neither of a pool nor mapped.
 *
 * Device memory is one memfd for each device, mapped twice: the addresses handed out lie in a view that the host cannot
 * read, the copies of this library go through a second one. Fresh bytes are 0xCD, freed ones 0xDD; addresses are never
 * given twice, and blocks lie a page apart. */
#include "double.h"

#define MAXALLOC 65536
#define MAXRANGE 512
static Alloc allocs[MAXALLOC];
static int nalloc, nrange;
static struct { uintptr_t from; size_t n; } range[MAXRANGE];
static unsigned long long next_id = 1;

static int inside(const Arena *a, uintptr_t p) { return a->size && p >= a->view && p < a->view + a->size; }
const Arena *arena_of(uintptr_t p) {
    for (int i = 0; i < G.ndev; i++) if (inside(&dev_arena[i], p)) return &dev_arena[i];
    return inside(&managed_arena, p) ? &managed_arena : NULL;
}
static int in_range(uintptr_t p) {
    for (int i = 0; i < nrange; i++) if (p >= range[i].from && p < range[i].from + range[i].n) return 1;
    return 0;
}
int out_of_host(uintptr_t p) { return arena_of(p) || in_range(p); }
int keep_back(uintptr_t from, size_t n) {
    if (nrange == MAXRANGE) return 0;
    range[nrange].from = from;
    range[nrange++].n = n;
    return 1;
}

int at_host_address(const Alloc *a, uintptr_t p) { return p >= a->base && p < a->base + (a->size ? a->size : 1); }
static int at_alias(const Alloc *a, uintptr_t p) {
    return a->dbase != a->base && p >= a->dbase && p < a->dbase + a->size;
}
Alloc *find(uintptr_t p) {
    for (int i = nalloc - 1; i >= 0; i--) {
        Alloc *a = &allocs[i];
        if (a->live && (at_host_address(a, p) || at_alias(a, p))) return a;
    }
    return NULL;
}
Alloc *add(uintptr_t base, size_t n, int kind, int dev, Pool *pool) {
    if (nalloc == MAXALLOC) return NULL;
    allocs[nalloc] = (Alloc){.base = base, .dbase = base, .size = n, .kind = kind, .dev = dev, .live = 1,
                             .id = next_id++, .pool = pool};
    return &allocs[nalloc++];
}
static uintptr_t carve(Arena *a, size_t n) {
    size_t need = ((n + 511) & ~(size_t)511) + PAGE; /* a gap that belongs to nobody */
    if (need > a->size || a->top > a->size - need) return 0;
    uintptr_t p = a->view + a->top;
    a->top += need;
    return p;
}
void *touch(uintptr_t p, size_t n) {
    const Arena *ar = arena_of(p);
    Alloc *a = find(p);
    if (!a) return ar || in_range(p) ? NULL : (void *)p; /* host memory: the caller's own risk */
    uintptr_t off = at_host_address(a, p) ? p - a->base : p - a->dbase;
    if (n > a->size || off > a->size - n) return NULL;
    if (a->from) return a->access ? (void *)(a->shadow + off) : NULL;
    return a->kind == K_DEVICE || a->kind == K_MANAGED ? (void *)(p - ar->view + ar->shadow) : (void *)(a->base + off);
}
static size_t whole_pages(size_t n) { return (n + PAGE - 1) & ~(size_t)(PAGE - 1); }
void drop(Alloc *a) {
    if (a->kind == K_PINNED) mprotect((void *)a->base, whole_pages(a->size), PROT_NONE); /* a kept pointer faults */
    else if (a->kind != K_REGISTERED) memset(touch(a->base, a->size), FREED, a->size);
    a->live = 0;
}
const char *what_lies_at(uintptr_t p) { /* called by a signal handler: it asks, and takes no lock */
    if (inside(&managed_arena, p)) return "managed memory while work was pending";
    for (int i = 0; i < nalloc; i++) {
        Alloc *a = &allocs[i];
        if (a->kind == K_PINNED && !a->live && !a->from && at_host_address(a, p)) return "freed pinned memory";
    }
    return out_of_host(p) ? "device memory" : NULL;
}

CUresult alloc_arena(Arena *ar, CUdeviceptr *p, size_t n, int kind, int dev, Pool *pool) {
    LOCK();
    uintptr_t v = carve(ar, n ? n : 1);
    if (v && !add(v, n, kind, dev, pool)) v = 0;
    if (v && kind == K_DEVICE) memset((void *)(v - ar->view + ar->shadow), FRESH, n);
    UNLOCK();
    *p = v;
    return v ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult alloc_pinned(void **p, size_t n, int dev, Pool *pool, unsigned flags) {
    void *q = mmap(NULL, whole_pages(n), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (q == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    LOCK();
    Alloc *a = add((uintptr_t)q, n, K_PINNED, dev, pool);
    if (a) a->flags = flags;
    UNLOCK();
    *p = q;
    return a ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API cuMemAlloc_v2(CUdeviceptr *p, size_t n) {
    NEEDSAFE();
    if (!n) return CUDA_ERROR_INVALID_VALUE;
    return alloc_arena(&dev_arena[current_dev()], p, n, K_DEVICE, current_dev(), NULL);
}
API cuMemAllocPitch_v2(CUdeviceptr *p, size_t *pitch, size_t w, size_t h, unsigned element) {
    NEEDSAFE();
    *pitch = (w + 511) & ~(size_t)511;
    return alloc_arena(&dev_arena[current_dev()], p, *pitch * h, K_DEVICE, current_dev(), NULL);
}
API cuMemAllocManaged(CUdeviceptr *p, size_t n, unsigned f) {
    NEEDSAFE();
    if (!n) return CUDA_ERROR_INVALID_VALUE;
    return alloc_arena(&managed_arena, p, n, K_MANAGED, current_dev(), NULL);
}
API cuMemAllocHost_v2(void **p, size_t n) { NEEDSAFE(); return alloc_pinned(p, n, current_dev(), NULL, 0); }
API cuMemHostAlloc(void **p, size_t n, unsigned f) { NEEDSAFE(); return alloc_pinned(p, n, current_dev(), NULL, f); }

/* Frees wait for all work first, as the real ones may. */
static CUresult release(uintptr_t p, int pinned) {
    if (!p) return CUDA_SUCCESS;
    LOCK();
    run_all(-1);
    Alloc *a = find(p);
    int ok = a && a->base == p && !a->from && a->kind != K_REGISTERED && (a->kind == K_PINNED) == pinned;
    if (ok) drop(a);
    UNLOCK();
    return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
API cuMemFree_v2(CUdeviceptr p) { NEEDSAFE(); return release(p, 0); }
API cuMemFreeHost(void *p) { NEEDSAFE(); return release((uintptr_t)p, 1); }

API cuMemHostRegister_v2(void *p, size_t n, unsigned f) {
    NEEDSAFE();
    LOCK();
    Alloc *a = add((uintptr_t)p, n, K_REGISTERED, current_dev(), NULL);
    if (a) a->flags = f;
    if (a && G.disjoint) a->dbase = carve(&dev_arena[current_dev()], n);
    UNLOCK();
    return a ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
API cuMemHostUnregister(void *p) {
    NEEDSAFE();
    LOCK();
    Alloc *a = find((uintptr_t)p);
    int ok = a && a->kind == K_REGISTERED;
    if (ok) drop(a);
    UNLOCK();
    return ok ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}
static Alloc found(uintptr_t p) { /* a copy, taken under the lock; .live 0: there is none */
    LOCK();
    Alloc *a = find(p), copy = a ? *a : (Alloc){0};
    UNLOCK();
    return copy;
}
API cuMemHostGetDevicePointer_v2(CUdeviceptr *d, void *p, unsigned f) {
    NEEDCTX();
    Alloc a = found((uintptr_t)p);
    if (a.kind != K_PINNED && a.kind != K_REGISTERED) return CUDA_ERROR_INVALID_VALUE;
    *d = a.dbase + ((uintptr_t)p - a.base);
    return CUDA_SUCCESS;
}
API cuMemHostGetFlags(unsigned *f, void *p) {
    NEEDCTX();
    Alloc a = found((uintptr_t)p);
    if (a.kind != K_PINNED) return CUDA_ERROR_INVALID_VALUE;
    *f = a.flags;
    return CUDA_SUCCESS;
}
API cuMemGetInfo_v2(size_t *f, size_t *t) {
    NEEDCTX();
    Arena *a = &dev_arena[current_dev()];
    *t = a->size;
    *f = a->size - a->top;
    return CUDA_SUCCESS;
}
API cuMemGetAddressRange_v2(CUdeviceptr *b, size_t *n, CUdeviceptr p) {
    NEEDCTX();
    Alloc a = found(p);
    if (!a.live) return CUDA_ERROR_NOT_FOUND;
    if (b) *b = a.base;
    if (n) *n = a.size;
    return CUDA_SUCCESS;
}
API cuMemPrefetchAsync_v2(CUdeviceptr p, size_t n, CUmemLocation l, unsigned f, CUstream s) {
    NEEDINIT();
    return CUDA_SUCCESS;
}
API cuMemAdvise_v2(CUdeviceptr p, size_t n, int a, CUmemLocation l) { NEEDINIT(); return CUDA_SUCCESS; }

HOOK int fakecuda_live(void) {
    int n = 0;
    LOCK();
    for (int i = 0; i < nalloc; i++) n += allocs[i].live;
    UNLOCK();
    return n;
}
/* Device memory as it is now, ordered after nothing. -1: not inside one live block. */
HOOK int fakecuda_peek(void *out, CUdeviceptr p, size_t n) {
    LOCK();
    void *q = touch(p, n);
    if (q) memcpy(out, q, n);
    UNLOCK();
    return q ? 0 : -1;
}
HOOK int fakecuda_poke(CUdeviceptr p, const void *in, size_t n) {
    LOCK();
    void *q = touch(p, n);
    if (q) memcpy(q, in, n);
    UNLOCK();
    return q ? 0 : -1;
}
