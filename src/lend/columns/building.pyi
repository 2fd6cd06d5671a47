"""Types of lend.columns.building."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lend.columns.column import Column
from lend.columns.nullness import Nulls
from lend.dtypes.dtype import DType
from lend.views.view import View

def build(
    dtype: object,
    length: int,
    given: Mapping[str, Any],
    nulls: object,
    offset: int,
    children: Sequence[Column],
    dictionary: Column | None,
    name: str,
    metadata: Mapping[bytes, bytes] | None,
) -> Column: ...
def vouched(made: Column, source: Column | None = None) -> Column: ...
def counted(made: Column, nulls: int) -> Column: ...
def of_chunks(chunks: Iterable[Column]) -> Column: ...
def rows(block: View, dtype: DType, form: Nulls, names: Sequence[str]) -> list[Column]: ...
def told(column: Column, name: str, metadata: Mapping[bytes, bytes] | None) -> Column: ...
def unreadable(name: str, length: int, why: Any) -> Column: ...
