"""What minimal gives of what it took: interfaces as dicts, DLPack by delegation, memoryviews, the buffer protocol."""

import mmap
import struct
import sys

import pytest

import lend
from lend import minimal
from support import counting
from support.counting import CountingDLPack
from support.device_producers import CudaInterface, RmmLike, TorchLike
from support.producers import Only, Span

FLOATS = struct.pack("<6f", 0, 1, 2, 3, 4, 5)
BUFFER_OF_CLASSES = pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.12 asks classes for __buffer__")


@pytest.mark.parametrize("dtype", ["|b1", "<i2", ">i4", "<f8", "<c16", "<M8[us]", "<m8[3s]", "|S3", "<U2", "|V5"])
def test_numpy_reads_the_interface_as_the_array_that_was_taken(dtype):
    np = pytest.importorskip("numpy")
    source = np.zeros(8, dtype)[::-2]
    given = np.asarray(Only(minimal.array(source), "__array_interface__"))
    assert (given.dtype, given.shape, given.strides) == (source.dtype, source.shape, source.strides)
    assert np.shares_memory(given, source)


def test_read_only_memory_is_told_read_only():
    np = pytest.importorskip("numpy")
    given = np.asarray(Only(minimal.array(b"abc"), "__array_interface__"))
    assert not given.flags.writeable


def test_an_array_of_a_dtype_without_a_typestr_has_no_interface():
    np, ml_dtypes = pytest.importorskip("numpy"), pytest.importorskip("ml_dtypes")
    taken = minimal.array(np.zeros(2, ml_dtypes.bfloat16))
    assert not hasattr(taken, "__array_interface__")
    assert not hasattr(taken, "__cuda_array_interface__")


def test_memory_of_a_device_has_the_interface_of_the_device_alone():
    taken = minimal.array(CudaInterface(stream=7, strides=(4, 8)))
    told = taken.__cuda_array_interface__
    assert not hasattr(taken, "__array_interface__")
    assert told == CudaInterface.usual | {"strides": (4, 8), "stream": 7}


def test_a_stream_that_nobody_told_is_not_told_on():
    assert "stream" not in minimal.array(TorchLike()).__cuda_array_interface__
    assert minimal.array(TorchLike()).stream == "unknown"
    assert minimal.array(CudaInterface()).__cuda_array_interface__["stream"] is None


class Pointer:
    ptr, bufsize = 4096, 8

    def __dlpack_device__(self):
        return (2, 0)


@pytest.mark.parametrize(
    "make",
    [
        Pointer,
        lambda: CountingDLPack(bytes(8), (1,), device=(2, 0)),
        lambda: CountingDLPack(bytes(8), (1,), device=(2, 0)).__dlpack__(),
    ],
    ids=["a pointer", "DLPack", "a capsule"],
)
def test_memory_that_came_without_a_stream_is_not_told_to_be_ready(make):
    lent = minimal.array(make())
    for part in (lent, lent.buffer, lent.buffer[2:], minimal.array(lent.buffer)):
        assert "stream" not in part.__cuda_array_interface__


def test_memory_of_a_device_is_never_touched():
    taken = minimal.array(RmmLike())
    for read in (taken.tolist, taken.memoryview, taken.buffer.memoryview, taken.buffer[1:2].memoryview):
        with pytest.raises(minimal.Refused, match="the host does not read"):
            read()


@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
def test_dlpack_of_a_whole_array_is_that_of_its_producer(library):
    pytest.importorskip(library)
    from_dlpack = {
        "numpy": lambda: __import__("numpy").from_dlpack,
        "torch": lambda: __import__("torch").from_dlpack,
        "jax": lambda: __import__("jax").numpy.from_dlpack,
    }[library]()
    torch = pytest.importorskip("torch")
    source = torch.arange(6.0).reshape(2, 3)
    given = from_dlpack(minimal.array(source))
    assert given.tolist() == source.tolist()


def test_dlpack_keywords_reach_the_producer():
    lender = CountingDLPack(FLOATS, (6,))
    taken = minimal.array(lender)
    capsule = taken.__dlpack__(max_version=(1, 0), stream=None)
    assert lender.asked[-1] == {"max_version": (1, 0), "stream": None}
    del capsule, taken
    assert lender.audit() == []


def test_a_read_only_tensor_is_handed_on_read_only():
    taken = minimal.array(CountingDLPack(FLOATS, (6,), flags=counting.READ_ONLY))
    assert taken.readonly
    assert minimal.array(taken.__dlpack__(max_version=(1, 0))).readonly
    with pytest.raises(minimal.Refused, match="needs C"):
        taken.__dlpack__()


class Moved(CountingDLPack):
    """Gives another tensor each time it is asked."""

    def __dlpack__(self, **keywords):
        self.asked.append(keywords)
        return CountingDLPack(FLOATS, (6,)).capsule(True)


