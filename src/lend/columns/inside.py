"""What lies inside of nested columns: of each field or list what the rows of a column have, and no more."""

from lend.columns.anatomy import Anatomy, layout_of
from lend.columns.scalars import base

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lend.columns.column import Column
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
    """What the rows of a chunk are made of; of unions and the like all that their children have."""
    layout = layout_of(column.dtype)
    if layout == "struct":
        found = fields(column)
    elif layout in LISTS:
        found = [elements(column)[0]]
    else:
        found = [*column.children]
    if column.dictionary is not None:
        found += parts_of(column.dictionary)
    return found
