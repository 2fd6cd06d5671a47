/* Copies and fills. A pageable source is staged when the call is made and a pageable destination makes the call wait,
 * as the reference allows; pinned and managed memory are truly deferred. Everything is checked by block at the call
 * (INVALID_VALUE) and again when it runs (ILLEGAL_ADDRESS, for good). */
#include "double.h"

typedef struct { uintptr_t dst, src; size_t dst_pitch, src_pitch, dst_slice, src_slice, width, rows, slices; } Box;

static uintptr_t row_of(uintptr_t from, size_t pitch, size_t slice, size_t y, size_t z) {
    return from + z * slice + y * pitch;
}
static CUresult put_row(Stream *s, uintptr_t dst, uintptr_t src, size_t n) {
    Op o = {.kind = OP_COPY, .dst = dst, .src = src, .n = n};
    if (!s->capture && !find(src)) {
        o.staged = malloc(n);
        memcpy(o.staged, touch(src, n), n);
    }
    return enqueue(s, o);
}
static CUresult copy_box(const Box *b, CUstream h, int block) {
    STREAM_OR_FAIL(s, h);
    if (!b->width || !b->rows || !b->slices) return CUDA_SUCCESS;
    LOCK();
    CUresult r = admit(s);
    if (!r && block) r = refuse_wait(s);
    for (size_t z = 0; z < b->slices && !r; z++)
        for (size_t y = 0; y < b->rows && !r; y++)
            if (!touch(row_of(b->dst, b->dst_pitch, b->dst_slice, y, z), b->width)
                || !touch(row_of(b->src, b->src_pitch, b->src_slice, y, z), b->width)) r = CUDA_ERROR_INVALID_VALUE;
    int fits = !r;
    for (size_t z = 0; z < b->slices && !r; z++)
        for (size_t y = 0; y < b->rows && !r; y++)
            r = put_row(s, row_of(b->dst, b->dst_pitch, b->dst_slice, y, z),
                        row_of(b->src, b->src_pitch, b->src_slice, y, z), b->width);
    if (fits && !r && !s->capture && (block || !find(b->dst))) {
        run_to(s, s->enq);
        managed_gate();
    }
    UNLOCK();
    return r ? r : sticky;
}
static CUresult copy(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream h, int block) {
    Box b = {.dst = (uintptr_t)dst, .src = (uintptr_t)src, .width = n, .rows = 1, .slices = 1};
    return copy_box(&b, h, block);
}
#define AT(host) ((CUdeviceptr)(uintptr_t)(host))
API cuMemcpy(CUdeviceptr d, CUdeviceptr s, size_t n) { NEEDCTX(); return copy(d, s, n, NULL, 1); }
API cuMemcpyAsync(CUdeviceptr d, CUdeviceptr s, size_t n, CUstream h) { NEEDCTX(); return copy(d, s, n, h, 0); }
API cuMemcpyHtoD_v2(CUdeviceptr d, const void *s, size_t n) { NEEDCTX(); return copy(d, AT(s), n, NULL, 1); }
API cuMemcpyDtoH_v2(void *d, CUdeviceptr s, size_t n) { NEEDCTX(); return copy(AT(d), s, n, NULL, 1); }
API cuMemcpyDtoD_v2(CUdeviceptr d, CUdeviceptr s, size_t n) { NEEDCTX(); return copy(d, s, n, NULL, 0); }
API cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void *s, size_t n, CUstream h) {
    NEEDCTX();
    return copy(d, AT(s), n, h, 0);
}
API cuMemcpyDtoHAsync_v2(void *d, CUdeviceptr s, size_t n, CUstream h) { NEEDCTX(); return copy(AT(d), s, n, h, 0); }
API cuMemcpyDtoDAsync_v2(CUdeviceptr d, CUdeviceptr s, size_t n, CUstream h) { NEEDCTX(); return copy(d, s, n, h, 0); }
API cuMemcpyPeer(CUdeviceptr d, CUcontext dc, CUdeviceptr s, CUcontext sc, size_t n) {
    NEEDCTX();
    return copy(d, s, n, NULL, 0);
}
API cuMemcpyPeerAsync(CUdeviceptr d, CUcontext dc, CUdeviceptr s, CUcontext sc, size_t n, CUstream h) {
    NEEDCTX();
    return copy(d, s, n, h, 0);
}

