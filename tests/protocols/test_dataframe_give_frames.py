"""Frames that lend gives by `__dataframe__`: their columns, chunks and metadata, and those on a device."""

import itertools
import sys

import pytest

import lend
from lend.errors import CopyRequired, LendError, MalformedDescriptor, NotHostAccessible, UnsupportedLayout
from support.told_frames import BITS, Shown


def told(thing, **said):
    return thing.__dataframe__(**said).get_column(0)


def chunked(pa):
    return pa.table(
        {
            "a": pa.chunked_array([[1, 2], [3, None, 5], [6]]),
            "s": pa.chunked_array([["x", None, "y"], ["z", "", "é"]]),
        }
    )


def rows_of(frame):
    table = lend.table(Shown(frame))
    return [dict(zip(table.names, row, strict=True)) for row in zip(*(c.tolist() for c in table.columns), strict=True)]


def test_a_frame_names_counts_and_selects_its_columns():
    pa = pytest.importorskip("pyarrow")
    source = pa.table({"a": [1, None, 3], "b": ["x", "y", None], "c": [True] * 3})
    frame = lend.table(source)[1:].__dataframe__()
    assert (frame.num_columns(), frame.num_rows(), frame.num_chunks(), frame.version) == (3, 2, 1, 0)
    assert frame.column_names() == ["a", "b", "c"]
    assert [part.size() for part in frame.get_columns()] == [2, 2, 2]
    for part in (frame.select_columns([2, 0]), frame.select_columns_by_name(["c", "a"])):
        assert rows_of(part) == source.slice(1).select(["c", "a"]).to_pylist()


@pytest.mark.parametrize("times", [None, 1, 2, 3])
def test_chunks_are_one_cut_through_all_columns_and_make_the_whole(times):
    pa = pytest.importorskip("pyarrow")
    source = chunked(pa)
    frame = lend.table(source).__dataframe__()
    assert frame.num_chunks() == 4
    parts = list(frame.get_chunks(times and 4 * times))
    assert len(parts) == 4 * (times or 1)
    assert [part.num_chunks() for part in parts] == [1] * len(parts)
    assert list(itertools.chain.from_iterable(map(rows_of, parts))) == source.to_pylist()


@pytest.mark.parametrize("count", [0, 3, 5])
def test_chunks_that_are_no_multiple_are_refused(count):
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="a multiple of the 4 chunks"):
        lend.table(chunked(pa)).__dataframe__().get_chunks(count)


def test_a_table_without_rows_is_one_chunk():
    pa = pytest.importorskip("pyarrow")
    frame = lend.table(pa.table({"a": pa.array([], pa.int64())})).__dataframe__()
    assert (frame.num_chunks(), [part.num_rows() for part in frame.get_chunks(2)]) == (1, [0, 0])
    assert [part.size() for part in frame.get_column(0).get_chunks()] == [0]


@pytest.mark.parametrize("count", [None, 4, 8])
def test_chunks_of_a_column_make_the_whole(count):
    pa = pytest.importorskip("pyarrow")
    given = told(lend.table(chunked(pa)))
    parts = [lend.column(Shown(part._column.__dataframe__())).tolist() for part in given.get_chunks(count)]
    assert (given.num_chunks(), len(parts)) == (4, count or 4)
    assert list(itertools.chain.from_iterable(parts)) == [1, 2, 3, None, 5, 6]


def test_several_chunks_asked_for_as_one_are_joined_in_a_copy_or_refused():
    pa = pytest.importorskip("pyarrow")
    frame = lend.table(chunked(pa)).__dataframe__()
    for name, values in chunked(pa).to_pydict().items():
        given = frame.get_column_by_name(name)
        assert (given.size(), given.get_buffers() is not None) == (6, True)
        assert lend.column(Shown(given._shown().__dataframe__())).tolist() == values
    with pytest.raises(CopyRequired, match="chunks"):
        frame.__dataframe__(allow_copy=False).get_column(0).get_buffers()


