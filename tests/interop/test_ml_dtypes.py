"""bfloat16, which NumPy has from ml_dtypes (DTYPE-1, DTYPE-3, DTYPE-13)."""

import sys

import pytest

import lend
from lend.adapters.rules import is_installed
from lend.errors import UnsupportedType

np = pytest.importorskip("numpy")
ml_dtypes = pytest.importorskip("ml_dtypes")


@pytest.mark.parametrize("shape", [(4,), (2, 2), (), (0, 3)])
def test_it_goes_to_numpy_and_back_where_it_lies(shape):
    source = np.ones(shape, ml_dtypes.bfloat16)
    made = lend.to(source, "numpy", copy=False)
    assert (made.dtype, made.shape) == (np.dtype(ml_dtypes.bfloat16), shape)
    assert made.size == 0 or made.__array_interface__["data"][0] == source.__array_interface__["data"][0]
    assert made.tolist() == source.tolist()


def test_strides_and_the_read_only_mark_are_kept():
    source = np.arange(6).astype(ml_dtypes.bfloat16)[::-2]
    source.flags.writeable = False
    made = lend.to(source, "numpy", copy=False)
    assert (made.strides, made.flags.writeable, made.tolist()) == (source.strides, False, source.tolist())


def test_it_goes_to_torch_and_back_where_it_lies():
    torch = pytest.importorskip("torch")
    source = np.ones(3, ml_dtypes.bfloat16)
    tensor = lend.to(source, "torch", copy=False)
    assert (tensor.dtype, tensor.data_ptr()) == (torch.bfloat16, source.__array_interface__["data"][0])
    assert lend.to(tensor, "numpy", copy=False).dtype == np.dtype(ml_dtypes.bfloat16)


def test_without_ml_dtypes_both_ways_out_are_named(monkeypatch):
    view = lend.view(bytearray(8)).reinterpret("bfloat16")
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    assert not is_installed("ml_dtypes")
    for function in (lend.to, lend.explain):
        with pytest.raises(
            UnsupportedType, match=r'(?s)not installed.*install ml_dtypes, or lend\.view\(x\)\.reinterpret\("uint16"\)'
        ):
            function(view, "numpy")


def test_the_buffer_protocol_has_no_word_for_it():
    view = lend.view(np.ones(3, ml_dtypes.bfloat16))
    with pytest.raises(UnsupportedType, match=r'memoryview has no bfloat16(?s:.*)reinterpret\("uint16"\)'):
        lend.to(view, "memoryview")


def test_a_scalar_is_refused_with_a_remedy_that_works():
    x = ml_dtypes.bfloat16(1.5)
    with pytest.raises(UnsupportedType, match="no memory of scalars of the dtype bfloat16") as refused:
        lend.view(x)
    remedy, _, _ = refused.value.remedy.rpartition(", an array")
    assert eval(remedy, {"x": x, "lend": lend, "numpy": np}).item() == 1.5
