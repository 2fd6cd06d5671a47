/* Handles of memory and events for other processes of the double, on one machine.
 *
 * Memory is opened by the memfd of its arena, which the handle names by process and number. An event that may be waited
 * for elsewhere has a page in a memfd of its own: a waiting process rings, and a thread of the process that recorded it
 * runs what it stands for. So order holds between processes as within one: nothing runs before it is waited for. */
#include "double.h"
#include "books.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

typedef struct { char magic[8]; int pid, fd, dev; size_t at, size; } Handle; /* what lies in the 64 bytes */
typedef struct { int pid, bell; _Atomic uint64_t recorded, wanted, done; } Page;
typedef struct Peer { Alloc *alloc; Handle handle; struct Peer *next; } Peer;
_Static_assert(sizeof(Handle) <= sizeof(CUipcHandle), "a handle has room");
static const char of_memory[8] = "fakemem", of_event[8] = "fakeevt";
static Peer *peers;

static CUresult give(CUipcHandle *out, const char *magic, int fd, int dev, size_t at, size_t size) {
    Handle h = {.pid = getpid(), .fd = fd, .dev = dev, .at = at, .size = size};
    memcpy(h.magic, magic, sizeof h.magic);
    memset(out, 0, sizeof *out);
    memcpy(out, &h, sizeof h);
    return CUDA_SUCCESS;
}
static int open_of(const Handle *h) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", h->pid, h->fd);
    return open(path, O_RDWR | O_CLOEXEC);
}
static int read_handle(Handle *h, const CUipcHandle *raw, const char *magic) {
    memcpy(h, raw, sizeof *h);
    return !memcmp(h->magic, magic, sizeof h->magic);
}

