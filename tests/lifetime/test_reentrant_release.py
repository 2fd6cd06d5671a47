"""Foreign code that a call of ours runs may release the very object that is called: an answer or a refusal, no crash.

What CPython's `test_use_released_memory` (gh-92888) asks of memoryview, asked of View and Buffer: an argument whose
`__index__`, `__iter__`, `__bool__` or `__eq__` releases. Each in a process of its own, as the failure is a crash.
"""

import pytest

from support import children

PREPARE = """
import gc, lend
from lend.errors import LendError
from support import counting
from support.counting import CountingBuffer

DATA = bytes(range(1, 9))
exporter = CountingBuffer(DATA)
view, buffer = lend.view(exporter), lend.buffer(exporter)

class Evil:
    "Releases both, and then is the value it was made with."
    def __init__(self, value): self.value = value
    def _is(self):
        view.release()
        buffer.release()
        return self.value
    def __index__(self): return self._is()
    __int__ = __index__
    def __bool__(self): return bool(self._is())
    def __iter__(self): return iter(self._is())
    def __len__(self): return len(self.value)
    def __getitem__(self, i): return self._is()[i]
    def __eq__(self, other): return self._is() == other
    __hash__ = None
    name = property(lambda self: self._is())

class EvilStr(str):
    def __eq__(self, other):
        view.release()
        buffer.release()
        return str.__eq__(self, other)
    __hash__ = str.__hash__

def tensor(capsule): return counting.consume(capsule).tobytes()

try:
    print(USE)
except (LendError, TypeError, ValueError) as refusal:
    print("refused")
view.release()  # what was refused before it came so far
buffer.release()
assert exporter.audit() == [], exporter.audit()
gc.collect()
"""

ALL = "b'\\x01\\x02\\x03\\x04\\x05\\x06\\x07\\x08'"
REST = "b'\\x02\\x03\\x04\\x05\\x06\\x07\\x08'"

