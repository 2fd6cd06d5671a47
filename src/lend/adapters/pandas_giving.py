"""Columns and tables to pandas: planned first, with the bytes that are written and why, then made.

Numbers and times are shared as NumPy's arrays, numbers with nulls as pandas' masked arrays, the rest as Arrow's.
What pandas gets is read-only for it: it copies before it writes.
"""

from lend._core import copies
from lend.adapters import numpy_masked, pandas_categories, pandas_index, pandas_nested
from lend.adapters import pandas_kinds as kinds
from lend.columns import converting, forms, inside, refusals
from lend.columns.building import of_chunks
from lend.columns.drafts import producers
from lend.columns.isolating import isolated
from lend.columns.run_finding import run_of
from lend.columns.run_masks import mask_of, no_mask
from lend.columns.runs import BESIDE, Wish
from lend.errors import UnsupportedType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lend.columns.column import Column
    from lend.columns.drafts import Draft
    from lend.columns.runs import Run

BACKENDS = ("auto", "numpy", "numpy_nullable", "pyarrow")
_NUMBERS = ("int", "uint", "float", "complex", "bool")
_TEXTS = ("utf8", "large_utf8", "utf8_view")
_FILLED = 'lend.to(x, "pandas", nulls=None): its nulls as they are, and fillna of pandas'
_UNITS = ("s", "ms", "us", "ns")


class Giving:
    """How one column goes to pandas.

    Attributes
    ----------
    what : str
        The kind of array it becomes there.
    nbytes : int
        Bytes that lend writes on the way.
    why, theirs : list of str
        Why lend writes, and what another library writes, of which it alone knows how much.
    kept : set of type
        The classes of those whose memory is in what is made.
    """

    values: "Callable[[], Any]"

    def __init__(self, column: "Column", what: str) -> None:
        self.column, self.what = column, what
        self.nbytes = 0
        self.why: list[str] = []
        self.theirs: list[str] = []
        self.kept: set[type] = set()

    def wrote(self, nbytes: "int | None", *why: str) -> None:
        """Count what is written, and why; None where another library writes what only it knows."""
        if nbytes != 0:
            reasons = self.theirs if nbytes is None else self.why
            reasons += [reason for reason in why if reason not in reasons]
        self.nbytes += nbytes or 0

    def holds(self, inner: "Giving") -> None:
        """Count what is written for a part of it."""
        self.wrote(inner.nbytes, *inner.why)
        if inner.theirs:
            self.wrote(None, *inner.theirs)
        self.kept |= inner.kept

    def make(self) -> "Any":
        """The Series, under the name of the column."""
        import pandas as pd

        return pd.Series(self.values(), copy=False, name=self.column.name or None)


def plan(
    column: "Column",
    dtype_backend: str = "auto",
    nulls: "Any" = None,
    copy: bool = False,
    zone: "str | None" = None,
) -> Giving:
    """How a column will be given.

    `nulls`: None, "nan" (integers as float64 where each is exact), "object", "forbid", or ("fill", value). `copy`: into
    memory of its own, which pandas may write to. `zone`: "drop" leaves a time zone away: times are those of UTC.
    """
    if zone not in (None, "drop"):
        raise ValueError(f"zone is 'drop' or None, not {zone!r:.60}")
    if zone and getattr(column.dtype, "zone", None):
        column = column.reinterpret(f"datetime64[{column.dtype.unit}]")
    if dtype_backend not in BACKENDS:
        raise ValueError(f"dtype_backend is one of {', '.join(BACKENDS)}, not {dtype_backend!r:.60}")
    if nulls in ("mask", "struct"):
        raise _no_policy(column, nulls)
    if nulls == "forbid":
        inside.forbid_nulls(column, Wish("pandas", nulls))
    if nulls not in (None, "forbid"):
        if dtype_backend in ("pyarrow", "numpy_nullable"):
            raise _two_ways(column, nulls, dtype_backend)
        if nulls == "object":
            return _objects(column)
    kind = column.dtype.kind
    in_numpy = kind in ("datetime", "timedelta") and column.dtype.unit in _UNITS
    if isinstance(nulls, tuple) and column.null_count and kind not in _NUMBERS and not in_numpy:
        raise _no_nulls(column, f"lend puts no value under those of {column.dtype!s:.100}", _FILLED)
    from lend.adapters import text

    if text.is_padded(column):
        return _strings(column, dtype_backend)
    if dtype_backend == "pyarrow" and kind != "text":
        return _arrow(column, copy)
    if kind == "dictionary":
        in_arrow = column.metadata.get(b"pandas.dtype", b"").startswith(b"dictionary") and dtype_backend == "auto"
        if in_arrow or not pandas_categories.fits(column):
            return _arrow(column, copy)
        return pandas_categories.give(Giving(column, "category"), copy, plan)
    if kind == "text":
        return _strings(column, dtype_backend)
    if kind in _TEXTS:
        return _text(column, dtype_backend, copy)
    if kind in _NUMBERS and (column.dtype.bits <= 64 or kind == "complex"):
        return _numbers(column, dtype_backend, nulls, copy)
    if in_numpy and column.dtype.multiplier in (None, 1):
        return _times(column, nulls, copy)
    extension = column.dtype.extension
    if extension is not None and extension[0] in ("pandas.period", "pandas.interval"):
        made = _period(column, copy) if extension[0] == "pandas.period" else _interval(column, copy)
        if made is not None:
            return made
    return _arrow(column, copy)


