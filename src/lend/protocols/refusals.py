"""The wording of what the protocols refuse; loaded when something is refused, never before.

Each function returns the exception for its caller to raise, so that the traceback ends where the refusal was decided.
"""

from lend.errors import (
    LeaseLost,
    LendError,
    MalformedDescriptor,
    NotHostAccessible,
    NotLendable,
    ReadOnlyMemory,
    StreamError,
    UnsupportedLayout,
    UnsupportedType,
)
from lend.protocols.classes import full_name, module_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend._core.owners import Protocol


# what to do when a producer describes its memory wrongly
DESCRIBE = (
    "another array of its library that says the same; or, if you know what the memory is, "
    "lend.View.from_pointer(ptr, shape, dtype, owner=x)"
)


def name(obj: "Any") -> str:
    """The producer's type as a message names it; the protocols pass None for the unknown producer of a capsule."""
    return "DLPack capsule" if obj is None else full_name(type(obj))


def _the(protocol: "Protocol") -> str:
    return f"the {protocol.name}" if " " in protocol.name else protocol.name


def facts(obj: "Any") -> str:
    """What came: our own objects tell everything but their values, foreign ones their type."""
    if not module_of(type(obj)).startswith("lend."):
        return name(obj)
    describe = getattr(type(obj), "_describe", None)
    return name(obj) if describe is None else str(describe(obj))


def shown(value: "Any") -> str:
    """A field of a producer, shortly; what is not a plain builtin by its type only, for a repr may do anything."""
    kind = type(value)
    if value is None or kind is bool or kind is float:
        return repr(value)
    if kind is int:
        return repr(value) if value.bit_length() <= 256 else f"an int of {value.bit_length()} bits"
    if kind is str or kind is bytes:
        return repr(value) if len(value) <= 60 else f"{value[:60]!r} and so on"
    if kind is tuple or kind is list:
        inside = ", ".join("..." if type(item) in (tuple, list) else shown(item) for item in value[:8])
        tail = f", ... ({len(value)} in all)" if len(value) > 8 else "," * (kind is tuple and len(value) == 1)
        return f"({inside}{tail})" if kind is tuple else f"[{inside}{tail}]"
    return f"a {name(value)}"


# -- taking --------------------------------------------------------------------------------------------------------


def no_door(obj: "Any", protocol: "Protocol") -> LendError:
    return _of_type(NotLendable.build(f"{name(obj)} has no {protocol.name}", came=name(obj)))


def _of_type(refusal: LendError) -> LendError:
    """Marked as one that says nothing about this object: another door may then be remembered for its type."""
    refusal.of_type = True
    return refusal


def producer_failed(obj: "Any", protocol: "Protocol", error: BaseException) -> LendError:
    if isinstance(error, LendError):
        # a lend object further down the chain has said it well already
        return type(error)(str(error))
    return NotLendable.from_producer(
        error, f"{name(obj)} refused {_the(protocol)}", door=protocol.dunder, came=name(obj)
    )


def misbehaved(obj: "Any", error: BaseException) -> LendError:
    """Of an object that raised before any of its protocols was tried."""
    return NotLendable.from_producer(
        error,
        f"{name(obj)} raised when lend looked at it, before any protocol was tried",
        door=name(obj),
        came=name(obj),
        remedy="a plain array of its library that holds the same values",
    )


def read_only(obj: "Any", protocol: "Protocol") -> LendError:
    return ReadOnlyMemory.build(
        f"this {name(obj)} object is read-only; a writable view was asked for",
        came=f"{facts(obj)}, by {_the(protocol)}",
        remedy="lend.view(x) for a read-only view, or lend.view(x, copy=True) for memory of your own",
    )


def no_view(obj: "Any", got: "Any") -> LendError:
    return MalformedDescriptor.build(
        f"lend() of {name(obj)} returned {full_name(type(got))}, not a lend.View",
        came=f"{name(obj)}, a lend.Producer",
        remedy="return lend.view(...) of what it returns now"
        if got is not None
        else "return lend.View.from_pointer(address, shape, dtype, owner=what_keeps_it_alive)",
    )


