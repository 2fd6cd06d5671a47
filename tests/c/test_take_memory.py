"""What lend_take says of an object is what lend.view says of it: the standard library, and one protocol at a time."""

import array
import ctypes
import mmap

import pytest

import lend
from support.counting import CountingBuffer, CountingDLPack, CountingExchange
from support.producers import ArrayInterface, NoKeywords, Only, StreamOnly, only_dlpack

testbuffer = pytest.importorskip("_testbuffer")
SIXTEEN = bytes(range(16))


def grid(text, shape, **keywords):
    """A buffer of _testbuffer over counted items."""
    count = 1
    for extent in shape:
        count *= extent
    return testbuffer.ndarray(list(range(count)), shape=list(shape), format=text, **keywords)


STANDARD = {
    "bytes": lambda: b"some bytes",
    "no bytes": lambda: b"",
    "a bytearray": lambda: bytearray(b"some bytes"),
    "an empty bytearray": bytearray,
    "a memoryview": lambda: memoryview(bytearray(12)),
    "a read-only memoryview": lambda: memoryview(SIXTEEN),
    "a strided memoryview": lambda: memoryview(bytearray(SIXTEEN))[1::3],
    "a reversed memoryview": lambda: memoryview(bytearray(SIXTEEN))[::-1],
    "an empty slice": lambda: memoryview(SIXTEEN)[4:4],
    "a memoryview of two dimensions": lambda: memoryview(bytearray(24)).cast("i", (2, 3)),
    "a memoryview of three dimensions": lambda: memoryview(bytearray(96)).cast("d", (2, 2, 3)),
    "a memoryview of no dimensions": lambda: memoryview(bytearray(8)).cast("d", ()),
    "a memoryview of one row": lambda: memoryview(bytearray(24)).cast("h", (1, 12))[::-1],
    "a mmap": lambda: mmap.mmap(-1, 4096),
    "a ctypes array": lambda: (ctypes.c_double * 3)(1, 2, 3),
    "a ctypes array of arrays": lambda: ((ctypes.c_int16 * 3) * 2)(),
    "a ctypes long": lambda: ctypes.c_long(5),
    "a big-endian ctypes array": lambda: (ctypes.c_int32.__ctype_be__ * 3)(),
    "a reversed grid": lambda: grid("h", (3, 4))[::-1, ::2],
    "a column-major grid": lambda: grid("<q", (3, 4), flags=testbuffer.ND_FORTRAN),
    "a big-endian grid": lambda: grid(">f", (2, 2)),
    "a grid of nine dimensions": lambda: grid("B", (1, 2, 1, 2, 1, 2, 1, 2, 1)),
    "a grid of 64 dimensions": lambda: testbuffer.ndarray([7], shape=[1] * 64, format="i"),
}
STANDARD |= {f"an array of {code}": lambda code=code: array.array(code, [1, 2, 3]) for code in "bBhHiIlLqQfd"}
STANDARD |= {
    f"a memoryview of {code}": lambda code=code: memoryview(bytearray(64)).cast(code) for code in "?bBhHiIlLqQnNPfd"
}


@pytest.mark.parametrize("name", STANDARD)
def test_the_standard_library_is_taken_as_lend_takes_it(taker, same, name):
    source = STANDARD[name]()
    same(taker(source), lend.view(source))


LAYOUTS = {
    "plain": {"shape": (2, 3)},
    "column-major": {"shape": (2, 3), "strides": (4, 8)},
    "strided": {"shape": (2, 2), "strides": (24, 8)},
    "reversed": {"shape": (3,), "strides": (-4,), "offset": 8},
    "broadcast": {"shape": (3, 2), "strides": (0, 4)},
    "odd strides": {"shape": (3,), "strides": (5,)},
    "a wild stride of one element": {"shape": (1, 4), "strides": (12345, 4)},
    "a zero stride of one element": {"shape": (4, 1), "strides": (4, 0)},
    "an odd address": {"shape": (3,), "strides": (4,), "offset": 1},
    "no elements": {"shape": (0, 3)},
    "no dimensions": {"shape": ()},
    "wild strides of no elements": {"shape": (2, 0), "strides": (4096, -8)},
}


