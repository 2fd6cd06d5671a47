"""Tables from and to the libraries that have them, against a plain list model; nothing of a source is changed."""

import gc

import pytest

import lend
from lend.errors import MalformedDescriptor, NotLendable, UnsupportedType
from support.names import plain_repr

pa = pytest.importorskip("pyarrow")

MODEL = {
    "n": [1, None, 3, None, 5, 6, 7],
    "f": [0.5, 1.5, None, 3.5, 4.5, 5.5, 6.5],
    "t": ["a", "bär", None, "", "a text that is longer than twelve bytes", "c", "d"],
    "b": [True, None, False, True, True, False, None],
    "l": [[1], [], None, [2, 3], [None], [4], [5, 6]],
    "s": [{"x": 1}, {"x": None}, {"x": 3}, {"x": 4}, {"x": 5}, {"x": 6}, {"x": 7}],
}


def lists(table):
    return {name: column.tolist() for name, column in zip(table.names, table.columns, strict=True)}


def rows(start, stop):
    return {name: values[start:stop] for name, values in MODEL.items()}


def of_pyarrow():
    return pa.table(MODEL)


def of_batch():
    return pa.record_batch(MODEL)


def of_reader():
    return of_pyarrow().to_reader()


def of_uneven_chunks():
    whole = of_pyarrow()
    cut = [0, 3, 7, 1, 5, 2]
    return pa.table(
        {
            name: pa.chunked_array([*column.slice(0, at).chunks, *column.slice(at).chunks], column.type)
            for at, (name, column) in zip(cut, zip(whole.column_names, whole.columns, strict=True), strict=True)
        }
    )


def of_sliced():
    return pa.concat_tables([pa.table(MODEL), pa.table(MODEL)]).combine_chunks().slice(7, 7)


def of_polars():
    return pytest.importorskip("polars").DataFrame(MODEL)


def of_polars_chunks():
    polars = pytest.importorskip("polars")
    whole = polars.DataFrame(MODEL)
    return polars.concat([whole[:2], whole[2:]], rechunk=False)


def of_arro3():
    return pytest.importorskip("arro3.core").Table.from_arrow(of_pyarrow())


def of_duckdb():
    return pytest.importorskip("duckdb").from_arrow(of_pyarrow())


def of_narwhals():
    return pytest.importorskip("narwhals").from_native(of_polars_chunks())


def of_dict():
    return {name: pa.array(values) for name, values in MODEL.items()}


def of_structs():
    return lend.column(pa.chunked_array([of_batch().to_struct_array(), of_batch().slice(0, 0).to_struct_array()]))


SOURCES = [of_pyarrow, of_batch, of_reader, of_uneven_chunks, of_sliced, of_polars, of_polars_chunks, of_arro3,
           of_duckdb, of_narwhals, of_dict, of_structs]  # fmt: skip


@pytest.fixture(params=SOURCES, ids=lambda source: source.__name__)
def table(request):
    return lend.table(request.param())


def test_values_are_those_of_the_source(table):
    assert lists(table) == MODEL


@pytest.mark.parametrize(("start", "stop"), [(0, 0), (1, 4), (2, 7), (6, 7), (7, 7)])
def test_slice_has_the_rows_of_a_python_slice(table, start, stop):  # SLICE-1, SLICE-3
    assert lists(table[start:stop]) == rows(start, stop)


def test_slice_of_a_slice_counts_from_the_slice(table):  # SLICE-10
    assert lists(table[1:6][1:3]) == rows(2, 4)


def test_selection_has_its_columns_in_their_order(table):
    assert lists(table.select(["t", 0])) == {"t": MODEL["t"], "n": MODEL["n"]}


def test_table_without_columns_keeps_its_rows(table):  # EMPTY-3
    assert table.select([]).shape == (7, 0)


@pytest.mark.parametrize("derive", [lambda t: t, lambda t: t[1:6], lambda t: t.select(list("ntbsfl"))[3:]])
def test_pyarrow_finds_no_fault_in_what_is_given(table, derive):  # SLICE-2, SLICE-5
    given = pa.table(derive(table))
    given.validate(full=True)
    assert given.to_pydict() == lists(derive(table))


def test_chunks_joined_are_the_table(table):  # SLICE-9
    joined = {name: [] for name in MODEL}
    for chunk in table[1:].chunks:
        for name, values in lists(chunk).items():
            joined[name] += values
    assert joined == rows(1, 7)


