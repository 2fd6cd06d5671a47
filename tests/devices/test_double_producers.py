"""Producers over the double: each speaks exactly one protocol, and their work is pending until it is waited for."""

import pytest

from support import fakecuda

START = """
from support import counting
from support.fakecuda import fake
fake.init()
from support.fakecuda.described import *
from support.fakecuda.standins import *
from support.fakecuda.tensors import *
DATA = floats()
pending = lambda **keywords: Memory(DATA, pending=True, **keywords)
mine = fake.stream()
read = lambda block: "right" if fake.d2h(block.address, 16, mine) == DATA else "stale"
doors = lambda kind: sorted(name for name in dir(kind) if name.startswith(("__cuda_", "__dlpack", "__array")))
"""


def told(snippet, **keywords):
    return fakecuda.run_clean(START + snippet, **keywords).split()


@pytest.mark.parametrize(
    "kind", ["device", "managed", "pinned", "pool", "pool managed", "registered", "created", "node"]
)
def test_work_on_every_kind_of_memory_is_pending_until_its_stream_is_waited_for(kind):
    snippet = f"m = pending(kind={kind!r}); print(m.is_ready); fake.sync(mine); print(m.is_ready); fake.sync(m.stream)"
    assert told(snippet + "; print(m.is_ready); m.free(); print(fake.live())") == ["False", "False", "True", "0"]


ORDERED = {
    "no order": ("stream=-1", "stale"),
    "the stream of the consumer": ("stream=mine", "right"),
    "the legacy stream, which mine does not wait for": ("stream=None", "stale"),
    "another stream": ("stream=fake.stream()", "stale"),
}


@pytest.mark.parametrize("way", ORDERED)
def test_dlpack_orders_the_producers_stream_before_the_one_it_is_given(way):
    argument, value = ORDERED[way]
    assert told(f"t = Tensor(pending(), (4,)); t.__dlpack__({argument}); print(read(t.block))") == [value]


def test_the_legacy_stream_is_ordered_where_it_was_meant():
    snippet = "t = Tensor(pending(), (4,)); t.__dlpack__(stream={}); fake.sync({}); print(t.block.is_ready)"
    for stream in ("None", "1", "2"):
        assert told(snippet.format(stream, stream)) == ["True"]


def test_work_on_another_stream_than_the_producers_current_one_is_missed():
    snippet = "t = Tensor(pending(), (4,), current=fake.stream()); t.__dlpack__(stream=mine); print(read(t.block))"
    assert told(snippet) == ["stale"]


def test_dlpack_makes_no_copy_and_no_wait():
    snippet = "t = Tensor(pending(), (4,)); fake.reset(); t.__dlpack__(stream=mine)\n"
    counts = (
        "print(fake.copies(), fake.calls('cuStreamSynchronize'), fake.calls('cuEventSynchronize'), t.block.is_ready)"
    )
    assert told(snippet + counts) == ["0", "0", "0", "False"]


STREAMS = {
    ("CUDA", "0"): "StreamRefused",
    ("CUDA_MANAGED", "0"): "StreamRefused",
    ("CUDA", "1"): "fine",
    ("CUDA", "2"): "fine",
    ("ROCM", "0"): "fine",
    ("ROCM", "1"): "StreamRefused",
    ("ROCM", "2"): "StreamRefused",
    ("CUDA_HOST", "mine"): "BufferError",
    ("CUDA_HOST", "-1"): "fine",
    ("CUDA_HOST", "None"): "fine",
    ("ROCM_HOST", "mine"): "BufferError",
    ("CPU", "mine"): "BufferError",
    ("ONEAPI", "None"): "fine",
    ("OPENCL", "None"): "fine",
    ("VULKAN", "None"): "fine",
    ("METAL", "None"): "fine",
}


def test_streams_are_refused_as_the_protocol_has_it_for_each_device():
    snippet = f"""
for kind, stream in {list(STREAMS)!r}:
    t = Tensor(Memory(DATA), (4,), device=(eval(kind), 1))
    try: t.__dlpack__(stream=eval(stream)); print("fine")
    except Exception as error: print(type(error).__name__)
    assert t.__dlpack_device__() == (eval(kind), 1)
"""
    assert told(snippet) == list(STREAMS.values())


