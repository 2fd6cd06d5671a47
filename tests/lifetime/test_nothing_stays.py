"""No use of anything public leaves a lease, a reference or a cycle behind (LIFE-12); refusals have their own file.

Each row is carried out on a new producer without the collector. Afterwards the producer is gone, its books are right,
and the collector finds nothing to collect.
"""

import copy
import importlib.util
import sys

import pytest

import lend
from lend.errors import LendError
from support import counting
from support.producers import ArrayInterface, ArrayMethod, ArrayStruct, Span
from support.remains import FLOATS, Offering, floats, remains, set_aside, tensor

LIBRARIES = ("numpy", "torch", "jax", "pyarrow", "tvm_ffi")
TARGETS = ["memoryview", *(name for name in LIBRARIES if importlib.util.find_spec(name))]


@pytest.fixture(autouse=True, scope="module")
def frozen():
    importlib.import_module("lend.plan.planner")
    for library in TARGETS[1:]:
        importlib.import_module(library)
    with set_aside():
        yield


LENDERS = {
    "a buffer": floats,
    "a read-only buffer": lambda: floats(readonly=True),
    "two dimensions": lambda: floats(shape=(2, 3)),
    "a tensor": tensor,
    "an unversioned tensor": lambda: tensor(protocol="legacy"),
    "a table": lambda: Offering(FLOATS, (6,)),
    "an array interface": lambda: ArrayInterface(FLOATS, (6,), "<f4"),
    "an array struct": lambda: ArrayStruct(FLOATS, (6,), itemsize=4),
    "an array method": lambda: ArrayMethod(ArrayInterface(FLOATS, (6,), "<f4")),
    "a pointer and a size": lambda: Span(FLOATS),
}


def each_with(function, *names, **more):
    """One row for each set of keywords that a function of the producer is called with."""
    rows = [{}, *({name: value} for name in names for value in KEYWORDS[name]), *more.values()]
    return {f"{function.__name__} {row or ''}": lambda p, row=row: function(p, **row) for row in rows}


KEYWORDS = {
    "copy": [None, True, False],
    "writable": [None, True, False],
    "device": ["cpu", None],
    "stream": [None],
    "dtype": ["float32", None],
    "ndim": [1, 2],
    "order": ["C", "F"],
    "align": [4, 64],
    "alias_readonly": [True, False],
    "nulls": [None],
}

TAKES = {
    **each_with(
        lend.view,
        *("copy", "writable", "device", "stream", "dtype", "ndim", "order", "align"),
        copied={"copy": True, "writable": False, "order": "F", "dtype": "float32", "align": 4096},
        strict={"copy": False, "writable": True, "device": "cpu", "ndim": 1, "order": "C"},
        swapped={"copy": True, "dtype": ">f4"},
    ),
    **each_with(lend.buffer, "copy", "writable", copied={"copy": True, "writable": False}),
}


@pytest.mark.parametrize("take", TAKES.values(), ids=TAKES)
@pytest.mark.parametrize("make", LENDERS.values(), ids=LENDERS)
def test_a_take_or_its_refusal_leaves_nothing(make, take):
    raised, wrong = remains(make, take)
    assert wrong == []
    assert raised is None or issubclass(raised, LendError)


def hand(function, *rest):
    """`lend.to` or `lend.explain` to a target, under a name of its own."""

    def over(producer, **keywords):
        return function(producer, *rest, **keywords)

    over.__name__ = " ".join([function.__name__, *map(str, rest)])
    return over


HANDED = {
    name: use
    for function in (lend.to, lend.explain)
    for target in TARGETS
    for name, use in each_with(hand(function, target), "copy", "device", "nulls", "alias_readonly").items()
}
HANDED |= {
    **each_with(hand(lend.explain), "copy", "alias_readonly"),
    "a plan as text": lambda p: (str(lend.explain(p)), repr(lend.explain(p, "memoryview"))),
    "a plan as data": lambda p: lend.explain(p, "memoryview").to_dict(),
    "to its own device": lambda p: lend.to(p, device="cpu"),
    "to a class": lambda p: lend.to(p, memoryview),
    "to a function": lambda p: lend.to(p, lambda view: view.tobytes()),
    "to a function that keeps it": lambda p: lend.to(p, lambda view: [view])[0].tobytes(),
    "explained to a function": lambda p: lend.explain(p, bytes),
}


@pytest.mark.parametrize("use", HANDED.values(), ids=HANDED)
@pytest.mark.parametrize("name", ["a buffer", "a read-only buffer", "a tensor"])
def test_a_hand_over_or_its_refusal_leaves_nothing(name, use):
    raised, wrong = remains(LENDERS[name], use)
    assert wrong == []
    assert raised is None or issubclass(raised, LendError)


def attributes(cls):
    return [name for name in dir(cls) if not name.startswith("_") and not callable(getattr(cls, name))]


def reading(take, name):
    return lambda p: getattr(take(p), name)


