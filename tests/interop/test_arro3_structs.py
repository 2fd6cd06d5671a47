"""Structs within structs and lists of one length, which arro3 cuts twice and panics of (seen with 0.9)."""

import pytest

import lend

pa = pytest.importorskip("pyarrow")
pytest.importorskip("arro3.core")

INNER = pa.array([{"n": i} if i % 3 else None for i in range(40)])
ROWS = pa.StructArray.from_arrays([INNER], ["s"], mask=pa.array([i % 5 == 1 for i in range(40)]))
DEEPER = pa.StructArray.from_arrays([ROWS[4:], pa.array(range(36))], ["r", "n"])
LISTS = pa.FixedSizeListArray.from_arrays(ROWS, 2)
CASES = {
    "structs of structs, cut": ROWS[3:],
    "cut at a byte": ROWS[8:],
    "cut at their end": ROWS[:5],
    "structs of structs that were cut": pa.StructArray.from_arrays([INNER[3:]], ["s"]),
    "and are cut again": pa.StructArray.from_arrays([INNER[3:]], ["s"])[2:9],
    "three deep": DEEPER[3:],
    "lists of structs": LISTS[1:],
    "lists of structs that were cut": pa.FixedSizeListArray.from_arrays(ROWS[3:39], 2),
    "lists of lists": pa.FixedSizeListArray.from_arrays(LISTS[2:], 3)[1:],
    "lists of any length": pa.ListArray.from_arrays(pa.array([0, 3, 9, 20], "i4"), ROWS[3:])[1:],
    "structs of lists of structs": pa.StructArray.from_arrays([LISTS[3:]], ["l"])[1:],
    "in chunks": pa.chunked_array([ROWS[3:7], ROWS[9:]]),
    "no rows": ROWS[3:3],
}


def to_list(given):
    return (pa.chunked_array if type(given).__name__ == "ChunkedArray" else pa.array)(given).to_pylist()


@pytest.mark.parametrize("copy", [None, True])
@pytest.mark.parametrize("case", CASES)
def test_arro3_gets_them_and_the_plan_tells_the_bits_of_nulls_that_are_moved(case, copy):
    obj = CASES[case]
    told = lend.explain(obj, "arro3", copy=copy)
    with lend.copies() as made:
        given = lend.to(obj, "arro3", copy=copy)
    assert to_list(given) == obj.to_pylist()
    assert sum(step.nbytes or 0 for step in told.steps if step.who == "lend") == made.bytes
    assert copy or made.bytes <= 4 * 6, "numbers are shared"


def test_what_begins_where_its_memory_does_is_shared():
    lend.to(ROWS, "arro3", copy=False)
    with pytest.raises(lend.errors.CopyRequired, match="nulls of structs that begin within a byte"):
        lend.to(ROWS[3:], "arro3", copy=False)
