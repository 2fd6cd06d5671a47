"""Where a later write to the source shows in what was made of it the plan says so, and nowhere else."""

import numpy as np
import pytest

import lend

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pytest.importorskip("pyarrow")

NOTE = "aliased: later writes to the source are visible there"


def values(made):
    return str(next(getattr(made, name) for name in ("to_pylist", "to_list", "tolist") if hasattr(made, name))())


def set_first(array):
    array[0] = array[1]


def set_first_of_pandas(series):
    series.iloc[0] = series.iloc[1]


SOURCES = {
    "an array": (lambda: np.array([1, 2]), set_first),
    "an array in the other byte order": (lambda: np.array([1, 2], ">i4"), set_first),
    "a masked array": (lambda: np.ma.array([1.0, 2.0, 3.0], mask=[0, 0, 1]), set_first),
    "times": (lambda: np.array([1, 2], "M8[us]"), set_first),
    "days": (lambda: np.array([1, 2], "M8[D]"), set_first),
    "a Series": (lambda: pd.Series([1, 2]), set_first_of_pandas),
    "objects that are all null": (lambda: pd.Series([None, None], dtype=object), set_first_of_pandas),
}


@pytest.mark.parametrize("target", ["polars", "pyarrow", "pandas"])
@pytest.mark.parametrize(("make", "write"), SOURCES.values(), ids=SOURCES)
def test_a_column_is_noted_where_a_later_write_shows(make, write, target):
    source = make()
    column = {"a": source}
    noted = NOTE in lend.explain(column, target).notes
    made = lend.to(column, target)["a"]
    before = values(made)
    write(source)
    assert (values(made) != before) == noted


@pytest.mark.parametrize("target", ["numpy", "memoryview"])
def test_an_array_of_a_series_is_noted(target):
    source = pd.Series([1, 2])
    assert NOTE in lend.explain(source, target).notes
    made = lend.to(source, target)
    source.iloc[0] = 99
    assert made.tolist() == [99, 2]


def test_that_of_an_index_is_not():
    assert NOTE not in lend.explain(pd.Index([1, 2]), "numpy").notes
