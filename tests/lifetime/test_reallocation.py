"""Producers that move their memory under a loan: what lend notices, and what it says it cannot (LIFE-4, LIFE-5)."""

import ctypes

import pytest

import lend
from lend.errors import LeaseLost, MalformedDescriptor

np = pytest.importorskip("numpy")


def moved(take, dtype="f8"):
    """What `take` makes of an array that was then resized past its exports, to another address."""
    kept = []
    while True:
        array = np.zeros(16, dtype)
        view = take(array)
        kept.append(np.zeros(16, dtype))  # in the way of growing where it lies
        array.resize(1 << 20, refcheck=False)
        if not array.ctypes.data <= view.owner.ptr < array.ctypes.data + 128:
            return view
        kept.append(array)


@pytest.mark.parametrize("dtype", ["u1", "f4", "f8", "c16"])
def test_verify_notices_an_array_that_was_resized_past_its_exports(dtype):
    with pytest.raises(LeaseLost, match="reallocated"):
        moved(lend.view, dtype).verify()


def test_verify_of_a_slice_asks_the_same_producer():
    with pytest.raises(LeaseLost):
        moved(lambda array: lend.view(array)[4:8]).verify()


def test_verify_of_a_buffer_asks_the_same_producer():
    with pytest.raises(LeaseLost):
        moved(lend.buffer).verify()


def test_verify_of_a_view_of_an_array_view_asks_the_array_that_owns_the_memory():
    with pytest.raises(LeaseLost):
        moved(lambda array: lend.view(array[:])).verify()


def test_verify_passes_a_part_of_an_array_that_was_told_by_its_address():
    array = np.arange(16.0)
    part = lend.View.from_pointer(array.ctypes.data + 32, (4,), "float64", owner=array)
    assert part.tolist() == [4.0, 5.0, 6.0, 7.0]


def test_verify_notices_that_an_array_moved_whose_part_was_told_by_its_address():
    with pytest.raises(LeaseLost, match="any more"):
        moved(lambda array: lend.View.from_pointer(array.ctypes.data + 32, (4,), "u1", owner=array)).verify()


APART = {
    "an array": lambda: np.zeros(2),
    "a part of one": lambda: np.zeros(1 << 10)[3:5],
    "an empty one": lambda: np.zeros(0),
}


@pytest.mark.parametrize("make", APART.values(), ids=APART)
def test_an_array_may_own_memory_that_is_not_its_own(make):
    block = (ctypes.c_double * 4)(1, 2, 3, 4)
    keeper = make()
    view = lend.View.from_pointer(ctypes.addressof(block), (4,), "float64", owner=keeper)
    buffer = lend.Buffer.from_pointer(ctypes.addressof(block), 32, owner=keeper)
    view.verify()
    buffer.verify()
    assert (view.owner.apart, buffer.owner.apart) == (True, True)
    assert view.tolist() == view[:].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert lend.to(view, "numpy").sum() == 10.0


def test_memory_beside_that_of_an_array_stays_when_the_array_moves():
    block = (ctypes.c_double * 4)(1, 2, 3, 4)
    keeper = np.zeros(4)
    view = lend.View.from_pointer(ctypes.addressof(block), (4,), "float64", owner=keeper)
    keeper.resize(1 << 20, refcheck=False)
    assert view.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_memory_of_the_array_itself_is_not_apart():
    keeper = np.zeros(4)
    assert not lend.View.from_pointer(keeper.ctypes.data + 8, (2,), "float64", owner=keeper).owner.apart
    assert not lend.view(keeper).owner.apart


def test_verify_notices_an_array_that_shrank():
    array = np.zeros(1 << 20)
    view = lend.view(array)
    array.resize(16, refcheck=False)
    with pytest.raises(LeaseLost):
        view.verify()


@pytest.mark.parametrize(
    "change", [lambda a: None, lambda a: a.fill(3), lambda a: a.sort()], ids=["none", "fill", "sort"]
)
def test_verify_passes_what_stayed_where_it_was(change):
    array = np.arange(16.0)
    view = lend.view(array)
    change(array)
    assert view.verify() is None
    assert view.tolist() == array.tolist()


def test_an_exporter_that_locks_its_memory_passes_verify():
    lender = bytearray(b"12345678")
    view = lend.view(lender)
    with pytest.raises(BufferError):
        lender.extend(bytes(1 << 16))
    assert view.verify() is None
    assert view.tobytes() == b"12345678"


def test_the_exports_do_not_ask_the_producer_again():
    """Asking would cost as much as the export: it is `verify()` and `lend.to` that ask. Recorded, not wished for."""
    view = moved(lend.view)
    assert view.__array_interface__["data"][0] == view.ptr
    view.__dlpack__(max_version=(1, 3))


LEAVING = {"before it": (-8, 16), "after it": (8, 16), "on both sides": (-8, 18), "by one element": (0, 17)}


@pytest.mark.parametrize(("shift", "count"), LEAVING.values(), ids=LEAVING)
@pytest.mark.parametrize("part", [slice(None), slice(3, 5), slice(None, None, -1)], ids=["array", "part", "reversed"])
def test_memory_that_leaves_that_of_its_owner_is_refused(shift, count, part):
    array = np.arange(16.0)
    with pytest.raises(MalformedDescriptor, match=r"^(8|16) of .* outside of the memory of the numpy.nd"):
        lend.View.from_pointer(array.ctypes.data + shift, (count,), "float64", owner=array[part])
    with pytest.raises(MalformedDescriptor, match=r"\(bounds\)"):
        lend.Buffer.from_pointer(array.ctypes.data + shift, count * 8, owner=array[part])


def test_a_part_of_an_array_keeps_all_of_it_alive():
    array = np.arange(16.0)
    view = lend.View.from_pointer(array.ctypes.data, (16,), "float64", owner=array[3:5])
    view.verify()
    assert not view.owner.apart
    assert view.tolist() == array.tolist()


def test_memory_that_numpy_did_not_make_has_bounds_that_numpy_does_not_know():
    block = (ctypes.c_double * 16)(*range(16))
    array = np.frombuffer(block, "f8", count=4)
    view = lend.View.from_pointer(ctypes.addressof(block), (16,), "float64", owner=array)
    view.verify()
    assert view.tolist() == [float(i) for i in range(16)]


READS = {
    "bytes": bytes,
    "tobytes": lambda view: view.tobytes(),
    "tolist": lambda view: view.tolist(),
    "item": lambda view: view.item(3),
    "float": lambda view: float(view[3]),
    "bool": lambda view: bool(view[3]),
    "copy": lambda view: view.copy(),
    "bytes of its buffer": lambda view: bytes(view.buffer),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("dtype", ["f8", "u1", "M8[ns]"])
def test_no_read_of_a_view_shows_memory_that_was_moved(read, dtype):
    if dtype == "M8[ns]" and read is READS["float"]:
        pytest.skip("a datetime is no float")
    with pytest.raises(LeaseLost):
        read(moved(lend.view, dtype))
