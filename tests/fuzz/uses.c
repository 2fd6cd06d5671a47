/* What a user does with what came out: a table. `current` is the last thing that was made. */
#include "counted.h"
#include "fuzz.h"
#include "lend_take.h"

#define READING (LEND_ERROR)

static int is_view(PyObject *object) { return Py_TYPE(object) == (PyTypeObject *)lend.view_type; }

static slot *current(story *s) { return &s->held[s->current]; }

/* The facts of the current View in C; 0 if it is none, or is released. */
static int facts_of(story *s, lend_view *view) {
    const lend_view blank = LEND_VIEW_INIT;
    *view = blank;
    if (lend_borrow(current(s)->object, NULL, view) == 0) return 1;
    refused(LEND_ERROR);
    return 0;
}

static int can_read(story *s) {
    lend_view view;
    int answer;
    if (!facts_of(s, &view)) return 0;
    answer = is_readable(&view, current(s)->trusted);
    lend_release(&view);
    return answer;
}

/* Keep what came of the current object, with what is known of its memory. */
static void got(story *s, PyObject *made, unsigned allowed, int trusted) {
    if (!returned(made, allowed)) return;
    check_object(made, NULL);
    if (is_view(made) || Py_TYPE(made) == (PyTypeObject *)lend.buffer_type) keep(s, made, trusted);
    else Py_DECREF(made);
}

static void read_attribute(story *s, input *in) {
    static const char *const names[] = {
        "shape", "strides", "ndim", "size", "nbytes", "itemsize", "dtype", "device", "readonly", "aligned", "alignment",
        "c_contiguous", "f_contiguous", "exclusive", "writability_untold", "released", "ptr", "owner", "bufsize",
    };
    PyObject *object = current(s)->object;
    const char *name = names[next_byte(in) % (sizeof(names) / sizeof(*names))];
    PyObject *found = PyObject_GetAttrString(object, name);
    if (!returned(found, LEND_ERROR | (is_view(object) && name[0] == 'b' ? ATTRIBUTE_ERROR : 0)
                             | (is_view(object) ? 0 : ATTRIBUTE_ERROR)))
        return;
    Py_DECREF(found);
}

static void look(story *s, input *in) {
    const uint8_t which = next_byte(in) % 4;
    PyObject *object = current(s)->object;
    PyObject *made = which == 0   ? PyObject_Repr(object)
                     : which == 1 ? PyObject_CallMethod(object, is_view(object) ? "_repr_html_" : "__repr__", NULL)
                     : which == 2 ? PyObject_CallMethod(object, "__sizeof__", NULL)
                                  : PyObject_CallMethod(object, "_describe", NULL);
    if (returned(made, LEND_ERROR)) Py_DECREF(made);
    if (which == 3 && (made = PyObject_GetAttrString(object, "owner")) != NULL) {
        static const char *const names[] = {"producer", "producer_type", "nbytes", "ptr", "exports", "kind"};
        PyObject *found = PyObject_GetAttrString(made, names[next_byte(in) % 6]);
        if (returned(found, 0)) Py_DECREF(found);
        found = PyObject_Repr(made);
        if (returned(found, 0)) Py_DECREF(found);
        Py_DECREF(made);
    }
    PyErr_Clear();
}

static PyObject *next_index(input *in) {
    const uint8_t kind = next_byte(in);
    if (kind < 0x60) return PyLong_FromLongLong(next_number(in));
    if (kind < 0xD0) {
        PyObject *parts[3] = {NULL, NULL, NULL}, *made;
        int i;
        for (i = 0; i < 3; i++) parts[i] = kind >> i & 1 ? next_integer(in) : Py_NewRef(Py_None);
        made = PySlice_New(parts[0], parts[1], parts[2]);
        for (i = 0; i < 3; i++) Py_DECREF(parts[i]);
        return made;
    }
    if (kind < 0xE0) return Py_NewRef(Py_Ellipsis);
    if (kind < 0xF0) return Py_NewRef(Py_None);
    return next_object(in, 0);
}

