"""The dataframe protocol that a Column of the minimal implementation gives, judged by its page and by its readers."""

import copy
import datetime
import math
import pickle
import random
import struct
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lend import minimal
from support.arrow_layouts import Kind, encode, values_of
from support.arrow_structs import Made, Node
from support.told_frames import BITS, BYTES, NAN, NONE, SENTINEL, ToldFrame, floats, ints

KINDS = [Kind(format) for format in (*"cCsSiIlLefgbuU", "tss:", "tsm:", "tsu:", "tsn:", "tsu:UTC")]
KINDS += [Kind("c", (), Kind("u")), Kind("l", (), Kind("tsu:"))]


def column(kind, values, *, seed=0, name="a"):
    return minimal.column(Made(encode(kind, values, random.Random(seed), name)))


def table(columns):
    """A table of (name, Kind, values)."""
    rows = [
        dict(zip([name for name, _, _ in columns], row, strict=True))
        for row in zip(*(c[2] for c in columns), strict=True)
    ]
    kind = Kind("+s", tuple((name, kind) for name, kind, _ in columns))
    return minimal.column(Made(encode(kind, rows, random.Random(3), ""))), rows


class Shown:
    """An object that has nothing but this frame, so that it is read again by `__dataframe__`."""

    def __init__(self, frame):
        self.frame = frame

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self.frame


@pytest.mark.parametrize("kind", KINDS, ids=str)
@settings(max_examples=15)
@given(data=st.data())
def test_what_is_given_is_read_again(kind, data):
    values, seed = data.draw(st.lists(values_of(kind), max_size=12)), data.draw(st.integers(0, 99))
    given = column(kind, values, seed=seed)
    again = minimal.column(Shown(given.__dataframe__()), allow_copy=False).children[0]
    assert again.tolist() == values
    assert (again.name, again.null_count) == ("a", values.count(None))


def test_the_memory_is_the_same_each_time_and_the_columns_own():
    given = column(Kind("u"), ["x", None, "y"])
    told = given.__dataframe__().get_column_by_name("a")
    found = [{role: pair[0].ptr for role, pair in told.get_buffers().items()} for _ in range(2)]
    assert found[0] == found[1]
    assert found[0]["offsets"] == given.buffers["offsets"].ptr + 4 * (given.offset - given.offset % 8)
    assert found[0]["data"] == given.buffers["data"].ptr


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("start", [0, 1, 8, 13])
def test_buffers_begin_with_the_column_or_with_the_byte_of_its_first_bit(kind, start):
    given = column(kind, [None] * 13)[start:]
    told = given.__dataframe__().get_column(0)
    assert told.offset == given.offset % 8
    assert told.get_buffers()["validity"][0].ptr == given.buffers["validity"].ptr + given.offset // 8


DTYPES = [
    ("l", (0, 64, "l", "="), {"data": (0, 64, "l", "=")}),
    ("C", (1, 8, "C", "="), {"data": (1, 8, "C", "=")}),
    ("e", (2, 16, "e", "="), {"data": (2, 16, "e", "=")}),
    ("b", (20, 1, "b", "="), {"data": (20, 1, "b", "=")}),
    ("u", (21, 8, "u", "="), {"data": (1, 8, "C", "="), "offsets": (0, 32, "i", "=")}),
    ("U", (21, 8, "U", "="), {"data": (1, 8, "C", "="), "offsets": (0, 64, "l", "=")}),
    ("tsn:UTC", (22, 64, "tsn:UTC", "="), {"data": (0, 64, "l", "=")}),
]


@pytest.mark.parametrize(("format", "dtype", "buffers"), DTYPES, ids=[row[0] for row in DTYPES])
def test_dtypes_are_the_columns_and_those_beside_buffers_the_buffers_own(format, dtype, buffers):
    told = column(Kind(format), [None]).__dataframe__().get_column(0)
    found = {role: pair[1] for role, pair in told.get_buffers().items() if pair is not None}
    assert told.dtype == dtype
    assert found == buffers | {"validity": (20, 1, "b", "=")}


def test_codes_have_the_dtype_of_their_integers_and_categories_are_a_column():
    told = column(Kind("s", (), Kind("u")), ["x", None, "y", "x"]).__dataframe__().get_column(0)
    assert told.dtype == (23, 16, "s", "=")
    assert told.get_buffers()["data"][1] == (0, 16, "s", "=")
    said = told.describe_categorical
    assert (said["is_ordered"], said["is_dictionary"], said["categories"].dtype) == (False, True, (21, 8, "u", "="))


