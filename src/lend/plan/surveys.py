"""`lend.explain` without a target: what came, and what becomes of it in each library that is installed."""

from lend._core.letting_go import lets_go
from lend.adapters.frame_takers import TAKERS
from lend.adapters.rules import is_installed
from lend.errors import LendError
from lend.plan import drawing, frame_words, frames, planner, routing, targets, unchanged
from lend.plan.steps import Plan, amount, verdict_of
from lend.protocols.classes import module_of
from lend.views.buffers import Buffer
from lend.views.producer import Producer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["survey"]


@lets_go
def survey(obj: "Any", copy: "bool | None" = None, alias_readonly: bool = False) -> Plan:
    """What came, and to which installed libraries it can go, and how, under the keywords that `to` would get."""
    drawing.check_copy(copy)
    cls = type(obj)
    if module_of(cls) in routing.OURS or routing.is_frame(cls):
        return _of_columns(obj, copy, bool(alias_readonly))
    draft = planner.Draft(obj, type(obj) is Buffer)
    as_columns = routing.is_of_columns(obj)
    try:
        draft.look()
        as_columns = False
    except LendError:
        from lend.adapters import text

        as_columns = as_columns or text.holds_strings(obj)
        if not as_columns:
            raise
    if as_columns:  # no array as it lies
        return _of_columns(obj, copy, bool(alias_readonly))
    verdicts = {}
    for name in targets.ADAPTERS:
        library = targets.library(name)
        if library.package and not is_installed(name):
            continue
        if draft.source == planner.PLAIN and drawing.goes_as_a_column(draft.facts, name):
            told = _by_themselves(draft.facts.view, {name: name}, copy, alias_readonly)[name]
            verdicts[name] = told if isinstance(told, str) else verdict_of(told, taking=True)
            continue
        try:
            draft.judge(library.choose(draft.facts, None, draft.whole), copy, None, bool(alias_readonly))
        except LendError as refusal:
            verdicts[name] = f"refused: {refusal.fact}"
            continue
        plan = draft.written_down()
        why = "; ".join(step.why for step in plan.copies)
        verdicts[name] = f"{amount(plan.bytes_copied or 0)} copied: {why}" if plan.copies else "shared"
    others: dict[str, Any] = {name: name for name in TAKERS if name not in targets.ADAPTERS and is_installed(name)}
    others |= {name: aim for name, aim in targets.of_arrays().items() if name not in targets.ADAPTERS}
    # what is no column already is asked for its memory once
    own = issubclass(cls, Producer) or not routing.is_of_columns(obj)
    given = draft.facts.view if draft.facts.view is not None and own else obj
    for name, told in _by_themselves(given, others, copy, alias_readonly).items():
        verdicts[name] = told if isinstance(told, str) else verdict_of(told, taking=True)
    draft.judge(targets.OURSELVES, None, None, False)
    plan = draft.written_down()
    return Plan(
        source=plan.source,
        source_type=plan.source_type,
        target=None,
        protocol=plan.protocol,
        steps=plan.steps[:-1],
        notes=[*plan.notes, *draft.may_move()],
        targets=verdicts,
    )


def _by_themselves(
    obj: "Any", aims: "dict[str, Any]", copy: "bool | None", alias_readonly: bool
) -> "dict[str, Plan | str]":
    """The plans of ways that are drawn of the object itself: of columns to arrays, and of arrays to columns."""
    found: dict[str, Plan | str] = {}
    for name, aim in aims.items():
        try:
            drawn = drawing.draw(obj, aim, copy, None, None, alias_readonly, {}, looking=True)
            found[name] = drawn.written_down()
        except LendError as refusal:
            found[name] = f"refused: {refusal.fact}"
    return found


@lets_go
def _of_columns(obj: "Any", copy: "bool | None", alias_readonly: bool) -> Plan:
    """The same of a column or table."""
    draft = frames.take(obj, copy, True)
    notes = draft.noted()
    verdicts = {}
    for name, taker in TAKERS.items():
        if not is_installed(name):
            continue
        if unchanged.found(obj, name, (taker, None), copy) is not None:
            verdicts[name] = "shared"
            continue
        try:
            draft.judge(taker, None, copy, {})
        except LendError as refusal:
            verdicts[name] = f"refused: {refusal.fact}"
            continue
        copying = draft.would_copy()
        copied = [verdict for _, verdict in copying]
        known = sum(verdict.nbytes or 0 for verdict in copied)
        why = "; ".join(dict.fromkeys(why for verdict in copied for why in (verdict.why, verdict.theirs) if why))
        if not copied:
            verdicts[name] = "shared"
        elif any(verdict.nbytes is None or verdict.theirs for verdict in copied):
            verdicts[name] = (
                f"{len({id(column) for column, _ in copying})} of {len(draft.verdicts)} columns may be copied: {why}"
            )
        else:
            verdicts[name] = f"{amount(known)} copied: {why}"
    for name, told in _by_themselves(obj, targets.of_arrays(), copy, alias_readonly).items():
        verdicts[name] = told if isinstance(told, str) else verdict_of(told)
    return Plan(
        source=draft.came,
        source_type=frame_words.type_of(obj),
        target=None,
        protocol=draft.taken_by,
        steps=draft.taking(),
        notes=notes,
        targets=verdicts,
    )
