"""Tables of arrays of structs that came by Arrow, made by hand: offsets, nulls, and who is released when."""

import ctypes
import gc
import itertools
import struct

import pytest

import lend
from lend.errors import MalformedDescriptor, UnsupportedType
from support.arrow_structs import Array, Made, Node, Streamed, _capsule_pointer, capsule


def numbers(*values, offset=0, name="a", **facts):
    memory = struct.pack(f"{len(values)}q", *values)
    return Node("l", len(values) - offset, offset=offset, name=name, buffers=[None, memory], **facts)


def batch(*children, length, offset=0, bitmap=None, null_count=0, flags=2):
    return Node("+s", length, null_count, offset, [bitmap], list(children), flags=flags)


def schema(*children):
    return batch(*children, length=0)


def lists(table):
    return {name: column.tolist() for name, column in zip(table.names, table.columns, strict=True)}


# -- offsets and lengths -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("own", range(4))
@pytest.mark.parametrize("child", range(4))
def test_offsets_of_batch_and_child_are_added_once_each(own, child):  # SLICE-5, SLICE-15
    made = Made(batch(numbers(*range(20), offset=child), length=5, offset=own))
    assert lists(lend.table(made)) == {"a": [child + own + i for i in range(5)]}


def test_child_that_is_longer_than_its_batch_is_cut():
    assert lists(lend.table(Made(batch(numbers(*range(9)), length=4)))) == {"a": [0, 1, 2, 3]}


def test_nulls_of_a_child_are_counted_among_the_rows_of_the_batch_alone():
    child = numbers(1, 2, 3, 4, 5)
    child.buffers[0], child.null_count = b"\x1e", 1  # the first one
    table = lend.table(Made(batch(child, length=3, offset=1)))
    assert table["a"].null_count == 0


def test_null_column_longer_than_its_batch_has_as_many_nulls_as_the_batch_rows():
    table = lend.table(Made(batch(Node("n", 9, 9, name="a"), length=3, offset=2)))
    assert table["a"].null_count == 3


def test_rows_of_a_batch_are_its_own_length():
    assert len(lend.table(Made(batch(numbers(*range(9)), length=4)))) == 4


# -- null rows -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("told", [1, -1])
def test_null_row_is_refused(told):
    made = Made(batch(numbers(1, 2), length=2, bitmap=b"\x01", null_count=told))
    with pytest.raises(UnsupportedType, match="says that 1 is") as refused:
        lend.table(made)
    assert "lend.column(x)" in refused.value.remedy


def test_refused_null_row_is_released_once():
    made = Made(batch(numbers(1, 2), length=2, bitmap=b"\x01", null_count=1))
    with pytest.raises(UnsupportedType):
        lend.table(made)
    gc.collect()
    assert made.released == {"": 1, "0": 1}


@pytest.mark.parametrize("told", [0, -1])
def test_bitmap_that_says_no_row_is_null_is_no_obstacle(told):
    made = Made(batch(numbers(1, 2), length=2, bitmap=b"\x03", null_count=told))
    assert lists(lend.table(made)) == {"a": [1, 2]}


def test_bits_before_the_batch_begins_are_not_its_nulls():
    made = Made(batch(numbers(1, 2, 3), length=2, offset=1, bitmap=b"\x06", null_count=-1))
    assert lists(lend.table(made)) == {"a": [2, 3]}


# -- fields that may not be null -----------------------------------------------------------------------------------


@pytest.mark.parametrize("told", [1, -1])
def test_null_in_a_field_that_has_none_by_its_type_is_malformed_and_named(told):
    child = numbers(1, 2, name="price", null_count=told, flags=0)
    child.buffers[0] = b"\x01"
    with pytest.raises(MalformedDescriptor, match="column 'price' .* nothing in it is null, and 1 is"):
        lend.table(Made(batch(child, length=2)))["price"]


def test_malformed_field_is_not_handed_on():
    child = numbers(1, 2, name="price", null_count=1, flags=0)
    child.buffers[0] = b"\x01"
    with pytest.raises(MalformedDescriptor, match="price"):
        lend.table(Made(batch(child, length=2))).__arrow_c_stream__()


