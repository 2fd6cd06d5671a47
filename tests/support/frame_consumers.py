"""A process without pyarrow in which a frame of one library goes, as lend.table(x), to consumers that know no Arrow.

Run as `python -m support.frame_consumers LIBRARY CONSUMER`; it ends without an error where all values arrived. What
makes the frames may need pyarrow: then it is there until the Table is made, and gone before a consumer is loaded.
"""

import datetime
import math
import sys
import warnings

ROWS = 64
SOME = range(ROWS)
NUMBERS = {
    "i": [None if k % 7 == 3 else k for k in SOME],
    "f": [None if k % 5 == 2 else k / 4 for k in SOME],
    "n": [k * k for k in SOME],
}
HOUR = datetime.timedelta(hours=1)
START = datetime.datetime(2024, 3, 30, tzinfo=datetime.UTC)  # the clocks of Paris change the day after
ALL = NUMBERS | {
    "s": [None if k % 6 == 1 else f"tëxt {k}, of more than twelve bytes" if k % 2 else f"s{k}" for k in SOME],
    "c": [None if k % 9 == 4 else "abc"[k % 3] for k in SOME],
    "z": [None if k % 8 == 5 else START + k * HOUR for k in SOME],
    "b": [k % 3 == 0 for k in SOME],
}
ZONE = "Europe/Paris"
LIBRARIES = ("pandas", "polars", "pyarrow", "duckdb", "arro3", "narwhals")
CONSUMERS = ("seaborn", "sklearn", "lightgbm", "xgboost")


class Forbidding:
    """A finder that knows no pyarrow, nor lets another find it."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyarrow":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def without_pyarrow():
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        del sys.modules[name]
    sys.meta_path.insert(0, Forbidding())


def by_pyarrow(library, data):
    import pyarrow as pa

    made = {name: pa.array(values) for name, values in data.items()}
    if "c" in made:
        made |= {"c": made["c"].dictionary_encode(), "z": made["z"].cast(pa.timestamp("us", ZONE))}
    table = pa.table(made)
    if library == "arro3":
        from arro3.core import Table

        return Table.from_arrow(table)
    if library == "duckdb":
        import duckdb

        connection = duckdb.connect()
        connection.execute(f"set timezone = '{ZONE}'")
        return connection.from_arrow(table)
    return table


def by_polars(library, data):
    import polars as pl

    frame = pl.DataFrame(data)
    if "c" in data:
        frame = frame.with_columns(pl.col("c").cast(pl.Categorical), pl.col("z").dt.convert_time_zone(ZONE))
    if library == "narwhals":
        import narwhals as nw

        return nw.from_native(frame)
    return frame


def by_pandas(library, data):
    import pandas as pd

    made = {name: pd.array(values, dtype="Int64") if name == "i" else values for name, values in data.items()}
    frame = pd.DataFrame(made)
    if "c" in data:
        frame["c"] = frame["c"].astype("category")
        frame["z"] = pd.to_datetime(frame["z"]).dt.tz_convert(ZONE)
    return frame


def lent(library):
    """Tables of the numbers and of all, lent by a library, in a process that has no pyarrow any more."""
    import lend

    if library in ("pyarrow", "duckdb", "arro3"):
        made = [lend.table(by_pyarrow(library, data)) for data in (NUMBERS, ALL)]
        without_pyarrow()
        return made
    without_pyarrow()
    make = by_pandas if library == "pandas" else by_polars
    return [lend.table(make(library, data)) for data in (NUMBERS, ALL)]


def matrix():
    import numpy as np

    return np.array([[np.nan if value is None else value for value in NUMBERS[name]] for name in NUMBERS], float).T


def seaborn(library, numbers, everything):
    import matplotlib

    matplotlib.use("agg")
    import seaborn as sns

    points = sns.scatterplot(data=everything, x="n", y="f", hue="c").collections[0].get_offsets()
    shown = {(float(x), float(y)) for x, y in points if not math.isnan(y)}
    rows = zip(NUMBERS["n"], NUMBERS["f"], ALL["c"], strict=True)
    assert shown == {(n, f) for n, f, c in rows if f is not None and c is not None}
    from seaborn._core.data import PlotData

    frame = PlotData(everything, {"x": "i"}).source_data
    for name, expected in ALL.items():
        found = [None if lost else value for value, lost in zip(frame[name].tolist(), frame[name].isna(), strict=True)]
        assert found == expected, (name, found)
    assert str(frame["z"].dtype).endswith(f", {ZONE}]")
    assert library == "duckdb" or str(frame["c"].dtype) == "category"  # duckdb decodes them


def sklearn(library, numbers, everything):
    import numpy as np
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    expected = matrix()
    filled = SimpleImputer(strategy="constant", fill_value=-1.0).fit_transform(numbers)
    assert np.array_equal(filled, np.where(np.isnan(expected), -1, expected))
    model = HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=2)
    assert np.array_equal(
        model.fit(numbers, NUMBERS["n"]).predict(numbers), model.fit(expected, NUMBERS["n"]).predict(expected)
    )
    text, words = OneHotEncoder().fit(everything.select(["s", "c"])).categories_
    assert (set(text), set(words)) == (set(ALL["s"]), set(ALL["c"]))
    (moments,) = OneHotEncoder().fit(everything.select(["z"])).categories_
    assert set(moments) == set(ALL["z"])


def lightgbm(library, numbers, everything):
    import lightgbm as lgb
    import numpy as np

    options = {"verbose": -1, "min_data_in_leaf": 2, "min_data_in_bin": 1, "num_threads": 1}
    expected = matrix()
    mine, its = (lgb.train(options, lgb.Dataset(x, NUMBERS["n"]), 5) for x in (numbers, expected))
    assert mine.model_to_string() == its.model_to_string()
    assert np.array_equal(mine.predict(numbers), its.predict(expected))


def xgboost(library, numbers, everything):
    import numpy as np
    import xgboost as xgb

    mine, its = (xgb.DMatrix(x, NUMBERS["n"]) for x in (numbers, matrix()))
    assert (mine.num_row(), mine.num_col(), mine.num_nonmissing()) == (ROWS, 3, its.num_nonmissing())
    assert (mine.get_data() != its.get_data()).nnz == 0
    trained = xgb.train({"max_depth": 3, "nthread": 1}, mine, 5)
    assert np.array_equal(trained.predict(mine), trained.predict(its))


def main(library, consumer):
    numbers, everything = lent(library)
    warnings.simplefilter("ignore")  # those of the consumers: pandas deprecates, LightGBM tells of its conversion
    globals()[consumer](library, numbers, everything)
    print("all arrived")


if __name__ == "__main__":
    main(*sys.argv[1:])
