/* Hostile objects: a type for each set of protocols, and what their attributes answer.
 *
 * A protocol more is a row in `offers` (and, if its answer is an object, a case in `answer_for`).
 */
#include "fuzz.h"

long live_producers, open_buffers, live_structs, raised_by_producers;
static PyObject *base_type;
static PyObject *proxy_type;

/* -- misbehaving -------------------------------------------------------------------------------------------------------- */

int misbehaves(facts *f, int at) {
    static PyObject **const kinds[MOODS] = {
        NULL, &PyExc_BufferError, &PyExc_RuntimeError, &PyExc_KeyboardInterrupt, NULL, &PyExc_MemoryError,
        &PyExc_TypeError, &PyExc_AttributeError, &PyExc_ValueError, &PyExc_RecursionError,
    };
    if (f->mood == MOOD_NONE || f->mood > MOOD_RECURSION_ERROR) return 0;
    if (f->mood_at != 0 && (f->mood_at & 31) != at) return 0;
    raised_by_producers |= 1L << f->mood;
    if (f->mood != MOOD_SILENT) PyErr_SetString(*kinds[f->mood], "said the producer");
    return 1;
}

/* -- the buffer slot ------------------------------------------------------------------------------------------------------ */

static int fill_buffer(facts *f, Py_buffer *view, int flags) {
    if (misbehaves(f, OFFER_BUFFER)) {
        view->obj = NULL;
        return -1;
    }
    if ((flags & PyBUF_WRITABLE) && f->readonly && f->mood != MOOD_WRITABLE_LIE) {
        view->obj = NULL;
        PyErr_SetString(PyExc_BufferError, "it is read-only");
        return -1;
    }
    view->buf = f->data;
    view->len = f->len;
    view->itemsize = f->itemsize;
    view->readonly = f->readonly;
    view->ndim = f->ndim;
    view->format = (char *)f->format;
    view->shape = (Py_ssize_t *)f->shape;
    view->strides = (Py_ssize_t *)f->strides;
    view->suboffsets = (Py_ssize_t *)f->suboffsets;
    view->internal = f;
    if (f->mood == MOOD_INLINE_SHAPE) { /* as PyBuffer_FillInfo does */
        view->ndim = 1;
        view->shape = &view->len;
        view->strides = &view->itemsize;
    }
    return 0;
}

static int get_buffer(PyObject *self, Py_buffer *view, int flags) {
    producer *p = (producer *)self;
    PyObject *proxy;
    if (fill_buffer(p->told, view, flags) < 0) return -1;
    if (p->told->mood == MOOD_NO_OBJECT) {
        view->obj = NULL;
        return 0;
    }
    open_buffers++;
    if (p->told->mood == MOOD_PROXY) { /* another object is the exporter */
        proxy = PyObject_CallNoArgs(proxy_type);
        if (proxy == NULL) fault("no memory in the harness");
        ((producer *)proxy)->told = p->told;
        view->obj = proxy;
        return 0;
    }
    view->obj = Py_NewRef(self);
    return 0;
}

static void release_buffer(PyObject *self, Py_buffer *view) {
    facts *f = ((producer *)self)->told;
    expect_none("when a buffer was released");
    if (view->internal != f || view->buf != f->data || view->len != f->len)
        fault("another Py_buffer came back than was given");
    if (f->mood == MOOD_INLINE_SHAPE && (view->shape != &view->len || view->strides != &view->itemsize))
        fault("a Py_buffer came back with shape and strides of another");
    if (--open_buffers < 0) fault("a buffer was released twice");
}

static PyType_Slot proxy_slots[] = {
    {Py_bf_releasebuffer, release_buffer},
    {0, NULL},
};

/* -- attributes ------------------------------------------------------------------------------------------------------------ */

static PyObject *get_answer(PyObject *self, void *closure) {
    producer *p = (producer *)self;
    const int at = (int)(intptr_t)closure;
    if (misbehaves(p->told, at)) {
        /* no code of Python's survives an attribute that fails without an exception */
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "said the producer");
        return NULL;
    }
    if (p->answers[at] == NULL) {
        PyErr_SetString(PyExc_AttributeError, "no such answer");
        return NULL;
    }
    return Py_NewRef(p->answers[at]);
}