def give_series(column: "Column", *asked: "Any", **named: "Any") -> "Any":
    """A pandas.Series of a column, which is asked for as `plan` has it."""
    return plan(column, *asked, **named).make()


def _two_ways(column: "Column", nulls: "Any", backend: str) -> UnsupportedType:
    return UnsupportedType.build(
        f"nulls={nulls!r:.60} asks for arrays of NumPy's, and dtype_backend={backend!r} for others, which have nulls",
        came=refusals.came(column),
        remedy='dtype_backend="numpy", or no nulls=',
    )


def _no_policy(column: "Column", nulls: str) -> UnsupportedType:
    return UnsupportedType.build(
        f"nulls={nulls!r} is no way of pandas to show nulls",
        came=refusals.came(column),
        remedy='dtype_backend="numpy_nullable": a mask beside the values',
    )


def _objects(column: "Column") -> Giving:
    """Python objects, None where they are null."""
    values, came = column.tolist(), refusals.came(column)
    giving = Giving(column, "object")
    giving.wrote(8 * len(values), "values as Python objects")

    def made() -> "Any":
        import pandas as pd

        array = numpy_masked.objects([values], (len(values),))
        if values:
            copies.note(came, "values as Python objects", 8 * len(values))
        return pd.Series(array, dtype=object, copy=False)  # else pandas looks for strings in it

    giving.values = made
    return giving


# -- numbers -----------------------------------------------------------------------------------------------------------


def _own_nulls(column: "Column") -> int:
    return sum(map(forms.nulls_in, column.chunks))


def _ran(giving: Giving, run: "Run", copy: bool, name: "str | None" = None) -> "Callable[[], Any]":
    """What makes an ndarray of a run, which is read-only where it may be shared."""
    giving.wrote(run.nbytes, *run.reasons)
    if run.view is not None and run.view.nbytes:
        giving.kept.add(type(run.view.owner.producer))

    def made() -> "Any":
        import numpy as np

        view = run.make()
        numbers = _NUMBERED.get(view.dtype.kind)
        array = np.asarray(view if numbers is None else view.reinterpret(numbers))
        array = array if numbers is None else array.view(name or run.dtype.__numpy_dtype__)
        if not copy:
            array.flags.writeable = False
        return array

    return made


_NUMBERED = {"datetime": "int64", "timedelta": "int64"}


def _numbers(column: "Column", backend: str, nulls: "Any", copy: bool) -> Giving:
    count, kind = _own_nulls(column), column.dtype.kind
    says_nan = all(part.nulls.kind == "nan" for part in column.chunks) and bool(column.chunks)
    masked = backend == "numpy_nullable" or (
        backend == "auto" and bool(count) and not says_nan and nulls in (None, "forbid")
    )
    if kind == "complex" or (kind == "float" and column.dtype.bits == 16):
        masked = False  # pandas has no masked array of these
    giving = Giving(column, "masked" if masked else "numpy")
    if masked:
        wish = Wish("pandas", BESIDE, native=True, copy=copy)
        run = run_of(column, wish)
        values = _ran(giving, run, copy)
        mask = _ran(giving, mask_of(column, run.shape, wish) or no_mask(column), copy)
        giving.values = lambda: _masked_array(kind, values(), mask())
        return giving
    if count and nulls is None and not says_nan:
        if kind not in ("float", "bfloat"):
            raise _no_nulls(column, f"pandas' {column.dtype} of NumPy has no null", 'dtype_backend="numpy_nullable"')
        nulls = "nan"
    giving.values = _ran(giving, run_of(column, Wish("pandas", nulls, native=True, copy=copy)), copy)
    return giving


def _masked_array(kind: str, values: "Any", mask: "Any") -> "Any":
    from pandas import arrays

    made = {"bool": arrays.BooleanArray, "float": arrays.FloatingArray}.get(kind, arrays.IntegerArray)
    return made(values, mask)


