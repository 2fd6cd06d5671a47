"""Columns and tables that are asked for on a device by its name: brought to the host, where they are judged, or sent.

What the host may read is shared once its work is done; all else is copied by the driver, and counted. What a target
makes of a column is judged by its type beforehand, as nothing of its memory is read before that is there.
"""

from mmap import mmap

from lend import front_columns
from lend._core.letting_go import lets_go
from lend.columns import refusals
from lend.columns.building import vouched
from lend.columns.column import Column
from lend.columns.parts import is_on_several, known_nulls
from lend.device import Device
from lend.errors import CopyRequired, LendError, NotHostAccessible, change_came
from lend.plan import frame_words, frames, routing
from lend.plan.frame_drafts import FrameDraft
from lend.plan.steps import Plan, Step
from lend.tables.table import Table, of_columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.plan.frame_arrays import ArraysDraft
    from lend.plan.planner import Draft
    from lend.plan.unchanged import Unchanged

_DRIVEN = (2, 10)  # kinds of devices that the driver copies to
_HOST = Device("cpu")
_MASKS = ("bitmask", "bytemask")
_WAITS = {"none": "nothing", "device": "all of the device"}


@lets_go
def draw(
    obj: "Any",
    target: "Any",
    copy: "bool | None",
    device: "Any",
    nulls: "Any",
    options: "dict[str, Any]",
    looking: bool,
    alias_readonly: bool,
    sync: "str | None" = None,
) -> "Moved | FrameDraft | Draft | ArraysDraft | Unchanged":
    """Find the way of a column or table to a target on a device; of None, to where the target reads it."""
    where = _HOST if device is None else Device(device)
    once = front_columns.gives_once(obj)
    taken = frames.take(obj, copy, looking, nested=options.get("nested", False) is True)
    stays = all(_is_on(column, where) for column in taken.columns()) or (device is None and routing.is_call(target))
    if target is not None and where.is_host and stays:
        given = taken.thing if once and not looking else obj  # of who gives its rows once they are taken by now
        return frames.draw(given, target, copy, nulls, options, looking, alias_readonly)
    asked = (target, copy, nulls, options, alias_readonly)
    return Moved(taken, where, stays, asked, sync, device is not None)


def _is_on(column: Column, where: Device) -> bool:
    """Whether all of a column is on a device; of one on several it is not."""
    return not is_on_several(column) and column.device == where


