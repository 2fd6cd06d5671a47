"""A file past about 500 lines wants to be two."""

import pytest

from support.source_tree import files, label

LARGEST = 600  # lines; past about 500 look for the seam where it becomes two
# what others copy into their projects is one file
EXCEPTIONS = {"src/lend/include/lend_take.h", "src/lend/minimal.py"}


@pytest.mark.parametrize("path", files(".py", ".pyi", ".pyx", ".pxd", ".h", ".c"), ids=label)
def test_file_is_no_longer_than_a_reader_can_hold(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LARGEST or label(path) in EXCEPTIONS, f"{label(path)} has {lines} lines"
