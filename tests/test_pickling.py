"""Pickle: the bytes out of band with protocol 5, trimmed to what is shown, and what comes back is what went."""

import array
import copy
import pickle

import pytest

import lend
from lend.errors import LeaseLost, MalformedDescriptor, NotHostAccessible
from support.counting import CountingBuffer

FLOATS = array.array("f", range(24))
BASE = lend.view(FLOATS).reshape(2, 3, 4)
VIEWS = {
    "plain": BASE,
    "0-d": BASE[1, 2, 3],
    "of columns": BASE.T,
    "backwards": BASE[::-1, :, ::-1],
    "with gaps": BASE[:, ::2, 1:3],
    "every other, backwards": BASE[:, :, ::-2],
    "a part": BASE[1],
    "empty": BASE[:, :0],
    "repeated": lend.View.from_pointer(BASE.ptr, (5, 3), "float32", strides=(0, 4), owner=FLOATS),
    "big-endian": lend.view(bytes(range(8))).reinterpret(">int16"),
    "dates": lend.view(bytes(16)).reinterpret("datetime64[25s]"),
    "bfloat16": lend.view(bytes(16)).reinterpret("bfloat16"),
    "opaque": lend.view(bytes(14)).reinterpret("opaque[7]"),
    "unaligned": lend.view(bytes(9))[1:].reinterpret("float64"),
    "read-only": lend.view(b"abcd"),
}
EACH = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)


def facts(view):
    return view.shape, view.dtype, view.readonly, view.tobytes()


def travel(sent, protocol=5, receive=lambda block: block):
    """Pickled and unpickled, each buffer out of band as `receive` made it."""
    blocks = []
    text = pickle.dumps(sent, protocol, buffer_callback=blocks.append if protocol >= 5 else None)
    return pickle.loads(text, buffers=[receive(block) for block in blocks])


@EACH
@pytest.mark.parametrize("protocol", range(2, 6))
def test_a_view_comes_back_as_it_went(view, protocol):
    assert facts(travel(view, protocol)) == facts(view)


@EACH
def test_no_byte_of_the_data_is_in_band(view):
    blocks = []
    text = pickle.dumps(view, 5, buffer_callback=blocks.append)
    assert len(text) < 250
    assert sum(block.raw().nbytes for block in blocks) <= view.nbytes


def test_a_slice_sends_its_own_bytes_and_not_those_around_it():
    blocks = []
    pickle.dumps(lend.view(bytes(10**6))[10:20], 5, buffer_callback=blocks.append)
    assert [block.raw().nbytes for block in blocks] == [10]


def test_a_repeated_row_is_sent_once():
    blocks = []
    row = lend.View.from_pointer(BASE.ptr, (10**9, 3), "float32", strides=(0, 4), owner=FLOATS)
    pickle.dumps(row, 5, buffer_callback=blocks.append)
    assert [block.raw().nbytes for block in blocks] == [12]


@EACH
@pytest.mark.parametrize("shift", [0, 1, 3])
def test_received_memory_may_lie_at_any_address(view, shift):
    def receive(block):
        raw = block.raw()
        return memoryview(bytearray(shift) + bytearray(raw))[shift:]

    came = travel(view, receive=receive)
    assert (came.tobytes(), came.readonly) == (view.tobytes(), view.readonly)


@EACH
def test_what_is_received_read_only_is_read_only(view):
    assert travel(view, receive=lambda block: bytes(block.raw())).readonly


def test_a_read_only_view_stays_so_in_writable_memory():
    assert travel(lend.view(b"abcd"), receive=lambda block: bytearray(block.raw())).readonly


def test_within_one_process_the_memory_is_shared():
    assert travel(BASE).ptr == BASE.ptr


def test_a_pickle_holds_the_memory_until_it_is_gone():
    exporter = CountingBuffer(bytes(16), format="f", itemsize=4)
    blocks = []
    pickle.dumps(lend.view(exporter), 5, buffer_callback=blocks.append)
    assert exporter.live == 1
    blocks.clear()
    assert exporter.audit() == []


@pytest.mark.parametrize("protocol", range(2, 6))
@pytest.mark.parametrize("memory", [b"abcd", bytearray(b"abcd"), b""], ids=repr)
def test_a_buffer_comes_back_as_it_went(memory, protocol):
    buffer = lend.buffer(memory)
    came = travel(buffer, protocol)
    assert (type(came), bytes(came), came.readonly) == (lend.Buffer, bytes(memory), buffer.readonly)


def test_below_protocol_5_the_copy_is_counted():
    with lend.copies() as copies:
        pickle.dumps(lend.view(b"abcd"), 4)
    assert (copies.count, copies.bytes) == (1, 4)


def test_memory_with_gaps_is_copied_once_and_counted():
    with lend.copies() as copies:
        pickle.dumps(BASE[:, ::2], 5, buffer_callback=[].append)
    assert (copies.count, copies.bytes) == (1, 64)


@pytest.mark.parametrize("protocol", range(2, 6))
@pytest.mark.parametrize("writable", [True, False])
def test_records_leave_bytes_of_no_field_behind_and_stay_writable(protocol, writable):
    fields = {"names": ["a", "b"], "formats": ["int16", "int32"], "offsets": [2, 14], "itemsize": 30}
    block = bytearray(b"\xab" * 60)
    block[2:4], block[44:48] = b"\1\0", b"\2\0\0\0"
    view = lend.view(lend.view(block).reinterpret(fields), writable=writable)
    with lend.copies() as copies:
        text = pickle.dumps(view, protocol)
    came = pickle.loads(text)
    assert (came.tolist(), came.readonly) == (view.tolist(), not writable)
    assert came.tobytes().count(0xAB) == 6  # b of the first record, a of the second
    assert copies.bytes >= 60


def test_a_pickle_without_its_buffers_is_refused():
    text = pickle.dumps(BASE, 5, buffer_callback=[].append)
    with pytest.raises(pickle.UnpicklingError):
        pickle.loads(text)


def test_a_buffer_that_is_too_short_is_refused():
    text = pickle.dumps(BASE, 5, buffer_callback=[].append)
    with pytest.raises(lend.LendError, match="bounds"):
        pickle.loads(text, buffers=[bytes(8)])


def test_a_buffer_that_is_too_long_is_refused():
    text = pickle.dumps(BASE, 5, buffer_callback=[].append)
    with pytest.raises(MalformedDescriptor, match="are 96, and 104 were received"):
        pickle.loads(text, buffers=[bytes(104)])


@pytest.mark.parametrize("sent", [BASE, lend.buffer(FLOATS)], ids=["view", "buffer"])
@pytest.mark.parametrize("step", [2, -1])
def test_received_memory_that_has_gaps_or_runs_backwards_is_refused(sent, step):
    text = pickle.dumps(sent, 5, buffer_callback=[].append)
    received = memoryview(bytearray(96 * abs(step)))[::step]
    with pytest.raises(MalformedDescriptor, match="with gaps, or backwards"):
        pickle.loads(text, buffers=[received])


def test_memory_of_a_device_is_not_staged_in_silence():
    away = lend.View.from_pointer(4096, (2,), "float32", owner=FLOATS, device="cuda:0")
    with pytest.raises(NotHostAccessible):
        pickle.dumps(away, 5)


def test_a_released_view_is_not_pickled():
    view = lend.view(FLOATS)
    view.release()
    with pytest.raises(LeaseLost):
        pickle.dumps(view, 5)


def test_a_shallow_copy_shares_and_a_deep_one_does_not():
    assert copy.copy(BASE).ptr == BASE.ptr
    assert copy.deepcopy(BASE).ptr != BASE.ptr
