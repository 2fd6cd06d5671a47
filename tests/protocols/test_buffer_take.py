"""The buffer protocol as consumer: the memory of any exporter as it lies, or refused, never guessed."""

import _testbuffer
import array
import ctypes
import itertools
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lend
from lend.errors import LendError, UnsupportedLayout
from support import counting
from support.counting import CountingBuffer

DOUBLES = struct.pack("12d", *range(12))


def same(view, lender):
    """What must agree between a View and the memoryview of the same memory."""
    fields = counting.getbuffer(lender)
    assert view.shape == fields.shape or (view.ndim == 0 and fields.shape is None)
    assert view.ndim == fields.ndim
    assert view.itemsize == fields.itemsize
    assert view.nbytes == fields.len
    assert view.readonly is fields.readonly
    assert view.tobytes() == lender.tobytes()
    if fields.len:
        assert view.ptr == fields.buf


@pytest.mark.parametrize("code", "bBhHiIlLqQnNfd?")
def test_every_native_format_is_read_as_memoryview_reads_it(code):
    values = [0, 1, 1, 0] if code == "?" else [0, 1, 100, 7]
    lender = memoryview(bytearray(struct.pack(f"4{code}", *values))).cast("B").cast(code)
    view = lend.view(lender)
    same(view, lender)
    assert view.tolist() == lender.tolist()


@pytest.mark.parametrize("code", "bBhHiIlLqQfd")
def test_an_array_is_read_as_it_lies(code):
    lender = array.array(code, [1, 2, 3])
    view = lend.view(lender)
    assert (view.tolist(), view.ptr) == (lender.tolist(), lender.buffer_info()[0])


SHAPES = [(), (0,), (1,), (5,), (3, 4), (2, 3, 2), (1, 1, 5), (3, 0, 2), (1,) * 8 + (2,), (2,) * 3 + (1,) * 20]
FLAGS = [0, _testbuffer.ND_WRITABLE, _testbuffer.ND_FORTRAN]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("flags", FLAGS, ids=["C", "writable", "Fortran"])
@pytest.mark.parametrize("code", ["B", "h", "d"])
def test_every_shape_is_read_as_it_lies(shape, flags, code):
    count = max(1, len(list(itertools.product(*map(range, shape)))))
    lender = _testbuffer.ndarray(list(range(count)) if shape else 5, shape=list(shape), format=code, flags=flags)
    view = lend.view(lender)
    same(view, lender)
    if view.size:
        assert view.tolist() == lender.tolist()


slices = st.builds(
    slice, st.integers(-6, 6) | st.none(), st.integers(-6, 6) | st.none(), st.sampled_from([None, 1, 2, 3, -1, -2])
)


@given(st.lists(st.tuples(st.integers(1, 5), slices), min_size=1, max_size=4), st.booleans())
def test_any_slices_of_any_shape_are_read_as_testbuffer_reads_them(dims, fortran):
    shape = [extent for extent, _ in dims]
    count = len(list(itertools.product(*map(range, shape))))
    whole = _testbuffer.ndarray(list(range(count)), shape=shape, format="i", flags=_testbuffer.ND_FORTRAN * fortran)
    cut = tuple(cut for _, cut in dims)
    lender = whole[cut]
    view = lend.view(lender)
    same(view, lender)
    if view.size:
        assert view.strides == tuple(lender.strides)
        assert view.tolist() == lender.tolist()
        assert lend.view(whole)[cut].tolist() == lender.tolist()
    assert view.c_contiguous == _testbuffer.is_contiguous(lender, "C")
    assert view.f_contiguous == _testbuffer.is_contiguous(lender, "F")


@pytest.mark.parametrize("strides", [(8, 8), (0, 8), (4, 8), (24, 8), (10**6, 8)], ids=str)
def test_the_stride_of_an_extent_of_one_decides_nothing(strides):
    lender = CountingBuffer(DOUBLES, format="d", itemsize=8, shape=(1, 3), strides=strides)
    view = lend.view(lender)
    assert (view.c_contiguous, view.f_contiguous, view.readonly) == (True, True, False)
    assert view.tolist() == [[0.0, 1.0, 2.0]]


