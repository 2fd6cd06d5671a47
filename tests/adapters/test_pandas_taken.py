"""Columns of pandas: its memory as it lies, held by one shallow copy. Tried with pandas 3.1 and pyarrow 26."""

import datetime
import decimal
import gc
import sys
import weakref

import pytest

import lend
from lend.adapters import pandas as adapter
from lend.adapters import pandas_kinds as kinds
from lend.columns.nullness import Nulls
from lend.errors import CopyRequired, MalformedDescriptor, NotLendable, UnsupportedLayout, UnsupportedType
from lend.front_columns import column as column_of_anything

pd = pytest.importorskip("pandas")
np = pytest.importorskip("numpy")


def take(obj, copy=None):
    return column_of_anything(obj)


def column(series, **wishes):
    """A Series as a Column, of which nothing is copied unless it says so."""
    return adapter.column_of(series, take, **wishes)


def columns(frame, **wishes):
    return adapter.columns_of(frame, take, **wishes)


@pytest.fixture(params=["blocks", "public"])
def road(request, monkeypatch):
    """The road by the blocks of a frame, and the one that is there without them."""
    if request.param == "public":
        monkeypatch.setattr(kinds, "blocks_of", lambda frame: None)
    return request.param


def address(array):
    return array.__array_interface__["data"][0]


# -- numbers -----------------------------------------------------------------------------------------------------------

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", [*NUMBERS, "complex128", "bool"])
def test_columns_of_one_block_are_its_strided_rows(dtype, road):
    # COPY-3
    block = np.array([[1, 0], [0, 1], [1, 1]], dtype)
    frame = pd.DataFrame(block, columns=["a", "b"], copy=False)
    with lend.copies() as made:
        a, b = columns(frame).columns
    assert (made.count, a.name, b.name) == (0, "a", "b")
    assert a.buffer_facts(1)[0] == address(block)
    assert b.buffer_facts(1)[0] == address(block) + block.itemsize
    assert a.stride == block.strides[0]
    assert b.tolist() == block[:, 1].tolist()
    assert a.readonly


def test_nan_of_pandas_is_null_and_its_bytes_stay():
    # NULL-8
    found = column(pd.Series([1.5, np.nan]))
    assert found.nulls == Nulls("nan")
    assert found.tolist() == [1.5, None]
    assert column(pd.Series([1, 2])).nulls == Nulls("none")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_are_shared_and_nat_is_null(unit, road):
    # NULL-6
    times = pd.Series(np.array(["2020-01-01", "NaT"], f"M8[{unit}]"))
    spans = pd.Series(np.array([5, "NaT"], f"m8[{unit}]"))
    found = columns(pd.DataFrame({"t": times, "s": spans}, copy=False)).columns
    for part, series in zip(found, (times, spans), strict=True):
        assert part.nulls == Nulls("nat")
        assert part.null_count == 1
        assert part.dtype.unit == unit
        assert part.buffer_facts(1)[0] == address(series.array.view("i8"))


@pytest.mark.parametrize(
    ("zone", "told"),
    [
        ("Europe/Paris", "Europe/Paris"), ("UTC", "UTC"), ("dateutil/Europe/Paris", "Europe/Paris"),
        (datetime.timezone(datetime.timedelta(hours=2)), "+02:00"),
        (datetime.timezone(-datetime.timedelta(hours=5, minutes=30)), "-05:30"),
        (datetime.timezone(datetime.timedelta(hours=1), "CET"), "+01:00"), (datetime.UTC, "UTC"),
    ],
)  # fmt: skip
def test_times_with_a_zone_are_numbers_of_utc_with_its_name(zone, told):
    # TYPE-3, TYPE-13
    series = pd.Series(
        pd.to_datetime(["2021-10-31 00:30", None, "2021-10-31 01:30"]).tz_localize("UTC").tz_convert(zone)
    )
    found = column(series)
    assert found.dtype.zone == told
    assert found.buffers["data"].view("int64").tolist() == series.array.view("i8").tolist()
    assert found.buffer_facts(1)[0] == address(series.array.view("i8"))
    assert found.null_count == 1


