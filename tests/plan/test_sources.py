"""What `explain` predicts is what `to` does, for every kind of producer."""

import array
import ctypes
import importlib.util
import mmap

import pytest

import lend
from lend.errors import LendError
from support.counting import READ_ONLY, CountingBuffer, CountingDLPack, CountingExchange
from support.producers import ArrayInterface, ArrayStruct, Span

BYTES = bytes(range(16))


def rows_behind_pointers():
    testbuffer = pytest.importorskip("_testbuffer")
    return testbuffer.ndarray(list(range(12)), shape=[3, 4], format="i", flags=testbuffer.ND_PIL)


def rows_of_records():
    testbuffer = pytest.importorskip("_testbuffer")
    return testbuffer.ndarray([(1, 2.0)] * 6, shape=[2, 3], format="hd", flags=testbuffer.ND_PIL)


@pytest.mark.parametrize("target", ["memoryview", bytes, list])
def test_rows_of_records_behind_pointers_are_refused_beforehand(target):
    said = []
    for ask in (lend.explain, lend.to):
        with pytest.raises(LendError) as refused:
            ask(rows_of_records(), target)
        said.append((type(refused.value), refused.value.fact))
    assert said[0] == said[1]


def lazily_negated():
    torch = pytest.importorskip("torch")
    return torch.imag(torch.tensor([1 + 2j, 3 - 1j]).conj())


def of_torch():
    return pytest.importorskip("torch").arange(4.0)


def of_jax():
    return pytest.importorskip("jax").numpy.arange(4, dtype="float32")


def of_pyarrow():
    return pytest.importorskip("pyarrow").array([1, 2, 3])


SOURCES = {
    "bytes": lambda: BYTES,
    "bytearray": lambda: bytearray(BYTES),
    "a reversed memoryview": lambda: memoryview(bytearray(BYTES))[::-1],
    "array.array": lambda: array.array("d", [1, 2, 3]),
    "a map": lambda: mmap.mmap(-1, mmap.PAGESIZE),
    "ctypes": lambda: (ctypes.c_int32 * 4)(1, 2, 3, 4),
    "an exporter": lambda: CountingBuffer(BYTES, format="f", itemsize=4),
    "a read-only exporter": lambda: CountingBuffer(BYTES, format="f", itemsize=4, readonly=True),
    "DLPack": lambda: CountingDLPack(BYTES, (4,)),
    "unversioned DLPack": lambda: CountingDLPack(BYTES, (4,), protocol="legacy"),
    "read-only DLPack": lambda: CountingDLPack(BYTES, (4,), flags=READ_ONLY),
    "an exchange table": lambda: CountingExchange(BYTES, (2, 2)),
    "a capsule": lambda: CountingDLPack(BYTES, (4,)).capsule(True),
    "an unversioned capsule": lambda: CountingDLPack(BYTES, (4,)).capsule(False),
    "an array interface": lambda: ArrayInterface(BYTES, (4,), "<f4"),
    "datetimes": lambda: ArrayInterface(BYTES, (2,), "<M8[s]"),
    "opaque bytes": lambda: ArrayInterface(BYTES, (2,), "|V8"),
    "an array struct": lambda: ArrayStruct(BYTES, (4,), itemsize=4),
    "a pointer and a size": lambda: Span(BYTES),
    "a View": lambda: lend.view(bytearray(BYTES)).reinterpret("int16"),
    "a Buffer": lambda: lend.buffer(BYTES),
    "rows behind pointers": rows_behind_pointers,
    "a lazily negated tensor": lazily_negated,
    "a tensor": of_torch,
    "an array of jax": of_jax,
    "an array of pyarrow": of_pyarrow,
    "a list": lambda: [1, 2],
}
TARGETS = ["memoryview", *filter(importlib.util.find_spec, ["numpy", "torch", "jax", "pyarrow", "tvm_ffi"])]

# that producer has new memory at each read, and what jax takes depends on the address
CASES = [(name, target) for name in SOURCES for target in TARGETS if (name, target) != ("an array struct", "jax")]


@pytest.mark.parametrize("copy", [None, True, False])
@pytest.mark.parametrize(("name", "target"), CASES)
def test_the_plan_is_what_happens(name, target, copy):
    source = SOURCES[name]()
    plan = made = None
    predicted = refused = ()
    with lend.copies() as none:
        try:
            plan = lend.explain(source, target, copy=copy)
        except LendError as refusal:  # its class and text: kept itself it would make a cycle through this frame
            predicted = type(refusal), str(refusal)
    with lend.copies() as counted:
        try:
            made = lend.to(source, target, copy=copy)
        except LendError as refusal:
            refused = type(refusal), str(refusal)
    assert none.count == 0
    assert refused == predicted
    if plan is None:
        assert counted.count == 0
        return
    ours = [step for step in plan.steps if step.who in ("lend", "producer")]
    assert [(copy.nbytes, copy.why) for copy in counted.recent] == [(step.nbytes, step.why) for step in ours]
    assert (plan.copies == ()) if copy is False else (plan.copies != () or copy is None)
    assert made is not None


@pytest.mark.parametrize(
    ("name", "protocol"),
    [
        ("bytes", "buffer protocol"),
        ("an exporter", "buffer protocol"),
        ("DLPack", "DLPack"),
        ("an exchange table", "DLPack C exchange API"),
        ("a capsule", "DLPack capsule"),
        ("an array interface", "array interface"),
        ("an array struct", "array struct"),
        ("a pointer and a size", "ptr and size"),
        ("a View", "lend itself"),
        ("rows behind pointers", "buffer protocol"),
        ("a tensor", "DLPack C exchange API"),
    ],
)
def test_the_plan_names_the_protocol(name, protocol):
    assert lend.explain(SOURCES[name](), "memoryview").protocol == protocol


def test_explaining_gives_every_lease_back():
    for exporter in (CountingBuffer(BYTES), CountingDLPack(BYTES, (4,)), CountingExchange(BYTES, (4,))):
        plan = lend.explain(exporter, "memoryview")
        assert (exporter.live, exporter.audit()) == (0, [])
        del plan
