"""Which road an object goes to a target is told by the object and the target, never by what went before."""

import numpy as np
import pytest

import lend
from lend import front

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

KINDS = {
    "numbers of pandas with NaN": lambda: pd.Series([1.0, np.nan, 3.0]),
    "integers of pandas": lambda: pd.Series([1, 2, 3]),
    "nullable integers of pandas": lambda: pd.Series([1, None], dtype="Int64"),
    "times of pandas": lambda: pd.Series(pd.to_datetime(["2020-01-01", None])),
    "an Index": lambda: pd.Index([1.0, np.nan]),
    "numbers of polars": lambda: pl.Series([1.0, None]),
    "integers of polars": lambda: pl.Series([1, 2]),
    "times of polars": lambda: pl.Series([1, 2]).cast(pl.Datetime("us")),
    "arrays of polars": lambda: pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int32, 2)),
    "integers of pyarrow": lambda: pa.array([1, 2]),
    "numbers of pyarrow with nulls": lambda: pa.array([1.0, None]),
    "times of pyarrow": lambda: pa.array([1, 2], pa.timestamp("us")),
    "a masked array": lambda: np.ma.array([1.0, 2.0], mask=[0, 1]),
    "an array": lambda: np.array([1.0, np.nan]),
    "an array of days": lambda: np.array(["2020-01-01", "NaT"], "M8[D]"),
    "an array of two dimensions": lambda: np.arange(6.0).reshape(2, 3),
}
TARGETS = ["numpy", "numpy.ma", "memoryview", "pyarrow", pa.Array, pa.Tensor, "polars", "pandas", np.ndarray]
NAMES = [target if isinstance(target, str) else target.__name__ for target in TARGETS]


def outcome(obj, target):
    """What becomes of an object there, in words that can be compared."""
    try:
        made = lend.to(obj, target)
    except (lend.LendError, TypeError, ValueError) as refusal:
        return type(refusal).__name__, str(refusal).partition("\n")[0]
    values = next(getattr(made, name) for name in ("to_pylist", "to_list", "tolist", "to_numpy") if hasattr(made, name))
    return type(made).__name__, str(getattr(made, "dtype", getattr(made, "type", ""))), str(values())


def used(kinds):
    """Let objects of these kinds be taken and handed on in every way."""
    for make in kinds:
        for use in (lend.view, lend.column, *[lambda x, to=target: lend.to(x, to) for target in TARGETS]):
            try:
                use(make())
            except (lend.LendError, TypeError, ValueError):
                continue


@pytest.mark.parametrize("target", TARGETS, ids=NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_an_object_goes_the_same_road_fresh_and_after_others_of_its_type(kind, target):
    cls = type(KINDS[kind]())
    front.forget()
    fresh = outcome(KINDS[kind](), target)
    used(make for make in KINDS.values() if type(make()) is cls)
    assert outcome(KINDS[kind](), target) == fresh


@pytest.mark.parametrize("warm", [lend.view, lambda x: lend.to(x, "numpy"), lambda x: lend.explain(x, "numpy")])
def test_a_series_whose_type_is_known_is_still_a_column_to_pyarrow(warm):
    warm(pd.Series([1, 2]))
    assert lend.to(pd.Series([1.0, np.nan, 3.0]), "pyarrow").null_count == 1


def test_a_class_with_an_array_and_columns_is_asked_for_the_columns_alone_once_it_is_known():
    asked, kept = [], np.arange(2)

    class Both:
        def __array__(self, dtype=None, copy=None):
            asked.append("array")
            return kept

        def __arrow_c_array__(self, requested_schema=None):
            asked.append("columns")
            return pa.array([1, None]).__arrow_c_array__(requested_schema)

    lend.view(Both())
    asked.clear()
    assert lend.to(Both(), "pyarrow").null_count == 1
    assert asked == ["columns"]
