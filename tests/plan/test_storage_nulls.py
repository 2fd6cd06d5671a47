"""`storage=True`: the numbers behind times and dictionaries; none stands for null unless that was asked for."""

import numpy as np
import pytest

import lend
from lend.errors import UnsupportedType

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

TIMES = ["1970-01-01T00:00:00", None]
WITH_NULLS = {
    "times of pandas": lambda: pd.Series(pd.to_datetime(TIMES)),
    "durations of pandas": lambda: pd.Series(pd.to_timedelta([0, None])),
    "times of pandas in a zone": lambda: pd.Series(pd.to_datetime(TIMES).tz_localize("UTC")),
    "categories of pandas": lambda: pd.Series(["a", None], dtype="category"),
    "times of NumPy": lambda: lend.column(np.array(TIMES, "M8[us]")),
    "times of pyarrow": lambda: pa.array([0, None], pa.timestamp("us")),
    "a dictionary of pyarrow": lambda: pa.array(["a", None]).dictionary_encode(),
    "categories of polars": lambda: pl.Series(["a", None], dtype=pl.Categorical),
    "times of polars": lambda: pl.Series([0, None]).cast(pl.Datetime("us")),
}


@pytest.mark.parametrize("make", WITH_NULLS.values(), ids=WITH_NULLS)
def test_nulls_are_refused_whoever_it_comes_from(make):
    with pytest.raises(UnsupportedType, match="1 null, and an array of .* has no word for"):
        lend.to(make(), "numpy", storage=True)


@pytest.mark.parametrize("make", WITH_NULLS.values(), ids=WITH_NULLS)
def test_what_the_nulls_are_to_be_is_heard(make):
    assert lend.to(make(), "numpy", storage=True, nulls=("fill", 0)).tolist() == [0, 0]
    assert lend.to(make(), "numpy.ma", storage=True).tolist() == [0, None]


@pytest.mark.parametrize("make", WITH_NULLS.values(), ids=WITH_NULLS)
def test_who_is_told_of_storage_is_told_what_the_nulls_need(make):
    pytest.importorskip("torch")
    with pytest.raises(UnsupportedType) as refused:
        lend.to(lend.column(make()), "torch")
    lines = [line for line in str(refused.value).splitlines() if "storage=True" in line]
    assert lines
    assert all("nulls=" in line for line in lines)


def test_without_nulls_the_numbers_are_shared():
    assert lend.to(pd.Series(pd.to_datetime(TIMES[:1])), "numpy", storage=True).tolist() == [0]
