"""lend.h: what a program in C or C++ gets of any object, gives back on any thread, and lends itself."""

import array
import ctypes
import gc
import sys
import weakref

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
from support.counting import CountingBuffer, CountingDLPack, CountingExchange
from support.device_producers import ADDRESS, CudaInterface, SyclInterface, TorchLike

READONLY, C, F, ALIGNED, EXCLUSIVE = 1, 2, 4, 8, 16
WRITABLE, C_ORDER, F_ORDER, COPY_IF_NEEDED, COPY, NEED_ALIGNED = 256, 512, 1024, 2048, 4096, 8192
ANY_TYPE = 255
HERE = "<" if sys.byteorder == "little" else ">"
THERE = "><"[HERE == ">"]
FLOATS = array.array("d", range(24))
BASE = lend.view(FLOATS).reshape(4, 6)


class Thing:
    """Keeps nothing, and can be watched."""


OBJECTS = {
    "an array": FLOATS,
    "bytes": b"abcd",
    "bytearray": bytearray(b"abcd"),
    "a memoryview": memoryview(FLOATS)[::-2],
    "a view": BASE,
    "a transposed view": BASE.T,
    "a view with gaps": BASE[::2, 1:5:3],
    "an empty view": BASE[:0],
    "a view of no dimension": BASE[2, 3],
    "a view of twelve dimensions": lend.view(bytes(4096)).reshape((2,) * 12),
    "a buffer": lend.buffer(b"abcdef"),
    "a counting buffer": CountingBuffer(bytes(16), format="f", itemsize=4),
    "a tensor": CountingDLPack(bytes(16), (4,)),
    "a tensor by the exchange table": CountingExchange(bytes(16), (4,)),
    "unaligned": lend.view(bytes(9))[1:].reinterpret("float64"),
    "swapped": lend.view(bytes(8)).reinterpret(f"{THERE}int32"),
    "dates": lend.view(bytes(8)).reinterpret("datetime64[25s]"),
    "opaque": lend.view(bytes(14)).reinterpret("opaque[7]"),
    "bfloat16": lend.view(bytes(14)).reinterpret("bfloat16"),
    "128 bits": lend.view(bytes(32)).reinterpret("uint128"),
    "complex": lend.view(bytes(32)).reinterpret("complex64"),
    "bool": lend.view(bytes(2)).reinterpret("bool"),
    "fixed bytes": lend.view(bytes(14)).reinterpret("bytes[7]"),
    "text": lend.view(bytes(24)).reinterpret(f"{THERE}text[3]"),
    "records": lend.view(bytes(24)).reinterpret([("a", "int32"), ("b", f"{THERE}float64")]),
    "aligned records": lend.view(bytes(32)).reinterpret(
        {"names": ["a", "b"], "formats": ["int8", "float64"], "aligned": True}
    ),
    "objects": (ctypes.py_object * 2)(1, 2),
    "float8": lend.view(bytes(2)).reinterpret("float8_e4m3fn"),
    "float4, padded": lend.view(bytes(2)).reinterpret("float4_e2m1fn"),
    "int4, padded": lend.view(bytes(2)).reinterpret("int4"),
}
EACH = pytest.mark.parametrize("obj", OBJECTS.values(), ids=OBJECTS)
WAYS = pytest.mark.parametrize("way", ["acquired", "borrowed"])

