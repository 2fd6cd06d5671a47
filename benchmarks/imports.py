"""Time `import lend` against `import arro3.core`, each less the bare interpreter, and count the modules added.

    python benchmarks/imports.py [--rounds 101] [--python PATH]

Beside them stand lend/minimal.py, copied as the one file it is, and the two modules of the standard library that most
of its import goes to. The packages are copied from the running environment into a virtual environment of their own,
whose interpreter loads nothing else at its start; --python names an environment to use as it is. Writes
results/imports.md and .json.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv

from harness import environment, report

STATEMENTS = {
    "bare": "pass",
    "lend": "import lend",
    "arro3.core": "import arro3.core",
    "minimal.py, copied": "import minimal",
    "ctypes and struct": "import ctypes, struct",
}
TARGET = 1.0  # of arro3.core
MOST_MODULES, MOST_EXTENSIONS = 15, 8
BANNED = (
    "typing", "enum", "re", "dataclasses", "inspect", "functools", "ctypes",
    "numpy", "pandas", "polars", "pyarrow", "torch",
)  # fmt: skip
COUNT = """
import json, sys
before = set(sys.modules)
{}
added = sorted(set(sys.modules) - before)
files = [getattr(sys.modules[name], "__file__", None) or "" for name in added]
print(json.dumps({{"added": added, "extensions": sum(f.endswith((".so", ".pyd")) for f in files)}}))
"""


def fresh(place):
    """A virtual environment that holds copies of the packages and nothing else; returns its interpreter."""
    venv.create(place, with_pip=False, symlinks=os.name != "nt")
    scheme = {"base": str(place), "platbase": str(place)}
    site = pathlib.Path(sysconfig.get_path("purelib", "venv", vars=scheme))
    for package in ("lend", "arro3"):
        spec = importlib.util.find_spec(package)
        if spec is None:
            print(f"{package} is not installed here", file=sys.stderr)
            continue
        folder = pathlib.Path(next(iter(spec.submodule_search_locations)))
        shutil.copytree(folder, site / package)
        if package == "lend":
            shutil.copy(folder / "minimal.py", site)
    return str(pathlib.Path(sysconfig.get_path("scripts", "venv", vars=scheme)) / "python")


def spawn(python, statement):
    """Wall and CPU time of one interpreter, in ms."""
    begin = time.perf_counter_ns()
    pid = os.posix_spawn(python, [python, "-I", "-c", statement], os.environ)
    _, status, usage = os.wait4(pid, 0)
    wall = (time.perf_counter_ns() - begin) / 1e6
    if status:
        raise RuntimeError(f"{statement!r} failed")
    return wall, (usage.ru_utime + usage.ru_stime) * 1e3


def measure(python, rounds):
    """Interleaved runs: the start rotates. What cannot be imported is left out."""
    names, modules = ["bare"], {}
    for name, statement in STATEMENTS.items():
        run = subprocess.run([python, "-I", "-c", COUNT.format(statement)], capture_output=True, text=True, check=False)
        if run.returncode:
            print(f"{name}: {run.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        elif name != "bare":
            modules[name] = json.loads(run.stdout)
            names.append(name)
    times = {name: [] for name in names}
    for turn in range(rounds + 3):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            took = spawn(python, STATEMENTS[name])
            if turn >= 3:  # the first rounds fill the file cache
                times[name].append(took)
    return times, modules


def over_bare(times):
    """What a name takes more than the bare interpreter of the same round, in ms: medians, and the minimum."""
    found = {}
    for name, taken in times.items():
        bare = [(0, 0)] * len(taken) if name == "bare" else times["bare"]
        found[name] = {
            "min": min(wall for wall, _ in taken) - min(wall for wall, _ in bare),
            "median": statistics.median(wall - base for (wall, _), (base, _) in zip(taken, bare, strict=True)),
            "cpu_median": statistics.median(cpu - base for (_, cpu), (_, base) in zip(taken, bare, strict=True)),
        }
    return found


def main(arguments=None):
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--python", help="an interpreter with lend and arro3-core, used as it is")
    options = parser.parse_args(arguments)
    before = environment.load()
    with tempfile.TemporaryDirectory() as folder:
        times, modules = measure(options.python or fresh(pathlib.Path(folder) / "env"), options.rounds)
    found, facts = over_bare(times), environment.environment(before)
    lines = ["# Imports", "", *environment.heading(facts), ""]
    lines.append(
        f"{options.rounds} interleaved rounds; ms above the bare interpreter of the same round (its row: absolute)."
    )
    lines.append("")
    lines += ["| | min | median | cpu median | modules added | extension modules |", "|---|---:|---:|---:|---:|---:|"]
    for name, m in found.items():
        count = modules.get(name)
        counts = f"{len(count['added'])} | {count['extensions']}" if count else " | "
        lines.append(f"| {name} | {m['min']:.2f} | {m['median']:.2f} | {m['cpu_median']:.2f} | {counts} |")
    if {"lend", "arro3.core"} <= set(found):
        ratio = found["lend"]["median"] / found["arro3.core"]["median"]
        cpu = found["lend"]["cpu_median"] / found["arro3.core"]["cpu_median"]
        count = modules["lend"]
        loaded = [name for name in BANNED if name in count["added"]]
        verdict = "met" if ratio <= TARGET else "MISSED"
        lines.append("")
        ratios = f"{ratio:.2f} ({cpu:.2f} by CPU time)"
        lines.append(f"- **lend / arro3.core: {ratios}; must be <= {TARGET:.2f}: {verdict}**")
        lines.append(f"- modules: {len(count['added'])}, at most {MOST_MODULES}")
        lines.append(f"- extension modules: {count['extensions']}, at most {MOST_EXTENSIONS}")
        lines.append(f"- must not be loaded, and were: {', '.join(loaded) or 'none'}")
        lines.append(f"- added: {', '.join(count['added'])}")
    report.write("imports", facts, lines, {"over_bare_ms": found, "modules": modules})


if __name__ == "__main__":
    main()
