"""`__dataframe__`, the dataframe interchange protocol, version 0: what a frame tells, read into plain facts.

The type of a column is what the column says; the dtypes beside its buffers are believed of the width of offsets and
masks alone, as half of the libraries tell them wrong. An `offset` counts elements, of every buffer. Nothing of memory
is read here, and no address before its device was told. How it is given stands beside (`dataframe_giving.py`).
https://data-apis.org/dataframe-protocol/latest/API.html
"""

import sys
from operator import index

from lend.errors import LendError, MalformedDescriptor, UnsupportedType
from lend.protocols.classes import bases_of, full_name, module_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DUNDER = "__dataframe__"
INT, UINT, FLOAT, BOOL, STRING, DATETIME, CATEGORICAL = 0, 1, 2, 20, 21, 22, 23
NULL_KINDS = ("none", "nan", "sentinel", "bitmask", "bytemask")
NAT = -(2**63)
# Arrow's letter -> kind and bits
NUMBERS = {
    "c": (INT, 8), "s": (INT, 16), "i": (INT, 32), "l": (INT, 64), "C": (UINT, 8), "S": (UINT, 16), "I": (UINT, 32),
    "L": (UINT, 64), "e": (FLOAT, 16), "f": (FLOAT, 32), "g": (FLOAT, 64),
}  # fmt: skip
LETTERS = {number: letter for letter, number in NUMBERS.items()}
_DIALECT = {"i": INT, "u": UINT, "f": FLOAT}  # NumPy's letters: <i8 is told where l is meant
_BOOLS = ("b", "?", "b1")
_NATIVE = {"=", "|", "", "<" if sys.byteorder == "little" else ">"}
_DEVICES = (1, 2, 3, 9, 10, 11, 12, 13, 14, 16, 17, 18)
# libraries that tell the opposite of the truth of their masks, with the version that was seen to
_INVERTED = {"vaex": "vaex-core 4.19"}


class ToldBuffer:
    """A buffer of the protocol: where it says it is. It is what holds the memory."""

    __slots__ = ("device", "lender", "nbytes", "ptr")

    def __init__(self, lender: "Any", what: str) -> None:
        self.lender = lender
        pair = lender.__dlpack_device__()
        try:
            kind, number = pair
            kind = index(kind)
            self.device = kind, 0 if kind == 1 else -1 if number is None else index(number)
        except (TypeError, ValueError):
            raise _malformed(f"{what} tells its device as {pair!r:.60}, which is no pair of type and number") from None
        if self.device[0] not in _DEVICES:
            raise UnsupportedType.build(
                f"{what} is on a device of type {self.device[0]}, which lend does not know",
                came=full_name(type(lender)),
            )
        self.ptr = count(lender.ptr, f"{what}: ptr", 1 << 64)
        self.nbytes = count(lender.bufsize, f"{what}: bufsize")
        if self.nbytes and (not self.ptr or self.ptr + self.nbytes > 1 << 64):
            raise _malformed(f"{what} has {self.nbytes} bytes at the address {self.ptr}")


