"""The source tree as the house tests see it: which modules there are, on which floor each stands, what it imports."""

import ast
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "lend"

_SKIPPED_FOLDERS = {"build", "dist", "shared", "__pycache__"}
_TEXT = {"", ".py", ".pyi", ".pyx", ".pxd", ".h", ".c", ".md", ".toml", ".build", ".txt", ".sh", ".rst", ".cfg", ".yml"}

# The floors of ARCHITECTURE.md, by the first name below `lend`. A new room is entered here, and there.
FLOORS = {
    "errors": 0, "typing": 0, "building": 0, "minimal": 0,
    "dtypes": 1, "device": 1,
    "_core": 2,
    "protocols": 3,
    "views": 4, "columns": 4, "tables": 4,
    "adapters": 5, "devices": 5, "plan": 5, "doors": 5, "requirements": 5, "front": 5, "front_columns": 5,
    "processes": 5,
    "pickling": 5, "capi": 5, "capi_refusals": 5, "capi_arrow": 5, "capi_columns": 5, "capi_requests": 5,
    "inspection": 6, "cli": 6, "testing": 6,
}  # fmt: skip
FRONT_DOORS = {"lend", "lend.__main__"}  # may name any room; nothing below may name them


@dataclass(frozen=True)
class Import:
    """One imported name, as written."""

    target: str  # dotted, absolute: lend.views.view, numpy, libc.stdint
    line: int
    eager: bool  # carried out when the file loads: not inside a function or a block for type checkers
    cimport: bool = False

    @property
    def top(self) -> str:
        return self.target.partition(".")[0]


def files(*suffixes: str) -> list[Path]:
    """Our files of these kinds below src/lend, without the vendored header."""
    found = (path for path in PACKAGE.rglob("*") if path.suffix in suffixes and path.name != "dlpack.h")
    return sorted(found)


def project_files():
    """Text files of the project: what git would hold, told without git."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if f == ".ci" or not (f.startswith(".") or f in _SKIPPED_FOLDERS)]
        folders[:] = [f for f in folders if not Path(folder, f, "pyvenv.cfg").exists()]
        for name in sorted(names):
            path = Path(folder, name)
            if path.suffix in _TEXT:
                yield path


def label(path: Path) -> str:
    """How a file is called in a test's name and message."""
    return path.relative_to(ROOT).as_posix()


def module_name(path: Path) -> str:
    """Name of the module that a source file belongs to; a .pxd belongs to the .pyx beside it."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path) for path in files(".py", ".pyx", ".pxd")}


def floor(module: str) -> int | None:
    """Floor of a module of ours; None for the front doors."""
    if module in FRONT_DOORS:
        return None
    return FLOORS[module.split(".")[1]]


def imports(path: Path) -> list[Import]:
    """What a .py, .pyx or .pxd file imports."""
    return _python_imports(path) if path.suffix == ".py" else _cython_imports(path)


def _python_imports(path: Path) -> list[Import]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lazy = {id(inner) for outer in ast.walk(tree) if _runs_later(outer) for inner in ast.walk(outer)}
    found = []
    for node in ast.walk(tree):
        eager = id(node) not in lazy
        if isinstance(node, ast.Import):
            found += [Import(alias.name, node.lineno, eager) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(path, node.level, node.module or "")
            found += [Import(_member(base, alias.name), node.lineno, eager) for alias in node.names]
    return found


def _runs_later(node: ast.AST) -> bool:
    """Whether what is inside does not run when the file loads: a function, or a block for type checkers."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)


# from a.b cimport x, y as z | from a import (x, y) | import a.b as c | cimport a.b
_FROM = re.compile(r"^(\s*)from\s+(\.*)([\w.]*)\s+(c?import)\s+(.*)$")
_PLAIN = re.compile(r"^(\s*)(c?import)\s+(.+)$")


def _cython_imports(path: Path) -> list[Import]:
    """Read import lines by eye: Cython's grammar is not Python's, so there is no syntax tree to ask."""
    found = []
    for number, line in _logical_lines(path.read_text(encoding="utf-8")):
        if match := _FROM.match(line):
            indent, dots, module, word, names = match.groups()
            base = _absolute(path, len(dots), module)
            targets = [_member(base, name) for name in _names(names)]
        elif match := _PLAIN.match(line):
            indent, word, names = match.groups()
            targets = _names(names)
        else:
            continue
        found += [Import(target, number, not indent, word == "cimport") for target in targets]
    return found


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Lines with comments and docstrings gone and parentheses of import lists joined up."""
    text = re.sub(r'("""|\'\'\')(?:.|\n)*?\1', lambda match: "''" + "\n" * match.group().count("\n"), text)
    text = re.sub(r"#.*", "", text)
    lines, pending, start = [], "", 0
    for number, line in enumerate(text.splitlines(), 1):
        start = start if pending else number
        pending += line
        opens = re.match(r"^\s*(from\s.*import|c?import)\b", pending) and pending.count("(") > pending.count(")")
        if not (opens or pending.endswith("\\")):
            lines.append((start, pending.replace("\\", " ")))
            pending = ""
    return lines


def _names(text: str) -> list[str]:
    return [part.split()[0] for part in text.strip(" ()").split(",") if part.strip()]


def _absolute(path: Path, level: int, module: str) -> str:
    if level == 0:
        return module
    parts = path.relative_to(SOURCE).parent.parts
    base = parts[: len(parts) - level + 1]
    return ".".join([*base, *([module] if module else [])])


def _member(base: str, name: str) -> str:
    """`from base import name`: the module of that name if there is one, else the base itself."""
    joined = f"{base}.{name}"
    return joined if joined in MODULES else base


def is_foreign(item: Import) -> bool:
    """Whether an import reaches outside lend, Cython and the standard library."""
    return item.top not in sys.stdlib_module_names | {"lend", "cython", "cpython", "libc", "posix"}


def requires(text: str) -> set[str]:
    """Libraries that a piece of Python or doctest text imports, or names as the target of lend.to."""
    named = re.findall(r"^\s*(?:>>> |\.\.\. )?\s*(?:import|from)\s+(.+)", text, flags=re.MULTILINE)
    modules = {part.split()[0].partition(".")[0] for line in named for part in line.partition(" import ")[0].split(",")}
    calls = "".join(re.findall(r"^.*\b(?:to|explain)\(.*$", text, flags=re.MULTILINE))
    targets = set(re.findall(r"[\"'](numpy|torch|jax|pyarrow|tvm_ffi)[\"']", calls))
    return {name for name in modules | targets if name not in sys.stdlib_module_names and name != "lend"}
