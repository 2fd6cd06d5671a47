"""The dicts of the array interfaces: of the host, over an address and over a buffer, of CUDA and of SYCL."""

import lend
from lend.errors import MalformedDescriptor, NotLendable, StreamError, UnsupportedType
from support.device_producers import ADDRESS
from support.producers import ABSENT, Memory

from . import Odd, Table, Wrong

LEAST, MOST = -(2**63), 2**63 - 1
MEMORY = Memory(bytes(range(96)))
HERE = MEMORY.address + 32


class Failing:
    """Raises when it is asked for a number or a truth."""

    def __index__(self):
        raise RuntimeError("no number today")

    def __bool__(self):
        raise RuntimeError("no truth today")


class Number:
    """A number that is no int."""

    def __init__(self, number):
        self.number = number

    def __index__(self):
        return self.number


class Text(str):
    """A text with methods of its own, none of which tells the truth."""

    __slots__ = ()

    def __len__(self):
        return 2

    def __getitem__(self, at):
        return "f"

    def encode(self, *rest):
        return b"f8"


def shown(value):
    """A value as a message quotes it, as far as that is known."""
    if isinstance(value, (int, float, str, bytes, tuple, list)) or value is None:
        return "" if len(repr(value)) > 60 or type(value) is Text else repr(value)
    return f"a {type(value).__name__}"


def untrue(field, value, *says, told=ABSENT, error=MalformedDescriptor):
    """A field of another value, which is named and quoted."""
    quoted = f"{field} is {shown(value if told is ABSENT else told)}"
    return Wrong(f"{field} {value!r:.60}", {field: value}, error, ("cannot be true", quoted, *says))


def missing(field, value=ABSENT):
    return Wrong(
        f"{field} {'absent' if value is ABSENT else value}", {field: value}, MalformedDescriptor, (f"has no {field!r}",)
    )


def untyped(typestr, *says, buffer=False):
    quoted = "" if len(typestr) > 60 else f"the typestr {typestr!r}"
    return Wrong(f"typestr {typestr!r:.60}", {"typestr": typestr}, UnsupportedType, (quoted, *says), buffer)


def failing(field, value, says="RuntimeError: no number today"):
    return Wrong(f"{field} that fails", {field: value}, NotLendable, ("refused the", says))


NO_INT, TUPLE, NEGATIVE = "not an integer of 64 bits", "not a tuple of at most 64 extents", "not extents of 0 or more"
SIZE, REACH = "fits the address space", "not steps within reach"
SHAPES = [
    missing("shape"), missing("shape", None),
    *(untrue("shape", value, TUPLE)
      for value in (4, "4", b"ab", {2, 3}, 2.5, range(2), (1,) * 65, [1] * 100, {}, object)),
    *(untrue("shape", (value, 3), NO_INT, told=value)
      for value in (2.5, "2", None, (2,), True, 2**63, 2**70, -(2**70))),
    *(untrue("shape", value, NEGATIVE) for value in ((-3, 2), (-2, -2), (0, -3), (2, LEAST))),
    *(untrue("shape", value, SIZE) for value in ((2**32, 2**32, 16), (MOST, 1), (MOST, MOST), (2**62, 4), (3,) * 64)),
    failing("shape", (2, Failing())),
]  # fmt: skip
STEPS = [
    *(untrue("strides", value, "not a tuple of 2 steps")
      for value in ((4,), (4, 4, 4), 4, "44", b"44", {12, 4}, (), object)),
    *(untrue("strides", (value, 4), NO_INT, told=value) for value in (1.5, "4", None, 2**63, 2**70, (4,), False)),
    *(untrue("strides", value, REACH) for value in ((2**62, 4), (LEAST, 4), (4, LEAST), (MOST, MOST))),
    failing("strides", (12, Failing())),
]  # fmt: skip
TYPES = [
    missing("typestr"), missing("typestr", None),
    *(untrue("typestr", value, "not a text such as '<f4'") for value in (4, b"<f4", ["<f4"], float, ("<f4", 2))),
    *map(untyped, ("", "<", "f", "<f", "f4 ", " f4", "<f4\0", "<f4é", "<\udcff4", "<f4.0", "<f+4", "<f-4", "<f٤",
        "<<f4", "4f",
                   "<f99999999999999999999", "StringDType()", "|t4", "<q8", "<e2", "<M8[xx]", "<M8[", "<M8[s",
                   "<M8[0s]", "<M8[-1s]", "<M8[99999999999s]", "<M4[s]", "<m16[s]", "|S", "|U", "<U1073741824",
                       "float32",
                   "=", "|", "|V", "|V-1", "|V99999999999999999999", "|V4294967296", "|S4294967296")),
    *(untyped(typestr, buffer=False) for typestr in ("<f3", "<i3", "<c4", "<u5", "|b2", "<f1", "<f0", "<i0")),
    untyped("|O"), untyped("|O8"), untyped("|V0"), untyped("<b1x"),
]  # fmt: skip
PAIR = "a pair (address, readonly)"


