"""A column as one run of elements in memory, as arrays have them: what is shared, what is written and why.

All that has to be done (chunks brought into one, bits unpacked, values put under nulls) is done in one pass into one
piece of memory, which is told in bytes before it is made. Nothing of the source is changed.
"""

import struct
from array import array
from functools import partial

from lend._core import copies, kernels
from lend.columns import forms, refusals
from lend.columns import run_refusals as refused
from lend.columns.anatomy import NAT, Anatomy, layout_of, packed_value, stored_as, swap_of
from lend.columns.scalars import base
from lend.dtypes.dtype import DType
from lend.views import values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from lend.columns.column import Column
    from lend.views.view import View

_BLOCK = 1 << 14
_NAN = struct.pack("d", float("nan"))
_NAT = struct.pack("q", NAT)
BESIDE = "beside"  # of nulls: a mask beside the elements tells them, and what lies under them is whatever it is


class Wish:
    """What is asked of the elements.

    Attributes
    ----------
    target : str
        As messages name it.
    nulls : object
        None, "nan", "forbid", ("fill", value), or BESIDE.
    numpy : bool
        True where the target has NumPy's times, fixed bytes and records.
    storage, drops_zone : bool
        Whether times and codes go as the numbers that are stored; whether a time zone may be dropped.
    native, copy : bool
        Whether this machine's byte order is needed; whether all is written anew, whatever it is.
    """

    __slots__ = ("copy", "drops_zone", "native", "nulls", "numpy", "storage", "target")

    def __init__(
        self,
        target: str,
        nulls: "Any" = None,
        *,
        numpy: bool = False,
        storage: bool = False,
        drops_zone: bool = False,
        native: bool = False,
        copy: bool = False,
    ) -> None:
        self.target, self.nulls, self.numpy = target, nulls, numpy
        self.storage, self.drops_zone, self.native, self.copy = storage, drops_zone, native, copy


class Run:
    """Elements of one dtype, as they lie, or as they will be written.

    Attributes
    ----------
    dtype : DType
    shape : tuple of int
    view : View or None
        The elements as they lie; None where they are to be written.
    nbytes : int
        Bytes that are written.
    reasons, notes : list of str
        Why, and what the reader should know of what becomes of the values.
    """

    __slots__ = ("came", "dtype", "name", "nbytes", "notes", "pieces", "reasons", "shape", "strides", "view")

    def __init__(
        self, whole: "Column | None", dtype: DType, shape: "tuple[int, ...]", came: "str | None" = None
    ) -> None:
        self.name = None if whole is None else whole.name
        self.dtype, self.shape = dtype, shape
        self.strides: tuple[int, ...] | None = None  # None: row by row
        self.came = refusals.came(whole) if came is None and whole is not None else came or ""
        self.view: View | None = None
        self.nbytes = 0
        self.pieces: list[tuple[int, Callable[[int], object]]] = []
        self.reasons: list[str] = []
        self.notes: list[str] = []

    def is_written(self) -> bool:
        return self.view is None

    def write(self, to: int) -> None:
        """All elements, side by side from an address on."""
        if self.view is not None:
            put(self.view.reshape(-1) if self.view.ndim != 1 else self.view, to, self.dtype.itemsize)
            return
        for nbytes, write in self.pieces:
            write(to)
            to += nbytes

    def make(self) -> "View":
        """The elements; what is written for them is counted."""
        if self.view is not None:
            return self.view
        memory = values.fresh(self.nbytes)
        self.write(memory.ptr)
        if self.nbytes:
            copies.note(self.came, ", ".join(self.reasons), self.nbytes)
        return memory.buffer.view(self.dtype, self.shape, self.strides)


def put(view: "View", to: int, step: int) -> None:
    """The elements of a line, so many bytes apart, in this machine's byte order."""
    if len(view):
        assert view.strides is not None
        kernels.gather(to, step, view.ptr, view.strides[0], view.itemsize, swap_of(view.dtype), len(view))


def stacked(runs: "Sequence[Run]", rows: int, dtype: DType, came: str) -> Run:
    """Runs of one dtype as the columns of one array, which lie one after the other."""
    width = int(dtype.itemsize)
    made = Run(None, dtype, (rows, len(runs)), came)
    if len(runs) == 1 and runs[0].view is not None:
        made.view = runs[0].view.reshape(rows, 1)
        return made
    made.strides = (width, rows * width)
    made.pieces = [(rows * width, run.write) for run in runs]
    made.nbytes = rows * width * len(runs)
    made.reasons = list(dict.fromkeys(["columns side by side", *[reason for run in runs for reason in run.reasons]]))
    made.notes = [note for run in runs for note in run.notes]
    return made


