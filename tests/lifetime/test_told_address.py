"""An address that left by an array interface stays good: nobody says when its reader is done."""

import array

import pytest

import lend
from lend.errors import LeaseLost
from support.counting import CountingBuffer

ASK = pytest.mark.parametrize("ask", ["__array_interface__", "__array_struct__"])
TAKES = pytest.mark.parametrize("take", [lend.view, lend.buffer], ids=["view", "buffer"])


@ASK
@TAKES
def test_a_release_after_the_address_was_told_keeps_the_lease(take, ask):
    exporter = CountingBuffer(bytes(16), format="f", itemsize=4)
    lent = take(exporter)
    getattr(lent, ask)
    lent.release()
    assert exporter.live == 1


@ASK
@TAKES
def test_the_lease_goes_back_when_the_released_object_goes(take, ask):
    exporter = CountingBuffer(bytes(16), format="f", itemsize=4)
    lent = take(exporter)
    getattr(lent, ask)
    lent.release()
    del lent
    assert exporter.audit() == []


@ASK
@TAKES
@pytest.mark.parametrize(
    "use", [memoryview, lend.view, lend.buffer, lambda x: x.owner, lambda x: x.ptr, lambda x: x.__dlpack__()]
)
def test_a_released_object_whose_address_was_told_is_released_all_the_same(take, ask, use):
    lent = take(array.array("f", [1.0]))
    getattr(lent, ask)
    lent.release()
    with pytest.raises(LeaseLost):
        use(lent)


@ASK
def test_what_is_made_of_a_view_does_not_inherit_its_told_address(ask):
    exporter = CountingBuffer(bytes(16), format="f", itemsize=4)
    lent = lend.view(exporter)
    getattr(lent, ask)
    part, other, bytes_of_it = lent[1:], lend.view(lent), lent.buffer[2:]
    del lent
    for each in (part, other, bytes_of_it):
        each.release()
    assert exporter.audit() == []


def test_a_numpy_array_of_dates_survives_the_release_of_its_view():
    numpy = pytest.importorskip("numpy")
    dates = numpy.array(["2020-01-01", "2021-02-02"], "datetime64[D]")
    view = lend.view(dates.copy())
    shown = numpy.asarray(view)
    view.release()
    block = bytearray(64)  # would take the place of memory that was given back
    assert (shown == dates).all()
    assert block


@ASK
def test_a_question_that_is_refused_tells_no_address(ask):
    exporter = CountingBuffer(bytes(16), format="f", itemsize=4)
    lent = lend.view(exporter).reinterpret("bfloat16")
    assert not hasattr(lent, ask)
    lent.release()
    assert exporter.audit() == []
