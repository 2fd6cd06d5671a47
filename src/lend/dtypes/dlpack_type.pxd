"""Spelling 3 of 5: the DLDataType of DLPack, read and written. DLPack speaks this machine's byte order only."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from lend.dtypes.code cimport (
    KIND_BFLOAT, KIND_BOOL, KIND_COMPLEX, KIND_FLOAT, KIND_HANDLE, KIND_INT, KIND_MINI, KIND_SUBINT, KIND_SUBUINT,
    KIND_UINT, NATIVE_ORDER, UNIT_MASK, Code, code_is_swapped, make_code,
)

cdef extern from * nogil:
    """
    #ifndef LEND_DLPACK_TYPE
    #define LEND_DLPACK_TYPE
    #include <stdint.h>
    /* the KIND_... of code.pxd by DLDataTypeCode: int, uint, float, opaque handle, bfloat, complex, bool */
    static const uint8_t lend_dlpack_kinds[7] = {2, 3, 4, 9, 5, 6, 1};
    #endif
    """
    const uint8_t DLPACK_KINDS "lend_dlpack_kinds"[7]

cdef enum:
    DLPACK_KIND_COUNT = 7
    DLPACK_FIRST_MINI = 7    # float8_e3m4; the float6 kinds are 15 and 16
    DLPACK_LAST_FLOAT8 = 14
    DLPACK_LAST_MINI = 17    # float4_e2m1fn


cdef inline int mini_bits(uint8_t code) noexcept nogil:
    """Bits that count in a float8, float6 or float4 by its DLPack code."""
    return 8 if code <= DLPACK_LAST_FLOAT8 else 4 if code == DLPACK_LAST_MINI else 6


cdef inline bint dlpack_bits_fit(uint8_t kind, uint16_t bits) noexcept nogil:
    """True if DLPack and lend both know this kind in so many bits (of the pair, for complex)."""
    if kind == KIND_INT or kind == KIND_UINT:
        return bits == 8 or bits == 16 or bits == 32 or bits == 64 or bits == 128
    if kind == KIND_FLOAT:
        return bits == 16 or bits == 32 or bits == 64
    if kind == KIND_BFLOAT:
        return bits == 16
    if kind == KIND_COMPLEX:
        return bits == 32 or bits == 64 or bits == 128
    if kind == KIND_BOOL:
        return bits == 8
    return kind == KIND_HANDLE and bits == 64


cdef inline bint code_from_dlpack(uint8_t code, uint8_t bits, uint16_t lanes, Code* out,
                                  bint padded=False) noexcept nogil:
    """Read a triple; True if understood.

    A type of less than a byte comes one to a byte (padded), or packed: several elements, or several lanes, in a byte.
    """
    cdef uint8_t kind
    if lanes == 0:
        return False
    if code < DLPACK_KIND_COUNT and dlpack_bits_fit(DLPACK_KINDS[code], bits):
        out[0] = make_code(DLPACK_KINDS[code], bits, lanes, NATIVE_ORDER)
        return True
    if code <= 1 and (bits == 4 or bits == 2):
        kind = KIND_SUBUINT if code else KIND_SUBINT
        code = bits
    elif DLPACK_FIRST_MINI <= code <= DLPACK_LAST_MINI and bits == mini_bits(code):
        kind = KIND_MINI
    else:
        return False
    out[0] = make_code(kind, 8 if padded else bits, lanes, code)
    return True


cdef inline bint code_is_padded(Code code) noexcept nogil:
    """True for a type of less than a byte that stands one to a byte: DLPack says so in a flag."""
    if code.kind < KIND_MINI:
        return False
    if code.kind == KIND_MINI:
        return code.bits == 8 and (code.order_unit & UNIT_MASK) > DLPACK_LAST_FLOAT8
    return code.bits == 8


cdef inline bint code_to_dlpack(Code code, uint8_t* c, uint8_t* bits, uint16_t* lanes) noexcept nogil:
    """Write the triple; False where DLPack has none: opaque, datetime, long double, swapped bytes, too many lanes."""
    cdef uint8_t i
    if code.kind >= KIND_MINI and 0 < code.param <= 0xFFFF:
        lanes[0] = <uint16_t>code.param
        c[0] = code.order_unit if code.kind == KIND_MINI else 1 if code.kind == KIND_SUBUINT else 0
        bits[0] = <uint8_t>(mini_bits(code.order_unit) if code.kind == KIND_MINI else code.order_unit)
        return True
    if not dlpack_bits_fit(code.kind, code.bits) or code_is_swapped(code) or code.param == 0 or code.param > 0xFFFF:
        return False
    for i in range(DLPACK_KIND_COUNT):
        if DLPACK_KINDS[i] == code.kind:
            c[0] = i
            bits[0] = <uint8_t>code.bits
            lanes[0] = <uint16_t>code.param
            return True
    return False
