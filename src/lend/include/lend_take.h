/* lend_take.h 1.1: any array from any Python library as one plain C struct, with nothing installed beside it.
 *
 * One file to copy into a project of yours. C99 and C++11, within the Limited API of Python 3.11; nothing is linked,
 * nothing imported. It fills the same `lend_view` as lend.h of the package `lend`, which does more: it counts copies,
 * knows more protocols and hands out memory of C. Both may be used in one file.
 *
 *     lend_view v = LEND_VIEW_INIT;
 *     if (lend_take(object, NULL, &v) < 0) return NULL;         // a Python exception is set
 *     ... v.device_type, lend_data(&v), lend_shape(&v), lend_strides(&v), v.dtype ...
 *     lend_take_release(&v);                                    // any thread, with or without the GIL
 *
 * Taken: buffer protocol, DLPack (C exchange table, __dlpack__ of either kind, a bare capsule), the array interfaces of
 * CUDA, SYCL and NumPy, in this order; a type that has a device interface is asked for its device before its buffer.
 * What contradicts itself is refused, and so is what one block of strided memory cannot say: masks, suboffsets, Python
 * objects, of torch what needs a gradient or is conjugated or negated lazily, and values of less than a byte (int4,
 * uint2, float4, float6) that are packed and fill no whole bytes: an element is one of them in a byte of its own, or
 * lanes of them (DLPack's) that fill bytes: see lend_dtype.itemsize.
 *
 * Memory of devices is described, never touched: look at `device_type` before you look at the memory. `device_id` is -1
 * where the object does not tell it (the CUDA and SYCL interfaces); ask the driver by the address. `sync` is the stream
 * that the producer works on, for you to wait for, or the stream of your request where DLPack ordered the memory on it;
 * with LEND_SYNC_UNKNOWN nobody said: wait for the device.
 *
 * Sources of the meanings:
 * buffer protocol  https://docs.python.org/3/c-api/buffer.html
 * DLPack 1.3       https://dmlc.github.io/dlpack/latest/
 * NumPy            https://numpy.org/doc/stable/reference/arrays.interface.html
 * CUDA             https://nvidia.github.io/numba-cuda/user/cuda_array_interface.html
 * SYCL             https://intelpython.github.io/dpctl/latest/api_reference/dpctl/sycl_usm_array_interface.html
 *
 * SPDX-License-Identifier: Apache-2.0
 * Copyright the lend developers. Licensed under the Apache License, Version 2.0, which stands with its disclaimer of
 * warranties at http://www.apache.org/licenses/LICENSE-2.0
 */
#ifndef LEND_TAKE_H
#define LEND_TAKE_H

#define LEND_TAKE_VERSION "1.1"

#include <Python.h>

/* -- the struct: the same text in lend.h and lend_take.h, which may be used together ------------------------------- */
#ifndef LEND_VIEW_H
#define LEND_VIEW_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Structs and tables of one major version only grow, at their ends. */
#define LEND_ABI_MAJOR 1
#define LEND_ABI_MINOR 0
#define LEND_ABI ((LEND_ABI_MAJOR << 16) | LEND_ABI_MINOR)

#define LEND_INLINE_DIMS 8

/* lend_dtype.code: DLPack's codes (0 to 17), and what DLPack has no word for */
enum {
    LEND_INT = 0,
    LEND_UINT = 1,
    LEND_FLOAT = 2,
    LEND_HANDLE = 3, /* an opaque handle of the producer's */
    LEND_BFLOAT = 4,
    LEND_COMPLEX = 5,
    LEND_BOOL = 6, /* one byte, 0 or 1 */
    LEND_FLOAT8_E3M4 = 7, /* as DLPack numbers them; what they mean: github.com/jax-ml/ml_dtypes */
    LEND_FLOAT8_E4M3 = 8,
    LEND_FLOAT8_E4M3B11FNUZ = 9,
    LEND_FLOAT8_E4M3FN = 10,
    LEND_FLOAT8_E4M3FNUZ = 11,
    LEND_FLOAT8_E5M2 = 12,
    LEND_FLOAT8_E5M2FNUZ = 13,
    LEND_FLOAT8_E8M0FNU = 14,
    LEND_FLOAT6_E2M3FN = 15,
    LEND_FLOAT6_E3M2FN = 16,
    LEND_FLOAT4_E2M1FN = 17,
    LEND_OPAQUE = 128,    /* bytes without a meaning */
    LEND_DATETIME = 129,  /* int64 ticks of `multiplier` `unit`s since 1970 */
    LEND_TIMEDELTA = 130, /* int64 ticks of `multiplier` `unit`s */
    LEND_BYTES = 131,     /* fixed width, padded with zeros */
    LEND_UCS4 = 132,      /* fixed width text, four bytes a character, padded with zeros */
    LEND_RECORD = 133,    /* several fields */
    LEND_OBJECT = 134,    /* a pointer to a Python object */
    LEND_ANY_TYPE = 255   /* in a request */
};

/* lend_dtype.unit: NumPy's units */
enum {
    LEND_UNIT_NONE = 0, LEND_UNIT_Y, LEND_UNIT_M, LEND_UNIT_W, LEND_UNIT_D, LEND_UNIT_h, LEND_UNIT_m, LEND_UNIT_s,
    LEND_UNIT_ms, LEND_UNIT_us, LEND_UNIT_ns, LEND_UNIT_ps, LEND_UNIT_fs, LEND_UNIT_as
};

typedef struct lend_dtype {
    uint8_t code;
    uint8_t order;       /* '<', '>', or '|' for what has no byte order */
    uint8_t unit;        /* of a datetime or timedelta */
    uint8_t reserved;
    uint16_t bits;       /* of one lane; 0 for what is measured in itemsize alone */
    uint16_t lanes;      /* values in one element, mostly 1 */
    uint32_t itemsize;   /* bytes of one element, lanes included. Below 8 bits: of as many bytes as lanes each value
                            stands alone in a byte, of fewer they are packed, the first one lowest; 0 where elements
                            share a byte */
    uint32_t multiplier; /* of the unit; else 1 */
} lend_dtype;

/* lend_view.flags */
enum {
    LEND_READONLY = 1,      /* must not be written to */
    LEND_C_CONTIGUOUS = 2,
    LEND_F_CONTIGUOUS = 4,
    LEND_ALIGNED = 8,       /* every element lies at a multiple of its alignment; of handles: counted from them */
    LEND_EXCLUSIVE = 16,    /* a private copy */
    LEND_OPAQUE_HANDLE = 32, /* `data` is a handle of the device's, and `byte_offset` counts into it */
    LEND_SYNC_UNKNOWN = 64   /* memory of a device of which nobody said on what stream it is ordered: wait for all */
};

typedef struct lend_view {
    uint32_t abi;         /* LEND_ABI of the caller */
    uint32_t struct_size; /* sizeof(lend_view) of the caller */
    void *data;           /* address of element 0, or an opaque handle */
    uint64_t byte_offset; /* of element 0; other than 0 with LEND_OPAQUE_HANDLE only */
    uint64_t nbytes;      /* bytes of all elements, without gaps */
    int32_t device_type;  /* DLPack's: 1 cpu, 2 cuda, 3 cuda_host, ... */
    int32_t device_id;    /* -1: not known */
    lend_dtype dtype;
    int32_t ndim;
    uint32_t flags;
    int64_t dims[2 * LEND_INLINE_DIMS]; /* shape, then strides in bytes; use lend_shape() and lend_strides() */
    int64_t *far_dims;                  /* instead of dims above 8 dimensions: ndim extents, then ndim strides */
    void *sync;                         /* stream on which the memory is ordered; NULL: none to wait for, unless
                                           LEND_SYNC_UNKNOWN is set. 1 and 2 are CUDA's default streams */
    void *lease;                        /* what release gives back; NULL for a borrowed view */
    void (*release)(struct lend_view *view);
    void *reserved[2];
} lend_view;

#define LEND_VIEW_INIT {LEND_ABI, sizeof(lend_view), NULL, 0, 0, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0}, 0, 0, \
                        {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, NULL, NULL, NULL, NULL, {NULL, NULL}}

/* lend_request.flags: other bits than those of a view */
enum {
    LEND_WRITABLE = 256,        /* refuse read-only memory; without a copy allowed it is your word that memory of an
                                   unversioned DLPack capsule, which cannot say so, may be written to */
    LEND_C_ORDER = 512,         /* row-major without gaps */
    LEND_F_ORDER = 1024,        /* column-major without gaps */
    LEND_COPY_IF_NEEDED = 2048, /* what does not lie as requested is copied (counted by lend.copies()); else refused */
    LEND_COPY = 4096,           /* always fresh, writable memory */
    LEND_NEED_ALIGNED = 8192    /* every element at a multiple of its alignment, as LEND_ALIGNED says */
};

typedef struct lend_request {
    uint32_t struct_size;
    uint32_t flags;
    lend_dtype dtype;    /* compared by code, order, unit, bits, lanes and multiplier; where bits is 0 (bytes, text,
                            records, opaque) by itemsize, of which 0 is any; below 8 bits an itemsize of 0 is packed
                            and a byte for each lane is padded. What has no byte order meets any of '<', '>' and '|'.
                            A ValueError: no such dtype, as with an itemsize that is neither 0 nor what bits and
                            lanes make. LEND_ANY_TYPE: any */
    int32_t ndim;        /* -1: any */
    uint32_t align;      /* bytes, a power of two, of the address (of a handle: of the byte_offset); 0: any */
    int32_t device_type; /* 0: any; 1: memory that the host reads */
    int32_t device_id;   /* -1: any */
    void *stream;        /* yours, to order device memory on */
} lend_request;

#define LEND_REQUEST_INIT {sizeof(lend_request), 0, {LEND_ANY_TYPE, '|', 0, 0, 0, 1, 0, 1}, -1, 0, 0, 0, NULL}

/* Address of element 0 in memory that has addresses. */
static inline void *lend_data(const lend_view *view) {
    return (view->flags & LEND_OPAQUE_HANDLE) ? view->data : (void *)((char *)view->data + view->byte_offset);
}

/* ndim extents. */
static inline const int64_t *lend_shape(const lend_view *view) {
    return view->ndim <= LEND_INLINE_DIMS ? view->dims : view->far_dims;
}

/* ndim steps in bytes, any sign; all 0 where several elements share a byte (dtype.itemsize 0, dtype.bits below 8): those
 * lie row-major, the first in the lowest bits. */
static inline const int64_t *lend_strides(const lend_view *view) {
    return view->ndim <= LEND_INLINE_DIMS ? view->dims + LEND_INLINE_DIMS : view->far_dims + view->ndim;
}

/* Elements; 1 without dimensions. */
static inline int64_t lend_size(const lend_view *view) {
    const int64_t *shape = lend_shape(view);
    int64_t size = 1;
    int32_t i;
    for (i = 0; i < view->ndim; i++) size *= shape[i];
    return size;
}

/* 1 if the elements are what a C type of this code and width holds, in this machine's byte order: lend_holds(&v,
 * LEND_FLOAT, sizeof(double)). */
static inline int lend_holds(const lend_view *view, int code, size_t size) {
    const uint16_t one = 1;
    const char native = *(const char *)&one ? '<' : '>';
    return view->dtype.code == code && view->dtype.itemsize == size && view->dtype.lanes == 1
           && (view->dtype.order == '|' || view->dtype.order == (uint8_t)native);
}

/* A dtype of one lane in this machine's byte order: lend_native(LEND_FLOAT, 64). */
static inline lend_dtype lend_native(int code, int bits) {
    const uint16_t one = 1;
    lend_dtype made;
    memset(&made, 0, sizeof(made));
    made.code = (uint8_t)code;
    made.order = bits <= 8 ? '|' : *(const char *)&one ? '<' : '>';
    made.bits = (uint16_t)bits;
    made.lanes = 1;
    made.itemsize = (uint32_t)(bits / 8);
    made.multiplier = 1;
    return made;
}

#if UINTPTR_MAX == 0xFFFFFFFFFFFFFFFFu
typedef char lend_dtype_is_16_bytes[sizeof(lend_dtype) == 16 ? 1 : -1];
typedef char lend_view_is_240_bytes[sizeof(lend_view) == 240 ? 1 : -1];
typedef char lend_view_dims_are_at_64[offsetof(lend_view, dims) == 64 ? 1 : -1];
typedef char lend_view_release_is_at_216[offsetof(lend_view, release) == 216 ? 1 : -1];
typedef char lend_request_is_48_bytes[sizeof(lend_request) == 48 ? 1 : -1];
#endif

#ifdef __cplusplus
}
#endif
#endif /* LEND_VIEW_H */
/* -- end of the struct --------------------------------------------------------------------------------------------- */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- the two functions --------------------------------------------------------------------------------------------- */

/* Describe the memory of an object and keep it alive until lend_take_release(). `request` may be NULL: whatever comes,
 * as it lies. LEND_COPY and LEND_COPY_IF_NEEDED copy host memory, byte order kept, into fresh memory of malloc's; of
 * pinned memory it is yours to wait for pending work first. `device_id` -1 in a request: any.
 * 0, or -1 with an exception set and nothing to release: BufferError for what is refused, TypeError for an object with
 * no protocol at all, ValueError for a request that makes no sense. With the GIL.
 * Refused for a mask: arrays of numpy.ma, and an interface that is taken and has one. An attribute `mask` is not looked
 * at, nor is an interface beside what serves: lend.h refuses these too. */
static inline int lend_take(PyObject *object, const lend_request *request, lend_view *view);

/* Give back what lend_take gave, once; harmless on an empty or a released view, and the same as lend_release() of
 * lend.h. On any thread, with or without the GIL; after the interpreter's end it does nothing. */
static inline void lend_take_release(lend_view *view) {
    void (*release)(lend_view *) = view->release;
    if (release != NULL) {
        view->release = NULL;
        release(view);
    }
    view->data = NULL;
    view->lease = NULL;
}

/* -- DLPack's structs, as its specification lays them out ---------------------------------------------------------- */

typedef struct lend_take_tensor {
    void *data;
    int32_t device_type;
    int32_t device_id;
    int32_t ndim;
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: row-major */
    uint64_t byte_offset;
} lend_take_tensor;

