"""Hand-made capsules of every DLPack device: addresses move, opaque handles do not, and the host reads neither."""

import pytest

import lend
from lend.errors import LendError, MalformedDescriptor, NotHostAccessible, UnsupportedType
from support import counting
from support.counting import CountingDLPack, CountingExchange
from support.device_producers import ADDRESS

HOST = (1, 3, 11, 13)
PLACED = (1, 2, 3, 9, 10, 11, 12, 13, 14, 16, 17, 18)
HANDLES = (4, 5, 6, 7, 8, 15, 19, 99, 255)
TOKEN = 0x1235  # of a handle: no address, and odd

KINDS = pytest.mark.parametrize("kind", [CountingDLPack, CountingExchange])
EVERY = pytest.mark.parametrize("device", sorted(PLACED + HANDLES))


def lent(kind, device, *, shape=(2, 3), number=None, **facts):
    if number is None:
        number = 0 if device == 1 else 1
    data = ADDRESS if device in PLACED else TOKEN
    facts = {"dtype": (2, 32, 1), "device": (device, number), "data": data, "byte_offset": 8} | facts
    return lend.view(kind(64, shape, **facts))


def given(lent):
    """Fields of the tensor that is handed on."""
    return counting.consume(lent.__dlpack__(max_version=(1, 3))).fields


@KINDS
@pytest.mark.parametrize("device", [d for d in sorted(PLACED + HANDLES) if d not in (2, 3, 13)])
def test_memory_that_is_not_of_cuda_hides_the_interface_of_cuda_and_is_found_by_dlpack(kind, device):
    own = lent(kind, device, number=0)
    assert not hasattr(own, "__cuda_array_interface__")
    with pytest.raises(AttributeError, match=f"is on {own.device}, and this is for CUDA memory"):
        own.__cuda_array_interface__
    # as torch, CuPy and Numba look: at that interface first, then at DLPack
    found = getattr(own, "__cuda_array_interface__", None) or given(own)
    assert (found["device"], found["data"] + found["byte_offset"]) == (
        (device, 0),
        (ADDRESS if device in PLACED else TOKEN) + 8,
    )
    assert tuple(own.__dlpack_device__()) == (device, 0)


@KINDS
@EVERY
def test_the_device_is_told_as_it_came(kind, device):
    view = lent(kind, device)
    assert view.__dlpack_device__() == tuple(view.device) == (device, 0 if device == 1 else 1)


@KINDS
@pytest.mark.parametrize("device", PLACED)
def test_an_address_takes_the_offset_in(kind, device):
    view = lent(kind, device)
    assert view.ptr == ADDRESS + 8
    fields = given(view)
    assert (fields["data"], fields["byte_offset"]) == (ADDRESS + 8, 0)


@KINDS
@pytest.mark.parametrize("device", HANDLES)
def test_a_handle_stays_and_its_offset_beside_it(kind, device):
    view = lent(kind, device)
    assert view.ptr == 8
    fields = given(view)
    assert (fields["data"], fields["byte_offset"]) == (TOKEN, 8)


PARTS = {
    "a row": (lambda view: view[1], 8 + 12),
    "an element": (lambda view: view[1, 2], 8 + 20),
    "a column": (lambda view: view[:, 1], 8 + 4),
    "a part of a part": (lambda view: view[1:][:, 2:], 8 + 20),
    "every second": (lambda view: view[::2, 1::2], 8 + 4),
    "transposed": (lambda view: view.T[1:], 8 + 4),
    "reshaped": (lambda view: view.reshape(6)[5:], 8 + 20),
    "reinterpreted": (lambda view: view.reinterpret("uint16")[0, 3:], 8 + 6),
    "its bytes": (lambda view: view.buffer[3:5], 8 + 3),
    "typed bytes": (lambda view: view.buffer[4:].view("uint16", offset=2), 8 + 6),
    "an empty part": (lambda view: view[2:, :0], None),
}


@pytest.mark.parametrize("make", PARTS)
@KINDS
@EVERY
def test_a_part_is_handed_on_from_where_it_lies(kind, device, make):
    take, offset = PARTS[make]
    fields = given(take(lent(kind, device)))
    if offset is None:
        assert (fields["data"], fields["byte_offset"]) == (0, 0)
    elif device in PLACED:
        assert (fields["data"], fields["byte_offset"]) == (ADDRESS + offset, 0)
    else:
        assert (fields["data"], fields["byte_offset"]) == (TOKEN, offset)


@KINDS
@pytest.mark.parametrize("device", HANDLES)
def test_a_loan_of_a_loan_keeps_the_handle(kind, device):
    again = lend.view(lent(kind, device)[1:].__dlpack__(max_version=(1, 3)))
    fields = given(again[:, 1:])
    assert (fields["data"], fields["byte_offset"]) == (TOKEN, 8 + 12 + 4)


@KINDS
@pytest.mark.parametrize("device", HANDLES)
def test_a_handle_may_be_any_word(kind, device):
    assert given(lent(kind, device, data=0))["data"] == 0


@KINDS
@pytest.mark.parametrize("device", HANDLES)
def test_an_offset_that_negative_strides_would_leave_is_refused(kind, device):
    with pytest.raises(MalformedDescriptor, match="byte_offset"):
        lent(kind, device, strides=(-3, 1))


@KINDS
@pytest.mark.parametrize("device", [code for code in sorted(PLACED + HANDLES) if code not in HOST])
def test_the_host_reads_nothing_of_a_device(kind, device):
    view = lent(kind, device)
    for read in (view.tolist, view.tobytes, view.copy, view[0, 0].item, lambda: memoryview(view)):
        with pytest.raises(NotHostAccessible):
            read()
    assert not hasattr(view, "__array_interface__")


@EVERY
def test_every_device_gives_its_lease_back(device):
    producer = CountingDLPack(64, (2, 3), dtype=(2, 32, 1), device=(device, 0), data=ADDRESS)
    view = lend.view(producer)
    part = view[1:].__dlpack__(max_version=(1, 3))
    del view, part
    assert producer.audit() == []


@KINDS
@pytest.mark.parametrize("number", [-1, -2, -(2**31)])
def test_a_number_below_0_is_refused(kind, number):
    with pytest.raises(LendError, match="device"):
        lent(kind, 2, number=number)


@pytest.mark.parametrize("device", HANDLES)
@pytest.mark.parametrize("make", [lend.View.from_pointer, lend.Buffer.from_pointer], ids=["View", "Buffer"])
def test_a_pointer_is_not_lent_where_there_are_no_addresses(make, device):
    shape = ((4,), "uint8") if make is lend.View.from_pointer else (4,)
    with pytest.raises(UnsupportedType, match="no addresses"):
        make(ADDRESS, *shape, owner=object(), device=device)
