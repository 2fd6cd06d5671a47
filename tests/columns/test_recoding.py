"""Offsets of another width and indices as pandas has them: the values as in a list, and the bytes as they were told."""

import struct

import pytest

import lend
from lend.columns import converting, recoding
from lend.columns.nullness import Nulls
from lend.errors import MalformedDescriptor, UnsupportedType
from support import column_forms as make
from support.column_forms import carried_out

MASKS = make.MASKS


# -- offsets -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [*MASKS, None])
@pytest.mark.parametrize("wide", [False, True])
def test_offsets_change_their_width_and_the_bytes_stay(form, wide):
    for before in ([], ["x", "yz"], ["abc"] * 9):
        values = ["äö", "" if form is None else None, "b" * 300] * 3
        column = make.texts(values, form, before, ["z"], wide, lead=b"..")
        made = carried_out(recoding, "narrowed" if wide else "widened", column)
        assert made.tolist() == values
        assert made.dtype.name == ("utf8" if wide else "large_utf8")
        start = column.buffers["data"].ptr
        assert start <= made.buffers["data"].ptr <= start + 100
        values = [[1, None], [] if form is None else None, [3]]
        column = make.lists(values, form, [[1]] * len(before), [[2]], wide)
        made = carried_out(recoding, "narrowed" if wide else "widened", column)
        assert made.tolist() == values
        assert made.children[0].buffers["data"].ptr == column.children[0].buffers["data"].ptr


def test_offsets_that_lead_too_far_for_32_bits_are_refused():
    offsets = struct.pack("=2q", 5, 2**31 + 5)
    data = lend.View.from_pointer(1 << 12, 2**31 + 5, "uint8", owner=object())
    column = lend.Column.from_buffers("large_binary", 1, {"offsets": offsets, "data": data}, name="x")
    with pytest.raises(UnsupportedType, match=f"column 'x' spans {2**31}"):
        converting.narrowed(column)


def test_offsets_that_fall_are_refused_before_anybody_relies_on_them():
    offsets = struct.pack("=4q", 0, 2, 1, 2)
    column = lend.Column.from_buffers("large_utf8", 3, {"offsets": offsets, "data": b"ab"}, name="x")
    with pytest.raises(MalformedDescriptor, match="offset 2 is less than the one before it"):
        converting.narrowed(column)


# -- codes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", ["int8", "uint8", "int16", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("laid", make.LAID[:3])
@pytest.mark.parametrize("form", [*MASKS, None])
def test_codes_say_null_by_minus_one(form, laid, index):
    for before in ([], ["a"] * 9):
        values = ["b", "a" if form is None else None, "a"] * 3
        column = make.categories(values, ["a", "b"], form, index, before, laid=laid, ordered=True)
        made = carried_out(recoding, "codes_with_sentinel", column)
        assert made.tolist() == values
        assert made.nulls == Nulls("sentinel", None, -1) or not made.null_count
        assert made.dtype.arrow == "c" or laid != "side by side" or index == "int8"
        assert made.dtype.ordered


def test_a_null_of_the_dictionary_is_folded_into_the_codes():
    # NULL-5, frames.md 3.2: dictionary-borne
    column = make.categories(["b", None, "a"], ["a", None, "b"], None)
    made = carried_out(recoding, "codes_with_sentinel", column)
    assert made.tolist() == ["b", None, "a"]
    assert made.buffers["data"].view("int8").tolist() == [2, -1, 0]


def test_codes_go_by_a_mapping_into_another_dictionary():
    column = make.categories(["b", "a", "c"], ["a", "b", "c"], None)
    made = converting.codes_with_sentinel(column, [0, 0, 1], make.texts(["a", "c"]))
    assert made.tolist() == ["a", "a", "c"]


def test_codes_that_pandas_would_have_are_shared():
    column = make.categories(["b", None], ["a", "b"], "minus one", "int8")
    assert converting.codes_with_sentinel(column) is column


def test_codes_are_as_wide_as_the_dictionary_needs():
    for count, width in ((128, "int8"), (129, "int16"), (32769, "int32")):
        words = [str(i) for i in range(count)]
        made = converting.codes_with_sentinel(make.categories([words[-1], None], words, "bits", "int32"))
        assert made.buffers["data"].nbytes == 2 * lend.DType(width).itemsize
        assert made.tolist() == [words[-1], None]


def test_an_index_out_of_the_dictionary_is_refused():
    column = make.categories(["b", "b"], ["a", "b"], None, "int16")
    wrong = lend.Column.from_buffers(
        column.dtype, 2, {"data": struct.pack("=2h", 0, 2)}, dictionary=column.dictionary, name="x"
    )
    with pytest.raises(MalformedDescriptor, match="the index at element 1 is none of its 2"):
        converting.codes_with_sentinel(wrong)


def test_what_has_no_dictionary_has_no_codes():
    with pytest.raises(UnsupportedType, match="column 'x' has no dictionary"):
        converting.codes_with_sentinel(make.texts(["a"]))
