"""The double of the driver: memory and events are handed to another process, and order holds between the two."""

from support import fakecuda

START = """
import ctypes, subprocess, sys
from support.fakecuda import fake
class Handle(ctypes.Structure): _fields_ = [("reserved", ctypes.c_char * 64)]
fake.init()

def handle_of(name, what):
    handle = Handle()
    number = fake.rc(name, ctypes.byref(handle), what)
    return number or bytes(handle).hex()

def opened(name, text, *rest):
    place = ctypes.c_uint64()
    number = fake.rc(name, ctypes.byref(place), Handle.from_buffer_copy(bytes.fromhex(text)), *rest)
    return -number or place.value
"""
OPENS = "p = opened('cuIpcOpenMemHandle_v2', sys.argv[1], 1)\n"
GIVES = """
p = fake.malloc_device(b"abcdefgh")
def child(snippet, *arguments):
    return subprocess.run([sys.executable, "-c", START + snippet, *arguments], capture_output=True, text=True)
"""


def both(parent, child):
    """What the parent prints, which has `answer(*arguments)` to run the child and get its answer."""
    within = f"{START}START = {START!r}\n{GIVES}answer = lambda *arguments: child({OPENS + child!r}, *arguments)\n"
    return fakecuda.run_clean(within + parent)


GIVEN = "memory = handle_of('cuIpcGetMemHandle', fake.U64(p))\n"


def test_memory_is_read_and_written_from_another_process():
    child = "print(fake.d2h(p, 8), fake.live()); fake.h2d(p, b'XY'); fake.sync()"
    assert both(GIVEN + "print(answer(memory).stdout, fake.peek(p, 8))", child) == "b'abcdefgh' 1\n b'XYcdefgh'\n"


def test_memory_of_another_process_is_not_for_the_host():
    told = both(GIVEN + "got = answer(memory); print(got.returncode, got.stderr)", "fake.touch(p)")
    assert told.startswith("-11 fakecuda: the host touched device memory")


def test_memory_opened_twice_is_one_and_goes_with_its_last_close():
    child = """
again = opened("cuIpcOpenMemHandle_v2", sys.argv[1], 1)
close = lambda: fake.rc("cuIpcCloseMemHandle", fake.U64(p))
print(p == again, close(), fake.d2h(p, 1), close(), fake.rc("cuMemsetD8_v2", fake.U64(p), 0, fake.SIZE(1)), close())
"""
    assert both(GIVEN + "print(answer(memory).stdout)", child).strip() == "True 0 b'a' 0 1 1"


def test_a_handle_is_refused_where_it_was_made():
    told = fakecuda.run_clean(START + GIVES + GIVEN + "print(opened('cuIpcOpenMemHandle_v2', memory, 1))")
    assert told == "-201\n"


def test_only_plain_device_memory_has_a_handle():
    snippet = """
kinds = fake.malloc_pool(8), fake.malloc_managed(8), fake.malloc_pinned(8)
print([handle_of("cuIpcGetMemHandle", fake.U64(p)) for p in kinds])
"""
    assert fakecuda.run_clean(START + snippet) == "[1, 1, 1]\n"


EVENT = """
s, e = fake.stream(), fake.event(2 | fake.INTERPROCESS)
fake.memset_async(p, 55, 8, s)
fake.record(e, s)
event = handle_of("cuIpcGetEventHandle", fake.PTR(e))
print(answer(memory, event).stdout, fake.pending(s))
"""


def test_a_process_that_does_not_wait_for_the_event_reads_stale_bytes():
    assert both(GIVEN + EVENT, "print(fake.d2h(p, 8))") == "b'abcdefgh'\n True\n"


def test_a_stream_that_waits_for_an_event_of_another_process_is_in_order():
    child = """
e, s = opened("cuIpcOpenEventHandle", sys.argv[2]), fake.stream()
print(fake.rc("cuEventQuery", fake.PTR(e)), end=" ")
fake.wait(s, e)
print(fake.d2h(p, 8, s), fake.rc("cuEventQuery", fake.PTR(e)))
"""
    assert both(GIVEN + EVENT, child) == "600 b'77777777' 0\n False\n"


def test_a_host_waits_for_an_event_of_another_process():
    child = "fake.sync_event(opened('cuIpcOpenEventHandle', sys.argv[2])); print(fake.peek(p, 8))"
    assert both(GIVEN + EVENT, child) == "b'77777777'\n False\n"


def test_an_event_not_made_for_it_has_no_handle():
    assert fakecuda.run_clean(START + "print(handle_of('cuIpcGetEventHandle', fake.PTR(fake.event())))") == "400\n"
