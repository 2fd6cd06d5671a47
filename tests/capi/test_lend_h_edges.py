"""lend.h where a short way could go wrong: handles, one-shot capsules, small structs, interrupts, many dimensions."""

import pathlib
import sys

import pytest

import lend
from lend.errors import CopyRequired, LeaseLost, MalformedDescriptor, ReadOnlyMemory, UnsupportedType
from support import children, masked
from support.counting import CountingBuffer, CountingDLPack, CountingExchange

HERE = "<" if sys.byteorder == "little" else ">"
THERE = "><"[HERE == ">"]
C_ORDER, COPY_IF_NEEDED, COPY, NEED_ALIGNED = 512, 2048, 4096, 8192
OPAQUE_HANDLE = 32
METAL = (8, 0)
WAYS = pytest.mark.parametrize("way", ["acquired", "borrowed"])
PRODUCERS = pytest.mark.parametrize("producer", [CountingDLPack, CountingExchange])


@WAYS
@PRODUCERS
def test_a_handle_and_its_offset_are_kept_apart(consumer, way, producer):
    tensor = producer(bytes(64), (4,), device=METAL, data=4096, byte_offset=8)
    for obj in (tensor, tensor, lend.view(tensor), lend.view(tensor)[1:]):
        said = getattr(consumer, way)(obj)
        first = 8 if said["shape"] == (4,) else 12
        assert (said["address"], said["offset"], said["flags"] & OPAQUE_HANDLE) == (4096, first, OPAQUE_HANDLE)


@WAYS
@pytest.mark.parametrize("flags", [COPY, COPY_IF_NEEDED], ids=["always", "if needed"])
def test_a_bare_capsule_is_copied_as_any_other(consumer, way, flags):
    producer = CountingDLPack(bytes(16), (4,))
    said = getattr(consumer, way)(producer.capsule(True), flags, 2, ord(THERE), 32)
    assert said["shape"] == (4,)
    assert producer.audit() == []


@WAYS
def test_a_capsule_that_does_not_fit_is_given_back_once(consumer, way):
    producer = CountingDLPack(bytes(16), (4,))
    with pytest.raises(CopyRequired):
        getattr(consumer, way)(producer.capsule(True), 0, 2, ord(THERE), 32)
    assert producer.audit() == []


@WAYS
def test_a_producer_is_asked_once_also_when_it_must_be_copied(consumer, way):
    producer = CountingDLPack(bytes(16), (4,))
    lend.view(producer)
    producer.asked.clear()
    getattr(consumer, way)(producer, COPY_IF_NEEDED, 2, ord(THERE), 32)
    assert len(producer.asked) == 1


@WAYS
@pytest.mark.parametrize("flags", [COPY, COPY_IF_NEEDED | C_ORDER])
def test_rows_behind_pointers_are_gathered_when_a_copy_is_allowed(consumer, way, flags):
    testbuffer = pytest.importorskip("_testbuffer")
    rows = testbuffer.ndarray([1, 2, 3, 4, 5, 6], shape=[2, 3], format="i", flags=testbuffer.ND_PIL)
    with lend.copies() as copies:
        said = getattr(consumer, way)(rows, flags)
    assert (said["shape"], copies.count) == ((2, 3), 1)


@pytest.mark.parametrize("borrowing", [False, True], ids=["acquired", "borrowed"])
@pytest.mark.parametrize(
    ("abi", "size", "told"),
    [
        (1 << 16, 64, "struct_size 64"),
        (1 << 16, 0, "struct_size 0"),
        (2 << 16, 240, "abi 0x20000"),
        (0, 240, "abi 0x0"),
    ],
)
def test_a_struct_of_another_abi_or_too_small_is_not_written_to(consumer, abi, size, told, borrowing):
    lend.view(b"abcd")
    with pytest.raises(ValueError, match=told):
        consumer.of_another_header(b"abcd", abi, size, borrowing)


@pytest.mark.parametrize("borrowing", [False, True], ids=["acquired", "borrowed"])
@pytest.mark.parametrize(("abi", "size"), [(1 << 16 | 9, 240), (1 << 16, 256)], ids=["later minor", "longer struct"])
def test_a_struct_of_a_later_header_is_filled_as_far_as_it_is_known(consumer, abi, size, borrowing):
    assert consumer.of_another_header(b"abcd", abi, size, borrowing) is None


def test_an_interrupt_while_a_tensor_is_looked_at_passes(consumer):
    torch = pytest.importorskip("torch")

    class Interrupted(torch.Tensor):
        armed = False

        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            if cls.armed:
                cls.armed = False
                raise KeyboardInterrupt("mine")
            return super().__torch_function__(function, types, args, kwargs or {})

    tensor = torch.zeros(3).as_subclass(Interrupted)
    lend.view(tensor)
    Interrupted.armed = True
    try:
        consumer.borrowed(tensor)
    except KeyboardInterrupt as error:
        assert str(error) == "mine"
    else:
        assert Interrupted.armed  # torch did not ask the subclass: nothing was there to be lost


