"""The planner of columns and tables: what `lend.explain` tells of them and `lend.to` does is one draft, as for arrays.

A draft has the Column or Table that was taken, and a verdict of the target on each column.
Arrays of one column (numpy, torch and so on) are made by the planner of arrays, of the View that a column is.
"""

import sys
from collections import Counter

from lend import front_columns
from lend._core.copies import Copy, LookedAt
from lend._core.letting_go import lets_go
from lend._core.owners import type_name_of
from lend.adapters import pandas_index
from lend.adapters.asking import guarded
from lend.adapters.frame_takers import TAKERS, Taker, Verdict, unique
from lend.adapters.rules import is_installed
from lend.columns import refusals
from lend.columns.column import Column
from lend.errors import CopyRequired, LendError, NotHostAccessible, NotLendable, UnsupportedLayout, UnsupportedType
from lend.plan import frame_arrays, frame_forms, work
from lend.plan.steps import Plan, Step, amount
from lend.protocols.classes import full_name, module_of, shows
from lend.protocols.dlpack import CAPSULE, capsule_offered
from lend.tables import refusals as table_refusals
from lend.tables import sources
from lend.tables.table import Table, of_columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from lend.plan.frame_arrays import ArraysDraft
    from lend.plan.planner import Draft

# what people write for a target
_MEANT = {"pa": "pyarrow", "pl": "polars"}
_AS_IT_LIES = "pandas, as it lies"
_SHOWN = 20  # columns of a plan that are listed one by one
_NULLS = ("mask", "nan", "object", "forbid", "struct")


def taker_of(target: "Any") -> "tuple[Taker, str | None] | None":
    """The library of a target that takes columns and tables, and the class that was named; None for all others."""
    cls = type(target)  # of an odd class not even its __class__ is asked
    if issubclass(cls, str):
        name = _MEANT.get(target, target)
        if name in TAKERS:
            return TAKERS[name], None
        return next(((taker, full) for taker in TAKERS.values() for full in taker.classes if _named(name, full)), None)
    if cls is type(sys):
        name = target.__name__.partition(".")[0]
        return (TAKERS[name], None) if name in TAKERS else None
    return _taker_of_class(target) if issubclass(cls, type) else None


def _named(name: str, full: str) -> bool:
    """Whether a dotted name is that of a class, as it is called or as it is defined."""
    top, _, last = name.rpartition(".")
    return name == full or (top == full.partition(".")[0] and last == full.rpartition(".")[2])


@guarded
def _taker_of_class(target: "Any") -> "tuple[Taker, str | None] | None":
    full = f"{module_of(target)}.{full_name(target).rpartition('.')[2]}"
    return next(((taker, full) for taker in TAKERS.values() if full in taker.classes), None)


