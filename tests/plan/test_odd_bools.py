"""Arrow's bool8 says true by any byte but 0; arrays say it by 1 alone, and get no other."""

import pytest

import lend
from lend.errors import CopyRequired

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")


def bool8(*values):
    return pa.ExtensionArray.from_storage(pa.bool8(), pa.array(values, "i1"))


ODD = {"as it lies": bool8(2, -1, 0, 1), "cut": bool8(9, 2, -1, 0, 1)[1:]}


@pytest.mark.parametrize("target", ["numpy", "torch", "jax", "pandas"])
@pytest.mark.parametrize("case", ODD)
def test_bools_of_other_bytes_are_made_0_and_1_in_a_copy_that_is_told(case, target):
    pytest.importorskip(target)
    told = lend.explain(ODD[case], target)
    with lend.copies() as made:
        given = lend.to(ODD[case], target)
    assert bytes(np.asarray(given).view("u1")) == b"\1\1\0\1"
    assert told.bytes_copied == made.bytes == 4
    assert "neither 0 nor 1" in str(told)


def test_they_are_refused_where_no_copy_is_allowed():
    with pytest.raises(CopyRequired, match="neither 0 nor 1"):
        lend.to(ODD["cut"], "numpy", copy=False)


def test_other_bytes_are_even_in_chunks_and_under_values_for_nulls():
    whole = pa.chunked_array([bool8(5, 0), bool8(None, 7)])
    given = lend.to(whole, "numpy", nulls=("fill", True))
    assert bytes(given.view("u1")) == b"\1\0\1\1"


def test_many_are_all_made_so():
    given = lend.to(bool8(*([3, 0, 1] * 20_000)), "numpy")
    assert bytes(given.view("u1")) == b"\1\0\1" * 20_000


def test_bools_of_0_and_1_are_shared():
    source = bool8(1, 0, 1)
    given = lend.to(source, "numpy", copy=False)
    assert given.ctypes.data == source.storage.buffers()[1].address


def test_arrow_takers_get_them_as_they_are():
    assert lend.to(ODD["cut"], "pyarrow", copy=False).storage.to_pylist() == [2, -1, 0, 1]
