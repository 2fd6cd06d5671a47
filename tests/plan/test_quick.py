"""`quick`: the function that hands a View on when nothing else is to be done, for the front door to remember."""

import pytest

import lend
from lend.errors import UnsupportedType
from lend.plan.drawing import quick


def test_it_gives_what_to_gives():
    view = lend.view(bytearray(b"abcd"))
    assert quick("memoryview", view)(view).tolist() == lend.to(view, "memoryview").tolist()


@pytest.mark.parametrize("target", [lambda view: view, bytes, None])
def test_a_callable_and_no_target_have_none(target):
    assert quick(target, lend.view(bytearray(4))) is None


def test_it_refuses_as_to_does():
    view = lend.view(bytearray(8)).reinterpret("datetime64[s]")
    with pytest.raises(UnsupportedType) as quickly:
        quick("memoryview", view)
    with pytest.raises(UnsupportedType) as slowly:
        lend.to(view, "memoryview")
    assert str(quickly.value) == str(slowly.value)
    with pytest.raises(ValueError, match="names no target"):
        quick("nummpy", view)


class TestTorch:
    """torch needs a copy for what memoryview takes."""

    @pytest.fixture(autouse=True)
    def torch(self):
        return pytest.importorskip("torch")

    def test_it_gives_what_to_gives(self):
        view = lend.view(bytearray(8)).reinterpret("float32")
        assert quick("torch", view)(view).data_ptr() == view.ptr

    @pytest.mark.parametrize(
        "change",
        [
            lambda view: lend.view(view, writable=False),
            lambda view: view[::-1],
            lambda view: view[::2],
            lambda view: view.buffer.view("float64", offset=1, shape=(2,)),
            lambda view: view.reinterpret(">f8"),
        ],
        ids=["read-only", "reversed", "strided", "unaligned", "swapped"],
    )
    def test_there_is_none_where_to_has_to_look_closer(self, change):
        assert quick("torch", change(lend.view(bytearray(64)).reinterpret("float64"))) is None

    def test_a_signature_asks_for_the_long_way(self):
        view = lend.view(b"12345678")
        assert lend.to(view, "torch", alias_readonly=True).data_ptr() == view.ptr
        assert lend.to(view, "torch").data_ptr() != view.ptr


def test_what_jax_takes_depends_on_more_than_may_be_remembered():
    pytest.importorskip("jax")
    assert quick("jax", lend.view(bytearray(4))) is None


def test_numpy_takes_any_layout():
    pytest.importorskip("numpy")
    view = lend.view(bytearray(64))[::-2]
    assert quick("numpy", view)(view).strides == (-2,)


def test_what_it_gives_of_datetimes_outlives_the_release_of_the_view():
    np = pytest.importorskip("numpy")
    source = np.arange(3).astype("M8[s]")
    view = lend.view(source)
    made = lend.to(view, "numpy")
    view.release()
    assert made.base.view.released is False
    assert made.tolist() == source.tolist()