def placed(*value, says=PAIR, told=ABSENT):
    return untrue("data", value, says, told=told)


PLACES = [
    *(untrue("data", value, PAIR) for value in (5, "here", object, {0: 1}, 1.5)),
    placed(), placed(HERE), placed(HERE, False, 0), placed("0", False), placed(1.5, False), placed(None, False),
    placed(True, False), placed(-8, False), placed(-(2**64), False), placed(2**64, False), placed(2**70, True),
    placed(0, False, says="not an address", told=0), placed(2**64 - 4, False, says="(bounds)", told=2**64 - 4),
    placed(2**64 - 1, True, says="(bounds)", told=2**64 - 1),
    failing("data", (Failing(), False)), failing("data", (HERE, Failing()), "RuntimeError: no truth today"),
]  # fmt: skip
DESCRS = [
    Wrong(f"descr {descr!r:.50}", {"typestr": "|V8", "descr": descr}, MalformedDescriptor, ("descr is",))






























      for descr in (4, "<f8", ("<f8",), [("a", "<f4")], [("a", "<f8", -1)], [["a", "<f8"]], [("a",)],
                  [("a", "<f8", (2,))],
                  [("a", 8)], [("a", "<f8", 2.0)], [(1, 2, 3, 4)], {"a": "<f8"})
]  # fmt: skip
SELF = []
SELF.append(("a", SELF))
DESCRS += [
    Wrong("descr in itself", {"typestr": "|V8", "descr": SELF}, MalformedDescriptor, ("descr is",)),
    Wrong("descr of objects", {"typestr": "|V8", "descr": [("a", "|O")]}, UnsupportedType, ("Python objects in them",)),
    Wrong("descr of a size overflowing", {"typestr": "|V8", "descr": [("a", "<f8", (2**31, 2**31, 2**31))]},
          MalformedDescriptor, ("descr is",)),
    Wrong("descr of bits", {"typestr": "|V8", "descr": [("a", "|t8")]}, UnsupportedType,
        ("records that lend cannot read",),
          False),
    Wrong("descr of two of a name", {"typestr": "|V8", "descr": [("a", "<f4"), ("a", "<f4")]}, UnsupportedType,
          ("records that lend cannot read",), False),
]  # fmt: skip
FACTS = [
    Wrong(f"a dict that is {value!r:.40}", {"itself": value}, MalformedDescriptor, ("not a dict",))
    for value in (None, 5, "shape", [], (("shape", (2,)),), {"shape"}, object)
]
MASK = [
    Wrong(f"mask {value!r:.20}", {"mask": value}, UnsupportedType, ("has a mask",))
    for value in (0, False, b"\0\0", bytearray(6))
]
OFFSET = [
    untrue("offset", 8, "not 0"), untrue("offset", -1, "not 0"),
    *(untrue("offset", value, NO_INT) for value in ("8", 2.5, 2**70, (1,))), failing("offset", Failing()),
]  # fmt: skip
STRIDES_BELOW = [
    Wrong(f"strides {steps}", {"strides": steps}, MalformedDescriptor, ("data is", "(bounds)"))
    for steps in ((-(2**60), 4), (12, -(2**60)))
]

