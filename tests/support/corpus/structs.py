"""What C says: the struct behind `__array_struct__`, and descriptions given to lend_wrap."""

import lend
from lend.errors import MalformedDescriptor, UnsupportedType
from support import by_lend_h, counting
from support.producers import Memory

from . import Odd, Table, Wrong

LEAST, MOST = -(2**63), 2**63 - 1
BELOW = -(2**60)


def untrue(name, *says, error=MalformedDescriptor, **changes):
    return Wrong(name, changes, error, says)


# -- the array struct --


class Shows:
    """Answers by the struct alone."""

    def __init__(self, answer):
        self.answer = answer

    @property
    def __array_struct__(self):
        return self.answer


def make_struct(fields, by_buffer):
    answer, gone = fields.get("answer"), []
    if "answer" not in fields:
        facts = {name: value for name, value in fields.items() if name != "shape"}
        answer = counting.array_struct(bytes(24), fields["shape"], on_gone=lambda: gone.append(1), **facts)
    obj = [Shows(answer)]
    made = "answer" not in fields
    del answer

    def lends():
        return (lend.buffer if by_buffer else lend.view)(obj[0])

    def remains():
        obj.clear()
        return None if not made or gone == [1] else f"the capsule went {len(gone)} times"

    return lends, remains


STRUCT_WRONG = [
    *(untrue(f"two {n}", f"two is {n}, not 2", two=n) for n in (0, 1, 3, -2, 2**31 - 1)),
    *(untrue(f"nd {n}", f"nd is {n}, not a number of dimensions from 0 to 64", nd=n)
      for n in (-1, 65, 2**30, 2**31 - 1, -(2**31))),
    *(untrue(f"itemsize {n}", f"kind 'f' of {n} bytes", itemsize=n, strides=(12, 4), error=UnsupportedType)
      for n in (0, -4, 3, 1, 5, 2**31 - 1)),
    *(untrue(f"kind {kind!r}", f"kind {kind!r} of 4 bytes", kind=kind, error=UnsupportedType)
      for kind in ("O", "V", "S", "U", "M", "m", "t", "x", "\0", "\xff")),
    *(untrue(f"shape {shape}", f"shape is {shape}, not extents of 0 or more", shape=shape, strides=(4,) * len(shape))
      for shape in ((-2, 3), (2, -3), (-2, -3), (0, -3), (LEAST, 1))),
    *(untrue(f"shape {shape}", f"shape is {shape}, not one whose size", shape=shape, strides=(0,) * len(shape))
      for shape in ((2**32, 2**32), (MOST, 1), (MOST, MOST), (2**61, 2))),
    *(untrue(f"strides {strides}", f"strides is {strides}, not steps within reach", strides=strides)
      for strides in ((2**62, 4), (LEAST, 4), (4, LEAST), (MOST, MOST))),
    *(untrue(f"strides {strides}", "data is", "(bounds)", strides=strides) for strides in ((BELOW, 4), (12, BELOW))),
    untrue("no data", "data is 0, not an address", data=0),
    untrue("data at the end", f"data is {2**64 - 4}", "(bounds)", data=2**64 - 4),
    *(untrue(f"an answer that is {answer!r:.30}", "__array_struct__", "not a capsule", answer=answer)
      for answer in (None, 5, b"capsule", {}, object)),
    untrue("a capsule with a name", "the capsule's name is", answer=counting.CountingDLPack(8, (2,)).capsule()),
]  # fmt: skip
STRUCT_ODD = [
    Odd("no flags", {"flags": 0}, {"readonly": True}),
    Odd("all flags", {"flags": -1}, {"readonly": False}),
    Odd("flags that lie about order", {"flags": 0x702}, {"c_contiguous": True}),
    Odd("back to front", {"strides": (-12, -4)}, {"strides": (-12, -4)}),
    Odd("nothing", {"shape": (0, 3), "data": 0, "strides": (LEAST, MOST)}, {"nbytes": 0}, True),
    Odd("the same element everywhere", {"strides": (0, 0)}, {"readonly": True}, True),
]
STRUCT = Table(
    "array structs", {"shape": (2, 3), "itemsize": 4}, make_struct, STRUCT_WRONG, STRUCT_ODD, "Shows",
    (("shape", "strides", "nd", "itemsize", "answer", "data", "kind", "two", "flags"),),
)  # fmt: skip

# -- lend_wrap --

MEMORY = Memory(bytes(range(96)))
HERE = MEMORY.address + 32
FLOAT = (2, ord("<"), 0, 32, 1, 4, 1)


class Owner:
    """Keeps nothing."""


def make_wrapped(fields, by_buffer):
    owner = Owner()

    def lends():
        view = by_lend_h.wrap(owner, **fields)
        return lend.buffer(view) if by_buffer else view

    return lends, lambda: None


def dtype(*facts):
    return untrue(f"dtype {facts}", "dtype of the lend_view is", dtype=facts)


