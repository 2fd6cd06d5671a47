"""What says how nulls, text, times or zones are shown changes nothing where there are none, in every form alike."""

import pytest

import lend
from lend.errors import UnsupportedLayout, UnsupportedType

np = pytest.importorskip("numpy")

IDLE = [
    {"strings": "U"}, {"strings": "object"}, {"storage": True}, {"zone": "drop"}, {"nulls": "nan"},
    {"nulls": "forbid"}, {"nulls": ("fill", 0)},
]  # fmt: skip
FORMS = {
    "an array": lambda array: array,
    "a View": lend.view,
    "a Column": lend.column,
    "a table": lambda array: {"a": array},
}


def shown(made):
    return made["a"] if type(made) is dict else made


@pytest.mark.parametrize("options", IDLE, ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_an_option_for_what_is_not_there_leaves_the_memory_as_it_is(form, options):
    array = np.array([1.5, 2.5])
    made = shown(lend.to(FORMS[form](array), "numpy", **options))
    assert (made.ctypes.data, made.tolist()) == (array.ctypes.data, [1.5, 2.5])


@pytest.mark.parametrize("options", IDLE, ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_explain_says_the_same_of_it(form, options):
    plan = lend.explain(FORMS[form](np.array([1.5, 2.5])), "numpy", **options)
    assert plan.bytes_copied == 0


@pytest.mark.parametrize("target", ["torch", "pyarrow", "polars", "pandas", "memoryview"])
def test_nulls_that_are_not_there_may_be_forbidden_to_any_library(target):
    if target != "memoryview":
        pytest.importorskip(target)
    assert list(map(float, lend.column(lend.to(np.array([1.5, 2.5]), target, nulls="forbid")).tolist())) == [1.5, 2.5]


def test_an_array_is_asked_for_its_nulls_as_the_column_that_it_is():
    dates = np.array(["2020-01-01", "NaT"], "M8[s]")
    with pytest.raises(UnsupportedType, match='1 null, and nulls="forbid" was asked for'):
        lend.to(dates, "numpy", nulls="forbid")
    assert type(lend.to(dates, "numpy", nulls="mask")) is np.ma.MaskedArray


@pytest.mark.parametrize("options", [{"nulls": "forbid"}, {"strings": "U"}], ids=str)
def test_an_array_of_two_dimensions_is_no_column(options):
    with pytest.raises(UnsupportedLayout, match="a column has one dimension, and this has 2"):
        lend.to(np.zeros((2, 2)), "numpy", **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"strings": "X"}, "strings is 'object' or 'StringDType' or 'U', or not given, not 'X'"),
        ({"zone": "x"}, "zone is 'drop', or not given, not 'x'"),
        ({"nulls": "x"}, "nulls is None, 'mask', .* not 'x'"),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_a_value_that_no_option_has_is_refused_all_the_same(form, options, said):
    with pytest.raises(ValueError, match=said):
        lend.to(FORMS[form](np.array([1.5])), "numpy", **options)


@pytest.mark.parametrize("function", [lend.to, lend.explain], ids=["to", "explain"])
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_of_rows_to_come_no_number_is_told(function, target):
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip(target)
    reader = pa.table({"a": ["x"]}).to_reader()
    with pytest.raises(UnsupportedType) as caught:
        function(reader, target)
    assert caught.value.came == "utf8 'a' on cpu, whose rows did not come yet"
    assert "0 chunks" not in str(caught.value)


def test_a_column_that_has_no_chunk_says_so_still():
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(UnsupportedType) as caught:
        lend.to(pa.chunked_array([], pa.string()), "numpy")
    assert "utf8[0] in 0 chunks" in caught.value.came
