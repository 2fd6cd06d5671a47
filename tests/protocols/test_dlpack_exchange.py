"""The C exchange API of DLPack: ours, called as C code calls it, and foreign tables, taken with all their faults."""

import struct
import sys

import pytest

import lend
from lend.errors import LendError
from support import counting
from support.counting import CountingDLPack, CountingExchange, exchange_table

FLOATS = struct.pack("4f", 0.0, 1.0, 2.0, 3.0)


def floats():
    return lend.view(memoryview(bytearray(FLOATS)).cast("f"))


@pytest.mark.parametrize("kind", [lend.View, lend.Buffer])
def test_the_table_is_whole_and_of_version_one_three(kind):
    facts = counting.exchange_facts(kind)
    assert facts.pop("version") == (1, 3)
    assert facts.pop("prev_api") is False
    facts.pop("borrow")
    address = facts.pop("address")
    assert all(facts.values())
    assert counting.exchange_facts(kind)["address"] == address


def test_a_tensor_of_the_table_has_the_fields_of_a_capsule():
    for view in (floats(), floats()[1:], floats()[::2], floats().reshape((2, 2)).T, lend.view(b"12"), floats()[0]):
        capsule = counting.capsule_fields(view.__dlpack__(max_version=(1, 3)))
        capsule.pop("name")
        assert counting.exchange_take(view).fields == capsule


def test_read_only_memory_carries_the_flag():
    assert counting.exchange_take(lend.view(b"1234")).fields["flags"] == counting.READ_ONLY


@pytest.mark.parametrize(
    "make",
    [lambda: floats()[::-1], lambda: lend.view(memoryview(bytearray(16)).cast("f")[::-2])],
    ids=["reversed", "reversed and strided"],
)
def test_the_table_refuses_what_the_capsule_refuses(make):
    view = make()
    with pytest.raises(LendError):
        counting.exchange_take(view)
    assert view.owner.exports == 0


def test_the_table_refuses_read_only_memory_to_borrowers():
    assert counting.exchange_facts(lend.View)["borrow"] is False or pytest.raises(
        LendError, counting.exchange_borrow, lend.view(b"1234")
    )


def test_what_is_borrowed_has_the_right_fields():
    view = floats()
    fields = counting.exchange_borrow(view)
    if fields is not None:
        assert (fields["data"], fields["shape"], fields["strides"]) == (view.ptr, (4,), (1,))
    assert view.owner.exports == 0


def test_a_tensor_given_to_the_table_becomes_a_view_that_owns_it():
    producer = CountingExchange(FLOATS, (4,))
    view = counting.exchange_give(counting.exchange_take(producer), lend.View)
    assert type(view) is lend.View
    assert (view.tolist(), producer.deleted) == ([0.0, 1.0, 2.0, 3.0], 0)
    del view
    assert (producer.deleted, producer.audit()) == (1, [])


def test_a_read_only_tensor_given_to_the_table_stays_read_only():
    producer = CountingExchange(FLOATS, (4,), flags=counting.READ_ONLY)
    assert counting.exchange_give(counting.exchange_take(producer), lend.View).readonly


@pytest.mark.parametrize("facts", [{"ndim": -1}, {"dtype": (99, 32, 1)}, {"version": (2, 0)}, {"data": 0}], ids=str)
def test_a_malformed_tensor_given_to_the_table_is_refused_and_deleted_at_most_once(facts):
    producer = CountingExchange(FLOATS, (4,), **facts)
    taken = counting.exchange_take(producer)
    with pytest.raises(LendError):
        counting.exchange_give(taken, lend.View)
    assert producer.books["twice"] == 0
    assert producer.books["pending"] == 0


def test_the_cpu_has_no_stream():
    assert counting.exchange_stream(lend.View, (1, 0)) == 0


def test_memory_allocated_by_the_table_is_writable_and_aligned():
    fields = counting.exchange_allocate(lend.View, 5, (2, 32), (1, 0)).fields
    assert (fields["shape"], fields["dtype"], fields["flags"], fields["data"] % 64) == ((5,), (2, 32, 1), 0, 0)


@pytest.mark.parametrize(
    ("extent", "dtype", "device"),
    [(-1, (2, 32), (1, 0)), (5, (99, 32), (1, 0)), (5, (2, 32), (2, 0)), (2**62, (2, 64), (1, 0))],
)
def test_memory_that_cannot_be_allocated_is_refused_with_a_word(extent, dtype, device):
    error = counting.exchange_allocate(lend.View, extent, dtype, device)
    assert isinstance(error, str)
    assert ": " in error


