"""What was merged is merged: no file has kept the two halves of a conflict."""

import re

from support.source_tree import label, project_files

# written so that this file has none
MARKER = re.compile(r"^(?:<{7}|>{7}|[|]{7})(?: |$)|^={7}$")


def test_no_file_has_conflict_markers():
    found = [
        f"{label(path)}:{number}: {line}"
        for path in project_files()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if MARKER.match(line)
    ]
    assert not found, "\n".join(found)
