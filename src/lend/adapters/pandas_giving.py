"""Columns and tables to pandas: planned first, with the bytes that are written and why, then made.

Numbers and times are shared as NumPy's arrays, numbers with nulls as pandas' masked arrays, the rest as Arrow's.
What pandas gets is read-only for it: it copies before it writes.
"""

from lend.adapters import pandas_index
from lend.adapters import pandas_kinds as kinds
from lend.columns import converting, forms, joining, recoding, refusals
from lend.columns.anatomy import Anatomy, stored_as
from lend.dtypes.dtype import DType
from lend.errors import LendError, UnsupportedType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lend.columns.column import Column

BACKENDS = ("auto", "numpy", "numpy_nullable", "pyarrow")
_NUMBERS = ("int", "uint", "float", "complex", "bool")
_TEXTS = ("utf8", "large_utf8", "utf8_view")
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
    """

    values: "Callable[[], Any]"

    def __init__(self, column: "Column", what: str) -> None:
        self.column, self.what = column, what
        self.nbytes = 0
        self.why: list[str] = []
        self.theirs: list[str] = []

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

    def make(self) -> "Any":
        """The Series, under the name of the column."""
        import pandas as pd

        return pd.Series(self.values(), copy=False, name=self.column.name or None)


def plan(column: "Column", dtype_backend: str = "auto", nulls: "Any" = None) -> Giving:
    """How a column will be given.

    `nulls`: None, "nan" (integers as float64 where each is exact), "forbid", or ("fill", value).
    """
    if dtype_backend not in BACKENDS:
        raise ValueError(f"dtype_backend is one of {', '.join(BACKENDS)}, not {dtype_backend!r:.60}")
    if nulls == "forbid" and column.null_count:
        raise _no_nulls(column, "nulls are forbidden", 'nulls=None, or ("fill", value)')
    kind = column.dtype.kind
    if isinstance(nulls, tuple) and len(nulls) == 2 and nulls[0] == "fill":
        return _numbers(column, "numpy", nulls)
    if dtype_backend == "pyarrow":
        return _arrow(column)
    if kind == "dictionary":
        return _category(column)
    if kind in _TEXTS:
        return _text(column, dtype_backend)
    if kind in _NUMBERS and (column.dtype.bits <= 64 or kind == "complex"):
        return _numbers(column, dtype_backend, nulls)
    if kind in ("datetime", "timedelta") and column.dtype.unit in _UNITS and column.dtype.multiplier in (None, 1):
        return _times(column)
    extension = column.dtype.extension
    if extension is not None and extension[0] in ("pandas.period", "pandas.interval"):
        made = _period(column) if extension[0] == "pandas.period" else _interval(column)
        if made is not None:
            return made
    return _arrow(column)


def give_series(column: "Column", dtype_backend: str = "auto", nulls: "Any" = None) -> "Any":
    """A pandas.Series of a column."""
    return plan(column, dtype_backend, nulls).make()


# -- numbers -----------------------------------------------------------------------------------------------------------


def _own_nulls(column: "Column") -> int:
    return sum(forms.null_count(Anatomy(part)) for part in column.chunks)


def _joined(giving: Giving, column: "Column") -> "tuple[bool, Any]":
    """Counts what bringing chunks into one writes; and what the result will be."""
    draft = joining.combined(column)
    giving.wrote(draft.nbytes, *draft.reasons)
    several = sum(len(part) > 0 for part in column.chunks) > 1
    return several, draft.nulls if several else None


def _numbers(column: "Column", backend: str, nulls: "Any") -> Giving:
    count, kind, n = _own_nulls(column), column.dtype.kind, len(column)
    says_nan = all(part.nulls.kind == "nan" for part in column.chunks) and bool(column.chunks)
    fill = nulls[1] if isinstance(nulls, tuple) else None
    masked = backend == "numpy_nullable" or (backend == "auto" and bool(count) and not says_nan and nulls is None)
    if kind == "complex" or (kind == "float" and column.dtype.bits == 16):
        masked = False  # pandas has no masked array of these
    if masked:
        return _masked(column)
    giving = Giving(column, "numpy")
    _joined(giving, column)
    width, bits = int(stored_as(column.dtype).itemsize) if kind != "bool" else 1, column.dtype == "bool_packed"
    value = fill if fill is not None else "nan"
    fills = bool(count) and not (says_nan and fill is None)
    if fills and fill is None and not (kind in ("float", "bfloat") or nulls == "nan"):
        raise _no_nulls(column, f"pandas' {column.dtype} of NumPy has no null", 'dtype_backend="numpy_nullable"')
    if fills:
        for part in column.chunks:
            forms.filled(part, value)  # refused now, not when it is written
        giving.wrote(n * (8 if fill is None and kind in ("int", "uint") else width), f"{value} under nulls")
    elif bits:
        giving.wrote(n, "bit-packed")
    elif not column.dtype.is_native:
        giving.wrote(n * width, "byte order")

    def one() -> "Column":
        found = converting.combined(column)
        if fills:
            return converting.filled(found, value)
        if not says_nan:
            found = converting.filled(found, 0)  # there are none: what says so is left out
        if bits:
            return converting.unpacked(found)
        return found if found.dtype.is_native else converting.contiguous(found)

    giving.values = lambda: _array(one(), None)
    return giving


def _masked(column: "Column") -> Giving:
    """Values and a mask of bytes, as pandas' nullable dtypes have them."""
    giving = Giving(column, "masked")
    several, form = _joined(giving, column)
    n, bits = len(column), column.dtype == "bool_packed"
    if several:
        giving.wrote(0 if form == forms.MASK else n, "a mask of bytes")
    else:
        giving.wrote(forms.masked(joining.combined(column).source).nbytes, "a mask of bytes")
    if not column.dtype.is_native:
        giving.wrote(n * int(column.dtype.itemsize), "byte order")
    if bits:
        giving.wrote(n, "bit-packed")

    def one() -> "Column":
        found = converting.masked(converting.combined(column))
        if bits:
            return converting.unpacked(found)
        return found if found.dtype.is_native else converting.contiguous(found)

    giving.values = lambda: _masked_array(one())
    return giving


