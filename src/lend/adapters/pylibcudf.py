"""Columns and tables that show their buffers by methods, as those of pylibcudf do, and cudf's frames over them.

They are known by their members, whatever their class. Each buffer is a lease of its own: who keeps one keeps no other.
What offers Arrow's methods of devices is not taken this way, as those tell an event after which it may be read; nor is
asked for more than what tells the memory, once. Names there are none: fields and columns are named by their places.
"""

from lend._core.letting_go import lets_go
from lend.adapters import columns
from lend.adapters.asking import guarded
from lend.columns.building import counted
from lend.columns.column import Column
from lend.device import Device
from lend.doors import has_device_interface
from lend.dtypes import DType
from lend.errors import MalformedDescriptor, NotLendable, UnsupportedType
from lend.front import buffer
from lend.protocols.classes import bases_of, dict_of, full_name, shows
from lend.views.buffers import Buffer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from lend.adapters.columns import Take
    from lend.tables.table import Table

WAY = "buffers, as pylibcudf has them"
_BETTER = ("__arrow_c_device_array__", "__arrow_c_device_stream__")
_OF_COLUMNS = ("type", "size", "offset", "null_count", "null_mask", "data", "children")
_OF_TABLES = ("columns", "num_columns", "num_rows")
_GIVES = "to_pylibcudf"
# Arrow's formats by the numbers of cudf's type_id, of what has elements of one width
_FORMATS = {
    1: "c", 2: "s", 3: "i", 4: "l", 5: "C", 6: "S", 7: "I", 8: "L", 9: "f", 10: "g",
    12: "tdD", 13: "tss:", 14: "tsm:", 15: "tsu:", 16: "tsn:", 18: "tDs", 19: "tDm", 20: "tDu", 21: "tDn",
}  # fmt: skip
_DECIMALS = {25: (9, 32), 26: (18, 64), 27: (38, 128)}  # digits and bits
_EMPTY, _BOOL, _DAYS, _DICTIONARY, _STRING, _LIST, _STRUCT = 0, 11, 17, 22, 23, 24, 28
_OFFSETS = {3: 4, 4: 8}  # bytes of offsets by their type


def serves(cls: type) -> bool:
    if any(shows(cls, method) for method in _BETTER):
        return False
    return is_column(cls) or is_table(cls) or shows(cls, _GIVES)


def is_column(cls: type) -> bool:
    return all(_has_method(cls, name) for name in _OF_COLUMNS)


def is_table(cls: type) -> bool:
    return all(_has_method(cls, name) for name in _OF_TABLES)


def holds_table(cls: type) -> bool:
    """Whether it is a table, or a frame that gives one."""
    return is_table(cls) or (shows(cls, _GIVES) and shows(cls, "columns"))


def _has_method(cls: type, name: str) -> bool:
    """Whether a class has a method; what others have under such a name is a property."""
    return any(callable(dict_of(base).get(name)) for base in bases_of(cls))


# -- columns -------------------------------------------------------------------------------------------------------


@lets_go
def column(obj: "Any", take: "Take", copy: "bool | None") -> Column:
    """A column of such members, or one that a Series of cudf gives."""
    if holds_table(type(obj)):
        raise columns.no_column(obj)
    if is_column(type(obj)):
        return _column(obj)
    name, dtype = _named(obj)
    _check_meaning(obj, dtype)
    made = take(_given(obj, is_column, "Column"), copy)
    return made if name is None else made.rename(name)


@lets_go
def table(obj: "Any", keys: "Iterable[str | int] | None", take: "Take", copy: "bool | None") -> "Table | Column":
    """A Table of the columns that are wanted, named by their places, or as a frame of cudf names them."""
    cls = type(obj)
    if not holds_table(cls):
        return column(obj, take, copy)
    if is_table(cls):
        parts = _parts(obj)
        return columns.chosen(tuple(str(i) for i in range(len(parts))), parts, keys, take, copy, _rows(obj))
    names, dtypes = _all_named(obj)
    for name, dtype in zip(names, dtypes, strict=False):
        _check_meaning(obj, dtype, f" of column {name!r}")
    given = _given(obj, is_table, "Table")
    parts = _parts(given)
    if len(names) != len(parts):
        raise MalformedDescriptor.build(
            f"it names {len(names)} columns, and {_GIVES}() gave {len(parts)}", came=full_name(cls)
        )
    return columns.chosen(names, parts, keys, take, copy, _rows(given))


