"""Columns and tables to libraries of columns with `copy=True` and `nulls=`: memory of its own, other forms of nulls."""

import math

import pytest

import lend
from lend.columns import building
from lend.columns.nullness import Nulls
from lend.errors import CopyRequired, UnsupportedType
from support import column_forms

pa = pytest.importorskip("pyarrow")

TARGETS = ["pyarrow", "polars", "arro3", "duckdb", "pandas"]
OF_COLUMNS = ["pyarrow", "polars", "arro3", "pandas"]
ROWS = {
    "n": [1, None, 3, 4],
    "d": [1, 2, 3, 4],
    "s": ["a", None, "ünï", "longer than twelve bytes"],
    "f": [1.5, None, 2.5, -1.0],
    "b": [True, None, False, True],
    "l": [[1, 2], None, [], [3]],
    "k": ["x", "y", None, "x"],
    "r": [{"p": 1}, None, {"p": None}, {"p": 4}],
}
WHOLE = pa.table({**ROWS, "k": pa.array(ROWS["k"]).dictionary_encode()})
TABLES = {
    "whole": WHOLE,
    "sliced": pa.concat_tables([WHOLE.slice(3), WHOLE, WHOLE.slice(0, 1)]).combine_chunks().slice(1, 4),
    "in chunks": pa.concat_tables([WHOLE.slice(0, 1), WHOLE.slice(1)]),
}


def rows_in(made, target):
    if target == "duckdb":
        made = pa.table(made.to_arrow_table() if hasattr(made, "to_arrow_table") else made.arrow())
    return {column.name: column.tolist() for column in lend.table(made)}


def told(plan):
    return sum(step.nbytes for step in plan.steps if step.who == "lend" and step.nbytes is not None)


def memory_of(column):
    """The spans of memory that a column reads."""
    found = []
    for chunk in column.chunks:
        for buffer in chunk.buffers.values():
            parts = buffer if isinstance(buffer, tuple) else (buffer,)
            found += [(part.ptr, part.ptr + part.nbytes) for part in parts if part.nbytes]
        for child in chunk.children:
            found += memory_of(child)
        if chunk.dictionary is not None:
            found += memory_of(chunk.dictionary)
    return found


def overlap(one, other):
    return any(a < d and c < b for a, b in memory_of(one) for c, d in memory_of(other))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", TABLES)
def test_a_copy_is_counted_and_shares_nothing(name, target):
    pytest.importorskip(target)
    table = lend.table(TABLES[name])
    plan = lend.explain(table, target, copy=True)
    with lend.copies() as counted:
        made = lend.to(table, target, copy=True)
    assert rows_in(made, target) == ROWS
    assert counted.bytes == told(plan) > 0
    if target == "duckdb":
        return
    for column, other in zip(table, lend.table(made), strict=True):
        assert not overlap(column, other), column.name
        assert any(repr(column.name) in step.what for step in plan.copies), column.name


@pytest.mark.parametrize("target", OF_COLUMNS)
@pytest.mark.parametrize("form", ["bits", "bytes of 1", "bytes of 0", "nan", None])
def test_a_copy_of_a_column_in_any_form_shares_nothing(form, target):
    pytest.importorskip(target)
    rows = [1.0, 2.0, 3.0] if form is None else [1.0, None, 3.0]
    column = column_forms.numbers("float64", rows, form, before=[9.0])
    with lend.copies() as counted:
        made = lend.column(lend.to(column, target, copy=True))
    assert counted.bytes == told(lend.explain(column, target, copy=True)) >= 24
    assert made.tolist() == rows
    assert not overlap(column, made)


@pytest.mark.parametrize("form", [("bitmask", 1, b"\2"), ("bytemask", 1, b"\0\1\0"), ("bitmask", 0, b"\5")])
def test_a_copy_of_text_in_views_shares_none_of_its_memories(form):
    text = lend.column(pa.array(["a", "longer than twelve bytes", "longer than twelve bytes too"], pa.string_view()))
    kind, missing, validity = form
    buffers = {**text.buffers, "validity": validity}
    column = lend.Column.from_buffers("utf8_view", 3, buffers, nulls=Nulls(kind, missing))
    made = lend.column(lend.to(column, "pyarrow", copy=True))
    assert made.tolist() == ["a", None, "longer than twelve bytes too"]
    assert not overlap(column, made)


