"""Which doors an object has: the protocols to try, in their order, and what is said when all are closed.

Loaded when the first object of a type is met. A door is a protocol that the object offers, or that the adapter of its
library opens with more care.
"""

import sys

from lend._core.owners import type_name_of as name
from lend.errors import LeaseLost, LendError, NotLendable, ReadOnlyMemory, UnsupportedLayout
from lend.protocols.dlpack import announced_device
from lend.protocols.order import ORDER
from lend.views.buffers import Buffer
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
    """

    __slots__ = ("final", "protocol", "remembered")

    def __init__(self, protocol: "Protocol", *, remembered: bool = True, final: bool = False) -> None:
        self.protocol = protocol
        self.remembered = remembered
        self.final = final


def doors_of(obj: "Any", own: "Protocol") -> "list[Door]":
    """The doors that obj has, in the order in which they are tried; `own` opens lend's own objects."""
    if type(obj) is View or type(obj) is Buffer:
        return [Door(own, final=True)]
    library = adapter_of(obj)
    if library is not None:
        opened: list[Door] | None = library.doors(obj)
        if opened is not None:
            return opened
    return generic_doors(obj)


def written_out(obj: "Any") -> "Any":
    """What to take for a copy of obj: obj, or what its library writes out for it (a conjugate, pixels)."""
    ask = getattr(adapter_of(obj), "unresolved", None)
    pending = None if ask is None else ask(obj)
    return obj if pending is None else pending.resolve()


def adapter_of(obj: "Any") -> "ModuleType | None":
    """Our adapter for the library that a class of obj comes from."""
    for base in type(obj).__mro__:
        module = base.__module__
        if isinstance(module, str):
            adapter = ADAPTERS.get(module.partition(".")[0])
            if adapter is not None:
                return _imported(f"lend.adapters.{adapter}")
    return None


def _imported(module: str) -> "ModuleType":
    __import__(module)
    return sys.modules[module]


def generic_doors(obj: "Any") -> "list[Door]":
    """The doors of an object whose library needs no special care."""
    cls = type(obj)
    opened = []
    for protocol in ORDER:
        if protocol.offered is not None:
            found = protocol.offered(obj)
            if found is not None:
                opened.append(Door(found, remembered=hasattr(cls, protocol.dunder) or protocol.name in _BY_SLOT))
        elif hasattr(cls, protocol.dunder):
            opened.append(Door(protocol))
        elif hasattr(cls, "__getattr__") or protocol.dunder in getattr(obj, "__dict__", ()):
            # on the instance alone: looked for each time, and by the protocol itself, so that it is read once
            opened.append(Door(protocol, remembered=False))
    if _has_device_interface(cls) and not _announces_host(obj):
        # the buffer slot of such a type may hand out memory that the host cannot read
        opened = [door for door in opened if door.protocol.name != "buffer protocol"]
    return opened


_BY_SLOT = ("buffer protocol", "DLPack capsule")


def _has_device_interface(cls: type) -> bool:
    return hasattr(cls, "__cuda_array_interface__") or hasattr(cls, "__sycl_usm_array_interface__")


def _announces_host(obj: "Any") -> bool:
    try:
        return announced_device(obj) == 1
    except LendError:
        return False  # the DLPack door will say what is wrong


def is_final(refusal: LendError) -> bool:
    """True for refusals that another door must not get round: the object said no, the protocol did not."""
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
    if not tried:
        return NotLendable.build(
            f"cannot lend {_article(name(obj))} as one view",
            wanted="one block of memory with a dtype, or an object that lends one",
            came=name(obj),
            tried=_looked_for(obj),
            remedy=_remedy(obj),
        )
    telling = max((refusal for _, refusal in tried), key=_how_telling)
    if len(tried) == 1 and (telling.remedy is not None or _column_remedy(obj) is None):
        return telling
    refusal = type(telling).build(
        telling.fact or str(telling),
        came=telling.came or name(obj),
        tried=[f"{door.name} -> {_said(error)}" for door, error in tried],
        remedy=telling.remedy or _column_remedy(obj),
    )
    refusal.__cause__ = telling.__cause__
    return refusal


def _column_remedy(obj: "Any") -> "str | None":
    """What to do with a column of Arrow's, whose nulls, bits and strings no array protocol carries."""
    cls = type(obj)
    if not hasattr(cls, "__arrow_c_array__") and not hasattr(cls, "__arrow_c_stream__"):
        return None
    return (
        "nulls, bit-packed bools and strings are for columns, which are not built yet; until then let its library make "
        "an array of it: fill_null(...), combine_chunks(), to_numpy(zero_copy_only=False)"
    )


def _how_telling(refusal: LendError) -> int:
    """What is wrong with the object tells most, then what its producer said, then that a protocol is not there."""
    if not isinstance(refusal, NotLendable):
        return 3
    return 2 if refusal.__cause__ is not None else 0 if refusal.of_type else 1


def _said(refusal: LendError) -> str:
    """One line: the fact, and what the producer raised."""
    fact = refusal.fact or str(refusal).partition("\n")[0]
    cause = refusal.__cause__
    return fact if cause is None else f"{fact} ({type(cause).__name__}: {cause})"


def _looked_for(obj: "Any") -> str:
    return "; ".join(f"{protocol.name} no" for protocol in ORDER)


def _article(noun: str) -> str:
    return f"an {noun}" if noun[:1] in "aeiouAEIOU" else f"a {noun}"


def _remedy(obj: "Any") -> str:
    if isinstance(obj, str):
        return "lend.view(text.encode())"
    if isinstance(obj, (bool, int, float, complex)):
        return "an array of one element: array.array('d', [x])"
    if isinstance(obj, (list, tuple)):
        return "an array of its values, such as numpy.asarray(x)"
    if hasattr(type(obj), "__arrow_c_stream__") or hasattr(type(obj), "__dataframe__"):
        return "one column of it as an array, such as x[name].to_numpy()"
    return "an object with the buffer protocol, DLPack, __array_interface__, or an integer ptr with a size"
