"""Columns and tables handed on: what arrives is right, what explain said is what happened."""

import array
import gc
import sys

import pytest

import lend
from lend.errors import CopyRequired, UnsupportedLayout

pa = pytest.importorskip("pyarrow")

ROWS = {
    "n": [1, None, 3],
    "s": ["a", None, "ünï"],
    "f": [1.5, None, 2.5],
    "l": [[1, 2], None, []],
    "k": ["x", "y", "x"],
}


def source():
    made = pa.table({name: values for name, values in ROWS.items() if name != "k"})
    return made.append_column("k", pa.array(ROWS["k"]).dictionary_encode())


def table():
    return lend.table(source())


TARGETS = ["pyarrow", "polars", "pandas", "arro3", "duckdb"]


def rows_in(made, target):
    """The columns of what a target made, as lists."""
    if target == "pandas":
        return {column.name: column.tolist() for column in lend.table(made)}
    if target == "arro3":
        made = pa.table(made)
    if target == "duckdb":
        made = made.to_arrow_table() if hasattr(made, "to_arrow_table") else made.arrow()
        made = pa.table(made)
    if target == "polars":
        return {name: made[name].to_list() for name in made.columns}
    return {name: made[name].to_pylist() for name in made.column_names}


@pytest.mark.parametrize("target", TARGETS)
def test_a_table_arrives_with_its_values_in(target):
    pytest.importorskip(target)
    assert rows_in(lend.to(table(), target), target) == ROWS


@pytest.mark.parametrize("target", TARGETS)
def test_a_frame_of_another_library_arrives_in(target):
    pytest.importorskip(target)
    assert rows_in(lend.to(source(), target), target) == ROWS


@pytest.mark.parametrize("target", ["pyarrow", "polars", "pandas", "arro3"])
def test_a_column_arrives_with_its_nulls_in(target):
    pytest.importorskip(target)
    assert lend.column(lend.to(table()["s"], target)).tolist() == ROWS["s"]


@pytest.mark.parametrize("target", TARGETS)
def test_what_lend_copies_of_a_frame_is_what_explain_said(target):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip(target)
    numpy = pytest.importorskip("numpy")
    frame = pandas.DataFrame({
        "f": [1.5, numpy.nan, 2.5], "b": [True, False, True], "m": pandas.array([1, None, 3], dtype="Int64"),
        "k": pandas.Categorical(["x", None, "y"]), "t": pandas.to_datetime(["2026-01-01", None, "2026-01-03"]),
    })  # fmt: skip
    told = sum(step.nbytes for step in lend.explain(frame, target).steps if step.who == "lend")
    with lend.copies() as copies:
        lend.to(frame, target)
    assert copies.bytes == told


def test_pyarrow_shares_every_buffer():
    taken = source()
    made = lend.to(lend.table(taken), "pyarrow")
    for name in taken.column_names:
        theirs = [None if part is None else part.address for part in taken[name].chunk(0).buffers()]
        ours = [None if part is None else part.address for part in made[name].chunk(0).buffers()]
        assert ours == theirs, name


def test_explain_of_pyarrow_says_that_nothing_is_copied():
    plan = lend.explain(table(), "pyarrow")
    assert (plan.bytes_copied, plan.copies) == (0, ())
    assert "all columns, as pyarrow.Table" in str(plan)


def test_explain_names_the_columns_that_polars_copies():
    pytest.importorskip("polars")
    plan = lend.explain(table(), "polars")
    assert [step.what for step in plan.copies] == ["column 's'", "column 'l'", "column 'k'"]
    assert plan.bytes_copied is None
    assert "polars keeps text and bytes in views" in str(plan)


def test_without_a_copy_the_first_column_that_would_be_copied_is_named():
    pytest.importorskip("polars")
    with pytest.raises(CopyRequired, match="column 's': polars keeps text and bytes in views") as caught:
        lend.to(table(), "polars", copy=False)
    assert caught.value.remedy == "copy=None (polars copies)"


def test_without_a_copy_what_is_shared_goes():
    polars = pytest.importorskip("polars")
    made = lend.to(table().select(["n", "f"]), "polars", copy=False)
    assert isinstance(made, polars.DataFrame)


def test_a_dict_of_anything_goes_as_a_table():
    polars = pytest.importorskip("polars")
    made = lend.to({"a": array.array("i", [1, 2]), "b": pa.array(["p", None])}, "polars")
    assert made.equals(polars.DataFrame({"a": [1, 2], "b": ["p", None]}, schema_overrides={"a": polars.Int32}))