typedef struct lend_take_unversioned {
    lend_take_tensor tensor;
    void *manager;
    void (*deleter)(struct lend_take_unversioned *self);
} lend_take_unversioned;

typedef struct lend_take_versioned {
    uint32_t major;
    uint32_t minor;
    void *manager;
    void (*deleter)(struct lend_take_versioned *self);
    uint64_t flags;
    lend_take_tensor tensor;
} lend_take_versioned;

typedef struct lend_take_table {
    uint32_t major;
    uint32_t minor;
    struct lend_take_table *previous; /* of another major version */
    void (*allocate)(void);
    int (*from_object)(void *object, lend_take_versioned **out);
    void (*to_object)(void);
    void (*borrow)(void);
    int (*work_stream)(int32_t device_type, int32_t device_id, void **out);
} lend_take_table;

#if UINTPTR_MAX == 0xFFFFFFFFFFFFFFFFu
typedef char lend_take_unversioned_is_64_bytes[sizeof(lend_take_unversioned) == 64 ? 1 : -1];
typedef char lend_take_versioned_is_80_bytes[sizeof(lend_take_versioned) == 80 ? 1 : -1];
typedef char lend_take_table_is_56_bytes[sizeof(lend_take_table) == 56 ? 1 : -1];
#endif

/* -- the lease ----------------------------------------------------------------------------------------------------- */

#define LEND_TAKE_DIMS 64 /* the limit of the buffer protocol */

/* What is held. It stays where it is: the dimensions of a Py_buffer may lie in the Py_buffer itself. */
typedef struct lend_take_lease {
    PyObject *object;
    Py_buffer buffer;
    int opened; /* the buffer */
    int versioned;
    void *managed; /* a DLPack tensor */
    void *block;   /* a copy */
    int64_t *dims;
} lend_take_lease;

/* Release all but the copy, whatever exception is on its way. With the GIL. */
static inline void lend_take_let_go(lend_take_lease *lease) {
    PyObject *kind, *value, *trace, *object = lease->object;
    void *managed = lease->managed;
    PyErr_Fetch(&kind, &value, &trace);
    lease->managed = NULL;
    lease->object = NULL;
    if (lease->opened) {
        lease->opened = 0;
        PyBuffer_Release(&lease->buffer);
    }
    if (managed != NULL && lease->versioned) {
        if (((lend_take_versioned *)managed)->deleter != NULL)
            ((lend_take_versioned *)managed)->deleter((lend_take_versioned *)managed);
    } else if (managed != NULL) {
        if (((lend_take_unversioned *)managed)->deleter != NULL)
            ((lend_take_unversioned *)managed)->deleter((lend_take_unversioned *)managed);
    }
    Py_XDECREF(object);
    if (PyErr_Occurred() != NULL) PyErr_WriteUnraisable(NULL);
    PyErr_Restore(kind, value, trace);
}

/* view->release. */
static inline void lend_take_give_back(lend_view *view) {
    lend_take_lease *lease = (lend_take_lease *)view->lease;
    view->lease = NULL;
    if (view->far_dims != NULL) {
        view->far_dims = NULL;
        view->ndim = 0;
    }
    if (lease == NULL) return;
    if (lease->opened || lease->managed != NULL || lease->object != NULL) {
        PyGILState_STATE state;
        /* false from the moment in which the interpreter begins to end: then leaking is right */
        if (!Py_IsInitialized()) return;
        state = PyGILState_Ensure();
        lend_take_let_go(lease);
        PyGILState_Release(state);
    }
    free(lease->block);
    free(lease->dims);
    free(lease);
}

/* -- refusals ------------------------------------------------------------------------------------------------------ */

/* how a door answers */
enum {
    LEND_TAKE_OPEN = 0,
    LEND_TAKE_ABSENT = 1,
    LEND_TAKE_REFUSED = -1, /* an exception is set; another door may serve */
    LEND_TAKE_FINAL = -2    /* an exception is set, for good */
};

#define LEND_TAKE_FAULT "tell the library that made it: what it says of its memory cannot be true"
#define LEND_TAKE_OTHER "an array of a dtype that C has a word for, or its bytes: x.view(\"uint8\")"

typedef struct lend_take_job {
    PyObject *object;
    const lend_request *request;
    lend_view *view;
    lend_take_lease *lease;
    const char *door; /* the protocol that is tried */
    int64_t low;      /* the bytes that the elements touch, from element 0 on: [low, high) */
    int64_t high;
    int32_t announced; /* device type by __dlpack_device__: -1 not asked, 0 not told, -2 nonsense */
    int32_t announced_id; /* -1: not told, -2: nonsense */
    int copy;
    int rows;    /* behind pointers: suboffsets */
    int ordered; /* `sync` says all that there is to wait for */
    PyObject *tried; /* what the doors so far said */
    PyObject *first; /* the first refusal */
    PyObject *fact;  /* the sentence of the last one */
    int refusals;
} lend_take_job;

/* numpy.ndarray, bytes: a type as its users know it. A new reference, or NULL with an exception set. */
static inline PyObject *lend_take_name(PyObject *object) {
    PyObject *name = PyType_GetQualName(Py_TYPE(object));
    PyObject *module = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__module__");
    PyObject *whole = NULL;
    PyErr_Clear();
    if (name == NULL) return PyUnicode_FromString("object");
    if (module != NULL && PyUnicode_Check(module) && PyUnicode_CompareWithASCIIString(module, "builtins") != 0)
        whole = PyUnicode_FromFormat("%U.%U", module, name);
    Py_XDECREF(module);
    if (whole == NULL) return name;
    Py_DECREF(name);
    return whole;
}

/* Set a BufferError: one sentence of fact, then where it stands, then what to do. */
static inline int lend_take_refuse(lend_take_job *job, const char *field, const char *remedy, const char *format, ...) {
    PyObject *fact, *name;
    va_list facts;
    va_start(facts, format);
    fact = PyUnicode_FromFormatV(format, facts);
    va_end(facts);
    if (fact == NULL && PyErr_ExceptionMatches(PyExc_Exception)) { /* the repr of what came may raise anything */
        PyErr_Clear();
        fact = PyUnicode_FromFormat("its %s is wrong, and cannot be shown", field);
    }
    Py_XDECREF(job->fact);
    job->fact = fact;
    name = fact == NULL ? NULL : lend_take_name(job->object);
    if (name == NULL) return LEND_TAKE_FINAL;
    PyErr_Format(PyExc_BufferError, "%U: %U\n  tried  : %s -> %s\n  try    : %s", name, fact, job->door, field, remedy);
    Py_DECREF(name);
    return LEND_TAKE_REFUSED;
}

#define lend_take_fault(job, field, ...) lend_take_refuse(job, field, LEND_TAKE_FAULT, __VA_ARGS__)

/* The pending exception, as an instance. */
static inline PyObject *lend_take_pending(void) {
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    PyErr_NormalizeException(&kind, &value, &trace);
    if (value != NULL && trace != NULL) PyException_SetTraceback(value, trace);
    Py_XDECREF(kind);
    Py_XDECREF(trace);
    return value;
}

/* The first line of what an exception says. Never NULL but without memory. */
static inline PyObject *lend_take_said(PyObject *error) {
    PyObject *text = PyObject_Str(error);
    PyObject *line;
    Py_ssize_t end;
    if (text == NULL) {
        PyErr_Clear();
        return PyUnicode_FromString("(its text cannot be read)");
    }
    end = PyUnicode_FindChar(text, '\n', 0, PyUnicode_GetLength(text), 1);
    if (end < 0) return text;
    line = PyUnicode_Substring(text, 0, end);
    Py_DECREF(text);
    return line;
}

/* The producer raised: what is no refusal passes, the rest becomes a BufferError with it as the cause. */
static inline int lend_take_raised(lend_take_job *job, const char *field) {
    PyObject *error, *kind, *said, *ours;
    if (PyErr_Occurred() == NULL)
        return lend_take_fault(job, field, "it failed without an exception");
    if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)
        || PyErr_ExceptionMatches(PyExc_RecursionError))
        return LEND_TAKE_FINAL;
    error = lend_take_pending();
    if (error == NULL) return LEND_TAKE_FINAL;
    kind = lend_take_name(error);
    said = lend_take_said(error);
    if (kind != NULL && said != NULL)
        lend_take_refuse(job, field, "what its text says, or another array of the same values", "it refused: %U: %U",
            kind, said);
    Py_XDECREF(kind);
    Py_XDECREF(said);
    ours = lend_take_pending();
    if (ours == NULL) {
        Py_DECREF(error);
        return LEND_TAKE_FINAL;
    }
    PyException_SetCause(ours, error);
    PyErr_SetObject((PyObject *)Py_TYPE(ours), ours);
    Py_DECREF(ours);
    return LEND_TAKE_REFUSED;
}

/* Put a refusal aside, to be said when all doors are closed. */
static inline int lend_take_note(lend_take_job *job) {
    PyObject *error = lend_take_pending();
    PyObject *tried;
    if (error == NULL) return LEND_TAKE_FINAL;
    tried = job->tried == NULL ? PyUnicode_FromFormat("\n  tried  : %s -> %U", job->door, job->fact)
                               : PyUnicode_FromFormat("%U\n  tried  : %s -> %U", job->tried, job->door, job->fact);
    Py_XDECREF(job->tried);
    job->tried = tried;
    job->refusals++;
    if (job->first == NULL)
        job->first = error;
    else
        Py_DECREF(error);
    return tried == NULL ? LEND_TAKE_FINAL : LEND_TAKE_REFUSED;
}

/* All doors are closed. */
static inline void lend_take_closed(lend_take_job *job) {
    PyObject *name, *error;
    if (job->refusals == 1) {
        PyErr_SetObject((PyObject *)Py_TYPE(job->first), job->first);
        return;
    }
    name = lend_take_name(job->object);
    if (name == NULL) return;
    if (job->refusals == 0) {
        PyErr_Format(PyExc_TypeError,
                     "cannot take %s%U as one array: it has no buffer protocol, DLPack, CUDA, SYCL or NumPy array "
                     "interface\n  try    : numpy.asarray(x), or one column or part of it",
                     PyType_Check(job->object) ? "a class, whose type is " : "", name);
    } else {
        PyErr_Format(PyExc_BufferError, "%U: none of its protocols lends it as one array%U\n  try    : %s", name,
                     job->tried, "what the producer's text says, or an array of another dtype or library");
        error = lend_take_pending();
        if (error != NULL) {
            Py_INCREF(job->first);
            PyException_SetCause(error, job->first);
            PyErr_SetObject((PyObject *)Py_TYPE(error), error);
            Py_DECREF(error);
        }
    }
    Py_DECREF(name);
}

/* -- numbers, attributes ------------------------------------------------------------------------------------------- */

/* a * b for a >= 0; 1 if it does not fit. */
static inline int lend_take_mul(int64_t a, int64_t b, int64_t *out) {
    if (a > 0 && (b > INT64_MAX / a || b < INT64_MIN / a)) return 1;
    *out = a * b;
    return 0;
}

/* An attribute: 1 and a new reference, 0 if there is none, -1 with an exception set. */
static inline int lend_take_find(PyObject *object, const char *name, PyObject **out) {
#if PY_VERSION_HEX >= 0x030D0000 && (!defined(Py_LIMITED_API) || Py_LIMITED_API + 0 >= 0x030D0000)
    return PyObject_GetOptionalAttrString(object, name, out); /* makes no exception first */
#else
    *out = PyObject_GetAttrString(object, name);
    if (*out != NULL) return 1;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
    PyErr_Clear();
    return 0;
#endif
}

/* 1 if the type has the attribute, where the interpreter looks for special methods; -1 with an exception set. */
static inline int lend_take_shows(PyObject *object, const char *name) {
    PyObject *found;
    int answer = lend_take_find((PyObject *)Py_TYPE(object), name, &found);
    Py_XDECREF(found);
    return answer;
}

/* 1 if the object is of a class of a module that somebody has imported (the class in `cls`); -1 with an exception. */
static inline int lend_take_is(PyObject *object, const char *module, const char *name, PyObject **cls) {
    PyObject *text = PyUnicode_FromString(module);
    PyObject *loaded = text == NULL ? NULL : PyImport_GetModule(text);
    PyObject *found = NULL;
    int answer = -1;
    Py_XDECREF(text);
    if (loaded == NULL) return PyErr_Occurred() == NULL ? 0 : -1;
    answer = lend_take_find(loaded, name, &found);
    if (answer > 0) answer = PyType_Check(found) && PyType_IsSubtype(Py_TYPE(object), (PyTypeObject *)found);
    Py_DECREF(loaded);
    if (cls != NULL && answer > 0)
        *cls = found;
    else
        Py_XDECREF(found);
    return answer;
}

/* An integer from outside, True and False are none: 1, 0 if it is none of 64 bits, -1 with an exception set. */
static inline int lend_take_integer(PyObject *item, int is_signed, int64_t *out, uint64_t *address) {
    PyObject *number;
    if (PyBool_Check(item) || !PyIndex_Check(item)) return 0;
    number = PyNumber_Index(item);
    if (number == NULL) return -1;
    if (is_signed)
        *out = (int64_t)PyLong_AsLongLong(number);
    else
        *address = (uint64_t)PyLong_AsUnsignedLongLong(number);
    Py_DECREF(number);
    if (PyErr_Occurred() == NULL) return 1;
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return -1;
    PyErr_Clear();
    return 0;
}

/* -- dtypes -------------------------------------------------------------------------------------------------------- */

/* A dtype of one or more lanes, or (bits 0) of so many bytes; what has no byte order says '|'. */
static inline lend_dtype lend_take_dtype(int code, int bits, int lanes, uint64_t itemsize, char order) {
    lend_dtype made = lend_native(code, bits);
    if (order != 0 && bits > 8) made.order = (uint8_t)order;
    if (code == LEND_UCS4) made.order = (uint8_t)(order != 0 ? order : lend_native(LEND_INT, 32).order);
    made.lanes = (uint16_t)lanes;
    made.itemsize = (uint32_t)itemsize;
    return made;
}

