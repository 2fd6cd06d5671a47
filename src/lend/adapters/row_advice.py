"""What to do with rows in lists, iterators and files, which nobody lends as they are: the "try" line."""

from lend.protocols.classes import bases_of, module_of, shows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TABLE = 'lend.table({"name": x}), where x is what lend.column takes'
_MAPPED = 'numpy.memmap({0}, mode="r") for bare bytes'
_YIELDS = [
    "of batches of pyarrow's: pyarrow.Table.from_batches(x)",
    "of dicts or tuples, the rows of a table: pandas.DataFrame(x) or polars.DataFrame(x)",
]
_VALUES = (list, tuple, range, set, frozenset)
_SINGLE = (bool, int, float, complex, str, bytes, type(None))
# ending of a file -> what reads it
_READERS = {
    "npy": 'numpy.load({0}, mmap_mode="r")',
    "npz": 'numpy.load({0})["name"], one of its arrays',
    "parquet": "polars.read_parquet({0}), pandas.read_parquet({0}) or pyarrow.parquet.read_table({0})",
    "csv": "polars.read_csv({0}), pandas.read_csv({0}) or pyarrow.csv.read_csv({0})",
    "arrow": "polars.read_ipc({0}) or pyarrow.ipc.open_file({0}).read_all()",
    "feather": "polars.read_ipc({0}), pandas.read_feather({0}) or pyarrow.feather.read_table({0})",
    "txt": "numpy.loadtxt({0}), if it holds numbers",
    "pt": "torch.load({0})",
    "png": "PIL.Image.open({0})",
    "bin": _MAPPED,
    "dat": _MAPPED,
    "raw": _MAPPED,
}
# library -> what makes one table of a list of its tables
_JOINED = {"polars": "polars.concat(x)", "pandas": "pandas.concat(x)"}


def looks_like_path(text: str) -> bool:
    """Whether a text is rather the path of a file than a name."""
    return "/" in text or "\\" in text or ("." in text and _ending(text) in _READERS)


def _ending(path: str) -> str:
    return path.rpartition(".")[2].lower()


def of_path(path: str, shown: str) -> str:
    """What reads a file, by the end of its name; `shown` is how the path is written there."""
    reader = _READERS.get(_ending(path)) if "." in path else None
    if reader is None:
        return f'numpy.load({shown}, mmap_mode="r") for a .npy file, {_MAPPED.format(shown)}'
    return reader.format(shown)


def of_items(items: "Any") -> "str | None":
    """What makes a table of a list or tuple of rows or of pieces of a table; None where its items are none."""
    first = _first_of(items)
    return None if first is None else _of_first(first)


def _first_of(items: "Any") -> "type | None":
    """The class of the first item; None where there is none."""
    base: "Any" = tuple if issubclass(type(items), tuple) else list  # noqa: UP037 - not imported; whatever a subclass makes of its items
    return type(base.__getitem__(items, 0)) if base.__len__(items) else None


def _of_first(cls: type) -> "str | None":
    library = module_of(bases_of(cls)[0]).partition(".")[0]
    if issubclass(cls, dict):
        return "its rows as a table: pandas.DataFrame(x), polars.DataFrame(x) or pyarrow.Table.from_pylist(x)"
    if library == "pyarrow" and shows(cls, "num_columns"):
        whole = shows(cls, "to_batches")
        return f"all of it as one table: pyarrow.{'concat_tables' if whole else 'Table.from_batches'}(x)"
    if shows(cls, "columns") and (shows(cls, "__arrow_c_stream__") or shows(cls, "__dataframe__")):
        one = _JOINED.get(library, "[lend.table(item) for item in x]")
        return f"{'all of it as one table' if library in _JOINED else 'one of its items at a time'}: {one}"
    if shows(cls, "num_columns") and (shows(cls, "__arrow_c_array__") or shows(cls, "__arrow_c_stream__")):
        return "one of its items at a time: [lend.table(item) for item in x]"
    return None


def for_table(obj: "Any") -> "str | list[str] | None":
    """What to do with what is no table; None for a single value, of which is told otherwise."""
    cls = type(obj)
    text = path_of(obj)
    if text is not None:
        reads = not issubclass(cls, str) or looks_like_path(text)
        return f"what reads the file: {of_path(text, _written(text, obj))}" if reads else None
    if issubclass(cls, _SINGLE):
        return None
    if issubclass(cls, (list, tuple)):
        first = _first_of(obj)
        pieces = of_items(obj)
        if pieces is not None:
            return pieces
        if first is None or issubclass(first, (list, tuple)):
            return 'its rows as a table: pandas.DataFrame(x), or polars.DataFrame(x, orient="row")'
        if not issubclass(first, _SINGLE):
            return 'each of its items under a name: lend.table({"a": x[0], "b": x[1]})'
    if issubclass(cls, _VALUES):
        return 'lend.table({"name": pyarrow.array(x)})'
    if shows(cls, "to_pyarrow"):
        return 'lend.table({"name": x.to_pyarrow()})'
    return _YIELDS if shows(cls, "__next__") else _TABLE


def for_column(obj: "Any") -> "str | list[str] | None":
    """What to do with values of Python that are no column; None for what is told otherwise."""
    cls = type(obj)
    if issubclass(cls, dict):
        return "lend.table(x), where its values are columns, or one of them: lend.column(x[key])"
    if shows(cls, "__next__"):
        return ["of values: pyarrow.array(x)", *_YIELDS]
    if issubclass(cls, (list, tuple)):
        first = _first_of(obj)
        if of_items(obj) is not None:
            return None
        if first is not None and module_of(first).partition(".")[0] == "pyarrow" and shows(first, "__arrow_c_array__"):
            return "its items as the chunks of one column: pyarrow.chunked_array(x)"
        if first is not None and not issubclass(first, (*_SINGLE, *_VALUES)):
            return None
    return "a column of its values: pyarrow.array(x)" if issubclass(cls, _VALUES) else None


def path_of(obj: "Any") -> "str | None":
    """The text of a text or of a path, which a class of the standard library tells; None of all else."""
    cls = type(obj)
    if issubclass(cls, str):
        return str.__str__(obj)
    if shows(cls, "__fspath__") and module_of(cls).partition(".")[0] == "pathlib":
        return str(obj)
    return None


def _written(text: str, obj: "Any") -> str:
    return repr(text) if issubclass(type(obj), str) and len(text) <= 60 else "x"
