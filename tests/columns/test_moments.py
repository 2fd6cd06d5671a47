"""Dates, times and durations that are put under nulls, said by Python, NumPy and pandas."""

import datetime as dt

import pytest

import lend
from lend.columns.moments import as_number
from lend.errors import UnsupportedType

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

UTC = dt.UTC
EAST = dt.timezone(dt.timedelta(hours=2))


def dtype_of(kind):
    return lend.column(pa.array([], kind)).dtype


@pytest.mark.parametrize(
    ("kind", "value", "number"),
    [
        (pa.date32(), dt.date(1970, 1, 3), 2),
        (pa.date32(), dt.datetime(1970, 1, 3), 2),
        (pa.date32(), np.datetime64("1969-12-31"), -1),
        (pa.date32(), np.datetime64("1970-02"), 31),
        (pa.date32(), pd.Timestamp("1970-01-03"), 2),
        (pa.date64(), dt.date(1970, 1, 2), 86400000),
        (pa.timestamp("s"), dt.datetime(1970, 1, 1, 0, 1), 60),
        (pa.timestamp("ms"), dt.date(1970, 1, 2), 86400000),
        (pa.timestamp("us"), dt.datetime(1969, 12, 31, 23, 59, 59, 999999), -1),
        (pa.timestamp("ns"), pd.Timestamp(5), 5),
        (pa.timestamp("ns"), np.datetime64(-7, "ns"), -7),
        (pa.timestamp("s"), np.datetime64(2, "25s"), 50),
        (pa.timestamp("s", "UTC"), dt.datetime(1970, 1, 1, 2, tzinfo=EAST), 0),
        (pa.timestamp("ns", "Europe/Berlin"), pd.Timestamp(5, tz="UTC"), 5),
        (pa.time32("ms"), dt.time(0, 0, 1, 2000), 1002),
        (pa.time64("ns"), dt.time(0, 0, 0, 1), 1000),
        (pa.duration("s"), dt.timedelta(minutes=-1), -60),
        (pa.duration("ns"), pd.Timedelta(5), 5),
        (pa.duration("us"), np.timedelta64(3, "ms"), 3000),
        (pa.duration("s"), np.timedelta64(1, "W"), 604800),
    ],
    ids=str,
)
def test_a_moment_is_the_number_that_says_exactly_it(kind, value, number):
    assert as_number(dtype_of(kind), value) == number


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.date32(), dt.datetime(1970, 1, 1, 1)),
        (pa.date64(), dt.datetime(1970, 1, 1, 1)),
        (pa.date32(), dt.datetime(1970, 1, 1, tzinfo=UTC)),
        (pa.date32(), pd.NaT),
        (pa.date32(), np.datetime64("NaT")),
        (pa.date32(), dt.time(0)),
        (pa.timestamp("s"), dt.datetime(1970, 1, 1, 0, 0, 0, 1)),
        (pa.timestamp("us"), pd.Timestamp(5)),
        (pa.timestamp("us"), np.datetime64(5, "ns")),
        (pa.timestamp("s"), dt.datetime(1970, 1, 1, tzinfo=UTC)),
        (pa.timestamp("s", "UTC"), dt.datetime(1970, 1, 1)),
        (pa.timestamp("s", "UTC"), dt.date(1970, 1, 1)),
        (pa.timestamp("s", "UTC"), np.datetime64(1, "s")),
        (pa.timestamp("s"), dt.timedelta(1)),
        (pa.timestamp("s"), np.timedelta64(1, "s")),
        (pa.time32("s"), dt.time(0, 0, 0, 1)),
        (pa.time32("s"), dt.time(0, tzinfo=UTC)),
        (pa.duration("s"), dt.timedelta(microseconds=1)),
        (pa.duration("us"), pd.Timedelta(5)),
        (pa.duration("s"), np.timedelta64(1, "M")),
        (pa.duration("s"), np.timedelta64(1)),
        (pa.int64(), dt.date(1970, 1, 1)),
    ],
    ids=str,
)
def test_what_is_not_exactly_an_element_stays_what_it_was(kind, value):
    assert as_number(dtype_of(kind), value) is value


WAYS = {
    "numpy": (pa.date32(), dt.date(1970, 1, 3), lambda made: made.tolist()),
    "pyarrow": (pa.date32(), dt.date(1970, 1, 3), lambda made: made.to_pylist()),
    "polars": (pa.timestamp("us"), dt.datetime(1970, 1, 3, 4), lambda made: made.to_list()),
    "pandas": (pa.timestamp("us"), dt.datetime(1970, 1, 3, 4), lambda made: list(made.dt.to_pydatetime())),
}


@pytest.mark.parametrize("target", WAYS)
def test_it_is_put_under_the_nulls_of_each_library(target):
    pytest.importorskip(target)
    kind, value, read = WAYS[target]
    assert read(lend.to(pa.array([None, value], kind), target, nulls=("fill", value))) == [value, value]


@pytest.mark.parametrize("target", ["numpy", "pyarrow"])
@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        (pa.timestamp("s"), dt.datetime(1970, 1, 1, 0, 0, 0, 1), "datetime"),
        (pa.date32(), dt.datetime(1970, 1, 1, 1), "date"),
        (pa.duration("s"), dt.timedelta(microseconds=1), "timedelta"),
    ],
    ids=str,
)
def test_what_is_no_element_is_refused_with_what_would_be_one(target, kind, value, told):
    with pytest.raises(UnsupportedType, match="is no value of") as refused:
        lend.to(pa.array([None], kind), target, nulls=("fill", value))
    assert told in refused.value.remedy
    assert "the number that is stored" in refused.value.remedy
