"""Columns and tables to polars: what it makes of each dtype, what it refuses, what it gets wrong. Observed with 2.1."""

from functools import lru_cache

from lend.adapters import alignment
from lend.adapters.verdicts import OTHERS, SHARED, Verdict, format_of, numbered, parts_of, refused
from lend.columns import forms, roles
from lend.columns.building import of_chunks
from lend.columns.requests import relabelled
from lend.dtypes import DType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.columns.column import Column
    from lend.tables.table import Table

_HAS_NO = {
    "tin": "interval of months, days and nanoseconds", "tiM": "interval of months", "tiD": "interval of days and time",
    "+r": "run-end encoded column", "+vl": "list of offsets and sizes", "+vL": "list of offsets and sizes",
}  # fmt: skip
_INTERVALS = (
    "its parts as Python values, lend.column(x).tolist(); of duckdb's numbers in its place, epoch_us(...) in the query",
    OTHERS,
)  # fmt: skip
# of a nested type nothing but the whole is made anew
_INSTEAD = {
    "tin": _INTERVALS, "tiM": _INTERVALS, "tiD": _INTERVALS,
    "+r": ('pyarrow.compute.run_end_decode(lend.to(lend.column(x), "pyarrow"))', OTHERS),
}  # fmt: skip


def judge(column: "Column", rows: "int | None") -> Verdict:
    copies, becomes = [], None
    if roles.is_bool8(column.metadata):
        becomes = "ext[arrow.bool8], stored as Int8"
    elif _holds_bool8(column):
        becomes = "ext[arrow.bool8], stored as Int8, where it has bools of one byte"
    for dtype in parts_of(column.dtype):
        format = format_of(dtype)
        what = _HAS_NO.get(format) or ("union" if format[:2] == "+u" else None)
        if format.startswith("d:") and format.endswith(",256"):
            what = "decimal of 256 bits"
        if format.startswith("d:") and ",-" in format:
            what = "decimal of a negative scale"
        if format == "+w:0":
            what = "list of 0 elements each (it panics of one)"
        if what is not None:
            anew = ("an array of its values: pyarrow.array(lend.column(x).tolist())", OTHERS)
            if what == "union":
                anew = ("its parts: lend.column(x).children", OTHERS)
            raise refused(column, "polars", what, _INSTEAD.get(format, anew) if dtype is column.dtype else anew)
        if dtype.zone is not None and not _is_zone(dtype.zone):
            raise refused(column, "polars", f"time zone {dtype.zone!r}", "the name of a region, such as 'Etc/GMT-2'")
        if rows and (format.startswith("tss:") or format == "tDs") and _too_far(column):
            raise refused(
                column, "polars", "time of so many seconds (it counts milliseconds, in 64 bits, and they run over)",
                'lend.to(lend.column(x), "pyarrow"), which has them',
            )  # fmt: skip
        if format in ("u", "U", "z", "Z"):
            copies.append("polars keeps text and bytes in views, and makes them of offsets")
        elif dtype.dictionary is not None:
            copies.append("polars makes its categories anew")
            if format_of(dtype.dictionary) not in ("u", "U", "vu"):
                becomes = "its values, decoded: polars has categories of text alone"
            elif dtype.ordered and not _is_enum(column):
                becomes = "Categorical, without the order of its categories"
        elif format in ("+l", "+m"):
            copies.append("polars has lists with offsets of 64 bits, and widens these")
        elif format in ("tts", "ttm", "ttu"):
            copies.append("polars has times of nanoseconds alone")
            becomes = "Time"
        elif format == "tdm" or format.startswith("tss:"):
            becomes = "Datetime(ms)"
            copies.append(f"polars makes Datetime(ms) of {dtype}")
        elif format == "tDs":
            becomes = "Duration(ms)"
            copies.append("polars makes Duration(ms) of seconds")
        elif format.startswith("w:"):
            copies.append("polars has bytes in views, and makes them of these")
            becomes = "Binary"
        elif format.startswith("d:") and format.count(",") == 2:
            copies.append("polars has decimals of 128 bits alone")
            becomes = "Decimal"
    if not copies and rows:
        why = alignment.why(column, "polars", 4)
        copies += [] if why is None else [why]
    return Verdict(None, copies[0], becomes) if copies and rows != 0 else Verdict(SHARED, "", becomes)


@lru_cache(64)
def _is_zone(zone: str) -> bool:
    """Whether polars takes a zone, which it says of none before it is given one."""
    if zone == "Z" or zone[:1] in "+-":
        return False
    import polars as pl

    try:
        pl.Series([], dtype=pl.Datetime("us", zone))
    except pl.exceptions.PolarsError:
        return False
    return True


def _is_enum(column: "Column") -> bool:
    """Whether it came from polars as an Enum, which polars makes of it again."""
    if any(key.startswith(b"_PL_ENUM") for key in column.metadata):
        return True
    return any(_is_enum(child) for chunk in column.chunks[:1] for child in chunk.children)


_MOST_SECONDS = (2**63 - 1) // 1000


def _too_far(column: "Column") -> bool:
    """Whether there are seconds of which there are more milliseconds than fit: polars 2.1 wraps them, in silence."""
    import polars as pl

    for chunk in column.chunks:
        if format_of(chunk.dtype).startswith(("tss:", "tDs")) and chunk.dtype.dictionary is None and len(chunk):
            numbers = pl.Series(relabelled(forms.arrow_form(chunk).made(), DType.from_arrow("l")).made())
            if max(abs(numbers.min() or 0), abs(numbers.max() or 0)) > _MOST_SECONDS:
                return True
        if any(map(_too_far, (*chunk.children, *filter(None, [chunk.dictionary])))):
            return True
    return False


def _holds_bool8(column: "Column") -> bool:
    """Whether there are bools of one byte within a column, by that extension type."""
    children = [child for chunk in column.chunks[:1] for child in chunk.children]
    return any(roles.is_bool8(child.metadata) or _holds_bool8(child) for child in children)


def give_series(column: "Column", form: "str | None" = None, names: "str | None" = None) -> "Any":
    import polars as pl

    return pl.Series(column.name, _with_rows(column)).alias(column.name)


def _with_rows(column: "Column") -> "Column":
    """Without chunks of no rows: polars panics of lists of one length that begin with such (seen with 2.1)."""
    chunks = column.chunks
    full = [chunk for chunk in chunks if len(chunk)]
    return column if len(full) == len(chunks) or len(chunks) == 1 else of_chunks(full or chunks[:1])


def give_frame(table: "Table", form: "str | None" = None, names: "str | None" = None) -> "Any":
    import polars as pl

    # a stream tells a name of its own, which polars prefers to the one it is given; of a list it calls "" column_0
    named = zip(unique(table, names), table, strict=True)
    if table.num_columns:
        made = pl.DataFrame({name: pl.Series(name, _with_rows(column)).alias(name) for name, column in named})
    else:
        made = pl.DataFrame(height=table.num_rows) if table.num_rows else pl.DataFrame()
    return made if form is None or form.endswith(".DataFrame") else made.lazy()


def check_names(names: "Any") -> None:
    """Refuse a value that the option `names` does not have."""
    if names not in (None, "unique"):
        raise ValueError(f'names is "unique", or not given, not {names!r:.40}')


def unique(table: "Table", names: "str | None") -> "list[str]":
    """The names, with a number behind those that were there before, if that was asked for."""
    check_names(names)
    if names is None:
        return list(table.names)
    return numbered(table.names, str, set(table.names))
