"""`Table.__array__`: columns side by side, for consumers that know arrays alone."""

import datetime
from weakref import ref

import pytest

import lend
from lend.errors import CopyRequired, UnsupportedType
from support import column_forms

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")


def array(data, **said):
    return np.asarray(lend.table(pa.table(data)), **said)


def same(found, expected, dtype):
    return found.dtype == dtype and np.array_equal(found, expected, equal_nan=found.dtype.kind in "fc")


def test_numbers_are_of_the_type_that_holds_all_of_them():
    assert same(array({"a": pa.array([1, 2], pa.int8()), "b": [3, 4]}), [[1, 3], [2, 4]], np.int64)
    assert same(array({"a": [1, 2], "b": [0.5, 4]}), [[1, 0.5], [2, 4]], np.float64)
    assert same(array({"a": [True, False]}), [[True], [False]], np.bool_)


def test_nulls_of_numbers_are_nan():
    found = array({"i": [1, None], "f": [None, 0.5], "b": [True, None]})
    assert same(found, [[1, np.nan, 1], [np.nan, 0.5, np.nan]], np.float64)


@pytest.mark.parametrize("source", [[1.5, None, float("nan")], [2**53, None, -(2**53)]])
def test_nulls_beside_values_become_nan_and_the_values_stay(source):
    expected = [[np.nan if value is None else value] for value in source]
    assert same(array({"a": source}), expected, np.float64)


def test_integers_that_float64_does_not_hold_are_refused_with_the_column():
    with pytest.raises(UnsupportedType, match=r"element 1 of column 'a' is beyond 2\*\*53"):
        array({"b": [1, 2], "a": [None, 2**62 + 1]})


def test_large_integers_without_nulls_stay_integers():
    assert same(array({"a": [2**62 + 1]}), [[2**62 + 1]], np.int64)


