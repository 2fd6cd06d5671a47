"""Which doors an object has: the protocols to try, in their order, and what is said when all are closed.

Loaded when the first object of a type is met. A door is a protocol that the object offers, or that the adapter of its
library opens with more care.
"""

import sys

from lend._core.letting_go import lets_go
from lend.adapters import advice
from lend.adapters.asking import guarded, quoted
from lend.errors import LeaseLost, LendError, NotLendable, ReadOnlyMemory, UnsupportedLayout, UnsupportedType
from lend.protocols import masks
from lend.protocols.classes import bases_of, full_name, module_of, shows
from lend.protocols.dlpack import announced_device
from lend.protocols.order import ORDER
from lend.views.buffers import Buffer
from lend.views.producer import Producer
from lend.views.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType
    from typing import Any

    from lend._core.owners import Protocol

# top module of a library -> our adapter: looked up when an object of that library is met, never imported before
ADAPTERS = {"torch": "torch", "numpy": "numpy", "jax": "jax", "jaxlib": "jax", "PIL": "pillow"}


class Door:
    """One way in.

    Attributes
    ----------
    protocol : Protocol
        How the object is taken.
    remembered : bool
        True when every object of the type has this door.
    final : bool
        True when a refusal here must not be got round by another door (its memory would lie).
    masks : tuple of str
        The attributes that may have a mask of which the protocol does not tell; asked once it has opened.
    """

    __slots__ = ("final", "masks", "protocol", "remembered")

    def __init__(self, protocol: "Protocol", *, remembered: bool = True, final: bool = False) -> None:
        self.protocol = protocol
        self.remembered = remembered
        self.final = final
        self.masks: tuple[str, ...] = ()


def doors_of(obj: "Any", own: "Protocol") -> "list[Door]":
    """The doors that obj has, in the order in which they are tried; `own` opens lend's own objects."""
    if type(obj) is View or type(obj) is Buffer or issubclass(type(obj), Producer):
        return [Door(own, final=True)]
    library = adapter_of(obj)
    if library is not None:
        opened: list[Door] | None = guarded(library.doors)(obj)
        if opened is not None:
            # arrays of the host that a device writes: numba's managed and mapped ones are ndarrays
            written = library.__name__ == "lend.adapters.numpy" and shows(type(obj), _OF_CUDA)
            return _checked(_noted(obj, opened)) if written else _noted(obj, opened)
    opened = _noted(obj, generic_doors(obj))
    return opened if _lends_its_own(type(obj)) else _checked(opened)


_OF_CUDA = "__cuda_array_interface__"


def _checked(opened: "list[Door]") -> "list[Door]":
    """The same doors, each of which looks whether it is memory of the host, and waits for work that it tells of."""
    from lend.devices.checking import checked

    for door in opened:
        if 1 in door.protocol.devices:
            door.protocol = checked(door.protocol)
    return opened


def _lends_its_own(cls: type) -> bool:
    """Whether a type is known to lend memory that it has allocated itself on the host, or mapped."""
    return full_name(cls) in _ALLOCATORS or module_of(cls).partition(".")[0] in ADAPTERS


_ALLOCATORS = {"bytes", "bytearray", "array.array", "mmap.mmap"}


def _noted(obj: "Any", opened: "list[Door]") -> "list[Door]":
    """The doors of obj, each with what is to be asked for a mask once it has opened."""
    cls = type(obj)
    if masks.is_known(cls):
        return opened
    names = guarded(masks.mask_names)(obj)
    told = any(door.protocol.dunder == masks.INTERFACE for door in opened)
    for door in opened:
        asked = names
        if not door.remembered and shows(cls, "__getattr__") and not shows(cls, door.protocol.dunder):
            asked = ("mask", masks.INTERFACE)  # what has a door there may have a mask there
        # the interface tells its own mask; where its door is shut it may be of memory elsewhere
        door.masks = tuple(name for name in asked if name == "mask" or (told and door.protocol.dunder != name))
        door.remembered = door.remembered and not door.masks
    return opened


