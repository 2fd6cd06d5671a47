"""A Buffer spans from the lowest to the highest byte of what was lent; what lies between elements was not lent."""

import array

import pytest

import lend
from lend.errors import ReadOnlyMemory


def gapped():
    return lend.view(array.array("i", range(6)))[::2]


@pytest.mark.parametrize("take", [lend.buffer, lambda view: view.buffer], ids=["lend.buffer", "buffer"])
def test_bytes_with_gaps_between_are_read_only(take):
    made = take(gapped())
    assert (made.nbytes, made.readonly) == (20, True)


def test_bytes_with_gaps_between_are_not_given_for_writing():
    with pytest.raises(ReadOnlyMemory):
        lend.buffer(gapped(), writable=True)


@pytest.mark.parametrize("part", [slice(1, 4), slice(0, 0), slice(2, 3)])
def test_bytes_without_gaps_are_writable_as_they_were(part):
    assert not lend.view(array.array("i", range(6)))[part].buffer.readonly


def test_pointers_to_objects_beside_a_field_are_not_written_over():
    np = pytest.importorskip("numpy")
    records = np.zeros(2, [("a", "O"), ("b", "i4")])
    for made in (lend.buffer(records["b"]), lend.view(records)["b"].buffer):
        with pytest.raises(TypeError, match="read-only"):
            memoryview(made)[4:12] = bytes(8)