def test_an_array_goes_to_a_library_of_columns():
    polars = pytest.importorskip("polars")
    assert lend.to(array.array("d", [1.5, 2.5]), "polars").to_list() == [1.5, 2.5]
    assert isinstance(lend.to(array.array("d", [1.5]), polars.Series), polars.Series)


@pytest.mark.parametrize("target", ["numpy", "torch", "memoryview"])
def test_a_column_without_nulls_is_an_array(target):
    if target != "memoryview":
        pytest.importorskip(target)
    assert lend.to(lend.column(pa.array([1, 2, 3]))[1:], target, copy=None).tolist() == [2, 3]


def test_a_callable_gets_the_table():
    assert lend.to(table(), lambda given: given.num_rows) == 3
    assert lend.to(table()["n"], lambda given: given.null_count) == 1


def test_a_table_is_not_made_where_a_column_was_named():
    with pytest.raises(UnsupportedLayout, match="a table is not handed on as pyarrow.lib.Array"):
        lend.to(table(), pa.Array)


@pytest.mark.parametrize("target", ["pyarrow.Table", pa.Table, pa, "pa"])
def test_a_target_is_named_in_several_ways(target):
    assert isinstance(lend.to(table(), target), pa.Table)


def test_an_option_that_the_target_does_not_know_is_refused():
    with pytest.raises(TypeError, match="names: not an option of pyarrow; its options: bool8"):
        lend.to(table(), "pyarrow", names="unique")


def test_a_library_that_is_not_there_is_named_with_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "arro3", None)
    with pytest.raises(ImportError, match="arro3 is not installed: python -m pip install arro3-core"):
        lend.to(table(), "arro3")


def test_explain_without_a_target_surveys_the_libraries_of_columns():
    verdicts = lend.explain(table()).targets
    assert verdicts["pyarrow"] == "shared"


def test_a_plan_holds_no_lease():
    gc.collect()  # of what other tests left in cycles
    before = len(lend.loans())
    plan = lend.explain(source(), "pyarrow")
    assert len(lend.loans()) == before
    assert plan.source_type == "pyarrow.lib.Table"


# -- what gives its rows once ---------------------------------------------------------------------------------------


def reader():
    made = source()
    return pa.RecordBatchReader.from_batches(made.schema, made.to_batches())


def of_arro3():
    return pytest.importorskip("arro3.core").RecordBatchReader.from_arrow(source())


ONCE = {
    "a reader of pyarrow": reader,
    "a reader of arro3": of_arro3,
    "a capsule of a stream": lambda: source().__arrow_c_stream__(),
    "two capsules": lambda: source().to_batches()[0].__arrow_c_array__(),
    "a lazy table": lambda: lend.table(reader(), lazy=True),
}


@pytest.mark.parametrize("name", ONCE)
def test_explain_leaves_what_gives_its_rows_once_as_it_is(name):
    obj = ONCE[name]()
    plan = lend.explain(obj, "pyarrow")
    assert "Table whose rows did not come yet: n int64, s utf8" in plan.source
    assert rows_in(lend.to(obj, "pyarrow"), "pyarrow") == ROWS


def test_explain_of_rows_that_did_not_come_does_not_say_how_many_are_copied():
    pytest.importorskip("pandas")
    assert lend.explain(reader(), "pandas").bytes_copied is None
    pytest.importorskip("polars")
    assert "column 's'" in [step.what for step in lend.explain(reader(), "polars").copies]


def test_a_survey_leaves_a_reader_as_it_is():
    obj = reader()
    assert lend.explain(obj).targets["pyarrow"] == "shared"
    assert obj.read_all().num_rows == 3


def test_explain_refuses_to_look_into_what_does_not_tell_its_types_before():
    class Untold:
        def __arrow_c_stream__(self, requested_schema=None):
            raise AssertionError("asked for in vain")

    with pytest.raises(lend.errors.NotLendable, match="gives its rows once, and does not tell their types before"):
        lend.explain(Untold(), "pyarrow")


def test_explain_leaves_a_capsule_of_a_tensor_as_it_is():
    numpy = pytest.importorskip("numpy")
    polars = pytest.importorskip("polars")
    capsule = numpy.arange(3).__dlpack__(max_version=(1, 0))
    assert lend.explain(capsule, "polars").protocol == "DLPack capsule"
    assert lend.to(capsule, "polars").equals(polars.Series("", [0, 1, 2]))


