/* The floor: the cheapest honest C for each protocol step, an anchor for every other number. Read README.md first. */
#include "object.h"
/* in this order: each uses the ones before */
#include "exports.h"
#include "imports.h"
#include "reach.h"

/* The same object with DLPack alone on its type: "any C producer of DLPack", which no importer can take by buffer. */
static PyObject *dlpack_only(PyObject *m, PyObject *x) {
  FObj *o = (FObj *)buf_own(m, x);
  if (o) {
    PyTypeObject *old = Py_TYPE(o);
    Py_SET_TYPE(o, (PyTypeObject *)Py_NewRef(FDL_T));
    Py_DECREF(old);
  }
  return (PyObject *)o;
}

#define KEYWORDS(f) (PyCFunction)(void *)f, METH_FASTCALL | METH_KEYWORDS
static PyMethodDef module_methods[] = {{"nop", nop, METH_NOARGS},
                                       {"nop1", nop, METH_O},
                                       {"nopkw", KEYWORDS(nopkw)},
                                       {"own", own, METH_O},
                                       {"owngc", owngc, METH_O},
                                       {"mkcap", mkcap, METH_NOARGS},
                                       {"mkcap_malloc", mkcap_malloc, METH_O},
                                       {"buf_peek", buf_peek, METH_O},
                                       {"buf_own", buf_own, METH_O},
                                       {"dl_own", dl_own, METH_O},
                                       {"dlv_own", dlv_own, METH_O},
                                       {"dlx_peek", dlx_peek, METH_O},
                                       {"dlx_peek_nocache", dlx_peek_nocache, METH_O},
                                       {"dlx_own", dlx_own, METH_O},
                                       {"dlpack_only", dlpack_only, METH_O},
                                       {"np_own", np_own, METH_O},
                                       {"as_own", as_own, METH_O},
                                       {"ai_own", ai_own, METH_O},
                                       {"arrow_own", arrow_own, METH_O},
                                       {"stream_own", stream_own, METH_O},
                                       {"stream_lazy", stream_lazy, METH_O},
                                       {"imp", KEYWORDS(imp)},
                                       {"imp_arrow", KEYWORDS(imp_arrow)},
                                       {0}};
static PyMethodDef dlpack_methods[] = {{"__dlpack__", KEYWORDS(f_dlpack)}, {"__dlpack_device__", f_dldev, METH_NOARGS}, {0}};
static PyMethodDef object_methods[] = {{"__dlpack__", KEYWORDS(f_dlpack)},
                                       {"__dlpack_device__", f_dldev, METH_NOARGS},
                                       {"__arrow_c_array__", KEYWORDS(f_arrow)},
                                       {0}};
#define PLAIN Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION
#define COLLECTED PLAIN | Py_TPFLAGS_HAVE_GC
#define TYPE(spec, name, object, flags, ...)                                                                           \
  static PyType_Slot spec##_slots[] = {__VA_ARGS__, {0}};                                                              \
  static PyType_Spec spec = {"peersfloor." name, sizeof(object), 0, flags, spec##_slots}
TYPE(fobj, "FObj", FObj, PLAIN, {Py_tp_dealloc, fobj_dealloc}, {Py_tp_methods, object_methods}, {Py_bf_getbuffer, f_getbuf});
TYPE(fdl, "DLPackOnly", FObj, PLAIN, {Py_tp_dealloc, fobj_dealloc}, {Py_tp_methods, dlpack_methods});
TYPE(fgc, "FGC", FObj, COLLECTED, {Py_tp_dealloc, fgc_dealloc}, {Py_tp_traverse, fgc_traverse});
TYPE(iobj, "IObj", IObj, COLLECTED, {Py_tp_dealloc, io_dealloc}, {Py_tp_traverse, io_traverse}, {Py_tp_clear, io_clear});
TYPE(aobj, "AObj", AObj, PLAIN, {Py_tp_dealloc, ao_dealloc});
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "peersfloor", NULL, -1, module_methods};

static int names(void) {
#define NAME(v, s)                                                                                                     \
  if (!(v = PyUnicode_InternFromString(s))) return -1
  NAME(s_dlpack, "__dlpack__");
  NAME(s_maxver, "max_version");
  NAME(s_api, "__dlpack_c_exchange_api__");
  NAME(s_ai, "__array_interface__");
  NAME(s_as, "__array_struct__");
  NAME(s_arrow, "__arrow_c_array__");
  NAME(s_stream, "__arrow_c_stream__");
  NAME(s_data, "data");
  NAME(s_shape, "shape");
  NAME(s_typestr, "typestr");
  NAME(s_strides, "strides");
  NAME(s_mask, "mask");
  NAME(s_copy, "copy");
  NAME(s_device, "device");
  NAME(s_writable, "writable");
  for (int c = 0; c < 7; c++)
    for (int l = 0; l < 5; l++)
      if (!(dtab[c][l] = PyUnicode_FromFormat("%d_%d", c, 8 << l))) return -1;
  kw_maxver = PyTuple_Pack(1, s_maxver);
  t_ver = Py_BuildValue("(ii)", 1, 1);
  t_cpu = Py_BuildValue("(ii)", kDLCPU, 0);
  return kw_maxver && t_ver && t_cpu ? 0 : -1;
}
PyMODINIT_FUNC PyInit_peersfloor(void) {
  import_array();
  if (names() || !(FObj_T = (PyTypeObject *)PyType_FromSpec(&fobj)) ||
      !(FDL_T = (PyTypeObject *)PyType_FromSpec(&fdl)) || !(FGC_T = (PyTypeObject *)PyType_FromSpec(&fgc)) ||
      !(I_T = (PyTypeObject *)PyType_FromSpec(&iobj)) || !(A_T = (PyTypeObject *)PyType_FromSpec(&aobj)))
    return NULL;
  return PyModule_Create(&definition);
}