@pytest.mark.parametrize("dtype", ["Int8", "Int64", "UInt16", "Float32", "Float64", "boolean"])
def test_masked_arrays_are_values_and_a_mask_both_shared(dtype, road):
    # NULL-1
    series = pd.Series([1, None, 0], dtype=dtype, name="m")
    with lend.copies() as made:
        (found,) = columns(series.to_frame()).columns
    assert made.count == 0
    assert found.nulls == Nulls("bytemask", 1)
    assert found.tolist() == [1, None, 0]
    assert found.buffer_facts(1)[0] == address(series.array._data)
    assert found.buffer_facts(0)[0] == address(series.array._mask)


def test_a_large_integer_beside_a_null_is_exact():
    # NULL-1, NULL-9
    assert column(pd.Series([1, None, 2**62 + 1], dtype="Int64")).tolist() == [1, None, 2**62 + 1]


def test_nan_beside_na_stays_a_value():
    # NULL-8
    values = pd.array([1.0, None, 2.0], dtype="Float64")
    values._data[0] = np.nan
    found = column(pd.Series(values, copy=False))
    assert found.null_count == 1
    assert str(found.tolist()[0]) == "nan"


def test_a_masked_array_without_its_known_parts_is_taken_by_what_is_public(monkeypatch):
    monkeypatch.setattr(kinds, "is_line", lambda array, length: False)
    with lend.copies() as made:
        found = column(pd.Series([1, None, 3], dtype="Int32"))
    assert found.tolist() == [1, None, 3]
    assert (made.bytes, made.recent[0].why) == (15, "pandas shows no mask")


def test_copies_that_pandas_would_make_of_a_masked_array_are_not_made_against_the_callers_word(monkeypatch):
    monkeypatch.setattr(kinds, "is_line", lambda array, length: False)
    with pytest.raises(CopyRequired, match="column 'm' is given by pandas in copies alone"):
        column(pd.Series([1, None], dtype="Int32", name="m"), copy=False)


@pytest.mark.parametrize("make", [pd.arrays.NumpyExtensionArray, lambda array: pd.array(array.astype("M8[s]"))])
def test_arrays_of_two_dimensions_are_no_column(make):
    with pytest.raises(UnsupportedLayout, match="a column has one dimension, and this column has 2"):
        column(make(np.arange(4).reshape(2, 2)))


def test_an_offset_with_seconds_is_refused_as_a_zone():
    zone = datetime.timezone(datetime.timedelta(hours=2, seconds=30))
    with pytest.raises(UnsupportedType, match="has no name that another library could read"):
        column(pd.Series(pd.to_datetime(["2020"]).tz_localize(zone)))


# -- Arrow inside ------------------------------------------------------------------------------------------------------


def test_what_pandas_keeps_in_arrow_is_shared_with_its_chunks_and_offsets():
    # NULL-2, NULL-4
    pa = pytest.importorskip("pyarrow")
    inner = pa.chunked_array([pa.array([1, None, 3], pa.int32()).slice(1), pa.array([4], pa.int32())])
    found = column(pd.Series(pd.arrays.ArrowExtensionArray(inner), name="i"))
    assert found.tolist() == [None, 3, 4]
    assert [part.offset for part in found.chunks] == [1, 0]
    assert found.chunks[0].buffers["data"].ptr == inner.chunk(0).buffers()[1].address
    assert found.name == "i"


@pytest.mark.parametrize("word", ["str", "string"])
def test_strings_are_the_arrow_buffers_inside_and_their_null_is_told_apart(word):
    # NULL-3, NULL-4
    pytest.importorskip("pyarrow")
    series = pd.Series(["x", None, "yyy"], dtype=word)
    with lend.copies() as made:
        found = column(series)
    assert made.count == 0
    assert found.tolist() == ["x", None, "yyy"]
    assert found.metadata[b"pandas.dtype"] == word.encode()
    inner = series.array.__arrow_array__()
    buffers = (inner.chunk(0) if hasattr(inner, "chunk") else inner).buffers()
    assert found.chunks[0].buffers["data"].ptr == buffers[2].address


