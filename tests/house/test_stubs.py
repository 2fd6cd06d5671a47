"""Every compiled module has a stub, and the stub says what the module does: names, parameters, properties."""

import ast
import importlib
import inspect
import sys
import types
from inspect import Parameter

import pytest

from support.source_tree import files, label, module_name

# PEP 688: type checkers know it of every version, the interpreter shows it from 3.12 on.
UNSEEN = {"__buffer__"} if sys.version_info < (3, 12) else set()

COMPILED = files(".pyx")
STUBBED = [path for path in COMPILED if path.with_suffix(".pyi").exists()]


def public(names):
    return {name for name in names if not name.startswith("_")}


def load(path):
    return importlib.import_module(module_name(path))


def parse(path):
    return ast.parse(path.with_suffix(".pyi").read_text(encoding="utf-8"))


def own_names(module):
    """Public names that a compiled module defines, without what it imported from elsewhere."""
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not isinstance(value, types.ModuleType)
        and getattr(value, "__module__", module.__name__) == module.__name__
    }


def declared(body):
    """Name -> nodes that declare it in a stub; several for overloads and for a property with a setter."""
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.AnnAssign):
            found.setdefault(node.target.id, []).append(node)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                found.setdefault(target.id, []).append(node)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.asname == alias.name:  # `import X as X`: the module shows it
                    found.setdefault(alias.name, []).append(node)
        elif isinstance(node, ast.If):
            for name, nodes in declared(node.body).items():
                found.setdefault(name, []).extend(nodes)
    return found


def decorators(node):
    return {ast.unparse(decorator).rpartition(".")[2] for decorator in getattr(node, "decorator_list", ())}


def stub_parameters(node):
    """(name, kind, default) of each parameter of a stub's function; a default is source text, None if there is none."""
    args = node.args
    positional = [*args.posonlyargs, *args.args]
    kinds = [Parameter.POSITIONAL_ONLY] * len(args.posonlyargs) + [Parameter.POSITIONAL_OR_KEYWORD] * len(args.args)
    defaults = [None] * (len(positional) - len(args.defaults)) + args.defaults
    found = [(arg.arg, kind, default) for arg, kind, default in zip(positional, kinds, defaults, strict=True)]
    if args.vararg:
        found.append((args.vararg.arg, Parameter.VAR_POSITIONAL, None))
    found += [
        (arg.arg, Parameter.KEYWORD_ONLY, default)
        for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
    ]
    if args.kwarg:
        found.append((args.kwarg.arg, Parameter.VAR_KEYWORD, None))
    return [(name, kind, None if default is None else ast.unparse(default)) for name, kind, default in found]


def runtime_parameters(function):
    found = [
        (p.name, p.kind, None if p.default is Parameter.empty else repr(p.default))
        for p in inspect.signature(function).parameters.values()
    ]
    if found and found[0] == ("self", Parameter.POSITIONAL_ONLY, None):  # a C method's, which nobody passes by name
        found[0] = ("self", Parameter.POSITIONAL_OR_KEYWORD, None)
    return found


def disagreement(name, nodes, function):
    """What is wrong with the stub of one function, or None."""
    if len(nodes) > 1 or "overload" in decorators(nodes[0]):
        known = {parameter for parameter, _, _ in runtime_parameters(function)}
        wrong = {parameter for node in nodes for parameter, _, _ in stub_parameters(node)} - known
        return f"{name}: an overload has the parameters {sorted(wrong)}, the function has not" if wrong else None
    stub, real = stub_parameters(nodes[0]), runtime_parameters(function)
    if "classmethod" in decorators(nodes[0]):
        stub = stub[1:]  # inspect shows the bound method
    # A default that the stub writes as `...` says only that there is one.
    real = [
        (pname, kind, "..." if default is not None and stub_default == "..." else default)
        for (pname, kind, default), (_, _, stub_default) in zip(real, [*stub, *[("", 0, "")] * len(real)], strict=False)
    ]
    if stub == real:
        return None
    return f"{name}: the stub says {stub}, the function {real}"


@pytest.mark.parametrize("path", COMPILED, ids=label)
def test_compiled_module_with_public_names_has_a_stub(path):
    if not path.with_suffix(".pyi").exists():
        assert own_names(load(path)) == set(), f"write {label(path.with_suffix('.pyi'))}"


@pytest.mark.parametrize("path", STUBBED, ids=label)
def test_stub_and_module_have_the_same_public_names(path):
    module = load(path)
    stub = public(declared(parse(path).body))
    assert {name for name in stub if not hasattr(module, name)} == set(), "only in the stub"
    assert own_names(module) - stub == set(), "only in the module"


@pytest.mark.parametrize("path", STUBBED, ids=label)
def test_stub_and_module_agree_on_the_parameters_of_functions(path):
    module = load(path)
    wrong = [
        disagreement(name, nodes, getattr(module, name))
        for name, nodes in declared(parse(path).body).items()
        if isinstance(nodes[0], ast.FunctionDef) and hasattr(module, name)
    ]
    assert not any(wrong), "\n".join(filter(None, wrong))


STUB_CLASSES = [
    pytest.param(path, node, id=f"{module_name(path)}.{node.name}")
    for path in STUBBED
    for node in parse(path).body
    if isinstance(node, ast.ClassDef)
]


@pytest.mark.parametrize(("path", "node"), STUB_CLASSES)
def test_stub_and_class_have_the_same_public_members(path, node):
    cls = getattr(load(path), node.name)
    stub = declared(node.body)
    assert {name for name in stub if not hasattr(cls, name)} - UNSEEN == set(), "only in the stub"
    assert public(vars(cls)) - set(stub) == set(), "only in the class"


@pytest.mark.parametrize(("path", "node"), STUB_CLASSES)
def test_stub_and_class_agree_on_properties_and_parameters(path, node):
    cls = getattr(load(path), node.name)
    wrong = []
    for name, nodes in declared(node.body).items():
        real = inspect.getattr_static(cls, name, None)
        if real is None or isinstance(real, types.WrapperDescriptorType | types.BuiltinFunctionType):
            continue  # slots like __len__ and __new__ have no signature of their own
        stub_is_method = isinstance(nodes[0], ast.FunctionDef) and "property" not in decorators(nodes[0])
        if stub_is_method != callable(getattr(cls, name)):
            wrong.append(f"{name}: a {'method' if stub_is_method else 'property'} in the stub only")
        elif stub_is_method:
            wrong.append(disagreement(name, nodes, getattr(cls, name)))
    assert not any(wrong), "\n".join(filter(None, wrong))
