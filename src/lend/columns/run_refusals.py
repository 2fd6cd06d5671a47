"""What is refused of a column that was to be an array, with what to do instead."""

from lend.columns import refusals
from lend.columns.scalars import base
from lend.errors import UnsupportedType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from lend.columns.column import Column
    from lend.columns.runs import Wish
    from lend.dtypes.dtype import DType

_OBJECTS = 'lend.to(x, "numpy", nulls="object"), the values as Python objects'
_WHOLE = ", which know whole microseconds alone"


def _with(wish: "Wish", option: str, what: str, target: "str | None" = None) -> str:
    """A call with an option; those that were given, and what else is needed, the planner adds."""
    return f'lend.to(x, "{target or wish.target}"{", " if option else ""}{option}): {what}'


def _masked(wish: "Wish") -> str:
    return _with(wish, "", "a mask beside the values", "numpy.ma")


def _filled(wish: "Wish", what: str, value: str = "0") -> str:
    return _with(wish, f'nulls=("fill", {value})', what)


def _stored(wish: "Wish", what: str) -> "list[str]":
    return [_with(wish, "storage=True", what)] if wish.target != "memoryview" else []


def _build(column: "Column", fact: str, wish: "Wish", remedy: "Sequence[str] | str | None") -> UnsupportedType:
    return UnsupportedType.build(fact, wanted=wish.target, came=refusals.came(column), remedy=remedy)


def _count(count: int) -> str:
    return f"{count} null{'' if count == 1 else 's'}"


def has_nulls(column: "Column", count: int, dtype: "DType", wish: "Wish") -> UnsupportedType:
    """An array has no word for null: what there is in its place."""
    kind, remedies = dtype.kind, []
    if wish.nulls is None and kind in ("float", "bfloat"):
        remedies.append(_with(wish, 'nulls="nan"', "NaN under the nulls"))
    if wish.nulls is None and kind in ("int", "uint") and dtype.bits <= 64 and column.dtype.dictionary is None:
        remedies.append(_with(wish, 'nulls="nan"', "float64, where each value is exact"))
    borne = any(part.dictionary is not None and part.dictionary.null_count for part in column.chunks)
    if kind in ("int", "uint", "float", "bfloat", "datetime", "timedelta", "bool") and not borne:
        remedies.append(_filled(wish, "a value of your choice under the nulls", "False" if kind == "bool" else "0"))
    if wish.numpy and not borne:
        remedies.append(_masked(wish))
    if wish.numpy:
        remedies.append(_OBJECTS)
    asked = "" if wish.nulls is None else f" by nulls={wish.nulls!r:.60}"
    return _build(
        column,
        f"{refusals.named(column)} has {_count(count)}, and an array of {dtype} has no word for them{asked}",
        wish,
        remedies or 'lend.column(x).buffers["data"] and ["validity"] of it, each handed on by itself',
    )


def forbidden(
    column: "Column", count: int, wish: "Wish", *, within: "str | None" = None, fills: bool = True
) -> UnsupportedType:
    """Nulls of a column, or of what lies inside of its rows, under a name."""
    where = "" if within is None else f" inside of its rows (in {within!r})"
    return _build(
        column,
        f'{refusals.named(column)} has {_count(count)}{where}, and nulls="forbid" was asked for',
        wish,
        "nulls=None, which carries them where it can" + ('; or ("fill", value)' if fills else ""),
    )


def has_null_rows(column: "Column", count: int, wish: "Wish") -> UnsupportedType:
    """A null list or struct is none of the nulls of its elements."""
    return _build(
        column,
        f"{refusals.named(column)} has {_count(count)} among its rows, which are {base(column.dtype).kind}s, and an "
        "array has no word for a row that is null",
        wish,
        _OBJECTS,
    )


def would_merge(column: "Column", wish: "Wish") -> UnsupportedType:
    return _build(
        column,
        f"{refusals.named(column)} has nulls and NaN that is a value, and with NaN under the nulls nobody could tell "
        "them apart",
        wish,
        [_masked(wish), _filled(wish, "another value")],
    )


def valid_nat(column: "Column", wish: "Wish") -> UnsupportedType:
    return _build(
        column,
        f"{refusals.named(column)} has the value {-(2**63)}, which NumPy's times would show as NaT (null)",
        wish,
        'lend.to(x, "pandas", dtype_backend="pyarrow"), which has it as a value'
        if wish.target == "pandas"
        else _with(wish, "storage=True" if not column.null_count else 'storage=True, nulls=("fill", 0)', "the numbers"),
    )


def inexact(column: "Column", row: int, wish: "Wish") -> UnsupportedType:
    return _build(
        column,
        f"element {row} of {refusals.named(column)} is beyond 2**53, and float64 does not hold it exactly",
        wish,
        [_filled(wish, "a value of its own type under the nulls"), _masked(wish)],
    )


