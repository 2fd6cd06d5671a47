/* What kernels.c wants of the platform: stores that go past the cache, and the moves between bits and bytes, for
 * which no compiler finds the instructions by itself. Baseline only: SSE2 on x86-64, NEON on 64-bit ARM (stores),
 * plain C elsewhere; nothing is chosen at run time. LEND_PLAIN_STORES asks for plain C on any platform. */
#ifndef LEND_STORES_H
#define LEND_STORES_H

#include <stdint.h>
#include <string.h>

#if !defined(LEND_PLAIN_STORES) && (defined(__x86_64__) || defined(_M_X64))
#define LEND_SSE2
#include <emmintrin.h>
#elif !defined(LEND_PLAIN_STORES) && defined(__aarch64__) && defined(__GNUC__) && !defined(__AARCH64EB__)
#define LEND_NEON
#endif

#if defined(__GNUC__)
/* called with constants, for each of which a loop is built */
#define LEND_INLINE static inline __attribute__((always_inline))
#elif defined(_MSC_VER)
#define LEND_INLINE static __forceinline
#else
#define LEND_INLINE static inline
#endif

/* Outputs from so many bytes on go past the cache: about the second level, beyond which a consumer would not find them
 * there anyway. What streams is aligned to 16. */
#ifndef LEND_STREAM_FROM
#define LEND_STREAM_FROM (1 << 21)
#endif

LEND_INLINE uint64_t lend_little(uint64_t x) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(x);
#else
    return x;
#endif
}

/* eight bytes, the first of them the lowest */
LEND_INLINE uint64_t lend_get8(const void *at) {
    uint64_t x;
    memcpy(&x, at, 8);
    return lend_little(x);
}
LEND_INLINE void lend_put8(void *at, uint64_t x) {
    x = lend_little(x);
    memcpy(at, &x, 8);
}

LEND_INLINE void lend_stream4(void *to, uint32_t x) {
#if defined(LEND_SSE2)
    _mm_stream_si32((int *)to, (int)x);
#else
    memcpy(to, &x, 4);
#endif
}

LEND_INLINE void lend_stream8(void *to, uint64_t x) {
#if defined(LEND_SSE2)
    _mm_stream_si64((long long *)to, (long long)x);
#elif defined(LEND_NEON)
    __asm__ volatile("stnp %w1, %w2, [%0]" : : "r"(to), "r"(x), "r"(x >> 32) : "memory");
#else
    memcpy(to, &x, 8);
#endif
}

#if defined(LEND_SSE2)
LEND_INLINE void lend_put16(uint8_t *to, __m128i x, int stream) {
    if (stream)
        _mm_stream_si128((__m128i *)to, x);
    else
        _mm_storeu_si128((__m128i *)to, x);
}
#endif

/* after the last of them: streamed stores are in no order with others until then */
LEND_INLINE void lend_stream_end(void) {
#if defined(LEND_SSE2)
    _mm_sfence();
#endif
}

/* Asks for what will be read some pages on, if it is there, as 64 elements are taken now: loops that do more than
 * load are seen too late by the processor's own look ahead. */
#ifndef LEND_AHEAD
#define LEND_AHEAD 4096
#endif
LEND_INLINE void lend_ahead(const void *from, int size) {
#if defined(__GNUC__)
    for (int i = 0; i < size; i++) __builtin_prefetch((const void *)((uintptr_t)from + LEND_AHEAD + 64 * (uintptr_t)i));
#else
    (void)from, (void)size;
#endif
}

static inline int lend_streams(const void *to, int64_t size) {
    return ((uintptr_t)to & 15) == 0 && size >= LEND_STREAM_FROM;
}

/* one element of 1, 2, 4, 8 or 16 bytes, as numbers */
typedef struct {
    uint64_t low, high;
} lend_item;

LEND_INLINE lend_item lend_load(const void *at, int size) {
    lend_item x = {0, 0};
    uint32_t x4;
    uint16_t x2;
    if (size == 16) memcpy(&x, at, 16);
    if (size == 8) memcpy(&x.low, at, 8);
    if (size == 4) memcpy(&x4, at, 4), x.low = x4;
    if (size == 2) memcpy(&x2, at, 2), x.low = x2;
    if (size == 1) x.low = *(const uint8_t *)at;
    return x;
}

LEND_INLINE void lend_store(uint8_t *at, lend_item x, int size, int stream) {
    const uint32_t x4 = (uint32_t)x.low;
    const uint16_t x2 = (uint16_t)x.low;
    if (stream && size == 4) {
        lend_stream4(at, x4);
    } else if (stream && size >= 8) {
        lend_stream8(at, x.low);
        if (size == 16) lend_stream8(at + 8, x.high);
    } else if (size >= 8) {
        memcpy(at, &x, (size_t)size);
    } else if (size == 4) {
        memcpy(at, &x4, 4);
    } else if (size == 2) {
        memcpy(at, &x2, 2);
    } else {
        *at = (uint8_t)x.low;
    }
}

