"""When types of columns are one type; how they travel, and where they are refused."""

import copy
import itertools
import pickle
import re
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lend
from lend.dtypes import DType
from lend.errors import LendError, UnsupportedType

LEAVES = ["null", "bool_packed", "utf8", "large_utf8", "utf8_view", "binary", "large_binary", "binary_view", "date32"]
LEAVES += ["date64", "time32[s]", "time64[ns]", "interval[month]", "interval[day_time]", "interval[month_day_nano]"]
LEAVES += ["int8", ">float64", "bool", "datetime64[25s]", "opaque[7]", "text[3]", "int128", "object", "float32x4"]
INDICES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def sound(text):
    return "\0" not in text and not any("\ud800" <= sign < "\udc80" or "\udcff" < sign <= "\udfff" for sign in text)


texts = st.text(max_size=6).filter(sound) | st.text(st.sampled_from("a1 ,:[]{}()'\"\\\n\udc80é"), max_size=6)
filled = texts.filter(bool)
fields = st.lists(st.deferred(lambda: st.tuples(texts, dtypes, st.booleans())), max_size=3)
LETTERS = {"s": "s", "ms": "m", "us": "u", "ns": "n"}


def zoned(unit, zone):
    return DType.from_arrow(f"ts{LETTERS[unit]}:{zone}")


def decimal(bits, precision, scale):
    return DType.from_arrow(f"d:{min(precision, {32: 9, 64: 18, 128: 38, 256: 76}[bits])},{scale},{bits}")


def listed(kind, inner):
    return DType.from_arrow(kind, fields=[("item", inner)])


def mapped(key, value, keys_sorted):
    entries = DType.from_arrow("+s", fields=[("key", key, False), ("value", value)])
    return DType.from_arrow("+m", fields=[("entries", entries, False)], keys_sorted=keys_sorted)


def united(kind, inner, ids):
    ids = ids[: len(inner)]
    return DType.from_arrow(kind + ",".join(map(str, ids)), fields=inner)


def extended(inner, name):
    try:
        text = inner.arrow
    except LendError:
        return inner
    if inner.kind in ("list", "struct", "dictionary", "map", "extension") or inner.children:
        return inner
    return DType.from_arrow(text, extension=(name, None))


def grown(inner):
    named = st.lists(st.tuples(texts, inner), max_size=3)
    return (
        st.builds(listed, st.sampled_from(["+l", "+L", "+vl", "+vL", "+w:0", "+w:12"]), inner)
        | st.builds(lambda fields: DType.from_arrow("+s", fields=fields), named)
        | st.builds(mapped, inner, inner, st.booleans())
        | st.builds(united, st.sampled_from(["+ud:", "+us:"]), named, st.permutations(range(0, 128, 31)))
        | st.builds(
            lambda ends, values: DType.from_arrow("+r", fields=[("run_ends", ends), ("values", values)]),
            *(st.sampled_from(["int16", "int32", "int64"]), inner),
        )
        | st.builds(
            lambda index, values, ordered: DType.from_arrow(DType(index).arrow, dictionary=values, ordered=ordered),
            *(st.sampled_from(INDICES), inner, st.booleans()),
        )
        | st.builds(extended, inner, filled)
    )


leaves = (
    st.sampled_from(LEAVES).map(DType)
    | st.builds(zoned, st.sampled_from(sorted(LETTERS)), filled)
    | st.builds(decimal, st.sampled_from([32, 64, 128, 256]), st.integers(1, 76), st.integers(-100, 100))
)
dtypes = st.recursive(leaves, grown, max_leaves=6)


def arrow_parts(dtype):
    """The arguments of from_arrow that make a type again, of what it tells."""
    parts = {"fields": dtype.children, "dictionary": dtype.dictionary, "ordered": bool(dtype.ordered)}
    return parts | {
        "keys_sorted": dtype.name.endswith(", sorted]") and dtype.kind == "map",
        "extension": dtype.extension,
    }


@given(dtypes)
def test_name_is_read_back(dtype):
    assert DType(dtype.name) == DType(str(dtype)) == dtype
    assert DType(dtype.name).name == dtype.name


