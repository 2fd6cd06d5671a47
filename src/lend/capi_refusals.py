"""The wording of what lend.h refuses; loaded when something is refused, never before.

A program in C asks by flags of a request, so that is what it is told to change; who calls it from Python may help too.
"""

from lend.errors import CopyRequired, LendError, ReadOnlyMemory, UnsupportedType, change_remedy
from lend.protocols import refusals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lend.views.view import View


def tell_in_c(refusal: LendError, asked: str = "") -> None:
    """Let the remedy of a refusal name the flag that allows a copy, where a copy would do.

    `asked` is what the request asks for, as keywords of `lend.view`: a plain copy keeps what the memory has.
    """
    remedy = refusal.remedy or ""
    if "copy=True" not in remedy or "LEND_" in remedy:
        return
    if isinstance(refusal, CopyRequired | ReadOnlyMemory):
        change_remedy(refusal, _copied(asked))
    else:
        change_remedy(refusal, remedy.replace("copy=True", "LEND_COPY_IF_NEEDED in the request", 1))


def _copied(asked: str = "") -> str:
    return f"LEND_COPY_IF_NEEDED in the request (one copy, counted); or lend.view(x, {asked}copy=True) before"


def another_type(view: "View", wanted: "tuple[int, int, int]") -> LendError:
    code, order, itemsize = wanted
    size = f"of {itemsize} bytes" if itemsize else "of any size"
    return UnsupportedType.build(
        f"a dtype of code {code}, order {chr(order)!r} and {size} was required; this memory holds {view.dtype}, and "
        "lend does not convert values",
        came=refusals.facts(view),
        remedy="another array, or LEND_ANY_TYPE in the request",
    )


def unaligned(view: "View") -> LendError:
    return CopyRequired.build(
        f"elements at multiples of their alignment were required, and those of {view.dtype} at {view.ptr:#x} with "
        f"strides {view.strides} are not (alignment)",
        came=refusals.facts(view),
        remedy=_copied(),
    )
