"""What a consumer of Arrow data asks for by `requested_schema`: met where nothing is lost and lend has a kernel for it.

All else is answered with the column's own type, as the interface allows; refused is what can never be meant: another
number of columns. Who asks reads the schema that comes back.
https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html#schema-requests
"""

from array import array
from functools import partial

from lend._core import kernels
from lend.columns import forms, recoding, refusals, roles
from lend.columns.anatomy import Anatomy, stored_as, width_of
from lend.columns.column import Column
from lend.columns.drafts import BITS, NONE, Draft, Writing, each_chunk, kept, lead_of, retyped, unchanged
from lend.dtypes.dtype import DType, logical_of
from lend.errors import LendError, UnsupportedType
from lend.views import values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TEXT = {"u": "z", "U": "Z", "vu": "vz"}
_BYTES = {wide: text for text, wide in _TEXT.items()}
_WIDER = {"u": "U", "z": "Z", "+l": "+L"}
_NARROWER = {wide: small for small, wide in _WIDER.items()}
_INDICES = "cCsSiIlL"


def check_options(method: str, options: "dict[str, Any]") -> None:
    """Options of the device methods that lend does not know may be there as long as they say nothing."""
    odd = sorted(name for name, value in options.items() if value is not None)
    if odd:
        raise refusals.no_options(method, odd)


def fitted(column: Column, wanted: "DType | None") -> Column:
    """The column as it is asked for, where that can be; else itself."""
    if wanted is None or not column.device.is_host or (wanted == column.dtype and not _is_bool8(wanted)):
        return column
    _check_fields(column, wanted)
    try:
        return each_chunk(column, partial(_fitted_chunk, wanted)).make()
    except LendError:
        return column  # a value that the other type has no room for: its own type is the answer


def _check_fields(column: Column, wanted: DType) -> None:
    own, asked = column.dtype, wanted
    if own.kind == "struct" and (asked.kind != "struct" or len(asked.children) != len(own.children)):
        raise UnsupportedType.build(
            f"{refusals.named(column)} has {len(own.children)} fields, and was asked for as {str(asked)[:60]}",
            came=refusals.came(column),
            remedy="a schema of as many fields",
        )


def _fitted_chunk(wanted: DType, column: Column) -> Draft:
    own = column.dtype
    if own.dictionary is not None or wanted.dictionary is not None:
        return _other_index(column, wanted)
    if _is_bool8(wanted):
        return _as_bool8(column)
    asked, told = _format(wanted), _format(own)
    if _is_bool8(own):
        if asked == "c" and roles.is_bool8(column.metadata):
            return relabelled(column, wanted)
        return _as_bits(column) if asked == "b" else unchanged(column)
    if own == wanted or told is None or asked is None or _extension(wanted) != _extension(own):
        return unchanged(column)
    if (told, asked) == ("i", "l") and _extension(own) is None:
        return _wider(column, wanted)
    if told == asked:
        return _other_children(column, wanted) if own.children else unchanged(column)
    if asked in (_WIDER.get(told), _NARROWER.get(told)):
        if own.children and _children(own) != _children(wanted):
            return unchanged(column)
        return recoding.widened(column) if asked == _WIDER.get(told) else recoding.narrowed(column)
    if _extension(own) is not None:
        return unchanged(column)
    if _TEXT.get(told) == asked:
        return relabelled(column, wanted)
    if _BYTES.get(told) == asked:
        draft = relabelled(column, wanted)
        draft.made().verify(full=True)  # bytes that are no text are no text under another name
        return draft
    return unchanged(column)


def _format(dtype: DType) -> "str | None":
    try:
        return str(dtype.arrow)
    except LendError:
        return None


def _children(dtype: DType) -> "list[DType]":
    return [child for _, child in dtype.children]


def _extension(dtype: DType) -> "Any":
    logical = logical_of(dtype)
    return None if logical is None else logical.extension


def _is_bool8(dtype: DType) -> bool:
    """Whether a dtype is that of Arrow's extension, which is the bool of one byte."""
    return dtype.kind == "bool" and logical_of(dtype) is None


def relabelled(column: Column, wanted: DType) -> Draft:
    """The same memory under another type."""
    parts = Anatomy(column)
    draft = kept(parts, lead_of(parts, keeps_bits=parts.form == "bitmask"))
    draft.dtype, draft.metadata = wanted, _without_extension(column)
    return draft


def _without_extension(column: Column) -> "dict[bytes, bytes]":
    return {key: value for key, value in column.metadata.items() if not key.startswith(b"ARROW:extension:")}


