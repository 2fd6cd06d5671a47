/* The kernels of kernels.h. Most take 64 rows at a time, in loops of a known length, of which compilers make vectors;
 * rows that stand apart, and the last ones, pass a room on the stack. */
#include "kernels.h"
#include "stores.h"
#include "words.h"

#define NAT ((uint64_t)1 << 63)
#define EXACT ((int64_t)1 << 53) /* up to here float64 has every integer */

/* ---- bits ---- */

int64_t lend_bytes_to_bits(void *to, int64_t at, const void *from, int64_t step, int invert, int64_t n) {
    Rows rows = bytes_of(from, step, invert);
    return to_bits(to, at, &rows, NULL, 0, n);
}

void lend_bits_to_bytes(void *to, int64_t step, const void *from, int64_t offset, int invert, int64_t n) {
    Rows rows = bits_of(from, offset, invert);
    to_bytes(to, step, &rows, 0, n);
}

int64_t lend_copy_bits(void *to, int64_t at, const void *from, int64_t offset, int invert, int64_t n) {
    Rows rows = bits_of(from, offset, invert);
    return to_bits(to, at, &rows, NULL, 0, n);
}

int64_t lend_and_bits(void *to, int64_t at, const void *a, int64_t a_offset, const void *b, int64_t b_offset,
                      int64_t n) {
    Rows rows = bits_of(a, a_offset, 0), others = bits_of(b, b_offset, 0);
    return to_bits(to, at, &rows, &others, 0, n);
}

int64_t lend_nulls_to_bits(void *to, int64_t at, const void *from, int64_t step, int size, int kind, const void *value,
                           int64_t n) {
    Rows rows = values_of(from, step, size, kind, value);
    return to_bits(to, at, &rows, NULL, 1, n);
}

int64_t lend_nulls_to_bytes(void *to, int64_t to_step, const void *from, int64_t step, int size, int kind,
                            const void *value, int invert, int64_t n) {
    Rows rows = values_of(from, step, size, kind, value);
    int64_t set;
    if (!invert) rows.flip = 0;
    set = to_bytes(to, to_step, &rows, 1, n);
    return invert ? n - set : set;
}

/* ---- gather ---- */

static inline uint64_t reversed8(uint64_t x) {
#if defined(__GNUC__)
    return __builtin_bswap64(x);
#else
    x = (x & 0x00ff00ff00ff00ff) << 8 | (x >> 8 & 0x00ff00ff00ff00ff);
    x = (x & 0x0000ffff0000ffff) << 16 | (x >> 16 & 0x0000ffff0000ffff);
    return x << 32 | x >> 32;
#endif
}

LEND_INLINE lend_item reversed(lend_item x, int size) {
    const lend_item y = {reversed8(size == 16 ? x.high : x.low), reversed8(x.low)};
    const lend_item z = {y.low >> (size < 8 ? 64 - 8 * size : 0), y.high};
    return z;
}

LEND_INLINE void gather_run(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t step, int64_t n, int size,
                            int swap, int stream) {
#define MOVE(i)                                                                \
    x = lend_load(from + (i)*step, size);                                      \
    lend_store(to + (i)*to_step, swap ? reversed(x, size) : x, size, stream)
    lend_item x;
    for (; n >= 4 && !swap; n -= 4, from += 4 * step, to += 4 * to_step) {
        MOVE(0);
        MOVE(1);
        MOVE(2);
        MOVE(3);
    }
    for (; n > 0; n--, from += step, to += to_step) {
        MOVE(0);
    }
#undef MOVE
}

static void gather_any(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t step, int64_t size, int64_t swap,
                       int64_t n) {
    for (; n > 0; n--, from += step, to += to_step) {
        if (swap <= 1) {
            memcpy(to, from, (size_t)size);
            continue;
        }
        for (int64_t unit = 0; unit < size; unit += swap)
            for (int64_t i = 0; i < swap; i++) to[unit + i] = from[unit + swap - 1 - i];
    }
}

