"""What threads, memory of devices and values that are not what lies there must not do to the minimal implementation."""

import struct

import pytest

from lend import minimal
from support.arrow_structs import Made, Node
from support.device_producers import CudaInterface, announcing
from support.racing import small_steps, takers


def test_the_structs_of_arrow_are_taken_by_one_of_many_threads():
    won, rounds = [], 200
    with small_steps():
        for _ in range(rounds):
            made = Made(Node("l", 2, buffers=[None, struct.pack("2q", 1, 2)]))
            pair = made.capsules()
            won += takers(lambda pair=pair: minimal.column(pair).tolist(), minimal.Refused)
            del pair
            assert made.released == {"": 1}
    assert won == [[1, 2]] * rounds


class Elsewhere:
    """Says by one protocol where it lies, and by another that it lies on the host."""

    __array_interface__ = {"shape": (4,), "typestr": "<f4", "data": (4096, False), "version": 3}

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **keywords):
        raise BufferError("on a device")


def test_memory_that_was_announced_elsewhere_is_not_the_hosts():
    with pytest.raises(minimal.Refused, match=r"an interface of the host beside memory on device \(2, 0\)"):
        minimal.array(Elsewhere())


@pytest.mark.parametrize("said", [{"device_id": 0}, {"device": "cuda:0"}, {"device_type": 2}, {"device_ordinal": 1}])
def test_a_pointer_of_an_object_with_a_device_is_not_the_hosts(said):
    memory = type("Memory", (), {"ptr": 8192, "size": 64, **said})()
    with pytest.raises(minimal.Refused, match="no __dlpack_device__ says whether that is the host"):
        minimal.buffer(memory)


@pytest.mark.parametrize("said", [{}, {"device": "cpu"}, {"device_type": 1}])
def test_a_pointer_of_an_object_on_the_host_is_taken(said):
    assert minimal.buffer(type("Memory", (), {"ptr": 8192, "size": 64, **said})()).ptr == 8192


@pytest.mark.parametrize("stream", [7, None])
def test_the_bytes_of_an_array_are_as_pending_as_the_array(stream):
    lent = minimal.array(CudaInterface(stream=stream))
    for of_bytes in (lent.buffer, lent.buffer[4:]):
        assert of_bytes.__cuda_array_interface__["stream"] == stream


@pytest.mark.parametrize("doubt", ["is_conj", "is_neg"])
def test_a_value_that_is_not_what_lies_there_is_shown_by_no_protocol(doubt):
    tensor = type("Tensor", (CudaInterface,), {doubt: lambda self: True})()
    with pytest.raises(minimal.Refused, match=rf"is not its value: {doubt}\(\) is true"):
        minimal.array(tensor)


