"""Columns and tables of what has `__dataframe__` and nothing better: modin, vaex, and what people write by hand.

Each buffer is a lease of its own that holds the producer's Buffer, which is asked for once: some lend memory that goes
with it. A column that cannot be read does not take the others away.
"""

from functools import lru_cache

from lend._core.letting_go import lets_go
from lend.adapters import columns
from lend.adapters.asking import quoted
from lend.columns.building import of_chunks, unreadable, vouched
from lend.columns.column import Column
from lend.columns.nullness import Nulls
from lend.columns.refusals import Closed
from lend.device import Device
from lend.dtypes.dtype import DType
from lend.errors import CopyRequired, LendError, MalformedDescriptor, NotLendable
from lend.protocols import dataframe
from lend.protocols.classes import full_name, shows
from lend.views.buffers import Buffer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from lend.adapters.columns import Take
    from lend.tables.table import Table

_BETTER = ("__arrow_c_array__", "__arrow_c_stream__", "__arrow_c_device_array__", "__arrow_c_device_stream__")
_ARRAYS = ("__dlpack__", "__array_interface__", "__array_struct__", "__cuda_array_interface__", "__buffer__")


def serves(cls: type) -> bool:
    """Whether objects of a class are taken this way: they have `__dataframe__`, and nothing that Arrow speaks."""
    return shows(cls, dataframe.DUNDER) and not any(shows(cls, method) for method in _BETTER)


@lets_go
def column(obj: "Any", take: "Take", copy: "bool | None") -> "Column | Any":
    """The only column of a frame; one-dimensional arrays have better doors."""
    if any(shows(type(obj), method) for method in _ARRAYS):
        return obj
    frame = _frame(obj, copy)
    if frame is None:
        return obj
    names = _names(frame, obj)
    if len(names) != 1:
        raise columns.no_column(obj)
    (made,), _ = _columns(obj, frame, names, [0], copy)
    if made.released:
        made.dtype  # noqa: B018 - it raises its reason
    return made


@lets_go
def table(obj: "Any", keys: "Iterable[str | int] | None", take: "Take", copy: "bool | None") -> "Table | Any":
    """A Table of the columns that are wanted; of the others nothing is asked."""
    from lend.tables import refusals
    from lend.tables import table as tables

    frame = _frame(obj, copy)
    if frame is None:
        return obj
    names = _names(frame, obj)
    wanted = list(range(len(names))) if keys is None else tables.places(names, keys)
    made, lost = _columns(obj, frame, names, wanted, copy)
    if lost:
        _warn(obj, lost)
    chosen = tuple(names[place] for place in wanted)
    read = [(name, len(part)) for name, part in zip(chosen, made, strict=True) if not part.released]
    rows = _rows(frame, obj)
    if rows is None:
        rows = read[0][1] if read else 0
    for name, length in read:
        if length != rows:
            raise refusals.unequal(("the frame", name), (rows, length))
    return tables.of_columns(chosen, [part if not part.released else _closed(part, rows) for part in made], rows)


def _frame(obj: "Any", copy: "bool | None") -> "Any":
    """What `__dataframe__` gives; None where the library took the protocol away and left the name."""
    try:
        return obj.__dataframe__(allow_copy=copy is not False)
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # what a producer raises becomes ours, with it as the cause
        if isinstance(error, AttributeError) and "removed" in f"{type(error).__name__} {error}".lower():
            return None
        if copy is False and isinstance(error, RuntimeError):
            raise CopyRequired.from_producer(
                error,
                f"{full_name(type(obj))} does not lend its columns without a copy",
                door="__dataframe__(allow_copy=False)",
                came=full_name(type(obj)),
                remedy="copy=None, which lets it copy",
            ) from error
        raise _failed(obj, error) from error


def _failed(obj: "Any", error: Exception) -> NotLendable:
    return NotLendable.from_producer(
        error,
        f"{columns.article(full_name(type(obj)))} does not lend its columns",
        door="__dataframe__",
        came=full_name(type(obj)),
    )


def _names(frame: "Any", obj: "Any") -> "tuple[str, ...]":
    try:
        names = tuple(name if type(name) is str else str(name) for name in frame.column_names())
        count = dataframe.count(frame.num_columns(), "the number of columns")
    except (LendError, MemoryError, RecursionError):
        raise
    except Exception as error:  # what a producer raises becomes ours, with it as the cause
        raise _failed(obj, error) from error
    if count != len(names):
        raise MalformedDescriptor.build(
            f"the frame says that it has {count} columns, and names {len(names)}", came=full_name(type(obj))
        )
    return names


def _rows(frame: "Any", obj: "Any") -> "int | None":
    try:
        rows = frame.num_rows()
        return None if rows is None else dataframe.count(rows, "the number of rows")
    except (LendError, MemoryError, RecursionError):
        raise
    except Exception as error:  # what a producer raises becomes ours, with it as the cause
        raise _failed(obj, error) from error


def _columns(
    obj: "Any", frame: "Any", names: "tuple[str, ...]", wanted: "list[int]", copy: "bool | None"
) -> "tuple[list[Column], dict[str, str]]":
    """A Column for each place, and why some cannot be read: those raise their reason when they are used."""
    try:
        parts = dataframe.chunks_of(frame)
    except (LendError, MemoryError, RecursionError):
        raise
    except Exception as error:  # what a producer raises becomes ours, with it as the cause
        raise _failed(obj, error) from error
    from lend.tables.refusals import add_name

    made, lost = [], {}
    for place in wanted:
        try:
            found = _column(parts, place, names[place], copy)
        except (MemoryError, RecursionError):
            raise
        except CopyRequired as error:
            add_name(error, names[place])
            raise
        except Exception as error:  # noqa: BLE001 - whatever one column raises is the reason of that column
            why = _reason(error, names[place], obj)
            lost[names[place]] = why.fact.partition(": ")[2]
            found = unreadable(names[place], 0, why)
        made.append(found)
    return made, lost


