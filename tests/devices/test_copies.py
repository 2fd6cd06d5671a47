"""Copies between devices and the host, that were asked for by name: values, calls of the driver, counts, plans."""

import json

import pytest

from support import fakecuda

pytest.importorskip("numpy")

START = """
import gc, json, random
import numpy as np
from support.fakecuda import fake
from support.fakecuda.described import CudaArray, Memory
fake.init()
fake.retain(1)
import lend

def show(*facts):
    print(json.dumps(facts))
"""


def found(snippet, **keywords):
    return json.loads(fakecuda.run_clean(START + snippet, **keywords))


def test_any_layout_comes_to_the_host_and_goes_to_devices_with_its_values():
    assert found("""
random.seed(7)
a = np.arange(5 * 6 * 40, dtype="f4").reshape(5, 6, 40)
d = lend.view(a, device="cuda:0")
def part(n):
    if random.random() < 0.5:
        return slice(None, None, random.choice([-2, -1, 1, 2, 3]))
    return slice(random.randrange(n), random.randrange(n + 1))
wrong = []
for i in range(120):
    key = tuple(part(n) for n in a.shape)
    there, here = (d[key].T, a[key].T) if i % 3 == 0 else (d[key], a[key])
    for got in (
        lend.to(there, "numpy", device="cpu"),
        lend.to(lend.view(there, device="cpu"), "numpy"),
        lend.to(lend.view(there, device="cuda:1"), "numpy", device="cpu"),
        lend.to(lend.view(here, device="cuda:0"), "numpy", device="cpu"),
    ):
        if got.shape != here.shape or not (got == here).all():
            wrong.append(str(key))
show(wrong, fake.depth())
""") == [[], 1]


def test_rows_that_lie_apart_are_one_call_and_not_one_for_each():
    plain, rows, slices, narrow = found("""
d = lend.view(np.zeros((8, 64, 256), "u1"), device="cuda:0")
def calls(view):
    fake.reset()
    lend.to(view, "numpy", device="cpu")
    return [fake.copies(), fake.calls("cuMemcpy3DAsync")]
show(calls(d), calls(d[0, :, :128]), calls(d[:, ::2, :128]), calls(d[0, :, ::4]))
""")
    assert plain == [1, 0]
    assert rows == [1, 1]
    assert slices == [1, 1]
    assert narrow == [1, 0]  # the bytes from the lowest to the highest, put in order by the host


def test_pending_work_is_in_the_copy():
    assert found("""
stream = fake.stream()
m = Memory(bytes(64), stream=stream)
m.fill(b"\\x05" * 64)
v = lend.view(CudaArray(m, (64,), "|u1", stream=stream))
show(lend.to(v, "numpy", device="cpu").tolist() == [5] * 64, lend.view(v, device="cuda:1").device == "cuda:1")
""") == [True, True]


def test_a_copy_is_counted_and_the_plan_says_so_beforehand():
    told, counted, why = found("""
d = lend.view(np.zeros(100, "f8"), device="cuda:0")
plan = lend.explain(d, "numpy", device="cpu")
with lend.copies() as made:
    lend.to(d, "numpy", device="cpu")
show(plan.bytes_copied, made.bytes, made.recent[-1].why)
""")
    assert told == counted == 800
    assert "cuda:0" in why


def test_nothing_crosses_without_a_word():
    said = found("""
d = lend.view(np.zeros(4), device="cuda:0")
said = []
for options in ({}, {"copy": True}, {"copy": False}, {"device": "cpu", "copy": False}):
    try:
        lend.to(d, "numpy", **options)
        said.append("done")
    except lend.errors.NotHostAccessible as refusal:
        said.append(refusal.remedy)
show(*said)
""")
    assert all('device="cpu"' in remedy for remedy in said)


