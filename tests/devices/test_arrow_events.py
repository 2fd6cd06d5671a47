"""The events of Arrow's device arrays: one that is told is waited for and nothing beside it, and one is given after
what lend knows of, for as long as the array lives.
"""

import json

import pytest

from support import fakecuda

START = """
import gc
from support.access_child import *
from support import arrow_structs
from support.arrow_device_structs import DeviceArray, OnDevice, StreamedOnDevice
from support.arrow_structs import Node
fake.init()
OLD, NEW = struct.pack("4q", 1, 2, 3, 4), struct.pack("4q", 5, 6, 7, 8)
LONG = len(OLD)

class Told:
    "What is in a capsule of ours, or was moved out of it."
    def __init__(self, pair):
        self.pair = pair
        self.held = DeviceArray.from_address(arrow_structs._capsule_pointer(id(pair[1]), b"arrow_device_array"))
        self.event = self.held.sync_event and ctypes.c_void_p.from_address(self.held.sync_event).value

class Pending:
    "An array over memory whose work is pending, with the event that is recorded after it; others work beside it."
    def __init__(self, kind="device", device_type=CUDA, event=True, number=0):
        self.memory, self.other = Memory(OLD, kind), Memory(OLD)
        self.memory.fill(NEW)
        self.other.fill(NEW)
        self.handle = None
        if event:
            self.handle = fake.event()
            fake.record(self.handle, self.memory.stream)
        self.pointer = ctypes.c_void_p(self.handle)
        self.made = OnDevice(Node("l", 4, buffers=[None, self.memory.address]), device_type, number,
                             sync_event=ctypes.addressof(self.pointer) if event else None)

def values(data):
    return {OLD: "old", NEW: "new"}.get(bytes(data), repr(bytes(data)))

WAITS = ("cuEventSynchronize", "cuStreamSynchronize", "cuCtxSynchronize", "cuStreamWaitEvent")
def waits():
    return [fake.calls(name) for name in WAITS]
"""


def found(snippet, **keywords):
    return json.loads(fakecuda.run_clean(START + snippet, **keywords))


# -- told by a producer --------------------------------------------------------------------------------------------

HOSTS = {"managed": "CUDA_MANAGED", "pinned": "CUDA_HOST"}


@pytest.mark.parametrize("kind", HOSTS)
def test_the_host_waits_for_the_event_alone(kind):
    snippet = f"""
p = Pending({kind!r}, {HOSTS[kind]})
fake.reset()
column = lend.column(p.made)
at_first = fake.all_calls()
show(at_first, column.tolist(), waits(), fake.pending(p.other.stream), column[1:].tolist(), fake.depth())
"""
    assert found(snippet) == [0, [5, 6, 7, 8], [1, 0, 0, 0], True, [6, 7, 8], 1]


READERS = {
    "a copy to the host": 'values(lend.view(column.view(), device="cpu").tobytes())',
    "a column brought to the host": 'column.to(device="cpu").tolist()[0] == 5 and "new"',
    "a copy to another device": 'values(fake.peek((there := lend.view(column.view(), device="cuda:1")).ptr, LONG))',
}


@pytest.mark.parametrize("reader", READERS)
def test_a_copy_is_ordered_after_the_event_alone(reader):
    snippet = f"""
fake.retain(1)
p = Pending()
column = lend.column(p.made)
fake.reset()
read = {READERS[reader]}
show(read, waits()[2], waits()[3] > 0, fake.pending(p.other.stream))
"""
    assert found(snippet) == ["new", 0, True, True]


CONSUMERS = {
    "DLPack": "column.view().__dlpack__(stream=stream, max_version=(1, 1))",
    "a later one by DLPack": "[column[1:].view().__dlpack__(stream=each, max_version=(1, 1)) for each in (1, stream)]",
    "an array interface": 'stream == 1 and column.view().__cuda_array_interface__["stream"]',
}


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_a_consumers_stream_waits_for_the_event_and_the_host_for_nothing(consumer):
    stream = "1" if consumer == "an array interface" else "fake.stream()"
    snippet = f"""
p = Pending()
column, stream = lend.column(p.made), {stream}
fake.reset()
taken = {CONSUMERS[consumer]}
show(waits()[:3], values(fake.d2h(p.memory.address, LONG, stream)), fake.pending(p.other.stream))
"""
    assert found(snippet) == [[0, 0, 0], "new", True]


def test_without_an_event_nothing_is_waited_for():
    snippet = """
p = Pending("managed", CUDA_MANAGED, event=False)
column = lend.column(p.made)
show(column.tolist(), waits(), fake.pending(p.memory.stream))
"""
    assert found(snippet) == [[1, 2, 3, 4], [0, 0, 0, 0], True]


