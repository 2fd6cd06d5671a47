/* The ways in: a table. A path more is a row here. */
#include "fuzz.h"

static PyObject *make_bytes_like(input *in, unsigned argument) {
    facts *f = new_facts();
    PyObject *made = make_producer(NULL, 1u << OFFER_BUFFER);
    fill_rows(f, in);
    ((producer *)made)->told = f;
    f->untold = 1;
    if (next_byte(in) & 1) { /* gathered: a copy, whose memory is true */
        PyObject *options = Py_BuildValue("{s:O}", "copy", Py_True), *arguments = PyTuple_Pack(1, made), *copy;
        copy = PyObject_Call(lend.view, arguments, options);
        Py_DECREF(options);
        Py_DECREF(arguments);
        Py_DECREF(made);
        if (!returned(copy, LEND_ERROR)) return NULL;
        check_object(copy, NULL);
        return copy;
    }
    return made;
}

static PyObject *make_capsule(input *in, unsigned argument) {
    facts *f = new_facts();
    fill_facts(f, in);
    f->mood = f->mood == MOOD_NO_DELETER ? MOOD_NO_DELETER : MOOD_NONE;
    return tensor_capsule(f);
}

static PyObject *make_mixed(input *in, unsigned argument) {
    unsigned mask = next_byte(in);
    mask |= (unsigned)(next_byte(in) & 3) << 8;
    if (mask & 1u << OFFER_POINTER) mask |= 1u << OFFER_NBYTES;
    return make_producer(in, mask);
}

static PyObject *call_with(PyObject *function, PyObject *arguments, PyObject *options) {
    PyObject *made = PyObject_Call(function, arguments, options);
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    Py_DECREF(arguments);
    Py_DECREF(options); /* with it, perhaps, the last producer */
    PyErr_Restore(kind, value, trace);
    return made;
}

static void option(PyObject *options, const char *name, PyObject *value) {
    if (value == NULL || PyDict_SetItemString(options, name, value) < 0) fault("no memory in the harness");
    Py_DECREF(value);
}

static PyObject *pointer_of(input *in, facts *f) {
    return next_odd(in) ? next_object(in, 0) : PyLong_FromVoidPtr(f->data);
}

/* View.from_pointer and Buffer.from_pointer. */
static PyObject *make_from_pointer(input *in, unsigned bytes) {
    facts *f = new_facts();
    PyObject *options = PyDict_New(), *arguments, *function, *made;
    PyObject *owner = make_producer(NULL, 0);
    const uint8_t which = next_byte(in);
    fill_facts(f, in);
    f->mood = MOOD_NONE;
    ((producer *)owner)->told = f;
    option(options, "owner", (which & 0xF0) == 0xF0 ? Py_NewRef(Py_None) : Py_NewRef(owner));
    Py_DECREF(owner);
    if (which & 1) option(options, "readonly", which & 0x80 ? next_object(in, 0) : Py_NewRef(Py_False));
    if (which & 2) option(options, "device", next_object(in, 0));
    if (bytes) {
        arguments = Py_BuildValue("(NN)", pointer_of(in, f),
                                  which & 4 ? next_object(in, 0) : PyLong_FromLongLong(f->len));
    } else {
        PyObject *shape, *dtype;
        if (which & 8 || f->shape == NULL) {
            shape = next_sizes(in, 70);
        } else {
            int i;
            shape = PyTuple_New(f->held);
            for (i = 0; i < f->held; i++) PyTuple_SET_ITEM(shape, i, PyLong_FromLongLong(f->shape[i]));
        }
        if (f->strides != NULL) {
            int i;
            PyObject *strides = PyTuple_New(f->held);
            for (i = 0; i < f->held; i++) PyTuple_SET_ITEM(strides, i, PyLong_FromLongLong(f->strides[i]));
            option(options, "strides", strides);
        } else if (which & 16) {
            option(options, "strides", next_sizes(in, 70));
        }
        dtype = which & 32 || f->typestr == NULL ? next_dtype(in)
                                                 : PyUnicode_DecodeLatin1(f->typestr, (Py_ssize_t)strlen(f->typestr), NULL);
        arguments = Py_BuildValue("(NNN)", pointer_of(in, f), shape, dtype);
    }
    if (arguments == NULL) fault("no memory in the harness");
    function = PyObject_GetAttrString(bytes ? lend.buffer_type : lend.view_type, "from_pointer");
    made = call_with(function, arguments, options);
    Py_DECREF(function);
    return returned(made, LEND_ERROR | TYPE_ERROR | VALUE_ERROR | OVERFLOW_ERROR) ? made : NULL;
}