class ToldColumn:
    """A column of one chunk as it was told and checked.

    Attributes
    ----------
    format : str
        Arrow's, of indices where there are categories; "bool" where bools have a byte each.
    length, offset : int
        In elements.
    nulls : tuple
        Kind, which value of a mask says null, and the value that stands for it.
    buffers : dict of str to ToldBuffer
    categories : Column of the protocol, list or tuple; None
    ordered : bool
    """

    __slots__ = ("buffers", "categories", "format", "length", "name", "no_null", "nulls", "offset", "ordered")

    def __init__(self, column: "Any", name: str) -> None:
        self.name = name
        kind, bits, self.format = _type(column)
        self.length = count(asked(column, "size"), "its size")
        self.offset = count(asked(column, "offset"), "its offset")
        given: dict[str, tuple[ToldBuffer, int | None]] = {}
        for role, told in dict(column.get_buffers()).items():
            if role not in ("data", "validity", "offsets"):
                raise _malformed(f"it has a buffer {role!r:.40}, which the protocol does not know")
            if told is None:
                continue
            buffer, *rest = told if isinstance(told, tuple | list) else (told,)
            if buffer is not None:
                given[role] = ToldBuffer(buffer, f"its {role}"), _bits(rest)
        self.categories, self.ordered = None, False
        if kind == CATEGORICAL:
            self.categories, self.ordered = _categories(column)
            self.format = _codes(self.format, bits)
        self.nulls = self._nulls(column, kind, given)
        # what is no text, modin tells as a null of a column of text without nulls
        self.no_null = self.nulls[0] in ("bitmask", "bytemask") and _says_no_null(column)
        if kind == STRING:
            self.format = self._text(given)
        elif "offsets" in given:
            raise _malformed("it has offsets, and is no text")
        self.buffers = {role: buffer for role, (buffer, _) in given.items()}
        if self.nulls[0] not in ("bitmask", "bytemask"):
            self.buffers.pop("validity", None)
        self._check_room(bits)

    def _nulls(self, column: "Any", kind: int, given: "dict[str, Any]") -> "tuple[str, int | None, Any]":
        """The form of nulls; what the producer contradicts itself in is believed where nothing is null."""
        told, value = column.describe_null
        told = index(told)
        if not 0 <= told <= 4:
            raise _malformed(f"it tells nulls of kind {told}, and there are 0 to 4")
        mask = given.get("validity")
        if told == 0:
            if mask is not None and asked(column, "null_count") != 0:
                raise _malformed("it says that nothing in it can be null, and has a validity buffer all the same")
            return "none", None, None
        if told in (3, 4):
            return self._masked(column, told, value, mask)
        if kind in (STRING, BOOL) or (told == 1 and kind not in (FLOAT, DATETIME)):
            raise _malformed(f"it tells nulls of kind {told} ({NULL_KINDS[told]}), which its type does not have")
        if told == 1 or (isinstance(value, float) and value != value):  # noqa: PLR0124 - NaN, which equals nothing
            return ("nat" if kind == DATETIME else "nan"), None, None
        value = float(value) if kind == FLOAT else _integer(value, "the value that stands for null")
        if kind == DATETIME and value == NAT:
            return "nat", None, None
        of, bits = NUMBERS.get(self.format, (INT, 64))
        low, high = (0, 2**bits - 1) if of == UINT else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        if of != FLOAT and not low <= value <= high:
            if asked(column, "null_count") != 0:
                raise _malformed(f"it tells that {value} stands for null, which is no value of {self.format!r}")
            return "none", None, None
        return "sentinel", None, value

    def _masked(self, column: "Any", told: int, value: "Any", mask: "Any") -> "tuple[str, int | None, Any]":
        if mask is None:
            if asked(column, "null_count") not in (0, None):
                raise _malformed(f"it has nulls by a {NULL_KINDS[told]}, and gives none")
            return "none", None, None
        for base in bases_of(type(column)):
            seen = _INVERTED.get(module_of(base).partition(".")[0])
            if seen is not None:
                raise UnsupportedType.build(
                    f"its mask cannot be believed: {seen} says null where it means valid",
                    came=full_name(type(column)),
                    remedy="its values as an array of NumPy's with a mask",
                )
        if value not in (0, 1):
            raise _malformed(f"a mask says null by 0 or by 1, not by {value!r:.40}")
        if mask[1] not in (None, 1 if told == 3 else 8):
            raise _malformed(f"it tells a {NULL_KINDS[told]}, and that its elements have {mask[1]} bits")
        return NULL_KINDS[told], index(value), None

    def _text(self, given: "dict[str, Any]") -> str:
        """Whether offsets have 32 or 64 bits: by the room they have, by what is told of them, by the format."""
        if "offsets" not in given:
            if self.length:
                raise _malformed("it is text, and has no offsets")
            return self.format
        buffer, told = given["offsets"]
        many = self.offset + self.length + 1
        if not self.length:
            del given["offsets"]  # nobody needs the offset of nothing
            return self.format
        if buffer.nbytes < 8 * many:
            if buffer.nbytes < 4 * many or (told == 64 and self.format == "U"):
                width = 8 if told == 64 and self.format == "U" else 4
                raise _short("offsets", buffer.nbytes, width * many)
            return "u"
        formats = {32: "u", 64: "U"}
        if formats.get(told) == self.format:
            return self.format
        if buffer.nbytes == 8 * many:
            return "U"
        return formats.get(told, self.format)

    def _check_room(self, bits: int) -> None:
        end = self.offset + self.length
        if not self.length:
            return
        for role, buffer in self.buffers.items():
            if role == "validity":
                need = (end + 7) // 8 if self.nulls[0] == "bitmask" else end
            elif role == "offsets" or self.format in ("u", "U"):
                continue  # offsets were looked at; what they lead to is looked at when they are followed
            else:
                need = (end * bits + 7) // 8
            if buffer.nbytes < need:
                raise _short(role, buffer.nbytes, need)
        if "data" not in self.buffers and self.format not in ("u", "U"):
            raise _malformed("it has no data")


def asked(obj: "Any", name: str) -> "Any":
    """What is a method in the protocol and a property in some libraries, or the other way round."""
    found = getattr(obj, name)
    return found() if callable(found) else found


