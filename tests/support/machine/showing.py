"""Steps that hand memory out: by every protocol, by lend.h and by `lend.to`."""

import ctypes
import importlib.util

import pytest

import lend
from lend.errors import LendError
from support import by_lend_h, counting
from support.counting import CountingDLPack
from support.drawing import BOOL, step
from support.lending import Thing, reachable

from .holding import WHICH, Holding, Vanishing
from .taking import TYPESTRS

VERSIONED = (1, 3)
TAKERS = ["memoryview", *(["numpy"] if importlib.util.find_spec("numpy") else [])]


class Shop(lend.Producer):
    """Shows a View as a library would show its own memory."""

    def __init__(self, view):
        self.view = view

    def lend(self):
        return self.view


def offered(thing, shop):
    """The object, or one that a consumer does not know, which answers by it."""
    return Shop(thing.obj) if shop and thing.kind == "view" else thing.obj


class Showing(Holding):
    """What is made holds the lease by an export."""

    @step(room=True, which=WHICH, shop=BOOL)
    def hand_out_a_py_buffer(self, which, shop):
        thing = self.some(which, "view", "buffer")
        if thing is None:
            return False
        if thing.readonly:
            with pytest.raises(BufferError):
                counting.hold(offered(thing, shop), counting.FULL)
        held = counting.hold(offered(thing, shop), counting.FULL_RO if thing.readonly else counting.FULL)
        self.keep("hold", held, thing, pins=[thing], on=thing, counted=True)
        return None

    @step(room=True, which=WHICH, shop=BOOL)
    def hand_out_a_memoryview(self, which, shop):
        thing = self.some(which, "view", "buffer")
        if thing is None:
            return False
        made = memoryview(offered(thing, shop))
        assert made.obj is thing.obj
        self.keep_memoryview(made, thing, pins=[thing], on=thing)
        return None

    @step(room=True, which=WHICH, taker=TAKERS, shop=BOOL)
    def hand_over(self, which, taker, shop):
        thing = self.some(which, "view", "buffer")
        if thing is None:
            return False
        made = lend.to(offered(thing, shop), taker, copy=False)
        # made of this very object or of another View of its lease, as lend.to likes
        facts = {"pins": [thing.lease], "perhaps_on": thing}
        if taker == "memoryview":
            self.keep_memoryview(made, thing, **facts)
        else:
            # NumPy takes records by the array interface, and then holds a View that only it has
            self.keep("array", made, thing, counted=thing.layout.dtype != "record", **facts)
        return None

    def keep_memoryview(self, made, thing, **facts):
        # what a memoryview has of the exporter outlives its release, if another memoryview was made of it
        managed = Thing("managed buffer", None, thing.lease, thing.layout, thing.readonly, counted=True, **facts)
        self.keep("memoryview", made, thing, pins=[managed])

    @step(room=True, weight=3, which=WHICH, how=["unversioned capsule", "capsule", "table"], take=BOOL, shop=BOOL)
    def hand_out_a_tensor(self, which, how, take, shop):
        thing = self.some(which, "view", "buffer")
        if thing is None:
            return False
        make = {
            "unversioned capsule": lambda obj: obj.__dlpack__(),
            "capsule": lambda obj: obj.__dlpack__(max_version=VERSIONED),
            "table": counting.exchange_take,
        }[how]
        if not thing.layout.is_sayable_by_dlpack or (thing.readonly and how == "unversioned capsule"):
            with pytest.raises(LendError):
                make(offered(thing, shop))
            return None
        made, kind = make(offered(thing, shop)), "tensor" if how == "table" else "capsule"
        if take and kind == "capsule":
            made, kind = counting.consume(made), "tensor"
        self.keep(kind, made, thing, counted=True)
        return None

    @step(room=True, which=WHICH, borrow=BOOL, shop=BOOL)
    def acquire_by_lend_h(self, which, borrow, shop):
        thing = self.some(which, "view", "buffer", "memoryview", "array")
        if thing is None:
            return False
        made = by_lend_h.Acquired(offered(thing, shop), borrow=borrow)
        if borrow:  # good until control returns
            assert made.tobytes() == thing.bytes()
            assert made.readonly is thing.readonly
            return None
        if thing.kind in ("view", "buffer"):
            self.keep("acquired", made, thing)
        else:
            pins = thing.pins if thing.kind == "memoryview" else [thing]
            self.keep("acquired", made, thing, pins=pins)
        return None

    @step(room=True, which=WHICH, shop=BOOL)
    def hand_out_a_struct(self, which, shop):
        thing = self.some(which, "view", "buffer")
        if thing is None:
            return False
        if thing.layout.dtype == "record":
            with pytest.raises(AttributeError):
                offered(thing, shop).__array_struct__
            return None
        thing.told = True
        self.keep("struct", offered(thing, shop).__array_struct__, thing, counted=True)
        return None

    @step(which=WHICH, shop=BOOL)
    def hand_out_an_interface(self, which, shop):
        thing = self.some(which, "view", "buffer")
        if thing is None:
            return False
        said = offered(thing, shop).__array_interface__
        thing.told = True
        assert (said["shape"], said["typestr"]) == (thing.layout.shape, TYPESTRS[thing.layout.dtype])
        assert said["data"][1] is thing.readonly
        if thing.layout.size:
            assert said["data"][0] == thing.lease.block.address + thing.layout.offset
        return None

    @step(which=WHICH, keep=BOOL)
    def ask_for_the_owner(self, which, keep):
        thing = self.some(which, "view", "buffer")
        if thing is None:
            return False
        counted = sum(
            1 for node in reachable(self.hand) if isinstance(node, Thing) and node.counted and node.lease is thing.lease
        )  # fmt: skip
        assert thing.obj.owner.exports == counted, thing
        producer = thing.lease.producer
        if isinstance(producer, Vanishing):
            assert thing.obj.owner.producer is producer.watch()
        elif producer is not None and not isinstance(producer, (CountingDLPack, by_lend_h.Wrapping)):
            assert thing.obj.owner.producer is producer
        if keep and not self.is_full:
            self.keep("owner", thing.obj.owner, thing)
        return None

    @step(which=WHICH, value=range(256))
    def write(self, which, value):
        thing = self.some(which, "view", "buffer")
        if thing is None or thing.readonly or not thing.layout.size:
            return False
        at, itemsize = thing.layout.offsets()[-1], thing.layout.itemsize
        ctypes.memset(thing.lease.block.address + at, value, itemsize)
        thing.lease.block.write(at, bytes([value]) * itemsize)
        return None
