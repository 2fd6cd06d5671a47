"""The fuzzer, for some seconds: its seeds, the inputs that once found a fault, and what comes of them.

`make fuzz` runs it as long as wanted. Guided by coverage where there is a clang with libFuzzer; anywhere else the same
harness runs mutations of its own.
"""

import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

import pytest

from support import build
from support.source_tree import ROOT

TOOL = ROOT / "tools/fuzz.py"
SECONDS = 8

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not sysconfig.get_config_var("CC"), reason="the harness is written for Linux, in C"
)


def fuzz(*words):
    """What tools/fuzz.py says; its builds and its corpus lie in the folder of the tests' other builds."""
    mark = hashlib.sha256(repr((sys.version, sys.executable, str(ROOT))).encode()).hexdigest()[:24]
    folder = build._folder(f"fuzz-{mark}")
    shutil.rmtree(folder / "corpus", ignore_errors=True)
    run = subprocess.run(
        [sys.executable, str(TOOL), "--folder", str(folder), "--seconds", str(SECONDS), *words],
        capture_output=True,
        text=True,
        errors="replace",
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def has_clang():
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import sanitize_build

        return sanitize_build.find_clang() is not None
    finally:
        sys.path.remove(str(ROOT / "tools"))


def test_no_seed_and_no_mutation_of_one_finds_a_fault():
    said = fuzz("--plain", "--seed", "1")
    total, gave = map(int, re.search(r"^(\d+) inputs .* of which (\d+) gave", said, flags=re.MULTILINE).groups())
    assert total > 5000
    assert gave > total // 20, "hardly any input gets through: the harness has lost its way in"


@pytest.mark.timeout(900)
@pytest.mark.skipif(not has_clang(), reason="no clang with libFuzzer is installed")
def test_inputs_guided_by_coverage_find_no_fault():
    pytest.importorskip("Cython", reason="what reads is compiled anew for it")
    said = fuzz("--quick", "--jobs", "1")
    runs, edges = map(int, re.findall(r"(\d+) inputs .*?, (\d+) edges", said)[-1])
    assert runs > 1000
    assert edges > 1000, "lend's modules were not looked at"


def test_every_regression_tells_what_it_was():
    kept = sorted(pathlib.Path(__file__).parent.glob("regressions/*.hex"))
    assert kept
    assert [path.name for path in kept if "#" not in path.read_text(encoding="utf-8")] == []
