"""`lend.to(..., "torch")`: the tensor holds lend's lease, which torch.frombuffer does not (LIFE-2)."""

import gc
import mmap
import struct

import pytest

import lend
from lend.errors import CopyRequired, LeaseLost
from support.counting import CountingBuffer

torch = pytest.importorskip("torch")

FLOATS = struct.pack("4f", 0.0, 1.0, 2.0, 3.0)


def test_a_tensor_holds_the_lease_and_so_do_its_views():
    exporter = CountingBuffer(FLOATS, format="f", itemsize=4)
    tensor = lend.to(exporter, "torch")
    part = tensor[1:].view(-1)
    del tensor
    gc.collect()
    assert (exporter.live, part.tolist()) == (1, [1.0, 2.0, 3.0])
    del part
    gc.collect()
    assert exporter.audit() == []


def test_a_bytearray_grows_again_when_the_tensor_is_gone():
    lender = bytearray(16)
    tensor = lend.to(lender, "torch")
    with pytest.raises(BufferError):
        lender.extend(b"x")
    del tensor
    gc.collect()
    lender.extend(b"x")


def test_a_map_closes_again_when_the_tensor_is_gone():
    lender = mmap.mmap(-1, mmap.PAGESIZE)
    tensor = lend.to(lender, "torch")
    with pytest.raises(BufferError):
        lender.close()
    del tensor
    gc.collect()
    lender.close()


def test_read_only_memory_is_copied_unless_signed_for():
    exporter = CountingBuffer(FLOATS, format="f", itemsize=4, readonly=True)
    tensor = lend.to(exporter, "torch")
    assert exporter.live == 0
    with pytest.raises(CopyRequired, match="read-only"):
        lend.to(CountingBuffer(FLOATS, readonly=True), "torch", copy=False)
    assert tensor.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_signed_read_only_memory_is_shared():
    exporter = CountingBuffer(FLOATS, format="f", itemsize=4, readonly=True)
    tensor = lend.to(exporter, "torch", alias_readonly=True)
    assert (exporter.live, tensor.data_ptr()) == (1, exporter.address)


def test_to_notices_a_tensor_that_moved():
    tensor = torch.zeros(8)
    view = lend.view(tensor)
    tensor.resize_(1 << 20)
    with pytest.raises(LeaseLost):
        lend.to(view, "numpy")
