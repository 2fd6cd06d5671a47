"""numba-cuda as it is published, over the double: its arrays lent, and Views as its arrays; counted copies.

numba takes a second to start, so one child for each model does all of it and tells what it found.
"""

import functools
import importlib.metadata
import json

import pytest

from support import fakecuda

pytest.importorskip("numpy")

CHILD = """
import gc, json, warnings
from support.fakecuda import fake
warnings.simplefilter("ignore")
import numpy as np
from numba import cuda
import lend
from lend.devices import parking
from support.fakecuda.described import CudaArray, Memory

def address(array):
    return array.__cuda_array_interface__["data"][0]
def refused(call):
    try:
        return repr(call())
    except lend.errors.LendError as refusal:
        return type(refusal).__name__
def handle(stream):
    return int(getattr(stream.handle, "value", stream.handle))

a = np.arange(1, 13, dtype="f4").reshape(3, 4)
facts = {}

d = cuda.to_device(a)
fake.reset()
view = lend.view(d)
facts["refused"] = [refused(call) for call in (
    lambda: memoryview(view), lambda: np.asarray(view), view.tolist,
    lambda: lend.to(d, "numpy"), lambda: lend.to(d, "memoryview"),
)]
facts["refused without a copy"] = fake.copies()
with lend.copies() as made:
    facts["copied by name"] = lend.to(d, "numpy", device="cpu").tolist() == a.tolist()
facts["one call"] = [fake.copies(), made.bytes]

wrong = []
for key in ((slice(1, None),), (slice(None), slice(None, None, 2)), (1,), (slice(None), 2), (slice(1, 1),)):
    part, wanted = d[key], a[key]
    seen = lend.view(part)
    if seen.strides != wanted.strides or seen.shape != wanted.shape:
        wrong.append(str(key))
    if wanted.size and seen.ptr != view.ptr + (wanted.ctypes.data - a.ctypes.data):
        wrong.append(f"{key}: place")
    if lend.to(part, "numpy", device="cpu").tolist() != wanted.tolist():
        wrong.append(f"{key}: values")
facts["wrong slices"] = wrong
for name, turned in (("transposed", view.T), ("of Fortran's order", cuda.to_device(np.asfortranarray(a.T)))):
    facts[name] = [lend.view(turned).strides, lend.to(turned, "numpy", device="cpu").tolist() == a.T.tolist()]

records = np.array([(1, 2.5), (3, 4.5)], dtype=[("n", "i4"), ("x", "f8")])
came = lend.to(cuda.to_device(records), "numpy", device="cpu")
facts["records"] = [str(came.dtype), came.view(records.dtype).tolist() == records.tolist()]

stream, source = cuda.stream(), cuda.to_device(a)
written = cuda.device_array(a.shape, a.dtype, stream=stream)
written.copy_to_device(source, stream=stream)
pending = fake.pending(handle(stream))
facts["written on a stream"] = [pending, lend.to(written, "numpy", device="cpu").tolist() == a.tolist()]

facts["in place"] = {}
for name, make in (("managed", cuda.managed_array), ("pinned", cuda.pinned_array), ("mapped", cuda.mapped_array)):
    there = make(a.shape, a.dtype)
    if not (name == "managed" and IDLE):
        there[:] = a
    fake.reset()
    array = np.asarray(lend.view(there))
    handed = lend.to(there, "numpy")
    facts["in place"][name] = [array.ctypes.data == handed.ctypes.data == there.ctypes.data,
                               array.tolist() == a.tolist(), array.flags.writeable, fake.copies()]

facts["written while it is lent"] = {}
for name, make in (("managed", cuda.managed_array), ("mapped", cuda.mapped_array)):
    seen = []
    for read in (lambda x: np.asarray(lend.view(x)), lambda x: lend.to(x, "numpy"), lambda x: lend.view(x),
                 lambda x: lend.to(x, "memoryview")):
        busy = cuda.stream()
        there = make(a.shape, a.dtype, stream=busy)
        fake.memset_async(address(there), 7, there.nbytes, handle(busy))
        seen.append(bytes(read(there)) == bytes([7]) * there.nbytes)
    facts["written while it is lent"][name] = seen

fake.reset()
part = lend.view(d)[1:, ::2]
taken = cuda.as_cuda_array(part)
facts["taken by numba"] = [address(taken) - address(d), taken.strides, taken.shape, fake.copies()]
facts["its values"] = cuda.as_cuda_array(lend.view(d)[1:]).copy_to_host().tolist() == a[1:].tolist()

m = Memory(a.tobytes(), pending=True)
before = m.is_ready
taken = cuda.as_cuda_array(lend.view(CudaArray(m, a.shape, stream="own")))
facts["after the producer"] = [before, m.is_ready, taken.copy_to_host().tolist() == a.tolist()]

made = lend.view(a, device="cuda:0")
facts["a copy of lend's"] = cuda.as_cuda_array(made).copy_to_host().tolist() == a.tolist()

def live():
    cuda.synchronize()      # what was handed to a stream goes when that is done
    gc.collect()
    parking.waiting()
    return fake.live()
del made, taken
before = live()
made = cuda.as_cuda_array(lend.view(a, device="cuda:0"))
held = live() - before
del made
facts["lives as long as numba's array"] = [held, live() - before]

lent = lend.view(cuda.to_device(a))
gc.collect()
facts["lives as long as the View"] = lend.to(lent, "numpy", device="cpu").tolist() == a.tolist()
facts["context"] = fake.depth()
print(json.dumps(facts))
"""