def run_of(column: "Column", wish: Wish) -> Run:
    """The elements of a column, as one run."""
    full = [part for part in column.chunks if len(part)]
    run = _run(full, column.dtype, wish, column)
    told = column.dtype.extension
    if told is not None:
        run.notes.append(f"the name of the extension type {told[0]!r} is lost: these are what it is stored as")
    return run


def _run(parts: "list[Column]", dtype: DType, wish: Wish, whole: "Column") -> Run:
    """The same of non-empty chunks of one type; `whole` is who is named in messages."""
    layout = layout_of(dtype)
    if dtype.dictionary is not None:
        if not wish.storage:
            raise refused.dictionary(whole, wish)
        _check_one_dictionary(parts, whole, wish)
        return _fixed(parts, stored_as(dtype), wish, whole)
    kind = base(dtype).kind
    if layout in ("fixed list", "list"):
        return _lists(parts, dtype, wish, whole)
    if layout == "struct" and wish.numpy:
        return _records(parts, dtype, wish, whole)
    if layout == "bits":
        return _fixed(parts, DType("bool"), wish, whole)
    if layout == "null" and wish.nulls == "nan":
        return _only_nan(whole)
    if layout != "fixed" or kind in ("decimal", "interval"):
        raise refused.no_array(whole, dtype, wish)
    if kind in ("datetime", "timedelta", "date", "time"):
        return _times(parts, dtype, wish, whole)
    stored = stored_as(dtype)
    if stored.kind == "opaque" and wish.numpy and stored.itemsize and all(_by_arrow(part) for part in parts):
        run = _fixed(parts, DType(f"bytes[{stored.itemsize}]"), wish, whole)
        run.notes.append("NumPy does not show NUL bytes at the end of fixed bytes; they are there")
        return run
    return _fixed(parts, stored, wish, whole)


def _only_nan(whole: "Column") -> Run:
    """Of nulls alone: NaN throughout."""
    run, n = Run(whole, DType("float64"), (len(whole),)), len(whole)
    run.nbytes, run.reasons = 8 * n, ["NaN under nulls"]
    run.pieces = [(8 * n, lambda to: kernels.gather(to, 8, _NAN, 0, 8, 1, n))]  # type: ignore[arg-type]
    return run


def _by_arrow(column: "Column") -> bool:
    """Whether fixed bytes came as Arrow has them, and not as opaque elements of an array."""
    owner = column.owner
    return bool(getattr(owner, "kind", None) == "arrow")


def _check_one_dictionary(parts: "list[Column]", whole: "Column", wish: Wish) -> None:
    """Indices into one dictionary are no indices into another."""
    from lend.columns.joining import same_values

    first = parts[0].dictionary if parts else None
    for part in parts[1:]:
        words = part.dictionary
        assert first is not None
        assert words is not None
        if not same_values(first, words):
            raise refused.dictionaries_differ(whole, wish)


# -- elements of one width ---------------------------------------------------------------------------------------------


def _times(parts: "list[Column]", dtype: DType, wish: Wish, whole: "Column") -> Run:
    """Dates, times and durations: NumPy's where it has them, or the numbers that are stored."""
    plain = base(dtype)
    if wish.storage:
        return _fixed(parts, _numbers_of(dtype), wish, whole)
    if not wish.numpy or plain.kind == "time":
        raise refused.times(whole, dtype, wish)
    zone = getattr(plain, "zone", None)
    if zone is not None and not wish.drops_zone:
        raise refused.zone(whole, zone, wish)
    if plain.kind == "date":
        return _fixed(parts, DType("datetime64[D]" if plain.unit == "D" else "datetime64[ms]"), wish, whole)
    run = _fixed(parts, plain if zone is None else DType(f"datetime64[{plain.unit}]"), wish, whole)
    if zone:
        run.notes.append(f"the time zone {zone!r} is dropped: the times are those of UTC")
    return run


def _numbers_of(dtype: DType) -> DType:
    """The integers that times are stored as, in the byte order that they have."""
    numbers = DType(f"int{8 * int(dtype.itemsize)}")
    return numbers if dtype.is_native else numbers.newbyteorder("swap")