# -- categories, intervals, periods ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "categories",
    [["u", "v"], [1, 2], [1.5, 2.5], [True, False], pd.date_range("2020", periods=2, tz="Europe/Paris")],
    ids=["text", "integers", "floats", "bools", "times"],
)
def test_categories_are_codes_whose_minus_one_is_null(categories):
    # TYPE-14, NULL-5
    series = pd.Series(pd.Categorical.from_codes([1, -1, 0], categories=categories, ordered=True))
    with lend.copies() as made:
        found = column(series)
    assert made.count == 0
    assert found.nulls == Nulls("sentinel", None, -1)
    assert found.dtype.ordered
    assert found.tolist() == [categories[1], None, categories[0]]
    assert found.buffer_facts(1)[0] == address(series.array.codes)


def test_all_null_and_unused_categories_are_kept():
    # NULL-5
    found = column(pd.Series(pd.Categorical([None, None], categories=["x"])))
    assert (found.tolist(), found.dictionary.tolist()) == ([None, None], ["x"])
    assert column(pd.Series(pd.Categorical([], categories=[]))).tolist() == []


def test_refused_categories_tell_the_column_they_are_of():
    for categories, wish, error in (["a", 1], {}, UnsupportedType), (["a"], {"copy": False}, CopyRequired):
        values = pd.Categorical.from_codes([0], categories=pd.Index(categories, dtype=object))
        with pytest.raises(error, match="column 'k' is of"):
            column(pd.Series(values, name="k"), **wish)


def test_categories_in_chunks_come_into_one_by_a_counted_copy_or_not_at_all():
    pa = pytest.importorskip("pyarrow")
    words = pd.Index(pd.arrays.ArrowExtensionArray(pa.chunked_array([["x"], ["y"]])))
    series = pd.Series(pd.Categorical.from_codes([1, 0], categories=words), name="k")
    with lend.copies() as made:
        assert column(series).tolist() == ["y", "x"]
    assert made.count == 1
    with pytest.raises(CopyRequired, match="the categories of column 'k' lie in 2 chunks"):
        column(series, copy=False)


def test_intervals_are_structs_of_their_ends():
    # TYPE-14
    found = column(pd.Series(pd.interval_range(0, 2, closed="left")))
    assert found.tolist() == [{"left": 0, "right": 1}, {"left": 1, "right": 2}]
    assert found.dtype.extension[0] == "pandas.interval"
    assert b'"closed": "left"' in found.dtype.extension[1]


def test_periods_are_numbers_with_their_frequency():
    series = pd.Series(pd.PeriodIndex(["2020-01", None], freq="M"))
    found = column(series)
    assert found.tolist() == [600, None]
    assert found.dtype.extension == ("pandas.period", b'{"freq": "M"}')
    assert found.buffer_facts(1)[0] == address(series.array.asi8)


# -- objects, and what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [["x", None, "ä"], ["x", np.nan, "ä"], ["x", pd.NA, "ä"]])
@pytest.mark.parametrize("dtype", ["object", "string[python]"])
def test_python_strings_become_text_in_a_copy_that_is_counted(values, dtype):
    pytest.importorskip("pyarrow")
    with lend.copies() as made:
        found = column(pd.Series(values, dtype=dtype))
    assert found.tolist() == ["x", None, "ä"]
    assert (made.count, made.recent[0].why) == (1, "Python objects as text")
    with pytest.raises(CopyRequired, match="object strings"):
        column(pd.Series(values, dtype=dtype), copy=False)


def test_python_strings_become_text_by_polars_where_pyarrow_is_not(monkeypatch):
    pytest.importorskip("polars")
    monkeypatch.setattr(kinds, "imported", lambda name: None if name == "pyarrow" else sys.modules[name])
    import polars  # noqa: F401

    assert column(pd.Series(["x", None, "a long text of many bytes"], dtype=object)).tolist()[:2] == ["x", None]


def test_python_strings_are_refused_by_name_where_nobody_makes_text(monkeypatch):
    monkeypatch.setattr(kinds, "imported", lambda name: None)
    with pytest.raises(UnsupportedType, match="column 's' is of Python objects, which pyarrow makes text of") as caught:
        column(pd.Series(["x"], dtype=object, name="s"))
    assert caught.value.remedy == "install pyarrow or polars"


def test_other_objects_are_refused_with_the_first_row_that_is_no_text():
    # TYPE-9
    with pytest.raises(UnsupportedType, match="column 'o' is of objects: row 2 is an int, no text"):
        column(pd.Series(["x", None, 3], dtype=object, name="o"))