def _masked_array(column: "Column") -> "Any":
    from pandas import arrays

    kind = column.dtype.kind
    made = {"bool": arrays.BooleanArray, "float": arrays.FloatingArray}.get(kind, arrays.IntegerArray)
    return made(_array(column, None), _mask(column))


def _array(column: "Column", dtype: "str | None") -> "Any":
    """The elements as an ndarray over the same memory, read-only; what lies under nulls is whatever it is."""
    import numpy as np

    parts = Anatomy(column)
    plain = column.dtype if dtype is None else DType(dtype)
    if not parts.n:
        return np.empty(0, plain.__numpy_dtype__)
    buffer = column.buffers["data"]
    array = np.asarray(buffer.view(f"opaque[{parts.width}]", (parts.n,), (parts.step,), parts.at(0) - buffer.ptr))
    made = array.view(plain.__numpy_dtype__)
    made.flags.writeable = False
    return made


def _mask(column: "Column") -> "Any":
    import numpy as np

    parts = Anatomy(column)
    if not parts.n or parts.mask is None:
        return np.zeros(parts.n, bool)
    buffer = column.buffers["validity"]
    array = np.asarray(buffer.view("bool", (parts.n,), (parts.mask_step,), parts.mask - buffer.ptr))
    array.flags.writeable = False
    return array


def _no_nulls(column: "Column", why: str, remedy: str) -> UnsupportedType:
    return UnsupportedType.build(
        f"{refusals.named(column)} has nulls, and {why}", came=refusals.came(column), remedy=remedy
    )


# -- times -------------------------------------------------------------------------------------------------------------


def _times(column: "Column") -> Giving:
    """Times as NumPy's, or of a zone as int64, which pandas reads as UTC and shares."""
    dtype, n = column.dtype, len(column)
    zone = getattr(dtype, "zone", None)
    count = _own_nulls(column)
    says_nat = all(part.nulls.kind == "nat" for part in column.chunks) and bool(column.chunks)
    giving = Giving(column, "times")
    _joined(giving, column)
    target: Any = None
    if zone:
        target = _zone(column, zone)
    if count and not says_nat:
        for part in column.chunks:
            forms.filled(part, "nat")  # refused now, not when it is written
        giving.wrote(8 * n, "NaT under nulls")
    elif not dtype.is_native:
        giving.wrote(8 * n, "byte order")

    def made() -> "Any":
        found = converting.combined(column)
        if not says_nat:
            found = converting.filled(found, "nat")
        if not found.dtype.is_native:
            found = converting.contiguous(found)
        if zone:
            from pandas import Series

            return Series(_array(found, "int64"), dtype=target, copy=False)
        return _array(found, f"{dtype.kind}64[{dtype.unit}]")

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
            remedy='dtype_backend="pyarrow", which keeps the zone as text',
        ) from error


