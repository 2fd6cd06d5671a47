"""Maps of files into torch: a read-only one is copied, refused or signed for, and its file is never written (RO-4)."""

import mmap

import pytest

import lend
from lend.errors import CopyRequired
from support import children

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

DATA = bytes(range(1, 65))


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "data.bin"
    path.write_bytes(DATA)
    return path


def mapped(path):
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


READ_ONLY = {
    "mmap": mapped,
    "a view of an mmap": lambda path: lend.view(mapped(path)),
    "a buffer of an mmap": lambda path: lend.buffer(mapped(path)),
    "np.memmap": lambda path: np.memmap(path, dtype="u1", mode="r"),
    "a slice of np.memmap": lambda path: np.memmap(path, dtype="u1", mode="r")[4:],
    "np.memmap of floats": lambda path: np.memmap(path, dtype="f4", mode="r"),
    "an array of a memmap": lambda path: np.asarray(np.memmap(path, dtype="u1", mode="r")),
    "np.load": lambda path: saved_and_loaded(path),
}


def saved_and_loaded(path):
    np.save(path.with_suffix(".npy"), np.frombuffer(DATA, "u1"))
    return np.load(path.with_suffix(".npy"), mmap_mode="r")


EACH = pytest.mark.parametrize("make", READ_ONLY.values(), ids=READ_ONLY)


def nbytes_of(lender):
    return lend.buffer(lender).nbytes


@EACH
def test_a_read_only_map_is_copied_and_the_copy_may_be_written_to(make, path):
    lender = make(path)
    before = lend.buffer(lender).tobytes()
    with lend.copies() as made:
        tensor = lend.to(lender, "torch")
    assert (made.count, made.bytes) == (1, nbytes_of(lender))
    tensor.fill_(99)
    assert lend.buffer(lender).tobytes() == before
    assert path.read_bytes() == DATA


@EACH
def test_the_copy_of_a_read_only_map_is_told_before(make, path):
    plan = lend.explain(make(path), "torch")
    assert plan.bytes_copied == nbytes_of(make(path))
    assert "read-only" in plan.copies[0].why


@EACH
@pytest.mark.parametrize("function", [lend.to, lend.explain])
def test_a_read_only_map_is_refused_where_nothing_may_be_copied(function, make, path):
    with pytest.raises(CopyRequired, match=r"\(read-only\)"):
        function(make(path), "torch", copy=False)
    assert path.read_bytes() == DATA


@EACH
@pytest.mark.parametrize("copy", [None, False])
def test_a_read_only_map_is_shared_where_the_caller_signs(copy, make, path):
    lender = make(path)
    with lend.copies() as made:
        tensor = lend.to(lender, "torch", copy=copy, alias_readonly=True)
    assert (tensor.data_ptr(), made.count) == (lend.buffer(lender).ptr, 0)
    assert bytes(tensor.view(torch.uint8).tolist()) == lend.buffer(lender).tobytes()
    assert path.read_bytes() == DATA


@EACH
def test_a_signature_is_for_one_call(make, path):
    """It is decided per call: nothing is remembered, no warning is spent."""
    lender = make(path)
    shared = lend.to(lender, "torch", alias_readonly=True)
    copied = lend.to(lender, "torch")
    assert copied.data_ptr() != shared.data_ptr()
    with pytest.raises(CopyRequired):
        lend.to(lender, "torch", copy=False)


def test_a_map_cannot_be_closed_while_a_tensor_signed_for_shares_it(path):
    lender = mapped(path)
    tensor = lend.to(lender, "torch", alias_readonly=True)
    with pytest.raises(BufferError):
        lender.close()
    del tensor
    lender.close()
    assert lender.closed


def test_a_copied_map_may_be_closed_at_once(path):
    lender = mapped(path)
    tensor = lend.to(lender, "torch")
    lender.close()
    assert bytes(tensor.tolist()) == DATA


def test_the_view_of_a_read_only_map_stays_read_only_for_all_others(path):
    view = lend.view(mapped(path))
    tensor = lend.to(view, "torch", alias_readonly=True)
    assert (view.readonly, lend.view(view).readonly) == (True, True)
    assert not lend.to(view, "numpy").flags.writeable
    del tensor


@pytest.mark.parametrize(("mode", "written"), [("r+", True), ("c", False)])
def test_a_map_that_may_be_written_to_is_shared_unsigned(mode, written, path):
    array = np.memmap(path, dtype="u1", mode=mode)
    tensor = lend.to(array, "torch", copy=False)
    assert tensor.data_ptr() == array.ctypes.data
    tensor[0] = 99
    array.flush()
    assert (array[0], path.read_bytes()[0]) == (99, 99 if written else 1)


def test_nothing_is_said_on_stderr_about_read_only_maps(path):
    """torch warns once in a process when it is given read-only memory; lend does not give it any."""
    out = children.run_clean(
        """
        import mmap, sys, warnings
        import numpy as np
        import torch
        warnings.simplefilter("always")
        import lend
        with open(sys.argv[1], "rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        for lender in (np.memmap(sys.argv[1], mode="r"), mapped):
            print(lend.to(lender, "torch").sum().item(), lend.to(lender, "torch", alias_readonly=True).sum().item())
        """,
        args=(path,),
        options=(),
    )
    assert out.split() == [str(sum(DATA))] * 4
