"""The draft of a way: the memory looked at, judged by the rules of the target, what must be copied noted or refused.

`to` carries it out, `explain` writes it down and lets go; drawing.py finds which it is.
"""

from lend import doors, front
from lend._core.letting_go import lets_go
from lend.adapters import advice, columns, pandas_index, pandas_kinds
from lend.adapters.rules import ANEW, CONTIGUOUS, IMMUTABLE, Reason, Rules, reasons_to_copy
from lend.dtypes import DType
from lend.errors import CopyRequired, LendError, NotHostAccessible, UnsupportedLayout, change_remedy
from lend.plan import recheck, targets, work
from lend.plan.facts import Facts, protocol_of
from lend.plan.steps import Plan, Step, amount
from lend.protocols import refusals
from lend.protocols.buffer import buffer_offered
from lend.protocols.dlpack import CAPSULE, capsule_offered
from lend.views import values
from lend.views.buffers import Buffer
from lend.views.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.device import Device
    from lend.devices.access import Access

# how the memory gets to us
PLAIN = "plain"  # a View of it was taken
IN_CAPSULE = "capsule"  # a bare capsule was looked into, and is consumed only when the plan is carried out
GATHERED = "gathered"  # its rows lie behind pointers
RESOLVED = "resolved"  # its library has still to write its value out
WRITTEN = "written"  # lend has still to write it, of a column


def refuse_by(rules: Rules, facts: Facts) -> None:
    """Raise what the rules refuse of the memory.

    The name of the error is dropped before it goes: a frame that refers to an error that refers to the frame would hold
    the memory until the collector comes.
    """
    refused = None if rules.refuse is None else rules.refuse(facts, rules)
    try:
        if refused is not None:
            of_objects = facts.dtype.kind == "object" and facts.view is not None
            if of_objects and isinstance(refused, LendError) and refused.remedy:
                change_remedy(refused, advice.of_objects(facts.view, refused.remedy))
            raise refused
    finally:
        del refused