static void index_it(story *s, input *in) {
    const int length = next_byte(in) % 5, trusted = current(s)->trusted;
    PyObject *index, *made;
    int i;
    if (length < 2) {
        index = next_index(in);
    } else {
        index = PyTuple_New(length);
        for (i = 0; i < length; i++) {
            PyObject *part = next_index(in);
            if (part == NULL) fault("no memory in the harness");
            PyTuple_SET_ITEM(index, i, part);
        }
    }
    made = PyObject_GetItem(current(s)->object, index);
    Py_DECREF(index);
    got(s, made, LEND_ERROR | TYPE_ERROR | VALUE_ERROR | INDEX_ERROR | KEY_ERROR | OVERFLOW_ERROR, trusted);
}

static void transpose(story *s, input *in) {
    PyObject *object = current(s)->object;
    got(s, PyObject_GetAttrString(object, is_view(object) ? "T" : "owner"), LEND_ERROR, current(s)->trusted);
}

static void reshape(story *s, input *in) {
    PyObject *shape = next_sizes(in, 70), *made;
    if (shape == NULL) fault("no memory in the harness");
    if (!is_view(current(s)->object)) {
        Py_DECREF(shape);
        return;
    }
    made = next_byte(in) & 1 && PyTuple_Check(shape)
               ? PyObject_CallMethod(current(s)->object, "reshape", "O", shape)
               : PyObject_CallMethod(current(s)->object, "reshape", "(O)", shape);
    Py_DECREF(shape);
    got(s, made, LEND_ERROR | TYPE_ERROR | VALUE_ERROR | OVERFLOW_ERROR, current(s)->trusted);
}

static void reinterpret(story *s, input *in) {
    PyObject *dtype = next_dtype(in), *made;
    if (dtype == NULL) fault("no memory in the harness");
    if (is_view(current(s)->object)) {
        made = PyObject_CallMethod(current(s)->object, "reinterpret", "(O)", dtype);
        got(s, made, LEND_ERROR | TYPE_ERROR | VALUE_ERROR, current(s)->trusted);
    }
    Py_DECREF(dtype);
}

static void take_bytes(story *s, input *in) {
    PyObject *object = current(s)->object;
    got(s, is_view(object) ? PyObject_GetAttrString(object, "buffer") : PyObject_CallOneArg(lend.buffer, object),
        LEND_ERROR, current(s)->trusted);
}

static void view_bytes(story *s, input *in) {
    const uint8_t which = next_byte(in);
    PyObject *options, *arguments, *method, *made;
    if (is_view(current(s)->object)) take_bytes(s, in);
    if (is_view(current(s)->object)) return;
    options = PyDict_New();
    if (which & 1) {
        PyObject *dtype = next_dtype(in);
        if (dtype == NULL) fault("no memory in the harness");
        PyDict_SetItemString(options, "dtype", dtype);
        Py_DECREF(dtype);
    }
    if (which & 2) {
        PyObject *shape = next_sizes(in, 70);
        PyDict_SetItemString(options, "shape", shape);
        Py_DECREF(shape);
    }
    if (which & 4) {
        PyObject *strides = next_sizes(in, 70);
        PyDict_SetItemString(options, "strides", strides);
        Py_DECREF(strides);
    }
    if (which & 8) {
        PyObject *offset = which & 0x80 ? next_object(in, 0) : PyLong_FromLongLong(next_number(in));
        PyDict_SetItemString(options, "offset", offset);
        Py_DECREF(offset);
    }
    arguments = PyTuple_New(0);
    method = PyObject_GetAttrString(current(s)->object, "view");
    made = PyObject_Call(method, arguments, options);
    Py_DECREF(method);
    Py_DECREF(arguments);
    Py_DECREF(options);
    got(s, made, LEND_ERROR | TYPE_ERROR | VALUE_ERROR | OVERFLOW_ERROR, current(s)->trusted);
}

