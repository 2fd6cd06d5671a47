"""cuda.core as it is published, over the double: its buffers lent, Views seen by it, and copies counted."""

import importlib.metadata
import json

import pytest

from support import fakecuda

pytest.importorskip("numpy")

START = """
import ctypes, gc, json, warnings
from support.fakecuda import fake
warnings.simplefilter("ignore")
import numpy as np
import cuda.core as core
from cuda.core.utils import StridedMemoryView
device = core.Device(0)
device.set_current()
s = device.create_stream()
import lend
from support.fakecuda.described import CudaArray, Memory

DATA = bytes(range(1, 65))
def pinned(data=DATA):
    made = core.LegacyPinnedMemoryResource().allocate(len(data), stream=s)
    ctypes.memmove(int(made.handle), data, len(data))
    return made
def block(data=DATA):
    made = device.allocate(len(data), stream=s)
    made.copy_from(pinned(data), stream=s)
    s.sync()
    fake.reset()
    return made
def refused(call):
    try:
        return repr(call())
    except lend.errors.LendError as refusal:
        return type(refusal).__name__
def show(*facts):
    print(json.dumps(facts))
"""


def found(snippet, **keywords):
    try:
        importlib.metadata.version("cuda-core")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("cuda-core is not installed")
    return json.loads(fakecuda.run_clean(START + snippet, options=(), **keywords))


def test_a_pinned_buffer_is_read_and_written_in_place():
    assert found("""
b = pinned()
fake.reset()
view = lend.view(b)
array = np.asarray(view)
array[0] = 42
show(array.ctypes.data == int(b.handle), array.tolist() == [42, *DATA[1:]], ctypes.string_at(int(b.handle), 1)[0],
     fake.copies())
""") == [True, True, 42, 0]


@pytest.mark.parametrize("model", ["discrete", "hmm", "ats"])
def test_a_managed_buffer_is_read_in_place(model):
    assert found(
        """
b = core.ManagedMemoryResource().allocate(64, stream=s)
b.copy_from(pinned(), stream=s)
fake.reset()
array = np.asarray(lend.view(b))
show(array.ctypes.data == int(b.handle), array.tobytes() == DATA, fake.copies())
""",
        model=model,
    ) == [True, True, 0]


def test_a_managed_buffer_is_read_where_that_is_signed_for_if_the_host_must_find_the_device_idle():
    assert found(
        """
b = core.ManagedMemoryResource().allocate(64, stream=s)
b.copy_from(pinned(), stream=s)
said = refused(lambda: memoryview(lend.view(b)))
show(said, lend.view(b, device="cpu", copy=False).tobytes() == DATA)
""",
        model="jetson",
    ) == ["NotHostAccessible", True]


def test_a_buffer_of_the_device_is_refused_to_the_host_and_copied_by_name_in_one_call():
    assert found("""
b = block()
view = lend.view(b)
said = [refused(lambda: memoryview(view)), refused(lambda: np.asarray(view)), refused(lambda: lend.to(b, "numpy"))]
none = fake.copies()
with lend.copies() as made:
    array = lend.to(b, "numpy", device="cpu")
show(said, none, array.tobytes() == DATA, fake.copies(), made.bytes)
""") == [["NotHostAccessible"] * 3, 0, True, 1, 64]


WAITED = {
    "copied to the host": ("device", 'lend.to(b, "numpy", device="cpu").tobytes()'),
    "copied to another device": ("device", 'lend.view(lend.view(b, device="cuda:1"), device="cpu").tobytes()'),
    "managed": ("managed", "memoryview(lend.view(b)).tobytes()"),
    "pinned": ("pinned", "memoryview(lend.view(b)).tobytes()"),
    "bytes of it": ("managed", "lend.buffer(b).tobytes()"),
    "seen by cuda.core": ("managed", "memoryview(lend.view(seen)).tobytes()"),
    "seen by cuda.core, copied": ("device", 'lend.to(seen, "numpy", device="cpu").tobytes()'),
    "for a stream": ("device", "by_stream(b)"),
}