def test_anything_else_makes_an_array_of_objects_with_none_for_null():
    moment = datetime.datetime(2024, 3, 31, 1, 30, tzinfo=datetime.UTC)
    found = array(
        {
            "n": [1, None],
            "s": ["x", None],
            "c": pa.array([None, "y"]).dictionary_encode(),
            "z": pa.array([moment, None], pa.timestamp("us", "Europe/Paris")),
        }
    )
    assert found.tolist() == [[1, "x", None, moment], [None, None, "y", None]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_a_dtype_that_is_asked_for_is_given(dtype):
    assert same(array({"a": [1, None]}, dtype=dtype), [[1], [np.nan]], dtype)


def test_objects_that_are_asked_for_keep_null_apart_from_nan():
    found = array({"a": [1.5, None, float("inf")]}, dtype=object)
    assert found.tolist() == [[1.5], [None], [float("inf")]]


@pytest.mark.parametrize("dtype", [np.int64, np.bool_, np.uint8])
def test_a_dtype_that_cannot_say_null_is_refused(dtype):
    with pytest.raises(UnsupportedType, match=r"column 'a' has nulls, which no value of"):
        array({"a": [1, None]}, dtype=dtype)


def test_chunks_slices_and_strides_are_read_as_they_lie():
    chunked = pa.chunked_array([[1, 2], [3, None]])
    assert same(np.asarray(lend.table(pa.table({"a": chunked}))[1:]), [[2], [3], [np.nan]], np.float64)
    block = np.arange(12).reshape(4, 3)
    assert same(np.asarray(lend.table(block)[1:]), block[1:], np.int64)


@pytest.mark.parametrize("rows", [0, 3])
def test_a_table_without_columns_or_rows_keeps_its_shape(rows):
    assert array({"a": pa.array([], pa.int64())}).shape == (0, 1)
    assert np.asarray(lend.table(pa.table({"a": [0] * rows})).select([])).shape == (rows, 0)


def test_it_is_one_copy_and_is_counted_as_one():
    table = lend.table(pa.table({"a": [1, None], "b": [0.5, 2]}))
    with lend.copies() as made:
        found = np.asarray(table)
    assert (made.count, made.bytes) == (1, found.nbytes)
    found[:] = 0
    assert table["b"].tolist() == [0.5, 2]


def test_without_a_copy_there_is_none():
    with pytest.raises(CopyRequired, match="the columns of a table lie apart"):
        np.asarray(lend.table(pa.table({"a": [1], "b": [2]})), copy=False)


BLOCKS = {
    "row by row": np.arange(12.0).reshape(4, 3),
    "column by column": np.asfortranarray(np.arange(12.0).reshape(4, 3)),
    "backwards": np.arange(12.0).reshape(4, 3)[::-1, ::-1],
    "with gaps": np.arange(48).reshape(6, 8)[::2, ::3],
    "one column": np.arange(4, dtype="i2").reshape(4, 1),
    "one row": np.arange(3).reshape(1, 3),
    "bools": np.array([[True, False], [False, False]]),
}


@pytest.mark.parametrize("block", BLOCKS)
def test_columns_that_lie_in_one_block_are_shared(block):
    source = BLOCKS[block]
    with lend.copies() as made:
        found = np.asarray(lend.table(source), copy=False)
    assert found.__array_interface__["data"] == source.__array_interface__["data"]
    assert same(found, source, source.dtype)
    assert made.count == 0


def test_some_columns_of_a_block_are_shared_in_any_order_that_is_even():
    source = np.arange(12).reshape(3, 4)
    table = lend.table(source)
    assert np.shares_memory(np.asarray(table.select([3, 1]), copy=False), source)
    assert same(np.asarray(table.select([3, 1])), source[:, [3, 1]], source.dtype)


UNEVEN = {
    "gaps of their own": lambda: lend.table(np.arange(12).reshape(3, 4)).select([0, 1, 3]),
    "one twice": lambda: lend.table(np.arange(4).reshape(2, 2)).select([1, 1]),
    "elements that overlap": lambda: lend.table(
        np.lib.stride_tricks.as_strided(np.arange(6), shape=(3, 2), strides=(8, 8))
    ),
    "another owner": lambda: lend.table({"a": np.arange(2), "b": np.arange(2)}),
    "another type": lambda: lend.table(np.array([(1, 2.0)] * 2, [("a", "i8"), ("b", "f8")])),
    "the other byte order": lambda: lend.table(np.arange(4, dtype=np.dtype("i4").newbyteorder()).reshape(2, 2)),
    "a mask beside them": lambda: lend.table(np.ma.array([[1, 2], [3, 4]], mask=[[0, 0], [0, 1]])),
}


@pytest.mark.parametrize("case", UNEVEN)
def test_columns_that_lie_otherwise_are_copied(case):
    table = UNEVEN[case]()
    found = np.asarray(table)
    assert not any(np.shares_memory(found, np.asarray(column.buffers["data"].view())) for column in table)
    with pytest.raises(CopyRequired):
        np.asarray(table, copy=False)


def test_a_block_keeps_its_memory_and_what_forbids_to_write_to_it():
    source = np.arange(6).reshape(3, 2)
    source.flags.writeable = False
    held = ref(source)
    found = np.asarray(lend.table(source))
    del source
    assert (found.flags.writeable, held() is not None) == (False, True)
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        found.flags.writeable = True
    del found
    assert held() is None


@pytest.mark.parametrize("asked", [{"copy": True}, {"dtype": "float32"}])
def test_a_copy_of_a_block_is_one_where_it_is_asked_for(asked):
    source = np.arange(6.0).reshape(3, 2)
    found = np.array(lend.table(source), **asked)
    assert not np.shares_memory(found, source)
    assert found.tolist() == source.tolist()


def test_the_shape_and_length_are_those_of_the_array():
    table = lend.table(pa.table({"a": [1, 2, 3], "b": [1, 2, 3]}))
    assert (table.shape, len(table)) == (np.asarray(table).shape, 3)


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool", "U4", "S4"])
@pytest.mark.parametrize("form", ["bits", "nan"])
def test_nulls_are_none_of_the_values_of_a_dtype_that_has_no_word_for_them(form, dtype):
    table = lend.table({"a": column_forms.numbers("float64", [1.5, None], form)})
    with pytest.raises(UnsupportedType, match="column 'a' has nulls, which no value of"):
        np.asarray(table, dtype=dtype)


def test_text_with_nulls_is_no_text_of_them():
    with pytest.raises(UnsupportedType, match="column 'a' has nulls, which no value of <U9 says"):
        array({"a": ["x", None]}, dtype="U9")


def test_what_numpy_cannot_convert_is_refused():
    with pytest.raises(UnsupportedType, match="NumPy makes no int64 of these values: invalid literal"):
        array({"a": ["x"]}, dtype="int64")


@pytest.mark.parametrize("other", [[1.5, float("nan")], [1j, 2j]], ids=["floats", "complex"])
@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_integers_that_the_common_floats_do_not_hold_are_refused(other, dtype):
    table = lend.table({"a": np.array([2, 2**60 + 1], dtype), "b": np.array(other)})
    with pytest.raises(UnsupportedType, match="element 1 of column 'a' is beyond 2\\*\\*53"):
        np.asarray(table)
    assert np.asarray(table, dtype=object)[1, 0] == 2**60 + 1
    assert np.asarray(table, dtype=table["b"].dtype.name)[1, 0] == 2**60


def test_integers_of_both_signs_are_no_exception():
    table = lend.table({"a": np.array([2**60 + 1]), "b": np.array([1], "uint64")})
    with pytest.raises(UnsupportedType, match="does not hold it exactly"):
        np.asarray(table)
    assert np.asarray(lend.table({"a": np.array([-(2**53)]), "b": np.array([1], "uint64")})).tolist() == [[-(2**53), 1]]
