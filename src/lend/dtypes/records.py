"""Record types: what the number in the packed code of a record stands for, and how they are made.

Loaded when the first record is met. The table only grows: equal records share one entry, and the number of entries is
bounded, since a packed code holds sixteen bits of it. Two records that differ only in NumPy's align flag are equal, and
yet two entries, so that NumPy gets back what it gave.
"""

from _thread import allocate_lock
from collections import namedtuple

from lend.dtypes.dtype import DType, code_word_of, enter_record, record_dtype
from lend.dtypes.refusals import no_element
from lend.errors import UnsupportedType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

MOST_TYPES = 1 << 16  # the bits of a packed code
MOST_BYTES = (1 << 32) - 1
MOST_DEPTH = 32  # of records within records: readers call themselves
MOST_ENTRIES = 1 << 14  # of one description: a list may hold itself
MOST_EMPTY = 1 << 16  # values of no bytes in a subarray: no memory bounds them
_OBJECTS, _HIDES, _BIG, _ALIGN = 8, 16, 0x80, 7  # bits of a code's order_unit
_POINTER = 8  # bytes: what is shorter holds no pointer

# typing.NamedTuple would load typing
Field = namedtuple("Field", ("dtype", "offset", "shape", "title"))  # noqa: PYI024
Field.__doc__ = "A field of a record: its DType, its offset in bytes, the shape of a subarray, its title or None."


class Record:
    """One entry of the table.

    Attributes
    ----------
    fields : dict
        name -> Field, in the order in which they were given.
    itemsize : int
    align : bool
        Whether the layout promises the alignment of its fields (NumPy's flag).
    meaning : int
        Number of the entry that stands for all that are equal.
    """

    __slots__ = ("align", "depth", "fields", "itemsize", "meaning", "name", "number")

    fields: "dict[str, Any]"
    itemsize: int
    align: bool
    depth: int
    meaning: int
    number: int
    name: str

    def is_in_order(self) -> bool:
        """True when no field overlaps another or stands before the one that was named before it."""
        end = 0
        for field in self.fields.values():
            if field.offset < end:
                return False
            end = field.offset + bytes_of(field)
        return True


_TYPES: "list[Record]" = []
_NUMBERS: "dict[object, int]" = {}
_lock = allocate_lock()


def record_of(dtype: DType) -> Record:
    """The entry of a record type."""
    number = dtype.record_number
    assert number is not None
    return _TYPES[number]


def count_of(field: "Any") -> int:
    """Values in a field: 1, but for subarrays."""
    count = 1
    for extent in field.shape:
        count *= extent
    return count


def bytes_of(field: "Any") -> int:
    """Bytes of a field, its subarray included."""
    size: int = field.dtype.itemsize * count_of(field)
    return size


def name(number: int) -> str:
    """The name of a record type."""
    return _TYPES[number].name


def meaning(number: int) -> int:
    """The number that equal record types share."""
    return _TYPES[number].meaning


