/* The kernels: what turns one form of a column into another. Host memory only, no GIL, no allocation; the caller
 * gives the output, which overlaps no input. No address has to be aligned. Each input is read once, and no byte of it
 * beyond the last element; of the output nothing is written but what is told. Byte order is the machine's.
 *
 * Lengths n are counts of elements or bits, never negative; steps are bytes from one element to the next and may be
 * negative or 0. Bitmaps are Arrow's: the lowest bit of a byte first, 1 is valid. Where a kernel writes bits at
 * position `at`, those before it in its byte stay as they are, and those past the last in its byte become 0: a bitmap
 * is made by appends in order. Counts are counts of zeros in what was, or would have been, written: of nulls.
 *
 * Where a kernel asks which elements are valid, it gets a mask. NULL: all are; step 0: bits, from bit `at` on; else
 * bytes, `step` apart, where all but 0 counts as true. True is valid, or null if `invert` is 1.
 *
 * Rows that are wrong are told by their number, the first of them; -1 says that none is. */
#ifndef LEND_KERNELS_H
#define LEND_KERNELS_H

#include <stdint.h>

typedef struct {
    const void *data;
    int64_t at, step;
    int invert;
} lend_mask;

/* bytes to bits; the count of zeros. All but 0 counts as true */
int64_t lend_bytes_to_bits(void *to, int64_t at, const void *from, int64_t step, int invert, int64_t n);
/* bits to bytes of 0 or 1, `step` apart */
void lend_bits_to_bytes(void *to, int64_t step, const void *from, int64_t offset, int invert, int64_t n);
/* bits to bits at another position; the count of zeros. `from` NULL: as if all were 1. `to` NULL: only count */
int64_t lend_copy_bits(void *to, int64_t at, const void *from, int64_t offset, int invert, int64_t n);
/* valid in both, either of which may be NULL; the count of zeros */
int64_t lend_and_bits(void *to, int64_t at, const void *a, int64_t a_offset, const void *b, int64_t b_offset,
                      int64_t n);

/* What stands for null among the values: `kind` of lend_nulls_to_bits; `value` points to an element, or is NULL for
 * NaN. Floats are compared as floats are: -0 is 0, and where the value is a NaN, any NaN is meant. */
enum { LEND_AS_INTEGER = 0, LEND_AS_FLOAT = 1, LEND_AS_BFLOAT = 2 };
/* elements of 1, 2, 4, 8 bytes (floats: 2, 4, 8) to bits; the count of nulls. While there is none, nothing is
 * written, so if it is 0, `to` is as it was. `to` may be NULL: only count */
int64_t lend_nulls_to_bits(void *to, int64_t at, const void *from, int64_t step, int size, int kind, const void *value,
                           int64_t n);
/* the same to bytes, 1 where null, or where valid if `invert`; the count of nulls. These are always written */
int64_t lend_nulls_to_bytes(void *to, int64_t to_step, const void *from, int64_t step, int size, int kind,
                            const void *value, int invert, int64_t n);

/* elements of any size; `swap`: bytes of the units (1: none) whose bytes are reversed, a divisor of the size */
void lend_gather(void *to, int64_t to_step, const void *from, int64_t step, int64_t size, int64_t swap, int64_t n);
/* a contiguous copy that holds *value where the mask says null; elements of any size */
void lend_fill_nulls(void *to, const void *from, int64_t step, int64_t size, lend_mask mask, const void *value,
                     int64_t n);
/* integers of 1, 2, 4, 8 bytes to float64 with the float64 at `null` under nulls; the first valid row beyond 2**53,
 * which has no exact float64: the output then means nothing */
int64_t lend_to_float64(void *to, const void *from, int64_t step, int size, int is_signed, lend_mask mask,
                        const void *null, int64_t n);

/* int32 to int64, less `base` */
void lend_widen(void *to, const void *from, int64_t step, int64_t base, int64_t n);
/* int64 to int32, less `base`. LEND_ENDS: offsets, whose first and last are looked at before anything is written;
 * LEND_MONOTONE: that, and none may fall below the one before it; LEND_EACH: any numbers, each must fit, but for the
 * least int64 (NaT), which becomes the least int32 */
enum { LEND_ENDS = 0, LEND_MONOTONE = 1, LEND_EACH = 2 };
int64_t lend_narrow(void *to, const void *from, int64_t step, int64_t base, int check, int64_t n);
/* offsets of 4 or 8 bytes: the first that is negative or less than the one before it */
int64_t lend_check_offsets(const void *from, int size, int64_t n);

/* indices of 1, 2, 4, 8 bytes: the first valid one that is not in [0, limit) */
int64_t lend_check_indices(const void *from, int64_t step, int size, int is_signed, lend_mask mask, int64_t limit,
                           int64_t n);
/* map[old] of int32 for each valid index, to indices of another width; what is null keeps its number, as far as 32
 * bits and the new width hold it. The first valid row that is not in [0, limit): the output then means nothing */
int64_t lend_remap(void *to, int to_size, const void *from, int64_t step, int size, int is_signed, lend_mask mask,
                   const void *map, int64_t limit, int64_t n);

#endif