def _column(parts: "list[Any]", place: int, name: str, copy: "bool | None") -> Column:
    chunks = []
    for part in parts:
        chunks += dataframe.chunks_of(part.get_column(place))
    made = [made_of(dataframe.ToldColumn(chunk, name), copy) for chunk in chunks]
    if len({chunk.dtype for chunk in made}) > 1:
        raise MalformedDescriptor.build(f"its chunks are of different types: {', '.join(str(c.dtype) for c in made)}")
    return of_chunks(made)


def made_of(told: dataframe.ToldColumn, copy: "bool | None") -> Column:
    """A Column over the memory that was told."""
    words = None if told.categories is None else _words(told.categories, copy)
    if words is not None:
        dtype = DType.from_arrow(told.format, dictionary=words.dtype, ordered=told.ordered)
    else:
        dtype = _dtype(told.format)
    kind, missing, value = told.nulls
    made = Column.from_buffers(
        dtype,
        told.length,
        {
            role: Buffer.from_pointer(part.ptr, part.nbytes, owner=part.lender, device=_device(*part.device))
            for role, part in told.buffers.items()
        },
        nulls=Nulls(kind, missing, value),
        offset=told.offset if told.length else 0,
        dictionary=words,
        name=told.name,
    )
    if told.no_null and made.device.is_host and made.null_count:
        raise MalformedDescriptor.build(
            f"it says that none of its elements is null, and its {kind} that {made.null_count} are"
        )
    return made


@lru_cache(64)
def _dtype(format: str) -> DType:
    return DType("bool") if format == "bool" else DType.from_arrow(format)


@lru_cache(16)
def _device(kind: int, number: int) -> Device:
    return Device(kind, number)


def _words(told: "Any", copy: "bool | None") -> Column:
    """Categories: a column by the same road; in some libraries a plain list, or a dict of codes and what they mean."""
    if isinstance(told, dict):
        told = _by_code(told)
    if isinstance(told, list | tuple):
        return _listed(list(told), copy)
    made = of_chunks([made_of(dataframe.ToldColumn(part, "categories"), copy) for part in dataframe.chunks_of(told)])
    if len(made.chunks) > 1:
        from lend.columns import joining

        draft = joining.combined(made)
        if draft.nbytes and copy is False:
            raise _needs_copy("its categories are in several chunks")
        made = draft.make("categories in several chunks")
    return made


def _by_code(said: "dict[Any, Any]") -> "list[Any]":
    """The categories that a dict tells, each at the place of its code."""
    if any(code not in said for code in range(len(said))):
        raise MalformedDescriptor.build(
            f"its categories are told for the codes {', '.join(map(repr, list(said)[:8]))}, not from 0 on"
        )
    return [said[code] for code in range(len(said))]


def _listed(words: "list[Any]", copy: "bool | None") -> Column:
    """A list of texts or of numbers, written into memory of lend's own."""
    from array import array

    from lend._core.copies import note

    if copy is False:
        raise _needs_copy("its categories are a list of Python objects")
    kinds = {type(word) for word in words}
    if kinds <= {str}:
        pieces = [word.encode() for word in words]
        ends = array("q", [0])
        for piece in pieces:
            ends.append(ends[-1] + len(piece))
        data = b"".join(pieces)
        note("a list of categories", "text in Python objects", len(data) + 8 * len(ends))
        return vouched(Column.from_buffers("large_utf8", len(words), {"offsets": ends, "data": data}))
    if kinds <= {int} or kinds <= {int, float}:
        try:
            values = array("q" if kinds == {int} else "d", words)
        except OverflowError:
            raise MalformedDescriptor.build("its categories are integers of more than 64 bits") from None
        note("a list of categories", "numbers in Python objects", 8 * len(values))
        return Column.from_buffers("int64" if kinds == {int} else "float64", len(words), {"data": values})
    raise MalformedDescriptor.build(
        f"its categories are a list of {', '.join(sorted(kind.__name__ for kind in kinds))}"
    )


def _needs_copy(fact: str) -> CopyRequired:
    return CopyRequired.build(fact, remedy="copy=None, which copies them")


def _reason(error: Exception, name: str, obj: "Any") -> Closed:
    """Why a column cannot be read: kept without the error, whose frames would keep memory."""
    if isinstance(error, LendError):
        fact = error.fact or str(error).partition("\n")[0]
        kind = type(error) if type(error).__module__ == "lend.errors" else NotLendable
        remedy = error.remedy
    else:
        kind, fact, remedy = NotLendable, f"it raised {quoted(error)}", None
    return Closed(
        kind, f"column {name!r} cannot be read: {fact}", f"{full_name(type(obj))}, by __dataframe__",
        remedy or "the other columns, which can be had",
    )  # fmt: skip


def _closed(part: Column, rows: int) -> Column:
    """The same, of so many rows."""
    return unreadable("", rows, part)


def _warn(obj: "Any", lost: "dict[str, str]") -> None:
    from warnings import warn

    listed = "; ".join(f"{name!r}: {why}" for name, why in list(lost.items())[:8])
    more = f"; and {len(lost) - 8} more" if len(lost) > 8 else ""
    many = "1 column" if len(lost) == 1 else f"{len(lost)} columns"
    warn(
        f"{many} of {columns.article(full_name(type(obj)))} cannot be read, and raise their reason when they are used: "
        f"{listed}{more}",
        UserWarning,
        stacklevel=2,
    )
