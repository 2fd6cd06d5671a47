"""Columns by the array interfaces with what their dunders never say: which elements are valid, by a mask.

https://numpy.org/doc/stable/reference/arrays.interface.html
https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html
"""

from lend._core import copies, kernels
from lend._core.letting_go import lets_go
from lend.columns import refusals
from lend.columns.anatomy import Anatomy
from lend.columns.parts import elements, mask_bytes
from lend.dtypes.dtype import logical_of
from lend.errors import CopyRequired, LendError, UnsupportedLayout, UnsupportedType, change_remedy
from lend.views import values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.columns.column import Column
    from lend.views.view import View

_CUDA = (2, 3, 13)


class Shown:
    """Elements, and perhaps a mask, by `__array_interface__`; holds the memory of both."""

    __slots__ = ("__array_interface__", "_held")

    def __init__(self, facts: "dict[str, Any]", held: "Any") -> None:
        self.__array_interface__ = facts
        self._held = held


class ShownOnCuda:
    """The same by `__cuda_array_interface__`."""

    __slots__ = ("__cuda_array_interface__", "_held")

    def __init__(self, facts: "dict[str, Any]", held: "Any") -> None:
        self.__cuda_array_interface__ = facts
        self._held = held


@lets_go
def on_host(column: "Column", mask: bool) -> Shown:
    """`Column.array_interface`."""
    if not column.device.is_host:
        from lend.columns import reading

        column = reading.on_host(column)
    view = lying(column)
    if not column.null_count:
        return Shown(view.__array_interface__, view)
    if not mask:
        raise _needs_mask(column)
    facts = view.__array_interface__
    hidden = byte_mask(column)
    facts["mask"] = Shown(hidden.__array_interface__, hidden)
    return Shown(facts, (view, hidden))


@lets_go
def on_cuda(column: "Column", mask: bool) -> ShownOnCuda:
    """`Column.cuda_array_interface`: a mask is the one that lies there, as nothing is written on a device."""
    device = column.device
    if device.type not in _CUDA:
        raise UnsupportedLayout.build(
            f"{refusals.named(column)} is on {device}, and __cuda_array_interface__ is for CUDA memory",
            came=refusals.came(column),
            remedy="column.array_interface(...)" if device.is_host else "column.buffers, each by DLPack",
        )
    view = lying(column)
    facts = view.__cuda_array_interface__
    nulls = column.nulls
    if nulls.kind == "none" or ("validity" not in column.buffers and nulls.kind in ("bitmask", "bytemask")):
        return ShownOnCuda(facts, view)
    if not mask:
        raise _needs_mask(column)
    if nulls.kind == "bytemask" and not nulls.missing:
        hidden: View = mask_bytes(column, column.offset)
        told = hidden.__cuda_array_interface__
    elif nulls.kind == "bitmask" and not nulls.missing and not column.offset % 8:
        hidden = column.buffers["validity"].view("uint8")[column.offset // 8 :]
        told = {**hidden.__cuda_array_interface__, "typestr": "<t1", "shape": (len(column),), "strides": None}
    else:
        raise UnsupportedType.build(
            f"the nulls of {refusals.named(column)} are no mask that is true, or 1, where an element is valid: {nulls}"
            + (f" from bit {column.offset} on" if nulls.kind == "bitmask" else ""),
            came=refusals.came(column),
            remedy="column.buffers, each by itself: lend writes no mask on a device yet",
        )
    facts["mask"] = ShownOnCuda(told, hidden)
    return ShownOnCuda(facts, (view, hidden))


def _needs_mask(column: "Column") -> UnsupportedType:
    return UnsupportedType.build(
        f"{refusals.named(column)} may have nulls, which the interface says by a mask alone",
        came=refusals.came(column),
        remedy="mask=True, for a consumer that reads masks",
    )


def lying(column: "Column") -> "View":
    """All elements of a column of one chunk, also what lies under nulls."""
    dtype = column.dtype
    if column.stride is None or dtype.dictionary is not None or logical_of(dtype) is not None:
        raise refusals.no_view(column, f"no array interface has elements that are {dtype}")
    # of no elements there may be no memory
    found: View = elements(column, column.offset) if len(column) else column.view()
    return found if found.dtype == dtype else found.reinterpret(dtype)


def byte_mask(column: "Column") -> "View":
    """A byte for each element, true where it is valid: as it lies, or written, and counted."""
    parts = Anatomy(column)
    if parts.form == "bytemask" and not parts.missing:
        found: View = mask_bytes(column, column.offset)
        return found
    made = values.fresh(parts.n)
    bits, at, _held = parts.valid_bits(0, parts.n)
    kernels.bits_to_bytes(made.ptr, 1, bits, at, 0, parts.n)
    copies.note(refusals.came(column), "nulls as bytes of an interface", parts.n)
    return made.reinterpret("bool")


def bit_mask(column: "Column") -> "tuple[int, Any]":
    """Where the bits begin that are 1 where an element is valid, and what holds them: as they lie, or written."""
    parts = Anatomy(column)
    if parts.form == "bitmask" and not parts.missing and not parts.offset % 8 and parts.mask is not None:
        return parts.mask + parts.offset // 8, column[:]  # nobody else has that one, to release it
    made = values.fresh((parts.n + 7) // 8)
    parts.write_bits(made.ptr, 0, 0, parts.n)
    copies.note(refusals.came(column), "nulls as bits", made.nbytes)
    return made.ptr, made


def no_array(column: "Column", refusal: LendError) -> LendError:
    """The same refusal under copy=False: whatever array there may be of it, in another way, is none of its memory."""
    if type(refusal) is not UnsupportedType:
        return refusal
    refusal = _refused(column) or refusal
    if isinstance(refusal, CopyRequired):
        change_remedy(refusal, 'lend.to(x, "numpy"), in a copy that is counted')  # numpy.asarray(x) makes none of it
        return refusal
    return CopyRequired.build(
        f"{refusal.fact}: an array of it is made anew, which copy=False forbids",
        came=refusal.came,
        remedy=refusal.remedy,
    )


def _refused(column: "Column") -> "LendError | None":
    """What NumPy's array of a column, of its own memory, is refused for."""
    try:
        column.to("numpy", copy=False)
    except LendError as told:
        return told.with_traceback(None)  # or it would hold this frame, which holds it
    return None


@lets_go
def written_array(column: "Column", dtype: "Any", copy: "bool | None") -> "Any":
    """An array of NumPy's of what lies in several chunks, or in bits: a counted copy, or CopyRequired."""
    try:
        made = column.to("numpy", copy=copy)
    except UnsupportedType as refusal:
        if copy is not False:
            raise
        raise no_array(column, refusal) from None
    if dtype is None or made.dtype == dtype:
        return made
    if copy is False:
        raise CopyRequired.build(
            f"{refusals.named(column)} is {made.dtype}, and an array of {dtype!s:.60} needs a copy, which copy=False "
            "forbids",
            came=refusals.came(column),
            remedy="copy=None; or no dtype",
        )
    return made.astype(dtype)
