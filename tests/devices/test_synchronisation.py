"""Order of work: what is waited for before the host reads, and what an export orders before a consumer's stream.

The streams of the double run when somebody waits: what was not waited for, or not ordered, is the old value.
"""

import json

import pytest

from support import fakecuda

START = """
from support.access_child import *
fake.init()
OLD, NEW = numbers([1, 2, 3, 4]), numbers([5, 6, 7, 8])

def begun(kind="managed", stream=UNTOLD):
    "Memory with the old values, and the new ones on their way."
    m = Memory(OLD, kind, stream=stream)
    m.fill(NEW)
    return m

def read(view, **options):
    "What the host reads through lend."
    seen = lend.to(view, "numpy", **options).tobytes()
    return {OLD: "old", NEW: "new"}.get(seen, repr(seen))

def on_stream(m, stream):
    "What a consumer reads that works on this stream, and waits for nothing else."
    seen = fake.d2h(m.address, SIZE, stream)
    return {OLD: "old", NEW: "new"}.get(seen, repr(seen))

WAITS = ("cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize")
def waits():
    return [fake.calls(name) for name in WAITS]
"""


def found(snippet, **keywords):
    return json.loads(fakecuda.run_clean(START + snippet, **keywords))


# -- the host reads ----------------------------------------------------------------------------------------------------


def test_a_stream_that_an_interface_tells_is_waited_for_and_no_other():
    snippet = """
rows = []
for stream in (UNTOLD, None, 2):
    m, other = begun(stream=stream), begun(kind="device")
    told = m.stream if stream is UNTOLD else stream or 1
    rows.append([read(lend.view(cuda(m, stream=told))), fake.pending(other.stream)])
show(*rows, waits()[1:])
"""
    assert found(snippet) == [["new", True]] * 3 + [[0, 0]]


def test_an_interface_that_says_that_nothing_is_pending_is_believed():
    snippet = """
m = begun()
show(read(lend.view(cuda(m, stream=None))), waits(), fake.pending(m.stream))
"""
    assert found(snippet) == ["old", [0, 0, 0], True]


@pytest.mark.parametrize("told", ["CudaArray(m, (COUNT,), '<u4', stream=UNTOLD)", "CudaArray2(m, (COUNT,), '<u4')",
                                  "CudaArray0(m, (COUNT,), '<u4')", "pointer(m)", "bare(m)"])  # fmt: skip
def test_where_nobody_tells_a_stream_the_whole_device_is_waited_for(told):
    snippet = f"""
def pointer(m):
    return lend.View.from_pointer(m.address, (COUNT,), "uint32", owner=m, device="cuda:0")
def bare(m):
    return tensor(m, (CUDA_MANAGED, 0)).__dlpack__(stream=-1, max_version=(1, 1))
m, other = begun(), begun(kind="device")
fake.reset()
show(read(lend.view({told})), waits()[1], other.is_ready)
"""
    assert found(snippet) == ["new", 1, True]


def test_the_stream_0_of_an_interface_is_refused():
    snippet = """
try: lend.view(cuda(begun(), stream=0))
except StreamError as refused: show("stream is 0" in str(refused), isinstance(refused, BufferError))
"""
    assert found(snippet) == [True, True]


def test_a_dlpack_producer_is_asked_to_order_its_work_before_a_stream_of_ours_when_the_host_reads():
    snippet = """
m, other = begun(), begun(kind="device")
obj = tensor(m, (CUDA_MANAGED, 0))
view = lend.view(obj)
at_first = [asked["stream"] for asked in obj.asked]
fake.reset()
value = read(view)
ours = [asked["stream"] for asked in obj.asked][len(at_first):]
del view
show(at_first, value, len(ours), ours[0] > 2, fake.pending(other.stream), waits(), fake.calls("cuStreamDestroy"),
     obj.audit())
"""
    assert found(snippet) == [[-1], "new", 1, True, True, [1, 0, 0], 1, []]


def test_work_on_another_stream_than_the_producers_current_one_is_its_users_to_wait_for():
    snippet = """
m = begun()
obj = tensor(m, (CUDA_MANAGED, 0), current=fake.stream())
show(read(lend.view(obj)), read(lend.view(obj), sync="device"))
"""
    assert found(snippet) == ["old", "new"]


