"""`Table.__dataframe__`: columns brought into a form that the dataframe protocol has, where they have none.

What it has no word for is changed in a copy that is counted, or refused under `allow_copy=False`: chunks as one column,
strides, text in views, nulls by a value of a dictionary. Bools in bits become bytes, which is what consumers read.
Where pyarrow is missing so do masks in bits, and values that say null get a mask: pandas reads bits by pyarrow, and
sees no null in codes of -1 (observed with pandas 3.1).
"""

import struct
import sys

from lend._core.letting_go import lets_go
from lend.adapters import columns
from lend.adapters.asking import guarded
from lend.adapters.rules import is_installed
from lend.columns import forms, joining, reading, recoding, refusals
from lend.columns.anatomy import Anatomy
from lend.columns.building import vouched
from lend.columns.column import Column
from lend.columns.nullness import Nulls
from lend.dtypes.dtype import DType
from lend.errors import NotHostAccessible, UnsupportedType
from lend.protocols import dataframe_giving as giving
from lend.tables import index_note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.columns.drafts import Draft
    from lend.tables.table import Table


@lets_go
def give(lent: "Table | Column", nan_as_null: bool, allow_copy: bool) -> giving.InterchangeFrame:
    """What `__dataframe__` of a Table answers, and of a Column, as the only one of its table."""
    from lend.tables import refusals as of_tables
    from lend.tables.table import of_columns

    table: Any = lent
    if type(lent) is Column:
        table = of_columns((lent.name,), [lent], len(lent))
    if table.is_lazy:
        raise of_tables.lazy(table)
    table = index_note.without(table)
    giving.check_names(table.names)
    return giving.InterchangeFrame(table, True, sys.modules[__name__]).__dataframe__(nan_as_null, allow_copy)


def dtype(column: Column, allow_copy: bool) -> DType:
    """The dtype that a column will be shown with; no memory is touched, but to add up the text of several chunks."""
    told = column.dtype
    if told.kind == "utf8" and len(column.chunks) > 1:
        return ready(column, allow_copy).dtype
    if told.kind == "utf8_view":
        return DType("large_utf8")
    if told.kind == "bool" and told.shares_bytes and allow_copy and column.device.is_host:
        return DType("bool")
    if told.dictionary is not None and _has_lost_words(column):
        return ready(column, allow_copy).dtype
    return told if told.is_native else told.newbyteorder("native")


@lets_go
def ready(column: Column, allow_copy: bool) -> Column:
    """The column as the protocol can show it, copied where it must be and may be."""
    giving.told_type(_own(column), column)  # refuse first, what would be copied in vain
    if reading.is_unvouched(column):
        column.verify(full=True)
    if _lies_ready(column):
        return column
    column = _made(joining.combined(column), allow_copy) if column.chunks else joining.nothing(column)
    if not column.device.is_host:
        return _on_device(column)
    if column.dtype.kind == "utf8_view":
        column = _with_offsets(column, allow_copy)
    if _has_lost_words(column):
        column = _made(recoding.codes_with_sentinel(column), allow_copy)
    column = _made(forms.contiguous(column), allow_copy)
    if column.dtype.kind == "bool" and column.dtype.shares_bytes and allow_copy:
        column = _made(forms.unpacked(column), True)
        if column.nulls.kind == "bitmask" and column.null_count:
            column = _made(forms.masked(column), True)
    if allow_copy and column.null_count and column.nulls.kind not in ("nan", "nat") and not is_installed("pyarrow"):
        column = _for_pandas(column)
    if column.nulls.kind == "bytemask" and len(column) > 1 and Anatomy(column).mask_step != 1:
        column = _made(forms.masked(forms.arrow_form(column).made()), allow_copy)  # by bits, to lie side by side
    return column


def _lies_ready(column: Column) -> bool:
    """Whether nothing is to be done: what is true of most columns is found out without a draft of each form."""
    dtype = column.dtype
    return (
        dtype.kind in ("int", "uint", "float", "utf8", "large_utf8")
        and len(column.chunks) == 1
        and column.device.is_host
        and dtype.is_native
        and column.stride in (None, dtype.itemsize)
        and (column.nulls.kind in ("none", "nan") or (column.nulls.kind == "bitmask" and is_installed("pyarrow")))
    )


def _for_pandas(column: Column) -> Column:
    """With a mask of bytes; where pandas will write NaN or False under the nulls, in memory that nobody else has."""
    if column.dtype.kind in ("float", "bool"):
        column = joining.compact(column).make("pandas writes under nulls")
    return column if column.nulls.kind == "bytemask" else _made(forms.masked(column), True)


