"""Columns and tables as arrays: of a column one run of elements, of a table a dict of them, or one array of two
dimensions.

What the elements need is found in `columns/run_finding.py`; what the library needs is judged by its rules, as of any
array: a part of the draft here is a draft of the planner of arrays, whose memory may still have to be written.
"""

from lend._core.letting_go import lets_go
from lend.adapters.verdicts import TO_COME
from lend.columns import refusals, run_masks, runs
from lend.columns.column import Column
from lend.columns.drafts import producers_of
from lend.columns.run_finding import run_of
from lend.columns.scalars import base
from lend.dtypes import DType
from lend.errors import CopyRequired, UnsupportedLayout, UnsupportedType
from lend.plan import frame_words, rows_to_come, targets
from lend.plan.array_parts import ArrayPart, MaskedPart, ObjectPart, TextPart, under_nulls
from lend.plan.steps import Plan, Step, amount
from lend.tables import index_note
from lend.tables.table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from lend.columns.runs import Run
    from lend.plan.frame_drafts import FrameDraft

_STRINGS = ("object", "StringDType", "U")
_TEXT = ("utf8", "large_utf8", "utf8_view")
_LIBRARIES = ("numpy", "torch", "jax", "memoryview", "tvm_ffi")


class Asked:
    """What `lend.to` was asked for, understood and checked."""

    __slots__ = ("aim", "alias_readonly", "copy", "masked", "nulls", "stack", "strings", "wish")

    def __init__(
        self, target: "Any", copy: "bool | None", nulls: "Any", options: "dict[str, Any]", alias_readonly: bool
    ) -> None:
        if target is None:
            raise TypeError("lend.to needs a target, or device= to say where the memory should be")
        aim = targets.resolve(target)
        aim.check_options(options)
        assert aim.library is not None
        name = aim.library.name
        self.aim, self.copy, self.nulls, self.alias_readonly = aim, copy, nulls, alias_readonly
        numpy = name == "numpy"
        self.masked = aim.form == targets.MASKED or (numpy and nulls == "mask")
        self.stack = _truth("stack", options.get("stack", False))
        self.strings = _one_of("strings", options.get("strings"), _STRINGS)
        zone = _one_of("zone", options.get("zone"), ("drop",))
        told = "numpy.ma" if aim.form == targets.MASKED else name
        if nulls == "struct" or (
            nulls in ("mask", "object") and told != "numpy" and (nulls, told) != ("mask", "numpy.ma")
        ):
            raise _no_policy(nulls, told)
        given = runs.BESIDE if self.masked and nulls in (None, "mask") else nulls
        storage = _truth("storage", options.get("storage", False))
        self.wish = runs.Wish(told, given, numpy=numpy, storage=storage, drops_zone=zone == "drop")


def _truth(option: str, value: "Any") -> bool:
    if value is not True and value is not False:
        raise TypeError(f"{option} is True or False, not {value!r:.60}")
    return bool(value)


def _one_of(option: str, value: "Any", known: "tuple[str, ...]") -> "str | None":
    if value is not None and not (isinstance(value, str) and value in known):
        raise ValueError(f"{option} is {' or '.join(map(repr, known))}, or not given, not {value!r:.60}")
    return value


def _no_policy(nulls: str, name: str) -> UnsupportedType:
    if nulls == "struct":
        return UnsupportedType.build(
            f'nulls="struct" is a form of Arrow, and {name} takes arrays',
            remedy=[
                'lend.to(x, "pyarrow", nulls="struct"): the values and a mask of bytes beside them',
                'lend.to(x, "numpy.ma", nulls="mask"): an array and its mask',
                'lend.to(x, "pyarrow", nulls=None): the nulls as they are',
            ],
        )
    remedies = ['lend.to(x, "numpy", nulls="object")' if nulls == "object" else 'lend.to(x, "numpy.ma", nulls="mask")']
    return UnsupportedType.build(
        f"{name} has no {'arrays of objects' if nulls == 'object' else 'mask beside its elements'}: nulls={nulls!r}",
        remedy=[*remedies, f'lend.to(x, "{name}", nulls=("fill", 0)): a value of your choice under the nulls'],
    )


