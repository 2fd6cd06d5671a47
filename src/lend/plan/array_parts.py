"""What one column becomes among arrays: an array of a library, a masked array, Python objects, strings of NumPy's own.

Each is a part of a draft: it tells its steps, refuses by itself, and is carried out alone.
"""

from lend._core import copies
from lend._core.letting_go import lets_go
from lend.adapters.rules import Reason
from lend.columns import refusals, run_refusals
from lend.columns.runs import BESIDE
from lend.errors import CopyRequired, LendError, UnsupportedType, change_remedy
from lend.plan import frame_words, planner, recheck
from lend.plan.facts import Facts
from lend.plan.steps import Step, amount

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from lend.columns.column import Column
    from lend.columns.runs import Run, Wish
    from lend.plan.targets import Target
    from lend.views.view import View

_SENTENCES = {
    "bit-packed": "is bit-packed, and an array has one byte of each",
    "columns side by side": "has columns that lie apart",
    "fields side by side": "has fields that lie apart, and those of records lie side by side",
    "days of 4 bytes": "has days of 4 bytes, and NumPy's have 8",
}


class ArrayPart(planner.Draft):
    """One array of a library, of a run of elements that lies there or will be written."""

    __slots__ = ("run",)

    def __init__(self, run: "Run", aim: "Target", copy: "bool | None", alias_readonly: bool) -> None:
        super().__init__(None, False)
        self.run = run
        if run.view is None:
            self.source = planner.WRITTEN
            self.facts = _facts_of(run)
        else:
            recheck.verify(run.view)
            self.obj = run.view
            self.facts = Facts.of(run.view)
        self.facts.tell(run.came)
        try:
            self.judge(aim.rules(self.facts, False), copy, None, alias_readonly)
        except LendError as refusal:
            if refusal.remedy is not None:  # what is done with x is done with what the column shows
                change_remedy(refusal, refusal.remedy.replace("lend.view(x)", "lend.column(x).view()"))
            raise

    def _taking_reasons(self) -> "list[Reason]":
        if not self.run.nbytes:
            return []
        named = (
            f"column {self.run.name!r}" if self.run.name else "this table" if self.run.name is None else "this column"
        )
        told = [(reason, _SENTENCES.get(reason, "is no array as it lies")) for reason in self.run.reasons]
        return [Reason(reason, f"{named} {sentence}") for reason, sentence in told]

    def _take(self) -> "View":
        return self.run.make()

    def protocol(self) -> str:
        return "lend itself"

    def steps(self) -> "list[Step]":
        """What comes after the take."""
        run = self.run
        plan = self.written_down()
        found = [*plan.steps[1:]]
        if run.nbytes:
            found.insert(0, Step("work", f"{_named(run)} as {_told(run)}", run.nbytes, "lend", "; ".join(run.reasons)))
        return found

    def notes(self) -> "list[str]":
        return [*self._notes(), *self.run.notes]

    @property
    def shares(self) -> bool:
        return self.run.view is not None and not self.reasons and self.packing is None

    @property
    def form(self) -> str:
        return self.rules.form


def _facts_of(run: "Run") -> Facts:
    """The facts of a run that is still to be written."""
    facts = Facts.fresh(run.dtype, run.shape, "on cpu")
    if run.strides is not None and facts.size:
        facts.strides = run.strides
        facts.c_contiguous = sum(extent > 1 for extent in run.shape) < 2
        facts.f_contiguous = True
    return facts


def _named(run: "Run") -> str:
    return f"column {run.name!r}" if run.name else "elements"


def _told(run: "Run") -> str:
    extents = ", ".join(map(str, run.shape))
    return f"{run.dtype}[{extents}]"


class MaskedPart:
    """A numpy.ma.MaskedArray: elements, and the bytes beside them that say which are null."""

    __slots__ = ("data", "mask")

    form = "numpy.ma.MaskedArray"

    def __init__(
        self, data: "ArrayPart | ObjectPart | TextPart", mask: "Run | None", aim: "Target", copy: "bool | None"
    ) -> None:
        self.data = data
        self.mask = None if mask is None else ArrayPart(mask, aim, copy, False)

    @lets_go
    def carry_out(self) -> "Any":
        from lend.adapters import numpy_masked

        return numpy_masked.given(self.data.carry_out(), None if self.mask is None else self.mask.carry_out())

    def steps(self) -> "list[Step]":
        *found, give = self.data.steps()
        if self.mask is not None:
            found += [_as_mask(step) for step in self.mask.steps()[:-1]]
        told = give.what.replace(f"as {self.data.form}", f"as {self.form}")
        return [*found, Step("give", told, give.nbytes, give.who, give.why)]

    def notes(self) -> "list[str]":
        return self.data.notes()

    @property
    def shares(self) -> bool:
        return self.data.shares or (self.mask is not None and self.mask.shares)


