"""Unions, runs and extension types laid out as Arrow has them, which `arrow_layouts` leaves to this file.

Every maker answers a Node, with offsets of its own, and the list of its values.
"""

import struct

from .arrow_layouts import Kind, encode
from .arrow_structs import Node

BOTH = [(Kind("l"), [5, None, 7, -1]), (Kind("u"), ["a", None, "", "thirteen bytes"])]


def sparse(random, offset=2, length=4, format="+us:7,3"):
    """A sparse union: of each row the child that its type id names, at the row itself."""
    picks = [random.randrange(2) for _ in range(offset + length)]
    values = [random.choice(BOTH[pick][1]) for pick in picks]
    children = [
        encode(kind, [value if pick == place else None for pick, value in zip(picks, values, strict=True)], random)
        for place, (kind, _) in enumerate(BOTH)
    ]
    ids = bytes((7, 3)[pick] for pick in picks)
    return Node(format, length, 0, offset, [ids], children), values[offset:]


def dense(random, offset=1, length=5):
    """A dense union, whose rows of one child are in order there, with others between."""
    picks = [random.randrange(2) for _ in range(offset + length)]
    rows = [sorted(random.randrange(4) for _ in picks) for _ in BOTH]
    rows = [rows[pick][at] for at, pick in enumerate(picks)]
    values = [BOTH[pick][1][row] for pick, row in zip(picks, rows, strict=True)]
    children = [encode(kind, inner, random) for kind, inner in BOTH]
    ids = bytes((0, 127)[pick] for pick in picks)
    offsets = struct.pack(f"{len(rows)}i", *rows)
    return Node("+ud:0,127", length, 0, offset, [ids, offsets], children), values[offset:]


def runs(random, code="i", offset=None, length=6):
    """Runs: the offset is a logical place, and both children have offsets of their own."""
    offset = random.choice([0, 1, 4]) if offset is None else offset
    ends, values, at = [], [], 0
    while at < offset + length:
        at += random.choice([1, 2, 3])
        ends.append(at)
        values.append(random.choice(["x", None, "yy"]))
    rows = [value for value, end, start in zip(values, ends, [0, *ends], strict=False) for _ in range(end - start)]
    before = [random.randrange(9) for _ in range(random.choice([0, 2]))]
    packed = struct.pack(f"{len(before + ends)}{code.replace('l', 'q').replace('s', 'h')}", *before, *ends)
    child = Node(code, len(ends), 0, len(before), [None, packed], name="run_ends")
    return Node("+r", length, 0, offset, [], [child, encode(Kind("u"), values, random, "values")]), rows[offset:][
        :length
    ]


def extension(node, name="ours.type", said=b"\0\xff"):
    """The same data under the name of an extension type."""
    node.metadata = {b"ARROW:extension:name": name.encode(), b"ARROW:extension:metadata": said}
    return node


MAKERS = {
    "sparse": sparse,
    "dense": dense,
    "runs of 16 bits": lambda random: runs(random, "s"),
    "runs of 32 bits": lambda random: runs(random, "i"),
    "runs of 64 bits": lambda random: runs(random, "l"),
}
