"""Chunks brought into one, and copies of exactly what a column needs, as drafts: one road for both.

Elements, bits, offsets and bytes are appended in the order of the chunks; offsets are told anew from 0 on. What is no
layout of these (views, unions, runs) is not joined; of one chunk it is copied.
"""

import struct
from functools import partial

from lend._core import kernels
from lend.columns import refusals, roles
from lend.columns.anatomy import Anatomy
from lend.columns.building import vouched
from lend.columns.column import Column
from lend.columns.drafts import BITS, NONE, Draft, Writing, each_chunk, kept, retyped, unchanged
from lend.columns.forms import MASK, null_count, write_mask
from lend.dtypes.dtype import logical_of
from lend.errors import LendError, UnsupportedType
from lend.views import values
from lend.views.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from lend.dtypes.dtype import DType

_LARGEST = 2**31 - 1
_WIDE = {"u": "U", "z": "Z", "+l": "+L"}
_BLOCK = 1 << 14


def combined(column: Column) -> Draft:
    """All chunks in one; the only one that is not empty as it is."""
    chunks = column.chunks
    if len(chunks) == 1:
        return unchanged(column)
    full = [part for part in chunks if len(part)]
    if len(full) < 2:
        return unchanged((full or list(chunks) or [column])[0])
    draft = _joined(full, copy=False)
    draft.source, draft.reasons = column, [f"{len(full)} chunks"]
    return draft


def compact(column: Column) -> Draft:
    """A copy of exactly these elements, chunk by chunk, at offset 0."""
    return each_chunk(column, lambda part: _joined([part], copy=True))


def _joined(columns: "Sequence[Column]", copy: bool) -> Draft:
    """The draft of the elements of several, one after the other; of one alone a copy where that is asked for."""
    full = [column for column in columns if len(column)] or [columns[0][0:0]]
    if len(full) == 1 and not copy:
        return unchanged(full[0])
    parts = [Anatomy(column) for column in full]
    first = parts[0]
    if any(each.dtype != first.dtype for each in parts):
        raise _cannot(first, "are of different types")
    draft = Draft(full[0], first.dtype, sum(each.n for each in parts), 0)
    if first.layout in ("views", "list view", "union", "runs"):
        if len(parts) > 1:
            raise _cannot(first, f"of {first.dtype} are not brought into one by lend")
        return _copied(first)
    _join_nulls(draft, parts)
    if first.layout in ("text", "list"):
        _join_offsets(draft, parts, copy)
    elif first.layout == "bits":
        draft.buffers["data"] = _joined_bits(parts, draft.length)
    elif first.layout == "fixed":
        draft.buffers["data"] = Writing(draft.length * first.width, lambda to: _append_elements(parts, to))
    elif first.layout in ("struct", "fixed list"):
        times = (first.dtype.length or 0) if first.layout == "fixed list" else 1
        draft.children = [
            _joined([_cut(each, i, each.offset * times, (each.offset + each.n) * times) for each in parts], copy)
            for i in range(len(full[0].children))
        ]
    if full[0].dictionary is not None:
        draft.dictionary = _one_dictionary(parts, copy)
    return draft


def _cut(parts: Anatomy, child: int, start: int, stop: int) -> Column:
    return parts.column.children[child][start:stop]


def _cannot(parts: Anatomy, why: str) -> UnsupportedType:
    return UnsupportedType.build(
        f"the chunks of {refusals.named(parts.column)} {why}",
        came=refusals.came(parts.column),
        remedy='lend.column(x).chunks, each by itself; or lend.to(lend.column(x), "pyarrow").combine_chunks()',
    )


# -- nulls and elements ------------------------------------------------------------------------------------------------


