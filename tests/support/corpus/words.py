"""Memory described in words: by from_pointer, by a pointer and a size, by the state of a pickle."""

import pickle

import lend
from lend.errors import MalformedDescriptor, NotLendable, UnsupportedType
from support.producers import Memory

from . import Odd, Table, Wrong
from .interfaces import Failing, Number

LEAST, MOST = -(2**63), 2**63 - 1
MEMORY = Memory(bytes(range(96)))
HERE = MEMORY.address + 32


def wrong(name, error, *says, **changes):
    return Wrong(name, changes, error, says)


# -- from_pointer --


def make_pointer(fields, by_buffer):
    fields = dict(fields)
    place = fields.pop("ptr"), fields.pop("shape"), fields.pop("dtype")

    def lends():
        view = lend.View.from_pointer(*place, **fields)
        return view.buffer if by_buffer else view

    return lends, lambda: None


def malformed(field, value, *says):
    return wrong(f"{field} {value!r:.60}", MalformedDescriptor, f"{field} is", *says, **{field: value})


POINTED_WRONG = [
    *(malformed("ptr", value, str(value), "address") for value in (0, -1, -8, 2**64, 2**70, 2**64 - 4, 2**64 - 1)),
    *(wrong(f"ptr {value!r}", TypeError, "ptr is an address (int)", ptr=value)
      for value in ("8", 1.5, None, b"8", (8,))),
    wrong("ptr that fails", RuntimeError, "no number today", ptr=Failing()),
    *(malformed("shape", value, "not") for value in (
        (-3, 2), (2, -3), (-2, -2), (0, -3), (2**32, 2**32, 16), (MOST,), (MOST, MOST), (2**62, 1), (2**70,), (1,) * 65,
        (-(2**70),))),
    *(wrong(f"shape {value!r:.30}", TypeError, "object", shape=value)
      for value in ("ab", ("2", 3), (2.5, 3), (None, 3), object)),
    *(malformed("strides", value, "2 of them") for value in ((4,), (4, 4, 4), ())),
    *(malformed("strides", value, "not steps")
      for value in ((2**62, 4), (LEAST, 4), (4, LEAST), (2**70, 4), (MOST, MOST))),
    *(wrong(f"strides {value}", MalformedDescriptor, f"ptr is {HERE}", strides=value)
      for value in ((-(2**60), 4), (12, -(2**60)))),
    *(wrong(f"strides {value!r}", TypeError, "object", strides=value) for value in (("4", 4), (1.5, 4), 4, (None, 4))),
    *(wrong(f"device {value!r}", ValueError, "device", device=value) for value in ("cdua:0", "", "cuda:-1", "cuda:x")),
    *(wrong(f"device {value!r}", TypeError, "device", device=value) for value in (1.5, object, b"cpu")),
    *(wrong(f"device {value!r}", UnsupportedType, "where memory has no addresses", device=value)
      for value in ("vulkan", (8, 0))),
    *(malformed("device", (value, 0), str(value), "from 1 to 255") for value in (256, 2**31 - 1)),
    *(wrong(f"device {value}", ValueError, f"one of DLPack's codes, such as 1 (cpu) or 2 (cuda), not {value}",
            device=(value, 0)) for value in (0, -1)),
    *(wrong(f"dtype {value!r:.40}", ValueError, "names no dtype", dtype=value)
      for value in ("flaot32", "", "float32\0", "float33", "datetime64[xx]", "opaque[-1]", "<f3", "é", "f" * 5000)),
    *(wrong(f"dtype {value!r:.40}", TypeError, "DType() takes a dtype", dtype=value) for value in (5, 1.5, object)),
    wrong("dtype of objects", MalformedDescriptor, "dtype is 'object'", "without pointers to objects", dtype="object"),
    wrong("no owner", TypeError, "owner=None is nobody", owner=None),
]  # fmt: skip
POINTED_ODD = [
    Odd("a number that is no int", {"ptr": Number(HERE)}, {"ptr": HERE}),
    Odd("strides that go back", {"strides": (-12, -4)}, {"strides": (-12, -4)}),
    Odd("the same element everywhere", {"strides": (0, 0)}, {"readonly": True}, True),
    Odd("nothing, at no address", {"ptr": 0, "shape": (0, 3)}, {"nbytes": 0}, True),
    Odd("items of no bytes", {"dtype": "bytes[0]", "strides": (2**40, 4)}, {"nbytes": 0}, True),
    Odd("a list", {"shape": [2, 3]}, {"shape": (2, 3)}),
    Odd("a record", {"dtype": [("a", "u1"), ("b", "<u2")]}, {"itemsize": 3}),
    Odd("a device", {"device": "cuda:1"}, {"device": lend.Device("cuda:1")}),
]
POINTED = Table(
    "pointers in words", {"ptr": HERE, "shape": (2, 3), "dtype": "float32", "owner": MEMORY, "readonly": False},
        make_pointer,
    POINTED_WRONG, POINTED_ODD, "", (("shape", "strides", "dtype", "ptr", "device"),),
)  # fmt: skip

# -- a pointer and a size --


class Spans:
    """Has the attributes it is given, and what `__dlpack_device__` answers if it is one of them."""

    def __init__(self, attributes):
        self.__dict__.update(attributes)


class Announces(Spans):
    def __dlpack_device__(self):
        return self.device


def make_span(fields, by_buffer):
    obj = (Announces if "device" in fields else Spans)(fields)
    return lambda: (lend.buffer if by_buffer else lend.view)(obj), lambda: None