def overlapping(obj: "Any", protocol: "Protocol | None" = None) -> LendError:
    return ReadOnlyMemory.build(
        f"one element of this {name(obj)} stands at several places (a zero stride); it is lent read-only",
        came=facts(obj),
        remedy="lend.view(x, copy=True)",
    )


def bad_answer(obj: "Any", protocol: "Protocol", method: str, wanted: str, got: "Any") -> LendError:
    said = f"tuple {shown(got)}" if type(got) is tuple else full_name(type(got))
    return MalformedDescriptor.build(
        f"{method} of {name(obj)} answered {said}, not {wanted}",
        came=name(obj),
        tried=f"{protocol.name} -> {method}",
        remedy=DESCRIBE,
    )


def unversioned_dropped(obj: "Any", protocol: "Protocol") -> LendError:
    return _of_type(
        NotLendable.build(
            f"{name(obj)} gives an unversioned DLPack capsule, which cannot say read-only, and an array interface, "
            "which can",
            came=name(obj),
            tried=f"{protocol.name} -> unversioned capsule, left unconsumed",
        )
    )


def capsule_name(producer: "Any", protocol: "Protocol", got: "str | None") -> LendError:
    if got in ("used_dltensor", "used_dltensor_versioned"):
        return MalformedDescriptor.build(
            "this DLPack capsule was already consumed: its memory belongs to whoever took it first",
            came=f"a capsule named {got!r}" + ("" if producer is None else f" from {name(producer)}"),
            remedy="ask the producer for a new one, or take a view of the producer itself",
        )
    return MalformedDescriptor.build(
        f"not a DLPack capsule: its name is {got!r}",
        wanted="'dltensor_versioned' or 'dltensor'",
        came=f"a capsule named {got!r}" + ("" if producer is None else f" from {name(producer)}"),
        remedy="what x.__dlpack__() gives, or x itself",
    )


def version(producer: "Any", protocol: "Protocol", theirs: "tuple[int, int]", ours: "tuple[int, int]") -> LendError:
    return MalformedDescriptor.build(
        f"DLPack version {theirs[0]}.{theirs[1]} of {name(producer)} cannot be read: its major version is not "
        f"{ours[0]}",
        wanted=f"version {ours[0]}.x (lend reads up to {ours[0]}.{ours[1]})",
        came=f"version {theirs[0]}.{theirs[1]}",
        remedy="a newer lend, or the producer's older DLPack",
    )


def device_mismatch(producer: "Any", protocol: "Protocol", announced: int, got: int) -> LendError:
    from lend.device import Device

    return MalformedDescriptor.build(
        f"the device of {name(producer)} contradicts itself: __dlpack_device__() says {Device(announced, 0)}, "
        f"the capsule says {Device(got, 0)}",
        came=name(producer),
        tried=f"{protocol.name} -> device",
        remedy=DESCRIBE,
    )


