"""`__dataframe__` as it is given: the frame, column and buffer of the protocol, over a Table and its Columns.

They are objects of their own, as the protocol has other words for what a Column has: its dtype is a tuple, its size a
method. How memory is brought into a form that the protocol has (`forms`) is the business of the floor above.
"""

from enum import IntEnum

from lend._core.letting_go import lets_go
from lend.errors import CopyRequired, MalformedDescriptor, UnsupportedType
from lend.protocols.dataframe import BOOL, CATEGORICAL, DATETIME, INT, LETTERS, NAT, NULL_KINDS, NUMBERS, STRING, UINT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, TypeAlias

    Dtype: TypeAlias = tuple[int, int, str, str]


class DtypeKind(IntEnum):
    """What one element is."""

    INT = 0
    UINT = 1
    FLOAT = 2
    BOOL = 20
    STRING = 21
    DATETIME = 22
    CATEGORICAL = 23


class ColumnNullType(IntEnum):
    """How null is said."""

    NON_NULLABLE = 0
    USE_NAN = 1
    USE_SENTINEL = 2
    USE_BITMASK = 3
    USE_BYTEMASK = 4


_KINDS = {int(kind): kind for kind in DtypeKind}


class DlpackDeviceType(IntEnum):
    """Where memory is."""

    CPU = 1
    CUDA = 2
    CPU_PINNED = 3
    OPENCL = 4
    VULKAN = 7
    METAL = 8
    VPI = 9
    ROCM = 10


class NoCopyAllowed(CopyRequired, RuntimeError):
    """A copy is needed, and `allow_copy` is false: the protocol wants a RuntimeError."""


def needs_copy(came: str, why: "Iterable[str]") -> NoCopyAllowed:
    return NoCopyAllowed.build(
        f"the dataframe protocol cannot show it as it lies ({', '.join(why)}), and allow_copy=False forbids to copy it",
        came=came,
        remedy="__dataframe__(allow_copy=True); or the Arrow protocol, __arrow_c_stream__",
    )


class InterchangeBuffer:
    """A buffer of the protocol: bytes that live as long as it does."""

    __slots__ = ("_memory",)

    def __init__(self, memory: "Any") -> None:
        self._memory = memory

    @property
    def bufsize(self) -> int:
        """Bytes."""
        return int(self._memory.nbytes)

    @property
    def ptr(self) -> int:
        """Address of the first byte."""
        return int(self._memory.ptr)

    def __dlpack__(self, **asked: "Any") -> "Any":
        """A DLPack capsule of the elements."""
        return self._memory.__dlpack__(**asked)

    def __dlpack_device__(self) -> "tuple[Any, int | None]":
        """Device type, and the number of the device; None of the host."""
        kind, number = self._memory.__dlpack_device__()
        if kind == 1:
            return DlpackDeviceType.CPU, None
        return (DlpackDeviceType(kind) if kind in set(DlpackDeviceType) else kind), number

    def __repr__(self) -> str:
        return f"<InterchangeBuffer of {self.bufsize} bytes at {self.ptr:#x}>"


