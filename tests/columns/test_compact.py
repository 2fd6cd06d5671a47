"""compact(): exactly these elements in memory of their own, counted, nothing else kept alive; what loans() tells."""

import gc
import struct

import pytest

import lend
from support import column_forms as forms
from support.arrow_structs import Made, Node, Streamed

ROWS = [1, None, 3, None, 5]


def of(made):
    """The loans of what was made by hand."""
    return [loan for loan in lend.loans() if loan.kind == "arrow" and loan.producer_type.endswith(type(made).__name__)]


def longs(*values, name="n", **said):
    return Node("l", len(values), buffers=[None, struct.pack(f"{len(values)}q", *values)], name=name, **said)


COLUMNS = {
    "numbers": lambda: forms.numbers("int64", ROWS, "bits", before=[9, None], after=[8]),
    "strided numbers": lambda: forms.numbers("int32", [1, 2, 3], laid="strided", before=[7]),
    "nulls as bytes": lambda: forms.numbers("int64", ROWS, "bytes of 0", before=[9]),
    "nulls as NaN": lambda: forms.numbers("float64", [1.5, None], "nan"),
    "text": lambda: forms.texts(["a", None, "bcd"], "bits", before=["long before"]),
    "lists": lambda: forms.lists([[1, 2], None, []], "bits", before=[[9]]),
    "structs": lambda: forms.structs([{"b": 1.5, "t": "x"}, None], "bits", before=[None]),
    "categories": lambda: forms.categories(["a", None, "b"], ["a", "b"], "bits"),
    "bools of bits": lambda: forms.packed_bools([True, None, False], "bits", before=[True]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_the_values_and_the_name_are_those_of_the_column(kind):
    column = COLUMNS[kind]()
    made = column.compact()
    assert (made.tolist(), made.name, made.offset) == (column.tolist(), column.name, 0)


@pytest.mark.parametrize("kind", COLUMNS)
def test_no_byte_of_it_lies_where_the_column_lies(kind):
    column = COLUMNS[kind]()
    made, told = column.compact(), forms.addresses(column)
    assert not set(forms.addresses(made).values()) & set(told.values())


def test_the_copy_is_counted_by_its_bytes():
    column = lend.column(Made(longs(*range(100))))[10:20]
    with lend.copies() as made:
        column.compact()
    assert (made.count, made.bytes) == (1, 80)
    assert "compact()" in made.recent[-1].why


def test_what_the_column_was_taken_from_is_given_back_while_the_copy_lives():
    made = Made(longs(*range(1000)))
    column = lend.column(made)[7:9]
    small = column.compact()
    del column
    assert made.released == {"": 1}
    assert small.tolist() == [7, 8]


def test_chunks_stay_chunks():
    column = lend.column(Streamed(longs(), [longs(1, 2), longs(3)])).compact()
    assert [part.tolist() for part in column.chunks] == [[1, 2], [3]]


def test_each_column_of_a_table_is_copied_and_the_table_is_as_it_was():
    node = Node("+s", 3, buffers=[None], children=[longs(1, 2, 3, name="a"), longs(4, 5, 6, name="b")])
    node.metadata = {b"key": b"value"}
    made = Made(node)
    table = lend.table(made)[1:]
    small = table.compact()
    del table
    assert made.released == {"": 1, "0": 1, "1": 1}
    assert (small.names, small.num_rows, small.metadata) == (("a", "b"), 2, {b"key": b"value"})
    assert small["b"].tolist() == [5, 6]


def test_a_table_without_columns_keeps_its_rows():
    table = lend.table(Made(Node("+s", 5, buffers=[None])))
    assert table.compact().num_rows == 5


def test_a_loan_of_an_arrow_array_tells_where_its_buffers_are_and_how_long():
    made = Made(Node("l", 3, 1, 1, buffers=[b"\x0d", struct.pack("4q", *range(4))]))
    column = lend.column(made)
    (loan,) = of(made)
    bits, data = made.addresses[""]
    assert sorted(loan.spans) == sorted([(bits, 1), (data, 32)])
    assert (loan.ptr, loan.nbytes, str(loan.device)) == (min(bits, data), 33, "cpu")
    del column


def test_the_buffers_below_are_told_as_well():
    words = Node("u", 2, buffers=[None, struct.pack("3i", 0, 1, 3), b"abc"])
    made = Made(Node("c", 3, buffers=[None, bytes([0, 1, 0])], dictionary=words))
    column = lend.column(made)
    (loan,) = of(made)
    assert sorted(size for _, size in loan.spans) == [3, 3, 12]
    del column


def test_a_slice_pins_all_of_it_and_a_compact_copy_its_own():
    made = Made(longs(*range(1000)))
    column = lend.column(made)[:1]
    (loan,) = of(made)
    assert loan.nbytes == 8000
    before = lend.loans().nbytes
    small = column.compact()
    del column
    gc.collect()
    assert of(made) == []
    assert before - lend.loans().nbytes == 8000 - 8
    del small


def test_bytes_that_two_leases_cover_are_counted_once():
    made = Made(longs(*range(100)))
    column = lend.column(made)
    before = lend.loans().nbytes
    again = lend.column(column.__arrow_c_array__())
    assert lend.loans().nbytes == before
    del again


def test_a_loan_that_was_pickled_tells_its_buffers_still():
    import pickle

    made = Made(longs(1, 2))
    column = lend.column(made)
    (loan,) = of(made)
    assert pickle.loads(pickle.dumps(loan)).spans == loan.spans
    del column
