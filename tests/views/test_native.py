"""`View.native` and `native_object`: whose array it still is, while nothing was changed."""

from array import array

import pytest

import lend

np = pytest.importorskip("numpy")

ROWS = np.arange(12).reshape(3, 4)
CHANGES = {
    "an element": lambda view: view[0],
    "a slice": lambda view: view[1:],
    "all of it, sliced": lambda view: view[:],
    "the other way round": lambda view: view.T,
    "another shape": lambda view: view.reshape(12),
    "another dtype": lambda view: view.reinterpret("uint64"),
    "its bytes, as a dtype": lambda view: view.buffer.view("int64"),
    "a copy": lambda view: lend.view(view, copy=True),
    "a column of a block": lambda view: lend.column(view[0]).view(),
}


def test_a_view_of_an_array_of_numpy_is_still_that():
    view = lend.view(ROWS)
    assert (view.native, view.native_object is ROWS) == ("numpy", True)


@pytest.mark.parametrize(
    ("library", "made"),
    [("torch", lambda torch: torch.arange(3)), ("jax", lambda jax: jax.numpy.arange(3)),
     ("pyarrow", lambda pa: pa.array([1, 2, 3]))],
)  # fmt: skip
def test_what_came_by_any_protocol_is_still_that_of_its_library(library, made):
    given = made(pytest.importorskip(library))
    view = lend.view(given)
    assert view.native == {"pyarrow": "arrow"}.get(library, library)
    assert view.native_object is given


def test_a_class_of_the_users_own_is_of_the_library_below_it():
    class Mine(np.ndarray):
        pass

    assert lend.view(ROWS.view(Mine)).native == "numpy"


def test_what_is_of_no_library_that_is_known_has_an_object_alone():
    given = array("i", [1, 2])
    view = lend.view(given)
    assert (view.native, view.native_object is given) == (None, True)


@pytest.mark.parametrize("change", CHANGES)
def test_where_anything_was_changed_it_is_nobodys(change):
    made = CHANGES[change](lend.view(ROWS))
    assert (made.native, made.native_object) == (None, None)


def test_memory_that_was_told_in_words_is_nobodys():
    view = lend.View.from_pointer(ROWS.ctypes.data, (3, 4), "int64", owner=ROWS)
    assert (view.native, view.native_object) == (None, None)


def test_a_capsule_shows_no_object():
    assert lend.view(ROWS.__dlpack__()).native_object is None


def test_a_released_view_says_so():
    view = lend.view(ROWS)
    view.release()
    with pytest.raises(lend.errors.LeaseLost):
        view.native_object
