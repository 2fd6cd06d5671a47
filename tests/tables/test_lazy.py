"""Lazy tables: names and types of a stream whose rows stay in it, until it is handed on, once."""

import gc
import re
import struct

import pytest

import lend
from lend.errors import LendError, MalformedDescriptor, NotLendable
from lend.front_columns import described
from support.arrow_structs import Node, Streamed


def numbers(*values, name="a"):
    return Node("l", len(values), name=name, buffers=[None, struct.pack(f"{len(values)}q", *values)])


def batch(*children, length):
    return Node("+s", length, buffers=[None], children=list(children))


def schema(*children):
    return batch(*children, length=0)


def lists(table):
    return {name: column.tolist() for name, column in zip(table.names, table.columns, strict=True)}


def streamed(*rows):
    """Two columns, a batch for each pair."""
    parts = [batch(numbers(a), numbers(b, name="b"), length=1) for a, b in rows]
    return Streamed(schema(numbers(), numbers(name="b")), parts)


def test_lazy_table_pulls_nothing_and_knows_names_and_types():
    stream = Streamed(schema(numbers(), numbers(name="b")), [batch(numbers(1), numbers(2), length=1)])
    table = lend.table(stream, lazy=True)
    assert (table.names, [str(dtype) for dtype in table.dtypes], table.num_rows) == (("a", "b"), ["int64"] * 2, None)
    assert stream.made == []


def test_lazy_table_hands_its_stream_on_once():
    table = lend.table(Streamed(schema(numbers()), [batch(numbers(1), length=1)]), lazy=True)
    assert lists(lend.table(table.__arrow_c_stream__())) == {"a": [1]}
    with pytest.raises(MalformedDescriptor, match="already consumed"):
        table.__arrow_c_stream__()


def test_lazy_table_gives_its_batches_one_by_one():
    stream = Streamed(schema(numbers()), [batch(numbers(1), length=1), batch(numbers(2), length=1)])
    rows = lend.table(stream, lazy=True).batches()
    assert lists(next(rows)) == {"a": [1]}
    assert len(stream.made) == 1
    assert [lists(part) for part in rows] == [{"a": [2]}]


@pytest.mark.parametrize(
    "use", [len, lambda t: t["a"], lambda t: t[:1], lambda t: t.columns, lambda t: t.compact(), lambda t: t.chunks]
)
def test_lazy_table_refuses_what_needs_rows(use):
    table = lend.table(Streamed(schema(numbers()), [batch(numbers(1), length=1)]), lazy=True)
    with pytest.raises(lend.LendError, match="rows are still in the stream"):
        use(table)


def test_lazy_table_that_nobody_reads_releases_its_stream_once():
    stream = Streamed(schema(numbers()), [batch(numbers(1), length=1)])
    lend.table(stream, lazy=True)
    gc.collect()
    assert stream.released == 1


@pytest.mark.parametrize("give", ["__arrow_c_device_stream__", "batches"])
def test_lazy_table_whose_stream_was_taken_by_somebody_else_says_so(give):
    stream = Streamed(schema(numbers()), [batch(numbers(1), length=1)]).__arrow_c_stream__()
    table = lend.table(stream, lazy=True)
    lend.table(stream)
    with pytest.raises(MalformedDescriptor, match="was already consumed"):
        getattr(table, give)()


def test_lazy_table_hands_on_a_stream_that_has_no_words_for_its_errors():
    made = Streamed(schema(numbers()), [(5, "nobody asks")])
    made.stream.get_last_error = None
    given = lend.table(made, lazy=True).__arrow_c_device_stream__()
    with pytest.raises(NotLendable, match="did not give its next array: errno 5"):
        lend.table(given)


@pytest.mark.parametrize("callback", ["get_schema", "get_next"])
def test_lazy_table_of_a_stream_without_a_callback_is_refused(callback):
    made = Streamed(schema(numbers()), [])
    setattr(made.stream, callback, None)
    with pytest.raises(NotLendable, match="the callback for its schema or for its next array: it is NULL"):
        lend.table(made, lazy=True)


# -- all rows, and some columns ------------------------------------------------------------------------------------


def test_table_of_a_lazy_table_has_all_its_rows():
    table = lend.table(streamed((1, 2), (3, 4)), lazy=True)
    assert lists(lend.table(table)) == {"a": [1, 3], "b": [2, 4]}
    with pytest.raises(MalformedDescriptor, match="its stream was handed on"):
        lend.table(table)


def test_table_of_a_lazy_table_has_what_its_batches_left():
    table = lend.table(streamed((1, 2), (3, 4)), lazy=True)
    with pytest.raises(lend.LendError) as refused:
        len(table)
    assert "try    : lend.table(x), all rows; x.batches(), one Table at a time" in str(refused.value)
    assert len(lend.table(table, columns=["b"])) == 2


def test_table_of_a_lazy_table_that_is_asked_to_be_lazy_is_that_table():
    stream = streamed((1, 2))
    table = lend.table(stream, lazy=True)
    assert lend.table(table, lazy=True) is table
    assert stream.made == []


