"""Dtypes that only columns have: text of any width, dates, decimals, lists, dictionaries, extension types.

Such a DType has a `Logical` instead of a meaning in its packed code. Its `name` says what it means, but for what
`marks` adds: two are equal when both are. Names of a list's, a map's and a run's children, which fields may be
null, and metadata of fields are carried, and are no part of the meaning. Loaded when the first such dtype is met.
"""

__all__ = ["Child", "Logical", "make"]

from collections import namedtuple

from lend.dtypes import arrow_format
from lend.dtypes.dtype import DType, dtype_of_logical, logical_of
from lend.dtypes.refusals import shortened
from lend.errors import MalformedDescriptor, UnsupportedType

TYPE_CHECKING = False  # type checkers read it as True; `typing` is not imported at run time
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

MOST_DEPTH = 64  # of types within types: readers call themselves
MOST_LENGTH = 1 << 24  # of a name, about: a type may hold another twice, and that another twice

# typing.NamedTuple would load typing
Child = namedtuple("Child", ("name", "dtype", "nullable", "metadata"))  # noqa: PYI024
Child.__doc__ = "A type within a type: its name, its DType, whether it may be null, its metadata (bytes) or None."

# format -> name, kind, unit, the plain dtype of the same bytes, bits
LEAVES = {
    "n": ("null", "null", None, None, 0),
    "b": ("bool_packed", "bool", None, None, 1),
    "u": ("utf8", "utf8", None, None, 0),
    "U": ("large_utf8", "large_utf8", None, None, 0),
    "vu": ("utf8_view", "utf8_view", None, None, 0),
    "z": ("binary", "binary", None, None, 0),
    "Z": ("large_binary", "large_binary", None, None, 0),
    "vz": ("binary_view", "binary_view", None, None, 0),
    "tdD": ("date32", "date", "D", "int32", 32),
    "tdm": ("date64", "date", "ms", "int64", 64),
    "tts": ("time32[s]", "time", "s", "int32", 32),
    "ttm": ("time32[ms]", "time", "ms", "int32", 32),
    "ttu": ("time64[us]", "time", "us", "int64", 64),
    "ttn": ("time64[ns]", "time", "ns", "int64", 64),
    "tiM": ("interval[month]", "interval", None, "int32", 32),
    "tiD": ("interval[day_time]", "interval", None, "opaque[8]", 64),
    "tin": ("interval[month_day_nano]", "interval", None, "opaque[16]", 128),
}
UNITS = {"s": "s", "m": "ms", "u": "us", "n": "ns"}
# bits of a decimal -> its most digits, the plain dtype of the same bytes
_DECIMALS = {32: (9, "int32"), 64: (18, "int64"), 128: (38, "opaque[16]"), 256: (76, "opaque[32]")}
LISTS = {"+l": "list", "+L": "large_list", "+vl": "list_view", "+vL": "large_list_view"}
_INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


