"""Memory is given back once, when the last thing made of it goes; what is refused keeps nothing."""

import gc
import itertools
import sys
import threading
import weakref

import pytest

from lend import minimal
from support import counting
from support.children import run_clean
from support.counting import CountingBuffer, CountingDLPack, CountingExchange
from support.producers import ArrayInterface, Span
from support.racing import small_steps, takers
from support.remains import FLOATS, floats, tensor

BYTES = {
    "a buffer": floats,
    "a buffer that points into itself": lambda: floats(fill_info=True, format="B", itemsize=1, shape=(24,)),
    "a tensor": tensor,
    "an unversioned tensor": lambda: tensor(protocol="legacy"),
    "a tensor without a deleter": lambda: tensor(null_deleter=True),
    "an interface": lambda: ArrayInterface(FLOATS, (6,), "<f4"),
    "an interface over bytes": lambda: ArrayInterface(b"", (6,), "<f4", data=floats()),
    "a pointer and a size": lambda: Span(FLOATS),
}
HOLDERS = {
    "Array": minimal.array,
    "Buffer": minimal.buffer,
    "slice": lambda lender: minimal.buffer(lender)[4:12],
    "memoryview": lambda lender: minimal.array(lender).memoryview(),
    "part of a memoryview": lambda lender: minimal.array(lender).memoryview()[1:2],
    "memoryview of a slice": lambda lender: minimal.buffer(lender)[4:12].memoryview(),
    "interface": lambda lender: numpy_array(lender),
}


def numpy_array(lender):
    return pytest.importorskip("numpy").asarray(minimal.array(lender))[::2]


def audit(lender):
    """What is wrong with the books of a lender, or of the lender behind it."""
    behind = getattr(lender, "facts", {}).get("data") if isinstance(getattr(lender, "facts", None), dict) else None
    return getattr(behind, "audit", getattr(lender, "audit", list))()


def without_collector(test):
    def alone(*args, **keywords):
        gc.collect()
        gc.disable()
        try:
            return test(*args, **keywords)
        finally:
            gc.enable()

    alone.__name__ = test.__name__
    return alone


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("kind", BYTES)
def test_what_is_held_keeps_the_memory_and_nothing_else_does(kind, holder):
    @without_collector
    def used():
        lender = BYTES[kind]()
        gone = weakref.ref(lender) if kind != "an interface over bytes" else weakref.ref(lender.facts["data"])
        held = HOLDERS[holder](lender)
        before = bytes(held) if holder.endswith(("memoryview", "slice")) and holder != "slice" else None
        if kind == "a tensor without a deleter":
            assert gone() is not None
        else:
            del lender
            assert gone() is not None
        if before is not None:
            assert bytes(held) == before
        del held
        lender = None
        return gone()

    assert used() is None


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
@pytest.mark.parametrize("kind", ["a buffer", "a tensor", "an unversioned tensor"])
def test_one_loan_is_given_back_with_the_last_of_what_shares_it(kind, order):
    lender = BYTES[kind]()
    taken = minimal.array(lender)
    span = taken.buffer
    held = [taken, span, span[4:8], taken.memoryview()]
    del taken, span
    for at in order:
        assert lender.live == 1
        held[at] = None
    assert lender.live == 0
    assert lender.audit() == []


def test_a_buffer_is_asked_once():
    lender = floats()
    taken = minimal.array(lender)
    taken.tolist(), taken.memoryview(), taken.buffer.memoryview()
    assert (lender.gets, lender.live) == (1, 1)


@pytest.mark.parametrize("kind", ["a buffer", "a tensor", "an interface", "a pointer and a size"])
def test_loans_leave_the_count_of_references_as_it_was(kind):
    lender = BYTES[kind]()
    before = sys.getrefcount(lender)
    for _ in range(100):
        minimal.array(lender)
    assert sys.getrefcount(lender) == before


REFUSED = {
    "a format": lambda: CountingBuffer(16, format="O", itemsize=8),
    "a buffer that lies": lambda: CountingBuffer(48, format="d", itemsize=8, lie={"len": 7}),
    "rows behind pointers": lambda: CountingBuffer(48, format="d", itemsize=8, lie={"suboffsets": (0,)}),
    "a dtype": lambda: CountingDLPack(24, (6,), dtype=(99, 32, 1)),
    "a shape": lambda: CountingDLPack(24, (-6,)),
    "an unversioned shape": lambda: CountingDLPack(24, (-6,), protocol="legacy"),
    "a version": lambda: CountingDLPack(24, (6,), version=(2, 0), protocol="versioned"),
    "another device than announced": lambda: announcing((2, 0)),
    "a table of functions": lambda: CountingExchange(24, (6,)),
    "data too small": lambda: ArrayInterface(b"", (600,), "<f4", data=floats()),
}


