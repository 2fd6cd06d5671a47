"""NumPy: ndarrays in and out.

Taken: ndarrays by the buffer protocol, as everybody's; what has a mask is refused, and datetime scalars go by the array
interface, since their buffer says plain bytes. Given: by the buffer protocol, which keeps any strides, byte order and
the read-only flag; by the array interface what the buffer protocol has no word for (datetimes) or says ambiguously
(opaque bytes); bfloat16 and small numbers as the dtypes that ml_dtypes adds; records as bytes that are then told what
they are.
"""

import sys

from lend._core.letting_go import lets_go
from lend.adapters.asking import guarded
from lend.adapters.rules import ANY, CPU, KEPT, Library, Rules, is_installed, no_such_dtype, way_out
from lend.dtypes import foreign
from lend.errors import CopyRequired, UnsupportedType
from lend.protocols import masks
from lend.protocols.classes import bases_of, full_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.adapters.rules import Give
    from lend.doors import Door
    from lend.views.view import View

# -- take ----------------------------------------------------------------------------------------------------------


def doors(obj: "Any") -> "list[Door] | None":
    """The doors of an object of NumPy's; None for those that everybody has."""
    names = [full_name(base) for base in bases_of(type(obj))]
    if masks.of_numpy(type(obj)):
        raise masks.refused(obj, "mask")
    if "numpy.generic" in names:
        # a scalar's memory is in its buffer alone; its array interface points into an array that is gone
        from lend.doors import Door
        from lend.protocols.buffer import BUFFER, SCALAR

        if getattr(getattr(obj, "dtype", None), "isbuiltin", 1) == 2:
            raise UnsupportedType.build(
                f"NumPy lends no memory of scalars of the dtype {obj.dtype.name}, for which its buffers have no word",
                came=full_name(type(obj)),
                remedy="lend.view(numpy.asarray(x)), an array made of the value",
            )
        dated = "numpy.datetime64" in names or "numpy.timedelta64" in names
        return [Door(SCALAR if dated else BUFFER, final=True)]
    kind = getattr(getattr(obj, "dtype", None), "kind", "")
    if kind == "T":
        raise _of_strings(obj)
    if getattr(getattr(obj, "dtype", None), "isbuiltin", 1) == 2:
        # a dtype that another library adds (ml_dtypes): its name stands in the array interface alone
        from lend.doors import Door
        from lend.protocols.array_interface import ARRAY_INTERFACE

        return [Door(ARRAY_INTERFACE, remembered=False)]
    if kind == "O" or getattr(obj.dtype if kind == "V" else None, "names", None) is not None:
        # what else an array of these speaks would lose titles and fields, or say less of them
        from lend.doors import Door
        from lend.protocols.array_interface import ARRAY_INTERFACE
        from lend.protocols.buffer import BUFFER

        return [Door(BUFFER), Door(ARRAY_INTERFACE)]
    return None


def _of_strings(obj: "Any") -> UnsupportedType:
    from lend.protocols import refusals

    return UnsupportedType.build(
        f"this {refusals.name(obj)} holds strings of any length, which are nobody's to lend",
        came=f"{refusals.name(obj)}, {obj.dtype}{list(obj.shape)}",
        remedy=[
            "lend.column(x), which makes text of them in a copy",
            'lend.view(x.astype("U20")), if none has more than 20 characters',
        ],
    )


@guarded
def locate(array: "Any") -> "tuple[int, int] | None":
    """Where an ndarray's memory lies now: its lowest address, and how many bytes there are from it on.

    None when the array does not know: the memory is not that of an ndarray.
    """
    if not _is_array(array):
        return None
    lowest, highest = _bounds(array)
    base = _owning(array)
    if base is not array:
        start, end = _bounds(base)
        if not start <= lowest <= highest <= end:
            # what it is a view of was moved; the view still shows the old place
            return start, 0
    return lowest, highest - lowest


