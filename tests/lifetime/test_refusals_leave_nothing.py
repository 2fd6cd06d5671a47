"""No refusal leaves a lease, a reference or a cycle behind, whichever its class (LIFE-12).

Each row is carried out on a new producer without the collector. Afterwards the producer is gone, its books are right,
and the collector finds nothing to collect: no error keeps itself alive through its traceback.
"""

import copy
import decimal
import importlib
import operator
import sys

import pytest

import lend
from lend.errors import (
    CopyRequired,
    LeaseLost,
    LendError,
    MalformedDescriptor,
    NotHostAccessible,
    NotLendable,
    ReadOnlyMemory,
    StreamError,
    UnsupportedLayout,
    UnsupportedType,
)
from support import counting
from support.counting import CountingDLPack
from support.producers import ArrayInterface, ArrayStruct
from support.remains import FLOATS, Offering, floats, held_by_the_error, remains, set_aside, tensor


@pytest.fixture(autouse=True, scope="module")
def frozen():
    importlib.import_module("lend.plan.planner")
    with set_aside():
        yield


def on_device(p, kind="cuda"):
    return lend.View.from_pointer(p.address, (6,), "float32", owner=p, device=kind)


def released(take, use):
    def late(p):
        lent = take(p)
        lent.release()
        use(lent)

    return late


class NoDoor:
    address = 64


class Raises(CountingDLPack):
    def __dlpack__(self, **keywords):
        raise RuntimeError("the tensor is not ready")


class Interrupted(CountingDLPack):
    def __dlpack__(self, **keywords):
        raise KeyboardInterrupt


def used_capsule(p):
    capsule = p.capsule()
    lend.view(capsule).release()
    lend.view(capsule)


def while_exported(p):
    view = lend.view(p)
    held = memoryview(view)
    try:
        view.release()
    finally:
        del held


class Absent:
    """Finds that a module is not there."""

    def find_spec(self, name, path=None, target=None):
        if name == "tvm_ffi":
            raise ModuleNotFoundError("it is not here", name=name)


def not_installed(p):
    there = {name: module for name, module in sys.modules.items() if name == "tvm_ffi"}
    sys.modules.pop("tvm_ffi", None)
    sys.meta_path.insert(0, Absent())
    try:
        lend.explain(p, "tvm_ffi")  # `lend.to` may have handed over to it before, and remembers the way
    finally:
        sys.meta_path.pop(0)
        sys.modules.update(there)


def raising(error):
    def target(view):
        raise error(view.ptr)

    return target


def two_rows(p):
    return lend.view(p).reshape(2, 3)


