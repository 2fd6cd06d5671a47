"""What `nulls=` of `lend.to` may be: one way to show nulls, or of a table a dict of them by the names of columns."""

from lend.columns.column import Column

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.tables.table import Table

POLICIES = ("mask", "nan", "object", "forbid", "struct")


def check(nulls: "Any", thing: "Column | Table") -> None:
    """Refuse what is no way to show nulls, and names that no column has."""
    if type(nulls) is not dict:
        _check_one(nulls)
        return
    if type(thing) is Column:
        raise TypeError("nulls= by the names of columns is for tables: a column has one way to show its nulls")
    for name, policy in nulls.items():
        if name not in thing.names:
            from lend.tables import refusals

            raise refusals.no_such_name(thing.names, name, ())
        _check_one(policy)


def _check_one(nulls: "Any") -> None:
    if nulls is None or (isinstance(nulls, str) and nulls in POLICIES):
        return
    if type(nulls) is tuple and len(nulls) == 2 and isinstance(nulls[0], str) and nulls[0] == "fill":
        return
    listed = ", ".join(map(repr, POLICIES))
    raise ValueError(f'nulls is None, {listed} or ("fill", value), or a dict of these by column, not {nulls!r:.60}')


def of_column(nulls: "Any", column: Column) -> "Any":
    """The way of one column."""
    return nulls.get(column.name) if type(nulls) is dict else nulls
