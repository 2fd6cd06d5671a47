"""Spelling 3 of 4: the DLDataType of DLPack, read and written. DLPack speaks this machine's byte order only."""
from libc.stdint cimport uint8_t, uint16_t

from lend.dtypes.code cimport (
    KIND_BFLOAT, KIND_BOOL, KIND_COMPLEX, KIND_FLOAT, KIND_HANDLE, KIND_INT, KIND_UINT, NATIVE_ORDER,
    Code, code_is_swapped, make_code,
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


cdef inline bint code_from_dlpack(uint8_t code, uint8_t bits, uint16_t lanes, Code* out) noexcept nogil:
    """Read a triple; True if understood (fp8, fp6, fp4 and packed bits are not, yet)."""
    if code >= DLPACK_KIND_COUNT or lanes == 0 or not dlpack_bits_fit(DLPACK_KINDS[code], bits):
        return False
    out[0] = make_code(DLPACK_KINDS[code], bits, lanes, NATIVE_ORDER)
    return True


cdef inline bint code_to_dlpack(Code code, uint8_t* c, uint8_t* bits, uint16_t* lanes) noexcept nogil:
    """Write the triple; False where DLPack has none: opaque, datetime, long double, swapped bytes, too many lanes."""
    cdef uint8_t i
    if not dlpack_bits_fit(code.kind, code.bits) or code_is_swapped(code) or code.param == 0 or code.param > 0xFFFF:
        return False
    for i in range(DLPACK_KIND_COUNT):
        if DLPACK_KINDS[i] == code.kind:
            c[0] = i
            bits[0] = <uint8_t>code.bits
            lanes[0] = <uint16_t>code.param
            return True
    return False
