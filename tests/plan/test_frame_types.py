"""What libraries make of names and types, and what they break on: told before, or refused before they are called."""

import pytest

import lend
from lend.errors import CopyRequired, UnsupportedLayout, UnsupportedType

pa = pytest.importorskip("pyarrow")


# -- types --


def test_what_polars_makes_of_a_type_is_told():
    pytest.importorskip("polars")
    seconds = pa.table({"t": pa.array([1, None], pa.timestamp("s"))})
    assert "column 't', datetime64[s], becomes Datetime(ms)" in lend.explain(seconds, "polars").notes


REFUSED = {
    "a decimal by polars": ("polars", pa.array([1], pa.decimal256(40, 2)), "polars has no decimal of 256 bits"),
    "an interval by polars": ("polars", pa.array([None], pa.month_day_nano_interval()), "polars has no interval of mo"),
    "a half by duckdb": ("duckdb", pa.array([1.5], pa.float16()), "duckdb has no float of 16 bits"),
    "a zone that polars does not know": (
        "polars", pa.array([1], pa.timestamp("us", "-05:30")), "polars has no time zone '-05:30'",
    ),
    "one within a list": (
        "polars", pa.array([[1]], pa.list_(pa.decimal256(40, 2))), "polars has no decimal of 256 bits",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_library_breaks_on_is_refused_before_it_is_called(name):
    target, column, text = REFUSED[name]
    pytest.importorskip(target)
    with pytest.raises(UnsupportedType, match=text) as caught:
        lend.to({"odd": column}, target)
    assert "odd" in str(caught.value)
    with pytest.raises(UnsupportedType, match=text):
        lend.explain({"odd": column}, target)


def test_intervals_of_nanoseconds_are_not_cut_by_duckdb():
    pytest.importorskip("duckdb")
    with pytest.raises(UnsupportedType, match="interval of nanoseconds \\(it drops them\\)"):
        lend.to(pa.table({"a": pa.array([1], pa.duration("ns"))}), "duckdb")


def interval(nanoseconds, within):
    made = pa.array([(1, 2, 3000), None, (1, -2, nanoseconds)], pa.month_day_nano_interval())
    return {
        "a column": lambda: made,
        "chunks": lambda: pa.chunked_array([made[:2], made[2:]]),
        "a struct": lambda: pa.StructArray.from_arrays([made], ["i"]),
        "a list": lambda: pa.ListArray.from_arrays([0, 3], made),
        "a dictionary": lambda: pa.DictionaryArray.from_arrays(pa.array([0, 2], pa.int8()), made),
    }[within]()


@pytest.mark.parametrize("within", ["a column", "chunks", "a struct", "a list", "a dictionary"])
def test_nanoseconds_of_intervals_are_not_cut_by_duckdb(within):
    pytest.importorskip("duckdb")
    for ask in (lend.to, lend.explain):
        with pytest.raises(UnsupportedType, match="interval of nanoseconds \\(it drops them\\)"):
            ask({"a": interval(3, within)}, "duckdb")
    made = lend.to({"a": interval(-7000, within)}, "duckdb")
    assert any("becomes" in note for note in lend.explain({"a": interval(-7000, within)}, "duckdb").notes)
    assert len(made.fetchall()) == len(interval(0, within))


def test_intervals_of_whole_microseconds_arrive_in_duckdb():
    pytest.importorskip("duckdb")
    made = lend.to({"a": interval(-7000, "a column")}, "duckdb")
    assert lend.table(made)["a"].tolist() == [(1, 2, 3000), None, (1, -2, -7000)]


CHANGED = {
    "DATE": ("date64", "date32"), "TIME, of microseconds": ("time32[ms]", "time64[us]"),
    "BLOB, of any width": ("opaque[3]", "binary"), "the values of its runs": ("run_end[int32, int64]", "int64"),
}  # fmt: skip


@pytest.mark.parametrize("becomes", CHANGED)
def test_a_type_that_duckdb_has_otherwise_is_told(becomes):
    pytest.importorskip("duckdb")
    was, made = CHANGED[becomes]
    source = {
        "date64": lambda: pa.array([86_400_000], pa.date64()),
        "time32[ms]": lambda: pa.array([1], pa.time32("ms")),
        "opaque[3]": lambda: pa.array([b"abc"], pa.binary(3)),
        "run_end[int32, int64]": lambda: pa.RunEndEncodedArray.from_arrays(pa.array([1], pa.int32()), pa.array([5])),
    }[was]()
    assert f"column 'a', {was}, becomes {becomes}" in lend.explain({"a": source}, "duckdb").notes
    assert lend.table(lend.to({"a": source}, "duckdb"))["a"].dtype == made


def test_seconds_of_durations_are_told_to_be_milliseconds_in_polars():
    polars = pytest.importorskip("polars")
    source = pa.array([5, None], pa.duration("s"))
    plan = lend.explain(source, "polars")
    assert "this column, timedelta64[s], becomes Duration(ms)" in plan.notes
    assert [step.who for step in plan.copies] == ["target"]
    assert lend.to(source, "polars").dtype == polars.Duration("ms")
    with pytest.raises(CopyRequired, match="polars makes Duration\\(ms\\) of seconds"):
        lend.to(source, "polars", copy=False)


def test_lists_of_no_elements_do_not_reach_polars_which_panics():
    pytest.importorskip("polars")
    with pytest.raises(UnsupportedType, match="list of 0 elements each"):
        lend.to(pa.table({"a": pa.array([[]], pa.list_(pa.int8(), 0))}), "polars")


def test_a_table_without_columns_does_not_reach_duckdb():
    pytest.importorskip("duckdb")
    for ask in (lend.to, lend.explain):
        with pytest.raises(UnsupportedLayout, match="duckdb has no table without a column"):
            ask(pa.table({}), "duckdb")


@pytest.mark.parametrize("target", ["numpy", "torch", "numpy.ma"])
def test_indices_into_different_dictionaries_are_not_mixed(target):
    pytest.importorskip(target.partition(".")[0])
    chunks = [pa.array(["a", "b"]).dictionary_encode(), pa.array(["b", "c"]).dictionary_encode()]
    with pytest.raises(UnsupportedType, match="different dictionaries"):
        lend.to(pa.chunked_array(chunks), target, storage=True)
    same = pa.chunked_array([chunks[0], pa.DictionaryArray.from_arrays(pa.array([1], pa.int32()), ["a", "b"])])
    assert lend.to(same, target, storage=True).tolist() == [0, 1, 1]


ORDERED = {
    "an order": (["b", "a"], True, "Categorical, without the order of its categories"),
    "values that are no text": ([3, 4], False, "its values, decoded: polars has categories of text alone"),
}


@pytest.mark.parametrize("case", ORDERED)
def test_what_polars_loses_of_a_dictionary_is_told(case):
    polars = pytest.importorskip("polars")
    words, ordered, becomes = ORDERED[case]
    source = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(words), ordered=ordered)
    assert any(note.endswith(f"becomes {becomes}") for note in lend.explain(source, "polars").notes)
    made = lend.to(source, "polars")
    assert made.dtype == (polars.Categorical if ordered else polars.Int64)


def test_a_name_of_an_extension_type_that_polars_keeps_is_not_told_to_be_lost():
    # polars 2.1 has extension types of its own
    polars = pytest.importorskip("polars")
    source = pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}"]))
    assert not lend.explain(source, "polars").notes
    assert isinstance(lend.to(source, "polars").dtype, polars.Extension)


