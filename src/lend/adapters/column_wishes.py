"""What `lend.column` and `lend.table` are asked for besides: a dtype, another meaning of null, memory of lend's own."""

from lend._core.letting_go import lets_go
from lend.columns import refusals
from lend.errors import UnsupportedType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.columns.column import Column
    from lend.columns.nullness import Nulls
    from lend.tables.table import Table


@lets_go
def met(column: "Column", copy: bool, nulls: "Any", dtype: "Any") -> "Column":
    """The column as it was asked for."""
    if dtype is not None:
        _require(column, dtype)
    if nulls is not None:
        column = _with(column, _for(column, _form(nulls)))
    return copied(column) if copy else column


@lets_go
def met_by_all(table: "Table", copy: bool, nulls: "Any") -> "Table":
    """The table with each column as it was asked for; a type that has no such value is left as it is."""
    from lend.tables.table import of_columns

    columns = list(table.columns)
    if nulls is not None:
        form = _form(nulls)
        if form.kind == "sentinel" and isinstance(form.value, str):
            raise ValueError(f'nulls is "none", "nan", "nat" or a number that stands for null, not {nulls!r:.60}')
        columns = [_met(column, form) for column in columns]
    if copy:
        columns = [copied(column) for column in columns]
    return of_columns(table.names, columns, len(table), table.metadata)


def _require(column: "Column", dtype: "Any") -> None:
    from lend.dtypes.dtype import DType

    wanted = DType(dtype)
    if column.dtype != wanted:
        raise UnsupportedType.build(
            f"{refusals.named(column)} is of {column.dtype}, and {wanted} was required",
            wanted=str(wanted),
            came=refusals.came(column),
            remedy="a cast by its library: lend changes no values",
        )


def _form(nulls: "Any") -> "Nulls":
    from lend.columns.nullness import Nulls

    if isinstance(nulls, Nulls):
        form = nulls
    elif isinstance(nulls, str) and nulls in ("none", "nan", "nat"):
        form = Nulls(nulls)
    else:
        form = Nulls("sentinel", None, nulls)
    if form.kind in ("bitmask", "bytemask"):
        raise ValueError(
            f"nulls={form.kind!r} needs a mask: lend.Column.from_buffers(dtype, length, buffers, nulls=...)"
        )
    return form


def _for(column: "Column", form: "Nulls") -> "Nulls":
    from lend.columns.roles import form_for

    return form if form.kind == "none" else form_for(column.dtype, form)


def _met(column: "Column", form: "Nulls") -> "Column":
    """The column with these nulls, or as it is where its type has no such value."""
    try:
        form = _for(column, form)
    except UnsupportedType:
        return column
    return _with(column, form)


def _with(column: "Column", form: "Nulls") -> "Column":
    from lend.tables.making import with_nulls

    return with_nulls(column, form.kind, form.value)


# -- memory of one's own -------------------------------------------------------------------------------------------


def copied(column: "Column") -> "Column":
    """The column in memory of lend's own, counted: of each chunk exactly its elements."""
    from lend.columns.joining import compact

    return compact(column).make("copy=True")
