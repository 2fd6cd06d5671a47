"""Faults that were reported of libraries that read and give columns: neither implementation repeats one of them.

What both can do is asked of both (`side`), the dataframe protocol of minimal alone. The names are those of the reports:
NULL of missing values, SLICE of offsets and chunks, EMPTY, TYPE, COPY, STREAM.
"""

import datetime
import warnings

import pytest

from lend import minimal
from support.both import EACH_SIDE

pa = pytest.importorskip("pyarrow")
np = pytest.importorskip("numpy")


class Frame:
    """Shows `__dataframe__` of an object and nothing else of it."""

    def __init__(self, obj):
        self.obj = obj

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=DeprecationWarning, message=".*(interchange|dataframe)")
            return self.obj.__dataframe__(allow_copy=allow_copy)


class Stream:
    """Shows `__arrow_c_stream__` of an object, without the argument that is optional."""

    def __init__(self, obj):
        self.obj = obj

    def __arrow_c_stream__(self):
        return self.obj.__arrow_c_stream__()


def rows(obj, **keywords):
    return [row for part in minimal.chunks(obj, **keywords) for row in part.tolist()]


def by_every_wire(obj):
    """Its rows by each of its protocols, which must be the same."""
    by_stream, by_frame = rows(Stream(obj)), rows(Frame(obj), allow_copy=True)
    assert by_stream == by_frame
    return by_stream


def of_pandas(case):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(
        {
            "NULL-1": lambda: {"a": pd.array([1, 2, None, 2**62 + 1], "Int64")},
            "NULL-2": lambda: {"a": pd.array([7, None, 9], "int32[pyarrow]")},
            "NULL-3": lambda: {
                "a": pd.array(["x", None], "large_string[pyarrow]"),
                "b": pd.array(["x", "y"], "large_string[pyarrow]"),
            },
            "NULL-4": lambda: {"a": pd.Series(["x", None, "yyy"])},
            "NULL-5": lambda: {"a": pd.Categorical([None, None], categories=["x"])},
            "NULL-6": lambda: {"a": pd.Series([None, datetime.datetime(2000, 1, 1)])},
            "NULL-7": lambda: {"a": pd.array([True, None, False], "boolean")},
            "TYPE-14": lambda: {"a": pd.Categorical([10, None, 30], categories=[30, 20, 10], ordered=True)},
        }[case]()
    )


OF_PANDAS = {
    "NULL-1": [1, 2, None, 2**62 + 1],
    "NULL-2": [7, None, 9],
    "NULL-4": ["x", None, "yyy"],
    "NULL-5": [None, None],
    "NULL-6": [None, datetime.datetime(2000, 1, 1)],
    "NULL-7": [True, None, False],
    "TYPE-14": [10, None, 30],
}


@EACH_SIDE
@pytest.mark.parametrize("case", OF_PANDAS)
def test_a_column_of_pandas_has_its_values(case, side):
    assert side.take_rows(of_pandas(case)) == [{"a": value} for value in OF_PANDAS[case]]


@pytest.mark.parametrize("case", OF_PANDAS)
def test_a_column_of_pandas_is_right_by_every_wire(case):
    assert by_every_wire(of_pandas(case)) == [{"a": value} for value in OF_PANDAS[case]]


def test_null_3_a_mask_is_told_by_its_own_kind():
    table = minimal.column(Frame(of_pandas("NULL-3")), allow_copy=True)
    assert table.tolist() == [{"a": "x", "b": "x"}, {"a": None, "b": "y"}]
    assert table["b"].null_count == 0


@EACH_SIDE
def test_null_8_nan_and_null_stay_apart(side):
    (found,) = side.take_columns(pa.array([1.5, float("nan"), None]))
    assert (found.null_count, str(found.tolist())) == (1, "[1.5, nan, None]")


def test_null_8_nan_and_null_stay_apart_in_an_ndarray():
    array = minimal.column_to_ndarray(minimal.column(pa.array([1.5, float("nan"), None])))
    assert array.mask.tolist() == [False, False, True]


def test_null_9_large_integers_never_become_floats():
    array = minimal.column_to_ndarray(minimal.column(pa.array([2**62 + 1, None])))
    assert (array.dtype, array.tolist()) == (np.dtype("i8"), [2**62 + 1, None])


@EACH_SIDE
def test_null_11_an_empty_chunk_in_the_middle(side):
    table = pa.table({"a": pa.chunked_array([pa.array([1, None]), pa.array([], pa.int64()), pa.array([3, 4, None])])})
    assert side.take_rows(table) == [{"a": value} for value in (1, None, 3, 4, None)]


@EACH_SIDE
def test_null_13_nulls_after_two_slices(side):
    column = side.take_columns(pa.array([None, 1, None, 3, None, 5]).slice(1))[0][1:][:2]
    assert (column.tolist(), column.null_count) == ([None, 3], 1)


