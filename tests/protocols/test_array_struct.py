"""`__array_struct__`, both ways: only what its struct can say without loss, and the capsule pins the lease."""

import ctypes
import struct
import sys

import pytest

import lend
from lend.errors import LendError, MalformedDescriptor, NotLendable, ReadOnlyMemory, UnsupportedType
from support import counting
from support.counting import CountingBuffer
from support.names import plain_repr, plain_str
from support.producers import ArrayStruct

FLOATS = struct.pack("6f", 0, 1, 2, 3, 4, 5)
C, F, ALIGNED, NOTSWAPPED, WRITEABLE = 0x1, 0x2, 0x100, 0x200, 0x400
LITTLE, BIG = ("<", ">")
HERE, THERE = (LITTLE, BIG) if sys.byteorder == "little" else (BIG, LITTLE)


class Struct(ctypes.Structure):
    """PyArrayInterface, to read our own capsules by."""

    _fields_ = [
        ("two", ctypes.c_int),
        ("nd", ctypes.c_int),
        ("typekind", ctypes.c_char),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("data", ctypes.c_void_p),
        ("descr", ctypes.c_void_p),
    ]


get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def read(capsule):
    """(kind, itemsize, shape, strides, data, flags) of a capsule of ours."""
    said = Struct.from_address(get_pointer(capsule, None))
    assert (said.two, said.descr) == (2, None)
    return (said.typekind, said.itemsize, tuple(said.shape[: said.nd]), tuple(said.strides[: said.nd]), said.data or 0,
            said.flags)  # fmt: skip


def floats(shape=(2, 3), **facts):
    lender = ArrayStruct(FLOATS, shape, itemsize=4)
    lender.facts.update(facts)
    return lender


# -- taken -----------------------------------------------------------------------------------------------------------


KINDS = {
    ("b", 1): "bool", ("i", 1): "int8", ("i", 2): "int16", ("i", 8): "int64", ("u", 4): "uint32", ("u", 8): "uint64",
    ("f", 2): "float16", ("f", 4): "float32", ("f", 8): "float64", ("c", 8): "complex64", ("c", 16): "complex128",
}  # fmt: skip


@pytest.mark.parametrize(("kind", "itemsize"), KINDS)
@pytest.mark.parametrize("flags", [NOTSWAPPED, 0], ids=["native", "swapped"])
def test_kind_itemsize_and_order_are_the_dtype(kind, itemsize, flags):
    view = lend.view(ArrayStruct(bytes(32), (2,), kind=kind, itemsize=itemsize, flags=flags))
    name = KINDS[kind, itemsize]
    assert view.dtype == lend.DType(name if flags or itemsize == 1 else f"{THERE}{name}")


@pytest.mark.parametrize(
    ("shape", "strides", "values"),
    [
        ((2, 3), None, [[0, 1, 2], [3, 4, 5]]),
        ((3, 2), (4, 12), [[0, 3], [1, 4], [2, 5]]),
        ((3,), (8,), [0, 2, 4]),
        ((2, 2), (0, 4), [[0, 1], [0, 1]]),
        ((0, 3), None, []),
        ((), None, 0.0),
    ],
    ids=plain_str,
)
def test_strides_are_bytes(shape, strides, values):
    assert lend.view(floats(shape, strides=strides)).tolist() == values


