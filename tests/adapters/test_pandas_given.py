"""Columns to pandas: what each dtype_backend makes of them, shared where it was told to be. Tried with pandas 3.1."""

import math
import struct

import pytest

import lend
from lend.adapters import pandas as adapter
from lend.adapters import pandas_giving as giving
from lend.adapters import pandas_kinds as kinds
from lend.columns.building import of_chunks
from lend.columns.nullness import Nulls
from lend.errors import MalformedDescriptor, UnsupportedType
from lend.front_columns import column as column_of_anything
from support import column_forms as make

pd = pytest.importorskip("pandas")
np = pytest.importorskip("numpy")

MASKS = ["bits", "inverted bits", "bytes of 1", "bytes of 0", "strided bytes", "bytes backwards"]


def given(column, backend="auto", nulls=None):
    """The Series; the plan told the bytes, and the source is what it was."""
    before = make.snapshot(column)
    plan = giving.plan(column, backend, nulls)
    with lend.copies() as made:
        series = plan.make()
    assert made.bytes == plan.nbytes, "the bytes that were told are those that were written"
    assert bool(plan.why) == (plan.nbytes != 0), "what is written has a reason"
    assert make.snapshot(column) == before, "nobody changes the source"
    return series


def listed(series):
    """The values of a Series, None for what is null there."""
    return [None if value is pd.NA or value is pd.NaT or value != value else value for value in series.tolist()]  # noqa: PLR0124


def address(array):
    return array.__array_interface__["data"][0]


def in_chunks(chunks, form, dtype="int64"):
    return of_chunks([make.numbers(dtype, part, form, before=[2] * i) for i, part in enumerate(chunks)])


# -- numbers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("laid", ["side by side", "strided", "backwards"])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float32", "bool"])
def test_numbers_without_nulls_are_shared_whatever_their_strides(dtype, laid):
    column = make.numbers(dtype, [1, 0, 1], None, laid)
    series = given(column)
    assert (str(series.dtype), series.tolist()) == (dtype, [1, 0, 1])
    assert address(series.array.to_numpy(copy=False)) == column.buffer_facts(1)[0]


@pytest.mark.parametrize("form", [*MASKS, "sentinel"])
@pytest.mark.parametrize(("dtype", "told"), [("int64", "Int64"), ("uint8", "UInt8"), ("float64", "Float64")])
def test_numbers_with_nulls_are_masked_and_their_values_shared(dtype, told, form):
    # NULL-1, NULL-9
    if (dtype, form) == ("uint8", "sentinel"):
        return
    column = make.numbers(dtype, [1, None, 3], form)
    series = given(column)
    assert (str(series.dtype), listed(series)) == (told, [1, None, 3])
    assert address(series.array._data) == column.buffer_facts(1)[0]


def test_a_mask_of_bytes_is_shared_too():
    column = make.numbers("int64", [1, None], "bytes of 1")
    series = given(column)
    assert address(series.array._mask) == column.buffer_facts(0)[0]
    assert giving.plan(column).nbytes == 0


def test_large_integers_beside_a_null_stay_exact():
    # NULL-9
    column = make.numbers("int64", [2**62 + 1, None], "bits")
    assert given(column).tolist()[0] == 2**62 + 1
    with pytest.raises(UnsupportedType, match="column 'x' has nulls, and pandas' int64 of NumPy has no null"):
        giving.plan(column, "numpy")
    with pytest.raises(UnsupportedType, match="beyond"):
        giving.give_series(column, "numpy", "nan")
    assert listed(given(make.numbers("int64", [7, None], "bits"), "numpy", "nan")) == [7.0, None]
    assert given(column, "numpy", ("fill", -1)).tolist() == [2**62 + 1, -1]


def test_nan_and_null_stay_apart():
    # NULL-8
    column = make.numbers("float64", [1.5, math.nan, None], "bits")
    series = given(column)
    assert (str(series.dtype), series.isna().sum()) == ("Float64", 1)
    with pytest.raises(UnsupportedType, match="has nulls and NaN that is a value"):
        giving.give_series(column, "numpy")


def test_floats_whose_nan_is_null_are_shared():
    column = make.numbers("float64", [1.5, None], "nan")
    series = given(column)
    assert str(series.dtype) == "float64"
    assert address(series.to_numpy()) == column.buffer_facts(1)[0]
    assert str(given(column, "numpy_nullable").dtype) == "Float64"


