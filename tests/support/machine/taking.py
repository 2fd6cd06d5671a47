"""Steps that take memory: from producers of every kind, from consumers of lend's own, from what travelled."""

import pickle
import random

import lend
from support import by_lend_h, counting
from support.counting import CountingBuffer, CountingDLPack, CountingExchange
from support.drawing import BOOL, step
from support.lending import ITEMSIZES, Block, Layout, Lease, Thing, row_major
from support.producers import ArrayInterface, ArrayStruct

from .holding import DTYPES, NBYTES, WHICH, Holding, Vanishing

STARTS = [
    ("uint8", (48,)), ("uint8", (4, 3, 4)), ("int16", (24,)), ("int16", (4, 6)), ("int32", (2, 2, 3)),
    ("float64", (6,)), ("float64", (2, 3, 1)),
]  # fmt: skip
FORMATS = {"uint8": "B", "int16": "h", "int32": "i", "float64": "d"}
DLPACK_TYPES = {"uint8": (1, 8, 1), "int16": (0, 16, 1), "int32": (0, 32, 1), "float64": (2, 64, 1)}
TYPESTRS = {"uint8": "|u1", "int16": "<i2", "int32": "<i4", "float64": "<f8", "float32": "<f4", "record": "|V3"}


class CountingStruct(ArrayStruct):
    """An array struct each capsule of which is a loan."""

    live = property(lambda self: self.reads - self.gone)


def struct_of(data, dtype, shape, readonly):
    return CountingStruct(
        data, shape, kind=TYPESTRS[dtype][1], itemsize=ITEMSIZES[dtype], flags=0x701 - 0x400 * readonly
    )


PRODUCERS = {
    "buffer": lambda data, dtype, shape, readonly: CountingBuffer(
        data, format=FORMATS[dtype], itemsize=ITEMSIZES[dtype], shape=shape, readonly=readonly
    ),
    "dlpack": lambda data, dtype, shape, readonly: CountingDLPack(
        data, shape, dtype=DLPACK_TYPES[dtype], flags=counting.READ_ONLY * readonly
    ),
    "unversioned": lambda data, dtype, shape, readonly: CountingDLPack(
        data, shape, dtype=DLPACK_TYPES[dtype], protocol="legacy"
    ),
    "exchange": lambda data, dtype, shape, readonly: CountingExchange(
        data, shape, dtype=DLPACK_TYPES[dtype], flags=counting.READ_ONLY * readonly
    ),
    "bytearray": lambda data, dtype, shape, readonly: bytearray(data),
    "interface": lambda data, dtype, shape, readonly: ArrayInterface(data, shape, TYPESTRS[dtype], readonly=readonly),
    "struct": struct_of,
    "lend_wrap": lambda data, dtype, shape, readonly: by_lend_h.Wrapping(
        data, shape, *DLPACK_TYPES[dtype][:2], readonly=readonly
    ),
}
COUNTING = (CountingBuffer, CountingDLPack, CountingExchange, bytearray, by_lend_h.Wrapping)


def view_of(producer):
    return producer.lend() if isinstance(producer, by_lend_h.Wrapping) else lend.view(producer)