def test_a_name_that_pyarrow_does_not_know_is_told_to_be_lost_of_a_column():
    named = {"ARROW:extension:name": "nobody.knows"}
    table = lend.table(pa.schema([pa.field("a", pa.int64(), metadata=named)]).empty_table())
    assert any("extension type that it does not know" in note for note in lend.explain(table["a"], "pyarrow").notes)
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(pandas.interval_range(0, 2))  # of which pandas tells it
    assert not any("extension type" in note for note in lend.explain(series, "pyarrow").notes)
    assert lend.column(lend.to(series, "pyarrow")).dtype == lend.column(series).dtype
    known = pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}"]))
    assert not any("extension type" in note for note in lend.explain(known, "pyarrow").notes)


@pytest.mark.parametrize("within", ["a column", "a list"])
def test_that_arro3_forgets_the_order_of_a_dictionary_is_told(within):
    # arro3 0.9; the words and the indices arrive
    arro3 = pytest.importorskip("arro3.core")
    source = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["b", "a"]), ordered=True)
    source = pa.array(pa.ListArray.from_arrays([0, 2], source)) if within == "a list" else source
    told = [note for note in lend.explain(source, "arro3").notes if "does not say that it is ordered" in note]
    made = pa.array(arro3.Array.from_arrow(lend.column(source)))
    dictionary = made.type.value_type if within == "a list" else made.type
    assert (len(told), dictionary.ordered, made.to_pylist()) == (1, False, source.to_pylist())


