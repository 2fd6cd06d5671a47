"""memoryview: the interpreter's own taker of the buffer protocol."""

from lend.adapters.rules import ANY, CPU, KEPT, Library, Rules, no_such_dtype
from lend.errors import UnsupportedType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.adapters.rules import Give


def giver(facts: "Any") -> "Give":
    """The function that makes a memoryview of a View."""
    return memoryview


def refuse(facts: "Any", rules: Rules) -> "UnsupportedType | None":
    """The refusal of a dtype for which the buffer protocol has no word."""
    try:
        said: str = facts.dtype.format
    except UnsupportedType:
        return no_such_dtype(facts, rules)
    return None if said else no_such_dtype(facts, rules)


VIEW = Rules(
    "memoryview", "memoryview", "buffer protocol", giver,
    refuse=refuse, readonly=KEPT, layout=ANY, swapped=True, devices=CPU,
)  # fmt: skip


def choose(facts: "Any", form: "str | None", whole: bool) -> Rules:
    """One kind for all."""
    return VIEW


LIBRARY = Library("memoryview", "", choose, classes={"builtins.memoryview": "memoryview"})
