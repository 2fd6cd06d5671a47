"""Rows of the table that need a system or a producer of their own: aliases, what was freed, forks, ROCm, SYCL."""

import json

import pytest

from support import fakecuda

START = "from support.access_child import *\n"
HIDDEN = ["__array_interface__", "__array_struct__"]
REFUSED = [["refused"], HIDDEN]
SIGNED = ["to a callable on the cpu", "to numpy on the cpu, no copy", "view on the cpu, no copy"]


def found(snippet, **keywords):
    return json.loads(fakecuda.run_clean(START + snippet, **keywords))


def test_the_devices_address_of_registered_memory_is_read_at_the_one_for_the_host():
    snippet = """
fake.init()
m = Memory(FIRST, "alias")
view = lend.view(cuda(m, stream="own"))
at = access(view).address
show(says(cuda(m)), at == m.keeps.address != view.ptr, outcomes(lambda: lend.view(cuda(m, stream="own")), m.fill),
     outcomes(lambda: lend.view(tensor(m, (CUDA, 0))), m.fill), np.asarray(view).ctypes.data == at,
     lend.column(arrow(m, CUDA)).tolist() == list(struct.unpack("4I", m.now)))
"""
    right = [["right"], ["lend.h, asked afterwards"]]  # whose address is that of the device
    alias = ["the device's address of pinned memory", True, "producer"]
    assert found(snippet, register_disjoint=1) == [alias, True, right, right, True, True]


def test_device_memory_that_the_host_sees_is_read_where_that_is_signed_for():
    snippet = """
fake.init()
m = Memory(FIRST)
show(says(cuda(m)), outcomes(lambda: lend.view(cuda(m, stream="own")), m.fill))
"""
    row = ["device, with an address for the host", None, "producer"]
    assert found(snippet, device_host_access=1) == [row, [["refused"], HIDDEN + SIGNED]]


# where devices reach all memory, pages of managed memory that went look like any
FREED = [(model, kind) for model in ("discrete", "hmm", "ats", "jetson") for kind in ("device", "pool", "created")]
FREED += [("discrete", "managed"), ("jetson", "managed")]


@pytest.mark.parametrize(("model", "kind"), FREED)
def test_what_was_freed_is_refused_and_not_touched(model, kind):
    snippet = f"""
fake.init()
m = Memory(FIRST, "{kind}")
takes = [cuda(m), tensor(m, (CUDA, 0)), tensor(m, (CUDA_MANAGED, 0))]
views = [lend.view(each) for each in takes]
m.free()
show(*[[access(each).name, outcomes(lambda: each)] for each in views])
"""
    assert found(snippet, model=model) == [["unknown to the driver", REFUSED]] * 3


def test_of_no_bytes_nothing_is_asked_and_the_stale_address_is_not_told():
    snippet = """
fake.init()
m = Memory(FIRST)
stale = m.address
m.free()
fake.reset()
empty = {"data": (stale, False)}
views = [lend.view(CudaArray(m, (0, 3), "<u4", **empty)), lend.view(tensor(m, (CUDA, 1)))[:0],
         lend.view(Tensor(m, (2, 0), dtype=(1, 32, 1), device=(CUDA_MANAGED, 1), data=stale))]
for view in views:
    array = np.asarray(view)
    assert (array.shape, array.dtype, view.tolist()) == (view.shape, np.uint32, np.zeros(view.shape).tolist())
    assert bytes(memoryview(view)) == view.tobytes() == bytes(view.buffer) == b""
    assert view.__array_interface__["shape"] == view.shape and view.__array_interface__["data"][0] == 0
    assert np.asarray(host_exports.OfStruct(view)).shape == view.shape
    assert lend.to(view, "numpy").shape == view.copy().shape == view.shape
    assert host_exports.by_dlpack(view, dl_device=(1, 0)) == b""
    assert lend.explain(view, "numpy").bytes_copied == 0
interface = views[0].__cuda_array_interface__
show([access(view).name for view in views], interface["data"][0], [str(view.device) for view in views[1:]],
     fake.all_calls())
"""
    assert found(snippet) == [["empty"] * 3, 0, ["cuda:1", "cuda_managed:1"], 0]