CODES = {"opaque": 128, "bool": 6, "int": 0, "uint": 1, "float": 2, "bfloat": 4, "complex": 5, "datetime": 129}
CODES |= {"bytes": 131, "text": 132, "record": 133, "object": 134, "float8": 10, "float4": 17, "int4": 0}
# measured in itemsize alone, or bits that count in a byte
BITS = {"opaque": 0, "bytes": 0, "text": 0, "record": 0, "float4": 4, "int4": 4}
UNITS = ["generic", "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]


@EACH
@WAYS
def test_every_field_is_what_the_view_says(consumer, obj, way):
    view = lend.view(obj)
    said = getattr(consumer, way)(obj)
    dtype = view.dtype
    order = ord({None: "|", "little": "<", "big": ">"}[dtype.byteorder])
    unit = UNITS.index(dtype.unit) if dtype.unit else 0
    bits = BITS.get(dtype.kind, dtype.bits)
    flags = (
        READONLY * view.readonly | C * view.c_contiguous | F * view.f_contiguous | ALIGNED * view.aligned
        | EXCLUSIVE * view.exclusive
    )  # fmt: skip
    assert (said["shape"], said["strides"], said["nbytes"]) == (view.shape, view.strides, view.nbytes)
    assert said["dtype"] == (CODES[dtype.kind], order, unit, bits, 1, dtype.itemsize, dtype.multiplier or 1)
    assert (said["flags"], said["device"], said["offset"]) == (flags, (1, 0), 0)
    assert said["address"] == view.ptr or not view.size


@EACH
@WAYS
def test_a_refused_object_is_refused_with_the_words_of_view(consumer, obj, way):
    for wrong in ([1, 2], "text", 3, None):
        with pytest.raises(NotLendable) as caught:
            getattr(consumer, way)(wrong)
        with pytest.raises(NotLendable) as expected:
            lend.view(wrong)
        assert str(caught.value) == str(expected.value)


REQUESTS = {
    "read-only memory to write to": (b"abcd", (WRITABLE,), ReadOnlyMemory),
    "another order": (BASE.T, (C_ORDER,), CopyRequired),
    "columns": (BASE, (F_ORDER,), CopyRequired),
    "another number of dimensions": (BASE, (0, ANY_TYPE, ord("|"), 0, 1), UnsupportedLayout),
    "another dtype": (BASE, (0, 2, ord(HERE), 32), UnsupportedType),
    "another byte order": (BASE, (0, 2, ord(THERE), 64), CopyRequired),
    "a dtype that is none": (BASE, (0, 2, ord(HERE), 17), ValueError),
    "an alignment": (lend.view(bytes(65))[1:], (0, ANY_TYPE, 0, 0, -1, 64), CopyRequired),
    "aligned elements": (OBJECTS["unaligned"], (NEED_ALIGNED,), CopyRequired),
    "another device": (BASE, (0, ANY_TYPE, 0, 0, -1, 0, 2), NotHostAccessible),
}
ON_HOST = lend.View.from_pointer(lend.view(FLOATS).ptr, (2,), "float64", owner=FLOATS, device="cuda_host")
REQUESTS |= {
    "a copy on another device": (ON_HOST, (COPY, ANY_TYPE, 0, 0, -1, 0, 3), NotHostAccessible),
    "a copy for its alignment on another device": (
        ON_HOST, (COPY_IF_NEEDED, ANY_TYPE, 0, 0, -1, 1 << 30, 3), NotHostAccessible,
    ),
}  # fmt: skip
REQUESTED = pytest.mark.parametrize(("obj", "request_", "error"), REQUESTS.values(), ids=REQUESTS)


@REQUESTED
@WAYS
def test_what_does_not_lie_as_requested_is_refused(consumer, obj, request_, error, way):
    with pytest.raises(error):
        getattr(consumer, way)(obj, *request_)


@pytest.mark.parametrize(("request_", "obj"), [
    ((C_ORDER,), BASE.T), ((WRITABLE,), b"abcd"), ((NEED_ALIGNED,), OBJECTS["unaligned"]),
    ((0, 2, ord(THERE), 64), BASE),
    ((0,), CountingBuffer(48, format="d", itemsize=8, shape=(2, 3), lie={"suboffsets": (0, -1)})),
], ids=["order", "writable", "aligned", "byte order", "rows behind pointers"])  # fmt: skip
@WAYS
def test_a_refusal_that_a_copy_would_mend_names_the_flag_that_allows_it(consumer, request_, obj, way):
    with pytest.raises(LendError) as caught:
        getattr(consumer, way)(obj, *request_)
    assert "try    : LEND_COPY_IF_NEEDED in the request" in str(caught.value)
    assert caught.value.remedy.startswith("LEND_COPY_IF_NEEDED in the request")


LOOPS = {
    "byte order": (lend.view(FLOATS, dtype=f"{THERE}float64", copy=True), (0, 2, ord(HERE), 64)),
    "row-major": (BASE.T, (C_ORDER,)),
    "column-major": (BASE, (F_ORDER,)),
    "alignment": (lend.view(bytes(65))[1:], (0, ANY_TYPE, 0, 0, -1, 4096)),
}


@pytest.mark.parametrize("name", LOOPS)
@WAYS
def test_who_does_what_a_refusal_says_is_not_refused_again(consumer, name, way):
    obj, request = LOOPS[name]
    with pytest.raises(CopyRequired) as caught:
        getattr(consumer, way)(obj, *request)
    call = caught.value.remedy.partition("; or ")[2].partition(" before")[0]
    getattr(consumer, way)(eval(call, {"lend": lend, "x": obj}), *request)


MET = {name: row for name, row in REQUESTS.items() if row[2] in (CopyRequired, ReadOnlyMemory)}


@pytest.mark.parametrize(("obj", "request_", "error"), MET.values(), ids=MET)
@WAYS
def test_what_does_not_lie_as_requested_is_copied_when_that_is_allowed(consumer, obj, request_, error, way):
    flags, *rest = request_
    with lend.copies() as copies:
        said = getattr(consumer, way)(obj, flags | COPY_IF_NEEDED, *rest)
    assert (copies.count, said["flags"] & (READONLY | EXCLUSIVE)) == (1, EXCLUSIVE)


@WAYS
def test_what_lies_as_requested_is_not_copied(consumer, way):
    request = (C_ORDER | COPY_IF_NEEDED | NEED_ALIGNED | WRITABLE, 2, ord(HERE), 64, 2, 8, 1)
    with lend.copies() as copies:
        said = getattr(consumer, way)(BASE, *request)
    assert (copies.count, said["address"]) == (0, BASE.ptr)


SMALL = {"int4": (0, 4), "uint2": (1, 2), "float8_e5m2": (12, 8), "float6_e2m3fn": (15, 6), "float4_e2m1fn": (17, 4)}


@pytest.mark.parametrize(("name", "asked"), SMALL.items(), ids=SMALL)
@WAYS
def test_small_numbers_may_be_asked_for_one_to_a_byte(consumer, way, name, asked):
    view = lend.view(bytes(2)).reinterpret(name)
    assert getattr(consumer, way)(view, 0, asked[0], ord("|"), asked[1])["address"] == view.ptr


@WAYS
def test_a_copy_is_made_when_it_is_asked_for(consumer, way):
    with lend.copies() as copies:
        said = getattr(consumer, way)(BASE, COPY)
    assert copies.count == 1
    assert said["address"] != BASE.ptr


def test_memory_is_read_row_by_row(consumer):
    assert consumer.bytes_of(BASE.T) == BASE.T.tobytes()


@pytest.mark.parametrize("elsewhere", [False, True], ids=["without the GIL", "on a thread without the GIL"])
@pytest.mark.parametrize("make", [
    lambda: CountingBuffer(bytes(16), format="f", itemsize=4), lambda: CountingDLPack(bytes(16), (4,)),
    lambda: CountingExchange(bytes(16), (4,)),
], ids=["buffer", "dlpack", "exchange"])  # fmt: skip
def test_a_lease_is_given_back_once_when_it_is_released(consumer, make, elsewhere):
    producer = make()
    consumer.keep(producer)
    assert producer.live == 1
    consumer.drop(elsewhere)
    assert producer.audit() == []


def test_an_acquired_view_is_shown_as_a_loan(consumer):
    producer = bytearray(4)

    def views():
        return [loan.views for loan in lend.loans() if loan.producer is producer]

    consumer.keep(producer)
    assert views() == [1]
    consumer.drop(False)
    assert views() == []


def test_an_acquired_view_outlives_its_producer(consumer):
    memory = array.array("d", [1.0, 2.0])
    consumer.keep(memory)
    with pytest.raises(BufferError):
        memory.append(3.0)
    consumer.drop(False)
    memory.append(3.0)


@pytest.mark.parametrize("obj", [b"abcd", bytearray(b"abcd"), BASE], ids=["bytes", "bytearray", "view"])
def test_a_borrowed_view_holds_nothing(consumer, obj):
    consumer.borrowed(obj)  # the first of a type is remembered
    assert not consumer.borrowed(obj)["held"]


def test_a_borrowed_view_of_memory_that_goes_with_its_buffer_holds_it(consumer):
    producer = CountingBuffer(bytes(16), format="f", itemsize=4)
    assert consumer.borrowed(producer)["held"]
    assert producer.audit() == []


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("dtype", ["float64", "int32", "uint8", "bool", "complex64"])
def test_arrays_and_tensors_are_borrowed_without_an_object(consumer, library, dtype):
    module = pytest.importorskip(library)
    made = module.zeros((2, 3), dtype=getattr(module, dtype if (library, dtype) != ("numpy", "bool") else "bool_"))
    lend.view(made)
    said = consumer.borrowed(made)
    assert (said["held"], said["shape"], said["flags"]) == (False, (2, 3), C | ALIGNED)


@WAYS
@pytest.mark.parametrize("spoil", ["requires_grad", "conj", "neg"])
def test_a_tensor_whose_memory_is_not_its_value_is_refused(consumer, way, spoil):
    torch = pytest.importorskip("torch")
    tensor = torch.zeros(2, dtype=torch.complex64)
    lend.view(tensor)
    spoiled = {
        "requires_grad": lambda: torch.zeros(2, requires_grad=True), "conj": lambda: tensor.conj(),
        "neg": lambda: tensor.conj().imag,
    }[spoil]()  # fmt: skip
    with pytest.raises(LendError):
        getattr(consumer, way)(spoiled)


def test_a_released_view_is_refused(consumer):
    view = lend.view(b"abcd")
    view.release()
    with pytest.raises(LeaseLost):
        consumer.borrowed(view)


def test_a_view_that_was_not_initialised_is_filled_whole(consumer):
    assert consumer.uninitialised(b"abcd") == consumer.acquired(b"abcd")


def test_a_view_that_was_not_initialised_holds_nothing_after_a_refusal(consumer):
    with pytest.raises(lend.LendError):
        consumer.uninitialised(object())


# -- the producer side ---------------------------------------------------------------------------------------------


def test_memory_of_c_is_lent_as_any_other(consumer):
    view = consumer.wrapped(None, True, None)
    assert (view.tolist(), view.readonly, str(view.dtype)) == (
        [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]],
        True,
        "int16",
    )
    assert memoryview(view).shape == (3, 4)


