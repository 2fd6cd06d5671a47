"""What a refusal of a column or table names is followed as it is typed, and not refused again."""

import datetime
import decimal
import itertools
import sys

import pytest

import lend
from lend.columns.building import of_chunks
from lend.errors import CopyRequired, LendError
from support.remedies import call_in, calls_of, lines_of

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
import pyarrow.compute  # noqa: E402, F401 - named by a remedy

nan = float("nan")
COLUMNS = {
    "int": [1, None],
    "large": [2**60 + 1, None],
    "float": [1.5, None],
    "float with NaN": [nan, None],
    "whole": [1, 2],
    "text": ["a", None],
    "whole text": ["a", "b"],
    "bool": [True, None],
    "date": [datetime.date(2020, 1, 1), None],
    "zone": pa.array([1, None], pa.timestamp("us", "UTC")),
    "time": [datetime.time(1), datetime.time(2)],
    "dictionary": pa.array(["a", "b"]).dictionary_encode(),
    "dictionary with null": pa.array(["a", None]).dictionary_encode(),
    "list": [[1], None],
    "uneven": [[1], [2, 3]],
    "struct": [{"a": 1}, {"a": 2}],
    "null struct": [{"a": 1}, None],
    "decimal": [decimal.Decimal("1.5"), None],
    "wide decimal": pa.array([decimal.Decimal("1.5"), None], pa.decimal256(50, 2)),
    "nulls": pa.nulls(2),
    "interval": pa.array([pa.MonthDayNano((1, 2, 3)), None]),
    "duration": pa.array([1000, None], pa.duration("ns")),
    "runs": pa.compute.run_end_encode(pa.array([1, 1])),
    "list view": pa.array([[1], [2]], pa.list_view(pa.int64())),
    "half": pa.array([1.5, None], pa.float16()),
    "binary": [b"a", None],
    "fixed": pa.array([b"a", None], pa.binary(1)),
}
COLUMNS = {name: values if isinstance(values, pa.Array) else pa.array(values) for name, values in COLUMNS.items()}
PAIRS = [("int", "text"), ("float with NaN", "int"), ("bool", "date"), ("large", "whole"), ("whole", "null struct"),
         ("text", "decimal"), ("whole text", "zone"), ("float", "dictionary"), ("interval", "int"),
         ("half", "uneven"), ("whole", "whole text"), ("nulls", "text"), ("runs", "float"),
         ("int", "float")]  # fmt: skip
OPTIONS = {
    "numpy": [
        {}, {"nulls": "nan"}, {"nulls": ("fill", 0)}, {"strings": "object"}, {"strings": "U"}, {"storage": True},
        {"zone": "drop"}, {"copy": False}, {"copy": True}, {"nulls": "forbid"}, {"nulls": ("fill", "")},
        {"storage": True, "zone": "drop"},
    ],
    "numpy.ma": [{}, {"strings": "object"}, {"copy": False}],
    "torch": [{}, {"nulls": "nan"}, {"nulls": ("fill", 0)}, {"storage": True}, {"nulls": "mask"}],
    "pandas": [
        {}, {"nulls": "nan"}, {"nulls": ("fill", 0)}, {"dtype_backend": "numpy"}, {"copy": False},
        {"dtype_backend": "pyarrow", "nulls": "nan"}, {"nulls": "mask"},
    ],
    "polars": [{}, {"nulls": ("fill", 0)}, {"copy": False}, {"nulls": "nan"}],
    "pyarrow": [{"nulls": ("fill", 0)}, {"nulls": "mask"}, {"nulls": "struct"}, {"copy": False}],
    "duckdb": [{}, {"nulls": ("fill", 0)}],
}  # fmt: skip


def cases():
    for name, column in COLUMNS.items():
        yield name, column, False
    for first, second in PAIRS:
        yield f"{first} and {second}", pa.table({"a": COLUMNS[first], "b c": COLUMNS[second]}), True


