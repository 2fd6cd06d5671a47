"""Columns and tables of pandas: its memory as it lies, held by one shallow copy of the frame or Series.

pandas copies a block before it writes to it while another frame has it too: so the shallow copy keeps what was lent as
it was, and costs nothing. What is lent is read-only, whatever the flags of the arrays say.

Three names of pandas' own are used, each in one function with a test of what it gives, and a public road beside it: the
blocks of a frame (`_mgr`), and data and mask of its masked arrays (`_data`, `_mask`).
"""

from lend._core import copies
from lend._core.letting_go import lets_go
from lend.adapters import columns, pandas_nested
from lend.adapters import pandas_kinds as kinds
from lend.adapters.asking import guarded
from lend.columns import building
from lend.columns.nullness import Nulls
from lend.errors import CopyRequired, MalformedDescriptor, NotLendable, UnsupportedLayout, UnsupportedType
from lend.protocols.classes import bases_of, full_name
from lend.views.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from lend.columns.column import Column

    Take = Callable[[Any, bool | None], Column]

_NONE, _NAN, _NAT = Nulls("none"), Nulls("nan"), Nulls("nat")
_BYTES = Nulls("bytemask", 1)
ISNULL = -(2**63)


class Taken:
    """A frame, taken: what a table is made of.

    Attributes
    ----------
    names : list of str
        Of the columns; those of an index stand first.
    columns : list of Column
    length : int
    metadata : dict of bytes to bytes
        What the names do not say: labels that are no text, which columns are an index.
    """

    __slots__ = ("columns", "length", "metadata", "names")

    def __init__(self, names: "list[str]", columns: "list[Column]", length: int) -> None:
        self.names, self.columns, self.length = names, columns, length
        self.metadata: dict[bytes, bytes] = {}


def is_frame(cls: type) -> bool:
    return any(full_name(base) in ("pandas.DataFrame", "pandas.core.frame.DataFrame") for base in bases_of(cls))


def is_line(cls: type) -> bool:
    """A Series, an Index or an array of pandas."""
    return any(full_name(base) in _LINES for base in bases_of(cls))


_LINES = {
    "pandas.Series", "pandas.core.series.Series", "pandas.Index", "pandas.core.indexes.base.Index",
    "pandas.api.extensions.ExtensionArray", "pandas.core.arrays.base.ExtensionArray",
}  # fmt: skip


# -- columns -----------------------------------------------------------------------------------------------------------


def column_of(series: "Any", take: "Take", *, copy: "bool | None" = None, nested: bool = False) -> "Column":
    """A Series, an Index or an array of pandas as a Column; its index is no part of it."""
    name = kinds.text_of(getattr(series, "name", None))
    return _line(_leased(series), name, _Wish(take, copy, nested))


def _line(lease: "Any", name: str, wish: "_Wish") -> "Column":
    """A Series, an Index or an array that is lend's alone."""
    if kinds.is_index_of(lease, "Range"):
        came = f"pandas {lease.dtype}[{len(lease)}]"
        if len(lease):
            remedy = 'copy=None; for a table index="metadata" or index="drop"'
            wish.check(kinds.called(name), "is a RangeIndex, whose numbers lie nowhere", came, remedy)
        copies.note(came, "a RangeIndex as numbers", lease.array.nbytes)
    elif kinds.is_index_of(lease, "Multi"):
        raise NotLendable.build(
            f"a MultiIndex is of {lease.nlevels} columns, not one",
            came=f"pandas.MultiIndex[{len(lease)}]",
            remedy="one of its levels, lend.column(x.get_level_values(0)); or lend.table(x.to_frame(index=False))",
        )
    return _one(getattr(lease, "array", lease), lease, name, wish)


def _leased(obj: "Any") -> "Any":
    """Another object over the same memory, which is lend's alone; pandas copies before it writes to what both have."""
    return obj.copy(deep=False) if hasattr(type(obj), "array") else obj.view()


