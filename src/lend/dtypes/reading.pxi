"""Part of dtype.pyx: what names a dtype, read."""
from lend.dtypes.arrow_code cimport code_of_format
from lend.dtypes.code cimport KIND_LOGICAL, code_from_word
from lend.dtypes.names cimport read_name, read_text


cdef object understood(object dtype, Code* out):
    """Read anything that names a dtype; what a type of columns is, None for all others."""
    cdef str text
    if isinstance(dtype, DType):
        out[0] = (<DType> dtype).code
        return (<DType> dtype).logical
    if isinstance(dtype, str):
        text = PyUnicode_FromObject(dtype)  # a subclass loses its own methods
        if text.startswith("T{"):
            return understood(DType.from_format(text), out)
        if read_text(text, WORDS, out):
            return None
        from lend.dtypes.foreign import named

        return understood(named(text, WORDS), out)
    if dtype is bool or dtype is int or dtype is float or dtype is complex:
        text = "bool" if dtype is bool else "int64" if dtype is int else "float64" if dtype is float else "complex128"
        read_name(text, NATIVE_ORDER, WORDS, out)
        return None
    if isinstance(dtype, (list, dict)):
        return understood(records().from_spec(dtype), out)
    from lend.dtypes.foreign import spell

    spelled = spell(dtype)
    if isinstance(spelled, DType):
        return understood(spelled, out)
    if spelled is None:
        raise refusals().no_dtype(dtype)
    # a type that calls itself V and has a name of its own must be as wide as our type of that name
    size = getattr(dtype, "itemsize", None)
    if not read_text(PyUnicode_FromObject(spelled), WORDS, out) or (
            isinstance(size, int) and size != code_itemsize(out[0])):
        raise refusals().unsupported(dtype)
    return None


cdef int code_of(object dtype, Code* out) except -1:
    if understood(dtype, out) is not None:
        raise refusals().no_element(DType(dtype))
    return 0


def element_dtype(dtype):
    """The DType of anything that names one, if an element of a View can have it."""
    cdef Code code
    code_of(dtype, &code)
    return dtype_from_code(code)


cdef object logical_dtype(str format, tuple fields, object dictionary, bint ordered, bint keys_sorted,
                          object extension):
    cdef bint alone = not fields and dictionary is None and extension is None
    cdef const char* text
    cdef Py_ssize_t length
    cdef Code code
    made = FORMATS.get(format) if alone else None
    if made is not None:
        return made
    if alone and 0 < len(format) < 5 and format.isascii() and "\0" not in format:
        text = PyUnicode_AsUTF8AndSize(format, &length)
        if code_of_format(text, &code):
            made = dtype_from_code(code)
    if made is None:
        from lend.dtypes import arrow_format

        made = arrow_format.read(format, fields, dictionary, ordered, keys_sorted, extension)
    if alone and len(format) < 64:
        if len(FORMATS) >= 1024:  # zones and widths are anybody's
            FORMATS.clear()
        FORMATS[format] = made
    return made


def letter_dtype(bytes text):
    """The DType of one letter with its byte order or count; None if it is none."""
    cdef Code code
    cdef Py_ssize_t size = size_from_format(text)
    return dtype_from_code(code) if size >= 0 and code_from_format(text, size, &code) else None


def dtype_of_word(uint64_t word):
    """The DType of a packed code."""
    return dtype_from_code(code_from_word(word))


def dtype_of_logical(logical, uint16_t bits, uint32_t count):
    """The DType of a type of columns; bits and count as code.pxd has them."""
    cdef DType made = DType.__new__(DType, MAKING)
    made.code = make_code(KIND_LOGICAL, bits, count, 0)
    made.logical = logical
    return made
