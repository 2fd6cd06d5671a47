"""Names of the types that only columns have, written and read: `list[utf8]`, `struct{a: int32, 'b: c': date32}`.

A text within a name (of a field, a zone, an extension type) stands bare where it cannot be mistaken, else in quotes as
Python writes them.
"""

__all__ = ["read", "shown", "write"]

from lend.dtypes.dtype import DType
from lend.dtypes.logical import LEAVES, LISTS, MOST_DEPTH, UNITS, Logical, too_deep
from lend.errors import MalformedDescriptor

TYPE_CHECKING = False  # type checkers read it as True; `typing` is not imported at run time
if TYPE_CHECKING:
    from typing import Any

NAMES = {name: format for format, (name, *_) in LEAVES.items()}
_LETTERS = {unit: letter for letter, unit in UNITS.items()}
_LISTS = {kind: format for format, kind in LISTS.items()}
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_WIDTHS = {"x": 2, "u": 4, "U": 8}


# -- writing -----------------------------------------------------------------------------------------------------------


def shown(text: str, special: str = "[]{}(),'\"\\") -> str:
    """A text as it stands in a name."""
    bare = text and text.isprintable() and text == text.strip() and not any(sign in text for sign in special)
    return text if bare else repr(text)


def write(said: Logical) -> str:
    """The name of a type made of others."""
    kind = said.kind
    if said.base is not None:
        assert said.extension is not None
        return f"extension[{shown(said.extension[0])}, {said.base}]"
    if said.dictionary is not None:
        return f"dictionary[{said.storage}, {said.dictionary}{', ordered' if said.is_ordered else ''}]"
    if kind == "map":
        (_, key), (_, value) = said.fields[0].dtype.children
        return f"map[{key}, {value}{', sorted' if said.keys_sorted else ''}]"
    if kind == "fixed_list":
        return f"fixed_list[{said.fields[0].dtype}, {said.length}]"
    if kind == "struct" or said.type_ids is not None:
        ids = ("",) * len(said.fields) if said.type_ids is None else [f"{number} " for number in said.type_ids]
        words = [f"{number}{_named(child)}" for number, child in zip(ids, said.fields, strict=True)]
        return f"{kind}{{{', '.join(words)}}}"
    return f"{kind}[{', '.join(str(child.dtype) for child in said.fields)}]"


def _named(child: "Any") -> str:
    return f"{shown(child.name, ':[]{}(),' + chr(39) + chr(34) + chr(92))}: {child.dtype}"


# -- reading -----------------------------------------------------------------------------------------------------------


class _Unread(Exception):
    pass


def read(text: str) -> "DType | None":
    """The type that a name means; None if it is the name of none; UnsupportedType if lend lacks it."""
    reader = _Reader(text)
    try:
        made = reader.type(0)
        reader.end()
    except (_Unread, MalformedDescriptor):
        return None
    return made


