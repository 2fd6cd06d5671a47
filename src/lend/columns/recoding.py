"""Offsets of another width, and indices as pandas has them, as drafts."""

from array import array
from functools import partial

from lend._core import kernels
from lend.columns import refusals
from lend.columns.anatomy import Anatomy, stored_as
from lend.columns.column import Column
from lend.columns.drafts import Draft, Writing, each_chunk, kept, lead_of, retyped, unchanged
from lend.columns.forms import null_count, write_mask
from lend.columns.nullness import Nulls
from lend.dtypes.dtype import DType, logical_of
from lend.errors import UnsupportedType
from lend.views import values
from lend.views.view import View

_CODES = (("c", 8), ("s", 16), ("i", 32), ("l", 64))

# -- offsets -----------------------------------------------------------------------------------------------------------

_WIDER = {"u": "U", "z": "Z", "+l": "+L"}
_NARROWER = {wide: small for small, wide in _WIDER.items()}


def widened(column: Column) -> Draft:
    """Text, bytes and lists with offsets of 64 bits."""
    return each_chunk(column, lambda part: _reoffset(part, _WIDER))


def narrowed(column: Column) -> Draft:
    """Text, bytes and lists with offsets of 32 bits; refused where they lead further."""
    return each_chunk(column, lambda part: _reoffset(part, _NARROWER))


def _reoffset(column: Column, formats: "dict[str, str]") -> Draft:
    parts = Anatomy(column)
    logical = logical_of(parts.dtype)
    format = None if logical is None or parts.dtype.dictionary is not None else formats.get(logical.format)
    if format is None:
        return unchanged(column)
    lead = lead_of(parts, keeps_bits=parts.form == "bitmask")
    draft = kept(parts, lead)
    draft.dtype = retyped(parts.dtype, format=format)
    if not parts.n:
        draft.buffers.clear()
        return draft
    count = parts.n + lead
    first, last = parts.span(-lead, parts.n)
    draft.reasons = ["offsets of 64 bits" if formats is _NARROWER else "offsets of 32 bits"]
    if formats is _WIDER:
        draft.buffers["offsets"] = Writing(8 * (count + 1), partial(_widen, parts, lead, first))
    else:
        if last - first > 2**31 - 1:
            raise UnsupportedType.build(
                f"{refusals.named(column)} spans {last - first} by its offsets, and 32 bits count to {2**31 - 1}",
                came=refusals.came(column),
                remedy="slices of it, each by itself",
            )
        draft.buffers["offsets"] = Writing(4 * (count + 1), partial(_narrow, parts, lead, first))
    if parts.layout == "text":
        whole = draft.buffers.get("data")
        if whole is not None:
            assert isinstance(whole, View)
            draft.buffers["data"] = whole[first:last]
    else:
        draft.children = [unchanged(child[first:last]) for child in column.children]
    return draft


def _widen(parts: Anatomy, lead: int, base: int, to: int) -> None:
    parts.check_offsets(lead)
    kernels.widen(to, parts.at(-lead), parts.step, base, parts.n + lead + 1)


def _narrow(parts: Anatomy, lead: int, base: int, to: int) -> None:
    wrong = kernels.narrow(to, parts.at(-lead), parts.step, base, kernels.MONOTONE, parts.n + lead + 1)
    if wrong >= 0:
        raise refusals.contradicts(parts.column, f"offset {wrong - lead} is less than the one before it, or too large")


# -- dictionaries ------------------------------------------------------------------------------------------------------


def codes_with_sentinel(
    column: Column, mapping: "list[int] | None" = None, dictionary: "Column | None" = None
) -> Draft:
    """Indices of the smallest signed width that is enough, -1 where the element is null, also by its dictionary value.

    `mapping` tells for each value of the dictionary the index of it in another `dictionary`, -1 if it is null.
    """
    return each_chunk(column, partial(_codes, mapping=mapping, dictionary=dictionary))


def _codes(column: Column, mapping: "list[int] | None", dictionary: "Column | None") -> Draft:
    parts = Anatomy(column)
    words = column.dictionary
    if words is None:
        raise UnsupportedType.build(f"{refusals.named(column)} has no dictionary", came=refusals.came(column))
    if mapping is None and words.null_count:
        mapping = [-1 if lost else i for i, lost in enumerate(_lost(words))]
    target = words if dictionary is None else dictionary
    format, bits = next((format, bits) for format, bits in _CODES if len(target) <= 1 << (bits - 1))
    stored = stored_as(parts.dtype)
    narrow = stored.kind == "int" and stored.bits == bits and stored.is_native
    as_it_is = parts.form == "none" or (parts.form == "sentinel" and parts.nulls.value == -1)
    count = 0 if as_it_is else null_count(parts)
    if mapping is None and narrow and (as_it_is or not count):
        return (
            unchanged(column) if as_it_is and dictionary is None else _coded(parts, retyped(parts.dtype), target, None)
        )
    dtype = retyped(parts.dtype, dictionary=target.dtype, format=format)
    draft = _coded(parts, dtype, target, Writing(parts.n * (bits >> 3), partial(_recode, parts, bits >> 3, mapping)))
    if parts.n:
        draft.reasons += [] if narrow else ["another width of indices"]
        draft.reasons += ["nulls of the dictionary"] if mapping is not None else []
        draft.reasons += ["nulls as -1"] if not as_it_is and count else []
    return draft


def _coded(parts: Anatomy, dtype: DType, target: Column, codes: "Writing | None") -> Draft:
    draft = kept(parts)
    draft.dtype, draft.dictionary, draft.nulls = dtype, unchanged(target), Nulls("sentinel", None, -1)
    draft.buffers.pop("validity", None)
    if codes is not None and parts.n:
        draft.buffers["data"] = codes
    return draft


def _recode(parts: Anatomy, width: int, mapping: "list[int] | None", to: int) -> None:
    """Indices by the mapping, -1 under nulls."""
    n, words = parts.n, parts.column.dictionary
    assert words is not None
    signed = stored_as(parts.dtype).kind == "int"
    (source, step, _elements), (mask, _bits) = parts.native(), parts.any_mask()
    table = array("i", mapping if mapping is not None else range(len(words)))
    codes = values.fresh(n * width)
    wrong = kernels.remap(
        codes.ptr, width, source, step, parts.width, signed, *mask, table.buffer_info()[0], len(table), n
    )
    if wrong >= 0:
        raise refusals.contradicts(
            parts.column, f"the index at element {wrong} is none of its {len(table)} dictionary values"
        )
    kernels.fill_nulls(to, codes.ptr, width, width, *mask, b"\xff" * width, n)


def _lost(column: Column) -> "list[bool]":
    """For each element whether it is null, also by a dictionary of its own."""
    if column.dictionary is not None or Anatomy(column).layout in ("union", "runs", "null"):
        return [value is None for value in column.tolist()]
    parts = Anatomy(column)
    found = values.fresh(parts.n)
    write_mask(parts, found.ptr, 0, parts.n)
    return [bool(lost) for lost in memoryview(found)]
