"""`release()`, `with`, `owner.exports` and `loans()`: giving up a hold by name, and seeing who still has one."""

import struct

import pytest

import lend
from lend.errors import LeaseLost, LendError
from support import counting
from support.counting import CountingBuffer, CountingDLPack

FLOATS = struct.pack("4f", 0.0, 1.0, 2.0, 3.0)


@pytest.fixture
def exporter():
    return CountingBuffer(FLOATS, format="f", itemsize=4)


TAKES = pytest.mark.parametrize("take", [lend.view, lend.buffer], ids=["view", "buffer"])


@TAKES
def test_release_gives_the_lease_back(exporter, take):
    lent = take(exporter)
    lent.release()
    assert exporter.audit() == []


@TAKES
def test_the_end_of_a_with_block_gives_the_lease_back(exporter, take):
    with take(exporter) as lent:
        assert exporter.live == 1
    assert exporter.audit() == []
    with pytest.raises(LeaseLost):
        memoryview(lent)


@TAKES
def test_a_with_block_lets_an_exception_pass(exporter, take):
    with pytest.raises(KeyError), take(exporter):
        {}["absent"]
    assert exporter.audit() == []


@TAKES
def test_a_second_release_is_harmless(exporter, take):
    lent = take(exporter)
    lent.release()
    lent.release()
    assert exporter.audit() == []


@TAKES
def test_release_deletes_a_tensor_once(take):
    producer = CountingDLPack(FLOATS, (4,))
    lent = take(producer)
    lent.release()
    assert (producer.deleted, producer.audit()) == (1, [])
    del lent
    assert (producer.deleted, producer.audit()) == (1, [])


