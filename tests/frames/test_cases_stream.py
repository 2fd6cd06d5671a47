"""Reported faults of streams (STREAM rows): what a stream costs, who is a table, and libraries that end the process."""

import pytest

import lend
from lend.errors import UnsupportedType

pa = pytest.importorskip("pyarrow")


class OnlyStream:
    """Offers a stream of Arrow and says nothing else of itself."""

    def __init__(self, obj):
        self.obj = obj

    def __arrow_c_stream__(self, requested_schema=None):
        return self.obj.__arrow_c_stream__(requested_schema)


class WithoutArgument:
    """The same, by a method that does not know the argument that is optional."""

    def __init__(self, obj):
        self.obj = obj

    def __arrow_c_stream__(self):
        return self.obj.__arrow_c_stream__()


# -- what it costs --


def test_a_stream_is_read_batch_by_batch_and_lies_in_memory_once():  # STREAM-4
    rows, count = 1 << 17, 8
    schema = pa.schema([("a", pa.int64())])
    before, seen = pa.total_allocated_bytes(), []

    def batches():
        for number in range(count):
            yield pa.record_batch([pa.repeat(pa.scalar(number, pa.int64()), rows)], schema=schema)
            seen.append(pa.total_allocated_bytes() - before)

    with lend.copies() as made:
        table = lend.table(pa.RecordBatchReader.from_batches(schema, batches()))
    assert (made.count, len(table), len(table.chunks)) == (0, rows * count, count)
    assert [got <= 1.2 * 8 * rows * (number + 1) for number, got in enumerate(seen)] == [True] * count


# -- views of nanoarrow --

LONG = ["a string longer than twelve bytes", None, "b"]


def views(kind):
    text = pa.array(LONG, pa.string_view())
    return {
        "text": lambda: text,
        "bytes": lambda: text.cast(pa.binary_view()),
        "a list": lambda: pa.array([LONG], pa.list_(pa.string_view())),
        "a struct": lambda: pa.StructArray.from_arrays([text], ["s"]),
        "a dictionary": lambda: pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["x"], pa.string_view())),
    }[kind]()


EACH_KIND = pytest.mark.parametrize("kind", ["text", "bytes", "a list", "a struct", "a dictionary"])


def array_of_nanoarrow(kind):
    nanoarrow = pytest.importorskip("nanoarrow")
    if tuple(map(int, nanoarrow.__version__.split(".")[:2])) >= (0, 10):
        pytest.skip("what 0.9 breaks on may be mended there")
    return nanoarrow.c_array(views(kind))


@EACH_KIND
def test_views_that_nanoarrow_ends_the_process_on_are_refused_before_it_gives_them(kind):  # STREAM-5
    array = array_of_nanoarrow(kind)
    with pytest.raises(UnsupportedType, match="nanoarrow 0.9.0 ends the process when it gives (text|bytes) in views"):
        lend.column(array)


def test_a_table_with_views_of_nanoarrow_is_refused_too():  # STREAM-5
    array = array_of_nanoarrow("a struct")
    with pytest.raises(UnsupportedType, match="ends the process"):
        lend.table(array)
    with pytest.raises(UnsupportedType, match="ends the process"):
        lend.to(array, "pyarrow")


def test_a_stream_of_views_that_nanoarrow_hands_on_is_taken():  # STREAM-5
    nanoarrow = pytest.importorskip("nanoarrow")
    stream = nanoarrow.c_array_stream(pa.chunked_array([views("text")]))
    assert lend.column(stream).tolist() == LONG


@pytest.mark.parametrize("make", ["c_array", "Array"])
def test_what_else_nanoarrow_gives_is_taken(make):  # STREAM-5
    nanoarrow = pytest.importorskip("nanoarrow")
    assert lend.column(getattr(nanoarrow, make)(pa.array(["x", None]))).tolist() == ["x", None]
    batch = pa.record_batch({"a": [1, None]})
    assert lend.table(getattr(nanoarrow, make)(batch))["a"].tolist() == [1, None]


@EACH_KIND
def test_views_that_lend_gives_pass_the_full_check_of_pyarrow(kind):  # STREAM-5
    made = pa.array(lend.column(views(kind)))
    made.validate(full=True)
    assert made.equals(views(kind))


BYTES = [b"a value longer than twelve bytes", None, b"x" * 40]


def bytes_in_views():
    """Chunks that were joined, cast and cut, as the report has them."""
    chunks = pa.chunked_array([pa.array([b"short", *BYTES[:2]]), pa.array([BYTES[2]])])
    joined = chunks.combine_chunks()
    return (joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined).cast(pa.binary_view()).slice(1, 3)


