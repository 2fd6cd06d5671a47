"""Objects with a pointer and a size: the Buffer of dataframe-api#39, right ones and wrong ones (ASK-14)."""

import gc
import weakref

import pytest

import lend
from lend.errors import LendError
from support.producers import AnswersEverything, Span

DATA = bytes(range(24))


@pytest.mark.parametrize("size", ["size", "bufsize", "nbytes"])
def test_a_pointer_and_a_size_are_lent_as_they_lie(size):
    span = Span(DATA, size=size)
    buffer = lend.buffer(span)
    assert (buffer.ptr, buffer.nbytes, bytes(buffer)) == (span.memory.address, 24, DATA)
    assert buffer.readonly
    assert buffer.owner.producer is span


def test_the_object_lives_as_long_as_what_was_made_from_it():
    span = Span(DATA)
    gone = weakref.ref(span)
    held = memoryview(lend.buffer(span)[4:8])
    del span
    gc.collect()
    assert gone() is not None
    assert held.tolist() == [4, 5, 6, 7]
    del held
    assert gone() is None


def test_no_bytes_need_no_pointer():
    empty = Span(DATA)
    empty.ptr = empty.size = 0
    assert bytes(lend.buffer(empty)) == b""


WRONG = {
    "pointer 0": ({"ptr": 0}, "ptr"),
    "a negative pointer": ({"ptr": -8}, "ptr"),
    "a pointer past all": ({"ptr": 2**64}, "ptr"),
    "a pointer that is a string": ({"ptr": "0"}, "ptr"),
    "a pointer that is a float": ({"ptr": 1.5}, "ptr"),
    "a pointer that is None": ({"ptr": None}, "ptr"),
    "a pointer that is a method": ({"ptr": lambda: 0}, "ptr"),
    "size -1": ({"size": -1}, "size"),
    "a size past all": ({"size": 2**70}, "size"),
    "a size that leaves the address space": ({"ptr": 2**64 - 8}, "ptr|size"),
    "a size past what a length can be": ({"size": 2**63}, "size"),
    "a size that is a method": ({"size": lambda: 24}, "size"),
    "a size that is a float": ({"size": 24.0}, "size"),
    "a size that is None": ({"size": None}, "size"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_pointer_or_size_is_refused_naming_it(name):
    change, told = WRONG[name]
    span = Span(DATA)
    vars(span).update(change)
    with pytest.raises(LendError, match=told):
        lend.buffer(span)


def test_a_pointer_on_a_device_is_never_read():
    span = Span(DATA)
    span.ptr = 0x1000
    span.__class__ = type("OnDevice", (Span,), {"__dlpack_device__": lambda self: (2, 0)})
    buffer = lend.buffer(span)
    assert (buffer.ptr, buffer.nbytes) == (0x1000, 24)
    with pytest.raises(LendError):
        memoryview(buffer)


def test_a_size_that_may_be_any_integer_type_is_taken():
    class Number:
        def __index__(self):
            return 24

    span = Span(DATA)
    span.size = Number()
    assert lend.buffer(span).nbytes == 24


@pytest.mark.parametrize("take", [lend.view, lend.buffer])
def test_an_object_that_has_every_attribute_is_refused(take):
    with pytest.raises(LendError):
        take(AnswersEverything())


@pytest.mark.parametrize("take", [lend.view, lend.buffer])
def test_a_class_is_not_mistaken_for_its_instance(take):
    with pytest.raises(LendError):
        take(Span)


@pytest.mark.parametrize("strides", [(2**62, 4), (2**70, 4)], ids=str)
def test_strides_that_lead_too_far_are_named(strides):
    with pytest.raises(LendError, match=r"strides is \("):
        lend.View.from_pointer(4096, (2, 3), "float32", owner=DATA, strides=strides)
