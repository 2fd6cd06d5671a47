"""Compile the double, once for each state of its source: `libcuda.so.1`, or the HIP runtime over the same files."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

from support import build

HERE = pathlib.Path(__file__).parent
DRIVER = (
    "start.c", "devices.c", "memory.c", "pools.c", "mappings.c", "streams.c", "capture.c", "copies.c", "queries.c",
    "processes.c", "books.c", "entry.c",
)  # fmt: skip
FLAGS = ("-O1", "-g", "-w", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-Bsymbolic")


def missing():
    """Why it cannot be had here; None: it can."""
    if not sys.platform.startswith("linux"):
        return "the double of the driver needs Linux"
    return None if compiler() else "the double of the driver needs a C compiler"


def compiler():
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def built(soname, sources, *defines):
    """The path of a library of that name, compiled if nobody has met this source yet."""
    command = [compiler(), *FLAGS, *defines, *(str(HERE / name) for name in sources), f"-Wl,-soname,{soname}"]
    digest = hashlib.sha256(repr(command).encode())
    for name in ("driver.h", "double.h", "books.h", *sources):
        digest.update((HERE / name).read_bytes())
    path = build._folder(digest.hexdigest()[:24]) / soname
    if not path.exists():
        draft = path.with_name(f"{os.getpid()}-{soname}")  # renamed when it is whole: several workers may build at once
        run = subprocess.run([*command, "-o", str(draft), "-lpthread", "-ldl"], capture_output=True, text=True)
        if run.returncode:
            raise RuntimeError(f"{' '.join(command)}\n{run.stdout}{run.stderr}")
        os.replace(draft, path)
    return path


def driver():
    return built("libcuda.so.1", DRIVER)


def hip(release):
    return built(f"libamdhip64.so.{release}", (*DRIVER, "hip.c"), f"-DHIP_RELEASE={release}")