# -- names --


@pytest.mark.parametrize("names", [["a", "a", "a_1"], ["a", "a_1", "a", "a"]])
def test_names_made_unique_leave_those_that_are(names):
    pytest.importorskip("polars")
    made = lend.to(pa.table([[1]] * len(names), names=names), "polars", names="unique").columns
    assert len(set(made)) == len(names)
    assert [new for old, new in zip(names, made, strict=True) if names.count(old) == 1] == [
        name for name in names if names.count(name) == 1
    ]


def test_two_columns_of_one_name_are_refused_where_the_target_has_one():
    pytest.importorskip("polars")
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])
    with pytest.raises(UnsupportedLayout, match="'x' is the name of columns 0, 1"):
        lend.to(twice, "polars")
    assert lend.to(twice, "polars", names="unique").columns == ["x", "x_1"]
    assert lend.to(twice, "pyarrow").column_names == ["x", "x"]


def test_numbering_names_steps_over_those_that_are_there():
    pytest.importorskip("polars")
    names = ["x", "x", "x_1"]
    twice = pa.Table.from_arrays([pa.array([i]) for i in range(3)], names)
    made = lend.to(twice, "polars", names="unique")
    assert made.columns == ["x", "x_2", "x_1"]
    assert made.row(0) == (0, 1, 2)


NAMES = [
    ["a", "A"], ["a", "a", "a_1"], ["", ""], ["", "v0"], ["a", "A_1", "A"], ["v1", ""], ["É", "é"], ["a_1", "a", "a"],
]  # fmt: skip


@pytest.mark.parametrize("names", NAMES, ids=str)
def test_names_that_duckdb_changes_are_told(names):
    # duckdb 2.0 numbers names that differ by their case alone, and those without a letter
    pytest.importorskip("duckdb")
    source = pa.table([pa.array([i]) for i in range(len(names))], names=names)
    told = [note for note in lend.explain(source, "duckdb").notes if "is called" in note]
    made = lend.to(source, "duckdb").columns
    assert told == [
        f"column {old!r} is called {new!r} there" for old, new in zip(names, made, strict=True) if old != new
    ]


def test_an_empty_name_stays_one_in_polars():
    # of a list of Series polars 2.1 calls it column_0
    pytest.importorskip("polars")
    assert lend.to(pa.table([[1], [2]], names=["", "a"]), "polars").columns == ["", "a"]


@pytest.mark.parametrize("ask", [lend.to, lend.explain])
def test_one_column_is_unique_among_itself(ask):
    pytest.importorskip("polars")
    ask(pa.array([1]), "polars", names="unique")
    with pytest.raises(ValueError, match="names is \"unique\", or not given, not 'x'"):
        ask(pa.array([1]), "polars", names="x")
