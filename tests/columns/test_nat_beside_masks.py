"""NaT beside a mask is null, whether the mask hides it or not."""

import numpy as np
import pytest

import lend
from lend.errors import CopyRequired

LIBRARIES = ["pyarrow", "polars", "pandas", "arro3"]


def masked(dtype, mask=(False, False, True), values=("2020-01-01", "NaT", "2021-01-01")):
    times = np.array(values, "M8[us]") if dtype.startswith("M8") else np.array([1, "NaT", 2], "m8[us]")
    return np.ma.array(times.astype(dtype), mask=list(mask))


def valid(made):
    listed = next(getattr(made, name) for name in ("to_pylist", "to_list", "tolist") if hasattr(made, name))()
    return [str(value) not in ("None", "NaT", "<NA>") for value in listed]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", ["M8[D]", "M8[s]", "M8[us]", "m8[us]", ">M8[us]"])
@pytest.mark.parametrize("mask", [(False, False, True), (False, False, False)], ids=["masks another", "masks nothing"])
def test_nat_that_the_mask_does_not_hide_is_null_in_every_library(library, dtype, mask):
    pytest.importorskip("arro3.core" if library == "arro3" else library)
    made = lend.to(masked(dtype, mask), library)
    assert valid(made) == [True, False, not mask[2]]


def test_it_counts_among_the_nulls():
    assert lend.column(masked("M8[us]")).null_count == 2
    assert lend.column(masked("M8[us]")).tolist()[1:] == [None, None]


def test_a_mask_of_numpy_hides_it_too():
    assert lend.to(lend.column(masked("M8[us]")), "numpy.ma").mask.tolist() == [False, True, True]


def test_fields_of_masked_records_are_no_exception():
    records = np.ma.array([("2020-01-01",), ("NaT",)], mask=[(False,), (False,)], dtype=[("t", "M8[us]")])
    assert lend.table(records)["t"].null_count == 1


def test_columns_of_two_dimensions_are_no_exception():
    times = np.ma.array(np.array([["NaT", "2020-01-01"]], "M8[us]"), mask=[[False, True]])
    assert [column.null_count for column in lend.table(times)] == [1, 1]


def test_a_mask_behind_the_array_interface_is_no_exception():
    times, valid = np.array(["NaT", "2020-01-01"], "M8[us]"), np.array([True, True])

    class Told:
        __array_interface__ = {**times.__array_interface__, "mask": valid}

    assert lend.column(Told()).null_count == 1


def test_the_new_mask_is_counted_and_explained():
    times = masked("M8[us]")
    with lend.copies() as copied:
        lend.column(times)
    assert copied.bytes == 3
    assert "NaT" in str(lend.explain(times, "polars"))


def test_where_the_mask_hides_each_nat_nothing_is_copied():
    with lend.copies() as copied:
        assert lend.column(masked("M8[us]", (False, True, False))).null_count == 1
    assert copied.bytes == 0


def test_without_a_copy_it_is_refused():
    with pytest.raises(CopyRequired, match="NaT is null, and the mask beside it does not hide it"):
        lend.column(masked("M8[us]"), copy=False)
