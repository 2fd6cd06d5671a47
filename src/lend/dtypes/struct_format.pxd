"""Spelling 1 of 5: the struct format of the buffer protocol (PEP 3118), read and written.

The table below lives once and serves both ways. Sizes are taken from the itemsize that comes with the format, because
producers mix the standard and the native sizes (ctypes writes `<l` for a long of eight bytes). Fixed bytes and text
(`10s`, `5w`) and object pointers are read and written here; records, subarrays and repeat counts in record_format.py,
which is asked when the reader here answers False.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, strcmp, strlen

from lend.dtypes.code cimport (
    KIND_BFLOAT, KIND_BYTES, KIND_COMPLEX, KIND_FLOAT, KIND_OBJECT, KIND_OPAQUE, KIND_TEXT, KIND_UINT,
    NATIVE_ORDER, ORDER_BIG, Code, code_is_swapped, code_itemsize, make_code,
)
from lend.dtypes.digits cimport read_digits, write_digits

cdef extern from * nogil:
    """
    #ifndef LEND_STRUCT_FORMAT
    #define LEND_STRUCT_FORMAT
    #include <stdint.h>
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define LEND_SWAPPED_PREFIX "<"
    #else
    #define LEND_SWAPPED_PREFIX ">"
    #endif
    typedef struct {
        uint8_t kind;        /* KIND_... of code.pxd */
        uint8_t standard;    /* size after = < > !; 0: the letter has none */
        uint8_t native;      /* size after @ ^ or nothing; 0: no such letter */
        const char *text;    /* as it is written in this machine's order */
        const char *swapped; /* and in the other */
    } lend_format_row;
    #define LEND_FORMAT(kind, standard, native, text) \\
        {kind, (uint8_t)(standard), (uint8_t)(native), text, LEND_SWAPPED_PREFIX text}
    static const lend_format_row lend_formats[128] = {
        ['?'] = LEND_FORMAT(1, 1, 1, "?"),
        ['b'] = LEND_FORMAT(2, 1, 1, "b"),
        ['B'] = LEND_FORMAT(3, 1, 1, "B"),
        ['h'] = LEND_FORMAT(2, 2, sizeof(short), "h"),
        ['H'] = LEND_FORMAT(3, 2, sizeof(short), "H"),
        ['i'] = LEND_FORMAT(2, 4, sizeof(int), "i"),
        ['I'] = LEND_FORMAT(3, 4, sizeof(int), "I"),
        ['l'] = LEND_FORMAT(2, 4, sizeof(long), "l"),
        ['L'] = LEND_FORMAT(3, 4, sizeof(long), "L"),
        ['q'] = LEND_FORMAT(2, 8, sizeof(long long), "q"),
        ['Q'] = LEND_FORMAT(3, 8, sizeof(long long), "Q"),
        ['n'] = LEND_FORMAT(2, 0, sizeof(void *), "n"),
        ['N'] = LEND_FORMAT(3, 0, sizeof(void *), "N"),
        ['P'] = LEND_FORMAT(3, 0, sizeof(void *), "P"),
        ['e'] = LEND_FORMAT(4, 2, 2, "e"),
        ['f'] = LEND_FORMAT(4, 4, 4, "f"),
        ['d'] = LEND_FORMAT(4, 8, 8, "d"),
        ['g'] = LEND_FORMAT(4, sizeof(long double), sizeof(long double), "g"),
        /* complex: rows of Ze Zf Zd Zg; F D G are read as well and never written */
        ['E'] = LEND_FORMAT(6, 4, 4, "Ze"),
        ['F'] = LEND_FORMAT(6, 8, 8, "Zf"),
        ['D'] = LEND_FORMAT(6, 16, 16, "Zd"),
        ['G'] = LEND_FORMAT(6, 2 * sizeof(long double), 2 * sizeof(long double), "Zg"),
    };
    /* the order in which a writer looks: the first letter of the right kind and size wins (int64 is l, else q) */
    static const char lend_format_choice[] = "?bBhHiIlLqQefdgEFDG";
    #endif
    """
    ctypedef struct FormatRow "lend_format_row":
        uint8_t kind
        uint8_t standard
        uint8_t native
        const char* text
        const char* swapped
    const FormatRow FORMATS "lend_formats"[128]
    const char FORMAT_CHOICE "lend_format_choice"[]


cdef inline const FormatRow* format_row(const char* text) noexcept nogil:
    """The row of one code (no prefix, nothing after it), or NULL."""
    cdef uint8_t letter = <uint8_t>text[0]
    if letter == c'Z':
        letter = <uint8_t>text[1]
        if letter != c'e' and letter != c'f' and letter != c'd' and letter != c'g':
            return NULL
        letter -= 32
        text += 1
    elif letter == c'E' or letter >= 128:
        return NULL
    if FORMATS[letter].native == 0 or text[1] != 0:
        return NULL
    return &FORMATS[letter]


cdef inline bint format_order(const char** text, uint8_t* order, bint* standard) noexcept nogil:
    """Step over the prefix, if there is one; True if there was."""
    cdef char prefix = text[0][0]
    order[0] = NATIVE_ORDER
    standard[0] = False
    if prefix == c'<':
        order[0] = 0
        standard[0] = True
    elif prefix == c'>' or prefix == c'!':
        order[0] = ORDER_BIG
        standard[0] = True
    elif prefix == c'=':
        standard[0] = True
    elif prefix != c'@' and prefix != c'^':
        return False
    text[0] += 1
    return True


cdef inline bint code_from_counted(const char* text, uint8_t order, Code* out) noexcept nogil:
    """Read `7x`, `10s`, `c`, `5w` or `O` (no prefix): what a count is the length of, and pointers."""
    cdef uint64_t count = 1
    cdef const char* at = text
    if c'0' <= text[0] <= c'9':
        at = read_digits(text, text + strlen(text), 0xFFFFFFFFU, &count)
        if at == NULL:
            return False
    if at[0] == 0 or at[1] != 0:
        return False
    if at[0] == c'x':
        out[0] = make_code(KIND_OPAQUE, 0, <uint32_t>count, 0)
    elif at[0] == c's' or (at[0] == c'c' and at == text):
        out[0] = make_code(KIND_BYTES, 8, <uint32_t>count, 0)
    elif at[0] == c'w' and count < 0x40000000:
        out[0] = make_code(KIND_TEXT, 32, <uint32_t>count, order)
    elif at[0] == c'O' and at == text:
        out[0] = make_code(KIND_OBJECT, 64)
    else:
        return False
    return True


cdef inline Py_ssize_t size_from_format(const char* format) noexcept nogil:
    """Bytes of an element as the format itself says, for a caller without an itemsize; -1 if not understood."""
    cdef const char* text = format
    cdef uint8_t order
    cdef bint standard
    cdef Code code
    cdef const FormatRow* row
    if format == NULL:
        return 1
    if strcmp(format, "bfloat16") == 0:
        return 2
    format_order(&text, &order, &standard)
    row = format_row(text)
    if row == NULL:
        return code_itemsize(code) if code_from_counted(text, order, &code) else -1
    return row.standard if standard and row.standard else row.native


cdef inline bint code_from_letter(const char* format, Py_ssize_t itemsize, Code* out) noexcept nogil:
    """Read one letter in native order, as nearly every producer writes; False: ask code_from_format."""
    cdef const FormatRow* row
    if format == NULL or format[0] <= 0 or format[1] != 0:
        return False
    row = &FORMATS[<uint8_t>format[0]]
    if row.native != itemsize or itemsize == 0 or row.kind == KIND_COMPLEX:
        return False
    out.kind = row.kind
    out.order_unit = NATIVE_ORDER if itemsize > 1 else 0
    out.bits = <uint16_t>(itemsize * 8)
    out.param = 1
    return True


cdef inline bint code_from_format(const char* format, Py_ssize_t itemsize, Code* out) noexcept nogil:
    """Read a format; True if understood. NULL says unsigned bytes, or bytes without a meaning if they come wider."""
    cdef const char* text = format
    cdef uint8_t order
    cdef bint standard
    cdef const FormatRow* row
    if itemsize < 0 or <uint64_t>itemsize > 0xFFFFFFFFU:
        return False
    if format == NULL:
        out[0] = make_code(KIND_UINT, 8, 1, 0) if itemsize == 1 else make_code(KIND_OPAQUE, 0, <uint32_t>itemsize, 0)
        return True
    format_order(&text, &order, &standard)
    row = format_row(text)
    if row != NULL:
        if itemsize == 0 or (itemsize != row.native and itemsize != row.standard):
            return False
        out[0] = make_code(row.kind, <uint16_t>(itemsize * 8), 1, order)
        return True
    if code_from_counted(text, order, out):
        return code_itemsize(out[0]) == itemsize
    if itemsize == 2 and strcmp(format, "bfloat16") == 0:  # mlx writes the name
        out[0] = make_code(KIND_BFLOAT, 16, 1, NATIVE_ORDER)
        return True
    return False


cdef inline const char* format_from_code(Code code) noexcept nogil:
    """The format as a static string; NULL where the protocol has none, and for opaque bytes (see write_format)."""
    cdef const FormatRow* row
    cdef const char* choice = FORMAT_CHOICE
    cdef Py_ssize_t size = code.bits >> 3
    cdef bint swapped
    if code.kind == KIND_OPAQUE or code.kind > KIND_COMPLEX or code.param != 1:
        return NULL
    swapped = code_is_swapped(code)
    # where the letters of a kind begin: floats behind the integers, complex numbers behind the floats
    if code.kind == KIND_FLOAT:
        choice = FORMAT_CHOICE + 11
    elif code.kind == KIND_COMPLEX:
        choice = FORMAT_CHOICE + 15
    while choice[0] != 0:
        row = &FORMATS[<uint8_t>choice[0]]
        if row.kind == code.kind and size == (row.standard if swapped else row.native):
            return row.swapped if swapped else row.text
        choice += 1
    return NULL


cdef inline int write_format(Code code, char* buf) noexcept nogil:
    """Write the format and a NUL into `buf` (24 bytes or more); its length, or -1: there is none, or it is a record."""
    cdef const char* text
    cdef int length = 0
    if code.kind == KIND_OBJECT:
        memcpy(buf, b"O", 2)
        return 1
    if code.kind == KIND_OPAQUE or code.kind == KIND_BYTES or code.kind == KIND_TEXT:
        if code_is_swapped(code):
            buf[0] = <char>(c'<' if NATIVE_ORDER else c'>')
            length = 1
        length += write_digits(buf + length, code.param)
        buf[length] = <char>(c'x' if code.kind == KIND_OPAQUE else c's' if code.kind == KIND_BYTES else c'w')
        buf[length + 1] = 0
        return length + 1
    text = format_from_code(code)
    if text == NULL:
        return -1
    length = <int>strlen(text)
    memcpy(buf, text, length + 1)
    return length


cdef inline bint format_holds_objects(const char* format) noexcept nogil:
    """True when a struct format has object pointers in it: their bytes are nobody's to lend."""
    cdef bint in_name = False
    while format is not NULL and format[0]:
        if format[0] == c":":
            in_name = not in_name
        elif not in_name and (format[0] == c"O" or format[0] == c"&"):
            return True
        format += 1
    return False
