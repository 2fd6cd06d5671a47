"""The packed dtype: eight bytes that say what one element is.

`Code` is what records carry and what the spellings (struct_format.pxd, typestr.pxd, dlpack_type.pxd) translate; the
Python class `DType` (dtype.pyx) is made from it when somebody asks. Two codes mean the same type exactly when their
eight bytes are equal, so every maker below writes one canonical form.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from * nogil:
    """
    #include <stdint.h>
    typedef struct {
        uint8_t kind;       /* KIND_... */
        uint8_t order_unit; /* bit 7: big-endian; low bits: UNIT_... of datetime and timedelta, which small number, */
                            /* RECORD_... of a record; else 0 */
        uint16_t bits;      /* of one lane, storage included (long double: 8 * sizeof); 0: opaque; a record's number */
        uint32_t param;     /* lanes (1 = scalar) | multiplier of the unit | bytes of an opaque element or a record */
                            /* | length of fixed bytes and text */
    } lend_code;
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define LEND_NATIVE_ORDER 0x80
    #else
    #define LEND_NATIVE_ORDER 0
    #endif
    """
    ctypedef struct Code "lend_code":
        uint8_t kind
        uint8_t order_unit
        uint16_t bits
        uint32_t param
    const uint8_t NATIVE_ORDER "LEND_NATIVE_ORDER"

cdef enum:
    KIND_OPAQUE = 0      # bytes without a meaning: V8
    KIND_BOOL = 1        # one byte, 0 or 1
    KIND_INT = 2
    KIND_UINT = 3
    KIND_FLOAT = 4       # 16, 32, 64; 8 * sizeof(long double) is this platform's long double
    KIND_BFLOAT = 5
    KIND_COMPLEX = 6     # bits of the pair
    KIND_DATETIME = 7
    KIND_TIMEDELTA = 8
    KIND_HANDLE = 9      # DLPack's opaque handle: a 64-bit word of the producer's
    KIND_BYTES = 10      # fixed width, padded with zeros: S10
    KIND_TEXT = 11       # fixed width, UCS4, padded with zeros: U10
    KIND_OBJECT = 12     # a pointer to a Python object, counted by whoever owns the memory
    KIND_RECORD = 13     # fields; dtypes/records.py has them by number
    KIND_MINI = 14       # float8, float6, float4: the low bits of order_unit are DLPack's code; bits below 8: packed
    KIND_SUBINT = 15     # int4, int2: the low bits of order_unit are the bits that count; bits below 8: packed
    KIND_SUBUINT = 16
    # of columns alone, no record carries it: DType.logical says what it is, and bits and param are 8 and the bytes of a
    # value, 1 and 1 for bools that share a byte, else 0
    KIND_LOGICAL = 17
    KIND_COUNT = 18

    ORDER_BIG = 0x80
    UNIT_MASK = 0x7F

    # order_unit of a record; bit 7 is this machine's order when no field is swapped
    RECORD_ALIGN = 7     # mask: log2 of the alignment that it promises
    RECORD_OBJECTS = 8   # some field is, or has, a pointer to a Python object
    RECORD_HIDES = 16    # bytes that are of no field have room for such a pointer: a field that was left out, maybe

    # NumPy's units, in its order; generic is 0 so that other kinds have unit 0
    UNIT_GENERIC = 0
    UNIT_Y = 1
    UNIT_M = 2
    UNIT_W = 3
    UNIT_D = 4
    UNIT_h = 5
    UNIT_m = 6
    UNIT_s = 7
    UNIT_ms = 8
    UNIT_us = 9
    UNIT_ns = 10
    UNIT_ps = 11
    UNIT_fs = 12
    UNIT_as = 13


cdef inline Code make_code(uint8_t kind, uint16_t bits, uint32_t param=1,
                           uint8_t order_unit=NATIVE_ORDER) noexcept nogil:
    """One canonical code; the byte order of what has none (one byte, opaque) is written as little-endian."""
    cdef Code code
    code.kind = kind
    code.bits = bits
    code.param = param
    code.order_unit = order_unit
    if kind == KIND_OPAQUE or bits <= 8:
        code.order_unit = order_unit & UNIT_MASK
    elif kind == KIND_OBJECT:
        code.order_unit = NATIVE_ORDER
    return code


cdef inline uint64_t code_word(Code code) noexcept nogil:
    """The eight bytes as one word: equal words, equal types; also the hash and the key of caches."""
    cdef uint64_t word
    memcpy(&word, &code, 8)
    return word


cdef inline Code code_from_word(uint64_t word) noexcept nogil:
    cdef Code code
    memcpy(&code, &word, 8)
    return code


cdef inline Py_ssize_t code_itemsize(Code code) noexcept nogil:
    """Bytes of one element, lanes included; 0 where several share a byte."""
    cdef Py_ssize_t bits
    if code.kind == KIND_OPAQUE or code.kind == KIND_RECORD:
        return code.param
    if code.kind == KIND_DATETIME or code.kind == KIND_TIMEDELTA:
        return 8
    bits = <Py_ssize_t>code.bits * code.param
    return 0 if bits & 7 else bits >> 3


cdef inline Py_ssize_t code_shared_bits(Code code) noexcept nogil:
    """Bits of one element, lanes included, of a packed type that does not fill whole bytes; 0 for all others."""
    cdef Py_ssize_t bits
    if code.kind < KIND_MINI:
        return 0
    bits = <Py_ssize_t>code.bits * code.param
    return bits if bits & 7 else 0


cdef inline Py_ssize_t code_swap_size(Code code) noexcept nogil:
    """Bytes of the unit that a byte swap reverses: a complex number swaps its halves apart, a record its fields."""
    if code.kind == KIND_OPAQUE or code.kind == KIND_RECORD or code.kind == KIND_OBJECT:
        return 1
    if code.kind == KIND_DATETIME or code.kind == KIND_TIMEDELTA:
        return 8
    return code.bits >> 4 if code.kind == KIND_COMPLEX else code.bits >> 3


cdef inline bint code_is_swapped(Code code) noexcept nogil:
    """True when the bytes are not in this machine's order."""
    return (code.order_unit & ORDER_BIG) != NATIVE_ORDER and (code.kind == KIND_RECORD or code_swap_size(code) > 1)


cdef inline bint code_has_objects(Code code) noexcept nogil:
    """True when an element is, or has, a pointer to a Python object."""
    return code.kind == KIND_OBJECT or (code.kind == KIND_RECORD and code.order_unit & RECORD_OBJECTS)


cdef inline bint code_hides_objects(Code code) noexcept nogil:
    """True when pointers to Python objects may lie among the bytes of an element, in its fields or beside them."""
    return code.kind == KIND_OBJECT or (
        code.kind == KIND_RECORD and code.order_unit & (RECORD_OBJECTS | RECORD_HIDES))


cdef inline bint code_has_lanes(Code code) noexcept nogil:
    """True for the kinds whose param counts lanes."""
    return (KIND_BOOL <= code.kind <= KIND_COMPLEX) or code.kind == KIND_HANDLE or code.kind >= KIND_MINI
