"""`bool8=True` of `lend.to`: bools of one byte each go to takers of Arrow data as they lie."""

import re

import pytest

import lend
from lend.columns.joining import nothing
from lend.errors import CopyRequired, LendError

pa = pytest.importorskip("pyarrow")
np = pytest.importorskip("numpy")

BYTES = np.array([True, False, True])
MASKED = np.ma.masked_array([True, False, True], [0, 1, 0])
RECORDS = np.array([(True, 1), (False, 2)], [("a", "?"), ("b", "i4")])
BITS = pa.array([True, None, False])


def handed(obj, target="pyarrow", **options):
    """What it becomes, and that its plan told the bytes which lend copied."""
    told = lend.explain(obj, target, bool8=True, **options)
    with lend.copies() as made:
        given = lend.to(obj, target, bool8=True, **options)
    assert sum(step.nbytes or 0 for step in told.steps if step.who == "lend") == made.bytes
    return given


def test_bools_of_one_byte_are_shared_as_arrows_bool8():
    given = handed(BYTES, copy=False)
    assert given.type == pa.bool8()
    assert given.to_pylist() == [True, False, True]
    assert given.storage.buffers()[1].address == BYTES.__array_interface__["data"][0]


def test_bools_of_bits_stay_bits():
    given = handed(BITS, copy=False)
    assert given.type == pa.bool_()
    assert given.buffers()[1].address == BITS.buffers()[1].address


def test_the_nulls_of_masked_bools_become_bits_and_their_values_are_shared():
    given = handed(MASKED)
    assert given.to_pylist() == [True, None, True]
    assert given.storage.buffers()[1].address == MASKED.data.__array_interface__["data"][0]


def test_bools_with_gaps_are_brought_together_and_stay_bytes():
    given = handed(BYTES[::2])
    assert (given.type, given.to_pylist()) == (pa.bool8(), [True, True])


def test_bools_in_structs_are_named_too():
    given = handed(RECORDS)
    assert given.type == pa.struct([("a", pa.bool8()), ("b", pa.int32())])
    assert given.to_pylist() == [{"a": True, "b": 1}, {"a": False, "b": 2}]


def test_bools_in_chunks_are_shared_chunk_by_chunk():
    chunks = lend.column(handed(BYTES, copy=False)), BYTES
    whole = pa.chunked_array([handed(part, copy=False) for part in chunks])
    given = handed(whole, copy=False)
    assert [chunk.storage.buffers()[1].address for chunk in given.chunks] == [
        chunk.storage.buffers()[1].address for chunk in whole.chunks
    ]


def test_the_copy_that_is_asked_for_is_of_bytes():
    given = handed(BYTES, copy=True)
    assert given.type == pa.bool8()
    assert given.storage.buffers()[1].address != BYTES.__array_interface__["data"][0]


def test_the_bools_of_a_frame_of_pandas_are_shared():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [True, False], "b": [1, 2]})
    given = handed(frame, copy=False)
    assert given.schema.types == [pa.bool8(), pa.int64()]
    assert given.column("a").to_pylist() == [True, False]


def test_polars_is_told_to_keep_them_as_an_extension_type():
    pl = pytest.importorskip("polars")
    given = handed(BYTES, "polars", copy=False)
    assert isinstance(given, pl.Series)
    assert str(given.dtype).startswith("Extension(name='arrow.bool8'") or "arrow.bool8" in str(given.dtype)
    assert "becomes ext[arrow.bool8], stored as Int8" in str(lend.explain(BYTES, "polars", bool8=True))


def test_that_polars_has_numbers_within_structs_is_told():
    pytest.importorskip("polars")
    given = handed(RECORDS, "polars")
    assert (given.to_list(), "arrow.bool8" in str(given.dtype)) == ([{"a": 1, "b": 1}, {"a": 0, "b": 2}], True)
    note = "becomes ext[arrow.bool8], stored as Int8, where it has bools of one byte"
    assert note in str(lend.explain(RECORDS, "polars", bool8=True))


def test_arro3_takes_their_storage_and_the_name():
    pytest.importorskip("arro3.core")
    given = handed(BYTES, "arro3", copy=False)
    assert pa.array(given).to_pylist() == [True, False, True]


def test_duckdb_reads_them_as_bools():
    pytest.importorskip("duckdb")
    given = handed({"a": BYTES, "b": MASKED}, "duckdb")
    assert given.fetchall() == [(True, True), (False, None), (True, True)]


@pytest.mark.parametrize("obj", [BYTES, lend.column(BYTES), {"a": BYTES}], ids=["array", "column", "table"])
def test_who_forbids_the_packing_is_told_of_bool8(obj):
    with pytest.raises(CopyRequired) as refusal:
        lend.to(obj, "pyarrow", copy=False)
    assert "bool8=True" in str(refusal.value)
    assert lend.to(obj, "pyarrow", copy=False, bool8=True) is not None