class Logical:
    """What a type of columns is; never changed once it is made.

    Attributes
    ----------
    format : str
        Arrow's format string: of a dictionary that of its indices, of an extension type that of its storage.
    kind : str
    fields : tuple of Child
        The types within, as Arrow has them: of a map one, the struct of its entries.
    dictionary : DType or None
        Of the values that the indices stand for.
    ordered, keys_sorted : bool
        Whether the order of a dictionary's values means something; whether each map has its keys sorted.
    extension : tuple of str and (bytes or None), or None
        The name and the metadata of an extension type; what is not UTF-8 in the name stands there as lone surrogates.
    base : DType or None
        The type without the extension.
    unit, zone : str or None
    precision, scale, length : int or None
        Digits of a decimal; values in each list of fixed width.
    type_ids : tuple of int or None
        Of a union's children.
    storage : DType or None
        The plain dtype of the same bytes.
    bits, itemsize : int
        0 where there is no fixed width; 1 and 0 for bools that share bytes.
    """

    __slots__ = (
        *("_name", "base", "bits", "depth", "dictionary", "extension", "fields", "format", "is_ordered", "itemsize"),
        *("keys_sorted", "kind", "length", "marks", "precision", "scale", "storage", "type_ids", "unit", "weight"),
        "zone",
    )

    format: str
    kind: str
    fields: "tuple[Any, ...]"
    dictionary: "DType | None"
    is_ordered: bool
    keys_sorted: bool
    extension: "tuple[str, bytes | None] | None"
    base: "DType | None"
    unit: "str | None"
    zone: "str | None"
    precision: "int | None"
    scale: "int | None"
    length: "int | None"
    type_ids: "tuple[int, ...] | None"
    storage: "DType | None"
    bits: int
    itemsize: int
    depth: int
    weight: int
    marks: "tuple[bytes | int, ...]"
    _name: "str | None"

    def __init__(self, format: str, kind: str, name: "str | None" = None, bits: int = 0) -> None:
        self.format, self.kind, self._name = format, kind, name
        self.bits, self.itemsize = bits, bits >> 3
        self.fields, self.marks = (), ()
        self.dictionary = self.extension = self.base = self.unit = self.zone = None
        self.precision = self.scale = self.length = self.type_ids = self.storage = None
        self.is_ordered = self.keys_sorted = False
        self.depth, self.weight = 0, 16 if name is None else len(name)

    @property
    def name(self) -> str:
        """What `DType(name)` reads, and repr shows."""
        if self._name is None:
            from lend.dtypes import logical_names

            self._name = logical_names.write(self)
        return self._name

    @property
    def is_told(self) -> bool:
        """True when the name says all: no metadata of an extension type, no record."""
        return not any(mark != b"" for mark in self.marks)

    def means(self, other: "Logical") -> bool:
        """Whether two are the same type."""
        return self is other or (self.kind == other.kind and self.marks == other.marks and self.name == other.name)

    @property
    def ordered(self) -> "bool | None":
        """None for what has no dictionary."""
        return None if self.dictionary is None else self.is_ordered

    @property
    def children(self) -> "tuple[tuple[str, DType], ...]":
        """The types within, with their names."""
        return tuple((child.name, child.dtype) for child in self.fields)

    @property
    def value_type(self) -> "DType | None":
        """What a list, a dictionary, a run or an extension type has values of."""
        if self.base is not None or self.dictionary is not None:
            return self.base or self.dictionary
        if self.kind == "run_end":
            found: DType = self.fields[1].dtype
            return found
        return self.fields[0].dtype if self.kind == "fixed_list" or self.kind in LISTS.values() else None

    @property
    def names(self) -> "tuple[str, ...] | None":
        """The names of a struct's fields, which may repeat; None for other kinds."""
        return tuple(child.name for child in self.fields) if self.kind == "struct" else None

    @property
    def named_fields(self) -> "dict[str, Any] | None":
        """The fields of a struct by name, as those of a record; of several of one name the first."""
        if self.kind != "struct":
            return None
        from lend.dtypes.records import Field

        found: dict[str, Any] = {}
        for child in self.fields:
            found.setdefault(child.name, Field(child.dtype, None, (), None))
        return found

    def reduced(self) -> "tuple[Any, ...]":
        """What a pickle calls to make it again."""
        if not self.depth:
            return (DType, (self.name,))
        fields = tuple(map(tuple, self.fields))
        parts = (self.format, fields, self.dictionary, self.is_ordered, self.keys_sorted, self.extension)
        return (arrow_format.read, parts)


# -- making ------------------------------------------------------------------------------------------------------------


def make(
    format: str,
    fields: "tuple[Any, ...]" = (),
    dictionary: object = None,
    ordered: bool = False,
    keys_sorted: bool = False,
    extension: "Any" = None,
) -> DType:
    """The dtype of what a schema of Arrow says, checked; its arguments are those of `DType.from_arrow`."""
    if extension is not None:
        said: dict[str, Any] = {"fields": fields, "dictionary": dictionary, "ordered": ordered}
        return _extended(DType.from_arrow(format, keys_sorted=keys_sorted, **said), extension)
    if dictionary is not None:
        return _encoded(format, fields, _dtype(dictionary), ordered)
    if not format.startswith("+"):
        if fields:
            raise _miscounted(str(DType.from_arrow(format)), "none", len(fields))
        return _leaf(format)
    children = tuple(map(_child, fields))
    if format == "+s":
        made = Logical(format, "struct")
    elif format == "+m":
        made = _map(children, keys_sorted)
    elif format == "+r":
        made = _runs(children)
    elif format[:4] in ("+ud:", "+us:"):
        made = _union(format, len(children))
    elif format in LISTS or format.startswith("+w:"):
        made = Logical(format, LISTS.get(format, "fixed_list"))
        if format not in LISTS:
            made.length = arrow_format.width(format, format[3:])
            made.format = f"+w:{made.length}"
        if len(children) != 1:
            raise _miscounted(made.kind, "one", len(children))
    else:
        raise arrow_format.unread(format, "no nested type of Arrow's")
    made.fields = children
    made.weight += sum(len(child.name) for child in children)
    return _finished(made, [child.dtype for child in children])


