"""Spelling 5 of 5: format strings of the Arrow C data interface, of types with a fixed width, read and written.

Arrow speaks this machine's byte order only. Every text that is written reads back as the dtype that it was written of.
https://arrow.apache.org/docs/format/CDataInterface.html#data-type-description-format-strings
"""

__all__ = ["read", "write"]

from lend.dtypes.refusals import cannot_say, shortened
from lend.errors import UnsupportedType

TYPE_CHECKING = False  # type checkers read it as True; `typing` is not imported at run time
if TYPE_CHECKING:
    from lend.dtypes.dtype import DType

_PLAIN = {
    "c": "int8", "C": "uint8", "s": "int16", "S": "uint16", "i": "int32", "I": "uint32", "l": "int64", "L": "uint64",
    "e": "float16", "f": "float32", "g": "float64",
    "tss:": "datetime64[s]", "tsm:": "datetime64[ms]", "tsu:": "datetime64[us]", "tsn:": "datetime64[ns]",
    "tDs": "timedelta64[s]", "tDm": "timedelta64[ms]", "tDu": "timedelta64[us]", "tDn": "timedelta64[ns]",
}  # fmt: skip
_FORMATS = {name: text for text, name in _PLAIN.items()}
# date64 is milliseconds in 64 bits, as a timestamp: what it has no word for is that they are whole days
_READ = _PLAIN | {"tdm": "datetime64[ms]"}

_BITS = 'its bytes, lend.buffer(x); or arrow.bool8, "c", as DType("bool")'
_STORED = "the integers that it is stored as, by a cast of its library: {}"
# what has another form than elements of one width, or a meaning that no dtype of lend's has
_REFUSED = {
    "n": ("null, which has no memory", None),
    "b": ("bool, which Arrow packs eight to a byte; lend's bool is a byte", _BITS),
    "tdD": ("date32, days in 32 bits; a datetime of lend's has 64", _STORED.format("int32, or date64")),
    "tts": ("time32[s], a time of day", _STORED.format("int32")),
    "ttm": ("time32[ms], a time of day", _STORED.format("int32")),
    "ttu": ("time64[us], a time of day", _STORED.format("int64")),
    "ttn": ("time64[ns], a time of day", _STORED.format("int64")),
    "tiM": ("interval[month]", _STORED.format("int32")),
    "tiD": ("interval[day, time], two numbers", None),
    "tin": ("interval[month, day, nano], three numbers", None),
    "u": ("utf8, text of any width", None),
    "U": ("large_utf8, text of any width", None),
    "vu": ("utf8_view, text of any width", None),
    "z": ("binary of any width", None),
    "Z": ("large_binary of any width", None),
    "vz": ("binary_view, of any width", None),
}


def read(text: str) -> str:
    """The name of the dtype that a format string means; UnsupportedType where there is none."""
    if not isinstance(text, str):
        raise TypeError(f"an Arrow format is a str, not {type(text).__name__}")
    name = _READ.get(text)
    if name is not None:
        return name
    what, remedy = _REFUSED.get(text, (None, None))
    width = text[2:]
    if text.startswith("w:") and width.isascii() and width.isdecimal() and len(width) < 11 and int(width) < 1 << 31:
        return f"opaque[{int(width)}]"  # not bytes[], which is padded with zeros: here they count
    if what is None and text[:4] in _READ and len(text) > 4:
        what = f"timestamp of the zone {shortened(text[4:])!r}, which no dtype carries"
        remedy = f"DType.from_arrow({text[:4]!r}), the same ticks in UTC, if you keep the zone yourself"
    if what is None and text.startswith("d:"):
        what = f"decimal({shortened(width)})"
        remedy = "a cast to float64 or to integers by its library"
    if what is None and text.startswith("+"):
        what, remedy = "nested", "its children, one at a time"
    fact = f"lend has no dtype for the Arrow format {shortened(repr(text))}"
    raise UnsupportedType.build(fact if what is None else f"{fact}: {what}", remedy=remedy)


def write(dtype: "DType") -> str:
    """The format string of a dtype; UnsupportedType where Arrow has none."""
    text = _FORMATS.get(dtype.name)
    if text is not None:
        return text
    if dtype.kind == "opaque" and dtype.itemsize < 1 << 31:
        return f"w:{dtype.itemsize}"
    raise cannot_say(dtype, "Arrow")
