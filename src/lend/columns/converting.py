"""One form of a column into another, in memory of lend's own: the source stays as it is.

Each of these has a counterpart of the same name in `forms`, `recoding` or `joining`, which gives a Draft:
what will be written, in bytes, and why, without writing it. What needs no change comes back itself.
"""

from lend._core.letting_go import lets_go
from lend.columns import forms, joining, recoding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.columns.column import Column


@lets_go
def arrow_form(column: "Column") -> "Column":
    """As Arrow has it: bits for nulls and bools, elements side by side in this machine's byte order."""
    return forms.arrow_form(column).make()


@lets_go
def contiguous(column: "Column") -> "Column":
    """Elements side by side, in this machine's byte order; nulls as they are."""
    return forms.contiguous(column).make()


@lets_go
def unpacked(column: "Column") -> "Column":
    """Bools of one byte each."""
    return forms.unpacked(column).make()


@lets_go
def masked(column: "Column") -> "Column":
    """Nulls as a byte beside each element, 1 where it is null; the values as they are."""
    return forms.masked(column).make()


@lets_go
def filled(column: "Column", value: "Any", *, merge: bool = False) -> "Column":
    """A value under the nulls: "nan", "nat", or one of the dtype's own."""
    return forms.filled(column, value, merge=merge).make()


@lets_go
def widened(column: "Column") -> "Column":
    """Text, bytes and lists with offsets of 64 bits."""
    return recoding.widened(column).make()


@lets_go
def narrowed(column: "Column") -> "Column":
    """Text, bytes and lists with offsets of 32 bits; refused where they lead further."""
    return recoding.narrowed(column).make()


@lets_go
def codes_with_sentinel(
    column: "Column", mapping: "list[int] | None" = None, dictionary: "Column | None" = None
) -> "Column":
    """Indices of the smallest signed width, -1 where the element is null, also by its dictionary value."""
    return recoding.codes_with_sentinel(column, mapping, dictionary).make()


@lets_go
def combined(column: "Column") -> "Column":
    """All chunks in one."""
    return joining.combined(column).make()


@lets_go
def compact(column: "Column", why: str = "compact()") -> "Column":
    """A copy of exactly these elements, which keeps nothing else alive."""
    return joining.compact(column).make(why)


@lets_go
def needs(column: "Column", form: str = "arrow") -> "list[str]":
    """Why a copy is needed to give the column as Arrow data, or (form "array") as one run of elements in memory."""
    if form == "arrow":
        return forms.arrow_form(column).reasons
    chunks = sum(len(part) > 0 for part in column.chunks)
    found = [f"{chunks} chunks"] if chunks > 1 else []
    return found + list(dict.fromkeys(reason for part in column.chunks for reason in forms.array_needs(part)))
