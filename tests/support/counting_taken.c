/* `Taken`: a tensor that a test has taken over, from a capsule or the exchange API, and may release in every way that
 * the DLPack contract allows: here, on a foreign thread without the GIL, with an exception set, or after finalisation.
 */
#include "counting.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct {
    PyObject_HEAD
    void *managed;
    int versioned;
} Taken;

typedef struct {
    void *managed;
    int versioned;
    long milliseconds;
    PyThread_type_lock done;
} Job;

static void call_deleter(void *managed, int versioned)
{
    if (versioned) {
        DLVersioned *m = managed;
        if (m->deleter != NULL) m->deleter(m);
    } else {
        DLLegacy *m = managed;
        if (m->deleter != NULL) m->deleter(m);
    }
}

PyObject *taken_new(void *managed, int versioned)
{
    Taken *taken = (Taken *)Taken_Type.tp_alloc(&Taken_Type, 0);
    if (taken == NULL) return NULL;
    taken->managed = managed;
    taken->versioned = versioned;
    return (PyObject *)taken;
}

DLVersioned *taken_steal(PyObject *op)
{
    Taken *self = (Taken *)op;
    if (!Py_IS_TYPE(op, &Taken_Type) || self->managed == NULL || !self->versioned) {
        PyErr_SetString(PyExc_TypeError, "a Taken with a versioned tensor is needed");
        return NULL;
    }
    DLVersioned *managed = self->managed;
    self->managed = NULL;
    return managed;
}

static DLTensor *tensor_of(Taken *self)
{
    if (self->managed == NULL) { PyErr_SetString(PyExc_ValueError, "deleted or given away"); return NULL; }
    return self->versioned ? &((DLVersioned *)self->managed)->tensor : &((DLLegacy *)self->managed)->tensor;
}

PyObject *tensor_fields(const DLTensor *t)
{
    PyObject *dict = PyDict_New();
    if (dict == NULL) return NULL;
    Py_ssize_t n = t->ndim > 0 && t->ndim <= 4096 ? t->ndim : 0;
    PyObject *shape = t->shape == NULL ? Py_NewRef(Py_None) : numbers(t->shape, n);
    PyObject *strides = t->strides == NULL ? Py_NewRef(Py_None) : numbers(t->strides, n);
    if (put(dict, "data", PyLong_FromVoidPtr(t->data)) < 0 || put(dict, "ndim", PyLong_FromLong(t->ndim)) < 0
        || put(dict, "device", Py_BuildValue("(ii)", t->device.type, t->device.id)) < 0
        || put(dict, "dtype", Py_BuildValue("(iii)", t->dtype.code, t->dtype.bits, t->dtype.lanes)) < 0
        || put(dict, "shape", shape) < 0 || put(dict, "strides", strides) < 0
        || put(dict, "byte_offset", PyLong_FromUnsignedLongLong(t->byte_offset)) < 0) {
        Py_DECREF(dict);
        return NULL;
    }
    return dict;
}

static PyObject *taken_fields(PyObject *op, void *closure)
{
    Taken *self = (Taken *)op;
    DLTensor *tensor = tensor_of(self);
    PyObject *fields = tensor == NULL ? NULL : tensor_fields(tensor);
    if (fields == NULL || !self->versioned) return fields;
    DLVersioned *m = self->managed;
    if (put(fields, "version", Py_BuildValue("(II)", m->version.major, m->version.minor)) < 0
        || put(fields, "flags", PyLong_FromUnsignedLongLong(m->flags)) < 0) Py_CLEAR(fields);
    return fields;
}

static char *gather(char *out, const char *from, const DLTensor *t, int axis, size_t itemsize)
{
    if (axis == t->ndim) { memcpy(out, from, itemsize); return out + itemsize; }
    for (int64_t i = 0; i < t->shape[axis]; i++)
        out = gather(out, from + i * t->strides[axis] * (int64_t)itemsize, t, axis + 1, itemsize);
    return out;
}

static PyObject *taken_tobytes(PyObject *op, PyObject *unused)
{
    DLTensor *t = tensor_of((Taken *)op);
    if (t == NULL) return NULL;
    size_t itemsize = (size_t)t->dtype.bits * t->dtype.lanes / 8;
    size_t total = itemsize;
    for (int i = 0; i < t->ndim; i++) total *= (size_t)t->shape[i];
    if (t->ndim && t->strides == NULL) { PyErr_SetString(PyExc_ValueError, "no strides"); return NULL; }
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)total);
    if (bytes != NULL && total) gather(PyBytes_AS_STRING(bytes), (char *)t->data + t->byte_offset, t, 0, itemsize);
    return bytes;
}

static PyObject *taken_delete(PyObject *op, PyObject *unused)
{
    Taken *self = (Taken *)op;
    if (tensor_of(self) == NULL) return NULL;
    void *managed = self->managed;
    self->managed = NULL;
    call_deleter(managed, self->versioned);
    Py_RETURN_NONE;
}

/* The deleter must bring the pending exception back, and not see it as its own. */
static PyObject *taken_delete_pending(PyObject *op, PyObject *unused)
{
    Taken *self = (Taken *)op;
    if (tensor_of(self) == NULL) return NULL;
    void *managed = self->managed;
    self->managed = NULL;
    PyErr_SetString(PyExc_KeyError, "pending");
    call_deleter(managed, self->versioned);
    int kept = PyErr_Occurred() != NULL && PyErr_ExceptionMatches(PyExc_KeyError);
    PyErr_Clear();
    return PyBool_FromLong(kept);
}