WRAPPED_WRONG = [
    *(untrue(f"ndim {n}", f"ndim of the lend_view is {n}", ndim=n) for n in (-1, 65, 2**30, 2**31 - 1, -(2**31))),
    untrue("no far dims", "far_dims of the lend_view is None", "9 extents", ndim=9, far=False),
    *(untrue(f"abi {n:#x}", f"abi {n:#x}", "LEND_VIEW_INIT", abi=n, error=ValueError) for n in (0, 7 << 16, 2**32 - 1)),
    *(untrue(f"size {n}", f"struct_size {n}", "LEND_VIEW_INIT", struct_size=n, error=ValueError) for n in (0, 8, 239)),
    *(untrue(f"device {n}", f"device_type of the lend_view is {n}", device=(n, 0)) for n in (0, -1, 256, 2**31 - 1)),
    *(untrue(f"device {n}", f"device_type of the lend_view is {n}", "addresses", device=(n, 0))
      for n in (4, 7, 8, 15, 99)),
    *(untrue(f"device id {n}", f"device_id of the lend_view is {n}", device=(2, n)) for n in (-2, -(2**31))),
    *(untrue(f"shape {shape}", f"dims of the lend_view is {shape}", shape=shape, strides=(4,) * len(shape))





























      for shape in ((-2, 3), (2, -3), (-2, -3), (0, -3), (LEAST, 1), (2**32, 2**32), (MOST, 1), (MOST, MOST),
                    (-1,) * 12)),
    *(untrue(f"strides {strides}", "dims of the lend_view is (2, 3)", strides=strides)
      for strides in ((2**62, 4), (LEAST, 4), (4, LEAST), (MOST, MOST))),
    *(untrue(f"strides {strides}", "data of the lend_view is", strides=strides)
      for strides in ((BELOW, 4), (12, BELOW))),
    untrue("no data", "data of the lend_view is 0", data=0),
    untrue("data at the end", "data of the lend_view is", data=2**64 - 4),
    untrue("a handle", "flags of the lend_view are 0x20 (LEND_OPAQUE_HANDLE), ", "no address", flags=32),
    untrue("a handle with an offset", "flags of the lend_view are 0x20", flags=32, byte_offset=8),
    untrue("flags to come", "flags of the lend_view are 0x40000001", "0x40000000 is not", flags=0x40000001),
    untrue("a flag of a request", "0x100 (LEND_WRITABLE)", "of a request", flags=256),
    untrue("a false order", "0x2 (LEND_C_CONTIGUOUS), not true", flags=2, strides=(16, 4)),
    untrue("two orders", "LEND_C_CONTIGUOUS | LEND_F_CONTIGUOUS), not one order of the two", flags=6),
    untrue("a false alignment", "0x8 (LEND_ALIGNED), not true", flags=8, data=HERE + 1),
    *(untrue(f"byte_offset {n}", f"byte_offset of the lend_view is {n}", "not 0", byte_offset=n)
      for n in (8, 2**64 - 1, 2**63, 2**62 + 1)),
    *(dtype(*facts) for facts in [
        (2, 0, 0, 17, 1, 2, 1), (2, ord("<"), 0, 0, 1, 0, 1), (200, ord("<"), 0, 32, 1, 4, 1), (255, ord("|"), 0, 0,
            1, 0, 1),
        (2, ord("x"), 0, 32, 1, 4, 1), (2, ord("<"), 0, 32, 0, 0, 1), (6, ord("|"), 0, 16, 1, 2, 1),
        (129, ord("<"), 99, 64, 1, 8, 1), (129, ord("<"), 1, 64, 1, 8, 0), (133, ord("|"), 0, 0, 1, 8, 1),
    ]),
]  # fmt: skip
WRAPPED_ODD = [
    Odd("row-major, as the strides are", {"flags": 2 | 8 | 16}, {"strides": (12, 4), "exclusive": True}, True),
    Odd("row-major, without strides", {"flags": 2, "strides": (0, 0)}, {"strides": (12, 4)}, True),
    Odd("a number of a cpu", {"device": (1, 99)}, {"device": lend.Device("cpu")}),
    Odd("a number nobody knows", {"device": (2, -1)}, {"device": lend.Device("cuda:?")}, True),
    Odd("a row repeated", {"strides": (0, 4)}, {"readonly": True}, True),
    Odd("nothing", {"shape": (0, 3), "strides": (LEAST, MOST), "data": 0}, {"nbytes": 0}, True),
    Odd("64 dimensions", {"shape": (1,) * 64, "strides": (4,) * 64}, {"ndim": 64}, True),
    Odd("items of no bytes", {"dtype": (131, ord("|"), 0, 0, 1, 0, 1), "strides": (2**40, 4)}, {"nbytes": 0}),
    Odd("a struct to come", {"struct_size": 999, "abi": (1 << 16) + 77}, {}),
]
WRAPPED = Table(
    "descriptions by lend_wrap", {"data": HERE, "shape": (2, 3), "strides": (12, 4), "dtype": FLOAT}, make_wrapped,
    WRAPPED_WRONG, WRAPPED_ODD, "", (("shape", "strides", "ndim", "data", "byte_offset", "flags", "device"),),
)  # fmt: skip
TABLES = [STRUCT, WRAPPED]
