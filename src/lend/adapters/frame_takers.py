"""Libraries that take whole columns and tables by Arrow's interface: what each makes of a dtype, and what it refuses.

Every refusal here is known to be a panic, an unrelated error or a wrong value in the library itself: it is said before
the library is called. Versions tried: pyarrow 26.0, polars 2.1, arro3 0.9, duckdb 2.0, nanoarrow 0.9.
"""

import sys

from lend.adapters import alignment, polars_giving
from lend.adapters.polars_giving import check_names, unique
from lend.adapters.verdicts import OTHERS, SHARED, TO_COME, Verdict, format_of, numbered, parts_of, refused
from lend.columns.joining import nothing
from lend.errors import UnsupportedLayout
from lend.protocols.classes import shows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from lend.columns.column import Column
    from lend.dtypes import DType
    from lend.tables.table import Table

READER = "pyarrow.lib.RecordBatchReader"
ONE_CHUNK = ("pyarrow.lib.RecordBatch", "pyarrow.lib.Array", "arro3.core._core.RecordBatch", "arro3.core._core.Array")


class Taker:
    """A library that columns and tables are handed to.

    Attributes
    ----------
    name, package : str
        The target's name, which is the module to import, and what to install.
    column, table : str or None
        What it makes of a Column and of a Table; None where it takes none.
    judge : callable
        `judge(column, rows)` returns its Verdict, or raises what it refuses; `rows` is None if they did not come yet.
        It gets the options that are `judged`, too.
    give_column, give_table : callable
        Make it, of what was judged; options are keywords.
    options : tuple of str
        Keywords of `lend.to` that it knows.
    classes : dict of str to str
        Full names of its classes, and which of "column" and "table" each is.
    unique : bool
        True where two columns of one name are refused.
    arrow : bool
        True where columns are given as Arrow data.
    bare : bool
        False where a table without a column is refused.
    renames : callable or None
        Makes of the names of a table those that it will have.
    """

    __slots__ = (
        *("arrow", "classes", "column", "give_column", "give_table", "judge", "judged", "name", "options", "package"),
        *("bare", "renames", "table", "unique"),
    )

    def __init__(
        self,
        name: str,
        package: str,
        column: "str | None",
        table: "str | None",
        judge: "Callable[..., Verdict]",
        give_column: "Callable[..., Any]",
        give_table: "Callable[..., Any]",
        *,
        classes: "dict[str, str]",
        options: "tuple[str, ...]" = (),
        judged: "tuple[str, ...]" = (),
        unique: bool = False,
        arrow: bool = True,
        bare: bool = True,
        renames: "Callable[[Sequence[str]], list[str]] | None" = None,
    ) -> None:
        self.renames, self.bare = renames, bare
        self.judged, self.arrow = judged, arrow
        self.name, self.package, self.column, self.table = name, package, column, table
        self.judge, self.give_column, self.give_table = judge, give_column, give_table
        self.classes, self.options, self.unique = classes, options, unique


def _vendor(column: "Column", library: str) -> None:
    """Formats of one library alone."""
    for dtype in parts_of(column.dtype):
        if dtype.name in ("int128", "uint128") and library != "polars":
            raise refused(column, library, "integer of 128 bits", 'lend.to(x, "polars"), which has them')


# -- pyarrow, arro3 ------------------------------------------------------------------------------------------------


def _shared_by(library: str) -> "Callable[..., Verdict]":
    def judge(column: "Column", rows: "int | None") -> Verdict:
        _vendor(column, library)
        if library == "pyarrow":
            return Verdict()
        why = alignment.why(column, library, 16) if rows else None
        ordered = any(dtype.dictionary is not None and dtype.ordered for dtype in parts_of(column.dtype))
        becomes = "a dictionary that does not say that it is ordered" if ordered else None
        return Verdict(SHARED, "", becomes) if why is None else Verdict(None, why, becomes)

    return judge


def _one(column: "Column") -> "Column":
    """The one chunk that has rows; a column without rows where none has."""
    return next((chunk for chunk in column.chunks if len(chunk)), None) or nothing(column)


# extension types that pandas tells pyarrow of, once they are asked for
_OF_PANDAS = ("pandas.interval", "pandas.period")


def told_to_pyarrow(dtype: "DType") -> bool:
    """Whether pyarrow knows all extension types in a dtype, or will by what pandas tells it."""
    names = [part.extension[0] for part in parts_of(dtype) if part.extension is not None]
    known = _OF_PANDAS if "pandas" in sys.modules else ()
    return all(name.startswith("arrow.") or name in known for name in names)


