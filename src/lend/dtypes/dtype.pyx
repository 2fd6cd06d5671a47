"""The type of one element as a Python object: `DType`, made from a packed code or from anything that names a dtype."""
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_FromObject
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from lend.dtypes.code cimport (
    KIND_BFLOAT, KIND_BOOL, KIND_COMPLEX, KIND_DATETIME, KIND_FLOAT, KIND_HANDLE, KIND_INT, KIND_OPAQUE, KIND_TIMEDELTA,
    KIND_UINT, NATIVE_ORDER, ORDER_BIG, UNIT_GENERIC, UNIT_MASK, Code, code_from_word, code_is_swapped, code_itemsize,
    code_swap_size, code_word, make_code,
)
from lend.dtypes.digits cimport read_digits
from lend.dtypes.dlpack_type cimport code_from_dlpack, code_to_dlpack
from lend.dtypes.struct_format cimport code_from_format, size_from_format, write_format
from lend.dtypes.typestr cimport UNITS, code_from_typestr, read_unit, write_typestr, write_unit

from lend.errors import UnsupportedType

cdef tuple KIND_NAMES = (
    "opaque", "bool", "int", "uint", "float", "bfloat", "complex", "datetime", "timedelta", "handle",
)
cdef dict WORDS = {}     # name -> word of the code in native order, for all names without brackets or lanes
cdef dict NAMES = {}     # and back
cdef dict INTERNED = {}  # word -> DType; only codes with param 1, of which there are some hundred
cdef object MAKING = object()  # what dtype_from_code passes to the constructor


cdef int enter(str name, uint8_t kind, size_t size) except -1:
    """Put one name of a plain type into the tables; the first name of a code is the one that is shown."""
    cdef uint64_t word = code_word(make_code(kind, <uint16_t>(8 * size), 1, NATIVE_ORDER))
    WORDS.setdefault(name, word)
    NAMES.setdefault(word, name)
    return 0


cdef int fill_tables() except -1:
    cdef int size
    enter("bool", KIND_BOOL, 1)
    for size in (1, 2, 4, 8, 16):
        enter(f"int{8 * size}", KIND_INT, size)
        enter(f"uint{8 * size}", KIND_UINT, size)
    for size in (2, 4, 8):
        enter(f"float{8 * size}", KIND_FLOAT, size)
        enter(f"complex{16 * size}", KIND_COMPLEX, 2 * size)
    enter("bfloat16", KIND_BFLOAT, 2)
    enter("handle", KIND_HANDLE, 8)
    # `longdouble` is another name of float64 where the two are one; else float128 (float96) is another of longdouble
    enter("longdouble", KIND_FLOAT, sizeof(long double))
    enter("clongdouble", KIND_COMPLEX, 2 * sizeof(long double))
    enter(f"float{8 * sizeof(long double)}", KIND_FLOAT, sizeof(long double))
    enter(f"complex{16 * sizeof(long double)}", KIND_COMPLEX, 2 * sizeof(long double))
    return 0


fill_tables()


# Names


cdef inline bint is_timed(Code code) noexcept nogil:
    return code.kind == KIND_DATETIME or code.kind == KIND_TIMEDELTA


cdef str bare_name(Code code):
    """The name without a byte order."""
    cdef char buf[40]
    cdef int length
    cdef str name
    if code.kind == KIND_OPAQUE:
        return f"opaque[{code.param}]"
    if is_timed(code):
        length = write_unit(buf, code.order_unit & UNIT_MASK, code.param)
        name = buf[:length].decode("ascii")
        return ("datetime64" if code.kind == KIND_DATETIME else "timedelta64") + name
    name = NAMES[code_word(make_code(code.kind, code.bits, 1, NATIVE_ORDER))]
    return name if code.param == 1 else f"{name}x{code.param}"


cdef inline str order_sign(Code code):
    """`<` or `>`, or nothing for what has no byte order."""
    if code_swap_size(code) <= 1:
        return ""
    return ">" if code.order_unit & ORDER_BIG else "<"


cdef str name_of_code(Code code):
    return order_sign(code) + bare_name(code) if code_is_swapped(code) else bare_name(code)


