"""A type alone, by a schema capsule or `__arrow_c_schema__`, is a column of no elements; what has data never is."""

import random

import pytest
from hypothesis import given, settings

from lend import minimal
from support.arrow_layouts import columns, encode
from support.arrow_structs import Made, Node, capsule


class Typed:
    """Something that shows its type."""

    def __init__(self, made):
        self.made = made

    def __arrow_c_schema__(self):
        return capsule(self.made.schema, b"arrow_schema")


def shape(column):
    """The type of a column and of all below it."""
    words = None if column.dictionary is None else shape(column.dictionary)
    return column.dtype, column.about, [shape(child) for child in column.children], words


@settings(max_examples=100)
@given(columns())
def test_the_type_of_any_layout_is_that_of_its_data(drawn):
    kind, values, _ = drawn
    node = encode(kind, values, random.Random(0))
    alone = minimal.column(Typed(Made(node)))
    assert (shape(alone), alone.length, alone.tolist()) == (shape(minimal.column(Made(node))), 0, [])


def test_a_bare_capsule_is_taken_as_what_shows_one():
    made = Made(Node("u", 0, name="a", buffers=[None, None, None]))
    column = minimal.column(capsule(made.schema, b"arrow_schema"))
    assert (column.dtype, column.about["name"], column.length) == ("u", "a", 0)


def test_the_schema_goes_with_its_capsule_once():
    made = Made(Node("+s", 0, buffers=[None], children=[Node("l", 0, buffers=[None, None])]))
    column = minimal.column(Typed(made))
    assert made.schemas_released == {"": 1, "0": 1}
    assert [child.dtype for child in column.children] == ["l"]


def test_a_schema_that_was_released_is_refused():
    made = Made(Node("l", 0, buffers=[None, None]))
    made.schema.release = None
    with pytest.raises(minimal.Refused, match="was released"):
        minimal.column(Typed(made))


@pytest.mark.parametrize(
    "method", ["__arrow_c_array__", "__arrow_c_stream__", "__arrow_c_device_array__", "__array__", "__dlpack__"]
)
def test_what_has_data_that_it_does_not_give_is_not_taken_for_its_type(method):
    def refuses(self, *args, **keywords):
        raise ValueError("not now")

    cls = type("Refuses", (Typed,), {method: refuses})
    with pytest.raises(minimal.Refused):
        minimal.column(cls(Made(Node("l", 1, buffers=[None, bytes(8)]))))


@pytest.mark.parametrize("module", ["pyarrow", "polars", "nanoarrow", "arro3.core"])
def test_schemas_of_libraries_are_taken(module):
    library = pytest.importorskip(module)
    schema = {
        "pyarrow": lambda: library.schema([("a", library.int64())]),
        "polars": lambda: library.Schema({"a": library.Int64}),
        "nanoarrow": lambda: library.struct({"a": library.int64()}),
        "arro3.core": lambda: library.Schema([library.Field("a", library.DataType.int64())]),
    }[module]()
    column = minimal.column(schema)
    assert (column.dtype, [(child.dtype, child.about["name"]) for child in column.children]) == ("+s", [("l", "a")])