def test_c_is_told_once_when_the_last_holder_has_gone(consumer):
    before = consumer.releases()
    view = consumer.wrapped(None, True, None)
    shown = memoryview(view[1:])
    view.release()
    assert consumer.releases() == before
    shown.release()
    del shown
    assert consumer.releases() == before + 1


def test_the_owner_lives_as_long_as_what_was_made_of_its_memory(consumer):
    thing = Thing()
    watch = weakref.ref(thing)
    part = consumer.wrapped(thing, False, None)[1]
    del thing
    gc.collect()
    assert watch() is not None
    del part
    gc.collect()
    assert watch() is None


def test_the_owner_is_named_as_the_producer(consumer):
    thing = Thing()
    assert consumer.wrapped(thing, True, None).owner.producer is thing
    assert (consumer.wrapped(None, True, None).owner.kind, consumer.wrapped(None, True, None).owner.producer_type) == (
        "callback", "C",
    )  # fmt: skip


WRONG = {
    "ndim": "65", "far_dims": "far_dims", "data": "data", "type of 17 bits": "dtype", "unknown code": "dtype",
    "extent": "dims", "large": "dims", "void device": "device_type", "handle": "flags",
    "zero strides": r"strides of the lend_view is 0, not the steps in bytes, dims\[LEND_INLINE_DIMS",
}  # fmt: skip


