"""For a child with the double: pylibcudf and cudf in outline, with the members by which they tell their memory.

A Column and its buffers are those of `fakecuda.standins`; here are the types that it names, its Table, the buffers of
later releases, and cudf's Series and DataFrame over these.
"""

import enum
import struct

from support.fakecuda.described import Memory
from support.fakecuda.standins import PylibcudfColumn


class TypeId(enum.IntEnum):
    EMPTY = 0
    INT8 = 1
    INT16 = 2
    INT32 = 3
    INT64 = 4
    UINT8 = 5
    UINT16 = 6
    UINT32 = 7
    UINT64 = 8
    FLOAT32 = 9
    FLOAT64 = 10
    BOOL8 = 11
    TIMESTAMP_DAYS = 12
    TIMESTAMP_SECONDS = 13
    TIMESTAMP_MILLISECONDS = 14
    TIMESTAMP_MICROSECONDS = 15
    TIMESTAMP_NANOSECONDS = 16
    DURATION_DAYS = 17
    DURATION_SECONDS = 18
    DURATION_MILLISECONDS = 19
    DURATION_MICROSECONDS = 20
    DURATION_NANOSECONDS = 21
    DICTIONARY32 = 22
    STRING = 23
    LIST = 24
    DECIMAL32 = 25
    DECIMAL64 = 26
    DECIMAL128 = 27
    STRUCT = 28


class DataType:
    def __init__(self, id, scale=0):
        self._id, self._scale = id, scale

    def id(self):
        return self._id

    def scale(self):
        return self._scale


def column(kind, size, data=None, valid=None, children=(), *, scale=0, offset=0, nulls=None, **keywords):
    """A Column of pylibcudf: `data` bytes, `valid` a truth for each element from the first of the buffers on."""
    mask = None
    if valid is not None:
        bits = sum(bool(is_valid) << row for row, is_valid in enumerate(valid))
        mask = bits.to_bytes(64, "little")  # it is padded
    count = 0 if valid is None else sum(not each for each in valid[offset : offset + size])
    return PylibcudfColumn(
        size, data, mask, children, null_count=count if nulls is None else nulls, offset=offset,
        type=DataType(TypeId[kind], scale), **keywords,
    )  # fmt: skip


def packed(format, *values):
    return struct.pack(f"<{len(values)}{format}", *values)


def offsets(*values, kind="INT32", **keywords):
    return column(kind, len(values), packed("i" if kind == "INT32" else "q", *values), **keywords)


def strings(*values, valid=None, **keywords):
    ends = [sum(len(value) for value in values[:place]) for place in range(len(values) + 1)]
    return column("STRING", len(values), "".join(values).encode(), valid, [offsets(*ends)], **keywords)


class Span:
    """A buffer of later releases: a pointer and a size, and nothing that tells a device."""

    def __init__(self, data, **keywords):
        self.block = Memory(data, **keywords)
        self.ptr, self.size, self.element_type = self.block.address, self.block.size, int


class PylibcudfTable:
    def __init__(self, columns):
        self._columns = columns

    def columns(self):
        return self._columns

    def num_columns(self):
        return len(self._columns)

    def num_rows(self):
        return self._columns[0].size() if self._columns else 0


class CudfSeries:
    """cudf's Series: its column by a method, a name, a dtype; no implicit copy to the host."""

    def __init__(self, column, name=None, dtype="int32"):
        self._column, self.name, self.dtype = column, name, dtype

    def to_pylibcudf(self):
        return self._column, {"name": self.name, "index": None}

    def __array__(self, dtype=None, copy=None):
        raise TypeError("an implicit copy to the host is not allowed")


class CudfFrame:
    """cudf's DataFrame."""

    def __init__(self, columns, dtypes=None):
        self._named = columns
        self.dtypes = dtypes or ["int32"] * len(columns)

    @property
    def columns(self):
        return [*self._named]

    def to_pylibcudf(self):
        return PylibcudfTable([*self._named.values()]), {"columns": self.columns, "index": None}

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        raise AssertionError("there is a better door")

    def __array__(self, dtype=None, copy=None):
        raise TypeError("an implicit copy to the host is not allowed")
