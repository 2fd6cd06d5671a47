"""column_to_ndarray: the function of the discussion, with offset, nulls, dtypes and lifetime."""

import datetime
import decimal
import gc
import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lend import minimal
from support.arrow_layouts import FLAT, Kind, encode, kinds, values_of
from support.arrow_structs import Made, Node
from support.told_frames import ToldBuffer, ToldColumn, ToldFrame, floats, ints

np = pytest.importorskip("numpy")

NUMPY = dict(zip("cCsSiIlLefg", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"], strict=True))


def column(kind, values, seed=0):
    return minimal.column(Made(encode(kind, values, random.Random(seed))))


@pytest.mark.parametrize("format", NUMPY)
@settings(max_examples=20)
@given(data=st.data())
def test_numbers_are_shared_from_the_offset_on_and_nulls_are_masked(format, data):
    kind = Kind(format)
    values, seed = data.draw(st.lists(values_of(kind), max_size=12)), data.draw(st.integers(0, 99))
    held = column(kind, values, seed)
    array = minimal.column_to_ndarray(held)
    assert (array.dtype, array.tolist()) == (np.dtype(NUMPY[format]), values)
    if values:
        assert array.ctypes.data == held.buffers["data"].ptr + held.offset * array.itemsize


@settings(max_examples=100)
@given(kinds().flatmap(lambda kind: st.tuples(st.just(kind), st.lists(values_of(kind), max_size=8))), st.randoms())
def test_an_array_of_any_kind_has_the_values_of_the_column(drawn, random):
    kind, values = drawn
    held = minimal.column(Made(encode(kind, values, random)))
    try:
        array = minimal.column_to_ndarray(held)
    except minimal.Refused as refusal:
        assert "time zones" in str(refusal)
        return
    assert array.shape == (len(values),)
    if array.dtype.kind not in "mM":
        assert array.tolist() == values


@pytest.mark.parametrize(("unit", "name"), [("s", "s"), ("m", "ms"), ("u", "us"), ("n", "ns")])
@pytest.mark.parametrize("kind", ["M", "m"])
def test_times_are_datetime64_and_timedelta64_of_their_unit(kind, unit, name):
    format = f"ts{unit}:" if kind == "M" else f"tD{unit}"
    held = minimal.column(Made(Node(format, 2, 0, 1, [None, struct.pack("3q", 9, 5, -7)])))
    array = minimal.column_to_ndarray(held)
    assert array.dtype == np.dtype(f"{kind}8[{name}]")
    assert array.view("i8").tolist() == [5, -7]
    assert array.ctypes.data == held.buffers["data"].ptr + 8


@pytest.mark.parametrize("zone", ["UTC", "Europe/Paris", "+02:00"])
def test_a_time_zone_is_refused_by_its_name(zone):
    held = minimal.column(Made(Node(f"tsu:{zone}", 1, buffers=[None, bytes(8)])))
    with pytest.raises(minimal.Refused, match="no time zones") as refusal:
        minimal.column_to_ndarray(held)
    assert zone in str(refusal.value)


@pytest.mark.parametrize("seed", range(6))
def test_bits_become_booleans_of_a_byte_each(seed):
    values = [True, None, False, True, True, False, True, None, False, True]
    array = minimal.column_to_ndarray(column(Kind("b"), values, seed))
    assert (array.dtype, array.tolist()) == (np.dtype(bool), values)


def test_booleans_of_a_byte_each_are_shared():
    source = np.array([True, False, True])
    array = minimal.column_to_ndarray(minimal.column(source)[1:])
    assert (array.dtype, array.tolist(), np.shares_memory(array, source)) == (np.dtype(bool), [False, True], True)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (floats(1, float("nan"), null=(1, None)), [1.0, None]),
        (ints(1, -9, null=(2, -9)), [1, None]),
        (ints(1, 2, null=(3, 1), validity=b"\2"), [1, None]),
        (ints(1, 2, null=(4, 0), validity=b"\1\0"), [1, None]),
        (ints(1, 2, null=(4, 0), validity=b"\1\1"), [1, 2]),
    ],
)
def test_nulls_of_any_kind_become_a_mask(told, expected):
    array = minimal.column_to_ndarray(minimal.column(ToldFrame({"a": told})).children[0])
    assert array.tolist() == expected
    assert isinstance(array, np.ma.MaskedArray) == (None in expected)


def test_nat_is_masked_as_it_is_a_null():
    array = minimal.column_to_ndarray(minimal.column(np.array(["NaT", 5], "M8[s]")))
    assert (array.mask.tolist(), array.dtype) == ([True, False], np.dtype("M8[s]"))


def test_nan_is_a_value_where_nothing_says_otherwise():
    array = minimal.column_to_ndarray(minimal.column(np.array([float("nan"), 1.0])))
    assert not isinstance(array, np.ma.MaskedArray)
    assert np.isnan(array[0])


