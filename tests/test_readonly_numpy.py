"""Read-only memory to and from numpy, by every protocol numpy reads (RO-1, RO-6, RO-13)."""

import pytest

import lend
from lend.errors import LendError, ReadOnlyMemory
from support import counting
from support.producers import Only, only_dlpack

np = pytest.importorskip("numpy")

DTYPES = ["?", "i1", "u2", "i4", "f4", "f8", "c16"]


def frozen(dtype="f8"):
    array = np.ones(4, dtype)
    array.setflags(write=False)
    return array


MADE = {
    "frozen": frozen,
    "broadcast": lambda dtype="f8": np.broadcast_to(np.ones(1, dtype), (3, 4)),
    "broadcast and said to be writable": lambda dtype="f8": np.lib.stride_tricks.as_strided(
        np.ones(4, dtype), (4,), (0,)
    ),
    "from bytes": lambda dtype="f8": np.frombuffer(bytes(32 * 2), dtype),
}
DOORS = {
    "itself": lambda obj: obj,
    "buffer protocol": memoryview,
    "array interface": lambda obj: Only(obj, "__array_interface__"),
    "array struct": lambda obj: Only(obj, "__array_struct__"),
    "DLPack": only_dlpack,
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize("name", MADE)
def test_what_numpy_holds_read_only_is_read_only_by_every_door(name, door, dtype):
    array = MADE[name](dtype)
    assert lend.view(door(array)).readonly


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_what_numpy_holds_writable_is_writable_by_every_door(door):
    array = np.zeros(4)
    view = lend.view(door(array))
    assert not view.readonly
    memoryview(view)[0] = 7.0
    assert array[0] == 7.0


READS = {
    "asarray": np.asarray,
    "from_dlpack": np.from_dlpack,
    "frombuffer": lambda view: np.frombuffer(view, "f8"),
    "array interface": lambda view: np.asarray(Only(view, "__array_interface__")),
    "array struct": lambda view: np.asarray(Only(view, "__array_struct__")),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_numpy_cannot_write_read_only_memory_of_ours(read):
    array = read(lend.view(frozen()))
    assert not array.flags.writeable


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_numpy_writes_writable_memory_of_ours(read):
    source = np.zeros(4)
    array = read(lend.view(source))
    array[0] = 7.0
    assert source[0] == 7.0


def test_numpy_cannot_make_our_read_only_memory_writable():
    array = np.asarray(lend.view(frozen()))
    with pytest.raises(ValueError, match="WRITEABLE"):
        array.flags.writeable = True


def test_a_frozen_array_cannot_be_asked_for_writing():
    with pytest.raises(ReadOnlyMemory):
        lend.view(frozen(), writable=True)


def test_a_frozen_array_goes_into_no_unversioned_capsule():
    with pytest.raises(LendError, match="max_version"):
        lend.view(frozen()).__dlpack__()


def test_an_array_frozen_after_the_view_was_made_stays_as_it_was_lent():
    """The lease was a writable one; numpy has no way to take it back."""
    array = np.zeros(4)
    view = lend.view(array)
    array.setflags(write=False)
    assert not view.readonly
    assert lend.view(array).readonly


def test_a_consumer_that_asks_for_no_version_gets_no_read_only_memory():
    with pytest.raises(BufferError):
        counting.consume(lend.view(frozen()).__dlpack__())
