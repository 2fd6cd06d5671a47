"""Lending as a state machine: whatever is taken, made, handed out and given back, in any order and on any thread.

After every step each producer has exactly the loans open that the model of `support.lending` says, everything in hand
reads the right bytes, and read-only memory is still read-only; at the end every loan is back, once.
"""

import copy
import ctypes
import importlib.util
import random
import threading

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import lend
from lend.errors import LeaseLost, LendError, UnsupportedLayout
from support import counting
from support.counting import CountingBuffer, CountingDLPack, CountingExchange
from support.lending import ITEMSIZES, Block, Layout, Lease, Thing, grows, on_a_thread, reachable, row_major

NBYTES = 48
STARTS = [
    ("uint8", (48,)), ("uint8", (4, 3, 4)), ("int16", (24,)), ("int16", (4, 6)), ("int32", (2, 2, 3)),
    ("float64", (6,)), ("float64", (2, 3, 1)),
]  # fmt: skip
FORMATS = {"uint8": "B", "int16": "h", "int32": "i", "float64": "d"}
DLPACK_TYPES = {"uint8": (1, 8, 1), "int16": (0, 16, 1), "int32": (0, 32, 1), "float64": (2, 64, 1)}
TYPESTRS = {"uint8": "|u1", "int16": "<i2", "int32": "<i4", "float64": "<f8"}
VERSIONED = (1, 3)
TAKERS = ["memoryview", *(["numpy"] if importlib.util.find_spec("numpy") else [])]

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
}

which = st.integers(0, 999)  # of the things that a rule may take, modulo their number
ends = st.none() | st.integers(-5, 5)
some_index = st.lists(
    st.integers(-4, 3) | st.none() | st.builds(slice, ends, ends, st.sampled_from([None, 1, 2, -1])),
    min_size=1, max_size=3,
)  # fmt: skip


