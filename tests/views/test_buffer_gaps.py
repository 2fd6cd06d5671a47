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


@pytest.mark.parametrize("part", [slice(1, 4), slice(0, 0), slice(2, 3)])
def test_bytes_without_gaps_are_writable_as_they_were(part):
    assert not lend.view(array.array("i", range(6)))[part].buffer.readonly


def test_pointers_to_objects_beside_a_field_are_not_written_over():
    np = pytest.importorskip("numpy")
    records = np.zeros(2, [("a", "O"), ("b", "i4")])
    for made in (lend.buffer(records["b"]), lend.view(records)["b"].buffer):
        with pytest.raises(TypeError, match="read-only"):
            memoryview(made)[4:12] = bytes(8)


LAYOUTS = {
    "backwards": ((6,), (-4,), 20, False),
    "turned": ((2, 3), (4, 8), 0, False),
    "repeated (no View of those is writable)": ((3, 4), (0, 4), 0, True),
    "windows": ((3, 4), (4, 4), 0, False),
    "overlapping by bytes": ((5,), (2,), 0, False),
    "rows with gaps": ((2, 2), (12, 4), 0, True),
    "columns with gaps": ((2, 2), (4, 12), 0, True),
    "rows that repeat and leave gaps": ((2, 3), (0, 8), 0, True),
    "one element of many dims": ((1, 1, 1), (100, 8, -4), 0, False),
    "one element with a wild step": ((6, 1), (-4, -(2**63)), 20, False),
    "none": ((0, 3), (100, 8), 0, False),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_only_bytes_of_no_element_make_a_buffer_read_only(name):
    shape, strides, offset, gaps = LAYOUTS[name]
    made = lend.buffer(bytearray(24)).view("int32", shape, strides, offset).buffer
    assert made.readonly is gaps


def test_writable_bytes_with_gaps_are_refused_by_name():
    with pytest.raises(ReadOnlyMemory) as caught:
        lend.buffer(gapped(), writable=True)
    assert str(caught.value).startswith(
        "the bytes between the elements of shape (3,) with strides (8,) were not lent, so that the bytes from the "
        "first to the last are read-only; writable ones were asked for"
    )