def test_bytes_in_views_have_their_values_and_are_given_again():  # STREAM-7
    column = lend.column(bytes_in_views())
    made = pa.array(column)
    made.validate(full=True)
    assert (column.tolist(), made.to_pylist(), made.type) == (BYTES, BYTES, pa.binary_view())


@pytest.mark.parametrize("target", ["polars", "arro3", "pyarrow"])
def test_bytes_in_views_arrive_in(target):  # STREAM-7
    pytest.importorskip(target)
    assert lend.column(lend.to(bytes_in_views(), target)).tolist() == BYTES


# -- the argument that is optional --


@pytest.mark.parametrize("wrap", [OnlyStream, WithoutArgument])
def test_a_stream_is_asked_for_without_an_argument(wrap):  # STREAM-9
    assert lend.table(wrap(pa.table({"num": [42]})))["num"].tolist() == [42]
    assert lend.column(wrap(pa.chunked_array([[1], [None]]))).tolist() == [1, None]


@pytest.mark.parametrize("lent", [lambda: lend.table({"num": pa.array([42])}), lambda: lend.column(pa.array([42]))])
def test_a_stream_of_lend_is_given_without_an_argument(lent):  # STREAM-9
    assert pa.chunked_array(OnlyStream(lent())).to_pylist() in ([42], [{"num": 42}])
    assert lend.column(lent().__arrow_c_stream__()).tolist() in ([42], [{"num": 42}])


# -- a table or a column --

ROWS = {"a": [1, None], "b": ["x", "y"]}
EACH_TARGET = pytest.mark.parametrize("target", ["polars", "pandas", "pyarrow", "arro3", "duckdb"])


def rows_of(made):
    table = lend.table(made)
    return {name: table[name].tolist() for name in table.names}


@EACH_TARGET
def test_a_stream_that_says_nothing_of_itself_is_a_table_where_it_is_of_rows(target):  # STREAM-10, STREAM-11
    pytest.importorskip(target)
    made = lend.to(OnlyStream(pa.table(ROWS)), target)
    assert type(made).__name__ in ("DataFrame", "Table", "DuckDBPyRelation")
    assert rows_of(made) == ROWS


@pytest.mark.parametrize("values", [[1, None], [{"a": 1}, None]], ids=["numbers", "structs of which one is null"])
def test_a_stream_that_says_nothing_of_itself_is_a_column_where_it_is_of_no_rows(values):  # STREAM-10
    polars = pytest.importorskip("polars")
    made = lend.to(OnlyStream(pa.chunked_array([values])), "polars")
    assert isinstance(made, polars.Series)
    assert made.to_list() == values


def test_a_column_of_structs_stays_a_column():  # STREAM-10
    polars = pytest.importorskip("polars")
    chunks = pa.chunked_array([[{"a": 1}, {"a": 2}]])
    for source in (chunks, lend.column(OnlyStream(pa.table({"a": [1, 2]}))), polars.Series([{"a": 1}, {"a": 2}])):
        assert isinstance(lend.to(source, "polars"), polars.Series)
    assert isinstance(lend.to(lend.table(OnlyStream(pa.table({"a": [1, 2]}))), "polars"), polars.DataFrame)


def test_a_table_by_a_stream_alone_keeps_what_its_schema_tells():  # STREAM-10
    made = lend.to(OnlyStream(pa.table(ROWS).replace_schema_metadata({"k": "v"})), "pyarrow")
    assert made.schema.metadata == {b"k": b"v"}


def test_an_object_with_a_stream_alone_is_a_table_once():  # STREAM-11
    source = OnlyStream(pa.table(ROWS))
    assert rows_of(lend.table(source)) == ROWS
    assert rows_of(lend.table(source, columns=["b"])) == {"b": ["x", "y"]}


@pytest.mark.parametrize("target", ["numpy", "torch", "numpy.ma", "memoryview", dict, list, len, lambda table: table])
def test_an_object_with_a_stream_alone_goes_to_any_target(target):  # STREAM-11
    if isinstance(target, str):
        pytest.importorskip("numpy" if target == "memoryview" else target.partition(".")[0])
    made = lend.to(OnlyStream(pa.table({"a": [1, 2]})), target)
    if isinstance(made, (dict, lend.Table)):
        assert made["a"].tolist() == [1, 2]
    else:
        assert made == 2 if target is len else [column.tolist() for column in made] == [[1, 2]]


def test_a_reader_that_others_drained_is_told_from_an_empty_one_by_nothing():  # STREAM-2
    # the row wants an error: the stream of both has no array, and an empty reader is none (EMPTY-1)
    schema = pa.schema([("a", pa.int64())])
    drained = pa.table({"a": [1]}).to_reader()
    drained.read_all()
    for reader in (drained, pa.RecordBatchReader.from_batches(schema, []), pa.table({"a": []}, schema).to_reader()):
        table = lend.table(reader)
        assert (table.num_rows, len(table["a"].chunks)) == (0, 0)