class _Chunk:
    """One chunk, and what has to be done to its elements."""

    __slots__ = ("days", "floats", "parts", "pattern")

    def __init__(self, column: "Column", days: bool) -> None:
        self.parts = Anatomy(column)
        self.days = days
        self.pattern: bytes | None = None
        self.floats = False


def _fixed(columns: "list[Column]", dtype: DType, wish: Wish, whole: "Column") -> Run:
    """Elements of one width, as `dtype`, which has the width of what is stored, but for bits and days of 32 bits."""
    chunks = [_Chunk(column, dtype.kind == "datetime" and int(stored_as(column.dtype).itemsize) == 4)
              for column in columns]  # fmt: skip
    n = sum(chunk.parts.n for chunk in chunks)
    count = 0 if wish.nulls is BESIDE else _nulls(columns, wish)
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


def _nulls(columns: "Sequence[Column]", wish: Wish) -> int:
    """Elements that are null, also by a dictionary; not those that stored numbers say, where these are asked for."""
    found = 0
    for column in columns:
        if wish.storage and wish.nulls is None and column.nulls.kind in ("nat", "sentinel", "nan"):
            continue
        if column.dictionary is not None and column.dictionary.null_count:
            found += column.null_count
        else:
            found += forms.null_count(Anatomy(column))
    return found


def _why(chunk: _Chunk, dtype: DType) -> "list[str]":
    parts, found = chunk.parts, []
    if parts.layout == "bits":
        found.append("bit-packed")
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
        wrong = _inexact(chunk.parts)
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
    if isinstance(value, bool) or dtype.kind not in ("int", "uint", "float", "bfloat", "datetime", "timedelta"):
        raise refused.no_value(whole, value, wish)
    if chunk.days and hasattr(value, "__index__") and -(2**63) < int(value) < 2**63:
        return struct.pack("q", int(value))
    return packed_value(chunk.parts.column, value)


def _inexact(parts: Anatomy) -> int:
    """The first valid integer that float64 does not hold, or -1: looked at through a small room, nothing is kept."""
    if parts.width < 8:
        return -1
    (source, step, _elements), (mask, _bits) = parts.native(), parts.any_mask()
    room = values.fresh(8 * min(parts.n, _BLOCK))
    signed = stored_as(parts.dtype).kind == "int"
    for start in range(0, parts.n, _BLOCK):
        n = min(_BLOCK, parts.n - start)
        rows = _from_row(mask, start)
        wrong = kernels.to_float64(room.ptr, source + start * step, step, parts.width, signed, *rows, _NAN, n)
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
        room = values.fresh(min(n, _BLOCK))
        mask, _bits = parts.any_mask()
        for start in range(0, n, _BLOCK):
            count = min(_BLOCK, n - start)
            kernels.bits_to_bytes(room.ptr, 1, parts.data, parts.offset + start, 0, count)
            kernels.fill_nulls(to + start, room.ptr, 1, 1, *_from_row(mask, start), chunk.pattern, count)
    elif chunk.days:
        _days(chunk, to)
    elif chunk.floats:
        (source, step, _elements), (mask, _bits) = parts.native(), parts.any_mask()
        kernels.to_float64(to, source, step, parts.width, stored_as(parts.dtype).kind == "int", *mask, _NAN, n)
    elif chunk.pattern is not None:
        (source, step, _elements), (mask, _bits) = parts.native(), parts.any_mask()
        kernels.fill_nulls(to, source, step, parts.width, *mask, chunk.pattern, n)
    else:
        parts.gather(to, 0, n)


def _days(chunk: _Chunk, to: int) -> None:
    """Days of 32 bits as those of 64."""
    parts, n = chunk.parts, chunk.parts.n
    if chunk.pattern is None:
        kernels.widen(to, parts.at(0), parts.step, 0, n)
        return
    room = values.fresh(8 * min(n, _BLOCK))
    mask, _bits = parts.any_mask()
    for start in range(0, n, _BLOCK):
        count = min(_BLOCK, n - start)
        kernels.widen(room.ptr, parts.at(start), parts.step, 0, count)
        kernels.fill_nulls(to + 8 * start, room.ptr, 8, 8, *_from_row(mask, start), chunk.pattern, count)


# -- lists of one length, records --------------------------------------------------------------------------------------


