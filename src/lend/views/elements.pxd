"""Read one element into a Python value, from any alignment and byte order."""
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.ref cimport PyObject
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from lend._core.gather cimport swap_bytes
from lend.dtypes.code cimport (
    KIND_BFLOAT, KIND_BOOL, KIND_BYTES, KIND_COMPLEX, KIND_DATETIME, KIND_FLOAT, KIND_HANDLE, KIND_INT, KIND_MINI,
    KIND_OBJECT, KIND_OPAQUE, KIND_RECORD, KIND_TEXT, KIND_TIMEDELTA, KIND_UINT, NATIVE_ORDER, ORDER_BIG, Code,
    code_has_lanes, code_is_swapped, code_itemsize, code_swap_size,
)
from lend.dtypes.dtype cimport DType, record_plan

cdef extern from "Python.h":
    double unpack_half "PyFloat_Unpack2"(const char* p, int little_endian) except? -1.0
    object decode_text "PyUnicode_DecodeUTF32"(const char* text, Py_ssize_t size, const char* errors, int* order)


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


cdef inline object read_padded(const char* at, Code code):
    """Fixed bytes or text, without the zeros at its end."""
    cdef Py_ssize_t length = code.param
    cdef int order = 1 if code.order_unit & ORDER_BIG else -1
    cdef uint32_t character
    if code.kind == KIND_BYTES:
        while length and at[length - 1] == 0:
            length -= 1
        return PyBytes_FromStringAndSize(at, length)
    while length:
        memcpy(&character, at + 4 * (length - 1), 4)
        if character:
            break
        length -= 1
    try:
        return decode_text(at, 4 * length, "surrogatepass", &order)
    except UnicodeDecodeError as error:
        from lend.protocols import refusals
        raise refusals.no_character(error) from None


cdef inline object read_object(const char* at):
    """What a pointer to a Python object points to; None where there is none, as NumPy has it."""
    cdef PyObject* pointer
    memcpy(&pointer, at, sizeof(void*))
    return None if pointer is NULL else <object> pointer


cdef inline object read_subarray(const char* at, Code code, tuple shape, int dim):
    """The values of a subarray in a record, nested by dimension."""
    cdef Py_ssize_t step = code_itemsize(code)
    cdef Py_ssize_t i
    if dim == len(shape):
        return read_element(at, code)
    for i in range(dim + 1, len(shape)):
        step *= <Py_ssize_t> shape[i]
    return [read_subarray(at + i * step, code, shape, dim + 1) for i in range(<Py_ssize_t> shape[dim])]


cdef inline object read_record(const char* at, Code code):
    """The values of the fields."""
    cdef list values = []
    for dtype, offset, shape in record_plan(code):
        values.append(read_subarray(at + <Py_ssize_t> offset, (<DType> dtype).code, <tuple> shape, 0))
    return tuple(values)


cdef inline object read_element(const char* at, Code code):
    """One element: a value, a tuple of its lanes or of the values of its fields."""
    cdef Py_ssize_t size
    cdef Py_ssize_t i
    if code.kind == KIND_RECORD:
        return read_record(at, code)
    if code.kind == KIND_BYTES or code.kind == KIND_TEXT:
        return read_padded(at, code)
    if code.kind == KIND_OBJECT:
        return read_object(at)
    if code.kind >= KIND_MINI:
        from lend.dtypes.small import read
        return read(PyBytes_FromStringAndSize(at, code_itemsize(code)), code.kind - KIND_MINI, code.order_unit,
                    code.bits, code.param)
    if not code_has_lanes(code) or code.param == 1:
        return read_scalar(at, code)
    size = code.bits >> 3
    return tuple([read_scalar(at + i * size, code) for i in range(<Py_ssize_t> code.param)])
