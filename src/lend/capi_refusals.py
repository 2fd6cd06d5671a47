"""The wording of what lend.h refuses; loaded when something is refused, never before.

A program in C asks by flags of a request, so that is what it is told to change; who calls it from Python may help too.
"""

from lend.errors import (
    CopyRequired,
    LendError,
    MalformedDescriptor,
    NotHostAccessible,
    ReadOnlyMemory,
    UnsupportedType,
    change_remedy,
)
from lend.protocols import refusals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.dtypes import DType
    from lend.views.view import View

    Asked = tuple[DType | None, str | None, int]

_ORDERS = 512 | 1024  # LEND_C_ORDER, LEND_F_ORDER
_NOTHING: "Asked" = (None, None, 0)
_FLAGS = [
    "READONLY", "C_CONTIGUOUS", "F_CONTIGUOUS", "ALIGNED", "EXCLUSIVE", "OPAQUE_HANDLE", "SYNC_UNKNOWN", "", "WRITABLE",
    "C_ORDER", "F_ORDER", "COPY_IF_NEEDED", "COPY", "NEED_ALIGNED",
]  # fmt: skip


def tell_in_c(refusal: LendError, asked: "Asked" = _NOTHING) -> None:
    """Let the remedy of a refusal name the flag that allows a copy, where a copy would do.

    `asked` is what the request asks of dtype, order and alignment: a plain copy keeps what the memory has of each.
    """
    remedy = refusal.remedy or ""
    if "copy=True" not in remedy or "LEND_" in remedy:
        return
    if isinstance(refusal, CopyRequired | ReadOnlyMemory):
        change_remedy(refusal, _copied(asked))
    elif ", copy=True)" not in remedy:  # as in a call in Python, which comes before
        change_remedy(refusal, remedy.replace("copy=True", "LEND_COPY_IF_NEEDED in the request", 1))


def _copied(asked: "Asked" = _NOTHING) -> str:
    dtype, order, align = asked
    words = "" if dtype is None else f'dtype="{dtype}", '
    words += "" if order is None else f'order="{order}", '
    words += "" if align < 2 else f"align={align}, "
    return f"LEND_COPY_IF_NEEDED in the request (one copy, counted); or lend.view(x, {words}copy=True) before"


def wrong_abi(major: int, abi: int, size: int) -> ValueError:
    return ValueError(
        f"the lend_view was not initialised with LEND_VIEW_INIT of ABI {major}: abi {abi:#x}, struct_size {size}"
    )


def wrong_request(request: "tuple[int, ...]", least: int) -> ValueError:
    size, flags, unknown, ndim, align, device = request
    if size < least:
        return ValueError(f"the lend_request was not initialised with LEND_REQUEST_INIT: size {size}")
    if unknown:
        return ValueError(
            f"lend_request.flags have {unknown:#x}, which this lend does not know (LEND_READONLY to LEND_SYNC_UNKNOWN "
            "are of a lend_view, LEND_WRITABLE and those after it of a request)"
        )
    if flags & _ORDERS == _ORDERS:
        return ValueError("lend_request.flags ask for LEND_C_ORDER and LEND_F_ORDER: ask for one of them")
    return ValueError(
        f"lend_request asks for what nothing is: ndim {ndim} (-1: any, to 64), align {align} (a power of two), "
        f"device_type {device} (0: any)"
    )


def wrong_dtype(doubt: bytes, code: int, bits: int, lanes: int, itemsize: int) -> ValueError:
    return ValueError(
        f"lend_request.dtype is no dtype, by its {doubt.decode()}: code {code}, bits {bits}, lanes {lanes}, "
        f"itemsize {itemsize}"
    )


def wrong_description(field: str, got: "Any", expected: str) -> LendError:
    return _described(f"{field} of the lend_view is {got!r}, not {expected}")


def _described(fact: str) -> LendError:
    return MalformedDescriptor.build(
        fact,
        came="a description in C, by lend_wrap",
        remedy="LEND_VIEW_INIT, then data, dtype (lend_native), device_type, ndim and dims; LEND_C_CONTIGUOUS or "
        "LEND_F_CONTIGUOUS fills in the strides",
    )


def wrong_flags(flags: int, false: int, shared: int) -> LendError:
    """Flags of a description: `false` are the orders that its shape and strides have not, else it is LEND_ALIGNED."""
    named = " | ".join(f"LEND_{name}" for bit, name in enumerate(_FLAGS) if name and flags >> bit & 1)
    if flags & ~127:
        other = f"what a lend_view has: {flags & ~127:#x} is not (LEND_WRITABLE and those after it are of a request)"
    elif flags & 32:
        other = "those of memory that has addresses: a handle is no address"
    elif shared:
        other = "LEND_C_CONTIGUOUS alone: elements that share bytes lie row-major"
    elif not false:
        other = "true: address or strides are no multiples of the alignment, which LEND_ALIGNED says"
    else:
        other = "one order of the two" if flags & 6 == 6 else "true"
        other += f": shape and strides contradict LEND_{'C' if false & 2 else 'F'}_CONTIGUOUS"
    return _described(f"flags of the lend_view are {flags:#x} ({named or 'no flag'}), not {other}")


def not_host(device_type: int, device_id: int, nbytes: int) -> LendError:
    from lend.device import Device

    return NotHostAccessible.build(
        f"the host cannot read memory on {Device(device_type, device_id)}",
        came=f"a lend_view of {nbytes} bytes",
        remedy="copy it with the library that made it, or ask for device_type 1 in the request",
    )


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
