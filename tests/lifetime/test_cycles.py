"""A producer that refers to what was lent of it is collected, like any other cycle, and its lease is given back."""

import gc
import struct
import sys
import weakref

import pytest

import lend
from support import children
from support.counting import CountingBuffer, CountingDLPack, CountingExchange
from support.producers import ArrayInterface, Span

FLOATS = struct.pack("4f", 0.0, 1.0, 2.0, 3.0)


def exporter(log):
    def released():
        log.append("released")

    CALLBACKS.append(released)
    return CountingBuffer(FLOATS, format="f", itemsize=4, on_release=released)


CALLBACKS = []  # kept alive: in a cycle the collector may have emptied a function before the release calls it


STORED = {
    "a view": lend.view,
    "a buffer": lend.buffer,
    "a slice": lambda lender: lend.view(lender)[1:],
    "an owner": lambda lender: lend.view(lender).owner,
    "a view whose owner was asked for": lambda lender: (lambda view: (view, view.owner))(lend.view(lender)),
    "a memoryview of a view": lambda lender: memoryview(lend.view(lender)),
    "a view of a memoryview": lambda lender: lend.view(memoryview(lender)),
    "a view of a view": lambda lender: lend.view(lend.view(lender)),
    "a view of the memoryview of a view": lambda lender: lend.view(memoryview(lend.view(lender))),
}


@pytest.mark.parametrize("store", STORED.values(), ids=STORED)
def test_a_cycle_through_an_exporter_is_collected(store):
    log = []
    lender = exporter(log)
    lender.stored = store(lender)
    gone = weakref.ref(lender)
    del lender
    gc.collect()
    assert gone() is None
    assert log == ["released"]


@pytest.mark.parametrize("produce", [CountingDLPack, CountingExchange])
@pytest.mark.parametrize("take", [lend.view, lend.buffer, lambda lender: lend.view(lender)[1:]])
def test_a_cycle_through_a_tensor_producer_is_collected(produce, take):
    lender = produce(FLOATS, (4,))
    lender.stored = take(lender)
    gone = weakref.ref(lender)
    del lender
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("take", [lend.view, lend.buffer, lambda lender: lend.view(lender)[1:]])
def test_a_cycle_through_an_array_interface_is_collected(take):
    lender = ArrayInterface(FLOATS, (4,), "<f4")
    lender.stored = take(lender)
    gone = weakref.ref(lender)
    del lender
    gc.collect()
    assert gone() is None


def test_a_cycle_through_a_pointer_and_size_is_collected():
    lender = Span(FLOATS)
    lender.stored = lend.buffer(lender)
    gone = weakref.ref(lender)
    del lender
    gc.collect()
    assert gone() is None


def test_a_cycle_through_a_foreign_pointer_is_collected():
    class Pool:
        memory = bytearray(16)

    lender = Pool()
    lender.stored = lend.View.from_pointer(lend.buffer(Pool.memory).ptr, (4,), "float32", owner=lender)
    gone = weakref.ref(lender)
    del lender
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("length", [1, 3])
def test_a_cycle_of_several_views_gives_each_lease_back(length):
    log = []
    lenders = [exporter(log) for _ in range(length)]
    for lender, following in zip(lenders, lenders[1:] + lenders[:1], strict=True):
        lender.stored = lend.view(following)
    del lender, following, lenders
    gc.collect()
    assert log == ["released"] * length


def test_the_collector_sees_the_producer_of_a_view():
    lender = exporter([])
    assert lender in gc.get_referents(lend.view(lender))


def test_the_collector_sees_the_producer_of_an_owner():
    lender = exporter([])
    assert lender in gc.get_referents(lend.view(lender).owner)


OLDER = {
    "a memoryview": "memoryview(bytearray(8))",
    "a memoryview of a memoryview": "memoryview(memoryview(bytearray(8)))",
    "a cast memoryview": "memoryview(bytearray(8)).cast('i')",
    "a memoryview of an exporter": "memoryview(CountingBuffer(8))",
    "a PickleBuffer": "pickle.PickleBuffer(bytearray(8))",
    "a ctypes array": "(ctypes.c_int * 2)()",
    "a map": "mmap.mmap(-1, 64)",
    "an array": "array.array('d', [1.0])",
}
if sys.version_info < (3, 12):
    # From then on io.BytesIO does harm itself when it is cleared under an export: under memoryview's just as well.
    OLDER["BytesIO"] = "io.BytesIO(b'1234').getbuffer()"


@pytest.mark.parametrize("exporter", OLDER.values(), ids=OLDER)
@pytest.mark.parametrize("take", ["lend.view(m)", "lend.buffer(m)", "lend.view(m).owner", "memoryview(lend.view(m))"])
def test_an_exporter_that_the_collector_clears_before_the_view_does_no_harm(exporter, take):
    """The collector clears the oldest object of a cycle first; a memoryview cleared under an export crashes later."""
    out = children.run_clean(
        f"""
        import array, ctypes, gc, io, mmap, pickle
        import lend
        from support.counting import CountingBuffer
        class Node: pass
        def cycle():
            m = {exporter}
            node = Node()
            node.exporter, node.lent, node.itself = m, {take}, node
        for _ in range(3):
            cycle()
            gc.collect()
        print("done")
    """,
        options=(),
    )
    assert out == "done\n"