class ArraysDraft:
    """The way of a column to one array, or of a table to several."""

    __slots__ = ("asked", "each", "frame", "left", "parts", "stacked")

    def __init__(self, frame: "FrameDraft", asked: Asked, each: "dict[str, Asked]") -> None:
        self.frame, self.asked = frame, asked
        self.each = each  # what was asked for some columns by their names
        self.stacked = asked.stack and type(frame.thing) is Table
        self.left = frame.left
        if type(frame.thing) is Table and not self.left:
            self.left = [frame.thing.names[place] for place in index_note.index_of(frame.thing)]
            frame.thing = index_note.without(frame.thing)
        thing = frame.thing
        self.parts: list[Any]
        if type(thing) is Column:
            if asked.stack:
                raise TypeError("stack=True is for tables: a column is one array")
            self.parts = [self._part(thing)]
        elif self.stacked:
            self.parts = [self._stack(thing)]
        else:
            self._check_names(thing)
            self.parts = []
            for column in thing.columns:  # no comprehension: the frame of one keeps what it closes over
                self.parts.append(self._part(column))

    # -- drawing --

    def _asked_of(self, column: Column) -> Asked:
        self.frame.at = column
        return self.each.get(column.name, self.asked)

    def _part(self, column: Column) -> "Any":
        asked = self._asked_of(column)
        wish = asked.wish
        frame_words.check_host(column, wish.target)
        if asked.nulls == "object":
            return ObjectPart([column], refusals.came(column), (len(column),), asked.copy, look=not self.frame.tried)
        if asked.strings is not None and _is_text(column):
            return self._text(column, asked.strings)
        run = run_of(column, wish)
        self._check_copy(run, [column])
        if not asked.masked:
            return ArrayPart(run, asked.aim, asked.copy, asked.alias_readonly)
        mask = run_masks.mask_of(column, run.shape, wish) if wish.nulls is runs.BESIDE else None
        return MaskedPart(ArrayPart(run, asked.aim, asked.copy, False), mask, asked.aim, asked.copy)

    def _text(self, column: Column, kind: str) -> "Any":
        """Text as strings of NumPy's or as objects, with the nulls as asked."""
        asked, n = self._asked_of(column), len(column)
        instead = under_nulls(column, kind, asked.wish)
        made: ObjectPart | TextPart
        if kind == "object":
            made = ObjectPart([column], refusals.came(column), (n,), asked.copy, instead, look=not self.frame.tried)
        else:
            made = TextPart(column, kind, asked.copy, instead)
        if not asked.masked:
            return made
        mask = run_masks.mask_of(column, (n,), asked.wish) if asked.wish.nulls is runs.BESIDE else None
        return MaskedPart(made, mask, asked.aim, asked.copy)

    def _check_copy(self, run: "Run", columns: "Sequence[Column]") -> None:
        """Several chunks are named before all else where no copy is allowed."""
        if self.asked.copy is not False or not run.nbytes:
            return
        for column in columns:
            count = sum(len(part) > 0 for part in column.chunks)
            if count > 1:
                raise CopyRequired.build(
                    f"{refusals.named(column)} has {count} chunks, and an array is one run of memory (chunks)",
                    wanted=f"{self.asked.wish.target} without a copy (copy=False)",
                    came=run.came,
                    tried=[reason for reason in run.reasons if not reason.endswith(" chunks")] or None,
                    remedy=f"copy=None (a copy of {amount(run.nbytes)}, counted)",
                )

    def _stack(self, table: Table) -> "Any":
        asked, columns = self.asked, table.columns
        rows = len(table)
        if asked.nulls == "object":
            shape = (rows, len(columns))
            return ObjectPart(columns, self.frame.came, shape, asked.copy, look=not self.frame.tried)
        parts = []
        for column in columns:
            wish = self._asked_of(column).wish
            frame_words.check_host(column, wish.target)
            if wish.nulls == "object":
                raise self._no_stack(f"{refusals.named(column)} was asked for as objects")
            if asked.strings is not None and _is_text(column):
                raise self._no_stack(f"{refusals.named(column)} is text, of which strings={asked.strings!r} makes one")
            run = run_of(column, wish)
            if len(run.shape) != 1:
                raise self._no_stack(f"{refusals.named(column)} has rows of several elements")
            parts.append(run)
        dtype = parts[0].dtype.newbyteorder("native") if parts else DType("float64")
        for column, run in zip(columns, parts, strict=True):
            if run.dtype.newbyteorder("native") != dtype:
                raise self._no_stack(
                    f"{refusals.named(columns[0])} is of {dtype}, and {refusals.named(column)} of {run.dtype}"
                )
        run = runs.stacked(parts, rows, dtype, self.frame.came)
        self._check_copy(run, columns)
        self.frame.at = None
        wishes = [self.each.get(column.name, asked) for column in columns]
        if not any(one.masked for one in [asked, *wishes]):
            return ArrayPart(run, asked.aim, asked.copy, asked.alias_readonly)
        mask = None
        if any(one.wish.nulls is runs.BESIDE for one in wishes):
            found = [
                run_masks.mask_of(column, (rows,), one.wish) if one.wish.nulls is runs.BESIDE else None
                for column, one in zip(columns, wishes, strict=True)
            ]
            truths = next((line.dtype for line in found if line is not None), None)
            if truths is not None:
                lines = [line or run_masks.no_mask(column, truths) for line, column in zip(found, columns, strict=True)]
                mask = runs.stacked(lines, rows, truths, self.frame.came)
        return MaskedPart(ArrayPart(run, asked.aim, asked.copy, False), mask, asked.aim, asked.copy)

    def _no_stack(self, why: str) -> UnsupportedType:
        return UnsupportedType.build(
            f"stack=True makes one array of one dtype, and {why}",
            wanted=self.asked.wish.target,
            came=self.frame.came,
            remedy="no stack=, for a dict of arrays; or the columns of one dtype: lend.table(x, columns=[...])",
        )

    def _check_names(self, table: Table) -> None:
        double = frame_words.doubled(table.names)
        if double is not None:
            name, places = double
            raise UnsupportedLayout.build(
                f"a dict of arrays has no two of one name, and {name!r} is the name of columns {places}",
                wanted=self.asked.wish.target,
                came=self.frame.came,
                remedy="the columns of other names, by their places: lend.table(x, columns=[0, ...]); or stack=True",
            )

    # -- carrying out --

    @lets_go
    def carry_out(self) -> "Any":
        """Do what the draft says."""
        thing = self.frame.thing
        if type(thing) is Column or self.stacked:
            return self.parts[0].carry_out()
        return {name: part.carry_out() for name, part in zip(thing.names, self.parts, strict=True)}

    # -- writing down --

    def _made(self) -> str:
        aim = self.asked.aim
        form = self.parts[0].form if self.parts else aim.said
        if type(self.frame.thing) is Column:
            return str(form)
        return f"{form} of two dimensions" if self.stacked else f"dict of {form}"

    def _kept(self) -> "set[type]":
        """The classes of those whose memory is in what is made."""
        columns = self.frame.columns()
        parts = self.parts * len(columns) if self.stacked else self.parts
        return {cls for part, column in zip(parts, columns, strict=True) if part.shares for cls in producers_of(column)}

    def written_down(self) -> Plan:
        """The draft as a Plan, which holds no lease."""
        frame = self.frame
        steps, given = frame.taking(), []
        notes: list[str] = []
        if frame.rows is None:
            steps += [Step("work", "columns as arrays", None, "lend", TO_COME), Step("give", f"as {self._made()}")]
        elif len(self.parts) == 1 and (self.stacked or type(frame.thing) is Column):
            steps += self.parts[0].steps()
        else:
            for part, column in zip(self.parts, frame.thing, strict=True):
                *work, give = part.steps()
                steps += [_of_column(step, column) for step in work]
                if give.who is None:
                    given.append(column)
                else:
                    steps.append(_of_column(give, column))
            if given or not self.parts:
                steps.append(Step("give", f"{frame_words.listed(given, len(self.parts))}, as {self._made()}"))
        for part in self.parts:
            notes += [note for note in part.notes() if note not in notes]
        notes += [_left_out(self.left)] if self.left else frame.noted()
        if frame.rows is None:
            notes += rows_to_come.of_arrays([column.dtype for column in frame.columns()], self.asked)
        if frame.taken_by == frame_words.AS_IT_LIES and frame.rows and frame_words.holds_pandas(self._kept()):
            notes.append(frame_words.LENT_BLOCKS)
        return Plan(
            source=frame.came,
            source_type=frame_words.type_of(frame.obj),
            target=self._made(),
            protocol=frame.taken_by,
            steps=steps,
            notes=notes,
        )