SLICED = pa.table({"a": [1, 2, 3, 4], "b": ["x", "y", "z", None]}).slice(1, 2)


@EACH_SIDE
def test_slice_1_an_offset_counts(side):
    assert side.take_rows(SLICED) == [{"a": 2, "b": "y"}, {"a": 3, "b": "z"}]


def test_slice_1_an_offset_counts_by_every_wire():
    assert by_every_wire(SLICED) == [{"a": 2, "b": "y"}, {"a": 3, "b": "z"}]


@EACH_SIDE
def test_slice_2_bits_at_every_offset(side):
    source = [None if i % 3 == 0 else i for i in range(64)]
    for length in (1, 2, 13):
        for offset in range(33):
            part = pa.array(source).slice(offset, length)
            assert side.take_rows(part) == source[offset : offset + length]


def test_slice_2_bits_at_every_offset_by_every_wire():
    source = [None if i % 3 == 0 else i for i in range(64)]
    for length in (1, 2, 13):
        for offset in range(33):
            part = pa.table({"a": pa.array(source).slice(offset, length)})
            assert by_every_wire(part) == [{"a": value} for value in source[offset : offset + length]]


@EACH_SIDE
def test_slice_3_large_text_that_is_not_ascii(side):
    assert side.take_rows(pa.array(["foo", None, "bär"], pa.large_string()).slice(1)) == [None, "bär"]


@EACH_SIDE
def test_slice_5_and_10_structs_that_are_sliced_again(side):
    source = [None if i % 4 == 1 else {"a": i, "b": [str(i)] * (i % 3)} for i in range(12)]
    array = pa.array(source)
    for i in range(12):
        (column,) = side.take_columns(array.slice(i))
        assert (column.tolist(), column[1:4].tolist()) == (source[i:], source[i:][1:4])


@EACH_SIDE
def test_slice_7_no_chunks_are_no_rows(side):
    table = pa.table({"a": pa.chunked_array([], pa.int64()), "b": pa.chunked_array([], pa.string())})
    assert side.take_rows(table) == []


@EACH_SIDE
def test_slice_8_columns_with_chunks_at_different_rows(side):
    table = pa.table({"a": pa.chunked_array([[1, 2], [3]]), "b": pa.chunked_array([["x"], ["y", "z"]])})
    assert side.take_rows(table) == table.to_pylist()


def test_slice_8_columns_with_chunks_at_different_rows_by_every_wire():
    table = pa.table({"a": pa.chunked_array([[1, 2], [3]]), "b": pa.chunked_array([["x"], ["y", "z"]])})
    assert by_every_wire(table) == table.to_pylist()


def test_slice_9_chunks_of_our_own_frame():
    table = minimal.column(
        pa.record_batch({"a": [1, None, 3, 4, 5], "b": [True, False, None, True, True], "c": list("vwxyz")})
    )
    parts = [minimal.column(part) for part in table.__dataframe__().get_chunks(3)]
    assert [row for part in parts for row in part.tolist()] == table.tolist()


@EACH_SIDE
def test_slice_11_the_chunks_of_a_polars_series_stay(side):
    pl = pytest.importorskip("polars")
    series = pl.concat([pl.Series([1, 2]), pl.Series([3])], rechunk=False)
    assert side.take_rows(series) == [1, 2, 3]
    assert series.n_chunks() == 2


@EACH_SIDE
def test_slice_13_chunks_with_dictionaries_of_their_own(side):
    array = pa.chunked_array([pa.array(["b", "a"]).dictionary_encode(), pa.array(["a", None, "z"]).dictionary_encode()])
    parts = side.take_columns(array)
    assert [part.dictionary.tolist() for part in parts] == [["b", "a"], ["a", "z"]]
    assert [part.tolist() for part in parts] == [["b", "a"], ["a", None, "z"]]


@EACH_SIDE
def test_slice_16_codes_of_a_slice(side):
    assert side.take_rows(pa.array(["x", "y", None, "x"]).dictionary_encode().slice(2)) == [None, "x"]


def test_slice_14_a_slice_says_by_its_buffers_what_it_keeps():
    column = minimal.column(np.zeros(2_000_000))[5:6]
    assert (len(column), column.buffers["data"].nbytes) == (1, 16_000_000)


def test_empty_1_no_rows_need_no_copy():
    table = pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.float64())})
    assert rows(Frame(table)) == []


@EACH_SIDE
def test_empty_3_rows_without_columns(side):
    assert side.take_rows(pa.array([{}] * 5, pa.struct([]))) == [{}] * 5


@EACH_SIDE
def test_empty_4_an_address_of_nothing_is_not_read(side):
    pl = pytest.importorskip("polars")
    assert side.take_rows(pl.Series([[]], dtype=pl.List(pl.String))) == [[]]


