"""One form of a column into another, as drafts: what is shared, what is written and why.

Each function has its counterpart in `converting`, which carries it out.
"""

import struct
import sys
from functools import partial

from lend._core import kernels
from lend.columns import moments, refusals, roles
from lend.columns.anatomy import FLOATS, NAT, Anatomy, layout_of, packed_value, stored_as, swap_of
from lend.columns.column import Column
from lend.columns.drafts import BITS, NONE, Draft, Writing, each_chunk, kept, lead_of, merged, retyped, unchanged
from lend.columns.nullness import Nulls
from lend.dtypes.dtype import DType, logical_of
from lend.errors import LendError, UnsupportedType, change_remedy
from lend.views import values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NULLS = {
    "bytemask": "nulls as bytes",
    "nan": "nulls as NaN",
    "nat": "nulls as NaT",
    "sentinel": "nulls as a value",
    "bitmask": "nulls as bits of 1",
}
MASK = Nulls("bytemask", 1)


# -- Arrow data --------------------------------------------------------------------------------------------------------


def arrow_form(column: Column, *, reader: str = "") -> Draft:
    """As Arrow has it: bits for nulls and bools, elements side by side in this machine's byte order.

    `reader`: who gets it. Lists of one length that have nulls are cut out of nothing for polars, which panics of such
    (seen with 2.1), and structs within structs and such lists for arro3, which cuts them twice (seen with 0.9).
    """
    try:
        return each_chunk(column, partial(_arrow_chunk, reader=reader))
    except UnsupportedType as refusal:
        if column.dtype.kind == "struct":  # what was refused is inside of it
            change_remedy(refusal, "lend.table(lend.column(x)), and each column of it by itself")
        raise


def _arrow_chunk(column: Column, reader: str = "", within: str = "") -> Draft:
    parts = Anatomy(column)
    dtype, reasons = arrow_elements(parts)
    nulls = (
        None if parts.nulls.kind == "none" or (parts.form == "bitmask" and not parts.missing) else _nulls_bits(parts)
    )
    late = _is_late(parts, reader, within)
    kids = [_arrow_chunk(child, reader, parts.layout) for child in column.children]
    words = None if column.dictionary is None else _arrow_chunk(column.dictionary, reader)
    if words is not None and not words.same:
        dtype = retyped(dtype, dictionary=words.dtype)
    inner = [kid for kid in (*kids, *([words] if words else ())) if not kid.same]
    if not reasons and nulls is None and not inner and dtype == parts.dtype and not late:
        return unchanged(column)
    lead = lead_of(parts, keeps_bits=(parts.form == "bitmask" and nulls is None and not late) or parts.layout == "bits")
    draft = kept(parts, lead)
    if reader in ("polars", "arro3") or any(not kid.same for kid in kids):
        draft.children = [_arrow_chunk(kid.source, reader, parts.layout) for kid in draft.children]
        dtype = retyped(dtype, [kid.dtype for kid in draft.children])
    draft.dtype = dtype
    if words is not None:
        draft.dictionary = words
    if reasons and parts.n:
        draft.buffers["data"] = _arrow_data(parts, lead, dtype)
    if nulls is not None:
        draft.buffers.pop("validity", None)
        draft.nulls = NONE
        if nulls:
            draft.nulls = BITS
            draft.buffers["validity"] = bitmap(parts, lead)
            reasons.append(_NULLS[parts.form])
    elif late and parts.offset % 8 and "validity" in draft.buffers:
        draft.buffers["validity"] = bitmap(parts)
        reasons.append(f"nulls of {'structs' if parts.layout == 'struct' else 'lists'} that begin within a byte")
    draft.reasons = list(dict.fromkeys([*reasons, *merged([*draft.children, *([words] if words else ())])]))
    return draft


def _is_late(parts: Anatomy, reader: str, within: str) -> bool:
    """Whether a reader must get it from its first element on, which is not that of its memory."""
    if reader == "polars":
        return parts.layout == "fixed list" and "validity" in parts.column.buffers and _is_cut(parts)
    if reader != "arro3" or not parts.offset:
        return False
    inside = parts.layout in ("struct", "fixed list") and any(map(_has_struct, parts.column.children))
    return inside or (parts.layout == "struct" and within in ("struct", "fixed list"))


