"""The `descr` of the array interfaces and the typestrs that lend has no dtype for; loaded when one comes along."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# entries that are looked at: a list may hold itself
_ENTRIES = 4096
_DEPTH = 32


def typestr_parts(typestr: str) -> "tuple[str, int]":
    """Kind and bytes of one element, for any kind; -1 bytes if it tells none."""
    text = typestr[1:] if typestr[:1] in ("<", ">", "|", "=") else typestr
    if text == "O":
        return "O", 8
    digits = text[1:]
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 10):
        return text[:1], -1
    return text[0], int(digits) * (4 if text[0] == "U" else 1)


def read_descr(descr: "Any") -> "tuple[int, bool, bool]":
    """Bytes of a descr, whether it has fields with a name or a meaning, and whether one holds object pointers.

    -1 bytes if it is no descr.
    """
    return _read(descr, [_ENTRIES], _DEPTH)


def _read(descr: "Any", budget: "list[int]", depth: int) -> "tuple[int, bool, bool]":
    refused = (-1, False, False)
    total, fields, objects = 0, False, False
    if type(descr) is not list or depth == 0:
        return refused
    for entry in tuple(descr):
        budget[0] -= 1
        if budget[0] < 0 or type(entry) is not tuple or not 2 <= len(entry) <= 3:
            return refused
        if type(entry[1]) is str:
            kind, size = typestr_parts(entry[1].partition("[")[0])
            objects |= kind == "O"
            meant = kind != "V"
        else:
            size, _, within = _read(entry[1], budget, depth - 1)
            objects |= within
            meant = True
        fields |= meant or type(entry[0]) is not str or entry[0] != ""
        repeats = entry[2] if len(entry) == 3 else ()
        for extent in repeats if type(repeats) is tuple else (repeats,):
            if type(extent) is not int or extent < 0:
                return refused
            size *= extent
        if not 0 <= size < 1 << 32:
            return refused
        total += size
    return total, fields, objects
