"""`__array__`, the last door: taken only from an object that promises not to copy, and keeps that promise."""

import pytest

import lend
from lend import minimal
from lend.errors import LendError, MalformedDescriptor, NotLendable, ReadOnlyMemory, UnsupportedType
from support.names import plain_repr, plain_str
from support.producers import ArrayMethod

np = pytest.importorskip("numpy")


class Calls:
    """`__array__` that answers whatever `make` makes."""

    def __init__(self, make):
        self.make, self.asked = make, []

    def __array__(self, dtype=None, copy=None):
        self.asked.append(copy)
        return self.make()


class Old:
    """`__array__` as it was written before NumPy 2."""

    def __init__(self, array):
        self.array, self.calls = array, 0

    def __array__(self, dtype=None):
        self.calls += 1
        return self.array


ARRAYS = {
    "plain": np.arange(6.0).reshape(2, 3),
    "strided": np.arange(12)[::-2],
    "big-endian": np.arange(3, dtype=">i4"),
    "datetime": np.array(["2020-01-01", "NaT"], "M8[D]"),
    "empty": np.zeros((0, 3)),
    "of a frozen buffer": np.frombuffer(b"abcd", "u1"),
    "0-d": np.array(5),
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_the_memory_is_that_of_the_array(array):
    view = lend.view(ArrayMethod(array))
    assert (view.shape, view.readonly) == (array.shape, not array.flags.writeable)
    assert view.dtype == lend.DType(array.dtype)
    assert view.tobytes() == array.tobytes()
    if array.size:
        assert (view.ptr, view.strides) == (array.ctypes.data, array.strides)


def test_it_is_called_once_and_asked_not_to_copy():
    lender = ArrayMethod(ARRAYS["plain"])
    lend.view(lender)
    assert [asked["copy"] for asked in lender.asked] == [False]


@pytest.mark.parametrize("name", ["plain", "datetime"])
def test_the_owner_keeps_the_array(name):
    array = ARRAYS[name]
    assert lend.view(ArrayMethod(array)).owner.producer is array


def test_a_signature_without_copy_is_refused_and_not_called():
    lender = Old(np.zeros(3))
    with pytest.raises(NotLendable, match=r"__array__(?s:.*)copy") as caught:
        lend.view(lender)
    assert lender.calls == 0
    assert isinstance(caught.value.__cause__, TypeError)


FRESH = {
    "a new array": lambda: np.arange(3),
    "a slice of a new array": lambda: np.arange(6)[::2],
    "a reshaped new array": lambda: np.arange(6).reshape(2, 3).T,
}


@pytest.mark.parametrize("make", FRESH.values(), ids=FRESH)
def test_an_array_made_for_us_is_a_copy_and_refused(make):
    with pytest.raises(NotLendable, match="copy=False"):
        lend.view(Calls(make))


@pytest.mark.parametrize("make", FRESH.values(), ids=FRESH)
@pytest.mark.parametrize("lent", [lend.view, lend.buffer])
def test_where_a_copy_is_asked_for_a_new_array_is_copied_once(make, lent):
    lender = Calls(make)
    for _ in range(2):  # the second time the door is known
        with lend.copies() as counted:
            copied = lent(lender, copy=True)
        assert counted.count == 1
        assert (copied.readonly, copied.ptr % 64) == (False, 0)
    assert lender.asked == [False] * 2
    assert lend.view(Calls(make), copy=True).tolist() == make().tolist()
    with pytest.raises(NotLendable, match="copy=False"):
        lend.view(lender)


@pytest.mark.parametrize("keywords", [{}, {"copy": True}], ids=plain_str)
def test_what_cannot_be_asked_not_to_copy_is_refused_all_the_same(keywords):
    def fail():
        raise ValueError("there are nulls")

    for lender in (Calls(fail), Old(np.zeros(3))):
        with pytest.raises(NotLendable):
            lend.view(lender, **keywords)


def test_what_is_refused_says_what_to_do():
    masked = ArrayMethod(np.ma.array([1, 2], mask=[0, 1]))
    for lender, remedy in {
        Calls(lambda: np.arange(3)): r"lend\.view\(x, copy=True\)",
        masked: r"filled\(value\)",
        OnDevice(np.zeros(3)): r"x\.cpu\(\)",
    }.items():
        with pytest.raises(NotLendable, match=rf"try +: .*{remedy}"):
            lend.view(lender)


KEPT = np.arange(12.0)
SHARED = {
    "the array": lambda: KEPT,
    "a slice": lambda: KEPT[2:],
    "a slice of a slice": lambda: KEPT[2:].reshape(2, 5),
    "of a bytearray": lambda: np.frombuffer(bytearray(8), "i2"),
}


@pytest.mark.parametrize("make", SHARED.values(), ids=SHARED)
def test_an_array_that_shares_memory_is_taken(make):
    assert lend.view(Calls(make)).tobytes() == make().tobytes()


@pytest.mark.parametrize(
    "error", [ValueError("a copy is needed"), TypeError("not so"), AttributeError("inner")], ids=plain_repr
)
def test_an_exception_of_the_producer_is_quoted_and_is_the_cause(error):
    def fail():
        raise error

    with pytest.raises(LendError, match=str(error)) as caught:
        lend.view(Calls(fail))
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), MemoryError(), RecursionError()], ids=plain_repr)
def test_what_must_not_be_caught_passes(error):
    def fail():
        raise error

    with pytest.raises(type(error)) as caught:
        lend.view(Calls(fail))
    assert caught.value is error


