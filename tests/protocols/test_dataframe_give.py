"""What lend gives by `__dataframe__`: judged by the page of the protocol, and by those who read it."""

import ctypes
import datetime
import gc
import random
import struct
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lend
from lend import minimal
from lend.columns.nullness import Nulls
from lend.errors import CopyRequired, UnsupportedType
from support import column_forms
from support.arrow_layouts import Kind, encode, values_of
from support.arrow_structs import Made, Node
from support.told_frames import BITS, BYTES, SENTINEL, Shown, ToldFrame, floats, ints

KINDS = [Kind(format) for format in (*"cCsSiIlLefgbuU", "tss:", "tsm:", "tsu:", "tsn:", "tsu:UTC")]
KINDS += [Kind("c", (), Kind("u")), Kind("L", (), Kind("tsu:"))]
ENUMS = {
    "DtypeKind": {"INT": 0, "UINT": 1, "FLOAT": 2, "BOOL": 20, "STRING": 21, "DATETIME": 22, "CATEGORICAL": 23},
    "ColumnNullType": {"NON_NULLABLE": 0, "USE_NAN": 1, "USE_SENTINEL": 2, "USE_BITMASK": 3, "USE_BYTEMASK": 4},
    "DlpackDeviceType": {
        "CPU": 1, "CUDA": 2, "CPU_PINNED": 3, "OPENCL": 4, "VULKAN": 7, "METAL": 8, "VPI": 9, "ROCM": 10},
}  # fmt: skip


def column(kind, values, *, seed=0, name="a"):
    return lend.column(Made(encode(kind, values, random.Random(seed), name)))


def told(thing, **said):
    return thing.__dataframe__(**said).get_column(0)


def bytes_of(buffer):
    return ctypes.string_at(buffer.ptr, buffer.bufsize)


# -- columns --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("allow_copy", [True, False])
@settings(max_examples=15)
@given(data=st.data())
def test_what_is_given_is_read_again_by_both(kind, allow_copy, data):
    values, seed = data.draw(st.lists(values_of(kind), max_size=20)), data.draw(st.integers(0, 99))
    start = data.draw(st.integers(0, len(values)))
    given = column(kind, values, seed=seed)[start:]
    if given.dtype.dictionary is not None and given.dictionary.null_count:
        allow_copy = True  # a null of the dictionary may be one of an element
    frame = given.__dataframe__(allow_copy=allow_copy)
    assert lend.column(Shown(frame), copy=None if allow_copy else False).tolist() == values[start:]
    assert minimal.column(Shown(frame), allow_copy=allow_copy).children[0].tolist() == values[start:]
    assert frame.get_column(0).null_count == values[start:].count(None)


DTYPES = [
    ("l", (0, 64, "l", "="), {"data": (0, 64, "l", "=")}, 1),
    ("C", (1, 8, "C", "="), {"data": (1, 8, "C", "=")}, 1),
    ("e", (2, 16, "e", "="), {"data": (2, 16, "e", "=")}, 1),
    ("b", (20, 8, "b", "="), {"data": (20, 8, "b", "=")}, 8),
    ("u", (21, 8, "u", "="), {"data": (1, 8, "C", "="), "offsets": (0, 32, "i", "=")}, 1),
    ("U", (21, 8, "U", "="), {"data": (1, 8, "C", "="), "offsets": (0, 64, "l", "=")}, 1),
    ("tsn:UTC", (22, 64, "tsn:UTC", "="), {"data": (0, 64, "l", "=")}, 1),
]


@pytest.mark.parametrize(("format", "dtype", "buffers", "mask"), DTYPES, ids=[row[0] for row in DTYPES])
def test_dtypes_are_the_columns_and_those_beside_buffers_the_buffers_own(format, dtype, buffers, mask, pyarrow):
    given = told(column(Kind(format), [None]))
    found = {role: pair[1] for role, pair in given.get_buffers().items() if pair is not None}
    assert given.dtype == dtype
    assert found == buffers | {"validity": (20, mask, "b", "=")}


