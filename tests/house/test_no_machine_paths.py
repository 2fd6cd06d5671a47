"""No file of the project names a folder of somebody's machine, or a host that packages come from."""

import re
from pathlib import Path

import pytest

from support.source_tree import label, project_files

FOLDERS = "work|root|home|opt|Users|mnt|srv"
PATTERNS = {
    "an absolute path of one machine": re.compile(rf"(?<![\w.>)}}*-])/(?:{FOLDERS})/\w"),
    "a package index": re.compile(
        r"--(?:extra-)?index-url|--find-links|https?://(?:test\.|files\.)?py(?:pi\.org|thonhosted)"
    ),
}


@pytest.mark.parametrize("what", PATTERNS)
def test_no_file_names(what):
    found = [
        f"{label(path)}:{number}: {line.strip()}"
        for path in project_files()
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if PATTERNS[what].search(line)
    ]
    assert not found, "\n".join(found)