def _tell_pyarrow(columns: "Iterable[Column]") -> None:
    """Let pandas tell pyarrow of its extension types, as it does when it makes such arrays, so that they keep them."""
    if "pandas" not in sys.modules:
        return
    if any(part.extension is not None and part.extension[0] in _OF_PANDAS
           for column in columns for part in parts_of(column.dtype)):  # fmt: skip
        try:  # noqa: SIM105 - contextlib is not needed for this alone
            __import__("pandas.core.arrays.arrow.extension_types")
        except ImportError:
            pass  # another release of pandas: the name is lost


def _pyarrow_column(column: "Column", form: "str | None" = None) -> "Any":
    import pyarrow as pa

    _tell_pyarrow([column])
    if form == "pyarrow.lib.Array":
        return pa.array(_one(column))
    return pa.chunked_array(column) if form is not None or len(column.chunks) != 1 else pa.array(column)


def _pyarrow_table(table: "Table", form: "str | None" = None) -> "Any":
    import pyarrow as pa

    if form == READER:
        return pa.RecordBatchReader.from_stream(table)
    _tell_pyarrow(table.columns)
    made = pa.table(table)
    if form != "pyarrow.lib.RecordBatch":
        return made
    batches = made.to_batches()  # one, or none of no rows
    if batches:
        return batches[0]
    # an array of no elements by `pa.array([], type)` is not to be had of each type: of unions, of lists of extensions
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in made.schema], schema=made.schema)


def _arro3_column(column: "Column", form: "str | None" = None) -> "Any":
    from arro3 import core

    if form is not None and form.endswith(".Array"):
        return core.Array.from_arrow(_one(column))
    one = form is None and len(column.chunks) == 1
    return core.Array.from_arrow(column) if one else core.ChunkedArray.from_arrow(column)


def _arro3_table(table: "Table", form: "str | None" = None) -> "Any":
    from arro3 import core

    return getattr(core, "Table" if form is None else form.rpartition(".")[2]).from_arrow(table)


# -- duckdb --------------------------------------------------------------------------------------------------------


# formats of Arrow -> what there is of them in duckdb
_OF_DUCKDB = {
    "tdm": "DATE",
    "tts": "TIME, of microseconds",
    "ttm": "TIME, of microseconds",
    "+r": "the values of its runs",
}


def _judge_duckdb(column: "Column", rows: "int | None") -> Verdict:
    becomes = None
    _vendor(column, "duckdb")
    for dtype in parts_of(column.dtype):
        format = format_of(dtype)
        if format == "e":
            raise refused(column, "duckdb", "float of 16 bits", 'lend.to(lend.column(x), "pyarrow").cast("float32")')
        if format.startswith("d:") and format.endswith(",256"):
            raise refused(
                column, "duckdb", "decimal of 256 bits", "of 128 bits: pyarrow.array(lend.column(x).tolist())"
            )
        if format.startswith("d:") and ",-" in format:
            what = "decimal of a negative scale"
            raise refused(column, "duckdb", what, "of a scale of 0: pyarrow.array(lend.column(x).tolist())")
        if format.startswith("+ud:"):
            raise refused(column, "duckdb", "dense union", "a sparse one, which it has")
        if format == "tDn":
            what = "interval of nanoseconds (it drops them)"
            raise refused(column, "duckdb", what, 'lend.to(lend.column(x), "pyarrow").cast("duration[us]")')
        if format == "tin":
            becomes = "INTERVAL, of whole microseconds"
            if _below_a_microsecond(column):
                what = "interval of nanoseconds (it drops them)"
                raise refused(column, "duckdb", what, ("intervals of whole microseconds", OTHERS))
        elif dtype.zone is not None:
            becomes = "TIMESTAMP WITH TIME ZONE, in the zone of the connection"
        elif format.startswith("tD"):
            becomes = "INTERVAL"
        elif format in _OF_DUCKDB:
            becomes = _OF_DUCKDB[format]
        elif format.startswith("w:"):
            becomes = "BLOB, of any width"
        elif dtype.dictionary is not None:
            becomes = "the values, decoded"
        elif dtype.kind == "extension":
            becomes = f"{dtype.value_type}: the name of the extension type is lost"
    if rows == 0:
        return Verdict(SHARED, "", becomes)
    return Verdict(None, "duckdb copies what it reads, when a query runs", becomes)


def _below_a_microsecond(column: "Column") -> bool:
    """Whether an interval of a column, or of what it is made of, has nanoseconds that are no whole microseconds."""
    for chunk in column.chunks:
        if format_of(chunk.dtype) == "tin":
            if any(value is not None and value[2] % 1000 for value in chunk.tolist()):
                return True
        elif any(map(_below_a_microsecond, (*chunk.children, *filter(None, [chunk.dictionary])))):
            return True
    return False


