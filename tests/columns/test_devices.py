"""Columns in memory of a device: handed on, and refused before a byte of it is read. The address is mapped nowhere."""

import struct

import pytest

import lend
from lend import Column, DType
from lend.columns import converting
from lend.columns.nullness import Nulls
from lend.errors import NotHostAccessible, UnsupportedLayout, UnsupportedType
from support.counting import CountingDLPack
from support.device_producers import CudaInterface


def lying(typestr, count):
    """So many elements on a device that nobody has."""
    return CudaInterface(shape=(count,), typestr=typestr)


def i(*values):
    return struct.pack(f"{len(values)}i", *values)


def numbers(**said):
    return lend.column(lying("<i8", 3)) if not said else Column.from_buffers("int64", 3, said.pop("buffers"), **said)


def within(format, buffers, *names, length=3, **said):
    """A nested column over numbers on the device."""
    dtype = DType.from_arrow(format, fields=[(name, DType("int64")) for name in names])
    return Column.from_buffers(dtype, length, buffers, children=[numbers() for _ in names], **said)


MASK = Nulls("bytemask", 1)
COLUMNS = {
    "numbers": numbers,
    "times": lambda: lend.column(lying("<M8[s]", 3)),
    "bools": lambda: lend.column(lying("|b1", 3)),
    "floats of which some are null": lambda: lend.column(lying("<f8", 3), nulls="nan"),
    "a value that is null": lambda: lend.column(lying("<i8", 3), nulls=-1),
    "bits": lambda: numbers(buffers={"data": lying("<i8", 3), "validity": lying("|u1", 1)}),
    "bytes": lambda: numbers(buffers={"data": lying("<i8", 3), "validity": lying("|u1", 3)}, nulls=MASK),
    "packed bools": lambda: Column.from_buffers("bool_packed", 3, {"data": lying("|u1", 1)}),
    "text": lambda: Column.from_buffers("utf8", 3, {"offsets": lying("<i4", 4), "data": lying("|u1", 9)}),
    "views": lambda: Column.from_buffers(
        "utf8_view", 3, {"views": lying("|u1", 48), "variadic": [lying("|u1", 9)]}
    ),
    "lists": lambda: within("+l", {"offsets": lying("<i4", 4)}, "item"),
    "list views": lambda: within("+vl", {"offsets": lying("<i4", 3), "sizes": lying("<i4", 3)}, "item"),
    "lists of one length": lambda: within("+w:1", {}, "item"),
    "structs": lambda: within("+s", {}, "a", "b"),
    "structs with nulls": lambda: within("+s", {"validity": lying("|u1", 1)}, "a"),
    "structs of structs": lambda: Column.from_buffers(
        DType.from_arrow("+s", fields=[("in", DType.from_arrow("+s", fields=[("a", DType("int64"))]))]),
        3, {}, children=[within("+s", {}, "a")],
    ),
    "a sparse union": lambda: within("+us:0,1", {"type_ids": lying("|i1", 3)}, "a", "b"),
    "a dense union": lambda: within("+ud:0", {"type_ids": lying("|i1", 3), "offsets": lying("<i4", 3)}, "a"),
    "a dictionary": lambda: Column.from_buffers(
        DType.from_arrow("c", dictionary=DType("int64")), 3, {"data": lying("|i1", 3)}, dictionary=numbers()
    ),
}  # fmt: skip
READERS = {
    "tolist": lambda column: column.tolist(),
    "iteration": lambda column: list(column),
    "an element": lambda column: column[0],
    "item": lambda column: column[:1].item(),
    "the full check": lambda column: column.verify(full=True),
    "an Arrow array": lambda column: column.__arrow_c_array__(),
    "an Arrow stream": lambda column: column.__arrow_c_stream__(),
    "pyarrow": lambda column: column.to("pyarrow"),
    "a compact copy": converting.compact,
    "Arrow's form": converting.arrow_form,
    "side by side": converting.contiguous,
    "a mask": converting.masked,
    "a value under nulls": lambda column: converting.filled(column, 0),
    "offsets of 64 bits": converting.widened,
    "indices": converting.codes_with_sentinel,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", COLUMNS)
def test_what_reads_refuses_memory_of_a_device(kind, reader):
    with pytest.raises(NotHostAccessible, match="needs host memory|takes memory of the host|the host may not read"):
        READERS[reader](COLUMNS[kind]())


@pytest.mark.parametrize("kind", COLUMNS)
def test_nulls_on_a_device_are_counted_by_a_promise_or_not_at_all(kind):
    column = COLUMNS[kind]()
    try:
        count = column.null_count
    except NotHostAccessible:
        return
    assert (count, column.nulls.kind) == (0, "none")


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_on_a_device_shows_itself_and_reads_nothing(kind):
    assert "on cuda:?" in repr(COLUMNS[kind]())


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_has_the_device_of_all_below_it(kind):
    assert COLUMNS[kind]().__dlpack_device__() == (2, -1)


@pytest.mark.parametrize("kind", COLUMNS)
def test_buffers_of_a_device_are_shown_and_not_read(kind):
    for role, buffer in COLUMNS[kind]().buffers.items():
        for part in buffer if role == "variadic" else (buffer,):
            assert str(part.device) == "cuda:?"


MIXED = {
    "offsets of the host": lambda: within("+l", {"offsets": i(0, 1, 2, 3)}, "item"),
    "type ids of the host": lambda: within("+us:0,1", {"type_ids": bytes(3)}, "a", "b"),
    "nulls of the host": lambda: within("+s", {"validity": b"\7"}, "a"),
    "children of two devices": lambda: Column.from_buffers(
        DType.from_arrow("+s", fields=[("a", DType("int64")), ("b", DType("int64"))]),
        3, {}, children=[numbers(), lend.column(memoryview(bytes(24)).cast("q"))],
    ),
    "indices of the host": lambda: Column.from_buffers(
        DType.from_arrow("c", dictionary=DType("int64")), 3, {"data": bytes(3)}, dictionary=numbers()
    ),
    "a mask of the host": lambda: numbers(buffers={"data": lying("<i8", 3), "validity": bytes(3)}, nulls=MASK),
    "text of the host": lambda: Column.from_buffers("utf8", 3, {"offsets": lying("<i4", 4), "data": b"abc"}),
}  # fmt: skip


@pytest.mark.parametrize("case", MIXED)
def test_a_column_on_several_devices_names_them_and_is_on_none(case):
    column = MIXED[case]()
    with pytest.raises(UnsupportedLayout, match=r"is on several devices \(.* on c"):
        column.device
    assert "cpu" in repr(column)
    assert "cuda:?" in repr(column)


@pytest.mark.parametrize("case", MIXED)
@pytest.mark.parametrize("reader", READERS)
def test_no_host_reads_a_column_of_which_a_part_is_on_a_device(case, reader):
    column = MIXED[case]()
    with pytest.raises((NotHostAccessible, UnsupportedLayout)):
        READERS[reader](column)


GIVERS = {
    "an Arrow device array": lambda column: column.__arrow_c_device_array__(),
    "an Arrow device stream": lambda column: column.__arrow_c_device_stream__(),
    "the device of DLPack": lambda column: column.__dlpack_device__(),
    "an interface of CUDA": lambda column: column.cuda_array_interface(mask=True),
    "a table": lambda column: lend.table({"a": column}).__arrow_c_device_stream__(),
    "a table of one batch": lambda column: lend.table({"a": column}).__arrow_c_device_array__(),
}


@pytest.mark.parametrize("case", MIXED)
@pytest.mark.parametrize("giver", GIVERS)
def test_what_has_a_word_for_one_device_is_given_no_column_of_several(case, giver):
    with pytest.raises(UnsupportedLayout, match=r"is on several devices(?s:.*)device=.cpu"):
        GIVERS[giver](MIXED[case]())


@pytest.mark.parametrize("case", MIXED)
def test_a_part_of_a_column_on_several_devices_knows_where_each_buffer_is(case):
    column = MIXED[case]()
    assert {role: str(part.device) for role, part in column[1:2].buffers.items()} == {
        role: str(part.device) for role, part in column.buffers.items()
    }


def test_each_buffer_tells_its_own_device():
    column = MIXED["a mask of the host"]()
    assert {role: str(part.device) for role, part in column.buffers.items()} == {"data": "cuda:?", "validity": "cpu"}


def test_what_has_no_bytes_puts_no_column_on_several_devices():
    column = Column.from_buffers("utf8", 3, {"offsets": lying("<i4", 4), "data": b""})
    assert column.device == "cuda:?"


def test_a_child_without_memory_is_wherever_its_parent_is():
    dtype = DType.from_arrow("+s", fields=[("a", DType("int64")), ("n", DType("null"))])
    nothing = Column.from_buffers("null", 3, {})
    assert Column.from_buffers(dtype, 3, {}, children=[numbers(), nothing]).__dlpack_device__() == (2, -1)


def test_of_what_promises_no_nulls_none_are_counted_wherever_it_lies():
    assert numbers().null_count == 0


@pytest.mark.parametrize("device", [4, 7, 8, 15], ids=["OpenCL", "Vulkan", "Metal", "WebGPU"])
def test_memory_that_has_a_handle_and_no_address_is_no_column(device):
    source = CountingDLPack(bytes(24), (6,), device=(device, 0))
    with pytest.raises(UnsupportedType, match="has a handle and no address"):
        lend.column(source)
    with pytest.raises(UnsupportedType, match="has a handle and no address"):
        Column.from_buffers("float32", 6, {"data": CountingDLPack(bytes(24), (6,), device=(device, 0))})
