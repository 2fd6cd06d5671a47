"""The type of one element as a Python object: `DType`, made from a packed code or from anything that names a dtype."""
cimport cython
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_FromObject
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from lend.dtypes.code cimport (
    KIND_BYTES, KIND_MINI, KIND_OPAQUE, KIND_RECORD, KIND_TEXT, NATIVE_ORDER, ORDER_BIG, UNIT_MASK, Code,
    code_has_lanes, code_has_objects, code_is_swapped, code_itemsize, code_shared_bits, code_swap_size,
    code_word, make_code,
)
from lend.dtypes.dlpack_type cimport code_from_dlpack, code_to_dlpack
from lend.dtypes.names cimport bare_name, fill_tables, is_timed, order_sign
from lend.dtypes.struct_format cimport code_from_format, size_from_format, write_format
from lend.dtypes.typestr cimport UNITS, code_from_typestr, write_typestr

from lend.errors import UnsupportedType

cdef tuple KIND_NAMES = (
    "opaque", "bool", "int", "uint", "float", "bfloat", "complex", "datetime", "timedelta", "handle", "bytes", "text",
    "object", "record",
)
cdef dict WORDS = {}     # name -> word of the code in native order, for all names without brackets or lanes
cdef dict NAMES = {}     # and back
cdef dict INTERNED = {}  # word -> DType; only codes with param 1, of which there are some hundred, and records
cdef list PLANS = []     # number of a record -> its fields as (DType, offset, shape); dtypes/records.py fills it
cdef dict FORMATS = {}   # Arrow format -> DType, of those that are said by the format alone
cdef object MAKING = object()  # what dtype_from_code passes to the constructor


fill_tables(WORDS, NAMES)


# Names


cdef str name_of_code(Code code):
    return order_sign(code) + bare_name(code, NAMES) if code_is_swapped(code) else bare_name(code, NAMES)


cdef str name_of(DType dtype):
    return name_of_code(dtype.code) if dtype.logical is None else dtype.logical.name


# Records


cdef object records():
    from lend.dtypes import records
    return records


cdef object refusals():
    from lend.dtypes import refusals
    return refusals


def enter_record(plan):
    """Put the fields of the next record type into the table; dtypes/records.py counts."""
    PLANS.append(plan)


def record_dtype(number, itemsize, order_unit):
    """The DType of a record type by its number."""
    return dtype_from_code(record_code(number, itemsize, order_unit))


cdef inline Code record_code(uint16_t number, uint32_t itemsize, uint8_t order_unit):
    cdef Code code = make_code(KIND_RECORD, 16, itemsize, order_unit)
    code.bits = number
    return code


def code_word_of(DType dtype):
    """The packed code as one number, which tells also what equality does not (NumPy's align flag)."""
    return code_word(dtype.code)


cdef tuple record_plan(Code code):
    return <tuple> PLANS[code.bits]


cdef Code native_code(Code code) except *:
    if code.kind == KIND_RECORD:
        return (<DType> dtype_from_code(code).newbyteorder("native")).code
    return make_code(code.kind, code.bits, code.param, (code.order_unit & UNIT_MASK) | NATIVE_ORDER)


include "reading.pxi"  # understood, code_of, and what else makes a DType of texts, codes, schemas


# Types of columns


def logical_of(DType dtype):
    """What a type of columns is; None for all others."""
    return dtype.logical


cdef object told(DType dtype, str name, object plain):
    """What a type of columns says of itself, and what all others say."""
    return plain if dtype.logical is None else getattr(dtype.logical, name)


cdef object dtype_from_code(Code code):
    cdef DType made
    cdef uint64_t word = code_word(code)
    if code.param == 1 or code.kind == KIND_RECORD:
        known = INTERNED.get(word)
        if known is not None:
            return known
    made = DType.__new__(DType, MAKING)
    made.code = code
    return INTERNED.setdefault(word, made) if code.param == 1 or code.kind == KIND_RECORD else made


