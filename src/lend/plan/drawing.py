"""The planner: what `lend.explain` tells and `lend.to` does is one draft, drawn here and nowhere else.

A draft is drawn in four moves: understand the target, look at the memory, judge it by the target's rules, refuse or
note what must be copied.
"""

from lend import front_columns
from lend._core.letting_go import lets_go
from lend.adapters import text
from lend.device import Device
from lend.errors import LendError, UnsupportedType, add_wanted
from lend.plan import routing, targets
from lend.plan.facts import Facts
from lend.plan.planner import PLAIN, Draft
from lend.protocols import refusals
from lend.views.buffers import Buffer
from lend.views.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.adapters.rules import Give
    from lend.plan.frame_arrays import ArraysDraft
    from lend.plan.frame_drafts import FrameDraft
    from lend.plan.moves import Moved
    from lend.plan.unchanged import Unchanged

_OF_PANDAS = ("index", "nested")  # options of what is taken


def check_copy(copy: "Any") -> None:
    if copy is not None and copy is not True and copy is not False:
        raise refusals.no_choice("copy", copy)


@lets_go
def draw(
    obj: "Any",
    target: "Any",
    copy: "bool | None",
    device: "Any",
    nulls: "Any",
    alias_readonly: bool,
    options: "dict[str, Any]",
    taken: "View | None" = None,
    refused: "list[Any] | None" = None,
    looking: bool = False,
) -> "Draft | FrameDraft | ArraysDraft | Unchanged | Moved":
    """Find the way of obj to target, or refuse with what stands in it."""
    check_copy(copy)
    if alias_readonly is not True and alias_readonly is not False:
        raise TypeError(f"alias_readonly is True or False, not {alias_readonly!r:.60}")
    from lend.plan import frames

    sync = options.pop("sync", None)
    if sync not in (None, "stream", "device", "none"):
        raise ValueError(f'sync is "stream", "device" or "none", not {sync!r:.60}')
    # what only columns have is asked of the column that an array of one dimension is
    asked = bool(options) or nulls is not None
    if options and frames.taker_of(target) is None and routing.is_for_arrays(target):
        # what becomes of the index of a DataFrame is asked when it is taken, whoever gets it
        targets.resolve(target).check_options(
            {name: value for name, value in options.items() if name not in _OF_PANDAS}
        )
    filled = (nulls is not None or "bool8" in options) and frames.taker_of(target) is not None
    if filled or routing.goes_as_a_frame(obj, target, asked):
        return _as_columns(obj, target, copy, device, nulls, options, looking, alias_readonly, sync)
    aim = targets.resolve(target)
    aim.check_options(options)
    if aim.call is not None:
        frames.check_known(aim.call)
    if target is None and device is None:
        raise TypeError("lend.to needs a target, or device= to say where the memory should be")
    where = None if device is None else Device(device)
    if nulls is not None:
        raise UnsupportedType.build(
            f"nulls={nulls!r:.60} says what becomes of the nulls of a column, and {refusals.name(obj)} is handed on as "
            "an array",
            remedy="fill the nulls with the library that made it, and leave nulls= out",
        )
    draft = Draft(obj, type(obj) is Buffer)
    draft.sync = sync
    try:
        draft.look(taken, refused)
    except LendError as refusal:
        # what is no array as it lies may be a column that can be made one
        other = routing.takes_columns(target) or routing.is_call(target)
        if not (other and (routing.is_of_columns(obj) or text.holds_strings(obj))):
            add_wanted(refusal, aim.said if where is None else f"{aim.said} on {where}")
            raise
    else:
        # its array would show the value that is NumPy's NaT, and bools that are neither 0 nor 1
        is_other = draft.facts.dtype.kind in ("datetime", "timedelta", "bool")
        other = is_other and routing.is_of_arrow(type(obj)) and routing.takes_columns(target)
        other = other or (device is None and draft.source == PLAIN and goes_as_a_column(draft.facts, target, aim.form))
    if other:
        draft.obj = None
        return _as_columns(obj, target, copy, device, nulls, options, looking, alias_readonly, sync)
    draft.judge(aim.rules(draft.facts, draft.whole), copy, where, bool(alias_readonly))
    return draft


def _as_columns(
    obj: "Any",
    target: "Any",
    copy: "bool | None",
    device: "Any",
    nulls: "Any",
    options: "dict[str, Any]",
    looking: bool,
    alias_readonly: bool,
    sync: "str | None",
) -> "FrameDraft | Draft | ArraysDraft | Unchanged | Moved":
    """The way of a column or table; over a device where one, or what is waited for, was named."""
    if device is None and sync is None:
        from lend.plan import frames

        return frames.draw(obj, target, copy, nulls, options, looking, alias_readonly)
    from lend.plan import moves

    return moves.draw(obj, target, copy, device, nulls, options, looking, alias_readonly, sync)


_AS_COLUMNS = ("text", "bytes", "object", "datetime", "timedelta", "record")


def goes_as_a_column(facts: Facts, target: "Any", form: "str | None" = None) -> bool:
    """Whether it is of strings, times or records, of which a library that takes columns has text, nulls and structs."""
    from lend.plan import frames

    if facts.dtype.kind not in _AS_COLUMNS or len(facts.shape) != 1 or frames.taker_of(target) is None:
        return False
    # bytes of one width go as they lie where their class was asked for, and where nothing pads them
    padded = facts.dtype.kind == "bytes" and facts.view is not None and text.is_padded(front_columns.column(facts.view))
    return facts.dtype.kind != "bytes" or (form in (None, "Array") and padded)


def quick(target: "Any", view: View) -> "Give | None":
    """The function that hands view to target when nothing else is to be done, for front.pyx to remember; else None.

    It serves every View with the same dtype, device kind, read-only, contiguity and alignment flags, under copy=None
    and copy=False and without options. Refuses as `to` does.
    """
    aim = targets.resolve(target)
    if aim.library is None or aim.form == targets.MASKED:
        return None
    draft = Draft(view, False)
    draft.facts = Facts.of(view)
    from lend.plan import frames

    if draft.facts.dtype.kind in _AS_COLUMNS and frames.taker_of(target) is not None:
        return None  # it may depend on what lies there
    draft.judge(aim.rules(draft.facts, False), None, None, False)
    rules = draft.rules
    if draft.reasons or draft.packing is not None or not rules.steady:
        return None
    if draft.facts.device.type != 1 or not (draft.facts.c_contiguous or rules.layout == "any"):
        return None
    return rules.giver(draft.facts)
