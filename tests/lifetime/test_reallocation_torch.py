"""torch moves a tensor's memory under a loan: `verify()` notices (LIFE-4)."""

import pytest

import lend
from lend.errors import LeaseLost

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    "move",
    [
        lambda tensor: tensor.resize_(1 << 20),
        lambda tensor: tensor.untyped_storage().resize_(0),
        lambda tensor: tensor.set_(torch.zeros(1 << 10, dtype=tensor.dtype)),
    ],
    ids=["resize_", "storage resize_", "set_"],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool], ids=str)
def test_verify_notices_a_tensor_that_moved(move, dtype):
    tensor = torch.zeros(8, dtype=dtype)
    view = lend.view(tensor)
    move(tensor)
    with pytest.raises(LeaseLost):
        view.verify()


def test_verify_passes_a_tensor_that_stayed():
    tensor = torch.arange(4)
    view = lend.view(tensor)
    tensor += 1
    view.verify()
    assert view.tolist() == [1, 2, 3, 4]
