"""`Table.__array__`: columns side by side in one array of NumPy's, for consumers that know arrays alone."""

from lend._core import copies
from lend._core.letting_go import lets_go
from lend.columns import forms, joining, refusals
from lend.errors import CopyRequired, LendError, UnsupportedType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.columns.column import Column
    from lend.tables.table import Table

_NUMBERS = ("bool", "int", "uint", "float", "complex")


@lets_go
def array(table: "Table", dtype: "Any" = None, copy: "bool | None" = None) -> "Any":
    """An array of rows and columns, always a copy, which is counted.

    Numbers are of the type that holds all of them, with NaN where one is null; integers that float64 does not hold are
    refused then. With anything else among the columns it is an array of Python objects, None for null.
    """
    import numpy as np

    columns = table.columns
    if copy is False:
        raise CopyRequired.build(
            "the columns of a table lie apart, and an array of two dimensions needs a copy: copy=False forbids it",
            came=repr(table),
            remedy="copy=None; or one column of it: numpy.asarray(table[0])",
        )
    wanted = None if dtype is None else np.dtype(dtype)
    numbers = (wanted is None or wanted.kind != "O") and all(column.dtype.kind in _NUMBERS for column in columns)
    parts = [_numbers(column) if numbers else _objects(column) for column in columns]
    if not numbers:
        found: Any = np.dtype(object)
    elif wanted is not None and wanted.kind not in "OSU":
        found = wanted
    else:
        found = np.result_type(*parts) if parts else np.dtype("float64")
    made = np.empty((len(table), len(columns)), found, order="F")
    for place, (part, column) in enumerate(zip(parts, columns, strict=True)):
        if found.kind in "biu" and part.dtype.kind == "f" and column.null_count:
            raise UnsupportedType.build(
                f"{refusals.named(column)} has {column.null_count} nulls, which no value of {found} says",
                wanted=str(found),
                came=refusals.came(column),
                remedy="a dtype of floats, with NaN for null; or lend.to(column, ..., nulls=('fill', value))",
            )
        made[:, place] = part
    copies.note(f"{len(columns)} columns of {len(table)} rows", "__array__ of a table", made.nbytes)
    return made if wanted is None or wanted == found else made.astype(wanted)


def _numbers(column: "Column") -> "Any":
    """A column of numbers as an ndarray, with NaN for null."""
    import numpy as np

    lost = column.null_count if column.nulls.kind not in ("none", "nan") else 0
    if not lost:
        return np.asarray(forms.unpacked(joining.combined(column).made()).made())
    if column.dtype.kind == "bool":
        return np.array([np.nan if value is None else float(value) for value in column.tolist()])
    try:
        return np.asarray(forms.filled(joining.combined(column).made(), "nan", merge=True).made())
    except LendError as error:
        from lend.tables.refusals import add_name

        add_name(error, column.name)
        raise


def _objects(column: "Column") -> "Any":
    """A column as Python objects, None for null."""
    import numpy as np

    found: Any = np.empty(len(column), object)
    found[:] = column.tolist()
    return found