def test_what_is_not_categorical_says_so_with_a_type_error():
    with pytest.raises(TypeError, match="not categorical"):
        column(Kind("l"), [1]).__dataframe__().get_column(0).describe_categorical


NULLS = [
    (lambda np: np.array([1, 2]), (0, None), 0),
    (lambda np: np.ma.MaskedArray([1, 2], [True, False]), (BYTES, 1), 1),
    (lambda np: np.array(["NaT", 1], "M8[s]"), (2, -(2**63)), 1),
    (lambda np: Made(Node("l", 2, 1, 0, [b"\1", bytes(16)])), (BITS, 0), 1),
    (lambda np: Made(Node("l", 2, 0, 0, [None, bytes(16)])), (0, None), 0),
]


@pytest.mark.parametrize(("make", "told", "count"), NULLS)
def test_nulls_are_told_as_the_column_has_them(make, told, count):
    np = pytest.importorskip("numpy")
    given = minimal.column(make(np)).__dataframe__().get_column(0)
    assert (given.describe_null, given.null_count) == (told, count)
    validity = given.get_buffers()["validity"]
    assert (validity[1][1] if validity else None) == {BITS: 1, BYTES: 8}.get(told[0])


@pytest.mark.parametrize("null", [(1, None), (2, 2.0), (4, 0), (4, 1)])
def test_nulls_that_came_by_the_protocol_go_by_it_as_they_came(null):
    told = floats(1, 2, null=null, **({"validity": b"\0\1"} if null[0] == 4 else {}))
    again = minimal.column(ToldFrame({"a": told})).__dataframe__().get_column(0)
    assert again.describe_null == null


def test_a_frame_names_counts_and_selects_its_columns():
    given, rows = table(
        [("a", Kind("l"), [1, None, 3]), ("b", Kind("u"), ["x", "y", None]), ("c", Kind("b"), [True] * 3)]
    )
    frame = given[1:].__dataframe__(allow_copy=False)
    assert (frame.num_columns(), frame.num_rows(), frame.num_chunks(), frame.version) == (3, 2, 1, 0)
    assert list(frame.column_names()) == ["a", "b", "c"]
    assert [told.size() for told in frame.get_columns()] == [2, 2, 2]
    for part in (frame.select_columns([2, 0]), frame.select_columns_by_name(["c", "a"]), frame.__dataframe__()):
        names = part.column_names()
        assert minimal.column(Shown(part)).tolist() == [{name: row[name] for name in names} for row in rows[1:]]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7])
def test_chunks_of_a_frame_and_of_a_column_are_the_whole(count):
    given, rows = table([("a", Kind("l"), [1, None, 3, 4, 5]), ("b", Kind("u"), ["x", "y", None, "", "z"])])
    parts = list(given.__dataframe__().get_chunks(count))
    assert len(parts) == count
    assert [row for part in parts for row in minimal.column(Shown(part)).tolist()] == rows
    told = given.__dataframe__().get_column(1).get_chunks(count)
    assert [len(told), sum(part.size() for part in told)] == [count, 5]


def test_two_columns_of_one_name_are_refused_by_the_name():
    fields = [Node("n", 1, name="twice"), Node("n", 1, name="twice")]
    with pytest.raises(minimal.Refused, match="twice"):
        minimal.column(Made(Node("+s", 1, buffers=[None], children=fields))).__dataframe__()


def test_rows_that_are_missing_are_refused():
    with pytest.raises(minimal.Refused, match="no null rows"):
        column(Kind("+s", (("a", Kind("l")),)), [None]).__dataframe__()


def test_nan_as_null_is_refused_rather_than_forgotten():
    frame = column(Kind("g"), [1.0]).__dataframe__()
    with pytest.raises(minimal.Refused, match="nan_as_null"):
        frame.__dataframe__(nan_as_null=True)
    with pytest.raises(minimal.Refused, match="nan_as_null"):
        column(Kind("g"), [1.0]).__dataframe__(nan_as_null=True)


ODD = ["n", "tdD", "ttu", "tDs", "d:9,2,32", "z", "vu", "w:3", "tin"]