@pytest.mark.parametrize("form", [*MASKS, None])
def test_bools_with_nulls_are_nullable_and_never_false(form):
    # NULL-7
    values = [True, False if form is None else None, False]
    for column in (make.packed_bools(values, form, [True] * 3), make.numbers("bool", values, form)):
        series = given(column)
        assert (str(series.dtype), listed(series)) == ("bool" if form is None else "boolean", values)
        assert str(given(column, "numpy_nullable").dtype) == "boolean"
    if form is not None:
        with pytest.raises(UnsupportedType, match="has nulls"):
            giving.plan(column, "numpy")


@pytest.mark.parametrize("laid", ["swapped", "swapped and strided"])
@pytest.mark.parametrize("form", ["bits", None])
def test_swapped_numbers_come_in_the_order_of_the_machine(laid, form):
    # TYPE-4
    values = [256, 1 if form is None else None, 3]
    assert listed(given(make.numbers("int32", values, form, laid))) == values


@pytest.mark.parametrize("backend", ["auto", "numpy_nullable"])
@pytest.mark.parametrize("form", [*MASKS, "sentinel", None])
def test_chunks_come_into_one(form, backend):
    parts = [[1, None, 3], [], [None] * 9, [4]]
    parts = [[9 if form is None and value is None else value for value in part] for part in parts]
    assert listed(given(in_chunks(parts, form), backend)) == [row for part in parts for row in part]
    bools = of_chunks([make.packed_bools([True, False], None, [True] * i) for i in range(3)])
    assert given(bools, backend).tolist() == [True, False] * 3


def test_nulls_are_forbidden_where_that_is_wanted():
    with pytest.raises(UnsupportedType, match='has 1 null, and nulls="forbid" was asked for'):
        giving.plan(make.numbers("int8", [1, None], "bits"), nulls="forbid")
    assert given(make.numbers("int8", [1], "bits"), nulls="forbid").tolist() == [1]


def test_what_pandas_gets_is_read_only_and_the_lender_keeps_its_values():
    column = make.numbers("int64", [1, 2])
    series = given(column)
    with pytest.raises(ValueError, match="read-only"):
        series.array[0] = 9
    assert column.tolist() == [1, 2]


# -- times -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["datetime64[ns]", "timedelta64[s]", "datetime64[us, Europe/Paris]"])
@pytest.mark.parametrize("form", ["nat", "bits", "bytes of 1", None])
def test_times_are_shared_where_their_null_is_nat(dtype, form):
    # NULL-6, TYPE-3
    column = make.numbers(dtype, [5, 6 if form is None else None, 7], form)
    series = given(column)
    assert str(series.dtype) == dtype
    assert series.isna().tolist() == [False, form is not None, False]
    assert [series.array.view("i8")[i] for i in (0, 2)] == [5, 7]
    assert giving.plan(column).nbytes == (24 if form in ("bits", "bytes of 1") else 0)
    if form in ("nat", None):
        assert address(series.array.view("i8")) == column.buffer_facts(1)[0]


def test_a_valid_number_of_nat_is_not_made_null():
    column = make.numbers("datetime64[ns]", [make.NAT, None], "bits")
    with pytest.raises(UnsupportedType, match="which NumPy's times would show as NaT"):
        giving.give_series(column)


def test_a_zone_that_pandas_does_not_have_is_refused_by_its_name():
    # TYPE-13
    column = lend.Column.from_buffers(lend.DType.from_arrow("tsu:Z"), 1, {"data": bytes(8)}, name="z")
    with pytest.raises(UnsupportedType, match="pandas has no time zone 'Z', in which column 'z' is") as caught:
        giving.plan(column)
    assert "pyarrow" in caught.value.remedy


# -- text and categories -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("form", [*MASKS, None])
def test_text_keeps_its_bytes_and_its_chunks(form, wide):
    pytest.importorskip("pyarrow")
    values = ["ä", "b" if form is None else None, ""]
    column = of_chunks([make.texts(values, form, ["x"] * 9 * i, ["y"], wide, b".") for i in range(2)])
    series = given(column)
    assert (str(series.dtype), listed(series)) == ("str", values * 2)
    inner = series.array.__arrow_array__()
    assert inner.num_chunks == 2
    data = column.chunks[0].buffers["data"]
    assert data.ptr <= inner.chunk(0).buffers()[2].address <= data.ptr + data.nbytes
    assert str(given(column, "numpy_nullable").dtype) == "string"


