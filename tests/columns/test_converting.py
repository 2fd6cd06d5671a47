"""One form of a column becomes another: the values stay, what can be shared is; what is written was told."""

import math
import struct

import pytest

import lend
from lend.columns import converting, forms
from lend.columns.nullness import Nulls
from lend.errors import LeaseLost, UnsupportedType
from support import column_forms as make
from support.column_forms import carried_out

MASKS = make.MASKS
BEFORE = [[], [3], [3, None, 4, 5, 6, 7, None], [3] * 8 + [None], [1] * 33]
INTS = [[], [5], [None], [5, None, 7], [None] * 9, [1, 2, 3], [0, None] * 40, [*range(70)], [None, *range(63), None]]


def same(found, expected):
    """Equal, a NaN to a NaN."""
    return len(found) == len(expected) and all(
        a == b or str(a) == str(b) == "nan" for a, b in zip(found, expected, strict=True)
    )


def is_arrow(column):
    """Whether nothing stands between a column and Arrow's capsules."""
    return (
        column.nulls in (Nulls("none"), Nulls("bitmask", 0))
        and (len(column) < 2 or column.stride in (None, column.dtype.itemsize))
        and column.dtype.is_native
        and column.dtype != "bool"
        and all(is_arrow(child) for child in column.children)
        and (column.dictionary is None or is_arrow(column.dictionary))
    )


# -- arrow_form --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("laid", make.LAID)
@pytest.mark.parametrize("form", [*MASKS, "sentinel", None])
def test_any_integers_become_arrow_data(form, laid):
    # NULL rows: one matrix of frames.md 3.2, first column
    for values in INTS:
        values = [5 if value is None else value for value in values] if form is None else values
        for before in BEFORE:
            before = [5 if value is None else value for value in before] if form is None else before
            column = make.numbers("int32", values, form, laid, before, after=before)
            made = carried_out(forms, "arrow_form", column)
            assert made.tolist() == values
            assert is_arrow(made)
            assert made.null_count == values.count(None)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("laid", make.LAID)
def test_nan_that_is_null_becomes_a_bit(dtype, laid):
    # NULL-8
    column = make.numbers(dtype, [1.5, None, 2.5], "nan", laid, before=[None] * 3, after=[None])
    made = carried_out(forms, "arrow_form", column)
    assert made.nulls == Nulls("bitmask", 0)
    assert made.tolist() == [1.5, None, 2.5]


@pytest.mark.parametrize(("dtype", "form"), [("complex64", "nan"), ("complex128", "nan"), ("int128", "sentinel")])
def test_nulls_of_values_that_no_kernel_reads_are_counted(dtype, form):
    size = lend.DType(dtype).itemsize
    rows = {"nan": [struct.pack("=d", math.nan), b""], "sentinel": [(-99).to_bytes(16, "little", signed=True), b""]}
    if dtype == "complex64":
        rows["nan"] = [struct.pack("=f", math.nan), b""]
    data = b"".join(row.ljust(size, b"\0") for row in rows[form])
    assert lend.Column.from_buffers(dtype, 2, {"data": data}, nulls=make.NULL_FORMS[form]).null_count == 1


def test_nan_that_is_a_value_stays_one():
    # NULL-8
    column = make.numbers("float64", [1.5, math.nan, None], "bytes of 1")
    assert same(carried_out(forms, "arrow_form", column).tolist(), [1.5, math.nan, None])


@pytest.mark.parametrize("form", ["nan", "nat", "sentinel", *MASKS])
def test_where_no_null_is_found_nothing_is_written(form):
    dtype = "datetime64[ns]" if form == "nat" else "float64" if form == "nan" else "int64"
    column = make.numbers(dtype, [1, 2, 3], form, before=[None], after=[None])
    made = carried_out(forms, "arrow_form", column)
    assert made.null_count == 0
    assert forms.arrow_form(column).nbytes == 0
    assert made[0:1].buffers["data"].ptr in (column.buffers["data"].ptr, column.buffers["data"].ptr + 8)


