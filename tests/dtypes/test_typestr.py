"""Typestrs of the array interfaces."""

import ctypes

import pytest

from lend.dtypes import DType
from lend.errors import UnsupportedType

LONG_DOUBLE = ctypes.sizeof(ctypes.c_longdouble)


@pytest.mark.parametrize(
    ("typestr", "name"),
    [
        ("|b1", "bool"),
        ("<b1", "bool"),
        ("|i1", "int8"),
        ("|u1", "uint8"),
        ("=i2", "int16"),
        ("=i16", "int128"),
        ("=f2", "float16"),
        ("=f4", "float32"),
        (f"=f{LONG_DOUBLE}", "longdouble"),
        ("=c8", "complex64"),
        ("=c16", "complex128"),
        (f"=c{2 * LONG_DOUBLE}", "clongdouble"),
        ("|V7", "opaque[7]"),
        ("<V2", "opaque[2]"),
        ("|V0", "opaque[0]"),
        ("=M8", "datetime64"),
        ("=m8", "timedelta64"),
        ("=M8[ns]", "datetime64[ns]"),
        ("=m8[25s]", "timedelta64[25s]"),
        ("=M8[1D]", "datetime64[D]"),
        ("=M8[2147483647as]", "datetime64[2147483647as]"),
    ],
)
def test_typestr_is_read(typestr, name):
    assert DType.from_typestr(typestr) == DType(name)


@pytest.mark.parametrize("order", ["", "|", "="])
def test_order_that_says_nothing_is_this_machines(order):
    assert DType.from_typestr(order + "i4").is_native


@pytest.mark.parametrize(("order", "name"), [("<", "little"), (">", "big")])
def test_order_is_kept(order, name):
    assert DType.from_typestr(order + "M8[ns]").byteorder == name


@pytest.mark.parametrize(
    "typestr",
    [
        *["", "<", "i", "<i", "i4 ", " i4", "<<i4", "<4i", "<i4x", "<i4[ns]", "<i-4", "<i+4", "<i4\0", "|b1\0"],
        *["<i3", "<i0", "<i32", "<i4294967300", "<b2", "<f1", "<f3", "<c4", "<f128", "|b8", "<x4", "StringDType()"],
        *["|t1", "|S", "<U1073741824", "|O08", "|O4", "|V", "|V4294967296", "|V99999999999999999999"],
        *["<M4", "<M8[", "<M8]", "<M8[]", "<M8[ns", "<M8[ns]]", "<M8[ns]x", "<M8[0s]", "<M8[25]", "<M8[s25]"],
        *["<M8[-1s]", "<M8[ s]", "<M8[xs]", "<M8[nss]", "<M8[25s/5]", "<M8[2147483648s]", "<M8[99999999999999999s]"],
        *["<M8[n\0s]", "<M8[µs]", "é4"],
    ],
)
def test_typestr_that_is_not_understood_is_refused(typestr):
    with pytest.raises(UnsupportedType, match="typestr"):
        DType.from_typestr(typestr)


@pytest.mark.parametrize("name", ["bool", "int8", "opaque[7]"])
def test_what_has_no_byte_order_is_written_with_a_bar(name):
    assert DType(name).typestr.startswith("|")


@pytest.mark.parametrize(("order", "sign"), [("little", "<"), ("big", ">")])
def test_byte_order_is_always_written_out(order, sign):
    assert DType("int32").newbyteorder(order).typestr == sign + "i4"


@pytest.mark.parametrize("name", ["bfloat16", "handle", "float32x4", "complex32"])
def test_what_the_array_interface_lacks_is_refused_with_a_way_out(name):
    with pytest.raises(UnsupportedType, match="array interface") as caught:
        DType(name).typestr
    assert name in caught.value.fact
    assert "reinterpret" in caught.value.remedy


@pytest.mark.parametrize("text", ["|t1", "|O08", "|O4"])
def test_typestr_of_a_type_that_lend_lacks_is_an_unsupported_type(text):
    with pytest.raises(UnsupportedType, match="bits, and Python objects"):
        DType(text)