def test_kinds_and_devices_are_members_of_enums_and_the_rest_builtin(pyarrow):
    given = told(column(Kind("u"), ["x", None]))
    (data, dtype), (kind, _) = given.get_buffers()["data"], given.describe_null
    members = {"DtypeKind": given.dtype[0], "ColumnNullType": kind, "DlpackDeviceType": data.__dlpack_device__()[0]}
    assert {type(given.get_buffers()["data"][1][0]), type(dtype[0])} == {type(given.dtype[0])}
    assert {name: {each.name: int(each) for each in type(member)} for name, member in members.items()} == ENUMS
    assert {type(part) for part in (*given.dtype[1:], given.size(), given.offset, data.ptr, data.bufsize)} == {int, str}


def test_the_host_has_no_number():
    assert told(column(Kind("l"), [1])).get_buffers()["data"][0].__dlpack_device__() == (1, None)


@pytest.mark.parametrize("start", [0, 1, 8, 13])
def test_buffers_are_the_columns_own_from_their_beginning_and_offsets_are_true(start):
    given = column(Kind("u"), ["x", None, *"abcdefghijkl"])[start:]
    found = told(given, allow_copy=False)
    assert found.offset == given.offset
    for role, (buffer, _) in found.get_buffers().items() if given.null_count else ():
        assert (buffer.ptr, buffer.bufsize) == (given.buffers[role].ptr, given.buffers[role].nbytes)


def test_nothing_is_copied_and_the_memory_is_the_same_each_time(pyarrow):
    given = column(Kind("u"), ["x", None, "y"])
    with lend.copies() as made:
        frame = given.__dataframe__()
        found = [{role: pair[0].ptr for role, pair in frame.get_column(0).get_buffers().items()} for _ in range(3)]
    assert made.count == 0
    assert found == [{role: given.buffers[role].ptr for role in ("data", "validity", "offsets")}] * 3


def test_a_copy_is_made_once_and_is_the_same_memory_each_time():
    given = told(column(Kind("b"), [True, False, True]))
    with lend.copies() as made:
        found = {given.get_buffers()["data"][0].ptr for _ in range(3)}
    assert (made.count, made.bytes, len(found)) == (1, 3, 1)


def test_a_copy_that_a_frame_made_is_there_however_it_is_asked_for():
    frame = lend.table({"a": column(Kind("b"), [True, None])}).__dataframe__()
    found = [frame.get_column(0), frame.get_column(-1), frame.get_column_by_name("a"), *frame.get_columns()]
    assert len({part.get_buffers()["data"][0].ptr for part in found}) == 1
    assert list(frame.get_chunks()) == list(frame.get_chunks())


def test_a_name_that_no_column_has_is_refused_with_those_that_there_are():
    with pytest.raises(KeyError, match="no column is named 'z'; the names: 'a'"):
        lend.table({"a": b"x"}).__dataframe__().get_column_by_name("z")


NULLS = [
    (lambda: floats(1, float("nan"), null=(1, None)), (1, None), None),
    (lambda: ints(1, -9, null=(SENTINEL, -9)), (SENTINEL, -9), None),
    (lambda: ints(1, 2, null=(BITS, 0), validity=b"\1"), (BITS, 0), b"\1"),
    (lambda: ints(1, 2, null=(BITS, 1), validity=b"\2"), (BITS, 1), b"\2"),
    (lambda: ints(1, 2, null=(BYTES, 0), validity=b"\1\0"), (BYTES, 0), b"\1\0"),
    (lambda: ints(1, 2, null=(BYTES, 1), validity=b"\0\1"), (BYTES, 1), b"\0\1"),
    (lambda: ints(1, 2, null=(BYTES, 1), validity=b"\0\0"), (0, None), None),
    (lambda: ints(1, 2), (0, None), None),
]


@pytest.mark.parametrize(("make", "null", "mask"), NULLS)
def test_nulls_go_as_they_came(make, null, mask, pyarrow):
    given = told(lend.table(ToldFrame({"a": make()})))
    assert given.describe_null == null
    validity = given.get_buffers()["validity"]
    assert (None if validity is None else bytes_of(validity[0])) == mask


