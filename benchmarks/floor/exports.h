/* What the owning object gives: DLPack, its device, Arrow C data, the buffer protocol. */
#pragma once
#include "object.h"

/* Deleters and release callbacks may come from any thread, without the GIL, or after the interpreter has gone. Our own
   capsule destructors run under the GIL and skip that. */
static void give_back(void *owner) {
  if (!Py_IsInitialized()) return;
  PyGILState_STATE g = PyGILState_Ensure();
  Py_DECREF((PyObject *)owner);
  PyGILState_Release(g);
}
static void vdel(DLManagedTensorVersioned *m) {
  give_back(m->manager_ctx);
  free(m);
}
static void ldel(DLManagedTensor *m) {
  give_back(m->manager_ctx);
  free(m);
}
static void vcap(PyObject *c) {
  const char *n = PyCapsule_GetName(c);
  if (n && !strcmp(n, "dltensor_versioned")) {
    DLManagedTensorVersioned *m = PyCapsule_GetPointer(c, n);
    Py_DECREF((PyObject *)m->manager_ctx);
    free(m);
  }
}
static void lcap(PyObject *c) {
  const char *n = PyCapsule_GetName(c);
  if (n && !strcmp(n, "dltensor")) {
    DLManagedTensor *m = PyCapsule_GetPointer(c, n);
    Py_DECREF((PyObject *)m->manager_ctx);
    free(m);
  }
}
static int fill_tensor(FObj *o, DLTensor *t, int64_t *room) {
  int shift = __builtin_ctz(o->itemsize);
  t->data = o->ptr;
  t->device = o->dev;
  t->dtype = o->dt;
  t->ndim = o->ndim;
  t->byte_offset = 0;
  t->shape = room;
  t->strides = room + o->ndim;
  for (int i = 0; i < o->ndim; i++) {
    int64_t st = o->strides[i];
    if (st & (o->itemsize - 1)) return -1;
    room[i] = o->shape[i];
    room[o->ndim + i] = st >> shift;
  }
  return 0;
}
static PyObject *f_dlpack(PyObject *self, PyObject *const *a, Py_ssize_t n, PyObject *kw) {
  FObj *o = (FObj *)self;
  int versioned = 0;
  if (n) {
    PyErr_SetString(PyExc_TypeError, "__dlpack__ takes keywords only");
    return NULL;
  }
  if (kw)
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kw); i++) {
      PyObject *k = PyTuple_GET_ITEM(kw, i), *v = a[i];
      if (k == s_maxver || PyUnicode_Compare(k, s_maxver) == 0) {
        if (v == Py_None) continue;
        if (!PyTuple_Check(v) || PyTuple_GET_SIZE(v) != 2) {
          PyErr_SetString(PyExc_TypeError, "max_version must be a pair");
          return NULL;
        }
        long major = PyLong_AsLong(PyTuple_GET_ITEM(v, 0));
        if (major == -1 && PyErr_Occurred()) return NULL;
        versioned = major >= 1;
      } else if (PyUnicode_CompareWithASCIIString(k, "copy") == 0 ? v == Py_True : v != Py_None) {
        /* stream=, dl_device=, copy=True and unknown names: this object offers none of them */
        PyErr_Format(PyExc_BufferError, "cannot: %U", k);
        return NULL;
      }
    }
  if (o->kind > K_DLV || (!versioned && (o->flags & READONLY))) {
    PyErr_SetString(PyExc_BufferError, "no tensor, or read-only memory in a legacy capsule");
    return NULL;
  }
  size_t room = 2 * sizeof(int64_t) * o->ndim;
  PyObject *c;
  void *block;
  if (versioned) {
    DLManagedTensorVersioned *m = block = malloc(sizeof *m + room);
    if (!m) return PyErr_NoMemory();
    m->version.major = 1;
    m->version.minor = 1;
    m->manager_ctx = o;
    m->deleter = vdel;
    m->flags = o->flags;
    if (fill_tensor(o, &m->dl_tensor, (int64_t *)(m + 1))) goto strides;
    c = PyCapsule_New(m, "dltensor_versioned", vcap);
  } else {
    DLManagedTensor *m = block = malloc(sizeof *m + room);
    if (!m) return PyErr_NoMemory();
    m->manager_ctx = o;
    m->deleter = ldel;
    if (fill_tensor(o, &m->dl_tensor, (int64_t *)(m + 1))) goto strides;
    c = PyCapsule_New(m, "dltensor", lcap);
  }
  if (!c) {
    free(block);
    return NULL;
  }
  Py_INCREF(o); /* the capsule's, from here on */
  return c;