def _duckdb_names(names: "Sequence[str]") -> "list[str]":
    """As duckdb has them: none without a letter, and none that differs from one before by the case alone."""
    return numbered([name or f"v{place}" for place, name in enumerate(names)], _folded, set())


def _folded(name: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


def _duckdb_relation(table: "Table", form: "str | None" = None, connection: "Any" = None) -> "Any":
    import duckdb
    import pyarrow as pa  # noqa: F401 - duckdb reads streams through it

    if connection is not None and not shows(type(connection), "from_arrow"):
        raise TypeError(f"connection is one of duckdb's (duckdb.connect()), not {connection!r:.60}")
    return duckdb.from_arrow(table) if connection is None else connection.from_arrow(table)


def _no_column(column: "Column", form: "str | None" = None) -> "Any":
    raise UnsupportedLayout.build(
        "duckdb takes tables, not columns", remedy='lend.to({"name": lend.column(x)}, "duckdb")'
    )


# -- pandas --------------------------------------------------------------------------------------------------------


def _judge_pandas(
    column: "Column", rows: "int | None", nulls: "Any" = None, copy: bool = False, **asked: "Any"
) -> Verdict:
    from lend.adapters import pandas_giving

    _vendor(column, "pandas")
    giving = pandas_giving.plan(column, nulls=nulls, copy=copy, **asked)
    if rows is None:
        return Verdict(None, TO_COME, who="lend")
    why, theirs = "; ".join(giving.why), "; ".join(giving.theirs)
    zone = getattr(column.dtype, "zone", None) if asked.get("zone") else None
    becomes = None if zone is None else f"times of UTC: the time zone {zone!r} is dropped"
    if theirs and not giving.nbytes:
        return Verdict(None, theirs, becomes, kept=giving.kept)
    return Verdict(giving.nbytes, why, becomes, "lend", theirs, giving.kept)


def _pandas_series(column: "Column", form: "str | None" = None, *, index: "str | None" = None, **asked: "Any") -> "Any":
    from lend.adapters import pandas_giving

    made = pandas_giving.give_series(column, **asked)  # no index is that of a column
    if form != "pandas.Index":
        return made
    import pandas as pd

    return pd.Index(made, copy=False)


def _pandas_frame(table: "Table", form: "str | None" = None, **asked: "Any") -> "Any":
    from lend.adapters import pandas_giving

    return pandas_giving.give_frame(table, **asked)


TAKERS = {
    "pyarrow": Taker(
        "pyarrow", "pyarrow", "pyarrow.Array", "pyarrow.Table", _shared_by("pyarrow"), _pyarrow_column, _pyarrow_table,
        classes={
            "pyarrow.lib.Array": "column", "pyarrow.lib.ChunkedArray": "column",
            "pyarrow.lib.Table": "table", "pyarrow.lib.RecordBatch": "table", READER: "table",
        },
        options=("bool8",),
    ),
    "polars": Taker(
        "polars", "polars", "polars.Series", "polars.DataFrame",
        polars_giving.judge, polars_giving.give_series, polars_giving.give_frame,
        classes={
            "polars.series.series.Series": "column", "polars.dataframe.frame.DataFrame": "table",
            "polars.lazyframe.frame.LazyFrame": "table",
        },
        options=("bool8", "names"), unique=True,
    ),
    "pandas": Taker(
        "pandas", "pandas", "pandas.Series", "pandas.DataFrame", _judge_pandas, _pandas_series, _pandas_frame,
        classes={"pandas.Series": "column", "pandas.DataFrame": "table", "pandas.Index": "column"},
        options=("dtype_backend", "index", "zone"), judged=("dtype_backend", "zone"), arrow=False,
    ),
    "arro3": Taker(
        "arro3", "arro3-core", "arro3.core.Array", "arro3.core.Table", _shared_by("arro3"), _arro3_column, _arro3_table,
        classes={
            "arro3.core._core.Array": "column", "arro3.core._core.ChunkedArray": "column",
            "arro3.core._core.Table": "table", "arro3.core._core.RecordBatch": "table",
            "arro3.core._core.RecordBatchReader": "table",
        },
        options=("bool8",),
    ),
    "duckdb": Taker(
        "duckdb", "duckdb", None, "duckdb.DuckDBPyRelation", _judge_duckdb, _no_column, _duckdb_relation,
        classes={"duckdb._relation.DuckDBPyRelation": "table"}, options=("bool8", "connection"),
        bare=False, renames=_duckdb_names,
    ),
}  # fmt: skip

__all__ = ["TAKERS", "Taker", "check_names", "unique"]