def refusal_of(obj, target, options):
    try:
        lend.to(obj, target, **options)
    except LendError as error:
        return error
    return None


def follow(call, obj):
    """What a call makes that an error names, with the names that a reader has for it."""
    modules = {"lend": lend, "numpy": np, "pyarrow": pa, "polars": pl, "pandas": pd, "jax": sys.modules.get("jax")}
    return eval(call, {**modules, "x": obj})


@pytest.mark.parametrize("target", OPTIONS)
@pytest.mark.parametrize(("obj", "is_table"), [case[1:] for case in cases()], ids=[case[0] for case in cases()])
def test_calls_that_a_refusal_names_are_not_refused(obj, is_table, target):
    pytest.importorskip(target.partition(".")[0])
    stacked = [{**options, "stack": True} for options in OPTIONS[target]] if target in ("numpy", "torch") else []
    for options in itertools.chain(OPTIONS[target], stacked if is_table else []):
        refusal = refusal_of(obj, target, options)
        if refusal is None:
            continue
        assert lines_of(refusal), (options, str(refusal))
        for line in lines_of(refusal):
            call = call_in(line)
            if call is None:
                continue
            assert follow(call, obj) is not None, call
            for option in options:
                if call.startswith(f'lend.to(x, "{target}"') and option not in ("nulls", "copy", "dtype_backend"):
                    assert f"{option}=" in call or f"without {option}=" in line, (options, line)


ARRAYS = {
    "complex": np.zeros(2, "complex64"),
    "long": np.zeros(2, "longdouble"),
    "years": np.zeros(2, "M8[Y]"),
    "weeks": np.zeros(2, "m8[W]"),
    "objects": np.array([{}, 1], dtype=object),
    "text": np.array(["a", "b"]),
    "masked": np.ma.array([1, 2], mask=[0, 1]),
    "masked text": np.ma.array(["a", "b"], mask=[0, 1]),
    "records": np.zeros(2, [("a", "i4"), ("b", "U2")]),
    "bytes": np.array([b"a", b"b"]),
}


@pytest.mark.parametrize("target", ["numpy", "pyarrow", "polars", "pandas"])
@pytest.mark.parametrize("name", ARRAYS)
def test_calls_that_a_refusal_of_an_array_names_are_not_refused(name, target):
    for obj in (ARRAYS[name], {"a": ARRAYS[name]}, lend.column(ARRAYS[name]) if name != "objects" else ARRAYS[name]):
        refusal = refusal_of(obj, target, {})
        if refusal is not None:
            assert lines_of(refusal), str(refusal)
            for call in calls_of(refusal):
                assert follow(call, obj) is not None, call


def test_options_that_are_needed_together_are_named_together():
    obj = pa.table({"i": [1, None], "s": ["a", None]})
    calls = calls_of(refusal_of(obj, "numpy", {}))
    assert calls[:2] == [
        'lend.to(x, "numpy", nulls="nan", strings="object")',
        'lend.to(x, "numpy", nulls={"i": ("fill", 0), "s": ("fill", "")}, strings="object")',
    ]


def test_what_was_given_is_kept_in_what_is_named():
    obj = pa.table({"i": [1, None], "s": ["a", None]})
    for call in calls_of(refusal_of(obj, "numpy", {"strings": "StringDType", "copy": True})):
        assert "copy=True, " in call
        assert 'strings="StringDType"' in call


def test_nan_is_not_named_where_it_would_be_refused():
    refusal = refusal_of(pa.array([nan, None]), "torch", {})
    assert calls_of(refusal) == ['lend.to(x, "torch", nulls=("fill", 0))']