def test_narwhals_takes_what_lend_made_of_an_object_with_a_stream_alone():  # STREAM-11
    narwhals = pytest.importorskip("narwhals")
    table = lend.table(OnlyStream(pa.table(ROWS)))
    assert narwhals.from_arrow(table, backend="pyarrow").to_dict(as_series=False) == ROWS
    assert narwhals.from_native(lend.to(table, "pyarrow")).to_dict(as_series=False) == ROWS


# -- libraries that are seldom here --


def test_datafusion_is_read_and_reads():  # STREAM-9, STREAM-6
    datafusion = pytest.importorskip("datafusion")
    context = datafusion.SessionContext()
    assert lend.table(context.from_pydict({"num": [42, None]}))["num"].tolist() == [42, None]
    texts = pa.array(["é", None, "länger als zwölf Bytes"], pa.string_view()).slice(1)
    assert context.from_arrow(lend.table({"a": texts})).to_pydict() == {"a": [None, "länger als zwölf Bytes"]}


def test_daft_is_read():  # TYPE-16
    daft = pytest.importorskip("daft")
    assert lend.table(daft.from_arrow(pa.table({"n": [1, None]})))["n"].tolist() == [1, None]
    assert lend.column(daft.Series.from_arrow(pa.array([1, None]), "n")).tolist() == [1, None]


# -- memory at odd addresses --


def shifted(kind, shift):
    """An array of any type whose data begin `shift` bytes after a multiple of 64."""
    np = pytest.importorskip("numpy")
    room = np.zeros(4096, "u1")
    begin = -room.ctypes.data % 64 + shift
    size = {"string": 4, "string_view": 16, "decimal": 16}.get(kind) or pa.type_for_alias(kind).bit_width // 8
    type = pa.decimal128(20, 0) if kind == "decimal" else pa.type_for_alias(kind)
    data = pa.py_buffer(room[begin : begin + size * 9])
    return pa.Array.from_buffers(type, 8, [None, data, *([pa.py_buffer(b"")] if kind == "string" else [])])


def address(made):
    return lend.column(made).chunks[0].buffer_facts(1)[0]


KINDS = ["int16", "int32", "int64", "float64", "timestamp[us]", "decimal", "string_view", "string"]


@pytest.mark.parametrize("shift", [0, 1, 2, 4, 8])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", ["polars", "arro3", "pyarrow"])
def test_explain_tells_who_copies_what_is_unaligned(target, kind, shift):  # STREAM-12
    pytest.importorskip(target)
    source = shifted(kind, shift)
    plan, made = lend.explain(source, target), lend.to(source, target)
    assert lend.column(made).tolist() == lend.column(source).tolist()
    if (target, kind) != ("polars", "string"):  # which it makes views of
        assert ("unaligned" in str(plan)) == (address(made) != source.buffers()[1].address)


@pytest.mark.parametrize("wrap", ["a list", "a struct", "a dictionary"])
@pytest.mark.parametrize("target", ["polars", "arro3"])
def test_what_is_unaligned_within_is_told_too(target, wrap):  # STREAM-12
    pytest.importorskip(target)
    inner = shifted("int64", 1)
    source = {
        "a list": lambda: pa.LargeListArray.from_arrays(pa.array([0, 8], pa.int64()), inner),
        "a struct": lambda: pa.StructArray.from_arrays([inner], ["x"]),
        "a dictionary": lambda: pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), inner),
    }[wrap]()
    plan = str(lend.explain(source, target))
    assert (
        "polars makes its categories anew" in plan
        if (wrap, target) == ("a dictionary", "polars")
        else "unaligned" in plan
    )


@pytest.mark.parametrize("target", ["polars", "arro3"])
def test_what_is_unaligned_is_not_copied_against_the_callers_word(target):  # STREAM-12
    pytest.importorskip(target)
    with pytest.raises(lend.errors.CopyRequired, match="unaligned: an address that is 1 mod 8"):
        lend.to(shifted("int64", 1), target, copy=False)
    lend.to(shifted("int64", 8), target, copy=False)


@pytest.mark.parametrize("target", ["pyarrow", "pandas", "numpy"])
def test_what_is_unaligned_is_shared_with_who_reads_it_so(target):  # STREAM-12
    pytest.importorskip(target)
    source = shifted("int64", 1)
    made = lend.to(source, target, copy=False)
    assert (lend.column(made).tolist(), address(made)) == ([0] * 8, source.buffers()[1].address)
