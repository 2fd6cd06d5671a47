"""Columns made of buffers of anybody's: every layout, each buffer with an owner of its own."""

import array
import gc
import math
import struct
import weakref

import numpy as np
import pytest

import lend
from lend import Column
from lend.columns.nullness import Nulls
from lend.errors import LendError, MalformedDescriptor, UnsupportedType


def q(*values):
    return struct.pack(f"{len(values)}q", *values)


def i(*values):
    return struct.pack(f"{len(values)}i", *values)


def numbers(*values, **said):
    return Column.from_buffers("int64", len(values), {"data": q(*values)}, **said)


def words(*texts, **said):
    ends = [0]
    for text in texts:
        ends.append(ends[-1] + len(text.encode()))
    return Column.from_buffers("utf8", len(texts), {"offsets": i(*ends), "data": "".join(texts).encode()}, **said)


def long_view(size, start, which, at):
    return struct.pack("i4sii", size, start, which, at)


CASES = {
    "numbers": (lambda: numbers(1, 2), [1, 2]),
    "numbers with bits": (
        lambda: Column.from_buffers("int64", 2, {"data": q(1, 2), "validity": b"\x02"}), [None, 2],
    ),
    "numbers behind an offset": (lambda: Column.from_buffers("int64", 2, {"data": q(1, 2, 3)}, offset=1), [2, 3]),
    "bits": (lambda: Column.from_buffers("bool_packed", 3, {"data": b"\x05"}), [True, False, True]),
    "bools": (lambda: Column.from_buffers("bool", 3, {"data": b"\x05\0\1"}), [True, False, True]),
    "text": (lambda: words("a", "", "öü"), ["a", "", "öü"]),
    "large text": (
        lambda: Column.from_buffers("large_utf8", 2, {"offsets": q(1, 2, 4), "data": b"xabb"}), ["a", "bb"],
    ),
    "empty text without data": (lambda: Column.from_buffers("utf8", 2, {"offsets": i(0, 0, 0)}), ["", ""]),
    "binary": (lambda: Column.from_buffers("binary", 1, {"offsets": i(0, 2), "data": b"\xff\0"}), [b"\xff\0"]),
    "views": (
        lambda: Column.from_buffers(
            "utf8_view", 2,
            {"views": struct.pack("i12s", 1, b"a") + long_view(13, b"abcd", 1, 2),
             "variadic": [b"nothing", b"..abcdefghijklm"]},
        ), ["a", "abcdefghijklm"],
    ),
    "short views": (lambda: Column.from_buffers("utf8_view", 1, {"views": struct.pack("i12s", 2, b"ab")}), ["ab"]),
    "lists": (
        lambda: Column.from_buffers("list[int64]", 2, {"offsets": i(0, 1, 3)}, children=[numbers(1, 2, 3)]),
        [[1], [2, 3]],
    ),
    "list views": (
        lambda: Column.from_buffers(
            "list_view[int64]", 2, {"offsets": i(1, 0), "sizes": i(2, 1)}, children=[numbers(1, 2, 3)]
        ), [[2, 3], [1]],
    ),
    "lists of one length": (
        lambda: Column.from_buffers("fixed_list[int64, 2]", 2, {}, children=[numbers(1, 2, 3, 4)]), [[1, 2], [3, 4]],
    ),
    "structs": (
        lambda: Column.from_buffers("struct{a: int64, b: utf8}", 2, {}, children=[numbers(1, 2), words("x", "y")]),
        [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}],
    ),
    "structs with bits": (
        lambda: Column.from_buffers("struct{a: int64}", 2, {"validity": b"\1"}, children=[numbers(1, 2)]),
        [{"a": 1}, None],
    ),
    "maps": (
        lambda: Column.from_buffers(
            "map[utf8, int64]", 1, {"offsets": i(0, 2)},
            children=[Column.from_buffers(
                lend.DType("map[utf8, int64]").children[0][1], 2, {}, children=[words("x", "y"), numbers(1, 2)]
            )],
        ), [[("x", 1), ("y", 2)]],
    ),
    "a sparse union": (
        lambda: Column.from_buffers(
            lend.DType.from_arrow("+us:5,9", fields=(("a", "int64"), ("b", "utf8"))), 2, {"type_ids": b"\x09\x05"},
            children=[numbers(1, 2), words("x", "y")],
        ), ["x", 2],
    ),
    "a dense union": (
        lambda: Column.from_buffers(
            lend.DType.from_arrow("+ud:5,9", fields=(("a", "int64"), ("b", "utf8"))), 3,
            {"type_ids": b"\x09\x05\x09", "offsets": i(0, 0, 1)}, children=[numbers(7), words("x", "y")],
        ), ["x", 7, "y"],
    ),
    "runs": (
        lambda: Column.from_buffers(
            lend.DType.from_arrow("+r", fields=(("run_ends", "int32"), ("values", "utf8"))), 3, {},
            children=[Column.from_buffers("int32", 2, {"data": i(2, 3)}), words("x", "y")],
        ), ["x", "x", "y"],
    ),
    "a dictionary": (
        lambda: Column.from_buffers(
            lend.DType.from_arrow("c", dictionary="utf8"), 3, {"data": b"\1\0\1"}, dictionary=words("x", "y")
        ), ["y", "x", "y"],
    ),
    "codes with a sentinel": (
        lambda: Column.from_buffers(
            lend.DType.from_arrow("c", dictionary="utf8"), 3, {"data": b"\1\xff\0"},
            dictionary=words("x", "y"), nulls=-1,
        ), ["y", None, "x"],
    ),
    "nothing but nulls": (lambda: Column.from_buffers("null", 2, {}), [None, None]),
    "an extension type": (
        lambda: Column.from_buffers(lend.DType.from_arrow("l", extension=("ours", b"x")), 1, {"data": q(3)}), [3],
    ),
    "opaque bytes": (lambda: Column.from_buffers("opaque[2]", 2, {"data": b"abcd"}), [b"ab", b"cd"]),
    "other byte order": (lambda: Column.from_buffers(">int16", 2, {"data": b"\0\1\0\2"}), [1, 2]),
    "bytes of 1": (
        lambda: Column.from_buffers(
            "int64", 2, {"data": q(1, 2), "validity": b"\0\7"}, nulls=Nulls("bytemask", missing=1)
        ), [1, None],
    ),
    "bytes of 0": (
        lambda: Column.from_buffers(
            "int64", 2, {"data": q(1, 2), "validity": b"\0\7"}, nulls=Nulls("bytemask", missing=0)
        ), [None, 2],
    ),
    "bits of 1": (
        lambda: Column.from_buffers(
            "int64", 2, {"data": q(1, 2), "validity": b"\2"}, nulls=Nulls("bitmask", missing=1)
        ), [1, None],
    ),
    "a sentinel": (lambda: numbers(1, -9, nulls=-9), [1, None]),
    "an integer sentinel of floats": (
        lambda: Column.from_buffers("float64", 2, {"data": struct.pack("2d", 1.0, -1.0)}, nulls=-1), [1.0, None],
    ),
    "nan": (
        lambda: Column.from_buffers("float64", 2, {"data": struct.pack("2d", 1.0, math.nan)}, nulls="nan"), [1.0, None],
    ),
    "nan by its value": (
        lambda: Column.from_buffers("float64", 2, {"data": struct.pack("2d", 1.0, math.nan)}, nulls=math.nan),
        [1.0, None],
    ),
}  # fmt: skip
EVERY = pytest.mark.parametrize("case", CASES)
# what Arrow has no word for while a value is null
UNSAYABLE = (
    "codes with a sentinel", "bytes of 1", "bytes of 0", "bits of 1", "a sentinel", "an integer sentinel of floats",
    "nan", "nan by its value", "bools", "other byte order",
)  # fmt: skip


