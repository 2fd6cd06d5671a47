"""Columns and tables of what speaks no Arrow: arrays of two dimensions or of records, masks, dicts; and what is none.

`take` is always `front_columns.take_column`, handed in by who asks, with the `copy` that its caller wants.
"""

import sys
from functools import partial

from lend._core.letting_go import lets_go
from lend.adapters import advice, row_advice
from lend.errors import (
    CopyRequired,
    LendError,
    MalformedDescriptor,
    NotLendable,
    UnsupportedLayout,
    UnsupportedType,
    change_remedy,
)
from lend.protocols.classes import bases_of, full_name, module_of, shows
from lend.views import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType
    from typing import Any

    from lend.columns.column import Column
    from lend.tables.table import Table
    from lend.views.view import View

    Take = Callable[[Any, bool | None], Column]

# top module of a library -> our adapter for its columns and tables, never imported before an object of it is met
ADAPTERS = {
    "polars": "polars", "narwhals": "narwhals", "pandas": "pandas", "numpy": "numpy_masked", "nanoarrow": "nanoarrow",
}  # fmt: skip


def adapter_of(cls: type) -> "ModuleType | None":
    """Our adapter for the columns and tables of the library that a class comes from, where it cares for that class."""
    for base in bases_of(cls):
        name = ADAPTERS.get(module_of(base).partition(".")[0])
        if name is not None:
            __import__(f"lend.adapters.{name}")
            adapter = sys.modules[f"lend.adapters.{name}"]
            if adapter.serves(cls):
                return adapter
    if of_buffers(cls):
        return sys.modules["lend.adapters.pylibcudf"]
    if shows(cls, "__dataframe__"):
        from lend.adapters import dataframe

        if dataframe.serves(cls):
            return dataframe
    return None


def of_buffers(cls: type) -> bool:
    """Whether a class shows the buffers of columns on a device by members as those of pylibcudf."""
    if not (shows(cls, "null_mask") or shows(cls, "num_columns") or shows(cls, "to_pylibcudf")):
        return False
    from lend.adapters import pylibcudf

    return pylibcudf.serves(cls)


def is_of_pandas(cls: type) -> bool:
    """Whether our adapter for pandas takes objects of a class."""
    adapter = adapter_of(cls)
    return adapter is not None and adapter.__name__ == "lend.adapters.pandas"


def told_by_polars(obj: "Any") -> "list[tuple[str, Any]]":
    """Each Series of an object of polars, also one that narwhals wraps, by its name, or of those in a dict by theirs.

    Of other objects none.
    """
    obj = unwrapped(obj)
    if issubclass(type(obj), dict):
        return [(name, part) for name, one in obj.items() for _, part in told_by_polars(one)]
    adapter = adapter_of(type(obj))
    if adapter is None or adapter.__name__ != "lend.adapters.polars" or not shows(type(obj), "to_arrow"):
        return []
    found: list[tuple[str, Any]] = adapter.each(obj)
    return found


def is_frame(obj: "Any") -> bool:
    """Whether it is a DataFrame of pandas, also one that narwhals wraps."""
    cls = type(unwrapped(obj))
    return is_of_pandas(cls) and bool(_pandas().is_frame(cls))


# whose host methods are no copies off a device, as they refuse what is not the host's
_HOST_FIRST = frozenset(("pyarrow", "nanoarrow", "arro3", "lend"))


def goes_by_device(cls: type) -> bool:
    """Whether Arrow's methods of devices are asked first: those of the host may copy what is on a device."""
    return not any(module_of(base).partition(".")[0] in _HOST_FIRST for base in bases_of(cls))


# -- columns -------------------------------------------------------------------------------------------------------


@lets_go
def unusual(view: "View", take: "Take", copy: "bool | None") -> "Column | View":
    """A View that is no plain line of numbers, as a Column, or as the View to make one of."""
    dtype = view.dtype
    if view.ndim != 1:
        raise not_one_dimension(view)
    if dtype.has_objects:
        from lend.adapters import text

        made = text.of_objects(view, take, copy)
        if made is None:
            raise _objects(view)
        return made
    if dtype.fields is not None:
        from lend.adapters.records import of_records

        return of_records(view, take, copy)
    if dtype.shares_bytes:
        raise UnsupportedType.build(
            f"a column of {dtype} is not known: its elements share bytes",
            came=describe.came(view),
            remedy="lend.view(x)",
        )
    if dtype.kind in ("datetime", "timedelta") and (dtype.unit == "generic" or dtype.multiplier != 1):
        raise _odd_unit(view)
    if dtype.is_native:
        return view
    if copy is False:
        raise CopyRequired.build(
            f"the bytes of {dtype} are in the other byte order, and copy=False forbids to swap them",
            came=describe.came(view),
            remedy="copy=None, which swaps them in a copy",
        )
    from lend.views.values import copied

    return copied(view, "C", True, "byte order")


