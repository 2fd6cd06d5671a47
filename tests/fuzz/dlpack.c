/* DLPack as a hostile producer speaks it: tensors that are counted, capsules of any name, exchange tables. */
#include "fuzz.h"

#define TENSORS 64

typedef struct tensor {
    int versioned;
    int deletable;
    int deleted;
    facts *told;
    union {
        DLManagedTensor legacy;
        DLManagedTensorVersioned managed;
    } u;
} tensor;

static tensor *tensors[TENSORS];
static int tensor_count;
long live_tensors;

static void delete_tensor(tensor *t) {
    if (t->deleted) fault("the deleter of a DLPack tensor was called twice");
    if (!PyGILState_Check()) fault("the deleter of this producer was called without the GIL");
    expect_none("when a deleter was called");
    t->deleted = 1;
    /* the struct stays until the input ends, but says nothing any more */
    memset(&t->u, 0xDB, sizeof(t->u));
    live_tensors--;
}

static tensor *tensor_of(void *managed) {
    int i;
    for (i = 0; i < tensor_count; i++)
        if ((void *)&tensors[i]->u == managed) return tensors[i];
    fault("a deleter was called on a tensor that nobody made");
}

static void delete_legacy(DLManagedTensor *managed) { delete_tensor(tensor_of(managed)); }
static void delete_versioned(DLManagedTensorVersioned *managed) { delete_tensor(tensor_of(managed)); }

static void fill_tensor(DLTensor *to, facts *f) {
    memset(to, 0, sizeof(*to));
    to->data = f->data;
    to->device.device_type = (DLDeviceType)f->device_type;
    to->device.device_id = f->device_id;
    to->ndim = f->ndim;
    to->dtype.code = f->code;
    to->dtype.bits = f->bits;
    to->dtype.lanes = f->lanes;
    to->shape = f->shape;
    to->strides = f->steps;
    to->byte_offset = f->byte_offset;
}

/* A tensor whose deleter must be called once. */
void *new_tensor(facts *f, int versioned) {
    tensor *t;
    if (tensor_count == TENSORS) fault("the harness has made too many tensors");
    if ((t = malloc(sizeof(tensor))) == NULL) fault("no memory in the harness");
    memset(t, 0, sizeof(*t));
    t->versioned = versioned;
    t->told = f;
    t->deletable = f->mood != MOOD_NO_DELETER;
    if (versioned) {
        t->u.managed.version.major = f->major;
        t->u.managed.version.minor = f->minor;
        t->u.managed.flags = f->flags;
        t->u.managed.deleter = t->deletable ? delete_versioned : NULL;
        fill_tensor(&t->u.managed.dl_tensor, f);
    } else {
        t->u.legacy.deleter = t->deletable ? delete_legacy : NULL;
        fill_tensor(&t->u.legacy.dl_tensor, f);
    }
    tensors[tensor_count++] = t;
    if (t->deletable) live_tensors++;
    return &t->u;
}

void drop_tensors(void) {
    while (tensor_count > 0) free(tensors[--tensor_count]);
}

/* A capsule that nobody took gives its tensor back. */
static void capsule_gone(PyObject *capsule) {
    const char *name = PyCapsule_GetName(capsule);
    PyObject *kind, *value, *trace;
    tensor *t;
    if (name == NULL || strncmp(name, "used_", 5) == 0) return;
    /* a destructor keeps an exception that is on its way aside, as NumPy's does */
    PyErr_Fetch(&kind, &value, &trace);
    t = tensor_of(PyCapsule_GetPointer(capsule, name));
    if (t->deletable) delete_tensor(t);
    PyErr_Restore(kind, value, trace);
}

PyObject *tensor_capsule(facts *f) {
    static const char *const odd_names[] = {"used_dltensor", "used_dltensor_versioned", NULL, "", "dltensor_", "tensor",
                                            "dltensor_version"};
    const int versioned = (f->form & 1) == 0;
    const char *name = versioned ? "dltensor_versioned" : "dltensor";
    PyObject *capsule;
    if (f->form >= 0xF0) {
        name = odd_names[f->form % 7];
        /* nobody may take it, and then nobody gives it back */
        capsule = PyCapsule_New(f, name, NULL);
    } else {
        capsule = PyCapsule_New(new_tensor(f, versioned), name, capsule_gone);
    }
    if (capsule == NULL) fault("no memory in the harness");
    return capsule;
}

PyObject *producer_dlpack(PyObject *self, PyObject *args, PyObject *kw) {
    producer *p = (producer *)self;
    const int refuses_words = (p->told->form & 0x0E) == 0x0E;
    if (misbehaves(p->told, OFFER_DLPACK)) return NULL;
    if (refuses_words && kw != NULL && PyDict_Size(kw) > 0) {
        PyErr_SetString(PyExc_TypeError, "__dlpack__() takes no keyword arguments");
        return NULL;
    }
    if (p->told->mood == MOOD_OTHER_ANSWER) return Py_NewRef(p->answers[OFFER_INTERFACE] ? p->answers[OFFER_INTERFACE]
                                                                                         : Py_None);
    if (p->told->mood == MOOD_SECOND_TIME && ++p->calls > 1) return PyErr_Format(PyExc_RuntimeError, "only once");
    return tensor_capsule(p->told);
}

/* -- exchange tables --------------------------------------------------------------------------------------------------- */

static int table_from_object(void *object, DLManagedTensorVersioned **out) {
    facts *f = ((producer *)object)->told;
    if (misbehaves(f, OFFER_TABLE)) return -1;
    if (f->mood == MOOD_NO_OBJECT) {
        *out = NULL;
        return 0;
    }
    *out = new_tensor(f, 1);
    return 0;
}

static int table_stream(DLDeviceType type, int32_t id, void **out) {
    *out = NULL;
    return 0;
}

/* One table per type: 0 is right; the others have something else than a table, or none that can be read. */
PyObject *exchange_capsule(int which) {
    static DLPackExchangeAPI good, older, newer, empty;
    if (good.managed_tensor_from_py_object_no_sync == NULL) {
        good.header.version.major = DLPACK_MAJOR_VERSION;
        good.header.version.minor = DLPACK_MINOR_VERSION;
        good.managed_tensor_from_py_object_no_sync = table_from_object;
        good.current_work_stream = table_stream;
        newer.header.version.major = 2;
        newer.header.prev_api = &good.header;
        older.header.version.major = 0;
        empty = good;
        empty.managed_tensor_from_py_object_no_sync = NULL;
    }
    switch (which) {
    case 0: return PyCapsule_New(&good, "dlpack_exchange_api", NULL);
    case 1: return PyCapsule_New(&newer, "dlpack_exchange_api", NULL);
    case 2: return PyCapsule_New(&older, "dlpack_exchange_api", NULL);
    case 3: return PyCapsule_New(&empty, "dlpack_exchange_api", NULL);
    case 4: return PyCapsule_New(&good, "another_name", NULL);
    default: return PyLong_FromVoidPtr(&good);
    }
}
