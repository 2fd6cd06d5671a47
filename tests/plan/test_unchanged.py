"""What goes to the library whose it is comes back itself, with all that no column has."""

import pytest

import lend
from lend.errors import UnsupportedType

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")


class _Odd:
    pass


def kept():
    """Objects of which a column keeps less than they have."""
    frame = pd.DataFrame({"a": pd.Series(["x", None], dtype=object)}, index=pd.Index([3, 4], name="q"))
    frame.attrs["k"] = 1
    return {
        "objects": pd.Series(["a", "b"], dtype=object),
        "objects of any kind": pd.Series(["a", 1, _Odd()], dtype=object),
        "integers of Arrow's": pd.Series([1, 2], dtype="int64[pyarrow]"),
        "floats and a mask": pd.Series([1.0, None], dtype="Float64"),
        "text of Arrow's": pd.Series(["a"], dtype="string[pyarrow]"),
        "sparse": pd.Series([0.0, 1.0], dtype="Sparse[float64]"),
        "an index": pd.Series([1, 2], index=["x", "y"], name=7),
        "a frame": frame,
        "a frame without a row": pd.DataFrame({"a": []}),
    }


@pytest.mark.parametrize("copy", [None, False])
@pytest.mark.parametrize("name", kept())
def test_an_object_of_pandas_goes_to_pandas_as_itself(name, copy):
    obj = kept()[name]
    with lend.copies() as made:
        assert lend.to(obj, "pandas", copy=copy) is obj
    assert made.count == 0


@pytest.mark.parametrize("target", ["Series", "DataFrame"])
def test_the_class_by_name_gives_the_object_itself_too(target):
    obj = pd.Series([1]) if target == "Series" else pd.DataFrame({"a": [1]})
    assert lend.to(obj, getattr(pd, target)) is obj
    assert lend.to(obj, f"pandas.{target}") is obj


def test_what_lend_took_is_given_as_it_was_then():
    frame, series = pd.DataFrame({"a": [1, 2]}), pd.Series([1, 2], dtype="Int64")
    table, column = lend.table(frame), lend.column(series)
    frame.loc[0, "a"] = series.loc[0] = 99
    assert table.to("pandas")["a"].tolist() == column.to("pandas").tolist() == [1, 2]


def test_what_was_changed_since_is_made_anew():
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    assert list(lend.table(frame).select(["b"]).to("pandas").columns) == ["b"]
    assert lend.column(frame["a"]).rename("c").to("pandas").name == "c"
    assert lend.column(frame["a"])[1:].to("pandas").tolist() == [2]


@pytest.mark.parametrize("asked", [{"copy": True}, {"dtype_backend": "pyarrow"}, {"nulls": "forbid"}], ids=str)
def test_what_is_asked_of_it_is_done(asked):
    series = pd.Series([1, 2])
    assert lend.to(series, "pandas", **asked) is not series


def test_a_class_below_is_made_what_was_asked_for():
    class Mine(pd.DataFrame):
        pass

    assert type(lend.to(Mine({"a": [1]}), "pandas")) is pd.DataFrame


@pytest.mark.parametrize("shape", [(2,), (2, 2), ()], ids=str)
@pytest.mark.parametrize("target", ["numpy.ma", np.ma, np.ma.MaskedArray], ids=str)
def test_a_masked_array_comes_back_itself_with_its_fill_value_and_hard_mask(target, shape):
    obj = np.ma.array(np.ones(shape), mask=np.ones(shape, bool), fill_value=7, hard_mask=True)
    assert lend.to(obj, target) is obj


@pytest.mark.parametrize("make", ["Series", "DataFrame"])
def test_polars_own_comes_back_itself(make):
    pl = pytest.importorskip("polars")
    obj = pl.Series("a", ["x", "y"], dtype=pl.Categorical)
    obj = obj if make == "Series" else obj.to_frame()
    assert lend.to(obj, "polars") is obj


def test_a_plan_says_that_it_is_the_object_itself():
    assert str(lend.explain(pd.Series([1, 2]), "pandas")) == (
        "pandas.Series to pandas.Series: shared, nothing is copied\n"
        "  came : pandas.Series of 2 rows\n"
        "  give : the same Series, itself  shared"
    )


def test_a_survey_says_so_too():
    assert lend.explain(pd.Series(["a", None], dtype=object)).targets["pandas"] == "shared"


def test_lend_holds_nothing_of_what_it_gave_back():
    series = pd.Series([1, 2])
    lend.to(series, "pandas").iloc[0] = 5
    assert series.tolist() == [5, 2]


# -- what changes on the way to others ---------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["polars", "pyarrow", "numpy"])
def test_labels_that_become_text_are_told(target):
    pytest.importorskip(target)
    notes = lend.explain(pd.DataFrame([[1, 2]], columns=[0, "x"]), target).notes
    assert "names are text, which is made of the labels 0" in notes


def test_labels_that_are_text_are_not_told():
    notes = lend.explain(pd.DataFrame({"a": [1], "0": [2]}), "pyarrow").notes
    assert not [note for note in notes if "names are text" in note]


def test_the_names_that_polars_is_given_for_double_ones_are_told():
    pytest.importorskip("polars")
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    assert "column 'a' is called 'a_1' there" in lend.explain(frame, "polars", names="unique").notes
    assert list(lend.to(frame, "polars", names="unique").columns) == ["a", "a_1"]


READ_ONLY = "read-only: pandas refuses to write to what it shares (copy=True, or a copy() of it)"


def writes(made):
    try:
        made.iloc[0] = 5
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("copy", [None, True])
@pytest.mark.parametrize("make", [lambda: pa.array([1, 2]), lambda: np.arange(2), lambda: pa.table({"a": [1, 2]})])
def test_that_pandas_cannot_write_to_what_it_shares_is_told_where_it_cannot(make, copy):
    told = READ_ONLY in lend.explain(make(), "pandas", copy=copy).notes
    assert told == (not writes(lend.to(make(), "pandas", copy=copy)))


class _Below(pd.DataFrame):
    pass


def test_what_is_asked_for_as_a_class_below_its_own_is_not_itself():
    with pytest.raises(UnsupportedType, match="pandas makes a pandas.DataFrame of this, and no .*_Below"):
        lend.to(pd.DataFrame({"a": [1]}), _Below)
