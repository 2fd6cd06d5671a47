"""What a column is going to be, before a byte of it is written: buffers that are kept, or to be written.

A draft tells how many bytes it will write and why, so that a plan says what carrying it out will do. Nothing of the
source is changed; what is kept is the same memory under the same lease.
"""

from lend._core import copies
from lend.columns import refusals
from lend.columns.anatomy import Anatomy
from lend.columns.building import of_chunks, told, vouched
from lend.columns.column import Column
from lend.columns.nullness import Nulls
from lend.dtypes.dtype import DType, logical_of
from lend.views import values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, TypeAlias

    from lend.views.view import View

    Filling: TypeAlias = "View | Writing | tuple[View | Writing, ...]"

NONE = Nulls("none")
BITS = Nulls("bitmask", 0)


class Writing:
    """A buffer that is to be written: how many bytes, and what writes them at an address.

    What may refuse there closes over nothing (it is a `partial`): an error keeps its frames, and no one can empty what
    the function of a frame closes over.
    """

    __slots__ = ("nbytes", "write")

    def __init__(self, nbytes: int, write: "Callable[[int], object]") -> None:
        self.nbytes = nbytes
        self.write = write

    def make(self) -> "View":
        made = values.fresh(self.nbytes)
        if self.nbytes:
            self.write(made.ptr)
        return made


class Draft:
    """A column as it will be.

    Attributes
    ----------
    source : Column
    dtype : DType
    reasons : list of str
        Why it is not the source as it lies; empty where it is.
    nbytes : int
        Bytes that making it writes, its children and dictionary among them.
    """

    def __init__(self, source: Column, dtype: DType, length: int, offset: int) -> None:
        self.source, self.dtype, self.length, self.offset = source, dtype, length, offset
        self.buffers: dict[str, Filling] = {}
        self.nulls = NONE
        self.children: Sequence[Draft] = ()
        self.dictionary: Draft | None = None
        self.chunks: Sequence[Draft] | None = None
        self.reasons: list[str] = []
        self.same = False
        self.metadata: dict[bytes, bytes] | None = None  # None: that of the source

    @property
    def nbytes(self) -> int:
        if self.same:
            return 0
        written = sum(_written(part) for part in self.buffers.values())
        parts = [*self.children, *(self.chunks or ()), *([self.dictionary] if self.dictionary else ())]
        return written + sum(int(part.nbytes) for part in parts)

    def make(self, why: "str | None" = None) -> Column:
        """The Column, with its copies counted; the source itself where nothing changes."""
        if self.same:
            return self.source
        nbytes = self.nbytes
        made = self.made()
        if nbytes:
            copies.note(refusals.came(self.source), why or ", ".join(self.reasons) or "asked for", nbytes)
        return made

    def made(self) -> Column:
        """The same without counting: of what only helps."""
        if self.same:
            return self.source
        if self.chunks is not None:
            # the name of several chunks may be another than that of each
            return told(of_chunks([part.made() for part in self.chunks]), self.source.name, None)
        made = Column.from_buffers(
            self.dtype,
            self.length,
            {role: _made(part) for role, part in self.buffers.items()},
            nulls=self.nulls,
            offset=self.offset,
            children=[part.made() for part in self.children],
            dictionary=None if self.dictionary is None else self.dictionary.made(),
            name=self.source.name,
            metadata=self.source.metadata if self.metadata is None else self.metadata,
        )
        return vouched(made, self.source)


def _written(part: "Filling") -> int:
    if isinstance(part, tuple):
        return sum(_written(each) for each in part)
    return part.nbytes if isinstance(part, Writing) else 0


def shows_writes(draft: Draft) -> bool:
    """Whether it keeps memory that may be written to, so that a later write shows in what is made of it."""
    if draft.same:
        return bool(len(draft.source)) and draft.source.dtype.kind != "null" and not draft.source.readonly
    if any(map(_is_writable, draft.buffers.values())):
        return True
    parts = [*draft.children, *(draft.chunks or ()), *([draft.dictionary] if draft.dictionary else ())]
    return any(map(shows_writes, parts))


def producers(draft: Draft) -> "set[type]":
    """The classes of those whose memory it keeps."""
    if draft.same:
        return producers_of(draft.source)
    found = set()
    for part in draft.buffers.values():
        for each in part if isinstance(part, tuple) else (part,):
            if not isinstance(each, Writing) and each.nbytes:
                found.add(type(each.owner.producer))
    for inner in (*draft.children, *(draft.chunks or ()), *([draft.dictionary] if draft.dictionary else ())):
        found |= producers(inner)
    return found


def producers_of(column: Column) -> "set[type]":
    """The same of a column as it lies."""
    found = set()
    for chunk in column.chunks:
        for place in (0, 1):
            facts = chunk.buffer_facts(place)
            if facts is not None:
                found.add(type(facts[2].producer))
        words = chunk.dictionary
        for inner in (*chunk.children, *(() if words is None else (words,))):
            found |= producers_of(inner)
    return found


def _is_writable(part: "Filling") -> bool:
    if isinstance(part, tuple):
        return any(map(_is_writable, part))
    return not isinstance(part, Writing) and bool(part.nbytes) and not part.readonly


