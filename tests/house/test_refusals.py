"""Every class of refusal that lend raises anywhere is in the corpus, with words that its text must have."""

import re

import pytest

from lend import errors
from support.corpus.every import TABLES
from support.source_tree import PACKAGE

CLASSES = [name for name in errors.__all__ if name != "LendError"]


def raised(name):
    """The files beside errors.py that know this class."""
    files = [
        path for path in PACKAGE.rglob("*.py*") if path.name != "errors.py" and path.suffix in (".py", ".pyx", ".pxd")
    ]
    return [path.name for path in files if re.search(rf"\b{name}(\.build|\.from_producer|\()", path.read_text())]


def told():
    """The names of the classes that the corpus has words for."""
    wrongs = [wrong for table in TABLES for wrong in table.wrong if any(wrong.says)]
    return {
        kind.__name__ for wrong in wrongs for kind in (wrong.error if isinstance(wrong.error, tuple) else [wrong.error])
    }


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_that_is_raised_is_tested_by_its_text(name):
    assert name in told() or not raised(name)