class _Wish:
    """What who asked wants of every column, and how others are taken."""

    __slots__ = ("copy", "nested", "take", "what")

    def __init__(self, take: "Take", copy: "bool | None", nested: bool, what: str = "column") -> None:
        self.take, self.copy, self.nested, self.what = take, copy, nested, what

    def check(self, what: str, why: str, came: str, remedy: str) -> None:
        """Refuse a copy that is not wanted."""
        if self.copy is False:
            raise CopyRequired.build(f"{what} {why}, and copy=False forbids that", came=came, remedy=remedy)


def _of_values(values: "Any", lease: "Any", name: str, wish: _Wish) -> "Column":
    """One array of pandas, or of NumPy, as a Column."""
    kind = kinds.kind_of(values)
    if getattr(values, "ndim", 1) != 1:
        raise UnsupportedLayout.build(
            f"a column has one dimension, and {kinds.called(name)} has {values.ndim}",
            came=f"{full_name(type(values))} of shape {values.shape}",
            remedy="one column of it: x[:, i]",
        )
    if kind == "numpy":
        return building.rows(*_block(values, lease), [name])[0]
    if kind == "wrapped":
        return _of_values(values.to_numpy(copy=False), lease, name, wish)
    if kind == "masked":
        return _masked(values, lease, name, wish)
    if kind == "arrow":
        return _arrow(values, name, wish)
    if kind == "categorical":
        return _categorical(values, lease, name, wish)
    if kind == "interval":
        return _interval(values, lease, name, wish)
    if kind == "period":
        dtype = kinds.period_dtype(values.dtype)
        form = Nulls("sentinel", None, ISNULL)
        return building.rows(_view(values.asi8, lease), dtype, form, [name])[0]
    if kind == "sparse":
        raise UnsupportedType.build(
            f"{kinds.called(name)} is sparse: its values do not lie one after the other",
            came=f"pandas {values.dtype}[{len(values)}]",
            remedy="numpy.asarray(x), a copy; or of a Series x.sparse.to_dense()"
            if wish.what == "column"
            else f"x[{name!r}].sparse.to_dense(), a copy, in its place",
        )
    if kind == "object":
        return _objects(values, name, wish)
    if hasattr(type(values), "__arrow_array__"):
        return _foreign(values, name, wish)
    raise NotLendable.build(
        f"{kinds.called(name)} is of {full_name(type(values))}, of which pandas tells nothing of where it lies",
        came=f"pandas {values.dtype!s:.60}[{len(values)}]",
        tried="it has no __arrow_array__",
        remedy=_AS_PANDAS,
    )


_AS_PANDAS = (
    'its values in a dtype of pandas\' own or of NumPy\'s, if it has them: x.astype("float64"), x.astype("str")'
)


def _foreign(values: "Any", name: str, wish: _Wish) -> "Column":
    """An array of somebody's, by the array of Arrow's that it makes."""
    who, came = full_name(type(values)), f"pandas {values.dtype!s:.60}[{len(values)}]"
    given = columns.arrow_array(values, f"{kinds.called(name)} is of {who}", came, _AS_PANDAS)
    made = wish.take(given, wish.copy)
    if len(made) != len(values):
        raise MalformedDescriptor.build(
            f"{kinds.called(name)} is of {who}, of {len(values)} elements, whose __arrow_array__ gave {len(made)}",
            came=came,
            remedy=_AS_PANDAS,
        )
    return _named(made, name)


def _named(column: "Column", name: str, metadata: "dict[bytes, bytes] | None" = None) -> "Column":
    return building.told(column, name, None if metadata is None else {**column.metadata, **metadata})


def _view(array: "Any", lease: "Any") -> View:
    """An ndarray as a read-only View that the lease holds."""
    facts = array.__array_interface__
    # whatever becomes of the lease, which whoever asks for the owner can reach, the memory stays
    lease.__dict__.setdefault("_lend_arrays", []).append(array)
    dtype = "int64" if array.dtype.kind in "mM" else kinds.plain_dtype(array.dtype)
    return View.from_pointer(facts["data"][0], array.shape, dtype, owner=lease, strides=array.strides)


