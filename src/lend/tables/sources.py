"""Streams that give their rows once: by the protocol a drained one looks empty, so what lend drained is remembered."""

import _thread

from lend._core.owners import type_name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_given: "dict[int, Any]" = {}  # id of an object whose stream was taken -> a weak reference to it
_again: "set[int]" = set()  # of them those that gave rows more than once, and may come to be empty
_lock = _thread.RLock()  # taken again where the collector runs inside, and forgets another object


def came(obj: "Any") -> str:
    return type_name_of(obj)


def weakly(obj: "Any") -> "Any":
    """A weak reference to who gives rows, for when they are pulled; None where nothing can refer to it weakly."""
    from weakref import ref

    try:
        return ref(obj)
    except TypeError:
        return None


def begun(obj: "Any") -> bool:
    """Note, weakly, that the stream of an object is about to be read; True when it was before.

    Noted first: two threads may read one reader, and who comes second may find nothing left.
    """
    from weakref import ref

    number = id(obj)
    try:
        noted = ref(obj, lambda _: _forget(number))
    except TypeError:
        return False  # nothing can refer to it weakly
    with _lock:
        before = _given.get(number)
        if before is not None and before() is obj:
            return True
        _given[number] = noted
        return False


def is_drained(obj: "Any") -> bool:
    """Whether lend has read this object, which did not give rows again since."""
    number = id(obj)
    with _lock:
        before = _given.get(number)
        return before is not None and before() is obj and number not in _again


def _forget(number: int) -> None:
    with _lock:
        _given.pop(number, None)
        _again.discard(number)


def ended(obj: "Any", arrays: int, before: bool) -> None:
    """Say how many arrays came; refuse none of an object that gave some before: a reader that was drained.

    What failed on the way says nothing, and counts as having given some.
    """
    number = id(obj)
    if arrays:
        if before:
            with _lock:
                _again.add(number)
    elif not before:
        _forget(number)
    elif number not in _again:
        from lend.tables import refusals

        raise refusals.drained(came(obj))