class InterchangeColumn:
    """A column of the protocol.

    Its type is told without touching memory; where its memory has no form that the protocol knows, a copy is made when
    it is first asked for, and kept.
    """

    __slots__ = ("_allow_copy", "_buffers", "_column", "_forms", "_ready", "_told")

    def __init__(self, column: "Any", allow_copy: bool, forms: "Any") -> None:
        self._column, self._allow_copy, self._forms = column, allow_copy, forms
        self._ready: Any = None
        self._buffers: dict[str, Any] | None = None
        self._told: tuple[int, int, str] | None = None

    @lets_go
    def _shown(self) -> "Any":
        """The Column in a form that the protocol has words for."""
        if self._ready is None:
            self._ready = self._forms.ready(self._column, self._allow_copy)
        return self._ready

    def size(self) -> int:
        """Elements."""
        return len(self._column)

    @property
    @lets_go
    def offset(self) -> int:
        """Elements before the first one, in every buffer."""
        return int(self._shown().offset) if self.size() else 0  # what stands for memory that is not there has none

    @property
    @lets_go
    def dtype(self) -> "Dtype":
        """Kind, bits, Arrow's format, byte order."""
        if self._told is None:
            self._told = told_type(self._forms.dtype(self._column, self._allow_copy), self._column)
        kind, bits, format = self._told
        return _KINDS[kind], bits, format, "="

    @property
    @lets_go
    def describe_categorical(self) -> "dict[str, Any]":
        """Of a categorical column: whether it is ordered, and its categories, a column."""
        dtype = self._column.dtype
        if dtype.dictionary is None:
            raise TypeError(f"a column of {dtype} is not categorical: describe_categorical is of those that are")
        words = InterchangeColumn(self._shown().dictionary, self._allow_copy, self._forms)
        return {"is_ordered": bool(dtype.ordered), "is_dictionary": True, "categories": words}

    @property
    @lets_go
    def describe_null(self) -> "tuple[ColumnNullType, Any]":
        """How null is said, and the value that says it."""
        shown = self._shown()
        form = shown.nulls
        if form.kind == "nat":
            return ColumnNullType.USE_SENTINEL, NAT
        if form.kind in ("bitmask", "bytemask") and not self._masked():
            return ColumnNullType.NON_NULLABLE, None
        value = form.value if form.missing is None else int(form.missing)
        return ColumnNullType(NULL_KINDS.index(form.kind)), value

    def _masked(self) -> bool:
        """Whether there is a mask that hides anything."""
        shown = self._shown()
        return shown.nulls.kind in ("bitmask", "bytemask") and (not shown.device.is_host or shown.null_count > 0)

    @property
    @lets_go
    def null_count(self) -> "int | None":
        """Elements that are null; None where the host cannot count them."""
        return int(self._column.null_count) if self._column.device.is_host else None

    @property
    def metadata(self) -> "dict[str, Any]":
        """What was told of the column besides."""
        told = self._column.metadata
        return {"lend.metadata": told} if told else {}

    def num_chunks(self) -> int:
        """Chunks that it has."""
        return max(len(self._column.chunks), 1)

    @lets_go
    def get_chunks(self, n_chunks: "int | None" = None) -> "Iterator[InterchangeColumn]":
        """Its chunks, each cut into as many parts of one length as make n_chunks in all."""
        parts = divided(self._column.chunks or (self._column,), n_chunks)
        return iter([InterchangeColumn(part, self._allow_copy, self._forms) for part in parts])

    @lets_go
    def get_buffers(self) -> "dict[str, tuple[InterchangeBuffer, Dtype] | None]":
        """The memory by role, each buffer with the dtype of its own elements; the same memory each time."""
        if self._buffers is None:
            kind, bits, format, _ = self.dtype
            shown = self._shown()
            data = (UINT, 8, "C") if kind == STRING else (kind, bits, format)
            if kind == DATETIME:
                data = INT, bits, LETTERS[INT, bits]
            if kind == CATEGORICAL:
                data = (NUMBERS[format][0], bits, format)
            types = {
                "data": data,
                "validity": (BOOL, 1 if shown.nulls.kind == "bitmask" else 8, "b"),
                "offsets": (INT, 64, "l") if format == "U" else (INT, 32, "i"),
            }
            held = shown.buffers
            if not self._masked():
                held.pop("validity", None)
            self._buffers = {
                role: (InterchangeBuffer(held[role]), (_KINDS[told[0]], *told[1:], "=")) if role in held else None
                for role, told in types.items()
            }
        return dict(self._buffers)

    @property
    @lets_go
    def _col(self) -> "Any":
        """The values as an array of NumPy's: pandas reads categories by this name alone."""
        return self._forms.values(self._column)

    def __repr__(self) -> str:
        return f"<InterchangeColumn of {self._column!r}>"


