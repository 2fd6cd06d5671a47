"""NumPy: what comes from it and what it gets (RO, DTYPE, SHAPE, LIFE, ASK-11, SPEED-4)."""

import gc

import pytest

import lend
from lend.errors import CopyRequired, LendError, UnsupportedType

np = pytest.importorskip("numpy")


def address(array):
    return array.__array_interface__["data"][0]


DTYPES = [
    "?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "g", "c8", "c16", ">i4", ">f8",
    "M8[ns]", "M8[25s]", "m8[D]", "V7"
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("step", [1, 2, -1])
def test_an_array_comes_back_as_it_was(dtype, step):
    source = np.zeros(6, dtype)[::step]
    made = lend.to(lend.view(source), "numpy", copy=False)
    assert (made.dtype, made.shape, made.strides, address(made)) == (
        source.dtype, source.shape, source.strides, address(source)
    )  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_it_is_read_only_exactly_if_the_view_is(dtype):
    source = np.zeros(6, dtype)
    assert lend.to(source, "numpy").flags.writeable
    source.flags.writeable = False
    assert not lend.to(source, "numpy").flags.writeable
    assert not lend.to(lend.view(np.zeros(6, dtype), writable=False), "numpy").flags.writeable


def test_opaque_bytes_stay_opaque():
    assert lend.to(lend.view(np.zeros(3, "V7")), "numpy").dtype == np.dtype("V7")


@pytest.mark.parametrize("target", ["numpy", np, np.ndarray])
def test_every_name_of_it_makes_an_array(target):
    assert type(lend.to(bytearray(4), target)) is np.ndarray


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 8, 0, 128)])
def test_a_shape_without_elements_or_dimensions_is_kept(shape):
    assert lend.to(np.zeros(shape), "numpy", copy=False).shape == shape


def test_an_array_of_datetimes_outlives_the_release_of_the_view():
    source = np.arange(3).astype("M8[s]")
    view = lend.view(source)
    made = lend.to(view, "numpy")
    view.release()
    gc.collect()
    assert made.tolist() == source.tolist()


def test_a_copy_is_writable_and_apart():
    source = np.arange(4.0)
    source.flags.writeable = False
    made = lend.to(source, "numpy", copy=True)
    made[0] = 9
    assert (source[0], made.tolist()) == (0, [9, 1, 2, 3])


def test_a_copy_keeps_byte_order_and_column_major_order():
    source = np.arange(6, dtype=">f8").reshape(2, 3).T
    made = lend.to(source, "numpy", copy=True)
    assert (made.dtype, made.strides, made.tolist()) == (source.dtype, source.strides, source.tolist())


def test_a_masked_array_is_refused_with_both_ways_out():
    masked = np.ma.masked_array([1, 2], mask=[False, True])
    with pytest.raises(UnsupportedType, match=r"(?s)has a mask.*filled.*x\.mask"):
        lend.view(masked)
    for function in (lambda x: lend.to(x, "memoryview"), lambda x: lend.explain(x, "memoryview")):
        with pytest.raises(UnsupportedType, match=r'(?s)has 1 null.*nulls=\("fill", 0\)'):
            function(masked)


def test_an_array_that_may_be_resized_is_marked():
    assert any("may reallocate" in note for note in lend.explain(np.zeros(4)).notes)
    assert lend.explain(np.frombuffer(bytearray(4), "u1"), "memoryview").notes == ()
    assert lend.explain(np.zeros(4), "memoryview", copy=True).notes == ()


@pytest.mark.parametrize("part", [slice(None), slice(2, 6), slice(None, None, -1), slice(1, 8, 3)])
def test_a_resize_is_noticed_through_a_view_of_the_array(part):
    source = np.zeros(8)
    view = lend.view(source[part])
    lend.to(view, "numpy")
    source.resize(1 << 20, refcheck=False)
    with pytest.raises(lend.errors.LeaseLost, match="reallocated"):
        lend.to(view, "numpy")


def test_an_array_that_shrank_in_place_is_noticed():
    source = np.zeros(1 << 16)
    view = lend.view(source)
    source.resize(4, refcheck=False)
    with pytest.raises(lend.errors.LeaseLost, match=r"(?s)lent: 524288 bytes.*now : 32 bytes"):
        view.verify()


def test_a_field_or_an_element_of_it_passes_verify_while_it_stays():
    records = np.array([(1, 2.0), (3, 4.0)], [("whole", "i4"), ("part", "f8")])
    parts = [lend.view(np.arange(12.0).reshape(3, 4)[1]), lend.view(np.ones((3, 4)))[2, 1:], lend.view(np.float64(3))]
    parts.append(lend.view(records["part"]))
    before = [view.tolist() for view in parts]
    assert [view.verify() for view in parts] == [None] * 4
    assert [view.tolist() for view in parts] == before


def test_a_field_of_an_array_that_moved_fails_verify():
    records = np.zeros(1 << 16, [("whole", "i4"), ("part", "f8")])
    view = lend.view(records["part"])
    records.resize(4, refcheck=False)
    with pytest.raises(lend.errors.LeaseLost):
        view.verify()


# what View.__array__ answers (ASK-11)


def test_an_array_of_a_view_shares_its_memory():
    view = lend.view(np.arange(4.0))
    for made in (np.asarray(view), view.__array__(), view.__array__(copy=False), np.array(view, copy=False)):
        assert address(made) == view.ptr


def test_an_array_that_is_asked_to_be_a_copy_is_fresh_and_writable():
    view = lend.view(np.arange(4.0), writable=False)
    made = view.__array__(copy=True)
    assert (address(made) == view.ptr, made.flags.writeable) == (False, True)


def test_another_dtype_is_a_copy_and_refused_without_one():
    view = lend.view(np.arange(4, dtype="i4"))
    assert view.__array__("f8").dtype == np.dtype("f8")
    assert view.__array__("i4", copy=False).dtype == np.dtype("i4")
    with pytest.raises(CopyRequired, match=r"dtype float64 was asked for.*\(dtype\)"):
        view.__array__("f8", copy=False)


def test_an_object_with_dlpack_alone_becomes_an_array_of_its_values():
    class Alone:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **keywords):
            return self.array.__dlpack__(**keywords)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    source = np.arange(3.0)
    assert lend.to(Alone(source), "numpy").tolist() == [0, 1, 2]
    assert address(np.asarray(lend.view(Alone(source)))) == address(source)


@pytest.mark.parametrize("lanes", ["float32x4", "int128"])
def test_a_dtype_that_numpy_lacks_is_refused_by_name(lanes):
    holder = bytearray(64)
    view = lend.View.from_pointer(lend.view(holder).ptr, (2,), lanes, owner=holder)
    with pytest.raises(LendError, match=rf"numpy.ndarray has no {lanes}"):
        lend.to(view, "numpy")
