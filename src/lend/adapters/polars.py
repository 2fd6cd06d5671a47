"""Columns and tables of polars: a frame of several chunks is taken column by column.

The stream of a DataFrame joins the chunks of the frame itself, which would change what was lent; that of a Series
does not. Observed with polars 2.1.
"""

import sys

from lend._core.letting_go import lets_go
from lend.adapters import columns
from lend.adapters.asking import guarded
from lend.errors import NotLendable, UnsupportedType
from lend.protocols.classes import full_name, shows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from lend.adapters.columns import Take
    from lend.columns.column import Column
    from lend.tables.table import Table


def serves(cls: type) -> bool:
    return shows(cls, "get_columns") or shows(cls, "to_physical") or _lazy(cls)


def _lazy(cls: type) -> bool:
    return shows(cls, "collect") and shows(cls, "collect_schema")


@lets_go
def column(obj: "Any", take: "Take", copy: "bool | None") -> "Column | Any":
    """A Series by its stream, which keeps its chunks."""
    if not shows(type(obj), "to_physical"):
        raise _query(obj) if _lazy(type(obj)) else columns.no_column(obj)
    if _is_of_objects(obj):
        raise _objects(obj, _named(obj))
    return obj


@lets_go
def table(obj: "Any", keys: "Iterable[str | int] | None", take: "Take", copy: "bool | None") -> "Table | Any":
    """A frame by its own stream where that changes nothing; else by its columns."""
    if _lazy(type(obj)):
        raise _query(obj)
    if not shows(type(obj), "get_columns"):
        raise columns.no_table(obj)
    if keys is None and _is_whole(obj):
        return obj
    parts, names, rows = _parts(obj)
    return columns.chosen(names, parts, keys, take, copy, rows)


@guarded
def _is_whole(frame: "Any") -> bool:
    """Whether every column is of one chunk, and none of Python objects, whose addresses its stream shows as bytes."""
    try:
        # what n_chunks("all") asks itself, which makes a Series of each column first and takes five times as long
        counts = [part.n_chunks() for part in frame._df.get_columns()]
    except (AttributeError, TypeError):
        counts = frame.n_chunks("all")
    if max(counts, default=1) > 1:
        return False
    kind = sys.modules["polars"].Object
    return not [dtype for dtype in frame.dtypes if dtype is kind or type(dtype) is kind]


def _is_object(dtype: "Any") -> bool:
    kind = sys.modules["polars"].Object
    return dtype is kind or type(dtype) is kind


@guarded
def _parts(frame: "Any") -> "tuple[list[Any], tuple[str, ...], int]":
    return frame.get_columns(), tuple(frame.columns), frame.height


@guarded
def _is_of_objects(series: "Any") -> bool:
    return _is_object(series.dtype)


@guarded
def _named(series: "Any") -> str:
    return str(series.name)


@guarded
def each(obj: "Any") -> "list[tuple[str, Any]]":
    """The Series of a frame, or the one that it is, by their names."""
    series = obj.get_columns() if shows(type(obj), "get_columns") else [obj]
    return [(str(part.name), part) for part in series]


def _objects(obj: "Any", name: str) -> UnsupportedType:
    return UnsupportedType.build(
        f"the column {name!r} is of Python objects, which are nobody's to lend",
        came=f"{full_name(type(obj))}, dtype Object",
        remedy="the other columns, columns=[...]; or a cast to a type of values by polars",
    )


def _query(obj: "Any") -> NotLendable:
    return NotLendable.build(
        f"a {full_name(type(obj))} is a query, not memory: collect() first",
        came=full_name(type(obj)),
        remedy="lend.table(x.collect())",
    )