def bad_tensor(
    producer: "Any",
    protocol: "Protocol",
    field: str,
    ndim: int,
    shape: "tuple[int, ...] | None",
    strides: "tuple[int, ...] | None",
    dtype: "tuple[int, int, int]",
    device: "tuple[int, int]",
    byte_offset: int,
) -> LendError:
    code, bits, lanes = dtype
    came = (
        f"{name(producer)}: ndim {ndim}, shape {shape}, strides {strides}, dtype (code {code}, bits {bits}, lanes "
        f"{lanes}), device {device}, byte_offset {byte_offset}"
    )
    tried = f"{protocol.name} -> {field}"
    if field == "dtype":
        known = _DLPACK_NAMES.get(code) or (f"{'u' * code}int{bits}" if code < 2 and bits in (2, 4) else None)
        if known is not None and lanes and bits < 8 and (code < 2 or known.startswith(f"float{bits}_")):
            return UnsupportedType.build(
                f"the DLPack tensor of {name(producer)} has a flag of a later version, which may say how its {known} "
                "lie in their bytes",
                came=came,
                tried=tried,
                remedy="a newer lend, or the producer's older DLPack",
            )
        fact = f"DLPack dtype of {name(producer)} not understood: code {code}, bits {bits}, lanes {lanes}"
        if known is not None:
            fact = (
                f"lend has no dtype for the {known} of {name(producer)} in this form (DLPack code {code}, {bits} bits, "
                f"{lanes} lanes)"
            )
        return UnsupportedType.build(
            fact, came=came, tried=tried, remedy="its bits as uint8, or its values as float32, by the library it is of"
        )
    if field == "gaps":
        return UnsupportedLayout.build(
            f"the DLPack tensor of {name(producer)} packs its values several to a byte, and strides {strides} of shape "
            f"{shape}: such values lie row-major, without gaps",
            came=came,
            tried=tried,
            remedy="a row-major copy, or one value to a byte with the flag that says so, by the library it is of",
        )
    if field == "device":
        return UnsupportedType.build(
            f"DLPack device (type {device[0]}, id {device[1]}) of {name(producer)} not understood: the type is a "
            "number from 1 to 255, the id 0 or more",
            came=came,
            tried=tried,
            remedy=DESCRIBE,
        )
    says = {
        "ndim": f"ndim is {ndim}: lend takes 0 to 64 dimensions",
        "shape": f"ndim is {ndim} and shape is NULL",
        "extent": f"shape {shape} has a negative extent",
        "size": f"the size of shape {shape} does not fit the address space",
        "data": f"data is NULL and the shape {shape} is not empty",
        "strides": f"strides {strides} reach further than an address can (bounds)",
        "byte_offset": f"byte_offset {byte_offset} with strides {strides} leaves the address space (bounds)",
    }[field]
    return MalformedDescriptor.build(
        f"the DLPack tensor of {name(producer)} contradicts itself: {says}", came=came, tried=tried, remedy=DESCRIBE
    )


_DLPACK_NAMES = {
    7: "float8_e3m4", 8: "float8_e4m3", 9: "float8_e4m3b11fnuz", 10: "float8_e4m3fn", 11: "float8_e4m3fnuz",
    12: "float8_e5m2", 13: "float8_e5m2fnuz", 14: "float8_e8m0fnu", 15: "float6_e2m3fn", 16: "float6_e3m2fn",
    17: "float4_e2m1fn",
}  # fmt: skip


# -- giving --------------------------------------------------------------------------------------------------------


def not_host(shown: "Any", protocol: "Protocol | None") -> LendError:
    asked = "reading values" if protocol is None else f"{_the(protocol)}"
    return NotHostAccessible.build(
        f"{asked} needs host memory; this {type(shown).__name__} is on {shown.device}",
        came=facts(shown),
        remedy='lend.to(x, target, device="cpu"): what the host may read is shared, all else copied by the driver; or '
        "hand it on as it is",
    )


def request_refused(shown: "Any", protocol: "Protocol", asked: str) -> LendError:
    if asked == "writable":
        return ReadOnlyMemory.build(
            f"this {type(shown).__name__} is read-only; a writable buffer was asked for",
            came=facts(shown),
            remedy="take a const view (const double[:] in Cython), or v.copy(), which is writable",
        )
    return UnsupportedLayout.build(
        f"this {type(shown).__name__} cannot be given as {asked}",
        came=facts(shown),
        remedy="ask for strides (PyBUF_FULL_RO), or take v.copy()",
    )


def no_choice(keyword: str, value: "Any") -> TypeError:
    return TypeError(f"{keyword} is None, True or False, not {value!r:.60}")


def no_character(error: UnicodeError) -> LendError:
    return MalformedDescriptor.build(
        f"this memory holds no text: {error}",
        remedy='v[..., None].reinterpret("uint32"): the numbers that stand for characters',
    )


