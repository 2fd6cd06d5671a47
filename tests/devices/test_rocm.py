"""Memory of ROCm over the double of HIP: every kind, its streams, copies both ways, and the driver left as found."""

import json

import pytest

from support import fakecuda

START = """
import ctypes, gc, json, os, sys
import numpy as np
from support.fakecuda import fake, rocm
from support.fakecuda.rocm import CPU, ROCM, ROCM_HOST, Described, Memory, Tensor
from support import counting, host_exports
from support.host_exports import numbers
import lend
from lend.devices.access import access
from lend.errors import LendError, NotHostAccessible, StreamError
FIRST, NEXT = numbers([1, 2, 3, 4]), numbers([5, 6, 7, 8])
host_exports.context = rocm.current_device     # HIP has a current device, and no stack of contexts
host_exports.BEGINNING = ()                    # its runtime begins by itself
def says(obj):
    made = access(lend.view(obj))
    return [made.name, made.host, made.wait]
def outcomes(take, fill):
    return host_exports.told(host_exports.tried(host_exports.VIEW, take, fill))
def refusal(call):
    try: return repr(call())
    except LendError as error: return type(error).__name__
def show(*found):
    print(json.dumps(found))
"""
RELEASES = pytest.mark.parametrize("release", [5, 6, 7])
HIDDEN = {"__array_interface__": "hidden", "__array_struct__": "hidden"}


def found(snippet, **keywords):
    return json.loads(fakecuda.run_clean(START + snippet, **{"hip": 6} | keywords))


ROWS = {
    "device": (10, ["device", False, "producer"]),
    "pinned": (11, ["ROCm pinned", True, "producer"]),
    "registered": (11, ["ROCm pinned", True, "producer"]),
    "managed": (10, ["ROCm managed", True, "producer"]),
}


@RELEASES
@pytest.mark.parametrize("kind", ROWS)
def test_each_kind_is_refused_or_read_after_its_work_by_every_export(kind, release):
    code, row = ROWS[kind]
    snippet = f"""
m = Memory(FIRST, "{kind}")
obj = Tensor(m, {code})
m.fill(NEXT)
show(says(obj), outcomes(lambda: lend.view(obj), m.fill))
"""
    came = ["right", {}] if row[1] else ["refused", HIDDEN]
    assert found(snippet, hip=release) == [row, came]


@RELEASES
@pytest.mark.parametrize("kind", ["pinned", "managed", "registered"])
def test_a_part_of_it_is_read_where_it_lies(kind, release):
    snippet = f"""
m = Memory(FIRST, "{kind}")
obj = Tensor(m, {ROWS[kind][0]})
m.fill(NEXT)
part = np.asarray(lend.view(obj)[1::2])
show(part.tolist(), part.ctypes.data - m.address, fake.copies())
"""
    assert found(snippet, hip=release) == [[6, 8], 4, 1]


@RELEASES
def test_the_devices_address_of_pinned_memory_is_read_at_the_one_for_the_host(release):
    snippet = """
m = Memory(FIRST, "alias")
obj = Tensor(m)
view = lend.view(obj)
m.fill(NEXT)
array = np.asarray(view)
show(says(obj), array.tolist(), array.ctypes.data == m.host != m.address == view.ptr)
"""
    row = ["the device's address of pinned memory", True, "producer"]
    assert found(snippet, hip=release, register_disjoint=1) == [row, [5, 6, 7, 8], True]


@RELEASES
def test_memory_of_malloc_is_the_hosts_also_where_devices_reach_it(release):
    # with XNACK a device reads it, too; its producer says that it is the host's
    snippet = """
array = np.arange(4, dtype="u4")
m = Memory(FIRST)
m.fill(NEXT)
fake.reset()
pages = counting.CountingDLPack(FIRST, (4,), dtype=(1, 32, 1), device=(CPU, 0))
show([lend.view(array).tolist(), lend.view(pages).tolist(), np.asarray(lend.view(array)).ctypes.data
      == array.ctypes.data], fake.all_calls(), fake.pending())
"""
    assert found(snippet, hip=release) == [[[0, 1, 2, 3], [1, 2, 3, 4], True], 0, True]


