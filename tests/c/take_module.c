/* lend_take.h as Python sees it: `take` gives a capsule around a lend_view, the other functions look into it.
 *
 * Compiled as C99, as C++11 and within the Limited API; -DNAME=... names the module. With -DBOTH it is compiled with
 * lend.h before lend_take.h as well.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#ifdef BOTH
#include "lend.h"
#endif
#include "lend_take.h"
#include <pthread.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define INIT_(x) PyInit_##x
#define INIT(x) INIT_(x)

static void gone(PyObject *capsule) {
    lend_view *view = (lend_view *)PyCapsule_GetPointer(capsule, "taken");
    lend_take_release(view);
    free(view);
}

static lend_view *view_of(PyObject *capsule) {
    return (lend_view *)PyCapsule_GetPointer(capsule, "taken");
}

/* take(object, request=None): the request is a dict of numbers, its dtype a tuple of numbers. */
static int read_request(PyObject *dict, lend_request *request) {
    static const char *const names[] = {"struct_size", "flags", "ndim", "align", "device_type", "device_id", "stream"};
    long long numbers[7];
    unsigned char code, order, unit;
    unsigned short bits, lanes;
    unsigned int itemsize, multiplier;
    PyObject *found;
    int i;
    numbers[0] = request->struct_size;
    numbers[1] = numbers[3] = numbers[4] = numbers[5] = numbers[6] = 0;
    numbers[2] = -1;
    for (i = 0; i < 7; i++) {
        found = PyDict_GetItemString(dict, names[i]);
        if (found != NULL) numbers[i] = PyLong_AsLongLong(found);
        if (PyErr_Occurred() != NULL) return -1;
    }
    request->struct_size = (uint32_t)numbers[0];
    request->flags = (uint32_t)numbers[1];
    request->ndim = (int32_t)numbers[2];
    request->align = (uint32_t)numbers[3];
    request->device_type = (int32_t)numbers[4];
    request->device_id = (int32_t)numbers[5];
    request->stream = (void *)(uintptr_t)numbers[6];
    found = PyDict_GetItemString(dict, "dtype");
    if (found == NULL) return 0;
    if (!PyArg_ParseTuple(found, "bbbHHII", &code, &order, &unit, &bits, &lanes, &itemsize, &multiplier)) return -1;
    request->dtype.code = code;
    request->dtype.order = order;
    request->dtype.unit = unit;
    request->dtype.bits = bits;
    request->dtype.lanes = lanes;
    request->dtype.itemsize = itemsize;
    request->dtype.multiplier = multiplier;
    return 0;
}

static PyObject *take(PyObject *module, PyObject *args) {
    PyObject *object, *dict = NULL, *capsule;
    lend_view filled = LEND_VIEW_INIT;
    lend_request request = LEND_REQUEST_INIT;
    lend_view *view;
    int result;
    (void)module;
    if (!PyArg_ParseTuple(args, "O|O!", &object, &PyDict_Type, &dict)) return NULL;
    if (dict != NULL && read_request(dict, &request) < 0) return NULL;
    result = lend_take(object, dict == NULL ? NULL : &request, &filled);
    if ((result < 0) != (PyErr_Occurred() != NULL)) Py_FatalError("lend_take and its exception disagree");
    if (result < 0) {
        if (filled.release != NULL || filled.lease != NULL || filled.far_dims != NULL || filled.data != NULL)
            Py_FatalError("a refusal left something in the view");
        lend_take_release(&filled);
        return NULL;
    }
    view = (lend_view *)malloc(sizeof(lend_view));
    *view = filled; /* a view may be moved */
    capsule = PyCapsule_New(view, "taken", gone);
    if (capsule == NULL) free(view);
    return capsule;
}

static PyObject *numbers(const int64_t *first, int count) {
    PyObject *made = PyTuple_New(count);
    int i;
    for (i = 0; made != NULL && i < count; i++) PyTuple_SetItem(made, i, PyLong_FromLongLong(first[i]));
    return made;
}

static PyObject *facts(PyObject *module, PyObject *capsule) {
    const lend_view *v = view_of(capsule);
    char order[2] = "";
    (void)module;
    if (v == NULL) return NULL;
    order[0] = (char)v->dtype.order;
    return Py_BuildValue(
        "{s:I,s:I,s:K,s:K,s:K,s:(ii),s:(isiiiII),s:i,s:I,s:N,s:N,s:L,s:K,s:O,s:K}", "abi", v->abi, "struct_size",
        v->struct_size, "data", (unsigned long long)(uintptr_t)v->data, "byte_offset",
        (unsigned long long)v->byte_offset, "nbytes", (unsigned long long)v->nbytes, "device", v->device_type,
        v->device_id, "dtype", v->dtype.code, order, v->dtype.unit, v->dtype.bits, v->dtype.lanes, v->dtype.itemsize,
        v->dtype.multiplier, "ndim", v->ndim, "flags", v->flags, "shape", numbers(lend_shape(v), v->ndim), "strides",
        numbers(lend_strides(v), v->ndim), "size", (long long)lend_size(v), "sync",
        (unsigned long long)(uintptr_t)v->sync, "leased", v->lease != NULL ? Py_True : Py_False, "ptr",
        (unsigned long long)(uintptr_t)lend_data(v));
}