def span(field, value, told):
    said = repr(value) if isinstance(value, (int, float, str, bytes, tuple)) else "a "
    return wrong(f"{field} {value!r:.40}", MalformedDescriptor, f"{field} is {said}", told, **{field: value})


SPAN_WRONG = [
    *(span("ptr", value, "an address") for value in (-8, 2**64, 2**70, "0", 1.5, b"8", (8,), True, object())),
    wrong("pointer 0", MalformedDescriptor, "ptr is 0, not an address, as size is 24", ptr=0),
    wrong("pointer at the end", MalformedDescriptor, f"ptr is {2**64 - 8}", "(bounds)", ptr=2**64 - 8),
    *(span("size", value, "a number of bytes")
      for value in (-1, LEAST, 2**63, 2**70, "24", 24.0, (24,), False, object())),
    wrong("size of nearly all", MalformedDescriptor, "ptr is", "(bounds)", ptr=2**63 + 2, size=MOST),
    wrong("a pointer that fails", NotLendable, "RuntimeError: no number today", ptr=Failing()),
    wrong("a size that fails", NotLendable, "RuntimeError: no number today", size=Failing()),
    *(wrong(f"device {value!r:.40}", MalformedDescriptor, "__dlpack_device__()", "not a pair", device=value)





























      for value in (None, 1, (1,), (1, 0, 0), [1, 0], ("cpu", 0), (0, 0), (256, 0), (2, -2), (2, 2**31), (1, "0"),
                    (1.0, 0))),
    *(wrong(f"device {value}", UnsupportedType, "where memory has no addresses", device=value)
      for value in ((4, 0), (99, 0))),
]  # fmt: skip
SPAN = Table(
    "pointers with a size", {"ptr": HERE, "size": 24}, make_span, SPAN_WRONG,
    [Odd("nothing at no address", {"ptr": 0, "size": 0}, {"nbytes": 0}, True),
     Odd("numbers that are no ints", {"ptr": Number(HERE), "size": Number(24)}, {"nbytes": 24}, True),
     Odd("on a device", {"device": (2, 1)}, {"device": lend.Device("cuda:1")})],
    "",
)  # fmt: skip

# -- pickled states --


class Crafted:
    """Reduces to whatever it is told: a pickle that was not written by lend."""

    def __init__(self, make, state):
        self.make, self.state = make, state

    def __reduce__(self):
        return self.make, self.state


def make_state(fields, by_buffer):
    from lend import pickling

    layout = fields["layout"] if "layout" in fields else (fields["shape"], fields["strides"], fields["offset"])
    text = pickle.dumps(Crafted(pickling._view, (fields["block"], fields["dtype"], layout, fields["readonly"])))

    def lends():
        view = pickle.loads(text)
        return view.buffer if by_buffer else view

    return lends, lambda: None


STATE_WRONG = [
    *(wrong(f"block of {len(block)}", MalformedDescriptor, "were asked for, and there are", "(bounds)", block=block)
      for block in (b"", bytes(23), bytearray(1))),
    *(wrong(f"block {block!r}", MalformedDescriptor, "which is no buffer", block=block)
      for block in (None, 5, "abcd", [1, 2])),
    *(wrong(f"shape {shape}", MalformedDescriptor, "(bounds)", shape=shape)
      for shape in ((3, 3), (2, 4), (2**30, 2**30))),
    *(wrong(f"offset {offset}", MalformedDescriptor, "(bounds)", offset=offset) for offset in (1, 24, -1, MOST, LEAST)),
    *(wrong(f"strides {steps}", MalformedDescriptor, "(bounds)", strides=steps)
      for steps in ((13, 4), (12, 5), (-12, 4), (2**40, 4))),
    wrong("a wider dtype", MalformedDescriptor, "(bounds)", dtype=lend.DType("float64")),
    wrong("a dtype of objects", MalformedDescriptor, "dtype is 'object'", dtype=lend.DType("object")),
    *(wrong(f"dtype {dtype!r}", ValueError, "names no dtype", dtype=dtype) for dtype in ("", "flaot32")),
    *(wrong(f"dtype {dtype!r}", TypeError, "DType() takes a dtype", dtype=dtype) for dtype in (5, 1.5)),
    *(wrong(f"layout {layout!r}", (TypeError, ValueError), "unpack", layout=layout)
      for layout in (None, 5, (), ((2, 3),), ((2, 3), (12, 4), 0, 0))),
    *(wrong(f"shape {shape!r}", TypeError, "object", shape=shape) for shape in ("ab", (2.5, 3), ("2", 3))),
    *(malformed("shape", shape, "not extents") for shape in ((-2, 3), (2**70, 3))),
    *(wrong(f"strides {steps!r}", TypeError, "object", strides=steps) for steps in ((2.5, 3), ("2", 3), 4)),
    *(malformed("strides", steps, "not") for steps in ((4,), (2**70, 3), (2**62, 4))),
    *(wrong(f"offset {offset!r}", TypeError, "offset is a number of bytes", offset=offset) for offset in ("0", 1.5)),
    wrong("offset 2**70", MalformedDescriptor, f"bytes {2**70} to", "(bounds)", offset=2**70),
]  # fmt: skip
STATE = Table(
    "pickled states",
    {"block": bytes(24), "dtype": lend.DType("float32"), "shape": (2, 3), "strides": (12, 4), "offset": 0,
        "readonly": True},
    make_state, STATE_WRONG,
    [Odd("bytes that may be written to", {"block": bytearray(24), "readonly": False}, {"readonly": False}, True),
     Odd("bytes that may be written to, and are not", {"block": bytearray(24)}, {"readonly": True}, True)],
)  # fmt: skip
TABLES = [POINTED, SPAN, STATE]
