"""A column as one run of elements in memory, as arrays have them: what is asked of it, what is shared, what is written.

All that has to be done (chunks brought into one, bits unpacked, values put under nulls) is done in one pass into one
piece of memory, which is told in bytes before it is made. Nothing of the source is changed. What a column needs to
become a run is found in `run_finding.py`.
"""

from lend._core import copies, kernels
from lend.columns import refusals
from lend.columns.anatomy import swap_of
from lend.columns.parts import beside
from lend.dtypes.dtype import DType
from lend.views import values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from lend.columns.column import Column
    from lend.views.view import View

BESIDE = "beside"  # of nulls: a mask beside the elements tells them, and what lies under them is whatever it is


class Wish:
    """What is asked of the elements.

    Attributes
    ----------
    target : str
        As messages name it.
    nulls : object
        None, "nan", "forbid", ("fill", value), or BESIDE.
    numpy : bool
        True where the target has NumPy's times, fixed bytes and records.
    storage, drops_zone : bool
        Whether times and codes go as the numbers that are stored; whether a time zone may be dropped.
    native, copy : bool
        Whether this machine's byte order is needed; whether all is written anew, whatever it is.
    """

    __slots__ = ("copy", "drops_zone", "native", "nulls", "numpy", "storage", "target")

    def __init__(
        self,
        target: str,
        nulls: "Any" = None,
        *,
        numpy: bool = False,
        storage: bool = False,
        drops_zone: bool = False,
        native: bool = False,
        copy: bool = False,
    ) -> None:
        self.target, self.nulls, self.numpy = target, nulls, numpy
        self.storage, self.drops_zone, self.native, self.copy = storage, drops_zone, native, copy


class Run:
    """Elements of one dtype, as they lie, or as they will be written.

    Attributes
    ----------
    dtype : DType
    shape : tuple of int
    view : View or None
        The elements as they lie; None where they are to be written.
    nbytes : int
        Bytes that are written.
    reasons, notes : list of str
        Why, and what the reader should know of what becomes of the values.
    """

    __slots__ = ("came", "dtype", "name", "nbytes", "notes", "pieces", "reasons", "shape", "strides", "view")

    def __init__(
        self, whole: "Column | None", dtype: DType, shape: "tuple[int, ...]", came: "str | None" = None
    ) -> None:
        self.name = None if whole is None else whole.name
        self.dtype, self.shape = dtype, shape
        self.strides: tuple[int, ...] | None = None  # None: row by row
        self.came = refusals.came(whole) if came is None and whole is not None else came or ""
        self.view: View | None = None
        self.nbytes = 0
        self.pieces: list[tuple[int, Callable[[int], object]]] = []
        self.reasons: list[str] = []
        self.notes: list[str] = []

    def write(self, to: int) -> None:
        """All elements, side by side from an address on."""
        if self.view is not None:
            put(self.view.reshape(-1) if self.view.ndim != 1 else self.view, to, self.dtype.itemsize)
            return
        for nbytes, write in self.pieces:
            write(to)
            to += nbytes

    def make(self) -> "View":
        """The elements; what is written for them is counted."""
        if self.view is not None:
            return self.view
        memory = values.fresh(self.nbytes)
        self.write(memory.ptr)
        if self.nbytes:
            copies.note(self.came, ", ".join(self.reasons), self.nbytes)
        return memory.buffer.view(self.dtype, self.shape, self.strides)


def put(view: "View", to: int, step: int) -> None:
    """The elements of a line, so many bytes apart, in this machine's byte order."""
    if len(view):
        assert view.strides is not None
        kernels.gather(to, step, view.ptr, view.strides[0], view.itemsize, swap_of(view.dtype), len(view))


def stacked(runs: "Sequence[Run]", rows: int, dtype: DType, came: str) -> Run:
    """Runs of one dtype as the columns of one array: as they lie where they are of one, else one after the other."""
    width = int(dtype.itemsize)
    made = Run(None, dtype, (rows, len(runs)), came)
    lying = [run.view for run in runs if run.view is not None]
    if lying and len(lying) == len(runs):
        made.view = lying[0].reshape(rows, 1) if len(runs) == 1 else beside(lying)
    if made.view is not None:
        made.dtype, made.notes = made.view.dtype, merged(runs)
        return made
    made.strides = (width, rows * width)
    made.pieces = [(rows * width, run.write) for run in runs]
    made.nbytes = rows * width * len(runs)
    made.reasons = list(dict.fromkeys(["columns side by side", *[reason for run in runs for reason in run.reasons]]))
    made.notes = merged(runs)
    return made


def merged(runs: "Sequence[Run]") -> "list[str]":
    """The notes of all."""
    return [note for run in runs for note in run.notes]
