"""Reading values through a View: the host reads what is there, and nothing that is not."""

import pytest

import lend
from lend.errors import LeaseLost, LendError

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
