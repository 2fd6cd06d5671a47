"""Views of elements that share bytes (int4_packed): what can be shown of them without moving a bit.

Such elements have no strides: they lie row-major, the first begins a byte, and within a byte the first has the lowest
bits, as DLPack has it. So does every View made of one.
"""

from lend._core.letting_go import lets_go
from lend.errors import UnsupportedLayout
from lend.views import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from lend.dtypes import DType
    from lend.views.buffers import Buffer
    from lend.views.view import View

_VALUES = "v.tolist() or v.item(index), which read values"


def bits_of(dtype: "DType") -> int:
    """Bits of one element, lanes included."""
    return dtype.bits * dtype.lanes


@lets_go
def part(view: "View", first: int, extents: "Sequence[int]", steps: "Sequence[int]") -> "tuple[int, bool]":
    """Where indexed elements begin, in bytes, and whether their last byte has elements of others as well.

    `first` is the number of the first element in row-major order; steps count elements, too.
    """
    bits = bits_of(view.dtype)
    size = 1
    for extent in extents:
        size *= extent
    if size == 0:
        return 0, False
    run = 1
    for extent, step in zip(reversed(extents), reversed(steps), strict=True):
        if extent > 1:
            if step != run:
                raise UnsupportedLayout.build(
                    f"several {view.dtype} share a byte: a part of them that leaves some out is no View",
                    came=describe.came(view),
                    remedy=[_VALUES, "a slice of the first dimension, step 1"],
                )
            run *= extent
    if first * bits % 8:
        raise UnsupportedLayout.build(
            f"several {view.dtype} share a byte, and element {first} does not begin one: a View does",
            came=describe.came(view),
            remedy=[_VALUES, f"an index that is a multiple of {_whole(bits)}"],
        )
    return first * bits // 8, bool(size * bits % 8) and first + size < view.size


def _whole(bits: int) -> int:
    """The least number of elements that fill whole bytes."""
    from math import gcd

    return 8 // gcd(8, bits)


@lets_go
def same_order(view: "View", done: str) -> None:
    """Refuse what would move elements that share bytes; with one dimension at most nothing does."""
    if not view.f_contiguous:
        raise UnsupportedLayout.build(
            f"several {view.dtype} share a byte, row-major, and cannot be {done} without moving bits",
            came=describe.came(view),
            remedy=_VALUES,
        )


def rows(view: "View") -> None:
    """Refuse to iterate where some step of the first dimension does not begin a byte."""
    size = view.size // max(len(view), 1)
    if len(view) > 1 and size * bits_of(view.dtype) % 8:
        raise UnsupportedLayout.build(
            f"several {view.dtype} share a byte, and not each step of the first dimension begins one",
            came=describe.came(view),
            remedy="v.tolist(), the values",
        )


@lets_go
def reinterpreted(view: "View", dtype: "DType") -> "tuple[int, ...]":
    """Extents under another dtype, where one of the two shares bytes: the last dimension changes."""
    old = bits_of(view.dtype) if view.dtype.shares_bytes else 8 * view.itemsize
    new = bits_of(dtype) if dtype.shares_bytes else 8 * dtype.itemsize
    if not view.c_contiguous:
        raise UnsupportedLayout.build(
            f"several {dtype} share a byte, row-major, and this memory has gaps or another order",
            came=describe.came(view),
            remedy="v.copy().reinterpret(...)",
        )
    if old == new:
        return view.shape
    if view.ndim == 0 or not old or not new:
        raise UnsupportedLayout.build(
            f"items of {old} bits cannot be seen as items of {new} bits" + ("" if view.ndim else " in 0 dimensions"),
            came=describe.came(view),
            remedy="v.reshape(1).reinterpret(...), in one dimension" if old and new else None,
        )
    *outer, last = view.shape
    if last * old % new:
        raise UnsupportedLayout.build(
            f"the last dimension has {last * old} bits, no whole number of {dtype} ({new} bits each)",
            came=describe.came(view),
            remedy=["v.reshape(-1).reinterpret(...), if all of it divides", "the bytes alone: v.buffer"],
        )
    return (*outer, last * old // new)


@lets_go
def filling(lent: "Buffer", room: int, dtype: "DType") -> "tuple[int]":
    """How many elements fill so many bytes, to the last bit."""
    bits = bits_of(dtype)
    if room * 8 % bits:
        raise UnsupportedLayout.build(
            f"{room} bytes are no whole number of {dtype} ({bits} bits each)",
            came=describe.came(lent),
            remedy="give shape=, or an offset that leaves a whole number",
        )
    return (room * 8 // bits,)
