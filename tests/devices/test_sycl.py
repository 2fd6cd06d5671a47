"""Unified shared memory of SYCL, by stand-ins with the members of dpctl: its kind, its queue, whether it is written."""

import struct

import numpy as np
import pytest

import lend
from lend.devices.access import access
from lend.errors import NotHostAccessible, ReadOnlyMemory, StreamError
from support.dpctl_like import MEMORY, SyclQueue, dlpack_ndarray, usm_ndarray

OLD, NEW = struct.pack("<6I", *range(6)), struct.pack("<6I", *range(10, 16))
WAYS = {
    "by the interface": lambda kind, **said: usm_ndarray(OLD, kind, **said),
    "by DLPack": lambda kind, **said: dlpack_ndarray(OLD, kind, **said),
    "memory alone": lambda kind, **said: MEMORY[kind](OLD, kind, said.get("queue") or SyclQueue()),
}
EACH = pytest.mark.parametrize("way", WAYS)
ARRAYS = pytest.mark.parametrize("way", [way for way in WAYS if way != "memory alone"])


def filled(made, data=NEW):
    """With work pending on its queue."""
    getattr(made, "usm_data", made).fill(data)
    return made


@EACH
@pytest.mark.parametrize(("kind", "host"), [("device", False), ("shared", True), ("host", True)])
def test_the_kind_is_asked_of_the_owner(way, kind, host):
    found = access(lend.view(WAYS[way](kind)))
    assert (found.name, found.host) == (f"USM {kind}", host)


READS = {
    "memoryview": lambda view: bytes(memoryview(view)),
    "numpy": lambda view: np.asarray(view).tobytes(),
    "numpy, by DLPack": lambda view: np.from_dlpack(view, device="cpu").tobytes(),
    "tobytes": lambda view: view.tobytes(),
    "lend.to": lambda view: lend.to(view, "numpy").tobytes(),
    'device="cpu"': lambda view: lend.view(view, device="cpu").tobytes(),
    "bytes": lambda view: bytes(view.buffer),
}


@EACH
@pytest.mark.parametrize("kind", ["shared", "host"])
@pytest.mark.parametrize("read", READS)
def test_shared_and_host_memory_is_read_in_place_after_its_queue_was_waited_for(way, kind, read):
    made = filled(WAYS[way](kind))
    view = lend.view(made)
    assert made.sycl_queue.waits == 0  # to look at it waits for nothing
    with lend.copies() as counted:
        assert READS[read](view) == NEW
    assert (made.sycl_queue.waits > 0, counted.bytes) == (True, 0)


@EACH
@pytest.mark.parametrize("kind", ["shared", "host"])
def test_numpy_gets_the_very_memory(way, kind):
    made = WAYS[way](kind)
    assert np.asarray(lend.view(made)).ctypes.data == getattr(made, "usm_data", made).address


@EACH
@pytest.mark.parametrize("read", [read for read in READS if read != 'device="cpu"'])
def test_device_memory_is_refused_and_not_waited_for(way, read):
    made = filled(WAYS[way]("device"))
    with pytest.raises((NotHostAccessible, BufferError), match="oneapi"):
        READS[read](lend.view(made))
    assert made.sycl_queue.waits == 0


def test_device_memory_comes_to_the_host_by_name_through_its_library():
    made = filled(dlpack_ndarray(OLD, "device", shape=(2, 3)))
    assert lend.to(made, "numpy", device="cpu").tolist() == [[10, 11, 12], [13, 14, 15]]
    assert lend.view(lend.view(made)[1:, ::2], device="cpu").tolist() == [[13, 15]]


def test_memory_that_nobody_can_be_asked_about_names_the_copy_that_helps():
    with pytest.raises(NotHostAccessible, match=r"asnumpy, or copy_to_host\(\)"):
        lend.view(WAYS["memory alone"]("device"), device="cpu")


@ARRAYS
def test_an_array_says_whether_it_is_read_only(way):
    assert not lend.view(WAYS[way]("shared")).readonly
    sealed = lend.view(WAYS[way]("shared", readonly=True))
    assert (sealed.readonly, memoryview(sealed).readonly, np.asarray(sealed).flags.writeable) == (True, True, False)
    assert sealed.__sycl_usm_array_interface__["data"][1] is True


