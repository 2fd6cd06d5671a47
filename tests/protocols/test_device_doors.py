"""What is asked of an object that has a device interface, and what is not: host memory only where it says host."""

import gc
import weakref

import pytest

import lend
from lend.errors import LendError
from support.counting import CountingBuffer, CountingDLPack
from support.device_producers import ADDRESS, CUDA, SYCL, CudaInterface, RmmLike, SyclInterface
from support.producers import ArrayInterface, ArrayStruct, Only

INTERFACES = {CUDA: CudaInterface, SYCL: SyclInterface}
EACH = pytest.mark.parametrize("name", INTERFACES)


ASKED = []  # what was asked and should not have been


@pytest.fixture(autouse=True)
def nothing_asked_in_vain():
    ASKED.clear()
    yield
    assert ASKED == []


def never(self, *rest, **keywords):
    ASKED.append(type(self).__name__)
    raise AssertionError("it was asked")


NEVER = property(never)
HOST_DOORS = {
    "__array_interface__": {"__array_interface__": NEVER},
    "__array_struct__": {"__array_struct__": NEVER},
    "__array__": {"__array__": never},
    "ptr and size": {"ptr": NEVER, "size": NEVER},
}


@EACH
@pytest.mark.parametrize("door", HOST_DOORS)
def test_what_shows_host_memory_is_not_asked(name, door):
    kind = type("Both", (INTERFACES[name],), HOST_DOORS[door])
    assert lend.view(kind()).ptr == ADDRESS
    with pytest.raises(LendError):  # nor after a refusal
        lend.view(kind(shape=(-1,)))


@EACH
def test_the_buffer_slot_is_not_asked(name):
    source = INTERFACES[name](shape=(16,), typestr="|u1")
    kind = type("Slot", (CountingBuffer,), {name: property(lambda self: source.facts)})
    lender = kind(16)
    assert (lend.view(lender).ptr, lender.gets) == (ADDRESS, 0)


@EACH
def test_the_buffer_slot_of_one_that_announces_the_host_is_asked(name):
    kind = type("Slot", (CountingBuffer,), {name: NEVER, "__dlpack_device__": lambda self: (1, 0)})
    assert lend.view(kind(16)).device == lend.Device("cpu")


def test_each_object_of_a_type_is_asked_where_it_is():
    class Either(CountingBuffer):
        where = (1, 0)

        def __dlpack_device__(self):
            return self.where

        @property
        def __cuda_array_interface__(self):
            return CudaInterface().facts

    host, device = Either(16), Either(16)
    device.where = (2, 0)
    for _ in range(2):
        assert lend.view(host).device == lend.Device("cpu")
        assert lend.view(device).device == lend.Device("cuda:0")
    assert device.gets == 0


@EACH
def test_an_interface_of_the_object_alone_is_seen(name):
    class Plain:
        __array__ = never

    lender = Plain()
    setattr(lender, name, INTERFACES[name]().facts)
    assert lend.view(lender).ptr == ADDRESS


@EACH
def test_an_interface_behind_getattr_is_read_once(name):
    lender = Only(INTERFACES[name](), name)
    assert lend.view(lender).ptr == ADDRESS
    assert lender.reads == [name]


def test_dlpack_is_asked_first():
    kind = type("Both", (CountingDLPack,), {CUDA: NEVER, SYCL: NEVER})
    assert lend.view(kind(16, (4,), device=(2, 1), data=ADDRESS)).device == lend.Device("cuda:1")


def test_what_dlpack_cannot_say_the_interface_does():
    facts = CudaInterface(typestr="<M8[s]").facts
    lender = type("Dated", (CountingDLPack,), {CUDA: property(lambda self: facts)})(
        16, (4,), dtype=(99, 64, 1), device=(2, 1), data=ADDRESS
    )
    view = lend.view(lender)
    assert (view.dtype, view.device) == (lend.DType("datetime64[s]"), lend.Device("cuda:1"))


def test_the_cuda_interface_is_asked_before_that_of_sycl():
    kind = type("Both", (CudaInterface,), {SYCL: NEVER})
    assert lend.view(kind()).device.name == "cuda"


def test_a_refused_pointer_of_a_device_is_not_taken_for_host_memory():
    lender = RmmLike(mask=RmmLike())
    with pytest.raises(LendError, match="mask"):
        lend.buffer(lender)


def test_an_object_without_an_interface_of_a_class_that_has_one_is_refused_by_name():
    def absent(self):
        raise AttributeError("on the CPU")

    kind = type("Absent", (), {CUDA: property(absent), "__array__": never})
    with pytest.raises(LendError, match="CUDA array interface"):
        lend.view(kind())


def test_host_memory_by_the_array_interface_is_told_apart_in_a_plan():
    facts = {CUDA: NEVER, "__dlpack_device__": lambda self: (1, 0)}
    lender = type("Host", (ArrayInterface,), facts)(bytes(8), (8,), "|u1")
    assert "lent by array interface" in str(lend.explain(lender))


@EACH
def test_the_protocol_is_named(name):
    told = {CUDA: "CUDA array interface", SYCL: "SYCL USM array interface"}[name]
    lender = INTERFACES[name]()
    assert f"lent by {told}" in str(lend.explain(lender))
    with pytest.raises(LendError, match=f"{told} .*shape"):
        lend.view(INTERFACES[name](shape=5))


@EACH
def test_the_object_goes_to_a_callable_as_it_is(name):
    told = lend.to(INTERFACES[name](), lambda view: getattr(view, name))
    assert told == INTERFACES[name]().facts


@EACH
def test_nothing_is_held_after_a_plan(name):
    lender = INTERFACES[name]()
    gone = weakref.ref(lender)
    lend.explain(lender)
    del lender
    gc.collect()
    assert gone() is None


ADDRESSES = {
    "array interface": (ArrayInterface, {"typestr": "|u1"}),
    "array struct": (ArrayStruct, {"kind": "u", "itemsize": 1}),
}


def showing(name, facts):
    """A class of objects that show an address, and more; how many bytes each shows."""
    kind, more = ADDRESSES[name]
    cls = type("Showing", (kind,), facts)
    return lambda data: cls(data, (len(data),), **more)


@pytest.mark.parametrize("announced", [(2, 0), (10, 1), (14, 0), (3, 0), "nonsense"], ids=repr)
@pytest.mark.parametrize("name", ADDRESSES)
def test_an_address_of_what_was_announced_elsewhere_is_not_taken_for_the_hosts(announced, name):
    """Its own DLPack refuses; what else it shows may be an address that ends the process that reads it."""

    def refuse(self, **keywords):
        raise BufferError("not now")

    facts = {"__dlpack_device__": lambda self: announced, "__dlpack__": refuse}
    for take in (lend.view, lend.buffer):
        with pytest.raises(LendError):
            take(showing(name, facts)(bytes(8)))


@pytest.mark.parametrize("name", ADDRESSES)
def test_each_object_of_a_type_is_asked_where_its_address_is(name):
    make = showing(name, {"place": (1, 0), "__dlpack_device__": lambda self: self.place})
    for _ in range(2):  # the second time the type is known
        assert lend.view(make(b"12345678")).tobytes() == b"12345678"
    away = make(bytes(8))
    away.place = (2, 0)
    with pytest.raises(LendError):
        lend.view(away)