@guarded
def _named(obj: "Any") -> "tuple[str | None, str]":
    """The name of a Series, and what it says of its type."""
    name = getattr(obj, "name", None)
    return None if name is None else str(name), str(obj.dtype)


@guarded
def _all_named(obj: "Any") -> "tuple[tuple[str, ...], list[str]]":
    """The same of the columns of a frame."""
    return tuple(str(name) for name in obj.columns), [str(dtype) for dtype in obj.dtypes]


@guarded
def _parts(obj: "Any") -> "list[Any]":
    return list(obj.columns())


@guarded
def _rows(obj: "Any") -> int:
    return _count(obj, obj.num_rows(), "num_rows()")


def _given(obj: "Any", is_one: "Any", what: str) -> "Any":
    """What a frame or Series of cudf gives by its own method, beside what it says of names."""
    given = guarded(lambda x: x.to_pylibcudf())(obj)
    made = given[0] if type(given) is tuple and given else given
    if not is_one(type(made)):
        raise NotLendable.build(
            f"{_GIVES}() of {full_name(type(obj))} gave no {what} of pylibcudf",
            came=full_name(type(made)),
            remedy="what its library has for Arrow",
        )
    return made


def _check_meaning(obj: "Any", said: str, whose: str = "") -> None:
    """Refuse a dtype of which a column of pylibcudf tells but a part: categories, zones, the ends of intervals."""
    if said.startswith(("category", "interval")) or (said.startswith("datetime64") and "," in said):
        raise UnsupportedType.build(
            f"the dtype{whose} is {said:.80}, of which the memory that cudf shows tells but a part",
            came=full_name(type(obj)),
            remedy="lend.table(x.to_arrow()), a copy on the host by cudf; or the parts of it: x.cat.codes, "
            'x.dt.tz_convert("UTC").dt.tz_localize(None)',
        )


class _Told:
    """What a column says of itself, asked once."""

    __slots__ = ("children", "data", "id", "mask", "nulls", "obj", "offset", "scale", "size")

    def __init__(self, obj: "Any") -> None:
        self.obj = obj
        dtype = obj.type()
        self.id, self.scale = int(_value(dtype.id)), int(_value(dtype.scale))
        self.size = _count(obj, obj.size(), "size()")
        self.offset = _count(obj, obj.offset(), "offset()")
        self.nulls = _count(obj, obj.null_count(), "null_count()")
        self.data, self.mask = obj.data(), obj.null_mask()
        self.children = list(obj.children() or ())
        for child in self.children:
            if not is_column(type(child)):
                raise MalformedDescriptor.build(
                    f"a child of it is of {full_name(type(child))}, which is no column", came=full_name(type(obj))
                )


def _value(told: "Any") -> "Any":
    return told() if callable(told) else told


def _count(obj: "Any", number: "Any", what: str) -> int:
    if isinstance(number, bool) or not hasattr(number, "__index__") or number < 0:
        raise MalformedDescriptor.build(
            f"{what} of {full_name(type(obj))} is {number!r:.40}, and no number of elements", came=full_name(type(obj))
        )
    return int(number)


_asked = guarded(_Told)


def _column(obj: "Any") -> Column:
    told = _asked(obj)
    came = f"{full_name(type(obj))} of type id {told.id}, {told.size} elements"
    if told.mask is None and told.nulls and told.id != _EMPTY:
        raise MalformedDescriptor.build(f"its null_count is {told.nulls}, and it has no null mask", came=came)
    if told.nulls > told.size:
        raise MalformedDescriptor.build(f"its null_count is {told.nulls}, of {told.size} elements", came=came)
    dtype, buffers, children, words, offset = _laid_out(told, came)
    if told.mask is not None and told.id != _EMPTY:
        buffers["validity"] = _bytes(told.mask)
    made = Column.from_buffers(dtype, told.size, buffers, offset=offset, children=children, dictionary=words)
    return made if told.id == _EMPTY else counted(made, told.nulls)


