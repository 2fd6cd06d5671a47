"""The nulls of a column as a byte beside each element of its run, 1 where it is null: shared, or written."""

from functools import partial

from lend._core import kernels
from lend.columns import forms, inside
from lend.columns.anatomy import Anatomy, layout_of
from lend.columns.runs import Run, Wish
from lend.columns.scalars import base
from lend.dtypes.dtype import DType
from lend.views import values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lend.columns.column import Column
    from lend.views.view import View

_BLOCK = 1 << 20


def mask_of(column: "Column", shape: "tuple[int, ...]", wish: Wish) -> "Run | None":
    """A byte for each element, 1 where it is null, in the shape of the elements; None where none is."""
    full, dtype = [part for part in column.chunks if len(part)], column.dtype
    while layout_of(dtype) in inside.LISTS:
        full = [child for child in [inside.elements(part)[0] for part in full] if len(child)]
        dtype = inside.inner(dtype)
    made = _record_mask(full, dtype, column) if layout_of(dtype) == "struct" else _mask(full, column, wish.copy)
    if made is not None:
        made.shape = shape
        if made.view is not None:
            made.view = made.view.reshape(shape)
    return made


def _mask(columns: "list[Column]", whole: "Column", copy: bool) -> "Run | None":
    from lend.columns.parts import mask_bytes

    chunks = [Anatomy(column) for column in columns]
    if not any(forms.null_count(parts) for parts in chunks):
        return None
    made = Run(whole, DType("bool"), (sum(parts.n for parts in chunks),))
    if len(chunks) == 1 and not copy and chunks[0].form == "bytemask" and chunks[0].missing:
        seen = mask_bytes(columns[0], columns[0].offset)
        if _are_truths(seen):
            made.view = seen.reinterpret("bool")
            return made
    made.nbytes = made.shape[0]
    made.reasons = ["a mask of bytes"]
    made.pieces = [(parts.n, partial(_write_mask, parts)) for parts in chunks]
    return made


def no_mask(column: "Column", dtype: "DType | None" = None) -> Run:
    """A mask of nothing, where another column beside has one, of the dtype that is given."""
    made, n = Run(column, dtype or DType("bool"), (len(column),)), len(column)
    made.nbytes, made.reasons = n * int(made.dtype.itemsize), ["a mask of bytes"]
    made.pieces = [(made.nbytes, partial(_write_none, made.nbytes))]
    return made


def _write_none(n: int, to: int) -> None:
    kernels.gather(to, 1, b"\0", 0, 1, 1, n)  # type: ignore[arg-type]


def _write_mask(parts: Anatomy, to: int) -> None:
    forms.write_mask(parts, to, 0, parts.n)


def _are_truths(mask: "View") -> bool:
    """Whether each byte is 0 or 1, as those of NumPy's bools are."""
    return all(
        not bytes(mask[start : start + _BLOCK].tobytes()).translate(None, b"\0\1")
        for start in range(0, len(mask), _BLOCK)
    )


# -- of structs, a byte for each element of each field ----------------------------------------------------------------


def _record_mask(columns: "list[Column]", dtype: DType, whole: "Column") -> "Run | None":
    """Of structs a byte for each element of each field, at whatever depth: where it is null, or its struct."""
    if not any(map(_has_null, columns)):
        return None
    truths, _ = _truths(columns, dtype)
    made = Run(whole, truths, (sum(map(len, columns)),))
    made.reasons = ["a mask of bytes"]
    width = int(truths.itemsize)
    made.pieces = [(len(column) * width, partial(_write_truths, column, width)) for column in columns]
    made.nbytes = sum(nbytes for nbytes, _ in made.pieces)
    return made


def _has_null(column: "Column") -> bool:
    if forms.nulls_in(column):
        return True
    return any(_has_null(part) for part in inside.parts_of(column))


def _truths(columns: "list[Column]", dtype: DType) -> "tuple[DType, tuple[int, ...]]":
    """The dtype of a mask, and the shape that each row has of it, as `runs` has those of the elements."""
    layout = layout_of(dtype)
    if layout in inside.LISTS:
        found = [inside.elements(column) for column in columns]
        length = base(dtype).length if layout == "fixed list" else max((length for _, length in found), default=0)
        inner, tail = _truths([child for child, _ in found], inside.inner(dtype))
        return inner, (int(length or 0), *tail)
    if layout != "struct":
        return DType("bool"), ()
    rows = [inside.fields(column) for column in columns]
    told = []
    for i, (name, kind) in enumerate(base(dtype).children):
        inner, tail = _truths([fields[i] for fields in rows], kind)
        told.append((name, inner, *([tail] if tail else [])))
    return DType(told), ()


def _width(column: "Column") -> int:
    inner, tail = _truths([column], column.dtype)
    width = int(inner.itemsize)
    for extent in tail:
        width *= extent
    return width


def _write_truths(column: "Column", step: int, to: int, over: "bytes | None" = None) -> None:
    """The mask of one chunk, whose rows are `step` bytes apart; `over` is that of what they are fields of."""
    n, layout = len(column), layout_of(column.dtype)
    if not n:
        return
    if layout in inside.LISTS:
        child, length = inside.elements(column)
        width = _width(child)
        if not length:
            return
        room, each = values.fresh(n * length * width), None
        if over is not None:
            wide = values.fresh(n * length)
            for i in range(length):
                kernels.gather(wide.ptr + i, length, over, 1, 1, 1, n)  # type: ignore[arg-type]
            each = bytes(wide)
        _write_truths(child, width, room.ptr, each)
        kernels.gather(to, step, room.ptr, length * width, length * width, 1, n)
        return
    own = values.fresh(n)
    forms.write_mask(Anatomy(column), own.ptr, 0, n)
    lost = bytes(own)
    if over is not None:
        lost = (int.from_bytes(lost, "little") | int.from_bytes(over, "little")).to_bytes(n, "little")
    if layout != "struct":
        kernels.gather(to, step, lost, 1, 1, 1, n)  # type: ignore[arg-type]
        return
    for field in inside.fields(column):
        _write_truths(field, step, to, lost)
        to += _width(field)
