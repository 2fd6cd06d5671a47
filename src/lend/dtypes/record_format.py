"""The struct formats that are more than one letter: records, subarrays and repeat counts, read and written.

Read as NumPy reads them: a byte order holds until the next; after `@` and nothing every item is aligned as a C compiler
would; `x` is padding unless it has a name. Written as NumPy writes them, when that reads back as the same type, else
with every byte of padding spelled out. https://peps.python.org/pep-3118/
"""

from lend.dtypes import records
from lend.dtypes.dtype import DType, letter_dtype
from lend.dtypes.records import Field
from lend.dtypes.refusals import cannot_say, no_format
from lend.errors import UnsupportedType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_CHARACTERS = 1 << 20
_known: "dict[tuple[bytes, int], tuple[DType, tuple[int, ...]]]" = {}


class Unread(ValueError):
    """A format that is not understood, and why."""


def read_one(text: "bytes | None", format: "str | None", itemsize: "int | None") -> DType:
    """The type of an item that is one value; UnsupportedType, which quotes the format, if it is none."""
    why = ""
    if text and (itemsize is None or itemsize >= 0):
        try:
            made, shape = read(text, -1 if itemsize is None else itemsize)
            if not shape:
                return made
            why = f": {shape} of {made} are several values, not one"
        except Unread as error:
            why = f": {error}"
    raise no_format(format, itemsize, why)


def read(text: bytes, itemsize: int) -> "tuple[DType, tuple[int, ...]]":
    """The type of an item, and the shape of the subarray that an item is; Unread if the format does not say so.

    Parameters
    ----------
    text : bytes
    itemsize : int
        That came with the format; -1: the format speaks for itself.
    """
    known = _known.get((text, itemsize))
    if known is not None:
        return known
    if len(text) > _MOST_CHARACTERS:
        raise Unread("it is too long")
    try:
        said = text.decode("utf-8")
    except UnicodeDecodeError:
        raise Unread("it is no UTF-8") from None
    try:
        made = _fitting(said, itemsize)
    except (ValueError, UnsupportedType) as error:
        raise Unread(str(error).partition("\n")[0]) from None
    if len(_known) >= 1024:
        _known.clear()
    _known[text, itemsize] = made
    return made


def _fitting(said: str, itemsize: int) -> "tuple[DType, tuple[int, ...]]":
    sizes = []
    for native in (False, True):
        reader = _Reader(said, native)
        dtype, shape = reader.whole()
        size = records.bytes_of(Field(dtype, 0, shape, None))
        if itemsize in (-1, size):
            return dtype, shape
        sizes.append(size)
        if itemsize > size and said.startswith("T{") and not shape and not reader.told_standard:
            # NumPy leaves the padding at the end away; who writes `<` on a machine that is so anyway (ctypes before
            # Python 3.12) leaves it away everywhere
            record = records.record_of(dtype)
            return records.make(record.fields.items(), itemsize, record.align), ()
    raise Unread(f"it says {sizes[0]} bytes, and the itemsize is {itemsize}")


