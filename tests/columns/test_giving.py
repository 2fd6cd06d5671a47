"""Columns given on as Arrow data: the same memory, the same values, and nothing of their source changed."""

import ctypes
import random as randomness
import struct

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import lend
from lend.columns.nullness import Nulls
from support.arrow_layouts import Kind, encode, kinds, values_of
from support.arrow_more_layouts import MAKERS, extension
from support.arrow_structs import Made, Node, Streamed


def columns():
    return kinds().flatmap(
        lambda kind: st.tuples(st.just(kind), st.lists(values_of(kind), max_size=20), st.randoms(use_true_random=False))
    )


def chunks_of(kind):
    return st.tuples(st.just(kind), st.lists(st.lists(values_of(kind), max_size=5), max_size=4))


def check(found, kind):
    """The full check of pyarrow, but for views of lists: what lies there under a null is garbage in these tests."""
    found.validate(full="+v" not in str(kind))


cuts = st.slices(20).map(lambda cut: slice(cut.start, cut.stop))


@settings(max_examples=150)
@given(columns(), cuts)
def test_what_was_given_and_taken_again_has_the_same_values(drawn, cut):
    kind, values, random = drawn
    column = lend.column(Made(encode(kind, values, random)))[cut]
    assert lend.column(column.__arrow_c_array__()).tolist() == values[cut]


@settings(max_examples=150)
@given(columns())
def test_what_was_given_and_taken_again_has_the_same_type(drawn):
    kind, values, random = drawn
    column = lend.column(Made(encode(kind, values, random)))
    assert lend.column(column.__arrow_c_array__()).dtype == column.dtype


@settings(max_examples=200)
@given(columns(), cuts)
def test_pyarrow_finds_what_was_given_valid_and_of_the_same_values(drawn, cut):
    pa = pytest.importorskip("pyarrow")
    kind, values, random = drawn
    assume(kind.format not in ("tiM", "tiD"))  # pyarrow has no class for arrays of them: KeyError: 21, 22
    found = pa.array(lend.column(Made(encode(kind, values, random)))[cut])
    check(found, kind)
    # pyarrow forgets the offset of the entries of a map
    assert "+m" in str(kind) or lend.column(found).tolist() == values[cut]


NESTED = {
    "a struct": lambda pa: pa.array([{"a": "x"}, {"a": "y"}], pa.struct([("a", pa.string_view())])),
    "a struct with nulls": lambda pa: pa.array([{"a": "x"}, None], pa.struct([("a", pa.string_view())])),
    "a struct in a struct": lambda pa: pa.array(
        [{"b": {"a": "x"}}, {"b": {"a": "y"}}], pa.struct([("b", pa.struct([("a", pa.string_view())]))])
    ),
    "a list of one length": lambda pa: pa.FixedSizeListArray.from_arrays(pa.array(["x", "y"], pa.string_view()), 1),
    "views": lambda pa: pa.array(["x", "y"], pa.string_view()),
}


@pytest.mark.parametrize("start", [0, 1, 2])
@pytest.mark.parametrize("kind", NESTED)
def test_pyarrow_finds_what_has_no_elements_valid_wherever_it_was_cut(kind, start):
    pa = pytest.importorskip("pyarrow")
    source = NESTED[kind](pa)
    for column in (lend.column(source)[start:start], lend.column(source[start:start])):
        found = pa.array(column)
        found.validate(full=True)
        assert len(found) == 0


@settings(max_examples=100)
@given(kinds().flatmap(chunks_of),
       st.randoms(use_true_random=False))  # fmt: skip
def test_pyarrow_finds_the_chunks_of_a_stream_valid_and_of_the_same_values(drawn, random):
    pa = pytest.importorskip("pyarrow")
    kind, parts = drawn
    column = lend.column(Streamed(encode(kind, [], random), [encode(kind, values, random) for values in parts]))
    found = pa.chunked_array(column)
    check(found, kind)
    assert "+m" in str(kind) or lend.column(found).tolist() == [value for part in parts for value in part]


# TYPE-5
@settings(max_examples=60)
@given(columns())
def test_an_extension_type_is_given_with_its_name_and_metadata(drawn):
    kind, values, random = drawn
    column = lend.column(lend.column(Made(extension(encode(kind, values, random)))).__arrow_c_array__())
    assert (column.metadata, column.tolist()) == (
        {b"ARROW:extension:name": b"ours.type", b"ARROW:extension:metadata": b"\0\xff"}, values,
    )  # fmt: skip


@pytest.mark.parametrize("maker", MAKERS)
@settings(max_examples=30)
@given(random=st.randoms(use_true_random=False), cut=cuts)
def test_unions_and_runs_are_given_with_their_values(maker, random, cut):
    node, values = MAKERS[maker](random)
    column = lend.column(Made(node))[cut]
    assert lend.column(column.__arrow_c_array__()).tolist() == values[cut]


