"""What the minimal implementation reads of Arrow arrays made by hand, against the lists that they were made from."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lend import minimal
from support.arrow_layouts import FLAT, NESTED, Kind, columns, encode, kinds, lists_of
from support.arrow_structs import Made, Node, Streamed

EVERY = pytest.mark.parametrize("kind", FLAT + NESTED, ids=str)


@EVERY
@settings(max_examples=25)
@given(data=st.data())
def test_each_layout_gives_the_values_it_was_made_of(kind, data):
    values, random = data.draw(lists_of(kind)), data.draw(st.randoms(use_true_random=False))
    assert minimal.column(Made(encode(kind, values, random))).tolist() == values


@settings(max_examples=300)
@given(columns())
def test_any_nesting_of_layouts_gives_the_values_it_was_made_of(drawn):
    kind, values, random = drawn
    assert minimal.column(Made(encode(kind, values, random))).tolist() == values


@settings(max_examples=150)
@given(columns(), st.slices(20), st.slices(20))
def test_a_slice_of_a_slice_is_what_python_cuts_out_of_a_list(drawn, first, second):
    kind, values, random = drawn
    first, second = (slice(part.start, part.stop) for part in (first, second))
    column = minimal.column(Made(encode(kind, values, random)))
    assert column[first][second].tolist() == values[first][second]


@settings(max_examples=100)
@given(columns())
def test_nulls_are_counted_in_the_slice_itself(drawn):
    kind, values, random = drawn
    column = minimal.column(Made(encode(kind, values, random)))
    assert [column[i : i + 3].null_count for i in range(len(values))] == [
        values[i : i + 3].count(None) for i in range(len(values))
    ]


@pytest.mark.parametrize(("null_count", "values"), [(0, [1, 2, 3]), (1, [1, None, 3]), (-1, [1, None, 3])])
def test_bits_beside_a_count_of_no_nulls_are_not_looked_at(null_count, values):
    column = minimal.column(Made(Node("c", 3, null_count, buffers=[b"\5", bytes([1, 2, 3])])))
    assert (column.tolist(), column.null_count) == (values, values.count(None))


@settings(max_examples=100)
@given(kinds().flatmap(lambda kind: st.tuples(st.just(kind), st.lists(lists_of(kind), max_size=4))), st.randoms())
def test_chunks_of_a_stream_come_one_by_one_and_empty_ones_too(drawn, random):
    kind, parts = drawn
    nodes = [encode(kind, values, random) for values in parts]
    found = minimal.chunks(Streamed(encode(kind, [], random), nodes))
    assert [column.tolist() for column in found] == parts


@EVERY
@pytest.mark.parametrize("offset", [0, 3])
def test_no_elements_need_no_buffers_nor_memory_up_to_their_offset(kind, offset):
    def emptied(node):
        node.offset, node.null_count = offset, 0
        node.buffers = [None for _ in node.buffers]
        if node.format in ("vu", "vz"):
            node.buffers = [None, None, None]
        for child in [*node.children, *([node.dictionary] if node.dictionary else [])]:
            child.length = 0
            emptied(child)
        return node

    import random

    column = minimal.column(Made(emptied(encode(kind, [], random.Random(1)))))
    assert (column.tolist(), column[:0].tolist(), column.null_count) == ([], [], 0)


def test_offsets_of_parent_and_child_are_both_added_once():
    import struct

    child = Node("l", 6, 0, 2, [None, struct.pack("8q", *range(8))])
    parent = Node("+s", 2, 0, 3, [None], [child])
    assert minimal.column(Made(parent)).tolist() == [{"": 5}, {"": 6}]
    rows = Node("+w:2", 2, 0, 1, [None], [child])
    assert minimal.column(Made(rows)).tolist() == [[4, 5], [6, 7]]


def test_a_table_gives_its_columns_by_name_cut_to_its_rows():
    import random

    kind = Kind("+s", (("a", Kind("s")), ("b", Kind("u"))))
    rows = [{"a": 1, "b": "x"}, {"a": None, "b": "y"}, {"a": 3, "b": None}]
    node = encode(kind, rows, random.Random(5))
    node.buffers, node.null_count = [None], 0
    table = minimal.column(Made(node))[1:]
    assert table["a"].tolist() == [None, 3]
    assert table["b"].tolist() == ["y", None]


@pytest.mark.parametrize("name", ["c", "a"])
def test_a_name_that_is_absent_or_there_twice_is_a_key_error(name):
    fields = [Node("n", 1, name="a"), Node("n", 1, name="a")]
    with pytest.raises(KeyError, match=name):
        minimal.column(Made(Node("+s", 1, buffers=[None], children=fields)))[name]


def test_metadata_order_and_name_of_a_schema_are_told():
    words = Node("u", 0, buffers=[None, None, None])
    node = Node(
        "c", 0, buffers=[None, None], dictionary=words, name="größe", metadata={b"k": b"\0v", b"": b""}, flags=1
    )
    assert minimal.column(Made(node)).about == {"name": "größe", "ordered": True, "metadata": {b"k": b"\0v", b"": b""}}


def test_names_that_are_null_or_no_utf8_are_read_as_text_all_the_same():
    fields = [Node("n", 1, name=None), Node("n", 1, name=b"\xff")]
    column = minimal.column(Made(Node("+s", 1, buffers=[None], children=fields)))
    assert [child.name for child in column.children] == ["", "\ufffd"]
