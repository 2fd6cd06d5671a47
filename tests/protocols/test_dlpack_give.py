"""DLPack as producer: every keyword is honoured or refused, every field is exact (DL-E1 to DL-E7)."""

import _testbuffer
import itertools
import struct

import pytest

import lend
from lend.errors import LendError, StreamError
from support import counting
from support.counting import CountingDLPack, consume, natural_strides
from support.names import plain_repr, plain_str
from support.producers import ArrayInterface

FLOATS = struct.pack("4f", 0.0, 1.0, 2.0, 3.0)


def floats():
    return lend.view(memoryview(bytearray(FLOATS)).cast("f"))


def given(view, **keywords):
    """The fields of a capsule with its name, and the tensor taken from it."""
    capsule = view.__dlpack__(**keywords)
    fields = counting.capsule_fields(capsule)
    return fields, consume(capsule)


@pytest.mark.parametrize("version", [None, (0, 0), (0, 8), (0, 99)], ids=plain_str)
def test_without_a_version_of_one_or_more_an_unversioned_capsule_is_given(version):
    fields, tensor = given(floats(), max_version=version)
    assert fields["name"] == "dltensor"
    assert tensor.tobytes() == FLOATS


@pytest.mark.parametrize(
    ("asked", "given_version"),
    [((1, 0), (1, 0)), ((1, 1), (1, 1)), ((1, 3), (1, 3)), ((1, 99), (1, 3)), ((99, 0), (1, 3))],
    ids=plain_str,
)
def test_the_version_given_is_the_lower_of_both(asked, given_version):
    fields, _ = given(floats(), max_version=asked)
    assert (fields["name"], fields["version"], fields["flags"]) == ("dltensor_versioned", given_version, 0)


@pytest.mark.parametrize("version", ["x", 1, (1,), (None, 0), object(), (1.5, 0)], ids=plain_repr)
def test_a_version_that_is_none_is_refused(version):
    with pytest.raises((LendError, TypeError, ValueError)):
        floats().__dlpack__(max_version=version)


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 3)], ids=plain_str)
@pytest.mark.parametrize("shape", [(), (4,), (2, 2), (1, 4), (0,), (2, 0), (2, 1, 2), (1,) * 10], ids=plain_str)
def test_shape_and_strides_are_always_filled(version, shape):
    view = lend.view(CountingDLPack(FLOATS, shape))
    fields, _ = given(view, max_version=version)
    assert fields["ndim"] == len(shape)
    if shape:
        assert fields["shape"] == shape
    if shape and 0 not in shape:
        assert fields["strides"] == natural_strides(shape)
    if shape:
        assert fields["strides"] is not None


@pytest.mark.parametrize("stride", [0, 1, 5, -3, 2**61])
def test_the_stride_of_an_extent_of_one_comes_out_natural(stride):
    view = lend.view(CountingDLPack(FLOATS, (1, 4), strides=(stride, 1)))
    assert given(view, max_version=(1, 3))[0]["strides"] == (4, 1)


def test_strides_are_elements():
    view = lend.view(
        memoryview(_testbuffer.ndarray(list(range(12)), shape=[3, 4], format="i", flags=_testbuffer.ND_FORTRAN))
    )
    fields, tensor = given(view, max_version=(1, 3))
    assert fields["strides"] == (1, 3)
    assert tensor.tobytes() == view.tobytes()


