"""What a producer writes anew each time it hands a column on: what lies elsewhere when it is taken twice.

polars 2.1 does so of the codes and categories of a Categorical, and of bits of nulls that begin elsewhere within a byte
than its elements do (structs that were cut, what was computed of a column that was cut).
"""

from lend import front_columns
from lend.adapters import columns
from lend.errors import CopyRequired
from lend.plan.steps import amount

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from lend.columns.column import Column

__all__ = ["forbid", "found"]

# how messages call the buffers of a column
_WORDS = {"validity": "the bits of nulls", "data": "elements", "views": "elements", "type_ids": "the types"}


def found(obj: "Any") -> "Iterator[tuple[str, int, str]]":
    """Of each column of polars that is written anew: its name, the bytes, what they are."""
    for name, part in columns.told_by_polars(obj):
        one, other = front_columns.column(part), front_columns.column(part)  # while both are held, nothing moves in
        moved = list(_moved(one, other))
        if moved:
            yield name, sum(nbytes for _, nbytes in moved), ", ".join(dict.fromkeys(word for word, _ in moved))


def forbid(obj: "Any", came: str) -> None:
    """Refuse what its library would copy to hand it on, where no copy is allowed."""
    copied = list(found(obj))
    if copied:
        name, _, what = copied[0]
        column = f"column {name!r}" if name else "this column"
        raise CopyRequired.build(
            f"polars writes {what} of {column} anew each time it hands them on (made anew)",
            came=came,
            tried=[f"{more} of column {other!r}" for other, _, more in copied[1:4]] or None,
            remedy=f"copy=None (polars copies {amount(sum(nbytes for _, nbytes, _ in copied))})",
        )


def _moved(one: "Column", other: "Column") -> "Iterator[tuple[str, int]]":
    for part, again in zip(one.chunks, other.chunks, strict=True):
        coded = part.dictionary is not None
        buffers = again.buffers
        for role, held in part.buffers.items():
            word = "the codes" if coded and role == "data" else _WORDS.get(role, role)
            for buffer, its in zip(_listed(held), _listed(buffers[role]), strict=True):
                if buffer.nbytes and buffer.ptr != its.ptr:
                    yield word, buffer.nbytes
        for child, its in zip(part.children, again.children, strict=True):
            yield from _moved(child, its)
        if part.dictionary is not None and again.dictionary is not None:
            yield from (("the categories", nbytes) for _, nbytes in _moved(part.dictionary, again.dictionary))


def _listed(held: "Any") -> "tuple[Any, ...]":
    return held if type(held) is tuple else (held,)
