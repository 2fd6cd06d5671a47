"""Frames that have `__dataframe__` alone go to every library by one call, and what that copies is told before."""

import struct

import pytest

import lend
from lend.errors import MalformedDescriptor, UnsupportedType
from support.told_frames import BYTES, CATEGORICAL, SENTINEL, ToldColumn, ToldFrame, floats, ints, texts


def frame():
    return ToldFrame(
        {"n": ints(1, 2, null=(BYTES, 1), validity=b"\0\1"), "s": texts("x", "é"), "f": floats(0.5, 1)}, rows=2
    )


@pytest.mark.parametrize("target", ["pandas", "polars", "pyarrow"])
def test_a_frame_goes_to_a_library(target):
    pytest.importorskip(target)
    made = lend.table(lend.to(frame(), target))
    assert {name: made[name].tolist() for name in made.names} == {"n": [1, None], "s": ["x", "é"], "f": [0.5, 1]}


def test_what_is_told_before_is_what_is_copied():
    pytest.importorskip("pyarrow")
    told = lend.explain(frame(), "pyarrow")
    with lend.copies() as made:
        lend.to(frame(), "pyarrow")
    assert (told.bytes_copied, made.bytes) == (1, 1)
    assert "zero-copy as promised by the producer" in str(told)


def test_a_frame_is_surveyed_by_itself():
    assert lend.explain(frame()).protocol.startswith("__dataframe__")


def test_a_frame_with_a_column_that_cannot_be_read_is_handed_on_without_it_alone():
    pytest.importorskip("pyarrow")
    odd = frame()
    odd.fields["bad"] = ToldColumn((99, 8, "x", "="), 2)
    with pytest.warns(UserWarning, match="'bad'"), pytest.raises(UnsupportedType, match="column 'bad' cannot be read"):
        lend.to(odd, "pyarrow")
    assert lend.to(lend.table(odd, columns=["n", "s"]), "pyarrow").num_columns == 2


def test_a_column_of_lends_own_is_no_table_for_having_the_method():
    column = lend.table(frame())["n"]
    with pytest.raises(UnsupportedType) as refused:
        lend.view(column)
    assert "table" not in str(refused.value)


def codes(*values):
    words = {"is_ordered": False, "is_dictionary": True, "categories": texts("x", "y")}
    told = (CATEGORICAL, 8, "c", "=")
    return ToldColumn(
        told, len(values), null=(SENTINEL, -1), data=(struct.pack(f"{len(values)}b", *values), (0, 8, "c", "=")),
        categories=words,
    )  # fmt: skip


LEADING_OUT = {
    "an offset between others": (
        texts("a", "b", offsets=struct.pack("3i", 0, 2_000_000_000, 2)),
        "offset 2 is 2, after 2000000000",
    ),
    "bytes that are no text": (texts("a", data=b"\xff"), "element 0 is not UTF-8"),
    "a code without a category": (codes(0, 7), "index 7 at element 1 is none of its 2"),
}


@pytest.mark.parametrize("target", ["pyarrow", "polars", "arro3", "pandas", "duckdb"])
@pytest.mark.parametrize("case", LEADING_OUT)
def test_no_library_gets_what_leads_out_of_the_buffers_of_a_producer(case, target):
    pytest.importorskip({"arro3": "arro3.core"}.get(target, target))
    column, words = LEADING_OUT[case]
    with pytest.raises(MalformedDescriptor, match=words):
        lend.to(ToldFrame({"bad": column}), target)


def test_codes_whose_nulls_are_no_codes_lead_nowhere():
    pytest.importorskip("pyarrow")
    made = lend.to(ToldFrame({"c": codes(0, -1, 1)}), "pyarrow")
    assert made["c"].to_pylist() == ["x", None, "y"]


def test_that_the_buffers_of_a_producer_are_looked_at_is_told():
    assert "column 's', of loose buffers: all they lead to is looked at, once" in str(lend.explain(frame(), "pyarrow"))