def _block(values: "Any", lease: "Any") -> "tuple[View, Any, Nulls]":
    """Numbers, bools or times of one or two dimensions: the memory, what it means, what says null."""
    dtype = kinds.dtype_of(values.dtype)
    if values.dtype.kind in "mM" or not hasattr(values, "strides"):
        return _view(values.view("i8"), lease), dtype, _NAT
    return _view(values, lease), dtype, _NAN if values.dtype.kind in "fc" else _NONE


def _masked(values: "Any", lease: "Any", name: str, wish: _Wish) -> "Column":
    """Values and mask, both shared."""
    from lend.columns.column import Column

    data, mask = _parts(values, name, wish)
    shown: dict[str, Any] = {"data": _view(data, lease), "validity": _view(mask, lease)}
    return Column.from_buffers(kinds.dtype_of(data.dtype), len(values), shown, nulls=_BYTES, name=name)


def _parts(values: "Any", name: str, wish: _Wish) -> "tuple[Any, Any]":
    """Data and mask of a masked array: those that it has, or else copies that it gives."""
    data: Any = getattr(values, "_data", None)
    mask: Any = getattr(values, "_mask", None)
    if kinds.is_line(data, len(values)) and kinds.is_line(mask, len(values)) and mask.dtype.kind == "b":
        return data, mask
    came = f"pandas {values.dtype}[{len(values)}]"
    wish.check(kinds.called(name), "is given by pandas in copies alone: it shows no mask", came, "copy=None")
    mask = values.isna()
    data = values.to_numpy(dtype=kinds.numpy_dtype(values.dtype), na_value=0)
    copies.note(came, "pandas shows no mask", data.nbytes + mask.nbytes)
    return data, mask


def _arrow(values: "Any", name: str, wish: _Wish) -> "Column":
    """What pandas keeps in Arrow's arrays: each chunk with its own lease and offset."""
    dtype = values.dtype
    word = kinds.word_of(dtype)
    # text may be kept in two ways, and what Arrow has as a dictionary would come back as categories
    told = {b"pandas.dtype": word.encode()} if kinds.is_string(dtype) or word.startswith("dictionary") else None
    return _named(wish.take(values.__arrow_array__(), wish.copy), name, told)


def _categorical(values: "Any", lease: "Any", name: str, wish: _Wish) -> "Column":
    """Codes, of which -1 is null, and the categories."""
    from lend.columns.column import Column

    categories = values.categories
    words = _single(_line(_leased(categories), name, wish), f"the categories of {kinds.called(name)}", wish)
    codes = values.codes
    dtype = kinds.dictionary_dtype(codes.dtype, words.dtype, bool(values.ordered))
    shown: dict[str, Any] = {"data": _view(codes, lease)}
    told = building.told(words, "", None)
    null = Nulls("sentinel", None, -1)
    return building.vouched(Column.from_buffers(dtype, len(values), shown, nulls=null, dictionary=told, name=name))


def _single(column: "Column", what: str, wish: _Wish) -> "Column":
    """One chunk, by a copy where it has several; of none one without rows."""
    count = len(column.chunks)
    if count == 1:
        return column
    if not count:
        from lend.tables.table import of_columns

        return wish.take(of_columns((column.name,), [column], 0).__arrow_c_array__(), None).children[0]
    from lend.columns import refusals
    from lend.columns.converting import combined

    if len(column):
        wish.check(what, f"lie in {count} chunks, which are to be one", refusals.came(column), "copy=None")
    return combined(column)


def _interval(values: "Any", lease: "Any", name: str, wish: _Wish) -> "Column":
    """A struct of the two ends."""
    from lend.columns.column import Column

    ends = [
        _single(_end(end, lease, side, wish), f"the ends of {kinds.called(name)}", wish)
        for side, end in (("left", values.left), ("right", values.right))
    ]
    dtype = kinds.interval_dtype(values.dtype, ends[0].dtype, ends[1].dtype)
    shown: dict[str, Any] = {}
    if ends[0].null_count:  # an interval is null where its ends are, and a struct says so by itself
        came = f"pandas {values.dtype}[{len(values)}]"
        wish.check(kinds.called(name), "has nulls that its ends alone tell (a bit for each)", came, "copy=None")
        shown["validity"] = pandas_nested.valid_bits(ends[0])
        copies.note(came, "nulls of intervals", len(shown["validity"]))
    return Column.from_buffers(dtype, len(values), shown, children=ends, name=name)


