/* Streams as lazy queues, and events. Work runs only when somebody waits for it as the contract has it (synchronize,
 * event, blocking copy, the rules of the legacy stream), so that a wait forgotten is a stale value every time. */
#include "double.h"
#include "books.h"

Stream legacy[MAXDEV], per_thread[MAXDEV], *streams;

int is_legacy(const Stream *s) { return s >= legacy && s < legacy + MAXDEV; }
Stream *stream_of(CUstream h) {
    if ((uintptr_t)h <= (uintptr_t)CU_STREAM_PER_THREAD && !has_ctx()) return NULL;
    if (!h || h == CU_STREAM_LEGACY) return &legacy[current_dev()];
    if (h == CU_STREAM_PER_THREAD) return &per_thread[current_dev()];
    Stream *s;
    LOCK();
    for (s = streams; s && s != (Stream *)h; s = s->nextall) {}
    UNLOCK();
    return s && !s->destroyed ? s : NULL;
}
int work_pending(void) {
    for (int i = 0; i < G.ndev; i++) if (legacy[i].head) return 1;
    for (Stream *s = streams; s; s = s->nextall) if (s->head) return 1;
    return 0;
}
/* CONCURRENT_MANAGED_ACCESS=0: the host may touch managed memory only while no work is pending at all. */
void managed_gate(void) {
    if (G.cma) return;
    mprotect((void *)managed_arena.view, managed_arena.size, work_pending() ? PROT_NONE : PROT_READ | PROT_WRITE);
}

static void carry_out(Op *o) {
    switch (o->kind) {
    case OP_COPY: {
        void *d = touch(o->dst, o->n), *q = o->staged ? o->staged : touch(o->src, o->n);
        if (d && q) memmove(d, q, o->n);
        else sticky = CUDA_ERROR_ILLEGAL_ADDRESS; /* freed in the meantime */
        break;
    }
    case OP_SET: {
        char *d = touch(o->dst, o->n * (size_t)o->width);
        if (!d) sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
        for (size_t i = 0; d && i < o->n; i++) memcpy(d + i * (size_t)o->width, &o->val, (size_t)o->width);
        break;
    }
    case OP_DEP:
        if (o->dep) run_to(o->dep, o->depseq);
        else shared_wait(o->arg);
        break;
    case OP_HOST: UNLOCK(); o->fn(o->arg); LOCK(); break;
    case OP_FREE: {
        Alloc *a = find(o->dst);
        if (a) drop(a);
        break;
    }
    }
}
void run_to(Stream *s, uint64_t seq) {
    while (s->done < seq && s->head) {
        Op *o = s->head;
        s->head = o->next;
        if (!s->head) s->tail = NULL;
        carry_out(o);
        s->done++;
        free(o->staged);
        free(o);
    }
}
void run_all(int dev) {
    for (int i = 0; i < G.ndev; i++) if (dev < 0 || i == dev) run_to(&legacy[i], legacy[i].enq);
    for (Stream *s = streams; s; s = s->nextall) if (dev < 0 || s->dev == dev) run_to(s, s->enq);
    managed_gate();
}
void push(Stream *s, Op o) {
    Op *p = malloc(sizeof *p);
    *p = o;
    p->next = NULL;
    if (s->tail) s->tail->next = p;
    else s->head = p;
    s->tail = p;
    s->enq++;
}
CUresult enqueue(Stream *s, Op o) {
    CUresult r = admit(s);
    if (r) {
        free(o.staged);
        return r;
    }
    if (s->capture) {
        capture_op(s, o);
        return CUDA_SUCCESS;
    }
    if (is_legacy(s)) { /* the legacy stream waits for all blocking streams of its device ... */
        for (Stream *t = streams; t; t = t->nextall)
            if (t->dev == s->dev && !t->nonblocking && t->done < t->enq)
                push(s, (Op){.kind = OP_DEP, .dep = t, .depseq = t->enq});
    } else if (!s->nonblocking) { /* ... and they wait for it */
        Stream *l = &legacy[s->dev];
        if (l->done < l->enq) push(s, (Op){.kind = OP_DEP, .dep = l, .depseq = l->enq});
    }
    push(s, o);
    if (!G.lazy) run_to(s, s->enq);
    managed_gate();
    return CUDA_SUCCESS;
}
CUresult wait_for(Stream *s) {
    CUresult r = refuse_wait(s);
    if (!r && is_legacy(s)) r = enqueue(s, (Op){.kind = OP_NOP}); /* picks up the blocking streams */
    if (r) return r;
    run_to(s, s->enq);
    managed_gate();
    return sticky;
}
HOOK int fakecuda_pending(void) {
    LOCK();
    int r = work_pending();
    UNLOCK();
    return r;
}
HOOK int fakecuda_pending_on(CUstream h) {
    Stream *s = stream_of(h);
    LOCK();
    int r = s && s->head;
    UNLOCK();
    return r;
}

