"""The planner of columns and tables: what `lend.explain` tells of them and `lend.to` does is one draft, as for arrays.

A draft has the Column or Table that was taken, and a verdict of the target on each column.
Arrays of one column (numpy, torch and so on) are made by the planner of arrays, of the View that a column is.
"""

import sys
from functools import partial

from lend import front_columns
from lend._core.copies import LookedAt
from lend._core.letting_go import lets_go
from lend._core.owners import type_name_of
from lend.adapters import columns, pandas_index
from lend.adapters.asking import guarded
from lend.adapters.frame_takers import READER, TAKERS, Taker
from lend.adapters.rules import is_installed
from lend.adapters.verdicts import OTHERS
from lend.columns.column import Column
from lend.errors import LendError, NotLendable, UnsupportedLayout, change_came, change_remedy
from lend.plan import (
    frame_arrays,
    frame_classes,
    frame_words,
    null_policies,
    remedies,
    routing,
    targets,
    unchanged,
    work,
    written_anew,
)
from lend.plan.frame_classes import check_known
from lend.plan.frame_drafts import FrameDraft
from lend.protocols.classes import shows
from lend.protocols.dlpack import CAPSULE, capsule_offered
from lend.tables import refusals as table_refusals
from lend.tables import sources
from lend.tables.table import Table, of_columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.plan.frame_arrays import ArraysDraft
    from lend.plan.planner import Draft
    from lend.plan.unchanged import Unchanged

__all__ = ["check_known", "draw", "take", "taker_of"]

# the remedy of the planner of arrays that is for arrays alone
_ALIGNED = ", or memory that lies so from the start"
# what people write for a target
_MEANT = {"pa": "pyarrow", "pl": "polars"}
# what is left to be tried where no call works
_COLUMNS = "its columns, each by itself: lend.table(x).columns"
_PARTS = "what it is made of, each part by itself: lend.column(x).chunks, and the buffers and children of each"
# what a class has whose objects have columns of their own
_OF_TABLES = ("columns", "column_names", "num_columns", "names")


def taker_of(target: "Any") -> "tuple[Taker, str | None] | None":
    """The library of a target that takes columns and tables, and the class that was named; None for all others."""
    cls = type(target)  # of an odd class not even its __class__ is asked
    if issubclass(cls, str):
        name = _MEANT.get(target, target)
        if name in TAKERS:
            return TAKERS[name], None
        found = next(((taker, full) for taker in TAKERS.values() for full in taker.classes if _named(name, full)), None)
        named = frame_classes.class_named(name) if found is None else None
        return found if named is None else frame_classes.taker_of_class(named)
    if cls is type(sys):
        name = target.__name__.partition(".")[0]
        return (TAKERS[name], None) if name in TAKERS else None
    return frame_classes.taker_of_class(target) if issubclass(cls, type) else None


def _named(name: str, full: str) -> bool:
    """Whether a dotted name is that of a class, as it is called or as it is defined."""
    top, _, last = name.rpartition(".")
    return name == full or (top == full.partition(".")[0] and last == full.rpartition(".")[2])


@lets_go
def take(
    obj: "Any",
    copy: "bool | None" = None,
    looking: bool = False,
    index: "str | None" = None,
    nested: bool = False,
) -> FrameDraft:
    """Take an object as the column or the table that it is; `looking`, what gives its rows once is left as it is.

    `index`, `nested`: what becomes of the index and the objects of pandas, as `lend.table` says.
    """
    copy = False if copy is False else None  # a copy of all is made on the way to the target, if it needs one
    if not looking:
        return _take(obj, copy, False, index, nested)
    with LookedAt() as copied:
        draft = _take(obj, copy, True, index, nested)
    draft.copied = copied
    return draft