def test_a_reversed_array_begins_at_its_last_byte():
    block = ctypes.create_string_buffer(FLOATS)
    lender = floats((6,), strides=(-4,), data=ctypes.addressof(block) + 20)
    assert lend.view(lender).tolist() == [5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("flags", [NOTSWAPPED, NOTSWAPPED | C | ALIGNED], ids=hex)
def test_memory_without_the_writeable_flag_is_read_only(flags):
    assert lend.view(floats(flags=flags)).readonly
    with pytest.raises(ReadOnlyMemory):
        lend.view(floats(flags=flags), writable=True)


def test_memory_with_the_writeable_flag_is_writable():
    assert not lend.view(floats(flags=NOTSWAPPED | WRITEABLE), writable=True).readonly


def test_the_contiguity_flags_are_not_believed():
    view = lend.view(floats((3,), strides=(8,), flags=C | F | NOTSWAPPED))
    assert not view.c_contiguous


def test_the_pointer_of_an_empty_array_is_irrelevant():
    assert lend.view(floats((0, 3), data=0)).shape == (0, 3)


def test_sixty_four_dimensions_are_taken():
    assert lend.view(floats((1,) * 62 + (2, 3))).tobytes() == FLOATS


# -- refused ---------------------------------------------------------------------------------------------------------


MALFORMED = {
    "two": ({"two": 3}, "two is 3"),
    "negative nd": ({"nd": -1}, "nd is -1"),
    "nd beyond the limit": ({"nd": 65}, "64"),
    "a negative extent": ({"shape": (-1, 3)}, "shape"),
    "a size beyond 64 bits": ({"shape": (2**32, 2**32)}, "size"),
    "strides beyond 64 bits": ({"strides": (2**62, 2**62)}, r"strides.*\(bounds\)"),
    "address 0": ({"data": 0}, "data is 0"),
    "memory past the last address": ({"data": 2**64 - 8}, r"data.*\(bounds\)"),
    "memory before the first address": ({"data": 8, "strides": (-12, 4)}, r"data.*\(bounds\)"),
}


@pytest.mark.parametrize(("facts", "named"), MALFORMED.values(), ids=MALFORMED)
def test_a_struct_that_cannot_be_true_is_refused_by_the_name_of_its_field(facts, named):
    lender = floats(**facts)
    with pytest.raises(MalformedDescriptor, match=named):
        lend.view(lender)
    assert lender.gone == lender.reads


@pytest.mark.parametrize(("kind", "itemsize"), [
    ("M", 8), ("m", 8), ("V", 4), ("O", 8), ("S", 4), ("U", 8), ("f", 3), ("i", 3), ("b", 2), ("f", 0), ("i", -4),
    ("c", 4), ("\xff", 4), ("\0", 4),
])  # fmt: skip
def test_what_a_struct_cannot_say_without_loss_is_refused(kind, itemsize):
    lender = floats((1,), kind=kind, itemsize=itemsize)
    with pytest.raises(UnsupportedType, match="kind"):
        lend.view(lender)
    assert lender.gone == lender.reads


def test_the_dict_is_the_next_door():
    class Both(ArrayStruct):
        __array_interface__ = {"shape": (3,), "typestr": "<M8[ns]", "data": bytearray(24), "version": 3}

    assert lend.view(Both(bytes(24), (3,), kind="M")).dtype == lend.DType("<M8[ns]")


def lender_of(answer):
    return type("Lender", (), {"__array_struct__": answer})()


@pytest.mark.parametrize("answer", [None, 7, {}, b"", object()], ids=plain_repr)
def test_what_is_no_capsule_is_refused(answer):
    with pytest.raises(LendError, match="__array_struct__.*not a capsule"):
        lend.view(lender_of(answer))


def test_a_capsule_with_a_name_is_refused_by_it():
    capsule = lend.view(FLOATS).__dlpack__(max_version=(1, 0))
    with pytest.raises(MalformedDescriptor, match="dltensor_versioned"):
        lend.view(lender_of(capsule))
    assert counting.capsule_name(capsule) == "dltensor_versioned"


def failing(error):
    def read(self):
        raise error

    return type("Lender", (), {"__array_struct__": property(read)})()


def test_an_exception_of_the_producer_is_quoted_and_is_the_cause():
    error = RuntimeError("not while it rains")
    with pytest.raises(LendError, match="not while it rains") as caught:
        lend.view(failing(error))
    assert caught.value.__cause__ is error


def test_an_attribute_error_means_that_there_is_no_such_door():
    with pytest.raises(NotLendable):
        lend.view(failing(AttributeError("gone")))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), RecursionError()], ids=plain_repr)
