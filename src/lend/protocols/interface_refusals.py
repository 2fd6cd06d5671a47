"""The wording of what the array interfaces, pointers and `__array__` refuse; loaded when they do, never before."""

from lend.errors import LendError, MalformedDescriptor, NotLendable, UnsupportedType
from lend.protocols.classes import bases_of, full_name, shows
from lend.protocols.masks import HAS_MASK, of_numpy
from lend.protocols.refusals import (
    DESCRIBE,
    _the,
    bad_answer,
    name,
    no_door,
    overlapping,
    producer_failed,
    read_only,
    shown,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend._core.owners import Protocol

# what the protocols of this page share with all others, for those who look the words up here
__all__ = ["bad_answer", "no_door", "overlapping", "producer_failed", "read_only"]


def bad_interface(obj: "Any", protocol: "Protocol", field: str, got: "Any", wanted: str) -> LendError:
    return MalformedDescriptor.build(
        f"{_the(protocol)} of {name(obj)} cannot be true: {field} is {shown(got)}, not {wanted}",
        came=name(obj),
        tried=f"{protocol.dunder} -> {field}",
        remedy=DESCRIBE,
    )


def missing_key(obj: "Any", protocol: "Protocol", field: str) -> LendError:
    return MalformedDescriptor.build(
        f"{_the(protocol)} of {name(obj)} has no {field!r}",
        came=name(obj),
        tried=f"{protocol.dunder} -> {field}",
        remedy=DESCRIBE,
    )


def out_of_buffer(obj: "Any", protocol: "Protocol", offset: int, low: int, high: int, room: int) -> LendError:
    return MalformedDescriptor.build(
        f"{_the(protocol)} of {name(obj)} leaves its own buffer (bounds): bytes {offset + low} to {offset + high} "
        f"are needed, and there are {room}",
        came=f"{name(obj)}: offset {offset}, a span of {high - low} bytes, a buffer of {room} bytes",
        tried=f"{protocol.dunder} -> data",
        remedy=DESCRIBE,
    )


def masked(obj: "Any", protocol: "Protocol") -> LendError:
    return UnsupportedType.build(
        f"{_the(protocol)} of {name(obj)} {HAS_MASK}, which a View cannot carry and will not ignore",
        came=name(obj),
        tried=f"{protocol.dunder} -> mask",
        remedy=_APART.get(protocol.dunder),
    )


_APART = {
    "__array_interface__": "lend.column(x), which keeps the nulls, where x has one dimension; or data and mask "
    'apart: lend.view(numpy.asarray(x)) and lend.view(x.__array_interface__["mask"])',
    "__cuda_array_interface__": 'data and mask apart: lend.view(x.__cuda_array_interface__["mask"]), and '
    'lend.View.from_pointer(ptr, shape, dtype, owner=x, device="cuda:0") or wherever it is',
}


def hidden_mask(obj: "Any") -> LendError:
    """Of a mask beside the memory that the protocols show."""
    cls = type(obj)
    has = {part for part in ("unmasked", "fill_value", "data") if shows(cls, part)}
    data = "x.data"
    if "unmasked" in has:
        data = "x.unmasked"
    elif not of_numpy(cls) and any(full_name(base) == "numpy.ndarray" for base in bases_of(cls)):
        data = "x.view(numpy.ndarray)"
    elif "data" not in has:
        data = "the array"
    column = [_COLUMN] if "data" in has and "fill_value" in has else []
    filled = "x.filled(value), or " if shows(cls, "filled") else ""
    return UnsupportedType.build(
        f"{name(obj)} {HAS_MASK}, which a View cannot carry and will not ignore",
        came=name(obj),
        remedy=[f"{filled}data and mask apart: lend.view({data}) and lend.view(x.mask)", *column],
    )


_COLUMN = "lend.column(x), where it has one dimension: the mask becomes its nulls"


def unread_typestr(obj: "Any", protocol: "Protocol", typestr: str, kind: str) -> LendError:
    if kind not in "OSUtV" and any(full_name(base) == "numpy.ndarray" for base in bases_of(type(obj))):
        # a dtype that another library adds to NumPy, and spells as one of NumPy's kinds: <f1
        return unread_name(obj, protocol, obj.dtype.name, typestr)
    what, remedy = {
        "O": (
            ": Python objects, whose pointers are nobody's to lend",
            'its values as numbers first, such as x.astype("float64")',
        ),
        "t": (": bits, of which a View has none", "its bits as bytes, by the library that made it"),
        "V": (": bytes, and none of them", "an array whose items have a size"),
    }.get(kind, (", for which lend has no dtype", DESCRIBE))
    return UnsupportedType.build(
        f"{_the(protocol)} of {name(obj)} has the typestr {shown(typestr)}{what}",
        came=name(obj),
        tried=f"{protocol.dunder} -> typestr",
        remedy=remedy,
    )


def unread_name(obj: "Any", protocol: "Protocol", dtype: str, typestr: str) -> LendError:
    size = typestr.lstrip("<>|=")[1:]
    bits = f"uint{8 * int(size)}" if size in ("1", "2", "4", "8") else "uint8"
    wide = "complex64" if "complex" in dtype else "float32"
    called = dtype if dtype.isidentifier() and len(dtype) <= 60 else shown(dtype)
    return UnsupportedType.build(
        f"lend has no dtype for {called}, which {_the(protocol)} of {name(obj)} calls {shown(typestr)}",
        came=name(obj),
        tried=f"{protocol.dunder} -> typestr",
        remedy=f'x.view("{bits}"), the bits, shared; or x.astype("{wide}"), a copy by its library',
    )


def record_type(obj: "Any", protocol: "Protocol", objects: bool) -> LendError:
    return UnsupportedType.build(
        f"{_the(protocol)} of {name(obj)} has records"
        + (
            " with Python objects in them, whose pointers are nobody's to lend" if objects else " that lend cannot read"
        ),
        came=name(obj),
        tried=f"{protocol.dunder} -> descr",
        remedy="one field that is of numbers: lend.view(x['name'])"
        if objects
        else "lend.buffer(x) for the bytes, or one field: lend.view(x['name'])",
    )


def struct_type(obj: "Any", protocol: "Protocol", kind: int, itemsize: int) -> LendError:
    return UnsupportedType.build(
        f"{_the(protocol)} of {name(obj)} has kind {chr(kind)!r} of {itemsize} bytes: only b, i, u, f and c of "
        "their sizes can be read from it, the others lose their meaning in it",
        came=name(obj),
        tried=f"{protocol.dunder} -> typekind, itemsize",
        remedy="__array_interface__, which carries units and fields" if chr(kind) in "MmV" else None,
    )


def hidden(shown: "Any", protocol: "Protocol", host: bool) -> AttributeError:
    kind = type(shown).__name__
    if not host:
        why = f"it is on {shown.device}, and this is for host memory; DLPack carries devices"
    else:
        others = "DLPack" if protocol.dunder == "__array_interface__" else "DLPack or the array interface"
        why = f"it has no word for {shown.dtype}; {others} may, or v.reinterpret(...)"
    return AttributeError(f"this {kind} has no {protocol.dunder}: {why}")


def no_such_device(obj: "Any", protocol: "Protocol | None", number: int) -> LendError:
    from lend.device import Device

    return UnsupportedType.build(
        f"{name(obj)} has a pointer on {Device(number, 0)}, where memory has no addresses",
        came=name(obj),
        tried="from_pointer" if protocol is None else "__dlpack_device__",
        remedy="DLPack, which carries handles",
    )


def not_by_array(obj: "Any", protocol: "Protocol", why: str) -> LendError:
    return NotLendable.build(
        f"{protocol.dunder} of {name(obj)} is not used: {why}",
        came=name(obj),
        tried=protocol.dunder,
        remedy=next((remedy for word, remedy in _INSTEAD.items() if word in why), None),
    )


# a word of why -> what to do
_INSTEAD = {
    "new array": "lend.view(x, copy=True)",
    "masked": "lend.column(x.__array__()), which keeps the nulls, where it has one dimension; or "
    "x.__array__().filled(value); or data and mask apart: lend.view(x.__array__().data), lend.view(x.__array__().mask)",
    "device": "what its library copies to the host: x.cpu(), x.get() or x.copy_to_host()",
}


def no_copy_word(obj: "Any", protocol: "Protocol", error: TypeError) -> LendError:
    return NotLendable.from_producer(
        error,
        f"{protocol.dunder} of {name(obj)} is not used: asked for copy=False it raised, so it may only copy",
        door=f"{protocol.dunder}(copy=False)",
        came=name(obj),
        remedy="call it yourself, and lend the array that it gives: lend.view(x.__array__())",
    )


def device_untold(obj: "Any", protocol: "Protocol", attribute: str) -> LendError:
    return NotLendable.build(
        f"{name(obj)} has ptr and a size, and {attribute} says that it may not be host memory; where it is only "
        "__dlpack_device__ would tell",
        came=name(obj),
        tried=f"{protocol.name} -> {attribute}",
        remedy='lend.Buffer.from_pointer(x.ptr, nbytes, owner=x, device="cuda:0") or wherever it is',
    )
