"""DLDataTypes of DLPack."""

import pytest

from lend.dtypes import DType
from lend.errors import UnsupportedType


@pytest.mark.parametrize(
    ("triple", "name"),
    [
        *[((0, bits, 1), f"int{bits}") for bits in (8, 16, 32, 64, 128)],
        *[((1, bits, 1), f"uint{bits}") for bits in (8, 16, 32, 64, 128)],
        *[((2, bits, 1), f"float{bits}") for bits in (16, 32, 64)],
        *[((5, bits, 1), f"complex{bits}") for bits in (32, 64, 128)],
        ((3, 64, 1), "handle"),
        ((4, 16, 1), "bfloat16"),
        ((6, 8, 1), "bool"),
        ((2, 32, 4), "float32x4"),
        ((0, 8, 65535), "int8x65535"),
        ((0, 4, 1), "int4_packed"),
        ((17, 4, 3), "float4_e2m1fn_packedx3"),
        ((15, 6, 2), "float6_e2m3fn_packedx2"),
        ((1, 2, 65535), "uint2_packedx65535"),
    ],
)
def test_triple_and_name_are_the_same_type(triple, name):
    assert DType.from_dlpack(*triple) == DType(name)
    assert DType(name).dlpack == triple


@pytest.mark.parametrize(
    "triple",
    [
        *[(0, 1, 1), (0, 3, 1), (0, 24, 1), (0, 0, 1), (2, 8, 1), (2, 128, 1), (3, 32, 1), (4, 32, 1), (5, 16, 1)],
        *[
            (6, 1, 1),
            (7, 4, 1),
            (14, 6, 1),
            (17, 6, 1),
            (0, 4, 0),
            (18, 8, 1),
            (200, 8, 1),
            (0, 32, 0),
            (0, 32, 65536),
            (0, 256 + 32, 1),
        ],
        *[(-1, 8, 1), (256, 8, 1), (0, -8, 1), (2**70, 8, 1)],
    ],
)
def test_triple_that_is_not_understood_is_refused(triple):
    with pytest.raises(UnsupportedType, match="DLPack"):
        DType.from_dlpack(*triple)


def test_one_bit_is_not_a_bool():
    with pytest.raises(UnsupportedType, match="code 1, 1 bits"):
        DType.from_dlpack(1, 1, 1)


@pytest.mark.parametrize("name", ["datetime64[ns]", "timedelta64", "opaque[7]"])
def test_what_dlpack_lacks_is_refused_with_a_way_out(name):
    with pytest.raises(UnsupportedType, match="DLPack") as caught:
        DType(name).dlpack
    assert "reinterpret" in caught.value.remedy


@pytest.mark.parametrize("name", ["int32", "float64", "complex64", "longdouble"])
def test_other_byte_order_is_refused_and_never_reinterpreted(name):
    with pytest.raises(UnsupportedType, match="DLPack") as caught:
        DType(name).newbyteorder("swap").dlpack
    assert "byte order" in caught.value.remedy
