"""What `Column.from_buffers` is given, sorted out and checked: roles, nulls, children."""

from lend.columns import refusals
from lend.columns.nullness import Nulls
from lend.columns.numbers import as_stored
from lend.dtypes.dtype import logical_of
from lend.errors import LendError, MalformedDescriptor, UnsupportedType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from lend.columns.column import Column
    from lend.dtypes.dtype import DType
    from lend.views.view import View

KINDS = ("none", "nan", "sentinel", "bitmask", "bytemask", "nat")  # by the numbers of _core/column.pxd
LARGEST = 2**62

# by the numbers of _core/arrow_layout.pxd: the place of each role among the buffers of a record
_PLACES: "tuple[tuple[tuple[int, str], ...], ...]" = (
    (),
    ((0, "validity"), (1, "data")),
    ((0, "validity"), (1, "data")),
    ((0, "validity"), (1, "offsets"), (2, "data")),
    ((0, "validity"), (1, "views")),
    ((0, "validity"), (1, "offsets")),
    ((0, "validity"), (1, "offsets"), (2, "sizes")),
    ((0, "validity"),),
    ((0, "validity"),),
    ((1, "type_ids"),),
    ((1, "type_ids"), (2, "offsets")),
    (),
)
_NULL, _OFFSETS, _VIEWS, _FIXED_LIST, _STRUCT, _SPARSE, _UNION_DENSE, _RUN_END = 0, 3, 4, 7, 8, 9, 10, 11
_WITH_CHILD = (5, 6, 7)


def places(layout: int) -> "tuple[tuple[int, str], ...]":
    return _PLACES[layout]


def count(what: str, number: "Any") -> int:
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise TypeError(f"{what} is a number of elements (int), not {type(number).__name__}")
    found = int(number.__index__())
    if not 0 <= found <= LARGEST:
        raise ValueError(f"{what} is a number of elements from 0 on, not {found}")
    return found


def check_reach(length: int, offset: int, width: int) -> None:
    if (length + offset + 1) * max(width, 32) > LARGEST:
        raise ValueError(f"offset {offset} and length {length} reach further than memory does")


def width_of(layout: int, place: int, width: int) -> int:
    """Bytes of an element of a buffer that is no validity: of what lies between offsets, and of type ids, one."""
    if layout in (_UNION_DENSE, _SPARSE):
        return 4 if place == 2 else 1
    return 1 if layout == _OFFSETS and place == 2 else width


def wrong_width(column: "Column", role: str, width: int, wanted: int) -> MalformedDescriptor:
    return MalformedDescriptor.build(
        f"the elements of its {role} have {width} bytes, and those of {column.dtype} {wanted}",
        came=f"a column of {column.dtype}",
        remedy="lend.buffer(x), where these bytes are meant all the same"
        if wanted != 1
        else "memory of bytes: lend.buffer(x)",
    )


def other_order(column: "Column", role: str) -> UnsupportedType:
    return UnsupportedType.build(
        f"the numbers of its {role} are in the other byte order than those of {column.dtype}",
        remedy='the dtype with its order (Column.from_buffers(">int64", ...)), or numbers in this machine\'s order',
    )


def of_objects(role: str) -> UnsupportedType:
    return UnsupportedType.build(
        f"the buffer {role!r} is of pointers to Python objects, and no column counts the references in it",
        remedy="memory of numbers or bytes",
    )


def text(name: "Any") -> str:
    if not isinstance(name, str):
        raise TypeError(f"the name of a column is a str, not {type(name).__name__}")
    return str(name)


def c_text(column: "Column", said: str) -> bytes:
    """A name or a format as C has it: Arrow's end with a NUL, so that none can be within."""
    try:
        found = said.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        found = b"\0"
    if b"\0" in found:
        raise refusals.not_sayable(column, f"{said!r:.80} is no text that a schema can have")
    return found


def described(
    column: "Column", dtype: "DType", metadata: "dict[bytes, bytes] | None"
) -> "tuple[bytes, tuple[Any, ...], DType | None, int, dict[bytes, bytes]]":
    """What a schema says of a dtype: format, fields, dictionary, flags (1 ordered, 2 keys sorted), metadata."""
    logical = logical_of(dtype)
    pairs = dict(metadata or {})
    if logical is None:
        if dtype.name == "bool" and is_bool8(pairs):
            return b"c", (), None, 0, pairs
        if dtype.name == "bool" or not dtype.is_native:
            raise refusals.not_sayable(column, f"{dtype} is none of its types")
        try:
            return c_text(column, dtype.arrow), (), None, 0, pairs
        except LendError:
            raise refusals.not_sayable(column, f"{dtype} is none of its types") from None
    if logical.extension is not None:
        name, said = logical.extension
        pairs.setdefault(b"ARROW:extension:name", name.encode("utf-8", "surrogateescape"))
        if said is not None:
            pairs.setdefault(b"ARROW:extension:metadata", said)
    marks = (1 if logical.is_ordered else 0) | (2 if logical.keys_sorted else 0)
    return c_text(column, logical.format), logical.fields, logical.dictionary, marks, pairs


