"""Frames of the dataframe protocol that the minimal implementation takes: hand-made ones, and those of libraries."""

import datetime
import gc
import struct
import warnings
import weakref

import pytest

from lend import minimal
from support.told_frames import (
    BITS,
    BOOL,
    BYTES,
    CATEGORICAL,
    DATETIME,
    FLOAT,
    INT,
    NAN,
    NAT,
    SENTINEL,
    STRING,
    UINT,
    ToldBuffer,
    ToldColumn,
    ToldFrame,
    floats,
    ints,
    texts,
)


def read(told, **keywords):
    return minimal.column(ToldFrame({"a": told}), **keywords).children[0]


def values(told):
    return read(told).tolist()


def small(code, bits, *numbers, **said):
    data = struct.pack(f"{len(numbers)}{code}", *numbers)
    return ToldColumn((FLOAT, bits, code, "="), len(numbers), data=data, **said)


NULLS = {
    "none": (ints(1, 2, 3), [1, 2, 3]),
    "none, and NaN is a value": (floats(1, float("inf")), [1.0, float("inf")]),
    "nan": (floats(1, float("nan"), 3, null=(NAN, None)), [1.0, None, 3.0]),
    "a sentinel": (ints(1, -9, 3, null=(SENTINEL, -9)), [1, None, 3]),
    "a sentinel of floats": (floats(1, -9, 3, null=(SENTINEL, -9)), [1.0, None, 3.0]),
    "a sentinel that float32 rounds": (small("f", 32, 0.5, 0.1, null=(SENTINEL, 0.1)), [0.5, None]),
    "a sentinel that float16 rounds": (small("e", 16, 0.5, 0.1, null=(SENTINEL, 0.1)), [0.5, None]),
    "a sentinel that is NaN": (floats(1, float("nan"), null=(SENTINEL, float("nan"))), [1.0, None]),
    "bits, 0 is missing": (ints(1, 2, 3, null=(BITS, 0), validity=b"\x05"), [1, None, 3]),
    "bits, 1 is missing": (ints(1, 2, 3, null=(BITS, 1), validity=b"\x05"), [None, 2, None]),
    "bytes, 0 is missing": (ints(1, 2, 3, null=(BYTES, 0), validity=b"\1\0\1"), [1, None, 3]),
    "bytes, 1 is missing": (ints(1, 2, 3, null=(BYTES, 1), validity=b"\1\0\1"), [None, 2, None]),
    "bytes that are neither": (ints(1, 2, 3, null=(BYTES, 1), validity=b"\xff\0\x80"), [None, 2, None]),
    "a mask kind, no mask, no nulls": (ints(1, 2, null=(BITS, 0), null_count=0), [1, 2]),
    "no nulls, and a mask": (ints(1, 2, null_count=0, validity=b"\0"), [1, 2]),
}


@pytest.mark.parametrize("case", NULLS)
def test_nulls_are_read_by_their_kind_and_polarity(case):
    told, expected = NULLS[case]
    assert values(told) == expected


def at(told, offset, size):
    told.offset, told.rows = offset, size
    return told


@pytest.mark.parametrize("offset", range(12))
@pytest.mark.parametrize("null", [(BITS, 0), (BITS, 1), (BYTES, 0), (BYTES, 1)])
def test_an_offset_counts_in_every_buffer(offset, null):
    flags = [(i % 3 != 0) != (null[1] == 1) for i in range(14)]
    bits = bytes(sum(flags[8 * k + i] << i for i in range(8) if 8 * k + i < 14) for k in range(2))
    mask = bits if null[0] == BITS else bytes(flags)
    expected = [None if i % 3 == 0 else i for i in range(offset, 14)]
    assert values(at(ints(*range(14), null=null, validity=mask), offset, 14 - offset)) == expected
    words = at(texts(*map(str, range(14)), null=null, validity=mask), offset, 14 - offset)
    assert values(words) == [None if value is None else str(value) for value in expected]


