"""Columns made of a plain list in every form there is: how elements lie, how nulls are told."""

import math
import struct

import lend
from lend.columns import converting
from lend.columns.nullness import Nulls

Column = lend.Column

NULL_FORMS = {
    "bits": Nulls("bitmask", 0),
    "inverted bits": Nulls("bitmask", 1),
    "bytes of 1": Nulls("bytemask", 1),
    "bytes of 0": Nulls("bytemask", 0),
    "strided bytes": Nulls("bytemask", 1),
    "bytes backwards": Nulls("bytemask", 0),
    "one byte for all": Nulls("bytemask", 1),
    "nan": Nulls("nan"),
    "nat": Nulls("nat"),
    "sentinel": Nulls("sentinel", None, -99),
}
MASKS = ["bits", "inverted bits", "bytes of 1", "bytes of 0", "strided bytes", "bytes backwards"]
LAID = ("side by side", "strided", "backwards", "swapped", "swapped and strided")
_CODES = {
    "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q",
    "float16": "e", "float32": "f", "float64": "d", "bool": "?", "datetime64[ns]": "q", "datetime64[D]": "q",
    "timedelta64[s]": "q", "date32": "i", "datetime64[us, Europe/Paris]": "q",
}  # fmt: skip
NAT = -(2**63)


