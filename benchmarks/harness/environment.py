"""What a published table must carry: versions, load, date and the command."""

import datetime as dt
import importlib.metadata
import os
import pathlib
import platform
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
PACKAGES = (
    "lend",
    "numpy",
    "torch",
    "apache-tvm-ffi",
    "jax",
    "pyarrow",
    "arro3-core",
    "nanoarrow",
    "polars",
    "cuda-core",
    "nanobind",
    "ml_dtypes",
)


def versions():
    """Version of each package that is installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def commit():
    """The commit of this checkout, with a plus sign if files differ from it; None without git."""
    try:
        tell = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--exclude=*"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return tell.stdout.strip()


def load():
    """The load of the last minute."""
    return round(os.getloadavg()[0], 2)


def environment(load_before):
    """Facts about this run."""
    return {
        "date": dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": " ".join(["python", f"benchmarks/{pathlib.Path(sys.argv[0]).name}", *sys.argv[1:]]),
        "commit": commit(),
        "load": [load_before, load()],
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": f"{platform.python_implementation()} {platform.python_version()}, {platform.python_compiler()}",
        "versions": versions(),
    }


def heading(facts):
    """The same as lines of Markdown."""
    packages = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return [
        f"{facts['date']}, commit {facts['commit']}, load {facts['load'][0]} before and {facts['load'][1]} after.",
        f"{facts['machine']}; {facts['python']}; {packages}.",
        "",
        f"    {facts['command']}",
    ]
