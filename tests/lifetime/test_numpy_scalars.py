"""NumPy scalars: the view keeps the value, though some protocols of a scalar show memory of a passing array."""

import pytest

import lend
from support.derived import HOLDERS

np = pytest.importorskip("numpy")

DTYPES = ["?", "i1", "u8", "f2", "f4", "f8", "c16", "M8[ns]", "M8[D]", "m8[s]", "S3", "U2", "V5"]


def scalar(dtype):
    return np.frombuffer(bytes(range(1, 33)), np.uint8)[: np.dtype(dtype).itemsize].view(dtype)[0]


def lent(dtype):
    """The view of a scalar, after memory of its size was used for other things."""
    view = lend.view(scalar(dtype))
    kept = [np.full(view.nbytes, 0xDD, "u1") for _ in range(2000)]
    return view, kept


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_view_of_a_scalar_keeps_its_bytes(dtype):
    try:
        view, _ = lent(dtype)
    except lend.LendError:
        assert dtype[0] in "SUV", "refused, though its dtype can be said"
        return
    assert view.tobytes() == scalar(dtype).tobytes()


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f4", "f8", "c16", "M8[ns]", "M8[D]", "m8[s]"])
def test_a_view_of_a_scalar_is_read_only_and_has_no_dimension(dtype):
    view = lend.view(scalar(dtype))
    assert (view.readonly, view.shape) == (True, ())


def test_whatever_is_made_from_a_view_of_a_scalar_keeps_its_value():
    held = HOLDERS["a memoryview"](lend.view(scalar("f8")))
    kept = [np.full(8, 0xDD, "u1") for _ in range(2000)]
    assert held.tobytes() == scalar("f8").tobytes()
    assert kept
