"""What is said of rows in lists, iterators and files: each remedy is tried, word for word."""

import pathlib
import re

import pytest

import lend
from lend.errors import NotLendable

pa = pytest.importorskip("pyarrow")

TABLE = pa.table({"a": [1, 2], "b": ["x", None]})
WAY = re.compile(
    r"[a-z.]*(?:DataFrame|Table\.from_\w+|concat\w*|array|lend\.table|read_\w+|load|open_file)\(.*?\)(?=,? or |, |$)"
)


def libraries():
    return {"lend": lend, "pyarrow": pa} | {name: pytest.importorskip(name) for name in ("pandas", "polars", "numpy")}


def remedy_of(ask, thing):
    with pytest.raises(NotLendable) as refused:
        ask(thing)
    return refused.value.remedy


def ways(remedy):
    """The calls that a remedy names."""
    found = [found for line in remedy.split("\n") for found in WAY.findall(line)]
    assert found, remedy
    return found


ROWS = {
    "batches": (TABLE.to_batches, "pyarrow.Table.from_batches(x)"),
    "a tuple of batches": (lambda: tuple(TABLE.to_batches()), "pyarrow.Table.from_batches(x)"),
    "tables": (lambda: [TABLE], "pyarrow.concat_tables(x)"),
    "dicts": (TABLE.to_pylist, "pandas.DataFrame(x), polars.DataFrame(x) or pyarrow.Table.from_pylist(x)"),
    "tuples": (lambda: [(1, "x"), (2, None)], 'pandas.DataFrame(x), or polars.DataFrame(x, orient="row")'),
    "frames of polars": (lambda: [pytest.importorskip("polars").DataFrame(TABLE)], "polars.concat(x)"),
    "frames of pandas": (lambda: [TABLE.to_pandas()], "pandas.concat(x)"),
    "numbers": (lambda: [1, 2], 'lend.table({"name": pyarrow.array(x)})'),
    "numbers and nothing": (lambda: [None, 2], 'lend.table({"name": pyarrow.array(x)})'),
    "texts": (lambda: ["a", "b"], 'lend.table({"name": pyarrow.array(x)})'),
    "a range": (lambda: range(2), 'lend.table({"name": pyarrow.array(x)})'),
    "a set": (lambda: {1, 2}, 'lend.table({"name": pyarrow.array(x)})'),
    "arrays": (lambda: [pa.array([1, 2]), pa.array([3, 4])], 'lend.table({"a": x[0], "b": x[1]})'),
}


@pytest.mark.parametrize("kind", ROWS)
def test_what_makes_a_table_of_rows_is_named_and_makes_it(kind):
    made, told = ROWS[kind]
    remedy = remedy_of(lend.table, made())
    assert remedy.endswith(told)
    for way in ways(remedy):
        assert len(lend.table(eval(way, libraries() | {"x": made()}))) == 2


@pytest.mark.parametrize("target", ["polars", "pandas", "pyarrow", list])
@pytest.mark.parametrize("kind", ["batches", "tables", "dicts"])
def test_rows_that_are_handed_on_are_told_what_makes_a_table_of_them(kind, target):
    made, told = ROWS[kind]
    assert remedy_of(lambda rows: lend.to(rows, target), made()).endswith(told)


YIELDED = {
    "of batches": (TABLE.to_batches, "pyarrow.Table.from_batches"),
    "of dicts": (TABLE.to_pylist, "pandas.DataFrame"),
    "of tuples": (lambda: [(1, "x"), (2, None)], "polars.DataFrame"),
}


@pytest.mark.parametrize("kind", YIELDED)
def test_what_makes_a_table_of_an_iterator_is_named_and_makes_it(kind):
    made, way = YIELDED[kind]
    remedy = remedy_of(lend.table, iter(made()))
    assert f"{way}(x)" in remedy
    assert len(lend.table(eval(f"{way}(x)", libraries() | {"x": iter(made())}))) == 2


@pytest.mark.parametrize("x", [[1, None], ["a", None], (1.5,), range(3), [(1, 2)], []], ids=repr)
@pytest.mark.parametrize("ask", [lend.column, lambda x: lend.table({"a": x})], ids=["column", "table"])
def test_what_makes_a_column_of_values_is_named_and_makes_it(ask, x):
    remedy = remedy_of(ask, x)
    assert remedy == "a column of its values: pyarrow.array(x)"
    assert len(ask(pa.array(x))) == len(x)


def test_what_makes_a_column_of_what_an_iterator_yields_is_named():
    assert "of values: pyarrow.array(x)" in remedy_of(lend.column, iter([1, 2]))
    assert lend.column(pa.array(iter([1, 2]))).tolist() == [1, 2]


def test_arrays_in_a_list_are_told_to_be_chunks():
    x = [pa.array([1]), pa.array([2])]
    assert remedy_of(lend.column, x) == "its items as the chunks of one column: pyarrow.chunked_array(x)"
    assert lend.column(pa.chunked_array(x)).tolist() == [1, 2]


def test_a_dict_is_no_column_and_may_be_a_table():
    assert "lend.table(x)" in remedy_of(lend.column, {"a": pa.array([1])})


# -- files ---------------------------------------------------------------------------------------------------------


def write(table, path):
    ending = path.suffix
    if ending == ".parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
    elif ending == ".csv":
        pytest.importorskip("pyarrow.csv").write_csv(table, path)
    elif ending == ".feather":
        pytest.importorskip("pyarrow.feather").write_feather(table, path, compression="uncompressed")
    elif ending == ".arrow":
        with pa.ipc.new_file(path, table.schema) as file:
            file.write(table)
    else:
        numpy = pytest.importorskip("numpy")
        numpy.save(path, numpy.array([[1, 2], [3, 4]]))


@pytest.mark.parametrize("given", [str, pathlib.Path])
@pytest.mark.parametrize("ending", ["parquet", "csv", "feather", "arrow", "npy"])
@pytest.mark.parametrize(
    "ask", [lend.table, lend.column, lambda x: lend.to(x, "polars")], ids=["table", "column", "to"]
)
def test_what_reads_a_file_is_named_by_its_ending_and_reads_it(tmp_path, monkeypatch, ask, ending, given):
    monkeypatch.chdir(tmp_path)
    path = pathlib.Path(f"x.{ending}")
    write(TABLE, path)
    x = given(path)
    remedy = remedy_of(ask, x).partition("\n")[0]
    assert ("memmap" in remedy, "numpy.load" in remedy) == (False, ending == "npy")
    for way in ways(remedy.removeprefix("what reads the file: ")):
        assert len(lend.table(eval(way, libraries() | {"x": x}))) == 2


def test_a_file_of_an_ending_that_nobody_knows_is_told_to_be_mapped():
    assert 'numpy.memmap(x, mode="r") for bare bytes' in remedy_of(lend.table, pathlib.Path("some/file"))
