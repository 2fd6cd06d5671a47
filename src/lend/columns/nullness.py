"""Nulls: in which form a column says that an element is missing."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Nulls"]


class Nulls:
    """The form of a column's nulls, as its producer has it.

    Attributes
    ----------
    kind : str
        "none": a promise that there are none. "bitmask", "bytemask": a bit or byte beside each element. "nan", "nat":
        such values are null. "sentinel": one value is.
    missing : int or None
        Of a mask the bit, or the truth of the byte, that says null: 0 in Arrow, 1 in pandas and numpy.ma.
    value : object
        Of a sentinel, the value that stands for null.

    Examples
    --------
    >>> from lend.columns.nullness import Nulls
    >>> Nulls("bitmask", 0)
    Nulls('bitmask', missing=0)
    """

    __slots__ = ("kind", "missing", "value")

    def __init__(self, kind: str, missing: "int | None" = None, value: "Any" = None) -> None:
        self.kind = kind
        self.missing = missing
        self.value = value

    def _facts(self) -> "tuple[str, int | None, Any]":
        return self.kind, self.missing, self.value

    def __eq__(self, other: object) -> bool:
        return self._facts() == other._facts() if isinstance(other, Nulls) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._facts())

    def __repr__(self) -> str:
        said = [repr(self.kind)]
        if self.missing is not None:
            said.append(f"missing={self.missing}")
        if self.value is not None:
            said.append(f"value={self.value!r}")
        return f"Nulls({', '.join(said)})"
