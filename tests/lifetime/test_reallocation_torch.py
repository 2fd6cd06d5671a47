"""torch moves a tensor's memory under a loan: `verify()` and `lend.to` notice, the exports do not ask (LIFE-4)."""

import ctypes

import pytest

import lend
from lend.errors import LeaseLost, MalformedDescriptor
from support import counting

torch = pytest.importorskip("torch")


MOVES = {
    "resize_": lambda tensor: tensor.resize_(1 << 20),
    "storage resize_": lambda tensor: tensor.untyped_storage().resize_(0),
    "set_": lambda tensor: tensor.set_(torch.zeros(1 << 10, dtype=tensor.dtype)),
}
MOVED = pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)


@MOVED
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool], ids=str)
def test_verify_notices_a_tensor_that_moved(move, dtype):
    tensor = torch.zeros(8, dtype=dtype)
    view = lend.view(tensor)
    move(tensor)
    with pytest.raises(LeaseLost):
        view.verify()


def test_a_tensor_may_own_memory_that_is_not_its_own():
    block = (ctypes.c_float * 4)(1, 2, 3, 4)
    view = lend.View.from_pointer(ctypes.addressof(block), (4,), "float32", owner=torch.zeros(2))
    view.verify()
    assert view.tolist() == [1.0, 2.0, 3.0, 4.0]


@MOVED
def test_verify_notices_that_a_tensor_moved_whose_part_was_told_by_its_address(move):
    tensor = torch.zeros(8, dtype=torch.float32)
    view = lend.View.from_pointer(tensor.data_ptr() + 8, (2,), "float32", owner=tensor)
    view.verify()
    move(tensor)
    with pytest.raises(LeaseLost):
        view.verify()


def test_memory_that_leaves_the_storage_of_its_tensor_is_refused():
    tensor = torch.zeros(8, dtype=torch.float32)
    with pytest.raises(MalformedDescriptor, match=r"4 of the 32 bytes .* outside of the memory of the torch.Tensor"):
        lend.View.from_pointer(tensor.data_ptr() + 4, (8,), "float32", owner=tensor)


def test_a_part_of_a_tensor_keeps_all_of_its_storage_alive():
    tensor = torch.arange(8, dtype=torch.float32)
    view = lend.View.from_pointer(tensor.data_ptr(), (8,), "float32", owner=tensor[2:4])
    view.verify()
    assert view.tolist() == tensor.tolist()


def test_verify_notices_a_storage_that_is_smaller_than_its_tensor():
    """torch 2.13 goes on showing a tensor whose storage was cut, and so does the exchange table: no guard is cheap."""
    tensor = torch.zeros(1 << 16)
    tensor.untyped_storage().resize_(64)
    view = lend.view(tensor)
    with pytest.raises(LeaseLost, match=r"now : 64 bytes"):
        view.verify()


def test_verify_passes_a_tensor_that_stayed():
    tensor = torch.arange(4)
    view = lend.view(tensor)
    tensor += 1
    view.verify()
    assert view.tolist() == [1, 2, 3, 4]


# An address that was lent is only looked at here, never read: what lay there is freed.
EXPORTS = {
    "ptr": lambda lent: lent.ptr,
    "the buffer protocol": lambda lent: counting.getbuffer(lent).buf,
    "an unversioned capsule": lambda lent: counting.capsule_fields(lent.__dlpack__())["data"],
    "a versioned capsule": lambda lent: counting.capsule_fields(lent.__dlpack__(max_version=(1, 3)))["data"],
    "the exchange table": lambda lent: counting.exchange_take(lent).fields["data"],
    "the array interface": lambda lent: lent.__array_interface__["data"][0],
    "a view of it": lambda lent: lend.view(lent).ptr,
    "a buffer of it": lambda lent: lend.buffer(lent).ptr,
}


@MOVED
@pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)
@pytest.mark.parametrize("take", [lend.view, lend.buffer], ids=["view", "buffer"])
def test_the_exports_do_not_ask_the_tensor_again(take, export, move):
    """Asking would cost as much as the export: it is `verify()` and `lend.to` that ask. Recorded, not wished for."""
    tensor = torch.zeros(8)
    before = tensor.data_ptr()
    lent = take(tensor)
    move(tensor)
    assert tensor.data_ptr() != before
    assert export(lent) == before
    with pytest.raises(LeaseLost):
        lent.verify()


@MOVED
@pytest.mark.parametrize("target", ["memoryview", "torch"])
@pytest.mark.parametrize("copy", [None, True, False])
def test_to_notices_a_tensor_that_moved_before_a_byte_is_read(copy, target, move):
    tensor = torch.zeros(8)
    view = lend.view(tensor)
    move(tensor)
    with pytest.raises(LeaseLost, match="reallocated"):
        lend.to(view, target, copy=copy)


@MOVED
def test_what_was_copied_before_is_not_moved(move):
    tensor = torch.arange(8.0)
    copied = lend.view(tensor, copy=True)
    move(tensor)
    assert copied.verify() is None
    assert copied.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]


def test_a_plan_says_that_the_tensor_may_move():
    (note,) = [note for note in lend.explain(torch.zeros(8)).notes if "reallocate" in note]
    assert "exports do not" in note


@pytest.mark.parametrize("target", ["numpy", "memoryview"])
def test_what_was_handed_over_before_keeps_the_address(target):
    """Nobody can take an array back: the reason why `explain` names such a producer. Recorded, not wished for."""
    tensor = torch.zeros(8)
    before = tensor.data_ptr()
    made = lend.to(tensor, target)
    tensor.resize_(1 << 20)
    assert tensor.data_ptr() != before
    assert lend.buffer(made).ptr == before


@pytest.mark.parametrize("left", [0, 4, 2000])
def test_memory_that_was_cut_of_a_storage_goes_to_no_target(left):
    for size in (64, 1000, 5000, 1 << 14):
        tensor = torch.zeros(size)
        view = lend.view(tensor)
        storage = tensor.untyped_storage()
        storage.resize_(0)
        storage.resize_(min(left, tensor.nbytes - 4))  # often where it was
        for _ in range(2):  # the second way is the quick one
            with pytest.raises((LeaseLost, MalformedDescriptor)):
                lend.to(view, "memoryview")


def test_a_view_of_a_whole_tensor_goes_the_quick_way_still():
    tensor = torch.arange(4)
    view = lend.view(tensor)
    for _ in range(3):
        assert lend.to(view, "memoryview").tolist() == [0, 1, 2, 3]
