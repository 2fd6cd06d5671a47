"""What a request requires is met as the memory lies, by a copy where that is allowed, or refused by name."""

import sys

import pytest

import lend
from support.counting import IS_COPIED, READ_ONLY, CountingBuffer, CountingDLPack, CountingExchange
from support.producers import ArrayInterface

WRITABLE, C_ORDER, F_ORDER, COPY_IF_NEEDED, COPY, NEED_ALIGNED = 256, 512, 1024, 2048, 4096, 8192
NATIVE = "<" if sys.byteorder == "little" else ">"
SIXTEEN = bytes(range(16))


def dtype(code, bits, order=NATIVE, *, unit=0, lanes=1, itemsize=None, multiplier=1):
    itemsize = bits // 8 * lanes if itemsize is None else itemsize
    return (code, ord("|" if bits <= 8 else order), unit, bits, lanes, itemsize, multiplier)


def floats(**keywords):
    keywords = {"format": "f", "itemsize": 4, "shape": (4,)} | keywords
    return CountingBuffer(SIXTEEN, **keywords)


def test_a_request_that_is_met_takes_the_memory_as_it_lies(taker):
    exporter = floats()
    taken = taker(exporter, flags=WRITABLE | C_ORDER | COPY_IF_NEEDED, dtype=dtype(2, 32), ndim=1, device_type=1)
    assert taken.ptr == lend.view(exporter).ptr
    assert not taken.exclusive


UNMET = {
    "dtype": ({"dtype": dtype(2, 64)}, "dtype float64 was required, and it holds float32"),
    "kind": ({"dtype": dtype(0, 32)}, "int32 was required"),
    "order": ({"dtype": dtype(2, 32, ">" if NATIVE == "<" else "<")}, "dtype [<>]float32 was required"),
    "lanes": ({"dtype": dtype(2, 32, lanes=2)}, "2 lanes of float32 was required"),
    "ndim": ({"ndim": 2}, "2 dimensions were required, and it has 1"),
    "device": ({"device_type": 2}, "device type 2, id 0 was required"),
}


@pytest.mark.parametrize("flags", [0, COPY_IF_NEEDED, COPY], ids=["as it lies", "copy if needed", "copy"])
@pytest.mark.parametrize("name", UNMET)
def test_what_no_copy_mends_is_refused_and_given_back(taker, name, flags):
    request, told = UNMET[name]
    exporter = floats()
    with pytest.raises(BufferError, match=f"(?s){told}.*tried  : buffer protocol -> .*try  "):
        taker(exporter, flags=flags, **request)
    assert exporter.audit() == []


MENDED = {
    "a read-only one made writable": ({"readonly": True}, {"flags": WRITABLE}, "writable"),
    "a broadcast one made writable": ({"strides": (0,)}, {"flags": WRITABLE}, "writable"),
    "a strided one made row-major": ({"shape": (2,), "strides": (8,)}, {"flags": C_ORDER}, "row-major"),
    "a row-major one made column-major": ({"shape": (2, 2)}, {"flags": F_ORDER}, "column-major"),
    "a column-major one made row-major": ({"shape": (2, 2), "strides": (4, 8)}, {"flags": C_ORDER}, "row-major"),
    "an unaligned one": ({"shape": (3,), "offset": 1}, {"align": 4}, "align"),
    "one that is not aligned enough": ({"shape": (3,), "offset": 4}, {"align": 4096}, "align"),
    "odd elements": ({"shape": (3,), "offset": 1}, {"flags": NEED_ALIGNED}, "aligned elements"),
    "odd strides": ({"shape": (3,), "strides": (5,)}, {"flags": NEED_ALIGNED}, "aligned elements"),
}


@pytest.mark.parametrize("name", MENDED)
def test_what_a_copy_mends_is_refused_without_one(taker, name):
    facts, request, told = MENDED[name]
    exporter = floats(**facts)
    with pytest.raises(BufferError, match=f"(?s){told}.*LEND_COPY_IF_NEEDED"):
        taker(exporter, **request)
    assert exporter.live == 0 and exporter.gets == exporter.releases


@pytest.mark.parametrize("name", MENDED)
def test_what_a_copy_mends_is_copied_if_allowed(taker, name):
    facts, request, _ = MENDED[name]
    exporter = floats(**facts)
    plain = taker(exporter)
    taken = taker(exporter, **(request | {"flags": request.get("flags", 0) | COPY_IF_NEEDED}))
    assert taken.exclusive and not taken.readonly and taken.aligned
    assert (taken.shape, taken.dtype, taken.tobytes()) == (plain.shape, plain.dtype, plain.tobytes())
    assert taken.ptr % max(64, request.get("align", 0)) == 0
    assert taken.c_contiguous or taken.f_contiguous
    assert taken.f_contiguous or not request.get("flags", 0) & F_ORDER
    assert taken.c_contiguous or not request.get("flags", 0) & C_ORDER
    plain.release()
    assert exporter.audit() == []  # the copy holds nothing of it