def bits(truths):
    """Arrow's: the lowest bit of a byte first; what follows the last is 1, as nobody may rely on it."""
    made = bytearray(b"\xff" * ((len(truths) + 7) // 8))
    for i, truth in enumerate(truths):
        if not truth:
            made[i >> 3] &= ~(1 << (i & 7))
    return bytes(made)


def validity(rows, form):
    """The validity buffer of some rows, in which None is null; None of forms that have none."""
    lost = [row is None for row in rows]
    if form == "bits":
        return bits([not each for each in lost])
    if form == "inverted bits":
        return bits(lost)
    if form in ("bytes of 1", "one byte for all"):
        view = lend.view(bytes(lost) if form == "bytes of 1" else bytes([lost[0] if lost else 0]))
        return view if form == "bytes of 1" or not rows else broadcast(view, len(rows))
    if form == "bytes of 0":
        return lend.view(bytes(0 if each else 3 for each in lost))
    if form == "strided bytes":
        return lend.view(bytes(byte for each in lost for byte in (5 * each, 1, 0)))[::3] if rows else b""
    if form == "bytes backwards":
        return lend.view(bytes(not each for each in reversed(lost)))[::-1] if rows else b""
    return None


def broadcast(view, count):
    """One byte, so many times, in the same place."""
    return view.buffer.view("uint8", (count,), (0,))


def stored(rows, form, junk):
    """What stands in memory: under a null nothing that anybody may look at."""
    under = {"nan": math.nan, "nat": NAT, "sentinel": -99}.get(form, junk)
    return [under if row is None else row for row in rows]


def elements(dtype, numbers, laid):
    """The data buffer, as a View."""
    code = _CODES[dtype]
    swapped = laid.startswith("swapped")
    order = (">" if swapped else "<") if lend.DType("int32").byteorder == "little" else ("<" if swapped else ">")
    packed = [struct.pack(order + code, number) for number in numbers]
    size = struct.calcsize("=" + code)
    kind = lend.DType(dtype).newbyteorder("swap") if swapped and size > 1 else f"opaque[{size}]"
    if laid.endswith("strided"):
        held = lend.view(b"".join(each + b"\xa5" * (size + 1) for each in packed))
        return held.buffer.view(kind, (len(packed),), (2 * size + 1,)) if packed else lend.view(b"")
    if laid == "backwards" and packed:
        held = lend.view(b"".join(reversed(packed)))
        return held.buffer.view(kind, (len(packed),), (-size,), size * (len(packed) - 1))
    return lend.view(b"".join(packed))


def numbers(dtype, values, form=None, laid="side by side", before=(), after=(), name="x", **kept):
    """Elements of one width: those of `values`, between some that are not of the column."""
    rows = [*before, *values, *after]
    junk = 1 if dtype == "bool" else 77
    kind = lend.DType(dtype)
    if laid.startswith("swapped"):
        kind = kind.newbyteorder("swap")
    buffers = {"data": elements(dtype, stored(rows, form, junk), laid), "validity": validity(rows, form)}
    return Column.from_buffers(
        kind, len(values), buffers, nulls=NULL_FORMS.get(form, "none"), offset=len(before), name=name, **kept
    )


def packed_bools(values, form=None, before=(), after=()):
    rows = [*before, *values, *after]
    buffers = {"data": bits(stored(rows, form, True)), "validity": validity(rows, form)}
    return Column.from_buffers(
        lend.DType.from_arrow("b"),
        len(values),
        buffers,
        nulls=NULL_FORMS.get(form, "none"),
        offset=len(before),
        name="x",
    )


def texts(values, form=None, before=(), after=(), wide=False, lead=b"", bare=False, name="x"):
    """Text between offsets, of which the first need not be 0; under a null there may be bytes too."""
    rows = [*before, *values, *after]
    pieces = [(b"null" if row is None else row if bare else row.encode()) for row in rows]
    offsets, at = [len(lead)], len(lead)
    for piece in pieces:
        at += len(piece)
        offsets.append(at)
    letter = ("Z" if wide else "z") if bare else ("U" if wide else "u")
    buffers = {
        "offsets": struct.pack(f"={len(offsets)}{'q' if wide else 'i'}", *offsets),
        "data": lead + b"".join(pieces),
        "validity": validity(rows, form),
    }
    return Column.from_buffers(
        lend.DType.from_arrow(letter), len(values), buffers, nulls=NULL_FORMS.get(form, "none"), offset=len(before),
        name=name,
    )  # fmt: skip


def lists(values, form=None, before=(), after=(), wide=False, child_form="bits"):
    """Lists of int16, which have nulls of their own."""
    rows = [*before, *values, *after]
    flat, offsets = [7, None], [2]
    for row in rows:
        flat += [1, 2] if row is None else row
        offsets.append(len(flat))
    child = numbers("int16", [*flat, 5], child_form, before=[3, None, 4], name="item")
    buffers = {
        "offsets": struct.pack(f"={len(offsets)}{'q' if wide else 'i'}", *offsets),
        "validity": validity(rows, form),
    }
    kind = lend.DType.from_arrow("+L" if wide else "+l", fields=[("item", child.dtype)])
    return Column.from_buffers(
        kind, len(values), buffers, nulls=NULL_FORMS.get(form, "none"), offset=len(before), children=[child], name="x"
    )


def fixed_lists(values, form=None, before=(), after=(), child_form="bits"):
    """Lists of two bools of one byte each."""
    rows = [*before, *values, *after]
    flat = [each for row in rows for each in ([None, True] if row is None else row)]
    child = numbers("bool", [*flat, True], child_form, before=[True, None, False], name="item")
    kind = lend.DType.from_arrow("+w:2", fields=[("item", child.dtype)])
    return Column.from_buffers(
        kind, len(values), {"validity": validity(rows, form)}, nulls=NULL_FORMS.get(form, "none"), offset=len(before),
        children=[child], name="x",
    )  # fmt: skip


def structs(values, form=None, before=(), after=(), child_form="bits"):
    """Structs of a float b and a text t."""
    rows = [{"b": None, "t": "under"} if row is None else row for row in (*before, *values, *after)]
    number = numbers("float64", [row["b"] for row in rows], child_form, before=[1.5, None], name="b")
    text = texts([row["t"] for row in rows], "bytes of 0", before=["before"], name="t")
    kind = lend.DType.from_arrow("+s", fields=[("b", number.dtype), ("t", text.dtype)])
    return Column.from_buffers(
        kind, len(values), {"validity": validity([*before, *values, *after], form)}, nulls=NULL_FORMS.get(form, "none"),
        offset=len(before), children=[number, text], name="x",
    )  # fmt: skip


def categories(values, words, form=None, index="int8", before=(), after=(), laid="side by side", ordered=False):
    """Indices of a dictionary: of None the index is null by the form, -1 where a value says null."""
    rows = [None if row is None and form else words.index(row) for row in (*before, *values, *after)]
    dictionary = texts(words, "bits" if None in words else None, before=["not one"])
    kind = lend.DType.from_arrow(lend.DType(index).arrow, dictionary=dictionary.dtype, ordered=ordered)
    under = -1 if form == "minus one" else 0
    buffers = {
        "data": elements(index, [under if row is None else row for row in rows], laid),
        "validity": validity(rows, form),
    }
    nulls = Nulls("sentinel", None, -1) if form == "minus one" else NULL_FORMS.get(form, "none")
    return Column.from_buffers(
        kind, len(values), buffers, nulls=nulls, offset=len(before), dictionary=dictionary, name="x"
    )


def snapshot(column):
    """All bytes that a column shows, to see that nobody changed them."""
    if len(column.chunks) != 1:
        return [snapshot(chunk) for chunk in column.chunks]
    found = [bytes(part) for part in column.buffers.values() if not isinstance(part, tuple)]
    found += [snapshot(child) for child in column.children]
    return found if column.dictionary is None else [*found, snapshot(column.dictionary)]


def addresses(column):
    """Where each buffer of one chunk begins at element 0 of the column's own, by role."""
    return {role: part.ptr for role, part in column.buffers.items() if not isinstance(part, tuple)}


def carried_out(module, name, column, *args):
    """What a function makes of a column; its draft told the bytes, and the source is what it was."""
    before = snapshot(column)
    draft = getattr(module, name)(column, *args)
    with lend.copies() as made:
        result = getattr(converting, name)(column, *args)
    assert made.bytes == draft.nbytes, "the bytes that were told are those that were written"
    assert bool(made.bytes) <= bool(draft.reasons) or name == "compact", "what is written has a reason"
    assert snapshot(column) == before, "nobody changes the source"
    return result