def _no_nulls(column: "Column", why: str, remedy: str) -> UnsupportedType:
    return UnsupportedType.build(
        f"{refusals.named(column)} has nulls, and {why}", came=refusals.came(column), remedy=remedy
    )


# -- times -------------------------------------------------------------------------------------------------------------


def _times(column: "Column", nulls: "Any", copy: bool) -> Giving:
    """Times as NumPy's, or of a zone as int64, which pandas reads as UTC and shares."""
    zone = getattr(column.dtype, "zone", None)
    giving = Giving(column, "times")
    target: Any = _zone(column, zone) if zone else None
    wish = Wish("pandas", nulls, numpy=True, drops_zone=True, native=True, copy=copy)
    values = _ran(giving, run_of(column, wish), copy, "int64" if zone else None)

    def made() -> "Any":
        from pandas import Series

        return Series(values(), dtype=target, copy=False) if zone else values()

    giving.values = made
    return giving


def _zone(column: "Column", zone: str) -> "Any":
    from pandas import DatetimeTZDtype

    try:
        return DatetimeTZDtype(column.dtype.unit, zone)
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        raise UnsupportedType.from_producer(
            error,
            f"pandas has no time zone {zone!r}, in which {refusals.named(column)} is",
            door="pandas.DatetimeTZDtype",
            came=refusals.came(column),
            remedy='dtype_backend="pyarrow", which keeps the zone as text; or zone="drop", times of UTC without a zone',
        ) from error


# -- text --------------------------------------------------------------------------------------------------------------


def _text(column: "Column", backend: str, copy: bool) -> Giving:
    """Text as pandas keeps it in Arrow's arrays, with offsets of 64 bits; chunks stay."""
    pa = _pyarrow(column)
    nan = column.metadata.get(b"pandas.dtype") != b"string" and backend != "numpy_nullable"
    giving = Giving(column, "str" if nan else "string")
    views = column.dtype.kind == "utf8_view"
    # of views pyarrow writes all anew but the bits of the nulls
    drafts = [_arrow_draft(part, copy and (not views or part.buffer_facts(0) is not None)) for part in column.chunks]
    for part, arrow in zip(column.chunks, drafts, strict=True):
        giving.wrote(arrow.nbytes, *arrow.reasons)
        giving.kept |= producers(arrow)
        if part.dtype.kind == "utf8" and len(part):
            giving.wrote(8 * (len(part) + 1 + (_lead(part) if arrow.same else 0)), "offsets of 32 bits")
    if views:
        giving.wrote(None, "pyarrow makes offsets of views")

    def made() -> "Any":
        import numpy as np
        import pandas as pd

        found = of_chunks([arrow.make() for arrow in drafts]) if drafts else column
        if views:
            found.verify(full=True)  # pyarrow does not look where a view leads before it follows it
        array = pa.chunked_array(found if views else converting.widened(found))
        array = array.cast(pa.large_string()) if array.type != pa.large_string() else array
        return pd.arrays.ArrowStringArray(array, dtype=pd.StringDtype("pyarrow", na_value=np.nan if nan else pd.NA))

    giving.values = made
    return giving


def _strings(column: "Column", backend: str) -> Giving:
    """Text of NumPy's, which pyarrow makes anew."""
    from lend.adapters import text

    _pyarrow(column)
    is_text = column.dtype.kind == "text"
    giving = Giving(column, "str" if is_text else "arrow")
    made = "text of NumPy's strings" if is_text else "binary of NumPy's bytes, without padding"
    giving.wrote(None if len(column) else 0, f"pyarrow makes {made}")
    giving.values = lambda: plan(text.column_of(column, "pyarrow"), backend).values()
    return giving


def _lead(column: "Column") -> int:
    """Elements before a column whose offsets are written, too, as its bits are kept from a byte on."""
    return 0 if column.buffer_facts(0) is None else column.offset % 8


# -- the rest ----------------------------------------------------------------------------------------------------------


def _pyarrow(column: "Column") -> "Any":
    found = kinds.imported("pyarrow")
    if found is None:
        raise UnsupportedType.build(
            f"pandas keeps {column.dtype!s:.100}, of which {refusals.named(column)} is, in Arrow's arrays, and pyarrow "
            "is not installed",
            came=refusals.came(column),
            remedy="install pyarrow",
        )
    return found


def _arrow_draft(column: "Column", copy: bool) -> "Draft":
    draft = forms.arrow_form(column)
    return isolated(draft) if copy else draft


