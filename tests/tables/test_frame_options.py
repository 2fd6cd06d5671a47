"""What `lend.table` and `lend.to` are told of a DataFrame: what becomes of its index, and of its Python objects."""

import pytest

import lend
from lend import front_columns
from lend.adapters import columns
from lend.errors import NotLendable, UnsupportedType

pa = pytest.importorskip("pyarrow")


def narwhals_of(thing):
    return pytest.importorskip("narwhals").from_native(thing, allow_series=True)


def test_index_of_pandas_is_left_out_by_the_callers_word():  # TYPE-19
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2]}, index=["x", "y"])
    assert (lend.table(frame).num_columns, lend.table(frame, index="drop").names) == (2, ("a",))


def test_index_of_what_has_none_is_refused():
    with pytest.raises(NotLendable, match="has none"):
        lend.table(pa.table({"a": [1]}), index="drop")


@pytest.mark.parametrize("wrap", [lambda frame: frame, lambda frame: narwhals_of(frame)], ids=["pandas", "narwhals"])
def test_index_is_taken_as_the_caller_says(wrap):  # TYPE-19
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": [3, 4]}, index=pandas.RangeIndex(5, 9, 2, name="r"))
    found = {
        index: columns.with_index(wrap(frame), index, ["a"], front_columns.take_column, None)
        for index in ("column", "drop", "metadata")
    }
    assert [table.names for table in found.values()] == [("r", "a"), ("a",), ("a",)]
    assert [bool(table.metadata) for table in found.values()] == [False, False, True]
    assert lend.to(found["metadata"], "pandas").index.equals(frame.index)
    with pytest.raises(ValueError, match='index is None, "column", "drop" or "metadata"'):
        columns.with_index(frame, "keep", None, front_columns.take_column, None)


def test_index_goes_with_memory_of_lends_own_and_other_nulls():  # TYPE-19
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, -9.0]}, index=["x", "y"])
    table = columns.with_index(frame, "drop", None, front_columns.take_column, True, -9.0)
    assert table["a"].tolist() == [1.0, None]
    assert table["a"].buffer_facts(1)[0] != frame["a"].to_numpy().ctypes.data


@pytest.mark.parametrize(
    "wrap", [lambda series: series, lambda series: narwhals_of(series)], ids=["pandas", "narwhals"]
)
def test_objects_are_read_as_nested_data_where_the_caller_says_so(wrap):  # TYPE-9
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([[1], None, [2, 3]], dtype=object, name="o")
    assert columns.nested(wrap(series), front_columns.take_column, None).tolist() == [[1], None, [2, 3]]
    assert columns.nested(pa.array([1]), front_columns.take_column, None).tolist() == [1]


@pytest.mark.parametrize(
    "wrap", [lambda frame: frame, lambda frame: narwhals_of(frame), lambda frame: {"o": frame["o"], "a": frame["a"]}],
    ids=["pandas", "narwhals", "a dict of Series"],
)  # fmt: skip
def test_objects_of_a_frame_are_read_as_nested_data_where_the_caller_says_so(wrap):  # TYPE-9
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"o": pandas.Series([[1], None], dtype=object), "a": [1, 2]})
    with pytest.raises(UnsupportedType, match="column 'o' is of objects: row 0 is a list") as refused:
        lend.table(wrap(frame))
    assert "(x, nested=True)" in refused.value.remedy
    assert {name: lend.table(wrap(frame), nested=True)[name].tolist() for name in "oa"} == {
        "o": [[1], None], "a": [1, 2],
    }  # fmt: skip
    assert lend.to(wrap(frame), "pyarrow", nested=True).to_pydict() == {"o": [[1], None], "a": [1, 2]}


def test_the_index_goes_along_with_nested_data():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"o": [[1], [2]]}, index=[7, 9])
    assert lend.table(frame, nested=True).names == ("__index_level_0__", "o")
    assert lend.table(frame, nested=True, index="drop").names == ("o",)
    assert lend.table(frame, nested=True, columns=["o"])["o"].tolist() == [[1], [2]]
    assert lend.to(frame, "pandas", nested=True).index.tolist() == [7, 9]
    assert lend.explain(frame, "pyarrow", nested=True).bytes_copied > 0


@pytest.mark.parametrize("target", ["pyarrow", "polars", "pandas"])
def test_a_series_of_objects_goes_to_a_library_as_nested_data(target):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip(target)
    made = lend.to(pandas.Series([[1], [2, 3]]), target, nested=True)
    assert lend.column(made).tolist() == [[1], [2, 3]]


def test_what_has_no_objects_is_as_without():
    assert lend.table(pa.table({"a": [1]}), nested=True)["a"].tolist() == [1]
    assert lend.to(pa.table({"a": [1]}), "numpy", nested=True)["a"].tolist() == [1]
    with pytest.raises(TypeError, match="nested is True or False"):
        lend.to(pa.table({"a": [1]}), "numpy", nested=1)
