"""Columns and tables to a callable: what it gets, and what of `copy=` and `nulls=` it can be given."""

import pytest

import lend
from lend.errors import CopyRequired, UnsupportedType

pa = pytest.importorskip("pyarrow")

NO_ARRAYS = {
    "chunks": pa.chunked_array([[1], [2]]),
    "nulls": pa.array([1, None]),
    "text": pa.array(["a", "b"]),
    "lists": pa.array([[1], []]),
}
SOURCES = {**NO_ARRAYS, "table": pa.table({"a": [1, 2], "b": ["x", None]})}


def itself(thing):
    return thing


@pytest.mark.parametrize("name", NO_ARRAYS)
def test_a_callable_gets_a_column_of_what_is_no_array(name):
    made = lend.to(NO_ARRAYS[name], itself)
    assert type(made) is lend.Column
    assert made.tolist() == NO_ARRAYS[name].to_pylist()
    assert lend.explain(NO_ARRAYS[name], itself).steps[-1].what.startswith("call of ")


@pytest.mark.parametrize("unit", [None, "s"])
def test_a_callable_gets_a_view_of_what_is_an_array(unit):
    kind = pa.int64() if unit is None else pa.timestamp(unit)
    assert type(lend.to(pa.array([1, 2], kind), itself)) is lend.View


def spans(made):
    columns = made.columns if type(made) is lend.Table else [made]
    chunks = [chunk for column in columns for chunk in column.chunks]
    return {part.ptr for chunk in chunks for part in chunk.buffers.values()}


@pytest.mark.parametrize("name", SOURCES)
def test_a_callable_gets_a_copy_that_was_asked_for_counted_as_told(name):
    source = SOURCES[name]
    shared = lend.to(source, itself)
    plan = lend.explain(source, itself, copy=True)
    with lend.copies() as counted:
        made = lend.to(source, itself, copy=True)
    assert not spans(made) & spans(shared)
    assert counted.bytes == sum(step.nbytes for step in plan.steps if step.who == "lend")
    assert counted.bytes > 0


def test_dict_gets_copies_where_they_were_asked_for():
    made = lend.to(SOURCES["table"], dict, copy=True)
    assert not spans(made["a"]) & spans(lend.table(SOURCES["table"])["a"])


@pytest.mark.parametrize("name", ["nulls", "table"])
def test_without_a_copy_a_callable_gets_what_lies_there(name):
    with lend.copies() as counted:
        made = lend.to(SOURCES[name], itself, copy=False)
    assert counted.count == 0
    assert spans(made) == spans(lend.to(SOURCES[name], itself))


def test_nulls_that_are_forbidden_do_not_reach_a_callable():
    with pytest.raises(UnsupportedType, match="column 'b' has 1 null") as refusal:
        lend.to(SOURCES["table"], itself, nulls="forbid")
    assert "fill" not in refusal.value.remedy
    assert lend.to(SOURCES["table"].select(["a"]), itself, nulls="forbid").names == ("a",)


@pytest.mark.parametrize("nulls", ["mask", "object", ("fill", 0)])
def test_a_callable_is_given_no_other_form_of_nulls(nulls):
    with pytest.raises(UnsupportedType, match="a callable gets columns as they lie"):
        lend.to(SOURCES["table"], itself, nulls=nulls)


def test_a_copy_of_rows_to_come_is_told_a_callable_without_bytes():
    reader = SOURCES["table"].to_reader()
    plan = lend.explain(reader, itself, copy=True)
    assert [step.nbytes for step in plan.steps if step.kind == "work"] == [None, None]
    assert lend.to(reader, itself, copy=True).num_rows == 2


def test_a_misspelt_form_of_nulls_is_told_of_a_callable_too():
    with pytest.raises(ValueError, match="nulls is None"):
        lend.to(SOURCES["table"], itself, nulls="forbidden")


def test_what_must_be_copied_to_be_a_column_is_refused_of_a_callable_without_a_copy():
    np = pytest.importorskip("numpy")
    with pytest.raises(CopyRequired):
        lend.to({"a": np.array([1, 2], ">i4")}, itself, copy=False)