@functools.cache
def found(model="discrete"):
    try:
        importlib.metadata.version("numba-cuda")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("numba-cuda is not installed")
    return json.loads(fakecuda.run_clean(f"IDLE = {model == 'jetson'}\n" + CHILD, model=model, options=()))


MODELS = ["discrete", "ats"]


@pytest.mark.parametrize("model", MODELS)
def test_an_array_of_the_device_is_refused_to_the_host_and_nothing_copied(model):
    assert found(model)["refused"] == ["NotHostAccessible"] * 5
    assert found(model)["refused without a copy"] == 0


@pytest.mark.parametrize("model", MODELS)
def test_it_is_copied_by_name_in_one_call(model):
    assert found(model)["copied by name"]
    assert found(model)["one call"] == [1, 48]


def test_slices_lie_where_numpy_has_them_and_come_over_with_their_values():
    assert found()["wrong slices"] == []
    assert found()["transposed"] == found()["of Fortran's order"] == [[4, 16], True]


def test_records_come_over_as_the_bytes_that_numba_says_they_are():
    assert found()["records"] == ["|V12", True]


def test_the_stream_that_an_array_tells_is_waited_for():
    assert found()["written on a stream"] == [True, True]


@pytest.mark.parametrize("kind", ["managed", "pinned", "mapped"])
@pytest.mark.parametrize("model", MODELS)
def test_memory_that_the_host_may_read_is_read_in_place(model, kind):
    assert found(model)["in place"][kind] == [True, True, True, 0]


def test_numba_takes_a_part_of_a_view_as_it_lies():
    assert found()["taken by numba"] == [16, [16, 8], [2, 2], 0]
    assert found()["its values"]


def test_numba_takes_a_view_after_the_work_of_its_producer():
    assert found()["after the producer"] == [False, True, True]


def test_numba_takes_a_copy_of_lends_on_the_device():
    assert found()["a copy of lend's"]


def test_memory_lives_as_long_as_what_was_made_of_it_and_no_longer():
    assert found()["lives as long as numba's array"] == [1, 0]
    assert found()["lives as long as the View"]


@pytest.mark.parametrize("model", [*MODELS, "jetson"])
@pytest.mark.parametrize("kind", ["managed", "mapped"])
def test_an_ndarray_that_a_stream_still_writes_is_read_when_that_is_done(kind, model):
    assert found(model)["written while it is lent"][kind] == [True] * 4
