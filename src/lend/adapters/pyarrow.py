"""pyarrow: arrays, tensors and buffers out.

One dimension makes an Array over a Py_buffer, more (or none) a Tensor by DLPack, the bytes of a Buffer a
pyarrow.Buffer; each keeps the read-only flag. Arrow takes the memory of arrays for immutable. Its bools are bits, so
that it packs those of a View itself; its datetimes have nulls where a View has NaT, so that they are left to columns.
"""

from lend._core.letting_go import lets_go
from lend.adapters.rules import (
    COMPACT,
    CONTIGUOUS,
    CPU,
    FORWARD,
    IMMUTABLE,
    Library,
    Reason,
    Rules,
    native_name,
    no_bytes,
    only,
    way_out,
)
from lend.errors import LendError, UnsupportedLayout, UnsupportedType
from lend.views import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.adapters.rules import Give
    from lend.columns.column import Column
    from lend.views.view import View

_NUMBERS = frozenset({
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
})  # fmt: skip
_has_number = only(_NUMBERS)


def address_of_data(array: "Any") -> int:
    """Address of the first value of an Array without an offset."""
    return int(array.buffers()[1].address)


# -- Array ---------------------------------------------------------------------------------------------------------


def array_giver(facts: "Any") -> "Give":
    """The function that makes an Array of a View with this dtype."""
    import pyarrow as pa

    dtype = facts.dtype
    if dtype.kind == "bool":
        return packed
    arrow = pa.binary(dtype.itemsize) if dtype.kind in ("opaque", "bytes") else getattr(pa, native_name(dtype))()
    from_buffers, py_buffer = pa.Array.from_buffers, pa.py_buffer

    def give(view: "View") -> "Any":
        return from_buffers(arrow, view.size, [None, py_buffer(view)])

    return give


