"""Time memory of devices over the double of the CUDA driver that the tests have: what lend costs beside the driver.

    python benchmarks/devices.py [--rounds 61] [--bytes 16777216]

The driver is a double, so its own times say nothing of a GPU, and ours beside them are what is told. On a machine with
one, scripts/check_on_gpu.py has the copies. Writes results/devices.md and results/devices.json.
"""

import argparse
import ctypes
import json
import pathlib
import subprocess
import sys
import tempfile
import time

from cases import devices
from harness import environment, report
from harness.case import prepare
from harness.timing import interleave

HERE = pathlib.Path(__file__).resolve().parent
LOOP = """
#include <time.h>
typedef int (*plural)(unsigned, int *, void **, unsigned long long);
double query_ns(plural ask, unsigned long long address, long times) {
    unsigned type, managed; int ordinal; unsigned long long words[5]; struct timespec a, b;
    int asked[] = {2, 8, 9, 4, 11, 12, 3, 17};
    void *answers[] = {&type, &managed, &ordinal, words, words + 1, words + 2, words + 3, words + 4};
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (long i = 0; i < times; i++) ask(8, asked, answers, address);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / times;
}
"""


def query(rounds):
    """Nanoseconds of one bare question to the driver about all that lend asks, by a loop in C."""
    from support.fakecuda import building, fake

    with tempfile.TemporaryDirectory() as folder:
        source, path = pathlib.Path(folder, "query.c"), pathlib.Path(folder, "query.so")
        source.write_text(LOOP)
        subprocess.run([building.compiler(), "-O2", "-shared", "-fPIC", source, "-o", path], check=True)
        loop = ctypes.CDLL(str(path)).query_ns
    loop.restype = ctypes.c_double
    address = ctypes.c_uint64(fake.malloc_managed(4000))
    ask = ctypes.cast(fake.lib.cuPointerGetAttributes, ctypes.c_void_p)
    return min(loop(ask, address, ctypes.c_long(2000)) for _ in range(rounds))


def worker(what, rounds, size):
    """Measure in a child with the double, and print what was found."""
    if what == "copies":
        from gpu_checks.driver import Gpu
        from gpu_checks.speed import speed
        from support import fakecuda

        print(json.dumps(list(speed(Gpu(str(fakecuda.library())), size))))
        return
    found = {}
    if what == "access":
        from support.fakecuda import fake

        fake.init()
        found["query"] = query(rounds)
    driven = what == "with a driver"
    ready, skipped = prepare(
        devices.ACCESS if what == "access" else devices.IN,
        lambda row, case: (
            not driven or case.name == "of a device"
        ),  # of unknown objects of the host the driver is asked
    )
    if driven:
        from support.fakecuda import fake

        fake.init()
        fake.reset()
    found |= {"measured": interleave(ready, rounds), "skipped": skipped}
    if driven:
        found["calls"] = fake.all_calls()
    print(json.dumps(found))


def child(what, options):
    from support import fakecuda

    print(f"{what} ...", file=sys.stderr, flush=True)
    snippet = f"import devices; devices.worker({what!r}, {options.rounds}, {options.bytes})"
    path = ":".join(map(str, paths()))
    told = fakecuda.run_clean(snippet, load=what != "in", options=(), env={"PYTHONPATH": path}, arena_mb=2048)
    return json.loads(told)


def paths():
    lend = __import__("lend").__path__[0]
    return HERE, HERE.parent / "tests", HERE.parent / "scripts", pathlib.Path(lend).parent


def ns(run, table, case):
    return run["measured"][f"{table.name} / {table.rows[0].name} / {case}"]["min"]


def main(arguments=None):
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=61)
    parser.add_argument("--bytes", type=int, default=16 << 20, help="of a copy")
    options = parser.parse_args(arguments)
    sys.path[:0] = map(str, paths())
    before, began = environment.load(), time.perf_counter()
    plain, driven, access, copies = (
        child(what, options) for what in ("in", "with a driver", "access", "copies")
    )  # fmt: skip
    taken = report.merge([plain["measured"]])
    facts = environment.environment(before)
    lines = ["# Devices: over the double of the CUDA driver", "", *environment.heading(facts), ""]
    lines += [f"Minima of {options.rounds} interleaved rounds; {time.perf_counter() - began:.0f} s in all.", ""]
    verdicts = report.judge(devices.IN, taken)
    lines += [*report.table_lines(devices.IN, taken), "", *report.verdict_lines(verdicts), ""]
    asked = driven["calls"]
    lines += [
        f"Calls of the driver while the same ran with one: {asked} (must be 0: {'met' if not asked else 'MISSED'}).",
        "",
    ]
    new, later, alone, host = (
        ns(access, devices.ACCESS, case.name) for case in devices.ACCESS.rows[0].cases
    )  # fmt: skip
    lines += [*report.table_lines(devices.ACCESS, report.merge([access["measured"]])), ""]
    beyond = new - alone - host - access["query"]
    verdict = "met" if beyond <= 2000 else "MISSED"
    lines += [
        "| looked at and shown, beyond a View, and a memoryview of the host | ns |",
        "|---|---:|",
        f"| the first time | {new - alone - host:.0f} |",
        f"| later | {later - host:.0f} |",
        f"| the question itself, asked of the double in C | {access['query']:.0f} |",
        f"| the first time beyond the question (must be at most 2000: {verdict}) | {beyond:.0f} |",
        "",
        "## Copies, beside one call of the driver for as many bytes",
        "",
        "| copy | bytes | lend ms | driver ms | ratio | must be | |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for row in copies:
        lines.append(
            f"| {row['what']} | {row['bytes']} | {row['lend_s'] * 1e3:.2f} | {row['driver_s'] * 1e3:.2f} "
            f"| {row['ratio']:.2f} | 1.20 | {'met' if row['ratio'] <= 1.2 else 'MISSED'} |"
        )
    report.write("devices", facts, lines, {"in": plain, "with a driver": driven, "access": access, "copies": copies})
    return 0


if __name__ == "__main__":
    sys.exit(main())
