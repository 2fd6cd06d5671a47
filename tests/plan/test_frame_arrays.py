"""Columns and tables as arrays: every type in every null form, whole and in chunks, to every library of arrays.

The judge is a list of Python's: what must come out of it, and what must be refused, is worked out by `expected`, which
knows nothing of columns.
"""

import datetime
import math

import pytest

import lend
from lend.columns.building import of_chunks
from lend.errors import CopyRequired, LendError, UnsupportedType
from support import column_forms

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")

NAN = math.nan
REFUSED = "refused"
NULLS = [None, "mask", "nan", "object", "forbid", "struct", "fill"]
FORMS = ["bits", "inverted bits", "bytes of 1", "bytes of 0", "strided bytes", "one byte for all"]
# kind -> dtype, rows without nulls, what fills
KINDS = {
    "int8": ("int8", [1, -2, 3, 4, 5, 6, 7, 8, 9, 10, -11], 7),
    "int32": ("int32", [1, -2, 3, 2**31 - 1, -(2**31), 6, 7, 8, 9, 10, -11], -7),
    "int64": ("int64", [1, -2, 3, 2**53, 5, 6, 7, 8, 9, 10, -11], 7),
    "large": ("int64", [1, -2, 3, 2**62 + 1, 5, 6, 7, 8, 9, 10, -11], 7),
    "uint16": ("uint16", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 65535], 7),
    "float32": ("float32", [1.5, -2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, -11.5], 0.5),
    "float64": ("float64", [1.5, -2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, -11.5], 0.5),
    "float64 and NaN": ("float64", [1.5, NAN, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, -11.5], 0.5),
    "bool": ("bool", [True, False, True, True, False, True, False, True, True, False, False], True),
    "bits": ("bits", [True, False, True, True, False, True, False, True, True, False, False], False),
    "datetime64[ns]": ("datetime64[ns]", [1, -2, 3, 4, 5, 6, 7, 8, 9, 10, -11], 7),
    "datetime64[D]": ("datetime64[D]", [1, -2, 3, 4, 5, 6, 7, 8, 9, 10, -11], 7),
    "timedelta64[s]": ("timedelta64[s]", [1, -2, 3, 4, 5, 6, 7, 8, 9, 10, -11], 7),
    "date32": ("date32", [1, -2, 3, 4, 5, 6, 7, 8, 9, 10, -11], 7),
}
TIMES = ("datetime64[ns]", "datetime64[D]", "timedelta64[s]", "date32")
TARGETS = ["numpy", "numpy.ma", "torch", "jax", "memoryview"]
OF_JAX = ("int8", "int32", "uint16", "float32", "bool", "bits")
CUTS = {"one chunk": [11], "two chunks": [5, 6], "empty ones between": [0, 3, 0, 8, 0], "one is full": [0, 11, 0]}


def forms_of(kind):
    found = ["none", *FORMS]
    if kind.startswith("float"):
        found.append("nan")
    if kind in ("datetime64[ns]", "datetime64[D]", "timedelta64[s]"):
        found.append("nat")
    if kind in ("int8", "int32", "int64", "large"):
        found.append("sentinel")
    return found


def rows_of(kind, form):
    rows = list(KINDS[kind][1])
    if form == "nan":
        rows = [None if row != row else row for row in rows]  # noqa: PLR0124 - NaN
    if form == "one byte for all":
        return [None] * len(rows)
    if form != "none":
        rows[0] = rows[6] = rows[10] = None
    return rows


def column_of(kind, rows, form, cuts):
    parts, start = [], 0
    for n in cuts:
        values = rows[start : start + n]
        told = None if form == "none" else form
        if kind == "bits":
            before = [] if form == "one byte for all" else [True, None, False] if told else [True]
            parts.append(column_forms.packed_bools(values, told, before=before))
        else:
            before = [] if form == "one byte for all" else [KINDS[kind][1][0]]
            parts.append(column_forms.numbers(KINDS[kind][0], values, told, before=before))
        start += n
    return parts[0] if len(parts) == 1 else of_chunks(parts)


