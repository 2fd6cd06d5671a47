"""What a command is about: `module:expression`, or the path of a file."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from lend.cli.npy import MAGIC, BadFile, map_npy
from lend.errors import LendError

EXPRESSION, FILE = "module:expression (such as numpy:arange(6))", "the path of a .npy file"
FORMS = f"{EXPRESSION} or {FILE}"


class NotLoaded(Exception):
    """An expression or file that gave no object, in one sentence."""


class NotInstalled(Exception):
    """A library that was named and is not there, in one sentence."""


def load(source: str) -> Any:
    """Make the object that a command is about.

    Parameters
    ----------
    source : str
        `module:expression`, evaluated in the namespace of that module, or the path of a .npy file, which is mapped.

    Raises
    ------
    NotLoaded
        When it gives no object; the message is one sentence.
    LendError
        When the expression itself uses lend and was refused, or the file has elements for which lend has no dtype.

    Examples
    --------
    >>> from lend.cli.sources import load
    >>> load("array:array('d', [1.0, 2.0])")
    array('d', [1.0, 2.0])
    """
    if is_file(source):
        return _file(source)
    module, expression = _parts(source)
    if not module:
        raise NotLoaded(_other_file(source) or f"{source!r} is neither {EXPRESSION} nor {FILE}")
    return _expression(module, expression)


def load_target(text: str) -> Any:
    """Make the target of a command: what `module:expression` gives, such as builtins:bytes, else the text as a name."""
    module, expression = _parts(text)
    return _expression(module, expression) if module else text


def is_file(source: str) -> bool:
    """Whether a source is a .npy file: by its name, or, without an ending, by how it begins."""
    if source.endswith(".npy"):
        return True
    if _parts(source)[0]:
        return False
    try:
        with Path(source).open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def _parts(source: str) -> tuple[str, str]:
    """The module and the expression; two empty texts where it is no such pair."""
    module, colon, expression = source.partition(":")
    if not colon or not expression.strip() or not all(part.isidentifier() for part in module.split(".")):
        return "", ""
    return module, expression


def _other_file(path: str) -> str | None:
    """What to say of a file or folder that is there and is no .npy file; None when there is none."""
    if not path:
        return None
    try:
        if Path(path).is_dir():
            return f"{path} is a folder; {FILE} is read"
        if not Path(path).is_file():
            return None
    except (OSError, ValueError):
        return None
    ending = Path(path).suffix
    way = f"numpy:fromfile({path!r}, 'uint8'), its bytes"
    if ending == ".npz":
        way = f"numpy:load({path!r})['name'], one of its arrays"
    elif ending in (".csv", ".txt"):
        way = f"numpy:loadtxt({path!r}, delimiter=',')"
    elif ending in (".pt", ".pth"):
        way = f"torch:load({path!r})"
    elif ending == ".parquet":
        way = f"pyarrow.parquet:read_table({path!r})['name'].to_numpy()"
    return f"{path} is there and is no .npy file; as an expression: {way}"


def _file(path: str) -> Any:
    try:
        return map_npy(path)
    except OSError as error:
        raise NotLoaded(f"cannot open {path}: {error.strerror or error}") from error
    except BadFile as error:
        raise NotLoaded(str(error)) from error


def _expression(module: str, expression: str) -> Any:
    """Evaluate what the user typed, in the module that the user named, found beside the current folder too."""
    here = str(Path.cwd())
    if not {"", here} & set(sys.path):
        sys.path.insert(0, here)
    try:
        namespace = dict(vars(importlib.import_module(module)))
        return eval(expression.strip(), namespace)  # noqa: S307 - it is the user's own command line
    except LendError:
        raise
    except Exception as error:  # the user's code may raise anything: its words become one sentence
        raise NotLoaded(
            f"cannot evaluate {expression.strip()!r} in {module}: {type(error).__name__}: {error}"
        ) from error
