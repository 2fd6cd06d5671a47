"""torch tensors without one block of memory, or of a dtype that lend lacks: what is said, and that the remedy works."""

import re
import warnings

import pytest

import lend
from lend import front
from lend.errors import LendError, NotLendable, UnsupportedType

torch = pytest.importorskip("torch")


def square():
    return torch.eye(4)


def quantized():
    return torch.quantize_per_tensor(square(), 0.5, 0, torch.quint8)


def nested():
    return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])


def jagged():
    return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)


# what comes -> the class and the fact of its refusal, and every expression that the "try" line offers
CASES = {
    "COO": (
        lambda: square().to_sparse(),
        NotLendable,
        "this torch.Tensor is sparse (sparse_coo)",
        ["x.to_dense()", "x.coalesce().indices()", "x.coalesce().values()"],
    ),
    "COO with a gradient": (
        lambda: square().to_sparse().requires_grad_(),
        NotLendable,
        "is sparse (sparse_coo)",
        ["x.detach().to_dense()", "x.detach().coalesce().values()"],
    ),
    "CSR": (
        lambda: square().to_sparse_csr(),
        NotLendable,
        "is sparse (sparse_csr)",
        ["x.to_dense()", "x.crow_indices()", "x.col_indices()", "x.values()"],
    ),
    "CSC": (
        lambda: square().to_sparse_csc(),
        NotLendable,
        "is sparse (sparse_csc)",
        ["x.to_dense()", "x.ccol_indices()", "x.row_indices()", "x.values()"],
    ),
    "BSR": (
        lambda: square().to_sparse_bsr((2, 2)),
        NotLendable,
        "is sparse (sparse_bsr)",
        ["x.to_dense()", "x.crow_indices()", "x.col_indices()", "x.values()"],
    ),
    "BSC": (
        lambda: square().to_sparse_bsc((2, 2)),
        NotLendable,
        "is sparse (sparse_bsc)",
        ["x.to_dense()", "x.ccol_indices()", "x.row_indices()", "x.values()"],
    ),
    "meta": (
        lambda: torch.empty(3, device="meta"),
        NotLendable,
        "is on the meta device: it has a shape and no memory",
        ['torch.empty_like(x, device="cpu")'],
    ),
    "nested": (
        nested,
        NotLendable,
        "is nested",
        ["[lend.view(t) for t in x.unbind()]", "x.to_padded_tensor(0.0)"],
    ),
    "jagged": (
        jagged,
        NotLendable,
        "NestedTensor overrides __torch_dispatch__",
        ["x.values()", "x.offsets()", "x.to_padded_tensor(0.0)"],
    ),
    "quantized": (
        quantized,
        UnsupportedType,
        "lend has no dtype for torch.quint8",
        ["x.int_repr()", "x.dequantize()"],
    ),
    "bits16": (
        lambda: torch.zeros(4, dtype=torch.uint8).view(torch.bits16),
        UnsupportedType,
        "lend has no dtype for torch.bits16",
        ["x.view(torch.uint16)"],
    ),
}