def test_pages_of_the_host_by_a_bare_descriptor_are_read_where_that_is_signed_for():
    snippet = """
fake.init()
from support.access_rows import Pages
pages = Pages()
bare = lambda: lend.view(tensor(pages, (CUDA, 0)).__dlpack__(stream=-1, max_version=(1, 1)))
found = access(bare())
show([found.name, found.host, found.wait], outcomes(bare, pages.fill))
"""
    row = ["pages of the host, as a bare descriptor", None, "device"]
    assert found(snippet, model="hmm") == [row, [["refused"], HIDDEN + SIGNED]]


def test_memory_of_the_host_itself_is_no_devices_though_devices_reach_it():
    snippet = """
fake.init()
array = np.arange(4, dtype="u4")
fake.reset()
view = lend.view(array)
found = [access(view).name, view.tolist(), np.asarray(view).ctypes.data == array.ctypes.data]
show(found, fake.copies())
"""
    for model in ("discrete", "hmm", "ats", "jetson"):
        assert found(snippet, model=model) == [["host", [0, 1, 2, 3], True], 0]


def test_memory_that_reaches_beyond_its_allocation_is_refused():
    snippet = """
fake.init()
rows = []
for kind in ("managed", "pinned", "registered"):
    m = Memory(b"\1" * 4096, kind)
    m.size = SIZE
    beyond = CudaArray(m, (COUNT,), "<u4", offset=4096 - 8)
    rows.append([access(lend.view(beyond)).name, outcomes(lambda: lend.view(beyond))])
show(*rows)
"""
    assert found(snippet) == [["beyond its allocation", REFUSED]] * 3


# -- who lies, and who cannot be asked ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["device", "pool", "created"])
def test_who_calls_device_memory_the_hosts_is_refused_by_every_door(kind):
    # NumPy's arrays are not asked about: whoever made one of such memory has everybody crash
    snippet = f"""
fake.init()
m = Memory(FIRST, "{kind}")
lying = {{
    "a buffer": buffer_over(m.address, SIZE),
    "a part of one": buffer_over(m.address, SIZE)[4:8],
    "an interface": LyingInterface(m, (COUNT,), "<u4"),
    "a struct": LyingStruct(m, (COUNT,)),
    "DLPack": tensor(m, (CPU, 0)),
    "pinned, by DLPack": tensor(m, (CUDA_HOST, 0)),
    "ctypes": (ctypes.c_ubyte * SIZE).from_address(m.address),
}}
found = {{}}
for name, obj in lying.items():
    for take in (lend.view, lend.buffer, lambda x: lend.column(x).view(), lambda x: lend.to(x, "numpy")):
        try:
            memory = take(obj)
            memory.tobytes()
            found[name] = "read"
        except NotHostAccessible:
            found.setdefault(name, "refused")
show(found)
"""
    names = ["a buffer", "a part of one", "an interface", "a struct", "DLPack", "pinned, by DLPack", "ctypes"]
    assert found(snippet) == [dict.fromkeys(names, "refused")]


def test_without_a_driver_pinned_memory_is_read_as_told_and_device_memory_is_not():
    snippet = """
import os
memory = ctypes.create_string_buffer(FIRST, SIZE)
class Plain:
    kind, device, size, stream, data, address = "plain", 0, SIZE, None, FIRST, ctypes.addressof(memory)
rows = []
for code in (CUDA_HOST, ROCM_HOST, CUDA, CUDA_MANAGED, ROCM):
    obj = counting.CountingDLPack(FIRST, (COUNT,), dtype=(1, 32, 1), device=(code, 0))
    view = lend.view(obj)
    found = access(view)
    try: values = view.tolist()
    except NotHostAccessible as refused: values = "no driver in this process" in str(refused)
    rows.append([found.name, found.host, values])
show(*rows)
"""
    told, kept = ["pinned, as told", True, [1, 2, 3, 4]], ["device, as told", False, True]
    assert found("show_drivers = 1\n" + snippet.replace("import os\n", "")) == [told, told, kept, kept, kept]