def test_decimals_are_exact_where_objects_are_wanted():
    # TYPE-9
    pytest.importorskip("pyarrow")
    values = [decimal.Decimal("1.50"), None, decimal.Decimal("2.125")]
    assert column(pd.Series(values, dtype=object), nested=True).tolist() == values
    assert column(pd.Series([[1], None], dtype=object), nested=True).tolist() == [[1], None]
    with pytest.raises(UnsupportedType, match="no values of one type"):
        column(pd.Series([{"a": 1}, 3], dtype=object), nested=True)


def test_objects_that_are_all_null_are_a_column_of_nulls():
    # TYPE-9
    found = column(pd.Series([None, None], dtype=object))
    assert (found.dtype.name, found.tolist()) == ("null", [None, None])


@pytest.mark.parametrize("missing", [None, np.nan, pd.NaT, pd.NA])
def test_objects_of_any_null_alone_are_a_column_of_nulls(missing):
    assert column(pd.Series([missing, missing], dtype=object)).dtype.name == "null"


def test_text_that_is_no_utf8_is_refused_with_its_row():
    pytest.importorskip("pyarrow")
    with pytest.raises(UnsupportedType, match="column 's' is of text that is no UTF-8: row 1 has a lone surrogate"):
        column(pd.Series(["a", "\ud800"], dtype=object, name="s"))


def test_sparse_columns_are_refused_with_the_way_to_densify():
    with pytest.raises(UnsupportedType, match="column 's' is sparse") as caught:
        column(pd.Series(pd.arrays.SparseArray([0, 0, 1]), name="s"))
    assert "to_dense" in caught.value.remedy


def test_arrays_of_others_go_by_their_own_arrow_array_or_are_refused():
    pa = pytest.importorskip("pyarrow")
    from pandas.api.extensions import ExtensionArray, ExtensionDtype

    class Meters(ExtensionDtype):
        name, type = "meters", float

        @classmethod
        def construct_array_type(cls):
            return Lengths

    class Lengths(ExtensionArray):
        dtype = Meters()

        def __len__(self):
            return 2

        def copy(self):
            return self

        def view(self, dtype=None):
            return self

    with pytest.raises(NotLendable, match="has no __arrow_array__|of which pandas tells nothing"):
        column(Lengths())
    Lengths.__arrow_array__ = lambda self: pa.array([1.5, None])
    assert column(Lengths()).tolist() == [1.5, None]


# -- frames ------------------------------------------------------------------------------------------------------------


def everything():
    return pd.DataFrame({
        "i": [1, 2, 3], "f": [1.5, None, 2.5], "b": [True, False, True], "m": pd.array([1, None, 3], dtype="Int64"),
        "c": pd.Categorical(["x", None, "y"]), "z": pd.date_range("2020", periods=3, tz="Europe/Paris"),
        "t": pd.date_range("2020", periods=3), "j": [4, 5, 6], "p": pd.period_range("2020", periods=3, freq="M"),
    })  # fmt: skip


def test_every_column_of_a_frame_is_in_its_place(road):
    found = columns(everything())
    assert found.names == list("ifbmcztjp")
    assert [part.name for part in found.columns] == found.names
    assert [part.tolist()[2] for part in found.columns[:5]] == [3, 2.5, True, 3, "y"]
    assert found.length == 3


def test_only_what_is_wanted_is_looked_at(road, monkeypatch):
    monkeypatch.setattr(kinds, "places", lambda names, keys: [names.index(key) for key in keys])
    frame = everything().assign(o=[object()] * 3)
    found = columns(frame, keys=["j", "c"])
    assert found.names == ["j", "c"]
    assert found.columns[0].tolist() == [4, 5, 6]


def test_blocks_that_are_not_as_they_are_known_are_not_trusted():
    frame = everything()
    assert kinds.blocks_of(frame) is not None
    for wrong in ([], [([1], [0])], [(np.zeros((2, 3)), [0])]):

        class Manager:
            blocks = [
                type("Block", (), {"values": np.asarray(values), "mgr_locs": type("P", (), {"as_array": np.array(at)})})
                for values, at in wrong
            ]  # fmt: skip

        class Frame:
            _mgr = Manager
            columns = range(9)

            def __len__(self):
                return 3

        assert kinds.blocks_of(Frame()) is None
    assert kinds.blocks_of(object()) is None


