"""Copies to a device in the order of a stream that the caller names: nothing is waited for, and who reads the View is
ordered after the copy.
"""

import json

import pytest

from support import fakecuda

pytest.importorskip("numpy")

START = """
import gc, weakref
from support.access_child import *
from lend.devices import parking
fake.init()
fake.retain(1)
NEW = numbers([5, 6, 7, 8])
WAITS = ("cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize")
def waits():
    return [fake.calls(name) for name in WAITS]

class Source:
    "Pinned memory on the host, from which a copy is truly deferred; or memory of device 0 whose work is pending."
    def __init__(self, where):
        self.memory = Memory(NEW, "pinned") if where == "pinned" else Memory(FIRST)
        if where == "pinned":
            self.view = lend.View.from_pointer(self.memory.address, COUNT, "uint32", owner=self)
        else:
            self.memory.fill(NEW)
            self.view = lend.view(cuda(self.memory, stream="own"))

def sent(where, **options):
    source = Source(where)
    with fake.on(1):
        stream = fake.stream()
    fake.reset()
    made = lend.view(source.view, device="cuda:1", stream=stream, **options)
    return source, stream, made
"""


def found(snippet, **keywords):
    return json.loads(fakecuda.run_clean(START + snippet, **keywords))


@pytest.mark.parametrize("where", ["pinned", "device"])
def test_a_copy_in_the_order_of_a_stream_is_not_waited_for_and_who_reads_it_is_ordered_behind(where):
    snippet = f"""
source, stream, made = sent({where!r})
waited, pending = waits(), fake.pending(stream)
value = lend.view(made, device="cpu").tolist()
with fake.on(1):
    other = fake.stream()
again = sent({where!r})[2]
fake.reset()
again.__dlpack__(stream=other, max_version=(1, 1))
handed = waits()
with fake.on(1):
    seen = fake.d2h(again.ptr, SIZE, other)
show(waited, pending, value, handed, seen == NEW, fake.depth(), str(made.device))
"""
    assert found(snippet) == [[0, 0, 0], True, [5, 6, 7, 8], [0, 0, 0], True, 1, "cuda:1"]


def test_the_copy_may_be_read_when_its_stream_is_gone():
    snippet = """
source, stream, made = sent("pinned")
fake.destroy_stream(stream)
show(lend.view(made, device="cpu").tolist())
"""
    assert found(snippet) == [[5, 6, 7, 8]]


@pytest.mark.parametrize("where", ["pinned", "device"])
def test_the_source_is_kept_until_the_copy_is_done(where):
    snippet = f"""
source, stream, made = sent({where!r})
held = weakref.ref(source.memory)
del source
gc.collect()
early = held() is not None and fake.pending(stream)
fake.sync(stream)
while parking.waiting(): pass
gc.collect()
show(early, held() is None, lend.view(made, device="cpu").tolist())
"""
    assert found(snippet) == [True, True, [5, 6, 7, 8]]


def test_a_copy_that_nobody_reads_leaves_nothing():
    snippet = """
books = fake.books()
source, stream, made = sent("device")
fake.destroy_stream(stream)
fake.destroy_stream(source.memory.stream)
source.memory.free()
del made, source
gc.collect()
while parking.waiting(): pass
show([now - then for now, then in zip(fake.books(), books)])
"""
    assert found(snippet) == [[0, 0, 0, 0]]


def test_rows_and_pageable_memory_go_in_order_too():
    snippet = """
with fake.on(1):
    stream = fake.stream()
a = np.arange(64, dtype="u4").reshape(8, 8)
there = lend.view(a, device="cuda:0")
rows = [lend.view(each, device="cuda:1", stream=stream) for each in (a, a[:, ::2], there[:, :4])]
show([(lend.to(each, "numpy", device="cpu") == wanted).all().item() for each, wanted in
      zip(rows, (a, a[:, ::2], a[:, :4]))])
"""
    assert found(snippet) == [[True, True, True]]


