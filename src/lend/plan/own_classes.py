"""Python's own classes as targets: what they would refuse is known before, since trying it costs nothing."""

import sys
from io import BytesIO

from lend import front
from lend.adapters.rules import ANEW, CPU, EVERY_DEVICE, Reason, Rules, no_bytes
from lend.errors import LendError, NotLendable
from lend.protocols.classes import full_name, module_of
from lend.views.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lend.adapters.rules import Give

_OF_BYTES = (bytes, bytearray, BytesIO)
_OF_PARTS = (list, tuple, set, frozenset)
_TRIED = (*_OF_PARTS, int, float, complex, bool)


def rules(call: "Any", whole: bool) -> "Rules | None":
    """The rules of a class that makes something of its own of whatever it is given; None for what else is called."""
    if type(call) is not type:
        return None  # a metaclass may compare as it likes
    name = full_name(call)
    refuse: Any = None
    give = giver(call, [])
    copies = call in _OF_BYTES
    if copies:
        refuse, give = no_bytes, give if whole or call is bytes else _bytes_giver(call)
    elif call in _TRIED or call is getattr(sys.modules.get("array"), "array", None):
        refuse = _refuse(call, whole)
        if call in _OF_PARTS and not whole:
            give = giver(call, [], values=True)
    elif call is not str:
        return None
    does = "copies" if copies else "makes Python objects of"
    made = Reason(ANEW, f"{name} {does} whatever it is given, and is never the memory itself")
    return Rules(
        name, name, "call", give, refuse=refuse, devices=CPU if copies else EVERY_DEVICE, swapped=True, unknown=True,
        packs=lambda facts: (made, facts.nbytes if copies else None) if facts.nbytes or not copies else None,
    )  # fmt: skip


def _refuse(cls: "Any", whole: bool) -> "Callable[[Any, Rules], LendError | None]":
    """What the class says to a View like that: it is asked for its first element, or made of it."""

    def refuse(facts: "Any", rules: Rules) -> "LendError | None":
        view = facts.view
        if view is None:  # still to be written: one element at every place looks like it
            one = bytes(facts.itemsize or 1)
            steps = (0,) * len(facts.shape)
            view = View.from_pointer(front.view(one).ptr, facts.shape, facts.dtype, strides=steps, owner=one)
        handed = view.buffer if whole else view
        try:
            if cls not in _OF_PARTS:
                cls(handed)
            elif whole or not facts.shape:
                next(iter(handed), None)  # which has no elements
            elif not facts.device.is_host:
                handed.tolist()
            elif len(facts.shape) > 1:
                cls([[]])  # rows come as lists, which are in no set
        except LendError as refusal:
            return refusal
        except (MemoryError, RecursionError):
            raise
        except Exception as error:  # noqa: BLE001 - becomes ours, with it as the cause
            return _not_made([], cls, facts.came, error)
        return None

    return refuse


def _bytes_giver(cls: "Any") -> "Callable[[Any], Give]":
    """All bytes, of whatever dtype and strides, copied once: BytesIO shares bytes; any buffer says opaque ones."""
    if cls is BytesIO:
        return lambda _: lambda view: cls(bytes(view))
    return lambda facts: (
        lambda view: cls(view.buffer if facts.strides is None else view.reinterpret(f"opaque[{facts.itemsize}]"))
    )


def giver(cls: "Any", forms: "list[str]", values: bool = False) -> "Callable[[Any], Give]":
    """What a class of Python's or of a library raises is told with what to name instead; `values`: it gets those."""
    if not forms and module_of(cls).partition(".")[0] not in sys.stdlib_module_names:
        return lambda _: cls

    def giver_of(facts: "Any") -> "Give":
        came = facts.came  # the function holds it as long as an error of it is held

        def give(handed: "Any") -> "Any":
            try:
                return cls(handed.tolist() if values else handed)
            except (LendError, MemoryError, RecursionError):
                raise
            except Exception as error:  # constructors raise what they like; it is the cause of ours
                raise _not_made(forms, cls, came, error) from error

        return give

    return giver_of


def _not_made(forms: "list[str]", cls: type, came: str, error: BaseException) -> NotLendable:
    remedy = "a class that takes memory: memoryview, bytes, bytearray; or lend.view(x).tolist() for the values"
    if forms:
        remedy = f"lend.to(x, {' or '.join(forms)}), or a function of your own, which is called with a View"
    name = full_name(cls)
    if name == "array.array":
        remedy = 'array.array("B", lend.to(x, bytes)), or another code: a copy'
    fact = f"{name} is made of other things than a View"
    refusal = NotLendable.from_producer(error, fact, door=f"{name}(view)", came=came, remedy=remedy)
    refusal.__cause__ = error
    return refusal
