"""Memory without elements goes to every target, whatever its producer says of address and strides (SHAPE-5 and 8)."""

import pytest

import lend
from support.counting import getbuffer
from support.producers import ArrayInterface

np = pytest.importorskip("numpy")

EMPTY = {
    "an array": lambda: np.zeros(0),
    "an array with a reversed dimension": lambda: np.zeros((3, 5))[0:0, ::-1],
    "an interface": lambda: ArrayInterface(b"", (0,), "<f8"),
    "bytes": lambda: b"",
}


@pytest.mark.parametrize("make", EMPTY.values(), ids=EMPTY)
@pytest.mark.parametrize("target", ["numpy", "torch", "pyarrow", "memoryview", "tvm_ffi"])
def test_empty_memory_goes_to_every_target(make, target):
    pytest.importorskip("builtins" if target == "memoryview" else target)
    made = lend.to(make(), target)
    assert 0 in (made.shape if hasattr(made, "shape") else (len(made),))


@pytest.mark.parametrize("take", [lend.view, lend.buffer])
def test_an_empty_tensor_goes_into_pyarrow(take):
    torch, pa = pytest.importorskip("torch"), pytest.importorskip("pyarrow")
    assert len(lend.to(take(torch.empty(0)), "pyarrow")) == 0
    assert pa.py_buffer(take(torch.empty(0))).size == 0


@pytest.mark.parametrize("make", EMPTY.values(), ids=EMPTY)
def test_empty_memory_has_an_address_and_natural_strides_when_it_is_given(make):
    view = lend.view(make())
    fields = getbuffer(view, 0x11C)
    assert fields.buf != 0
    assert min(view.strides) > 0


def test_a_slice_without_elements_has_natural_strides():
    view = lend.view(np.zeros((3, 5)))[0:0, ::-1]
    assert (view.shape, view.strides) == ((0, 5), (40, 8))