def test_text_whose_null_was_na_is_string_again():
    pytest.importorskip("pyarrow")
    series = pd.Series(["x", None], dtype="string")
    column = adapter.column_of(series, lambda obj, copy: column_of_anything(obj))
    assert str(given(column).dtype) == "string"
    assert giving.plan(column).nbytes == 0


def test_text_in_views_becomes_text_by_pyarrow_and_nobody_tells_its_bytes():
    pa = pytest.importorskip("pyarrow")
    column = column_of_anything(pa.array(["x", None, "y" * 30], pa.string_view()))
    assert (giving.plan(column).nbytes, giving.plan(column).theirs) == (0, ["pyarrow makes offsets of views"])
    assert listed(given(column)) == ["x", None, "y" * 30]


def test_what_pandas_keeps_in_arrow_needs_pyarrow(monkeypatch):
    monkeypatch.setattr(kinds, "imported", lambda name: None)
    with pytest.raises(UnsupportedType, match="in Arrow's arrays, and pyarrow is not installed"):
        giving.plan(make.texts(["a"]))


@pytest.mark.parametrize("index", ["int8", "int32", "uint8"])
@pytest.mark.parametrize("form", [*MASKS, "minus one", None])
def test_dictionaries_are_categories_and_their_codes_shared_where_they_can_be(form, index):
    # NULL-5, TYPE-14
    if (form, index) == ("minus one", "uint8"):
        return
    pytest.importorskip("pyarrow")
    values = ["b", "a" if form is None else None, "a"]
    column = make.categories(values, ["a", "b", "unused"], form, index, ordered=True)
    series = given(column)
    assert listed(series) == values
    assert series.cat.ordered
    assert series.cat.categories.tolist() == ["a", "b", "unused"]
    shared = address(series.array.codes) == column.buffer_facts(1)[0]
    assert shared == (index == "int8" and form in ("minus one", None))


def test_categories_that_occur_twice_or_are_null_are_told_by_one_or_none():
    pytest.importorskip("pyarrow")
    column = make.categories(["a", "b", None], ["b", None, "a"], None)
    assert listed(given(column)) == ["a", "b", None]
    words = make.texts(["b", "a", "b"])
    kind = lend.DType.from_arrow("c", dictionary=words.dtype)
    column = lend.Column.from_buffers(kind, 3, {"data": b"\0\1\2"}, dictionary=words)
    series = given(column)
    assert (series.tolist(), series.cat.categories.tolist()) == (["b", "a", "b"], ["b", "a"])


def test_categories_of_several_chunks_are_one():
    pytest.importorskip("pyarrow")
    chunks = [make.categories(part, ["a", "b"], "bits") for part in (["a", None], ["b"])]
    assert listed(given(of_chunks(chunks))) == ["a", None, "b"]


def test_an_index_out_of_the_categories_is_refused_before_pandas_sees_it():
    pytest.importorskip("pyarrow")
    words = make.texts(["a"])
    kind = lend.DType.from_arrow("c", dictionary=words.dtype)
    column = lend.Column.from_buffers(kind, 2, {"data": struct.pack("=2b", 0, 5)}, dictionary=words, name="x")
    with pytest.raises(MalformedDescriptor, match="the index at element 1 is none of its 1"):
        giving.give_series(column)


# -- round trips, frames -----------------------------------------------------------------------------------------------


def everything():
    return pd.DataFrame({
        "i": [1, 2, 3], "f": [1.5, None, 2.5], "b": [True, False, True], "m": pd.array([1, None, 3], dtype="Int64"),
        "n": pd.array([True, None, False], dtype="boolean"), "c": pd.Categorical(["x", None, "y"], ordered=True),
        "z": pd.date_range("2020", periods=3, tz="Europe/Paris"), "t": pd.to_datetime(["2020", None, "2021"]),
        "d": pd.to_timedelta([1, None, 2]), "p": pd.PeriodIndex(["2020-01", None, "2020-03"], freq="M"),
        "k": pd.interval_range(0, 3, closed="left"), "s": pd.Series(["a", None, "ä"]),
        "g": pd.Series(["a", None, "b"], dtype="string"), "h": pd.Series([1.5, 2.5, 3.5], dtype="float16"),
    })  # fmt: skip


class Table:
    """What `give_frame` asks of a table."""

    def __init__(self, taken):
        self.names, self.columns, self.metadata = tuple(taken.names), tuple(taken.columns), taken.metadata
        self.rows = taken.length

    def __len__(self):
        return self.rows


