"""What an Arrow format string means for memory: which buffers, which children, how wide; read in C, as it comes.

https://arrow.apache.org/docs/format/CDataInterface.html#data-type-description-format-strings
"""
from libc.stdint cimport int8_t, int64_t, uint8_t, uint32_t
from libc.string cimport strcmp, strncmp

from lend.dtypes.code cimport (
    KIND_FLOAT, KIND_INT, KIND_OPAQUE, KIND_UINT, Code, make_code,
)

cdef enum:
    LAYOUT_NULL = 0         # all is null, nothing is stored
    LAYOUT_BITS = 1         # bools of one bit
    LAYOUT_FIXED = 2        # elements of one width; the indices of a dictionary, too
    LAYOUT_OFFSETS = 3      # text or bytes between offsets
    LAYOUT_VIEWS = 4        # text or bytes, short ones in place
    LAYOUT_LIST = 5         # lists between offsets, maps
    LAYOUT_LIST_VIEW = 6    # lists by offset and size
    LAYOUT_FIXED_LIST = 7   # lists of one length
    LAYOUT_STRUCT = 8
    LAYOUT_SPARSE = 9       # unions
    LAYOUT_DENSE = 10
    LAYOUT_RUN_END = 11

    ANY_NUMBER = -1         # of children


ctypedef struct Layout:
    uint8_t kind
    uint8_t buffers         # that every such array has; views have their data and its lengths besides
    int8_t children
    uint32_t width          # bytes of an element or of an offset; elements of a fixed list
    Code code               # of elements of a fixed width, as numbers


cdef inline bint has_validity(int kind) noexcept nogil:
    return kind != LAYOUT_NULL and kind < LAYOUT_SPARSE


cdef inline bint set_layout(Layout* out, uint8_t kind, uint8_t buffers, int8_t children, uint32_t width) noexcept nogil:
    out.kind = kind
    out.buffers = buffers
    out.children = children
    out.width = width
    out.code = make_code(KIND_OPAQUE, 0, width)
    return True


cdef inline bint set_number(Layout* out, uint8_t kind, int bits) noexcept nogil:
    set_layout(out, LAYOUT_FIXED, 2, 0, bits >> 3)
    out.code = make_code(kind, bits)
    return True


cdef inline bint read_layout(const char* text, Layout* out) noexcept nogil:
    """Read a format string; False: it is none that lend knows."""
    cdef int64_t number
    if text[0] == 0:
        return False
    if text[1] == 0:
        return read_letter(text[0], out)
    if text[0] == c'+':
        return read_nested(text + 1, out)
    if text[0] == c't':
        return read_time(text + 1, out)
    if text[0] == c'v' and text[2] == 0 and (text[1] == c'u' or text[1] == c'z'):
        return set_layout(out, LAYOUT_VIEWS, 3, 0, 16)
    if text[0] == c'w' and text[1] == c':':
        number = read_number(text + 2)
        return 0 <= number <= 0x7FFFFFFF and set_layout(out, LAYOUT_FIXED, 2, 0, <uint32_t> number)
    if text[0] == c'd' and text[1] == c':':
        number = decimal_width(text + 2)
        return number and set_layout(out, LAYOUT_FIXED, 2, 0, <uint32_t> number)
    if strcmp(text, "_pli128") == 0 or strcmp(text, "_plu128") == 0:  # of polars
        return set_layout(out, LAYOUT_FIXED, 2, 0, 16)
    return False


cdef inline bint read_letter(char letter, Layout* out) noexcept nogil:
    if letter == c'l':
        return set_number(out, KIND_INT, 64)
    if letter == c'g':
        return set_number(out, KIND_FLOAT, 64)
    if letter == c'i':
        return set_number(out, KIND_INT, 32)
    if letter == c'f':
        return set_number(out, KIND_FLOAT, 32)
    if letter == c'u' or letter == c'z':
        return set_layout(out, LAYOUT_OFFSETS, 3, 0, 4)
    if letter == c'U' or letter == c'Z':
        return set_layout(out, LAYOUT_OFFSETS, 3, 0, 8)
    if letter == c'b':
        return set_layout(out, LAYOUT_BITS, 2, 0, 0)
    if letter == c'c':
        return set_number(out, KIND_INT, 8)
    if letter == c'C':
        return set_number(out, KIND_UINT, 8)
    if letter == c's':
        return set_number(out, KIND_INT, 16)
    if letter == c'S':
        return set_number(out, KIND_UINT, 16)
    if letter == c'I':
        return set_number(out, KIND_UINT, 32)
    if letter == c'L':
        return set_number(out, KIND_UINT, 64)
    if letter == c'e':
        return set_number(out, KIND_FLOAT, 16)
    if letter == c'n':
        return set_layout(out, LAYOUT_NULL, 0, 0, 0)
    return False


