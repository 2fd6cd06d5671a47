"""int(), float() and complex() of what is lent are the number that it is, or a TypeError; never its bytes as text."""

import operator
import struct

import pytest

import lend
from lend.errors import LeaseLost, NotHostAccessible
from support.device_producers import CudaInterface

CLASSES = [int, float, complex]


def one(format, value):
    """A View without dimensions of one value in a struct format."""
    return lend.view(bytearray(struct.pack(format, value))).reinterpret(lend.DType.from_format(format))[0]


NUMBERS = [("b", -3), ("Q", 2**64 - 1), (">i", 70000), ("<h", 7), ("?", True), ("e", 1.5), ("f", -0.25), (">d", 2.75)]


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize(("format", "value"), NUMBERS)
def test_a_number_without_dimensions_is_its_value(format, value, cls):
    made = cls(one(format, value))
    assert (made, type(made)) == (cls(value), cls)


def test_a_complex_number_is_complex_alone():
    view = lend.view(bytearray(struct.pack("2d", 1, -2))).reinterpret("complex128")[0]
    assert complex(view) == 1 - 2j
    for cls in (int, float):
        with pytest.raises(TypeError, match=r"complex128.*v\.item\(\)\.real"):
            cls(view)


@pytest.mark.parametrize("dtype", ["int4_packed", "uint2_packed", "float8_e5m2", "bfloat16"])
def test_small_numbers_are_numbers_too(dtype):
    view = lend.view(bytearray(b"\x3c\x3c")).reinterpret(dtype)
    view = view[:1].reshape(())
    assert float(view) == view.item()


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("text", [b"12", b"1", b"", b"0x1"])
def test_bytes_are_not_read_as_text(text, cls):
    with pytest.raises(TypeError, match=rf"{cls.__name__}\(\) takes one number.*v\.item\(index\).*v\.tolist\(\)"):
        cls(lend.view(text))


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("dtype", ["datetime64[s]", "timedelta64[s]", "opaque[8]", "bytes[8]", "text[2]", "handle"])
def test_what_is_no_number_is_refused_with_where_its_value_is(dtype, cls):
    view = lend.view(bytearray(8)).reinterpret(dtype)[0]
    with pytest.raises(TypeError, match=r"takes one number, and this View is .*: v\.item\(\)"):
        cls(view)
    view.item()


@pytest.mark.parametrize("cls", CLASSES)
def test_a_released_view_says_so(cls):
    view = lend.view(b"1")[0]
    view.release()
    with pytest.raises(LeaseLost):
        cls(view)


def test_a_number_on_a_device_is_not_read():
    with pytest.raises(NotHostAccessible):
        int(lend.view(CudaInterface(shape=(), typestr="<i4")))


def test_an_error_of_the_value_is_pythons():
    with pytest.raises(ValueError, match="NaN"):
        int(one("d", float("nan")))


def test_a_view_is_no_index_so_that_a_bytearray_has_its_bytes():
    view = one("i", 5)
    with pytest.raises(TypeError):
        operator.index(view)
    assert bytearray(view) == bytes(view) == struct.pack("i", 5)
