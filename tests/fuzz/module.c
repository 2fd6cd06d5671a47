/* lend_fuzz: the harness as a module of Python. `run` takes one input, `mutate` makes its own, `fuzz` is libFuzzer's. */
#include "fuzz.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

long lend_fuzz_blocks, lend_fuzz_fail_in, lend_fuzz_failed;

/* What lend's modules allocate by, where they are compiled with counted.h. */
#undef malloc
#undef calloc
#undef free
__attribute__((visibility("default"))) void *lend_fuzz_malloc(size_t size);
__attribute__((visibility("default"))) void *lend_fuzz_calloc(size_t count, size_t size);
__attribute__((visibility("default"))) void lend_fuzz_free(void *block);

static int fails(void) {
    if (lend_fuzz_fail_in == 0 || --lend_fuzz_fail_in != 0) return 0;
    lend_fuzz_failed = 1;
    return 1;
}

void *lend_fuzz_malloc(size_t size) {
    void *block = fails() || size > (size_t)1 << 28 ? NULL : malloc(size);
    if (block != NULL) __atomic_add_fetch(&lend_fuzz_blocks, 1, __ATOMIC_RELAXED);
    else lend_fuzz_failed = 1;
    return block;
}

void *lend_fuzz_calloc(size_t count, size_t size) {
    void *block = fails() ? NULL : calloc(count, size);
    if (block != NULL) __atomic_add_fetch(&lend_fuzz_blocks, 1, __ATOMIC_RELAXED);
    return block;
}

void lend_fuzz_free(void *block) {
    if (block != NULL) __atomic_add_fetch(&lend_fuzz_blocks, -1, __ATOMIC_RELAXED);
    free(block);
}

/* -- one input --------------------------------------------------------------------------------------------------------------- */

static long executions;
long taken;

/* The path that an input chooses: of those whose name begins as LEND_FUZZ_ONLY says, where that is set. */
static const path *chosen(uint8_t which) {
    static int first = -1, count;
    if (first < 0) {
        const char *only = getenv("LEND_FUZZ_ONLY");
        first = 0;
        count = path_count;
        if (only != NULL) {
            while (first < path_count && strncmp(paths[first].name, only, strlen(only)) != 0) first++;
            for (count = 0; first + count < path_count; count++)
                if (strncmp(paths[first + count].name, only, strlen(only)) != 0) break;
            if (count == 0) fault("no path begins with %s", only);
        }
    }
    return &paths[first + which % count];
}

void run_input(const uint8_t *data, size_t size) {
    input in = {data, data + size};
    story s;
    const path *p;
    uint8_t odd;
    int i;
    memset(&s, 0, sizeof(s));
    raised_by_producers = lend_fuzz_failed = lend_fuzz_fail_in = strange_made = objects_told = 0;
    executions++;
    p = chosen(next_byte(&in));
    odd = next_odd(&in);
    say("-- %s%s%s%s%s\n", p->name, (odd & 17) == 17 ? ", first of its type" : "", odd & 2 ? ", an allocation fails" : "",
        odd & 4 ? ", the producer goes early" : "", odd & 8 ? ", first things go first" : "");
    if ((odd & 17) == 17) {
        PyObject *done = PyObject_CallNoArgs(lend.forget);
        if (done == NULL) fault("forget");
        Py_DECREF(done);
    }
    s.made = p->make(&in, p->argument);
    if (s.made != NULL) {
        expect_none("when a path was done");
        if (odd & 2) lend_fuzz_fail_in = 1 + (next_byte(&in) & 15);
        if (PyObject_TypeCheck(s.made, (PyTypeObject *)lend.view_type)
            || PyObject_TypeCheck(s.made, (PyTypeObject *)lend.buffer_type))
            keep(&s, Py_NewRef(s.made), 0);
        take(&s, &in);
        expect_none("when all was taken");
        if (s.held[s.current].object != NULL) taken++;
        if (odd & 4) Py_CLEAR(s.made); /* the memory must stay */
        for (i = 0; i < 10 && in.at < in.end; i++) {
            use(&s, &in);
            expect_none("when something was used");
        }
    }
    lend_fuzz_fail_in = 0;
    Py_CLEAR(s.made);
    if (odd & 8)
        for (i = 0; i < SLOTS; i++) Py_CLEAR(s.held[i].object);
    while (s.buffer_count > 0) PyBuffer_Release(&s.buffers[--s.buffer_count]);
    while (s.lease_count > 0) lend_release(&s.leases[--s.lease_count]);
    for (i = SLOTS - 1; i >= 0; i--) Py_CLEAR(s.held[i].object);
    expect_none("when all was dropped");
    check_leftovers();
    drop_tensors();
    forget_facts();
}

