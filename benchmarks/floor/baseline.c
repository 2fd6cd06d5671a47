#include "baseline.h"
#include <emmintrin.h>
#include <string.h>

/* SSE2 has no popcnt: the zeros are counted in bytes, 255 steps at most, then summed */
int64_t pack_sse2(const uint8_t *s, uint8_t *d, ptrdiff_t n) {
  __m128i z = _mm_setzero_si128(), total = z;
  ptrdiff_t i = 0;
  int64_t zeros = 0;
  while (i + 16 <= n) {
    __m128i acc = z;
    for (int step = 0; step < 255 && i + 16 <= n; step++, i += 16) {
      __m128i eq = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(s + i)), z);
      uint16_t w = ~(uint16_t)_mm_movemask_epi8(eq);
      memcpy(d + (i >> 3), &w, 2);
      acc = _mm_sub_epi8(acc, eq);
    }
    total = _mm_add_epi64(total, _mm_sad_epu8(acc, z));
  }
  zeros = _mm_cvtsi128_si64(total) + _mm_cvtsi128_si64(_mm_unpackhi_epi64(total, total));
  return i - zeros + pack_tail(s, d, i, n);
}