def test_times_that_are_missing_are_the_least_integer():
    np = pytest.importorskip("numpy")
    given = told(lend.column(np.array(["NaT", 1], "M8[s]")))
    assert (given.describe_null, given.null_count) == ((2, -(2**63)), 1)


def test_bools_in_bits_become_bytes_in_a_counted_copy_with_bytes_for_nulls():
    given = column(Kind("b"), [True, None, False])
    with lend.copies() as made:
        found = told(given)
        data, mask = (found.get_buffers()[role][0] for role in ("data", "validity"))
    assert (bytes_of(data)[found.offset :][0], bytes_of(data)[found.offset :][2]) == (1, 0)
    assert bytes_of(mask)[found.offset :] == b"\0\1\0"
    assert (found.describe_null, made.count) == ((BYTES, 1), 2)
    with lend.copies() as made:  # none of the first is null, so that nobody needs bytes for it
        assert (told(given[:1]).get_buffers()["data"][0].bufsize > 0, made.count) == (True, 1)


def test_bools_in_bits_are_told_as_bits_where_nothing_may_be_copied():
    given = column(Kind("b"), [True, None, False])
    with lend.copies() as made:
        found = told(given, allow_copy=False)
        assert found.get_buffers()["data"][0].ptr == given.buffers["data"].ptr
    assert (found.dtype, found.describe_null[0], made.count) == ((20, 1, "b", "="), BITS, 0)


def test_strides_are_copied_or_refused_as_a_runtime_error():
    np = pytest.importorskip("numpy")
    given = lend.column(np.arange(6)[::2])
    with lend.copies() as made:
        assert struct.unpack("3q", bytes_of(told(given).get_buffers()["data"][0])) == (0, 2, 4)
    assert (made.count, made.bytes) == (1, 24)
    with pytest.raises(RuntimeError, match=r"as it lies \(stride\), and allow_copy=False") as refused:
        told(given, allow_copy=False).get_buffers()
    assert isinstance(refused.value, CopyRequired)


def test_numbers_in_the_other_byte_order_are_told_in_this_ones():
    np = pytest.importorskip("numpy")
    given = np.array([1, 2], np.dtype("i4").newbyteorder())
    source = lend.Column.from_buffers(lend.DType(given.dtype), 2, {"data": given})
    found = told(source)
    assert (found.dtype, struct.unpack("2i", bytes_of(found.get_buffers()["data"][0]))) == ((0, 32, "i", "="), (1, 2))
    with pytest.raises(CopyRequired, match="byte order"):
        told(source, allow_copy=False).get_buffers()


