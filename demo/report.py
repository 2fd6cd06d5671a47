"""The demo's output: tables and sentences, in colours where somebody looks at them."""

import os
import shutil
import sys
import textwrap
from collections import Counter

from handover import COPIED, REFUSED, SHARED, UNTOLD

_COLOURS = {SHARED: "32", COPIED: "33", REFUSED: "31", UNTOLD: "36", "head": "1", "fault": "1;31"}
_COLOURED = sys.stdout.isatty() and "NO_COLOR" not in os.environ
WIDTH = max(80, min(120, shutil.get_terminal_size((120, 24)).columns))


def coloured(text, what):
    """The text in the colour of a verdict, on a terminal."""
    return f"\033[{_COLOURS[what]}m{text}\033[0m" if _COLOURED else text


def head(text):
    """A heading, after an empty line."""
    print(f"\n{coloured(text, 'head')}")


def wrapped(text, indent=2):
    """A paragraph."""
    print(textwrap.fill(text, WIDTH, initial_indent=" " * indent, subsequent_indent=" " * indent))


def size(nbytes):
    """Bytes, short: 16 B, 4.8 kB, 1 MB."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if nbytes >= factor:
            return f"{nbytes / factor:.3g} {unit}"
    return f"{nbytes} B"


def time(seconds):
    """A time, short: 0.43 us, 1.2 us, 12 us, 1.2 ms."""
    for unit, factor in (("s", 1), ("ms", 1e-3)):
        if seconds >= factor:
            return f"{seconds / factor:.2g} {unit}"
    microseconds = seconds * 1e6
    digits = 2 if microseconds < 0.995 else 1 if microseconds < 9.95 else 0
    return f"{microseconds:.{digits}f} us"


def matrix(title, targets, rows):
    """One line for each source, one cell for each pair."""
    cells = [[_cell(done) for done in row] for row in rows]
    first = max(len(row[0].source.label) for row in rows)
    widths = [max(len(target.label), *(len(row[i]) for row in cells)) for i, target in enumerate(targets)]
    labels = "  ".join(f"{target.label:<{width}}" for target, width in zip(targets, widths, strict=True))
    head(f"{title:<{first}}  {labels}".rstrip())
    for row, texts in zip(rows, cells, strict=True):
        line = "  ".join(
            coloured(f"{text:<{width}}", done.verdict) for done, text, width in zip(row, texts, widths, strict=True)
        )
        print(f"{row[0].source.label:<{first}}  {line}".rstrip())


def _cell(done):
    if done.verdict == REFUSED:
        return REFUSED
    if done.verdict != COPIED:
        return f"{done.verdict} {time(done.seconds)}"
    return f"{COPIED} {size(done.nbytes)} {time(done.seconds)}"


def reasons(pairs, verdict):
    """Why: each reason once, with the pairs that it is true of."""
    groups = {}
    for done in pairs:
        if done.verdict == verdict:
            for who, why in done.reasons:
                # "jax needs 64-byte alignment, and the address is 16 mod 64": the second half is this object's own
                groups.setdefault((who, why.partition(", and the ")[0]), []).append((done, why))
    for (who, why), members in groups.items():
        same = len({text for _, text in members}) == 1
        text = members[0][1] if same else why
        wrapped(f"{text} ({_doer(who, verdict)})")
        by_target = {}
        for done, _ in members:
            by_target.setdefault(done.target.label, []).append(done.source.label)
        by_sources = {}
        for target, labels in by_target.items():
            by_sources.setdefault(tuple(labels), []).append(target)
        for labels, targets in by_sources.items():
            listed = ", ".join(labels) if len(labels) <= 6 else f"{len(labels)} of the sources"
            wrapped(f"to {', '.join(targets)}: {listed}", 6)


def _doer(who, verdict):
    """Who copied or refused, in words."""
    who = f"the {who}" if who in ("producer", "target") else who
    return f"{who} {'refuses' if verdict == REFUSED else 'copies' if verdict == COPIED else 'knows'}"


def loans(found):
    """How much is lent, by whom, and by what kind of lease."""
    leases = Counter((loan.producer_type, loan.kind) for loan in found)
    print(f"  {len(found)} leases pin {found.nbytes:,} bytes:")
    for (producer, kind), count in sorted(leases.items()):
        print(f"  {count:>4}  {kind:<7} lent by {producer}")
