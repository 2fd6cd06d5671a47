"""Types that ml_dtypes adds to NumPy: told by name, never taken for bytes."""

import math

import pytest

import lend
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


SMALL = [
    name
    for name in dir(ml_dtypes)
    if name.startswith(("float8", "float6", "float4", "int4", "uint4", "int2", "uint2")) and "finfo" not in name
]


@pytest.mark.parametrize("name", SMALL)
def test_small_numbers_go_to_numpy_and_back_as_those_of_ml_dtypes(name):
    there = np.dtype(getattr(ml_dtypes, name))
    assert DType(there) == DType(name)
    assert DType(name).__numpy_dtype__ == there


@pytest.mark.parametrize("name", SMALL)
def test_every_pattern_of_a_small_number_is_read_as_ml_dtypes_reads_it(name):
    array = np.arange(256, dtype="uint8").view(getattr(ml_dtypes, name))
    for pattern, (ours, theirs) in enumerate(zip(lend.view(array).tolist(), array, strict=True)):
        theirs = float(theirs)
        if math.isnan(theirs):
            assert math.isnan(ours), pattern
        else:
            assert (ours, math.copysign(1, ours)) == (theirs, math.copysign(1, theirs)), pattern


@pytest.mark.parametrize("name", SMALL)
def test_an_array_of_small_numbers_keeps_its_dtype_and_its_memory(name):
    array = np.arange(24, dtype="uint8").view(getattr(ml_dtypes, name)).reshape(4, 6)[:, ::2]
    back = lend.to(lend.view(array), "numpy")
    assert (back.dtype, back.ctypes.data, back.strides) == (array.dtype, array.ctypes.data, array.strides)


@pytest.mark.parametrize("name", SMALL)
def test_small_numbers_survive_a_dlpack_capsule(name):
    view = lend.view(np.arange(8, dtype="uint8").view(getattr(ml_dtypes, name)))
    back = lend.view(view.__dlpack__(max_version=(1, 1)))
    assert (back.dtype, back.ptr, back.tolist()[:2]) == (view.dtype, view.ptr, view.tolist()[:2])


def test_an_unversioned_capsule_is_not_given_what_it_cannot_say_to_be_padded():
    view = lend.view(np.zeros(4, ml_dtypes.float4_e2m1fn))
    with pytest.raises(UnsupportedType, match="one to a byte"):
        view.__dlpack__()
    assert lend.view(lend.view(np.zeros(4, ml_dtypes.float8_e5m2)).__dlpack__()).dtype == DType("float8_e5m2")


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float4_e2m1fn", "int4"])
def test_small_numbers_are_refused_by_the_buffer_protocol_and_by_interfaces(name):
    view = lend.view(np.zeros(4, getattr(ml_dtypes, name)))
    with pytest.raises(UnsupportedType, match='reinterpret\\("uint8"\\)'):
        memoryview(view)
    assert not hasattr(view, "__array_interface__")
    assert not hasattr(view, "__array_struct__")


@pytest.mark.parametrize("name", ["int1", "uint1"])
def test_bits_of_one_are_refused_by_name(name):
    with pytest.raises(UnsupportedType, match=name):
        DType(np.dtype(getattr(ml_dtypes, name)))