def make(fields: "Iterable[tuple[str, Any]]", itemsize: int, align: bool = False) -> DType:
    """The record type of these (name, Field) pairs, checked."""
    made = Record()
    made.fields = {}
    made.itemsize, made.align = itemsize, align
    made.depth, unit, power = 1, 0, 0
    big = not DType("<u2").is_native
    swapped = False
    taken = set()
    if not 0 <= itemsize <= MOST_BYTES:
        raise ValueError(f"the itemsize of a record is 0 to {MOST_BYTES} bytes, not {itemsize}")
    for name, field in fields:
        for word in (name, field.title):
            if word in taken:
                raise ValueError(f"two fields of a record are called {word!r:.60}")
            if word is not None:
                taken.add(word)
        if len(field.shape) > 64 or any(extent < 0 for extent in field.shape):
            raise ValueError(f"the subarray of the field {name!r:.60} has 64 extents at most, none negative")
        if field.dtype.storage is not field.dtype:
            raise no_element(field.dtype)
        if field.dtype.shares_bytes:
            raise UnsupportedType.build(
                f"the field {name!r:.60} of a record has whole bytes, and several {field.dtype} share one",
                remedy="lanes that fill bytes, such as int4_packedx2, or a byte for each, such as int4",
            )
        if not field.dtype.itemsize and count_of(field) > MOST_EMPTY:
            raise ValueError(f"the field {name!r:.60} has {count_of(field)} values of no bytes")
        if field.offset < 0 or field.offset + bytes_of(field) > itemsize:
            raise ValueError(
                f"the field {name!r:.60} ({bytes_of(field)} bytes at offset {field.offset}) leaves its record of "
                f"{itemsize} bytes"
            )
        made.fields[name] = field
        inner = field.dtype
        if inner.kind == "record":
            made.depth = max(made.depth, 1 + record_of(inner).depth)
        if inner.has_objects:
            unit |= _OBJECTS
        if inner.kind == "record":
            unit |= inner.order_unit & _HIDES
        swapped |= not inner.is_native
        power = max(power, (alignment(inner) - 1).bit_length())
    if made.depth > MOST_DEPTH:
        raise UnsupportedType.build(f"lend reads records within records to a depth of {MOST_DEPTH}, not deeper")
    if _has_room(made):
        unit |= _HIDES
    unit |= (_BIG if swapped != big else 0) | (power if align else 0)
    return record_dtype(_number(made, unit), itemsize, unit)


def _has_room(made: Record) -> bool:
    """Whether a pointer would fit between the fields, or behind them: more than alignment leaves."""
    end = 0
    for field in sorted(made.fields.values(), key=lambda field: field.offset):
        if field.offset - end >= _POINTER:
            return True
        end = max(end, field.offset + bytes_of(field))
    return made.itemsize - end >= _POINTER


def _number(made: Record, unit: int) -> int:
    """The number of an entry, entered if it is new."""
    key = (
        tuple(
            (name, field.title, code_word_of(field.dtype), field.offset, field.shape)
            for name, field in made.fields.items()
        ),
        made.itemsize,
        made.align,
    )
    known = _NUMBERS.get(key)
    if known is not None:
        return known
    made.name = _name(made)
    plain = made.align or any(_is_marked(field.dtype) for field in made.fields.values())
    meant: Any = _without_marks(made).record_number if plain else -1
    with _lock:
        if key not in _NUMBERS:
            if len(_TYPES) >= MOST_TYPES:
                raise UnsupportedType.build(
                    f"this process has met {MOST_TYPES} record types, and lend keeps no more",
                    remedy="its fields one at a time, as arrays of their own; or reinterpret, as opaque bytes",
                )
            made.number = len(_TYPES)
            made.meaning = made.number if meant < 0 else meant
            enter_record(tuple((field.dtype, field.offset, field.shape) for field in made.fields.values()))
            _TYPES.append(made)
            _NUMBERS[key] = made.number
        return _NUMBERS[key]


def _is_marked(dtype: DType) -> bool:
    """True when the align flag stands somewhere in a type."""
    return dtype.kind == "record" and record_of(dtype).meaning != dtype.record_number


def _without_marks(made: Record) -> DType:
    def unmarked(dtype: DType) -> DType:
        return _without_marks(record_of(dtype)) if _is_marked(dtype) else dtype

    fields = [(name, field._replace(dtype=unmarked(field.dtype))) for name, field in made.fields.items()]
    return make(fields, made.itemsize)


def blanks(dtype: DType) -> "bytes | None":
    """The bits of an element that belong to its fields, where there is room for a pointer beside them; else None."""
    if dtype.kind != "record" or not dtype.order_unit & _HIDES:
        return None
    return _bits_of_fields(dtype)


def _bits_of_fields(dtype: DType) -> bytes:
    if dtype.kind != "record":
        return b"\xff" * dtype.itemsize
    bits = bytearray(dtype.itemsize)
    for field in record_of(dtype).fields.values():
        bits[field.offset : field.offset + bytes_of(field)] = _bits_of_fields(field.dtype) * count_of(field)
    return bytes(bits)