def packed(view: "View") -> "Any":
    """A BooleanArray: pyarrow packs the bytes into bits, and what is not 0 is true."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.uint8(), view.size, [None, pa.py_buffer(view)]).cast(pa.bool_())


def packs(facts: "Any") -> "tuple[Reason, int] | None":
    """Bools: one byte each in a View, one bit each in Arrow."""
    if facts.dtype.kind != "bool" or not facts.size:
        return None
    why = Reason("bit-packed", "pyarrow's bools are bit-packed, and these are one byte each")
    return why, (facts.size + 7) // 8


_UNITS = ("s", "ms", "us", "ns")


def refuse_for_array(facts: "Any", rules: Rules) -> "LendError | None":
    """What no Array can hold."""
    if len(facts.shape) != 1:
        return UnsupportedLayout.build(
            f"a pyarrow.Array has one dimension, and this has {len(facts.shape)}",
            came=facts.came,
            remedy='lend.to(x, "pyarrow"), which makes a pyarrow.Tensor, or lend.view(x).reshape(-1) in its place',
        )
    dtype = facts.dtype
    if dtype.kind in ("datetime", "timedelta"):
        return UnsupportedType.build(
            f"a {native_name(dtype)} View is not handed to pyarrow: NaT, which it may hold, is a null in Arrow, and a "
            "View has no nulls",
            came=facts.came,
            remedy=[
                'lend.to(lend.column(x), "pyarrow"), which makes a null of each NaT'
                if dtype.unit in (*_UNITS, "D") and dtype.multiplier in (None, 1)
                else f'lend.to(x, "numpy").astype("{dtype.kind}64[ns]"), or another of the units s, ms, us, ns',
                way_out(dtype, rules.form),
            ],
        )
    if dtype.kind == "bool" and dtype.lanes == 1:
        return None
    if dtype.kind in ("opaque", "bytes") and dtype.itemsize:
        return None  # as they lie: who pads them goes as a column, unless this class was asked for
    return _has_number(facts, rules)


ARRAY = Rules(
    "pyarrow", "pyarrow.Array", "buffer protocol", array_giver,
    refuse=refuse_for_array, readonly=IMMUTABLE, layout=CONTIGUOUS, alignment=1, devices=CPU,
    address=address_of_data, packs=packs,
)  # fmt: skip

# the class that pyarrow makes of one dtype -> that dtype
_NARROW = {
    "Int8Array": "int8", "Int16Array": "int16", "Int32Array": "int32", "Int64Array": "int64", "UInt8Array": "uint8",
    "UInt16Array": "uint16", "UInt32Array": "uint32", "UInt64Array": "uint64", "HalfFloatArray": "float16",
    "FloatArray": "float32", "DoubleArray": "float64", "BooleanArray": "bool", "FixedSizeBinaryArray": "opaque",
}  # fmt: skip


def narrow(name: str) -> Rules:
    """The rules of an Array that was named by its dtype: those of any Array, and no other dtype."""
    wanted = _NARROW[name]

    def refuse(facts: "Any", rules: Rules) -> "LendError | None":
        held = "opaque" if facts.dtype.kind in ("opaque", "bytes") else native_name(facts.dtype)
        if len(facts.shape) != 1 or held == wanted:
            return refuse_for_array(facts, rules)
        cast = "" if wanted == "opaque" else f'.cast("{wanted}"), which converts'
        return UnsupportedType.build(
            f"a pyarrow.{name} holds {wanted}, and this is {facts.dtype}: lend does not convert values",
            came=facts.came,
            remedy=f"lend.to(x, pyarrow.Array){cast}",
        )

    return Rules(
        "pyarrow", f"pyarrow.{name}", "buffer protocol", array_giver,
        refuse=refuse, readonly=IMMUTABLE, layout=CONTIGUOUS, alignment=1, devices=CPU,
        address=address_of_data, packs=packs,
    )  # fmt: skip


# -- Tensor --------------------------------------------------------------------------------------------------------


def tensor_giver(facts: "Any") -> "Give":
    """The function that makes a Tensor of a View."""
    import pyarrow as pa

    make = getattr(pa.Tensor, "from_dlpack", None)
    return tensor_by_numpy if make is None else make


def tensor_by_numpy(view: "View") -> "Any":
    """A Tensor by way of an ndarray: pyarrow before 24 takes nothing else."""
    import numpy as np
    import pyarrow as pa

    return pa.Tensor.from_numpy(np.asarray(view))


TENSOR = Rules(
    "pyarrow", "pyarrow.Tensor", "DLPack", tensor_giver,
    refuse=_has_number, readonly=IMMUTABLE, layout=FORWARD, alignment=1, devices=CPU,
)  # fmt: skip

# -- Buffer --------------------------------------------------------------------------------------------------------


def buffer_giver(facts: "Any") -> "Give":
    """The function that makes a pyarrow.Buffer of the bytes of a View."""
    import pyarrow as pa

    py_buffer = pa.py_buffer

    def give(view: "View") -> "Any":
        return py_buffer(view.buffer)

    return give


BUFFER = Rules(
    "pyarrow", "pyarrow.Buffer", "buffer protocol", buffer_giver,
    refuse=no_bytes, layout=COMPACT, swapped=True, devices=CPU, address=lambda made: int(made.address),
)  # fmt: skip

_FORMS = {"Array": ARRAY, "Tensor": TENSOR, "Buffer": BUFFER}


def choose(facts: "Any", form: "str | None", whole: bool) -> Rules:
    """The kind that was named; else a Buffer of bytes, an Array of one dimension, a Tensor of any other number."""
    if form is not None:
        return narrow(form) if form in _NARROW else _FORMS[form]
    if whole:
        return BUFFER
    return ARRAY if len(facts.shape) == 1 else TENSOR


LIBRARY = Library(
    "pyarrow", "pyarrow", choose,
    classes={f"pyarrow.lib.{form}": form for form in (*_FORMS, *_NARROW)},
)  # fmt: skip


# -- View.__arrow_array__ ------------------------------------------------------------------------------------------


@lets_go
def arrow_array(view: "View", type: "Any" = None) -> "Any":
    """What `View.__arrow_array__` answers: the Array that `to` makes, cast by pyarrow if another type is asked for."""
    from lend.plan import to

    made = to(view, "pyarrow")
    if not hasattr(made, "cast"):
        raise UnsupportedLayout.build(
            f"a pyarrow.Array has one dimension, and this View {len(view.shape)}",
            came=describe.came(view),
            remedy='lend.to(x, "pyarrow"), which makes a pyarrow.Tensor; or v.reshape(-1)',
        )
    return made if type is None or made.type == type else made.cast(type)


class _Capsules:
    """A Column as pyarrow takes it by its capsules: the Column itself it would ask for an Array again."""

    __slots__ = ("__arrow_c_array__", "__arrow_c_stream__")

    def __init__(self, column: "Column") -> None:
        self.__arrow_c_stream__ = column.__arrow_c_stream__
        if len(column.chunks) == 1:
            self.__arrow_c_array__ = column.__arrow_c_array__


@lets_go
def arrow_column(column: "Column", type: "Any" = None) -> "Any":
    """What `Column.__arrow_array__` answers: an Array or ChunkedArray, cast by pyarrow to a type asked for."""
    import pyarrow as pa

    capsules = _Capsules(column)
    made = pa.array(capsules) if len(column.chunks) == 1 else pa.chunked_array(capsules)
    return made if type is None or made.type == type else made.cast(type)