static char *write_out(const lend_view *v, int dim, const char *from, char *to) {
    int64_t i;
    if (dim == v->ndim) {
        memcpy(to, from, v->dtype.itemsize);
        return to + v->dtype.itemsize;
    }
    for (i = 0; i < lend_shape(v)[dim]; i++) to = write_out(v, dim + 1, from + i * lend_strides(v)[dim], to);
    return to;
}

/* The elements in row-major order, read by the facts of the view alone. */
static PyObject *tobytes(PyObject *module, PyObject *capsule) {
    const lend_view *v = view_of(capsule);
    PyObject *made;
    (void)module;
    if (v == NULL || (made = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)v->nbytes)) == NULL) return NULL;
    if (v->nbytes != 0) write_out(v, 0, (const char *)lend_data(v), PyBytes_AsString(made));
    return made;
}

/* Write one byte over every byte of contiguous memory. */
static PyObject *fill(PyObject *module, PyObject *args) {
    PyObject *capsule;
    lend_view *v;
    int byte;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oi", &capsule, &byte) || (v = view_of(capsule)) == NULL) return NULL;
    memset(lend_data(v), byte, (size_t)v->nbytes);
    Py_RETURN_NONE;
}

static PyObject *release(PyObject *module, PyObject *capsule) {
    (void)module;
    if (view_of(capsule) == NULL) return NULL;
    lend_take_release(view_of(capsule));
    Py_RETURN_NONE;
}

static void *release_there(void *view) {
    lend_take_release((lend_view *)view);
    return NULL;
}

/* On a thread that Python does not know, without the GIL. */
static PyObject *release_on_thread(PyObject *module, PyObject *capsule) {
    lend_view *view = view_of(capsule);
    pthread_t thread;
    (void)module;
    if (view == NULL) return NULL;
    Py_BEGIN_ALLOW_THREADS
    if (pthread_create(&thread, NULL, release_there, view) == 0) pthread_join(thread, NULL);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

/* With an exception pending, which must be there afterwards. */
static PyObject *release_while_raising(PyObject *module, PyObject *capsule) {
    lend_view *view = view_of(capsule);
    (void)module;
    if (view == NULL) return NULL;
    PyErr_SetString(PyExc_LookupError, "on its way");
    lend_take_release(view);
    return NULL;
}

static lend_view *kept[64];
static int kept_count = 0;

static void release_kept(void) {
    int i;
    for (i = 0; i < kept_count; i++) {
        lend_take_release(kept[i]);
        if (kept[i]->lease != NULL || kept[i]->release != NULL) abort();
        free(kept[i]);
    }
    printf("released after the end: %d\n", kept_count);
    fflush(stdout);
}

/* Release when the interpreter has ended. */
static PyObject *release_after_the_end(PyObject *module, PyObject *capsule) {
    lend_view *view = view_of(capsule);
    (void)module;
    if (view == NULL || kept_count == 64) return NULL;
    if (kept_count == 0) Py_AtExit(release_kept);
    kept[kept_count] = (lend_view *)malloc(sizeof(lend_view));
    *kept[kept_count++] = *view;
    memset(view, 0, sizeof(*view)); /* moved */
    Py_RETURN_NONE;
}

#ifdef BOTH
/* acquire(object, request=None, borrow=False), as take */
static PyObject *acquire(PyObject *module, PyObject *args) {
    PyObject *object, *dict = NULL;
    lend_request request = LEND_REQUEST_INIT;
    lend_view *view = (lend_view *)malloc(sizeof(lend_view));
    const lend_view blank = LEND_VIEW_INIT;
    int borrow = 0;
    (void)module;
    *view = blank;
    if (!PyArg_ParseTuple(args, "O|O!p", &object, &PyDict_Type, &dict, &borrow)
        || (dict != NULL && read_request(dict, &request) < 0)
        || (borrow ? lend_borrow : lend_acquire)(object, dict == NULL ? NULL : &request, view) < 0) {
        free(view);
        return NULL;
    }
    return PyCapsule_New(view, "taken", gone); /* released by lend_take_release */
}

static PyObject *release_by_lend(PyObject *module, PyObject *capsule) {
    (void)module;
    if (view_of(capsule) == NULL) return NULL;
    lend_release(view_of(capsule));
    Py_RETURN_NONE;
}
#endif

static PyMethodDef methods[] = {
    {"take", take, METH_VARARGS, NULL},
    {"facts", facts, METH_O, NULL},
    {"tobytes", tobytes, METH_O, NULL},
    {"fill", fill, METH_VARARGS, NULL},
    {"release", release, METH_O, NULL},
    {"release_on_thread", release_on_thread, METH_O, NULL},
    {"release_while_raising", release_while_raising, METH_O, NULL},
    {"release_after_the_end", release_after_the_end, METH_O, NULL},
#ifdef BOTH
    {"acquire", acquire, METH_VARARGS, NULL},
    {"release_by_lend", release_by_lend, METH_O, NULL},
#endif
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, TEXT(NAME), NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC INIT(NAME)(void) {
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && PyModule_AddStringConstant(module, "version", LEND_TAKE_VERSION) < 0) Py_CLEAR(module);
    return module;
}