def through(frame, **options):
    taken = adapter.columns_of(frame, lambda obj, copy: column_of_anything(obj), index=options.pop("taken", None))
    return giving.give_frame(Table(taken), **options)


def test_a_frame_comes_back_as_it_was_and_nothing_is_copied():
    pytest.importorskip("pyarrow")
    frame = everything()
    with lend.copies() as made:
        back = through(frame)
    pd.testing.assert_frame_equal(back, frame)
    assert made.bytes == 0


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([10, 20, 30], name="key"), pd.Index(["x", "y", "z"]), pd.date_range("2020", periods=3, tz="UTC"),
        pd.MultiIndex.from_arrays([[1, 2, 3], ["x", "y", "z"]], names=["n", None]), pd.RangeIndex(5, 11, 2, name="r"),
    ],
    ids=["numbers", "text", "times", "two levels", "range"],
)  # fmt: skip
def test_an_index_comes_back_as_one(index):
    # TYPE-19
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": [1, 2, 3]}, index=index)
    back = through(frame)
    pd.testing.assert_frame_equal(back, frame, check_index_type=False, check_freq=False)
    assert back.columns.tolist() == ["a"]
    assert through(frame, index="drop").columns.tolist() == ["a"]
    assert len(through(frame, index="column").columns) == 1 + index.nlevels
    assert len(through(frame, taken="column").columns) == 1 + index.nlevels


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([10, 20, 30], name="key"), pd.MultiIndex.from_arrays([[1, 2, 3], list("xyz")], names=["a", "a"]),
        pd.RangeIndex(5, 11, 2), pd.CategoricalIndex(list("aba")), pd.interval_range(0, 3), pd.Index([1.5, 2.5, 3.5]),
        pd.period_range("2020", periods=3, freq="M", name="v"),
    ],
    ids=["numbers", "levels of one name", "range", "categories", "intervals", "floats", "a column's name"],
)  # fmt: skip
@pytest.mark.parametrize("way", ["lend", "pyarrow", "of pyarrow's own"])
def test_an_index_comes_back_through_a_table(index, way):
    # TYPE-19
    pa = pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"v": [1, 2, 3], "w": [1.5, 2.5, 3.5]}, index=index)
    if way == "of pyarrow's own":
        if index.name == "v":
            return
        table = lend.table(pa.Table.from_pandas(frame))
    else:
        table = lend.table(frame)
        table = lend.table(pa.table(table)) if way == "pyarrow" else table
    back = lend.to(table[:], "pandas")
    pd.testing.assert_frame_equal(back, frame, check_index_type=False, check_freq=False)
    assert lend.to(table[1:], "pandas").index.tolist() == (index[1:].tolist() if way != "of pyarrow's own" or not (
        isinstance(index, pd.RangeIndex)) else [0, 1])  # fmt: skip


def test_a_part_of_the_columns_keeps_its_labels_and_its_index():
    # NAME-1, TYPE-19
    frame = pd.DataFrame([[1, 2, 3]], columns=pd.Index([0, "b", None], name="n"), index=["x"])
    part = lend.table(frame).select([0, 3, 1])
    back = lend.to(part, "pandas")
    assert (back.columns.tolist(), back.columns.name, back.index.tolist()) == ([None, 0], "n", ["x"])


@pytest.mark.parametrize("said", [b"{", b"[]", b'{"index_columns": [1], "columns": []}', b'{"index_columns": ["a"]}'])
def test_what_nobody_can_read_of_an_index_says_nothing(said):
    pa = pytest.importorskip("pyarrow")
    table = lend.table(pa.table({"a": [1]}).replace_schema_metadata({b"pandas": said}))
    assert lend.to(table, "pandas").columns.tolist() == ["a"]


@pytest.mark.parametrize(
    ("name", "said", "storage"),
    [
        ("pandas.period", b'{"freq": "M"}', "int32"), ("pandas.period", b"{", "int64"), ("pandas.period", b"", "int64"),
        ("pandas.period", b'{"freq": "no"}', "int64"), ("pandas.interval", b'{"closed": "right"}', "int64"),
    ],
)  # fmt: skip
def test_extension_types_of_pandas_that_are_not_as_it_tells_them_stay_in_arrow(name, said, storage):
    pytest.importorskip("pyarrow")
    kind = lend.DType.from_arrow(lend.DType(storage).arrow, extension=(name, said))
    assert giving.plan(lend.Column.from_buffers(kind, 2, {"data": bytes(16)})).what == "arrow"


