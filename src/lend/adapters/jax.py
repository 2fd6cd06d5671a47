"""JAX: arrays in and out.

Taken: by the buffer slot, which refuses device memory by itself, then by DLPack. Given: by a DLPack capsule, on the
CPU, where jax shares memory that is compact and 64-byte aligned, and copies what is not in silence, so that lend copies
it first. jax takes all memory for immutable. With 64-bit types switched off it would narrow values: that is refused.
"""

import sys

from lend.adapters.rules import COMPACT, CPU, IMMUTABLE, Library, Rules, native_name, only
from lend.errors import LeaseLost, NotLendable, UnsupportedLayout, UnsupportedType
from lend.protocols.classes import full_name, shows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.adapters.rules import Give
    from lend.doors import Door
    from lend.views.view import View

# no memory of its arrays is written to, whatever an unversioned capsule leaves open
IMMUTABLE_SOURCE = True

# -- take ----------------------------------------------------------------------------------------------------------


def doors(obj: "Any") -> "list[Door] | None":
    """The slot first; it says what it cannot say (bfloat16), and DLPack follows. None for what is no array."""
    if _is_of(obj, "Tracer"):
        raise NotLendable.build(
            "this is no array yet: jax is tracing a function (jit, grad, vmap), whose values come later",
            came=f"{full_name(type(obj))}, {_said(obj)}",
            remedy="lend.view of what the traced function was given, or of what it returned; or jax.pure_callback",
        )
    if _is_key(obj):
        raise UnsupportedType.build(
            "keys of jax.random have no dtype but jax's own",
            came=f"jax.Array, {_said(obj)}",
            remedy="jax.random.key_data(x), whole numbers",
        )
    if not shows(type(obj), "__dlpack__"):
        return None
    if _is_of(obj, "Array"):
        check_readable(obj)
    from lend.doors import Door
    from lend.protocols.buffer import BUFFER
    from lend.protocols.dlpack import DLPACK

    return [Door(BUFFER), Door(DLPACK)]


def _is_of(obj: "Any", name: str) -> bool:
    """Whether obj is an Array or a Tracer of jax's; jax.Array itself counts tracers as arrays."""
    jax = sys.modules.get("jax")
    if jax is None:
        return False
    tracer: bool = issubclass(type(obj), jax.core.Tracer)
    return tracer if name == "Tracer" else not tracer and issubclass(type(obj), jax.Array)


def _is_key(obj: "Any") -> bool:
    return str(getattr(obj, "dtype", "")).startswith("key<")


def _said(array: "Any") -> str:
    return f"{array.dtype}{list(array.shape)}"


def check_readable(array: "Any") -> None:
    """Refuse an array that is gone, lies in several places or has a dtype that jax cannot say."""
    if array.is_deleted():
        raise LeaseLost.build(
            "this jax.Array was deleted: its memory is given back, or was donated to a jitted function",
            came=f"jax.Array, {_said(array)}",
            remedy="the array that the function returned, if this one was donated to it; else make it anew",
        )
    places = len(array.sharding.device_set)
    if places > 1:
        raise UnsupportedLayout.build(
            f"this jax.Array lies on {places} devices: a View is of one block of memory",
            came=f"jax.Array, {_said(array)}, {array.sharding}",
            remedy="one shard at a time: [lend.view(shard.data) for shard in x.addressable_shards], or "
            "jax.device_put(x, jax.local_devices()[0])",
        )
    dtype = str(array.dtype)
    if dtype in _DTYPES:
        return
    wider = 'x.astype("float32")'
    if dtype.startswith(("int", "uint")):
        wider = 'x.astype("uint8")' if dtype[0] == "u" else 'x.astype("int8")'
    remedy = f"{wider}, a copy by jax"
    fact = f"jax lends no memory of {dtype} arrays: neither its buffers nor its DLPack have a word for it"
    raise UnsupportedType.build(fact, came=f"jax.Array, {_said(array)}", remedy=remedy)


# -- give ----------------------------------------------------------------------------------------------------------

_DTYPES = frozenset({
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "bfloat16", "complex64", "complex128", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
})  # fmt: skip
_NOT_BY_DLPACK = frozenset({"int4", "uint4", "int2", "uint2", "float4_e2m1fn"})
_WIDE = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}
_has_dtype = only(_DTYPES)
WIDE_ON = 'jax.config.update("jax_enable_x64", True)'


def refuse(facts: "Any", rules: Rules) -> "UnsupportedType | None":
    """The refusal of a dtype that jax lacks, or would narrow while its 64-bit types are off."""
    if native_name(facts.dtype) in _NOT_BY_DLPACK:
        return UnsupportedType.build(
            f"jax takes no {facts.dtype} by DLPack",
            came=facts.came,
            remedy='jax.numpy.asarray(lend.to(x, "numpy")), which copies',
        )
    missing = _has_dtype(facts, rules)
    if missing is not None:
        return missing
    narrow = _WIDE.get(native_name(facts.dtype))
    if narrow is None or not _narrows(native_name(facts.dtype)):
        return None
    return UnsupportedType.build(
        f"jax would narrow {native_name(facts.dtype)} to {narrow} (lossy): its 64-bit types are switched off",
        came=facts.came,
        remedy=f'{WIDE_ON}, or convert first: .astype("{narrow}") of what lend.to(x, "numpy", ...) gives',
    )


def _narrows(name: str) -> bool:
    """Whether jax would narrow a 64-bit type now; asked of the environment as long as jax is not loaded."""
    jax = sys.modules.get("jax")
    if jax is not None:
        return bool(jax.dtypes.canonicalize_dtype(name).name != name)
    from os import environ

    return environ.get("JAX_ENABLE_X64", "").lower() not in ("1", "true", "t", "yes", "y", "on")


class _Producer:
    """What jax's from_dlpack asks for its capsule; jax up to 0.10 knows the unversioned kind only."""

    __slots__ = ("view",)

    def __init__(self, view: "View") -> None:
        self.view = view

    def __dlpack_device__(self) -> "tuple[int, int]":
        kind, number = self.view.__dlpack_device__()
        return kind, number

    def __dlpack__(self, *, stream: "Any" = None, max_version: "Any" = None, **asked: "Any") -> "Any":
        if max_version is not None:
            return self.view.__dlpack__(max_version=max_version)
        if self.view.readonly:
            # that capsule cannot say read-only, and jax never writes
            from lend.plan.work import unmarked

            return unmarked(self.view).__dlpack__()
        return self.view.__dlpack__()


def giver(facts: "Any") -> "Give":
    """The function that makes a jax.Array of a View."""
    return give


def give(view: "View") -> "Any":
    """A jax.Array on the CPU over the memory of a View; the capsule that it keeps holds the lease."""
    from jax.dlpack import from_dlpack

    return from_dlpack(_Producer(view))


def address(array: "Any") -> "int | None":
    """Address of element 0; None while jax traces a function."""
    ask = getattr(array, "unsafe_buffer_pointer", None)
    return None if ask is None else int(ask())


ARRAY = Rules(
    "jax", "jax.Array", "DLPack", giver,
    refuse=refuse, readonly=IMMUTABLE, layout=COMPACT, alignment=64, devices=CPU, address=address, steady=False,
)  # fmt: skip


def choose(facts: "Any", form: "str | None", whole: bool) -> Rules:
    """One kind of array for all."""
    return ARRAY


LIBRARY = Library(
    "jax", "jax", choose, classes={"jax.Array": "Array", "jaxlib._jax.ArrayImpl": "Array"}, modules=("jax.numpy",),
    options=("stack", "storage"),
)  # fmt: skip