@pytest.mark.parametrize("refuses", ["TypeError", "BufferError", "RuntimeError"])
def test_a_producer_that_will_not_be_asked_again_has_all_its_device_waited_for(refuses):
    snippet = f"""
class Once(Tensor):
    def __dlpack__(self, **asked):
        if asked.get("stream") != -1: raise {refuses}("no stream")
        return super().__dlpack__(**asked)
m = begun()
view = lend.view(Once(m, (COUNT,), dtype=(1, 32, 1), device=(CUDA_MANAGED, 0)))
show(read(view), waits()[1], fake.pending())
"""
    assert found(snippet) == ["new", 1, False]


def test_the_current_stream_of_an_exchange_table_is_waited_for_and_nothing_made():
    snippet = """
m, other = begun(), begun(kind="device")
obj = ExchangeTensor(m, (COUNT,), dtype=(1, 32, 1), device=(CUDA_MANAGED, 0))
fake.reset()
show(read(lend.view(obj)), waits(), fake.calls("cuStreamCreate"), fake.pending(other.stream), obj.asked_for_stream)
"""
    assert found(snippet) == ["new", [1, 0, 0], 0, True, [[13, 0]]]


def test_pinned_memory_is_waited_for_on_every_device_in_use_and_its_producer_told_no_stream():
    snippet = """
with fake.on(1): pass
rows = []
for device in (0, 1):
    with fake.on(device):
        m = begun("pinned")
    obj = tensor(m, (CUDA_HOST, 0))
    view = lend.view(obj)
    rows.append([read(view), [asked["stream"] for asked in obj.asked]])
show(*rows, fake.is_active(2))
"""
    assert found(snippet, devices=3) == [["new", [None]], ["new", [None]], False]


def test_the_caller_says_what_is_waited_for():
    snippet = """
rows = []
for sync in ("stream", "device", "none"):
    m, other = begun(), begun(kind="device")
    rows.append([read(lend.view(cuda(m, stream="own")), sync=sync), other.is_ready])
try: lend.to(lend.view(cuda(begun(), stream="own")), "numpy", sync="all")
except ValueError as refused: rows.append(str(refused))
show(*rows)
"""
    said = 'sync is "stream", "device" or "none", not \'all\''
    assert found(snippet) == [["new", False], ["new", True], ["old", False], said]


def test_explain_says_what_would_be_waited_for_and_waits_for_nothing():
    snippet = """
m = begun()
view = lend.view(cuda(m, stream="own"))
steps = [[step.what for step in lend.explain(view, "numpy", sync=sync).steps if step.kind == "wait"]
         for sync in (None, "device", "none")]
show(*steps, waits(), fake.pending())
"""
    said = ["for the work of its producer (managed)"], ["for all of the device (managed)"], ["for nothing (managed)"]
    assert found(snippet) == [*map(list, said), [0, 0, 0], True]


def test_a_copy_asked_for_by_name_is_ordered_after_the_work_and_the_device_not_stopped():
    snippet = """
rows = []
for take in (lambda m: cuda(m, stream="own"), lambda m: tensor(m, (CUDA, 0)),
             lambda m: ExchangeTensor(m, (COUNT,), dtype=(1, 32, 1))):
    m, other = begun("device"), begun("device")
    view = lend.view(take(m))
    fake.reset()
    rows.append([read(view, device="cpu"), waits()[1], fake.pending(other.stream)])
m = begun("device")
rows.append([read(lend.view(CudaArray2(m, (COUNT,), "<u4")), device="cpu"), waits()[1], fake.pending()])
m = begun("device")
rows.append([read(lend.view(cuda(m, stream="own")), device="cpu", sync="none")])
show(*rows)
"""
    assert found(snippet) == [["new", 0, True]] * 3 + [["new", 1, False], ["old"]]


def test_work_on_the_second_device_is_waited_for_there_and_the_first_stays_current():
    snippet = """
rows = []
with fake.on(1):
    pass
for kind in ("managed", "device"):
    for take in (lambda m: cuda(m, stream="own"), lambda m: tensor(m, (CUDA_MANAGED if kind == "managed" else CUDA, 1)),
                 lambda m: CudaArray2(m, (COUNT,), "<u4")):
        with fake.on(1):
            m = begun(kind)
        here = fake.current(), fake.depth(), fake.refs(0), fake.refs(1)
        value = read(lend.view(take(m)), device="cpu")
        rows.append([value, here == (fake.current(), fake.depth(), fake.refs(0), fake.refs(1))])
show(*rows)
"""
    assert found(snippet) == [["new", True]] * 6


