"""Frames of pandas as columns, with their index: what is lent, who holds it, and that a write does not reach it."""

import gc
import weakref

import pytest

import lend
from lend.adapters import pandas as adapter
from lend.adapters import pandas_kinds as kinds
from lend.errors import CopyRequired, MalformedDescriptor, NotLendable, UnsupportedType
from support.pandas_columns import column, columns, take

pd = pytest.importorskip("pandas")
np = pytest.importorskip("numpy")


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

    with pytest.raises(MalformedDescriptor, match="column 'n' is of .*, of 2 elements, whose __arrow_array__ gave 1"):
        lend.table(pd.DataFrame({"i": [1, 2], "n": pd.Series(Numbers())}))