static inline const char *const *lend_take_units(void) {
    static const char *const units[] = {"",   "Y",  "M",  "W",  "D",  "h",  "m", "s",
                                        "ms", "us", "ns", "ps", "fs", "as", NULL};
    return units;
}

/* The names of DLPack's floats of 8, 6 and 4 bits, from code 7 on; those of ml_dtypes. */
static inline const char *const *lend_take_small(void) {
    static const char *const names[] = {"float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
                                        "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
                                        "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn", NULL};
    return names;
}

#define LEND_TAKE_TEXT 64

/* A dtype in words: float32, >int16, 2 lanes of uint8, datetime64[25s], bytes of 7. */
static inline const char *lend_take_spell(const lend_dtype *dtype, char *text) {
    static const char *const kinds[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
    static const char *const wide[] = {"opaque", "datetime", "timedelta", "bytes", "ucs4", "record", "object"};
    const lend_dtype native = lend_native(LEND_INT, 32);
    char lanes[24] = "";
    char order[2] = "";
    if (dtype->lanes != 1) snprintf(lanes, sizeof(lanes), "%u lanes of ", (unsigned)dtype->lanes);
    if (dtype->order != '|' && dtype->order != native.order) order[0] = (char)dtype->order;
    if (dtype->code == LEND_DATETIME || dtype->code == LEND_TIMEDELTA)
        snprintf(text, LEND_TAKE_TEXT, "%s%s64[%u%s]", order, wide[dtype->code - LEND_OPAQUE],
                 (unsigned)dtype->multiplier, lend_take_units()[dtype->unit <= LEND_UNIT_as ? dtype->unit : 0]);
    else if (dtype->code >= LEND_OPAQUE && dtype->code <= LEND_OBJECT)
        snprintf(text, LEND_TAKE_TEXT, "%s%s of %u bytes", order, wide[dtype->code - LEND_OPAQUE],
                 (unsigned)dtype->itemsize);
    else if (dtype->code == LEND_BOOL)
        snprintf(text, LEND_TAKE_TEXT, "%sbool", lanes);
    else if (dtype->code < LEND_BOOL)
        snprintf(text, LEND_TAKE_TEXT, "%s%s%s%u", lanes, order, kinds[dtype->code], (unsigned)dtype->bits);
    else if (dtype->code <= LEND_FLOAT4_E2M1FN)
        snprintf(text, LEND_TAKE_TEXT, "%s%s", lanes, lend_take_small()[dtype->code - LEND_FLOAT8_E3M4]);
    else
        snprintf(text, LEND_TAKE_TEXT, "dtype code %u of %u bits", (unsigned)dtype->code, (unsigned)dtype->bits);
    if (dtype->bits != 0 && dtype->bits < 8)
        strncat(text, dtype->itemsize == dtype->lanes ? ", one to a byte" : ", packed",
                LEND_TAKE_TEXT - 1 - strlen(text));
    return text;
}

/* A decimal number of at most 32 bits: the place behind it, or NULL. */
static inline const char *lend_take_digits(const char *at, uint64_t *out) {
    const char *start = at;
    uint64_t value = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        value = value * 10 + (uint64_t)(*at - '0');
        if (value > UINT32_MAX) return NULL;
    }
    *out = value;
    return at == start ? NULL : at;
}

/* 1 if there is a dtype of this code in so many bits. */
static inline int lend_take_width(int code, int bits) {
    switch (code) {
    case LEND_INT: case LEND_UINT: return bits >= 2 && bits <= 128 && (bits & (bits - 1)) == 0;
    case LEND_FLOAT: return bits == 16 || bits == 32 || bits == 64 || bits == 8 * (int)sizeof(long double);
    case LEND_COMPLEX:
        return bits == 32 || bits == 64 || bits == 128 || bits == 16 * (int)sizeof(long double);
    case LEND_BFLOAT: return bits == 16;
    case LEND_HANDLE: case LEND_DATETIME: case LEND_TIMEDELTA: return bits == 64;
    case LEND_FLOAT6_E2M3FN: case LEND_FLOAT6_E3M2FN: return bits == 6;
    case LEND_FLOAT4_E2M1FN: return bits == 4;
    case LEND_OBJECT: return bits == 8 * (int)sizeof(void *);
    case LEND_OPAQUE: case LEND_BYTES: case LEND_UCS4: case LEND_RECORD: return bits == 0;
    default: return code <= LEND_FLOAT8_E8M0FNU && bits == 8;
    }
}

/* The letter of a number in a struct format, with its native and its standard size: the place behind it, or NULL. */
static inline const char *lend_take_letter(const char *at, int *code, int *pair, size_t *native, size_t *standard) {
    static const char letters[] = "?bBhHiIlLqQnNPefdgFDG";
    static const char codes[] = "601010101010112222555"; /* of lend_dtype */
    static const size_t natives[] = {1, sizeof(short), sizeof(int), sizeof(long), sizeof(long long), sizeof(size_t)};
    static const size_t standards[] = {1, 2, 4, 4, 8, sizeof(size_t), 2, 4, 8, sizeof(long double), 4, 8,
                                       sizeof(long double)};
    const int halves = *at == 'Z' && at[1] != 0 && strchr("efdg", at[1]) != NULL;
    const char *found = *(at += halves) == 0 ? NULL : strchr(letters, *at);
    size_t kind;
    if (found == NULL) return NULL;
    kind = (size_t)(found - letters); /* two letters for each integer, three for a byte and a size */
    kind = kind < 3 ? 0 : kind < 11 ? (kind - 1) / 2 : kind < 14 ? 5 : kind - 8;
    *standard = standards[kind];
    *native = kind < 6 ? natives[kind] : *standard;
    *pair = halves || kind > 9;
    *code = *pair ? LEND_COMPLEX : codes[found - letters] - '0';
    return at + 1;
}

/* How far a record's format was read, and how: a byte order holds until the next. */
typedef struct lend_take_reader {
    const char *at;
    char order;
    int wide; /* letters of this machine's order have native sizes */
    int told; /* this machine's order was told: the format has all of the padding */
} lend_take_reader;

/* Bytes of the items up to the closing brace, and what they are aligned to; -1 if they are not understood. */
static inline int64_t lend_take_items(lend_take_reader *reader, int depth, int64_t *common) {
    const char here = (char)lend_native(LEND_INT, 32).order;
    int64_t total = 0, size, align, many;
    uint64_t count;
    size_t native, standard;
    int code, pair;
    *common = 1;
    while (*reader->at != (depth > 0 ? '}' : 0)) {
        many = align = count = 1;
        if (*reader->at == '(') { /* of a subarray */
            do {
                reader->at = lend_take_digits(reader->at + 1, &count);
                if (reader->at == NULL || lend_take_mul(many, (int64_t)count, &many) || many > UINT32_MAX) return -1;
            } while (*reader->at == ',');
            if (*reader->at++ != ')') return -1;
            count = 1;
        }
        for (; *reader->at != 0 && strchr("@=<>^!", *reader->at) != NULL; reader->at++) {
            reader->order = *reader->at == '!' ? '>' : *reader->at;
            reader->told |= reader->order == here;
        }
        if (*reader->at >= '0' && *reader->at <= '9' && (reader->at = lend_take_digits(reader->at, &count)) == NULL)
            return -1;
        if (reader->at[0] == 'T' && reader->at[1] == '{') {
            reader->at += 2;
            size = depth == 32 ? -1 : lend_take_items(reader, depth + 1, &align); /* as deep as lend reads */
            if (size < 0) return -1;
            reader->at++;
        } else if (*reader->at != 0 && strchr("sxcw", *reader->at) != NULL) {
            size = align = *reader->at++ == 'w' ? 4 : 1;
        } else {
            reader->at = lend_take_letter(reader->at, &code, &pair, &native, &standard);
            if (reader->at == NULL) return -1;
            if (strchr("=<>", reader->order) == NULL || (reader->wide && reader->order != (here == '<' ? '>' : '<')))
                standard = native;
            align = (int64_t)standard;
            size = pair ? 2 * align : align;
        }
        if (reader->order == '@') {
            total += (align - total % align) % align;
            size += (align - size % align) % align;
            if (align > *common) *common = align;
        }
        if (*reader->at == ':') {
            if ((reader->at = strchr(reader->at + 1, ':')) == NULL) return -1;
            reader->at++;
        }
        if (lend_take_mul(many, (int64_t)count, &many) || lend_take_mul(many, size, &size) || size > UINT32_MAX
            || (total += size) > UINT32_MAX)
            return -1;
    }
    return reader->order == '@' ? total + (*common - total % *common) % *common : total;
}

/* 1 if a record's format is one of so many bytes: with the padding at its end, which NumPy leaves away, unless this
 * machine's byte order is told (ctypes writes it, and all of the padding). */
static inline int lend_take_record(const char *format, Py_ssize_t itemsize) {
    lend_take_reader reader;
    int64_t size = 0, align;
    int wide;
    for (wide = 0; wide < 2 && size >= 0; wide++) {
        memset(&reader, 0, sizeof(reader));
        reader.at = format;
        reader.order = '@';
        reader.wide = wide;
        size = lend_take_items(&reader, 0, &align);
        if (size == itemsize || (size >= 0 && size < itemsize && *format == 'T' && !reader.told)) return 1;
    }
    return 0;
}

/* A struct format (PEP 3118); producers mix standard and native sizes, so the itemsize decides. 1 if understood. */
static inline int lend_take_format(const char *format, Py_ssize_t itemsize, lend_dtype *out) {
    const char *at = format;
    char order = 0;
    size_t native, standard;
    uint64_t count = 1;
    int code, pair;
    if (format == NULL) {
        *out = itemsize == 1 ? lend_native(LEND_UINT, 8) : lend_take_dtype(LEND_OPAQUE, 0, 1, (uint64_t)itemsize, 0);
        return 1;
    }
    if (strcmp(format, "bfloat16") == 0 && itemsize == 2) { /* mlx writes the name */
        *out = lend_native(LEND_BFLOAT, 16);
        return 1;
    }
    if (*at == '<' || *at == '>') order = *at++;
    else if (*at == '!') order = '>', at++;
    else if (*at == '=' || *at == '@' || *at == '^') at++;
    if (at[0] == 'T' && at[1] == '{') { /* none with Python objects, which are nobody's to lend */
        *out = lend_take_dtype(LEND_RECORD, 0, 1, (uint64_t)itemsize, 0);
        return format[strlen(format) - 1] == '}' && itemsize > 0 && lend_take_record(format, itemsize);
    }
    if (*at >= '0' && *at <= '9' && (at = lend_take_digits(at, &count)) == NULL) return 0;
    if (*at != 0 && strchr("sxcw", *at) != NULL && at[1] == 0) {
        if ((uint64_t)itemsize != (*at == 'w' ? 4 * count : count) || (*at == 'c' && count != 1)) return 0;
        *out = lend_take_dtype(*at == 'w' ? LEND_UCS4 : *at == 'x' ? LEND_OPAQUE : LEND_BYTES, 0, 1,
                               (uint64_t)itemsize, order);
        return 1;
    }
    if (at != format && at[-1] >= '0' && at[-1] <= '9') return 0; /* several values */
    at = lend_take_letter(at, &code, &pair, &native, &standard);
    if (at == NULL || *at != 0) return 0;
    if (pair) native *= 2, standard *= 2;
    if ((size_t)itemsize != native && (size_t)itemsize != standard) return 0;
    *out = lend_take_dtype(code, (int)(8 * itemsize), 1, (uint64_t)itemsize, order);
    return 1;
}

/* A typestr of the array interfaces. 1 if understood; '|', '=' and no order are this machine's, as in NumPy. */
static inline int lend_take_typestr(const char *text, lend_dtype *out) {
    static const char kinds[] = "biufcmMVSU";
    static const int codes[] = {LEND_BOOL, LEND_INT, LEND_UINT, LEND_FLOAT, LEND_COMPLEX, LEND_TIMEDELTA, LEND_DATETIME,
                                LEND_OPAQUE, LEND_BYTES, LEND_UCS4};
    const char *kind, *end;
    uint64_t size, multiplier = 1;
    char order = 0;
    int code, fits, unit = 0;
    if (*text == '<' || *text == '>') order = *text++;
    else if (*text == '|' || *text == '=') text++;
    kind = *text == 0 ? NULL : strchr(kinds, *text);
    if (kind == NULL || (text = lend_take_digits(text + 1, &size)) == NULL || size == 0) return 0;
    code = codes[kind - kinds];
    if (code == LEND_UCS4) size *= 4;
    fits = code > LEND_TIMEDELTA || code == LEND_OPAQUE ? size <= UINT32_MAX
                                                        : size <= 32 && lend_take_width(code, 8 * (int)size)
                                                              && (code != LEND_COMPLEX || size > 4);
    if (!fits) return 0;
    if ((code == LEND_DATETIME || code == LEND_TIMEDELTA) && *text == '[') {
        const char *const *units = lend_take_units();
        text++;
        if (*text >= '0' && *text <= '9'
            && ((text = lend_take_digits(text, &multiplier)) == NULL || multiplier == 0 || multiplier > INT32_MAX))
            return 0;
        end = strchr(text, ']');
        if (end == NULL) return 0;
        for (unit = 1; units[unit] != NULL; unit++)
            if (strlen(units[unit]) == (size_t)(end - text) && memcmp(units[unit], text, (size_t)(end - text)) == 0)
                break;
        if (units[unit] == NULL) return 0;
        text = end + 1;
    }
    if (*text != 0) return 0;
    *out = lend_take_dtype(code, code > LEND_OPAQUE + 2 || code == LEND_OPAQUE ? 0 : (int)(8 * size), 1, size, order);
    out->unit = (uint8_t)unit;
    out->multiplier = (uint32_t)multiplier;
    return 1;
}

/* A DLDataType: 1 if understood, 0 if not, -1 if its values of less than a byte do not fill whole bytes. Such ones
 * come one to a byte (a flag says so), or packed in lanes; a flag of the future may say that they lie otherwise. */
