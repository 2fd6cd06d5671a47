/* Bytes of an input as numbers, texts and objects. */
#include "fuzz.h"

uint8_t next_byte(input *in) { return in->at < in->end ? *in->at++ : 0; }

/* Numbers at which arithmetic goes wrong. */
static const int64_t limits[32] = {
    255,         256,          4095,          4096,          4097,          65535,          65536,     0x7FFFFFFF,
    0x80000000,  0xFFFFFFFF,   0x100000000,   0x100000001,   1LL << 40,     1LL << 46,      1LL << 47, 1LL << 60,
    1LL << 61,   (1LL << 62) - 1, 1LL << 62,  (1LL << 62) + 1, INT64_MAX,   INT64_MIN,      INT64_MIN + 1, -(1LL << 62),
    -(1LL << 62) - 1, -(1LL << 61), -(1LL << 32), -(1LL << 31), -4096,      -(1LL << 47),   -65536,    1LL << 31,
};

int64_t next_number(input *in) {
    const uint8_t tag = next_byte(in);
    uint64_t raw = 0;
    int bytes, i;
    if (tag < 0x80) return tag;
    if (tag < 0xC0) return 0x7F - (int64_t)tag;
    if (tag < 0xE0) return limits[tag - 0xC0];
    bytes = (tag & 7) + 1;
    for (i = 0; i < bytes; i++) raw |= (uint64_t)next_byte(in) << (8 * i);
    if (bytes < 8 && (tag & 8)) raw |= ~(uint64_t)0 << (8 * bytes);
    return (int64_t)raw;
}

uint8_t next_odd(input *in) {
    const uint8_t tag = next_byte(in);
    return tag < 0xE0 ? 0 : (uint8_t)(tag - 0xE0 + (tag == 0xE0));
}

int next_text(input *in, char *to, int room) {
    int length = next_byte(in), i;
    if (length >= room) length %= room;
    for (i = 0; i < length; i++) to[i] = (char)next_byte(in);
    to[length] = 0;
    return length;
}

PyObject *next_integer(input *in) {
    PyObject *number = PyLong_FromLongLong(next_number(in));
    const uint8_t odd = next_odd(in);
    PyObject *shift, *shifted;
    if (odd == 0 || number == NULL) return number;
    if ((shift = PyLong_FromLong(odd * 7)) == NULL) fault("no memory in the harness");
    shifted = PyNumber_Lshift(number, shift);
    Py_DECREF(number);
    Py_DECREF(shift);
    return shifted;
}

/* -- objects that are not what they seem ------------------------------------------------------------------------------ */

static PyObject *strange[8];
int strange_made, objects_told;

static const char strange_source[] =
    "class Index:\n"
    "    def __init__(self, number): self.number = number\n"
    "    def __index__(self): return self.number\n"
    "class Raising:\n"
    "    def __index__(self): raise RuntimeError('no index')\n"
    "    def __bool__(self): raise RuntimeError('no bool')\n"
    "    def __repr__(self): raise RuntimeError('no repr')\n"
    "    def __iter__(self): raise RuntimeError('no iter')\n"
    "class Text(str):\n"
    "    def __eq__(self, other): raise RuntimeError('no eq')\n"
    "    __hash__ = str.__hash__\n"
    "class Whole(int):\n"
    "    def __index__(self): return 7\n"
    "    def __lt__(self, other): raise RuntimeError('no lt')\n"
    "class Named:\n"
    "    def __init__(self, name): self.name = self.str = name\n"
    "strange = [Index, Raising, Text, Whole, Named]\n";

static void make_classes(void) {
    PyObject *names = PyDict_New();
    PyObject *done = names == NULL ? NULL : PyRun_String(strange_source, Py_file_input, names, names);
    int i;
    if (done == NULL) fault("the harness's own classes");
    Py_DECREF(done);
    for (i = 0; i < 5; i++) strange[i] = Py_NewRef(PyList_GetItem(PyDict_GetItemString(names, "strange"), i));
    Py_DECREF(names);
}

PyObject *named(const char *name) {
    if (strange[0] == NULL) make_classes();
    return PyObject_CallFunction(strange[4], "s", name);
}

static PyObject *make_strange(int which, input *in) {
    PyObject *argument, *made;
    char text[40];
    if (strange[0] == NULL) make_classes();
    strange_made = 1;
    if (which == 1) return PyObject_CallNoArgs(strange[1]);
    if (which == 0 || which == 3) {
        argument = next_integer(in);
    } else {
        const int length = next_text(in, text, sizeof(text));
        argument = PyUnicode_DecodeLatin1(text, length, NULL);
    }
    if (argument == NULL) return NULL;
    made = PyObject_CallOneArg(strange[which], argument);
    Py_DECREF(argument);
    return made;
}