def test_polars_reads_what_is_given(table):
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(table[1:]).to_dict(as_series=False) == rows(1, 7)


def test_arro3_reads_what_is_given(table):
    arro3 = pytest.importorskip("arro3.core")
    assert pa.table(arro3.Table.from_arrow(table[1:])).to_pydict() == rows(1, 7)


def test_duckdb_reads_what_is_given(table):
    duckdb = pytest.importorskip("duckdb")
    given = table[1:]
    assert pa.table(duckdb.from_arrow(pa.table(given))).to_pydict() == rows(1, 7)


def test_pandas_reads_what_is_given(table):
    pandas = pytest.importorskip("pandas")
    given = pandas.DataFrame.from_arrow(table[1:])
    assert given["t"].astype(object).where(given["t"].notna(), None).tolist() == MODEL["t"][1:]


# -- chunks --------------------------------------------------------------------------------------------------------


def test_uneven_chunks_are_cut_at_the_ends_of_all_and_nothing_is_copied():  # SLICE-8
    table = lend.table(
        {"a": pa.chunked_array([[1, 2], [3]]), "b": pa.chunked_array([["x"], ["y", "z"]]), "c": pa.array([1, 2, 3])}
    )
    with lend.copies() as made:
        assert [lists(chunk) for chunk in table.chunks] == [
            {"a": [1], "b": ["x"], "c": [1]},
            {"a": [2], "b": ["y"], "c": [2]},
            {"a": [3], "b": ["z"], "c": [3]},
        ]
    assert made.count == 0


def test_columns_of_a_dict_keep_their_own_chunks():
    table = lend.table({"a": pa.chunked_array([[1, 2], [3]]), "b": pa.array([1, 2, 3])})
    assert [len(column.chunks) for column in table] == [2, 1]


def test_chunks_with_different_dictionaries_stay_as_they_are():  # SLICE-13
    words = pa.chunked_array([pa.array(["b", "a"]).dictionary_encode(), pa.array(["a", None, "z"]).dictionary_encode()])
    given = pa.table(lend.table(pa.table({"w": words})))["w"]
    assert [chunk.dictionary.to_pylist() for chunk in given.chunks] == [["b", "a"], ["a", "z"]]


def test_twenty_thousand_chunks_of_one_row_are_taken_and_given():  # SLICE-11
    count = 20_000
    source = pa.table({"a": pa.chunked_array([[i] for i in range(count)])})
    assert pa.table(lend.table(source)[1:])["a"].to_pylist() == list(range(1, count))


EMPTY = pa.schema(
    [("i", pa.int64()), ("s", pa.string()), ("d", pa.dictionary(pa.int8(), pa.string())), ("l", pa.list_(pa.int8())),
     ("v", pa.string_view()), ("t", pa.struct([("x", pa.int8())])), ("n", pa.null()), ("b", pa.bool_()),
     ("m", pa.map_(pa.string(), pa.int8())), ("z", pa.timestamp("us", "Europe/Paris")), ("q", pa.decimal128(5, 2))]
)  # fmt: skip


def test_columns_without_a_chunk_keep_their_types():  # SLICE-7, EMPTY-5
    source = pa.table({field.name: pa.chunked_array([], field.type) for field in EMPTY})
    assert pa.table(lend.table(source)).schema.equals(EMPTY)


def test_columns_without_a_chunk_make_an_array_without_rows():
    source = pa.table({field.name: pa.chunked_array([], field.type) for field in EMPTY})
    given = pa.record_batch(lend.table(source))
    given.validate(full=True)
    assert (given.num_rows, given.schema.equals(EMPTY)) == (0, True)


def test_table_of_several_chunks_has_no_array_method_so_that_consumers_ask_for_its_stream():
    table = lend.table({"a": pa.chunked_array([[1], [2]])})
    assert not hasattr(table, "__arrow_c_array__")
    with pytest.raises(AttributeError, match="__arrow_c_stream__"):
        _ = table.__arrow_c_array__


def test_table_of_one_chunk_with_rows_is_an_array_whatever_empty_ones_it_has():
    table = lend.table({"a": pa.chunked_array([[], [1], []], pa.int64()), "b": pa.array([2])})
    assert pa.record_batch(table).to_pydict() == {"a": [1], "b": [2]}


def test_table_of_several_chunks_is_a_column_of_structs():
    column = lend.column(lend.table({"a": pa.chunked_array([[1], [2]])}))
    assert column.tolist() == [{"a": 1}, {"a": 2}]


