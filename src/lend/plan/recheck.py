"""Ask producers that may move their memory under a loan where it is now."""

from lend import front
from lend._core.letting_go import lets_go
from lend.doors import adapter_of, has_device_interface
from lend.errors import LeaseLost, MalformedDescriptor
from lend.protocols.buffer import buffer_offered
from lend.protocols.classes import full_name
from lend.views.lent import Lent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# kinds of owner whose address is what somebody said, and no lease of the producer's
_TOLD = frozenset({"object", "callback"})


@lets_go
def verify(obj: "Any") -> None:
    """Raise LeaseLost when the producer of a View or Buffer has moved or shrunk the memory since it was lent.

    Only what is known to reallocate under an export is asked: the adapters that have `locate` and `extent`.
    """
    owner = obj.owner
    producer = owner.producer
    if producer is None or not owner.nbytes or owner.apart:
        return
    told = owner.kind in _TOLD
    place = _ask("extent" if told else "locate", producer)
    if place is None:
        return
    here, room = place
    name = owner.producer_type
    if told:
        if _overlap(owner, place) == owner.nbytes:
            return
        fact = f"this memory is not within that of the {name} that owns it any more, which may have reallocated it"
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


@lets_go
def pinned(owner: "Any", on_host: bool) -> "Any":
    """What must be held beside the object that keeps memory alive which was told by its address.

    True: nothing, as the memory lies elsewhere than that of the object. An export: the object locks its memory (mmap,
    bytearray, array) as long as one is open. None: nothing else is known.

    Raises
    ------
    MalformedDescriptor
        When only a part of it is of the object's allocation: none begins or ends within another.
    """
    producer = owner.producer
    if producer is None or not owner.nbytes:
        return None
    try:
        held, place, whole = _held(producer, on_host)
    except (MemoryError, RecursionError):
        raise
    except Exception:  # noqa: BLE001 - a closed file, a producer in a mood: it is not asked, and nothing is known of it
        return None
    if place is None:
        return held
    shared = _overlap(owner, place)
    if whole and 0 < shared < owner.nbytes:
        here, room = place
        raise MalformedDescriptor.build(
            f"{owner.nbytes - shared} of the {owner.nbytes} bytes from {owner.ptr:#x} on lie outside of the memory of "
            f"the {owner.producer_type} that owns them (bounds)",
            came=[f"told : {owner.nbytes} bytes at {owner.ptr:#x}", f"there: {room} bytes at {here:#x}"],
            remedy="an address, a shape and strides that stay within the memory of the owner",
        )
    # an export that has nothing of it would keep memory for nobody
    return held if shared else whole or None


def is_elsewhere(owner: "Any") -> bool:
    """Whether memory that is given back by a callback is not that of the array beside it, which may move."""
    producer = owner.producer
    place = None if producer is None or not owner.nbytes else _ask("extent", producer)
    return place is not None and _overlap(owner, place) < owner.nbytes


# what has all of its allocation for a buffer, and moves it only while none is open
_ROOTS = ("bytearray", "mmap.mmap", "array.array", "bytes")


def _held(producer: "Any", on_host: bool) -> "tuple[Any, tuple[int, int] | None, bool]":
    """What keeps the memory of a producer where it is, where that lies, and whether this is all of an allocation."""
    if issubclass(type(producer), Lent):
        return producer.owner, None, False  # it may be released, and its lease stays
    if hasattr(adapter_of(producer), "extent"):
        return None, _ask("extent", producer), True
    if not on_host or buffer_offered(producer) is None or has_device_interface(producer):
        return None, None, False
    export = memoryview(producer)
    root = producer.obj if type(producer) is memoryview else producer
    whole = full_name(type(root)) in _ROOTS
    lent = front.buffer(root if whole else export)
    return export, (lent.ptr, lent.nbytes), whole


def _overlap(owner: "Any", place: "tuple[int, int]") -> int:
    """Bytes of the lease that lie in a place."""
    here, room = place
    low: int = owner.ptr
    high: int = low + owner.nbytes
    return max(0, min(high, here + room) - max(low, here))


def _ask(question: str, producer: "Any") -> "tuple[int, int] | None":
    """Where the memory of an array lies now, and how many bytes; None for what is not known to move.

    "locate": that which it shows. "extent": all of the allocation that it holds.
    """
    ask = getattr(adapter_of(producer), question, None)
    place: tuple[int, int] | None = None if ask is None else ask(producer)
    return place


def may_move(obj: "Any") -> "str | None":
    """How the producer of a View may move the memory under the loan, or None if it is not known to."""
    producer = obj.owner.producer
    ask = getattr(adapter_of(producer), "moves", None) if producer is not None else None
    return None if ask is None else ask(producer)
