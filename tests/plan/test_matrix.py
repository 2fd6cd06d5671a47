"""What `explain` predicts is what `to` does: the same refusal, or the copies that are counted and the address shown."""

import importlib.util

import pytest

import lend
from lend.errors import CopyRequired, LendError

np = pytest.importorskip("numpy")

TARGETS = [
    name
    for name in ("numpy", "torch", "jax", "pyarrow", "memoryview", "tvm_ffi")
    if name == "memoryview" or importlib.util.find_spec(name)
]
DTYPES = [
    "?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "g", "c8", "c16", ">i4", ">f8", ">c16",
    "M8[ns]", "m8[25s]", "V7",
]  # fmt: skip
LAYOUTS = {
    "one dimension": lambda a: a,
    "two dimensions": lambda a: a.reshape(4, 6),
    "column-major": lambda a: a.reshape(4, 6).T,
    "permuted": lambda a: a.reshape(2, 3, 4).transpose(1, 0, 2),
    "every second": lambda a: a[::2],
    "reversed": lambda a: a[::-1],
    "a column": lambda a: a.reshape(4, 6)[:, 1],
    "broadcast": lambda a: np.broadcast_to(a[:3], (2, 3)),
    "one odd stride": lambda a: np.lib.stride_tricks.as_strided(a, (1, 3), (3, a.itemsize)),
    "no dimension": lambda a: a[2:3].reshape(()),
    "empty": lambda a: a[:0],
    "empty in two dimensions": lambda a: a[:0].reshape(0, 3),
    "shifted by one item": lambda a: a[1:],
    "unaligned": lambda a: shifted(a),
}


def shifted(a):
    """The same values one byte off."""
    raw = np.zeros(a.nbytes + 65, "u1")
    moved = np.ndarray(a.shape, a.dtype, raw, offset=64 - raw.ctypes.data % 64 + 1)
    moved[...] = a
    return moved


def aligned(n, dtype):
    """n elements at a 64-byte boundary, no two alike where the dtype allows."""
    dtype = np.dtype(dtype)
    raw = np.zeros(n * dtype.itemsize + 64, "u1")
    start = -raw.ctypes.data % 64
    made = np.ndarray((n,), dtype, raw, offset=start)
    if dtype.kind == "V":
        made.view("u1")[...] = np.arange(n * dtype.itemsize)
    elif dtype.kind in "mM":
        made.view("i8")[...] = np.arange(n)
    else:
        made[...] = np.arange(n) % 2 if dtype.kind == "b" else np.arange(n)
    return made


def values(made):
    """Bytes of the values of whatever a target made, in row-major order and native byte order, and its shape."""
    kind = type(made).__module__.partition(".")[0]
    if kind == "pyarrow":
        made = made.to_numpy(zero_copy_only=False) if hasattr(made, "null_count") else made.to_numpy()
    if kind == "tvm_ffi":
        made = np.from_dlpack(made)
    if kind == "torch":
        made = made.numpy()
    made = np.asarray(made)
    return [*made.shape], made


def address(made):
    kind = type(made).__module__.partition(".")[0]
    if kind in {"torch", "tvm_ffi"}:
        return made.data_ptr()
    if kind.startswith("jax"):
        return made.unsafe_buffer_pointer()
    if kind == "pyarrow" and hasattr(made, "buffers"):
        return made.buffers()[1].address
    return np.asarray(made).__array_interface__["data"][0]


def outcome(function, *args, **keywords):
    """What a call gave, and the class and text of the refusal it raised instead."""
    try:
        return function(*args, **keywords), None
    except LendError as refusal:
        return None, (type(refusal), str(refusal))


@pytest.mark.parametrize("readonly", [False, True], ids=["writable", "read-only"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("target", TARGETS)
def test_the_plan_is_what_happens(target, layout, readonly):
    for dtype in DTYPES:
        if np.dtype(dtype) == np.dtype("V7") and layout == "one odd stride":
            continue
        source = LAYOUTS[layout](aligned(24, dtype))
        if readonly or not source.flags.writeable:
            source = source.view()
            source.flags.writeable = False
        for copy in (None, True, False):
            check(source, target, copy)


def check(source, target, copy):
    told = f"{source.dtype} {source.shape} {source.strides} to {target}, copy={copy}"
    plan, predicted = outcome(lend.explain, source, target, copy=copy)
    with lend.copies() as counted:
        made, refused = outcome(lend.to, source, target, copy=copy)
    assert refused == predicted, told
    if refused is not None:
        assert counted.count == 0, told
        return
    ours = [step for step in plan.steps if step.who in ("lend", "producer")]
    assert (counted.count, counted.bytes) == (len(ours), sum(step.nbytes for step in ours)), told
    assert [copy.why.replace(", ", "; ") for copy in counted.recent] == [
        step.why.replace(", ", "; ") for step in ours
    ], told
    if copy is False:
        assert plan.copies == (), told
    if copy is True and (source.size or source.dtype.kind not in "mM"):  # times may go as columns, of no bytes then
        assert plan.copies, told
    if source.size:
        assert (address(made) == source.ctypes.data) is (not plan.copies), told
    shape, got = values(made)
    assert shape == [*source.shape], told
    if target == "memoryview" and source.dtype.kind == "V":
        return  # NumPy reads its format as a record without fields
    assert np.array_equal(np.asarray(got, source.dtype), source), told


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_copy_is_never_seen_by_the_source_nor_the_source_by_it(target, layout):
    source = LAYOUTS[layout](aligned(24, "f4"))
    before = source.copy()
    made = lend.to(source, target, copy=True)
    source.setflags(write=True) if source.flags.owndata or source.base is None else None
    if source.flags.writeable:
        source[...] = 77
    assert np.array_equal(values(made)[1], before)


@pytest.mark.parametrize("target", [name for name in TARGETS if name != "memoryview"])
def test_a_copy_lies_at_a_64_byte_boundary(target):
    assert address(lend.to(aligned(24, "f4")[1:], target, copy=True)) % 64 == 0


@pytest.mark.parametrize("target", TARGETS)
def test_explaining_leaves_nothing_open(target):
    lender = bytearray(64)
    plan = lend.explain(lender, target)
    lender.append(1)  # a BufferError while anything holds it
    assert len(lender) == 65
    assert "uint8[64]" in str(plan)  # and what it says stays said


def test_no_copy_says_why_it_is_needed_by_a_word_that_can_be_searched_for():
    rows = np.arange(12, dtype="f4").reshape(3, 4)
    frozen = rows.view()
    frozen.flags.writeable = False
    needs = {
        "read-only": (frozen, "torch"),
        "negative stride": (rows[::-1], "torch"),
        "byte order": (rows.astype(">f4"), "torch"),
        "alignment": (shifted(rows), "torch"),
        "contiguous": (np.arange(8)[::2], "pyarrow"),
        "compact": (aligned(24, "f4")[::2], "jax"),
        "zero stride": (np.broadcast_to(aligned(4, "f4"), (2, 4)), "jax"),
        "bit-packed": (np.zeros(3, bool), "pyarrow"),
    }
    for word, (source, target) in needs.items():
        if target in TARGETS:
            with pytest.raises(CopyRequired, match=rf"\({word}\)"):
                lend.to(source, target, copy=False)
