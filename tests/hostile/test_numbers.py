"""Numbers that lie about themselves: a subclass of int is read for its value, whatever its methods say."""

import pytest

import lend


class Liar(int):
    """Calls itself any size, and compares as it likes."""

    def __index__(self):
        return self

    def __lt__(self, other):
        return False

    __le__ = __gt__ = __ge__ = __ne__ = __eq__ = __lt__
    __hash__ = int.__hash__

    def __rmul__(self, other):
        return 6

    __mul__ = __rmul__


@pytest.mark.parametrize("position", [6, 100, -7, 10**15])
def test_an_index_is_checked_by_its_value(position):
    with pytest.raises(IndexError):
        lend.view(bytearray(6))[Liar(position)]


def test_a_slice_is_cut_by_its_value():
    assert lend.view(bytearray(6))[Liar(2) : Liar(100)].shape == (4,)


@pytest.mark.parametrize("shape", [(Liar(10**12),), (Liar(2), Liar(5)), (Liar(-3),)])
def test_a_shape_is_checked_by_its_value(shape):
    with pytest.raises(ValueError, match="extent|shaped"):
        lend.view(bytearray(6)).reshape(*shape)


def test_a_pointer_and_its_shape_are_checked_by_their_value():
    owner = bytearray(8)
    with pytest.raises(lend.LendError):
        lend.View.from_pointer(Liar(-5), (4,), "uint8", owner=owner)
    with pytest.raises(lend.LendError):
        lend.Buffer.from_pointer(64, Liar(-4), owner=owner)


def test_an_offset_is_checked_by_its_value():
    with pytest.raises(lend.LendError):
        lend.buffer(bytearray(8)).view("uint8", offset=Liar(100))
