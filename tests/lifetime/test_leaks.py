"""Nothing grows with the number of calls: the resident size is flat (LIFE-14)."""

import gc
import struct
import sys
import weakref

import pytest

import lend
from lend.errors import LendError
from support import counting
from support.counting import CountingBuffer, CountingDLPack, CountingExchange
from support.device_producers import CudaInterface, SyclInterface
from support.producers import ArrayInterface

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the resident size is read from /proc")

FLOATS = struct.pack("4f", 0.0, 1.0, 2.0, 3.0)
KIB_ALLOWED = 300


def resident_kib():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4


def growth(work, rounds):
    for _ in range(rounds // 4):
        work()
    gc.collect()
    before = resident_kib()
    for _ in range(rounds):
        work()
    gc.collect()
    return resident_kib() - before


EXPORTER = CountingBuffer(FLOATS, format="f", itemsize=4, poison=False)
DEEP = CountingBuffer(FLOATS, format="f", itemsize=4, shape=(1,) * 20 + (4,), poison=False)
TENSORS = CountingDLPack(FLOATS, (4,), poison=False, quarantine=False)
TABLE = CountingExchange(FLOATS, (4,), poison=False, quarantine=False)
INTERFACE = ArrayInterface(FLOATS, (4,), "<f4")
CUDA, SYCL = CudaInterface(stream=2**40), SyclInterface(strides=(-3, 1), syclobj=object())
MASKED = CudaInterface(mask=1)


def refused(**keywords):
    try:
        lend.view(EXPORTER, **keywords)
    except LendError:
        pass


WORK = {
    "views": lambda view: lend.view(EXPORTER),
    "views of many dimensions": lambda view: lend.view(DEEP)[0],
    "buffers": lambda view: lend.buffer(EXPORTER),
    "tensors": lambda view: lend.view(TENSORS),
    "exchanged tensors": lambda view: lend.view(TABLE),
    "array interfaces": lambda view: lend.view(INTERFACE),
    "CUDA interfaces": lambda view: lend.view(CUDA)[::-1].__cuda_array_interface__,
    "SYCL interfaces": lambda view: lend.view(SYCL)[::-1].__sycl_usm_array_interface__,
    "slices": lambda view: view[1:],
    "owners": lambda view: lend.view(EXPORTER).owner,
    "copies": lambda view: view.copy(),
    "py_buffers": lambda view: memoryview(view).release(),
    "py_buffers without a format": lambda view: counting.getbuffer(view, counting.STRIDES),
    "capsules dropped": lambda view: view.__dlpack__(max_version=(1, 3)),
    "capsules consumed": lambda view: counting.consume(view.__dlpack__(max_version=(1, 3))).delete(),
    "legacy capsules": lambda view: view.__dlpack__(),
    "exchanges": lambda view: counting.exchange_take(view).delete(),
    "interface dicts": lambda view: view.__array_interface__,
    "array structs": lambda view: view.__array_struct__,
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_the_resident_size_is_flat_over_many(work):
    view = lend.view(memoryview(bytearray(FLOATS)).cast("f"))
    assert growth(lambda: work(view), 20_000) < KIB_ALLOWED


def masked():
    try:
        lend.view(MASKED)
    except LendError:
        pass


def test_the_resident_size_is_flat_over_many_refused_interfaces():
    assert growth(masked, 4_000) < KIB_ALLOWED


@pytest.mark.parametrize("keywords", [{"dtype": "int8"}, {"ndim": 5}, {"align": 1 << 40}], ids=str)
def test_the_resident_size_is_flat_over_many_refusals(keywords):
    assert growth(lambda: refused(**keywords), 4_000) < KIB_ALLOWED


def test_the_resident_size_is_flat_over_many_types():
    def work():
        kind = type("Exporter", (CountingBuffer,), {})
        lend.view(kind(FLOATS))

    assert growth(work, 2_000) < 3_000
    assert EXPORTER.audit() == []


def test_the_cache_of_types_keeps_a_bounded_number_of_them():
    def meet():
        kind = type("Bounded", (CountingBuffer,), {})
        lend.view(kind(FLOATS))
        return weakref.ref(kind)

    met = [meet() for _ in range(600)]
    gc.collect()
    assert sum(kind() is not None for kind in met) <= 256


def test_a_type_that_was_refused_is_not_kept():
    kind = type("Refused", (), {})
    with pytest.raises(LendError):
        lend.view(kind())
    gone = weakref.ref(kind)
    del kind
    gc.collect()
    assert gone() is None
