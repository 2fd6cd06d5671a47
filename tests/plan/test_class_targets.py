"""Classes as targets of columns and tables: those that a library makes, those below them, and those that are none."""

import io

import pytest

import lend
from lend.errors import CopyRequired, LendError, MalformedDescriptor, NotLendable, UnsupportedLayout, UnsupportedType

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")

TABLE = pa.table({"i": [1, None], "s": ["a", "b"]})
TWICE = pa.concat_tables([TABLE, TABLE])


def named(name):
    """The class of a library that may not be installed."""
    top, *rest = name.split(".")
    found = pytest.importorskip(top)
    if top == "arro3":
        found = pytest.importorskip("arro3.core")
        rest = rest[1:]
    for part in rest:
        found = getattr(found, part)
    return found


# -- below what a library makes ------------------------------------------------------------------------------------

BELOW = {
    "pyarrow.Int64Array": [1, None],
    "pyarrow.IntegerArray": [1, None],
    "pyarrow.StringArray": ["a", None],
    "pyarrow.ListArray": [[1], None],
}


@pytest.mark.parametrize("by", ["array", "column", "name"])
@pytest.mark.parametrize("name", BELOW)
def test_a_class_below_what_a_library_makes_is_a_target_where_it_is_made(name, by):
    source = pa.array(BELOW[name])
    target = name if by == "name" else named(name)
    made = lend.to(lend.column(source) if by == "column" else source, target)
    assert (issubclass(type(made), named(name)), made.to_pylist()) == (True, BELOW[name])


@pytest.mark.parametrize("ask", [lend.to, lend.explain])
@pytest.mark.parametrize("name", ["pyarrow.StringArray", "pandas.DatetimeIndex", "pandas.RangeIndex"])
def test_a_class_below_is_refused_where_another_is_made(name, ask):
    top = name.partition(".")[0]
    kept = {"pyarrow": "pyarrow.Int64Array", "pandas": "pandas.Index"}[top]
    with pytest.raises(UnsupportedType, match=f"^{top} makes a {kept} of this, and no {name}\n") as refused:
        ask(pa.array([1, 2, 4]), named(name))
    assert refused.value.remedy == f'lend.to(x, "{top}"), a {kept}, and what makes a {name} of that'


def test_a_class_of_somebody_below_a_frame_is_not_called_with_a_table():
    pandas = named("pandas")

    class Mine(pandas.DataFrame):
        pass

    with pytest.raises(UnsupportedType, match=r"pandas makes a pandas\.DataFrame of this, and no .*Mine"):
        lend.to(TABLE, Mine)


def test_a_class_below_that_is_refused_leaves_a_reader_its_rows():
    pandas = named("pandas")
    reader = TABLE.to_reader()
    with pytest.raises(LendError):
        lend.to(reader, type("Mine", (pandas.DataFrame,), {}))
    assert reader.read_all().equals(TABLE)


def test_what_is_made_of_no_rows_to_see_its_class_is_counted_nowhere():
    pandas = named("pandas")
    with lend.copies() as counted:
        made = lend.to(pa.array([1, 2]), pandas.Index)
        with pytest.raises(UnsupportedType):
            lend.to(pa.array(["a", None]), pandas.DatetimeIndex)
    assert (list(made), counted.count) == ([1, 2], 0)


# -- other objects of a library ------------------------------------------------------------------------------------

MADE = {
    "pyarrow.ChunkedArray": (pa.array([1, 2]), lambda made: made.to_pylist() == [1, 2]),
    "pyarrow.RecordBatch": (TABLE, lambda made: made.to_pydict() == TABLE.to_pydict()),
    "pyarrow.RecordBatchReader": (TWICE, lambda made: made.read_all().equals(TWICE)),
    "polars.LazyFrame": (TWICE, lambda made: made.collect().to_dict(as_series=False) == TWICE.to_pydict()),
    "pandas.Index": (pa.array(["a", "b"]), lambda made: list(made) == ["a", "b"]),
    "arro3.core.ChunkedArray": (pa.array([1, 2]), lambda made: pa.chunked_array(made).to_pylist() == [1, 2]),
    "arro3.core.RecordBatch": (TABLE, lambda made: pa.record_batch(made).to_pydict() == TABLE.to_pydict()),
    "arro3.core.RecordBatchReader": (TWICE, lambda made: pa.table(made).equals(TWICE)),
}


@pytest.mark.parametrize("given", ["as it is", "taken"])
@pytest.mark.parametrize("name", MADE)
def test_an_object_of_a_library_beside_its_tables_is_made(name, given):
    source, holds = MADE[name]
    cls = named(name)
    taken = lend.table if isinstance(source, pa.Table) else lend.column
    made = lend.to(taken(source) if given == "taken" else source, cls)
    assert issubclass(type(made), cls)
    assert holds(made)


@pytest.mark.parametrize("array", [np.arange(3), np.array([1.5, 2.5])], ids=str)
def test_an_array_goes_to_a_class_of_columns_as_the_column_that_it_is(array):
    made = lend.to(array, pa.ChunkedArray)
    assert (type(made), made.to_pylist()) == (pa.ChunkedArray, array.tolist())
    assert lend.explain(array, pa.ChunkedArray).bytes_copied == 0


