"""What a library can bear, as data: which memory it takes as it lies, and what must be copied for it first.

One `Rules` for each kind of object that a library makes of lent memory. Nothing here imports a library: the rules can
be judged before it is loaded.
"""

import sys

from lend.errors import UnsupportedType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lend.dtypes import DType
    from lend.views.view import View

    Give = Callable[[View], Any]

# the names of the targets; each has an adapter in this folder
TARGETS = ("numpy", "torch", "jax", "pyarrow", "memoryview", "tvm_ffi")

# what becomes of the read-only flag in the target
KEPT = "kept"  # it is marked, and the target respects it
UNMARKED = "unmarked"  # the target has no such mark, and could write
IMMUTABLE = "immutable"  # the target takes all memory for immutable, and never writes

# which strides the target takes
ANY = "any"
FORWARD = "forward"  # none negative, all multiples of the item
COMPACT = "compact"  # no gaps, dimensions in any order
CONTIGUOUS = "contiguous"  # row-major without gaps

# the word of a Reason: the target makes something of its own, whatever it is given
ANEW = "made anew"

CPU = frozenset({1})
EVERY_DEVICE = frozenset(range(1, 256))


class Reason:
    """Why memory cannot be taken as it lies.

    Attributes
    ----------
    word : str
        What it is about, in the words that a caller would look for: "read-only", "negative stride".
    why : str
        The reason in a sentence, without a full stop.
    """

    __slots__ = ("why", "word")

    def __init__(self, word: str, why: str) -> None:
        self.word = word
        self.why = why


class Rules:
    """What one kind of object of a library can be made of.

    Attributes
    ----------
    name, form : str
        The library as messages name it, and what it makes: "torch", "torch.Tensor".
    by : str
        How the memory is handed over: "DLPack".
    giver : callable
        `giver(facts)` imports the library and returns the function that takes a View and makes the object.
    refuse : callable or None
        `refuse(facts, rules)` returns the error for memory that no copy can make fit (a dtype that is not there), or
        None.
    readonly, layout : str
        See the constants above.
    alignment : int
        Of the address: 0 none, 1 that of the item, else a number of bytes.
    swapped : bool
        True when foreign byte order is taken.
    devices : frozenset of int
        Device types (DLPack's codes) that are taken.
    address : callable or None
        `address(made)` tells where the made object's element 0 lies, or None if it cannot be told.
    packs : callable or None
        `packs(facts)` returns (Reason, bytes written) when the target itself copies, else None; None for the bytes
        when only the target knows.
    steady : bool
        True when the answer depends only on dtype, layout class and writability, so that it may be remembered.
    """

    __slots__ = (
        "address", "alignment", "by", "devices", "form", "giver", "layout", "name", "packs", "readonly", "refuse",
        "steady", "swapped", "unknown",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        form: str,
        by: str,
        giver: "Callable[[Any], Give]",
        *,
        refuse: "Callable[[Any, Rules], Exception | None] | None" = None,
        readonly: str = KEPT,
        layout: str = ANY,
        alignment: int = 0,
        swapped: bool = False,
        devices: "frozenset[int]" = CPU,
        address: "Callable[[Any], int | None] | None" = None,
        packs: "Callable[[Any], tuple[Reason, int | None] | None] | None" = None,
        steady: bool = True,
        unknown: bool = False,
    ) -> None:
        self.name = name
        self.form = form
        self.by = by
        self.giver = giver
        self.refuse = refuse
        self.readonly = readonly
        self.layout = layout
        self.alignment = alignment
        self.swapped = swapped
        self.devices = devices
        self.address = address
        self.packs = packs
        self.steady = steady
        self.unknown = unknown


class Library:
    """A library that lend hands memory to: what its names are, and the rules of what it makes.

    Attributes
    ----------
    name : str
        The name of the target, which is that of the module to import.
    package : str
        What to install to have it.
    classes : dict of str to str
        "module.Class" of its own classes that name it as a target, and the form each stands for.
    modules : tuple of str
        Further modules of it that name it as a target.
    choose : callable
        `choose(facts, form, whole)` returns the Rules; `form` is None when the library was named, `whole` True when
        the bytes of a Buffer are handed on.
    options : tuple of str
        Keywords of `lend.to` that it knows.
    misreading : tuple of str
        Functions of it that would read a View wrong; as targets they are the library itself.
    """

    __slots__ = ("choose", "classes", "misreading", "modules", "name", "options", "package")

    def __init__(
        self,
        name: str,
        package: str,
        choose: "Callable[[Any, str | None, bool], Rules]",
        *,
        classes: "dict[str, str]",
        modules: "tuple[str, ...]" = (),
        options: "tuple[str, ...]" = (),
        misreading: "tuple[str, ...]" = (),
    ) -> None:
        self.name = name
        self.package = package
        self.choose = choose
        self.classes = classes
        self.modules = modules
        self.options = options
        self.misreading = misreading


