"""The tally of copies: every copy that lend makes is noted here, with what was copied and why."""

import _thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

__all__ = ["Copies", "Copy", "copies", "note"]

_KEPT = 64  # of the newest copies, so that a long-running process does not grow


class Copy:
    """One copy that lend made.

    Attributes
    ----------
    what : str
        What was copied, such as ``"float32[3, 4] of numpy.ndarray"``.
    why : str
        The reason, such as ``"copy=True"``.
    nbytes : int
        Bytes written.
    """

    __slots__ = ("nbytes", "what", "why")

    def __init__(self, what: str, why: str, nbytes: int) -> None:
        self.what = what
        self.why = why
        self.nbytes = nbytes

    def to_dict(self) -> "dict[str, Any]":
        """The copy as plain values, ready for JSON."""
        return {"what": self.what, "why": self.why, "nbytes": self.nbytes}

    def __repr__(self) -> str:
        return f"Copy({self.what!r}, why={self.why!r}, nbytes={self.nbytes})"


class Copies:
    """A tally of the copies made since it was started.

    `lend.copies()` gives the tally of the process; as a context manager it counts one block.

    Attributes
    ----------
    count : int
        How many copies lend made.
    bytes : int
        How many bytes they wrote.
    recent : tuple of Copy
        The newest of them: the last 64, while `count` and `bytes` go on.

    Examples
    --------
    >>> import lend
    >>> with lend.copies() as made:
    ...     _ = lend.view(b"abcd", copy=True)
    >>> made.count, made.bytes, made.recent[0].why
    (1, 4, 'copy=True')
    """

    __slots__ = ("_recent", "bytes", "count")

    def __init__(self) -> None:
        self.count = 0
        self.bytes = 0
        self._recent: list[Copy] = []

    @property
    def recent(self) -> "tuple[Copy, ...]":
        return tuple(self._recent)

    def to_dict(self) -> "dict[str, Any]":
        """The tally as plain values, ready for JSON."""
        return {"count": self.count, "bytes": self.bytes, "recent": [copy.to_dict() for copy in self._recent]}

    def _add(self, copy: Copy) -> None:
        self.count += 1
        self.bytes += copy.nbytes
        self._recent.append(copy)
        del self._recent[:-_KEPT]

    def __enter__(self) -> "Self":
        with _lock:
            if self not in _running:
                # a block counts from nothing: the tally that is handed out is this one, emptied of the process's past
                self.count, self.bytes, self._recent = 0, 0, []
            _running.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        with _lock:
            _running.remove(self)

    def __repr__(self) -> str:
        return f"<Copies: {self.count}, {self.bytes} {'byte' if self.bytes == 1 else 'bytes'}>"


_lock = _thread.RLock()  # a finalizer or a signal handler may copy, too, while this thread is counting
_total = Copies()
_running: "list[Copies]" = []
_looking: "dict[int, list[Copy]]" = {}  # thread that only looks what would be copied -> what it copied for that


class LookedAt:
    """A block whose copies, in this thread, are told in a list and counted nowhere: `lend.explain` looks by them."""

    def __enter__(self) -> "list[Copy]":
        self._before = _looking.get(_thread.get_ident())
        made: list[Copy] = []
        _looking[_thread.get_ident()] = made
        return made

    def __exit__(self, *exc: object) -> None:
        if self._before is None:
            del _looking[_thread.get_ident()]
        else:
            _looking[_thread.get_ident()] = self._before


def note(what: str, why: str, nbytes: int) -> None:
    """Count one copy, in the tally of the process and in every block that is being counted."""
    copy = Copy(what, why, nbytes)
    looked_at = _looking.get(_thread.get_ident()) if _looking else None
    if looked_at is not None:
        looked_at.append(copy)
        return
    with _lock:
        _total._add(copy)
        for tally in dict.fromkeys(_running):  # one that was entered twice counts once
            tally._add(copy)


def copies() -> Copies:
    """Tell which copies lend has made in this process.

    Returns
    -------
    Copies
        A snapshot: `.count`, `.bytes`, and `.recent`, which keeps the last 64. Used as a context manager it counts the
        copies of one block instead, those of every thread.

    Examples
    --------
    >>> import lend
    >>> before = lend.copies().count
    >>> _ = lend.view(bytearray(8), copy=True)
    >>> lend.copies().count - before
    1
    """
    snapshot = Copies()
    with _lock:
        snapshot.count, snapshot.bytes, snapshot._recent = _total.count, _total.bytes, list(_total._recent)
    return snapshot
