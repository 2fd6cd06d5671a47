"""What a consumer asks of a table by `requested_schema`: of each of its columns, as `columns.requests` meets it."""

from lend._core.letting_go import lets_go
from lend.columns.requests import fitted
from lend.errors import UnsupportedType
from lend.tables.table import Table, of_columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lend.dtypes.dtype import DType


@lets_go
def fitted_table(table: Table, wanted: "DType | None") -> Table:
    """The table as it is asked for, column by column, by place; where none can be as asked itself."""
    if wanted is None:
        return table
    asked = [field for _, field in wanted.children] if wanted.kind == "struct" else None
    if asked is None or len(asked) != table.num_columns:
        raise UnsupportedType.build(
            f"a table of {table.num_columns} columns was asked for as "
            + (str(wanted)[:60] if asked is None else f"one of {len(asked)}")
            + ", which it never is",
            came=repr(table),
            remedy="a schema of as many columns; or table.select(...) before",
        )
    columns = list(table.columns)
    found = [fitted(column, each) for column, each in zip(columns, asked, strict=True)]
    if all(one is other for one, other in zip(columns, found, strict=True)):
        return table
    return of_columns(table.names, found, table.num_rows or 0, table.metadata)