/* --------------------------------------------------------------------------------------------- streams */
static CUresult new_stream(CUstream *h, unsigned flags) {
    static unsigned long long uid = 16;
    Stream *s = calloc(1, sizeof *s);
    LOCK();
    *s = (Stream){.dev = current_dev(), .nonblocking = flags & CU_STREAM_NON_BLOCKING, .uid = uid++,
                  .nextall = streams};
    streams = s;
    UNLOCK();
    *h = (CUstream)s;
    return CUDA_SUCCESS;
}
API cuStreamCreate(CUstream *h, unsigned f) { NEEDCTX(); return new_stream(h, f); }
API cuStreamCreateWithPriority(CUstream *h, unsigned f, int p) { NEEDCTX(); return new_stream(h, f); }
API cuStreamDestroy_v2(CUstream h) { /* what is queued still runs */
    NEEDINIT();
    STREAM_OR_FAIL(s, h);
    s->destroyed = 1;
    return CUDA_SUCCESS;
}
API cuStreamSynchronize(CUstream h) {
    NEEDINIT();
    STREAM_OR_FAIL(s, h);
    LOCK();
    CUresult r = wait_for(s);
    UNLOCK();
    return r;
}
static CUresult progress(Stream *s, uint64_t seq) { /* each question lets one operation finish, so that polling ends */
    if (s->done >= seq) return sticky;
    run_to(s, s->done + 1);
    managed_gate();
    return CUDA_ERROR_NOT_READY;
}
API cuStreamQuery(CUstream h) {
    NEEDINIT();
    STREAM_OR_FAIL(s, h);
    LOCK();
    CUresult r = refuse_wait(s);
    if (!r) r = progress(s, s->enq);
    UNLOCK();
    return r;
}
API cuStreamGetFlags(CUstream h, unsigned *f) {
    NEEDINIT();
    STREAM_OR_FAIL(s, h);
    *f = s->nonblocking ? CU_STREAM_NON_BLOCKING : 0;
    return CUDA_SUCCESS;
}
API cuStreamGetPriority(CUstream h, int *p) { NEEDINIT(); *p = 0; return CUDA_SUCCESS; }
API cuStreamGetId(CUstream h, unsigned long long *p) {
    NEEDINIT();
    STREAM_OR_FAIL(s, h);
    *p = is_legacy(s) ? 1 : s == &per_thread[s->dev] ? 2 : s->uid;
    return CUDA_SUCCESS;
}
API cuStreamGetCtx(CUstream h, CUcontext *c) {
    NEEDINIT();
    STREAM_OR_FAIL(s, h);
    *c = (CUcontext)&primary[s->dev];
    return CUDA_SUCCESS;
}
API cuStreamGetDevice(CUstream h, CUdevice *d) {
    NEEDINIT();
    STREAM_OR_FAIL(s, h);
    *d = s->dev;
    return CUDA_SUCCESS;
}
API cuStreamAttachMemAsync(CUstream h, CUdeviceptr p, size_t n, unsigned f) { NEEDINIT(); return CUDA_SUCCESS; }
API cuStreamAddCallback(CUstream h, void *fn, void *a, unsigned f) { ENTER(); return CUDA_ERROR_NOT_SUPPORTED; }
API cuLaunchHostFunc(CUstream h, CUhostFn fn, void *arg) {
    NEEDINIT();
    STREAM_OR_FAIL(s, h);
    LOCK();
    CUresult r = enqueue(s, (Op){.kind = OP_HOST, .fn = fn, .arg = arg});
    UNLOCK();
    return r;
}

