"""Time arrays in and out of lend beside its floor and its peers, in one interleaved run.

    python benchmarks/arrays.py [--processes 3] [--rounds 61] [--table in] [--row ndarray]

Writes results/arrays.md and results/arrays.json.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from cases import arrays_in, arrays_out, both, columns_in, from_c, sizes
from harness import build, environment, report
from harness.case import prepare
from harness.timing import interleave

TABLES = (arrays_in.TABLE, arrays_out.TABLE, both.TABLE, columns_in.TABLE, from_c.TABLE, sizes.TABLE)
NOTE = (
    "Minima of {processes} processes of {rounds} interleaved rounds each; medians beside them. Loops of about 1.2 ms, "
    "the collector off, each result destroyed in its iteration. The floor is built with gcc -O3, lend as installed. "
    '"processes": the least and the greatest ratio that one process alone would have shown.'
)


def worker(table, rounds, row, path):
    """Measure one table in this process and leave the result in a file."""
    ready, skipped = prepare(table, lambda r, case: row in r.name)
    measured = interleave(ready, rounds) if ready else {}
    pathlib.Path(path).write_text(json.dumps({"measured": measured, "skipped": skipped}))


def measure(table, options, folder):
    """Measure one table in processes of its own, one after the other."""
    runs, skipped = [], {}
    for number in range(options.processes):
        path = pathlib.Path(folder) / f"{table.name}-{number}.json"
        print(f"table {table.name}, process {number + 1} of {options.processes}", file=sys.stderr, flush=True)
        command = [sys.executable, __file__, "--worker", str(path), "--table", table.name]
        command += ["--rounds", str(options.rounds), "--row", options.row]
        variables = {"OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu", "PYTHONFAULTHANDLER": "1"}
        died = subprocess.run(command, check=False, env={**os.environ, **variables}).returncode
        if died:
            sys.exit(f"table {table.name}: the process died ({died}); the traceback above names the case")
        result = json.loads(path.read_text())
        runs.append(result["measured"])
        skipped.update(result["skipped"])
    return report.merge(runs), skipped


def main(arguments=None):
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=61)
    parser.add_argument("--table", choices=[table.name for table in TABLES], help="only this table")
    parser.add_argument("--row", default="", help="only rows whose name contains this")
    parser.add_argument("--worker", metavar="FILE", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    tables = [table for table in TABLES if options.table in {None, table.name}]
    if options.worker:
        return worker(tables[0], options.rounds, options.row, options.worker)
    before = environment.load()
    build.floor()
    measured, skipped = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for table in tables:
            result, left_out = measure(table, options, folder)
            skipped.update(left_out)
            if result:
                measured[table.name] = result
    tables = [table for table in tables if table.name in measured]
    if not tables:
        sys.exit("nothing could be measured:\n" + "\n".join(f"  {key}: {why}" for key, why in skipped.items()))
    facts = environment.environment(before)
    note = NOTE.format(processes=options.processes, rounds=options.rounds)
    report.arrays_report(tables, measured, skipped, facts, note)
    return None


if __name__ == "__main__":
    main()