@pytest.mark.parametrize("dtype_backend", ["auto", "numpy", "numpy_nullable", "pyarrow"])
@pytest.mark.parametrize("missing", [0, 1], ids=["bits of 0", "bits of 1"])
def test_a_copy_of_text_in_views_for_pandas_has_nulls_of_its_own(missing, dtype_backend):
    # pyarrow makes offsets of the views, and leaves the bits beside them where they are
    pytest.importorskip("pandas")
    text = lend.column(pa.array(["a", "longer than twelve bytes", "b"], pa.string_view()))
    buffers = {**text.buffers, "validity": b"\5" if missing == 0 else b"\2"}
    column = lend.Column.from_buffers("utf8_view", 3, buffers, nulls=Nulls("bitmask", missing))
    with lend.copies() as counted:
        made = lend.column(lend.to(column, "pandas", copy=True, dtype_backend=dtype_backend))
    assert counted.bytes == told(lend.explain(column, "pandas", copy=True, dtype_backend=dtype_backend))
    assert made.tolist() == ["a", None, "b"]
    assert not overlap(column, made)


def test_pandas_may_write_to_its_copy_and_nobody_sees_it():
    pytest.importorskip("pandas")
    column = lend.column(pa.array([1, 2, 3]))
    made = lend.to(column, "pandas", copy=True)
    values = made.array.to_numpy(copy=False)
    values.flags.writeable = True
    values[0] = 7
    assert column.tolist() == [1, 2, 3]
    frame = lend.to({"a": column}, "pandas", copy=True)
    frame.loc[0, "a"] = 7
    assert (frame["a"].tolist(), column.tolist()) == ([7, 2, 3], [1, 2, 3])


@pytest.mark.parametrize("target", ["pyarrow", "polars", "pandas"])
def test_a_copy_does_not_follow_its_source(target):
    import array

    pytest.importorskip(target)
    source = array.array("q", [1, 2, 3])
    made = lend.to({"a": source}, target, copy=True)
    assert "aliased" not in str(lend.explain({"a": source}, target, copy=True))
    source[0] = 7
    assert lend.table(made)["a"].tolist() == [1, 2, 3]


def test_a_copy_of_rows_that_did_not_come_is_told_to_be_unknown():
    def reader():
        return pa.RecordBatchReader.from_batches(WHOLE.schema, WHOLE.to_batches())

    for target in ("pyarrow", "pandas"):
        pytest.importorskip(target)
        assert lend.explain(reader(), target, copy=True).bytes_copied is None
        assert rows_in(lend.to(reader(), target, copy=True), target) == ROWS


def test_no_rows_are_copied_where_there_are_none():
    for target in OF_COLUMNS:
        pytest.importorskip(target)
        made = lend.column(lend.to(lend.column(pa.array([], pa.int32())), target, copy=True))
        assert (len(made), str(made.dtype)) == (0, "int32")


# -- nulls ---------------------------------------------------------------------------------------------------------

FILLED = {
    "integers": (pa.array([1, None, 3]), 7, [1, 7, 3]),
    "floats": (pa.array([1.5, None]), 0.5, [1.5, 0.5]),
    "bools": (pa.array([True, None, False]), True, [True, True, False]),
    "a slice": (pa.array([9, 1, None, 3])[1:], 7, [1, 7, 3]),
    "chunks of which one is full": (pa.chunked_array([[1, 2], [None, 4]]), 7, [1, 2, 7, 4]),
    "none that is null": (pa.array([1, 2]), 7, [1, 2]),
    "text without nulls": (pa.array(["a"]), 7, ["a"]),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", FILLED)
def test_a_value_stands_where_null_was(name, target):
    pytest.importorskip(target)
    source, value, rows = FILLED[name]
    obj = {"a": source}
    plan = lend.explain(obj, target, nulls=("fill", value))
    with lend.copies() as counted:
        made = lend.to(obj, target, nulls=("fill", value))
    assert rows_in(made, target) == {"a": rows}
    assert counted.bytes == told(plan)


@pytest.mark.parametrize("target", TARGETS)
def test_nulls_that_are_forbidden_are_named(target):
    pytest.importorskip(target)
    with pytest.raises(UnsupportedType, match="column 'n' has "):
        lend.to(WHOLE.select(["d", "n"]), target, nulls="forbid")
    assert rows_in(lend.to(WHOLE.select(["d"]), target, nulls="forbid"), target) == {"d": ROWS["d"]}


LISTS, PAIRS = pa.list_(pa.int64()), pa.list_(pa.int64(), 2)
WITHIN = {
    "list": pa.array([[1, None]]),
    "list in views": pa.array([[1, None]], pa.list_view(pa.int64())),
    "list of one length": pa.array([[1, None]], PAIRS),
    "map": pa.array([[("a", None)]], pa.map_(pa.string(), pa.int64())),
    "struct": pa.array([{"a": None}]),
    "words": pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([[1, None]])),
    "union": pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([[None]], LISTS)]),
    "second chunk": pa.chunked_array([pa.array([[1]]), pa.array([[None]], LISTS)]),
    "depth": pa.array([{"a": [{"b": [None]}]}]),
}
WITHOUT = {
    "list": pa.array([[None], [1], [2]]).slice(1),
    "list of one length": pa.array([[1, None], [1, 2]], PAIRS).slice(1),
    "struct": pa.array([{"a": None}, {"a": 1}]).slice(1),
    "union": pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, None]), pa.array([None, "a"])]),
    "depth": pa.array([{"a": [{"b": [1]}]}]),
}


