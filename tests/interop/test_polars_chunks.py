"""Chunks without rows, of which polars panics where they are first and of lists of one length (seen with 2.1)."""

import pytest

import lend

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

WORDS = pa.array(["a", "b", None, "a", "c", "b"]).dictionary_encode()
LISTS = pa.FixedSizeListArray.from_arrays(WORDS, 2)


@pytest.mark.parametrize("array", [WORDS, LISTS, pa.StructArray.from_arrays([LISTS], ["l"])], ids=lambda a: str(a.type))
@pytest.mark.parametrize("cuts", [[0, 3], [3, 0], [0, 1, 0, 2], [0, 0], [0], []], ids=str)
def test_chunks_without_rows_change_nothing(array, cuts):
    ends = [sum(cuts[:i]) for i in range(len(cuts))]
    column = pa.chunked_array([array[at : at + n] for at, n in zip(ends, cuts, strict=True)], array.type)
    assert lend.to(lend.column(column), "polars").to_list() == column.to_pylist()
    frame = lend.to({"a": lend.column(column)}, "polars")
    assert (frame.columns, frame["a"].to_list()) == (["a"], column.to_pylist())