UNKNOWN = [(5, {}), (6, {}), (6, {"fakehip_unknown": 0}), (7, {}), (7, {"fakehip_unknown": 1})]


@pytest.mark.parametrize(("release", "knobs"), UNKNOWN)
def test_what_hip_does_not_know_is_refused_whether_it_says_so_by_an_error_or_not(release, knobs):
    snippet = """
fake.ok("hipInit", 0)
pages, freed = Memory(FIRST, "pages"), Memory(FIRST)
fake.ok("hipFree", fake.PTR(freed.address))
for m in (pages, freed):
    view = lend.view(Tensor(m))
    copied = refusal(lambda: lend.view(view, device="cpu"))
    print(access(view).name, "|", refusal(lambda: memoryview(view)), "|", copied)
"""
    told = fakecuda.run_clean(START + snippet, hip=release, **knobs)
    assert told.splitlines() == ["unknown to the driver | NotHostAccessible | NotHostAccessible"] * 2


@pytest.mark.parametrize(("release", "knobs"), UNKNOWN)
@pytest.mark.parametrize("before", [0, 1])
def test_the_last_error_of_hip_is_left_as_it_was(release, knobs, before):
    snippet = f"""
pages, m = Memory(FIRST, "pages"), Memory(FIRST)
view = lend.view(Tensor(pages))
if {before}:
    fake.rc("hipSetDevice", 77)
was = rocm.last_error()
access(view)
now = rocm.last_error()
view = lend.view(Tensor(m))
busy = rocm.stream()
view.__dlpack__(stream=busy, max_version=(1, 0))
rocm.copy(m.address, m.address, 4, busy)
del view
from lend.devices import parking
parked = parking.waiting()     # asks its event, which is not done
show(was, now, parked, rocm.last_error() in (0, was))
"""
    was, now, parked, clean = found(snippet, hip=release, **knobs)
    # an error that waits for somebody stays one, unless the answer is a success, with which these releases begin anew
    failing = knobs.get("fakehip_unknown", release < 7)
    assert (bool(now), bool(was), parked, clean) == (bool(before and failing), bool(before), 1, True)


def test_no_bytes_ask_for_nothing():
    snippet = """
m = Memory(b"")
fake.reset()
for code in (ROCM, ROCM_HOST):
    view = lend.view(Tensor(m, code, (2, 0)))
    assert (view.tolist(), bytes(memoryview(view)), view.device.type) == ([[], []], b"", code)
show(fake.all_calls())
"""
    assert found(snippet) == [0]


def test_read_only_is_kept():
    snippet = """
for kind, code in (("managed", ROCM), ("pinned", ROCM_HOST)):
    view = lend.view(Tensor(Memory(FIRST, kind), code, flags=counting.READ_ONLY))
    assert view.readonly and memoryview(view).readonly and not np.asarray(view).flags.writeable
    assert lend.view(view.__dlpack__(max_version=(1, 0))).readonly
    try: view.__dlpack__()
    except BufferError: print("refused")
"""
    assert fakecuda.run_clean(START + snippet, hip=6).split() == ["refused"] * 2


# -- the library -----------------------------------------------------------------------------------------------------


def test_hip_is_not_loaded_to_be_asked():
    snippet = """
import lend
from support import counting
view = lend.view(counting.CountingDLPack(16, (4,), device=(10, 0), data=4096))
for call in (view.tolist, lambda: lend.view(view, device="cpu"), lambda: lend.view(b"1234", device="rocm:0")):
    try: call()
    except lend.errors.LendError as refused: print("no driver" in str(refused), "by its producer" in str(refused))
print(any("libamdhip64" in line for line in open("/proc/self/maps")))
"""
    told = fakecuda.run_clean(snippet, hip=6, load=False)
    assert told.splitlines() == ["True False", "False True", "True False", "False"]


