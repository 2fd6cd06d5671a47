/* The bits of kernels.c: what reads a null form or a mask gives words of 64 rows, and what writes one takes them, so
 * each form is read and written in one place. Strided elements are put together first, 64 at a time. */
#ifndef LEND_WORDS_H
#define LEND_WORDS_H

#include "kernels.h"
#include "stores.h"

#define BLOCK 1024 /* rows at a time: enough to leave the choice of loop outside of it */
#define WORDS (BLOCK / 64)
#define ALL UINT64_MAX

typedef struct {
    const uint8_t *data; /* NULL: as if all bits were 1 */
    int64_t at, step;    /* where bits begin; bytes from one element to the next */
    int size;            /* of an element; 0: bits */
    int nan;
    uint64_t mask, value; /* what lend_which finds is 1 */
    uint64_t flip;        /* all ones: and else it is 0 */
} Rows;

static const Rows EVERY = {0};

static Rows bits_of(const void *data, int64_t at, int invert) {
    Rows rows = {data, at, 0, 0, 0, 0, 0, invert ? ALL : 0};
    return rows;
}

static Rows bytes_of(const void *data, int64_t step, int invert) {
    Rows rows = {data, 0, step, 1, 0, 0xff, 0, invert ? 0 : ALL}; /* found are those that are 0 */
    return rows;
}

static Rows rows_of(lend_mask mask) {
    if (mask.data != NULL && mask.step) return bytes_of(mask.data, mask.step, mask.invert);
    return bits_of(mask.data, mask.at, mask.invert);
}

static Rows values_of(const void *data, int64_t step, int size, int kind, const void *value) {
    Rows rows = {data, 0, step, size, 0, ALL >> (64 - 8 * size), 0, ALL};
    uint64_t magnitude = rows.mask >> 1, infinity;
    if (value != NULL) rows.value = lend_load(value, size).low;
    if (kind == LEND_AS_INTEGER) return rows;
    infinity = size == 8 ? 0x7ff0000000000000 : size == 4 ? 0x7f800000 : kind == LEND_AS_BFLOAT ? 0x7f80 : 0x7c00;
    if (value == NULL || (rows.value & magnitude) > infinity) {
        rows.nan = 1;
        rows.mask = magnitude;
        rows.value = infinity;
    } else if ((rows.value & magnitude) == 0) {
        rows.mask = magnitude; /* -0 is 0 */
        rows.value = 0;
    }
    return rows;
}

/* 64 elements beside each other: those that are, or a copy in `room` of n of them at most */
static const uint8_t *together(uint64_t *room, const void *from, int64_t step, int64_t size, int64_t n) {
    if (step == size && n >= 64) {
        lend_ahead(from, (int)size);
        return from;
    }
    lend_gather(room, size, from, step, size, 1, n < 64 ? n : 64);
    return (const uint8_t *)room;
}

static void find(const Rows *rows, const uint8_t *from, int64_t count, uint64_t *words) {
#define FIND(size, nan)                                                                  \
    for (int64_t i = 0; i < count; i++, from += 64 * size) {                             \
        lend_ahead(from, size);                                                          \
        words[i] = lend_which(from, size, nan, mask, value) ^ flip;                      \
    }                                                                                    \
    break
    const uint64_t mask = rows->mask, value = rows->value, flip = rows->flip;
    switch (rows->size * 2 + rows->nan) {
    case 2: FIND(1, 0);
    case 4: FIND(2, 0);
    case 5: FIND(2, 1);
    case 8: FIND(4, 0);
    case 9: FIND(4, 1);
    case 16: FIND(8, 0);
    case 17: FIND(8, 1);
    }
#undef FIND
}

static void find_apart(const Rows *rows, const uint8_t *from, int64_t n, uint64_t *words) {
    uint64_t room[64] = {0};
    for (; n > 0; n -= 64, from += 64 * rows->step)
        find(rows, together(room, from, rows->step, rows->size, n), 1, words++);
}

static void read_bits(const uint8_t *from, int64_t at, int64_t n, uint64_t flip, uint64_t *words) {
    const int shift = (int)(at & 7);
    from += at >> 3;
    for (; n >= 64; n -= 64, from += 8) {
        uint64_t word = lend_get8(from);
        *words++ = (shift ? word >> shift | (uint64_t)from[8] << (64 - shift) : word) ^ flip;
    }
    if (n) {
        uint64_t word = 0;
        for (int64_t bit = 0; bit < n + shift; bit += 8)
            word |= bit < shift ? (uint64_t)from[bit >> 3] >> shift : (uint64_t)from[bit >> 3] << (bit - shift);
        *words = word ^ flip;
    }
}

