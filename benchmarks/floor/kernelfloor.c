/* The floor of the kernels: one thread, AVX2 unless the name says otherwise; `_nt` uses streaming stores. lend's own
   kernels keep to the baseline of the platform (SSE2, NEON), so a table says which flags each side had. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

#include "baseline.h"

/* source a (read), destination b (written); NEED refuses what would write past b or read past a */
#define ARG2                                                                                                           \
  PyObject *x, *y;                                                                                                     \
  if (!PyArg_ParseTuple(args, "OO", &x, &y)) return NULL;                                                              \
  Py_buffer a, b;                                                                                                      \
  if (PyObject_GetBuffer(x, &a, PyBUF_FULL_RO)) return NULL;                                                           \
  if (PyObject_GetBuffer(y, &b, PyBUF_FULL)) {                                                                         \
    PyBuffer_Release(&a);                                                                                              \
    return NULL;                                                                                                       \
  }
#define END2                                                                                                           \
  PyBuffer_Release(&a);                                                                                                \
  PyBuffer_Release(&b);
#define NEED(condition)                                                                                                \
  if (!(condition)) {                                                                                                  \
    END2;                                                                                                              \
    PyErr_SetString(PyExc_ValueError, "sizes or alignment: " #condition);                                              \
    return NULL;                                                                                                       \
  }
#define ALIGNED(p) (n == 0 || ((uintptr_t)(p) & 31) == 0)
static PyObject *k_memcpy(PyObject *m, PyObject *args) {
  ARG2;
  NEED(b.len >= a.len);
  Py_BEGIN_ALLOW_THREADS memcpy(b.buf, a.buf, a.len);
  Py_END_ALLOW_THREADS END2;
  Py_RETURN_NONE;
}
static PyObject *k_pack(PyObject *m, PyObject *args) {
  ARG2;
  const uint8_t *s = a.buf;
  uint32_t *d = b.buf;
  Py_ssize_t n = a.len;
  int64_t cnt = 0;
  Py_ssize_t i = 0;
  NEED(b.len >= (n + 7) / 8);
  Py_BEGIN_ALLOW_THREADS __m256i z = _mm256_setzero_si256();
  for (; i + 32 <= n; i += 32) {
    uint32_t w = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(s + i)), z));
    d[i >> 5] = w;
    cnt += __builtin_popcount(w);
  }
  cnt += pack_tail(s, b.buf, i, n);
  Py_END_ALLOW_THREADS END2;
  return PyLong_FromLongLong(cnt);
}
static PyObject *k_pack_sse2(PyObject *m, PyObject *args) {
  ARG2;
  int64_t cnt;
  NEED(b.len >= (a.len + 7) / 8);
  Py_BEGIN_ALLOW_THREADS cnt = pack_sse2(a.buf, b.buf, a.len);
  Py_END_ALLOW_THREADS END2;
  return PyLong_FromLongLong(cnt);
}
static PyObject *k_unpack(PyObject *m, PyObject *args) {
  ARG2;
  const uint32_t *s = a.buf;
  uint8_t *d = b.buf;
  Py_ssize_t n = b.len, i = 0;
  NEED(a.len >= (n + 7) / 8);
  Py_BEGIN_ALLOW_THREADS const __m256i sh = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202,
                                                               0x0303030303030303),
                                       bit = _mm256_set1_epi64x(0x8040201008040201), one = _mm256_set1_epi8(1);
  for (; i + 32 <= n; i += 32) {
    __m256i v = _mm256_shuffle_epi8(_mm256_set1_epi32(s[i >> 5]), sh);
    v = _mm256_cmpeq_epi8(_mm256_and_si256(v, bit), bit);
    _mm256_storeu_si256((__m256i *)(d + i), _mm256_and_si256(v, one));
  }
  for (; i < n; i++) d[i] = ((const uint8_t *)s)[i >> 3] >> (i & 7) & 1;
  Py_END_ALLOW_THREADS END2;
  Py_RETURN_NONE;
}
static PyObject *k_nan(PyObject *m, PyObject *args) {
  ARG2;
  const double *s = a.buf;
  uint8_t *d = b.buf;
  Py_ssize_t n = a.len / 8;
  int64_t cnt = 0;
  Py_ssize_t i = 0;
  NEED(b.len >= (n + 7) / 8);
  Py_BEGIN_ALLOW_THREADS for (; i + 8 <= n; i += 8) {
    __m256d p = _mm256_loadu_pd(s + i), q = _mm256_loadu_pd(s + i + 4);
    unsigned w = _mm256_movemask_pd(_mm256_cmp_pd(p, p, _CMP_ORD_Q)) |
                 (_mm256_movemask_pd(_mm256_cmp_pd(q, q, _CMP_ORD_Q)) << 4);
    d[i >> 3] = w;
    cnt += __builtin_popcount(w);
  }
  if (i < n) {
    unsigned w = 0;
    for (int bit = 0; i < n; bit++, i++) w |= (unsigned)(s[i] == s[i]) << bit;
    d[n >> 3] = w;
    cnt += __builtin_popcount(w);
  }
  Py_END_ALLOW_THREADS END2;
  return PyLong_FromLongLong(n - cnt);
}
static PyObject *k_sent(PyObject *m, PyObject *args) {
  ARG2;
  const int64_t *s = a.buf;
  uint8_t *d = b.buf;
  Py_ssize_t n = a.len / 8;
  int64_t cnt = 0;
  Py_ssize_t i = 0;
  NEED(b.len >= (n + 7) / 8);
  Py_BEGIN_ALLOW_THREADS __m256i S = _mm256_set1_epi64x(INT64_MIN);
  for (; i + 8 <= n; i += 8) {
    unsigned w =
        _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_loadu_si256((const __m256i *)(s + i)), S))) |
        (_mm256_movemask_pd(
             _mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_loadu_si256((const __m256i *)(s + i + 4)), S)))
         << 4);
    d[i >> 3] = ~w;
    cnt += __builtin_popcount(w);
  }
  if (i < n) {
    unsigned w = 0;
    for (int bit = 0; i < n; bit++, i++) {
      w |= (unsigned)(s[i] != INT64_MIN) << bit;
      cnt += s[i] == INT64_MIN;
    }
    d[n >> 3] = w;
  }
  Py_END_ALLOW_THREADS END2;
  return PyLong_FromLongLong(cnt);
}
static PyObject *k_off32to64(PyObject *m, PyObject *args) {
  ARG2;
  const int32_t *s = a.buf;
  int64_t *d = b.buf;
  Py_ssize_t n = a.len / 4;
  NEED(b.len / 8 >= n);
  Py_BEGIN_ALLOW_THREADS for (Py_ssize_t i = 0; i < n; i++) d[i] = s[i];
  Py_END_ALLOW_THREADS END2;
  Py_RETURN_NONE;
}