def expected(kind, rows, form, target, nulls):
    """What arrives: a list, in which None is masked or NaT; or REFUSED."""
    numpy = target in ("numpy", "numpy.ma")
    if nulls == "struct" or (nulls == "mask" and not numpy) or (nulls == "object" and target != "numpy"):
        return REFUSED
    if nulls == "object":
        return rows
    if kind in TIMES and not numpy:
        return REFUSED
    if None not in rows or nulls == "mask" or (target == "numpy.ma" and nulls is None):
        return rows
    if nulls == "fill":
        return [KINDS[kind][2] if row is None else row for row in rows]
    if nulls == "forbid":
        return REFUSED
    if kind in TIMES:
        return rows
    if form == "nan":
        return [NAN if row is None else row for row in rows]
    integers = kind in ("int8", "int32", "int64", "uint16", "large")
    if nulls is None or kind in ("bool", "bits") or (integers and target == "jax"):
        return REFUSED  # of jax without its float64
    if integers and any(row is not None and abs(row) > 2**53 for row in rows):
        return REFUSED
    if any(row is not None and row != row for row in rows):  # noqa: PLR0124 - NaN
        return REFUSED
    return [NAN if row is None else row for row in rows]


def shown(made, kind):
    """The values of an array, None for what is masked or NaT."""
    if kind in TIMES and isinstance(made, np.ndarray) and made.dtype != object:
        numbers = made.view("int64").tolist()
        return [None if number == -(2**63) else number for number in numbers]
    return made.tolist()


def same(one, other):
    return len(one) == len(other) and all(
        a == b or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))
        for a, b in zip(one, other, strict=True)
    )


def address_of(made):
    if isinstance(made, memoryview):
        return lend.view(made).ptr
    if hasattr(made, "data_ptr"):
        return made.data_ptr()
    if hasattr(made, "unsafe_buffer_pointer"):
        return made.unsafe_buffer_pointer()
    return made.__array_interface__["data"][0]


def told_by_lend(plan):
    assert all(step.who in (None, "lend") for step in plan.steps)
    return sum(step.nbytes for step in plan.steps if step.who == "lend")


def outcome(ask):
    try:
        return ask()
    except LendError as error:
        return type(error), str(error)


def objects(kind, rows):
    """What Python has for the numbers of times."""
    day, second = datetime.timedelta(days=1), datetime.timedelta(seconds=1)
    epoch = datetime.datetime(1970, 1, 1)
    make = {
        "datetime64[D]": lambda row: epoch.date() + row * day,
        "date32": lambda row: epoch.date() + row * day,
        "timedelta64[s]": lambda row: row * second,
    }.get(kind)
    return rows if make is None else [None if row is None else make(row) for row in rows]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", TARGETS)
def test_what_explain_tells_is_what_arrives(kind, target):
    if not target.startswith("numpy") and target != "memoryview":
        pytest.importorskip(target)
    if target == "jax" and kind not in OF_JAX:
        pytest.skip("jax has no 64-bit types unless it is asked")
    for form in forms_of(kind):
        rows = rows_of(kind, form)
        for cut, cuts in CUTS.items():
            column = column_of(kind, rows, form, cuts)
            for nulls in NULLS:
                case = f"{kind}, nulls as {form}, {cut}, to {target}, nulls={nulls}"
                _check(column, kind, rows, form, target, nulls, case)


