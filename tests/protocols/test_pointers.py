"""A pointer and a size and nothing else: taken as read-only bytes, the object being the owner (dataframe-api#39)."""

import ctypes
import sys
import warnings

import pytest

import lend
from lend.errors import LendError, MalformedDescriptor, NotLendable, ReadOnlyMemory, UnsupportedType
from support.producers import AnswersEverything, Span

DATA = bytes(range(24))


def span(kind=Span, **facts):
    """An object with `ptr` and `size`, either of them changed, and more."""
    made = kind(DATA)
    made.__dict__.update(facts)
    return made


@pytest.mark.parametrize("size", ["size", "bufsize", "nbytes"])
@pytest.mark.parametrize("take", [lend.view, lend.buffer])
def test_address_and_bytes_are_those_of_the_object(take, size):
    span = Span(DATA, size=size)
    made = take(span)
    assert (made.ptr, made.nbytes, made.tobytes()) == (span.memory.address, 24, DATA)
    assert (made.readonly, made.device) == (True, lend.Device("cpu"))


def test_the_view_is_one_dimension_of_unsigned_bytes():
    view = lend.view(Span(DATA))
    assert (view.shape, view.strides, view.dtype) == ((24,), (1,), lend.DType("uint8"))


def test_attributes_of_the_type_are_seen():
    span = Span(DATA)
    kind = type("Slots", (), {"ptr": property(lambda self: span.memory.address), "size": property(lambda self: 24)})
    assert lend.buffer(kind()).tobytes() == DATA


def test_a_name_that_says_bytes_goes_before_size():
    assert lend.buffer(span(size=3, nbytes=24)).nbytes == 24


def test_the_object_lives_as_long_as_what_is_made_from_it():
    span = Span(DATA)
    before = sys.getrefcount(span)
    part = lend.view(span)[2:5]
    assert (sys.getrefcount(span), part.owner.producer) == (before + 1, span)
    assert part.tobytes() == DATA[2:5]
    del part
    assert sys.getrefcount(span) == before


def test_writable_memory_is_refused():
    with pytest.raises(ReadOnlyMemory):
        lend.view(Span(DATA), writable=True)


@pytest.mark.parametrize("ptr", [0, 1, 2**64 - 1])
def test_the_pointer_of_nothing_is_irrelevant(ptr):
    assert lend.buffer(span(ptr=ptr, size=0)).nbytes == 0


class Index:
    def __index__(self):
        return 24


def test_integers_of_another_type_are_integers():
    assert lend.buffer(span(size=Index())).nbytes == 24


MALFORMED = {
    "address 0": ({"ptr": 0}, "ptr is 0"),
    "a negative address": ({"ptr": -4096}, "ptr"),
    "an address beyond 64 bits": ({"ptr": 2**64}, "ptr"),
    "an address of text": ({"ptr": "0"}, "ptr is '0'"),
    "a fractional address": ({"ptr": 4096.0}, "ptr"),
    "a boolean address": ({"ptr": True}, "ptr"),
    "past the last address": ({"ptr": 2**64 - 8}, r"ptr.*\(bounds\)"),
    "a negative size": ({"size": -1}, "size is -1"),
    "a size beyond 64 bits": ({"size": 2**63}, "size"),
    "a size of text": ({"size": "24"}, "size"),
    "a boolean size": ({"size": True}, "size"),
    "a size that is a method": ({"size": lambda: 24}, "size"),
    "a fractional bufsize": ({"bufsize": 1.5}, "bufsize"),
    "a negative nbytes": ({"nbytes": -1}, "nbytes is -1"),
}


@pytest.mark.parametrize("take", [lend.view, lend.buffer])
@pytest.mark.parametrize(("facts", "named"), MALFORMED.values(), ids=MALFORMED)
def test_what_cannot_be_true_is_refused_by_the_name_of_its_field(take, facts, named):
    with pytest.raises(MalformedDescriptor, match=named):
        take(span(**facts))