class FrameDraft:
    """A way of a column or table to a target that was found, not yet gone."""

    __slots__ = (
        *("call", "copied", "copy", "form", "forms", "nulls", "obj", "options", "rows"),
        *("taken_by", "taker", "thing", "verdicts"),
    )

    def __init__(self, obj: "Any", thing: "Column | Table", taken_by: str, *, to_come: bool = False) -> None:
        self.rows = None if to_come else len(thing)
        self.obj = obj
        self.thing = thing
        self.taken_by = taken_by
        self.copied: Sequence[Copy] = ()  # what was copied on taking it, where it was only looked at
        self.taker: Taker | None = None
        self.form: str | None = None
        self.call: Any = None
        self.copy: bool | None = None
        self.nulls: Any = None
        self.options: dict[str, Any] = {}
        self.verdicts: list[tuple[Column, Verdict]] = []
        self.forms: list[Any] = []  # what lend makes of each column first, as drafts

    # -- drawing --

    def judge(self, taker: Taker, form: "str | None", copy: "bool | None", options: "dict[str, Any]") -> None:
        """Ask what the library does with every column; raise what it, or lend, refuses."""
        self.taker, self.form, self.copy, self.options = taker, form, copy, options
        self._check_options(taker, options)
        made_of = "table" if type(self.thing) is Table else "column"
        if (form is not None and taker.classes[form] != made_of) or getattr(taker, made_of) is None:
            raise UnsupportedLayout.build(
                f"a {made_of} is not handed on as {form or taker.name}",
                wanted=form or taker.name,
                came=self.came,
                remedy=f'lend.to(x, "{taker.name}")' if form else "a table: lend.to({'name': x}, ...)",
            )
        far = next((column for column in self._columns() if not column.device.is_host), None)
        if far is not None:
            raise NotHostAccessible.build(
                f"{refusals.named(far)} is on {far.device}, and {taker.name} takes memory of the host",
                came=self.came,
                remedy="copy it with the library that made it, and hand on what that gives",
            )
        if type(self.thing) is Table and not self.thing.num_columns and not taker.bare:
            raise UnsupportedLayout.build(
                f"{taker.name} has no table without a column", came=self.came, remedy="a table of one column or more"
            )
        if type(self.thing) is Table and taker.unique:
            self._check_names(self.thing, options)
        if not taker.arrow:
            self.thing = _in_chunks(self.thing)
        asked = {name: value for name, value in options.items() if name in taker.judged}
        if not taker.arrow:
            asked |= self._wishes()
        self.forms, self.verdicts = [], []
        # no comprehensions: the frame of one keeps what it closes over, and an error the frame
        for column in self._columns() if taker.arrow else ():
            wished = frame_forms.draft_of(column, taker.name, self.nulls, copy, to_come=self.rows is None)
            self.forms.append(wished)
        for column in self._columns():
            verdict = taker.judge(column, self.rows, **asked)
            self.verdicts.append((column, verdict))
        copied = [
            (form.source, Verdict(form.nbytes, "; ".join(form.reasons)))
            for form in self.forms
            if not form.same and form.nbytes != 0
        ]
        copied += [(column, verdict) for column, verdict in self.verdicts if not verdict.shares]
        if copy is False and copied:
            column, verdict = copied[0]
            raise CopyRequired.build(
                f"{refusals.named(column)}: {verdict.why}",
                wanted=f"{self._made()} without a copy (copy=False)",
                came=self.came,
                tried=[f"{refusals.named(column)}: {verdict.why}" for column, verdict in copied[1:4]] or None,
                remedy=["copy=None", 'dtype_backend="pyarrow", which keeps columns as Arrow has them']
                if taker.name == "pandas" and options.get("dtype_backend") != "pyarrow"
                else "copy=None",
            )

    def _wishes(self) -> "dict[str, Any]":
        """What a library that columns are given to as they are does by itself: nulls in a form, a copy."""
        return {"nulls": self.nulls, "copy": self.copy is True}

    def _check_options(self, taker: Taker, options: "dict[str, Any]") -> None:
        unknown = sorted(set(options) - set(taker.options))
        if unknown:
            word = "an option" if len(unknown) == 1 else "options"
            raise TypeError(
                f"{', '.join(unknown)}: not {word} of {taker.name}; its options: {', '.join(taker.options) or 'none'}"
            )

    def _check_names(self, table: Table, options: "dict[str, Any]") -> None:
        """Names that the target would refuse, or make one of two of."""
        names = unique(table, options.get("names"))
        times = Counter(names)
        double = next((name for name in names if times[name] > 1), None)
        if double is not None:
            assert self.taker is not None
            places = ", ".join(str(place) for place, name in enumerate(names) if name == double)
            raise UnsupportedLayout.build(
                f"{self.taker.name} takes no two columns of one name, and {double!r} is the name of columns {places}",
                came=self.came,
                remedy='names="unique", which numbers them; or table.select([...])',
            )

    def _columns(self) -> "tuple[Column, ...]":
        return self.thing.columns if type(self.thing) is Table else (self.thing,)

    @property
    def came(self) -> str:
        thing = self.thing
        if self.rows is None:
            listed = f"{thing.dtype}" if type(thing) is Column else repr(thing)[1:-1].partition(": ")[2] or "no columns"
            return f"{type(thing).__name__} whose rows did not come yet: {listed}"
        return thing._describe() if type(thing) is Column else repr(thing)[1:-1]

    # -- carrying out --

    @lets_go
    def carry_out(self) -> "Any":
        """Do what the draft says."""
        if self.taker is None:
            return self._named() if self.call is dict and type(self.thing) is Table else self.call(self.thing)
        thing = self.thing
        if any(not form.same for form in self.forms):
            made = [form.make() for form in self.forms]
            thing = of_columns(thing.names, made, len(thing), thing.metadata) if type(thing) is Table else made[0]
        give = self.taker.give_table if type(thing) is Table else self.taker.give_column
        wishes = {} if self.taker.arrow else self._wishes()
        return give(thing, form=self.form, **self.options, **wishes)

    def _named(self) -> "dict[str, Column]":
        """What `dict` makes of a table: its columns by their names, and not the pairs that its rows may look like."""
        thing = self.thing
        assert type(thing) is Table
        found = dict(zip(thing.names, thing.columns, strict=True))
        if len(found) < thing.num_columns:
            raise UnsupportedLayout.build(
                "a dict has no two values of one name, and this table has columns of one name",
                came=self.came,
                remedy="lend.to(x, list), its columns; or table.select([...])",
            )
        return found

    # -- writing down --

    def _made(self) -> str:
        if self.taker is None:
            return _name_of(self.call)
        return self.form or (self.taker.table if type(self.thing) is Table else self.taker.column) or self.taker.name

    def _renamed(self) -> "list[str]":
        """Notes of the names that the target changes."""
        if self.taker is None or self.taker.renames is None or type(self.thing) is not Table:
            return []
        made = self.taker.renames(self.thing.names)
        changed = [pair for pair in zip(self.thing.names, made, strict=True) if pair[0] != pair[1]]
        more = [f"{len(changed) - _SHOWN} more columns get other names"] if len(changed) > _SHOWN else []
        return [f"column {old!r} is called {new!r} there" for old, new in changed[:_SHOWN]] + more

    def noted(self) -> "list[str]":
        """What became of the index of pandas."""
        return pandas_index.noted(self.obj) if self.taken_by == _AS_IT_LIES else []

    def written_down(self) -> Plan:
        """The draft as a Plan, which holds no lease."""
        steps = [Step("take", self.taken_by)]
        steps += [Step("take", copy.what, copy.nbytes, "lend", copy.why) for copy in self.copied]
        notes, made_of = self._renamed(), type(self.thing)
        if self.taker is None:
            own = "what it does with the memory is its own affair"
            steps.append(Step("give", f"call of {_name_of(self.call)}", None, "target", own))
        else:
            for form in self.forms:
                if not form.same and form.nbytes != 0:
                    why = "; ".join(form.reasons)
                    steps.append(
                        Step("work", f"{_column_named(form.source)} as Arrow has it", form.nbytes, "lend", why)
                    )
            shared = [column for column, verdict in self.verdicts if verdict.shares]
            for column, verdict in self.verdicts:
                if verdict.nbytes != 0:
                    kind = "work" if verdict.who == "lend" else "give"
                    steps.append(Step(kind, _column_named(column), verdict.nbytes, verdict.who, verdict.why))
                if verdict.theirs:
                    steps.append(Step("give", _column_named(column), None, "target", verdict.theirs))
                if verdict.becomes is not None:
                    notes.append(f"{refusals.named(column)}, {column.dtype}, becomes {verdict.becomes}")
            made = {id(form.source) for form in self.forms if not form.same}
            if self.copy is not True and any(
                not column.readonly for column in shared if len(column) and id(column) not in made
            ):
                notes.append("aliased: later writes to the source are visible there")
            if shared or not self.verdicts:
                way = "Arrow, " if self.taker.arrow else ""
                steps.append(Step("give", f"{way}{_listed(shared, len(self.verdicts))}, as {self._made()}"))
        if self.nulls == "struct" and made_of is Column and self.taker is not None and self.taker.name == "pyarrow":
            notes.append("pyarrow keeps the name of an extension type that it does not know in tables alone")
        notes += self.noted()
        if self.taken_by == _AS_IT_LIES and self.rows:
            notes.append("while this is lent, pandas copies a lent block before its next write to it")
        return Plan(
            source=self.came,
            source_type=_type_of(self.obj),
            target=self._made(),
            protocol=self.taken_by,
            steps=steps,
            notes=notes,
        )


