"""The calls that a refusal names, as they can be typed."""

import ast

STARTS = ("lend.", "pyarrow.", "numpy.", "polars.", "pandas.", "x.", "jax.")


def lines_of(error):
    return [line.strip() for line in (error.remedy or "").splitlines()]


def call_in(line):
    """The call that a line begins with, or has behind a word and a colon; None where there is none to be typed."""
    words, _, rest = line.partition(": ")
    if not line.startswith(STARTS) and rest.startswith(STARTS) and "(" not in words:
        line = rest
    if not line.startswith(STARTS) or "..." in line:
        return None
    for end in sorted((place for place, letter in enumerate(line) if letter in ")]"), reverse=True):
        try:
            tree = ast.parse(line[: end + 1], mode="eval").body
        except SyntaxError:
            continue
        if not isinstance(tree, ast.Tuple):
            return line[: end + 1]
    return None


def calls_of(error):
    """All calls that an error names."""
    return [call for call in map(call_in, lines_of(error)) if call is not None]