@pytest.mark.parametrize("maker", MAKERS)
@settings(max_examples=30)
@given(random=st.randoms(use_true_random=False), cut=cuts)
def test_pyarrow_reads_unions_and_runs_as_we_do(maker, random, cut):
    pa = pytest.importorskip("pyarrow")
    node, values = MAKERS[maker](random)
    found = pa.array(lend.column(Made(node))[cut])
    found.validate(full=True)
    assert found.to_pylist() == values[cut]


LEVELS = Node(
    "+s", 3, buffers=[None],
    children=[
        Node("l", 3, buffers=[b"\xff", struct.pack("3q", 1, 2, 3)], name="n"),
        Node("u", 3, buffers=[None, struct.pack("4i", 0, 1, 1, 2), b"xy"], name="t"),
        Node("+l", 3, buffers=[None, struct.pack("4i", 0, 1, 1, 2)], children=[Node("c", 2, buffers=[None, b"ab"])]),
        Node("c", 3, buffers=[None, bytes(3)], dictionary=Node("i", 1, buffers=[None, bytes(4)])),
        Node("vu", 3, buffers=[None, bytes(48), b"a long text", struct.pack("q", 11)]),
    ],
)  # fmt: skip


@pytest.mark.parametrize("moved", [False, True], ids=["whole", "children moved"])
def test_every_buffer_is_given_at_its_address(moved):
    made = Made(LEVELS)
    column = lend.column(made)
    if moved:
        column.children
    again = lend.column(column.__arrow_c_array__())

    def addresses(column, path=""):
        found = {path: [*column.buffers.items()]}
        for i, child in enumerate(column.children):
            found |= addresses(child, f"{path}.{i}" if path else str(i))
        if column.dictionary is not None:
            found |= addresses(column.dictionary, path + ".dictionary")
        return found

    for path, buffers in addresses(again).items():
        told = [part.ptr for role, part in buffers if role != "variadic"]
        told += [part.ptr for role, parts in buffers if role == "variadic" for part in parts]
        assert told == [place for place in made.addresses[path] if place][: len(told)]


@pytest.mark.parametrize("times", [2, 3])
def test_a_stream_is_given_anew_each_time(times):
    column = lend.column(
        Streamed(Node("c"), [Node("c", 2, buffers=[None, b"\1\2"]), Node("c", 1, buffers=[None, b"\3"])])
    )
    assert [lend.column(column.__arrow_c_stream__()).tolist() for _ in range(times)] == [[1, 2, 3]] * times


def test_chunks_are_given_as_they_are():
    column = lend.column(
        Streamed(Node("c"), [Node("c", 2, buffers=[None, b"\1\2"]), Node("c", 0, buffers=[None, None])])
    )
    assert [len(part) for part in lend.column(column.__arrow_c_stream__()).chunks] == [2, 0]


# SLICE-7
def test_a_stream_of_no_chunk_keeps_its_type():
    column = lend.column(lend.column(Streamed(Node("u", name="t"), [])).__arrow_c_stream__())
    assert (str(column.dtype), column.name, column.tolist(), column.chunks) == ("utf8", "t", [], ())


def test_several_chunks_are_no_array():
    column = lend.column(Streamed(Node("n"), [Node("n", 1), Node("n", 1)]))
    assert not hasattr(column, "__arrow_c_array__"), "who looks for it first would not take the stream"
    with pytest.raises(AttributeError, match="a Column of 2 chunks has no __arrow_c_array__: __arrow_c_stream__"):
        column.__arrow_c_array__()


def test_one_chunk_of_a_stream_is_an_array():
    assert lend.column(lend.column(Streamed(Node("n"), [Node("n", 1)])).__arrow_c_array__()).tolist() == [None]


def test_the_type_alone_is_given():
    pa = pytest.importorskip("pyarrow")
    node = Node("c", 0, buffers=[None, None], dictionary=Node("u", 0, buffers=[None] * 3), flags=3, name="k")
    field = pa.field(lend.column(Made(node)))
    assert (field.name, str(field.type)) == ("k", "dictionary<values=string, indices=int8, ordered=1>")


def test_a_field_that_is_not_nullable_stays_so():
    pa = pytest.importorskip("pyarrow")
    assert not pa.field(lend.column(Made(Node("l", 0, buffers=[None, None], flags=0)))).nullable