def _arrow(column: "Column", copy: bool) -> Giving:
    """What pandas keeps in Arrow's arrays as it lies; chunks stay."""
    pa = _pyarrow(column)
    draft = _arrow_draft(column, copy)

    def made() -> "Any":
        import pandas as pd

        return pd.arrays.ArrowExtensionArray(pa.chunked_array(draft.make()))

    giving = Giving(column, "arrow")
    giving.wrote(draft.nbytes, *draft.reasons)
    giving.kept |= producers(draft)
    giving.values = made
    return giving


def _said(column: "Column", key: str) -> "Any":
    """What the metadata of an extension type of pandas' own says; None where it says nothing that can be read."""
    from json import loads

    try:
        found = loads((column.dtype.extension or ("", None))[1] or b"{}")
    except ValueError:
        return None
    return found.get(key) if isinstance(found, dict) else None


def _period(column: "Column", copy: bool) -> "Giving | None":
    """Periods as pandas has them; None where these are not told as pandas tells them."""
    import pandas as pd

    giving = Giving(column, "period")
    least = -(2**63)
    said = all(part.nulls.kind == "sentinel" and part.nulls.value == least for part in column.chunks)
    if column.dtype.value_type != "int64" or (not said and _own_nulls(column)):
        return None
    try:
        dtype = pd.PeriodDtype(_said(column, "freq"))
    except (AttributeError, TypeError, ValueError):
        return None
    values = _ran(giving, run_of(column, Wish("pandas", BESIDE, storage=True, native=True, copy=copy)), copy)
    giving.values = lambda: pd.arrays.PeriodArray(values(), dtype=dtype)
    return giving


def _interval(column: "Column", copy: bool) -> "Giving | None":
    """The same of intervals."""
    closed = _said(column, "closed")
    names = tuple(name for name, _ in column.dtype.children)
    if names != ("left", "right") or closed not in ("left", "right", "both", "neither"):
        return None
    if len(column.chunks) != 1:
        return None
    start, stop = column.offset, column.offset + len(column)
    sides = [child[start:stop] for child in column.children]
    if _own_nulls(column) and not pandas_nested.tells_nulls(sides[0], column):
        return None
    ends = [plan(side, copy=copy) for side in sides]

    def made() -> "Any":
        import pandas as pd

        left, right = (pd.Index(end.make()) for end in ends)
        return pd.arrays.IntervalArray.from_arrays(left, right, closed=closed)

    giving = Giving(column, "interval")
    for end in ends:
        giving.holds(end)
    giving.values = made
    return giving


# -- tables ------------------------------------------------------------------------------------------------------------


def give_frame(
    table: "Any",
    dtype_backend: str = "auto",
    index: "str | None" = None,
    nulls: "Any" = None,
    copy: bool = False,
    zone: "str | None" = None,
) -> "Any":
    """A pandas.DataFrame of a table; an index that its metadata tells of is one again, unless `index` says otherwise.

    "column" leaves it among the columns, "drop" leaves it out.
    """
    import pandas as pd

    if index not in pandas_index.MODES:
        raise ValueError(f'index is None, "column", "drop" or "metadata", not {index!r:.60}')
    said = pandas_index.told(table.metadata)
    names, rows = list(table.names), len(table)
    ways = [nulls.get(name) if type(nulls) is dict else nulls for name in names]
    givings = [plan(column, dtype_backend, way, copy, zone) for column, way in zip(table.columns, ways, strict=True)]
    series = [giving.make() for giving in givings]
    places = pandas_index.places(said, names, index)
    stays = [place for place in range(len(names)) if place not in places]
    frame = pd.DataFrame({place: series[place] for place in stays}, index=pd.RangeIndex(rows), copy=False)
    if index != "drop":
        found = _index([series[place].array for place in places], said["index"]) if places else _range(said, rows)
        if found is not None:
            frame.index = found
    labels = pandas_index.labels_of(said, [names[place] for place in stays])
    tuples = bool(labels) and all(isinstance(label, tuple) for label in labels)
    kind = object if None in labels else None  # else it would be NaN, and integers beside it floats
    frame.columns = pd.Index(labels, dtype=kind, tupleize_cols=tuples)
    over = said.get("names", [])
    if len(over) == frame.columns.nlevels:
        frame.columns.names = over
    return frame


def _index(levels: "list[Any]", told: "list[Any]") -> "Any":
    import pandas as pd

    names = [label for _, label in told]
    if len(levels) == 1:
        return pd.Index(levels[0], name=names[0], copy=False)
    return pd.MultiIndex.from_arrays(levels, names=names)


def _range(said: "dict[str, Any]", rows: int) -> "Any":
    import pandas as pd

    if "range" not in said:
        return None
    start, stop, step, name = said["range"]
    found = pd.RangeIndex(start, stop, step, name=name)
    return found if len(found) == rows else None
