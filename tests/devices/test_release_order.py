"""A lease of a device goes back after the streams it was handed out for (device-memory.md, 4.1; reports 12, 14, 23).

The streams of the double run when somebody waits, so a lease that goes back while work is queued went too early.
"""

import json

import pytest

from support import fakecuda

START = """
import gc, json, weakref
from support.fakecuda import fake
from support.fakecuda.described import CudaArray, CudaArray0, Memory
from support.fakecuda.tensors import Tensor
fake.init()
import lend
from lend.devices import parking

SIZE = 64
def tensor():
    return Tensor(Memory(bytes(SIZE)), (16,))
def work(stream):
    "Something that the consumer's stream has still to do."
    spare = fake.malloc_device(SIZE)
    fake.memset_async(spare, 1, SIZE, stream)
def show(*facts):
    print(json.dumps(facts))
"""


def found(snippet, **keywords):
    return json.loads(fakecuda.run_clean(START + snippet, **keywords))


HANDED = {
    "a capsule": "taken = view.__dlpack__(stream=stream, max_version=(1, 0)); del taken",
    "a release that names it": "view.release(stream=stream)",
    "a view that was asked for on it": "lend.view(x, stream=stream).release()",
    "bytes": "lend.buffer(x).release(stream=stream)",
}


@pytest.mark.parametrize("handed", HANDED)
def test_a_tensor_is_given_back_when_the_consumers_stream_is_done(handed):
    early, waiting, pinned, late, left = found(f"""
x = tensor()
view, stream = lend.view(x), fake.stream()
work(stream)
gone = x.releases if hasattr(x, "releases") else None
{HANDED[handed]}
del view
gc.collect()
early, waiting, pinned = x.audit(), parking.waiting(), sum(loan.nbytes for loan in lend.loans())
fake.sync(stream)
left = parking.waiting()
show(bool(early), waiting, pinned >= SIZE, bool(x.audit()), left)
""")
    assert (early, waiting, pinned) == (True, 1, True)  # the books say that something is still out
    assert (late, left) == (False, 0)


def test_a_lease_that_was_handed_to_no_stream_goes_at_once():
    assert found("""
x = tensor()
view = lend.view(x)
del view
show(x.audit(), parking.waiting())
""") == [[], 0]


def test_a_lease_whose_consumer_is_done_goes_at_the_next_look():
    assert found("""
x, stream = tensor(), fake.stream()
view = lend.view(x)
view.__dlpack__(stream=stream, max_version=(1, 0))
del view
waiting = [parking.waiting() for _ in range(4)]     # a look is a query, which lets the double do a piece of work
show(waiting[-1], x.audit())
""") == [0, []]


def test_the_stream_of_the_producer_waits_in_place_of_the_lease():
    # then nothing is kept: what the producer's allocator does next on its stream comes after the consumer's work
    gone, waiting, done_before, done_after = found("""
own, stream = fake.stream(), fake.stream()
memory = Memory(bytes(SIZE), stream=own)
x = CudaArray(memory, (16,), stream=own)
held = weakref.ref(x)
view = lend.view(x)
spare = fake.malloc_device(SIZE)
view.__dlpack__(stream=stream, max_version=(1, 0))
fake.memset_async(spare, 7, SIZE, stream)
del view, x
gc.collect()
gone, waiting = held() is None, parking.waiting()
before = fake.peek(spare, 1)
fake.sync(own)
show(gone, waiting, before != b"\\x07", fake.peek(spare, 1) == b"\\x07")
""")
    assert (gone, waiting) == (True, 0)
    assert (done_before, done_after) == (True, True)


def test_a_producer_without_a_stream_is_kept_till_the_consumer_is_done():
    assert found("""
stream = fake.stream()
x = CudaArray0(Memory(bytes(SIZE)), (16,))
held = weakref.ref(x)
view = lend.view(x)
view.__dlpack__(stream=stream, max_version=(1, 0))
work(stream)
del view, x
gc.collect()
early = held() is not None
fake.sync(stream)
parking.waiting()
gc.collect()
show(early, held() is None)
""") == [True, True]


def test_what_keeps_the_memory_of_an_address_is_kept_till_the_consumer_is_done():
    assert found("""
class Keeper: pass
stream, owner, memory = fake.stream(), Keeper(), Memory(bytes(SIZE))
held = weakref.ref(owner)
view = lend.View.from_pointer(memory.address, SIZE, "uint8", owner=owner, device="cuda:0")
view.__dlpack__(stream=stream, max_version=(1, 0))
work(stream)
del view, owner
gc.collect()
early = held() is not None
fake.sync(stream)
parking.waiting()
gc.collect()
show(early, held() is None)
""") == [True, True]


@pytest.mark.parametrize("how", ["view.__dlpack__(stream=stream, max_version=(1, 0))", "view.release(stream=stream)"])
@pytest.mark.parametrize(("kind", "code"), [("device", 2), ("managed", 13), ("managed", 2), ("pinned", 3)])
def test_a_lease_is_kept_for_the_stream_of_another_device_than_that_of_its_memory(kind, code, how):
    early, waiting, left = found(f"""
fake.retain(1)
x = Tensor(Memory(bytes(SIZE), {kind!r}), (16,), device=({code}, 0))
view = lend.view(x)
with fake.on(1):
    stream, spare = fake.stream(), fake.malloc_device(SIZE)
    fake.memset_async(spare, 1, SIZE, stream)
{how}
with fake.on(1): fake.memset_async(spare, 1, SIZE, stream)
del view
gc.collect()
early, waiting = x.audit(), parking.waiting()
with fake.on(1): fake.sync(stream)
show(bool(early), waiting, parking.waiting())
""")
    assert (early, waiting, left) == (True, 1, 0)


def test_a_thread_without_a_context_keeps_a_lease_whose_device_nobody_told():
    assert found("""
import threading
stream = fake.stream()
work(stream)
x = CudaArray0(Memory(bytes(SIZE)), (16,))
held = weakref.ref(x)
view = lend.view(x)
del x
def last():
    global view
    view.release(stream=stream)
    del view
thread = threading.Thread(target=last)
thread.start(); thread.join()
show(held() is None, parking.waiting())
""") == [False, 1]


def test_no_stream_is_waited_for_and_the_context_stays_as_it_was():
    waits, depth = found("""
fake.reset()
depth = fake.depth()
for _ in range(20):
    stream = fake.stream()
    view = lend.view(tensor())
    work(stream)
    view.__dlpack__(stream=stream, max_version=(1, 0))
    del view
show([fake.calls(name) for name in ("cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize")],
     fake.depth() - depth)
""")
    assert (waits, depth) == ([0, 0, 0], 0)


def test_what_is_parked_when_the_interpreter_ends_is_given_back_by_nobody():
    assert found("""
x, stream = tensor(), fake.stream()
view = lend.view(x)
work(stream)
view.__dlpack__(stream=stream, max_version=(1, 0))
show(1)
del view
""") == [1]


def test_a_stream_of_memory_of_the_host_is_refused():
    import lend

    with pytest.raises(lend.errors.StreamError, match="host memory has no stream"):
        lend.view(b"1234").release(stream=1)
    with pytest.raises(lend.errors.StreamError, match="host memory has no stream"):
        lend.buffer(b"1234").release(stream=1)