/* ------------------------------------------------------------------------------------------ boxes of rows */
static int place(uintptr_t *at, int type, const void *host, CUdeviceptr device) {
    *at = type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : (uintptr_t)device;
    return type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED;
}
static CUresult copy2d(const CUDA_MEMCPY2D *c, CUstream h, int block) {
    Box b = {.src_pitch = c->srcPitch, .dst_pitch = c->dstPitch, .width = c->WidthInBytes, .rows = c->Height,
             .slices = 1};
    if (!place(&b.src, c->srcMemoryType, c->srcHost, c->srcDevice)
        || !place(&b.dst, c->dstMemoryType, c->dstHost, c->dstDevice)) return CUDA_ERROR_INVALID_VALUE;
    if (b.rows > 1 && (c->srcPitch < c->srcXInBytes + b.width || c->dstPitch < c->dstXInBytes + b.width))
        return CUDA_ERROR_INVALID_VALUE;
    b.src += c->srcY * c->srcPitch + c->srcXInBytes;
    b.dst += c->dstY * c->dstPitch + c->dstXInBytes;
    return copy_box(&b, h, block);
}
API cuMemcpy2D_v2(const CUDA_MEMCPY2D *c) { NEEDCTX(); return copy2d(c, NULL, 1); }
API cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *c) { NEEDCTX(); return copy2d(c, NULL, 1); }
API cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream h) { NEEDCTX(); return copy2d(c, h, 0); }

static int place3d(uintptr_t *at, size_t *pitch, size_t *slice, const CUDA_MEMCPY3D_END *end, const CUDA_MEMCPY3D *c) {
    if (!place(at, end->memoryType, end->host, end->device)) return 0;
    if (c->Height > 1 && end->pitch < end->XInBytes + c->WidthInBytes) return 0;
    if (c->Depth > 1 && end->height < end->Y + c->Height) return 0;
    *pitch = end->pitch;
    *slice = end->pitch * end->height;
    *at += end->Z * *slice + end->Y * *pitch + end->XInBytes;
    return 1;
}
static CUresult copy3d(const CUDA_MEMCPY3D *c, CUstream h, int block) {
    Box b = {.width = c->WidthInBytes, .rows = c->Height, .slices = c->Depth};
    if (!place3d(&b.src, &b.src_pitch, &b.src_slice, &c->src, c)
        || !place3d(&b.dst, &b.dst_pitch, &b.dst_slice, &c->dst, c)) return CUDA_ERROR_INVALID_VALUE;
    return copy_box(&b, h, block);
}
API cuMemcpy3D_v2(const CUDA_MEMCPY3D *c) { NEEDCTX(); return copy3d(c, NULL, 1); }
API cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *c, CUstream h) { NEEDCTX(); return copy3d(c, h, 0); }
API cuMemcpy3DPeer(const CUDA_MEMCPY3D *c) { NEEDCTX(); return copy3d(c, NULL, 0); }
API cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D *c, CUstream h) { NEEDCTX(); return copy3d(c, h, 0); }

/* ------------------------------------------------------------------------------------------------- fills */
static CUresult fill(CUdeviceptr d, unsigned v, size_t n, int width, CUstream h) {
    STREAM_OR_FAIL(s, h);
    if (!n) return CUDA_SUCCESS;
    LOCK();
    int pageable = G.model == M_HMM || G.model == M_ATS; /* the device reaches memory of malloc */
    CUresult r = touch(d, n * (size_t)width) && (pageable || find(d)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (!r) r = enqueue(s, (Op){.kind = OP_SET, .dst = d, .val = v, .n = n, .width = width});
    UNLOCK();
    return r;
}
API cuMemsetD8_v2(CUdeviceptr d, unsigned char v, size_t n) { NEEDCTX(); return fill(d, v, n, 1, NULL); }
API cuMemsetD16_v2(CUdeviceptr d, unsigned short v, size_t n) { NEEDCTX(); return fill(d, v, n, 2, NULL); }
API cuMemsetD32_v2(CUdeviceptr d, unsigned v, size_t n) { NEEDCTX(); return fill(d, v, n, 4, NULL); }
API cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, CUstream h) { NEEDCTX(); return fill(d, v, n, 1, h); }
API cuMemsetD16Async(CUdeviceptr d, unsigned short v, size_t n, CUstream h) { NEEDCTX(); return fill(d, v, n, 2, h); }
API cuMemsetD32Async(CUdeviceptr d, unsigned v, size_t n, CUstream h) { NEEDCTX(); return fill(d, v, n, 4, h); }
