"""`Table.__array__`: columns side by side in one array of NumPy's, for consumers that know arrays alone.

Columns that lie evenly in one lease, as those of a block of pandas or of an array of two dimensions, are shared.
"""

from lend._core import copies
from lend._core.letting_go import lets_go
from lend.columns import forms, refusals
from lend.columns.anatomy import Anatomy
from lend.columns.parts import beside
from lend.columns.run_elements import inexact
from lend.errors import CopyRequired, LendError, UnsupportedType
from lend.tables import index_note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from lend.columns.column import Column
    from lend.tables.table import Table

_NUMBERS = ("bool", "int", "uint", "float", "complex")


@lets_go
def array(table: "Table", dtype: "Any" = None, copy: "bool | None" = None) -> "Any":
    """An array of rows and columns: the memory itself where the columns lie in it so, else a copy, which is counted.

    Numbers are of the type that holds all of them, with NaN where one is null; integers that float64 does not hold are
    refused then. With anything else among the columns it is an array of Python objects, None for null.
    """
    import numpy as np

    table = index_note.without(table)
    columns = table.columns
    wanted = None if dtype is None else np.dtype(dtype)
    block = None if copy is True else _block(columns)
    if block is not None and wanted in (None, block.dtype):
        return block
    if copy is False:
        raise CopyRequired.build(
            "the columns of a table lie apart, and an array of two dimensions needs a copy: copy=False forbids it",
            came=repr(table),
            remedy="copy=None; or one column of it: numpy.asarray(table[0])",
        )
    numbers = (wanted is None or wanted.kind != "O") and all(map(_is_number, columns))
    if not numbers:
        found: Any = np.dtype(object)
    elif wanted is not None and wanted.kind not in "OSU":
        found = wanted
    else:
        found = np.result_type(*map(_dtype, columns)) if columns else np.dtype("float64")
    made = np.empty((len(table), len(columns)), found, order="F")
    for place, column in enumerate(columns):
        told = found if wanted is None else wanted
        if told.kind in "biuSU" and column.null_count:
            raise UnsupportedType.build(
                f"{refusals.named(column)} has nulls, which no value of {told} says",
                wanted=str(told),
                came=refusals.came(column),
                remedy=[
                    "no dtype=: NaN for null among numbers, None among others",
                    "or the column with a value for null: lend.to(column, ..., nulls=('fill', value))",
                ],
            )
        if wanted is None and numbers and found.kind in "fc":
            _check_exact(column, found)
        start = 0
        for part in column.chunks:
            made[start : start + len(part), place] = _numbers(part) if numbers else _objects(part)
            start += len(part)
    copies.note(f"{len(columns)} columns of {len(table)} rows", "__array__ of a table", made.nbytes)
    return made if wanted is None or wanted == found else _converted(made, wanted, table)


def _check_exact(column: "Column", found: "Any") -> None:
    """Refuse integers that the floats which all columns have in common do not hold."""
    first = 0
    for part in column.chunks:
        wrong = inexact(Anatomy(part)) if column.dtype.kind in ("int", "uint") else -1
        if wrong >= 0:
            raise UnsupportedType.build(
                f"element {first + wrong} of {refusals.named(column)} is beyond 2**53, and {found}, which the columns "
                "have in common, does not hold it exactly",
                wanted=str(found),
                came=refusals.came(column),
                remedy=[
                    "numpy.asarray(x, dtype=object): the values as Python objects",
                    'lend.to(x, "numpy"): an array of each column',
                    f'numpy.asarray(x, dtype="{found}"), which rounds',
                ],
            )
        first += len(part)


def _block(columns: "Sequence[Column]") -> "Any":
    """The columns as they lie in one piece of memory; None where they lie otherwise, or have nulls told beside them."""
    import numpy as np

    if not columns or not all(map(_lies_plain, columns)):
        return None
    lines = [column.view() for column in columns]
    view = lines[0].reshape(-1, 1) if len(lines) == 1 else beside(lines)
    return None if view is None else np.asarray(view)


def _lies_plain(column: "Column") -> bool:
    dtype = column.dtype
    return (
        _is_number(column)
        and len(column.chunks) == 1
        and column.device.is_host
        and dtype.lanes == 1
        and not dtype.shares_bytes
        and dtype.is_native
        and column.nulls.kind in ("none", "nan")
    )


def _converted(made: "Any", wanted: "Any", table: "Table") -> "Any":
    """As NumPy makes it of values, or refused where it makes none."""
    try:
        return made.astype(wanted)
    except (TypeError, ValueError, OverflowError) as error:
        raise UnsupportedType.build(
            f"NumPy makes no {wanted} of these values: {error!s:.200}",
            wanted=str(wanted),
            came=repr(table),
            remedy="no dtype=, for what they are; or a selection without them: table.select([...])",
        ) from None


def _is_number(column: "Column") -> bool:
    dtype = column.dtype
    return dtype.kind in _NUMBERS and dtype.bits <= (128 if dtype.kind == "complex" else 64)


def _has_lost(column: "Column") -> bool:
    """Whether an element is null, and no value of its own says so."""
    return any(part.nulls.kind not in ("none", "nan") and part.null_count for part in column.chunks)


def _dtype(column: "Column") -> "Any":
    """The dtype of NumPy's for a column of numbers: of floats where integers or bools are null."""
    import numpy as np

    kind = column.dtype.kind
    if kind in ("bool", "int", "uint") and _has_lost(column):
        return np.dtype("float64")
    return np.dtype("bool" if kind == "bool" else column.dtype.newbyteorder("native").name)


def _numbers(column: "Column") -> "Any":
    """A chunk of numbers as an ndarray, with NaN for null."""
    import numpy as np

    if not _has_lost(column):
        return np.asarray(forms.filled(forms.unpacked(column).made(), "nan", merge=True).made())
    if column.dtype.kind == "bool":
        return np.array([np.nan if value is None else float(value) for value in column.tolist()])
    try:
        return np.asarray(forms.filled(column, "nan", merge=True).made())
    except LendError as error:
        from lend.tables.refusals import add_name

        add_name(error, column.name)
        raise


def _objects(column: "Column") -> "Any":
    """A chunk as Python objects, None for null."""
    import numpy as np

    found: Any = np.empty(len(column), object)
    found[:] = column.tolist()
    return found