REFUSALS = {
    "an alignment": (CopyRequired, floats, lambda p: lend.view(p, align=1 << 30)),
    "a byte order": (CopyRequired, floats, lambda p: lend.view(p, dtype=">f4")),
    "an order": (CopyRequired, floats, lambda p: lend.view(two_rows(p), order="F")),
    "a dtype": (LendError, floats, lambda p: lend.view(p, dtype="int8")),
    "dimensions": (LendError, floats, lambda p: lend.view(p, ndim=5)),
    "a copy off a device": (NotHostAccessible, floats, lambda p: lend.to(on_device(p), device="cpu", copy=False)),
    "a copy off a device, explained": (
        NotHostAccessible,
        floats,
        lambda p: lend.explain(on_device(p), device="cpu", copy=False),
    ),
    "a copy to a device without a driver": (NotHostAccessible, floats, lambda p: lend.view(p, device="rocm:0")),
    "no door": (NotLendable, NoDoor, lend.view),
    "no door of a buffer": (NotLendable, NoDoor, lend.buffer),
    "no door to a target": (NotLendable, NoDoor, lambda p: lend.to(p, "memoryview")),
    "no door, explained": (NotLendable, NoDoor, lend.explain),
    "a producer that raises": (NotLendable, lambda: Raises(FLOATS, (6,)), lend.view),
    "a producer that raises, to a target": (
        NotLendable,
        lambda: Raises(FLOATS, (6,)),
        lambda p: lend.to(p, "memoryview"),
    ),
    "a producer that is interrupted": (KeyboardInterrupt, lambda: Interrupted(FLOATS, (6,)), lend.view),
    "memory of a device": (NotHostAccessible, floats, lambda p: memoryview(on_device(p))),
    "elements of a device": (NotHostAccessible, floats, lambda p: on_device(p).tolist()),
    "bytes of a device": (NotHostAccessible, floats, lambda p: on_device(p).tobytes()),
    "a copy of a device": (NotHostAccessible, floats, lambda p: copy.deepcopy(on_device(p))),
    "a device to a target": (NotHostAccessible, floats, lambda p: lend.to(on_device(p), "memoryview")),
    "another device": (LendError, floats, lambda p: lend.view(p, device="cuda:0")),
    "another device to go to": (LendError, floats, lambda p: lend.to(p, "memoryview", device="cuda:0")),
    "another device for DLPack": (LendError, floats, lambda p: lend.view(p).__dlpack__(dl_device=(2, 0))),
    "another device for DLPack of a buffer": (LendError, floats, lambda p: lend.buffer(p).__dlpack__(dl_device=(2, 0))),
    "writing": (ReadOnlyMemory, lambda: floats(readonly=True), lambda p: lend.view(p, writable=True)),
    "writing to a buffer": (ReadOnlyMemory, lambda: floats(readonly=True), lambda p: lend.buffer(p, writable=True)),
    "writing to a tensor": (ReadOnlyMemory, lambda: tensor(flags=1), lambda p: lend.view(p, writable=True)),
    "a Py_buffer for writing": (
        ReadOnlyMemory,
        lambda: floats(readonly=True),
        lambda p: counting.hold(lend.view(p), counting.FULL),
    ),
    "a capsule without a version": (LendError, lambda: floats(readonly=True), lambda p: lend.view(p).__dlpack__()),
    "a dtype that lend lacks": (UnsupportedType, lambda: floats(format="Q{"), lend.view),
    "a dtype without a format": (
        UnsupportedType,
        lambda: CountingDLPack(bytes(16), (2,), dtype=(4, 16, 1)),
        lambda p: memoryview(lend.view(p)),
    ),
    "a dtype that is not DLPack's": (
        LendError,
        lambda: floats(format=">f"),
        lambda p: lend.view(p).__dlpack__(max_version=(1, 3)),
    ),
    "nulls": (UnsupportedType, floats, lambda p: lend.to(p, len, nulls="nan")),
    "a shape of a transpose": (LendError, floats, lambda p: two_rows(p).T.reshape(6)),
    "another dtype of a transpose": (LendError, floats, lambda p: two_rows(p).T.reinterpret("int8")),
    "65 dimensions": (LendError, lambda: floats(shape=(1,) * 65), lend.view),
    "negative strides for DLPack": (UnsupportedLayout, floats, lambda p: lend.view(p)[::-1].__dlpack__()),
    "negative strides by the table": (LendError, floats, lambda p: counting.exchange_take(lend.view(p)[::-1])),
    "gaps for a simple request": (LendError, floats, lambda p: counting.hold(lend.view(p)[::2], counting.C_CONTIGUOUS)),
    "a buffer that lies": (MalformedDescriptor, lambda: floats(lie={"ndim": -1}), lend.view),
    "a tensor that lies": (MalformedDescriptor, lambda: tensor(null_shape=True), lend.view),
    "a tensor of an unknown dtype": (LendError, lambda: tensor(dtype=(99, 32, 1)), lend.view),
    "a table that lies": (MalformedDescriptor, lambda: Offering(FLOATS, (6,), null_shape=True), lend.view),
    "an interface that lies": (MalformedDescriptor, lambda: ArrayInterface(FLOATS, (-6,), "<f4"), lend.view),
    "a struct that lies": (MalformedDescriptor, lambda: ArrayStruct(FLOATS, (-6,), itemsize=4), lend.view),
    "a capsule that was used": (MalformedDescriptor, tensor, used_capsule),
    "a capsule that is malformed": (MalformedDescriptor, lambda: tensor(ndim=-1), lambda p: lend.view(p.capsule())),
    "out of the buffer": (MalformedDescriptor, floats, lambda p: lend.buffer(p).view("float32", (7,))),
    "a dtype that does not divide": (LendError, floats, lambda p: lend.buffer(p)[1:].view("float32")),
    "a pointer that wraps": (LendError, floats, lambda p: lend.View.from_pointer(2**64 - 4, (6,), "float32", owner=p)),
    "a stream": (LendError, floats, lambda p: lend.view(p, stream=5)),
    "a stream for DLPack": (StreamError, floats, lambda p: lend.view(p).__dlpack__(stream=5)),
    "a stream for DLPack of a buffer": (StreamError, floats, lambda p: lend.buffer(p).__dlpack__(stream=5)),
    "a release under an export": (LendError, floats, while_exported),
    "a target that is none": (ValueError, floats, lambda p: lend.to(p, "nummpy")),
    "a target that is none, explained": (ValueError, floats, lambda p: lend.explain(p, "nummpy")),
    "a target that is not installed": (ImportError, floats, not_installed),
    "an option that is none": (TypeError, floats, lambda p: lend.to(p, "memoryview", stack=True)),
    "no target": (TypeError, floats, lend.to),
    "a target that raises": (KeyError, floats, lambda p: lend.to(p, raising(KeyError))),
    "a target that exits": (SystemExit, floats, lambda p: lend.to(p, raising(SystemExit))),
    "copy=1": (TypeError, floats, lambda p: lend.view(p, copy=1)),
    "writable=1": (TypeError, floats, lambda p: lend.view(p, writable=1)),
    "copy=1 of a capsule": (ValueError, floats, lambda p: lend.view(p).__dlpack__(copy=1)),
    "copy='x' to a target": (TypeError, floats, lambda p: lend.to(p, "memoryview", copy="x")),
    "a version that is none": (TypeError, floats, lambda p: lend.view(p).__dlpack__(max_version=3)),
    "an index out of bounds": (IndexError, floats, lambda p: lend.view(p)[6]),
    "too many indices": (IndexError, floats, lambda p: lend.view(p)[0, 0]),
    "an index that is none": (TypeError, floats, lambda p: lend.view(p)["a"]),
    "an index of a buffer": (TypeError, floats, lambda p: lend.buffer(p)[0]),
    "a step of a buffer": (ValueError, floats, lambda p: lend.buffer(p)[::2]),
    "a shape of another size": (ValueError, floats, lambda p: lend.view(p).reshape(7)),
    "a dtype that is none": (ValueError, floats, lambda p: lend.view(p).reinterpret("flaot32")),
    "an order that is none": (ValueError, floats, lambda p: lend.view(p).tobytes("A")),
    "the item of many": (ValueError, floats, lambda p: lend.view(p).item()),
    "an attribute that is none": (AttributeError, floats, lambda p: lend.view(p).nothing),
    "an attribute that hides": (AttributeError, floats, lambda p: on_device(p).__array_interface__),
    "an attribute that is set": (AttributeError, floats, lambda p: setattr(lend.view(p), "ptr", 0)),
}
AFTER_RELEASE = {
    "ptr": lambda lent: lent.ptr,
    "device": lambda lent: lent.device,
    "owner": lambda lent: lent.owner,
    "a capsule": lambda lent: lent.__dlpack__(),
    "a versioned capsule": lambda lent: lent.__dlpack__(max_version=(1, 3)),
    "a copied capsule": lambda lent: lent.__dlpack__(copy=True),
    "the exchange table": counting.exchange_take,
    "the array interface": lambda lent: lent.__array_interface__,
    "the array struct": lambda lent: lent.__array_struct__,
    "a memoryview": memoryview,
    "a slice": lambda lent: lent[1:],
    "tobytes": lambda lent: lent.tobytes(),
    "len": len,
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "verify": lambda lent: lent.verify(),
    "a block": lambda lent: lent.__enter__(),
    "lend.view": lend.view,
    "lend.buffer": lend.buffer,
    "a copying lend.view": lambda lent: lend.view(lent, copy=True),
    "lend.to": lambda lent: lend.to(lent, "memoryview"),
    "lend.explain": lend.explain,
}
LATE = {
    f"{take.__name__}, released: {name}": (LeaseLost, floats, released(take, use))
    for take in (lend.view, lend.buffer)
    for name, use in AFTER_RELEASE.items()
}
LATE |= {
    f"view, released: {name}": (LeaseLost, floats, released(lend.view, use))
    for name, use in {
        "tolist": lambda view: view.tolist(),
        "item": lambda view: view.item(),
        "copy": lambda view: view.copy(),
        "reshape": lambda view: view.reshape(2, 3),
        "reinterpret": lambda view: view.reinterpret("int8"),
        "T": lambda view: view.T,
        "buffer": lambda view: view.buffer,
        "iteration": list,
    }.items()
}
LATE["buffer, released: view"] = (LeaseLost, floats, released(lend.buffer, lambda buffer: buffer.view("int8")))


