"""One chunk of a column as the kernels see it: addresses, steps, where the nulls are told. Nothing is written here.

Element i lies at `data + i * step` of what is told here, i from 0 to n: the offset of the column is in the addresses
already, but for bits, whose number it stays.
"""

import sys
from array import array

from lend._core import kernels
from lend.columns import refusals
from lend.columns.numbers import packed
from lend.dtypes.dtype import logical_of
from lend.errors import UnsupportedType
from lend.views import values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.columns.column import Column
    from lend.views.view import View

# by the first letters of Arrow's format; what is not here has elements of one width
_LAYOUTS = {
    "n": "null", "b": "bits", "u": "text", "z": "text", "U": "text", "Z": "text", "vu": "views", "vz": "views",
    "+l": "list", "+L": "list", "+m": "list", "+vl": "list view", "+vL": "list view", "+s": "struct", "+r": "runs",
}  # fmt: skip
_WIDTHS = {"U": 8, "Z": 8, "+L": 8, "+vL": 8, "views": 16, "union": 1}  # of offsets else 4
FLOATS = {"float": kernels.FLOAT, "bfloat": kernels.BFLOAT}
NAT = -(2**63)
LITTLE = sys.byteorder == "little"


class Anatomy:
    """Where everything of one chunk lies; holds the memory.

    Attributes
    ----------
    column : Column
    n, offset : int
    layout : str
        "fixed", "bits", "text", "views", "list", "list view", "fixed list", "struct", "union", "runs" or "null".
    width : int
        Bytes of an element or of an offset.
    data : int or None
        Address of element 0 of the column (of bits and of what comes before the offset: of the buffer).
    step : int
        Bytes from one element to the next.
    form : str
        Kind of the nulls, "none" where it is known that there are none.
    mask : int or None
        Address of the validity: of bits the buffer, of bytes the one of element 0.
    mask_step : int
        0 of bits.
    """

    mask: "int | None"
    data: "int | None"
    second: "int | None"
    held: "tuple[Any, ...]"

    def __init__(self, column: "Column") -> None:
        if not column.device.is_host:
            from lend.protocols.refusals import not_host

            raise not_host(column, None)
        self.column = column
        self.n, self.offset, self.dtype, self.nulls = column.length, column.offset, column.dtype, column.nulls
        self.form = self.nulls.kind
        self.missing = self.nulls.missing or 0
        self.layout = layout_of(self.dtype)
        facts = column.buffer_facts
        validity, data, second = facts(0), facts(1), facts(2)
        self.held = (validity, data, second)
        self.mask = self.data = self.second = None
        self.mask_step = 0
        self.one_byte = False  # the same byte of the mask is for all
        if self.layout == "fixed":
            self.width = width_of(self.dtype)
            self.step = self.width if column.stride is None else column.stride
        else:
            logical = logical_of(self.dtype)
            assert logical is not None
            self.width = _WIDTHS.get(logical.format) or _WIDTHS.get(self.layout, 4)
            self.step = self.width
        if data is not None:
            self.data = data[0] if self.layout == "bits" else data[0] + self.offset * self.step
        if second is not None:
            each = {"text": 0, "union": 4}.get(self.layout, self.width)
            self.second = second[0] + self.offset * each
        if self.form == "bytemask" and validity is not None:
            self.lay_mask(validity[0])
        elif self.form == "bitmask" and validity is not None:
            self.mask = validity[0]
        if self.n == 0 or (self.form in ("bitmask", "bytemask") and self.mask is None):
            self.form = "none"

    def lay_mask(self, address: int) -> None:
        """Find the step of a byte mask, which its Buffer spans from the lowest to the highest byte."""
        last = self.offset + self.n - 1
        spanned = self.column.buffers["validity"]
        step = (spanned.nbytes - 1) // last if last > 0 else 1
        self.mask, self.mask_step = address, step if spanned.ptr == address else -step
        if not step:  # to the kernels a step of 0 is one of bits
            bytes_of = values.fresh(last + 1)
            kernels.gather(bytes_of.ptr, 1, address, 0, 1, 1, last + 1)
            self.held += (bytes_of,)
            self.mask, self.mask_step, self.one_byte = bytes_of.ptr, 1, True
        self.mask += self.offset * self.mask_step

    def rows(self, start: int) -> "tuple[int | None, int, int, int]":
        """The mask from a row on, as kernels take it: address, bit, step, and whether true says null."""
        if self.form == "none":
            return None, 0, 0, 0
        assert self.mask is not None
        if self.form == "bitmask":
            return self.mask, self.offset + start, 0, self.missing
        return self.mask + start * self.mask_step, 0, self.mask_step, self.missing

    def at(self, start: int) -> int:
        """Address of an element, which may lie before the column; of bits that of the buffer."""
        assert self.data is not None
        return self.data if self.layout == "bits" else self.data + start * self.step

    def statement(self) -> "tuple[int, bytes | None]":
        """Of nulls that values are: kind and value as the kernels take them."""
        stored = stored_as(self.dtype)
        if self.form == "nat":
            return kernels.INTEGER, NAT.to_bytes(8, sys.byteorder, signed=True)
        if self.form == "nan":
            return FLOATS[stored.kind], None
        return FLOATS.get(stored.kind, kernels.INTEGER), packed_value(self.column, self.nulls.value)

    def write_bits(self, to: "int | None", at: int, start: int, n: int) -> int:
        """Arrow's validity of n rows, at a bit of `to`; the count of nulls. Of values nothing is written if it is 0."""
        if self.form in ("none", "bitmask"):
            mask, bit, _, invert = self.rows(start)
            return kernels.copy_bits(to, at, mask, bit, invert, n)
        if self.form == "bytemask":
            mask, _, step, invert = self.rows(start)
            assert mask is not None
            return kernels.bytes_to_bits(to, at, mask, step, invert, n)
        if self.width not in (1, 2, 4, 8) or self.dtype.kind == "complex":
            return self.looked_at(to, at, start, n)
        kind, value = self.statement()
        if swap_of(self.dtype) > 1:
            native = self.gathered(start, n)
            return kernels.nulls_to_bits(to, at, native.ptr, self.width, self.width, kind, value, n)
        return kernels.nulls_to_bits(to, at, self.at(start), self.step, self.width, kind, value, n)

    def looked_at(self, to: "int | None", at: int, start: int, n: int) -> int:
        """The same of values that no kernel reads: complex numbers, integers and floats of 128 bits."""
        found = self.gathered(start, n).reinterpret(stored_as(self.dtype).newbyteorder("native")).tolist()
        valid = bytes(each == each if self.form == "nan" else each != self.nulls.value for each in found)  # noqa: PLR0124
        return kernels.bytes_to_bits(to, at, valid, 1, 0, n)  # type: ignore[arg-type]

    def null_count(self) -> int:
        """Nulls by the column's own form, without those that a dictionary bears."""
        return 0 if self.form == "none" else self.write_bits(None, 0, 0, self.n)

    def valid_bits(self, start: int, n: int) -> "tuple[int | None, int, View | None]":
        """Validity as Arrow's bits: address, bit, and what holds memory that was made for it."""
        if self.form == "none" or (self.form == "bitmask" and not self.missing):
            mask, bit, _, _ = self.rows(start)
            return mask, bit, None
        made = values.fresh((n + 7) // 8)
        return (made.ptr, 0, made) if self.write_bits(made.ptr, 0, start, n) else (None, 0, None)

    def any_mask(self) -> "tuple[tuple[int | None, int, int, int], View | None]":
        """The mask of all rows as kernels take it, also of statements; and what holds memory that was made for it."""
        if self.form in ("none", "bitmask", "bytemask"):
            return self.rows(0), None
        bits, at, held = self.valid_bits(0, self.n)
        return (bits, at, 0, 0), held

    def native(self) -> "tuple[int, int, View | None]":
        """The elements in native byte order: address, step, and what holds memory that was made for them."""
        if swap_of(self.dtype) == 1:
            return self.at(0), self.step, None
        held = self.gathered(0, self.n)
        return held.ptr, self.width, held

    def gathered(self, start: int, n: int) -> "View":
        """The elements side by side in native byte order, in memory for a while."""
        made = values.fresh(n * self.width)
        self.gather(made.ptr, start, n)
        return made

    def gather(self, to: int, start: int, n: int) -> None:
        if n:
            kernels.gather(to, self.width, self.at(start), self.step, self.width, swap_of(self.dtype), n)

    def span(self, start: int, stop: int) -> "tuple[int, int]":
        """Where text or lists begin and end by their offsets, which stay inside of what they lead to."""
        if self.data is None or not self.n:
            return 0, 0
        room = array("i" if self.width == 4 else "q", (0, 0))
        kernels.gather(room.buffer_info()[0], self.width, self.at(start), (stop - start) * self.width, self.width, 1, 2)
        first, last = room
        second = self.held[2]
        size = len(self.column.children[0]) if self.layout == "list" else 0 if second is None else second[1]
        # of a slice nobody looked at them before
        if not 0 <= first <= last <= size:
            raise refusals.contradicts(self.column, f"its offsets go from {first} to {last} of {size}")
        return first, last

    def check_offsets(self, lead: int = 0) -> None:
        """Refuse offsets, of so many elements before the column too, that fall somewhere: they lead anywhere."""
        wrong = kernels.check_offsets(self.at(-lead), self.width, self.n + lead + 1) if self.n else -1
        if wrong >= 0:
            raise refusals.contradicts(self.column, f"offset {wrong - lead} is less than the one before it, or than 0")


def layout_of(dtype: "Any") -> str:
    """How elements of a dtype lie."""
    logical = logical_of(dtype)
    if logical is None or dtype.dictionary is not None:
        return "fixed"
    format = logical.format
    if format.startswith("+w"):
        return "fixed list"
    return "union" if format.startswith("+u") else _LAYOUTS.get(format, "fixed")


def stored_as(dtype: "Any") -> "Any":
    """The plain dtype of elements of one width."""
    found = dtype if logical_of(dtype) is None else dtype.storage
    if found is None:
        from lend.dtypes.dtype import DType

        found = DType(f"opaque[{dtype.itemsize}]")
    return found


def width_of(dtype: "Any") -> int:
    return int(stored_as(dtype).itemsize)


def swap_of(dtype: "Any") -> int:
    """Bytes of the units whose order is another than this machine's; 1: none."""
    if dtype.is_native:
        return 1
    return {"complex": int(dtype.itemsize) // 2, "text": 4}.get(dtype.kind, int(dtype.itemsize) // int(dtype.lanes))


def packed_value(column: "Column", value: "Any") -> bytes:
    """A value as the bytes of one element, in this machine's order; refused where it is none of the dtype."""
    found = packed(stored_as(column.dtype), value)
    if found is not None:
        return found
    raise UnsupportedType.build(
        f"{value!r:.60} is no value of {column.dtype}, so that none is filled in or looked for",
        came=refusals.came(column),
        remedy=_OWN.get(column.dtype.kind, "a value of its own type"),
    )


# what is taken for a value under nulls, by the kind of the dtype
_OWN = {
    "datetime": "a datetime, a date, a numpy.datetime64 or a pandas.Timestamp that is exact in its unit, and has a "
    "zone where it has one; or the number that is stored",
    "date": "a date or a numpy.datetime64 of a whole day; or the number that is stored",
    "time": "a datetime.time that is exact in its unit; or the number that is stored",
    "timedelta": "a timedelta, a numpy.timedelta64 or a pandas.Timedelta that is exact in its unit; or the number that "
    "is stored",
}