@pytest.mark.parametrize("dtype", ["datetime64[ns]", "timedelta64[s]"])
def test_nat_becomes_a_bit_and_the_numbers_are_shared(dtype):
    # NULL-6
    column = make.numbers(dtype, [1, None, 3], "nat")
    made = carried_out(forms, "arrow_form", column)
    assert made.null_count == 1
    assert made.buffers["data"].ptr == column.buffers["data"].ptr
    assert forms.arrow_form(column).nbytes == 1


def test_days_of_numpy_become_dates():
    column = make.numbers("datetime64[D]", [0, None, -1, 365], "nat", "swapped", before=[None])
    made = carried_out(forms, "arrow_form", column)
    assert made.dtype == "date32"
    assert [str(day) for day in made.tolist()] == ["1970-01-01", "None", "1969-12-31", "1971-01-01"]


def test_a_day_beyond_32_bits_is_refused():
    column = make.numbers("datetime64[D]", [0, 2**31], None)
    with pytest.raises(UnsupportedType, match="day 1 of column 'x' is too far away for Arrow's dates"):
        converting.arrow_form(column)


@pytest.mark.parametrize("form", [*MASKS, None])
@pytest.mark.parametrize("laid", make.LAID[:3])
def test_bools_of_bytes_become_bits(form, laid):
    for values in ([], [True], [True, None, False] * 5, [False] * 64, [None, True]):
        values = [value or False for value in values] if form is None else values
        for before in ([], [True] * 3, [False] * 9):
            column = make.numbers("bool", values, form, laid, before, after=[True])
            made = carried_out(forms, "arrow_form", column)
            assert made.tolist() == values
            assert is_arrow(made)


