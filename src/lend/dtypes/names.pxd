"""Names of types, read and written; the tables are those of dtype.pyx."""
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from lend.dtypes.code cimport (
    KIND_BFLOAT, KIND_BOOL, KIND_BYTES, KIND_COMPLEX, KIND_DATETIME, KIND_FLOAT, KIND_HANDLE, KIND_INT, KIND_MINI,
    KIND_OBJECT, KIND_OPAQUE, KIND_RECORD, KIND_SUBINT, KIND_SUBUINT, KIND_TEXT, KIND_TIMEDELTA, KIND_UINT,
    NATIVE_ORDER, ORDER_BIG, UNIT_GENERIC, UNIT_MASK, Code, code_from_word, code_swap_size, code_word, make_code,
)
from lend.dtypes.digits cimport read_digits
from lend.dtypes.dlpack_type cimport DLPACK_FIRST_MINI, DLPACK_LAST_MINI, mini_bits
from lend.dtypes.typestr cimport code_from_typestr, read_unit, write_unit


cdef inline int enter(dict words, dict names, str name, uint8_t kind, size_t size) except -1:
    """Put one name of a plain type into the tables; the first name of a code is the one that is shown."""
    cdef uint64_t word = code_word(make_code(kind, <uint16_t>(8 * size), 1, NATIVE_ORDER))
    words.setdefault(name, word)
    names.setdefault(word, name)
    return 0


cdef inline int enter_small(dict words, dict names, str name, uint8_t kind, uint8_t unit, int bits) except -1:
    """Put the name of a type of a byte or less into the tables: one to a byte, and packed."""
    cdef uint64_t word = code_word(make_code(kind, 8, 1, unit))
    words[name] = word
    names[word] = name
    if bits < 8:
        word = code_word(make_code(kind, <uint16_t> bits, 1, unit))
        words[name + "_packed"] = word
        names[word] = name + "_packed"
    return 0


cdef inline int fill_tables(dict words, dict names) except -1:
    cdef int size
    cdef int mini = DLPACK_FIRST_MINI
    enter(words, names, "bool", KIND_BOOL, 1)
    for size in (1, 2, 4, 8, 16):
        enter(words, names, f"int{8 * size}", KIND_INT, size)
        enter(words, names, f"uint{8 * size}", KIND_UINT, size)
    for size in (2, 4, 8):
        enter(words, names, f"float{8 * size}", KIND_FLOAT, size)
        enter(words, names, f"complex{16 * size}", KIND_COMPLEX, 2 * size)
    enter(words, names, "bfloat16", KIND_BFLOAT, 2)
    enter(words, names, "object", KIND_OBJECT, 8)
    enter(words, names, "handle", KIND_HANDLE, 8)
    enter_small(words, names, "int4", KIND_SUBINT, 4, 4)
    enter_small(words, names, "uint4", KIND_SUBUINT, 4, 4)
    enter_small(words, names, "int2", KIND_SUBINT, 2, 2)
    enter_small(words, names, "uint2", KIND_SUBUINT, 2, 2)
    # by DLPack's codes, from 7 on
    for name in ("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
                 "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"):
        enter_small(words, names, name, KIND_MINI, mini, mini_bits(mini))
        mini += 1
    words["float4_e2m1fn_x2"] = code_word(make_code(KIND_MINI, 4, 2, DLPACK_LAST_MINI))  # torch's name for it
    # `longdouble` is another name of float64 where the two are one; else float128 (float96) is another of longdouble
    enter(words, names, "longdouble", KIND_FLOAT, sizeof(long double))
    enter(words, names, "clongdouble", KIND_COMPLEX, 2 * sizeof(long double))
    enter(words, names, f"float{8 * sizeof(long double)}", KIND_FLOAT, sizeof(long double))
    enter(words, names, f"complex{16 * sizeof(long double)}", KIND_COMPLEX, 2 * sizeof(long double))
    return 0


cdef inline bint is_timed(Code code) noexcept nogil:
    return code.kind == KIND_DATETIME or code.kind == KIND_TIMEDELTA


