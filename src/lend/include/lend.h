/* lend.h: any array from any Python library as one plain C struct, and memory of C as an array for any library.
 *
 * C99 and C++, within the Limited API of Python 3.11. Nothing is linked: lend_import() fetches a table of functions
 * from the installed package `lend`, once. The table and the structs only grow; both sides say how much of them they
 * know.
 *
 *     lend_view v = LEND_VIEW_INIT;
 *     if (lend_acquire(object, NULL, &v) < 0) return NULL;      // a Python exception is set
 *     ... lend_data(&v), lend_shape(&v), lend_strides(&v), v.dtype ...
 *     lend_release(&v);                                         // any thread, with or without the GIL
 *
 * Columns and tables come as the structs of Arrow: lend_acquire_arrow().
 *
 * Sources of the meanings: DLPack (device and dtype codes), https://dmlc.github.io/dlpack/latest/c_api.html; NumPy
 * (units of datetimes), https://numpy.org/doc/stable/reference/c-api/.
 *
 * Copyright the lend developers. Licensed under the Apache License, Version 2.0.
 */
#ifndef LEND_H
#define LEND_H

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

/* -- columns: the structs of the Arrow C data and C device data interfaces, as their specifications have them -------
 * https://arrow.apache.org/docs/format/CDataInterface.html, https://arrow.apache.org/docs/format/CDeviceDataInterface.html
 */
#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif /* ARROW_C_DATA_INTERFACE */

#ifndef ARROW_C_DEVICE_DATA_INTERFACE
#define ARROW_C_DEVICE_DATA_INTERFACE

typedef int32_t ArrowDeviceType;

#define ARROW_DEVICE_CPU 1
#define ARROW_DEVICE_CUDA 2
#define ARROW_DEVICE_CUDA_HOST 3
#define ARROW_DEVICE_OPENCL 4
#define ARROW_DEVICE_VULKAN 7
#define ARROW_DEVICE_METAL 8
#define ARROW_DEVICE_VPI 9
#define ARROW_DEVICE_ROCM 10
#define ARROW_DEVICE_ROCM_HOST 11
#define ARROW_DEVICE_EXT_DEV 12
#define ARROW_DEVICE_CUDA_MANAGED 13
#define ARROW_DEVICE_ONEAPI 14
#define ARROW_DEVICE_WEBGPU 15
#define ARROW_DEVICE_HEXAGON 16

struct ArrowDeviceArray {
    struct ArrowArray array;
    int64_t device_id;
    ArrowDeviceType device_type;
    void *sync_event;
    int64_t reserved[3];
};
#endif /* ARROW_C_DEVICE_DATA_INTERFACE */

/* lend_column.nulls: in which form a column says that an element is null */
enum {
    LEND_NULLS_NONE = 0,     /* none is */
    LEND_NULLS_NAN = 1,      /* each NaN is */
    LEND_NULLS_SENTINEL = 2, /* each that equals `sentinel` is */
    LEND_NULLS_BITMASK = 3,  /* a bit for each, the lowest of a byte first */
    LEND_NULLS_BYTEMASK = 4, /* a byte for each */
    LEND_NULLS_NAT = 5       /* each NaT is, the least int64, which is also the `sentinel` */
};

/* What Arrow's structs have no words for. Element i of elements of one width is at data + i * stride; whether it is null
 * is said by bit mask_bit + i from `mask` on, or by the byte at mask + i * mask_stride, as `missing` says. */
typedef struct lend_column {
    uint32_t struct_size;       /* sizeof(lend_column) of the caller */
    uint32_t flags;             /* LEND_READONLY; LEND_C_CONTIGUOUS: the elements lie side by side */
    int32_t nulls;              /* LEND_NULLS_... */
    int32_t missing;            /* of a mask: the bit, or the truth of the byte, that says null */
    int64_t null_count;         /* by this form; -1: nobody counted */
    const void *mask;           /* of a mask, else NULL */
    int64_t mask_bit;           /* of bits */
    int64_t mask_stride;        /* of bytes: any sign, and 0 where one byte is for all */
    const void *data;           /* element 0; NULL where elements have no width of their own */
    int64_t stride;             /* bytes, any sign */
    uint32_t width;             /* bytes of an element; 0 where it has none of its own */
    uint32_t sentinel_size;     /* bytes that are set of the sentinel: `width`, or 0 */
    unsigned char sentinel[32]; /* as it lies in memory */
    int32_t device_type;        /* as in the ArrowDeviceArray */
    int32_t device_id;
    void *reserved[2];
} lend_column;