VIEWS = ["x", None, "", "é" * 20, "more than twelve bytes", "exactly 12 b"]


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
@pytest.mark.parametrize("rows", [slice(0, 0), slice(0, 1), slice(1, None), slice(0, 3), slice(None)], ids=str)
def test_text_in_views_gets_offsets_by_a_library_in_a_counted_copy(library, rows, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip(library)
    from lend.adapters import dataframe_forms

    monkeypatch.setattr(dataframe_forms, "is_installed", lambda name: name == library)
    given = lend.column(pa.array(VIEWS, pa.string_view()))[rows]
    with lend.copies() as made:
        found = told(given)
        assert found.dtype == (21, 8, "U", "=")
        again = lend.column(Shown(given.__dataframe__()))
    assert again.tolist() == VIEWS[rows]
    assert any(f"of which {library} makes offsets" in copy.why for copy in made.recent)
    with pytest.raises(CopyRequired, match="text in views"):
        told(given, allow_copy=False).get_buffers()


def test_text_in_views_is_refused_where_no_library_makes_offsets(monkeypatch):
    pa = pytest.importorskip("pyarrow")
    from lend.adapters import dataframe_forms

    monkeypatch.setattr(dataframe_forms, "is_installed", lambda name: False)
    with pytest.raises(UnsupportedType, match="by pyarrow or polars, and neither is installed"):
        told(lend.column(pa.array(VIEWS, pa.string_view()))).get_buffers()


ODD = ["time64", "duration", "decimal", "binary", "list", "struct", "null", "half list", "month"]


def odd(pa):
    """A table of one plain column, and of one for each type that the protocol has no word for."""
    import decimal

    return pa.table(
        {
            "plain": [1, 2],
            "time64": pa.array([1, None], pa.time64("us")),
            "duration": pa.array([1, None], pa.duration("s")),
            "decimal": [decimal.Decimal("1.5"), None],
            "binary": [b"x", None],
            "list": [[1], None],
            "struct": [{"x": 1}, None],
            "null": [None, None],
            "half list": pa.array([[1, 2], None], pa.list_(pa.int8(), 2)),
            "month": pa.array([None, None], pa.month_day_nano_interval()),
        }
    )


@pytest.mark.parametrize("name", ODD)
def test_a_type_without_a_word_is_refused_by_its_column_alone(name):
    pa = pytest.importorskip("pyarrow")
    frame = lend.table(odd(pa)).__dataframe__()
    assert frame.column_names() == ["plain", *ODD]
    odd_one = frame.get_column_by_name(name)
    assert odd_one.size() == 2
    for ask in (lambda: odd_one.dtype, odd_one.get_buffers, lambda: odd_one.describe_null):
        with pytest.raises(UnsupportedType, match=f"column '{name}': the dataframe protocol has no word for"):
            ask()
    assert frame.get_column_by_name("plain").dtype[0] == 0
    assert lend.table(Shown(frame.select_columns_by_name(["plain"])))["plain"].tolist() == [1, 2]


DATES = [datetime.date(2024, 1, 1), None, datetime.date(1950, 3, 4)]


@pytest.mark.parametrize(("kind", "told_as", "data"), [
    ("date32", (22, 32, "tdD", "="), (0, 32, "i", "=")), ("date64", (22, 64, "tdm", "="), (0, 64, "l", "=")),
])  # fmt: skip
def test_dates_are_told_as_the_protocol_tells_them(kind, told_as, data):
    pa = pytest.importorskip("pyarrow")
    given = told(lend.column(pa.array(DATES, kind)))
    assert (given.dtype, given.get_buffers()["data"][1]) == (told_as, data)


@pytest.mark.parametrize("kind", ["date32", "date64"])
@pytest.mark.parametrize("rows", [slice(None), slice(1, None), slice(0, 0)], ids=str)
def test_dates_come_back_as_dates(kind, rows):
    pa = pytest.importorskip("pyarrow")
    again = lend.column(Shown(lend.column(pa.array(DATES, kind))[rows].__dataframe__()))
    assert (again.dtype, again.tolist()) == (kind, DATES[rows])


@pytest.mark.parametrize("kind", ["date32", "date64"])
def test_dates_are_read_by_pandas(kind):
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    from pandas.core.interchange.from_dataframe import _from_dataframe

    frame = _from_dataframe(lend.table(pa.table({"a": pa.array(DATES, kind)})).__dataframe__())
    assert [None if value != value else value.date() for value in frame["a"]] == DATES  # noqa: PLR0124 - NaT


@pytest.mark.parametrize("dtype", ["complex64", "bfloat16", "M8[D]", "m8[s]"])
def test_a_dtype_of_arrays_without_a_word_is_refused(dtype):
    np = pytest.importorskip("numpy")
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    with pytest.raises(UnsupportedType, match="no word for"):
        told(lend.column(np.zeros(2, dtype))).dtype


@pytest.mark.parametrize("format", ["int64", "string", "dictionary", "bool"])
def test_a_column_without_a_chunk_is_a_column_without_rows_of_its_type(format):
    pa = pytest.importorskip("pyarrow")
    kind = pa.dictionary(pa.int16(), pa.string()) if format == "dictionary" else pa.type_for_alias(format)
    source = lend.column(pa.chunked_array([], kind))
    for chunk in (told(source), *told(source).get_chunks()):
        assert (chunk.size(), chunk.offset, chunk.describe_null) == (0, 0, (0, None))
        assert chunk.get_buffers()["validity"] is None
    again = lend.column(Shown(source.__dataframe__()))
    assert (again.tolist(), again.dtype.kind) == ([], source.dtype.kind)


def test_text_of_pandas_goes_with_the_buffers_that_pandas_has(pyarrow):
    pd = pytest.importorskip("pandas")
    source = lend.table(pd.DataFrame({"a": pd.Series(["x", None, "yyy"], dtype="str")}))
    with lend.copies() as made:
        given = told(source)
        found = {role: pair[0].ptr for role, pair in given.get_buffers().items()}
    assert (given.dtype, given.describe_null, made.count) == ((21, 8, "U", "="), (BITS, 0), 0)
    assert found == {role: source["a"].buffers[role].ptr for role in found}


# -- categories -----------------------------------------------------------------------------------------------------


def test_codes_have_the_dtype_of_their_integers_and_categories_are_a_column_with_an_array():
    np = pytest.importorskip("numpy")
    given = told(column(Kind("S", (), Kind("u")), ["x", None, "y", "x"]))
    said = given.describe_categorical
    assert (given.dtype, given.get_buffers()["data"][1]) == ((23, 16, "S", "="), (1, 16, "S", "="))
    assert (said["is_ordered"], said["is_dictionary"], said["categories"].dtype) == (False, True, (21, 8, "u", "="))
    assert isinstance(said["categories"]._col, np.ndarray)
    assert set(said["categories"]._col) == {"x", "y"}


def test_what_is_not_categorical_says_so_with_a_type_error():
    with pytest.raises(TypeError, match="not categorical"):
        told(column(Kind("l"), [1])).describe_categorical


def test_a_null_among_the_categories_becomes_one_of_the_codes_in_a_copy_or_is_refused():
    pa = pytest.importorskip("pyarrow")
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2], pa.int32()), pa.array(["x", None, "y"]))
    given = lend.column(array)
    assert lend.column(Shown(given.__dataframe__())).tolist() == ["x", None, None, "y"]
    with pytest.raises(CopyRequired, match="nulls of the dictionary"):
        told(given, allow_copy=False).get_buffers()


