"""What a caller requires of a View (dtype, ndim, order, align, device, writable), and the words when it is not met."""

from lend._core.letting_go import lets_go
from lend.adapters import advice
from lend.device import Device
from lend.dtypes import DType
from lend.dtypes.dtype import element_dtype
from lend.errors import CopyRequired, LendError, NotHostAccessible, ReadOnlyMemory, UnsupportedLayout, UnsupportedType
from lend.views import describe, packed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lend.views.view import View

# what NumPy converts, by lend's names of them
_NUMBERS = frozenset({"bool", "int", "uint", "float", "complex"})


@lets_go
def unmet(
    view: "View", dtype: "Any", ndim: "int | None", order: "str | None", align: "int | None"
) -> "tuple[list[str], bool]":
    """The requirements that need a copy, in words, and whether it must swap bytes; what no copy meets is refused."""
    reasons = []
    swap = False
    _check_integer("ndim", ndim)
    _check_integer("align", align)
    if ndim is not None and view.ndim != ndim:
        more = ndim - view.ndim
        remedy = f"lend.view(x).reshape({', '.join(['-1', *map(str, view.shape[view.ndim - max(ndim, 1) + 1 :])])})"
        if more > 0:
            # ndim may be any number
            remedy = f"lend.view(x)[{', '.join(['None'] * more)}]" if ndim <= 64 else "64 dimensions at most"
        raise UnsupportedLayout.build(
            f"a View of {ndim} dimensions was required; this memory has {view.ndim}",
            came=describe.came(view),
            remedy=remedy,
        )
    if dtype is not None:
        wanted = element_dtype(dtype)
        if wanted != view.dtype:
            if wanted.newbyteorder("native") != view.dtype.newbyteorder("native"):
                raise UnsupportedType.build(
                    f"dtype {wanted} was required; this memory holds {view.dtype}, and lend does not convert values",
                    came=describe.came(view),
                    remedy=_conversions(view, wanted),
                )
            swap = True
            reasons.append(f"byte order: {wanted} was required, it is {view.dtype}")
    if order is not None:
        if order not in ("C", "F"):
            raise ValueError(f"order is 'C' or 'F', not {order!r}")
        if order == "F" and view.strides is None:
            packed.same_order(view, "laid out in order F")
        if not (view.c_contiguous if order == "C" else view.f_contiguous):
            reasons.append(f"order: {order}-contiguous memory was required, its strides are {view.strides}")
    if align is not None:
        if align < 1 or align & (align - 1):
            raise ValueError(f"align is a power of two, not {align!r}")
        if view.size and view.ptr % align:
            reasons.append(f"alignment: {align} bytes were required, the address is {view.ptr % align} mod {align}")
    return reasons, swap


def _check_integer(name: str, value: "Any") -> None:
    if value is not None and not hasattr(value, "__index__"):
        raise TypeError(f"{name} is an integer or None, not {value!r:.60}")


def _conversions(view: "View", wanted: DType) -> "list[str]":
    """How to have other values, and the same bytes under another name."""
    ways = []
    if wanted.kind in _NUMBERS and view.dtype.kind in _NUMBERS:
        ways.append(f'lend.to(x, "numpy").astype("{wanted}"), or a conversion by the library that made it')
    elif view.dtype.kind == "record":
        ways.append("one field of it: lend.view(x)[name]")
    elif not view.dtype.has_objects:
        ways.append("a conversion by the library that made it")
    if not (view.dtype.has_objects or wanted.has_objects or wanted.shares_bytes or view.dtype.shares_bytes):
        spelled = f'"{wanted}"' if wanted.kind != "record" else "dtype"
        same = f"lend.view(x).reinterpret({spelled}), if the same bytes are meant to be that"
        if wanted.itemsize == view.itemsize:
            ways.append(same)
        elif view.itemsize == 1 and view.c_contiguous and view.ndim == 1 and view.nbytes % (wanted.itemsize or 1) == 0:
            ways.insert(0, same)  # what came as bytes is most likely meant to be read
    return ways or ["numbers in place of objects, by the library that made it"]


def copy_required(view: "View", reasons: "list[str]") -> LendError:
    return CopyRequired.build(
        "the memory does not lie as required, and view copies only when told to",
        wanted=reasons,
        came=describe.came(view),
        remedy=f"copy=True (one copy, {view.nbytes} bytes, counted)",
    )


