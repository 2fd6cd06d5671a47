"""What the arrays of pandas are: which kind, of which dtype, and where blocks lie."""

import sys

from lend.dtypes.dtype import DType
from lend.errors import UnsupportedType
from lend.protocols.classes import bases_of, full_name, module_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import ModuleType
    from typing import Any

    from lend.columns.column import Column

_KINDS = {
    "BaseMaskedArray": "masked",
    "ArrowExtensionArray": "arrow",
    "ArrowStringArray": "arrow",
    "Categorical": "categorical",
    "IntervalArray": "interval",
    "PeriodArray": "period",
    "SparseArray": "sparse",
    "DatetimeArray": "numpy",
    "TimedeltaArray": "numpy",
    "StringArray": "object",
    "BaseStringArray": "object",
    "NumpyExtensionArray": "wrapped",
}
_UNITS = {"s": "s", "ms": "m", "us": "u", "ns": "n"}
_dtypes: "dict[Any, DType]" = {}


def kind_of(values: "Any") -> str:
    """How an array of pandas, or of NumPy, keeps its values; "" of what others made."""
    cls = type(values)
    if hasattr(cls, "strides"):
        return "object" if values.dtype.kind == "O" else "numpy"
    for base in bases_of(cls):
        module, _, name = full_name(base).rpartition(".")
        if module.partition(".")[0] == "pandas" and name in _KINDS:
            return _KINDS[name]
    return ""


def text_of(label: "Any") -> str:
    """The label of a column as text."""
    return "" if label is None else label if type(label) is str else str(label)


def called(name: str) -> str:
    return f"column {name!r}" if name else "this column"


def is_line(array: "Any", length: int) -> bool:
    """Whether it is an ndarray of so many elements."""
    return hasattr(type(array), "strides") and array.shape == (length,)


def is_index_of(obj: "Any", kind: str) -> bool:
    """Whether it is a RangeIndex ("Range") or a MultiIndex ("Multi")."""
    return any(full_name(base).endswith(f".{kind}Index") and module_of(base).startswith("pandas")
               for base in bases_of(type(obj)))  # fmt: skip


def is_no_utf8(value: "Any") -> bool:
    """Whether it is a text with half a character in it."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return True
    return False


def why_no_text(found: "Iterable[Any]", what: str, otherwise: str) -> str:
    """Why a library makes no text of values: half a character in one of them, or else as told."""
    row = next((i for i, value in enumerate(found) if is_no_utf8(value)), None)
    if row is None:
        return f"{what} is of {otherwise}"
    return f"{what} is of text that is no UTF-8: row {row} has a lone surrogate"


def is_string(dtype: "Any") -> bool:
    return bool(getattr(dtype, "name", "") in ("str", "string"))


def word_of(dtype: "Any") -> str:
    """The name of a dtype: of strings whose null is NaN "str", of those whose null is NA "string"."""
    return str(dtype.name)


# -- dtypes ------------------------------------------------------------------------------------------------------------


def plain_dtype(dtype: "Any") -> DType:
    """Of a dtype of NumPy's."""
    found = _dtypes.get(dtype)
    if found is None:
        found = _dtypes[dtype] = DType(dtype)
    return found


def dtype_of(dtype: "Any") -> DType:
    """Of a dtype of NumPy's or of times with a zone."""
    zone = getattr(dtype, "tz", None)
    if zone is None:
        return plain_dtype(dtype)
    return DType.from_arrow(f"ts{_UNITS[dtype.unit]}:{zone_text(zone)}")


def zone_text(zone: "Any") -> str:
    """The name of a time zone as others write it."""
    text = str(zone)
    named = getattr(zone, "key", None) or getattr(zone, "zone", None)
    if type(named) is str:
        return named
    if text in ("UTC", "tzutc()"):
        return "UTC"
    offset = zone.utcoffset(None)  # None where it is another in summer
    if offset is not None:
        minutes, rest = divmod(offset.total_seconds(), 60)
        if not rest:
            hours, minutes = divmod(abs(int(minutes)), 60)
            return f"{'-' if offset.days < 0 else '+'}{hours:02}:{minutes:02}"
    file = getattr(zone, "_filename", None)  # of dateutil, which tells its name by nothing else
    if type(file) is str and "zoneinfo/" in file:
        return file.rpartition("zoneinfo/")[2]
    raise UnsupportedType.build(
        f"the time zone {text:.60} has no name that another library could read",
        remedy='x.dt.tz_convert("UTC"), or a zone by its name',
    )


def numpy_dtype(dtype: "Any") -> "Any":
    """The dtype of the data of a masked array."""
    return dtype.numpy_dtype


def dictionary_dtype(codes: "Any", words: DType, ordered: bool) -> DType:
    return DType.from_arrow(plain_dtype(codes).arrow, dictionary=words, ordered=ordered)


def interval_dtype(dtype: "Any", left: DType, right: DType) -> DType:
    from json import dumps

    told = dumps({"subtype": str(dtype.subtype), "closed": dtype.closed})
    return DType.from_arrow("+s", fields=[("left", left), ("right", right)], extension=("pandas.interval", told))


def period_dtype(dtype: "Any") -> DType:
    from json import dumps

    return DType.from_arrow("l", extension=("pandas.period", dumps({"freq": str(dtype)[7:-1]})))


def nulls_column(length: int) -> "Column":
    from lend.columns.column import Column

    return Column.from_buffers(DType.from_arrow("n"), length, {})


# -- blocks ------------------------------------------------------------------------------------------------------------


def blocks_of(frame: "Any") -> "list[tuple[Any, list[int]]] | None":
    """What a frame is made of: arrays and the places of their columns; None where that is not as it is known."""
    try:
        blocks = [(block.values, block.mgr_locs.as_array.tolist()) for block in frame._mgr.blocks]
        rows, named = len(frame), sorted(place for _, places in blocks for place in places)
        if named != list(range(len(frame.columns))):
            return None
        for values, places in blocks:
            shape = values.shape
            if shape != (len(places), rows) and not (shape == (rows,) and len(places) == 1):
                return None
    except (AttributeError, TypeError, ValueError):
        return None  # another release of pandas
    return blocks


def places(names: "Sequence[str]", keys: "Iterable[str | int]") -> "list[int]":
    """The places of the columns that are wanted."""
    from lend.tables import table

    found: Any = table
    return list(found.places(tuple(names), keys))


# -- other libraries ---------------------------------------------------------------------------------------------------


def imported(library: str) -> "ModuleType | None":
    """A library, where it is installed."""
    try:
        __import__(library)
    except ImportError:
        return None
    return sys.modules[library]


def nbytes_of(made: "Any") -> int:
    """Bytes of what a library made of objects."""
    return int(made.estimated_size() if hasattr(made, "estimated_size") else made.nbytes)
