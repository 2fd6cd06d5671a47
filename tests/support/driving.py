"""Play many steps of the state machine of lending, drawn from a seed; and find out how few of them break it.

    PYTHONPATH=tests python -m support.driving --steps 1000000 --seed 1

plays that many, in episodes that each start with empty hands. `--episode N` plays the one of that number alone. What
breaks is played again with steps left out, each time in a process of its own, for it may be a crash, until every step
that is left is needed; `--replay FILE` plays what is then printed.
"""

import argparse
import gc
import os
import pathlib
import random
import subprocess
import sys
import time
from typing import NamedTuple

from support.drawing import Drawing, steps_of
from support.machine import Lending

LENGTH = 500  # steps drawn for an episode
TESTS = pathlib.Path(__file__).parent.parent


class Outcome(NamedTuple):
    """How a run went: the steps that did something, the seconds, and what is wrong as a text (None: nothing)."""

    steps: int
    seconds: float
    wrong: str | None


# -- in the process that plays ----------------------------------------------------------------------------------------


def play(steps):
    """Play steps on a machine with empty hands; how many of them did something."""
    machine, done = Lending(), 0
    for name, arguments in steps:
        method = getattr(machine, name)
        if not (method.room and machine.is_full) and method(**arguments) is not False:
            machine.check()
            done += 1
    machine.end()
    return done


def episode(seed, number):
    """The steps of one episode."""
    drawing = Drawing(Lending, f"{seed}:{number}")
    return [next(drawing) for _ in range(LENGTH)]


def work(steps, seed):
    """Play episodes and say the number of each before it begins: the last one said is the one that broke."""
    done = number = 0
    while done < steps:
        print("episode", number, flush=True)
        done += play(episode(seed, number))
        number += 1
    print("steps", done, flush=True)


def written(steps):
    """Steps as text, one a line."""
    return "".join(f"{name} {arguments!r}\n" for name, arguments in steps)


def read(text):
    """Steps from such a text."""
    lines = [line.split(" ", 1) for line in text.splitlines() if line and not line.startswith("#")]
    return [(name, eval(arguments, {"slice": slice})) for name, arguments in lines]


# -- fewer steps ---


def breaks(steps):
    """Whether these steps break it, played in a fork of this process."""
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        code = 1
        try:
            play(steps)
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] != 0


def shrunk(steps):
    """Leave out whatever is not needed to break it, and make simple what is; all of it, if it does not break again."""
    if not breaks(steps):
        return steps
    before = None
    while steps != before:
        before = steps
        steps = simpler(fewer(steps))
    return steps


def fewer(steps):
    """Without the steps that are not needed."""
    size = len(steps) // 2
    while size:
        at = 0
        while at < len(steps):
            rest = steps[:at] + steps[at + size :]
            steps, at = (rest, at) if breaks(rest) else (steps, at + size)
        size //= 2
    return steps


def simpler(steps):
    """With the first choices there are, where they do as well."""
    for at, (name, _) in enumerate(steps):
        for key, choice in steps_of(Lending)[name].choices.items():
            simple = list(choice[:6]) if hasattr(choice, "__getitem__") else []
            told = steps[at][1]
            for value in simple[: simple.index(told[key]) if told[key] in simple else 6]:
                rest = [*steps[:at], (name, told | {key: value}), *steps[at + 1 :]]
                if breaks(rest):
                    steps = rest
                    break
    return steps


# -- in the process that watches --------------------------------------------------------------------------------------


def run(steps, seed, *, shrink=True):
    """Play so many steps in another process; what broke is told with the fewest steps that break it."""
    started = time.monotonic()
    child = _child("--work", "--steps", steps, "--seed", seed)
    seconds = time.monotonic() - started
    said = dict(line.split() for line in child.stdout.splitlines() if line.startswith(("episode ", "steps ")))
    if child.returncode == 0:
        return Outcome(int(said["steps"]), seconds, None)
    number = said.get("episode", 0)
    wrong = [f"episode {number} of seed {seed} broke ({_ending(child)})"]
    if shrink:
        wrong += [
            f"the steps of its {LENGTH} that it takes:",
            _child("--shrink", input=written(episode(seed, number))).stdout,
        ]
    wrong += [child.stderr[-6000:], f"again: python -m support.driving --seed {seed} --episode {number}"]
    return Outcome(0, seconds, "\n".join(wrong))


def _ending(child):
    return f"signal {-child.returncode}" if child.returncode < 0 else f"exit status {child.returncode}"


def _child(*arguments, input=None):
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-X", "faulthandler", "-m", "support.driving", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, capture_output=True, text=True, input=input, env=environment)


def main():
    parser = argparse.ArgumentParser(prog="python -m support.driving", description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--episode", type=int, help="play this one alone")
    parser.add_argument("--replay", help="play the steps in this file (-: standard input)")
    parser.add_argument("--shrink", action="store_true", help="play the steps on standard input, and fewer of them")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    gc.collect()
    gc.freeze()  # what is there before the first step takes no time in a collection
    if asked.replay:
        play(read(sys.stdin.read() if asked.replay == "-" else pathlib.Path(asked.replay).read_text()))
    elif asked.shrink:
        print(written(shrunk(read(sys.stdin.read()))))
    elif asked.episode is not None:
        play(episode(asked.seed, asked.episode))
    elif asked.work:
        work(asked.steps, asked.seed)
    else:
        outcome = run(asked.steps, asked.seed)
        print(outcome.wrong or f"{outcome.steps} steps of seed {asked.seed} in {outcome.seconds:.1f} s")
        return outcome.wrong is not None
    return 0


if __name__ == "__main__":
    sys.exit(main())
