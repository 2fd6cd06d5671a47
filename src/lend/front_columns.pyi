"""Types of lend.front_columns."""

from collections.abc import Iterable
from typing import Any

from lend.columns.column import Column
from lend.tables.table import Table

def gives_once(obj: Any) -> bool: ...
def described(obj: Any) -> Column | Table | None: ...
def column(
    obj: Any, *, copy: bool | None = None, nulls: object = None, dtype: object = None, nested: bool = False
) -> Column: ...
def table(
    obj: Any,
    *,
    copy: bool | None = None,
    nulls: object = None,
    index: str | None = None,
    columns: Iterable[str | int] | None = None,
    lazy: bool = False,
    nested: bool = False,
) -> Table: ...
def take_column(obj: Any, copy: bool | None = None) -> Column: ...
def take_table(obj: Any, keys: Iterable[str | int] | None, copy: bool | None = None) -> Table: ...
