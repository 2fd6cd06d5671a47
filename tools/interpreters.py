"""Print every CPython >= 3.11 on this machine, one of each version and kind, oldest first.

Looks on PATH and among pyenv's versions; `make test-all` runs the suite under each.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

FIRST_MINOR, LAST_MINOR = 11, 15

# What an interpreter says of itself: version, t for free-threaded, and whether it can compile an extension and make an
# environment. A pyenv shim of a version that is not selected exits with an error, and so is not listed.
QUESTION = """
import os, sys, sysconfig
import ensurepip, venv
if sys.implementation.name != "cpython":
    sys.exit("not CPython")
if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
    sys.exit("no headers")
print(sys.version_info[0], sys.version_info[1], sysconfig.get_config_var("Py_GIL_DISABLED") or 0)
"""


def candidates() -> list[str]:
    """Executables worth asking, the one running this first."""
    found = [sys.executable]
    for minor in range(FIRST_MINOR, LAST_MINOR + 1):
        for suffix in ("", "t"):
            name = f"python3.{minor}{suffix}"
            found += [
                str(Path(folder) / name)
                for folder in os.environ.get("PATH", "").split(os.pathsep)
                if shutil.which(name, path=folder)
            ]
    if shutil.which("pyenv"):
        root = subprocess.run(["pyenv", "root"], capture_output=True, text=True, check=True).stdout.strip()
        found += [str(path) for path in sorted(Path(root).glob("versions/*/bin/python"))]
    return found


def ask(executable: str) -> tuple[int, int, int] | None:
    """Version and kind, or None if lend cannot be tested there."""
    answer = subprocess.run([executable, "-c", QUESTION], capture_output=True, text=True, check=False, timeout=60)
    if answer.returncode != 0:
        return None
    major, minor, free_threaded = (int(word) for word in answer.stdout.split())
    return major, minor, free_threaded


def main() -> None:
    """Print the first executable found for each (version, free-threaded)."""
    chosen: dict[tuple[int, int, int], str] = {}
    for executable in candidates():
        kind = ask(executable)
        if kind is not None and kind >= (3, FIRST_MINOR, 0):
            chosen.setdefault(kind, executable)
    for kind in sorted(chosen):
        print(chosen[kind])
    if not any(free_threaded for _, _, free_threaded in chosen):
        print("no free-threaded interpreter was found; none is tested", file=sys.stderr)


if __name__ == "__main__":
    main()