def alignment(dtype: DType) -> int:
    """What a C compiler aligns one value to; of a record what it promises."""
    if dtype.kind == "record":
        return 1 << (dtype.order_unit & _ALIGN)
    if dtype.kind in ("opaque", "bytes"):
        return 1
    size = 4 if dtype.kind == "text" else max(1, dtype.bits // 8 // (2 if dtype.kind == "complex" else 1))
    return min(16, size)


def in_order(dtype: DType, order: "Any") -> DType:
    """The same record with the bytes of every field in that order."""
    record = record_of(dtype)
    fields = [(name, field._replace(dtype=field.dtype.newbyteorder(order))) for name, field in record.fields.items()]
    return make(fields, record.itemsize, record.align)


def check_apart(dtype: DType) -> None:
    """Refuse a record whose fields share bytes, which cannot be swapped field by field."""
    record = record_of(dtype)
    end = 0
    for field in sorted(record.fields.values(), key=lambda field: field.offset):
        if bytes_of(field) and field.offset < end:
            raise UnsupportedType.build(
                f"the fields of {dtype} share bytes: their byte order cannot be changed one by one",
                remedy='one field at a time: v["name"]',
            )
        end = max(end, field.offset + bytes_of(field))
        if field.dtype.kind == "record":
            check_apart(field.dtype)


# -- names -----------------------------------------------------------------------------------------------------------


def _name(record: Record) -> str:
    """`record{a: int32, b: (2, 3) >float64}`, cut to what fits a message."""
    words = []
    length = 0
    for name, field in record.fields.items():
        words.append(f"{name}: {field.shape} {field.dtype}" if field.shape else f"{name}: {field.dtype}")
        length += len(words[-1])
        if length > 80:
            words[-1] = "..."
            break
    return f"record{{{', '.join(words)}}}"


def _itself(dtype: DType) -> DType:
    return dtype


def spec(dtype: DType, inner: "Callable[[DType], Any]" = _itself) -> "Any":
    """What DType() reads as this record: a list of fields where that says all, else a dict as NumPy has it."""
    record = record_of(dtype)

    def typed(field: "Any") -> "Any":
        return (inner(field.dtype), field.shape) if field.shape else inner(field.dtype)

    names, fields = list(record.fields), list(record.fields.values())
    end = 0
    for field in fields:
        if field.offset != end:
            break
        end += bytes_of(field)
    else:
        if end == record.itemsize and names and not record.align and "" not in names:
            return [
                ((name if field.title is None else (field.title, name)), inner(field.dtype))
                + ((field.shape,) if field.shape else ())
                for name, field in record.fields.items()
            ]
    said: dict[str, Any] = {
        "names": names,
        "formats": [typed(field) for field in fields],
        "offsets": [field.offset for field in fields],
        "itemsize": record.itemsize,
    }
    if any(field.title is not None for field in fields):
        said["titles"] = [field.title for field in fields]
    if record.align:
        said["aligned"] = True
    return said


def shown(dtype: DType) -> "Any":
    """The spec of a record in texts, and the name of any other type: for reprs."""
    return spec(dtype, shown) if dtype.kind == "record" else str(dtype)


# -- from a description ------------------------------------------------------------------------------------------------


def from_spec(said: "Any") -> DType:
    """Read a list of fields (also a `descr` of the array interface) or a dict of names, formats and offsets."""
    return _read(said, [MOST_ENTRIES], MOST_DEPTH)


def _read(said: "Any", budget: "list[int]", depth: int) -> DType:
    if depth == 0:
        raise UnsupportedType.build(f"lend reads records within records to a depth of {MOST_DEPTH}, not deeper")
    if isinstance(said, dict):
        return _read_dict(said, budget, depth)
    if not isinstance(said, (list, tuple)):
        return DType(said)
    fields: list[tuple[str, Any]] = []
    at = 0
    for place, entry in enumerate(tuple(said)):
        budget[0] -= 1
        if budget[0] < 0:
            raise UnsupportedType.build(f"lend reads {MOST_ENTRIES} fields of a record, not more")
        if not isinstance(entry, tuple) or not 2 <= len(entry) <= 3:
            raise ValueError(f"a field is a tuple (name, dtype) or (name, dtype, shape), not {type(entry).__name__}")
        title, name = entry[0] if isinstance(entry[0], tuple) and len(entry[0]) == 2 else (None, entry[0])
        shape = _shape(entry[2]) if len(entry) == 3 else ()
        dtype, inner = _typed(entry[1], budget, depth)
        field = Field(dtype, at, shape + inner, title)
        at += bytes_of(field)
        if name == "" and title is None and dtype.kind == "opaque":
            continue  # padding, as `descr` says it
        fields.append((_named(name or f"f{place}"), field))
    return make(fields, at)


def _typed(said: "Any", budget: "list[int]", depth: int) -> "tuple[DType, tuple[int, ...]]":
    """Read the type of a field: of any kind, or a pair (type, shape)."""
    if isinstance(said, tuple) and len(said) == 2 and not isinstance(said[0], tuple):
        dtype, inner = _typed(said[0], budget, depth - 1)
        return dtype, _shape(said[1]) + inner
    sub = getattr(said, "subdtype", None)
    if sub is not None:
        return DType(sub[0]), tuple(sub[1])
    return (_read(said, budget, depth - 1) if isinstance(said, (list, dict)) else DType(said)), ()


def _shape(said: "Any") -> "tuple[int, ...]":
    shape = tuple(said) if isinstance(said, (tuple, list)) else (said,)
    if not all(hasattr(extent, "__index__") for extent in shape):
        raise ValueError(f"the shape of a field is made of integers, not {said!r:.60}")
    return tuple(extent.__index__() for extent in shape)


def _named(name: "Any") -> str:
    if not isinstance(name, str):
        raise ValueError(f"the name of a field is a text, not {name!r:.60}")  # noqa: TRY004 - as for the rest of it
    return str(name)


def _read_dict(said: "dict[Any, Any]", budget: "list[int]", depth: int) -> DType:
    known = {"names", "formats", "offsets", "titles", "itemsize", "aligned"}
    if not {"names", "formats"} <= set(said) <= known:
        raise ValueError(f"a record is described by names and formats, and perhaps {', '.join(sorted(known))}")
    names, formats = list(said["names"]), list(said["formats"])
    titles = list(said.get("titles") or [None] * len(names))
    budget[0] -= len(names)
    if budget[0] < 0:
        raise UnsupportedType.build(f"lend reads {MOST_ENTRIES} fields of a record, not more")
    typed = [_typed(format, budget, depth) for format in formats]
    align = bool(said.get("aligned"))
    offsets = said.get("offsets")
    if offsets is None:
        offsets, at = [], 0
        for dtype, shape in typed:
            at += -at % alignment(dtype) if align else 0
            offsets.append(at)
            at += bytes_of(Field(dtype, 0, shape, None))
    if not len(names) == len(typed) == len(offsets) == len(titles):
        raise ValueError("names, formats, offsets and titles of a record are of one length")
    fields = [
        (_named(name), Field(dtype, _size(offset), shape, title))
        for name, (dtype, shape), offset, title in zip(names, typed, offsets, titles, strict=True)
    ]
    end = max((field.offset + bytes_of(field) for _, field in fields), default=0)
    if align:
        end += -end % max((alignment(dtype) for dtype, _ in typed), default=1)
    return make(fields, _size(said.get("itemsize", end)), align)


def _size(said: "Any") -> int:
    if not hasattr(said, "__index__"):
        raise ValueError(f"offsets and sizes are integers, not {said!r:.60}")
    size: int = said.__index__()
    return size
