"""Frames of the dataframe protocol made by hand, which tell whatever they are given to tell."""

import struct
import warnings

from lend import minimal

NONE, NAN, SENTINEL, BITS, BYTES = range(5)
INT, UINT, FLOAT, BOOL, STRING, DATETIME, CATEGORICAL = 0, 1, 2, 20, 21, 22, 23
NAT = -(2**63)


class ToldBuffer:
    """Bytes as the protocol's Buffer has them; whatever is named in `said` is told instead."""

    def __init__(self, data, *, device=(1, None), **said):
        self.memory = minimal.buffer(bytearray(data))
        self.ptr, self.bufsize, self.device = self.memory.ptr, len(data), device
        self.__dict__.update(said)

    def __dlpack_device__(self):
        return self.device


class ToldColumn:
    """A Column of the protocol: dtype, size, buffers by role (a ToldBuffer or bytes), what it says of nulls."""

    metadata = None

    def __init__(self, dtype, size, *, offset=0, null=(NONE, None), null_count=None, chunks=1, categories=None, **held):
        self.dtype, self.rows, self.offset, self.describe_null, self.null_count = dtype, size, offset, null, null_count
        self.chunks, self.held, self.describe_categorical, self.asked = chunks, held, categories, 0

    def size(self):
        return self.rows

    def num_chunks(self):
        return self.chunks

    def get_buffers(self):
        self.asked += 1
        types = {
            "data": {STRING: (UINT, 8, "C", "="), DATETIME: (INT, 64, "l", "=")}.get(self.dtype[0], self.dtype),
            "validity": (BOOL, 1 if self.describe_null[0] == BITS else 8, "b", "="),
            "offsets": (INT, 64, "l", "=") if self.dtype[2] == "U" else (INT, 32, "i", "="),
        }
        found = dict.fromkeys(types)
        for role, data in self.held.items():
            if isinstance(data, tuple):
                data, types[role] = data
            found[role] = (ToldBuffer(data) if isinstance(data, bytes) else data, types[role])
        return found


class ToldFrame:
    """A frame of columns by name; `rows` and `columns` are told instead of what is there."""

    version, metadata = 0, {}

    def __init__(self, columns, *, rows=None, count=None, parts=()):
        self.fields, self.rows, self.count, self.parts, self.asked = columns, rows, count, parts, []

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        self.asked.append(allow_copy)
        return self

    def num_columns(self):
        return len(self.fields) if self.count is None else self.count

    def num_rows(self):
        return self.rows

    def num_chunks(self):
        return len(self.parts) or 1

    def get_chunks(self):
        return list(self.parts)

    def column_names(self):
        return list(self.fields)

    def get_column(self, i):
        return list(self.fields.values())[i]


class Shown:
    """Shows `__dataframe__` of an object and nothing else of it."""

    def __init__(self, obj):
        self.obj = obj

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=DeprecationWarning, message=".*(interchange|dataframe)")
            return self.obj.__dataframe__(allow_copy=allow_copy)


def ints(*values, **said):
    """A column of int64."""
    return ToldColumn((INT, 64, "l", "="), len(values), **{"data": struct.pack(f"{len(values)}q", *values)} | said)


def floats(*values, **said):
    """A column of float64."""
    return ToldColumn((FLOAT, 64, "g", "="), len(values), **{"data": struct.pack(f"{len(values)}d", *values)} | said)


def texts(*values, format="u", **said):
    """A column of text, with offsets of 32 or 64 bits."""
    pieces, ends = [value.encode() for value in values], [0]
    for piece in pieces:
        ends.append(ends[-1] + len(piece))
    offsets = struct.pack(f"{len(ends)}{'i' if format == 'u' else 'q'}", *ends)
    return ToldColumn(
        (STRING, 8, format, "="), len(values), **{"data": b"".join(pieces), "offsets": offsets} | said
    )  # fmt: skip
