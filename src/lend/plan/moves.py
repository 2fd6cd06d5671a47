"""Columns and tables that are asked for on a device by its name: brought to the host, where they are judged, or sent.

What the host may read is shared once its work is done; all else is copied by the driver, and counted. What a target
makes of a column is known when its memory is there, as nothing of it is read before.
"""

from lend import front_columns
from lend._core.letting_go import lets_go
from lend.columns.column import Column
from lend.device import Device
from lend.errors import CopyRequired, NotHostAccessible
from lend.plan import frame_words, frames, routing
from lend.plan.steps import Plan, Step
from lend.tables.table import Table, of_columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.plan.frame_arrays import ArraysDraft
    from lend.plan.frame_drafts import FrameDraft
    from lend.plan.planner import Draft
    from lend.plan.unchanged import Unchanged

_DRIVEN = (2, 10)  # kinds of devices that the driver copies to


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
) -> "Moved | FrameDraft | Draft | ArraysDraft | Unchanged":
    """Find the way of a column or table to a target on a device."""
    where = Device(device)
    once = front_columns.gives_once(obj)
    taken = frames.take(obj, copy, looking, nested=options.get("nested", False) is True)
    stays = all(column.device == where for column in taken.columns())
    if target is not None and where.is_host and stays:
        given = taken.thing if once and not looking else obj  # of who gives its rows once they are taken by now
        return frames.draw(given, target, copy, None, nulls, options, looking, alias_readonly)
    return Moved(taken, where, stays, (target, copy, nulls, options, alias_readonly))


class Moved:
    """A way over a device, found and not yet gone."""

    __slots__ = ("asked", "stays", "taken", "told", "where")

    def __init__(self, taken: "FrameDraft", where: Device, stays: bool, asked: "tuple[Any, ...]") -> None:
        self.taken = taken
        self.where = where
        self.stays = stays
        self.asked = asked
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
        if not column.device.is_host or not self.where.is_host:
            from lend.devices import moving

            shared, nbytes = moving.told(column, not self.where.is_host)
        elif copy is not True:
            return  # it is there
        if shared and self.where.is_host and copy is not True:
            return
        if copy is False:
            raise CopyRequired.build(
                f"memory on {self.where} was asked for, and {frame_words.column_named(column)} is on {column.device} "
                "(device)",
                came=self.taken.came,
                remedy="copy=None (a copy by the driver, counted)",
            )
        self.told.append((column, nbytes))

    def _describe(self) -> str:
        return self.taken.came

    def why(self, column: Column) -> str:
        return f"memory on {self.where} was asked for, and this is on {column.device}"

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
        drawn = frames.draw(thing, target, None if copy else copy, None, nulls, options, False, alias_readonly)
        return drawn.carry_out()

    def _there(self, column: Column) -> Column:
        copied = any(column is other for other, _ in self.told)
        if not copied and (self.stays or column.device.is_host):
            return column
        from lend.devices import columns, moving

        if not copied:
            return columns.on_host(column)
        return moving.moved(column, self.where.type, self.where.id, self.why(column))

    # -- writing down --

    def written_down(self) -> Plan:
        """The draft as a Plan, which holds no lease."""
        target = self.asked[0]
        steps = self.taken.taking()
        place = "the host" if self.where.is_host else str(self.where)
        for column in self.taken.columns():
            named = frame_words.column_named(column)
            nbytes = next((size for other, size in self.told if other is column), 0)
            if nbytes == 0:
                if not column.device.is_host:
                    steps.append(Step("wait", f"for the work on {named}"))
                continue
            steps.append(
                Step(
                    "work", f"{named} by the driver, to {place}", nbytes, "lend", self.why(column), column.name or None
                )
            )
        name = f"lend.{type(self.taken.thing).__name__}"
        if target is None:
            steps.append(Step("give", f"lend itself, as {name}"))
        else:
            name = target if isinstance(target, str) else getattr(target, "__name__", type(target).__name__)
            steps.append(Step("give", f"to {name}", None, "target", f"what it copies is judged on {place}"))
        return Plan(
            source=self.taken.came,
            source_type=frame_words.type_of(self.taken.obj),
            target=name,
            protocol=self.taken.taken_by,
            steps=steps,
            notes=self.taken.noted(),
        )
