/* Arrow's structs as a hostile producer fills them: types and arrays that are counted, with something wrong in them.
 *
 * Nobody can see that a buffer is shorter than its array says, so each that is there is as long as what is told means,
 * to the byte; what would take more than ROOM bytes is NULL. Each struct that lend was given is released once.
 */
#include <stdio.h>

#include "fuzz.h"

struct schema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct schema **children;
    struct schema *dictionary;
    void (*release)(struct schema *);
    void *private_data;
};

struct array {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct array **children;
    struct array *dictionary;
    void (*release)(struct array *);
    void *private_data;
};

struct stream {
    int (*get_schema)(struct stream *, struct schema *);
    int (*get_next)(struct stream *, struct array *);
    const char *(*get_last_error)(struct stream *);
    void (*release)(struct stream *);
    void *private_data;
};

#define ROOM (1 << 16)
#define KIDS 4
#define PLACES 8
#define PARTS 3
#define OWN (1u << 8)

long live_arrow;

/* -- what a type means ---------------------------------------------------------------------------------------------------- */

enum { UNKNOWN, NOTHING, BITS, FIXED, TEXT, VIEWS, LIST, LIST_VIEW, FIXED_LIST, STRUCT, SPARSE, DENSE, RUNS };

typedef struct plan { /* a type as it is told; the arrays of it are made by what it means */
    char format[40], name[24], metadata[200];
    int has_metadata, kind, children, odd;
    int64_t width, flags;
    struct plan *child[KIDS], *dictionary;
} plan;

static const char *const formats[] = {
    "l", "i", "u", "U", "+s", "+l", "b", "vu", "+L", "+vl", "+vL", "+w:2", "+m", "+r", "+ud:0,1", "+us:0,1", "n", "c", "C",
    "s", "S", "I", "L", "e", "f", "g", "z", "Z", "vz", "w:3", "d:9,2", "d:9,2,32", "tdD", "tdm", "tts", "ttn", "tsn:UTC",
    "tss:", "tDu", "tiM", "tiD", "tin", "+us:5,3", "+ud:", "w:0", "+w:0", "d:9,2,256", "tsu:Mars/Olympus", "w:2147483647",
    "+w:99999999999", "d:99,2", "", "l ", "+", "+x", "w:-1", "+us:0,0", "+ud:127,128", "ts", "tsn", "d:", "d:9,2,7", "uu", "-",
};
#define FORMATS ((int)(sizeof(formats) / sizeof(*formats)))

static void understand(plan *p) {
    static const char one[] = "cCbsSeilILfg", fixed[] = "cC sSe iIf lLg";
    const char *f = p->format, *at = strchr(fixed, f[0]);
    long long number = 0, bits = 128;
    int end = 0;
    p->kind = UNKNOWN;
    p->width = 0;
    if (f[0] == 0) return;
    if (f[1] == 0 && strchr(one, f[0]) != NULL && at != NULL && f[0] != ' ') {
        static const int widths[] = {1, 1, 0, 2, 2, 2, 0, 4, 4, 4, 0, 8, 8, 8};
        p->kind = FIXED, p->width = widths[at - fixed];
    } else if (strcmp(f, "b") == 0) p->kind = BITS;
    else if (strcmp(f, "n") == 0) p->kind = NOTHING;
    else if (f[1] == 0 && strchr("uz", f[0])) p->kind = TEXT, p->width = 4;
    else if (f[1] == 0 && strchr("UZ", f[0])) p->kind = TEXT, p->width = 8;
    else if (strcmp(f, "vu") == 0 || strcmp(f, "vz") == 0) p->kind = VIEWS, p->width = 16;
    else if (strcmp(f, "+s") == 0) p->kind = STRUCT;
    else if (strcmp(f, "+r") == 0) p->kind = RUNS;
    else if (strcmp(f, "+l") == 0 || strcmp(f, "+m") == 0) p->kind = LIST, p->width = 4;
    else if (strcmp(f, "+L") == 0) p->kind = LIST, p->width = 8;
    else if (strcmp(f, "+vl") == 0) p->kind = LIST_VIEW, p->width = 4;
    else if (strcmp(f, "+vL") == 0) p->kind = LIST_VIEW, p->width = 8;
    else if (sscanf(f, "+w:%lld%n", &number, &end) == 1 && f[end] == 0) p->kind = FIXED_LIST, p->width = number;
    else if (sscanf(f, "w:%lld%n", &number, &end) == 1 && f[end] == 0) p->kind = FIXED, p->width = number;
    else if (f[0] == 'd') {
        const char *second = strchr(f, ',');
        if (second != NULL && (second = strchr(second + 1, ',')) != NULL) bits = strtoll(second + 1, NULL, 10);
        p->kind = FIXED, p->width = bits / 8;
    } else if (strncmp(f, "+us", 3) == 0) p->kind = SPARSE;
    else if (strncmp(f, "+ud", 3) == 0) p->kind = DENSE;
    else if (f[0] == 't' && f[1] != 0)
        p->kind = FIXED, p->width = strcmp(f, "tdD") && strcmp(f, "tts") && strcmp(f, "ttm") && strcmp(f, "tiM") ? 8 : 4;
    if (strcmp(f, "tin") == 0) p->width = 16;
    if (p->width < 0) p->kind = UNKNOWN;
}