void lend_gather(void *to_, int64_t to_step, const void *from_, int64_t step, int64_t size, int64_t swap, int64_t n) {
    uint8_t *to = to_;
    const uint8_t *from = from_;
    int stream;
    if (to_step == size && step == size) {
        if (swap <= 1) {
            if (n * size > 0) memcpy(to, from, (size_t)(n * size));
            return;
        }
        n *= size / swap; /* parts of a complex number are elements */
        to_step = step = size = swap;
    }
    stream = to_step == size && size >= 4 && lend_streams(to, n * size);
#define RUN(size, stream)                                            \
    if (swap > 1)                                                    \
        gather_run(to, size, from, step, n, size, 1, stream);        \
    else                                                             \
        gather_run(to, size, from, step, n, size, 0, stream);        \
    break
#define APART(size)                                                  \
    if (swap > 1)                                                    \
        gather_run(to, to_step, from, step, n, size, 1, 0);          \
    else                                                             \
        gather_run(to, to_step, from, step, n, size, 0, 0);          \
    break
    switch (swap > 1 && swap != size ? 0 : stream ? -size : size) {
    case 1: gather_run(to, to_step, from, step, n, 1, 0, 0); break;
    case 2: APART(2);
    case 4: APART(4);
    case 8: APART(8);
    case 16: APART(16);
    case -4: RUN(4, 1);
    case -8: RUN(8, 1);
    case -16: RUN(16, 1);
    default: gather_any(to, to_step, from, step, size, swap, n);
    }
#undef RUN
#undef APART
    if (stream) lend_stream_end();
}

/* ---- fill ---- */

static void fill_any(uint8_t *to, const uint8_t *from, int64_t step, uint64_t word, const void *value, int64_t size,
                     int64_t n) {
    for (; n > 0; n--, to += size, from += step, word >>= 1) memcpy(to, word & 1 ? from : value, (size_t)size);
}

void lend_fill_nulls(void *to_, const void *from_, int64_t step, int64_t size, lend_mask mask, const void *value,
                     int64_t n) {
    const Rows rows = rows_of(mask);
    const int stream = lend_streams(to_, n * size), known = size == 1 || size == 2 || size == 4 || size == 8;
    uint8_t *to = to_, copies[16];
    const uint8_t *from = from_;
    uint64_t words[WORDS], room[64] = {0}, made[64];
    for (int64_t i = 0; known && i < 16; i += size) memcpy(copies + i, value, (size_t)size);
    for (int64_t row = 0; row < n; row += 64, to += 64 * size, from += 64 * step) {
        const int64_t left = n - row, run = left < 64 ? left : 64;
        const uint64_t *word = &words[row % BLOCK >> 6];
        const uint8_t *here = known ? together(room, from, step, size, run) : from;
        const int past = stream && run == 64;
        uint8_t *at = run < 64 || (stream && size < 4) ? (uint8_t *)made : to;
        if (row % BLOCK == 0) read_words(&rows, row, left < BLOCK ? left : BLOCK, words);
        switch (past && (size == 4 || size == 8) ? -size : size) {
        case 1: lend_select(at, here, *word, copies, 1, 0); break;
        case 2: lend_select(at, here, *word, copies, 2, 0); break;
        case 4: lend_select(at, here, *word, copies, 4, 0); break;
        case 8: lend_select(at, here, *word, copies, 8, 0); break;
        case -4: lend_select(at, here, *word, copies, 4, 1); break;
        case -8: lend_select(at, here, *word, copies, 8, 1); break;
        case 16: fill_any(to, from, step, *word, value, 16, run); break;
        default: fill_any(to, from, step, *word, value, size, run);
        }
        if (known) lend_flush(to, at, (int)size, run, stream);
    }
    if (stream) lend_stream_end();
}

/* ---- integers of any width, 64 at a time ---- */

/* those of up to 4 bytes; of 8 the lower half */
static void to_int32(int32_t *to, const uint8_t *from, int size, int is_signed) {
#define EACH(size, type)                                                                      \
    for (int i = 0; i < 64; i++) to[i] = (int32_t)(type)lend_load(from + i * size, size).low; \
    break
    switch (size * 2 + (is_signed != 0)) {
    case 2: EACH(1, uint8_t);
    case 3: EACH(1, int8_t);
    case 4: EACH(2, uint16_t);
    case 5: EACH(2, int16_t);
    case 8:
    case 9: memcpy(to, from, 256); break;
    default: lend_shorter((uint8_t *)to, from, 0, 0);
    }
#undef EACH
}