TYPES = [
    ((INT, 8, "c", "="), b"\xff\1", [-1, 1]),
    ((UINT, 16, "S", "="), b"\xff\xff\1\0", [65535, 1]),
    ((FLOAT, 16, "e", "="), struct.pack("2e", 0.5, -1), [0.5, -1.0]),
    ((BOOL, 8, "b", "="), b"\1\0", [True, False]),
    ((BOOL, 1, "b", "="), b"\2", [False, True]),
    ((BOOL, 8, "|b1", "="), b"\1\0", [True, False]),
    (
        (DATETIME, 64, "tsu:", "="),
        struct.pack("2q", 0, 1),
        [datetime.datetime(1970, 1, 1, microsecond=i) for i in (0, 1)],
    ),
    (
        (DATETIME, 64, "tss:+02:00", "="),
        struct.pack("2q", 0, 60),
        [datetime.datetime(1970, 1, 1, 0, i, tzinfo=datetime.UTC) for i in (0, 1)],
    ),
]


@pytest.mark.parametrize(("dtype", "data", "expected"), TYPES, ids=[str(dtype) for dtype, _, _ in TYPES])
def test_types_are_read_by_the_column(dtype, data, expected):
    assert values(ToldColumn(dtype, 2, data=data)) == expected


def test_the_dtypes_beside_data_may_be_wrong():
    assert values(ToldColumn((INT, 64, "l", "="), 1, data=(bytes(8), (FLOAT, 64)))) == [0]
    assert values(texts("ä", data=("ä".encode(), (STRING, 8, "u", "=")))) == ["ä"]


@pytest.mark.parametrize("said", [NAT, None])
def test_a_time_that_is_missing_is_nat_by_sentinel_or_by_nan(said):
    null = (NAN, None) if said is None else (SENTINEL, said)
    told = ToldColumn((DATETIME, 64, "tsn:", "="), 2, data=struct.pack("2q", NAT, 0), null=null)
    assert values(told) == [None, datetime.datetime(1970, 1, 1)]


def test_offsets_of_64_bits_are_known_by_the_dtype_of_their_buffer():
    """pandas says "u" beside them."""
    told = texts("x", "yz", "", format="U")
    told.dtype = (STRING, 8, "u", "=")
    told.held["offsets"] = (told.held["offsets"], (INT, 64, "l", "="))
    assert values(told) == ["x", "yz", ""]


def test_offsets_of_32_bits_with_many_more_behind_them_are_still_of_32_bits():
    told = texts(*"abcdefgh")
    told.rows = 2
    assert values(told) == ["a", "b"]


@pytest.mark.parametrize("form", [dict, tuple])
def test_categories_come_in_a_dict_or_in_the_older_tuple(form):
    words = texts("x", "unused", "y")
    said = {"is_ordered": True, "is_dictionary": True, "categories": words}
    said = said if form is dict else tuple(said.values())
    told = ToldColumn((CATEGORICAL, 8, "c", "="), 4, data=b"\2\xff\0\2", null=(SENTINEL, -1), categories=said)
    column = read(told)
    assert (column.tolist(), column.about["ordered"]) == (["y", None, "x", "y"], True)
    assert column.dictionary.tolist() == ["x", "unused", "y"]


