"""Columns and tables of the libraries, read by the minimal implementation, against what the library itself shows."""

import datetime
import decimal
import itertools
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lend import minimal
from support import column_kinds
from support.arrow_layouts import encode, kinds, values_of
from support.arrow_structs import Made

ARRAYS = column_kinds.made(column_kinds.arrays) | column_kinds.made(column_kinds.more_arrays)
UNREAD = ("runs", "sparse union", "dense union")


@pytest.mark.parametrize("name", [name for name in ARRAYS if name not in UNREAD])
def test_pyarrow_arrays_and_their_slices(name):
    array, values = ARRAYS[name]
    for i, j in itertools.product((0, 1, 7, 8), (1, 5, 9, len(values))):
        assert minimal.column(array[i:j]).tolist() == values[i:j]


@settings(max_examples=150)
@given(
    kinds().flatmap(lambda kind: st.tuples(st.just(kind), st.lists(values_of(kind), max_size=12))),
    st.randoms(use_true_random=False),
)
def test_pyarrow_reads_the_structs_of_these_tests_as_we_do(drawn, random):
    """So the hand-made structs are Arrow's, and both readers agree on them."""
    pa = pytest.importorskip("pyarrow")
    kind, values = drawn
    assume(not {"tiM", "tiD", "tsn", "ttn", "tDn"} & set(re.findall("t..", str(kind))))  # no Python values, or pandas'
    assume(":Z" not in str(kind))
    node = encode(kind, values, random)
    theirs = pa.array(Made(node))
    assert minimal.column(Made(node)).tolist() == minimal.column(theirs).tolist() == values
    assert "+m" in str(kind) or theirs.to_pylist() == values  # pyarrow forgets the offset of the entries of a map


def test_a_pyarrow_table_of_several_batches_is_chunks_and_no_column():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": pa.chunked_array([[1, 2], [], [None]]), "b": pa.chunked_array([["x"], ["y", "z"]])})
    rows = [row for part in minimal.chunks(table) for row in part.tolist()]
    assert rows == table.to_pylist()
    with pytest.raises(minimal.Refused, match=r"Table has \d chunks: chunks\(x\) lists them"):
        minimal.column(table)


def test_a_slice_of_a_record_batch_and_of_a_struct_array_are_the_same_rows():
    pa = pytest.importorskip("pyarrow")
    rows = [{"a": i or None, "b": [i], "c": {"d": str(i)}} for i in range(12)]
    batch = pa.RecordBatch.from_pylist(rows)
    for i in range(12):
        assert minimal.column(batch.slice(i)).tolist() == rows[i:]
        assert minimal.column(batch.to_struct_array().slice(i).slice(1)).tolist() == rows[i + 1 :]


def test_rows_without_columns_are_counted():
    pa = pytest.importorskip("pyarrow")
    assert minimal.column(pa.array([{}] * 5, pa.struct([]))).tolist() == [{}] * 5


def empty_types():
    import pyarrow as pa

    plain = [pa.int64(), pa.bool_(), pa.null(), pa.string(), pa.large_binary(), pa.string_view(), pa.timestamp("us")]
    plain += [pa.list_(pa.int8()), pa.large_list(pa.int8()), pa.list_view(pa.int8()), pa.list_(pa.int8(), 2)]
    plain += [pa.map_(pa.string(), pa.int8()), pa.dictionary(pa.int8(), pa.string()), pa.decimal128(9, 2)]
    return [*plain, pa.struct([("a", pa.list_(pa.string())), ("b", pa.bool_())])]


@pytest.mark.parametrize("i", range(15))
def test_what_has_no_chunk_and_a_length_is_a_column_without_rows(i):
    pa = pytest.importorskip("pyarrow")
    type = empty_types()[i]
    (part,) = minimal.chunks(pa.chunked_array([], type))
    whole = minimal.column(pa.table({"a": pa.chunked_array([], type)}))
    assert (part.tolist(), part.null_count, whole.tolist(), whole["a"].tolist(), len(part)) == ([], 0, [], [], 0)
    same = minimal.column(pa.array([], type))
    assert (part.dtype, [child.dtype for child in part.children]) == (same.dtype, [c.dtype for c in same.children])
    assert part.buffers.keys() >= same.buffers.keys() - {"validity"}
    assert minimal.column_to_ndarray(part).shape == (0,)


