"""Hold lend against a real GPU: the table of what the host may touch, streams, copies, libraries, and a benchmark.

    python scripts/check_on_gpu.py --report check_on_gpu.json

Wants lend and a CUDA driver, takes less than five minutes, and goes through torch, cupy, numba and cuda.core where they
are installed and can use the driver. Checks run in processes of their own: one that dies is a row that failed, and the
rest goes on. The exit status is 0 when no row failed, 1 when one did, 2 when there is no driver or no device.

--driver PATH     the library that is loaded as the driver (default: libcuda.so.1)
--report PATH     where the report goes (default: check_on_gpu.json)
--only GROUP      this group alone, or several times those: table, single, order, copies, columns, torch, cupy, numba,
                  cuda.core, speed
--bytes N         how much a row of the benchmark copies (default: 256 MiB)
--seconds N       what has not begun by then is skipped (default: 270)

The report is one JSON object:

    format      1
    lend, python, platform, driver    versions; `driver` as the driver writes it: 13000 is 13.0
    double      whether the driver is the double of lend's tests
    libraries   version of each library that may take part, null where it is not installed
    devices     for each its name and the attributes that decide (pageable: 88, host_page_tables: 100, concurrent: 89,
                direct_managed: 101, registered_same: 91, integrated: 18)
    rows        for each: group, check, asked, expected (a list: one of these), got, status ("ok", "failed", "skipped")
                and reason (of what is not ok)
    speed       for each copy: what, bytes, lend_s, driver_s (one copy of as many bytes by the driver, between the same
                kinds of memory), bus_s (the same between pinned and device memory), ratio (lend_s to driver_s), to_bus,
                goal (what is to be at most 1.2: "ratio", or "to_bus" of rows that lie apart) and met. Never a failure.
    summary     how many rows are ok, failed and skipped
    seconds     how long it took
"""

import argparse
import ctypes
import importlib.metadata
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import lend
from gpu_checks import CHECKS, DIES, Skipped, columns, libraries, single, table  # noqa: F401 - they enter their checks
from gpu_checks.driver import ATTRIBUTES, Gpu
from gpu_checks.speed import speed

GROUPS = ["table", "single", "order", "copies", "columns", "torch", "cupy", "numba", "cuda.core", "speed"]
LIBRARIES = ["numpy", "torch", "cupy", "numba-cuda", "cuda-core", "cuda-bindings"]


def child(options):
    """Carry out checks one after the other, and write each row down as it comes; ends after one that failed."""
    gpu = Gpu(options.driver)
    with options.child.open("a", encoding="utf-8") as book:

        def write(**row):
            book.write(json.dumps(row) + "\n")
            book.flush()

        if options.only == ["devices"]:
            write(driver=gpu.out("cuDriverGetVersion", kind=ctypes.c_int), double=gpu.double)
            for number in range(gpu.count):
                write(name=gpu.name(number), **{key: gpu.attribute(at, number) for key, at in ATTRIBUTES.items()})
        elif options.only == ["speed"]:
            for row in speed(gpu, options.bytes):
                write(**row)
        else:
            for key in [tuple(name.split("/", 1)) for name in options.only]:
                carry_out(gpu, key, write)
    os._exit(0)  # what is pending, and what libraries do at the end, is no part of it


def carry_out(gpu, key, write):
    group, name = key
    about = {"group": group, "check": name}
    failed = []
    write(begun=f"{group}/{name}")

    def say(asked, expected, got):
        ok = got in expected
        failed.extend([] if ok else [asked])
        reason = {} if ok else {"reason": "another answer than expected"}
        write(**about, asked=asked, expected=expected, got=got, status="ok" if ok else "failed", **reason)

    try:
        CHECKS[key][0](gpu, say)
    except Skipped as reason:
        write(**about, asked=name, expected=[], got=None, status="skipped", reason=str(reason))
    except Exception:  # noqa: BLE001 - whatever it is, it is what the check came to
        failed.append(name)
        write(
            **about, asked=name, expected=["no error"], got="an error", status="failed", reason=traceback.format_exc()
        )
    if failed:
        os._exit(0)  # an error may stay in the context


