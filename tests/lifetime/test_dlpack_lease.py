"""The lease on a DLPack tensor: taken once, its deleter called once, on every path and in every thread."""

import gc
import struct
import sys
import threading

import pytest

import lend
from lend.errors import LendError, MalformedDescriptor
from support import counting
from support.counting import CountingBuffer, CountingDLPack, CountingExchange
from support.derived import HOLDERS

FLOATS = struct.pack("4f", 0.0, 1.0, 2.0, 3.0)


def capsules(**keywords):
    return CountingDLPack(FLOATS, keywords.pop("shape", (4,)), **keywords)


def tables(**keywords):
    return CountingExchange(FLOATS, keywords.pop("shape", (4,)), **keywords)


def unversioned(**keywords):
    return capsules(protocol="legacy", **keywords)


PRODUCERS = [capsules, unversioned, tables]


@pytest.fixture(autouse=True)
def no_collector():
    """What is released at once is released without the collector."""
    gc.disable()
    yield
    gc.enable()


def can_be_made(name, produce):
    """Read-only memory, as that of an unversioned capsule, goes into no unversioned capsule."""
    return produce is not unversioned or "unversioned" not in name


@pytest.mark.parametrize("produce", PRODUCERS)
@pytest.mark.parametrize("name", HOLDERS)
def test_whatever_is_made_from_a_view_holds_the_tensor_alone(name, produce):
    if not can_be_made(name, produce):
        pytest.skip("read-only memory goes into no unversioned capsule")
    producer = produce()
    made = HOLDERS[name](lend.view(producer))
    assert (producer.made, producer.deleted) == (1, 0)
    del made
    assert producer.audit() == []


@pytest.mark.parametrize("produce", PRODUCERS)
@pytest.mark.parametrize("take", [lend.view, lend.buffer])
@pytest.mark.parametrize(
    "facts",
    [
        {"shape": ()},
        {"shape": (4,)},
        {"shape": (2, 2), "strides": None},
        {"shape": (0, 3)},
        {"shape": (0,), "data": 0},
        {"shape": (1,) * 12},
        {"shape": (3,), "strides": (-1,), "byte_offset": 8},
        {"shape": (3, 4), "strides": (0, 1)},
        {"flags": counting.READ_ONLY},
        {"null_deleter": True},
    ],
    ids=str,
)
def test_the_deleter_is_called_once_for_every_layout(produce, take, facts):
    producer = produce(**facts)
    lent = take(producer)
    assert producer.deleted == 0
    del lent
    if facts.get("null_deleter"):
        assert producer.deleted == 0
    else:
        assert (producer.deleted_by_consumer, producer.audit()) == (1, [])


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("take", [lend.view, lend.buffer])
def test_a_bare_capsule_is_taken_and_released_once(take, versioned):
    producer = capsules()
    capsule = producer.capsule(versioned)
    lent = take(capsule)
    assert counting.capsule_name(capsule).startswith("used_dltensor")
    del lent
    assert (producer.deleted_by_consumer, producer.audit()) == (1, [])
    del capsule
    assert producer.audit() == []


@pytest.mark.parametrize("versioned", [True, False])
def test_a_capsule_cannot_be_taken_twice(versioned):
    producer = capsules()
    capsule = producer.capsule(versioned)
    view = lend.view(capsule)
    with pytest.raises(MalformedDescriptor, match="consumed"):
        lend.view(capsule)
    assert view.tolist() == [0.0, 1.0, 2.0, 3.0]
    del view
    assert (producer.deleted, producer.audit()) == (1, [])


def test_a_capsule_taken_by_somebody_else_is_refused():
    producer = capsules()
    capsule = producer.capsule()
    elsewhere = counting.consume(capsule)
    with pytest.raises(MalformedDescriptor, match="consumed"):
        lend.view(capsule)
    elsewhere.delete()
    assert producer.audit() == []


def test_a_producer_that_gives_a_used_capsule_is_refused():
    producer = capsules(keep=True)
    first = lend.view(producer)
    producer.capsule = lambda versioned: producer.capsules[0]
    with pytest.raises(MalformedDescriptor, match="consumed"):
        lend.view(producer)
    del first
    assert producer.audit() == []


@pytest.mark.parametrize("versioned", [True, False])
def test_a_capsule_of_ours_that_nobody_consumes_gives_its_export_back(versioned):
    view = lend.view(bytearray(FLOATS))
    owner = view.owner
    before = sys.getrefcount(owner)
    capsule = view.__dlpack__(max_version=(1, 3) if versioned else None)
    assert owner.exports == 1
    del capsule
    assert (owner.exports, sys.getrefcount(owner)) == (0, before)