class Lending(RuleBasedStateMachine):
    """What is in hand is kept here and nowhere else: a second reference would keep a loan open."""

    def __init__(self):
        super().__init__()
        self.hand = []
        self.leases = []

    # -- what is known --

    def some(self, which, *kinds, live=True):
        """One of the things of these kinds, or None."""
        found = [thing for thing in self.hand if thing.kind in kinds and not (live and thing.released)]
        return found[which % len(found)] if found else None

    def keep(self, kind, obj, source, *, layout=None, pins=None, **facts):
        """Take a new object of the lease of `source` in hand."""
        readonly = facts.pop("readonly", source.readonly)
        pins = [source.lease] if pins is None else pins
        self.hand.append(Thing(kind, obj, source.lease, layout or source.layout, readonly, pins, **facts))

    def exports_of(self, thing):
        """How many Py_buffers of this very object are open."""
        return sum(1 for node in reachable(self.hand) if isinstance(node, Thing) and node.on is thing) + sum(
            1 for node in reachable(self.hand) if isinstance(node, Lease) and thing in node.pins
        )

    def loans_of(self, producer):
        """How many leases of it must be open."""
        return sum(1 for node in reachable(self.hand) if isinstance(node, Lease) and node.producer is producer)

    # -- taking --

    def take(self, producer, block, layout, readonly, *, take=lend.view, pins=()):
        view = take(producer)
        # a producer that is itself of this machine's making is not kept: it would keep its own loan open
        lease = Lease(None if pins else producer, block, list(pins))
        self.leases.append(lease)
        self.hand.append(Thing("view", view, lease, layout, readonly, [lease]))
        if block.address is None and layout.size:
            block.address = view.ptr - layout.offset

    @initialize(kind=st.sampled_from(list(PRODUCERS)), start=st.sampled_from(STARTS), readonly=st.booleans())
    def begin(self, kind, start, readonly):
        self.take_from_a_new_producer(kind, start, readonly, "view", 0)

    @precondition(lambda self: len(self.hand) < 14)
    @rule(
        kind=st.sampled_from(list(PRODUCERS)),
        start=st.sampled_from(STARTS),
        readonly=st.booleans(),
        way=st.sampled_from(["view", "capsule", "view of a slice"]),
        seed=st.integers(0, 99),
    )
    def take_from_a_new_producer(self, kind, start, readonly, way, seed):
        dtype, shape = ("uint8", (NBYTES,)) if kind == "bytearray" else start
        data = random.Random(seed).randbytes(NBYTES)
        producer = PRODUCERS[kind](data, dtype, shape, readonly)
        readonly = kind == "unversioned" or (readonly and kind != "bytearray")
        take = lend.view
        if way == "capsule" and kind in ("dlpack", "unversioned"):
            take = lambda tensors: lend.view(tensors.capsule(kind == "dlpack"))
        self.take(producer, Block(bytearray(data)), row_major(shape, dtype), readonly, take=take)

    @rule(which=which)
    def take_from_a_producer_again(self, which):
        leases = [
            lease for lease in reachable(self.hand) if isinstance(lease, Lease) and lease.producer is not None
            and type(lease.producer) in (CountingBuffer, CountingDLPack, CountingExchange, bytearray)
        ]  # fmt: skip
        if leases:
            lease = leases[which % len(leases)]
            view = lend.view(lease.producer)
            layout = Layout(0, view.shape, view.strides, str(view.dtype))
            self.take(lease.producer, lease.block, layout, view.readonly)

    @precondition(lambda self: len(self.hand) < 14)
    @rule(which=which)
    def take_from_a_consumer(self, which):
        thing = self.some(which, "memoryview", "array")
        if thing is not None:
            # lend holds a memoryview beside a memoryview, and a Py_buffer of anything else
            pins = thing.pins if thing.kind == "memoryview" else [thing]
            self.take(thing.obj, thing.lease.block, thing.layout, thing.readonly, pins=pins)

    @rule(which=which)
    def take_a_capsule_of_ours(self, which):
        thing = self.some(which, "capsule")
        if thing is None:
            return
        view = lend.view(thing.obj)
        thing.kind, thing.released = "used capsule", True
        # the tensor that the capsule stood for lives on in the new lease
        tensor = Thing("tensor", None, thing.lease, thing.layout, thing.readonly, thing.pins, counted=True)
        thing.pins, thing.counted = [], False
        lease = Lease(None, thing.lease.block, [tensor])
        self.hand.append(Thing("view", view, lease, thing.layout, thing.readonly or view.writability_untold, [lease]))

    # -- deriving --

    @precondition(lambda self: len(self.hand) < 14)
    @rule(which=which, index=some_index)
    def index(self, which, index):
        thing = self.some(which, "view")
        if thing is None:
            return
        extents = list(thing.layout.shape)
        possible, used = [], 0
        for entry in index:
            if entry is not None:
                if used == len(extents) or (isinstance(entry, int) and not -extents[used] <= entry < extents[used]):
                    continue
                used += 1
            possible.append(entry)
        if len(possible) + len(extents) > 8:
            return
        layout = thing.layout.indexed(possible)
        self.keep("view", thing.obj[tuple(possible)], thing, layout=layout)

    @precondition(lambda self: len(self.hand) < 14)
    @rule(which=which, how=st.sampled_from(["T", "again", "copy.copy", "flat", "read-only", "buffer"]))
    def derive(self, which, how):
        thing = self.some(which, "view")
        if thing is None:
            return
        if how == "T":
            self.keep("view", thing.obj.T, thing, layout=thing.layout.transposed())
        elif how == "again":
            self.keep("view", lend.view(thing.obj), thing)
        elif how == "copy.copy":
            self.keep("view", copy.copy(thing.obj), thing)
        elif how == "read-only":
            self.keep("view", lend.view(thing.obj, writable=False), thing, readonly=True)
        elif how == "buffer":
            self.keep("buffer", thing.obj.buffer, thing, layout=thing.layout.span())
        elif thing.layout.is_row_major:
            flat = row_major((thing.layout.size,), thing.layout.dtype)
            flat = Layout(thing.layout.offset, flat.shape, flat.strides, flat.dtype)
            self.keep("view", thing.obj.reshape(-1), thing, layout=flat)

    @rule(which=which, dtype=st.sampled_from(list(FORMATS)))
    def reinterpret(self, which, dtype):
        thing = self.some(which, "view")
        if thing is None:
            return
        layout = thing.layout.reinterpreted(dtype)
        if layout is None:
            with pytest.raises(UnsupportedLayout):
                thing.obj.reinterpret(dtype)
        elif len(self.hand) < 14:
            self.keep("view", thing.obj.reinterpret(dtype), thing, layout=layout)

    @rule(which=which, start=st.integers(-9, 9), stop=st.none() | st.integers(-9, 40))
    def cut_a_buffer(self, which, start, stop):
        thing = self.some(which, "buffer")
        if thing is not None and len(self.hand) < 14:
            layout = thing.layout.indexed([slice(start, stop)])
            self.keep("buffer", thing.obj[start:stop], thing, layout=layout)
            self.keep("view", self.hand[-1].obj.view("uint8"), self.hand[-1])

    @rule(which=which)
    def copy_one(self, which):
        thing = self.some(which, "view")
        if thing is None or len(self.hand) >= 14:
            return
        made = thing.obj.copy()
        fresh = row_major(thing.layout.shape, thing.layout.dtype)
        lease = Lease(None, Block(bytearray(thing.bytes()), made.ptr))
        self.hand.append(Thing("view", made, lease, fresh, False, [lease]))

    # -- handing out --

    @precondition(lambda self: len(self.hand) < 14)
    @rule(which=which)
    def hand_out_a_py_buffer(self, which):
        thing = self.some(which, "view", "buffer")
        if thing is None:
            return
        if thing.readonly:
            with pytest.raises(BufferError):
                counting.hold(thing.obj, counting.FULL)
        held = counting.hold(thing.obj, counting.FULL_RO if thing.readonly else counting.FULL)
        self.keep("hold", held, thing, pins=[thing], on=thing, counted=True)

    @precondition(lambda self: len(self.hand) < 14)
    @rule(which=which)
    def hand_out_a_memoryview(self, which):
        thing = self.some(which, "view", "buffer")
        if thing is not None:
            made = memoryview(thing.obj)
            assert made.obj is thing.obj
            self.keep_memoryview(made, thing, pins=[thing], on=thing)

    @precondition(lambda self: len(self.hand) < 14)
    @rule(which=which, taker=st.sampled_from(TAKERS))
    def hand_over(self, which, taker):
        thing = self.some(which, "view", "buffer")
        if thing is None:
            return
        made = lend.to(thing.obj, taker, copy=False)
        # made of this very object or of another View of its lease, as lend.to likes
        facts = {"pins": [thing.lease], "perhaps_on": thing}
        if taker == "memoryview":
            self.keep_memoryview(made, thing, **facts)
        else:
            self.keep("array", made, thing, counted=True, **facts)

    def keep_memoryview(self, made, thing, **facts):
        # what a memoryview has of the exporter outlives its release, if another memoryview was made of it
        managed = Thing("managed buffer", None, thing.lease, thing.layout, thing.readonly, counted=True, **facts)
        self.keep("memoryview", made, thing, pins=[managed])

    @precondition(lambda self: len(self.hand) < 14)
    @rule(which=which, how=st.sampled_from(["unversioned capsule", "capsule", "table"]), take=st.booleans())
    def hand_out_a_tensor(self, which, how, take):
        thing = self.some(which, "view", "buffer")
        if thing is None:
            return
        make = {
            "unversioned capsule": lambda obj: obj.__dlpack__(),
            "capsule": lambda obj: obj.__dlpack__(max_version=VERSIONED),
            "table": counting.exchange_take,
        }[how]
        if not thing.layout.is_sayable_by_dlpack or (thing.readonly and how == "unversioned capsule"):
            with pytest.raises(LendError):
                make(thing.obj)
            return
        made, kind = make(thing.obj), "tensor" if how == "table" else "capsule"
        if take and kind == "capsule":
            made, kind = counting.consume(made), "tensor"
        self.keep(kind, made, thing, counted=True)

    @rule(which=which)
    def hand_out_a_struct(self, which):
        thing = self.some(which, "view", "buffer")
        if thing is not None and len(self.hand) < 14:
            thing.told = True
            self.keep("struct", thing.obj.__array_struct__, thing, counted=True)

    @rule(which=which)
    def hand_out_an_interface(self, which):
        thing = self.some(which, "view", "buffer")
        if thing is None:
            return
        said = thing.obj.__array_interface__
        thing.told = True
        assert (said["shape"], said["typestr"]) == (thing.layout.shape, TYPESTRS[thing.layout.dtype])
        assert said["data"][1] is thing.readonly
        if thing.layout.size:
            assert said["data"][0] == thing.lease.block.address + thing.layout.offset

    @rule(which=which, keep=st.booleans())
    def ask_for_the_owner(self, which, keep):
        thing = self.some(which, "view", "buffer")
        if thing is None:
            return
        counted = sum(
            1 for node in reachable(self.hand) if isinstance(node, Thing) and node.counted and node.lease is thing.lease
        )  # fmt: skip
        assert thing.obj.owner.exports == counted
        if thing.lease.producer is not None and not isinstance(thing.lease.producer, CountingDLPack):
            assert thing.obj.owner.producer is thing.lease.producer
        if keep and len(self.hand) < 14:
            self.keep("owner", thing.obj.owner, thing)

    @rule(which=which, value=st.integers(0, 255))
    def write(self, which, value):
        thing = self.some(which, "view", "buffer")
        if thing is not None and not thing.readonly and thing.layout.size:
            at = thing.layout.offsets()[-1]
            ctypes.memset(thing.lease.block.address + at, value, thing.layout.itemsize)
            thing.lease.block.data[at : at + thing.layout.itemsize] = bytes([value]) * thing.layout.itemsize

    @rule(which=which)
    def read(self, which):
        thing = self.some(which, "view")
        if thing is not None:
            assert thing.obj.tobytes() == thing.bytes()

    # -- giving back --

    @rule(which=which, elsewhere=st.booleans())
    def drop(self, which, elsewhere):
        if self.hand:
            thing = self.hand.pop(which % len(self.hand))
            box, thing.obj = [thing.obj], None
            if elsewhere:
                on_a_thread(box.clear)
            else:
                box.clear()

    @rule(count=st.integers(2, 4))
    def drop_on_several_threads_at_once(self, count):
        boxes = []
        while self.hand and len(boxes) < count:
            thing = self.hand.pop()
            boxes.append([thing.obj])
            thing.obj = None
        if not boxes:
            return
        barrier = threading.Barrier(len(boxes))
        threads = [threading.Thread(target=lambda box=box: (barrier.wait(), box.clear())) for box in boxes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    @rule(which=which, elsewhere=st.booleans())
    def release(self, which, elsewhere):
        thing = self.some(which, "view", "buffer", "memoryview", "hold", "tensor")
        if thing is None:
            return
        if thing.kind == "tensor":
            (thing.obj.delete_on_foreign_thread if elsewhere else thing.obj.delete)()
        elif self.exports_of(thing):
            with pytest.raises(BufferError):
                on_a_thread(thing.obj.release) if elsewhere else thing.obj.release()
            return
        else:
            try:
                on_a_thread(thing.obj.release) if elsewhere else thing.obj.release()
            except BufferError:
                assert any(isinstance(node, Thing) and node.perhaps_on is thing for node in reachable(self.hand))
                return
        thing.released, thing.on, thing.counted = True, None, False
        if not thing.told:  # an address that was told must stay good until the object goes
            thing.pins = []

    @rule(which=which)
    def use_after_release(self, which):
        thing = self.some(which, "view", "buffer", live=False)
        if thing is not None and thing.released:
            for use in (memoryview, lambda obj: obj.tobytes(), lambda obj: obj.__dlpack__(), lambda obj: obj.owner):
                with pytest.raises(LeaseLost):
                    use(thing.obj)

    # -- what must hold after every step --

    @invariant()
    def every_producer_has_the_right_number_of_loans(self):
        for producer in {id(lease.producer): lease.producer for lease in self.leases}.values():
            if isinstance(producer, bytearray):
                assert grows(producer) is (self.loans_of(producer) == 0)
            elif isinstance(producer, CountingBuffer | CountingDLPack | CountingExchange):
                assert producer.live == self.loans_of(producer), producer
                if producer.live == 0:
                    assert producer.audit() == []
        self.leases = [lease for lease in self.leases if self.loans_of(lease.producer)]

    @invariant()
    def lent_memory_is_as_it_was_left(self):
        for node in reachable(self.hand):
            if isinstance(node, Lease) and node.producer is not None and node.block.address is not None:
                assert ctypes.string_at(node.block.address, NBYTES) == node.block.data

    @invariant()
    def consumers_read_the_right_bytes(self):
        # a View is read by a rule, not here: reading would move its lease into an owner after every step
        for thing in self.hand:
            if not thing.released and thing.kind in ("buffer", "memoryview", "array", "hold", "tensor"):
                assert thing.obj.tobytes() == thing.bytes(), thing

    @invariant()
    def layouts_and_addresses_are_right(self):
        for thing in self.hand:
            if thing.released or thing.kind != "view":
                continue
            view, layout = thing.obj, thing.layout
            assert (view.shape, str(view.dtype)) == (layout.shape, layout.dtype)
            assert view.c_contiguous is layout.is_row_major
            if layout.size:
                assert view.ptr == thing.lease.block.address + layout.offset

    @invariant()
    def what_was_read_only_stays_so(self):
        for thing in self.hand:
            if not thing.released and thing.kind in READONLY:
                assert READONLY[thing.kind](thing.obj) is thing.readonly, thing

    def teardown(self):
        producers = {id(lease.producer): lease.producer for lease in self.leases if lease.producer is not None}
        for thing in self.hand:
            thing.obj = None
        self.hand.clear()
        self.leases.clear()
        for producer in producers.values():
            if isinstance(producer, bytearray):
                assert grows(producer)
            elif isinstance(producer, CountingBuffer | CountingDLPack | CountingExchange):
                assert producer.audit() == []
        assert not [loan for loan in lend.loans() if any(loan.producer is producer for producer in producers.values())]


def is_readonly_tensor(tensor):
    # an unversioned one is only ever given of writable memory
    return bool(tensor.fields.get("flags", 0) & counting.READ_ONLY)


READONLY = {
    "view": lambda view: view.readonly,
    "buffer": lambda buffer: buffer.readonly,
    "memoryview": lambda view: view.readonly,
    "array": lambda array: not array.flags.writeable,
    "hold": lambda held: held.fields["readonly"],
    "tensor": is_readonly_tensor,
}


QUIET = {
    "deadline": None,
    "report_multiple_bugs": False,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    "print_blob": True,
}


def test_every_loan_is_given_back_once_and_never_early():
    run_state_machine_as_test(Lending, settings=settings(max_examples=150, stateful_step_count=40, **QUIET))


@pytest.mark.slow
def test_every_loan_is_given_back_once_and_never_early_in_long_runs():
    run_state_machine_as_test(Lending, settings=settings(max_examples=300, stateful_step_count=120, **QUIET))