def _finished(made: Logical, parts: "Iterable[DType]" = ()) -> DType:
    """The DType of it, when what it is made of was counted."""
    marks = [*made.marks]
    for part in parts:
        inner = logical_of(part)
        made.depth = max(made.depth, 1 + (0 if inner is None else inner.depth))
        made.weight += 24 if inner is None else inner.weight
        if part.kind == "record":
            from lend.dtypes import records

            assert part.record_number is not None
            marks.append(records.meaning(part.record_number))
        elif inner is not None:
            marks += inner.marks
    made.marks = tuple(marks)
    if made.depth > MOST_DEPTH:
        raise too_deep()
    if made.weight > MOST_LENGTH:
        raise UnsupportedType.build(f"lend keeps no type whose name would have more than {MOST_LENGTH} characters")
    return dtype_of_logical(made, min(made.bits, 8), made.itemsize or made.bits)


def too_deep() -> UnsupportedType:
    """Make the exception for types within types within types."""
    return UnsupportedType.build(f"lend reads types within types to a depth of {MOST_DEPTH}, not deeper")


def _miscounted(kind: str, wanted: str, came: int) -> MalformedDescriptor:
    return MalformedDescriptor.build(
        f"{shortened(kind)} has {wanted} as types within it, and {came} came with it",
        remedy="fields=((name, dtype), ...)",
    )


def _sound(text: str) -> bool:
    """True when a text can stand in a schema: UTF-8, or what surrogateescape makes of other bytes, and no NUL."""
    try:
        return b"\0" not in text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False


def _dtype(said: object) -> DType:
    return said if type(said) is DType else DType(said)


def _child(said: "Any") -> "Any":
    """Read (name, dtype), (name, dtype, nullable) or (name, dtype, nullable, metadata)."""
    if not isinstance(said, tuple) or not 2 <= len(said) <= 4:
        raise TypeError(f"a field is a tuple (name, dtype, nullable, metadata), not {said!r:.80}")
    name, dtype, nullable, metadata = (*said, True, None)[:4] if len(said) != 3 else (*said, None)
    if not isinstance(name, str):
        raise TypeError(f"the name of a field is a str, not {type(name).__name__}")
    if metadata is not None and not isinstance(metadata, bytes):
        raise TypeError(f"the metadata of a field is bytes or None, not {type(metadata).__name__}")
    if not _sound(name):
        raise MalformedDescriptor.build(
            f"the name {shortened(ascii(name))} of a field is no text that a schema can have"
        )
    return Child(name, _dtype(dtype), bool(nullable), metadata)


def _leaf(format: str) -> DType:
    unit, storage = None, None
    if format in LEAVES:
        name, kind, unit, storage, bits = LEAVES[format]
        made = Logical(format, kind, name, bits)
    elif format[:2] == "ts" and format[2:3] in UNITS and format[3:4] == ":" and len(format) > 4 and _sound(format):
        from lend.dtypes.logical_names import shown

        unit, storage = UNITS[format[2]], "int64"
        made = Logical(format, "datetime", f"datetime64[{unit}, {shown(format[4:])}]", 64)
        made.zone = format[4:]
    elif format.startswith("d:"):
        made, storage = _decimal(format)
    else:
        raise arrow_format.unread(format)
    made.unit = unit
    made.storage = None if storage is None else DType(storage)
    return _finished(made)