# -- text, categories --------------------------------------------------------------------------------------------------


def _text(column: "Column", backend: str) -> Giving:
    """Text as pandas keeps it in Arrow's arrays, with offsets of 64 bits; chunks stay."""
    pa = _pyarrow(column)
    word = column.metadata.get(b"pandas.dtype", b"").decode()
    nan = word != "string" and backend != "numpy_nullable"
    giving = Giving(column, "str" if nan else "string")
    views = column.dtype.kind == "utf8_view"
    for part in column.chunks:
        arrow = forms.arrow_form(part)
        giving.wrote(arrow.nbytes, *arrow.reasons)
        if part.dtype.kind == "utf8" and len(part):
            giving.wrote(recoding.widened(part).nbytes if arrow.same else 8 * (len(part) + 1), "offsets of 32 bits")
    if views:
        giving.wrote(None, "pyarrow makes offsets of views")

    def made() -> "Any":
        import numpy as np
        import pandas as pd

        found = converting.arrow_form(column)
        array = pa.chunked_array(found if views else converting.widened(found))
        array = array.cast(pa.large_string()) if array.type != pa.large_string() else array
        return pd.arrays.ArrowStringArray(array, dtype=pd.StringDtype("pyarrow", na_value=np.nan if nan else pd.NA))

    giving.values = made
    return giving


def _category(column: "Column") -> Giving:
    """Codes of the smallest signed width, -1 for null, and categories that are different ones."""
    words = column.chunks[0].dictionary
    assert words is not None
    if not _can_be_categories(words):
        return _arrow(column)
    giving = Giving(column, "category")
    several, form = _joined(giving, column)
    whole = None if several else joining.combined(column).source
    mapping, places = _distinct(words)
    target = words if places is None else words[: len(places)]
    if whole is not None:
        draft = recoding.codes_with_sentinel(whole, mapping, None if places is None else target)
        giving.wrote(draft.nbytes, *draft.reasons)
    else:
        width = next(size for size in (1, 2, 4, 8) if len(target) <= 1 << (8 * size - 1))
        stored = stored_as(column.dtype)
        fits = stored.kind == "int" and stored.itemsize == width and stored.is_native
        told = form is None or form.kind == "none" or (form.kind == "sentinel" and form.value == -1)
        giving.wrote(0 if fits and told and mapping is None else len(column) * width, "codes as pandas has them")
    inner = plan(words)
    giving.holds(inner)

    def made() -> "Any":
        import pandas as pd

        index = pd.Index(inner.make())
        if places is not None:
            index = index.take(places)
        found = converting.combined(column)
        codes = converting.codes_with_sentinel(found, mapping, None if places is None else target)
        parts = Anatomy(codes)
        _check_codes(codes, len(index))
        array = _array(codes, stored_as(codes.dtype).name) if parts.n else []
        return pd.Categorical.from_codes(array, categories=index, ordered=bool(column.dtype.ordered), validate=False)

    giving.values = made
    return giving


def _can_be_categories(words: "Column") -> bool:
    """Whether pandas has an Index of these that loses none: it hashes them, knows no NaN, and takes -0.0 for 0.0."""
    dtype = words.dtype
    if dtype.kind == "float" and dtype.bits in (32, 64):
        values = words.tolist()
        zeros = {repr(value) for value in values if value == 0}
        return len(zeros) < 2 and not any(value != value for value in values)  # noqa: PLR0124
    # its times of a day have no nanoseconds
    return dtype.kind not in ("float", "bfloat", "complex", "struct", "map", "union") and dtype.arrow != "ttn"


def _check_codes(codes: "Column", limit: int) -> None:
    from lend._core import kernels

    parts = Anatomy(codes)
    if not parts.n:
        return
    mask, _held = parts.any_mask()
    wrong = kernels.check_indices(parts.at(0), parts.step, parts.width, 1, *mask, limit, parts.n)
    if wrong >= 0:
        raise refusals.contradicts(codes, f"the index at element {wrong} is none of its {limit} dictionary values")


