"""Buffers of pyarrow's are bytes of nobody's type, whatever it calls them."""

import pytest

import lend
from lend.errors import MalformedDescriptor

pa = pytest.importorskip("pyarrow")


@pytest.mark.parametrize("make", [
    lambda: pa.array([1, 2, 3]), lambda: pa.array([1, None, 3]), lambda: pa.array([1.5, 2.5]),
    lambda: pa.array(["a", "bc"]), lambda: pa.array([True, False, None]), lambda: pa.array([1, 2, 3], pa.int16()),
])  # fmt: skip
def test_the_buffers_of_an_array_make_the_column_it_is(make):
    array = make()
    dtype = lend.column(array).dtype
    roles = ["validity", "offsets", "data"] if len(array.buffers()) == 3 else ["validity", "data"]
    buffers = {role: buffer for role, buffer in zip(roles, array.buffers(), strict=True) if buffer is not None}
    column = lend.Column.from_buffers(dtype, len(array), buffers)
    assert column.tolist() == array.to_pylist()


def test_bytes_that_pyarrow_may_write_to_are_taken_too():
    buffer = pa.allocate_buffer(16, resizable=True)
    memoryview(buffer).cast("B")[:] = bytes(16)
    assert lend.Column.from_buffers("int64", 2, {"data": buffer}).tolist() == [0, 0]


def test_signed_bytes_of_others_are_no_numbers_of_eight():
    from array import array

    with pytest.raises(MalformedDescriptor, match="says that its elements are int8"):
        lend.Column.from_buffers("int64", 2, {"data": array("b", bytes(16))})