def _in_chunks(thing: "Column | Table") -> "Column | Table":
    """The same, where a column without a chunk has one without rows."""
    if type(thing) is Column:
        if thing.chunks:
            return thing
        made = _in_chunks(of_columns((thing.name,), [thing], 0))
        assert type(made) is Table
        return made[0]
    if all(column.chunks for column in thing):
        return thing
    return front_columns.table(thing.__arrow_c_array__())


def _column_named(column: Column) -> str:
    return f"column {column.name!r}" if column.name else f"a column of {column.dtype}"


def _type_of(obj: "Any") -> str:
    return f"lend.{type(obj).__name__}" if type(obj) is Column or type(obj) is Table else type_name_of(obj)


def _listed(columns: "list[Column]", total: int) -> str:
    if len(columns) == total:
        return "all columns" if total != 1 else "the column"
    names = ", ".join(repr(column.name) for column in columns[:_SHOWN])
    return names if len(columns) <= _SHOWN else f"{names} and {len(columns) - _SHOWN} more"


@guarded
def _name_of(call: "Any") -> str:
    name = full_name(call) if isinstance(call, type) else getattr(call, "__qualname__", None)
    return name if isinstance(name, str) else full_name(type(call))


@lets_go
def take(obj: "Any", copy: "bool | None" = None, looking: bool = False, index: "str | None" = None) -> FrameDraft:
    """Take an object as the column or the table that it is; `looking`, what gives its rows once is left as it is.

    `index`: what becomes of the index of a DataFrame, as `lend.table` says.
    """
    copy = False if copy is False else None  # a copy of all is made on the way to the target, if it needs one
    if not looking:
        return _take(obj, copy, False, index)
    with LookedAt() as copied:
        draft = _take(obj, copy, True, index)
    draft.copied = copied
    return draft