def is_installed(module: str) -> bool:
    """True when a module is loaded or could be; nothing is imported."""
    if module in sys.modules:
        return sys.modules[module] is not None
    from importlib.util import find_spec

    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # a finder that forbids it; a module that lost its spec
        return False


def native_name(dtype: "DType") -> str:
    """The dtype's name without its byte order."""
    return str(dtype.newbyteorder("native").name)


def no_such_dtype(facts: "Any", rules: Rules, remedy: "str | None" = None) -> UnsupportedType:
    """The refusal of a dtype that the target does not have; byte order is another matter."""
    dtype = facts.dtype
    return UnsupportedType.build(
        f"{rules.form} has no {native_name(dtype)}", came=facts.came, remedy=remedy or way_out(dtype, rules.form)
    )


_NUMBERS = ("bool", "int", "uint", "float", "complex", "bfloat")


def way_out(dtype: "DType", form: str) -> str:
    """What to do with a dtype that a target lacks: the same bytes under a dtype that it has, or another road."""
    kind = dtype.kind
    order = "" if dtype.is_native else str(dtype)[0]
    if dtype.shares_bytes:
        return "lend.buffer(x): the bytes, several values in each; or lend.view(x).tolist(), the values"
    if dtype.lanes > 1 and dtype.bits >= 8:
        return f'lend.view(x).reinterpret("{order}{native_name(dtype).rpartition("x")[0]}"), which adds a dimension'
    if kind in ("datetime", "timedelta"):
        many = "" if dtype.multiplier == 1 else f"{dtype.multiplier} "
        return f'lend.view(x).reinterpret("{order}int64"): whole numbers, whose unit is {many}{dtype.unit}'
    if kind == "opaque":
        # [..., None] makes a last dimension of one element, which has no gaps whatever the strides are
        return f'lend.view(x)[..., None].reinterpret("uint8"): the {dtype.itemsize} bytes of each in a last dimension'
    if kind == "record":
        name = next((name for name, field in (dtype.fields or {}).items() if field.dtype.kind in _NUMBERS), None)
        field = "x" if name is None else f"lend.view(x)[{name!r}]"
        return f"one field at a time, such as {field}: a View of it alone, shared"
    if kind == "bytes":
        return f'lend.view(x)[..., None].reinterpret("uint8"): the {dtype.itemsize} bytes of each in a last dimension'
    if kind == "text":
        return f'lend.view(x)[..., None].reinterpret("{order}uint32"): the characters of each in a last dimension'
    if kind == "object":
        return 'its values as numbers first, such as lend.to(x, "numpy").astype("float64")'
    if kind.startswith(("float8", "float6", "float4", "int4", "int2", "uint4", "uint2")):
        return 'lend.view(x).reinterpret("uint8"): the same bits'
    if kind == "bfloat":
        return f'lend.view(x).reinterpret("{order}uint16"): the same bits'
    if kind == "handle":
        return f'lend.view(x).reinterpret("{order}uint64")'
    if kind == "float" and dtype.bits > 64:
        return f'convert it first: lend.to(x, "numpy").astype("float64"), then to {form}'
    if kind == "complex" and dtype.bits > 128:
        return f'convert it first: lend.to(x, "numpy").astype("complex128"), then to {form}'
    if kind == "complex":
        half = f"{order}float{dtype.bits // 2}"
        return f'lend.view(x)[..., None].reinterpret("{half}"): real and imaginary parts in a last dimension'
    if dtype.bits > 64:
        return f'lend.view(x)[..., None].reinterpret("{order}uint64"): the halves of each in a last dimension'
    if kind == "bool":
        return 'lend.view(x).reinterpret("uint8"): 0 and 1, the same bytes'
    return f'lend.view(x).reinterpret("opaque[{dtype.itemsize}]"), or lend.to(x, "numpy")'