def test_a_driver_that_has_not_begun_is_not_begun():
    snippet = """
managed, pinned = (
    lend.view(counting.CountingDLPack(FIRST, (COUNT,), dtype=(1, 32, 1), device=(code, 0)))
    for code in (CUDA_MANAGED, CUDA_HOST)
)
fake.reset()
plain = lend.view(bytearray(FIRST)).tolist()
rows = [access(managed).name, access(pinned).name, pinned.tolist()]
try: managed.tolist()
except NotHostAccessible: rows.append("refused")
rows.append(np.from_dlpack(pinned).tolist())
show(rows, fake.calls("cuInit"), fake.calls("cuDevicePrimaryCtxRetain"))
"""
    values = [1, 2, 3, 4]
    assert found(snippet) == [["device, as told", "pinned, as told", values, "refused", values], 0, 0]


def test_no_driver_is_loaded_to_be_asked():
    snippet = """
import os, lend
from support import counting
view = lend.view(counting.CountingDLPack(16, (4,), device=(2, 0)))
try: view.tolist()
except lend.errors.NotHostAccessible: pass
print(any("libcuda" in line for line in open("/proc/self/maps")))
"""
    assert fakecuda.run_clean(snippet, load=False) == "False\n"


def test_a_driver_that_is_loaded_later_is_asked_from_then_on():
    snippet = """
import lend
from support import counting
view = lend.view(counting.CountingDLPack(16, (4,), device=(2, 0)))
from lend.devices.access import access
before = access(view).name
from support.fakecuda import fake
from support.fakecuda.described import CudaArray, Memory
fake.init()
print(before, "|", access(lend.view(CudaArray(Memory(bytes(16)), (4,)))).name)
"""
    assert fakecuda.run_clean(snippet, load=False) == "device, as told | device\n"


def test_after_a_fork_the_driver_is_not_believed():
    snippet = """
import os
fake.init()
m = Memory(FIRST)
managed = tensor(Memory(FIRST, "managed"), (CUDA_MANAGED, 0))
takes = [lend.view(cuda(m)), lend.view(tensor(m, (CUDA, 0))), lend.view(managed)]
before = [access(each).name for each in takes]
sys.stdout.flush()
child = os.fork()
if child == 0:
    try:
        show(before, [[access(each).name, outcomes_in_a_fork(each)] for each in takes])
        sys.stdout.flush()
    finally:
        os._exit(0)
os.waitpid(child, 0)
"""
    inside = """
def outcomes_in_a_fork(view):
    found = set()
    for way in {**host_exports.VIEW}.values():
        try: way(view); found.add("read")
        except NotHostAccessible: pass
        except AttributeError: pass
    return sorted(found)
"""
    before, after = found(inside + snippet)
    assert before == ["device", "device", "managed"]
    assert after == [["device, as told", []]] * 3


# -- other devices -----------------------------------------------------------------------------------------------------

HIP = """
def made(name, *rest):
    return fake.out(name, fake.SIZE(SIZE), *rest)

class Rocm:
    kind, device, size = "rocm", 0, SIZE

    def __init__(self, name, *rest):
        self.address = made(name, *rest)
        self.stream = fake.out("hipStreamCreateWithFlags", 1)
        fake.poke(self.address, FIRST)

    def fill(self, data):
        self.data = data
        staged = made("hipHostMalloc", 0)
        ctypes.memmove(staged, data, SIZE)
        fake.ok("hipMemcpyAsync", fake.PTR(self.address), fake.PTR(staged), fake.SIZE(SIZE), 4, fake.PTR(self.stream))

class OfRocm(counting.CountingDLPack):
    "DLPack of ROCm's, which orders its stream before another by HIP's events."

    def __new__(cls, memory, code):
        return super().__new__(cls, 0, (COUNT,), dtype=(1, 32, 1), device=(code, 0), data=memory.address)

    def __init__(self, memory, code):
        super().__init__(0, (COUNT,), dtype=(1, 32, 1), device=(code, 0), data=memory.address)
        self.block = memory

    def __dlpack__(self, *, stream=None, **asked):
        if stream is not None and stream != -1:
            event = fake.out("hipEventCreateWithFlags", 2)
            fake.ok("hipEventRecord", fake.PTR(event), fake.PTR(self.block.stream))
            fake.ok("hipStreamWaitEvent", fake.PTR(stream), fake.PTR(event), 0)
        return super().__dlpack__(**asked)

host_exports.context = lambda: None     # of the runtime a device is current, and no context is pushed
host_exports.BEGINNING = ()             # and it is begun by itself
rows = []
for name, rest, code in (("hipMalloc", (), ROCM), ("hipHostMalloc", (0,), ROCM_HOST), ("hipMallocManaged", (1,), ROCM)):
    m = Rocm(name, *rest)
    obj = OfRocm(m, code)
    rows.append([says(obj), outcomes(lambda: lend.view(obj), m.fill)])
m = Rocm("hipMalloc")
m.fill(numbers([5, 6, 7, 8]))
m.fill(numbers([9, 6, 7, 8]))
rows.append(lend.to(lend.view(OfRocm(m, ROCM)), "numpy", device="cpu").tolist())
memory = ctypes.create_string_buffer(FIRST, SIZE)
show(*rows)
"""