/* ---------------------------------------------------------------------------------------------- events */
API cuEventCreate(CUevent *e, unsigned f) {
    NEEDCTX();
    if ((f & CU_EVENT_INTERPROCESS) && !(f & CU_EVENT_DISABLE_TIMING)) return CUDA_ERROR_INVALID_VALUE;
    Event *x = calloc(1, sizeof *x);
    x->dev = current_dev();
    x->flags = (int)f;
    note_event(x);
    *e = (CUevent)x;
    return CUDA_SUCCESS;
}
API cuEventDestroy_v2(CUevent e) {
    NEEDINIT();
    EVENT_OR_FAIL(x, e);
    forget_event(x);
    if (!x->shared) free(x); /* what another process may wait for stays */
    return CUDA_SUCCESS;
}
static CUresult record(Event *x, Stream *s) {
    if (x->dev != s->dev || x->foreign) return CUDA_ERROR_INVALID_HANDLE; /* both must be of one context */
    LOCK();
    CUresult r = is_legacy(s) ? enqueue(s, (Op){.kind = OP_NOP}) : admit(s);
    if (!r) {
        x->s = s;
        x->seq = s->enq;
        x->mark = s->mark;
        x->capture = s->capture;
        x->recorded = 1;
        r = shared_record(x);
    }
    UNLOCK();
    return r;
}
API cuEventRecord(CUevent e, CUstream h) {
    NEEDINIT();
    STREAM_OR_FAIL(s, h);
    EVENT_OR_FAIL(x, e);
    return record(x, s);
}
API cuEventRecordWithFlags(CUevent e, CUstream h, unsigned f) {
    NEEDINIT();
    STREAM_OR_FAIL(s, h);
    EVENT_OR_FAIL(x, e);
    return record(x, s);
}
static CUresult refuse_event(Event *x) {
    if (x->capture) {
        if (x->capture->open) x->capture->status = CAPTURE_INVALIDATED;
        return CUDA_ERROR_CAPTURED_EVENT;
    }
    return unsafe_call();
}
API cuEventSynchronize(CUevent e) {
    NEEDINIT();
    EVENT_OR_FAIL(x, e);
    LOCK();
    CUresult r = refuse_event(x);
    if (!r && x->foreign) r = shared_wait(x);
    else if (!r && x->recorded) run_to(x->s, x->seq);
    managed_gate();
    UNLOCK();
    return r ? r : sticky;
}
API cuEventQuery(CUevent e) {
    NEEDINIT();
    EVENT_OR_FAIL(x, e);
    LOCK();
    CUresult r = refuse_event(x);
    if (!r && x->foreign) r = shared_ready(x) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    else if (!r && x->recorded) r = progress(x->s, x->seq);
    UNLOCK();
    return r;
}
API cuEventElapsedTime_v2(float *t, CUevent a, CUevent b) { NEEDINIT(); *t = 0.001f; return CUDA_SUCCESS; }
API cuStreamWaitEvent(CUstream h, CUevent e, unsigned f) {
    NEEDINIT();
    STREAM_OR_FAIL(s, h);
    EVENT_OR_FAIL(x, e);
    CUresult r = CUDA_SUCCESS;
    LOCK();
    if (s->capture || x->capture) r = capture_wait(s, x);
    else if (x->foreign) r = enqueue(s, (Op){.kind = OP_DEP, .arg = x});
    else if (x->recorded && x->s != s) r = enqueue(s, (Op){.kind = OP_DEP, .dep = x->s, .depseq = x->seq});
    UNLOCK();
    return r;
}