def not_one_dimension(view: "View") -> UnsupportedLayout:
    return UnsupportedLayout.build(
        f"a column has one dimension, and this has {view.ndim}",
        came=describe.came(view),
        remedy=["lend.table(x): a column for each x[:, i]", "lend.column(x[:, i])"]
        if view.ndim == 2
        else "an array of one element: x.reshape(1)"
        if view.ndim == 0
        else "lend.view(x)",
    )


def _objects(view: "View") -> UnsupportedType:
    return UnsupportedType.build(
        f"a column of Python objects is not known: {view.dtype!s:.200} has pointers to them",
        came=describe.came(view),
        remedy="numbers or texts of them: pyarrow.array(x), x.astype(...)",
    )


def _odd_unit(view: "View") -> UnsupportedType:
    generic = view.dtype.unit == "generic"
    return UnsupportedType.build(
        f"a column of {view.dtype} is not known: "
        + ("it counts in no unit" if generic else "no other library counts in multiples of a unit"),
        came=describe.came(view),
        remedy='x.astype("datetime64[s]")' if view.dtype.kind == "datetime" else 'x.astype("timedelta64[s]")',
    )


def named(column: "Column", name: str) -> "Column":
    """The same column under a name."""
    from lend.tables.table import of_columns

    return of_columns((name,), [column], len(column))[0]


def masked(view: "View", mask: "View | None", take: "Take", copy: "bool | None", missing: int = 1) -> "Column":
    """Elements and the bytes that say which of them are null, both shared."""
    if mask is None:
        return take(view, copy)
    if mask.ndim != 1 or len(mask) != len(view):
        raise MalformedDescriptor.build(
            f"a mask has a byte for each element, and this one has the shape {mask.shape} beside {view.shape}",
            came=describe.came(view),
        )
    if view.dtype.fields is not None:
        from lend.adapters.records import of_records

        return of_records(view, take, copy, mask)
    from lend.columns.column import Column
    from lend.columns.nullness import Nulls

    found = unusual(view, take, copy)
    made = Column.from_buffers(
        found.dtype, len(view), {"data": found, "validity": mask}, nulls=Nulls("bytemask", missing)
    )
    if found.dtype.kind in ("datetime", "timedelta") and found.device.is_host:
        return _without_nat(made, found, copy)
    return made


def _without_nat(column: "Column", data: "Any", copy: "bool | None") -> "Column":
    """Times beside a mask that hides each NaT, which is null, masked or not; one that does not is made anew."""
    from lend._core import copies
    from lend.columns import forms
    from lend.columns.anatomy import Anatomy
    from lend.columns.column import Column
    from lend.columns.nullness import Nulls
    from lend.views import values

    n = len(column)
    times = Column.from_buffers(data.dtype, n, {"data": data}, nulls=Nulls("nat"))
    if not times.null_count:
        return column
    hidden = []
    for each in (column, times):
        room = values.fresh(n)
        forms.write_mask(Anatomy(each), room.ptr, 0, n)
        hidden.append(int.from_bytes(bytes(room), "little"))
    own, other = hidden
    if own | other == own:
        return column
    if copy is False:
        raise CopyRequired.build(
            "NaT is null, and the mask beside it does not hide it: copy=False forbids a mask that does",
            came=describe.came(data),
            remedy="copy=None, which makes a mask of all nulls in a copy",
        )
    mask = (own | other).to_bytes(n, "little")
    copies.note(describe.came(data), "NaT that its mask does not hide: a mask of all nulls", n)
    return Column.from_buffers(data.dtype, n, {"data": data, "validity": mask}, nulls=Nulls("bytemask", 1))


@lets_go
def closed(obj: "Any", refusal: LendError, take: "Take", copy: "bool | None") -> "Column":
    """A Column of what `lend.view` refused: by the mask of its interface, by its own Arrow array; or say what to do."""
    if isinstance(refusal, UnsupportedType):
        from lend.adapters import text

        if text.holds_strings(obj):
            return text.of_strings(obj, take, copy)
        for method in _INTERFACES:
            parted = _unmasked(obj, method)
            if parted is not None:
                from lend.front import view

                return masked(view(parted[0]), view(parted[1]), take, copy, missing=0)
    if shows(type(obj), "__arrow_array__"):
        who = f"this is {article(full_name(type(obj)))}"
        return take(arrow_array(obj, who, refusal.came or full_name(type(obj))), copy)
    if isinstance(refusal, NotLendable) and refusal.fact is not None and refusal.fact.startswith("cannot lend "):
        if advice.is_table(type(obj)):
            raise no_column(obj)
        raise NotLendable.build(
            f"cannot lend {article(full_name(type(obj)))} as a column",
            came=refusal.came,
            tried=f"{refusal.tried}; and no __arrow_c_array__ or __arrow_c_stream__" if refusal.tried else None,
            remedy=row_advice.for_column(obj) or refusal.remedy,
        )
    if shows(type(obj), "to_pyarrow"):
        change_remedy(refusal, "lend.column(x.to_pyarrow())")
    raise refusal


