"""What is asked of lend that a good object cannot give: a refusal of each class there is, by its text."""

import array

import lend
from lend.errors import (
    CopyRequired,
    LeaseLost,
    LendError,
    MalformedDescriptor,
    NotHostAccessible,
    NotLendable,
    ReadOnlyMemory,
    StreamError,
    UnsupportedLayout,
    UnsupportedType,
)
from support.counting import CountingBuffer
from support.device_producers import CudaInterface, announcing

from . import Table, Wrong

TABLE = lend.view(array.array("d", range(6))).reshape(2, 3)


def device():
    return lend.view(announcing(CudaInterface, (2, 0))())


def released():
    view = lend.view(bytes(24))
    view.release()
    return view


def exported():
    view = lend.view(bytearray(24))
    kept.append(memoryview(view))
    return view


kept: list = []


def unaligned():
    return lend.view(bytes(17))[1:].reinterpret("float64")


NOT_HOST = "the host may not read memory on"
ASKED = {
    # name: (what is asked, the class, what its text says)
    "to write to bytes": (
        lambda: lend.view(b"ab", writable=True),
        ReadOnlyMemory,
        ("this bytes object is read-only", "came   : bytes", "copy=True"),
    ),
    "to write by a buffer": (
        lambda: memoryview(lend.view(CountingBuffer(8, readonly=True), writable=True)),
        ReadOnlyMemory,
        ("CountingBuffer", "read-only"),
    ),
    "to write to what overlaps": (
        lambda: lend.view(CountingBuffer(8, shape=(4,), strides=(0,)), writable=True),
        ReadOnlyMemory,
        ("CountingBuffer", "zero stride"),
    ),
    "an unversioned capsule of bytes": (
        lambda: lend.view(b"ab").__dlpack__(),
        ReadOnlyMemory,
        ("this View is read-only", "unversioned DLPack capsule cannot say", "max_version=(1, 0)"),
    ),
    "columns": (lambda: lend.view(TABLE, order="F"), CopyRequired, ("order", "copy=True")),
    "another dtype": (lambda: lend.view(TABLE, dtype="float32"), UnsupportedType, ("float32", "float64")),
    "another byte order": (lambda: lend.view(TABLE, dtype=">f8"), CopyRequired, ("float64", "copy=True")),
    "another number of dimensions": (
        lambda: lend.view(TABLE, ndim=3),
        UnsupportedLayout,
        ("a View of 3 dimensions was required; this memory has 2",),
    ),
    "an alignment": (lambda: lend.view(lend.view(bytes(65))[1:], align=64), CopyRequired, ("align", "64", "copy=True")),
    "another device": (
        lambda: lend.view(TABLE, device="cuda:0"),
        NotHostAccessible,
        ("no driver of cuda", "lend starts no driver"),
    ),
    "one piece of what has gaps": (lambda: TABLE[:, ::2].reshape(-1), UnsupportedLayout, ("shape",)),
    "another width of what has gaps": (
        lambda: TABLE[:, ::2].reinterpret("uint8"),
        UnsupportedLayout,
        ("has gaps: items of 1 bytes would span them",),
    ),
    "a part beyond the end": (
        lambda: lend.buffer(b"abcd").view("uint8", offset=2, shape=(3,)),
        MalformedDescriptor,
        ("bytes 2 to 5 were asked for, and there are 4 (bounds)",),
    ),
    "a number of items that is none": (
        lambda: lend.buffer(b"abcde").view("int16"),
        UnsupportedLayout,
        ("5 bytes are no whole number of int16",),
    ),
    "more dimensions than there are": (
        lambda: TABLE[(None,) * 63],
        UnsupportedLayout,
        ("65 dimensions were asked for; lend has 64 at most",),
    ),
    "negative strides in a capsule": (
        lambda: TABLE[::-1].__dlpack__(max_version=(1, 0)),
        UnsupportedLayout,
        ("negative stride", "v.copy()"),
    ),
    "dates in a capsule": (
        lambda: TABLE.reinterpret("datetime64[s]").__dlpack__(max_version=(1, 0)),
        UnsupportedType,
        ("DLPack has no word for the dtype datetime64[s]", 'reinterpret("int64")'),
    ),
    "rows behind pointers": (
        lambda: lend.view(CountingBuffer(48, shape=(6, 8), lie={"suboffsets": (0, -1)})),
        UnsupportedLayout,
        ("suboffsets (rows behind pointers)", "copy=True"),
    ),
    "the bytes of a device": (
        lambda: device().tobytes(),
        NotHostAccessible,
        ("the host may not read memory on cuda:0", "no driver in this process", "CudaInterface"),
    ),
    "a memoryview of a device": (
        lambda: memoryview(device()),
        NotHostAccessible,
        ("the host may not read memory on cuda:0", "no driver in this process"),
    ),
    "a device in a pickle": (lambda: device().__reduce_ex__(5), NotHostAccessible, (NOT_HOST, "cuda:0")),
    "a stream of the host": (lambda: TABLE.__dlpack__(stream=7), StreamError, ("stream=7 means nothing on cpu",)),
    "a stream that is ambiguous": (
        lambda: device().__dlpack__(stream=0),
        StreamError,
        ("stream=0 means nothing on cuda:0",),
    ),
    "a number that nobody told": (
        lambda: lend.view(CudaInterface()).__dlpack_device__(),
        UnsupportedType,
        ("needs the number of the device", "cuda:?"),
    ),
    "another device in a capsule": (
        lambda: TABLE.__dlpack__(dl_device=(2, 0)),
        UnsupportedType,
        ("dl_device=(2, 0) is another device", "cuda:0, not cpu"),
    ),
    "what was released": (lambda: released().tobytes(), LeaseLost, ("this View was released", "take a new view")),
    "a slice of what was released": (lambda: released()[1:], LeaseLost, ("this View was released",)),
    "a release of what is exported": (
        lambda: exported().release(),
        LendError,
        ("this View cannot be released: 1 buffer-protocol export of it is open", "bytearray"),
    ),
    "a list": (
        lambda: lend.view([1, 2]),
        NotLendable,
        ("cannot lend a list as one view", "tried  : it has no buffer protocol", "array.array"),
    ),
    "a text": (lambda: lend.view("ab"), NotLendable, ("cannot lend a str as one view", ".encode()")),
    "nothing": (lambda: lend.buffer(None), NotLendable, ("cannot lend a NoneType",)),
    "nothing but a dtype of pointers": (lambda: lend.buffer(TABLE).view("object"), MalformedDescriptor, ("object",)),
}


def make(fields, by_buffer):
    return fields["asked"], kept.clear


TABLES = [
    Table("requests", {"asked": lambda: TABLE}, make,
          [Wrong(name, {"asked": asked}, error, says, False) for name, (asked, error, says) in ASKED.items()], []),
]  # fmt: skip