def test_categories_keep_their_type():
    pd = pytest.importorskip("pandas")
    given = told(lend.table(pd.DataFrame({"a": pd.Categorical([True, False, True], ordered=True)})))
    said = given.describe_categorical
    assert (said["is_ordered"], said["categories"].dtype[:2], list(said["categories"]._col)) == (
        True, (20, 8), [False, True])  # fmt: skip


# -- lifetime -------------------------------------------------------------------------------------------------------


def test_a_buffer_holds_its_memory_when_all_else_is_gone():
    made = Made(Node("l", 2, 0, 0, [None, struct.pack("2q", 5, 6)]))
    kept = lend.column(made).__dataframe__().get_column(0).get_buffers()["data"][0]
    gc.collect()
    assert struct.unpack("2q", bytes_of(kept)) == (5, 6)
    assert not made.released
    del kept
    gc.collect()
    assert made.released == {"": 1}


def test_a_buffer_goes_by_dlpack_too():
    np = pytest.importorskip("numpy")
    buffer = told(column(Kind("l"), [5, 6])).get_buffers()["data"][0]
    found = np.from_dlpack(buffer)
    assert (found.tolist()[-2:], found.flags.writeable) == ([5, 6], False)


# -- those who read it ----------------------------------------------------------------------------------------------


@pytest.fixture
def pyarrow():
    """pyarrow is there: where it is not, masks of bits are given as bytes."""
    pytest.importorskip("pyarrow")


def read_by_pandas(frame):
    from pandas.core.interchange.from_dataframe import _from_dataframe

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _from_dataframe(frame)


