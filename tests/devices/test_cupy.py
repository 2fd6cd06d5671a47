"""CuPy itself, its ROCm build over the double of HIP, where one is installed (`make test-gpu-double`).

No kernel runs there: arrays are made and changed by copies. Tests that name a version of CuPy say what it does wrong.
"""

import json

import pytest

from support import fakecuda
from support.fakecuda import for_cupy

START = """
import gc, json
import cupy, cupyx, numpy as np
from support.fakecuda import fake, rocm
from support import counting, host_exports
from support.host_exports import numbers
import lend
from lend.devices.access import access
from lend.errors import LendError, NotHostAccessible
host_exports.context = rocm.current_device
host_exports.BEGINNING = ()
FIRST, NEXT = np.arange(1, 5, dtype="u4"), np.arange(5, 9, dtype="u4")
def array(values=FIRST, allocator=None):
    with cupy.cuda.using_allocator(allocator or cupy.get_default_memory_pool().malloc):
        return cupy.asarray(values)
def later(x, values, stream):
    "Queue other values for an array: by a copy from the device, for which nobody waits."
    values = np.frombuffer(values, x.dtype) if isinstance(values, bytes) else values
    source = array(values)
    x.data.copy_from_device_async(source.data, x.nbytes, stream)
    kept.append(source)
kept = []
stream = cupy.cuda.Stream(non_blocking=True)
managed = cupy.cuda.malloc_managed
pooled = cupy.cuda.MemoryPool(managed).malloc
def refusal(call):
    try: call()
    except Exception as error: return type(error).__name__
    return "done"
def show(*found):
    print(json.dumps(found))
"""
# its own warnings are none of lend's
OPTIONS = ("-W", "ignore")


def found(snippet, **keywords):
    return json.loads(fakecuda.run_clean(START + snippet, hip="cupy", options=OPTIONS, **keywords))


def test_device_memory_is_refused_by_every_export_of_the_host():
    # reports 1 and 22: memmove of a device's address, and NumPy reading raw memory of a GPU
    snippet = """
x = array()
with stream:
    came = host_exports.told(host_exports.tried(host_exports.VIEW, lambda: lend.view(x), lambda data: None))
show(access(lend.view(x)).name, came, refusal(lambda: memoryview(x)), refusal(lambda: np.array(lend.view(x))))
"""
    hidden = {"__array_interface__": "hidden", "__array_struct__": "hidden"}
    assert found(snippet) == ["device", ["refused", hidden], "TypeError", "NotHostAccessible"]


@pytest.mark.parametrize("allocator", ["managed", "pooled"])
def test_managed_memory_is_read_in_place_after_its_work_by_every_export(allocator):
    # report 18: an export to the host without a wait
    snippet = f"""
x = array(allocator={allocator})
def begin(data):
    later(x, data, stream)
    fake.reset()
with stream:
    came = host_exports.told(host_exports.tried(host_exports.VIEW, lambda: lend.view(x), begin))
show(access(lend.view(x)).name, came, np.asarray(lend.view(x)).ctypes.data == x.data.ptr)
"""
    assert found(snippet) == ["ROCm managed", ["right", {}], True]


def test_work_on_another_stream_than_the_current_one_is_the_callers_to_tell():
    snippet = """
x = array(allocator=managed)
later(x, NEXT, stream)
unordered = lend.view(x).tolist()
show(unordered, lend.to(x, list, device="cpu", sync="device"))
"""
    assert found(snippet) == [[1, 2, 3, 4], [5, 6, 7, 8]]


LAYOUTS = ["[:]", "[1]", "[::-1, ::2]", ".T", "[:, 1:3]", "[::2, ::3].T"]


def test_it_comes_to_the_host_by_name_in_any_layout_after_its_work():
    snippet = f"""
host = np.arange(24, dtype="f4").reshape(4, 6)
x = array(host)
wrong = []
for layout in {LAYOUTS!r}:
    here = lend.to(eval("x" + layout), "numpy", device="cpu")
    part = lend.view(eval("lend.view(x)" + layout), device="cpu")
    if not (here == eval("host" + layout)).all() or part.tolist() != here.tolist():
        wrong.append(layout)
y = array()
with stream:
    later(y, NEXT, stream)
    last = lend.to(y, "numpy", device="cpu").tolist()
show(wrong, last, refusal(lambda: lend.to(x, "numpy")))
"""
    assert found(snippet) == [[], [5, 6, 7, 8], "NotHostAccessible"]


def test_memory_of_the_host_goes_there_and_cupy_takes_it():
    snippet = """
values = np.arange(24, dtype="f4").reshape(4, 6)
rows = [lend.to(values, cupy.from_dlpack, device="rocm:0"), cupy.from_dlpack(lend.view(values, device="rocm:0")),
        cupy.asarray(lend.view(values[:, ::2], device="rocm:0"))]
wanted = (values, values, values[:, ::2])
show([type(x).__name__ for x in rows], [(x.get() == y).all().item() for x, y in zip(rows, wanted)])
"""
    assert found(snippet) == [["ndarray"] * 3, [True] * 3]


