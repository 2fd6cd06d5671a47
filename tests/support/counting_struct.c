/* `__array_struct__`: a capsule that owns its memory, as numpy#20673 has it: when the capsule goes, the memory goes. */
#include "counting.h"

typedef struct {
    int two, nd;
    char typekind;
    int itemsize, flags;
    Py_ssize_t *shape, *strides;
    void *data;
    PyObject *descr;
} ArrayStruct;

_Static_assert(sizeof(ArrayStruct) == 56 && offsetof(ArrayStruct, data) == 40, "PyArrayInterface");

typedef struct {
    ArrayStruct said;
    PyObject *on_gone;
    size_t bytes;
    unsigned char *memory;
    Py_ssize_t numbers[];
} Kept;

static void struct_gone(PyObject *capsule)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    Kept *kept = PyCapsule_GetContext(capsule);
    if (kept->on_gone != Py_None) {
        PyObject *answer = PyObject_CallNoArgs(kept->on_gone);
        if (answer == NULL) PyErr_WriteUnraisable(kept->on_gone);
        Py_XDECREF(answer);
    }
    Py_DECREF(kept->on_gone);
    memset(kept->memory, POISON, kept->bytes);
    free(kept->memory);
    memset(kept, POISON, sizeof(Kept));
    free(kept);
    PyErr_Restore(type, value, trace);
}

static PyObject *array_struct(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"source", "shape", "kind", "itemsize", "strides", "flags", "two", "nd", "data", "on_gone",
                            NULL};
    Py_buffer from;
    PyObject *shape, *strides = Py_None, *nd = Py_None, *data = Py_None, *on_gone = Py_None;
    int kind = 'f', itemsize = 8, flags = 0x701, two = 2; /* C, aligned, native order, writable */
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y*O!|$CiOiiOOO", names, &from, &PyTuple_Type, &shape, &kind,
                                     &itemsize, &strides, &flags, &two, &nd, &data, &on_gone))
        return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(shape), step = itemsize;
    Kept *kept = calloc(1, sizeof(Kept) + (size_t)(2 * count + 1) * sizeof(Py_ssize_t));
    kept->bytes = (size_t)from.len;
    kept->memory = malloc(kept->bytes + 1);
    memcpy(kept->memory, from.buf, kept->bytes);
    PyBuffer_Release(&from);
    for (Py_ssize_t i = count; i-- > 0; step = (Py_ssize_t)((size_t)step * (size_t)kept->numbers[i])) {
        kept->numbers[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
        kept->numbers[count + i] = strides == Py_None ? step : PyLong_AsSsize_t(PyTuple_GetItem(strides, i));
    }
    kept->said = (ArrayStruct){two, nd == Py_None ? (int)count : (int)PyLong_AsLong(nd), (char)kind, itemsize, flags,
                               kept->numbers, kept->numbers + count,
                               data == Py_None ? kept->memory : PyLong_AsVoidPtr(data), NULL};
    kept->on_gone = Py_NewRef(on_gone);
    PyObject *capsule = PyCapsule_New(&kept->said, NULL, struct_gone);
    if (capsule == NULL || PyCapsule_SetContext(capsule, kept) < 0 || PyErr_Occurred()) return NULL;
    return capsule;
}

PyMethodDef struct_functions[] = {
    {"array_struct", (PyCFunction)(void (*)(void))array_struct, METH_VARARGS | METH_KEYWORDS,
     "a PyArrayInterface capsule over memory of its own, freed with the capsule, which then calls on_gone()"},
    {NULL},
};
