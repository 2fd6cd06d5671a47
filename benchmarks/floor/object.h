/* The owning object of the floor: one small allocation that holds what a protocol step took, and gives it back once.
   Strides are kept in bytes, as the buffer protocol, the array interfaces and lend itself keep them. */
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#if __has_include("dlpack.h")
#include "dlpack.h"
#else
#include <dlpack/dlpack.h>
#endif
#include <stdlib.h>
#include <string.h>

struct ArrowSchema {
  const char *format, *name, *metadata;
  int64_t flags, n_children;
  struct ArrowSchema **children, *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};
struct ArrowArray {
  int64_t length, null_count, offset, n_buffers, n_children;
  const void **buffers;
  struct ArrowArray **children, *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
  int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
};

#define MAXD 8
#define READONLY 1 /* the value of DLPACK_FLAG_BITMASK_READ_ONLY */
enum { K_OWNER, K_BUF, K_DL, K_DLV, K_ARROW, K_STREAM };
typedef struct {
  PyObject_HEAD PyObject *owner;
  void *ptr;
  DLDataType dt;
  DLDevice dev;
  int32_t ndim, flags, kind, itemsize;
  int64_t shape[MAXD], strides[MAXD];
  union {
    void *dlm;
    Py_buffer view;
    struct {
      struct ArrowSchema s;
      struct ArrowArray a;
    } ar;
    struct {
      struct ArrowSchema s;
      struct ArrowArrayStream st;
      struct ArrowArray *arr;
      int64_t n;
    } str;
  } u;
} FObj;
static PyTypeObject *FObj_T, *FDL_T, *FGC_T;
static PyObject *s_dlpack, *s_maxver, *s_api, *s_ai, *s_as, *s_arrow, *s_stream, *s_copy, *s_device, *s_writable,
    *kw_maxver, *t_ver, *t_cpu, *s_data, *s_shape, *s_typestr, *s_strides, *s_mask;

/* A producer's release callback never runs with an exception set. */
#define RELEASE(call)                                                                                                  \
  do {                                                                                                                 \
    if (__builtin_expect(PyErr_Occurred() != NULL, 0)) {                                                               \
      PyObject *et, *ev, *tb;                                                                                          \
      PyErr_Fetch(&et, &ev, &tb);                                                                                      \
      call;                                                                                                            \
      PyErr_Restore(et, ev, tb);                                                                                       \
    } else call;                                                                                                       \
  } while (0)

static void release_stream(FObj *o) {
  for (int64_t i = 0; i < o->u.str.n; i++)
    if (o->u.str.arr[i].release) o->u.str.arr[i].release(&o->u.str.arr[i]);
  free(o->u.str.arr);
  if (o->u.str.s.release) o->u.str.s.release(&o->u.str.s);
  if (o->u.str.st.release) o->u.str.st.release(&o->u.str.st);
}
static void release_arrow(struct ArrowSchema *s, struct ArrowArray *a) {
  if (a->release) a->release(a);
  if (s->release) s->release(s);
}
static void fobj_dealloc(FObj *o) {
  switch (o->kind) {
  case K_BUF: PyBuffer_Release(&o->u.view); break;
  case K_DL: {
    DLManagedTensor *m = o->u.dlm;
    if (m->deleter) RELEASE(m->deleter(m));
    break;
  }
  case K_DLV: {
    DLManagedTensorVersioned *m = o->u.dlm;
    if (m->deleter) RELEASE(m->deleter(m));
    break;
  }
  case K_ARROW: RELEASE(release_arrow(&o->u.ar.s, &o->u.ar.a)); break;
  case K_STREAM: RELEASE(release_stream(o)); break;
  }
  Py_XDECREF(o->owner);
  PyTypeObject *t = Py_TYPE(o);
  PyObject_Free(o);
  Py_DECREF(t);
}
static inline FObj *fnew(int kind) {
  FObj *o = PyObject_New(FObj, FObj_T); /* does not zero the body */
  if (!o) return NULL;
  o->owner = NULL;
  o->kind = kind;
  o->flags = 0;
  o->ndim = 0;
  return o;
}
/* Give up a half-made object: it holds nothing yet. */
static PyObject *drop(FObj *o, PyObject *error, const char *message) {
  o->kind = K_OWNER;
  Py_DECREF(o);
  if (error) PyErr_SetString(error, message);
  return NULL;
}

/* ---- dtype: DLPack code and struct format, both ways; native byte order, one value, 1 to 16 bytes ------------------ */
static const signed char format_codes[128] = {
    ['?'] = 7, ['b'] = 1, ['h'] = 1, ['i'] = 1, ['l'] = 1, ['q'] = 1, ['n'] = 1, ['B'] = 2, ['H'] = 2,
    ['I'] = 2, ['L'] = 2, ['Q'] = 2, ['N'] = 2, ['e'] = 3, ['f'] = 3, ['d'] = 3, ['g'] = 3}; /* code + 1 */
static inline int code_of_format(const char *f) { /* -1: not a number of native order */
  if (!f) return kDLUInt;
  if (*f == '<' || *f == '=' || *f == '@') f++;
  int pair = *f == 'Z';
  f += pair;
  unsigned char c = *f;
  if (c >= 128 || !format_codes[c] || f[1]) return -1;
  int code = format_codes[c] - 1;
  return !pair ? code : code == kDLFloat ? kDLComplex : -1;
}
static inline int code_of_kind(char kind) {
  switch (kind) {
  case 'f': return kDLFloat;
  case 'i': return kDLInt;
  case 'u': return kDLUInt;
  case 'c': return kDLComplex;
  case 'b': return kDLBool;
  default: return -1;
  }
}
static const char *const formats[7][5] = {
    [kDLInt] = {"b", "h", "i", "q"},      [kDLUInt] = {"B", "H", "I", "Q"}, [kDLFloat] = {NULL, "e", "f", "d", "g"},
    [kDLComplex] = {NULL, NULL, NULL, "Zf", "Zd"}, [kDLBool] = {"?"},
};
static inline int set_dtype(FObj *o, int code, int64_t itemsize) {
  if (code < 0 || itemsize < 1 || itemsize > 16 || (itemsize & (itemsize - 1))) return -1;
  o->itemsize = (int32_t)itemsize;
  o->dt.code = code;
  o->dt.bits = itemsize * 8;
  o->dt.lanes = 1;
  return 0;
}
static inline void on_cpu(FObj *o) {
  o->dev.device_type = kDLCPU;
  o->dev.device_id = 0;
}