class Draft:
    """A way that was found, not yet gone."""

    __slots__ = (
        "access", "asks", "brings", "copy", "crossing", "facts", "obj", "packing", "reasons", "rules", "sends",
        "signed", "source", "staged", "sync", "there", "unresolved", "whole",
    )  # fmt: skip

    def __init__(self, obj: "Any", whole: bool) -> None:
        self.obj = obj
        self.whole = whole  # the bytes of a Buffer
        self.source = PLAIN
        self.unresolved: Any = None
        self.packing: tuple[Reason, int | None] | None = None
        self.copy: bool | None = None
        self.signed = False
        self.access: Access | None = None  # of memory of a device that the host will read
        self.crossing: Reason | None = None
        self.brings = False  # the driver copies it to the host, as was asked by name
        self.asks = False  # its producer does, where no driver can
        self.sends: Device | None = None  # the same to a device
        self.staged = False  # put in order on the host before
        self.there = False  # what must be copied is copied by the driver, on its own device
        self.sync: str | None = None
        self.reasons: list[Reason] = []
        self.facts: Facts
        self.rules: Rules

    # -- drawing --

    def look(self, taken: "View | None" = None, refused: "list[Any] | None" = None) -> None:
        """Find out the facts of the memory; nothing is copied and nothing that is there once is used up.

        A View that was taken of the object just now serves as it is. A door that has refused just now is not asked
        again: `refused` has its protocol and what it said, and is emptied, as a frame must not keep an error.
        """
        obj = self.obj
        if taken is not None:
            self.facts = Facts.of(taken)
            return
        if type(obj) is View or type(obj) is Buffer:
            recheck.verify(obj)
        elif capsule_offered(obj) is not None:
            peeked = work.peek(obj)
            if peeked is not None:
                self.source = IN_CAPSULE
                self.facts = Facts.of(peeked)
                return
        else:
            ask = getattr(doors.adapter_of(obj), "unresolved", None)
            self.unresolved = None if ask is None else ask(obj)
            if self.unresolved is not None:
                self.source = RESOLVED
                pending = self.unresolved
                self.facts = Facts.fresh(DType(pending.dtype), pending.shape, f"on cpu, lent by {refusals.name(obj)}")
                self.facts.readonly = pending.readonly
                self.facts.alignment_promised = pending.alignment
                return
        try:
            if refused:
                self.facts = Facts.of(front.view_after(obj, refusal=refused.pop(), refused_by=refused.pop()))
            else:
                self.facts = Facts.of(front.view(obj))
        except UnsupportedLayout as refusal:
            if not doors.is_suboffsets(refusal) or buffer_offered(obj) is None:
                raise  # rows of what its __array__ gave are gathered by nobody
            self.source = GATHERED
            with memoryview(obj) as rows:
                dtype, shape = DType.from_format(rows.format, rows.itemsize), tuple(rows.shape or ())
            if dtype.kind == "record":
                front.view(obj, copy=True)  # refused: rows of records are gathered by nobody
            self.facts = Facts.fresh(
                dtype, shape, f"on cpu, rows behind pointers (suboffsets), lent by {refusals.name(obj)}"
            )

    def judge(self, rules: Rules, copy: "bool | None", device: "Device | None", alias_readonly: bool) -> None:
        """Judge the memory by the rules of the target: refuse it, or note what must be copied and why."""
        self.rules = rules
        self.copy = copy
        crossing = self.crossing = self._device_reason(device, copy)
        facts = self.facts
        refuse_by(rules, facts)
        self.packing = None if rules.packs is None else rules.packs(facts)
        self.reasons = reasons_to_copy(facts, rules, alias_readonly)
        if copy is False:
            needed = [*self._taking_reasons(), *self.reasons, *([self.packing[0]] if self.packing else ())]
            if needed:
                raise self._copy_required(needed)
        self.signed = alias_readonly and not self.reasons and bool(reasons_to_copy(facts, rules, False))
        fresh = crossing is not None or (self.source in (GATHERED, RESOLVED, WRITTEN) and not facts.readonly)
        # a target that makes objects of its own may well keep memory in them
        packed = self.packing is not None and self.packing[1] is not None
        if copy is True and not self.reasons and not packed and not fresh:
            self.reasons = [Reason("copy", "copy=True")]
        if self.reasons and facts.dtype.has_objects:
            raise refusals.holds_objects(facts, "copied")
        if self.reasons and self._copied_there():
            return
        if self.reasons and device is not None and device.type != 1:
            from lend.requirements import copy_is_on_cpu

            raise copy_is_on_cpu(device, facts.came)
        if self.reasons and not facts.device.is_host:
            raise NotHostAccessible.build(
                f"{self.reasons[0].why}: a copy is made by the host, which does not read memory on {facts.device}",
                came=facts.came,
                remedy="copy it with the library that made it, and hand on what that gives",
            )

    def _copied_there(self) -> bool:
        """Whether the driver makes the copy, on the device where the memory is and stays."""
        facts = self.facts
        if facts.device.type not in (2, 10) or facts.view is None or self.packing is not None:
            return False
        if not (self.rules.swapped or facts.dtype.is_native):
            return False  # bytes are swapped by the host
        from lend.devices import access

        self.there = access.access(facts.view).copied
        return self.there

    def _taking_reasons(self) -> "list[Reason]":
        if self.source == GATHERED:
            return [Reason("suboffsets", "the buffer has suboffsets (rows behind pointers), which must be gathered")]
        if self.source == RESOLVED:
            return [Reason(self.unresolved.word, self.unresolved.why)]
        return []

    def _device_reason(self, wanted: "Device | None", copy: "bool | None") -> "Reason | None":
        """Whether the target takes memory of this device; a copy to the CPU is made when it is asked for by name."""
        here, rules = self.facts.device, self.rules
        if wanted is not None and wanted.type == here.type and wanted.id != here.id and -1 in (wanted.id, here.id):
            here = self._numbered(wanted)
            if wanted.id < 0:
                wanted = None  # of the kind, whatever its number
        if self._comes_to_the_host(wanted, copy):
            brought = self.brings or self.asks
            return Reason("device", f"memory on cpu was asked for, and this is on {here}") if brought else None
        if self._goes_to(wanted, copy):
            if wanted == here:
                return Reason("copy", "copy=True")
            return Reason("device", f"memory on {wanted} was asked for, and this is on {here}")
        if wanted is not None and wanted != here:
            if not wanted.is_host and wanted.type not in rules.devices:
                raise advice.not_made_there(wanted, rules, self.facts.came)
            if copy is False and wanted.type in (2, 10):
                self.reasons = [Reason("device", f"memory on {wanted} was asked for, and this is on {here}")]
                raise self._copy_required(self.reasons)
            if self.facts.dtype.has_objects:
                raise refusals.holds_objects(self.facts, "copied")
            if wanted.id < 0:
                from lend.protocols import device_refusals

                raise device_refusals.unnumbered(wanted, self.facts.came, "a copy to a device")
            raise advice.not_copied_there(wanted, here, self.facts.came)
        if here.type in rules.devices:
            return None
        raise NotHostAccessible.build(
            f"lend.to makes a {rules.form} of host memory alone, and this is to stay on {here} (device)",
            came=self.facts.came,
            remedy='device="cpu"; or the View itself, which speaks DLPack and the interface of its device: '
            "torch.as_tensor(v) (of writable memory: from_pointer has readonly=False), cupy.asarray(v)",
        )

    def _numbered(self, wanted: "Device") -> "Device":
        """Where it is, by the driver's word if its producer does not tell the number."""
        from lend.devices import ordering
        from lend.protocols import device_refusals

        facts = self.facts
        if facts.device.id < 0 and facts.view is not None and ordering.number(facts.view) >= 0:
            facts.device = facts.view.device
        if facts.device.id < 0 and wanted.id >= 0:
            raise device_refusals.unnumbered(facts.device, facts.came, f"device={str(wanted)!r}")
        return facts.device

    def _comes_to_the_host(self, wanted: "Device | None", copy: "bool | None") -> bool:
        """Whether the host reads the memory of a device as it lies, once what must be waited for is done."""
        facts, by_name = self.facts, wanted is not None and wanted.type == 1
        if facts.view is None or facts.device.type == 1 or (wanted is not None and not by_name):
            return False
        if not by_name and facts.device.type in self.rules.devices:
            return False
        from lend.devices import access

        found = access.access(facts.view)
        if found.host is False or (found.host is None and not (by_name and copy is False)):
            if by_name and copy is not False and (found.copied or found.asked):
                self.brings, self.asks = found.copied, not found.copied
                self.facts = facts.brought()
                return True
            access.on_host(facts.view)  # refused, with the reason
        self.access = found
        self.facts = facts.on_host(found.address)
        return True

    def _goes_to(self, wanted: "Device | None", copy: "bool | None") -> bool:
        """Whether the driver copies it to a device, of whose memory the target makes something."""
        facts = self.facts
        if wanted is None or wanted.id < 0 or wanted.type not in (2, 10) or (wanted == facts.device and not copy):
            return False
        if copy is False or wanted.type not in self.rules.devices or facts.dtype.has_objects:
            return False
        from lend.devices import access, copying, refusals

        copying.check_driver(facts, wanted.type, wanted.id)
        if facts.view is not None and facts.device.type != 1:
            found = access.access(facts.view)
            if not found.copied:
                raise refusals.not_readable(facts.view, found.name, False)
        self.sends = wanted
        self.staged = facts.device.is_host and not facts.c_contiguous
        self.facts = facts.sent(wanted)
        return True

    def _copy_required(self, needed: "list[Reason]") -> CopyRequired:
        first, *others = needed
        words = [reason.word for reason in needed]
        remedy = f"copy=None ({self._price()})"
        if words == ["read-only"]:
            remedy += ", or alias_readonly=True: you promise not to write"
        elif words == ["alignment"]:
            boundary = max(self.rules.alignment, 64)
            remedy += f", or memory that lies so from the start: lend.view(x, align={boundary}, copy=True), once"
        elif words == ["bit-packed"] and self.rules.name == "pyarrow":  # which packs, where others have bytes
            remedy += f', or lend.to(x, "{self.rules.name}", bool8=True), which shares them as Arrow\'s bool8'
        elif words == [ANEW]:
            remedy += ', or lend.to(x, "memoryview"), which shares the memory'
        return CopyRequired.build(
            f"{first.why} ({first.word})",
            wanted=f"{self.rules.form} without a copy (copy=False)",
            came=self.facts.came,
            tried=[f"{reason.why} ({reason.word})" for reason in others] or None,
            remedy=remedy,
        )

    def _price(self) -> str:
        """What copy=None would copy."""
        by_lend = self.facts.nbytes if self.reasons or self.source in (GATHERED, RESOLVED, WRITTEN) else 0
        by_target = self.packing[1] if self.packing else 0
        if by_target is None:
            return f"{self.rules.form} makes objects of its own"
        counted = "" if by_target else ", counted"
        return f"a copy of {amount(by_lend + by_target)}{counted}"

    # -- carrying out --

    @lets_go
    def carry_out(self) -> "Any":
        """Do what the draft says, and check that nobody else copied."""
        view = self._take()
        if self.access is not None:
            from lend.devices import access

            view = access.on_host(view, self.sync, self.access.host is None)
        elif self.brings and self.crossing is not None:
            from lend.devices import copying

            view = copying.to_host(view, self.crossing.why, self.sync)
        elif self.asks:
            from lend.devices import by_producer

            view = by_producer.to_host(view, front.view)
            if view.readonly or not (view.c_contiguous and view.aligned):
                view = values.copied(view, "C", False, "put in order on the host")
        elif self.sends is not None and self.crossing is not None:
            from lend.devices import copying

            view = copying.to_device(view, self.sends.type, self.sends.id, self.crossing.why, self.sync)
        rules = self.rules
        if self.there:
            from lend.devices import copying, ordering

            view = copying.to_device(view, view.device.type, ordering.number(view), self._why(), self.sync)
        elif self.reasons:
            swap = not rules.swapped and not view.dtype.is_native
            view = values.copied(view, "F" if self._keeps_columns() else "C", swap, self._why())
        give = rules.giver(self.facts)
        handed: Any = work.unmarked(view) if self.signed else view
        if self.whole and (rules.unknown or rules is targets.OURSELVES):
            handed = handed.buffer
        made = give(handed)
        if rules.address is not None and view.size and self.packing is None:
            there = rules.address(made)
            if there is not None and there != view.ptr:
                raise LendError.build(
                    f"{rules.name} copied the memory, which it was expected to share",
                    came=[self.facts.came, f"address {view.ptr:#x}, and that of the {rules.form} is {there:#x}"],
                    remedy="copy=True, and tell us: the rules for this library have changed",
                )
        return made

    def _take(self) -> "View":
        if self.source == GATHERED:
            return work.gathered(self.obj, self._taking_reasons()[0].why)
        if self.source == RESOLVED:
            made: View = front.view(self.unresolved.resolve())
            from lend._core.copies import note

            note(self.facts.came, self.unresolved.why, self.facts.nbytes)
            return made
        if self.source == IN_CAPSULE:
            consumed: View = front.view(self.obj)
            return consumed
        assert self.facts.view is not None
        return self.facts.view

    def _why(self) -> str:
        return "; ".join(reason.why for reason in self.reasons)

    def _keeps_columns(self) -> bool:
        """Whether a copy keeps column-major order, which costs less and changes no value."""
        return self.facts.f_contiguous and not self.facts.c_contiguous and self.rules.layout != CONTIGUOUS

    # -- writing down --

    def written_down(self) -> Plan:
        """The draft as a Plan, which holds no lease."""
        facts, rules = self.facts, self.rules
        name = refusals.name(self.obj if self.source != IN_CAPSULE else None)
        if type(self.obj) is View or type(self.obj) is Buffer:
            name = f"lend.{type(self.obj).__name__}"
        protocol = self.protocol()
        target = "lend.Buffer" if self.whole and rules is targets.OURSELVES else rules.form
        steps = []
        if self.source == RESOLVED:
            steps.append(Step("take", protocol, facts.nbytes, "producer", self.unresolved.why))
        else:
            steps.append(Step("take", protocol))
        if self.access is not None:
            steps.append(Step("wait", self._waits()))
        if self.crossing is not None:
            if self.staged:
                steps.append(Step("work", "into fresh memory", facts.nbytes, "lend", "put in order for a device"))
            where = "the host" if self.sends is None else str(self.sends)
            how, who = ("producer", "producer") if self.asks else ("driver", "lend")
            steps.append(Step("work", f"by the {how}, to {where}", facts.nbytes, who, self.crossing.why))
        if self.source == GATHERED:
            steps.append(Step("work", "rows into fresh memory", facts.nbytes, "lend", self._taking_reasons()[0].why))
        if self.reasons:
            swapped = ", bytes swapped" if not rules.swapped and not facts.dtype.is_native else ""
            if self.there:
                swapped = f" on {facts.device}, by the driver"
            steps.append(Step("work", f"into fresh memory{swapped}", facts.nbytes, "lend", self._why()))
        given = f"{rules.by}, as {target}"
        if rules.unknown:
            given = f"call of {target} with a {'Buffer' if self.whole else 'View'}"
        if self.packing is not None:
            steps.append(Step("give", given, self.packing[1], "target", self.packing[0].why))
        elif rules.unknown:
            own = "what it does with the memory is its own affair"
            if self.copy is False:
                own += ": with copy=False lend copies nothing, and speaks for itself alone"
            steps.append(Step("give", given, None, "target", own))
        else:
            steps.append(Step("give", given))
        return Plan(
            source=facts.came,
            source_type=name,
            target=target,
            protocol=protocol,
            steps=steps,
            notes=self._notes(),
        )

    def _waits(self) -> str:
        """What is waited for before the host reads."""
        assert self.access is not None
        named = {
            "nothing": "for nothing",
            "producer": "for the work of its producer",
            "device": "for all of the device",
        }
        how = {"none": "nothing", "device": "device"}.get(self.sync or "", self.access.wait)
        return f"{named[how]} ({self.access.name})"

    def protocol(self) -> str:
        """The protocol by which the memory comes."""
        if self.source == GATHERED:
            return "buffer protocol"
        if self.source == IN_CAPSULE:
            return str(CAPSULE.name)
        if self.source == RESOLVED:
            return str(self.unresolved.door)
        assert self.facts.view is not None
        return protocol_of(self.obj, self.facts.view)

    def _notes(self) -> "list[str]":
        facts, rules = self.facts, self.rules
        notes = []
        shared = not self.reasons and self.packing is None and self.source in (PLAIN, IN_CAPSULE)
        if self.source == IN_CAPSULE:
            notes.append("lend.to consumes the capsule; lend.explain only looked into it")
        if facts.untold:
            notes.append("writability unknown (unversioned capsule): taken as read-only")
        if self.signed:
            notes.append(f"alias_readonly: you promise not to write through the {rules.form} to this read-only memory")
        if rules.unknown and shared and facts.readonly and not self.signed:
            notes.append(f"read-only: every protocol says so to {rules.form}, which must respect it")
        if shared and rules.readonly == IMMUTABLE and facts.size and not facts.readonly:
            notes.append("aliased: later writes to the source are visible there")
        if self.source == PLAIN and columns.is_of_pandas(type(self.obj)):
            # what it shows is read-only, and it writes there all the same; an Index is never written to
            if shared and facts.size and not pandas_kinds.is_index_of(self.obj, ""):
                notes.append("aliased: later writes to the source are visible there")
            notes += pandas_index.noted(self.obj, "array")
        return notes

    def may_move(self) -> "list[str]":
        """How the producer may move the memory under a loan: said of what came, not each time it is handed on."""
        facts = self.facts
        how = recheck.may_move(facts.view) if self.source == PLAIN and facts.view is not None and facts.nbytes else None
        return [] if how is None else [f"may reallocate: {how}; lend.to and verify() look again, exports do not"]