def _take(obj: "Any", copy: "bool | None", looking: bool, index: "str | None", nested: bool) -> FrameDraft:
    if index is not None or (nested and (issubclass(type(obj), dict) or columns.is_frame(obj))):
        table = front_columns.table(obj, copy=copy, index=index, nested=nested)
        return FrameDraft(obj, table, _way(obj, "Arrow stream"), index=index)
    if nested and columns.is_of_pandas(type(obj)):
        return FrameDraft(obj, front_columns.column(obj, copy=copy, nested=True), frame_words.AS_IT_LIES)
    tensor = work.peek(obj) if looking and capsule_offered(obj) is not None else None
    if tensor is not None:
        return FrameDraft(obj, front_columns.column(tensor, copy=copy), str(CAPSULE.name))
    if front_columns.gives_once(obj):
        if looking:
            return _described(obj)
        made = front_columns.table(obj) if type(obj) is Table else _taken_once(obj)
        return FrameDraft(obj, made, "Arrow stream, given once")
    if type(obj) is Column or type(obj) is Table:
        return FrameDraft(obj, obj, "lend itself")
    inner = columns.unwrapped(obj)  # of narwhals' queries it is what they wrap that has a stream
    cls = type(inner)
    if columns.of_buffers(cls):
        from lend.adapters import pylibcudf

        taken = front_columns.table if pylibcudf.holds_table(cls) else front_columns.column
        return FrameDraft(obj, taken(obj, copy=copy), pylibcudf.WAY)
    if shows(type(obj), "__dataframe__") and not shows(type(obj), "__arrow_c_stream__"):
        return FrameDraft(obj, front_columns.table(obj), "__dataframe__, zero-copy as promised by the producer")
    stream = shows(cls, "__arrow_c_stream__") or shows(cls, "__arrow_c_device_stream__")
    array = shows(cls, "__arrow_c_array__") or shows(cls, "__arrow_c_device_array__")
    batch = array and not stream and any(shows(cls, name) for name in _OF_TABLES)
    if issubclass(cls, dict) or batch or (stream and not is_one_column(inner)):
        return FrameDraft(
            obj, front_columns.table(obj, copy=copy), _way(obj, "Arrow array" if batch else "Arrow stream")
        )
    made = front_columns.column(obj, copy=copy)
    protocol = "Arrow array" if array else "Arrow stream" if stream else _last_door(cls, made)
    return FrameDraft(obj, made, _way(obj, protocol))


def _last_door(cls: type, made: Column) -> str:
    """How a column came of what speaks none of Arrow's protocols: as an array, or by what it makes for pyarrow."""
    by_pyarrow = shows(cls, "__arrow_array__") and any(
        getattr(chunk.owner, "kind", None) == "arrow" for chunk in made.chunks
    )
    return "__arrow_array__" if by_pyarrow else "lend.view"


def _way(obj: "Any", protocol: str) -> str:
    """How it was taken: by a protocol, or, of pandas, by what its frames are made of."""
    if issubclass(type(obj), dict):
        return "dict of columns"
    return frame_words.AS_IT_LIES if columns.is_of_pandas(type(obj)) else protocol


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
    cls = type(obj)
    if any(shows(cls, name) for name in _OF_TABLES):
        return False
    # arrays of nanoarrow have a schema, too, which says of what they are
    return not shows(cls, "schema") or type(guarded(front_columns.described)(obj)) is Column


