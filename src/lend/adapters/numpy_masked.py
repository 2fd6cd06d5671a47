"""Columns and tables of numpy.ma: the data and the mask beside it, both shared; and what else NumPy makes of columns.

All protocols of a masked array show its data without the mask, so that it is known here before any is asked.
"""

from lend._core.letting_go import lets_go
from lend.adapters import columns
from lend.adapters.asking import guarded
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


@lets_go
def column(obj: "Any", take: "Take", copy: "bool | None") -> "Column":
    data, mask = _views(obj)
    if data.ndim != 1:
        raise columns.not_one_dimension(data)
    return columns.masked(data, mask, take, copy)


@lets_go
def table(obj: "Any", keys: "Iterable[str | int] | None", take: "Take", copy: "bool | None") -> "Table":
    from lend.tables import table

    data, mask = _views(obj)
    if data.ndim == 1 and data.dtype.fields is not None:
        made = table.of_structs(columns.masked(data, mask, take, copy))
        return made if keys is None else made.select(keys)
    if data.ndim != 2:
        raise columns.not_two_dimensions(data)
    return columns.of_places(data, mask, keys, take, copy)


# -- given ---------------------------------------------------------------------------------------------------------


def given(data: "Any", mask: "Any") -> "Any":
    """A masked array over data and mask, or without a mask."""
    from numpy import ma

    return ma.MaskedArray(data, mask=ma.nomask if mask is None else mask, copy=False)


def objects(columns: "list[list[Any]]", shape: "tuple[int, ...]") -> "Any":
    """Values in an array of pointers to them, column by column."""
    import numpy as np

    made: Any = np.empty(shape, object)
    for place, values in enumerate(columns):
        line = made[:, place] if len(shape) == 2 else made
        for row, value in enumerate(values):  # no slice: NumPy would look into lists
            line[row] = value
    return made


def texts(values: "list[str | float | None]", kind: str) -> "Any":
    """Strings of NumPy's own: of fixed length ("U"), or of any, with what stands for null among them (None, NaN)."""
    import numpy as np

    if kind == "U":
        return np.array(values, dtype=str)
    lost = [value for value in values if type(value) is not str][:1]
    return np.array(values, dtype=np.dtypes.StringDType(na_object=lost[0]) if lost else np.dtypes.StringDType())