USES = {
    "an index of a view": ("view[Evil(1)].tobytes()", "b'\\x02'"),
    "a slice of a view": ("view[Evil(1):].tobytes()", REST),
    "a slice of a buffer": ("buffer[Evil(1):].tobytes()", REST),
    "reshape": ("view.reshape(Evil((2, 4))).tobytes()", ALL),
    "reshape to an evil extent": ("view.reshape((Evil(2), 4)).tobytes()", ALL),
    "reinterpret": ("view.reinterpret(Evil('int8')).tobytes()", ALL),
    "the order of tobytes": ("view.tobytes(EvilStr('C'))", ALL),
    "the order of copy": ("view.copy(EvilStr('C')).tobytes()", ALL),
    "the shape of buffer.view": ("buffer.view('uint8', shape=Evil((8,))).tobytes()", ALL),
    "an extent of buffer.view": ("buffer.view('uint8', shape=(Evil(8),)).tobytes()", ALL),
    "the strides of buffer.view": ("buffer.view('uint8', (8,), Evil((1,))).tobytes()", ALL),
    "the offset of buffer.view": ("buffer.view('uint8', offset=Evil(0)).tobytes()", ALL),
    "the dtype of buffer.view": ("buffer.view(Evil('uint8')).tobytes()", ALL),
    "max_version": ("tensor(view.__dlpack__(max_version=Evil((1, 0))))", ALL),
    "max_version of a buffer": ("tensor(buffer.__dlpack__(max_version=Evil((1, 0))))", ALL),
    "a major version": ("tensor(view.__dlpack__(max_version=(Evil(1), 0)))", ALL),
    "dl_device": ("tensor(view.__dlpack__(dl_device=Evil((1, 0))))", ALL),
    "dl_device of a buffer": ("tensor(buffer.__dlpack__(dl_device=Evil((1, 0))))", ALL),
    "copy=False": ("tensor(view.__dlpack__(copy=Evil(False)))", ALL),
    "copy=True": ("tensor(view.__dlpack__(copy=Evil(True)))", ALL),
    "copy=False of a buffer": ("tensor(buffer.__dlpack__(copy=Evil(False)))", ALL),
    "copy=True of a buffer": ("tensor(buffer.__dlpack__(copy=Evil(True)))", ALL),
    "a stream": ("tensor(view.__dlpack__(stream=Evil(1)))", ALL),
    "the order of lend.view": ("lend.view(view, order=EvilStr('C')).tobytes()", ALL),
    "the dtype of lend.view": ("lend.view(view, dtype=Evil('uint8')).tobytes()", ALL),
    "the dimensions of lend.view": ("lend.view(view, ndim=Evil(1)).tobytes()", ALL),
    "the alignment of lend.view": ("lend.view(view, align=Evil(1)).tobytes()", ALL),
    "a callable target": ("lend.to(view, lambda lent: Evil(lent.tobytes())._is())", ALL),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_release_from_within_is_answered_rightly_or_refused(use):
    statement, right = use
    out = children.run_clean(PREPARE.replace("USE", statement)).strip()
    assert out in (right, "refused")


def test_a_release_from_the_release_of_the_producer_is_harmless():
    out = children.run_clean("""
        import lend
        from support.counting import CountingBuffer
        exporter = CountingBuffer(b"1234", on_release=lambda: view.release())
        view = lend.view(exporter)
        view.release()
        print(exporter.releases, exporter.audit(), view.released)
        """)
    assert out.strip() == "1 [] True"


LENDERS = {
    "a buffer": "CountingBuffer(DATA)",
    "a table": "counting.CountingExchange(DATA, (8,), dtype=(1, 8, 1))",
    "a tensor": "counting.CountingDLPack(DATA, (8,), dtype=(1, 8, 1))",
    "an array struct": "ArrayStruct(DATA, (8,), kind='u', itemsize=1)",
}


COLLECTED = """
import copy, gc, lend
from lend.errors import LendError
from support import counting
from support.counting import CountingBuffer
from support.producers import ArrayStruct

DATA = bytes(range(1, 9))
def tensor(capsule): return counting.consume(capsule).tobytes()
BOTH = {
    "owner": lambda lent: lent.owner.nbytes and DATA,
    "unversioned capsule": lambda lent: tensor(lent.__dlpack__()),
    "capsule": lambda lent: tensor(lent.__dlpack__(max_version=(1, 0))),
    "capsule of a copy": lambda lent: tensor(lent.__dlpack__(copy=True)),
    "versioned capsule of a copy": lambda lent: tensor(lent.__dlpack__(max_version=(1, 0), copy=True)),
    "capsule that must share": lambda lent: tensor(lent.__dlpack__(copy=False)),
    "capsule for a device": lambda lent: tensor(lent.__dlpack__(dl_device=(1, 0), stream=None)),
    "table": lambda lent: counting.exchange_take(lent).tobytes(),
    "struct": lambda lent: lent.__array_struct__ and DATA,
    "interface": lambda lent: lent.__array_interface__ and DATA,
    "tobytes": lambda lent: lent.tobytes(),
    "bytes": bytes,
    "copy.copy": lambda lent: copy.copy(lent).tobytes(),
    "copy.deepcopy": lambda lent: copy.deepcopy(lent).tobytes(),
    "__copy__": lambda lent: lent.__copy__().tobytes(),
    "__deepcopy__": lambda lent: lent.__deepcopy__({}).tobytes(),
    "slice": lambda lent: lent[:].tobytes(),
    "the slice of a slice": lambda lent: DATA[:1] + lent[1:][:4].tobytes() + DATA[5:],
    "verify": lambda lent: lent.verify() or DATA,
    "repr": lambda lent: repr(lent) and DATA,
    "Py_buffer": lambda lent: counting.hold(lent).tobytes(),
    "memoryview": lambda lent: memoryview(lent).tobytes(),
    "lend.view": lambda lent: lend.view(lent).tobytes(),
    "lend.buffer": lambda lent: lend.buffer(lent).tobytes(),
    "lend.view that copies": lambda lent: lend.view(lent, copy=True).tobytes(),
    "lend.buffer that copies": lambda lent: lend.buffer(lent, copy=True).tobytes(),
    "lend.view with requirements": lambda lent: lend.view(lent, dtype="uint8", ndim=1, order="C", align=1).tobytes(),
    "lend.to": lambda lent: lend.to(lent, "memoryview").tobytes(),
    "lend.to that copies": lambda lent: lend.to(lent, "memoryview", copy=True).tobytes(),
    "lend.explain": lambda lent: lend.explain(lent, "memoryview") and DATA,
    "lend.explain without a target": lambda lent: str(lend.explain(lent)) and DATA,
    "to": lambda lent: lent.to("memoryview").tobytes(),
    "to that copies": lambda lent: lent.to("memoryview", copy=True).tobytes(),
    "to on its device": lambda lent: lent.to(device="cpu").tobytes(),
    "lend.loans": lambda lent: lend.loans() is not None and DATA,
}
VIEW = BOTH | {
    "buffer": lambda view: view.buffer.tobytes(),
    "element": lambda view: DATA[:2] + view[2].tobytes() + DATA[3:],
    "T": lambda view: view.T.tobytes(),
    "reshape": lambda view: view.reshape(2, 4).tobytes(),
    "reinterpret": lambda view: view.reinterpret("int16").tobytes(),
    "tolist": lambda view: bytes(view.tolist()),
    "copy": lambda view: view.copy().tobytes(),
    "copy in columns": lambda view: view.copy("F").tobytes(),
    "tobytes in columns": lambda view: view.tobytes("F"),
    "iteration": lambda view: bytes([element.item() for element in view]),
    "reversed": lambda view: view[::-1].tobytes()[::-1],
    "reversed and copied": lambda view: view[::-1].copy().tobytes()[::-1],
    "capsule of a copy with gaps": lambda view: view[::2].__dlpack__(copy=True) and DATA,
}
BUFFER = BOTH | {
    "view": lambda buffer: buffer.view().tobytes(),
    "view of all words": lambda buffer: buffer.view("int16").tobytes(),
    "view of a shape": lambda buffer: buffer.view("int16", (2, 2)).tobytes(),
    "view of strides": lambda buffer: buffer.view("uint8", (8,), (-1,), 7).tobytes()[::-1],
    "view from an offset": lambda buffer: DATA[:4] + buffer.view("uint8", offset=4).tobytes(),
    "the copy of a view": lambda buffer: buffer.view("int32").copy().tobytes(),
}

class Last:
    def __init__(self, lent): self.lent, self.me = lent, self
    def __del__(self):
        try:
            self.lent.release()
        except LendError:  # an export is open
            pass

def answer(use, lent, later):
    gc.disable()
    gc.collect()
    Last(lent)
    gc.set_threshold(later)  # how many more allocations there are before the collector runs
    gc.enable()
    try:
        return use(lent)
    except LendError:  # released, or an export is open
        return None
    finally:
        gc.set_threshold(700)

wrong = []
for name, use in USES.items():
    use(TAKE(bytearray(DATA)))  # modules are loaded now, not under way
    for later in range(1, 12):
        lender = LENDER
        right = answer(use, TAKE(lender), later)
        if right not in (None, DATA):
            wrong.append((name, later, right))
print(wrong)
"""
TAKES = {"a view": ("lend.view", "VIEW"), "a buffer": ("lend.buffer", "BUFFER")}


@pytest.mark.parametrize("lender", LENDERS.values(), ids=LENDERS)
@pytest.mark.parametrize("take", TAKES.values(), ids=TAKES)
def test_a_release_by_the_collector_in_midst_of_a_call_is_answered_rightly_or_refused(take, lender):
    """An allocation may run the collector (before Python 3.12), that a finalizer, and that anything."""
    function, uses = take
    snippet = COLLECTED.replace("USES", uses).replace("TAKE", function).replace("LENDER", lender)
    assert children.run_clean(snippet) == "[]\n"


def test_a_collection_meets_every_way_a_view_is_made():
    """The collector looks into each View: no field of it may be left as the allocator gave it."""
    children.run_clean("""
        import gc, lend
        from support import counting
        from support.producers import ArrayInterface, ArrayStruct, Span
        DATA = bytes(8)
        kept = []
        for lender in (
            bytearray(8), memoryview(DATA), counting.CountingBuffer(DATA), counting.CountingDLPack(DATA, (2,)),
            counting.CountingDLPack(DATA, (2,)).capsule(), counting.CountingExchange(DATA, (2,)),
            ArrayInterface(DATA, (2,), "<f4"), ArrayStruct(DATA, (2,), itemsize=4), Span(DATA),
        ):
            view = lend.view(lender)
            kept += [view, lend.view(view), view[1:], view.T, view.copy(), view.buffer, view.buffer.view("uint8")]
            kept += [view.reshape(-1), lend.view(view, ndim=1), lend.view(view, copy=True), lend.view(view.buffer)]
            kept += [view.__dlpack__(max_version=(1, 0))]
            kept += [counting.exchange_give(counting.exchange_take(view), lend.View)]
            gc.collect()
        kept.clear()
        gc.collect()
        """)
