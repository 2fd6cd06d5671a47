"""Producers that move their memory under an export, as they ignore their own count of them (LIFE-6).

Nobody can lend such memory safely: lend keeps its lease, goes on showing the address that was lent, and does not ask
the producer again. With producers that it knows it notices (test_reallocation.py); for all others there is `copy=True`.
"""

import pytest

import lend
from lend.errors import LeaseLost
from support import counting
from support.counting import CarelessBuffer

DATA = bytes(range(1, 9))
POISONED = b"\xdd" * 8
TAKES = pytest.mark.parametrize("take", [lend.view, lend.buffer], ids=["view", "buffer"])

EXPORTS = {
    "ptr": lambda lent: lent.ptr,
    "the buffer protocol": lambda lent: counting.getbuffer(lent).buf,
    "an unversioned capsule": lambda lent: counting.capsule_fields(lent.__dlpack__())["data"],
    "a versioned capsule": lambda lent: counting.capsule_fields(lent.__dlpack__(max_version=(1, 0)))["data"],
    "the exchange table": lambda lent: counting.exchange_take(lent).fields["data"],
    "the array interface": lambda lent: lent.__array_interface__["data"][0],
    "lend.view": lambda lent: lend.view(lent).ptr,
    "lend.buffer": lambda lent: lend.buffer(lent).ptr,
    "a slice": lambda lent: lent[:].ptr,
    "lend.to": lambda lent: lend.buffer(lend.to(lent, "memoryview")).ptr,
}


@TAKES
def test_the_lease_is_kept_though_the_producer_does_not_care(take):
    producer = CarelessBuffer(DATA)
    lent = take(producer)
    producer.resize(1 << 16)
    assert (producer.live, producer.gets) == (1, 1)
    lent.release()
    assert producer.live == 0


@TAKES
@pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)
def test_the_exports_show_the_address_that_was_lent_and_ask_nobody(export, take):
    producer = CarelessBuffer(DATA)
    lent = take(producer)
    before = producer.address
    producer.resize(1 << 16)
    assert producer.address != before
    assert export(lent) == before
    assert producer.gets == 1


@TAKES
def test_a_producer_that_lend_does_not_know_passes_verify_whatever_it_did(take):
    """Recorded, not wished for: what an unknown producer does to its memory cannot be told from outside."""
    producer = CarelessBuffer(DATA)
    lent = take(producer)
    producer.resize(1 << 16)
    assert lent.verify() is None
    assert lent.tobytes() == POISONED
    assert producer.gets == 1


@TAKES
def test_a_new_loan_has_the_new_address(take):
    producer = CarelessBuffer(DATA)
    old = take(producer)
    producer.resize(16)
    new = take(producer)
    assert (new.ptr, new.nbytes, new.tobytes()) == (producer.address, 16, DATA + bytes(8))
    assert old.ptr != new.ptr


@TAKES
def test_a_copy_is_not_moved_under_its_holder(take):
    producer = CarelessBuffer(DATA)
    lent = take(producer, copy=True)
    assert producer.live == 0
    producer.resize(1 << 16)
    assert lent.tobytes() == DATA


@TAKES
def test_a_copy_made_on_the_way_is_not_moved_under_its_holder(take):
    producer = CarelessBuffer(DATA)
    lent = take(producer)
    made = lend.to(lent, "memoryview", copy=True)
    capsule = lent.__dlpack__(copy=True)
    producer.resize(1 << 16)
    assert made.tobytes() == DATA
    assert counting.consume(capsule).tobytes() == DATA


@TAKES
def test_a_producer_that_lend_knows_is_noticed_by_verify_and_by_to(take):
    np = pytest.importorskip("numpy")
    producer = np.zeros(1 << 16, "u1")
    lent = take(producer)
    producer.resize(16, refcheck=False)
    with pytest.raises(LeaseLost, match="reallocated"):
        lent.verify()
    with pytest.raises(LeaseLost, match="reallocated"):
        lend.to(lent, "memoryview")
    with pytest.raises(LeaseLost, match="reallocated"):
        lend.to(lent, "memoryview", copy=True)