static PyObject *call_answer(PyObject *self, PyObject *args, PyObject *kw, int at) {
    if (kw != NULL && PyDict_Size(kw) > 0 && (((producer *)self)->told->form & 0x0E) == 0x0E) {
        PyErr_SetString(PyExc_TypeError, "no such keyword");
        return NULL;
    }
    return get_answer(self, (void *)(intptr_t)at);
}

static PyObject *producer_device(PyObject *self, PyObject *args, PyObject *kw) {
    return call_answer(self, args, kw, OFFER_DEVICE);
}

static PyObject *producer_array(PyObject *self, PyObject *args, PyObject *kw) {
    return call_answer(self, args, kw, OFFER_ARRAY);
}

typedef struct offer {
    const char *name;
    PyCFunctionWithKeywords method;
} offer;

/* What a type may offer, in the order of OFFER_...; a row without a method is an attribute. */
static const offer offers[OFFERS] = {
    [OFFER_BUFFER] = {"__buffer__", NULL}, /* the slot */
    [OFFER_TABLE] = {"__dlpack_c_exchange_api__", NULL},
    [OFFER_STRUCT] = {"__array_struct__", NULL},
    [OFFER_DLPACK] = {"__dlpack__", producer_dlpack},
    [OFFER_DEVICE] = {"__dlpack_device__", producer_device},
    [OFFER_INTERFACE] = {"__array_interface__", NULL},
    [OFFER_POINTER] = {"ptr", NULL},
    [OFFER_ARRAY] = {"__array__", producer_array},
    [OFFER_CUDA] = {"__cuda_array_interface__", NULL},
    [OFFER_SYCL] = {"__sycl_usm_array_interface__", NULL},
    [OFFER_NBYTES] = {"nbytes", NULL},
    [OFFER_BUFSIZE] = {"bufsize", NULL},
    [OFFER_SIZE] = {"size", NULL},
    [OFFER_DTYPE] = {"dtype", NULL},
    [OFFER_FLAGS] = {"flags", NULL},
    [OFFER_BASE] = {"base", NULL},
    [OFFER_MASK] = {"mask", NULL},
};

static void struct_gone(PyObject *capsule) {
    free(PyCapsule_GetPointer(capsule, NULL));
    live_structs--;
}

typedef struct array_struct {
    int two, nd;
    char typekind;
    int itemsize, flags;
    Py_ssize_t *shape, *strides;
    void *data;
    PyObject *descr;
} array_struct;

static PyObject *answer_struct(facts *f, input *in) {
    static const char kinds[] = "biufcOVMmt";
    const uint8_t odd = next_odd(in);
    array_struct *said = calloc(1, sizeof(array_struct));
    PyObject *capsule;
    if (said == NULL) fault("no memory in the harness");
    said->two = odd == 1 ? (int)next_number(in) : 2;
    said->nd = f->ndim;
    said->typekind = f->typestr != NULL && f->typestr[0] != 0 ? f->typestr[f->typestr[1] != 0] : 'f';
    if (odd == 3) said->typekind = kinds[next_byte(in) % 10];
    if (odd == 5) said->typekind = (char)next_byte(in);
    said->itemsize = (int)f->itemsize;
    said->flags = 0x200 | (f->readonly ? 0 : 0x400);
    if (odd == 7) said->flags = (int)next_number(in), f->untold = 1;
    said->shape = (Py_ssize_t *)f->shape;
    said->strides = (Py_ssize_t *)f->strides;
    said->data = f->data;
    live_structs++;
    capsule = PyCapsule_New(said, odd == 9 ? "a name" : NULL, odd == 9 ? NULL : struct_gone);
    if (odd == 9) { /* whose pointer nobody may want */
        free(said);
        live_structs--;
        PyCapsule_SetPointer(capsule, f);
    }
    return capsule;
}

static PyObject *sizes_of(const int64_t *at, int n) {
    PyObject *made = PyTuple_New(n);
    int i;
    for (i = 0; i < n; i++) PyTuple_SET_ITEM(made, i, PyLong_FromLongLong(at[i]));
    return made;
}

