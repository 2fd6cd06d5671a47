"""How a Table shows itself, and what it refuses."""

from lend.errors import (
    LendError,
    MalformedDescriptor,
    NotHostAccessible,
    NotLendable,
    UnsupportedLayout,
    UnsupportedType,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from lend.tables.table import Table

_SHOWN = 8
_NULL_STRUCTS = [
    "lend.column(x), a column of structs, which has nulls",
    'lend.to(lend.column(x), "pyarrow").flatten(): each field by itself, null where its struct is',
]


def shown(table: "Table") -> str:
    """The repr: rows, and the columns up to a number."""
    names = table.names
    listed = [
        f"{name if name.isprintable() and name else ascii(name)} {dtype}"
        for name, dtype in zip(names[:_SHOWN], _dtypes(table), strict=False)
    ]
    if len(names) > _SHOWN:
        listed.append(f"and {len(names) - _SHOWN} more")
    rows = "lazy" if table.is_lazy else f"{table.num_rows} row{'' if table.num_rows == 1 else 's'}"
    return f"<Table {rows}: {', '.join(listed)}>" if listed else f"<Table {rows}, no columns>"


def _dtypes(table: "Table") -> "Sequence[Any]":
    """The dtypes that are shown: of a column that cannot be read that it cannot."""
    try:
        return table.dtypes
    except LendError:
        return ["(unreadable)" if column.released else column.dtype for column in table.columns]


def null_rows(owner: "Any", count: int) -> UnsupportedType:
    return UnsupportedType.build(
        f"a row of a table is not null, and this array of structs says that {count} {'is' if count == 1 else 'are'}",
        came=f"an array of structs of {owner.producer_type}",
        remedy=_NULL_STRUCTS,
    )


def several_devices(table: "Table") -> UnsupportedLayout:
    return UnsupportedLayout.build(
        "the columns of this table are on several devices, and an Arrow stream is on one",
        came=shown(table),
        remedy='lend.to(x, device="cpu"), or another device, which brings all of it there; or table.select(...) of '
        "those on one device",
    )


def not_on_host(table: "Table") -> NotHostAccessible:
    return NotHostAccessible.build(
        f"Arrow's methods of the host are for what the host may read, and this table is on {table[0].device}",
        came=shown(table),
        tried="__arrow_c_stream__() -> the memory of a device",
        remedy="__arrow_c_device_stream__(), which tells the device",
    )


def null_structs(column: "Any") -> UnsupportedType:
    from lend.columns import refusals

    return UnsupportedType.build(
        f"a row of a table is not null, and {refusals.named(column)} has {column.null_count} of them",
        came=refusals.came(column),
        remedy=_NULL_STRUCTS,
    )


def null_in_required(name: str, place: int, owner: "Any", count: int) -> MalformedDescriptor:
    where = f"column {name!r}" if name else "the array" if place < 0 else f"column {place}"
    return MalformedDescriptor.build(
        f"{where} of {owner.producer_type} contradicts itself: its type says that nothing in it is null, "
        f"and {count} {'is' if count == 1 else 'are'}",
        came=f"{owner.producer_type}, {where}",
        remedy="a type that is nullable; the other columns can be had",
    )


def masked_nulls(column: "Any", count: int, wanted: "Any") -> UnsupportedType:
    from lend.columns import refusals

    return UnsupportedType.build(
        f"{refusals.named(column)} has {count} null{'' if count == 1 else 's'} by its own mask, under which no value "
        f"stands: nulls={wanted!r:.60} cannot say otherwise",
        came=refusals.came(column),
        remedy="no nulls=; or fill_null by its library first",
    )


def no_null_value(column: "Any", wanted: "Any") -> UnsupportedType:
    from lend.columns import refusals

    return UnsupportedType.build(
        f"no value of {refusals.named(column)} can stand for null: nulls={wanted!r:.60} is about elements of one width",
        came=refusals.came(column),
        remedy="no nulls=",
    )


def no_such_name(names: "Sequence[str]", key: str, found: "Sequence[int]") -> KeyError:
    if found:
        return KeyError(
            f"{len(found)} columns are named {key!r}, at {', '.join(map(str, found))}: a number takes one of them"
        )
    listed = ", ".join(map(repr, names[:20]))
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return KeyError(f"no column is named {key!r}; the names: {listed}{more}")


def one_name(keys: "str | bytes") -> TypeError:
    return TypeError(f"columns are named by a sequence of str or int: [{keys!r:.60}] for one of them")


def add_name(error: LendError, name: str) -> None:
    """Let a refusal on its way say which column it is about."""
    if error.fact is None or len(error.args) != 1 or repr(name) in error.fact:
        return
    error.fact = f"column {name!r}: {error.fact}"
    error.args = (f"column {name!r}: {error.args[0]}",)


def no_key(key: "Any") -> TypeError:
    return TypeError(f"a column is named by a str or an int, rows by a slice, not {type(key).__name__}")


def step(table: "Table", number: int) -> UnsupportedLayout:
    return UnsupportedLayout.build(
        f"a Table is sliced with step 1, not {number}", remedy="a library that computes, by lend.to(table, ...)"
    )


def no_struct(dtype: "Any", came: str) -> NotLendable:
    return NotLendable.build(f"no table: its elements are {dtype}, not structs", came=came, remedy="lend.column(x)")


def unequal(names: "Sequence[str]", lengths: "Sequence[int]") -> LendError:
    first = lengths[0]
    at = next(i for i, length in enumerate(lengths) if length != first)
    return MalformedDescriptor.build(
        f"the columns of a table are of one length: {names[0]!r} has {first} elements, {names[at]!r} {lengths[at]}"
    )


def other_length(column: "Any", rows: int) -> LendError:
    from lend.columns import refusals

    return MalformedDescriptor.build(
        f"{refusals.named(column)} has {len(column)} elements, and its table {rows} row{'' if rows == 1 else 's'}",
        came=refusals.came(column),
    )


def drained(came: str) -> MalformedDescriptor:
    return MalformedDescriptor.build(
        "this stream was already consumed: lend took all of it before, and it gives no rows a second time",
        came=came,
        remedy="keep what lend.table(x) gave the first time, or ask its source for a new reader",
    )


def lazy(table: "Table") -> UnsupportedLayout:
    return UnsupportedLayout.build(
        "this Table is lazy: its names and types are known, and its rows are still in the stream",
        came=shown(table),
        remedy="lend.table(x), all rows; x.batches(), one Table at a time; or hand it to what takes a stream",
    )


def handed_on(table: "Table") -> MalformedDescriptor:
    return MalformedDescriptor.build(
        "this lazy Table was already consumed: its stream was handed on, and gives its rows once",
        came=shown(table),
        remedy="a Table that is not lazy, which is read as often as you like; or a new reader of its source",
    )


def encoded(name: str, place: int) -> bytes:
    """A name as Arrow has it: UTF-8 that ends at a zero."""
    try:
        found = name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise UnsupportedType.build(
            f"the name {name!a:.100} of column {place} is no text in UTF-8: {error.reason}",
            remedy="another name: lend.table({name: column, ...})",
        ) from None
    if b"\0" in found:
        raise UnsupportedType.build(
            f"the name {name!a:.100} of column {place} has a zero in it, at which a name ends in Arrow",
            remedy="another name: lend.table({name: column, ...})",
        )
    return found
