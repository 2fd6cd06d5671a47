"""Step and Plan: what `lend.explain` answers, and what `lend.to` carries out."""

from lend.adapters.verdicts import TO_COME
from lend.views.describe import as_text as _text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["Plan", "Step"]

SHARED = 0
_WHO = {"lend": "lend", "producer": "the producer", "target": "the target"}
_LISTED = 4  # columns that are named in one line


class Step:
    """One step of a plan.

    Attributes
    ----------
    kind : str
        "take" (from the producer), "wait" (for work on its device), "work" (on the way) or "give" (to the target).
    what : str
        What happens.
    who : str or None
        Who copies: "lend", "producer" or "target"; None when nobody does.
    nbytes : int or None
        Bytes copied: 0 when the memory is shared, None when it may be copied and only the target knows.
    why : str
        The reason for a copy; empty when there is none.
    column : str or None
        The name of the column that it is about, where it is about one of several.
    """

    __slots__ = ("column", "kind", "nbytes", "what", "who", "why")

    def __init__(
        self,
        kind: str,
        what: str,
        nbytes: "int | None" = SHARED,
        who: "str | None" = None,
        why: str = "",
        column: "str | None" = None,
    ) -> None:
        self.column = column
        self.kind = kind
        self.what = what
        self.nbytes = nbytes
        self.who = who
        self.why = why

    @property
    def cost(self) -> str:
        """What the step copies, in words."""
        if self.kind == "wait":
            return ""
        if self.nbytes == SHARED and self.who is None:
            return "shared"
        if self.nbytes is None:
            return f"{self.who} may copy"
        return f"{self.who} copies {amount(self.nbytes)}"

    def to_dict(self) -> "dict[str, Any]":
        """The step as plain values."""
        return {"kind": self.kind, "what": self.what, "who": self.who, "nbytes": self.nbytes, "why": self.why}

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, Step) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.kind, self.what, self.who, self.nbytes, self.why))

    def __repr__(self) -> str:
        return f"Step({self.kind}: {self.what}; {self.cost})"