@pytest.mark.parametrize(
    "make",
    [
        lambda: minimal.array(FLOATS),
        lambda: minimal.buffer(CountingDLPack(FLOATS, (6,))),
        lambda: minimal.array(Moved(FLOATS, (6,))),
        lambda: minimal.array(CountingDLPack(FLOATS, (6,)).capsule(True)),
        lambda: minimal.array(Span(FLOATS)),
        lambda: minimal.array(CountingDLPack(FLOATS, (3, 2), strides=(0, 1))),
        lambda: minimal.array(CountingDLPack(FLOATS, (6,), protocol="legacy")),
    ],
    ids=[
        "bytes",
        "a Buffer",
        "what has moved",
        "a bare capsule",
        "a pointer and a size",
        "elements at one place",
        "unversioned",
    ],
)
def test_a_capsule_that_needs_c_is_refused_with_a_word_of_lend(make):
    with pytest.raises(minimal.Refused, match=r"needs C: lend\.view"):
        make().__dlpack__(max_version=(1, 0))


def test_lend_takes_what_minimal_gives_by_its_pointer_and_its_interface():
    span = minimal.buffer(bytearray(FLOATS))
    assert lend.buffer(span).ptr == span.ptr
    assert lend.buffer(span).nbytes == span.bufsize == 24
    taken = minimal.array(memoryview(FLOATS).cast("f", (2, 3)))
    assert lend.view(Only(taken, "__array_interface__")).tolist() == taken.tolist()


@pytest.mark.parametrize("cut", [slice(None), slice(None, None, -2)])
@pytest.mark.parametrize("lender", [FLOATS, bytearray(FLOATS)], ids=["read-only", "writable"])
def test_minimal_takes_what_lend_gives(lender, cut):
    view = lend.view(lender).reinterpret("float32")[cut]
    taken = minimal.array(view)
    assert (taken.ptr, taken.dtype, taken.readonly) == (view.ptr, "<f4", view.readonly)
    assert taken.tolist() == view.tolist()


def test_a_memoryview_of_writable_memory_writes_to_it():
    room = bytearray(4)
    minimal.array(room).memoryview()[1] = 7
    assert room == b"\0\7\0\0"


def test_a_memoryview_of_read_only_memory_is_read_only():
    with pytest.raises(TypeError, match="read-only"):
        minimal.array(b"abc").memoryview()[0] = 0


def test_a_map_cannot_be_closed_while_a_memoryview_is_alive():
    mapped = mmap.mmap(-1, 16)
    held = minimal.array(mapped).memoryview()[2:3]
    with pytest.raises(BufferError):
        mapped.close()
    del held
    mapped.close()


def test_a_buffer_is_cut_in_steps_of_one():
    with pytest.raises(ValueError, match="no gaps"):
        minimal.buffer(b"abcd")[::2]


def test_a_buffer_without_an_owner_is_refused():
    with pytest.raises(TypeError, match="owner"):
        minimal.Buffer(4096, 8, (1, 0), True, None)


def test_an_array_and_a_buffer_are_taken_as_they_are():
    taken = minimal.array(FLOATS)
    span = taken.buffer
    assert minimal.array(taken) is taken
    assert minimal.buffer(span) is span
    assert minimal.array(span).ptr == span.ptr


@BUFFER_OF_CLASSES
def test_the_buffer_protocol_gives_the_memoryview():
    room = bytearray(FLOATS)
    taken = minimal.array(room)
    view = memoryview(taken)
    view[0] = 1
    assert (room[0], view.nbytes) == (1, 24)
    del taken
    assert bytes(view) == bytes(room)


@BUFFER_OF_CLASSES
def test_writable_access_to_read_only_memory_is_refused():
    with pytest.raises(BufferError, match="read-only"):
        counting.hold(minimal.array(b"abc"), counting.WRITABLE)
    with pytest.raises(BufferError):
        memoryview(minimal.array(CudaInterface()))


@BUFFER_OF_CLASSES
def test_what_has_no_memoryview_still_goes_to_numpy():
    np = pytest.importorskip("numpy")
    for source in (np.zeros(4, "M8[s]"), np.zeros(6)[::-2], np.zeros(3, ">i4")):
        given = np.asarray(minimal.array(source))
        assert given.dtype == source.dtype
        assert np.shares_memory(given, source)


@pytest.mark.parametrize(
    ("announced", "device"), [((1, None), (1, 0)), ((1, 7), (1, 0)), ((2, None), (2, 0)), ((13, 1), (13, 1))]
)
def test_a_pointer_and_a_size_lie_where_they_announce_it(announced, device):
    class Announcing(Span):
        def __dlpack_device__(self):
            return announced

    assert minimal.buffer(Announcing(FLOATS)).device == device