def test_malformed_field_leaves_the_others_usable():  # TYPE-12
    child = numbers(1, 2, name="price", null_count=1, flags=0)
    child.buffers[0] = b"\x01"
    table = lend.table(Made(batch(child, numbers(3, 4, name="b"), length=2)))
    assert table["b"].tolist() == [3, 4]


def test_column_that_has_no_nulls_by_its_type_is_looked_at_too():
    child = numbers(1, 2, name="price", null_count=1, flags=0)
    child.buffers[0] = b"\x01"
    with pytest.raises(MalformedDescriptor, match="price"):
        lend.column(Made(child))


def test_flag_of_a_field_is_kept_through_a_slice():
    made = Made(batch(numbers(1, 2, flags=0), length=2))
    told = lend.table(made)[1:].__arrow_c_schema__()
    assert field_of(told, 0).flags == 0


def field_of(told, place):
    from support.arrow_structs import Schema, _capsule_pointer

    root = Schema.from_address(_capsule_pointer(id(told), b"arrow_schema"))
    return Schema.from_address((ctypes.c_void_p * root.n_children).from_address(root.children)[place])


# -- who is released when ------------------------------------------------------------------------------------------


PARTS = ("table", "column", "slice", "export")


@pytest.mark.parametrize("order", list(itertools.permutations(PARTS)), ids="-".join)
def test_memory_of_a_column_lives_until_its_last_holder_goes(order):
    made = Made(batch(numbers(1, 2, 3), numbers(4, 5, 6, name="b"), length=3))
    table = lend.table(made)
    column = table["a"]
    held = {"table": table, "column": column, "slice": table[1:], "export": column.__arrow_c_array__()}
    del table, column
    for number, part in enumerate(order):
        assert "0" not in made.released, f"released while {order[number:]} were alive"
        del held[part]
        gc.collect()
    assert made.released == {"": 1, "0": 1, "1": 1}


def test_column_keeps_no_other_column():
    made = Made(batch(numbers(1), numbers(2, name="b"), length=1))
    column = lend.table(made)["a"]
    gc.collect()
    assert made.released == {"": 1, "1": 1}
    assert column.tolist() == [1]


def test_table_whose_columns_nobody_asked_for_is_released_once():
    made = Made(batch(numbers(1), length=1))
    lend.table(made)
    gc.collect()
    assert made.released == {"": 1, "0": 1}


def test_table_stays_whole_when_a_column_of_it_is_released():
    table = lend.table(Made(batch(numbers(1, 2), length=2)))
    table["a"].release()
    assert table["a"].tolist() == [1, 2]


def test_selection_stays_whole_when_a_column_of_its_source_is_released():
    table = lend.table(Made(batch(numbers(1, 2), length=2)))
    chosen = table.select(["a"])
    table["a"].release()
    assert chosen["a"].tolist() == [1, 2]


def test_column_is_the_same_object_each_time():
    table = lend.table(Made(batch(numbers(1, 2), length=2)))
    assert table["a"] is table["a"]


def test_whole_table_given_before_and_after_a_column_was_asked_for_is_the_same():
    made = Made(batch(numbers(1, 2), length=2))
    table = lend.table(made)
    before = lend.table(table.__arrow_c_array__())
    table["a"]
    assert lists(before) == lists(lend.table(table.__arrow_c_array__())) == {"a": [1, 2]}


# -- streams -------------------------------------------------------------------------------------------------------


def test_stream_that_fails_midway_gives_no_table_and_keeps_the_text():
    stream = Streamed(schema(numbers()), [batch(numbers(1), length=1), (5, "the disk is gone")])
    with pytest.raises(lend.LendError, match="the disk is gone"):
        lend.table(stream)


def test_stream_that_fails_midway_is_released_once_with_what_it_gave():
    stream = Streamed(schema(numbers()), [batch(numbers(1), length=1), (5, "the disk is gone")])
    with pytest.raises(lend.LendError):
        lend.table(stream)
    gc.collect()
    assert (stream.released, stream.made[0].released) == (1, {"": 1, "0": 1})