@EVERY
def test_each_layout_has_the_values_that_lie_there(case):
    make, values = CASES[case]
    assert make().tolist() == values


@EVERY
def test_nulls_are_counted_by_the_form_that_was_told(case):
    make, values = CASES[case]
    assert make().null_count == values.count(None)


@EVERY
def test_a_slice_of_each_layout_is_that_of_the_list(case):
    make, values = CASES[case]
    assert make()[1:].tolist() == values[1:]


@EVERY
def test_each_layout_passes_its_full_check(case):
    assert CASES[case][0]().verify(full=True) is None


@EVERY
def test_each_layout_shows_itself(case):
    column = CASES[case][0]()
    assert repr(column).startswith(f"<Column {column.dtype}[{len(column)}] on cpu")


@pytest.mark.parametrize("case", [case for case in CASES if case not in UNSAYABLE])
def test_each_layout_is_given_as_arrow_data_that_pyarrow_finds_valid(case):
    pa = pytest.importorskip("pyarrow")
    make, values = CASES[case]
    given = pa.array(make())
    given.validate(full=True)
    assert given.to_pylist() == values


@pytest.mark.parametrize("case", [case for case in CASES if case not in UNSAYABLE])
def test_each_layout_comes_back_as_the_same_type(case):
    column = CASES[case][0]()
    assert lend.column(column.__arrow_c_array__()).dtype == column.dtype