def test_the_arrays_of_a_stream_have_an_event_each():
    snippet = """
parts = [Pending("managed", CUDA_MANAGED) for _ in range(2)]
column = lend.column(StreamedOnDevice(Node("l", 0, buffers=[None, None]), [p.made for p in parts], CUDA_MANAGED))
first, second = column.chunks
show(first.tolist(), fake.pending(parts[1].memory.stream), second.tolist(), waits())
"""
    assert found(snippet) == [[5, 6, 7, 8], True, [5, 6, 7, 8], [2, 0, 0, 0]]


def test_who_knows_better_waits_for_nothing():
    snippet = """
p = Pending("managed", CUDA_MANAGED)
show(lend.to(lend.column(p.made).view(), "numpy", sync="none").tolist(), waits())
"""
    assert found(snippet) == [[1, 2, 3, 4], [0, 0, 0, 0]]


LIES = {
    "nothing where it is told": ("p.made.held.sync_event = 0x10", "at an address where nothing is"),
    "none": ("p.pointer.value = None", "CUDA_ERROR_INVALID_HANDLE (400)"),
    "destroyed": ("fake.destroy_event(p.handle)", "CUDA_ERROR_INVALID_HANDLE (400)"),
}
ASKED = {
    "the host": ('"managed", CUDA_MANAGED', "column.tolist()"),
    "a copy": ("", 'lend.view(column.view(), device="cpu")'),
    "a consumer's stream": ("", "column.view().__dlpack__(stream=stream)"),
    "an array interface": ("", "column.view().__cuda_array_interface__"),
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("lie", LIES)
def test_an_event_that_is_none_is_told_by_the_drivers_name_and_leaves_nothing(lie, asked):
    spoil, said = LIES[lie]
    kind, ask = ASKED[asked]
    snippet = f"""
p, stream = Pending({kind}), fake.stream()
{spoil}
column, books = lend.column(p.made), fake.books()
try:
    {ask}
    text = "done"
except LendError as refused:
    text = str(refused)
left = [now - then for now, then in zip(fake.books(), books)]
del column
gc.collect()
show(text, left, p.made.released)
"""
    text, left, released = found(snippet)
    assert said in text
    assert left == [0, 0, 0, 0]
    assert released == {"": 1}


def test_an_event_of_another_context_is_waited_for_there():
    snippet = """
fake.retain(1)
with fake.on(1):
    p = Pending("managed", CUDA_MANAGED)
column, stream = lend.column(p.made), fake.stream()
column.view().__dlpack__(stream=stream, max_version=(1, 1))
show(values(fake.d2h(p.memory.address, LONG, stream)), column.tolist(), fake.depth(), fake.current_device())
"""
    assert found(snippet) == ["new", [5, 6, 7, 8], 1, 0]


CAPTURED = {
    "the host": ('"managed", CUDA_MANAGED', "column.tolist()"),
    "a copy": ("", 'lend.view(column.view(), device="cpu")'),
    "a consumer that is captured": ("", "column.view().__dlpack__(stream=stream)"),
    "who gets an event": ("", 'lend.table({"a": column, "b": more}).__arrow_c_device_array__()'),
}


@pytest.mark.parametrize("asked", CAPTURED)
def test_nothing_waits_while_a_stream_is_captured(asked):
    kind, ask = CAPTURED[asked]
    snippet = f"""
more = lend.column(Pending().made)
p, stream = Pending({kind}), fake.stream(blocking=True)
column = lend.column(p.made)
fake.begin_capture(stream, fake.THREAD_LOCAL)
try: {ask}
except StreamError as refused: text = str(refused)
show("captured into a graph" in text, fake.capture_end_code(stream))
"""
    assert found(snippet) == [True, 0]


# -- given by lend -------------------------------------------------------------------------------------------------


def test_an_event_goes_on_with_what_it_came_with():
    snippet = """
p = Pending()
column = lend.column(p.made)
fake.reset()
told = Told(column.__arrow_c_device_array__())
show(told.event == p.handle, fake.all_calls(), fake.books()[2])
"""
    assert found(snippet) == [True, 0, 1]


SOURCES = {
    "a stream that was told": "cuda(m, typestr='<i8', shape=(4,), stream='own')",
    "a producer that can be asked": "Tensor(m, (4,), dtype=(0, 64, 1), device=(CUDA, 0))",
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("way", ["array", "stream"])
def test_an_event_is_given_that_is_done_after_what_is_pending(source, way):
    snippet = f"""
m, other = Memory(OLD), Memory(OLD)
m.fill(NEW)
other.fill(NEW)
class Numbered(CudaArray):
    def __dlpack_device__(self): return (CUDA, 0)
def cuda(m, **said): return Numbered(m, said.pop("shape"), said.pop("typestr"), **said)
column, books = lend.column({SOURCES[source]}), fake.books()
fake.reset()
if {way!r} == "array":
    again = lend.column(column.__arrow_c_device_array__())
else:
    again = lend.column(column.__arrow_c_device_stream__())
waited, kept = waits()[:3], fake.books()[2] - books[2]
value = values(lend.view(again.view(), device="cpu").tobytes())
del again
gc.collect()
show(waited, kept, value, fake.pending(other.stream), [now - then for now, then in zip(fake.books(), books)])
"""
    assert found(snippet) == [[0, 0, 0], 1, "new", True, [0, 0, 0, 0]]


def test_what_nobody_tells_a_stream_of_is_waited_for_before_it_is_given():
    snippet = """
m = Memory(OLD)
m.fill(NEW)
class Numbered(CudaArray2):
    def __dlpack_device__(self): return (CUDA, 0)
column = lend.column(Numbered(m, (4,), "<i8"))
pair = column.__arrow_c_device_array__()
show(values(m.now), waits()[2])
"""
    assert found(snippet) == ["new", 1]


def test_one_event_is_given_of_columns_that_have_several():
    snippet = """
parts = [Pending(), Pending()]
table = lend.table({"a": lend.column(parts[0].made), "b": lend.column(parts[1].made)})
books = fake.books()
fake.reset()
taken = Told(table.__arrow_c_device_array__())
waited = waits()[:3]
fake.sync_event(taken.event)
done = [values(p.memory.now) for p in parts]
del taken
gc.collect()
show(waited, done, [now - then for now, then in zip(fake.books(), books)])
"""
    assert found(snippet) == [[0, 0, 0], ["new", "new"], [0, 0, 0, 0]]


def test_what_lend_copied_to_a_device_is_done_and_has_no_event():
    snippet = """
column = lend.column(np.arange(4)).to(device="cuda:0")
books = fake.books()
show(Told(column.__arrow_c_device_array__()).event, fake.books()[2] - books[2])
"""
    assert found(snippet) == [None, 0]


def test_a_child_that_was_moved_out_lives_on_when_the_array_and_its_event_go():
    snippet = """
parts = [Pending(), Pending()]
table = lend.table({"a": lend.column(parts[0].made), "b": lend.column(parts[1].made)})
books = fake.books()
again = lend.table(table.__arrow_c_device_array__())
del table
gc.collect()
column = again["b"]
del again
value = values(lend.view(column.view(), device="cpu").tobytes())
released = [dict(p.made.released) for p in parts]
del column
gc.collect()
show(value, released[1], [p.made.released for p in parts], [now - then for now, then in zip(fake.books(), books)])
"""
    assert found(snippet) == ["new", {}, [{"": 1}, {"": 1}], [0, 0, 0, 0]]


STEPS = ["cuStreamCreate:2", "cuEventCreate:2", "cuEventRecord:719", "cuStreamWaitEvent:719", "cuCtxGetCurrent:201"]


@pytest.mark.parametrize("fault", STEPS)
def test_where_the_driver_makes_no_event_nothing_is_given_and_nothing_left(fault):
    name, code = fault.split(":")
    snippet = f"""
parts = [Pending(), Pending()]
table = lend.table({{"a": lend.column(parts[0].made), "b": lend.column(parts[1].made)}})
books = fake.books()
fake.fail({name!r}, {code})
said = []
for give in (table.__arrow_c_device_array__, table.__arrow_c_device_stream__):
    try:
        give()
    except LendError as refused:
        said.append(str(refused))
fake.fail({name!r}, 0, 0)
gc.collect()
show(said, [now - then for now, then in zip(fake.books(), books)])
"""
    said, left = found(snippet)
    assert len(said) == 2
    assert all("CUDA_ERROR_" in text for text in said)
    assert left == [0, 0, 0, 0]


# -- given back ----------------------------------------------------------------------------------------------------


def test_an_array_goes_back_when_the_consumers_stream_is_done():
    snippet = """
from lend.devices import parking
p, stream = Pending(), fake.stream()
column = lend.column(p.made)
taken = column.view().__dlpack__(stream=stream, max_version=(1, 1))
fake.memset_async(Memory(OLD).address, 1, LONG, stream)
del taken, column
gc.collect()
early = dict(p.made.released)
fake.sync(stream)
show(early, parking.waiting(), p.made.released)
"""
    assert found(snippet) == [{}, 0, {"": 1}]