def _on_device(column: Column) -> Column:
    """Memory of a device is shown as it lies, or not at all."""
    dtype = column.dtype
    if dtype.kind == "utf8_view" or not dtype.is_native or column.stride not in (None, dtype.itemsize):
        raise NotHostAccessible.build(
            f"{refusals.named(column)} is on {column.device}, and the dataframe protocol cannot show it as it lies",
            came=refusals.came(column),
            remedy="a copy on the host, by the library that made it",
        )
    return column


def _own(column: Column) -> DType:
    """The dtype in words that the protocol might have."""
    told = column.dtype
    if told.kind == "utf8_view":
        return DType("large_utf8")
    return told if told.is_native else told.newbyteorder("native")


def _has_lost_words(column: Column) -> bool:
    """Whether an element is null by its value in the dictionary: the protocol sees nulls of codes alone."""
    if column.dtype.dictionary is None or not column.device.is_host:
        return False
    return sum(map(forms.nulls_in, column.chunks)) < column.null_count


def _made(draft: "Draft", allow_copy: bool) -> Column:
    if draft.nbytes and not allow_copy:
        raise giving.needs_copy(refusals.came(draft.source), draft.reasons)
    return draft.make()


# -- text in views -----------------------------------------------------------------------------------------------------


def _with_offsets(column: Column, allow_copy: bool) -> Column:
    """Text with offsets, made by pyarrow or polars; where neither is there it is refused."""
    if not allow_copy:
        raise giving.needs_copy(refusals.came(column), ["text in views, where offsets are wanted"])
    for library, make in (("pyarrow", _by_pyarrow), ("polars", _by_polars)):
        if is_installed(library):
            column.verify(full=True)  # neither looks where a view leads before it follows it
            made = guarded(make)(column)
            break
    else:
        raise UnsupportedType.build(
            f"{refusals.named(column)} is text in views: offsets are made of it by pyarrow or polars, and neither is "
            "installed",
            came=refusals.came(column),
            remedy="install pyarrow or polars; or the Arrow protocol, __arrow_c_stream__",
        )
    from lend._core.copies import note

    size = sum(part.nbytes for role, part in made.buffers.items() if role != "validity")
    note(refusals.came(column), f"text in views, of which {library} makes offsets", size)
    return columns.named(made, column.name)


def _by_pyarrow(column: Column) -> Column:
    import pyarrow as pa

    from lend.front_columns import take_column

    return take_column(pa.array(column).cast(pa.large_string()))


def _by_polars(column: Column) -> Column:
    """The bytes by joining all text into one, the offsets by adding up lengths."""
    import polars as pl

    from lend.front_columns import take_column

    series = pl.Series("", column).rechunk()
    ends = series.str.len_bytes().fill_null(0).cast(pl.Int64).cum_sum()
    ends = pl.concat([pl.Series([0], dtype=pl.Int64), ends], rechunk=True)
    whole = take_column(series.fill_null("").str.join(""))
    known = take_column(series.is_not_null().cast(pl.UInt8)).view() if series.null_count() else None
    made = Column.from_buffers(
        "large_utf8",
        len(column),
        {"offsets": take_column(ends).view(), "data": _bytes_of(whole, ends[-1]), "validity": known},
        nulls=None if known is None else Nulls("bytemask", 0),
    )
    return vouched(made)


def _bytes_of(whole: Column, total: int) -> "Any":
    """The memory of the only text in a column of views: what is short stands in its view."""
    if not total:
        return None
    views = whole.buffers["views"].view("uint8").reshape(-1)[16 * whole.offset :][:16]
    if total <= 12:
        return views[4 : 4 + total]
    which, first = struct.unpack("=ii", bytes(views)[8:])
    variadic: Any = whole.buffers["variadic"]
    return variadic[which].view("uint8")[first : first + total]


# -- for pandas --------------------------------------------------------------------------------------------------------


def values(column: Column) -> "Any":
    """The values as an ndarray."""
    import numpy as np

    if column.dtype.kind in ("int", "uint", "float") and not column.null_count and len(column.chunks) == 1:
        return np.asarray(column)
    found: Any = np.empty(len(column), object)
    found[:] = column.tolist()
    return found if column.dtype.kind != "bool" or column.null_count else found.astype(bool)


def index(table: "Table") -> "Any":
    """The RangeIndex that the metadata keeps, where pandas is loaded and the rows are those of it."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not table.metadata:
        return None
    from lend.adapters import pandas_index

    said = pandas_index.told(table.metadata).get("range")
    if not said or len(range(*said[:3])) != len(table):
        return None
    return pandas.RangeIndex(*said[:3], name=said[3])