@pytest.mark.parametrize("case", [case for case in CASES if case not in UNSAYABLE])
def test_each_layout_comes_back_with_the_same_values(case):
    make, values = CASES[case]
    assert lend.column(make().__arrow_c_array__()).tolist() == values


@pytest.mark.parametrize("case", UNSAYABLE)
def test_what_arrow_has_no_word_for_is_given_in_a_form_that_it_has(case):
    pa = pytest.importorskip("pyarrow")
    make, values = CASES[case]
    with lend.copies() as copies:
        given = pa.array(make())
    given.validate(full=True)
    assert (given.to_pylist(), copies.count > 0) == (values, True)


def test_a_statement_that_no_value_is_null_by_is_given_without_a_bitmap():
    pa = pytest.importorskip("pyarrow")
    assert pa.array(numbers(1, 2, nulls=-9)).to_pylist() == [1, 2]


def test_nulls_of_the_dictionary_do_not_hinder_a_statement_that_no_code_is_null_by():
    pa = pytest.importorskip("pyarrow")
    inner = Column.from_buffers("int64", 1, {"data": q(1), "validity": b"\0"})
    kind = lend.DType.from_arrow("c", dictionary="int64")
    assert pa.array(Column.from_buffers(kind, 1, {"data": b"\0"}, dictionary=inner, nulls=-1)).to_pylist() == [None]


def test_name_and_metadata_are_given_along():
    pa = pytest.importorskip("pyarrow")
    column = numbers(1, name="größe", metadata={b"k": b"\0v"})
    field = pa.field(column)
    assert (field.name, field.metadata) == ("größe", {b"k": b"\0v"})


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_a_name_that_no_schema_can_have_is_refused_when_it_is_given(name):
    with pytest.raises(UnsupportedType, match="is no text that a schema can have"):
        numbers(1, name=name).__arrow_c_schema__()


def test_children_have_the_names_of_the_type():
    column = Column.from_buffers("struct{a: int64}", 1, {}, children=[numbers(1, name="other")])
    assert [child.name for child in column.children] == ["a"]


@pytest.mark.parametrize("step", [2, 3, -1, -2])
def test_data_may_have_strides(step):
    np = pytest.importorskip("numpy")
    source = np.arange(12)[::step]
    assert Column.from_buffers("int64", len(source), {"data": source}).tolist() == source.tolist()