def holds_objects(shown: "Any", verb: str) -> LendError:
    return UnsupportedType.build(
        f"memory of pointers to Python objects is not {verb} by lend, which does not count the references in it",
        came=facts(shown),
        remedy='lend.to(x, "numpy"), and what you want by NumPy; or v.tolist(), the objects',
    )


def no_field(shown: "Any", name: "Any") -> Exception:
    names = shown.dtype.names
    if names is None:
        return TypeError(f"the dtype {shown.dtype} has no fields: an index is an integer, slice, Ellipsis or None")
    return KeyError(f"no field is called {name!r:.60}; there are {', '.join(map(repr, names))}")


def dtype_not_sayable(shown: "Any", protocol: "Protocol", why: "Any" = None) -> LendError:
    dtype = shown.dtype
    remedies = {
        "datetime": 'v.reinterpret("int64") (the unit is '
        f"{getattr(dtype, 'unit', None)}), or the array interface, which carries the unit",
        "timedelta": 'v.reinterpret("int64") (the unit is '
        f"{getattr(dtype, 'unit', None)}), or the array interface, which carries the unit",
        "bfloat": 'v.reinterpret("uint16"), or DLPack, which has bfloat16',
    }
    remedy = remedies.get(dtype.kind, "its bytes: v.buffer, or lend.buffer(x)")
    if dtype.kind == "record":
        reason = "" if why is None else f": {why}".partition("\n")[0]
        name = next(iter(dtype.names), "name")
        return UnsupportedType.build(
            f"{_the(protocol)} has no word for this {dtype}{reason}",
            came=facts(shown),
            remedy=f"one field at a time: v[{name!r}]",
        )
    if dtype.kind in ("float8", "float6", "float4", "int4", "uint4", "int2", "uint2"):
        remedy = 'v.reinterpret("uint8"), the same bits; or DLPack, which has such types'
    if dtype.shares_bytes:
        remedy = "the bytes, several values in each: v.buffer; or DLPack, which has packed types"
    if dtype.kind == "bytes":
        remedy = 'v[..., None].reinterpret("uint8"), or the buffer protocol, which has fixed bytes'
    if dtype.kind == "text":
        remedy = 'v[..., None].reinterpret("uint32"), or the buffer protocol, which has fixed text'
    if dtype.kind == "object":
        remedy = "v.tolist(), the objects; or the buffer protocol, which has pointers to them"
    if dtype.byteorder is not None and not dtype.is_native:
        remedy = (
            'lend.to(v, target), such as lend.to(v, "torch"), which swaps the bytes into a copy; or '
            'lend.view(v, dtype=v.dtype.newbyteorder("native"), copy=True)'
        )
        fact = f"{_the(protocol)} has no word for the byte order of the dtype {dtype}"
    else:
        fact = f"{_the(protocol)} has no word for the dtype {dtype}"
    return UnsupportedType.build(fact, came=facts(shown), remedy=remedy)


def strides_not_sayable(shown: "Any", protocol: "Protocol", stride: int) -> LendError:
    why = (
        "a negative stride, on which torch <= 2.13 ends the process"
        if stride < 0
        else f"a stride of {stride} bytes, which is no multiple of the {shown.itemsize}-byte item"
    )
    return UnsupportedLayout.build(
        f"{_the(protocol)} is not given {why}",
        came=facts(shown),
        remedy="v.copy(), which has no gaps, or the buffer protocol, which carries any stride",
    )


def unversioned_read_only(shown: "Any", protocol: "Protocol") -> LendError:
    return ReadOnlyMemory.build(
        f"this {type(shown).__name__} is read-only, which an unversioned DLPack capsule cannot say",
        came=facts(shown),
        remedy="v.__dlpack__(max_version=(1, 0)) or higher, or v.copy(), which is writable",
    )


def padded_not_sayable(shown: "Any", protocol: "Protocol") -> LendError:
    return UnsupportedType.build(
        f"a DLPack capsule before version 1.1 cannot say that {shown.dtype} stands one to a byte",
        came=facts(shown),
        remedy='v.__dlpack__(max_version=(1, 1)) or higher, or v.reinterpret("uint8"), the same bits',
    )