_EXTENSION = b"ARROW:extension:name"
_EXTENDED = b"ARROW:extension:metadata"
BOOL8 = {_EXTENSION: b"arrow.bool8", _EXTENDED: b""}


def is_bool8(metadata: "Mapping[bytes, bytes]") -> bool:
    """Whether metadata says of bools of one byte that they are given as such: int8 by Arrow's extension."""
    return metadata.get(_EXTENSION) == b"arrow.bool8"


def unextended(metadata: "Mapping[bytes, bytes]") -> "dict[bytes, bytes]":
    """Metadata without what it says of an extension type."""
    return {key: value for key, value in metadata.items() if key not in (_EXTENSION, _EXTENDED)}


def pairs_of(blob: "bytes | None") -> "dict[bytes, bytes]":
    """The pairs of a blob of metadata; of one that contradicts itself none."""
    import sys

    found: list[bytes] = []
    at = 4
    if blob is None:
        return {}
    for _ in range(2 * int.from_bytes(blob[:4], sys.byteorder, signed=True)):
        size = int.from_bytes(blob[at : at + 4], sys.byteorder, signed=True)
        if size < 0 or at + 4 + size > len(blob):
            return {}
        found.append(blob[at + 4 : at + 4 + size])
        at += 4 + size
    return dict(zip(found[::2], found[1::2], strict=True))


def blob_of(pairs: "Mapping[bytes, bytes]") -> bytes:
    """The blob of some pairs, as Arrow has metadata in its structs."""
    import sys

    words = [word for pair in pairs.items() for word in pair]
    return len(pairs).to_bytes(4, sys.byteorder) + b"".join(
        len(word).to_bytes(4, sys.byteorder) + word for word in words
    )


def blob(metadata: "Mapping[bytes, bytes] | None") -> "dict[bytes, bytes] | None":
    if metadata is None:
        return None
    found = dict(metadata)
    for key, value in found.items():
        if type(key) is not bytes or type(value) is not bytes:
            raise TypeError(f"metadata is a dict of bytes to bytes, not {key!r:.40} to {value!r:.40}")
    return found


def format_of(dtype: "DType") -> "bytes | None":
    """Arrow's format, which tells the layout; None for elements of one width that Arrow has no word for."""
    if logical_of(dtype) is None:
        return None
    return str(dtype.arrow).encode("utf-8", "surrogateescape")


def no_layout(dtype: "DType") -> UnsupportedType:
    return UnsupportedType.build(
        f"no column is made of buffers of {dtype}", remedy="a dtype of DType.from_arrow(format)"
    )


def sorted_out(dtype: "DType", layout: int, given: "Mapping[str, Any]") -> "dict[str, Any]":
    """The Views by role; those that the dtype does not have are refused."""
    known = [role for _, role in _PLACES[layout]] + (["variadic"] if layout == _VIEWS else [])
    found = {}
    for role, part in given.items():
        if role not in known:
            listed = ", ".join(known) or "none"
            raise ValueError(f"a column of {dtype} has no buffer {role!r}; its roles: {listed}")
        if part is None:
            continue
        # views as column.buffers shows them
        flat = role == "views" and part.ndim == 2 and part.shape[1] == 16
        lying = part.reshape(-1) if flat else part
        for view in lying if role == "variadic" else (lying,):
            if view.ndim != 1:
                raise ValueError(f"the buffer {role!r} has one dimension, and this {view.ndim}")
        found[role] = lying
    return found


def form_of_nulls(dtype: "DType", layout: int, mask: "View | None", nulls: "Any") -> Nulls:
    """The form of nulls that was asked for, or follows."""
    masked = ("bitmask", "bytemask")
    if mask is None and (nulls is None or (type(nulls) is Nulls and nulls.kind == "none")):
        return Nulls("none") if nulls is None else nulls
    if nulls is None:
        assert mask is not None
        if mask.dtype == "bool":
            raise ValueError(
                'a validity of bools is a byte mask, and says nothing of which means null: nulls=Nulls("bytemask", '
                "missing=1) where True is null, as in pandas and numpy.ma, or missing=0 where True is valid"
            )
        return Nulls("bitmask", 0)
    if isinstance(nulls, Nulls):
        form = nulls
    elif isinstance(nulls, str) and nulls in KINDS:
        form = Nulls(nulls)
    elif isinstance(nulls, float) and nulls != nulls:  # noqa: PLR0124 - NaN, which equals nothing
        form = Nulls("nan")
    else:
        form = Nulls("sentinel", None, nulls)
    if form.kind not in KINDS:
        raise ValueError(f"nulls are of a kind {', '.join(KINDS)}, not {form.kind!r}")
    if (form.kind in masked) != (mask is not None):
        raise ValueError(
            f"nulls of kind {form.kind!r} need a validity buffer"
            if mask is None
            else f"a validity buffer was given, and nulls of kind {form.kind!r} have none"
        )
    if form.kind in masked:
        if form.missing is None:
            if form.kind == "bytemask":
                raise ValueError('a byte mask says null by 0 or by 1: Nulls("bytemask", missing=1), or missing=0')
            form = Nulls(form.kind, 0)
        if form.missing not in (0, 1):
            raise ValueError(f"a mask says null by 0 or by 1, not {form.missing!r}")
        if mask is not None and form.kind == "bytemask" and mask.itemsize != 1:
            raise ValueError(f"a byte mask has one byte for each element, and this {mask.itemsize}")
    return form_for(dtype, form)