@EACH_SIDE
@pytest.mark.parametrize(
    "type",
    [
        pa.null(), pa.int8(), pa.bool_(), pa.string(), pa.list_(pa.int8()), pa.struct([("a", pa.int8())]),
        pa.decimal128(5, 2), pa.timestamp("us"), pa.dictionary(pa.int8(), pa.string()), pa.duration("s"),
        pa.map_(pa.string(), pa.int8()),
    ],
    ids=str,
)  # fmt: skip
def test_empty_5_no_rows_of_any_type(type, side):
    assert side.take_rows(pa.array([], type)) == []


def test_type_1_columns_of_one_name_are_read_by_position_and_refused_by_name():
    table = minimal.column(pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"]))
    assert [child.tolist() for child in table.children] == [[1], [2]]
    with pytest.raises(KeyError, match="x"):
        table["x"]
    with pytest.raises(minimal.Refused, match="two columns of one name"):
        table.__dataframe__()


@EACH_SIDE
def test_type_3_a_zone_with_nulls_over_the_change_of_the_clock(side):
    zoned = pa.array([1711846799, None, 1711850400], pa.timestamp("s", "Europe/Paris"))
    found = side.take_rows(zoned)
    assert found == zoned.to_pylist()
    assert [moment and moment.utcoffset().seconds for moment in found] == [3600, None, 7200]


def test_type_4_another_byte_order_is_never_read_as_our_own():
    with pytest.raises(minimal.Refused, match="no column as it lies"):
        minimal.column(np.array([1, 2], ">u2"))


@EACH_SIDE
@pytest.mark.parametrize("index", [pa.int8(), pa.uint16(), pa.uint64()])
@pytest.mark.parametrize("values", [[5, None, 6], [datetime.datetime(2000, 1, 1), None, datetime.datetime(2001, 1, 1)]])
def test_type_10_dictionaries_of_what_is_no_text(index, values, side):
    array = pa.array(values).dictionary_encode()
    array = pa.DictionaryArray.from_arrays(array.indices.cast(index), array.dictionary, ordered=True)
    (column,) = side.take_columns(array)
    assert (column.tolist(), side.column_facts(column).ordered) == (values, True)


@EACH_SIDE
@pytest.mark.parametrize("zone", ["+02:00", "-05:30", "Z", "utc"])
def test_type_13_a_zone_stays_as_it_is_written(zone, side):
    (column,) = side.take_columns(pa.array([0], pa.timestamp("s", zone)))
    assert side.column_facts(column).format == f"tss:{zone}"
    assert column.tolist() == [datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)]


@EACH_SIDE
def test_copy_2_bits_of_booleans_stay_bits(side):
    array = pa.array([True, None, False])
    (column,) = side.take_columns(array)
    assert column.buffers["data"].ptr == array.buffers()[1].address


def test_copy_2_bits_of_booleans_are_told_as_bits():
    column = minimal.column(pa.array([True, None, False]))
    assert column.__dataframe__().get_column(0).dtype == (20, 1, "b", "=")


def test_copy_3_a_stride_is_refused_with_the_stride():
    with pytest.raises(minimal.Refused, match=r"strides \(16,\)"):
        minimal.column(np.arange(6).reshape(3, 2)[:, 1])


def test_stream_1_buffers_stay_where_they_are():
    pd = pytest.importorskip("pandas")
    column = minimal.column(Frame(pd.DataFrame({"a": ["x" * 50, "y"]})), allow_copy=True)["a"]
    data = column.buffers["data"]
    del column
    assert bytes(data.memoryview()[:51]) == b"x" * 50 + b"y"


def test_stream_2_a_table_is_read_twice_and_a_drained_reader_has_no_column():
    table = pa.table({"a": [1, 2]})
    assert rows(table) == rows(table) == table.to_pylist()
    reader = table.to_reader()
    rows(reader)
    with pytest.raises(minimal.Refused, match="0 chunks"):
        minimal.column(reader)


@EACH_SIDE
@pytest.mark.parametrize("type", [pa.string_view(), pa.binary_view()], ids=str)
def test_stream_6_and_7_views_that_are_sliced(type, side):
    values = ["kürzer", None, "länger als zwölf Bytes", "x" * 99]
    values = values if type == pa.string_view() else [value and value.encode() for value in values]
    assert side.take_rows(pa.array(values, type).slice(1)) == values[1:]


@EACH_SIDE
def test_stream_9_the_argument_that_is_optional_is_not_demanded(side):
    assert side.take_columns(Stream(pa.chunked_array([[1, None]])))[0].tolist() == [1, None]


@EACH_SIDE
def test_stream_12_numbers_at_an_odd_address(side):
    data = pa.py_buffer(b"\0" + (7).to_bytes(8, "little") + (2**40).to_bytes(8, "little")).slice(1)
    array = pa.Array.from_buffers(pa.int64(), 2, [None, data])
    (column,) = side.take_columns(array)
    assert (column.tolist(), column.buffers["data"].ptr) == ([7, 2**40], data.address)