ERRORS = {
    ("cuStreamSynchronize", 700): "CUDA_ERROR_ILLEGAL_ADDRESS (700)",
    ("cuCtxSynchronize", 719): "CUDA_ERROR_LAUNCH_FAILED (719)",
    ("cuStreamSynchronize", 999): "an error without a name (999)",
}


@pytest.mark.parametrize(("name", "code"), ERRORS)
def test_an_error_of_earlier_work_is_told_by_its_name_and_nothing_is_left_behind(name, code):
    snippet = f"""
m = begun()
objects = [cuda(m, stream="own"), tensor(m, (CUDA_MANAGED, 0))]
if "{name}" == "cuCtxSynchronize": objects = [CudaArray2(m, (COUNT,), "<u4")]
views = [lend.view(each) for each in objects]
live, here = fake.live(), host_exports.context()
fake.fail("{name}", {code}, -1)
said = set()
for view in views:
    for read_by in (memoryview, np.asarray, lambda x: x.tolist(), lambda x: x.__array_interface__):
        try: read_by(view)
        except LendError as refused: said.add(str(refused).partition("\\n")[0].partition("failed: ")[2])
show(*said, fake.live() == live, here == host_exports.context(), [view.owner.exports for view in views])
"""
    said, kept, same, exports = found(snippet)
    assert (said, kept, same, set(exports)) == (ERRORS[name, code], True, True, {0})


# -- a consumer on a device reads --------------------------------------------------------------------------------------

GIVEN = """
def given(m, take, stream, consumer):
    "What a consumer sees on its stream, to which it let lend order the work by `stream`."
    view = lend.view(take(m))
    fake.reset()
    capsule = view.__dlpack__(stream=stream, max_version=(1, 1))
    stopped = sum(waits())
    return [on_stream(m, consumer), stopped]
"""
TAKES = {
    "an interface with its stream": ("lambda m: cuda(m, stream='own')", 0),
    "DLPack": ("lambda m: tensor(m, (CUDA, 0))", 0),
    "an exchange table": ("lambda m: ExchangeTensor(m, (COUNT,), dtype=(1, 32, 1))", 0),
    "an interface without a stream": ("lambda m: CudaArray2(m, (COUNT,), '<u4')", 1),
}


@pytest.mark.parametrize("producer", TAKES)
def test_an_export_orders_the_work_before_the_stream_that_the_consumer_names(producer):
    take, waits = TAKES[producer]
    snippet = f"""
own, rows = fake.stream(), []
for stream, consumer in ((own, own), (1, None), (2, 2), (None, None), (-1, own)):
    rows.append(given(begun("device"), {take}, stream, consumer))
show(*rows)
"""
    assert found(GIVEN + snippet) == [["new", waits]] * 4 + [["old", 0]]


def test_an_export_without_a_stream_is_ordered_before_the_default_one_by_the_exchange_table_too():
    snippet = """
m = begun("device")
view = lend.view(cuda(m, stream="own"))
taken = counting.exchange_take(view)
show(on_stream(m, None))
"""
    assert found(snippet) == ["new"]


@pytest.mark.parametrize("kind", ["managed", "pinned"])
def test_a_consumer_on_the_host_who_names_no_stream_gets_memory_that_was_waited_for(kind):
    snippet = f"""
m = begun("{kind}")
code = CUDA_MANAGED if "{kind}" == "managed" else CUDA_HOST
rows = [np.from_dlpack(lend.view(tensor(m, (code, 0)))).tobytes() == NEW]
m.fill(OLD)
rows.append(np.from_dlpack(lend.buffer(tensor(m, (code, 0)))).tobytes() == OLD)
m.fill(NEW)
ordered = lend.view(tensor(m, (code, 0))).__dlpack__(stream=-1, max_version=(1, 1))
rows.append(m.is_ready)
show(*rows)
"""
    assert found(snippet) == [True, True, False]


