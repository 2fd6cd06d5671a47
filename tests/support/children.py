"""Run a snippet in a process of its own: for what may crash, for exits, and for what must not be imported yet."""

import os
import pathlib
import subprocess
import sys
import textwrap
from typing import NamedTuple

TESTS = pathlib.Path(__file__).parent.parent


class Result(NamedTuple):
    """How the child ended: its exit status (negative: a signal) and what it wrote."""

    rc: int
    out: str
    err: str


def run(snippet, *, args=(), options=("-X", "dev"), env=None, timeout=120):
    """Run `snippet` with this interpreter, `support` importable in it; `-X dev` unless `options` says otherwise."""
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    child = subprocess.run(
        [sys.executable, *options, "-c", textwrap.dedent(snippet), *map(str, args)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, "PYTHONPATH": path, **(env or {})},
    )
    return Result(child.returncode, child.stdout, child.stderr)


def run_table(module, table):
    """Let `module` judge one table of hostile input in a process of its own, which may not end by itself."""
    command = [sys.executable, "-X", "faulthandler", "-m", module, table]
    child = subprocess.run(command, capture_output=True, text=True, cwd=TESTS)
    last = child.stdout.splitlines()[-1:]
    assert child.returncode in (0, 1), f"{last} ended the process\n{child.stderr}"
    assert (child.returncode, child.stderr) == (0, ""), child.stderr


def run_clean(snippet, **keywords):
    """Run `snippet` and give back what it printed; anything but exit status 0 and a silent stderr fails the test."""
    result = run(snippet, **keywords)
    assert result.rc == 0, f"exit status {result.rc}\n{result.out}{result.err}"
    assert result.err == "", result.err
    return result.out