static int64_t number(const uint8_t *at, int size, int is_signed) {
    const uint64_t x = lend_load(at, size).low, sign = (uint64_t)1 << (8 * size - 1);
    return (int64_t)(is_signed ? (x ^ sign) - sign : x);
}

/* the first valid of n rows, 64 at most, that is not from `low` to `high`; -1: none. An unsigned one beyond int64 is
 * not. */
static int64_t outside(const uint8_t *from, int size, int is_signed, int64_t low, int64_t high, const Rows *rows,
                       int64_t row, int64_t n) {
    uint64_t word;
    read_words(rows, row, n, &word);
    for (int64_t i = 0; i < n; i++, word >>= 1, from += size) {
        const int64_t x = number(from, size, is_signed);
        if (word & 1 && (x < low || x > high)) return row + i;
    }
    return -1;
}

/* the same of indices, after a look at all 64, of which those behind the rows may be anything; `low` is 0 */
static int64_t index_outside(const uint8_t *from, const int32_t *lower, int size, int is_signed, int64_t limit,
                             const Rows *rows, int64_t row, int64_t n) {
    const uint32_t last4 = limit > INT32_MAX ? INT32_MAX : (uint32_t)(limit - 1);
    const uint64_t last = (uint64_t)(limit - 1);
    uint64_t any = 0;
    uint32_t any4 = 0;
    if (size == 8) {
        for (int i = 0; i < 64; i++) {
            const uint64_t x = lend_load(from + 8 * i, 8).low;
            any |= x | (last - x);
        }
    } else {
        for (int i = 0; i < 64; i++) any4 |= (uint32_t)lower[i] | (last4 - (uint32_t)lower[i]);
    }
    if (!(any >> 63) && !(any4 >> 31)) return -1;
    return outside(from, size, is_signed, 0, limit - 1, rows, row, n);
}

int64_t lend_check_indices(const void *from, int64_t step, int size, int is_signed, lend_mask mask, int64_t limit,
                           int64_t n) {
    const Rows rows = rows_of(mask);
    uint64_t room[64] = {0};
    int32_t lower[64];
    int64_t bad = -1;
    for (int64_t row = 0; row < n && bad < 0; row += 64) {
        const int64_t run = n - row < 64 ? n - row : 64;
        const uint8_t *here = together(room, (const uint8_t *)from + row * step, step, size, run);
        if (size != 8) to_int32(lower, here, size, is_signed);
        bad = index_outside(here, lower, size, is_signed, limit, &rows, row, run);
    }
    return bad;
}

/* the lower bytes of n of 64 numbers, or more of them */
static void from_int32(uint8_t *to, const int32_t *from, int size, int64_t n, int stream) {
    uint64_t made[64];
    uint8_t *at = (uint8_t *)made;
    switch (size) {
    case 1:
        for (int i = 0; i < 64; i++) at[i] = (uint8_t)from[i];
        break;
    case 2:
        for (int i = 0; i < 64; i++) {
            const lend_item x = {(uint64_t)from[i], 0};
            lend_store(at + 2 * i, x, 2, 0);
        }
        break;
    case 4: at = (uint8_t *)from; break;
    default: lend_longer(at, (const uint8_t *)from, 0, 0);
    }
    lend_flush(to, at, size, n, stream);
}

