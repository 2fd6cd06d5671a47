"""DLPack as consumer: every well-formed tensor is read as it says, by capsule and by the exchange table alike."""

import struct

import pytest

import lend
from lend.errors import LendError, ReadOnlyMemory
from support import counting
from support.counting import CountingDLPack, CountingExchange, natural_strides

DOORS = pytest.mark.parametrize("door", ["versioned", "legacy", "table", "bare versioned", "bare legacy"])


def lent(door, source, shape, **facts):
    """A view of one tensor by one door, and its producer."""
    if door == "table":
        producer = CountingExchange(source, shape, **facts)
        return lend.view(producer), producer
    producer = CountingDLPack(source, shape, protocol=door.split()[-1], **facts)
    return lend.view(producer.capsule(door.endswith("versioned")) if "bare" in door else producer), producer


DTYPES = {
    (0, 8, 1): "b",
    (0, 16, 1): "h",
    (0, 32, 1): "i",
    (0, 64, 1): "q",
    (1, 8, 1): "B",
    (1, 16, 1): "H",
    (1, 32, 1): "I",
    (1, 64, 1): "Q",
    (2, 32, 1): "f",
    (2, 64, 1): "d",
    (6, 8, 1): "?",
}


@DOORS
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_that_struct_knows_is_read_right(door, dtype):
    code = DTYPES[dtype]
    values = [0, 1, 1, 0, 1, 0] if code == "?" else [0, 1, 2, 3, 100, 5]
    source = struct.pack(f"6{code}", *values)
    view, producer = lent(door, source, (2, 3), dtype=dtype)
    assert view.tolist() == [values[:3], values[3:]]
    assert view.ptr == producer.address
    assert view.dtype == lend.view(memoryview(source).cast(code)).dtype


@DOORS
@pytest.mark.parametrize(("bits", "code"), [(64, "f"), (128, "d")])
def test_complex_numbers_are_read_right(door, bits, code):
    view, _ = lent(door, struct.pack(f"4{code}", 1, 2, 3, -4), (2,), dtype=(5, bits, 1))
    assert view.tolist() == [1 + 2j, 3 - 4j]


@DOORS
def test_half_floats_are_read_right(door):
    view, producer = lent(door, struct.pack("3e", 0.5, 1.0, -2.0), (3,), dtype=(2, 16, 1))
    assert (view.tolist(), view.ptr) == ([0.5, 1.0, -2.0], producer.address)


@DOORS
def test_bfloat16_keeps_its_type_and_its_bytes(door):
    source = struct.pack("4H", 0, 0x3F80, 0xC000, 0x7F80)
    view, producer = lent(door, source, (4,), dtype=(4, 16, 1))
    assert (view.itemsize, view.tobytes(), view.ptr) == (2, source, producer.address)
    assert view.tolist() == [0.0, 1.0, -2.0, float("inf")]
    assert counting.consume(view.__dlpack__(max_version=(1, 3), copy=True)).fields["dtype"] == (4, 16, 1)


@DOORS
@pytest.mark.parametrize("lanes", [2, 3, 4, 16])
def test_lanes_stay_in_the_dtype(door, lanes):
    view, _ = lent(door, bytes(4 * lanes * 3), (3,), dtype=(2, 32, lanes))
    assert (view.shape, view.itemsize, view.nbytes) == ((3,), 4 * lanes, 12 * lanes)
    assert counting.exchange_take(view[:0]).fields["dtype"] == (2, 32, lanes)


SHAPES = [(), (1,), (4,), (2, 3), (2, 1, 3), (0,), (3, 0, 2), (1,) * 8, (1,) * 9 + (2,), (1,) * 64]


@DOORS
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_shape_is_kept(door, shape):
    view, _ = lent(door, 64, shape, dtype=(1, 8, 1))
    assert (view.shape, view.strides, view.ndim) == (shape, natural_strides(shape), len(shape))
    assert view.c_contiguous


@DOORS
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_absent_strides_are_row_major(door, shape):
    view, _ = lent(door, 64, shape, dtype=(1, 8, 1), strides=None)
    assert (view.shape, view.strides) == (shape, natural_strides(shape))