/* 64 bits to as many bytes of 0 or 1 */
LEND_INLINE void lend_spread(uint8_t *to, uint64_t bits, int stream) {
#if defined(LEND_SSE2)
    const __m128i each = _mm_set1_epi64x((long long)0x8040201008040201), one = _mm_set1_epi8(1);
    __m128i x = _mm_cvtsi64_si128((long long)bits), low, high, v[4];
    x = _mm_unpacklo_epi8(x, x);
    low = _mm_unpacklo_epi16(x, x);
    high = _mm_unpackhi_epi16(x, x);
    v[0] = _mm_unpacklo_epi32(low, low);
    v[1] = _mm_unpackhi_epi32(low, low);
    v[2] = _mm_unpacklo_epi32(high, high);
    v[3] = _mm_unpackhi_epi32(high, high);
#define LEND_SPREAD(store, i) store((__m128i *)to + i, _mm_min_epu8(_mm_and_si128(v[i], each), one))
    if (stream) {
        LEND_SPREAD(_mm_stream_si128, 0);
        LEND_SPREAD(_mm_stream_si128, 1);
        LEND_SPREAD(_mm_stream_si128, 2);
        LEND_SPREAD(_mm_stream_si128, 3);
    } else {
        LEND_SPREAD(_mm_storeu_si128, 0);
        LEND_SPREAD(_mm_storeu_si128, 1);
        LEND_SPREAD(_mm_storeu_si128, 2);
        LEND_SPREAD(_mm_storeu_si128, 3);
    }
#undef LEND_SPREAD
#else
    for (int i = 0; i < 64; i += 8, bits >>= 8) {
        uint64_t x = (bits & 0xff) * 0x0101010101010101 & 0x8040201008040201;
        x = (x + 0x00406070787c7e7f) >> 7 & 0x0101010101010101;
        if (stream)
            lend_stream8(to + i, lend_little(x));
        else
            lend_put8(to + i, x);
    }
#endif
}

/* What was made of n rows, 64 at most, of some size: nothing is to be done if it was made in place. */
static void lend_flush(uint8_t *to, const void *from, int size, int64_t n, int stream) {
    if (to == from) return;
    size *= (int)n;
    if (!stream || n < 64) {
        memcpy(to, from, (size_t)size);
        return;
    }
    for (int i = 0; i < size; i += 16) {
#if defined(LEND_SSE2)
        _mm_stream_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)((const uint8_t *)from + i)));
#else
        uint64_t x[2];
        memcpy(x, (const uint8_t *)from + i, 16);
        lend_stream8(to + i, x[0]);
        lend_stream8(to + i + 8, x[1]);
#endif
    }
}

/* 64 elements of 1, 2, 4 or 8 bytes, and where the bit of one is 0, `value`, which is repeated to 16 bytes */
#if defined(LEND_SSE2)
LEND_INLINE __m128i lend_mask8(uint64_t word) { /* the lowest bits as lanes of 8 bytes, of 4, of 2, of 1 */
    static const int64_t pairs[4][2] = {{0, 0}, {-1, 0}, {0, -1}, {-1, -1}};
    return _mm_loadu_si128((const __m128i *)pairs[word & 3]);
}
LEND_INLINE __m128i lend_mask4(uint64_t word) {
    __m128 low = _mm_castsi128_ps(lend_mask8(word)), high = _mm_castsi128_ps(lend_mask8(word >> 2));
    return _mm_castps_si128(_mm_shuffle_ps(low, high, 0x88));
}
LEND_INLINE __m128i lend_mask2(uint64_t word) { return _mm_packs_epi32(lend_mask4(word), lend_mask4(word >> 4)); }
LEND_INLINE __m128i lend_mask1(uint64_t word) { return _mm_packs_epi16(lend_mask2(word), lend_mask2(word >> 8)); }
#endif
LEND_INLINE void lend_select(uint8_t *to, const uint8_t *from, uint64_t word, const uint8_t *value, int size,
                             int stream) {
#if defined(LEND_SSE2)
    const __m128i v = _mm_loadu_si128((const __m128i *)value);
#define LEND_SELECT(i)                                              \
    x = _mm_loadu_si128((const __m128i *)(from + (i)));             \
    m = size == 8   ? lend_mask8(word)                              \
        : size == 4 ? lend_mask4(word)                              \
        : size == 2 ? lend_mask2(word)                              \
                    : lend_mask1(word);                             \
    word >>= 16 / size;                                             \
    x = _mm_xor_si128(_mm_and_si128(_mm_xor_si128(x, v), m), v);    \
    lend_put16(to + (i), x, stream)
    for (int i = 0; i < 64 * size; i += 32) {
        __m128i x, m;
        LEND_SELECT(i);
        LEND_SELECT(i + 16);
    }
#undef LEND_SELECT
#else
    const uint64_t v = lend_get8(value), one = UINT64_MAX >> (64 - 8 * size);
    for (int i = 0; i < 64 * size; i += 8) {
        uint64_t x = lend_get8(from + i), m = 0;
        for (int k = 0; k < 8; k += size, word >>= 1) m |= (word & 1 ? one : 0) << 8 * k;
        x = lend_little((x & m) | (v & ~m));
        lend_store(to + i, lend_load(&x, 8), 8, stream);
    }
#endif
}