int64_t lend_remap(void *to, int to_size, const void *from, int64_t step, int size, int is_signed, lend_mask mask,
                   const void *map, int64_t limit, int64_t n) {
    const Rows rows = rows_of(mask);
    const int stream = lend_streams(to, n * to_size);
    uint64_t room[64] = {0}, words[WORDS];
    int64_t bad = -1;
    int32_t lower[64];
    for (int64_t row = 0; row < n; row += 64) {
        const int64_t run = n - row < 64 ? n - row : 64;
        const uint8_t *here = together(room, (const uint8_t *)from + row * step, step, size, run);
        uint64_t word;
        if (row % BLOCK == 0) read_words(&rows, row, n - row < BLOCK ? n - row : BLOCK, words);
        to_int32(lower, here, size, is_signed);
        bad = index_outside(here, lower, size, is_signed, limit, &rows, row, run);
        if (bad >= 0) break;
        word = words[row % BLOCK >> 6];
#define MAPPED(i) ((int32_t)lend_load((const uint8_t *)map + 4 * (int64_t)(i), 4).low)
        if (word == ALL)
            for (int i = 0; i < 64; i++) lower[i] = MAPPED(lower[i]);
        else if (word) /* then there is an entry 0, which stands in for what is null */
            for (int i = 0; i < 64; i++, word >>= 1) {
                const int32_t take = -(int32_t)(word & 1);
                lower[i] = (MAPPED(lower[i] & take) & take) | (lower[i] & ~take);
            }
#undef MAPPED
        from_int32((uint8_t *)to + row * to_size, lower, to_size, run, stream);
    }
    if (stream) lend_stream_end();
    return bad;
}

int64_t lend_to_float64(void *to_, const void *from, int64_t step, int size, int is_signed, lend_mask mask,
                        const void *null, int64_t n) {
    const Rows rows = rows_of(mask);
    const int stream = lend_streams(to_, n * 8), wide = size == 8 || (size == 4 && !is_signed);
    /* an upper half with the bias, if its number is not beyond 2**53, or 2**53 itself, is without these bits */
    const uint32_t bias = is_signed ? 1 << 21 : 0, beyond = size < 8 ? 0 : ~(uint32_t)0 << (is_signed ? 22 : 21);
    uint64_t room[64] = {0}, words[WORDS], made[64], last[64];
    int64_t bad = -1;
    uint8_t *to = to_, copies[16];
    memcpy(copies, null, 8);
    memcpy(copies + 8, null, 8);
    for (int64_t row = 0; row < n && bad < 0; row += 64, to += 512) {
        const int64_t run = n - row < 64 ? n - row : 64;
        const uint8_t *here = together(room, (const uint8_t *)from + row * step, step, size, run), *given = here;
        uint8_t *at = run < 64 ? (uint8_t *)last : to;
        int32_t lower[64];
        uint32_t any = 0;
        uint64_t word;
        if (row % BLOCK == 0) read_words(&rows, row, n - row < BLOCK ? n - row : BLOCK, words);
        word = words[row % BLOCK >> 6];
        if (size < 4) {
            to_int32(lower, here, size, is_signed);
            given = (const uint8_t *)lower;
        } else if (size == 4 && wide) {
            for (int i = 0; i < 64; i++) made[i] = lend_load(here + 4 * i, 4).low;
            given = (const uint8_t *)made;
        }
        switch (2 * wide + (stream && run == 64)) {
        case 0: lend_floats(at, given, 4, word, copies, bias, 0); break;
        case 1: lend_floats(at, given, 4, word, copies, bias, 1); break;
        case 2: any = lend_floats(at, given, 8, word, copies, bias, 0); break;
        default: any = lend_floats(at, given, 8, word, copies, bias, 1);
        }
        lend_flush(to, at, 8, run, stream);
        if (any & beyond) bad = outside(here, 8, is_signed, is_signed ? -EXACT : 0, EXACT, &rows, row, run);
    }
    if (stream) lend_stream_end();
    return bad;
}

/* ---- offsets ---- */

void lend_widen(void *to_, const void *from, int64_t step, int64_t base, int64_t n) {
    const int stream = lend_streams(to_, n * 8);
    uint64_t room[64] = {0}, made[64];
    uint8_t *to = to_;
    for (int64_t row = 0; row < n; row += 64, to += 512) {
        const int64_t run = n - row < 64 ? n - row : 64;
        const uint8_t *here = together(room, (const uint8_t *)from + row * step, step, 4, run);
        uint8_t *at = run < 64 ? (uint8_t *)made : to;
        if (stream && run == 64)
            lend_longer(at, here, base, 1);
        else
            lend_longer(at, here, base, 0);
        lend_flush(to, at, 8, run, stream);
    }
    if (stream) lend_stream_end();
}

