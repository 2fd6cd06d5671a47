"""PyTorch: tensors in and out.

Taken: by the C exchange table, behind the checks of torch_guards.pyx. What the memory of a tensor does not hold (a
conjugate, a sign) `lend.to` lets torch resolve into a copy. Given: by lend's own DLPack capsule, which holds the lease;
torch.frombuffer would hold none. torch has no mark for read-only memory and ends the process on a negative stride.
"""

import sys
from functools import partial

from lend.adapters.asking import guarded
from lend.adapters.rules import CPU, FORWARD, UNMARKED, Library, Rules, only
from lend.errors import LendError, NotLendable, UnsupportedType
from lend.protocols.classes import full_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lend.adapters.rules import Give
    from lend.doors import Door
    from lend.views.view import View

# -- take ----------------------------------------------------------------------------------------------------------


def doors(obj: "Any") -> "list[Door] | None":
    """The guarded door of a tensor; None for what else comes from torch."""
    if not _is_tensor(obj):
        return None
    from lend.adapters.torch_guards import protocol_for
    from lend.doors import Door

    protocol = protocol_for(type(obj))
    if protocol is None:
        raise refused(obj, "subclass")
    check_readable(obj)
    return [Door(protocol, final=True)]


@guarded
def plain(obj: "Any") -> "Any":
    """The tensor that an instance of a subclass is, without what the class answers in its place."""
    torch = sys.modules["torch"]
    if type(obj) is torch.Tensor or type(obj).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        return obj  # what may not hold the memory it shows is refused by its class
    return torch._C._disabled_torch_function_impl(torch._C.TensorBase.as_subclass, (), (obj, torch.Tensor))


def unlike_its_memory(obj: "Any", integers: bool) -> "str | None":
    """Why the memory of an instance of a subclass is not its value."""
    torch, tensor = sys.modules["torch"], plain(obj)
    if integers:
        return None if tensor.itemsize > 1 or tensor.dtype in (torch.int8, torch.uint8) else "dtype"
    if tensor.requires_grad:
        return "requires_grad"
    return "neg" if tensor.is_neg() else "conj" if tensor.is_conj() else None


def refused(obj: "Any", why: str) -> LendError:
    """The refusal of a tensor whose memory is not its value; raised by the guards."""
    name, obj = _name(obj), plain(obj)
    if why == "requires_grad":
        return NotLendable.build(
            f"this {name} requires a gradient: what others write to its memory autograd would never see",
            came=_came(obj, name),
            remedy="x.detach(), which shares the memory",
        )
    if why in ("conj", "neg"):
        word, method = ("conjugated", "resolve_conj") if why == "conj" else ("negated", "resolve_neg")
        return NotLendable.build(
            f"this {name} is lazily {word} (its {why} bit is set): its memory does not hold its value",
            came=_came(obj, name),
            remedy=f"x.{method}(), or lend.to(x, target), which does that: a copy, and counted",
        )
    if why == "dtype":
        return UnsupportedType.build(
            f"lend has no dtype for {obj.dtype}, whose tensors come as plain bytes by DLPack",
            came=_came(obj, name),
            remedy="x.view(torch.uint8), if its bytes are what you want",
        )
    remedy = "the plain tensor inside it, or x.as_subclass(torch.Tensor) if you know that it holds plain storage"
    if name.endswith("NestedTensor"):
        remedy = "x.values() and x.offsets() apart, or x.to_padded_tensor(0.0)"
    elif name.endswith("FakeTensor"):
        remedy = "a tensor made outside of the fake mode: this one has a shape and no values"
    return NotLendable.build(
        f"{name} overrides __torch_dispatch__: the memory that it shows need not hold its values, and is not read",
        came=name,
        remedy=remedy,
    )


# layout of a sparse tensor -> its parts, each a plain tensor
_PARTS = {
    "sparse_coo": ("coalesce().indices()", "coalesce().values()"),
    "sparse_csr": ("crow_indices()", "col_indices()", "values()"),
    "sparse_bsr": ("crow_indices()", "col_indices()", "values()"),
    "sparse_csc": ("ccol_indices()", "row_indices()", "values()"),
    "sparse_bsc": ("ccol_indices()", "row_indices()", "values()"),
}


