"""The buffer protocol as exporter: every PyBUF flag is answered as memoryview answers it for the same memory."""

import _testbuffer
import itertools
import struct

import pytest

import lend
from lend.errors import LendError, ReadOnlyMemory
from support import counting
from support.counting import CountingDLPack
from support.producers import ArrayInterface

DOUBLES = struct.pack("12d", *range(12))


def nd(shape, flags=0, **keywords):
    count = 1
    for extent in shape:
        count *= extent
    items = [float(i) for i in range(count)] if shape else 3.5
    return _testbuffer.ndarray(items, shape=list(shape), format="d", flags=flags, **keywords)


LAYOUTS = {
    "1-d": lambda: bytearray(DOUBLES),
    "read-only": lambda: DOUBLES,
    "typed": lambda: memoryview(bytearray(DOUBLES)).cast("d"),
    "2-d": lambda: memoryview(bytearray(DOUBLES)).cast("d", (3, 4)),
    "2-d read-only": lambda: memoryview(DOUBLES).cast("d", (3, 4)),
    "3-d": lambda: memoryview(bytearray(DOUBLES)).cast("d", (2, 3, 2)),
    "0-d": lambda: memoryview(bytearray(8)).cast("d", ()),
    "empty": lambda: bytearray(),
    "empty 2-d": lambda: memoryview(nd((3, 4)))[:0],
    "strided": lambda: memoryview(bytearray(DOUBLES)).cast("d")[::2],
    "reversed": lambda: memoryview(bytearray(DOUBLES)).cast("d")[::-1],
    "rows skipped": lambda: memoryview(bytearray(DOUBLES)).cast("d", (3, 4))[::2],
    "one row": lambda: memoryview(bytearray(DOUBLES)).cast("d", (1, 12)),
    "Fortran": lambda: memoryview(nd((3, 4), _testbuffer.ND_FORTRAN | _testbuffer.ND_WRITABLE)),
    "Fortran read-only": lambda: memoryview(nd((3, 4), _testbuffer.ND_FORTRAN)),
}
ORDERS = {
    "SIMPLE": counting.SIMPLE,
    "ND": counting.ND,
    "STRIDES": counting.STRIDES,
    "C": counting.C_CONTIGUOUS,
    "F": counting.F_CONTIGUOUS,
    "ANY": counting.ANY_CONTIGUOUS,
    "INDIRECT": counting.INDIRECT,
    "C INDIRECT": counting.C_CONTIGUOUS | counting.INDIRECT,
    "F INDIRECT": counting.F_CONTIGUOUS | counting.INDIRECT,
    "ANY INDIRECT": counting.ANY_CONTIGUOUS | counting.INDIRECT,
    "C F": counting.C_CONTIGUOUS | counting.F_CONTIGUOUS,
    "STRIDES without ND": 0x10,
}
EXTRAS = {
    "": 0,
    "WRITABLE": counting.WRITABLE,
    "FORMAT": counting.FORMAT,
    "FORMAT WRITABLE": counting.FORMAT | counting.WRITABLE,
}
FLAGS = {
    f"{order} {extra}".strip(): ORDERS[order] | EXTRAS[extra] for order, extra in itertools.product(ORDERS, EXTRAS)
}


def answer(obj, flags):
    """The fields given for `flags`, without those that must differ; or the word of a refusal."""
    try:
        fields = vars(counting.getbuffer(obj, flags))
    except BufferError:
        return "BufferError"
    fields.pop("obj")
    if fields["len"] == 0:
        fields.pop("buf")  # the pointer of an empty buffer means nothing
    return fields


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
def test_every_combination_of_flags_is_answered_as_memoryview_does(layout, flags):
    lender = memoryview(layout())
    assert answer(lend.view(lender), flags) == answer(lender, flags)


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
def test_a_buffer_answers_every_combination_of_flags_as_bytes_do(flags):
    lender = bytearray(DOUBLES)
    assert answer(lend.buffer(lender), flags) == answer(memoryview(lender), flags)


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
def test_a_refused_request_leaves_no_export_open(flags):
    view = lend.view(memoryview(DOUBLES).cast("d")[::-2])
    answer(view, flags)
    assert view.owner.exports == 0
    view.release()


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_the_exporter_of_a_py_buffer_is_the_view(layout):
    view = lend.view(layout())
    assert counting.getbuffer(view).obj is view


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_readonly_is_the_same_whether_or_not_writing_was_asked_for(layout):
    view = lend.view(layout())
    first = counting.getbuffer(view, counting.FULL_RO).readonly
    try:
        assert counting.getbuffer(view, counting.FULL).readonly is first is False
    except BufferError:
        assert first is True


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_the_elements_come_out_in_row_major_order(layout):
    lender = memoryview(layout())
    assert counting.hold(lend.view(lender)).tobytes() == lender.tobytes()


