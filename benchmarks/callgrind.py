"""Count instructions per call under valgrind: they do not depend on load, so they are the gate that repeats.

    python benchmarks/callgrind.py                count, and write counts.json
    python benchmarks/callgrind.py --check        count, and compare with counts.json
    python benchmarks/callgrind.py --with torch   rows of that library too

Each case runs N and 2 N times between two marks; the difference divided by N is its count, so whatever one run pays
once cancels. Cases share a process, so that valgrind starts Python once; those that need more than NumPy share another.
--check prints each count that moved by more than 2 % and fails if one of ours rose: the change that raises it says why
and records the new count.
"""

import argparse
import gc
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from cases import arrays_in, arrays_out, both, columns_in
from harness import build, environment
from harness.case import modules, prepare
from harness.timing import compile_loop, run

COUNTS = pathlib.Path(__file__).parent / "counts.json"
TABLES = (arrays_in.TABLE, arrays_out.TABLE, both.TABLE, columns_in.TABLE)
LIGHT = {"numpy", "peersfloor", "lend", "operator"}
TOLERANCE = 0.02
TRIES = 4  # a block that is the last of its pool costs some thirty instructions more: the least of these counts
WARM = 200  # the interpreter specialises its bytecode first


def in_process(needed, libraries):
    """Whether a case that needs these modules is counted in the process that has these libraries.

    A library that starts threads makes every malloc dearer, so rows that do without are counted without.
    """
    return needed <= LIGHT if not libraries else needed <= LIGHT | libraries and not needed <= LIGHT


def worker(libraries, times, row, path):
    """Run every case between marks; inside valgrind each mark becomes a dump, in this order."""
    ready, skipped, kept = [], {}, []
    for table in TABLES:
        some, out = prepare(table, lambda r, case: row in r.name and in_process(modules(r, case), libraries))
        ready += some
        skipped.update(out)
    import countmarks

    gc.collect()
    gc.disable()
    loops = {one.key: compile_loop(one.case.statement, one.namespace) for one in ready}
    loops["empty loop"] = compile_loop("pass", {})
    for loop in loops.values():
        run(loop, WARM)
        for _ in range(TRIES):
            kept += [bytes(size) for size in range(0, 512, 16)]  # one block more of each size is taken
            for n in (times, 2 * times):
                repeat = itertools.repeat(None, n)
                countmarks.zero()
                loop(repeat)
                countmarks.dump()
    roles = {one.key: one.case.role for one in ready}
    pathlib.Path(path).write_text(json.dumps({"keys": list(loops), "roles": roles, "skipped": skipped}))


def count(libraries, times, row):
    """Counts by key, roles by key, and what was skipped."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        command = [
            "valgrind",
            "--tool=callgrind",
            f"--callgrind-out-file={out}/out",
            "--combine-dumps=no",
            sys.executable,
        ]
        command += [__file__, "--worker", str(out / "keys.json"), "--times", str(times), "--row", row]
        command += [part for name in sorted(libraries) for part in ("--with", name)]
        variables = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
        done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr[-3000:])
        told = json.loads((out / "keys.json").read_text())
        dumped = [total(out / f"out.{number}") for number in range(1, 2 * TRIES * len(told["keys"]) + 1)]
    counts = {}
    for index, key in enumerate(told["keys"]):
        mine = dumped[2 * TRIES * index : 2 * TRIES * (index + 1)]
        pairs = zip(mine[::2], mine[1::2], strict=True)
        counts[key] = round(min(twice - once for once, twice in pairs) / times)
    return counts, told["roles"], told["skipped"]


def total(path):
    """The instructions of one dump."""
    return int(re.search(r"^(?:totals|summary): (\d+)", path.read_text(), re.MULTILINE)[1])


def facts(times):
    """What a count depends on."""
    about = environment.environment(environment.load())
    version = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return {
        "python": about["python"],
        "versions": about["versions"],
        "date": about["date"],
        "valgrind": version,
        "times": times,
    }


def compare(recorded, counted, roles):
    """Print what moved; True if one of ours rose."""
    rose = False
    for key in sorted(recorded.keys() | counted.keys()):
        old, new = recorded.get(key), counted.get(key)
        if old is None or new is None:
            print(f"{'new' if old is None else 'not counted now'}: {key}: {new if old is None else old}")
        elif abs(new - old) > TOLERANCE * old:
            ours = roles.get(key) == "ours"
            rose |= ours and new > old
            print(f"{'ROSE' if ours and new > old else 'moved'}: {key}: {old} -> {new} ({new / old - 1:+.1%})")
    return rose


def main(arguments=None):
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with counts.json, write nothing")
    parser.add_argument("--with", dest="libraries", action="append", default=[], help="count this library's rows too")
    parser.add_argument("--times", type=int, default=1000, help="N")
    parser.add_argument("--row", default="", help="only rows whose name contains this; counts of others are kept")
    parser.add_argument("--worker", metavar="FILE", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    libraries = set(options.libraries)
    if options.worker:
        return worker(libraries, options.times, options.row, options.worker)
    if not shutil.which("valgrind"):
        sys.exit("valgrind is not installed")
    build.floor()
    counted, roles, skipped = count(set(), options.times, options.row)
    if libraries:
        for have, more in zip((counted, roles, skipped), count(libraries, options.times, options.row), strict=True):
            have.update({key: value for key, value in more.items() if key not in have})
    for key, why in skipped.items():
        print(f"skipped: {key}: {why}", file=sys.stderr)
    kept = json.loads(COUNTS.read_text()) if COUNTS.exists() else {"about": {}, "counts": {}}
    if not options.check:
        about = facts(options.times)
        merged = dict(sorted({**kept["counts"], **counted}.items()))
        COUNTS.write_text(json.dumps({"about": about, "counts": merged}, indent=1) + "\n")
        for key, instructions in counted.items():
            print(f"{instructions:8d}  {key}")
        return None
    now = facts(options.times)
    for name in ("python", "valgrind"):
        if now[name] != kept["about"].get(name):
            print(f"recorded with {kept['about'].get(name)}, now {now[name]}: counts may differ for that alone")
    tried = counted.keys() | skipped.keys()
    rose = compare({key: n for key, n in kept["counts"].items() if key in tried}, counted, roles)
    return print("one of ours rose" if rose else "none of ours rose") or int(rose)


if __name__ == "__main__":
    sys.exit(main())
