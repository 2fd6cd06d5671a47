"""Records on a line as a Column of structs: each field a strided child over the same memory."""

from math import prod

from lend.adapters.columns import masked, named
from lend.columns.column import Column
from lend.dtypes.dtype import DType
from lend.errors import CopyRequired
from lend.tables.making import field_view
from lend.views import describe, values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lend.adapters.columns import Take
    from lend.views.view import View


def of_records(view: "View", take: "Take", copy: "bool | None", mask: "View | None" = None) -> Column:
    """The structs; `mask` has the same fields, whose bytes say what is null."""
    names, children = [], []
    for name, child in fields(view, take, copy, mask):
        names.append(name)
        children.append(child)
    dtype = DType.from_arrow("+s", fields=[(name, child.dtype) for name, child in zip(names, children, strict=True)])
    return Column.from_buffers(dtype, len(view), {}, children=children)


def fields(view: "View", take: "Take", copy: "bool | None", mask: "View | None") -> "list[tuple[str, Column]]":
    found = []
    for name, field in (view.dtype.fields or {}).items():
        part, hidden = field_view(view, field.offset, field.dtype), None
        if mask is not None:
            under = (mask.dtype.fields or {})[name]
            hidden = field_view(mask, under.offset, under.dtype)
        if field.shape:
            part = _in_line(view, name, copy)
            hidden = None if mask is None else _in_line(mask, name, copy)
        child = masked(part, hidden, take, copy)
        for place in reversed(range(len(field.shape))):
            dtype = DType.from_arrow(f"+w:{field.shape[place]}", fields=[("item", child.dtype)])
            child = Column.from_buffers(dtype, len(view) * prod(field.shape[:place]), {}, children=[child])
        found.append((name, named(child, name)))
    return found


def _in_line(view: "View", name: str, copy: "bool | None") -> "View":
    """The elements of a field that has several in each record, one after the other: Arrow's lists have no strides."""
    part = view[name]
    if part.c_contiguous:
        return part.reshape(-1)
    if copy is False:
        raise CopyRequired.build(
            f"the field {name!r} has several elements in each record, and those of one record lie apart from those of "
            "the next (stride)",
            came=describe.came(view),
            remedy=f"copy=None, which copies {part.nbytes} bytes; or lend.view(x[{name!r}])",
        )
    return values.copied(part, "C", False, "lists of elements that lie apart").reshape(-1)