static plan plans[64];
static int planned;

/* A blob with true sizes, or one that says at once that it is none: it has no length by which it could be judged. */
static void make_metadata(plan *p, input *in) {
    static const char *const words[] = {
        "key", "ARROW:extension:name", "ARROW:extension:metadata", "pandas.dtype", "pandas", "lend.masked", "arrow.bool8",
        "arrow.json", "pandas.period", "{\"freq\": \"D\"}", "arrow.uuid", "{}", "arrow.fixed_shape_tensor", "\xff\xfe", "",
    };
    const uint8_t odd = next_odd(in);
    int32_t pairs = next_byte(in) % 4, size;
    int i, at = 4;
    p->has_metadata = 1;
    if (odd & 1) pairs = odd & 2 ? -pairs - 1 : (1 << 20) + 1 + pairs;
    memcpy(p->metadata, &pairs, 4);
    for (i = 0; pairs <= 4 && i < 2 * pairs; i++) {
        const char *word = words[next_byte(in) % (sizeof(words) / sizeof(*words))];
        size = (odd & 4) && i == (odd >> 3) ? -1 - next_byte(in) : (int32_t)strlen(word);
        memcpy(p->metadata + at, &size, 4);
        at += 4;
        if (size < 0) return;
        memcpy(p->metadata + at, word, size);
        at += size;
    }
}

