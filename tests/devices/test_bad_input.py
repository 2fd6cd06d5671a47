"""What is wrong with memory of a device, or with what is asked of it: a class, the driver's name where it has one, and
nothing left of what was begun.
"""

import json

import pytest

from support import fakecuda

START = """
import gc
from support.access_child import *
fake.init()
fake.retain(1)

def refused(ask):
    "Class and text of a refusal, and what is left of it."
    books, refs, context = fake.books(), [fake.refs(0), fake.refs(1)], fake.current()
    try:
        ask()
        said = ["done", ""]
    except Exception as error:
        said = [type(error).__name__, str(error)]
        del error
    gc.collect()
    left = [now - then for now, then in zip(fake.books(), books)]
    return *said, left, [fake.refs(0), fake.refs(1)] == refs and fake.current() == context

def gone():
    stream = fake.stream()
    fake.destroy_stream(stream)
    return stream
"""


def found(snippet, **keywords):
    return json.loads(fakecuda.run_clean(START + snippet, **keywords))


# what is asked for -> class, words
BAD = {
    "freed, and read by the host": (
        "m.free(); ask = lambda: memoryview(view)", "NotHostAccessible", "unknown to the driver"),
    "freed, and copied": (
        'm.free(); ask = lambda: lend.view(view, device="cpu")', "NotHostAccessible", "unknown to the driver"),
    "freed after the driver was asked": (
        'access(view); m.free(); ask = lambda: lend.view(view, device="cpu")', "LendError",
        "copying to the host failed: CUDA_ERROR_INVALID_VALUE (1)"),
    "longer than its allocation": (
        'long = lend.view(CudaArray(m, (1 << 20,), "|u1")); ask = lambda: lend.view(long, device="cpu")', "LendError",
        "CUDA_ERROR_INVALID_VALUE (1)"),
    "longer than its managed allocation": (
        'long = lend.view(CudaArray(Memory(FIRST, "managed"), (1 << 20,), "|u1")); ask = lambda: memoryview(long)',
        "NotHostAccessible", "beyond the allocation"),
    "to a device that is not there": (
        'ask = lambda: lend.view(np.arange(4), device="cuda:9")', "LendError", "CUDA_ERROR_INVALID_DEVICE (101)"),
    "from one device to another that is not there": (
        'ask = lambda: lend.view(view, device="cuda:9")', "LendError", "CUDA_ERROR_INVALID_DEVICE (101)"),
    "a device that is far too high": (
        'ask = lambda: lend.view(np.arange(4), device="cuda:9999")', "LendError", "CUDA_ERROR_INVALID_DEVICE (101)"),
    "its stream is destroyed": (
        'view = lend.view(cuda(Memory(FIRST, "managed"), stream=gone())); ask = lambda: memoryview(view)', "LendError",
        "CUDA_ERROR_INVALID_HANDLE (400)"),
    "its stream is destroyed, and it is copied": (
        'view = lend.view(cuda(m, stream=gone())); ask = lambda: lend.view(view, device="cpu")', "LendError",
        "CUDA_ERROR_INVALID_HANDLE (400)"),
    "its stream is destroyed, and it is handed on": (
        "view = lend.view(cuda(m, stream=gone())); ask = lambda: view.__dlpack__(stream=2)", "LendError",
        "CUDA_ERROR_INVALID_HANDLE (400)"),
    "the consumer's stream is destroyed": (
        "stream = gone(); ask = lambda: view.__dlpack__(stream=stream)", "LendError",
        "CUDA_ERROR_INVALID_HANDLE (400)"),
    "the consumer's stream is no handle": (
        "ask = lambda: view.__dlpack__(stream=-7)", "StreamError", "a stream is an integer handle"),
    "a mask": (
        'x = cuda(m, mask=CudaArray(Memory(b"1111"), (4,), "|b1")); ask = lambda: lend.view(x)', "UnsupportedType",
        "has a mask (nulls), which a View cannot carry"),
    "a mask, as bytes": (
        'x = cuda(m, mask=CudaArray(Memory(b"1111"), (4,), "|b1")); ask = lambda: lend.buffer(x)', "UnsupportedType",
        "has a mask (nulls), which a View cannot carry"),
    "no driver that has begun says so": (
        'fake.fail("cuPointerGetAttributes", 3); ask = lambda: lend.view(view, device="cpu")', "NotHostAccessible",
        "there is no driver in this process that could be asked"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_refused_and_nothing_is_left(case):
    ask, kind, words = BAD[case]
    snippet = f"""
m = Memory(FIRST)
view = lend.view(cuda(m, stream="own"))
{ask}
show(*refused(ask))
"""
    found_kind, text, left, context = found(snippet)
    assert found_kind == kind
    assert words in text
    assert (left, context) == ([0, 0, 0, 0], True)


def test_a_stream_of_another_context_is_ordered_after_the_work():
    snippet = """
m = Memory(FIRST)
m.fill(numbers([5, 6, 7, 8]))
with fake.on(1):
    other = fake.stream()
lend.view(cuda(m, stream="own")).__dlpack__(stream=other, max_version=(1, 1))
with fake.on(1):
    seen = fake.d2h(m.address, SIZE, other)
show(seen == numbers([5, 6, 7, 8]), fake.depth())
"""
    assert found(snippet) == [True, 1]


def test_a_dict_that_changes_between_reads_is_read_once():
    snippet = """
m, other = Memory(FIRST, "managed"), Memory(numbers([9, 9, 9, 9]), "managed")
x = cuda(m, stream=None)
view = lend.view(x)
x.facts = x.facts | {"shape": (1 << 40,), "data": (other.address, False), "typestr": "<f8", "stream": 0}
reads = x.reads
show(view.tolist(), view[1:].tolist(), lend.view(view, device="cuda:1").shape, x.reads - reads)
"""
    assert found(snippet) == [[1, 2, 3, 4], [2, 3, 4], [4], 0]


def test_a_dict_that_changes_while_it_is_read_is_no_other_dict():
    snippet = """
class Changing:
    reads = 0
    @property
    def __cuda_array_interface__(self):
        self.reads += 1
        return {"shape": (COUNT,) if self.reads == 1 else (1 << 40,), "typestr": "<u4", "version": 3, "stream": None,
                "data": (m.address, False)}
m = Memory(FIRST, "managed")
x = Changing()
show(lend.to(x, "numpy").tolist(), x.reads, lend.view(x).shape)
"""
    values, reads, _ = found(snippet)
    assert (values, reads) == ([1, 2, 3, 4], 1)


NUMBERS = {
    "read": 'lend.view(view, device="cpu")',
    "sent": 'lend.view(view, device="cuda:0")',
    "handed on": "view.__dlpack__(stream=1)",
    "looked at": "access(view)",
}


@pytest.mark.parametrize("asked", NUMBERS)
@pytest.mark.parametrize("number", [1, 7])
def test_memory_on_another_device_than_its_producer_says_is_refused(asked, number):
    snippet = f"""
m = Memory(FIRST)
view = lend.view(tensor(m, (CUDA, {number}), current=fake.stream()))
show(*refused(lambda: {NUMBERS[asked]}))
"""
    kind, text, left, context = found(snippet)
    assert kind == "MalformedDescriptor"
    assert f"its producer says that it is on cuda:{number}, and the driver that it is on device 0" in text
    assert (left, context) == ([0, 0, 0, 0], True)
