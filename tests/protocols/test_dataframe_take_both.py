"""Random frames of the dataframe protocol, and those of libraries, read as they were made and as minimal reads them."""

import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lend
from lend import minimal
from support.told_frames import (
    BITS,
    BOOL,
    BYTES,
    CATEGORICAL,
    DATETIME,
    FLOAT,
    INT,
    NAN,
    NAT,
    NONE,
    SENTINEL,
    UINT,
    Shown,
    ToldColumn,
    ToldFrame,
    texts,
)


@st.composite
def told_columns(draw, length):
    """A column as it may be told, and the values that it has."""
    before, after = draw(st.integers(0, 20)), draw(st.integers(0, 3))
    count = before + length + after
    form = draw(st.sampled_from(["int", "float", "text", "bool", "bits", "time", "category"]))
    lost = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    rng = random.Random(draw(st.integers(0, 999)))
    nulls = {"int": [SENTINEL], "float": [NAN, SENTINEL], "time": [NAN, SENTINEL], "category": [SENTINEL]}.get(form, [])
    null, missing = draw(st.sampled_from([NONE, BITS, BYTES, *nulls])), draw(st.integers(0, 1))
    said: dict = {"null": (null, missing if null in (BITS, BYTES) else None), "offset": before}
    if null == BITS:
        said["validity"] = sum((gone == missing) << i for i, gone in enumerate(lost)).to_bytes(count // 8 + 1, "little")
    elif null == BYTES:
        said["validity"] = bytes(gone == missing for gone in lost)
    elif null == NONE:
        lost = [False] * count
    numbers = [rng.randrange(100) for _ in range(count)]
    if form == "text":
        values = [("", "é", "word" * (n % 7))[n % 3] for n in numbers]
        told = texts(*values, format=draw(st.sampled_from("uU")), **said)
        told.rows = length
    else:
        word, missed = {"int": ("q", -7), "float": ("d", float("nan") if null == NAN else -7.0), "time": ("q", NAT),
                        "category": ("b", -1)}.get(form, ("?", None))  # fmt: skip
        if null == SENTINEL:
            said["null"] = (SENTINEL, missed)
        values = [n * 0.5 if form == "float" else n % 2 == 1 if form in ("bool", "bits") else n for n in numbers]
        words = ["x", "é", "long" * 5]
        if form == "category":
            values = [n % 3 for n in numbers]
            said["categories"] = {"is_ordered": False, "is_dictionary": True, "categories": texts(*words)}
        stored = [
            missed if gone and null in (NAN, SENTINEL) else value for value, gone in zip(values, lost, strict=True)
        ]
        data = struct.pack(f"{count}{word}", *stored)
        if form == "bits":
            data = sum(value << i for i, value in enumerate(values)).to_bytes(count // 8 + 1, "little")
        dtype = {"int": (INT, 64, "l", "="), "float": (FLOAT, 64, "g", "="), "bool": (BOOL, 8, "b", "="),
                 "bits": (BOOL, 1, "b", "="), "time": (DATETIME, 64, "tss:", "="),
                 "category": (CATEGORICAL, 8, "c", "=")}[form]  # fmt: skip
        told = ToldColumn(dtype, length, data=(data, draw(st.sampled_from([dtype, (UINT, 8, "C", "=")]))), **said)
        if form == "category":
            values = [words[value] for value in values]
    rows = slice(before, before + length)
    return told, form, [None if gone else v for v, gone in zip(values[rows], lost[rows], strict=True)]


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_random_frames_are_read_as_the_minimal_implementation_reads_them_and_as_they_were_made(data):
    length = data.draw(st.integers(0, 20))
    drawn = data.draw(st.lists(told_columns(length), min_size=1, max_size=4))
    frame = ToldFrame({f"c{i}": told for i, (told, _, _) in enumerate(drawn)}, rows=length)
    table, other = lend.table(frame), minimal.column(frame)
    for mine, its, (_, form, expected) in zip(table.columns, other.children, drawn, strict=True):
        assert mine.tolist() == its.tolist()
        if form != "time":
            assert mine.tolist() == expected
        assert mine.null_count == expected.count(None)


def test_what_minimal_gives_is_taken():
    assert lend.column(minimal.column(b"ab")).tolist() == [97, 98]


def test_the_frames_of_pandas_are_read_with_each_form_of_null_that_it_has():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "n": [1, 2, 3],
            "f": [0.5, None, 2.5],
            "m": pd.array([1, None, 2**62 + 1], dtype="Int64"),
            "b": [True, False, True],
            "s": ["x", None, "é" * 20],
            "c": pd.Categorical(["u", None, "v"]),
            "t": pd.to_datetime(["2024-03-31 01:30", None, "2024-03-31 03:30"]).tz_localize("UTC"),
        }
    )
    taken = lend.table(Shown(frame))
    expected = [[None if value is pd.NaT else value for value in lend.table(frame)[name].tolist()] for name in frame]
    assert [column.tolist() for column in taken.columns] == expected
    assert [column.nulls.kind for column in taken.columns] == [
        "none", "nan", "bytemask", "none", "bytemask", "sentinel", "nat",
    ]  # fmt: skip


@pytest.mark.parametrize("start", [0, 1, 8, 9])
def test_the_frames_of_pyarrow_are_read_wherever_they_begin(start):
    pa = pytest.importorskip("pyarrow")
    rows = list(range(20))
    table = pa.table(
        {
            "n": [None if row % 3 == 0 else row for row in rows],
            "s": [None if row % 4 == 1 else "é" * row for row in rows],
            "b": [None if row % 5 == 2 else row % 2 == 0 for row in rows],
            "c": pa.array([None if row % 7 == 0 else "xyz"[row % 3] for row in rows]).dictionary_encode(),
        }
    )[start:]
    taken = lend.table(Shown(table))
    assert {name: taken[name].tolist() for name in taken.names} == table.to_pydict()