@pytest.mark.parametrize("start", [0, 1, 7, 9])
def test_pandas_reads_bytes_where_pyarrow_is_missing(start, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    from lend.adapters import dataframe_forms

    monkeypatch.setattr(dataframe_forms, "is_installed", lambda name: False)
    rows = list(range(20))
    source = pa.table(
        {
            "n": [None if row % 3 == 0 else row for row in rows],
            "f": [None if row % 5 == 0 else row / 2 for row in rows],
            "s": [None if row % 4 == 1 else "é" * row for row in rows],
            "b": [row % 2 == 0 for row in rows],
            "c": pa.array([None if row % 7 == 0 else "xyz"[row % 3] for row in rows]).dictionary_encode(),
        }
    )[start:]
    for lent in (lend.table(source), lend.table(source.to_pandas())):
        found = read_by_pandas(lent.__dataframe__())
        values = {name: [None if gone else v for v, gone in zip(found[name].tolist(), found[name].isna(), strict=True)]
                  for name in found}  # fmt: skip
        assert values == source.to_pydict()


@pytest.mark.parametrize(("dtype", "data"), [("float64", struct.pack("2d", 1, 7)), ("bool", b"\1\1")])
def test_pandas_writes_under_nulls_in_memory_of_its_own(dtype, data, monkeypatch):
    pytest.importorskip("pandas")
    from lend.adapters import dataframe_forms

    monkeypatch.setattr(dataframe_forms, "is_installed", lambda name: False)
    memory = bytearray(data)
    source = lend.Column.from_buffers(
        dtype, 2, {"data": lend.view(memory).reinterpret(dtype), "validity": b"\0\1"}, nulls=Nulls("bytemask", 1)
    )
    assert read_by_pandas(source.__dataframe__()).iloc[0, 0] == 1
    assert memory == data


@pytest.mark.parametrize("form", [None, "bits", "bytes of 1"])
@pytest.mark.parametrize("laid", ["strided", "backwards", "swapped and strided"])
def test_one_element_behind_others_that_lie_apart_is_found_where_its_offset_says(laid, form):
    column = column_forms.numbers("int32", [7], form, laid, before=[1, 2, 3])
    shown = lend.table({"x": column}).__dataframe__().get_column(0)
    data, _ = shown.get_buffers()["data"]
    assert struct.unpack_from("=i", ctypes.string_at(data.ptr, data.bufsize), 4 * shown.offset) == (7,)


def test_pandas_writes_nothing_into_memory_that_it_is_lent_by_a_frame():
    # pandas 3.1 puts NaN under the nulls of floats, where they lie, and makes False of a bool that is missing
    np = pytest.importorskip("numpy")
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    numbers = np.array([1.5, 7.0])
    x = lend.Column.from_buffers("float64", 2, {"data": numbers, "validity": b"\1"})
    mask = np.array([0, 1], "u1")
    y = lend.Column.from_buffers(
        "bool", 2, {"data": np.array([1, 1], "?"), "validity": mask}, nulls=lend.Nulls("bytemask", 1)
    )
    made = pandas.api.interchange.from_dataframe(lend.table({"x": x, "y": y}).__dataframe__())
    assert (made["y"].tolist(), numbers.tolist()) == ([True, None], [1.5, 7.0])
    assert made["x"].isna().tolist() == [False, True]


ROWLESS = {
    "categories in runs": lambda pa: pa.run_end_encoded(pa.int32(), pa.int64()),
    "categories that are structs": lambda pa: pa.struct([("a", pa.string())]),
    "categories that are lists": lambda pa: pa.list_(pa.string(), 2),
    "categories that are text": lambda pa: pa.string(),
}


@pytest.mark.parametrize("kind", ROWLESS)
def test_codes_without_a_chunk_are_shown_whatever_their_categories_are(kind):
    pa = pytest.importorskip("pyarrow")
    rows = pa.chunked_array([], pa.dictionary(pa.int32(), ROWLESS[kind](pa)))
    shown = lend.table({"a": rows}).__dataframe__().get_column(0)
    assert (shown.size(), shown.get_buffers()["data"][0].bufsize) == (0, 0)
