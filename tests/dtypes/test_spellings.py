"""The spellings of a dtype invert each other, and no text makes them do anything but answer or refuse."""

import ctypes
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lend.dtypes import DType
from lend.errors import UnsupportedType

LONG_DOUBLE = 8 * ctypes.sizeof(ctypes.c_longdouble)
PLAIN = [
    "bool",
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64, 128)),
    *("float16", "float32", "float64", "longdouble", "bfloat16"),
    *("complex32", "complex64", "complex128", "clongdouble", "handle"),
]
UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]

plain = st.sampled_from(PLAIN)
laned = st.builds("{}x{}".format, plain, st.integers(1, 2**16 - 1))
unit = st.just("") | st.builds("[{}{}]".format, st.just("") | st.integers(1, 2**31 - 1), st.sampled_from(UNITS))
timed = st.builds(str.__add__, st.sampled_from(["datetime64", "timedelta64"]), unit)
opaque = st.builds("opaque[{}]".format, st.integers(0, 2**32 - 1))
orders = st.sampled_from(["little", "big"])
dtypes = st.builds(lambda name, order: DType(name).newbyteorder(order), plain | laned | timed | opaque, orders)
letters = st.text(st.sampled_from("<>=!@^|?bBhHiIlLqQnNPefdgFDGEZxTsmMVuwOctS0123456789[]{}:\0é "), max_size=12)


def told(dtype):
    """The same type by everything a DType tells of itself, to check equality against."""
    return (dtype.kind, dtype.bits, dtype.itemsize, dtype.lanes, dtype.byteorder, dtype.unit, dtype.multiplier)


@given(dtypes)
def test_name_is_read_back(dtype):
    assert DType(dtype.name) == DType(str(dtype)) == dtype


@given(dtypes)
def test_repr_is_an_expression(dtype):
    assert eval(repr(dtype), {"DType": DType}) == dtype


@given(dtypes)
def test_format_is_read_back_where_there_is_one(dtype):
    try:
        text = dtype.format
    except UnsupportedType:
        assert dtype.lanes > 1 or dtype.kind in ("datetime", "timedelta", "bfloat", "handle") or "int128" in dtype.name
        return
    assert DType.from_format(text, dtype.itemsize) == DType.from_format(text) == dtype


@given(dtypes)
def test_typestr_is_read_back_where_there_is_one(dtype):
    try:
        typestr = dtype.typestr
    except UnsupportedType:
        assert dtype.lanes > 1 or dtype.kind in ("bfloat", "handle") or "complex32" in dtype.name
        return
    assert DType.from_typestr(typestr) == DType(typestr) == dtype


@given(dtypes)
def test_dlpack_triple_is_read_back_where_there_is_one(dtype):
    try:
        triple = dtype.dlpack
    except UnsupportedType:
        assert not dtype.is_native or dtype.kind in ("datetime", "timedelta", "opaque") or "longdouble" in dtype.name
        return
    assert DType.from_dlpack(*triple) == dtype


@given(dtypes)
def test_dtype_survives_pickle(dtype):
    assert pickle.loads(pickle.dumps(dtype)) == dtype


@given(dtypes, dtypes)
def test_dtypes_are_equal_exactly_when_they_tell_the_same(one, other):
    assert (one == other) == (told(one) == told(other))


@given(dtypes)
def test_equal_dtypes_have_one_hash(dtype):
    assert hash(DType(dtype.name)) == hash(dtype)


@given(dtypes)
def test_itemsize_is_lanes_times_bits(dtype):
    assert dtype.itemsize * 8 == dtype.bits * dtype.lanes


@given(letters, st.none() | st.integers(-1, 40))
def test_hostile_format_is_refused_or_read_as_something_of_that_size(text, itemsize):
    try:
        dtype = DType.from_format(text, itemsize)
    except UnsupportedType:
        return
    assert itemsize is None or dtype.itemsize == itemsize
    if dtype.name != "bfloat16":
        assert DType.from_format(dtype.format, dtype.itemsize) == dtype


@given(letters)
def test_hostile_typestr_is_refused_or_read_as_something_canonical(typestr):
    try:
        dtype = DType.from_typestr(typestr)
    except UnsupportedType:
        return
    assert DType.from_typestr(dtype.typestr) == dtype


@given(letters | st.text() | st.builds(lambda name, rest: name + rest, plain | timed | opaque, letters))
def test_hostile_name_is_refused_or_read_as_something_canonical(name):
    try:
        dtype = DType(name)
    except (ValueError, UnsupportedType):
        return
    assert DType(dtype.name) == dtype


@given(st.integers(-1, 300), st.integers(-1, 300), st.integers(-1, 70000))
def test_hostile_triple_is_refused_or_read_exactly(code, bits, lanes):
    try:
        dtype = DType.from_dlpack(code, bits, lanes)
    except UnsupportedType:
        return
    assert dtype.dlpack == (code, bits, lanes)


@pytest.mark.parametrize("read", [DType, DType.from_format, DType.from_typestr])
def test_long_text_makes_a_short_message(read):
    with pytest.raises((ValueError, UnsupportedType)) as caught:
        read("i" * 100_000)
    assert len(str(caught.value)) < 400
