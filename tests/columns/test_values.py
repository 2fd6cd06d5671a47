"""What a Column says of Arrow data made by hand, against the lists it was made from and the other implementation."""

import datetime
import random as randomness
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lend
from support.arrow_layouts import FLAT, NESTED, Kind, columns, encode, kinds, lists_of
from support.arrow_more_layouts import MAKERS, extension
from support.arrow_structs import Made, Node, Streamed

EVERY = pytest.mark.parametrize("kind", FLAT + NESTED, ids=str)
MORE = pytest.mark.parametrize("maker", MAKERS)


@EVERY
@settings(max_examples=10)
@given(data=st.data())
def test_each_layout_gives_the_values_it_was_made_of(kind, data):
    values, random = data.draw(lists_of(kind)), data.draw(st.randoms(use_true_random=False))
    assert lend.column(Made(encode(kind, values, random))).tolist() == values


@settings(max_examples=300)
@given(columns())
def test_any_nesting_of_layouts_gives_the_values_it_was_made_of(drawn):
    kind, values, random = drawn
    assert lend.column(Made(encode(kind, values, random))).tolist() == values


@settings(max_examples=150)
@given(columns())
def test_what_is_true_in_itself_passes_its_full_check(drawn):
    kind, values, random = drawn
    assert lend.column(Made(encode(kind, values, random))).verify(full=True) is None


@settings(max_examples=100)
@given(columns())
def test_each_element_by_itself_is_that_of_the_list(drawn):
    kind, values, random = drawn
    column = lend.column(Made(encode(kind, values, random)))
    assert [column[i] for i in range(-len(values), 0)] == values


@settings(max_examples=100)
@given(columns())
def test_iteration_gives_the_values(drawn):
    kind, values, random = drawn
    assert list(lend.column(Made(encode(kind, values, random)))) == values


@settings(max_examples=100)
@given(kinds().flatmap(lambda kind: st.tuples(st.just(kind), st.lists(lists_of(kind), max_size=4))), st.randoms())
def test_chunks_of_a_stream_come_one_by_one_and_empty_ones_too(drawn, random):
    kind, parts = drawn
    column = lend.column(Streamed(encode(kind, [], random), [encode(kind, values, random) for values in parts]))
    assert [part.tolist() for part in column.chunks] == parts


@settings(max_examples=100)
@given(kinds().flatmap(lambda kind: st.tuples(st.just(kind), st.lists(lists_of(kind), max_size=4))), st.randoms())
def test_chunks_of_a_stream_are_one_list(drawn, random):
    kind, parts = drawn
    column = lend.column(Streamed(encode(kind, [], random), [encode(kind, values, random) for values in parts]))
    assert column.tolist() == [value for part in parts for value in part]


@EVERY
def test_no_elements_need_no_buffers(kind):
    def emptied(node):
        node.offset = node.null_count = 0
        node.buffers = [None for _ in node.buffers]
        if node.format in ("vu", "vz"):
            node.buffers = [None, None, None]
        for child in [*node.children, *([node.dictionary] if node.dictionary else [])]:
            child.length = 0
            emptied(child)
        return node

    assert lend.column(Made(emptied(encode(kind, [], randomness.Random(1))))).tolist() == []


def test_offsets_of_parent_and_child_are_both_added_once():
    child = Node("l", 6, 0, 2, [None, struct.pack("8q", *range(8))])
    assert lend.column(Made(Node("+s", 2, 0, 3, [None], [child]))).tolist() == [{"": 5}, {"": 6}]


def test_offsets_of_a_fixed_list_and_its_child_are_both_added_once():
    child = Node("l", 6, 0, 2, [None, struct.pack("8q", *range(8))])
    assert lend.column(Made(Node("+w:2", 2, 0, 1, [None], [child]))).tolist() == [[4, 5], [6, 7]]


# SLICE-6
@MORE
@settings(max_examples=30)
@given(random=st.randoms(use_true_random=False))
def test_unions_and_runs_give_the_values_they_were_made_of(maker, random):
    node, values = MAKERS[maker](random)
    assert lend.column(Made(node)).tolist() == values


@MORE
@settings(max_examples=30)
@given(random=st.randoms(use_true_random=False))
def test_nulls_of_unions_and_runs_are_those_of_what_they_lead_to(maker, random):
    node, values = MAKERS[maker](random)
    assert lend.column(Made(node)).null_count == values.count(None)


