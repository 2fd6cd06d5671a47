"""A bare address comes in by two doors only, and both ask who owns the memory (LIFE-16)."""

import gc
import struct
import weakref

import pytest

import lend
from support.producers import Memory

FLOATS = struct.pack("4f", 0.0, 1.0, 2.0, 3.0)


@pytest.fixture
def memory():
    return Memory(FLOATS)


def test_a_view_of_a_pointer_without_an_owner_is_a_type_error(memory):
    with pytest.raises(TypeError):
        lend.View.from_pointer(memory.address, (4,), "float32")


def test_a_view_of_a_pointer_owned_by_none_is_a_type_error(memory):
    with pytest.raises(TypeError):
        lend.View.from_pointer(memory.address, (4,), "float32", owner=None)


def test_a_buffer_of_a_pointer_without_an_owner_is_a_type_error(memory):
    with pytest.raises(TypeError):
        lend.Buffer.from_pointer(memory.address, 16)


def test_a_buffer_of_a_pointer_owned_by_none_is_a_type_error(memory):
    with pytest.raises(TypeError):
        lend.Buffer.from_pointer(memory.address, 16, owner=None)


def test_a_view_cannot_be_made_by_hand():
    with pytest.raises(TypeError):
        lend.View()


def test_a_buffer_cannot_be_made_by_hand():
    with pytest.raises(TypeError):
        lend.Buffer()


def test_an_owner_cannot_be_made_by_hand():
    owner = lend.view(b"1234").owner
    with pytest.raises(TypeError):
        type(owner)()


MAKE = {
    "view": lambda memory: lend.View.from_pointer(memory.address, (4,), "float32", owner=memory),
    "buffer": lambda memory: lend.Buffer.from_pointer(memory.address, 16, owner=memory),
}


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_the_owner_of_a_pointer_lives_as_long_as_what_was_made_from_it(make):
    memory = Memory(FLOATS)
    gone = weakref.ref(memory)
    held = memoryview(make(memory)[1:])
    del memory
    gc.collect()
    assert gone() is not None
    del held
    assert gone() is None


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_the_memory_behind_a_pointer_is_read_as_it_lies(make, memory):
    assert (make(memory).ptr, bytes(make(memory))) == (memory.address, FLOATS)


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_a_pointer_is_read_only_unless_said_otherwise(make, memory):
    assert make(memory).readonly


def test_a_pointer_is_writable_when_its_caller_says_so(memory):
    view = lend.View.from_pointer(memory.address, (4,), "float32", owner=memory, readonly=False)
    memoryview(view)[0] = 7.0
    assert bytes(memory)[:4] == struct.pack("f", 7.0)


def test_strides_of_a_pointer_are_bytes(memory):
    view = lend.View.from_pointer(memory.address + 12, (2,), "float32", owner=memory, strides=(-8,))
    assert view.tolist() == [3.0, 1.0]


def test_the_owner_of_a_pointer_is_named_by_its_lease(memory):
    assert lend.View.from_pointer(memory.address, (4,), "float32", owner=memory).owner.producer is memory
