"""Classes as targets of columns and tables: those of the libraries that take such, classes below them, and Python's."""

import sys
from io import BytesIO

from lend._core.copies import LookedAt
from lend.adapters.asking import guarded
from lend.adapters.frame_takers import TAKERS, Taker
from lend.adapters.rules import ANEW, is_installed
from lend.columns.column import Column
from lend.columns.joining import nothing
from lend.errors import CopyRequired, LendError, NotLendable, UnsupportedType
from lend.protocols.classes import bases_of, full_name, module_of
from lend.tables.table import Table, of_columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.plan.frame_drafts import FrameDraft

_OF_BYTES = (bytes, bytearray, BytesIO)
_OF_NUMBERS = (int, float, complex)
_HASHED = (set, frozenset)
_OF_PARTS = (list, tuple, *_HASHED)
# kinds of dtypes whose values are lists and dicts
_UNHASHABLE = ("list", "large_list", "fixed_list", "list_view", "large_list_view", "struct", "map")


def taker_of_class(cls: type) -> "tuple[Taker, str] | None":
    """The library of a class that is a target, or is below one, and the one that it is or is below."""
    for base in bases_of(cls):
        full = f"{module_of(base)}.{full_name(base).rpartition('.')[2]}"
        for taker in TAKERS.values():
            if full in taker.classes:
                return taker, full
    return None


@guarded
def class_named(name: str) -> "type | None":
    """The class that a dotted name means, of a library that takes columns and is installed."""
    top, _, rest = name.partition(".")
    if not rest or top not in TAKERS or not is_installed(top):
        return None
    __import__(top)
    found: Any = sys.modules[top]
    for part in rest.split("."):
        found = getattr(found, part, None)
    return found if issubclass(type(found), type) else None


def check_known(target: "Any") -> None:
    """Refuse a class of a library that takes columns and tables which is no target: calling it would mislead it."""
    if not issubclass(type(target), type) or issubclass(target, BaseException):
        return
    name = module_of(target).partition(".")[0].lstrip("_")  # duckdb's are of _duckdb
    taker = TAKERS.get(name)
    if taker is None or taker_of_class(target) is not None:
        return
    classes = ", ".join(dict.fromkeys(_public(full) for full in taker.classes))
    raise NotLendable.build(
        f"{_public(full_name(target))} is no target: of {name}, lend makes {classes}",
        wanted=_public(full_name(target)),
        remedy=f'lend.to(x, "{name}"), and {name} makes of that what you want; or a function of your own as the target',
    )


def _public(full: str) -> str:
    """A class by the name that people know it by."""
    top, last = full.partition(".")[0].lstrip("_"), full.rpartition(".")[2]
    return f"arro3.core.{last}" if top == "arro3" else f"{top}.{last}" if top in TAKERS else full


def check_made(draft: "FrameDraft", target: type) -> None:
    """Refuse a class below one that is made where the library makes another: seen by what it makes of no rows."""
    taker, form, thing = draft.taker, draft.form, draft.thing
    assert taker is not None
    if f"{module_of(target)}.{full_name(target).rpartition('.')[2]}" == form:
        return
    asked = {**draft.options, **({} if taker.arrow else draft.wishes())}
    with LookedAt():
        if type(thing) is Table:
            bare = of_columns(thing.names, [nothing(column) for column in thing.columns], 0, thing.metadata)
            made = taker.give_table(bare, form=form, **asked)
        else:
            made = taker.give_column(nothing(thing), form=form, **asked)
    cls = type(made)
    if not issubclass(cls, target):
        name, kept = _public(full_name(target)), _public(full_name(cls))
        raise UnsupportedType.build(
            f"{taker.name} makes a {kept} of this, and no {name}",
            wanted=name,
            came=draft.came,
            remedy=f'lend.to(x, "{taker.name}"), a {kept}, and what makes a {name} of that',
        )


# -- Python's own ------------------------------------------------------------------------------------------------------


def check_own(call: "Any", thing: "Column | Table", came: str, copy: "bool | None", to_come: bool) -> None:
    """Refuse a class of Python's that is made of other things, or anew where no copy is allowed."""
    if type(call) is not type:
        return  # a metaclass may compare as it likes
    if type(thing) is Table:
        if call in _OF_BYTES or call in _OF_NUMBERS:
            raise not_made(call, thing, came)
    elif call is dict or call in _OF_NUMBERS or (call in _HASHED and _holds_lists(thing)):
        raise not_made(call, thing, came)
    elif call in _OF_BYTES:
        (nothing(thing) if to_come else thing).view()  # refuses what is no run of elements
    if copy is False and type(thing) is Column and (call in _OF_BYTES or call in _OF_PARTS):
        raise CopyRequired.build(
            f"{full_name(call)} makes Python objects of whatever it is given, and is never the memory itself ({ANEW})",
            wanted=f"{full_name(call)} without a copy (copy=False)",
            came=came,
            remedy="copy=None; or lend.column(x), which shares the memory",
        )


def _holds_lists(column: Column) -> bool:
    """Whether a value is a list or a dict, which no set has."""
    return column.dtype.kind in _UNHASHABLE and len(column) > column.null_count


def called(call: "Any", thing: "Column | Table", came: str) -> "Any":
    """What a callable makes of a Column or Table; what a class of Python's raises becomes a refusal."""
    if not issubclass(type(call), type) or module_of(call).partition(".")[0] not in sys.stdlib_module_names:
        return call(thing)
    try:
        if type(call) is type and call in _OF_BYTES and type(thing) is Column:
            return call(thing.view().tobytes())
        return call(thing)
    except (LendError, MemoryError, RecursionError):
        raise
    except Exception as error:  # constructors raise what they like; it is the cause of ours
        raise not_made(call, thing, came, error) from error


def not_made(call: type, thing: "Column | Table", came: str, error: "Exception | None" = None) -> NotLendable:
    name, kind = full_name(call), type(thing).__name__
    return NotLendable.build(
        f"{name} is made of other things than a {kind}",
        wanted=name,
        came=came,
        tried=None if error is None else f"{name}({kind.lower()}) -> {type(error).__name__}: {error!s:.200}",
        remedy=[
            "lend.to(x, dict), its columns by their names; lend.to(x, list), its columns",
            'lend.to(x, "numpy"), arrays',
        ]
        if type(thing) is Table
        else ["lend.to(x, list), its values", "lend.column(x).buffers, its memory"],
    )
