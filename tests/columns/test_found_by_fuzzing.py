"""What the fuzzer of Arrow's structs found, each for its whole kind."""

import pytest

import lend
from lend.errors import LeaseLost, MalformedDescriptor
from support import hostile_arrow
from support.arrow_structs import Made, Node, Streamed

# -- released ------------------------------------------------------------------------------------------------------

GIVEN = [
    "__arrow_c_array__",
    "__arrow_c_stream__",
    "__arrow_c_schema__",
    "__arrow_c_device_array__",
    "__arrow_c_device_stream__",
    "__arrow_array__",
]
CHUNKS = {
    "no chunk": lambda: lend.column(Streamed(Node("l"), [])),
    "one chunk": lambda: lend.column(Made(hostile_arrow.numbers())),
    "two chunks": lambda: lend.column(Streamed(Node("l"), [hostile_arrow.numbers(), hostile_arrow.numbers()])),
}


@pytest.mark.parametrize("method", GIVEN)
@pytest.mark.parametrize("chunks", CHUNKS)
def test_what_was_released_is_given_to_nobody_whatever_chunks_it_had(chunks, method):
    column = CHUNKS[chunks]()
    column.release()
    with pytest.raises(LeaseLost):
        getattr(column, method)()


# -- contents that others follow -----------------------------------------------------------------------------------


@pytest.mark.parametrize("views", [(16, 1, 0), (16, -1, 0), (16, 0, 1), (16, 0, -1), (-5, 0, 0)])
def test_views_are_looked_at_before_pyarrow_makes_offsets_of_them(views):
    pytest.importorskip("pyarrow")
    table = lend.table({"t": lend.column(Made(hostile_arrow.view(*views)))})
    with pytest.raises(MalformedDescriptor, match="column 't' contradicts itself"):
        table.__dataframe__().get_column(0).get_buffers()


@pytest.mark.parametrize("views", [(16, 1, 0), (16, 0, -1), (-5, 0, 0)])
def test_views_are_looked_at_before_they_become_text_of_pandas(views):
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    table = lend.table({"t": lend.column(Made(hostile_arrow.view(*views)))})
    with pytest.raises(MalformedDescriptor, match="column 't' contradicts itself"):
        lend.to(table, "pandas")


# -- no values -----------------------------------------------------------------------------------------------------

WITHOUT_OBJECTS = {
    "a zone that nobody knows": lambda: Node("tss:Mars/Olympus", 0, buffers=[None, b""]),
    "lists of it": lambda: Node(
        "+l", 0, buffers=[None, b""], children=[Node("tss:Mars/Olympus", 0, buffers=[None, b""])]
    ),
    "two fields of one name": lambda: Node(
        "+s", 0, buffers=[None], children=[Node("n", name="a"), Node("n", name="a")]
    ),
}


@pytest.mark.parametrize("kind", WITHOUT_OBJECTS)
def test_no_elements_are_a_list_of_none_whatever_they_would_have_been(kind):
    node = WITHOUT_OBJECTS[kind]
    assert lend.column(Made(node())).tolist() == lend.column(Streamed(node(), [])).tolist() == []


# -- types ---------------------------------------------------------------------------------------------------------


def test_the_entries_of_a_map_may_be_of_an_extension_type():
    node = hostile_arrow.pairs()
    node.children[0].metadata = {b"ARROW:extension:name": b"entry"}
    assert lend.column(Made(node)).tolist() == [[(1, 1), (2, 2), (3, 3)]]
