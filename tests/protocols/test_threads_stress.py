"""Many threads on the same few objects, all doing everything: right values or LeaseLost, and every loan back once.

`tests/lifetime/test_threads.py` has one claim after the other; here they meet. The interpreter is told to switch
threads as often as it can.
"""

import collections
import contextlib
import gc
import itertools
import random
import struct
import time

import pytest

import lend
from lend.errors import LeaseLost
from support import counting
from support.counting import CountingBuffer, CountingDLPack, CountingExchange
from support.racing import go, small_steps

COUNT = 64
FLOATS = struct.pack(f"{COUNT}f", *range(COUNT))
VALUES = [float(i) for i in range(COUNT)]
VERSIONED = (1, 3)
SHORT, LONG = 0.7, 15.0  # seconds

PRODUCERS = {
    "a buffer": lambda: CountingBuffer(FLOATS, format="f", itemsize=4),
    "tensors": lambda: CountingDLPack(FLOATS, (COUNT,)),
    "unversioned tensors": lambda: CountingDLPack(FLOATS, (COUNT,), protocol="legacy"),
    "a table": lambda: CountingExchange(FLOATS, (COUNT,)),
}


def read_all(view):
    assert view.tolist() == VALUES


def read_a_slice(view):
    start = random.randrange(COUNT)
    assert view[start:].tobytes() == FLOATS[4 * start :]


def read_backwards(view):
    assert view[::-1].T.tolist() == VALUES[::-1]


def read_an_element(view):
    assert view[COUNT - 1].item() == COUNT - 1


def read_as_others(view):
    assert view.reinterpret("uint8").reshape((COUNT, 4))[1].tobytes() == FLOATS[4:8]


def read_the_buffer(view):
    assert view.buffer[4:12].tobytes() == FLOATS[4:12]


def read_a_memoryview(view):
    with memoryview(view) as shown:
        assert shown.tolist() == VALUES


def read_a_memoryview_of_a_slice(view):
    shown = memoryview(view[2:])
    assert shown[1] == 3.0


def read_a_tensor(view):
    assert counting.consume(view.__dlpack__(max_version=VERSIONED)).tobytes() == FLOATS


def read_an_exchanged_tensor(view):
    counting.exchange_take(view[8:]).delete_on_foreign_thread()


def read_through_a_capsule(view):
    assert lend.view(view[1:].__dlpack__(max_version=VERSIONED)).tolist() == VALUES[1:]


def read_a_copy(view):
    made = view.copy()
    assert made.tolist() == VALUES


def read_a_view_of_it(view):
    with lend.view(view) as other:
        assert other.tolist() == VALUES


def ask_for_facts(view):
    assert (view.shape, view.owner.nbytes >= 4 * COUNT, "View" in repr(view)) == ((COUNT,), True, True)


def make_a_cycle(view):
    box = [view[3:]]
    box.append(box)


def drop_a_struct(view):
    capsule = view.__array_struct__
    del capsule


USES = [
    read_all, read_a_slice, read_backwards, read_an_element, read_as_others, read_the_buffer, read_a_memoryview,
    read_a_memoryview_of_a_slice, read_a_tensor, read_an_exchanged_tensor, read_through_a_capsule, read_a_copy,
    read_a_view_of_it, ask_for_facts, make_a_cycle, drop_a_struct,
]  # fmt: skip


@pytest.fixture
def switching():
    with small_steps():
        yield


def rounds_of(seconds):
    end = time.monotonic() + seconds
    return itertools.takewhile(lambda _: time.monotonic() < end, itertools.count())


def share_one_view(make, seconds):
    """One view, used by all and released by nobody."""
    producer = make()
    shared = [lend.view(producer)]

    def work():
        for _ in rounds_of(seconds):
            random.choice(USES)(shared[0])

    go([work] * 6)
    gc.collect()
    assert shared[0].owner.exports == 0
    shared.pop().release()  # and gone: it has told its address
    assert producer.audit() == []


def release_under_users(make, seconds):
    """A view is used by all, and released by whoever comes first: they read it right, or are told that it is gone."""
    told = 0
    uses = [use for use in USES if use is not make_a_cycle]  # which the collector alone ends
    for _ in rounds_of(seconds):
        producer = make()
        view = lend.view(producer)
        outcomes = []

        def use(view=view, outcomes=outcomes):
            try:
                for i in range(40):
                    random.choice(uses)(view)
                    if i == 10:
                        with contextlib.suppress(BufferError):  # somebody has a Py_buffer of it open
                            view.release()
            except LeaseLost:
                assert view.released
                outcomes.append("told")

        go([use] * 4)
        view.release()
        del view, use  # which has told its address
        assert producer.audit() == []
        told += len(outcomes)
    assert told


def pass_views_around(make, seconds):
    """Views are made by some threads, and read and dropped by others."""
    producers = [make() for _ in range(3)]
    open_loans = [lend.view(producer) for producer in producers]  # memory is overwritten with the last loan
    shelf = collections.deque(maxlen=8)

    def work():
        for _ in rounds_of(seconds):
            view = lend.view(random.choice(producers))
            shelf.append(random.choice([view[1:], memoryview(view), view.T]))
            del view
            try:
                taken = shelf.popleft()
            except IndexError:
                continue
            assert taken.tolist()[-1] == COUNT - 1
            if random.random() < 0.5:
                taken.release()
            del taken

    go([work] * 6)
    shelf.clear()
    assert [producer.live for producer in producers] == [1, 1, 1]
    open_loans.clear()
    assert [producer.audit() for producer in producers] == [[], [], []]


GAMES = {
    "one view shared": share_one_view,
    "a view released under its users": release_under_users,
    "views passed around": pass_views_around,
}


@pytest.mark.usefixtures("switching")
@pytest.mark.parametrize("make", PRODUCERS.values(), ids=PRODUCERS)
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_threads_read_right_values_and_leave_no_loan_open(game, make):
    game(make, SHORT)


@pytest.mark.slow
@pytest.mark.usefixtures("switching")
@pytest.mark.parametrize("make", PRODUCERS.values(), ids=PRODUCERS)
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_threads_read_right_values_and_leave_no_loan_open_for_long(game, make):
    game(make, LONG)
