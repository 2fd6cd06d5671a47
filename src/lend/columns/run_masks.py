"""The nulls of a column as a byte beside each element of its run, 1 where it is null: shared, or written."""

from functools import partial

from lend._core import kernels
from lend.columns import forms
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
    full = [part for part in column.chunks if len(part)]
    lists = layout_of(column.dtype) in ("fixed list", "list") and column.dtype.dictionary is None
    if layout_of(column.dtype) == "struct":
        return _record_mask(full, column)
    while lists and full:
        spans = []
        for part in full:
            parts = Anatomy(part)
            length = base(part.dtype).length or 0
            spans.append((parts.offset * length, (parts.offset + parts.n) * length)
                         if parts.layout == "fixed list" else parts.span(0, parts.n))  # fmt: skip
        full = [part.children[0][start:stop] for part, (start, stop) in zip(full, spans, strict=True)]
        lists = bool(full) and layout_of(full[0].dtype) in ("fixed list", "list")
    made = _mask(full, column, wish.copy)
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


def no_mask(column: "Column") -> Run:
    """A mask of nothing, where another column beside has one."""
    made, n = Run(column, DType("bool"), (len(column),)), len(column)
    made.nbytes, made.reasons = n, ["a mask of bytes"]
    made.pieces = [(n, lambda to: kernels.gather(to, 1, b"\0", 0, 1, 1, n))]  # type: ignore[arg-type]
    return made


def _write_mask(parts: Anatomy, to: int) -> None:
    forms.write_mask(parts, to, 0, parts.n)


def _are_truths(mask: "View") -> bool:
    """Whether each byte is 0 or 1, as those of NumPy's bools are."""
    return all(
        not bytes(mask[start : start + _BLOCK].tobytes()).translate(None, b"\0\1")
        for start in range(0, len(mask), _BLOCK)
    )


def _record_mask(columns: "list[Column]", whole: "Column") -> "Run | None":
    """Of structs a byte for each field: where it is null, or its struct."""
    names = [name for name, _ in base(whole.dtype).children]
    rows = [Anatomy(column) for column in columns]
    fields = [
        [Anatomy(column.children[i][parts.offset : parts.offset + parts.n])
         for column, parts in zip(columns, rows, strict=True)]
        for i in range(len(names))
    ]  # fmt: skip
    if not any(forms.null_count(parts) for parts in (*rows, *[part for field in fields for part in field])):
        return None
    made = Run(whole, DType([(name, "bool") for name in names]), (sum(parts.n for parts in rows),))
    made.nbytes = made.shape[0] * len(names)
    made.reasons = ["a mask of bytes"]
    made.pieces = [(made.nbytes, partial(_write_record_mask, rows, fields))]
    return made


def _write_record_mask(rows: "list[Anatomy]", fields: "list[list[Anatomy]]", to: int) -> None:
    step, n = len(fields), max((parts.n for parts in rows), default=0)
    room, over = values.fresh(n), values.fresh(n)
    for row, struct_ in enumerate(rows):
        forms.write_mask(struct_, over.ptr, 0, struct_.n)
        for i, field in enumerate(fields):
            forms.write_mask(field[row], room.ptr, 0, struct_.n)
            both = int.from_bytes(bytes(room), "little") | int.from_bytes(bytes(over), "little")
            kernels.gather(to + i, step, both.to_bytes(n, "little"), 1, 1, 1, struct_.n)  # type: ignore[arg-type]
        to += step * struct_.n