@lets_go
def check_masks(obj: "Any", names: "tuple[str, ...]") -> None:
    """Refuse obj if one of these attributes has a mask, of which the protocol that opened does not tell."""
    found = guarded(lambda asked: masks.found(asked, names))(obj)
    if found:
        raise masks.refused(obj, found)


@lets_go
def own_view(obj: "Buffer | Producer") -> View:
    """The View of an object of ours that is none."""
    if isinstance(obj, Buffer):
        return obj.view()
    try:
        made: Any = obj.lend()
    except (LendError, MemoryError, RecursionError):
        raise
    except Exception as error:  # a method of the subclass: what it raises becomes ours, with it as the cause
        raise NotLendable.from_producer(
            error,
            f"lend() of {full_name(type(obj))} raised",
            door="lend()",
            came=f"{full_name(type(obj))}, a lend.Producer",
        ) from error
    if type(made) is not View:
        from lend.protocols import refusals

        raise refusals.no_view(obj, made)
    view: View = made
    return view


def written_out(obj: "Any") -> "Any":
    """What to take for a copy of obj: obj, or what its library writes out for it (a conjugate, pixels)."""
    ask = getattr(adapter_of(obj), "unresolved", None)
    pending = None if ask is None else ask(obj)
    return obj if pending is None else pending.resolve()


def adapter_of(obj: "Any") -> "ModuleType | None":
    """Our adapter for the library that a class of obj comes from."""
    for base in bases_of(type(obj)):
        adapter = ADAPTERS.get(module_of(base).partition(".")[0])
        if adapter is not None:
            return _imported(f"lend.adapters.{adapter}")
    return None


def _imported(module: str) -> "ModuleType":
    __import__(module)
    return sys.modules[module]


@guarded
def generic_doors(obj: "Any") -> "list[Door]":
    """The doors of an object whose library needs no special care."""
    cls = type(obj)
    opened = []
    for protocol in ORDER:
        if protocol.offered is not None:
            found = protocol.offered(obj)
            if found is not None:
                opened.append(Door(found, remembered=shows(cls, protocol.dunder) or protocol.name in _BY_SLOT))
        elif shows(cls, protocol.dunder):
            opened.append(Door(protocol))
        elif issubclass(cls, type):
            continue  # what stands in a class is for its instances
        elif shows(cls, "__getattr__") or protocol.dunder in getattr(obj, "__dict__", ()):
            # on the instance alone: looked for each time, and by the protocol itself, so that it is read once
            opened.append(Door(protocol, remembered=False))
    if has_device_interface(obj):
        if _announces_host(obj):
            # another of its type may be elsewhere: asked each time, and by what is of devices last
            for door in opened:
                door.remembered = door.remembered and door.protocol.name not in _HOST_DOORS
            opened.sort(key=lambda door: door.protocol.dunder in _OF_DEVICES)
        else:
            # what such a type shows of host memory may be memory that the host cannot read
            opened = [door for door in opened if door.protocol.name not in _HOST_DOORS]
    elif shows(cls, "__dlpack_device__") and any(door.protocol.name in _ADDRESSES for door in opened):
        # an address is shown without asking where it is: each object of the type says that, and first
        for door in opened:
            door.remembered = door.remembered and door.protocol.name not in _ADDRESSES
        if not _announces_host(obj):
            shut = [door for door in opened if door.protocol.name in _ADDRESSES]
            opened = [door for door in opened if door not in shut]
            if not opened:
                from lend.protocols import device_refusals

                # nonsense is refused by who asks
                raise device_refusals.elsewhere(obj, shut[0].protocol, announced_device(obj) or 0)
    return opened


_BY_SLOT = ("buffer protocol", "DLPack capsule")
_HOST_DOORS = ("buffer protocol", "array struct", "array interface", "ptr and size", "array method")
_ADDRESSES = ("array struct", "array interface")
_OF_DEVICES = ("__cuda_array_interface__", "__sycl_usm_array_interface__")


