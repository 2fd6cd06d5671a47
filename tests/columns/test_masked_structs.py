"""A mask of bytes that went through Arrow as `lend.masked` is a mask of bytes again."""

import pytest

import lend
from lend.columns.building import of_chunks
from support import column_forms

pa = pytest.importorskip("pyarrow")

ROWS = [1, None, 3, 4, None, 6, 7, 8, 9]


def through(column, library):
    """The column after a library had it."""
    pytest.importorskip(library)
    return lend.table(lend.to({"x": column}, library, nulls="struct"))["x"]


@pytest.mark.parametrize("library", ["pyarrow", "polars", "arro3"])
@pytest.mark.parametrize(("form", "missing"), [("bytes of 1", 1), ("bytes of 0", 0)])
def test_values_and_mask_lie_where_they_lay(library, form, missing):
    column = column_forms.numbers("int64", ROWS, form, before=[9, None])
    with lend.copies() as counted:
        taken = through(column, library)
    assert counted.bytes == 0
    assert (taken.tolist(), str(taken.dtype), taken.name) == (ROWS, "int64", "x")
    assert (taken.nulls.kind, taken.nulls.missing) == ("bytemask", missing)
    assert taken.buffers["data"].ptr + 8 * taken.offset == column.buffers["data"].ptr + 16
    assert taken.buffers["validity"].ptr + taken.offset == column.buffers["validity"].ptr + 2


@pytest.mark.parametrize("part", [slice(0, 3), slice(1, 9), slice(4, 5), slice(3, 3)])
@pytest.mark.parametrize("kind", ["int16", "bits", "datetime64[ns]"])
def test_a_slice_of_it_is_the_slice_of_the_column(kind, part):
    if kind == "bits":
        rows = [None if row is None else row % 2 == 0 for row in ROWS]
        column = column_forms.packed_bools(rows, "bytes of 1", before=[True, None, False])
    else:
        rows = ROWS
        column = column_forms.numbers(kind, rows, "bytes of 1")
    table = pa.table(lend.to({"x": column}, "pyarrow", nulls="struct"))
    taken = lend.table(table.slice(part.start, part.stop - part.start))["x"]
    lost = [value is None for value in taken.tolist()] if kind != "datetime64[ns]" else None
    if lost is None:
        assert (taken.null_count, len(taken)) == (rows[part].count(None), len(rows[part]))
    else:
        assert taken.tolist() == rows[part]


def test_its_chunks_are_chunks():
    column = of_chunks([column_forms.numbers("int8", part, "bytes of 0") for part in ([1, None], [3], [None])])
    taken = through(column, "pyarrow")
    assert (taken.tolist(), len(taken.chunks), taken.null_count) == ([1, None, 3, None], 3, 2)


def test_an_array_of_arrow_is_a_column_of_it():
    core = pytest.importorskip("arro3.core")
    column = column_forms.numbers("int64", ROWS, "bytes of 1")
    made = lend.to(column, "arro3", nulls="struct")
    assert isinstance(made, core.Array)
    assert lend.column(made).tolist() == ROWS


def test_it_goes_on_to_pandas_as_its_mask():
    pandas = pytest.importorskip("pandas")
    source = pandas.Series([1, None, 3], dtype="Int64")
    table = lend.to({"x": source}, "pyarrow", nulls="struct")
    with lend.copies() as counted:
        back = lend.to(table, "pandas")["x"]
    assert (str(back.dtype), counted.bytes) == ("Int64", 0)
    assert back.isna().tolist() == [False, True, False]


def masked(metadata, values=None, name="lend.masked", names=("values", "mask")):
    """What claims to be such a struct, made by pyarrow."""
    mask = pa.array([0, 1, 0], pa.int8())
    struct = pa.StructArray.from_arrays([values or pa.array([1, 2, 3]), mask], list(names))
    told = {b"ARROW:extension:name": name.encode(), b"ARROW:extension:metadata": metadata}
    return pa.table([struct], schema=pa.schema([pa.field("x", struct.type, metadata=told)]))


def test_one_made_by_hand_is_known():
    assert lend.table(masked(b"1"))["x"].tolist() == [1, None, 3]
    assert lend.table(masked(b"0"))["x"].tolist() == [None, 2, None]


@pytest.mark.parametrize(
    "table",
    [
        masked(b"2"), masked(b""), masked(b"1", name="other.masked"), masked(b"1", names=("values", "other")),
        masked(b"1", values=pa.array([1, None, 3])), masked(b"1", values=pa.array(["a", "b", "c"])),
    ],
    ids=["no truth", "no metadata", "another name", "another field", "nulls among the values", "text"],
)  # fmt: skip
def test_what_is_another_or_was_changed_stays_a_struct(table):
    column = lend.table(table)["x"]
    assert column.dtype.kind == "extension"
    assert column.tolist() == table["x"].to_pylist()


def test_an_extension_type_is_that_of_the_values_and_comes_back():
    for made in (
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16, None], pa.binary(16))),
        pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None], "i1")),
    ):
        given = lend.to({"a": made}, "pyarrow", nulls="struct")
        assert given.schema.field("a").metadata[b"ARROW:extension:name"] == b"lend.masked"
        assert given.schema.field("a").type.field("values").type == made.type
        back = lend.table(given)["a"]
        assert (back.dtype, back.tolist()) == (lend.column(made).dtype, lend.column(made).tolist())
        assert lend.to(back, "pyarrow").type == made.type