@pytest.mark.parametrize("protocol", ["versioned", "legacy"])
def test_a_capsule_has_the_fields_that_were_asked_for(protocol):
    snippet = f"""
m = Memory(DATA)
t = Tensor(m, (2,), device=(CUDA, 1), byte_offset=8, flags=counting.READ_ONLY, protocol={protocol!r})
fields = counting.capsule_fields(t.__dlpack__())
print(fields["data"] == m.address, fields["device"] == (2, 1), fields["byte_offset"])
print(fields.get("flags"), fields["name"])
"""
    rest = ["1", "dltensor_versioned"] if protocol == "versioned" else ["None", "dltensor"]
    assert told(snippet) == ["True", "True", "8", *rest]


HOST = {
    ("copies", "None"): "right waited 1",
    ("copies", "True"): "right waited 1",
    ("copies", "False"): "ValueError",
    ("refuses", "None"): "BufferError",
    ("ignores", "None"): "device",
}


@pytest.mark.parametrize("case", HOST, ids=lambda case: " ".join(case))
def test_the_host_is_asked_for_by_name(case):
    to_host, copy = case
    snippet = f"""
t = Tensor(pending(), (4,), to_host={to_host!r})
fake.reset()
try:
    taken = counting.consume(t.__dlpack__(dl_device=(1, 0), copy={copy}, max_version=(1, 3)))
    on_host = taken.fields["device"] == (1, 0)
    if on_host: print("right" if t.given[0].memory == DATA else "stale", "waited" * t.block.is_ready, fake.copies())
    else: print("device")
except Exception as error: print(type(error).__name__)
"""
    assert told(snippet) == HOST[case].split()


def test_a_copy_on_the_device_is_another_block_and_says_so():
    snippet = """
t = Tensor(pending(), (4,))
fields = counting.capsule_fields(t.__dlpack__(stream=mine, copy=True, max_version=(1, 3)))
twin = t.given[0].block
print(fields["flags"], fields["data"] != t.block.address, read(twin))
fake.sync(t.block.stream)
print(read(twin), len(t.asked))
"""
    assert told(snippet) == ["2", "True", "stale", "right", "1"]


def test_tensors_are_counted():
    snippet = """
t = Tensor(Memory(DATA), (4,))
taken = counting.consume(t.__dlpack__())
print(t.live, end=" ")
del taken
print(t.live, t.deleted_by_consumer, t.audit())
"""
    assert told(snippet) == ["1", "0", "1", "[]"]


def test_the_exchange_table_tells_the_stream_and_waits_for_nothing():
    snippet = """
x = ExchangeTensor(pending(), (4,), device=(CUDA, 0))
taken = counting.exchange_take(x)
print(taken.fields["data"] == x.block.address, x.block.is_ready, doors(ExchangeTensor))
handle = counting.exchange_stream(ExchangeTensor, (2, 0))
print(handle == x.block.stream, ExchangeTensor.asked_for_stream == [(2, 0)])
fake.order(handle, mine)
print(read(x.block))
"""
    assert told(snippet) == ["True", "False", "['__dlpack_c_exchange_api__']", "True", "True", "right"]


FACTS = {
    "CudaArray(m, (4,))": {"version": 3, "stream": None},
    "CudaArray(m, (4,), stream=UNTOLD)": {"version": 3},
    "CudaArray(m, (4,), stream=1)": {"version": 3, "stream": 1},
    "CudaArray(m, (4,), stream=2)": {"version": 3, "stream": 2},
    "CudaArray(m, (4,), stream='own')": {"version": 3, "stream": "handle"},
    "CudaArray(m, (4,), mask=CudaArray(m, (4,), '|u1'))": {"version": 3, "stream": None, "mask": "mask"},
    "CudaArray2(m, (4,))": {"version": 2},
    "CudaArray0(m, (4,))": {"version": 0},
    "CupyLike()": {"version": 3, "stream": 1},
    "CupyLike(stream=mine)": {"version": 3, "stream": "handle"},
    "TorchLike()": {"version": 2},
    "NumbaLike()": {"version": 3, "stream": None},
    "RmmLike()": {"version": 0},
    "CudfLike()": {"version": 3},
    "CudfLike(valid=[1, 0, 1, 1])": {"version": 3, "mask": "mask"},
    "PylibcudfColumn(4, DATA).data()": {"version": 3},
}


def test_interfaces_have_the_keys_of_their_version_and_no_others():
    snippet = f"""
m = Memory(DATA)
for made in {list(FACTS)!r}:
    facts = dict(eval(made).__cuda_array_interface__)
    if (facts.get("stream") or 0) > 2: facts["stream"] = "handle"
    if "mask" in facts: facts["mask"] = "mask"
    print({{key: facts[key] for key in ("version", "stream", "mask") if key in facts}})
"""
    assert fakecuda.run_clean(START + snippet).splitlines() == [str(facts) for facts in FACTS.values()]


