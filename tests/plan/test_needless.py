"""What goes where it can go, and remedies that are of use for what came."""

import datetime as dt

import pytest

import lend
from lend.errors import LendError, UnsupportedType

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")


def remedy(obj, target, **asked):
    with pytest.raises(LendError) as refused:
        lend.to(obj, target, **asked)
    return refused.value.remedy


# -- times and records go to pyarrow as columns ------------------------------------------------------------------------


@pytest.mark.parametrize("take", [lambda x: x, lend.view], ids=["itself", "a View"])
@pytest.mark.parametrize("target", ["pyarrow", pa.Array], ids=str)
@pytest.mark.parametrize("dtype", ["M8[s]", "M8[ns]", "M8[D]", "m8[us]"])
def test_times_go_to_pyarrow_with_a_null_for_each_nat(dtype, target, take):
    made = lend.to(take(np.array([0, "NaT"], dtype)), target)
    assert made.null_count == 1
    assert made[0].as_py() in (dt.datetime(1970, 1, 1), dt.date(1970, 1, 1), dt.timedelta(0))


def test_records_go_to_pyarrow_as_structs():
    array = np.array([(1, 2.5), (3, 4.5)], dtype=[("a", "i4"), ("b", "f8")])
    with lend.copies() as made:
        assert lend.to(array, "pyarrow").to_pylist() == [{"a": 1, "b": 2.5}, {"a": 3, "b": 4.5}]
    assert made.bytes == lend.explain(array, "pyarrow").bytes_copied


# -- objects that go to no array ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["torch", "jax"])
@pytest.mark.parametrize("wrap", [lambda x: pd.Series(x, dtype=object), lambda x: x], ids=["Series", "ndarray"])
def test_objects_are_told_to_be_made_numbers_where_they_are_numbers(target, wrap):
    pytest.importorskip(target)
    told = remedy(wrap(np.array([1, 2.5], dtype=object)), target)
    assert "astype" in told


@pytest.mark.parametrize("target", ["torch", "jax"])
@pytest.mark.parametrize("wrap", [lambda x: pd.Series(x, dtype=object), lambda x: x], ids=["Series", "ndarray"])
def test_text_is_not_told_to_be_made_numbers(target, wrap):
    pytest.importorskip(target)
    obj = wrap(np.array(["a", "b"], dtype=object))
    told = remedy(obj, target)
    assert "astype" not in told
    assert 'lend.to(x, "pyarrow")' in told
    assert lend.to(obj, "pyarrow").to_pylist() == ["a", "b"]


@pytest.mark.parametrize("values", [[dt.date(2026, 1, 1), None], [[1], [2, 3]]], ids=["dates", "lists"])
def test_of_dates_and_lists_a_column_is_told(values):
    pytest.importorskip("torch")
    obj = pd.Series(values, dtype=object)
    told = remedy(obj, "torch")
    assert "astype" not in told
    assert "lend.column(pyarrow.array(list(x)))" in told
    assert lend.column(pa.array(list(obj))).tolist() == values


# -- columns of pandas -------------------------------------------------------------------------------------------------


def test_nested_is_told_where_pyarrow_finds_one_type_for_all():
    series = pd.Series([[1], [2]], dtype=object)
    with pytest.raises(UnsupportedType, match="nested=True"):
        lend.column(series)
    assert lend.column(series, nested=True).tolist() == [[1], [2]]


def test_of_objects_of_no_one_type_something_else_is_told():
    series = pd.Series([1, "a", [2]], dtype=object)
    with pytest.raises(UnsupportedType) as refused:
        lend.column(series)
    assert "nested" not in refused.value.remedy
    assert 'lend.column(x.astype("str"))' in refused.value.remedy
    assert len(lend.column(series.astype("str"))) == 3


def test_in_a_frame_the_column_is_named():
    frame = pd.DataFrame({"a": pd.Series([1, "a", [2]], dtype=object)})
    with pytest.raises(UnsupportedType, match=r"""lend\.column\(x\['a'\]\.astype\("str"\)\)"""):
        lend.table(frame)


@pytest.mark.parametrize("lost", [pd.NaT, pd.NA, float("nan"), None], ids=str)
def test_text_among_which_anything_of_pandas_says_null_is_text(lost):
    assert lend.column(pd.Series(["a", lost], dtype=object)).tolist() == ["a", None]


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: x.array, pd.Index], ids=["Series", "array", "Index"])
def test_what_is_sparse_is_written_out_by_what_is_told(wrap):
    obj = wrap(pd.Series([0.0, 1.0], dtype="Sparse[float64]"))
    with pytest.raises(UnsupportedType, match=r"numpy\.asarray\(x\)"):
        lend.column(obj)
    assert lend.column(np.asarray(obj)).tolist() == [0.0, 1.0]


def test_of_a_sparse_column_in_a_frame_the_column_is_named():
    with pytest.raises(UnsupportedType, match=r"x\['a'\]\.sparse\.to_dense\(\)"):
        lend.table(pd.DataFrame({"a": pd.Series([0.0], dtype="Sparse[float64]")}))


# -- remedies for what came --------------------------------------------------------------------------------------------


def interval():
    return pa.array([(1, 2, 3)], pa.month_day_nano_interval())


def test_a_column_that_polars_has_not_is_not_told_to_be_left_out_of_a_table():
    pytest.importorskip("polars")
    assert "the other columns" not in remedy(interval(), "polars")
    assert "the other columns" in remedy(pa.table({"a": interval()}), "polars")


@pytest.mark.parametrize("target", ["torch", "numpy"])
def test_of_a_column_of_nulls_alone_nan_is_told_and_works(target):
    pytest.importorskip(target)
    assert f'lend.to(x, "{target}", nulls="nan")' in remedy(pa.nulls(2), target)
    assert np.isnan(np.asarray(lend.to(pa.nulls(2), target, nulls="nan"))).all()


def test_asarray_of_a_column_with_nulls_names_ways_to_have_its_values():
    column = lend.column(pa.array([1, None]))
    with pytest.raises(UnsupportedType) as refused:
        np.asarray(column)
    for way in ('lend.to(x, "numpy.ma")', 'lend.to(x, "numpy", nulls="object")', 'lend.to(x, "numpy", nulls="nan")'):
        assert way in refused.value.remedy
    assert lend.to(column, "numpy.ma").tolist() == [1, None]
    assert lend.to(column, "numpy", nulls="object").tolist() == [1, None]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("timestamp[us]", "datetime64[us]"), ("timestamp[us, tz=UTC]", "datetime64[us, UTC]"),
        ("duration[ms]", "timedelta64[ms]"), ("date32[day]", "date32"), ("string", "utf8"), ("str", "utf8"),
        ("large_string", "large_utf8"), ("string_view", "utf8_view"), ("string[pyarrow]", "utf8"),
        ("halffloat", "float16"), ("Datetime[us]", "datetime64[us]"),
    ],
)  # fmt: skip
def test_the_names_of_arrow_and_pandas_are_answered_with_ours(text, meant):
    with pytest.raises(ValueError, match="did you mean") as refused:
        lend.DType(text)
    assert repr(meant) in str(refused.value)
    assert str(lend.DType(meant)) == meant