# -- shape and names -----------------------------------------------------------------------------------------------


def five_rows_and_no_columns():
    yield pa.table({"a": range(5)}).select([])
    yield pytest.importorskip("polars").DataFrame(height=5)
    yield pytest.importorskip("pandas").DataFrame(index=range(5))


@pytest.mark.parametrize("number", range(3))
def test_rows_without_columns_are_kept(number):  # EMPTY-3
    source = list(five_rows_and_no_columns())[number]
    table = lend.table(source)
    assert table.shape == (5, 0)
    assert pa.table(table[1:]).num_rows == 4


def test_two_columns_of_one_name_are_had_by_number():  # TYPE-1
    table = lend.table(pa.table([pa.array([1]), pa.array([2])], names=["x", "x"]))
    assert [table[0].tolist(), table[1].tolist()] == [[1], [2]]
    with pytest.raises(KeyError, match="2 columns are named 'x', at 0, 1"):
        table["x"]


def test_columns_are_selected_before_the_others_are_touched():
    table = lend.table({"a": pa.array([1]), "b": [1, 2, 3]}, columns=["a"])
    assert lists(table) == {"a": [1]}


def test_text_is_no_sequence_of_names():
    with pytest.raises(TypeError, match="sequence of str or int"):
        lend.table(pa.table({"a": [1]}), columns="a")


def test_columns_of_unequal_length_are_named():
    with pytest.raises(MalformedDescriptor, match="'a' has 1 elements, 'b' 2"):
        lend.table({"a": pa.array([1]), "b": pa.array([1, 2])})


def test_refusal_of_a_column_names_it():
    with pytest.raises(NotLendable, match="column 'b': cannot lend a list as a column"):
        lend.table({"a": pa.array([1]), "b": [1]})


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_name_that_arrow_cannot_say_is_refused(name):
    with pytest.raises(UnsupportedType, match="column 0"):
        lend.table({name: pa.array([1])}).__arrow_c_schema__()


def test_column_of_a_dict_is_named_by_its_key():
    assert lend.table({"a": pa.array([1])})["a"].name == "a"


def test_column_given_in_a_dict_keeps_its_own_name():
    column = lend.column(pa.array([1]))
    lend.table({"a": column})
    assert column.name == ""


def test_table_stays_whole_when_a_column_it_was_made_of_is_released():
    column = lend.column(pa.array([1]))
    table = lend.table({"a": column})
    column.release()
    assert table["a"].tolist() == [1]


@pytest.mark.parametrize("derive", [lambda t: t, lambda t: t[1:], lambda t: t.select(["a"])])
def test_schema_is_kept_with_flags_and_metadata(derive):
    kind = pa.schema([pa.field("a", pa.int8(), nullable=False, metadata={"unit": "m"})], metadata={"who": "me"})
    table = lend.table(pa.table([pa.array([1, 2], pa.int8())], schema=kind))
    assert pa.table(derive(table)).schema.equals(kind, check_metadata=True)


# -- memory --------------------------------------------------------------------------------------------------------


def addresses(table):
    return [chunk.buffers()[1].address for column in pa.table(table).columns for chunk in column.chunks]


def test_pyarrow_gets_the_memory_it_gave():
    source = pa.table({"a": [1, 2, 3], "b": [1.0, 2.0, 3.0]})
    assert addresses(lend.table(source)) == addresses(source)


def test_frame_of_polars_keeps_its_chunks_and_shares_them():  # SLICE-11
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1], "b": [2]}).vstack(polars.DataFrame({"a": [3], "b": [4]}))
    table = lend.table(frame)
    assert frame.n_chunks("all") == [2, 2]
    series = [pa.chunked_array(frame["a"]), pa.chunked_array(frame["b"])]
    assert addresses(table) == [chunk.buffers()[1].address for place in range(2) for chunk in (series[place].chunks)]


def test_uneven_frame_of_polars_is_not_rechunked():  # SLICE-11
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame([polars.Series("a", [1]).append(polars.Series([2])), polars.Series("b", [1, 2])])
    before = frame.n_chunks("all")
    lend.table(frame)
    assert frame.n_chunks("all") == before


def test_rows_of_a_database_outlive_its_connection():  # STREAM-3
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    table = lend.table(connection.sql("select range as a from range(10000)"))
    connection.close()
    del connection
    gc.collect()
    assert table["a"].tolist() == list(range(10000))


