"""Struct formats of the buffer protocol."""

import array
import ctypes
import sys

import pytest

from lend.dtypes import DType
from lend.errors import UnsupportedType

LONG_DOUBLE = ctypes.sizeof(ctypes.c_longdouble)
LONG = ctypes.sizeof(ctypes.c_long)
POINTER = ctypes.sizeof(ctypes.c_void_p)
LITTLE = sys.byteorder == "little"


@pytest.mark.parametrize(
    ("text", "itemsize", "name"),
    [
        ("?", 1, "bool"),
        ("b", 1, "int8"),
        ("B", 1, "uint8"),
        ("h", 2, "int16"),
        ("H", 2, "uint16"),
        ("i", 4, "int32"),
        ("I", 4, "uint32"),
        ("l", 4, "int32"),
        ("l", 8, "int64"),
        ("L", LONG, f"uint{8 * LONG}"),
        ("q", 8, "int64"),
        ("Q", 8, "uint64"),
        ("n", POINTER, f"int{8 * POINTER}"),
        ("N", POINTER, f"uint{8 * POINTER}"),
        ("P", POINTER, f"uint{8 * POINTER}"),
        ("e", 2, "float16"),
        ("f", 4, "float32"),
        ("d", 8, "float64"),
        ("g", LONG_DOUBLE, "longdouble"),
        ("Ze", 4, "complex32"),
        ("Zf", 8, "complex64"),
        ("Zd", 16, "complex128"),
        ("Zg", 2 * LONG_DOUBLE, "clongdouble"),
        ("F", 8, "complex64"),
        ("D", 16, "complex128"),
        ("G", 2 * LONG_DOUBLE, "clongdouble"),
        ("bfloat16", 2, "bfloat16"),
        ("7x", 7, "opaque[7]"),
        ("x", 1, "opaque[1]"),
        ("0x", 0, "opaque[0]"),
        (None, 1, "uint8"),
        (None, 12, "opaque[12]"),
    ],
)
def test_format_is_read(text, itemsize, name):
    assert DType.from_format(text, itemsize) == DType(name)


@pytest.mark.parametrize("prefix", ["", "@", "=", "^"])
def test_prefix_of_this_machine_is_native(prefix):
    assert DType.from_format(prefix + "i", 4).is_native


@pytest.mark.parametrize(("prefix", "order"), [("<", "little"), (">", "big"), ("!", "big")])
def test_prefix_of_an_order_is_kept(prefix, order):
    assert DType.from_format(prefix + "i", 4).byteorder == order


@pytest.mark.parametrize(("text", "size"), [("<l", 4), ("=L", 4), ("l", LONG), ("@l", LONG), (">d", 8), ("3x", 3)])
def test_format_without_an_itemsize_speaks_for_itself(text, size):
    assert DType.from_format(text).itemsize == size


@pytest.mark.parametrize(
    ("text", "itemsize"),
    [
        *[("i", 8), ("i", 0), ("?", 2), ("d", 4), ("g", LONG_DOUBLE + 1), ("Zd", 8), ("B", 4), ("bfloat16", 4)],
        *[("7x", 6), ("4294967296x", 0), ("99999999999999999999999x", 1), ("-1x", 1), ("2x3x", 5), ("x7", 7)],
        *[("", 0), ("", 1), ("<", 1), (" i", 4), ("i ", 4), ("i\0", 4), ("bb", 3), ("2i", 8)],
        *[("Z", 8), ("Zi", 8), ("E", 4), ("ZF", 8), ("ZZf", 8), ("<bfloat16", 2), ("é", 2), ("\x80", 1)],
        *[("T{i:a:}", 3), ("(2,3)f", 24), ("3s", 4), ("2c", 2), ("2w", 2), ("u", 2), ("O", 4), ("t", 1), ("&i", 8)],
        *[("i", -4), (None, -1), (None, 2**32)],
    ],
)
def test_format_that_is_not_understood_is_refused(text, itemsize):
    with pytest.raises(UnsupportedType, match="struct format"):
        DType.from_format(text, itemsize)


@pytest.mark.parametrize("code", array.typecodes.replace("u", "").replace("w", ""))
def test_format_of_an_array_is_read_with_its_size(code):
    with memoryview(array.array(code)) as exported:
        dtype = DType.from_format(exported.format, exported.itemsize)
    assert (dtype.itemsize, dtype.is_native) == (array.array(code).itemsize, True)


@pytest.mark.parametrize("name", ["c_int64", "c_uint64", "c_int32", "c_long", "c_ulong", "c_longlong", "c_size_t"])
def test_ctypes_with_its_standard_prefix_and_native_size_is_read(name):
    exported = memoryview((getattr(ctypes, name) * 2)())
    dtype = DType.from_format(exported.format, exported.itemsize)
    assert (dtype.bits, dtype.is_native) == (8 * ctypes.sizeof(getattr(ctypes, name)), True)


def test_array_of_long_and_of_long_long_are_one_type_where_sizes_agree():
    formats = {memoryview(array.array(code)).format for code in "ilq" if array.array(code).itemsize == 8}
    assert {DType.from_format(text, 8) for text in formats} == {DType("int64")}


@pytest.mark.parametrize("name", ["int32", "float64", "complex128", "longdouble"])
def test_native_format_has_no_prefix_and_the_other_order_has(name):
    other = ">" if LITTLE else "<"
    assert DType(name).newbyteorder("swap").format == other + DType(name).format


def test_eight_byte_integer_is_called_as_memoryview_can_read_it():
    assert memoryview(bytes(8)).cast(DType("int64").format).tolist() == [0]


def test_complex_is_written_in_the_z_form():
    assert (DType("complex64").format, DType("complex128").format) == ("Zf", "Zd")


@pytest.mark.parametrize("name", ["datetime64[ns]", "bfloat16", "int128", "handle", "float32x4", "boolx2"])
def test_what_the_buffer_protocol_lacks_is_refused_with_a_way_out(name):
    with pytest.raises(UnsupportedType, match="buffer protocol") as caught:
        DType(name).format
    assert name in caught.value.fact
    assert "reinterpret" in caught.value.remedy
