/* One protocol step each: read the wire format, hold the lease in one owning object. */
#pragma once
#include "object.h"

static PyObject *nop(PyObject *m, PyObject *x) { Py_RETURN_NONE; }
static PyObject *nopkw(PyObject *m, PyObject *const *a, Py_ssize_t n, PyObject *kw) { Py_RETURN_NONE; }
static PyObject *own(PyObject *m, PyObject *x) {
  FObj *o = fnew(K_OWNER);
  if (o) {
    o->owner = Py_NewRef(x);
    o->ptr = NULL;
    on_cpu(o);
    set_dtype(o, kDLUInt, 1);
  }
  return (PyObject *)o;
}
static void fgc_dealloc(PyObject *o) {
  PyObject_GC_UnTrack(o);
  Py_XDECREF(*(PyObject **)((char *)o + sizeof(PyObject)));
  PyTypeObject *t = Py_TYPE(o);
  t->tp_free(o);
  Py_DECREF(t);
}
static int fgc_traverse(PyObject *o, visitproc visit, void *arg) {
  Py_VISIT(*(PyObject **)((char *)o + sizeof(PyObject)));
  Py_VISIT(Py_TYPE(o));
  return 0;
}
static PyObject *owngc(PyObject *m, PyObject *x) {
  PyObject *o = FGC_T->tp_alloc(FGC_T, 0);
  if (o) *(PyObject **)((char *)o + sizeof(PyObject)) = Py_NewRef(x);
  return o;
}
static PyObject *mkcap(PyObject *m, PyObject *x) { return PyCapsule_New(&t_cpu, "x", NULL); }
static PyObject *mkcap_malloc(PyObject *m, PyObject *x) {
  DLManagedTensorVersioned *v = malloc(sizeof *v + 2 * sizeof(int64_t));
  if (!v) return PyErr_NoMemory();
  v->manager_ctx = x;
  v->deleter = vdel;
  PyObject *c = PyCapsule_New(v, "dltensor_versioned", vcap);
  if (!c) free(v);
  else Py_INCREF(x);
  return c;
}

/* ---- buffer protocol ---------------------------------------------------------------------------------------------- */
static PyObject *buf_peek(PyObject *m, PyObject *x) {
  Py_buffer v;
  if (PyObject_GetBuffer(x, &v, PyBUF_FULL_RO)) return NULL;
  PyBuffer_Release(&v);
  Py_RETURN_NONE;
}
static PyObject *buf_own(PyObject *m, PyObject *x) {
  FObj *o = fnew(K_BUF);
  if (!o) return NULL;
  Py_buffer *v = &o->u.view;
  if (PyObject_GetBuffer(x, v, PyBUF_FULL_RO)) return drop(o, NULL, NULL);
  o->ptr = v->buf;
  o->ndim = v->ndim;
  o->flags = v->readonly ? READONLY : 0;
  on_cpu(o);
  if (v->ndim > MAXD || v->suboffsets || set_dtype(o, code_of_format(v->format), v->itemsize)) {
    PyBuffer_Release(v);
    return drop(o, PyExc_TypeError, "format, suboffsets or dimensions");
  }
  int64_t acc = v->itemsize;
  for (int i = v->ndim - 1; i >= 0; i--) {
    o->shape[i] = v->shape[i];
    o->strides[i] = v->strides ? v->strides[i] : acc;
    acc *= v->shape[i];
  }
  return (PyObject *)o;
}

