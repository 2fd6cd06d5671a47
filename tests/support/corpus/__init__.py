"""Descriptors that are wrong in one or two ways, for every protocol that lend reads.

Each protocol has its table: how to make an object of fields, the fields of a right one, what is `Wrong` (a change of
fields, the class of the refusal, and what its text must say), and what is `Odd` and true all the same. From these every
single one is made, and pairs that change different fields.
"""

from typing import Any, NamedTuple

IN_BYTES = ("readonly", "device")  # what a Buffer says as a View of the same does
PAIRS = 2000  # of two wrong things, of one protocol


class Wrong(NamedTuple):
    """A change of fields that must be refused with this class and all of these words."""

    name: str
    changes: dict
    error: Any
    says: tuple
    buffer: bool = True  # lend.buffer refuses it as well: a dtype that is not understood is still bytes


class Odd(NamedTuple):
    """A change of fields that must be lent, with these attributes of the View."""

    name: str
    changes: dict
    facts: dict
    blurs: bool = False  # beside it, other things may no longer be wrong: nothing is paired with it


class Table(NamedTuple):
    """What is wrong with the descriptors of one protocol."""

    name: str
    good: dict
    make: Any  # fields -> a function without arguments that lends, and one that tells what went wrong with the lease
    wrong: list
    odd: list
    says: str = ""  # in every refusal: who the producer is
    together: tuple = ()  # sets of fields that depend on each other: what is odd is not paired within one


def groups(table, changes):
    """The fields that a change is about, those that depend on them included."""
    found = set(changes)
    for together in table.together:
        if found & set(together):
            found |= set(together)
    return found


def cases(table, *, every=False):
    """(name, fields, wrongs, odds) of every case; of some thousands of pairs not all, unless `every` is asked."""
    thin = 1 if every else 1 + len(table.wrong) ** 2 // (2 * PAIRS)
    yield "nothing wrong", table.good, [], []
    for wrong in table.wrong:
        yield wrong.name, table.good | wrong.changes, [wrong], []
    for odd in table.odd:
        yield odd.name, table.good | odd.changes, [], [odd]
    for at, first in enumerate(table.wrong):
        for second in table.wrong[at + 1 + at % thin :: thin]:
            if not set(first.changes) & set(second.changes):
                yield f"{first.name} + {second.name}", table.good | first.changes | second.changes, [first, second], []
        for odd in table.odd:
            if not odd.blurs and not groups(table, first.changes) & groups(table, odd.changes):
                yield f"{first.name} + {odd.name}", table.good | first.changes | odd.changes, [first], [odd]
    for at, first in enumerate(table.odd):
        for second in table.odd[at + 1 :]:
            if first.blurs or second.blurs or groups(table, first.changes) & groups(table, second.changes):
                continue
            yield f"{first.name} + {second.name}", table.good | first.changes | second.changes, [], [first, second]


def judge(table, fields, wrongs, odds, *, by_buffer=False):
    """What lend does wrong with this case; None if nothing."""
    lends, remains = table.make(fields, by_buffer)
    try:
        view = lends()
    except Exception as error:
        told = refused(table, error, wrongs) if wrongs else f"refused: {type(error).__name__}: {error}"
        del error
    else:
        told = f"lent: {view!r}" if wrongs else untrue(view, odds, by_buffer=by_buffer)
        del view
    return told or remains()


def refused(table, error, wrongs):
    """What is missing in a refusal, of all that it may be for."""
    text, missing = str(error), []
    for wrong in wrongs:
        classes = wrong.error if isinstance(wrong.error, tuple) else (wrong.error,)
        lacks = [word for word in (table.says, *wrong.says) if word not in text]
        if type(error) in classes and not lacks:
            return None
        # of two things wrong the text may be of the one as the other has changed it
        if len(wrongs) == 2 and type(error) in classes and any(field in text for field in wrong.changes):
            return None
        missing.append(f"{' or '.join(kind.__name__ for kind in classes)} saying {lacks}")
    return f"not {' or '.join(missing)}, but {type(error).__name__}: {text}"


def untrue(lent, odds, *, by_buffer):
    """What a View says otherwise than it should; of a Buffer, what is the same for its bytes."""
    for odd in odds:
        for name, value in odd.facts.items():
            if by_buffer and name not in IN_BYTES and not (name == "nbytes" and value == 0):
                continue
            got = getattr(lent, name)
            if got != value:
                return f"{name} is {got!r}, not {value!r}"
    return None
