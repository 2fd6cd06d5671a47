"""Bools of one byte under the name that Arrow has for them, arrow.bool8: nothing is packed to bits.

https://arrow.apache.org/docs/format/CanonicalExtensions.html#bit-boolean
"""

from lend.columns import roles
from lend.columns.anatomy import Anatomy
from lend.columns.column import Column
from lend.columns.drafts import Draft, each_chunk, kept, lead_of, retyped, unchanged
from lend.dtypes.dtype import logical_of

__all__ = ["as_bool8"]


def as_bool8(column: Column) -> Column:
    """The same memory, where bools of one byte say that they are Arrow's bool8, inside of nested columns, too.

    Bools of bits are what Arrow has anyway, and stay so. Nothing is copied.
    """
    if not column.device.is_host or not _has_bytes(column):
        return column
    return each_chunk(column, _named).made()


def _has_bytes(column: Column) -> bool:
    """Whether there are bools of one byte that do not say so yet."""
    if column.dtype.kind == "bool":
        return logical_of(column.dtype) is None and not roles.is_bool8(column.metadata)
    return any(map(_has_bytes, [part for chunk in column.chunks[:1] for part in _parts_of(chunk)]))


def _parts_of(chunk: Column) -> "list[Column]":
    return [*chunk.children, *([] if chunk.dictionary is None else [chunk.dictionary])]


def _named(column: Column) -> Draft:
    if not _has_bytes(column):
        return unchanged(column)
    parts = Anatomy(column)
    draft = kept(parts, lead_of(parts, keeps_bits=parts.form == "bitmask"))
    if column.dtype.kind == "bool":
        draft.metadata = {**column.metadata, **roles.BOOL8}
        return draft
    draft.children = [_named(child.source) for child in draft.children]
    if draft.dictionary is not None:
        draft.dictionary = _named(draft.dictionary.source)
    logical = logical_of(column.dtype)
    assert logical is not None  # what has parts
    fields = [  # which say what the children are
        (field[0], child.dtype, field[2], roles.blob_of(child.metadata) if child.metadata else field[3])
        for field, child in zip(logical.fields, draft.children, strict=True)
    ]
    draft.dtype = retyped(
        column.dtype, fields=fields, dictionary=None if draft.dictionary is None else draft.dictionary.dtype
    )
    return draft
