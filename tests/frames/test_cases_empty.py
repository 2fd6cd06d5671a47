"""Reported faults of frames without rows (EMPTY rows): there is nothing to copy, and types stay."""

import pytest

import lend
from support.told_frames import Shown


def without_rows(library):
    if library == "pyarrow":
        pa = pytest.importorskip("pyarrow")
        return pa.table({"a": pa.array([], pa.int64()), "f": pa.array([], pa.float64()), "b": pa.array([], pa.bool_())})
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": pd.array([], "int64"), "f": pd.array([], "float64"), "b": pd.array([], "bool")})
    return frame if library == "pandas" else Shown(frame)


EACH_SOURCE = pytest.mark.parametrize("source", ["pandas", "dataframe protocol", "pyarrow"])


@EACH_SOURCE
@pytest.mark.parametrize("target", ["pandas", "polars", "pyarrow", "arro3", "duckdb"])
def test_no_rows_need_no_copy_in_any_library_of_frames(source, target):  # EMPTY-1
    pytest.importorskip(target)
    pytest.importorskip("pyarrow")  # which duckdb and pandas need
    made = lend.to(without_rows(source), target, copy=False)
    if target == "duckdb":
        assert ([str(kind) for kind in made.types], made.fetchall()) == (["BIGINT", "DOUBLE", "BOOLEAN"], [])
    else:
        kinds = [str(column.dtype).replace("_packed", "") for column in lend.table(made)]
        assert (kinds, lend.table(made).shape) == (["int64", "float64", "bool"], (0, 3))


@EACH_SOURCE
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_no_rows_need_no_copy_in_any_library_of_arrays(source, target):  # EMPTY-1
    pytest.importorskip(target)
    made = lend.to(without_rows(source), target, copy=False)
    kinds = [str(array.dtype).removeprefix("torch.") for array in made.values()]
    assert (kinds, [len(array) for array in made.values()]) == (["int64", "float64", "bool"], [0, 0, 0])


def test_what_explain_tells_of_no_rows_is_that_nothing_is_copied():  # EMPTY-1
    pytest.importorskip("duckdb")
    assert lend.explain(without_rows("pyarrow"), "duckdb").bytes_copied == 0


@pytest.mark.parametrize("copy", [None, False])
def test_objects_of_no_rows_are_a_column_of_nulls(copy):  # EMPTY-2
    pd = pytest.importorskip("pandas")
    column = lend.column(pd.Series([], name="a", dtype=object), copy=copy)
    assert (str(column.dtype), column.tolist(), column.name) == ("null", [], "a")


def test_objects_of_no_rows_are_text_where_the_dataframe_protocol_says_so():  # EMPTY-2
    pd = pytest.importorskip("pandas")
    column = lend.table(Shown(pd.Series([], name="a", dtype=object).to_frame()))["a"]
    assert (str(column.dtype), column.tolist()) == ("utf8", [])


@pytest.mark.parametrize("target", ["pandas", "polars", "pyarrow", "arro3"])
def test_objects_of_no_rows_go_to_every_library(target):  # EMPTY-2
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pytest.importorskip(target)
    made = lend.to(pd.Series([], name="a", dtype=object).to_frame(), target)
    assert lend.table(made).shape == (0, 1)


def of_each_type(pa):
    return pa.schema(
        [
            ("null", pa.null()), ("int8", pa.int8()), ("bool", pa.bool_()), ("text", pa.string()),
            ("list", pa.list_(pa.int8())), ("struct", pa.struct([("x", pa.int8())])), ("decimal", pa.decimal128(5, 2)),
            ("time", pa.timestamp("us")), ("words", pa.dictionary(pa.int8(), pa.string())), ("span", pa.duration("us")),
            ("map", pa.map_(pa.string(), pa.int8())),
        ]
    )  # fmt: skip


@pytest.mark.parametrize("target", ["pandas", "polars", "pyarrow", "arro3", "duckdb"])
def test_no_rows_of_any_type_need_no_copy(target):  # EMPTY-1
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip(target)
    source = of_each_type(pa).empty_table()
    assert lend.explain(source, target).bytes_copied == 0
    assert lend.table(lend.to(source, target, copy=False)).shape == (0, source.num_columns)


KINDS = ["null", "int", "bool", "utf8", "list", "struct", "decimal", "datetime", "dictionary", "timedelta", "map"]


@pytest.mark.parametrize("target", ["pyarrow", "pandas", "polars"])
@pytest.mark.parametrize("source", ["pyarrow", "pandas", "polars"])
def test_no_rows_of_any_type_keep_their_type_on_any_way(source, target):  # EMPTY-5
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip(source)
    pytest.importorskip(target)
    made = lend.table(lend.to(lend.to(of_each_type(pa).empty_table(), source), target))
    kinds = [column.dtype.kind.removeprefix("large_").removesuffix("_view").removesuffix("_packed") for column in made]
    assert (len(made), kinds) == (0, KINDS)


def arrow_without_a_chunk(kind):
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    return pd, pd.arrays.ArrowExtensionArray(pa.chunked_array([], pa.type_for_alias(kind)))


@pytest.mark.parametrize("length", [0, 2])
def test_categories_of_pandas_without_a_chunk_are_none(length):  # EMPTY-5
    pd, words = arrow_without_a_chunk("large_string")
    series = pd.Series(pd.Categorical.from_codes([-1] * length, categories=pd.Index(words)))
    column = lend.column(series, copy=False)
    assert (column.tolist(), column.dictionary.tolist()) == ([None] * length, [])


def test_intervals_of_pandas_without_a_chunk_are_none():  # EMPTY-5
    pd, ends = arrow_without_a_chunk("int64")
    assert lend.column(pd.Series(pd.arrays.IntervalArray.from_arrays(ends, ends))).tolist() == []