def test_cupy_takes_views_at_the_same_address_by_dlpack_and_by_the_interface():
    snippet = """
rows = []
for allocator in (None, managed):
    x = array(np.arange(12, dtype="f4").reshape(3, 4), allocator)
    part = lend.view(x)[1:, ::2]
    for made in (cupy.from_dlpack(part), cupy.asarray(part)):
        values = lend.view(made, device="cpu").tolist()     # CuPy's own way needs a kernel
        rows.append([made.data.ptr - x.data.ptr, list(made.strides), values])
show(*rows)
"""
    assert found(snippet) == [[16, [16, 8], [[4, 6], [8, 10]]]] * 4


def test_the_work_of_the_producer_comes_before_that_of_a_stream_of_cupys():
    snippet = """
x, other = array(), cupy.cuda.Stream(non_blocking=True)
with stream:
    later(x, NEXT, stream)
    view = lend.view(x)
    capsule = view.__dlpack__(stream=other.ptr, max_version=(1, 0))
show(rocm.read_on(x.data.ptr, 16, other.ptr) == NEXT.tobytes(),
     [refusal(lambda: view.__dlpack__(stream=each)) for each in (1, 2)])
"""
    assert found(snippet) == [True, ["StreamError"] * 2]


def test_its_memory_goes_back_to_its_pool_after_the_stream_that_it_was_lent_to():
    snippet = """
from lend.devices import parking
x, other = array(), cupy.cuda.Stream(non_blocking=True)
place = x.data.ptr
view = lend.view(x)
view.__dlpack__(stream=other.ptr, max_version=(1, 0))
rocm.copy(place, place, 16, other.ptr)
del view, x
gc.collect()
early = array()
parked = parking.waiting()
other.synchronize()
show(early.data.ptr == place, parked, parking.waiting(), array().data.ptr == place)
"""
    assert found(snippet) == [False, 1, 0, True]


def test_size_0_is_empty_with_its_device_and_asks_for_nothing():
    # report 6
    snippet = """
x = cupy.ndarray((0, 3), "f4")
view = lend.view(x)
fake.reset()
came = [view.tolist(), list(np.asarray(view).shape), bytes(memoryview(view)) == b"", str(view.device)]
show(came, fake.calls("hipPointerGetAttributes"), cupy.from_dlpack(view).shape, cupy.asarray(view).shape)
"""
    assert found(snippet) == [[[], [0, 3], True, "rocm:0"], 0, [0, 3], [0, 3]]


def test_pinned_memory_is_an_array_of_numpys():
    # report 9
    snippet = """
x = cupyx.empty_pinned((4,), "u4")
x[:] = FIRST
view = lend.view(x)
show(type(x).__name__, str(view.device), view.tolist(), np.asarray(view).ctypes.data == x.ctypes.data)
"""
    assert found(snippet) == ["ndarray", "cpu", [1, 2, 3, 4], True]


def test_managed_memory_says_rocm_and_is_found_by_the_pointer():
    # report 9: there is no code for managed memory of ROCm
    snippet = """
x = array(allocator=managed)
show([int(each) for each in x.__dlpack_device__()], access(lend.view(x)[2:]).name, lend.view(x)[2:].tolist())
"""
    assert found(snippet) == [[10, 0], "ROCm managed", [3, 4]]


def test_every_name_that_check_on_gpu_uses_is_one_of_cupys():
    from devices.test_check_on_gpu import names_used

    dotted, methods = names_used("cupy")
    snippet = f"""
lacks = []
for name in {sorted(dotted)!r}:
    here = cupy
    for part in name.split(".")[1:]:
        here = getattr(here, part, None)
    if here is None: lacks.append(name)
objects = {{*dir(cupy.ndarray), *dir(cupy.cuda.Stream), *dir(cupy.cuda.Device), *dir(cupy.cuda.MemoryPointer),
           *dir(cupy.cuda.MemoryPool), *dir(bytes), *dir(np.ndarray), *dir(dict)}}
show(lacks, sorted(set({sorted(methods)!r}) - objects))
"""
    assert found(snippet) == [[], []]


# -- what CuPy does wrong --------------------------------------------------------------------------------------------


@pytest.mark.skipif(for_cupy.version() not in (None, "14.2.0"), reason="seen with CuPy 14.2.0")
def test_cupy_14_2_0_takes_read_only_memory_for_writable():
    snippet = """
sealed = lend.view(array(), writable=False)
by_dlpack, by_interface = cupy.from_dlpack(sealed), cupy.asarray(sealed)
show([sealed.readonly, lend.view(sealed.__dlpack__(max_version=(1, 0))).readonly,
      sealed.__cuda_array_interface__["data"][1]],
     [lend.view(by_dlpack).readonly, lend.view(by_interface).readonly], refusal(lambda: sealed.__dlpack__()))
"""
    # lend says so at every hop; CuPy reads it nowhere
    assert found(snippet) == [[True] * 3, [False] * 2, "ReadOnlyMemory"]


@pytest.mark.skipif(for_cupy.version() not in (None, "14.2.0"), reason="seen with CuPy 14.2.0")
def test_cupy_14_2_0_shows_managed_memory_by_no_buffer_on_rocm_and_lend_does():
    snippet = """
x = array(allocator=managed)
show(refusal(lambda: memoryview(x)), memoryview(lend.view(x)).tolist())
"""
    assert found(snippet) == ["TypeError", [1, 2, 3, 4]]