@pytest.mark.parametrize("strides", [(0, 0, 0), (1, 1, 1), (-999, 5, 8)], ids=str)
def test_an_empty_buffer_is_contiguous_whatever_its_strides(strides):
    view = lend.view(CountingBuffer(0, format="d", itemsize=8, shape=(2, 0, 3), strides=strides))
    assert (view.shape, view.size, view.nbytes) == ((2, 0, 3), 0, 0)
    assert (view.c_contiguous, view.f_contiguous, view.aligned) == (True, True, True)


def test_an_empty_buffer_without_a_pointer_is_taken():
    view = lend.view(CountingBuffer(0, lie={"buf": 0}))
    assert (view.shape, view.tobytes()) == ((0,), b"")


@pytest.mark.parametrize("strides", [(0,), (0, 8), (8, 0)], ids=str)
def test_a_zero_stride_over_several_elements_is_read_only(strides):
    lender = CountingBuffer(DOUBLES, format="d", itemsize=8, shape=(3,) * len(strides), strides=strides)
    view = lend.view(lender)
    assert view.readonly
    assert view.tobytes() == counting.hold(lender).tobytes()


def test_strides_that_the_exporter_leaves_out_are_row_major():
    view = lend.view(CountingBuffer(DOUBLES, format="d", itemsize=8, shape=(3, 4), lie={"strides": None}))
    assert view.strides == (32, 8)


def test_no_format_with_single_bytes_means_unsigned_bytes():
    view = lend.view(CountingBuffer(b"\xff\1", format=None))
    assert (view.tolist(), view.dtype) == ([255, 1], lend.view(b"1").dtype)


def test_no_format_with_wide_items_is_opaque():
    view = lend.view(CountingBuffer(bytes(range(8)), format=None, itemsize=4))
    assert (view.itemsize, view.shape) == (4, (2,))
    assert view.dtype != lend.view(b"1").dtype
    assert view.tobytes() == bytes(range(8))


@pytest.mark.parametrize(
    ("text", "itemsize"), [("B", 4), ("d", 4), ("f", 8), ("?", 2), ("T{i:a:}", 12), ("3x", 2)], ids=str
)
def test_a_format_of_another_size_than_the_item_is_never_believed(text, itemsize):
    exporter = CountingBuffer(24, format=text, itemsize=itemsize)
    try:
        view = lend.view(exporter)
    except LendError as error:
        assert text in str(error)
        assert str(itemsize) in str(error)
        return
    assert (view.itemsize, view.nbytes) == (itemsize, 24)
    assert view[0].tobytes() == bytes(itemsize)
    assert all(view.dtype != lend.view(memoryview(bytes(8)).cast(code)).dtype for code in "Bdf?")


@pytest.mark.parametrize("text", ["!!", "", "T{", "4(", "Zq", "\u00e9", "u" * 40, "1000000000000000000000d", "O"])
def test_a_format_without_a_meaning_is_opaque_or_refused(text):
    exporter = CountingBuffer(16, format=text, itemsize=8)
    try:
        view = lend.view(exporter)
    except LendError:
        pass
    else:
        assert view.dtype.has_objects or view.tobytes() == bytes(16)
        del view
    assert exporter.audit() == []


def test_a_ctypes_array_is_read_right():
    lender = ((ctypes.c_int32 * 3) * 2)((1, 2, 3), (4, 5, 6))
    view = lend.view(lender)
    assert (view.tolist(), view.ptr) == ([[1, 2, 3], [4, 5, 6]], ctypes.addressof(lender))


def test_more_than_64_dimensions_are_refused_naming_the_limit():
    kind = ctypes.c_uint8
    for _ in range(65):
        kind = kind * 1
    with pytest.raises(LendError, match="64"):
        lend.view(kind())


PIL = {
    "read-only": _testbuffer.ND_PIL,
    "writable": _testbuffer.ND_PIL | _testbuffer.ND_WRITABLE,
}