@MORE
@settings(max_examples=30)
@given(random=st.randoms(use_true_random=False), cut=st.slices(6))
def test_a_slice_of_unions_and_runs_is_what_python_cuts_out_of_a_list(maker, random, cut):
    node, values = MAKERS[maker](random)
    assert lend.column(Made(node))[cut.start : cut.stop].tolist() == values[cut.start : cut.stop]


@MORE
@settings(max_examples=30)
@given(random=st.randoms(use_true_random=False))
def test_unions_and_runs_pass_their_full_check(maker, random):
    assert lend.column(Made(MAKERS[maker](random)[0])).verify(full=True) is None


@settings(max_examples=100)
@given(columns())
def test_an_extension_type_has_the_values_of_what_is_stored(drawn):
    kind, values, random = drawn
    assert lend.column(Made(extension(encode(kind, values, random)))).tolist() == values


@MORE
def test_an_extension_over_unions_and_runs_has_the_values_of_what_is_stored(maker):
    node, values = MAKERS[maker](randomness.Random(3))
    assert lend.column(Made(extension(node))).tolist() == values


def test_an_extension_type_is_named_with_its_metadata():
    column = lend.column(Made(extension(encode(Kind("vu"), ["x"], randomness.Random(1)))))
    assert column.metadata == {b"ARROW:extension:name": b"ours.type", b"ARROW:extension:metadata": b"\0\xff"}


def test_bool8_is_bools_of_one_byte():
    node = extension(Node("c", 3, 1, 0, [b"\x05", b"\x01\x07\x00"]), "arrow.bool8", b"")
    assert lend.column(Made(node)).tolist() == [True, None, False]


# NULL-8
def test_nan_in_arrow_is_a_value_and_no_null():
    column = lend.column(Made(Node("g", 3, 1, buffers=[b"\x05", struct.pack("3d", 1.5, 0, float("nan"))])))
    assert (column.null_count, column.tolist()[1]) == (1, None)


def test_the_smallest_int64_of_an_arrow_timestamp_is_a_value():
    column = lend.column(Made(Node("tsn:", 1, 0, buffers=[None, struct.pack("q", -(2**63))])))
    assert column.null_count == 0


def test_a_null_of_a_dictionary_is_a_null_of_its_elements():
    words = Node("u", 2, 1, buffers=[b"\x02", struct.pack("3i", 0, 1, 2), b"ab"])
    column = lend.column(Made(Node("c", 4, 1, buffers=[b"\x0e", bytes([0, 0, 1, 0])], dictionary=words)))
    assert (column.null_count, column.tolist()) == (3, [None, None, "b", None])


def test_nulls_of_a_dictionary_are_counted_whatever_its_values_would_be_in_python():
    moments = Node("tsn:", 2, 1, buffers=[b"\x02", struct.pack("2q", 0, 1)])
    column = lend.column(Made(Node("c", 2, 0, buffers=[None, bytes([0, 1])], dictionary=moments)))
    assert column.null_count == 1


def test_nulls_of_a_union_are_counted_whatever_its_values_would_be_in_python():
    moments = Node("tsn:", 2, 1, buffers=[b"\x02", struct.pack("2q", 0, 1)])
    assert lend.column(Made(Node("+us:0", 2, 0, buffers=[bytes(2)], children=[moments]))).null_count == 1


def test_a_full_check_does_not_ask_what_values_would_be_in_python():
    moments = Node("tsn:", 2, 0, buffers=[None, struct.pack("2q", 0, 1)])
    lists = Node("+l", 1, 0, buffers=[None, struct.pack("2i", 0, 2)], children=[moments])
    assert lend.column(Made(lists)).verify(full=True) is None


