"""A time zone on its way to pandas that the caller leaves away: `zone="drop"`."""

import pytest

import lend

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")


@pytest.mark.parametrize("backend", ["auto", "numpy", "pyarrow"])
@pytest.mark.parametrize("chunks", [1, 2])
def test_a_zone_is_dropped_where_that_is_wanted_and_the_times_are_those_of_utc(chunks, backend):
    times = pa.array([0, None, 3600], pa.timestamp("s", "Europe/Paris"))
    table = pa.table({"t": pa.chunked_array([times] * chunks), "i": [1] * 3 * chunks})
    plan = lend.explain(table, "pandas", zone="drop", dtype_backend=backend)
    assert any("times of UTC: the time zone 'Europe/Paris' is dropped" in note for note in plan.notes)
    made = lend.to(table, "pandas", zone="drop", dtype_backend=backend)
    assert "Paris" not in str(made["t"].dtype)
    first, second, third = made["t"].tolist()[:3]
    assert (first, third) == (pd.Timestamp(0), pd.Timestamp(3600, unit="s"))
    assert pd.isna(second)


def test_a_zone_that_pandas_does_not_have_can_be_dropped():
    times = pa.array([5], pa.timestamp("us", "Mars/Base"))
    made = lend.to(times, "pandas", zone="drop", copy=False)
    assert made.array.view("i8").ctypes.data == times.buffers()[1].address
    assert made.dtype == "datetime64[us]"


def test_a_series_of_pandas_loses_its_zone_where_that_is_wanted():
    series = pd.Series(pd.to_datetime(["2024-07-01", None]).tz_localize("Europe/Paris"), name="q")
    made = lend.to(series, "pandas", zone="drop")
    assert (str(made.dtype), made.name, made[0]) == (
        f"datetime64[{series.dt.unit}]",
        "q",
        pd.Timestamp("2024-06-30 22:00"),
    )
    assert pd.isna(made[1])


def test_a_word_that_says_nothing_of_a_zone_is_refused():
    with pytest.raises(ValueError, match="zone is 'drop' or None, not 'keep'"):
        lend.to(pa.array([1]), "pandas", zone="keep")
