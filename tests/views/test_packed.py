"""Views of values that share bytes: no strides, row-major, and what is cut out of them begins a byte."""

import copy
import hashlib
import itertools
import operator
import pickle

import pytest

import lend
from lend import DType, View
from lend.errors import CopyRequired, LendError, MalformedDescriptor, ReadOnlyMemory, UnsupportedLayout, UnsupportedType
from support import counting
from support.counting import CountingDLPack
from support.names import plain_str

NAMES = ["int4", "uint4", "int2", "uint2", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"]
EACH = pytest.mark.parametrize("name", NAMES)


def nibbles(*shape, readonly=False):
    """A View of uint4 that count 0, 1, 2, ... 15, 0, ... in memory of their own."""
    count = 1
    for extent in shape:
        count *= extent
    values = [i % 16 for i in range(count + count % 2)]
    block = bytearray(low | high << 4 for low, high in zip(values[::2], values[1::2], strict=True))
    if count % 2:
        block[-1] |= 0xF0  # nobody's
    return lend.buffer(bytes(block) if readonly else block).view("uint4_packed", shape)


# -- dtypes --------------------------------------------------------------------------------------------------------


@EACH
def test_a_packed_dtype_has_a_name_beside_that_of_one_value_to_a_byte(name):
    packed, padded = DType(f"{name}_packed"), DType(name)
    assert (packed.name, packed.itemsize, packed.bits) == (f"{name}_packed", 0, int(packed.kind.lstrip("uintfloa")))
    assert (padded.itemsize, padded.bits) == (1, 8)
    assert (packed.shares_bytes, padded.shares_bytes) == (True, False)
    assert packed != padded
    assert pickle.loads(pickle.dumps(packed)) == packed


@pytest.mark.parametrize(("name", "itemsize"), [("int4_packedx2", 1), ("int4_packedx3", 0), ("uint2_packedx8", 2)])
def test_lanes_that_fill_bytes_share_none(name, itemsize):
    dtype = DType(name)
    assert (dtype.itemsize, dtype.shares_bytes) == (itemsize, itemsize == 0)


@pytest.mark.parametrize("name", ["opaque[0]", "bytes[0]", "float32", "datetime64[ns]"])
def test_types_of_whole_bytes_share_none(name):
    assert DType(name).shares_bytes is False


# -- facts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (1,), (5,), (3, 3), (2, 1, 4)], ids=plain_str)
@EACH
def test_a_view_says_what_it_has_and_what_it_has_not(name, shape):
    view = View.from_pointer(4096, shape, f"{name}_packed", owner=NAMES)
    size = 1
    for extent in shape:
        size *= extent
    assert (view.shape, view.size, view.itemsize, view.strides) == (shape, size, 0, None)
    assert view.nbytes == view.buffer.nbytes == view.owner.nbytes == (size * DType(f"{name}_packed").bits + 7) // 8
    assert (view.c_contiguous, view.f_contiguous) == (True, sum(extent > 1 for extent in shape) <= 1)
    assert view.aligned


@pytest.mark.parametrize("shape", [(0,), (3, 0, 5)], ids=plain_str)
def test_no_values_fill_no_bytes(shape):
    view = View.from_pointer(0, shape, "int4_packed", owner=NAMES, readonly=False)
    assert (view.nbytes, view.c_contiguous, view.f_contiguous, view.readonly) == (0, True, True, False)


@pytest.mark.parametrize("shape", [(7,), (2, 2), (200, 300, 5)], ids=plain_str)
def test_values_that_share_bytes_do_not_overlap(shape):
    assert not nibbles(*shape).readonly


def test_a_repr_names_the_type():
    assert repr(nibbles(2, 3)) == "<View uint4_packed[2, 3] on cpu, lent by bytearray>"
    assert "several share a byte" in nibbles(2, 3)._repr_html_()


def test_strides_from_words_are_refused():
    with pytest.raises(MalformedDescriptor, match=r"strides is \(1,\), not None: several int4_packed share a byte"):
        View.from_pointer(4096, (4,), "int4_packed", owner=NAMES, strides=(1,))


@pytest.mark.parametrize("shape", [(2**61,), (2**32, 2**31), (0, 2**62, 2)], ids=plain_str)
def test_values_that_fit_no_memory_are_refused(shape):
    with pytest.raises(MalformedDescriptor, match="fit the address space"):
        View.from_pointer(4096, shape, "int4_packed", owner=NAMES)


@pytest.mark.parametrize("ptr", [0, 2**64 - 3])
def test_an_address_without_room_for_the_bytes_is_refused(ptr):
    with pytest.raises(MalformedDescriptor, match="ptr"):
        View.from_pointer(ptr, (8,), "int4_packed", owner=NAMES)


def test_a_part_of_a_buffer_stays_within_it():
    buffer = lend.buffer(bytes(3))
    assert buffer.view("uint4_packed", (5,)).nbytes == 3
    assert buffer.view("float6_e2m3fn_packed").shape == (4,)
    with pytest.raises(MalformedDescriptor, match="bytes 0 to 4 were asked for, and there are 3"):
        buffer.view("uint4_packed", (7,))
    with pytest.raises(UnsupportedLayout, match="2 bytes are no whole number of float6_e2m3fn_packed"):
        buffer.view("float6_e2m3fn_packed", offset=1)


# -- values --------------------------------------------------------------------------------------------------------


@EACH
def test_values_are_read_from_the_lowest_bits_on(name):
    bits = DType(f"{name}_packed").bits
    count = 2**bits
    word = sum(pattern << bits * pattern for pattern in range(count))
    view = lend.buffer(word.to_bytes(count * bits // 8, "little")).view(f"{name}_packed")
    values = lend.buffer(bytes(range(count))).view(name).tolist()
    assert list(map(repr, view.tolist())) == list(map(repr, values))
    assert [repr(view.item(i)) for i in range(count)] == list(map(repr, values))


def test_values_are_nested_by_dimension():
    assert nibbles(2, 3).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert nibbles(2, 0).tolist() == [[], []]
    assert nibbles(1).reshape(()).tolist() == 0


def test_lanes_are_tuples():
    view = lend.buffer(b"\x21\x43\x65\x87\x09").view("uint4_packedx3", (3,))
    assert view.tolist() == [(1, 2, 3), (4, 5, 6), (7, 8, 9)]
    assert view.item(1) == (4, 5, 6)


def test_the_only_value_is_an_item():
    assert nibbles(7)[2:3].item() == 2
    with pytest.raises(ValueError, match="7 elements"):
        nibbles(7).item()


@pytest.mark.parametrize("make", [nibbles, lambda *shape: lend.view(bytes(range(6))).reshape(shape)], ids=plain_str)
def test_a_value_is_read_at_its_index(make):
    view = make(2, 3)
    assert [view.item(i, j) for i, j in itertools.product(range(2), range(3))] == [0, 1, 2, 3, 4, 5]
    assert (view.item(-1, -1), view.item(True, False)) == (5, 3)
    with pytest.raises(IndexError, match="an index for each of 2 dimensions, not 1"):
        view.item(1)
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 1 of extent 3"):
        view.item(0, 3)
    with pytest.raises(TypeError):
        view.item(0, slice(1))


def test_memory_that_the_host_may_not_read_is_not_read():
    view = View.from_pointer(4096, (4,), "int4_packed", owner=NAMES, device="cuda:0")
    for read in (View.tolist, View.tobytes, lambda v: v.item(1), View.copy):
        with pytest.raises(LendError, match="the host may not read memory on cuda:0"):
            read(view)


# -- parts ---------------------------------------------------------------------------------------------------------

INDICES = [
    0, 2, -1, slice(2, 6), slice(2, None), slice(4), slice(None), ..., (0,), (2, ...), None, (None, slice(4, 6)),
    slice(3, 3), slice(6, 7), slice(2, 3, 5),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=plain_str)
def test_a_part_that_begins_a_byte_is_a_view(index):
    np = pytest.importorskip("numpy")
    part = nibbles(7)[index]
    assert part.tolist() == np.arange(7)[index].tolist()
    assert part.strides is None


@pytest.mark.parametrize("index", [1, -2, slice(1, 4), (slice(3, 5),), slice(5, 6)], ids=plain_str)
def test_a_part_that_begins_within_a_byte_is_none(index):
    with pytest.raises(UnsupportedLayout, match="does not begin one"):
        nibbles(7)[index]


@pytest.mark.parametrize("index", [slice(None, None, 2), slice(None, None, -1), slice(4, 0, -2)], ids=plain_str)
def test_a_part_that_leaves_values_out_is_none(index):
    with pytest.raises(UnsupportedLayout, match="leaves some out"):
        nibbles(7)[index]


@pytest.mark.parametrize(
    "index", [(1, 2), (1,), (slice(1, 3),), (2, slice(1, 3)), (slice(0, 1), slice(2, 4))], ids=plain_str
)
def test_a_part_of_several_dimensions_is_one_run(index):
    np = pytest.importorskip("numpy")
    assert nibbles(3, 5, 2)[index].tolist() == (np.arange(30) % 16).reshape(3, 5, 2)[index].tolist()


@pytest.mark.parametrize("index", [(..., 0), (slice(None), slice(0, 2)), (slice(0, 3, 2),)], ids=plain_str)
def test_a_part_of_several_dimensions_with_gaps_is_none(index):
    with pytest.raises(UnsupportedLayout, match="leaves some out"):
        nibbles(3, 5, 2)[index]


@pytest.mark.parametrize("bits", [2, 4, 6])
def test_what_the_refusal_says_begins_a_byte_does(bits):
    name = {2: "uint2", 4: "uint4", 6: "float6_e2m3fn"}[bits]
    view = lend.buffer(bytes(range(9))).view(f"{name}_packed")
    with pytest.raises(UnsupportedLayout) as refused:
        view[1:]
    step = int(str(refused.value).rpartition("a multiple of ")[2])
    assert view[step:].tolist() == view.tolist()[step:]


def test_many_dimensions_are_cut_as_few():
    assert nibbles(*[1] * 9, 7)[(0,) * 9][2:].tolist() == [2, 3, 4, 5, 6]


def test_a_part_whose_last_byte_has_others_in_it_is_read_only():
    view = nibbles(7)
    assert view[:3].readonly
    assert view[:3].buffer.readonly
    assert view[0].readonly
    assert not view[:4].readonly
    assert not view[2:].readonly  # the rest of its last byte is nobody's
    with pytest.raises(ReadOnlyMemory):
        lend.view(view[:3], writable=True)


def test_rows_of_whole_bytes_are_iterated_and_others_are_not():
    assert [row.tolist() for row in nibbles(2, 4)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert [value.tolist() for value in nibbles(1)] == [0]
    for view in (nibbles(4), nibbles(2, 3)):
        with pytest.raises(UnsupportedLayout, match="not each step of the first dimension begins one"):
            next(iter(view))


# -- other shapes, other types -------------------------------------------------------------------------------------


def test_another_shape_keeps_the_order():
    view = nibbles(2, 3)
    assert (view.reshape(3, -1).tolist(), view.reshape(3, 2).strides) == ([[0, 1], [2, 3], [4, 5]], None)
    with pytest.raises(ValueError, match="cannot be shaped"):
        view.reshape(4)


def test_dimensions_are_reversed_only_where_nothing_moves():
    assert nibbles(1, 6).T.shape == (6, 1)
    assert nibbles(5).T.tolist() == [0, 1, 2, 3, 4]
    assert nibbles(3, 0).T.shape == (0, 3)
    with pytest.raises(UnsupportedLayout, match="cannot be transposed without moving bits"):
        _ = nibbles(2, 3).T


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        ("uint8", (2, 2)),
        ("int4_packed", (2, 4)),
        ("uint4_packedx2", (2, 2)),
        ("uint16", (2, 1)),
        ("uint2_packed", (2, 8)),
    ],
)
def test_the_bits_are_seen_as_another_type_and_back(dtype, shape):
    view = nibbles(2, 4)
    other = view.reinterpret(dtype)
    assert (other.shape, other.ptr, other.nbytes, other.c_contiguous) == (shape, view.ptr, 4, True)
    assert other.tobytes() == view.tobytes()
    assert other.reinterpret("uint4_packed").tolist() == view.tolist()


def test_whole_bytes_have_strides_again():
    assert nibbles(2, 4).reinterpret("uint8").strides == (2, 1)


@pytest.mark.parametrize("dtype", ["uint8", "float6_e2m3fn_packed", "float32"])
def test_a_last_dimension_that_does_not_divide_is_refused(dtype):
    with pytest.raises(UnsupportedLayout, match="the last dimension has 20 bits, no whole number of"):
        nibbles(2, 5).reinterpret(dtype)


def test_memory_with_gaps_is_not_seen_as_packed():
    with pytest.raises(UnsupportedLayout, match="gaps or another order"):
        lend.view(bytes(8))[::2].reinterpret("int4_packed")


def test_a_type_of_no_bytes_is_not_seen_as_packed():
    for view, dtype in ((nibbles(4), "opaque[0]"), (nibbles(1).reshape(()), "uint8")):
        with pytest.raises(UnsupportedLayout, match="cannot be seen as items of"):
            view.reinterpret(dtype)


def test_packed_values_have_no_low_part():
    with pytest.raises(UnsupportedType, match="elements of uint4_packed have no low part"):
        nibbles(4).low("uint8")
    with pytest.raises(UnsupportedType, match="has 1 to 4 bytes"):
        lend.view(bytes(8)).reinterpret("opaque[4]").low("uint4_packed")


# -- copies --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copied", [View.copy, copy.deepcopy, lambda v: lend.view(v, copy=True)], ids=plain_str)
def test_a_copy_is_packed_and_has_nothing_of_others_in_it(copied):
    part = nibbles(8)[:3]
    with lend.copies() as copies:
        made = copied(part)
    assert (made.dtype, made.tolist(), made.exclusive, made.readonly) == (part.dtype, [0, 1, 2], True, False)
    assert bytes(made.buffer) == b"\x10\x02"
    assert (copies.count, copies.bytes) == (1, 2)


def test_the_bytes_of_the_values_have_nothing_of_others_in_them():
    assert (nibbles(8)[:3].tobytes(), nibbles(4).tobytes(), nibbles(0).tobytes()) == (b"\x10\x02", b"\x10\x32", b"")


def test_the_memory_itself_is_not_touched():
    view = nibbles(3)
    assert bytes(view.buffer) == b"\x10\xf2"


def test_column_major_order_is_refused_where_it_would_move_bits():
    view = nibbles(2, 3)
    for ask in (
        lambda: view.tobytes("F"), lambda: view.copy("F"), lambda: lend.view(view, order="F"),
        lambda: lend.view(view, order="F", copy=True),
    ):  # fmt: skip
        with pytest.raises(UnsupportedLayout, match="without moving bits"):
            ask()
    assert nibbles(6).copy("F").tolist() == [0, 1, 2, 3, 4, 5]
    assert nibbles(6).tobytes("F") == b"\x10\x32\x54"
    assert lend.view(view, order="C").tolist() == view.tolist()


def test_an_alignment_is_met_by_a_copy():
    view = lend.buffer(bytearray(65)).view("int4_packed", offset=1)
    with pytest.raises(CopyRequired):
        lend.view(view, align=64)
    assert lend.view(view, align=64, copy=True).ptr % 64 == 0


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("shape", [(7,), (2, 3), (0, 2), ()], ids=plain_str)
def test_a_pickle_is_what_it_was(shape, protocol):
    view = nibbles(*shape)
    made = pickle.loads(pickle.dumps(view, protocol))
    assert (made.dtype, made.shape, made.strides, made.tolist()) == (view.dtype, shape, None, view.tolist())


def test_a_pickle_has_the_bytes_of_a_part_alone_out_of_band():
    buffers = []
    sent = pickle.dumps(nibbles(9)[2:6], 5, buffer_callback=buffers.append)
    assert [bytes(buffer) for buffer in buffers] == [b"\x32\x54"]
    assert pickle.loads(sent, buffers=buffers).tolist() == [2, 3, 4, 5]
    with pytest.raises(MalformedDescriptor, match="the bytes of a pickled View are 2, and 3 were received"):
        pickle.loads(sent, buffers=[b"abc"])


def test_a_shallow_copy_shares():
    view = nibbles(3)
    assert copy.copy(view).ptr == view.ptr


# -- out -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["numpy", "torch", "jax", "pyarrow", "memoryview", "tvm_ffi"])
def test_no_target_is_given_packed_values_as_something_else(target):
    if target != "memoryview":
        pytest.importorskip(target)
    with pytest.raises(UnsupportedType, match="has no uint4_packed") as refused:
        lend.to(nibbles(4), target)
    assert "lend.buffer(x): the bytes" in str(refused.value)


def test_a_callable_gets_the_view():
    assert lend.to(nibbles(4), operator.methodcaller("tolist")) == [0, 1, 2, 3]


def test_numpy_is_told_that_there_is_no_such_dtype():
    pytest.importorskip("numpy")
    with pytest.raises(UnsupportedType, match="NumPy cannot say uint4_packed"):
        _ = DType("uint4_packed").__numpy_dtype__


@pytest.mark.parametrize("flags", [counting.FULL_RO, counting.RECORDS_RO, counting.FORMAT | counting.ND])
def test_a_buffer_with_a_format_is_refused_with_what_helps(flags):
    with pytest.raises(BufferError, match=r"(?s)no word for the dtype uint4_packed.*v\.buffer"):
        counting.getbuffer(nibbles(4), flags)


@pytest.mark.parametrize("flags", [counting.SIMPLE, counting.CONTIG_RO, counting.STRIDED_RO, counting.WRITABLE])
def test_a_buffer_without_a_format_is_the_bytes(flags):
    view = nibbles(2, 1, 5)[:2]
    held = counting.hold(view, flags)
    fields = held.fields
    wanted = {"itemsize": 1, "len": 5, "ndim": 1, "format": None}
    assert {field: fields[field] for field in wanted} == wanted
    assert fields["shape"] == ((5,) if flags & counting.ND else None)
    assert fields["strides"] == ((1,) if flags & 0x10 else None)
    assert held.tobytes() == view.tobytes()
    with pytest.raises(LendError, match="cannot be released"):
        view.release()
    held.release()
    view.release()


def test_who_asks_for_bytes_alone_reads_them():
    assert hashlib.sha256(nibbles(4)).digest() == hashlib.sha256(b"\x10\x32").digest()


def test_a_lease_is_given_back_once():
    source = CountingDLPack(b"\x21\x43", (4,), dtype=(1, 4, 1))
    view = lend.view(source)
    part, capsule = view[2:], view.__dlpack__(max_version=(1, 0))
    view.verify()
    view.release()
    assert (view.released, part.tolist(), source.live) == (True, [3, 4], 1)
    del part, capsule
    assert source.audit() == []