def _as_mask(step: Step) -> Step:
    return Step(step.kind, f"mask of {step.what}", step.nbytes, step.who, step.why)


class ObjectPart:
    """Python objects in an array of NumPy's: the values, and None where they are null, or another."""

    __slots__ = ("came", "columns", "shape", "values")

    form = "numpy.ndarray"
    shares = False

    def __init__(
        self,
        columns: "Sequence[Column]",
        came: str,
        shape: "tuple[int, ...]",
        copy: "bool | None",
        instead: "Any" = None,
        *,
        look: bool = True,
    ) -> None:
        self.columns, self.came, self.shape = columns, came, shape
        self.values = [column.tolist() for column in columns] if look else []
        if instead is not None:
            self.values = [[instead if value is None else value for value in values] for values in self.values]
        if copy is False and self._nbytes():
            raise _made_anew(came, "an array of Python objects", self._nbytes())

    def _nbytes(self) -> int:
        return 8 * sum(map(len, self.columns))

    @lets_go
    def carry_out(self) -> "Any":
        from lend.adapters import numpy_masked

        made = numpy_masked.objects(self.values, self.shape)
        if self._nbytes():
            copies.note(self.came, "values as Python objects", self._nbytes())
        return made

    def steps(self) -> "list[Step]":
        found = []
        if self._nbytes():
            what = frame_words.column_named(self.columns[0]) if len(self.columns) == 1 else "elements"
            told = "an array of pointers to them, and the objects"
            found.append(Step("work", f"{what} as Python objects", self._nbytes(), "lend", told))
        return [*found, Step("give", f"as {self.form}")]

    def notes(self) -> "list[str]":
        return []


class TextPart:
    """Text as NumPy's own strings, which NumPy makes."""

    __slots__ = ("column", "instead", "kind")

    form = "numpy.ndarray"
    shares = False

    def __init__(self, column: "Column", kind: str, copy: "bool | None", instead: "Any") -> None:
        self.column, self.kind, self.instead = column, kind, instead
        if kind == "U" and any(value is not None and value[-1:] == "\0" for value in column.tolist()):
            raise UnsupportedType.build(
                f"{refusals.named(column)} has text that ends with NUL, which NumPy's fixed text does not keep",
                came=refusals.came(column),
                remedy='strings="StringDType", or strings="object"',
            )
        if copy is False and len(column):
            raise _made_anew(refusals.came(column), "strings of NumPy's own", None)

    @lets_go
    def carry_out(self) -> "Any":
        from lend.adapters import numpy_masked

        values = self.column.tolist()
        if self.instead is not None:
            values = [self.instead if value is None else value for value in values]
        return numpy_masked.texts(values, self.kind)

    def steps(self) -> "list[Step]":
        text = "fixed text" if self.kind == "U" else "StringDType"
        told = f"{frame_words.column_named(self.column)} as {self.form} of {text}"
        if not len(self.column):
            return [Step("give", told)]
        return [Step("give", told, None, "target", "NumPy makes strings of its own")]

    def notes(self) -> "list[str]":
        return []


def under_nulls(column: "Column", kind: str, wish: "Wish") -> "Any":
    """What stands for null among strings: None, NaN, or a text; refused where it cannot."""
    count, nulls = column.null_count, wish.nulls
    if count and nulls == "forbid":
        raise run_refusals.forbidden(column, count, wish)
    if type(nulls) is tuple:
        if not _is_text(nulls[1], kind):
            raise run_refusals.no_text(column, nulls[1], kind, wish)
        return str(nulls[1])
    if not count:
        return None
    if nulls is BESIDE:
        return None if kind == "object" else ""
    if kind == "U":
        raise _no_null_text(column, count)
    return float("nan") if nulls == "nan" else None


def _is_text(value: "Any", kind: str) -> bool:
    """Whether a string of NumPy's can be a value."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return kind != "U" or value[-1:] != "\0"


def _no_null_text(column: "Column", count: int) -> UnsupportedType:
    return UnsupportedType.build(
        f"{refusals.named(column)} has {count} null{'' if count == 1 else 's'}, and NumPy's fixed text has no word for "
        "them",
        came=refusals.came(column),
        remedy=[
            'lend.to(x, "numpy", strings="StringDType"): None where it is null',
            'lend.to(x, "numpy", strings="U", nulls=("fill", "")): another text',
        ],
    )


def _made_anew(came: str, what: str, nbytes: "int | None") -> CopyRequired:
    price = "" if nbytes is None else f" (a copy of {amount(nbytes)}, counted)"
    return CopyRequired.build(f"{what} are made anew, and copy=False forbids it", came=came, remedy=f"copy=None{price}")