def _made(part: "Filling") -> "Any":
    if isinstance(part, tuple):
        return [_made(each) for each in part]
    return part.make() if isinstance(part, Writing) else part


def unchanged(column: Column) -> Draft:
    """The column itself."""
    draft = Draft(column, column.dtype, column.length, 0)
    draft.same = True
    return draft


def each_chunk(column: Column, change: "Callable[[Column], Draft]") -> Draft:
    """The draft of a column by those of its chunks."""
    chunks = column.chunks
    if len(chunks) == 1:
        return change(chunks[0])
    # their names may be others, and a refusal has that of the whole
    found = [change(part if part.name == column.name else told(part, column.name, None)) for part in chunks]
    if all(part.same for part in found):
        return unchanged(column)
    whole = Draft(column, found[0].dtype, column.length, 0)
    whole.chunks = found
    whole.reasons = merged(found)
    return whole


def merged(drafts: "Iterable[Draft]") -> "list[str]":
    """All their reasons, each once."""
    return list(dict.fromkeys(reason for draft in drafts for reason in draft.reasons))


def kept(parts: Anatomy, lead: int = 0) -> Draft:
    """A draft that keeps all memory, at an offset of `lead` elements that lie before the column."""
    column, n = parts.column, parts.n
    draft = Draft(column, parts.dtype, n, lead)
    if n:
        draft.buffers = dict(_kept_buffers(parts, lead))
        if "validity" in draft.buffers or parts.form in ("nan", "nat", "sentinel"):
            draft.nulls = parts.nulls
    start, stop = parts.offset - lead, parts.offset + n
    if parts.layout in ("struct", "fixed list") or (parts.layout == "union" and "offsets" not in draft.buffers):
        times = (parts.dtype.length or 0) if parts.layout == "fixed list" else 1
        draft.children = [unchanged(child[start * times : stop * times]) for child in column.children]
    else:
        draft.children = [unchanged(child) for child in column.children]
    if column.dictionary is not None:
        draft.dictionary = unchanged(column.dictionary)
    return draft


def lead_of(parts: Anatomy, keeps_bits: bool) -> int:
    """Elements before the column that stay: bits are kept from a byte on."""
    if parts.layout == "runs" or (parts.layout == "union" and parts.second is None and not parts.n):
        return parts.offset
    return parts.offset % 8 if keeps_bits else 0


def _kept_buffers(parts: Anatomy, lead: int) -> "Iterable[tuple[str, Filling]]":
    """The memory by role, from `lead` elements before the column on."""
    count = parts.n + lead
    bits = (parts.offset - lead) >> 3
    for role, buffer in parts.column.buffers.items():
        if isinstance(buffer, tuple):
            yield role, tuple(part.view("uint8") for part in buffer)
            continue
        if role == "validity":
            if parts.form == "bitmask":
                yield role, buffer.view("uint8")[bits : bits + (count + 7) // 8]
            elif parts.form == "bytemask":
                assert parts.mask is not None
                if parts.one_byte:
                    yield role, buffer.view("uint8", (count,), (0,))
                    continue
                start = parts.mask - lead * parts.mask_step - buffer.ptr
                yield role, buffer.view("uint8", (count,), (parts.mask_step,), start)
            continue
        if parts.layout == "bits":
            yield role, buffer.view("uint8")[bits : bits + (count + 7) // 8]
            continue
        if role == "data" and parts.layout == "text":
            yield role, buffer.view("uint8")
            continue
        first = role in ("data", "offsets", "views", "type_ids") and not (role == "offsets" and parts.layout == "union")
        address, width = (
            (parts.data, parts.width) if first else (parts.second, 4 if parts.layout == "union" else parts.width)
        )
        assert address is not None
        step = parts.step if first else width
        many = count + 1 if role == "offsets" and parts.layout in ("text", "list") else count
        if not width:
            yield role, buffer.view("uint8")
        elif step == width:
            start = address - lead * width - buffer.ptr
            yield role, buffer.view("uint8")[start : start + many * width]
        else:
            # in the order that the dtype says, which is asked of numbers
            kind = f"opaque[{width}]" if parts.dtype.is_native else parts.dtype
            yield role, buffer.view(kind, (many,), (step,), address - lead * step - buffer.ptr)


def retyped(
    dtype: DType,
    children: "Sequence[DType] | None" = None,
    dictionary: "DType | None" = None,
    format: "str | None" = None,
    fields: "Sequence[tuple[Any, ...]] | None" = None,
) -> DType:
    """The same type with other types within it, or other fields, or of another layout."""
    logical = logical_of(dtype)
    if logical is None:
        return dtype if format is None else DType.from_arrow(format, dictionary=dictionary)
    fields = [tuple(field) for field in (logical.fields if fields is None else fields)]
    if children is not None:
        fields = [(field[0], child, *field[2:]) for field, child in zip(fields, children, strict=True)]
    return DType.from_arrow(
        format or logical.format,
        fields=fields,
        dictionary=dictionary or dtype.dictionary,
        ordered=bool(dtype.ordered),
        keys_sorted=logical.keys_sorted,
        extension=logical.extension,
    )