@cython.no_gc  # what it holds is made before it, and never changed: no cycle
cdef class DType:
    """Name the type of one element, or of a column's values; one value with several spellings.

    Immutable. Two DTypes are equal exactly when they mean the same: kind, width, byte order, lanes and unit, never the
    text they came from. A DType equals its `name`, too, with one hash, and no other text: ``dtype == "float32"``, but
    ``dtype == DType("<f4")``. It also equals a dtype or scalar type of Python or another library that means the same,
    ``dtype == np.float32``, whose hash is that library's: look such up by ``DType(x)``.

    Parameters
    ----------
    dtype : DType, str, type or a dtype of another library
        - a name: ``"float32"``, ``">int32"`` (big-endian), ``"bfloat16"``, ``"longdouble"``, ``"datetime64[ns]"``,
          ``"timedelta64[25s]"``, ``"opaque[7]"`` (bytes without a meaning), ``"bytes[7]"`` and ``"text[7]"`` (of fixed
          width), ``"object"``, ``"handle"``, ``"float32x4"`` (lanes); ``"int4"`` stands one to a byte and
          ``"int4_packed"`` two, as do the other types of less than a byte, from the lowest bits on;
        - a typestr of the array interfaces: ``"<i4"``, ``"|b1"``, ``"<M8[ns]"``, ``"|V7"``, ``"|S7"``, ``"<U7"``;
        - a struct format with its byte order in front, ``"=q"``, ``"<Zd"``, but for ``l`` and ``L``, which are of four
          bytes in a format and of eight elsewhere; and a name that was given to `register_dtype`;
        - a record, as NumPy describes one: a list of ``(name, dtype)`` or ``(name, dtype, shape)``, where a name may be
          ``(title, name)`` and ``("", "V4")`` is padding; a dict of names, formats, offsets, itemsize, titles, aligned;
          or its struct format, ``"T{i:a:xxxxd:b:}"``;
        - a type of columns, as ``dtype.name`` has it: ``"utf8"``, ``"date32"``, ``"datetime64[us, Europe/Paris]"``,
          ``"decimal128(10, 2)"``, ``"list[int64]"``, ``"struct{a: utf8}"``; `from_arrow` reads them all;
        - Python's ``bool``, ``int``, ``float``, ``complex``: bool, int64, float64, complex128;
        - a dtype or scalar type of numpy, ml_dtypes, jax, torch and others, told by what it says of itself. No library
          is imported for it.

    Raises
    ------
    ValueError
        The text names no dtype; the message has the near ones.
    lend.errors.UnsupportedType
        It is a dtype, and one that lend lacks.
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
    >>> DType([("id", "uint32"), ("at", ">float64", (3,))])
    DType([('id', 'uint32'), ('at', '>float64', (3,))])
    """

    def __cinit__(self, dtype, /):
        if dtype is not MAKING:
            self.logical = understood(dtype, &self.code)

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
        cdef bytes text = None
        cdef const char* chars = NULL
        cdef Py_ssize_t size
        if format is not None:
            text = b"" if "\0" in format else format.encode("utf-8", "surrogatepass")
            chars = text
        size = size_from_format(chars) if itemsize is None else itemsize
        if code_from_format(chars, size, &code):
            return dtype_from_code(code)
        from lend.dtypes import record_format

        return record_format.read_one(text, format, itemsize)

    @classmethod
    def from_typestr(cls, typestr, descr=None):
        """Read a typestr of the array interfaces, and the `descr` that comes with one of kind V.

        An order of ``|`` or ``=``, or none, is this machine's, as in NumPy.

        Parameters
        ----------
        typestr : str
        descr : list, optional
            The fields of a record.

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
                made = dtype_from_code(code)
                if code.kind == KIND_OPAQUE and descr is not None and descr != [("", text)]:
                    made = records().from_spec(descr)
                    if made.itemsize != code.param:
                        raise refusals().no_typestr(text, made.itemsize)
                return made
        raise refusals().no_typestr(text)

    @classmethod
    def from_dlpack(cls, code, bits, lanes=1, padded=False):
        """Read the triple of a DLDataType; with `padded`, types of less than a byte stand one to a byte (a flag there).

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
            if code_from_dlpack(code, bits, lanes, &made, bool(padded)):
                return dtype_from_code(made)
        raise UnsupportedType.build(
            f"lend has no dtype for the DLPack type code {int(code)}, {int(bits)} bits, {int(lanes)} lanes"
        )

    @classmethod
    def from_arrow(cls, format, *, fields=(), dictionary=None, ordered=False, keys_sorted=False, extension=None):
        """Read a format string of the Arrow C data interface, and what hangs on it in a schema.

        Parameters
        ----------
        format : str
        fields : iterable of tuple
            The children, each as (name, dtype, nullable, metadata), of which the last two may be left out.
        dictionary : DType, optional
            Of the values, where the format is that of indices.
        ordered, keys_sorted : bool
            The flags of a dictionary and of a map.
        extension : tuple, optional
            The name and the metadata of an extension type, whose storage is all the rest.

        Raises
        ------
        lend.errors.UnsupportedType
            The format is not understood.
        lend.errors.MalformedDescriptor
            What hangs on it contradicts it: a list without a child, a dictionary without integers.

        Examples
        --------
        >>> from lend.dtypes import DType
        >>> DType.from_arrow("tsn:"), DType.from_arrow("tsn:UTC"), DType.from_arrow("g").arrow
        (DType('datetime64[ns]'), DType('datetime64[ns, UTC]'), 'g')
        >>> DType.from_arrow("+l", fields=[("item", "utf8")])
        DType('list[utf8]')
        """
        if not isinstance(format, str):
            raise TypeError(f"an Arrow format is a str, not {type(format).__name__}")
        return logical_dtype(
            PyUnicode_FromObject(format), tuple(fields), dictionary, ordered, keys_sorted, extension)

    @property
    def name(self):
        """The name, with a sign in front if the byte order is not this machine's; `DType(name)` reads it.

        It leaves out the metadata of extension types, and what makes the name of a record long.
        """
        return name_of(self)

    @property
    def kind(self):
        """One of bool, int, uint, float, bfloat, complex, datetime, timedelta, opaque, handle, bytes, text, object,
        record, float8, float6, float4, int4, uint4, int2, uint2.

        Of columns alone: null, utf8, large_utf8, utf8_view, binary, large_binary, binary_view, date, time, interval,
        decimal, list, large_list, list_view, large_list_view, fixed_list, struct, map, union_dense, union_sparse,
        run_end, dictionary, extension; and their datetimes have a zone, and their bools share bytes.
        """
        if self.logical is not None:
            return self.logical.kind
        if self.code.kind >= KIND_MINI:
            return NAMES[code_word(make_code(self.code.kind, 8, 1, self.code.order_unit))].partition("_")[0]
        return KIND_NAMES[self.code.kind]

    @property
    def bits(self):
        """Bits of one lane as stored: 128 for a long double in sixteen bytes, 64 for a complex64, 4 for int4_packed; 0
        where there is no fixed width."""
        if self.logical is not None:
            return self.logical.bits
        return self.code.bits if self.code.kind >= KIND_MINI else 8 * self.itemsize // self.lanes

    @property
    def itemsize(self):
        """Bytes of one element, all lanes included; 0 where several share a byte (int4_packed) or have any width."""
        return code_itemsize(self.code)

    @property
    def shares_bytes(self):
        """True if several elements share a byte, as two of int4_packed do: a View of them has no strides."""
        return code_shared_bits(self.code) != 0

    @property
    def lanes(self):
        """Values in one element: 1, but for the vector types of DLPack."""
        return self.code.param if self.logical is None and code_has_lanes(self.code) else 1

    @property
    def byteorder(self):
        """'little' or 'big'; None for what has none (one byte, opaque), or only this machine's (a column's)."""
        if code_swap_size(self.code) <= 1:
            return None
        return "big" if self.code.order_unit & ORDER_BIG else "little"

    @property
    def is_native(self):
        """True if the bytes are in this machine's order, or have none."""
        return not code_is_swapped(self.code)

    @property
    def unit(self):
        """The unit of a datetime, timedelta, date or time ('ns', 'D', 'generic'), None for other kinds."""
        if not is_timed(self.code):
            return told(self, "unit", None)
        return UNITS[self.code.order_unit & UNIT_MASK].decode("ascii") or "generic"

    @property
    def multiplier(self):
        """How many units one tick of a datetime or timedelta is: 25 in datetime64[25s]; None for other kinds."""
        return self.code.param if is_timed(self.code) else None

    @property
    def length(self):
        """Bytes of fixed bytes, characters of text, values of a fixed list; None for other kinds."""
        return self.code.param if self.code.kind in (KIND_BYTES, KIND_TEXT) else told(self, "length", None)

    @property
    def fields(self):
        """The fields of a record: a new dict of name to (dtype, offset, shape, title); None for other kinds.

        Those of a struct have no offset, and of several of one name it has the first: `children` has all.

        Examples
        --------
        >>> from lend.dtypes import DType
        >>> DType([("a", "int32"), ("b", "float64")]).fields["b"].offset
        4
        """
        if self.code.kind != KIND_RECORD:
            return told(self, "named_fields", None)
        return dict(records().record_of(self).fields)

    @property
    def names(self):
        """The names of a record's or a struct's fields in their order, None for other kinds."""
        return tuple(records().record_of(self).fields) if self.code.kind == KIND_RECORD else told(self, "names", None)

    @property
    def children(self):
        """The types within a type of columns, as (name, DType): of a map one, the struct of its entries."""
        return told(self, "children", ())

    @property
    def value_type(self):
        """The DType of what a list, a dictionary or a run has, or an extension type stands on; None for other kinds."""
        return told(self, "value_type", None)

    @property
    def dictionary(self):
        """The DType of the values that the indices of a dictionary stand for; None for other kinds."""
        return told(self, "dictionary", None)

    @property
    def ordered(self):
        """Whether the order of a dictionary's values means something; None for other kinds."""
        return told(self, "ordered", None)

    @property
    def zone(self):
        """The time zone of a datetime, the text as it came; None for other kinds, and for datetimes without one."""
        return told(self, "zone", None)

    @property
    def precision(self):
        """The digits of a decimal; None for other kinds."""
        return told(self, "precision", None)

    @property
    def scale(self):
        """The digits of a decimal behind the point, negative for zeros before it; None for other kinds."""
        return told(self, "scale", None)

    @property
    def extension(self):
        """The name (a str) and the metadata (bytes or None) of an extension type; None for other kinds."""
        return told(self, "extension", None)

    @property
    def storage(self):
        """The DType of the same bytes that an element of a View can have, itself if it can; None if there is none."""
        return told(self, "storage", self)

    @property
    def has_objects(self):
        """True if it is a pointer to a Python object, or a record with one."""
        return bool(code_has_objects(self.code))

    @property
    def record_number(self):
        """Number of a record type in this process, None for other kinds."""
        return self.code.bits if self.code.kind == KIND_RECORD else None

    @property
    def order_unit(self):
        """The byte of the packed code that says order, unit, and what else a kind needs."""
        return self.code.order_unit

    @property
    def format(self):
        """The struct format of the buffer protocol; raises UnsupportedType where it has none (PEP 3118)."""
        cdef char buf[24]
        cdef int length
        if self.code.kind == KIND_RECORD:
            from lend.dtypes import record_format

            return record_format.write(self)
        length = write_format(self.code, buf)
        if length < 0:
            raise refusals().cannot_say(self, "the buffer protocol")
        return buf[:length].decode("ascii")

    @property
    def typestr(self):
        """The typestr of the array interfaces; raises UnsupportedType where they have none."""
        cdef char buf[40]
        cdef int length = write_typestr(self.code, buf)
        if length < 0:
            raise refusals().cannot_say(self, "the array interface")
        return buf[:length].decode("ascii")

    @property
    def descr(self):
        """The `descr` of the array interface, a list of fields; raises UnsupportedType where it has none."""
        from lend.dtypes import record_descr

        return record_descr.write(self)

    @property
    def dlpack(self):
        """The triple (code, bits, lanes) of DLPack; raises UnsupportedType where it has none."""
        cdef uint8_t code, bits
        cdef uint16_t lanes
        if self.logical is not None or not code_to_dlpack(self.code, &code, &bits, &lanes):
            raise refusals().cannot_say(self, "DLPack")
        return (code, bits, lanes)

    @property
    def arrow(self):
        """The format string of the Arrow C data interface; raises UnsupportedType where it has none."""
        from lend.dtypes import arrow_format

        return arrow_format.write(self)

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
        if code.kind == KIND_RECORD:
            return records().in_order(self, order)
        if self.logical is not None:
            return self
        return dtype_from_code(make_code(code.kind, code.bits, code.param, sign | (code.order_unit & UNIT_MASK)))

    def __eq__(self, other):
        if not isinstance(other, DType):
            if isinstance(other, str):
                # a record has no text that is its own
                return name_of(self) == other if self.code.kind != KIND_RECORD and told(self, "is_told", True) else (
                    NotImplemented)
            from lend.dtypes.foreign import meant
            other = meant(other)
            if other is None:
                return NotImplemented
        if self.code.kind == KIND_RECORD and (<DType> other).code.kind == KIND_RECORD:
            return records().meaning(self.code.bits) == records().meaning((<DType> other).code.bits)
        if self.logical is not None and (<DType> other).logical is not None:
            return self.logical.means((<DType> other).logical)
        return code_word(self.code) == code_word((<DType>other).code)

    def __hash__(self):
        if self.code.kind == KIND_RECORD:
            return hash(("record", records().meaning(self.code.bits)))
        return hash(name_of(self))

    def __str__(self):
        return name_of(self)

    def __repr__(self):
        return f"DType({records().shown(self) if self.code.kind == KIND_RECORD else name_of(self)!r})"

    def __reduce__(self):
        # the byte order is spelled out and a long double tells its size: the reader may be another machine
        cdef Code code = self.code
        cdef str name
        if code.kind == KIND_RECORD:
            return (DType, (records().spec(self),))
        if self.logical is not None:
            return self.logical.reduced()
        name = bare_name(code, NAMES)
        if "longdouble" in name:
            name = name.replace("clongdouble", f"complex{code.bits}").replace("longdouble", f"float{code.bits}")
        return (DType, (order_sign(code) + name,))