@pytest.mark.parametrize("size", [0, 1, 11, 12, 13, 14, 40])
@pytest.mark.parametrize("format", ["vu", "vz"])
def test_views_around_the_length_that_fits_in_place(format, size):
    text = "ä" * (size // 2) + "x" * (size % 2)
    value = text if format == "vu" else text.encode()
    assert lend.column(Made(encode(Kind(format), [None, value], randomness.Random(size)))).tolist() == [None, value]


def test_a_null_column_may_tell_of_one_buffer():
    assert lend.column(Made(Node("n", 2, 2, buffers=[None]))).tolist() == [None, None]


# TYPE-13
@pytest.mark.parametrize("zone", ["+02:00", "-05:30", "Z", "utc", "Europe/Paris", "nowhere at all"])
def test_a_zone_is_carried_as_it_was_written(zone):
    assert lend.column(Made(Node("tsu:" + zone, 1, buffers=[None, bytes(8)]))).dtype.zone == zone


# TYPE-3
def test_moments_around_a_change_of_the_clock_are_the_right_instants():
    paris = 1_698_537_600, 1_698_541_200
    column = lend.column(
        Made(Node("tss:Europe/Paris", 3, 1, buffers=[b"\x05", struct.pack("3q", paris[0], 0, paris[1])]))
    )
    found = column.tolist()
    assert found[1] is None
    assert [moment.astimezone(datetime.UTC).timestamp() for moment in (found[0], found[2])] == list(paris)


def test_128_bits_of_polars_are_whole_numbers():
    number = (2**100).to_bytes(16, "little")
    assert lend.column(Made(Node("_pli128", 1, buffers=[None, number]))).tolist() == [2**100]


def test_metadata_and_name_of_a_schema_are_told():
    node = Node("l", 0, buffers=[None, None], name="größe", metadata={b"k": b"\0v", b"": b""})
    column = lend.column(Made(node))
    assert (column.name, column.metadata) == ("größe", {b"k": b"\0v", b"": b""})


def test_names_that_are_null_or_no_utf8_are_read_as_text_all_the_same():
    fields = [Node("n", 1, name=None), Node("n", 1, name=b"\xff")]
    column = lend.column(Made(Node("+s", 1, buffers=[None], children=fields)))
    assert [child.name for child in column.children] == ["", "\udcff"]


def test_two_fields_of_one_name_are_no_dict():
    fields = [Node("n", 1, name="a"), Node("n", 1, name="a")]
    with pytest.raises(lend.LendError, match="no two fields of one name"):
        lend.column(Made(Node("+s", 1, buffers=[None], children=fields))).tolist()


def test_two_fields_of_one_name_are_two_children():
    fields = [Node("n", 1, name="a"), Node("n", 1, name="a")]
    column = lend.column(Made(Node("+s", 1, buffers=[None], children=fields)))
    assert [child.name for child in column.children] == ["a", "a"]


@pytest.mark.parametrize("index", [3, -4, 2**70])
def test_an_index_out_of_bounds_is_an_index_error(index):
    with pytest.raises(IndexError, match="out of bounds for a Column of 3 elements"):
        lend.column(Made(Node("n", 3)))[index]


@pytest.mark.parametrize("index", [1.0, "a", None, True])
def test_an_index_that_is_none_is_a_type_error(index):
    column = lend.column(Made(Node("n", 3)))
    with pytest.raises(TypeError, match="named by an integer"):
        column[index]


def test_item_is_that_of_the_only_element():
    assert lend.column(Made(Node("c", 1, buffers=[None, b"\x05"]))).item() == 5


def test_item_of_several_elements_is_refused():
    with pytest.raises(ValueError, match="with 3 elements"):
        lend.column(Made(Node("n", 3))).item()


def test_days_of_numpy_are_dates():
    days = lend.view(struct.pack("3q", 1, -(2**63), 18000)).reinterpret("datetime64[D]")
    column = lend.column(days)
    assert column.tolist() == [datetime.date(1970, 1, 2), None, datetime.date(2019, 4, 14)]
    assert column[2] == datetime.date(2019, 4, 14)


@pytest.mark.parametrize("laid", ["swapped", "swapped and strided"])
@pytest.mark.parametrize("dtype", ["datetime64[us]", "datetime64[s]", "datetime64[D]", "timedelta64[ms]"])
def test_times_in_the_other_byte_order_are_the_same_times(dtype, laid):
    np = pytest.importorskip("numpy")
    plain = np.array([1, 2, 3], "i8").astype(dtype)
    swapped = plain.astype(plain.dtype.newbyteorder("S"))
    column = lend.column(np.repeat(swapped, 2)[::2] if laid.endswith("strided") else swapped)
    assert column.tolist() == plain.tolist()
    assert column[1] == plain.tolist()[1]