class Moved:
    """A way over a device, found and not yet gone."""

    __slots__ = ("after", "asked", "by_name", "stays", "sync", "taken", "told", "where")

    def __init__(
        self,
        taken: FrameDraft,
        where: Device,
        stays: bool,
        asked: "tuple[Any, ...]",
        sync: "str | None",
        by_name: bool,
    ) -> None:
        self.taken = taken
        self.where = where
        self.stays = stays
        self.asked = asked
        self.sync = sync  # what each buffer is waited for
        self.by_name = by_name  # that a device was asked for
        self.after: FrameDraft | Draft | ArraysDraft | None = None  # what the target makes of it then
        self.told: list[tuple[Column, int | None]] = []
        target, copy, nulls, options, _ = asked
        if target is None and (options or nulls is not None):
            raise TypeError(f"{', '.join([*options, 'nulls'][:1])}: without a target there is nothing that it is for")
        if stays and copy is not True:
            return
        if not where.is_host:
            self._check_there(target)
        for column in taken.columns():
            self._judge(column, copy)
        if target is not None and where.is_host:
            self._look_ahead()

    def _look_ahead(self) -> None:
        """Judge what the target makes of it by types and lengths, before a byte is moved."""
        target, copy, nulls, options, alias_readonly = self.asked
        thing: Any = self.taken.thing
        columns, rows = self.taken.columns(), len(thing)
        made: list[Any] = [_stand_in(column, any(column is other for other, _ in self.told)) for column in columns]
        if to_come := None in made:
            made, rows = [_without_rows(column) for column in columns], 0
        thing = of_columns(thing.names, made, rows, thing.metadata) if type(thing) is Table else made[0]
        draft = FrameDraft(thing, thing, "", to_come=to_come)
        try:
            self.after = frames.ahead(draft, target, None if copy else copy, nulls, options, alias_readonly)
        except LendError as refusal:
            change_came(refusal, self.taken.came)
            raise

    def _check_there(self, target: "Any") -> None:
        where, came = self.where, self.taken.came
        if target is not None and not routing.is_call(target):
            raise NotHostAccessible.build(
                f"columns on {where} were asked for, and lend.to makes things of {target!s:.40} of host memory alone",
                came=came,
                remedy=f"lend.to(x, device={str(where)!r}), and what that has for its library: DLPack, "
                "__cuda_array_interface__, Arrow's device arrays",
            )
        if where.type not in _DRIVEN:
            raise NotHostAccessible.build(
                f"columns on {where} were asked for, and lend copies to devices of cuda and rocm alone",
                came=came,
                remedy="copy them with a library that has such a device, and hand on what that gives",
            )
        from lend.devices import copying

        copying.check_driver(self.taken.columns()[0] if self.taken.columns() else self, where.type, where.id)

    def _judge(self, column: Column, copy: "bool | None") -> None:
        """Note what is copied of a column, or refuse."""
        shared, nbytes = False, None
        if not (frame_words.is_hosted(column) and self.where.is_host):
            from lend.devices import moving

            shared, nbytes = moving.told(column, not self.where.is_host)
        elif copy is not True:
            return  # it is there
        if shared and self.where.is_host and copy is not True:
            return
        if not self.by_name:
            frame_words.check_host(column, f"{self.asked[0]!s:.40}")
        if copy is False:
            raise CopyRequired.build(
                f"memory on {self.where} was asked for, and {frame_words.column_named(column)} is on "
                f"{refusals.where(column)} (device)",
                came=self.taken.came,
                remedy="copy=None (a copy by the driver, counted)",
            )
        self.told.append((column, nbytes))

    def _describe(self) -> str:
        return self.taken.came

    def why(self, column: Column) -> str:
        return f"memory on {self.where} was asked for, and this is on {refusals.where(column)}"

    # -- carrying out --

    @lets_go
    def carry_out(self) -> "Any":
        """Do what the draft says."""
        target, copy, nulls, options, alias_readonly = self.asked
        thing: Any = self.taken.thing
        made = [self._there(column) for column in self.taken.columns()]
        thing = of_columns(thing.names, made, len(thing), thing.metadata) if type(thing) is Table else made[0]
        if target is None:
            return thing
        drawn = frames.draw(thing, target, None if copy else copy, nulls, options, False, alias_readonly)
        return drawn.carry_out()

    def _there(self, column: Column) -> Column:
        copied = any(column is other for other, _ in self.told)
        if not copied and (self.stays or frame_words.is_hosted(column)):
            return column
        from lend.devices import columns, moving

        if not copied:
            return columns.on_host(column, self.sync)
        return moving.moved(column, self.where.type, self.where.id, self.why(column), self.sync)

    # -- writing down --

    def written_down(self) -> Plan:
        """The draft as a Plan, which holds no lease."""
        target = self.asked[0]
        steps, notes = self.taken.taking(), self.taken.noted()
        place = "the host" if self.where.is_host else str(self.where)
        for column in self.taken.columns():
            named = frame_words.column_named(column)
            nbytes = next((size for other, size in self.told if other is column), 0)
            if nbytes == 0:
                if not (self.stays or frame_words.is_hosted(column)):
                    steps.append(Step("wait", f"for {_WAITS.get(self.sync or '', f'the work on {named}')}"))
                continue
            steps.append(
                Step(
                    "work", f"{named} by the driver, to {place}", nbytes, "lend", self.why(column), column.name or None
                )
            )
        name = f"lend.{type(self.taken.thing).__name__}"
        if target is None:
            steps.append(Step("give", f"lend itself, as {name}"))
        elif self.after is not None:
            plan = self.after.written_down()
            name = str(plan.target)
            steps += [step for step in plan.steps if step.kind != "take" or step.who is not None]
            # what was copied on the way shows no later writes
            shown = [note for note in plan.notes if not (self.told and note.startswith("aliased"))]
            notes += [note for note in shown if note not in notes]
        else:
            name = target if isinstance(target, str) else getattr(target, "__name__", type(target).__name__)
            steps.append(Step("give", f"to {name}", None, "target", f"what it copies is judged on {place}"))
        return Plan(
            source=self.taken.came,
            source_type=frame_words.type_of(self.taken.obj),
            target=name,
            protocol=self.taken.taken_by,
            steps=steps,
            notes=notes,
        )


def _stand_in(column: Column, copied: bool) -> "Column | None":
    """A column of zeros on the host that lies as this one will, or this one, if it is there.

    None where only what is in it tells how it lies.
    """
    if not copied and frame_words.is_hosted(column):
        return column
    chunks = column.chunks
    first = chunks[0] if chunks else column
    width = first.dtype.itemsize
    known = first.nulls.kind == "none" or (first.nulls.kind in _MASKS and known_nulls(first) == 0)
    if len(chunks) != 1 or not known or first.dictionary is not None or first.stride is None or not width:
        return None
    if not copied and first.stride != width:
        return None
    # pages that nobody touches
    memory: Any = memoryview(mmap(-1, max(len(first) * width, 1)))[: len(first) * width]
    if first.readonly and not copied:
        memory = memory.toreadonly()
    return Column.from_buffers(
        first.dtype, len(first), {"data": memory}, nulls="none", name=column.name, metadata=column.metadata
    )


def _without_rows(column: Column) -> Column:
    """A column of the host without rows, of the same type and form of nulls."""
    first = column.chunks[0] if column.chunks else column
    made = Column.from_buffers(
        first.dtype,
        0,
        {"validity": b""} if first.nulls.kind in _MASKS else {},
        nulls=first.nulls,
        children=[_without_rows(child) for child in first.children],
        dictionary=None if first.dictionary is None else _without_rows(first.dictionary),
        name=column.name,
        metadata=column.metadata,
    )
    return vouched(made, first)