@DOORS
def test_strides_are_turned_into_bytes(door):
    view, _ = lent(door, struct.pack("6i", *range(6)), (3, 2), strides=(1, 3), dtype=(0, 32, 1))
    assert view.strides == (4, 12)
    assert (view.f_contiguous, view.c_contiguous) == (True, False)
    assert view.tolist() == [[0, 3], [1, 4], [2, 5]]


@DOORS
def test_negative_strides_are_followed(door):
    source = struct.pack("6i", *range(6))
    view, producer = lent(door, source, (3,), strides=(-2,), byte_offset=20, dtype=(0, 32, 1))
    assert (view.tolist(), view.ptr) == ([5, 3, 1], producer.address + 20)


@DOORS
@pytest.mark.parametrize("offset", [0, 1, 3, 8, 13, 64])
@pytest.mark.parametrize("code", ["B", "h", "f", "d"])
def test_the_first_element_lies_at_data_plus_byte_offset(door, offset, code):
    size = struct.calcsize(code)
    source = bytes(offset) + struct.pack(f"3{code}", 1, 2, 3)
    dtype = {"B": (1, 8, 1), "h": (0, 16, 1), "f": (2, 32, 1), "d": (2, 64, 1)}[code]
    view, producer = lent(door, source, (3,), dtype=dtype, byte_offset=offset)
    assert view.ptr == producer.address + offset
    assert view.tolist() == [1, 2, 3]
    assert view.aligned is (offset % size == 0)


@DOORS
@pytest.mark.parametrize(
    "facts", [{"data": 0}, {"data": 8}, {"data": 0, "byte_offset": 64}, {"byte_offset": 2**63}], ids=str
)
def test_the_pointer_of_an_empty_tensor_means_nothing(door, facts):
    view, producer = lent(door, 8, (2, 0), **facts)
    assert (view.shape, view.size, view.tobytes(), view.tolist()) == ((2, 0), 0, b"", [[], []])
    del view
    assert producer.audit() == []


@DOORS
@pytest.mark.parametrize("strides", [(0, 0), (-5, 7), (2**62, 2**62)], ids=str)
def test_the_strides_of_an_empty_tensor_mean_nothing(door, strides):
    view, _ = lent(door, 8, (0, 3), strides=strides)
    assert (view.c_contiguous, view.f_contiguous) == (True, True)


@DOORS
@pytest.mark.parametrize("stride", [0, 1, 5, -7, 2**60, 2**62], ids=str)
def test_the_stride_of_an_extent_of_one_decides_nothing(door, stride):
    view, _ = lent(door, struct.pack("3f", 1, 2, 3), (1, 3), strides=(stride, 1))
    assert (view.c_contiguous, view.f_contiguous, view.tolist()) == (True, True, [[1.0, 2.0, 3.0]])


def test_a_zero_dimensional_tensor_may_have_no_shape():
    view, _ = lent("versioned", struct.pack("f", 7), (), null_shape=True, strides=None)
    assert (view.shape, view.tolist()) == ((), 7.0)


@DOORS
@pytest.mark.parametrize("device", [(1, 0), (1, 3), (1, -1)], ids=str)
def test_the_id_of_the_cpu_is_ignored(door, device):
    view, _ = lent(door, bytes(16), (4,), device=device)
    assert view.device == lend.view(b"").device
    assert counting.exchange_take(view[:0]).fields["device"] == (1, 0)
    assert view.__dlpack_device__() == (1, 0)


@DOORS
@pytest.mark.parametrize("device", [(3, 0), (11, 0)], ids=str)
def test_memory_of_host_accessible_kinds_is_read_and_keeps_its_kind(door, device):
    view, _ = lent(door, struct.pack("2f", 1, 2), (2,), device=device)
    assert view.tolist() == [1.0, 2.0]
    assert tuple(view.__dlpack_device__()) == device


DEVICES = [
    (2, 0),
    (2, 3),
    (4, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 1),
    (12, 0),
    (14, 0),
    (15, 0),
    (16, 0),
    (17, 0),
    (18, 0),
]