def _end(end: "Any", lease: "Any", side: str, wish: _Wish) -> "Column":
    """One end of intervals under their lease, for pandas copies before it writes to what somebody else has, too."""
    if kinds.is_index_of(end, "Range"):
        return _line(_leased(end), side, wish)
    return _one(end.array, lease, side, wish)


# -- objects -----------------------------------------------------------------------------------------------------------


def _objects(values: "Any", name: str, wish: _Wish) -> "Column":
    """Python objects: text by pyarrow or polars, in a copy; what else they are only where that was asked for."""
    from pandas import isna
    from pandas.api.types import infer_dtype

    array = values if hasattr(values, "strides") else values.to_numpy(copy=False)
    found = infer_dtype(array, skipna=True)
    came = f"pandas {values.dtype}[{len(array)}]"
    if found != "string":
        missing = isna(array)
        if found == "empty" or missing.all():
            return _named(kinds.nulls_column(len(array)), name)
        if all(isinstance(value, str) for value, lost in zip(array, missing, strict=True) if not lost):
            found = "string"  # NaT and the like are no text, and null all the same
    wish.check(
        kinds.called(name),
        "is of Python objects, shared with nobody (object strings)",
        came,
        "copy=None, which makes text of strings in a copy",
    )
    if found != "string" and not wish.nested:
        raise _mixed(array, name, came, wish.what)
    made = _converted(array, found == "string", name, came)
    column = wish.take(made, None)
    copies.note(
        came, "Python objects as text" if found == "string" else "Python objects as values", kinds.nbytes_of(made)
    )
    word = kinds.word_of(values.dtype).encode()
    return _named(column, name, {b"pandas.dtype": word})


def _mixed(array: "Any", name: str, came: str, what: str) -> UnsupportedType:
    """Names the first row whose object is no text."""
    from pandas import isna

    missing = isna(array)
    row = next((i for i, value in enumerate(array) if not missing[i] and not isinstance(value, str)), 0)
    return UnsupportedType.build(
        f"{kinds.called(name)} is of objects: row {row} is {columns.article(full_name(type(array[row])))}, no text",
        came=came,
        remedy=f"lend.{what}(x, nested=True), also in lend.to: values of the type that pyarrow finds for all"
        if _is_of_one_type(array)
        else f'text of each: lend.column({"x" if what == "column" else f"x[{name!r}]"}.astype("str")); '
        "pyarrow finds no one type for all",
    )


def _is_of_one_type(array: "Any") -> bool:
    """Whether pyarrow makes values of objects; True where it is not there to say so."""
    module: Any = kinds.imported("pyarrow")
    if module is None:
        return True
    try:
        module.array(array, from_pandas=True)
    except (MemoryError, RecursionError):
        raise
    except Exception:  # noqa: BLE001 - a converter raises what it likes: that it does is the answer
        return False
    return True


def _converted(array: "Any", text: bool, name: str, came: str) -> "Any":
    """An array of Arrow's made of objects."""
    missing = None
    for library in ("pyarrow", "polars") if text else ("pyarrow",):
        module = kinds.imported(library)
        if module is None:
            continue
        try:
            if library == "polars":
                from pandas import isna

                return module.Series([None if lost else value for value, lost in zip(array, isna(array), strict=True)])
            made = module.array(array, type=module.large_string() if text else None, from_pandas=True)
        except (MemoryError, RecursionError):
            raise
        except Exception as error:  # noqa: BLE001 - a converter raises what it likes: it becomes the cause of ours
            missing = error
            break
        if not text:
            pandas_nested.check_same(array, made, kinds.called(name), came)
        return made
    if missing is not None:
        why = kinds.why_no_text(array, kinds.called(name), "Python objects that are no values of one type")
        raise UnsupportedType.from_producer(missing, why, door=library, came=came) from missing
    raise UnsupportedType.build(
        f"{kinds.called(name)} is of Python objects, which pyarrow makes {'text' if text else 'values'} of, and it is "
        "not installed",
        came=came,
        remedy="install pyarrow" + (" or polars" if text else ""),
    )


