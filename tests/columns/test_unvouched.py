"""Columns of loose buffers, for whose contents nobody vouches: no library gets them before one look at them."""

import struct

import numpy as np
import pytest

import lend
from lend import Column, DType
from lend.errors import MalformedDescriptor

FALLING = "contradicts itself: offset 2 is 3, after 2000000000"


def i(*values):
    return struct.pack(f"{len(values)}i", *values)


def numbers(*values):
    return Column.from_buffers("int64", len(values), {"data": struct.pack(f"{len(values)}q", *values)})


def text(*offsets, data=b"abb", name="a", **said):
    return Column.from_buffers("utf8", len(offsets) - 1, {"offsets": i(*offsets), "data": data}, name=name, **said)


def falling(name="a"):
    """Ends that are right, with an offset between them that leads out."""
    return text(0, 2000000000, 3, name=name)


def union(type_ids, offsets):
    kind = DType.from_arrow("+ud:0", fields=[("a", "int64")])
    return Column.from_buffers(kind, 1, {"type_ids": bytes(type_ids), "offsets": i(*offsets)}, children=[numbers(1)])


LEADING_OUT = {
    "text": (falling, FALLING),
    "text that is none": (lambda: text(0, 3, data=b"\xff\xff\xff"), "element 0 is not UTF-8"),
    "lists": (
        lambda: Column.from_buffers("list[int64]", 2, {"offsets": i(0, 9, 1)}, children=[numbers(1)]),
        "offset 2 is 1, after 9",
    ),
    "lists in views": (
        lambda: Column.from_buffers(
            "list_view[int64]", 1, {"offsets": i(7), "sizes": i(3)}, children=[numbers(1)]
        ), "list 0 begins at 7",
    ),
    "views": (
        lambda: Column.from_buffers("utf8_view", 1, {"views": struct.pack("i4sii", 13, b"abcd", 5, 0)}),
        "leads to byte 0 of data buffer 5",
    ),
    "codes": (
        lambda: Column.from_buffers(
            DType.from_arrow("c", dictionary="int64"), 1, {"data": b"\x07"}, dictionary=numbers(1)
        ), "index 7 at element 0 is none of its 1",
    ),
    "a union": (lambda: union([0], [9]), "elements 9 to 10 are referred to, of 1"),
    "types of a union": (lambda: union([3], [0]), "is of type id 3"),
    "runs": (
        lambda: Column.from_buffers(
            DType.from_arrow("+r", fields=[("run_ends", "int32"), ("values", "int64")]), 3, {},
            children=[Column.from_buffers("int32", 1, {"data": i(1)}), numbers(1)],
        ), "runs end before element 1",
    ),
    "a field": (lambda: Column.from_buffers("struct{a: utf8}", 2, {}, children=[falling()]), FALLING),
    "a field of lists": (
        lambda: Column.from_buffers("fixed_list[utf8, 2]", 1, {}, children=[falling()]), FALLING,
    ),
    "a dictionary": (
        lambda: Column.from_buffers(
            DType.from_arrow("c", dictionary="utf8"), 1, {"data": b"\0"}, dictionary=falling()
        ), FALLING,
    ),
}  # fmt: skip
WAYS = {
    "to pyarrow": lambda column: lend.to(column, "pyarrow"),
    "to polars, in a table": lambda column: lend.to(lend.table({"a": column}), "polars"),
    "to pandas": lambda column: lend.to(column, "pandas"),
    "to a callable that asks for Arrow": lambda column: lend.to(column, lambda given: given.__arrow_c_array__()),
    "explained": lambda column: lend.explain(column, "pyarrow"),
    "an array": lambda column: column.__arrow_c_array__(),
    "a stream": lambda column: column.__arrow_c_stream__(),
    "an array with its device": lambda column: column.__arrow_c_device_array__(),
    "a stream with its device": lambda column: column.__arrow_c_device_stream__(),
    "the stream of a table": lambda column: lend.table({"a": column}).__arrow_c_stream__(),
    "the array of a table": lambda column: lend.table({"a": column}).__arrow_c_array__(),
    "a slice": lambda column: column[:].__arrow_c_array__(),
    "a twin": lambda column: column.chunks[0].__arrow_c_array__(),
    "a renamed one": lambda column: column.rename("b").__arrow_c_array__(),
    "a frame of the protocol": lambda column: column.__dataframe__().get_column(0).get_buffers(),
}