/* Blocks of Python's that stay, input after input, are a leak; but for those of record types, which stay by design: their
 * number is limited by the bits of a packed dtype. */
#define LOOK_EVERY (1 << 18)
#define BLOCKS_OF_A_RECORD 1000

static long record_types(void) {
    PyObject *module = PyImport_ImportModule("lend.dtypes.records");
    PyObject *table = module == NULL ? NULL : PyObject_GetAttrString(module, "_TYPES");
    const Py_ssize_t count = table == NULL ? -1 : PyObject_Size(table);
    if (count < 0) fault("lend.dtypes.records has no table of types");
    Py_DECREF(table);
    Py_DECREF(module);
    return (long)count;
}

static long allocated_blocks(void) {
    static PyObject *ask;
    PyObject *answer = NULL;
    long blocks = -1;
    if (ask == NULL) ask = Py_XNewRef(PySys_GetObject("getallocatedblocks"));
    if (ask != NULL) answer = PyObject_CallNoArgs(ask);
    if (answer != NULL) blocks = PyLong_AsLong(answer);
    Py_XDECREF(answer);
    PyErr_Clear();
    return blocks;
}

static void look_at_memory(void) {
    static long first = -1, types;
    long now;
    if (executions % 4096 == 0) { /* the collector is off otherwise, for speed, and does nothing while it is */
        PyGC_Enable();
        PyGC_Collect();
        PyGC_Disable();
    }
    if (executions % LOOK_EVERY != 0) return;
    now = allocated_blocks();
    if (first < 0) {
        first = now;
        types = record_types();
    }
    if (now > first + 200000 && now > first + 200000 + BLOCKS_OF_A_RECORD * (record_types() - types))
        fault("Python's blocks grew from %ld to %ld in %ld inputs", first, now, executions);
}

#ifdef LEND_FUZZ_LIBFUZZER
extern int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));

static int one_input(const uint8_t *data, size_t size) {
    run_input(data, size);
    look_at_memory();
    return 0;
}

static PyObject *fuzz(PyObject *module, PyObject *words) {
    int argc = (int)PyList_Size(words), i;
    char **argv = calloc((size_t)argc + 1, sizeof(char *));
    for (i = 0; i < argc; i++) argv[i] = strdup(PyUnicode_AsUTF8(PyList_GetItem(words, i)));
    return PyLong_FromLong(LLVMFuzzerRunDriver(&argc, &argv, one_input));
}
#endif

/* -- mutations of our own, for where there is no libFuzzer ---------------------------------------------------------------------- */

#define LONGEST 512
static uint8_t now[LONGEST];
static size_t now_size;
static char crash_path[1024];

static void crashed(int signal_number) {
    const int file = open(crash_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file >= 0) {
        if (write(file, now, now_size) < 0) _exit(98);
        close(file);
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static uint64_t state;

static uint32_t random_below(uint32_t limit) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 16) % limit);
}

static void change(void) {
    const size_t at = now_size == 0 ? 0 : random_below((uint32_t)now_size);
    switch (random_below(7)) {
    case 0: case 1: if (now_size) now[at] = (uint8_t)random_below(256); break;
    case 2: if (now_size) now[at] ^= (uint8_t)(1u << random_below(8)); break;
    case 3:
        if (now_size < LONGEST) {
            memmove(now + at + 1, now + at, now_size - at);
            now[at] = (uint8_t)random_below(256);
            now_size++;
        }
        break;
    case 4:
        if (now_size) memmove(now + at, now + at + 1, --now_size - at);
        break;
    case 5: if (now_size) now[at] = (uint8_t)(now[at] + random_below(9) - 4); break;
    default:
        while (now_size < LONGEST && random_below(8) != 0) now[now_size++] = (uint8_t)random_below(256);
    }
}