# -- frames ------------------------------------------------------------------------------------------------------------


def columns_of(
    frame: "Any",
    take: "Take",
    *,
    copy: "bool | None" = None,
    nested: bool = False,
    index: "str | None" = None,
    keys: "Iterable[str | int] | None" = None,
) -> Taken:
    """All columns of a frame, under one lease; with its index as `index` says.

    A default index carries nothing. Else None makes columns of it, first, and the metadata says that they are one;
    "column" does not say so; "drop" leaves it out; "metadata" keeps start and step of a RangeIndex.
    """
    from lend.adapters import pandas_index

    lease = frame.copy(deep=False)
    labels = list(lease.columns)
    names = [kinds.text_of(label) for label in labels]
    wish = _Wish(take, copy, nested, "table")
    wanted = range(len(names)) if keys is None else kinds.places(names, keys)
    found = _by_blocks(lease, names, wanted, wish) or _by_series(lease, names, wanted, wish)
    made = Taken([names[place] for place in wanted], found, len(lease))
    pandas_index.take(made, lease, [labels[place] for place in wanted], index, _line, wish)
    return made


def _by_blocks(lease: "Any", names: "Sequence[str]", wanted: "Sequence[int]", wish: _Wish) -> "list[Column] | None":
    """The columns by the blocks that the frame is made of; None where these are not what they are known as."""
    blocks = kinds.blocks_of(lease)
    if blocks is None:
        return None
    found: list[Any] = [None] * len(names)
    asked = set(wanted)
    for values, places in blocks:
        if asked.isdisjoint(places):
            continue
        if kinds.kind_of(values) == "numpy" and values.ndim == 2:
            made = building.rows(*_block(values, lease), [names[place] for place in places])
            for place, column in zip(places, made, strict=True):
                found[place] = column
            continue
        for row, place in enumerate(places):
            if place in asked:
                part = values[row] if values.ndim == 2 else values
                found[place] = _one(part, lease, names[place], wish)
    return [found[place] for place in wanted]


def _by_series(lease: "Any", names: "Sequence[str]", wanted: "Sequence[int]", wish: _Wish) -> "list[Column]":
    """The same by what is public: each column by its place, which shares the memory of the block."""
    return [_one(lease.iloc[:, place].array, lease, names[place], wish) for place in wanted]


def _one(values: "Any", lease: "Any", name: str, wish: _Wish) -> "Column":
    made = _of_values(values, lease, name, wish)
    return made if made.name == name else building.told(made, name, None)


# -- for lend.column and lend.table ------------------------------------------------------------------------------------


def serves(cls: type) -> bool:
    return is_frame(cls) or is_line(cls)


@lets_go
def column(obj: "Any", take: "Take", copy: "bool | None", nested: bool = False) -> "Any":
    if is_frame(type(obj)):
        raise columns.no_column(obj)
    made: Column = guarded(lambda asked: column_of(asked, take, copy=copy, nested=nested))(obj)
    return made


@guarded
def _names(frame: "Any") -> "list[str]":
    return [kinds.text_of(label) for label in frame.columns]


@lets_go
def table(
    obj: "Any",
    keys: "Iterable[str | int] | None",
    take: "Take",
    copy: "bool | None",
    index: "str | None" = None,
    nested: bool = False,
) -> "Any":
    from lend.tables import table as tables

    if not is_frame(type(obj)):
        raise NotLendable.build(
            f"{columns.article(full_name(type(obj)))} is one column, no table",
            came=full_name(type(obj)),
            remedy='lend.column(x), or lend.table({"name": x})',
        )
    made: Any = tables
    if keys is not None:
        keys = kinds.places(_names(obj), keys)
        index = index or "drop"  # whoever names the columns did not name it
    taken = guarded(lambda asked: columns_of(asked, take, copy=copy, nested=nested, index=index, keys=keys))(obj)
    return made.of_columns(tuple(taken.names), taken.columns, taken.length, taken.metadata or None)