@pytest.mark.parametrize("wish", [1, None, "yes"])
def test_bool8_is_true_or_false(wish):
    with pytest.raises(TypeError, match=re.escape(f"bool8 is True or False, not {wish!r}")):
        lend.to(BYTES, "pyarrow", bool8=wish)


def test_false_asks_for_bits_as_without_it():
    assert lend.to(BYTES, "pyarrow", bool8=False).type == pa.bool_()


@pytest.mark.parametrize("target", ["numpy", "pandas", "memoryview"])
def test_who_takes_no_arrow_data_has_no_such_option(target):
    with pytest.raises(TypeError, match="bool8: not an option of"):
        lend.to(BYTES, target, bool8=True)


# -- within what has parts, and with the other options -----------------------------------------------------------------

WORDS = lend.Column.from_buffers(
    lend.DType.from_arrow("i", dictionary=lend.DType("bool")),
    3,
    {"data": np.array([1, 0, 1], "i4")},
    dictionary=lend.column(np.array([True, False])),
)
DEEP = {
    "structs in structs": np.array([((True, 1),), ((False, 2),)], [("a", [("b", "?"), ("c", "i1")])]),
    "structs in structs, of no rows": np.zeros(0, [("a", [("b", "?")])]),
    "a dictionary": WORDS,
    "a dictionary that was cut": WORDS[1:],
    "a dictionary in structs": lend.table({"w": WORDS}),
}


@pytest.mark.parametrize("copy", [None, True])
@pytest.mark.parametrize("target", ["pyarrow", "polars", "arro3", "duckdb"])
@pytest.mark.parametrize("case", DEEP)
def test_bools_at_any_depth_are_named(case, target, copy):
    pytest.importorskip({"arro3": "arro3.core"}.get(target, target))
    obj = DEEP[case]
    if target == "duckdb":
        obj = {"a": obj} if isinstance(obj, np.ndarray | lend.Column) else obj
    given = handed(obj, target, copy=copy)
    if target == "pyarrow":
        assert "arrow.bool8" in str(given.schema if isinstance(given, pa.Table) else given.type)
    if target == "duckdb":
        assert given.fetchall() == [tuple(row.values()) for row in pa.table(lend.table(obj)).to_pylist()]
    elif not isinstance(obj, lend.Table):
        assert lend.column(given).tolist() == lend.column(obj).tolist()


@pytest.mark.parametrize("copy", [None, True])
def test_a_dictionary_of_bool8_is_copied_as_one(copy):
    words = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.ExtensionArray.from_storage(
        pa.bool8(), pa.array([1, 0], "i1")))  # fmt: skip
    given = lend.to(lend.column(words)[1:], "pyarrow", copy=copy)
    assert (given.type, lend.column(given).tolist()) == (words.type, [False, True])


ONE_BYTE = {
    "masked": lend.column(MASKED),
    "without nulls": lend.column(BYTES),
    "in chunks of which one has nulls": lend.column(
        pa.chunked_array([lend.to(part, "pyarrow", bool8=True) for part in (MASKED, BYTES)])
    ),
}


@pytest.mark.parametrize("target", ["pyarrow", "polars", "arro3"])
@pytest.mark.parametrize("case", ONE_BYTE)
def test_a_value_under_their_nulls_is_a_byte(case, target):
    pytest.importorskip({"arro3": "arro3.core"}.get(target, target))
    given = handed(ONE_BYTE[case], target, nulls=("fill", False))
    if target == "pyarrow":
        assert given.type == pa.bool8()
    assert lend.column(given).tolist() == [bool(truth) for truth in ONE_BYTE[case].tolist()]


@pytest.mark.parametrize("target", ["pyarrow", "polars", "arro3"])
@pytest.mark.parametrize("case", ONE_BYTE)
def test_a_mask_of_bytes_beside_them_leaves_them_as_they_lie(case, target):
    pytest.importorskip({"arro3": "arro3.core"}.get(target, target))
    given = handed(ONE_BYTE[case], target, nulls="struct")
    rows = lend.table({"a": lend.column(given)})["a"].tolist()
    if rows and isinstance(rows[0], dict):  # where the name of the type is lost
        rows = [None if row["mask"] else bool(row["values"]) for row in rows]
    assert rows == ONE_BYTE[case].tolist()


BOOL8 = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0], "i1"))
EMPTIED = {
    "bools": BOOL8,
    "in structs": pa.StructArray.from_arrays([BOOL8], ["a"]),
    "in lists": pa.ListArray.from_arrays(pa.array([0, 2], "i4"), BOOL8),
    "in a dictionary": pa.DictionaryArray.from_arrays(pa.array([0]), BOOL8),
}


@pytest.mark.parametrize("case", EMPTIED)
def test_what_is_made_of_no_rows_is_of_the_same_type(case):
    array = EMPTIED[case]
    for column in (lend.column(array), lend.column(pa.chunked_array([], array.type))):
        assert pa.array(nothing(column)).type == array.type
    with pytest.raises(LendError, match="and no pyarrow.StringArray"):
        lend.to(array, pa.StringArray)