def _distinct(words: "Column") -> "tuple[list[int] | None, list[int] | None]":
    """Of a dictionary with values that are null or occur twice: the new index of each, and the places that stay."""
    try:
        keys = joining.told_apart(words)
    except LendError:
        parts = Anatomy(words)  # of times that Python has no objects for: the numbers
        lost = [False] * parts.n if not words.null_count else recoding._lost(words)
        numbers = parts.gathered(0, parts.n).reinterpret(f"int{8 * parts.width}").tolist()
        keys = [None if gone else number for number, gone in zip(numbers, lost, strict=True)]
    seen: dict[Any, int] = {}
    places: list[int] = []
    mapping: list[int] = []
    for place, key in enumerate(keys):
        if key is not None and key not in seen:
            seen[key] = len(places)
            places.append(place)
        mapping.append(-1 if key is None else seen[key])
    return (None, None) if len(places) == len(keys) else (mapping, places)


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


def _arrow(column: "Column") -> Giving:
    """What pandas keeps in Arrow's arrays as it lies; chunks stay."""
    pa = _pyarrow(column)
    draft = forms.arrow_form(column)

    def made() -> "Any":
        import pandas as pd

        return pd.arrays.ArrowExtensionArray(pa.chunked_array(converting.arrow_form(column)))

    giving = Giving(column, "arrow")
    giving.wrote(draft.nbytes, *draft.reasons)
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


def _period(column: "Column") -> "Giving | None":
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
    _joined(giving, column)

    def made() -> "Any":
        return pd.arrays.PeriodArray(_array(converting.combined(column), "int64"), dtype=dtype)

    giving.values = made
    return giving


def _interval(column: "Column") -> "Giving | None":
    """The same of intervals."""
    closed = _said(column, "closed")
    sides = tuple(name for name, _ in column.dtype.children)
    if sides != ("left", "right") or closed not in ("left", "right", "both", "neither"):
        return None
    if len(column.chunks) != 1 or _own_nulls(column):
        return None
    start, stop = column.offset, column.offset + len(column)
    ends = [plan(child[start:stop]) for child in column.children]

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


def plan_frame(table: "Any", dtype_backend: str = "auto", nulls: "Any" = None) -> "list[Giving]":
    """How each column of a table will be given."""
    return [plan(column, dtype_backend, nulls) for column in table.columns]


def give_frame(
    table: "Any",
    dtype_backend: str = "auto",
    index: "str | None" = None,
    nulls: "Any" = None,
    metadata: "dict[bytes, bytes] | None" = None,
) -> "Any":
    """A pandas.DataFrame of a table; an index that its metadata tells of is one again, unless `index` says otherwise.

    "column" leaves it among the columns, "drop" leaves it out.
    """
    import pandas as pd

    if index not in pandas_index.MODES:
        raise ValueError(f'index is None, "column", "drop" or "metadata", not {index!r:.60}')
    said = pandas_index.told(table.metadata if metadata is None else metadata)
    names, rows = list(table.names), len(table)
    series = [giving.make() for giving in plan_frame(table, dtype_backend, nulls)]
    levels = said.get("index", []) if index != "column" else []
    places: list[int] = []
    for name, _ in levels:
        places += [place for place, other in enumerate(names) if other == name and place not in places][:1]
    if len(places) < len(levels):
        places = []
    stays = [place for place in range(len(names)) if place not in places]
    frame = pd.DataFrame({place: series[place] for place in stays}, index=pd.RangeIndex(rows), copy=False)
    if index != "drop":
        found = _index([series[place].array for place in places], levels) if places else _range(said, rows)
        if found is not None:
            frame.index = found
    labels = pandas_index.labels_of(said, [names[place] for place in stays])
    tuples = bool(labels) and all(isinstance(label, tuple) for label in labels)
    kind = object if None in labels else None  # else it would be NaN, and integers beside it floats
    frame.columns = pd.Index(labels, dtype=kind, tupleize_cols=tuples)
    over = [pandas_index.read(name) for name in said.get("names", ())]
    if len(over) == frame.columns.nlevels:
        frame.columns.names = over
    return frame


def _index(levels: "list[Any]", told: "list[Any]") -> "Any":
    import pandas as pd

    names = [pandas_index.read(label) for _, label in told]
    return pd.Index(levels[0], name=names[0]) if len(levels) == 1 else pd.MultiIndex.from_arrays(levels, names=names)


def _range(said: "dict[str, Any]", rows: int) -> "Any":
    import pandas as pd

    if "range" not in said:
        return None
    start, stop, step, name = said["range"]
    found = pd.RangeIndex(start, stop, step, name=pandas_index.read(name))
    return found if len(found) == rows else None