/* mutate(seeds, runs, seconds, start, path): inputs made of a list of seeds; the one that crashes is left in the file. */
static PyObject *mutate(PyObject *module, PyObject *args) {
    PyObject *seeds;
    const char *path_text;
    long runs, done;
    double seconds;
    unsigned long long start;
    const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP};
    struct timespec begin, at;
    size_t i;
    if (!PyArg_ParseTuple(args, "O!ldKs", &PyList_Type, &seeds, &runs, &seconds, &start, &path_text)) return NULL;
    snprintf(crash_path, sizeof(crash_path), "%s", path_text);
    for (i = 0; i < sizeof(signals) / sizeof(*signals); i++) signal(signals[i], crashed);
    state = start * 0x9E3779B97F4A7C15u + 0x2545F4914F6CDD1Du;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (done = 0; done < runs; done++) {
        PyObject *seed = PyList_GetItem(seeds, random_below((uint32_t)PyList_Size(seeds)));
        int changes = 1 + (int)random_below(8);
        now_size = (size_t)PyBytes_GET_SIZE(seed);
        if (now_size > LONGEST) now_size = LONGEST;
        memcpy(now, PyBytes_AS_STRING(seed), now_size);
        while (changes-- > 0) change();
        run_input(now, now_size);
        look_at_memory();
        if (done % 256 == 0) {
            clock_gettime(CLOCK_MONOTONIC, &at);
            if ((double)(at.tv_sec - begin.tv_sec) + 1e-9 * (double)(at.tv_nsec - begin.tv_nsec) > seconds) break;
            if (PyErr_CheckSignals() < 0) return NULL;
        }
    }
    for (i = 0; i < sizeof(signals) / sizeof(*signals); i++) signal(signals[i], SIG_DFL);
    return PyLong_FromLong(done);
}

static PyObject *run(PyObject *module, PyObject *data) {
    char *bytes;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(data, &bytes, &size) < 0) return NULL;
    run_input((const uint8_t *)bytes, (size_t)size);
    Py_RETURN_NONE;
}

static PyObject *counts(PyObject *module, PyObject *none) { return Py_BuildValue("(ll)", executions, taken); }

/* What nobody hears is a fault too: an exception in a release, in a deleter. */
static PyObject *unheard(PyObject *module, PyObject *told) {
    PyObject *value = PyObject_GetAttrString(told, "exc_value");
    fprintf(stderr, "\n== FAULT: an exception that nobody could be told of\n");
    if (value != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(value), value);
        PyErr_Print();
    }
    abort();
}

static PyMethodDef methods[] = {
    {"run", run, METH_O, "Run one input."},
    {"mutate", mutate, METH_VARARGS, "Run inputs made of seeds."},
    {"counts", counts, METH_NOARGS, "How many inputs were run, and how many gave something."},
    {"unheard", unheard, METH_O, "sys.unraisablehook"},
#ifdef LEND_FUZZ_LIBFUZZER
    {"fuzz", fuzz, METH_O, "Run libFuzzer with these words of a command line."},
#endif
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "lend_fuzz", NULL, -1, methods, NULL, NULL, NULL, NULL};

const char *taker_name(int at);
const char *use_name(int at);

static int add_names(PyObject *module, const char *what, int count, const char *(*name)(int)) {
    PyObject *names = PyList_New(0);
    int i;
    for (i = 0; i < count; i++) {
        PyObject *one = PyUnicode_FromString(name(i));
        PyList_Append(names, one);
        Py_DECREF(one);
    }
    return PyModule_AddObject(module, what, names);
}

static const char *path_name(int at) { return paths[at].name; }

PyMODINIT_FUNC PyInit_lend_fuzz(void) {
    PyObject *module = PyModule_Create(&definition), *hook;
    if (module == NULL || start_facts() < 0 || start_producers(module) < 0 || start_known() < 0) return NULL;
    if (add_names(module, "paths", path_count, path_name) < 0 || add_names(module, "takers", taker_count, taker_name) < 0
        || add_names(module, "uses", use_count, use_name) < 0)
        return NULL;
    PyGC_Disable();
    hook = PyObject_GetAttrString(module, "unheard");
    if (hook == NULL || PySys_SetObject("unraisablehook", hook) < 0) return NULL;
    Py_DECREF(hook);
    return module;
}
