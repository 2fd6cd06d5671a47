"""The dtypes of torch, told by their text."""

import pytest

from lend.dtypes import DType
from lend.errors import UnsupportedType

torch = pytest.importorskip("torch")

NAMES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]


@pytest.mark.parametrize("name", [*NAMES, "bfloat16", "complex32", "complex64", "complex128", "float8_e4m3fn"])
def test_dtype_of_torch_is_read(name):
    dtype = getattr(torch, name)
    assert DType(dtype) == DType(name)
    assert DType(dtype).itemsize == dtype.itemsize


@pytest.mark.parametrize("name", ["qint8", "quint4x2", "int1", "uint1", "uint3"])
def test_dtype_of_torch_that_lend_lacks_is_refused(name):
    with pytest.raises(UnsupportedType, match=name):
        DType(getattr(torch, name))