FAULTS = ["cuMemcpyAsync:719", "cuEventCreate:2", "cuEventRecord:2", "cuMemAlloc:2", "cuStreamIsCapturing:2"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_copy_that_fails_is_told_and_leaves_nothing(fault):
    name, code = fault.split(":")
    snippet = f"""
source = Source("pinned")
with fake.on(1):
    stream = fake.stream()
books = fake.books()
fake.fail({name!r}, {code}, 1)
try:
    made = lend.view(source.view, device="cuda:1", stream=stream)
    said = "" if lend.view(made, device="cpu").tolist() == [5, 6, 7, 8] else "wrong"
    del made
except LendError as refused:
    said = str(refused)
gc.collect()
while parking.waiting(): pass
show(said, [now - then for now, then in zip(fake.books(), books)])
"""
    said, left = found(snippet)
    assert f"({code})" in said
    assert left == [0, 0, 0, 0]


def test_a_stream_that_is_captured_is_given_no_copy():
    snippet = """
stream = fake.stream(blocking=True)
fake.begin_capture(stream, fake.THREAD_LOCAL)
try: lend.view(np.arange(4), device="cuda:0", stream=stream)
except StreamError as refused: text = str(refused)
show("captured into a graph" in text, fake.capture_end_code(stream))
"""
    assert found(snippet) == [True, 0]


def test_a_stream_that_is_none_is_refused():
    snippet = """
said = []
for stream in (0, -7, "x"):
    try: lend.view(np.arange(4), device="cuda:0", stream=stream)
    except StreamError as refused: said.append(str(refused).splitlines()[0])
show(len(said), lend.view(np.arange(4), device="cuda:0", stream=-1).device.id)
"""
    assert found(snippet) == [3, 0]


# -- copies that a target needs ------------------------------------------------------------------------------------

LIKE_TORCH = """
torch = __import__("torch")
class Stream: cuda_stream = 0
class Given:
    "What torch makes of a capsule, with the little that is asked of it."
    def __init__(self, capsule): self.view = lend.view(capsule)
    def data_ptr(self): return self.view.ptr
torch.version.cuda, torch._C._from_dlpack, torch.cuda.current_stream = "13.0", Given, lambda number: Stream
m = Memory(FIRST, stream=fake.stream())
m.fill(NEW)
view = lend.view(cuda(m, stream="own", readonly={readonly}))
view = view[{part}]
fake.reset()
"""
NEEDED = {
    "read-only memory": (True, "::1", {}, [5, 6, 7, 8]),
    "a copy by name": (False, "::1", {"copy": True}, [5, 6, 7, 8]),
    "rows backwards": (False, "::-1", {}, [8, 7, 6, 5]),
}


@pytest.mark.parametrize("case", NEEDED)
def test_what_a_target_must_not_share_is_copied_on_its_device(case):
    pytest.importorskip("torch")
    readonly, part, options, values = NEEDED[case]
    snippet = (
        LIKE_TORCH.format(readonly=readonly, part=part)
        + f"""
plan = lend.explain(view, "torch", **{options})
told = [step.what for step in plan.copies], [step.who for step in plan.copies], plan.bytes_copied
at_first = fake.copies()
with lend.copies() as made:
    tensor = lend.to(view, "torch", **{options})
show(told, at_first, made.bytes, fake.copies() > 0, lend.view(tensor.view, device="cpu").tolist(),
     str(tensor.view.device), tensor.view.ptr != m.address)
"""
    )
    what = ["into fresh memory on cuda:?, by the driver"]
    assert found(snippet) == [[what, ["lend"], 16], 0, 16, True, values, "cuda:0", True]


def test_such_a_copy_may_be_forbidden_and_signed_away():
    pytest.importorskip("torch")
    snippet = (
        LIKE_TORCH.format(readonly=True, part="::1")
        + """
try: lend.to(view, "torch", copy=False)
except lend.errors.CopyRequired as refused: said = str(refused)
shared = lend.to(view, "torch", alias_readonly=True)
show("read-only" in said, fake.copies(), shared.view.ptr == m.address)
"""
    )
    assert found(snippet) == [True, 0, True]
