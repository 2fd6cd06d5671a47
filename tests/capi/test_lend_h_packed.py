"""lend.h over values that share bytes: an itemsize of 0, strides of 0, and row-major order alone."""

import pytest

import lend
from lend.errors import CopyRequired, MalformedDescriptor, UnsupportedLayout, UnsupportedType
from support.counting import CountingDLPack, CountingExchange

C, F, ALIGNED = 2, 4, 8
C_ORDER, F_ORDER, COPY_IF_NEEDED, COPY, NEED_ALIGNED = 512, 1024, 2048, 4096, 8192
WAYS = pytest.mark.parametrize("way", ["acquired", "borrowed"])
UINT = 1


def packed(*shape):
    return lend.buffer(bytearray(range(64))).view("uint4_packed", shape)


@WAYS
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (1, 7), (0, 3), (1,) * 9 + (3,)], ids=str)
def test_the_struct_says_that_values_share_bytes(consumer, way, shape):
    view = packed(*shape)
    said = getattr(consumer, way)(view)
    assert (said["shape"], said["strides"], said["nbytes"]) == (shape, (0,) * len(shape), view.nbytes)
    assert said["dtype"] == (UINT, ord("|"), 0, 4, 1, 0, 1)
    assert said["flags"] == C | F * view.f_contiguous | ALIGNED


@WAYS
@pytest.mark.parametrize("producer", [CountingDLPack, CountingExchange])
def test_a_producer_of_packed_values_is_described(consumer, way, producer):
    source = producer(bytes(8), (3, 5), dtype=(0, 2, 3))
    said = getattr(consumer, way)(source)
    assert (said["dtype"][3:6], said["shape"], said["nbytes"]) == ((2, 3, 0), (3, 5), 12)
    assert source.audit() == []


@WAYS
def test_row_major_order_is_what_they_have(consumer, way):
    assert getattr(consumer, way)(packed(2, 3), C_ORDER | NEED_ALIGNED, UINT, ord("|"), -4)["shape"] == (2, 3)


@WAYS
@pytest.mark.parametrize("flags", [0, COPY_IF_NEEDED, COPY])
def test_column_major_order_is_refused_also_when_a_copy_is_allowed(consumer, way, flags):
    with pytest.raises(UnsupportedLayout, match="without moving bits"):
        getattr(consumer, way)(packed(2, 3), F_ORDER | flags)


@WAYS
def test_a_copy_is_packed_too(consumer, way):
    with lend.copies() as copies:
        said = getattr(consumer, way)(packed(7), COPY)
    assert (said["dtype"][3:6], said["nbytes"], copies.bytes) == ((4, 1, 0), 4, 4)


@WAYS
def test_one_to_a_byte_and_packed_are_two_types(consumer, way):
    padded = lend.view(bytes(4)).reinterpret("uint4")
    ask = getattr(consumer, way)
    assert ask(packed(4), 0, UINT, ord("|"), -4)["shape"] == (4,)
    assert ask(padded, 0, UINT, ord("|"), 4)["shape"] == (4,)
    with pytest.raises(UnsupportedType, match="dtype uint4 was required; this memory holds uint4_packed"):
        ask(packed(4), 0, UINT, ord("|"), 4)
    with pytest.raises(UnsupportedType, match="dtype uint4_packed was required; this memory holds uint4,"):
        ask(padded, 0, UINT, ord("|"), -4)


def test_an_address_that_must_be_a_multiple_is_asked_of_their_bytes(consumer):
    view = packed(8)
    odd = view[2:]
    with pytest.raises(CopyRequired):
        consumer.acquired(odd, 0, UINT, ord("|"), -4, -1, 4096)
    assert consumer.acquired(odd, COPY_IF_NEEDED, UINT, ord("|"), -4, -1, 4096)["address"] % 4096 == 0


def test_the_bytes_are_read_through_the_struct(consumer):
    assert consumer.bytes_of(packed(2, 3)) == b"\x00\x01\x02"


@pytest.mark.parametrize("how", ["packed", "0: no flag"])
def test_values_of_a_program_in_c_may_share_bytes(consumer, how):
    view = consumer.wrapped(None, True, how)
    assert (str(view.dtype), view.shape, view.strides, view.nbytes) == ("uint4_packed", (3, 4), None, 6)
    assert view.tolist() == [[0, 0, 0, 0], [1, 0, 0, 0], [2, 0, 0, 0]]


@pytest.mark.parametrize(("how", "field"), [("P: column-major", "flags"), ("4: a stride", "strides")])
def test_values_of_a_program_in_c_that_share_bytes_lie_row_major(consumer, how, field):
    before = consumer.releases()
    with pytest.raises(MalformedDescriptor, match=f"{field} of the lend_view .*share bytes"):
        consumer.wrapped(None, True, how)
    assert consumer.releases() == before