def test_a_copy_is_fresh_and_the_source_untouched(taker):
    source = bytearray(SIXTEEN)
    taken = taker(source, flags=COPY)
    taken.fill(0xEE)
    assert (bytes(source), taken.tobytes()) == (SIXTEEN, b"\xee" * 16)
    source.append(0)  # nothing of it is lent


SHAPES = [((2, 3, 4), None), ((4, 3, 2), (4, 16, 48)), ((3, 2), (-8, 4)), ((2, 1, 5), (40, 99, -4)), ((), None)]


@pytest.mark.parametrize("itemsize", [1, 2, 3, 4, 8, 16])
@pytest.mark.parametrize("order", [0, C_ORDER, F_ORDER], ids=["any", "C", "F"])
@pytest.mark.parametrize(("shape", "strides"), SHAPES, ids=str)
def test_every_layout_is_copied_right(taker, shape, strides, order, itemsize):
    scale = [stride // 4 * itemsize for stride in strides] if strides else None
    source = CountingBuffer(
        bytes(i % 251 for i in range(1200)),
        format=None,
        itemsize=itemsize,
        shape=shape,
        strides=scale,
        offset=400,
    )
    plain, taken = taker(source), taker(source, flags=COPY | order)
    assert (taken.shape, taken.tobytes()) == (plain.shape, plain.tobytes())
    assert taken.f_contiguous if order == F_ORDER else taken.c_contiguous or (order == 0 and plain.f_contiguous)


def test_a_copy_keeps_the_byte_order(taker):
    taken = taker(CountingBuffer(SIXTEEN, format=">i", itemsize=4, shape=(4,)), flags=COPY)
    assert (taken.order, taken.tobytes()) == (">", SIXTEEN)


def test_a_copied_bool_is_0_or_1(taker):
    taken = taker(CountingDLPack(b"\0\1\2\xff", (4,), dtype=(6, 8, 1)), flags=COPY)
    assert taken.tobytes() == b"\0\1\1\1"


def test_an_empty_array_is_copied(taker):
    taken = taker(CountingDLPack(SIXTEEN, (0, 3)), flags=COPY | WRITABLE)
    assert (taken.shape, taken.nbytes, taken.exclusive) == ((0, 3), 0, True)


def test_a_copy_of_nine_dimensions_keeps_them(taker):
    taken = taker(CountingDLPack(SIXTEEN, (1, 2, 1, 2, 1, 1, 1, 1, 1)), flags=COPY)
    assert taken.shape == (1, 2, 1, 2, 1, 1, 1, 1, 1)
    assert taken.tobytes() == SIXTEEN


@pytest.mark.parametrize("kind", [CountingDLPack, CountingExchange])
def test_a_copied_tensor_is_deleted_at_once(taker, kind):
    producer = kind(SIXTEEN, (4,))
    taken = taker(producer, flags=COPY)
    assert (producer.deleted_by_consumer, producer.audit()) == (1, [])
    assert taken.tobytes() == SIXTEEN


def test_a_copied_interface_is_let_go_at_once(taker):
    memory = bytearray(SIXTEEN)
    taken = taker(ArrayInterface(b"", (4,), "<f4", data=memory), flags=COPY)
    memory.append(0)
    assert taken.tobytes() == SIXTEEN


def test_a_read_only_tensor_is_refused_for_writing_and_its_capsule_unconsumed(taker):
    producer = CountingDLPack(SIXTEEN, (4,), flags=READ_ONLY, keep=True)
    with pytest.raises(BufferError, match="read-only"):
        taker(producer, flags=WRITABLE)
    assert producer.names == ["dltensor_versioned"]


@pytest.mark.parametrize("bare", [False, True])
def test_the_word_of_the_caller_makes_an_unversioned_tensor_writable_as_in_lend(taker, bare):
    producer = CountingDLPack(SIXTEEN, (4,), protocol="legacy", keep=True)
    sources = [producer.__dlpack__() if bare else producer for _ in range(3)]
    assert not lend.view(sources[0], writable=True).readonly
    taken = taker(sources[1], flags=WRITABLE)
    assert (taken.readonly, taken.exclusive, taken.ptr) == (False, False, taker(sources[2]).ptr)


def test_an_unversioned_tensor_that_may_be_copied_is_not_written_to(taker):
    producer = CountingDLPack(SIXTEEN, (4,), protocol="legacy")
    taken = taker(producer, flags=WRITABLE | COPY_IF_NEEDED)
    assert (taken.readonly, taken.exclusive) == (False, True)
    assert taken.ptr != lend.view(producer).ptr


def test_an_unversioned_tensor_that_repeats_itself_is_refused_for_writing(taker):
    producer = CountingDLPack(SIXTEEN, (4,), strides=(0,), protocol="legacy", keep=True)
    with pytest.raises(BufferError, match="read-only"):
        taker(producer, flags=WRITABLE)
    assert producer.names == ["dltensor"]


def test_a_refused_bare_capsule_may_be_taken_afterwards(taker):
    producer = CountingDLPack(SIXTEEN, (4,), flags=READ_ONLY)
    capsule = producer.capsule()
    for request in ({"flags": WRITABLE}, {"ndim": 2}, {"dtype": dtype(0, 8)}, {"device_type": 2}):
        with pytest.raises(BufferError):
            taker(capsule, **request)
    taken = taker(capsule)
    assert taken.shape == (4,)
    taken.release()
    assert (producer.deleted_by_consumer, producer.audit()) == (1, [])


def test_a_tensor_that_is_a_copy_may_be_written_to(taker):
    taken = taker(CountingDLPack(SIXTEEN, (4,), flags=IS_COPIED), flags=WRITABLE)
    assert taken.exclusive and not taken.readonly


def test_a_writable_buffer_is_asked_for_when_it_is_required(taker):
    exporter = floats()
    taker(exporter, flags=WRITABLE)
    assert exporter.asked == [0x11D]


def test_an_exporter_that_refuses_to_be_written_to_is_believed(taker):
    exporter = floats(readonly=True, lie={"readonly": 0})
    with pytest.raises(BufferError, match="writable memory was required"):
        taker(exporter, flags=WRITABLE)
    assert exporter.live == 0


def test_a_refused_writable_buffer_is_given_back(taker):
    exporter = floats(readonly=True)
    with pytest.raises(BufferError, match="writable memory was required"):
        taker(exporter, flags=WRITABLE)
    assert exporter.live == 0


@pytest.mark.parametrize("device", [1, 3, 11])
def test_memory_that_the_host_reads_meets_device_1(taker, device):
    producer = CountingDLPack(SIXTEEN, (4,), device=(device, 0))
    taken = taker(producer, device_type=1)
    assert taken.device == (device, 0)
    copied = taker(producer, device_type=1, flags=COPY)
    assert (copied.device, copied.tobytes()) == ((1, 0), SIXTEEN)


@pytest.mark.parametrize("device", [2, 13])
@pytest.mark.parametrize("flags", [0, COPY_IF_NEEDED, COPY])
def test_memory_of_a_device_is_not_that_of_the_host(taker, flags, device):
    producer = CountingDLPack(SIXTEEN, (4,), device=(device, 0), keep=True)
    with pytest.raises(BufferError, match=rf"device type 1, id 0 was required.*device type {device}"):
        taker(producer, device_type=1, flags=flags)
    assert producer.names == ["dltensor_versioned"]


@pytest.mark.parametrize("flags", [COPY, COPY_IF_NEEDED | C_ORDER])
def test_memory_of_a_device_is_not_copied(taker, flags):
    producer = CountingDLPack(64, (4, 4), strides=(1, 4), device=(2, 0), keep=True)
    with pytest.raises(BufferError, match="host does not read"):
        taker(producer, flags=flags)
    assert producer.names == ["dltensor_versioned"]


def test_a_device_of_another_number_is_refused(taker):
    producer = CountingDLPack(SIXTEEN, (4,), device=(2, 1))
    with pytest.raises(BufferError, match="device type 2, id 0 was required"):
        taker(producer, device_type=2)
    assert taker(producer, device_type=2, device_id=1).device == (2, 1)
    assert taker(producer, device_type=2, device_id=-1).device == (2, 1)


NONSENSE = {
    "no size": ({"struct_size": 0}, "LEND_REQUEST_INIT"),
    "a smaller size": ({"struct_size": 40}, "LEND_REQUEST_INIT"),
    "flags that are not known": ({"flags": 64}, "0x40"),
    "both orders": ({"flags": C_ORDER | F_ORDER}, "LEND_C_ORDER and LEND_F_ORDER"),
    "ndim -2": ({"ndim": -2}, "-2"),
    "ndim 65": ({"ndim": 65}, "65"),
    "align 3": ({"align": 3}, "power of two"),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_a_request_that_makes_no_sense_is_a_value_error(taker, name):
    request, told = NONSENSE[name]
    exporter = floats()
    with pytest.raises(ValueError, match=told):
        taker(exporter, **request)
    assert exporter.gets == 0


def test_a_larger_request_of_a_younger_header_is_read(taker):
    assert taker(b"1234", struct_size=56).nbytes == 4


@pytest.mark.parametrize("itemsize", [0, 5])
def test_opaque_bytes_may_be_required_of_a_size_or_of_any(taker, itemsize):
    source = ArrayInterface(bytes(10), (2,), "|V5")
    wanted = (128, ord("|"), 0, 0, 1, itemsize, 1)
    assert taker(source, dtype=wanted).itemsize == 5
    with pytest.raises(BufferError, match="opaque of 7 bytes was required, and it holds opaque of 5 bytes"):
        taker(source, dtype=(128, ord("|"), 0, 0, 1, 7, 1))


def test_a_unit_may_be_required(taker):
    source = ArrayInterface(bytes(16), (2,), "<M8[25s]")
    assert taker(source, dtype=dtype(129, 64, "<", unit=7, multiplier=25)).unit == 7
    for wanted in (dtype(129, 64, "<", unit=7), dtype(129, 64, "<", unit=8, multiplier=25)):
        with pytest.raises(BufferError, match=r"datetime64\[25s\]"):
            taker(source, dtype=wanted)
