"""Python values laid out as Arrow has them, in every way that Arrow allows, and the strategies that draw them.

`encode(kind, values, random)` makes the Node (`support.arrow_structs`) of these values: with an offset of its own at
each level, elements in front and behind that belong to nobody, garbage under each null, first offsets that are not 0,
views and list views in any order. What a reader should answer is the list `values`.
"""

import datetime
import decimal
import functools
import string
import struct
from dataclasses import dataclass

from hypothesis import strategies as st

from .arrow_structs import Node

_DAY = datetime.date(1970, 1, 1)
_START = datetime.datetime(1970, 1, 1)
_MICRO = datetime.timedelta(microseconds=1)
_SCALE = {"s": 10**6, "m": 1000, "u": 1, "n": 1}  # microseconds; of nanoseconds only whole microseconds are drawn


@dataclass(frozen=True)
class Kind:
    """A type: Arrow's format, kinds of the children (a dict of a struct), and that of the values of a dictionary."""

    format: str
    children: tuple = ()  # of (name, Kind)
    values: "Kind | None" = None

    def __str__(self):
        inner = ", ".join(str(kind) for _, kind in self.children) or (self.values and f"dictionary of {self.values}")
        return f"{self.format}<{inner}>" if inner else self.format


NUMBERS = {"c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "l": "q", "L": "Q", "e": "e", "f": "f", "g": "d"}
FLAT = [
    *map(Kind, NUMBERS),
    *map(Kind, ["b", "u", "U", "z", "Z", "vu", "vz", "w:3", "w:0", "n"]),
    *map(Kind, ["d:9,2,32", "d:18,-3,64", "d:38,10", "d:38,0,128", "d:76,20,256"]),
    *map(Kind, ["tdD", "tdm", "tts", "ttm", "ttu", "ttn", "tDs", "tDm", "tDu", "tDn", "tiM", "tiD", "tin"]),
    *map(Kind, ["tss:", "tsm:", "tsu:", "tsn:", "tsu:UTC", "tsu:+02:00", "tsm:-05:30", "tss:Z"]),
]

_ITEM = Kind("s")
NESTED = [
    *(Kind(format, (("item", _ITEM),)) for format in ("+l", "+L", "+vl", "+vL", "+w:0", "+w:1", "+w:3")),
    Kind("+s", (("a", _ITEM), ("b", Kind("u")))),
    Kind("+s"),
    Kind("+m", (("entries", Kind("+s", (("key", Kind("u")), ("value", _ITEM)))),)),
    *(Kind(code, (), Kind("vu")) for code in "cCsSiIlL"),
    Kind("+l", (("item", Kind("+s", (("x", Kind("+w:2", (("item", Kind("b")),))), ("y", Kind("c", (), _ITEM))))),)),
]


def kinds():
    """Any kind: a flat one, a dictionary, or lists and structs of kinds."""
    words = st.sampled_from([kind for kind in FLAT if kind.format not in ("n", "w:0", "b")])
    codes = st.sampled_from("cCsSiIlL")
    flat = st.one_of(st.sampled_from(FLAT), st.builds(lambda code, values: Kind(code, (), values), codes, words))

    def nested(inner):
        one = st.sampled_from(["+l", "+L", "+vl", "+vL", "+w:0", "+w:1", "+w:3"])
        names = st.lists(st.sampled_from("abcd"), unique=True, max_size=3)
        pair = st.builds(lambda value: Kind("+s", (("key", Kind("u")), ("value", value))), inner)
        return st.one_of(
            st.builds(lambda layout, item: Kind(layout, (("item", item),)), one, inner),
            names.flatmap(lambda names: st.tuples(*[st.tuples(st.just(name), inner) for name in names])).map(
                lambda fields: Kind("+s", fields)
            ),
            st.builds(lambda entries: Kind("+m", (("entries", entries),)), pair),
        )  # fmt: skip

    return st.recursive(flat, nested, max_leaves=4)


def _zone(format):
    said = format.partition(":")[2]
    return datetime.datetime.strptime(said.replace("UTC", "Z"), "%z").tzinfo if said else None


def _plain(kind):
    """The strategy of the values of a flat kind, and what packs one: value -> bytes."""
    format = kind.format
    if format in NUMBERS:
        code = NUMBERS[format]
        bits = struct.calcsize(code) * 8
        if format in "efg":
            return st.floats(width=bits, allow_nan=False), lambda value: struct.pack(code, value)
        low = -(2 ** (bits - 1)) if format.islower() else 0
        return st.integers(low, low + 2**bits - 1), lambda value: struct.pack(code, value)
    if format.startswith("d:"):
        precision, scale, *rest = map(int, format[2:].split(","))
        width = rest[0] // 8 if rest else 16
        exact = decimal.Context(prec=100)
        return st.integers(-(10**precision) + 1, 10**precision - 1).map(
            lambda number: decimal.Decimal(number).scaleb(-scale, exact)
        ), lambda value: int(value.scaleb(scale, exact)).to_bytes(width, "little", signed=True)
    if format.startswith("w:"):
        return st.binary(min_size=int(format[2:]), max_size=int(format[2:])), bytes
    if format in ("tdD", "tdm"):
        code, many = ("i", 1) if format == "tdD" else ("q", 86400 * 1000)
        return st.dates(), lambda value: struct.pack(code, (value - _DAY).days * many)
    if format.startswith("ti"):
        small, wide = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
        return {
            "tiM": (small, lambda value: struct.pack("i", value)),
            "tiD": (st.tuples(small, small), lambda value: struct.pack("ii", *value)),
            "tin": (st.tuples(small, small, wide), lambda value: struct.pack("=iiq", *value)),
        }[format]
    unit = format[2]
    many, code = (1000 if unit == "n" else 1), "i" if format in ("tts", "ttm") else "q"

    def packed(length):
        return struct.pack(code, length // _MICRO // _SCALE[unit] * many)

    least = datetime.timedelta(microseconds=_SCALE[unit])
    if format.startswith("tt"):
        numbers = st.integers(0, datetime.timedelta(days=1) // least - 1)
        return numbers.map(lambda number: (_START + number * least).time()), lambda value: packed(
            datetime.datetime.combine(_DAY, value) - _START
        )
    days = st.timedeltas(datetime.timedelta(days=-90000), datetime.timedelta(days=90000))
    lengths = days.map(lambda length: length // least * least)
    if format.startswith("tD"):
        return lengths, packed
    zone = _zone(format)
    start = _START.replace(tzinfo=datetime.UTC if zone else None)
    moments = lengths.map(lambda length: start + length)
    return (moments.map(lambda moment: moment.astimezone(zone)) if zone else moments), lambda value: packed(
        value - start
    )


def values_of(kind, *, nulls=True):
    """The strategy of an element of a column of this kind."""
    format, inner = kind.format, [values_of(child, nulls=nulls) for _, child in kind.children]
    if kind.values is not None:
        found = values_of(kind.values, nulls=False)
    elif format == "n":
        return st.none()
    elif format == "b":
        found = st.booleans()
    elif format.strip("v") in ("u", "U"):
        found = st.text(st.characters(codec="utf-8"), max_size=20) | st.text(string.printable, min_size=13, max_size=30)
    elif format.strip("v") in ("z", "Z"):
        found = st.binary(max_size=30)
    elif format in ("+l", "+L", "+vl", "+vL"):
        found = st.lists(inner[0], max_size=4)
    elif format.startswith("+w:"):
        found = st.lists(inner[0], min_size=int(format[3:]), max_size=int(format[3:]))
    elif format == "+s":
        found = st.fixed_dictionaries({name: values for (name, _), values in zip(kind.children, inner, strict=True)})
    elif format == "+m":
        key, value = (values_of(part, nulls=nulls) for _, part in kind.children[0][1].children)
        found = st.lists(st.tuples(key.filter(lambda key: key is not None), value), max_size=3)
    else:
        found = _plain(kind)[0]
    return found | st.none() if nulls else found


@functools.cache
def lists_of(kind):
    """The strategy of the lists that a column of this kind is made of."""
    return st.lists(values_of(kind), max_size=20)


def columns():
    """The strategy of a kind, a list of its values, and what draws how they lie."""
    return kinds().flatmap(lambda kind: st.tuples(st.just(kind), lists_of(kind), st.randoms(use_true_random=False)))


def bits_of(flags):
    """Bits as Arrow packs them, with a last byte that is not full filled up by ones."""
    flags = [*flags, *[1] * (-len(flags) % 8)]
    return bytes(sum(bool(bit) << i for i, bit in enumerate(flags[at : at + 8])) for at in range(0, len(flags), 8))


def encode(kind, values, random, name="", *, solid=False):
    """The Node of these values; everything that Arrow leaves open is drawn from `random`.

    `solid` has no nulls, outside neither: so are the entries of a map, and their keys.
    """
    offset, tail = random.choice([0, 0, 1, 3, 8, 11]), random.choice([0, 0, 1, 2])
    around = [None] if not solid else values[:1]
    padded = around * offset + list(values) + around * tail
    offset = offset if around else 0
    buffers, children, dictionary = _laid_out(kind, padded, random, solid)
    missing = sum(value is None for value in values)
    if kind.format != "n":
        ghosts = [random.random() < 0.5 for _ in padded]  # what lies outside may be null or not
        inside = range(offset, offset + len(values))
        masked = not solid and (any(value is None for value in values) or random.random() < 0.3)
        valid = [value is not None if i in inside else ghosts[i] for i, value in enumerate(padded)]
        buffers = [bits_of(valid) if masked else None, *buffers]
    return Node(
        kind.format, len(values), random.choice([missing, -1]), offset, buffers, children, dictionary, name=name
    )


def _laid_out(kind, rows, random, solid):
    """Buffers behind the validity, children, dictionary; a row that is None gets garbage."""
    format, garbage = kind.format, random.randbytes
    if kind.values is not None:
        words = [value for i, value in enumerate(rows) if value is not None and value not in rows[:i]]
        extra = random.choice([[], [None]])  # which no code asks for
        random.shuffle(words)
        codes = {id(value): words.index(value) for value in rows if value is not None}
        code = NUMBERS[format]
        size = struct.calcsize(code)
        data = [garbage(size) if row is None else struct.pack(code, codes[id(row)]) for row in rows]
        return [b"".join(data)], [], encode(kind.values, words + extra, random)
    if format == "n":
        return [], [], None
    if format == "b":
        return [bits_of([random.random() < 0.5 if row is None else row for row in rows])], [], None
    if format in ("u", "U", "z", "Z"):
        pieces = [garbage(random.choice([0, 3])) if row is None else _encoded(row) for row in rows]
        lead = garbage(random.choice([0, 5]))
        return [_offsets(pieces, len(lead), format in "UZ"), lead + b"".join(pieces) + garbage(2)], [], None
    if format in ("vu", "vz"):
        return _views(rows, random), [], None
    if format == "+s":
        fields = [
            encode(child, [row and row[name] for row in rows], random, name, solid=solid and name == "key")
            for name, child in kind.children
        ]
        return [], fields, None
    if format.startswith("+"):
        return (*_lists(kind, rows, random), None)
    pack = _plain(kind)[1]
    width = int(format[2:]) if format.startswith("w:") else len(pack(_sample(kind)))
    return [b"".join(garbage(width) if row is None else pack(row) for row in rows)], [], None


def _sample(kind):
    """Some value of a flat kind, to see how long it is."""
    format = kind.format
    if format in NUMBERS or format == "tiM":
        return 0
    if format.startswith("d:"):
        return decimal.Decimal(0)
    if format.startswith("ti"):
        return (0, 0) if format == "tiD" else (0, 0, 0)
    if format.startswith("td"):
        return _DAY
    if format.startswith("tt"):
        return datetime.time()
    return datetime.timedelta() if format.startswith("tD") else _START.replace(tzinfo=_zone(format) and datetime.UTC)


def _encoded(value):
    return value.encode() if isinstance(value, str) else value


def _offsets(pieces, first, wide):
    ends = [first]
    for piece in pieces:
        ends.append(ends[-1] + len(piece))
    return struct.pack(f"{len(ends)}{'q' if wide else 'i'}", *ends)


def _views(rows, random):
    places = [bytearray(random.randbytes(3)) for _ in range(random.choice([1, 2]))]
    views = []
    for row in rows:
        data = None if row is None else _encoded(row)
        if data is None:
            views.append(random.randbytes(16))
        elif len(data) <= 12:
            views.append(struct.pack("i12s", len(data), data))
        else:
            which = random.randrange(len(places))
            views.append(struct.pack("i4sii", len(data), data[:4], which, len(places[which])))
            places[which] += data
    lengths = struct.pack(f"{len(places)}q", *map(len, places))
    return [b"".join(views), *map(bytes, places), lengths]


def _lists(kind, rows, random):
    format, child = kind.format, kind.children[0][1]
    if format == "+m":
        names = [name for name, _ in child.children]
        rows = [None if row is None else [dict(zip(names, pair, strict=True)) for pair in row] for row in rows]
    if format.startswith("+w:"):
        width = int(format[3:])
        return [], [encode(child, [item for row in rows for item in ([None] * width if row is None else row)], random)]
    spare = {} if child.format == "+s" and format == "+m" else None
    items, starts, sizes = [spare] * random.choice([0, 2]) if spare is None else [], [], []
    order = list(range(len(rows)))
    code, views = ("q" if format[-1] == "L" else "i"), format[1] == "v"
    if views:
        random.shuffle(order)
    found = {}
    for i in order:
        row = rows[i]
        if row is None and views:
            found[i] = random.randrange(-9, 99), random.randrange(-9, 99)
            continue
        row = [None] * random.choice([0, 2]) if row is None and spare is None else row or []
        found[i] = len(items), len(row)
        items += row
    starts, sizes = [found[i][0] for i in range(len(rows))], [found[i][1] for i in range(len(rows))]
    if views:
        packed = [struct.pack(f"{len(rows)}{code}", *part) for part in (starts, sizes)]
    else:
        packed = [struct.pack(f"{len(rows) + 1}{code}", *starts, len(items))]
    return packed, [encode(child, items, random, solid=format == "+m")]