@pytest.mark.parametrize("versioned", [True, False])
def test_a_capsule_of_ours_dropped_by_an_exception_lets_it_pass(versioned):
    exporter = CountingBuffer(FLOATS)

    def fail():
        capsule = lend.view(exporter).__dlpack__(max_version=(1, 3) if versioned else None)
        return capsule, {}["absent"]

    with pytest.raises(KeyError):
        fail()
    assert exporter.audit() == []


@pytest.mark.parametrize("versioned", [True, False])
def test_our_deleter_keeps_a_pending_exception_aside(versioned):
    exporter = CountingBuffer(FLOATS, on_release=list)
    taken = counting.consume(lend.view(exporter).__dlpack__(max_version=(1, 3) if versioned else None))
    assert taken.delete_with_error_pending()
    assert exporter.audit() == []


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("part", [lambda view: view, lambda view: view[1:]], ids=["all", "a slice"])
def test_our_deleter_runs_on_a_thread_that_python_has_never_seen(part, versioned):
    released_by = []
    exporter = CountingBuffer(FLOATS, on_release=lambda: released_by.append(threading.get_ident()))
    taken = counting.consume(part(lend.view(exporter)).__dlpack__(max_version=(1, 3) if versioned else None))
    taken.delete_on_foreign_thread()
    assert exporter.audit() == []
    assert released_by != [threading.get_ident()]


def test_our_deleter_calls_the_foreign_one_from_a_foreign_thread():
    producer = capsules()
    counting.exchange_take(lend.view(producer)).delete_on_foreign_thread()
    assert (producer.deleted_by_consumer, producer.audit()) == (1, [])


def test_a_view_may_be_dropped_by_another_python_thread():
    producer = capsules()
    box = [lend.view(producer)]
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()
    assert (producer.deleted, producer.audit()) == (1, [])


@pytest.mark.parametrize("ndim", [1, 2, 8, 9, 64])
@pytest.mark.parametrize("versioned", [True, False])
def test_shape_and_strides_live_as_long_as_the_capsule(ndim, versioned):
    shape = (1,) * (ndim - 1) + (4,)
    exporter = CountingBuffer(FLOATS, format="f", itemsize=4, shape=shape)
    capsule = lend.view(exporter).__dlpack__(max_version=(1, 3) if versioned else None)
    gc.collect()
    scribble = [bytearray(b"\xdd" * size) for size in range(16, 1200, 16)]
    assert counting.capsule_fields(capsule)["shape"] == shape
    assert scribble


def test_a_tensor_outlives_every_python_object_it_came_from():
    exporter = CountingBuffer(FLOATS, format="f", itemsize=4)
    taken = counting.consume(lend.view(exporter)[1:].__dlpack__(max_version=(1, 3)))
    gc.collect()
    assert taken.tobytes() == FLOATS[4:]
    taken.delete()
    assert exporter.audit() == []


REFUSED_AS_ASKED = {
    "dtype": {"dtype": "int64"},
    "ndim": {"ndim": 3},
    "align": {"align": 1 << 40},
    "device": {"device": "cuda:0"},
}


@pytest.mark.parametrize("produce", PRODUCERS)
@pytest.mark.parametrize("keywords", REFUSED_AS_ASKED.values(), ids=REFUSED_AS_ASKED)
def test_a_refused_requirement_releases_what_was_taken(produce, keywords):
    producer = produce()
    with pytest.raises(LendError):
        lend.view(producer, **keywords)
    assert producer.audit() == []


def test_a_refused_write_request_leaves_the_capsule_unconsumed():
    producer = capsules(flags=counting.READ_ONLY, keep=True)
    with pytest.raises(LendError):
        lend.view(producer, writable=True)
    assert set(producer.names) <= set(counting.UNUSED)
    assert producer.deleted_by_consumer == 0


def test_a_refused_write_request_deletes_what_the_exchange_table_gave():
    producer = tables(flags=counting.READ_ONLY)
    with pytest.raises(LendError):
        lend.view(producer, writable=True)
    assert (producer.deleted_by_consumer, producer.audit()) == (producer.made, [])


@pytest.mark.parametrize("produce", PRODUCERS)
def test_no_cycle_through_a_refusal_keeps_the_producer(produce):
    producer = produce(dtype=(99, 32, 1))
    before = sys.getrefcount(producer)
    try:
        lend.view(producer)
    except LendError:
        pass
    assert sys.getrefcount(producer) == before


@pytest.mark.parametrize("produce", PRODUCERS)
def test_the_producer_lives_as_long_as_the_view(produce):
    producer = produce()
    before = sys.getrefcount(producer)
    view = lend.view(producer)
    assert view.owner.producer is producer
    del view
    assert sys.getrefcount(producer) == before


@pytest.mark.parametrize("produce", PRODUCERS)
def test_a_copy_gives_the_tensor_back(produce):
    producer = produce()
    view = lend.view(producer, copy=True)
    assert producer.audit() == []
    assert view.tolist() == [0.0, 1.0, 2.0, 3.0]
