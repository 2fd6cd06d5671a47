/* DLPack: a producer whose tensors are released by real C deleters, and `Taken`, a tensor taken by a test.
 *
 * A deleted tensor is overwritten and, unless the producer says quarantine=False, not freed before its books: a second
 * deleter call or a late read of its shape is then a number in the books, not a crash.
 */
#include "counting.h"

#define ALIVE 0x4c454e4454454e53u

struct Tensor {
    uint64_t magic;
    Ledger *ledger;
    Tensor *next;
    size_t bytes;
    int by_capsule, versioned;
    union { DLLegacy legacy; DLVersioned versioned; } managed;
    int64_t numbers[];
};

static void ledger_drop(Ledger *ledger)
{
    if (atomic_fetch_sub(&ledger->references, 1) != 1) return;
    for (Tensor *tensor = ledger->buried, *next; tensor != NULL; tensor = next) {
        next = tensor->next;
        free(tensor);
    }
    if (ledger->memory != NULL) memset(ledger->start, POISON, ledger->nbytes);
    free(ledger->memory);
    free(ledger);
}

static void delete_legacy(DLLegacy *managed);
static void delete_versioned(DLVersioned *managed);

static void delete_tensor(void *managed)
{
    Tensor *tensor = (Tensor *)((char *)managed - offsetof(Tensor, managed));
    Ledger *ledger = tensor->ledger;
    if (tensor->magic != ALIVE) { ledger->twice++; return; }
    int by_capsule = tensor->by_capsule;
    int running = Py_IsInitialized(), attached = running && PyGILState_Check();
    if (attached && PyErr_Occurred()) ledger->pending++;
    if (running && !attached) ledger->without_gil++;
    ledger->last_thread = PyThread_get_thread_ident();
    if (by_capsule) ledger->deleted_by_capsule++;
    memset(&tensor->managed, POISON, tensor->bytes - offsetof(Tensor, managed));
    if (tensor->versioned) tensor->managed.versioned.deleter = delete_versioned; /* a second call must come back here */
    else tensor->managed.legacy.deleter = delete_legacy;
    tensor->magic = 0;
    if (ledger->quarantine) { /* `ledger` stays readable in it: a second call must find the books */
        tensor->next = ledger->buried;
        while (!atomic_compare_exchange_weak(&ledger->buried, &tensor->next, tensor)) {}
    } else free(tensor);
    long made = ledger->made;
    if (atomic_fetch_add(&ledger->deleted, 1) + 1 == made && ledger->poison && !by_capsule)
        memset(ledger->start, POISON, ledger->nbytes);
    ledger_drop(ledger);
}

static void delete_legacy(DLLegacy *managed) { delete_tensor(managed); }
static void delete_versioned(DLVersioned *managed) { delete_tensor(managed); }

static void fill_tensor(TensorSource *self, DLTensor *tensor, int64_t *room)
{
    size_t bytes = (size_t)self->length * sizeof(int64_t);
    tensor->data = self->data;
    tensor->device = self->device;
    tensor->ndim = self->ndim;
    tensor->dtype = self->dtype;
    tensor->byte_offset = self->byte_offset;
    tensor->shape = self->null_shape ? NULL : room;
    tensor->strides = self->strides == NULL ? NULL : room + self->length;
    if (bytes) memcpy(room, self->shape, bytes);
    if (bytes && self->strides != NULL) memcpy(room + self->length, self->strides, bytes);
}

static Tensor *make_tensor(TensorSource *self, int versioned)
{
    size_t bytes = sizeof(Tensor) + (size_t)(2 * self->length + 1) * sizeof(int64_t);
    Tensor *tensor = calloc(1, bytes);
    if (tensor == NULL) { PyErr_NoMemory(); return NULL; }
    tensor->magic = ALIVE;
    tensor->bytes = bytes;
    tensor->versioned = versioned;
    tensor->ledger = self->ledger;
    self->ledger->references++;
    self->ledger->made++;
    return tensor;
}

DLVersioned *make_versioned(TensorSource *self)
{
    Tensor *tensor = make_tensor(self, 1);
    if (tensor == NULL) return NULL;
    DLVersioned *managed = &tensor->managed.versioned;
    fill_tensor(self, &managed->tensor, tensor->numbers);
    managed->version = self->version;
    managed->flags = self->flags;
    managed->manager_ctx = tensor;
    managed->deleter = self->null_deleter ? NULL : delete_versioned;
    return managed;
}

static DLLegacy *make_legacy(TensorSource *self)
{
    Tensor *tensor = make_tensor(self, 0);
    if (tensor == NULL) return NULL;
    DLLegacy *managed = &tensor->managed.legacy;
    fill_tensor(self, &managed->tensor, tensor->numbers);
    managed->manager_ctx = tensor;
    managed->deleter = self->null_deleter ? NULL : delete_legacy;
    return managed;
}

