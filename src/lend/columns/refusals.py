"""How a Column shows itself, and what it refuses."""

from lend.errors import LeaseLost, LendError, MalformedDescriptor, NotLendable, UnsupportedLayout, UnsupportedType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from lend.columns.column import Column


def came(column: "Column", nulls: str = "") -> str:
    """The facts in one line; of nulls only what is known, as counting reads."""
    if column.released:
        return "released"
    chunks = len(column.chunks)
    owner = column.chunks[0].owner if chunks else None
    owners = owner if isinstance(owner, tuple) else (owner,)
    lenders = dict.fromkeys(part.producer_type for part in owners if part is not None)
    named = f" {column.name!r}" if column.name else ""
    parts = "" if chunks == 1 else f" in {chunks} chunks"
    lent = f", lent by {' and '.join(lenders)}" if lenders else ""
    return f"{_dtype(column)}[{len(column)}]{parts}{named} on {where(column)}{nulls}{lent}"


def where(column: "Column") -> str:
    """The device; of buffers on several each with its own."""
    from lend.columns.parts import is_on_several

    if not is_on_several(column):
        return str(column.device)
    return f"several devices ({', '.join(f'{what} on {device}' for what, device in _places(column))})"


def _places(column: "Column") -> "list[tuple[str, str]]":
    """What a column is made of, and where that is."""
    found = []
    for chunk in column.chunks[:1]:
        for role, part in chunk.buffers.items():
            one = part if isinstance(part, tuple) else (part,)
            found += [(role, str(buffer.device)) for buffer in one if buffer.nbytes]
        inner = [(child.name or f"child {place}", child) for place, child in enumerate(chunk.children)]
        if chunk.dictionary is not None:
            inner.append(("dictionary", chunk.dictionary))
        found += [(name, where(child)) for name, child in inner]
    return list(dict.fromkeys(found))


def on_several(column: "Column") -> LendError:
    return UnsupportedLayout.build(
        f"{named(column)} is on {where(column)}, and one was asked for",
        came=came(column),
        remedy='lend.to(x, device="cpu"), or another device, which brings all of it there; or column.buffers, each of '
        "which tells its own",
    )


def _dtype(column: "Column") -> str:
    """The name of the dtype; of a type that lend has no name for what that refusal says."""
    try:
        return str(column.dtype)
    except LendError as error:
        return f"({str(error).splitlines()[0]})"


def shown(column: "Column") -> str:
    """The repr: where the host may read the nulls they are counted."""
    if column.released:
        try:
            column.verify()
        except LeaseLost:
            return "<Column, released>"
        except LendError as error:
            return f"<Column, {error.fact}>"
    try:
        count = column.null_count if where(column) == "cpu" else 0
    except LendError:  # what contradicts itself is shown all the same
        return f"<Column {came(column, ', nulls that cannot be counted')}>"
    return f"<Column {came(column, _counted(count))}>"


def _counted(count: int) -> str:
    return f", {count} null{'' if count == 1 else 's'}" if count else ""


def too_long(chunks: int) -> LendError:
    return MalformedDescriptor.build(f"its {chunks} chunks have more elements in all than can be counted")


def several_devices(chunks: "Sequence[Column]") -> LendError:
    places = ", ".join(dict.fromkeys(str(chunk.device) for chunk in chunks))
    return UnsupportedLayout.build(
        f"its chunks are on several devices ({places}), and a column is on one",
        came=came(chunks[0]),
        remedy="a stream of each device by itself, of the library that made it",
    )


def named(column: "Column") -> str:
    return f"column {column.name!r}" if column.name else "this column"


class Closed:
    """Why a column cannot be read, to be raised anew whenever it is used; it stands where a Column has its origin."""

    __slots__ = ("came", "fact", "kind", "remedy")

    def __init__(self, kind: "type[LendError]", fact: str, came: str, remedy: str) -> None:
        self.kind = kind
        self.fact = fact
        self.came = came
        self.remedy = remedy


def released(why: "Closed | Any" = None) -> LendError:
    if type(why) is Closed:
        return why.kind.build(why.fact, came=why.came, remedy=why.remedy)
    return LeaseLost.build(
        "this Column was released: it holds no memory any more",
        came="a released Column",
        remedy="what was made from it before (slices, buffers, capsules), or lend.column(x) anew",
    )