/* whether any of n offsets behind the first, of 4 or 8 bytes, is negative or less than the one before it */
LEND_INLINE int falls(const uint8_t *from, int size, int n) {
    uint64_t any = 0;
    uint32_t any4 = 0;
    for (int i = 0; i < n; i++, from += size) {
        const uint64_t here = lend_load(from, size).low, next = lend_load(from + size, size).low;
        any |= next | (next - here);
        any4 |= (uint32_t)next | ((uint32_t)next - (uint32_t)here);
    }
    return size == 4 ? any4 >> 31 : any >> 63;
}

/* the first of n offsets, from a row on that is none, that is; -1: none */
static int64_t fallen(const uint8_t *from, int size, int64_t row, int64_t n) {
    for (int64_t before = 0; row < n; row++) {
        const uint64_t x = lend_load(from + row * size, size).low;
        const int64_t offset = size == 4 ? (int32_t)x : (int64_t)x;
        if (offset < before) return row;
        before = offset;
    }
    return -1;
}

int64_t lend_check_offsets(const void *from_, int size, int64_t n) {
    const uint8_t *from = from_;
    int64_t row = 0;
    if (fallen(from, size, 0, n < 1 ? n : 1) == 0) return 0;
    if (size == 4)
        while (n - row > 256 && !falls(from + row * 4, 4, 256)) row += 256;
    else
        while (n - row > 256 && !falls(from + row * 8, 8, 256)) row += 256;
    return fallen(from, size, row, n);
}

/* numbers that need not fit */
static int64_t narrow_each(uint8_t *to, const uint8_t *from, int64_t base, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        lend_item x = lend_load(from + 8 * i, 8);
        x.low = x.low == NAT ? (uint64_t)INT32_MIN : x.low - (uint64_t)base;
        if (x.low != (uint64_t)(int32_t)x.low) return i;
        lend_store(to + 4 * i, x, 4, 0);
    }
    return -1;
}

int64_t lend_narrow(void *to_, const void *from, int64_t step, int64_t base, int check, int64_t n) {
    const int stream = lend_streams(to_, n * 4);
    uint64_t room[64] = {0}, made[32];
    int64_t bad = -1;
    uint8_t *to = to_, *at;
#define NUMBER(row) lend_load((const uint8_t *)from + (row)*step, 8).low
    if (n <= 0) return -1;
    if (check != LEND_EACH && NUMBER(0) - (uint64_t)base > INT32_MAX) return 0;
    if (check != LEND_EACH && NUMBER(n - 1) - (uint64_t)base > INT32_MAX) return n - 1;
    for (int64_t row = 0; row < n; row += 64, to += 256) {
        const int64_t run = n - row < 64 ? n - row : 64;
        const uint8_t *here = together(room, (const uint8_t *)from + row * step, step, 8, run);
        if (check == LEND_MONOTONE) {
            for (int64_t i = run; i < 64; i++) room[i] = room[run - 1]; /* as right as the last one is */
            if (row && (int64_t)NUMBER(row) < (int64_t)NUMBER(row - 1)) bad = 0;
            if (falls(here, 8, 63))
                for (int64_t i = 1; i < run && bad < 0; i++)
                    if ((int64_t)lend_load(here + 8 * i, 8).low < (int64_t)lend_load(here + 8 * i - 8, 8).low) bad = i;
        } else if (check == LEND_EACH) {
            uint64_t any = 0;
            for (int i = 0; i < 64; i++) any |= (lend_load(here + 8 * i, 8).low - (uint64_t)base + 0x80000000) >> 32;
            if (any) {
                bad = narrow_each(to, here, base, run);
                if (bad < 0) continue;
            }
        }
        if (bad >= 0) {
            bad += row;
            break;
        }
        at = run < 64 ? (uint8_t *)made : to;
        if (stream && run == 64)
            lend_shorter(at, here, base, 1);
        else
            lend_shorter(at, here, base, 0);
        lend_flush(to, at, 4, run, stream);
    }
#undef NUMBER
    if (stream) lend_stream_end();
    return bad;
}
