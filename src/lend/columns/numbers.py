"""Numbers as elements of a stored type: packed into its bytes, and rounded as it rounds them."""

import struct
import sys
from operator import index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.dtypes.dtype import DType

_FLOATS = {2: "=e", 4: "=f", 8: "=d"}  # not as C has them: what is beyond them would be infinity


def packed(stored: "DType", value: "Any") -> "bytes | None":
    """A number as the bytes of one element, in this machine's order; None where it is none of the type."""
    kind, size = stored.kind, int(stored.itemsize)
    try:
        if kind in ("int", "uint", "datetime", "timedelta", "bool") and hasattr(type(value), "__index__"):
            number = index(value)
            if kind == "bool" and number not in (0, 1):
                return None
            return number.to_bytes(size, sys.byteorder, signed=kind not in ("uint", "bool"))
        if isinstance(value, bool):
            return None
        if kind == "float" and size in _FLOATS:
            return struct.pack(_FLOATS[size], value)
        if kind == "bfloat":
            word = struct.unpack("=I", struct.pack("=f", value))[0]
            # to the nearest, of two as near the even one; NaN stays one
            rounded = word >> 16 | 0x40 if value != value else (word + 0x7FFF + (word >> 16 & 1)) >> 16  # noqa: PLR0124
            if rounded & 0x7FFF == 0x7F80 and word & 0x7FFFFFFF != 0x7F800000:
                return None  # beyond it: infinity was not asked for
            return int(rounded).to_bytes(2, sys.byteorder)
    except (OverflowError, TypeError, ValueError, struct.error):
        pass
    return None


def as_stored(stored: "DType", value: "Any") -> "int | float | None":
    """The number that an element of the type reads as; None where it is none of the type, or of bools."""
    kind = stored.kind
    if isinstance(value, bool) or kind not in ("int", "uint", "datetime", "timedelta", "float", "bfloat"):
        return None
    if kind in ("float", "bfloat") and not hasattr(type(value), "__float__"):
        return None
    size = int(stored.itemsize)
    if kind == "float" and size not in _FLOATS:
        return float(value)
    found = packed(stored, value)
    if found is None:
        return None
    if kind == "float":
        return float(struct.unpack(_FLOATS[size], found)[0])
    if kind == "bfloat":
        word = int.from_bytes(found, sys.byteorder) << 16
        return float(struct.unpack("f", struct.pack("I", word))[0])
    return int.from_bytes(found, sys.byteorder, signed=kind != "uint")
