"""`lend doctor`: what is installed, what speaks what, and how lend takes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from lend.cli.main import Subcommands


def add(commands: Subcommands) -> None:
    """Describe the command to argparse."""
    parser = commands.add_parser(
        "doctor",
        help="say what is installed, which protocols it speaks, and how lend takes it",
        description="Make one small object of each library that is installed, and say which protocols it offers, by "
        "which of them lend takes it, and whether the memory is shared. Imports the libraries.",
    )
    parser.add_argument(
        "library",
        nargs="*",
        metavar="LIBRARY",
        help="look at these only, such as numpy torch; by default at all that lend knows",
    )
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    parser.set_defaults(run=run, usage_error=parser.error)


def run(options: argparse.Namespace) -> int:
    """Print what was found; a library that is missing, broken or refused is a finding, and no failure."""
    from lend.inspection.doctor import LIBRARIES, examine, render

    unknown = [library for library in options.library if library not in LIBRARIES]
    if unknown:
        options.usage_error(f"unknown library {unknown[0]!r}; known: {', '.join(LIBRARIES)}")
    found = examine(options.library or LIBRARIES)
    print(json.dumps(found, indent=2) if options.json else render(found))
    return 0
