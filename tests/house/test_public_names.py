"""The front door shows what it says, and no more than a reader can hold."""

import importlib.metadata
import subprocess
import sys

import lend

MOST_NAMES = 27

# In an interpreter of its own: another test may have imported rooms of lend, which then show as attributes.
MEMBERS = """
import lend, types
for name, value in vars(lend).items():
    if not name.startswith("_") and not isinstance(value, types.ModuleType):
        print(name)
"""


def test_public_members_are_those_of_all():
    run = subprocess.run([sys.executable, "-c", MEMBERS], capture_output=True, text=True, check=True)
    assert set(run.stdout.split()) - set(lend.__all__) == set(), "public, but not in __all__"


def test_every_name_of_all_is_there():
    assert [name for name in lend.__all__ if not hasattr(lend, name)] == []


def test_all_names_each_thing_once():
    assert len(lend.__all__) == len(set(lend.__all__))


def test_dir_shows_every_public_name():
    assert set(lend.__all__) <= set(dir(lend))


def test_version_is_the_one_that_is_installed():
    assert lend.__version__ == importlib.metadata.version("lend")


def test_public_names_are_few():
    assert len(lend.__all__) <= MOST_NAMES


def test_public_class_and_function_says_it_is_from_lend():
    """Tracebacks and pickles then name what the user typed, not the room it is kept in."""
    named = {name: getattr(getattr(lend, name), "__module__", "lend") for name in lend.__all__}
    assert {name: module for name, module in named.items() if not module.startswith("lend")} == {}