def test_stream_that_cannot_describe_itself_is_released_once():
    stream = Streamed(schema(numbers()), [], schema_error=(5, "no such table"))
    with pytest.raises(lend.LendError, match="no such table"):
        lend.table(stream)
    gc.collect()
    assert stream.released == 1


def test_chunk_that_contradicts_the_schema_of_its_stream_is_malformed():
    stream = Streamed(schema(numbers(), numbers(name="b")), [batch(numbers(1), length=1)])
    with pytest.raises(MalformedDescriptor, match="1 children"):
        lend.table(stream)
    gc.collect()
    assert (stream.released, stream.made[0].released) == (1, {"": 1, "0": 1})


def test_stream_of_no_structs_is_no_table():
    with pytest.raises(lend.errors.NotLendable, match="elements are int64") as refused:
        lend.table(Streamed(numbers(), []))
    assert refused.value.remedy == "lend.column(x)"


def test_empty_chunks_in_the_middle_are_kept_and_not_given():
    parts = [batch(numbers(1), length=1), batch(numbers(), length=0), batch(numbers(2), length=1)]
    table = lend.table(Streamed(schema(numbers()), parts))
    assert [len(chunk) for chunk in table["a"].chunks] == [1, 0, 1]
    assert [len(chunk) for chunk in lend.table(table.__arrow_c_stream__())["a"].chunks] == [1, 1]


def test_stream_without_a_chunk_gives_typed_empty_columns():  # SLICE-7
    kinds = schema(numbers(), Node("c", name="d", dictionary=Node("u")))
    table = lend.table(Streamed(kinds, []))
    assert [str(column.dtype) for column in table] == ["int64", "dictionary[int8, utf8]"]


def test_stream_without_a_chunk_is_given_as_an_array_of_no_rows():
    kinds = schema(numbers(), Node("c", name="d", dictionary=Node("u")), Node("+l", name="l", children=[Node("vu")]))
    table = lend.table(lend.table(Streamed(kinds, [])).__arrow_c_array__())
    assert [column.tolist() for column in table] == [[], [], []]


def test_capsule_is_used_once():  # STREAM-2
    taken = Streamed(schema(numbers()), [batch(numbers(1), length=1)]).__arrow_c_stream__()
    lend.table(taken)
    with pytest.raises(MalformedDescriptor, match="already consumed"):
        lend.table(taken)


def test_table_does_not_pass_a_used_capsule_off_as_its_source():
    taken = Streamed(schema(numbers()), [batch(numbers(1), length=1)]).__arrow_c_stream__()
    assert lend.table(taken).native_object is None


class Reader:
    """Gives the rows it has left, as a reader does."""

    def __init__(self, *parts):
        self.parts = list(parts)

    def __arrow_c_stream__(self, requested_schema=None):
        parts, self.parts = self.parts, []
        return Streamed(schema(numbers()), parts).__arrow_c_stream__()


class Source(Reader):
    def __arrow_c_stream__(self, requested_schema=None):
        return Streamed(schema(numbers()), list(self.parts)).__arrow_c_stream__()


def test_drained_reader_is_an_error_and_no_empty_table():  # STREAM-2
    reader = Reader(batch(numbers(1), length=1))
    lend.table(reader)
    with pytest.raises(MalformedDescriptor, match="already consumed"):
        lend.table(reader)


def test_reader_that_somebody_else_is_just_reading_is_no_empty_table():
    said = []

    class Watched(list):
        def pop(self, place):
            part = super().pop(place)
            try:
                said.append(len(lend.table(reader)))
            except MalformedDescriptor as error:
                said.append(error.fact)
            return part

    class Busy(Reader):
        def __arrow_c_stream__(self, requested_schema=None):
            parts, self.parts = self.parts, []
            stream = Streamed(schema(numbers()), [])
            stream.parts = Watched(parts)
            return stream.__arrow_c_stream__()

    reader = Busy(batch(numbers(1), length=1))
    lend.table(reader)
    assert len(said) == 1
    assert "already consumed" in said[0]