class _Reader:
    """A name, and how much of it was read."""

    __slots__ = ("at", "text")

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def end(self) -> None:
        if self.at != len(self.text):
            raise _Unread

    def take(self, sign: str) -> bool:
        """Go past a sign and the spaces around it, if it is the next."""
        self.spaces()
        if not self.text.startswith(sign, self.at):
            return False
        self.at += len(sign)
        self.spaces()
        return True

    def need(self, sign: str) -> None:
        if not self.take(sign):
            raise _Unread

    def spaces(self) -> None:
        while self.text[self.at : self.at + 1] == " ":
            self.at += 1

    def until(self, signs: str) -> str:
        """What comes before the next of some signs, or before the end."""
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in signs:
            self.at += 1
        return self.text[start : self.at]

    def number(self) -> str:
        start = self.at
        if self.text[self.at : self.at + 1] == "-":
            self.at += 1
        while self.text[self.at : self.at + 1] in tuple("0123456789"):
            self.at += 1
        return self.text[start : self.at]

    def words(self, sign: str) -> str:
        """A text in quotes, or what comes before a sign."""
        quote = self.text[self.at : self.at + 1]
        if quote not in ("'", '"'):
            found = self.until(sign).strip()
            if not found:
                raise _Unread
            return found
        letters = []
        self.at += 1
        while (letter := self.next()) != quote:
            if letter == "\\":
                letter = self.next()
                letter = self.code(_WIDTHS[letter]) if letter in _WIDTHS else _ESCAPES.get(letter, letter)
            letters.append(letter)
        return "".join(letters)

    def next(self) -> str:
        if self.at >= len(self.text):
            raise _Unread
        self.at += 1
        return self.text[self.at - 1]

    def code(self, width: int) -> str:
        """A character by its number in hexadecimal digits."""
        digits = self.text[self.at : self.at + width]
        self.at += width
        if len(digits) != width or not set(digits) <= set("0123456789abcdefABCDEF") or int(digits, 16) > 0x10FFFF:
            raise _Unread
        return chr(int(digits, 16))

    def type(self, depth: int) -> DType:
        """A type, and whatever stands in its brackets."""
        if depth > MOST_DEPTH:
            raise too_deep()
        start = self.at
        word = self.until("[]{}(),: ")
        sign = self.text[self.at : self.at + 1]
        if sign == "[" and (made := self.bracketed(word, depth)) is not None:
            return made
        if sign == "{" and word in ("struct", "union_dense", "union_sparse"):
            return self.fields(word, depth)
        if sign == "(" and word in ("decimal32", "decimal64", "decimal128", "decimal256"):
            return self.decimal(word)
        if sign == "[":
            word += self.until("]") + "]"
            self.need("]")
        self.spaces()
        if word in NAMES:
            return DType.from_arrow(NAMES[word])
        if not depth or not word or self.at <= start:
            raise _Unread  # it is not ours alone, and was read before
        return DType(word)

    def bracketed(self, word: str, depth: int) -> "DType | None":
        """What stands in square brackets and is a type itself; None if there is none."""
        more: dict[str, Any] = {}
        start = self.at
        self.at += 1
        if word == "datetime64":
            unit = self.until(",]")
            if unit not in _LETTERS or not self.take(","):
                self.at = start
                return None
            zone = self.words("]")
            self.need("]")
            if not zone:
                raise _Unread
            return DType.from_arrow(f"ts{_LETTERS[unit]}:{zone}")
        self.spaces()
        if word in _LISTS:
            format = _LISTS[word]
            more["fields"] = (("item", self.type(depth + 1)),)
        elif word == "fixed_list":
            more["fields"] = (("item", self.type(depth + 1)),)
            self.need(",")
            format = f"+w:{self.number()}"
        elif word == "extension":
            name = self.words(",")
            self.need(",")
            return self.extension(name, depth)
        elif word in ("map", "run_end", "dictionary"):
            one = self.type(depth + 1)
            self.need(",")
            other = self.type(depth + 1)
            format = "+m" if word == "map" else "+r"
            if word == "dictionary":
                format = one.arrow
                more = {"dictionary": other, "ordered": self.flag("ordered")}
            elif word == "map":
                entries = DType.from_arrow("+s", fields=(("key", one, False), ("value", other)))
                more = {"fields": (("entries", entries, False),), "keys_sorted": self.flag("sorted")}
            else:
                more["fields"] = (("run_ends", one, False), ("values", other))
        else:
            self.at = start
            return None
        self.need("]")
        return DType.from_arrow(format, **more)

    def flag(self, word: str) -> bool:
        """Whether a word stands at the end of a list."""
        if not self.take(","):
            return False
        self.need(word)
        return True

    def extension(self, name: str, depth: int) -> DType:
        from lend.dtypes.dtype import logical_of

        base = self.type(depth + 1)
        self.need("]")
        said = logical_of(base)
        if said is None:
            return DType.from_arrow(base.arrow, extension=(name, None))
        if said.base is not None:
            raise _Unread  # a schema has one name
        return DType.from_arrow(
            said.format,
            fields=said.fields,
            dictionary=said.dictionary,
            ordered=said.is_ordered,
            keys_sorted=said.keys_sorted,
            extension=(name, None),
        )

    def fields(self, word: str, depth: int) -> DType:
        found: list[tuple[str, DType]] = []
        ids = []
        self.need("{")
        while not self.take("}"):
            if found:
                self.need(",")
            if word != "struct":
                ids.append(self.number())
                self.spaces()
            name = self.words(":")
            self.need(":")
            found.append((name, self.type(depth + 1)))
        kind = {"struct": "+s", "union_dense": "+ud:", "union_sparse": "+us:"}[word]
        return DType.from_arrow(kind + ",".join(ids), fields=found)

    def decimal(self, word: str) -> DType:
        self.need("(")
        precision = self.number()
        self.need(",")
        scale = self.number()
        self.need(")")
        return DType.from_arrow(f"d:{precision},{scale},{word[7:]}")