@pytest.mark.parametrize(
    "facts", [{"ptr": None}, {"ptr": lambda: 4096}, {"size": None}], ids=["None", "method", "no size"]
)
def test_words_of_another_meaning_are_no_pointer(facts):
    with pytest.raises(NotLendable):
        lend.view(span(**facts))


def test_an_object_that_answers_everything_is_refused():
    with pytest.raises(LendError):
        lend.buffer(AnswersEverything())


class OnDevice(Span):
    device = (1, 0)

    def __dlpack_device__(self):
        if isinstance(self.device, BaseException):
            raise self.device
        return self.device


def test_the_device_is_what_the_object_says():
    made = lend.buffer(span(OnDevice, ptr=4096, device=(2, 1)))
    assert (made.device, made.ptr, made.nbytes) == (lend.Device("cuda:1"), 4096, 24)
    with pytest.raises(LendError, match="cuda:1"):
        made.tobytes()


@pytest.mark.parametrize(
    "device", [None, (), (1,), (1, 0, 0), "ab", (0, 0), (-1, 0), (256, 0), (1, "0"), (2**70, 0)], ids=repr
)
def test_a_device_that_is_none_is_refused(device):
    with pytest.raises(MalformedDescriptor, match="__dlpack_device__"):
        lend.buffer(span(OnDevice, device=device))


@pytest.mark.parametrize("code", [4, 7, 8, 15])
def test_a_device_without_addresses_is_refused(code):
    with pytest.raises(UnsupportedType, match="no addresses"):
        lend.buffer(span(OnDevice, device=(code, 0)))


def test_an_exception_of_the_producer_is_quoted_and_is_the_cause():
    error = RuntimeError("no device yet")
    with pytest.raises(LendError, match="no device yet") as caught:
        lend.buffer(span(OnDevice, device=error))
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), RecursionError()], ids=repr)
def test_what_must_not_be_caught_passes(error):
    with pytest.raises(type(error)) as caught:
        lend.buffer(span(OnDevice, device=error))
    assert caught.value is error


def test_our_own_buffer_is_such_an_object():
    buffer = lend.buffer(DATA)
    twin = type("Twin", (), {"ptr": buffer.ptr, "size": buffer.size, "kept": buffer})()
    again = lend.buffer(twin)
    assert (again.ptr, again.tobytes()) == (buffer.ptr, DATA)


@pytest.mark.parametrize(
    ("attribute", "value"), [("device", "cuda:0"), ("device_id", 0), ("device_type", 2), ("device_ordinal", 1)]
)
def test_a_pointer_of_an_object_that_has_a_device_is_not_taken_for_one_of_the_host(attribute, value):
    class Memory:
        ptr, size = 0x7F00_0000_0000, 32

    setattr(Memory, attribute, value)
    with pytest.raises(NotLendable, match=f"{attribute} says that it may not be host memory"):
        lend.view(Memory())


@pytest.mark.parametrize(("attribute", "value"), [("device", "cpu"), ("device", "CPU:0"), ("device_type", 1)])
def test_a_pointer_of_an_object_that_says_cpu_is_taken(attribute, value):
    block = (ctypes.c_char * 4)(*b"abcd")

    class Memory:
        ptr, size, kept = ctypes.addressof(block), 4, block

    setattr(Memory, attribute, value)
    assert lend.view(Memory()).tobytes() == b"abcd"


@pytest.mark.parametrize(("told", "device"), [((1, None), "cpu"), ((2, None), "cuda:?"), ((3, None), "cuda_host:?")])
def test_a_device_without_a_number_is_that_of_the_dataframe_protocol(told, device):
    class Buffer(Span):
        def __dlpack_device__(self):
            return told

    assert str(lend.buffer(Buffer(DATA)).device) == device


def test_a_buffer_of_pandas_is_such_an_object():
    pandas = pytest.importorskip("pandas")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas 3 announces the end of its dataframe protocol
        frame = pandas.DataFrame({"a": [1, 2, 3]}).__dataframe__()
    data, _ = frame.get_column_by_name("a").get_buffers()["data"]
    assert lend.buffer(data).view("int64").tolist() == [1, 2, 3]
