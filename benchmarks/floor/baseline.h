/* Kernels for the baseline of the platform are compiled on their own, without -march: see build.sh. */
#pragma once
#include <stdint.h>
#include <stddef.h>

int64_t pack_sse2(const uint8_t *s, uint8_t *d, ptrdiff_t n);

/* the last values of a mask, from i on: whole bytes of bits, the unused ones zero */
static int64_t pack_tail(const uint8_t *s, uint8_t *d, ptrdiff_t i, ptrdiff_t n) {
  int64_t cnt = 0;
  for (ptrdiff_t byte = i >> 3; i < n; byte++) {
    unsigned w = 0;
    for (int bit = 0; bit < 8 && i < n; bit++, i++) w |= (unsigned)(s[i] != 0) << bit;
    d[byte] = w;
    cnt += __builtin_popcount(w);
  }
  return cnt;
}
