/* Shared by the files of the test helper `lend_counting`: DLPack's structs and what the files say to each other.
 *
 * The structs are declared here, and not taken from the library's own dlpack.h, so that a wrong field there cannot
 * agree with itself.
 */
#ifndef LEND_COUNTING_H
#define LEND_COUNTING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define POISON 0xDD

typedef struct { uint32_t major, minor; } DLVersion;
typedef struct { int32_t type, id; } DLDevice;
typedef struct { uint8_t code, bits; uint16_t lanes; } DLDataType;
typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
} DLTensor;
typedef struct DLLegacy {
    DLTensor tensor;
    void *manager_ctx;
    void (*deleter)(struct DLLegacy *);
} DLLegacy;
typedef struct DLVersioned {
    DLVersion version;
    void *manager_ctx;
    void (*deleter)(struct DLVersioned *);
    uint64_t flags;
    DLTensor tensor;
} DLVersioned;
typedef struct DLHeader {
    DLVersion version;
    struct DLHeader *prev_api;
} DLHeader;
typedef struct {
    DLHeader header;
    int (*allocate)(DLTensor *, DLVersioned **, void *, void (*)(void *, const char *, const char *));
    int (*from_object)(void *, DLVersioned **);
    int (*to_object)(DLVersioned *, void **);
    int (*borrow)(void *, DLTensor *);
    int (*stream)(int32_t, int32_t, void **);
} DLExchange;

_Static_assert(sizeof(DLTensor) == 48 && sizeof(DLLegacy) == 64 && sizeof(DLVersioned) == 80, "DLPack's sizes");
_Static_assert(sizeof(DLExchange) == 56 && offsetof(DLExchange, borrow) == 40, "DLPack's exchange table");

/* What happened to the tensors of one producer. Not a Python object: deleters run without the GIL, on foreign threads
 * and after finalisation. Kept by the producer, by each living tensor and by each living capsule. */
typedef struct Tensor Tensor;
typedef struct {
    atomic_long references, made, deleted, deleted_by_capsule, dropped, consumed, pending, twice, without_gil;
    atomic_ulong last_thread;
    unsigned char *memory;  /* as allocated */
    unsigned char *start;   /* the first byte handed out */
    size_t nbytes;
    int poison, quarantine;
    _Atomic(Tensor *) buried;
} Ledger;

/* A producer of tensors: every field of the descriptor is the caller's to set, also to nonsense. */
typedef struct {
    PyObject_HEAD
    Ledger *ledger;
    int64_t *shape, *strides; /* strides NULL: the capsule has none */
    Py_ssize_t length;        /* of shape and strides */
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    uint64_t byte_offset, flags;
    DLVersion version;
    int null_shape, null_deleter;
    PyObject *failure; /* of the exchange functions: None, an exception to raise, or a word */
} TensorSource;

extern PyTypeObject TensorSource_Type, Taken_Type, CountingBuffer_Type, Hold_Type, CarelessBuffer_Type;
extern PyMethodDef dlpack_functions[], exchange_functions[], struct_functions[];

/* counting_dlpack.c */
DLVersioned *make_versioned(TensorSource *self);
PyObject *taken_new(void *managed, int versioned);
DLVersioned *taken_steal(PyObject *taken);
PyObject *tensor_fields(const DLTensor *tensor);

static inline int put(PyObject *dict, const char *key, PyObject *value) /* steals value */
{
    if (value == NULL) return -1;
    int rc = PyDict_SetItemString(dict, key, value);
    Py_DECREF(value);
    return rc;
}

static inline PyObject *numbers(const int64_t *first, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; i++) {
        PyObject *number = PyLong_FromLongLong(first[i]);
        if (number == NULL) Py_CLEAR(tuple);
        else PyTuple_SET_ITEM(tuple, i, number);
    }
    return tuple;
}
#endif