static plan *make_plan(input *in, int depth, int table) {
    plan *p = &plans[planned++];
    const uint8_t which = next_byte(in);
    int i, natural;
    memset(p, 0, sizeof(*p));
    p->flags = next_byte(in) & 1 ? next_number(in) : 2;
    if (which >= 0xF8) next_text(in, p->format, sizeof(p->format));
    else strcpy(p->format, table ? "+s" : formats[which < 0xC0 ? which % 42 : which % FORMATS]);
    if (depth > 2 && which < 0xC0 && p->format[0] == '+') strcpy(p->format, "l");
    understand(p);
    snprintf(p->name, sizeof(p->name), "c%d", planned);
    if (next_odd(in)) next_text(in, p->name, sizeof(p->name));
    p->odd = next_odd(in);
    if (next_byte(in) & 8) make_metadata(p, in);
    natural = p->kind == LIST || p->kind == LIST_VIEW || p->kind == FIXED_LIST ? 1 : p->kind == RUNS ? 2 : 0;
    if (p->kind == SPARSE || p->kind == DENSE) natural = p->format[4] == 0 ? 0 : 2;
    if (p->kind == STRUCT) natural = table ? 1 + next_byte(in) % (KIDS - 1) : next_byte(in) % KIDS;
    p->children = p->odd == 3 ? next_byte(in) % KIDS : natural;
    for (i = 0; i < p->children; i++) {
        if (depth > 3 || planned > 56) p->children = i;
        else p->child[i] = make_plan(in, depth + 1, 0);
    }
    if (strcmp(p->format, "+m") == 0 && p->children && p->odd != 5) { /* entries of a map */
        plan *entries = p->child[0];
        strcpy(entries->format, "+s");
        understand(entries);
        while (entries->children < 2 && planned < 60) entries->child[entries->children++] = make_plan(in, 4, 0);
        if (entries->children > 2) entries->children = 2;
    }
    if (p->kind == RUNS && p->children == 2 && p->odd != 5) {
        plan *ends = p->child[0];
        strcpy(ends->format, next_byte(in) & 1 ? "l" : "i");
        understand(ends);
        ends->children = 0;
    }
    if ((p->kind == FIXED && next_byte(in) > 0x90) || p->odd == 7)
        p->dictionary = depth > 3 || planned > 56 ? NULL : make_plan(in, depth + 1, 0);
    return p;
}

/* -- structs that are counted ----------------------------------------------------------------------------------------------- */

typedef struct made { /* the private data of one struct */
    int live, children;
    unsigned dead; /* which below it were never to be released: they go with it; the last bit is its own */
    void *child[KIDS], *dictionary; /* the structs as they were made */
    void *list, *kept[PLACES + 6];
    int count;
} made;

static void *kept(made *m, size_t size) {
    void *block = calloc(1, size ? size : 1);
    if (block == NULL || m->count >= PLACES + 6) fault("no memory in the harness");
    return m->kept[m->count++] = block;
}

#define OF_STRUCTS(kind)                                                                                                \
    static void drop_##kind(struct kind *one) {                                                                         \
        made *m = one->private_data;                                                                                    \
        int i;                                                                                                          \
        if (!m->live) fault("a struct of Arrow's was released twice");                                                  \
        m->live = 0;                                                                                                    \
        if (!(m->dead & OWN)) live_arrow--;                                                                             \
        for (i = 0; i <= m->children; i++) {                                                                            \
            struct kind *below = i < m->children ? m->child[i] : m->dictionary;                                         \
            if (below == NULL) continue;                                                                                \
            if (below->release != NULL) below->release(below);                                                          \
            else if (m->dead >> i & 1) drop_##kind(below);                                                              \
            free(below);                                                                                                \
        }                                                                                                               \
        for (i = 0; i < m->count; i++) free(m->kept[i]);                                                                \
        one->release = NULL;                                                                                            \
        free(m);                                                                                                        \
    }                                                                                                                   \
    static void release_##kind(struct kind *one) { drop_##kind(one); }                                                  \
    static void drop_root_##kind(struct kind *one) { /* of which nobody took anything, or all */                        \
        if (one->release != NULL) one->release(one);                                                                    \
        free(one);                                                                                                      \
    }
OF_STRUCTS(schema)
OF_STRUCTS(array)

