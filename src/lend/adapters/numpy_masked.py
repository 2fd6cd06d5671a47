"""Columns and tables of numpy.ma: the data and the mask beside it, both shared.

All protocols of a masked array show its data without the mask, so that it is known here before any is asked.
"""

from lend.adapters import columns
from lend.adapters.asking import guarded
from lend.errors import UnsupportedLayout
from lend.protocols.classes import bases_of, full_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from lend.adapters.columns import Take
    from lend.columns.column import Column
    from lend.tables.table import Table
    from lend.views.view import View


def serves(cls: type) -> bool:
    return any(full_name(base) == "numpy.ma.MaskedArray" or full_name(base) == "numpy.ma.core.MaskedArray"
               for base in bases_of(cls))  # fmt: skip


@guarded
def _parts(obj: "Any") -> "tuple[Any, Any]":
    """The data, and the mask or None where there is none."""
    from numpy import ma

    mask = ma.getmask(obj)
    return ma.getdata(obj), None if mask is ma.nomask else mask


def _views(obj: "Any") -> "tuple[View, View | None]":
    from lend.front import view

    data, mask = _parts(obj)
    return view(data), None if mask is None else view(mask)


def column(obj: "Any", take: "Take", copy: "bool | None") -> "Column":
    data, mask = _views(obj)
    if data.ndim != 1:
        raise columns.not_one_dimension(data)
    return columns.masked(data, mask, take, copy)


def table(obj: "Any", keys: "Iterable[str | int] | None", take: "Take", copy: "bool | None") -> "Table":
    from lend.tables import table

    data, mask = _views(obj)
    if data.ndim == 1 and data.dtype.fields is not None:
        made = table.of_structs(columns.masked(data, mask, take, copy))
    elif data.ndim == 2:
        count = data.shape[1]
        parts = [
            columns.masked(data[:, place], None if mask is None else mask[:, place], take, copy)
            for place in range(count)
        ]
        made = table.of_columns(tuple(str(place) for place in range(count)), parts, len(data))
    else:
        raise UnsupportedLayout.build(
            f"a table has rows and columns, and this array {data.ndim} dimension{'' if data.ndim == 1 else 's'}",
            came=f"{full_name(type(obj))} of shape {data.shape}",
            remedy='lend.table({"name": x})',
        )
    return made if keys is None else made.select(keys)
