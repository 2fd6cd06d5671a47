"""What lies inside of nested columns: of each field or list what the rows of a column have, and no more."""

from lend.columns import run_refusals
from lend.columns.anatomy import Anatomy, layout_of
from lend.columns.scalars import base

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lend.columns.column import Column
    from lend.columns.runs import Wish
    from lend.dtypes.dtype import DType

LISTS = ("fixed list", "list")


def inner(dtype: "DType") -> "DType":
    """The type of the elements of lists."""
    return dtype.children[0][1] if dtype.children else base(dtype).children[0][1]


def span(parts: Anatomy) -> "tuple[int, int]":
    """Where the elements of the lists of a chunk begin and end in their child."""
    if parts.layout != "fixed list":
        return parts.span(0, parts.n)
    length = int(base(parts.dtype).length or 0)
    return parts.offset * length, (parts.offset + parts.n) * length


def elements(column: "Column") -> "tuple[Column, int]":
    """The elements of the lists of a chunk, and how many each has, where all have as many."""
    parts = Anatomy(column)
    start, stop = span(parts)
    return column.children[0][start:stop], (stop - start) // parts.n if parts.n else 0


def fields(column: "Column") -> "list[Column]":
    """The fields of a chunk of structs."""
    parts = Anatomy(column)
    return [child[parts.offset : parts.offset + parts.n] for child in column.children]


def parts_of(column: "Column") -> "list[Column]":
    """What the rows of a chunk are made of, and may be null beside them; of lists in views all elements that there are.

    A null of a dictionary, a union or a run is one of the column itself, and counted there.
    """
    layout, found = layout_of(column.dtype), list["Column"]()
    if layout == "struct":
        found = fields(column)
    elif layout in LISTS:
        found = [elements(column)[0]]
    elif layout == "list view":
        found = [*column.children]
    elif layout in ("union", "runs"):
        for child in column.children:
            found += parts_of(child)
    return found if column.dictionary is None else found + parts_of(column.dictionary)


def forbid_nulls(column: "Column", wish: "Wish", *, fills: bool = True) -> None:
    """Refuse what has a null, itself or at whatever depth: `nulls="forbid"`; `fills`: a value can be had instead."""
    count = column.null_count
    if count:
        raise run_refusals.forbidden(column, count, wish, fills=fills)
    for chunk in column.chunks:
        part = _with_nulls(chunk)
        if part is not None:
            raise run_refusals.forbidden(column, part.null_count, wish, within=part.name, fills=False)


def _with_nulls(column: "Column") -> "Column | None":
    """The first part of a chunk that has nulls."""
    for part in parts_of(column):
        found = part if part.null_count else _with_nulls(part)
        if found is not None:
            return found
    return None