_INTERFACES = ("__array_interface__", "__cuda_array_interface__")


def arrow_array(obj: "Any", who: str, came: str, remedy: "str | None" = None) -> "Any":
    """What an object gives by its `__arrow_array__`, which must be an Arrow array; `who` begins what a refusal says."""
    try:
        given = obj.__arrow_array__()
    except (LendError, MemoryError, RecursionError):
        raise
    except Exception as error:  # a method of somebody's: what it raises becomes ours, with it as the cause
        raise NotLendable.from_producer(
            error, f"{who}, whose __arrow_array__ raised", door="__arrow_array__()", came=came, remedy=remedy
        ) from error
    if shows(type(given), "__arrow_c_array__") or shows(type(given), "__arrow_c_stream__"):
        return given
    said = "None" if given is None else "itself" if given is obj else article(full_name(type(given)))
    raise NotLendable.build(
        f"{who}, whose __arrow_array__ gave {said}, which is no Arrow array",
        came=came,
        remedy=remedy or "an __arrow_array__ that returns a pyarrow.Array or ChunkedArray",
    )


def _unmasked(obj: "Any", method: str) -> "tuple[Any, Any] | None":
    """An object with such an interface taken apart: its elements and its mask; None where it has none."""
    try:
        facts = getattr(obj, method)
    except (MemoryError, RecursionError):
        raise
    except Exception:  # noqa: BLE001 - it was refused before, for a reason that stands
        return None
    if type(facts) is not dict or facts.get("mask") is None:
        return None
    told = {key: value for key, value in facts.items() if key != "mask"}
    return type("Elements", (), {method: told, "__slots__": ("lender",), "__init__": _keep})(obj), facts["mask"]


def _keep(self: "Any", lender: "Any") -> None:
    self.lender = lender


def no_column(obj: "Any") -> NotLendable:
    return NotLendable.build(
        f"{article(full_name(type(obj)))} is a table, no column",
        came=full_name(type(obj)),
        remedy='lend.table(x), or one column of it: lend.column(x["name"])',
    )


# -- tables --------------------------------------------------------------------------------------------------------


@lets_go
def of_dict(
    given: "Mapping[str, Any]", keys: "Iterable[str | int] | None", take: "Take", copy: "bool | None"
) -> "Table":
    """A Table of named columns; what is not wanted is not looked at."""
    for name in given:
        if not isinstance(name, str):
            raise TypeError(f"a column is named by a str, not {type(name).__name__}")
    names = tuple(str(name) for name in given)
    return chosen(names, list(given.values()), keys, take, copy)


def chosen(
    names: "tuple[str, ...]",
    parts: "list[Any]",
    keys: "Iterable[str | int] | None",
    take: "Take",
    copy: "bool | None",
    rows: "int | None" = None,
) -> "Table":
    """A Table of those of some parts that are wanted, each under its name."""
    from lend.tables import refusals, table

    wanted = range(len(parts)) if keys is None else table.places(names, keys)
    names = tuple(names[place] for place in wanted)
    columns = []
    for name, place in zip(names, wanted, strict=True):
        try:
            columns.append(take(parts[place], copy))
        except LendError as error:
            refusals.add_name(error, name)
            raise
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise refusals.unequal(names, lengths)
    return table.of_columns(names, columns, lengths[0] if lengths else rows or 0)


@lets_go
def other_table(obj: "Any", take: "Take", copy: "bool | None") -> "Table":
    """A Table of an array of two dimensions or of records; or say what to do."""
    from lend.front import view
    from lend.tables import table

    cls = type(obj)
    if _is_lazy(cls):
        raise NotLendable.build(
            f"{article(full_name(cls))} is a query, not memory", came=full_name(cls), remedy="lend.table(x.collect())"
        )
    try:
        seen = view(obj)
    except NotLendable:
        seen = None
    if seen is None:
        raise no_table(obj)
    if seen.ndim == 1 and seen.dtype.fields is not None and not seen.dtype.has_objects:
        from lend.adapters import records

        fields = records.fields(seen, take, copy, None)
        return table.of_columns(tuple(name for name, _ in fields), [part for _, part in fields], len(seen))
    if seen.ndim == 2:
        return of_places(seen, None, None, take, copy)
    raise not_two_dimensions(seen)