def test_what_jax_would_narrow_is_named_behind_what_switches_its_types_on():
    jax = pytest.importorskip("jax")
    if jax.config.jax_enable_x64:
        pytest.skip("jax has types of 64 bits")
    refusal = refusal_of(pa.array([1, None]), "jax", {})
    first, *others = lines_of(refusal)
    assert first.startswith('jax.config.update("jax_enable_x64", True), ')
    assert [line.partition(": ")[0] for line in others] == [
        'then lend.to(x, "jax", nulls="nan")', 'then lend.to(x, "jax", nulls=("fill", 0))',
    ]  # fmt: skip


def test_a_column_of_a_table_is_named_as_the_caller_reaches_it():
    obj = pa.table({"a": COLUMNS["interval"], "b": COLUMNS["interval"]}).rename_columns(["b", "b"])
    assert "lend.table(x)[0].tolist()" in refusal_of(obj.select([0]).rename_columns([""]), "polars", {}).remedy
    assert 'lend.table(x)["d"].tolist()' in refusal_of(obj.select([0]).rename_columns(["d"]), "polars", {}).remedy


def test_a_copy_that_is_refused_is_told_in_a_sentence_with_its_bytes():
    refusal = refusal_of(np.arange(8)[::2], "polars", {"copy": False})
    assert isinstance(refusal, CopyRequired)
    assert refusal.fact == ("this column has elements that do not lie side by side, and polars takes them so (stride)")
    assert refusal.remedy == "copy=None (a copy of 32 bytes, counted)"
    narrow = refusal_of(pa.table({"s": ["a"]}), "pandas", {"copy": False})
    assert narrow.fact == "column 's' has offsets of 32 bits, and pandas takes those of 64 (offsets of 32 bits)"


def test_a_column_to_who_takes_tables_is_told_the_table_of_it():
    pytest.importorskip("duckdb")
    assert calls_of(refusal_of(COLUMNS["whole"], "duckdb", {})) == ['lend.to({"name": x}, "duckdb")']


BOOLS = pa.array([True, False])
IN_THE_END = {
    "a mask of bytes beside text": (pa.table({"a": ["x", None]}), "numpy", {"nulls": "struct"}),
    "the same with other options": (pa.table({"a": ["x", None]}), "torch", {"nulls": "struct", "storage": True}),
    "a mask of bytes beside numbers": (pa.array([1, None]), "torch", {"nulls": "struct", "copy": False}),
    "a mask beside lists": (pa.table({"a": [[True], None]}), "memoryview", {"nulls": {"a": "mask"}}),
    "a text under bools among others": (
        pa.table({"a": [True, None], "b": [1.5, None]}), "torch", {"nulls": ("fill", "x")},
    ),
    "a text in structs": (pa.array([{"a": 1, "b": None}], pa.struct([("a", pa.int8()), ("b", pa.bool_())])), "numpy.ma",
                          {"nulls": ("fill", "x")}),
    "what is forbidden beside what does not fit": (
        pa.table({"a": [True, None], "b": [1, None]}), "polars", {"nulls": {"a": ("fill", 0), "b": "forbid"}},
    ),
    "bools of bits as an array": (BOOLS, "torch", {"copy": False}),
    "the same in a table": (pa.table({"a": BOOLS}), "numpy", {"copy": False}),
    "the same as a masked array": (BOOLS, "numpy.ma", {"copy": False}),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_THE_END)
def test_where_no_call_that_is_named_first_works_none_of_them_stays(name):
    obj, target, options = IN_THE_END[name]
    if target != "memoryview":
        pytest.importorskip(target.partition(".")[0])
    refusal = refusal_of(obj, target, options)
    assert lines_of(refusal), "there is something else to be tried"
    for line in lines_of(refusal):
        _, found, call = line.partition("lend.to(x")
        assert not found or follow(call_in(found + call), obj) is not None, line


def test_a_refusal_in_chunks_names_the_column_as_the_table_does():
    part = lend.table({"inner": pa.array([True, None])})["inner"]
    obj = lend.table({"outer": of_chunks([part, part])})
    assert "column 'outer'" in refusal_of(obj, "polars", {"nulls": ("fill", 3)}).fact
