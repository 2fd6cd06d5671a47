"""The lease on a buffer exporter: opened once, held while anything made from it lives, given back at once."""

import array
import gc
import io
import mmap
import struct
import sys
from multiprocessing import shared_memory

import pytest

import lend
from lend.errors import LendError
from support.counting import CountingBuffer
from support.derived import HOLDERS

FLOATS = struct.pack("4f", 0.0, 1.0, 2.0, 3.0)


def floats(**keywords):
    return CountingBuffer(FLOATS, **{"format": "f", "itemsize": 4, **keywords})


@pytest.fixture(autouse=True)
def no_collector():
    """What is released at once is released without the collector."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("make", HOLDERS.values(), ids=HOLDERS)
def test_whatever_is_made_from_a_view_holds_the_lease_alone(make):
    exporter = floats()
    made = make(lend.view(exporter))
    assert exporter.live == 1
    del made
    assert exporter.audit() == []


@pytest.mark.parametrize("make", HOLDERS.values(), ids=HOLDERS)
def test_whatever_is_made_from_a_view_may_be_dropped_first(make):
    exporter = floats()
    view = lend.view(exporter)
    del_me = make(view)
    del del_me
    assert exporter.live == 1
    assert view.tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "make",
    [
        lend.view,
        memoryview,
        lambda buffer: buffer[4:8],
        lambda buffer: buffer.view("float32"),
        lambda buffer: buffer.owner,
    ],
    ids=["a view", "a memoryview", "a slice", "a typed view", "its owner"],
)
def test_whatever_is_made_from_a_buffer_holds_the_lease_alone(make):
    exporter = floats()
    made = make(lend.buffer(exporter))
    assert exporter.live == 1
    del made
    assert exporter.audit() == []


@pytest.mark.parametrize("take", [lend.view, lend.buffer], ids=["view", "buffer"])
@pytest.mark.parametrize(
    "layout",
    [
        {},
        {"shape": (2, 2)},
        {"shape": ()},
        {"shape": (2, 0)},
        {"shape": (1,) * 9 + (4,)},
        {"shape": (2,), "strides": (8,)},
        {"shape": (4,), "strides": (-4,), "offset": 12},
        {"readonly": True},
        {"format": "B", "itemsize": 1, "fill_info": True},
        {"format": None, "itemsize": 1},
    ],
    ids=str,
)
def test_the_lease_ends_with_its_last_holder_for_every_layout(take, layout):
    exporter = floats(**layout)
    lent = take(exporter)
    assert exporter.live == 1
    del lent
    assert exporter.audit() == []


def test_many_derived_objects_share_one_lease():
    exporter = floats()
    view = lend.view(exporter)
    made = [make(view) for make in HOLDERS.values()]
    assert exporter.live == 1
    del view
    while made:
        assert exporter.live == 1
        made.pop()
    assert exporter.audit() == []


def test_the_exporter_is_asked_once_however_often_its_memory_is_read():
    exporter = floats()
    view = lend.view(exporter)
    for _ in range(3):
        view.tolist(), view.tobytes(), view[1].item(), repr(view), view.buffer, view.owner, view.shape, bytes(view)
    assert exporter.asked == exporter.asked[:1]


def test_the_exporter_is_never_asked_for_less_than_its_shape_strides_and_format():
    exporter = floats()
    lend.view(exporter), lend.buffer(exporter)
    assert all(flags & 0x1C == 0x1C for flags in exporter.asked)


def test_a_read_after_the_view_moved_its_lease_sees_the_same_values():
    exporter = floats(fill_info=False)
    view = lend.view(exporter)
    owner, part = view.owner, view[1:]
    assert (view.tolist(), part.tolist(), owner.nbytes) == ([0.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0], 16)


def test_a_copy_holds_no_lease():
    exporter = floats()
    view = lend.view(exporter, copy=True)
    assert exporter.audit() == []
    assert view.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_the_copy_method_holds_no_lease():
    exporter = floats()
    copied = lend.view(exporter).copy()
    assert exporter.audit() == []
    assert copied.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_each_taking_is_a_lease_of_its_own():
    exporter = floats()
    first, second = lend.view(exporter), lend.view(exporter)
    assert exporter.live == 2
    del first
    assert exporter.live == 1
    assert second.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_view_of_a_view_takes_no_second_lease():
    exporter = floats()
    again = lend.view(lend.view(exporter))
    assert (exporter.gets, exporter.live) == (1, 1)
    assert again.tolist() == [0.0, 1.0, 2.0, 3.0]


REFUSED = {
    "another dtype": {"dtype": "int64"},
    "another number of dimensions": {"ndim": 3},
    "an alignment no allocator gives": {"align": 1 << 40},
    "another device": {"device": "cuda:0"},
}


@pytest.mark.parametrize("keywords", REFUSED.values(), ids=REFUSED)
def test_a_refused_requirement_gives_the_lease_back(keywords):
    exporter = floats()
    with pytest.raises(LendError):
        lend.view(exporter, **keywords)
    assert exporter.audit() == []


@pytest.mark.parametrize("take", [lend.view, lend.buffer], ids=["view", "buffer"])
def test_a_refused_write_request_gives_the_lease_back(take):
    exporter = floats(readonly=True)
    with pytest.raises(LendError):
        take(exporter, writable=True)
    assert exporter.audit() == []


def test_a_refused_order_gives_the_lease_back():
    exporter = floats(shape=(2, 2))
    with pytest.raises(LendError):
        lend.view(exporter, order="F")
    assert exporter.audit() == []


@pytest.mark.parametrize("keywords", [{"writable": True}, {"dtype": "int64"}, {"ndim": 3}], ids=str)
def test_no_cycle_through_a_refusal_keeps_the_producer(keywords):
    exporter = floats(readonly=True)
    before = sys.getrefcount(exporter)
    try:
        lend.view(exporter, **keywords)
    except LendError:
        pass
    assert sys.getrefcount(exporter) == before


@pytest.mark.parametrize("take", [lend.view, lend.buffer], ids=["view", "buffer"])
def test_taking_and_dropping_leaves_the_reference_count_of_the_producer(take):
    exporter = floats()
    before = sys.getrefcount(exporter)
    for _ in range(3):
        take(exporter)
    assert sys.getrefcount(exporter) == before


def test_a_release_callback_that_raises_is_reported_and_does_no_harm(monkeypatch):
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: reported.append(args.exc_type))
    exporter = floats(on_release=lambda: 1 / 0)
    lend.view(exporter)
    assert reported == [ZeroDivisionError]
    assert exporter.audit() == []


def test_the_exception_on_its_way_survives_the_end_of_the_lease():
    exporter = floats(on_release=list)

    def fail():
        view = lend.view(exporter)
        return view.shape, {}["absent"]

    with pytest.raises(KeyError):
        fail()
    assert exporter.audit() == []


@pytest.mark.parametrize("make", HOLDERS.values(), ids=HOLDERS)
def test_a_bytearray_grows_again_when_the_last_holder_is_gone(make):
    lender = bytearray(8)
    made = make(lend.view(lender))
    with pytest.raises(BufferError):
        lender.append(1)
    del made
    lender.append(1)
    assert len(lender) == 9


@pytest.mark.parametrize("make", HOLDERS.values(), ids=HOLDERS)
def test_a_map_closes_only_when_the_last_holder_is_gone(make):
    lender = mmap.mmap(-1, mmap.PAGESIZE)
    made = make(lend.view(lender))
    with pytest.raises(BufferError):
        lender.close()
    del made
    lender.close()


@pytest.mark.skipif(not hasattr(mmap.mmap, "resize"), reason="this platform has no mremap")
def test_a_map_cannot_be_resized_under_a_view():
    lender = mmap.mmap(-1, mmap.PAGESIZE)
    view = lend.view(lender)
    with pytest.raises((BufferError, SystemError)):
        lender.resize(2 * mmap.PAGESIZE)
    del view
    lender.close()


def test_shared_memory_closes_only_when_the_view_is_gone():
    lender = shared_memory.SharedMemory(create=True, size=64)
    try:
        view = lend.view(lender.buf)
        with pytest.raises(BufferError):
            lender.close()
        del view
        lender.close()
    finally:
        lender.unlink()


def test_an_array_cannot_grow_under_a_view():
    lender = array.array("d", [1.0, 2.0])
    view = lend.view(lender)
    with pytest.raises(BufferError):
        lender.append(3.0)
    assert view.tolist() == [1.0, 2.0]
    del view
    lender.append(3.0)


def test_bytesio_cannot_be_resized_under_a_view():
    lender = io.BytesIO(b"1234")
    view = lend.view(lender.getbuffer())
    with pytest.raises(BufferError):
        lender.truncate(1)
    del view
    lender.truncate(1)


def test_a_memoryview_may_be_released_while_its_memory_is_lent():
    """lend holds a memoryview of its own beside it, as memoryview(m) does: CPython 3.11 to 3.13 crash when the
    collector clears a memoryview that has an export open."""
    owner = bytearray(b"1234")
    lender = memoryview(owner)
    view = lend.view(lender)
    lender.release()
    assert view.tobytes() == b"1234"
    with pytest.raises(BufferError):
        owner.append(0)
    del view
    owner.append(0)


def test_a_memoryview_that_is_dropped_leaves_its_memory_to_the_view():
    view = lend.view(memoryview(bytearray(b"1234"))[1:])
    assert view.tobytes() == b"234"


@pytest.mark.parametrize("end", ["an index", "an attribute"])
@pytest.mark.parametrize("take", [
    lambda x: lend.buffer(memoryview(x)), lambda x: lend.view(memoryview(x)).owner,
    lambda x: lend.Buffer.from_pointer(64, 4, owner=memoryview(x)),
    lambda x: lend.View.from_pointer(64, (4,), "uint8", owner=memoryview(x)),
], ids=["a memoryview's bytes", "an owner", "a pointer to bytes", "a pointer"])  # fmt: skip
def test_a_lease_that_ends_with_an_error_is_given_back_without_it(take, end):
    exporter = CountingBuffer(b"abcd")
    with pytest.raises((TypeError, IndexError, AttributeError)):
        take(exporter)["no"] if end == "an index" else take(exporter).no_such
    gc.collect()
    assert exporter.audit() == []
