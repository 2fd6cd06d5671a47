"""The command line: which commands there are, and what their exit codes mean."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, TypeAlias

from lend.building import cflags, get_include, pkgconfigdir
from lend.cli.sources import NotInstalled, NotLoaded
from lend.errors import LendError

if TYPE_CHECKING:
    from collections.abc import Sequence

    Subcommands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

OK, REFUSED, NOT_LOADED = 0, 1, 3  # and argparse's 2 for a wrong command line

EPILOG = """\
examples:
  lend explain "numpy:arange(6)" --to torch    what handing it on would copy, and why
  lend explain measured.npy --to jax --json    the same for a file, as JSON
  lend doctor                                  what is installed, and what speaks what
  lend doctor numpy torch --json               the same for two libraries, as JSON

exit codes: 0 done, 1 refused, 2 usage, 3 the expression or file could not be loaded; the reason is on stderr, and with
--json an object {"refused": {"error", "fact", "wanted", "came", "tried", "try"}} on stdout
"""


def make_parser() -> argparse.ArgumentParser:
    """Describe all commands to argparse."""
    from lend.cli import doctor, explain

    parser = argparse.ArgumentParser(
        prog="lend",
        description="Hand memory from one Python library to another without copying it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"lend {sys.modules['lend'].__version__}")
    parser.add_argument("--includedir", action="version", version=get_include(), help="print the folder of lend.h")
    parser.add_argument("--cflags", action="version", version=cflags(), help="print the compiler flags for lend.h")
    parser.add_argument(
        "--pkgconfigdir",
        action="version",
        version=pkgconfigdir(),
        help="print the folder of lend.pc, for PKG_CONFIG_PATH",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (explain, doctor):
        command.add(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the word `lend`; that of this process when not given.

    Returns
    -------
    int
        0 done, 1 refused, 2 usage, 3 the expression or file could not be loaded. A wrong command line ends in
        SystemExit, as argparse has it.

    Examples
    --------
    >>> from lend.cli.main import main
    >>> main(["doctor", "nosuchlibrary"])
    Traceback (most recent call last):
    SystemExit: 2
    """
    options = make_parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except (NotInstalled, NotLoaded) as error:
        _tell(options, str(error), {"error": type(error).__name__, "fact": str(error)})
        return NOT_LOADED if isinstance(error, NotLoaded) else REFUSED
    except LendError as refusal:
        kind = type(refusal).__name__
        told = {"error": kind, "fact": refusal.fact or str(refusal), "wanted": refusal.wanted, "came": refusal.came}
        _tell(options, f"{kind}: {refusal}", {**told, "tried": refusal.tried, "try": refusal.remedy})
        return REFUSED
    except BrokenPipeError:
        # the reader has gone (`| head`); without this the interpreter complains once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    return code


def _tell(options: argparse.Namespace, sentence: str, particulars: dict[str, str | None]) -> None:
    """Say on stderr why there is no answer, and with --json on stdout as well, for programs."""
    print(f"lend: {sentence}", file=sys.stderr)
    if options.json:
        import json

        every = dict.fromkeys(("error", "fact", "wanted", "came", "tried", "try"))
        print(json.dumps({"refused": every | particulars}, indent=2))
