"""Libraries that are handed a View or Buffer itself, and ask it for what they know."""

import array

import pytest

import lend
from lend.errors import LeaseLost, UnsupportedLayout

FLOATS = array.array("d", [1.0, 2.0, 3.0])


def aligned(dtype="float32"):
    """Memory that jax shares."""
    numpy = pytest.importorskip("numpy")
    return lend.view(numpy.arange(6, dtype=dtype), copy=True)


def test_pyarrow_makes_an_array_of_a_view_over_the_same_memory():
    pyarrow = pytest.importorskip("pyarrow")
    view = lend.view(FLOATS)
    made = pyarrow.array(view)
    assert made.to_pylist() == [1.0, 2.0, 3.0]
    assert made.buffers()[1].address == view.ptr


def test_pyarrow_casts_the_array_that_it_makes_of_a_view_when_asked_for_another_type():
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.array(lend.view(FLOATS), pyarrow.float32()).type == pyarrow.float32()


def test_the_array_that_pyarrow_makes_of_a_view_outlives_it():
    pyarrow = pytest.importorskip("pyarrow")
    made = pyarrow.array(lend.view(array.array("i", [7, 8])))
    assert made.to_pylist() == [7, 8]


def test_a_view_of_two_dimensions_is_no_pyarrow_array():
    pytest.importorskip("pyarrow")
    with pytest.raises(UnsupportedLayout, match=r"one dimension, and this View 2\n.*\n.*pyarrow\.Tensor"):
        lend.view(bytes(4)).reshape(2, 2).__arrow_array__()


def test_jax_makes_an_array_of_a_view_over_the_same_memory():
    jax = pytest.importorskip("jax")
    view = aligned()
    made = jax.numpy.asarray(view)
    assert made.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert made.unsafe_buffer_pointer() == view.ptr


def test_jax_converts_a_view_to_the_dtype_that_was_asked_for():
    jax = pytest.importorskip("jax")
    assert jax.numpy.asarray(aligned(), dtype="int32").tolist() == [0, 1, 2, 3, 4, 5]


def test_a_buffer_gives_its_bytes_as_an_array_of_numpys():
    numpy = pytest.importorskip("numpy")
    buffer = lend.buffer(b"abc")
    made = buffer.__array__()
    assert (made.dtype, made.tolist()) == (numpy.dtype("uint8"), [97, 98, 99])
    assert made.__array_interface__["data"] == (buffer.ptr, True)


def test_a_buffer_gives_a_writable_copy_of_its_bytes_when_asked_to():
    pytest.importorskip("numpy")
    buffer = lend.buffer(b"abc")
    made = buffer.__array__(copy=True)
    assert made.flags.writeable
    assert made.__array_interface__["data"][0] != buffer.ptr


@pytest.mark.parametrize("ask", ["__array__", "__arrow_array__", "__jax_array__"])
def test_a_released_view_makes_no_array(ask):
    view = lend.view(FLOATS)
    view.release()
    with pytest.raises(LeaseLost):
        getattr(view, ask)()


def test_torch_asarray_as_a_target_is_torch():
    torch = pytest.importorskip("torch")
    made = lend.to(FLOATS, torch.asarray)
    assert (made.dtype, made.tolist()) == (torch.float64, [1.0, 2.0, 3.0])


def test_torch_asarray_as_a_target_copies_what_is_read_only():
    torch = pytest.importorskip("torch")
    with lend.copies() as copies:
        made = lend.to(b"abcd", torch.asarray)
    assert (made.tolist(), copies.count) == ([97, 98, 99, 100], 1)