@pytest.mark.parametrize(("bits", "format"), [(8, "?"), (16, "s"), (32, "U"), (64, "l")])
def test_codes_keep_their_width_whatever_their_format_says(bits, format):
    said = {"is_ordered": False, "is_dictionary": True, "categories": ints(10, 20)}
    data = (1).to_bytes(bits // 8, "little")
    assert values(ToldColumn((CATEGORICAL, bits, format, "="), 1, data=data, categories=said)) == [20]


REFUSED = {
    "data too small": (ToldColumn((INT, 64, "l", "="), 3, data=bytes(23)), "needs 24 bytes of data"),
    "data too small for the offset": (ToldColumn((INT, 64, "l", "="), 1, offset=1, data=bytes(8)), "needs 16 bytes"),
    "no kind": (ToldColumn((None, 40, "w:5", "="), 1, data=bytes(5)), "of kind None with 40 bits"),
    "no kind, and no data": (ToldColumn((None, 0, "n", "="), 1, null=(NAN, None)), "of kind None with 0 bits"),
    "no data": (ToldColumn((INT, 64, "l", "="), 1), "needs 8 bytes of data, and None was given"),
    "bits too few": (ints(*range(9), null=(BITS, 0), validity=b"\0"), "needs 2 bytes of validity"),
    "bytes too few": (ints(1, 2, null=(BYTES, 0), validity=b"\0"), "needs 2 bytes of validity"),
    "offsets too few": (texts("a", "b", offsets=bytes(8)), "needs 12 bytes of offsets"),
    "offsets that leave": (texts("a", offsets=struct.pack("2i", 0, 2)), "offsets from 0 to 2"),
    "offsets that decrease": (texts("a", offsets=struct.pack("2i", 1, 0)), "offsets from 1 to 0"),
    "nulls, and no mask": (ints(1, null=(BITS, 0), null_count=1), "1 nulls in the buffers"),
    "unknown nulls, and no mask": (ints(1, null=(BYTES, 0)), "None nulls in the buffers"),
    "no nulls, and some are counted": (ints(1, validity=b"\0", null_count=1), "kind 0, and 1 nulls"),
    "a mask of bytes told as bits": (
        ints(1, null=(BITS, 0), validity=(b"\0", (BOOL, 8, "b", "="))),
        "a mask of 8 bits",
    ),
    "a mask of bits told as bytes": (
        ints(1, null=(BYTES, 0), validity=(b"\0", (BOOL, 1, "b", "="))),
        "a mask of 1 bit",
    ),
    "a polarity that is none": (ints(1, null=(BITS, None), validity=b"\0"), "nulls by kind 3 and None"),
    "a polarity of 2": (ints(1, null=(BYTES, 2), validity=b"\0"), "nulls by kind 4 and 2"),
    "a null kind that is none": (ints(1, null=(7, 0)), "nulls 7"),
    "NaN of integers": (ints(1, null=(NAN, None)), "nulls by kind 1, which 'l' does not have"),
    "a sentinel of text": (texts("a", null=(SENTINEL, "")), "nulls by kind 2, which 'u' does not have"),
    "a sentinel that is no number": (ints(1, null=(SENTINEL, "x")), "TypeError"),
    "a kind against its format": (
        ToldColumn((INT, 64, "g", "="), 1, data=bytes(8)),
        "kind 0 with 64 bits in the format 'g'",
    ),
    "a width against its format": (ToldColumn((INT, 32, "l", "="), 1, data=bytes(8)), "32 bits in the format 'l'"),
    "a format of NumPy": (ToldColumn((INT, 64, "<i8", "="), 1, data=bytes(8)), "'<i8' is not read"),
    "a kind that is none": (ToldColumn((99, 64, "l", "="), 1, data=bytes(8)), "kind 99"),
    "another byte order": (ToldColumn((INT, 64, "l", ">"), 1, data=bytes(8)), "byte order '>'"),
    "a negative size": (ToldColumn((INT, 64, "l", "="), -1, data=bytes(8)), "-1 rows"),
    "a negative offset": (ToldColumn((INT, 64, "l", "="), 1, offset=-1, data=bytes(8)), "rows from -1"),
    "several chunks": (ToldColumn((INT, 64, "l", "="), 1, chunks=2, data=bytes(8)), "2 chunks"),
    "an address that is no integer": (
        ToldColumn((INT, 64, "l", "="), 1, data=ToldBuffer(bytes(8), ptr=None)),
        "data of 'a' are given as .*ToldBuffer, without an integer ptr",
    ),
    "NULL data": (ToldColumn((INT, 64, "l", "="), 1, data=ToldBuffer(bytes(8), ptr=0)), "address 0"),
    "a negative bufsize": (ToldColumn((INT, 64, "l", "="), 1, data=ToldBuffer(bytes(8), bufsize=-8)), "negative"),
    "categories that are none": (
        ToldColumn((CATEGORICAL, 8, "c", "="), 1, data=b"\0", categories=(False, False, None)),
        "AttributeError",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_contradicts_itself_is_refused(case):
    told, said = REFUSED[case]
    with pytest.raises(minimal.Refused, match=said):
        read(told)


def test_a_code_beyond_the_categories_is_refused_when_it_is_read():
    said = {"is_ordered": False, "is_dictionary": True, "categories": ints(10, 20)}
    column = read(ToldColumn((CATEGORICAL, 8, "c", "="), 1, data=b"\xff", categories=said))
    with pytest.raises(minimal.Refused, match="dictionary of 2 values"):
        column.tolist()


def test_memory_of_a_device_is_described_and_not_read():
    told = ToldColumn((INT, 64, "l", "="), 1, data=ToldBuffer(b"", ptr=2**40, bufsize=8, device=(2, 3)))
    column = read(told)
    assert (column.buffers["data"].device, column.buffers["data"].ptr) == ((2, 3), 2**40)
    with pytest.raises(minimal.Refused, match="the host does not read"):
        column.tolist()


def test_offsets_on_a_device_are_not_looked_at():
    far = ToldBuffer(b"", ptr=2**40, bufsize=8, device=(2, 0))
    column = read(texts("a", offsets=far, data=ToldBuffer(b"", ptr=2**41, bufsize=1, device=(2, 0))))
    assert column.buffers["offsets"].ptr == 2**40


def test_buffers_are_asked_for_once_and_copies_by_leave_alone():
    told = ints(1)
    frame = ToldFrame({"a": told})
    minimal.column(frame)
    minimal.column(frame, allow_copy=True)
    assert (frame.asked, told.asked) == ([False, True], 2)


class Bare:
    """A buffer that keeps nothing alive: what gave it does."""

    def __init__(self, told):
        self.ptr, self.bufsize = told.ptr, told.bufsize

    def __dlpack_device__(self):
        return (1, None)


class Keeping(ToldColumn):
    """A column that owns the memory of its buffers."""

    def get_buffers(self):
        self.lent = super().get_buffers()
        return {role: pair and (Bare(pair[0]), pair[1]) for role, pair in self.lent.items()}


def keeping_frame():
    data = struct.pack("2b", 0, 1)
    words = Keeping((INT, 64, "l", "="), 2, data=struct.pack("2q", 5, 6))
    said = {"is_ordered": False, "is_dictionary": True, "categories": words}
    column = Keeping((CATEGORICAL, 8, "c", "="), 2, data=data, categories=said)
    return ToldFrame({"a": column}), column, words


@pytest.mark.parametrize("part", ["codes", "categories"])
@pytest.mark.parametrize("keeper", ["the frame", "the column"])
def test_whatever_gave_a_buffer_lives_as_long_as_it(part, keeper):
    frame, column, _ = keeping_frame()
    gone = weakref.ref(frame if keeper == "the frame" else column)
    taken = minimal.column(frame)["a"]
    held = (taken if part == "codes" else taken.dictionary).buffers["data"]
    del frame, column, taken
    gc.collect()
    assert gone() is not None
    del held
    gc.collect()
    assert gone() is None


def test_the_column_of_categories_lives_as_long_as_their_buffer():
    frame, _, words = keeping_frame()
    gone = weakref.ref(words)
    held = minimal.column(frame)["a"].dictionary.buffers["data"]
    del frame, _, words
    gc.collect()
    assert gone() is not None
    assert bytes(held.memoryview()) == struct.pack("2q", 5, 6)


def test_a_column_that_is_refused_is_named():
    with pytest.raises(minimal.Refused, match="its column 'odd' is not lent"):
        minimal.column(ToldFrame({"a": ints(1), "odd": ToldColumn((INT, 64, "l", "="), 1, data=Bare.__new__(Bare))}))


def test_a_frame_of_chunks_lives_as_long_as_the_buffers_of_one():
    frame = ToldFrame({}, parts=[ToldFrame({"a": ints(1)}), ToldFrame({"a": ints(2)})])
    gone = weakref.ref(frame)
    held = minimal.chunks(frame)[1]["a"].buffers["data"]
    del frame
    gc.collect()
    assert gone() is not None
    del held
    gc.collect()
    assert gone() is None


def test_what_was_told_is_read_only():
    assert read(ints(1)).buffers["data"].readonly


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (ToldFrame({"a": ints(1)}, count=2), "the frame has 1"),
        (ToldFrame({"a": ints(1), "b": ints(1, 2)}), r"have \[1, 2\] rows, and the frame has 2"),
        (ToldFrame({"a": ints(1)}, rows=3), r"have \[1\] rows, and the frame has 3"),
    ],
)
def test_a_frame_whose_columns_do_not_fit_is_refused(frame, said):
    with pytest.raises(minimal.Refused, match=said):
        minimal.column(frame)


def test_a_frame_without_columns_keeps_its_rows():
    assert minimal.column(ToldFrame({}, rows=5)).tolist() == [{}] * 5
    assert minimal.column(ToldFrame({})).tolist() == []


def test_chunks_of_a_frame_are_columns_each():
    parts = [ToldFrame({"a": ints(1)}), ToldFrame({"a": ints()}), ToldFrame({"a": ints(2, 3)})]
    found = minimal.chunks(ToldFrame({}, parts=parts))
    assert [part.tolist() for part in found] == [[{"a": 1}], [], [{"a": 2}, {"a": 3}]]


class Shown:
    """Another object with `__dataframe__` and nothing else."""

    def __init__(self, frame):
        self.frame = frame

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self.frame.__dataframe__(nan_as_null=nan_as_null, allow_copy=allow_copy)


@pytest.mark.parametrize("start", range(4))
def test_the_frames_of_pyarrow(start):
    pa = pytest.importorskip("pyarrow")
    table = pa.table(
        {
            "i": pa.array([1, None, 2**62 + 1, 4]),
            "u": pa.array([1, 2, 3, 4], pa.uint8()),
            "f": pa.array([1.5, None, float("inf"), 0.0]),
            "b": [True, None, False, True],
            "s": ["x", None, "ü", ""],
            "S": pa.array(["x", None, "ü", ""], pa.large_string()),
            "t": pa.array([0, None, 2, 3], pa.timestamp("ms", "+01:00")),
            "d": pa.array(["x", None, "y", "x"]).dictionary_encode(),
        }
    ).slice(start)
    expected = table.to_pylist()
    assert minimal.column(Shown(table), allow_copy=True).tolist() == expected


def test_the_chunks_of_a_frame_of_pyarrow():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": pa.chunked_array([[1, 2], [3]]), "b": pa.chunked_array([["x"], ["y", None]])})
    assert [row for part in minimal.chunks(Shown(table)) for row in part.tolist()] == table.to_pylist()


def pandas_frame(pd):
    return pd.DataFrame(
        {
            "i": [1, 2, 3, 4],
            "I": pd.array([1, None, 2**62 + 1, 4], "Int64"),
            "f": [1.5, float("nan"), 3.0, 4.0],
            "b": [True, False, True, True],
            "B": pd.array([True, None, False, True], "boolean"),
            "s": ["x", None, "ü", ""],
            "t": pd.to_datetime(["2024-01-01T00:00:00", None, "2024-01-02T03:04:05", "1969-12-31T00:00:00"]),
            "c": pd.Categorical(["x", None, "y", "x"], ordered=True),
            "n": pd.Categorical([10, None, 20, 10]),
        }
    )


@pytest.mark.parametrize("start", range(4))
def test_the_frames_of_pandas(start):
    pd = pytest.importorskip("pandas")
    frame = pandas_frame(pd).iloc[start:]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning)
        warnings.filterwarnings("ignore", message=".*interchange|.*__dataframe__", category=DeprecationWarning)
        found = minimal.column(Shown(frame), allow_copy=True)
    expected = frame.astype(object).where(frame.notna(), None).to_dict("list")
    assert {child.name: child.tolist() for child in found.children} == expected


@pytest.mark.parametrize("offset", [0, 5])
@pytest.mark.parametrize("told", [ints(), texts(data=None, offsets=None), texts(data=b"", offsets=b"")])
def test_a_column_without_rows_needs_no_buffers(told, offset):
    told.offset = offset
    told.held = {role: data for role, data in told.held.items() if data is not None}
    column = read(told)
    assert column.tolist() == []
    assert minimal.column(column.__dataframe__()).children[0].tolist() == []


def test_pyarrow_frames_without_rows():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"i": pa.array([], pa.int8()), "s": pa.array([], pa.string()), "b": pa.array([], pa.bool_())})
    assert minimal.column(Shown(table), allow_copy=True).tolist() == []