def check_readable(obj: "Any") -> None:
    """Refuse a tensor that no one block of memory holds, or whose elements lend has no dtype for."""
    name, obj = _name(obj), plain(obj)
    bare = "x.detach()" if obj.requires_grad else "x"
    layout = str(obj.layout).rpartition(".")[2]
    if obj.is_nested:
        raise NotLendable.build(
            f"this {name} is nested: the tensors in it are of several shapes",
            came=f"{name}, nested, {obj.dtype} on {obj.device}",
            remedy=f"one of them at a time: [lend.view(t) for t in {bare}.unbind()], or {bare}.to_padded_tensor(0.0)",
        )
    if layout in _PARTS:
        *parts, last = (f"{bare}.{part}" for part in _PARTS[layout])
        raise NotLendable.build(
            f"this {name} is sparse ({layout}): no one block of memory holds its values",
            came=_came(obj, name),
            remedy=f"{bare}.to_dense(), a copy by torch; or its parts apart: {', '.join(parts)} and {last}",
        )
    if layout != "strided":
        raise NotLendable.build(
            f"this {name} has the layout {layout}, which only torch can read",
            came=_came(obj, name),
            remedy=f"{bare}.to_dense(), a copy by torch",
        )
    if obj.device.type == "meta":
        raise NotLendable.build(
            f"this {name} is on the meta device: it has a shape and no memory",
            came=_came(obj, name),
            remedy='torch.empty_like(x, device="cpu"), which has memory; its values are then yours to fill in',
        )
    if obj.is_quantized:
        raise UnsupportedType.build(
            f"lend has no dtype for {obj.dtype}, whose numbers mean something only with their scale",
            came=_came(obj, name),
            remedy="x.int_repr(), the stored integers, or x.dequantize(), their values as float32: copies by torch",
        )
    dtype = str(obj.dtype).rpartition(".")[2]
    if dtype in _DTYPES:
        _check_untransformed(obj, name)
        return
    size = obj.element_size()
    bits = f"{bare}.view(torch.uint{8 * size}), the bits of each, shared"
    raise UnsupportedType.build(
        f"lend has no dtype for {obj.dtype}",
        came=_came(obj, name),
        remedy=f"{bits}; or {bare}.float(), a copy by torch" if dtype.startswith("float8") else bits,
    )


def _check_untransformed(obj: "Any", name: str) -> None:
    """Refuse a tensor inside vmap or grad."""
    functorch = getattr(sys.modules["torch"]._C, "_functorch", None)
    is_wrapped = getattr(functorch, "is_functorch_wrapped_tensor", None)
    if is_wrapped is not None and is_wrapped(obj):
        raise NotLendable.build(
            f"this {name} is inside a transform of torch (vmap, grad): it has no memory of its own",
            came=name,
            remedy="lend.view of the tensor before or after the transform",
        )


def _name(obj: "Any") -> str:
    name = full_name(type(obj))
    return "torch.nn.Parameter" if name == "torch.nn.parameter.Parameter" else name


def _came(obj: "Any", name: str) -> str:
    return f"{name}, {obj.dtype}{list(obj.shape)} on {obj.device}"


def _is_tensor(obj: "Any") -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and issubclass(type(obj), torch.Tensor)


class Unresolved:
    """A tensor whose value torch has still to write out.

    Attributes
    ----------
    shape : tuple of int
    dtype : the torch.dtype
    word, why : str
        What is pending, in a word and in a sentence.
    """

    __slots__ = ("dtype", "shape", "tensor", "why", "word")

    readonly = False
    alignment = 64  # of what torch allocates
    door = "DLPack C exchange API"

    def __init__(self, tensor: "Any", word: str, why: str) -> None:
        self.tensor = tensor
        self.shape = tuple(tensor.shape)
        self.dtype = tensor.dtype
        self.word = word
        self.why = why

    def resolve(self) -> "Any":
        """Let torch write the value into a tensor of its own."""
        return _resolve(self.tensor)


@guarded
def _resolve(tensor: "Any") -> "Any":
    return tensor.resolve_conj().resolve_neg()