@pytest.mark.parametrize("form", MASKS)
def test_bits_stay_where_they_are_and_only_their_nulls_are_written(form):
    for before in ([], [True] * 3, [True] * 9):
        column = make.packed_bools([True, None, False] * 7, form, before)
        made = carried_out(forms, "arrow_form", column)
        assert made.tolist() == [True, None, False] * 7
        assert made.buffers["data"].ptr - column.buffers["data"].ptr in (0, len(before) // 8)


@pytest.mark.parametrize("form", MASKS)
@pytest.mark.parametrize("wide", [False, True])
def test_text_keeps_its_bytes(form, wide):
    for before in ([], ["x", None, "yz"], ["a"] * 9):
        column = make.texts(["äö", None, "", "b" * 20], form, before, after=["after"], wide=wide, lead=b"lead")
        made = carried_out(forms, "arrow_form", column)
        assert made.tolist() == ["äö", None, "", "b" * 20]
        assert made.buffers["data"].ptr == column.buffers["data"].ptr
        assert is_arrow(made)


@pytest.mark.parametrize("child_form", MASKS)
@pytest.mark.parametrize("form", MASKS)
def test_what_is_nested_becomes_arrow_data_throughout(form, child_form):
    for before in (0, 3, 9):
        values = [[1, None], None, [], [3]] * 3
        column = make.lists(values, form, [[1, 2], None, [5]] * before, [[4]], child_form=child_form)
        made = carried_out(forms, "arrow_form", column)
        assert made.tolist() == values
        assert is_arrow(made)
        values = [[True, None], None, [False, True]] * 3
        column = make.fixed_lists(values, form, [[True, False]] * before, [None], child_form=child_form)
        made = carried_out(forms, "arrow_form", column)
        assert made.tolist() == values
        assert is_arrow(made)
        assert made.dtype.children[0][1] == "bool_packed"


@pytest.mark.parametrize("child_form", ["nan", *MASKS])
@pytest.mark.parametrize("form", [None, *MASKS])
def test_structs_become_arrow_data_with_their_fields(form, child_form):
    values = [{"b": 1.5, "t": "x"}, {"b": None, "t": None}, {"b": 2.5, "t": ""}]
    values = values if form is None else [None, *values, None]
    for before in (0, 1, 9):
        column = make.structs(values, form, [{"b": 7.5, "t": "y"}] * before, values[:1], child_form)
        made = carried_out(forms, "arrow_form", column[1:])
        assert made.tolist() == values[1:]
        assert is_arrow(made)


def test_of_a_short_slice_only_what_it_needs_is_written():
    column = make.structs([{"b": None, "t": "x"}] * 1000, "bytes of 1", child_form="bytes of 1")
    assert forms.arrow_form(column[500:501]).nbytes == 1  # a byte of bits for b; t has no null there
    assert forms.arrow_form(make.numbers("bool", [True] * 1000)[900:901]).nbytes == 1


@pytest.mark.parametrize("index", ["int8", "uint8", "int16", "uint32", "int64"])
@pytest.mark.parametrize("form", [*MASKS, "minus one"])
def test_indices_are_shared_and_their_dictionary_too(form, index):
    if form == "minus one" and index.startswith("u"):
        return
    column = make.categories(["b", None, "a"], ["a", "b"], form, index, before=["a"], ordered=True)
    made = carried_out(forms, "arrow_form", column)
    assert made.tolist() == ["b", None, "a"]
    assert made.dtype.ordered
    assert made.dictionary.buffers["data"].ptr == column.dictionary.buffers["data"].ptr
    assert forms.arrow_form(column).nbytes == (0 if form == "bits" else 1)


def test_what_is_arrow_data_already_is_given_back_itself():
    for column in (make.numbers("int32", [1, None], "bits", before=[1]), make.lists([[1]], "bits"), make.texts(["a"])):
        assert converting.arrow_form(column) is column


@pytest.mark.parametrize(
    ("dtype", "remedy"), [("complex128", None), ("bfloat16", "uint16"), ("datetime64[h]", "astype")]
)
def test_what_arrow_has_no_word_for_is_refused_by_name(dtype, remedy):
    column = lend.Column.from_buffers(dtype, 1, {"data": bytes(16)}, name="x")
    with pytest.raises(UnsupportedType, match=r"Arrow has no .*, of which column 'x' is") as caught:
        converting.arrow_form(column)
    assert remedy is None or remedy in caught.value.remedy


def test_bytes_of_numpy_are_fixed_binary_of_the_same_memory():
    column = lend.Column.from_buffers("bytes[2]", 2, {"data": b"a\0bc"})
    made = converting.arrow_form(column)
    assert made.tolist() == [b"a\0", b"bc"]
    assert made.dtype.arrow == "w:2"


def test_each_chunk_becomes_arrow_data_by_itself():
    chunks = joining_parts([[1, None], [], [3, 4]], "bytes of 1")
    made = carried_out(forms, "arrow_form", chunks)
    assert [part.tolist() for part in made.chunks] == [[1, None], [], [3, 4]]
    assert made.chunks[2].buffers["data"].ptr == chunks.chunks[2].buffers["data"].ptr + 16


def test_it_says_why_a_copy_is_needed():
    assert converting.needs(make.numbers("int32", [1, 2], None, "strided")) == ["stride"]
    assert converting.needs(make.numbers("int32", [1, 2], None, "swapped")) == ["byte order"]
    assert converting.needs(make.numbers("bool", [True])) == ["bools of one byte each"]
    assert converting.needs(make.numbers("int32", [1, None], "bytes of 1")) == ["nulls as bytes"]
    assert converting.needs(make.numbers("float32", [1, None], "nan")) == ["nulls as NaN"]
    assert converting.needs(make.numbers("float32", [1, 2], "nan")) == []
    assert converting.needs(make.lists([[1]], "bits", child_form="bytes of 0")) == ["nulls as bytes"]
    assert converting.needs(make.packed_bools([True]), "array") == ["bit-packed"]
    assert converting.needs(make.numbers("int32", [1, None], "bits"), "array") == ["nulls as bits"]
    assert converting.needs(joining_parts([[1], [], [2]], None), "array") == ["2 chunks"]


def joining_parts(chunks, form, dtype="int64", laid="side by side"):
    from lend.columns.building import of_chunks

    return of_chunks([make.numbers(dtype, part, form, laid, before=[2] * i) for i, part in enumerate(chunks)])


# -- bools, masks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [*MASKS, None])
def test_bits_become_bytes(form):
    # COPY-2
    for before in ([], [True] * 3, [False] * 13):
        values = [True, False if form is None else None, False] * 11
        made = carried_out(forms, "unpacked", make.packed_bools(values, form, before))
        assert made.dtype == "bool"
        assert made.tolist() == values
    assert converting.unpacked(make.numbers("bool", [True])).buffers["data"].nbytes == 1


@pytest.mark.parametrize("form", [*MASKS, "one byte for all", "nan", "sentinel", None])
def test_any_nulls_become_a_byte_for_each_element_and_the_values_are_shared(form):
    dtype = "float64" if form == "nan" else "int64"
    for before in BEFORE:
        values = [1, 2, 3] if form in (None, "one byte for all") else [1, None, 3] * 5
        before = [] if form == "one byte for all" else [1 if form is None else value for value in before]
        column = make.numbers(dtype, values, form, before=before)
        made = carried_out(forms, "masked", column)
        assert made.nulls == Nulls("bytemask", 1)
        assert made.tolist() == values
        assert made.buffers["data"].ptr - column.buffers["data"].ptr in (0, 8 * len(before))
        told = 0 if form in ("bytes of 1", "strided bytes", "one byte for all") else len(values)
        assert forms.masked(column).nbytes == told


def test_a_mask_of_bytes_that_is_one_already_is_given_back_itself():
    column = make.numbers("int64", [1, None], "strided bytes")
    assert converting.masked(column) is column


def test_bools_of_bits_with_nulls_become_bools_and_a_mask_of_bytes():
    # NULL-7
    column = make.packed_bools([True, None, False], "bits", [True] * 5)
    made = converting.unpacked(converting.masked(column))
    assert (made.dtype.name, made.tolist()) == ("bool", [True, None, False])


@pytest.mark.parametrize("laid", make.LAID)
def test_elements_come_side_by_side_and_their_nulls_stay(laid):
    # TYPE-4, COPY-3
    column = make.numbers("int32", [256, None, 3], "bits", laid, before=[1] * 11)
    made = carried_out(forms, "contiguous", column)
    assert made.tolist() == [256, None, 3]
    assert (made.stride, made.dtype.is_native, made.nulls.kind) == (4, True, "bitmask")


# -- values under nulls ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("laid", make.LAID)
@pytest.mark.parametrize("form", [*MASKS, "sentinel"])
def test_a_value_is_filled_in_under_nulls(form, laid):
    for values in INTS:
        column = make.numbers("int16", values, form, laid, before=[4, None])
        made = carried_out(forms, "filled", column, -7)
        assert made.tolist() == [-7 if value is None else value for value in values]
        assert made.nulls == Nulls("none")


@pytest.mark.parametrize("form", [*MASKS, "nan"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nan_is_filled_in_under_nulls_of_floats(dtype, form):
    made = carried_out(forms, "filled", make.numbers(dtype, [1.5, None, 2.5], form), "nan")
    assert made.nulls == Nulls("nan")
    assert same(list(made.view().tolist()), [1.5, math.nan, 2.5])


def test_nan_that_is_a_value_and_null_do_not_become_one():
    # NULL-8
    column = make.numbers("float64", [math.nan, None], "bits")
    with pytest.raises(UnsupportedType, match="has nulls and NaN that is a value"):
        converting.filled(column, "nan")
    assert converting.filled(column, "nan", merge=True).null_count == 2


def test_nan_under_a_null_is_no_value():
    column = lend.Column.from_buffers("float64", 2, {"data": struct.pack("=2d", math.nan, 1), "validity": b"\2"})
    assert converting.filled(column, "nan").null_count == 1


@pytest.mark.parametrize("form", [*MASKS, "nat"])
@pytest.mark.parametrize("dtype", ["datetime64[ns]", "timedelta64[s]", "datetime64[us, Europe/Paris]"])
def test_nat_is_filled_in_under_nulls_of_times(dtype, form):
    column = make.numbers(dtype, [1, None, 3], form)
    made = carried_out(forms, "filled", column, "nat")
    assert made.nulls == Nulls("nat")
    assert made.null_count == 1
    assert made.buffers["data"].view("int64").tolist() == [1, make.NAT, 3]


def test_the_number_of_nat_that_is_a_value_and_null_do_not_become_one():
    column = make.numbers("datetime64[us, Europe/Paris]", [make.NAT, None], "bits")
    with pytest.raises(UnsupportedType, match="has nulls and NaT that is a value"):
        converting.filled(column, "nat")


@pytest.mark.parametrize("laid", make.LAID)
@pytest.mark.parametrize("form", [*MASKS, "sentinel"])
def test_integers_become_floats_only_where_each_is_exact(form, laid):
    # NULL-9
    made = carried_out(forms, "filled", make.numbers("int64", [2**53, None, -3], form, laid, [1]), "nan")
    assert (made.dtype.name, made.nulls) == ("float64", Nulls("nan"))
    assert made.tolist() == [2.0**53, None, -3.0]
    with pytest.raises(UnsupportedType, match=r"element 1 of column 'x' is beyond 2\*\*53"):
        converting.filled(make.numbers("int64", [None, 2**62 + 1], form, laid), "nan")


def test_integers_without_nulls_stay_integers():
    column = make.numbers("int64", [2**62 + 1], "bits", before=[None])
    made = carried_out(forms, "filled", column, "nan")
    assert (made.dtype.name, made.tolist(), made.nulls.kind) == ("int64", [2**62 + 1], "none")


def test_one_chunk_with_nulls_makes_floats_of_all():
    made = carried_out(forms, "filled", joining_parts([[1], [None, 2]], "bits"), "nan")
    assert [part.dtype.name for part in made.chunks] == ["float64", "float64"]
    assert made.tolist() == [1.0, None, 2.0]


@pytest.mark.parametrize("value", [True, False])
def test_bools_are_filled_with_a_bool(value):
    for before in ([], [True] * 5):
        made = carried_out(forms, "filled", make.packed_bools([True, None, False], "bits", before), value)
        assert (made.dtype.name, made.tolist()) == ("bool", [True, value, False])


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (make.numbers("int8", [1, None], "bits"), 128),
        (make.numbers("int8", [1, None], "bits"), 1.5),
        (make.numbers("uint8", [1, None], "bits"), -1),
        (make.numbers("float32", [1, None], "bits"), "x"),
        (make.numbers("float16", [1, None], "bits"), 1e6),
        (make.numbers("int8", [1, None], "bits"), "nat"),
        (make.numbers("bool", [True, None], "bits"), "nan"),
        (make.numbers("bool", [True, None], "bits"), 2),
        (make.packed_bools([True, None], "bits"), 2),
        (make.texts(["a", None], "bits"), "b"),
        (make.lists([[1], None], "bits"), 1),
        (make.categories(["a", None], ["a"], "bits"), 0),
    ],
)
def test_what_is_no_value_of_the_dtype_is_refused(column, value):
    with pytest.raises(UnsupportedType, match=r"cannot be filled with|is no value of"):
        converting.filled(column, value)


# -- held and released -------------------------------------------------------------------------------------------------


def test_a_released_column_is_not_converted():
    column = make.numbers("int32", [1])
    column.release()
    with pytest.raises(LeaseLost):
        converting.arrow_form(column)


def test_what_was_made_outlives_its_source():
    import gc

    column = make.numbers("int32", [1, None, 3], "bytes of 1")
    made = converting.arrow_form(column)
    column.release()
    del column
    gc.collect()
    assert made.tolist() == [1, None, 3]