def _lists(columns: "list[Column]", dtype: DType, wish: Wish, whole: "Column") -> Run:
    """Lists of one length, as rows of an array: the elements are one run, wherever the lists are."""
    inner = dtype.children[0][1] if dtype.children else base(dtype).children[0][1]
    lists = [Anatomy(column) for column in columns]
    lost = sum(forms.null_count(parts) for parts in lists)
    if lost:
        raise refused.has_null_rows(whole, lost, wish)
    n = sum(parts.n for parts in lists)
    if layout_of(dtype) == "fixed list":
        length = int(base(dtype).length or 0)
        spans = [(parts.offset * length, (parts.offset + parts.n) * length) for parts in lists]
    else:
        length, spans = _one_length(lists, whole, wish)
    children = [column.children[0][start:stop] for column, (start, stop) in zip(columns, spans, strict=True)]
    run = _run([child for child in children if len(child)], inner, wish, whole)
    run.shape = (n, length, *run.shape[1:])
    if run.view is not None:
        run.view = run.view.reshape(run.shape)
    return run


def _one_length(lists: "list[Anatomy]", whole: "Column", wish: Wish) -> "tuple[int, list[tuple[int, int]]]":
    """The length of all lists, and where those of each chunk begin and end; refused where they have several."""
    spans = [parts.span(0, parts.n) for parts in lists]
    if not lists:
        return 0, []
    length = (spans[0][1] - spans[0][0]) // lists[0].n
    for parts, (start, stop) in zip(lists, spans, strict=True):
        if stop - start != length * parts.n or not _evenly(parts, start, length):
            raise refused.uneven(whole, wish)
    return length, spans


def _evenly(parts: Anatomy, start: int, length: int) -> bool:
    """Whether the offsets of a chunk are `length` apart."""
    from lend.views.view import View

    code, count = ("i" if parts.width == 4 else "q"), parts.n + 1
    for at in range(0, count, _BLOCK):
        n = min(_BLOCK, count - at)
        told = View.from_pointer(parts.at(0) + at * parts.width, n * parts.width, "uint8", owner=parts.held)
        first = start + at * length
        expected = array(code, range(first, first + n * length, length)) if length else array(code, [first]) * n
        if bytes(told) != expected.tobytes():
            return False
    return True


def _records(columns: "list[Column]", dtype: DType, wish: Wish, whole: "Column") -> Run:
    """Structs as records, whose fields lie side by side: always a copy."""
    structs = [Anatomy(column) for column in columns]
    lost = sum(forms.null_count(parts) for parts in structs)
    if lost and wish.nulls is not BESIDE:
        raise refused.has_null_rows(whole, lost, wish)
    names, runs = [], []
    plain = base(dtype)
    for i, (name, kind) in enumerate(plain.children):
        fields = [column.children[i][parts.offset : parts.offset + parts.n]
                  for column, parts in zip(columns, structs, strict=True)]  # fmt: skip
        if layout_of(kind) in ("text", "views"):
            raise refused.no_array(fields[0] if fields else whole, kind, wish, inside=True)
        run = _run(fields, kind, wish, fields[0] if fields else whole)
        if run.dtype.has_objects or run.dtype.shares_bytes:
            raise refused.no_array(whole, kind, wish)
        names.append(name)
        runs.append(run)
    if not names or len(set(names)) != len(names) or not all(names):
        raise refused.no_record(whole, names, wish)
    record = DType(
        [
            (name, run.dtype.newbyteorder("native"), *([run.shape[1:]] if run.shape[1:] else []))
            for name, run in zip(names, runs, strict=True)
        ]
    )
    made = Run(whole, record, (sum(parts.n for parts in structs),))
    made.reasons = ["fields side by side"] if columns else []
    made.nbytes = made.shape[0] * int(record.itemsize)
    made.pieces = [(made.nbytes, partial(_interleave, runs, int(record.itemsize)))]
    made.notes = [note for run in runs for note in run.notes]
    return made


def _interleave(runs: "list[Run]", step: int, to: int) -> None:
    for run in runs:
        width = int(run.dtype.itemsize)
        for extent in run.shape[1:]:
            width *= extent
        n = run.shape[0]
        if run.view is not None and run.view.ndim == 1:
            put(run.view, to, step)
        elif n and width:
            room = values.fresh(n * width)
            run.write(room.ptr)
            kernels.gather(to, step, room.ptr, width, width, 1, n)
        to += width
