/* What a producer claims of its memory: mostly true, often odd in one field. */
#include "fuzz.h"
#include <limits.h>
#include <sys/mman.h>
#include <unistd.h>

char *arena;
const int64_t ARENA = 4096;

/* One type in all spellings. */
typedef struct row {
    const char *format, *typestr, *name;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t itemsize;
} row;

#define NO_CODE 99
static const row rows[] = {
    {"B", "|u1", NULL, 1, 8, 1, 1},
    {"d", "<f8", NULL, 2, 64, 1, 8},
    {"f", "<f4", NULL, 2, 32, 1, 4},
    {"i", "<i4", NULL, 0, 32, 1, 4},
    {"l", "<i8", NULL, 0, 64, 1, 8},
    {"?", "|b1", NULL, 6, 8, 1, 1},
    {"h", "<i2", NULL, 0, 16, 1, 2},
    {"b", "|i1", NULL, 0, 8, 1, 1},
    {"e", "<f2", NULL, 2, 16, 1, 2},
    {"Zf", "<c8", NULL, 5, 64, 1, 8},
    {"Zd", "<c16", NULL, 5, 128, 1, 16},
    {"g", "<f16", NULL, 2, 128, 1, 16},
    {">i", ">i4", NULL, NO_CODE, 32, 1, 4},
    {">d", ">f8", NULL, NO_CODE, 64, 1, 8},
    {"7x", "|V7", NULL, NO_CODE, 0, 1, 7},
    {NULL, "<M8[ns]", NULL, NO_CODE, 64, 1, 8},
    {"q", "<m8[25s]", NULL, 0, 64, 1, 8},
    {NULL, "|V2", "bfloat16", 4, 16, 1, 2},
    {NULL, "|V1", "float8_e4m3fn", 10, 8, 1, 1},
    {"4f", NULL, NULL, 2, 32, 4, 16},
    {"16B", "|V16", NULL, 1, 128, 1, 16},
    {"5s", "|S5", NULL, NO_CODE, 8, 5, 5},
    {"3w", "<U3", NULL, NO_CODE, 8, 12, 12},
    {"O", "|O", NULL, 3, 64, 1, 8},
    {"T{i:a:d:b:}", "|V12", "void96", NO_CODE, 8, 12, 12},
    {"T{i:a:O:b:}", "|V12", "record", NO_CODE, 8, 12, 12},
    {"0x", "|V0", NULL, 1, 8, 0, 0},
    {NULL, "|i16", "int4", 0, 4, 1, 16},
    {"Zg", "<c32", NULL, 5, 255, 1, 32},
    {"bfloat16", "<f1", "float8_e5m2", 12, 8, 1, 2},
};
#define ROWS ((int)(sizeof(rows) / sizeof(*rows)))

#define POOL 6
static facts pool[POOL];
static int used;

static int64_t *guarded_room(size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at = mmap(NULL, bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || mprotect(at + page, bytes, PROT_READ | PROT_WRITE) != 0) return NULL;
    return (int64_t *)(void *)(at + page);
}

int start_facts(void) {
    int i, k;
    if ((arena = (char *)guarded_room((size_t)ARENA)) == NULL) return -1;
    for (i = 0; i < ARENA; i++) arena[i] = (char)(i * 37 + (i >> 6) + 1);
    for (i = 0; i < POOL; i++)
        for (k = 0; k < 3; k++)
            if ((pool[i].room[k] = guarded_room(4096)) == NULL) return -1;
    return mprotect(arena, (size_t)ARENA, PROT_READ);
}

facts *new_facts(void) {
    facts *f;
    if (used == POOL) fault("the harness has described too much");
    f = &pool[used++];
    memset(f, 0, offsetof(facts, room));
    return f;
}

void forget_facts(void) { used = 0; }

/* Room for n numbers that ends where the memory ends. */
static int64_t *room_for(facts *f, int which, int n) { return f->room[which] + 512 - n; }