@pytest.mark.parametrize("flags", PIL.values(), ids=PIL)
@pytest.mark.parametrize("shape", [[3, 4], [2, 3, 2]], ids=str)
@pytest.mark.parametrize("copy", [None, False])
def test_suboffsets_are_refused_naming_the_remedy(flags, shape, copy):
    lender = _testbuffer.ndarray(list(range(12)), shape=shape, format="i", flags=flags)
    with pytest.raises(UnsupportedLayout, match=r"(?s)suboffsets.*copy=True"):
        lend.view(lender, copy=copy)


@pytest.mark.parametrize("flags", PIL.values(), ids=PIL)
@pytest.mark.parametrize("shape", [[3, 4], [2, 3, 2], [1, 12]], ids=str)
@pytest.mark.parametrize("code", ["B", "i", "d"])
def test_suboffsets_are_gathered_by_a_copy(flags, shape, code):
    count = len(list(itertools.product(*map(range, shape))))
    lender = _testbuffer.ndarray(list(range(count)), shape=shape, format=code, flags=flags)
    view = lend.view(lender, copy=True)
    assert view.shape == tuple(shape)
    assert view.tobytes() == lender.tobytes()
    assert (view.readonly, view.c_contiguous, view.ptr % 64) == (False, True, 0)


def test_reversed_suboffsets_are_gathered_in_their_order():
    lender = _testbuffer.ndarray(list(range(12)), shape=[3, 4], format="i", flags=_testbuffer.ND_PIL)[::-1, ::-2]
    assert lend.view(lender, copy=True).tolist() == lender.tolist()


def test_suboffsets_that_are_all_negative_are_none():
    view = lend.view(CountingBuffer(DOUBLES, format="d", itemsize=8, shape=(3, 4), lie={"suboffsets": (-1, -1)}))
    assert view.shape == (3, 4)


@pytest.mark.parametrize("flags", [0, _testbuffer.ND_FORTRAN], ids=["C", "F"])
def test_a_buffer_has_the_bytes_of_any_contiguous_memory_as_they_lie(flags):
    lender = _testbuffer.ndarray(list(range(12)), shape=[3, 4], format="i", flags=flags)
    buffer = lend.buffer(lender)
    assert bytes(buffer) == struct.pack("12i", *range(12))  # testbuffer lays the items down as they are listed
    assert (lender.tobytes() == bytes(buffer)) is (flags == 0)
    assert (buffer.nbytes, buffer.size, buffer.bufsize) == (48, 48, 48)


def test_a_buffer_spans_from_the_lowest_to_the_highest_byte():
    lender = memoryview(bytearray(range(16)))[12:3:-3]
    buffer = lend.buffer(lender)
    assert bytes(buffer) == bytes(range(6, 13))
    assert buffer.ptr == counting.getbuffer(lender).buf - 6


def test_a_buffer_of_an_empty_exporter_has_no_bytes():
    assert [bytes(lend.buffer(empty)) for empty in (b"", bytearray(), memoryview(bytes(8)).cast("d")[:0])] == [b""] * 3


def test_the_exporter_may_refuse_with_any_exception_which_becomes_ours():
    for error in (BufferError("not now"), ValueError("no format"), RuntimeError("closed")):
        exporter = CountingBuffer(4, on_get=lambda flags, error=error: (_ for _ in ()).throw(error))
        with pytest.raises(LendError, match=str(error)) as caught:
            lend.view(exporter)
        assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, RecursionError, GeneratorExit])
def test_what_must_not_be_caught_passes(error):
    def fail(flags):
        raise error

    with pytest.raises(error):
        lend.view(CountingBuffer(4, on_get=fail))


def test_a_read_only_exporter_is_asked_for_writing_only_if_the_caller_does():
    exporter = CountingBuffer(4, readonly=True)
    lend.view(exporter)
    assert not any(flags & counting.WRITABLE for flags in exporter.asked)


def test_a_released_memoryview_is_refused():
    lender = memoryview(bytearray(4))
    lender.release()
    with pytest.raises(LendError, match="released"):
        lend.view(lender)
