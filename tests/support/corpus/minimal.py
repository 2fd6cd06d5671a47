"""The tables of the corpus, asked of the minimal implementation: the case is said before it is tried.

PYTHONPATH=tests python -m support.corpus.minimal [name ...]

What is wrong must be refused, by no other class than Refused, and leave nothing behind; what is odd may be refused, or
be lent and read. `TAKEN` is what minimal believes and lend does not; `NO_DOOR` are protocols it does not have.
"""

import sys

import lend
from lend import minimal

from . import cases
from .every import TABLES

NOT_ITS = ("requests", "descriptions by lend_wrap", "pointers in words", "pickled states", "lend.Producer")
NO_DOOR = ("tensors of an exchange table", "exchange tables", "announced devices beside a SYCL interface",
           "SYCL interfaces", "array structs")  # fmt: skip
TAKEN = {
    "shape (True, 3)": "a bool is a number",
    "strides (False, 4)": "a bool is a number",
    "data (True, False)": "a bool is a number",
    "typestr '<M8[0s]'": "the multiple of a unit is kept as it was told",
    "typestr '<M8[99999999999s]'": "the multiple of a unit is kept as it was told",
    "typestr '|V0'": "no bytes are bytes",
    "typestr '>f4'": "memory of a device may have either byte order, as nobody reads it",
    "stream 18446744073709551616": "a stream is handed on as it was told",
    **{
        f"version {version!r}": "what has the facts is read, whatever version it claims"
        for version in (4, -1, 2**64, "3", 3.0, True, (3,))
    },
    "version that fails": "nobody asked for it",
    "device [1, 0]": "a list is a pair, too",
    "__dlpack_device__ gives [2, 0]": "a list is a pair, too",
}


def untrue(lent, odds, *, by_buffer):
    """What an Array says otherwise than a View should."""
    names = ["readonly"] if by_buffer else ["shape", "ptr", "nbytes", "readonly", "c_contiguous"]
    for odd in odds:
        for name in set(names) & set(odd.facts):
            if getattr(lent, name) != odd.facts[name]:
                return f"{name} is {getattr(lent, name)!r}, not {odd.facts[name]!r}"
    return None


def judged(table, fields, wrongs, odds, *, by_buffer):
    """What minimal does wrong with this case; None if nothing."""
    lends, remains = table.make(fields, by_buffer)
    try:
        lent = lends()
    except minimal.Refused:
        told = None if wrongs or odds or table.name in NO_DOOR else "refused"
    else:
        told = (
            untrue(lent, odds, by_buffer=by_buffer)
            if not wrongs or any(wrong.name in TAKEN for wrong in wrongs)
            else f"lent: {lent!r}"
        )
        if not wrongs and lent.device == (1, 0) and lent.nbytes <= 96:
            (lent.memoryview() if by_buffer else lent).tolist()
        del lent
    return told or remains()


def main():
    # the tables call lend by these names
    lend.view, lend.buffer = minimal.array, minimal.buffer
    count, failed = 0, []
    for table in TABLES:
        if table.name in NOT_ITS or (sys.argv[1:] and table.name not in sys.argv):
            continue
        for name, fields, wrongs, odds in cases(table):
            for by_buffer in (False, True):
                said = f"{table.name}: {name}{' (buffer)' * by_buffer}"
                print(said, flush=True)
                told = judged(table, fields, wrongs, odds, by_buffer=by_buffer)
                count += 1
                if told:
                    failed.append(f"{said}: {told}")
    print(count, "cases", flush=True)
    for text in failed[:40]:
        print(text.partition("\n")[0], file=sys.stderr)
    return len(failed) > 0


if __name__ == "__main__":
    sys.exit(main())
