"""`explain` without a target: what it says of each library is what `to` does with the same keywords."""

import pytest

import lend
from lend.adapters.frame_takers import TAKERS
from lend.adapters.rules import TARGETS, is_installed
from lend.errors import LendError
from support.sources import SOURCES

KEYWORDS = [
    {},
    {"copy": True},
    {"copy": False},
    {"alias_readonly": True},
    {"copy": False, "alias_readonly": True},
    {"copy": True, "alias_readonly": True},
]
ARRAYS = [name for name in TARGETS if name == "memoryview" or is_installed(name)]
COLUMNS = [name for name in TAKERS if name not in ARRAYS and is_installed(name)]
INSTALLED = [*ARRAYS, *COLUMNS, *(["numpy.ma"] if "numpy" in ARRAYS else [])]


def verdict(obj, target, **keywords):
    """What `to` does, in the words of a survey, as far as the words are about that."""
    plan = None
    try:
        plan = lend.explain(obj, target, **keywords)
        with lend.copies() as made:
            lend.to(obj, target, **keywords)
    except LendError as refusal:
        return f"refused: {refusal.fact}"
    if not plan.copies:
        assert made.count == 0
        return "shared"
    by_lend = sum(step.nbytes for step in plan.copies if step.who != "target")
    assert made.bytes == by_lend
    if plan.bytes_copied is None:
        return "may be copied: " + "; ".join(step.why for step in plan.copies)
    return f"{plan.bytes_copied} byte{'' if plan.bytes_copied == 1 else 's'} copied: " + "; ".join(
        step.why for step in plan.copies
    )


@pytest.mark.parametrize("keywords", KEYWORDS, ids=str)
@pytest.mark.parametrize("name", SOURCES)
def test_what_is_told_of_each_library_is_what_to_does(name, keywords):
    obj = SOURCES[name]()
    told = lend.explain(obj, **keywords).targets
    assert told == {target: verdict(obj, target, **keywords) for target in INSTALLED}


def test_copy_is_one_of_three_here_too():
    with pytest.raises(TypeError, match="copy is None, True or False, not 'always'"):
        lend.explain(b"1234", copy="always")


def tables():
    """Columns and tables of each library, with nulls and without."""
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    return {
        "a Series of numbers": pd.Series([1, 2]),
        "a Series of text": pd.Series(["a", None], dtype=object),
        "a frame of pandas": pd.DataFrame({"a": [1.5, 2.5]}),
        "an array of Arrow's with nulls": pa.array([1, None]),
        "a table of Arrow's": pa.table({"a": [1, 2]}),
        "a Series of polars'": pl.Series("a", [1, 2]),
        "a frame of polars'": pl.DataFrame({"a": [1, 2]}),
    }


@pytest.mark.parametrize("name", ["numpy", "torch", "jax", "memoryview", "tvm_ffi", "numpy.ma", *TAKERS])
@pytest.mark.parametrize("source", tables())
def test_columns_and_tables_are_told_of_every_installed_library_and_as_it_is_explained_alone(source, name):
    obj = tables()[source]
    if name not in INSTALLED:
        pytest.skip("not installed")
    told = lend.explain(obj).targets[name]
    try:
        copies = [step for step in lend.explain(obj, name).copies if step.kind != "take"]
    except LendError as refusal:
        assert told == f"refused: {refusal.fact}"
        return
    assert (told == "shared") == (not copies)