DOORS = {
    "CudaArray": "__cuda_array_interface__",
    "CupyLike": "__array__ __cuda_array_interface__ __dlpack__ __dlpack_device__",
    "TorchLike": "__array__ __cuda_array_interface__ __dlpack__ __dlpack_device__",
    "NumbaLike": "__array__ __cuda_array_interface__",
    "RmmLike": "__cuda_array_interface__",
    "CudfLike": "__array__ __cuda_array_interface__",
    "PylibcudfColumn": "",
    "LyingInterface": "__array_interface__",
    "LyingStruct": "__array_struct__",
    "Tensor": "__dlpack__ __dlpack_device__",
    "ExchangeTensor": "__dlpack_c_exchange_api__",
}


def test_each_stand_in_has_its_librarys_doors_and_no_others():
    found = fakecuda.run_clean(START + f"for name in {list(DOORS)!r}: print(*doors(eval(name)))")
    assert found.splitlines() == list(DOORS.values())


def test_reading_an_interface_is_counted_and_of_cudf_has_an_effect():
    snippet = "c, n = CudfLike(), NumbaLike(); print(c.exposed, n.reads)\n"
    snippet += "c.__cuda_array_interface__; n.__cuda_array_interface__; print(c.exposed, n.reads)"
    assert told(snippet) == ["False", "0", "True", "1"]


def test_a_mask_of_cudf_is_of_bits():
    assert told("m = CudfLike(valid=[1, 0, 1, 1]).__cuda_array_interface__['mask']; print(m.nbytes, m.block.now)") == [
        "1",
        r"b'\r'",
    ]


def test_a_column_of_pylibcudf_has_an_owner_for_each_of_its_buffers():
    snippet = """
column = PylibcudfColumn(2, None, b"\\x03", [PylibcudfColumn(3, bytes(12)), PylibcudfColumn(2, b"ab")])
parts = [column.null_mask(), *(column.child(i).data() for i in range(column.num_children()))]
print(column.data(), [part.nbytes for part in parts], len({id(part.obj) for part in parts}), column.size())
print(all(part.ptr == part.__cuda_array_interface__["data"][0] for part in parts))
"""
    assert told(snippet) == ["None", "[1,", "12,", "2]", "3", "2", "True"]


LIES = {
    "buffer": "bytes(buffer_over(m.address, 4))",
    "array interface": "__import__('numpy').asarray(LyingInterface(m, (4,))).sum()",
    "array struct": "__import__('numpy').asarray(LyingStruct(m, (2,), itemsize=8)).sum()",
    "kDLCPU": "__import__('numpy').from_dlpack(Tensor(m, (4,), device=(CPU, 0))).sum()",
}


@pytest.mark.parametrize("lie", LIES)
def test_a_host_that_believes_a_liar_dies_of_device_memory(lie):
    pytest.importorskip("numpy")
    assert fakecuda.outcome(f"{START}m = Memory(DATA)\nprint({LIES[lie]})") == "device memory"


def test_numpy_takes_what_numba_copies_and_not_what_cupy_keeps():
    pytest.importorskip("numpy")
    snippet = """
import numpy
n = NumbaLike(pending=True)
print(numpy.asarray(n).tolist() == [0, 1, 2, 3], n.copied)
try: numpy.asarray(CupyLike())
except TypeError: print("refused")
"""
    assert told(snippet) == ["True", "1", "refused"]


def test_producers_of_rocm_live_over_its_runtime():
    snippet = """
t = Tensor(pending(), (4,), device=(ROCM, 0))
t.__dlpack__(stream=mine)
print(t.__dlpack_device__(), read(t.block), fake.ctypes.CDLL(None).hipGetDevice is not None)
"""
    assert told(snippet, hip=6) == ["(10,", "0)", "right", "True"]


def test_a_producer_lives_on_its_own_device_whatever_is_current():
    snippet = """
c = CupyLike(pending=True, device=1)
number = fake.out("cuPointerGetAttribute", 9, fake.U64(c.block.address), kind=fake.ctypes.c_int)
print(c.__dlpack_device__(), number, fake.current_device(), fake.depth(), fake.refs(1))
with fake.on(1): s = fake.stream()
c.__dlpack__(stream=s)
fake.sync(s)
print(c.block.is_ready, fake.current_device(), fake.refs(0), fake.refs(1))
"""
    assert told(snippet) == ["(2,", "1)", "1", "0", "1", "1", "True", "0", "1", "1"]