def start(options, names, limit):
    """A child that carries these out: what it wrote, its exit status (None: it took too long), and its stderr."""
    with tempfile.TemporaryDirectory() as folder:
        book = pathlib.Path(folder, "rows")
        command = [sys.executable, __file__, "--driver", options.driver, "--bytes", str(options.bytes)]
        command += [f"--child={book}", *(f"--only={name}" for name in names)]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=max(limit, 1), check=False)
            status, told = run.returncode, run.stdout + run.stderr
        except subprocess.TimeoutExpired:
            status, told = None, ""
        lines = book.read_text(encoding="utf-8").splitlines() if book.exists() else []
    return [json.loads(line) for line in lines], status, told


def ended(status):
    if status is None:
        return "it did not end in time"
    return f"the process is ended by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"


def rows_of(options, keys, left):
    """The rows of these checks; after one that failed or died the rest is begun anew."""
    keys = list(keys)
    while keys:
        if left() <= 0:
            for group, name in keys:
                yield {
                    "group": group,
                    "check": name,
                    "asked": name,
                    "expected": [],
                    "got": None,
                    "status": "skipped",
                    "reason": "there was no time left",
                }
            return
        several = keys[:1] if CHECKS[keys[0]][1] else [key for key in keys if not CHECKS[key][1]]
        lines, status, told = start(options, ["/".join(key) for key in several], min(left(), 60))
        yield from (line for line in lines if "begun" not in line)
        begun = [tuple(line["begun"].split("/", 1)) for line in lines if "begun" in line] or several[:1]
        if status != 0:
            group, name = begun[-1]
            ok = CHECKS[begun[-1]][1] and ended(status) == DIES
            expected = [DIES] if CHECKS[begun[-1]][1] else ["an end of the process by itself"]
            row = {"group": group, "check": name, "asked": name, "expected": expected, "got": ended(status)}
            yield row | ({"status": "ok"} if ok else {"status": "failed", "reason": told[-2000:]})
        keys = [key for key in keys if key not in begun]


def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--driver", default="libcuda.so.1")
    parser.add_argument("--report", type=pathlib.Path, default="check_on_gpu.json")
    parser.add_argument("--only", action="append", default=[], metavar="GROUP")
    parser.add_argument("--bytes", type=int, default=256 << 20)
    parser.add_argument("--seconds", type=float, default=270)
    parser.add_argument("--child", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options)
    begun = time.monotonic()

    def left():
        return options.seconds - (time.monotonic() - begun)

    lines, status, told = start(options, ["devices"], 60)
    about, *devices = lines or [{}]
    if status or not devices:
        print("no driver, or no device:", *told.strip().splitlines()[-1:], file=sys.stderr)
        return 2
    rows = []
    for group in GROUPS[:-1]:
        if options.only and group not in options.only:
            continue
        found = list(rows_of(options, [key for key in CHECKS if key[0] == group], left))
        rows += found
        counts = {status: sum(row["status"] == status for row in found) for status in ("ok", "failed", "skipped")}
        print(f"{group:10}", ", ".join(f"{count} {status}" for status, count in counts.items()))
    measured = []
    if "speed" in (options.only or ["speed"]):
        measured, status, told = start(options, ["speed"], min(left(), 90))
        if status:
            rows.append(
                {
                    "group": "speed",
                    "check": "speed",
                    "asked": "the benchmark",
                    "expected": ["an end by itself"],
                    "got": ended(status),
                    "status": "failed",
                    "reason": told[-2000:],
                }
            )
    for row in rows:
        if row["status"] == "failed":
            print(f"FAILED {row['group']} / {row['check']} / {row['asked']}: {row['got']}, not {row['expected']}")
    for row in measured:
        print(f"{row['what']}: {row['ratio']:.2f} of the driver's time, {row['to_bus']:.2f} of the bus's")
    report = {
        "format": 1,
        "lend": lend.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        **about,
        "libraries": {name: version(name) for name in LIBRARIES},
        "devices": devices,
        "rows": rows,
        "speed": measured,
        "summary": {status: sum(row["status"] == status for row in rows) for status in ("ok", "failed", "skipped")},
        "seconds": round(time.monotonic() - begun, 1),
    }
    options.report.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(f"{report['summary']} in {report['seconds']} s: {options.report}")
    return int(report["summary"]["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