def _take(obj: "Any", copy: "bool | None", looking: bool, index: "str | None") -> FrameDraft:
    if index is not None:
        return FrameDraft(obj, front_columns.table(obj, copy=copy, index=index), _way(obj, "Arrow stream"))
    tensor = work.peek(obj) if looking and capsule_offered(obj) is not None else None
    if tensor is not None:
        return FrameDraft(obj, front_columns.column(tensor, copy=copy), str(CAPSULE.name))
    if front_columns.gives_once(obj):
        if looking:
            return _described(obj)
        if type(obj) is Table:
            obj = obj.__arrow_c_stream__()
        return FrameDraft(obj, _taken_once(obj), "Arrow stream, given once")
    if type(obj) is Column or type(obj) is Table:
        return FrameDraft(obj, obj, "lend itself")
    if shows(type(obj), "__dataframe__") and not shows(type(obj), "__arrow_c_stream__"):
        return FrameDraft(obj, front_columns.table(obj), "__dataframe__, zero-copy as promised by the producer")
    stream = shows(type(obj), "__arrow_c_stream__") or shows(type(obj), "__arrow_c_device_stream__")
    if issubclass(type(obj), dict) or (stream and not is_one_column(obj)):
        return FrameDraft(obj, front_columns.table(obj, copy=copy), _way(obj, "Arrow stream"))
    made = front_columns.column(obj, copy=copy)
    array = shows(type(obj), "__arrow_c_array__") or shows(type(obj), "__arrow_c_device_array__")
    return FrameDraft(obj, made, _way(obj, "Arrow array" if array else "Arrow stream" if stream else "lend.view"))


def _way(obj: "Any", protocol: str) -> str:
    """How it was taken: by a protocol, or, of pandas, by what its frames are made of."""
    if issubclass(type(obj), dict):
        return "dict of columns"
    return _AS_IT_LIES if module_of(type(obj)).partition(".")[0] == "pandas" else protocol


@guarded
def _described(obj: "Any") -> FrameDraft:
    if sources.is_drained(obj):
        raise table_refusals.drained(sources.came(obj))
    made = front_columns.described(obj)
    if made is None:
        raise NotLendable.build(
            f"{type_name_of(obj)} gives its rows once, and does not tell their types before: it is not looked into",
            came=type_name_of(obj),
            remedy="t = lend.table(x), and lend.explain(t, target)",
        )
    return FrameDraft(obj, made, "Arrow stream, given once", to_come=True)


def _taken_once(obj: "Any") -> "Column | Table":
    described = None if shows(type(obj), "__arrow_c_stream__") else front_columns.described(obj)
    if type(described) is Column or (described is None and is_one_column(obj)):
        made = front_columns.column(obj)
        return made if described is not None or _says_column(obj) else _as_it_reads(made)
    return front_columns.table(obj)


def _says_column(obj: "Any") -> bool:
    """Whether the type of what offers a stream says that it is one column."""
    return any(shows(type(obj), name) for name in ("dtype", "type", "__len__", "__getitem__"))


def _as_it_reads(column: Column) -> "Column | Table":
    """What came from an object that says nothing of itself: structs without nulls are the rows of a table."""
    if column.dtype.kind != "struct" or column.null_count:
        return column
    table = front_columns.table(column)
    return of_columns(table.names, list(table.columns), len(table), column.metadata)


def is_one_column(obj: "Any") -> bool:
    """Whether what offers a stream is one column: its type says that it has no columns of its own."""
    return not any(shows(type(obj), name) for name in ("columns", "column_names", "schema", "num_columns", "names"))


