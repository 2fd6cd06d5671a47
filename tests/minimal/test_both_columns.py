"""Columns of every kind, and generated ones, asked of both: they say the same, or the difference is known and told.

`KNOWN_DIFFERENCES` are lines of the comparison of the two. A row that no longer differs fails as one that newly does.
"""

import random as randomness

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lend
from lend import minimal
from support import array_kinds, column_kinds
from support.arrow_layouts import Kind, columns, encode
from support.arrow_more_layouts import MAKERS, extension
from support.arrow_structs import Made, again
from support.both import BOTH, MAXIMAL, MINIMAL, REFUSED, Span

LAYOUTS = "unions, runs and formats of polars' own are lend's"
GAPS = "minimal's columns lie one element after the other: strides are lend's"
SWAPPED = "minimal's columns are in the order of the machine: lend swaps the bytes in a copy, and counts it"
WIDTHS = "minimal's columns of arrays are of numbers and times: bytes of one width, records and their fields are lend's"
NAMED = "of bools of a byte under the name arrow.bool8 minimal tells the storage, 0 and 1, and the name as metadata"
EMPTY = "what has no chunk has none by lend; by minimal it is one of no elements"
ANEW = "polars makes this memory anew for each who asks"
INSIDE = "lend takes what lies in pandas, masks and NaN as they are; minimal what pandas makes of it for Arrow"
OBJECTS = "lend knows columns of Python objects by their name; minimal takes their storage, 8 bytes each"
MASKS = "a mask with gaps, or beside times, is lend's"
TABLES = "to lend a frame is a table, lend.table(x); to minimal each table is a column of structs"
DOORS = "__array_struct__, __array__, the C exchange table and a pandas index are lend's"
ON_CLASS = "minimal looks for DLPack on the class, where protocols are"

NUMBERS = "hilqHILQefd"
ORDERED = [*(f"dtype {code}, swapped" for code in NUMBERS), "dtype M8[s], swapped", "dtype m8[ns], swapped"]

# kind of column -> the name of each that the two say different things of, and why
KNOWN_DIFFERENCES = {
    "pyarrow": dict.fromkeys(("runs", "sparse union", "dense union"), LAYOUTS),
    "extensions": {"bools of a byte": NAMED},
    "chunks": dict.fromkeys(("no chunk", "no chunk of a dictionary"), EMPTY),
    "polars": {"Int128": LAYOUTS, "128 bits": LAYOUTS, "Categorical": ANEW, "objects": OBJECTS},
    "pandas": dict.fromkeys(
        (
            "float64", "float64 with NaN", "Int64", "bool", "boolean", "text", "text in objects", "times",
            "times with zone", "categories",
        ), INSIDE,
    ) | {"an index": DOORS},
    "masks": {"a mask with gaps": MASKS, "masked times": MASKS},
    "frames": dict.fromkeys(("a frame of polars", "a frame of pandas", "a frame by its protocol"), TABLES),
    "arrays: sources": {"foreign byte order": SWAPPED, "backwards": GAPS, "with gaps": GAPS},
    "arrays: numpy": dict.fromkeys(("every second", "backwards", "a column", "a field of records"), GAPS)
    | dict.fromkeys(ORDERED, SWAPPED)
    | dict.fromkeys(("dtype V5", "dtype V5, swapped", "records", "records of one field"), WIDTHS),
    "arrays: plain": {"memoryview": GAPS, "ctypes big-endian": SWAPPED, "a structure": WIDTHS},
    "arrays: one protocol": dict.fromkeys(("the struct of NumPy", "a struct", "a method", "CountingExchange"), DOORS)
    | {"DLPack on the object": ON_CLASS, "a buffer without a format": WIDTHS},
    "arrays: libraries": {"pandas index": DOORS, "pandas times": INSIDE},
    "arrays: masks": dict.fromkeys(
        [f"mask, {kind}, {said}" for kind in ("exchange table", "array struct") for said in ("of nothing", "False")],
        DOORS,
    )
    | dict.fromkeys([f"interface, {kind}, of nothing" for kind in ("exchange table", "array struct")], DOORS)
    | dict.fromkeys([f"mask behind __getattr__, {said}" for said in ("of nothing", "False")], ON_CLASS)
    | {"interface behind __getattr__, of nothing": ON_CLASS},
}  # fmt: skip
KINDS = column_kinds.KINDS | {f"arrays: {name}": make for name, make in array_kinds.KINDS.items()}
EACH = pytest.mark.parametrize("kind", KINDS)


@EACH
def test_both_say_the_same_of_every_column_but_for_known_differences(kind):
    asked = {name: [side.asked_for_columns(obj) for side in BOTH] for name, obj in KINDS[kind]()}
    differ = {name: pair for name, pair in asked.items() if pair[0] != pair[1]}
    assert set(differ) == set(KNOWN_DIFFERENCES.get(kind, {})) & set(asked), differ


def taken_by(side, obj):
    """The columns of an object that have elements, or REFUSED."""
    try:
        return [column for column in side.take_columns(obj) if column.length]
    except side.refusal:
        return REFUSED


