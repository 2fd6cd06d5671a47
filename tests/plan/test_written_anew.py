"""What polars writes anew when it hands a column on is told as its copy, and what it shares is not."""

import pytest

import lend

pl = pytest.importorskip("polars")

ANEW = {
    "codes and categories": (pl.Series("a", ["x", "y", None] * 40, dtype=pl.Categorical), 3),
    "codes within lists": (pl.Series("a", [["x"], ["y", "x"], None] * 40, dtype=pl.List(pl.Categorical)), 2),
    "bits of structs that were cut": (pl.Series("a", [{"n": 1}, None] * 60)[3:], 1),
    "bits of what was computed of a cut column": (pl.Series("a", [1, None] * 60)[3:] + 1, 1),
}
SHARED = {
    "codes of an Enum": pl.Series("a", ["x", "y", None] * 40, dtype=pl.Enum(["x", "y"])),
    "bits of numbers that were cut": pl.Series("a", [1, None] * 60)[3:],
    "bits of structs": pl.Series("a", [{"n": 1}, None] * 60),
    "text": pl.Series("a", ["x", None] * 60)[3:],
}

WRAPS = {"series": lambda series: series, "frame": pl.Series.to_frame, "dict": lambda series: {"a": series.rename("z")}}


def buffers(column):
    """Address and bytes of all its buffers."""
    for part in column.chunks:
        for held in part.buffers.values():
            for buffer in held if isinstance(held, tuple) else (held,):
                yield buffer.ptr, buffer.nbytes
        for inner in (*part.children, *filter(None, [part.dictionary])):
            yield from buffers(inner)


def told(series, wrap):
    steps = lend.explain(wrap(series), "pyarrow").steps
    return [(step.what, step.nbytes, step.column) for step in steps if step.who == "producer"]


@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)
@pytest.mark.parametrize("case", ANEW)
def test_the_bytes_told_are_those_that_lie_elsewhere_each_time(case, wrap):
    series, parts = ANEW[case]
    one, other = lend.column(series), lend.column(series)
    moved = [nbytes for (ptr, nbytes), (again, _) in zip(buffers(one), buffers(other), strict=True) if ptr != again]
    ((what, nbytes, name),) = told(series, wrap)
    assert (nbytes, name) == (sum(moved), "a")
    assert len(what.removesuffix(" of column 'a'").split(", ")) == parts


@pytest.mark.parametrize("case", SHARED)
def test_what_is_shared_is_no_copy(case):
    assert told(SHARED[case], pl.Series.to_frame) == []


def test_a_column_without_a_name_is_told_as_this_column():
    assert told(pl.Series([{"n": 1}, None])[1:], lambda series: series)[0][0] == "the bits of nulls of this column"


def test_what_else_a_dict_has_is_not_polars_to_write():
    series, _ = ANEW["codes and categories"]
    steps = lend.explain({"a": memoryview(bytes(120)), "b": series}, "pyarrow").steps
    assert [step.column for step in steps if step.who == "producer"] == ["b"]