@guarded
def extent(array: "Any") -> "tuple[int, int] | None":
    """Where the whole allocation lies that an ndarray is of, and its bytes; None when NumPy did not make it."""
    base = _owning(array) if _is_array(array) else None
    if base is None or not base.flags.owndata:
        return None
    lowest, highest = _bounds(base)
    return lowest, highest - lowest


@guarded
def moves(obj: "Any") -> "str | None":
    """How memory of an object may be moved under a loan, or None if it cannot be."""
    base = _owning(obj)
    if getattr(getattr(base, "flags", None), "owndata", False):
        return "ndarray.resize(refcheck=False) moves an array under a loan"
    return None


def _owning(array: "Any") -> "Any":
    """The ndarray at the end of a chain of views."""
    for _ in range(1000):  # a subclass may be its own base
        base = getattr(array, "base", None)
        if not _is_array(base):
            break
        array = base
    return array


def _is_array(obj: "Any") -> bool:
    return issubclass(type(obj), sys.modules["numpy"].ndarray)


def _bounds(array: "Any") -> "tuple[int, int]":
    lowest = highest = array.__array_interface__["data"][0]
    if array.size == 0:
        return lowest, highest
    for extent, stride in zip(array.shape, array.strides, strict=True):
        reach = (extent - 1) * stride
        if reach < 0:
            lowest += reach
        else:
            highest += reach
    return lowest, highest + array.itemsize


# -- give ----------------------------------------------------------------------------------------------------------


def giver(facts: "Any") -> "Give":
    """The function that makes an ndarray of what the buffer protocol can say."""
    import numpy as np

    give: Give = np.asarray
    return give


class _Interface:
    """Shows the array interface of a View and no other door; holds a View of its own, which nobody releases."""

    __slots__ = ("__array_interface__", "view")

    def __init__(self, view: "View") -> None:
        self.view = view[...]
        self.__array_interface__ = self.view.__array_interface__


def by_interface(view: "View") -> "Any":
    """An ndarray by the array interface, whose typestr keeps units and says V7 of seven opaque bytes."""
    import numpy as np

    return np.asarray(_Interface(view))


def as_record(view: "View") -> "Any":
    """An ndarray of records over the same memory, of a dtype equal to the last title to that which was taken."""
    import numpy as np

    dtype = foreign.numpy_dtype(view.dtype)
    if not dtype.hasobject:
        return by_interface(view.reinterpret(f"opaque[{view.itemsize}]")).view(dtype)
    made = np.asarray(view)
    return made if made.dtype == dtype else made.view(dtype)


def as_added(view: "View") -> "Any":
    """An ndarray of a dtype of ml_dtypes over the same memory: the bits by the buffer protocol, then their name."""
    import numpy as np

    return np.asarray(view.reinterpret("uint16" if view.itemsize == 2 else "uint8")).view(
        foreign.numpy_dtype(view.dtype)
    )


def address(array: "Any") -> int:
    """Address of element 0."""
    return int(array.__array_interface__["data"][0])


def refuse(facts: "Any", rules: Rules) -> "UnsupportedType | None":
    """The refusal of a dtype that NumPy does not have."""
    dtype = facts.dtype
    if dtype.kind in foreign.ADDED and dtype.lanes == 1:
        if not dtype.is_native or dtype.shares_bytes:
            return no_such_dtype(facts, rules)
        if not is_installed("ml_dtypes"):
            return UnsupportedType.build(
                f"NumPy has no {dtype} of its own, and ml_dtypes, which adds it, is not installed",
                came=facts.came,
                remedy=f'install ml_dtypes, or lend.view(x).reinterpret("uint{dtype.bits}"): the same bits',
            )
        return None
    if (
        dtype.lanes > 1
        or dtype.kind == "handle"
        or (dtype.kind in ("int", "uint") and dtype.bits > 64)
        or (dtype.kind == "complex" and dtype.bits < 64)
    ):
        return no_such_dtype(facts, rules)
    return None