def test_a_column_of_memory_that_may_be_written_is_writable_and_an_arrow_one_is_not():
    source = np.array([1, 2, 3])
    array = minimal.column_to_ndarray(minimal.column(source))
    array[1] = 9
    assert source.tolist() == [1, 9, 3]
    assert not minimal.column_to_ndarray(column(Kind("l"), [1, 2])).flags.writeable


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("words", [Kind("u"), Kind("l"), Kind("tss:"), Kind("b")], ids=str)
def test_a_dictionary_is_looked_up(words, seed):
    known = {
        "u": ["x", "yy"],
        "l": [2**60, -1],
        "tss:": [datetime.datetime(2000, 1, i) for i in (1, 2)],
        "b": [True, False],
    }
    one, other = known[words.format]
    values = [one, None, other, one]
    array = minimal.column_to_ndarray(column(Kind("c", (), words), values, seed))
    assert array.tolist() == values


def test_nulls_of_the_dictionary_are_masked_too():
    words = Node("l", 2, 1, 0, [b"\1", struct.pack("2q", 7, 99)])
    held = minimal.column(Made(Node("C", 3, 1, 0, [b"\5", b"\0\0\1"], dictionary=words)))
    assert minimal.column_to_ndarray(held).tolist() == held.tolist() == [7, None, None]


@pytest.mark.parametrize("code", [-1, 2, 127])
def test_a_code_that_the_dictionary_does_not_have_is_refused(code):
    words = Node("l", 2, 0, 0, [None, bytes(16)])
    held = minimal.column(Made(Node("c", 1, 0, 0, [None, struct.pack("b", code)], dictionary=words)))
    with pytest.raises(minimal.Refused, match="dictionary of 2 values"):
        minimal.column_to_ndarray(held)


def test_a_dictionary_without_values_serves_nulls_alone():
    held = minimal.column(Made(Node("c", 2, 2, 0, [b"\0", b"\x55\x55"], dictionary=Node("l", 0, buffers=[None, None]))))
    assert minimal.column_to_ndarray(held).tolist() == [None, None]
    bare = minimal.column(Made(Node("c", 1, 0, 0, [None, b"\0"], dictionary=Node("l", 0, buffers=[None, None]))))
    with pytest.raises(minimal.Refused, match="dictionary of 0 values"):
        minimal.column_to_ndarray(bare)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Kind("u"), ["x", None]),
        (Kind("d:9,2,32"), [decimal.Decimal("1.25"), decimal.Decimal(3)]),
        (Kind("tdD"), [datetime.date(2000, 1, 1), None]),
        (Kind("+l", (("item", Kind("l")),)), [[1, 2], [3, 4]]),
        (Kind("+w:2", (("item", Kind("l")),)), [[1, 2], None]),
        (Kind("+s", (("a", Kind("l")),)), [{"a": 1}, {"a": None}]),
        (Kind("n"), [None, None]),
    ],
    ids=str,
)
def test_what_numpy_has_no_dtype_for_becomes_objects_one_for_each_element(kind, values):
    array = minimal.column_to_ndarray(column(kind, values))
    assert (array.dtype, array.tolist(), array.shape) == (np.dtype(object), values, (2,))


def test_the_memory_lives_as_long_as_the_array_or_a_part_of_it():
    made = Made(Node("l", 4, 1, 0, [b"\x0d", struct.pack("4q", 1, 2, 3, 4)]))
    array = minimal.column_to_ndarray(minimal.column(made))
    part = array[2:]
    del array
    gc.collect()
    assert (part.tolist(), made.released) == ([3, 4], {})
    del part
    gc.collect()
    assert made.released == {"": 1}


def test_memory_of_a_device_is_refused():
    told = ToldColumn((0, 64, "l", "="), 1, data=ToldBuffer(b"", ptr=2**40, bufsize=8, device=(2, 0)))
    held = minimal.column(ToldFrame({"a": told})).children[0]
    with pytest.raises(minimal.Refused, match="the host does not read"):
        minimal.column_to_ndarray(held)


@pytest.mark.parametrize("kind", [kind for kind in FLAT if kind.format[:2] != "ts" or kind.format[4:] == ""], ids=str)
def test_no_elements_are_an_empty_array(kind):
    assert minimal.column_to_ndarray(column(kind, [])).shape == (0,)


@pytest.mark.parametrize("start", range(5))
def test_pyarrow_makes_the_same_arrays(start):
    pa = pytest.importorskip("pyarrow")
    for values in (
        pa.array([1, 2, 3, 4, 5], pa.int16()),
        pa.array([0.5] * 5),
        pa.array([1, 2, 3, 4, 5], pa.timestamp("ns")),
    ):
        theirs = values.slice(start).to_numpy()
        ours = minimal.column_to_ndarray(minimal.column(values.slice(start)))
        assert (ours.dtype, ours.ctypes.data) == (theirs.dtype, theirs.ctypes.data)


def test_pandas_columns_that_are_masked():
    pd, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    series = pd.Series([1, None, 2**62 + 1], dtype="Int64")
    assert minimal.column_to_ndarray(minimal.column(series)).tolist() == [1, None, 2**62 + 1]