@pytest.mark.parametrize("format", ODD)
def test_an_odd_column_refuses_alone_by_its_type(format):
    given, _ = table([("odd", Kind(format), [None]), ("a", Kind("l"), [7])])
    frame = given.__dataframe__()
    assert (frame.column_names(), frame.get_column(0).size()) == (["odd", "a"], 1)
    with pytest.raises(minimal.Refused, match=f"no word for <Column 'odd' {format}"):
        frame.get_column_by_name("odd").dtype
    assert minimal.column(Shown(frame.select_columns([1]))).tolist() == [{"a": 7}]


def test_a_device_is_told_by_the_buffers():
    from support.told_frames import ToldBuffer, ToldColumn

    far = ToldColumn((0, 64, "l", "="), 1, data=ToldBuffer(b"", ptr=2**40, bufsize=8, device=(2, 3)))
    told = minimal.column(ToldFrame({"a": far})).__dataframe__().get_column(0)
    assert told.get_buffers()["data"][0].__dlpack_device__() == (2, 3)
    assert minimal.column(ToldFrame({"a": ints(1)})).__dataframe__().get_column(0).get_buffers()["data"][
        0
    ].__dlpack_device__() == (1, 0)


SIMPLE = [
    ("i", Kind("l"), [1, None, 2**62 + 1, 4]),
    ("u", Kind("C"), [1, 2, 3, 255]),
    ("f", Kind("g"), [1.5, None, float("inf"), 0.0]),
    ("s", Kind("u"), ["x", None, "ü", ""]),
    ("S", Kind("U"), ["x", None, "ü", ""]),
    ("t", Kind("tsu:"), [datetime.datetime(2024, 1, 1, microsecond=5), None, datetime.datetime(1969, 1, 1)] * 1
     + [datetime.datetime(2000, 2, 29)]),
    ("b", Kind("b"), [True, None, False, True]),
    ("B", Kind("b"), [True, False, False, True]),
    ("d", Kind("c", (), Kind("u")), ["x", None, "y", "x"]),
    ("D", Kind("S", (), Kind("tsu:UTC")), [datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)] * 4),
    ("n", Kind("s", (), Kind("g")), [1.5, 2.5, None, 1.5]),
]  # fmt: skip


def read_by_pyarrow(frame):
    pytest.importorskip("pyarrow")
    from pyarrow import interchange

    return interchange.from_dataframe(Shown(frame)).to_pydict()


@pytest.mark.parametrize("start", range(4))
def test_pyarrow_reads_what_is_given(start):
    given, rows = table(SIMPLE)
    found = read_by_pyarrow(given[start:].__dataframe__())
    assert found == {name: [row[name] for row in rows[start:]] for name in rows[0]}


def test_pyarrow_reads_a_mask_of_bytes():
    pa, np = pytest.importorskip("pyarrow"), pytest.importorskip("numpy")
    from pyarrow import interchange

    masked = minimal.column(np.ma.MaskedArray([1, 2, 3, 4], [True, False, True, False]))
    found = interchange.from_dataframe(Shown(masked.__dataframe__()))
    assert isinstance(found, pa.Table)
    assert found.column(0).to_pylist() == [None, 2, None, 4]


def read_by_pandas(frame):
    pd = pytest.importorskip("pandas")
    with warnings.catch_warnings():  # Pandas4Warning: the protocol is going
        warnings.filterwarnings("ignore", category=DeprecationWarning, message=".*(interchange|dataframe)")
        found = pd.api.interchange.from_dataframe(Shown(frame))
    return {name: [None if pd.isna(value) else value for value in found[name]] for name in found.columns}


@pytest.mark.parametrize("start", range(4))
def test_pandas_reads_what_is_given(start):
    """It makes floats of integers, and False of booleans, that are missing; categories have a test of their own."""
    given, rows = table([(name, kind, values) for name, kind, values in SIMPLE if name not in "ibdDn"])
    found = read_by_pandas(given[start:].__dataframe__())
    assert found == {name: [row[name] for row in rows[start:]] for name in rows[0]}


WORDS = [
    (Kind("u"), ["x", "ü", ""]),
    (Kind("g"), [1.5, -2.0, 7.0]),
    (Kind("b"), [True, False]),
    (Kind("tsn:"), [datetime.datetime(2024, 1, day) for day in (1, 2, 3)]),
    (Kind("tsu:UTC"), [datetime.datetime(2024, 1, day, tzinfo=datetime.UTC) for day in (1, 2, 3)]),
]