@pytest.mark.parametrize("release", [5, 6, 7])
def test_memory_of_rocm_is_refused_or_read_after_its_work(release):
    assert found(HIP, hip=release) == [
        [["device", False, "producer"], REFUSED],
        [["ROCm pinned", True, "producer"], [["right"], []]],
        [["ROCm managed", True, "producer"], [["right"], []]],
        [9, 6, 7, 8],
    ]


def test_device_memory_of_rocm_that_the_host_sees_is_read_where_that_is_signed_for():
    snippet = HIP.replace("rows = []", "rows = []; seen = Rocm('hipMalloc')")
    snippet = (
        snippet[: snippet.index("for name, rest")]
        + """
obj = OfRocm(seen, ROCM)
show(says(obj), outcomes(lambda: lend.view(obj), seen.fill))
"""
    )
    row = ["ROCm device, with an address for the host", None, "producer"]
    assert found(snippet, hip=6, device_host_access=1) == [row, [["refused"], HIDDEN + SIGNED]]


SYCL = """
memory = ctypes.create_string_buffer(FIRST, SIZE)

class Queue:
    waits = 0
    def wait(self):
        self.waits += 1
        ctypes.memmove(memory, self.data, SIZE)
    def fill(self, data):
        self.data = data

class Usm:
    "As dpctl's arrays: the kind of the memory is asked of the owner, and its queue waited for."
    def __init__(self, kind, queue, doors):
        self.sycl_queue = queue
        if kind is not None: self.usm_type = kind
        self.tells = doors

class ByInterface(Usm):
    @property
    def __sycl_usm_array_interface__(self):
        return {"shape": (COUNT,), "typestr": "<u4", "data": (ctypes.addressof(memory), False), "strides": None,
                "offset": 0, "syclobj": self.sycl_queue, "version": 1}

class ByDlpack(Usm):
    def __dlpack_device__(self): return ONEAPI, 0
    def __dlpack__(self, **asked):
        asked.pop("stream", None)
        self.made = counting.CountingDLPack(FIRST, (COUNT,), dtype=(1, 32, 1), device=(ONEAPI, 0),
                                            data=ctypes.addressof(memory))
        return self.made.__dlpack__(**asked)

host_exports.context = lambda: None
rows = []
for kind in ("device", "shared", "host", None):
    for cls in (ByInterface, ByDlpack):
        queue = Queue()
        obj = cls(kind, queue, None)
        rows.append([says(obj)[:2], outcomes(lambda: lend.view(obj), queue.fill)])
show(*rows)
"""


def test_the_kind_of_sycl_memory_is_asked_of_its_owner_and_its_queue_waited_for():
    right, refused = [["right"], []], REFUSED
    assert found(SYCL) == [
        *[[["USM device", False], refused]] * 2,
        *[[["USM shared", True], right]] * 2,
        *[[["USM host", True], right]] * 2,
        *[[["USM of a kind that is not told", False], refused]] * 2,
    ]


@pytest.mark.parametrize("code", [4, 7, 8, 15])
def test_a_handle_is_never_an_address(code):
    snippet = f"""
fake.init()
m = Memory(FIRST, "managed")
obj = counting.CountingDLPack(0, (COUNT,), dtype=(1, 32, 1), device=({code}, 0), data=m.address)
fake.reset()
host_exports.context = lambda: None
show(says(obj), outcomes(lambda: lend.view(obj)), fake.all_calls())
"""
    assert found(snippet) == [["a handle", False, "nothing"], REFUSED, 0]


# -- what stays as it was ----------------------------------------------------------------------------------------------