class _Reader:
    """One pass over a format."""

    def __init__(self, text: str, native: bool) -> None:
        self.text = text
        self.at = 0
        self.order = "@"
        self.native = native  # take the native size of letters after a standard prefix
        self.told_standard = False
        self.entries = 0

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def until(self, mark: str) -> str:
        end = self.text.find(mark, self.at)
        if end < 0:
            raise Unread(f"a {mark!r} is missing")
        part = self.text[self.at : end]
        self.at = end + 1
        return part

    def number(self) -> "int | None":
        start = self.at
        while "0" <= self.peek() <= "9":
            self.at += 1
        if self.at == start:
            return None
        if self.at - start > 10:
            raise Unread("a count has more than ten digits")
        return int(self.text[start : self.at])

    def whole(self) -> "tuple[DType, tuple[int, ...]]":
        fields, size, _ = self.items(0)
        if len(fields) == 1 and fields[0][0] is None and fields[0][1].offset == 0:
            field = fields[0][1]
            if records.bytes_of(field) == size:
                return field.dtype, field.shape
        if self.text[:1] not in ("T", "@", "=", "<", ">", "!", "^") and len(fields) < 2:
            raise Unread("it says nothing but padding")
        return self.made(fields, size), ()

    def made(self, fields: "list[tuple[str | None, Any]]", size: int) -> DType:
        taken = {name for name, _ in fields}
        named = []
        count = 0
        for said, field in fields:
            name = said
            if name is None:
                while f"f{count}" in taken:
                    count += 1
                name = f"f{count}"
                taken.add(name)
            named.append((name, field))
        return records.make(named, size)

    def items(self, depth: int) -> "tuple[list[tuple[str | None, Any]], int, int]":
        """Items up to the closing brace: fields, bytes, and what they are aligned to."""
        if depth > records.MOST_DEPTH:
            raise Unread(f"records lie in records deeper than {records.MOST_DEPTH}")
        fields: list[tuple[str | None, Any]] = []
        offset, common = 0, 1
        while True:
            if self.at >= len(self.text):
                if depth:
                    raise Unread("a '}' is missing")
                break
            if self.peek() == "}":
                if not depth:
                    raise Unread("a '}' is too many")
                self.at += 1
                break
            self.entries += 1
            if self.entries > records.MOST_ENTRIES:
                raise Unread(f"it has more than {records.MOST_ENTRIES} items")
            shape = self.shape()
            dtype, align, padding = self.item(depth)
            inner, dtype = dtype if isinstance(dtype, tuple) else ((), dtype)
            many = 1
            for extent in shape + inner:
                many *= extent
            late = 0
            if self.order == "@":
                offset += -offset % align
                late = -dtype.itemsize % align
                if late and many > 1:
                    dtype, late = self.padded(dtype, late), 0
                common = max(common, align)
            name = None
            if self.peek() == ":":
                self.at += 1
                name = self.until(":")
            field = Field(dtype, offset, shape + inner, None)
            if not (padding and name is None):
                fields.append((name, field))
            offset += records.bytes_of(field) + late
            if offset > records.MOST_BYTES:
                raise Unread("it is larger than 4 GiB")
        if self.order == "@":
            offset += -offset % common
        return fields, offset, common

    def padded(self, dtype: DType, more: int) -> DType:
        if dtype.kind != "record":
            return records.make([("f0", Field(dtype, 0, (), None))], dtype.itemsize + more)
        record = records.record_of(dtype)
        return records.make(record.fields.items(), record.itemsize + more, record.align)

    def shape(self) -> "tuple[int, ...]":
        if self.peek() != "(":
            return ()
        self.at += 1
        shape = []
        for part in self.until(")").split(","):
            if not (part.strip().isascii() and part.strip().isdecimal() and len(part) < 20):
                raise Unread("the shape of a subarray is made of numbers")
            shape.append(int(part))
        if len(shape) > 64:
            raise Unread("a subarray has 64 dimensions at most")
        return tuple(shape)

    def item(self, depth: int) -> "tuple[Any, int, bool]":
        """One type with the count before it: the type (or the pair of a shape and it), its alignment, padding."""
        while self.peek() and self.peek() in "@=<>^!":
            self.order = ">" if self.peek() == "!" else self.peek()
            self.at += 1
            self.told_standard |= self.order in "<>" and DType(f"{self.order}u2").is_native
        count = self.number()
        letter = self.peek()
        self.at += 1
        if letter == "T" and self.peek() == "{":
            self.at += 1
            fields, size, align = self.items(depth + 1)
            made = self.made(fields, size)
            return (made if count is None else ((count,), made)), align, False
        if letter in ("x", "s", "w"):
            count = 1 if count is None else count
            if letter == "w" and count >= 1 << 30:
                raise Unread("a text has too many characters")
            dtype = _leaf(f"{self.sign()}{count}{letter}")
            return dtype, 4 if letter == "w" else 1, letter == "x"
        if letter == "Z":
            letter += self.peek()
            self.at += 1
        if not letter or letter in "Zp&uX0123456789" or letter[0] in " :(){}":
            raise Unread(f"lend knows no {letter!r} in it")
        prefix = self.sign() if self.native else self.order if self.order in "=<>" else ""
        dtype = _leaf(prefix + letter)
        return (dtype if count is None or count == 1 else ((count,), dtype)), records.alignment(dtype), False

    def sign(self) -> str:
        """The byte order alone, without the standard sizes that come with it."""
        return self.order if self.order in "<>" and not DType(f"{self.order}u2").is_native else ""