/* DType and its readers of the four spellings. */
static PyObject *make_dtype(input *in, unsigned argument) {
    static PyObject *record;
    const uint8_t which = next_byte(in) % 6;
    PyObject *made, *again, *name;
    char text[80];
    int same;
    if (record == NULL) record = PyUnicode_FromString("record{");
    switch (which) {
    case 0: next_text(in, text, 72); made = PyObject_CallFunction(lend.dtype, "y", text); break;
    case 1: {
        PyObject *said = next_dtype(in);
        made = said == NULL ? NULL : PyObject_CallOneArg(lend.dtype, said);
        Py_XDECREF(said);
        break;
    }
    case 2: {
        PyObject *format = next_byte(in) < 8 ? Py_NewRef(Py_None) : NULL;
        const int sized = next_byte(in) & 1;
        const int64_t size = sized ? next_number(in) : 0;
        const int length = next_text(in, text, 72);
        if (format == NULL) format = PyUnicode_DecodeLatin1(text, length, NULL);
        made = sized ? PyObject_CallMethod(lend.dtype, "from_format", "OL", format, (long long)size)
                     : PyObject_CallMethod(lend.dtype, "from_format", "O", format);
        Py_DECREF(format);
        break;
    }
    case 3: {
        const int length = next_text(in, text, 72);
        PyObject *typestr = PyUnicode_DecodeLatin1(text, length, NULL);
        made = PyObject_CallMethod(lend.dtype, "from_typestr", "O", typestr);
        Py_DECREF(typestr);
        break;
    }
    case 4:
        made = PyObject_CallMethod(lend.dtype, "from_dlpack", "LLL", (long long)next_number(in),
                                   (long long)next_number(in), (long long)next_number(in));
        break;
    default: {
        const int length = next_text(in, text, 72);
        PyObject *said = PyUnicode_DecodeLatin1(text, length, NULL);
        made = PyObject_CallOneArg(lend.dtype, said);
        Py_DECREF(said);
    }
    }
    if (!returned(made, LEND_ERROR | TYPE_ERROR | VALUE_ERROR | OVERFLOW_ERROR)) return NULL;
    /* its name is a spelling of the same type; that of a record is cut to what fits a message */
    name = PyObject_GetAttrString(made, "name");
    if (!returned(name, 0)) return NULL;
    same = PyUnicode_Find(name, record, 0, PyUnicode_GET_LENGTH(name), 1);
    if (same < 0) {
        again = PyObject_CallOneArg(lend.dtype, name);
        if (!returned(again, 0)) return NULL;
        same = PyObject_RichCompareBool(made, again, Py_EQ);
        if (same != 1 || PyObject_Hash(made) != PyObject_Hash(again)) fault("a dtype is not what its name says");
        Py_DECREF(again);
    }
    Py_DECREF(name);
    if (same < 0 || same == 1) { /* the typestr of a record is but its size */
        static const char *const spellings[3][2] = {
            {"format", "from_format"}, {"typestr", "from_typestr"}, {"dlpack", "from_dlpack"}};
        int i;
        for (i = 0; i < 3; i++) {
            PyObject *said = PyObject_GetAttrString(made, spellings[i][0]);
            if (!returned(said, LEND_ERROR)) continue;
            if (PyTuple_Check(said) && PyLong_AsLong(PyTuple_GET_ITEM(said, 1)) % 8 != 0) {
                Py_DECREF(said); /* padded or packed, a flag beside the triple says */
                continue;
            }
            name = PyObject_GetAttrString(lend.dtype, spellings[i][1]);
            again = PyTuple_Check(said) ? PyObject_CallObject(name, said) : PyObject_CallOneArg(name, said);
            if (!returned(again, 0)) fault("a spelling of lend's own is not understood");
            if (PyObject_RichCompareBool(made, again, Py_EQ) != 1) fault("a dtype is not what its spelling says");
            Py_DECREF(name);
            Py_DECREF(said);
            Py_DECREF(again);
        }
    }
    name = PyObject_Repr(made);
    if (returned(name, 0)) Py_DECREF(name);
    Py_DECREF(made);
    return NULL;
}

static long wrapped;

static void unwrapped(void *context) {
    if (context != &wrapped) fault("another context came back");
    expect_none("when wrapped memory was released");
    if (--wrapped < 0) fault("wrapped memory was released twice");
    live_structs--;
}

