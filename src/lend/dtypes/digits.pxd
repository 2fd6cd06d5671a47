"""Decimal numbers inside the spellings: read with a limit, written without the C library."""
from libc.stdint cimport uint64_t


cdef inline const char* read_digits(
    const char* text, const char* end, uint64_t limit, uint64_t* out
) noexcept nogil:
    """Read one decimal number of at most `limit` (below 2**60); the place after it, or NULL for none or too large."""
    cdef uint64_t value = 0
    cdef const char* at = text
    while at < end and c'0' <= at[0] <= c'9':
        value = value * 10 + <uint64_t>(at[0] - c'0')
        if value > limit:
            return NULL
        at += 1
    if at == text:
        return NULL
    out[0] = value
    return at


cdef inline int write_digits(char* buf, uint64_t value) noexcept nogil:
    """Write `value` in decimal, without a closing NUL; returns the number of characters (at most 20)."""
    cdef char reverse[20]
    cdef int count = 0, i
    while True:
        reverse[count] = <char>(c'0' + <int>(value % 10))
        value = value // 10
        count += 1
        if value == 0:
            break
    for i in range(count):
        buf[i] = reverse[count - 1 - i]
    return count