def test_data_of_one_value_may_have_a_stride_of_nothing():
    np = pytest.importorskip("numpy")
    source = np.broadcast_to(np.int64(7), (3,))
    assert Column.from_buffers("int64", 3, {"data": source})[1:].tolist() == [7, 7]


def test_a_byte_mask_may_have_strides():
    np = pytest.importorskip("numpy")
    mask = np.array([[True, False], [False, True], [True, True]])[:, 0]
    column = Column.from_buffers("int64", 3, {"data": q(1, 2, 3), "validity": mask}, nulls=Nulls("bytemask", missing=1))
    assert (column[1:].tolist(), column.null_count) == ([2, None], 2)


# COPY-3
def test_data_with_strides_are_given_as_arrow_data_by_a_copy():
    np = pytest.importorskip("numpy")
    with lend.copies() as copies:
        pair = Column.from_buffers("int64", 3, {"data": np.arange(6)[::2]}).__arrow_c_array__()
    assert (lend.column(pair).tolist(), copies.bytes) == ([0, 2, 4], 24)


def test_dates_of_numpy_are_null_by_nat_when_that_is_said():
    np = pytest.importorskip("numpy")
    dates = np.array(["2020-01-01", "NaT"], "M8[s]")
    assert Column.from_buffers("datetime64[s]", 2, {"data": dates}, nulls="nat").null_count == 1


# TYPE-4
def test_numbers_of_the_other_byte_order_are_never_read_as_they_are():
    np = pytest.importorskip("numpy")
    with pytest.raises(UnsupportedType, match="in the other byte order"):
        Column.from_buffers("uint16", 2, {"data": np.array([1, 2], ">u2")})


@pytest.mark.parametrize(
    ("dtype", "given", "said"),
    [
        (
            "utf8",
            {"offsets": array.array("q", [0, 1]), "data": b"a"},
            "of its offsets have 8 bytes, and those of utf8 4",
        ),
        ("large_utf8", {"offsets": array.array("i", [0, 1]), "data": b"a"}, "of its offsets have 4 bytes"),
        ("int64", {"data": array.array("i", [1])}, "of its data have 4 bytes, and those of int64 8"),
        ("utf8", {"offsets": i(0, 1), "data": array.array("i", [1])}, "of its data have 4 bytes, and those of utf8 1"),
    ],
)
def test_numbers_of_another_width_are_never_read_as_they_are(dtype, given, said):
    with pytest.raises(MalformedDescriptor, match=said):
        Column.from_buffers(dtype, 1, given)


@pytest.mark.parametrize(
    ("dtype", "length", "given", "said"),
    [
        ("int64", 3, {"data": q(1, 2)}, "its data has 16 bytes, and 24 are needed"),
        ("int64", 1, {}, "its data has 0 bytes, and 8 are needed"),
        ("int64", 9, {"data": q(*range(9)), "validity": b"\0"}, "its validity has 1 bytes, and 2 are needed"),
        ("bool_packed", 9, {"data": b"\0"}, "its data has 1 bytes, and 2 are needed"),
        ("utf8", 1, {"offsets": i(0), "data": b""}, "its offsets has 4 bytes, and 8 are needed"),
        ("utf8", 1, {"offsets": i(0, 3), "data": b"ab"}, "its data has 2 bytes, and 3 are needed"),
        ("utf8", 1, {"offsets": i(2, 1), "data": b"ab"}, "its offsets go from 2 to 1"),
        ("utf8", 1, {"offsets": i(-1, 1), "data": b"ab"}, "its offsets go from -1 to 1"),
        ("utf8_view", 2, {"views": bytes(16)}, "its views has 16 bytes, and 32 are needed"),
    ],
)
def test_buffers_that_are_too_small_are_refused_by_role_and_number(dtype, length, given, said):
    with pytest.raises(MalformedDescriptor, match=said):
        Column.from_buffers(dtype, length, given)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Column.from_buffers("list[int64]", 1, {"offsets": i(0, 4)}, children=[numbers(1)]), "child has 1"),
        (
            lambda: Column.from_buffers("struct{a: int64}", 2, {}, children=[numbers(1)]),
            "child 'a' has 1 elements, and 2",
        ),
        (
            lambda: Column.from_buffers("fixed_list[int64, 2]", 2, {}, children=[numbers(1, 2, 3)]),
            "has 3 elements, and 4",
        ),
    ],
)
def test_children_that_are_too_short_are_refused(make, said):
    with pytest.raises(MalformedDescriptor, match=said):
        make()