// non-temporal-store variants (outputs larger than the cache; dst 32-byte aligned)
static PyObject *k_unpack_nt(PyObject *m, PyObject *args) {
  ARG2;
  const uint32_t *s = a.buf;
  uint8_t *d = b.buf;
  Py_ssize_t n = b.len, i = 0;
  NEED(a.len >= (n + 7) / 8 && ALIGNED(d));
  Py_BEGIN_ALLOW_THREADS const __m256i sh = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202,
                                                               0x0303030303030303),
                                       bit = _mm256_set1_epi64x(0x8040201008040201), one = _mm256_set1_epi8(1);
  for (; i + 32 <= n; i += 32) {
    __m256i v = _mm256_shuffle_epi8(_mm256_set1_epi32(s[i >> 5]), sh);
    v = _mm256_cmpeq_epi8(_mm256_and_si256(v, bit), bit);
    _mm256_stream_si256((__m256i *)(d + i), _mm256_and_si256(v, one));
  }
  for (; i < n; i++) d[i] = ((const uint8_t *)s)[i >> 3] >> (i & 7) & 1;
  _mm_sfence();
  Py_END_ALLOW_THREADS END2;
  Py_RETURN_NONE;
}
static PyObject *k_off32to64_nt(PyObject *m, PyObject *args) {
  ARG2;
  const int32_t *s = a.buf;
  int64_t *d = b.buf;
  Py_ssize_t n = a.len / 4, i = 0;
  NEED(b.len / 8 >= n && ALIGNED(d));
  Py_BEGIN_ALLOW_THREADS for (; i + 4 <= n; i += 4)
      _mm256_stream_si256((__m256i *)(d + i), _mm256_cvtepi32_epi64(_mm_loadu_si128((const __m128i *)(s + i))));
  for (; i < n; i++) d[i] = s[i];
  _mm_sfence();
  Py_END_ALLOW_THREADS END2;
  Py_RETURN_NONE;
}
static PyObject *k_gather_nt(PyObject *m, PyObject *args) {
  ARG2;
  const char *s = a.buf;
  double *d = b.buf;
  Py_ssize_t n = a.ndim == 1 && a.itemsize == 8 ? a.shape[0] : -1, st = n > 0 ? a.strides[0] : 0, i = 0;
  NEED(n >= 0 && b.len / 8 >= n && ALIGNED(d));
  Py_BEGIN_ALLOW_THREADS for (; i + 4 <= n; i += 4) {
    const char *p = s + i * st;
    _mm256_stream_pd(d + i, _mm256_set_pd(*(const double *)(p + 3 * st), *(const double *)(p + 2 * st),
                                          *(const double *)(p + st), *(const double *)p));
  }
  for (; i < n; i++) d[i] = *(const double *)(s + i * st);
  _mm_sfence();
  Py_END_ALLOW_THREADS END2;
  Py_RETURN_NONE;
}
static PyObject *k_off64to32(PyObject *m, PyObject *args) {
  ARG2;
  const int64_t *s = a.buf;
  int32_t *d = b.buf;
  Py_ssize_t n = a.len / 8;
  NEED(b.len / 4 >= n);
  int ok = !n || (s[0] >= 0 && s[n - 1] <= INT32_MAX); /* offsets never fall: the ends bound the rest */
  if (ok) {
    Py_BEGIN_ALLOW_THREADS for (Py_ssize_t i = 0; i < n; i++) d[i] = (int32_t)s[i];
    Py_END_ALLOW_THREADS
  }
  END2;
  return PyBool_FromLong(ok);
}
static PyObject *k_gather(PyObject *m, PyObject *args) {
  ARG2;
  const char *s = a.buf;
  double *d = b.buf;
  NEED(a.ndim == 1 && a.itemsize == 8 && b.len / 8 >= a.shape[0]);
  Py_ssize_t n = a.shape[0], st = a.strides[0];
  Py_BEGIN_ALLOW_THREADS for (Py_ssize_t i = 0; i < n; i++) d[i] = *(const double *)(s + i * st);
  Py_END_ALLOW_THREADS END2;
  Py_RETURN_NONE;
}
static PyObject *k_transpose(PyObject *m, PyObject *args) {
  ARG2;
  const double *s = a.buf;
  double *d = b.buf;
  NEED(a.ndim == 2 && b.ndim == 2 && a.shape[0] == b.shape[1] && a.shape[1] == b.shape[0] && a.itemsize == 8 &&
       b.itemsize == 8 && PyBuffer_IsContiguous(&a, 'C') && PyBuffer_IsContiguous(&b, 'C'));
  Py_ssize_t R = b.shape[0], C = b.shape[1];
  Py_BEGIN_ALLOW_THREADS // d[R][C] = s[C][R]^T, 16x16 blocks
      for (Py_ssize_t i = 0; i < R; i += 16) for (Py_ssize_t j = 0; j < C; j += 16) {
    Py_ssize_t ie = i + 16 < R ? i + 16 : R, je = j + 16 < C ? j + 16 : C;
    for (Py_ssize_t p = i; p < ie; p++)
      for (Py_ssize_t q = j; q < je; q++) d[p * C + q] = s[q * R + p];
  }
  Py_END_ALLOW_THREADS END2;
  Py_RETURN_NONE;
}
static PyObject *k_view(PyObject *m, PyObject *args) { // int32 offsets + data -> 16-byte string views (inline <=12)
  PyObject *x, *y, *z;
  if (!PyArg_ParseTuple(args, "OOO", &x, &y, &z)) return NULL;
  Py_buffer o, c, v;
  if (PyObject_GetBuffer(x, &o, PyBUF_SIMPLE) || PyObject_GetBuffer(y, &c, PyBUF_SIMPLE) ||
      PyObject_GetBuffer(z, &v, PyBUF_WRITABLE))
    return NULL;
  const int32_t *of = o.buf;
  const char *d = c.buf;
  uint32_t *w = v.buf;
  Py_ssize_t n = o.len / 4 - 1, lim = c.len - 16;
  Py_BEGIN_ALLOW_THREADS static const uint8_t mk[28] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
  for (Py_ssize_t i = 0; i < n; i++) {
    int32_t p = of[i];
    uint32_t l = of[i + 1] - p;
    uint32_t *e = w + 4 * i;
    if (l <= 12) {
      if (p <= lim) {
        __m128i t = _mm_loadu_si128((const __m128i *)(d + p));
        t = _mm_and_si128(t, _mm_loadu_si128((const __m128i *)(mk + 12 - l)));
        t = _mm_slli_si128(t, 4);
        _mm_storeu_si128((__m128i *)e, _mm_or_si128(t, _mm_cvtsi32_si128(l)));
      } else {
        e[0] = l;
        e[1] = e[2] = e[3] = 0;
        memcpy(e + 1, d + p, l);
      }
    } else {
      e[0] = l;
      memcpy(e + 1, d + p, 4);
      e[2] = 0;
      e[3] = p;
    }
  }
  Py_END_ALLOW_THREADS PyBuffer_Release(&o);
  PyBuffer_Release(&c);
  PyBuffer_Release(&v);
  Py_RETURN_NONE;
}
static PyObject *k_obj2utf8(PyObject *m,
                            PyObject *x) { // object ndarray of str/None -> (offsets i64 bytes, data bytes, null count)
  if (!PyArray_CheckExact(x)) return NULL;
  PyObject **p = PyArray_DATA((PyArrayObject *)x);
  Py_ssize_t n = PyArray_SIZE((PyArrayObject *)x);
  PyObject *ob = PyBytes_FromStringAndSize(NULL, (n + 1) * 8);
  int64_t *o = (int64_t *)PyBytes_AS_STRING(ob);
  Py_ssize_t cap = n * 16 + 64, len = 0, nulls = 0;
  char *d = malloc(cap);
  o[0] = 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    if (i + 8 < n) __builtin_prefetch(p[i + 8]);
    PyObject *s = p[i];
    const char *q;
    Py_ssize_t l;
    if (PyUnicode_CheckExact(s)) {
      if (PyUnicode_IS_COMPACT_ASCII(s)) {
        q = (const char *)PyUnicode_1BYTE_DATA(s);
        l = PyUnicode_GET_LENGTH(s);
      } else if (!(q = PyUnicode_AsUTF8AndSize(s, &l))) { /* lone surrogates */
        free(d);
        Py_DECREF(ob);
        return NULL;
      }
    } else {
      q = "";
      l = 0;
      nulls++;
    }
    if (len + l + 32 > cap) {
      cap = cap * 2 + l;
      d = realloc(d, cap);
    }
    memcpy(d + len, q, l);
    len += l;
    o[i + 1] = len;
  }
  PyObject *r = Py_BuildValue("NnN", ob, len, PyLong_FromSsize_t(nulls));
  free(d);
  return r;
}
static PyObject *k_utf82obj(PyObject *m, PyObject *args) { // offsets i32 + data -> list of str
  PyObject *x, *y;
  if (!PyArg_ParseTuple(args, "OO", &x, &y)) return NULL;
  Py_buffer o, c;
  if (PyObject_GetBuffer(x, &o, PyBUF_SIMPLE) || PyObject_GetBuffer(y, &c, PyBUF_SIMPLE)) return NULL;
  const int32_t *of = o.buf;
  const char *d = c.buf;
  Py_ssize_t n = o.len / 4 - 1;
  PyObject *L = PyList_New(n);
  for (Py_ssize_t i = 0; i < n; i++) PyList_SET_ITEM(L, i, PyUnicode_DecodeUTF8(d + of[i], of[i + 1] - of[i], NULL));
  PyBuffer_Release(&o);
  PyBuffer_Release(&c);
  return L;
}

