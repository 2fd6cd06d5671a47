/* DLPack's C exchange API from both sides: a table whose functions serve any TensorSource (or the `tensor`
 * of another object), and calls of a foreign one. */
#include "counting.h"

static int fail(TensorSource *self, int *answer)
{
    if (self->failure == Py_None) return 0;
    *answer = -1;
    if (PyExceptionInstance_Check(self->failure))
        PyErr_SetObject((PyObject *)Py_TYPE(self->failure), self->failure);
    else if (PyUnicode_Check(self->failure) && PyUnicode_CompareWithASCIIString(self->failure, "null") == 0)
        *answer = 0; /* says yes, and gives nothing */
    /* any other word, "silent": -1 without an exception */
    return 1;
}

/* The tensor that an object lends: itself, or its `tensor` when it is of another kind. */
static TensorSource *source_of(PyObject *op)
{
    if (PyObject_TypeCheck(op, &TensorSource_Type)) return (TensorSource *)op;
    PyObject *tensor = PyObject_GetAttrString(op, "tensor");
    Py_XDECREF(tensor); /* the object keeps it */
    return (TensorSource *)tensor;
}

static int give_managed(void *op, DLVersioned **out)
{
    int answer;
    TensorSource *self = source_of(op);
    *out = NULL;
    if (self == NULL) return -1;
    if (fail(self, &answer)) return answer;
    *out = make_versioned(self);
    return *out == NULL ? -1 : 0;
}

static int give_borrowed(void *op, DLTensor *out)
{
    TensorSource *self = source_of(op);
    int answer;
    if (self == NULL) return -1;
    if (fail(self, &answer)) return answer;
    *out = (DLTensor){self->data, self->device, self->ndim, self->dtype, self->null_shape ? NULL : self->shape,
                      self->strides, self->byte_offset};
    return 0;
}

static int take_managed(DLVersioned *tensor, void **out)
{
    *out = taken_new(tensor, 1);
    return *out == NULL ? -1 : 0;
}

static int no_allocation(DLTensor *prototype, DLVersioned **out, void *context,
                         void (*set_error)(void *, const char *, const char *))
{
    set_error(context, "BufferError", "lend_counting allocates nothing");
    return -1;
}

static int no_stream(int32_t device, int32_t id, void **out)
{
    *out = NULL;
    return 0;
}

static void table_gone(PyObject *capsule)
{
    free(PyCapsule_GetContext(capsule));
}

static DLExchange *table_in(PyObject *capsule)
{
    if (!PyCapsule_CheckExact(capsule)) {
        PyErr_Format(PyExc_TypeError, "an exchange API capsule is needed, not %R", capsule);
        return NULL;
    }
    return PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
}

static PyObject *exchange_table(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"version", "previous", "name", "borrow", NULL};
    unsigned int major = 1, minor = 3;
    PyObject *previous = Py_None;
    const char *name = "dlpack_exchange_api"; /* a string constant of the caller's outlives the capsule in tests */
    int borrow = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|(II)Osp", names, &major, &minor, &previous, &name, &borrow))
        return NULL;
    DLExchange *table = calloc(1, sizeof(DLExchange) + strlen(name) + 1);
    *table = (DLExchange){{{major, minor}, NULL}, no_allocation, give_managed, take_managed,
                          borrow ? give_borrowed : NULL, no_stream};
    char *kept = strcpy((char *)(table + 1), name);
    if (previous != Py_None && (table->header.prev_api = (DLHeader *)table_in(previous)) == NULL) return NULL;
    PyObject *capsule = PyCapsule_New(table, kept, previous == Py_None ? table_gone : NULL);
    if (capsule != NULL) PyCapsule_SetContext(capsule, table);
    if (previous != Py_None) Py_INCREF(previous); /* tables are static in life; here the chain leaks its tail */
    return capsule;
}

static DLExchange *table_of(PyObject *type)
{
    PyObject *capsule = PyObject_GetAttrString(type, "__dlpack_c_exchange_api__");
    if (capsule == NULL) return NULL;
    DLExchange *table = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    Py_DECREF(capsule); /* static for the whole process, says the contract */
    return table;
}

static PyObject *exchange_facts(PyObject *module, PyObject *type)
{
    DLExchange *t = table_of(type);
    if (t == NULL) return NULL;
    return Py_BuildValue("{s:(II),s:O,s:O,s:O,s:O,s:O,s:O,s:N}", "version", t->header.version.major,
                         t->header.version.minor, "prev_api", t->header.prev_api ? Py_True : Py_False, "allocate",
                         t->allocate ? Py_True : Py_False, "from_object", t->from_object ? Py_True : Py_False,
                         "to_object", t->to_object ? Py_True : Py_False, "borrow", t->borrow ? Py_True : Py_False,
                         "stream", t->stream ? Py_True : Py_False, "address", PyLong_FromVoidPtr(t));
}