def test_memory_of_lends_own_on_a_device_goes_with_its_last_holder():
    assert found("""
before = fake.live()
d = lend.view(np.zeros(1000), device="cuda:1")
kept, there = d[10:20], fake.live() - before
del d
held = fake.live() - before
del kept
gc.collect()
show(there, held, fake.live() - before, len(list(lend.loans())))
""") == [1, 1, 0, 0]


def test_a_device_without_a_context_is_not_begun():
    text, active = found("""
fake.release(1)
try:
    lend.view(b"1234", device="cuda:1")
    text = ""
except lend.errors.LendError as refusal:
    text = str(refusal)
show(text, fake.is_active(1))
""")
    assert "has no context in this process, and lend makes none (CUDA_ERROR_INVALID_CONTEXT)" in text
    assert not active


FAULTS = ["cuMemcpyAsync:719", "cuStreamCreate:2", "cuStreamSynchronize:700", "cuMemAlloc:2", "cuCtxPushCurrent:201"]


@pytest.mark.parametrize("fault", FAULTS)
def test_an_error_of_the_driver_is_told_by_its_name_and_leaves_nothing(fault):
    name, code = fault.split(":")
    said, live, depth = found(f"""
d = lend.view(np.zeros(8), device="cuda:0")
live, depth = fake.live(), fake.depth()
fake.fail({name!r}, {code})
said = []
for way in (lambda: lend.to(d, "numpy", device="cpu"), lambda: lend.view(d, device="cuda:1")):
    try:
        way()
    except lend.errors.LendError as refusal:
        said.append(str(refusal))
gc.collect()
show(said, fake.live() - live, fake.depth() - depth)
""")
    assert said, fault
    assert all(f"({code})" in text or "no context" in text for text in said)
    assert (live, depth) == (0, 0)


def test_memory_goes_to_a_device_on_its_way_to_a_callable_and_the_plan_says_so():
    whole, rows = found("""
told = []
a = np.arange(12, dtype="f4").reshape(3, 4)
for part in (a, a[:, ::2]):
    plan = lend.explain(part, lambda x: x, device="cuda:1")
    with lend.copies() as log:
        view = lend.to(part, lambda x: x, device="cuda:1")
    right = (lend.to(view, "numpy", device="cpu") == part).all().item()
    told.append([[(step.what, step.nbytes) for step in plan.steps[1:-1]], str(view.device), log.bytes, right])
show(*told)
""")
    assert whole == [[["by the driver, to cuda:1", 48]], "cuda:1", 48, True]
    staged = ["into fresh memory", 24]  # what lies apart is put in order by the host first
    assert rows == [[staged, ["by the driver, to cuda:1", 24]], "cuda:1", 48, True]


WAYS_TO_A_DEVICE = {
    "the host": "np.arange(4.0)",
    "another device": 'lend.view(np.arange(4.0), device="cuda:0")',
    "a capsule": "np.arange(4.0).__dlpack__()",
    "a buffer": "lend.buffer(np.arange(4.0))",
}


@pytest.mark.parametrize("source", WAYS_TO_A_DEVICE)
def test_a_view_of_any_source_is_made_on_a_device_by_its_name(source):
    assert found(f"""
view = lend.to({WAYS_TO_A_DEVICE[source]}, device="cuda:1")
show(str(view.device), np.frombuffer(lend.to(view, bytes, device="cpu"), "f8").tolist())
""") == ["cuda:1", [0, 1, 2, 3]]


def test_a_copy_to_a_device_may_be_forbidden():
    said = found("""
said = []
for ask in (lend.to, lend.explain):
    try:
        ask(b"1234", lambda x: x, device="cuda:0", copy=False)
    except lend.errors.CopyRequired as refusal:
        said.append(str(refusal))
show(*said, fake.copies())
""")
    assert said[0] == said[1]
    assert "memory on cuda:0 was asked for, and this is on cpu" in said[0]
    assert said[2] == 0