def test_what_must_not_be_caught_passes(error):
    with pytest.raises(type(error)) as caught:
        lend.view(failing(error))
    assert caught.value is error


# -- given -----------------------------------------------------------------------------------------------------------


def test_the_struct_says_what_the_view_is():
    view = lend.view(memoryview(bytearray(FLOATS)).cast("f", (2, 3)))
    assert read(view.__array_struct__) == (b"f", 4, (2, 3), (12, 4), view.ptr, C | ALIGNED | NOTSWAPPED | WRITEABLE)
    turned = view.T[:, ::-1]
    assert read(turned.__array_struct__) == (b"f", 4, (3, 2), (4, -12), turned.ptr, ALIGNED | NOTSWAPPED | WRITEABLE)


def test_read_only_swapped_unaligned_and_f_order_are_flags():
    view = lend.view(FLOATS)[1:9].reinterpret(f"{THERE}f4")
    assert read(view.__array_struct__)[5] == C | F
    assert read(lend.view(memoryview(bytearray(FLOATS)).cast("f", (2, 3))).T.__array_struct__)[5] & (C | F) == F


@pytest.mark.parametrize(("kind", "itemsize"), KINDS)
def test_a_struct_of_every_kind_comes_back(kind, itemsize):
    first = lend.view(bytearray(range(64))).reinterpret(KINDS[kind, itemsize])
    capsule = first.__array_struct__
    assert read(capsule)[:2] == (kind.encode(), itemsize)
    second = lend.view(lender_of(capsule))
    assert (second.dtype, second.ptr, second.shape) == (first.dtype, first.ptr, first.shape)


def test_the_stride_of_a_size_1_dimension_is_the_natural_one():
    assert read(lend.view(floats((1, 6), strides=(12345, 4))).__array_struct__)[3] == (24, 4)


def test_sixty_four_dimensions_are_given():
    assert read(lend.view(floats((1,) * 62 + (2, 3))).__array_struct__)[2] == (1,) * 62 + (2, 3)


def test_the_capsule_pins_the_lease_and_is_counted():
    exporter = CountingBuffer(FLOATS)
    view = lend.view(exporter)
    owner = view.owner
    first, second = view.__array_struct__, view.__array_struct__
    assert owner.exports == 2
    del view, first
    assert (owner.exports, exporter.live) == (1, 1)
    del owner
    assert exporter.live == 1
    del second
    assert exporter.audit() == []


def test_a_capsule_that_dies_with_an_exception_on_its_way_keeps_it():
    exporter = CountingBuffer(FLOATS)
    with pytest.raises(TypeError, match="has no len"):
        len(lend.view(exporter).__array_struct__)
    assert exporter.audit() == []


@pytest.mark.parametrize(
    "dtype",
    [
        "bfloat16",
        "handle",
        "float32x2",
        "datetime64[ns]",
        "timedelta64[s]",
        "opaque[8]",
        "int128",
        "uint128",
        "complex32",
    ],
)
def test_a_dtype_that_a_struct_cannot_say_hides_the_attribute(dtype):
    view = lend.view(bytearray(16)).reinterpret(dtype)
    before = view.owner.exports
    assert not hasattr(view, "__array_struct__")
    assert view.owner.exports == before


def test_a_view_on_a_device_hides_the_attribute():
    view = lend.View.from_pointer(4096, (2,), "float32", owner=object(), device="cuda:1")
    with pytest.raises(AttributeError, match="cuda:1"):
        view.__array_struct__


def test_a_buffer_gives_its_bytes():
    buffer = lend.buffer(FLOATS)
    assert read(buffer.__array_struct__)[:5] == (b"u", 1, (24,), (1,), buffer.ptr)