@pytest.mark.parametrize("target", ["pyarrow", "pandas"])
@pytest.mark.parametrize("name", WITHIN)
def test_nulls_inside_of_rows_are_forbidden_too(name, target):
    pytest.importorskip(target)
    with pytest.raises(UnsupportedType, match="has 1 null inside of its rows") as refusal:
        lend.to(WITHIN[name], target, nulls="forbid")
    assert "fill" not in refusal.value.remedy


@pytest.mark.parametrize("name", WITHOUT)
def test_nulls_that_no_row_has_are_not_forbidden(name):
    assert lend.to(WITHOUT[name], "pyarrow", nulls="forbid").to_pylist() == WITHOUT[name].to_pylist()


def test_the_library_is_named_that_takes_days_without_a_value_under_nulls():
    np = pytest.importorskip("numpy")
    days = lend.column(np.ma.masked_array(np.array(["2020-01-01"] * 2, "M8[D]"), [False, True]))
    with pytest.raises(UnsupportedType) as refusal:
        lend.to(days, "pyarrow", nulls=("fill", 0))
    assert 'lend.to(x, "pyarrow")' in refusal.value.remedy


@pytest.mark.parametrize("target", ["pyarrow", "polars", "arro3", "duckdb"])
@pytest.mark.parametrize("nulls", ["nan", "object", "mask"])
def test_arrow_data_has_no_other_way_to_show_nulls(nulls, target):
    pytest.importorskip(target)
    with pytest.raises(UnsupportedType, match=f"nulls='{nulls}' is no way to show nulls") as caught:
        lend.to(WHOLE, target, nulls=nulls)
    assert caught.value.remedy


def test_text_is_not_filled_by_lend():
    with pytest.raises(UnsupportedType, match="column 's' is of utf8, under whose nulls lend puts no value"):
        lend.to(WHOLE.select(["s"]), "pyarrow", nulls=("fill", "x"))


PANDAS = {
    "integers as floats": ("n", {"nulls": "nan"}, "float64", [1.0, "nan", 3.0, 4.0], 32),
    "floats with NaN": ("f", {"nulls": "nan"}, "float64", [1.5, "nan", 2.5, -1.0], 32),
    "bools as objects": ("b", {"nulls": "object"}, "object", [True, None, False, True], 32),
    "strings as objects": ("s", {"nulls": "object"}, "object", ROWS["s"], 32),
    "a value": ("n", {"nulls": ("fill", -1)}, "int64", [1, -1, 3, 4], 32),
    "a value in numpy": ("f", {"nulls": ("fill", 0.0), "dtype_backend": "numpy"}, "float64", [1.5, 0, 2.5, -1.0], 32),
}  # fmt: skip


@pytest.mark.parametrize("name", PANDAS)
def test_pandas_shows_nulls_as_it_is_asked(name):
    pytest.importorskip("pandas")
    column, options, dtype, rows, nbytes = PANDAS[name]
    obj = lend.table(WHOLE)[column]
    plan = lend.explain(obj, "pandas", **options)
    with lend.copies() as counted:
        made = lend.to(obj, "pandas", **options)
    values = ["nan" if isinstance(value, float) and math.isnan(value) else value for value in made.tolist()]
    assert (str(made.dtype), values) == (dtype, rows)
    assert (told(plan), counted.bytes) == (nbytes, nbytes)
    with pytest.raises(CopyRequired):
        lend.to(obj, "pandas", copy=False, **options)


@pytest.mark.parametrize("backend", ["pyarrow", "numpy_nullable"])
def test_two_ways_at_once_are_refused(backend):
    pytest.importorskip("pandas")
    with pytest.raises(UnsupportedType, match="asks for arrays of NumPy's, and dtype_backend="):
        lend.to(WHOLE, "pandas", nulls="nan", dtype_backend=backend)


