"""What one element of a column is as a Python object, where that is more than a number."""

from lend.columns import refusals
from lend.errors import LendError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lend.columns.column import Column
    from lend.dtypes.dtype import DType

NAT = -(2**63)
_MICROSECONDS = {"D": 86400 * 10**6, "s": 10**6, "ms": 1000, "us": 1}


def is_nan(value: "Any") -> bool:
    return bool(value != value)  # noqa: PLR0124 - the only value that is not itself


def is_nat(value: int) -> bool:
    return value == NAT


def is_equal(value: "Any") -> "Callable[[Any], bool]":
    return lambda other: bool(other == value)


def is_text(dtype: "DType") -> bool:
    """Whether the bytes of a column are text in UTF-8."""
    return dtype.arrow in ("u", "U", "vu")


def base(dtype: "DType") -> "DType":
    """What is stored, of an extension type."""
    found = dtype
    while found.kind == "extension":
        assert found.value_type is not None
        found = found.value_type
    return found


def converter(dtype: "DType", column: "Column") -> "Callable[[Any], Any] | None":
    """What makes an object of what is stored; None where that is the value."""
    kind = dtype.kind
    if kind == "extension":
        assert dtype.value_type is not None
        return converter(dtype.value_type, column)
    if kind in ("datetime", "timedelta", "date", "time"):
        return _times(dtype, column)
    if kind == "decimal":
        return _decimal(dtype.scale or 0)
    return _INTERVALS[dtype.arrow] if kind == "interval" else None


def _decimal(scale: int) -> "Callable[[Any], Any]":
    import sys
    from decimal import Decimal

    def convert(stored: "Any") -> Decimal:
        number = stored if isinstance(stored, int) else int.from_bytes(stored, sys.byteorder, signed=True)
        return Decimal(f"{number}e{-scale}")

    return convert


def _parted(layout: str) -> "Callable[[Any], Any]":
    from struct import unpack

    return lambda stored: unpack(layout, stored)


_INTERVALS = {"tiM": None, "tiD": _parted("=ii"), "tin": _parted("=iiq")}


def _times(dtype: "DType", column: "Column") -> "Callable[[Any], Any]":
    """Objects of datetime, which know years 1 to 9999 and no nanoseconds."""
    from datetime import UTC, date, datetime, timedelta
    from weakref import ref

    # days of NumPy are dates, which Arrow has in 32 bits
    plain = dtype if dtype.is_native else dtype.newbyteorder("native")  # Arrow has no other order
    try:
        format = "tdD" if dtype.kind == "datetime" and dtype.unit == "D" else plain.arrow
    except LendError:  # years, months, weeks, several units at a time
        raise refusals.no_object(
            column,
            f"{dtype} has no object of datetime",
            'lend.column(x).buffers["data"].view("int64"), the numbers as they are stored',
        ) from None
    unit = {"tdD": "D", "tdm": "ms"}.get(format) or {"s": "s", "m": "ms", "u": "us", "n": "ns"}[format[2]]
    zone = _zone(format[4:], column) if format.startswith("ts") and format[4:] else None
    scale = _MICROSECONDS.get(unit)
    day = 86400 * 10**6
    read = ref(column)  # an error keeps its frames, and these what their functions close over

    def refused(number: int, why: str) -> Exception:
        return refusals.no_object(
            read(),  # type: ignore[arg-type]
            f"{number} of {dtype} has no object of datetime: {why}",
            'lend.column(x).buffers["data"].view("int64"), the numbers as they are stored'
            if dtype.itemsize == 8
            else 'lend.column(x).buffers["data"].view("int32"), the numbers as they are stored',
        )

    def convert(number: int) -> "Any":
        micros, rest = divmod(number, 1000) if scale is None else (number * scale, 0)
        if rest:
            raise refused(number, "it has nanoseconds beyond microseconds")
        try:
            past = timedelta(microseconds=micros)
            if format[1] == "D":
                return past
            if format[1] == "d":
                if micros % day:
                    raise refused(number, "it is no whole day")
                return date(1970, 1, 1) + past
            if format[1] == "t":
                if not 0 <= micros < day:
                    raise refused(number, "it is no time of one day")
                return (datetime(1970, 1, 1) + past).time()  # noqa: DTZ001 - a time of day has no zone
            moment = datetime(1970, 1, 1, tzinfo=UTC) + past
            return moment.astimezone(zone) if zone else moment.replace(tzinfo=None)
        except (OverflowError, ValueError):  # the latter by zones at the ends of time
            raise refused(number, "it is out of the years 1 to 9999") from None

    return convert


def _zone(text: str, column: "Column") -> "Any":
    from datetime import UTC, datetime

    if text in ("UTC", "utc", "Z"):
        return UTC
    try:
        if text[:1] in "+-":
            return datetime.strptime(text, "%z").tzinfo
        from zoneinfo import ZoneInfo

        return ZoneInfo(text)
    except (ValueError, LookupError, OSError) as error:
        raise refusals.no_object(
            column,
            f"the time zone {text!r} is none that this Python knows",
            'lend.column(x).buffers["data"].view("int64"), the times in UTC',
        ) from error