@pytest.mark.parametrize(("wrong", "field"), WRONG.items(), ids=WRONG)
def test_a_wrong_description_is_refused_naming_the_field_and_not_released(consumer, wrong, field):
    before = consumer.releases()
    with pytest.raises(MalformedDescriptor, match=field):
        consumer.wrapped(None, True, wrong)
    assert consumer.releases() == before


@pytest.mark.parametrize("wrong", ["abi", "size"])
def test_a_description_of_another_abi_is_refused(consumer, wrong):
    with pytest.raises(ValueError, match="LEND_VIEW_INIT of ABI 1"):
        consumer.wrapped(None, True, wrong)


@pytest.mark.parametrize("wrong", [None, "None for an owner"])
def test_memory_that_nobody_keeps_is_not_lent(consumer, wrong):
    with pytest.raises(TypeError, match="an owner, or a release function"):
        consumer.wrapped(None, False, wrong)


def test_a_stride_of_zero_beside_others_repeats_an_element(consumer):
    view = consumer.wrapped(None, True, "row thrice")
    assert (view.tolist(), view.readonly) == ([[0, 1, 2, 3]] * 3, True)


@WAYS
@pytest.mark.parametrize("flag", [1, 8, 32, 64], ids=["READONLY", "ALIGNED", "OPAQUE_HANDLE", "SYNC_UNKNOWN"])
def test_a_flag_of_a_view_in_a_request_is_refused(consumer, way, flag):
    with pytest.raises(ValueError, match="LEND_WRITABLE and those after it"):
        getattr(consumer, way)(b"abcd", flag)


def test_the_host_may_read_host_memory(consumer):
    assert consumer.accessible(b"abcd") is None