static void set_key(PyObject *dict, const char *key, PyObject *value) {
    if (value == NULL || PyDict_SetItemString(dict, key, value) < 0) fault("no memory in the harness");
    Py_DECREF(value);
}

/* The dict of an array interface; `odd` names one key that is something else. */
static PyObject *answer_interface(facts *f, input *in, int at) {
    static const char *const keys[] = {"shape", "typestr", "data", "strides", "offset", "mask", "descr", "stream",
                                       "version"};
    PyObject *dict = PyDict_New(), *pair = NULL;
    uint8_t tag = next_byte(in);
    f->low = f->high = NULL;
    if (f->shape != NULL) set_key(dict, "shape", sizes_of(f->shape, f->held));
    if (f->typestr != NULL) set_key(dict, "typestr", PyUnicode_DecodeLatin1(f->typestr, (Py_ssize_t)strlen(f->typestr),
                                                                             NULL));
    if (f->strides != NULL) {
        if (at == OFFER_SYCL) set_key(dict, "strides", sizes_of(f->steps, f->held));
        else set_key(dict, "strides", sizes_of(f->strides, f->held));
    }
    if ((tag & 7) < 5) {
        pair = Py_BuildValue("(NO)", PyLong_FromVoidPtr(f->data), f->readonly ? Py_True : Py_False);
    } else if ((tag & 7) < 7) {
        facts *inner = new_facts();
        inner->format = "B";
        inner->itemsize = 1;
        inner->ndim = inner->held = 1;
        inner->shape = inner->room[0] + 511;
        inner->shape[0] = inner->len = next_byte(in) << (tag >> 6);
        inner->data = arena + ARENA - inner->len;
        if (tag & 32) inner->ndim = (int32_t)next_number(in);
        if (tag & 32 && inner->ndim > 1) inner->shape = inner->strides = NULL;
        inner->readonly = f->readonly;
        inner->mood = f->mood;
        inner->mood_at = f->mood_at;
        f->low = inner->data;
        f->high = inner->data + inner->len;
        pair = make_producer(NULL, 1u << OFFER_BUFFER);
        ((producer *)pair)->told = inner;
        set_key(dict, "offset", PyLong_FromLongLong(tag & 8 ? next_number(in) : 0));
    }
    if (pair != NULL) set_key(dict, "data", pair);
    if (tag & 16) set_key(dict, "version", PyLong_FromLong(3));
    if (at == OFFER_CUDA && (tag & 32)) set_key(dict, "stream", PyLong_FromLong(1 + (tag >> 6)));
    if (tag & 64 && f->typestr != NULL && strcmp(f->typestr, "|V12") == 0)
        set_key(dict, "descr", Py_BuildValue("[(ss)(ss)]", "a", "<i4", "b", f->name != NULL ? "<f8" : "|O"));
    while (next_odd(in) != 0) {
        const char *key = keys[next_byte(in) % 9];
        PyObject *value = next_object(in, 0);
        if (value == NULL) fault("no memory in the harness");
        set_key(dict, key, value);
        f->untold = objects_told = 1;
    }
    return dict;
}

static PyObject *answer_for(producer *p, input *in, int at) {
    facts *f = p->told;
    switch (at) {
    case OFFER_STRUCT: return answer_struct(f, in);
    case OFFER_INTERFACE: case OFFER_CUDA: case OFFER_SYCL: return answer_interface(f, in, at);
    case OFFER_DEVICE:
        if (next_odd(in)) return next_object(in, 0);
        return Py_BuildValue("(ii)", (int)f->device_type, (int)f->device_id);
    case OFFER_POINTER: return next_odd(in) ? next_object(in, 0) : PyLong_FromVoidPtr(f->data);
    case OFFER_NBYTES: case OFFER_BUFSIZE: case OFFER_SIZE:
        return next_odd(in) ? next_object(in, 0) : PyLong_FromLongLong(f->len);
    case OFFER_DTYPE:
        if (f->name != NULL) return named(f->name);
        return next_odd(in) ? next_dtype(in) : NULL;
    case OFFER_FLAGS: case OFFER_BASE: case OFFER_MASK: return next_odd(in) ? next_object(in, 0) : NULL;
    default: return NULL;
    }
}

/* -- types and objects --------------------------------------------------------------------------------------------------- */

