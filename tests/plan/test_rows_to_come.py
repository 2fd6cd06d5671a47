"""Readers, which give their rows once: what their types refuse leaves them as they are, the rest is told before."""

import pytest

import lend
from support import column_kinds

pa = pytest.importorskip("pyarrow")

ASKED = {
    "numpy": ("numpy", {}),
    "numpy.ma": ("numpy.ma", {}),
    "numpy, nan": ("numpy", {"nulls": "nan"}),
    "numpy, forbid": ("numpy", {"nulls": "forbid"}),
    "numpy, fill": ("numpy", {"nulls": ("fill", 0)}),
    "numpy, object": ("numpy", {"nulls": "object"}),
    "numpy, strings": ("numpy", {"strings": "object"}),
    "numpy, stacked": ("numpy", {"stack": True}),
    "numpy, storage": ("numpy", {"storage": True}),
    "numpy, without a copy": ("numpy", {"copy": False}),
    "torch": ("torch", {}),
    "pandas": ("pandas", {}),
    "pandas, without a copy": ("pandas", {"copy": False}),
    "pandas, forbid": ("pandas", {"nulls": "forbid"}),
    "pandas, nan": ("pandas", {"nulls": "nan"}),
    "pandas, fill": ("pandas", {"nulls": ("fill", 0)}),
    "polars": ("polars", {}),
    "polars, forbid": ("polars", {"nulls": "forbid"}),
    "polars, fill": ("polars", {"nulls": ("fill", 0)}),
    "polars, struct": ("polars", {"nulls": "struct"}),
    "pyarrow, copied": ("pyarrow", {"copy": True}),
    "pyarrow, struct": ("pyarrow", {"nulls": "struct"}),
    "a batch of pyarrow's": ("pyarrow.RecordBatch", {}),
    "duckdb": ("duckdb", {}),
    "arro3": ("arro3", {}),
    "a callable": (list, {"nulls": "forbid"}),
    "bytes": (bytes, {}),
}


def tables():
    found = column_kinds.arrays() | column_kinds.more_arrays()
    return {kind: pa.table({"a": pa.chunked_array([array, array])}) for kind, (array, _) in found.items()}


def refused(use, *args, **keywords):
    try:
        return use(*args, **keywords), None
    except lend.LendError as error:
        return None, error.fact


@pytest.mark.parametrize("case", ASKED)
def test_what_a_reader_is_refused_was_refused_while_it_had_its_rows_or_told_by_explain(case):
    target, keywords = ASKED[case]
    if isinstance(target, str):
        pytest.importorskip(target.partition(".")[0])
    surprised = {}
    for kind, table in tables().items():
        reader = table.to_reader()
        plan, before = refused(lend.explain, reader, target, **keywords)
        _, done = refused(lend.to, reader, target, **keywords)
        rows = None if done is None else reader.read_all().num_rows
        if before is None and done is not None and not any("may be refused" in note for note in plan.notes):
            surprised[kind] = done
        elif before is not None and (before, rows) != (done, table.num_rows):
            surprised[kind] = (before, done, rows)
    assert surprised == {}


MAY = {
    "nulls": ("numpy", {}, "nulls, of which an array has no word (nulls= says how they are shown)"),
    "forbidden nulls": ("polars", {"nulls": "forbid"}, 'nulls, by nulls="forbid"'),
    "forbidden nulls of a call": (len, {"nulls": "forbid"}, 'nulls, by nulls="forbid"'),
    "a value": ("polars", {"nulls": ("fill", "x")}, "nulls that cannot be filled with 'x'"),
    "exactness": (
        "pandas",
        {"nulls": "nan"},
        "integers beside nulls that float64 does not hold exactly, and NaN beside nulls",
    ),
    "chunks": ("pyarrow.RecordBatch", {}, "several chunks, as RecordBatch has one"),
    "copies": ("numpy", {"nulls": "object", "copy": False}, "whatever must be copied, several chunks among it"),
}


@pytest.mark.parametrize("case", MAY)
def test_the_plan_of_a_reader_says_what_its_rows_may_be_refused_for(case):
    target, keywords, told = MAY[case]
    if isinstance(target, str):
        pytest.importorskip(target.partition(".")[0])
    plan = lend.explain(pa.table({"i": [1]}).to_reader(), target, **keywords)
    assert f"may be refused when the rows come: {told}" in plan.notes


@pytest.mark.parametrize("target", ["pandas", "numpy"])
def test_the_plan_of_a_reader_whose_rows_lend_may_copy_says_that_they_show_it(target):
    pytest.importorskip(target)
    headline = str(lend.explain(pa.table({"i": [1]}).to_reader(), target)).partition("\n")[0]
    assert headline.endswith(": what is copied shows when the rows come")


def test_the_plan_of_rows_that_are_there_says_nothing_of_rows_to_come():
    assert not any("may be" in note for note in lend.explain(pa.table({"i": [1]}), list, nulls="forbid").notes)


# -- plans of many columns -----------------------------------------------------------------------------------------


def alike(count, **more):
    return pa.table({**{f"c{i}": [1, None] for i in range(count)}, **more})


def test_a_reason_that_several_columns_have_is_told_once_with_their_names():
    pytest.importorskip("duckdb")
    plan = lend.explain(alike(12), "duckdb")
    text = str(plan)
    assert text.count("duckdb copies what it reads") == 1
    assert "give : columns 'c0', 'c1', 'c2' and 9 more  target may copy" in text
    assert [step.column for step in plan.steps[1:]] == [f"c{i}" for i in range(12)]


def test_bytes_of_columns_that_are_told_together_are_added_up():
    pytest.importorskip("numpy")
    plan = lend.explain(alike(4), "numpy", nulls="nan")
    assert "copy : columns 'c0', 'c1', 'c2', 'c3' as float64[2]  lend copies 64 bytes" in str(plan)
    assert (plan.bytes_copied, [step.nbytes for step in plan.copies]) == (64, [16] * 4)


def test_columns_that_are_done_differently_with_are_told_apart():
    pytest.importorskip("numpy")
    text = str(lend.explain(alike(2, b=[True, None]), "numpy", nulls="object"))
    assert "columns 'c0', 'c1', 'b' as Python objects" in text
    text = str(lend.explain(alike(2, b=[True, False]), "numpy", nulls="nan"))
    assert ("columns 'c0', 'c1' as float64[2]" in text, text.count("column 'b'")) == (True, 1)


def test_a_type_that_several_columns_become_is_noted_once():
    pytest.importorskip("duckdb")
    words = pa.array(["a", "b"]).dictionary_encode()
    plan = lend.explain(pa.table({"a": words, "b": words, "c": [1, 2]}), "duckdb")
    assert list(plan.notes) == [
        "each of columns 'a', 'b', dictionary[int32, utf8], becomes the values, decoded"
    ]  # fmt: skip


def test_the_page_of_a_plan_tells_columns_together_too():
    pytest.importorskip("duckdb")
    assert lend.explain(alike(12), "duckdb")._repr_html_().count("duckdb copies what it reads") == 1


@pytest.mark.parametrize("name", ["polars", "duckdb"])
@pytest.mark.parametrize("kind", ["a negative scale", "dense union"])
def test_what_a_library_dies_of_is_refused_before(name, kind):
    pytest.importorskip(name)
    arrays = column_kinds.arrays() | column_kinds.more_arrays()
    array = arrays["decimal of 64 bits" if kind == "a negative scale" else kind][0]
    with pytest.raises(lend.errors.UnsupportedType, match=f"{name} has no (decimal of a negative scale|.*union)"):
        lend.explain(pa.table({"a": array}), name)
