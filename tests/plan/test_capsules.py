"""A bare capsule can be consumed once: `explain` looks into it, and a refused `to` leaves it alone."""

import importlib.util

import pytest

import lend
from lend.errors import CopyRequired, MalformedDescriptor
from support import counting
from support.counting import CountingDLPack

FLOATS = bytes(16)


@pytest.mark.parametrize("versioned", [True, False])
def test_explaining_does_not_consume(versioned):
    producer = CountingDLPack(FLOATS, (4,))
    capsule = producer.capsule(versioned)
    name = counting.capsule_fields(capsule)["name"]
    plan = lend.explain(capsule, "memoryview")
    assert counting.capsule_fields(capsule)["name"] == name
    assert (producer.deleted, plan.protocol) == (0, "DLPack capsule")
    made = lend.to(capsule, "memoryview")
    assert made.nbytes == 16
    del made
    assert producer.deleted == 1


def test_an_unversioned_one_is_said_to_be_of_unknown_writability():
    plan = lend.explain(CountingDLPack(FLOATS, (4,)).capsule(False), "memoryview")
    assert "writability unknown (unversioned capsule): taken as read-only" in plan.notes


def test_a_refused_one_stays_unconsumed():
    producer = CountingDLPack(FLOATS, (4,))
    capsule = producer.capsule(False)  # which cannot say that it is writable
    with pytest.raises(CopyRequired, match="read-only"):
        lend.to(capsule, taker_without_a_mark(), copy=False)
    assert (counting.capsule_fields(capsule)["name"], producer.deleted) == ("dltensor", 0)


def taker_without_a_mark():
    for name in ("torch", "tvm_ffi"):
        if importlib.util.find_spec(name):
            return name
    return pytest.skip("neither torch nor tvm_ffi is installed")


@pytest.mark.parametrize("function", [lend.to, lend.explain], ids=["to", "explain"])
def test_a_used_one_is_refused_alike(function):
    capsule = CountingDLPack(FLOATS, (4,)).capsule(True)
    view = lend.view(capsule)
    with pytest.raises(MalformedDescriptor, match="already consumed"):
        function(capsule, "memoryview")
    del view


@pytest.mark.parametrize("function", [lend.to, lend.explain], ids=["to", "explain"])
def test_a_malformed_one_is_refused_and_left_alone(function):
    producer = CountingDLPack(FLOATS, (-4,))
    capsule = producer.capsule(True)
    with pytest.raises(MalformedDescriptor, match="negative extent"):
        function(capsule, "memoryview")
    assert (counting.capsule_fields(capsule)["name"], producer.deleted) == ("dltensor_versioned", 0)
