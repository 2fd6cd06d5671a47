/* "Reach": fuller importers. Keyword-parsed call, dispatch cache by type, dtype object, contiguity, size and read-only
   flags, an object that the garbage collector sees through. */
#pragma once
#include "object.h"

typedef struct {
  PyObject_HEAD PyObject *owner;
  PyObject *dtype;
  void *ptr;
  int64_t nbytes;
  DLDataType dt;
  DLDevice dev;
  int32_t ndim, flags, kind;
  void *dlm;
  int64_t dims[2 * MAXD]; /* shape, then strides in bytes */
  Py_buffer *view;
} IObj;
static PyTypeObject *I_T;
static PyObject *dtab[7][5];
enum { F_C = 2, F_F = 4 };
enum { P_NUMPY = 1, P_XAPI, P_DLPACK, P_BUFFER, P_NONE };
typedef struct {
  PyTypeObject *t;
  int path;
  DLPackExchangeAPI *api;
  PyObject *descr;
} TEnt;
static TEnt tcache[64], arrow_cache[64];
#define SLOT(T) (((uintptr_t)(T) >> 5) & 63)

static int io_traverse(PyObject *s, visitproc visit, void *arg) {
  IObj *o = (IObj *)s;
  Py_VISIT(o->owner);
  if (o->kind == K_BUF) Py_VISIT(o->view->obj);
  Py_VISIT(Py_TYPE(o));
  return 0;
}
static int io_clear(PyObject *s) {
  IObj *o = (IObj *)s;
  if (o->kind == K_BUF) PyBuffer_Release(o->view); /* a second release of a released buffer does nothing */
  Py_CLEAR(o->owner);
  return 0;
}
static void io_dealloc(PyObject *s) {
  IObj *o = (IObj *)s;
  PyObject_GC_UnTrack(s);
  Py_XDECREF(o->dtype);
  if (o->kind == K_DL) {
    DLManagedTensor *m = o->dlm;
    if (m->deleter) RELEASE(m->deleter(m));
  } else if (o->kind == K_DLV) {
    DLManagedTensorVersioned *m = o->dlm;
    if (m->deleter) RELEASE(m->deleter(m));
  } else if (o->kind == K_BUF) {
    PyBuffer_Release(o->view);
    PyMem_Free(o->view);
  }
  Py_XDECREF(o->owner);
  PyTypeObject *t = Py_TYPE(s);
  PyObject_GC_Del(s);
  Py_DECREF(t);
}
static int finish(IObj *o) {
  int64_t itemsize = o->dt.bits >> 3;
  if (o->dt.lanes != 1 || (o->dt.bits & 7) || o->dt.code > kDLBool || itemsize < 1 || itemsize > 16 ||
      (itemsize & (itemsize - 1))) {
    PyErr_SetString(PyExc_TypeError, "dtype");
    return -1;
  }
  int64_t n = 1, acc = itemsize, accf = itemsize;
  int c = 1, f = 1;
  for (int i = o->ndim - 1; i >= 0; i--) {
    int64_t d = o->dims[i];
    n *= d;
    if (d != 1) {
      if (o->dims[MAXD + i] != acc) c = 0;
      acc *= d;
    }
  }
  for (int i = 0; i < o->ndim; i++) {
    int64_t d = o->dims[i];
    if (d != 1) {
      if (o->dims[MAXD + i] != accf) f = 0;
      accf *= d;
    }
  }
  if (n == 0) c = f = 1;
  o->flags |= (c ? F_C : 0) | (f ? F_F : 0);
  o->nbytes = n * itemsize;
  o->dtype = Py_NewRef(dtab[o->dt.code][__builtin_ctz(itemsize)]);
  return 0;
}
static int from_dlt(IObj *o, const DLTensor *t) {
  int64_t itemsize = t->dtype.bits >> 3, acc = itemsize;
  if (t->ndim > MAXD) {
    PyErr_SetString(PyExc_BufferError, "dimensions");
    return -1;
  }
  o->ptr = (char *)t->data + t->byte_offset;
  o->dt = t->dtype;
  o->dev = t->device;
  o->ndim = t->ndim;
  for (int i = t->ndim - 1; i >= 0; i--) {
    o->dims[i] = t->shape[i];
    o->dims[MAXD + i] = t->strides ? t->strides[i] * itemsize : acc;
    acc *= t->shape[i];
  }
  return 0;
}
static int from_managed(IObj *o, DLManagedTensorVersioned *t) { /* o owns t from here on */
  o->kind = K_DLV;
  o->dlm = t;
  if (t->version.major != DLPACK_MAJOR_VERSION) {
    PyErr_SetString(PyExc_BufferError, "version");
    return -1;
  }
  o->flags = t->flags & DLPACK_FLAG_BITMASK_READ_ONLY ? READONLY : 0;
  return from_dlt(o, &t->dl_tensor);
}
static PyObject *on_type(PyTypeObject *T, PyObject *name) { /* NULL without an error: the type has none */
  PyObject *r = PyObject_GetAttr((PyObject *)T, name);
  if (!r && PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
  return r;
}
static TEnt *tent(PyTypeObject *T) {
  TEnt *e = &tcache[SLOT(T)];
  if (e->t == T) return e;
  TEnt n = {T, 0, NULL, NULL}, old = *e;
  if (T == &PyArray_Type) n.path = P_NUMPY;
  else {
    PyObject *c = on_type(T, s_api);
    if (c) {
      n.api = PyCapsule_GetPointer(c, "dlpack_exchange_api");
      Py_DECREF(c);
      if (n.api && n.api->header.version.major == DLPACK_MAJOR_VERSION) n.path = P_XAPI;
    }
    if (PyErr_Occurred()) return NULL;
    if (!n.path && (n.descr = on_type(T, s_dlpack))) n.path = P_DLPACK;
    if (PyErr_Occurred()) return NULL;
    if (!n.path) n.path = T->tp_as_buffer && T->tp_as_buffer->bf_getbuffer ? P_BUFFER : P_NONE;
  }
  Py_INCREF(T);
  *e = n;
  Py_XDECREF(old.descr);
  Py_XDECREF(old.t);
  return e;
}
static int by_numpy(IObj *o, PyObject *x) {
  PyArrayObject *q = (PyArrayObject *)x;
  int code = code_of_kind(PyArray_DESCR(q)->kind);
  o->ndim = PyArray_NDIM(q);
  if (code < 0 || o->ndim > MAXD || PyArray_ISBYTESWAPPED(q)) {
    PyErr_SetString(PyExc_TypeError, "byte order, kind or dimensions");
    return -1;
  }
  o->owner = Py_NewRef(x);
  o->ptr = PyArray_DATA(q);
  o->dt.code = code;
  o->dt.bits = PyArray_ITEMSIZE(q) * 8;
  o->dt.lanes = 1;
  o->dev.device_type = kDLCPU;
  o->dev.device_id = 0;
  o->flags = PyArray_ISWRITEABLE(q) ? 0 : READONLY;
  for (int i = 0; i < o->ndim; i++) {
    o->dims[i] = PyArray_DIM(q, i);
    o->dims[MAXD + i] = PyArray_STRIDE(q, i);
  }
  return 0;
}
static int by_dlpack(IObj *o, PyObject *x, PyObject *descr) {
  PyObject *args[2] = {x, t_ver};
  PyObject *c = PyObject_Vectorcall(descr, args, 1, kw_maxver);
  if (!c && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    c = PyObject_Vectorcall(descr, args, 1, NULL);
  }
  if (!c) return -1;
  int r = -1;
  if (PyCapsule_IsValid(c, "dltensor_versioned")) {
    DLManagedTensorVersioned *t = PyCapsule_GetPointer(c, "dltensor_versioned");
    PyCapsule_SetName(c, "used_dltensor_versioned");
    r = from_managed(o, t);
  } else {
    DLManagedTensor *t = PyCapsule_GetPointer(c, "dltensor");
    if (t) {
      PyCapsule_SetName(c, "used_dltensor");
      o->kind = K_DL;
      o->dlm = t;
      r = from_dlt(o, &t->dl_tensor);
    }
  }
  Py_DECREF(c);
  return r;
}
static int by_buffer(IObj *o, PyObject *x) {
  Py_buffer *v = PyMem_Malloc(sizeof *v);
  if (!v) return PyErr_NoMemory(), -1;
  if (PyObject_GetBuffer(x, v, PyBUF_FULL_RO)) {
    PyMem_Free(v);
    return -1;
  }
  o->kind = K_BUF;
  o->view = v;
  int code = code_of_format(v->format);
  if (code < 0 || v->ndim > MAXD || v->suboffsets || v->itemsize > 16) {
    PyErr_SetString(PyExc_TypeError, "format or dimensions");
    return -1;
  }
  o->ptr = v->buf;
  o->ndim = v->ndim;
  o->dt.code = code;
  o->dt.bits = v->itemsize * 8;
  o->dt.lanes = 1;
  o->flags = v->readonly ? READONLY : 0;
  o->dev.device_type = kDLCPU;
  o->dev.device_id = 0;
  int64_t acc = v->itemsize;
  for (int i = v->ndim - 1; i >= 0; i--) {
    o->dims[i] = v->shape[i];
    o->dims[MAXD + i] = v->strides ? v->strides[i] : acc;
    acc *= v->shape[i];
  }
  return 0;
}
static PyObject *imp(PyObject *m, PyObject *const *a, Py_ssize_t n, PyObject *kw) {
  if (n != 1) return PyErr_SetString(PyExc_TypeError, "one positional"), NULL;
  PyObject *x = a[0], *copy = Py_None, *device = Py_None, *writable = Py_None;
  if (kw)
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kw); i++) {
      PyObject *k = PyTuple_GET_ITEM(kw, i);
      if (k == s_copy) copy = a[n + i];
      else if (k == s_device) device = a[n + i];
      else if (k == s_writable) writable = a[n + i];
      else return PyErr_SetString(PyExc_TypeError, "unexpected keyword"), NULL;
    }
  TEnt *e = tent(Py_TYPE(x));
  if (!e) return NULL;
  IObj *o = PyObject_GC_New(IObj, I_T);
  if (!o) return NULL;
  o->owner = NULL;
  o->dtype = NULL;
  o->kind = K_OWNER;
  o->flags = 0;
  int r = -1;
  switch (e->path) {
  case P_NUMPY: r = by_numpy(o, x); break;
  case P_XAPI: {
    DLManagedTensorVersioned *t; /* never the borrowing function: what it fills is good until control returns */
    if (!e->api->managed_tensor_from_py_object_no_sync(x, &t)) r = from_managed(o, t);
    break;
  }
  case P_DLPACK: r = by_dlpack(o, x, e->descr); break;
  case P_BUFFER: r = by_buffer(o, x); break;
  default: PyErr_SetString(PyExc_TypeError, "no protocol");
  }
  if (!r && !(r = finish(o)) && (device != Py_None || copy == Py_True || (writable == Py_True && (o->flags & READONLY)))) {
    PyErr_SetString(PyExc_BufferError, "cannot");
    r = -1;
  }
  PyObject_GC_Track(o);
  if (r) Py_CLEAR(o);
  return (PyObject *)o;
}

