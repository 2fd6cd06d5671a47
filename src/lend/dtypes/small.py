"""The values of types of a byte or less: float8, float6, float4, int4, int2.

Each has 256 values at most, worked out once when the first is read. https://dmlc.github.io/dlpack/latest/c_api.html
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

# DLPack's code -> bits of exponent and mantissa, bias, and how the top of the range is used: "ieee" has infinities and
# NaNs, "fn" NaN in its last pattern alone, "fnuz" NaN in place of -0, "finite" neither
_LAYOUTS = {
    7: (3, 4, 3, "ieee"),
    8: (4, 3, 7, "ieee"),
    9: (4, 3, 11, "fnuz"),
    10: (4, 3, 7, "fn"),
    11: (4, 3, 8, "fnuz"),
    12: (5, 2, 15, "ieee"),
    13: (5, 2, 16, "fnuz"),
    15: (2, 3, 1, "finite"),
    16: (3, 2, 3, "finite"),
    17: (2, 1, 1, "finite"),
}
_E8M0 = 14  # the exponent alone: no sign, no zero
_tables: "dict[tuple[int, int], Sequence[int | float]]" = {}


def read(raw: bytes, kind: int, which: int, bits: int, lanes: int) -> "int | float | tuple[int | float, ...]":
    """One element: a value, or a tuple of its lanes.

    Parameters
    ----------
    raw : bytes
    kind : int
        0 a float by DLPack's code, 1 a signed integer of so many bits, 2 an unsigned one.
    which : int
        That code, or those bits.
    bits : int
        Of one lane as stored: 8, or less where lanes are packed, the first in the lowest bits.
    lanes : int
    """
    values = _table(kind, which)
    if bits == 8:
        return values[raw[0]] if lanes == 1 else tuple(values[byte] for byte in raw)
    packed = int.from_bytes(raw, "little")
    mask = (1 << bits) - 1
    return tuple(values[packed >> lane * bits & mask] for lane in range(lanes))


def read_packed(
    raw: bytes, start: int, kind: int, which: int, bits: int, lanes: int, shape: "tuple[int, ...]"
) -> "Any":
    """Elements that share bytes, nested by dimension: the first from bit `start` on; the rest as for `read`."""
    values = _table(kind, which)
    mask = (1 << bits) - 1
    if start:
        raw = (int.from_bytes(raw, "little") >> start).to_bytes(len(raw), "little")
    found: list[Any] = []
    shifts = range(0, 24, bits)  # three bytes are a whole number of 2, 4 and 6 bits
    for at in range(0, len(raw), 3):
        three = int.from_bytes(raw[at : at + 3], "little")
        found += [values[three >> shift & mask] for shift in shifts]
    if lanes > 1:
        found = list(zip(*[iter(found)] * lanes, strict=False))
    return _nested(iter(found), shape)


def _nested(values: "Iterator[Any]", shape: "tuple[int, ...]") -> "Any":
    """The values in as many lists as there are extents."""
    if not shape:
        return next(values)
    return [_nested(values, shape[1:]) for _ in range(shape[0])]


def _table(kind: int, which: int) -> "Sequence[int | float]":
    """The values of all patterns of a byte; as ml_dtypes reads them."""
    known = _tables.get((kind, which))
    if known is None:
        if kind == 0:
            known = tuple(_float(which, byte) for byte in range(256))
        else:
            half = 1 << (which - 1) if kind == 1 else 0
            known = tuple(((byte & ((1 << which) - 1)) ^ half) - half for byte in range(256))
        _tables[kind, which] = known
    return known


def _float(which: int, byte: int) -> float:
    """The value of one pattern."""
    if which == _E8M0:
        return float("nan") if byte == 255 else 2.0 ** (byte - 127)
    exponent_bits, mantissa_bits, bias, top = _LAYOUTS[which]
    mantissa = byte & ((1 << mantissa_bits) - 1)
    highest = (1 << exponent_bits) - 1
    exponent = byte >> mantissa_bits & highest
    negative = byte >> (mantissa_bits + exponent_bits)  # whatever stands above the sign counts with it, as in ml_dtypes
    sign = -1.0 if negative else 1.0
    if top == "fnuz" and negative and not exponent and not mantissa:
        return float("nan")
    if top == "ieee" and exponent == highest:
        return sign * float("nan") if mantissa else sign * float("inf")
    if top == "fn" and exponent == highest and mantissa == (1 << mantissa_bits) - 1:
        return sign * float("nan")
    if exponent:
        mantissa += 1 << mantissa_bits
    return sign * mantissa * 2.0 ** (max(exponent, 1) - bias - mantissa_bits)
