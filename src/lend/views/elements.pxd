"""Read one element into a Python value, from any alignment and byte order."""
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from lend._core.gather cimport swap_bytes
from lend.dtypes.code cimport (
    KIND_BFLOAT, KIND_BOOL, KIND_COMPLEX, KIND_DATETIME, KIND_FLOAT, KIND_HANDLE, KIND_INT, KIND_OPAQUE, KIND_TIMEDELTA,
    KIND_UINT, NATIVE_ORDER, Code, code_is_swapped, code_itemsize, code_swap_size,
)

cdef extern from "Python.h":
    double unpack_half "PyFloat_Unpack2"(const char* p, int little_endian) except? -1.0


cdef inline object read_float(const char* at, int bits):
    """A real number of 16, 32, 64 bits or a long double, in native order."""
    cdef float single
    cdef double number
    cdef long double wide
    if bits == 16:
        return unpack_half(at, NATIVE_ORDER == 0)
    if bits == 32:
        memcpy(&single, at, 4)
        return <double> single
    if bits == 64:
        memcpy(&number, at, 8)
        return number
    memcpy(&wide, at, sizeof(long double))
    number = <double> wide
    if number == wide or wide != wide:
        return number
    from lend.protocols import refusals
    raise refusals.too_precise()


cdef inline object read_scalar(const char* source, Code code):
    """One lane. datetime64 and timedelta64 are the int in their unit; opaque bytes are bytes."""
    cdef char[32] at
    cdef int64_t whole = 0
    cdef uint64_t natural = 0
    cdef uint32_t word
    cdef uint16_t half
    cdef float single
    cdef int size = code.bits >> 3
    if code.kind == KIND_OPAQUE:
        return PyBytes_FromStringAndSize(source, code.param)
    if code.kind == KIND_DATETIME or code.kind == KIND_TIMEDELTA:
        size = 8
    memcpy(at, source, size)
    if code_is_swapped(code):
        swap_bytes(at, size, code_swap_size(code))
    if code.kind == KIND_BOOL:
        return at[0] != 0
    if code.kind == KIND_FLOAT:
        return read_float(at, code.bits)
    if code.kind == KIND_COMPLEX:
        return complex(read_float(at, code.bits >> 1), read_float(at + (size >> 1), code.bits >> 1))
    if code.kind == KIND_BFLOAT:
        memcpy(&half, at, 2)
        word = <uint32_t> half << 16
        memcpy(&single, &word, 4)
        return <double> single
    if size == 16:
        return int.from_bytes(PyBytes_FromStringAndSize(at, 16), "little" if NATIVE_ORDER == 0 else "big",
                              signed=code.kind == KIND_INT)
    if code.kind == KIND_UINT or code.kind == KIND_HANDLE:
        if size == 1:
            return (<uint8_t*> at)[0]
        if size == 2:
            memcpy(&half, at, 2)
            return half
        if size == 4:
            memcpy(&word, at, 4)
            return word
        memcpy(&natural, at, 8)
        return natural
    if size == 1:
        return (<int8_t*> at)[0]
    if size == 2:
        memcpy(&half, at, 2)
        return <int16_t> half
    if size == 4:
        memcpy(&word, at, 4)
        return <int32_t> word
    memcpy(&whole, at, 8)
    return whole


cdef inline object read_element(const char* at, Code code):
    """One element: a value, or a tuple of its lanes."""
    cdef Py_ssize_t size
    cdef Py_ssize_t i
    if code.kind in (KIND_OPAQUE, KIND_DATETIME, KIND_TIMEDELTA) or code.param == 1:
        return read_scalar(at, code)
    size = code.bits >> 3
    return tuple([read_scalar(at + i * size, code) for i in range(<Py_ssize_t> code.param)])