static void shallow(story *s, input *in) {
    got(s, PyObject_CallMethod(current(s)->object, "__copy__", NULL), LEND_ERROR, current(s)->trusted);
}

static void iterate(story *s, input *in) {
    PyObject *object = current(s)->object, *iterator, *part;
    int trusted = current(s)->trusted, i;
    if (PyObject_Size(object) < 0) refused(LEND_ERROR | TYPE_ERROR | OVERFLOW_ERROR);
    if (!is_view(object)) return;
    iterator = PyObject_GetIter(object);
    if (!returned(iterator, LEND_ERROR | TYPE_ERROR)) return;
    for (i = 0; i < 3 && (part = PyIter_Next(iterator)) != NULL; i++) got(s, part, 0, trusted);
    if (PyErr_Occurred()) refused(LEND_ERROR);
    Py_DECREF(iterator);
}

/* -- values: only where the memory is there ----------------------------------------------------------------------------------- */

static int on_host(const lend_view *view) {
    return view->device_type == 1 || view->device_type == 3 || view->device_type == 11 || view->device_type == 13;
}

static void read_values(story *s, input *in) {
    const uint8_t which = next_byte(in) % 10;
    PyObject *object = current(s)->object, *made;
    lend_view view;
    if (!is_view(object) || !can_read(s)) {
        /* on a device: refused without a look at the memory; of no bytes: there is nothing to look at */
        if (!is_view(object) || !facts_of(s, &view)) return;
        lend_release(&view);
        /* of no bytes there may be lists without number */
        if (!on_host(&view)) made = PyObject_CallMethod(object, which & 1 && view.nbytes ? "tolist" : "tobytes", NULL);
        else if (view.nbytes == 0) made = PyObject_CallMethod(object, which & 1 ? "copy" : "tobytes", NULL);
        else return;
        if (returned(made, LEND_ERROR)) Py_DECREF(made);
        return;
    }
    switch (which) {
    case 0: case 1: made = PyObject_CallMethod(object, "tolist", NULL); break;
    case 2: case 3: made = PyObject_CallMethod(object, "tobytes", "s", which & 1 ? "F" : "C"); break;
    case 4: made = PyObject_CallMethod(object, "item", NULL); break;
    case 5: made = PyObject_CallMethod(object, "copy", "s", next_byte(in) & 1 ? "F" : "C"); break;
    case 6: made = PyObject_CallMethod(object, "__deepcopy__", "{}"); break;
    case 7: made = PyObject_CallMethod(object, "__reduce_ex__", "i", 4); break;
    case 8: made = PyObject_CallMethod(object, "__reduce_ex__", "i", 5); break;
    default: made = PyObject_CallMethod(object, "verify", NULL); break;
    }
    /* a long double that no float holds is refused; an int of NaN never comes up */
    if (!returned(made, LEND_ERROR | VALUE_ERROR | (which < 2 || which == 4 ? OVERFLOW_ERROR : 0))) return;
    if ((which == 2 || which == 3) && facts_of(s, &view)) {
        check_bytes(&view, made, which & 1);
        lend_release(&view);
    }
    if (which == 7 || which == 8) { /* and back again */
        PyObject *again = PyObject_CallObject(PyTuple_GET_ITEM(made, 0), PyTuple_GET_ITEM(made, 1));
        Py_DECREF(made);
        got(s, again, 0, 1);
        return;
    }
    if (which == 5 || which == 6) got(s, made, 0, 1);
    else Py_DECREF(made);
}

/* -- exports --------------------------------------------------------------------------------------------------------------------- */