/* The producer's side of the contract: delete if the name is still the one given, else only remember the use. */
static void capsule_gone(PyObject *capsule)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    const char *name = PyCapsule_GetName(capsule);
    Ledger *ledger = PyCapsule_GetContext(capsule);
    if (name != NULL && strncmp(name, "used_", 5) == 0) ledger->consumed++;
    else {
        void *managed = PyCapsule_GetPointer(capsule, name);
        Tensor *tensor = (Tensor *)((char *)managed - offsetof(Tensor, managed));
        ledger->dropped++;
        tensor->by_capsule = 1;
        delete_tensor(managed);
    }
    ledger_drop(ledger);
    PyErr_Restore(type, value, trace);
}

static PyObject *source_capsule(PyObject *op, PyObject *args)
{
    TensorSource *self = (TensorSource *)op;
    int versioned = 1;
    if (!PyArg_ParseTuple(args, "|p", &versioned)) return NULL;
    void *managed = versioned ? (void *)make_versioned(self) : (void *)make_legacy(self);
    if (managed == NULL) return NULL;
    PyObject *capsule = PyCapsule_New(managed, versioned ? "dltensor_versioned" : "dltensor", capsule_gone);
    if (capsule == NULL || PyCapsule_SetContext(capsule, self->ledger) < 0) return NULL;
    self->ledger->references++;
    return capsule;
}

static int64_t *integers(PyObject *sequence, Py_ssize_t *count)
{
    PyObject *fast = PySequence_Fast(sequence, "a sequence of integers is needed");
    if (fast == NULL) return NULL;
    *count = PySequence_Fast_GET_SIZE(fast);
    int64_t *out = PyMem_Calloc((size_t)*count + 1, sizeof(int64_t));
    for (Py_ssize_t i = 0; i < *count; i++) out[i] = PyLong_AsLongLong(PySequence_Fast_GET_ITEM(fast, i));
    Py_DECREF(fast);
    if (PyErr_Occurred()) { PyMem_Free(out); return NULL; }
    return out;
}

static int source_init(PyObject *op, PyObject *args, PyObject *kwargs)
{
    TensorSource *self = (TensorSource *)op;
    static char *names[] = {"source", "shape", "strides", "dtype", "device", "byte_offset", "flags", "version", "ndim",
                            "data", "null_shape", "null_deleter", "poison", "quarantine", "failure", NULL};
    PyObject *source, *shape, *strides = Py_None, *data = Py_None, *ndim = Py_None, *failure = Py_None;
    int code = 2, bits = 32, lanes = 1, device = 1, device_id = 0, null_shape = 0, null_deleter = 0;
    int poison = 1, quarantine = 1;
    unsigned int major = 1, minor = 0;
    unsigned long long byte_offset = 0, flags = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|$O(iii)(ii)KK(II)OOppppO", names, &source, &shape, &strides,
                                     &code, &bits, &lanes, &device, &device_id, &byte_offset, &flags, &major, &minor,
                                     &ndim, &data, &null_shape, &null_deleter, &poison, &quarantine, &failure))
        return -1;
    if (self->ledger != NULL) { PyErr_SetString(PyExc_TypeError, "a TensorSource is made once"); return -1; }
    Ledger *ledger = self->ledger = calloc(1, sizeof(Ledger));
    ledger->references = 1;
    ledger->poison = poison;
    ledger->quarantine = quarantine;
    Py_buffer from = {0};
    if (PyLong_Check(source)) ledger->nbytes = PyLong_AsSize_t(source);
    else if (PyObject_GetBuffer(source, &from, PyBUF_SIMPLE) < 0) return -1;
    else ledger->nbytes = (size_t)from.len;
    if (PyErr_Occurred()) return -1;
    ledger->memory = calloc(1, ledger->nbytes + 512);
    ledger->start = (unsigned char *)(((uintptr_t)ledger->memory + 255) & ~(uintptr_t)255);
    if (from.obj != NULL) { memcpy(ledger->start, from.buf, ledger->nbytes); PyBuffer_Release(&from); }
    if ((self->shape = integers(shape, &self->length)) == NULL) return -1;
    Py_ssize_t count = self->length;
    if (strides != Py_None && (self->strides = integers(strides, &count)) == NULL) return -1;
    if (count != self->length) { PyErr_SetString(PyExc_ValueError, "one stride per dimension"); return -1; }
    self->data = data == Py_None ? ledger->start : PyLong_AsVoidPtr(data);
    self->ndim = ndim == Py_None ? (int32_t)self->length : (int32_t)PyLong_AsLong(ndim);
    self->dtype = (DLDataType){(uint8_t)code, (uint8_t)bits, (uint16_t)lanes};
    self->device = (DLDevice){device, device_id};
    self->byte_offset = byte_offset;
    self->flags = flags;
    self->version = (DLVersion){major, minor};
    self->null_shape = null_shape;
    self->null_deleter = null_deleter;
    self->failure = Py_NewRef(failure);
    return PyErr_Occurred() ? -1 : 0;
}