@pytest.mark.parametrize("shape", [(0, 3), (5, 0), (0, 0)])
def test_frames_without_rows_or_columns_are_taken(shape, road):
    found = columns(pd.DataFrame(np.zeros(shape)))
    assert (found.length, len(found.columns)) == shape


def test_names_that_are_alike_or_no_text_are_told_with_their_labels():
    # NAME-1
    frame = pd.DataFrame([[1, 2, 3, 4]], columns=pd.Index([0, "0", ("a", 1), "0"], tupleize_cols=False))
    found = columns(frame)
    assert found.names == ["0", "0", "('a', 1)", "0"]
    assert [part.tolist() for part in found.columns] == [[1], [2], [3], [4]]
    assert b"labels" in found.metadata[b"lend.pandas"]


def test_a_write_to_the_frame_does_not_change_what_was_lent(road):
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]})
    found = columns(frame)
    frame.iloc[0, 0] = 99
    frame["b"] = 0
    assert [part.tolist() for part in found.columns] == [[1, 2, 3], [4, 5, 6]]
    assert frame.iloc[0, 0] == 99


WRITES = {
    "cells": lambda frame: [frame.iloc.__setitem__((0, at), frame.iloc[2, at]) for at in range(frame.shape[1])],
    "columns": lambda frame: [frame.__setitem__(name, frame[name].to_numpy()[::-1]) for name in frame.columns],
    "in place": lambda frame: frame.fillna({"f": 0, "m": 7}, inplace=True),  # noqa: PD002 - this is what is tried
    "replaced": lambda frame: frame.replace({1: 99, 4: 77}, inplace=True),  # noqa: PD002 - so is this
    "all": lambda frame: frame.iloc.__setitem__(slice(None), frame.iloc[::-1].to_numpy()),
    "dropped": lambda frame: (frame.pop("i"), frame.insert(0, "n", 1)),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_no_way_to_write_to_a_frame_changes_what_was_lent_of_any_kind(write, road):
    # TYPE-6
    frame = everything()
    found = [*columns(frame).columns, *[column(frame[name]) for name in frame]]
    before = [part.tolist() for part in found]
    write(frame)
    assert [part.tolist() for part in found] == before


def test_a_refusal_that_is_kept_keeps_no_memory():
    class Memory(bytearray):
        pass

    memory = Memory(np.arange(6.0).tobytes())
    gone = weakref.ref(memory)
    frame = pd.DataFrame(np.frombuffer(memory).reshape(3, 2), copy=False)
    frame.insert(2, "o", pd.Series([1, "x", {}], dtype=object))
    with pytest.raises(UnsupportedType) as kept:
        lend.table(frame)
    del frame, memory
    gc.collect()
    assert kept.value.fact.startswith("column 'o' is of objects")
    assert gone() is None


def test_the_memory_lives_as_long_as_a_column_and_no_longer():
    class Memory(bytearray):
        pass

    memory = Memory(np.arange(6.0).tobytes())
    gone = weakref.ref(memory)
    frame = pd.DataFrame(np.frombuffer(memory).reshape(3, 2), copy=False)
    kept = columns(frame).columns[1]
    del frame, memory
    gc.collect()
    assert kept.tolist() == [1.0, 3.0, 5.0]
    assert gone() is not None
    del kept
    gc.collect()
    assert gone() is None


def test_the_source_is_never_changed_by_being_taken():
    frame, index = everything(), pd.CategoricalIndex(["a", "b", "a"])
    before = frame.copy()
    categories = frame["c"].cat.categories
    kept = dict(vars(categories))
    columns(frame.set_index(index))
    assert frame.equals(before)
    assert {key for key in vars(categories) if key not in kept} <= {"_cache"}


# -- the index ---------------------------------------------------------------------------------------------------------


def test_a_default_index_says_nothing_and_is_not_carried():
    # TYPE-19
    for mode in (None, "column", "drop", "metadata"):
        found = columns(pd.DataFrame({"a": [1]}), index=mode)
        assert (found.names, found.metadata) == (["a"], {})


def test_another_index_becomes_columns_that_stand_first():
    # TYPE-19
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index([10, 20], name="key"))
    found = columns(frame)
    assert found.names == ["key", "a"]
    assert found.columns[0].tolist() == [10, 20]
    assert b'"index": [["key", "key"]]' in found.metadata[b"lend.pandas"]
    assert columns(frame, index="column").metadata == {}
    assert columns(frame, index="drop").names == ["a"]
    levels = pd.MultiIndex.from_arrays([["x", "y"], [1, 2]], names=[None, "n"])
    assert columns(pd.DataFrame({"a": [1, 2]}, index=levels)).names == ["__index_level_0__", "n", "a"]