@pytest.mark.parametrize("readonly", [False, True], ids=["writable", "read-only"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_comes_through_the_buffer_protocol(taker, same, name, readonly):
    exporter = CountingBuffer(bytes(range(64)), format="f", itemsize=4, readonly=readonly, **LAYOUTS[name])
    same(taker(exporter), lend.view(exporter))


def test_a_buffer_whose_dimensions_lie_in_itself_is_taken(taker, same):
    exporter = CountingBuffer(SIXTEEN, fill_info=True)
    same(taker(exporter), lend.view(exporter))


def test_a_buffer_without_a_format_is_bytes(taker, same):
    exporter = CountingBuffer(SIXTEEN, format=None)
    same(taker(exporter), lend.view(exporter))


def test_wide_items_without_a_format_are_opaque(taker, same):
    exporter = CountingBuffer(bytes(15), format=None, itemsize=5, shape=(3,))
    same(taker(exporter), lend.view(exporter))


TENSORS = {
    "plain": {"shape": (2, 3)},
    "no strides": {"shape": (2, 3), "strides": None},
    "column-major": {"shape": (2, 3), "strides": (1, 2)},
    "broadcast": {"shape": (3, 2), "strides": (0, 1)},
    "reversed": {"shape": (3,), "strides": (-1,), "byte_offset": 8},
    "a byte_offset": {"shape": (3,), "byte_offset": 12},
    "no dimensions": {"shape": ()},
    "no elements": {"shape": (0, 3)},
    "no elements and no address": {"shape": (3, 0), "data": 0},
    "no elements and wild strides": {"shape": (2, 0), "strides": (2**62, 5)},
    "a wild stride of one element": {"shape": (1, 3), "strides": (2**62, 1)},
    "read-only": {"shape": (4,), "flags": 1},
    "copied": {"shape": (4,), "flags": 2},
    "read-only and copied": {"shape": (4,), "flags": 3},
    "flags of the future": {"shape": (4,), "flags": 1 << 40},
    "a minor version of the future": {"shape": (4,), "version": (1, 99)},
    "lanes": {"shape": (2,), "dtype": (2, 16, 4)},
    "nine dimensions": {"shape": (1, 1, 2, 1, 1, 2, 1, 1, 2)},
    "64 dimensions": {"shape": (1,) * 64},
    "another id of the cpu": {"shape": (2,), "device": (1, 7)},
    "pinned": {"shape": (2,), "device": (3, 0)},
    "managed": {"shape": (2,), "device": (13, 0)},
}
DTYPES = [(0, 8), (0, 16), (0, 32), (0, 64), (0, 128), (1, 8), (1, 16), (1, 32), (1, 64), (1, 128), (2, 16), (2, 32)]
DTYPES += [(2, 64), (3, 64), (4, 16), (5, 32), (5, 64), (5, 128), (6, 8)]
TENSORS |= {f"dtype {code} of {bits}": {"shape": (3,), "dtype": (code, bits, 1)} for code, bits in DTYPES}
DOORS = {
    "versioned": lambda shape, **facts: CountingDLPack(bytes(range(64)), shape, protocol="versioned", **facts),
    "unversioned": lambda shape, **facts: CountingDLPack(bytes(range(64)), shape, protocol="legacy", **facts),
    "exchanged": lambda shape, **facts: CountingExchange(bytes(range(64)), shape, **facts),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", TENSORS)
def test_a_tensor_comes_through_dlpack(taker, same, name, door):
    source = DOORS[door](**TENSORS[name])
    taken, view = taker(source), lend.view(source)
    same(taken, view)
    assert taken.exclusive == view.exclusive


@pytest.mark.parametrize("kind", [StreamOnly, NoKeywords])
def test_a_producer_that_refuses_the_keyword_is_asked_once_more(taker, same, kind):
    source = kind(SIXTEEN, (4,))
    same(taker(source), lend.view(source))


def test_a_bare_capsule_is_taken_and_renamed(taker, same):
    producer = CountingDLPack(SIXTEEN, (4,), keep=True)
    capsule = producer.__dlpack__(max_version=(1, 3))
    taken = taker(capsule)
    assert producer.names == ["used_dltensor_versioned"]
    same(taken, lend.view(producer))


INTERFACES = {
    "plain": {"shape": (2, 2), "typestr": "<f4"},
    "read-only": {"shape": (4,), "typestr": "<f4", "readonly": True},
    "lists": {"shape": [2, 2], "typestr": "<f4", "strides": [8, 4]},
    "strides": {"shape": (2, 2), "typestr": "<i2", "strides": (4, 8)},
    "reversed": {"shape": (0,), "typestr": "<i2", "strides": (-2,)},
    "broadcast": {"shape": (5,), "typestr": "<i2", "strides": (0,)},
    "big-endian": {"shape": (2,), "typestr": ">f8"},
    "bool": {"shape": (4,), "typestr": "|b1"},
    "datetime": {"shape": (2,), "typestr": "<M8[25s]"},
    "timedelta": {"shape": (2,), "typestr": ">m8[ns]"},
    "a datetime of no unit": {"shape": (2,), "typestr": "<M8"},
    "opaque": {"shape": (2,), "typestr": "|V7"},
    "one byte with an order": {"shape": (4,), "typestr": "<u1"},
    "no order": {"shape": (4,), "typestr": "i4"},
    "no elements and no address": {"shape": (0, 4), "typestr": "<f4", "data": (0, False)},
    "no dimensions": {"shape": (), "typestr": "<c16"},
    "an offset of 0": {"shape": (2,), "typestr": "<f4", "offset": 0},
    "no mask": {"shape": (2,), "typestr": "<f4", "mask": None},
    "a buffer": {"shape": (2,), "typestr": "<f4", "data": bytearray(8)},
    "a buffer with an offset": {"shape": (2,), "typestr": "<u2", "data": bytearray(range(8)), "offset": 3},
    "a read-only buffer": {"shape": (2, 2), "typestr": "<u2", "data": bytes(8)},
    "a reversed buffer": {"shape": (3,), "typestr": "<u2", "data": bytearray(6), "offset": 4, "strides": (-2,)},
    "a version of another time": {"shape": (2,), "typestr": "<f4", "version": "no number"},
}


@pytest.mark.parametrize("name", INTERFACES)
def test_an_array_interface_is_taken(taker, same, name):
    source = ArrayInterface(bytes(range(64)), **INTERFACES[name])
    same(taker(source), lend.view(source))


def test_an_array_interface_without_data_is_that_of_its_own_buffer(taker, same):
    kind = type("Own", (bytearray,), {"__array_interface__": {"shape": (2,), "typestr": "<M8[s]", "version": 3}})
    source = kind(range(16))
    # its buffer is asked first, and says bytes
    same(taker(source), lend.view(source))


def test_an_interface_is_read_once(taker):
    source = ArrayInterface(SIXTEEN, (4,), "<f4")
    taker(source)
    assert source.reads == 1


def test_an_object_that_shows_one_protocol_alone_is_taken_by_it(taker, same):
    inner = CountingDLPack(SIXTEEN, (4,))
    same(taker(only_dlpack(inner)), lend.view(inner))
    interface = ArrayInterface(SIXTEEN, (4,), "<f4")
    same(taker(Only(interface, "__array_interface__")), lend.view(interface))


def test_an_unversioned_capsule_is_left_where_an_array_interface_says_more(taker):
    class Both(CountingDLPack):
        @property
        def __array_interface__(self):
            return {"shape": (4,), "typestr": "<f4", "data": memory, "version": 3}

    memory = bytearray(16)
    producer = Both(SIXTEEN, (4,), protocol="legacy")
    taken = taker(producer)
    assert not taken.readonly
    assert (producer.made, producer.deleted_by_consumer, producer.audit()) == (1, 0, [])


def test_views_of_lend_are_taken(taker, same):
    view = lend.view(bytearray(24), dtype="uint8").reinterpret("float64")
    same(taker(view), view)


def test_objects_of_the_buffer_of_a_view_are_taken(taker, same):
    same(taker(lend.buffer(b"1234")), lend.view(b"1234"))


@pytest.mark.parametrize("shape", [(1, 3), (3, 4), (2, 3, 4)], ids=str)
def test_rows_behind_pointers_are_gathered_when_a_copy_is_asked_for(taker, shape):
    plain, rows = grid("h", shape), grid("h", shape, flags=testbuffer.ND_PIL)
    for flags in (2048, 4096):
        taken = taker(rows, flags=flags)
        assert (taken.shape, taken.tobytes()) == (shape, plain.tobytes())
        assert taken.exclusive and not taken.readonly and taken.c_contiguous


def test_rows_behind_pointers_are_gathered_column_major_too(taker):
    rows = grid("h", (3, 4), flags=testbuffer.ND_PIL)
    taken = taker(rows, flags=2048 | 1024)
    assert (taken.strides, taken.tobytes()) == ((2, 6), rows.tobytes())


def test_suboffsets_that_are_all_negative_are_none(taker, same):
    row = grid("h", (3, 4), flags=testbuffer.ND_PIL)[1]
    assert row.suboffsets == (-1,)
    same(taker(row), lend.view(row))
    same(taker(row[::-2]), lend.view(row[::-2]))


SHAPES = [(), (0,), (2,), (1,), (0, 3), (3, 0), (2, 3), (1, 3), (2, 1, 2)]


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("itemsize", [0, 4])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_repeated_element_is_read_only_and_of_no_bytes_the_producer_decides(both, shape, itemsize, readonly):
    for strides in (None, (0,) * len(shape), (0, *(itemsize,) * (len(shape) - 1))[: len(shape)]):
        source = CountingBuffer(
            bytes(64), format=f"{itemsize}s", itemsize=itemsize, shape=shape, strides=strides, readonly=readonly
        )
        repeated = strides is not None and itemsize and 0 not in shape
        repeated = repeated and any(step == 0 and n > 1 for n, step in zip(shape, strides, strict=True))
        for said in (both.module.take(source), both.module.acquire(source), both.module.acquire(source, {}, True)):
            assert both.module.facts(said)["flags"] & 1 == (readonly or repeated)
        assert lend.view(source).readonly is bool(readonly or repeated)
