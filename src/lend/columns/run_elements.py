"""Elements of one width as a run: what lies under nulls, and how days, bits and integers become what arrays have."""

import struct
from functools import partial

from lend._core import kernels
from lend.columns import forms, moments, roles
from lend.columns import run_refusals as refused
from lend.columns.anatomy import NAT, Anatomy, packed_value, stored_as, swap_of
from lend.columns.numbers import packed
from lend.columns.runs import BESIDE, Run, Wish
from lend.dtypes.dtype import DType
from lend.views import values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from lend.columns.column import Column
    from lend.views.view import View

BLOCK = 1 << 14
NAN = struct.pack("d", float("nan"))
_NAT = struct.pack("q", NAT)


class _Chunk:
    """One chunk, and what has to be done to its elements."""

    __slots__ = ("days", "floats", "odd", "parts", "pattern")

    def __init__(self, column: "Column", days: bool) -> None:
        self.parts = Anatomy(column)
        self.days = days
        self.pattern: bytes | None = None
        self.floats = False
        self.odd = _is_odd(self.parts)


def fixed(columns: "list[Column]", dtype: DType, wish: Wish, whole: "Column") -> Run:
    """Elements of one width, as `dtype`, which has the width of what is stored, but for bits and days of 32 bits."""
    chunks = [_Chunk(column, dtype.kind == "datetime" and int(stored_as(column.dtype).itemsize) == 4)
              for column in columns]  # fmt: skip
    n = sum(chunk.parts.n for chunk in chunks)
    count = 0 if wish.nulls is BESIDE else _nulls(columns)
    if count:
        dtype = _filled(chunks, dtype, count, wish, whole)
    if dtype.kind in ("datetime", "timedelta"):
        for chunk in chunks:
            if chunk.parts.form != "nat" and not chunk.days and forms._has(chunk.parts, _NAT):
                raise refused.valid_nat(whole, wish)
    run = Run(whole, dtype, (n,))
    reasons = [f"{len(chunks)} chunks"] if len(chunks) > 1 else []
    for chunk in chunks:
        reasons += _why(chunk, dtype)
        if wish.native and swap_of(chunk.parts.dtype) > 1:
            reasons.append("byte order")
    if wish.copy and chunks and not reasons:
        reasons.append("copy=True")
    if len(chunks) == 1 and not reasons:
        run.view = _lying(columns[0], dtype)
        run.dtype = run.view.dtype
        return run
    run.dtype = dtype = dtype.newbyteorder("native") if not dtype.is_native else dtype
    run.reasons = list(dict.fromkeys(reasons))
    width = int(dtype.itemsize)
    for chunk in chunks:
        run.pieces.append((chunk.parts.n * width, partial(_write, chunk)))
    run.nbytes = n * width
    return run


def _nulls(columns: "Sequence[Column]") -> int:
    """Elements that are null, also by a dictionary."""
    found = 0
    for column in columns:
        if column.dictionary is not None and column.dictionary.null_count:
            found += column.null_count
        else:
            found += forms.nulls_in(column)
    return found


def _why(chunk: _Chunk, dtype: DType) -> "list[str]":
    parts, found = chunk.parts, []
    if parts.layout == "bits":
        found.append("bit-packed")
    if chunk.odd:
        found.append("bools that are neither 0 nor 1")
    if chunk.days:
        found.append("days of 4 bytes")
    if chunk.floats:
        found.append("integers as float64")
    elif chunk.pattern is not None:
        if dtype.kind in ("float", "bfloat") and chunk.pattern == packed_value(parts.column, float("nan")):
            found.append("NaN under nulls")
        else:
            is_nat = dtype.kind in ("datetime", "timedelta") and chunk.pattern == _NAT
            found.append("NaT under nulls" if is_nat else "a value under nulls")
    return found


def _is_odd(parts: Anatomy) -> bool:
    """Whether there are bools of Arrow's bool8, of which any byte but 0 is true, that are not the 1 of all others."""
    if parts.dtype.kind != "bool" or parts.layout != "fixed" or not roles.is_bool8(parts.column.metadata):
        return False
    room = values.fresh(min(parts.n, BLOCK))
    for start in range(0, parts.n, BLOCK):
        count = min(BLOCK, parts.n - start)
        parts.gather(room.ptr, start, count)
        if bytes(room[:count]).translate(None, b"\0\1"):
            return True
    return False