class Taking(Holding):
    """Every step makes a new lease."""

    def take(self, producer, block, layout, readonly, *, take=view_of, pins=()):
        view = take(producer)
        # a producer that is itself of this machine's making is not kept: it would keep its own loan open
        if isinstance(producer, ArrayInterface):
            lease = Lease(Vanishing(producer), block)
        else:
            lease = Lease(None if pins else producer, block, list(pins))
        if block.address is None and layout.size:
            block.address = view.ptr - layout.offset
        self.lent("view", view, lease, layout, readonly)

    def begin(self, kind, start, readonly):
        """What a run starts with."""
        self.take_from_a_new_producer(kind, start, readonly, "view", 0)

    @step(
        room=True, kind=list(PRODUCERS), start=STARTS, readonly=BOOL, way=["view", "capsule", "lend.h"],
        seed=range(100),
    )  # fmt: skip
    def take_from_a_new_producer(self, kind, start, readonly, way, seed):
        dtype, shape = ("uint8", (NBYTES,)) if kind == "bytearray" else start
        data = random.Random(seed).randbytes(NBYTES)
        producer = PRODUCERS[kind](data, dtype, shape, readonly)
        readonly = kind == "unversioned" or (readonly and kind != "bytearray")
        block, layout = Block(bytearray(data)), row_major(shape, dtype)
        if way == "lend.h" and kind != "lend_wrap":
            acquired = by_lend_h.Acquired(producer)
            block.address = acquired.address
            lease = Lease(Vanishing(producer) if kind == "interface" else producer, block)
            self.lent("acquired", acquired, lease, layout, readonly)
        elif way == "capsule" and kind in ("dlpack", "unversioned"):
            capsule = lambda tensors: lend.view(tensors.capsule(kind == "dlpack"))
            self.take(producer, block, layout, readonly, take=capsule)
        else:
            self.take(producer, block, layout, readonly)

    @step(which=WHICH)
    def take_from_a_producer_again(self, which):
        leases = [lease for lease in self.leases if isinstance(lease.producer, COUNTING)]
        if not leases or self.is_full:
            return False
        lease = leases[which % len(leases)]
        view = view_of(lease.producer)
        layout = Layout(0, view.shape, view.strides, str(view.dtype))
        self.take(lease.producer, lease.block, layout, view.readonly, take=lambda _: view)
        return None

    @step(which=WHICH)
    def borrow_from_a_producer(self, which):
        """By lend.h, and given back at once."""
        leases = [lease for lease in self.leases if isinstance(lease.producer, COUNTING)]
        leases = [lease for lease in leases if not isinstance(lease.producer, by_lend_h.Wrapping)]
        if not leases:
            return False
        lease = leases[which % len(leases)]
        assert by_lend_h.Acquired(lease.producer, borrow=True).tobytes() == lease.block.data
        return None

    @step(room=True, which=WHICH)
    def take_from_a_consumer(self, which):
        thing = self.some(which, "memoryview", "array")
        if thing is None:
            return False
        # lend holds a memoryview beside a memoryview, and a Py_buffer of anything else
        pins = thing.pins if thing.kind == "memoryview" else [thing]
        self.take(thing.obj, thing.lease.block, thing.layout, thing.readonly, pins=pins)
        return None

    @step(which=WHICH)
    def take_a_capsule_of_ours(self, which):
        thing = self.some(which, "capsule")
        if thing is None:
            return False
        view = lend.view(thing.obj)
        thing.kind, thing.released = "used capsule", True
        # the tensor that the capsule stood for lives on in the new lease
        tensor = Thing("tensor", None, thing.lease, thing.layout, thing.readonly, thing.pins, counted=True)
        thing.pins, thing.counted = [], False
        lease = Lease(None, thing.lease.block, [tensor])
        self.lent("view", view, lease, thing.layout, thing.readonly or view.writability_untold)
        return None

    @step(room=True, which=WHICH)
    def take_a_pointer(self, which):
        """Described in words, with the owner of what is there already as its owner."""
        thing = self.some(which, "view")
        if thing is None or not thing.layout.size:
            return False
        layout = thing.layout
        view = lend.View.from_pointer(
            thing.obj.ptr, layout.shape, DTYPES[layout.dtype], owner=thing.obj.owner, strides=layout.strides,
            readonly=thing.readonly,
        )  # fmt: skip
        self.lent("view", view, Lease(None, thing.lease.block, [thing.lease]), layout, thing.readonly)
        return None

    # -- what travels --

    @step(room=True, which=WHICH, protocol=[2, 4, 5])
    def travel_by_value(self, which, protocol):
        thing = self.some(which, "view", "buffer")
        if thing is None:
            return False
        made = pickle.loads(pickle.dumps(thing.obj, protocol))
        layout = thing.layout.travelled()
        span = layout.span()
        block = bytearray(thing.lease.block.data[span.offset : span.offset + span.size])
        if layout is not thing.layout:
            block = bytearray(thing.bytes())
        else:
            layout = Layout(layout.offset - span.offset, layout.shape, layout.strides, layout.dtype)
        lease = Lease(None, Block(block, made.ptr - layout.offset if layout.size else None))
        self.lent(thing.kind, made, lease, layout, thing.readonly)
        return None

    @step(room=True, which=WHICH)
    def pack(self, which):
        """Pickled with its bytes beside it, which are lent and not copied unless they have gaps."""
        thing = self.some(which, "view", "buffer")
        if thing is None:
            return False
        beside = []
        text = pickle.dumps(thing.obj, 5, buffer_callback=beside.append)
        layout, lease = thing.layout.travelled(), thing.lease
        if layout is not thing.layout:
            lease = Lease(None, Block(bytearray(thing.bytes())))
        # of a View it is the buffer that is exported, which nobody else has
        on = thing if thing.kind == "buffer" else None
        packed = Packed(text, beside[0], thing.kind)
        self.hand.append(Thing("packed", packed, lease, layout, thing.readonly, [on or lease], on, counted=True))
        return None

    @step(room=True, which=WHICH)
    def unpack(self, which):
        thing = self.some(which, "packed")
        if thing is None:
            return False
        made = pickle.loads(thing.obj.text, buffers=[thing.obj.beside])
        block, layout = thing.lease.block, thing.layout
        if block.address is None and layout.size:
            block.address = made.ptr - layout.offset
        # a Py_buffer of its own of what the packed one is an export of, and the packed one as its producer
        pins = [*thing.pins, thing]
        export = Thing("export", None, thing.lease, layout, thing.readonly, pins, thing.on, counted=True)
        self.lent(thing.obj.kind, made, Lease(None, block, [export]), layout, thing.readonly)
        return None


class Packed:
    """A pickle of a View or a Buffer, and the buffer beside it."""

    def __init__(self, text, beside, kind):
        self.text, self.beside, self.kind = text, beside, kind

    def release(self):
        self.beside.release()