def _left_out(names: "list[str]") -> str:
    """The note of an index that is none of the arrays."""
    listed, are = ", ".join(map(repr, names)), "is" if len(names) == 1 else "are"
    return f'the index is left out: {listed} {are} no data; index="column" has it as columns'


def _is_text(column: Column) -> bool:
    return base(column.dtype).kind in _TEXT and column.dtype.dictionary is None


def _of_column(step: Step, column: Column) -> Step:
    """The step of one column among several, which names it."""
    named = repr(column.name) in step.what
    what = step.what if named else f"{frame_words.column_named(column)} {step.what}"
    return Step(step.kind, what, step.nbytes, step.who, step.why, column.name or None)


def serves(target: "Any") -> bool:
    """Whether a target is a library of arrays that columns and tables go to by this file."""
    library = None if target is None else targets.resolve(target).library
    return library is not None and library.name in _LIBRARIES


def draw(
    frame: "FrameDraft",
    target: "Any",
    copy: "bool | None",
    nulls: "Any",
    options: "dict[str, Any]",
    alias_readonly: bool,
) -> ArraysDraft:
    """Find the way of a column or table to arrays, or refuse with what stands in it."""
    by_name, one = (nulls, None) if type(nulls) is dict else ({}, nulls)
    asked = Asked(target, copy, one, options, alias_readonly)
    each = {name: Asked(target, copy, policy, options, alias_readonly) for name, policy in by_name.items()}
    return ArraysDraft(frame, asked, each)
