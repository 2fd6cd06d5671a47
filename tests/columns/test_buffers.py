"""The memory of a column by role, and a column as a View: what each is handed on as."""

import struct

import pytest

import lend
from lend import Column
from lend.errors import LendError, UnsupportedType
from support.arrow_structs import Made, Node

TEXT = struct.pack("3i", 0, 1, 3)


def column(node):
    return lend.column(Made(node))


CASES = {
    "numbers": (Node("l", 2, -1, buffers=[b"\3", bytes(16)]), {"validity": "uint8[1]", "data": "int64[2]"}),
    "floats": (Node("f", 2, 0, buffers=[None, bytes(8)]), {"data": "float32[2]"}),
    "moments": (Node("tsn:UTC", 2, 0, buffers=[None, bytes(16)]), {"data": "int64[2]"}),
    "dates": (Node("tdD", 2, 0, buffers=[None, bytes(8)]), {"data": "int32[2]"}),
    "decimals": (Node("d:9,2", 2, 0, buffers=[None, bytes(32)]), {"data": "uint8[32]"}),
    "bits": (Node("b", 9, 0, buffers=[None, bytes(2)]), {"data": "uint8[2]"}),
    "text": (Node("u", 2, 0, buffers=[None, TEXT, b"abc"]), {"offsets": "int32[3]", "data": "uint8[3]"}),
    "large text": (Node("U", 1, 0, buffers=[None, bytes(16), None]), {"offsets": "int64[2]", "data": "uint8[0]"}),
    "views": (
        Node("vu", 2, 0, buffers=[None, bytes(32), b"abc", struct.pack("q", 3)]),
        {"views": "uint8[2, 16]", "variadic": ["uint8[3]"]},
    ),
    "lists": (Node("+l", 2, 0, buffers=[None, bytes(12)], children=[Node("n")]), {"offsets": "int32[3]"}),
    "list views": (
        Node("+vL", 2, 0, buffers=[None, bytes(16), bytes(16)], children=[Node("n")]),
        {"offsets": "int64[2]", "sizes": "int64[2]"},
    ),
    "a dense union": (
        Node("+ud:0", 2, 0, buffers=[bytes(2), bytes(8)], children=[Node("n", 2)]),
        {"type_ids": "int8[2]", "offsets": "int32[2]"},
    ),
    "a sparse union": (Node("+us:0", 2, 0, buffers=[bytes(2)], children=[Node("n", 2)]), {"type_ids": "int8[2]"}),
    "indices": (
        Node("S", 2, 0, buffers=[None, bytes(4)], dictionary=Node("u", 1, buffers=[None, bytes(8), None])),
        {"data": "uint16[2]"},
    ),
    "no rows of text": (Node("u", 0, 0, buffers=[None] * 3), {"offsets": "int32[1]", "data": "uint8[0]"}),
    "no rows of numbers": (Node("l", 0, 0, buffers=[None] * 2), {"data": "int64[0]"}),
    "structs": (Node("+s", 2, 0, buffers=[None], children=[Node("n", 2)]), {}),
}


def told(view):
    return f"{view.dtype}[{', '.join(map(str, view.shape))}]"


# TYPE-2, SLICE-12
@pytest.mark.parametrize("case", CASES)
def test_each_buffer_is_handed_on_as_what_its_role_says(case):
    node, expected = CASES[case]
    found = {
        role: [told(lend.view(each)) for each in part] if role == "variadic" else told(lend.view(part))
        for role, part in column(node).buffers.items()
    }
    assert found == expected


@pytest.mark.parametrize("role", ["offsets", "data"])
def test_a_buffer_goes_by_dlpack_as_what_its_role_says(role):
    np = pytest.importorskip("numpy")
    found = np.from_dlpack(column(CASES["text"][0]).buffers[role])
    assert found.tolist() == {"offsets": [0, 1, 3], "data": [*b"abc"]}[role]


@pytest.mark.parametrize("role", ["offsets", "data"])
def test_a_buffer_goes_by_the_buffer_protocol_as_what_its_role_says(role):
    assert (
        memoryview(column(CASES["text"][0]).buffers[role]).tolist() == {"offsets": [0, 1, 3], "data": [*b"abc"]}[role]
    )


def test_a_buffer_goes_by_the_array_interface_as_what_its_role_says():
    assert column(CASES["text"][0]).buffers["offsets"].__array_interface__["typestr"] == "<i4"


def test_a_buffer_of_offsets_is_as_long_as_its_bytes():
    offsets = column(CASES["text"][0]).buffers["offsets"]
    assert (len(offsets), offsets.nbytes, offsets.size, bytes(offsets)) == (12, 12, 12, TEXT)


def test_a_part_of_a_buffer_of_offsets_is_cut_by_bytes():
    assert bytes(column(CASES["text"][0]).buffers["offsets"][4:9]) == TEXT[4:9]


def test_a_part_of_a_buffer_of_views_is_cut_by_bytes():
    assert bytes(column(CASES["views"][0]).buffers["views"][3:40]) == bytes(29)


def test_a_buffer_is_viewed_as_any_other_dtype():
    assert column(CASES["text"][0]).buffers["offsets"].view("int16", offset=4).tolist() == [1, 0, 3, 0]


def test_the_offsets_of_no_rows_are_one_zero():
    assert column(CASES["no rows of text"][0]).buffers["offsets"].view().tolist() == [0]


