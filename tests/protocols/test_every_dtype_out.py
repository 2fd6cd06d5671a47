"""Every dtype by every protocol: what a protocol cannot say is refused with its name and the dtype."""

import ctypes

import pytest

import lend
from lend.errors import UnsupportedType
from support import counting

NUMBERS = ["bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
WIDE, LONG, HALVES = ["int128", "uint128"], ["longdouble", "clongdouble"], ["complex32"]
SMALL = [
    "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
    "float8_e5m2fnuz", "float8_e8m0fnu",
]  # fmt: skip
PADDED = ["float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn", "int4", "uint4", "int2", "uint2", "int4x2"]
PACKED = [
    "float4_e2m1fn_packedx2", "int4_packedx2", "uint2_packedx4", "float6_e2m3fn_packed", "int4_packed",
    "uint4_packedx3",
]  # fmt: skip
LANES = ["int8x4", "float32x2", "boolx2"]
DATES = ["datetime64[ns]", "datetime64[25s]", "timedelta64[D]", "datetime64"]
FIXED = ["opaque[7]", "bytes[5]", "text[3]"]
SWAPPED = [lend.DType(name).newbyteorder("swap").name for name in ("int32", "float64", "complex64")]
RECORD = [("a", "int32"), ("b", "float64")]
ALL = [
    *NUMBERS, *WIDE, *LONG, *HALVES, "bfloat16", "handle", *SMALL, *PADDED, *PACKED, *LANES, *DATES, *FIXED, *SWAPPED,
    "record", "object",
]  # fmt: skip

# protocol -> how it is asked, its name in a refusal, and the dtypes that it can say
TYPESTRS = {*NUMBERS, *LONG, *DATES, *FIXED, *SWAPPED, "record", "object"}
UNPADDED = {*NUMBERS, *WIDE, *HALVES, "bfloat16", "handle", *SMALL, *PACKED, *LANES}
WAYS = {
    "buffer": (memoryview, "the buffer protocol", {*NUMBERS, *LONG, *HALVES, *FIXED, *SWAPPED, "record", "object"}),
    "versioned": (lambda v: v.__dlpack__(max_version=(1, 1)), "DLPack", UNPADDED | {*PADDED}),
    "before 1.1": (lambda v: v.__dlpack__(max_version=(1, 0)), "DLPack", UNPADDED),
    "unversioned": (lambda v: v.__dlpack__(), "DLPack", UNPADDED),
    "table": (counting.exchange_take, "DLPack", UNPADDED | {*PADDED}),
    "interface": (lambda v: v.__array_interface__, "__array_interface__", TYPESTRS),
    "struct": (lambda v: v.__array_struct__, "__array_struct__", {*NUMBERS, *LONG, *SWAPPED}),
    "format": (
        lambda v: v.dtype.format,
        "the buffer protocol",
        {*NUMBERS, *LONG, *HALVES, *FIXED, *SWAPPED, "record", "object"},
    ),
    "typestr": (lambda v: v.dtype.typestr, "the array interface", TYPESTRS | {*WIDE}),
    "descr": (lambda v: v.dtype.descr, "the array interface", TYPESTRS | {*WIDE}),
    "triple": (lambda v: v.dtype.dlpack, "DLPack", UNPADDED | {*PADDED}),
}
CUDA = TYPESTRS - {*SWAPPED, "object"}


def view_of(name):
    if name == "object":
        return lend.view((ctypes.py_object * 2)(1, 2))
    dtype = lend.DType(RECORD if name == "record" else name)
    return lend.buffer(bytearray(128)).view(dtype, (2,))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("way", WAYS)
def test_a_dtype_is_said_or_refused_with_the_name_of_the_protocol(way, name):
    view = view_of(name)
    ask, protocol, sayable = WAYS[way]
    if name in sayable:
        assert ask(view) is not None
        return
    with pytest.raises((UnsupportedType, AttributeError)) as refused:
        ask(view)
    fact = str(refused.value).partition("\n")[0]
    assert protocol in fact
    assert str(view.dtype) in fact


@pytest.mark.parametrize("name", [name for name in ALL if name != "object"])
def test_a_dtype_of_cuda_memory_is_said_or_hidden_with_its_name(name):
    dtype = lend.DType(RECORD if name == "record" else name)
    view = lend.View.from_pointer(4096, (2,), dtype, owner=object(), device="cuda:0")
    if name in CUDA:
        assert view.__cuda_array_interface__["typestr"] == dtype.typestr
        return
    with pytest.raises(AttributeError) as refused:
        view.__cuda_array_interface__
    assert "__cuda_array_interface__" in str(refused.value)
    assert str(dtype) in str(refused.value)
