"""Columns of the libraries by what they are, with the lists of their values, and objects that are lent as columns.

`ARRAYS` and `SERIES` are empty where pyarrow and polars are not installed.
"""

import datetime
import decimal

import pytest

from . import told_frames


def arrays():
    """Arrays of pyarrow by what they are, with the list of their values."""
    import pyarrow as pa

    day, moment = datetime.date(2020, 2, 29), datetime.datetime(2020, 2, 29, 12, 30)
    texts = ["", None, "a", "ä" * 7, "twelve bytes", "thirteen byte", None] * 5
    plain = {
        "int8": [1, None, -3], "uint16": [1, None, 65535], "int64": [2**62 + 1, None, -1], "float16": [1.5, None, 2.0],
        "float64": [1.5, None, -2.0], "bool": [True, None, False], "string": texts, "large_string": texts,
        "string_view": texts, "binary": [None if text is None else text.encode() for text in texts],
        "binary_view": [None if text is None else text.encode() for text in texts],
        "date32": [day, None], "date64": [day, None],
    }  # fmt: skip
    found = {
        name: (getattr(pa, name + "_" if name == "bool" else name)(), values * 7) for name, values in plain.items()
    }
    found |= {
        "null": (pa.null(), [None] * 30),
        "time32": (pa.time32("ms"), [datetime.time(1, 2, 3), None] * 9),
        "time64": (pa.time64("us"), [datetime.time(1, 2, 3, 4), None] * 9),
        "timestamp": (pa.timestamp("us"), [moment, None] * 9),
        "timestamp with zone": (pa.timestamp("ms", "UTC"), [moment.replace(tzinfo=datetime.UTC), None] * 9),
        "duration": (pa.duration("s"), [datetime.timedelta(seconds=5), None] * 9),
        "decimal": (pa.decimal128(9, 2), [decimal.Decimal("1.50"), None] * 9),
        "decimal of 256 bits": (pa.decimal256(50, 2), [decimal.Decimal("1.50"), None] * 9),
        "fixed bytes": (pa.binary(3), [b"abc", None] * 9),
        "list": (pa.list_(pa.int32()), [[1, None], None, [], [2]] * 9),
        "large list": (pa.large_list(pa.string()), [["a", None], None, []] * 9),
        "list view": (pa.list_view(pa.int32()), [[1, None], None, [], [2]] * 9),
        "fixed list": (pa.list_(pa.int32(), 2), [[1, None], None, [3, 4]] * 9),
        "struct": (
            pa.struct([("a", pa.int8()), ("b", pa.string())]),
            [{"a": 1, "b": None}, None, {"a": None, "b": "x"}] * 9,
        ),
        "map": (pa.map_(pa.string(), pa.int32()), [[("a", 1)], None, []] * 9),
    }
    return {name: (pa.array(values, type), values) for name, (type, values) in found.items()} | {
        "dictionary": (pa.array(["b", None, "a"] * 9).dictionary_encode(), ["b", None, "a"] * 9),
        "runs": (pa.RunEndEncodedArray.from_arrays(pa.array([2, 5, 30], pa.int32()), pa.array(["x", None, "y"])),
                 ["x"] * 2 + [None] * 3 + ["y"] * 25),
        "sparse union": (pa.UnionArray.from_sparse(pa.array([0, 1] * 9, pa.int8()),
                                                   [pa.array([1, 2] * 9), pa.array(["a", None] * 9)]),
                         [1, None] * 9),
        "dense union": (pa.UnionArray.from_dense(pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32()),
                                                 [pa.array([1, 2]), pa.array(["a"])]), [1, "a", 2]),
    }  # fmt: skip


