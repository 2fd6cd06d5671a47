"""The minimal implementation and lend itself behind one face, so that one test asks both and compares.

An `Implementation` takes an object and gives what it made of it: `take`, `take_bytes`, `take_columns` (one for each
chunk), `take_rows` (the values of a column or table). `facts` says of that what both have a word for, in one spelling.
`REFUSED` is what an implementation that does not lend is said to have answered.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import lend
from lend import minimal
from lend.errors import LendError

REFUSED = "refused"


class Facts(NamedTuple):
    """What a View and an Array say of the memory: addresses and strides in bytes, the device as DLPack numbers it."""

    ptr: int
    shape: tuple
    strides: tuple
    dtype: str
    device: tuple
    readonly: bool
    nbytes: int
    c_contiguous: bool


class Span(NamedTuple):
    """What a Buffer says."""

    ptr: int
    nbytes: int
    device: tuple
    readonly: bool


class ColumnFacts(NamedTuple):
    """What both Columns say: the format as Arrow has it ("?": bools of a byte), buffers as Spans by role."""

    format: str
    length: int
    offset: int
    nulls: tuple
    null_count: int
    name: str
    ordered: bool
    metadata: dict
    buffers: dict
    children: tuple
    dictionary: Any


class Implementation(NamedTuple):
    """One of the two: how it is asked, how it refuses, how it spells a dtype, and what it calls what a Column says."""

    name: str
    take: Callable[[Any], Any]
    take_bytes: Callable[[Any], Any]
    take_columns: Callable[[Any], list]
    take_rows: Callable[[Any], list]
    refusal: type
    spelled: Callable[[Any], str]
    of_column: Callable[[Any], tuple]

    def facts(self, lent):
        """A View or an Array as Facts; strides of extents up to 1, and of nothing, mean nothing and are told as 0."""
        steps = [
            step if extent > 1 and lent.nbytes else 0 for extent, step in zip(lent.shape, lent.strides, strict=True)
        ]
        ptr = lent.ptr if lent.nbytes else 0
        dtype, device = self.spelled(lent.dtype), tuple(map(int, lent.device))
        return Facts(ptr, lent.shape, tuple(steps), dtype, device, lent.readonly, lent.nbytes, lent.c_contiguous)

    def span(self, lent):
        """A Buffer as a Span."""
        return Span(lent.ptr if lent.nbytes else 0, lent.nbytes, tuple(map(int, lent.device)), lent.readonly)

    def asked(self, obj):
        """The Facts of an object, or REFUSED; any other exception passes."""
        try:
            return self.facts(self.take(obj))
        except self.refusal:
            return REFUSED

    def asked_for_bytes(self, obj):
        """The Span of the bytes of an object, or REFUSED."""
        try:
            return self.span(self.take_bytes(obj))
        except self.refusal:
            return REFUSED

    def column_facts(self, column):
        """A Column of one chunk as ColumnFacts; what lies nowhere, of no bytes, is told to lie at 0."""
        format, nulls, count, name, ordered, metadata = self.of_column(column)
        buffers = {
            role: tuple(map(self.span, part)) if isinstance(part, tuple) else self.span(part)
            for role, part in column.buffers.items()
        }
        children = tuple(map(self.column_facts, column.children))
        words = None if column.dictionary is None else self.column_facts(column.dictionary)
        more = name, ordered, metadata, buffers, children, words
        return ColumnFacts(format, column.length, column.offset, nulls, count, *more)

    def asked_for_columns(self, obj):
        """The ColumnFacts of each chunk of an object, or REFUSED."""
        try:
            return [self.column_facts(column) for column in self.take_columns(obj)]
        except self.refusal:
            return REFUSED


def of_minimal(column):
    """What minimal's Column says, in words that both have."""
    about = column.about
    return (
        column.dtype, column.nulls, column.null_count, column.name, about.get("ordered", False),
        about.get("metadata", {}),
    )  # fmt: skip


def of_lend(column):
    """What lend's Column says: the format of its codes, of a dictionary."""
    dtype, nulls = column.dtype, column.nulls
    format = "?" if dtype.name == "bool" else dtype.arrow
    value = nulls.value if nulls.kind == "sentinel" else nulls.missing
    return format, (nulls.kind, value), column.null_count, column.name, bool(dtype.ordered), column.metadata


def word(dtype):
    """A DType of lend as minimal spells it: the typestr; its name, where no typestr has a word for it."""
    if dtype.kind in ("bfloat", "float8") or dtype.name.startswith(("bfloat", "float8")):
        return dtype.name
    return dtype.name if dtype.fields else dtype.typestr


def rows_by_minimal(obj):
    """The values of a column, or the rows of a table as dicts."""
    return [row for part in minimal.chunks(obj) for row in part.tolist()]


def rows_by_lend(obj):
    """The same: to lend a table has columns, and each of those its chunks."""
    if not hasattr(obj, "columns") and not hasattr(obj, "to_reader"):
        return lend.column(obj).tolist()
    table = lend.table(obj)
    values = [column.tolist() for column in table.columns]
    return [dict(zip(table.names, row, strict=True)) for row in zip(*values, strict=True)]


MINIMAL = Implementation(
    "minimal", minimal.array, minimal.buffer, minimal.chunks, rows_by_minimal, minimal.Refused, str, of_minimal
)
MAXIMAL = Implementation(
    "lend", lend.view, lend.buffer, lambda obj: lend.column(obj).chunks, rows_by_lend, LendError, word, of_lend
)
BOTH = (MINIMAL, MAXIMAL)
EACH_SIDE = pytest.mark.parametrize("side", BOTH, ids=lambda side: side.name)