/* ---- DLPack ------------------------------------------------------------------------------------------------------- */
static inline int take_tensor(FObj *o, const DLTensor *t) { /* reads only: nothing is taken when it refuses */
  int64_t itemsize = t->dtype.bits >> 3, acc = itemsize;
  if (t->ndim > MAXD || t->dtype.bits & 7 || t->dtype.lanes != 1 || set_dtype(o, t->dtype.code, itemsize)) return -1;
  if (t->dtype.code > kDLBool) return -1;
  o->ptr = (char *)t->data + t->byte_offset;
  o->dev = t->device;
  o->ndim = t->ndim;
  for (int i = t->ndim - 1; i >= 0; i--) {
    o->shape[i] = t->shape[i];
    o->strides[i] = t->strides ? t->strides[i] * itemsize : acc;
    acc *= t->shape[i];
  }
  return 0;
}
static PyObject *take_legacy(PyObject *c) { /* steals c */
  DLManagedTensor *t = PyCapsule_GetPointer(c, "dltensor");
  FObj *o = t ? fnew(K_DL) : NULL;
  if (o && take_tensor(o, &t->dl_tensor)) o = (FObj *)drop(o, PyExc_BufferError, "dtype or dimensions");
  if (o) {
    o->u.dlm = t;
    PyCapsule_SetName(c, "used_dltensor");
  }
  Py_DECREF(c); /* one that was refused gives its tensor back itself */
  return (PyObject *)o;
}
static PyObject *take_versioned(PyObject *c) { /* steals c */
  DLManagedTensorVersioned *t = PyCapsule_GetPointer(c, "dltensor_versioned");
  FObj *o = t ? fnew(K_DLV) : NULL;
  if (o && (t->version.major != DLPACK_MAJOR_VERSION || take_tensor(o, &t->dl_tensor)))
    o = (FObj *)drop(o, PyExc_BufferError, "version, dtype or dimensions");
  if (o) {
    o->flags = t->flags & DLPACK_FLAG_BITMASK_READ_ONLY ? READONLY : 0;
    o->u.dlm = t;
    PyCapsule_SetName(c, "used_dltensor_versioned");
  }
  Py_DECREF(c);
  return (PyObject *)o;
}
static PyObject *dl_own(PyObject *m, PyObject *x) { /* x.__dlpack__(): legacy */
  PyObject *c = PyObject_CallMethodNoArgs(x, s_dlpack);
  return c ? take_legacy(c) : NULL;
}
static PyObject *dlv_own(PyObject *m, PyObject *x) { /* x.__dlpack__(max_version=(1, 1)) */
  PyObject *args[2] = {x, t_ver};
  PyObject *c = PyObject_VectorcallMethod(s_dlpack, args, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, kw_maxver);
  if (!c) return NULL;
  return PyCapsule_IsValid(c, "dltensor_versioned") ? take_versioned(c) : take_legacy(c);
}

/* ---- DLPack exchange table: no guards, as its peers have none ------------------------------------------------------- */
static DLPackExchangeAPI *api_of(PyTypeObject *T) {
  PyObject *c = PyObject_GetAttr((PyObject *)T, s_api);
  if (!c) return NULL;
  DLPackExchangeAPI *a = PyCapsule_GetPointer(c, "dlpack_exchange_api");
  Py_DECREF(c);
  if (a && a->header.version.major != DLPACK_MAJOR_VERSION) {
    PyErr_SetString(PyExc_BufferError, "exchange table of another major version");
    return NULL;
  }
  return a;
}
static PyTypeObject *cached_type;
static DLPackExchangeAPI *cached_api;
static inline DLPackExchangeAPI *api_cached(PyTypeObject *T) {
  if (T == cached_type) return cached_api;
  DLPackExchangeAPI *a = api_of(T);
  if (a) {
    PyTypeObject *old = cached_type;
    cached_type = (PyTypeObject *)Py_NewRef(T);
    cached_api = a;
    Py_XDECREF(old);
  }
  return a;
}
static PyObject *peek(DLPackExchangeAPI *a, PyObject *x) {
  if (!a) return NULL;
  DLTensor t;
  if (!a->dltensor_from_py_object_no_sync) {
    PyErr_SetString(PyExc_BufferError, "no borrowing function");
    return NULL;
  }
  if (a->dltensor_from_py_object_no_sync(x, &t)) return NULL;
  Py_RETURN_NONE;
}
static PyObject *dlx_peek(PyObject *m, PyObject *x) { return peek(api_cached(Py_TYPE(x)), x); }
static PyObject *dlx_peek_nocache(PyObject *m, PyObject *x) { return peek(api_of(Py_TYPE(x)), x); }
static PyObject *dlx_own(PyObject *m, PyObject *x) {
  DLPackExchangeAPI *a = api_cached(Py_TYPE(x));
  if (!a) return NULL;
  DLManagedTensorVersioned *t;
  if (a->managed_tensor_from_py_object_no_sync(x, &t)) return NULL;
  FObj *o = fnew(K_DLV);
  if (o && (t->version.major != DLPACK_MAJOR_VERSION || take_tensor(o, &t->dl_tensor)))
    o = (FObj *)drop(o, PyExc_BufferError, "version, dtype or dimensions");
  if (!o) {
    if (t->deleter) RELEASE(t->deleter(t));
    return NULL;
  }
  o->flags = t->flags & DLPACK_FLAG_BITMASK_READ_ONLY ? READONLY : 0;
  o->u.dlm = t;
  return (PyObject *)o;
}

