"""`loans()`: which leases are alive, how many bytes they pin, and who lent them.

Nothing is registered when something is lent. The garbage collector knows every owner and every View already, so the
cost falls on who asks, not on who lends.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections import Counter
from typing import TYPE_CHECKING, Any, overload

from lend._core.owners import living
from lend.device import Device
from lend.errors import LeaseLost, UnsupportedLayout
from lend.views.buffers import Buffer
from lend.views.describe import as_text
from lend.views.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Self

    from lend._core.owners import Owner

__all__ = ["Loan", "Loans", "loans"]

# of others the memory has handles in place of addresses (opencl, vulkan, metal, webgpu, unknown ones), or may have:
# ranges cannot be compared
_BY_ADDRESS = frozenset((1, 2, 3, 9, 10, 11, 12, 13, 14, 16, 17, 18))

_SHOWN = 20  # lines of the printed table


class Loan:
    """One lease that was alive when `lend.loans()` looked; plain facts, which hold no memory.

    Pickled, it goes as these facts: in another process `owner` and `producer` are None.

    Attributes
    ----------
    kind : str
        What kind of lease: "buffer" (an open Py_buffer), "dlpack" (a DLPack tensor), "arrow" (an Arrow array), "object"
        (a reference to the producer), "device" (such a reference, and the stream of its work), "memory" (of lend's).
    producer_type : str
        Type of the object that lent the memory, such as "numpy.ndarray"; "PyCapsule" when a bare capsule did.
    nbytes : int
        Bytes that the lease pins, from the lowest to the highest byte lent.
    ptr : int
        Address of the lowest byte.
    spans : tuple of (int, int)
        Address and bytes of each piece of memory that is pinned: one, or the buffers of an Arrow array.
    device : Device or None
        Where the memory is; None when nothing of lend's is left to tell (a capsule holds it).
    views : int
        How many of our View and Buffer objects hold it.
    columns : int
        How many Columns do; what is within one (chunks, children, a dictionary) is counted with it.
    tables : int
        How many Tables do, by their columns.
    exports : int
        What others hold of it: `owner.exports`.
    owner : Owner or None
        The lease itself, None once it was given back. Only a weak reference is kept.
    producer : object or None
        The object that lent the memory, None once the lease was given back, or for a bare capsule.
    """

    __slots__ = (
        "_owner",
        "columns",
        "device",
        "exports",
        "kind",
        "nbytes",
        "producer_type",
        "ptr",
        "spans",
        "tables",
        "views",
    )

    def __init__(self, owner: Owner, device: Device | None, views: int, columns: int = 0, tables: int = 0) -> None:
        self._owner: Callable[[], Owner | None] = weakref.ref(owner)
        self.kind: str = owner.kind
        self.producer_type: str = owner.producer_type
        self.nbytes: int = owner.nbytes
        self.ptr: int = owner.ptr
        self.device = device
        self.views = views
        self.columns = columns
        self.tables = tables
        self.exports: int = owner.exports
        self.spans = _spans(owner)

    @property
    def owner(self) -> Owner | None:
        """The lease itself, or None once it was given back."""
        return self._owner()

    @property
    def producer(self) -> Any:
        """The object that lent the memory, or None."""
        owner = self._owner()
        return None if owner is None else owner.producer

    def __reduce__(self) -> tuple[Any, ...]:
        return _told, (
            self.kind,
            self.producer_type,
            self.nbytes,
            self.ptr,
            self.device,
            self.views,
            self.exports,
            self.spans,
            self.columns,
            self.tables,
        )

    def __copy__(self) -> Self:
        return self  # of facts that do not change

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def to_dict(self) -> dict[str, Any]:
        """The facts as plain values, ready for JSON."""
        return {
            "kind": self.kind,
            "producer_type": self.producer_type,
            "nbytes": self.nbytes,
            "ptr": self.ptr,
            "device": None if self.device is None else str(self.device),
            "views": self.views,
            "columns": self.columns,
            "tables": self.tables,
            "exports": self.exports,
        }

    def __repr__(self) -> str:
        place = "" if self.device is None else f" on {self.device}"
        return f"<Loan: {_count(self.nbytes, 'byte')}{place} lent by {self.producer_type}, {_held_by(self)}>"


def _told(
    kind: str,
    producer_type: str,
    nbytes: int,
    ptr: int,
    device: Device | None,
    views: int,
    exports: int,
    spans: tuple[tuple[int, int], ...] = (),
    columns: int = 0,
    tables: int = 0,
) -> Loan:
    """Make a Loan again of facts that were pickled: its lease is another process's, or another time's."""
    made = Loan.__new__(Loan)
    made._owner = _gone
    made.kind, made.producer_type, made.nbytes, made.ptr = kind, producer_type, nbytes, ptr
    made.device, made.views, made.exports = device, views, exports
    made.columns, made.tables = columns, tables
    made.spans = spans or ((ptr, nbytes),)
    return made


def _spans(owner: Owner) -> tuple[tuple[int, int], ...]:
    if owner.kind != "arrow":
        return ((owner.ptr, owner.nbytes),)
    from lend.columns.parts import spans

    return tuple(spans(owner))  # type: ignore[arg-type]


def _gone() -> None:
    """The owner of a Loan that came out of a pickle."""


class Loans:
    """The leases that were alive at one moment, the largest first: a sequence of `Loan`.

    Printed as a table of the largest 20; the sequence itself has all.

    It is a snapshot of facts and holds no memory: leases end as if nobody had looked.

    Attributes
    ----------
    nbytes : int
        Bytes that are pinned; a byte that several leases cover is counted once.
    """

    __slots__ = ("_loans",)

    def __init__(self, found: Iterable[Loan] = ()) -> None:
        self._loans = tuple(found)

    @property
    def nbytes(self) -> int:
        """Bytes that are pinned; a byte that several leases cover is counted once."""
        return _covered(self._loans)

    def to_dict(self) -> dict[str, Any]:
        """The facts as plain values, ready for JSON."""
        return {"nbytes": self.nbytes, "loans": [loan.to_dict() for loan in self._loans]}

    def __len__(self) -> int:
        return len(self._loans)

    def __iter__(self) -> Iterator[Loan]:
        return iter(self._loans)

    @overload
    def __getitem__(self, index: int) -> Loan: ...
    @overload
    def __getitem__(self, index: slice) -> Loans: ...
    def __getitem__(self, index: int | slice) -> Loan | Loans:
        return Loans(self._loans[index]) if isinstance(index, slice) else self._loans[index]

    def __repr__(self) -> str:
        return _table(self)

    def _repr_html_(self) -> str:
        """The same table for notebooks."""
        if not self._loans:
            return "<p>nothing is lent</p>"
        head, *rows = _rows(self)
        lines = "".join(f"<th>{as_text(cell)}</th>" for cell in head)
        for row in rows:
            lines += "</tr><tr>" + "".join(f"<td>{as_text(cell)}</td>" for cell in row)
        more = f"<p>{_and_more(self)}</p>" if len(self) > _SHOWN else ""
        return f"<p>{_sum(self)}</p><table><tr>{lines}</tr></table>{more}"


def loans() -> Loans:
    """Tell which leases are alive in this process, how many bytes they pin and who lent them.

    Walks all objects of the garbage collector, so it costs milliseconds in a large process; lending costs nothing for
    it. What it answers holds no memory: only weak references to the owners.

    Returns
    -------
    Loans
        A sequence of `Loan`, the largest first, with `.nbytes`, the bytes that are pinned in all: of an Arrow array
        those up to its end, as its structs do not tell how far the memory of a slice goes on.

    Notes
    -----
    Objects that `gc.freeze()` set aside are not seen. A lease that another thread is taking at this moment may be
    missing.

    Examples
    --------
    >>> import array, lend
    >>> prices = array.array("d", range(1000))
    >>> first = lend.view(prices)[:10]
    >>> [loan] = [loan for loan in lend.loans() if loan.producer is prices]
    >>> loan
    <Loan: 8000 bytes on cpu lent by array.array, held by 1 view>
    >>> del first
    >>> loan.owner is None
    True
    """
    owners: dict[int, Owner] = {}
    devices: dict[int, Device | None] = {}
    holders: dict[int, Counter[str]] = {}
    within = _within()
    everything = living((View, Buffer, *within))
    inside, outermost = _nested(everything, within)
    for obj in everything:
        cls = type(obj)  # never isinstance: it would ask foreign objects for their __class__
        if cls is View or cls is Buffer:
            owner, device = _owner_and_device(obj)
            if owner is None:
                continue
            if id(obj) not in inside:
                holders.setdefault(id(owner), Counter())["view"] += 1
            devices[id(owner)] = device
        elif cls not in within and _is_settled(obj):
            owner = obj
        else:
            continue
        owners[id(owner)] = owner
    for noun, held in outermost:
        for owner, device in held:
            holders.setdefault(id(owner), Counter())[noun] += 1
            devices.setdefault(id(owner), device)
    found = []
    for key, owner in owners.items():
        by = holders.get(key) or Counter()
        device = devices.get(key) or _told_by_kind(owner)
        found.append(Loan(owner, device, by.get("view", 0), by.get("column", 0), by.get("table", 0)))
    found.sort(key=lambda loan: (-loan.nbytes, loan.producer_type, loan.ptr))
    return Loans(found)


def _within() -> dict[type, Callable[[Any], tuple[Any, ...]]]:
    """What tells what is within a Column and a Table, of the classes that were ever loaded."""
    found: dict[type, Callable[[Any], tuple[Any, ...]]] = {}
    if "lend.columns.column" in sys.modules:
        from lend.columns import parts
        from lend.columns.column import Column

        found[Column] = parts.inner
    if "lend.tables.table" in sys.modules:
        from lend.tables import making
        from lend.tables.table import Table

        found[Table] = making.inner
    return found


def _nested(
    everything: list[Any], within: dict[type, Callable[[Any], tuple[Any, ...]]]
) -> tuple[set[int], list[tuple[str, list[tuple[Owner, Device | None]]]]]:
    """The ids of what is within a Column or Table, and those that are within no other, with the leases they hold."""
    inside: set[int] = set()
    reached = []
    for obj in everything:
        if type(obj) not in within:
            continue
        held: dict[int, tuple[Owner, Device | None]] = {}
        waiting = [(obj, _device_of(obj))]
        while waiting:
            part, device = waiting.pop()
            if type(part) in within:
                device = _device_of(part) or device
                for buffer in _apart(part):
                    held[id(buffer.owner)] = buffer.owner, buffer.device
                if part is not obj:
                    inside.add(id(part))
                waiting += [(each, device) for each in within[type(part)](part)]
            elif type(part) is tuple:
                waiting += [(each, device) for each in part]
            elif type(part) is View:
                inside.add(id(part))
                waiting.append((_owner_and_device(part)[0], device))
            elif part is not None:
                held.setdefault(id(part), (part, device))
                if part.kind == "arrow":  # its children may have owners of their own, which it keeps
                    waiting += [(each, device) for each in gc.get_referents(part) if type(each) is tuple]
        reached.append((obj, list(held.values())))
    return inside, [(type(obj).__name__.lower(), held) for obj, held in reached if id(obj) not in inside]


def _device_of(obj: Any) -> Device | None:
    """Where a Column is; None of one that was released, or is being made, and of a Table, whose columns tell."""
    try:
        return getattr(obj, "device", None)
    except (LeaseLost, UnsupportedLayout, ValueError):
        # no device has the code that stands there until its maker knows one; one on several has its buffers say it
        return None


def _apart(obj: Any) -> list[Buffer]:
    """The buffers of a Column whose buffers are on several devices."""
    from lend.columns import parts

    try:
        if type(obj).__name__ != "Column" or not parts.is_on_several(obj) or len(obj.chunks) > 1:
            return []
        told = obj.buffers.values()
    except LeaseLost:  # released by another thread in between
        return []
    return [each for part in told for each in (part if type(part) is tuple else (part,)) if each.nbytes]


def _owner_and_device(obj: View | Buffer) -> tuple[Owner | None, Device | None]:
    """The lease of one of our objects; None when it was released, or is not filled yet by the call that makes it."""
    if not _holds(obj):
        return None, None
    try:
        return obj.owner, obj.device
    except LeaseLost:  # released by another thread in between
        return None, None


def _is_settled(owner: Owner) -> bool:
    """False for an owner whose lease is still being taken: its producer may have called us."""
    return owner.kind in ("dlpack", "memory") or _holds(owner)


def _holds(obj: object) -> bool:
    """Whether one of our objects has a reference to anything yet; asked of the collector, which changes nothing."""
    return any(held is not None for held in gc.get_referents(obj))


def _told_by_kind(owner: Owner) -> Device | None:
    """Where the memory of a lease is that no View is left to tell of: open buffers and lend's own are on the host."""
    if owner.kind == "arrow":
        return Device(*owner.place)  # type: ignore[attr-defined]
    return Device("cpu") if owner.kind in ("buffer", "memory") else None


def _covered(found: Iterable[Loan]) -> int:
    """Bytes of all leases, those that overlap counted once."""
    total = 0
    ranges: dict[Device | None, list[tuple[int, int]]] = {}
    for loan in found:
        if loan.device is not None and loan.device.type not in _BY_ADDRESS:
            total += loan.nbytes
        else:
            ranges.setdefault(loan.device, []).extend((start, start + size) for start, size in loan.spans)
    for spans in ranges.values():
        reached = 0
        for start, end in sorted(spans):
            total += max(end - max(start, reached), 0)
            reached = max(reached, end)
    return total


def _held_by(loan: Loan) -> str:
    nouns = {"view": loan.views, "column": loan.columns, "table": loan.tables, "export": loan.exports}
    return "held by " + (", ".join(_count(many, noun) for noun, many in nouns.items() if many) or "nothing of lend's")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _table(found: Loans) -> str:
    if not len(found):
        return "nothing is lent"
    rows = _rows(found)
    size, kind, device, holders, exports, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    lines = [
        f"  {row[0]:>{size}}  {row[1]:<{kind}}  {row[2]:<{device}}  {row[3]:>{holders}}  {row[4]:>{exports}}  {row[5]}"
        for row in rows
    ]
    if len(found) > _SHOWN:
        lines.append(f"  {_and_more(found)}")
    return "\n".join([_sum(found), *lines])


def _rows(found: Loans) -> list[tuple[str, ...]]:
    """The head of the table, and the largest leases."""
    rows: list[tuple[str, ...]] = [("bytes", "kind", "device", "holders", "exports", "lent by")]
    rows += [
        (
            f"{loan.nbytes:,}",
            loan.kind,
            "?" if loan.device is None else str(loan.device),
            str(loan.views + loan.columns + loan.tables),
            str(loan.exports),
            loan.producer_type,
        )
        for loan in found[:_SHOWN]
    ]
    return rows


def _and_more(found: Loans) -> str:
    rest = found[_SHOWN:]
    return f"... and {len(rest)} more, {rest.nbytes:,} bytes"


def _sum(found: Loans) -> str:
    pins = "lease pins" if len(found) == 1 else "leases pin"
    return f"{len(found)} {pins} {found.nbytes:,} {'byte' if found.nbytes == 1 else 'bytes'}"
