"""A file imports from its own floor or lower ones, and no import goes in a circle (ARCHITECTURE.md)."""

from graphlib import CycleError, TopologicalSorter

import pytest

from support.source_tree import FLOORS, MODULES, files, floor, imports, label, module_name

SOURCES = files(".py", ".pyx", ".pxd")


def test_every_room_has_a_floor():
    rooms = {module.split(".")[1] for module in MODULES if "." in module and module != "lend.__main__"}
    assert rooms <= set(FLOORS), "enter the new room in tests/support/source_tree.py and in ARCHITECTURE.md"


@pytest.mark.parametrize("path", SOURCES, ids=label)
def test_file_imports_only_from_its_own_floor_or_lower(path):
    own = floor(module_name(path))
    if own is None:
        return  # the front door; what it loads is checked by test_import_is_light.py
    upward = [
        f"{label(path)}:{item.line}: floor {own} imports {item.target}"
        for item in imports(path)
        if item.top == "lend" and (floor(item.target) is None or floor(item.target) > own)
    ]
    assert not upward, "\n".join(upward)


def counts(item, module):
    """Inside one room a function may import a neighbour that is rarely needed, though the neighbour needs this file."""
    if item.top != "lend" or item.target == module:
        return False
    return item.eager or item.target.split(".")[1:2] != module.split(".")[1:2]


def test_no_import_cycle():
    graph = {module: set() for module in MODULES}
    for path in SOURCES:
        module = module_name(path)
        if floor(module) is not None:
            graph[module] |= {item.target for item in imports(path) if counts(item, module)}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("import cycle: " + " -> ".join(error.args[1]))