class InterchangeFrame:
    """A frame of the protocol, over a Table."""

    __slots__ = ("_allow_copy", "_columns", "_forms", "_frames", "_parts", "_table")

    version = 0

    def __init__(self, table: "Any", allow_copy: bool, forms: "Any") -> None:
        self._table, self._allow_copy, self._forms = table, allow_copy, forms
        self._parts: Any = None
        # kept, so that what is asked for twice is copied once
        self._columns: dict[int, InterchangeColumn] = {}
        self._frames: list[InterchangeFrame] | None = None

    @lets_go
    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> "InterchangeFrame":
        """The same frame, with another word on copies."""
        if nan_as_null:
            raise UnsupportedType.build(
                "nan_as_null=True is not done: NaN and null stay what they are, and each column tells how it says null",
                remedy='no nan_as_null; or lend.table(x, nulls="nan"), whose NaN are null',
            )
        if bool(allow_copy) == self._allow_copy:
            return self
        return InterchangeFrame(self._table, bool(allow_copy), self._forms)

    def __arrow_c_stream__(self, requested_schema: "Any" = None) -> "Any":
        """The same by Arrow, for who knows both: pandas reads it so, and writes into no memory that it is lent."""
        return self._table.__arrow_c_stream__(requested_schema)

    @property
    def metadata(self) -> "dict[str, Any]":
        """What was told of the table besides, and the index that pandas would have."""
        found: dict[str, Any] = {}
        if self._table.metadata:
            found["lend.metadata"] = self._table.metadata
        index = self._forms.index(self._table)
        return found if index is None else found | {"pandas.index": index}

    def num_columns(self) -> int:
        """Columns."""
        return int(self._table.num_columns)

    def num_rows(self) -> int:
        """Rows."""
        return len(self._table)

    def _chunks(self) -> "Sequence[Any]":
        if self._parts is None:
            self._parts = self._table.chunks or (self._table,)
        return self._parts  # type: ignore[no-any-return]

    def num_chunks(self) -> int:
        """Chunks of one cut through all columns."""
        return len(self._chunks())

    def column_names(self) -> "list[str]":
        """The names."""
        return list(self._table.names)

    @lets_go
    def get_column(self, i: int) -> InterchangeColumn:
        """The column at a place."""
        place = int(i)
        found = self._columns.get(place)
        if found is None:
            made = InterchangeColumn(self._table[place], self._allow_copy, self._forms)
            found = self._columns.setdefault(place % self.num_columns(), made)
        return found

    @lets_go
    def get_column_by_name(self, name: str) -> InterchangeColumn:
        """The column of a name."""
        names = self._table.names
        if name not in names:
            self._table[name]  # says which names there are
        return self.get_column(names.index(name))

    def get_columns(self) -> "list[InterchangeColumn]":
        """All columns."""
        return [self.get_column(i) for i in range(self.num_columns())]

    @lets_go
    def select_columns(self, indices: "Sequence[int]") -> "InterchangeFrame":
        """A frame of the columns at some places; the others are not looked at."""
        return InterchangeFrame(self._table.select([int(i) for i in indices]), self._allow_copy, self._forms)

    @lets_go
    def select_columns_by_name(self, names: "Sequence[str]") -> "InterchangeFrame":
        """A frame of the columns of some names."""
        return InterchangeFrame(self._table.select(list(names)), self._allow_copy, self._forms)

    @lets_go
    def get_chunks(self, n_chunks: "int | None" = None) -> "Iterator[InterchangeFrame]":
        """Its chunks, each cut into as many parts of one length as make n_chunks in all; the last may be empty."""
        if self._frames is None or n_chunks is not None:
            parts = divided(self._chunks(), n_chunks)
            found = [InterchangeFrame(part, self._allow_copy, self._forms) for part in parts]
            if n_chunks is not None:
                return iter(found)
            self._frames = found
        return iter(self._frames)

    def __repr__(self) -> str:
        return f"<InterchangeFrame of {self._table!r}>"


def check_names(names: "Sequence[str]") -> None:
    """The protocol asks for columns by name: each has one of its own."""
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise MalformedDescriptor.build(
            f"two columns are named {twice!r}, and the dataframe protocol tells columns apart by name",
            remedy="columns=[...], by number; or a dict of other names: lend.table({name: column, ...})",
        )


def divided(parts: "Sequence[Any]", n_chunks: "int | None") -> "list[Any]":
    """Chunks cut into as many as are wanted, which is a multiple of their number."""
    if n_chunks is None:
        return list(parts)
    wanted, have = int(n_chunks), len(parts)
    if wanted < have or wanted % have:
        raise ValueError(f"n_chunks is a multiple of the {have} chunks that there are, not {wanted}")
    times, found = wanted // have, []
    for part in parts:
        step = -(-len(part) // times)
        found += [part[min(i * step, len(part)) : min((i + 1) * step, len(part))] for i in range(times)]
    return found


def told_type(dtype: "Any", column: "Any") -> "tuple[int, int, str]":
    """Kind, bits and format of a dtype; refused where the protocol has no word for it."""
    kind = dtype.kind
    if kind == "dictionary":
        format = dtype.arrow
        return CATEGORICAL, 8 * {"c": 1, "s": 2, "i": 4, "l": 8}[format.lower()], format
    if kind in ("int", "uint", "float") and dtype.lanes == 1:
        letter = LETTERS.get(({"int": INT, "uint": UINT}.get(kind, 2), dtype.bits))
        if letter is not None and (kind != "float" or dtype.bits < 128):
            return *NUMBERS[letter], letter
    elif kind == "bool":
        return BOOL, 1 if dtype.shares_bytes else 8, "b"
    elif kind in ("utf8", "large_utf8"):
        return STRING, 8, "u" if kind == "utf8" else "U"
    elif kind == "datetime" and dtype.unit in ("s", "ms", "us", "ns") and (dtype.multiplier or 1) == 1:
        return DATETIME, 64, dtype.arrow
    elif kind == "date":
        return DATETIME, 32 if dtype.unit == "D" else 64, dtype.arrow
    raise UnsupportedType.build(
        f"column {column.name!r}: the dataframe protocol has no word for {dtype}",
        came=column._describe(),
        remedy="the Arrow protocol, __arrow_c_stream__; or a selection without it: select_columns_by_name([...])",
    )