@pytest.mark.parametrize("case", LEADING_OUT)
def test_what_leads_out_is_refused_before_a_library_gets_it(case):
    pytest.importorskip("pyarrow")
    make, said = LEADING_OUT[case]
    with pytest.raises(MalformedDescriptor, match=said) as caught:
        lend.to(make(), "pyarrow")
    assert "buffers that agree" in str(caught.value)


@pytest.mark.parametrize("way", WAYS)
def test_no_way_out_leads_past_the_look(way):
    for name in ("pyarrow", "polars", "pandas"):
        pytest.importorskip(name)
    with pytest.raises(MalformedDescriptor, match=FALLING):
        WAYS[way](falling())


def test_the_ends_of_offsets_are_looked_at_when_it_is_made():
    with pytest.raises(MalformedDescriptor, match="its data has 3 bytes, and 2000000000 are needed"):
        text(0, 3, 2000000000)


def test_it_is_looked_at_once():
    pa = pytest.importorskip("pyarrow")
    ends = np.array([0, 1, 3], "i4")
    column = Column.from_buffers("utf8", 2, {"offsets": ends, "data": b"abb"})
    assert pa.array(column).to_pylist() == ["a", "bb"]
    ends[1] = 9  # who writes to it later breaks what was found
    assert len(pa.array(column)) == 2


def test_a_full_check_of_its_own_is_a_look():
    pytest.importorskip("pyarrow")
    column = text(0, 1, 3)
    column.verify(full=True)
    assert "loose buffers" not in str(lend.explain(column, "pyarrow"))


def test_explain_says_that_it_is_looked_at():
    pytest.importorskip("pyarrow")
    steps = lend.explain(lend.table({"a": text(0, 1, 3), "n": numbers(1, 2)}), "pyarrow").steps
    told = [(step.what, step.nbytes) for step in steps if "loose buffers" in step.what]
    assert told == [("column 'a', of loose buffers: all they lead to is looked at, once", 0)]


def test_who_vouches_for_a_column_is_believed():
    pa = pytest.importorskip("pyarrow")
    source = pa.array(["a", "bb"])
    for column in (lend.column(source), lend.column(source).compact(), lend.column(source)[1:]):
        assert "loose buffers" not in str(lend.explain(column, "pyarrow"))


@pytest.mark.parametrize("change", ["compact", "rename"])
def test_what_is_made_of_it_is_no_surer_than_it_was(change):
    pa = pytest.importorskip("pyarrow")
    codes = Column.from_buffers(DType.from_arrow("c", dictionary="int64"), 1, {"data": b"\7"}, dictionary=numbers(1))
    changed = codes.compact() if change == "compact" else codes.rename("b")
    with pytest.raises(MalformedDescriptor, match="index 7 at element 0"):
        pa.array(changed)


@pytest.mark.parametrize(
    "copied",
    [
        lambda column: column.compact(),
        lambda column: lend.table({"a": column}).compact(),
        lambda column: Column.from_buffers("list[utf8]", 1, {"offsets": i(0, 2)}, children=[column]).compact(),
    ],
    ids=["a column", "a table", "lists"],
)
def test_a_copy_that_reads_offsets_refuses_those_that_fall(copied):
    with pytest.raises(MalformedDescriptor, match="offset 2 is less than the one before it, or than 0"):
        copied(falling())


def test_offsets_that_fall_are_not_widened():
    from lend.columns import converting

    with pytest.raises(MalformedDescriptor, match="offset 2 is less than the one before it"):
        converting.widened(falling())


def test_offsets_of_a_slice_are_named_by_the_elements_of_the_slice():
    column = text(0, 1, 2000000000, 3)
    with pytest.raises(MalformedDescriptor, match="offset 2 is less"):
        column[1:].compact()
    assert column[:1].compact().tolist() == ["a"]


def test_the_full_check_says_which_offset_falls_and_who_can_mend_it():
    with pytest.raises(MalformedDescriptor) as caught:
        falling().verify(full=True)
    assert str(caught.value).splitlines() == [
        "column 'a' contradicts itself: offset 2 is 3, after 2000000000",
        "  came   : utf8[2] 'a' on cpu, lent by bytes",
        "  try    : buffers that agree: who put them together here should mend them",
    ]


def test_what_came_by_arrow_is_the_producer_s_to_mend():
    from support.arrow_structs import Made, Node

    column = lend.column(Made(Node("u", 2, buffers=[None, i(0, 9, 3), b"abb"])))
    with pytest.raises(MalformedDescriptor, match="the producer's library, which should mend it"):
        column.verify(full=True)