@pytest.mark.parametrize("case", CASES)
def test_buffers_are_read_only_as_all_that_came_by_arrow(case):
    parts = [part for role, part in column(CASES[case][0]).buffers.items() if role != "variadic"]
    assert all(part.readonly for part in parts)


# STREAM-1
def test_buffers_are_at_the_same_addresses_each_time():
    made = Made(CASES["text"][0])
    text = lend.column(made)
    found = [{role: part.ptr for role, part in text.buffers.items()} for _ in range(2)]
    assert found == [dict(zip(["offsets", "data"], made.addresses[""][1:], strict=True))] * 2


def test_strided_data_span_from_their_lowest_to_their_highest_byte():
    np = pytest.importorskip("numpy")
    source = np.arange(6)[::-2]
    data = lend.column(source).buffers["data"]
    assert (data.ptr, data.nbytes) == (source.ctypes.data - 32, 40)


# -- a column as a View --


def numbers(nulls=0):
    return column(Node("i", 2, nulls, 1, buffers=[b"\6" if not nulls else b"\2", struct.pack("3i", 9, 1, 2)]))


def test_a_column_without_nulls_is_a_view_of_its_elements():
    found = numbers().view()
    assert (found.tolist(), str(found.dtype), found.shape) == ([1, 2], "int32", (2,))


def test_a_column_without_nulls_goes_by_the_buffer_protocol():
    assert memoryview(numbers()).tolist() == [1, 2]


def test_a_column_without_nulls_goes_by_dlpack():
    np = pytest.importorskip("numpy")
    assert np.from_dlpack(numbers()).tolist() == [1, 2]


def test_a_column_without_nulls_goes_by_the_array_interface():
    assert numbers().__array_interface__["shape"] == (2,)


def test_a_column_without_nulls_is_an_array_over_the_same_memory():
    np = pytest.importorskip("numpy")
    made = Made(Node("i", 2, 0, 1, buffers=[None, struct.pack("3i", 9, 1, 2)]))
    assert np.asarray(lend.column(made)).ctypes.data == made.addresses[""][1] + 4


@pytest.mark.parametrize(
    "ask",
    [
        lambda column: column.view(),
        lambda column: column.__dlpack__(),
        lambda column: column.__array__(),
        memoryview,
        lambda column: lend.view(column),
    ],
    ids=["view", "dlpack", "array", "buffer", "lend.view"],
)
# COPY-4
def test_a_column_with_nulls_is_no_view(ask):
    with pytest.raises(LendError, match="has 1 null, and a View has no word for them"):
        ask(numbers(1))


@pytest.mark.parametrize("case", ["text", "bits", "lists", "structs", "views", "indices", "moments", "decimals"])
def test_what_has_no_elements_of_a_plain_width_is_no_view(case):
    with pytest.raises(UnsupportedType, match="is no View: no array has elements that are"):
        column(CASES[case][0]).view()


@pytest.mark.parametrize("case", ["text", "bits"])
def test_what_is_no_view_has_no_array_interface(case):
    assert not hasattr(column(CASES[case][0]), "__array_interface__")


def test_numpy_makes_no_array_of_objects_of_a_column_of_text():
    np = pytest.importorskip("numpy")
    with pytest.raises(LendError, match="is no View"):
        np.asarray(column(CASES["text"][0]))


def test_a_part_of_a_column_without_nulls_is_a_view():
    nulls = column(Node("c", 3, -1, buffers=[b"\6", b"\0\1\2"]))
    assert nulls[1:].view().tolist() == [1, 2]


def test_naive_moments_are_a_view_of_datetimes():
    assert str(column(Node("tss:", 1, buffers=[None, bytes(8)])).view().dtype) == "datetime64[s]"


def test_an_empty_column_without_a_buffer_is_an_empty_view():
    assert Column.from_buffers("int64", 0, {}).view().shape == (0,)


def test_the_memory_stays_after_a_release_when_its_address_was_told():
    np = pytest.importorskip("numpy")

    class Told:
        def __init__(self, column):
            self.column = column
            self.__array_interface__ = column.__array_interface__

    made = Made(Node("i", 2, buffers=[None, struct.pack("2i", 1, 2)]))
    column = lend.column(made)
    array = np.asarray(Told(column))
    column.release()
    assert (array.tolist(), made.released) == ([1, 2], {})


@pytest.mark.parametrize("format", ["u", "U", "+l", "+L"])
def test_offsets_of_no_elements_are_not_asked_for(format):
    children = [Node("n", 0)] if "l" in format.lower() else []
    buffers = [None, b""] if children else [None, b"", b""]
    empty = column(Node(format, 0, 0, buffers=buffers, children=children))
    assert empty.buffers["offsets"].view().tolist() == [0]
    assert empty.buffer_facts(1) is None


@pytest.mark.parametrize("views", [b"\xff" * 16 + bytes(16), bytes(32)], ids=["garbage", "empty"])
def test_views_have_one_place_and_nothing_of_them_is_taken_for_a_size(views):
    node = Node("vu", 2, 0, buffers=[None, views, b"abc", struct.pack("q", 3)])
    facts = [column(node).buffer_facts(place) for place in (0, 1, 2)]
    assert [fact and fact[1] for fact in facts] == [None, 32, None]