static int64_t times(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

/* The stride of a row-major array. */
int64_t natural_stride(const facts *f, int dim) {
    int64_t step = f->itemsize;
    int i;
    for (i = f->held - 1; i > dim; i--)
        if (f->shape != NULL && f->shape[i] > 1) step = times(step, f->shape[i]);
    return step;
}

static int32_t fill_ndim(input *in) {
    static const int32_t wild[16] = {-1, 65, 64, 200, 1 << 30, INT_MAX, INT_MIN, 63, 66, 8, 9, 16, 32, 256, -2, 10};
    static const uint8_t few[8] = {1, 2, 1, 3, 0, 2, 4, 1};
    const uint8_t tag = next_byte(in);
    if (tag < 0xD8) return few[tag & 7];
    if (tag < 0xF0) return tag - 0xD8 + 5;
    return wild[tag & 15];
}

static void fill_shape(facts *f, input *in) {
    int i;
    f->ndim = fill_ndim(in);
    f->held = f->ndim < 0 ? 0 : f->ndim > HELD_DIMS ? HELD_DIMS : f->ndim;
    f->shape = room_for(f, 0, f->held);
    for (i = 0; i < f->held; i++) {
        const uint8_t tag = f->held > 8 && i > 2 ? 1 : next_byte(in);
        f->shape[i] = tag < 0xD0 ? tag & 7 : tag < 0xF0 ? next_number(in) : tag - 0xF0;
    }
}

static void fill_strides(facts *f, input *in) {
    const uint8_t mode = next_byte(in) % 10;
    int64_t step = 1;
    int i;
    if (mode < 2) return;
    f->steps = room_for(f, 1, f->held);
    f->strides = room_for(f, 2, f->held);
    for (i = 0; i < f->held; i++) {
        const int k = mode == 3 ? i : f->held - 1 - i;
        f->steps[k] = step;
        if (f->shape[k] > 1) step = times(step, f->shape[k]);
        if (mode == 7 && k == f->held - 1) step = times(step, 3);
    }
    if (mode >= 4 && mode != 7) {
        const uint8_t which = next_byte(in);
        for (i = 0; i < f->held; i++) {
            if (!(which >> (i & 7) & 1)) continue;
            f->steps[i] = mode == 4 ? times(f->steps[i], -1) : mode == 6 ? 0 : next_number(in);
        }
    }
    for (i = 0; i < f->held; i++) {
        f->strides[i] = times(f->steps[i], f->itemsize);
        if (mode == 9) f->strides[i] ^= next_byte(in) & 3;
    }
}

/* The bytes that the elements touch, from element 0 on, as far as the harness can tell. */
static int span_told(const facts *f, wide *low, wide *high) {
    int i;
    *low = 0;
    *high = f->itemsize;
    for (i = 0; i < f->held; i++) {
        wide reach;
        if (f->shape[i] <= 0) return 0;
        reach = (wide)(f->shape[i] - 1) * (f->strides != NULL ? f->strides[i] : natural_stride(f, i));
        if (reach < 0) *low += reach;
        else *high += reach;
        if (*low < -ARENA || *high > ARENA) return 0;
    }
    return *high - *low <= ARENA;
}

static void fill_place(facts *f, input *in) {
    wide low = 0, high = 0;
    const int fits = span_told(f, &low, &high);
    const uint8_t mode = next_byte(in) & 15;
    f->data = arena;
    if (mode < 4) f->data = fits ? arena + ARENA - (int64_t)high : arena; /* to the last byte */
    else if (mode < 7) f->data = fits ? arena - (int64_t)low : arena;     /* from the first byte on */
    else if (mode < 10) f->data = arena + (next_number(in) & 0xFFF);
    else if (mode == 10) f->data = NULL;
    else if (mode == 11) f->data = (char *)(intptr_t)next_number(in);
    else if (mode == 12) f->data = arena + ARENA - (next_byte(in) & 15);
    else if (mode == 13) f->data = (char *)(intptr_t)-(int64_t)next_byte(in);
}

/* One to three oddities. */
static void spoil(facts *f, input *in, uint8_t which) {
    static const char text_row[] = "";
    switch (which & 15) {
    case 0: f->itemsize = next_number(in); break;
    case 1: next_text(in, f->format_text, 60); f->format = f->format_text; break;
    case 2: next_text(in, f->typestr_text, 60); f->typestr = f->typestr_text; break;
    case 3: f->code = next_byte(in); f->bits = next_byte(in); f->lanes = (uint16_t)next_number(in); break;
    case 4: f->device_type = (int32_t)next_number(in); f->device_id = (int32_t)next_number(in); break;
    case 5: f->byte_offset = (uint64_t)next_number(in); break;
    case 6: f->shape = NULL; break;
    case 7: f->len = next_number(in); break;
    case 8: f->major = next_byte(in) & 3; f->minor = (uint32_t)next_number(in); break;
    case 9: f->flags = (uint64_t)next_number(in); break;
    case 10: f->suboffsets = f->room[1] + 512 - HELD_DIMS;
        memset(f->suboffsets, next_byte(in) & 1 ? 0xFF : 0, HELD_DIMS * sizeof(int64_t));
        break;
    case 11: f->name = text_row; break;
    case 12: f->ndim = (int32_t)next_number(in);
        if (f->ndim > f->held) f->shape = f->strides = f->steps = NULL;
        else f->held = f->ndim < 0 ? 0 : f->ndim;
        break;
    case 13: f->format = NULL; break;
    case 14: f->lanes = (uint16_t)(2 + (next_byte(in) & 7)); f->itemsize = times(f->itemsize, f->lanes); break;
    default: f->device_type = 1 + (next_byte(in) % 18); break;
    }
}

/* An offset that moves the start back, so that element 0 stays where it is. */
static void fill_offset(facts *f, input *in) {
    const uint8_t odd = next_odd(in);
    if (odd == 0) return;
    f->byte_offset = odd;
    f->data = (char *)((uintptr_t)f->data - odd);
}

static void say_facts(const facts *f);

void fill_facts(facts *f, input *in) {
    const row *r = &rows[next_byte(in) % ROWS];
    uint8_t tag;
    int64_t count = 1;
    int i;
    f->format = r->format;
    f->typestr = r->typestr;
    f->name = r->name;
    f->code = r->code;
    f->bits = r->bits;
    f->lanes = r->lanes;
    f->itemsize = r->itemsize;
    f->device_type = 1;
    f->major = 1;
    f->minor = 3;
    fill_shape(f, in);
    tag = next_byte(in);
    if (tag >= 0xF0) spoil(f, in, 14);
    fill_strides(f, in);
    fill_place(f, in);
    fill_offset(f, in);
    for (i = 0; i < f->held; i++) count = times(count, f->shape[i]);
    f->len = times(count, f->itemsize);
    f->readonly = tag & 1;
    f->flags = (uint64_t)(tag & 3);
    f->form = next_byte(in);
    for (tag = next_byte(in); tag >= 0xA0; tag = next_byte(in)) spoil(f, in, tag);
    tag = next_byte(in);
    if (tag >= 0xD0) {
        f->mood = (uint8_t)((tag - 0xD0) % MOODS);
        f->mood_at = next_byte(in);
    }
    if ((f->format != NULL && strpbrk(f->format, "O&") != NULL) || (f->typestr != NULL && strchr(f->typestr, 'O') != NULL)
        || f->name != NULL)
        objects_told = 1;
    say_facts(f);
}

/* What is told, in words. */
static void say_facts(const facts *f) {
    int i;
    say("   told: format %s, typestr %s, dlpack %u/%u x %u, itemsize %lld, data %p + %llu, len %lld, device %d/%d, "
        "readonly %d, flags %llu, version %u.%u, mood %u at %u, form %u, ndim %d",
        f->format ? f->format : "NULL", f->typestr ? f->typestr : "NULL", f->code, f->bits, f->lanes,
        (long long)f->itemsize, (void *)f->data, (unsigned long long)f->byte_offset, (long long)f->len, f->device_type,
        f->device_id, f->readonly, (unsigned long long)f->flags, f->major, f->minor, f->mood, f->mood_at, f->form,
        f->ndim);
    for (i = 0; i < f->held && f->shape != NULL; i++)
        say(" %lld/%lld", (long long)f->shape[i], f->strides ? (long long)f->strides[i] : -1LL);
    say("\n");
}

static char *row_pointers[64];

/* A two-dimensional array of rows behind pointers; wrong, if at all, where no pointer depends on it. */
void fill_rows(facts *f, input *in) {
    const row *r = &rows[next_byte(in) % 14];
    const int64_t rows_of = next_byte(in) % 17, columns = next_byte(in) % 17;
    const uint8_t odd = next_odd(in);
    int i;
    f->format = r->format;
    f->itemsize = r->itemsize;
    f->ndim = f->held = 2;
    f->shape = room_for(f, 0, 2);
    f->strides = room_for(f, 2, 2);
    f->suboffsets = room_for(f, 1, 2);
    f->shape[0] = rows_of;
    f->shape[1] = columns;
    f->strides[0] = (int64_t)sizeof(char *);
    f->strides[1] = r->itemsize;
    f->suboffsets[0] = next_byte(in) & 15;
    f->suboffsets[1] = -1;
    for (i = 0; i < rows_of; i++)
        row_pointers[i] = arena + ARENA - columns * r->itemsize - f->suboffsets[0] - (next_byte(in) & 63);
    f->data = (char *)row_pointers;
    f->len = rows_of * columns * r->itemsize;
    f->readonly = odd & 1;
    if (odd == 2 || odd == 4) f->len = next_number(in);
    if (odd == 6 || odd == 8) next_text(in, f->format_text, 60), f->format = f->format_text;
    if (odd == 12) f->strides = NULL;
    if (strpbrk(f->format == NULL ? "" : f->format, "O&") != NULL) objects_told = 1;
    if (odd == 10) f->shape[0] = next_number(in), f->len = -1;
}