def _even_out(to: int, n: int) -> None:
    """Bools of one byte in place, each 0 or 1: by way of bits."""
    room = values.fresh((min(n, BLOCK) + 7) // 8)
    for start in range(0, n, BLOCK):
        count = min(BLOCK, n - start)
        kernels.bytes_to_bits(room.ptr, 0, to + start, 1, 0, count)
        kernels.bits_to_bytes(to + start, 1, room.ptr, 0, 0, count)


def _lying(column: "Column", dtype: DType) -> "View":
    """The elements where they lie."""
    from lend.columns.parts import elements

    found = elements(column, column.offset)
    if dtype.kind == "opaque" and not dtype.itemsize:
        return found
    return found if found.dtype == dtype else found.reinterpret(dtype)


def _filled(chunks: "list[_Chunk]", dtype: DType, count: int, wish: Wish, whole: "Column") -> DType:
    """Note what is put under the nulls of each chunk, or refuse them; the dtype that comes of it."""
    nulls, kind = wish.nulls, dtype.kind
    stated = {chunk.parts.form for chunk in chunks if chunk.parts.form != "none"}
    if nulls == "forbid":
        raise refused.forbidden(whole, count, wish)
    if type(nulls) is tuple:
        words = [chunk.parts.column.dictionary for chunk in chunks]
        if any(each is not None and each.null_count for each in words):
            raise refused.has_nulls(whole, count, dtype, wish)
        for chunk in chunks:
            chunk.pattern = _value(chunk, dtype, nulls[1], whole, wish)
        return dtype
    if stated == {"nan"} or (stated == {"nat"} and kind in ("datetime", "timedelta")):
        return dtype  # such values say so in the target, too
    if kind in ("datetime", "timedelta"):
        for chunk in chunks:
            if chunk.parts.form != "nat":
                chunk.pattern = _NAT
        return dtype
    if nulls != "nan" or kind not in ("int", "uint", "float", "bfloat"):
        raise refused.has_nulls(whole, count, dtype, wish)
    if kind in ("float", "bfloat"):
        for chunk in chunks:
            if chunk.parts.form == "nan":
                continue
            if forms._has(chunk.parts, None):
                raise refused.would_merge(whole, wish)
            chunk.pattern = packed_value(chunk.parts.column, float("nan"))
        return dtype
    if dtype.bits > 64:
        raise refused.has_nulls(whole, count, dtype, wish)
    first = 0
    for chunk in chunks:
        chunk.floats = True
        wrong = inexact(chunk.parts)
        if wrong >= 0:
            raise refused.inexact(whole, first + wrong, wish)
        first += chunk.parts.n
    return DType("float64")


def _value(chunk: _Chunk, dtype: DType, value: "Any", whole: "Column", wish: Wish) -> bytes:
    """What stands for null, as the bytes of an element."""
    if dtype.kind == "bool":
        if value is not True and value is not False:
            raise refused.no_value(whole, value, wish)
        return bytes([value])
    value = moments.as_number(dtype, value)
    if isinstance(value, bool) or dtype.kind not in ("int", "uint", "float", "bfloat", "datetime", "timedelta"):
        raise refused.no_value(whole, value, wish)
    days = packed(dtype, value) if chunk.days else None  # which is NumPy's, and wider than what is stored
    return days if days not in (None, _NAT) else packed_value(chunk.parts.column, value)


def inexact(parts: Anatomy) -> int:
    """The first valid integer that float64 does not hold, or -1: looked at through a small room, nothing is kept."""
    if parts.width < 8:
        return -1
    (source, step, _elements), (mask, _bits) = parts.native(), parts.any_mask()
    room = values.fresh(8 * min(parts.n, BLOCK))
    signed = stored_as(parts.dtype).kind == "int"
    for start in range(0, parts.n, BLOCK):
        n = min(BLOCK, parts.n - start)
        rows = _from_row(mask, start)
        wrong = kernels.to_float64(room.ptr, source + start * step, step, parts.width, signed, *rows, NAN, n)
        if wrong >= 0:
            return start + wrong
    return -1


def _from_row(mask: "tuple[int | None, int, int, int]", start: int) -> "tuple[int | None, int, int, int]":
    """A mask as kernels take it, from another row on."""
    address, bit, step, invert = mask
    if address is None:
        return mask
    return (address, bit + start, 0, invert) if not step else (address + start * step, 0, step, invert)


def _write(chunk: _Chunk, to: int) -> None:
    """The elements of one chunk, as they shall be."""
    parts, n = chunk.parts, chunk.parts.n
    if parts.layout == "bits":
        if chunk.pattern is None:
            kernels.bits_to_bytes(to, 1, parts.data, parts.offset, 0, n)
            return
        room = values.fresh(min(n, BLOCK))
        mask, _bits = parts.any_mask()
        for start in range(0, n, BLOCK):
            count = min(BLOCK, n - start)
            kernels.bits_to_bytes(room.ptr, 1, parts.data, parts.offset + start, 0, count)
            kernels.fill_nulls(to + start, room.ptr, 1, 1, *_from_row(mask, start), chunk.pattern, count)
    elif chunk.days:
        _days(chunk, to)
    elif chunk.floats:
        (source, step, _elements), (mask, _bits) = parts.native(), parts.any_mask()
        kernels.to_float64(to, source, step, parts.width, stored_as(parts.dtype).kind == "int", *mask, NAN, n)
    elif chunk.pattern is not None:
        (source, step, _elements), (mask, _bits) = parts.native(), parts.any_mask()
        kernels.fill_nulls(to, source, step, parts.width, *mask, chunk.pattern, n)
    else:
        parts.gather(to, 0, n)
    if chunk.odd:
        _even_out(to, n)


def _days(chunk: _Chunk, to: int) -> None:
    """Days of 32 bits as those of 64."""
    parts, n = chunk.parts, chunk.parts.n
    if chunk.pattern is None:
        kernels.widen(to, parts.at(0), parts.step, 0, n)
        return
    room = values.fresh(8 * min(n, BLOCK))
    mask, _bits = parts.any_mask()
    for start in range(0, n, BLOCK):
        count = min(BLOCK, n - start)
        kernels.widen(room.ptr, parts.at(start), parts.step, 0, count)
        kernels.fill_nulls(to + 8 * start, room.ptr, 8, 8, *_from_row(mask, start), chunk.pattern, count)