def _says_no_null(column: "Any") -> bool:
    """Whether a column counts its nulls, and there are none: some cannot be asked."""
    try:
        return bool(asked(column, "null_count") == 0)
    except (MemoryError, RecursionError):
        raise
    except Exception:  # noqa: BLE001 - a mask is enough, whatever counting it raises
        return False


def count(value: "Any", what: str, largest: int = 1 << 62) -> int:
    """A number of elements, rows, bytes: an integer from 0 on."""
    found = _integer(value, what)
    if not 0 <= found < largest:
        raise _malformed(f"{what} is told as {found}")
    return found


def chunks_of(obj: "Any") -> "list[Any]":
    """The chunks of a frame or column; of a single one itself, as some cannot be asked for that."""
    if count(asked(obj, "num_chunks"), "its number of chunks") < 2:
        return [obj]
    return list(obj.get_chunks())


def _type(column: "Any") -> "tuple[int, int, str]":
    """Kind, bits and Arrow's format."""
    told = column.dtype
    try:
        kind, bits, format, order = told
        kind, bits = index(kind), index(bits)
    except (TypeError, ValueError):
        raise _malformed(f"its dtype is told as {told!r:.80}, which is not (kind, bits, format, byte order)") from None
    format = str(format)
    plain = format.lstrip("<>=|")
    if str(order) not in _NATIVE or format[: len(format) - len(plain)] not in _NATIVE:
        raise UnsupportedType.build(
            f"its numbers are in the other byte order ({told!r:.80})",
            came=full_name(type(column)),
            remedy="numbers in this machine's order, of its library",
        )
    if kind in (INT, UINT, FLOAT):
        letter = LETTERS.get((kind, bits))
        if letter is not None and (format == letter or _by_dialect(plain, format) == (kind, bits)):
            return kind, bits, letter
    elif kind == BOOL:
        if bits in (1, 8) and plain in _BOOLS:
            return kind, bits, "bool" if bits == 8 else "b"
    elif kind == STRING:
        if format in ("u", "U"):
            return kind, bits, format
    elif kind == DATETIME:
        if format[:2] in ("ts", "td", "tt", "tD") and bits == (32 if format in ("tdD", "tts", "ttm") else 64):
            return kind, bits, format
    elif kind == CATEGORICAL and bits in (8, 16, 32, 64):
        return kind, bits, format
    raise UnsupportedType.build(
        f"it is told to be of kind {kind} with {bits} bits in the format {format!r:.60}, which is no type of the "
        "protocol",
        came=full_name(type(column)),
    )


def _by_dialect(plain: str, format: str) -> "tuple[int, int] | None":
    """Kind and bits of NumPy's spelling, i8 in <i8; of a bare i8 as well."""
    if len(plain) < 2 or plain[0] not in _DIALECT or not plain[1:].isdecimal():
        return None
    return _DIALECT[plain[0]], 8 * int(plain[1:])


def _codes(format: str, bits: int) -> str:
    """Arrow's letter of indices; what stands there in some libraries is the format of the categories."""
    if NUMBERS.get(format, (FLOAT, 0)) in ((INT, bits), (UINT, bits)):
        return format
    plain = format.lstrip("<>=|")
    found = _by_dialect(plain, format)
    return LETTERS[found] if found in ((INT, bits), (UINT, bits)) else LETTERS[INT, bits]


def _categories(column: "Any") -> "tuple[Any, bool]":
    said = column.describe_categorical
    if callable(said):
        said = said()
    try:
        ordered, is_dictionary, words = (
            said if type(said) is tuple else (said["is_ordered"], said["is_dictionary"], said["categories"])
        )
    except (TypeError, ValueError, KeyError):
        raise _malformed(f"its categories are told as {said!r:.80}") from None
    if not is_dictionary or words is None:
        raise UnsupportedType.build(
            "it is categorical without a dictionary: nobody says what its codes mean", came=full_name(type(column))
        )
    return words, bool(ordered)


def _bits(rest: "Any") -> "int | None":
    """The bits that the dtype beside a buffer tells; some tell none."""
    return index(rest[0][1]) if rest and rest[0] is not None else None


def _integer(value: "Any", what: str) -> int:
    if type(value) is int:
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise _malformed(f"{what} is told as {value!r:.60}, which is no integer")
    return index(value)


def _short(role: str, there: int, needed: int) -> LendError:
    return _malformed(f"its {role} has {there} bytes, and offset and size together need {needed}")


def _malformed(fact: str) -> MalformedDescriptor:
    return MalformedDescriptor.build(fact)
