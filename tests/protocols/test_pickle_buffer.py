"""`pickle.PickleBuffer` over a View or Buffer: the same memory out of band, read-only if it was (RO-7)."""

import pickle

import pytest

import lend
from lend.errors import LeaseLost, LendError
from support.counting import CountingBuffer

DATA = bytes(range(1, 25))
WRITABLE = pytest.mark.parametrize("readonly", [False, True], ids=["writable", "read-only"])

LENT = {
    "a view": lend.view,
    "a buffer": lend.buffer,
    "a slice": lambda lender: lend.view(lender)[4:12],
    "a slice of a buffer": lambda lender: lend.buffer(lender)[4:12],
    "two dimensions": lambda lender: lend.view(lender).reshape(4, 6),
    "column-major": lambda lender: lend.view(lender).reshape(4, 6).T,
    "wider elements": lambda lender: lend.view(lender).reinterpret("float32"),
    "one element": lambda lender: lend.view(lender)[3],
    "complex elements": lambda lender: lend.view(lender).reinterpret("complex64"),
}
EACH = pytest.mark.parametrize("take", LENT.values(), ids=LENT)


def out_of_band(lent):
    """The pickle of a PickleBuffer of it, and what went beside it."""
    beside = []
    return pickle.dumps(pickle.PickleBuffer(lent), protocol=5, buffer_callback=beside.append), beside


@WRITABLE
@EACH
def test_its_raw_bytes_are_the_memory_and_as_read_only(take, readonly):
    lent = take(CountingBuffer(DATA, readonly=readonly))
    raw = pickle.PickleBuffer(lent).raw()
    assert (lend.buffer(raw).ptr, raw.nbytes, raw.readonly) == (lent.ptr, lent.nbytes, readonly)
    assert (raw.format, raw.ndim) == ("B", 1)


@WRITABLE
@EACH
def test_what_comes_back_out_of_band_is_the_memory_and_as_read_only(take, readonly):
    lent = take(CountingBuffer(DATA, readonly=readonly))
    pickled, beside = out_of_band(lent)
    assert len(pickled) < 20  # no byte of the memory is in it
    again = lend.view(pickle.loads(pickled, buffers=beside))
    assert (again.ptr, again.nbytes, again.readonly) == (lent.ptr, lent.nbytes, readonly)


def test_a_write_through_what_came_back_is_seen_by_the_producer():
    lender = bytearray(DATA)
    pickled, beside = out_of_band(lend.view(lender))
    memoryview(pickle.loads(pickled, buffers=beside))[0] = 99
    assert lender[0] == 99


@WRITABLE
def test_a_view_that_was_lent_for_reading_is_read_only_whatever_its_producer_is(readonly):
    pickled, beside = out_of_band(lend.view(bytearray(DATA), writable=not readonly))
    assert lend.view(pickle.loads(pickled, buffers=beside)).readonly is readonly


@pytest.mark.parametrize("carrier", [bytes, bytearray, lambda raw: memoryview(bytearray(raw))])
def test_read_only_memory_stays_read_only_whatever_type_carries_it(carrier):
    pickled, beside = out_of_band(lend.view(DATA))
    again = lend.view(pickle.loads(pickled, buffers=[carrier(beside[0].raw())]))
    assert (again.readonly, again.tobytes()) == (True, DATA)


@pytest.mark.parametrize(("carrier", "readonly"), [(bytes, True), (bytearray, False)])
def test_writable_memory_is_as_writable_as_what_carries_it(carrier, readonly):
    pickled, beside = out_of_band(lend.view(bytearray(DATA)))
    again = lend.view(pickle.loads(pickled, buffers=[carrier(beside[0].raw())]))
    assert (again.readonly, again.tobytes()) == (readonly, DATA)


@WRITABLE
@pytest.mark.parametrize("take", [lend.view, lend.buffer])
def test_in_band_it_is_a_copy(take, readonly):
    lender = bytearray(DATA)
    again = pickle.loads(pickle.dumps(pickle.PickleBuffer(take(lender, writable=not readonly)), protocol=5))
    lender[0] = 99
    assert (type(again), bytes(again)) == (bytes if readonly else bytearray, DATA)


def test_memory_with_gaps_has_no_raw_bytes():
    with pytest.raises(BufferError, match="non-contiguous"):
        pickle.PickleBuffer(lend.view(DATA)[::2]).raw()
    with pytest.raises(pickle.PicklingError, match="contiguous"):
        out_of_band(lend.view(DATA)[::2])


def test_a_dtype_that_the_buffer_protocol_cannot_say_goes_as_a_buffer():
    view = lend.view(DATA).reinterpret("bfloat16")
    with pytest.raises(LendError, match="bfloat16"):
        pickle.PickleBuffer(view)
    assert pickle.PickleBuffer(view.buffer).raw() == DATA


@pytest.mark.parametrize("take", [lend.view, lend.buffer])
def test_a_released_object_is_wrapped_no_more(take):
    lent = take(DATA)
    lent.release()
    with pytest.raises(LeaseLost):
        pickle.PickleBuffer(lent)


@pytest.mark.parametrize("take", [lend.view, lend.buffer])
def test_what_went_beside_the_pickle_holds_the_lease_alone(take):
    exporter = CountingBuffer(DATA)
    pickled, beside = out_of_band(take(exporter))
    assert exporter.live == 1
    again = pickle.loads(pickled, buffers=beside)
    beside.clear()
    assert (exporter.live, bytes(again)) == (1, DATA)
    del again
    assert exporter.audit() == []
