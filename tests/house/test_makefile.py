"""`make help` tells of every target."""

import re
import shutil
import subprocess

import pytest

from support.source_tree import ROOT

MAKEFILE = ROOT / "Makefile"


def targets():
    (names,) = re.findall(r"^\.PHONY:(.*)$", MAKEFILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return names.split()


def test_every_named_rule_is_phony():
    rules = re.findall(r"^([a-z-]+):(?!=)", MAKEFILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sorted(rules) == sorted(targets())


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_help_lists_every_target():
    run = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in run.stdout.splitlines()] == targets()