static struct schema *make_schema(const plan *p, int root) {
    struct schema *s = calloc(1, sizeof(*s));
    made *m = calloc(1, sizeof(*m));
    int i;
    s->private_data = m;
    m->live = 1;
    s->format = strcpy(kept(m, strlen(p->format) + 1), p->format);
    s->name = p->odd == 9 ? NULL : strcpy(kept(m, strlen(p->name) + 1), p->name);
    if (p->has_metadata) s->metadata = memcpy(kept(m, sizeof(p->metadata)), p->metadata, sizeof(p->metadata));
    s->flags = p->flags;
    s->n_children = m->children = p->children;
    if (p->children) s->children = kept(m, p->children * sizeof(void *));
    for (i = 0; i < p->children; i++) m->child[i] = s->children[i] = make_schema(p->child[i], 0);
    if (p->dictionary) m->dictionary = s->dictionary = make_schema(p->dictionary, 0);
    s->release = release_schema;
    if (p->odd == 11) s->format = NULL;
    if (p->odd == 13 && p->children) s->children[p->children - 1] = NULL;
    if (p->odd == 15) s->children = NULL;
    if (p->odd == 17 && p->children > 1) s->children[1] = s->children[0];
    if (p->odd == 19) s->n_children = -1;
    if (p->odd == 21) s->n_children = (1 << 20) + 1;
    for (i = 0; i <= p->children; i++) {
        const struct schema *below = i < p->children ? m->child[i] : m->dictionary;
        if (below != NULL && below->release == NULL) m->dead |= 1u << i;
    }
    if (p->odd == 23 && !root) s->release = NULL, m->dead |= OWN;
    else live_arrow++;
    return s;
}

/* Numbers where they are followed: true ones, or small ones of the input. */
static void write_numbers(input *in, char *to, int64_t count, int64_t width, int64_t limit, int rising) {
    const uint8_t how = next_byte(in);
    int64_t i, now = 0;
    if (to == NULL) return;
    for (i = 0; i < count; i++) {
        int64_t number = rising ? i * limit / (count > 1 ? count - 1 : 1) : limit ? i % limit : 0;
        if (how >= 0x80 && i < 24) {
            number = next_number(in);
            if (how < 0xC0) now = number = rising ? now + (number & 3) : number & 7;
        }
        memcpy(to + i * width, &number, width);
    }
}

static const void *buffer(made *m, int64_t bytes) { return bytes < 0 || bytes > ROOM ? NULL : kept(m, bytes); }

static int64_t told_at(const void *offsets, int64_t i, int64_t width) {
    int64_t number = 0;
    if (offsets == NULL) return 0;
    if (width == 8) memcpy(&number, (const char *)offsets + 8 * i, 8);
    else {
        int32_t small;
        memcpy(&small, (const char *)offsets + 4 * i, 4);
        number = small;
    }
    return number;
}