def _has_struct(column: Column) -> bool:
    """Whether a column is of structs, or of lists of one length of such."""
    layout = layout_of(column.dtype)
    return layout == "struct" or (layout == "fixed list" and any(map(_has_struct, column.children)))


def _is_cut(parts: Anatomy) -> bool:
    """Whether lists of one length are cut out of more: their elements are others than those of their child."""
    return parts.offset > 0 or len(parts.column.children[0]) != parts.n * int(parts.dtype.length or 0)


def _nulls_bits(parts: Anatomy) -> bool:
    """Whether there are nulls that bits must be made for."""
    return parts.form != "none" and null_count(parts) > 0


def null_count(parts: Anatomy) -> int:
    """Nulls by the column's own form; they are counted once where nothing else bears any."""
    if parts.form == "none":
        return 0
    return parts.null_count() if parts.dtype.dictionary is not None else parts.column.null_count


def nulls_in(column: Column) -> int:
    """The same of a column of one chunk, most of which need no anatomy for it."""
    if column.dictionary is not None or not column.device.is_host:
        return null_count(Anatomy(column))
    return 0 if column.nulls.kind == "none" else column.null_count


def bitmap(parts: Anatomy, lead: int = 0) -> Writing:
    """Arrow's validity."""
    n = parts.n + lead

    def write(to: int) -> None:
        if not parts.write_bits(to, 0, -lead, n):
            kernels.copy_bits(to, 0, None, 0, 0, n)  # somebody else has written meanwhile: no null is left

    return Writing((n + 7) // 8, write)


def arrow_elements(parts: Anatomy) -> "tuple[DType, list[str]]":
    """Arrow's type of elements, and what is different about how these lie."""
    dtype, reasons = parts.dtype, list[str]()
    if parts.layout != "fixed":
        return dtype, reasons
    if dtype.kind in ("bool", "bytes", "datetime", "timedelta") and logical_of(dtype) is None:
        if parts.dtype.kind != "bool":
            dtype = _own_type(parts)
        elif roles.is_bool8(parts.column.metadata):
            dtype = parts.dtype
        else:
            return _own_type(parts), ["bools of one byte each"] if parts.n else []
        if dtype.name == "date32":
            return dtype, ["days of 8 bytes"] if parts.n else []
    elif logical_of(dtype) is None:
        native = dtype if dtype.is_native else dtype.newbyteorder("native")
        try:
            native.arrow  # noqa: B018 - asked whether there is one
        except LendError:
            raise _no_arrow(parts) from None
        dtype = native
    # one element has none; but its bit of a mask has a number, and the element the same
    if parts.step != parts.width and (parts.n > 1 or (parts.form == "bitmask" and parts.offset)):
        reasons.append("stride")
    if parts.n and swap_of(parts.dtype) > 1:
        reasons.append("byte order")
    return dtype, reasons


def _own_type(parts: Anatomy) -> DType:
    """Arrow's type of what NumPy alone says so."""
    dtype = parts.dtype
    if dtype.kind == "bool":
        return DType.from_arrow("b")
    if dtype.kind == "bytes":
        return DType(f"opaque[{dtype.itemsize}]")
    if dtype.unit == "D" and dtype.kind == "datetime" and dtype.multiplier == 1:
        return DType.from_arrow("tdD")
    found = DType(str(dtype.newbyteorder("native")))
    try:
        found.arrow  # noqa: B018 - asked whether there is one
    except LendError:
        raise _no_arrow(parts) from None
    return found


def _no_arrow(parts: Anatomy) -> UnsupportedType:
    dtype, remedy = parts.dtype, None
    values = 'lend.to(lend.column(x), "numpy")'
    if dtype.kind in ("datetime", "timedelta"):
        remedy = f'{values}.astype("{dtype.kind}64[ns]"), or another of the units s, ms, us, ns'
    elif dtype.kind == "complex":
        remedy = f"{values}.real, and .imag of it: the parts apart"
    elif dtype.kind == "text":
        remedy = 'lend.to(lend.column(x), "pyarrow"), text that it makes'
    elif dtype.name == "longdouble":
        remedy = f'{values}.astype("float64"), which rounds'
    elif parts.width in (1, 2, 4, 8):
        remedy = f'lend.column(x).view().reinterpret("uint{8 * parts.width}"), the same bits'
    return UnsupportedType.build(
        f"Arrow has no {dtype}, of which {refusals.named(parts.column)} is",
        came=refusals.came(parts.column),
        remedy=remedy,
    )


def _arrow_data(parts: Anatomy, lead: int, dtype: DType) -> Writing:
    n = parts.n + lead
    if parts.dtype.kind == "bool" and dtype != parts.dtype:  # bools that stay bytes are elements like others
        return Writing((n + 7) // 8, lambda to: kernels.bytes_to_bits(to, 0, parts.at(-lead), parts.step, 0, n))
    if dtype.name == "date32" and parts.width == 8:
        return Writing(4 * n, partial(_days, parts, lead))
    return Writing(n * parts.width, lambda to: parts.gather(to, -lead, n))


def _days(parts: Anatomy, lead: int, to: int) -> None:
    n = parts.n + lead
    source = None if parts.dtype.is_native else parts.gathered(-lead, n)
    at, step = (parts.at(-lead), parts.step) if source is None else (source.ptr, 8)
    wrong = kernels.narrow(to, at, step, 0, kernels.EACH, n)
    if wrong >= 0:
        raise UnsupportedType.build(
            f"day {wrong - lead} of {refusals.named(parts.column)} is too far away for Arrow's dates of 32 bits",
            came=refusals.came(parts.column),
            remedy='x.astype("datetime64[s]")',
        )


# -- arrays, masks, values under nulls ---------------------------------------------------------------------------------


def unpacked(column: Column) -> Draft:
    """Bools of one byte each."""
    return each_chunk(column, _unpacked_chunk)


def _unpacked_chunk(column: Column) -> Draft:
    parts = Anatomy(column)
    if parts.layout != "bits":
        return unchanged(column)
    lead = lead_of(parts, keeps_bits=parts.form == "bitmask")
    draft = kept(parts, lead)
    draft.dtype, draft.reasons = DType("bool"), ["bit-packed"] if parts.n else []
    if parts.n:
        draft.buffers["data"] = _bools(parts, lead)
    return draft


def _bools(parts: Anatomy, lead: int = 0) -> Writing:
    n = parts.n + lead
    return Writing(n, lambda to: kernels.bits_to_bytes(to, 1, parts.data, parts.offset - lead, 0, n))


def contiguous(column: Column) -> Draft:
    """Elements side by side, in this machine's byte order; nulls as they are."""
    return each_chunk(column, _contiguous_chunk)


def _contiguous_chunk(column: Column) -> Draft:
    parts = Anatomy(column)
    reasons = _how_laid(parts)
    if parts.n == 1 and parts.layout == "fixed" and parts.offset and parts.step != parts.width:
        reasons.insert(0, "stride")  # an offset counts elements that lie side by side, of one alone, too
    if not reasons:
        return unchanged(column)
    lead = lead_of(parts, keeps_bits=parts.form == "bitmask")
    draft = kept(parts, lead)
    draft.buffers["data"] = Writing((parts.n + lead) * parts.width, lambda to: parts.gather(to, -lead, parts.n + lead))
    draft.dtype, draft.reasons = parts.dtype.newbyteorder("native") if "byte order" in reasons else parts.dtype, reasons
    return draft


def _how_laid(parts: Anatomy) -> "list[str]":
    found = []
    if parts.layout == "fixed" and parts.n > 1 and parts.step != parts.width:
        found.append("stride")
    if parts.layout == "fixed" and parts.n and swap_of(parts.dtype) > 1:
        found.append("byte order")
    return found


def masked(column: Column) -> Draft:
    """Nulls as a byte beside each element, 1 where it is null; the values as they are."""
    return each_chunk(column, _masked_chunk)


def _masked_chunk(column: Column) -> Draft:
    parts = Anatomy(column)
    if parts.form == "bytemask" and parts.missing:
        return unchanged(column)
    draft = kept(parts, lead_of(parts, keeps_bits=parts.layout == "bits"))
    lead = draft.offset  # a draft that its own writing closes over would go by the collector alone
    draft.nulls, n = MASK, parts.n + lead
    draft.buffers["validity"] = Writing(n, lambda to: write_mask(parts, to, -lead, n))
    draft.reasons = [_NULLS[parts.form] if parts.form != "bitmask" else "nulls as bits"] if parts.form != "none" else []
    draft.reasons = draft.reasons or ["no mask"]
    return draft


def write_mask(parts: Anatomy, to: int, start: int, n: int) -> None:
    """A byte for each of n rows, 1 where it is null."""
    if parts.form in ("none", "bitmask"):
        mask, bit, _, invert = parts.rows(start)
        kernels.bits_to_bytes(to, 1, mask, bit, 1 - invert, n)
    elif parts.form == "bytemask":
        mask, _, step, invert = parts.rows(start)
        assert mask is not None
        kernels.nulls_to_bytes(to, 1, mask, step, 1, kernels.INTEGER, b"\0", invert, n)
    else:
        bits, bit, _held = parts.valid_bits(start, n)
        kernels.bits_to_bytes(to, 1, bits, bit, 1, n)


def filled(column: Column, value: "Any", *, merge: bool = False) -> Draft:
    """A value under the nulls: "nan", "nat", or one of the dtype's own.

    Integers become float64 with "nan", where each is exact. With "nan" and "nat" what has such values already is
    refused, as they would be nulls like the others; `merge` allows it.
    """
    if not any(map(nulls_in, column.chunks)):
        return each_chunk(column, _without_nulls)
    return each_chunk(column, lambda part: _filled_chunk(part, value, merge))


def _without_nulls(column: Column) -> Draft:
    if column.nulls.kind == "none":
        return unchanged(column)
    parts = Anatomy(column)
    draft = kept(parts, lead_of(parts, keeps_bits=parts.layout == "bits"))
    draft.buffers.pop("validity", None)
    draft.nulls = NONE
    return draft


def _filled_chunk(column: Column, value: "Any", merge: bool) -> Draft:
    parts = Anatomy(column)
    if parts.layout == "bits":
        return _filled_bits(parts, value)
    value = moments.as_number(parts.dtype, value)
    _check_fillable(parts, value)
    stored = stored_as(parts.dtype)
    if isinstance(value, str) and value == parts.form:
        return contiguous(column)  # such values say so already
    draft = kept(parts)
    draft.buffers.pop("validity", None)
    n = parts.n
    draft.nulls, draft.reasons = NONE, ["a value under nulls"] if n else []
    if value == "nan" and stored.kind in ("int", "uint"):
        draft.dtype, draft.nulls, draft.reasons = DType("float64"), Nulls("nan"), ["integers as float64"] if n else []
        draft.buffers["data"] = Writing(8 * n, partial(_floats, parts))
        return draft
    if isinstance(value, str):
        pattern = packed_value(column, float("nan")) if value == "nan" else NAT.to_bytes(8, sys.byteorder, signed=True)
        draft.nulls, draft.reasons = Nulls(value), [f"{'NaN' if value == 'nan' else 'NaT'} under nulls"] if n else []
        if not merge and n and _has(parts, None if value == "nan" else pattern):
            raise _would_merge(parts, value)
    else:
        pattern = packed_value(column, value)
    if not parts.dtype.is_native:
        draft.dtype = parts.dtype.newbyteorder("native")
    draft.buffers["data"] = Writing(n * parts.width, lambda to: _fill(parts, to, pattern))
    return draft


def _check_fillable(parts: Anatomy, value: "Any") -> None:
    """Whether such a value can stand under nulls of this dtype."""
    kind = parts.dtype.kind if parts.layout == "fixed" and parts.dtype.dictionary is None else ""
    if value == "nan" and kind in ("int", "uint", "float", "bfloat"):
        return
    if value == "nat" and kind in ("datetime", "timedelta"):
        return
    plain = ("int", "uint", "float", "bfloat", "bool", "datetime", "timedelta", "date", "time")
    if kind in plain and not isinstance(value, str):
        return
    raise UnsupportedType.build(
        f"nulls of {parts.dtype} cannot be filled with {value!r:.60}",
        came=refusals.came(parts.column),
        remedy="a mask in their place, or a library that computes" if kind in plain else None,
    )


def _has(parts: Anatomy, pattern: "bytes | None") -> bool:
    """Whether a valid element is NaN, or the integer of the pattern."""
    n, (source, step, _elements) = parts.n, parts.native()
    kind = kernels.INTEGER if pattern is not None else FLOATS[stored_as(parts.dtype).kind]
    if not kernels.nulls_to_bits(None, 0, source, step, parts.width, kind, pattern, n):
        return False
    others = values.fresh((n + 7) // 8)
    kernels.nulls_to_bits(others.ptr, 0, source, step, parts.width, kind, pattern, n)
    bits, at, _mask = parts.valid_bits(0, n)
    return kernels.and_bits(None, 0, bits, at, others.ptr, 0, n) > parts.null_count()


def _would_merge(parts: Anatomy, value: str) -> UnsupportedType:
    word = "NaN" if value == "nan" else "NaT"
    return UnsupportedType.build(
        f"{refusals.named(parts.column)} has nulls and {word} that is a value, and with {word} under the nulls nobody "
        "could tell them apart",
        came=refusals.came(parts.column),
        remedy="a target that has a mask, or a value to fill the nulls with",
    )


def _fill(parts: Anatomy, to: int, pattern: bytes) -> None:
    """The elements, with the pattern under nulls."""
    (source, step, _elements), (mask, _bits) = parts.native(), parts.any_mask()
    kernels.fill_nulls(to, source, step, parts.width, *mask, pattern, parts.n)


def _floats(parts: Anatomy, to: int) -> None:
    """Integers as float64, with NaN under nulls; refused where one is beyond what float64 holds exactly."""
    (source, step, _elements), (mask, _bits) = parts.native(), parts.any_mask()
    signed = stored_as(parts.dtype).kind == "int"
    nan = struct.pack("d", float("nan"))
    wrong = kernels.to_float64(to, source, step, parts.width, signed, *mask, nan, parts.n)
    if wrong >= 0:
        raise UnsupportedType.build(
            f"element {wrong} of {refusals.named(parts.column)} is beyond 2**53, and float64 does not hold it exactly",
            came=refusals.came(parts.column),
            remedy="a target that has a mask, or a value of its own type to fill the nulls with",
        )


def _filled_bits(parts: Anatomy, value: "Any") -> Draft:
    if value is not True and value is not False:
        raise UnsupportedType.build(
            f"nulls of {parts.dtype} cannot be filled with {value!r:.60}",
            came=refusals.came(parts.column),
            remedy="True or False, or a mask in their place",
        )
    draft = kept(parts)
    draft.dtype, draft.nulls = DType("bool"), NONE
    draft.buffers.pop("validity", None)
    draft.reasons = ["bit-packed", "a value under nulls"] if parts.n else []

    def write(to: int) -> None:
        bools = values.fresh(parts.n)
        kernels.bits_to_bytes(bools.ptr, 1, parts.data, parts.offset, 0, parts.n)
        kernels.fill_nulls(to, bools.ptr, 1, 1, *parts.rows(0), bytes([value]), parts.n)

    if parts.n:
        draft.buffers["data"] = Writing(parts.n, write)
    return draft


def array_needs(column: Column) -> "list[str]":
    """What of one chunk an array in memory does not have."""
    parts = Anatomy(column)
    found = _how_laid(parts)
    if parts.layout == "bits" and parts.n:
        found.append("bit-packed")
    if parts.form not in ("none", "nan", "nat") and null_count(parts):
        found.append(_NULLS[parts.form] if parts.form != "bitmask" or parts.missing else "nulls as bits")
    return found
