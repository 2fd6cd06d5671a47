"""TVM FFI: like torch it has no mark for read-only memory (RO-1)."""

import pytest

import lend
from lend.errors import CopyRequired, UnsupportedType

tvm_ffi = pytest.importorskip("tvm_ffi")


@pytest.mark.parametrize("target", ["tvm_ffi", tvm_ffi, tvm_ffi.Tensor])
def test_every_name_of_it_makes_a_tensor_over_the_same_memory(target):
    view = lend.view(bytearray(4))
    made = lend.to(view, target)
    assert (type(made), made.data_ptr()) == (tvm_ffi.Tensor, view.ptr)


def test_read_only_memory_is_copied_unless_signed_for():
    view = lend.view(b"1234")
    assert lend.explain(view, "tvm_ffi").copies[0].why == "tvm_ffi cannot mark memory read-only, and could write to it"
    assert lend.to(view, "tvm_ffi").data_ptr() != view.ptr
    with pytest.raises(CopyRequired, match="read-only"):
        lend.to(view, "tvm_ffi", copy=False)
    assert lend.to(view, "tvm_ffi", alias_readonly=True).data_ptr() == view.ptr


def test_the_tensor_holds_the_lease():
    lender = bytearray(4)
    made = lend.to(lender, "tvm_ffi")
    with pytest.raises(BufferError):
        lender.append(1)
    del made
    lender.append(1)


def test_a_dtype_that_it_lacks_is_refused_by_name():
    with pytest.raises(UnsupportedType, match="tvm_ffi.Tensor has no complex64"):
        lend.to(lend.view(bytearray(8)).reinterpret("complex64"), "tvm_ffi")