@pytest.mark.parametrize("target", TARGETS)
def test_a_table_without_chunks_arrives_typed_in(target):
    pytest.importorskip(target)
    schema = source().schema
    empty = pa.RecordBatchReader.from_batches(schema, [])
    made = lend.table(lend.to(empty, target))
    assert (made.names, made.num_rows) == (tuple(schema.names), 0)
    if target == "pandas":
        assert made["k"].dtype.dictionary == "large_utf8"


def test_memory_that_can_be_written_to_is_told_to_be_aliased():
    written = {"a": array.array("i", [1, 2])}
    assert "aliased: later writes to the source are visible there" in lend.explain(written, "pyarrow").notes
    assert lend.explain(source(), "pyarrow").notes == ()


def test_a_frame_of_pandas_is_told_to_copy_what_is_lent_before_it_writes():
    pandas = pytest.importorskip("pandas")
    plan = lend.explain(pandas.DataFrame({"a": [1, 2]}), "pyarrow")
    assert plan.protocol == "pandas, as it lies"
    assert "while this is lent, pandas copies a lent block before its next write to it" in plan.notes


def test_a_column_is_shared_with_torch_by_who_promises_not_to_write():
    torch = pytest.importorskip("torch")
    column = lend.column(pa.array([1, 2, 3]))
    with pytest.raises(CopyRequired, match="read-only"):
        lend.to(column, "torch", copy=False)
    made = lend.to(column, "torch", copy=False, alias_readonly=True)
    assert (type(made), made.data_ptr()) == (torch.Tensor, column.buffers["data"].ptr)


class OnDevice:
    __cuda_array_interface__ = {
        "shape": (3,), "typestr": "<i8", "data": (4096, False), "version": 3, "stream": None,
    }  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_a_column_on_a_device_is_not_handed_to_a_library_of_the_host(target):
    pytest.importorskip(target)
    with pytest.raises(lend.errors.NotHostAccessible, match="takes memory of the host"):
        lend.to({"far": lend.column(OnDevice())}, target)


def test_what_is_copied_on_taking_is_told_and_not_counted_by_explain():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": ["x", None]}, dtype=object)
    with lend.copies() as looked:
        plan = lend.explain(frame, "pyarrow")
    with lend.copies() as made:
        lend.to(frame, "pyarrow")
    assert (looked.bytes, plan.bytes_copied) == (0, made.bytes)
    assert [(step.kind, step.who, step.why) for step in plan.copies] == [("take", "lend", "Python objects as text")]


def test_what_would_be_copied_on_taking_is_refused_when_nothing_may_be():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": ["x", None]}, dtype=object)
    for ask in (lend.to, lend.explain):
        with pytest.raises(CopyRequired, match="column 'a' is of Python objects"):
            ask(frame, "pyarrow", copy=False)


def test_what_lend_writes_and_what_the_target_does_are_two_steps():
    pytest.importorskip("pandas")
    source = pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int8()), pa.array(["x"], pa.string_view()))
    with lend.copies() as made:
        lend.to(source, "pandas")
    steps = [(step.who, step.nbytes, step.why) for step in lend.explain(source, "pandas").copies]
    assert steps == [("lend", made.bytes, "nulls as -1"), ("target", None, "pyarrow makes offsets of views")]


def test_what_lend_copies_on_the_way_is_no_alias():
    np = pytest.importorskip("numpy")
    assert lend.explain(lend.column(np.arange(6)[::2]), "pyarrow").notes == ()
    assert lend.explain(lend.column(np.arange(6)), "pyarrow").notes == (
        "aliased: later writes to the source are visible there",
    )


# -- what a newcomer met --


def test_an_index_comes_back_that_went_through_columns_which_were_prepared():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"v": [1.5, None], 7: [True, False]}, index=["x", "y"])
    back = lend.to(lend.to(frame, "pyarrow"), "pandas")
    assert (list(back.index), list(back.columns)) == (["x", "y"], ["v", 7])


@pytest.mark.parametrize("copy", [None, True])
def test_metadata_of_a_table_go_along_whatever_is_made_of_its_columns(copy):
    np = pytest.importorskip("numpy")
    told = lend.table(lend.table({"a": np.arange(6)[::2]}), copy=None)
    source = pa.table(told).replace_schema_metadata({"k": "v"})
    assert lend.to(source, "pyarrow", copy=copy).schema.metadata == {b"k": b"v"}