@pytest.mark.parametrize("cls", [pa.RecordBatch, pa.RecordBatchReader, pa.Table])
@pytest.mark.parametrize("act", [lend.to, lend.explain])
def test_an_array_is_no_table_and_is_told_how_to_be_one(cls, act):
    with pytest.raises(UnsupportedLayout, match=r"(?s)a column is not handed on as .*try "):
        act(np.arange(3), cls)


def test_the_name_of_a_column_is_that_of_its_index():
    pandas = named("pandas")
    assert lend.to(lend.table(TABLE)["s"], pandas.Index).name == "s"


@pytest.mark.parametrize("ask", [lend.to, lend.explain])
@pytest.mark.parametrize(
    "name", ["pyarrow.RecordBatch", "arro3.core.RecordBatch", "pyarrow.Array", "pyarrow.Int64Array", "arro3.core.Array"]
)
def test_what_has_one_chunk_is_not_made_of_several(name, ask):
    source = TWICE if name.endswith("Batch") else TWICE["i"]
    kind, article = ("table", "a") if name.endswith("Batch") else ("column", "an")
    last = "Array" if name.endswith("Array") else "RecordBatch"
    with pytest.raises(UnsupportedLayout, match=f"^{article} {last} has one chunk, and this {kind} 2\n") as refused:
        ask(source, named(name))
    way = refused.value.remedy.split("\n")[1].partition(", a copy by")[0]
    made = eval(way, {"lend": lend, "x": source})
    assert (issubclass(type(made), named(name)), lend.column(made).chunks[1:], len(lend.column(made))) == (True, (), 4)


@pytest.mark.parametrize("name", ["pyarrow.Array", "arro3.core.Array"])
@pytest.mark.parametrize("chunks", [[], [[], [1]], [[]]], ids=str)
def test_an_array_is_made_of_the_one_chunk_that_has_rows(name, chunks):
    cls = named(name)
    made = lend.to(pa.chunked_array(chunks, pa.int64()), cls)
    assert (issubclass(type(made), cls), pa.array(made).to_pylist()) == (
        True,
        [value for chunk in chunks for value in chunk],
    )


# -- readers -------------------------------------------------------------------------------------------------------


def counted_reader():
    pulled = []

    def batches():
        for batch in TWICE.to_batches():
            pulled.append(batch)
            yield batch

    return pa.RecordBatchReader.from_batches(TWICE.schema, batches()), pulled


@pytest.mark.parametrize("lazily", [False, True], ids=["reader", "lazy table"])
def test_a_reader_of_a_reader_pulls_no_rows(lazily):
    reader, pulled = counted_reader()
    made = lend.to(lend.table(reader, lazy=True) if lazily else reader, pa.RecordBatchReader)
    assert pulled == []
    assert made.read_next_batch().num_rows == 2
    assert len(pulled) == 1
    assert made.read_all().num_rows == 2


def test_a_reader_that_went_on_as_a_reader_is_not_handed_on_again():
    reader, _ = counted_reader()
    lend.to(reader, pa.RecordBatchReader)
    with pytest.raises(MalformedDescriptor, match="already consumed"):
        lend.to(reader, pa.RecordBatchReader)


@pytest.mark.parametrize("keywords", [{"nulls": ("fill", 0)}, {"copy": True}], ids=str)
def test_a_reader_of_rows_that_lend_works_on_has_them(keywords):
    reader, pulled = counted_reader()
    reader = pa.RecordBatchReader.from_batches(
        pa.schema({"i": pa.int64()}), (b.select(["i"]) for b in reader)
    )  # fmt: skip
    made = lend.to(reader, pa.RecordBatchReader, **keywords)
    assert len(pulled) == 2
    assert made.read_all()["i"].to_pylist() == [1, 0 if "nulls" in keywords else None] * 2


# -- classes that are none -----------------------------------------------------------------------------------------

NONE = {
    "pyarrow.Schema": "pyarrow.Array, pyarrow.ChunkedArray, pyarrow.Table, pyarrow.RecordBatch, pyarrow.RecordBatchRe",
    "pyarrow.RecordBatchFileReader": "pyarrow.Array",
    "pandas.Categorical": "pandas.Series, pandas.DataFrame, pandas.Index",
    "pandas.Timestamp": "pandas.Series",
    "polars.Expr": "polars.Series, polars.DataFrame, polars.LazyFrame",
    "arro3.core.Schema": "arro3.core.Array, arro3.core.ChunkedArray, arro3.core.Table",
    "duckdb.DuckDBPyConnection": "duckdb.DuckDBPyRelation",
}


@pytest.mark.parametrize("ask", [lend.to, lend.explain])
@pytest.mark.parametrize("name", NONE)
def test_a_class_of_a_library_that_is_no_target_is_refused_with_those_that_are(name, ask):
    cls, reader = named(name), TABLE.to_reader()
    top = name.partition(".")[0]
    with pytest.raises(NotLendable) as refused:
        ask(reader, cls)
    assert refused.value.fact.startswith(f"{name} is no target: of {top}, lend makes {NONE[name]}")
    assert refused.value.remedy.startswith(f'lend.to(x, "{top}")')
    assert reader.read_all().equals(TABLE)