def form_for(dtype: "DType", form: Nulls) -> Nulls:
    """The form as a column keeps it: its value one of the dtype that nobody can change. Refused where it has none."""
    stored = dtype if logical_of(dtype) is None else dtype.storage
    kind = getattr(stored, "kind", None)
    if form.kind == "nan" and kind not in ("float", "bfloat", "complex"):
        raise UnsupportedType.build(f"no value of {dtype} is NaN, so that none is null by it")
    if form.kind == "nat" and not (
        dtype.kind in ("datetime", "timedelta") or (logical_of(dtype) is not None and dtype.arrow[:2] in ("ts", "tD"))
    ):
        raise UnsupportedType.build(f"no value of {dtype} is NaT, so that none is null by it")
    if form.kind != "sentinel":
        return form
    value = None if stored is None else as_stored(stored, form.value)
    if value is None:
        raise UnsupportedType.build(
            f"{form.value!r:.60} is no value of {dtype} that could stand for null", remedy="a number of its own type"
        )
    return Nulls("sentinel", None, value) if value == value else Nulls("nan")  # noqa: PLR0124


def checked_children(dtype: "DType", layout: int, children: "Iterable[Column]") -> "tuple[Column, ...] | None":
    from lend.columns.column import Column

    found = tuple(children)
    for child in found:
        if type(child) is not Column:
            raise TypeError(f"children are Columns, not {type(child).__name__}: lend.column(x)")
        if len(child.chunks) != 1:
            raise ValueError(f"a child is of one chunk, and {child.name!r} has {len(child.chunks)}")
    wanted = 1 if layout in _WITH_CHILD else 2 if layout == _RUN_END else None if layout >= _STRUCT else 0
    if wanted is None:
        wanted = len(dtype.children)
    if len(found) != wanted:
        raise ValueError(f"a column of {dtype} has {wanted} children, and {len(found)} were given")
    for child, (name, expected) in zip(found, dtype.children if layout >= _WITH_CHILD[0] else (), strict=False):
        if child.dtype != expected:
            raise ValueError(f"the child {name!r} of {dtype} is {expected}, and {child.dtype} was given")
    if not found:
        return None
    import copy

    # twins, which nobody else can release, under the names of the type
    return tuple(map(copy.copy, found))


def checked_dictionary(dtype: "DType", dictionary: "Column | None") -> "Column | None":
    wanted = dtype.dictionary
    if wanted is None and dictionary is None:
        return None
    if wanted is None or dictionary is None:
        raise ValueError(f"a column of {dtype} has {'no' if wanted is None else 'a'} dictionary")
    if dictionary.dtype != wanted:
        raise ValueError(f"the dictionary of {dtype} is {wanted}, and {dictionary.dtype} was given")
    if len(dictionary.chunks) != 1:
        raise ValueError(f"a dictionary is of one chunk, and this has {len(dictionary.chunks)}")
    import copy

    return copy.copy(dictionary)


def check_room(column: "Column", role: str, there: int, needed: int, unit: str) -> None:
    if there < needed:
        together = f", offset and length together {needed}" if unit == "elements" else ""
        raise MalformedDescriptor.build(
            f"its {role} has {there} {unit}, and {needed} are needed",
            came=f"a column of {column.dtype}{together}",
            remedy="more of it, or a smaller length: length and offset count elements",
        )


def has_gaps(role: str) -> UnsupportedType:
    return UnsupportedType.build(
        f"the elements of the buffer {role!r} do not lie side by side, and only data and byte masks may have strides",
        remedy="lend.view(x, copy=True)",
    )


def bad_offsets(column: "Column", first: int, last: int) -> MalformedDescriptor:
    return MalformedDescriptor.build(f"its offsets go from {first} to {last}")


def check_children_reach(column: "Column", layout: int, end: int, width: int) -> None:
    """A struct needs as many rows of each child as it has, a list of one length so many times that."""
    if layout not in (_STRUCT, _SPARSE, _FIXED_LIST):
        return
    needed = end * width if layout == _FIXED_LIST else end
    for child in column.children:
        check_room(column, f"child {child.name!r}", len(child), needed, "elements")
