"""Tables and columns of the libraries that have them: whatever of these is installed, with nulls, texts and chunks."""

import pytest

import lend
from lend.errors import MalformedDescriptor, NotLendable

pa = pytest.importorskip("pyarrow")
# ibis asks duckdb by a name that is going
pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

ROWS = {"i": [1, None, 3], "s": ["a", None, "c" * 30], "c": ["x", "y", None], "l": [[1], None, [2, 3]]}


def plain():
    """Two chunks."""
    part = pa.table({**ROWS, "c": pa.array(ROWS["c"]).dictionary_encode()})
    return pa.concat_tables([part, part])


def of_datafusion():
    return pytest.importorskip("datafusion").SessionContext().from_arrow(plain())


def of_datafusion_query():
    return of_datafusion().filter(pytest.importorskip("datafusion").lit(True))


def of_daft():
    return pytest.importorskip("daft").from_arrow(plain().cast(plain().schema.set(2, pa.field("c", pa.string()))))


def of_duckdb():
    duckdb = pytest.importorskip("duckdb")
    return duckdb.connect().from_arrow(plain())


def of_duckdb_query():
    return of_duckdb().filter("true")


def of_ibis():
    ibis = pytest.importorskip("ibis")
    pytest.importorskip("duckdb")
    return ibis.duckdb.connect().create_table("t", plain())


def of_ibis_memory():
    ibis = pytest.importorskip("ibis")
    pytest.importorskip("duckdb")
    return ibis.memtable(plain())


def of_nanoarrow():
    return pytest.importorskip("nanoarrow").Array(plain())


def of_arro3():
    return pytest.importorskip("arro3.core").Table.from_arrow(plain())


def of_arro3_batch():
    return pytest.importorskip("arro3.core").RecordBatch.from_arrow(plain().combine_chunks().to_batches()[0])


def of_narwhals():
    return pytest.importorskip("narwhals").from_native(plain())


def of_narwhals_polars():
    return pytest.importorskip("narwhals").from_native(pytest.importorskip("polars").DataFrame(plain()))


def of_narwhals_duckdb():
    return pytest.importorskip("narwhals").from_native(of_duckdb())


def of_narwhals_ibis():
    return pytest.importorskip("narwhals").from_native(of_ibis())


MADE = [
    of_datafusion, of_datafusion_query, of_daft, of_duckdb, of_duckdb_query, of_ibis, of_ibis_memory, of_nanoarrow,
    of_arro3, of_arro3_batch, of_narwhals, of_narwhals_polars, of_narwhals_duckdb, of_narwhals_ibis,
]  # fmt: skip
TWICE = {name: values * 2 for name, values in ROWS.items()}


def rows(table):
    """The values by name; engines of queries may change the order of rows that have none."""
    return {name: sorted(column.tolist(), key=repr) for name, column in zip(table.names, table.columns, strict=True)}


EXPECTED = {name: sorted(values, key=repr) for name, values in TWICE.items()}


@pytest.mark.parametrize("make", MADE)
def test_a_table_of_a_library_has_its_rows(make):
    assert rows(lend.table(make())) == EXPECTED


@pytest.mark.parametrize("target", ["pyarrow", "polars", "pandas"])
@pytest.mark.parametrize("make", MADE)
def test_a_table_of_a_library_is_handed_on_as_a_table(make, target):
    pytest.importorskip(target)
    made = lend.to(make(), target)
    assert made.shape == (6, 4)
    assert rows(lend.table(made, columns=["i", "s", "c"])) == {name: EXPECTED[name] for name in "isc"}


@pytest.mark.parametrize("make", MADE)
def test_a_table_of_a_library_is_explained_with_its_rows(make):
    source = make()
    plan = lend.explain(source, "pyarrow")
    assert (plan.source.startswith("Table 6 rows: "), plan.target) == (True, "pyarrow.Table")
    assert set(lend.explain(source).targets) >= {"pyarrow"}


@pytest.mark.parametrize("make", [of_datafusion, of_ibis, of_duckdb, of_daft])
def test_a_query_gives_its_rows_each_time_it_is_asked(make):
    source = make()
    lend.explain(source, "pyarrow")
    assert rows(lend.table(source)) == rows(lend.table(source)) == EXPECTED


# -- columns -------------------------------------------------------------------------------------------------------

VALUES = {"i": [1, None], "s": ["a", None], "c": ["x", None], "l": [[1], None]}


def array(kind):
    made = pa.array(VALUES[kind])
    return made.dictionary_encode() if kind == "c" else made


