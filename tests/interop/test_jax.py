"""JAX: what comes from it and what it gets (RO-3, RO-12, DTYPE-15, SHAPE-2, OFFSET-3, ASK-1)."""

import pytest

import lend
from lend.errors import CopyRequired, UnsupportedType
from support import children

np = pytest.importorskip("numpy")
jax = pytest.importorskip("jax")


def placed(n, at=0, dtype="f4"):
    """n numbers at an address that is `at` mod 64."""
    raw = np.zeros(n * 8 + 128, "u1")
    made = np.ndarray((n,), dtype, raw, offset=-raw.ctypes.data % 64 + at)
    made[...] = np.arange(n)
    return made


@pytest.mark.parametrize("target", ["jax", jax, jax.numpy, jax.Array])
@pytest.mark.parametrize("copy", [None, False])
def test_every_name_of_it_makes_an_array_over_the_same_memory(target, copy):
    source = placed(4)
    made = lend.to(source, target, copy=copy)
    assert isinstance(made, jax.Array)
    assert (made.unsafe_buffer_pointer(), made.tolist()) == (source.ctypes.data, [0, 1, 2, 3])


def test_writable_memory_is_aliased_and_the_plan_says_so():
    source = placed(4)
    assert "aliased: later writes to the source are visible there" in lend.explain(source, "jax").notes
    made = lend.to(source, "jax")
    source[0] = 77
    assert made[0] == 77


def test_read_only_memory_is_shared_without_a_word_about_writes():
    source = placed(4)
    source.flags.writeable = False
    made = lend.to(source, "jax", copy=False)
    assert made.unsafe_buffer_pointer() == source.ctypes.data
    assert not any("aliased" in note for note in lend.explain(source, "jax").notes)


def test_a_copy_never_sees_a_later_write():
    source = placed(4)
    made = lend.to(source, "jax", copy=True)
    source[0] = 77
    assert made.tolist() == [0, 1, 2, 3]


def test_memory_off_the_64_byte_grid_is_copied_and_the_numbers_are_told():
    source = placed(4, at=16)
    plan = lend.explain(source, "jax")
    assert plan.copies[0].why == "jax needs 64-byte alignment, and the address is 16 mod 64"
    assert (plan.copies[0].who, plan.bytes_copied) == ("lend", 16)
    assert lend.to(source, "jax").tolist() == [0, 1, 2, 3]
    with pytest.raises(CopyRequired, match=r"16 mod 64 \(alignment\)"):
        lend.to(source, "jax", copy=False)


@pytest.mark.parametrize("at", [0, 16, 4])
def test_nothing_is_said_on_stderr_about_alignment(at):
    """What there is to say stands in the plan and in the refusal."""
    out = children.run_clean(
        """
        import sys, warnings
        warnings.simplefilter("always")
        import numpy as np
        import lend
        raw = np.zeros(160, "u1")
        start = -raw.ctypes.data % 64 + int(sys.argv[1])
        source = np.ndarray((4,), "f4", raw, offset=start)
        for copy in (None, True, False):
            try:
                print(lend.explain(source, "jax", copy=copy).bytes_copied, end=" ")
                print(lend.to(source, "jax", copy=copy).tolist() == [0, 0, 0, 0], end=" ")
            except lend.errors.CopyRequired as refusal:
                print("(alignment)" in str(refusal), end=" ")
        """,
        args=(at,),
        options=(),
    )
    assert out == ("0 True 16 True 0 True " if at == 0 else "16 True 16 True True ")


@pytest.mark.parametrize(
    ("word", "make"),
    [
        ("compact", lambda a: a[::2]),
        ("negative stride", lambda a: a[::-1]),
        ("zero stride", lambda a: np.broadcast_to(a[:4], (3, 4))),
        ("compact", lambda a: np.lib.stride_tricks.as_strided(a, (3, 3), (4, 4))),
    ],
)
def test_memory_with_gaps_is_copied_with_the_right_values(word, make):
    source = make(placed(24))
    assert lend.to(source, "jax").tolist() == source.tolist()
    with pytest.raises(CopyRequired, match=rf"\({word}\)"):
        lend.to(source, "jax", copy=False)


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1), (1, 2, 0)])
def test_permuted_dimensions_are_shared(axes):
    source = placed(24).reshape(2, 3, 4).transpose(axes)
    made = lend.to(source, "jax", copy=False)
    assert (made.tolist(), made.unsafe_buffer_pointer()) == (source.tolist(), source.ctypes.data)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_a_shape_without_elements_or_dimensions_is_kept(shape):
    assert lend.to(placed(1)[:0].reshape(shape) if 0 in shape else placed(1)[0:1].reshape(()), "jax").shape == shape


@pytest.mark.parametrize("copy", [None, True, False])
@pytest.mark.parametrize("dtype", ["i8", "u8", "f8", "c16", ">i8"])
def test_wide_values_are_refused_while_jax_would_narrow_them(dtype, copy):
    source = np.zeros(4, dtype)
    with jax.enable_x64(False):
        for function in (lend.to, lend.explain):
            with pytest.raises(UnsupportedType, match=r"(?s)jax would narrow .* \(lossy\).*jax_enable_x64"):
                function(source, "jax", copy=copy)


def test_wide_values_arrive_whole_when_jax_has_them():
    with jax.enable_x64(True):
        made = lend.to(np.array([2**40 + 5]), "jax")
        assert (str(made.dtype), made.tolist()) == ("int64", [2**40 + 5])


def test_an_array_of_jax_is_read_only_and_copied_into_torch():
    pytest.importorskip("torch")
    source = jax.numpy.arange(4, dtype="float32")
    assert lend.view(source).readonly
    made = lend.to(source, "torch")
    made[0] = 99
    assert source.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64", "bfloat16"])
def test_an_array_of_jax_is_taken_where_it_lies(dtype):
    source = jax.numpy.zeros(3, dtype)
    view = lend.view(source)
    assert (view.ptr, str(view.dtype)) == (source.unsafe_buffer_pointer(), dtype)


def test_a_dtype_that_jax_lacks_is_refused_by_name():
    with pytest.raises(UnsupportedType, match=r"jax\.Array has no datetime64\[s\]"):
        lend.to(np.zeros(3, "M8[s]"), "jax")