def _leaf(text: str) -> DType:
    made = letter_dtype(text.encode())
    if made is None:
        raise Unread(f"lend knows no {text!r} in it")
    return made


# -- writing -----------------------------------------------------------------------------------------------------------


def write(dtype: DType) -> str:
    """The format of a record; UnsupportedType where the buffer protocol cannot say it."""
    record = records.record_of(dtype)
    for style in ("numpy", "closed", "plain"):
        text = _Writer(style).record(record, 0)
        try:
            back, shape = read(text.encode(), -1)
        except Unread:
            continue
        if not shape and _same_layout(back, dtype):
            return text
    raise cannot_say(dtype, "the buffer protocol")


def _same_layout(back: DType, dtype: DType) -> bool:
    """Whether two types are the same but for titles, which the buffer protocol does not have."""
    if back.kind != "record" or dtype.kind != "record":
        return back == dtype
    ours, theirs = records.record_of(dtype), records.record_of(back)
    return (
        ours.itemsize == theirs.itemsize
        and list(ours.fields) == list(theirs.fields)
        and all(
            a.offset == b.offset and a.shape == b.shape and _same_layout(a.dtype, b.dtype)
            for a, b in zip(theirs.fields.values(), ours.fields.values(), strict=True)
        )
    )


def _is_text(name: str) -> bool:
    """Whether UTF-8, which formats are in, has this name: halves of surrogate pairs it has not."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


class _Writer:
    """One pass over a record, in one style: with `@` where items are aligned, or without; with padding at ends."""

    def __init__(self, style: str) -> None:
        self.style = style
        self.order = "@"

    def record(self, record: "Any", base: int) -> str:
        if not record.is_in_order():
            raise UnsupportedType.build(
                "the buffer protocol cannot say a record whose fields overlap or stand out of order",
                remedy='one field at a time: v["name"]',
            )
        parts = ["T{"]
        at = 0
        for name, field in record.fields.items():
            if ":" in name or "\0" in name or not _is_text(name):
                raise UnsupportedType.build(f"the buffer protocol cannot say the field name {name!r:.60}")
            parts.append("x" * (field.offset - at) if field.offset - at < 64 else f"{field.offset - at}x")
            if field.shape:
                parts.append(f"({','.join(map(str, field.shape))})")
            if field.dtype.kind == "record":
                parts.append(self.record(records.record_of(field.dtype), base + field.offset))
            else:
                parts.append(self.leaf(field.dtype, base + field.offset))
            parts.append(f":{name}:")
            at = field.offset + records.bytes_of(field)
        if self.style != "numpy" and record.itemsize > at:
            parts.append(f"{record.itemsize - at}x")
        parts.append("}")
        return "".join(parts)

    def leaf(self, dtype: DType, at: int) -> str:
        text: str = dtype.format
        if dtype.kind == "object":
            return self.turned("^" if self.style == "plain" else "@", text)
        if text[0] in "<>":
            order, text = text[0], text[1:]
        elif dtype.byteorder is None:
            return text
        elif self.style != "plain" and at % records.alignment(dtype) == 0:
            order = "@"
        elif "g" in text:
            order = "^"
        else:
            order = "="
            if dtype.kind != "text":
                text = dtype.newbyteorder("swap").format[1:]  # the letters of standard size
        return self.turned(order, text)

    def turned(self, order: str, text: str) -> str:
        if order == self.order:
            return text
        self.order = order
        return order + text
