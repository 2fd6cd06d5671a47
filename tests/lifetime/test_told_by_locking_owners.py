"""Memory told by its address that lies in an object which locks what it lends: the lock is held as long as the loan."""

import array
import ctypes
import mmap
import sys

import pytest

import lend
from lend.errors import MalformedDescriptor
from support.counting import CountingBuffer

SIZE = 64


def mapped():
    return mmap.mmap(-1, SIZE)


OWNERS = {
    "mmap": (mapped, lambda owner: owner.close()),
    "bytearray": (lambda: bytearray(SIZE), lambda owner: owner.extend(b"x" * 4096)),
    "array": (lambda: array.array("B", bytes(SIZE)), lambda owner: owner.extend([1] * 4096)),
}
MAKERS = {
    "view": lambda address, owner: lend.View.from_pointer(address, (SIZE // 8,), "float64", owner=owner),
    "buffer": lambda address, owner: lend.Buffer.from_pointer(address, SIZE, owner=owner),
}


@pytest.mark.parametrize(("make", "move"), OWNERS.values(), ids=OWNERS)
@pytest.mark.parametrize("take", MAKERS.values(), ids=MAKERS)
def test_the_owner_cannot_move_its_memory_while_it_is_lent(make, move, take):
    owner = make()
    lent = take(lend.buffer(owner).ptr, owner)
    with pytest.raises(BufferError):
        move(owner)
    assert lent.tobytes() == bytes(SIZE)


@pytest.mark.parametrize(("make", "move"), OWNERS.values(), ids=OWNERS)
@pytest.mark.parametrize("take", MAKERS.values(), ids=MAKERS)
def test_the_owner_is_free_again_when_the_loan_ends(make, move, take):
    owner = make()
    lent = take(lend.buffer(owner).ptr, owner)
    part = lent[8:] if take is MAKERS["buffer"] else lent[1:]
    del lent
    with pytest.raises(BufferError):
        move(owner)
    del part
    move(owner)


@pytest.mark.parametrize(("make", "move"), OWNERS.values(), ids=OWNERS)
@pytest.mark.parametrize("shift", [-8, 8])
def test_what_leaves_the_memory_of_the_owner_is_refused(make, move, shift):
    owner = make()
    address = lend.buffer(owner).ptr + shift
    with pytest.raises(
        MalformedDescriptor, match=rf"8 of the {SIZE} bytes .* outside of the memory of the .* \(bounds\)"
    ):
        lend.View.from_pointer(address, (SIZE,), "uint8", owner=owner)
    move(owner)


@pytest.mark.parametrize(("make", "move"), OWNERS.values(), ids=OWNERS)
def test_an_owner_whose_memory_it_is_not_stays_free(make, move):
    block = (ctypes.c_char * SIZE)()
    owner = make()
    lent = lend.View.from_pointer(ctypes.addressof(block), (SIZE,), "uint8", owner=owner)
    assert lent.owner.apart
    move(owner)
    assert lent.tobytes() == bytes(SIZE)


@pytest.mark.parametrize("show", [memoryview, lend.view, lend.buffer])
def test_memory_of_what_shows_it_outlives_its_release(show):
    memory = bytearray(b"12345678")
    shown = show(memory)
    told = lend.View.from_pointer(lend.buffer(shown).ptr, (8,), "uint8", owner=shown)
    shown.release()
    with pytest.raises(BufferError):
        memory.extend(b"x")
    assert told.tobytes() == b"12345678"
    del told
    memory.extend(b"x")


def test_an_owner_on_a_device_is_not_asked_for_bytes():
    class Array:
        __cuda_array_interface__ = None

        def __buffer__(self, flags):
            raise AssertionError("asked")

    assert lend.View.from_pointer(4096, (8,), "uint8", owner=Array(), device="cuda:0").shape == (8,)


def test_a_closed_owner_is_not_asked():
    owner = mapped()
    owner.close()
    block = (ctypes.c_char * SIZE)()
    assert lend.View.from_pointer(ctypes.addressof(block), (SIZE,), "uint8", owner=owner).tobytes() == bytes(SIZE)


def structure():
    class Parts(ctypes.Structure):
        _fields_ = [("a", ctypes.c_char * 8), ("b", ctypes.c_char * 8)]

    return Parts()


WHOLE = {
    "a part of a memoryview": lambda: (lambda block: (block, memoryview(block)[8:16]))(bytearray(SIZE)),
    "a field of a structure": lambda: (lambda block: (block, block.b))(structure()),
    "a ctypes array in an array": lambda: (lambda block: (block, (ctypes.c_char * 8).from_buffer(block, 8)))(
        array.array("B", bytes(SIZE))
    ),
}


@pytest.mark.parametrize("make", WHOLE.values(), ids=WHOLE)
def test_a_part_keeps_the_whole_of_what_it_is_a_part_of(make):
    block, part = make()
    whole = lend.buffer(block)
    told = lend.View.from_pointer(whole.ptr, (whole.nbytes,), "uint8", owner=part)
    told.verify()
    assert told.tobytes() == whole.tobytes()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="classes in Python have buffers from 3.12 on")
@pytest.mark.parametrize("error", [KeyError, OSError, RuntimeError, AttributeError, BufferError, ValueError])
def test_an_owner_that_raises_when_it_is_asked_is_not_asked(error):
    class Moody:
        def __buffer__(self, flags):
            raise error("not now")

    owner = Moody()
    block = (ctypes.c_char * SIZE)()
    assert lend.View.from_pointer(ctypes.addressof(block), (SIZE,), "uint8", owner=owner).shape == (SIZE,)


@pytest.mark.parametrize(("inside", "open_exports"), [(True, 1), (False, 0)])
def test_an_export_is_held_of_the_memory_that_was_told_and_of_no_other(inside, open_exports):
    owner, block = CountingBuffer(bytes(SIZE)), (ctypes.c_char * SIZE)()
    address = owner.address if inside else ctypes.addressof(block)
    told = lend.View.from_pointer(address, (SIZE,), "uint8", owner=owner)
    assert owner.live == open_exports
    del told
    assert owner.live == 0