static inline int lend_take_dltype(const lend_take_tensor *tensor, uint64_t flags, lend_dtype *out) {
    const int bits = tensor->bits, padded = (flags & 4) != 0;
    int fits;
    if (bits < 8 && lend_take_width(tensor->code, bits)) {
        if (tensor->lanes == 0 || (flags & ~(uint64_t)7) != 0) return 0;
        *out = lend_take_dtype(tensor->code, bits, tensor->lanes,
                               padded ? tensor->lanes : (uint64_t)bits * tensor->lanes / 8, 0);
        return padded || bits * tensor->lanes % 8 == 0 ? 1 : -1;
    }
    fits = bits >= 8 && bits <= (tensor->code == LEND_FLOAT ? 64 : 128) && tensor->code <= LEND_FLOAT8_E8M0FNU
           && lend_take_width(tensor->code, bits);
    if (!fits || tensor->lanes == 0) return 0;
    *out = lend_take_dtype(tensor->code, bits, tensor->lanes, (uint64_t)(bits / 8) * tensor->lanes, 0);
    return 1;
}

/* -- layout -------------------------------------------------------------------------------------------------------- */

/* Whether the host reads memory of this kind, whatever its driver would say of it: of managed memory that depends. */
static inline int lend_take_on_host(int32_t device_type) {
    return device_type == 1 || device_type == 3 || device_type == 11;
}

/* 0 for devices whose `data` is a handle (OpenCL, Vulkan, Metal, WebGPU), and for unknown ones. */
static inline int lend_take_has_addresses(int32_t device_type) {
    return (device_type >= 1 && device_type <= 3) || (device_type >= 9 && device_type <= 14)
           || (device_type >= 16 && device_type <= 18);
}

static inline int64_t *lend_take_shape(lend_view *view) {
    return view->ndim <= LEND_INLINE_DIMS ? view->dims : view->far_dims;
}

static inline int64_t *lend_take_strides(lend_view *view) {
    return view->ndim <= LEND_INLINE_DIMS ? view->dims + LEND_INLINE_DIMS : view->far_dims + view->ndim;
}

/* Make room for so many dimensions. */
static inline int lend_take_room(lend_take_job *job, int64_t ndim) {
    if (ndim < 0 || ndim > LEND_TAKE_DIMS)
        return lend_take_fault(job, "ndim", "ndim is %lld, and 0 to %d dimensions can be taken", (long long)ndim,
            LEND_TAKE_DIMS);
    if (ndim > LEND_INLINE_DIMS) {
        job->lease->dims = (int64_t *)malloc(2 * (size_t)ndim * sizeof(int64_t));
        if (job->lease->dims == NULL) {
            PyErr_NoMemory();
            return LEND_TAKE_FINAL;
        }
        job->view->far_dims = job->lease->dims;
    }
    job->view->ndim = (int32_t)ndim;
    return LEND_TAKE_OPEN;
}

/* Strides without gaps, of a shape that was checked; an empty dimension does not make the others 0. */
static inline void lend_take_natural(lend_view *view, int fortran) {
    const int64_t *shape = lend_take_shape(view);
    int64_t *strides = lend_take_strides(view);
    int64_t step = view->dtype.itemsize;
    int32_t i, k;
    for (i = 0; i < view->ndim; i++) {
        k = fortran ? i : view->ndim - 1 - i;
        strides[k] = step;
        if (shape[k] > 1) step *= shape[k];
    }
}

/* Check the shape: sizes that fit, also without the extents of 0, so that no product of a reader's overflows. */
static inline int lend_take_check_shape(lend_take_job *job, int *empty) {
    const int64_t *shape = lend_take_shape(job->view);
    int64_t count = 1, total = job->view->dtype.itemsize;
    int32_t i;
    *empty = 0;
    for (i = 0; i < job->view->ndim; i++) {
        if (shape[i] < 0)
            return lend_take_fault(job, "shape", "extent %d of its shape is %lld, below 0", (int)i,
                (long long)shape[i]);
        if (shape[i] == 0) {
            *empty = 1;
        } else if (lend_take_mul(count, shape[i], &count) || lend_take_mul(total, shape[i], &total)
                   || count > PY_SSIZE_T_MAX || total > PY_SSIZE_T_MAX) {
            return lend_take_fault(job, "shape",
                "the size of its shape (extent %d is %lld), in items of %u bytes, does not fit the address space",
                (int)i, (long long)shape[i], (unsigned)job->view->dtype.itemsize);
        }
    }
    job->view->nbytes = *empty ? 0 : (uint64_t)total;
    return LEND_TAKE_OPEN;
}

/* Check the strides, and set contiguity, the span, and read-only where one element stands at several places. */
static inline int lend_take_check_strides(lend_take_job *job, int empty) {
    lend_view *view = job->view;
    const int64_t *shape = lend_take_shape(view);
    const int64_t *strides = lend_take_strides(view);
    const int64_t farthest = PY_SSIZE_T_MAX / 2; /* no address space holds a wider span */
    int64_t c_step = view->dtype.itemsize, f_step = view->dtype.itemsize, reach;
    int32_t i, k;
    job->low = 0;
    job->high = view->dtype.itemsize;
    view->flags |= LEND_C_CONTIGUOUS | LEND_F_CONTIGUOUS;
    if (empty) { /* no element lies anywhere: natural strides, so that nobody stumbles over those that were said */
        lend_take_natural(view, 0);
        job->high = 0;
        return LEND_TAKE_OPEN;
    }
    for (i = 0; i < view->ndim; i++) {
        k = view->ndim - 1 - i;
        if (shape[i] > 1) { /* a dimension of one element decides nothing */
            if (strides[i] != f_step) view->flags &= ~(uint32_t)LEND_F_CONTIGUOUS;
            f_step *= shape[i];
            if (strides[i] == 0 && view->dtype.itemsize != 0) view->flags |= LEND_READONLY;
            if (lend_take_mul(shape[i] - 1, strides[i], &reach) || reach > farthest || reach < -farthest
                || job->high + reach > farthest || job->low + reach < -farthest)
                return lend_take_fault(job, "strides",
                    "stride %d is %lld bytes, and with extent %lld reaches further than an address can (bounds)",
                    (int)i, (long long)strides[i], (long long)shape[i]);
            if (reach < 0) job->low += reach;
            else job->high += reach;
        }
        if (shape[k] > 1) {
            if (strides[k] != c_step) view->flags &= ~(uint32_t)LEND_C_CONTIGUOUS;
            c_step *= shape[k];
        }
    }
    return LEND_TAKE_OPEN;
}

/* Note where element 0 lies: the lowest and the highest byte must be addresses, and the address of nothing is none. */
static inline int lend_take_place(lend_take_job *job, const char *field, uint64_t address) {
    job->view->data = NULL;
    if (job->low == job->high) return LEND_TAKE_OPEN;
    if (address == 0)
        return lend_take_fault(job, field, "%s is NULL (0), and its shape is not empty", field);
    if (address > UINTPTR_MAX || address <= (uint64_t)-job->low || UINTPTR_MAX - address < (uint64_t)job->high)
        return lend_take_fault(job, field, "%s leads to %llu, which has no room for its bytes %lld to %lld (bounds)",
            field, (unsigned long long)address, (long long)job->low, (long long)job->high);
    job->view->data = (void *)(uintptr_t)address;
    return LEND_TAKE_OPEN;
}

/* Set LEND_ALIGNED if every element lies where a compiled program expects it. */
static inline void lend_take_align(lend_view *view) {
    const int64_t *shape = lend_take_shape(view);
    const int64_t *strides = lend_take_strides(view);
    const uint64_t at = (view->flags & LEND_OPAQUE_HANDLE) ? view->byte_offset : (uint64_t)(uintptr_t)view->data;
    int64_t need = view->dtype.code == LEND_UCS4 ? 4 : view->dtype.bits / (view->dtype.code == LEND_COMPLEX ? 16 : 8);
    int32_t i;
    if (need > 1 && view->nbytes != 0) {
        if (at % (uint64_t)need != 0) return;
        for (i = 0; i < view->ndim; i++)
            if (shape[i] > 1 && strides[i] % need != 0) return;
    }
    view->flags |= LEND_ALIGNED;
}

/* -- what was requested -------------------------------------------------------------------------------------------- */

/* Whether there is a dtype as it is asked for: NULL, or the first field that has no place beside those before it. */
static inline const char *lend_take_doubt(const lend_dtype *said) {
    const uint32_t size = said->itemsize;
    const uint64_t bits = (uint64_t)said->bits * said->lanes;
    const int timed = said->code == LEND_DATETIME || said->code == LEND_TIMEDELTA;
    if (said->code == LEND_ANY_TYPE) return NULL;
    if (said->code > LEND_OBJECT || (said->code > LEND_FLOAT4_E2M1FN && said->code < LEND_OPAQUE)) return "code";
    if (!lend_take_width(said->code, said->bits)) return "bits";
    if (said->order != '<' && said->order != '>'
        && (said->order != '|' || (said->bits > 8 ? said->code != LEND_OBJECT : said->code == LEND_UCS4)))
        return "order";
    if (said->lanes == 0 || (said->lanes != 1 && said->code >= LEND_OPAQUE)) return "lanes";
    if (said->unit > (timed ? LEND_UNIT_as : 0)) return "unit";
    if (said->multiplier == 0 || (said->multiplier != 1 && !timed)) return "multiplier";
    if (size == 0 || (said->bits != 0 && size * (uint64_t)8 == bits) || (said->bits == 0 && said->code != LEND_UCS4)
        || (said->bits == 0 ? size % 4 == 0 : said->bits < 8 && size == said->lanes))
        return NULL;
    return "itemsize";
}

/* Whether `held` is what `said` asks for, of which there is no doubt. Below 8 bits the itemsize tells how they lie. */
static inline int lend_take_same_type(const lend_dtype *said, const lend_dtype *held) {
    return said->code == held->code && (said->order == held->order || held->order == '|') && said->unit == held->unit
           && said->bits == held->bits && said->lanes == held->lanes && said->multiplier == held->multiplier
           && (said->bits >= 8 || said->itemsize == held->itemsize
               || (said->itemsize == 0 && (said->bits == 0 || held->itemsize != held->lanes)));
}

/* 0, or -1 with a ValueError: the request is the caller's own fault. */
static inline int lend_take_check_request(const lend_request *request) {
    const lend_dtype *said = &request->dtype;
    const char *doubt;
    if (request->struct_size < sizeof(lend_request))
        PyErr_Format(PyExc_ValueError, "lend_request.struct_size is %u: start from LEND_REQUEST_INIT",
                     (unsigned)request->struct_size);
    else if ((request->flags & 255) != 0 || request->flags >= 2 * LEND_NEED_ALIGNED)
        PyErr_Format(PyExc_ValueError, "lend_request.flags is 0x%x: only the flags of lend_request are known",
                     (unsigned)request->flags);
    else if ((request->flags & LEND_C_ORDER) && (request->flags & LEND_F_ORDER))
        PyErr_SetString(PyExc_ValueError, "lend_request.flags has LEND_C_ORDER and LEND_F_ORDER: ask for one of them");
    else if (request->ndim < -1 || request->ndim > LEND_TAKE_DIMS || (request->align & (request->align - 1)) != 0
             || request->align > 1u << 30 || request->device_type < 0)
        PyErr_Format(PyExc_ValueError,
                     "lend_request asks for what nothing is: ndim %d (-1: any, to %d), align %u (a power of two), "
                     "device_type %d (0: any)",
                     (int)request->ndim, LEND_TAKE_DIMS, (unsigned)request->align, (int)request->device_type);
    else if ((doubt = lend_take_doubt(said)) != NULL)
        PyErr_Format(PyExc_ValueError,
                     "lend_request.dtype is no dtype, by its %s: code %u, bits %u, lanes %u, itemsize %u", doubt,
                     (unsigned)said->code, (unsigned)said->bits, (unsigned)said->lanes, (unsigned)said->itemsize);
    else
        return 0;
    return -1;
}

/* Compare what came with what was requested, before it is taken; decides whether there will be a copy. */
static inline int lend_take_judge(lend_take_job *job) {
    const lend_request *request = job->request;
    lend_view *view = job->view;
    const char *field = NULL, *why = "";
    char came[LEND_TAKE_TEXT], wanted[LEND_TAKE_TEXT];
    const int on_host = lend_take_on_host(view->device_type);
    int at;
    lend_take_align(view);
    if (request->device_type != 0
        && (request->device_type == 1 ? !on_host
                                      : (request->device_type != view->device_type
                                         || (request->device_id != -1 && request->device_id != view->device_id)))) {
        lend_take_refuse(job, "device", "move it with the library that made it; device_id -1 asks for any of a type",
            "device type %d, id %d was required (1: memory that the host reads), and its memory is on device type %d, "
            "id %d", (int)request->device_type, (int)request->device_id, (int)view->device_type, (int)view->device_id);
        return LEND_TAKE_FINAL;
    }
    if (request->dtype.code != LEND_ANY_TYPE && !lend_take_same_type(&request->dtype, &view->dtype)) {
        lend_take_refuse(job, "dtype", "convert it with the library that made it, or ask for LEND_ANY_TYPE",
            "dtype %s was required, and it holds %s", lend_take_spell(&request->dtype, wanted),
            lend_take_spell(&view->dtype, came));
        return LEND_TAKE_FINAL;
    }
    if (request->ndim != -1 && request->ndim != view->ndim) {
        lend_take_refuse(job, "ndim", "x.reshape(...), or an index", "%d dimensions were required, and it has %d",
            (int)request->ndim, (int)view->ndim);
        return LEND_TAKE_FINAL;
    }
    at = request->align != 0 && view->nbytes != 0
         && ((view->flags & LEND_OPAQUE_HANDLE) ? view->byte_offset : (uint64_t)(uintptr_t)view->data) % request->align
                != 0;
    if ((request->flags & LEND_WRITABLE) && (view->flags & LEND_READONLY))
        field = "readonly", why = "writable memory was required, and it is read-only";
    else if ((request->flags & LEND_C_ORDER) && !(view->flags & LEND_C_CONTIGUOUS))
        field = "strides", why = "row-major memory without gaps was required, and its strides are others";
    else if ((request->flags & LEND_F_ORDER) && !(view->flags & LEND_F_CONTIGUOUS))
        field = "strides", why = "column-major memory without gaps was required, and its strides are others";
    else if (at)
        field = "data", why = "an address that is a multiple of `align` was required, and its address is none";
    else if ((request->flags & LEND_NEED_ALIGNED) && !(view->flags & LEND_ALIGNED))
        field = "data", why = "aligned elements were required, and its elements are not";
    if ((request->flags & LEND_COPY) || (field != NULL && (request->flags & LEND_COPY_IF_NEEDED))) job->copy = 1;
    if (job->copy && !on_host) {
        lend_take_refuse(job, "device", "x.cpu(), or what its library has to move it",
            "a copy would be needed, and the host does not read its memory (device type %d)", (int)view->device_type);
        return LEND_TAKE_FINAL;
    }
    if (field != NULL && !job->copy) {
        lend_take_refuse(job, field, "LEND_COPY_IF_NEEDED in the request, or a writable copy made by its library",
            "%s (dtype %s, ndim %d, align %u)", why, lend_take_spell(&view->dtype, came), (int)view->ndim,
            (unsigned)request->align);
        return LEND_TAKE_FINAL;
    }
    return LEND_TAKE_OPEN;
}

