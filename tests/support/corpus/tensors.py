"""DLPack tensors: in capsules of either version, bare or from a producer, and from an exchange table."""

import lend
from lend.errors import MalformedDescriptor, UnsupportedType
from support.counting import CountingDLPack, CountingExchange

from . import Odd, Table, Wrong

LEAST, MOST = -(2**63), 2**63 - 1
GOOD = {"shape": (2, 3), "dtype": (2, 32, 1), "device": (1, 0)}


def malformed(name, says, **changes):
    return Wrong(name, changes, MalformedDescriptor, ("contradicts itself", *says))


def ndim(number):
    return malformed(f"ndim {number}", (f"ndim is {number}: lend takes 0 to 64 dimensions",), ndim=number)


def extents(*shape):
    says = (f"shape {shape} has a negative extent",)
    return malformed(f"extents {shape}", says, shape=shape, strides=(1,) * len(shape))


def size(*shape):
    says = (f"the size of shape {shape} does not fit the address space",)
    return malformed(f"size {shape}", says, shape=shape, strides=(0,) * len(shape))


def strides(*steps, says="reach further than an address can (bounds)"):
    says = (f"strides {steps}", says)
    return malformed(f"strides {steps}", says, shape=(2, 3), strides=steps)


def byte_offset(number):
    return malformed(f"byte_offset {number}", (f"byte_offset {number}", "(bounds)"), byte_offset=number)


def dtype(code, bits, lanes):
    says = (f"code {code}", f"{bits}", f"lanes {lanes}" if code < 7 or code > 17 else f"{lanes} lanes")
    return Wrong(f"dtype {code} {bits} {lanes}", {"dtype": (code, bits, lanes)}, UnsupportedType, says)