def several_chunks(column: "Column", what: str) -> UnsupportedLayout:
    return UnsupportedLayout.build(
        f"{named(column)} has {len(column.chunks)} chunks, and {what} is that of a single one",
        came=came(column),
        remedy=f"each of column.chunks has its own {what}",
    )


def step(column: "Column", number: int) -> UnsupportedLayout:
    return UnsupportedLayout.build(
        f"a Column is sliced with step 1, not {number}",
        came=came(column),
        remedy="column.view()[::step] where elements have one width and none is null, or a library that computes",
    )


def has_nulls(column: "Column", count: int) -> UnsupportedType:
    return UnsupportedType.build(
        f"{named(column)} has {count} null{'' if count == 1 else 's'}, and a View has no word for them",
        came=came(column),
        remedy=[
            'lend.to(x, "numpy.ma"), a mask beside the values; or lend.to(x, "numpy", nulls="object"), None among them',
            *(
                ['lend.to(x, "numpy", nulls="nan"): floats, NaN under the nulls']
                if column.dtype.kind in ("int", "uint", "float")
                else []
            ),
            'lend.column(x).buffers["data"] and ["validity"] of it, each handed on by itself',
        ],
    )


def no_view(column: "Column", why: str) -> UnsupportedType:
    return UnsupportedType.build(
        f"{named(column)} is no View: {why}",
        came=came(column),
        remedy=parts_of(column),
    )


def parts_of(column: "Column") -> str:
    """A remedy: the buffers, of a column of several chunks those of each."""
    if len(column.chunks) == 1:
        return "its parts: lend.column(x).buffers, each of which goes by any protocol"
    return "its parts, chunk by chunk: lend.column(x).chunks[0].buffers, each of which goes by any protocol"


def contradicts(column: "Column", what: str) -> MalformedDescriptor:
    return MalformedDescriptor.build(
        f"{named(column)} contradicts itself: {what}",
        came=came(column),
        # a column of loose buffers has an owner for each
        remedy="buffers that agree: who put them together here should mend them"
        if not column.released and len(column.chunks) == 1 and isinstance(column.owner, tuple)
        else "the producer's library, which should mend it",
    )


def no_object(column: "Column", what: str, remedy: str) -> UnsupportedType:
    return UnsupportedType.build(f"{named(column)}: {what}", came=came(column), remedy=remedy)


def not_sayable(column: "Column", what: str, remedy: "str | None" = None) -> LendError:
    return UnsupportedType.build(
        f"{named(column)} is not given as Arrow data: {what}", came=came(column), remedy=remedy
    )


def no_event(column: "Column") -> LendError:
    return not_sayable(
        column,
        f"it is on {column.device}, and of its memory nobody told when it may be read: Arrow says so by an event, and "
        "what came by a stream or by DLPack has none",
        "column.buffers, each handed on by DLPack or an array interface, with its stream",
    )


_BY_ARROW = '"pyarrow"'
_ON_HOST = '"pyarrow", device="cpu"'


def not_pickled(lent: "Any") -> NotLendable:
    columns = (lent,) if not hasattr(lent, "is_lazy") else () if lent.is_lazy else lent.columns
    away = any(not column.released and where(column) != "cpu" for column in columns)
    return NotLendable.build(
        f"a {type(lent).__name__} is not pickled",
        came=repr(lent)[1:-1],
        remedy=f"lend.to(x, {_ON_HOST if away else _BY_ARROW}), which pickles; what comes back lend takes again",
    )


def no_options(method: str, names: "list[str]") -> NotImplementedError:
    return NotImplementedError(f"{method} of lend has no option {', '.join(names)}: leave it out, or None")


def no_index(column: "Column", index: "Any") -> TypeError:
    return TypeError(
        f"an element of a Column is named by an integer, and several by a slice, not {type(index).__name__}"
    )


def not_one_dimension(view: "Any") -> UnsupportedLayout:
    return UnsupportedLayout.build(
        f"a column has one dimension, and this has {view.ndim}",
        came=view._describe(),
        remedy="lend.column(x[:, i]) for one column of it, or lend.view(x)",
    )


def of_a_handle(device: object, came: str) -> UnsupportedType:
    return UnsupportedType.build(
        f"memory on {device} has a handle and no address, and the buffers of a column are told by their addresses",
        came=came,
        remedy="lend.view(x), which keeps the handle",
    )
