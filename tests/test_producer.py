"""lend.Producer: one method that returns a View, and every protocol follows."""

import array
import copy
import ctypes
import gc
import pickle
import struct
import weakref

import pytest

import lend
from lend.errors import LendError, MalformedDescriptor, ReadOnlyMemory
from support import counting

VALUES = [1.0, 2.0, 3.0, 4.0]
FLOATS = struct.pack("4f", *VALUES)


class Block:
    """Owns memory, and can be watched."""

    def __init__(self, data):
        self.memory = ctypes.create_string_buffer(bytes(data), len(data))
        self.address = ctypes.addressof(self.memory)


class Samples(lend.Producer):
    def __init__(self, dtype="float32", data=FLOATS, readonly=False):
        self.block = Block(data)
        self.dtype, self.readonly, self.asked = dtype, readonly, 0

    def lend(self):
        self.asked += 1
        size = len(self.block.memory) // lend.DType(self.dtype).itemsize
        return lend.View.from_pointer(
            self.block.address, size, self.dtype, owner=self.block, readonly=self.readonly
        )  # fmt: skip


class Listed(lend.Producer):
    def lend(self):
        return lend.view(self.numbers)


class Slotted(Listed):
    __slots__ = ("numbers",)


class Wrong(lend.Producer):
    def lend(self):
        return b"no view"


class Silent(lend.Producer):
    pass


def test_the_buffer_protocol_shows_the_memory():
    with memoryview(Samples()) as shown:
        assert (shown.tolist(), shown.format, shown.readonly) == (VALUES, "f", False)


def test_what_is_written_through_a_memoryview_is_written():
    samples = Samples()
    with memoryview(samples) as shown:
        shown[0] = 9.0
    assert lend.view(samples).tolist()[0] == 9.0


def test_memory_that_is_read_only_is_so_by_every_protocol():
    samples = Samples(readonly=True)
    assert memoryview(samples).readonly
    assert lend.view(samples).readonly
    with pytest.raises(ReadOnlyMemory):
        lend.view(samples, writable=True)


def test_a_view_has_the_owner_that_was_named():
    samples = Samples()
    assert lend.view(samples).owner.producer is samples.block


@pytest.mark.parametrize("take", [lend.view, lend.buffer, lambda x: lend.to(x, "memoryview"), lend.explain])
def test_lend_asks_once(take):
    samples = Samples()
    take(samples)
    assert samples.asked == 1


@pytest.mark.parametrize("max_version", [None, (1, 3)])
def test_a_capsule_holds_the_memory_and_not_the_object(max_version):
    samples = Samples()
    gone, block = weakref.ref(samples), weakref.ref(samples.block)
    tensor = counting.consume(samples.__dlpack__(max_version=max_version))
    del samples
    gc.collect()
    assert gone() is None
    assert tensor.tobytes() == struct.pack("4f", *VALUES)
    tensor.delete()
    gc.collect()
    assert block() is None


def test_the_exchange_table_serves_a_subclass():
    tensor = counting.exchange_take(Samples())
    assert tensor.tobytes() == struct.pack("4f", *VALUES)


def test_an_export_holds_the_memory_when_the_object_moves_on():
    samples = Samples()
    shown = memoryview(samples)
    samples.block = Block(bytes(16))
    gc.collect()
    assert shown.tolist() == VALUES
    assert memoryview(samples).tolist() == [0.0] * 4


def test_an_address_that_was_told_stays_good_when_the_object_moves_on():
    samples = Samples()
    block = weakref.ref(samples.block)
    address = samples.__array_interface__["data"][0]
    samples.block = Block(bytes(16))
    gc.collect()
    assert block() is not None
    assert ctypes.string_at(address, 16) == struct.pack("4f", *VALUES)


@pytest.mark.parametrize(
    "make",
    [lend.view, lambda block: lend.View.from_pointer(ctypes.addressof(block), 4099, "uint8", owner=block)],
    ids=["a view", "a pointer"],
)
def test_an_address_that_is_told_again_holds_no_more_memory(make):
    class Lends(lend.Producer):
        def lend(self):
            return make(self.block)

    lends = Lends()
    lends.block = (ctypes.c_char * 4099)()
    addresses = {lends.__array_interface__["data"][0] for _ in range(20)}
    assert addresses == {ctypes.addressof(lends.block)}
    assert len([loan for loan in lend.loans() if loan.nbytes == 4099]) == 1


def test_numpy_takes_what_the_buffer_protocol_cannot_say():
    numpy = pytest.importorskip("numpy")
    dates = Samples("datetime64[D]", struct.pack("2q", 0, 1))
    assert numpy.asarray(dates).tolist() == numpy.array(["1970-01-01", "1970-01-02"], "M8[D]").tolist()


@pytest.mark.parametrize("library", ["numpy", "torch", "jax", "pyarrow"])
def test_libraries_take_it_as_they_take_a_view(library):
    pytest.importorskip(library)
    made = lend.to(Samples(), library)
    assert made.tolist() == VALUES


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_libraries_take_it_by_themselves(library):
    module = pytest.importorskip(library)
    assert module.from_dlpack(Samples()).tolist() == VALUES


def test_pyarrow_takes_it_by_itself():
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.array(Samples()).to_pylist() == VALUES


