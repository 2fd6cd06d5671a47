"""Spelling 5 of 5: format strings of the Arrow C data interface, read and written.

What one element of a View can be stands in arrow_code.pxd; here is what is left of a fixed width, and logical.py makes
what only columns are. Arrow speaks this machine's byte order. A text that is written reads back as the same dtype.
https://arrow.apache.org/docs/format/CDataInterface.html#data-type-description-format-strings
"""

__all__ = ["read", "unread", "write"]

from lend.dtypes.dtype import DType, logical_of
from lend.dtypes.refusals import cannot_say, shortened
from lend.errors import UnsupportedType

TYPE_CHECKING = False  # type checkers read it as True; `typing` is not imported at run time
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_FORMATS = {
    "int8": "c", "uint8": "C", "int16": "s", "uint16": "S", "int32": "i", "uint32": "I", "int64": "l", "uint64": "L",
    "float16": "e", "float32": "f", "float64": "g",
    "datetime64[s]": "tss:", "datetime64[ms]": "tsm:", "datetime64[us]": "tsu:", "datetime64[ns]": "tsn:",
    "timedelta64[s]": "tDs", "timedelta64[ms]": "tDm", "timedelta64[us]": "tDu", "timedelta64[ns]": "tDn",
    "int128": "_pli128", "uint128": "_plu128",  # polars' own: Arrow has none
}  # fmt: skip
_VENDORS = {text: name for name, text in _FORMATS.items() if text.startswith("_")}


def read(
    text: str,
    fields: "Iterable[Any] | None" = (),
    dictionary: object = None,
    ordered: bool = False,
    keys_sorted: bool = False,
    extension: "tuple[str | bytes, str | bytes | None] | None" = None,
) -> DType:
    """The dtype of a format string and what hangs on it in a schema; the arguments are those of `DType.from_arrow`."""
    if not fields and dictionary is None and extension is None:
        if text in _VENDORS:
            return DType(_VENDORS[text])
        if text.startswith("w:"):
            # not bytes[], which is padded with zeros: here they count
            return DType(f"opaque[{width(text, text[2:])}]")
    from lend.dtypes import logical

    return logical.make(text, tuple(fields or ()), dictionary, bool(ordered), bool(keys_sorted), extension)


def width(text: str, digits: str) -> int:
    """The number in a format: of bytes, or of values in a fixed list."""
    if digits.isascii() and digits.isdecimal() and len(digits) < 11 and int(digits) < 1 << 31:
        return int(digits)
    raise unread(text, f"{shortened(repr(digits))} is no width")


def unread(text: str, why: "str | None" = None, remedy: "str | None" = None) -> UnsupportedType:
    """Make the exception for a format that means no dtype."""
    if why is None and text.startswith("_"):
        why, remedy = "a format of one library alone", "a cast by that library to a type that Arrow has"
    fact = f"lend has no dtype for the Arrow format {shortened(repr(text))}"
    return UnsupportedType.build(fact if why is None else f"{fact}: {why}", remedy=remedy)


def write(dtype: DType) -> str:
    """The format string of a dtype; UnsupportedType where Arrow has none."""
    logical = logical_of(dtype)
    if logical is not None:
        return logical.format
    text = _FORMATS.get(dtype.name)
    if text is not None:
        return text
    if dtype.kind == "opaque" and dtype.itemsize < 1 << 31:
        return f"w:{dtype.itemsize}"
    raise cannot_say(dtype, "Arrow")