cdef bint read_name(str name, uint8_t order, Code* out) except -1:
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
    if name.startswith("opaque["):
        text = read_digits(text + 7, end, 0xFFFFFFFFU, &count)
        if text == NULL or end - text != 1 or text[0] != c']':
            return False
        out[0] = make_code(KIND_OPAQUE, 0, <uint32_t>count, 0)
        return True
    count = 1
    base = name
    if base not in WORDS:
        base, _, lanes = name.rpartition("x")
        if base not in WORDS:
            return False
        text = read_digits(end - len(lanes), end, 0xFFFF, &count)  # ASCII: a character is a byte
        if text != end or count == 0:
            return False
    out[0] = code_from_word(WORDS[base])
    out[0] = make_code(out.kind, out.bits, <uint32_t>count, order)
    return True


cdef bint read_text(str text, Code* out) except -1:
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
    return read_name(text, order, out)


# From anything


cdef bint read_foreign(object dtype, Code* out) except -1:
    """Read the dtype of another library by what it tells of itself; True if it is one."""
    from lend.dtypes.foreign import spell

    cdef object spelled = spell(dtype)
    if spelled is None:
        return False
    # a type that calls itself V and has a name of its own must be as wide as our type of that name
    cdef object size = getattr(dtype, "itemsize", None)
    if not read_text(PyUnicode_FromObject(spelled), out) or (isinstance(size, int) and size != code_itemsize(out[0])):
        from lend.dtypes.refusals import unsupported

        raise unsupported(dtype)
    return True


cdef int code_of(object dtype, Code* out) except -1:
    cdef str text
    if isinstance(dtype, DType):
        out[0] = (<DType>dtype).code
        return 0
    if isinstance(dtype, str):
        text = PyUnicode_FromObject(dtype)  # a subclass loses its own methods
        if not read_text(text, out):
            from lend.dtypes.refusals import unknown_text

            raise unknown_text(text, WORDS)
        return 0
    if dtype is bool or dtype is int or dtype is float or dtype is complex:
        text = "bool" if dtype is bool else "int64" if dtype is int else "float64" if dtype is float else "complex128"
        read_name(text, NATIVE_ORDER, out)
        return 0
    if read_foreign(dtype, out):
        return 0
    came = repr(dtype) if isinstance(dtype, type) else type(dtype).__name__
    raise TypeError(f"DType() takes a dtype, its name or its typestr, not {came}")


cdef object dtype_from_code(Code code):
    cdef DType made
    cdef uint64_t word = code_word(code)
    if code.param == 1:
        known = INTERNED.get(word)
        if known is not None:
            return known
    made = DType.__new__(DType, MAKING)
    made.code = code
    return INTERNED.setdefault(word, made) if code.param == 1 else made


cdef object cannot_say(DType dtype, str protocol):
    """Make the exception for what a protocol has no word for."""
    from lend.dtypes import refusals

    return refusals.cannot_say(dtype, protocol)


cdef object not_read(str fact, object text, object remedy=None):
    """Make the exception for a spelling that was not understood."""
    from lend.dtypes.refusals import shortened

    return UnsupportedType.build(fact.format(shortened(repr(text))), remedy=remedy)


