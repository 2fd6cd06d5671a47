"""The double of the driver: while a stream captures nothing runs, and whoever waits or asks loses the capture."""

import pytest

from support import fakecuda

START = """
from support.fakecuda import fake
from ctypes import byref
fake.init()
s, other, blocking = fake.stream(), fake.stream(), fake.stream(blocking=True)
p, pinned, outside = fake.malloc_device(4), fake.malloc_pinned(4), fake.event()
room, P, N = (fake.BYTE * 4)(), fake.PTR, fake.SIZE(4)
fake.record(outside, other)
"""


def told(snippet):
    return fakecuda.run_clean(START + snippet).split()


def test_captured_work_runs_when_the_graph_is_launched_and_not_before():
    snippet = """
fake.begin_capture(s)
fake.memset_async(p, 7, 4, s)
fake.d2h_async(pinned, p, 4, s)
print(fake.capture_status(s), fake.pending())
graph = fake.end_capture(s)
fake.sync(s)
print(fake.touch(pinned))
fake.launch(graph, s)
fake.sync(s)
print(fake.touch(pinned), fake.capture_status(s))
"""
    assert told(snippet) == ["1", "False", "0", "7", "0"]


OFFENCES = {
    "synchronize": ("cuStreamSynchronize", "P(s)", 900),
    "query": ("cuStreamQuery", "P(s)", 900),
    "synchronize of another stream": ("cuStreamSynchronize", "P(other)", 900),
    "synchronize of the device": ("cuCtxSynchronize", "", 900),
    "synchronize of the legacy stream": ("cuStreamSynchronize", "None", 900),
    "synchronize of an event": ("cuEventSynchronize", "P(outside)", 900),
    "query of an event": ("cuEventQuery", "P(outside)", 900),
    "blocking copy": ("cuMemcpyDtoH_v2", "room, fake.U64(p), N", 900),
    "allocation": ("cuMemAlloc_v2", "byref(P()), N", 900),
    "free": ("cuMemFree_v2", "fake.U64(p)", 900),
    "wait for something outside": ("cuStreamWaitEvent", "P(s), P(outside), 0", 905),
}


@pytest.mark.parametrize("offence", OFFENCES)
def test_an_offence_is_refused_and_invalidates_the_capture(offence):
    name, arguments, code = OFFENCES[offence]
    snippet = f"""
fake.begin_capture(s)
print(fake.rc({name!r}, {arguments}), fake.capture_status(s), fake.rc("cuMemsetD8Async", fake.U64(p), 7, N, P(s)))
print(fake.capture_end_code(s), fake.capture_status(s), fake.rc("cuStreamSynchronize", P(s)))
"""
    assert told(snippet) == [str(code), "2", "901", "901", "0", "0"]


INNOCENT = {
    "asking for the capture": "fake.capture_status(s), fake.capture_status(other)",
    "work on another stream": "fake.memset_async(p, 7, 4, other)",
    "the legacy stream beside a stream that does not block": "fake.memset_async(p, 7, 4)",
    "an event recorded and waited for inside": "e = fake.event(); fake.record(e, s); fake.wait(s, e)",
    "asking for a pointer": "fake.rc('cuPointerGetAttribute', byref(P()), 9, fake.U64(p))",
    "an allocation in stream order": "fake.malloc_pool(4, s)",
}


@pytest.mark.parametrize("what", INNOCENT)
def test_a_capture_bears(what):
    assert told(f"fake.begin_capture(s)\n{INNOCENT[what]}\nprint(fake.capture_end_code(s))") == ["0"]


def test_the_legacy_stream_is_unusable_beside_a_blocking_stream_that_captures():
    snippet = """
status = fake.ctypes.c_int()
fake.begin_capture(blocking)
print(fake.rc("cuStreamIsCapturing", None, byref(status)), fake.capture_status(blocking))
print(fake.rc("cuMemsetD8Async", fake.U64(p), 7, N, None), fake.capture_end_code(blocking))
print(fake.rc("cuStreamBeginCapture_v2", None, 0))
"""
    assert told(snippet) == ["906", "1", "906", "901", "900"]