#define LEND_COLUMN_INIT {sizeof(lend_column), 0, 0, 0, 0, NULL, 0, 0, NULL, 0, 0, 0, \
                          {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, \
                          0, 0, {NULL, NULL}}

#if UINTPTR_MAX == 0xFFFFFFFFFFFFFFFFu
typedef char lend_column_is_128_bytes[sizeof(lend_column) == 128 ? 1 : -1];
typedef char lend_device_array_is_128_bytes[sizeof(struct ArrowDeviceArray) == 128 ? 1 : -1];
#endif

#ifdef __cplusplus
}
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The functions, found by lend_import(). New ones are appended; `size` says how many bytes of this struct are there. */
typedef struct lend_api {
    uint32_t major;
    uint32_t minor;
    size_t size;
    int (*acquire)(PyObject *object, const lend_request *request, lend_view *view);
    int (*borrow)(PyObject *object, const lend_request *request, lend_view *view);
    PyObject *(*wrap)(const lend_view *description, PyObject *owner, void (*release)(void *context), void *context);
    int (*host_access)(const lend_view *view);
    int (*acquire_arrow)(PyObject *object, uint32_t flags, struct ArrowSchema *schema, struct ArrowDeviceArray *array,
                         lend_column *column);
} lend_api;

#define LEND_API_NAME "lend.capi.API"

/* Whether the installed lend has a function of this table: for those that are younger than the major version. */
#define LEND_HAS(function) (lend_functions->size >= offsetof(lend_api, function) + sizeof(lend_functions->function))

/* Each file that includes this has its own pointer; the capsule lives as long as the interpreter. */
static const lend_api *lend_functions = NULL;

/* The initialisers as functions, for languages that lack such macros. */
static inline lend_view lend_view_init(void) {
    const lend_view empty = LEND_VIEW_INIT;
    return empty;
}
static inline lend_request lend_request_init(void) {
    const lend_request any = LEND_REQUEST_INIT;
    return any;
}

static inline lend_column lend_column_init(void) {
    const lend_column empty = LEND_COLUMN_INIT;
    return empty;
}

/* Fetch the functions; 0, or -1 with an ImportError set. Called by the others when it was not: call it in your module's
 * initialisation to fail early. With the GIL. */
static inline int lend_import(void) {
    const lend_api *found;
    if (lend_functions != NULL) return 0;
    /* PyCapsule_Import finds submodules only if somebody imported them */
    {
        PyObject *module = PyImport_ImportModule("lend.capi");
        if (module == NULL) return -1;
        Py_DECREF(module);
    }
    found = (const lend_api *)PyCapsule_Import(LEND_API_NAME, 0);
    if (found == NULL) return -1;
    if (found->major != LEND_ABI_MAJOR) {
        PyErr_Format(PyExc_ImportError, "this module was built with lend.h of ABI %d, and the installed lend has %u",
                     LEND_ABI_MAJOR, (unsigned)found->major);
        return -1;
    }
    lend_functions = found;
    return 0;
}

/* What the caller's header knows of the struct; the rest is filled in by the functions below. Not the whole of it is
 * cleared, which would cost as much as borrowing. */
static inline void lend_view_start(lend_view *view) {
    view->abi = LEND_ABI;
    view->struct_size = sizeof(*view);
    view->data = NULL;
    view->lease = NULL;
    view->release = NULL;
}

/* Describe the memory of an object and keep it alive until lend_release(). `request` may be NULL: whatever comes, as it
 * lies. 0, or -1 with an exception set and nothing to release. What was in `view` is overwritten, so that it need not be
 * initialised, unless lend_release() may come by before. With the GIL. */
static inline int lend_acquire(PyObject *object, const lend_request *request, lend_view *view) {
    lend_view_start(view);
    if (lend_functions == NULL && lend_import() < 0) return -1;
    return lend_functions->acquire(object, request, view);
}