def _decimal(format: str) -> "tuple[Logical, str]":
    numbers = []
    for word in format[2:].split(","):
        digits = word.removeprefix("-")
        if not digits.isascii() or not digits.isdecimal() or len(digits) > 9:
            break
        numbers.append(int(word))
    else:
        precision, scale, bits = (*numbers, 128)[:3] if 2 <= len(numbers) <= 3 else (0, 0, 0)
        if bits in _DECIMALS and 1 <= precision <= _DECIMALS[bits][0]:
            made = Logical(format, "decimal", f"decimal{bits}({precision}, {scale})", bits)
            made.precision, made.scale = precision, scale
            made.format = f"d:{precision},{scale}" + ("" if bits == 128 else f",{bits}")
            return made, _DECIMALS[bits][1]
        if bits in _DECIMALS:
            why = f"a decimal of {bits} bits has 1 to {_DECIMALS[bits][0]} digits, not {precision}"
            raise arrow_format.unread(format, why, "a cast by its library to a wider decimal")
    raise arrow_format.unread(format, "a decimal is d:DIGITS,SCALE or d:DIGITS,SCALE,BITS, of 32, 64, 128, 256 bits")


def _encoded(format: str, fields: "tuple[Any, ...]", values: DType, ordered: bool) -> DType:
    index = DType.from_arrow(format)
    if index.name not in _INTEGERS:
        raise MalformedDescriptor.build(f"the indices of a dictionary are integers of 8 to 64 bits, not {index}")
    if fields:
        raise _miscounted("the index of a dictionary", "none", len(fields))
    made = Logical(format, "dictionary", bits=index.bits)
    made.storage, made.dictionary, made.is_ordered = index, values, ordered
    return _finished(made, [values])


def _map(children: "tuple[Any, ...]", keys_sorted: bool) -> Logical:
    made = Logical("+m", "map")
    made.keys_sorted = keys_sorted
    if len(children) != 1:
        raise _miscounted("map", "one", len(children))
    entries = children[0].dtype
    inner = logical_of(entries)
    if inner is not None and inner.extension is not None:
        entries = inner.base  # whatever these structs are named besides
    if entries.kind != "struct" or len(entries.children) != 2:
        raise MalformedDescriptor.build(f"a map is of structs of a key and a value, not of {shortened(str(entries))}")
    return made


def _runs(children: "tuple[Any, ...]") -> Logical:
    if len(children) != 2:
        raise _miscounted("run_end", "two", len(children))
    if children[0].dtype.name not in ("int16", "int32", "int64"):
        raise MalformedDescriptor.build(
            f"the ends of runs are int16, int32 or int64, not {shortened(str(children[0].dtype))}"
        )
    return Logical("+r", "run_end")


def _union(format: str, count: int) -> Logical:
    words = format[4:].split(",") if len(format) > 4 else []
    ids = tuple(int(word) if word.isascii() and word.isdecimal() and len(word) < 4 else -1 for word in words[:129])
    if not all(0 <= number < 128 for number in ids) or len({*ids}) != len(ids):
        raise arrow_format.unread(format, "the ids of a union are different numbers from 0 to 127")
    made = Logical(format[:4] + ",".join(map(str, ids)), "union_dense" if format[2] == "d" else "union_sparse")
    made.type_ids = ids
    if count != len(ids):
        raise _miscounted(f"{made.kind} of {len(ids)} ids", "as many", count)
    return made


def _extended(base: DType, extension: "Any") -> DType:
    name, metadata = extension
    if isinstance(name, bytes):
        name = name.decode("utf-8", "surrogateescape")
    if isinstance(metadata, str):
        metadata = metadata.encode("utf-8", "surrogateescape")
    if not isinstance(name, str) or not isinstance(metadata, (bytes, type(None))):
        raise TypeError("an extension is a pair: its name, a str or bytes, and its metadata, bytes or None")
    if not _sound(name):
        raise MalformedDescriptor.build(f"the name {shortened(ascii(name))} of an extension type is not UTF-8")
    if name == "arrow.bool8" and base == "int8" and not metadata:
        return DType("bool")
    inner = logical_of(base)
    made = Logical(base.arrow, "extension", bits=0 if base.itemsize == 0 and inner is None else base.bits)
    if inner is not None:
        made.fields, made.dictionary, made.type_ids = inner.fields, inner.dictionary, inner.type_ids
        made.is_ordered, made.keys_sorted = inner.is_ordered, inner.keys_sorted
    made.base, made.storage, made.extension = base, base.storage, (name, metadata)
    made.marks = (metadata or b"",)
    made.weight += len(name)
    return _finished(made, [base])
