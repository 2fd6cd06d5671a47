"""Python's own classes as targets: what they make of a View is known beforehand, and what they would refuse.

Any class is called, and what a class of Python or of a library raises becomes a refusal. Of those that are listed here
the rules say so before, for `lend.explain`; they make something of their own, whatever they are given.
"""

import sys
from io import BytesIO

from lend.adapters.rules import ANEW, ANY, EVERY_DEVICE, HOST, Reason, Rules
from lend.errors import LendError, NotLendable
from lend.protocols import refusals
from lend.protocols.classes import full_name, module_of
from lend.views import packed, scalars

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lend.adapters.rules import Give
    from lend.plan.facts import Facts
    from lend.views.buffers import Buffer
    from lend.views.view import View

    Refuse = Callable[[Any, Rules], Exception | None]

_OF_BYTES = (bytes, bytearray, BytesIO)
_OF_PARTS = (list, tuple, set, frozenset)
_OF_NUMBERS = (int, float, complex, bool)


def rules(call: "Any", whole: bool) -> "Rules | None":
    """The rules of a class that is known here; None for everything else that can be called."""
    if any(call is cls for cls in _OF_BYTES):
        copied = Reason(ANEW, f"{call.__name__} copies whatever it is given")
        packs = lambda facts: (copied, facts.nbytes) if facts.nbytes else None  # noqa: E731
        return _rules(call, _no_bytes, packs, HOST, lambda _: _bytes_giver(call))
    refuse: Refuse | None = None
    if any(call is cls for cls in _OF_PARTS):
        refuse = _no_parts(call, whole)
    elif any(call is cls for cls in _OF_NUMBERS):
        refuse = _no_number(call, whole)
    elif isinstance(call, type) and full_name(call) == "array.array":
        refuse = _no_array
    elif call is not str:
        return None
    made = Reason(ANEW, f"{call.__name__} makes Python objects of what it is given, and is never the memory itself")
    return _rules(call, refuse, lambda _: (made, None), EVERY_DEVICE, giver(call, []))


def _rules(cls: type, refuse: "Any", packs: "Any", devices: "frozenset[int]", give: "Any") -> Rules:
    name = full_name(cls)
    return Rules(
        name, name, "call", give, refuse=refuse, devices=devices, layout=ANY, swapped=True, unknown=True, packs=packs
    )


# -- what they refuse ----------------------------------------------------------------------------------------------


def _no_bytes(facts: "Facts", rules: Rules) -> "LendError | None":
    """Pointers to Python objects are no bytes to hand out."""
    return refusals.holds_objects(facts, "shown as bytes") if facts.dtype.has_objects else None


def _no_parts(cls: type, whole: bool) -> "Refuse":
    """What has no elements to iterate over, or none that are Views."""

    def refuse(facts: "Facts", rules: Rules) -> "LendError | None":
        if whole or not facts.shape:
            what = "a Buffer is untyped bytes" if whole else "a View without dimensions is one element"
            return NotLendable.build(
                f"{cls.__name__} takes elements one by one, and {what}",
                came=facts.came,
                remedy=f"lend.to(x.view(), {cls.__name__}), of bytes" if whole else "lend.view(x).item(), the value",
            )
        if facts.view is not None and facts.dtype.shares_bytes:
            try:
                packed.rows(facts.view)
            except LendError as refusal:
                return refusal
        return None

    return refuse


def _no_number(cls: type, whole: bool) -> "Refuse":
    """What is not one number, or none of that class: nan has no int."""

    def refuse(facts: "Facts", rules: Rules) -> "LendError | None":
        view = facts.view
        if view is None:  # still to be written out
            short = None if facts.shape else "len() of a 0-d View"
            why = short if cls is bool else scalars.no_number(facts, cls)
            return None if why is None else _not_made([], cls, facts, TypeError(why))
        try:
            cls(view.buffer if whole else view)
        except LendError as refusal:
            return refusal
        except (MemoryError, RecursionError):
            raise
        except Exception as error:  # noqa: BLE001 - becomes ours, with it as the cause
            return _not_made([], cls, facts, error)
        return None

    return refuse


def _no_array(facts: "Facts", rules: Rules) -> "LendError":
    """array.array wants a type code first."""
    return NotLendable.build(
        "array.array is made of a type code and values, not of memory alone",
        came=facts.came,
        remedy=[
            'array.array("B", lend.to(x, bytes)), or another code: a copy',
            'lend.to(x, "memoryview"), which shares',
        ],
    )


# -- what is called ------------------------------------------------------------------------------------------------


def _bytes_giver(cls: type) -> "Give":
    """All bytes, of whatever dtype and strides: `bytes` asks a View itself, the others are given what they can take."""
    if cls is bytes:
        return cls
    if cls is BytesIO:
        return lambda handed: BytesIO(bytes(handed))  # which it shares
    return lambda handed: bytearray(_plain(handed))


def _plain(handed: "Any") -> "View | Buffer":
    """The same memory under a dtype for which the buffer protocol has a word, whatever it held."""
    if not hasattr(handed, "shape"):
        return handed
    return handed.buffer if handed.strides is None else handed.reinterpret(f"opaque[{handed.itemsize}]")


def giver(cls: type, forms: "list[str]") -> "Callable[[Any], Give]":
    """What a class of Python's or of a library raises is told with what to name in its place."""
    if not forms and module_of(cls).partition(".")[0] not in sys.stdlib_module_names:
        return lambda _: cls

    def giver_of(facts: "Any") -> "Any":
        def give(handed: "Any") -> "Any":
            try:
                return cls(handed)
            except (LendError, MemoryError, RecursionError):
                raise
            except Exception as error:  # constructors raise what they like; it is the cause of ours
                raise _not_made(forms, cls, facts, error) from error

        return give

    return giver_of


def _not_made(forms: "list[str]", cls: type, facts: "Any", error: BaseException) -> NotLendable:
    remedy = "a class that takes memory: memoryview, bytes, bytearray; or lend.view(x).tolist() for the values"
    if forms:
        remedy = f"lend.to(x, {' or '.join(forms)}), or a function of your own, which is called with a View"
    refusal = NotLendable.from_producer(
        error,
        f"{full_name(cls)} is made of other things than a View",
        door=f"{full_name(cls)}(view)",
        came=facts.came,
        remedy=remedy,
    )
    refusal.__cause__ = error
    return refusal