@lets_go
def check_stream(view: "View", stream: "Any", device: "Any" = None, copy: "bool | None" = None) -> None:
    """Order what is pending before a stream; that of a copy to a device is the copy's."""
    from lend.protocols import refusals

    if device is not None and _is_sent(view, Device(device), copy):
        return

    if view.device.type == 1:
        raise refusals.stream(view, stream, "host memory has no stream: pass None")
    from lend.devices.ordering import order, used_by

    used_by(view, stream)
    order(view, stream)


def _is_sent(view: "View", wanted: Device, copy: "bool | None") -> bool:
    """Whether memory is copied to a device that was asked for by its number."""
    return wanted.type in (2, 10) and wanted.id >= 0 and (wanted != view.device or bool(copy)) and copy is not False


@lets_go
def brought(
    view: "View", device: "Any", copy: "bool | None", taken: "Callable[[Any], View]", stream: "Any" = None
) -> "View":
    """Memory of a device as the host may read it now, where that was asked for by name: the same memory, waited for, or
    where the host does not read it a copy by the driver. Memory asked for on a device is a copy there.
    """
    wanted = Device(device)
    if _is_sent(view, wanted, copy):
        from lend.devices import copying, ordering

        if not copy and view.device.type == wanted.type and ordering.number(view) in (-1, wanted.id):
            return view  # there already, or where nobody knows
        return copying.to_device(view, wanted.type, wanted.id, f"memory on {wanted} was asked for", None, stream)
    if view.device.type == 1 or wanted.type != 1:
        return view
    from lend.devices import access, copying

    found = access.access(view)
    if copy is not False and found.host is not True and found.copied:
        return copying.to_host(view, f"memory on {wanted} was asked for")
    if copy is not False and found.asked:
        from lend.devices import by_producer

        return by_producer.to_host(view, taken)
    return access.on_host(view, None, copy is False)


@lets_go
def elsewhere(view: "View", device: "Any", copied: bool) -> "list[str]":
    """The requirement of a device that a copy by the host meets, in words; what none meets is refused."""
    wanted = Device(device)
    if copied and wanted.type != 1:
        raise copy_is_on_cpu(wanted, describe.came(view))
    if wanted == view.device or (wanted.id < 0 and wanted.type == view.device.type):
        return []
    if wanted.type == view.device.type and view.device.id < 0:
        from lend.protocols import device_refusals

        raise device_refusals.no_number(view, f"device={device!r:.60}")
    raise NotHostAccessible.build(
        f"memory on {wanted} was required; this memory is on {view.device}, and view moves it only where it may copy",
        came=describe.came(view),
        remedy=advice.to_device(wanted)
        if view.device.is_host
        else f"move it with the library that made it, then lend.view(x, device={str(wanted)!r})",
    )


def copy_is_on_cpu(wanted: Device, came: str) -> LendError:
    return NotHostAccessible.build(
        f"memory on {wanted} was required, and what lend copies lies in memory of the cpu",
        came=came,
        remedy="no copy=True, if the memory is there as it must be; else a copy by the library that made it",
    )


def gaps_not_writable(view: "View") -> LendError:
    return ReadOnlyMemory.build(
        f"the bytes between the elements of shape {view.shape} with strides {view.strides} were not lent, so that the "
        "bytes from the first to the last are read-only; writable ones were asked for"
        if view.dtype.kind != "record"
        else f"the bytes of {view.dtype!s:.200} that are of no field were not lent, so that its bytes are read-only; "
        "writable ones were asked for",
        came=describe.came(view),
        remedy="lend.view(x), which has the elements alone; or copy=True",
    )


def not_writable(view: "View", obj: "Any") -> LendError:
    from lend.protocols import refusals

    strides = view.strides or ()  # none where elements share bytes, and then none of 0
    if view.size > 1 and 0 in [stride for extent, stride in zip(view.shape, strides, strict=False) if extent > 1]:
        return refusals.overlapping(obj)
    return ReadOnlyMemory.build(
        f"this {refusals.name(obj)} object is read-only; a writable view was asked for",
        came=describe.came(view),
        remedy="lend.view(x, copy=True)",
    )
