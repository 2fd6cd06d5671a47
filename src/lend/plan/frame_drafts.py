"""The way of a column or table to a library that takes such, or to a callable: judged, written down, carried out."""

from lend import front_columns
from lend._core.letting_go import lets_go
from lend.adapters import pandas_index
from lend.adapters.asking import guarded
from lend.adapters.frame_takers import ONE_CHUNK, Taker, check_names, told_to_pyarrow, unique
from lend.adapters.verdicts import TO_COME, Verdict
from lend.columns import inside, reading, refusals
from lend.columns.bools import as_bool8
from lend.columns.column import Column
from lend.columns.drafts import Draft, producers, producers_of, shows_writes, unchanged
from lend.columns.runs import Wish
from lend.errors import CopyRequired, UnsupportedLayout, UnsupportedType
from lend.plan import frame_classes, frame_forms, frame_words, null_policies, rows_to_come, written_anew
from lend.plan.steps import Plan, Step, amount, listed
from lend.protocols.classes import full_name
from lend.tables import index_note, sources
from lend.tables.table import Table, of_columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from lend._core.copies import Copy


_ANEW = "polars writes them anew each time it hands them on"
_LEVEL = "pandas makes the levels of a MultiIndex anew"
_BYTES = "bools of one byte each"


class FrameDraft:
    """A way of a column or table to a target that was found, not yet gone."""

    __slots__ = (
        *("at", "call", "copied", "copy", "form", "forms", "index", "nulls", "obj", "options", "rows"),
        *("left", "taken_by", "taker", "thing", "tried", "unvouched", "verdicts"),
    )

    def __init__(
        self,
        obj: "Any",
        thing: "Column | Table",
        taken_by: str,
        *,
        to_come: bool = False,
        index: "str | None" = None,
    ) -> None:
        self.index = index  # what became of that of pandas
        self.left: list[str] = []  # the names that an index would have as columns, which was not taken
        self.at: Column | None = None  # which is looked at
        self.tried = False  # drawn only to see whether it is refused
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
        self.unvouched: list[Column] = []  # what leads to somewhere that was looked at for this
        self.forms: list[Any] = []  # what lend makes of each column first, as drafts

    # -- drawing --

    def judge(self, taker: Taker, form: "str | None", copy: "bool | None", options: "dict[str, Any]") -> None:
        """Ask what the library does with every column; raise what it, or lend, refuses."""
        self.taker, self.form, self.copy, self.options = taker, form, copy, options
        self._check_options(taker, options)
        made_of = "table" if type(self.thing) is Table else "column"
        if (form is not None and taker.classes[form] != made_of) or getattr(taker, made_of) is None:
            for column in self.columns() if form is None else ():
                taker.judge(column, self.rows)  # that it is of no type that is taken comes first
            raise UnsupportedLayout.build(
                f"a {made_of} is not handed on as {form or taker.name}",
                wanted=form or taker.name,
                came=self.came,
                remedy=f'lend.to(x, "{taker.name}")' if form else f'a table: lend.to({{"name": x}}, "{taker.name}")',
            )
        if form in ONE_CHUNK and self.rows:
            self._check_chunks(form)
        for column in self.columns():
            if not frame_words.is_hosted(column):
                frame_words.check_host(column, taker.name, self.came)
        if type(self.thing) is Table and not self.thing.num_columns and not taker.bare:
            raise UnsupportedLayout.build(
                f"{taker.name} has no table without a column", came=self.came, remedy="a table of one column or more"
            )
        for column in self.columns():
            if reading.is_unvouched(column):
                column.verify(full=True)
                self.unvouched.append(column)
        if "bool8" in options:
            self._name_bools(options["bool8"])
        check_names(options.get("names"))  # of a column, too, which has one name
        if type(self.thing) is Table and taker.unique:
            self._check_names(self.thing, options)
        if not taker.arrow:
            self.thing = _in_chunks(self.thing)
        asked = {name: value for name, value in options.items() if name in taker.judged}
        if not taker.arrow:
            asked |= self.wishes()
        self.forms, self.verdicts = [], []
        # no comprehensions: the frame of one keeps what it closes over, and an error the frame
        for column in self.columns() if taker.arrow else ():
            self.at, way = column, null_policies.of_column(self.nulls, column)
            wished = frame_forms.draft_of(column, taker.name, way, copy, to_come=self.rows is None)
            self.forms.append(wished)
        for column in self.columns():
            self.at = column
            if not taker.arrow:
                asked["nulls"] = null_policies.of_column(self.nulls, column)
            verdict = taker.judge(frame_forms.shown(column) if taker.arrow else column, self.rows, **asked)
            self.verdicts.append((column, verdict))
        self.at = None
        self._judge_levels()
        # nothing is asked for the bytes of a copy that nobody forbids
        seen = self.would_copy() if copy is False else []
        copied = [(column, verdict) for column, verdict in seen if verdict.why != TO_COME]
        if copied:
            column, verdict = copied[0]
            price = f"{taker.name} copies"
            if all(one.nbytes is not None and not one.theirs for _, one in copied):
                price = f"a copy of {amount(sum(one.nbytes or 0 for _, one in copied))}, counted"
            raise CopyRequired.build(
                frame_words.why_copied(column, verdict.why, taker.name),
                wanted=f"{self._made()} without a copy (copy=False)",
                came=self.came,
                tried=[frame_words.why_copied(one, its.why, taker.name) for one, its in copied[1:4]] or None,
                remedy=[f"copy=None ({price})", *self._cheaper(copied)],
            )

    def _judge_levels(self) -> None:
        """Let pandas copy what it makes the levels of a MultiIndex of: it looks for the values that differ."""
        if self.taker is None or self.taker.name != "pandas" or type(self.thing) is Column or not self.rows:
            return
        index = self.options.get("index")
        places = pandas_index.places(pandas_index.told(self.thing.metadata), self.thing.names, index)
        for place in places if len(places) > 1 and index != "drop" else ():
            column, verdict = self.verdicts[place]
            if verdict.shares:
                self.verdicts[place] = column, Verdict(None, _LEVEL, verdict.becomes)
            elif verdict.nbytes:
                verdict.theirs = "; ".join(filter(None, [verdict.theirs, _LEVEL]))
            verdict.kept = ()

    def _cheaper(self, copied: "list[tuple[Column, Verdict]]") -> "list[str]":
        """Options by which less, or nothing, is copied."""
        assert self.taker is not None
        if any(_LEVEL in (verdict.why, verdict.theirs.rpartition("; ")[2]) for _, verdict in copied):
            return ['index="column", which leaves the levels of a MultiIndex columns']
        if self.taker.name == "pandas" and self.options.get("dtype_backend") != "pyarrow":
            return ['dtype_backend="pyarrow", which keeps columns as Arrow has them']
        if any(_BYTES in verdict.why for _, verdict in copied):
            return ["bool8=True, which gives bools of one byte as Arrow's bool8, and packs none"]
        return []

    def _name_bools(self, asked: "Any") -> None:
        """Let bools of one byte go as they lie, under the name that Arrow has for them."""
        if asked is not True and asked is not False:
            raise TypeError(f"bool8 is True or False, not {asked!r:.60}")
        self.options = {name: value for name, value in self.options.items() if name != "bool8"}
        named = [as_bool8(column) if asked else column for column in self.columns()]
        if any(made is not column for made, column in zip(named, self.columns(), strict=True)):
            thing = self.thing
            self.thing = (
                of_columns(thing.names, named, len(thing), thing.metadata) if type(thing) is Table else named[0]
            )

    def _check_chunks(self, form: str) -> None:
        assert self.taker is not None
        named = f"{'an' if form.endswith('.Array') else 'a'} {form.rpartition('.')[2]}"
        made_of, one = ("table", ".to_batches()[0]") if type(self.thing) is Table else ("column", "")
        way = f'lend.to(x, "{self.taker.name}")'
        count = sum(len(chunk) > 0 for chunk in self.thing.chunks)
        if count > 1:
            raise UnsupportedLayout.build(
                f"{named} has one chunk, and this {made_of} {count}",
                wanted=form,
                came=self.came,
                remedy=[f"{way}, which has chunks", f"{way}.combine_chunks(){one}, a copy by {self.taker.name}"],
            )

    def judge_call(self, call: "Any", copy: "bool | None", nulls: "Any") -> None:
        """The same of a callable, which gets the Column or Table as it lies, or a copy of that."""
        self.call, self.copy, self.nulls = call, copy, nulls
        if nulls not in (None, "forbid"):
            raise UnsupportedType.build(
                f"a callable gets columns as they lie, and nulls={nulls!r:.60} is a form that libraries take them in",
                wanted=f"a call of {_name_of(call)}",
                came=self.came,
                remedy='no nulls=; or lend.to(x, "pyarrow", nulls=...), and the call of what that gives',
            )
        frame_classes.check_own(call, self.thing, self.came, copy, self.rows is None)
        for column in self.columns():
            if nulls == "forbid":
                inside.forbid_nulls(column, Wish(f"a call of {_name_of(call)}", nulls), fills=False)
            if copy is True:
                self.forms.append(frame_forms.copy_of(column, to_come=self.rows is None))

    def would_copy(self) -> "list[tuple[Column, Verdict]]":
        """What is copied on the way, by lend and then by the target, and why."""
        made = [
            (form.source, Verdict(form.nbytes, "; ".join(form.reasons), who="lend"))
            for form in self.forms
            if not form.same and form.nbytes != 0
        ]
        return made + [(column, verdict) for column, verdict in self.verdicts if not verdict.shares]

    def wishes(self) -> "dict[str, Any]":
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
        double = frame_words.doubled(unique(table, options.get("names")))
        if double is not None:
            assert self.taker is not None
            name, places = double
            of_index = [table.names[place] for place in index_note.index_of(table)]
            raise UnsupportedLayout.build(
                f"{self.taker.name} takes no two columns of one name, and {name!r} is the name of columns {places}",
                came=self.came,
                remedy=[
                    *(['index="drop": one of them is the index'] if name in of_index else []),
                    'names="unique", which numbers them; or lend.table(x, columns=[...])',
                ],
            )

    def columns(self) -> "tuple[Column, ...]":
        """The columns of what came, or the one that it is."""
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
        # rows that did not come yet are handed on unread
        thing = front_columns.table(self.obj, lazy=True) if self.rows is None else self.thing
        if any(not form.same for form in self.forms):
            made = [form.make() for form in self.forms]
            thing = of_columns(thing.names, made, len(thing), thing.metadata) if type(thing) is Table else made[0]
        if self.taker is None:
            made_of = self._named(thing) if self.call is dict and type(thing) is Table else None
            return frame_classes.called(self.call, thing, self.came) if made_of is None else made_of
        if self.rows is None:
            sources.begun(self.obj)  # whose rows go to who reads what is made
        give = self.taker.give_table if type(thing) is Table else self.taker.give_column
        wishes = {} if self.taker.arrow else self.wishes()
        return give(thing, form=self.form, **self.options, **wishes)

    def _named(self, thing: Table) -> "dict[str, Column]":
        """What `dict` makes of a table: its columns by their names, and not the pairs that its rows may look like."""
        found = dict(zip(thing.names, thing.columns, strict=True))
        if len(found) < thing.num_columns:
            raise UnsupportedLayout.build(
                "a dict has no two values of one name, and this table has columns of one name",
                came=self.came,
                remedy="lend.to(x, list), its columns; or lend.table(x, columns=[...])",
            )
        return found

    # -- writing down --

    def _made(self) -> str:
        if self.taker is None:
            return _name_of(self.call)
        if self.form is not None:
            return self.form
        if type(self.thing) is Table:
            return self.taker.table or self.taker.name
        made = self.taker.column or self.taker.name
        if self.rows is None or len(self.thing.chunks) == 1:
            return made
        return made.replace(".Array", ".ChunkedArray")

    def _makes_structs(self) -> bool:
        each = self.nulls.values() if type(self.nulls) is dict else (self.nulls,)
        return any(way == "struct" for way in each if isinstance(way, str))

    def _renamed(self) -> "list[str]":
        """Notes of the names that the target changes, or that it was asked to change."""
        if self.taker is None or type(self.thing) is not Table:
            return []
        renames = self.taker.renames
        made = unique(self.thing, self.options.get("names")) if renames is None else renames(self.thing.names)
        changed = [pair for pair in zip(self.thing.names, made, strict=True) if pair[0] != pair[1]]
        more = (
            [f"{len(changed) - frame_words.SHOWN} more columns get other names"]
            if len(changed) > frame_words.SHOWN
            else []
        )
        return [f"column {old!r} is called {new!r} there" for old, new in changed[: frame_words.SHOWN]] + more

    def noted(self) -> "list[str]":
        """What became of the index of pandas, and of labels that are no text; that what came is a query."""
        if self.taken_by != frame_words.AS_IT_LIES:
            return [frame_words.QUERY] if frame_words.is_query(self.obj) else []
        back = self.taker is not None and self.taker.name == "pandas"
        notes = pandas_index.noted(self.obj, self.options.get("index") if back else self.index, back)
        labels = (
            [] if back or type(self.thing) is not Table else pandas_index.told(self.thing.metadata).get("labels", [])
        )
        others = [repr(label) for label in labels if type(label) is not str]
        return [*notes, f"names are text, which is made of the labels {listed(others)}"] if others else notes

    def taking(self) -> "list[Step]":
        """How it was taken, and what was copied for that."""
        steps = [Step("take", self.taken_by)]
        anew = sum(copy.why in frame_words.MADE_ANEW for copy in self.copied)
        if anew and anew >= len(self.columns()):
            steps = []
        elif anew and self.taken_by == frame_words.AS_IT_LIES:
            steps = [Step("take", "pandas, the other columns as they lie")]
        if self.rows:
            for name, nbytes, what in written_anew.found(self.obj):
                named = f"{what} of column {name!r}" if name else f"{what} of this column"
                steps.append(Step("take", named, nbytes, "producer", _ANEW, name or None))
        return steps + [Step("take", copy.what, copy.nbytes, "lend", copy.why) for copy in self.copied]

    def _shows_writes(self, column: Column) -> bool:
        """Whether a later write to what came shows in what is made of one of its columns."""
        if self.copied and getattr(column.owner, "kind", None) == "memory":
            return False  # copied when it was taken
        form = next((form for form in self.forms if form.source is column), None)
        if form is None or form.same:
            return shows_writes(unchanged(column))
        return isinstance(form, Draft) and shows_writes(form)

    def _kept(self) -> "set[type]":
        """The classes of those whose memory is in what is made."""
        if self.taker is not None and not self.taker.arrow:
            return {cls for _, verdict in self.verdicts for cls in verdict.kept}
        if not self.forms:
            return {cls for column in self.columns() for cls in producers_of(column)}
        return {cls for form in self.forms if isinstance(form, Draft) for cls in producers(form)}

    def written_down(self) -> Plan:
        """The draft as a Plan, which holds no lease."""
        steps, notes = self.taking(), self._renamed()
        told = "into fresh memory" if self.taker is None else "as Arrow has it"
        for column in self.unvouched:
            named = frame_words.column_named(column)
            steps.append(Step("take", f"{named}, of loose buffers: all they lead to is looked at, once"))
        for form in self.forms:
            if not form.same and form.nbytes != 0:
                what = f"{frame_words.column_named(form.source)} {told}"
                steps.append(Step("work", what, form.nbytes, "lend", "; ".join(form.reasons), form.source.name or None))
        if self.taker is None:
            own = "what it does with the memory is its own affair"
            steps.append(Step("give", f"call of {_name_of(self.call)}", None, "target", own))
        else:
            shared = [column for column, verdict in self.verdicts if verdict.shares]
            others: dict[str, list[Column]] = {}
            for column, verdict in self.verdicts:
                what, name = frame_words.column_named(column), column.name or None
                if verdict.nbytes != 0:
                    kind = "work" if verdict.who == "lend" else "give"
                    steps.append(Step(kind, what, verdict.nbytes, verdict.who, verdict.why, name))
                if verdict.theirs:
                    steps.append(Step("give", what, None, "target", verdict.theirs, name))
                if verdict.becomes is not None:
                    others.setdefault(f"{column.dtype}, becomes {verdict.becomes}", []).append(column)
            notes += [f"{_all_named(alike)}, {becomes}" for becomes, alike in others.items()]
            if self.copy is not True and any(map(self._shows_writes, shared)):
                notes.append("aliased: later writes to the source are visible there")
            if shared and self.rows and self.taker.name == "pandas":
                notes.append("read-only: pandas refuses to write to what it shares (copy=True, or a copy() of it)")
            if shared or not self.verdicts:
                way = "Arrow, " if self.taker.arrow else ""
                steps.append(Step("give", f"{way}{frame_words.listed(shared, len(self.verdicts))}, as {self._made()}"))
        if (
            self.taker is not None
            and self.taker.name == "pyarrow"
            and (self._makes_structs() or not all(told_to_pyarrow(column.dtype) for column in self.columns()))
        ):
            notes.append(
                "pyarrow keeps the name of an extension type that it does not know in tables alone, in no dictionary"
            )
        notes += self.noted()
        if self.rows is None:
            notes += rows_to_come.of_frames(self)
        if self.taken_by == frame_words.AS_IT_LIES and self.rows and frame_words.holds_pandas(self._kept()):
            notes.append(frame_words.LENT_BLOCKS)
        return Plan(
            source=self.came,
            source_type=frame_words.type_of(self.obj),
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


def _all_named(columns: "list[Column]") -> str:
    if len(columns) == 1:
        return refusals.named(columns[0])
    return f"each of columns {listed([repr(column.name) for column in columns])}"


@guarded
def _name_of(call: "Any") -> str:
    name = full_name(call) if isinstance(call, type) else getattr(call, "__qualname__", None)
    return name if isinstance(name, str) else full_name(type(call))