cdef inline str bare_name(Code code, dict names):
    """The name without a byte order."""
    cdef char buf[40]
    cdef int length
    cdef str name
    if code.kind == KIND_OPAQUE or code.kind == KIND_BYTES or code.kind == KIND_TEXT:
        name = "opaque" if code.kind == KIND_OPAQUE else "bytes" if code.kind == KIND_BYTES else "text"
        return f"{name}[{code.param}]"
    if code.kind == KIND_RECORD:
        from lend.dtypes import records
        return records.name(code.bits)
    if is_timed(code):
        length = write_unit(buf, code.order_unit & UNIT_MASK, code.param)
        name = buf[:length].decode("ascii")
        return ("datetime64" if code.kind == KIND_DATETIME else "timedelta64") + name
    name = names[code_word(make_code(code.kind, code.bits, 1, (code.order_unit & UNIT_MASK) | NATIVE_ORDER))]
    return name if code.param == 1 else f"{name}x{code.param}"


cdef inline str order_sign(Code code):
    """`<` or `>`, or nothing for what has no byte order."""
    if code_swap_size(code) <= 1:
        return ""
    return ">" if code.order_unit & ORDER_BIG else "<"


cdef inline bint read_name(str name, uint8_t order, dict words, Code* out) except -1:
    """Read a name without its byte order; True if there is such a type."""
    cdef Py_ssize_t length
    cdef const char* text = PyUnicode_AsUTF8AndSize(name, &length)
    cdef const char* end = text + length
    cdef uint8_t kind, unit = UNIT_GENERIC
    cdef uint32_t multiplier = 1
    cdef uint64_t count
    cdef str base, lanes
    if name.startswith(("datetime64", "timedelta64")):
        kind = KIND_DATETIME if name.startswith("d") else KIND_TIMEDELTA
        text += 10 if kind == KIND_DATETIME else 11
        if text < end:
            if text[0] != c'[' or (end - 1)[0] != c']' or not read_unit(text + 1, end - 1, &unit, &multiplier):
                return False
        out[0] = make_code(kind, 64, multiplier, order | unit)
        return True
    if name.startswith(("opaque[", "bytes[", "text[")):
        kind = KIND_OPAQUE if text[0] == c'o' else KIND_BYTES if text[0] == c'b' else KIND_TEXT
        text = read_digits(text + (5 if kind == KIND_TEXT else 6 if kind == KIND_BYTES else 7), end,
                           0x3FFFFFFF if kind == KIND_TEXT else 0xFFFFFFFFU, &count)
        if text == NULL or end - text != 1 or text[0] != c']':
            return False
        out[0] = make_code(kind, 0 if kind == KIND_OPAQUE else 8 if kind == KIND_BYTES else 32, <uint32_t>count, order)
        return True
    count = 1
    base = name
    if base not in words:
        base, _, lanes = name.rpartition("x")
        if base not in words:
            return False
        text = read_digits(end - len(lanes), end, 0xFFFF, &count)  # ASCII: a character is a byte
        if text != end or count == 0:
            return False
    out[0] = code_from_word(words[base])
    if base is not name:
        out.param = <uint32_t>count
    out[0] = make_code(out.kind, out.bits, out.param, order | (out.order_unit & UNIT_MASK))
    return True


cdef inline bint read_text(str text, dict words, Code* out) except -1:
    """Read a name with or without a byte order, or a typestr; True if understood."""
    cdef Py_ssize_t length
    cdef const char* chars
    cdef uint8_t order = NATIVE_ORDER
    if not text.isascii():
        return False
    chars = PyUnicode_AsUTF8AndSize(text, &length)
    if code_from_typestr(chars, length, out):
        return True
    if length and (chars[0] == c'<' or chars[0] == c'>' or chars[0] == c'='):
        if chars[0] != c'=':
            order = ORDER_BIG if chars[0] == c'>' else 0
        text = text[1:]
    return read_name(text, order, words, out)
