"""Public things have docstrings, and the examples in them run and print what they say."""

import doctest
import importlib.util
import inspect
import re
import types

import pytest

import lend
from support.source_tree import files, module_name, requires

# What users read; every other module is open to them, but not shown.
PUBLIC_MODULES = ["lend", "lend.errors", "lend.typing", "lend.testing"]

OPTION_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


def is_public(dotted):
    return not any(part.startswith("_") for part in dotted.split("."))


def is_installed(dotted):
    """Ask from the top down: find_spec raises if a folder on the way is missing."""
    parts = dotted.split(".")
    return all(importlib.util.find_spec(".".join(parts[:end])) for end in range(1, len(parts) + 1))


def members(owner, name):
    """(dotted name, object) of a public thing and of what it holds."""
    yield name, owner
    if isinstance(owner, type):
        for key, raw in vars(owner).items():
            if is_public(key):
                yield f"{name}.{key}", getattr(owner, key) if isinstance(raw, classmethod | staticmethod) else raw


def public_names(module):
    """Names of the functions and classes of ours that a module defines or lists."""
    names = getattr(module, "__all__", None) or [name for name in vars(module) if is_public(name)]
    for name in names:
        thing = getattr(module, name)
        ours = (getattr(thing, "__module__", None) or "").partition(".")[0] == "lend"
        if ours and callable(thing):
            yield name


def documented():
    """Public modules, the functions and classes they define, and what lend itself shows; each thing once."""
    seen = set()
    for dotted in sorted({module_name(path) for path in files(".py", ".pyx")}):
        if not is_public(dotted) or not is_installed(dotted):
            continue  # what is missing is told by test_build_lists.py
        module = importlib.import_module(dotted)
        yield dotted, module
        for name in public_names(module):
            thing = getattr(module, name)
            for member, part in members(thing, f"{dotted}.{name}"):
                if id(part) not in seen:
                    seen.add(id(part))
                    yield member, part


DOCUMENTED = list(documented())
WITH_EXAMPLES = [(name, inspect.getdoc(thing)) for name, thing in DOCUMENTED if ">>>" in (thing.__doc__ or "")]


@pytest.mark.parametrize(("name", "text"), WITH_EXAMPLES, ids=[name for name, _ in WITH_EXAMPLES])
def test_examples_run(name, text, tmp_path, monkeypatch):
    for library in sorted(requires(text)):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    example = doctest.DocTestParser().get_doctest(text, {"lend": lend}, name, None, 0)
    report = []
    runner = doctest.DocTestRunner(optionflags=OPTION_FLAGS)
    runner.run(example, out=report.append)
    assert runner.failures == 0, "".join(report)


@pytest.mark.parametrize("name", [name for name in lend.__all__ if callable(getattr(lend, name))])
def test_public_function_or_class_shows_an_example(name):
    assert ">>>" in (getattr(lend, name).__doc__ or ""), f"lend.{name} needs an Examples block"


def shown():
    """(dotted name, object, what holds it) of all that lend shows to its users."""
    for dotted in filter(is_installed, PUBLIC_MODULES):
        module = importlib.import_module(dotted)
        for name in public_names(module):
            holder = getattr(module, name)
            for member, part in members(holder, f"{dotted}.{name}"):
                yield member, part, holder


def is_data(part):
    """Whether an attribute has no docstring of its own: a slot, or a plain value."""
    return isinstance(part, types.MemberDescriptorType) or not (hasattr(part, "__get__") or callable(part))


def test_what_lend_shows_has_a_docstring():
    parts = [(member, part) for member, part, holder in shown() if part is holder or not is_data(part)]
    assert [member for member, part in parts if not (part.__doc__ or "").strip()] == []


def test_data_attribute_is_named_in_the_docstring_of_its_class():
    untold = [
        member
        for member, part, holder in shown()
        if part is not holder and is_data(part) and not re.search(rf"\b{member.rpartition('.')[2]}\b", holder.__doc__)
    ]
    assert untold == []