def refuse_record(facts: "Any", rules: Rules) -> "UnsupportedType | None":
    """The refusal of a record of which NumPy does not have a field's dtype."""
    try:
        foreign.numpy_dtype(facts.dtype)
    except UnsupportedType as error:
        return UnsupportedType.build(
            f"NumPy has no such record: {error.fact}", came=facts.came, remedy=way_out(facts.dtype, rules.form)
        )
    if not facts.itemsize:
        return UnsupportedType.build("NumPy makes no array of records of 0 bytes", came=facts.came)
    return None


ARRAY = Rules(
    "NumPy", "numpy.ndarray", "buffer protocol", giver,
    refuse=refuse, readonly=KEPT, layout=ANY, swapped=True, devices=CPU, address=address,
)  # fmt: skip
NAMED = Rules(
    "NumPy", "numpy.ndarray", "array interface", lambda _: by_interface,
    readonly=KEPT, layout=ANY, swapped=True, devices=CPU, address=address,
)  # fmt: skip
# not remembered: of what Arrow's libraries lend as an array, the least int64 is a value and no NaT
TIMES = Rules(
    "NumPy", "numpy.ndarray", "array interface", lambda _: by_interface,
    readonly=KEPT, layout=ANY, swapped=True, devices=CPU, address=address, steady=False,
)  # fmt: skip
RECORD = Rules(
    "NumPy", "numpy.ndarray", "array interface", lambda _: as_record,
    refuse=refuse_record, readonly=KEPT, layout=ANY, swapped=True, devices=CPU, address=address,
)  # fmt: skip
ADDED = Rules(
    "NumPy", "numpy.ndarray", "buffer protocol", lambda _: as_added,
    refuse=refuse, readonly=KEPT, layout=ANY, swapped=True, devices=CPU, address=address,
)  # fmt: skip
_BY_KIND = {"datetime": TIMES, "timedelta": TIMES, "opaque": NAMED, "record": RECORD} | dict.fromkeys(
    foreign.ADDED, ADDED
)


def choose(facts: "Any", form: "str | None", whole: bool) -> Rules:
    """The way that keeps the dtype."""
    dtype = facts.dtype
    if not dtype.is_native and dtype.bits > {"float": 64, "complex": 128}.get(dtype.kind, 1 << 35):
        return NAMED  # NumPy reads no swapped long double in a buffer's format
    return _BY_KIND.get(facts.dtype.kind, ARRAY)


LIBRARY = Library(
    "numpy", "numpy", choose, classes={"numpy.ndarray": "ndarray"}, options=("stack", "storage", "strings", "zone")
)


# -- View.__array__ ------------------------------------------------------------------------------------------------


@lets_go
def array(view: "View", dtype: "Any" = None, copy: "bool | None" = None) -> "Any":
    """What `View.__array__` answers: the same memory, or a copy where one is asked for, or needed for dtype.

    Raises
    ------
    CopyRequired
        With copy=False when another dtype was asked for.
    """
    import numpy as np

    from lend.plan.facts import Facts
    from lend.protocols import refusals
    from lend.views import values

    if copy is not None and copy is not True and copy is not False:
        raise refusals.no_choice("copy", copy)
    facts = Facts.of(view)
    if facts.device.type not in CPU:
        from lend.devices import access

        view = access.on_host(view)
        facts = Facts.of(view)
    rules = choose(facts, None, False)
    from lend.plan.planner import refuse_by

    refuse_by(rules, facts)
    if copy:
        order = "F" if facts.f_contiguous and not facts.c_contiguous else "C"
        view = values.copied(view, order, False, "__array__(copy=True)")
    made = rules.giver(facts)(view)
    if dtype is None or made.dtype == np.dtype(dtype):
        return made
    if copy is False:
        raise CopyRequired.build(
            f"dtype {np.dtype(dtype)} was asked for and this memory holds {view.dtype}: without a copy it cannot be "
            "converted (dtype)",
            came=refusals.facts(view),
            remedy="copy=None, which lets NumPy convert into an array of its own",
        )
    return made.astype(dtype)
