"""Slices of columns: another offset over the same memory, exact at any bit."""

import random as randomness
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lend
from support.arrow_layouts import Kind, columns, encode, kinds, values_of
from support.arrow_structs import Made, Node, Streamed


# SLICE-1, SLICE-10
@settings(max_examples=150)
@given(columns(), st.slices(20), st.slices(20))
def test_a_slice_of_a_slice_is_what_python_cuts_out_of_a_list(drawn, first, second):
    kind, values, random = drawn
    first, second = (slice(part.start, part.stop) for part in (first, second))
    column = lend.column(Made(encode(kind, values, random)))
    assert column[first][second].tolist() == values[first][second]


# NULL-13
@settings(max_examples=100)
@given(columns())
def test_nulls_are_counted_in_the_slice_itself(drawn):
    kind, values, random = drawn
    column = lend.column(Made(encode(kind, values, random)))
    assert [column[i : i + 3].null_count for i in range(len(values))] == [
        values[i : i + 3].count(None) for i in range(len(values))
    ]


@settings(max_examples=100)
@given(columns())
def test_nulls_are_counted_in_the_slice_when_the_whole_was_counted_before(drawn):
    kind, values, random = drawn
    column = lend.column(Made(encode(kind, values, random)))
    assert column.null_count == values.count(None)
    assert column[1:].null_count == values[1:].count(None)


# SLICE-2
@pytest.mark.parametrize("length", [1, 2, 13, 64, 65, 200])
def test_bits_are_counted_at_any_bit_offset(length):
    random = randomness.Random(length)
    valid = [random.random() < 0.5 for _ in range(300)]
    packed = bytes(sum(valid[at + i] << i for i in range(8) if at + i < 300) for at in range(0, 300, 8))
    column = lend.column(Made(Node("c", 300, -1, buffers=[packed, bytes(300)])))
    assert [column[start : start + length].null_count for start in range(80)] == [
        valid[start : start + length].count(False) for start in range(80)
    ]


@settings(max_examples=100)
@given(
    kinds().flatmap(lambda kind: st.tuples(st.just(kind), st.lists(st.lists(values_of(kind), max_size=5), max_size=4))),
    st.slices(20), st.randoms(use_true_random=False),
)  # fmt: skip
def test_a_slice_over_chunks_is_what_python_cuts_out_of_a_list(drawn, cut, random):
    kind, parts = drawn
    cut = slice(cut.start, cut.stop)
    column = lend.column(Streamed(encode(kind, [], random), [encode(kind, values, random) for values in parts]))
    assert column[cut].tolist() == [value for part in parts for value in part][cut]


def test_a_slice_begins_in_the_same_buffers():
    made = Made(Node("l", 5, 0, 1, buffers=[None, struct.pack("6q", *range(6))]))
    part = lend.column(made)[2:]
    assert (part.offset, part.buffers["data"].ptr) == (3, made.addresses[""][1])


def test_a_slice_of_lying_offsets_reads_no_further_than_the_data():
    # the ends are checked when it comes, and those in between when they are followed
    column = lend.column(Made(Node("u", 2, buffers=[None, struct.pack("3i", 0, 900, 6), b"abcdef"])))
    with pytest.raises(lend.errors.MalformedDescriptor, match="from byte 0 to 900 of 6 bytes"):
        column[:1].tolist()


def test_a_slice_of_lying_offsets_has_a_data_buffer_of_the_size_that_was_told():
    column = lend.column(Made(Node("u", 2, buffers=[None, struct.pack("3i", 0, 900, 6), b"abcdef"])))
    assert column[:1].buffers["data"].nbytes == 6


@pytest.mark.parametrize("step", [2, -1])
def test_a_slice_with_a_step_is_refused_with_what_can_be_done(step):
    with pytest.raises(lend.errors.UnsupportedLayout, match=r"step 1, not -?\d"):
        lend.column(Made(Node("n", 3)))[::step]


def test_a_slice_keeps_name_and_metadata():
    column = lend.column(Made(Node("n", 3, name="a", metadata={b"k": b"v"})))[1:]
    assert (column.name, column.metadata) == ("a", {b"k": b"v"})


def test_a_slice_of_a_struct_and_of_its_child_add_up():
    child = Node("l", 6, 0, 2, [None, struct.pack("8q", *range(8))], name="a")
    column = lend.column(Made(Node("+s", 6, 0, 0, [b"\xfe"], [child])))
    assert column[1:][1:].tolist() == [{"a": value} for value in (4, 5, 6, 7)]


def test_an_empty_slice_has_no_nulls():
    assert lend.column(Made(encode(Kind("u"), [None, "a"], randomness.Random(1))))[1:1].null_count == 0