def test_the_type_of_numbers_in_chunks_is_told_without_joining_them():
    pa = pytest.importorskip("pyarrow")
    with lend.copies() as made:
        assert told(lend.table(chunked(pa))).dtype[1:] == (64, "l", "=")
    assert made.count == 0


def test_a_word_on_copies_makes_another_frame_of_the_same():
    frame = lend.column(b"ab").__dataframe__()
    assert frame.__dataframe__() is frame
    assert frame.__dataframe__(allow_copy=False).get_column(0).get_buffers()["data"][0].bufsize == 2


def test_nan_as_null_is_refused_and_not_ignored():
    with pytest.raises(LendError, match="nan_as_null=True is not done"):
        lend.column(b"ab").__dataframe__(nan_as_null=True)


def test_two_columns_of_one_name_are_refused_by_name():
    table = lend.table({"a": b"x", "b": b"y"}).select(["a", "a"])
    with pytest.raises(MalformedDescriptor, match="two columns are named 'a'"):
        table.__dataframe__()


def test_a_lazy_table_is_refused():
    pa = pytest.importorskip("pyarrow")
    table = lend.table(pa.table({"a": [1]}).to_reader(), lazy=True)
    with pytest.raises(UnsupportedLayout, match="lazy"):
        table.__dataframe__()


def test_metadata_is_a_dict_of_names_with_a_prefix():
    pa = pytest.importorskip("pyarrow")
    plain = lend.table(pa.table({"a": [1]})).__dataframe__()
    assert (plain.metadata, plain.get_column(0).metadata) == ({}, {})
    said = lend.table(pa.table({"a": [1]}).replace_schema_metadata({"k": "v"})).__dataframe__()
    assert said.metadata == {"lend.metadata": {b"k": b"v"}}


def test_the_range_that_pandas_had_as_its_index_is_handed_on_while_it_fits():
    pd = pytest.importorskip("pandas")
    table = lend.table(pd.DataFrame({"a": [1, 2, 3]}, index=range(10, 16, 2)), index="metadata")
    assert list(table.__dataframe__().metadata["pandas.index"]) == [10, 12, 14]
    assert "pandas.index" not in table[1:].__dataframe__().metadata


def on_device(dtype, buffers, **said):
    held = {
        role: lend.Buffer.from_pointer(1 << 20, size, owner=object(), device="cuda:1") for role, size in buffers.items()
    }
    return lend.Column.from_buffers(dtype, 2, held, **said)


def test_memory_of_a_device_is_told_with_the_device_and_not_read():
    given = told(on_device("utf8", {"offsets": 12, "data": 9, "validity": 1}))
    assert (given.null_count, given.describe_null) == (None, (BITS, 0))
    for buffer, _ in given.get_buffers().values():
        assert (buffer.__dlpack_device__(), type(buffer.__dlpack_device__()[0]).__name__) == (
            (2, 1),
            "DlpackDeviceType",
        )


def test_bools_of_a_device_stay_bits():
    given = told(on_device(lend.DType.from_arrow("b"), {"data": 1}))
    assert (given.dtype, given.get_buffers()["data"][0].bufsize) == ((20, 1, "b", "="), 1)


def test_memory_of_a_device_that_would_have_to_be_changed_is_refused():
    swapped = lend.DType(">i4" if sys.byteorder == "little" else "<i4")
    with pytest.raises(NotHostAccessible, match="is on cuda:1"):
        told(on_device(swapped, {"data": 8})).get_buffers()


@pytest.mark.parametrize("start", [0, 1, 7, 9])
def test_pyarrow_reads_all_of_it(start):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import interchange

    source = chunked(pa).append_column("b", [[True, None, False, True, None, True]])[start:]
    source = source.append_column("c", source["s"].dictionary_encode())
    assert interchange.from_dataframe(lend.table(source).__dataframe__()).to_pylist() == source.to_pylist()