MAKERS = {
    "Buffer": lambda: minimal.Buffer(4096, 3, (1, 0), True, None),
    "Array": lambda: minimal.Array(4096, (3,), None, "|u1", (1, 0), True, None),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_nobody_keeps_nothing_alive(make):
    with pytest.raises(TypeError, match="owner is what keeps the memory alive"):
        make()


def test_times_under_a_mask_have_two_kinds_of_nulls():
    np = pytest.importorskip("numpy")
    with pytest.raises(minimal.Refused, match="a Column has one kind of nulls"):
        minimal.column(np.ma.array(np.array(["2020", "NaT"], "M8[s]"), mask=[1, 0]))


@pytest.mark.parametrize("index", [0, -1, None])
def test_what_is_cut_by_slices_says_what_reads_its_values(index):
    with pytest.raises(TypeError, match=r"its values are read by memoryview\(\)"):
        minimal.buffer(b"abc")[index]
    with pytest.raises(TypeError, match=r"its values are read by tolist\(\), or column_to_ndarray\(x\)"):
        minimal.column(b"abc")[index]


def test_a_slice_of_a_column_has_a_dict_of_its_own():
    whole = minimal.column(b"abc")
    whole[1:].buffers.clear()
    assert whole.tolist() == [97, 98, 99]


def test_a_refusal_names_no_protocol_that_is_not_there():
    with pytest.raises(minimal.Refused) as refused:
        minimal.array([1])
    assert "cuda" not in str(refused.value).lower()


class Lending:
    """Numbers with a mask, by DLPack alone."""

    def __init__(self, mask=None):
        self.numbers = __import__("numpy").arange(3.0)
        if mask is not None:
            self.mask = mask

    def __dlpack__(self, **keywords):
        return self.numbers.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return (1, 0)


class Bytes(bytearray):
    """What has a mask by an attribute or by its interface, and shows its bytes to whom asks for these."""

    @property
    def __array_interface__(self):
        return {"shape": (3,), "typestr": "|u1", "version": 3, "mask": self.kept}


def subclass(**members):
    np = pytest.importorskip("numpy")
    return np.arange(3.0).view(type("Masked", (np.ndarray,), members))


def interface_with_mask(self):
    np = pytest.importorskip("numpy")
    return np.asarray(self.view(np.ndarray)).__array_interface__ | {"mask": np.array([True, False, True])}


def bytes_with_mask():
    made = Bytes(b"abc")
    made.kept = pytest.importorskip("numpy").array([True, False, True])
    return made


def dlpack_beside_interface():
    made = Lending()
    made.__array_interface__ = interface_with_mask(made.numbers)
    return made


BY_INTERFACE = {
    "an ndarray": (lambda: subclass(__array_interface__=property(interface_with_mask)), [0.0, None, 2.0]),
    "bytes": (bytes_with_mask, [97, None, 99]),
    "DLPack": (dlpack_beside_interface, [0.0, None, 2.0]),
}
BY_ATTRIBUTE = {
    "an ndarray": lambda: subclass(mask=[1, 0, 1]),
    "DLPack": lambda: Lending([1, 0, 1]),
}


@pytest.mark.parametrize("make", [row[0] for row in BY_INTERFACE.values()] + [*BY_ATTRIBUTE.values()])
@pytest.mark.parametrize("take", [minimal.array, minimal.buffer])
def test_what_has_a_mask_is_read_without_it_by_no_protocol(take, make):
    pytest.importorskip("numpy")
    with pytest.raises(minimal.Refused, match="may be masked: column"):
        take(make())


@pytest.mark.parametrize(("make", "values"), BY_INTERFACE.values(), ids=BY_INTERFACE)
def test_the_mask_of_an_interface_is_the_nulls_of_a_column(make, values):
    assert minimal.column(make()).tolist() == values


@pytest.mark.parametrize("make", BY_ATTRIBUTE.values(), ids=BY_ATTRIBUTE)
def test_a_mask_whose_meaning_nobody_told_is_no_nulls_of_a_column(make):
    pytest.importorskip("numpy")
    with pytest.raises(minimal.Refused, match="take data and mask apart"):
        minimal.column(make())


@pytest.mark.parametrize("mask", [None, False, lambda self: self])
def test_a_method_named_mask_or_none_at_all_hides_nothing(mask):
    assert minimal.array(subclass(mask=mask)).tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("device", [None, (2, -1), (2, 3), (10, 0), (10, -1), (13, 0)])
def test_bytes_of_a_device_are_taken_again_as_they_are(device):
    lender = CudaInterface(stream=7) if device is None else announcing(CudaInterface, device)(stream=7)
    lent = minimal.buffer(lender)
    again = minimal.array(lent)
    assert (again.ptr, again.shape, again.device, again.stream) == (lent.ptr, (lent.nbytes,), lent.device, 7)
    assert again.owner is lent.owner


@pytest.mark.parametrize("device", [(2, -1), (10, -1), (2, 5)])
def test_the_number_of_a_device_may_be_unknown(device):
    memory = type("Memory", (), {"ptr": 4096, "bufsize": 8, "__dlpack_device__": lambda self: device})()
    assert minimal.buffer(memory).device == device


@pytest.mark.parametrize("device", [(2, -2), (7, 0), (2, 2**31)])
def test_a_device_without_addresses_is_refused(device):
    memory = type("Memory", (), {"ptr": 4096, "bufsize": 8, "__dlpack_device__": lambda self: device})()
    with pytest.raises(minimal.Refused, match="has no address"):
        minimal.buffer(memory)
