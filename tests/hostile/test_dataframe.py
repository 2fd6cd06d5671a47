"""Frames of the dataframe protocol that answer nonsense, one answer at a time: refused, or read if they say enough."""

import warnings

import pytest

import lend
from lend.errors import LendError
from support.told_frames import BYTES, CATEGORICAL, ToldColumn, ToldFrame, floats, ints, texts


class Raising:
    """Refuses to be any number, text or sequence."""

    def __index__(self):
        raise OSError("not this one")

    __iter__ = __len__ = __str__ = __float__ = __index__


NONSENSE = [None, -1, 2**64, 2**63, 1 << 200, 1.5, float("nan"), "x", b"x", (), (1, 2), {}, object(), Raising(), int]
OF_COLUMNS = ["dtype", "size", "offset", "describe_null", "null_count", "num_chunks", "get_chunks", "get_buffers",
              "describe_categorical"]  # fmt: skip
OF_FRAMES = ["num_columns", "num_rows", "num_chunks", "get_chunks", "column_names", "get_column"]
OF_BUFFERS = ["__dlpack_device__", "ptr", "bufsize"]
PARTS = ["kind", "bits", "format", "order"]


def columns():
    words = {"is_ordered": False, "is_dictionary": True, "categories": texts("x", "y")}
    yield "ints", ints(1, 2, 3, null=(BYTES, 1), validity=b"\0\1\0")
    yield "texts", texts("a", "", "b")
    yield "floats", floats(1, float("nan"), 3, null=(1, None))
    yield "category", ToldColumn((CATEGORICAL, 8, "c", "="), 3, data=b"\0\1\0", null=(2, -1), categories=words)


def answering(value):
    return lambda *args, **said: value


def read(frame):
    """Take a frame and read all of it; True where something was refused, by lend's own words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            table = lend.table(frame)
        except LendError:
            return True
    repr(table)
    refused = False
    for column in table.columns:
        try:
            column.verify(full=True)
            column.tolist()
        except LendError:
            refused = True
    return refused


@pytest.mark.parametrize("value", NONSENSE, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("name", OF_COLUMNS)
@pytest.mark.parametrize("as_method", [False, True], ids=["a value", "an answer"])
def test_a_column_that_answers_nonsense_is_refused_or_read(name, value, as_method):
    for _, told in columns():
        setattr(told, name, answering(value) if as_method else value)
        assert read(ToldFrame({"a": told, "b": ints(1, 2, 3)}, rows=3)) in (True, False)


@pytest.mark.parametrize("value", NONSENSE, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("part", range(4), ids=PARTS)
def test_a_type_with_a_part_of_nonsense_is_refused_or_read(part, value):
    for _, told in columns():
        told.dtype = (*told.dtype[:part], value, *told.dtype[part + 1 :])
        assert read(ToldFrame({"a": told}, rows=3)) in (True, False)


@pytest.mark.parametrize("value", NONSENSE, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("part", range(2), ids=["kind", "value"])
def test_nulls_with_a_part_of_nonsense_are_refused_or_read(part, value):
    for _, told in columns():
        told.describe_null = (value, told.describe_null[1]) if part == 0 else (told.describe_null[0], value)
        assert read(ToldFrame({"a": told}, rows=3)) in (True, False)


@pytest.mark.parametrize("value", NONSENSE, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("name", OF_FRAMES)
@pytest.mark.parametrize("as_method", [False, True], ids=["a value", "an answer"])
def test_a_frame_that_answers_nonsense_is_refused_or_read(name, value, as_method):
    frame = ToldFrame({"a": ints(1, 2, 3)}, rows=3)
    setattr(frame, name, answering(value) if as_method else value)
    assert read(frame) in (True, False)


# an address that is a number is believed: nobody can tell what lies there
@pytest.mark.parametrize(
    "value", [value for value in NONSENSE if value != 2**63], ids=lambda value: type(value).__name__
)
@pytest.mark.parametrize("name", OF_BUFFERS)
def test_a_buffer_that_answers_nonsense_is_refused(name, value):
    for _, told in columns():
        given = {role: pair for role, pair in told.get_buffers().items() if pair is not None}
        for buffer, _ in given.values():
            kind = type("Buffer", (type(buffer),), {"__dlpack_device__": answering(value)})
            if name == "__dlpack_device__":
                buffer.__class__ = kind
            else:
                setattr(buffer, name, value)
        told.get_buffers = answering(given)
        assert read(ToldFrame({"a": told}, rows=3)) or value == (1, 2)