@pytest.mark.parametrize("ordinal", [0, 1])
@pytest.mark.parametrize("case", WAITED)
def test_the_device_is_waited_for_since_buffers_know_no_stream_and_order_nothing_before_one(case, ordinal):
    kind, way = WAITED[case]
    assert found(f"""
core.Device(1).set_current()
device = core.Device({ordinal})
device.set_current()
s = device.create_stream()
if {kind == "managed"}:
    b = core.ManagedMemoryResource().allocate(64, stream=s)
elif {kind == "pinned"}:
    b = core.LegacyPinnedMemoryResource().allocate(64, stream=s)
else:
    b = core.DeviceMemoryResource(device).allocate(64, stream=s)
def by_stream(b):
    mine = device.create_stream()
    there = fake.malloc_pinned(64)
    lend.view(b).__dlpack__(stream=int(mine.handle), max_version=(1, 0))
    fake.d2h_async(there, int(b.handle), 64, int(mine.handle))
    mine.sync()
    return ctypes.string_at(there, 64)
seen = StridedMemoryView.from_any_interface(b, stream_ptr=-1)
s.sync()
b.fill(7, stream=s)
pending = fake.pending(int(s.handle))
show(pending, {way} == b"\\7" * 64)
""") == [True, True]


def test_parts_of_a_buffer_lie_in_it_and_come_over_as_they_are():
    assert found("""
b = block()
view = lend.view(b).reinterpret("uint32").reshape((4, 4))
part = view[1:, ::2]
wanted = np.frombuffer(DATA, "u4").reshape(4, 4)[1:, ::2]
came = lend.to(part, "numpy", device="cpu")
show(part.ptr - int(b.handle), part.strides, came.tolist() == wanted.tolist(), str(part.device))
""") == [16, [16, 8], True, "cuda:0"]


SEEN = {
    "any interface": "StridedMemoryView.from_any_interface(part, stream_ptr=int(s.handle))",
    "DLPack": "StridedMemoryView.from_dlpack(part, stream_ptr=int(s.handle))",
    "the interface": "StridedMemoryView.from_cuda_array_interface(part, stream_ptr=int(s.handle))",
}


@pytest.mark.parametrize("way", SEEN)
def test_a_view_is_seen_as_it_lies_by_cuda_core(way):
    assert found(f"""
b = block()
part = lend.view(b).reinterpret("int32").reshape((4, 4))[1:, ::2]
seen = {SEEN[way]}
show(seen.ptr - int(b.handle), seen.shape, seen.strides, str(seen.dtype), seen.device_id, seen.readonly,
     seen.is_device_accessible, fake.copies())
""") == [16, [3, 2], [4, 2], "int32", 0, False, True, 0]


def test_pinned_memory_stays_pinned_on_its_way_through_lend():
    assert found("""
b = pinned()
fake.reset()
seen = StridedMemoryView.from_dlpack(lend.view(b), stream_ptr=-1)
show(seen.ptr == int(b.handle), seen.is_device_accessible, fake.copies())
""") == [True, True, 0]


def test_what_cuda_core_sees_is_lent_again():
    assert found("""
b = block()
seen = StridedMemoryView.from_dlpack(lend.view(b)[8:], stream_ptr=-1)
view = lend.view(seen)
show(view.ptr - int(b.handle), view.shape, str(view.device), refused(lambda: memoryview(view)), fake.copies())
""") == [8, [56], "cuda:0", "NotHostAccessible", 0]


@pytest.mark.parametrize("way", ["from_dlpack", "from_cuda_array_interface"])
def test_a_stream_of_cuda_core_comes_after_the_work_of_the_producer(way):
    before, after = found(f"""
m = Memory(DATA, pending=True)
there = device.allocate(64, stream=s)
seen = StridedMemoryView.{way}(lend.view(CudaArray(m, (64,), "|u1", stream="own")), stream_ptr=int(s.handle))
before = m.is_ready
fake.copy_async(int(there.handle), seen.ptr, 64, int(s.handle))
s.sync()
show(before, fake.peek(int(there.handle), 64) == DATA)
""")
    assert (before, after) == (False, True)


def test_a_copy_of_lends_on_a_device_is_seen_by_cuda_core():
    assert found("""
core.Device(1).set_current()
device.set_current()
view = lend.view(DATA, device="cuda:1")
seen = StridedMemoryView.from_dlpack(view, stream_ptr=-1)
show(seen.device_id, fake.peek(seen.ptr, seen.size) == DATA)
""") == [1, True]


def test_a_buffer_lives_as_long_as_what_is_lent_of_it():
    assert found("""
b = block()
s.sync()
gc.collect()
live = fake.live()
part = lend.view(b)[8:16]
seen = StridedMemoryView.from_dlpack(part, stream_ptr=-1)
handle = int(b.handle)
del b, part
gc.collect()
kept = [fake.live() - live, fake.peek(seen.ptr, 8) == DATA[8:16]]
del seen
gc.collect()
s.sync()
show(kept, fake.live() - live)
""") == [[0, True], -1]