/* n elements, `step` bytes apart, to memory without gaps; fixed sizes let the compiler make plain loads. */
static inline void lend_take_run(char *to, const char *from, int64_t n, int64_t step, size_t size) {
    int64_t i;
    if (step == (int64_t)size) {
        memcpy(to, from, (size_t)n * size);
        return;
    }
    for (i = 0; i < n; i++, to += size, from += step) {
        switch (size) {
        case 1: *to = *from; break;
        case 2: memcpy(to, from, 2); break;
        case 4: memcpy(to, from, 4); break;
        case 8: memcpy(to, from, 8); break;
        default: memcpy(to, from, size); break;
        }
    }
}

/* Copy the elements of a view that is not empty, in row-major or column-major order. */
static inline void lend_take_gather(char *to, lend_view *view, int fortran) {
    const int64_t *shape = lend_take_shape(view);
    const int64_t *strides = lend_take_strides(view);
    const size_t size = view->dtype.itemsize;
    const char *from = (const char *)view->data;
    int64_t at[LEND_TAKE_DIMS] = {0};
    int32_t i, k;
    const int32_t first = view->ndim == 0 ? 0 : fortran ? 0 : view->ndim - 1;
    const int64_t n = view->ndim == 0 ? 1 : shape[first];
    do {
        lend_take_run(to, from, n, view->ndim == 0 ? (int64_t)size : strides[first], size);
        to += (size_t)n * size;
        for (i = 1; i < view->ndim; i++) { /* from the second fastest dimension to the slowest */
            k = fortran ? i : view->ndim - 1 - i;
            from += strides[k];
            if (++at[k] < shape[k]) break;
            from -= shape[k] * strides[k];
            at[k] = 0;
        }
    } while (i < view->ndim);
}

/* Put a copy in the place of what was taken, which is released. */
static inline int lend_take_copy(lend_take_job *job) {
    lend_view *view = job->view;
    lend_take_lease *lease = job->lease;
    const size_t align = job->request->align > 64 ? job->request->align : 64;
    const int fortran = (job->request->flags & LEND_F_ORDER)
                        || (!(job->request->flags & LEND_C_ORDER) && (view->flags & LEND_F_CONTIGUOUS)
                            && !(view->flags & LEND_C_CONTIGUOUS));
    size_t i;
    char *block, *start;
    block = view->nbytes > (uint64_t)PY_SSIZE_T_MAX - align ? NULL : (char *)malloc((size_t)view->nbytes + align);
    if (block == NULL) {
        PyErr_NoMemory();
        return LEND_TAKE_FINAL;
    }
    start = block + (align - (uintptr_t)block % align) % align;
    lease->block = block;
    if (job->rows && view->nbytes != 0) {
        if (PyBuffer_ToContiguous(start, &lease->buffer, (Py_ssize_t)view->nbytes, fortran ? 'F' : 'C') < 0)
            return lend_take_raised(job, "suboffsets");
    } else if (view->nbytes != 0) {
        lend_take_gather(start, view, fortran);
    }
    if (view->dtype.code == LEND_BOOL) /* whatever else a producer left there counts as true */
        for (i = 0; i < view->nbytes; i++) start[i] = start[i] != 0;
    lend_take_let_go(lease);
    view->data = start;
    view->device_type = 1;
    view->device_id = 0;
    view->sync = NULL;
    view->flags = LEND_EXCLUSIVE;
    lend_take_natural(view, fortran);
    lend_take_check_strides(job, view->nbytes == 0);
    lend_take_align(view);
    return LEND_TAKE_OPEN;
}

/* -- the buffer protocol ------------------------------------------------------------------------------------------- */

/* Ask for the announced device, once. */
static inline int lend_take_ask_device(lend_take_job *job) {
    PyObject *method, *answer, *pair;
    int64_t type = 0, id = -2;
    int found, read = 0;
    if (job->announced != -1) return LEND_TAKE_OPEN;
    found = lend_take_find(job->object, "__dlpack_device__", &method);
    job->announced = found < 0 ? -2 : 0;
    if (found < 0) return lend_take_raised(job, "__dlpack_device__");
    if (found == 0) return LEND_TAKE_OPEN;
    answer = PyObject_CallObject(method, NULL);
    Py_DECREF(method);
    pair = answer == NULL ? NULL : PySequence_Tuple(answer);
    Py_XDECREF(answer);
    if (pair != NULL && PyTuple_Size(pair) == 2) {
        read = lend_take_integer(PyTuple_GetItem(pair, 0), 1, &type, NULL);
        /* an id of None is no fault (pandas) */
        if (read > 0 && lend_take_integer(PyTuple_GetItem(pair, 1), 1, &id, NULL) <= 0) {
            PyErr_Clear();
            id = -2;
        }
    }
    if (pair == NULL || read < 0) {
        job->announced = -2;
        Py_XDECREF(pair);
        return lend_take_raised(job, "__dlpack_device__()");
    }
    if (type < 1 || type > INT32_MAX) {
        job->announced = -2;
        found = lend_take_fault(job, "__dlpack_device__()",
            "__dlpack_device__() answered %.100R, not a pair (device type above 0, id)", pair);
        Py_DECREF(pair);
        return found;
    }
    Py_DECREF(pair);
    job->announced = (int32_t)type;
    job->announced_id = id >= -1 && id <= INT32_MAX ? (int32_t)id : -2;
    return LEND_TAKE_OPEN;
}

/* 1 if the host's doors of the object may be used: not of what has a device interface and announces no host memory. */
static inline int lend_take_may_open(lend_take_job *job) {
    PyObject *object = job->object;
    int cuda, sycl, told;
    if (PyBytes_CheckExact(object) || PyByteArray_CheckExact(object) || PyMemoryView_Check(object)) return 1;
    cuda = lend_take_shows(object, "__cuda_array_interface__");
    sycl = cuda == 0 ? lend_take_shows(object, "__sycl_usm_array_interface__") : 0;
    if (cuda < 0 || sycl < 0) return lend_take_raised(job, "__cuda_array_interface__");
    if (cuda == 0 && sycl == 0) return 1;
    told = lend_take_ask_device(job);
    return told < 0 ? told : job->announced == 1;
}

/* NumPy's datetime scalars say eight plain bytes; their dtype tells. */
static inline int lend_take_dated(lend_take_job *job, lend_dtype *out) {
    PyObject *dtype = NULL, *text = NULL;
    const char *spelled = NULL;
    int answer = lend_take_is(job->object, "numpy", "datetime64", NULL);
    if (answer == 0) answer = lend_take_is(job->object, "numpy", "timedelta64", NULL);
    if (answer <= 0) return answer;
    if (lend_take_find(job->object, "dtype", &dtype) > 0 && lend_take_find(dtype, "str", &text) > 0
        && PyUnicode_Check(text))
        spelled = PyUnicode_AsUTF8AndSize(text, NULL);
    answer = spelled != NULL && lend_take_typestr(spelled, out) && out->bits == 64 ? 1 : -1;
    Py_XDECREF(dtype);
    Py_XDECREF(text);
    return answer;
}

static inline int lend_take_by_buffer(lend_take_job *job) {
    lend_view *view = job->view;
    Py_buffer *buffer = &job->lease->buffer;
    lend_dtype dated;
    int64_t *shape, *strides;
    int i, result, empty = 0, special = 0, readonly = 0;
    if (!PyObject_CheckBuffer(job->object)) return LEND_TAKE_ABSENT;
    result = lend_take_may_open(job);
    if (result <= 0) return result < 0 ? result : LEND_TAKE_ABSENT;
    if (PyType_GetSlot(Py_TYPE(job->object), Py_tp_base) != (void *)&PyBaseObject_Type) {
        /* classes of NumPy whose buffers do not tell all */
        special = lend_take_is(job->object, "numpy.ma", "MaskedArray", NULL);
        if (special > 0) {
            lend_take_refuse(job, "mask", "x.filled(value), or x.data and x.mask apart",
                "it has a mask, which one block of memory does not carry, and which must not be ignored");
            return LEND_TAKE_FINAL;
        }
        if (special == 0) special = lend_take_dated(job, &dated);
        if (special < 0) return lend_take_raised(job, "dtype");
    }
    /* never weaker than FULL_RO: without a format or a shape producers answer with bare bytes */
    result = PyObject_GetBuffer(job->object, buffer,
                                (job->request->flags & LEND_WRITABLE) ? PyBUF_FULL : PyBUF_FULL_RO);
    if (result < 0 && (job->request->flags & LEND_WRITABLE) && PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear(); /* read-only? then it is said, or copied */
        readonly = 1;
        result = PyObject_GetBuffer(job->object, buffer, PyBUF_FULL_RO);
    }
    if (result < 0) return lend_take_raised(job, "PyObject_GetBuffer");
    job->lease->opened = 1; /* from here on every refusal releases it */
    if (buffer->obj == NULL)
        return lend_take_fault(job, "obj", "its buffer does not say whose it is (obj is NULL)");
    if (buffer->itemsize < 0 || (uint64_t)buffer->itemsize > UINT32_MAX)
        return lend_take_fault(job, "itemsize", "itemsize is %zd", buffer->itemsize);
    if (!lend_take_format(buffer->format, buffer->itemsize, &view->dtype))
        return lend_take_refuse(job, "format", LEND_TAKE_OTHER,
            "its buffer format '%.200s' is not understood as one dtype of %zd bytes", buffer->format, buffer->itemsize);
    result = lend_take_room(job, buffer->ndim);
    if (result < 0) return result;
    if (buffer->ndim > 0 && buffer->shape == NULL)
        return lend_take_fault(job, "shape", "ndim is %d and shape is NULL", buffer->ndim);
    view->device_type = 1;
    if (buffer->readonly || readonly) view->flags |= LEND_READONLY;
    shape = lend_take_shape(view);
    strides = lend_take_strides(view);
    for (i = 0; i < buffer->ndim; i++) shape[i] = buffer->shape[i];
    result = lend_take_check_shape(job, &empty);
    if (result < 0) return result;
    if (buffer->len < 0 || (uint64_t)buffer->len != view->nbytes)
        return lend_take_fault(job, "len", "len is %zd, and its shape of %zd-byte items needs %llu", buffer->len,
            buffer->itemsize, (unsigned long long)view->nbytes);
    if (buffer->strides == NULL) lend_take_natural(view, 0);
    for (i = 0; i < buffer->ndim && buffer->strides != NULL; i++) strides[i] = buffer->strides[i];
    for (i = 0; i < buffer->ndim && buffer->suboffsets != NULL; i++) {
        if (buffer->suboffsets[i] < 0) continue;
        if (!(job->request->flags & (LEND_COPY | LEND_COPY_IF_NEEDED)))
            return lend_take_refuse(job, "suboffsets", "LEND_COPY_IF_NEEDED in the request, which gathers the rows",
                "suboffset %d is %zd: its rows lie behind pointers, not in one block", i, buffer->suboffsets[i]);
        if (buffer->strides == NULL)
            return lend_take_fault(job, "strides", "it has suboffsets and no strides");
        lend_take_natural(view, 0); /* of the copy */
        job->copy = job->rows = 1;
        break;
    }
    result = lend_take_check_strides(job, empty);
    if (result < 0) return result;
    if (view->nbytes != 0) {
        result = lend_take_place(job, "buf", (uint64_t)(uintptr_t)buffer->buf);
        if (result < 0) return result;
    }
    view->data = buffer->buf;
    if (special > 0) {
        if (view->nbytes != 8)
            return lend_take_fault(job, "len", "it is a datetime of %zd bytes", buffer->len);
        view->dtype = dated;
        view->ndim = 0;
        view->flags |= LEND_READONLY;
        job->high = 8;
    }
    return lend_take_judge(job);
}

/* -- DLPack -------------------------------------------------------------------------------------------------------- */

