"""What a plan says for certain: who copies, what is made, and of whose memory lend holds something."""

import subprocess
import sys

import pytest

import lend
from lend.adapters.verdicts import TO_COME
from lend.plan.steps import Plan, Step

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")


def headline(obj, target, **asked):
    return str(lend.explain(obj, target, **asked)).partition("\n")[0].partition(": ")[2]


def told(*steps):
    return str(Plan(source="", source_type="x", target="y", protocol="p", steps=steps)).partition("\n")[0]


# -- what is certain of a copy whose bytes only the target knows -------------------------------------------------------


def test_what_lend_copies_for_sure_is_told_where_the_target_may_copy_more():
    pytest.importorskip("polars")
    plan = lend.explain(pd.Series(["a" * 9] * 3, dtype=object), "polars")
    assert plan.bytes_copied is None
    lent = sum(step.nbytes for step in plan.copies if step.who == "lend")
    assert str(plan).startswith(f"pandas.Series to polars.Series: lend copies {lent} bytes, the target may copy more\n")


def test_each_who_copies_for_sure_is_named():
    copied = (Step("take", "a", 1, "producer"), Step("work", "b", 2, "lend"), Step("work", "c", 3, "lend"))
    unknown = Step("give", "d", None, "target")
    assert told(*copied, unknown).endswith(
        ": the producer copies 1 byte, lend copies 5 bytes, the target may copy more"
    )


def test_what_was_copied_on_taking_is_told_where_rows_are_to_come():
    plan = told(Step("take", "a", 8, "lend"), Step("work", "b", None, "lend", TO_COME))
    assert plan.endswith(": lend copies 8 bytes, and what is copied beside shows when the rows come")


def test_what_lend_makes_beside_what_is_known_shows_when_it_is_made():
    plan = told(Step("take", "a", 8, "lend"), Step("work", "b", None, "lend", "made anew"))
    assert plan.endswith(": lend copies 8 bytes, and how much is copied beside shows when it is made")


# -- text of NumPy's ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["pyarrow", "polars"])
@pytest.mark.parametrize("values", [["ab", "c"], ["\u20ac" * 20, ""], ["a"], []], ids=repr)
def test_the_bytes_of_text_made_of_numpys_are_predicted(target, values):
    pytest.importorskip(target)
    obj = np.array(values, dtype="U20")
    plan = lend.explain(obj, target)
    with lend.copies() as made:
        lend.to(obj, target)
    assert sum(step.nbytes for step in plan.steps if step.who == "lend") == made.bytes


def test_to_predict_the_bytes_of_text_is_counted_as_no_copy():
    with lend.copies() as made:
        lend.explain(np.array(["ab", "c"]), "pyarrow")
    assert made.count == 0


# -- what lies unaligned -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["polars", "arro3"])
@pytest.mark.parametrize("fields", [[("a", "i4"), ("b", "i4")], [("a", "i1"), ("b", "i8")], [("a", ">i4")]], ids=str)
def test_fields_that_lend_writes_anew_are_not_called_unaligned(target, fields):
    pytest.importorskip(target)
    plan = lend.explain(np.zeros(4, dtype=fields), target)
    assert [step.who for step in plan.copies] == ["lend"]


# -- how pandas was taken ----------------------------------------------------------------------------------------------


def takes(plan):
    return [step.what for step in plan.steps if step.kind == "take"]


def test_what_is_wholly_made_anew_of_pandas_is_not_told_as_shared_too():
    assert takes(lend.explain(pd.Series(["a", "b"], dtype=object), "pyarrow")) == ["pandas object[2]"]


def test_where_some_columns_are_made_anew_the_others_lie_as_they_are():
    frame = pd.DataFrame({"a": pd.Series(["a", "b"], dtype=object), "b": [1, 2]})
    assert takes(lend.explain(frame, "pyarrow")) == ["pandas, the other columns as they lie", "pandas object[2]"]


TEXT = "numpy.ndarray, StringDType()[2]"


@pytest.mark.parametrize("target", [None, "pyarrow", "polars"])
def test_strings_of_any_length_are_told_as_the_text_that_is_made_of_them(target):
    strings = np.array(["a", "bc"], dtype=np.dtypes.StringDType())
    with lend.copies() as made:
        plan = lend.explain(strings) if target is None else lend.explain(strings, target)
    assert takes(plan) == [TEXT]
    assert made.count == 0
    assert target is not None or plan.targets["pyarrow"] == "shared"
    assert takes(lend.explain({"a": strings, "b": np.arange(2)}, "pyarrow"))[1:] == [TEXT]