def test_a_view_tells_by_its_interface_the_stream_that_it_came_with():
    snippet = """
rows = []
for stream in ("own", None, 1, 2, UNTOLD):
    m = begun("device")
    told = lend.view(cuda(m, stream=stream)).__cuda_array_interface__
    rows.append([told["version"], told.get("stream", "untold") == (m.stream if stream == "own" else stream)
                 if stream is not UNTOLD else told.get("stream", "untold")])
show(*rows)
"""
    assert found(snippet) == [[3, True]] * 4 + [[2, "untold"]]


def test_an_interface_of_what_came_by_dlpack_tells_the_stream_that_its_work_was_ordered_before():
    snippet = """
rows = []
for lent in (lend.view, lend.buffer):
    m = begun("device")
    x = tensor(m, (CUDA, 0))
    shown = lent(x)
    facts = shown.__cuda_array_interface__
    rows.append([facts["version"], facts["stream"], x.asked[-1]["stream"], on_stream(m, None), waits()])
show(*rows)
"""
    assert found(snippet) == [[3, 1, 1, "new", [0, 0, 0]]] * 2


def test_an_interface_of_what_came_by_an_exchange_table_tells_its_current_stream():
    snippet = """
from support.fakecuda.tensors import ExchangeTensor
rows = []
for stream in (UNTOLD, None):
    m = begun("device", stream)
    facts = lend.view(ExchangeTensor(m, (COUNT,))).__cuda_array_interface__
    rows.append([facts["version"], facts["stream"] == (m.stream or 1)])
show(*rows)
"""
    assert found(snippet) == [[3, True]] * 2


def test_an_interface_of_nothing_asks_nobody():
    snippet = """
x = Tensor(Memory(b"", "device"), (0,))
view = lend.view(x)
fake.reset()
asked = len(x.asked)
facts = view.__cuda_array_interface__
show(facts["stream"], facts["data"][0], len(x.asked) - asked, fake.all_calls())
"""
    assert found(snippet) == [None, 0, 0, 0]


def test_an_interface_of_a_copy_of_lends_own_tells_a_stream_once_somebody_had_it():
    snippet = """
view = lend.view(b"12345678", device="cuda:0")
first = view.__cuda_array_interface__
later = fake.stream()
fake.memset_async(first["data"][0], 7, 8, later)
show(first["stream"], view[::1].__cuda_array_interface__["version"], lend.to(view, bytes, device="cpu").hex())
"""
    assert found(snippet) == [1, 2, "07" * 8]


UNTOLD_WORK = {
    "an interface without a stream": "CudaArray(m, (COUNT,), '<u4', stream=UNTOLD)",
    "an interface of version 2": "CudaArray2(m, (COUNT,), '<u4')",
    "an address": "lend.View.from_pointer(m.address, (COUNT,), 'uint32', owner=m, device='cuda:0', readonly=False)",
    "a stream of the other device": "CudaArray(m, (COUNT,), '<u4', stream=other)",
}


@pytest.mark.parametrize("kind", ["managed", "pinned", "registered", "pool managed"])
@pytest.mark.parametrize("told", UNTOLD_WORK)
def test_the_work_of_any_device_on_memory_that_all_reach_is_waited_for_whatever_it_is_called(told, kind):
    snippet = f"""
rows, kept = [], []
stream = fake.stream()
def bring(x): return lend.to(lend.to(lend.column(x), device="cuda:1"), "numpy", device="cpu").tobytes() == NEW
def ordered(x): return lend.view(x).__dlpack__(stream=stream) and on_stream(m, stream) == "new"
for look in (read, lambda x: read(x, device="cpu"), bring, ordered):
    m = Memory(OLD, {kind!r})
    kept.append(m)
    with fake.on(1):
        other = fake.stream()
        fake.h2d(m.address, NEW, other)
    rows.append(look({UNTOLD_WORK[told]}))
show(*rows)
"""
    assert found(snippet) == ["new", "new", True, True]


@pytest.mark.parametrize("model", ["jetson", "wsl"])
def test_all_devices_are_idle_where_the_host_touches_managed_memory_only_then(model):
    snippet = """
m = Memory(OLD, "managed")
with fake.on(1): fake.h2d(m.address, NEW, fake.stream())
show(read(tensor(m, (CUDA_MANAGED, 0)), device="cpu", copy=False))
"""
    assert found(snippet, model=model) == ["new"]