CAPSULES = {
    "unversioned": {},
    "versioned": {"max_version": (1, 3)},
    "copied": {"copy": True, "max_version": (1, 0)},
    "copied and unversioned": {"copy": True},
    "shared by order": {"copy": False},
    "for a device": {"dl_device": (1, 0)},
    "for a stream of the host": {"stream": None},
    "of all": {"stream": None, "max_version": (1, 1), "dl_device": (1, 0), "copy": False},
}
BOTH = {
    **{f"a capsule, {name}": lambda lent, k=k: lent.__dlpack__(**k) for name, k in CAPSULES.items()},
    **{f"a tensor, {name}": lambda lent, k=k: counting.consume(lent.__dlpack__(**k)) for name, k in CAPSULES.items()},
    "a capsule taken again": lambda lent: lend.view(lent.__dlpack__(max_version=(1, 3))).tolist(),
    "the device for DLPack": lambda lent: lent.__dlpack_device__(),
    "the exchange table": lambda lent: counting.exchange_take(lent).tobytes(),
    "the exchange table, borrowed": counting.exchange_borrow,
    "the exchange table, both ways": lambda lent: counting.exchange_give(counting.exchange_take(lent), lend.View),
    "the array interface": lambda lent: lent.__array_interface__,
    "the array struct": lambda lent: lent.__array_struct__,
    "a memoryview": memoryview,
    "a memoryview that was read": lambda lent: memoryview(lent).tolist(),
    "a Py_buffer": lambda lent: counting.hold(lent).tobytes(),
    "a view of it": lambda lent: lend.view(lent),
    "a buffer of it": lambda lent: lend.buffer(lent),
    "a copy of it": lambda lent: lend.view(lent, copy=True),
    "a slice": lambda lent: lent[1:],
    "tobytes": lambda lent: lent.tobytes(),
    "bytes": bytes,
    "len": len,
    "repr": repr,
    "sizeof": sys.getsizeof,
    "equality": lambda lent: (lent == lent[:], hash(lent), bool(lent)),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "verify": lambda lent: lent.verify(),
    "a block": lambda lent: lent.__enter__().__exit__(None, None, None),
    "release": lambda lent: lent.release(),
    "release after its parts": lambda lent: (lent[1:], lent.release()),
    "the facts of its owner": lambda lent: [getattr(lent.owner, name) for name in attributes(type(lent.owner))],
    "the text of its owner": lambda lent: repr(lent.owner),
    "to": lambda lent: lent.to("memoryview").tolist(),
    "to its own device": lambda lent: lent.to(device="cpu"),
    "loans": lambda lent: [(loan.producer, str(loan), loan.to_dict()) for loan in lend.loans()],
    "loans as a table": lambda lent: str(lend.loans()),
    "copies": lambda lent: [repr(made) for made in lend.copies().recent],
}
OF_VIEW = BOTH | {
    "an element": lambda view: view[2].item(),
    "an element from behind": lambda view: view[-1],
    "a reversed slice": lambda view: view[::-1].tobytes(),
    "a new axis": lambda view: view[None, ..., 1:],
    "an ellipsis": lambda view: view[...],
    "all elements": list,
    "iteration that was left": lambda view: next(iter(view)),
    "reshape": lambda view: view.reshape(2, -1).reshape((3, 2)),
    "reinterpret": lambda view: view.reinterpret("int16"),
    "tolist": lambda view: view.tolist(),
    "its transpose": lambda view: view.reshape(2, 3).T.tolist(),
    "tobytes in columns": lambda view: view.reshape(2, 3).tobytes("F"),
    "copy": lambda view: view.copy(),
    "copy in columns": lambda view: view.reshape(2, 3).copy("F"),
}
OF_BUFFER = BOTH | {
    "bytes by view": lambda buffer: buffer.view(),
    "view of a dtype": lambda buffer: buffer.view("float32").tolist(),
    "view of a shape": lambda buffer: buffer.view("float32", (2, 3)),
    "view of strides": lambda buffer: buffer.view("float32", (3,), (8,), 4).tolist(),
}
if "numpy" in TARGETS:
    BY_NUMPY = {
        "__array__": lambda lent: lent.__array__(),
        "__array__ of a dtype": lambda lent: lent.__array__("f8"),
        "__array__, copied": lambda lent: lent.__array__(None, copy=True),
        "numpy.asarray": lambda lent: sys.modules["numpy"].asarray(lent),
        "numpy.from_dlpack": lambda lent: sys.modules["numpy"].from_dlpack(lent),
    }
    OF_VIEW |= BY_NUMPY
    OF_BUFFER |= BY_NUMPY
if "pyarrow" in TARGETS:
    OF_VIEW["__arrow_array__"] = lambda view: view.__arrow_array__()
if "jax" in TARGETS:
    OF_VIEW["__jax_array__"] = lambda view: view.__jax_array__()

USES = {f"view: {name}": lambda p, use=use: use(lend.view(p)) for name, use in OF_VIEW.items()}
USES |= {f"buffer: {name}": lambda p, use=use: use(lend.buffer(p)) for name, use in OF_BUFFER.items()}
USES |= {f"view.{name}": reading(lend.view, name) for name in attributes(lend.View)}
USES |= {f"buffer.{name}": reading(lend.buffer, name) for name in attributes(lend.Buffer)}
USES |= {
    "View.from_pointer": lambda p: lend.View.from_pointer(p.address, (2, 3), "float32", owner=p).tolist(),
    "View.from_pointer with all": lambda p: lend.View.from_pointer(
        p.address + 20, (6,), "float32", owner=p, strides=(-4,), device="cpu", readonly=False
    ),
    "Buffer.from_pointer": lambda p: bytes(lend.Buffer.from_pointer(p.address, 24, owner=p)),
    "Buffer.from_pointer with all": lambda p: lend.Buffer.from_pointer(p.address, 24, owner=p, readonly=False),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_use_leaves_nothing(use):
    assert remains(floats, use) == (None, [])


# and the books themselves


def test_a_lease_that_is_left_is_found():
    left = []
    _, wrong = remains(floats, lambda p: left.append(lend.view(p)))
    assert wrong[:2] == ["1 exports, 0 releases", "the producer is still referred to"]


def test_a_cycle_that_is_left_is_found():
    def use(producer):
        cycle = [lend.view(producer)]
        cycle.append(cycle)

    _, wrong = remains(floats, use)
    assert wrong[-1].startswith("the collector found")