def test_a_frame_without_rows_is_given_on():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": pa.chunked_array([], pa.string()), "b": pa.chunked_array([], pa.int8())})
    from pyarrow import interchange

    told = minimal.column(interchange.from_dataframe(minimal.column(table)))
    assert [(field.name, field.dtype, len(field)) for field in told.children] == [("a", "u", 0), ("b", "c", 0)]


def test_chunks_without_rows_are_none_to_a_column():
    pa = pytest.importorskip("pyarrow")
    assert minimal.column(pa.chunked_array([[], [1, 2], []], pa.int64())).tolist() == [1, 2]
    assert minimal.column(pa.chunked_array([[], []], pa.int64())).tolist() == []


def test_a_reader_of_several_chunks_says_that_it_was_read():
    pa = pytest.importorskip("pyarrow")
    table = pa.concat_tables([pa.table({"a": [1]}), pa.table({"a": [2]})])
    with pytest.raises(minimal.Refused, match=r"chunks\(x\) lists them; a reader gives them once"):
        minimal.column(table.to_reader())
    assert [part.tolist() for part in minimal.chunks(table.to_reader())] == [[{"a": 1}], [{"a": 2}]]


def test_a_reader_that_was_drained_has_no_column_instead_of_one_without_rows():
    pa = pytest.importorskip("pyarrow")
    reader = pa.table({"a": [1]}).to_reader()
    assert minimal.column(reader).tolist() == [{"a": 1}]
    with pytest.raises(minimal.Refused, match="has 0 chunks"):
        minimal.column(reader)


def test_an_extension_type_over_views_is_its_storage_and_its_metadata():
    pa = pytest.importorskip("pyarrow")
    array = pa.ExtensionArray.from_storage(pa.json_(pa.string_view()), pa.array(['{"a": 1}', None], pa.string_view()))
    column = minimal.column(array)
    assert column.tolist() == ['{"a": 1}', None]
    assert column.about["metadata"][b"ARROW:extension:name"] == b"arrow.json"


def test_numbers_at_an_odd_address_are_read():
    pa = pytest.importorskip("pyarrow")
    data = pa.py_buffer(b"\0" + (7).to_bytes(8, "little") + (2**40).to_bytes(8, "little")).slice(1)
    assert minimal.column(pa.Array.from_buffers(pa.int64(), 2, [None, data])).tolist() == [7, 2**40]


@pytest.mark.parametrize("kind", ["union", "run-end"])
def test_a_layout_that_is_not_read_is_refused_by_its_format(kind):
    pa = pytest.importorskip("pyarrow")
    union = pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2])])
    array = {"union": union, "run-end": pa.RunEndEncodedArray.from_arrays([2], ["x"])}[kind]
    with pytest.raises(minimal.Refused, match=r"the Arrow format .\+.* is not read here"):
        minimal.column(array)


def polars_frame(pl):
    return pl.DataFrame(
        {
            "int": [1, None, 3],
            "text": ["x", None, "a text of more than twelve bytes"],
            "flag": [None, True, False],
            "when": [datetime.datetime(2024, 1, 1), None, datetime.datetime(2024, 1, 2, 3, 4, 5, 6)],
            "day": [datetime.date(2024, 1, 1), None, datetime.date(1969, 12, 31)],
            "time": [datetime.time(1, 2, 3, 4), None, datetime.time(0)],
            "long": [datetime.timedelta(seconds=1), None, datetime.timedelta(days=-1)],
            "list": [[1, None], None, []],
            "pair": pl.Series([[1, 2], None, [3, 4]], dtype=pl.Array(pl.Int16, 2)),
            "fields": [{"a": 1, "b": "x"}, {"a": None, "b": None}, {"a": 3, "b": "z"}],
            "word": pl.Series(["a", None, "a"], dtype=pl.Categorical),
            "choice": pl.Series(["b", None, "a"], dtype=pl.Enum(["a", "b"])),
            "exact": pl.Series([decimal.Decimal("1.50"), None, decimal.Decimal(-2)], dtype=pl.Decimal(10, 2)),
            "nothing": [None, None, None],
            "bytes": [b"x", None, b""],
        }
    )


@pytest.mark.parametrize("start", range(4))
def test_a_polars_frame_and_its_slices(start):
    pl = pytest.importorskip("polars")
    frame = polars_frame(pl).slice(start)
    rows = [row for part in minimal.chunks(frame) for row in part.tolist()]
    assert rows == frame.to_dicts()