/* lend_wrap: what a program in C says of its memory. */
static PyObject *make_wrapped(input *in, unsigned argument) {
    lend_view view = LEND_VIEW_INIT;
    facts *f = new_facts();
    const uint8_t odd = next_odd(in), which = next_byte(in);
    PyObject *owner = NULL, *made;
    int64_t far[2 * HELD_DIMS];
    int i;
    fill_facts(f, in);
    f->mood = MOOD_NONE;
    view.data = f->data;
    view.byte_offset = f->byte_offset;
    view.device_type = f->device_type;
    view.device_id = f->device_id;
    view.ndim = f->ndim;
    view.flags = f->readonly ? LEND_READONLY : 0;
    if (f->code == 99) {
        view.dtype = lend_native(LEND_OPAQUE, 0);
        view.dtype.order = '|';
        view.dtype.itemsize = (uint32_t)f->itemsize;
    } else {
        view.dtype = lend_native(f->code, f->bits);
        view.dtype.lanes = f->lanes;
        view.dtype.itemsize = which & 8 ? (uint32_t)f->itemsize : 0;
    }
    if (f->shape != NULL) {
        int64_t *shape = f->ndim <= LEND_INLINE_DIMS ? view.dims : far;
        int64_t *strides = f->ndim <= LEND_INLINE_DIMS ? view.dims + LEND_INLINE_DIMS : far + f->held;
        for (i = 0; i < f->held; i++) {
            shape[i] = f->shape[i];
            strides[i] = f->strides != NULL ? f->strides[i] : natural_stride(f, i);
        }
        if (f->ndim > LEND_INLINE_DIMS) view.far_dims = far;
    }
    if (f->strides == NULL) view.flags |= LEND_C_CONTIGUOUS;
    if (odd == 1) view.flags = (uint32_t)next_number(in);
    if (odd == 3) view.abi = (uint32_t)next_number(in);
    if (odd == 5) view.struct_size = (uint32_t)next_number(in);
    if (odd == 7) view.dtype.code = next_byte(in), view.dtype.order = next_byte(in), view.dtype.unit = next_byte(in);
    if (odd == 9) view.dtype.bits = (uint16_t)next_number(in), view.dtype.multiplier = (uint32_t)next_number(in);
    if (which & 1) {
        owner = make_producer(NULL, 0);
        ((producer *)owner)->told = f;
    }
    made = lend_wrap(&view, owner, which & 2 || !(which & 4) ? unwrapped : NULL, &wrapped);
    Py_XDECREF(owner);
    if (!returned(made, LEND_ERROR | TYPE_ERROR | VALUE_ERROR)) return NULL;
    if (which & 2 || !(which & 4)) wrapped++, live_structs++;
    check_object(made, NULL);
    return made;
}

/* What unpickling calls, with bytes that are there and a layout that may be anything. */
static PyObject *make_pickled(input *in, unsigned argument) {
    PyObject *bytes, *made, *shape, *strides, *dtype;
    const uint8_t which = next_byte(in);
    const int length = next_byte(in);
    if (which >= 0xF8) bytes = next_object(in, 0);
    else if (which & 1) bytes = PyByteArray_FromStringAndSize(arena, length);
    else bytes = PyBytes_FromStringAndSize(arena, length);
    if (bytes == NULL) fault("no memory in the harness");
    if (which & 2) {
        made = PyObject_CallFunctionObjArgs(lend.pickled_buffer, bytes, which & 4 ? Py_True : Py_False, NULL);
        Py_DECREF(bytes);
        if (!returned(made, LEND_ERROR)) return NULL;
        return made;
    }
    shape = next_sizes(in, 70);
    strides = which & 8 ? next_sizes(in, 70) : Py_NewRef(Py_None);
    {
        PyObject *name = next_dtype(in);
        dtype = name == NULL ? NULL : PyObject_CallOneArg(lend.dtype, name);
        Py_XDECREF(name);
    }
    if (dtype == NULL || shape == NULL || strides == NULL) {
        PyErr_Clear();
        Py_XDECREF(dtype);
        Py_XDECREF(shape);
        Py_XDECREF(strides);
        Py_DECREF(bytes);
        return NULL;
    }
    made = PyObject_CallFunction(lend.pickled_view, "NN(NNN)O", bytes, dtype, shape, strides, next_integer(in),
                                 which & 4 ? Py_True : Py_False);
    if (!returned(made, LEND_ERROR | TYPE_ERROR | VALUE_ERROR | OVERFLOW_ERROR)) return NULL;
    check_object(made, NULL);
    return made;
}

