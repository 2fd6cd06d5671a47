"""Dtypes of other libraries: read by what they tell of themselves, and NumPy's made when it is asked for.

Loaded when the first such dtype is met, never by `import lend`; it imports NumPy only to make one of its dtypes.
"""

__all__ = ["from_ctypes", "meant", "named", "numpy_dtype", "of_exporter", "register_dtype", "registered", "spell"]

from _thread import allocate_lock

from lend.dtypes.refusals import cannot_say, unsupported
from lend.errors import LendError, UnsupportedType

TYPE_CHECKING = False  # type checkers read it as True; `typing` is not imported at run time
if TYPE_CHECKING:
    from typing import Any

    from lend.dtypes.dtype import DType

# NumPy names its C integer types by their size, but for the second one of a size
_C_INTEGERS = {"longlong": "int64", "ulonglong": "uint64", "intc": "int32", "uintc": "uint32"}


# kinds that ml_dtypes adds to NumPy
ADDED = frozenset({"bfloat", "float8", "float6", "float4", "int4", "uint4", "int2", "uint2"})


def meant(other: object) -> "DType | None":
    """What a DType is compared with: a dtype or a scalar type of Python or of another library; None for all else."""
    from lend.dtypes.dtype import DType

    if not isinstance(other, type) and not hasattr(type(other), "itemsize"):
        return None
    try:
        return DType(other)
    except (LendError, TypeError, ValueError):
        return None


# what NumPy calls its types of any length, with their bits behind it
_OF_NUMPY = frozenset({"bytes", "object", "record", "str", "void"})
# and what else it reads as one of its own
_ALIASES = frozenset(
    {"byte", "ubyte", "short", "ushort", "long", "ulong", "half", "single", "double", "csingle", "cdouble", "generic"}
    | {"bool_", "object_", "str_", "bytes_", "unicode_", "int_", "uint", "intp", "uintp", "None", "str", "string"}
)
_MOST_NAMES = 1024
_registered: "dict[str, DType]" = {}
_lock = allocate_lock()


def register_dtype(name: str, dtype: object) -> None:
    """Say which dtype of lend has the same bits as a dtype of another library that lend does not know.

    From then on an array whose ``dtype.name`` is `name` is taken by `lend.view`, as a View of `dtype`: the same bits,
    under a name that every consumer knows; and ``DType(name)`` is `dtype`. Nothing is converted, and what the values
    mean stays yours to know.

    Parameters
    ----------
    name : str
        What the foreign dtype calls itself.
    dtype : DType or anything `DType` understands
        Of the same bits: same size, same byte order.

    Raises
    ------
    ValueError
        The name is one of lend's own or of NumPy's, or was registered for another dtype; or there are too many.

    Examples
    --------
    >>> import lend
    >>> lend.register_dtype("example_fixed16", "int16")
    >>> lend.DType("example_fixed16")
    DType('int16')
    >>> lend.register_dtype("example_fixed16", "float16")
    Traceback (most recent call last):
    ...
    ValueError: 'example_fixed16' is registered as int16, and cannot be float16 as well
    """
    from lend.dtypes.dtype import DType

    given: Any = name
    if not isinstance(given, str) or not given.isprintable() or not given or given[0] in "<>=@!|^ ":
        raise ValueError(f"a dtype is registered by its name, a text, not {given!r:.60}")
    name = str(given)
    made = DType(dtype)
    if made.storage is not made:
        raise ValueError(f"{name!r:.60} cannot be {made}: a type of columns is no element of an array")
    if made.has_objects:
        raise ValueError(f"{name!r:.60} cannot be {made}: bytes never become pointers to Python objects")
    try:
        own = None if name in _registered else DType(name)
    except (ValueError, UnsupportedType):
        own = None
    if own is None and (name.rstrip("0123456789") in _OF_NUMPY or name in _ALIASES or len(name) == 1):
        raise ValueError(f"{name!r:.60} is a name of NumPy's own, for types of more than one meaning")
    if own is not None and own != made:
        raise ValueError(f"{name!r:.60} is a name of lend's own, for {own}, and cannot be {made} as well")
    with _lock:
        known = _registered.get(name)
        if known is not None and known != made:
            raise ValueError(f"{name!r:.60} is registered as {known}, and cannot be {made} as well")
        if known is None and len(_registered) >= _MOST_NAMES:
            raise ValueError(f"{_MOST_NAMES} dtypes are registered, and lend keeps no more")
        if own is None:
            _registered[name] = made