def test_relation_is_read_as_often_as_one_likes():  # STREAM-2
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("select 1 as a")
    assert lists(lend.table(relation)) == lists(lend.table(relation)) == {"a": [1]}


def test_drained_reader_is_refused():  # STREAM-2
    reader = of_reader()
    lend.table(reader)
    with pytest.raises(MalformedDescriptor, match="already consumed"):
        lend.table(reader)


def test_reader_is_not_passed_off_as_the_source_of_its_rows():
    assert lend.table(of_reader()).native_object is None


def test_unchanged_source_is_had_back():
    source = of_pyarrow()
    assert lend.table(source).native_object is source


NATIVE = {
    of_pyarrow: "arrow", of_batch: "arrow", of_arro3: "arrow", of_polars: "polars", of_polars_chunks: "polars",
    of_duckdb: None, of_dict: None, of_reader: None,
}  # fmt: skip


@pytest.mark.parametrize("source", NATIVE, ids=lambda source: source.__name__)
def test_a_table_says_whose_form_of_data_it_was_taken_from_while_nothing_was_changed(source):
    table = lend.table(source())
    assert (table.native, table[1:].native, table.select(["n"]).native) == (NATIVE[source], None, None)


def test_a_class_below_one_of_pandas_is_of_pandas():
    pandas = pytest.importorskip("pandas")
    frame = type("Frame", (pandas.DataFrame,), {})({"a": [1]})
    assert (lend.table(frame).native, lend.column(frame["a"]).native) == ("pandas", "pandas")


# -- what is none --------------------------------------------------------------------------------------------------


def test_query_of_polars_is_collected_first():
    polars = pytest.importorskip("polars")
    with pytest.raises(NotLendable, match="collect\\(\\) first"):
        lend.table(polars.LazyFrame({"a": [1]}))


def frame_with_objects():
    polars = pytest.importorskip("polars")
    return polars.DataFrame({"o": polars.Series([object()], dtype=polars.Object), "a": [1]})


def test_objects_of_polars_are_refused_by_name():
    with pytest.raises(UnsupportedType, match="column 'o' is of Python objects"):
        lend.table(frame_with_objects())


def test_other_columns_of_a_frame_with_objects_can_be_had():  # TYPE-12
    assert lists(lend.table(frame_with_objects(), columns=["a"])) == {"a": [1]}


def test_category_named_object_is_no_column_of_objects():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"Object": polars.Series(["Object"], dtype=polars.Enum(["Object"]))})
    assert lists(lend.table(frame)) == {"Object": ["Object"]}


@pytest.mark.parametrize("thing", [[1, 2], 3, None, "text", object()], ids=plain_repr)
def test_what_is_no_table_is_refused_with_a_remedy(thing):
    with pytest.raises(NotLendable, match="as a table") as refused:
        lend.table(thing)
    assert refused.value.remedy


@pytest.mark.parametrize("options", [{"copy": True}, {"nulls": "none"}])
def test_wishes_about_columns_keep_what_the_table_tells(options):
    table = lend.table(pa.table({"a": [1]}).replace_schema_metadata({"k": "v"}), **options)
    assert table.metadata == {b"k": b"v"}
    assert pa.table(table).schema.metadata == {b"k": b"v"}


@pytest.mark.parametrize(
    "derive",
    [lambda table: table[:1], lambda table: table.select([1]), lambda table: table.chunks[0],
     lambda table: lend.table(pa.table(table))],
    ids=["slice", "selection", "chunk", "through Arrow"],
)  # fmt: skip
def test_what_is_made_of_a_table_keeps_its_metadata(derive):
    pandas = pytest.importorskip("pandas")
    table = lend.table(pandas.DataFrame({"a": [1, 2], "b": [True, False]}, index=["x", "y"]))
    assert b"lend.pandas" in table.metadata
    assert derive(table).metadata == table.metadata


def test_word_that_is_no_null_of_a_table_is_refused():
    with pytest.raises(ValueError, match='nulls is "none", "nan", "nat" or a number'):
        lend.table({"a": pa.array([1])}, nulls="nann")


def test_frame_is_no_column():
    polars = pytest.importorskip("polars")
    with pytest.raises(NotLendable, match="is a table, no column") as refused:
        lend.column(polars.DataFrame({"a": [1]}))
    assert "lend.table(x)" in refused.value.remedy


def test_rows_that_are_null_are_refused():
    with pytest.raises(UnsupportedType, match="a row of a table is not null"):
        lend.table(lend.column(pa.array([{"a": 1}, None])))