def test_borrowing_many_dimensions_leaves_nothing_behind(consumer):
    numpy = pytest.importorskip("numpy")
    resource = pytest.importorskip("resource")
    deep = numpy.zeros((1,) * 32)
    consumer.borrowed(deep)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(60_000):
        consumer.borrowed(deep)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 8_000  # KiB; 30 MB if the dimensions stayed


def test_a_device_of_a_negative_number_is_refused(consumer):
    with pytest.raises(MalformedDescriptor, match="device_id"):
        consumer.wrapped(None, True, "i")


def test_a_device_whose_number_nobody_knows_is_wrapped(consumer):
    assert str(consumer.wrapped(None, True, "?").device) == "cuda:?"


def test_an_address_on_a_device_whose_memory_has_none_is_refused(consumer):
    with pytest.raises(MalformedDescriptor, match="device_type"):
        consumer.wrapped(None, True, "metal")


def test_memory_that_moved_away_is_not_pickled():
    numpy = pytest.importorskip("numpy")
    import pickle

    memory = numpy.zeros(1_000_000)
    view = lend.view(memory)
    memory.resize(10, refcheck=False)
    with pytest.raises(LeaseLost):
        pickle.dumps(view, 5)


@WAYS
@pytest.mark.parametrize("asked", [{"ndim": -2}, {"device_type": -1}], ids=str)
def test_a_request_for_a_negative_number_is_refused(consumer, way, asked):
    ndim, device_type = asked.get("ndim", -1), asked.get("device_type", 0)
    with pytest.raises(ValueError, match="asks for what nothing is"):
        getattr(consumer, way)(b"abcd", 0, 255, ord("|"), 0, ndim, 0, device_type)


SIZED = {"opaque[7]": (128, "|"), "bytes[7]": (131, "|"), "text[3]": (132, None)}


@WAYS
@pytest.mark.parametrize("said", [*SIZED, "record"])
def test_what_is_measured_in_bytes_may_be_asked_for_in_any_size(consumer, way, said):
    dtype = lend.DType([("a", "int32"), ("b", "int8")] if said == "record" else said)
    code, order = SIZED.get(said, (133, "|"))
    view = lend.view(bytes(2 * dtype.itemsize)).reinterpret(dtype)
    asked = (0, code, ord(order or HERE), 0)
    assert getattr(consumer, way)(view, *asked)["address"] == view.ptr
    with pytest.raises(UnsupportedType, match="of any size was required; this memory holds uint8"):
        getattr(consumer, way)(b"abcd", *asked)


def test_a_description_that_is_column_major_needs_no_strides(consumer):
    view = consumer.wrapped(None, True, "F")
    assert (view.strides, view.f_contiguous) == ((2, 6), True)
    assert view.tolist() == [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]]


@pytest.mark.parametrize(
    "make",
    [
        lambda: CountingBuffer(bytes(16)),
        lambda: CountingDLPack(bytes(16), (4,)),
        lambda: CountingExchange(bytes(16), (4,)),
    ],
    ids=["buffer", "capsule", "table"],
)
def test_an_exception_on_its_way_passes_a_release(consumer, make):
    producer = make()
    consumer.keep(producer)
    with pytest.raises(ZeroDivisionError, match="on its way"):
        consumer.drop_and_fail()
    assert producer.audit() == []


@pytest.mark.parametrize("source", ["bytearray(4)", "lend.view(bytes(4))", "CountingDLPack(bytes(16), (4,))"])
def test_a_release_after_the_end_of_the_interpreter_does_nothing(consumer, source):
    out = children.run_clean(
        f"""
        import sys
        sys.path.insert(0, sys.argv[1])
        import consumer, lend
        from support.counting import CountingDLPack
        consumer.keep({source})
        consumer.drop_at_the_end()
        print("kept")
        """,
        args=(pathlib.Path(consumer.__file__).parent,),
    )
    assert out == "kept\n"


@pytest.mark.parametrize("way", ["acquired", "borrowed"])
def test_nobody_writes_to_an_array_of_jax_by_its_unversioned_capsule(consumer, way):
    jnp = pytest.importorskip("jax.numpy")
    made = jnp.zeros(3, jnp.bfloat16)
    for _ in range(2):  # the second time its type is known
        with pytest.raises(ReadOnlyMemory):
            getattr(consumer, way)(made, 256)


@WAYS
@pytest.mark.parametrize("hides", [masked.by_attribute, masked.by_interface])
@pytest.mark.parametrize("kind", ["buffer", "DLPack", "exchange table", "array struct"])
def test_each_object_that_may_have_a_mask_is_asked_for_it(consumer, way, kind, hides):
    free, hidden = hides(kind)(None), hides(kind)()
    take = getattr(consumer, way)
    for _ in range(2):
        assert take(free)["shape"] == (3,)
        with pytest.raises(UnsupportedType, match="mask"):
            take(hidden)
    assert not hasattr(hidden, "audit") or hidden.audit() == []