@pytest.mark.parametrize(("stream", "sync"), [(None, 0), (1, 1), (2**40, 2**40)])
@WAYS
def test_the_stream_and_the_unknown_number_of_a_cuda_interface_are_told(consumer, way, stream, sync):
    told = getattr(consumer, way)(CudaInterface(stream=stream))
    assert (told["address"], told["device"], told["sync"]) == (ADDRESS, (2, -1), sync)


@WAYS
def test_a_view_tells_the_stream_that_its_memory_came_with(consumer, way):
    assert getattr(consumer, way)(lend.view(CudaInterface(stream=7))[1:])["sync"] == 7


def test_the_host_may_not_read_memory_of_a_device(consumer):
    away = lend.View.from_pointer(4096, (2,), "float32", owner=FLOATS, device="cuda:0")
    with pytest.raises(NotHostAccessible, match="the host may not read memory on cuda:0"):
        consumer.accessible(away)


@WAYS
@pytest.mark.parametrize("flags", [64, 1 << 31, C_ORDER | F_ORDER, C_ORDER | F_ORDER | COPY_IF_NEEDED])
def test_a_request_that_this_lend_does_not_know_or_nothing_meets_is_refused(consumer, way, flags):
    with pytest.raises(ValueError, match="which this lend does not know|ask for one of them"):
        getattr(consumer, way)(BASE, flags)


@WAYS
@pytest.mark.parametrize(
    "rest",
    [(ANY_TYPE, 0, 0, -2), (ANY_TYPE, 0, 0, -1, 3), (ANY_TYPE, 0, 0, -1, 0, -1)],
    ids=["ndim", "align", "device"],
)
def test_a_number_of_a_request_that_means_nothing_is_refused(consumer, way, rest):
    # an address divides by 3 now and then
    for start in range(3):
        with pytest.raises(ValueError, match="asks for what nothing is"):
            getattr(consumer, way)(lend.view(bytes(8))[start:], 0, *rest)


BY_SIZE = {
    "bytes": (131, "bytes[4]", "|", 0),
    "text": (132, "text[2]", HERE, 0),
    "opaque": (128, "opaque[4]", "|", 0),
    "record": (133, [("a", "int8"), ("b", "int32")], "|", 0),
}


@pytest.mark.parametrize(("code", "dtype", "order", "bits"), BY_SIZE.values(), ids=BY_SIZE)
@WAYS
def test_what_is_measured_in_bytes_may_be_asked_for_by_its_kind(consumer, way, code, dtype, order, bits):
    view = lend.view(bytes(40)).reinterpret(dtype)
    assert getattr(consumer, way)(view, 0, code, ord(order), bits)["address"] == view.ptr
    with pytest.raises(UnsupportedType):
        getattr(consumer, way)(BASE, 0, code, ord(order), bits)


SYNC_UNKNOWN = 64


@pytest.mark.parametrize(
    ("producer", "unknown"),
    [
        (CudaInterface(stream=None), False),
        (CudaInterface(stream=7), False),
        (TorchLike(), True),
        (SyclInterface(), True),
        (CountingDLPack(16, (4,), device=(2, 0)), True),
        (CountingDLPack(16, (4,), device=(3, 0)), True),
        (b"abcd", False),
    ],
    ids=["no work", "a stream", "an old version", "SYCL", "DLPack", "pinned", "host"],
)
@WAYS
def test_an_order_that_nobody_told_is_not_taken_for_none(consumer, way, producer, unknown):
    assert bool(getattr(consumer, way)(producer)["flags"] & SYNC_UNKNOWN) is unknown


ANY = (0, 255, ord("|"), 0, -1, 0, 0)


@WAYS
def test_memory_of_a_device_is_ordered_on_the_stream_that_was_asked_for_and_said_to_be(consumer, way):
    told = getattr(consumer, way)(CudaInterface(), *ANY, 7)
    assert (told["sync"], told["flags"] & SYNC_UNKNOWN) == (7, 0)


@WAYS
def test_a_stream_that_means_nothing_is_refused_to_memory_of_a_device(consumer, way):
    with pytest.raises(StreamError, match="1 and 2 mean nothing on ROCm"):
        getattr(consumer, way)(lend.View.from_pointer(4096, 4, "f4", owner="", device="rocm:0"), *ANY, 2)


@WAYS
def test_a_stream_means_nothing_to_memory_of_the_host(consumer, way):
    assert getattr(consumer, way)(b"abcd", *ANY, 7)["shape"] == (4,)
