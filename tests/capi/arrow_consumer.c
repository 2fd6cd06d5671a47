/* A consumer of lend_acquire_arrow in C99 within the Limited API (or C++11: the same text). */
#ifndef FULL_API
#define Py_LIMITED_API 0x030b0000
#endif
#include "lend.h"
#include "pythread.h"

/* who includes the header of Arrow's after lend.h gets none of its structs again, and needs its names from here */
typedef char device_codes_are_arrows[ARROW_DEVICE_CPU == 1 && ARROW_DEVICE_HEXAGON == 16 ? 1 : -1];

/* (column of LEND_COLUMN_INIT or none, flags): what was told, and per element the bytes of it, None where it is null */
static PyObject *elements(const struct ArrowSchema *schema, const struct ArrowArray *array, const lend_column *c) {
    PyObject *made = PyList_New(0);
    int64_t i;
    for (i = 0; i < array->length; i++) {
        const char *at = (const char *)c->data + i * c->stride;
        int lost = 0;
        int64_t bit = c->mask_bit + i;
        PyObject *item;
        if (c->nulls == LEND_NULLS_BITMASK)
            lost = ((((const unsigned char *)c->mask)[bit >> 3] >> (bit & 7)) & 1) == c->missing;
        if (c->nulls == LEND_NULLS_BYTEMASK) lost = !((const char *)c->mask)[i * c->mask_stride] == !c->missing;
        if (c->nulls == LEND_NULLS_SENTINEL || c->nulls == LEND_NULLS_NAT)
            lost = memcmp(at, c->sentinel, c->sentinel_size) == 0;
        if (c->nulls == LEND_NULLS_NAN) {
            double value;
            memcpy(&value, at, sizeof(value));
            lost = value != value;
        }
        item = lost ? Py_BuildValue("") : PyBytes_FromStringAndSize(at, (Py_ssize_t)c->width);
        PyList_Append(made, item);
        Py_DECREF(item);
    }
    return made;
}

static PyObject *acquired(PyObject *module, PyObject *args) {
    struct ArrowSchema schema;
    struct ArrowDeviceArray array;
    lend_column c = LEND_COLUMN_INIT;
    PyObject *object, *made, *values;
    unsigned int flags = 0;
    int described = 1;
    if (!PyArg_ParseTuple(args, "O|Ip", &object, &flags, &described)) return NULL;
    if (lend_acquire_arrow(object, flags, &schema, &array, described ? &c : NULL) < 0) {
        if (schema.release != NULL || array.array.release != NULL)
            return PyErr_Format(PyExc_SystemError, "something to release after a refusal");
        return NULL;
    }
    values = c.width && c.device_type == 1 ? elements(&schema, &array.array, &c) : Py_BuildValue("");
    made = Py_BuildValue(
        "{s:s,s:s,s:L,s:L,s:L,s:i,s:L,s:K,s:N,s:(iiLII),s:K,s:L,s:L,s:i,s:N}", "format", schema.format, "name", schema.name,
        "length", (long long)array.array.length, "null_count", (long long)array.array.null_count, "offset",
        (long long)array.array.offset, "device", (int)array.device_type, "device_id", (long long)array.device_id,
        "event", (unsigned long long)(uintptr_t)array.sync_event, "values", values, "told", c.nulls, c.missing,
        (long long)c.null_count, c.width, c.flags, "data", (unsigned long long)(uintptr_t)c.data, "stride",
        (long long)c.stride, "mask_stride", (long long)c.mask_stride, "children", (int)schema.n_children, "sentinel",
        PyBytes_FromStringAndSize((const char *)c.sentinel, c.sentinel_size));
    lend_release_arrow(&schema, &array);
    lend_release_arrow(&schema, &array); /* a second time does nothing */
    return made;
}

static struct ArrowSchema kept_schema;
static struct ArrowDeviceArray kept;

static PyObject *keep(PyObject *module, PyObject *object) {
    if (lend_acquire_arrow(object, 0, &kept_schema, &kept, NULL) < 0) return NULL;
    Py_RETURN_NONE;
}

static void release_kept(void *done) {
    lend_release_arrow(&kept_schema, &kept);
    PyThread_release_lock((PyThread_type_lock)done);
}

/* on a thread of its own, which has no GIL */
static PyObject *drop(PyObject *module, PyObject *none) {
    PyThread_type_lock done = PyThread_allocate_lock();
    PyThread_acquire_lock(done, 1);
    PyThread_start_new_thread(release_kept, done);
    Py_BEGIN_ALLOW_THREADS
    PyThread_acquire_lock(done, 1);
    Py_END_ALLOW_THREADS
    PyThread_release_lock(done);
    PyThread_free_lock(done);
    Py_RETURN_NONE;
}

/* hands the structs on: as capsules, whose receiver releases them */
static void forget(PyObject *capsule) {
    struct ArrowArray *array = (struct ArrowArray *)PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
    if (array->release != NULL) array->release(array);
}

static void forget_schema(PyObject *capsule) {
    struct ArrowSchema *schema = (struct ArrowSchema *)PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema->release != NULL) schema->release(schema);
}

static struct ArrowSchema passed_schema;
static struct ArrowDeviceArray passed;

static PyObject *pass_on(PyObject *module, PyObject *args) {
    PyObject *object;
    unsigned int flags = 0;
    if (!PyArg_ParseTuple(args, "O|I", &object, &flags)) return NULL;
    if (lend_acquire_arrow(object, flags, &passed_schema, &passed, NULL) < 0) return NULL;
    return Py_BuildValue("(NN)", PyCapsule_New(&passed_schema, "arrow_schema", forget_schema),
                         PyCapsule_New(&passed, "arrow_array", forget));
}

static PyObject *uninitialised(PyObject *module, PyObject *object) {
    struct ArrowSchema schema;
    struct ArrowDeviceArray array;
    lend_column c = LEND_COLUMN_INIT;
    c.struct_size = 8;
    if (lend_acquire_arrow(object, 0, &schema, &array, &c) < 0) return NULL;
    lend_release_arrow(&schema, &array);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"acquired", acquired, METH_VARARGS, NULL},   {"keep", keep, METH_O, NULL},
    {"drop", drop, METH_NOARGS, NULL},            {"pass_on", pass_on, METH_VARARGS, NULL},
    {"uninitialised", uninitialised, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "arrow_consumer", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_arrow_consumer(void) { return PyModule_Create(&definition); }