def test_it_forwards_an_object_that_lends():
    class Forwards(lend.Producer):
        def lend(self):
            return lend.view(self.inner)[1:]

    forwards = Forwards()
    forwards.inner = array.array("i", [1, 2, 3])
    assert memoryview(forwards).tolist() == [2, 3]
    shown = memoryview(forwards)
    with pytest.raises(BufferError):
        forwards.inner.append(4)
    assert shown.tolist() == [2, 3]


def test_what_lend_refuses_is_told_by_whom():
    with pytest.raises(MalformedDescriptor, match=r"lend\(\) of .*Wrong returned bytes, not a lend\.View"):
        lend.view(Wrong())


USES = {
    "view": lend.view, "buffer": lend.buffer, "memoryview": memoryview, "dlpack": lambda x: x.__dlpack__(),
    "device": lambda x: x.__dlpack_device__(), "interface": lambda x: x.__array_interface__,
    "struct": lambda x: x.__array_struct__, "array": lambda x: x.__array__(), "to": lambda x: lend.to(x, "memoryview"),
    "exchange": counting.exchange_take,
}  # fmt: skip
RETURNED = {
    "bytes": (b"abc", r"bytes", r"return lend\.view\(\.\.\.\) of what it returns now"),
    "a Buffer": (lend.buffer(b"abc"), r"lend\.\S*Buffer", r"return lend\.view\(\.\.\.\)"),
    "an array": (array.array("d"), r"array\.array", r"return lend\.view\(\.\.\.\)"),
    "nothing": (None, "NoneType", r"return lend\.View\.from_pointer"),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("name", RETURNED)
def test_a_method_that_returns_no_view_is_refused_by_every_protocol_with_a_remedy(use, name):
    returned, told, remedy = RETURNED[name]
    source = type("Mistaken", (lend.Producer,), {"lend": lambda self: returned})()
    with pytest.raises(
        MalformedDescriptor, match=rf"(?s)lend\(\) of \S*Mistaken returned {told}, not a lend\.View.*try .*{remedy}"
    ):
        use(source)


@pytest.mark.parametrize("use", [memoryview, lend.view])
def test_a_class_without_the_method_says_what_is_missing(use):
    with pytest.raises((NotImplementedError, LendError), match=r"def lend\(self\)"):
        use(Silent())


def test_what_the_method_raises_becomes_ours_with_it_as_the_cause():
    class Fails(lend.Producer):
        def lend(self):
            raise OSError("the file is gone")

    with pytest.raises(LendError, match="the file is gone") as caught:
        lend.view(Fails())
    assert isinstance(caught.value.__cause__, OSError)


EVERY_DOOR = {
    "view": lend.view,
    "a buffer": memoryview,
    "DLPack": lambda p: p.__dlpack__(),
    "its device": lambda p: p.__dlpack_device__(),
    "an interface": lambda p: p.__array_interface__,
    "a look for one": lambda p: hasattr(p, "__array_struct__"),
    "an array": lambda p: p.__array__(),
}


@pytest.mark.parametrize("door", EVERY_DOOR)
def test_what_the_method_raises_becomes_ours_by_every_protocol(door):
    class Gone(lend.Producer):
        def lend(self):
            raise KeyError("the file is gone")

    with pytest.raises(LendError, match=r"lend\(\) of .*Gone raised") as caught:
        EVERY_DOOR[door](Gone())
    assert type(caught.value.__cause__) is KeyError


@pytest.mark.parametrize("door", EVERY_DOOR)
def test_an_interrupt_in_the_method_passes_by_every_protocol(door):
    class Slow(lend.Producer):
        def lend(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        EVERY_DOOR[door](Slow())


def test_a_refusal_of_the_method_is_passed_on():
    class Refuses(lend.Producer):
        def lend(self):
            return lend.view(b"abcd", writable=True)

    with pytest.raises(ReadOnlyMemory, match="this bytes object"):
        lend.view(Refuses())


@pytest.mark.parametrize(
    "ask",
    [lambda x: x.__array_interface__, lambda x: x.__array_struct__, lambda x: hasattr(x, "__cuda_array_interface__")],
)
def test_addresses_that_are_told_again_and_again_pile_nothing_up(ask):
    samples = Samples()
    ask(samples)
    gc.collect()  # of what other tests left in cycles
    before = len(lend.loans())
    for _ in range(20):
        ask(samples)
    assert len(lend.loans()) == before


def test_an_address_that_is_not_told_keeps_nothing():
    samples = Samples()
    block = weakref.ref(samples.block)
    assert not hasattr(samples, "__cuda_array_interface__")
    samples.block = None
    assert block() is None


@pytest.mark.parametrize("duplicate", [copy.copy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"])
@pytest.mark.parametrize("slots", [False, True])
def test_a_subclass_is_copied_and_pickled_by_its_attributes(duplicate, slots):
    producer = Slotted() if slots else Listed()
    producer.numbers = array.array("i", [1, 2, 3])
    assert producer.__array_interface__["shape"] == (3,)
    assert lend.view(duplicate(producer)).tolist() == [1, 2, 3]


@pytest.mark.parametrize("target", [None, "memoryview"])
def test_explain_names_lend_itself(target):
    assert lend.explain(Samples(), target).protocol == "lend itself"
