"""Arrow's format strings of numbers, timestamps without a zone and durations, read; arrow_format.py has the rest."""
from libc.stdint cimport uint8_t, uint16_t

from lend.dtypes.code cimport (
    KIND_DATETIME, KIND_FLOAT, KIND_INT, KIND_TIMEDELTA, KIND_UINT, NATIVE_ORDER, UNIT_ms, UNIT_ns, UNIT_s, UNIT_us,
    Code, make_code,
)


cdef inline bint code_of_format(const char* format, Code* code) noexcept nogil:
    """Read a format of fixed width that one element of a View can have; False: it is another, or none."""
    cdef char letter = format[0]
    cdef uint8_t kind = KIND_INT
    cdef uint8_t unit = UNIT_s
    cdef uint16_t bits = 0
    if letter == 0:
        return False
    if format[1] == 0:
        if letter == c"e" or letter == c"f" or letter == c"g":
            kind = KIND_FLOAT
            bits = <uint16_t>(16 << (letter - c"e"))
        else:
            if c"A" <= letter <= c"Z":
                kind = KIND_UINT
                letter += 32
            if letter == c"c":
                bits = 8
            elif letter == c"s":
                bits = 16
            elif letter == c"i":
                bits = 32
            elif letter == c"l":
                bits = 64
        if bits:
            code[0] = make_code(kind, bits)
        return bits != 0
    if letter != c"t" or (format[1] != c"s" and format[1] != c"D"):
        return False
    if format[2] == c"m":
        unit = UNIT_ms
    elif format[2] == c"u":
        unit = UNIT_us
    elif format[2] == c"n":
        unit = UNIT_ns
    elif format[2] != c"s":
        return False
    kind = KIND_TIMEDELTA
    if format[1] == c"s":
        kind = KIND_DATETIME
        if format[3] != c":" or format[4] != 0:
            return False
    elif format[3] != 0:
        return False
    code[0] = make_code(kind, 64, 1, NATIVE_ORDER | unit)
    return True