BLOCKS = "while this is lent, pandas copies a lent block before its next write to it"
HELD = {
    "numbers": (pd.Series([1, 2]), True),
    "numbers and a mask": (pd.Series([1, None], dtype="Int64"), True),
    "codes of categories": (pd.Series(["a", "b"], dtype="category"), True),
    "the ends of intervals": (pd.Series(pd.interval_range(0, 2)), True),
    "objects": (pd.Series(["a", "b"], dtype=object), False),
    "what Arrow keeps": (pd.Series([1, 2], dtype="int64[pyarrow]"), False),
    "a frame of objects": (pd.DataFrame({"a": pd.Series(["a", "b"], dtype=object)}), False),
    "a frame of both": (pd.DataFrame({"a": pd.Series(["a", "b"], dtype=object), "b": [1, 2]}), True),
}


@pytest.mark.parametrize("name", HELD)
def test_that_pandas_copies_before_a_write_is_told_where_its_memory_is_held_alone(name):
    obj, held = HELD[name]
    assert (BLOCKS in lend.explain(obj, "pyarrow").notes) == held


WRITTEN = {
    "a copy": (pd.Series([1, 2]), "pyarrow", {"copy": True}),
    "a copy in pandas": (pd.DataFrame({"a": [1, 2]}), "pandas", {"copy": True}),
    "a copy of a mask too": (pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}), "polars", {"copy": True}),
    "a copy for a callable": (pd.DataFrame({"a": [1, 2]}), len, {"copy": True}),
    "bools as bits": (pd.DataFrame({"a": [True, False]}), "polars", {}),
    "bools as bits in pandas": (pd.Series([True, False]), "pandas", {"dtype_backend": "pyarrow"}),
    "the other byte order": (pd.Series(np.array([1, 2], ">i4")), "pyarrow", {}),
    "a value under nulls beside what Arrow keeps": (
        pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": pd.Series([1, 2], dtype="int64[pyarrow]")}),
        "numpy",
        {"nulls": ("fill", 0)},
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_that_pandas_copies_before_a_write_is_not_told_where_all_its_memory_was_copied(name):
    obj, target, options = WRITTEN[name]
    if isinstance(target, str):
        pytest.importorskip(target)
    assert BLOCKS not in lend.explain(obj, target, **options).notes


KEPT = {
    "values beside a mask": (pd.Series([1.5, None]), "pandas", {"dtype_backend": "numpy_nullable"}),
    "values of a mask that becomes bits": (pd.Series([1, None], dtype="Int64"), "polars", {}),
    "a mask alone": (pd.Series([True, None], dtype="boolean"), "pyarrow", {"nulls": "struct"}),
    "bools by their own name": (pd.Series([True, False]), "pyarrow", {"bool8": True}),
    "one of several columns": (pd.DataFrame({"a": [True, False], "b": [1, 2]}), "arro3", {}),
}


@pytest.mark.parametrize("name", KEPT)
def test_that_pandas_copies_before_a_write_is_told_where_a_part_is_kept(name):
    obj, target, options = KEPT[name]
    pytest.importorskip(target)
    assert BLOCKS in lend.explain(obj, target, **options).notes


# -- what is made ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["pyarrow", "arro3"])
@pytest.mark.parametrize("chunks", [[[1, 2]], [[1], [2, 3]], []], ids=["one", "two", "none"])
def test_the_class_that_is_told_is_the_class_that_is_made(target, chunks):
    pytest.importorskip(target)
    obj = pa.chunked_array(chunks, type=pa.int64())
    made = type(lend.to(obj, target)).__name__
    said = lend.explain(obj, target).target.rpartition(".")[2]
    assert ("Chunked" in said) == ("Chunked" in made)


# -- where it can go ---------------------------------------------------------------------------------------------------

SURVEYED = """
import sys
import pyarrow as pa
import lend
before = set(sys.modules)
lend.explain(pa.array([1, None]))
lend.explain(pa.table({"a": [1]}))
print([name for name in ("torch", "jax", "tvm_ffi", "polars", "arro3") if name in sys.modules and name not in before])
"""


def test_telling_where_columns_can_go_imports_no_library():
    run = subprocess.run([sys.executable, "-c", SURVEYED], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
