"""Errors of columns hold no lease: whoever handles one may go on with the memory."""

import gc
import struct
import weakref

import numpy as np
import pytest

import lend
from lend import Column
from lend.columns import converting
from lend.errors import LendError
from support.arrow_structs import Made, Node


def i(*values):
    return struct.pack(f"{len(values)}i", *values)


def q(*values):
    return struct.pack(f"{len(values)}q", *values)


def caught(use, given):
    try:
        use(given)
    except (LendError, ValueError) as error:
        return error


def emptied(error):
    """The error, without what the frames of this file have: they are the test's."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals is globals():
            trace.tb_frame.clear()
        trace = trace.tb_next
    return error


class Kept(np.ndarray):
    """An ndarray that can be watched."""


def array(values, dtype):
    return np.array(values, dtype).view(Kept)


def long_codes():
    return Node("l", 2, buffers=[None, q(0, 9)], dictionary=Node("l", 1, buffers=[None, q(1)]))


ARRAYS = {
    "an Arrow array of complex numbers": (
        lambda: array([1], "complex128"), lambda column: column.__arrow_c_array__()),
    "an Arrow schema of complex numbers": (
        lambda: array([1], "complex128"), lambda column: column.__arrow_c_schema__()),
    "days too far away": (lambda: array([2**40], "M8[D]"), converting.arrow_form),
    "integers too large for floats": (
        lambda: array([2**60 + 1, -1], "int64"), lambda column: converting.filled(lend.column(column, nulls=-1), "nan"),
    ),
    "a value of another type": (
        lambda: array([1], "int64"), lambda column: converting.filled(lend.column(column, nulls=1), "x")),
    "indices of what has none": (lambda: array([1], "int64"), converting.codes_with_sentinel),
    "too few elements": (
        lambda: array([1], "int64"), lambda column: Column.from_buffers("int64", 2, {"data": column})),
    "a mask of too few": (
        lambda: array([1], "u1"), lambda column: Column.from_buffers("int64", 9, {"data": q(*range(9)),
                                                                                  "validity": column})),
    "two dimensions": (
        lambda: array([[1]], "int64"), lambda array: Column.from_buffers("int64", 1, {"data": array})),
    "a value that has no object": (lambda: array([2**62], "M8[s]"), lambda column: column.tolist()),
    "nanoseconds": (lambda: array([1], "M8[ns]"), lambda column: column[0]),
}  # fmt: skip


@pytest.mark.parametrize("case", ARRAYS)
def test_an_error_about_an_array_does_not_keep_it(case):
    make, use = ARRAYS[case]
    source = make()
    gone = weakref.ref(source)
    given = lend.column(source) if source.ndim == 1 else lend.view(source)
    del source
    kept = emptied(caught(use, given))
    del given
    gc.collect()
    assert (gone() is None, kept.__traceback__ is not None) == (True, True)


NODES = {
    "text that leads out": (Node("u", 2, buffers=[None, i(0, 9, 3), b"abc"]), lambda column: column.tolist()),
    "text that leads out, checked": (
        Node("u", 2, buffers=[None, i(0, 9, 3), b"abc"]), lambda column: column.verify(full=True)),
    "text that leads out, copied": (
        Node("u", 2, buffers=[None, i(0, 9, 3), b"abc"]), lambda column: converting.compact(column[:1])),
    "text that leads out, with offsets of 32 bits": (
        Node("U", 3, buffers=[None, q(0, 3, 1, 3), b"abc"]), converting.narrowed),
    "an index that leads out": (long_codes(), converting.codes_with_sentinel),
    "a time that has no object": (Node("tss:", 1, buffers=[None, q(2**62)]), lambda column: column.tolist()),
    "an element beyond microseconds": (Node("ttn", 1, buffers=[None, q(1)]), lambda column: column.item()),
    "a zone that is none": (Node("tss:Nowhere", 1, buffers=[None, q(1)]), lambda column: column.tolist()),
    "fields of one name": (
        Node("+s", 1, buffers=[None], children=[Node("n", 1, name="a"), Node("n", 1, name="a")]),
        lambda column: column.tolist()),
}  # fmt: skip


@pytest.mark.parametrize("case", NODES)
def test_an_error_about_arrow_data_does_not_keep_it(case):
    node, use = NODES[case]
    made = Made(node)
    given = lend.column(made)
    kept = emptied(caught(use, given))
    del given
    gc.collect()
    assert (made.released.get(""), kept.__traceback__ is not None) == (1, True)


def framed(column):
    """The frame of a table that has the column as its only one."""
    return lend.table({"a": column}).__dataframe__()


def asked_for(column):
    """The stream of such a table, asked for as what no table is."""
    lend.table({"a": column}).__arrow_c_stream__(lend.column(b"1").__arrow_c_schema__())


OBJECTS = {
    "memory that the dataframe protocol has no word for": lambda column: framed(column).get_column(0).get_buffers(),
    "a dtype that it has no word for": lambda column: framed(column).get_column(0).dtype,
    "nulls of such a dtype": lambda column: framed(column).get_column(0).describe_null,
    "an offset of such a dtype": lambda column: framed(column).get_column(0).offset,
    "categories of what has none": lambda column: framed(column).get_column(0).describe_categorical,
    "too few chunks of a column": lambda column: framed(column).get_column(0).get_chunks(0),
    "too few chunks of a frame": lambda column: framed(column).get_chunks(0),
    "a column that a frame has not": lambda column: framed(column).get_column(1),
    "a name that a frame has not": lambda column: framed(column).get_column_by_name("b"),
    "a place to select that a frame has not": lambda column: framed(column).select_columns([1]),
    "a name to select that a frame has not": lambda column: framed(column).select_columns_by_name(["b"]),
    "NaN as null": lambda column: framed(column).__dataframe__(nan_as_null=True),
    "a type that a table never is": asked_for,
    "an array of what has none": lambda column: np.array(column, copy=False),
}


@pytest.mark.parametrize("case", OBJECTS)
def test_an_error_of_what_was_made_of_a_column_does_not_keep_it(case):
    made = Made(Node("z", 1, buffers=[None, i(0, 1), b"a"]))
    given = lend.column(made)
    gc.disable()  # nor does it take a collection
    try:
        kept = emptied(caught_any(OBJECTS[case], given))
        del given
        assert (made.released.get(""), kept.__traceback__ is not None) == (1, True)
    finally:
        gc.enable()


def caught_any(use, given):
    try:
        use(given)
    except Exception as error:
        return error


def words():
    return Node("u", 3, 1, buffers=[b"\5", i(0, 1, 1, 3), b"abc"])


DRAFTED = {
    "numbers": Node("l", 3, 1, buffers=[b"\5", q(1, 2, 3)]),
    "bools": Node("b", 3, 1, buffers=[b"\5", b"\2"]),
    "text": words(),
    "lists": Node("+l", 2, 1, buffers=[b"\2", i(0, 0, 3)], children=[words()]),
    "rows": Node("+s", 3, 1, buffers=[b"\5"], children=[words()]),
    "codes": Node("c", 3, 1, buffers=[b"\5", b"\0\0\2"], dictionary=words()),
    "views": Node("vu", 1, 0, buffers=[None, struct.pack("=i12s", 3, b"abc"), q()]),
}
WAYS = {
    "compact": converting.compact,
    "in one chunk": converting.combined,
    "with a mask": converting.masked,
    "in Arrow's form": converting.arrow_form,
    "contiguous": converting.contiguous,
    "unpacked": converting.unpacked,
    "filled with 0": lambda column: converting.filled(column, 0),
    "filled with nan": lambda column: converting.filled(column, "nan"),
    "widened": converting.widened,
    "codes of -1": converting.codes_with_sentinel,
    "as an array": lambda column: lend.to(column, "numpy", nulls="nan"),
    "as a masked array": lambda column: lend.to(column, "numpy.ma"),
    "as objects": lambda column: lend.to(column, "numpy", nulls="object"),
    "with a mask as a struct": lambda column: lend.to(column, list, nulls="struct"),
    "as a frame": lambda column: framed(column).get_column(0).get_buffers(),
    "as interfaces": lambda column: lend.table({"a": column}).array_interfaces(),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", DRAFTED)
def test_what_was_made_of_a_column_lets_it_go_without_the_collector(kind, way):
    made = Made(DRAFTED[kind])
    gc.disable()
    try:
        emptied(caught_any(WAYS[way], lend.column(made)) or LendError())
        assert made.released.get("") == 1
    finally:
        gc.enable()
