"""What `explain` predicts of a column is what `to` does: every kind, cut and chunked, to every library, each copy=."""

import functools
import importlib.util

import pytest

import lend
from lend.errors import LendError
from support import column_kinds

pa = pytest.importorskip("pyarrow")
np = pytest.importorskip("numpy")

WAYS = {
    "pyarrow": {}, "polars": {}, "arro3": {}, "duckdb": {}, "numpy": {}, "numpy.ma": {}, "torch": {}, "pandas": {},
    **{f"pandas, {backend}": {"dtype_backend": backend} for backend in ("numpy", "numpy_nullable", "pyarrow")},
    "numpy, objects": {"nulls": "object"}, "numpy, storage": {"storage": True}, "torch, filled": {"nulls": ("fill", 0)},
}  # fmt: skip
CUTS = {
    "whole": lambda a: a,
    "sliced": lambda a: a[1:-1],
    "in chunks": lambda a: pa.chunked_array([a[:1], a[1:2], a[2:]], a.type),
    "one chunk of rows": lambda a: pa.chunked_array([a[:0], a[1:], a[:0]], a.type),
}


@functools.cache
def kinds():
    found = {name: array for name, (array, _) in column_kinds.arrays().items()}
    found["indices of integers"] = pa.array([5, 6, 5]).dictionary_encode()
    for name in ("int64", "float64", "bool", "string", "timestamp", "date32", "dictionary"):
        found[f"{name} without nulls"] = found[name].drop_null()
    return found


def spans(column, skipped=()):
    """The spans of memory that a column reads, but for buffers of some roles."""
    found = []
    for chunk in filter(len, column.chunks):
        for role, buffer in chunk.buffers.items():
            parts = buffer if isinstance(buffer, tuple) else (buffer,)
            found += [(part.ptr, part.ptr + part.nbytes) for part in parts if part.nbytes and role not in skipped]
        for inner in (*chunk.children, *filter(None, [chunk.dictionary])):
            found += spans(inner, skipped)
    return found


def memory_of(made, library):
    if library == "torch":
        return [(made.data_ptr(), made.data_ptr() + made.numel() * made.element_size())] if made.numel() else []
    if library == "numpy":
        return [np.lib.array_utils.byte_bounds(np.ma.getdata(made))] if made.size else []
    # bits that do not begin where the values do these write anew when they give them, not when they get them
    return spans(lend.column(made), ("validity",) if library in ("polars", "arro3") else ())


def outcome(function, *args, **keywords):
    try:
        return function(*args, **keywords), None
    except LendError as refusal:
        return None, (type(refusal), str(refusal))


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("way", WAYS)
def test_the_plan_of_a_column_is_what_happens(way, cut):
    target, options = way.partition(",")[0], WAYS[way]
    library = target.partition(".")[0]
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    done = 0
    for name, array in kinds().items():
        for copy in (None, False, True):
            source = CUTS[cut](array)
            given = {"a": source} if target == "duckdb" else source
            done += check(f"{name}, copy={copy}", source, given, target, {"copy": copy, **options})
    assert done  # that it does not refuse them all


def check(told, source, given, target, options):
    library = target.partition(".")[0]
    plan, predicted = outcome(lend.explain, given, target, **options)
    with lend.copies() as counted:
        made, refused = outcome(lend.to, given, target, **options)
    assert refused == predicted, told
    ours = [] if plan is None else [step.nbytes for step in plan.steps if step.who == "lend"]
    assert counted.bytes == sum(ours), told
    if plan is None:
        return 0
    assert options["copy"] is not False or plan.copies == (), told
    if library == "duckdb" or options.get("nulls") == "object":
        return 1
    before, after = spans(lend.column(source)), memory_of(made, library)
    if not plan.copies:
        assert all(any(a <= start and end <= b for a, b in before) for start, end in after), told
    elif options["copy"] is True:
        assert not any(a < end and start < b for a, b in before for start, end in after), told
    return 1
