"""`__array_interface__` as a producer: the dict says what the View is, and is hidden where it cannot."""

import sys

import pytest

import lend
from support.interfaces import FLOATS, floats

HERE = "<" if sys.byteorder == "little" else ">"


def given(lender, **keywords):
    return lend.view(lender, **keywords).__array_interface__


def test_the_dict_says_what_the_view_is():
    block = bytearray(FLOATS)
    view = lend.view(memoryview(block).cast("f", (2, 3)))[:, ::-1]
    assert view.__array_interface__ == {
        "shape": (2, 3),
        "typestr": f"{HERE}f4",
        "strides": (12, -4),
        "data": (view.ptr, False),
        "version": 3,
    }


def test_each_dict_is_fresh():
    view = lend.view(FLOATS)
    view.__array_interface__["shape"] = (10**6,)
    assert view.__array_interface__["shape"] == (24,)


def test_the_dict_says_read_only():
    assert given(FLOATS)["data"][1] is True
    assert given(bytearray(FLOATS), writable=False)["data"][1] is True
    assert given(bytearray(FLOATS))["data"][1] is False


@pytest.mark.parametrize("strides", [(12345, 4), (0, 4), (4, 4), (24, 4)], ids=str)
def test_the_stride_of_a_size_1_dimension_is_the_natural_one(strides):
    assert given(floats(shape=(1, 6), strides=strides))["strides"] == (24, 4)


def test_strides_are_explicit_for_any_number_of_dimensions():
    assert given(floats(shape=(), strides=()))["strides"] == ()
    assert len(given(floats(shape=(1,) * 64))["strides"]) == 64


def test_a_view_of_a_view_s_dict_is_the_same_memory():
    first = lend.view(bytearray(FLOATS)).reinterpret(">f4")[::2]
    lender = type("Lender", (), {"__array_interface__": first.__array_interface__, "kept": first})()
    second = lend.view(lender)
    assert (second.ptr, second.strides, second.dtype) == (first.ptr, first.strides, first.dtype)


@pytest.mark.parametrize("dtype", ["bfloat16", "handle", "float32x2"])
def test_a_dtype_without_a_typestr_hides_the_attribute(dtype):
    view = lend.view(bytearray(16)).reinterpret(dtype)
    assert not hasattr(view, "__array_interface__")
    with pytest.raises(AttributeError, match=f"no __array_interface__: it has no word for {dtype}; DLPack may"):
        view.__array_interface__


def test_a_view_on_a_device_hides_the_attribute():
    view = lend.View.from_pointer(4096, (2,), "float32", owner=object(), device="cuda:1")
    assert not hasattr(view, "__array_interface__")
    with pytest.raises(AttributeError, match="cuda:1"):
        view.__array_interface__


def test_a_buffer_gives_its_bytes():
    buffer = lend.buffer(FLOATS)
    assert buffer.__array_interface__ == {
        "shape": (24,), "typestr": "|u1", "strides": (1,), "data": (buffer.ptr, True), "version": 3,
    }  # fmt: skip
