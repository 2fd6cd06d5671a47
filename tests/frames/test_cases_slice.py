"""Reported faults of slices and chunks (SLICE rows): chunks that were joined in silence, what an offset counts."""

import struct

import pytest

import lend
from lend.errors import CopyRequired, MalformedDescriptor
from support.told_frames import INT, Shown, ToldBuffer, ToldColumn, ToldFrame


def two_chunks(pa):
    return pa.table({"a": pa.chunked_array([[1, 2], [3]])})


def test_a_table_keeps_its_chunks_where_they_lie():  # SLICE-4
    pa = pytest.importorskip("pyarrow")
    source = two_chunks(pa)
    with lend.copies() as made:
        chunks = lend.table(source, copy=False)["a"].chunks
        found = [chunk.buffers["data"].ptr for chunk in chunks]
    assert found == [chunk.buffers()[1].address for chunk in source["a"].chunks]
    assert made.count == 0


@pytest.mark.parametrize("of", ["a table", "a column"])
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_chunks_are_not_joined_where_nothing_may_be_copied(target, of):  # SLICE-4
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip(target)
    source = two_chunks(pa) if of == "a table" else two_chunks(pa)["a"]
    with pytest.raises(CopyRequired, match="has 2 chunks"):
        lend.to(source, target, copy=False)


def test_chunks_are_joined_in_a_copy_that_is_told_and_counted():  # SLICE-4
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("numpy")
    source = two_chunks(pa)["a"]
    plan = lend.explain(source, "numpy")
    with lend.copies() as made:
        assert lend.to(source, "numpy").tolist() == [1, 2, 3]
    assert "2 chunks" in str(plan)
    assert (plan.bytes_copied, made.bytes, made.count) == (24, 24, 1)


def test_an_offset_that_is_told_counts_elements_from_the_beginning_of_the_buffer():  # SLICE-17
    data = ToldBuffer(struct.pack("4q", 9, 1, 2, 9))
    told = ToldColumn((INT, 64, "l", "="), 2, offset=1, data=data)
    column = lend.column(ToldFrame({"a": told}))
    assert (column.tolist(), column.offset) == ([1, 2], 1)
    assert column.buffers["data"].ptr == data.ptr


def test_an_offset_that_lend_tells_counts_elements_from_the_beginning_of_the_buffer():  # SLICE-17
    pa = pytest.importorskip("pyarrow")
    source = pa.array([0, 1, 2, 3])
    for cut in (lend.column(source)[1:3], lend.column(source.slice(1, 2)), lend.column(source.slice(1))[:2]):
        told = cut.__dataframe__(allow_copy=False).get_column(0)
        data, _ = told.get_buffers()["data"]
        assert (told.offset, told.size(), data.ptr) == (1, 2, source.buffers()[1].address)


def uneven(pa):
    return pa.table({"a": pa.chunked_array([[1, 2], [3]]), "b": pa.chunked_array([["x"], ["y", "z"]])})


def test_chunks_of_a_frame_are_of_equal_length_over_all_columns_and_their_number_agrees():  # SLICE-8
    pa = pytest.importorskip("pyarrow")
    frame = lend.table(uneven(pa)).__dataframe__()
    chunks = list(frame.get_chunks())
    assert frame.num_chunks() == len(chunks) == 3
    assert [column.num_chunks() for column in frame.get_columns()] == [3, 3]
    assert [[column.size() for column in chunk.get_columns()] for chunk in chunks] == [[1, 1]] * 3
    assert [[column.num_chunks() for column in chunk.get_columns()] for chunk in chunks] == [[1, 1]] * 3


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7])
def test_any_number_of_chunks_of_a_frame_joined_is_the_table(count):  # SLICE-9
    pa = pytest.importorskip("pyarrow")
    rows = {"n": [1, None, 3, 4, 5], "b": [True, None, False, True, True], "s": ["a", None, "ä", "", "e"]}
    chunks = list(lend.table(pa.table(rows)).__dataframe__().get_chunks(count))
    parts = [lend.table(Shown(chunk)) for chunk in chunks]
    assert len(chunks) == count
    assert {name: [value for part in parts for value in part[name].tolist()] for name in rows} == rows


@pytest.mark.parametrize("start", [0, 1, 3, 9])
def test_buffers_have_room_for_offset_and_length(start):  # SLICE-12, SLICE-2
    pa = pytest.importorskip("pyarrow")
    rows = {"n": [1, None, 3, 4] * 4, "s": ["a", None, "ä", ""] * 4, "b": [True, None, False, True] * 4}
    for told in lend.table(pa.table(rows))[start : start + 5].__dataframe__().get_columns():
        buffers, end = told.get_buffers(), told.offset + told.size()
        data, (_, bits, _, _) = buffers["data"]
        mask, (_, of_mask, _, _) = buffers["validity"]
        assert mask.bufsize * 8 >= end * of_mask
        if buffers["offsets"] is None:
            assert data.bufsize * 8 >= end * bits
        else:
            offsets, (_, bits, _, _) = buffers["offsets"]
            assert offsets.bufsize * 8 >= (end + 1) * bits


def test_a_buffer_without_room_for_offset_and_length_is_refused():  # SLICE-12
    told = ToldColumn((INT, 64, "l", "="), 3, offset=2, data=bytes(32))
    with pytest.raises(MalformedDescriptor, match="its data has 32 bytes, and offset and size together need 40"):
        lend.column(ToldFrame({"a": told}))