def made(name):
    """A tensor of CASES; some are announced as deprecated or as prototypes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CASES[name][0]()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("warm", [False, True], ids=["first of its type", "its type was met before"])
def test_a_tensor_without_one_block_of_memory_is_refused_with_a_remedy_that_works(name, warm):
    _, kind, fact, remedies = CASES[name]
    x = made(name)
    front.forget()
    if warm:
        lend.view(torch.zeros(1))
    with pytest.raises(kind, match=re.escape(fact)) as refused:
        lend.view(x)
    for remedy in remedies:
        assert remedy in refused.value.remedy
        given = eval(remedy, {"torch": torch, "lend": lend, "x": x})
        assert given if isinstance(given, list) else lend.view(given)


@pytest.mark.parametrize("name", CASES)
def test_what_view_refuses_to_and_explain_refuse_with_the_same_words(name):
    x = made(name)
    told = set()
    for function in (lambda: lend.view(x), lambda: lend.to(x, "memoryview"), lambda: lend.explain(x)):
        with pytest.raises(LendError) as refused:
            function()
        error = refused.value  # which says what was wanted as well, where something was
        told.add((error.fact, error.came, error.tried, error.remedy))
    assert len(told) == 1


def test_a_tensor_inside_a_transform_is_told_where_to_be_viewed():
    def inside(tensor):
        with pytest.raises(NotLendable, match=r"inside a transform of torch \(vmap, grad\)"):
            lend.view(tensor)
        return tensor

    torch.func.vmap(inside)(torch.ones(2, 3))


# -- dtypes that torch lacks --


@pytest.mark.parametrize(
    "part", [(slice(None), slice(None, None, 2)), (slice(None, None, -1),), (0, 0)], ids=["gaps", "backwards", "0-d"]
)
def test_the_remedy_for_opaque_bytes_works_whatever_the_strides_are(part):
    np = pytest.importorskip("numpy")
    x = np.arange(84, dtype="u1").reshape(4, 21).view("V7")[part]
    with pytest.raises(UnsupportedType) as refused:
        lend.to(x, "torch")
    remedy = refused.value.remedy.partition(": ")[0]
    tensor = lend.to(eval(remedy, {"lend": lend, "x": x}), "torch")
    assert tensor.numpy().tobytes() == x.tobytes()


def test_the_remedy_for_swapped_datetimes_keeps_their_values():
    np = pytest.importorskip("numpy")
    x = np.array(["1970-01-03", "2020-01-01"], dtype=">M8[D]")
    with pytest.raises(UnsupportedType) as refused:
        lend.to(x, "torch")
    remedy = refused.value.remedy.partition(": ")[0]
    assert lend.to(eval(remedy, {"lend": lend, "x": x}), "torch").tolist() == [2, 18262]


def test_dtype_18_the_class_of_parameters_is_read_where_it_lies():
    parameter = torch.nn.Parameter(torch.arange(4.0), requires_grad=False)
    view = lend.view(parameter)
    assert (view.ptr, view.tolist()) == (parameter.data_ptr(), [0, 1, 2, 3])


def test_dtype_18_a_compiled_function_reads_the_values_that_its_tensor_has():
    @torch.compile(backend="eager")
    def compiled(tensor):
        tensor = tensor + 1
        return tensor * 2, lend.view(tensor).tolist()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch: what it cannot trace
        try:
            doubled, seen = compiled(torch.arange(3.0))
        except LendError:
            return  # refused is right, too
    assert (doubled.tolist(), seen) == ([2, 4, 6], [1, 2, 3])


def test_dtype_18_a_tensor_inside_grad_is_refused():
    def inside(tensor):
        with pytest.raises(LendError, match="inside a transform of torch"):
            lend.view(tensor)
        return tensor.sum()

    assert torch.func.grad(inside)(torch.ones(3)).tolist() == [1, 1, 1]


def lying():
    """A class whose tensors say that they are plain ones, of bytes."""
    from support.liars import answering

    return answering(is_neg=False, is_conj=False, requires_grad=False, dtype=torch.uint8)


def doubting():
    """A class whose plain tensors say that they are conjugated, and resolve it to something else."""
    from support.liars import answering

    wrong = dict.fromkeys(("shape", "dtype", "device", "layout", "requires_grad"), False)
    return answering(is_neg=True, is_conj=True, resolve_conj=torch.full((3,), 9.0), **wrong)


DISGUISED = {
    "conj": lambda: torch.ones(2, dtype=torch.complex64).conj(),
    "neg": lambda: torch._neg_view(torch.ones(2)),
    "a gradient": lambda: torch.ones(2, requires_grad=True),
    "a dtype that lend lacks": lambda: torch.zeros(2, dtype=torch.uint8).view(torch.uint4),
}


@pytest.mark.parametrize("make", DISGUISED.values(), ids=DISGUISED)
def test_a_subclass_is_not_believed_what_torch_knows_better(make):
    tensor = make().as_subclass(lying())
    with pytest.raises(LendError, match=r"bit is set|requires a gradient|no dtype for"):
        lend.view(tensor)


def test_a_subclass_that_answers_for_itself_is_taken_where_torch_says_the_same():
    tensor = torch.arange(3.0).as_subclass(lying())
    assert lend.view(tensor).tolist() == [0.0, 1.0, 2.0]
    assert lend.view(tensor).ptr == tensor.data_ptr()


def test_what_a_subclass_says_falsely_of_its_bits_moves_nothing():
    tensor = torch.arange(3.0).as_subclass(doubting())
    assert lend.explain(tensor, "memoryview").copies == ()
    made = lend.to(tensor, "memoryview", copy=False)
    assert made.tolist() == [0.0, 1.0, 2.0]


def test_what_torch_has_to_write_out_of_a_subclass_torch_writes_out():
    tensor = torch.tensor([1 + 2j]).conj().as_subclass(doubting())
    plan = lend.explain(tensor, "numpy")
    made = lend.to(tensor, "numpy")
    assert made.tolist() == [1 - 2j]
    assert plan.bytes_copied == made.nbytes == 8
