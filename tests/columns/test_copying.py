"""copy.copy of a Column or Table shares, copy.deepcopy copies and is counted, pickle says what pickles."""

import copy
import pickle

import pytest

import lend
from lend.errors import LeaseLost, NotLendable, UnsupportedLayout

pa = pytest.importorskip("pyarrow")

COLUMNS = {
    "numbers": lambda: pa.array([1, None, 3]),
    "text": lambda: pa.array(["a", None, "öü"]),
    "chunks": lambda: pa.chunked_array([["a"], ["b", None]]),
    "no chunk": lambda: pa.chunked_array([], pa.int64()),
    "lists": lambda: pa.array([[1], None, [2, 3]]),
    "structs": lambda: pa.array([{"x": 1}, None]),
    "categories": lambda: pa.array(["a", "b", None]).dictionary_encode(),
    "bits": lambda: pa.array([True, None, False]),
}


def addresses(column):
    return {part.ptr for chunk in column.chunks for part in chunk.buffers.values() if part.nbytes}


@pytest.mark.parametrize("case", COLUMNS)
def test_a_deep_copy_has_the_same_values_of_the_same_type(case):
    column = lend.column(COLUMNS[case]()).rename("n")
    made = copy.deepcopy(column)
    assert (made.tolist(), made.dtype, made.name) == (column.tolist(), column.dtype, "n")


@pytest.mark.parametrize("case", COLUMNS)
def test_a_deep_copy_shares_no_memory(case):
    column = lend.column(COLUMNS[case]())
    assert not addresses(copy.deepcopy(column)) & addresses(column)


def test_a_deep_copy_is_counted_under_its_name():
    with lend.copies() as copies:
        copy.deepcopy(lend.column(pa.array([1, 2])))
    assert [(each.nbytes, each.why) for each in copies.recent] == [(16, "copy.deepcopy")]


def test_a_deep_copy_is_of_the_slice_alone():
    with lend.copies() as copies:
        made = copy.deepcopy(lend.column(pa.array(range(1000)))[10:12])
    assert (made.tolist(), copies.bytes) == ([10, 11], 16)


def test_a_deep_copy_of_a_table_has_its_rows_names_and_metadata_in_memory_of_its_own():
    table = lend.table(pa.table({"a": [1, None], "b": ["x", "y"]}).replace_schema_metadata({"k": "v"}))
    with lend.copies() as copies:
        made = copy.deepcopy(table)
    assert (made["b"].tolist(), made.names, made.num_rows) == (["x", "y"], ("a", "b"), 2)
    assert (made.metadata, copies.count) == (table.metadata, 2)
    assert not addresses(made["a"]) & addresses(table["a"])


def test_what_holds_a_column_is_copied_deeply():
    held = {"here": lend.column(pa.array([1, 2])), "and": []}
    held["and"].append(held["here"])
    made = copy.deepcopy(held)
    assert (made["here"].tolist(), made["and"][0] is made["here"]) == ([1, 2], True)


def test_a_copy_shares_and_can_be_released_by_itself():
    table = lend.table(pa.table({"a": [1, 2]}))
    with lend.copies() as copies:
        made = copy.copy(table)
        column = copy.copy(table["a"])
    table["a"].release()
    assert (made["a"].tolist(), column.tolist(), copies.count) == ([1, 2], [1, 2], 0)


def test_a_lazy_table_is_not_copied():
    for how in (copy.copy, copy.deepcopy):
        with pytest.raises(UnsupportedLayout, match="lazy"):
            how(lend.table(pa.table({"a": [1]}).to_reader(), lazy=True))


def test_a_released_column_is_not_copied():
    column = lend.column(pa.array([1]))
    column.release()
    with pytest.raises(LeaseLost):
        copy.deepcopy(column)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: lend.column(pa.array([1, None])), "a Column is not pickled"),
        (lambda: lend.table(pa.table({"a": [1]})), "a Table is not pickled"),
    ],
)
def test_pickle_says_what_pickles(make, said, protocol):
    with pytest.raises(NotLendable, match=said) as caught:
        pickle.dumps(make(), protocol)
    assert isinstance(caught.value, TypeError)
    assert caught.value.remedy == 'lend.to(x, "pyarrow"), which pickles; what comes back lend takes again'


def test_the_remedy_of_pickle_works():
    column = lend.column(pa.array([1, None]))
    assert lend.column(pickle.loads(pickle.dumps(lend.to(column, "pyarrow")))).tolist() == [1, None]
