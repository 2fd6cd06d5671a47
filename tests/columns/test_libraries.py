"""Columns of the libraries that have them: taken as they are, given back with the same values, over the same memory.

Written for pyarrow 26, polars 2.1, arro3 0.9, nanoarrow 0.9; a library whose behaviour changed fails here by name.
"""

import datetime
import decimal

import pytest

import lend
from lend import minimal

CUTS = [slice(None), slice(1, None), slice(2, 9), slice(7, 8), slice(8, 33), slice(3, 3)]
CUT = pytest.mark.parametrize("cut", CUTS, ids=lambda cut: f"{cut.start}:{cut.stop}")


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


try:
    import pyarrow  # noqa: F401

    ARRAYS = arrays()
except ImportError:
    ARRAYS = {}
EACH = pytest.mark.parametrize(
    "name", ARRAYS or [pytest.param("", marks=pytest.mark.skip(reason="pyarrow is not here"))]
)
# what minimal, the implementation of one file, does not read
NOT_IN_MINIMAL = ("runs", "sparse union", "dense union")


def cut_of(name, cut):
    array, values = ARRAYS[name]
    start, stop, _ = cut.indices(len(array))
    return array.slice(start, max(stop - start, 0)), values[cut]


# SLICE-1, SLICE-2, SLICE-3, SLICE-16
@EACH
@CUT
def test_arrays_of_pyarrow_and_their_slices_have_their_values(name, cut):
    array, values = cut_of(name, cut)
    assert lend.column(array).tolist() == values


@EACH
@CUT
def test_nulls_of_pyarrow_are_counted_in_the_slice(name, cut):
    array, values = cut_of(name, cut)
    assert lend.column(array).null_count == values.count(None)


@EACH
@CUT
def test_arrays_of_pyarrow_cut_here_have_the_values_of_the_list(name, cut):
    array, values = ARRAYS[name]
    assert lend.column(array)[cut].tolist() == values[cut]


@EACH
@CUT
def test_arrays_of_pyarrow_come_back_valid_and_equal(name, cut):
    import pyarrow as pa

    array, values = ARRAYS[name]
    back = pa.array(lend.column(array)[cut])
    back.validate(full=True)
    assert (back.type, lend.column(back).tolist()) == (array.type, values[cut])


@EACH
def test_arrays_of_pyarrow_come_back_at_their_addresses(name):
    import pyarrow as pa

    array, _ = ARRAYS[name]
    back = pa.array(lend.column(array))
    assert [part and part.address for part in back.buffers()] == [part and part.address for part in array.buffers()]


@EACH
def test_arrays_of_pyarrow_pass_their_full_check(name):
    assert lend.column(ARRAYS[name][0]).verify(full=True) is None


@pytest.mark.parametrize("name", [name for name in ARRAYS if name not in NOT_IN_MINIMAL])
@CUT
def test_both_implementations_read_arrays_of_pyarrow_alike(name, cut):
    array, _ = cut_of(name, cut)
    assert lend.column(array).tolist() == minimal.column(array).tolist()


@EACH
def test_chunks_of_pyarrow_are_chunks(name):
    import pyarrow as pa

    array, values = ARRAYS[name]
    chunked = pa.chunked_array([array.slice(1, 3), array.slice(0, 0), array.slice(4)])
    assert [part.tolist() for part in lend.column(chunked).chunks] == [values[1:4], [], values[4:]]


# NULL-5
@pytest.mark.parametrize("values", [[None, None], []], ids=["all null", "empty"])
def test_dictionaries_without_a_value_stay_dictionaries(values):
    import pyarrow as pa

    array = pa.array(values, pa.dictionary(pa.int8(), pa.string()))
    back = pa.array(lend.column(array))
    back.validate(full=True)
    assert back.equals(array)


# TYPE-10
@pytest.mark.parametrize("index", ["int8", "uint16", "int32", "uint64"])
def test_dictionaries_of_any_value_and_index_keep_their_order(index):
    import pyarrow as pa

    kind = pa.dictionary(getattr(pa, index)(), pa.int64(), ordered=True)
    array = pa.DictionaryArray.from_arrays(pa.array([1, None, 0], kind.index_type), pa.array([5, 2**62]), ordered=True)
    column = lend.column(array)
    assert (column.tolist(), column.dtype.ordered, pa.array(column).type) == ([2**62, None, 5], True, kind)


# SLICE-13
def test_chunks_may_have_dictionaries_of_their_own():
    import pyarrow as pa

    parts = [pa.array(["b", "a"]).dictionary_encode(), pa.array(["a", None, "z"]).dictionary_encode()]
    assert lend.column(pa.chunked_array(parts)).tolist() == ["b", "a", "a", None, "z"]


