"""Dtypes of other libraries: read by what they tell of themselves, and NumPy's made when it is asked for.

Loaded when the first such dtype is met, never by `import lend`; it imports NumPy only to make one of its dtypes.
"""

__all__ = ["numpy_dtype", "spell"]

from lend.dtypes.refusals import cannot_say, unsupported
from lend.errors import UnsupportedType

TYPE_CHECKING = False  # type checkers read it as True; `typing` is not imported at run time
if TYPE_CHECKING:
    from typing import Any

    from lend.dtypes.dtype import DType

# NumPy names its C integer types by their size, but for the second one of a size
_C_INTEGERS = {"longlong": "int64", "ulonglong": "uint64", "intc": "int32", "uintc": "uint32"}


def spell(dtype: object) -> "str | None":
    """Find the text that a foreign dtype or scalar type goes by, for DType to read; None if it is no dtype at all."""
    if isinstance(dtype, type):
        return _spell_type(dtype)
    typestr, name = getattr(dtype, "str", None), getattr(dtype, "name", None)
    if isinstance(typestr, str) and isinstance(name, str):
        if getattr(dtype, "names", None) is not None or getattr(dtype, "subdtype", None) is not None:
            raise unsupported(dtype)  # records and subarrays, which call themselves V as well
        if typestr.lstrip("<>|=").startswith("V") and not name.startswith("void"):
            # a type that was added to NumPy (ml_dtypes) calls itself V and is told by its name
            return (typestr[0] if typestr[0] in "<>" else "") + name
        return typestr
    if type(dtype).__name__.lower() != "dtype":
        return None
    return name if isinstance(name, str) else str(dtype).rpartition(".")[2]  # torch.float32, mlx.core.float32


def _spell_type(cls: type) -> "str | None":
    """Find the text for a class that stands for a dtype: a scalar type of NumPy, ml_dtypes or jax."""
    spelled = getattr(cls, "dtype", None)  # jax.numpy.float32 has an instance here, numpy.float32 a descriptor
    if isinstance(getattr(spelled, "str", None), str):
        return spell(spelled)
    if not any(base.__name__ == "generic" and base.__module__ == "numpy" for base in cls.__mro__):
        return None
    name = cls.__name__.rstrip("_")  # bool_ before NumPy 2
    return _C_INTEGERS.get(name, name)


def numpy_dtype(dtype: "DType") -> "Any":
    """Make NumPy's dtype of the same meaning; bfloat16 is that of ml_dtypes."""
    import numpy as np

    if dtype.kind == "bfloat" and dtype.lanes == 1:
        try:
            import ml_dtypes
        except ImportError as exc:
            raise UnsupportedType.build(
                "NumPy has no bfloat16 of its own", remedy="install ml_dtypes, which adds it"
            ) from exc
        plain = np.dtype(ml_dtypes.bfloat16)
        return plain if dtype.is_native else plain.newbyteorder()
    try:
        typestr = dtype.typestr
    except UnsupportedType:
        raise cannot_say(dtype, "NumPy") from None
    if (dtype.kind in {"int", "uint"} and dtype.bits > 64) or dtype.itemsize > 0x7FFFFFFF:
        raise cannot_say(dtype, "NumPy")
    return np.dtype(typestr)
