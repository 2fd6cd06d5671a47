"""Lend one object of each kind to every target, check what lend says about it, and print what came of it.

Run by `make demo`. Every claim in the tables is checked from outside: addresses, dtypes, shapes and values are read
through the library that made the object. Exit status 1 if one does not hold.
"""

import argparse
import gc
import sys
import time

import report
from handover import COPIED, REFUSED, UNTOLD, hand_over
from libraries import PACKAGES, Libraries
from sources import sources
from targets import by_class, by_name

import lend

started = time.perf_counter()


def main(arguments=None):
    """Run the demo; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("libraries", nargs="*", help=f"only these of {', '.join(PACKAGES)}")
    wanted = parser.parse_args(arguments).libraries or list(PACKAGES)
    if unknown := set(wanted) - set(PACKAGES):
        parser.error(f"not a library of the demo: {', '.join(sorted(unknown))}")

    libs = Libraries(wanted)
    print(f"lend {lend.__version__} on Python {sys.version.split()[0]} beside {', '.join(libs.versions) or 'nothing'}")
    for sentence in libs.skipped:
        print(sentence)

    lent = list(sources(libs))
    before = lend.copies()
    pairs = []
    for title, targets in (("to a library", list(by_name(libs))), ("to a class or a callable", list(by_class(libs)))):
        if targets:
            rows = [[hand_over(source, target) for target in targets] for source in lent]
            report.matrix(title, targets, rows)
            pairs += [done for row in rows for done in row]
    tell_legend()
    tell_reasons(pairs)

    faults = [fault for done in pairs for fault in done.faults]
    faults += compare_tally(pairs, before)
    faults += compare_loans(pairs)
    tell_error()

    report.head("in all")
    print(f"  {len(pairs)} pairs in {time.perf_counter() - started:.1f} s, imports included")
    for fault in faults:
        print(f"  {report.coloured('does not hold', 'fault')}: {fault}")
    if not faults:
        print("  every claim holds: addresses, dtypes, shapes, values, predicted copies, returned loans")
    return 1 if faults else 0


def tell_legend():
    """How the tables are read."""
    print()
    report.wrapped(
        "shared: the address that the target's library tells is the one that the source's library tells. copied: the "
        "bytes that were copied, by whomever. refused: no copy would help. The time is that of lend.to(object, target) "
        "and of letting go again, the fastest of many.",
        0,
    )


def tell_reasons(pairs):
    """Why there was a copy or a refusal, each reason once."""
    for verdict, title in ((COPIED, "copied, because"), (REFUSED, "refused, because"), (UNTOLD, "taken, and not told")):
        if any(done.verdict == verdict for done in pairs):
            report.head(title)
            report.reasons(pairs, verdict)


def compare_tally(pairs, before):
    """What `explain` predicted of all hand-overs, the timed ones included, against what `lend.copies()` counted."""
    now = lend.copies()
    counted = now.count - before.count, now.bytes - before.bytes
    predicted = sum(done.lend_copies for done in pairs), sum(done.lend_bytes for done in pairs)
    agree = counted == predicted
    report.head("lend.copies(), the timed hand-overs included")
    for who, (count, nbytes) in (("lend.explain predicted", predicted), ("lend.copies() counted", counted)):
        print(f"  {who:<22}  {count:>7,} copies, {nbytes:>14,} bytes")
    print("  they agree" if agree else report.coloured("  they do not agree", "fault"))
    return [] if agree else [f"explain predicted {predicted} (copies, bytes), and {counted} were counted"]


def compare_loans(pairs):
    """What is lent while all results are alive, and when they are gone."""
    report.head("lend.loans(), one result of each pair alive")
    report.loans(lend.loans())
    for done in pairs:
        done.made = done.source.obj = None
    gc.collect()
    report.head("lend.loans(), all results and sources dropped")
    left = lend.loans()
    print("\n".join(f"  {line}" for line in repr(left).splitlines()))
    return [f"{loan!r} is not given back" for loan in left]


def tell_error():
    """One refusal as a person meets it."""
    report.head("what a refusal says")
    asked = 'lend.to(b"1234", "torch", copy=False)' if "torch" in sys.modules else 'lend.view(b"1234", writable=True)'
    print(f"  >>> {asked}")
    try:
        eval(asked, {"lend": lend})
    except lend.LendError as refusal:
        print(f"  lend.errors.{type(refusal).__name__}: " + str(refusal).replace("\n", "\n  "))


if __name__ == "__main__":
    sys.exit(main())