def of_places(
    view: "View", mask: "View | None", keys: "Iterable[str | int] | None", take: "Take", copy: "bool | None"
) -> "Table":
    """A Table of the columns of an array of two dimensions, each named by its place; of those that are wanted."""
    from lend.tables import table

    names = tuple(str(place) for place in range(view.shape[1]))
    wanted = range(len(names)) if keys is None else table.places(names, keys)
    parts = []
    for place in wanted:  # no comprehension: the frame of one keeps what it closes over, and an error the frame
        parts.append(masked(view[:, place], None if mask is None else mask[:, place], take, copy))  # noqa: PERF401
    return table.of_columns(tuple(names[place] for place in wanted), parts, len(view))


def not_two_dimensions(view: "View") -> NotLendable:
    return NotLendable.build(
        f"a table has rows and columns, and this array {view.ndim} dimension{'' if view.ndim == 1 else 's'}",
        came=describe.came(view),
        remedy='lend.table({"name": x})' if view.ndim == 1 else "lend.view(x)",
    )


def _is_lazy(cls: type) -> bool:
    return shows(cls, "collect") and not shows(cls, "__arrow_c_stream__") and not shows(cls, "__array__")


def no_table(obj: "Any") -> NotLendable:
    return NotLendable.build(
        f"cannot lend {article(full_name(type(obj)))} as a table",
        came=full_name(type(obj)),
        tried="it has no __arrow_c_stream__ and no __arrow_c_array__, and is no dict of columns and no array",
        remedy=row_advice.for_table(obj) or advice.for_unlendable(obj),
    )


@lets_go
def with_index(
    obj: "Any",
    index: "Any",
    keys: "Iterable[str | int] | None",
    take: "Take",
    copy: "bool | None",
    nulls: "Any" = None,
    objects: bool = False,
) -> "Table | None":
    """A Table of a DataFrame, with its index as `index` says: "column", "drop" or "metadata".

    `objects`: these are read as nested data, also those of a dict. None of what has no objects of pandas'.
    """
    from lend.adapters import column_wishes

    obj = unwrapped(obj)
    if index is not None:
        _check_index(obj, index)
    made: Table
    if objects and isinstance(obj, dict):
        made = of_dict(obj, keys, partial(_nested, take), copy)
    elif is_of_pandas(type(obj)):
        made = _pandas().table(obj, keys, take, copy, index, objects)
    else:
        return None
    return made if copy is not True and nulls is None else column_wishes.met_by_all(made, copy is True, nulls)


@lets_go
def nested(obj: "Any", take: "Take", copy: "bool | None") -> "Column":
    """A Column of what may be Python objects, of which nested data is made; of all else what `take` makes."""
    obj = unwrapped(obj)
    if not is_of_pandas(type(obj)):
        return take(obj, copy)
    made: Column = _pandas().column(obj, take, copy, True)
    return made


def _nested(take: "Take", obj: "Any", copy: "bool | None") -> "Column":
    return nested(obj, take, copy)


def _pandas() -> "Any":
    from lend.adapters import pandas

    return pandas


def unwrapped(obj: "Any") -> "Any":
    """What narwhals wraps, or the object itself."""
    from lend.adapters import narwhals

    return narwhals.native(obj) if adapter_of(type(obj)) is narwhals else obj


def _check_index(obj: "Any", index: "Any") -> None:
    if index not in ("column", "drop", "metadata"):
        raise ValueError(f'index is None, "column", "drop" or "metadata", not {index!r:.60}')
    cls = type(obj)
    if not is_of_pandas(cls):
        raise NotLendable.build(
            f"index={index!r} is about the index of a DataFrame of pandas, and {full_name(cls)} has none",
            came=full_name(cls),
            remedy="no index=",
        )


def check_lazy(copy: "bool | None", nulls: "Any") -> None:
    """What a table whose rows did not come yet cannot be asked for."""
    asked = [name for name, value in (("copy", copy), ("nulls", nulls)) if value is not None]
    if asked:
        raise UnsupportedLayout.build(
            f"{asked[0]}= is about columns, and a lazy table has none before its rows come",
            remedy=f"for t in x.batches(): lend.table(t, {asked[0]}=...); or no lazy=True",
        )


def article(noun: str) -> str:
    return f"an {noun}" if noun[:1] in "aeiouAEIOU" else f"a {noun}"