@pytest.mark.parametrize("start", range(4))
@pytest.mark.parametrize(("kind", "words"), WORDS, ids=str)
def test_pandas_reads_categories(kind, words, start):
    node = Node("c", 4, 1, buffers=[b"\x0d", bytes([1, 9, 0, 1])], dictionary=encode(kind, words, random.Random(1)))
    given = minimal.column(Made(node))[start:]
    assert read_by_pandas(given.__dataframe__()) == {"": [words[1], None, words[0], words[1]][start:]}


def test_the_categories_that_are_missing_are_not_lost_on_pandas():
    words = Node("l", 2, 1, buffers=[b"\1", struct.pack("2q", 5, 6)])
    made = Made(Node("c", 2, buffers=[None, bytes([0, 1])], dictionary=words))
    with pytest.raises(ValueError, match="cannot be null"):
        read_by_pandas(minimal.column(made).__dataframe__())


@pytest.mark.parametrize(("seed", "start"), [(seed, start) for seed in range(9) for start in range(3)])
def test_pandas_reads_nulls_by_a_mask_of_bytes(seed, start):
    np = pytest.importorskip("numpy")
    gone = [random.Random(seed + i).random() < 0.5 for i in range(5)]
    given = minimal.column(np.ma.MaskedArray(np.arange(5.0), gone))[start:]
    assert read_by_pandas(given.__dataframe__()) == {
        "": [None if lost else float(i) for i, lost in enumerate(gone)][start:]
    }


READERS = {"pyarrow": read_by_pyarrow, "pandas": read_by_pandas}
GONE = [False, True, False, True, False, False, False, True, False, False, True]
TURNED = "bits, 1 is missing"
# how it is told what is missing, what lies under it then, and the mask of bits or bytes
FIVE = {
    "none": ((NONE, None), 0.0, None),
    "nan": ((NAN, None), math.nan, None),
    "sentinel": ((SENTINEL, -1.0), -1.0, None),
    "bits, 0 is missing": ((BITS, 0), 0.0, bytes([0b01110101, 0b011])),
    TURNED: ((BITS, 1), 0.0, bytes([0b10001010, 0b100])),
    "bytes, 0 is missing": ((BYTES, 0), 0.0, bytes(not lost for lost in GONE)),
    "bytes, 1 is missing": ((BYTES, 1), 0.0, bytes(GONE)),
}


SLICES = [
    (reader, nulls, start)
    for reader in READERS
    for nulls in FIVE
    for start in range(len(GONE))
    # pandas looks for sentinels only where there is a mask, too; pyarrow turns such bits around, and counts what it has
    # made of them from an offset that is not in there
    if (reader, nulls) != ("pandas", "sentinel") and (reader, nulls, start % 8 > 0) != ("pyarrow", TURNED, True)
]


@pytest.mark.parametrize(("reader", "nulls", "start"), SLICES)
def test_a_slice_is_read_with_every_kind_of_nulls(reader, nulls, start):
    null, under, mask = FIVE[nulls]
    lying = [under if lost else i + 0.5 for i, lost in enumerate(GONE)]
    held = {} if mask is None else {"validity": mask}
    given = minimal.column(ToldFrame({"a": floats(*lying, null=null, **held)}))["a"]
    values = [0.0 if lost else i + 0.5 for i, lost in enumerate(GONE)]
    if nulls != "none":
        values = [None if lost else value for lost, value in zip(GONE, values, strict=True)]
    for stop in (len(GONE), len(GONE) - 1):
        assert READERS[reader](given[start:stop].__dataframe__()) == {"a": values[start:stop]}


def test_what_pandas_keeps_of_a_frame_may_be_copied_and_the_memory_is_given_back_once():
    made = Made(Node("l", 2, 0, 0, [None, struct.pack("2q", 1, 2)]))
    held = minimal.column(made).buffers["data"]
    copies = [copy.copy(held), copy.deepcopy(held), copy.deepcopy(held.owner)]
    assert (copies[1].ptr, copies[1].owner, copies[2]) == (held.ptr, held.owner, held.owner)
    del held
    assert made.released == {}
    copies.clear()
    assert made.released == {"": 1}


def test_an_owner_is_not_pickled_as_its_addresses_mean_nothing_elsewhere():
    with pytest.raises(minimal.Refused, match="not pickled"):
        pickle.dumps(minimal.buffer(bytearray(3)))