def has_device_interface(obj: "Any") -> bool:
    """Whether the class or the object itself has one, without reading it."""
    cls, own = type(obj), getattr(obj, "__dict__", ())
    return any(shows(cls, name) or name in own for name in _OF_DEVICES)


def _announces_host(obj: "Any") -> bool:
    try:
        return announced_device(obj) == 1
    except LendError:
        return False  # the DLPack door will say what is wrong


def is_final(refusal: LendError) -> bool:
    """True for refusals that another door must not get round: the object said no, the protocol did not."""
    if isinstance(refusal, UnsupportedType):
        return masks.HAS_MASK in str(refusal)
    return isinstance(refusal, (ReadOnlyMemory, LeaseLost))


def is_suboffsets(refusal: LendError) -> bool:
    return isinstance(refusal, UnsupportedLayout) and "suboffsets" in str(refusal)


def note_gathered(view: "View") -> None:
    """Count the copy that gathering rows behind pointers made."""
    from lend._core.copies import note
    from lend.views import describe

    note(describe.facts(view), "suboffsets: rows behind pointers were gathered", view.nbytes)


def all_closed(obj: "Any", tried: "Iterable[tuple[Protocol, LendError]]") -> LendError:
    """The refusal to raise when no door opened: the most telling one, with what every door said."""
    tried = list(tried)
    present = [(door, refusal) for door, refusal in tried if not _is_absent(obj, door, refusal)]
    if not present:
        return _no_door(obj)
    # what an array struct has no word for, an array interface may say, and then refuse better
    best, telling = max(present, key=lambda entry: (_how_telling(entry[1]), entry[0].name != "array struct"))
    if telling.__cause__ is None and isinstance(telling, NotLendable) and advice.is_table(type(obj)):
        return _no_door(obj, ": it is a table, whose columns lie apart")
    remedy = telling.remedy
    if best.name == "array struct" and any(door.name == "array interface" for door, _ in present):
        remedy = None  # it names the array interface, which has refused too
    remedy = remedy or advice.for_refused(obj)
    if len(present) == 1 and telling.remedy == remedy:
        return telling
    came = telling.came or full_name(type(obj))
    refusal = type(telling).build(
        telling.fact or str(telling),
        came=came,
        tried=[f"{door.name} -> {_said(error, telling)}" for door, error in present],
        remedy=remedy,
    )
    refusal.__cause__ = telling.__cause__
    return refusal


def _no_door(obj: "Any", why: str = "") -> NotLendable:
    cls = type(obj)
    # the ways of DLPack are one to whoever has none of them
    *names, last = (protocol.name for protocol in ORDER if not protocol.name.startswith("DLPack "))
    return NotLendable.build(
        f"cannot lend {_article(full_name(cls))} as one view{why}",
        came=f"the class {full_name(obj)} itself" if issubclass(cls, type) else full_name(cls),
        tried=None if why else f"it has no {', '.join(names)} or {last}",
        remedy=advice.for_unlendable(obj),
    )


def _is_absent(obj: "Any", protocol: "Protocol", refusal: LendError) -> bool:
    """True when a door turned out not to be there: `__getattr__` might have had it."""
    if refusal.of_type:
        return refusal.fact == f"{full_name(type(obj))} has no {protocol.name}"
    return isinstance(refusal.__cause__, AttributeError) and not shows(type(obj), protocol.dunder)


def _how_telling(refusal: LendError) -> int:
    """What is wrong with the object tells most, then what its producer said, then that a protocol is not there."""
    if not isinstance(refusal, NotLendable):
        return 3
    return 2 if refusal.__cause__ is not None else 0 if refusal.of_type else 1


def _said(refusal: LendError, telling: LendError) -> str:
    """One line: the fact, or in its place what the producer raised."""
    cause = refusal.__cause__
    if cause is not None:
        return quoted(cause)
    if refusal is telling:
        return "as above"
    return refusal.fact or str(refusal).partition("\n")[0]


def _article(noun: str) -> str:
    return f"an {noun}" if noun[:1] in "aeiouAEIOU" else f"a {noun}"