def test_what_float64_does_not_hold_is_refused_before_anything_is_made():
    pytest.importorskip("pandas")
    column = lend.column(pa.array([2**62 + 1, None]))
    for ask in (lend.to, lend.explain):
        with pytest.raises(UnsupportedType, match=r"element 0 of this column is beyond 2\*\*53"):
            ask(column, "pandas", nulls="nan")


# -- values and mask side by side -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["bytes of 1", "bytes of 0"])
@pytest.mark.parametrize("target", ["pyarrow", "polars", "arro3"])
def test_a_mask_of_bytes_goes_through_arrow_as_it_lies(target, form):
    pytest.importorskip(target)
    column = column_forms.numbers("int64", [1, None, 3], form, before=[9])
    with lend.copies() as counted:
        made = lend.to({"a": column}, target, nulls="struct")
    assert counted.bytes == 0
    assert lend.explain({"a": column}, target, nulls="struct").bytes_copied == 0
    taken = lend.table(made)["a"]
    spans = memory_of(taken)
    for role, width in (("data", 8), ("validity", 1)):
        first = column.buffers[role].ptr + width
        assert any(begin <= first < end for begin, end in spans), role
    assert overlap(taken, column)


@pytest.mark.parametrize("form", ["bits", "inverted bits", "strided bytes", "nan", "none"])
def test_a_mask_is_made_where_there_is_none_of_bytes(form):
    column = column_forms.numbers("float64", [1.0, None, 3.0] if form != "none" else [1.0, 2.0, 3.0], form)
    with lend.copies() as counted:
        made = lend.to(column, "pyarrow", nulls="struct")
    assert counted.bytes == told(lend.explain(column, "pyarrow", nulls="struct")) == 3
    mask = [bool(value) for value in made.field("mask").storage.to_pylist()]
    assert mask == [form != "none" and row == 1 for row in range(3)]
    assert made.field("values").null_count == 0


def test_text_has_no_mask_beside_it():
    with pytest.raises(UnsupportedType, match="column 's' is of utf8, and a mask of bytes is shared of numbers alone"):
        lend.to(WHOLE, "pyarrow", nulls="struct")


# -- dictionaries that differ ---------------------------------------------------------------------------------------


def coded(*chunks, ordered=False, index=None):
    made = [
        pa.DictionaryArray.from_arrays(pa.array(codes, index or pa.int8()), pa.array(words), ordered=ordered)
        for codes, words in chunks
    ]
    return lend.column(pa.chunked_array(made))