@DOORS
@pytest.mark.parametrize("device", DEVICES, ids=str)
def test_device_memory_is_described_and_never_touched(door, device):
    view, _ = lent(door, 16, (2, 2), device=device, data=0x1000)  # no such page: a read would be the end
    assert (view.shape, view.dtype) == ((2, 2), lend.view(memoryview(bytes(4)).cast("f")).dtype)
    assert tuple(view.__dlpack_device__()) == device
    assert repr(view)
    for read in (lend.View.tobytes, lend.View.tolist, memoryview, lend.View.copy):
        with pytest.raises(LendError):
            read(view)
    with pytest.raises(LendError):
        view[0, 0].item()


@pytest.mark.parametrize("device", [(19, 0), (99, 0), (200, 1)], ids=str)
def test_an_unknown_device_is_refused_by_name_or_kept_untouched(device):
    producer = CountingDLPack(16, (4,), device=device, data=0x1000)
    try:
        view = lend.view(producer)
    except LendError as error:
        assert str(device[0]) in str(error)
        return
    assert tuple(view.__dlpack_device__()) == device
    with pytest.raises(LendError):
        view.tobytes()


def test_a_handle_keeps_its_byte_offset_apart():
    view, _ = lent("versioned", 64, (4,), device=(8, 0), data=0x1000, byte_offset=16)
    fields = counting.exchange_take(view[1:]).fields
    assert (fields["data"], fields["byte_offset"]) == (0x1000, 20)


@pytest.mark.parametrize(
    "flags", [0, counting.READ_ONLY, counting.IS_COPIED, counting.READ_ONLY | counting.IS_COPIED, 4, 1 << 40]
)
@pytest.mark.parametrize("door", ["versioned", "table", "bare versioned"])
def test_the_read_only_flag_and_no_other_makes_a_view_read_only(door, flags):
    view, _ = lent(door, 16, (4,), flags=flags)
    assert view.readonly is bool(flags & counting.READ_ONLY)


@pytest.mark.parametrize("door", ["legacy", "bare legacy"])
def test_an_unversioned_tensor_is_read_only_until_the_caller_says_otherwise(door):
    view, _ = lent(door, 16, (4,))
    assert view.readonly
    producer = CountingDLPack(16, (4,), protocol="legacy")
    assert not lend.view(producer, writable=True).readonly
    assert not lend.view(producer.capsule(False), writable=True).readonly


@pytest.mark.parametrize("door", ["versioned", "legacy", "table"])
def test_a_zero_stride_over_several_elements_is_read_only(door):
    view, producer = lent(door, 16, (3, 4), strides=(0, 1))
    assert view.readonly
    with pytest.raises(ReadOnlyMemory):
        lend.view(producer, writable=True)


@pytest.mark.parametrize("version", [(1, 0), (1, 1), (1, 3), (1, 99)], ids=str)
@pytest.mark.parametrize("door", ["versioned", "table", "bare versioned"])
def test_every_minor_version_of_major_one_is_taken(door, version):
    view, _ = lent(door, struct.pack("f", 5), (1,), version=version)
    assert view.tolist() == [5.0]


def test_a_producer_with_an_array_interface_is_not_taken_by_an_unversioned_capsule():
    class Both(CountingDLPack):
        @property
        def __array_interface__(self):
            return {"version": 3, "shape": (4,), "typestr": "<f4", "data": (self.address, False)}

    producer = Both(struct.pack("4f", 1, 2, 3, 4), (4,), protocol="legacy", poison=False)
    view = lend.view(producer)
    assert (view.readonly, view.tolist()) == (False, [1.0, 2.0, 3.0, 4.0])
    del view
    assert producer.deleted_by_consumer == 0
    assert producer.audit() == []


@DOORS
def test_a_buffer_of_a_tensor_has_its_bytes(door):
    source = struct.pack("4f", 1, 2, 3, 4)
    _, producer = lent(door, source, (4,))
    taken = producer.capsule() if "bare" in door else producer
    assert bytes(lend.buffer(taken)) == source