def test_a_class_that_is_no_target_is_not_called_with_views_either():
    np, pandas = pytest.importorskip("numpy"), named("pandas")
    with pytest.raises(NotLendable, match=r"pandas\.Categorical is no target"):
        lend.to(np.array([1, 2]), pandas.Categorical)


def test_a_function_of_a_library_is_a_target_as_any():
    assert lend.to(TABLE, lambda table: pa.schema(table)).names == ["i", "s"]


# -- Python's own --------------------------------------------------------------------------------------------------

COLUMNS = {
    "nulls": pa.array([1, None]),
    "text": pa.array(["a", "b"]),
    "chunks": pa.chunked_array([[1], [2]]),
    "lists": pa.array([[1, 2], [3]]),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("cls", [list, tuple])
def test_values_are_made_of_a_column(cls, name):
    assert lend.to(COLUMNS[name], cls) == cls(COLUMNS[name].to_pylist())


@pytest.mark.parametrize("cls", [dict, int, float, complex])
@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("ask", [lend.to, lend.explain])
def test_what_is_made_of_other_things_than_a_column_says_so(ask, name, cls):
    with pytest.raises(NotLendable, match=f"^{cls.__name__} is made of other things than a Column\n") as refused:
        ask(COLUMNS[name], cls)
    assert "lend.to(x, list), its values" in refused.value.remedy


def test_what_python_raises_of_the_values_is_quoted():
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [COLUMNS["lists"][:1]])
    with pytest.raises(NotLendable, match="set is made of other things than a Column") as refused:
        lend.to(union, set)
    assert refused.value.tried == "set(column) -> TypeError: unhashable type: 'list'"


@pytest.mark.parametrize("cls", [set, frozenset])
@pytest.mark.parametrize("rows", [0, 1, 2])
def test_sets_of_lists_are_refused_before_they_are_made(cls, rows):
    obj = pa.array([None, [1]], pa.list_(pa.int8()))[:rows]
    if rows < 2:
        assert "call of" in str(lend.explain(obj, cls))
        assert lend.to(obj, cls) == cls([None][:rows])
        return
    for ask in (lend.explain, lend.to):
        with pytest.raises(NotLendable, match="is made of other things than a Column"):
            ask(obj, cls)


@pytest.mark.parametrize("cls", [bytes, bytearray, io.BytesIO, int, float, complex])
@pytest.mark.parametrize("ask", [lend.to, lend.explain])
def test_what_is_made_of_other_things_than_a_table_says_so_and_leaves_a_reader(ask, cls):
    reader = TABLE.to_reader()
    with pytest.raises(NotLendable, match="is made of other things than a Table") as refused:
        ask(reader, cls)
    assert "lend.to(x, dict), its columns by their names" in refused.value.remedy
    assert reader.read_all().equals(TABLE)


@pytest.mark.parametrize("cls", [bytes, bytearray])
def test_bytes_are_made_of_a_column_that_is_an_array(cls):
    assert lend.to(lend.column(pa.array([1, 258], pa.int16())), cls) == cls(b"\1\0\2\1")
    days = lend.column(pytest.importorskip("numpy").array(["1970-01-02"], "M8[D]"))
    assert lend.to(days, cls) == cls(b"\1" + bytes(7))


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("ask", [lend.to, lend.explain])
def test_bytes_of_a_column_that_is_no_array_are_refused(ask, name):
    with pytest.raises(LendError):
        ask(COLUMNS[name], bytes)


@pytest.mark.parametrize("cls", [list, tuple, set, frozenset])
@pytest.mark.parametrize("ask", [lend.to, lend.explain])
def test_values_of_a_column_are_refused_without_a_copy(ask, cls):
    with pytest.raises(CopyRequired, match=f"{cls.__name__} makes Python objects of whatever it is given"):
        ask(COLUMNS["nulls"], cls, copy=False)


def test_the_columns_of_a_table_are_had_without_a_copy():
    assert [column.name for column in lend.to(TABLE, list, copy=False)] == ["i", "s"]


NOTHING_OF = {
    "a list of an extension type": pa.list_(pa.uuid()),
    "a struct of an extension type": pa.struct([("a", pa.bool8())]),
    "a union": pa.dense_union([pa.field("a", pa.int8())]),
    "a dictionary": pa.dictionary(pa.int8(), pa.string()),
    "runs": pa.run_end_encoded(pa.int32(), pa.string()),
}


@pytest.mark.parametrize("kind", NOTHING_OF)
def test_a_record_batch_of_no_rows_is_made_of_each_type(kind):
    empty = pa.table({"a": pa.chunked_array([], NOTHING_OF[kind])})
    made = lend.to(empty, pa.RecordBatch)
    assert (type(made), made.schema, made.num_rows) == (pa.RecordBatch, empty.schema, 0)
