"""What goes to the library whose it is: nothing is taken of it, and it is given back itself, with all it has."""

from lend.columns.column import Column
from lend.plan import frame_words, targets
from lend.plan.steps import Plan, Step
from lend.protocols.classes import full_name
from lend.tables.table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.adapters.frame_takers import Taker

# classes of which a library would make the same of what was taken, but for what no column has: dtypes, attributes
_OF_ITS_OWN = {
    "pandas": {
        "pandas.Series": "pandas.Series", "pandas.core.series.Series": "pandas.Series",
        "pandas.DataFrame": "pandas.DataFrame", "pandas.core.frame.DataFrame": "pandas.DataFrame",
    },
    "polars": {
        name: name for name in ("polars.series.series.Series", "polars.dataframe.frame.DataFrame")
    },
}  # fmt: skip
_MASKED = ("numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray")


class Unchanged:
    """The way of an object to its own library."""

    __slots__ = ("obj",)

    def __init__(self, obj: "Any") -> None:
        self.obj = obj

    def carry_out(self) -> "Any":
        """The object itself."""
        return self.obj

    def written_down(self) -> Plan:
        """The draft as a Plan, which holds nothing of it."""
        name = frame_words.type_of(self.obj)
        return Plan(
            source=f"{name} of {_length(self.obj)}",
            source_type=frame_words.type_of(self.obj),
            target=name,
            protocol="itself",
            steps=[Step("give", f"the same {name.rpartition('.')[2]}, itself")],
        )


def _length(origin: "Any") -> str:
    count = len(origin)
    return f"{count} row{'' if count == 1 else 's'}"


def found(
    obj: "Any", target: "Any", taker: "tuple[Taker, str | None] | None", copy: "bool | None"
) -> "Unchanged | None":
    """The way of what is of the target's own class, where no option asks for anything else.

    A Column or Table is what it was when it was taken; the object it was taken of may have been written to since.
    """
    if copy is True or type(obj) is Column or type(obj) is Table:
        return None
    name = full_name(type(obj))
    if taker is None:
        masked = target is not None and targets.is_masked(target) and name in _MASKED
        return Unchanged(obj) if masked else None
    library, form = taker
    made = _OF_ITS_OWN.get(library.name, {}).get(name)
    if issubclass(type(target), type) and not issubclass(type(obj), target):
        return None  # a class below it
    return Unchanged(obj) if made is not None and form in (None, made) else None