strides:
  free(block);
  PyErr_SetString(PyExc_BufferError, "strides are not multiples of the itemsize");
  return NULL;
}
static PyObject *f_dldev(PyObject *s, PyObject *x) {
  FObj *o = (FObj *)s;
  if (o->dev.device_type == kDLCPU) return Py_NewRef(t_cpu);
  return Py_BuildValue("ii", (int)o->dev.device_type, (int)o->dev.device_id);
}
static int f_getbuf(PyObject *s, Py_buffer *v, int flags) {
  FObj *o = (FObj *)s;
  int64_t n = 1;
  for (int i = 0; i < o->ndim; i++) n *= o->shape[i];
  v->obj = NULL;
  const char *format = o->kind > K_DLV ? NULL : formats[o->dt.code][__builtin_ctz(o->itemsize)];
  if (!format || o->dev.device_type != kDLCPU || ((flags & PyBUF_WRITABLE) && (o->flags & READONLY))) {
    PyErr_SetString(PyExc_BufferError, "cannot");
    return -1;
  }
  v->buf = o->ptr;
  v->itemsize = o->itemsize;
  v->len = n * o->itemsize;
  v->readonly = o->flags & READONLY;
  v->format = (flags & PyBUF_FORMAT) ? (char *)format : NULL;
  v->ndim = o->ndim;
  v->shape = (Py_ssize_t *)o->shape; /* both live as long as the object, which the consumer holds */
  v->strides = (Py_ssize_t *)o->strides;
  v->suboffsets = NULL;
  v->internal = NULL;
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES || (flags & (PyBUF_ANY_CONTIGUOUS | PyBUF_C_CONTIGUOUS | PyBUF_F_CONTIGUOUS) & ~PyBUF_STRIDES)) {
    char order = (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS   ? 'F'
                 : (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS ? 'A'
                                                                          : 'C';
    if (!PyBuffer_IsContiguous(v, order)) {
      PyErr_SetString(PyExc_BufferError, "not contiguous");
      return -1;
    }
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES) v->strides = NULL;
    if (!(flags & PyBUF_ND)) v->shape = NULL;
  }
  v->obj = Py_NewRef(s);
  return 0;
}

/* Arrow: 1-d fixed width; one malloc per struct, the buffers array beside the owner */
typedef struct {
  const void *b[2];
  PyObject *owner;
} Held;
static void as_rel(struct ArrowSchema *s) { s->release = NULL; }
static void aa_rel(struct ArrowArray *a) {
  Held *p = a->private_data;
  a->release = NULL;
  give_back(p->owner);
  free(p);
}
static void as_cap(PyObject *c) {
  struct ArrowSchema *s = PyCapsule_GetPointer(c, "arrow_schema");
  if (s->release) s->release(s);
  free(s);
}
static void aa_cap(PyObject *c) {
  struct ArrowArray *a = PyCapsule_GetPointer(c, "arrow_array");
  if (a->release) a->release(a);
  free(a);
}
static const char *const arrow_formats[3][4] = {
    [kDLInt] = {"c", "s", "i", "l"}, [kDLUInt] = {"C", "S", "I", "L"}, [kDLFloat] = {NULL, "e", "f", "g"}};
static PyObject *f_arrow(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kw) {
  FObj *o = (FObj *)self; /* requested_schema is best effort: ignored */
  if (o->kind > K_DLV || o->ndim != 1 || o->strides[0] != o->itemsize || o->dt.code > kDLFloat || o->itemsize > 8 ||
      o->dev.device_type != kDLCPU || !arrow_formats[o->dt.code][__builtin_ctz(o->itemsize)]) {
    PyErr_SetString(PyExc_BufferError, "1-d, contiguous, plain numbers");
    return NULL;
  }
  struct ArrowSchema *s = malloc(sizeof *s);
  struct ArrowArray *a = malloc(sizeof *a);
  Held *p = malloc(sizeof *p);
  PyObject *c1 = NULL, *c2 = NULL, *t = NULL;
  if (!s || !a || !p) {
    PyErr_NoMemory();
    goto bad;
  }
  memset(s, 0, sizeof *s);
  s->format = arrow_formats[o->dt.code][__builtin_ctz(o->itemsize)];
  s->name = "";
  s->flags = 2; /* nullable */
  s->release = as_rel;
  memset(a, 0, sizeof *a);
  a->length = o->shape[0];
  a->n_buffers = 2;
  a->buffers = p->b;
  a->private_data = p;
  a->release = aa_rel;
  p->b[0] = NULL;
  p->b[1] = o->ptr;
  p->owner = self;
  if (!(t = PyTuple_New(2)) || !(c1 = PyCapsule_New(s, "arrow_schema", as_cap))) goto bad;
  PyTuple_SET_ITEM(t, 0, c1);
  if (!(c2 = PyCapsule_New(a, "arrow_array", aa_cap))) goto bad;
  PyTuple_SET_ITEM(t, 1, c2);
  Py_INCREF(self); /* p's */
  return t;
bad:
  if (!c1) free(s);
  free(a);
  free(p);
  Py_XDECREF(t);
  return NULL;
}