ODD = [
    Odd("lists", {"shape": [2, 3]}, {"shape": (2, 3)}),
    Odd("numbers that are no ints", {"shape": (Number(2), Number(3))}, {"shape": (2, 3)}),
    Odd("strides in a list", {"strides": [12, 4]}, {"strides": (12, 4)}),
    Odd("strides of None", {"strides": None}, {"c_contiguous": True}),
    Odd("strides that go back", {"strides": (-12, -4)}, {"strides": (-12, -4)}),
    Odd("the same element everywhere", {"strides": (0, 0)}, {"readonly": True, "strides": (0, 0)}),
    Odd("a typestr with a zero too many", {"typestr": "<f04"}, {"dtype": lend.DType("<f4")}),
    Odd("a typestr with methods", {"typestr": Text("<f4")}, {"dtype": lend.DType("<f4")}),
    Odd("an address that is no int", {"data": (Number(HERE), 0)}, {"ptr": HERE}),
    Odd("readonly by another truth", {"data": (HERE, "yes")}, {"readonly": True}),
    Odd("words that nobody knows", {"Shape": 4, 7: 8, "": None}, {}),
    Odd("nothing, at no address", {"shape": (0, 3), "data": (0, False)}, {"nbytes": 0, "shape": (0, 3)}, True),
    Odd("nothing, with wild strides", {"shape": (0, 3), "strides": (LEAST, MOST)}, {"nbytes": 0}, True),
    Odd("a descr beside a number", {"descr": [("", "<f4")]}, {}),
]  # fmt: skip
VERSIONS = [Odd(f"version {value!r}", {"version": value}, {}) for value in (None, ABSENT, 99, -1, "3", object)]
TOGETHER = (("shape", "strides"), ("typestr", "shape", "strides", "data", "descr"))


class Shows:
    """Answers by one interface alone, the one named."""

    def __init__(self, name, facts):
        self.name, self.facts = name, facts

    def __getattr__(self, name):
        if name == self.__dict__.get("name"):
            return self.facts
        raise AttributeError(name)


def shows(interface):
    def make(fields, by_buffer):
        facts = {name: value for name, value in fields.items() if value is not ABSENT}
        obj = Shows(interface, facts.get("itself", facts) if "itself" in fields else facts)
        data = facts.get("data")

        def remains():
            # what was refused or let go of holds nothing of the buffer
            if isinstance(data, bytearray):
                data.append(0)
                data.pop()

        return lambda: (lend.buffer if by_buffer else lend.view)(obj), remains

    return make


def place_missing(value, says):
    return Wrong(
        f"data {'absent' if value is ABSENT else value}", {"data": value}, MalformedDescriptor, ("data is None", says)
    )


HOST = Table(
    "array interfaces over an address",
    {"version": 3, "shape": (2, 3), "typestr": "<f4", "data": (HERE, False)},
    shows("__array_interface__"),
    [*SHAPES, *STEPS, *TYPES, *PLACES, *DESCRS, *FACTS, *MASK, *OFFSET, *STRIDES_BELOW,
     untrue("data", [HERE, False], PAIR),
     place_missing(ABSENT, "the object itself has no buffer"), place_missing(None, "the object itself has no buffer")],
    [*ODD, *VERSIONS, Odd("offset 0", {"offset": 0}, {})],
    "Shows", TOGETHER,
)  # fmt: skip

# -- over a buffer, whose end is known --

BOUNDS = "leaves its own buffer (bounds)"


def beyond(name, says, **changes):
    return Wrong(name, changes, MalformedDescriptor, (BOUNDS, says))


def released():
    view = memoryview(bytes(24))
    view.release()
    return view


OVER = [
    beyond("a row too many", "bytes 0 to 36 are needed, and there are 24", shape=(3, 3)),
    beyond("a byte too few", "bytes 0 to 24 are needed, and there are 23", data=bytearray(23)),
    beyond("no bytes", "bytes 0 to 24 are needed, and there are 0", data=bytearray()),
    beyond("a huge shape", "and there are 24", shape=(2**30, 2**29)),
    beyond("offset 1", "bytes 1 to 25 are needed", offset=1),
    beyond("offset 24", "bytes 24 to 48 are needed", offset=24),
    beyond("offset -1", "bytes -1 to 23 are needed", offset=-1),
    beyond("offset of all", f"bytes {MOST} to", offset=MOST),
    beyond("offset below all", f"bytes {LEAST} to", offset=LEAST),
    beyond("strides too wide", "bytes 0 to 4108 are needed", strides=(4096, 4)),
    beyond("strides one too wide", "bytes 0 to 25 are needed", strides=(13, 4)),
    beyond("strides that go back", "bytes -12 to 12 are needed", strides=(-12, 4)),
    *OFFSET[2:],
    Wrong("rows with gaps", {"data": memoryview(bytes(48))[::2]}, NotLendable, ("refused the array interface",
        "contiguous")),
    Wrong("a buffer that is closed", {"data": released()}, NotLendable, ("refused the array interface", "released")),
]  # fmt: skip
LENT = [
    Odd("the last byte", {"shape": (6,)}, {"nbytes": 24}),
    Odd("back from the end", {"strides": (-12, -4), "offset": 20}, {"strides": (-12, -4)}),
    Odd("read-only bytes", {"data": bytes(24)}, {"readonly": True}),
    Odd("nothing at the end", {"shape": (0,), "offset": 24}, {"nbytes": 0}, True),
]
BUFFERS = Table(
    "array interfaces over a buffer",
    {"version": 3, "shape": (2, 3), "typestr": "<f4", "data": bytearray(24)},
    shows("__array_interface__"),
    [*SHAPES, *STEPS, *TYPES, *DESCRS, *FACTS, *MASK, *OVER],
    LENT,
    "Shows", (("shape", "strides", "offset", "data", "typestr", "descr"),),
)  # fmt: skip


