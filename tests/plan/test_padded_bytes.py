"""Fixed bytes of NumPy's: what pads them is no part of the values, in any library."""

import numpy as np
import pytest

import lend
from lend.errors import CopyRequired

pa = pytest.importorskip("pyarrow")

PADDED = [b"a", b"bc", b""]
FULL = [b"ab", b"cd"]


def listed(made):
    if hasattr(made, "fetchall"):
        return [row[0] for row in made.fetchall()]
    return next(getattr(made, name) for name in ("to_pylist", "to_list", "tolist") if hasattr(made, name))()


@pytest.mark.parametrize("library", ["pyarrow", "polars", "pandas", "arro3"])
@pytest.mark.parametrize("values", [PADDED, FULL], ids=["padded", "full"])
def test_a_library_gets_the_bytes_that_numpy_shows(library, values):
    pytest.importorskip("arro3.core" if library == "arro3" else library)
    array = np.array(values, "S2")
    made = listed(lend.to(array, library))
    assert [value if isinstance(value, bytes) else value.as_py() for value in made] == values == array.tolist()


@pytest.mark.parametrize("library", ["pyarrow", "polars", "pandas"])
def test_so_does_a_column_of_a_table(library):
    pytest.importorskip(library)
    made = lend.to({"a": np.array(PADDED, "S2")}, library)
    assert listed(made["a"]) == PADDED


def test_masked_bytes_keep_their_nulls():
    assert lend.to(np.ma.array(PADDED, "S2", mask=[0, 1, 0]), "pyarrow").to_pylist() == [b"a", None, b""]


def test_a_pyarrow_array_by_its_class_is_without_padding_too():
    assert lend.to(np.array(PADDED, "S2"), pa.Array).to_pylist() == PADDED


def test_fixed_bytes_asked_for_by_their_class_keep_it():
    assert lend.to(np.array(PADDED, "S2"), pa.FixedSizeBinaryArray).to_pylist() == [b"a\0", b"bc", b"\0\0"]


def test_where_nothing_is_padded_the_memory_is_shared():
    array = np.array(FULL, "S2")
    made = lend.to(array, "pyarrow", copy=False)
    assert made.buffers()[1].address == array.ctypes.data


def test_without_a_copy_padded_bytes_are_refused():
    with pytest.raises(CopyRequired, match="without padding"):
        lend.to(np.array(PADDED, "S2"), "pyarrow", copy=False)


def test_the_copy_is_explained_and_counted():
    array = np.array(PADDED, "S2")
    assert "binary of NumPy's bytes, without padding" in str(lend.explain(array, "polars"))
    with lend.copies() as copied:
        lend.to(array, "pyarrow")
    assert copied.bytes


def test_what_went_before_does_not_change_that():
    lend.to(np.array(FULL, "S2"), "pyarrow")
    lend.to(np.array(FULL, "S2"), "pyarrow")
    assert lend.to(np.array(PADDED, "S2"), "pyarrow").to_pylist() == PADDED
