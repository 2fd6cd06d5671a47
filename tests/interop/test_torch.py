"""torch: what comes from it and what it gets (RO-2 to RO-5, DTYPE-8, DTYPE-17, DTYPE-18, SHAPE, OFFSET-2, LIFE-4)."""

import mmap

import pytest

import lend
from lend.errors import CopyRequired, LendError, NotLendable, UnsupportedType

torch = pytest.importorskip("torch")

FROZEN = memoryview(bytearray(b"abcdefgh")).toreadonly()


@pytest.mark.parametrize("target", ["torch", torch, torch.Tensor])
def test_every_name_of_it_makes_a_tensor_over_the_same_memory(target):
    lender = bytearray(b"abcd")
    made = lend.to(lender, target)
    made[0] = 120
    assert (type(made), lender) == (torch.Tensor, bytearray(b"xbcd"))


@pytest.mark.parametrize(
    "lender",
    [b"abcdefgh", FROZEN, mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ)],
    ids=["bytes", "memoryview", "map"],
)
def test_read_only_memory_is_copied_because_torch_has_no_mark_for_it(lender):
    plan = lend.explain(lender, "torch")
    assert plan.copies[0].why == "torch cannot mark memory read-only, and could write to it"
    before = bytes(lender)
    made = lend.to(lender, "torch")
    made[0] = 0
    assert bytes(lender) == before


def test_read_only_memory_without_a_copy_is_refused_and_names_the_signature():
    with pytest.raises(CopyRequired) as refused:
        lend.to(FROZEN, "torch", copy=False)
    assert str(refused.value) == (
        "torch cannot mark memory read-only, and could write to it (read-only)\n"
        "  wanted : torch.Tensor without a copy (copy=False)\n"
        "  came   : uint8[8] on cpu, read-only, lent by memoryview\n"
        "  try    : copy=None (a copy of 8 bytes, counted), or alias_readonly=True: you promise not to write"
    )


@pytest.mark.parametrize("copy", [None, False])
def test_signed_read_only_memory_is_shared_and_the_plan_says_so(copy):
    view = lend.view(FROZEN)
    plan = lend.explain(view, "torch", copy=copy, alias_readonly=True)
    assert plan.copies == ()
    assert "alias_readonly: you promise not to write through the torch.Tensor to this read-only memory" in plan.notes
    assert lend.to(view, "torch", copy=copy, alias_readonly=True).data_ptr() == view.ptr
    assert view.readonly


def test_a_signature_that_was_not_needed_changes_nothing():
    assert lend.explain(bytearray(4), "torch", alias_readonly=True).notes == ()


def test_a_signature_mends_nothing_but_the_mark():
    with pytest.raises(CopyRequired, match="negative stride"):
        lend.to(lend.view(FROZEN)[::-1], "torch", copy=False, alias_readonly=True)


def test_a_repeated_element_is_copied_and_signed_for_shared():
    np = pytest.importorskip("numpy")
    source = np.broadcast_to(np.arange(3.0), (2, 3))
    assert lend.to(source, "torch").stride() == (3, 1)
    assert lend.to(source, "torch", alias_readonly=True).stride() == (0, 1)


def test_negative_strides_are_copied_with_the_right_values():
    np = pytest.importorskip("numpy")
    source = np.arange(12).reshape(3, 4)[::-1, ::-1]
    assert "negative stride" in lend.explain(source, "torch").copies[0].why
    assert lend.to(source, "torch").tolist() == source.tolist()
    with pytest.raises(CopyRequired, match="negative stride"):
        lend.to(source, "torch", copy=False)


def test_foreign_byte_order_is_swapped_in_a_copy():
    np = pytest.importorskip("numpy")
    source = np.arange(3, dtype=">i4")
    plan = lend.explain(source, "torch")
    assert "byte order" in plan.copies[0].why
    assert "bytes swapped" in plan.copies[0].what
    assert lend.to(source, "torch").tolist() == [0, 1, 2]
    with pytest.raises(CopyRequired, match="byte order"):
        lend.to(source, "torch", copy=False)


