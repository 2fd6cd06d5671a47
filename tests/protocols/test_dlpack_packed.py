"""Values of less than a byte by DLPack: packed, one to a byte, and in lanes that fill whole bytes."""

import pytest

import lend
from lend.errors import MalformedDescriptor, UnsupportedLayout, UnsupportedType
from support.counting import (
    CountingDLPack,
    CountingExchange,
    capsule_fields,
    exchange_allocate,
    exchange_give,
    exchange_take,
)

PADDED, LATER = 4, 8
PACKED = {
    "int4": (0, 4), "uint4": (1, 4), "int2": (0, 2), "uint2": (1, 2), "float6_e2m3fn": (15, 6),
    "float6_e3m2fn": (16, 6), "float4_e2m1fn": (17, 4),
}  # fmt: skip
EACH = pytest.mark.parametrize(("name", "triple"), [(name, (*pair, 1)) for name, pair in PACKED.items()], ids=PACKED)
KINDS = pytest.mark.parametrize("kind", [CountingDLPack, CountingExchange], ids=["capsule", "table"])


@KINDS
@EACH
def test_packed_values_are_a_view_of_them(kind, name, triple):
    source = kind(bytes(8), (8,), dtype=triple)
    view = lend.view(source)
    assert (str(view.dtype), view.shape, view.itemsize, view.strides) == (f"{name}_packed", (8,), 0, None)
    assert (view.dtype.dlpack, view.readonly, view.c_contiguous) == (triple, False, True)
    del view
    assert source.audit() == []


@EACH
@pytest.mark.parametrize("version", [None, (1, 0), (1, 1), (1, 3)], ids=str)
def test_packed_values_are_given_to_everybody_without_a_flag(name, triple, version):
    view = lend.view(CountingDLPack(bytes(range(8)), (2, 4), dtype=triple))
    said = capsule_fields(view.__dlpack__(max_version=version))
    assert (said["dtype"], said["shape"], said["strides"]) == (triple, (2, 4), (4, 1))
    assert not said.get("flags", 0) & PADDED
    assert lend.view(view.__dlpack__(max_version=version)).tolist() == view.tolist()


@EACH
def test_packed_values_are_given_by_the_exchange_table(name, triple):
    view = lend.view(CountingExchange(bytes(range(8)), (8,), dtype=triple))
    assert exchange_give(exchange_take(view), lend.View).tolist() == view.tolist()


def test_memory_for_packed_values_is_allocated():
    fields = exchange_allocate(lend.View, 5, (1, 4), (1, 0)).fields
    assert (fields["shape"], fields["dtype"], fields["flags"]) == ((5,), (1, 4, 1), 0)


@pytest.mark.parametrize("lanes", [1, 3, 7])
def test_lanes_that_fill_no_bytes_stay_in_the_dtype(lanes):
    view = lend.view(CountingDLPack(b"\x21\x43\x65\x87\xa9\xcb\xed\x0f", (2,), dtype=(1, 4, lanes)))
    assert (view.dtype.lanes, view.itemsize, view.nbytes) == (lanes, 0, (8 * lanes + 7) // 8)
    values = list(range(1, 2 * lanes + 1))
    assert view.tolist() == (values if lanes == 1 else [tuple(values[:lanes]), tuple(values[lanes:])])


def test_a_byte_offset_is_where_packed_values_begin():
    assert lend.view(CountingDLPack(b"\x21\x43\x65", (3,), dtype=(1, 4, 1), byte_offset=1)).tolist() == [3, 4, 5]


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 2**40)], ids=str)
def test_no_packed_values_need_no_address(shape):
    view = lend.view(CountingDLPack(bytes(1), shape, dtype=(0, 4, 1), data=0))
    assert (view.shape, view.nbytes, view.readonly) == (shape, 0, False)


def test_packed_values_at_no_address_are_refused():
    with pytest.raises(MalformedDescriptor, match="data is NULL"):
        lend.view(CountingDLPack(bytes(1), (1,), dtype=(0, 4, 1), data=0))


def test_packed_values_beyond_the_last_address_are_refused():
    with pytest.raises(MalformedDescriptor, match="byte_offset"):
        lend.view(CountingDLPack(bytes(1), (64,), dtype=(0, 4, 1), data=2**64 - 8))


def test_packed_values_of_64_dimensions_are_a_view():
    view = lend.view(CountingDLPack(b"\x07", (1,) * 64, dtype=(1, 4, 1)))
    assert (view.ndim, view.reshape(()).item(), view[...].shape) == (64, 7, (1,) * 64)


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


@pytest.mark.parametrize("take", [lend.view, lend.buffer], ids=["view", "buffer"])
@pytest.mark.parametrize(
    ("shape", "strides"), [((4,), (2,)), ((4,), (-1,)), ((4,), (0,)), ((2, 2), (1, 2)), ((2, 2), (4, 1))], ids=str
)
def test_packed_values_with_gaps_or_in_another_order_are_refused(take, shape, strides):
    source = CountingDLPack(bytes(8), shape, strides=strides, dtype=(1, 4, 1), keep=True)
    with pytest.raises(UnsupportedLayout, match="packs its values several to a byte, and strides"):
        take(source)
    assert source.names == ["dltensor_versioned"]


def test_a_stride_of_one_packed_value_decides_nothing():
    source = CountingDLPack(b"\x21\x03", (1, 3), strides=(-(2**63), 1), dtype=(1, 4, 1))
    assert lend.view(source).tolist() == [[1, 2, 3]]


@pytest.mark.parametrize("take", [lend.view, lend.buffer], ids=["view", "buffer"])
@pytest.mark.parametrize("shape", [(2**62, 4), (2**61,), (2**32, 2**32), (0, 2**62, 4)], ids=str)
def test_packed_values_that_fit_no_memory_are_refused(take, shape):
    dtype = (1, 4, 1) if shape != (2**61,) else (15, 6, 7)
    with pytest.raises(MalformedDescriptor, match="size"):
        take(CountingDLPack(bytes(8), shape, strides=None, dtype=dtype))


@pytest.mark.parametrize("take", [lend.view, lend.buffer], ids=["view", "buffer"])
@pytest.mark.parametrize("shape", [(-3,), (0, -3), (-2, -2)], ids=str)
def test_a_negative_extent_of_packed_values_is_refused(take, shape):
    with pytest.raises(MalformedDescriptor, match="extent"):
        take(CountingDLPack(bytes(8), shape, dtype=(1, 4, 1), strides=None))


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
    with pytest.raises(UnsupportedType, match="a flag of a later version, which may say how its int4 lie"):
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