/* Read a tensor into the view: every field is checked before any is believed. */
static inline int lend_take_read(lend_take_job *job, const lend_take_tensor *tensor, uint64_t flags) {
    lend_view *view = job->view;
    int64_t *shape, *strides;
    char name[LEND_TAKE_TEXT];
    int i, result, empty = 0, known = lend_take_dltype(tensor, flags, &view->dtype);
    if (known < 0)
        return lend_take_refuse(job, "dtype",
            "one value to a byte, with its library (x.astype(\"int8\"), ml_dtypes.int4), or bytes",
            "its values are of %s (DLPack code %u, bits %u, lanes %u): several share a byte, and no element of them "
            "fills whole bytes", lend_take_spell(&view->dtype, name), (unsigned)tensor->code, (unsigned)tensor->bits,
            (unsigned)tensor->lanes);
    if (known == 0)
        return lend_take_refuse(job, "dtype", LEND_TAKE_OTHER,
            "its DLPack dtype (code %u, bits %u, lanes %u) is not understood", (unsigned)tensor->code,
            (unsigned)tensor->bits, (unsigned)tensor->lanes);
    if (tensor->device_type < 1 || tensor->device_type > 255)
        return lend_take_fault(job, "device", "its device type is %d, not a number from 1 to 255",
            (int)tensor->device_type);
    if (tensor->device_id < 0 && tensor->device_type != 1)
        return lend_take_fault(job, "device", "the id of its device (type %d) is %d, below 0", (int)tensor->device_type,
            (int)tensor->device_id);
    view->device_type = tensor->device_type;
    view->device_id = tensor->device_type == 1 ? 0 : tensor->device_id;
    result = lend_take_room(job, tensor->ndim);
    if (result < 0) return result;
    if (tensor->ndim > 0 && tensor->shape == NULL)
        return lend_take_fault(job, "shape", "ndim is %d and shape is NULL", (int)tensor->ndim);
    shape = lend_take_shape(view);
    strides = lend_take_strides(view);
    for (i = 0; i < tensor->ndim; i++) shape[i] = tensor->shape[i];
    result = lend_take_check_shape(job, &empty);
    if (result < 0) return result;
    if (tensor->strides == NULL) lend_take_natural(view, 0);
    for (i = 0; i < tensor->ndim && tensor->strides != NULL; i++) {
        if (!lend_take_mul(view->dtype.itemsize, tensor->strides[i], &strides[i])) continue;
        if (shape[i] > 1 && !empty)
            return lend_take_fault(job, "strides", "stride %d is %lld elements of %u bytes, more than fits (bounds)", i,
                (long long)tensor->strides[i], (unsigned)view->dtype.itemsize);
        strides[i] = view->dtype.itemsize; /* decides nothing */
    }
    result = lend_take_check_strides(job, empty);
    if (result < 0) return result;
    if (!lend_take_has_addresses(tensor->device_type)) {
        view->flags |= LEND_OPAQUE_HANDLE;
        if (empty) return LEND_TAKE_OPEN;
        if (tensor->byte_offset > (uint64_t)PY_SSIZE_T_MAX || tensor->byte_offset < (uint64_t)-job->low)
            return lend_take_fault(job, "byte_offset", "byte_offset is %llu (bounds)",
                (unsigned long long)tensor->byte_offset);
        view->data = tensor->data;
        view->byte_offset = tensor->byte_offset;
        return LEND_TAKE_OPEN;
    }
    if (empty) return LEND_TAKE_OPEN;
    if (tensor->data == NULL) return lend_take_place(job, "data", 0);
    if (tensor->byte_offset > (uint64_t)PY_SSIZE_T_MAX || UINTPTR_MAX - (uintptr_t)tensor->data < tensor->byte_offset)
        return lend_take_fault(job, "byte_offset", "byte_offset is %llu (bounds)",
            (unsigned long long)tensor->byte_offset);
    return lend_take_place(job, "data + byte_offset", (uint64_t)(uintptr_t)tensor->data + tensor->byte_offset);
}

static inline void lend_take_dlflags(lend_view *view, uint64_t flags) {
    if (flags & 1) view->flags |= LEND_READONLY;
    if (flags & 2) view->flags |= LEND_EXCLUSIVE; /* IS_COPIED */
}

/* Refuse a tensor of torch whose class overrides __torch_dispatch__ (FakeTensor, wrappers): it hands out memory that
 * need not hold its values. */
static inline int lend_take_plain(lend_take_job *job) {
    PyObject *cls = NULL, *ours, *theirs = NULL;
    int answer = lend_take_is(job->object, "torch", "Tensor", &cls);
    if (answer < 0) return lend_take_raised(job, "torch");
    if (answer > 0 && cls != (PyObject *)Py_TYPE(job->object)) {
        ours = PyObject_GetAttrString(cls, "__torch_dispatch__");
        if (ours != NULL) theirs = PyObject_GetAttrString((PyObject *)Py_TYPE(job->object), "__torch_dispatch__");
        if (theirs == NULL)
            answer = lend_take_raised(job, "__torch_dispatch__");
        else if (theirs != ours)
            answer = lend_take_refuse(job, "__torch_dispatch__", "the plain tensor inside it",
                "it overrides __torch_dispatch__: its memory need not hold its values");
        if (theirs == NULL || theirs != ours) answer = LEND_TAKE_FINAL;
        Py_XDECREF(ours);
        Py_XDECREF(theirs);
    }
    Py_XDECREF(cls);
    return answer < 0 ? answer : LEND_TAKE_OPEN;
}

/* What an object says of itself: 1 and a new reference, 0 if it has no such attribute, -1 with an exception set. Of a
 * tensor its class in C is asked (`base`), by `plain`, which leaves __torch_function__ out: who derives from it may say
 * anything. */
static inline int lend_take_hear(PyObject *object, PyObject *base, PyObject *plain, const char *name, int call,
                                 PyObject **out) {
    PyObject *found, *get;
    int answer = lend_take_find(base == NULL ? object : base, name, &found);
    if (answer <= 0) return answer;
    if (base == NULL) {
        *out = call ? PyObject_CallObject(found, NULL) : found;
        if (!call) return 1;
    } else {
        get = PyObject_GetAttrString(found, call ? "__call__" : "__get__");
        *out = get == NULL ? NULL : PyObject_CallFunction(plain, "O()(O)", get, object);
        Py_XDECREF(get);
    }
    Py_DECREF(found);
    return *out == NULL ? -1 : 1;
}

/* The function of torch that calls others plainly; NULL with an exception set. */
static inline PyObject *lend_take_plainly(void) {
    PyObject *name = PyUnicode_FromString("torch._C");
    PyObject *module = name == NULL ? NULL : PyImport_GetModule(name);
    PyObject *plain = module == NULL ? NULL : PyObject_GetAttrString(module, "_disabled_torch_function_impl");
    Py_XDECREF(name);
    Py_XDECREF(module);
    return plain;
}

/* Refuse a tensor of torch whose memory is not its value: the exchange table does not ask. What is like one is asked
 * in the same way. */
static inline int lend_take_guard(lend_take_job *job) {
    static const char *const asked[] = {"requires_grad", "is_neg", "is_conj"};
    static const char *const facts[] = {"requires a gradient: what others write to its memory autograd would not see",
                                        "is lazily negated (its neg bit is set): its memory does not hold its value",
                                        "is lazily conjugated (its conj bit is set): its memory holds another value"};
    static const char *const remedies[] = {"x.detach(), which shares the memory", "x.resolve_neg(), a copy",
                                           "x.resolve_conj(), a copy"};
    const lend_dtype *dtype = &job->view->dtype;
    const int whole = dtype->code == LEND_INT || dtype->code == LEND_UINT;
    const int last = dtype->code == LEND_COMPLEX ? 3 : whole || dtype->code == LEND_BOOL ? 1 : 2;
    PyObject *tensor = NULL, *base = NULL, *plain = NULL, *found = NULL, *text;
    char expected[LEND_TAKE_TEXT] = "torch.";
    int i, said, result = LEND_TAKE_OPEN;
    const int torch = lend_take_is(job->object, "torch", "Tensor", &tensor);
    if (torch > 0) {
        base = (PyObject *)PyType_GetSlot((PyTypeObject *)tensor, Py_tp_base);
        plain = lend_take_plainly();
    }
    if (torch < 0 || (torch > 0 && plain == NULL)) result = lend_take_raised(job, "torch");
    for (i = 0; i < last && result == LEND_TAKE_OPEN; i++) {
        said = lend_take_hear(job->object, base, plain, asked[i], i > 0, &found);
        if (said == 0 && i == 0) break; /* not of torch, nor like it */
        if (said == 0) continue;
        if (said > 0) said = PyObject_IsTrue(found);
        Py_XDECREF(found);
        if (said < 0) {
            result = lend_take_raised(job, asked[i]);
        } else if (said > 0) {
            lend_take_refuse(job, asked[i], remedies[i], "it %s", facts[i]);
            result = LEND_TAKE_FINAL;
        }
    }
    if (result == LEND_TAKE_OPEN && whole && torch) {
        /* dtypes that DLPack has no word for (int4, bits8, quantized ones) come as integers: its own dtype tells */
        lend_take_spell(dtype, expected + strlen(expected));
        said = lend_take_hear(job->object, base, plain, "dtype", 0, &found);
        text = said > 0 ? PyObject_Str(found) : NULL;
        if (said > 0) Py_DECREF(found);
        if (text == NULL) {
            result = lend_take_raised(job, "dtype");
        } else if (PyUnicode_CompareWithASCIIString(text, expected) != 0) {
            lend_take_refuse(job, "dtype", "x.view(torch.uint8), if its bytes are what you want",
                "C has no word for its dtype %U, which DLPack shows as %s", text, expected);
            result = LEND_TAKE_FINAL;
        }
        Py_XDECREF(text);
    }
    Py_XDECREF(tensor);
    Py_XDECREF(plain);
    return result;
}

#if defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
#define LEND_TAKE_LOCK(object) Py_BEGIN_CRITICAL_SECTION(object);
#define LEND_TAKE_UNLOCK() Py_END_CRITICAL_SECTION();
#else
#define LEND_TAKE_LOCK(object) {
#define LEND_TAKE_UNLOCK() }
#endif

/* 1 if the object is of jax, whose arrays nobody writes to; -1 with an exception set. */
static inline int lend_take_of_jax(PyObject *object) {
    PyObject *name = lend_take_name(object);
    PyObject *jax = name == NULL ? NULL : PyUnicode_FromString("jax"); /* jaxlib._jax.ArrayImpl */
    const int answer = jax == NULL ? -1 : (int)PyUnicode_Tailmatch(name, jax, 0, PY_SSIZE_T_MAX, -1);
    Py_XDECREF(name);
    Py_XDECREF(jax);
    return answer;
}

/* Read a capsule that nobody has consumed yet. */
static inline int lend_take_inspect(lend_take_job *job, PyObject *capsule, void **managed, int *versioned) {
    const char *name;
    int result;
    *versioned = PyCapsule_IsValid(capsule, "dltensor_versioned");
    if (!*versioned && !PyCapsule_IsValid(capsule, "dltensor")) {
        name = PyCapsule_GetName(capsule);
        if (name != NULL && (strcmp(name, "used_dltensor") == 0 || strcmp(name, "used_dltensor_versioned") == 0))
            return lend_take_refuse(job, "capsule", "ask the producer for a new one",
                "its DLPack capsule was already consumed: it is named '%s'", name);
        return lend_take_fault(job, "capsule", "its capsule is named '%.200s', not 'dltensor_versioned' or 'dltensor'",
            name == NULL ? "" : name);
    }
    *managed = PyCapsule_GetPointer(capsule, *versioned ? "dltensor_versioned" : "dltensor");
    if (*managed == NULL) return LEND_TAKE_FINAL;
    if (*versioned) {
        lend_take_versioned *tensor = (lend_take_versioned *)*managed;
        if (tensor->major != 1)
            return lend_take_refuse(job, "version", "its library's older DLPack, or a newer lend_take.h",
                "its DLPack version is %u.%u, and version 1 can be read", (unsigned)tensor->major,
                (unsigned)tensor->minor);
        lend_take_dlflags(job->view, tensor->flags);
        result = lend_take_read(job, &tensor->tensor, tensor->flags);
    } else {
        /* it cannot say; who asks for writable memory and nothing else gives his word, but not for jax */
        int immutable = (job->request->flags & (LEND_WRITABLE | LEND_COPY | LEND_COPY_IF_NEEDED)) != LEND_WRITABLE;
        if (!immutable && capsule != job->object) immutable = lend_take_of_jax(job->object);
        if (immutable < 0) return LEND_TAKE_FINAL;
        if (immutable) job->view->flags |= LEND_READONLY;
        result = lend_take_read(job, &((lend_take_unversioned *)*managed)->tensor, 0);
    }
    if (result < 0) return result;
    if (job->announced > 0 && job->announced != job->view->device_type)
        return lend_take_fault(job, "device", "__dlpack_device__() says device type %d, and its capsule says %d",
            (int)job->announced, (int)job->view->device_type);
    return LEND_TAKE_OPEN;
}

/* Inspect, judge, and only then rename: what is refused stays unconsumed, and its own destructor frees it. */
static inline int lend_take_capsule(lend_take_job *job, PyObject *capsule) {
    void *managed = NULL;
    int result, versioned = 0, claimed = 0;
    LEND_TAKE_LOCK(capsule)
    result = lend_take_inspect(job, capsule, &managed, &versioned);
    LEND_TAKE_UNLOCK()
    if (result < 0) return result;
    if (capsule != job->object) result = lend_take_guard(job);
    if (result == LEND_TAKE_OPEN) result = lend_take_judge(job);
    if (result != LEND_TAKE_OPEN) return result;
    LEND_TAKE_LOCK(capsule)
    if (PyCapsule_IsValid(capsule, versioned ? "dltensor_versioned" : "dltensor"))
        claimed = PyCapsule_SetName(capsule, versioned ? "used_dltensor_versioned" : "used_dltensor") == 0;
    LEND_TAKE_UNLOCK()
    if (!claimed)
        return lend_take_refuse(job, "capsule", "ask the producer for a new one",
            "its DLPack capsule was consumed meanwhile");
    job->lease->managed = managed;
    job->lease->versioned = versioned;
    if (capsule != job->object) {
        Py_INCREF(job->object);
        job->lease->object = job->object;
    }
    return LEND_TAKE_OPEN;
}

