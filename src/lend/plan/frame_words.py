"""What plans and refusals of columns and tables say alike, whichever draft they are of."""

from collections import Counter

from lend._core.owners import type_name_of
from lend.columns import refusals
from lend.columns.column import Column
from lend.errors import NotHostAccessible
from lend.plan.steps import listed as joined
from lend.tables.table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

AS_IT_LIES = "pandas, as it lies"
LENT_BLOCKS = "while this is lent, pandas copies a lent block before its next write to it"
SHOWN = 20  # columns of a plan that a note each is about


def column_named(column: Column) -> str:
    return f"column {column.name!r}" if column.name else f"a column of {column.dtype}"


def listed(columns: "list[Column]", total: int) -> str:
    if len(columns) == total:
        return "all columns" if total != 1 else "the column"
    return joined([repr(column.name) for column in columns])


def type_of(obj: "Any") -> str:
    return f"lend.{type(obj).__name__}" if type(obj) is Column or type(obj) is Table else type_name_of(obj)


def doubled(names: "Sequence[str]") -> "tuple[str, str] | None":
    """The first name that several columns have, and the places of these; None where each has its own."""
    if len(set(names)) == len(names):
        return None
    times = Counter(names)
    double = next(name for name in names if times[name] > 1)
    return double, ", ".join(str(place) for place, name in enumerate(names) if name == double)


def check_host(column: Column, taker: str, came: "str | None" = None) -> None:
    """Refuse a column on a device, of which nothing is made here."""
    if not column.device.is_host:
        raise NotHostAccessible.build(
            f"{refusals.named(column)} is on {column.device}, and {taker} takes memory of the host",
            came=refusals.came(column) if came is None else came,
            remedy="copy it with the library that made it, and hand on what that gives",
        )
