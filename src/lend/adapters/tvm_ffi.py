"""TVM FFI: tensors out. It asks the C exchange table of View; like torch it has no mark for read-only memory."""

from lend.adapters.rules import CPU, FORWARD, UNMARKED, Library, Rules, only

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.adapters.rules import Give

_DTYPES = frozenset({
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "bfloat16",
})  # fmt: skip


def giver(facts: "Any") -> "Give":
    """The function that makes a tensor of a View."""
    from tvm_ffi import from_dlpack

    give: Give = from_dlpack
    return give


def address(tensor: "Any") -> int:
    """Address of element 0."""
    return int(tensor.data_ptr())


TENSOR = Rules(
    "tvm_ffi", "tvm_ffi.Tensor", "DLPack C exchange API", giver,
    refuse=only(_DTYPES), readonly=UNMARKED, layout=FORWARD, alignment=1, devices=CPU, address=address,
)  # fmt: skip


def choose(facts: "Any", form: "str | None", whole: bool) -> Rules:
    """One kind of tensor for all."""
    return TENSOR


LIBRARY = Library(
    "tvm_ffi", "apache-tvm-ffi", choose, classes={"tvm_ffi.core.Tensor": "Tensor"}, options=("stack", "storage")
)
