"""A capsule of `__array_struct__` may own the memory: it lives as long as anything made from the view (numpy#20673)."""

import gc
import struct
import sys

import pytest

import lend
from lend.errors import LendError
from support.derived import HOLDERS
from support.producers import ArrayStruct

FLOATS = struct.pack("4f", 0.0, 1.0, 2.0, 3.0)


@pytest.fixture(autouse=True)
def no_collector():
    """What is released at once is released without the collector."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("make", HOLDERS.values(), ids=HOLDERS)
def test_whatever_is_made_from_a_view_keeps_the_capsule(make):
    producer = ArrayStruct(FLOATS, (4,), itemsize=4)
    made = make(lend.view(producer))
    assert producer.gone == producer.reads - 1
    del made
    assert producer.gone == producer.reads


def test_the_attribute_is_read_once():
    producer = ArrayStruct(FLOATS, (4,), itemsize=4)
    view = lend.view(producer)
    assert (view.tolist(), producer.reads) == ([0.0, 1.0, 2.0, 3.0], 1)


def test_the_object_lives_as_long_as_the_view():
    producer = ArrayStruct(FLOATS, (4,), itemsize=4)
    before = sys.getrefcount(producer)
    view = lend.view(producer)
    assert sys.getrefcount(producer) > before
    del view
    assert sys.getrefcount(producer) == before


@pytest.mark.parametrize("facts", [{"two": 3}, {"nd": -1}, {"nd": 100}, {"itemsize": 3}, {"data": 0}], ids=str)
def test_a_refused_capsule_is_dropped_at_once(facts):
    producer = ArrayStruct(FLOATS, (4,), **{"itemsize": 4, **facts})
    with pytest.raises(LendError):
        lend.view(producer)
    assert producer.gone == producer.reads
