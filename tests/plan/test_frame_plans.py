"""What a plan of columns and tables tells is what happens: surveys, the index of pandas, rows that did not come yet."""

import pytest

import lend
from lend.errors import CopyRequired
from lend.tables import refusals

pa = pytest.importorskip("pyarrow")
np = pytest.importorskip("numpy")


@pytest.mark.parametrize("target", ["pyarrow", "polars", "arro3"])
def test_a_survey_tells_what_lend_copies_to_make_it_arrow_data(target):
    pytest.importorskip(target)
    column = lend.column(np.ma.masked_array([1, 2], [False, True]))
    assert lend.explain(column).targets[target] == "1 byte copied: nulls as bytes"
    assert lend.explain(column, target).bytes_copied == 1


TEXT = {"survey": ((), {}), "arrays": (("numpy",), {"strings": "object"}), "arrow": (("pyarrow",), {})}


@pytest.mark.parametrize("name", TEXT)
def test_what_was_copied_on_taking_is_told_in(name):
    pd = pytest.importorskip("pandas")
    asked, options = TEXT[name]
    frame = pd.DataFrame({"a": ["x", "yz"]}, dtype=object)
    plan = lend.explain(frame, *asked, **options)
    with lend.copies() as counted:
        lend.to(frame, *(asked or ("pyarrow",)), **options)
    assert sum(step.nbytes for step in plan.steps if step.who == "lend") == counted.bytes > 0


INDEX = {
    "array of a series": ("series", "numpy", {}, "the index is no part of an array, and is not carried"),
    "column of a series": ("series", "pyarrow", {}, "the index is no part of a column, and is not carried"),
    "left out of arrays": ("frame", "numpy", {"index": "drop"}, "the index is left out"),
    "left out of Arrow data": ("frame", "pyarrow", {"index": "drop"}, "the index is left out"),
    "left out of pandas": ("frame", "pandas", {"index": "drop"}, "the index is left out"),
    "no array": (
        "frame", "numpy", {}, "the index is left out: 'key' is no data; index=\"column\" has it as columns",
    ),
    "column of arrays": ("frame", "numpy", {"index": "column"}, "the index becomes the column 'key'"),
    "column of pandas": ("frame", "pandas", {"index": "column"}, "the index becomes the column 'key'"),
    "index of pandas": ("frame", "pandas", {}, None),
    "metadata": ("range", "pyarrow", {"index": "metadata"}, "the index is kept in the metadata"),
    "of a subclass": ("subclass", "pyarrow", {}, "the index becomes the column 'key'"),
}  # fmt: skip


@pytest.mark.parametrize("name", INDEX)
def test_what_becomes_of_the_index_is_told(name):
    pd = pytest.importorskip("pandas")
    which, target, options, note = INDEX[name]
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index([7, 5], name="key"))
    ours = type("Ours", (pd.DataFrame,), {})
    sources = {"frame": frame, "series": frame["a"], "subclass": ours(frame)}
    sources["range"] = frame.set_index(pd.RangeIndex(5, 9, 2))
    told = [each for each in lend.explain(sources[which], target, **options).notes if "index" in each]
    assert told == ([] if note is None else [note])


def reader(values):
    return pa.table({"a": values}).to_reader()


COPYING = {
    "forbidden nulls": ("pyarrow", {"nulls": "forbid"}),
    "a value under no nulls": ("pyarrow", {"nulls": ("fill", 0)}),
    "pandas": ("pandas", {}),
}


@pytest.mark.parametrize("name", COPYING)
def test_rows_to_come_that_need_no_copy_are_not_refused_for_one(name):
    target, options = COPYING[name]
    pytest.importorskip(target)
    lend.explain(reader([1, 2]), target, copy=False, **options)
    with lend.copies() as counted:
        made = lend.to(reader([1, 2]), target, copy=False, **options)
    assert lend.table(made)["a"].tolist() == [1, 2]
    assert counted.count == 0


def test_rows_that_came_and_need_a_copy_are_refused_without_one():
    with pytest.raises(CopyRequired, match="a value under nulls"):
        lend.to(reader([1, None]), "pyarrow", copy=False, nulls=("fill", 0))


@pytest.mark.parametrize("columns", [3, 300])
@pytest.mark.parametrize("target", ["pyarrow", "polars", "pandas"])
def test_a_table_is_not_described_anew_for_each_of_its_columns(target, columns, monkeypatch):
    pytest.importorskip(target)
    told, table = [], lend.table({f"c{i}": np.arange(2) for i in range(columns)})
    shown = refusals.shown
    monkeypatch.setattr(refusals, "shown", lambda table: told.append(table) or shown(table))
    lend.explain(table, target)
    assert len(told) < 3


QUERIES = {
    "duckdb": lambda module: module.sql("select 1 as a"),
    "datafusion": lambda module: module.SessionContext().from_pydict({"a": [1]}),
    "ibis": lambda module: module.memtable({"a": [1]}),
    "daft": lambda module: module.from_pydict({"a": [1]}),
}
QUERY = "a query, which may run anew each time it is taken: what is shared is the memory of its result"


@pytest.mark.filterwarnings("ignore:.*infer_string")  # which ibis asks pandas for
@pytest.mark.parametrize("target", [None, "pyarrow", "numpy"])
@pytest.mark.parametrize("library", QUERIES)
def test_a_query_is_told_to_have_no_memory_of_its_own(library, target):
    query = QUERIES[library](pytest.importorskip(library))
    assert QUERY in lend.explain(query, target).notes


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow", "arro3.core"])
def test_what_lies_in_memory_is_no_query(library):
    module = pytest.importorskip(library)
    table = pa.table({"a": [1]})
    made = module.table({"a": [1]}) if library == "pyarrow" else lend.to(table, library.partition(".")[0])
    for source in (made, lend.table(made), lend.table(made)["a"]):
        assert QUERY not in lend.explain(source, "pyarrow").notes


