"""Spelling 4 of 5: the dtype of lend.h, read and written."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from lend.dtypes.code cimport (
    KIND_BFLOAT, KIND_BOOL, KIND_BYTES, KIND_COMPLEX, KIND_DATETIME, KIND_FLOAT, KIND_HANDLE, KIND_INT, KIND_MINI,
    KIND_OBJECT, KIND_OPAQUE, KIND_RECORD, KIND_SUBUINT, KIND_TEXT, KIND_TIMEDELTA, KIND_UINT, ORDER_BIG, UNIT_MASK,
    Code, code_has_lanes, code_itemsize, code_swap_size, make_code,
)

from lend.dtypes.dlpack_type cimport DLPACK_FIRST_MINI, DLPACK_LAST_MINI, code_from_dlpack, mini_bits

cdef extern from "lend.h" nogil:
    ctypedef struct lend_dtype:
        uint8_t code
        uint8_t order
        uint8_t unit
        uint8_t reserved
        uint16_t bits
        uint16_t lanes
        uint32_t itemsize
        uint32_t multiplier
    const int LEND_ANY_TYPE
    const int LEND_INT
    const int LEND_UINT
    const int LEND_OPAQUE

cdef extern from * nogil:
    """
    /* kinds of code.pxd -> codes of lend.h */
    static const uint8_t lend_kind_codes[] = {
        LEND_OPAQUE, LEND_BOOL, LEND_INT, LEND_UINT, LEND_FLOAT, LEND_BFLOAT, LEND_COMPLEX, LEND_DATETIME,
        LEND_TIMEDELTA, LEND_HANDLE, LEND_BYTES, LEND_UCS4, LEND_OBJECT, LEND_RECORD,
    };
    #define LEND_KINDS ((int)sizeof(lend_kind_codes))
    """
    const uint8_t KIND_CODES "lend_kind_codes"[]
    const int KINDS "LEND_KINDS"


cdef inline void number_to_c(Code code, lend_dtype* out) noexcept nogil:
    """Write a plain number (KIND_BOOL to KIND_COMPLEX) as lend.h has it."""
    out.code = KIND_CODES[code.kind]
    out.order = c"|" if code.bits <= 8 else c">" if code.order_unit & ORDER_BIG else c"<"
    out.unit = 0
    out.reserved = 0
    out.bits = code.bits
    out.lanes = <uint16_t> code.param
    out.itemsize = (code.bits >> 3) * code.param
    out.multiplier = 1


cdef inline void code_to_c(Code code, lend_dtype* out) noexcept nogil:
    """The same for any code: each can be said."""
    if KIND_BOOL <= code.kind <= KIND_COMPLEX:
        number_to_c(code, out)
    else:
        rare_code_to_c(code, out)


cdef inline void rare_code_to_c(Code code, lend_dtype* out) noexcept nogil:
    """The same for what is no plain number."""
    out.reserved = 0
    out.unit = 0
    out.lanes = 1
    out.multiplier = 1
    out.bits = code.bits
    out.order = c">" if code.order_unit & ORDER_BIG else c"<"
    out.code = (KIND_CODES[code.kind] if code.kind < KIND_MINI else code.order_unit if code.kind == KIND_MINI
                else LEND_UINT if code.kind == KIND_SUBUINT else LEND_INT)
    out.itemsize = <uint32_t> code_itemsize(code)
    if code_swap_size(code) <= 1:
        out.order = c"|"
    if code.kind == KIND_DATETIME or code.kind == KIND_TIMEDELTA:
        out.unit = code.order_unit & UNIT_MASK
        out.multiplier = code.param
    elif code.kind == KIND_RECORD or code.kind == KIND_BYTES or code.kind == KIND_TEXT:
        out.bits = 0  # what is measured in itemsize alone
    elif code_has_lanes(code):
        out.lanes = <uint16_t> code.param
    if code.kind >= KIND_MINI:
        # the bits that count: padded to a byte where the itemsize has a byte for each lane, packed where it is less
        out.bits = <uint16_t> (mini_bits(code.order_unit) if code.kind == KIND_MINI else code.order_unit)


cdef inline bint code_from_c(const lend_dtype* said, Code* out) noexcept nogil:
    """Read a dtype of lend.h; False: lend has none such."""
    cdef int kind
    cdef uint32_t param = said.lanes
    cdef uint8_t order = ORDER_BIG if said.order == c">" else 0
    if said.order != c"<" and said.order != c">" and said.order != c"|":
        return False
    if (DLPACK_FIRST_MINI <= said.code <= DLPACK_LAST_MINI
            or (said.bits < 8 and (said.code == LEND_INT or said.code == LEND_UINT))):
        return said.bits and not said.unit and code_from_dlpack(
            said.code, <uint8_t> said.bits, said.lanes, out, said.bits < 8 and said.itemsize == said.lanes
        ) and code_itemsize(out[0]) == <Py_ssize_t> said.itemsize
    for kind in range(KINDS):
        if KIND_CODES[kind] == said.code:
            break
    else:
        return False
    if kind == KIND_OPAQUE:
        out[0] = make_code(KIND_OPAQUE, 0, said.itemsize, 0)
        return True
    if kind == KIND_BYTES:
        out[0] = make_code(KIND_BYTES, 8, said.itemsize, 0)
        return True
    if kind == KIND_TEXT:
        out[0] = make_code(KIND_TEXT, 32, said.itemsize >> 2, order)
        return said.itemsize % 4 == 0 and said.order != c"|"
    if kind == KIND_DATETIME or kind == KIND_TIMEDELTA:
        if said.bits != 64 or said.lanes != 1 or said.unit > 13 or said.multiplier == 0 or said.order == c"|":
            return False
        out[0] = make_code(<uint8_t> kind, 64, said.multiplier, order | said.unit)
        return True
    if said.lanes == 0 or said.unit or not width_fits(kind, said.bits):
        return False
    if said.itemsize and said.itemsize != (said.bits >> 3) * <uint32_t> said.lanes:
        return False
    if said.order == c"|" and said.bits > 8:
        return False
    out[0] = make_code(<uint8_t> kind, said.bits, param, order)
    return True


cdef inline bint width_fits(int kind, uint16_t bits) noexcept nogil:
    """Whether there is a type of this kind and width."""
    if kind == KIND_BOOL:
        return bits == 8
    if kind == KIND_INT or kind == KIND_UINT:
        return bits in (8, 16, 32, 64, 128)
    if kind == KIND_FLOAT:
        return bits in (16, 32, 64) or bits == 8 * sizeof(long double)
    if kind == KIND_COMPLEX:
        return bits in (32, 64, 128) or bits == 16 * sizeof(long double)
    if kind == KIND_BFLOAT:
        return bits == 16
    return kind == KIND_HANDLE and bits == 64