@pytest.mark.parametrize(("expected", "make", "use"), (REFUSALS | LATE).values(), ids=REFUSALS | LATE)
def test_a_refusal_leaves_nothing(expected, make, use):
    raised, wrong = remains(make, use)
    assert wrong == []
    assert raised is not None
    assert issubclass(raised, expected)


class Returning(lend.Producer):
    """Returns something else than a View of what it lends."""

    def __init__(self, make, producer):
        self.make, self.producer = make, producer

    def lend(self):
        made, self.producer = self.make(self.producer), None
        return made


HANDLED = REFUSALS | LATE | {
    "a low part": (UnsupportedType, floats, lambda p: lend.view(p).low("uint64")),
    "a part of elements that share bytes": (
        UnsupportedLayout, floats, lambda p: lend.view(p).reinterpret("int4_packed")[1:],
    ),
    "a transpose of elements that share bytes": (
        UnsupportedLayout, floats, lambda p: lend.view(p).reinterpret("int4_packed").reshape(2, -1).T,
    ),
    "the rows of elements that share bytes": (
        UnsupportedLayout, floats, lambda p: list(lend.view(p).reinterpret("int4_packed").reshape(16, 3)),
    ),
    "elements that share bytes to a target": (
        UnsupportedType, floats, lambda p: lend.to(lend.view(p).reinterpret("int4_packed"), "memoryview"),
    ),
    "elements that share bytes of a buffer": (
        UnsupportedLayout, lambda: floats(shape=(6,)), lambda p: lend.buffer(p)[:7].view("uint6"),
    ),
    "an item out of bounds": (IndexError, floats, lambda p: lend.view(p).item(6)),
    "too many indices of an item": (IndexError, floats, lambda p: lend.view(p).item(0, 0)),
    "a copy to a target": (CopyRequired, floats, lambda p: lend.to(p, bytes, copy=False)),
    "an array of another dtype": (
        LendError, floats, lambda p: lend.view(p).__array__("float64", copy=False),
    ),
    "an array of Arrow's of another type": (
        LendError, lambda: floats(shape=(2, 3)), lambda p: lend.view(p).__arrow_array__(),
    ),
    "a Producer that returns no View": (TypeError, floats, lambda p: lend.view(Returning(memoryview, p))),
    "several numbers as one": (TypeError, floats, lambda p: int(lend.view(p))),
    "an assignment": (TypeError, floats, lambda p: operator.setitem(lend.view(p), 0, 1)),
    "several numbers to a class of one": (NotLendable, floats, lambda p: lend.to(p, int)),
    "no dimension to a list": (NotLendable, floats, lambda p: lend.to(lend.view(p).reshape(-1)[0], list)),
    "rows to a set": (NotLendable, floats, lambda p: lend.to(two_rows(p), set)),
    "a class that is made of other things": (NotLendable, floats, lambda p: lend.to(p, decimal.Decimal)),
}  # fmt: skip
# the error names the View itself, for "did you mean": the interpreter's own doing
del HANDLED["an attribute that is none"]


@pytest.mark.parametrize(("make", "use"), [row[1:] for row in HANDLED.values()], ids=HANDLED)
def test_a_refusal_holds_nothing_while_it_is_handled(make, use):
    assert held_by_the_error(make, use) == []


def test_an_owner_that_was_told_too_little_of_is_free_in_the_except():
    memory = bytearray(8)
    with pytest.raises(MalformedDescriptor):
        lend.View.from_pointer(lend.view(memory).ptr, (9,), "uint8", owner=memory)
    try:
        lend.View.from_pointer(lend.view(memory).ptr, (9,), "uint8", owner=memory)
    except MalformedDescriptor:
        memory.append(1)
    assert len(memory) == 9


@pytest.mark.parametrize("name", [None, 3, "lend"], ids=repr)
def test_what_a_function_of_nobodys_raises_is_what_comes_out(name):
    """Its frame may say anything of the module that it is of."""
    space = {"__name__": name}
    exec("def target(view): raise ValueError('mine')", space)
    with pytest.raises(ValueError, match="^mine$"):
        lend.to(bytearray(4), space["target"])
