"""Refusals and plans as somebody new met them: what they say is so, and what they advise works."""

import datetime

import pytest

import lend
from lend.errors import CopyRequired, LendError, UnsupportedType

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")

# -- what a library gets wrong is said before it is called -------------------------------------------------------------

FAR = (2**63 - 1) // 1000 + 1
SECONDS = {
    "times": lambda value: pa.array([value, None], pa.timestamp("s")),
    "durations": lambda value: pa.array([value, None], pa.duration("s")),
    "times of NumPy": lambda value: np.array([value], "M8[s]"),
    "times in lists": lambda value: pa.array([[value]], pa.list_(pa.timestamp("s"))),
    "times in structs": lambda value: pa.array([{"a": value}], pa.struct([("a", pa.timestamp("s"))])),
    "times in chunks": lambda value: pa.chunked_array([[1], [value]], pa.timestamp("s")),
}  # fmt: skip


@pytest.mark.parametrize("function", [lend.to, lend.explain], ids=["to", "explain"])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("kind", SECONDS)
def test_seconds_that_polars_would_wrap_are_refused(kind, sign, function):
    pytest.importorskip("polars")
    with pytest.raises(UnsupportedType, match="it counts milliseconds, in 64 bits"):
        function(SECONDS[kind](sign * FAR), "polars")


@pytest.mark.parametrize("kind", SECONDS)
def test_seconds_that_polars_has_room_for_go_there(kind):
    pl = pytest.importorskip("polars")
    assert isinstance(lend.to(SECONDS[kind](-FAR + 1), "polars"), pl.Series)


def test_what_stands_under_a_null_is_no_time():
    pytest.importorskip("polars")
    hidden = pa.Array.from_buffers(pa.timestamp("s"), 1, [pa.py_buffer(b"\0"), pa.py_buffer(b"\xff" * 7 + b"\x7f")])
    assert lend.to(hidden, "polars").to_list() == [None]


def test_polars_itself_still_wraps_seconds():
    pl = pytest.importorskip("polars")
    wrapped = pl.Series(pa.array([FAR], pa.timestamp("s"))).cast(pl.Int64)[0]
    assert wrapped != FAR * 1000  # polars 2.1: when it refuses by itself, lend need not


@pytest.mark.parametrize("function", [lend.to, lend.explain], ids=["to", "explain"])
def test_a_zone_that_polars_does_not_know_is_refused(function):
    pytest.importorskip("polars")
    with pytest.raises(UnsupportedType, match="polars has no time zone 'Mars/Phobos'"):
        function(pa.array([0], pa.timestamp("s", "Mars/Phobos")), "polars")


# -- plans that were false ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["polars", "arro3"])
@pytest.mark.parametrize("wrap", [lambda r: r, lend.table, lend.column], ids=["array", "table", "column"])
def test_one_record_whose_field_lies_unaligned_is_told_as_copied(wrap, target):
    pytest.importorskip({"arro3": "arro3.core"}.get(target, target))
    records = np.array([(1, 2.0)], [("a", "i4"), ("b", "f8")])
    source = wrap(records)
    assert [step.who for step in lend.explain(source, target).copies] == ["target"]
    with pytest.raises(CopyRequired, match="unaligned"):
        lend.to(source, target, copy=False)


def test_an_enum_of_polars_is_an_enum_there_again():
    pl = pytest.importorskip("polars")
    series = pl.Series("e", ["a", "b"], dtype=pl.Enum(["b", "a"]))
    for source in (lend.table(series.to_frame()), lend.column(series)):
        assert not [note for note in lend.explain(source, "polars").notes if "becomes" in note]
        made = lend.to(source, "polars")
        assert (made if isinstance(made, pl.Series) else made["e"]).dtype == series.dtype


