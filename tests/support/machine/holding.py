"""What is in hand and what is known of it; and what must hold of both after every step."""

import ctypes
import gc
import weakref

import lend
from support import counting
from support.lending import ITEMSIZES, Lease, Thing, grows, reachable

NBYTES = 48
MOST = 14  # things in hand
WHICH = range(1000)  # of the things that a step may take, modulo their number
RECORD = lend.DType([("low", "uint8"), ("high", "int16")])
DTYPES = {name: RECORD if name == "record" else lend.DType(name) for name in ITEMSIZES}

READABLE = ("buffer", "memoryview", "array", "hold", "tensor", "acquired")
READONLY = {
    "view": lambda view: view.readonly,
    "buffer": lambda buffer: buffer.readonly,
    "memoryview": lambda view: view.readonly,
    "array": lambda array: not array.flags.writeable,
    "hold": lambda held: held.fields["readonly"],
    "acquired": lambda acquired: acquired.readonly,
    # an unversioned one is only ever given of writable memory
    "tensor": lambda tensor: bool(tensor.fields.get("flags", 0) & counting.READ_ONLY),
}


class Vanishing:
    """A producer whose loan is a reference to it: lent as long as it is there."""

    def __init__(self, producer):
        self.watch = weakref.ref(producer)

    @property
    def live(self):
        return self.watch() is not None


class Holding:
    """What is in hand is kept here and nowhere else: a second reference would keep a loan open.

    A step that finds nothing to work on answers False.
    """

    def __init__(self):
        self.hand = []
        self.leases = []

    @property
    def is_full(self):
        return len(self.hand) >= MOST

    def some(self, which, *kinds, live=True):
        """One of the things of these kinds, or None."""
        found = [thing for thing in self.hand if thing.kind in kinds and not (live and thing.released)]
        return found[which % len(found)] if found else None

    def keep(self, kind, obj, source, *, layout=None, pins=None, **facts):
        """Take a new object of the lease of `source` in hand."""
        readonly = facts.pop("readonly", source.readonly)
        pins = [source.lease] if pins is None else pins
        self.hand.append(Thing(kind, obj, source.lease, layout or source.layout, readonly, pins, **facts))

    def lent(self, kind, obj, lease, layout, readonly):
        """Take the first object of a new lease in hand."""
        self.leases.append(lease)
        self.hand.append(Thing(kind, obj, lease, layout, readonly, [lease]))

    def exports_of(self, thing):
        """How many Py_buffers of this very object are open."""
        alive = reachable(self.hand)
        return sum(1 for node in alive if isinstance(node, Thing) and node.on is thing) + sum(
            1 for node in alive if isinstance(node, Lease) and thing in node.pins
        )

    # -- what must hold after every step --

    def check(self):
        """Everything that must hold, whatever was done."""
        leases = [node for node in reachable(self.hand) if isinstance(node, Lease)]
        self.every_producer_has_the_right_number_of_loans(leases)
        self.lent_memory_is_as_it_was_left(leases)
        for thing in self.hand:
            if not thing.released:
                self.reads_right(thing)

    def every_producer_has_the_right_number_of_loans(self, leases):
        open_loans = {}
        for lease in leases:
            open_loans[id(lease.producer)] = open_loans.get(id(lease.producer), 0) + 1
        for producer in {id(lease.producer): lease.producer for lease in self.leases}.values():
            loans = open_loans.get(id(producer), 0)
            if isinstance(producer, bytearray):
                assert grows(producer) is (loans == 0)
            elif producer is not None:
                assert producer.live == loans, producer
                if not loans and hasattr(producer, "audit"):
                    assert producer.audit() == []
        self.leases = [lease for lease in self.leases if id(lease.producer) in open_loans]

    def lent_memory_is_as_it_was_left(self, leases):
        for lease in leases:
            block = lease.block
            if lease.producer is not None and block.address is not None:
                assert ctypes.string_at(block.address, NBYTES) == block.data

    def reads_right(self, thing):
        # a View is read by a step, not here: reading would move its lease into an owner after every step
        if thing.kind in READABLE:
            assert thing.obj.tobytes() == thing.bytes(), thing
        elif thing.kind == "view":
            view, layout = thing.obj, thing.layout
            assert (view.shape, view.dtype) == (layout.shape, DTYPES[layout.dtype])
            assert view.c_contiguous is layout.is_row_major
            if layout.size:
                assert view.ptr == thing.lease.block.address + layout.offset
        if thing.kind in READONLY:
            assert READONLY[thing.kind](thing.obj) is thing.readonly, thing

    def end(self):
        """Let everything go: nothing is lent any more, and lend knows of nothing."""
        producers = {id(lease.producer): lease.producer for lease in self.leases if lease.producer is not None}
        for thing in self.hand:
            thing.obj = None
        self.hand.clear()
        self.leases.clear()
        gc.collect()
        for producer in producers.values():
            assert grows(producer) if isinstance(producer, bytearray) else not producer.live, producer
            assert getattr(producer, "audit", list)() == []
        assert not [loan for loan in lend.loans() if any(loan.producer is producer for producer in producers.values())]