static void producer_gone(PyObject *self) {
    producer *p = (producer *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject *kind, *value, *trace;
    int i;
    PyErr_Fetch(&kind, &value, &trace);
    for (i = 0; i < OFFERS; i++) Py_CLEAR(p->answers[i]);
    PyErr_Restore(kind, value, trace);
    live_producers--;
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *producer_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    producer *p = (producer *)type->tp_alloc(type, 0);
    if (p != NULL) live_producers++;
    return (PyObject *)p;
}

static PyType_Slot base_slots[] = {
    {Py_tp_dealloc, producer_gone},
    {Py_tp_new, producer_new},
    {0, NULL},
};
static PyType_Spec base_spec = {"lend_fuzz.Producer", sizeof(producer), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                base_slots};
static PyType_Spec proxy_spec = {"lend_fuzz.Proxy", sizeof(producer), 0, Py_TPFLAGS_DEFAULT, proxy_slots};

#define TYPES 1024
static struct { unsigned key; PyObject *type; } types[TYPES];
static int type_count;

/* A type that offers these protocols, made when first wanted and then kept. */
static PyObject *type_for(unsigned mask, int table) {
    const unsigned key = mask | (unsigned)table << 24 | 0x80000000u;
    unsigned at = key * 2654435761u >> 22;
    PyMethodDef *methods;
    PyGetSetDef *attributes;
    PyType_Slot slots[8];
    PyType_Spec spec = {"lend_fuzz.Hostile", sizeof(producer), 0, Py_TPFLAGS_DEFAULT, slots};
    PyObject *made;
    int i, m = 0, g = 0, s = 0;
    for (; types[at].key != 0; at = (at + 1) % TYPES)
        if (types[at].key == key) return types[at].type;
    if (type_count >= TYPES - 8) return types[0].key != 0 ? types[0].type : base_type;
    methods = calloc(OFFERS + 1, sizeof(*methods)); /* the type refers to them for good */
    attributes = calloc(OFFERS + 1, sizeof(*attributes));
    for (i = 0; i < OFFERS; i++) {
        if (!(mask >> i & 1) || i == OFFER_BUFFER || i == OFFER_TABLE) continue;
        if (offers[i].method != NULL) {
            methods[m].ml_name = offers[i].name;
            methods[m].ml_meth = (PyCFunction)(void (*)(void))offers[i].method;
            methods[m++].ml_flags = METH_VARARGS | METH_KEYWORDS;
        } else {
            attributes[g].name = offers[i].name;
            attributes[g].get = get_answer;
            attributes[g++].closure = (void *)(intptr_t)i;
        }
    }
    slots[s++] = (PyType_Slot){Py_tp_methods, methods};
    slots[s++] = (PyType_Slot){Py_tp_getset, attributes};
    if (mask & 1u << OFFER_BUFFER) {
        slots[s++] = (PyType_Slot){Py_bf_getbuffer, get_buffer};
        slots[s++] = (PyType_Slot){Py_bf_releasebuffer, release_buffer};
    }
    slots[s] = (PyType_Slot){0, NULL};
    made = PyType_FromSpecWithBases(&spec, base_type);
    if (made == NULL) fault("a type of the harness");
    if (mask & 1u << OFFER_TABLE) {
        PyObject *capsule = exchange_capsule(table);
        if (capsule == NULL || PyObject_SetAttrString(made, offers[OFFER_TABLE].name, capsule) < 0) fault("a table");
        Py_DECREF(capsule);
    }
    types[at].key = key;
    types[at].type = made;
    type_count++;
    return made;
}

/* An object whose class shows nothing: the answers are in its dict, or behind __getattr__. */
static PyObject *dress(PyObject *made, unsigned mask, int forwarding) {
    static PyObject *plain, *forward;
    PyObject *worn, *names, *value;
    int i;
    if (plain == NULL) {
        PyObject *space = PyDict_New();
        PyObject *done = PyRun_String(
            "class Plain: pass\n"
            "class Forwarding:\n"
            "    def __init__(self, to, names): self.to, self.names = to, names\n"
            "    def __getattr__(self, name):\n"
            "        if name in self.names: return getattr(self.to, name)\n"
            "        raise AttributeError(name)\n",
            Py_file_input, PyEval_GetBuiltins(), space);
        if (done == NULL) fault("the harness's own classes");
        Py_DECREF(done);
        plain = Py_NewRef(PyDict_GetItemString(space, "Plain"));
        forward = Py_NewRef(PyDict_GetItemString(space, "Forwarding"));
        Py_DECREF(space);
    }
    names = PyList_New(0);
    worn = forwarding ? NULL : PyObject_CallNoArgs(plain);
    for (i = 0; i < OFFERS; i++) {
        if (!(mask >> i & 1) || i == OFFER_BUFFER) continue;
        value = PyUnicode_FromString(offers[i].name);
        PyList_Append(names, value);
        Py_DECREF(value);
        if (forwarding) continue;
        value = PyObject_GetAttrString(made, offers[i].name);
        if (value == NULL) PyErr_Clear();
        else PyObject_SetAttrString(worn, offers[i].name, value);
        Py_XDECREF(value);
    }
    if (forwarding) worn = PyObject_CallFunctionObjArgs(forward, made, names, NULL);
    Py_DECREF(names);
    Py_DECREF(made);
    if (worn == NULL || PyErr_Occurred()) fault("an object of the harness");
    return worn;
}

/* A producer of the protocols in `mask`; without an input only the object, to be told by the caller. */
PyObject *make_producer(input *in, unsigned mask) {
    const uint8_t odd = in == NULL ? 0 : next_odd(in);
    const int table = odd > 1 && (mask & 1u << OFFER_TABLE) ? odd % TABLES : 0;
    producer *p = (producer *)PyObject_CallNoArgs(type_for(mask, table));
    int i;
    if (p == NULL) fault("a producer");
    p->offers = mask;
    p->table = table;
    if (in == NULL) return (PyObject *)p;
    p->told = new_facts();
    fill_facts(p->told, in);
    for (i = 0; i < OFFERS; i++) {
        if (!(mask >> i & 1) || i == OFFER_ARRAY) continue;
        p->answers[i] = answer_for(p, in, i);
        if (PyErr_Occurred()) PyErr_Clear();
    }
    if (mask & 1u << OFFER_ARRAY) {
        if (next_odd(in)) {
            p->answers[OFFER_ARRAY] = next_object(in, 0);
        } else {
            const uint8_t kind = next_byte(in);
            p->answers[OFFER_ARRAY] = make_producer(
                NULL, 1u << (kind & 1 ? OFFER_INTERFACE : OFFER_BUFFER) | (kind & 2 ? 1u << OFFER_FLAGS : 0)
                          | (kind & 4 ? 1u << OFFER_BASE : 0) | (kind & 8 ? 1u << OFFER_MASK : 0));
            ((producer *)p->answers[OFFER_ARRAY])->told = p->told;
            for (i = 0; i < OFFERS; i++)
                if (((producer *)p->answers[OFFER_ARRAY])->offers >> i & 1)
                    ((producer *)p->answers[OFFER_ARRAY])->answers[i] = answer_for(p, in, i);
        }
        if (PyErr_Occurred()) PyErr_Clear();
    }
    if (odd == 0) return (PyObject *)p;
    if (odd & 1) return dress((PyObject *)p, mask, odd & 2);
    return (PyObject *)p;
}

/* What a producer of one protocol told: then a View must say exactly that. */
const facts *single_told(PyObject *made) {
    producer *p = (producer *)made;
    if (!PyObject_TypeCheck(made, (PyTypeObject *)base_type) || p->told == NULL || p->told->untold) return NULL;
    if (p->offers == 1u << OFFER_BUFFER || p->offers == 1u << OFFER_DLPACK || p->offers == 1u << OFFER_STRUCT
        || p->offers == 1u << OFFER_INTERFACE || p->offers == (1u << OFFER_DLPACK | 1u << OFFER_DEVICE)
        || p->offers == 1u << OFFER_TABLE)
        return p->told;
    return NULL;
}

int start_producers(PyObject *module) {
    base_type = PyType_FromSpec(&base_spec);
    proxy_type = base_type == NULL ? NULL : PyType_FromSpecWithBases(&proxy_spec, base_type);
    return proxy_type == NULL ? -1 : 0;
}
