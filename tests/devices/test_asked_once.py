"""What a driver said of a lease's memory is remembered with the lease: it is asked once for each allocation."""

import json

import pytest

from support import fakecuda

START = """
from support.access_child import *
fake.init()

def asked(call):
    "How often the driver was asked about an address, and how often anything, while this ran."
    fake.reset()
    call()
    return [fake.calls("cuPointerGetAttributes"), fake.all_calls()]
"""


def found(snippet, **keywords):
    return json.loads(fakecuda.run_clean(START + snippet, **keywords))


@pytest.mark.parametrize("kind", ["managed", "pinned", "registered", "alias"])
def test_who_reads_a_view_again_asks_the_driver_nothing(kind):
    snippet = f"""
m = Memory(FIRST, {kind!r})
view = lend.view(cuda(m, stream=None))
show(asked(lambda: memoryview(view))[0], asked(lambda: memoryview(view)), asked(lambda: np.asarray(view)),
     asked(lambda: memoryview(view.buffer)), view.tolist())
"""
    assert found(snippet, register_disjoint=1) == [1, [0, 0], [0, 0], [0, 0], [1, 2, 3, 4]]


def test_what_is_cut_out_of_a_view_is_in_the_same_allocation():
    snippet = """
m = Memory(FIRST, "alias")
view = lend.view(cuda(m, stream=None))
first = view.tolist()
show(first, asked(lambda: view[1:].tolist()), view[2:].tolist(), view[::-1].tolist(), access(view[1:]).address
     - access(view).address)
"""
    assert found(snippet, register_disjoint=1) == [[1, 2, 3, 4], [0, 0], [3, 4], [4, 3, 2, 1], 4]


def test_what_reaches_beyond_its_allocation_is_refused_though_its_beginning_is_known():
    snippet = """
m = Memory(FIRST, "managed")
view = lend.View.from_pointer(m.address, 1 << 20, "uint8", owner=m, device="cuda_managed:0")
part = view[:4]
part.tolist()
try: view.tolist()
except NotHostAccessible as refused: show("beyond" in str(refused))
"""
    assert found(snippet) == [True]


def test_another_allocation_under_the_same_lease_is_asked_about():
    snippet = """
m, other = Memory(FIRST, "managed"), Memory(FIRST, "device")
low, high = sorted((m.address, other.address))
view = lend.View.from_pointer(low, high - low + SIZE, "uint8", owner=(m, other), device="cuda_managed:0")
there = [view[m.address - low:][:SIZE], view[other.address - low:][:SIZE]]
names = [access(part).name for part in there]
show(names, asked(lambda: [access(part) for part in there])[0] > 0, [access(part).name for part in there])
"""
    assert found(snippet) == [["managed", "device"], True, ["managed", "device"]]


def test_what_the_driver_did_not_know_is_asked_again():
    snippet = """
import mmap
pages = mmap.mmap(-1, 4096)
at = ctypes.addressof(ctypes.c_char.from_buffer(pages))
pages[:SIZE] = FIRST
view = lend.View.from_pointer(at, COUNT, "uint32", owner=pages, device="cuda_host:0")
before = access(view).name
fake.ok("cuMemHostRegister_v2", fake.PTR(at), fake.SIZE(4096), 0)
show(before, view.tolist())
"""
    before, after = found(snippet)
    assert (before, after) == ("unknown to the driver", [1, 2, 3, 4])


def test_in_a_child_of_fork_nothing_that_was_known_is_believed():
    snippet = """
import os
m = Memory(FIRST, "managed")
view = lend.view(cuda(m, stream=None))
memoryview(view)
read, write = os.pipe()
if not os.fork():
    try: memoryview(view)
    except NotHostAccessible as refused: os.write(write, str(refused).encode()[:200])
    os._exit(0)
os.close(write)
show("device, as told" in os.read(read, 1000).decode())
"""
    assert found(snippet) == [True]


def test_a_view_that_is_handed_on_asks_no_more_than_once():
    snippet = """
m = Memory(FIRST)
view = lend.view(tensor(m, (CUDA, 0)))
calls = []
for _ in range(2):
    calls.append(asked(lambda: view.__dlpack__(stream=1, max_version=(1, 1)))[0])
show(*calls)
"""
    assert found(snippet) == [1, 0]
