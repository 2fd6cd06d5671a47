"""What lend_acquire_arrow gives: a column or a table of one chunk, as Arrow has it, or described as it lies."""

import sys

from lend.columns import converting, refusals
from lend.columns.anatomy import NAT, Anatomy, packed_value
from lend.columns.column import Column
from lend.columns.drafts import kept, lead_of
from lend.columns.forms import arrow_elements
from lend.columns.giving import device_array
from lend.columns.joining import nothing
from lend.columns.roles import BOOL8
from lend.errors import CopyRequired, LendError, NotLendable, UnsupportedLayout
from lend.tables.table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_COPY_IF_NEEDED, _COPY = 2048, 4096
_ANYWAY = "LEND_COPY_IF_NEEDED in the flags (a copy, counted)"


def wrong_struct(size: int) -> ValueError:
    return ValueError(f"the lend_column was not initialised with LEND_COLUMN_INIT: struct_size {size}")


def offered(obj: "Any", flags: int, described: bool) -> "tuple[Any, tuple[Any, Any], bytes | None]":
    """What is given, its two capsules, and the bytes of the value that stands for null, where one does."""
    if flags & ~(_COPY_IF_NEEDED | _COPY):
        raise ValueError(
            f"the flags of lend_acquire_arrow have {flags & ~(_COPY_IF_NEEDED | _COPY):#x}, which this lend does not "
            "know; it has LEND_COPY_IF_NEEDED and LEND_COPY"
        )
    given = _taken(obj, None if flags else False)
    if type(given) is Table:
        given = _table(given, flags)
        return given, given.__arrow_c_device_array__(), None
    column = _column(given, flags)
    if not described or flags or not column.device.is_host:
        column = _plainly(column)
        return column, column.__arrow_c_device_array__(), None
    column = _as_it_lies(column)
    return column, device_array(column, None, True), _sentinel(column)


def _taken(obj: "Any", copy: "bool | None") -> "Any":
    """A Column, or a Table of what is one."""
    from lend.front_columns import take_column, take_table

    if type(obj) is Table:
        return obj
    if isinstance(obj, dict):
        return take_table(obj, None, copy)
    try:
        return take_column(obj, copy)
    except NotLendable as refusal:
        if refusal.fact is None or not refusal.fact.endswith(" is a table, no column"):
            raise
    return take_table(obj, None, copy)


def _table(table: Table, flags: int) -> Table:
    from lend.tables.table import of_columns

    if table.is_lazy:
        raise UnsupportedLayout.build(
            "the rows of a lazy table are still in its stream",
            came=repr(table),
            remedy="lend.table(x), all rows",
        )
    chunks = len(table.chunks)
    if chunks > 1 and not flags:
        raise CopyRequired.build(
            f"this table has {chunks} chunks, and one Arrow array is asked for",
            came=repr(table),
            remedy=[_ANYWAY, "each of lend.table(x).chunks by itself"],
        )
    columns = [_plainly(_column(column, flags)) for column in table.columns]
    return of_columns(table.names, columns, table.num_rows or 0, table.metadata)


def _column(column: Column, flags: int) -> Column:
    """One chunk, copied where that is allowed and needed."""
    full = [part for part in column.chunks if len(part)]
    if len(column.chunks) != 1 and len(full) > 1:
        if not flags:
            raise CopyRequired.build(
                f"{refusals.named(column)} has {len(column.chunks)} chunks, and one Arrow array is asked for",
                came=refusals.came(column),
                remedy=[_ANYWAY, "each of lend.column(x).chunks by itself"],
            )
        column = converting.combined(column)
    elif len(column.chunks) != 1:
        column = (full or list(column.chunks) or [nothing(column)])[0]
    if not column.device.is_host:
        if flags & _COPY:
            from lend.protocols.refusals import not_host

            raise not_host(column, None)
    elif flags:
        column = converting.arrow_form(column)
        if flags & _COPY:
            column = converting.compact(column)
    return column


def _plainly(column: Column) -> Column:
    """A column that is as Arrow has it, or becomes so without a copy; else refused."""
    needs = converting.needs(column) if column.device.is_host else []
    if needs:
        raise _needs_copy(column, ", ".join(needs), ", or a lend_column, which describes it as it lies")
    return column


def _needs_copy(column: Column, why: str, instead: str = "") -> LendError:
    return CopyRequired.build(
        f"{refusals.named(column)} is not as Arrow has it: {why}", came=refusals.came(column), remedy=_ANYWAY + instead
    )


def _as_it_lies(column: Column) -> Column:
    """A column of which Arrow's array tells what it has words for; refused where a lend_column has none either."""
    if not converting.needs(column):
        return converting.arrow_form(column)
    for part in (*column.children, column.dictionary):
        within = [] if part is None else converting.needs(part)
        if part is not None and within:
            raise _needs_copy(column, f"within it {refusals.named(part)}: {', '.join(within)}")
    parts = Anatomy(column)
    dtype, reasons = arrow_elements(parts)
    odd = [reason for reason in reasons if reason in ("days of 8 bytes", "byte order")]
    if odd:
        raise _needs_copy(column, ", ".join(odd))
    is_bool = parts.layout == "fixed" and parts.dtype.kind == "bool"
    if dtype == parts.dtype and not is_bool:
        return column
    draft = kept(parts, lead_of(parts, keeps_bits=parts.form == "bitmask"))
    if is_bool:
        draft.metadata = {**column.metadata, **BOOL8}
    else:
        draft.dtype = dtype
    return draft.made()


def _sentinel(column: Column) -> "bytes | None":
    nulls = column.nulls
    if nulls.kind == "sentinel":
        return packed_value(column, nulls.value)
    return NAT.to_bytes(8, sys.byteorder, signed=True) if nulls.kind == "nat" else None