def more_arrays():
    """Types of Arrow that not every library beside pyarrow has."""
    import pyarrow as pa

    moment = datetime.datetime(2024, 3, 31, 1, 30, tzinfo=datetime.UTC)
    found = {
        "uint64": (pa.uint64(), [2**64 - 1, None, 0]),
        "large binary": (pa.large_binary(), [b"\0", None, b""]),
        "first and last dates": (pa.date32(), [datetime.date(1, 1, 1), None, datetime.date(9999, 12, 31)]),
        "interval": (pa.month_day_nano_interval(), [(1, -2, 3), None]),
        "decimal of 32 bits": (pa.decimal32(5, 2), [decimal.Decimal("-1.25"), None]),
        "decimal of 64 bits": (pa.decimal64(10, -2), [decimal.Decimal(12300), None]),
        "decimal of 38 digits": (pa.decimal128(38, 10), [decimal.Decimal("-12345678901234567890.0123456789"), None]),
        "decimal of 70 digits": (pa.decimal256(76, 0), [decimal.Decimal(10**70), None]),
        "seconds with zone": (pa.timestamp("s", "UTC"), [moment, None]),
        "the clock goes forward": (
            pa.timestamp("ms", "Europe/Paris"), [moment, None, moment + datetime.timedelta(hours=1)],
        ),
        "zone of hours": (pa.timestamp("ns", "-05:30"), [moment, None]),
        "long ago": (pa.duration("ns"), [datetime.timedelta(days=-3, microseconds=5), None]),
        "large list view": (pa.large_list_view(pa.int32()), [[1], None, [2, 3]]),
        "struct of lists": (
            pa.struct([("a", pa.int8()), ("b", pa.list_(pa.bool_()))]), [{"a": 1, "b": [True, None]}, None],
        ),
        "ordered dictionary": (pa.dictionary(pa.int8(), pa.string(), ordered=True), ["a", None, "b", "a"]),
        "dictionary of integers": (pa.dictionary(pa.uint16(), pa.int64()), [2**60, None, -1]),
        "list of dictionary": (pa.list_(pa.dictionary(pa.int32(), pa.string())), [["a", "b"], None, ["a"]]),
    }  # fmt: skip
    return {name: (pa.array(values, type), values) for name, (type, values) in found.items()}


def extensions():
    """Arrays of types that have names of their own."""
    import pyarrow as pa

    yield "bools of a byte", pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None], "i1"))
    yield "identifiers", pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16, None], pa.binary(16)))
    yield "JSON", pa.ExtensionArray.from_storage(pa.json_(pa.string_view()), pa.array(["{}", None], pa.string_view()))
    yield "tensors", pa.FixedShapeTensorArray.from_numpy_ndarray(pytest.importorskip("numpy").zeros((2, 3, 4)))


def chunked():
    """What has several chunks, or tells of none."""
    import pyarrow as pa

    pl = pytest.importorskip("polars")
    yield "two chunks", pa.chunked_array([[1, None], [3]])
    yield "an empty chunk in the middle", pa.chunked_array([[1, None], [], [3]], pa.int64())
    yield "no chunk", pa.chunked_array([], pa.string())
    yield "no chunk of a dictionary", pa.chunked_array([], pa.dictionary(pa.int8(), pa.string()))
    yield (
        "chunks with dictionaries of their own",
        pa.chunked_array([pa.array(["b", "a"]).dictionary_encode(), pa.array(["a", None, "z"]).dictionary_encode()]),
    )
    yield "two chunks of polars", pl.concat([pl.Series([1, 2]), pl.Series([3])], rechunk=False)
    yield "a drained reader", _drained(pa.table({"a": [1]}).to_reader())


def _drained(reader):
    reader.read_all()
    return reader


def pandas_series():
    """Series of pandas, whose memory is not what its Arrow stream gives."""
    pd = pytest.importorskip("pandas")
    yield "int64", pd.Series([1, 2])
    yield "float64", pd.Series([1.5, -2.0])
    yield "float64 with NaN", pd.Series([1.5, None])
    yield "Int64", pd.Series([1, None, 2**62 + 1], dtype="Int64")
    yield "bool", pd.Series([True, False])
    yield "boolean", pd.Series([True, None], dtype="boolean")
    yield "text", pd.Series(["x", None, "y"])
    yield "text in objects", pd.Series(["x", None], dtype=object)
    yield "objects", pd.Series([1, "x"], dtype=object)
    yield "times", pd.Series([pd.Timestamp("2000-01-01"), None])
    yield "times with zone", pd.Series(pd.date_range("2000-01-01", periods=2, tz="UTC"))
    yield "categories", pd.Series(["b", None, "a"], dtype="category")
    yield "of pyarrow", pd.Series([1, None], dtype="int64[pyarrow]")
    yield "an index", pd.Index([1, 2])