def test_unaligned_memory_is_copied():
    source = lend.view(bytearray(25))[1:].reinterpret("float64")
    assert "unaligned: the address is 1 mod 8" in lend.explain(source, "torch").copies[0].why
    assert lend.to(source, "torch").tolist() == [0, 0, 0]
    with pytest.raises(CopyRequired, match=r"\(alignment\)"):
        lend.to(source, "torch", copy=False)


def test_a_size_one_stride_decides_nothing():
    np = pytest.importorskip("numpy")
    raw = np.zeros(80, "u1")
    source = np.ndarray((1, 10), "f8", raw, strides=(4, 8))
    assert lend.to(source, "torch", copy=False).data_ptr() == source.ctypes.data


def test_every_reason_stands_in_the_refusal():
    np = pytest.importorskip("numpy")
    source = np.arange(4, dtype=">i4")[::-1]
    source.flags.writeable = False
    with pytest.raises(CopyRequired, match=r"(?s)\(read-only\).*\(byte order\).*\(negative stride\)"):
        lend.to(source, "torch", copy=False)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_a_shape_without_elements_or_dimensions_is_kept(shape):
    holder = bytearray(8)
    view = lend.View.from_pointer(lend.view(holder).ptr, shape, "float64", owner=holder, readonly=False)
    assert tuple(lend.to(view, "torch", copy=False).shape) == shape


@pytest.mark.parametrize("lender", [b"", bytearray()])
def test_empty_memory_makes_an_empty_tensor_without_a_copy(lender):
    assert lend.to(lender, "torch", copy=False).shape == (0,)


@pytest.mark.parametrize(
    ("dtype", "remedy"),
    [
        ("datetime64[ns]", r'reinterpret\("int64"\): whole numbers, whose unit is ns'),
        ("timedelta64[25s]", r'reinterpret\("int64"\): whole numbers, whose unit is 25 s'),
        ("opaque[8]", r'reinterpret\("uint8"\)'),
        ("longdouble", r'astype\("float64"\)'),
        ("float32x2", r'reinterpret\("float32"\)'),
    ],
)
@pytest.mark.parametrize("copy", [None, True, False])
def test_a_dtype_that_torch_lacks_is_refused_with_the_remedy(dtype, remedy, copy):
    holder = bytearray(64)
    view = lend.View.from_pointer(lend.view(holder).ptr, (2,), dtype, owner=holder)
    with pytest.raises(UnsupportedType, match=rf"(?s)torch\.Tensor has no .*{remedy}"):
        lend.to(view, "torch", copy=copy)


# -- values that torch has still to write out (DTYPE-17)

LAZY = {
    "conj": lambda: torch.tensor([1 + 2j, 3 - 1j]).conj(),
    "neg": lambda: torch.imag(torch.tensor([1 + 2j, 3 - 1j]).conj()),
    "a strided conj": lambda: torch.arange(8.0).to(torch.complex64).reshape(2, 4).conj()[:, ::2],
}


@pytest.mark.parametrize("name", LAZY)
@pytest.mark.parametrize("target", ["memoryview", "torch"])
@pytest.mark.parametrize("copy", [None, True])
def test_a_lazy_value_is_resolved_through_torch_as_a_counted_copy(name, target, copy):
    lazy = LAZY[name]()
    plan = lend.explain(lazy, target, copy=copy)
    with lend.copies() as counted:
        made = lend.to(lazy, target, copy=copy)
    assert (plan.bytes_copied, [step.who for step in plan.copies]) == (lazy.nbytes, ["producer"])
    assert (counted.count, counted.bytes, counted.recent[0].why) == (1, lazy.nbytes, plan.copies[0].why)
    assert lend.view(made).tolist() == lazy.resolve_conj().resolve_neg().tolist()


@pytest.mark.parametrize("name", LAZY)
def test_a_lazy_value_is_refused_without_a_copy_and_by_view(name):
    word = name.rpartition(" ")[2]
    for function in (lend.to, lend.explain):
        with pytest.raises(CopyRequired, match=rf"its memory does not hold its value \({word}\)"):
            function(LAZY[name](), "memoryview", copy=False)
    with pytest.raises(NotLendable, match=rf"its {word} bit is set"):
        lend.view(LAZY[name]())


