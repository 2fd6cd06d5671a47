"""Cases are data: a table has rows, a row has one job done in several ways, and targets that compare two of them."""

import pathlib
import re
import sys
from dataclasses import dataclass, field

FLOOR = pathlib.Path(__file__).parents[1] / "floor"


@dataclass(frozen=True)
class Case:
    """One way to do the job of a row.

    The statement is what is timed; what it names comes from the row's setup and then its own. `pointer` is an
    expression over the result `r` that must equal the row's `address`: zero copy is proved, not inferred from speed.
    """

    role: str  # "floor", "ours" or "peer"
    name: str
    statement: str
    setup: str = ""
    pointer: str = ""


@dataclass(frozen=True)
class Target:
    """`ours` takes at most `at_most` times what `against` takes; both name cases of the row."""

    ours: str
    against: str
    at_most: float
    headline: bool = False


@dataclass(frozen=True)
class Row:
    name: str
    cases: tuple[Case, ...]
    targets: tuple[Target, ...] = ()
    setup: str = ""
    address: str = ""


@dataclass(frozen=True)
class Table:
    name: str
    title: str
    rows: tuple[Row, ...]


@dataclass
class Ready:
    """A case whose setup ran: `key` names it in results, `namespace` holds what its statement uses."""

    key: str
    case: Case
    namespace: dict[str, object] = field(repr=False)


def floor(name, statement, setup="", pointer=""):
    return Case("floor", name, statement, "import peersfloor as F\n" + setup, pointer)


def ours(name, statement, setup="", pointer="r.ptr"):
    names = ("view", "buffer", "to", "column", "table")
    public = [word for word in names if re.search(rf"\b{word}\(", statement + setup)]
    return Case("ours", name, statement, "\n".join([*(f"from lend import {word}" for word in public), setup]), pointer)


def peer(name, statement, setup="", pointer=""):
    return Case("peer", name, statement, setup, pointer)


def modules(row, case):
    """The top-level names of the modules that a case imports."""
    return set(re.findall(r"^\s*(?:import|from)\s+(\w+)", f"{row.setup}\n{case.setup}", re.MULTILINE))


def prepare(table, wanted=lambda row, case: True):
    """Run the setups of a table. What raises is left out and named, so that one missing peer stops nobody.

    Returns
    -------
    (ready, skipped) : list of Ready, dict of key to reason
    """
    if str(FLOOR) not in sys.path:
        sys.path.insert(0, str(FLOOR))
    ready, skipped = [], {}
    for row in table.rows:
        common, why = {}, None
        chosen = [case for case in row.cases if wanted(row, case)]
        if not chosen:
            continue
        try:
            exec(row.setup, common)
        except Exception as error:  # noqa: BLE001  whatever a library raises is the reason that is printed
            why = reason(error)
        for case in chosen:
            key = f"{table.name} / {row.name} / {case.name}"
            namespace = dict(common)
            try:
                if why is None:
                    exec(case.setup, namespace)
                    try_once(row, case, namespace)
                    ready.append(Ready(key, case, namespace))
                    continue
                skipped[key] = why
            except Exception as error:  # noqa: BLE001
                skipped[key] = reason(error)
    return ready, skipped


def try_once(row, case, namespace):
    """Run the statement once and check that its result lies where the source lies."""
    result = eval(compile(case.statement, f"<{row.name} / {case.name}>", "eval"), namespace)  # a crash names the case
    if not (row.address and case.pointer):
        return
    came, lies = eval(row.address, namespace), eval(case.pointer, {**namespace, "r": result})
    if came != lies:
        raise ValueError(f"the result is a copy: source at {came:#x}, result at {lies:#x}")


def reason(error):
    """The class and first line of an exception."""
    lines = re.sub(r" \((unknown location|/[^)]*)\)", "", str(error)).strip().splitlines()  # no paths in results
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