# SLICE-5
@pytest.mark.parametrize("start", range(12))
def test_structs_with_nulls_of_polars_are_cut_once(start):
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    values = [{"a": 1, "b": None}, None, {"a": None, "b": "thirteen bytes"}] * 4
    series = pl.Series("s", values, pl.Struct({"a": pl.Int64, "b": pl.String}))
    column = lend.column(series.slice(start))
    back = pa.chunked_array(column)
    back.validate(full=True)
    assert (column.tolist(), back.to_pylist()) == (values[start:], values[start:])


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


try:
    SERIES = series()
except ImportError:
    SERIES = {}
EACH_SERIES = pytest.mark.parametrize(
    "name", SERIES or [pytest.param("", marks=pytest.mark.skip(reason="polars is not here"))]
)


# EMPTY-4, STREAM-6
@EACH_SERIES
def test_series_of_polars_have_their_values(name):
    column = lend.column(SERIES[name][0])
    assert (column.tolist(), column.null_count, column.name) == (
        SERIES[name][1], SERIES[name][1].count(None), name,
    )  # fmt: skip


@EACH_SERIES
def test_series_of_polars_come_back_equal(name):
    import polars as pl

    source, _ = SERIES[name]
    back = pl.Series(lend.column(source))
    assert (back.dtype, back.to_list(), back.name) == (source.dtype, source.to_list(), name)


@EACH_SERIES
def test_series_of_polars_pass_their_full_check(name):
    assert lend.column(SERIES[name][0]).verify(full=True) is None


@EACH_SERIES
def test_no_rows_of_series_of_polars_are_given_to_others(name):
    pa = pytest.importorskip("pyarrow")
    source, _ = SERIES[name]
    if name == "Int128":
        pytest.skip("pyarrow has no such type")
    assert len(pa.chunked_array(lend.column(source)[:0])) == 0


# SLICE-11
def test_taking_a_series_of_polars_leaves_its_chunks_alone():
    pl = pytest.importorskip("polars")
    source = pl.concat([pl.Series([1, 2]), pl.Series([3])], rechunk=False)
    column = lend.column(source)
    assert (source.n_chunks(), len(column.chunks), column.tolist()) == (2, 2, [1, 2, 3])


@EACH
def test_arro3_takes_what_pyarrow_gave_and_gives_it_back(name):
    arro3 = pytest.importorskip("arro3.core")
    if name == "list view":
        pytest.skip("arro3 0.9 has no such array")
    array, values = ARRAYS[name]
    assert lend.column(arro3.Array.from_arrow(lend.column(array)[1:])).tolist() == values[1:]


@pytest.mark.parametrize("name", [name for name in ARRAYS if "view" not in name] or [""])
def test_nanoarrow_takes_what_pyarrow_gave_and_gives_it_back(name):
    na = pytest.importorskip("nanoarrow")  # never text in views: 0.9 ends the process
    array, values = ARRAYS[name]
    assert lend.column(na.c_array(lend.column(array)[1:])).tolist() == values[1:]


@EACH
def test_a_child_of_pyarrow_outlives_its_array(name):
    import gc

    import pyarrow as pa

    array, values = ARRAYS[name]
    rows = pa.StructArray.from_arrays([array, array], names=["a", "b"])
    child = lend.column(rows).children[1]
    del rows
    gc.collect()
    assert child.tolist() == values


# STREAM-12
def test_numbers_at_an_odd_address_are_read():
    pa = pytest.importorskip("pyarrow")
    np = pytest.importorskip("numpy")
    room = np.zeros(8 * 3 + 1, "u1")
    at = 1 if room.ctypes.data % 8 == 0 else 0
    room[at : at + 24] = np.array([1, -2, 2**62]).view("u1")
    array = pa.Array.from_buffers(pa.int64(), 3, [None, pa.py_buffer(room[at : at + 24])])
    column = lend.column(array)
    assert (column.tolist(), column.view().aligned) == ([1, -2, 2**62], False)


class Told:
    """An object whose interface is an attribute of it, not of its class."""

    def __init__(self, facts):
        self.__array_interface__ = facts


def test_a_mask_in_an_interface_that_the_object_alone_has_is_taken():
    np = pytest.importorskip("numpy")
    array, mask = np.array([1, 2, 3]), np.array([True, False, True])
    made = lend.column(Told(array.__array_interface__ | {"mask": mask}))
    assert (made.tolist(), made.nulls.missing) == ([1, None, 3], 0)


class Unreadable:
    """Something that no protocol lends, with an interface that cannot be asked."""

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **options):
        raise BufferError("bits of eight")

    @property
    def __cuda_array_interface__(self):
        raise AttributeError("not on this device")


def test_what_an_interface_raises_when_it_is_asked_for_a_mask_hides_no_refusal():
    with pytest.raises(lend.LendError):
        lend.column(Unreadable())


def test_bits_of_torch_are_refused_as_lend_view_refuses_them():
    torch = pytest.importorskip("torch")
    tensor = torch.zeros(2, dtype=torch.uint8).view(torch.bits8)
    with pytest.raises(lend.LendError) as view:
        lend.view(tensor)
    with pytest.raises(lend.LendError) as column:
        lend.column(tensor)
    assert str(column.value) == str(view.value)