static struct array *make_array(const plan *p, input *in, wide need, int root, int depth) {
    struct array *a = calloc(1, sizeof(*a));
    made *m = calloc(1, sizeof(*m));
    const uint8_t odd = next_odd(in), shape = next_byte(in);
    wide end, below = 0;
    int i, at = 0;
    a->private_data = m;
    m->live = 1;
    a->length = need > INT64_MAX ? INT64_MAX : (int64_t)need;
    if (shape & 1) a->length += (shape >> 2) & 7;
    if (odd == 1) a->length = next_number(in);
    if (shape & 2) a->offset = (shape >> 5) & 7;
    if (odd == 3) a->offset = next_number(in);
    end = (wide)a->length + a->offset;
    if (a->length < 0 || a->offset < 0 || end > ROOM * 8) end = -1; /* nothing can be there */
    a->buffers = kept(m, PLACES * sizeof(void *));
    if (p->kind != NOTHING && p->kind != UNKNOWN && p->kind != SPARSE && p->kind != DENSE && p->kind != RUNS) {
        const uint8_t nulls = next_byte(in);
        unsigned char *bits = nulls & 1 && end >= 0 ? (unsigned char *)buffer(m, (int64_t)((end + 7) / 8)) : NULL;
        a->null_count = nulls & 1 ? -1 : 0;
        if (bits != NULL)
            for (i = 0; i < (end + 7) / 8; i++) bits[i] = i < 4 ? ~next_byte(in) : 0xFF;
        a->buffers[at++] = bits;
    }
    if (odd == 5) a->null_count = next_number(in);
#define PLACE(bytes) (a->buffers[at++] = end < 0 ? NULL : buffer(m, (int64_t)((bytes) > ROOM ? -1 : (bytes))))
    switch (p->kind) {
    case BITS: PLACE((end + 7) / 8); break;
    case FIXED:
        PLACE(end * p->width);
        if (p->width <= 8 && p->width > 0)
            write_numbers(in, (char *)a->buffers[1], (int64_t)end, p->width, p->dictionary ? 2 : 1 << 7, 0);
        break;
    case TEXT:
    case LIST: {
        const int64_t limit = next_byte(in) % 12;
        int64_t last;
        PLACE((end + 1) * p->width);
        write_numbers(in, (char *)a->buffers[1], (int64_t)end + 1, p->width, limit, 1);
        last = end < 0 ? 0 : told_at(a->buffers[1], (int64_t)end, p->width);
        if (p->kind == TEXT) {
            char *text;
            PLACE((wide)last);
            text = (char *)a->buffers[2];
            for (i = 0; text != NULL && i < last; i++) text[i] = i < 8 ? (char)(next_byte(in) + 'a') : 'b';
        }
        below = last < 0 || last > ROOM ? 0 : last;
        break;
    }
    case LIST_VIEW:
        PLACE(end * p->width);
        PLACE(end * p->width);
        write_numbers(in, (char *)a->buffers[1], (int64_t)end, p->width, 2, 0);
        write_numbers(in, (char *)a->buffers[2], (int64_t)end, p->width, 2, 0);
        below = 4;
        break;
    case VIEWS: {
        const int held = next_byte(in) % 3;
        int64_t sizes[3] = {0};
        char *views;
        PLACE(end * 16);
        views = (char *)a->buffers[1];
        for (i = 0; i < held; i++) {
            char *text;
            sizes[i] = next_number(in);
            text = (char *)PLACE((wide)sizes[i]);
            if (text != NULL) memset(text, 'x', sizes[i]);
        }
        a->buffers[at] = buffer(m, 8 * held);
        memcpy((void *)a->buffers[at++], sizes, 8 * held);
        for (i = 0; views != NULL && i < end && i < 12; i++) {
            int32_t parts[4] = {next_byte(in) % 20, 0x78787878, 0, 0};
            if (parts[0] == 19) parts[0] = (int32_t)next_number(in);
            if (parts[0] > 12) parts[2] = next_byte(in) % 3, parts[3] = (int32_t)next_number(in);
            else if (parts[0] < 4) parts[1] = 0; /* what is not used is zero */
            memcpy(views + 16 * i, parts, 16);
        }
        break;
    }
    case SPARSE:
    case DENSE:
        PLACE(end);
        write_numbers(in, (char *)a->buffers[0], (int64_t)end, 1, 2, 0);
        if (p->kind == DENSE) {
            PLACE(end * 4);
            write_numbers(in, (char *)a->buffers[1], (int64_t)end, 4, 1, 0);
        }
        below = p->kind == SPARSE ? end : 2;
        break;
    case STRUCT: below = end; break;
    case FIXED_LIST: below = p->width > ROOM || end * p->width > ROOM ? ROOM : end * p->width; break;
    case RUNS: below = 1 + next_byte(in) % 3; break;
    default: break;
    }
    a->n_buffers = p->kind == UNKNOWN ? next_byte(in) % 4 : at;
    a->n_children = m->children = p->children;
    if (p->children) a->children = kept(m, p->children * sizeof(void *));
    for (i = 0; i < p->children; i++)
        m->child[i] = a->children[i] = make_array(p->child[i], in, below < 0 ? 0 : below, 0, depth + 1);
    if (p->dictionary) m->dictionary = a->dictionary = make_array(p->dictionary, in, 2, 0, depth + 1);
    a->release = release_array;
    if (odd == 7) a->buffers[next_byte(in) % PLACES] = NULL;
    if (odd == 9) a->buffers = NULL;
    if (odd == 11) a->n_buffers = next_number(in);
    if (odd == 11 && a->n_buffers <= 1 << 20 && (a->n_buffers > PLACES || (p->kind == VIEWS && a->n_buffers > 2)))
        a->n_buffers = at + 1; /* what is said to be there must be, and mean what it means there */
    if (odd == 13) a->n_children = next_number(in);
    if (odd == 15 && p->children) a->children[p->children - 1] = NULL;
    if (odd == 17) a->children = NULL;
    if (odd == 19 && p->children > 1) a->children[1] = a->children[0];
    if (odd == 21) a->dictionary = NULL;
    if (odd == 25 && a->dictionary == NULL) a->dictionary = a; /* of itself */
    for (i = 0; i <= p->children; i++) {
        const struct array *below_it = i < p->children ? m->child[i] : m->dictionary;
        if (below_it != NULL && below_it->release == NULL) m->dead |= 1u << i;
    }
    if (odd == 23 && !root) a->release = NULL, m->dead |= OWN;
    else live_arrow++;
    return a;
}