class Plan:
    """How one object goes to one target: the steps, who copies how much, and why.

    Made by `lend.explain`; it holds text and numbers only, no lease and no object. Two that say the same are equal.

    Attributes
    ----------
    source : str
        What came: dtype, shape, device, and who lent it.
    source_type : str
        The type that lent it.
    target : str or None
        What it becomes; None when no target was named.
    protocol : str
        The protocol by which it was taken.
    steps : tuple of Step
        In the order in which `lend.to` carries them out.
    notes : tuple of str
        What else the reader should know: whether writes are seen on the other side, whether the producer may move the
        memory.
    targets : dict of str to str
        Without a target: for each installed one "shared", or what stands in the way.

    Examples
    --------
    >>> import lend
    >>> plan = lend.explain(b"1234", "memoryview")
    >>> print(plan)
    bytes to memoryview: shared, nothing is copied
      came : uint8[4] on cpu, read-only, lent by bytes
      take : buffer protocol                 shared
      give : buffer protocol, as memoryview  shared
    >>> plan.bytes_copied, plan.copies
    (0, ())
    """

    __slots__ = ("notes", "protocol", "source", "source_type", "steps", "target", "targets")

    def __init__(
        self,
        *,
        source: str,
        source_type: str,
        target: "str | None",
        protocol: str,
        steps: "Sequence[Step]",
        notes: "Sequence[str]" = (),
        targets: "dict[str, str] | None" = None,
    ) -> None:
        self.source = source
        self.source_type = source_type
        self.target = target
        self.protocol = protocol
        self.steps = tuple(steps)
        self.notes = tuple(notes)
        self.targets = dict(targets or {})

    @property
    def copies(self) -> "tuple[Step, ...]":
        """The steps that copy, or may."""
        return tuple(step for step in self.steps if step.nbytes != SHARED or step.who is not None)

    @property
    def bytes_copied(self) -> "int | None":
        """Bytes that all steps together copy; None if only the target knows."""
        total = 0
        for step in self.steps:
            if step.nbytes is None:
                return None
            total += step.nbytes
        return total

    def to_dict(self) -> "dict[str, Any]":
        """The plan as plain values, such as JSON can carry."""
        return {
            "source": self.source,
            "source_type": self.source_type,
            "target": self.target,
            "protocol": self.protocol,
            "steps": [step.to_dict() for step in self.steps],
            "bytes_copied": self.bytes_copied,
            "notes": list(self.notes),
            "targets": dict(self.targets),
        }

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, Plan) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.source, self.source_type, self.target, self.protocol, self.steps))

    def __str__(self) -> str:
        lines = [self._headline(), f"  came : {self.source}"]
        steps = _together(self.steps)
        width = max(len(step.what) for step in steps)
        for step in steps:
            label = "copy" if step.kind == "work" else step.kind
            lines.append(f"  {label} : {step.what:<{width}}  {step.cost}")
            if step.why:
                lines.append(f"         {step.why}")
        lines += [f"  note : {note}" for note in self.notes]
        widest = max(map(len, self.targets), default=0)
        lines += [f"    to : {name:<{widest}}  {verdict}" for name, verdict in self.targets.items()]
        return "\n".join(lines)

    # in a session the answer to `lend.explain(x, target)` is the picture itself
    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The same for notebooks: a table of the steps and of the targets, the notes below."""
        rows = [("came", self.source, "")]
        rows += [
            ("copy" if step.kind == "work" else step.kind, step.what, _cost_and_why(step))
            for step in _together(self.steps)
        ]
        rows += [("to", name, verdict) for name, verdict in self.targets.items()]
        cells = "".join(
            f"<tr><th>{_text(label)}</th><td>{_text(what)}</td><td>{_text(cost)}</td></tr>"
            for label, what, cost in rows
        )
        notes = "".join(f"<p>{_text(note)}</p>" for note in self.notes)
        return f"<p><b>{_text(self._headline())}</b></p><table>{cells}</table>{notes}"

    def _certain(self) -> str:
        """What is known of a copy whose bytes are not all known: who copies for sure, and who may beside."""
        known: dict[str, int] = {}
        for step in self.steps:
            if step.nbytes and step.who is not None:
                known[step.who] = known.get(step.who, 0) + step.nbytes
        said = ", ".join(f"{_WHO[who]} copies {amount(nbytes)}" for who, nbytes in known.items())
        ours = [step for step in self.steps if step.nbytes is None and step.who == "lend"]
        if ours:
            to_come = "how much is copied shows when it is made"
            if any(TO_COME in step.why for step in ours):
                to_come = TO_COME
            return f"{said}, and {to_come.replace('copied', 'copied beside')}" if said else to_come
        if not said:
            return "whether anything is copied only the target knows"
        return f"{said}, the target may copy more"

    def _headline(self) -> str:
        if self.target is None:
            return f"{self.source_type}: lent by {self.protocol}"
        way = f"{self.source_type} to {self.target}"
        total = self.bytes_copied
        if total is None:
            return f"{way}: {self._certain()}"
        if not self.copies:
            return f"{way}: shared, nothing is copied"
        return f"{way}: {amount(total)} copied"


def verdict_of(plan: Plan, *, taking: bool = False) -> str:
    """A plan in a few words, for a list of what becomes of an object in each library.

    `taking`: what was copied on taking it is told here, and not above the list.
    """
    copying = [step for step in plan.copies if taking or step.kind != "take" or step.who == "producer"]
    if not copying:
        return "shared"
    why = "; ".join(dict.fromkeys(step.why for step in copying if step.why))
    if any(step.nbytes is None for step in copying):
        return f"may be copied: {why}"
    return f"{amount(sum(step.nbytes or 0 for step in copying))} copied: {why}"


def _together(steps: "Sequence[Step]") -> "list[Step]":
    """The steps to be shown: what is done alike with several columns, for one reason, is one of them."""
    groups: dict[object, list[Step]] = {}
    for step in steps:
        # what stands beside the name is a part of what happens
        key = (step.kind, step.who, step.why, step.nbytes is None, step.what.replace(repr(step.column), "", 1))
        groups.setdefault(id(step) if step.column is None else key, []).append(step)
    shown = []
    for alike in groups.values():
        first = alike[0]
        if len(alike) > 1:
            names = listed([repr(step.column) for step in alike])
            what = first.what.replace(f"column {first.column!r}", f"columns {names}", 1)
            total = None if first.nbytes is None else sum(step.nbytes or 0 for step in alike)
            first = Step(first.kind, what, total, first.who, first.why)
        shown.append(first)
    return shown


def listed(names: "list[str]") -> str:
    """Names, up to a number: `a, b, c and 9 more`."""
    if len(names) <= _LISTED:
        return ", ".join(names)
    return f"{', '.join(names[: _LISTED - 1])} and {len(names) + 1 - _LISTED} more"


def _cost_and_why(step: Step) -> str:
    return f"{step.cost}: {step.why}" if step.why else step.cost


def amount(nbytes: int) -> str:
    """Bytes in words: `8000 bytes`, `1 byte`."""
    return "1 byte" if nbytes == 1 else f"{nbytes} bytes"