@RELEASES
def test_hip_is_found_when_it_is_loaded_later(release):
    snippet = """
import lend
from support import counting
from lend.devices.access import access
view = lend.view(counting.CountingDLPack(16, (4,), device=(10, 0), data=4096))
before = access(view).name
from support.fakecuda import fake, rocm
print(before, "|", access(lend.view(rocm.Tensor(rocm.Memory(bytes(16))))).name)
"""
    assert fakecuda.run_clean(snippet, hip=release, load=False) == "device, as told | device\n"


def test_in_a_forked_child_hip_is_not_asked():
    snippet = """
views = [lend.view(Tensor(Memory(FIRST, kind))) for kind in ("device", "managed")]
before = [access(view).name for view in views]
sys.stdout.flush()
child = os.fork()
if child == 0:
    try:
        fake.reset()
        show(before, [access(view).name for view in views], [refusal(lambda: memoryview(view)) for view in views],
             fake.all_calls())
        sys.stdout.flush()
    finally:
        os._exit(0)
os.waitpid(child, 0)
"""
    before, after, refused, calls = found(snippet, fork="share")  # where it would answer, too
    assert before == ["device", "ROCm managed"]
    assert (after, refused, calls) == (["device, as told"] * 2, ["NotHostAccessible"] * 2, 0)


# -- streams ---------------------------------------------------------------------------------------------------------


@RELEASES
@pytest.mark.parametrize("stream", ["None", "0", "rocm.stream()"])
@pytest.mark.parametrize("kind", ["device", "managed"])
def test_the_work_of_the_producer_comes_before_that_of_the_consumers_stream(stream, kind, release):
    snippet = f"""
m = Memory(FIRST, "{kind}")
view, stream = lend.view(Tensor(m)), {stream}
m.fill(NEXT)
capsule = view.__dlpack__(stream=stream, max_version=(1, 0))
show(rocm.read_on(m.address, 16, stream) == NEXT)
"""
    assert found(snippet, hip=release) == [True]


@pytest.mark.parametrize("stream", [1, 2, -2, True, "default"])
def test_streams_that_mean_nothing_on_rocm_are_refused_and_nothing_waits(stream):
    snippet = f"""
m = Memory(FIRST)
view = lend.view(Tensor(m))
m.fill(NEXT)
show(refusal(lambda: view.__dlpack__(stream={stream!r}, max_version=(1, 0))), fake.pending())
"""
    assert found(snippet) == ["StreamError", True]


def test_minus_1_orders_nothing():
    snippet = """
m = Memory(FIRST)
view = lend.view(Tensor(m))
m.fill(NEXT)
capsule, other = view.__dlpack__(stream=-1, max_version=(1, 0)), rocm.stream()
show(rocm.read_on(m.address, 16, other) == FIRST)
"""
    assert found(snippet) == [True]


@RELEASES
def test_the_legacy_stream_of_an_interface_is_hips_default_one(release):
    snippet = """
rows = []
for stream in (1, "own"):
    m = Memory(FIRST, "managed")
    if stream == 1:
        m.stream = None
    m.fill(NEXT)
    view = lend.view(Described(m, stream if stream == 1 else m.stream))
    rows.append([str(view.device), view.tolist()])
m = Memory(FIRST)
m.stream = None
m.fill(NEXT)
show(rows, lend.to(Described(m, 1), "numpy", device="cpu").tolist())
"""
    assert found(snippet, hip=release) == [[["rocm:0", [5, 6, 7, 8]]] * 2, [5, 6, 7, 8]]


