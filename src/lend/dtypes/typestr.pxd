"""Spelling 2 of 5: the typestr of the array interfaces (`<i4`, `|b1`, `<M8[25s]`, `|V7`), read and written.

Kinds b i u f c m M V S U O. Bits (t) are not understood: the reader answers False and the caller refuses by name. `V2`
stays opaque: that it may be a bfloat16 only the producer's dtype can tell, that it may be a record only `descr`.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, strlen

from lend.dtypes.code cimport (
    KIND_BOOL, KIND_BYTES, KIND_COMPLEX, KIND_DATETIME, KIND_FLOAT, KIND_INT, KIND_OBJECT, KIND_OPAQUE, KIND_RECORD,
    KIND_TEXT, KIND_TIMEDELTA, KIND_UINT, NATIVE_ORDER, ORDER_BIG, UNIT_GENERIC,
    UNIT_MASK, Code, code_has_lanes, code_itemsize, code_swap_size, make_code,
)
from lend.dtypes.digits cimport read_digits, write_digits

cdef extern from * nogil:
    """
    #ifndef LEND_TYPESTR
    #define LEND_TYPESTR
    /* by the UNIT_... numbers of code.pxd */
    static const char *const lend_units[14] = {
        "", "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as",
    };
    /* the letter of each KIND_...; 0: none */
    static const char lend_typestr_kinds[17] = {
        'V', 'b', 'i', 'u', 'f', 0, 'c', 'M', 'm', 0, 'S', 'U', 'O', 'V',
    };
    #endif
    """
    const char* const UNITS "lend_units"[14]
    const char TYPESTR_KINDS "lend_typestr_kinds"[17]

cdef enum:
    UNIT_COUNT = 14
    TYPESTR_COUNT = 14
    MULTIPLIER_LIMIT = 0x7FFFFFFF  # a C int in NumPy


cdef inline bint typestr_size_fits(uint8_t kind, uint64_t size) noexcept nogil:
    """True if an element of this kind may take so many bytes in a typestr."""
    if kind == KIND_OPAQUE or kind == KIND_RECORD or kind == KIND_BYTES:
        return True
    if kind == KIND_TEXT:
        return size <= 0xFFFFFFFFU and size % 4 == 0
    if kind == KIND_BOOL:
        return size == 1
    if kind == KIND_INT or kind == KIND_UINT:
        return size == 1 or size == 2 or size == 4 or size == 8 or size == 16
    if kind == KIND_FLOAT:
        return size == 2 or size == 4 or size == 8 or size == sizeof(long double)
    if kind == KIND_COMPLEX:
        return size == 8 or size == 16 or size == 2 * sizeof(long double)
    return size == 8


cdef inline bint read_unit(const char* text, const char* end, uint8_t* unit, uint32_t* multiplier) noexcept nogil:
    """Read the inside of `[25s]`: a unit, with or without a multiplier before it."""
    cdef uint64_t count = 1
    cdef uint8_t i
    if text < end and c'0' <= text[0] <= c'9':
        text = read_digits(text, end, MULTIPLIER_LIMIT, &count)
        if text == NULL or count == 0:
            return False
    for i in range(1, UNIT_COUNT):
        if <size_t>(end - text) == strlen(UNITS[i]) and memcmp(text, UNITS[i], strlen(UNITS[i])) == 0:
            unit[0] = i
            multiplier[0] = <uint32_t>count
            return True
    return False


cdef inline int write_unit(char* buf, uint8_t unit, uint32_t multiplier) noexcept nogil:
    """Write `[25s]`, or nothing for the generic unit, without a NUL; returns the number of characters."""
    cdef int length = 0
    cdef int width
    if unit == UNIT_GENERIC or unit >= UNIT_COUNT:
        return 0
    buf[0] = c'['
    length = 1
    if multiplier != 1:
        length += write_digits(buf + length, multiplier)
    width = <int>strlen(UNITS[unit])
    memcpy(buf + length, UNITS[unit], width)
    length += width
    buf[length] = c']'
    return length + 1


cdef inline bint code_from_typestr(const char* s, Py_ssize_t n, Code* out) noexcept nogil:
    """Read `n` characters; True if understood. An order of `|`, `=` or none is this machine's, as in NumPy."""
    cdef const char* end = s + n
    cdef uint8_t order = NATIVE_ORDER
    cdef uint8_t kind = 0, unit = UNIT_GENERIC
    cdef uint32_t multiplier = 1
    cdef uint64_t size
    if n < 2 or s == NULL:
        return False
    if s[0] == c'<' or s[0] == c'>' or s[0] == c'|' or s[0] == c'=':
        if s[0] == c'<':
            order = 0
        elif s[0] == c'>':
            order = ORDER_BIG
        s += 1
    while kind < TYPESTR_COUNT and (TYPESTR_KINDS[kind] == 0 or TYPESTR_KINDS[kind] != s[0]):
        kind += 1
    if kind == TYPESTR_COUNT:
        return False
    if kind == KIND_OBJECT:  # NumPy writes no size; pandas writes 08 for its own types, which are no pointers alone
        out[0] = make_code(KIND_OBJECT, 64)
        return s + 1 == end or (s + 2 == end and s[1] == c'8')
    s = read_digits(s + 1, end, 0xFFFFFFFFU, &size)
    if s == NULL or not typestr_size_fits(kind, 4 * size if kind == KIND_TEXT else size):
        return False
    if (kind == KIND_DATETIME or kind == KIND_TIMEDELTA) and s < end:
        if s[0] != c'[' or (end - 1)[0] != c']' or not read_unit(s + 1, end - 1, &unit, &multiplier):
            return False
        s = end
    if s != end:
        return False
    if kind == KIND_OPAQUE:
        out[0] = make_code(KIND_OPAQUE, 0, <uint32_t>size, 0)
    elif kind == KIND_BYTES or kind == KIND_TEXT:
        out[0] = make_code(kind, 8 if kind == KIND_BYTES else 32, <uint32_t>size, order)
    else:
        out[0] = make_code(kind, <uint16_t>(size * 8), multiplier, order | unit)
    return True


cdef inline int write_typestr(Code code, char* buf) noexcept nogil:
    """Write the typestr and a NUL into `buf` (40 bytes or more); its length, or -1 where the interfaces have none."""
    cdef uint64_t size = <uint64_t>code_itemsize(code)
    cdef bint timed = code.kind == KIND_DATETIME or code.kind == KIND_TIMEDELTA
    cdef int length
    if code.kind >= TYPESTR_COUNT or TYPESTR_KINDS[code.kind] == 0 or not typestr_size_fits(code.kind, size):
        return -1
    if code_has_lanes(code) and code.param != 1:
        return -1
    buf[0] = c'|'
    if code_swap_size(code) > 1:
        buf[0] = c'>' if code.order_unit & ORDER_BIG else c'<'
    buf[1] = TYPESTR_KINDS[code.kind]
    if code.kind == KIND_OBJECT:
        buf[0] = c'|'
        buf[2] = 0
        return 2
    length = 2 + write_digits(buf + 2, code.param if code.kind == KIND_TEXT else size)
    if timed:
        length += write_unit(buf + length, code.order_unit & UNIT_MASK, code.param)
    buf[length] = 0
    return length