def test_the_table_pins_the_lease_and_not_the_view():
    exporter = counting.CountingBuffer(FLOATS, format="f", itemsize=4)
    taken = counting.exchange_take(lend.view(exporter))
    assert (exporter.live, taken.tobytes()) == (1, FLOATS)
    taken.delete()
    assert exporter.audit() == []


def test_a_foreign_table_is_preferred_to_a_capsule():
    class Both(CountingExchange):
        __dlpack_c_exchange_api__ = exchange_table()
        asked = 0

        def __dlpack__(self, **keywords):
            type(self).asked += 1
            return self.capsule()

        def __dlpack_device__(self):
            return (1, 0)

    producer = Both(FLOATS, (4,))
    assert lend.view(producer).tolist() == [0.0, 1.0, 2.0, 3.0]
    assert Both.asked == 0


def kind_with(table):
    return type("Tabled", (CountingExchange,), {"__dlpack_c_exchange_api__": table})


def test_the_chain_of_older_tables_is_walked_to_our_major_version():
    table = exchange_table(version=(3, 0), previous=exchange_table(version=(2, 0), previous=exchange_table()))
    assert lend.view(kind_with(table)(FLOATS, (4,))).tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "table",
    [exchange_table(version=(2, 0)), exchange_table(name="something_else"), 5, None, "dlpack_exchange_api"],
    ids=["major 2", "another name", "a number", "None", "a string"],
)
def test_a_table_that_is_not_one_of_ours_is_passed_by(table):
    class Both(kind_with(table)):
        __dlpack_c_exchange_api__ = table

        def __dlpack__(self, **keywords):
            return self.capsule()

        def __dlpack_device__(self):
            return (1, 0)

    producer = Both(FLOATS, (4,))
    assert lend.view(producer).tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "error", [RuntimeError("sparse tensor"), BufferError("meta"), ValueError("no"), TypeError("t")]
)
def test_an_exception_of_a_foreign_table_becomes_ours(error):
    with pytest.raises(LendError, match=str(error)) as caught:
        lend.view(CountingExchange(FLOATS, (4,), failure=error))
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), RecursionError(), SystemExit()], ids=repr)
def test_what_must_not_be_caught_passes(error):
    with pytest.raises(type(error)) as caught:
        lend.view(CountingExchange(FLOATS, (4,), failure=error))
    assert type(caught.value) is type(error)


@pytest.mark.parametrize("failure", ["silent", "null"])
def test_a_table_that_breaks_its_contract_is_refused(failure):
    with pytest.raises(LendError):
        lend.view(CountingExchange(FLOATS, (4,), failure=failure))


def test_a_subclass_in_python_is_not_given_to_the_table_of_its_parent():
    """A table expects the exact type: what a subclass holds may be something else."""

    class Wrapper(CountingExchange):
        def __dlpack__(self, **keywords):
            return CountingDLPack.capsule(self.inner)

        def __dlpack_device__(self):
            return (1, 0)

    wrapper = Wrapper(bytes(16), (4,))
    wrapper.inner = CountingDLPack(FLOATS, (4,))
    assert lend.view(wrapper).tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("facts", [{"ndim": -1}, {"dtype": (99, 32, 1)}, {"version": (2, 0)}, {"data": 0}], ids=str)
def test_what_is_refused_after_the_call_is_deleted_once_with_no_exception_set(facts):
    producer = CountingExchange(FLOATS, (4,), **facts)
    with pytest.raises(LendError):
        lend.view(producer)
    assert (producer.deleted_by_consumer, producer.audit()) == (producer.made, [])


def test_taking_by_a_table_keeps_the_producer():
    producer = CountingExchange(FLOATS, (4,))
    before = sys.getrefcount(producer)
    view = lend.view(producer)
    assert sys.getrefcount(producer) > before
    del view
    assert sys.getrefcount(producer) == before


def test_memory_that_is_allocated_is_on_the_cpu_whatever_lay_there_before():
    """A View is not zeroed when it is made: what the one before it said of its device must not be left."""
    for number in range(1, 9):
        away = [lend.View.from_pointer(4096, (1,), "uint8", owner=b"", device=f"cuda:{number}") for _ in range(4)]
        del away
        assert counting.exchange_allocate(lend.View, 5, (2, 32), (1, 0)).fields["device"] == (1, 0)
