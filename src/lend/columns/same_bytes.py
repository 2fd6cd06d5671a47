"""`Column.reinterpret` and `Column.low`: another dtype over the same memory, with the same nulls."""

from functools import partial

from lend._core import kernels
from lend._core.letting_go import lets_go
from lend.columns import parts, refusals
from lend.columns.anatomy import NAT, Anatomy
from lend.columns.column import Column
from lend.columns.drafts import NONE, Draft, each_chunk, kept, lead_of
from lend.columns.joining import nothing
from lend.columns.nullness import Nulls
from lend.dtypes.dtype import DType, logical_of
from lend.errors import UnsupportedType
from lend.views import values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.views.view import View


@lets_go
def reinterpreted(column: Column, dtype: "Any") -> Column:
    """What `Column.reinterpret` gives."""
    whole = column if column.chunks else nothing(column)
    return each_chunk(whole, partial(_reinterpreted, dtype=DType(dtype))).made()


@lets_go
def low(column: Column, dtype: "Any", check: bool) -> Column:
    """What `Column.low` gives."""
    whole = column if column.chunks else nothing(column)
    return each_chunk(whole, partial(_low, dtype=DType(dtype), check=check)).made()


def _reinterpreted(chunk: Column, dtype: DType) -> Draft:
    draft = _kept(chunk, dtype, f"read as {dtype}")
    logical = logical_of(dtype)
    width = chunk.dtype.itemsize
    if not width or dtype.itemsize != width or dtype.shares_bytes or dtype.has_objects or (logical and logical.fields):
        raise UnsupportedType.build(
            f"the elements of {refusals.named(chunk)} are of {width} bytes each, and {dtype} is no dtype of as many",
            came=refusals.came(chunk),
            remedy='a dtype of the same size; of a part of each element, column.low("uint8")',
        )
    if draft.nulls.kind not in ("none", "bitmask", "bytemask"):
        draft.nulls = _nulls(chunk, dtype)
    strided = chunk.stride not in (None, width)
    if strided and not dtype.is_native and "data" in draft.buffers:
        data: Any = draft.buffers["data"]
        draft.buffers["data"] = data.reinterpret(dtype)
    return draft


def _nulls(chunk: Column, dtype: DType) -> Nulls:
    """Nulls that a value says, where the value means the same in another dtype."""
    told = chunk.nulls
    if told.kind == "nat" and dtype.kind in ("datetime", "timedelta"):
        return told
    if told.kind == "nat" and dtype.kind == "int" and dtype.byteorder == chunk.dtype.byteorder:
        return Nulls("sentinel", value=NAT)
    return _none(chunk, dtype)


def _none(chunk: Column, dtype: DType) -> Nulls:
    count = chunk.null_count
    if not count:
        return NONE
    raise UnsupportedType.build(
        f"{count} of {refusals.named(chunk)} {'is' if count == 1 else 'are'} null by a value, which {dtype} has not",
        came=refusals.came(chunk),
        remedy='lend.column(x, nulls="none"), where these are values like any other',
    )


def _low(chunk: Column, dtype: DType, check: bool) -> Draft:
    draft = _kept(chunk, dtype, "have a low part of")
    if draft.nulls.kind not in ("none", "bitmask", "bytemask"):
        draft.nulls = _none(chunk, dtype)
    if not len(chunk):
        values.fresh(0).reinterpret(chunk.dtype).low(dtype)  # refuses the same
        return draft
    data = parts.elements(chunk, chunk.offset - draft.offset)
    draft.buffers["data"] = data.low(dtype)
    if check:
        _seen(chunk, data[draft.offset :]).low(dtype, check=True)
    return draft


def _seen(chunk: Column, data: "View") -> "View":
    """The elements to be compared: nobody knows what lies under nulls, so 0 stands for it there."""
    if not chunk.null_count:
        return data
    found = Anatomy(chunk)
    mask, _held = found.any_mask()
    made = values.fresh(found.n * found.width)
    assert found.data is not None
    kernels.fill_nulls(made.ptr, found.data, found.step, found.width, *mask, bytes(found.width), found.n)
    return made.reinterpret(chunk.dtype)


def _kept(chunk: Column, dtype: DType, what: str) -> Draft:
    """All memory, under another dtype."""
    found = Anatomy(chunk)
    if found.layout != "fixed" or found.dtype.dictionary is not None:
        raise UnsupportedType.build(
            f"the elements of {refusals.named(chunk)}, {found.dtype!s:.200}, have no bytes of their own to {what}",
            came=refusals.came(chunk),
            remedy="its parts: column.buffers, each of which is a Buffer, or column.dictionary",
        )
    draft = kept(found, lead_of(found, keeps_bits=found.form == "bitmask"))
    draft.dtype, draft.metadata = dtype, {}
    return draft
