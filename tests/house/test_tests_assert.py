"""Every test asserts something: one that only runs code passes whatever the code answers."""

import ast

import pytest

from support.source_tree import ROOT, label

TESTS = ROOT / "tests"
OF_LIBRARIES = {"raises", "warns", "fail", "run_state_machine_as_test"}  # what judges by a call, beside our helpers


def called(node):
    """The last names of all that is called inside: `children.run_clean(...)` is run_clean."""
    functions = [inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call)]
    return {getattr(function, "attr", None) or getattr(function, "id", None) for function in functions}


def functions_of(tree):
    """Functions and methods of a file; what stands inside one of them is a part of it."""
    places = [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]
    return [node for place in places for node in place.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def asserts(function):
    return any(isinstance(inner, ast.Assert) for inner in ast.walk(function))


def judges(functions, known=frozenset(OF_LIBRARIES)):
    """Names of the helpers among these functions that assert, or call one that does."""
    found = set(known) | {function.name for function in functions if asserts(function)}
    while more := {function.name for function in functions if called(function) & found} - found:
        found |= more
    return found


def named(node):
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def called_as_parameter(function, tree):
    """Names in the tables that a test is parametrised by, if it calls what it is given: `game(...)`, out of GAMES."""
    if not called(function) & {argument.arg for argument in function.args.args}:
        return set()
    tables = {
        target.id: named(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return {name for mark in function.decorator_list for table in named(mark) for name in tables.get(table, ())}


def without_assertion(tree, helpers=frozenset(OF_LIBRARIES)):
    """The test functions of a file that assert nothing, themselves or by a helper."""
    functions = functions_of(tree)
    tests = [function for function in functions if function.name.startswith("test")]
    found = judges([function for function in functions if function not in tests], helpers)
    return [test for test in tests if not (asserts(test) or (called(test) | called_as_parameter(test, tree)) & found)]


def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def test_every_test_asserts_something():
    shared = [*TESTS.glob("support/*.py"), *TESTS.rglob("conftest.py")]
    helpers = judges([function for path in shared for function in functions_of(parsed(path))])
    files = sorted(TESTS.rglob("test_*.py"))
    assert len(files) > 10
    found = [
        f"{label(path)}:{function.lineno}: {function.name} asserts nothing"
        for path in files
        for function in without_assertion(parsed(path), helpers)
    ]
    assert not found, "\n".join(found)


IDLE = [
    "def test_a(): view.verify()",
    "def test_a(): [helper(x) for x in y]\ndef helper(x): return x",
    "@pytest.mark.parametrize('x', [1])\ndef test_a(x):\n    for _ in x: print(_)",
    "def game(): pass\nGAMES = {'one': game}\n@parametrize('play', GAMES)\ndef test_a(play): play()",
    "def test_a(): helper(x)\ndef helper(work): work()\ndef test_b():\n    def work(): assert x\n    helper(work)",
    "def test_a(): tested()\ndef test_b(): assert x",
]
ACTIVE = [
    "def test_a(): assert x",
    "def test_a():\n    with pytest.raises(E): f()",
    "def test_a():\n    def work(): assert x\n    run(work)",
    "def test_a(): helper()\ndef helper(): deeper()\ndef deeper(): assert x",
    "def test_a(): children.run_clean('')",
    "def game(): assert x\nGAMES = {'one': game}\n@parametrize('play', GAMES)\ndef test_a(play): play()",
]


@pytest.mark.parametrize("text", IDLE)
def test_a_test_without_an_assertion_is_found(text):
    helpers = OF_LIBRARIES | {"run_clean"}
    assert [function.name for function in without_assertion(ast.parse(text), helpers)] == ["test_a"]


@pytest.mark.parametrize("text", ACTIVE)
def test_a_test_that_asserts_somehow_is_left_alone(text):
    assert without_assertion(ast.parse(text), OF_LIBRARIES | {"run_clean"}) == []