def values(side, columns):
    """What the columns hold, as Python writes it."""
    try:
        return [repr(column.tolist()) for column in columns]
    except side.refusal:
        return REFUSED


@EACH
def test_what_both_take_has_the_same_values(kind):
    # minimal shows their storage, reads no managed memory, and has structs of a frame of which lend has the only column
    wrong, other = {}, {"bools of a byte", "device 13", "a frame by its protocol"}
    for name, obj in KINDS[kind]():
        taken = [taken_by(side, obj) for side in BOTH]  # by both before it is read: some overwrite what nobody holds
        if REFUSED not in taken:
            small, large = map(values, BOTH, taken)
            if small != large:
                wrong[name] = small, large
    assert set(wrong) <= other, wrong


def known(facts, places_alone=False):
    """Facts of a Column without what the two are known to say in other words."""
    buffers, format = dict(facts.buffers), facts.format
    if not facts.null_count:  # of what has no null minimal tells no mask, and lend the one that came
        facts = facts._replace(nulls=("none", None))
        buffers.pop("validity", None)
    if not facts.length:  # what no element needs lend tells of as nothing, or as one offset in a place of its own
        buffers, facts = dict.fromkeys(buffers), facts._replace(offset=0)
    elif places_alone:
        buffers = {role: part.ptr if isinstance(part, Span) else len(part) for role, part in buffers.items()}
    if format.startswith("d:"):  # 128 bits need not be said, and lend does not say them
        format = format.removesuffix(",128")
    words = facts.dictionary and known(facts.dictionary, places_alone)
    children = tuple(known(child, places_alone) for child in facts.children)
    return facts._replace(buffers=buffers, format=format, children=children, dictionary=words)


def both_told(node, cut=slice(None)):
    """What each says of a slice of the same memory, in structs of its own.

    The buffers of a part are those of the whole to minimal, and to lend as long as the part needs them.
    """
    made = Made(node)
    taken = [side.take_columns(one)[0][cut] for side, one in zip(BOTH, (made, again(node, made)), strict=True)]
    found = [known(side.column_facts(column), cut != slice(None)) for side, column in zip(BOTH, taken, strict=True)]
    return found, [column.tolist() for column in taken]


@settings(max_examples=200)
@given(columns())
def test_both_say_the_same_of_any_nesting_of_layouts(drawn):
    kind, values, random = drawn
    (facts, other), lists = both_told(encode(kind, values, random))
    assert facts == other
    assert lists == [values, values]


@settings(max_examples=100)
@given(columns(), st.slices(20))
def test_both_say_the_same_of_slices(drawn, cut):
    kind, values, random = drawn
    cut = slice(cut.start, cut.stop)
    (facts, other), lists = both_told(encode(kind, values, random), cut)
    assert facts == other
    assert lists == [values[cut], values[cut]]


@settings(max_examples=50)
@given(columns())
def test_both_say_the_same_of_types_with_a_name(drawn):
    kind, values, random = drawn
    (facts, other), _ = both_told(extension(encode(kind, values, random)))
    assert facts == other


@pytest.mark.parametrize("name", ["a record batch", "a table", "a frame of polars", "a frame of pandas"])
def test_both_read_the_same_rows_of_a_table(name):
    table = dict(column_kinds.frames())[name]
    rows = [{"a": 1, "b": "x"}, {"a": 2 if name == "a frame of pandas" else None, "b": "y"}]
    assert [side.take_rows(table) for side in BOTH] == [rows, rows]


@pytest.mark.parametrize("code", ["i1", "u2", "i8", "f4", "M8[us]", "m8[ns]"])
def test_numbers_and_times_without_nulls_are_the_same_ndarray(code):
    np, pa = pytest.importorskip("numpy"), pytest.importorskip("pyarrow")
    part = pa.array(np.arange(5).astype(code))[1:]
    small, large = minimal.column_to_ndarray(minimal.column(part)), lend.to(lend.column(part), "numpy")
    assert (small.dtype, small.tolist(), small.ctypes.data) == (large.dtype, large.tolist(), large.ctypes.data)
    assert (small.flags.writeable, large.flags.writeable) == (False, False)


def test_no_element_needs_the_memory_before_its_offset():
    text = encode(Kind("u"), [], randomness.Random(0))
    text.offset, text.buffers = 1, [None, bytes(8), b"ab"]
    made = Made(text)
    for side, one in zip(BOTH, (made, again(text, made)), strict=True):
        facts = side.column_facts(side.take_columns(one)[0])
        assert (facts.length, facts.buffers["offsets"].nbytes) == (0, 4)


@pytest.mark.parametrize("maker", MAKERS)
def test_unions_and_runs_are_read_by_lend_alone(maker):
    assert MINIMAL.asked_for_columns(Made(MAKERS[maker](randomness.Random(1))[0])) == REFUSED
    assert MAXIMAL.asked_for_columns(Made(MAKERS[maker](randomness.Random(1))[0])) != REFUSED