@lets_go
def draw(
    obj: "Any",
    target: "Any",
    copy: "bool | None",
    device: "Any",
    nulls: "Any",
    options: "dict[str, Any]",
    looking: bool = False,
    alias_readonly: bool = False,
) -> "FrameDraft | Draft | ArraysDraft":
    """Find the way of a column or table to target, or refuse with what stands in it."""
    if device is not None:
        raise UnsupportedType.build("columns and tables stay on the device they are on, so far", remedy="device=None")
    index = None
    found = taker_of(target)
    if "index" in options and (found is None or found[0].name != "pandas"):
        options = dict(options)
        index = options.pop("index")
    asked = (target, found, copy, nulls, options, alias_readonly)
    if not looking and front_columns.gives_once(obj):
        _refuse_early(obj, asked)
    return _drawn(take(obj, copy, looking, index), *asked)


def _refuse_early(obj: "Any", asked: "tuple[Any, ...]") -> None:
    """What the types alone refuse of who gives its rows once is refused while they are still there."""
    described = guarded(front_columns.described)(obj)
    if described is not None:
        _drawn(FrameDraft(obj, described, "", to_come=True), *asked)


def _drawn(
    draft: FrameDraft,
    target: "Any",
    found: "tuple[Taker, str | None] | None",
    copy: "bool | None",
    nulls: "Any",
    options: "dict[str, Any]",
    alias_readonly: bool,
) -> "FrameDraft | Draft | ArraysDraft":
    if found is not None:
        taker, form = found
        frame_arrays.check_nulls(nulls)
        draft.nulls = nulls
        if not is_installed(taker.name.partition(".")[0]):
            raise ImportError(f"{taker.name} is not installed: python -m pip install {taker.package}")
        draft.judge(taker, form, copy, options)
        return draft
    if target is not None and callable(target) and not _is_array_library(target):
        if options:
            raise TypeError(f"{', '.join(options)}: no options of this target")
        draft.call, draft.copy = target, copy
        return draft
    return _as_array(draft, target, copy, nulls, options, alias_readonly)


def _is_array_library(target: "Any") -> bool:
    from lend.plan import targets

    return targets.resolve(target).library is not None


def _as_array(
    draft: FrameDraft,
    target: "Any",
    copy: "bool | None",
    nulls: "Any",
    options: "dict[str, Any]",
    alias_readonly: bool,
) -> "Draft | ArraysDraft":
    """A column or table as arrays; of classes that take one column as an array, by the View that it is."""
    from lend.plan import planner

    if target is None or frame_arrays.serves(target):
        return frame_arrays.draw(draft, target, copy, nulls, options, alias_readonly)
    if type(draft.thing) is Table or nulls is not None:
        raise UnsupportedLayout.build(
            f"{target!s:.60} takes one column as it lies",
            wanted=str(target),
            came=draft.came,
            remedy='lend.to(x, "pyarrow"), or each column by itself, without nulls=',
        )
    drawn = planner.draw(draft.thing.view(), target, copy, None, None, alias_readonly, options)
    assert isinstance(drawn, planner.Draft)
    return drawn


def survey(obj: "Any", copy: "bool | None") -> Plan:
    """What came, and to which installed libraries it can go."""
    draft = take(obj, copy, True)
    verdicts = {}
    for name, taker in TAKERS.items():
        if not is_installed(name):
            continue
        try:
            draft.judge(taker, None, copy, {})
        except LendError as refusal:
            verdicts[name] = f"refused: {refusal.fact}"
            continue
        copied = [verdict for _, verdict in draft.verdicts if not verdict.shares]
        known = sum(verdict.nbytes or 0 for verdict in copied)
        why = "; ".join(dict.fromkeys(why for verdict in copied for why in (verdict.why, verdict.theirs) if why))
        if not copied:
            verdicts[name] = "shared"
        elif any(verdict.nbytes is None or verdict.theirs for verdict in copied):
            verdicts[name] = f"{len(copied)} of {len(draft.verdicts)} columns may be copied: {why}"
        else:
            verdicts[name] = f"{amount(known)} copied: {why}"
    return Plan(
        source=draft.came,
        source_type=_type_of(obj),
        target=None,
        protocol=draft.taken_by,
        steps=[Step("take", draft.taken_by)],
        notes=draft.noted(),
        targets=verdicts,
    )
