/* An exporter that ignores its own exports: it moves its memory whenever it is told to, as a buffer that is packed into.
 *
 * The memory it has left is overwritten and kept until the exporter goes, so that a late read has a wrong value and is
 * no read of freed memory. Told so, it makes other mistakes of a program in C as well.
 */
#include "counting.h"
#include <structmember.h>

typedef struct Block {
    struct Block *left; /* the one before */
    Py_ssize_t nbytes;
    unsigned char bytes[];
} Block;

typedef struct {
    PyObject_HEAD
    Block *block;
    atomic_long live, gets;
    int nameless, silent;
} CarelessBuffer;

static int move_to(CarelessBuffer *self, Py_ssize_t nbytes)
{
    Block *old = self->block;
    Block *block = nbytes < 0 ? NULL : PyMem_Calloc(1, sizeof(Block) + (size_t)nbytes + 1);
    if (block == NULL) { PyErr_NoMemory(); return -1; }
    block->nbytes = nbytes;
    block->left = old;
    if (old != NULL) {
        memcpy(block->bytes, old->bytes, (size_t)(old->nbytes < nbytes ? old->nbytes : nbytes));
        memset(old->bytes, POISON, (size_t)old->nbytes);
    }
    self->block = block;
    return 0;
}

static int careless_init(PyObject *op, PyObject *args, PyObject *kwargs)
{
    CarelessBuffer *self = (CarelessBuffer *)op;
    static char *names[] = {"source", NULL};
    Py_buffer from;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y*", names, &from)) return -1;
    int answer = move_to(self, from.len);
    if (answer == 0) memcpy(self->block->bytes, from.buf, (size_t)from.len);
    PyBuffer_Release(&from);
    return answer;
}

static PyObject *careless_resize(PyObject *op, PyObject *number)
{
    Py_ssize_t nbytes = PyLong_AsSsize_t(number);
    if ((nbytes == -1 && PyErr_Occurred()) || move_to((CarelessBuffer *)op, nbytes) < 0) return NULL;
    Py_RETURN_NONE;
}

static int careless_getbuffer(PyObject *op, Py_buffer *view, int flags)
{
    CarelessBuffer *self = (CarelessBuffer *)op;
    if (self->block == NULL) { PyErr_SetString(PyExc_BufferError, "CarelessBuffer: not made"); return -1; }
    view->obj = NULL;
    if (self->silent) return -1;
    if (PyBuffer_FillInfo(view, self->nameless ? NULL : op, self->block->bytes, self->block->nbytes, 0, flags) < 0)
        return -1;
    if (self->nameless) return 0; /* nobody will be able to give it back */
    self->live++;
    self->gets++;
    return 0;
}

static void careless_releasebuffer(PyObject *op, Py_buffer *view)
{
    ((CarelessBuffer *)op)->live--;
}

static void careless_dealloc(PyObject *op)
{
    CarelessBuffer *self = (CarelessBuffer *)op;
    while (self->block != NULL) {
        Block *block = self->block;
        self->block = block->left;
        PyMem_Free(block);
    }
    Py_TYPE(op)->tp_free(op);
}

static PyObject *careless_number(PyObject *op, void *which)
{
    CarelessBuffer *self = (CarelessBuffer *)op;
    return PyLong_FromLong(which == NULL ? self->live : self->gets);
}

static PyObject *careless_address(PyObject *op, void *closure)
{
    return PyLong_FromVoidPtr(((CarelessBuffer *)op)->block->bytes);
}

static PyMethodDef careless_methods[] = {
    {"resize", careless_resize, METH_O, "move to a new block of so many bytes, whoever has the old one"},
    {NULL},
};
static PyGetSetDef careless_getset[] = {
    {"live", careless_number, NULL, "open exports", NULL},
    {"gets", careless_number, NULL, "exports given", "gets"},
    {"address", careless_address, NULL, "of the first byte, where it is now", NULL},
    {NULL},
};
static PyMemberDef careless_members[] = {
    {"nameless", T_INT, offsetof(CarelessBuffer, nameless), 0, "1: the Py_buffer does not say whose it is"},
    {"silent", T_INT, offsetof(CarelessBuffer, silent), 0, "1: it refuses without an exception"},
    {NULL},
};
static PyBufferProcs careless_buffer = {careless_getbuffer, careless_releasebuffer};

PyTypeObject CarelessBuffer_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lend_counting.CarelessBuffer",
    .tp_basicsize = sizeof(CarelessBuffer),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = PyType_GenericNew,
    .tp_init = careless_init,
    .tp_dealloc = careless_dealloc,
    .tp_methods = careless_methods,
    .tp_getset = careless_getset,
    .tp_members = careless_members,
    .tp_as_buffer = &careless_buffer,
};