@guarded
def unresolved(obj: "Any") -> "Unresolved | None":
    """What torch has still to do to a tensor before its memory holds its value; None for most."""
    if not _is_tensor(obj) or type(obj).__torch_dispatch__ is not sys.modules["torch"].Tensor.__torch_dispatch__:
        return None
    obj = plain(obj)
    if obj.requires_grad or obj.device.type != "cpu":
        return None
    conj, neg = obj.is_conj(), obj.is_neg()
    if not conj and not neg:
        return None
    try:
        obj.data_ptr()
    except RuntimeError:
        return None  # a tensor inside vmap or grad has no memory of its own: `view` says so
    word, verb = ("conj", "conjugated") if conj else ("neg", "negated")
    if conj and neg:
        word, verb = "conj and neg", "conjugated and negated"
    return Unresolved(obj, word, f"the tensor is lazily {verb}: its memory does not hold its value")


@guarded
def locate(tensor: "Any") -> "tuple[int, int] | None":
    """Where a tensor's memory lies now, and how many bytes its storage has from there on."""
    if not _is_tensor(tensor):
        return None
    tensor = plain(tensor)
    storage = tensor.untyped_storage()
    here = tensor.data_ptr()
    return here, storage.data_ptr() + storage.nbytes() - here


@guarded
def extent(tensor: "Any") -> "tuple[int, int] | None":
    """Where the storage of a tensor lies now, and its bytes."""
    if not _is_tensor(tensor):
        return None
    storage = plain(tensor).untyped_storage()
    return storage.data_ptr(), storage.nbytes()


@guarded
def moves(obj: "Any") -> "str | None":
    """How memory of an object may be moved under a loan, or None if it cannot be."""
    if _is_tensor(obj) and plain(obj).untyped_storage().resizable():
        return "Tensor.resize_ moves a tensor under a loan"
    return None


# -- give ----------------------------------------------------------------------------------------------------------

_DTYPES = frozenset({
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "bfloat16", "complex32", "complex64", "complex128", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
    "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2",
})  # fmt: skip
# what is given: the names are ours, and those above torch's
_GIVEN = _DTYPES | {"float4_e2m1fn_packedx2"}

_VERSION = (1, 0)


def giver(facts: "Any") -> "Give":
    """The function that makes a tensor of a View; the capsule that the tensor keeps holds the lease."""
    import torch

    # of torch's two names for it, the one without a Python function in between
    from_capsule = getattr(torch._C, "_from_dlpack", torch.utils.dlpack.from_dlpack)
    version = _VERSION
    if not facts.device.is_host:
        return partial(_on_device, from_capsule)

    def give(view: "View") -> "Any":
        return from_capsule(view.__dlpack__(max_version=version))

    return give


def _on_device(from_capsule: "Callable[[Any], Any]", view: "View") -> "Any":
    """A tensor on a device: what is pending on the memory comes before torch's current stream."""
    torch = sys.modules["torch"]
    stream = torch.cuda.current_stream(view.__dlpack_device__()[1]).cuda_stream
    if not stream and view.device.name == "cuda":
        stream = 1  # of the protocol's two names for the default stream the one that is not forbidden
    return from_capsule(view.__dlpack__(max_version=_VERSION, stream=stream))


def address(tensor: "Any") -> int:
    """Address of element 0."""
    return int(tensor.data_ptr())


TENSOR = Rules(
    "torch", "torch.Tensor", "DLPack", giver,
    refuse=only(_GIVEN), readonly=UNMARKED, layout=FORWARD, alignment=1, devices=CPU, address=address,
)  # fmt: skip


def choose(facts: "Any", form: "str | None", whole: bool) -> Rules:
    """One kind of tensor for all; those on devices only torch has that was built for them."""
    built = getattr(sys.modules.get("torch"), "version", None)
    kinds = {2 if getattr(built, "cuda", None) else 1, 10 if getattr(built, "hip", None) else 1}
    if kinds == {1}:
        return TENSOR
    return Rules(
        "torch", "torch.Tensor", "DLPack", giver,
        refuse=only(_GIVEN), readonly=UNMARKED, layout=FORWARD, alignment=1, devices=CPU | kinds, address=address,
    )  # fmt: skip


# torch 2.13: asarray reads any buffer as float32, from_dlpack calls the deleter of a tensor that it refuses twice
LIBRARY = Library(
    "torch", "torch", choose,
    classes={"torch.Tensor": "Tensor"}, options=("stack", "storage"), misreading=("torch.asarray", "torch.from_dlpack"),
)  # fmt: skip