@pytest.mark.parametrize("kind", MEMORY)
def test_of_memory_the_same_word_means_writable(kind):
    view = lend.view(WAYS["memory alone"](kind), writable=True)
    assert (view.readonly, lend.buffer(WAYS["memory alone"](kind)).readonly) == (False, False)
    assert view.__sycl_usm_array_interface__["data"][1] is False  # as arrays have it


def test_of_memory_of_anybody_elses_it_means_read_only():
    class Memory(MEMORY["shared"]):
        __module__ = "somebody"

    class Alone:
        def __init__(self, facts):
            self.__sycl_usm_array_interface__ = facts

    facts = WAYS["memory alone"]("shared").__sycl_usm_array_interface__
    with pytest.raises(ReadOnlyMemory):
        lend.view(Alone(facts), writable=True)
    assert not lend.view(Memory(OLD, "shared", SyclQueue())).readonly  # a class of theirs in between


@ARRAYS
def test_strides_and_offset_count_elements(way):
    made = WAYS[way]("shared", shape=(2, 2), strides=(3, 1), offset=1)
    view = lend.view(made)
    assert (view.tolist(), view.strides, view.ptr) == ([[1, 2], [4, 5]], (12, 4), made.usm_data.address + 4)
    told = view[1:].__sycl_usm_array_interface__
    assert (told["data"][0] + 4 * told["offset"], told["shape"]) == (made.usm_data.address + 16, (1, 2))


@EACH
def test_it_is_given_again_with_its_queue(way):
    made = WAYS[way]("device")
    told = lend.view(made).__sycl_usm_array_interface__
    assert (told["syclobj"], told["data"][0]) == (made.sycl_queue, getattr(made, "usm_data", made).address)


# -- order -----------------------------------------------------------------------------------------------------------


def test_a_queue_of_the_consumers_is_ordered_after_that_of_the_producer_and_nobody_waits():
    made, queue = filled(dlpack_ndarray(OLD, "device")), SyclQueue()
    assert lend.view(made).__dlpack__(stream=queue, max_version=(1, 0)) is not None
    assert (queue.barriers, made.sycl_queue.waits) == ([made.sycl_queue], 0)


def test_where_nobody_orders_the_queue_of_the_producer_is_waited_for():
    class Announcing(usm_ndarray):
        def __dlpack_device__(self):
            return 14, 0

    made, queue = filled(Announcing(OLD, "device")), SyclQueue()
    assert lend.view(made).__dlpack__(stream=queue, max_version=(1, 0)) is not None
    assert (queue.barriers, made.sycl_queue.waits, queue.waits) == ([], 1, 0)


@pytest.mark.parametrize("stream", [None, -1])
def test_without_a_queue_nothing_is_ordered(stream):
    made = filled(dlpack_ndarray(OLD, "device"))
    assert lend.view(made).__dlpack__(stream=stream, max_version=(1, 0)) is not None
    assert made.sycl_queue.waits == 0


def test_a_queue_may_be_told_when_a_view_is_taken():
    made, queue = filled(dlpack_ndarray(OLD, "device")), SyclQueue()
    assert lend.view(made, stream=queue).shape == (6,)
    assert queue.barriers == [made.sycl_queue]


@pytest.mark.parametrize("stream", [1, 7, "gpu", True])
def test_a_stream_that_is_no_queue_is_refused(stream):
    with pytest.raises(StreamError, match="queue|integer handle"):
        lend.view(dlpack_ndarray(OLD, "device")).__dlpack__(stream=stream, max_version=(1, 0))


def test_a_queue_that_fails_says_so():
    class Failing(SyclQueue):
        def wait(self):
            raise RuntimeError("the device is lost")

    with pytest.raises(RuntimeError, match="the device is lost"):
        lend.view(usm_ndarray(OLD, "shared", Failing())).tobytes()


def test_sync_none_reads_without_a_wait_and_every_tensor_is_given_back():
    made = filled(dlpack_ndarray(OLD, "shared"))
    assert lend.to(made, "numpy", sync="none").tobytes() == OLD
    lend.to(made, "numpy", device="cpu").tobytes()
    lend.view(made)[2:].__dlpack__(stream=SyclQueue(), max_version=(1, 0))
    assert [tensor.audit() for tensor in made.lent] == [[]] * len(made.lent)
