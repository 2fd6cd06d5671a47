"""Reported faults of nulls (NULL rows): masks told the wrong way, empty chunks, a keyword that nobody does."""

import struct

import pytest

import lend
from lend.errors import LendError, MalformedDescriptor, UnsupportedType
from support.told_frames import BITS, BYTES, INT, NAN, Shown, ToldColumn, ToldFrame, ints, texts

WORDS = struct.pack("3q", 7, 0, 42)


def refused_on_use(frame):
    """The refusal of its only column, named 'a': a frame is taken with a warning, and the column raises its reason."""
    with pytest.warns(UserWarning, match="'a'"):
        table = lend.table(frame)
    with pytest.raises(LendError, match="column 'a' cannot be read") as refused:
        table["a"].tolist()
    return refused.value


@pytest.mark.parametrize("format", ["<i8", "l"])
@pytest.mark.parametrize("mask", [b"\0\1\0", b"\1\0\1"], ids=["inverted", "true"])
def test_a_byte_mask_that_is_told_for_a_bitmask_is_refused_by_its_column(format, mask):  # NULL-10
    told = ToldColumn((INT, 64, format, "="), 3, null=(BITS, 0), data=WORDS, validity=(mask, (20, 8, "|b1", "|")))
    refusal = refused_on_use(ToldFrame({"a": told}))
    assert isinstance(refusal, MalformedDescriptor)
    assert "tells a bitmask, and that its elements have 8 bits" in refusal.fact


@pytest.mark.parametrize(
    ("null", "mask"), [((BITS, 0), b"\0"), ((BITS, 1), b"\7"), ((BYTES, 0), b"\0\0\0"), ((BYTES, 1), b"\1\1\1")]
)
def test_a_mask_that_contradicts_a_count_of_no_nulls_is_refused_by_its_column(null, mask):  # NULL-10, TYPE-11
    refusal = refused_on_use(ToldFrame({"a": ints(7, 8, 42, null=null, validity=mask, null_count=0)}))
    assert "says that none of its elements is null" in refusal.fact
    assert "that 3 are" in refusal.fact


def counted(count):
    return ToldFrame({"a": ints(7, 8, 42, null=(BITS, 0), validity=b"\5", null_count=count)})


@pytest.mark.parametrize("count", [1, None, -1, "many"])
def test_any_other_count_of_nulls_is_not_believed_over_the_mask(count):  # NULL-10
    assert lend.table(counted(count))["a"].tolist() == [7, None, 42]


def test_a_count_of_nulls_that_cannot_be_had_takes_no_column_away():  # NULL-10
    def fails():
        raise NotImplementedError("not counted here")

    assert lend.table(counted(fails))["a"].tolist() == [7, None, 42]


def test_a_dialect_of_dtypes_with_a_true_mask_is_read():  # NULL-10
    told = ToldColumn((INT, 64, "<i8", "="), 3, null=(BITS, 0), data=WORDS, validity=b"\5")
    assert lend.column(ToldFrame({"a": told})).tolist() == [7, None, 42]


CHUNKED = [[1, None], [], [3, 4, None]]
ROWS = [1, None, 3, 4, None]


@pytest.mark.parametrize("target", ["pyarrow", "polars", "pandas", "arro3"])
def test_an_empty_chunk_in_the_middle_moves_no_row(target):  # NULL-11
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip(target)
    source = pa.chunked_array(CHUNKED, pa.int64())
    assert lend.column(lend.to(source, target)).tolist() == ROWS


def test_an_empty_chunk_in_the_middle_moves_no_row_by_the_dataframe_protocol():  # NULL-11
    pa = pytest.importorskip("pyarrow")
    pi = pytest.importorskip("pyarrow.interchange")
    table = pa.table({"a": pa.chunked_array(CHUNKED, pa.int64())})
    assert lend.table(Shown(table))["a"].tolist() == ROWS
    assert pi.from_dataframe(Shown(lend.table(table)))["a"].to_pylist() == ROWS


def test_an_empty_chunk_in_the_middle_moves_no_element_of_an_array():  # NULL-11
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("numpy")
    assert lend.to(pa.chunked_array([[1, 2], [], [3]], pa.int64()), "numpy").tolist() == [1, 2, 3]


@pytest.mark.parametrize("thing", ["column", "table"])
def test_nan_as_null_is_refused_and_not_ignored(thing):  # NULL-12
    pa = pytest.importorskip("pyarrow")
    array = pa.array([1.5, float("nan"), None])
    lent = lend.column(array) if thing == "column" else lend.table({"a": array})
    with pytest.raises(UnsupportedType, match="nan_as_null=True is not done") as refused:
        lent.__dataframe__(nan_as_null=True)
    assert 'nulls="nan"' in refused.value.remedy


def test_nan_as_null_is_never_asked_of_others():  # NULL-12
    class Frame(ToldFrame):
        def __dataframe__(self, nan_as_null=False, allow_copy=True):
            assert nan_as_null is False
            return self

    told = ToldColumn((2, 64, "g", "="), 2, null=(NAN, None), data=struct.pack("2d", 1.5, float("nan")))
    assert lend.table(Frame({"a": told}))["a"].tolist() == [1.5, None]


def test_text_that_is_told_without_a_mask_has_no_null():  # NULL-3
    assert lend.column(ToldFrame({"a": texts("x", "y")})).null_count == 0