/* 64 integers of 4 or 8 bytes as float64, and `null`, a float64 twice, where the bit of one is 0. Those of 8 bytes
 * are exact from -2**53 to 2**53: their upper halves plus `bias` are ORed into the result. */
LEND_INLINE uint32_t lend_floats(uint8_t *to, const uint8_t *from, int size, uint64_t word, const uint8_t *null,
                                 uint32_t bias, int stream) {
#if defined(LEND_SSE2)
    const __m128i below = _mm_set1_epi64x(0xffffffff), add = _mm_set1_epi32((int)bias);
    const __m128d two52 = _mm_set1_pd(4503599627370496.0), two32 = _mm_set1_pd(4294967296.0);
    const __m128d v = _mm_loadu_pd((const double *)null);
    __m128i any = _mm_setzero_si128();
    /* the upper half times 2**32, and the lower as the last digits of 2**52 */
#define LEND_FLOATS(i)                                                                  \
    if (size == 8) {                                                                    \
        x = _mm_loadu_si128((const __m128i *)from + (i));                               \
        y = _mm_sub_pd(_mm_or_pd(_mm_castsi128_pd(_mm_and_si128(x, below)), two52), two52); \
        x = _mm_shuffle_epi32(x, 0x0d);                                                 \
        any = _mm_or_si128(any, _mm_add_epi32(x, add));                                 \
        y = _mm_add_pd(_mm_mul_pd(_mm_cvtepi32_pd(x), two32), y);                       \
    } else {                                                                            \
        y = _mm_cvtepi32_pd(_mm_loadl_epi64((const __m128i *)(from + 8 * (i))));        \
    }                                                                                   \
    m = _mm_castsi128_pd(lend_mask8(word >> 2 * (i)));                                  \
    y = _mm_xor_pd(_mm_and_pd(_mm_xor_pd(y, v), m), v);                                 \
    lend_put16(to + 16 * (i), _mm_castpd_si128(y), stream)
    for (int i = 0; i < 16; i++, word >>= 4, from += 4 * size, to += 32) {
        __m128i x;
        __m128d y, m;
        LEND_FLOATS(0);
        LEND_FLOATS(1);
    }
#undef LEND_FLOATS
    any = _mm_or_si128(any, _mm_shuffle_epi32(any, 1));
    return (uint32_t)_mm_cvtsi128_si32(any);
#else
    uint32_t any = 0;
    for (int i = 0; i < 64; i++, word >>= 1) {
        const lend_item x = lend_load(from + i * size, size);
        const double y = size == 8 ? (double)(int64_t)x.low : (double)(int32_t)x.low;
        any |= (uint32_t)(x.low >> 32) + bias;
        lend_store(to + 8 * i, lend_load(word & 1 ? (const uint8_t *)&y : null, 8), 8, stream);
    }
    return any;
#endif
}