def _as_bool8(column: Column) -> Draft:
    """Bools of one byte: those of bits are written, others lie so."""
    if not _is_bool8(column.dtype):
        draft = forms.unpacked(column)
        if draft.same:
            return draft
    elif roles.is_bool8(column.metadata):
        return unchanged(column)
    elif Anatomy(column).nulls.kind not in ("none", "bitmask"):
        draft = _with_bits(column)
    else:
        draft = relabelled(column, column.dtype)
    draft.metadata = {**column.metadata, **roles.BOOL8}
    return draft


def _with_bits(column: Column) -> Draft:
    """Bools of one byte as they lie, their nulls in bits."""
    parts = Anatomy(column)
    draft = kept(parts)
    draft.nulls = NONE
    draft.buffers.pop("validity", None)
    if forms.null_count(parts):
        draft.nulls = BITS
        draft.buffers["validity"] = forms.bitmap(parts)
        draft.reasons = ["nulls as bits"]
    return draft


def _as_bits(column: Column) -> Draft:
    """Bools of one bit, of those of one byte."""
    parts = Anatomy(column)
    lead = lead_of(parts, keeps_bits=parts.form == "bitmask")
    draft = kept(parts, lead)
    draft.dtype, n = DType.from_arrow("b"), parts.n + lead
    draft.metadata = _without_extension(column)
    draft.reasons = ["bools of one byte each"] if parts.n else []
    if parts.n:
        draft.buffers["data"] = Writing(
            (n + 7) // 8, lambda to: kernels.bytes_to_bits(to, 0, parts.at(-lead), parts.step, 0, n)
        )
    return draft


def _other_children(column: Column, wanted: DType) -> Draft:
    """Structs, and lists of one length, of which a child is asked for as another type."""
    parts = Anatomy(column)
    if parts.layout not in ("struct", "fixed list"):
        return unchanged(column)
    draft = kept(parts, lead_of(parts, keeps_bits=parts.form == "bitmask"))
    asked = _children(wanted)
    draft.children = [
        child if each.kind == "bool" else _fitted_chunk(each, child.source)
        for each, child in zip(asked, draft.children, strict=True)
    ]
    if all(child.same for child in draft.children):
        return unchanged(column)
    draft.dtype = retyped(parts.dtype, [child.dtype for child in draft.children])
    draft.reasons = [reason for child in draft.children for reason in child.reasons]
    return draft


def _other_index(column: Column, wanted: DType) -> Draft:
    """Indices of another width, where all of them have room."""
    own, format = column.dtype, _format(wanted)
    if own.dictionary != wanted.dictionary or own.dictionary is None or bool(own.ordered) != bool(wanted.ordered):
        return unchanged(column)
    if format is None or format not in _INDICES or _extension(own) != _extension(wanted):
        return unchanged(column)
    parts = Anatomy(column)
    index = DType.from_arrow(format)
    words = column.dictionary
    assert words is not None
    width = width_of(index)
    if parts.n and len(words) - 1 > 2 ** (8 * width - (index.kind == "int")) - 1:
        return unchanged(column)
    draft = kept(parts)
    draft.dtype, draft.nulls = wanted, NONE
    draft.buffers.pop("validity", None)
    if not parts.n:
        return draft
    if forms.null_count(parts) or parts.form != "none":
        draft.nulls = BITS
        draft.buffers["validity"] = forms.bitmap(parts)
    draft.buffers["data"] = Writing(parts.n * width, partial(_indices, parts, len(words), width))
    draft.reasons = ["indices of another width"]
    return draft


def _wider(column: Column, wanted: DType) -> Draft:
    """Integers of 32 bits in 64, which loses nothing: the one cast of numbers that a kernel of lend's does."""
    parts = Anatomy(column)
    draft = kept(parts)
    draft.dtype, draft.nulls = wanted, NONE
    draft.buffers.pop("validity", None)
    if not parts.n:
        return draft
    if parts.form != "none":
        draft.nulls = BITS
        draft.buffers["validity"] = forms.bitmap(parts)
    draft.buffers["data"] = Writing(8 * parts.n, partial(_widen, parts))
    draft.reasons = ["integers of 32 bits"]
    return draft


def _widen(parts: Anatomy, to: int) -> None:
    source, step, _elements = parts.native()
    kernels.widen(to, source, step, 0, parts.n)


def _indices(parts: Anatomy, count: int, width: int, to: int) -> None:
    """The indices in another width, 0 under nulls."""
    n, signed = parts.n, stored_as(parts.dtype).kind == "int"
    (source, step, _elements), (mask, _bits) = parts.native(), parts.any_mask()
    table = array("i", range(count))
    codes = values.fresh(n * width)
    wrong = kernels.remap(
        codes.ptr, width, source, step, parts.width, signed, *mask, table.buffer_info()[0], len(table), n
    )
    if wrong >= 0:
        raise refusals.contradicts(
            parts.column, f"the index at element {wrong} is none of its {count} dictionary values"
        )
    kernels.fill_nulls(to, codes.ptr, width, width, *mask, bytes(width), n)
