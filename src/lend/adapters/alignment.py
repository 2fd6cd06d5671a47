"""Buffers of a column that lie at addresses on which a library in Rust does not read them, and copies them."""

from lend.dtypes.dtype import logical_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lend.columns.column import Column

_OFFSETS = {"u": 4, "z": 4, "+l": 4, "+m": 4, "U": 8, "Z": 8, "+L": 8}


def why(column: "Column", library: str, views: int) -> "str | None":
    """The reason for which it copies."""
    found = unaligned(column, views)
    return found and f"{library} needs items at multiples of their size, and these are unaligned: {found}"


def unaligned(column: "Column", views: int) -> "str | None":
    """Where a buffer lies that is not at a multiple of the size of what is in it; of views at one of `views` bytes."""
    for chunk in column.chunks:
        if not len(chunk):
            continue
        size = _size(chunk, views)
        facts = None if size < 2 else chunk.buffer_facts(1)
        if facts is not None and facts[1] and facts[0] % size:
            return f"an address that is {facts[0] % size} mod {size}"
        inner = [*chunk.children, *([] if chunk.dictionary is None else [chunk.dictionary])]
        for part in inner:
            found = unaligned(part, views)
            if found is not None:
                return found
    return None


def _size(column: "Column", views: int) -> int:
    """The size of an element of the buffer behind the validity, 0 where there is none of a size that is known.

    Nor is there one where lend writes the elements anew first, as it does of all that do not lie side by side.
    """
    dtype = column.dtype
    if logical_of(dtype) is None:
        if dtype.kind in ("bool", "bytes", "opaque") or not dtype.is_native:
            return 0
        # one element lies beside none, and stays where it is, unless the bit of its null has another number
        alone = len(column) == 1 and not (column.offset and column.nulls.kind == "bitmask")
        return dtype.itemsize if alone or column.stride == dtype.itemsize else 0
    format = dtype.arrow
    if format in _OFFSETS:
        return _OFFSETS[format]
    if format in ("vu", "vz"):
        return views
    if format[:1] in ("+", "w", "n", "b"):
        return 0
    return column.stride or 0
