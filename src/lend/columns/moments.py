"""Dates and times as Python, NumPy and pandas say them, as the numbers that are stored, where these say just that."""

from lend.columns.scalars import base
from lend.protocols.classes import full_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.dtypes.dtype import DType

_NANOSECONDS = {"D": 86400 * 10**9, "h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}
_DAY = _NANOSECONDS["D"]
_OF_NUMPY = ("numpy.datetime64", "numpy.timedelta64")


def as_number(dtype: "DType", value: "Any") -> "Any":
    """What an element of the dtype stores for a moment, a date, a time of day or a duration.

    The value itself where it is none of these, or where no element is exactly that.
    """
    stored = base(dtype)
    if stored.kind not in ("datetime", "date", "time", "timedelta") or stored.unit not in _NANOSECONDS:
        return value
    found = _nanoseconds(stored, value)
    if found is None:
        return value
    number, rest = divmod(found, _NANOSECONDS[stored.unit] * (stored.multiplier or 1))
    whole = stored.kind != "date" or found % _DAY == 0  # those in milliseconds are whole days, too
    return value if rest or not whole else number


def _nanoseconds(dtype: "DType", value: "Any") -> "int | None":
    """Since 1970, since midnight, or of a duration; None of what is of another kind than the dtype."""
    from datetime import date, datetime, time, timedelta

    cls = type(value)
    if full_name(cls) in _OF_NUMPY:
        return _of_numpy(dtype, value)
    if value != value:  # noqa: PLR0124 - NaT is a null, and none is filled with another
        return None
    if issubclass(cls, timedelta):
        return _duration(value) if dtype.kind == "timedelta" else None
    if issubclass(cls, time):
        if dtype.kind != "time" or value.tzinfo is not None:
            return None
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return int(seconds * 10**9 + value.microsecond * 1000)
    if dtype.kind not in ("datetime", "date") or not issubclass(cls, date):
        return None
    if not issubclass(cls, datetime):
        return None if dtype.zone else int((value - date(1970, 1, 1)).days) * _DAY
    if (value.utcoffset() is None) != (dtype.zone is None):
        return None  # a moment without a zone is none, and a date has no zone
    beyond = int(getattr(value, "nanosecond", 0))  # what pandas has beside
    plain = value.to_pydatetime(warn=False) if beyond else value
    return _duration(plain - _epoch(plain)) + beyond


def _epoch(value: "Any") -> "Any":
    from datetime import UTC, datetime

    return datetime(1970, 1, 1, tzinfo=None if value.utcoffset() is None else UTC)


def _duration(value: "Any") -> int:
    micros = (value.days * 86400 + value.seconds) * 10**6 + value.microseconds
    return int(micros * 1000 + getattr(value, "nanoseconds", 0))  # those of pandas have them beside


def _of_numpy(dtype: "DType", value: "Any") -> "int | None":
    kind = "timedelta" if value.dtype.kind == "m" else "datetime"
    if dtype.zone is not None or kind != ("datetime" if dtype.kind == "date" else dtype.kind):
        return None
    if value.dtype.str[-3:-1] in ("[Y", "[M"):
        if kind == "timedelta":
            return None  # years and months are of no one length
        value = value.astype("datetime64[D]")
    step = value.dtype.str.partition("[")[2].rstrip("]")  # such as 25s; nothing where it has no unit
    unit = step.lstrip("0123456789")
    digits = step[: len(step) - len(unit)]
    size = 7 * _DAY if unit == "W" else _NANOSECONDS.get(unit)
    number = int(value.astype("int64"))
    return None if size is None or number == -(2**63) else number * int(digits or 1) * size