/* ---- NumPy's C API, array struct, array interface ------------------------------------------------------------------- */
static PyObject *np_own(PyObject *m, PyObject *x) {
  if (!PyArray_CheckExact(x)) {
    PyErr_SetString(PyExc_TypeError, "ndarray");
    return NULL;
  }
  PyArrayObject *a = (PyArrayObject *)x;
  FObj *o = fnew(K_OWNER);
  if (!o) return NULL;
  o->ptr = PyArray_DATA(a);
  o->ndim = PyArray_NDIM(a);
  o->flags = PyArray_ISWRITEABLE(a) ? 0 : READONLY;
  on_cpu(o);
  if (o->ndim > MAXD || PyArray_ISBYTESWAPPED(a) || set_dtype(o, code_of_kind(PyArray_DESCR(a)->kind), PyArray_ITEMSIZE(a)))
    return drop(o, PyExc_TypeError, "dtype or dimensions");
  o->owner = Py_NewRef(x);
  for (int i = 0; i < o->ndim; i++) {
    o->shape[i] = PyArray_DIM(a, i);
    o->strides[i] = PyArray_STRIDE(a, i);
  }
  return (PyObject *)o;
}
static PyObject *as_own(PyObject *m, PyObject *x) { /* x.__array_struct__ */
  PyObject *c = PyObject_GetAttr(x, s_as);
  if (!c) return NULL;
  PyArrayInterface *s = PyCapsule_GetPointer(c, NULL);
  FObj *o = s ? fnew(K_OWNER) : NULL;
  if (!o) {
    Py_DECREF(c);
    return NULL;
  }
  o->ptr = s->data;
  o->ndim = s->nd;
  o->flags = s->flags & NPY_ARRAY_WRITEABLE ? 0 : READONLY;
  on_cpu(o);
  if (s->two != 2 || s->nd < 0 || s->nd > MAXD || !(s->flags & NPY_ARRAY_NOTSWAPPED) ||
      set_dtype(o, code_of_kind(s->typekind), s->itemsize)) {
    Py_DECREF(c);
    return drop(o, PyExc_TypeError, "dtype or dimensions");
  }
  o->owner = Py_NewRef(x);
  for (int i = 0; i < s->nd; i++) {
    o->shape[i] = s->shape[i];
    o->strides[i] = s->strides[i];
  }
  Py_DECREF(c);
  return (PyObject *)o;
}
static PyObject *ai_own_from(PyObject *x, PyObject *d) {
  if (!PyDict_Check(d)) return PyErr_SetString(PyExc_TypeError, "no dict"), NULL;
  PyObject *data = PyDict_GetItemWithError(d, s_data), *sh = PyDict_GetItemWithError(d, s_shape),
           *ts = PyDict_GetItemWithError(d, s_typestr), *st = PyDict_GetItemWithError(d, s_strides),
           *mask = PyDict_GetItemWithError(d, s_mask);
  if (st == Py_None) st = NULL;
  if (!data || !sh || !ts || (mask && mask != Py_None) || !PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2 ||
      !PyTuple_Check(sh) || PyTuple_GET_SIZE(sh) > MAXD || !PyUnicode_Check(ts) || !PyUnicode_IS_ASCII(ts) ||
      (st && (!PyTuple_Check(st) || PyTuple_GET_SIZE(st) != PyTuple_GET_SIZE(sh)))) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "bad dict, or a mask");
    return NULL;
  }
  FObj *o = fnew(K_OWNER);
  if (!o) return NULL;
  const char *t = (const char *)PyUnicode_1BYTE_DATA(ts);
  int64_t itemsize = t[0] && t[1] ? atoi(t + 2) : 0;
  if (itemsize < 1 || t[0] == '>' || set_dtype(o, code_of_kind(t[1]), itemsize))
    return drop(o, PyExc_TypeError, "typestr");
  o->ptr = PyLong_AsVoidPtr(PyTuple_GET_ITEM(data, 0));
  o->flags = PyObject_IsTrue(PyTuple_GET_ITEM(data, 1)) ? READONLY : 0;
  on_cpu(o);
  o->ndim = PyTuple_GET_SIZE(sh);
  int64_t acc = itemsize;
  for (int i = o->ndim - 1; i >= 0; i--) {
    o->shape[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(sh, i));
    o->strides[i] = st ? PyLong_AsLongLong(PyTuple_GET_ITEM(st, i)) : acc;
    acc *= o->shape[i];
  }
  if (PyErr_Occurred()) return drop(o, NULL, NULL);
  o->owner = Py_NewRef(x);
  return (PyObject *)o;
}
static PyObject *ai_own(PyObject *m, PyObject *x) { /* x.__array_interface__ */
  PyObject *d = PyObject_GetAttr(x, s_ai);
  if (!d) return NULL;
  PyObject *r = ai_own_from(x, d);
  Py_DECREF(d);
  return r;
}