@RELEASES
def test_libraries_of_rocm_are_shown_the_array_interface_when_the_work_is_done(release):
    # CuPy's and torch's builds look for nothing else; HIP has no number for its default stream
    snippet = """
rows = []
for kind, code in (("device", ROCM), ("managed", ROCM), ("pinned", ROCM_HOST)):
    m = Memory(FIRST, kind)
    view = lend.view(Tensor(m, code))
    m.fill(NEXT)
    told = view[1:].__cuda_array_interface__
    rows.append([told["data"][0] - m.address, told["data"][1], told["stream"], told["version"], fake.pending()])
    again = lend.view(Described(m, None))
show(rows, lend.view(Tensor(Memory(FIRST), flags=counting.READ_ONLY)).__cuda_array_interface__["data"][1])
"""
    assert found(snippet, hip=release) == [[[4, False, None, 3, False]] * 3, True]


def test_a_lease_shown_by_it_goes_back_after_the_work_of_the_default_stream():
    snippet = """
from lend.devices import parking
m = Memory(FIRST)
obj = Tensor(m)
view = lend.view(obj)
view.__cuda_array_interface__
rocm.copy(m.address, m.address, 16, None)
del view
gc.collect()
parked = parking.waiting()
fake.ok("hipStreamSynchronize", fake.PTR(None))
show(parked, parking.waiting(), obj.audit())
"""
    assert found(snippet) == [1, 0, []]


def test_it_is_hidden_where_the_address_might_be_taken_for_one_of_cudas():
    # beside CUDA's driver, and where no HIP is loaded
    for keywords in ({"hip": 0}, {"hip": 6, "load": False}):
        snippet = """
import lend
from support import counting
view = lend.view(counting.CountingDLPack(16, (4,), device=(10, 0), data=4096))
print(hasattr(view, "__cuda_array_interface__"))
"""
        assert fakecuda.run_clean(snippet, **keywords) == "False\n"


def test_a_capture_is_not_ended_and_sync_none_is_the_callers_word():
    snippet = """
m = Memory(FIRST, "managed")
view, graph = lend.view(Described(m, m.stream)), ctypes.c_void_p()
fake.ok("hipStreamBeginCapture", fake.PTR(m.stream), 0)
refused = refusal(lambda: memoryview(view))
values = lend.to(view, "numpy", sync="none").tolist()
fake.ok("hipStreamEndCapture", fake.PTR(m.stream), ctypes.byref(graph))
show(refused, values, bool(graph.value))
"""
    assert found(snippet) == ["StreamError", [1, 2, 3, 4], True]


@pytest.mark.parametrize("way", ["stream=busy", "release"])
def test_a_lease_goes_back_after_the_stream_that_it_was_handed_out_for(way):
    snippet = f"""
from lend.devices import parking
m, busy = Memory(FIRST), rocm.stream()
obj = Tensor(m)
view = lend.view(obj)
if {way == "release"}:
    view.owner
else:
    del [view.__dlpack__(stream=busy, max_version=(1, 0))][:]
rocm.copy(m.address, m.address, 16, busy)
if {way == "release"}:
    view.release(stream=busy)
del view
gc.collect()
held = obj.live
parked = parking.waiting()
fake.ok("hipStreamSynchronize", fake.PTR(busy))
after = parking.waiting()
show(held > 0, parked, after, obj.audit())
"""
    assert found(snippet) == [True, 1, 0, []]


# -- copies ----------------------------------------------------------------------------------------------------------

LAYOUTS = ["[:]", "[1]", "[:, ::2]", "[::-1]", ".T", "[:, 1:3].T", "[::2, ::3]"]


@RELEASES
def test_copies_are_made_by_hip_both_ways_in_any_layout_and_counted(release):
    snippet = f"""
a = np.arange(6 * 64, dtype="u4").reshape(6, 64)
there = lend.view(a, device="rocm:0")
assert str(there.device) == "rocm:0" and access(there).name == "device"
wrong = []
for layout in {LAYOUTS!r}:
    part, wanted = eval("there" + layout), eval("a" + layout)
    with lend.copies() as made:
        here = lend.to(part, "numpy", device="cpu")
    back = lend.view(lend.view(lend.view(wanted), device="rocm:1"), device="cpu")
    across = lend.view(lend.view(part, device="rocm:1"), device="cpu")
    if not ((here == wanted).all() and back.tolist() == across.tolist() == wanted.tolist()
            and made.bytes == wanted.nbytes):
        wrong.append(layout)
show(wrong, rocm.current_device())
"""
    assert found(snippet, hip=release) == [[], 0]


