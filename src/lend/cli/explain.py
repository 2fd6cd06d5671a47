"""`lend explain`: what came, how it would be handed on, and what that would copy."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from lend.cli.sources import FORMS, load
from lend.errors import LendError

if TYPE_CHECKING:
    from lend.cli.main import Subcommands
    from lend.plan import Plan

EXAMPLES = """\
examples:
  lend explain "numpy:arange(6)" --to torch
  lend explain measured.npy --to jax --copy false
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
        "--to", metavar="TARGET", help="the library to hand it to; without it, what is possible is told"
    )
    parser.add_argument("--copy", choices=("true", "false"), help="true: always copy; false: refuse rather than copy")
    parser.add_argument("--device", metavar="D", help="the device to hand it to, such as cpu or cuda:0")
    parser.add_argument(
        "--alias-readonly", action="store_true", help="share read-only memory, with your word not to write"
    )
    parser.add_argument("--json", action="store_true", help="print the plan as JSON")
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
    obj = load(options.source)
    try:
        plan = explain(obj, options.to, **keywords)
    except LendError:
        raise
    except ImportError as error:  # the target is not installed
        print(f"lend: {error}", file=sys.stderr)
        return 1
    except ValueError as error:  # the names of the command line: an unknown target or device, with the near ones
        options.usage_error(str(error))
    if options.source.endswith(".npy"):
        plan = _of_file(plan, options.source)
    print(json.dumps(plan.to_dict(), indent=2) if options.json else plan)
    return 0


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