cdef class DType:
    """Name the type of one element; one value with several spellings.

    Immutable. Two DTypes are equal exactly when they mean the same: kind, width, byte order, lanes and unit, never the
    text they came from. A DType does not equal a string, because one type has many spellings and equal values must have
    one hash; write ``dtype == DType("float32")`` or compare `name`.

    Parameters
    ----------
    dtype : DType, str, type or a dtype of another library
        - a name: ``"float32"``, ``">int32"`` (big-endian), ``"bfloat16"``, ``"longdouble"``, ``"datetime64[ns]"``,
          ``"timedelta64[25s]"``, ``"opaque[7]"`` (bytes without a meaning), ``"handle"``, ``"float32x4"`` (lanes);
        - a typestr of the array interfaces: ``"<i4"``, ``"|b1"``, ``"<M8[ns]"``, ``"|V7"``;
        - Python's ``bool``, ``int``, ``float``, ``complex``: bool, int64, float64, complex128;
        - a dtype or scalar type of numpy, ml_dtypes, jax, torch and others, told by what it says of itself. No library
          is imported for it.

    Raises
    ------
    ValueError
        The text names no dtype; the message has the near ones.
    lend.errors.UnsupportedType
        It is a dtype, and one that lend lacks (Python objects, text, records).
    TypeError
        It is not a dtype at all.

    Examples
    --------
    >>> from lend.dtypes import DType
    >>> DType("<f4")
    DType('float32')
    >>> DType(">i4").name, DType(">i4").is_native
    ('>int32', False)
    >>> DType(float) == DType("float64")
    True
    >>> DType("datetime64[25s]").unit, DType("datetime64[25s]").multiplier
    ('s', 25)
    """

    def __cinit__(self, dtype, /):
        if dtype is not MAKING:
            code_of(dtype, &self.code)

    @classmethod
    def from_format(cls, format, itemsize=None):
        """Read a struct format of the buffer protocol (PEP 3118).

        Parameters
        ----------
        format : str or None
            None means unsigned bytes, or bytes without a meaning if `itemsize` is not 1.
        itemsize : int, optional
            The itemsize that came with it, which decides between the standard and the native size of a letter. Without
            it the format speaks for itself.

        Raises
        ------
        lend.errors.UnsupportedType
            The format is not understood, or does not fit the itemsize.

        Examples
        --------
        >>> from lend.dtypes import DType
        >>> DType.from_format("<l", 8) == DType.from_format("q")
        True
        >>> DType.from_format("Zd"), DType.from_format("D")
        (DType('complex128'), DType('complex128'))
        """
        cdef Code code
        cdef bytes text
        cdef const char* chars = NULL
        cdef bint plain = True
        cdef Py_ssize_t size
        if format is not None:
            plain = format.isascii() and "\0" not in format
            text = format.encode("ascii") if plain else b""
            chars = text
        size = size_from_format(chars) if itemsize is None else itemsize
        if not plain or not code_from_format(chars, size, &code):
            raise not_read(
                "lend has no dtype for the struct format {}"
                + ("" if itemsize is None else f" with an itemsize of {itemsize}"),
                format,
                None if itemsize is None or itemsize < 0 else f"as bytes without a meaning: opaque[{itemsize}]",
            )
        return dtype_from_code(code)

    @classmethod
    def from_typestr(cls, typestr):
        """Read a typestr of the array interfaces.

        An order of ``|`` or ``=``, or none, is this machine's, as in NumPy.

        Raises
        ------
        lend.errors.UnsupportedType
            The typestr is not understood.

        Examples
        --------
        >>> from lend.dtypes import DType
        >>> DType.from_typestr("<M8[25s]")
        DType('datetime64[25s]')
        """
        cdef Code code
        cdef Py_ssize_t length
        cdef str text = PyUnicode_FromObject(typestr)
        cdef const char* chars
        if text.isascii():
            chars = PyUnicode_AsUTF8AndSize(text, &length)
            if code_from_typestr(chars, length, &code):
                return dtype_from_code(code)
        raise not_read("lend has no dtype for the typestr {}", text)

    @classmethod
    def from_dlpack(cls, code, bits, lanes=1):
        """Read the triple of a DLDataType.

        Raises
        ------
        lend.errors.UnsupportedType
            The triple is not understood; a bool is (6, 8), never one bit.

        Examples
        --------
        >>> from lend.dtypes import DType
        >>> DType.from_dlpack(2, 32, 4)
        DType('float32x4')
        """
        cdef Code made
        if 0 <= code <= 0xFF and 0 <= bits <= 0xFF and 0 <= lanes <= 0xFFFF:
            if code_from_dlpack(code, bits, lanes, &made):
                return dtype_from_code(made)
        raise UnsupportedType.build(
            f"lend has no dtype for the DLPack type code {int(code)}, {int(bits)} bits, {int(lanes)} lanes"
        )

    @property
    def name(self):
        """The name, with a sign in front if the byte order is not this machine's; `DType(name)` reads it."""
        return name_of_code(self.code)

    @property
    def kind(self):
        """One of bool, int, uint, float, bfloat, complex, datetime, timedelta, opaque, handle."""
        return KIND_NAMES[self.code.kind]

    @property
    def bits(self):
        """Bits of one lane as stored: 128 for a long double in sixteen bytes, 64 for a complex64."""
        return 8 * self.itemsize // self.lanes

    @property
    def itemsize(self):
        """Bytes of one element, all lanes included."""
        return code_itemsize(self.code)

    @property
    def lanes(self):
        """Values in one element: 1, but for the vector types of DLPack."""
        return 1 if self.code.kind == KIND_OPAQUE or is_timed(self.code) else self.code.param

    @property
    def byteorder(self):
        """'little' or 'big'; None for what has no byte order (one byte, opaque)."""
        if code_swap_size(self.code) <= 1:
            return None
        return "big" if self.code.order_unit & ORDER_BIG else "little"

    @property
    def is_native(self):
        """True if the bytes are in this machine's order, or have none."""
        return not code_is_swapped(self.code)

    @property
    def unit(self):
        """The unit of a datetime or timedelta ('ns', 'D', 'generic'), None for other kinds."""
        if not is_timed(self.code):
            return None
        return UNITS[self.code.order_unit & UNIT_MASK].decode("ascii") or "generic"

    @property
    def multiplier(self):
        """How many units one tick of a datetime or timedelta is: 25 in datetime64[25s]; None for other kinds."""
        return self.code.param if is_timed(self.code) else None

    @property
    def format(self):
        """The struct format of the buffer protocol; raises UnsupportedType where it has none (PEP 3118)."""
        cdef char buf[24]
        cdef int length = write_format(self.code, buf)
        if length < 0:
            raise cannot_say(self, "the buffer protocol")
        return buf[:length].decode("ascii")

    @property
    def typestr(self):
        """The typestr of the array interfaces; raises UnsupportedType where they have none."""
        cdef char buf[40]
        cdef int length = write_typestr(self.code, buf)
        if length < 0:
            raise cannot_say(self, "the array interface")
        return buf[:length].decode("ascii")

    @property
    def dlpack(self):
        """The triple (code, bits, lanes) of DLPack; raises UnsupportedType where it has none."""
        cdef uint8_t code, bits
        cdef uint16_t lanes
        if not code_to_dlpack(self.code, &code, &bits, &lanes):
            raise cannot_say(self, "DLPack")
        return (code, bits, lanes)

    @property
    def __numpy_dtype__(self):
        """The numpy.dtype of the same meaning; NumPy calls this in ``numpy.dtype(dtype)``.

        Imports numpy, for bfloat16 ml_dtypes as well; raises UnsupportedType where NumPy has no such type.
        """
        from lend.dtypes.foreign import numpy_dtype

        return numpy_dtype(self)

    def newbyteorder(self, order):
        """Make the DType of the same values in another byte order.

        Parameters
        ----------
        order : {"little", "big", "native", "swap"}

        Returns
        -------
        DType
            The same for types that have no byte order.

        Examples
        --------
        >>> from lend.dtypes import DType
        >>> DType("int32").newbyteorder("swap").newbyteorder("native") == DType("int32")
        True
        """
        cdef Code code = self.code
        cdef uint8_t sign
        if order == "little":
            sign = 0
        elif order == "big":
            sign = ORDER_BIG
        elif order == "native":
            sign = NATIVE_ORDER
        elif order == "swap":
            sign = (code.order_unit & ORDER_BIG) ^ ORDER_BIG
        else:
            raise ValueError(f"a byte order is 'little', 'big', 'native' or 'swap', not {order!r:.40}")
        return dtype_from_code(make_code(code.kind, code.bits, code.param, sign | (code.order_unit & UNIT_MASK)))

    def __eq__(self, other):
        if not isinstance(other, DType):
            return NotImplemented
        return code_word(self.code) == code_word((<DType>other).code)

    def __hash__(self):
        return hash(code_word(self.code))

    def __str__(self):
        return name_of_code(self.code)

    def __repr__(self):
        return f"DType('{name_of_code(self.code)}')"

    def __reduce__(self):
        # the byte order is spelled out and a long double tells its size: the reader may be another machine
        cdef Code code = self.code
        cdef str name = bare_name(code)
        if "longdouble" in name:
            name = name.replace("clongdouble", f"complex{code.bits}").replace("longdouble", f"float{code.bits}")
        return (DType, (order_sign(code) + name,))