def polars_extras():
    """Series that Arrow has no word for."""
    pl = pytest.importorskip("polars")
    yield "128 bits", pl.Series([2**100], dtype=pl.Int128)
    yield "objects", pl.Series([object()], dtype=pl.Object)


class _Told:
    def __init__(self, data, mask):
        self.data, self.__array_interface__ = data, data.__array_interface__ | {"mask": mask}


def masked():
    """Masks of bytes, which are nulls."""
    np = pytest.importorskip("numpy")
    data = np.array([1, 2, 3])
    yield "a masked array", np.ma.MaskedArray(data, [False, True, False])
    yield "a masked array of nothing", np.ma.MaskedArray(data)
    yield "a masked array of floats", np.ma.MaskedArray([1.5, np.nan], [True, False])
    yield "a mask with gaps", np.ma.MaskedArray(data, np.zeros(6, bool)[::2])
    yield "masked times", np.ma.MaskedArray(np.array([1, 2], "M8[s]"), [True, False])
    yield "a mask of an interface", _Told(data, np.array([1, 0, 1], "?"))


def frames():
    """Tables, which are structs or no column."""
    import pyarrow as pa

    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    yield "a record batch", pa.record_batch({"a": [1, None], "b": ["x", "y"]})
    yield "a table", pa.table({"a": [1, None], "b": ["x", "y"]})
    yield "a frame of polars", pl.DataFrame({"a": [1, None], "b": ["x", "y"]})
    yield "a frame of pandas", pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    yield "a frame by its protocol", told_frames.ToldFrame({"a": told_frames.ints(1, 2)}, rows=2)


def series():
    import polars as pl

    day, moment = datetime.date(2020, 2, 29), datetime.datetime(2020, 2, 29, 12, 30)
    texts = ["", None, "a", "ä" * 7, "twelve bytes", "thirteen byte"] * 3
    cases = {
        "Int8": (pl.Int8, [1, None]), "UInt64": (pl.UInt64, [2**63, None]), "Int128": (pl.Int128, [2**100, None]),
        "Float32": (pl.Float32, [1.5, None]), "Boolean": (pl.Boolean, [True, None, False]),
        "String": (pl.String, texts),
        "Binary": (pl.Binary, [None if text is None else text.encode() for text in texts]),
        "Date": (pl.Date, [day, None]),
        "Time": (pl.Time, [datetime.time(1, 2, 3), None]), "Datetime": (pl.Datetime("us"), [moment, None]),
        "zoned": (pl.Datetime("ms", "UTC"), [moment.replace(tzinfo=datetime.UTC), None]),
        "Duration": (pl.Duration("us"), [datetime.timedelta(seconds=1), None]),
        "Decimal": (pl.Decimal(9, 2), [decimal.Decimal("1.50"), None]),
        "List": (pl.List(pl.Int32), [[1, None], None, []]),
        "Array": (pl.Array(pl.Int32, 2), [[1, None], None]), "Null": (pl.Null, [None, None]),
        "Struct": (pl.Struct({"a": pl.Int8, "n": pl.Null}), [{"a": 1, "n": None}, None]),
        "Categorical": (pl.Categorical, ["b", None, "a"]), "Enum": (pl.Enum(["a", "b"]), ["b", None, "a"]),
        "no texts": (pl.List(pl.String), [[]]),
    }  # fmt: skip
    return {name: (pl.Series(name, values, kind), values) for name, (kind, values) in cases.items()}


def made(make):
    """What a maker makes, or nothing where its library is not installed."""
    try:
        return make()
    except ImportError:
        return {}


ARRAYS, SERIES = made(arrays), made(series)
KINDS = {
    "pyarrow": lambda: [(name, array) for name, (array, _) in (arrays() | more_arrays()).items()],
    "extensions": extensions,
    "chunks": chunked,
    "polars": lambda: [*((name, one) for name, (one, _) in series().items()), *polars_extras()],
    "pandas": pandas_series,
    "masks": masked,
    "frames": frames,
}