def test_a_relaxed_capture_is_lost_only_by_what_touches_it():
    snippet = """
fake.begin_capture(s, fake.RELAXED)
fake.malloc_device(4); fake.sync(other)
print(fake.capture_status(s), fake.rc("cuStreamSynchronize", P(s)), fake.capture_end_code(s))
"""
    assert told(snippet) == ["1", "900", "901"]


@pytest.mark.parametrize(("mode", "code"), [("GLOBAL", 900), ("THREAD_LOCAL", 0), ("RELAXED", 0)])
def test_another_thread_is_bound_by_a_global_capture_only(mode, code):
    snippet = f"""
import threading
fake.begin_capture(s, fake.{mode})
def elsewhere():
    fake.use(0)
    print(fake.rc("cuStreamSynchronize", P(other)))
thread = threading.Thread(target=elsewhere); thread.start(); thread.join()
print(fake.capture_end_code(s))
"""
    assert told(snippet) == [str(code), "901" if code else "0"]


def test_a_thread_may_exchange_its_mode_to_be_left_alone():
    snippet = """
mode = fake.ctypes.c_int(fake.RELAXED)
fake.begin_capture(s)
fake.ok("cuThreadExchangeStreamCaptureMode", byref(mode))
fake.sync(other)
print(mode.value, fake.capture_end_code(s))
"""
    assert told(snippet) == ["0", "0"]


def test_a_stream_that_waits_for_a_captured_event_joins_the_capture():
    snippet = """
e, back = fake.event(), fake.event()
fake.begin_capture(s)
fake.record(e, s)
fake.wait(other, e)
fake.memset_async(p, 7, 4, other)
print(fake.capture_status(other), fake.pending())
fake.record(back, other)
fake.wait(s, back)
graph = fake.end_capture(s)
fake.launch(graph, s); fake.sync(s)
print(fake.peek(p, 1)[0], fake.rc("cuEventSynchronize", P(e)))
"""
    assert told(snippet) == ["1", "False", "7", "907"]


FORK = """
e = fake.event()
fake.begin_capture(s)
fake.record(e, s)
fake.wait(other, e)
fake.memset_async(p, 7, 4, other)
"""


def test_a_fork_that_nobody_joins_fails_the_capture():
    assert told(FORK + "print(fake.capture_end_code(s), fake.capture_status(other))") == ["904", "0"]


def test_a_capture_ends_where_it_began():
    assert told(FORK + "print(fake.capture_end_code(other), fake.capture_end_code(s))") == ["903", "901"]


def test_work_on_a_fork_after_it_was_joined_is_not_joined():
    joined = FORK + "back = fake.event(); fake.record(back, other); fake.wait(s, back)\n"
    assert told(joined + "print(fake.capture_end_code(s))") == ["0"]
    assert told(joined + "fake.memset_async(p, 8, 4, other); print(fake.capture_end_code(s))") == ["904"]


def test_a_captured_copy_reads_its_source_whenever_the_graph_is_launched():
    snippet = """
host = fake.ctypes.create_string_buffer(b"aaaa", 4)
fake.begin_capture(s)
fake.ok("cuMemcpyHtoDAsync_v2", fake.U64(p), host, N, P(s))
graph = fake.end_capture(s)
for value in (b"bbbb", b"cccc"):
    host.raw = value
    fake.launch(graph, s); fake.sync(s)
    print(fake.peek(p, 4).decode())
"""
    assert told(snippet) == ["bbbb", "cccc"]


def test_the_capture_of_a_stream_has_a_number_that_its_forks_share():
    snippet = """
def info(name, stream, *rest):
    status, number = fake.ctypes.c_int(), fake.U64()
    fake.ok(name, P(stream), byref(status), byref(number), *rest)
    return status.value, number.value
name = "cuStreamGetCaptureInfo"
calls = [(name,), (f"{name}_v2", *[None] * 3), (f"{name}_v3", *[None] * 4)]
both = lambda: {info(name, stream, *rest) for name, *rest in calls for stream in (s, other)}
print(both() == {(0, 0)})
"""
    after = "print(len(both()), both().pop()[0], both().pop()[1] > 0)"
    assert told(snippet + FORK + after) == ["True", "1", "1", "True"]