/* Arrow: both structs moved inline, format parsed to an id, layout checked; no Python owner, hence no collector */
typedef struct {
  PyObject_HEAD struct ArrowSchema s;
  struct ArrowArray a;
  int32_t id, width;
  int64_t length, nulls;
} AObj;
static PyTypeObject *A_T;
static void ao_dealloc(PyObject *s) {
  AObj *o = (AObj *)s;
  RELEASE(release_arrow(&o->s, &o->a));
  PyTypeObject *t = Py_TYPE(s);
  PyObject_Free(s);
  Py_DECREF(t);
}
static int fmt_id(const char *f, int *w, int64_t *nb) {
  *nb = 2;
  *w = 0;
  switch (f[0]) {
  case 'b': *w = 1; return 1;
  case 'c':
  case 'C': *w = 8; return 2;
  case 's':
  case 'S':
  case 'e': *w = 16; return 3;
  case 'i':
  case 'I':
  case 'f': *w = 32; return 4;
  case 'l':
  case 'L':
  case 'g': *w = 64; return 5;
  case 'u':
  case 'z': *nb = 3; *w = 32; return 6;
  case 'U':
  case 'Z': *nb = 3; *w = 64; return 7;
  case 'v': *nb = -1; *w = 128; return 8;
  case 't': *w = f[1] == 'd' && f[2] == 'D' ? 32 : 64; return 9;
  case 'd': *w = 128; return 10;
  case '+': *nb = -1; return 11;
  case 'n': *nb = 0; return 12;
  default: return -1;
  }
}
static PyObject *imp_arrow(PyObject *m, PyObject *const *a, Py_ssize_t n, PyObject *kw) {
  if (n != 1 || kw) return PyErr_SetString(PyExc_TypeError, "one positional"), NULL;
  PyObject *x = a[0];
  TEnt *e = &arrow_cache[SLOT(Py_TYPE(x))];
  if (e->t != Py_TYPE(x)) {
    PyObject *d = PyObject_GetAttr((PyObject *)Py_TYPE(x), s_arrow);
    if (!d) return NULL;
    TEnt old = *e;
    e->t = (PyTypeObject *)Py_NewRef(Py_TYPE(x));
    e->descr = d;
    Py_XDECREF(old.descr);
    Py_XDECREF(old.t);
  }
  PyObject *t = PyObject_Vectorcall(e->descr, &x, 1, NULL);
  if (!t) return NULL;
  struct ArrowSchema *s;
  struct ArrowArray *r;
  AObj *o = arrow_pair(t, &s, &r) ? NULL : PyObject_New(AObj, A_T);
  if (o) {
    o->s = *s;
    o->a = *r;
    s->release = NULL;
    r->release = NULL;
  }
  Py_DECREF(t);
  if (!o) return NULL;
  int64_t nb;
  o->id = fmt_id(o->s.format, &o->width, &nb);
  o->length = o->a.length;
  o->nulls = o->a.null_count;
  if (o->id < 0 || o->length < 0 || o->a.offset < 0 || (nb >= 0 && o->a.n_buffers != nb) ||
      (nb == 2 && o->length && !o->a.buffers[1])) {
    Py_DECREF(o);
    PyErr_SetString(PyExc_ValueError, "layout");
    return NULL;
  }
  return (PyObject *)o;
}
