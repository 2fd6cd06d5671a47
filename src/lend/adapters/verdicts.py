"""What a library does with a column: the verdict, how it is refused, and what is asked of dtypes and names for it."""

from lend.errors import UnsupportedType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lend.columns.column import Column
    from lend.dtypes import DType

SHARED = 0
# the last of remedies about one column
OTHERS = "the other columns: lend.table(x, columns=[...])"
TO_COME = "what is copied shows when the rows come"


class Verdict:
    """What a library does with one column.

    Attributes
    ----------
    nbytes : int or None
        Bytes that it copies; None where only it knows.
    why : str
        The reason, "" where it shares.
    becomes : str or None
        The type that it makes of it, where that is another.
    who : str
        Who copies: "target", or "lend".
    theirs : str
        What the target copies beside, where lend copies too; "" where it copies nothing.
    kept : set of type
        Where lend gives arrays: the classes of those whose memory is in them.
    """

    __slots__ = ("becomes", "kept", "nbytes", "theirs", "who", "why")

    def __init__(
        self,
        nbytes: "int | None" = SHARED,
        why: str = "",
        becomes: "str | None" = None,
        who: str = "target",
        theirs: str = "",
        kept: "Iterable[type]" = (),
    ) -> None:
        self.who = who
        self.theirs = theirs
        self.nbytes = nbytes
        self.why = why
        self.becomes = becomes
        self.kept = kept

    @property
    def shares(self) -> bool:
        return self.nbytes == SHARED and not self.theirs


def parts_of(dtype: "DType") -> "Iterator[DType]":
    """A dtype and all that it is made of."""
    yield dtype
    if dtype.kind == "extension" and dtype.value_type is not None:
        yield from parts_of(dtype.value_type)
        return
    for _, child in dtype.children:
        yield from parts_of(child)
    if dtype.dictionary is not None:
        yield from parts_of(dtype.dictionary)


def format_of(dtype: "DType") -> str:
    """Arrow's format of what lend makes of a dtype for Arrow data."""
    if dtype.name == "bool":
        return "b"
    if dtype.kind == "bytes":
        return f"w:{dtype.itemsize}"
    if dtype.kind == "datetime" and dtype.unit == "D":
        return "tdD"
    return dtype.newbyteorder("native").arrow


def refused(column: "Column", library: str, what: str, remedy: "str | Sequence[str] | None" = None) -> UnsupportedType:
    name = f"column {column.name!r}" if column.name else "this column"
    return UnsupportedType.build(
        f"{library} has no {what}: {name} is {column.dtype}", came=column._describe(), remedy=remedy
    )


def numbered(names: "Sequence[str]", key: "Callable[[str], str]", kept: "set[str]") -> "list[str]":
    """The names, with the first free number behind one whose key was there before; `kept` are no free ones."""
    found = []
    seen: set[str] = set()
    numbers: dict[str, int] = {}  # all below are in use
    for name in names:
        chosen, number = name, numbers.get(key(name), 0)
        while key(chosen) in seen or (number and key(chosen) in kept):
            number += 1
            chosen = f"{name}_{number}"
        numbers[key(name)] = number
        seen.add(key(chosen))
        found.append(chosen)
    return found
