"""`View.low`: the low part of every element, in place."""

import sys

import pytest

import lend
from lend.errors import UnsupportedType

NATIVE = sys.byteorder


def whole(values, dtype):
    view = lend.view(bytearray(lend.DType(dtype).itemsize * len(values))).reinterpret(dtype)
    order = view.dtype.byteorder or NATIVE
    memory = memoryview(view.buffer)
    for at, value in enumerate(values):
        size = view.itemsize
        memory[at * size : (at + 1) * size] = value.to_bytes(size, order, signed=value < 0)
    return view


@pytest.mark.parametrize("dtype", ["<uint128", ">uint128", "<int64", ">uint32", "uint8"])
def test_the_low_byte_is_found_in_either_order(dtype):
    view = whole([1, 2, 0x77], dtype)
    low = view.low("uint8")
    assert low.tolist() == [1, 2, 0x77]
    assert (low.strides, low.shape) == (view.strides, view.shape)


@pytest.mark.parametrize("said", ["opaque[16]", [("key", "uint64"), ("rest", "uint64")], "bytes[16]"], ids=str)
def test_what_has_no_byte_order_is_read_in_the_order_that_is_stated(said):
    view = lend.view(bytes(range(32))).reinterpret(said)
    assert view.low("<uint16").tolist() == [0x0100, 0x1110]
    assert view.low(">uint16").tolist() == [0x0E0F, 0x1E1F]
    assert view.low("uint8").tolist() == ([0, 16] if NATIVE == "little" else [15, 31])


def test_no_memory_is_touched_without_check():
    view = lend.View.from_pointer(4096, 3, "uint128", owner=object())
    assert view.low("uint8").ptr == 4096 + (15 if NATIVE == "big" else 0)


def test_strides_are_kept_whatever_they_are():
    view = whole([1, 2, 3, 4], "<uint32")[::-2]
    assert view.low("<uint16", check=True).tolist() == [4, 2]


@pytest.mark.parametrize(
    ("dtype", "low", "values"),
    [
        ("<int64", "int8", [-1, 5, -128, 127]),
        (">int64", ">int16", [-1, 300, -32768]),
        ("<uint64", "uint8", [0, 255]),
        ("<int64", "uint8", [0, 255]),
        ("<uint64", "int8", [0, 127]),
    ],
)
def test_values_that_fit_pass_the_check(dtype, low, values):
    assert whole(values, dtype).low(low, check=True).tolist() == values


@pytest.mark.parametrize(
    ("dtype", "low", "values"),
    [
        ("<int64", "int8", [0, -129]),
        ("<int64", "int8", [0, 128]),
        ("<uint64", "int8", [0, 255]),
        ("<int64", "uint8", [0, -1]),
        (">uint128", "uint8", [0, 256]),
        ("<uint64", "int8", [0, 2**64 - 1]),
    ],
)
def test_a_value_that_does_not_fit_fails_the_check_by_name(dtype, low, values):
    view = whole(values, dtype)
    with pytest.raises(UnsupportedType, match=rf"at \(1,\) is .*{values[1]}.*lossy"):
        view.low(low, check=True)
    assert view.low(low).shape == view.shape


@pytest.mark.parametrize(
    ("dtype", "low", "why"),
    [
        ("float64", "uint8", "no low part"),
        ("text[2]", "uint8", "no low part"),
        ("uint16x2", "uint8", "no low part"),
        ("uint64", "float32", "is no float32"),
        ("uint16", "uint32", "1 to 2 bytes"),
        (">uint64", "<uint16", "order"),
        ("uint64", "object", "is no object"),
    ],
)
def test_what_is_no_low_part_is_refused(dtype, low, why):
    view = lend.view(bytes(16)).reinterpret(dtype)
    with pytest.raises(UnsupportedType, match=why):
        view.low(low)


def test_an_empty_view_has_nothing_to_lose():
    assert lend.view(b"").reinterpret("uint8").low("uint8", check=True).tolist() == []