static PyObject *make_sequence(input *in, int depth, int as_list) {
    const int length = next_byte(in) % 6;
    PyObject *made = PyTuple_New(length), *listed;
    int i;
    for (i = 0; i < length; i++) {
        PyObject *item = depth > 2 ? next_integer(in) : next_object(in, depth + 1);
        if (item == NULL) fault("no memory in the harness");
        PyTuple_SET_ITEM(made, i, item);
    }
    if (!as_list) return made;
    listed = PySequence_List(made);
    Py_DECREF(made);
    return listed;
}

PyObject *next_object(input *in, int depth) {
    const uint8_t kind = next_byte(in) % 18;
    char text[64];
    int length;
    switch (kind) {
    case 0: return Py_NewRef(Py_None);
    case 1: return Py_NewRef(next_byte(in) & 1 ? Py_True : Py_False);
    case 2: case 3: case 4: return next_integer(in);
    case 5: return PyFloat_FromDouble((double)next_number(in) / 2);
    case 6: case 7: length = next_text(in, text, sizeof(text)); return PyUnicode_DecodeLatin1(text, length, NULL);
    case 8: length = next_text(in, text, sizeof(text)); return PyBytes_FromStringAndSize(text, length);
    case 9: length = next_text(in, text, sizeof(text)); return PyByteArray_FromStringAndSize(text, length);
    case 10: case 11: return make_sequence(in, depth, 0);
    case 12: return make_sequence(in, depth, 1);
    case 13: return PyDict_New();
    case 14: return Py_NewRef(Py_Ellipsis);
    default: return make_strange(kind == 15 ? next_byte(in) % 4 : kind == 16 ? 4 : 1, in);
    }
}

PyObject *next_sizes(input *in, int most) {
    const uint8_t kind = next_byte(in);
    const int length = kind < 0xC0 ? kind % 5 : kind < 0xE0 ? (kind - 0xC0) * most / 31 : 0;
    PyObject *made;
    int i;
    if (kind >= 0xF8) return next_object(in, 0);
    if (kind >= 0xE0) return next_integer(in);
    if ((made = PyTuple_New(length)) == NULL) fault("no memory in the harness");
    for (i = 0; i < length; i++) PyTuple_SET_ITEM(made, i, PyLong_FromLongLong(next_number(in)));
    return made;
}

PyObject *next_dtype(input *in) {
    static const char *const names[] = {
        "uint8",   "int8",  "bool",    "int16", "float32", "float64", "<i4",     ">i4",       ">f8",     "complex64",
        "int64",   "|V7",   "V0",      "<M8[ns]", "timedelta64[25s]", "opaque[3]", "opaque[0]", "float32x4", "bfloat16",
        "int128",  "longdouble", "clongdouble", "handle", "uint8x65535", "<U3", "|S5", "float8_e4m3fn", "O", "int4", "",
        "datetime64", "|V4294967295",
    };
    const uint8_t kind = next_byte(in);
    char text[64];
    int length;
    objects_told = 1; /* for all that is known of it */
    if (kind < 0xC0) return PyUnicode_FromString(names[kind % (sizeof(names) / sizeof(*names))]);
    if (kind < 0xE8) {
        length = next_text(in, text, sizeof(text));
        return PyUnicode_DecodeLatin1(text, length, NULL);
    }
    return next_object(in, 0);
}

void next_request(input *in, lend_request *request) {
    const lend_request any = LEND_REQUEST_INIT;
    const uint8_t which = next_byte(in);
    *request = any;
    if (which & 1) request->flags = (uint32_t)next_byte(in) << 8 | next_odd(in);
    if (which & 2) request->ndim = (int32_t)next_number(in);
    if (which & 4) request->align = which & 0x80 ? (uint32_t)next_number(in) : 1u << (next_byte(in) % 8);
    if (which & 8) {
        const uint8_t bits = next_byte(in);
        request->dtype = lend_native(bits & 7, 8 << ((bits >> 3) & 3));
        if (bits & 0x20) request->dtype.order = next_byte(in);
        if (bits & 0x40) request->dtype.lanes = (uint16_t)next_number(in);
        if (bits & 0x80) {
            request->dtype.code = next_byte(in);
            request->dtype.bits = (uint16_t)next_number(in);
            request->dtype.unit = next_byte(in);
            request->dtype.itemsize = (uint32_t)next_number(in);
            request->dtype.multiplier = (uint32_t)next_number(in);
        }
    }
    if (which & 16) {
        request->device_type = (int32_t)next_number(in);
        request->device_id = (int32_t)next_number(in);
    }
    if (which & 32) request->stream = (void *)(uintptr_t)next_number(in);
    if (which & 64) request->struct_size = which & 0x80 ? (uint32_t)next_number(in) : request->struct_size;
}
