"""`lend explain`: what came, how it would be handed on, and what that would copy."""

from __future__ import annotations

import argparse
import ast
import json
import re
import shlex
from typing import TYPE_CHECKING, Any

from lend.cli.sources import FORMS, NotInstalled, is_file, load, load_target
from lend.errors import LendError

if TYPE_CHECKING:
    from lend.cli.main import Subcommands
    from lend.plan import Plan

EXAMPLES = """\
examples:
  lend explain "numpy:arange(6)" --to torch
  lend explain measured.npy --to jax --copy false
  lend explain "pandas:read_csv('m.csv')" --to polars --option index=drop
  lend explain "mypackage.data:table.prices" --to pyarrow --json
"""


def add(commands: Subcommands) -> None:
    """Describe the command to argparse."""
    parser = commands.add_parser(
        "explain",
        help="say beforehand what handing an object on would copy, and why",
        description="Say what an object is to lend, and what handing it to a library would copy, and why. Nothing is "
        "handed on.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("source", metavar="EXPR|FILE.npy", help=FORMS)
    parser.add_argument(
        "--to",
        metavar="TARGET",
        help="the library to hand it to, or module:name of a class or function (such as builtins:bytes); without it, "
        "what is possible is told",
    )
    parser.add_argument("--copy", choices=("true", "false"), help="true: always copy; false: refuse rather than copy")
    parser.add_argument("--device", metavar="D", help="the device to hand it to, such as cpu or cuda:0")
    parser.add_argument(
        "--alias-readonly", action="store_true", help="share read-only memory, with your word not to write"
    )
    parser.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="another keyword of lend.to, such as nulls=nan, index=drop, storage=True or 'nulls=(\"fill\", 0)'; "
        "several, each with an --option of its own",
    )
    parser.add_argument("--json", action="store_true", help="print the plan, or the refusal, as JSON")
    parser.set_defaults(run=run, usage_error=parser.error)


def run(options: argparse.Namespace) -> int:
    """Print the plan; what is refused is raised."""
    from lend.plan import explain

    keywords: dict[str, Any] = {}
    if options.copy is not None:
        keywords["copy"] = options.copy == "true"
    if options.device is not None:
        keywords["device"] = options.device
    if options.alias_readonly:
        keywords["alias_readonly"] = True
    for said in options.option:
        name, equals, value = said.partition("=")
        if not (equals and name.isidentifier()):
            options.usage_error(f"--option is NAME=VALUE, not {said!r}")
        keywords[name] = _value(value)
    obj = load(options.source)
    target = None if options.to is None else load_target(options.to)
    path = options.source if is_file(options.source) else None
    try:
        plan = explain(obj, target, **keywords)
    except LendError as refusal:
        raise _retold(refusal, path) from refusal
    except ImportError as error:
        raise NotInstalled(str(error)) from error
    except (ValueError, TypeError) as error:  # the names of the command line: an unknown target or device, what is near
        options.usage_error(_typed(str(error)))
    if path is not None:
        plan = _of_file(plan, path)
    print(json.dumps(plan.to_dict(), indent=2) if options.json else plan)
    return 0


def _value(text: str) -> Any:
    """A value as Python writes it; what is none of Python's is text."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def _options(call: re.Match[str]) -> str:
    """A call of `lend.to` with keywords, as it is typed."""
    try:
        found = ast.parse(call[0], mode="eval").body
    except SyntaxError:
        return call[0]
    if not isinstance(found, ast.Call) or any(part.arg is None for part in found.keywords):
        return call[0]
    from lend.plan.remedies import written

    typed = [f"--to {call[1]}"]
    for part in found.keywords:
        value = ast.literal_eval(part.value)
        plain = value if isinstance(value, str) else written(value)
        flag = {"copy=True": "--copy true", "copy=False": "--copy false", "copy=None": ""}.get(f"{part.arg}={plain}")
        flag = "--alias-readonly" if f"{part.arg}={plain}" == "alias_readonly=True" else flag
        typed.append(f"--option {shlex.quote(f'{part.arg}={plain}')}" if flag is None else flag)
    return " ".join(filter(None, typed))


# what a remedy says in Python, and what is typed here
_TYPED = (
    (r'jax\.config\.update\("jax_enable_x64", True\)', "JAX_ENABLE_X64=1 in the environment"),
    (r"alias_readonly=True", "--alias-readonly"),
    (r"copy=None", "no --copy false"),
    (r"copy=True", "--copy true"),
    (r'device="cpu"', "--device cpu"),
    (r"and any callable", "and any class or function as module:name"),
    (r"lend\.to\(x, (\w+)\)", r"--to builtins:\1"),
    (r"lend\.to\(x, ([\w.]+)\.(\w+)\)", r"--to \1:\2"),
    (r'lend\.to\(x, "([\w.]+)"\)(?![.\w])', r"--to \1"),
    (r'lend\.to\(x, "([\w.]+)"(?:, \w+=(?:"[^"]*"|\w+|\("fill", [^()]*\)|\{[^{}]*\}))+\)(?![.\w])', _options),
    (r'\b(index|names|dtype_backend|zone|strings)="(\w+)"', r"--option \1=\2"),
)


def _typed(text: str) -> str:
    """A message for somebody who has a command line at hand; what stands inside a call stays Python."""
    for said, typed in _TYPED:
        for found in reversed([*re.finditer(said, text)]):
            before, after = text[: found.start()], text[found.end() :]
            if before.count("(") == before.count(")"):
                text = f"{before}{found.expand(typed) if isinstance(typed, str) else typed(found)}{after}"
    return text


def _retold(refusal: LendError, path: str | None) -> LendError:
    """A refusal in the words of the command line: what is typed here, and the file in place of its map."""
    came = refusal.came
    if path is not None and came is not None:
        came = came.replace("lent by mmap.mmap", f"mapped from {path}")
    return type(refusal).build(
        refusal.fact or str(refusal),
        wanted=refusal.wanted,
        came=came,
        tried=refusal.tried,
        remedy=None if refusal.remedy is None else _typed(refusal.remedy),
    )


def _of_file(plan: Plan, path: str) -> Plan:
    """The plan of a View over a mapped file, told as that of the file."""
    from lend.plan import Plan, Step

    take, *others = plan.steps
    return Plan(
        source=plan.source.replace("lent by mmap.mmap", f"mapped from {path}"),
        source_type=path,
        target=plan.target,
        protocol="memory map",
        steps=[Step("take", "memory map of the file", take.nbytes, take.who, take.why), *others],
        notes=plan.notes,
        targets=plan.targets,
    )