/* the words of n rows, BLOCK at most; bits past the last row are 0 */
static void read_words(const Rows *rows, int64_t row, int64_t n, uint64_t *words) {
    const int64_t count = (n + 63) >> 6;
    if (rows->data == NULL) {
        for (int64_t i = 0; i < count; i++) words[i] = ~rows->flip;
    } else if (rows->size == 0) {
        read_bits(rows->data, rows->at + row, n, rows->flip, words);
    } else {
        const uint8_t *from = rows->data + row * rows->step;
        int64_t full = rows->step == rows->size ? n & ~63 : 0;
        find(rows, from, full >> 6, words);
        if (full < n) find_apart(rows, from + full * rows->step, n - full, words + (full >> 6));
    }
    if (n & 63) words[count - 1] &= ((uint64_t)1 << (n & 63)) - 1;
}

static void write_bits(uint8_t *to, int64_t at, const uint64_t *words, int64_t n) {
    const int shift = (int)(at & 7);
    uint64_t carry, word;
    to += at >> 3;
    carry = shift ? *to & ((1u << shift) - 1) : 0;
    for (; n >= 64; n -= 64, to += 8) {
        word = *words++;
        lend_put8(to, word << shift | carry);
        carry = shift ? word >> (64 - shift) : 0;
    }
    word = n ? *words : 0;
    carry |= word << shift;
    for (int bit = 0; bit < n + shift; bit += 8) *to++ = (uint8_t)(bit < 64 ? carry >> bit : word >> (64 - shift));
}

static int64_t ones(const uint64_t *words) {
    uint64_t total = 0;
    for (int i = 0; i < WORDS; i++) {
        uint64_t x = words[i];
        x -= x >> 1 & 0x5555555555555555;
        x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
        total += (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f; /* 8 at most in a byte, 128 with all words */
    }
    total = (total & 0x00ff00ff00ff00ff) + (total >> 8 & 0x00ff00ff00ff00ff);
    return (int64_t)(total * 0x0001000100010001 >> 48);
}

/* valid in all that are given, as bits; `late`: nothing is written while none is null */
static int64_t to_bits(void *to, int64_t at, const Rows *rows, const Rows *others, int late, int64_t n) {
    int64_t nulls = 0, run;
    for (int64_t row = 0; row < n; row += run) {
        uint64_t words[WORDS] = {0}, more[WORDS];
        int64_t found;
        run = n - row < BLOCK ? n - row : BLOCK;
        read_words(rows, row, run, words);
        if (others != NULL) {
            read_words(others, row, run, more);
            for (int64_t i = 0; i < (run + 63) >> 6; i++) words[i] &= more[i];
        }
        found = run - ones(words);
        if (late && found) {
            if (to != NULL) to_bits(to, at, &EVERY, NULL, 0, row);
            late = 0;
        }
        nulls += found;
        if (to != NULL && !late) write_bits(to, at + row, words, run);
    }
    return nulls;
}

/* `count`: the ones among them are counted */
static int64_t to_bytes(uint8_t *to, int64_t step, const Rows *rows, int count, int64_t n) {
    const int stream = step == 1 && lend_streams(to, n);
    int64_t valid = 0, run;
    for (int64_t row = 0; row < n; row += run) {
        uint64_t words[WORDS] = {0};
        uint8_t bytes[64];
        run = n - row < BLOCK ? n - row : BLOCK;
        read_words(rows, row, run, words);
        if (count) valid += ones(words);
        for (int64_t i = 0; i < run; i += 64, to += 64 * step) {
            if (step == 1 && run - i >= 64) {
                if (stream)
                    lend_spread(to, words[i >> 6], 1);
                else
                    lend_spread(to, words[i >> 6], 0);
            } else {
                lend_spread(bytes, words[i >> 6], 0);
                lend_gather(to, step, bytes, 1, 1, 1, run - i < 64 ? run - i : 64);
            }
        }
    }
    if (stream) lend_stream_end();
    return valid;
}

#endif
