"""What was handed on of intervals stays as it was when pandas writes to them: their ends are held as other blocks."""

import pytest

import lend

pd = pytest.importorskip("pandas")

INTERVALS = {
    "integers": lambda: pd.interval_range(0, 3),
    "floats": lambda: pd.interval_range(0.0, 3.0),
    "times": lambda: pd.interval_range(pd.Timestamp("2020"), periods=3),
    "times with zone": lambda: pd.interval_range(pd.Timestamp("2020", tz="UTC"), periods=3),
    "durations": lambda: pd.interval_range(pd.Timedelta(0), periods=3, freq="D"),
    "with nulls": lambda: pd.IntervalIndex.from_tuples([(0, 1), None, (2, 3)]),
}


@pytest.mark.parametrize("target", ["polars", "pyarrow", "arro3"])
@pytest.mark.parametrize("kind", INTERVALS)
def test_a_series_that_is_written_to_leaves_what_was_handed_on(kind, target):
    pytest.importorskip({"arro3": "arro3.core"}.get(target, target))
    series = pd.Series(INTERVALS[kind]())
    made = lend.to(series, target)
    before = lend.column(made).tolist()
    series.iloc[0] = series.iloc[2]
    assert lend.column(made).tolist() == before


@pytest.mark.parametrize("kind", INTERVALS)
def test_a_frame_that_is_written_to_leaves_what_was_taken(kind):
    frame = pd.Series(INTERVALS[kind]()).to_frame("a")
    taken = lend.table(frame)
    before = taken["a"].tolist()
    frame.iloc[0, 0] = frame.iloc[2, 0]
    assert taken["a"].tolist() == before


@pytest.mark.parametrize("kind", INTERVALS)
def test_the_ends_are_given_back_with_their_column(kind):
    count = len(lend.loans())
    column = lend.column(pd.Series(INTERVALS[kind]()))
    assert len(lend.loans()) > count
    del column
    assert len(lend.loans()) == count
