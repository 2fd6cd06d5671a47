"""lend.loans: who holds a lease. What is within a Column or a Table is counted with it, and never twice."""

import array
import gc
import pickle

import pytest

import lend
from lend import Column
from lend.inspection.loans import Loans, loans
from support.arrow_structs import Made, Node, Streamed


def lent():
    """Memory of which one can tell the loans."""
    return array.array("q", range(1000))


def of(producer):
    return Loans(loan for loan in loans() if loan.producer is producer)


def words(loan):
    return repr(loan).partition(", ")[2].rstrip(">")


def test_a_column_is_a_holder():
    memory = lent()
    column = lend.column(memory)
    (loan,) = of(memory)
    assert (loan.views, loan.columns, loan.tables, words(loan)) == (0, 1, 0, "held by 1 column")
    del column


def test_columns_and_views_of_one_lease_are_told_apart():
    memory = lent()
    column = lend.column(memory)
    held = [column[1:], column.view(), column.buffers["data"]]
    (loan,) = of(memory)
    assert words(loan) == "held by 2 views, 2 columns"
    del held


def test_a_table_is_a_holder_by_its_columns():
    memory = lent()
    table = lend.table({"a": memory})
    (loan,) = of(memory)
    assert (loan.tables, words(loan)) == (1, "held by 1 table")
    del table


def test_the_columns_that_a_table_handed_out_are_counted_with_it():
    memory = lent()
    table = lend.table({"a": memory})
    column = table["a"]
    assert [words(loan) for loan in of(memory)] == ["held by 1 table"]
    del table
    assert [words(loan) for loan in of(memory)] == ["held by 1 column"]
    del column


def test_columns_that_a_table_was_made_of_are_holders_of_their_own():
    memory = lent()
    given = {"a": lend.column(memory)}
    table = lend.table(given)
    assert [words(loan) for loan in of(memory)] == ["held by 1 column, 1 table"]
    del table


def test_a_child_is_counted_with_its_parent():
    memory = lent()
    column = Column.from_buffers("struct{a: int64}", 9, {}, children=[lend.column(memory)])
    inner = Column.from_buffers("struct{b: struct{a: int64}}", 9, {}, children=[column])
    assert [words(loan) for loan in of(memory)] == ["held by 2 columns"]
    del column, inner


def test_a_dictionary_is_counted_with_its_column():
    memory = lent()
    kind = lend.DType.from_arrow("c", dictionary="int64")
    column = Column.from_buffers(kind, 1, {"data": b"\0"}, dictionary=lend.column(memory))
    assert [words(loan) for loan in of(memory)] == ["held by 1 column"]
    del column


def test_data_buffers_of_views_are_counted_with_their_column():
    memory = bytearray(b"x")
    column = Column.from_buffers("utf8_view", 1, {"views": bytes(16), "variadic": [memory]})
    assert [words(loan) for loan in of(memory)] == ["held by 1 column"]
    del column


def test_each_chunk_is_held_by_the_whole():
    pa = pytest.importorskip("pyarrow")
    column = lend.column(pa.chunked_array([[1, 2, 3], [4]]))
    found = [loan for loan in loans() if loan.producer_type == "pyarrow.lib.ChunkedArray"]
    assert [words(loan) for loan in found] == ["held by 1 column"] * 2
    del column


def test_children_that_were_taken_apart_are_held_by_the_table_still():
    pa = pytest.importorskip("pyarrow")
    table = lend.table(pa.table({"a": [1, 2], "b": ["x", None]}))
    assert table["a"].tolist() == [1, 2]
    found = [loan for loan in loans() if loan.producer_type == "pyarrow.lib.Table"]
    assert {words(loan) for loan in found} == {"held by 1 table"}


def test_what_a_released_column_held_is_held_no_more():
    memory = lent()
    column = lend.column(memory)
    other = column[1:]
    column.release()
    assert [words(loan) for loan in of(memory)] == ["held by 1 column"]
    other.release()
    assert len(of(memory)) == 0


def test_memory_that_only_a_column_is_left_to_tell_of_is_on_its_device():
    memory = lent()
    view = lend.View.from_pointer(memory.buffer_info()[0], (9,), "int64", owner=memory, device="cuda:1")
    column = Column.from_buffers("int64", 9, {"data": view})
    del view
    assert [str(loan.device) for loan in of(memory)] == ["cuda:1"]
    del column


def test_a_capsule_alone_is_an_export_and_no_holder_of_lend_s():
    memory = lent()
    capsule = lend.view(memory).__dlpack__(max_version=(1, 0))
    assert [words(loan) for loan in of(memory)] == ["held by 1 export"]
    del capsule


def test_a_lease_that_nothing_but_its_owner_is_left_of_says_so():
    memory = lent()
    owner = lend.column(memory).owner
    assert [words(loan) for loan in of(memory)] == ["held by nothing of lend's"]
    del owner


def test_the_table_of_loans_counts_all_holders():
    memory = lent()
    held = [lend.column(memory), lend.table({"a": memory})]
    rows = [line.split() for line in str(of(memory)).splitlines()[1:]]
    assert (rows[0][3], sorted(row[3] for row in rows[1:])) == ("holders", ["1", "1"])
    del held


def test_holders_go_through_pickle_and_json():
    memory = lent()
    held = [lend.column(memory)]
    (loan,) = of(memory)
    assert (repr(pickle.loads(pickle.dumps(loan))), loan.to_dict()["columns"]) == (repr(loan), 1)
    del held


def test_an_arrow_array_is_held_by_its_column():
    made = Made(Node("l", buffers=[None, bytes(16)], length=2))
    column = lend.column(made)
    found = [words(loan) for loan in loans() if loan.producer_type.endswith(".Made")]
    assert found == ["held by 1 column"]
    del column


MADE = {
    "of an array": lend.column,
    "of loose buffers": lambda memory: Column.from_buffers("int64", 1000, {"data": memory}),
    "in chunks": lambda memory: lend.column(Streamed(Node("n", 0), [Node("n", 1), Node("n", 2)])),
    "copied": lambda memory: lend.column(memory, copy=True),
    "cut": lambda memory: lend.column(memory)[1:],
    "with its nulls": lambda memory: lend.column(memory, nulls=3),
    "of a table": lambda memory: lend.table({"a": memory})["a"],
    "of Arrow's": lambda memory: lend.column(Made(Node("+l", 1, buffers=[None, bytes(8)], children=[Node("n", 0)]))),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_loans_can_be_asked_for_while_a_column_is_made(make):
    memory, raised, thresholds = lent(), [], gc.get_threshold()
    make(memory)  # what it loads is there

    def look(phase, about):
        # as another thread may, wherever an object is made
        gc.callbacks.remove(look)
        try:
            str(loans())
        except Exception as error:
            raised.append(error)
        gc.callbacks.append(look)

    str(loans())
    gc.callbacks.append(look)
    gc.set_threshold(1)
    try:
        make(memory)
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(look)
    assert raised == []