def registered(dtype: object) -> "DType | None":
    """What was registered for a dtype of another library, by its name and in its byte order; None for nothing."""
    name = getattr(dtype, "name", None)
    made = _registered.get(name) if type(name) is str else None
    if made is not None and getattr(dtype, "itemsize", made.itemsize) != made.itemsize:
        raise UnsupportedType.build(
            f"the dtype {name!r:.60} was registered as {made}, of {made.itemsize} bytes, and has "
            f"{getattr(dtype, 'itemsize', None)}"
        )
    if made is None:
        return None
    from lend.dtypes.dtype import DType

    typestr = getattr(dtype, "str", None)
    swapped = type(typestr) is str and typestr[:1] == (">" if DType("<u2").is_native else "<")
    return made.newbyteorder("swap") if swapped else made


def named(text: str, names: "Any") -> "DType":
    """What a text means that names no plain type: a registered one, a struct format with its order, a column's."""
    from lend.dtypes.dtype import DType
    from lend.dtypes.refusals import unknown_text

    sign, rest = (text[0], text[1:]) if text[:1] in tuple("=<>!@^") else ("", text)
    made = _registered.get(text) or _registered.get(rest)
    if made is not None and sign:
        made = made.newbyteorder("little" if sign == "<" else "big" if sign in ">!" else "native")
    if made is None and sign and (rest not in ("l", "L") or sign in "@^"):
        try:
            made = DType.from_format(text)
            made = None if made.kind == "record" else made  # of several codes
        except (UnsupportedType, ValueError):
            made = None
    if made is None:
        from lend.dtypes import logical_names

        made = logical_names.read(text)
    if made is None:
        raise unknown_text(text, names)
    return made


def spell(dtype: object) -> "str | DType | None":
    """Find the text that a foreign dtype or scalar type goes by, for DType to read; None if it is no dtype at all.

    A record is read here, and is a DType.
    """
    if isinstance(dtype, type):
        return _spell_type(dtype)
    if _registered:
        made = registered(dtype)
        if made is not None:
            return made
    typestr, name = getattr(dtype, "str", None), getattr(dtype, "name", None)
    if isinstance(typestr, str) and isinstance(name, str):
        if getattr(dtype, "names", None) is not None and hasattr(dtype, "isalignedstruct"):
            return _numpy_record(dtype)
        if getattr(dtype, "isbuiltin", 1) == 2:
            return (typestr[0] if typestr[0] in "<>" else "") + name  # ml_dtypes calls some f1
        if getattr(dtype, "names", None) is not None or getattr(dtype, "subdtype", None) is not None:
            raise unsupported(dtype)  # a type and a shape, which calls itself V as well
        if typestr.lstrip("<>|=").startswith("V") and not name.startswith("void"):
            # a type that was added to NumPy (ml_dtypes) calls itself V and is told by its name
            return (typestr[0] if typestr[0] in "<>" else "") + name
        if name.startswith("datetime64[") and ", " in name:
            # pandas' datetimes of a zone, whose typestr is silent about it
            from lend.dtypes import logical_names

            made = logical_names.read(name)
            if made is None:
                raise unsupported(dtype)
            return made
        return typestr
    if type(dtype).__name__.lower() != "dtype":
        return None
    return name if isinstance(name, str) else str(dtype).rpartition(".")[2]  # torch.float32, mlx.core.float32


def _spell_type(cls: type) -> "str | DType | None":
    """Find the text for a class that stands for a dtype: a scalar type of NumPy, ml_dtypes or jax."""
    spelled = getattr(cls, "dtype", None)  # jax.numpy.float32 has an instance here, numpy.float32 a descriptor
    if isinstance(getattr(spelled, "str", None), str):
        return spell(spelled)
    if not any(base.__name__ == "generic" and base.__module__ == "numpy" for base in cls.__mro__):
        return None
    name = cls.__name__.rstrip("_")  # bool_ before NumPy 2
    return _C_INTEGERS.get(name, name)


# dtype of NumPy's with fields -> ours; its equality does not see the align flag
_records: "dict[tuple[Any, bool], DType]" = {}


def _numpy_record(dtype: "Any") -> "DType":
    """Read a dtype of NumPy's that has fields, to the last title."""
    from lend.dtypes import records
    from lend.dtypes.dtype import DType

    key = (dtype, dtype.isalignedstruct)
    known = _records.get(key)
    if known is not None:
        return known
    fields = []
    for name in dtype.names:
        told = dtype.fields[name]
        base, shape = told[0].subdtype or (told[0], ())
        fields.append((name, records.Field(DType(base), told[1], tuple(shape), told[2] if len(told) > 2 else None)))
    made = records.make(fields, dtype.itemsize, dtype.isalignedstruct)
    if len(_records) >= 1024:
        _records.clear()
    _records[key] = made
    return made