@pytest.mark.parametrize("flags", [counting.FULL_RO, counting.RECORDS_RO, counting.STRIDED_RO])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_testbuffer_reads_the_same_values_from_our_export(layout, flags):
    view = lend.view(layout())
    taken = _testbuffer.ndarray(view, getbuf=flags)
    assert taken.tobytes() == view.tobytes()


def test_many_dimensions_keep_their_shape_and_strides():
    lender = CountingDLPack(bytes(8), (1,) * 63 + (8,), dtype=(1, 8, 1))
    fields = counting.getbuffer(lend.view(lender))
    assert fields.ndim == 64
    assert fields.shape == (1,) * 63 + (8,)
    assert fields.strides[-1] == 1


def test_an_export_survives_the_view_it_came_from():
    held = counting.hold(lend.view(bytearray(DOUBLES))[8:])
    assert held.tobytes() == DOUBLES[8:]


def test_two_exports_are_independent():
    view = lend.view(bytearray(DOUBLES))
    first, second = counting.hold(view), counting.hold(view)
    first.release()
    assert second.tobytes() == DOUBLES


def test_the_release_of_an_export_leaves_a_pending_exception_alone():
    assert counting.hold(lend.view(bytearray(4))).release_with_error_pending()


def test_the_last_release_of_an_export_leaves_a_pending_exception_alone():
    exporter = counting.CountingBuffer(4, on_release=list)
    assert counting.hold(lend.view(exporter)).release_with_error_pending()
    assert exporter.audit() == []


def test_writing_through_an_export_is_seen_by_the_producer():
    lender = bytearray(4)
    memoryview(lend.view(lender))[2] = 7
    assert lender == b"\0\0\7\0"


def test_a_write_request_on_read_only_memory_names_the_remedy():
    with pytest.raises(ReadOnlyMemory, match=r"v\.copy\(\)"):
        counting.hold(lend.view(b"1234"), counting.WRITABLE)


@pytest.mark.parametrize("flags", [counting.SIMPLE, counting.ND, counting.C_CONTIGUOUS, counting.F_CONTIGUOUS])
def test_a_refusal_of_the_layout_is_ours_and_says_what_was_asked(flags):
    with pytest.raises(LendError, match="contiguous"):
        counting.hold(lend.view(bytearray(8))[::2], flags)


@pytest.mark.parametrize("typestr", ["<M8[ns]", "<m8[s]", ">M8[D]"])
def test_a_dtype_without_a_format_is_refused_when_a_format_is_asked_for(typestr):
    view = lend.view(ArrayInterface(bytes(16), (2,), typestr))
    with pytest.raises(LendError, match=r"(?s)datetime64|timedelta64"):
        counting.hold(view, counting.FULL_RO)


@pytest.mark.parametrize("typestr", ["<M8[ns]", "<m8[s]"])
def test_a_dtype_without_a_format_is_exported_when_none_is_asked_for(typestr):
    view = lend.view(ArrayInterface(bytes(16), (2,), typestr))
    fields = counting.getbuffer(view, counting.STRIDED_RO)
    assert (fields.format, fields.itemsize, fields.shape) == (None, 8, (2,))


def test_a_float_that_struct_does_not_know_is_refused_naming_the_integer_view():
    view = lend.view(CountingDLPack(bytes(8), (2,), dtype=(4, 16, 1)))
    with pytest.raises(LendError, match="uint16"):
        counting.hold(view, counting.FULL_RO)


def test_a_datetime_is_refused_naming_the_integer_view():
    view = lend.view(ArrayInterface(bytes(16), (2,), "<M8[ns]"))
    with pytest.raises(LendError, match="int64"):
        counting.hold(view, counting.FULL_RO)


@pytest.mark.parametrize("device", [(2, 0), (13, 0), (10, 1), (8, 0), (14, 0)], ids=str)
def test_device_memory_is_refused_by_an_error_that_lets_consumers_fall_through(device):
    view = lend.view(CountingDLPack(bytes(16), (4,), device=device))
    with pytest.raises(LendError) as caught:
        memoryview(view)
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize("device", [(1, 0), (3, 0), (11, 0)], ids=["cpu", "cuda host", "rocm host"])
def test_memory_that_the_host_may_read_is_exported(device):
    view = lend.view(CountingDLPack(bytes(range(4)), (4,), dtype=(1, 8, 1), device=device))
    assert bytes(memoryview(view)) == bytes(range(4))


def test_unaligned_memory_is_exported_as_it_is():
    view = lend.view(memoryview(bytearray(17))[1:]).reinterpret("float64")
    assert not view.aligned
    assert memoryview(view).tolist() == [0.0, 0.0]