class Lying(bytearray):
    """Its buffer tells the truth, its interface does not."""

    facts = None
    __array_interface__ = property(lambda self: self.facts)


def beside(fields, by_buffer):
    obj = Lying(24)
    obj.facts = {name: value for name, value in fields.items() if value is not ABSENT}
    return lambda: (lend.buffer if by_buffer else lend.view)(obj), lambda: obj.append(0)


BESIDE = Table(
    "lying interfaces beside a buffer", HOST.good, beside, MASK,
    [Odd(wrong.name, wrong.changes, {"nbytes": 24, "readonly": False}, True) for wrong in HOST.wrong
     if wrong not in MASK],
)  # fmt: skip

# -- on devices --

ON_DEVICES = [
    *SHAPES, *STEPS, *TYPES, *PLACES[:-2], *FACTS,
    untrue("data", [ADDRESS, False], PAIR), untrue("data", bytearray(24), PAIR), untrue("data", b"here", PAIR),
    place_missing(ABSENT, PAIR), place_missing(None, PAIR),
    failing("data", (Failing(), False)), failing("data", (ADDRESS, Failing()), "RuntimeError: no truth today"),
    untrue("typestr", ">f4", "little-endian"),
]  # fmt: skip


def on_device(odd):
    """The same at another address."""
    return odd._replace(
        changes={"data": (Number(ADDRESS), 0)} if "ptr" in odd.facts else odd.changes,
        facts={"ptr": ADDRESS} if "ptr" in odd.facts else odd.facts,
    )


CUDA = Table(
    "CUDA array interfaces",
    {"version": 3, "shape": (2, 3), "typestr": "<f4", "data": (ADDRESS, False), "strides": None, "stream": None},
    shows("__cuda_array_interface__"),
    [*ON_DEVICES, *MASK, *STRIDES_BELOW,
     *(untrue("version", value, "from 0 to 3") for value in (4, -1, 2**64, "3", 3.0, True, (3,))),
     *(untrue("stream", value, error=StreamError) for value in (0, -1, "1", 1.5, 2**64, (1,), True)),
     failing("version", Failing()), failing("stream", Failing())],
    [*map(on_device, ODD), *(Odd(f"version {value!r}", {"version": value}, {}) for value in (0, 1, 2, None, ABSENT)),
     *(Odd(f"stream {value!r}", {"stream": value}, {}) for value in (1, 2, 2**64 - 1, ABSENT))],
    "Shows", (*TOGETHER, ("version", "stream")),
)  # fmt: skip
# strides count elements there, and an offset is beside the address
SYCL = Table(
    "SYCL interfaces",
    {"version": 1, "shape": (2, 3), "typestr": "<f4", "data": (ADDRESS, False), "strides": None, "offset": 0,
        "syclobj": "gpu"},
    shows("__sycl_usm_array_interface__"),
    [*(wrong for wrong in ON_DEVICES if wrong.changes.get("strides") != (2**62, 4)),
     *(untrue("version", value, "the only one there is") for value in (0, 2, -1, 2**64, "1", 1.0, None)),
     untrue("version", ABSENT, "the only one there is", told=None),
     *(untrue("typestr", value, "little-endian number") for value in ("<M8[s]", "|S4", "|V4", "<U1")),
     *(Wrong(f"offset {value}", {"offset": value}, MalformedDescriptor, ("offset is", "(bounds)"))
       for value in (MOST, LEAST, 2**62)),
     *OFFSET[2:],
     Wrong("strides of bytes that overflow", {"strides": (2**61, 1)}, MalformedDescriptor, ("strides is", "(bounds)"))],
    [odd for odd in map(on_device, ODD) if "strides" not in odd.changes and "descr" not in odd.changes],
    "Shows", (*TOGETHER, ("data", "offset")),
)  # fmt: skip
TABLES = [HOST, BUFFERS, BESIDE, CUDA, SYCL]