REFUSED_BEFORE = {
    "a copy": ("polars", {"copy": False}, CopyRequired),
    "an option of a wrong value": ("pandas", {"dtype_backend": "xx"}, ValueError),
    "an option that there is not": ("pyarrow", {"stock": True}, TypeError),
    "text as an array": ("torch", {}, lend.LendError),
}


@pytest.mark.parametrize("case", REFUSED_BEFORE)
def test_what_the_types_alone_refuse_leaves_the_rows_of_a_reader(case):
    target, keywords, error = REFUSED_BEFORE[case]
    pytest.importorskip(target)
    reader = pa.table({"s": ["x", None]}).to_reader()
    with pytest.raises(error):
        lend.to(reader, target, **keywords)
    assert lend.to(reader, "pyarrow").to_pydict() == {"s": ["x", None]}


def test_a_reader_that_lend_drained_is_not_explained():
    reader = pa.table({"n": [1]}).to_reader()
    lend.to(reader, "pyarrow")
    with pytest.raises(lend.LendError, match="already consumed"):
        lend.explain(reader, "pyarrow")


def test_the_index_of_a_frame_may_be_left_out_of_what_knows_no_index():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": [3, 4]}, index=[7, 9])
    assert lend.to(frame, "numpy", stack=True, index="drop").tolist() == [[1, 3], [2, 4]]
    assert lend.to(frame, "pyarrow", index="drop").column_names == ["a", "b"]


def test_what_has_no_index_is_refused_one():
    np = pytest.importorskip("numpy")
    with pytest.raises(lend.LendError, match="index='drop' is about the index of a DataFrame"):
        lend.to(np.arange(3), "numpy", index="drop")


@pytest.mark.parametrize("index", [["x", "y"], [0, 2]])
def test_an_index_of_a_series_that_does_not_go_along_is_told(index):
    pandas = pytest.importorskip("pandas")
    note = "the index is no part of a column, and is not carried"
    assert note in lend.explain(pandas.Series([1, 2], index=index), "pandas", copy=True).notes
    assert note not in lend.explain(pandas.Series([1, 2]), "pandas", copy=True).notes


def test_a_callable_gets_a_table_of_what_is_one():
    assert lend.to(source(), type) is lend.Table
    assert lend.to({"n": pa.array([1])}, type) is lend.Table


def test_the_dict_of_a_table_has_its_columns_by_name():
    made = lend.to(pa.table({"a": ["x", None], "b": [1, 2]}), dict)
    assert {name: column.tolist() for name, column in made.items()} == {"a": ["x", None], "b": [1, 2]}
    with pytest.raises(UnsupportedLayout, match="no two values of one name"):
        lend.to(pa.table([[1], [2]], names=["a", "a"]), dict)


def test_a_connection_that_is_none_is_refused_by_its_name():
    pytest.importorskip("duckdb")
    with pytest.raises(TypeError, match="connection is one of duckdb's"):
        lend.to(table(), "duckdb", connection=3)


def test_a_misspelt_target_is_told_those_of_columns_too():
    with pytest.raises(ValueError, match="near: polars; there are numpy, .*pandas"):
        lend.to(table(), "polar")


@pytest.mark.parametrize("target", ["polars", "numpy", "pandas", list])
def test_an_array_of_nanoarrow_is_a_column(target):
    nanoarrow = pytest.importorskip("nanoarrow")
    if isinstance(target, str):
        pytest.importorskip(target)
    made = lend.to(nanoarrow.Array([1, 2], nanoarrow.int64()), target)
    assert (made if isinstance(made, list) else made.tolist() if target == "numpy" else list(made)) == [1, 2]


def test_rows_of_nanoarrow_are_a_table():
    nanoarrow = pytest.importorskip("nanoarrow")
    for source in (nanoarrow.Array(pa.table({"a": [1]}).to_batches()[0]), nanoarrow.ArrayStream(pa.table({"a": [1]}))):
        assert lend.to(source, "pyarrow").to_pydict() == {"a": [1]}


def test_a_reader_that_is_refused_for_its_rows_says_that_they_are_gone():
    pytest.importorskip("numpy")
    with pytest.raises(lend.LendError, match=r"this one gave its rows before .* \(t = lend.table\(x\) keeps them\)"):
        lend.to(pa.table({"i": [1, None]}).to_reader(), "numpy")
    with pytest.raises(lend.LendError) as caught:
        lend.to(pa.table({"i": [1, None]}), "numpy")
    assert "gave its rows" not in str(caught.value)