@pytest.mark.parametrize("made", ["Series", "DataFrame", "narwhals"])
@pytest.mark.parametrize("target", ["pyarrow", "pandas", "numpy"])
def test_codes_and_categories_that_polars_writes_anew_are_told_as_its_copy(made, target):
    pl = pytest.importorskip("polars")
    series = pl.Series("c", ["a", "b", "a"], dtype=pl.Categorical)
    source = series if made == "Series" else pl.DataFrame({"c": series, "n": [1, 2, 3]})
    if made == "narwhals":
        source = pytest.importorskip("narwhals").from_native(source)
    # Both are held: an address that was given back may be had again.
    held = [lend.table({"c": series})["c"].buffers["data"] for _ in range(2)]
    assert held[0].ptr != held[1].ptr  # polars 2.1; where they lie there, nothing is to be told
    plan = lend.explain(source, target, **({"storage": True} if target == "numpy" else {}))
    assert [(step.who, step.nbytes) for step in plan.copies if step.who == "producer"] == [("producer", 12 + 2 * 16)]


def test_categories_that_lie_there_are_told_as_shared():
    pl = pytest.importorskip("polars")
    plan = lend.explain(pl.Series("c", ["a", "b"], dtype=pl.Enum(["a", "b"])), "pyarrow")
    assert plan.bytes_copied == 0


MAKING = {"one chunk": pa.array([1, None]), "two chunks": pa.chunked_array([[1], [None]])}


@pytest.mark.parametrize("target", [None, "pyarrow", "pandas", "polars", "numpy.ma"])
@pytest.mark.parametrize("chunks", MAKING)
def test_what_is_made_for_pyarrow_goes_to_every_library_and_is_told_to_be_so(chunks, target):
    class Maker:
        def __arrow_array__(self, type=None):
            return MAKING[chunks]

    if target is not None:
        pytest.importorskip(target.partition(".")[0])
        assert lend.column(lend.to(Maker(), target)).tolist() == [1, None]
    assert lend.explain(Maker(), target).steps[0].what == "__arrow_array__"


def test_text_that_a_library_makes_is_told_of_rows_that_are_there():
    headline = str(lend.explain(np.array(["a", "b"]), "pyarrow")).partition("\n")[0]
    assert headline == "numpy.ndarray to pyarrow.Array: 18 bytes copied"


def test_what_could_be_made_for_pyarrow_is_told_to_be_taken_as_it_lies():
    class Both:
        held = np.array([1, 2])
        __array_interface__ = held.__array_interface__

        def __arrow_array__(self, type=None):
            raise AssertionError("asked last")

    assert lend.explain(Both(), "polars").steps[0].what == "lend.view"


# -- the index that pandas makes of columns ----------------------------------------------------------------------------

ONE_LEVEL = {
    "numbers": lambda pd: pd.Index([5, 7, 9], name="k"),
    "floats": lambda pd: pd.Index([0.5, 7.5, 9.5]),
    "times": lambda pd: pd.date_range("2024-03-31", periods=3, name="t"),
    "times of a zone": lambda pd: pd.date_range("2024-03-31", periods=3, tz="Europe/Paris"),
    "categories": lambda pd: pd.CategoricalIndex(["a", "b", "a"]),
}


def lies(index):
    """Where the elements of an index are: of categories their codes, of times the numbers."""
    array = (
        index.array.codes if index.dtype == "category" else index.array.view("i8") if index.dtype.kind == "M" else index
    )
    return np.asarray(array).__array_interface__["data"][0]


@pytest.mark.parametrize("name", ONE_LEVEL)
def test_an_index_of_one_level_is_the_memory_that_came_as_the_plan_says(name):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1, 2, 3]}, index=ONE_LEVEL[name](pd))
    table = lend.table(frame)
    assert lend.explain(table, "pandas").bytes_copied == 0
    made = lend.to(table, "pandas", copy=False)
    assert made.index.equals(frame.index)
    assert lies(made.index) == lies(frame.index)


def levels(pd):
    """A table of which pandas makes an index of two levels."""
    index = pd.MultiIndex.from_arrays([[1, 2], [0.5, 1.5]], names=["p", "q"])
    return lend.table(pd.DataFrame({"a": [3, 4]}, index=index))


def test_levels_of_an_index_are_told_as_made_anew():
    table = levels(pytest.importorskip("pandas"))
    plan = lend.explain(table, "pandas")
    assert plan.bytes_copied is None
    anew = "pandas makes the levels of a MultiIndex anew"
    assert [(step.what, step.why) for step in plan.copies] == [("column 'p'", anew), ("column 'q'", anew)]
    assert lend.explain(table[:0], "pandas").bytes_copied == 0


def test_levels_of_an_index_are_not_made_anew_where_nothing_may_be_copied():
    table = levels(pytest.importorskip("pandas"))
    with pytest.raises(CopyRequired, match="column 'p': pandas makes the levels of a MultiIndex anew") as refused:
        lend.to(table, "pandas", copy=False)
    assert 'index="column"' in refused.value.remedy
    assert lend.to(table, "pandas", copy=False, index="column").columns.tolist() == ["p", "q", "a"]
    assert lend.to(table, "pandas", copy=False, index="drop").columns.tolist() == ["a"]


def test_levels_of_an_index_that_lend_copies_are_made_anew_of_that():
    plan = lend.explain(levels(pytest.importorskip("pandas")), "pandas", copy=True)
    assert sorted(step.who for step in plan.copies) == ["lend"] * 3 + ["target"] * 2
    assert sum(step.nbytes for step in plan.copies if step.who == "lend") == 48