/* The table that exactly this type offers, of a version that can be read: it must not be given a subclass. */
static inline int lend_take_find_table(lend_take_job *job, lend_take_table **out) {
    PyObject *type = (PyObject *)Py_TYPE(job->object);
    PyObject *key = PyUnicode_FromString("__dlpack_c_exchange_api__");
    PyObject *own = key == NULL ? NULL : PyObject_GetAttrString(type, "__dict__");
    PyObject *capsule = NULL;
    lend_take_table *table = NULL;
    int has = own == NULL ? -1 : PySequence_Contains(own, key);
    if (has > 0) {
        capsule = PyObject_GetAttr(type, key);
        if (capsule == NULL) has = -1;
        else if (PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
            table = (lend_take_table *)PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    }
    Py_XDECREF(key);
    Py_XDECREF(own);
    Py_XDECREF(capsule); /* the table is static for the whole process */
    while (table != NULL && table->major != 1) table = table->previous;
    *out = table != NULL && table->from_object != NULL ? table : NULL;
    return has < 0 ? lend_take_raised(job, "__dlpack_c_exchange_api__") : LEND_TAKE_OPEN;
}

static inline int lend_take_by_table(lend_take_job *job) {
    lend_take_table *table;
    lend_take_versioned *managed = NULL;
    void *stream = NULL;
    int result = lend_take_plain(job);
    if (result < 0) return result;
    result = job->request->stream == NULL ? 0 : lend_take_shows(job->object, "__dlpack__");
    if (result < 0) return lend_take_raised(job, "__dlpack__");
    if (result > 0) return LEND_TAKE_ABSENT; /* a table orders nothing on the caller's stream, __dlpack__ does */
    result = lend_take_find_table(job, &table);
    if (result < 0 || table == NULL) return result < 0 ? result : LEND_TAKE_ABSENT;
    if (table->from_object(job->object, &managed) != 0 || managed == NULL)
        return lend_take_raised(job, "managed_tensor_from_py_object_no_sync");
    job->lease->managed = managed; /* from here on every refusal deletes it */
    job->lease->versioned = 1;
    if (managed->major != 1)
        return lend_take_refuse(job, "version", "its library's older DLPack, or a newer lend_take.h",
            "its DLPack version is %u.%u, and version 1 can be read", (unsigned)managed->major,
            (unsigned)managed->minor);
    lend_take_dlflags(job->view, managed->flags);
    result = lend_take_read(job, &managed->tensor, managed->flags);
    if (result == LEND_TAKE_OPEN) result = lend_take_guard(job);
    if (result == LEND_TAKE_OPEN) result = lend_take_judge(job);
    if (result != LEND_TAKE_OPEN) return result;
    if ((job->view->device_type == 2 || job->view->device_type == 10) && table->work_stream != NULL) {
        if (table->work_stream(job->view->device_type, job->view->device_id, &stream) != 0)
            return lend_take_raised(job, "current_work_stream");
        /* CUDA's legacy default stream is also called 1, which NULL could not say */
        job->view->sync = stream == NULL && job->view->device_type == 2 ? (void *)(uintptr_t)1 : stream;
        job->ordered = 1;
    }
    Py_INCREF(job->object);
    job->lease->object = job->object;
    return LEND_TAKE_OPEN;
}

/* Call __dlpack__: once more without max_version, if it was the signature that refused (no code of it ran). */
static inline PyObject *lend_take_call(PyObject *method, void *stream) {
    PyObject *keywords = stream == NULL ? Py_BuildValue("{s(ii)}", "max_version", 1, 3)
                                        : Py_BuildValue("{s(ii)sK}", "max_version", 1, 3, "stream",
                                                        (unsigned long long)(uintptr_t)stream);
    PyObject *none = PyTuple_New(0);
    PyObject *capsule = NULL, *kind, *value, *trace;
    if (keywords != NULL && none != NULL) capsule = PyObject_Call(method, none, keywords);
    if (capsule == NULL && keywords != NULL && none != NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Fetch(&kind, &value, &trace);
        if (trace == NULL && PyDict_DelItemString(keywords, "max_version") == 0)
            capsule = PyObject_Call(method, none, keywords);
        if (capsule == NULL && (PyErr_Occurred() == NULL || PyErr_ExceptionMatches(PyExc_Exception))) {
            PyErr_Restore(kind, value, trace); /* the first error is the cause */
        } else {
            Py_XDECREF(kind);
            Py_XDECREF(value);
            Py_XDECREF(trace);
        }
    }
    Py_XDECREF(keywords);
    Py_XDECREF(none);
    return capsule;
}

static inline int lend_take_by_dlpack(lend_take_job *job) {
    PyObject *method, *capsule, *name;
    void *stream = NULL;
    int result = job->announced == -2 ? 0 : lend_take_find(job->object, "__dlpack__", &method);
    if (result <= 0) return result < 0 ? lend_take_raised(job, "__dlpack__") : LEND_TAKE_ABSENT;
    result = lend_take_ask_device(job);
    if (result < 0) {
        Py_DECREF(method);
        return result;
    }
    if (job->announced == 2 || job->announced == 10) stream = job->request->stream;
    capsule = lend_take_call(method, stream);
    Py_DECREF(method);
    if (capsule == NULL) return lend_take_raised(job, "__dlpack__()");
    if (!PyCapsule_CheckExact(capsule)) {
        name = lend_take_name(capsule);
        result = name == NULL ? LEND_TAKE_FINAL
                              : lend_take_fault(job, "__dlpack__()", "__dlpack__() answered %U, not a DLPack capsule",
                                  name);
        Py_XDECREF(name);
    } else {
        result = PyCapsule_IsValid(capsule, "dltensor") ? lend_take_shows(job->object, "__array_interface__") : 0;
        if (result < 0)
            result = lend_take_raised(job, "__array_interface__");
        else if (result > 0)
            result = lend_take_refuse(job, "capsule", "its array interface",
                "it gives an unversioned capsule, which cannot say read-only, and has an array interface, which can");
        else
            result = lend_take_capsule(job, capsule);
        /* without a stream of the caller's DLPack orders on the legacy default stream, which CUDA calls 1 */
        if (job->view->device_type == 2) job->view->sync = stream == NULL ? (void *)(uintptr_t)1 : stream;
        if (job->view->device_type == 10) job->view->sync = stream;
        job->ordered = job->view->device_type == 2 || job->view->device_type == 10;
    }
    Py_DECREF(capsule);
    return result;
}

/* -- the array interfaces ------------------------------------------------------------------------------------------ */

/* The typestr of an entry in a descr, of any kind: its letter, and bytes of one element or -1. */
static inline char lend_take_entry(const char *text, int64_t *size) {
    const char *end;
    uint64_t digits;
    *size = -1;
    if (*text == '<' || *text == '>' || *text == '|' || *text == '=') text++;
    if (*text == 'O') {
        *size = (int64_t)sizeof(void *);
    } else if (*text != 0 && (end = lend_take_digits(text + 1, &digits)) != NULL && (*end == 0 || *end == '[')) {
        *size = (int64_t)(*text == 'U' ? 4 * digits : digits);
    }
    return *text;
}

/* Bytes of a descr, -1 if it is none, -2 with an exception set; `fields`: it has some, `objects`: of Python's. */
static inline int64_t lend_take_descr(PyObject *descr, int *budget, int depth, int *fields, int *objects) {
    int64_t total = 0, size, extent;
    Py_ssize_t at, i, parts;
    PyObject *entry, *name, *type, *repeats;
    const char *text;
    if (!PyList_Check(descr) || depth == 0) return -1;
    for (at = 0; at < PyList_Size(descr); at++) {
        entry = PyList_GetItem(descr, at);
        parts = entry != NULL && PyTuple_Check(entry) ? PyTuple_Size(entry) : 0;
        if (--*budget < 0 || parts < 2 || parts > 3) return -1;
        name = PyTuple_GetItem(entry, 0);
        type = PyTuple_GetItem(entry, 1);
        repeats = parts == 3 ? PyTuple_GetItem(entry, 2) : NULL;
        if (PyUnicode_Check(type)) {
            text = PyUnicode_AsUTF8AndSize(type, NULL);
            if (text == NULL) return -2;
            switch (lend_take_entry(text, &size)) {
            case 'O': *objects = 1; *fields = 1; break;
            case 'V': *fields |= !PyUnicode_Check(name) || PyUnicode_CompareWithASCIIString(name, "") != 0; break;
            default: *fields = 1;
            }
        } else {
            *fields = 1;
            size = lend_take_descr(type, budget, depth - 1, fields, objects);
        }
        if (size < 0) return size;
        parts = repeats == NULL ? 0 : PyTuple_Check(repeats) ? PyTuple_Size(repeats) : 1;
        for (i = 0; i < parts; i++) {
            PyObject *number = PyTuple_Check(repeats) ? PyTuple_GetItem(repeats, i) : repeats;
            if (!PyLong_Check(number)) return -1;
            extent = PyLong_AsLongLong(number);
            if (extent == -1 && PyErr_Occurred() != NULL) PyErr_Clear();
            if (extent < 0 || lend_take_mul(size, extent, &size)) return -1;
        }
        total += size;
        if (size > UINT32_MAX || total > UINT32_MAX) return -1;
    }
    return total;
}

/* A type of ml_dtypes by its name, one to a byte where it is less than one; 1 if it is one of so many bytes. */
static inline int lend_take_added(const char *name, lend_dtype *dtype) {
    const char *const *known = lend_take_small();
    const int code = *name == 'u' ? LEND_UINT : LEND_INT;
    int i = 0, bits = 8;
    if (strcmp(name, "bfloat16") == 0 && dtype->itemsize == 2) {
        *dtype = lend_native(LEND_BFLOAT, 16);
        return 1;
    }
    if (dtype->itemsize != 1) return 0;
    if (strcmp(name + (*name == 'u'), "int4") == 0 || strcmp(name + (*name == 'u'), "int2") == 0) {
        *dtype = lend_take_dtype(code, name[strlen(name) - 1] - '0', 1, 1, 0);
        return 1;
    }
    while (known[i] != NULL && strcmp(known[i], name) != 0) i++;
    if (known[i] == NULL) return 0;
    i += LEND_FLOAT8_E3M4;
    if (i > LEND_FLOAT8_E8M0FNU) bits = i == LEND_FLOAT4_E2M1FN ? 4 : 6;
    *dtype = lend_take_dtype(i, bits, 1, 1, 0);
    return 1;
}

/* What a `V` typestr really is: a record, a dtype that the object names, or (unless it must be named) bytes. */
static inline int lend_take_void(lend_take_job *job, PyObject *facts, int must_be_named) {
    lend_dtype *dtype = &job->view->dtype;
    PyObject *descr = PyDict_GetItemString(facts, "descr");
    PyObject *found = NULL, *name = NULL;
    const char *text = NULL;
    int64_t size;
    int result = LEND_TAKE_OPEN, budget = 4096, fields = 0, objects = 0;
    if (descr != NULL && descr != Py_None && !must_be_named) {
        Py_INCREF(descr);
        size = lend_take_descr(descr, &budget, 32, &fields, &objects);
        Py_DECREF(descr);
        if (size == -2) return lend_take_raised(job, "descr");
        if (size != dtype->itemsize)
            return lend_take_fault(job, "descr",
                "its descr is no list of fields of %u bytes together, as its typestr has it",
                (unsigned)dtype->itemsize);
        if (objects)
            return lend_take_refuse(job, "descr", LEND_TAKE_OTHER, "its records hold Python objects, nobody's to lend");
        if (fields) {
            dtype->code = LEND_RECORD;
            return LEND_TAKE_OPEN;
        }
    }
    if (lend_take_find(job->object, "dtype", &found) < 0
        || (found != NULL && lend_take_find(found, "name", &name) < 0)) {
        Py_XDECREF(found);
        return lend_take_raised(job, "dtype");
    }
    Py_XDECREF(found);
    if (name != NULL && PyUnicode_Check(name)) {
        text = PyUnicode_AsUTF8AndSize(name, NULL);
        if (text == NULL) result = lend_take_raised(job, "dtype");
    }
    if (result == LEND_TAKE_OPEN && text == NULL && must_be_named)
        result = lend_take_refuse(job, "typestr", LEND_TAKE_OTHER,
            "there is no float of 1 byte but by the name of its dtype, and it has none");
    if (text != NULL && ((strncmp(text, "void", 4) != 0 && strncmp(text, "record", 6) != 0) || must_be_named)) {
        /* a type that was added to NumPy (ml_dtypes) calls itself V and is told by its name */
        if (!lend_take_added(text, dtype))
            result = lend_take_refuse(job, "dtype", LEND_TAKE_OTHER,
                "C has no word for its dtype '%.200s', whose typestr says %u plain bytes", text,
                (unsigned)dtype->itemsize);
    }
    Py_XDECREF(name);
    return result;
}

/* A tuple (or list) of integers, times `scale`; `field` says which. */
static inline int lend_take_sizes(lend_take_job *job, const char *field, PyObject *items, int64_t scale, int64_t *out) {
    const int64_t *shape = lend_take_shape(job->view);
    int64_t number = 0;
    int32_t i;
    for (i = 0; i < job->view->ndim; i++) {
        int read = lend_take_integer(PyTuple_GetItem(items, i), 1, &number, NULL);
        if (read < 0) return lend_take_raised(job, field);
        if (read == 0)
            return lend_take_fault(job, field, "its %s has %.100R, not an integer of 64 bits", field,
                PyTuple_GetItem(items, i));
        if (lend_take_mul(scale, number, &out[i])) {
            if (shape[i] > 1)
                return lend_take_fault(job, field, "its %s has %lld, more than fits (bounds)", field,
                    (long long)number);
            out[i] = scale;
        }
    }
    return LEND_TAKE_OPEN;
}

/* What the interfaces differ in. */
typedef struct lend_take_kind {
    const char *attribute;
    const char *typestrs; /* the kinds that it may say */
    int32_t device_type;
    int in_elements; /* strides and offset are counted in elements */
} lend_take_kind;

/* Shape, strides and address of an interface, out of objects that are held meanwhile. */
static inline int lend_take_facts(lend_take_job *job, const lend_take_kind *kind, PyObject *shape, PyObject *strides,
                                  PyObject *place, PyObject *offset) {
    lend_view *view = job->view;
    const int64_t scale = kind->in_elements ? view->dtype.itemsize : 1;
    int64_t start = 0;
    uint64_t address = 0;
    int result, empty = 0, truth;
    if (shape == NULL || !PyTuple_Check(shape))
        return lend_take_fault(job, "shape", "its shape is %.100R, not a tuple", shape == NULL ? Py_None : shape);
    result = lend_take_room(job, PyTuple_Size(shape));
    if (result < 0) return result;
    result = lend_take_sizes(job, "shape", shape, 1, lend_take_shape(view));
    if (result == LEND_TAKE_OPEN) result = lend_take_check_shape(job, &empty);
    if (result < 0) return result;
    if (strides == NULL || strides == Py_None) {
        lend_take_natural(view, 0);
    } else {
        if (!PyTuple_Check(strides) || PyTuple_Size(strides) != view->ndim)
            return lend_take_fault(job, "strides", "its strides are %.100R, not a tuple of %d steps", strides,
                (int)view->ndim);
        result = lend_take_sizes(job, "strides", strides, scale, lend_take_strides(view));
        if (result < 0) return result;
    }
    result = lend_take_check_strides(job, empty);
    if (result < 0) return result;
    if (offset != NULL && offset != Py_None) {
        result = lend_take_integer(offset, 1, &start, NULL);
        if (result < 0) return lend_take_raised(job, "offset");
        if (result == 0 || lend_take_mul(scale, start, &start))
            return lend_take_fault(job, "offset", "its offset is %.100R, not an integer of 64 bits", offset);
    }
    if (place != NULL && PyTuple_Check(place)) {
        if (PyTuple_Size(place) != 2)
            return lend_take_fault(job, "data", "its data is %.100R, not a pair (address, readonly)", place);
        result = lend_take_integer(PyTuple_GetItem(place, 0), 0, NULL, &address);
        truth = result > 0 ? PyObject_IsTrue(PyTuple_GetItem(place, 1)) : 0;
        if (result < 0 || truth < 0) return lend_take_raised(job, "data");
        if (result == 0)
            return lend_take_fault(job, "data", "its data is %.100R, not a pair (address, readonly)", place);
        if (start != 0 && !kind->in_elements)
            return lend_take_fault(job, "offset", "its offset is %lld, and must be 0 beside an address",
                (long long)start);
        if (start < 0 ? address < (uint64_t)-(start + 1) + 1 : UINT64_MAX - address < (uint64_t)start)
            return lend_take_fault(job, "offset", "its offset %.100R leaves the address space (bounds)", offset);
        if (truth) view->flags |= LEND_READONLY;
        if (address == 0) start = 0;
        result = lend_take_place(job, "data", address + (uint64_t)start);
        if (result < 0) return result;
    } else {
        /* a buffer, or that of the object itself: its length is a bound */
        Py_buffer *buffer = &job->lease->buffer;
        if (place == NULL || place == Py_None) place = job->object;
        if (kind->device_type != 1 || !PyObject_CheckBuffer(place))
            return lend_take_fault(job, "data", "its data is no pair (address, readonly)%s",
                kind->device_type == 1 ? ", and no buffer" : "");
        if (PyObject_GetBuffer(place, buffer, PyBUF_ANY_CONTIGUOUS) < 0) return lend_take_raised(job, "data");
        job->lease->opened = 1;
        if (buffer->len < 0 || (buffer->len > 0 && buffer->buf == NULL) || buffer->ndim < 0
            || buffer->ndim > LEND_TAKE_DIMS || (buffer->ndim > 0 && buffer->strides != NULL && buffer->shape == NULL)
            || !PyBuffer_IsContiguous(buffer, 'A'))
            return lend_take_fault(job, "data", "its data is no contiguous buffer");
        if (buffer->obj == NULL || UINTPTR_MAX - (uintptr_t)buffer->buf < (uintptr_t)buffer->len)
            return lend_take_fault(job, "data",
                "its data is a buffer that leaves the address space (bounds), or says not whose it is");
        if (start > buffer->len || start < -job->low || job->high > buffer->len - start)
            return lend_take_fault(job, "data",
                "bytes %lld to %lld from offset %lld on are described, and its buffer has %zd (bounds)",
                (long long)job->low, (long long)job->high, (long long)start, buffer->len);
        if (buffer->readonly) view->flags |= LEND_READONLY;
        if (job->high > job->low) view->data = (char *)buffer->buf + start;
    }
    Py_INCREF(job->object);
    job->lease->object = job->object;
    return lend_take_judge(job);
}

/* The version of a device's interface: 0 to 3 of CUDA, where none is 0; 1 of SYCL. NumPy's is not believed. */
static inline int lend_take_version(lend_take_job *job, const lend_take_kind *kind, PyObject *version, uint64_t *out) {
    const uint64_t least = kind->device_type == 14, most = kind->device_type == 14 ? 1 : 3;
    int read;
    *out = 0;
    if (kind->device_type == 1 || (least == 0 && (version == NULL || version == Py_None))) return LEND_TAKE_OPEN;
    read = version == NULL ? 0 : lend_take_integer(version, 0, NULL, out);
    if (read < 0) return lend_take_raised(job, "version");
    if (read == 0 || *out < least || *out > most)
        return lend_take_refuse(job, "version", "its library's other protocols, or a newer lend_take.h",
            "its version is %.100R, and %s can be read", version == NULL ? Py_None : version,
            least != 0 ? "1" : "0 to 3");
    return LEND_TAKE_OPEN;
}

/* Typestr, mask and stream of an interface. */
static inline int lend_take_meaning(lend_take_job *job, const lend_take_kind *kind, PyObject *facts, PyObject *typestr,
                                    PyObject *mask, PyObject *stream) {
    Py_ssize_t length = 0;
    const char *text = typestr == NULL || !PyUnicode_Check(typestr) ? NULL : PyUnicode_AsUTF8AndSize(typestr, &length);
    uint64_t number = 0;
    int result, eight;
    if (text == NULL || strlen(text) != (size_t)length) {
        PyErr_Clear();
        return lend_take_fault(job, "typestr", "its typestr is %.100R, not a text such as '<f4'",
            typestr == NULL ? Py_None : typestr);
    }
    eight = strcmp(text + (*text == '<' || *text == '>' || *text == '|' || *text == '='), "f1") == 0;
    if (eight) job->view->dtype = lend_take_dtype(LEND_OPAQUE, 0, 1, 1, 0); /* of ml_dtypes: which, only a name tells */
    if ((!eight && !lend_take_typestr(text, &job->view->dtype))
        || strchr(kind->typestrs, text[*text == '<' || *text == '>' || *text == '|' || *text == '=']) == NULL)
        return lend_take_refuse(job, "typestr", LEND_TAKE_OTHER,
            "its typestr '%.200s' is not understood (objects and bits never are)", text);
    if (kind->device_type != 1 && job->view->dtype.order == '>')
        return lend_take_fault(job, "typestr", "its typestr '%.200s' is big-endian, on a device", text);
    if (job->view->dtype.code == LEND_OPAQUE) {
        result = lend_take_void(job, facts, eight);
        if (result < 0) return result;
    }
    if (mask != NULL && mask != Py_None)
        return lend_take_refuse(job, "mask", "data and mask apart, or filled with a value",
            "it has a mask, which one block of memory does not carry, and which must not be ignored");
    job->ordered = stream != NULL;
    if (stream != NULL && stream != Py_None) {
        result = lend_take_integer(stream, 0, NULL, &number);
        if (result < 0) return lend_take_raised(job, "stream");
        if (result == 0 || number == 0 || number > UINTPTR_MAX)
            return lend_take_fault(job, "stream", "its stream is %.100R: not a stream, or ambiguous", stream);
        job->view->sync = (void *)(uintptr_t)number;
    }
    return LEND_TAKE_OPEN;
}

/* The entry of a dict, counted, as what is read of it may change the dict; a list of numbers as a tuple. */
static inline PyObject *lend_take_entry_of(PyObject *facts, const char *key, int numbers) {
    PyObject *found = PyDict_GetItemString(facts, key);
    if (numbers && found != NULL && PyList_Check(found)) return PyList_AsTuple(found);
    Py_XINCREF(found);
    return found;
}

/* Where the memory is. The kind stays that of the interface where the object announces pinned or managed memory: the
 * host reads nothing before it has waited. */
static inline int lend_take_put(lend_take_job *job, const lend_take_kind *kind) {
    const int32_t told = job->announced;
    const int fits = kind->device_type == 14 ? told == 14
                                             : told == 2 || told == 3 || told == 10 || told == 11 || told == 13;
    if (told > 0 && !fits)
        return lend_take_fault(job, "__dlpack_device__()",
            "its __dlpack_device__() announces device type %d, which contradicts its %s", (int)told, kind->attribute);
    if (told > 0 && job->announced_id == -2)
        return lend_take_fault(job, "__dlpack_device__()",
            "its __dlpack_device__() announces device type %d with an id that is none", (int)told);
    job->view->device_type = told == 10 || told == 11 ? 10 : kind->device_type;
    job->view->device_id = told == job->view->device_type ? job->announced_id : -1; /* the interface does not tell */
    return LEND_TAKE_OPEN;
}

static inline int lend_take_by_interface(lend_take_job *job, const lend_take_kind *kind) {
    static const char *const keys[] = {"shape", "strides", "data", "offset", "typestr", "mask", "stream", "version"};
    PyObject *parts[8];
    PyObject *facts, *name;
    uint64_t version;
    int i, result = lend_take_find(job->object, kind->attribute, &facts);
    if (result <= 0) return result < 0 ? lend_take_raised(job, kind->attribute) : LEND_TAKE_ABSENT;
    if (!PyDict_Check(facts)) {
        name = lend_take_name(facts);
        result = name == NULL ? LEND_TAKE_FINAL
                              : lend_take_fault(job, kind->attribute, "its %s is %U, not a dict", kind->attribute,
                                  name);
        Py_XDECREF(name);
        Py_DECREF(facts);
        return result;
    }
    for (i = 0; i < 8; i++) parts[i] = lend_take_entry_of(facts, keys[i], i < 2);
    job->view->device_type = kind->device_type;
    if (kind->device_type != 1) {
        result = lend_take_ask_device(job);
        if (result >= 0) result = lend_take_put(job, kind);
    }
    if (result >= 0) result = lend_take_version(job, kind, parts[7], &version);
    if (result >= 0) /* before version 3 a stream meant nothing */
        result = lend_take_meaning(job, kind, facts, parts[4], parts[5],
                                   kind->device_type == 2 && version == 3 ? parts[6] : NULL);
    if (result == LEND_TAKE_OPEN)
        result = lend_take_facts(job, kind, parts[0], parts[1], parts[2], kind->device_type == 2 ? NULL : parts[3]);
    for (i = 0; i < 8; i++) Py_XDECREF(parts[i]);
    Py_DECREF(facts);
    return result;
}

/* -- the doors, in their order ------------------------------------------------------------------------------------- */

#define LEND_TAKE_DOORS 7

static inline int lend_take_by(lend_take_job *job, int door) {
    static const lend_take_kind cuda = {"__cuda_array_interface__", "biufcmMVSU", 2, 0};
    static const lend_take_kind sycl = {"__sycl_usm_array_interface__", "biufc", 14, 1};
    static const lend_take_kind numpy = {"__array_interface__", "biufcmMVSU", 1, 0};
    static const char *const names[LEND_TAKE_DOORS] = {"DLPack capsule", "buffer protocol", "DLPack C exchange API",
                                                       "DLPack", "CUDA array interface", "SYCL USM array interface",
                                                       "array interface"};
    int may;
    job->door = names[door];
    switch (door) {
    case 0: return PyCapsule_CheckExact(job->object) ? lend_take_capsule(job, job->object) : LEND_TAKE_ABSENT;
    case 1: return lend_take_by_buffer(job);
    case 2: return lend_take_by_table(job);
    case 3: return lend_take_by_dlpack(job);
    case 4: return lend_take_by_interface(job, &cuda);
    case 5: return lend_take_by_interface(job, &sycl);
    default:
        /* also when the device interface was refused: what this one shows may be an address of the device's */
        may = lend_take_may_open(job);
        if (may > 0) {
            const int told = lend_take_ask_device(job);
            if (told < 0) return told;
            if (job->announced > 1 && job->refusals) return LEND_TAKE_ABSENT; /* a door of devices has said more */
            if (job->announced > 1)
                return lend_take_fault(job, "__array_interface__",
                    "it announces device type %d, which contradicts its __array_interface__", (int)job->announced);
            may = job->announced >= 0;
        }
        return may < 0 ? may : may == 0 ? LEND_TAKE_ABSENT : lend_take_by_interface(job, &numpy);
    }
}

static inline int lend_take(PyObject *object, const lend_request *request, lend_view *view) {
    static const lend_request any = LEND_REQUEST_INIT;
    static const lend_view blank = LEND_VIEW_INIT;
    lend_take_job job;
    int door, result = LEND_TAKE_ABSENT;
    *view = blank;
    if (request != NULL && lend_take_check_request(request) < 0) return -1;
    memset(&job, 0, sizeof(job));
    job.object = object;
    job.request = request == NULL ? &any : request;
    job.view = view;
    job.announced = -1;
    job.lease = (lend_take_lease *)calloc(1, sizeof(lend_take_lease));
    if (job.lease == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    /* what stands in a class is for its instances */
    for (door = PyType_Check(object) ? LEND_TAKE_DOORS : 0; door < LEND_TAKE_DOORS; door++) {
        result = lend_take_by(&job, door);
        if (result == LEND_TAKE_OPEN && job.copy) result = lend_take_copy(&job);
        if (result == LEND_TAKE_OPEN) break;
        lend_take_let_go(job.lease);
        free(job.lease->block);
        free(job.lease->dims);
        memset(job.lease, 0, sizeof(*job.lease));
        *view = blank;
        job.copy = job.rows = job.ordered = 0;
        if (result == LEND_TAKE_REFUSED) result = lend_take_note(&job);
        if (result == LEND_TAKE_FINAL) break;
    }
    if (result == LEND_TAKE_OPEN) {
        if (!job.ordered && view->device_type != 1) view->flags |= LEND_SYNC_UNKNOWN;
        view->lease = job.lease;
        view->release = lend_take_give_back;
    } else {
        free(job.lease);
        if (result != LEND_TAKE_FINAL) lend_take_closed(&job);
    }
    Py_XDECREF(job.tried);
    Py_XDECREF(job.first);
    Py_XDECREF(job.fact);
    return result == LEND_TAKE_OPEN ? 0 : -1;
}

#ifdef __cplusplus
}
#endif
#endif