/* As lend_acquire, for as long as the call in which you are lasts: the caller holds `object`, no Python code runs
 * meanwhile, the GIL stays with you. Mostly no object is made. lend_release() is still due, and mostly does nothing. */
static inline int lend_borrow(PyObject *object, const lend_request *request, lend_view *view) {
    lend_view_start(view);
    if (lend_functions == NULL && lend_import() < 0) return -1;
    return lend_functions->borrow(object, request, view);
}

/* Give back what lend_acquire or lend_borrow gave; harmless on an empty or a released view. On any thread, with or
 * without the GIL; after the interpreter's end it does nothing. */
static inline void lend_release(lend_view *view) {
    void (*release)(lend_view *) = view->release;
    if (release != NULL) {
        view->release = NULL;
        release(view);
    }
    view->data = NULL;
    view->lease = NULL;
}

/* Producer side: a lend.View over memory of yours, which every library can take. `description` says where and what: set
 * data, dtype (no record, no object), device_type, device_id, ndim and dims, and no byte_offset; LEND_READONLY if it
 * may not be written to. Where all strides are 0, LEND_C_CONTIGUOUS or LEND_F_CONTIGUOUS fills them in, and without a
 * flag they were forgotten, and are refused (but of elements that share bytes all are 0); a stride of 0 beside others
 * repeats an element. A flag that the strides contradict is refused, and so is one that is not of a lend_view.
 * It is copied. The memory must stay until `release(context)` was called, once, on any thread, with the GIL; or, with
 * `release` NULL, as long as `owner` lives.
 * A new reference, or NULL with an exception set, and then release is not called. With the GIL. */
static inline PyObject *lend_wrap(const lend_view *description, PyObject *owner, void (*release)(void *context),
                                  void *context) {
    if (lend_functions == NULL && lend_import() < 0) return NULL;
    return lend_functions->wrap(description, owner, release, context);
}

/* 0 if the host may read the memory now, -1 with NotHostAccessible set if not. Of what was acquired from a device the
 * driver is asked, and the work waited for; of what was borrowed from one ask for device_type 1. With the GIL. */
static inline int lend_host_access(const lend_view *view) {
    if (lend_functions == NULL && lend_import() < 0) return -1;
    return lend_functions->host_access(view);
}

/* A column, or a table as one array of structs, of any object that lend.column or lend.table takes. The structs are the
 * caller's, who moves them, or releases them by their own callbacks (lend_release_arrow), once, on any thread, with or
 * without the GIL; what was in them is overwritten. The memory stays as long as the array, whatever becomes of `object`.
 * It is on array->device_type, 1 being the host.
 *
 * What is as Arrow has it comes as it lies. What is not (nulls told by bytes, by NaN, NaT or a value; elements with gaps
 * or in the order of memory backwards; bools of one byte) is
 *     - described: with `column` (of LEND_COLUMN_INIT) nothing is copied, the array tells no nulls where its own words
 *       have none for them, and `column` tells all. Such bools are int8 by the extension arrow.bool8. Only with `column`
 *       does the caller see where element i is;
 *     - or copied, and counted by lend.copies(), with LEND_COPY_IF_NEEDED in `flags`, as several chunks are;
 *     - or refused, with the reason.
 * With LEND_COPY it is always a compact copy. `column` may be NULL; no other flag is known. Of a table it says that no
 * row is null. 0, or -1 with an exception set and nothing to release. With the GIL. */
static inline int lend_acquire_arrow(PyObject *object, uint32_t flags, struct ArrowSchema *schema,
                                     struct ArrowDeviceArray *array, lend_column *column) {
    schema->release = NULL;
    array->array.release = NULL;
    if (lend_functions == NULL && lend_import() < 0) return -1;
    if (!LEND_HAS(acquire_arrow)) {
        PyErr_SetString(PyExc_ImportError, "the installed lend is too old for lend_acquire_arrow");
        return -1;
    }
    return lend_functions->acquire_arrow(object, flags, schema, array, column);
}

/* Release what lend_acquire_arrow gave and nobody moved away; harmless on what was released. On any thread. */
static inline void lend_release_arrow(struct ArrowSchema *schema, struct ArrowDeviceArray *array) {
    if (array->array.release != NULL) array->array.release(&array->array);
    if (schema->release != NULL) schema->release(schema);
}

#ifdef __cplusplus
}
#endif
#endif