def test_pending_work_is_in_a_copy_and_the_plan_says_so():
    snippet = """
m = Memory(FIRST)
obj = Tensor(m)
m.fill(NEXT)
plan = lend.explain(obj, "numpy", device="cpu")
show(lend.to(obj, "numpy", device="cpu").tolist(), plan.bytes_copied, [step.who for step in plan.copies],
     [each for each in obj.asked if each.get("dl_device")])
"""
    assert found(snippet) == [[5, 6, 7, 8], 16, ["lend"], []]


def test_nothing_crosses_without_a_word_and_the_refusal_names_it():
    snippet = """
obj = Tensor(Memory(FIRST))
said = []
for options in ({}, {"copy": True}, {"device": "cpu", "copy": False}):
    try: lend.to(obj, "numpy", **options)
    except NotHostAccessible as refused: said.append('device="cpu"' in refused.remedy and "rocm:0" in str(refused))
show(said, fake.copies())
"""
    assert found(snippet) == [[True] * 3, 0]


def test_device_memory_that_the_host_sees_is_copied_by_name_or_read_where_it_is_signed_for():
    snippet = """
m = Memory(FIRST)
obj = Tensor(m)
m.fill(NEXT)
fake.reset()
signed = lend.to(obj, "numpy", device="cpu", copy=False)
show(says(obj), signed.tolist(), fake.copies(), lend.to(obj, "numpy", device="cpu").tolist(), fake.copies())
"""
    row = ["ROCm device, with an address for the host", None, "producer"]
    assert found(snippet, device_host_access=1) == [row, [5, 6, 7, 8], 0, [5, 6, 7, 8], 1]


def test_memory_of_lends_own_goes_with_its_last_holder():
    snippet = """
before = fake.live()
there = lend.view(np.zeros(1000), device="rocm:1")
part, live = there[10:20], fake.live() - before
del there
held = fake.live() - before
del part
gc.collect()
show(live, held, fake.live() - before)
"""
    assert found(snippet) == [1, 1, 0]


@pytest.mark.parametrize("call", ["hipMemcpyAsync", "hipStreamSynchronize", "hipMalloc", "hipPointerGetAttributes"])
def test_an_error_of_hip_is_told_by_its_name_and_leaves_device_and_memory_as_they_were(call):
    snippet = f"""
with_one = Memory(FIRST)
rocm.use(1)
m = Memory(FIRST)
rocm.use(0)
obj, live = Tensor(m), fake.live()
fake.fail("{call}", 719)
refused = []
for copy in (lambda: lend.view(obj, device="cpu"), lambda: lend.view(FIRST, device="rocm:1"),
             lambda: lend.view(obj, device="rocm:0")):
    try: copy()
    except LendError as error: refused.append("CUDA_ERROR_LAUNCH_FAILED (719)" in str(error))
fake.fail("{call}", 0, 0)
gc.collect()
show(set(refused) == {{True}}, rocm.current_device(), fake.live() - live)
"""
    assert found(snippet) == [True, 0, 0]


def test_a_device_that_is_not_there_is_refused_by_hips_error():
    snippet = """
fake.ok("hipInit", 0)
show(refusal(lambda: lend.view(FIRST, device="rocm:7")), rocm.current_device())
"""
    assert found(snippet) == ["LendError", 0]


def test_the_device_of_the_memory_is_made_current_for_its_wait_and_the_one_before_again():
    snippet = """
rocm.use(1)
m = Memory(FIRST, "managed")
rocm.use(0)
obj = Tensor(m)
m.fill(NEXT)
show(lend.view(obj).tolist(), str(lend.view(obj).device), rocm.current_device())
"""
    assert found(snippet) == [[5, 6, 7, 8], "rocm:1", 0]
