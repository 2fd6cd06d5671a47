"""Where the low part of an element lies, and the words when there is none; loaded by `View.low`."""

from lend._core.letting_go import lets_go
from lend.errors import LendError, UnsupportedType
from lend.views import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.dtypes import DType
    from lend.views.view import View

_WHOLE = ("int", "uint", "datetime", "timedelta", "handle")
_BARE = ("opaque", "bytes", "record")


@lets_go
def place(view: "View", dtype: "DType") -> int:
    """Offset of the low part of such a dtype in every element; UnsupportedType where there is none."""
    held = view.dtype
    if held.has_objects or held.kind not in (*_WHOLE, *_BARE) or held.lanes > 1:
        raise UnsupportedType.build(
            f"elements of {held} have no low part",
            came=describe.came(view),
            remedy='v.reinterpret(...), in whole numbers of the same size, and then low("uint8")',
        )
    wanted = ("int", "uint", "bool", "opaque") if held.kind in _WHOLE else None
    if dtype.has_objects or dtype.lanes > 1 or (wanted is not None and dtype.kind not in wanted):
        raise UnsupportedType.build(
            f"the low part of {held} is no {dtype}",
            came=describe.came(view),
            remedy='low("uint8") or another whole number',
        )
    if not 0 < dtype.itemsize <= held.itemsize:
        raise UnsupportedType.build(
            f"the low part of {held} has 1 to {held.itemsize} bytes, and {dtype} has {dtype.itemsize}",
            came=describe.came(view),
        )
    order: Any = held.byteorder or dtype.byteorder or _native()
    if dtype.byteorder is not None and dtype.byteorder != order:
        raise UnsupportedType.build(
            f"the bytes of {held} lie in {order} order, and those of {dtype} in {dtype.byteorder}",
            came=describe.came(view),
            remedy=f'low("{dtype.newbyteorder(order)}")',
        )
    return held.itemsize - dtype.itemsize if order == "big" else 0


def _native() -> str:
    from lend.dtypes import DType

    return DType("uint16").byteorder or "little"


def sign_place(view: "View", dtype: "DType") -> int:
    """Offset of the byte that has the sign of the low part; -1 for what has none."""
    if dtype.kind != "int":
        return -1
    start = place(view, dtype)
    return start if dtype.byteorder == "big" else start + dtype.itemsize - 1


def rest_is_zero(view: "View", dtype: "DType") -> bool:
    """Whether the elements are never negative: then a low part that is loses the value."""
    return view.dtype.kind in ("uint", "handle")


def lossy(view: "View", part: "View", index: int) -> LendError:
    """The refusal of an element that has more than its low part."""
    where = []
    for extent in reversed(view.shape):
        where.append(index % extent)
        index //= extent
    at = tuple(reversed(where))
    value = view[at].tolist()
    said = f"{value!r:.60}"
    return UnsupportedType.build(
        f"the element at {at} is {said}, of which {part.dtype} has not all (lossy): the rest is not "
        + ("a repeated sign" if part.dtype.kind == "int" and not rest_is_zero(view, part.dtype) else "zero"),
        came=describe.came(view),
        remedy="a wider dtype, or check=False if the low part is all you want",
    )
