"""Reading values through a View: the host reads what is there, and nothing that is not."""

import ctypes
import pickle
import struct

import pytest

import lend
from lend.errors import LeaseLost, LendError, UnsupportedType

READS = {
    "item": lambda view: view[0].item(),
    "tolist": lambda view: view.tolist(),
    "tobytes": lambda view: view.tobytes(),
    "copy": lambda view: view.copy(),
    "bytes of the buffer": lambda view: bytes(view.buffer),
    "a slice": lambda view: view[5:].tolist(),
}
EACH = pytest.mark.parametrize("read", READS.values(), ids=READS)


@EACH
def test_an_array_that_moved_under_its_view_is_not_read(read):
    numpy = pytest.importorskip("numpy")
    memory = numpy.zeros(1_000_000)
    view = lend.view(memory)
    memory.resize(10, refcheck=False)
    with pytest.raises(LeaseLost, match="reallocated"):
        read(view)


@EACH
def test_a_tensor_that_moved_under_its_view_is_not_read(read):
    torch = pytest.importorskip("torch")
    memory = torch.zeros(1_000_000)
    view = lend.view(memory)
    memory.untyped_storage().resize_(0)
    with pytest.raises(LeaseLost, match="reallocated"):
        read(view)


def test_what_goes_wrong_in_a_with_block_is_not_hidden_by_an_open_export():
    shown = []

    def go_wrong():
        with lend.view(b"abc") as view:
            shown.append(memoryview(view))
            raise KeyError("mine")

    with pytest.raises(KeyError):
        go_wrong()
    assert shown[0].tobytes() == b"abc"


def test_an_open_export_at_the_end_of_a_with_block_is_told():
    with pytest.raises(LendError, match="cannot be released"), lend.view(b"abc") as view:
        shown = memoryview(view)
    assert shown.tobytes() == b"abc"


class Record(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int64), ("thing", ctypes.py_object)]


OF_OBJECTS = {
    "objects": lambda: lend.view((ctypes.py_object * 3)(1, None, "x")),
    "one": lambda: lend.view((ctypes.py_object * 3)(1, None, "x"))[0],
    "none": lambda: lend.view((ctypes.py_object * 3)(1, None, "x"))[:0],
    "every second": lambda: lend.view((ctypes.py_object * 3)(1, None, "x"))[::2],
    "records": lambda: lend.view((Record * 2)(Record(1, None), Record(2, None))),
}
AS_BYTES = {
    "tobytes": lambda view: view.tobytes(),
    "tobytes in order F": lambda view: view.tobytes("F"),
    "bytes": bytes,
    "buffer": lambda view: view.buffer,
    "to bytes": lambda view: lend.to(view, bytes),
    "pickle": pickle.dumps,
}


@pytest.mark.parametrize("make", OF_OBJECTS.values(), ids=OF_OBJECTS)
@pytest.mark.parametrize("read", AS_BYTES.values(), ids=AS_BYTES)
def test_addresses_of_objects_are_not_handed_out_as_bytes(make, read):
    with pytest.raises(UnsupportedType, match="pointers to Python objects"):
        read(make())


@pytest.mark.parametrize(
    "dtype", ["uint8", ">int32", "datetime64[s]", "bfloat16", "int4_packed", "opaque[2]", "text[1]"]
)
def test_bytes_of_a_view_are_those_of_its_elements(dtype):
    memory = bytearray(range(16))
    assert bytes(lend.view(memory).reinterpret(dtype)) == memory


def test_bytes_of_a_view_with_gaps_leave_them_out():
    assert bytes(lend.view(bytes(range(6)))[::-2]) == b"\5\3\1"


@pytest.mark.parametrize(("value", "truth"), [(0.0, False), (-1.5, True)])
def test_a_number_is_true_as_numbers_are(value, truth):
    assert bool(lend.view(struct.pack("d", value)).reinterpret("float64")[0]) is truth


def test_an_array_is_true_when_it_has_something():
    assert lend.view(bytes(3))
    assert not lend.view(b"")
    assert not lend.view(memoryview(bytes(6)).cast("B", (2, 3)))[2:]
