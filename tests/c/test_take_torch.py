"""Tensors of torch: as lend.view says them; what is not in their memory is refused, which torch's table would give."""

import pytest

import lend

torch = pytest.importorskip("torch")

DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 bfloat16 complex32 complex64"
DTYPES = [getattr(torch, name) for name in [*DTYPES.split(), "complex128"]]


def filled(dtype):
    return torch.arange(48, dtype=torch.uint8).remainder(2).repeat(8).view(dtype)[:24]


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_is_taken(taker, same, dtype):
    source = filled(dtype).reshape(2, 3, 4)
    same(taker(source), lend.view(source))
    same(taker(source[:, ::2, 1:]), lend.view(source[:, ::2, 1:]))


FLOAT8 = {
    "float8_e4m3fn": 10, "float8_e4m3fnuz": 11, "float8_e5m2": 12, "float8_e5m2fnuz": 13, "float8_e8m0fnu": 14,
}  # fmt: skip


@pytest.mark.parametrize("name", FLOAT8)
def test_an_eight_bit_float_is_taken_as_dlpack_numbers_it(taker, name):
    source = torch.arange(6, dtype=torch.uint8).view(getattr(torch, name))
    taken = taker(source)
    assert taken.dtype == (FLOAT8[name], "|", 0, 8, 1, 1, 1)
    assert (taken.ptr, taken.tobytes()) == (source.data_ptr(), bytes(range(6)))


LAYOUTS = {
    "transposed": lambda t: t.reshape(4, 6).T,
    "expanded": lambda t: t.expand(3, 24),
    "a column": lambda t: t.reshape(4, 6)[:, 2],
    "no dimensions": lambda t: t[3],
    "empty": lambda t: t[:0],
    "channels last": lambda t: t.reshape(1, 2, 3, 4).to(memory_format=torch.channels_last),
    "nine dimensions": lambda t: t.reshape(1, 1, 2, 1, 3, 1, 4, 1, 1),
    "an odd place": lambda t: t[5:],
    "detached": lambda t: t.clone().requires_grad_().detach(),
    "a parameter": lambda t: torch.nn.Parameter(t, requires_grad=False),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_taken(taker, same, layout):
    source = LAYOUTS[layout](filled(torch.float32))
    same(taker(source), lend.view(source))


def test_a_subclass_that_holds_plain_memory_is_taken(taker, same):
    class Plain(torch.Tensor):
        pass

    source = filled(torch.float32).as_subclass(Plain)
    same(taker(source), lend.view(source))


def wrapper():
    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)

        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            raise NotImplementedError

    return Wrapper(torch.zeros(3))