@pytest.mark.parametrize(
    ("make", "kind", "said"),
    [
        (lambda: Column.from_buffers("int64", -1, {}), ValueError, "from 0 on, not -1"),
        (lambda: Column.from_buffers("int64", 2**70, {}), ValueError, "from 0 on"),
        (lambda: Column.from_buffers("opaque[2147483647]", 2**40, {}), ValueError, "further than memory"),
        (lambda: Column.from_buffers("int64", True, {}), TypeError, "a number of elements"),
        (lambda: Column.from_buffers("int64", 0, {"offsets": b""}), ValueError, "no buffer 'offsets'; its roles"),
        (lambda: Column.from_buffers("int64", 0, {}, name=1), TypeError, "a str, not int"),
        (lambda: Column.from_buffers("int64", 0, {}, metadata={"a": b""}), TypeError, "bytes to bytes"),
        (lambda: Column.from_buffers("int64", 0, {}, children=[numbers()]), ValueError, "0 children, and 1"),
        (lambda: Column.from_buffers("list[int64]", 0, {}, children=[words()]), ValueError, "is int64, and utf8"),
        (lambda: Column.from_buffers("list[int64]", 0, {}, children=[3]), TypeError, "children are Columns"),
        (lambda: Column.from_buffers("int64", 0, {}, dictionary=words()), ValueError, "has no dictionary"),
        (lambda: numbers(1, nulls="x" * 99), UnsupportedType, "could stand for null"),
        (lambda: numbers(1, nulls="nan"), UnsupportedType, "no value of int64 is NaN"),
        (lambda: numbers(1, nulls="nat"), UnsupportedType, "no value of int64 is NaT"),
        (lambda: numbers(1, nulls="bitmask"), ValueError, "need a validity buffer"),
        (lambda: Column.from_buffers("object", 1, {"data": bytes(8)}), UnsupportedType, "no column is made of buffers"),
        (lambda: Column.from_buffers("int4_packed", 1, {"data": b"a"}), UnsupportedType, "no column is made"),
        (
            lambda: Column.from_buffers("int64", 1, {"data": q(1), "validity": b"\1"}, nulls="bytemask"),
            ValueError, "says null by 0 or by 1",
        ),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused_in_a_sentence(make, kind, said):
    with pytest.raises(kind, match=said):
        make()


def test_a_mask_of_bools_is_asked_which_of_them_means_null():
    np = pytest.importorskip("numpy")
    with pytest.raises(ValueError, match="says nothing of which means null"):
        Column.from_buffers("int64", 1, {"data": q(1), "validity": np.array([True])})


def test_data_buffers_of_views_that_have_gaps_are_refused():
    with pytest.raises(UnsupportedType, match="do not lie side by side"):
        Column.from_buffers(
            "utf8_view", 1, {"views": long_view(13, b"abcd", 0, 0), "variadic": [memoryview(bytes(40))[::-1]]}
        )


# -- lifetime --


class Bytes(bytearray):
    """Memory of which one can see that it went."""


def apart(**given):
    made = {role: Bytes(data) for role, data in given.items()}
    return made, {role: weakref.ref(data) for role, data in made.items()}


def test_a_string_column_goes_from_one_library_to_another_and_the_offsets_stay_while_the_bytes_are_freed_at_once():
    # the scene of the discussion: dataframe-api, issue 39
    pa = pytest.importorskip("pyarrow")
    made, living = apart(offsets=i(0, 1, 3), data=b"abb")
    column = Column.from_buffers("utf8", 2, made)
    del made
    other = pa.array(column)  # the other library has it
    offsets = column.buffers["offsets"]
    assert other.to_pylist() == ["a", "bb"]
    del column, other  # both columns go out of scope
    gc.collect()
    assert ({role for role, part in living.items() if part()}, offsets.view().tolist()) == ({"offsets"}, [0, 1, 3])


def test_the_last_buffer_goes_with_its_last_holder():
    made, living = apart(offsets=i(0, 1), data=b"a")
    offsets = Column.from_buffers("utf8", 1, made).buffers["offsets"]
    del made
    exported = memoryview(offsets)
    del offsets
    assert living["offsets"]() is not None
    del exported
    assert living["offsets"]() is None


def test_each_buffer_has_an_owner_of_its_own():
    owners = words("a").owner
    assert (owners[0], len({*owners[1:]})) == (None, 2)


def test_released_views_do_not_pull_memory_from_under_a_column():
    data = lend.view(q(1, 2))
    column = Column.from_buffers("int64", 2, {"data": data})
    data.release()
    assert column.tolist() == [1, 2]


def test_released_data_buffers_of_views_do_not_pull_memory_from_under_a_column():
    data = lend.view(b"abcdefghijklm")
    column = Column.from_buffers("utf8_view", 1, {"views": long_view(13, b"abcd", 0, 0), "variadic": [data]})
    data.release()
    assert column.tolist() == ["abcdefghijklm"]


def test_a_released_child_does_not_pull_memory_from_under_its_parent():
    child = numbers(1, 2)
    column = Column.from_buffers("struct{a: int64}", 2, {}, children=[child])
    child.release()
    assert column.tolist() == [{"a": 1}, {"a": 2}]


def test_a_released_dictionary_does_not_pull_memory_from_under_its_column():
    inner = words("x")
    column = Column.from_buffers(lend.DType.from_arrow("c", dictionary="utf8"), 1, {"data": b"\0"}, dictionary=inner)
    inner.release()
    assert column.tolist() == ["x"]


def test_every_refusal_gives_the_memory_back():
    made, living = apart(offsets=i(0, 9), data=b"a")
    with pytest.raises(LendError):
        Column.from_buffers("utf8", 1, made)
    del made
    gc.collect()
    assert [part() for part in living.values()] == [None, None]


@pytest.mark.parametrize("role", ["data", "offsets"])
def test_pointers_to_objects_are_no_numbers(role):
    objects = np.array([None, None], dtype=object)
    buffers = {"data": objects} if role == "data" else {"offsets": objects, "data": b""}
    with pytest.raises(UnsupportedType, match="is of pointers to Python objects"):
        Column.from_buffers("int64" if role == "data" else "large_utf8", 1, buffers)


def test_a_class_of_the_same_name_is_no_column():
    other = type("Column", (), {"chunks": (1,), "dtype": lend.DType("int64"), "name": "a", "__len__": lambda self: 3})
    dtype = lend.DType.from_arrow("+s", fields=[("a", lend.DType("int64"))])
    with pytest.raises(TypeError, match="children are Columns, not Column"):
        Column.from_buffers(dtype, 3, {}, children=[other()])


@pytest.mark.parametrize("readonly", [False, True])
def test_what_has_a_child_that_may_not_be_written_to_says_so(readonly):
    memory = bytes(24) if readonly else bytearray(24)
    dtype = lend.DType.from_arrow("+s", fields=[("a", lend.DType("int64"))])
    child = Column.from_buffers("int64", 3, {"data": memory})
    assert Column.from_buffers(dtype, 3, {}, children=[child]).readonly is readonly
