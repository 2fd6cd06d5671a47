"""The double of the driver: work runs when somebody waits for it, so a wait forgotten is a stale value every time."""

import pytest

from support import fakecuda

START = """
from support.fakecuda import fake
fake.init()
a, b = fake.stream(), fake.stream()         # the producer's and the consumer's
def queued(make=fake.malloc_device, on=a):
    p = make(4)
    fake.memset_async(p, 7, 4, on)
    return p
"""


def told(snippet, **keywords):
    return fakecuda.run_clean(START + snippet, **keywords).split()


WAITS = {
    "none": ("", 205),
    "of the wrong stream": ("fake.sync(b)", 205),
    "of the producer's stream": ("fake.sync(a)", 7),
    "of the device": ("fake.sync_device()", 7),
    "of an event behind the work": ("e = fake.event(); fake.record(e, a); fake.sync_event(e)", 7),
    "of an event before the work": ("q = fake.malloc_device(4); fake.sync_event(early)", 205),
    "of stream b for a": ("fake.order(a, b)", 7),
    "of the legacy stream, which does not know a": ("fake.sync()", 205),
}


@pytest.mark.parametrize("wait", WAITS)
def test_only_a_wait_that_covers_the_work_shows_its_result(wait):
    doing, value = WAITS[wait]
    snippet = f"early = fake.event(); fake.record(early, a); p = queued()\n{doing}\nprint(fake.d2h(p, 1, b)[0])"
    assert told(snippet) == [str(value)]


@pytest.mark.parametrize("blocking", [True, False])
def test_the_legacy_stream_waits_for_blocking_streams_only(blocking):
    snippet = f"p = queued(on=fake.stream(blocking={blocking})); print(fake.d2h(p, 1, None)[0])"
    assert told(snippet) == ["7" if blocking else "205"]


@pytest.mark.parametrize("blocking", [True, False])
def test_only_blocking_streams_wait_for_the_legacy_stream(blocking):
    snippet = f"p = queued(on=None); print(fake.d2h(p, 1, fake.stream(blocking={blocking}))[0])"
    assert told(snippet) == ["7" if blocking else "205"]


@pytest.mark.parametrize("kind", ["pinned", "managed", "pool_managed"])
def test_host_memory_is_readable_all_the_time_and_right_after_the_wait(kind):
    snippet = f"p = queued(fake.malloc_{kind}); print(fake.touch(p)); fake.sync(a); print(fake.touch(p))"
    assert told(snippet) == ["0", "7"]


def test_a_pageable_source_is_taken_at_the_call_and_a_pinned_one_when_the_copy_runs():
    snippet = """
p, q, pinned = fake.malloc_device(1), fake.malloc_device(1), fake.malloc_pinned(b"1")
data = bytearray(b"1")
fake.h2d(p, data, a)
fake.copy_async(q, pinned, 1, a)
data[0] = 50
fake.poke(pinned, b"2")
print(fake.d2h(p, 1, a).decode(), fake.d2h(q, 1, a).decode())
"""
    assert told(snippet) == ["1", "2"]


def test_a_copy_into_pinned_memory_is_deferred():
    snippet = """
p, pinned = queued(), fake.malloc_pinned(4)
fake.d2h_async(pinned, p, 4, a)
print(fake.touch(pinned), fake.pending(a), fake.pending(b))
fake.sync(a)
print(fake.touch(pinned), fake.pending(a), fake.pending())
"""
    assert told(snippet) == ["0", "True", "False", "7", "False", "False"]


def test_polling_ends():
    snippet = "queued(); queued(); print(*(fake.is_done(a) for _ in range(4)))"
    assert told(snippet) == ["False", "False", "True", "True"]


def test_eager_work_runs_at_once():
    assert told("print(fake.peek(queued(), 1)[0], fake.pending())", eager=True) == ["7", "False"]


def test_an_event_and_a_stream_of_two_devices_do_not_go_together():
    snippet = """
e = fake.event()
fake.use(1)
s, other = fake.stream(), fake.event()
print(fake.rc("cuEventRecord", fake.PTR(e), fake.PTR(s)), fake.rc("cuEventRecord", fake.PTR(other), fake.PTR(s)))
fake.wait(a, other)
"""
    assert told(snippet) == ["400", "0"]


def test_a_stream_that_is_none_is_refused():
    snippet = """
fake.destroy_stream(b)
print(*(fake.rc("cuStreamSynchronize", fake.PTR(s)) for s in (a, b, 12345)))
fake.pop()
print(fake.rc("cuStreamSynchronize", None))
"""
    assert told(snippet) == ["0", "400", "400", "201"]


GATE = "m, other = fake.malloc_managed(b'abcd'), fake.malloc_device(4)\n"
BUSY = {
    "idle": ("", "97"),
    "work on it": ("fake.memset_async(m, 7, 4, a)", None),
    "work elsewhere": ("fake.memset_async(other, 7, 4, a)", None),
    "after the wait": ("fake.memset_async(m, 7, 4, a); fake.sync(a)", "7"),
    "another stream busy": ("fake.memset_async(m, 7, 4, a); fake.memset_async(other, 7, 4, b); fake.sync(a)", None),
    "after all waits": ("fake.memset_async(m, 7, 4, a); fake.memset_async(other, 7, 4, b); fake.sync_device()", "7"),
}


@pytest.mark.parametrize("state", BUSY)
@pytest.mark.parametrize("model", ["jetson", "wsl"])
def test_managed_memory_without_concurrent_access_is_for_an_idle_device_only(model, state):
    doing, value = BUSY[state]
    found = fakecuda.outcome(f"{START}{GATE}{doing}\nprint(fake.touch(m))", model=model)
    assert found == (value or "managed memory while work was pending")


def test_a_fill_of_pageable_memory_needs_a_device_that_reaches_it():
    snippet = """
memory = fake.ctypes.create_string_buffer(4)
at = fake.U64(fake.ctypes.addressof(memory))
print(fake.rc("cuMemsetD8Async", at, 7, fake.SIZE(4), fake.PTR(a)), memory.raw[0], end=" ")
fake.sync(a)
print(memory.raw[0])
"""
    assert told(snippet) == ["1", "0", "0"]
    assert told(snippet, model="ats") == ["0", "0", "7"]