@pytest.mark.parametrize("function", [lend.to, lend.explain], ids=["to", "explain"])
@pytest.mark.parametrize("target", ["pyarrow", "pandas", list])
def test_what_polars_writes_anew_is_refused_where_no_copy_is_allowed(function, target):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"c": pl.Series(["a", None], dtype=pl.Categorical), "n": [1, 2]})
    with pytest.raises(CopyRequired, match="polars writes .*the codes.* of column 'c' anew") as refusal:
        function(frame, target, copy=False)
    assert refusal.value.remedy.startswith("copy=None (polars copies ")


# -- remedies that did not work ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["numpy", "torch", "jax", "memoryview"])
def test_bits_are_not_said_to_be_shared_by_bool8(target):
    if target != "memoryview":
        pytest.importorskip(target)
    with pytest.raises(CopyRequired) as refusal:
        lend.to(pa.array([True, False]), target, copy=False)
    assert "bool8" not in refusal.value.remedy


MISSING = {"NA": "NA", "NaT": "NaT"}


@pytest.mark.parametrize("target", ["torch", "jax"])
@pytest.mark.parametrize("name", MISSING)
def test_text_with_nulls_of_pandas_is_refused_as_text(name, target):
    pd = pytest.importorskip("pandas")
    pytest.importorskip(target)
    with pytest.raises(UnsupportedType) as refusal:
        lend.to(np.array(["a", getattr(pd, name)], object), target)
    assert refusal.value.remedy.startswith("text goes to a library of columns")


def test_objects_that_answer_nothing_are_refused_without_being_asked():
    class Silent:
        def __eq__(self, other):
            raise AssertionError("asked")

        __hash__ = None

        def __bool__(self):
            raise AssertionError("asked")

    pytest.importorskip("torch")
    with pytest.raises(UnsupportedType, match="object"):
        lend.to(np.array(["a", Silent()], object), "torch")


def test_the_parts_of_text_in_chunks_are_those_of_each():
    pytest.importorskip("torch")
    text = pa.chunked_array([["a"], ["b"]])
    with pytest.raises(UnsupportedType) as refusal:
        lend.to(text, "torch")
    line = refusal.value.remedy.splitlines()[0]
    assert line.startswith("its parts, chunk by chunk: ")
    assert set(eval(line.partition(": ")[2].partition(",")[0], {"lend": lend, "x": text})) == {"offsets", "data"}


def test_years_have_a_remedy_that_a_column_follows():
    years = np.array(["2020"], "M8[Y]")
    with pytest.raises(LendError, match=r"datetime64\[Y\] has no object of datetime") as refusal:
        lend.column(years).tolist()
    numbers = eval(refusal.value.remedy.partition(", ")[0], {"lend": lend, "x": years})
    assert numbers.tolist() == [50]


def test_a_name_that_the_index_has_too_may_be_dropped():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index([5, 6], name="a"))
    with pytest.raises(LendError) as refusal:
        lend.to(frame, "polars")
    assert refusal.value.remedy.splitlines()[0] == 'index="drop": one of them is the index'
    assert lend.to(frame, "polars", index="drop").equals(pl.DataFrame({"a": [1, 2]}))


def test_memory_that_is_no_array_is_not_to_be_viewed_for_alignment():
    jax = pytest.importorskip("jax")
    misaligned = np.frombuffer(bytes(4 * 40 + 4), "f4", offset=4)
    with jax.enable_x64(True), pytest.raises(CopyRequired) as refusal:
        lend.to({"a": misaligned}, "jax", copy=False, alias_readonly=True)
    assert "lend.view(x" not in refusal.value.remedy


def test_times_of_nanoseconds_are_offered_as_objects_with_what_these_know():
    pytest.importorskip("torch")
    moments = pa.array([datetime.datetime(2020, 1, 1)], pa.timestamp("ns"))
    with pytest.raises(UnsupportedType, match="the values as Python objects, which know whole microseconds alone"):
        lend.to(moments, "torch")
    assert lend.to(moments, "numpy", nulls="object").tolist() == [datetime.datetime(2020, 1, 1)]