SELECTED = {
    "columns=": lambda stream: lend.table(stream, lazy=True, columns=["b"]),
    "columns= of a lazy table": lambda stream: lend.table(lend.table(stream, lazy=True), lazy=True, columns=[1]),
    "select": lambda stream: lend.table(stream, lazy=True).select(["b"]),
    "select of a selection": lambda stream: lend.table(stream, lazy=True).select(["b", "a"]).select([0]),
}
USED = {
    "table": lambda table: lists(lend.table(table))["b"],
    "batches": lambda table: [value for part in table.batches() for value in lists(part)["b"]],
    "stream": lambda table: lists(lend.table(table.__arrow_c_stream__()))["b"],
    "device stream": lambda table: lists(lend.table(table.__arrow_c_device_stream__()))["b"],
    "to": lambda table: lists(lend.to(table, lambda given: given))["b"],
}


@pytest.mark.parametrize("use", USED)
@pytest.mark.parametrize("select", SELECTED)
def test_columns_of_a_lazy_table_are_chosen_before_its_rows_come(select, use):
    stream = streamed((1, 2), (3, 4))
    table = SELECTED[select](stream)
    assert (table.names, table.num_columns, table.is_lazy, stream.made) == (("b",), 1, True, [])
    assert USED[use](table) == [2, 4]


def test_stream_that_some_columns_are_chosen_of_is_released_once_with_the_last_batch():
    stream = streamed((1, 2), (3, 4))
    chosen = lend.table(stream, lazy=True).select(["b"]).__arrow_c_stream__()
    made = lend.table(chosen)
    del made, chosen
    gc.collect()
    assert (stream.released, [array.released for array in stream.made]) == (1, [{"": 1, "0": 1, "1": 1}] * 2)


def test_lazy_table_without_columns_has_rows_all_the_same():
    assert lend.table(lend.table(streamed((1, 2), (3, 4)), lazy=True, columns=[])).shape == (2, 0)


def test_lazy_table_that_was_selected_from_is_handed_on():
    table = lend.table(streamed((1, 2)), lazy=True)
    table.select(["a"])
    with pytest.raises(MalformedDescriptor, match="its stream was handed on"):
        table.batches()


def test_column_that_a_lazy_table_lacks_is_refused_before_the_stream_is_handed_on():
    table = lend.table(streamed((1, 2)), lazy=True)
    with pytest.raises(KeyError, match="no column is named 'c'"):
        table.select(["c"])
    assert lists(lend.table(table)) == {"a": [1], "b": [2]}


@pytest.mark.parametrize("keyword", ["copy", "nulls"])
def test_keyword_that_needs_columns_is_refused_with_lazy(keyword):
    with pytest.raises(lend.LendError, match=f"{keyword}= is about columns"):
        lend.table(streamed(), lazy=True, **{keyword: True})


# -- a stream that fails -------------------------------------------------------------------------------------------

FAILED = {
    "table": lambda stream: lend.table(stream),
    "table of a lazy table": lambda stream: lend.table(lend.table(stream, lazy=True)),
    "batches": lambda stream: list(lend.table(stream, lazy=True).batches()),
    "batches of some columns": lambda stream: list(lend.table(stream, lazy=True, columns=["a"]).batches()),
    "to of a lazy table": lambda stream: lend.to(lend.table(stream, lazy=True), list),
    "column": lambda stream: lend.column(stream),
}
TEXT = "Invalid: boom. Detail: Python exception: Traceback (most recent call last):\n  File x\nValueError: boom\n"


@pytest.mark.parametrize("use", FAILED)
def test_error_of_a_stream_names_its_class_and_tells_its_text_once(use):
    stream = Streamed(schema(numbers()), [batch(numbers(1), length=1), (22, TEXT)])
    with pytest.raises(NotLendable) as refused:
        FAILED[use](stream)
    name = f"{Streamed.__module__}.Streamed"
    assert refused.value.fact == f"the stream of {name} did not give its next array: Invalid: boom"
    assert refused.value.came == name
    assert re.fullmatch(r"stream -> errno 22 \(.*\): Invalid: boom(.|\n)*ValueError: boom", refused.value.tried)


def test_error_of_a_stream_in_one_line_is_told_with_its_number_alone_beside_it():
    stream = Streamed(schema(numbers()), [(5, "the disk is gone")])
    with pytest.raises(NotLendable) as refused:
        lend.table(stream)
    assert refused.value.fact.endswith("did not give its next array: the disk is gone")
    assert "disk" not in refused.value.tried


class Asking(Streamed):
    """A stream that, while it is asked for its types, has somebody else take it."""

    def __init__(self, take):
        self.take, self.came = None, None
        super().__init__(Node("+s", 0, buffers=[None], children=[Node("l", 0, name="a")]), [])
        self.take, self.lent = take, self.__arrow_c_stream__()

    @property
    def schema_error(self):
        if self.take is not None:
            take, self.take = self.take, None
            try:
                take(self.lent)
            except LendError as refusal:
                self.came = str(refusal)

    @schema_error.setter
    def schema_error(self, value):
        pass


@pytest.mark.parametrize("look", [lambda lent: lend.table(lent, lazy=True), described], ids=["lazily", "explained"])
def test_a_stream_that_is_asked_for_its_types_is_not_ended_meanwhile(look):
    stream = Asking(lend.table)
    looked = look(stream.lent)
    assert ("already consumed" in stream.came, stream.released) == (True, 0)
    assert lend.table(stream.lent if look is described else looked).names == ("a",)