def overriding():
    class Overriding(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            return NotImplemented

    return torch.zeros(3).as_subclass(Overriding)


def fake():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.zeros(3)


FINAL = r"^[^\n]*: it overrides __torch_dispatch__"  # said first: no other door was tried
REFUSED = {
    "what needs a gradient": (lambda: torch.zeros(3, requires_grad=True), "requires a gradient.*detach"),
    "a parameter": (lambda: torch.nn.Parameter(torch.zeros(3)), "gradient"),
    "a conjugate": (lambda: torch.ones(3, dtype=torch.complex64).conj(), "conjugated.*resolve_conj"),
    "a negative": (lambda: torch.ones(3, dtype=torch.complex64).conj().imag, "negated.*resolve_neg"),
    "a wrapper": (wrapper, FINAL),
    "a fake": (fake, FINAL),
    "what may be one": (overriding, FINAL),
    "a sparse one": (lambda: torch.eye(3).to_sparse(), "torch.Tensor"),
    "one without memory": (lambda: torch.empty(3, device="meta"), "torch.Tensor"),
    "a quantized one": (lambda: torch.quantize_per_tensor(torch.zeros(3), 1.0, 0, torch.qint8), "torch.Tensor"),
    "a wide quantized one": (lambda: torch.quantize_per_tensor(torch.zeros(3), 1.0, 0, torch.qint32), "torch.Tensor"),
    "half bytes": (lambda: torch.zeros(4, dtype=torch.uint8).view(torch.uint4), "torch.uint4"),
    "bits": (lambda: torch.zeros(4, dtype=torch.uint8).view(torch.bits8), "Bit types"),
    "wide bits": (lambda: torch.zeros(4, dtype=torch.int16).view(torch.bits16), "Bit types"),
    "a nested one": (lambda: torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)]), "torch"),
}


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor", "ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("warm", [False, True], ids=["first", "after another"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_in_the_memory_is_refused(taker, name, warm):
    make, told = REFUSED[name]
    if warm:
        assert taker(torch.zeros(2)).shape == (2,)
    with pytest.raises(BufferError, match=f"(?s){told}"):
        taker(make())


def by_overriding(says):
    """A class that says of its tensors what it likes."""
    return type("Overriding", (torch.Tensor,), {
        "is_neg": lambda self: says, "is_conj": lambda self: says, "requires_grad": says, "dtype": torch.uint8,
    })  # fmt: skip


def by_function(says):
    """A class that is asked before torch is, and says it there."""

    from support.liars import answering

    return answering(is_neg=says, is_conj=says, requires_grad=says, dtype=torch.uint8)


SPOILED = {
    "a gradient": (lambda: torch.zeros(3, requires_grad=True), "gradient"),
    "a conjugate": (lambda: torch.ones(3, dtype=torch.complex64).conj(), "conj"),
    "a negative": (lambda: torch.ones(3, dtype=torch.complex64).conj().imag, "neg"),
    "half bytes": (lambda: torch.zeros(4, dtype=torch.uint8).view(torch.uint4), "torch.uint4"),
}


@pytest.mark.parametrize("lying", [by_overriding, by_function])
@pytest.mark.parametrize("name", SPOILED)
def test_a_class_is_not_believed_that_memory_is_its_tensors_value(taker, name, lying):
    make, told = SPOILED[name]
    liar = make().as_subclass(lying(False))
    with pytest.raises(BufferError, match=f"(?s){told}"):
        taker(liar)


@pytest.mark.parametrize("name", SPOILED)
def test_nor_where_the_class_hands_out_the_capsule_itself(taker, name):
    make, told = SPOILED[name]
    plain = make().detach().resolve_neg().resolve_conj()
    plain = plain.view(torch.uint8) if name == "half bytes" else plain

    class Handing(by_overriding(False)):
        def __dlpack__(self, **keywords):
            return plain.__dlpack__(**keywords)

        def __dlpack_device__(self):
            return (1, 0)

    with pytest.raises(BufferError, match=f"(?s){told}"):
        taker(make().as_subclass(Handing))


def test_a_class_is_not_believed_that_it_is_not_either(taker, same):
    class Modest(torch.Tensor):
        def is_neg(self):
            return True

    source = filled(torch.float32).as_subclass(Modest)
    same(taker(source), lend.view(source))


def test_a_tensor_inside_a_transform_is_refused(taker):
    said = []

    def look(row):
        with pytest.raises(BufferError) as raised:
            taker(row)
        said.append(str(raised.value))
        return row

    torch.vmap(look)(torch.zeros(3, 2))
    assert len(said) == 1


def test_a_refused_tensor_is_not_held(taker):
    import weakref

    source = torch.zeros(3, requires_grad=True)
    storage = weakref.ref(source.untyped_storage())
    with pytest.raises(BufferError):
        taker(source)
    del source
    assert storage() is None


def test_a_tensor_lives_as_long_as_it_is_taken(taker):
    source = torch.arange(6, dtype=torch.float64)
    taken = taker(source)
    expected = source.numpy().tobytes()
    del source
    assert taken.tobytes() == expected
    taken.release_on_thread()


def test_a_tensor_is_written_through(taker):
    source = torch.zeros(3, dtype=torch.uint8)
    taker(source, flags=256).fill(7)
    assert source.tolist() == [7, 7, 7]


def test_an_object_that_behaves_like_a_tensor_is_asked_too(taker):
    from support.counting import CountingDLPack

    for name in ("requires_grad", "is_neg"):
        kind = type("Like", (CountingDLPack,), {"requires_grad": False, "is_neg": lambda self: False})
        setattr(kind, name, True if name == "requires_grad" else lambda self: True)
        producer = kind(16, (4,), keep=True)
        with pytest.raises(BufferError, match=name):
            taker(producer)
        assert producer.names == ["dltensor_versioned"]