/* ---- Arrow C data --------------------------------------------------------------------------------------------------- */
static int arrow_pair(PyObject *t, struct ArrowSchema **s, struct ArrowArray **a) {
  if (!PyTuple_Check(t) || PyTuple_GET_SIZE(t) != 2) {
    PyErr_SetString(PyExc_TypeError, "pair");
    return -1;
  }
  if (!(*s = PyCapsule_GetPointer(PyTuple_GET_ITEM(t, 0), "arrow_schema")) ||
      !(*a = PyCapsule_GetPointer(PyTuple_GET_ITEM(t, 1), "arrow_array")))
    return -1;
  if ((*s)->release && (*a)->release) return 0;
  PyErr_SetString(PyExc_ValueError, "released");
  return -1;
}
static PyObject *arrow_own(PyObject *m, PyObject *x) { /* x.__arrow_c_array__() */
  PyObject *t = PyObject_CallMethodNoArgs(x, s_arrow);
  if (!t) return NULL;
  struct ArrowSchema *s;
  struct ArrowArray *a;
  FObj *o = arrow_pair(t, &s, &a) ? NULL : fnew(K_ARROW);
  if (o) {
    o->u.ar.s = *s;
    o->u.ar.a = *a;
    s->release = NULL;
    a->release = NULL;
  }
  Py_DECREF(t);
  return (PyObject *)o;
}
static PyObject *fail_stream(FObj *o, const char *what) {
  struct ArrowArrayStream *st = &o->u.str.st;
  const char *said = st->get_last_error ? st->get_last_error(st) : NULL;
  PyErr_SetString(PyExc_ValueError, said ? said : what);
  Py_DECREF(o);
  return NULL;
}
static PyObject *stream_take(PyObject *c, int pull) { /* steals c */
  if (!c) return NULL;
  struct ArrowArrayStream *st = PyCapsule_GetPointer(c, "arrow_array_stream");
  if (st && !st->release) {
    PyErr_SetString(PyExc_ValueError, "released");
    st = NULL;
  }
  FObj *o = st ? fnew(K_STREAM) : NULL;
  if (!o) {
    Py_DECREF(c);
    return NULL;
  }
  o->u.str.st = *st;
  st->release = NULL;
  Py_DECREF(c);
  o->u.str.arr = NULL;
  o->u.str.n = 0;
  o->u.str.s.release = NULL;
  if (!pull) return (PyObject *)o;
  if (o->u.str.st.get_schema(&o->u.str.st, &o->u.str.s)) {
    o->u.str.s.release = NULL;
    return fail_stream(o, "schema");
  }
  for (int64_t cap = 0;;) {
    if (o->u.str.n == cap) {
      struct ArrowArray *more = realloc(o->u.str.arr, (cap = cap ? cap * 2 : 4) * sizeof *more);
      if (!more) {
        Py_DECREF(o);
        return PyErr_NoMemory();
      }
      o->u.str.arr = more;
    }
    struct ArrowArray *a = &o->u.str.arr[o->u.str.n];
    if (o->u.str.st.get_next(&o->u.str.st, a)) return fail_stream(o, "next");
    if (!a->release) return (PyObject *)o;
    o->u.str.n++;
  }
}
static PyObject *stream_own(PyObject *m, PyObject *x) { return stream_take(PyObject_CallMethodNoArgs(x, s_stream), 1); }
static PyObject *stream_lazy(PyObject *m, PyObject *x) { return stream_take(PyObject_CallMethodNoArgs(x, s_stream), 0); }