def stream(shown: "Any", got: "Any", why: str) -> LendError:
    return StreamError.build(f"stream={got!r} means nothing on {shown.device}: {why}", came=facts(shown))


def other_device(shown: "Any", asked: "Any") -> LendError:
    from lend.device import Device

    return UnsupportedType.build(
        f"dl_device={tuple(asked)} is another device than that of this {type(shown).__name__}: "
        f"{Device(int(asked[0]), int(asked[1]))}, not {shown.device}",
        came=facts(shown),
        remedy="dl_device=None, and let the consumer move what it gets",
    )


# -- objects -------------------------------------------------------------------------------------------------------


def released(shown: "Any") -> LendError:
    return LeaseLost.build(
        f"this {type(shown).__name__} was released", remedy="take a new view of the producer, or release later"
    )


def still_exported(shown: "Any", exports: int) -> LendError:
    exported = "buffer-protocol export"
    open_ones = f"1 {exported} of it is open" if exports == 1 else f"{exports} {exported}s of it are open"
    return LendError.build(
        f"this {type(shown).__name__} cannot be released: {open_ones}",
        came=f"{facts(shown)}; {shown.owner!r}",
        remedy="drop the memoryview, ndarray or other consumer that was made from it first",
    )


def too_precise() -> LendError:
    return UnsupportedType.build(
        "a long double value does not fit a Python float without loss",
        remedy='lend.to(v, "numpy"), which keeps long double',
    )


def too_large(obj: "Any", shape: "tuple[int, ...]", itemsize: int) -> LendError:
    return UnsupportedLayout.build(
        f"the size of shape {shown(shape)} in items of {itemsize} bytes does not fit the address space, even without "
        "its extents of 0",
        came=facts(obj),
        remedy="extents whose product, without those of 0, fits 63 bits",
    )


def too_many_dimensions(shown: "Any", got: int, most: int) -> LendError:
    return UnsupportedLayout.build(
        f"{got} dimensions were asked for; lend has {most} at most",
        came=facts(shown),
        remedy="fewer dimensions: v.reshape(...)",
    )


def bad_pointer(owner: "Any", field: str, got: "Any", wanted: str) -> LendError:
    return MalformedDescriptor.build(
        f"{field} is {shown(got)}, not {wanted}", came=f"from_pointer, owner: {name(owner)}", remedy=_POINTED[field]
    )


def no_address(ptr: "Any") -> TypeError:
    return TypeError(
        f"ptr is an address (int), such as x.ctypes.data, x.data_ptr(), ctypes.addressof(x), "
        f'int(ffi.cast("uintptr_t", x)); not {full_name(type(ptr))}'
    )


# what from_pointer is told -> what it should be
_POINTED = {
    "dtype": 'numbers, bytes or text; a "uint64" has the bits of a pointer',
    "ptr": "where element 0 lies, such as x.ctypes.data, x.data_ptr() or ctypes.addressof(x)",
    "nbytes": "how many bytes the owner keeps alive from ptr on",
    "device": 'device="cpu", or as __dlpack_device__ has it, such as device=(2, 0) for cuda:0',
    "shape": "shape=(rows, columns), an extent for each dimension, and strides in bytes",
    "strides": "one stride in bytes for each dimension of shape, or strides=None for row-major memory",
}


def out_of_bounds(shown: "Any", low: int, high: int, room: int) -> LendError:
    return MalformedDescriptor.build(
        f"bytes {low} to {high} were asked for, and there are {room} (bounds)",
        came=facts(shown),
        remedy=f"an offset, a shape and strides that stay within {room} bytes",
    )


def not_divisible(shown: "Any", room: int, dtype: "Any") -> LendError:
    return UnsupportedLayout.build(
        f"{room} bytes are no whole number of {dtype} ({dtype.itemsize} bytes each)",
        came=facts(shown),
        remedy="give shape=, or an offset that leaves a whole number"
        if room >= dtype.itemsize
        else f"a dtype of at most {room} bytes",
    )