@pytest.mark.parametrize("copy", [None, True, False])
def test_a_tensor_that_requires_a_gradient_is_refused_naming_detach(copy):
    tensor = torch.ones(3, requires_grad=True)
    for function in (lend.to, lend.explain):
        with pytest.raises(NotLendable, match=r"requires a gradient(?s:.*)x\.detach\(\)"):
            function(tensor, "memoryview", copy=copy)
    with pytest.raises(NotLendable, match="gradient"):
        lend.to(torch.ones(2, dtype=torch.complex64, requires_grad=True).conj(), "memoryview", copy=copy)


def test_a_tensor_of_a_fake_mode_is_refused_naming_its_class():
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        fake = torch.ones(4)
    for function in (lend.view, lambda x: lend.to(x, "memoryview"), lambda x: lend.explain(x, "memoryview")):
        with pytest.raises(LendError, match="FakeTensor"):
            function(fake)


def test_a_wrapper_is_refused_naming_its_class_and_a_plain_subclass_is_read():
    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            raise NotImplementedError

    class Plain(torch.Tensor):
        pass

    with pytest.raises(LendError, match="Wrapper overrides __torch_dispatch__"):
        lend.view(Wrapper(torch.arange(4.0)))
    tensor = torch.arange(4.0).as_subclass(Plain)
    view = lend.view(tensor)
    assert (view.ptr, view.tolist()) == (tensor.data_ptr(), [0, 1, 2, 3])


@pytest.mark.parametrize("name", ["int4", "uint1"])
def test_a_shell_dtype_is_refused_by_name(name):
    dtype = getattr(torch, name, None)
    if dtype is None:
        pytest.skip(f"this torch has no {name}")
    with pytest.raises(LendError, match=f"torch.{name}"):
        lend.view(torch.empty(4, dtype=dtype))


def test_a_tensor_that_may_be_resized_is_marked():
    assert any("may reallocate: Tensor.resize_" in note for note in lend.explain(torch.zeros(4)).notes)


def test_a_part_of_a_tensor_is_verified_by_its_own_address():
    whole = torch.arange(12.0).reshape(3, 4)
    for view in (lend.view(whole[1:, ::2]), lend.view(whole.T), lend.view(whole)[2]):
        view.verify()
    whole.resize_(1 << 20)
    view = lend.view(whole)
    whole.untyped_storage().resize_(16)
    with pytest.raises(lend.errors.LeaseLost, match="torch.Tensor that lent this memory has reallocated it"):
        lend.to(view, "memoryview")


def test_bools_that_are_no_bools_are_mended_when_they_are_copied():
    source = lend.view(bytearray([0, 1, 2, 255])).reinterpret("bool")
    assert lend.to(source, "torch", copy=True).view(torch.uint8).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("lazy", [False, True], ids=["plain", "conj"])
def test_a_tensor_inside_vmap_is_refused_alike_by_all(lazy):
    refusals = set()

    def inside(tensor):
        tensor = tensor.conj() if lazy else tensor
        for function in (lend.to, lend.explain):
            with pytest.raises(LendError) as refused:
                function(tensor, "memoryview")
            refusals.add((type(refused.value), refused.value.fact))
        return tensor

    torch.func.vmap(inside)(torch.ones(2, 3, dtype=torch.complex64))
    assert len(refusals) == 1


@pytest.mark.parametrize("device", [None, "cpu"])
@pytest.mark.parametrize("copy", [None, True, False])
def test_pinned_memory_is_a_tensor_of_the_host_after_its_work_and_copied_only_when_told_to(copy, device):
    holder = bytearray(b"abcd")
    address = lend.view(holder).ptr
    pinned = lend.View.from_pointer(address, (4,), "uint8", owner=holder, device="cuda_host", readonly=False)
    tensor = lend.to(pinned, "torch", copy=copy, device=device)
    assert (str(tensor.device), tensor.tolist()) == ("cpu", [97, 98, 99, 100])
    assert (tensor.data_ptr() == address) is (copy is not True)
    assert lend.explain(pinned, "torch", copy=copy, device=device).bytes_copied == (4 if copy else 0)