def packed(code, bits, name):
    facts = {"dtype": lend.DType(f"{name}_packed"), "itemsize": 0, "strides": None, "nbytes": (6 * bits + 7) // 8}
    return Odd(f"packed {name}", {"dtype": (code, bits, 1)}, facts, True)


def device(kind, number):
    says = (f"DLPack device (type {kind}, id {number})", "from 1 to 255")
    return Wrong(f"device {kind}:{number}", {"device": (kind, number)}, UnsupportedType, says)


BELOW = "(bounds)"  # reaches below address 0, or further than that with another dtype
WRONG = [
    *map(ndim, (-1, -(2**31), 65, 200, 2**30, 2**31 - 1)),
    malformed("no shape", ("and shape is NULL",), null_shape=True),
    malformed("no data", ("data is NULL and the shape", "is not empty"), data=0),
    extents(-3, 2), extents(0, -3), extents(-2, -2), extents(2, LEAST), extents(2, -1, 0),
    size(2**32, 2**32, 16), size(2**62, 1), size(2**61), size(MOST), size(MOST, MOST), size(2**32, 2**32),
    size(2**31, 2**31, 2), size(*(3,) * 64),
    strides(2**62, 1), strides(LEAST, 1), strides(MOST, 1), strides(1, LEAST), strides(2**60, 2**60),
    strides(-(2**61), 1), strides(2**59, -(2**60)),
    strides(-(2**59), 1, says=BELOW), strides(1, -(2**58), says=BELOW),
    *map(byte_offset, (2**64 - 1, 2**64 - 4, 2**63)),
    dtype(99, 32, 1), dtype(255, 32, 1), dtype(18, 8, 1), dtype(0, 7, 1), dtype(0, 0, 1), dtype(0, 24, 1),
    dtype(0, 255, 1), dtype(1, 1, 1), dtype(6, 1, 1), dtype(6, 16, 1), dtype(2, 8, 1), dtype(2, 128, 1),
    dtype(4, 32, 1), dtype(5, 16, 1), dtype(2, 32, 0), dtype(0, 0, 0), dtype(10, 4, 1), dtype(17, 8, 1),
    dtype(3, 8, 1),
    device(0, 0), device(-1, 0), device(2**31 - 1, 0), device(256, 0), device(2, -1), device(-(2**31), -(2**31)),
]  # fmt: skip
ODD = [
    Odd("no strides", {"strides": None}, {"c_contiguous": True}),
    Odd("no deleter", {"null_deleter": True}, {}),
    Odd("a number of a cpu", {"device": (1, 7)}, {"device": lend.Device("cpu")}),
    Odd(
        "nothing, with wild strides", {"shape": (0, 3), "strides": (LEAST, MOST)}, {"shape": (0, 3), "nbytes": 0}, True
    ),
    Odd("nothing, at no address", {"shape": (2, 0), "data": 0}, {"shape": (2, 0), "nbytes": 0}, True),
    Odd("nothing, far away", {"shape": (0,), "byte_offset": 2**64 - 1}, {"nbytes": 0}, True),
    Odd("one element, a wild stride", {"shape": (1, 3), "strides": (LEAST, 1)}, {"c_contiguous": True, "size": 3}),
    Odd("the same element everywhere", {"shape": (2, 3), "strides": (0, 0)}, {"readonly": True, "strides": (0, 0)}),
    Odd("as a byte_offset has it", {"byte_offset": 8}, {}),
    packed(17, 4, "float4_e2m1fn"),
    packed(16, 6, "float6_e3m2fn"),
    packed(0, 4, "int4"),
    packed(1, 2, "uint2"),
    Odd("many lanes", {"dtype": (1, 8, 65535)}, {"itemsize": 65535}),
    Odd("64 dimensions", {"shape": (1,) * 64, "strides": (1,) * 64}, {"ndim": 64, "size": 1}),
]
VERSIONED = [
    Wrong(
        f"version {major}.{minor}",
        {"version": (major, minor)},
        MalformedDescriptor,
        (f"DLPack version {major}.{minor}", "cannot be read"),
    )
    for major, minor in [(0, 0), (0, 8), (2, 0), (2**32 - 1, 2**32 - 1)]
]
ODD_VERSIONED = [
    Odd("a minor version to come", {"version": (1, 2**32 - 1)}, {}),
    Odd("flags to come", {"flags": 2**63 | 2**40}, {}),
    Odd("read-only", {"flags": 1}, {"readonly": True}),
]
TOGETHER = (("shape", "strides"), ("ndim", "null_shape", "shape"), ("data", "byte_offset"))


def taken(by_buffer):
    return lend.buffer if by_buffer else lend.view


def from_producer(protocol):
    def make(fields, by_buffer):
        # a producer announces what it is; what the capsule says is looked at all the same
        producer = CountingDLPack(64, fields["shape"], protocol=protocol, keep=True, **without_shape(fields))
        producer.announced = None

        def remains():
            producer.capsules.clear()
            return audited(producer, fields)

        return lambda: taken(by_buffer)(NoAnnouncement(producer)), remains

    return make


class NoAnnouncement:
    """`__dlpack__` alone, so that the device of the capsule is all there is."""

    def __init__(self, producer):
        self.producer = producer

    def __dlpack__(self, **keywords):
        return self.producer.__dlpack__(**keywords)


def from_capsule(versioned):
    def make(fields, by_buffer):
        producer = CountingDLPack(64, fields["shape"], **without_shape(fields))
        box = [producer.capsule(versioned)]

        def remains():
            box.clear()
            return audited(producer, fields)

        return lambda: taken(by_buffer)(box[0]), remains

    return make


def from_table(fields, by_buffer):
    producer = CountingExchange(64, fields["shape"], **without_shape(fields))
    return lambda: taken(by_buffer)(producer), lambda: audited(producer, fields)


def audited(producer, fields):
    """What went wrong with the tensors; without a deleter nobody can tell."""
    return None if fields.get("null_deleter") else producer.audit()


def without_shape(fields):
    return {name: value for name, value in fields.items() if name != "shape"}


def table(name, make, says, *, versioned):
    wrong, odd = (WRONG + VERSIONED, ODD + ODD_VERSIONED) if versioned else (WRONG, ODD)
    return Table(name, GOOD, make, wrong, odd, says, TOGETHER)


TABLES = [
    table("versioned capsules of a producer", from_producer("versioned"), "NoAnnouncement", versioned=True),
    table("unversioned capsules of a producer", from_producer("legacy"), "NoAnnouncement", versioned=False),
    table("bare versioned capsules", from_capsule(True), "DLPack capsule", versioned=True),
    table("bare unversioned capsules", from_capsule(False), "DLPack capsule", versioned=False),
    table("tensors of an exchange table", from_table, "CountingExchange", versioned=True),
]
