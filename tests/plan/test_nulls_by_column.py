"""`nulls=` of a table as a dict by column: each column in its own way, of every library."""

import pytest

import lend
from lend.errors import LendError, UnsupportedType

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")

TABLE = pa.table({"i": [1, None], "f": [1.5, None], "b": [None, True], "w": [1, 2]})
EACH = {"i": ("fill", 7), "f": "nan", "b": ("fill", False)}


def test_each_column_has_its_own_way_among_arrays():
    made = lend.to(TABLE, "numpy", nulls=EACH)
    assert {name: array.tolist() for name, array in made.items() if name != "f"} == {
        "i": [1, 7], "b": [False, True], "w": [1, 2],
    }  # fmt: skip
    assert made["f"].dtype == "float64"
    assert np.isnan(made["f"]).tolist() == [False, True]


@pytest.mark.parametrize("target", ["pandas", "polars", "pyarrow"])
def test_each_column_has_its_own_way_in_a_frame(target):
    pytest.importorskip(target)
    made = lend.table(lend.to(TABLE, target, nulls={"i": ("fill", 7), "b": ("fill", False)}))
    assert (made["i"].tolist(), made["b"].tolist(), made["f"].null_count) == ([1, 7], [False, True], 1)


def test_a_column_that_is_not_named_is_as_without():
    with pytest.raises(UnsupportedType, match="column 'f' has 1 null"):
        lend.to(TABLE, "numpy", nulls={"i": ("fill", 7), "b": "object"})


@pytest.mark.parametrize("target", ["numpy", "pyarrow"])
def test_each_may_forbid(target):
    with pytest.raises(UnsupportedType, match="column 'f' has 1 null, and nulls=\"forbid\" was asked for"):
        lend.to(TABLE, target, nulls={**EACH, "f": "forbid"} if target == "numpy" else {"f": "forbid"})


def test_explain_tells_what_to_does():
    plan = lend.explain(TABLE, "numpy", nulls=EACH)
    with lend.copies() as counted:
        lend.to(TABLE, "numpy", nulls=EACH)
    assert plan.bytes_copied == counted.bytes > 0


@pytest.mark.parametrize("target", ["pyarrow", "polars", "pandas", "numpy"])
@pytest.mark.parametrize("way", [("fill", 0), "forbid", "nan", "object", "struct", "mask"], ids=str)
def test_of_rows_to_come_explain_refuses_no_more_than_to_does(target, way):
    pytest.importorskip(target)
    rows = pa.table({"i": [1, 2], "w": [1.5, 2.5]})

    def done(act):
        try:
            return act(rows.to_reader(), target, nulls={"i": way, "w": "forbid"}) is None
        except LendError as refusal:
            return type(refusal)

    assert done(lend.explain) == done(lend.to)


def test_what_rows_to_come_may_refuse_is_told_of_each_column():
    plan = lend.explain(TABLE.to_reader(), "polars", nulls={"i": ("fill", 0), "f": "forbid"})
    assert [note for note in plan.notes if "when the rows come" in note] == [
        'may be refused when the rows come: nulls that cannot be filled with 0; nulls, by nulls="forbid"'
    ]


def test_columns_side_by_side_have_each_their_own_value():
    table = pa.table({"a": [1, None], "b": [None, 2]})
    made = lend.to(table, "numpy", stack=True, nulls={"a": ("fill", -1), "b": ("fill", -2)})
    assert made.tolist() == [[1, -2], [-1, 2]]


def test_one_of_the_columns_side_by_side_may_have_a_mask():
    table = pa.table({"a": [1, None], "b": [None, 2]})
    made = lend.to(table, "numpy.ma", stack=True, nulls={"b": ("fill", -2)})
    assert made.tolist() == [[1, -2], [None, 2]]


def test_what_is_no_object_is_not_put_beside_objects():
    with pytest.raises(UnsupportedType, match="column 'i' was asked for as objects"):
        lend.to(TABLE.select(["i", "w"]), "numpy", stack=True, nulls={"i": "object"})


@pytest.mark.parametrize("target", ["numpy", "pandas", "pyarrow"])
def test_a_name_that_no_column_has_is_an_error_of_the_caller(target):
    pytest.importorskip(target)
    with pytest.raises(KeyError, match="no column is named 'x'; the names: 'i', 'f', 'b', 'w'"):
        lend.to(TABLE, target, nulls={"x": "nan"})


def test_a_column_has_one_way():
    with pytest.raises(TypeError, match="is for tables"):
        lend.to(pa.array([1, None]), "numpy", nulls={"x": "nan"})


def test_what_is_no_way_is_refused_within_as_well():
    with pytest.raises(ValueError, match="nulls is None"):
        lend.to(TABLE, "numpy", nulls={"i": "zero"})


def test_no_way_for_any_column_is_none_for_all():
    assert lend.to({"a": pa.array([1, None])}, "numpy.ma", nulls={})["a"].tolist() == [1, None]
    with pytest.raises(UnsupportedType, match="an array of int64 has no word for them\\n"):
        lend.to({"a": pa.array([1, None])}, "numpy", nulls={})