def test_a_polars_series_is_a_column():
    pl = pytest.importorskip("polars")
    assert minimal.column(pl.Series("s", [1, None, 3])[1:]).tolist() == [None, 3]


def test_a_pandas_frame_is_read_through_its_arrow_stream():
    pd, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"i": pd.array([1, None, 2**62 + 1], "Int64"), "s": ["x", None, "ü"], "f": [1.5, 2.5, -1.0]})
    assert minimal.column(frame).tolist() == [
        {"i": 1, "s": "x", "f": 1.5},
        {"i": None, "s": None, "f": 2.5},
        {"i": 2**62 + 1, "s": "ü", "f": -1.0},
    ]


def test_a_pandas_categorical_keeps_its_codes_its_order_and_its_nulls():
    pd, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    series = pd.Series(pd.Categorical(["b", None, "a"], categories=["b", "unused", "a"], ordered=True))
    column = minimal.column(series)
    assert (column.tolist(), column.about["ordered"]) == (["b", None, "a"], True)
    assert column.dictionary.tolist() == ["b", "unused", "a"]


def test_arro3_arrays_tables_and_slices():
    arro3, pa = pytest.importorskip("arro3.core"), pytest.importorskip("pyarrow")
    rows = [{"a": i or None, "b": str(i) * i} for i in range(9)]
    array = arro3.Array.from_arrow(pa.array(rows))
    assert minimal.column(array.slice(2, 6).slice(1, 3)).tolist() == rows[3:6]
    table = arro3.Table.from_arrow(pa.Table.from_pylist(rows))
    assert [row for part in minimal.chunks(table) for row in part.tolist()] == rows


@pytest.mark.parametrize("values", [[1.5, float("inf"), -0.0], [1, 2, -3], [True, False, True]])
def test_a_numpy_array_is_a_column_without_nulls(values):
    np = pytest.importorskip("numpy")
    column = minimal.column(np.array(values))
    assert (column.tolist(), column.nulls) == (values, ("none", None))


def test_a_masked_numpy_array_has_its_byte_mask_as_nulls():
    np = pytest.importorskip("numpy")
    column = minimal.column(np.ma.MaskedArray([1, 2, 3], [False, True, False]))
    assert (column.tolist(), column.nulls) == ([1, None, 3], ("bytemask", 1))


def test_a_masked_numpy_array_without_a_mask_has_no_nulls():
    np = pytest.importorskip("numpy")
    assert minimal.column(np.ma.MaskedArray([1, 2])).nulls == ("none", None)


def test_a_mask_of_an_array_interface_says_by_1_what_is_there():
    np = pytest.importorskip("numpy")
    values, mask = np.array([1, 2, 3]), np.array([1, 0, 1], "?")

    class Masked:
        __array_interface__ = {**values.__array_interface__, "mask": mask}

    column = minimal.column(Masked())
    assert (column.tolist(), column.nulls) == ([1, None, 3], ("bytemask", 0))


def test_times_of_numpy_have_nat_as_null():
    np = pytest.importorskip("numpy")
    column = minimal.column(np.array(["2024-01-01T00:00:01", "NaT"], "M8[ms]"))
    assert (column.tolist(), column.null_count) == ([datetime.datetime(2024, 1, 1, 0, 0, 1), None], 1)
    assert minimal.column(np.array([5, "NaT"], "m8[s]")).tolist() == [datetime.timedelta(seconds=5), None]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda np: np.arange(6)[::2], "strides"),
        (lambda np: np.zeros((2, 2)), "no column as it lies"),
        (lambda np: np.zeros(2, ">u2"), "no column as it lies"),
        (lambda np: np.zeros(2, "M8[D]"), "s, ms, us and ns"),
        (
            lambda np: np.zeros(2, "c16"),
            "that is one dimension without gaps, of numbers",
        ),
    ],
)
def test_an_array_that_is_no_column_as_it_lies_is_refused(make, said):
    np = pytest.importorskip("numpy")
    with pytest.raises(minimal.Refused, match=said):
        minimal.column(make(np))


def test_what_has_no_protocol_is_refused_by_its_class():
    with pytest.raises(minimal.Refused, match=r"^list is not lent as columns: .*it has no protocol for that"):
        minimal.column([1, 2])
