"""Bytes that a view of an ndarray takes, by tracemalloc over many of them, beside memoryview; and Columns of Arrow's.

    python benchmarks/memory.py [--count 100000]

What another library takes of the C heap for its part is not seen by tracemalloc.
Writes results/memory.md and results/memory.json.
"""

import argparse
import gc
import json
import subprocess
import sys
import tracemalloc

from harness import environment, report
from harness.case import FLOOR

ONE = "import pyarrow\nx = pyarrow.array([1, None])\n"
BATCH = "import pyarrow\nx = pyarrow.record_batch({'a': [1, None], 'b': ['x', 'y'], 'c': [1.5, 2.5]})\n"
MINIMAL, MAXIMAL = "from lend.minimal import column", "from lend import column, table"
CASES = {
    "View of an ndarray": ("from lend import view", "view(a)", 300),
    "View and its owner": (
        "from lend import view\ndef take(a):\n v = view(a)\n return v if v.owner else None",
        "take(a)",
        450,
    ),
    "Buffer of an ndarray": ("from lend import buffer", "buffer(a)", None),
    "minimal.Array of an ndarray": ("from lend.minimal import array", "array(a)", None),
    "minimal.Buffer of an ndarray": ("from lend.minimal import buffer", "buffer(a)", None),
    "Column of an Arrow array": (ONE + MAXIMAL, "column(x)", None),
    "Column of an Arrow array and its buffers": (ONE + MAXIMAL, "(c := column(x), c.buffers)", None),
    "minimal.Column of an Arrow array": (ONE + MINIMAL, "column(x)", None),
    "Column of an Arrow batch of three columns": (BATCH + MAXIMAL, "column(x)", None),
    "Table of an Arrow batch of three columns": (BATCH + MAXIMAL, "table(x)", None),
    "minimal.Column of an Arrow batch of three columns": (BATCH + MINIMAL, "column(x)", None),
    "slice of a View": ("from lend import view\nv = view(a)", "v[1:]", None),
    "memoryview": ("", "memoryview(a)", None),
    "ndarray view": ("", "a[:]", None),
    "floor object": ("import peersfloor as F", "F.buf_own(a)", None),
}


def worker(setup, expression, count):
    """Print the bytes of one object."""
    import numpy as np

    sys.path.insert(0, str(FLOOR))
    names = {"a": np.zeros(1000, "f4"), "count": count}
    exec(setup, names)
    names["kept"] = [None] * count
    many = compile(f"for i in numbers: kept[i] = {expression}", "<many>", "exec")
    names["numbers"] = list(range(count))
    eval(expression, names)
    gc.collect()
    tracemalloc.start()
    exec(many, names)
    taken, _ = tracemalloc.get_traced_memory()
    print(json.dumps(taken / count))


def main(arguments=None):
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker:
        setup, expression, _ = CASES[options.worker]
        return worker(setup, expression, options.count)
    before, found = environment.load(), {}
    for name in CASES:
        command = [sys.executable, __file__, "--worker", name, "--count", str(options.count)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            print(f"{name}: {run.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        else:
            found[name] = json.loads(run.stdout)
    facts = environment.environment(before)
    lines = ["# Memory", "", *environment.heading(facts), "", f"Over {options.count} objects.", ""]
    lines += ["| object | bytes | must be | |", "|---|---:|---:|---|"]
    for name, size in found.items():
        most = CASES[name][2]
        verdict = f"{most} | {'met' if size <= most else 'MISSED'}" if most else " | "
        lines.append(f"| {name} | {size:.0f} | {verdict} |")
    report.write("memory", facts, lines, {"bytes": found})
    return None


if __name__ == "__main__":
    main()
