"""Python objects of pandas as nested data: no value is changed on the way; and intervals that are null."""

import datetime as dt
import decimal

import numpy as np
import pytest

import lend
from lend.errors import CopyRequired, UnsupportedType

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

DAY, TIME = dt.date(2020, 1, 1), dt.datetime(2020, 1, 2, 3, 4)


@pytest.mark.parametrize(
    "objects",
    [
        [DAY, TIME],
        [[DAY], [TIME]],
        [{1, 2}],
        [frozenset({1})],
        ["a", b"b"],
        [[b"a", "b"]],
        [{"a": {1}}],
        [{"a": DAY}, {"a": TIME}],
        [1.5, 2**60 + 1],
    ],
    ids=repr,
)
def test_what_would_be_changed_is_refused(objects):
    with pytest.raises(UnsupportedType, match="no values of one type"):
        lend.column(pd.Series(objects, dtype=object), nested=True)


def test_the_refusal_names_the_row_and_what_would_become_of_it():
    with pytest.raises(UnsupportedType, match=r"row 1 is \{1\} \(set\), and pyarrow makes \[1\] of it"):
        lend.column(pd.Series([[2], {1}], dtype=object), nested=True)


@pytest.mark.parametrize(
    "objects",
    [
        [[1, 2], None, []],
        [{"a": 1}, {"b": "x"}, None],
        [{"a": [1, None]}, {"a": None}],
        [decimal.Decimal("1.50"), None],
        [(1, 2), [3]],
        [np.array([1, 2]), np.array([3])],
        [b"a", None],
        [TIME, None],
        [pd.Timestamp(TIME), pd.NaT],
        [DAY, float("nan")],
        [1, 2.5, None],
        [np.int8(1), 2],
        [True, None],
        [dt.timedelta(1), None],
        [dt.time(1, 2)],
        [["a", None], [np.nan, "b"]],
    ],
    ids=repr,
)
def test_what_has_one_type_is_read(objects):
    assert len(lend.column(pd.Series(objects, dtype=object), nested=True)) == len(objects)


class TestIntervals:
    """Nulls of these are told by their ends alone."""

    @pytest.fixture
    def intervals(self):
        return pd.arrays.IntervalArray.from_tuples([(0, 1), np.nan, (2, 3)])

    def test_nulls_are_counted_as_pyarrow_counts_them(self, intervals):
        column = lend.column(intervals)
        assert column.null_count == pa.array(intervals).null_count == 1
        assert column.tolist()[1] is None

    def test_they_come_back_as_they_were(self, intervals):
        made = lend.to(lend.column(intervals), "pandas")
        assert made.dtype == intervals.dtype
        assert made.isna().tolist() == [False, True, False]

    def test_those_of_times_do_too(self):
        intervals = pd.arrays.IntervalArray.from_tuples([(pd.Timestamp(0), pd.Timestamp(1)), np.nan])
        assert lend.column(intervals).null_count == 1
        assert lend.to(pd.Series(intervals), "pandas").isna().tolist() == [False, True]

    def test_their_bits_are_a_copy_that_is_counted_and_refused_where_none_is_allowed(self, intervals):
        with lend.copies() as copied:
            lend.column(intervals)
        assert copied.bytes == 1
        with pytest.raises(CopyRequired, match="has nulls that its ends alone tell"):
            lend.column(intervals, copy=False)

    def test_without_nulls_nothing_is_copied(self):
        with lend.copies() as copied:
            lend.column(pd.arrays.IntervalArray.from_breaks([0, 1, 2]), copy=False)
        assert copied.bytes == 0


@pytest.mark.parametrize("backend", ["auto", "pyarrow"])
@pytest.mark.parametrize("dtype", ["Int128", "UInt128"])
def test_integers_of_128_bits_are_refused_to_pandas_as_to_others(dtype, backend):
    pl = pytest.importorskip("polars")
    series = pl.Series([1, None]).cast(getattr(pl, dtype))
    for what in (series, pl.DataFrame({"a": series})):
        for look in (lend.to, lend.explain):
            with pytest.raises(UnsupportedType, match="pandas has no integer of 128 bits"):
                look(what, "pandas", dtype_backend=backend)
