"""The index of a DataFrame: it goes along to frames, noted, and is no data where a table is shown as arrays."""

import pytest

import lend

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

INDEXES = {
    "what a filter leaves": (lambda: pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]})[lambda df: df.a > 1], 1),
    "named": (lambda: pd.DataFrame({"a": [2, 3], "b": [5, 6]}, index=pd.Index(["x", "y"], name="k")), 1),
    "named as a column": (lambda: pd.DataFrame({"a": [2, 3], "b": [5, 6]}, index=pd.Index([8, 9], name="b")), 1),
    "of two levels": (
        lambda: pd.DataFrame({"a": [2, 3], "b": [5, 6]}, index=pd.MultiIndex.from_tuples([(1, "x"), (1, "y")])), 2,
    ),
}  # fmt: skip
ROWS = [[2, 5], [3, 6]]
SHOWN = {
    "array": lambda table: np.asarray(table).tolist(),
    "one array": lambda table: lend.to(table, "numpy", stack=True).tolist(),
    "a dict": lambda table: np.stack(list(lend.to(table, "numpy").values()), 1).tolist(),
    "the dataframe protocol": lambda table: [
        list(row) for row in zip(*(lend.table(table.__dataframe__())[name].tolist() for name in "ab"), strict=True)
    ],
    "interfaces": lambda table: [len(table.array_interfaces())],
}
each_index = pytest.mark.parametrize("name", INDEXES)


@each_index
@pytest.mark.parametrize("way", SHOWN)
def test_it_is_no_data_of_arrays(name, way):
    frame, _ = INDEXES[name]
    assert SHOWN[way](lend.table(frame())) == ([2] if way == "interfaces" else ROWS)


@each_index
def test_the_dataframe_protocol_has_the_columns_alone(name):
    assert lend.table(INDEXES[name][0]()).__dataframe__().column_names() == ["a", "b"]


@each_index
@pytest.mark.parametrize("target", ["numpy", "numpy.ma"])
def test_arrays_of_a_frame_are_its_columns_and_that_is_told(name, target):
    frame = INDEXES[name][0]()
    made = lend.to(frame, target)
    assert list(made) == ["a", "b"]
    assert any(note.startswith("the index is left out: ") for note in lend.explain(frame, target).notes)
    assert any(note.startswith("the index is left out: ") for note in lend.explain(lend.table(frame), target).notes)


def test_it_is_told_of_a_frame_that_narwhals_wraps():
    wrapped = pytest.importorskip("narwhals").from_native(INDEXES["named"][0]())
    assert list(lend.to(wrapped, "numpy")) == ["a", "b"]
    assert (
        "the index is left out: 'k' is no data; index=\"column\" has it as columns"
        in lend.explain(wrapped, "numpy").notes
    )


@each_index
def test_nothing_is_copied_for_it(name):
    frame = INDEXES[name][0]().astype("float64")
    with lend.copies() as counted:
        lend.to(frame, "numpy", copy=False)
    assert counted.bytes == 0


@each_index
def test_to_a_frame_it_goes_along(name):
    frame, levels = INDEXES[name]
    assert len(lend.to(frame(), "pyarrow").column_names) == 2 + levels
    pd.testing.assert_frame_equal(lend.to(lend.table(frame()), "pandas", dtype_backend="numpy"), frame())


def test_it_is_data_where_it_was_asked_for_as_columns():
    frame = INDEXES["what a filter leaves"][0]()
    assert np.asarray(lend.table(frame, index="column")).tolist() == [[1, 2, 5], [2, 3, 6]]
    assert lend.to(frame, "numpy", stack=True, index="column").tolist() == [[1, 2, 5], [2, 3, 6]]


@pytest.mark.parametrize("through", [lend.table, lambda frame: lend.table(pa.table(lend.table(frame)))])
def test_it_is_data_where_it_was_chosen(through):
    table = through(INDEXES["what a filter leaves"][0]())
    chosen = table.select(["__index_level_0__", "b"])
    assert np.asarray(chosen).tolist() == [[1, 5], [2, 6]]
    assert lend.to(chosen, "pandas").index.tolist() == [1, 2]


def test_a_slice_and_arrow_keep_that_it_is_none():
    table = lend.table(INDEXES["what a filter leaves"][0]())
    assert np.asarray(table[1:]).tolist() == [[3, 6]]
    assert np.asarray(lend.table(pa.table(table))).tolist() == ROWS


def test_a_column_that_another_library_notes_as_an_index_is_data():
    noted = pa.Table.from_pandas(INDEXES["what a filter leaves"][0](), preserve_index=True)
    assert np.asarray(lend.table(noted)).shape == (2, 3)


@pytest.mark.parametrize("note", [b"{", b"[1]", b'{"index": 1}', b'{"index": [["k"]]}', b'{"index": [["x", "x"]]}'])
def test_a_note_that_contradicts_itself_is_none(note):
    table = lend.table(pa.table({"k": [1], "a": [2]}).replace_schema_metadata({"lend.pandas": note}))
    assert np.asarray(table.select(["k", "a"])).tolist() == [[1, 2]]
    assert np.asarray(table).tolist() == [[1, 2]]
