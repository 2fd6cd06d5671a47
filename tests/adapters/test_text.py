"""Strings of NumPy's as text: made by pyarrow or polars in a copy that is told, refused where neither is."""

import pytest

import lend
from lend.adapters import text
from lend.errors import CopyRequired, UnsupportedLayout, UnsupportedType

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")

VALUES = ["a", "länger als zwölf Bytes", ""]
NULLS = ["a", None, ""]
SOURCES = {
    "of one width": (lambda: np.array(VALUES), VALUES),
    "in the other byte order": (lambda: np.array(VALUES).astype(">U30"), VALUES),
    "with a stride": (lambda: np.array(VALUES)[::-1], VALUES[::-1]),
    "with a mask": (lambda: np.ma.array(VALUES, mask=[0, 1, 0]), NULLS),
    "of any length": (lambda: np.array(VALUES, dtype=np.dtypes.StringDType()), VALUES),
    "of any length with nulls": (lambda: np.array(NULLS, dtype=np.dtypes.StringDType(na_object=None)), NULLS),
    "of any length with NaN": (
        lambda: np.array(["a", float("nan"), ""], dtype=np.dtypes.StringDType(na_object=float("nan"))), NULLS,
    ),
    "of Python": (lambda: np.array(NULLS, dtype=object), NULLS),
    "of one width without rows": (lambda: np.array([], dtype="U3"), []),
    "a View": (lambda: lend.view(np.array(VALUES)), VALUES),
}  # fmt: skip
each_source = pytest.mark.parametrize("name", SOURCES)
TARGETS = ["pyarrow", "polars", "pandas", "arro3"]


@each_source
@pytest.mark.parametrize("target", TARGETS)
def test_strings_become_text_in_every_library(name, target):
    pytest.importorskip(target)
    make, values = SOURCES[name]
    made = lend.column(lend.to(make(), target))
    assert made.tolist() == values
    assert made.dtype.kind in ("utf8", "large_utf8", "utf8_view")


@each_source
def test_strings_become_text_within_a_table(name):
    make, values = SOURCES[name]
    assert lend.to({"s": make(), "n": np.arange(len(values))}, "pyarrow")["s"].to_pylist() == values


@each_source
@pytest.mark.parametrize("target", ["pyarrow", "pandas"])
def test_the_copy_is_told_and_counted(name, target):
    pytest.importorskip(target)
    make, values = SOURCES[name]
    source = make()
    plan = lend.explain(source, target)
    with lend.copies() as counted:
        lend.to(source, target)
    if values:
        assert counted.bytes > 0
        assert plan.bytes_copied in (None, counted.bytes)
        assert plan.copies
        with pytest.raises(CopyRequired, match="strings|byte order"):
            lend.to(source, target, copy=False)


def test_text_of_one_width_is_shared_where_it_may_stay_what_it_is():
    source = np.array(VALUES)
    assert lend.column(source).buffers["data"].ptr == source.ctypes.data
    assert lend.to({"s": source}, "numpy", copy=False)["s"].ctypes.data == source.ctypes.data


@pytest.mark.parametrize("name", ["of any length", "of Python"])
def test_what_has_no_memory_to_share_is_a_column_of_text(name):
    make, values = SOURCES[name]
    with lend.copies() as counted:
        made = lend.column(make())
    assert made.tolist() == values
    assert counted.bytes > 0
    with pytest.raises(CopyRequired, match=r"copy=False forbids that \(strings\)"):
        lend.column(make(), copy=False)


@pytest.mark.parametrize("name", ["of one width", "of any length", "of Python"])
def test_they_are_refused_by_name_where_no_library_makes_text(name, monkeypatch):
    monkeypatch.setattr(text, "is_installed", lambda library: False)
    with pytest.raises(UnsupportedType, match="which pyarrow or polars makes text of, and neither is installed"):
        lend.to(SOURCES[name][0](), "arro3" if name == "of one width" else "pyarrow")


@pytest.mark.parametrize("name", ["of one width", "of any length with nulls", "of Python"])
def test_polars_makes_them_where_pyarrow_is_missing(name, monkeypatch):
    polars = pytest.importorskip("polars")
    monkeypatch.setattr(text, "is_installed", lambda library: library == "polars")
    make, values = SOURCES[name]
    made = lend.to(make(), "polars")
    assert isinstance(made, polars.Series)
    assert made.to_list() == values


@pytest.mark.parametrize("dtype", ["U1", object])
def test_half_a_character_is_refused_with_its_row(dtype):
    with pytest.raises(UnsupportedType, match="text that is no UTF-8: row 1 has a lone surrogate"):
        lend.to(np.array(["a", "\ud800"], dtype=dtype), "pyarrow")


def test_two_dimensions_are_no_column():
    strings = np.array([["a"]], dtype=np.dtypes.StringDType())
    with pytest.raises(UnsupportedLayout, match="a column has one dimension, and this has 2"):
        lend.column(strings)


@pytest.mark.parametrize("values", [[1, "a"], [{}], [None], [float("nan"), "a"]])
def test_objects_that_are_no_text_are_refused(values):
    with pytest.raises(UnsupportedType, match="a column of Python objects is not known"):
        lend.column(np.array(values, dtype=object))


def test_nulls_may_be_forbidden():
    with pytest.raises(UnsupportedType, match='nulls="forbid" was asked for'):
        lend.to(SOURCES["with a mask"][0](), "pyarrow", nulls="forbid")


@pytest.mark.parametrize("name", ["complex128", "longdouble", "datetime64[ps]", "timedelta64[W]"])
def test_what_arrow_has_no_type_of_has_a_way_that_works(name):
    pytest.importorskip("polars")
    x = np.zeros(2, name)
    with pytest.raises(UnsupportedType, match="Arrow has no") as refused:
        lend.to(x, "polars")
    call = refused.value.remedy.partition(", ")[0] + ", " + refused.value.remedy.partition(", ")[2].partition(", ")[0]
    made = eval(call.removesuffix(", or another of the units s"), {"lend": lend, "x": x})
    assert len(lend.to(made, "polars")) == 2
