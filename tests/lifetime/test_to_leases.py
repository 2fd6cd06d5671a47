"""`lend.to`: the target holds lend's lease, and the lease goes with it (LIFE-2, LIFE-15)."""

import gc
import struct

import pytest

import lend
from lend.errors import CopyRequired
from support.counting import CountingBuffer, CountingDLPack

np = pytest.importorskip("numpy")

FLOATS = struct.pack("4f", 0.0, 1.0, 2.0, 3.0)


@pytest.mark.parametrize("copy", [None, False])
def test_an_array_holds_the_lease_alone(copy):
    exporter = CountingBuffer(FLOATS, format="f", itemsize=4)
    array = lend.to(exporter, "numpy", copy=copy)
    assert (exporter.live, array.tolist()) == (1, [0.0, 1.0, 2.0, 3.0])
    part = array[1:]
    del array
    assert exporter.live == 1
    del part
    gc.collect()
    assert exporter.audit() == []


def test_a_copied_array_holds_nothing():
    exporter = CountingBuffer(FLOATS, format="f", itemsize=4)
    array = lend.to(exporter, "numpy", copy=True)
    assert exporter.audit() == []
    assert array.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_tensor_of_somebody_else_is_deleted_with_the_array():
    producer = CountingDLPack(FLOATS, (4,))
    array = lend.to(producer, "numpy")
    assert producer.deleted == 0
    del array
    gc.collect()
    assert (producer.deleted, producer.audit()) == (1, [])


def test_a_refused_target_gives_the_lease_back():
    exporter = CountingBuffer(FLOATS, format="f", itemsize=4)
    with pytest.raises(ValueError, match="nummpy"):
        lend.to(exporter, "nummpy")
    assert exporter.audit() == []


@pytest.mark.parametrize("target", ["numpy", np, np.ndarray, np.asarray])
def test_a_bytearray_grows_again_when_the_target_is_gone(target):
    lender = bytearray(16)
    array = lend.to(lender, target)
    with pytest.raises(BufferError):
        lender.append(1)
    del array
    gc.collect()
    lender.append(1)


def test_to_notices_an_array_that_shrank_under_its_exports():
    array = np.zeros(1 << 20)
    view = lend.view(array)
    array.resize(16, refcheck=False)
    with pytest.raises(lend.errors.LeaseLost):
        lend.to(view, "numpy")


def test_a_copy_is_required_by_suboffsets():
    import _testbuffer

    lender = _testbuffer.ndarray(list(range(12)), shape=[3, 4], format="i", flags=_testbuffer.ND_PIL)
    assert lend.to(lender, "numpy").tolist() == lender.tolist()
    with pytest.raises(CopyRequired, match="suboffsets"):
        lend.to(lender, "numpy", copy=False)