/* --------------------------------------------------------------------------------------------- memory */
API cuIpcGetMemHandle(CUipcHandle *out, CUdeviceptr p) { /* of the whole allocation that p lies in */
    NEEDCTX();
    LOCK();
    Alloc *a = find(p);
    CUresult r = CUDA_ERROR_INVALID_VALUE;
    if (a && a->kind == K_DEVICE && !a->pool && !a->from) {
        const Arena *ar = &dev_arena[a->dev];
        r = give(out, of_memory, ar->fd, a->dev, a->base - ar->view, a->size);
    }
    UNLOCK();
    return r;
}
static CUresult map_peer(const Handle *h, Alloc **out) {
    size_t from = h->at & ~(size_t)(PAGE - 1), skip = h->at - from, n = skip + h->size;
    int fd = open_of(h);
    if (fd < 0) return CUDA_ERROR_MAP_FAILED;
    void *view = mmap(NULL, n, PROT_NONE, MAP_SHARED, fd, (off_t)from);
    void *shadow = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)from);
    close(fd);
    if (view == MAP_FAILED || shadow == MAP_FAILED || !keep_back((uintptr_t)view, n)) return CUDA_ERROR_MAP_FAILED;
    Alloc *a = *out = add((uintptr_t)view + skip, h->size, K_DEVICE, h->dev, NULL);
    if (!a) return CUDA_ERROR_OUT_OF_MEMORY;
    a->from = FROM_PEER;
    a->shadow = (uintptr_t)shadow + skip;
    a->access = 1;
    return CUDA_SUCCESS;
}
API cuIpcOpenMemHandle_v2(CUdeviceptr *p, CUipcHandle raw, unsigned flags) {
    NEEDCTX();
    Handle h;
    if (flags != 1 || !read_handle(&h, &raw, of_memory)) return CUDA_ERROR_INVALID_VALUE; /* 1: lazy peer access */
    if (h.pid == getpid()) return CUDA_ERROR_INVALID_CONTEXT; /* it is no handle for those who made it */
    CUresult r = CUDA_SUCCESS;
    LOCK();
    Peer *x;
    for (x = peers; x && !(x->alloc->live && !memcmp(&x->handle, &h, sizeof h)); x = x->next) {}
    if (!x) {
        Alloc *a = NULL;
        r = map_peer(&h, &a);
        if (!r) {
            x = malloc(sizeof *x);
            *x = (Peer){a, h, peers};
            peers = x;
        }
    }
    if (!r) {
        x->alloc->opened++;
        *p = x->alloc->base;
    }
    UNLOCK();
    return r;
}
API cuIpcCloseMemHandle(CUdeviceptr p) {
    NEEDCTX();
    LOCK();
    Alloc *a = find(p);
    int ok = a && a->from == FROM_PEER && a->base == p;
    if (ok && !--a->opened) {
        run_all(-1);
        a->live = 0;
        munmap((void *)(a->shadow & ~(uintptr_t)(PAGE - 1)), a->size);
    }
    UNLOCK();
    return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* --------------------------------------------------------------------------------------------- events */
static void futex(int *word, int what, int value, const struct timespec *limit) {
    syscall(SYS_futex, word, what, value, limit, NULL, 0);
}
static const struct timespec a_moment = {0, 50000000};

static void *serve(void *arg) { /* in the process that recorded: runs what another one waits for */
    Event *e = arg;
    Page *page = e->shared;
    for (;;) {
        int heard = __atomic_load_n(&page->bell, __ATOMIC_ACQUIRE);
        LOCK();
        if (page->wanted > page->done) {
            uint64_t upto = page->recorded; /* the latest record stands behind all earlier ones */
            run_to(e->s, e->seq);
            managed_gate();
            page->done = upto;
        }
        UNLOCK();
        futex(&page->bell, FUTEX_WAKE, 1 << 30, NULL);
        futex(&page->bell, FUTEX_WAIT, heard, &a_moment);
    }
    return NULL;
}
static Page *map_page(int fd) {
    void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}
API cuIpcGetEventHandle(CUipcHandle *out, CUevent event) {
    NEEDCTX();
    Event *e = (Event *)event;
    if (!(e->flags & CU_EVENT_INTERPROCESS) || e->foreign) return CUDA_ERROR_INVALID_HANDLE;
    LOCK();
    CUresult r = CUDA_SUCCESS;
    if (!e->shared) {
        pthread_t thread;
        e->fd = memory_file("fakecuda-event", PAGE);
        if (e->fd < 0 || !(e->shared = map_page(e->fd))) r = CUDA_ERROR_OUT_OF_MEMORY;
        if (!r) {
            ((Page *)e->shared)->pid = getpid();
            if (e->recorded) shared_record(e);
            if (pthread_create(&thread, NULL, serve, e)) r = CUDA_ERROR_OUT_OF_MEMORY;
            else pthread_detach(thread);
        }
    }
    UNLOCK();
    return r ? r : give(out, of_event, e->fd, e->dev, 0, PAGE);
}
API cuIpcOpenEventHandle(CUevent *event, CUipcHandle raw) {
    NEEDCTX();
    Handle h;
    if (!read_handle(&h, &raw, of_event)) return CUDA_ERROR_INVALID_VALUE;
    if (h.pid == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
    int fd = open_of(&h);
    Page *page = fd < 0 ? NULL : map_page(fd);
    if (fd >= 0) close(fd);
    if (!page) return CUDA_ERROR_MAP_FAILED;
    Event *e = calloc(1, sizeof *e);
    *e = (Event){.dev = h.dev, .flags = CU_EVENT_INTERPROCESS, .shared = page, .foreign = 1};
    note_event(e);
    *event = (CUevent)e;
    return CUDA_SUCCESS;
}
CUresult shared_record(Event *e) {
    if (e->shared) ((Page *)e->shared)->recorded++;
    return CUDA_SUCCESS;
}
int shared_ready(Event *e) {
    Page *page = e->shared;
    return page->done >= page->recorded;
}
CUresult shared_wait(Event *e) { /* called with the lock held, which is let go meanwhile */
    Page *page = e->shared;
    uint64_t seen = page->recorded;
    if (page->wanted < seen) page->wanted = seen;
    while (page->done < seen) {
        int heard = __atomic_add_fetch(&page->bell, 1, __ATOMIC_ACQ_REL);
        futex(&page->bell, FUTEX_WAKE, 1 << 30, NULL);
        UNLOCK();
        futex(&page->bell, FUTEX_WAIT, heard, &a_moment);
        LOCK();
        if (page->done < seen && kill(page->pid, 0) && errno == ESRCH) return sticky = CUDA_ERROR_LAUNCH_FAILED;
    }
    return CUDA_SUCCESS;
}
