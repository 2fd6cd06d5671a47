"""Masks that a protocol has no word for: what hides some elements beside the memory that it shows.

Looked for when an unknown type is met. What may have one is asked anew for each object, once its door has opened: the
type is not remembered. A class of a library that is known to have none costs nothing.
"""

from lend.errors import LendError
from lend.protocols.classes import bases_of, dict_of, full_name, module_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

HAS_MASK = "has a mask (nulls)"
INTERFACE = "__array_interface__"

# top modules of libraries whose classes have no masks, but for numpy.ma, which its adapter refuses
_WITHOUT = frozenset({"numpy", "torch", "jax", "jaxlib", "cupy"})


def mask_names(obj: "Any") -> "tuple[str, ...]":
    """The attributes by which obj may have a mask, told without reading them."""
    if issubclass(type(obj), type):
        return ()  # what stands in a class is for its instances
    return tuple(name for name in ("mask", INTERFACE) if _may_have(obj, name))


def _may_have(obj: "Any", name: str) -> bool:
    """Whether obj has an attribute that may be of a mask: not a method, nor one of a library without masks."""
    for base in bases_of(type(obj)):
        if name in dict_of(base):
            if is_known(base):
                return False
            if not callable(dict_of(base)[name]):
                return True
            break  # a method, unless the object has another thing of that name
    return name in getattr(obj, "__dict__", ())


def is_known(cls: type) -> bool:
    """Whether a class is of a library whose classes have no masks."""
    return module_of(cls).partition(".")[0] in _WITHOUT


def is_masked(array: "Any") -> bool:
    """Whether an array that another object gave has a mask, or is of the kind of NumPy's that may."""
    return of_numpy(type(array)) or bool(found(array, mask_names(array)))


def of_numpy(cls: type) -> bool:
    """Whether a class is one of NumPy's masked arrays."""
    return any(full_name(base).startswith("numpy.ma.") for base in bases_of(cls))


def found(obj: "Any", names: "Iterable[str]") -> str:
    """Which of these attributes has a mask; empty where none does."""
    for name in names:
        mask = getattr(obj, name, None) if name == "mask" else _told(obj)
        # a method is none; False, also NumPy's, says that nothing is masked: an interface may not say it so
        is_false = full_name(type(mask)) in ("bool", "numpy.bool", "numpy.bool_") and not mask
        if mask is not None and (name != "mask" or not (is_false or callable(mask))):
            return name
    return ""


def _told(obj: "Any") -> "Any":
    """The mask in the interface of obj, for which no other protocol has a word."""
    try:
        facts = obj.__array_interface__
        return dict.get(facts, "mask") if issubclass(type(facts), dict) else None
    except (MemoryError, RecursionError):
        raise
    except Exception:  # noqa: BLE001 - one that cannot be read tells of none: another protocol has opened
        return None


def refused(obj: "Any", name: str) -> LendError:
    """The refusal of an object that has a mask by this attribute."""
    from lend.protocols import interface_refusals
    from lend.protocols.array_interface import ARRAY_INTERFACE

    if name == INTERFACE:
        return interface_refusals.masked(obj, ARRAY_INTERFACE)
    return interface_refusals.hidden_mask(obj)