@lets_go
def draw(
    obj: "Any",
    target: "Any",
    copy: "bool | None",
    nulls: "Any",
    options: "dict[str, Any]",
    looking: bool = False,
    alias_readonly: bool = False,
) -> "FrameDraft | Draft | ArraysDraft | Unchanged":
    """Find the way of a column or table to target, or refuse with what stands in it."""
    index, nested = None, options.get("nested", False)
    found = taker_of(target)
    same = None if options or nulls is not None else unchanged.found(obj, target, found, copy)
    if same is not None:
        return same
    if "nested" in options:
        if nested is not True and nested is not False:
            raise TypeError(f"nested is True or False, not {nested!r:.60}")
        options = {name: value for name, value in options.items() if name != "nested"}
    if "index" in options and (found is None or found[0].name != "pandas"):
        options = dict(options)
        index = options.pop("index")
    asked = (target, found, copy, nulls, options, alias_readonly)
    if looking or not front_columns.gives_once(obj):
        bare = index is None and found is None and routing.is_for_arrays(target) and columns.is_frame(obj)
        draft = take(obj, copy, looking, "drop" if bare else index, nested)
        if copy is False and draft.rows:
            written_anew.forbid(obj, draft.came)
        if bare:  # it is no data, and need not be made columns
            draft.index, draft.left = None, pandas_index.carried(columns.unwrapped(obj)) or []
        return _proven(draft, *asked, nested)
    _refuse_early(obj, asked)
    if found is not None and found[1] == READER and copy is not True and nulls is None:
        draft = _described(obj)
        if type(draft.thing) is Table:
            return _drawn(draft, *asked)
    draft = take(obj, copy, looking, index, nested)
    try:
        return _proven(draft, *asked)
    except LendError as refusal:
        gone = "of a new reader: this one gave its rows before they were refused (t = lend.table(x) keeps them)"
        change_remedy(refusal, f"{refusal.remedy}\n{gone}" if refusal.remedy else gone)
        raise


def _refuse_early(obj: "Any", asked: "tuple[Any, ...]") -> None:
    """What the types alone refuse of who gives its rows once is refused while they are still there."""
    described = guarded(front_columns.described)(obj)
    if described is not None:
        _proven(FrameDraft(obj, described, "", to_come=True), *asked)


def ahead(
    draft: FrameDraft, target: "Any", copy: "bool | None", nulls: "Any", options: "dict[str, Any]", alias_readonly: bool
) -> "FrameDraft | Draft | ArraysDraft":
    """The way of a column or table without rows, as far as types alone tell it."""
    options = {name: value for name, value in options.items() if name != "nested"}
    return _proven(draft, target, taker_of(target), copy, nulls, options, alias_readonly)


def _proven(
    draft: FrameDraft,
    target: "Any",
    found: "tuple[Taker, str | None] | None",
    copy: "bool | None",
    nulls: "Any",
    options: "dict[str, Any]",
    alias_readonly: bool,
    nested: bool = False,
) -> "FrameDraft | Draft | ArraysDraft":
    """The way, or a refusal whose remedies were tried."""
    null_policies.check(nulls, draft.thing)
    try:
        return _drawn(draft, target, found, copy, nulls, options, alias_readonly)
    except LendError as refusal:
        _say_column(refusal, draft)
        if type(target) is targets.Target or not remedies.names_calls(refusal):
            raise  # of a survey, which tells no remedies, and imports no library to try them
        given = {"copy": copy, "nulls": nulls, "index": draft.index, **options}
        given |= {"nested": nested or None, "alias_readonly": alias_readonly or None}
        given = {name: value for name, value in given.items() if value is not None}
        table = type(draft.thing) is Table
        column = draft.at.name if table and draft.at is not None else None
        nullable, parts = (_nullable(draft), _COLUMNS) if table else ([], _PARTS)
        remedies.prove(refusal, given, _options_of, partial(_tried, draft), column, nullable, parts)
        raise


def _say_column(refusal: LendError, draft: FrameDraft) -> None:
    """Let a refusal of a column of a table name that as the caller reaches it."""
    if refusal.remedy is not None and _ALIGNED in refusal.remedy:  # what is no array cannot be had so
        change_remedy(refusal, refusal.remedy.partition(_ALIGNED)[0])
    if type(draft.thing) is Column and refusal.remedy is not None and f"\n{OTHERS}" in refusal.remedy:
        change_remedy(refusal, refusal.remedy.replace(f"\n{OTHERS}", ""))
    if type(draft.thing) is not Table or draft.at is None or refusal.remedy is None:
        return
    name = draft.at.name
    alone = name and sum(other.name == name for other in draft.columns()) == 1
    place = remedies.written(name if alone else draft.columns().index(draft.at))
    change_remedy(refusal, refusal.remedy.replace("lend.column(x)", f"lend.table(x)[{place}]"))