static void export_buffer(story *s, input *in) {
    static const int kinds[] = {
        PyBUF_SIMPLE, PyBUF_FULL_RO, PyBUF_FULL, PyBUF_ND, PyBUF_STRIDES, PyBUF_C_CONTIGUOUS, PyBUF_F_CONTIGUOUS,
        PyBUF_ANY_CONTIGUOUS, PyBUF_RECORDS, PyBUF_RECORDS_RO, PyBUF_INDIRECT, PyBUF_WRITABLE, PyBUF_FORMAT,
        PyBUF_CONTIG, PyBUF_CONTIG_RO, PyBUF_STRIDED,
    };
    const uint8_t tag = next_byte(in);
    int flags = tag < 0xF0 ? kinds[tag & 15] : (int)next_number(in) & 0xFFFF;
    Py_buffer out;
    lend_view view;
    /* alone they mean nothing, and CPython 3.13 answers itself, with a SystemError */
    if (flags == PyBUF_READ || flags == PyBUF_WRITE) flags = PyBUF_SIMPLE;
    if (PyObject_GetBuffer(current(s)->object, &out, flags) < 0) {
        refused(BUFFER_ERROR);
        return;
    }
    expect_none("beside a Py_buffer");
    if (is_view(current(s)->object) && facts_of(s, &view)) {
        if ((uint64_t)out.len != view.nbytes) fault("len of an export is not nbytes");
        if ((flags & PyBUF_WRITABLE) && out.readonly) fault("a read-only export to somebody who writes");
        if ((view.flags & LEND_READONLY) && !out.readonly) fault("an export of read-only memory that may be written");
        if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !PyBuffer_IsContiguous(&out, 'C')) fault("an export with gaps");
        if ((flags & PyBUF_FORMAT) && out.format == NULL) fault("an export without the format that was asked for");
        if (!(flags & PyBUF_FORMAT) && out.format != NULL) fault("an export with a format that nobody asked for");
        /* values that share bytes are told as the bytes alone */
        const int packed = view.dtype.bits != 0 && view.dtype.bits < 8 && view.dtype.itemsize == 0;
        const int ndim = packed ? 1 : view.ndim;
        if ((flags & PyBUF_ND) && (out.ndim != ndim || (ndim && out.shape == NULL))) fault("ndim of an export");
        if (out.suboffsets != NULL) fault("suboffsets of an export");
        lend_release(&view);
    }
    if (s->buffer_count < 4 && tag & 0x80 && out.shape != &out.len && out.strides != &out.itemsize)
        s->buffers[s->buffer_count++] = out;
    else PyBuffer_Release(&out);
}

static PyObject *next_version(input *in) {
    const uint8_t tag = next_byte(in);
    if (tag < 0xA0) return Py_BuildValue("(ii)", 1, tag & 7);
    if (tag < 0xC0) return Py_NewRef(Py_None);
    if (tag < 0xE0) return Py_BuildValue("(NN)", next_integer(in), next_integer(in));
    return next_object(in, 0);
}

/* Take a capsule over as a consumer in C does. */
static void consume(PyObject *capsule) {
    const char *name = PyCapsule_GetName(capsule);
    if (strcmp(name, "dltensor_versioned") == 0) {
        DLManagedTensorVersioned *managed = PyCapsule_GetPointer(capsule, name);
        PyCapsule_SetName(capsule, "used_dltensor_versioned");
        check_tensor(&managed->dl_tensor);
        managed->deleter(managed);
    } else {
        DLManagedTensor *managed = PyCapsule_GetPointer(capsule, name);
        PyCapsule_SetName(capsule, "used_dltensor");
        check_tensor(&managed->dl_tensor);
        managed->deleter(managed);
    }
}