def _join_nulls(draft: Draft, parts: "Sequence[Anatomy]") -> None:
    """Nulls in the form of all, or as bits where they differ."""
    forms = {(each.form, each.nulls.value) for each in parts}
    if len(forms) == 1 and parts[0].form in ("nan", "nat", "sentinel"):
        draft.nulls = parts[0].nulls
        return
    if not any(null_count(each) for each in parts):
        return
    n = draft.length
    if {form for form, _ in forms} <= {"bytemask", "none"}:
        draft.nulls = MASK
        draft.buffers["validity"] = Writing(n, lambda to: _append_mask(parts, to))
    else:
        draft.nulls = BITS
        draft.buffers["validity"] = Writing((n + 7) // 8, lambda to: _append_validity(parts, to))


def _append_mask(parts: "Sequence[Anatomy]", to: int) -> None:
    for each in parts:
        write_mask(each, to, 0, each.n)
        to += each.n


def _append_validity(parts: "Sequence[Anatomy]", to: int) -> None:
    at = 0
    for each in parts:
        if not each.write_bits(to, at, 0, each.n):
            kernels.copy_bits(to, at, None, 0, 0, each.n)
        at += each.n


def _append_elements(parts: "Sequence[Anatomy]", to: int) -> None:
    for each in parts:
        kernels.gather(to, each.width, each.at(0), each.step, each.width, 1, each.n)
        to += each.n * each.width


def _joined_bits(parts: "Sequence[Anatomy]", n: int) -> Writing:
    def write(to: int) -> None:
        at = 0
        for each in parts:
            kernels.copy_bits(to, at, each.data, each.offset, 0, each.n)
            at += each.n

    return Writing((n + 7) // 8, write)


# -- text and lists ----------------------------------------------------------------------------------------------------


def _join_offsets(draft: Draft, parts: "Sequence[Anatomy]", copy: bool) -> None:
    spans = [each.span(0, each.n) for each in parts]
    total = sum(stop - start for start, stop in spans)
    width, format = parts[0].width, draft.dtype.arrow
    if width == 4 and total > _LARGEST:
        if format not in _WIDE:
            raise _cannot(parts[0], f"have {total} elements together, and offsets of 32 bits lead to {_LARGEST}")
        draft.dtype, width = retyped(draft.dtype, format=_WIDE[format]), 8
    if draft.length:
        draft.buffers["offsets"] = Writing((draft.length + 1) * width, partial(_append_offsets, parts, spans, width))
    if parts[0].layout == "text":
        draft.buffers["data"] = Writing(total, lambda to: _append_bytes(parts, spans, to))
    else:
        draft.children = [_joined([_cut(each, 0, *span) for each, span in zip(parts, spans, strict=True)], copy)]


def _append_offsets(parts: "Sequence[Anatomy]", spans: "Sequence[tuple[int, int]]", width: int, to: int) -> None:
    before = 0
    for each, (start, stop) in zip(parts, spans, strict=True):
        each.check_offsets()
        rebase(to, width, each.at(0), each.width, start - before, each.n + 1)
        to += each.n * width
        before += stop - start


def rebase(to: int, to_width: int, source: int, width: int, base: int, n: int) -> None:
    """Offsets less a base, of the same width or of 64 bits; those of one width go by blocks through the other."""
    if width != to_width:
        kernels.widen(to, source, width, base, n)
        return
    held = values.fresh(8 * _BLOCK)
    between = held.ptr
    while n > 0:
        count = min(n, _BLOCK)
        if width == 4:
            kernels.widen(between, source, 4, base, count)
            kernels.narrow(to, between, 8, 0, kernels.EACH, count)
        else:
            from_here = View.from_pointer(source, 1, "int64", owner=held).item()
            far = kernels.narrow(between, source, 8, from_here, kernels.EACH, count)
            if far > 0:  # an offset more than 31 bits further on begins a block of its own
                count = far
                kernels.narrow(between, source, 8, from_here, kernels.EACH, count)
            kernels.widen(to, between, 4, base - from_here, count)
        to, source, n = to + count * width, source + count * width, n - count


def _append_bytes(parts: "Sequence[Anatomy]", spans: "Sequence[tuple[int, int]]", to: int) -> None:
    for each, (start, stop) in zip(parts, spans, strict=True):
        if stop > start:
            assert each.second is not None
            kernels.gather(to, 1, each.second + start, 1, 1, 1, stop - start)
            to += stop - start


# -- dictionaries ------------------------------------------------------------------------------------------------------


def _one_dictionary(parts: "Sequence[Anatomy]", copy: bool) -> Draft:
    """The dictionary that all have, by address or by value."""
    first = parts[0].column.dictionary
    assert first is not None
    for each in parts[1:]:
        other = each.column.dictionary
        if other is not None and not same_values(first, other):
            raise UnsupportedType.build(
                f"the chunks of {refusals.named(each.column)} have different dictionaries, which lend does not unify",
                came=refusals.came(each.column),
                remedy='lend.to(lend.column(x), "pyarrow").unify_dictionaries(); or each of lend.column(x).chunks',
            )
    return _joined([first], copy=True) if copy else unchanged(first)


def same_values(one: Column, other: Column) -> bool:
    """Whether two columns of one chunk have the same values: the same memory, or equal bytes, or the same objects."""
    if one is other:
        return True
    if len(one) != len(other) or one.dtype != other.dtype or one.null_count != other.null_count:
        return False
    if _address(one) == _address(other) is not None:
        return True
    if _bytes(_joined([one], copy=True).made()) == _bytes(_joined([other], copy=True).made()):
        return True
    try:
        return told_apart(one) == told_apart(other)
    except LendError:
        return False  # Python has no objects for them, and what bytes say stands


def told_apart(column: Column) -> "list[object]":
    """The values, or texts of them, equal only where nothing tells them apart: 0.0 is not -0.0, no hour another."""
    return [
        value if value is None or isinstance(value, str | bytes | int) else repr(value) for value in column.tolist()
    ]


def _address(column: Column) -> "tuple[object, ...] | None":
    """Where it lies; None of what lies in several columns."""
    if column.children:
        return None
    facts = [column.buffer_facts(place) for place in (0, 1, 2)]
    return (column.offset, column.stride, column.nulls, *[None if each is None else each[:2] for each in facts])


def _bytes(column: Column) -> "list[object]":
    """All that a compact copy is made of."""
    found: list[object] = [
        bytes(part)
        for buffer in column.buffers.values()
        for part in (buffer if isinstance(buffer, tuple) else (buffer,))
    ]
    found += [_bytes(child) for child in column.children]
    return found if column.dictionary is None else [*found, _bytes(column.dictionary)]


# -- copies of what is not joined --------------------------------------------------------------------------------------


def _copied(parts: Anatomy) -> Draft:
    """One chunk of views, a union or runs."""
    if parts.layout == "views":
        return _copied_views(parts)
    lead = parts.offset if parts.layout == "runs" else 0
    draft = kept(parts, lead)
    draft.buffers.pop("validity", None)
    draft.nulls, n = NONE, parts.n
    if parts.layout == "list view":
        _join_nulls(draft, [parts])
    if parts.layout != "runs" and n:
        first, second = ("type_ids", "offsets") if parts.layout == "union" else ("offsets", "sizes")
        draft.buffers[first] = Writing(n * parts.width, lambda to: parts.gather(to, 0, n))
        if second in draft.buffers:
            wide = 4 if parts.layout == "union" else parts.width
            at = parts.second or 0
            draft.buffers[second] = Writing(n * wide, lambda to: kernels.gather(to, wide, at, wide, wide, 1, n))
    draft.children = [_joined([child.source], copy=True) for child in draft.children]
    return draft


def _copied_views(parts: Anatomy) -> Draft:
    """Text in views, the longer ones one after the other in memory of their own; each is looked at, in Python."""
    draft = Draft(parts.column, parts.dtype, parts.n, 0)
    _join_nulls(draft, [parts])
    if not parts.n:
        return draft
    lost = values.fresh(parts.n)
    write_mask(parts, lost.ptr, 0, parts.n)
    buffers = parts.column.buffers
    views: memoryview = memoryview(buffers["views"].view("uint8"))[parts.offset * 16 :]
    variadic = buffers.get("variadic", ())
    assert isinstance(variadic, tuple)
    sources = [memoryview(part) for part in variadic]
    made, texts, sizes = bytearray(16 * parts.n), [[]], [0]  # type: tuple[bytearray, list[list[memoryview]], list[int]]
    for row, gone in enumerate(memoryview(lost)):
        if gone:
            continue
        view = views[16 * row : 16 * row + 16]
        size, _, which, start = struct.unpack("=i4sii", view)
        if size <= 12:
            made[16 * row : 16 * row + 16] = view
            continue
        if not 0 <= which < len(sources) or not 0 <= start <= len(sources[which]) - size:
            raise refusals.contradicts(parts.column, f"element {row} leads out of its data buffers")
        if sizes[-1] + size > _LARGEST:
            texts.append([])
            sizes.append(0)
        made[16 * row : 16 * row + 16] = struct.pack("=i4sii", size, bytes(view[4:8]), len(sizes) - 1, sizes[-1])
        texts[-1].append(sources[which][start : start + size])
        sizes[-1] += size
    held = (buffers, bytes(made))
    draft.buffers["views"] = Writing(16 * parts.n, lambda to: kernels.gather(to, 1, held[1], 1, 1, 1, 16 * parts.n))  # type: ignore[arg-type]
    draft.buffers["variadic"] = tuple(_texts(some, size) for some, size in zip(texts, sizes, strict=True) if size)
    return draft


def _texts(texts: "list[memoryview]", size: int) -> Writing:
    return Writing(size, lambda to: kernels.gather(to, 1, b"".join(texts), 1, 1, 1, size))  # type: ignore[arg-type]


def nothing(column: Column) -> Column:
    """A column without chunks, as one of no elements."""
    words = column.chunks[0].dictionary if column.chunks else None
    return _empty(column.dtype, column.name, column.metadata, None if words is None else words.metadata)


def _empty(
    dtype: "DType",
    name: str = "",
    metadata: "dict[bytes, bytes] | None" = None,
    words: "dict[bytes, bytes] | None" = None,
) -> Column:
    logical = logical_of(dtype)
    blobs = () if logical is None else [field[3] for field in logical.fields]  # bools of one byte have their type there
    if words is None and dtype.dictionary is not None and dtype.dictionary.name == "bool":
        words = roles.BOOL8  # which came by Arrow, that has no other name for them
    made = Column.from_buffers(
        dtype,
        0,
        {},
        children=[
            _empty(child, metadata=roles.pairs_of(blob)) for (_, child), blob in zip(dtype.children, blobs, strict=True)
        ],
        dictionary=None if dtype.dictionary is None else _empty(dtype.dictionary, metadata=words),
        name=name,
        metadata=metadata,
    )
    return vouched(made)