static void source_dealloc(PyObject *op)
{
    TensorSource *self = (TensorSource *)op;
    if (self->ledger != NULL) ledger_drop(self->ledger);
    PyMem_Free(self->shape);
    PyMem_Free(self->strides);
    Py_XDECREF(self->failure);
    Py_TYPE(op)->tp_free(op);
}

static PyObject *source_books(PyObject *op, void *closure)
{
    Ledger *l = ((TensorSource *)op)->ledger;
    return Py_BuildValue("{s:l,s:l,s:l,s:l,s:l,s:l,s:l,s:l,s:k}", "made", (long)l->made, "deleted", (long)l->deleted,
                         "deleted_by_capsule", (long)l->deleted_by_capsule, "dropped", (long)l->dropped, "consumed",
                         (long)l->consumed, "pending", (long)l->pending, "twice", (long)l->twice, "without_gil",
                         (long)l->without_gil, "last_thread", (unsigned long)l->last_thread);
}

static PyObject *source_address(PyObject *op, void *closure)
{
    return PyLong_FromVoidPtr(((TensorSource *)op)->ledger->start);
}

static PyObject *source_memory(PyObject *op, void *closure)
{
    Ledger *ledger = ((TensorSource *)op)->ledger;
    return PyBytes_FromStringAndSize((char *)ledger->start, (Py_ssize_t)ledger->nbytes);
}

static PyObject *source_write(PyObject *op, PyObject *args)
{
    Ledger *ledger = ((TensorSource *)op)->ledger;
    Py_ssize_t offset;
    Py_buffer from;
    if (!PyArg_ParseTuple(args, "ny*", &offset, &from)) return NULL;
    if (offset < 0 || (size_t)(offset + from.len) > ledger->nbytes) PyErr_SetString(PyExc_IndexError, "out of memory");
    else memcpy(ledger->start + offset, from.buf, (size_t)from.len);
    PyBuffer_Release(&from);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef source_methods[] = {
    {"capsule", source_capsule, METH_VARARGS, "a fresh capsule; capsule(False) is a legacy one"},
    {"write", source_write, METH_VARARGS, "write(offset, bytes) into the memory"},
    {NULL},
};
static PyGetSetDef source_getset[] = {
    {"books", source_books, NULL, "all counters as a dict", NULL},
    {"address", source_address, NULL, "of the first byte of the memory, before byte_offset", NULL},
    {"memory", source_memory, NULL, "a copy of the bytes as they are now", NULL},
    {NULL},
};
PyTypeObject TensorSource_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lend_counting.TensorSource",
    .tp_basicsize = sizeof(TensorSource),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = PyType_GenericNew,
    .tp_init = source_init,
    .tp_dealloc = source_dealloc,
    .tp_methods = source_methods,
    .tp_getset = source_getset,
};

static PyObject *capsule_fields(PyObject *module, PyObject *capsule)
{
    const char *name = PyCapsule_CheckExact(capsule) ? PyCapsule_GetName(capsule) : NULL;
    int versioned = name != NULL && strcmp(name, "dltensor_versioned") == 0;
    if (!versioned && (name == NULL || strcmp(name, "dltensor") != 0))
        return PyErr_Format(PyExc_ValueError, "not an unused DLPack capsule: %R", capsule);
    void *managed = PyCapsule_GetPointer(capsule, name);
    PyObject *fields = tensor_fields(versioned ? &((DLVersioned *)managed)->tensor : &((DLLegacy *)managed)->tensor);
    if (fields == NULL || put(fields, "name", PyUnicode_FromString(name)) < 0) return NULL;
    if (versioned) {
        DLVersioned *m = managed;
        if (put(fields, "version", Py_BuildValue("(II)", m->version.major, m->version.minor)) < 0
            || put(fields, "flags", PyLong_FromUnsignedLongLong(m->flags)) < 0) return NULL;
    }
    return fields;
}

static PyObject *capsule_name(PyObject *module, PyObject *capsule)
{
    const char *name = PyCapsule_GetName(capsule);
    if (name == NULL && PyErr_Occurred()) return NULL;
    return name == NULL ? Py_NewRef(Py_None) : PyUnicode_FromString(name);
}

static PyObject *consume(PyObject *module, PyObject *capsule)
{
    const char *name = PyCapsule_GetName(capsule);
    int versioned = name != NULL && strcmp(name, "dltensor_versioned") == 0;
    if (!versioned && (name == NULL || strcmp(name, "dltensor") != 0))
        return PyErr_Format(PyExc_ValueError, "not an unused DLPack capsule: %R", capsule);
    PyObject *taken = taken_new(PyCapsule_GetPointer(capsule, name), versioned);
    if (taken != NULL) PyCapsule_SetName(capsule, versioned ? "used_dltensor_versioned" : "used_dltensor");
    return taken;
}

PyMethodDef dlpack_functions[] = {
    {"capsule_fields", capsule_fields, METH_O, "every field of an unused capsule, which stays unused"},
    {"capsule_name", capsule_name, METH_O, "its name now"},
    {"consume", consume, METH_O, "take a capsule as a consumer does: rename it, keep the tensor"},
    {NULL},
};