static void export_dlpack(story *s, input *in) {
    const uint8_t which = next_byte(in);
    const int trusted = current(s)->trusted;
    PyObject *options = PyDict_New(), *arguments = PyTuple_New(0), *method, *capsule;
    int fresh = trusted;
    if (which & 1 || which == 0) {
        PyObject *version = next_version(in);
        if (version == NULL) fault("no memory in the harness");
        PyDict_SetItemString(options, "max_version", version);
        Py_DECREF(version);
    }
    if (which & 2) {
        const uint8_t tag = next_byte(in);
        PyObject *copy = tag < 0x80 ? Py_NewRef(Py_False) : tag < 0xF0 ? Py_NewRef(Py_True) : next_object(in, 0);
        if (copy == Py_True && !(is_view(current(s)->object) && can_read(s))) Py_SETREF(copy, Py_NewRef(Py_None));
        fresh |= copy == Py_True;
        PyDict_SetItemString(options, "copy", copy);
        Py_DECREF(copy);
    }
    if (which & 4) {
        PyObject *device = next_byte(in) < 0xC0 ? Py_BuildValue("(LL)", (long long)next_number(in) & 15,
                                                                 (long long)next_number(in))
                                                : next_object(in, 0);
        if (device == NULL) fault("no memory in the harness");
        PyDict_SetItemString(options, "dl_device", device);
        Py_DECREF(device);
    }
    if (which & 8) {
        PyObject *stream = next_object(in, 0);
        if (stream == NULL) fault("no memory in the harness");
        PyDict_SetItemString(options, "stream", stream);
        Py_DECREF(stream);
    }
    method = PyObject_GetAttrString(current(s)->object, "__dlpack__");
    capsule = PyObject_Call(method, arguments, options);
    Py_DECREF(method);
    Py_DECREF(arguments);
    Py_DECREF(options);
    if (!returned(capsule, LEND_ERROR | TYPE_ERROR | VALUE_ERROR)) return;
    if (!PyCapsule_CheckExact(capsule)) fault("__dlpack__ gave something else than a capsule");
    if (which & 16) {
        consume(capsule);
    } else if (which & 32) {
        /* lend's own tensors can be read by lend */
        PyObject *made = PyObject_CallOneArg(lend.view, capsule);
        if (returned(made, 0)) got(s, made, 0, fresh);
    }
    Py_DECREF(capsule);
}

static void export_table(story *s, input *in) {
    const int trusted = current(s)->trusted;
    DLManagedTensorVersioned *managed = NULL;
    void *made = NULL;
    if (lend.table->managed_tensor_from_py_object_no_sync(current(s)->object, &managed) < 0) {
        refused(LEND_ERROR);
        return;
    }
    expect_none("beside a tensor");
    check_tensor(&managed->dl_tensor);
    if (next_byte(in) & 1) {
        managed->deleter(managed);
        return;
    }
    if (lend.table->managed_tensor_to_py_object_no_sync(managed, &made) < 0) {
        refused(0); /* but where an allocation failed */
        return;
    }
    got(s, made, 0, trusted);
}

/* The array interfaces, and what lend reads out of its own. */
static void export_interface(story *s, input *in) {
    static PyObject *holder;
    const uint8_t which = next_byte(in);
    const int trusted = current(s)->trusted;
    const char *name = which & 1 ? "__array_struct__" : "__array_interface__";
    PyObject *told = PyObject_GetAttrString(current(s)->object, name), *worn, *made;
    if (!returned(told, LEND_ERROR | ATTRIBUTE_ERROR)) return;
    if (which & 2) {
        if (holder == NULL) {
            PyObject *space = PyDict_New();
            PyObject *done = PyRun_String("class Holder: pass\n", Py_file_input, PyEval_GetBuiltins(), space);
            if (done == NULL) fault("the harness's own class");
            Py_DECREF(done);
            holder = Py_NewRef(PyDict_GetItemString(space, "Holder"));
            Py_DECREF(space);
        }
        worn = PyObject_CallNoArgs(holder);
        if (worn == NULL || PyObject_SetAttrString(worn, name, told) < 0
            || PyObject_SetAttrString(worn, "keeps", current(s)->object) < 0)
            fault("no memory in the harness");
        made = PyObject_CallOneArg(lend.view, worn);
        Py_DECREF(worn);
        if (!returned(made, LEND_ERROR)) made = NULL;
        else got(s, made, 0, trusted);
    }
    Py_DECREF(told);
}