def of_exporter(obj: "Any", format: "bytes | None", itemsize: int) -> "tuple[DType, tuple[int, ...]] | None":
    """The type of the items of a buffer whose format is more than one letter, and the shape of each; None: unread.

    What the exporter is known to say better than in a format is asked of itself: a dtype of NumPy's with its titles, a
    structure of ctypes.
    """
    while type(obj) is memoryview:
        obj = obj.obj
    kinds = [(base.__module__, base.__name__) for base in type(obj).__mro__]
    if ("_ctypes", "_CData") in kinds:
        cls = type(obj)
        while hasattr(cls, "_length_"):
            cls = cls._type_
        structured = any((base.__module__, base.__name__) == ("_ctypes", "Structure") for base in cls.__mro__)
        return (from_ctypes(cls), ()) if structured else None
    if format is None:
        return None
    if format.startswith(b"T{") and (("numpy", "ndarray") in kinds or ("numpy", "generic") in kinds):
        made = _numpy_record(obj.dtype)
        return (made, ()) if made.itemsize == itemsize else None
    from lend.dtypes.record_format import Unread, read

    try:
        return read(format, itemsize)
    except Unread:
        return None


def from_ctypes(cls: "Any") -> "DType":
    """The type of a ctypes class; its struct formats leave padding away, and cannot say bit fields and unions.

    Raises UnsupportedType for bit fields; a union, and a pointer, is opaque.
    """
    import ctypes

    from lend.dtypes import records
    from lend.dtypes.dtype import DType

    if not issubclass(cls, ctypes.Structure):
        try:
            told = memoryview(cls())
            return DType.from_format(told.format, told.itemsize)
        except (UnsupportedType, TypeError, ValueError):
            return DType(f"opaque[{ctypes.sizeof(cls)}]")
    fields = []
    for base in reversed(cls.__mro__):
        for entry in base.__dict__.get("_fields_", ()):
            if len(entry) > 2:
                raise UnsupportedType.build(
                    f"the field {entry[0]!r} of the ctypes structure {cls.__name__} is a bit field, which shares its "
                    "bytes with others",
                    remedy="a structure whose fields are whole bytes, over the same memory: other.from_buffer(x)",
                )
            kind, shape = entry[1], []
            while hasattr(kind, "_length_"):
                shape.append(kind._length_)
                kind = kind._type_
            offset = getattr(cls, entry[0]).offset
            fields.append((entry[0], records.Field(from_ctypes(kind), offset, tuple(shape), None)))
    return records.make(fields, ctypes.sizeof(cls))


def _numpy_of_record(dtype: "DType") -> "Any":
    import numpy as np

    from lend.dtypes import records

    record = records.record_of(dtype)
    said: dict[str, Any] = {
        "names": list(record.fields),
        "formats": [
            (numpy_dtype(field.dtype), field.shape) if field.shape else numpy_dtype(field.dtype)
            for field in record.fields.values()
        ],
        "offsets": [field.offset for field in record.fields.values()],
        "itemsize": record.itemsize,
    }
    titles = [field.title for field in record.fields.values()]
    if any(title is not None for title in titles):
        said["titles"] = titles
    try:
        return np.dtype(said, align=record.align)
    except ValueError as error:
        # larger than a C int, or aligned in name only
        raise cannot_say(dtype, "NumPy") from error


def numpy_dtype(dtype: "DType") -> "Any":
    """Make NumPy's dtype of the same meaning; bfloat16 is that of ml_dtypes."""
    import numpy as np

    if dtype.kind == "record":
        return _numpy_of_record(dtype)
    if dtype.kind in ADDED and dtype.lanes == 1 and not dtype.shares_bytes:
        bare = dtype.newbyteorder("native").name
        try:
            import ml_dtypes
        except ImportError as exc:
            raise UnsupportedType.build(
                f"NumPy has no {bare} of its own", remedy="install ml_dtypes, which adds it"
            ) from exc
        plain = np.dtype(getattr(ml_dtypes, bare, "V1"))
        if plain.name != bare:
            raise UnsupportedType.build(f"this ml_dtypes has no {bare}", remedy="a newer ml_dtypes")
        return plain if dtype.is_native else plain.newbyteorder()
    try:
        typestr = dtype.typestr
    except UnsupportedType:
        raise cannot_say(dtype, "NumPy") from None
    if (dtype.kind in {"int", "uint"} and dtype.bits > 64) or dtype.itemsize > 0x7FFFFFFF:
        raise cannot_say(dtype, "NumPy")
    return np.dtype(typestr)
