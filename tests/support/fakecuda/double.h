/* What the files of the double say to each other. README.md beside it says what the double is and what it is for. */
#ifndef LEND_FAKECUDA_DOUBLE_H
#define LEND_FAKECUDA_DOUBLE_H
#define _GNU_SOURCE
#include "driver.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define API __attribute__((visibility("default"))) CUresult
#define HOOK __attribute__((visibility("default")))
#define MAXDEV 8
#define PAGE 4096
enum { FRESH = 0xCD, FREED = 0xDD };

enum { K_DEVICE = 1, K_PINNED, K_MANAGED, K_REGISTERED };   /* kinds of allocation */
enum { FROM_MAP = 1, FROM_PEER };                           /* allocations that are no allocation of this process */
enum { M_DISCRETE, M_HMM, M_ATS, M_JETSON, M_WSL };         /* models of system */
enum { OP_COPY, OP_SET, OP_DEP, OP_HOST, OP_FREE, OP_NOP }; /* kinds of queued work */

typedef struct { int dev, kind; } Pool;
typedef struct {
    uintptr_t base;   /* address for the host (and, but for a disjoint registration, for the device) */
    uintptr_t dbase;  /* address for the device */
    uintptr_t shadow; /* the same bytes for this library, where they lie in no arena; 0: they do */
    size_t size;
    int kind, dev, live;
    int from, opened, access; /* of FROM_MAP and FROM_PEER */
    unsigned flags;
    unsigned long long id;
    Pool *pool; /* set when it came from a pool */
} Alloc;

typedef struct {
    uintptr_t view;   /* what the caller sees; PROT_NONE for device memory */
    uintptr_t shadow; /* the same pages, readable and writable, for this library only */
    size_t size, top;
    int fd;
} Arena;

typedef struct Stream Stream;
typedef struct Capture Capture;
typedef struct Op {
    int kind, width;
    uintptr_t dst, src;
    size_t n;
    unsigned val;
    Stream *dep; /* OP_DEP: run this stream up to depseq first */
    uint64_t depseq;
    CUhostFn fn;
    void *arg;
    void *staged; /* copy of a pageable source, taken when the call was made */
    struct Op *next;
} Op;
typedef struct { Op *head, *tail; size_t nodes; } Graph;

struct Stream {
    int dev, nonblocking, destroyed;
    Op *head, *tail;
    uint64_t enq, done; /* operations queued and finished so far */
    unsigned long long uid;
    Capture *capture; /* the sequence that it is a part of */
    uint64_t mark;    /* operations it gave to that */
    int unjoined;     /* it forked off and nobody of the sequence has waited for it since */
    Stream *nextall;
};
struct Capture {
    unsigned long long id;
    int mode, status, open;
    pthread_t thread;
    Stream *origin;
    Graph *graph;
    Capture *next;
};
typedef struct Event {
    int dev, recorded, flags;
    Stream *s;
    uint64_t seq, mark;
    Capture *capture; /* it was last recorded in a capturing stream */
    void *shared;     /* its page, once another process may wait for it */
    int fd, foreign;
} Event;
typedef struct { int dev, refs; } Ctx;

extern struct Knobs {
    int model, ndev, lazy, trace, devhost, nodevice, disjoint, inited, cma, forkshare, forked;
} G;
extern const char *const model_name[];
extern Arena dev_arena[MAXDEV], managed_arena;
extern Stream legacy[MAXDEV], per_thread[MAXDEV], *streams; /* `streams`: all but the legacy ones */
extern Ctx primary[MAXDEV];
extern CUresult sticky; /* an asynchronous fault: every later wait reports it, as on hardware */
extern pthread_mutex_t mu;
extern __thread Ctx *ctx_stack[32];
extern __thread int ctx_depth;

#define LOCK() pthread_mutex_lock(&mu)
#define UNLOCK() pthread_mutex_unlock(&mu)

/* Every entry point begins with one of these: it is counted, and fails where a test asked for that. */
CUresult enter(const char *name);
#define ENTER() do { CUresult e_ = enter(__func__); if (e_) return e_; } while (0)
#define NEEDINIT() do { ENTER(); if (!G.inited || G.forked) return CUDA_ERROR_NOT_INITIALIZED; } while (0)
#define NEEDCTX() do { NEEDINIT(); if (!has_ctx()) return CUDA_ERROR_INVALID_CONTEXT; } while (0)
/* So does what a capture may not see: allocations, registrations and frees. */
#define NEEDSAFE() do { NEEDCTX(); CUresult u_ = unsafe_call(); if (u_) return u_; } while (0)
static inline int has_ctx(void) { return ctx_depth && ctx_stack[ctx_depth - 1]; }
static inline int current_dev(void) { return has_ctx() ? ctx_stack[ctx_depth - 1]->dev : 0; }
int memory_file(const char *name, size_t size); /* an open file in memory; -1: none */
int env_int(const char *name, int otherwise);

/* memory.c */
const Arena *arena_of(uintptr_t p);
int out_of_host(uintptr_t p);             /* in an arena, or in a range kept back from the host */
int keep_back(uintptr_t from, size_t n);  /* add such a range */
Alloc *find(uintptr_t p);
Alloc *add(uintptr_t base, size_t n, int kind, int dev, Pool *pool);
int at_host_address(const Alloc *a, uintptr_t p);
void *touch(uintptr_t p, size_t n); /* for this library's use; NULL: not inside one live block */
CUresult alloc_arena(Arena *ar, CUdeviceptr *p, size_t n, int kind, int dev, Pool *pool);
CUresult alloc_pinned(void **p, size_t n, int dev, Pool *pool, unsigned flags);
void drop(Alloc *a); /* its bytes are FREED, itself no longer found */
const char *what_lies_at(uintptr_t p); /* for the report of a fault; NULL: nothing of ours */

/* streams.c */
int work_pending(void);
void managed_gate(void);
void run_to(Stream *s, uint64_t seq);
void run_all(int dev); /* dev < 0: every device */
void push(Stream *s, Op o);
CUresult enqueue(Stream *s, Op o);
CUresult wait_for(Stream *s);
int is_legacy(const Stream *s);
Stream *stream_of(CUstream h);
#define STREAM_OR_FAIL(s, h)                                              \
    Stream *s = stream_of(h);                                             \
    if (!s) return (uintptr_t)(h) < 3 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_HANDLE

/* capture.c */
CUresult admit(Stream *s);        /* may work go to it? */
CUresult unsafe_call(void);       /* may this thread do what a capture could not see? */
CUresult refuse_wait(Stream *s);  /* may it be waited for, or asked how far it is? */
CUresult refuse_device_wait(int dev);
void capture_op(Stream *s, Op o);
CUresult capture_wait(Stream *s, Event *e); /* cuStreamWaitEvent where one of the two is captured */

/* processes.c */
void share_start(void);
CUresult shared_record(Event *e);
CUresult shared_wait(Event *e);
int shared_ready(Event *e);
#endif