static void call_plain(story *s, input *in) {
    PyObject *made = PyObject_CallMethod(current(s)->object, "__dlpack_device__", NULL);
    if (returned(made, LEND_ERROR)) Py_DECREF(made);
    if ((next_byte(in) & 15) == 15) {
        made = PyObject_CallFunction(lend.to, "Os", current(s)->object, "memoryview");
        /* an empty format, a shape that memoryview does not like: its own refusals come as ours */
        if (returned(made, LEND_ERROR)) Py_DECREF(made);
    }
}

static void take_again(story *s, input *in) {
    const int trusted = current(s)->trusted;
    lend_view view = LEND_VIEW_INIT;
    lend_request request;
    const uint8_t how = next_byte(in) % 4;
    int result;
    if (how == 0) {
        got(s, PyObject_CallOneArg(lend.view, current(s)->object), LEND_ERROR, trusted);
        return;
    }
    next_request(in, &request);
    if (!is_view(current(s)->object) || !can_read(s))
        request.flags &= ~(uint32_t)(LEND_COPY | LEND_COPY_IF_NEEDED);
    if (request.align > 1 << 16) request.align &= 0xFFFF;
    result = how == 1   ? lend_acquire(current(s)->object, &request, &view)
             : how == 2 ? lend_borrow(current(s)->object, &request, &view)
                        : lend_take(current(s)->object, &request, &view);
    if (result < 0) {
        refused(LEND_ERROR | BUFFER_ERROR | VALUE_ERROR | TYPE_ERROR);
        return;
    }
    expect_none("beside a lend_view");
    check_view(&view, NULL);
    if (lend_host_access(&view) < 0) refused(LEND_ERROR);
    if (how == 2 || s->lease_count == 4) lend_release(&view);
    else s->leases[s->lease_count++] = view;
}

static void release(story *s, input *in) {
    PyObject *made = PyObject_CallMethod(current(s)->object, "release", NULL), *released;
    if (!returned(made, LEND_ERROR)) return; /* an export is open */
    Py_DECREF(made);
    released = PyObject_GetAttrString(current(s)->object, "released");
    if (released != Py_True) fault("released, and not released");
    Py_DECREF(released);
    made = PyObject_GetAttrString(current(s)->object, "nbytes");
    if (made != NULL) fault("a released object has nbytes");
    refused(LEND_ERROR);
}

static void drop(story *s, input *in) {
    const int at = next_byte(in) % SLOTS;
    if (at != s->current) Py_CLEAR(s->held[at].object);
}

static void turn(story *s, input *in) {
    const int at = next_byte(in) % SLOTS;
    if (s->held[at].object != NULL) s->current = at;
}

static void give_back(story *s, input *in) {
    if (s->lease_count > 0) lend_release(&s->leases[--s->lease_count]);
    else if (s->buffer_count > 0) PyBuffer_Release(&s->buffers[--s->buffer_count]);
}

static const struct {
    const char *name;
    void (*use)(story *s, input *in);
} uses[] = {
    {"read_attribute", read_attribute}, {"look", look}, {"index", index_it}, {"transpose", transpose},
    {"reshape", reshape}, {"reinterpret", reinterpret}, {"take_bytes", take_bytes}, {"view_bytes", view_bytes},
    {"copy", shallow}, {"iterate", iterate}, {"values", read_values}, {"values", read_values},
    {"buffer", export_buffer}, {"dlpack", export_dlpack}, {"table", export_table}, {"interface", export_interface},
    {"plain", call_plain}, {"again", take_again}, {"release", release}, {"drop", drop}, {"turn", turn},
    {"give_back", give_back}, {"values", read_values}, {"index", index_it},
};
#define USES ((int)(sizeof(uses) / sizeof(*uses)))
const int use_count = USES;

const char *use_name(int at) { return at < USES ? uses[at].name : NULL; }

void use(story *s, input *in) {
    int at;
    if (s->held[s->current].object == NULL) return;
    at = next_byte(in) % USES;
    say(" %s of %d\n", uses[at].name, s->current);
    uses[at].use(s, in);
}
