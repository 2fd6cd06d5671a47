"""What plans and refusals of columns and tables say alike, whichever draft they are of."""

from collections import Counter

from lend._core.owners import type_name_of
from lend.adapters.columns import is_of_pandas, unwrapped
from lend.columns import refusals
from lend.columns.column import Column
from lend.columns.parts import is_on_several
from lend.errors import NotHostAccessible
from lend.plan.steps import listed as joined
from lend.protocols.classes import shows
from lend.tables.table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

AS_IT_LIES = "pandas, as it lies"
LENT_BLOCKS = "while this is lent, pandas copies a lent block before its next write to it"
QUERY = "a query, which may run anew each time it is taken: what is shared is the memory of its result"
_OF_QUERIES = ("collect", "execute", "fetchall")
# why columns are made anew when they are taken
MADE_ANEW = (
    "Python objects as text", "Python objects as values", "a RangeIndex as numbers", "pandas shows no mask",
    "strings of NumPy's as text",
)  # fmt: skip
SHOWN = 20  # columns of a plan that a note each is about


# of what a column has that a library does not take as it lies: the first reason for a copy as a sentence
_SENTENCES = {
    "stride": "has elements that do not lie side by side, and {0} takes them so",
    "byte order": "is in the other byte order, and {0} takes that of this machine",
    "bools of one byte each": "has bools of a byte each, and {0} takes bits",
    "bit-packed": "has bools of a bit each, and {0} takes bytes",
    "offsets of 32 bits": "has offsets of 32 bits, and {0} takes those of 64",
    "offsets of 64 bits": "has offsets of 64 bits, and {0} takes those of 32",
    "days of 4 bytes": "has days of 4 bytes, and {0} takes those of 8",
    "days of 8 bytes": "has days of 8 bytes, and {0} takes those of 4",
    "nulls as bytes": "has nulls that are told by bytes, and {0} takes a bit for each",
    "nulls as NaN": "has nulls that are told by NaN, and {0} takes a bit for each",
    "nulls as NaT": "has nulls that are told by NaT, and {0} takes a bit for each",
    "nulls as a value": "has nulls that are told by a value, and {0} takes a bit for each",
    "nulls as bits of 1": "has nulls that are told by bits of 1, and {0} takes those of 0",
    "a mask of bytes": "has nulls that are told otherwise than by a byte for each",
    "a value under nulls": "has nulls, under which a value was asked for",
    "values as Python objects": "goes as Python objects, which are made anew",
    "copy=True": "is copied",
}


def why_copied(column: Column, why: str, library: str) -> str:
    """Why a column is copied on its way to a library, as a sentence with the reasons behind it."""
    sentence = _SENTENCES.get(why.partition("; ")[0])
    if sentence is None:
        return f"{refusals.named(column)}: {why}"
    return f"{refusals.named(column)} {sentence.format(library)} ({why})"


def column_named(column: Column) -> str:
    return f"column {column.name!r}" if column.name else f"a column of {column.dtype}"


def holds_pandas(kept: "Iterable[type]") -> bool:
    """Whether any of those whose memory is kept is an object of pandas', and not Arrow's data that one has."""
    return any(map(is_of_pandas, kept))


def listed(columns: "list[Column]", total: int) -> str:
    if len(columns) == total:
        return "all columns" if total != 1 else "the column"
    return joined([repr(column.name) for column in columns])


def type_of(obj: "Any") -> str:
    return f"lend.{type(obj).__name__}" if type(obj) is Column or type(obj) is Table else type_name_of(obj)


def doubled(names: "Sequence[str]") -> "tuple[str, str] | None":
    """The first name that several columns have, and the places of these; None where each has its own."""
    if len(set(names)) == len(names):
        return None
    times = Counter(names)
    double = next(name for name in names if times[name] > 1)
    return double, ", ".join(str(place) for place, name in enumerate(names) if name == double)


def is_query(obj: "Any") -> bool:
    """Whether it has no memory before it is asked for its rows: duckdb, datafusion, ibis, daft."""
    cls = type(unwrapped(obj))
    return shows(cls, "__arrow_c_stream__") and any(shows(cls, name) for name in _OF_QUERIES)


def is_hosted(column: Column) -> bool:
    """Whether all of a column is memory of the host."""
    return not is_on_several(column) and column.device.is_host


def check_host(column: Column, taker: str, came: "str | None" = None) -> None:
    """Refuse a column on a device, of which nothing is made here."""
    if is_hosted(column):
        return
    raise NotHostAccessible.build(
        f"{refusals.named(column)} is on {refusals.where(column)}, and {taker} takes memory of the host",
        came=refusals.came(column) if came is None else came,
        remedy='device="cpu", which shares what the host may read and copies all else by the driver',
    )