def only(names: "frozenset[str]") -> "Callable[[Any, Rules], UnsupportedType | None]":
    """A `refuse` that lets the named dtypes through, in either byte order."""

    def refuse(facts: "Any", rules: Rules) -> "UnsupportedType | None":
        return None if native_name(facts.dtype) in names else no_such_dtype(facts, rules)

    return refuse


def no_bytes(facts: "Any", rules: Rules) -> "Exception | None":
    """A `refuse` for targets of bytes: pointers to Python objects are none to hand out."""
    from lend.protocols import refusals

    return refusals.holds_objects(facts, "shown as bytes") if facts.dtype.has_objects else None


# -- judging memory by the rules -----------------------------------------------------------------------------------


def reasons_to_copy(facts: "Any", rules: Rules, alias_readonly: bool) -> "list[Reason]":
    """Everything about the memory that the target cannot bear and a copy would mend; the most telling first."""
    found = []
    if facts.size and facts.readonly and rules.readonly == UNMARKED and not alias_readonly:
        found.append(Reason("read-only", f"{rules.name} cannot mark memory read-only, and could write to it"))
    if not rules.swapped and not facts.dtype.is_native:
        found.append(
            Reason("byte order", f"{rules.name} reads this machine's byte order only, and the dtype is {facts.dtype}")
        )
    if facts.size:
        layout = _layout_reason(facts, rules)
        if layout is not None:
            found.append(layout)
        alignment = _alignment_reason(facts, rules)
        if alignment is not None:
            found.append(alignment)
    return found


def _layout_reason(facts: "Any", rules: Rules) -> "Reason | None":
    if rules.layout == ANY or facts.c_contiguous:
        return None
    lying = f"the strides are {facts.strides} bytes"
    steps = [stride for extent, stride in zip(facts.shape, facts.strides, strict=True) if extent > 1]
    if min(steps) < 0:
        return Reason("negative stride", f"{rules.name} takes no negative stride, and {lying}")
    if rules.layout == FORWARD:
        if any(stride % facts.itemsize for stride in steps):
            return Reason("stride", f"{rules.name} takes strides of whole items of {facts.itemsize} bytes, and {lying}")
        return None
    if 0 in steps:
        return Reason("zero stride", f"{rules.name} takes no zero stride (one element at several places), and {lying}")
    if rules.layout == COMPACT:
        return None if _is_compact(facts) else Reason("compact", f"{rules.name} takes memory without gaps, and {lying}")
    return Reason("contiguous", f"{rules.name} takes row-major memory without gaps (order C), and {lying}")


def _is_compact(facts: "Any") -> bool:
    """True when the elements lie without gaps, the dimensions in whatever order."""
    step = facts.itemsize
    for stride, extent in sorted(zip(facts.strides, facts.shape, strict=True)):
        if extent > 1:
            if stride != step:
                return False
            step *= extent
    return True


def _alignment_reason(facts: "Any", rules: Rules) -> "Reason | None":
    if rules.alignment == 0:
        return None
    if rules.alignment > facts.alignment_promised:
        return Reason(
            "alignment", f"{rules.name} needs {rules.alignment}-byte alignment, and the address is not known beforehand"
        )
    if rules.alignment > 1 and facts.ptr % rules.alignment:
        here = facts.ptr % rules.alignment
        where = f"{here} mod {rules.alignment}"
        return Reason("alignment", f"{rules.name} needs {rules.alignment}-byte alignment, and the address is {where}")
    if not facts.aligned:
        need = item_alignment(facts.dtype)
        return Reason(
            "alignment",
            f"{rules.name} needs items at multiples of {need} bytes, and these are unaligned: the address is "
            f"{facts.ptr % need} mod {need}, the strides {facts.strides}",
        )
    return None


def item_alignment(dtype: "DType") -> int:
    """The alignment that a compiled program expects of one element."""
    if dtype.kind in ("opaque", "bytes", "record"):
        return 1 if dtype.kind != "record" else 1 << (dtype.order_unit & 7)
    size = 4 if dtype.kind == "text" else int(dtype.bits) // 8 // (2 if dtype.kind == "complex" else 1)
    return max(1, min(16, size))
