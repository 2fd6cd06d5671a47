"""Values of less than a byte by DLPack: packed ones are bytes, those that fill whole bytes a View."""

import pytest

import lend
from lend.errors import LendError, UnsupportedType
from support.counting import CountingDLPack, CountingExchange

PADDED, LATER = 4, 8
PACKED = {
    "int4": (0, 4), "uint4": (1, 4), "int2": (0, 2), "uint2": (1, 2), "float6_e2m3fn": (15, 6),
    "float6_e3m2fn": (16, 6), "float4_e2m1fn": (17, 4),
}  # fmt: skip
EACH = pytest.mark.parametrize(("name", "triple"), [(name, (*pair, 1)) for name, pair in PACKED.items()], ids=PACKED)
KINDS = pytest.mark.parametrize("kind", [CountingDLPack, CountingExchange], ids=["capsule", "table"])


@KINDS
@EACH
def test_a_view_of_packed_values_is_refused_naming_dlpack_and_the_type(kind, name, triple):
    source = kind(bytes(8), (8,), dtype=triple)
    with pytest.raises(UnsupportedType, match=rf"the DLPack tensor of .* packs its {name} several to a byte"):
        lend.view(source)
    assert source.audit() == []


@KINDS
@pytest.mark.parametrize("shape", [(), (1,), (5,), (3, 3), (0, 3), (2, 1, 4)], ids=str)
@EACH
def test_a_buffer_is_the_bytes_that_packed_values_fill(kind, name, triple, shape):
    count = 1
    for extent in shape:
        count *= extent
    source = kind(bytes(range(32)), shape, dtype=triple)
    buffer = lend.buffer(source)
    assert bytes(buffer) == bytes(range((count * triple[1] + 7) // 8))
    del buffer
    assert source.audit() == []


def test_packed_bytes_may_be_shown_as_pairs():
    buffer = lend.buffer(CountingDLPack(b"\x21\x43", (4,), dtype=(1, 4, 1)))
    assert buffer.view("uint4_packedx2").tolist() == [(1, 2), (3, 4)]


def test_the_flags_of_packed_bytes_are_read():
    assert lend.buffer(CountingDLPack(bytes(2), (4,), dtype=(1, 4, 1), flags=1)).readonly


@pytest.mark.parametrize("strides", [(2,), (-1,), (0,)], ids=str)
def test_packed_values_with_gaps_are_no_bytes(strides):
    source = CountingDLPack(bytes(8), (4,), strides=strides, dtype=(1, 4, 1), keep=True)
    with pytest.raises(UnsupportedType, match="packs its uint4"):
        lend.buffer(source)
    assert source.names == ["dltensor_versioned"]


@pytest.mark.parametrize("shape", [(2**62, 4), (2**61,), (2**32, 2**32)], ids=str)
def test_packed_values_that_fit_no_memory_are_refused(shape):
    dtype = (1, 4, 1) if shape != (2**61,) else (15, 6, 7)
    with pytest.raises(LendError, match="size"):
        lend.buffer(CountingDLPack(bytes(8), shape, dtype=dtype))


def test_a_negative_extent_of_packed_values_is_refused():
    with pytest.raises(LendError, match="extent"):
        lend.buffer(CountingDLPack(bytes(8), (-3,), dtype=(1, 4, 1), strides=None))


@EACH
def test_values_that_stand_one_to_a_byte_are_a_view(name, triple):
    view = lend.view(CountingDLPack(bytes(8), (8,), dtype=triple, flags=PADDED))
    assert (str(view.dtype), view.itemsize, view.shape) == (name, 1, (8,))


@pytest.mark.parametrize(("triple", "itemsize"), [((0, 4, 2), 1), ((0, 2, 8), 2), ((15, 6, 4), 3), ((17, 4, 2), 1)])
def test_lanes_that_fill_bytes_are_a_view(triple, itemsize):
    view = lend.view(CountingDLPack(bytes(12), (4,), dtype=triple))
    assert (view.itemsize, view.dtype.bits, view.dtype.dlpack) == (itemsize, triple[1], triple)


@pytest.mark.parametrize("take", [lend.view, lend.buffer], ids=["view", "buffer"])
@pytest.mark.parametrize("dtype", [(0, 4, 2), (0, 4, 1)], ids=str)
def test_a_flag_that_nobody_knows_yet_could_say_how_small_values_lie(take, dtype):
    with pytest.raises(UnsupportedType, match="int4"):
        take(CountingDLPack(bytes(8), (4,), dtype=dtype, flags=LATER))


def test_a_flag_that_nobody_knows_yet_says_nothing_of_whole_bytes():
    assert lend.view(CountingDLPack(bytes(16), (4,), flags=LATER)).shape == (4,)


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0)], ids=str)
def test_what_stands_one_to_a_byte_is_given_to_nobody_who_cannot_know(version):
    with pytest.raises(UnsupportedType, match=r"before version 1\.1 cannot say that int4 stands one to a byte"):
        lend.view(bytearray(2)).reinterpret("int4").__dlpack__(max_version=version)


def test_what_stands_one_to_a_byte_comes_back_so():
    view = lend.view(bytearray([1, 15])).reinterpret("int4")
    assert lend.view(view.__dlpack__(max_version=(1, 1))).tolist() == [1, -1]