def test_pinned_memory_is_ordered_before_a_stream_that_its_consumer_names():
    snippet = """
m, stream = begun("pinned"), fake.stream()
taken = lend.view(tensor(m, (CUDA_HOST, 0))).__dlpack__(stream=stream)
show(on_stream(m, stream))
"""
    assert found(snippet) == ["new"]


@pytest.mark.parametrize("stream", ["0", "-2", "'1'", "1.5", "True", "2**64"])
def test_a_stream_that_means_nothing_is_refused_before_anything_is_ordered(stream):
    snippet = f"""
m = begun("device")
view = lend.view(cuda(m, stream="own"))
try: view.__dlpack__(stream={stream})
except StreamError as refused: show(isinstance(refused, ValueError), fake.calls("cuEventRecord"))
"""
    assert found(snippet) == [True, 0]


# -- while a graph is captured -----------------------------------------------------------------------------------------

CAPTURING = """
def captured(act, mode=fake.GLOBAL, stream=None):
    "What an act comes to while the stream of a producer is captured, and whether the capture bears it."
    m = Memory(OLD, "managed")
    stream = m.stream if stream is None else stream
    obj = {"own": cuda(m, stream=stream)}
    obj["table"] = ExchangeTensor(m, (COUNT,), dtype=(1, 32, 1), device=(CUDA_MANAGED, 0))
    view = lend.view(obj["own"])
    fake.begin_capture(stream, mode)
    try:
        came = act(m, obj)
    except StreamError as refused:
        came = "sync=\\"none\\"" in str(refused)
    except BaseException as other:
        came = repr(other)
    return [came, fake.capture_end_code(stream)]
"""
ACTS = {
    "memoryview": "lambda m, obj: bytes(memoryview(lend.view(obj['own'])))",
    "to numpy": "lambda m, obj: read(lend.view(obj['own']))",
    "an exchange table": "lambda m, obj: read(lend.view(obj['table']))",
    "a consumer's stream": "lambda m, obj: lend.view(obj['own']).__dlpack__(stream=fake.stream())",
    "the default stream": "lambda m, obj: lend.view(obj['own']).__dlpack__(stream=1)",
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("mode", ["GLOBAL", "THREAD_LOCAL", "RELAXED"])
def test_nothing_waits_for_a_stream_that_is_captured_and_the_capture_is_kept(mode, act):
    assert found(f"{CAPTURING}\nshow(*captured({ACTS[act]}, fake.{mode}))") == [True, 0]


@pytest.mark.parametrize("mode", ["GLOBAL", "THREAD_LOCAL", "RELAXED"])
def test_what_needs_no_wait_is_done_while_a_stream_is_captured(mode):
    snippet = f"""
acts = [
    lambda m, obj: read(lend.view(obj["own"]), sync="none"),
    lambda m, obj: read(lend.view(cuda(m, stream=None))),
    lambda m, obj: lend.view(obj["own"]).__dlpack__(stream=-1) is not None,
    lambda m, obj: lend.view(obj["own"])[1:].shape,
    lambda m, obj: lend.explain(lend.view(obj["own"]), "numpy").bytes_copied,
    lambda m, obj: read(lend.view(cuda(m, stream=None)), device="cpu", sync="none"),
]
show(*[captured(act, fake.{mode}) for act in acts])
"""
    assert found(CAPTURING + snippet) == [["old", 0], ["old", 0], [True, 0], [[3], 0], [0, 0], ["old", 0]]


@pytest.mark.parametrize("mode", ["GLOBAL", "THREAD_LOCAL", "RELAXED"])
def test_work_on_other_streams_is_waited_for_beside_a_capture_which_is_kept(mode):
    snippet = f"""
elsewhere = [begun() for _ in range(3)] + [begun("device")]
takes = [cuda(elsewhere[0], stream="own"), tensor(elsewhere[1], (CUDA_MANAGED, 0)),
         ExchangeTensor(elsewhere[2], (COUNT,), dtype=(1, 32, 1), device=(CUDA_MANAGED, 0))]
s = fake.stream()
fake.begin_capture(s, fake.{mode})
seen = [read(lend.view(each)) for each in takes]
seen.append(read(lend.view(cuda(elsewhere[3], stream="own")), device="cpu"))
show(*seen, fake.capture_end_code(s))
"""
    assert found(CAPTURING + snippet) == ["new"] * 4 + [0]