def _tried(draft: FrameDraft, target: str, keywords: "dict[str, Any]") -> "tuple[LendError, str | None] | None":
    """How a way is refused, and the column that it is about; nothing is done but to draw it."""
    again = FrameDraft(draft.obj, draft.thing, draft.taken_by, to_come=draft.rows is None, index=draft.index)
    again.left, again.tried = draft.left, True
    options = dict(keywords)
    copy, nulls = options.pop("copy", None), options.pop("nulls", None)
    found, alias_readonly = taker_of(target), options.pop("alias_readonly", False)
    if found is None or found[0].name != "pandas":
        options.pop("index", None)
    options.pop("nested", None)
    try:
        null_policies.check(nulls, draft.thing)
        _drawn(again, target, found, copy, nulls, options, alias_readonly)
    except LendError as refusal:
        _say_column(refusal, again)
        return refusal.with_traceback(None), None if again.at is None else again.at.name
    except ImportError:
        return None  # that it is not installed it says by itself
    except (KeyError, TypeError, ValueError):
        return LendError(), None
    return None


def _nullable(draft: FrameDraft) -> "list[str]":
    """The columns of a table that have nulls."""
    try:
        return [column.name for column in draft.columns() if draft.rows and column.null_count]
    except LendError:
        return []  # what contradicts itself, or is on a device


def _options_of(target: str) -> "tuple[str, ...]":
    """The options that a target has."""
    found = taker_of(target)
    if found is not None:
        return ("nulls", *found[0].options)
    library = targets.resolve(target).library
    return () if library is None else ("nulls", *library.options)


def _drawn(draft: FrameDraft, *asked: "Any") -> "FrameDraft | Draft | ArraysDraft":
    try:
        return _judged(draft, *asked)
    except LendError as refusal:
        # of rows to come nobody knows how many there are, or in how many chunks
        told, none, rest = (refusal.came or "").partition("[0] in 0 chunks")
        if draft.rows is None and none:
            change_came(refusal, f"{told}{rest}, whose rows did not come yet")
        raise


def _judged(
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
        draft.nulls = nulls
        if not is_installed(taker.name.partition(".")[0]):
            raise ImportError(f"{taker.name} is not installed: python -m pip install {taker.package}")
        draft.judge(taker, form, copy, options)
        wanted = frame_classes.class_named(target) if isinstance(target, str) else target
        if form is not None and isinstance(wanted, type):
            frame_classes.check_made(draft, wanted)
        return draft
    if routing.is_call(target):
        if options:
            raise TypeError(f"{', '.join(options)}: no options of this target")
        check_known(target)
        draft.judge_call(target, copy, nulls)
        return draft
    return _as_array(draft, target, copy, nulls, options, alias_readonly)


def _as_array(
    draft: FrameDraft,
    target: "Any",
    copy: "bool | None",
    nulls: "Any",
    options: "dict[str, Any]",
    alias_readonly: bool,
) -> "Draft | ArraysDraft":
    """A column or table as arrays; of classes that take one column as an array, by the View that it is."""
    from lend.plan import drawing, planner

    if target is None or frame_arrays.serves(target):
        return frame_arrays.draw(draft, target, copy, nulls, options, alias_readonly)
    if type(draft.thing) is Table or nulls is not None:
        raise UnsupportedLayout.build(
            f"{target!s:.60} takes one column as it lies",
            wanted=str(target),
            came=draft.came,
            remedy='lend.to(x, "pyarrow"), or each column by itself, without nulls=',
        )
    drawn = drawing.draw(draft.thing.view(), target, copy, None, None, alias_readonly, options)
    assert isinstance(drawn, planner.Draft)
    return drawn