@pytest.mark.parametrize("answer", [None, [1, 2], 7, "text", object()], ids=plain_repr)
def test_an_answer_that_is_no_array_is_refused(answer):
    with pytest.raises(MalformedDescriptor, match="not an array"):
        lend.view(ArrayMethod(answer))


def test_an_array_of_objects_is_read_and_not_given_as_bytes():
    assert lend.view(ArrayMethod(array := np.array([None, 1]))).tolist() == array.tolist()
    with pytest.raises(UnsupportedType):
        lend.buffer(ArrayMethod(np.array([None, 1])))


def test_a_masked_array_is_refused_and_every_way_that_is_named_can_be_gone():
    x = ArrayMethod(np.ma.array([1, 2], mask=[0, 1]))
    with pytest.raises(NotLendable, match="masked array, whose nulls") as caught:
        lend.view(x)
    said = str(caught.value)
    for way in ("lend.column(x.__array__())", "lend.view(x.__array__().data)", "lend.view(x.__array__().mask)"):
        assert way in said
    assert minimal.column(x.__array__()).tolist() == [1, None]
    assert lend.view(x.__array__().data).tolist() == [1, 2]
    assert lend.view(x.__array__().mask).tolist() == [False, True]


def test_a_read_only_array_is_not_lent_for_writing():
    array = np.zeros(3)
    array.flags.writeable = False
    with pytest.raises(ReadOnlyMemory):
        lend.view(ArrayMethod(array), writable=True)


class OnDevice(ArrayMethod):
    device = (2, 0)

    def __dlpack_device__(self):
        return self.device


class ByInterface(ArrayMethod):
    @property
    def __cuda_array_interface__(self):
        return {}


@pytest.mark.parametrize("kind", [OnDevice, ByInterface])
def test_a_device_object_is_never_asked(kind):
    lender = kind(np.zeros(3))
    with pytest.raises(LendError, match="device|CUDA"):
        lend.view(lender)
    assert lender.asked == []


@pytest.mark.parametrize("device", [(1, 0), (3, 0), (13, 0)])
def test_memory_that_the_host_reads_is_asked_for(device):
    lender = OnDevice(np.zeros(3))
    lender.device = device
    assert lend.view(lender).shape == (3,)


def test_a_table_is_not_asked_to_become_one_array():
    class Table(ArrayMethod):
        columns = ("a", "b")

        def __arrow_c_stream__(self, requested_schema=None):
            raise NotImplementedError

    lender = Table(np.zeros((3, 2)))
    with pytest.raises(NotLendable, match="table"):
        lend.view(lender)
    assert lender.asked == []


def test_it_comes_after_every_other_door():
    class Both(ArrayMethod):
        __array_interface__ = {"shape": (8,), "typestr": "|u1", "data": bytearray(8), "version": 3}

    lender = Both(np.zeros(3))
    assert lend.view(lender).shape == (8,)
    assert lender.asked == []