cdef inline bint read_time(const char* text, Layout* out) noexcept nogil:
    """What follows the t: dates, times of day, timestamps with a zone, durations, intervals."""
    cdef char kind = text[0]
    cdef char unit = text[1]
    cdef bint known = unit == c's' or unit == c'm' or unit == c'u' or unit == c'n'
    if unit == 0:
        return False
    if kind == c's':
        return known and text[2] == c':' and set_number(out, KIND_INT, 64)
    if text[2] != 0:
        return False
    if kind == c'D':
        return known and set_number(out, KIND_INT, 64)
    if kind == c'd':
        return (unit == c'D' or unit == c'm') and set_number(out, KIND_INT, 32 if unit == c'D' else 64)
    if kind == c't':
        return known and set_number(out, KIND_INT, 32 if unit == c's' or unit == c'm' else 64)
    if kind == c'i' and unit == c'M':
        return set_number(out, KIND_INT, 32)
    if kind == c'i' and unit == c'D':
        return set_layout(out, LAYOUT_FIXED, 2, 0, 8)
    return kind == c'i' and unit == c'n' and set_layout(out, LAYOUT_FIXED, 2, 0, 16)


cdef inline bint read_nested(const char* text, Layout* out) noexcept nogil:
    """What follows the +."""
    cdef int64_t number
    if text[0] == c's' and text[1] == 0:
        return set_layout(out, LAYOUT_STRUCT, 1, ANY_NUMBER, 0)
    if (text[0] == c'l' or text[0] == c'm') and text[1] == 0:
        return set_layout(out, LAYOUT_LIST, 2, 1, 4)
    if text[0] == c'L' and text[1] == 0:
        return set_layout(out, LAYOUT_LIST, 2, 1, 8)
    if text[0] == c'v' and (text[1] == c'l' or text[1] == c'L') and text[2] == 0:
        return set_layout(out, LAYOUT_LIST_VIEW, 3, 1, 4 if text[1] == c'l' else 8)
    if text[0] == c'w' and text[1] == c':':
        number = read_number(text + 2)
        return 0 <= number <= 0x7FFFFFFF and set_layout(out, LAYOUT_FIXED_LIST, 1, 1, <uint32_t> number)
    if text[0] == c'r' and text[1] == 0:
        return set_layout(out, LAYOUT_RUN_END, 0, 2, 0)
    if strncmp(text, "us:", 3) == 0:
        return set_layout(out, LAYOUT_SPARSE, 1, ANY_NUMBER, 1)
    return strncmp(text, "ud:", 3) == 0 and set_layout(out, LAYOUT_DENSE, 2, ANY_NUMBER, 1)


cdef inline int64_t read_number(const char* text) noexcept nogil:
    """A number of decimal digits and nothing else; -1: it is none, or too large for any width."""
    cdef int64_t number = 0
    cdef int i = 0
    while c'0' <= text[i] <= c'9' and i < 11:
        number = number * 10 + (text[i] - c'0')
        i += 1
    return number if i and text[i] == 0 else -1


cdef inline int64_t decimal_width(const char* text) noexcept nogil:
    """Bytes of a decimal by what follows its colon, "P,S" or "P,S,bits"; 0: it is none, or has not so many digits."""
    cdef int64_t digits = 0
    cdef int64_t bits = 128
    cdef int i = 0
    cdef int start
    while c'0' <= text[i] <= c'9' and i < 9:
        digits = digits * 10 + (text[i] - c'0')
        i += 1
    if i == 0 or text[i] != c',':
        return 0
    i += 2 if text[i + 1] == c'-' else 1
    start = i
    while c'0' <= text[i] <= c'9' and i - start < 9:
        i += 1
    if i == start:
        return 0
    if text[i] == c',':
        bits = read_number(text + i + 1)
    elif text[i] != 0:
        return 0
    if bits == 32:
        return 4 if 1 <= digits <= 9 else 0
    if bits == 64:
        return 8 if 1 <= digits <= 18 else 0
    if bits == 128:
        return 16 if 1 <= digits <= 38 else 0
    return 32 if bits == 256 and 1 <= digits <= 76 else 0


cdef inline int count_type_ids(const char* text) noexcept nogil:
    """How many type ids a union of "+ud:..." or "+us:..." names; -1: they are not numbers from 0 to 127, each once."""
    cdef uint8_t seen[128]
    cdef int i, number, digits
    cdef int count = 0
    for i in range(128):
        seen[i] = 0
    text += 4
    if text[0] == 0:
        return 0
    while True:
        number = 0
        digits = 0
        while c'0' <= text[0] <= c'9' and digits < 4:
            number = number * 10 + (text[0] - c'0')
            digits += 1
            text += 1
        if digits == 0 or number > 127 or seen[number]:
            return -1
        seen[number] = 1
        count += 1
        if text[0] == 0:
            return count
        if text[0] != c',':
            return -1
        text += 1