COLUMNS = {
    "daft": lambda kind: pytest.importorskip("daft").Series.from_arrow(pa.array(VALUES[kind]), "n"),
    "nanoarrow": lambda kind: pytest.importorskip("nanoarrow").Array(array(kind)),
    "a C array of nanoarrow": lambda kind: pytest.importorskip("nanoarrow").c_array(array(kind)),
    "arro3": lambda kind: pytest.importorskip("arro3.core").Array.from_arrow(array(kind)),
    "narwhals of pyarrow": lambda kind: pytest.importorskip("narwhals").from_native(
        pa.chunked_array([array(kind)]), series_only=True
    ),
    "narwhals of polars": lambda kind: pytest.importorskip("narwhals").from_native(
        pytest.importorskip("polars").Series("n", array(kind)), series_only=True
    ),
    "pyarrow": array,
}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("library", COLUMNS)
def test_a_column_of_a_library_has_its_values(library, kind):
    assert lend.column(COLUMNS[library](kind)).tolist() == VALUES[kind]


@pytest.mark.parametrize("library", COLUMNS)
def test_a_column_that_is_no_array_is_surveyed_as_a_column(library):
    plan = lend.explain(COLUMNS[library]("s"))
    assert "utf8" in plan.source
    assert plan.targets["pyarrow"] == "shared"


@pytest.mark.parametrize("chunks", [0, 1, 2, 3])
@pytest.mark.parametrize("kind", VALUES)
def test_an_array_of_nanoarrow_is_taken_with_all_its_chunks(kind, chunks):
    nanoarrow = pytest.importorskip("nanoarrow")
    source = nanoarrow.Array(pa.chunked_array([array(kind)] * chunks, array(kind).type))
    column = lend.column(source)
    assert (column.tolist(), len(column.chunks)) == (VALUES[kind] * chunks, chunks)
    assert lend.to(source, "pyarrow").to_pylist() == VALUES[kind] * chunks


def test_a_column_of_ibis_is_refused_with_what_makes_one_of_it():
    x = of_ibis_memory().i
    for ask in (lend.column, lend.table, lambda x: lend.table({"a": x})):
        with pytest.raises(NotLendable) as refused:
            ask(x)
        assert lend.table({"name": x.to_pyarrow()})["name"].tolist() == TWICE["i"]
        assert "x.to_pyarrow()" in refused.value.remedy


def test_a_lazy_frame_of_narwhals_is_refused_with_what_makes_a_table_of_it():
    x = pytest.importorskip("narwhals").from_native(pytest.importorskip("polars").LazyFrame(plain()))
    with pytest.raises(NotLendable, match=r"is a query, not memory: collect\(\) first") as refused:
        lend.table(x)
    assert refused.value.remedy == "lend.table(x.collect())"
    assert rows(lend.table(x.collect())) == EXPECTED


# -- extension arrays of pandas that are somebody's ----------------------------------------------------------------


def somebodys(given):
    """An extension array of two elements; `given` is what it answers to Arrow."""
    pd, np = pytest.importorskip("pandas"), pytest.importorskip("numpy")

    class Dtype(pd.api.extensions.ExtensionDtype):
        name, type, na_value = "somebody's", float, float("nan")

        @classmethod
        def construct_array_type(cls):
            return Array

    class Array(pd.api.extensions.ExtensionArray):
        dtype, nbytes = Dtype(), 16

        def __init__(self, values):
            self.values = np.asarray(values)

        def __len__(self):
            return len(self.values)

        def __getitem__(self, key):
            found = self.values[key]
            return type(self)(found) if isinstance(found, np.ndarray) else found

        def isna(self):
            return np.isnan(self.values)

        def copy(self):
            return type(self)(self.values.copy())

        def __arrow_array__(self, type=None):
            if isinstance(given, Exception):
                raise given
            return given

    return Array([1.0, float("nan")])


WRAPS = {
    "array": lambda array: lend.column(array),
    "series": lambda array: lend.column(pytest.importorskip("pandas").Series(array, name="n")),
    "frame": lambda array: lend.table(pytest.importorskip("pandas").DataFrame({"n": array}))["n"],
}


@pytest.mark.parametrize("given", [pa.array([1.0, None]), pa.chunked_array([["a"], [None]])], ids=["numbers", "chunks"])
@pytest.mark.parametrize("wrap", WRAPS)
def test_an_extension_array_of_somebodys_is_taken_by_its_own_array_of_arrow(wrap, given):
    assert WRAPS[wrap](somebodys(given)).tolist() == given.to_pylist()


@pytest.mark.parametrize("wrap", WRAPS)
def test_an_extension_array_whose_own_method_raises_is_refused_with_what_it_raised(wrap):
    with pytest.raises(NotLendable, match=r"column.* is of .*Array, whose __arrow_array__ raised") as refused:
        WRAPS[wrap](somebodys(ValueError("no units")))
    assert refused.value.tried == "__arrow_array__() -> ValueError: no units"
    assert 'x.astype("float64")' in refused.value.remedy


@pytest.mark.parametrize("wrap", WRAPS)
def test_an_extension_array_that_gives_another_number_of_elements_is_not_believed(wrap):
    with pytest.raises(MalformedDescriptor, match="of 2 elements, whose __arrow_array__ gave 1"):
        WRAPS[wrap](somebodys(pa.array([1.0])))
