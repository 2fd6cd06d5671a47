"""Compile every module of lend as a free-threaded CPython 3.13 would: against its headers, with Py_GIL_DISABLED.

Nothing is linked or run: it shows that the C is right for such an interpreter, no more. Needs meson, ninja and cython
on PATH; without the headers of a 3.13 it says so and does nothing.
"""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from interpreters import ask, candidates

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / ".build-freethreading"


def commands(python: str) -> list[tuple[Path, list[str]]]:
    """The Cython and C compiler calls of a build for `python`, each with its folder, in the order to run them."""
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir()
    native = BUILD / "native.ini"
    native.write_text(f"[binaries]\npython = '{python}'\n")
    subprocess.run(["meson", "setup", f"--native-file={native}", BUILD / "b", ROOT], check=True, stdout=sys.stderr)
    entries = json.loads((BUILD / "b" / "compile_commands.json").read_text())
    found = [(Path(entry["directory"]), shlex.split(entry["command"])) for entry in entries]
    return sorted(found, key=lambda command: Path(command[1][0]).name != "cython")


def main() -> None:
    """Run the calls; exit with the number of C files that do not compile, or 1 if there was none to compile."""
    python = next((path for path in candidates() if (ask(path) or (0, 0, 0))[:2] == (3, 13)), None)
    if python is None:
        print("check-freethreading: skipped, no CPython 3.13 with headers was found")
        return
    checked = failed = 0
    for folder, command in commands(python):
        if Path(command[0]).name == "cython":
            (folder / command[command.index("-o") + 1]).parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(command, cwd=folder, check=True)
        else:
            # The headers of an ordinary build leave the macro undefined, so that it can be set from outside.
            command += ["-DPy_GIL_DISABLED=1", "-fsyntax-only"]
            checked += 1
            failed += subprocess.run(command, cwd=folder, check=False).returncode != 0
    print(f"check-freethreading: {checked - failed} of {checked} modules compile with Py_GIL_DISABLED against {python}")
    sys.exit(failed or checked == 0)


if __name__ == "__main__":
    main()
