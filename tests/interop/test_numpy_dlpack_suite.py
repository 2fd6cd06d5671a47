"""NumPy's own tests of DLPack, with lend between the array and its consumer.

The installed NumPy's `test_dlpack.py` is loaded with two changes: `np.from_dlpack(x)` receives `lend.view(x)`, and
`x.__dlpack__()` and `x.__dlpack_device__()` are asked of `lend.view(x)`.
"""

import ast
import importlib.util
import pathlib
import sys
import types

import pytest

import lend

np = pytest.importorskip("numpy")

# What lend does otherwise, and why; below stands what it does instead.
DIFFERENT = {
    "test_dunder_dlpack_stream": "a stream that means nothing is a StreamError: a ValueError, no RuntimeError",
    "test_writeable": "lend asks the buffer, which says more than an old `__dlpack__`: the array may be written to",
}


class LentNumPy:
    """The module `numpy`, but that its `from_dlpack` gets Views."""

    def __getattr__(self, name):
        return getattr(np, name)

    def from_dlpack(self, x, /, **keywords):
        return np.from_dlpack(lend.view(x), **keywords)


class AskTheView(ast.NodeTransformer):
    """`x.__dlpack__` becomes `lent_view(x).__dlpack__`; that of `super()` stays NumPy's."""

    def visit_Attribute(self, node):
        self.generic_visit(node)
        is_super = isinstance(node.value, ast.Call) and getattr(node.value.func, "id", None) == "super"
        if node.attr in ("__dlpack__", "__dlpack_device__") and not is_super:
            node.value = ast.Call(ast.Name("lent_view", ast.Load()), [node.value], [])
        return ast.fix_missing_locations(node)

    def visit_Call(self, node):
        """pytest wants a list where NumPy hands it a generator."""
        self.generic_visit(node)
        if getattr(node.func, "attr", None) == "parametrize":
            node.args[1] = ast.Call(ast.Name("list", ast.Load()), [node.args[1]], [])
        return ast.fix_missing_locations(node)


def load():
    """NumPy's test module, changed as said; skips where this NumPy came without its tests."""
    folder = importlib.util.find_spec("numpy").submodule_search_locations[0]
    path = pathlib.Path(folder, "_core", "tests", "test_dlpack.py")
    if not path.exists():
        pytest.skip("this NumPy came without numpy/_core/tests/test_dlpack.py", allow_module_level=True)
    tree = AskTheView().visit(ast.parse(path.read_text(encoding="utf-8")))
    module = types.ModuleType("numpy_test_dlpack")
    module.lent_view = lend.view
    exec(compile(tree, str(path), "exec"), module.__dict__)
    module.np = LentNumPy()
    return module


suite = load()


class TestNumPysDLPack(suite.TestDLPack):
    pass


for name, reason in DIFFERENT.items():
    pytest.mark.xfail(reason=reason, strict=True)(getattr(TestNumPysDLPack, name))


@pytest.mark.parametrize("hand_out", [lambda x: lend.view(x).__dlpack__(), lambda x: suite.np.from_dlpack(x)])
def test_an_array_is_referred_to_while_it_is_lent_and_no_longer(hand_out):
    array = np.arange(5)
    before = sys.getrefcount(array)
    made = hand_out(array)
    assert sys.getrefcount(array) > before
    del made
    assert sys.getrefcount(array) == before


def test_a_stream_on_the_host_is_a_value_error():
    with pytest.raises(ValueError, match="stream"):
        lend.view(np.arange(5)).__dlpack__(stream=1)


def test_an_array_with_an_old_dlpack_stays_writable():
    old = list(suite.new_and_old_dlpack())[1]
    suite.np.from_dlpack(old)[0] = 7
    assert old[0] == 7


def test_the_changed_suite_asks_lend():
    array = np.arange(3)
    made = suite.np.from_dlpack(array)
    assert len([loan for loan in lend.loans() if loan.producer is array]) == 1
    assert made.base is not None
