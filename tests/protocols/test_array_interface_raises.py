"""`__array_interface__` of producers that raise: a refusal with their error as its cause, and nothing left behind."""

import sys

import pytest

import lend
from lend.errors import LendError, NotLendable
from support.counting import CountingBuffer
from support.interfaces import floats
from support.producers import ArrayInterface, PropertyRaises


class Fails:
    """Raises `error` whenever Python asks it for a number or a truth."""

    def __init__(self, error):
        self.error = error

    def __index__(self):
        raise self.error

    def __bool__(self):
        raise self.error


class Unequal(str):
    """A key that lands where `shape` would, and raises when compared."""

    __slots__ = ()

    def __hash__(self):
        return hash("shape")

    def __eq__(self, other):
        raise RuntimeError("no comparing")


def test_an_attribute_error_means_that_there_is_no_such_door():
    with pytest.raises(NotLendable):
        lend.view(PropertyRaises(AttributeError("gone"), "__array_interface__"))


def raises_when_read(error):
    def read(self):
        raise error

    return type("Lender", (), {"__array_interface__": property(read)})()


def typed(dtype):
    return type("Typed", (ArrayInterface,), {"dtype": dtype})(b"1234", (1,), "|V4")


RAISING = {
    "the attribute": raises_when_read,
    "an extent": lambda error: floats(shape=(Fails(error),)),
    "a stride": lambda error: floats(strides=(Fails(error), 4)),
    "the address": lambda error: floats(data=(Fails(error), False)),
    "read-only": lambda error: floats(readonly=Fails(error)),
    "the offset": lambda error: floats(data=bytearray(64), offset=Fails(error)),
    "the buffer": lambda error: floats(data=CountingBuffer(64, on_get=lambda flags: (_ for _ in ()).throw(error))),
    "the dtype": lambda error: typed(PropertyRaises(error, "name")),
}  # fmt: skip


@pytest.mark.parametrize("make", RAISING.values(), ids=RAISING)
def test_an_exception_of_the_producer_is_quoted_and_is_the_cause(make):
    error = RuntimeError("not while it rains")
    with pytest.raises(LendError, match="not while it rains") as caught:
        lend.view(make(error))
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("make", RAISING.values(), ids=RAISING)
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), MemoryError(), RecursionError()], ids=repr)
def test_what_must_not_be_caught_passes(make, error):
    with pytest.raises(type(error)) as caught:
        lend.view(make(error))
    assert caught.value is error


def test_keys_that_raise_when_compared_are_the_producer_s_trouble():
    lender = floats()
    del lender.facts["shape"]
    lender.facts[Unequal("shape")] = (2, 3)
    with pytest.raises(LendError, match="no comparing"):
        lend.view(lender)


def test_a_refusal_leaves_no_reference():
    lender = floats(shape=(1,) * 30 + (-1,))
    before = sys.getrefcount(lender)
    for _ in range(10):
        with pytest.raises(LendError):
            lend.view(lender)
    assert sys.getrefcount(lender) <= before + 1