USES = {
    "tolist": lambda view: view.tolist(),
    "tobytes": lambda view: view.tobytes(),
    "an index": lambda view: view[0],
    "a slice": lambda view: view[1:],
    "iteration": list,
    "copy": lambda view: view.copy(),
    "its buffer": lambda view: view.buffer,
    "a reshape": lambda view: view.reshape((2, 2)),
    "a reinterpretation": lambda view: view.reinterpret("uint8"),
    "its transpose": lambda view: view.T,
    "a memoryview": memoryview,
    "a capsule": lambda view: view.__dlpack__(),
    "a versioned capsule": lambda view: view.__dlpack__(max_version=(1, 3)),
    "the exchange API": counting.exchange_take,
    "lend.view": lend.view,
    "lend.buffer": lend.buffer,
    "with": lambda view: view.__enter__(),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_released_view_refuses_to_be_used(exporter, use):
    view = lend.view(exporter)
    view.release()
    with pytest.raises(LeaseLost, match="released"):
        use(view)


@pytest.mark.parametrize("use", [memoryview, lambda b: b[1:], lambda b: b.view("uint8"), lend.view, lend.buffer])
def test_a_released_buffer_refuses_to_be_used(exporter, use):
    buffer = lend.buffer(exporter)
    buffer.release()
    with pytest.raises(LeaseLost, match="released"):
        use(buffer)


@TAKES
def test_a_released_object_still_has_a_repr_that_says_so(exporter, take):
    lent = take(exporter)
    lent.release()
    assert "released" in repr(lent)


MADE = {
    "a slice": (lambda view: view[1:], lambda made: made.tobytes(), FLOATS[4:]),
    "an element": (lambda view: view[1], lambda made: made.tobytes(), FLOATS[4:8]),
    "its transpose": (lambda view: view.T, lambda made: made.tobytes(), FLOATS),
    "a reinterpretation": (lambda view: view.reinterpret("uint8"), bytes, FLOATS),
    "its buffer": (lambda view: view.buffer, bytes, FLOATS),
    "a memoryview of a slice": (lambda view: memoryview(view[1:]), bytes, FLOATS[4:]),
    "a tensor": (lambda view: counting.consume(view.__dlpack__()), lambda made: made.tobytes(), FLOATS),
    "an exchanged tensor": (counting.exchange_take, lambda made: made.tobytes(), FLOATS),
    "a view of it": (lend.view, lambda made: made.tobytes(), FLOATS),
}


@pytest.mark.parametrize("name", MADE)
def test_what_was_made_before_the_release_stays_valid(exporter, name):
    make, read, right = MADE[name]
    view = lend.view(exporter)
    made = make(view)
    view.release()
    assert exporter.live == 1
    assert read(made) == right
    del made
    assert exporter.audit() == []


@TAKES
def test_release_is_refused_while_a_py_buffer_of_this_very_object_is_open(exporter, take):
    lent = take(exporter)
    held = counting.hold(lent)
    with pytest.raises(BufferError):
        lent.release()
    assert held.tobytes() == FLOATS
    held.release()
    lent.release()
    assert exporter.audit() == []


def test_a_refused_release_changes_nothing(exporter):
    view = lend.view(exporter)
    held = memoryview(view)
    with pytest.raises(BufferError):
        view.release()
    assert view.tolist() == held.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_refused_release_says_how_many_exports_are_open(exporter):
    view = lend.view(exporter)
    held = [memoryview(view), memoryview(view)]
    with pytest.raises(LendError, match="2"):
        view.release()
    assert held


def test_a_with_block_whose_view_is_still_exported_says_so(exporter):
    with pytest.raises(BufferError), lend.view(exporter) as view:
        held = memoryview(view)
    held.release()
    view.release()
    assert exporter.audit() == []


COUNTED = {
    "a memoryview": memoryview,
    "a Py_buffer": counting.hold,
    "a Py_buffer of a slice": lambda view: counting.hold(view[1:]),
    "a Py_buffer of its buffer": lambda view: counting.hold(view.buffer),
    "an unversioned capsule": lambda view: view.__dlpack__(),
    "a versioned capsule": lambda view: view.__dlpack__(max_version=(1, 3)),
    "a taken tensor": lambda view: counting.consume(view.__dlpack__(max_version=(1, 3))),
    "an exchanged tensor": counting.exchange_take,
}


@pytest.mark.parametrize("make", COUNTED.values(), ids=COUNTED)
def test_an_open_export_is_counted_by_the_owner(exporter, make):
    view = lend.view(exporter)
    assert view.owner.exports == 0
    made = make(view)
    assert view.owner.exports == 1
    del made
    assert view.owner.exports == 0


@pytest.mark.parametrize("make", COUNTED.values(), ids=COUNTED)
def test_an_export_opened_before_the_owner_was_asked_for_is_counted(exporter, make):
    view = lend.view(exporter)
    made = make(view)
    assert view.owner.exports == 1
    del made
    assert view.owner.exports == 0


def test_exports_add_up_over_all_that_share_the_owner(exporter):
    view = lend.view(exporter)
    made = [make(view) for make in COUNTED.values()]
    assert view.owner.exports == len(COUNTED)
    made.clear()
    assert view.owner.exports == 0


def test_a_refused_export_is_not_counted(exporter):
    view = lend.view(exporter, writable=False)
    with pytest.raises(BufferError):
        counting.hold(view, counting.FULL)
    with pytest.raises(BufferError):
        view.__dlpack__()
    with pytest.raises(BufferError):
        view.__dlpack__(max_version=(1, 3), dl_device=(2, 0))
    assert view.owner.exports == 0


@pytest.mark.parametrize(
    "share", [lambda v: v[1:], lambda v: v.T, lambda v: v.buffer, lambda v: v.reinterpret("int32"), lend.view]
)
def test_all_that_share_a_lease_have_the_same_owner(exporter, share):
    view = lend.view(exporter)
    assert share(view).owner is view.owner


def test_the_owner_names_the_lease(exporter):
    owner = lend.view(exporter).owner
    assert owner.producer is exporter
    assert owner.nbytes == 16
    assert owner.producer_type == "support.counting.CountingBuffer"
    assert (owner.kind, lend.view(CountingDLPack(FLOATS, (4,))).owner.kind) == ("buffer", "dlpack")


def test_the_owner_of_a_bare_capsule_has_no_producer():
    owner = lend.view(CountingDLPack(FLOATS, (4,)).capsule()).owner
    assert owner.producer is None


@TAKES
def test_loans_shows_a_lease_while_it_lives(exporter, take):
    def ours():
        return [loan for loan in lend.loans() if loan.producer is exporter]

    assert ours() == []
    lent = take(exporter)
    assert [loan.nbytes for loan in ours()] == [16]
    del lent
    assert ours() == []


def test_loans_shows_one_lease_for_all_that_share_it(exporter):
    view = lend.view(exporter)
    made = [view[1:], view.T, view.buffer, memoryview(view)]
    assert len([loan for loan in lend.loans() if loan.producer is exporter]) == 1
    assert made


def test_loans_holds_nothing_alive(exporter):
    view = lend.view(exporter)
    seen = lend.loans()
    del view
    assert exporter.audit() == []
    assert seen