/* Tensors that come by lend's own exchange table. */
static PyObject *make_by_table(input *in, unsigned argument) {
    facts *f = new_facts();
    void *made = NULL;
    DLManagedTensorVersioned *fresh = NULL;
    fill_facts(f, in);
    f->mood = f->mood == MOOD_NO_DELETER ? MOOD_NO_DELETER : MOOD_NONE;
    if (next_byte(in) < 0xC0) {
        if (lend.table->managed_tensor_to_py_object_no_sync(new_tensor(f, 1), &made) < 0) {
            refused(LEND_ERROR);
            return NULL;
        }
        expect_none("beside a View");
        check_object(made, f);
        return made;
    }
    return (PyObject *)fresh;
}

static void no_error(void *context, const char *kind, const char *message) {
    if (kind == NULL || message == NULL) fault("an allocator that says nothing");
    ++*(int *)context;
}

/* lend's allocator of tensors, asked with a wild prototype; what is large is not written to. */
static PyObject *make_allocated(input *in, unsigned argument) {
    facts *f = new_facts();
    DLManagedTensorVersioned *made = NULL;
    DLTensor prototype;
    void *view = NULL;
    int errors = 0;
    wide bytes = 1;
    int i;
    fill_facts(f, in);
    memset(&prototype, 0, sizeof(prototype));
    prototype.device.device_type = (DLDeviceType)f->device_type;
    prototype.ndim = f->ndim;
    prototype.shape = f->shape;
    prototype.dtype.code = f->code;
    prototype.dtype.bits = f->bits;
    prototype.dtype.lanes = f->lanes;
    for (i = 0; i < f->held && f->shape != NULL; i++)
        if (bytes <= INT64_MAX && f->shape[i] > 0) bytes *= f->shape[i];
    if (bytes > 1 << 16) bytes = bytes > INT64_MAX / ((wide)f->lanes * f->bits + 1) ? 0 : -1;
    if (bytes < 0) return NULL; /* it might be had */
    if (lend.table->managed_tensor_allocator(&prototype, &made, &errors, no_error) < 0) {
        if (errors != 1) fault("an allocator said %d errors", errors);
        expect_none("beside an error that was said");
        return NULL;
    }
    if (errors != 0) fault("an allocator that fails and does not");
    expect_none("beside an allocated tensor");
    check_tensor(&made->dl_tensor);
    if (lend.table->managed_tensor_to_py_object_no_sync(made, &view) < 0) {
        refused(LEND_ERROR);
        return NULL;
    }
    return view;
}

/* Anything at all. */
static PyObject *make_anything(input *in, unsigned argument) {
    PyObject *made = next_object(in, 0);
    if (made == NULL) fault("no memory in the harness");
    return made;
}

const path paths[] = {
    {"buffer", make_producer, 1u << OFFER_BUFFER},
    {"array interface", make_producer, 1u << OFFER_INTERFACE},
    {"array struct", make_producer, 1u << OFFER_STRUCT},
    {"dlpack", make_producer, 1u << OFFER_DLPACK},
    {"dlpack with a device", make_producer, 1u << OFFER_DLPACK | 1u << OFFER_DEVICE},
    {"dlpack capsule", make_capsule, 0},
    {"exchange table", make_producer, 1u << OFFER_TABLE},
    {"array method", make_producer, 1u << OFFER_ARRAY},
    {"pointer", make_producer, 1u << OFFER_POINTER | 1u << OFFER_NBYTES},
    {"pointer with a device", make_producer, 1u << OFFER_POINTER | 1u << OFFER_SIZE | 1u << OFFER_DEVICE},
    {"mixed", make_mixed, 0},
    {"named interface", make_producer, 1u << OFFER_INTERFACE | 1u << OFFER_DTYPE},
    {"cuda interface", make_producer, 1u << OFFER_CUDA},
    {"sycl interface", make_producer, 1u << OFFER_SYCL},
    {"rows", make_bytes_like, 0},
    {"view from pointer", make_from_pointer, 0},
    {"buffer from pointer", make_from_pointer, 1},
    {"dtype", make_dtype, 0},
    {"wrap", make_wrapped, 0},
    {"pickle", make_pickled, 0},
    {"to object", make_by_table, 0},
    {"allocator", make_allocated, 0},
    {"anything", make_anything, 0},
    {"named buffer", make_producer, 1u << OFFER_BUFFER | 1u << OFFER_DTYPE | 1u << OFFER_DEVICE | 1u << OFFER_CUDA},
    {"arrow", make_arrow, 0},
    {"arrow stream", make_arrow, 1},
};
const int path_count = sizeof(paths) / sizeof(*paths);
