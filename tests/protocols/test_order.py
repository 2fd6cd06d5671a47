"""Which protocol an object is asked by when it has several, and what it is never asked for (SPEED-1, SPEED-2)."""

import importlib.util

import pytest

import lend
from lend.errors import ReadOnlyMemory
from lend.protocols.order import ORDER
from support import counting
from support.counting import CountingBuffer, CountingDLPack, CountingExchange
from support.producers import ArrayInterface, ArrayStruct, Memory, Span

DATA = bytes(range(1, 9))
BYTES = {"dtype": (1, 8, 1)}

# what loses least and costs least comes first; a bare capsule comes before all and has nothing else
FIRST_TO_LAST = [
    "DLPack C exchange API",
    "buffer protocol",
    "array struct",
    "DLPack",
    "array interface",
    "ptr and size",
    "array method",
]


class Asked:
    """What producers of several protocols have in common: the memory, and the list of what was asked of them."""

    def __init__(self):
        self.block, self.heard = Memory(DATA), []
        self.tensor = CountingDLPack(DATA, (8,), **BYTES)
        self.interface = ArrayInterface(DATA, (8,), "|u1")
        self.struct = ArrayStruct(DATA, (8,), kind="u", itemsize=1)


class AskedBuffer(CountingBuffer, Asked):
    def __init__(self):
        CountingBuffer.__init__(self, DATA, on_get=lambda flags: self.heard.append("buffer protocol"))
        Asked.__init__(self)


def dlpack(self, **keywords):
    self.heard.append("DLPack")
    return self.tensor.__dlpack__(**keywords)


def attribute(protocol, answer):
    def read(self):
        self.heard.append(protocol)
        return answer(self)

    return property(read)


def array(self, dtype=None, copy=None):
    self.heard.append("array method")
    return self.interface


OFFERS = {
    "DLPack C exchange API": lambda: {"__dlpack_c_exchange_api__": counting.exchange_table()},
    "buffer protocol": dict,
    "array struct": lambda: {
        "__array_struct__": attribute("array struct", lambda self: self.struct.__array_struct__),
    },
    "DLPack": lambda: {"__dlpack__": dlpack, "__dlpack_device__": lambda self: (1, 0)},
    "array interface": lambda: {
        "__array_interface__": attribute("array interface", lambda self: self.interface.__array_interface__),
    },
    "ptr and size": lambda: {
        "ptr": attribute("ptr and size", lambda self: self.block.address),
        "nbytes": attribute("ptr and size", lambda self: self.block.nbytes),
    },
    "array method": lambda: {"__array__": array},
}


def offering(protocols):
    """An object of a class of its own that offers these protocols."""
    offered = {name: value for protocol in protocols for name, value in OFFERS[protocol]().items()}
    base = AskedBuffer if "buffer protocol" in protocols else Asked
    return type("Several", (base,), offered)()


USES = {
    "lend.view": lend.view,
    "lend.buffer": lend.buffer,
    "lend.to": lambda obj: lend.to(obj, "memoryview"),
    "lend.explain": lambda obj: lend.explain(obj, "memoryview"),
}
PAIRS = [(first, later) for at, first in enumerate(FIRST_TO_LAST) for later in FIRST_TO_LAST[at + 1 :]]


def asked_of(obj):
    """The protocols by which it was asked; a table is static, so that its tensors tell."""
    return set(obj.heard) | ({"DLPack C exchange API"} if "DLPack" not in obj.heard and obj.tensor.made else set())


def expected(protocols):
    """The first alone; but an array interface may have a mask, of which no other protocol tells."""
    return {protocols[0]} | ({"array interface"} & set(protocols))


def test_the_order_is_the_one_that_is_tried_here():
    # those of devices stand aside: an object that has one is not asked by what is for host memory
    devices = ["CUDA array interface", "SYCL USM array interface"]
    after = FIRST_TO_LAST.index("DLPack") + 1
    expected = ["DLPack capsule", *FIRST_TO_LAST[:after], *devices, *FIRST_TO_LAST[after:]]
    assert [protocol.name for protocol in ORDER] == expected


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("pair", PAIRS, ids=" before ".join)
def test_of_two_protocols_the_first_alone_is_asked(pair, use):
    for protocols in (pair, reversed(pair)):
        obj = offering([*protocols])
        for _ in range(2):  # a type that is met, and one that is known
            made = use(obj)
            assert asked_of(obj) == expected(pair)
        del made


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("at", range(len(FIRST_TO_LAST) - 1), ids=FIRST_TO_LAST[:-1])
def test_of_all_protocols_that_are_left_the_first_alone_is_asked(at, use):
    obj = offering(FIRST_TO_LAST[at:])
    made = use(obj)
    assert asked_of(obj) == expected(FIRST_TO_LAST[at:])
    del made


def test_memory_that_may_not_be_written_to_is_not_asked_for_by_another_protocol():
    class Several(CountingBuffer):
        __dlpack__, __dlpack_device__ = dlpack, OFFERS["DLPack"]()["__dlpack_device__"]

    obj = Several(DATA, readonly=True)
    obj.tensor, obj.heard = CountingDLPack(DATA, (8,), **BYTES), []
    with pytest.raises(ReadOnlyMemory):
        lend.view(obj, writable=True)
    assert obj.heard == []


# never element by element (SPEED-2)

SPIED = ["__getitem__", "__iter__", "__len__", "__next__", "__contains__", "__reversed__", "__index__", "__bool__"]
KINDS = {
    "buffer protocol": lambda: (CountingBuffer, (DATA,), {"poison": False}),
    "DLPack": lambda: (CountingDLPack, (DATA, (8,)), BYTES | {"poison": False}),
    "array interface": lambda: (ArrayInterface, (DATA, (8,), "|u1"), {}),
    "array struct": lambda: (ArrayStruct, (DATA, (8,)), {"kind": "u", "itemsize": 1}),
    "ptr and size": lambda: (Span, (DATA,), {}),
    "exchange table": lambda: (CountingExchange, (DATA, (8,)), BYTES | {"poison": False}),
}
TARGETS = ["memoryview", *(name for name in ("numpy", "torch", "jax", "pyarrow") if importlib.util.find_spec(name))]


def spying(kind):
    """A producer that offers its elements, too, and a list of the times that it was asked for them."""
    cls, arguments, keywords = KINDS[kind]()
    asked = []

    def spy(name):
        def answer(self, *rest):
            asked.append(name)
            raise AssertionError(f"{name} was called")

        return answer

    members = {name: spy(name) for name in SPIED}
    if cls is CountingExchange:
        members["__dlpack_c_exchange_api__"] = counting.exchange_table()  # it is not inherited
    return type("Spying", (cls,), members)(*arguments, **keywords), asked


@pytest.mark.parametrize("copy", [None, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_producer_is_never_asked_for_its_elements_by_a_take(kind, copy):
    producer, asked = spying(kind)
    assert lend.view(producer, copy=copy).tobytes() == DATA
    assert lend.buffer(producer, copy=copy).tobytes() == DATA
    assert asked == []


@pytest.mark.parametrize("target", [None, *TARGETS])
@pytest.mark.parametrize("kind", KINDS)
def test_a_producer_is_never_asked_for_its_elements_on_its_way(kind, target):
    producer, asked = spying(kind)
    if target is not None:
        for copy in (None, True):
            made = lend.to(producer, target, copy=copy)
            assert [int(element) for element in made.tolist()] == [*DATA]
            del made
    assert "uint8[8]" in str(lend.explain(producer, target))
    assert asked == []
