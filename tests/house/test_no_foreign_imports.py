"""lend imports no library that the user did not import: none when a file loads, and few rooms when a function runs."""

import pytest

from support.source_tree import files, imports, is_foreign, label

# Rooms whose functions may import a foreign library: they are there for the sake of it.
LIBRARY_ROOMS = {"adapters", "devices", "processes", "inspection", "testing", "cli"}
# Single files outside them that may, each with what for.
LIBRARY_FILES = {
    "src/lend/dtypes/foreign.py": "makes a NumPy dtype for who asks for one",
    "src/lend/minimal.py": "column_to_ndarray makes a NumPy array",
}

SOURCES = files(".py", ".pyx", ".pxd")


@pytest.mark.parametrize("path", SOURCES, ids=label)
def test_loading_a_file_imports_no_foreign_library(path):
    found = [f"{label(path)}:{item.line}: {item.target}" for item in imports(path) if item.eager and is_foreign(item)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", SOURCES, ids=label)
def test_foreign_library_is_imported_only_in_rooms_that_serve_it(path):
    if LIBRARY_ROOMS & set(path.parts) or label(path) in LIBRARY_FILES:
        return
    found = [f"{label(path)}:{item.line}: {item.target}" for item in imports(path) if is_foreign(item)]
    assert not found, "\n".join(found)