def no_value(column: "Column", value: "Any", wish: "Wish") -> UnsupportedType:
    return _build(
        column,
        f"{value!r:.60} is no value of {column.dtype}, to put under the nulls of {refusals.named(column)}",
        wish,
        _filled(wish, "or True", "False")
        if base(column.dtype).kind == "bool"
        else _filled(wish, "or another value of its own type")
        if base(column.dtype).kind in ("int", "uint", "float", "bfloat", "datetime", "timedelta", "date", "time")
        else _OBJECTS,
    )


def no_text(column: "Column", value: "Any", kind: str, wish: "Wish") -> UnsupportedType:
    what = "a text" if kind != "U" else "a text that does not end with NUL"
    return _build(
        column,
        f"{value!r:.60} is no text for NumPy's strings, to put under the nulls of {refusals.named(column)}",
        wish,
        [_with(wish, f'strings="{kind}", nulls=("fill", "")', f"or another: {what} that UTF-8 can say"), _OBJECTS],
    )


def dictionary(column: "Column", wish: "Wish") -> UnsupportedType:
    return _build(
        column,
        f"{refusals.named(column)} is of indices of a dictionary, and arrays have none",
        wish,
        [*_stored(wish, "the indices; the values are lend.column(x).dictionary"), _OBJECTS],
    )


def times(column: "Column", dtype: "DType", wish: "Wish") -> UnsupportedType:
    unit = getattr(base(dtype), "unit", None) or dtype
    return _build(
        column,
        f"{wish.target} has no {base(dtype).kind} like {dtype}, of which {refusals.named(column)} is",
        wish,
        [*_stored(wish, f"whole numbers, whose unit is {unit}"), _OBJECTS + (_WHOLE if unit == "ns" else "")],
    )


def zone(column: "Column", zone: str, wish: "Wish") -> UnsupportedType:
    return _build(
        column,
        f"{refusals.named(column)} is in the time zone {zone!r}, which NumPy's times do not carry",
        wish,
        [
            _with(wish, 'zone="drop"', "the same times in UTC, without a zone"),
            _OBJECTS + (_WHOLE if column.dtype.unit == "ns" else ""),
        ],
    )


def uneven(column: "Column", wish: "Wish") -> UnsupportedType:
    return _build(
        column,
        f"{refusals.named(column)} has lists of several lengths, and the rows of an array have one",
        wish,
        ['lend.column(x).children[0] and lend.column(x).buffers["offsets"], each by itself', _OBJECTS],
    )


def no_record(column: "Column", names: "Sequence[str]", wish: "Wish") -> UnsupportedType:
    return _build(
        column,
        f"the fields of {refusals.named(column)} make no record: {', '.join(map(repr, names)) or 'there are none'}",
        wish,
        _fields(column),
    )


def _fields(column: "Column") -> str:
    """How the fields of structs are had; none is lent of a row that is null."""
    if column.null_count:
        return 'lend.to(lend.column(x), "pyarrow").flatten(): each field by itself, null where its struct is'
    return "lend.table(lend.column(x)), and each column of it by itself"


def no_array(column: "Column", dtype: "DType", wish: "Wish", *, inside: bool = False) -> UnsupportedType:
    kind, remedies = base(dtype).kind, list[str]()
    if kind in ("utf8", "large_utf8", "utf8_view") and wish.numpy and (inside or dtype != column.dtype):
        pass  # strings= is for columns of text
    elif kind in ("utf8", "large_utf8", "utf8_view") and wish.numpy:
        remedies = [_with(wish, 'strings="object"', 'Python objects; or "StringDType", "U": strings of NumPy')]
    elif kind in ("utf8", "large_utf8", "utf8_view", "binary", "large_binary"):
        remedies = [refusals.parts_of(column)]
    elif kind == "struct":
        remedies = [_fields(column)]
    elif kind == "null" and wish.nulls is None and wish.target != "numpy.ma":
        remedies = [_with(wish, 'nulls="nan"', "NaN throughout")]
    elif kind == "decimal":
        remedies = ['lend.to(lend.column(x), "pyarrow").cast("float64"), which rounds']
    return _build(
        column,
        f"no array has elements that are {dtype!s:.200}, of which {refusals.named(column)} is",
        wish,
        [*remedies, _OBJECTS],
    )


def dictionaries_differ(column: "Column", wish: "Wish") -> UnsupportedType:
    return _build(
        column,
        f"the chunks of {refusals.named(column)} have different dictionaries, and an index means another value in each",
        wish,
        [
            "each of lend.column(x).chunks by itself",
            _OBJECTS,
            'lend.to(x, "pandas"), whose categories are one dictionary',
        ],
    )