@given(dtypes)
def test_repr_is_an_expression(dtype):
    assert eval(repr(dtype), {"DType": DType}) == dtype


@given(dtypes)
def test_what_a_type_tells_makes_it_again(dtype):
    try:
        format = dtype.arrow
    except UnsupportedType:
        return
    assert DType.from_arrow(format, **arrow_parts(dtype)) == dtype


@given(dtypes)
def test_a_type_of_columns_survives_pickle_and_copy(dtype):
    for travelled in (pickle.loads(pickle.dumps(dtype)), copy.copy(dtype), copy.deepcopy(dtype)):
        assert travelled == dtype
        assert travelled.__reduce__() == dtype.__reduce__()


@given(dtypes, dtypes)
def test_types_are_equal_exactly_when_their_names_are(one, other):
    assert (one == other) == (one.name == other.name)
    assert hash(one) == hash(one.name)
    assert one == one.name


@given(st.text(st.sampled_from("[]{}(),:' \"\\0159abdeimnorstux_<>\ud800é"), max_size=20))
def test_any_text_is_a_name_or_refused(text):
    try:
        dtype = DType(text)
    except (ValueError, LendError):
        return
    assert DType(dtype.name) == dtype


@given(dtypes, st.data())
def test_a_broken_name_is_refused_or_means_another_type(dtype, data):
    name = dtype.name
    at = data.draw(st.integers(0, len(name)))
    broken = name[:at] + data.draw(st.sampled_from(["", "[", "]", "'", ",", " ", "\\", "9"])) + name[at + 1 :]
    try:
        read = DType(broken)
    except (ValueError, LendError):
        return
    assert DType(read.name) == read


WRONG = [
    "list",
    "list[",
    "list[]",
    "list[int8",
    "list[int8]]",
    "list[int8, int8]",
    "list[int8]x2",
    ">list[int8]",
    "list[flaot]",
]
WRONG += [
    "struct",
    "struct{",
    "struct{a}",
    "struct{a: }",
    "struct{: int8}",
    "struct{a: int8,}",
    "struct{a: int8 b: int8}",
]
WRONG += [
    "map[utf8]",
    "map[utf8, int8, ordered]",
    "dictionary[int8]",
    "dictionary[utf8, utf8]",
    "dictionary[int8, utf8, x]",
]
WRONG += [
    "fixed_list[int8]",
    "run_end[int8, utf8]",
    "run_end[utf8]",
    "union_dense{a: int8}",
]
WRONG += ["decimal128", "decimal128()", "decimal128(1)", "decimal128(1, 2, 3)", "decimal512(1, 2)", "decimal128[1, 2]"]
WRONG += ["datetime64[us, ]", "datetime64[us, '']", "datetime64[D, UTC]", "datetime64[us, 'UTC]", "datetime64[us, UTC"]
WRONG += [
    "extension[arrow.uuid]",
    "extension[, int8]",
    "extension[a, extension[b, int8]]",
    "utf8[3]",
    "utf8x2",
    "<utf8",
    "Utf8",
]
WRONG += [
    r"datetime64[us, '\x']",
    r"datetime64[us, '\xg0']",
    r"datetime64[us, '\U00110000']",
    "datetime64[us, '\\",
    "bool_packedx2",
]
WRONG += [
    "time32[us]",
    "time64[s]",
    "interval[day]",
    "interval[",
    "null[]",
    " utf8",
    "utf8 x",
    "list[ ]",
    "list[int8]\0",
]


@pytest.mark.parametrize("text", WRONG, ids=ascii)
def test_text_that_names_no_type_of_columns_is_a_value_error(text):
    with pytest.raises(ValueError, match="names no dtype"):
        DType(text)


def test_a_name_of_what_lend_lacks_is_unsupported():
    for name in (
        "decimal128(39, 0)",
        "union_dense{1 a: int8, 1 b: int8}",
        "fixed_list[int8, 2147483648]",
        "datetime64[us, 'a\0']",
    ):
        with pytest.raises(UnsupportedType, match="lend has no dtype for the Arrow format"):
            DType(name)