static void rest(long milliseconds)
{
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    if (milliseconds) nanosleep(&time, NULL);
}

static void run_job(void *arg)
{
    Job *job = arg;
    rest(job->milliseconds);
    call_deleter(job->managed, job->versioned);
    if (job->done != NULL) PyThread_release_lock(job->done);
    else free(job);
}

static PyObject *start_thread(Taken *self, long milliseconds, int wait)
{
    if (tensor_of(self) == NULL) return NULL;
    Job *job = calloc(1, sizeof(Job));
    *job = (Job){self->managed, self->versioned, milliseconds, wait ? PyThread_allocate_lock() : NULL};
    self->managed = NULL;
    if (wait) PyThread_acquire_lock(job->done, 1);
    if (PyThread_start_new_thread(run_job, job) == PYTHREAD_INVALID_THREAD_ID)
        return PyErr_Format(PyExc_RuntimeError, "no thread");
    if (wait) {
        PyThread_type_lock done = job->done;
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(done, 1);
        Py_END_ALLOW_THREADS
        PyThread_release_lock(done);
        PyThread_free_lock(done);
        free(job);
    }
    Py_RETURN_NONE;
}

static PyObject *taken_delete_thread(PyObject *op, PyObject *unused) { return start_thread((Taken *)op, 0, 1); }

static PyObject *taken_delete_later(PyObject *op, PyObject *milliseconds)
{
    return start_thread((Taken *)op, PyLong_AsLong(milliseconds), 0);
}

/* What is released when the interpreter is gone: after Py_FinalizeEx, or in C's own exit handlers. */
static Job at_finalize[64], at_exit[64];
static int finalize_count, exit_count;

static void run_finalize(void)
{
    for (int i = 0; i < finalize_count; i++) call_deleter(at_finalize[i].managed, at_finalize[i].versioned);
    printf("deleted after finalisation: %d\n", finalize_count);
    fflush(stdout);
}

static void run_exit(void)
{
    for (int i = 0; i < exit_count; i++) call_deleter(at_exit[i].managed, at_exit[i].versioned);
    printf("deleted at exit: %d\n", exit_count);
    fflush(stdout);
}

static PyObject *taken_hold_until(PyObject *op, PyObject *word)
{
    Taken *self = (Taken *)op;
    const char *when = PyUnicode_AsUTF8(word);
    if (when == NULL || tensor_of(self) == NULL) return NULL;
    int last = strcmp(when, "exit") == 0;
    int *count = last ? &exit_count : &finalize_count;
    if ((!last && strcmp(when, "finalize") != 0) || *count == 64)
        return PyErr_Format(PyExc_ValueError, "'finalize' or 'exit', 64 of each at most");
    if (*count == 0 && (last ? atexit(run_exit) : Py_AtExit(run_finalize)) != 0)
        return PyErr_Format(PyExc_RuntimeError, "no room for an exit function");
    (last ? at_exit : at_finalize)[(*count)++] = (Job){self->managed, self->versioned, 0, NULL};
    self->managed = NULL;
    Py_RETURN_NONE;
}

static PyObject *taken_leak(PyObject *op, PyObject *unused)
{
    ((Taken *)op)->managed = NULL;
    Py_RETURN_NONE;
}

static PyObject *taken_alias(PyObject *op, PyObject *unused)
{
    return tensor_of((Taken *)op) == NULL ? NULL : taken_new(((Taken *)op)->managed, ((Taken *)op)->versioned);
}

static void taken_dealloc(PyObject *op)
{
    Taken *self = (Taken *)op;
    if (self->managed != NULL) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        call_deleter(self->managed, self->versioned);
        PyErr_Restore(type, value, trace);
    }
    Py_TYPE(op)->tp_free(op);
}

static PyMethodDef taken_methods[] = {
    {"tobytes", taken_tobytes, METH_NOARGS, "the elements in row-major order (host memory)"},
    {"delete", taken_delete, METH_NOARGS, "call the deleter, here"},
    {"delete_with_error_pending", taken_delete_pending, METH_NOARGS, "True if the pending exception survived"},
    {"delete_on_foreign_thread", taken_delete_thread, METH_NOARGS, "on a thread Python has never seen; waits for it"},
    {"delete_later", taken_delete_later, METH_O, "on such a thread, after so many milliseconds; does not wait"},
    {"hold_until", taken_hold_until, METH_O, "'finalize': after Py_FinalizeEx; 'exit': in C's exit handlers"},
    {"alias", taken_alias, METH_NOARGS, "a second owner of the same tensor, which no consumer may be"},
    {"leak", taken_leak, METH_NOARGS, "forget it: the deleter is never called"},
    {NULL},
};
static PyGetSetDef taken_getset[] = {{"fields", taken_fields, NULL, "every field of the tensor", NULL}, {NULL}};

PyTypeObject Taken_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lend_counting.Taken",
    .tp_basicsize = sizeof(Taken),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = taken_dealloc,
    .tp_methods = taken_methods,
    .tp_getset = taken_getset,
};
