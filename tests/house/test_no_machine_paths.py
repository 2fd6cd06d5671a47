"""No file of the project names a folder of somebody's machine, or a host that packages come from."""

import os
import re
from pathlib import Path

import pytest

from support.source_tree import ROOT, label

SKIPPED_FOLDERS = {"build", "dist", "shared", "__pycache__"}
TEXT = {"", ".py", ".pyi", ".pyx", ".pxd", ".h", ".c", ".md", ".toml", ".build", ".txt", ".sh", ".rst", ".cfg", ".yml"}

FOLDERS = "work|root|home|opt|Users|mnt|srv"
PATTERNS = {
    "an absolute path of one machine": re.compile(rf"(?<![\w.>)}}*-])/(?:{FOLDERS})/\w"),
    "a package index": re.compile(
        r"--(?:extra-)?index-url|--find-links|https?://(?:test\.|files\.)?py(?:pi\.org/simple|thonhosted)"
    ),
}


def project_files():
    """Text files of the project: what git would hold, told without git."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if f == ".ci" or not (f.startswith(".") or f in SKIPPED_FOLDERS)]
        folders[:] = [f for f in folders if not Path(folder, f, "pyvenv.cfg").exists()]
        for name in sorted(names):
            path = Path(folder, name)
            if path.suffix in TEXT and path != Path(__file__):
                yield path


@pytest.mark.parametrize("what", PATTERNS)
def test_no_file_names(what):
    found = [
        f"{label(path)}:{number}: {line.strip()}"
        for path in project_files()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if PATTERNS[what].search(line)
    ]
    assert not found, "\n".join(found)
