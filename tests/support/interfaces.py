"""An array interface of six floats, of which every key may be another."""

import struct

from support.producers import ABSENT, ArrayInterface

FLOATS = struct.pack("<6f", 0, 1, 2, 3, 4, 5)


def floats(**changed):
    """Six floats in two rows; every key of the dict may be another, or absent."""
    readonly = changed.pop("readonly", False)
    lender = ArrayInterface(FLOATS, (2, 3), "<f4", readonly=readonly)
    lender.facts = {key: value for key, value in (lender.facts | changed).items() if value is not ABSENT}
    return lender
