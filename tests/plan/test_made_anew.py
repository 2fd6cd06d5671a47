"""Classes that share nothing with what they are given, as targets: a copy, told before, and refused by copy=False."""

import io

import pytest

import lend
from lend.errors import CopyRequired

OF_BYTES = [bytes, bytearray, io.BytesIO]
OF_OBJECTS = [list, tuple, set, frozenset, str]


@pytest.mark.parametrize("function", [lend.to, lend.explain], ids=["to", "explain"])
@pytest.mark.parametrize("cls", OF_BYTES + OF_OBJECTS)
def test_a_class_that_never_shares_is_refused_without_a_copy(function, cls):
    with pytest.raises(CopyRequired, match=f"{cls.__name__} (copies|makes Python objects)"):
        function(bytearray(8), cls, copy=False)


@pytest.mark.parametrize("cls", [int, float, complex])
def test_a_class_of_one_number_is_refused_without_a_copy(cls):
    with pytest.raises(CopyRequired, match=f"{cls.__name__} makes Python objects"):
        lend.to(lend.view(bytearray(1))[0], cls, copy=False)


def test_a_truth_value_is_refused_without_a_copy():
    with pytest.raises(CopyRequired, match="bool makes Python objects"):
        lend.to(bytearray(1), bool, copy=False)


@pytest.mark.parametrize("cls", OF_BYTES)
def test_a_class_that_copies_is_told_to_copy_all_bytes(cls):
    plan = lend.explain(bytearray(8), cls)
    assert (plan.bytes_copied, [step.who for step in plan.copies]) == (8, ["target"])


def test_what_shares_is_named_and_does():
    memory = bytearray(8)
    with pytest.raises(CopyRequired, match=r'lend\.to\(x, "memoryview"\), which shares the memory'):
        lend.to(memory, bytes, copy=False)
    lend.to(memory, "memoryview", copy=False)[0] = 7
    assert memory[0] == 7


def test_nothing_is_copied_of_nothing():
    assert lend.to(b"", bytes, copy=False) == b""


def test_the_objects_of_a_list_are_of_fresh_memory_when_that_is_asked_for():
    memory = bytearray(2)
    items = lend.to(memory, list, copy=True)
    memory[0] = 9
    assert items == [0, 0]


def test_what_is_derived_of_such_a_class_is_any_callable():
    assert lend.to(b"12", type("Mine", (bytes,), {}), copy=False) == b"12"


def test_another_callable_is_called_and_only_lend_promises():
    def takes(view):
        return view.tobytes()

    assert lend.to(b"12", takes, copy=False) == b"12"
    told = str(lend.explain(b"12", takes, copy=False))
    assert "with copy=False lend copies nothing, and speaks for itself alone" in told
    assert "speaks for itself" not in str(lend.explain(b"12", takes))