static PyObject *k_copy_nt(PyObject *m, PyObject *args) {
  ARG2;
  const char *s = a.buf;
  char *d = b.buf;
  Py_ssize_t n = a.len, i = 0;
  NEED(b.len >= n && ALIGNED(d));
  Py_BEGIN_ALLOW_THREADS for (; i + 128 <= n; i += 128) {
    __m256i p = _mm256_loadu_si256((const __m256i *)(s + i)), q = _mm256_loadu_si256((const __m256i *)(s + i + 32)),
            r = _mm256_loadu_si256((const __m256i *)(s + i + 64)),
            t = _mm256_loadu_si256((const __m256i *)(s + i + 96));
    _mm256_stream_si256((__m256i *)(d + i), p);
    _mm256_stream_si256((__m256i *)(d + i + 32), q);
    _mm256_stream_si256((__m256i *)(d + i + 64), r);
    _mm256_stream_si256((__m256i *)(d + i + 96), t);
  }
  memcpy(d + i, s + i, n - i);
  _mm_sfence();
  Py_END_ALLOW_THREADS END2;
  Py_RETURN_NONE;
}
static PyObject *k_utf82obj_ascii(PyObject *m,
                                  PyObject *args) { // one ASCII scan of the data, then PyUnicode_New + memcpy
  PyObject *x, *y;
  if (!PyArg_ParseTuple(args, "OO", &x, &y)) return NULL;
  Py_buffer o, c;
  if (PyObject_GetBuffer(x, &o, PyBUF_SIMPLE) || PyObject_GetBuffer(y, &c, PyBUF_SIMPLE)) return NULL;
  const int32_t *of = o.buf;
  const char *d = c.buf;
  Py_ssize_t n = o.len / 4 - 1;
  PyObject *L = PyList_New(n);
  PyObject_GC_UnTrack(L);
  int ascii = 1;
  for (Py_ssize_t i = 0; i < of[n]; i++) ascii &= d[i] >= 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    Py_ssize_t l = of[i + 1] - of[i];
    const char *p = d + of[i];
    if (!ascii || l < 2) PyList_SET_ITEM(L, i, PyUnicode_DecodeUTF8(p, l, NULL));
    else {
      PyObject *u = PyUnicode_New(l, 127);
      memcpy(PyUnicode_1BYTE_DATA(u), p, l);
      PyList_SET_ITEM(L, i, u);
    }
  }
  PyObject_GC_Track(L);
  PyBuffer_Release(&o);
  PyBuffer_Release(&c);
  return L;
}
static PyMethodDef methods[] = {
    {"k_memcpy", k_memcpy, METH_VARARGS},
    {"k_pack", k_pack, METH_VARARGS},
    {"k_pack_sse2", k_pack_sse2, METH_VARARGS},
    {"k_unpack", k_unpack, METH_VARARGS},
    {"k_nan", k_nan, METH_VARARGS},
    {"k_sent", k_sent, METH_VARARGS},
    {"k_off32to64", k_off32to64, METH_VARARGS},
    {"k_unpack_nt", k_unpack_nt, METH_VARARGS},
    {"k_off32to64_nt", k_off32to64_nt, METH_VARARGS},
    {"k_gather_nt", k_gather_nt, METH_VARARGS},
    {"k_off64to32", k_off64to32, METH_VARARGS},
    {"k_gather", k_gather, METH_VARARGS},
    {"k_transpose", k_transpose, METH_VARARGS},
    {"k_view", k_view, METH_VARARGS},
    {"k_obj2utf8", k_obj2utf8, METH_O},
    {"k_utf82obj", k_utf82obj, METH_VARARGS},
    {"k_copy_nt", k_copy_nt, METH_VARARGS},
    {"k_utf82obj_ascii", k_utf82obj_ascii, METH_VARARGS},
    {0}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "kernelfloor", NULL, -1, methods};
PyMODINIT_FUNC PyInit_kernelfloor(void) {
  import_array();
  return PyModule_Create(&definition);
}
