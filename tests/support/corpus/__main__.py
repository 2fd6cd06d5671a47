"""Judge the tables of these names (none: all); the case is said before it is tried, as it may be a crash.

PYTHONPATH=tests python -m support.corpus [--every] [name ...]
"""

import itertools
import sys

from . import cases, judge
from .every import TABLES


def main():
    count, failed = 0, []
    names = [name for name in sys.argv[1:] if name != "--every"]
    for table in TABLES:
        if names and table.name not in names:
            continue
        for name, fields, wrongs, odds in cases(table, every="--every" in sys.argv):
            for by_buffer in (False, True):
                if by_buffer and (len(wrongs) + len(odds) > 1 or not all(wrong.buffer for wrong in wrongs)):
                    continue
                print(f"{table.name}: {name}{' (buffer)' * by_buffer}", flush=True)
                told = judge(table, fields, wrongs, odds, by_buffer=by_buffer)
                count += 1
                if told:
                    failed.append(f"{table.name}: {name}{' (buffer)' * by_buffer}: {told}")
    print(count, "cases", flush=True)
    for text in itertools.islice(failed, 40):
        print(text.partition(chr(10))[0], file=sys.stderr)
    return len(failed) > 0


if __name__ == "__main__":
    sys.exit(main())