/* -- handed out ----------------------------------------------------------------------------------------------------------- */

static void schema_gone(PyObject *capsule) { drop_root_schema(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))); }

static void array_gone(PyObject *capsule) { drop_root_array(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))); }

typedef struct flow {
    struct schema *kind;
    struct array *part[PARTS];
    int parts, next, fails;
} flow;

static int flow_schema(struct stream *s, struct schema *out) {
    flow *f = s->private_data;
    if (f->kind == NULL || f->fails == 1) return 5;
    *out = *f->kind;
    free(f->kind);
    f->kind = NULL;
    return 0;
}

static int flow_next(struct stream *s, struct array *out) {
    flow *f = s->private_data;
    memset(out, 0xDB, sizeof(*out));
    if (f->fails == 2 && f->next == f->parts) return 22;
    out->release = NULL;
    if (f->next == f->parts) return 0;
    *out = *f->part[f->next];
    free(f->part[f->next++]);
    return 0;
}

static const char *flow_error(struct stream *s) { return ((flow *)s->private_data)->fails == 2 ? "it \xff broke" : NULL; }

static void release_flow(struct stream *s) {
    flow *f = s->private_data;
    if (f->kind != NULL) drop_root_schema(f->kind);
    while (f->next < f->parts) drop_root_array(f->part[f->next++]);
    free(f);
    s->release = NULL;
    live_arrow--;
}

static void stream_gone(PyObject *capsule) {
    struct stream *s = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
    if (s->release != NULL) s->release(s);
    free(s);
}

static PyObject *capsule_of(void *given, const char *name, PyCapsule_Destructor gone) {
    PyObject *made = PyCapsule_New(given, name, gone);
    if (made == NULL) fault("no memory in the harness");
    return made;
}

PyObject *make_arrow_source(input *in, int table, int streamed) {
    const plan *p;
    const uint8_t odd = next_odd(in);
    int64_t rows = next_byte(in) % 12;
    struct stream *s;
    flow *f;
    int i;
    planned = 0;
    p = make_plan(in, 0, table);
    if (!streamed) {
        PyObject *kind = capsule_of(make_schema(p, 1), odd == 1 ? "arrow_array" : "arrow_schema", schema_gone);
        PyObject *array = capsule_of(make_array(p, in, rows, 1, 0), odd == 3 ? "other" : "arrow_array", array_gone);
        return Py_BuildValue("(NN)", kind, array);
    }
    s = calloc(1, sizeof(*s));
    f = calloc(1, sizeof(*f));
    f->kind = make_schema(p, 1);
    f->parts = next_byte(in) % (PARTS + 1);
    for (i = 0; i < f->parts; i++) f->part[i] = make_array(p, in, rows, 1, 0);
    f->fails = odd == 5 ? 1 : odd == 7 ? 2 : 0;
    s->get_schema = flow_schema;
    s->get_next = odd == 9 ? NULL : flow_next;
    s->get_last_error = odd == 11 ? NULL : flow_error;
    s->release = release_flow;
    s->private_data = f;
    live_arrow++;
    return capsule_of(s, "arrow_array_stream", stream_gone);
}
