"""Libraries that take whole columns and tables by Arrow's interface: what each makes of a dtype, and what it refuses.

Every refusal here is known to be a panic, an unrelated error or a wrong value in the library itself: it is said before
the library is called. Versions tried: pyarrow 26.0, polars 2.1, arro3 0.9, duckdb 2.0, nanoarrow 0.9.
"""

import sys

from lend.adapters import alignment
from lend.adapters.verdicts import SHARED, TO_COME, Verdict, format_of, numbered, parts_of, refused
from lend.columns import roles
from lend.columns.building import of_chunks
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


# -- polars --------------------------------------------------------------------------------------------------------

_POLARS_HAS_NO = {
    "tin": "interval of months, days and nanoseconds", "tiM": "interval of months", "tiD": "interval of days and time",
    "+r": "run-end encoded column", "+vl": "list of offsets and sizes", "+vL": "list of offsets and sizes",
}  # fmt: skip
OTHERS = "the other columns: lend.table(x, columns=[...])"
_INTERVALS = (
    "its parts as Python values, lend.column(x).tolist(); of duckdb's numbers in its place, epoch_us(...) in the query",
    OTHERS,
)  # fmt: skip
# of a nested type nothing but the whole is made anew
_INSTEAD = {
    "tin": _INTERVALS, "tiM": _INTERVALS, "tiD": _INTERVALS,
    "+r": ('pyarrow.compute.run_end_decode(lend.to(lend.column(x), "pyarrow"))', OTHERS),
}  # fmt: skip


def _judge_polars(column: "Column", rows: "int | None") -> Verdict:
    copies, becomes = [], None
    if roles.is_bool8(column.metadata):
        becomes = "ext[arrow.bool8], stored as Int8"
    elif _holds_bool8(column):
        becomes = "ext[arrow.bool8], stored as Int8, where it has bools of one byte"
    for dtype in parts_of(column.dtype):
        format = format_of(dtype)
        what = _POLARS_HAS_NO.get(format) or ("union" if format[:2] == "+u" else None)
        if format.startswith("d:") and format.endswith(",256"):
            what = "decimal of 256 bits"
        if format.startswith("d:") and ",-" in format:
            what = "decimal of a negative scale"
        if format == "+w:0":
            what = "list of 0 elements each (it panics of one)"
        if what is not None:
            anew = ("an array of its values: pyarrow.array(lend.column(x).tolist())", OTHERS)
            if what == "union":
                anew = ("its parts: lend.column(x).children", OTHERS)
            raise refused(column, "polars", what, _INSTEAD.get(format, anew) if dtype is column.dtype else anew)
        if dtype.zone is not None and (dtype.zone == "Z" or dtype.zone[:1] in "+-"):
            raise refused(column, "polars", f"time zone {dtype.zone!r}", "the name of a region, such as 'Etc/GMT-2'")
        if format in ("u", "U", "z", "Z"):
            copies.append("polars keeps text and bytes in views, and makes them of offsets")
        elif dtype.dictionary is not None:
            copies.append("polars makes its categories anew")
            if format_of(dtype.dictionary) not in ("u", "U", "vu"):
                becomes = "its values, decoded: polars has categories of text alone"
            elif dtype.ordered:
                becomes = "Categorical, without the order of its categories"
        elif format in ("+l", "+m"):
            copies.append("polars has lists with offsets of 64 bits, and widens these")
        elif format in ("tts", "ttm", "ttu"):
            copies.append("polars has times of nanoseconds alone")
            becomes = "Time"
        elif format == "tdm" or format.startswith("tss:"):
            becomes = "Datetime(ms)"
            copies.append(f"polars makes Datetime(ms) of {dtype}")
        elif format == "tDs":
            becomes = "Duration(ms)"
            copies.append("polars makes Duration(ms) of seconds")
        elif format.startswith("w:"):
            copies.append("polars has bytes in views, and makes them of these")
            becomes = "Binary"
        elif format.startswith("d:") and format.count(",") == 2:
            copies.append("polars has decimals of 128 bits alone")
            becomes = "Decimal"
    if not copies and rows:
        why = alignment.why(column, "polars", 4)
        copies += [] if why is None else [why]
    return Verdict(None, copies[0], becomes) if copies and rows != 0 else Verdict(SHARED, "", becomes)


def _holds_bool8(column: "Column") -> bool:
    """Whether there are bools of one byte within a column, by that extension type."""
    children = [child for chunk in column.chunks[:1] for child in chunk.children]
    return any(roles.is_bool8(child.metadata) or _holds_bool8(child) for child in children)


def _polars_series(column: "Column", form: "str | None" = None, names: "str | None" = None) -> "Any":
    import polars as pl

    return pl.Series(column.name, _with_rows(column)).alias(column.name)


def _with_rows(column: "Column") -> "Column":
    """Without chunks of no rows: polars panics of lists of one length that begin with such (seen with 2.1)."""
    chunks = column.chunks
    full = [chunk for chunk in chunks if len(chunk)]
    return column if len(full) == len(chunks) or len(chunks) == 1 else of_chunks(full or chunks[:1])


def _polars_frame(table: "Table", form: "str | None" = None, names: "str | None" = None) -> "Any":
    import polars as pl

    # a stream tells a name of its own, which polars prefers to the one it is given; of a list it calls "" column_0
    named = zip(unique(table, names), table, strict=True)
    if table.num_columns:
        made = pl.DataFrame({name: pl.Series(name, _with_rows(column)).alias(name) for name, column in named})
    else:
        made = pl.DataFrame(height=table.num_rows) if table.num_rows else pl.DataFrame()
    return made if form is None or form.endswith(".DataFrame") else made.lazy()


def check_names(names: "Any") -> None:
    """Refuse a value that the option `names` does not have."""
    if names not in (None, "unique"):
        raise ValueError(f'names is "unique", or not given, not {names!r:.40}')


def unique(table: "Table", names: "str | None") -> "list[str]":
    """The names, with a number behind those that were there before, if that was asked for."""
    check_names(names)
    if names is None:
        return list(table.names)
    return numbered(table.names, str, set(table.names))


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
    column: "Column", rows: "int | None", dtype_backend: str = "auto", nulls: "Any" = None, copy: bool = False
) -> Verdict:
    from lend.adapters import pandas_giving

    _vendor(column, "pandas")
    giving = pandas_giving.plan(column, dtype_backend, nulls, copy)
    if rows is None:
        return Verdict(None, TO_COME, who="lend")
    why, theirs = "; ".join(giving.why), "; ".join(giving.theirs)
    return Verdict(giving.nbytes, why, None, "lend", theirs) if giving.nbytes or not theirs else Verdict(None, theirs)


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
        "polars", "polars", "polars.Series", "polars.DataFrame", _judge_polars, _polars_series, _polars_frame,
        classes={
            "polars.series.series.Series": "column", "polars.dataframe.frame.DataFrame": "table",
            "polars.lazyframe.frame.LazyFrame": "table",
        },
        options=("bool8", "names"), unique=True,
    ),
    "pandas": Taker(
        "pandas", "pandas", "pandas.Series", "pandas.DataFrame", _judge_pandas, _pandas_series, _pandas_frame,
        classes={"pandas.Series": "column", "pandas.DataFrame": "table", "pandas.Index": "column"},
        options=("dtype_backend", "index"), judged=("dtype_backend",), arrow=False,
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