def _laid_out(told: _Told, came: str) -> "tuple[DType, dict[str, Any], list[Column], Column | None, int]":
    """The dtype, the buffers but for the validity, the children, the dictionary, and the offset in all of these."""
    offset = told.offset
    given: dict[str, Any] = {"data": _bytes(told.data)}
    if told.id == _EMPTY:
        return DType("null"), {}, [], None, offset
    if told.id == _STRING:
        return _text(told, came)
    if told.id == _LIST:
        _check_children(told, 2, came)
        values = _column(told.children[1])
        width, offsets = _offsets(told.children[0], came)
        dtype = DType.from_arrow("+L" if width == 8 else "+l", fields=[("item", values.dtype)])
        return dtype, {"offsets": offsets}, [values], None, offset
    if told.id == _STRUCT:
        children = [_column(child) for child in told.children]
        fields = [(str(i), child.dtype) for i, child in enumerate(children)]
        return DType.from_arrow("+s", fields=fields), {}, children, None, offset
    if told.id == _DICTIONARY:
        _check_children(told, 2, came)
        indices, words = _asked(told.children[0]), _column(told.children[1])
        if not 1 <= indices.id <= 8:
            raise _unknown(indices.id, came, "the indices of its dictionary")
        dtype = DType.from_arrow(_FORMATS[indices.id], dictionary=words.dtype)
        return dtype, {"data": _bytes(indices.data)}, [], words, offset + indices.offset
    if told.id == _BOOL:
        return DType("bool"), given, [], None, offset
    if told.id in _DECIMALS:
        digits, bits = _DECIMALS[told.id]
        return DType.from_arrow(f"d:{digits},{-told.scale},{bits}"), given, [], None, offset
    if told.id not in _FORMATS:
        raise _unknown(told.id, came, "its elements")
    return DType.from_arrow(_FORMATS[told.id]), given, [], None, offset


def _text(told: _Told, came: str) -> "tuple[DType, dict[str, Any], list[Column], Column | None, int]":
    """Text: a child of offsets, and the bytes beside it; in older releases these are a child, too."""
    if not told.children:
        if told.size:
            raise UnsupportedType.build(
                f"it is text of {told.size} elements without offsets, and lend writes none",
                came=came,
                remedy="a column that has some: pylibcudf.copying.copy, or what its library has for Arrow",
            )
        return DType("utf8"), {}, [], None, 0
    width, offsets = _offsets(told.children[0], came)
    data = told.data if len(told.children) == 1 else _asked(told.children[1]).data
    given = {"offsets": offsets, "data": _bytes(data)}
    return DType("large_utf8" if width == 8 else "utf8"), given, [], None, told.offset


def _check_children(told: _Told, number: int, came: str) -> None:
    if len(told.children) != number:
        raise MalformedDescriptor.build(
            f"a column of type id {told.id} has {number} children, and this has {len(told.children)}", came=came
        )


def _offsets(child: "Any", came: str) -> "tuple[int, Any]":
    """The bytes of an offset, and the offsets from the first on."""
    told = _asked(child)
    width = _OFFSETS.get(told.id)
    if width is None:
        raise _unknown(told.id, came, "its offsets")
    found = _bytes(told.data)
    return width, found if found is None or not told.offset else found.view()[told.offset * width :]


def _bytes(span: "Any") -> "Buffer | None":
    """The bytes of a buffer under a lease of its own; where one tells no device, it is one that the driver knows."""
    if span is None:
        return None
    if has_device_interface(span) or shows(type(span), "__dlpack_device__"):
        return buffer(span)
    address, size = guarded(lambda x: (x.ptr, x.size))(span)
    return Buffer.from_pointer(address, size, owner=span, device=Device((2, -1))) if size else None


def _unknown(number: int, came: str, what: str) -> UnsupportedType:
    days = number == _DAYS
    return UnsupportedType.build(
        f"of {what} the type is durations in days of 32 bits, for which no library has another"
        if days
        else f"of {what} the type id is {number}, which lend does not know there",
        came=came,
        remedy="durations in seconds: pylibcudf.unary.cast" if days else "column.data() and the others, as lend.buffer",
    )
