/* Stream capture: work is recorded and does not run, and whoever waits, asks or allocates ends it.
 *
 * The rules are those of the reference (cuStreamBeginCapture, cuThreadExchangeStreamCaptureMode); which of several
 * possible codes an offence answers is not verified on hardware. A graph is the sequence of what was recorded. */
#include "double.h"

static Capture *captures; /* all there ever were: events may name them */
static __thread int thread_mode;

static int is_ours(const Capture *c) { return pthread_equal(c->thread, pthread_self()); }
static void spoil(Capture *c) { c->status = CAPTURE_INVALIDATED; }

CUresult admit(Stream *s) {
    CUresult r = CUDA_SUCCESS;
    if (s->capture) return s->capture->status == CAPTURE_INVALIDATED ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : r;
    if (!is_legacy(s)) return r;
    for (Stream *t = streams; t; t = t->nextall) {
        if (!t->capture || t->nonblocking || t->dev != s->dev) continue;
        spoil(t->capture);
        r = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return r;
}
CUresult unsafe_call(void) {
    CUresult r = CUDA_SUCCESS;
    LOCK();
    for (Capture *c = captures; c && thread_mode != CAPTURE_MODE_RELAXED; c = c->next) {
        int forbids = is_ours(c) || (thread_mode == CAPTURE_MODE_GLOBAL && c->mode == CAPTURE_MODE_GLOBAL);
        if (!c->open || c->mode == CAPTURE_MODE_RELAXED || !forbids) continue;
        spoil(c);
        r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    UNLOCK();
    return r;
}
CUresult refuse_wait(Stream *s) {
    if (!s->capture) return unsafe_call();
    CUresult r = admit(s);
    spoil(s->capture);
    return r ? r : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}
CUresult refuse_device_wait(int dev) {
    CUresult r = unsafe_call();
    for (Stream *s = streams; s; s = s->nextall) {
        if (!s->capture || s->dev != dev) continue;
        spoil(s->capture);
        r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return r;
}

void capture_op(Stream *s, Op o) {
    Graph *g = s->capture->graph;
    Op *p = malloc(sizeof *p);
    *p = o;
    p->next = NULL;
    if (g->tail) g->tail->next = p;
    else g->head = p;
    g->tail = p;
    g->nodes++;
    s->mark++;
    s->unjoined = s != s->capture->origin;
}
CUresult capture_wait(Stream *s, Event *e) {
    Capture *c = e->capture;
    if (!c) { /* something outside of the sequence would have to happen first */
        if (!e->recorded && !e->foreign) return CUDA_SUCCESS;
        spoil(s->capture);
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (!c->open) return CUDA_ERROR_CAPTURED_EVENT;
    if (c->status == CAPTURE_INVALIDATED) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (is_legacy(s)) {
        spoil(c);
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    if (s->capture && s->capture != c) {
        spoil(c);
        spoil(s->capture);
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (!s->capture) {
        s->capture = c;
        s->mark = 0;
        s->unjoined = 1;
    }
    if (e->s != s && e->mark == e->s->mark) e->s->unjoined = 0;
    return CUDA_SUCCESS;
}

static CUresult begin(CUstream h, int mode) {
    static unsigned long long id = 1;
    STREAM_OR_FAIL(s, h);
    if (is_legacy(s)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (s->capture) return CUDA_ERROR_ILLEGAL_STATE;
    Capture *c = calloc(1, sizeof *c);
    LOCK();
    *c = (Capture){.id = id++, .mode = mode, .status = CAPTURE_ACTIVE, .open = 1, .thread = pthread_self(),
                   .origin = s, .graph = calloc(1, sizeof(Graph)), .next = captures};
    captures = s->capture = c;
    s->mark = 0;
    UNLOCK();
    return CUDA_SUCCESS;
}
API cuStreamBeginCapture_v2(CUstream h, int mode) { NEEDINIT(); return begin(h, mode); }
API cuStreamEndCapture(CUstream h, CUgraph *graph) {
    NEEDINIT();
    STREAM_OR_FAIL(s, h);
    Capture *c = s->capture;
    *graph = NULL;
    if (!c) return CUDA_ERROR_ILLEGAL_STATE;
    LOCK();
    CUresult r = CUDA_SUCCESS;
    if (c->origin != s) r = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    else if (c->mode != CAPTURE_MODE_RELAXED && !is_ours(c)) r = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    if (r) spoil(c);
    else {
        if (c->status == CAPTURE_INVALIDATED) r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        for (Stream *t = streams; t; t = t->nextall) {
            if (t->capture != c) continue;
            if (t != s && t->unjoined && !r) r = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
            t->capture = NULL;
            t->unjoined = 0;
        }
        c->open = 0;
        if (!r) *graph = (CUgraph)c->graph;
    }
    UNLOCK();
    return r;
}
static CUresult status_of(CUstream h, int *status, Capture **c) {
    STREAM_OR_FAIL(s, h);
    LOCK();
    *c = s->capture;
    *status = *c ? (*c)->status : CAPTURE_NONE;
    CUresult r = CUDA_SUCCESS;
    for (Stream *t = is_legacy(s) ? streams : NULL; t; t = t->nextall) /* says so, and spoils nothing */
        if (t->capture && !t->nonblocking && t->dev == s->dev) r = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    UNLOCK();
    return r;
}
API cuStreamIsCapturing(CUstream h, int *status) {
    NEEDINIT();
    Capture *c;
    return status_of(h, status, &c);
}
static CUresult capture_info(CUstream h, int *status, uint64_t *id, CUgraph *graph) {
    Capture *c;
    CUresult r = status_of(h, status, &c);
    if (r || *status != CAPTURE_ACTIVE) return r;
    if (id) *id = c->id;
    if (graph) *graph = (CUgraph)c->graph;
    return CUDA_SUCCESS;
}
API cuStreamGetCaptureInfo(CUstream h, int *status, uint64_t *id) {
    NEEDINIT();
    return capture_info(h, status, id, NULL);
}
API cuStreamGetCaptureInfo_v2(CUstream h, int *status, uint64_t *id, CUgraph *graph, void **nodes, size_t *n) {
    NEEDINIT();
    if (nodes) *nodes = NULL;
    if (n) *n = 0;
    return capture_info(h, status, id, graph);
}
API cuStreamGetCaptureInfo_v3(CUstream h, int *status, uint64_t *id, CUgraph *graph, void **nodes, void **edges,
                              size_t *n) {
    NEEDINIT();
    if (nodes) *nodes = NULL;
    if (edges) *edges = NULL;
    if (n) *n = 0;
    return capture_info(h, status, id, graph);
}
API cuThreadExchangeStreamCaptureMode(int *mode) {
    NEEDINIT();
    int was = thread_mode;
    if (*mode < CAPTURE_MODE_GLOBAL || *mode > CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    thread_mode = *mode;
    *mode = was;
    return CUDA_SUCCESS;
}

/* ---------------------------------------------------------------------------------------------- graphs */
API cuGraphGetNodes(CUgraph graph, void **nodes, size_t *n) { /* their number only */
    NEEDINIT();
    if (nodes) return CUDA_ERROR_NOT_SUPPORTED;
    *n = ((Graph *)graph)->nodes;
    return CUDA_SUCCESS;
}
static CUresult instantiate(CUgraph *exec, CUgraph graph) {
    *exec = graph;
    return graph ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
API cuGraphInstantiate(CUgraph *x, CUgraph g, unsigned long long f) { NEEDINIT(); return instantiate(x, g); }
API cuGraphInstantiateWithFlags(CUgraph *x, CUgraph g, unsigned long long f) { NEEDINIT(); return instantiate(x, g); }
API cuGraphInstantiateWithParams(CUgraph *x, CUgraph g, void *p) { NEEDINIT(); return instantiate(x, g); }
API cuGraphUpload(CUgraph exec, CUstream h) { NEEDINIT(); return CUDA_SUCCESS; }
API cuGraphLaunch(CUgraph exec, CUstream h) {
    NEEDINIT();
    STREAM_OR_FAIL(s, h);
    CUresult r = CUDA_SUCCESS;
    LOCK();
    for (Op *o = ((Graph *)exec)->head; o && !r; o = o->next) r = enqueue(s, *o);
    UNLOCK();
    return r;
}
API cuGraphDestroy(CUgraph graph) { NEEDINIT(); return CUDA_SUCCESS; }
API cuGraphExecDestroy(CUgraph exec) { NEEDINIT(); return CUDA_SUCCESS; }