@pytest.mark.parametrize("text", ["struct{" * 10_000, "list[" * 10_000, "{" * 10_000, "datetime64[us, " + "x" * 10_000])
def test_long_text_makes_a_short_message(text):
    with pytest.raises((ValueError, UnsupportedType)) as caught:
        DType(text)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(("slip", "near"), [("utf", "utf8"), ("date23", "date32"), ("list(int64)", "list[int64]")])
def test_slip_of_the_pen_is_a_value_error_with_near_names(slip, near):
    with pytest.raises(ValueError, match=f"names no dtype; near: .*{re.escape(near)}"):
        DType(slip)


@pytest.mark.parametrize("spaces", ["struct{a:int8,b:list[utf8]}", "struct{ a : int8 , b : list[ utf8 ] }"])
def test_spaces_in_a_name_are_free(spaces):
    assert DType(spaces) == "struct{a: int8, b: list[utf8]}"


# -- equality ----------------------------------------------------------------------------------------------------------

DIFFERENT = [
    "list[int8]",
    "large_list[int8]",
    "list_view[int8]",
    "fixed_list[int8, 2]",
    "fixed_list[int8, 3]",
    "list[utf8]",
]
DIFFERENT += ["struct{a: int8}", "struct{b: int8}", "struct{a: int8, b: int8}", "struct{b: int8, a: int8}"]
DIFFERENT += ["map[utf8, int8]", "map[utf8, int8, sorted]", "dictionary[int8, utf8]", "dictionary[int8, utf8, ordered]"]
DIFFERENT += ["dictionary[uint8, utf8]", "union_dense{0 a: int8}", "union_dense{1 a: int8}", "union_sparse{0 a: int8}"]
DIFFERENT += [
    "datetime64[us, UTC]",
    "datetime64[us, utc]",
    "datetime64[us]",
    "decimal64(3, 1)",
    "decimal128(3, 1)",
    "int8",
]
DIFFERENT += ["extension[a, int8]", "extension[b, int8]", "bool", "bool_packed", "date64", "datetime64[ms]", "int64"]


def test_types_of_other_meanings_differ():
    assert len({DType(name) for name in DIFFERENT}) == len(DIFFERENT)
    for one, other in itertools.combinations(DIFFERENT, 2):
        assert DType(one) != DType(other)


@pytest.mark.parametrize(
    ("format", "one", "other"),
    [
        ("+l", [("item", "int8")], [("element", "int8")]),
        ("+l", [("item", "int8", True)], [("item", "int8", False)]),
        ("+s", [("a", "int8", True)], [("a", "int8", False, b"metadata")]),
        ("+r", [("run_ends", "int32"), ("values", "int8")], [("", "int32"), ("v", "int8")]),
    ],
)
def test_what_is_carried_and_is_no_part_of_the_meaning(format, one, other):
    one, other = DType.from_arrow(format, fields=one), DType.from_arrow(format, fields=other)
    assert one == other
    assert hash(one) == hash(other)


def test_the_metadata_of_an_extension_type_is_part_of_it_wherever_it_stands():
    def made(metadata):
        extended = DType.from_arrow("i", extension=("name", metadata))
        return [
            extended,
            DType.from_arrow("+l", fields=[("item", extended)]),
            DType.from_arrow("c", dictionary=extended),
        ]

    for one, other, same in zip(made(b"1"), made(b"2"), made(b"1"), strict=True):
        assert one != other
        assert one == same
        assert hash(one) == hash(same)
        assert one.name == other.name != one
    assert made(None) == made(b"")
    assert made(None) == [dtype.name for dtype in made(None)]


def test_metadata_of_an_extension_type_and_of_fields_survives_pickle():
    inner = DType.from_arrow("i", extension=("name", b"\xff"))
    dtype = DType.from_arrow("+s", fields=[("a", inner, False, b"\0\1"), ("b", "utf8")])
    back = pickle.loads(pickle.dumps(dtype))
    assert back == dtype
    assert back.__reduce__() == dtype.__reduce__()
    assert back.children[0][1].extension == ("name", b"\xff")
    assert back.__reduce__()[1][1][0][2:] == (False, b"\0\1")