def test_drained_reader_of_a_column_is_an_error():
    class Numbers(Reader):
        def __arrow_c_stream__(self, requested_schema=None):
            parts, self.parts = self.parts, []
            return Streamed(numbers(), parts).__arrow_c_stream__()

    reader = Numbers(numbers(1))
    lend.column(reader)
    with pytest.raises(MalformedDescriptor, match="already consumed"):
        lend.column(reader)


def test_reader_that_failed_midway_is_no_empty_table_afterwards():
    reader = Reader(batch(numbers(1), length=1), (5, "lost"))
    with pytest.raises(lend.LendError, match="lost"):
        lend.table(reader)
    with pytest.raises(MalformedDescriptor, match="already consumed"):
        lend.table(reader)


def test_source_that_is_empty_each_time_is_not_refused():
    source = Source()
    assert len(lend.table(source)) == len(lend.table(source)) == 0


def test_source_that_can_be_read_again_is_not_refused_once_it_is_empty():
    source = Source(batch(numbers(1), length=1))
    assert len(lend.table(source)) == len(lend.table(source)) == 1
    source.parts.clear()
    assert len(lend.table(source)) == 0


def test_source_with_a_length_is_not_refused_once_it_is_empty():
    class Sized(Source):
        def __len__(self):
            return len(self.parts)

    source = Sized(batch(numbers(1), length=1))
    lend.table(source)
    source.parts.clear()
    assert len(lend.table(source)) == 0


def test_drained_reader_is_not_kept_alive():
    from weakref import ref

    reader = Reader(batch(numbers(1), length=1))
    table = lend.table(reader)
    gone = ref(reader)
    del reader
    gc.collect()
    assert gone() is None
    assert len(table) == 1


def test_batch_is_given_without_the_bits_of_rows_that_are_not_its_own():
    made = Made(batch(numbers(1, 2, 3, 4, 5), length=3, offset=2, bitmap=b"\xfc", null_count=-1))
    given = lend.column(lend.table(made).__arrow_c_array__())
    assert given.tolist() == [{"a": 3}, {"a": 4}, {"a": 5}]


def test_column_of_nulls_is_given_with_as_many_as_the_batch_has_rows():
    made = Made(batch(Node("n", 5, 5), length=3))
    _, capsule_of_array = lend.table(made).__arrow_c_array__()
    array = Array.from_address(_capsule_pointer(id(capsule_of_array), b"arrow_array"))
    child = Array.from_address(ctypes.c_void_p.from_address(array.children).value)
    assert (child.length, child.null_count) == (3, 3)


# -- names and metadata --------------------------------------------------------------------------------------------


def test_name_that_is_no_utf8_comes_back_as_it_was():
    made = Made(batch(numbers(1, name=b"\xff\xfe"), length=1))
    told = lend.table(made)[:1].__arrow_c_schema__()
    assert ctypes.string_at(field_of(told, 0).name) == b"\xff\xfe"


def test_null_name_is_an_empty_one():
    assert lend.table(Made(batch(numbers(1, name=None), length=1))).names == ("",)


@pytest.mark.parametrize("derive", [lambda t: t, lambda t: t[1:], lambda t: t.select(["a"]), lambda t: t.chunks[0]])
def test_metadata_is_kept(derive):
    node = batch(numbers(1, 2, metadata={b"unit": b"m"}), length=2)
    node.metadata = {b"who": b"me"}
    table = lend.table(derive(lend.table(Made(node))).__arrow_c_array__())
    assert (table.metadata, table["a"].metadata) == ({b"who": b"me"}, {b"unit": b"m"})


def test_bare_capsules_are_taken():
    made = Made(batch(numbers(1), length=1))
    pair = capsule(made.schema, b"arrow_schema"), capsule(made.array, b"arrow_array")
    assert lists(lend.table(pair)) == {"a": [1]}