@pytest.mark.parametrize("offset", [0, 4, 12])
def test_a_slice_is_told_by_its_address_not_by_a_byte_offset(offset):
    view = floats()[offset // 4 :]
    fields, tensor = given(view)
    assert (fields["data"], fields["byte_offset"]) == (view.ptr, 0)
    assert tensor.tobytes() == FLOATS[offset:]


def test_a_byte_offset_that_came_in_goes_out_as_an_address():
    producer = CountingDLPack(FLOATS, (2,), byte_offset=8)
    fields, _ = given(lend.view(producer), max_version=(1, 3))
    assert (fields["data"], fields["byte_offset"]) == (producer.address + 8, 0)


@pytest.mark.parametrize("version", [None, (1, 3)], ids=plain_str)
def test_an_empty_tensor_has_no_pointer(version):
    for view in (floats()[:0], lend.view(bytearray()), lend.view(CountingDLPack(8, (3, 0)), copy=True)):
        fields, _ = given(view, max_version=version)
        assert (fields["data"], fields["byte_offset"]) == (0, 0)


@pytest.mark.parametrize(
    ("code", "dtype"),
    [("b", (0, 8)), ("h", (0, 16)), ("i", (0, 32)), ("q", (0, 64)), ("B", (1, 8)), ("H", (1, 16)), ("I", (1, 32)),
     ("Q", (1, 64)), ("f", (2, 32)), ("d", (2, 64)), ("?", (6, 8)), ("l", (0, 8 * struct.calcsize("l")))],
)  # fmt: skip
def test_every_dtype_goes_out_under_its_code(code, dtype):
    view = lend.view(memoryview(bytearray(struct.calcsize(code) * 2)).cast(code))
    assert given(view)[0]["dtype"] == (*dtype, 1)


def test_read_only_memory_goes_into_no_unversioned_capsule():
    for version in (None, (0, 8)):
        with pytest.raises(LendError, match="max_version"):
            lend.view(b"1234").__dlpack__(max_version=version)


def test_read_only_memory_carries_the_flag():
    assert given(lend.view(b"1234"), max_version=(1, 0))[0]["flags"] == counting.READ_ONLY


COPIED = {
    "writable": lambda: floats(),
    "read-only": lambda: lend.view(FLOATS),
    "reversed": lambda: floats()[::-1],
    "strided": lambda: floats()[::2],
    "2-d": lambda: floats().reshape((2, 2)).T,
    "0-d": lambda: floats()[1],
    "empty": lambda: floats()[:0],
    "broadcast": lambda: lend.view(CountingDLPack(FLOATS, (3, 4), strides=(0, 1))),
}


@pytest.mark.parametrize("make", COPIED.values(), ids=COPIED)
@pytest.mark.parametrize("version", [(1, 0), (1, 3)], ids=plain_str)
def test_a_copy_is_fresh_writable_and_says_so(make, version):
    view = make()
    fields, tensor = given(view, max_version=version, copy=True)
    assert fields["flags"] == counting.IS_COPIED
    assert tensor.tobytes() == view.tobytes()
    if view.size:
        assert not view.buffer.ptr <= fields["data"] < view.buffer.ptr + view.buffer.nbytes
        assert fields["data"] % 64 == 0


@pytest.mark.parametrize("make", COPIED.values(), ids=COPIED)
def test_a_copy_goes_into_an_unversioned_capsule_too(make):
    view = make()
    fields, tensor = given(view, copy=True)
    assert (fields["name"], tensor.tobytes()) == ("dltensor", view.tobytes())


@pytest.mark.parametrize("make", COPIED.values(), ids=COPIED)
def test_a_copy_holds_nothing_of_its_source(make):
    view = make()
    _, tensor = given(view, max_version=(1, 3), copy=True)
    assert view.owner.exports == 0
    tensor.delete()


def test_a_write_to_a_copy_is_not_seen_by_the_source():
    view = floats()
    copy = lend.view(view.__dlpack__(max_version=(1, 3), copy=True))
    memoryview(copy)[0] = 9.0
    assert view.tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("copy", [None, False])
def test_no_copy_is_made_that_was_not_asked_for(copy):
    view = floats()
    assert given(view, copy=copy)[0]["data"] == view.ptr


@pytest.mark.parametrize("device", [None, (1, 0)])
def test_the_device_it_is_on_is_honoured(device):
    view = floats()
    assert given(view, dl_device=device)[0]["device"] == (1, 0)


@pytest.mark.parametrize("device", [(2, 0), (8, 0), (10, 0), (99, 0)], ids=plain_str)
@pytest.mark.parametrize("copy", [None, False, True])
def test_another_device_is_refused_naming_it(device, copy):
    with pytest.raises(LendError, match="device"):
        floats().__dlpack__(max_version=(1, 3), dl_device=device, copy=copy)


@pytest.mark.parametrize("stream", [-1, 0, 1, 2, 3, "s", 1 << 40])
def test_a_stream_on_the_cpu_is_an_error_of_both_kinds(stream):
    with pytest.raises(LendError) as caught:
        floats().__dlpack__(stream=stream)
    assert isinstance(caught.value, ValueError)


def test_a_stream_of_none_is_right_on_the_cpu():
    assert given(floats(), stream=None)[1].tobytes() == FLOATS


@pytest.mark.parametrize("copy", [None, False])
@pytest.mark.parametrize("version", [None, (1, 3)], ids=plain_str)
def test_negative_strides_are_refused_naming_the_remedy(copy, version):
    with pytest.raises(LendError, match=r"(?s)negative.*v\.copy\(\)"):
        floats()[::-1].__dlpack__(max_version=version, copy=copy)


@pytest.mark.parametrize("typestr", [">i4", ">f8", ">c16", "<M8[ns]", "<m8[s]", "|V3", "|V4"], ids=plain_str)
@pytest.mark.parametrize("copy", [None, False])
def test_a_dtype_that_dlpack_cannot_say_is_refused(typestr, copy):
    size = {"|V3": 3, "|V4": 4, ">c16": 16, ">i4": 4}.get(typestr, 8)
    view = lend.view(ArrayInterface(bytes(2 * size), (2,), typestr))
    with pytest.raises(LendError, match="dtype|byte order|big-endian"):
        view.__dlpack__(max_version=(1, 3), copy=copy)


def test_strides_between_elements_are_refused():
    view = lend.view(ArrayInterface(bytes(64), (3,), "<f4", strides=(6,)))
    with pytest.raises(LendError, match="stride"):
        view.__dlpack__(max_version=(1, 3))


def test_strides_between_elements_are_no_matter_to_a_copy():
    source = struct.pack("<f2xf2xf", 1.0, 2.0, 3.0)
    view = lend.view(ArrayInterface(source, (3,), "<f4", strides=(6,)))
    assert given(view, max_version=(1, 3), copy=True)[1].tobytes() == struct.pack("3f", 1, 2, 3)


def test_unaligned_memory_goes_out_as_it_is():
    producer = CountingDLPack(bytes(3) + FLOATS, (4,), byte_offset=3)
    fields, tensor = given(lend.view(producer), max_version=(1, 3))
    assert (fields["data"], tensor.tobytes()) == (producer.address + 3, FLOATS)


def test_the_device_is_a_pair_of_integers():
    device = floats().__dlpack_device__()
    assert (tuple(device), [type(part) for part in device]) == ((1, 0), [int, int])


def test_keywords_only():
    with pytest.raises(TypeError):
        floats().__dlpack__(None)


@pytest.mark.parametrize(
    "combination", list(itertools.product([None, (1, 3)], [None, (1, 0)], [None, False, True])), ids=plain_str
)
def test_every_combination_of_keywords_has_the_same_values(combination):
    version, device, copy = combination
    assert given(floats(), stream=None, max_version=version, dl_device=device, copy=copy)[1].tobytes() == FLOATS


def test_an_export_does_not_change_its_source():
    view = floats()
    before = (view.shape, view.strides, view.ptr, view.readonly)
    tensors = [given(view, max_version=version)[1] for version in (None, (1, 0), (1, 3))]
    assert (view.shape, view.strides, view.ptr, view.readonly) == before
    tensors[0].delete()
    assert tensors[1].tobytes() == tensors[2].tobytes() == FLOATS


def test_a_buffer_goes_out_as_unsigned_bytes():
    buffer = lend.buffer(bytearray(FLOATS))
    fields, tensor = given(buffer, max_version=(1, 3))
    assert (fields["dtype"], fields["shape"], tensor.tobytes()) == ((1, 8, 1), (16,), FLOATS)


@pytest.mark.parametrize("stream", ["x", 1.5, True, -2, -5, object()])
def test_a_stream_that_is_no_handle_is_refused_on_a_device(stream):
    block = bytearray(16)
    view = lend.View.from_pointer(4096, (2,), "int64", owner=block, device="cuda:0")
    with pytest.raises(StreamError, match="a stream is an integer handle"):
        view.__dlpack__(stream=stream, max_version=(1, 3))
