"""What pyarrow makes of the Python objects of pandas, held against them; and the nulls of intervals."""

from datetime import datetime

from lend.columns import forms
from lend.columns.anatomy import Anatomy
from lend.errors import UnsupportedType
from lend.protocols.classes import full_name
from lend.views import values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.columns.column import Column
    from lend.views.view import View


def valid_bits(end: "Column") -> "View":
    """Arrow's validity of a column of one chunk, in memory of its own."""
    made = values.fresh((len(end) + 7) // 8)
    Anatomy(end).write_bits(made.ptr, 0, 0, len(end))
    return made


def tells_nulls(end: "Column", column: "Column") -> bool:
    """Whether the ends of intervals are null wherever these are."""
    masks = []
    for part in (end, column):
        room = values.fresh(len(part))
        forms.write_mask(Anatomy(part), room.ptr, 0, len(part))
        masks.append(int.from_bytes(bytes(room), "little"))
    ends, own = masks
    return ends | own == ends


def check_same(objects: "Any", made: "Any", called: str, came: str) -> None:
    """Refuse what was changed on the way: a set to a list, text to bytes, a time of day that was dropped."""
    for row, (value, got) in enumerate(zip(objects, made.to_pylist(), strict=True)):
        if not _is_same(value, got):
            raise UnsupportedType.build(
                f"{called} is of objects that are no values of one type: row {row} is {value!r:.60} "
                f"({full_name(type(value))}), and pyarrow makes {got!r:.60} of it, as {made.type!s:.60}",
                came=came,
                remedy="values of one type: x.map(...), x.astype(...)",
            )


def _is_same(value: "Any", got: "Any") -> bool:
    kind = _kind(value)
    if kind == "list":
        if _kind(got) != "list" or len(value) != len(got):
            return False
        return all(map(_is_same, value, got))
    if kind == "dict":
        if _kind(got) != "dict":
            return False
        lost = any(got[key] is not None for key in got if key not in value)
        return not lost and all(key in got and _is_same(value[key], got[key]) for key in value)
    if _is_null(value):
        return _is_null(got)
    try:
        return kind == _kind(got) and bool(value == got)
    except (MemoryError, RecursionError):
        raise
    except Exception:  # noqa: BLE001 - how an object compares is its own affair: not the same, then
        return False


def _kind(value: "Any") -> str:
    """Which of the kinds that pyarrow may take for one another a value is of."""
    if isinstance(value, (list, tuple)) or hasattr(type(value), "strides"):
        return "list" if getattr(value, "ndim", 1) else ""
    for kind, cls in (("dict", dict), ("text", str), ("bytes", (bytes, bytearray)), ("time", datetime)):
        if isinstance(value, cls):
            return kind
    return "bool" if full_name(type(value)) in ("bool", "numpy.bool", "numpy.bool_") else ""


def _is_null(value: "Any") -> bool:
    from pandas import isna

    return value is None or isna(value) is True