def announcing(device):
    lender = tensor()
    lender.announced = device
    return lender


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("take", [minimal.array, minimal.buffer])
def test_what_is_refused_is_given_back_while_the_refusal_is_handled(kind, take):
    lender = REFUSED[kind]()
    try:
        take(lender)
    except minimal.Refused:
        assert audit(lender) == []
    else:
        pytest.fail("was lent")


@pytest.mark.parametrize("versioned", [True, False])
def test_a_capsule_is_taken_once(versioned):
    lender = tensor()
    capsule = lender.capsule(versioned)
    taken = minimal.array(capsule)
    with pytest.raises(minimal.Refused, match="consumed before"):
        minimal.array(capsule)
    assert lender.live == 1
    del taken
    assert lender.audit() == []
    del capsule
    assert lender.audit() == []


def test_a_capsule_is_taken_by_one_of_many_threads():
    lender, won = tensor(), []
    with small_steps():
        for _ in range(100):
            capsule = lender.capsule(True)
            won += takers(lambda capsule=capsule: minimal.array(capsule).ptr, minimal.Refused)
    assert len(won) == 100
    del capsule
    assert lender.audit() == []


def test_loans_end_once_in_many_threads():
    lenders = [floats(), tensor()]
    shared = [minimal.array(lender) for lender in lenders]

    def work():
        for _ in range(300):
            for lender, first in zip(lenders, shared, strict=True):
                held = [minimal.array(lender), first.buffer[4:], first.memoryview(), minimal.buffer(lender)]
                assert held[0].shape == (6,)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shared.clear()
    assert [lender.audit() for lender in lenders] == [[], []]


@pytest.mark.parametrize("holder", [name for name in HOLDERS if name != "interface"])
@pytest.mark.parametrize("kind", ["a buffer", "a tensor"])
def test_a_cycle_through_the_memory_is_collected(kind, holder):
    class Ring:
        pass

    lender, ring = BYTES[kind](), Ring()
    books = lender.books if kind == "a tensor" else None
    lender_gone = weakref.ref(lender)
    ring.held = HOLDERS[holder](lender)
    if kind == "a buffer":
        lender.ring = ring
    else:
        lender.capsules.append(ring)
    del lender, ring
    counting.collect()
    assert lender_gone() is None
    assert books is None or books["made"] == books["deleted"]


def test_a_finalizer_that_comes_after_the_owner_is_refused_and_reads_nothing():
    class Late:
        def __del__(self):
            try:
                read.append(self.taken.tolist())
            except minimal.Refused as error:
                read.append("given back" in str(error))

    read = []
    for first in (True, False):  # whichever of the two is older, and so finalized first
        late = Late() if first else None
        lender = tensor()
        taken = minimal.array(lender)
        late = late or Late()
        late.taken = taken
        lender.capsules.append(late)
        del late, taken, lender
        counting.collect()
    assert all(found in (True, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]) for found in read)
    assert len(read) == 2


def test_an_array_handed_on_by_delegation_outlives_it():
    torch = pytest.importorskip("torch")
    tensor = torch.arange(4.0)
    taken = minimal.array(tensor)
    again = torch.from_dlpack(taken)
    assert again.data_ptr() == tensor.data_ptr()
    gone = weakref.ref(taken)
    del taken, tensor
    assert gone() is None
    assert again.tolist() == [0.0, 1.0, 2.0, 3.0]


AT_EXIT = """
    import array, mmap, sys
    from lend import minimal
    from support.counting import CountingBuffer, CountingDLPack
    source = {}
    taken = minimal.array(source)
    kept = [taken, taken.memoryview(), taken.buffer[1:3], minimal.buffer(source)]
    kept.append(kept)
    sys.kept = kept
    class Late:
        def __del__(self, array=minimal.array):
            try: array(bytearray(4)).memoryview()
            except Exception: pass
    sys.late = Late()
"""


@pytest.mark.parametrize(
    "source", ["bytearray(16)", "array.array('d', [1, 2])", "mmap.mmap(-1, 16)", "CountingBuffer(16, itemsize=1)",
               "CountingDLPack(16, (4,))", "CountingDLPack(16, (4,), protocol='legacy')"]
)  # fmt: skip
def test_the_interpreter_ends_quietly_while_memory_is_held(source):
    assert run_clean(AT_EXIT.replace("{}", source)) == ""


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_the_interpreter_ends_quietly_while_memory_of_a_library_is_held(library):
    pytest.importorskip(library)
    made = {"numpy": "__import__('numpy').zeros(4, 'u1')", "torch": "__import__('torch').zeros(4)"}[library]
    assert run_clean(AT_EXIT.replace("{}", made), options=()) == ""