def test_a_range_that_was_kept_as_three_integers_comes_back():
    frame = pd.DataFrame({"a": [1, 2, 3]}, index=pd.RangeIndex(5, 11, 2, name="r"))
    back = through(frame, taken="metadata")
    assert isinstance(back.index, pd.RangeIndex)
    pd.testing.assert_frame_equal(back, frame)


def test_labels_that_are_alike_or_no_text_come_back():
    # NAME-1
    labels = pd.Index([0, "0", ("a", 1), None, pd.Timestamp("2020"), "0"], tupleize_cols=False)
    frame = pd.DataFrame([[1, 2, 3, 4, 5, 6]], columns=labels)
    assert through(frame).columns.tolist() == labels.tolist()
    levels = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])
    assert through(pd.DataFrame([[1, 2]], columns=levels)).columns.equals(levels)


@pytest.mark.parametrize("shape", [(0, 2), (5, 0)])
def test_frames_without_rows_or_columns_come_back(shape):
    frame = pd.DataFrame(np.zeros(shape))
    assert through(frame).shape == shape


def test_what_came_together_stays_in_its_own_memory():
    # pandas would bring columns of one dtype into one block, which is a copy
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    taken = adapter.columns_of(frame, None)
    back = giving.give_frame(Table(taken))
    for place, column in enumerate(taken.columns):
        assert address(back.iloc[:, place].to_numpy()) == column.buffer_facts(1)[0]


def test_a_word_that_is_no_backend_is_refused():
    with pytest.raises(ValueError, match="dtype_backend is one of auto, numpy, numpy_nullable, pyarrow, not 'arrow'"):
        giving.plan(make.numbers("int8", []), "arrow")


def test_sentinels_are_masked_and_keep_their_type():
    column = make.numbers("int32", [1, None], "sentinel")
    assert column.nulls == Nulls("sentinel", None, -99)
    assert str(given(column).dtype) == "Int32"


@pytest.mark.parametrize(
    "words",
    [[1.0, float("nan")], [0.0, -0.0], [{"a": 1}, {"a": 2}]],
    ids=["NaN", "zeros of two signs", "structs"],
)
def test_a_dictionary_of_which_pandas_makes_no_categories_stays_in_arrow(words):
    pa = pytest.importorskip("pyarrow")
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int8()), pa.array(words))
    made = lend.to(array, "pandas")
    assert (str(made.dtype).startswith("dictionary<"), repr(made.tolist()[:2])) == (True, repr(words))


def test_a_dictionary_of_half_floats_stays_in_arrow():
    pa = pytest.importorskip("pyarrow")
    array = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int8()), pa.array([1, 2], pa.float16()))
    assert lend.to(array, "pandas").tolist() == [2.0, 1.0]


def test_hours_of_a_zone_that_are_told_twice_stay_two_categories():
    pa = pytest.importorskip("pyarrow")
    hours = pa.array([1729987200, 1729990800], pa.timestamp("s", "Europe/Paris"))
    made = lend.to(pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), hours), "pandas")
    assert [each.utcoffset().total_seconds() for each in made.tolist()] == [7200, 3600]


def test_an_index_is_no_column_that_was_named():
    frame = pd.DataFrame({"a": [1], "b": [2]}, index=pd.Index([7], name="i"))
    assert lend.table(frame, columns=["b"]).names == ("b",)


@pytest.mark.parametrize("chunks", [1, 2])
def test_nulls_that_would_merge_with_nan_are_refused_before_anything_is_written(chunks):
    pa = pytest.importorskip("pyarrow")
    array = pa.chunked_array([pa.array([1.0, None, float("nan")], pa.float16())] * chunks)
    with pytest.raises(UnsupportedType, match="has nulls and NaN that is a value") as told:
        lend.explain(array, "pandas")
    with pytest.raises(UnsupportedType) as caught:
        lend.to(array, "pandas")
    assert str(caught.value) == str(told.value)


def test_a_dictionary_of_times_with_nanoseconds_stays_in_arrow():
    # as categories pandas 3.1 has them as objects of datetime, which know microseconds alone
    pa = pytest.importorskip("pyarrow")
    words = pa.array([1, 2], pa.time64("ns"))
    made = lend.to(pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int8()), words), "pandas")
    assert str(made.dtype).startswith("dictionary<values=time64[ns]")
