"""The double of the driver: copies of two and three dimensions move the right bytes, given the documented structs."""

import pytest

from support import fakecuda

START = """
import ctypes
from support.fakecuda import fake

SIZE, PTR, U64, INT = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int
HOST, DEVICE, ARRAY, UNIFIED = 1, 2, 3, 4

def ends(fields):
    return [(end + name, kind) for end in ("src", "dst") for name, kind in fields]

class Copy2D(ctypes.Structure):
    _fields_ = ends([("XInBytes", SIZE), ("Y", SIZE), ("MemoryType", INT), ("Host", PTR), ("Device", U64),
                     ("Array", PTR), ("Pitch", SIZE)]) + [("WidthInBytes", SIZE), ("Height", SIZE)]

class Copy3D(ctypes.Structure):
    _fields_ = ends([("XInBytes", SIZE), ("Y", SIZE), ("Z", SIZE), ("LOD", SIZE), ("MemoryType", INT), ("Host", PTR),
                     ("Device", U64), ("Array", PTR), ("Context", PTR), ("Pitch", SIZE), ("Height", SIZE)])
    _fields_ += [("WidthInBytes", SIZE), ("Height", SIZE), ("Depth", SIZE)]

fake.init()
s = fake.stream()
data = bytes(range(120))                        # 4 slices of 5 rows of 6 bytes
device = fake.malloc_device(data)
to = fake.malloc_pinned(120)
room = lambda n: bytes((fake.BYTE * n).from_address(to))
cut = lambda z, y, x: bytes(data[30 * i + 6 * j + k] for i in range(*z) for j in range(*y) for k in range(*x))
"""


def clean(snippet):
    return fakecuda.run_clean(START + snippet)


@pytest.mark.parametrize("call", ["cuMemcpy3D_v2", "cuMemcpy3DAsync_v2", "cuMemcpy3DPeer", "cuMemcpy3DPeerAsync"])
@pytest.mark.parametrize("kind", ["HOST", "UNIFIED"])
def test_a_box_is_cut_out_of_three_dimensions(call, kind):
    snippet = f"""
c = Copy3D(srcXInBytes=2, srcY=1, srcZ=1, srcMemoryType=DEVICE, srcDevice=device, srcPitch=6, srcHeight=5,
           dstMemoryType={kind}, dstHost=to, dstDevice=to, dstPitch=3, dstHeight=2, WidthInBytes=3, Height=2, Depth=3)
fake.ok({call!r}, ctypes.byref(c), *([PTR(s)] if "Async" in {call!r} else []))
fake.sync(s); fake.sync()
print(room(18) == cut((1, 4), (1, 3), (2, 5)), fake.copies())
"""
    assert clean(snippet) == "True 1\n"


@pytest.mark.parametrize("call", ["cuMemcpy2D_v2", "cuMemcpy2DUnaligned_v2", "cuMemcpy2DAsync_v2"])
def test_a_rectangle_is_cut_out_of_two_dimensions(call):
    snippet = f"""
c = Copy2D(srcXInBytes=1, srcY=2, srcMemoryType=DEVICE, srcDevice=device, srcPitch=6,
           dstMemoryType=HOST, dstHost=to, dstPitch=4, WidthInBytes=4, Height=3)
fake.ok({call!r}, ctypes.byref(c), *([PTR(s)] if "Async" in {call!r} else []))
fake.sync(s)
print(room(12) == cut((0, 1), (2, 5), (1, 5)))
"""
    assert clean(snippet) == "True\n"


def test_a_box_is_written_into_gaps_and_leaves_what_lies_between():
    snippet = """
host = fake.malloc_pinned(b"abcdefgh")
c = Copy3D(srcMemoryType=HOST, srcHost=host, srcPitch=2, srcHeight=2, dstXInBytes=1, dstY=1, dstMemoryType=DEVICE,
           dstDevice=device, dstPitch=6, dstHeight=5, WidthInBytes=2, Height=2, Depth=2)
fake.ok("cuMemcpy3D_v2", ctypes.byref(c))
want = bytearray(data)
for at, piece in zip((7, 13, 37, 43), (b"ab", b"cd", b"ef", b"gh")): want[at:at + 2] = piece
print(fake.peek(device, 120) == want)
"""
    assert clean(snippet) == "True\n"


def test_an_asynchronous_box_into_pinned_memory_waits_for_its_stream():
    snippet = """
c = Copy3D(srcMemoryType=DEVICE, srcDevice=device + 1, srcPitch=6, srcHeight=5, dstMemoryType=HOST, dstHost=to,
           dstPitch=6, dstHeight=5, WidthInBytes=6, Height=1, Depth=1)
fake.ok("cuMemcpy3DAsync_v2", ctypes.byref(c), PTR(s))
print(fake.touch(to), fake.pending(s), end=" ")
fake.sync(s)
print(fake.touch(to))
"""
    assert clean(snippet) == "0 True 1\n"


REFUSED = {
    "past the end": "srcZ=1, Depth=4",
    "a pitch below the width": "srcPitch=2",
    "a height below the rows": "srcHeight=1",
    "an array": "srcMemoryType=ARRAY",
    "freed": "srcDevice=freed",
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_box_is_refused_whole(what):
    snippet = f"""
freed = fake.malloc_device(120); fake.free(freed)
usual = dict(srcMemoryType=DEVICE, srcDevice=device, srcPitch=6, srcHeight=5, dstMemoryType=HOST, dstHost=to,
             dstPitch=3, dstHeight=2, WidthInBytes=3, Height=2, Depth=3)
c = Copy3D(**usual | dict({REFUSED[what]}))
print(fake.rc("cuMemcpy3DAsync_v2", ctypes.byref(c), PTR(s)), fake.pending())
"""
    assert clean(snippet) == "1 False\n"