# EMPTY-4
@pytest.mark.parametrize(
    "kind", [Kind("u"), Kind("Z"), Kind("vu"), Kind("+l", (("item", Kind("u")),)), Kind("l"), Kind("b")], ids=str
)
def test_no_rows_are_given_at_addresses_that_can_be_read(kind):
    pa = pytest.importorskip("pyarrow")
    node = encode(kind, [], randomness.Random(1))
    node.offset = 0
    node.buffers = [None, *[8] * (len(node.buffers) - 1)]  # what some producers tell of nothing: no address at all
    if kind.format == "vu":
        node.buffers = [None, 8, None]
    found = pa.array(lend.column(Made(node)))
    found.validate(full=True)
    assert [part.address % 8 for part in found.buffers()[1:] if part] == [0] * len([*filter(None, found.buffers()[1:])])


def test_nothing_but_nulls_of_one_buffer_is_given_as_arrow_has_it():
    pa = pytest.importorskip("pyarrow")
    found = pa.array(lend.column(Made(Node("n", 2, 2, buffers=[None]))))
    found.validate(full=True)
    assert found.to_pylist() == [None, None]


def test_nothing_but_nulls_within_a_struct_is_given_as_arrow_has_it():
    pa = pytest.importorskip("pyarrow")
    node = Node("+s", 3, buffers=[None], children=[Node("n", 3, 3, buffers=[None], name="a")])
    found = pa.array(lend.column(Made(node))[1:])
    found.validate(full=True)
    assert found.to_pylist() == [{"a": None}] * 2


def test_giving_changes_nothing_of_the_column():
    made = Made(LEVELS)
    column = lend.column(made)
    before = column.offset, column.null_count, {role: part.ptr for role, part in column.children[0].buffers.items()}
    column[1:].__arrow_c_array__()
    assert before == (
        column.offset, column.null_count, {role: part.ptr for role, part in column.children[0].buffers.items()},
    )  # fmt: skip


def test_a_requested_type_is_no_reason_to_refuse():
    pa = pytest.importorskip("pyarrow")
    column = lend.column(Made(Node("i", 1, buffers=[None, bytes(4)])))
    given = column.__arrow_c_array__(pa.int16().__arrow_c_schema__())
    assert str(lend.column(given).dtype) == "int32"


def test_numbers_of_a_view_are_given_without_a_copy():
    pa = pytest.importorskip("pyarrow")
    np = pytest.importorskip("numpy")
    source = np.arange(3.0)
    found = pa.array(lend.column(source))
    assert (found.buffers()[1].address, found.to_pylist()) == (source.ctypes.data, [0, 1, 2])


def test_bools_of_one_byte_are_given_as_bits_by_a_copy():
    np = pytest.importorskip("numpy")
    with lend.copies() as copies:
        pair = lend.column(np.array([True, False])).__arrow_c_array__()
    assert (lend.column(pair).tolist(), copies.bytes) == ([True, False], 1)


def test_what_arrow_has_no_type_for_is_refused_by_its_name():
    np = pytest.importorskip("numpy")
    with pytest.raises(lend.LendError, match="Arrow has no complex128, of which this column is"):
        lend.column(np.array([1j])).__arrow_c_array__()


CAPSULES = {
    "schema": lambda column: column.__arrow_c_schema__(),
    "type of an array": lambda column: column.__arrow_c_array__()[0],
    "array": lambda column: column.__arrow_c_array__()[1],
    "stream": lambda column: column.__arrow_c_stream__(),
}


@pytest.mark.parametrize("kind", CAPSULES)
def test_a_capsule_that_somebody_gave_another_name_is_released_all_the_same(kind):
    made = Made(Node("l", 1, buffers=[None, bytes(8)]))
    column = lend.column(made)
    owner, held = column.owner, CAPSULES[kind](column)
    rename, name = ctypes.pythonapi.PyCapsule_SetName, ctypes.c_char_p(b"used")
    rename(ctypes.py_object(held), name)
    del column, held
    assert (owner.exports, made.released) == (0, {})
    del owner
    assert made.released == {"": 1}


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("step", [2, 3, -1])
@pytest.mark.parametrize("form", [None, "bitmask", "bytemask"])
def test_no_element_or_one_of_strides_behind_an_offset_is_given_where_it_lies(rows, step, form):
    pa = pytest.importorskip("pyarrow")
    np = pytest.importorskip("numpy")
    data = np.arange(12, dtype="i4")[::step]
    buffers, nulls, expected = {"data": data}, None, data[2 : 2 + rows].tolist()
    if form:
        missing = 0 if form == "bitmask" else 1
        buffers["validity"] = np.array([0b011], "u1") if form == "bitmask" else np.array([0, 0, 1, 0], "u1")
        nulls, expected = Nulls(form, missing), [None] * rows
    column = lend.Column.from_buffers("int32", rows, buffers, offset=2, nulls=nulls)
    told = lend.explain(column, "pyarrow").bytes_copied
    with lend.copies() as made:
        found = lend.to(column, "pyarrow")
    assert (found.to_pylist(), made.bytes) == (expected, told)
    assert told == 0 or (form and rows)
    assert isinstance(found, pa.Array)
    found.validate(full=True)
