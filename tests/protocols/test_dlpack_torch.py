"""torch and lend by DLPack, both ways: zero-copy, or refused by name (SHAPE-1, DTYPE-17, DTYPE-18)."""

import pytest

import lend
from lend.errors import LendError
from support import children

torch = pytest.importorskip("torch")

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]
LAYOUTS = {
    "1-d": lambda t: t,
    "2-d": lambda t: t.reshape(3, 4),
    "transposed": lambda t: t.reshape(3, 4).T,
    "strided": lambda t: t[::2],
    "offset": lambda t: t[3:],
    "0-d": lambda t: t[5],
    "empty": lambda t: t[:0],
    "expanded": lambda t: t[:1].expand(4),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_a_tensor_is_read_where_it_lies(layout, dtype):
    tensor = layout(torch.arange(12).to(getattr(torch, dtype)))
    view = lend.view(tensor)
    assert view.shape == tuple(tensor.shape)
    if tensor.numel():
        assert view.ptr == tensor.data_ptr()
        assert view.strides == tuple(stride * tensor.element_size() for stride in tensor.stride())
        assert view.tolist() == tensor.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tensor_goes_round_without_a_copy(dtype):
    tensor = torch.arange(12).to(getattr(torch, dtype)).reshape(3, 4)
    back = torch.from_dlpack(lend.view(tensor)[1:])
    assert (back.dtype, back.data_ptr()) == (tensor.dtype, tensor[1:].data_ptr())
    assert torch.equal(back, tensor[1:])


def test_a_write_through_torch_is_seen_by_the_producer():
    lender = bytearray(4)
    torch.from_dlpack(lend.view(lender))[1] = 7
    assert lender == b"\0\7\0\0"


def test_negative_strides_do_not_end_the_process():
    out = children.run_clean(
        """
        import torch, lend
        view = lend.view(memoryview(bytearray(range(4)))[::-1])
        for give in (torch.from_dlpack, torch.utils.dlpack.from_dlpack):
            try: print("accepted", give(view))
            except BufferError as error: assert "negative" in str(error), error
        print(torch.from_dlpack(view.__dlpack__(max_version=(1, 0), copy=True)).tolist())
        """,
        options=("-W", "ignore"),
    )
    assert out == "[3, 2, 1, 0]\n"


def test_a_lazily_conjugated_tensor_is_refused():
    with pytest.raises(LendError, match="conj"):
        lend.view(torch.tensor([1 + 2j]).conj())


def test_a_lazily_negated_tensor_is_refused():
    with pytest.raises(LendError, match="neg"):
        lend.view(torch.tensor([1 + 2j]).conj().imag)


def test_a_resolved_tensor_is_read_right():
    assert lend.view(torch.tensor([1 + 2j]).conj().resolve_conj()).tolist() == [1 - 2j]


@pytest.mark.parametrize("make", [lambda: torch.ones(3, requires_grad=True), lambda: torch.nn.Parameter(torch.ones(3))])
def test_a_tensor_that_requires_grad_is_refused_naming_detach(make):
    with pytest.raises(LendError, match=r"detach\(\)"):
        lend.view(make())


def test_a_parameter_without_a_gradient_is_taken():
    parameter = torch.nn.Parameter(torch.ones(3), requires_grad=False)
    assert lend.view(parameter).ptr == parameter.data_ptr()


@pytest.mark.parametrize(
    "make", [lambda: torch.ones(3, device="meta"), lambda: torch.eye(3).to_sparse()], ids=["meta", "sparse"]
)
def test_a_tensor_without_plain_memory_is_refused(make):
    with pytest.raises(LendError):
        lend.view(make())


def test_a_subclass_with_plain_storage_is_read_right():
    class Sub(torch.Tensor):
        pass

    tensor = torch.arange(4.0).as_subclass(Sub)
    view = lend.view(tensor)
    assert (view.ptr, view.tolist()) == (tensor.data_ptr(), [0.0, 1.0, 2.0, 3.0])


def test_a_fake_tensor_is_refused():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.ones(4)
    with pytest.raises(LendError, match="FakeTensor"):
        lend.view(fake)


def test_a_wrapper_subclass_is_refused():
    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise NotImplementedError(func)

    with pytest.raises(LendError, match="Wrapper"):
        lend.view(Wrapper(torch.arange(4.0)))