/* 64 int32 to int64, and back, less `base` */
LEND_INLINE void lend_longer(uint8_t *to, const uint8_t *from, int64_t base, int stream) {
#if defined(LEND_SSE2)
    const __m128i less = _mm_set1_epi64x(base);
    for (int i = 0; i < 16; i++, to += 32) {
        const __m128i x = _mm_loadu_si128((const __m128i *)from + i), sign = _mm_srai_epi32(x, 31);
        lend_put16(to, _mm_sub_epi64(_mm_unpacklo_epi32(x, sign), less), stream);
        lend_put16(to + 16, _mm_sub_epi64(_mm_unpackhi_epi32(x, sign), less), stream);
    }
#else
    for (int i = 0; i < 64; i++) {
        const lend_item x = {(uint64_t)(int32_t)lend_load(from + 4 * i, 4).low - (uint64_t)base, 0};
        lend_store(to + 8 * i, x, 8, stream);
    }
#endif
}
LEND_INLINE void lend_shorter(uint8_t *to, const uint8_t *from, int64_t base, int stream) {
#if defined(LEND_SSE2)
    const __m128i less = _mm_set1_epi64x(base);
    for (int i = 0; i < 16; i++, from += 32) {
        const __m128i x = _mm_sub_epi64(_mm_loadu_si128((const __m128i *)from), less);
        const __m128i y = _mm_sub_epi64(_mm_loadu_si128((const __m128i *)from + 1), less);
        const __m128 z = _mm_shuffle_ps(_mm_castsi128_ps(x), _mm_castsi128_ps(y), 0x88);
        lend_put16(to + 16 * i, _mm_castps_si128(z), stream);
    }
#else
    for (int i = 0; i < 64; i++) {
        const lend_item x = {lend_load(from + 8 * i, 8).low - (uint64_t)base, 0};
        lend_store(to + 4 * i, x, 4, stream);
    }
#endif
}

/* Which of 64 elements of 1, 2, 4 or 8 bytes are equal to `value` under `mask`, or, if `nan`, are beyond it: the
 * value is then the infinity of their type, and the mask all but its sign. A bit for each, the first the lowest. */
#if defined(LEND_SSE2)
LEND_INLINE __m128i lend_compare(const uint8_t *p, int size, int nan, __m128i mask, __m128i value) {
    __m128i x = _mm_loadu_si128((const __m128i *)p);
    if (size == 8 && nan) return _mm_castpd_si128(_mm_cmpunord_pd(_mm_castsi128_pd(x), _mm_castsi128_pd(x)));
    if (size == 1) return _mm_cmpeq_epi8(x, value);
    x = _mm_and_si128(x, mask);
    if (size == 2) return nan ? _mm_cmpgt_epi16(x, value) : _mm_cmpeq_epi16(x, value);
    return nan ? _mm_cmpgt_epi32(x, value) : _mm_cmpeq_epi32(x, value);
}
/* the answers for 4 elements in lanes of 4 bytes, for 8 in lanes of 2, for 16 in bytes */
LEND_INLINE __m128i lend_lanes4(const uint8_t *p, int size, int nan, __m128i mask, __m128i value) {
    __m128 x, y;
    if (size == 4) return lend_compare(p, size, nan, mask, value);
    x = _mm_castsi128_ps(lend_compare(p, size, nan, mask, value));
    y = _mm_castsi128_ps(lend_compare(p + 16, size, nan, mask, value));
    return _mm_castps_si128(_mm_and_ps(_mm_shuffle_ps(x, y, 0x88), _mm_shuffle_ps(x, y, 0xdd)));
}
LEND_INLINE __m128i lend_lanes2(const uint8_t *p, int size, int nan, __m128i mask, __m128i value) {
    if (size == 2) return lend_compare(p, size, nan, mask, value);
    return _mm_packs_epi32(lend_lanes4(p, size, nan, mask, value), lend_lanes4(p + 4 * size, size, nan, mask, value));
}
LEND_INLINE __m128i lend_lanes1(const uint8_t *p, int size, int nan, __m128i mask, __m128i value) {
    if (size == 1) return lend_compare(p, size, nan, mask, value);
    return _mm_packs_epi16(lend_lanes2(p, size, nan, mask, value), lend_lanes2(p + 8 * size, size, nan, mask, value));
}
#endif
LEND_INLINE uint64_t lend_which(const uint8_t *p, int size, int nan, uint64_t mask, uint64_t value) {
    uint64_t word = 0;
#if defined(LEND_SSE2)
    const uint64_t copies = UINT64_MAX / (UINT64_MAX >> (64 - 8 * size)); /* of the value, in 8 bytes */
    const __m128i m = _mm_set1_epi64x((long long)(mask * copies)), v = _mm_set1_epi64x((long long)(value * copies));
#define LEND_FOUND(i) ((uint64_t)(unsigned)_mm_movemask_epi8(lend_lanes1(p + (i) * size, size, nan, m, v)) << (i))
    if (size == 1) return LEND_FOUND(0) | LEND_FOUND(16) | LEND_FOUND(32) | LEND_FOUND(48);
    for (int i = 0; i < 64; i += 16) word |= LEND_FOUND(i);
#undef LEND_FOUND
#else
    uint8_t found[64];
    for (int i = 0; i < 64; i++) {
        const uint64_t x = lend_load(p + i * size, size).low & mask;
        found[i] = nan ? x > value : x == value;
    }
    for (int i = 0; i < 64; i += 8) word |= lend_get8(found + i) * 0x0102040810204080 >> 56 << i;
#endif
    return word;
}

#endif