def test_records_within_are_told_apart_by_their_fields():
    def made(last):
        fields = [(f"a_long_name_{number}", "int32") for number in range(20)]
        return DType.from_arrow("c", dictionary=DType([*fields, ("last", last)]))

    assert made("int32") != made("float32")
    assert made("int32") == made("int32")
    assert made("int32") != made("int32").name


@pytest.mark.parametrize("thing", [None, 1, b"utf8", str, "Utf8", "large_utf8"], ids=repr)
def test_a_type_of_columns_equals_nothing_else(thing):
    assert DType("utf8") != thing


def test_types_without_parts_are_made_once():
    for format in ("u", "l", "tsu:Europe/Paris", "d:10,2", "w:3"):
        assert DType.from_arrow(format) is DType.from_arrow(format)


# -- refused -----------------------------------------------------------------------------------------------------------

REMEDIES = {
    "null": "its length alone", "bool_packed": 'a copy as "bool"', "date32": 'a widening copy as "datetime64[D]"',
    "date64": '"datetime64[ms]", the same bytes', "time64[us]": "its storage, int64",
    "datetime64[us, UTC]": '"datetime64[us]", the same ticks in UTC', "decimal128(10, 2)": "a cast to float64",
    "interval[day_time]": "its storage, opaque[8]", "utf8": "its buffers, one at a time", "list[int8]": "its children",
    "struct{a: int8}": "its children", "dictionary[int8, utf8]": "its indices, int8, and its dictionary apart",
    "extension[arrow.uuid, opaque[16]]": "the type that it stands on, opaque[16]",
}  # fmt: skip
SPELLINGS = {
    "typestr": "the array interface", "dlpack": "DLPack", "format": "the buffer protocol", "__numpy_dtype__": "NumPy",
    "descr": "the array interface",
}  # fmt: skip


@pytest.mark.parametrize("name", REMEDIES)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_protocol_of_arrays_says_a_type_of_columns(spelling, name):
    if spelling == "__numpy_dtype__":
        pytest.importorskip("numpy")
    with pytest.raises(UnsupportedType, match=re.escape(f"{SPELLINGS[spelling]} cannot say {name}\n")) as caught:
        getattr(DType(name), spelling)
    assert caught.value.remedy.startswith(REMEDIES[name])


@pytest.mark.parametrize("name", REMEDIES)
def test_no_element_of_a_view_has_a_type_of_columns(name):
    memory = array("q", [1, 2])
    view = lend.view(memory)
    address, _ = memory.buffer_info()
    asks = [
        lambda: lend.view(memory, dtype=name),
        lambda: view.reinterpret(name),
        lambda: view.low(name),
        lambda: lend.buffer(memory).view(DType(name)),
        lambda: lend.View.from_pointer(address, (1,), name, owner=memory),
        lambda: DType([("a", name)]),
    ]
    for ask in asks:
        with pytest.raises(UnsupportedType, match=re.escape(f"{name} is a type of columns")) as caught:
            ask()
        assert caught.value.remedy.startswith(REMEDIES[name])


def test_no_name_is_registered_for_a_type_of_columns():
    with pytest.raises(ValueError, match="a type of columns is no element of an array"):
        lend.register_dtype("test_of_columns", "date32")
    with pytest.raises(ValueError, match="is a name of lend's own, for utf8"):
        lend.register_dtype("utf8", "int8")


def test_a_long_type_makes_a_short_message():
    dtype = DType.from_arrow("+s", fields=[(f"field{number}", "int8") for number in range(10_000)])
    with pytest.raises(UnsupportedType) as caught:
        lend.view(b"", dtype=dtype)
    assert len(str(caught.value)) < 400


def test_the_zone_of_a_dtype_of_pandas_is_no_longer_dropped():
    pd = pytest.importorskip("pandas")
    dtype = DType(pd.DatetimeTZDtype("ms", "Europe/Paris"))
    assert (dtype.zone, dtype.unit) == ("Europe/Paris", "ms")