def test_an_index_of_numbers_in_a_row_is_kept_as_three_integers_where_that_is_wanted():
    # TYPE-19
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.RangeIndex(5, 9, 2, name="r"))
    found = columns(frame, index="metadata")
    assert found.names == ["a"]
    assert b'"range": [5, 9, 2, "r"]' in found.metadata[b"lend.pandas"]
    with pytest.raises(UnsupportedType, match="index='metadata' keeps a RangeIndex"):
        columns(frame.set_index(pd.Index(["x", "y"])), index="metadata")
    with pytest.raises(ValueError, match="index is None"):
        columns(frame, index="keep")


@pytest.mark.parametrize(
    ("index", "written"),
    [(pd.RangeIndex(5, 11, 2), 24), (pd.MultiIndex.from_arrays([[1, 2, 3], [4.0, 5.0, 6.0]]), 48)],
    ids=["range", "levels"],
)
def test_an_index_that_lies_nowhere_is_written_in_a_counted_copy_or_not_at_all(index, written):
    # COPY-1, TYPE-19
    frame = pd.DataFrame({"a": [1, 2, 3]}, index=index)
    with lend.copies() as made:
        columns(frame)
    assert (made.count, made.bytes) == (index.nlevels, written)
    with pytest.raises(CopyRequired, match="'__index_level_0__' is a (RangeIndex|level of a MultiIndex), whose"):
        columns(frame, copy=False)
    assert columns(frame[:0], copy=False).length == 0


def test_an_index_of_several_levels_is_no_column():
    with pytest.raises(NotLendable, match="a MultiIndex is of 2 columns, not one"):
        column(pd.MultiIndex.from_arrays([[1], [2]]))


def test_a_series_whose_labels_are_those_of_a_range_is_none():
    # a Series shows its labels as attributes
    assert column(pd.Series([1, 2], index=["start", "step"])).tolist() == [1, 2]


def test_the_names_of_columns_have_a_name_of_their_own():
    frame = pd.DataFrame({"a": [1]}).rename_axis(columns="n")
    assert b'"names": ["n"]' in columns(frame).metadata[b"lend.pandas"]


def test_the_index_of_a_series_is_no_part_of_its_column():
    assert column(pd.Series([1, 2], index=["a", "b"], name="n")).tolist() == [1, 2]
    assert column(pd.Index([3, 4], name="i")).name == "i"


def test_it_serves_frames_and_lines_of_pandas_and_nothing_else():
    assert all(map(adapter.serves, (pd.DataFrame, pd.Series, pd.Index, pd.arrays.IntegerArray)))
    assert not any(map(adapter.serves, (dict, np.ndarray, pd.Timestamp)))
    with pytest.raises(NotLendable, match="is a table, no column"):
        adapter.column(pd.DataFrame({"a": [1]}), take, None)
    with pytest.raises(NotLendable, match="is one column, no table"):
        lend.table(pd.Series([1]))


def test_a_column_that_a_frame_does_not_have_is_no_fault_of_the_frame():
    with pytest.raises(KeyError, match="no column is named 'z'"):
        lend.table(pd.DataFrame({"a": [1]}), columns=["z"])


def test_an_array_that_gives_another_number_of_rows_than_it_has_is_refused():
    pa = pytest.importorskip("pyarrow")
    from pandas.api.extensions import ExtensionArray, ExtensionDtype

    class Few(ExtensionDtype):
        name, type = "few", float

    class Numbers(ExtensionArray):
        dtype = Few()

        def __len__(self):
            return 2

        def __getitem__(self, key):
            return self

        def copy(self):
            return self

        def __arrow_array__(self):
            return pa.array([1.5])

    with pytest.raises(MalformedDescriptor, match="column 'n' has 1 elements, and its table 2 rows"):
        lend.table(pd.DataFrame({"i": [1, 2], "n": pd.Series(Numbers())}))