def test_read_only_stays_read_only_on_every_way_to_the_host():
    snippet = """
fake.init()
found = {}
for kind, code in (("managed", CUDA_MANAGED), ("pinned", CUDA_HOST)):
    m = Memory(FIRST, kind)
    sealed = {"interface": cuda(m, stream="own", readonly=True)}
    sealed["DLPack"] = tensor(m, (code, 0), flags=counting.READ_ONLY)
    for name, obj in sealed.items():
        view = lend.view(obj)
        found[kind, name] = [
            view.readonly, memoryview(view).readonly, np.asarray(view).flags.writeable,
            view.__array_interface__["data"][1],
            np.asarray(host_exports.OfStruct(view)).flags.writeable, memoryview(view.buffer).readonly,
            np.from_dlpack(host_exports.FromHost(view, dl_device=(1, 0))).flags.writeable,
            lend.to(view, "numpy").flags.writeable, lend.view(view, device="cpu").readonly,
            lend.view(view, device="cpu")[1:].readonly, lend.to(view, "memoryview", device="cpu").readonly,
        ]
        for flags in (counting.FULL, counting.CONTIG, counting.WRITABLE):
            try: host_exports.held(view, flags); found[kind, name].append("writable")
            except BufferError as refused: found[kind, name].append(type(refused).__name__)
show(*found.values())
"""
    kept = [True, True, False, True, False, True, False, False, True, True, True, *["ReadOnlyMemory"] * 3]
    assert found(snippet) == [kept] * 4


def test_a_thread_without_a_context_reads_and_is_left_without_one():
    snippet = """
import threading
fake.init()
rows = []
def read(obj, m):
    data = numbers([7, 7, 7, 7])
    with fake.on(0):
        fake.h2d(m.address, data, m.stream)
    refs = fake.refs(0), fake.refs(1)
    view = lend.view(obj)
    rows.append([np.asarray(view).tolist(), fake.depth(), (fake.refs(0), fake.refs(1)) == refs, fake.is_active(1)])
for kind, code in (("managed", CUDA_MANAGED), ("pinned", CUDA_HOST)):
    m = Memory(FIRST, kind)
    for obj in (cuda(m, stream="own"), CudaArray2(m, (COUNT,), "<u4"), tensor(m, (code, 0))):
        thread = threading.Thread(target=read, args=(obj, m))
        thread.start()
        thread.join()
show(*rows)
"""
    assert found(snippet) == [[[7, 7, 7, 7], 0, True, False]] * 6


def test_a_view_of_a_device_asks_nothing_until_the_host_is_let_in():
    snippet = """
fake.init()
m = Memory(FIRST, "managed", pending=True)
objects = [cuda(m, stream="own"), tensor(m, (CUDA_MANAGED, 0)), ExchangeTensor(m, (COUNT,), dtype=(1, 32, 1))]
for obj in objects:
    lend.view(obj), lend.buffer(obj), repr(lend.view(obj))
fake.reset()
for obj in objects:
    view = lend.view(obj)
    view[1:], view.T, view.buffer, view.reshape(2, 2), view.ptr, view.device, repr(view), view.owner
show(fake.all_calls(), fake.pending())
"""
    calls, pending = found(snippet)
    assert pending and calls == 0


def test_the_number_of_a_device_that_an_interface_does_not_tell_is_asked_of_the_driver_when_it_is_needed():
    snippet = """
fake.init()
with fake.on(1):
    m = Memory(FIRST)
view, part = lend.view(cuda(m)), lend.buffer(cuda(m))
at_first = [str(view.device), str(part.device)]
told = [view.__dlpack_device__(), part.__dlpack_device__(), str(view.device), str(part.device)]
lends = [lend.view(each).device.id for each in (view.__dlpack__(max_version=(1, 1)), lend.view(cuda(m)).__dlpack__(),
         lend.view(cuda(m)).__dlpack__(stream=-1), lend.view(cuda(m)).__dlpack__(dl_device=(2, 1)),
         lend.buffer(cuda(m)).__dlpack__(), lend.view(cuda(m)).buffer.__dlpack__(stream=2))]
try: lend.view(cuda(m)).__dlpack__(dl_device=(2, 0))
except LendError as refused: lends.append("another device" in str(refused))
show(at_first, told, lends)
"""
    told = [[2, 1], [2, 1], "cuda:1", "cuda:1"]
    assert found(snippet) == [["cuda:?", "cuda:?"], told, [1] * 6 + [True]]
