"""What is said where a dtype is refused; loaded when the first one is."""

__all__ = [
    "cannot_say",
    "no_dtype",
    "no_element",
    "no_format",
    "no_typestr",
    "shortened",
    "unknown_text",
    "unsupported",
]

from lend.errors import UnsupportedType

TYPE_CHECKING = False  # type checkers read it as True; `typing` is not imported at run time
if TYPE_CHECKING:
    from collections.abc import Collection, Container

    from lend.dtypes.dtype import DType


# kind -> a type of the same bytes that every protocol can say
_STAND_INS = {
    "opaque": "uint8",
    "bool": "uint8",
    "bytes": "uint8",
    "text": "uint32",
    "bfloat": "uint16",
    "handle": "uint64",
    "datetime": "int64",
    "timedelta": "int64",
}


# what C, NumPy, torch and others call them: for the hint, not accepted, because many mean different things elsewhere
_ELSEWHERE = {
    "b": "int8", "h": "int16", "i": "int32", "l": "int64", "q": "int64", "p": "uint64", "B": "uint8", "H": "uint16",
    "I": "uint32", "L": "uint64", "Q": "uint64", "e": "float16", "f": "float32", "d": "float64", "g": "longdouble",
    "F": "complex64", "D": "complex128", "G": "clongdouble", "?": "bool", "O": "object",
    "byte": "int8 uint8", "char": "int8", "short": "int16", "int": "int64 int32", "intc": "int32", "long": "int64",
    "longlong": "int64", "intp": "int64", "ssize_t": "int64", "ubyte": "uint8", "uchar": "uint8", "ushort": "uint16",
    "uint": "uint64 uint32", "uintc": "uint32", "ulong": "uint64", "ulonglong": "uint64", "uintp": "uint64",
    "size_t": "uint64", "half": "float16", "single": "float32", "float": "float64 float32", "double": "float64",
    "long double": "longdouble", "complex": "complex128 complex64", "csingle": "complex64", "cfloat": "complex64",
    "cdouble": "complex128", "boolean": "bool", "bool_": "bool", "bool8": "bool", "bf16": "bfloat16",
    "integer": "int64", "str": "utf8 text[8]", "str_": "text[8]", "string": "utf8 text[8]", "unicode": "text[8]",
    "bytes": "bytes[8]", "bytes_": "bytes[8]", "void": "opaque[8]", "datetime": "datetime64[ns]",
    "large_string": "large_utf8", "string_view": "utf8_view", "halffloat": "float16", "duration": "timedelta64[ns]",
    "timestamp": "datetime64[ns]", "timedelta": "timedelta64[ns]",
}  # fmt: skip
_OF_COLUMNS = [
    *("null", "bool_packed", "utf8", "large_utf8", "utf8_view", "binary", "large_binary", "binary_view", "date32"),
    *("date64", "time32[ms]", "time64[us]", "interval[month]", "decimal128(38, 2)", "datetime64[us, UTC]"),
    *("list[int64]", "fixed_list[int64, 3]", "struct{a: int64}", "map[utf8, int64]", "dictionary[int32, utf8]"),
]
_LETTERS = {"i": "int", "u": "uint", "f": "float", "fp": "float", "s": "int"}
_WIDTHS = {"text[8]": " (of 8 characters)", "bytes[8]": " (of 8 bytes)"}


def _meant(text: str, names: "Container[str]") -> "list[str]":
    """The names that a spelling of another library may mean."""
    sign, rest = (text[0], text[1:]) if text[:1] in ("<", ">", "=", "|") else ("", text)
    sign = sign.strip("=|")
    if rest not in _ELSEWHERE:
        rest = rest.rpartition(".")[2].lower()  # torch.float32, Int64
    letters = rest.rstrip("0123456789")
    if letters in _LETTERS:  # f32, as Rust and jax say
        rest = _LETTERS[letters] + rest[len(letters) :]
    if text[:1] in ("<", ">", "=", "!") and rest in ("l", "L"):  # four bytes in a struct format, eight in NumPy
        rest = "int" if rest == "l" else "uint"
    found = _ELSEWHERE.get(rest, rest).split(" ")
    if rest not in _ELSEWHERE and (rest not in names or rest.endswith("_packed")):
        return []
    return [sign + name for name in found]


def _of_arrow(text: str) -> "list[str]":
    """The names of what pyarrow and polars write with a unit, a zone or a type within."""
    name, _, rest = text.partition("[")
    if not rest.endswith("]"):
        return []
    unit, _, zone = rest[:-1].replace('"', "").replace("'", "").partition(",")
    zone = zone.strip().removeprefix("tz=").removeprefix("time_unit=")
    kind = {"timestamp": "datetime64", "datetime": "datetime64", "duration": "timedelta64"}.get(name.lower())
    if kind is None or unit not in ("s", "ms", "us", "ns"):
        return {"date32": ["date32"], "date64": ["date64"], "string": ["utf8"]}.get(name, [])
    return [f"{kind}[{unit}, {zone}]" if zone and kind == "datetime64" and zone != "None" else f"{kind}[{unit}]"]


