"""Types that ml_dtypes adds to NumPy: told by name, never taken for bytes."""

import pytest

from lend.dtypes import DType
from lend.errors import UnsupportedType

np = pytest.importorskip("numpy")
ml_dtypes = pytest.importorskip("ml_dtypes")


@pytest.mark.parametrize("made_from", [ml_dtypes.bfloat16, np.dtype(ml_dtypes.bfloat16)], ids=str)
def test_bfloat16_is_told_by_its_name(made_from):
    assert DType(made_from) == DType("bfloat16")


@pytest.mark.parametrize("order", ["little", "big"])
def test_bfloat16_goes_to_numpy_as_that_of_ml_dtypes(order):
    dtype = DType("bfloat16").newbyteorder(order)
    assert dtype.__numpy_dtype__.name == "bfloat16"
    assert DType(dtype.__numpy_dtype__) == dtype


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "int4", "uint4", "float8_e8m0fnu"])
def test_small_floats_and_ints_are_refused(name):
    with pytest.raises(UnsupportedType, match=name):
        DType(np.dtype(getattr(ml_dtypes, name)))
