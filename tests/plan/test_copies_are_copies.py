"""What is called a copy is one, whoever the producer is; what is called shared is not moved under its holder."""

import gc

import pytest

import lend
from lend.errors import LeaseLost, LendError


def test_a_copy_of_a_buffer_of_ours_is_a_copy():
    own = lend.buffer(bytearray(b"abcdefgh"), copy=True)
    with lend.copies() as made:
        copied = lend.view(own, copy=True)
    assert copied.ptr != own.ptr
    assert (made.count, made.bytes) == (1, 8)


def test_a_copy_of_a_read_only_buffer_of_ours_is_writable():
    own = lend.buffer(bytearray(8), copy=True, writable=False)
    assert not lend.view(own, copy=True).readonly


@pytest.mark.parametrize("wrong", [1, 0, "never", "yes"])
@pytest.mark.parametrize("take", [lend.view, lend.buffer])
def test_copy_is_none_true_or_false(take, wrong):
    with pytest.raises(TypeError, match="copy is None, True or False"):
        take(b"1234", copy=wrong)


@pytest.mark.parametrize("strides", [(4,), (8,)], ids=["contiguous", "strided"])
def test_each_lane_of_a_bool_is_copied(strides):
    view = lend.buffer(bytearray(range(1, 33))).view("boolx4", (4,), strides=strides)
    assert view.tobytes() == b"\1" * 16
    assert view.copy().tobytes() == b"\1" * 16


def test_a_deep_copy_of_a_buffer_is_a_buffer_of_its_own():
    import copy

    source = bytearray(b"abcd")
    twin = copy.deepcopy(lend.buffer(source))
    source[0] = 0
    assert bytes(twin) == b"abcd"


def test_a_refused_hand_over_gives_the_memory_back_at_once():
    memory = bytearray(16)
    gc.disable()
    try:
        with pytest.raises(LendError):
            lend.to(lend.view(memory).reinterpret("int128"), "memoryview")
        with pytest.raises(LendError):
            lend.explain(lend.view(memory).reinterpret("int128"), "memoryview")
        lend.explain(lend.view(memory).reinterpret("int128"))
        memory.append(1)
    finally:
        gc.enable()


def test_an_array_that_moved_is_noticed_through_a_subclass():
    np = pytest.importorskip("numpy")

    class Sub(np.ndarray):
        pass

    base = np.arange(8.0)
    view = lend.view(base.view(Sub))
    lend.to(view, "numpy")
    base.resize(1 << 18, refcheck=False)
    with pytest.raises(LeaseLost):
        lend.to(view, "numpy")


def test_a_time_zone_is_not_dropped_on_the_way():
    pa = pytest.importorskip("pyarrow")
    zoned = pa.array([0], pa.timestamp("s", "Europe/Berlin"))
    with pytest.raises(LendError, match="time zone"):
        lend.view(zoned)


def test_swapped_long_doubles_are_shared_with_numpy():
    np = pytest.importorskip("numpy")
    for code in (">g", ">G"):
        array = np.arange(3, dtype=code)
        made = lend.to(array, "numpy")
        assert made.dtype == array.dtype
        assert made.ctypes.data == array.ctypes.data


def test_a_type_that_says_it_is_a_scalar_of_numpys_is_not_read_beyond_its_bytes():
    pytest.importorskip("numpy")
    generic = type("generic", (bytes,), {"__module__": "numpy"})
    fake = type("datetime64", (generic,), {"__module__": "numpy"})
    fake.dtype = type("D", (), {"str": "|V100000000"})()
    with pytest.raises(LendError):
        lend.view(fake(b"1234"))


def test_a_signal_or_finalizer_may_copy_while_a_copy_is_counted():
    from lend._core import copies

    with lend.copies() as made, copies._lock:  # what a finalizer that runs inside note() finds
        copied = lend.view(b"1234", copy=True)
    assert (copied.tobytes(), made.count, made.bytes) == (b"1234", 1, 4)


def test_a_view_made_by_new_holds_nothing_and_says_so():
    for cls in (lend.View, lend.Buffer):
        empty = cls.__new__(cls)
        with pytest.raises(LeaseLost):
            memoryview(empty)


def test_more_dimensions_than_there_are_is_a_refusal():
    view = lend.view(bytearray(1))
    with pytest.raises(LendError, match="65 dimensions"):
        view.reshape((1,) * 65)
    with pytest.raises(IndexError):
        view[2**100]


def test_a_function_of_torchs_gets_no_read_only_memory_unsigned():
    torch = pytest.importorskip("torch")
    source = bytes(range(8))
    for take in (torch.from_dlpack, torch.as_tensor):
        tensor = lend.to(source, take)
        tensor[0] = 99
        assert source[0] == 0
        with pytest.raises(LendError, match="read-only"):
            lend.to(source, take, copy=False)
    assert lend.explain(source, torch.as_tensor).bytes_copied is None
    assert lend.explain(source, torch.as_tensor).steps[1].nbytes == 8
    assert lend.explain(source, torch.from_dlpack).bytes_copied == 8


def test_any_other_function_is_said_to_get_read_only_memory():
    notes = lend.explain(b"1234", lambda view: view).notes
    assert any("read-only" in note for note in notes)
