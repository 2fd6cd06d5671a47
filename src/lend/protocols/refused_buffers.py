"""The wording of what is wrong with a buffer; `refuse` of buffer.pyx finds every refusal of that protocol here."""

__all__ = [
    "bad_buffer", "dtype_not_sayable", "left_out", "no_door", "not_host", "overlapping", "read_only", "request_refused",
    "rows_not_gathered",
]  # fmt: skip

from lend.errors import LendError, MalformedDescriptor, ReadOnlyMemory, UnsupportedLayout, UnsupportedType
from lend.protocols.refusals import (
    DESCRIBE,
    dtype_not_sayable,
    name,
    no_door,
    not_host,
    overlapping,
    read_only,
    request_refused,
    shown,
)  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend._core.owners import Protocol


def bad_buffer(
    obj: "Any",
    protocol: "Protocol",
    field: str,
    format: "str | None",
    itemsize: int,
    ndim: int,
    shape: "tuple[int, ...]",
    length: int,
) -> LendError:
    came = f"{name(obj)}: format {shown(format)}, itemsize {itemsize}, ndim {ndim}, shape {shape}, len {length}"
    if field == "format":
        remedy = "lend.buffer(x) for its bytes"
        if (format or "").startswith("&"):
            remedy = "lend.view(x.contents): what it points to"
        said = shown(format)
        fact = f"cannot read the buffer format {said} of {name(obj)} as one dtype of {itemsize} bytes"
        if (format or "").startswith("T{"):
            fact = f"{name(obj)} holds records that lend cannot read{_why_unread(obj, format, itemsize)}"
        return UnsupportedType.build(
            fact,
            came=came,
            tried=f"{protocol.name} -> format",
            remedy=remedy,
        )
    if field == "objects":
        return UnsupportedType.build(
            f"{name(obj)} holds pointers to Python objects, and their bytes are nobody's to lend",
            came=came,
            tried=f"{protocol.name} -> format",
            remedy='lend.view(x), whose tolist() gives the objects; or numbers, such as x.astype("float64")',
        )
    if field == "suboffsets":
        return UnsupportedLayout.build(
            f"the buffer of {name(obj)} has suboffsets (rows behind pointers); a View has one address and strides",
            came=came,
            tried=f"{protocol.name} -> suboffsets",
            remedy="copy=True, which gathers the rows",
        )
    says = {
        "ndim": f"ndim is {ndim}: lend takes 0 to 64 dimensions",
        "itemsize": f"itemsize is {itemsize}",
        "shape": "there are dimensions and no shape",
        "layout": f"shape {shape} has a negative extent, or its size does not fit the address space",
        "strides": f"the strides of shape {shape} reach further than an address can (bounds)",
        "len": f"len is {length}, and the shape {shape} of {itemsize}-byte items needs {_product(shape) * itemsize}",
        "rows": "there are suboffsets and no strides",
        "obj": "it does not say whose it is (obj is NULL), and so cannot be given back",
        "buf": f"the address is 0, or too high for a len of {length}",
    }[field]
    return MalformedDescriptor.build(
        f"the buffer of {name(obj)} contradicts itself: {says}",
        came=came,
        tried=f"{protocol.name} -> {field}",
        remedy=DESCRIBE,
    )


def _why_unread(obj: "Any", format: "str | None", itemsize: int) -> str:
    """What is wrong with a long format, as an afterthought."""
    from lend.dtypes.foreign import of_exporter
    from lend.dtypes.record_format import Unread, read

    try:
        of_exporter(obj, None, itemsize)
        read((format or "").encode(), itemsize)
    except (Unread, LendError) as error:
        return f": {str(error).partition(chr(10))[0]} (buffer format {shown(format)})"
    return f" (buffer format {shown(format)})"


def rows_not_gathered(obj: "Any", protocol: "Protocol") -> LendError:
    return UnsupportedLayout.build(
        f"the rows of {name(obj)} cannot be gathered: their dtype or shape is not understood",
        came=name(obj),
        remedy="its values as an array of their own, by the library that made it",
    )


def _product(shape: "tuple[int, ...]") -> int:
    total = 1
    for extent in shape:
        total *= extent
    return total


def left_out(obj: "Any", protocol: "Protocol") -> LendError:
    return ReadOnlyMemory.build(
        f"the bytes of this {name(obj)} that are of no field were not lent, so that its bytes are read-only; writable "
        "ones were asked for",
        came=name(obj),
        tried=f"{protocol.name}",
        remedy="lend.view(x), which has the fields alone; or copy=True",
    )