def test_a_torch_that_was_built_for_no_device_is_told_of_none():
    pytest.importorskip("torch")
    import lend

    for ask in (lend.to, lend.explain):
        with pytest.raises(lend.errors.NotHostAccessible, match="a torch that was built for it, and this one was not"):
            ask(bytearray(8), "torch", device="cuda:0")


def test_a_torch_that_was_built_for_devices_gets_memory_there_after_what_its_stream_does():
    pytest.importorskip("torch")
    assert found("""
import torch
class Stream: cuda_stream = 0
class Tensor:
    "What torch makes of a capsule, with the little that is asked of it."
    def __init__(self, capsule): self.view = lend.view(capsule)
    def data_ptr(self): return self.view.ptr
torch.version.cuda, torch._C._from_dlpack, torch.cuda.current_stream = "13.0", Tensor, lambda number: Stream
made = lend.to(np.arange(4.0), "torch", device="cuda:1")
stays = lend.to(made.view, "torch")
plan = lend.explain(np.arange(4.0), "torch", device="cuda:1")
show(str(made.view.device), stays.view.ptr == made.view.ptr, plan.bytes_copied, type(made).__name__)
""") == ["cuda:1", True, 32, "Tensor"]


def test_a_device_cannot_be_copied_to_without_a_driver():
    import lend

    with pytest.raises(lend.errors.NotHostAccessible, match="no driver of cuda in this process"):
        lend.view(b"1234", device="cuda:0")


def test_nothing_is_read_for_a_device_that_is_not_there():
    import lend

    memory = bytearray(16)

    class Away:
        __array_interface__ = {
            "version": 3, "shape": (2, 2), "strides": (1 << 40, 8), "typestr": "<i8",
            "data": (lend.view(memory).ptr, True),
        }  # fmt: skip

    with pytest.raises(lend.errors.NotHostAccessible, match="no driver of cuda in this process"):
        lend.view(Away(), device="cuda:0")


TAKEN = {
    "an array of the host": "np.arange(4.0)",
    "a tensor there": "Tensor(Memory(np.arange(4.0).tobytes()), (4,), dtype=(2, 64, 1))",
    "an interface without a number": "CudaArray(Memory(np.arange(4.0).tobytes()), (4,), '<f8')",
    "a copy of lend's own": "lend.view(np.arange(4.0), device='cuda:0')",
}


@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
@pytest.mark.parametrize("taken", TAKEN)
def test_a_copy_on_a_device_is_one_copy_wherever_it_was(taken, device):
    assert found(f"""
from support.fakecuda.tensors import Tensor
rows = []
for ask in (lend.view, lend.to):
    x = {TAKEN[taken]}
    with lend.copies() as log:
        made = ask(x, device={device!r}, copy=True)
    rows.append([str(made.device), log.bytes, made.ptr != lend.view(x).ptr, lend.to(made, list, device="cpu")])
show(rows[0] == rows[1], *rows[0], lend.explain(x, device={device!r}, copy=True).bytes_copied)
""") == [True, device, 32, True, [0.0, 1.0, 2.0, 3.0], 32]


def test_the_number_that_an_interface_leaves_out_is_asked_of_the_driver_where_a_device_is_asked_for():
    assert found("""
rows = []
for number in (0, 1):
    x = CudaArray(Memory(np.arange(4.0).tobytes(), device=number), (4,), "<f8")
    for device in ("cuda:0", "cuda:1"):
        plan = lend.explain(x, device=device)
        with lend.copies() as log:
            made = lend.to(x, device=device)
        same = lend.to(lend.buffer(x), device=device)
        rows.append([str(made.device), str(same.device), plan.bytes_copied == log.bytes, log.bytes])
show(*rows)
""") == [["cuda:0", "cuda:0", True, 0], ["cuda:1", "cuda:1", True, 32],
         ["cuda:0", "cuda:0", True, 32], ["cuda:1", "cuda:1", True, 0]]  # fmt: skip
