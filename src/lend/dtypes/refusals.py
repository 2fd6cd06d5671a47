"""What is said where a dtype is refused; loaded when the first one is."""

__all__ = ["cannot_say", "shortened", "unknown_text", "unsupported"]

from lend.errors import UnsupportedType

TYPE_CHECKING = False  # type checkers read it as True; `typing` is not imported at run time
if TYPE_CHECKING:
    from collections.abc import Iterable

    from lend.dtypes.dtype import DType


# kind -> a type of the same bytes that every protocol can say
_STAND_INS = {
    "opaque": "uint8",
    "bytes": "uint8",
    "text": "uint32",
    "bfloat": "uint16",
    "handle": "uint64",
    "datetime": "int64",
    "timedelta": "int64",
}


def shortened(text: str) -> str:
    """Cut a text of a producer to what fits a message."""
    return text if len(text) <= 80 else text[:77] + "..."


def unknown_text(text: str, names: "Iterable[str]") -> Exception:
    """Make the exception for a text that names no dtype of ours: a type that lend lacks, or a slip of the pen."""
    rest = text[1:] if text.startswith(("<", ">", "|", "=")) else text
    if len(rest) > 1 and rest[0] in "tTO" and rest[1:].isdecimal():
        return UnsupportedType.build(
            f"lend has no dtype for the typestr {shortened(repr(text))} (bits, and Python objects that are no pointers)"
        )
    from difflib import get_close_matches

    near = get_close_matches(text[:40], [*names, "datetime64[ns]", "timedelta64[ns]", "opaque[8]"], 3)
    hint = f"near: {', '.join(near)}" if near else "examples: float32, >int32, datetime64[ns], opaque[7], <i4"
    return ValueError(f"{shortened(repr(text))} names no dtype; {hint}")


def unsupported(dtype: object) -> UnsupportedType:
    """Make the exception for a dtype of another library that lend has no word for."""
    cls = dtype if isinstance(dtype, type) else type(dtype)
    typestr = getattr(dtype, "str", None)
    told = f", typestr {shortened(repr(typestr))}" if isinstance(typestr, str) else ""
    return UnsupportedType.build(
        f"lend has no dtype for {shortened(str(dtype))}", came=f"{cls.__module__}.{cls.__qualname__}{told}"
    )


def cannot_say(dtype: "DType", protocol: str) -> UnsupportedType:
    """Make the exception for a dtype of ours that a protocol has no word for."""
    return UnsupportedType.build(f"{protocol} cannot say {dtype}", remedy=_way_out(dtype))


def _way_out(dtype: "DType") -> "str | None":
    """Find a type of the same bytes that every protocol can say, or the copy that would help."""
    if dtype.kind == "record":
        return f"one field at a time: {', '.join(map(repr, dtype.names or ()))}"[:100]
    if dtype.kind == "object":
        return None
    if dtype.shares_bytes:
        return "the bytes alone: v.buffer"
    if dtype.kind in ("float8", "float6", "float4", "int4", "uint4", "int2", "uint2"):
        return 'reinterpret("uint8"): the same bits'
    native = dtype.newbyteorder("native")
    if not dtype.is_native:
        return f"a copy in this machine's byte order, as {native}"
    if dtype.lanes > 1:
        other = str(native).rpartition("x")[0]
    elif dtype.kind == "float":
        return "a copy as float64"
    elif dtype.kind == "complex" and dtype.bits > 128:
        return "a copy as complex128"
    elif dtype.kind == "complex":
        other = "float16"
    else:
        other = _STAND_INS.get(dtype.kind, "opaque[16]")
    return f'reinterpret("{other}"): the same bytes, and the meaning is yours to keep'