/* A wrapper of the contract: 0 has no exception set, -1 has one. */
static int checked(int answer)
{
    if (answer == 0 && !PyErr_Occurred()) return 0;
    if (answer == 0) PyErr_SetString(PyExc_AssertionError, "the exchange function said 0 and left an exception");
    else if (!PyErr_Occurred()) PyErr_SetString(PyExc_AssertionError, "the exchange function failed without a word");
    return -1;
}

static PyObject *exchange_take(PyObject *module, PyObject *obj)
{
    DLExchange *table = table_of((PyObject *)Py_TYPE(obj));
    DLVersioned *managed = NULL;
    if (table == NULL || checked(table->from_object(obj, &managed)) < 0) return NULL;
    if (managed == NULL) return PyErr_Format(PyExc_AssertionError, "the exchange function said 0 and gave nothing");
    return taken_new(managed, 1);
}

static PyObject *exchange_borrow(PyObject *module, PyObject *obj)
{
    DLExchange *table = table_of((PyObject *)Py_TYPE(obj));
    DLTensor tensor;
    if (table == NULL) return NULL;
    if (table->borrow == NULL) Py_RETURN_NONE;
    return checked(table->borrow(obj, &tensor)) < 0 ? NULL : tensor_fields(&tensor);
}

static PyObject *exchange_give(PyObject *module, PyObject *args)
{
    PyObject *taken, *type;
    if (!PyArg_ParseTuple(args, "OO", &taken, &type)) return NULL;
    DLExchange *table = table_of(type);
    DLVersioned *managed = table == NULL ? NULL : taken_steal(taken);
    void *out = NULL;
    if (managed == NULL || checked(table->to_object(managed, &out)) < 0) return NULL;
    return out;
}

static PyObject *exchange_stream(PyObject *module, PyObject *args)
{
    PyObject *type;
    int device, id;
    void *stream = NULL;
    if (!PyArg_ParseTuple(args, "O(ii)", &type, &device, &id)) return NULL;
    DLExchange *table = table_of(type);
    if (table == NULL || checked(table->stream(device, id, &stream)) < 0) return NULL;
    return PyLong_FromVoidPtr(stream);
}

static void note_error(void *context, const char *kind, const char *message)
{
    snprintf(context, 256, "%s: %s", kind, message);
}

static PyObject *exchange_allocate(PyObject *module, PyObject *args)
{
    PyObject *type;
    int64_t shape[1];
    long long extent;
    int code, bits, device, id;
    char error[256] = "";
    DLVersioned *out = NULL;
    if (!PyArg_ParseTuple(args, "OL(ii)(ii)", &type, &extent, &code, &bits, &device, &id)) return NULL;
    DLExchange *table = table_of(type);
    if (table == NULL) return NULL;
    shape[0] = extent;
    DLTensor prototype = {NULL, {device, id}, 1, {(uint8_t)code, (uint8_t)bits, 1}, shape, NULL, 0};
    int answer = table->allocate(&prototype, &out, error, note_error);
    PyErr_Clear();
    if (answer != 0) return PyUnicode_FromString(error);
    return taken_new(out, 1);
}

PyMethodDef exchange_functions[] = {
    {"exchange_table", (PyCFunction)(void (*)(void))exchange_table, METH_VARARGS | METH_KEYWORDS,
     "a capsule for the type attribute of a TensorSource; `previous` makes the chain of prev_api"},
    {"exchange_facts", exchange_facts, METH_O, "what stands in the table of a type"},
    {"exchange_take", exchange_take, METH_O, "managed_tensor_from_py_object_no_sync, as a Taken"},
    {"exchange_borrow", exchange_borrow, METH_O, "the fields of a borrowed DLTensor; None where there is no function"},
    {"exchange_give", exchange_give, METH_VARARGS, "managed_tensor_to_py_object_no_sync of (Taken, type)"},
    {"exchange_stream", exchange_stream, METH_VARARGS, "current_work_stream of (type, (device, id))"},
    {"exchange_allocate", exchange_allocate, METH_VARARGS,
     "managed_tensor_allocator of (type, extent, (code, bits), (device, id)): a Taken, or the error as text"},
    {NULL},
};