def no_dtype(dtype: object) -> TypeError:
    """Make the exception for what is no dtype at all."""
    came = repr(dtype) if isinstance(dtype, type) else type(dtype).__name__
    fact = f"DType() takes a dtype, its name or its typestr, not {shortened(came)}"
    meant = {str: "'text[8]' (of 8 characters)", bytes: "'bytes[8]' (of 8 bytes)", object: "'object'"}
    hint = meant.get(dtype) if isinstance(dtype, type) else None
    return TypeError(fact if hint is None else f"{fact}; did you mean {hint}?")


def shortened(text: str) -> str:
    """Cut a text of a producer to what fits a message."""
    return text if len(text) <= 80 else text[:77] + "..."


def unknown_text(text: str, names: "Collection[str]") -> Exception:
    """Make the exception for a text that names no dtype of ours: a type that lend lacks, or a slip of the pen."""
    rest = text[1:] if text.startswith(("<", ">", "|", "=")) else text
    if len(rest) > 1 and rest[0] in "tTO" and rest[1:].isdecimal():
        return UnsupportedType.build(
            f"lend has no dtype for the typestr {shortened(repr(text))} (bits, and Python objects that are no pointers)"
        )
    meant = _meant(text, names) or _of_arrow(text)
    if meant:
        hint = " or ".join(f"{name!r}{_WIDTHS.get(name, '')}" for name in meant)
        return ValueError(f"{shortened(repr(text))} names no dtype; did you mean {hint}?")
    from difflib import get_close_matches

    near = get_close_matches(text[:40], [*names, "datetime64[ns]", "timedelta64[ns]", "opaque[8]", *_OF_COLUMNS], 3)
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
    return UnsupportedType.build(f"{protocol} cannot say {shortened(str(dtype))}", remedy=_way_out(dtype))


def no_element(dtype: "DType") -> UnsupportedType:
    """Make the exception for a type of columns where elements of a View were asked for."""
    return UnsupportedType.build(
        f"{shortened(str(dtype))} is a type of columns, and no element of a View has it", remedy=_way_out(dtype)
    )


def no_format(format: object, itemsize: "int | None", why: str) -> UnsupportedType:
    """Make the exception for a struct format that was not understood."""
    fact = f"lend has no dtype for the struct format {shortened(repr(format))}"
    if itemsize is None or itemsize < 0:
        return UnsupportedType.build(fact + ("" if itemsize is None else f" with an itemsize of {itemsize}") + why)
    return UnsupportedType.build(
        f"{fact} with an itemsize of {itemsize}{why}", remedy=f"as bytes without a meaning: opaque[{itemsize}]"
    )


def no_typestr(typestr: str, itemsize: "int | None" = None) -> UnsupportedType:
    """Make the exception for a typestr that was not understood, or whose descr has another size."""
    told = shortened(repr(typestr))
    if itemsize is None:
        return UnsupportedType.build(f"lend has no dtype for the typestr {told}")
    return UnsupportedType.build(f"the typestr {told} and its descr of {itemsize} bytes contradict each other")


def _way_out(dtype: "DType") -> "str | None":
    """Find a type of the same bytes that every protocol can say, or the copy that would help."""
    if dtype.kind == "record":
        return f"one field at a time: {', '.join(map(repr, dtype.names or ()))}"[:100]
    if dtype.kind == "object":
        return None
    if dtype.storage is not dtype:
        return _without_meaning(dtype)
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
        other = f"float{dtype.bits // 2}"
    else:
        other = _STAND_INS.get(dtype.kind, "opaque[16]")
    return f'reinterpret("{other}"): the same bytes, and the meaning is yours to keep'


def _without_meaning(dtype: "DType") -> "str | None":
    """What to have instead of a type of columns."""
    kind, storage = dtype.kind, dtype.storage
    ticks = f"its storage, {storage}: the same bytes, and the meaning is yours to keep"
    if kind == "null":
        return "its length alone: it has no memory"
    if kind == "bool":
        return 'a copy as "bool", a byte for each'
    if kind == "date":
        other = '"datetime64[ms]", the same bytes' if storage == "int64" else 'a widening copy as "datetime64[D]"'
        return f"{other}; or {ticks}"
    if kind == "datetime":
        return f'"datetime64[{dtype.unit}]", the same ticks in UTC, if you keep the zone yourself'
    if kind == "decimal":
        return f"a cast to float64 or to integers by its library; or {ticks}"
    if kind == "dictionary":
        return f"its indices, {storage}, and its dictionary apart; or the values, decoded by its library"
    if kind == "extension":
        return f"the type that it stands on, {shortened(str(dtype.value_type))}"
    if storage is not None:
        return ticks
    if dtype.children:
        return "its children, one at a time, and its own buffers"
    return "its buffers, one at a time: offsets (or views) and bytes"
