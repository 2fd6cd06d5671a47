"""Ask producers that may move their memory under a loan where it is now."""

from lend.doors import adapter_of
from lend.errors import LeaseLost, LendError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# kinds of owner whose address is what somebody said, and no lease of the producer's
_TOLD = frozenset({"object", "callback"})


def verify(obj: "Any") -> None:
    """Raise LeaseLost when the producer of a View or Buffer has moved or shrunk the memory since it was lent.

    Only what is known to reallocate under an export is asked: the adapters that have `locate`.
    """
    owner = obj.owner
    producer = owner.producer
    if producer is None or not owner.nbytes or owner.apart:
        return
    place = _place(producer)
    if place is None:
        return
    here, room = place
    name = owner.producer_type
    if owner.kind in _TOLD:
        if _within(owner, place):  # a part of it, maybe
            return
        fact = (
            f"this memory is not, or not any more, within that of the {name} that owns it, which may have "
            "reallocated it"
        )
    else:
        if here == owner.ptr and room >= owner.nbytes:
            return
        fact = f"the {name} that lent this memory has reallocated it: what was lent is not its memory any more"
    raise LeaseLost.build(
        fact,
        came=[
            f"lent: {owner.nbytes} bytes at {owner.ptr:#x}",
            f"now : {max(room, 0)} bytes at {here:#x}",
        ],
        remedy="take a new view of it after resizing, or lend.view(x, copy=True) before",
    )


def apart(owner: "Any") -> bool:
    """Whether memory told by its address lies elsewhere than that of the array that keeps it alive, which may move."""
    producer = owner.producer
    try:
        place = None if producer is None or not owner.nbytes else _place(producer)
    except LendError:
        return False
    if place is None:
        return False
    here, room = place
    return bool(owner.ptr + owner.nbytes <= here or here + room <= owner.ptr)


def _place(producer: "Any") -> "tuple[int, int] | None":
    """Where the memory of an array lies now, and how many bytes; None for what is not known to move."""
    ask = getattr(adapter_of(producer), "locate", None)
    place: tuple[int, int] | None = None if ask is None else ask(producer)
    return place


def _within(owner: "Any", place: "tuple[int, int]") -> bool:
    here, room = place
    return bool(here <= owner.ptr and owner.ptr + owner.nbytes <= here + room)


def may_move(obj: "Any") -> "str | None":
    """How the producer of a View may move the memory under the loan, or None if it is not known to."""
    producer = obj.owner.producer
    ask = getattr(adapter_of(producer), "moves", None) if producer is not None else None
    return None if ask is None else ask(producer)