def _check(column, kind, rows, form, target, nulls, case):
    asked = ("fill", KINDS[kind][2]) if nulls == "fill" else nulls
    wanted = expected(kind, rows, form, target, nulls)
    if kind == "datetime64[ns]" and nulls == "object" and wanted != REFUSED and any(row is not None for row in rows):
        wanted = REFUSED  # Python has no nanoseconds
    plan = outcome(lambda: lend.explain(column, target, nulls=asked))
    with lend.copies() as counted:
        made = outcome(lambda: lend.to(column, target, nulls=asked))
    if wanted == REFUSED:
        assert isinstance(made, tuple) and issubclass(made[0], UnsupportedType), f"{case}: {made}"
        assert made == plan, case
        return
    assert not isinstance(plan, tuple), f"{case}: {plan}"
    assert not isinstance(made, tuple), f"{case}: {made}"
    wanted = objects(kind, wanted) if nulls == "object" else wanted
    assert same(shown(made, kind), wanted), f"{case}: {made}"
    assert counted.bytes == told_by_lend(plan), f"{case}: {plan}"
    masked = target == "numpy.ma" or (target == "numpy" and nulls == "mask")
    assert masked == isinstance(made, np.ma.MaskedArray), case
    full = next((part for part in column.chunks if len(part)), None)
    there = full.buffers["data"]
    start = there.ptr + full.offset * (0 if kind == "bits" else lend.DType(KINDS[kind][0]).itemsize)
    nbytes = 0 if masked and made.mask is np.ma.nomask else len(rows)
    shares = told_by_lend(plan) == (nbytes if masked and form != "bytes of 1" else 0) or (
        masked and told_by_lend(plan) <= nbytes
    )
    if nulls != "object" and not (masked and kind in ("int8", "bool", "bits")):
        assert (address_of(made) == start) == shares, f"{case}: {plan}"
    if told_by_lend(plan):
        refused = outcome(lambda: lend.to(column, target, nulls=asked, copy=False))
        assert refused[0] is CopyRequired, f"{case}: {refused}"
        chunks = sum(len(part) > 0 for part in column.chunks)
        assert chunks < 2 or nulls == "object" or f"{chunks} chunks" in refused[1], f"{case}: {refused[1]}"
    else:
        assert same(shown(lend.to(column, target, nulls=asked, copy=False), kind), wanted), case
    with lend.copies() as counted:
        isolated = lend.to(column, target, nulls=asked, copy=True)
    assert counted.bytes == told_by_lend(lend.explain(column, target, nulls=asked, copy=True)), case
    assert same(shown(isolated, kind), wanted), case
    assert not there.ptr <= address_of(isolated) < there.ptr + max(there.nbytes, 1), case


# -- blocks ------------------------------------------------------------------------------------------------------------


def address(made):
    return lend.view(made).ptr


@pytest.mark.parametrize("target", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_stack_of_columns_of_one_block_is_shared_as_the_plan_says(target, order):
    pytest.importorskip(target)
    source = np.array(np.arange(32 * 16, dtype="f4").reshape(32, 16), order=order)
    table = lend.table(source)
    plan = lend.explain(table, target, stack=True)
    with lend.copies() as counted:
        made = lend.to(table, target, stack=True)
    written = sum(step.nbytes or 0 for step in plan.steps)
    assert lend.view(made).tolist() == source.tolist()
    assert (address(made) == source.ctypes.data) == (written == 0)
    assert written == counted.bytes
    assert written == 0 or target == "jax"


def test_a_stack_of_a_block_of_pandas_is_shared_and_read_only():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(np.arange(6.0).reshape(3, 2), columns=["a", "b"])
    made = lend.to(frame, "numpy", stack=True, copy=False)
    assert made.ctypes.data == frame["a"].to_numpy().ctypes.data
    assert not made.flags.writeable


def test_a_stack_of_a_masked_block_shares_elements_and_mask():
    source = np.ma.array(np.arange(6).reshape(3, 2), mask=[[0, 1], [0, 0], [1, 0]])
    made = lend.to(lend.table(source), "numpy.ma", stack=True)
    assert (made.data.ctypes.data, made.mask.ctypes.data) == (source.data.ctypes.data, source.mask.ctypes.data)
    assert made.tolist() == source.tolist()


def test_a_stack_of_a_block_is_copied_where_that_is_asked_for():
    source = np.arange(6).reshape(3, 2)
    made = lend.to(lend.table(source), "numpy", stack=True, copy=True)
    assert not np.shares_memory(made, source)
    assert made.tolist() == source.tolist()
