"""What a refusal says to try, tried: each call with all options that are needed, kept where it is not refused."""

import re

from lend._core.letting_go import lets_go
from lend.errors import LendError, change_remedy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    # tries a target with keywords: the refusal, and the column that it is about, if it is about one
    Try = Callable[[str, dict[str, Any]], "tuple[LendError, str | None] | None"]

_START = 'lend.to(x, "'
_DEEP = 4  # options that may be needed together
_TRIES = 100  # in all
_DONE = re.compile(r"[\w.]+\(")  # what is done, and no option
_EVERYWHERE = ("alias_readonly", "copy", "index", "nested")


class _Call:
    """`lend.to(x, target, **keywords)` as a remedy has it, and what it says of that."""

    __slots__ = ("keywords", "rest", "target")

    def __init__(self, target: str, keywords: "dict[str, Any]", rest: str) -> None:
        self.target, self.keywords, self.rest = target, keywords, rest

    def __str__(self) -> str:
        told = [(name, value) for name, value in self.keywords.items() if value is not None]
        options = "".join(f", {name}={written(value)}" for name, value in told)
        return f'lend.to(x, "{self.target}"{options}){self.rest}'


def written(value: "Any") -> str:
    """A value as messages write it."""
    if isinstance(value, str):
        return f'"{value}"' if value.isprintable() and not set('\\"') & set(value) else repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{written(key)}: {written(part)}" for key, part in value.items()) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(written, value)) + ")"
    return f"{value!r:.60}"


def _read(line: str) -> "_Call | None":
    """The call that a line of a remedy begins with; None where it begins with none that can be followed as it is."""
    from ast import Call, literal_eval, parse

    if not line.startswith(_START):
        return None
    end = line.find(")")
    while end > 0:
        try:
            found = parse(line[: end + 1], mode="eval").body
        except SyntaxError:
            end = line.find(")", end + 1)
            continue
        rest = line[end + 1 :]
        if not isinstance(found, Call) or len(found.args) != 2 or rest[:1] == ".":
            return None
        try:
            keywords = {str(part.arg): literal_eval(part.value) for part in found.keywords}
            return _Call(literal_eval(found.args[1]), keywords, rest)
        except ValueError:
            return None  # "..." in place of a value
    return None


def _calls(refusal: LendError) -> "Iterator[_Call | str]":
    for line in (refusal.remedy or "").splitlines():
        yield _read(line) or line


def names_calls(refusal: LendError) -> bool:
    """Whether there is anything to be tried."""
    return any(not isinstance(line, str) for line in _calls(refusal))


class _Search:
    """The options that a target needs beside those that a remedy names."""

    def __init__(self, attempt: "Try", nullable: "list[str]") -> None:
        self.attempt, self.nullable, self.left = attempt, nullable, _TRIES
        self.last: tuple[LendError, str | None] | None = None

    def completed(self, target: str, keywords: "dict[str, Any]", deep: int = _DEEP) -> "dict[str, Any] | None":
        """Keywords that are not refused; None where none were found."""
        if not self.left:
            return None
        self.left -= 1
        refused = self.attempt(target, keywords)
        if refused is None:
            return keywords
        refusal, column = refused
        for call in _calls(refusal) if deep else ():
            if isinstance(call, str) or call.target != target:
                continue
            more = self._merged(keywords, call.keywords, column)
            found = None if more is None or repr(more) == repr(keywords) else self.completed(target, more, deep - 1)
            if found is not None:
                return found
        self.last = refused
        return None

    def _merged(self, known: "dict[str, Any]", more: "dict[str, Any]", column: "str | None") -> "dict[str, Any] | None":
        """Both; of two ways to show nulls each for its columns. None where they contradict one another."""
        made = {**known, **more}
        was, wanted = known.get("nulls"), more.get("nulls")
        if any(known.get(name, value) != value for name, value in more.items() if name != "nulls"):
            return None
        if was is None or "nulls" not in more or repr(was) == repr(wanted):  # False is no 0 here
            return made
        if column is None or not self.nullable or (isinstance(was, dict) and column in was):
            return None
        each = was if isinstance(was, dict) else dict.fromkeys(self.nullable, was)
        made["nulls"] = {**each, column: wanted}
        return made


@lets_go
def prove(
    refusal: LendError,
    given: "dict[str, Any]",
    options_of: "Callable[[str], tuple[str, ...]]",
    attempt: "Try",
    column: "str | None",
    nullable: "list[str]",
    parts: str,
) -> None:
    """Let a refusal name calls that work: with the options that were given, and with all that are needed.

    `options_of` tells those that a target has; `column` is the one that was refused, `nullable` those that have nulls,
    `parts` what there is to be tried where no call works.
    """
    lines = list(_calls(refusal))
    search = _Search(attempt, nullable)
    # what stands in the way of all that is named is left away, and that is said
    for left in (None, *(name for name in ("stack", "copy") if given.get(name) is not None)):
        kept = {name: value for name, value in given.items() if name != left}
        proven = _proven(lines, kept, options_of, search, column, "" if left is None else f", without {left}=")
        if proven:
            break
    else:
        last, of_column = search.last or (None, None)
        named = [] if last is None else list(_calls(last))
        proven = _proven(named, given, options_of, search, of_column, "")
        if named and all(isinstance(line, str) and _DONE.match(line) for line in named):  # what is to be done before
            proven += [f"then {line}" for line in lines]
        if not proven and column is not None:
            proven = ["the other columns, lend.table(x, columns=[...]), and this one by itself"]
    change_remedy(refusal, "\n".join(proven) or parts)


def _proven(
    lines: "list[_Call | str]",
    given: "dict[str, Any]",
    options_of: "Callable[[str], tuple[str, ...]]",
    search: _Search,
    column: "str | None",
    without: str,
) -> "list[str]":
    """The lines whose calls work, with all that they need."""
    proven: list[str] = []
    known: list[Any] = []
    for line in lines:
        if isinstance(line, str):
            proven.append(line)
            continue
        own = (*_EVERYWHERE, *options_of(line.target))
        kept = {name: value for name, value in given.items() if name in own}
        found = None
        for wish in _wishes(kept, line.keywords, column, search.nullable):
            found = search.completed(line.target, wish) if found is None else found
        if found is not None and (line.target, repr(found)) not in known:
            known.append((line.target, repr(found)))
            proven.append(str(_Call(line.target, found, line.rest + without)))
    return proven


def _wishes(
    kept: "dict[str, Any]", more: "dict[str, Any]", column: "str | None", nullable: "list[str]"
) -> "list[dict[str, Any]]":
    """What is asked for in the end: for all columns, or of another way to show nulls for the one that was refused."""
    whole, was = {**kept, **more}, kept.get("nulls")
    if "nulls" not in more or was is None or column is None or not nullable:
        return [whole]
    each = was if isinstance(was, dict) else dict.fromkeys(nullable, was)
    alone = {**whole, "nulls": {**each, column: more["nulls"]}}
    if isinstance(was, dict):
        return [alone]
    return [alone, whole] if more["nulls"] is None else [whole, alone]
