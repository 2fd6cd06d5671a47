"""What a command is about: `module:expression`, or the path of a file."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from lend.cli.npy import BadFile, map_npy
from lend.errors import LendError

FORMS = "module:expression (such as numpy:arange(6)) or the path of a .npy file"


class NotLoaded(Exception):
    """An expression or file that gave no object, in one sentence."""


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
        When the expression itself uses lend and was refused.

    Examples
    --------
    >>> from lend.cli.sources import load
    >>> load("array:array('d', [1.0, 2.0])")
    array('d', [1.0, 2.0])
    """
    if source.endswith(".npy"):
        return _file(source)
    module, colon, expression = source.partition(":")
    if not colon or not expression.strip() or not all(part.isidentifier() for part in module.split(".")):
        raise NotLoaded(f"{source!r} is neither {FORMS}")
    return _expression(module, expression)


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