DIFFERENT = {
    "text": (([0, 1], ["b", "a"]), ([0, None, 1], ["a", "z"])),
    "numbers": (([0, 1], [5, 6]), ([1, 0], [7, 5])),
    "a null among the values": (([0, 1], ["b", None]), ([0, 1], ["c", "b"])),
    "three chunks, two alike": (([0], ["a", "b"]), ([1], ["b", "c"]), ([1], ["a", "b"])),
    "values that occur twice": (([0, 1], ["a", "a"]), ([0, 1], ["b", "a"])),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_dictionaries_that_differ_become_one_in_pandas(name):
    # SLICE-13
    pytest.importorskip("pandas")
    column = coded(*DIFFERENT[name])
    plan = lend.explain(column, "pandas")
    with lend.copies() as counted:
        made = lend.to(column, "pandas")
    rows = column.tolist()
    assert [None if value != value else value for value in made.tolist()] == rows  # noqa: PLR0124 - NaN
    assert str(made.dtype) == "category"
    wanted = list(dict.fromkeys(word for _, words in DIFFERENT[name] for word in words if word is not None))
    assert made.cat.categories.tolist() == wanted
    assert counted.bytes == told(plan) >= len(rows)
    with pytest.raises(CopyRequired, match=f"{len(column.chunks)} chunks"):
        lend.to(column, "pandas", copy=False)


def test_indices_grow_where_the_values_of_all_need_it():
    pytest.importorskip("pandas")
    column = coded((list(range(100)), [f"a{i}" for i in range(100)]), (list(range(100)), [f"b{i}" for i in range(100)]))
    made = lend.to(column, "pandas")
    assert made.tolist() == column.tolist()
    assert str(made.cat.codes.dtype) == "int16"


def test_orders_that_conflict_are_refused():
    pytest.importorskip("pandas")
    with pytest.raises(UnsupportedType, match="ordered dictionaries whose orders conflict"):
        lend.to(coded(([0, 1], ["a", "c"]), ([0, 1], ["b", "c"]), ordered=True), "pandas")
    made = lend.to(coded(([0, 1], ["a", "c"]), ([0, 1], ["a", "d"]), ordered=True), "pandas")
    assert (made.cat.ordered, made.tolist()) == (True, ["a", "c", "a", "d"])


@pytest.mark.parametrize("options", [{}, {"nulls": ("fill", 7)}])
def test_a_masked_array_goes_to_pyarrow_with_its_nulls(options):
    np = pytest.importorskip("numpy")
    given = np.ma.array([1, 2, 3], mask=[False, True, False])
    made = lend.to(given, "pyarrow", **options)
    assert made.to_pylist() == [1, 7 if options else None, 3]
    assert lend.explain(given, "pyarrow", **options).bytes_copied == (24 if options else 1)


# -- chunks of which some have no nulls, and what libraries cannot take -----------------------------------------------


@pytest.mark.parametrize("laid", column_forms.LAID)
@pytest.mark.parametrize("second", [None, "bits", "bytes of 1"])
@pytest.mark.parametrize("target", ["pyarrow", "arro3"])
def test_a_chunk_without_nulls_goes_as_arrow_has_it_beside_one_that_is_filled(target, second, laid):
    pytest.importorskip(target)
    parts = [
        column_forms.numbers("int64", [1, None, 3], "bits", laid),
        column_forms.numbers("int64", [4, 5], second, laid),
    ]
    column = building.of_chunks(parts)
    plan = lend.explain(column, target, nulls=("fill", 7))
    with lend.copies() as counted:
        made = lend.to(column, target, nulls=("fill", 7))
    assert lend.column(made).tolist() == [1, 7, 3, 4, 5]
    assert told(plan) == counted.bytes


@pytest.mark.parametrize("target", OF_COLUMNS)
def test_a_bool_is_no_number_to_put_under_nulls(target):
    pytest.importorskip(target)
    for ask in (lend.explain, lend.to):
        with pytest.raises(UnsupportedType, match="True is no value of int64"):
            ask(pa.array([1, None]), target, nulls=("fill", True))


@pytest.mark.parametrize(("kind", "value"), [("float16", 1e5), ("float32", 1e300), ("float64", 10**400)])
@pytest.mark.parametrize("target", ["numpy", *OF_COLUMNS])
def test_a_number_that_has_no_room_is_not_put_under_nulls_as_infinity(target, kind, value):
    pytest.importorskip(target)
    column = column_forms.numbers(kind, [1.5, None], "bits")
    for ask in (lend.explain, lend.to):
        with pytest.raises(UnsupportedType, match="is no value of float"):
            ask(column, target, nulls=("fill", value))


def test_a_number_beyond_bfloat16_is_not_put_under_nulls_as_infinity():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    np = pytest.importorskip("numpy")
    masked = np.ma.MaskedArray(np.array([1, 2], ml_dtypes.bfloat16), [False, True])
    with pytest.raises(UnsupportedType, match="is no value of bfloat16"):
        lend.to(masked, "numpy", nulls=("fill", 3.4e38))
    assert lend.to(masked, "numpy", nulls=("fill", -math.inf)).tolist() == [1, -math.inf]


CUT = {
    "lists": (pa.list_(pa.bool_(), 2), [[True, False], None, [False, None]]),
    "lists of lists": (pa.list_(pa.list_(pa.int8(), 2), 1), [[[1, 2]], None, [[3, None]], [None]]),
    "lists in structs": (pa.struct({"a": pa.list_(pa.int8(), 2)}), [{"a": [1, 2]}, None, {"a": None}]),
    "lists in lists of any length": (pa.list_(pa.list_(pa.int8(), 2)), [[[1, 2]], None, [[3, None]], [None], []]),
}


@pytest.mark.parametrize("copy", [None, True])
@pytest.mark.parametrize("start", [0, 1, 7, 8, 9])
@pytest.mark.parametrize("name", CUT)
def test_polars_takes_lists_of_one_length_however_they_are_cut(name, start, copy):
    pytest.importorskip("polars")
    kind, rows = CUT[name]
    whole = pa.array(rows * 4, kind)
    for cut in (whole[start:], whole[start : start + 2], pa.chunked_array([whole[:2], whole[start:]])):
        plan = lend.explain(cut, "polars", copy=copy)
        with lend.copies() as counted:
            made = lend.to(cut, "polars", copy=copy)
        assert made.to_list() == cut.to_pylist()
        assert told(plan) == counted.bytes


def test_polars_shares_the_elements_of_lists_that_are_cut_at_a_byte():
    pytest.importorskip("polars")
    whole = pa.array([[1, 2], None] * 8, pa.list_(pa.int64(), 2))
    assert told(lend.explain(whole[8:], "polars", copy=False)) == 0
    with pytest.raises(CopyRequired, match="nulls of lists that begin within a byte"):
        lend.to(whole[1:], "polars", copy=False)
