"""Buffers whose object tells of their elements: another kind or unit than the column's is refused, bytes are not."""

import array
import ctypes
import struct

import ml_dtypes
import numpy as np
import pytest

import lend
from lend import Column, DType
from lend.columns.nullness import Nulls
from lend.errors import MalformedDescriptor

ANYHOW = "lend.buffer(x), where these bytes are meant all the same"
RECORD16 = np.dtype([("size", "i4"), ("start", "S4"), ("which", "i4"), ("at", "i4")])


def of(dtype, data, length=2, **said):
    return Column.from_buffers(dtype, length, {"data": data}, **said)


def masked(mask, nulls=None):
    data = struct.pack("2q", 1, 2)
    return Column.from_buffers("int64", 2, {"data": data, "validity": mask}, nulls=nulls)


def text(offsets, data=b"ab"):
    return Column.from_buffers("utf8", 2, {"offsets": offsets, "data": data})


def listed(offsets, sizes=None):
    kind = "list[int64]" if sizes is None else "list_view[int64]"
    given = {"offsets": offsets} if sizes is None else {"offsets": offsets, "sizes": sizes}
    return Column.from_buffers(kind, 2, given, children=[of("int64", bytes(16))])


def union(type_ids, offsets):
    kind = DType.from_arrow("+ud:0", fields=[("a", "int64")])
    given = {"type_ids": type_ids, "offsets": offsets}
    return Column.from_buffers(kind, 2, given, children=[of("int64", bytes(16))])


def viewed(views, variadic=()):
    return Column.from_buffers("utf8_view", 2, {"views": views, "variadic": variadic})


REFUSED = {
    "integers for floats": (lambda: of("float64", np.array([1, 2])), "'data'", "int64", "float64"),
    "floats for integers": (lambda: of("int64", np.array([1.0, 2.0])), "'data'", "float64", "int64"),
    "unsigned for signed": (lambda: of("int32", np.zeros(2, "u4")), "'data'", "uint32", "int32"),
    "signed for unsigned": (lambda: of("uint16", np.zeros(2, "i2")), "'data'", "int16", "uint16"),
    "signed for unsigned bytes": (lambda: of("uint8", np.zeros(2, "i1")), "'data'", "int8", "uint8"),
    "bools for integers": (lambda: of("uint8", np.zeros(2, "?")), "'data'", "bool", "uint8"),
    "bools for bits": (lambda: of("bool_packed", np.zeros(2, "?")), "'data'", "bool", "bits, eight to a byte"),
    "a byte each for words": (lambda: of("int64", np.zeros(16, "i1")), "'data'", "int8", "int64"),
    "another unit": (lambda: of("datetime64[us]", np.zeros(2, "M8[ns]")), "'data'", r"datetime64\[ns\]", "datetime64"),
    "another multiple of it": (lambda: of("datetime64[s]", np.zeros(2, "M8[7s]")), "'data'", r"datetime64\[7s\]", ""),
    "another unit of a zone": (
        lambda: of("datetime64[us, UTC]", np.zeros(2, "M8[ns]")), "'data'", r"datetime64\[ns\]", r"datetime64\[us, UTC",
    ),
    "a multiple of a zone's": (lambda: of("datetime64[s, UTC]", np.zeros(2, "M8[7s]")), "'data'", "datetime64", "dat"),
    "lengths for times": (lambda: of("datetime64[ns]", np.zeros(2, "m8[ns]")), "'data'", "timedelta64", "datetime64"),
    "times for lengths": (lambda: of("timedelta64[ns]", np.zeros(2, "M8[ns]")), "'data'", "datetime64", "timedelta64"),
    "times for days": (lambda: of("date64", np.zeros(2, "M8[ns]")), "'data'", "datetime64", "date64"),
    "times for integers": (lambda: of("int64", np.zeros(2, "M8[ns]")), "'data'", "datetime64", "int64"),
    "unsigned for times": (lambda: of("datetime64[ns]", np.zeros(2, "u8")), "'data'", "uint64", "datetime64"),
    "floats for days": (lambda: of("date32", np.zeros(2, "f4")), "'data'", "float32", "date32"),
    "complex for floats": (lambda: of("float64", np.zeros(2, "c8")), "'data'", "complex64", "float64"),
    "complex for decimals": (lambda: of("decimal128(5, 2)", np.zeros(2, "c16")), "'data'", "complex128", "decimal128"),
    "half for brain floats": (lambda: of("bfloat16", np.zeros(2, "f2")), "'data'", "float16", "bfloat16"),
    "brain for half floats": (
        lambda: of("float16", np.zeros(2, ml_dtypes.bfloat16)), "'data'", "bfloat16", "float16",
    ),
    "small floats of another kind": (
        lambda: of("float8_e5m2", np.zeros(2, ml_dtypes.float8_e4m3fn)), "'data'", "float8_e4m3fn", "float8_e5m2",
    ),
    "small floats for integers": (
        lambda: of("int8", np.zeros(2, ml_dtypes.float8_e4m3fn)), "'data'", "float8_e4m3fn", "int8",
    ),
    "codes of floats": (
        lambda: of(DType.from_arrow("i", dictionary="utf8"), np.zeros(2, "f4"), dictionary=text(bytes(12))),
        "'data'", "float32", "int32",
    ),
    "the storage of an extension": (
        lambda: of(DType.from_arrow("g", extension=("a", b"")), np.zeros(2, "i8")), "'data'", "int64", "float64",
    ),
    "swapped numbers of another kind": (lambda: of(">int64", np.zeros(2, ">f8")), "'data'", ">float64", ">int64"),
    "bools for text": (lambda: text(bytes(12), np.zeros(2, "?")), "'data'", "bool", "bytes"),
    "bools as bits of a mask": (lambda: masked(np.zeros(2, "?"), Nulls("bitmask", 0)), "'validity'", "bool", "bits"),
    "an integer each as bits": (lambda: masked(np.zeros(2, "i8")), "'validity'", "int64", "bits"),
    "swapped words of bits": (lambda: masked(np.zeros(1, ">u4")), "'validity'", ">uint32", "bits"),
    "floats as bits": (lambda: masked(np.zeros(2)), "'validity'", "float64", "bits"),
    "small floats as a mask": (
        lambda: masked(np.zeros(2, ml_dtypes.float8_e4m3fn), Nulls("bytemask", 1)), "'validity'", "float8", "bytes",
    ),
    "offsets of floats": (lambda: text(np.zeros(3, "f4")), "'offsets'", "float32", "int32"),
    "offsets without signs": (lambda: text(np.zeros(3, "u4")), "'offsets'", "uint32", "int32"),
    "list offsets of floats": (lambda: listed(np.zeros(3, "f4")), "'offsets'", "float32", "int32"),
    "sizes of floats": (lambda: listed(np.zeros(2, "i4"), np.zeros(2, "f4")), "'sizes'", "float32", "int32"),
    "type ids of bools": (lambda: union(np.zeros(2, "?"), np.zeros(2, "i4")), "'type_ids'", "bool", "int8"),
    "union offsets of floats": (lambda: union(bytes(2), np.zeros(2, "f4")), "'offsets'", "float32", "int32"),
    "views of numbers": (lambda: viewed(np.zeros(2, "c16")), "'views'", "complex128", "views of 16 bytes"),
    "text behind views of numbers": (lambda: viewed(bytes(32), [np.zeros(2)]), "'variadic'", "float64", "bytes"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_elements_that_are_told_as_others_are_never_read_as_the_columns(case):
    make, role, told, wanted = REFUSED[case]
    said = f"the buffer {role} says that its elements are {told}.*, and a column of .* has .*{wanted}.* there"
    with pytest.raises(MalformedDescriptor, match=said) as caught:
        make()
    assert ANYHOW in str(caught.value)


TAKEN = {
    "bytes": lambda: of("float64", bytes(16)),
    "a bytearray": lambda: of("float64", bytearray(16)),
    "a memoryview of them": lambda: of("float64", memoryview(bytes(16))),
    "characters of C": lambda: of("float64", ctypes.create_string_buffer(16)),
    "unsigned bytes": lambda: of("float64", np.zeros(2).view("u1")),
    "bytes without a meaning": lambda: of("float64", np.zeros(2).view("V8")),
    "a Buffer of numbers": lambda: of("float64", lend.buffer(np.array([1, 2]))),
    "its own": lambda: of("float64", array.array("d", [1, 2])),
    "its own, swapped": lambda: of(">int64", np.zeros(2, ">i8")),
    "numbers of times": lambda: of("datetime64[ns]", np.zeros(2, "i8")),
    "numbers of swapped times": lambda: of(">datetime64[ns]", np.zeros(2, ">i8")),
    "numbers of lengths": lambda: of("timedelta64[ns]", np.zeros(2, "i8")),
    "numbers of a zone's times": lambda: of("datetime64[ns, UTC]", np.zeros(2, "i8")),
    "times of a zone": lambda: of("datetime64[ns, UTC]", np.zeros(2, "M8[ns]")),
    "numbers of days": lambda: of("date32", np.zeros(2, "i4")),
    "times of the unit of days": lambda: of("date64", np.zeros(2, "M8[ms]")),
    "numbers of months": lambda: of("interval[month]", np.zeros(2, "i4")),
    "numbers of decimals": lambda: of(DType.from_arrow("d:5,2,32"), np.zeros(2, "i4")),
    "fields of intervals": lambda: of("interval[day_time]", np.zeros(2, "i4,i4")),
    "fixed bytes": lambda: of("opaque[3]", np.array([b"abc", b"def"])),
    "brain floats": lambda: of("bfloat16", np.zeros(2, ml_dtypes.bfloat16)),
    "bools": lambda: of("bool", np.zeros(2, "?")),
    "what bool8 stores": lambda: of("bool", np.zeros(2, "i1")),
    "words of bits": lambda: of("bool_packed", np.zeros(1, "u8")),
    "codes": lambda: of(DType.from_arrow("i", dictionary="utf8"), np.zeros(2, "i4"), dictionary=text(bytes(12))),
    "the storage of an extension": lambda: of(DType.from_arrow("g", extension=("a", b"")), np.zeros(2)),
    "a mask of bits in words": lambda: masked(np.array([3], "u4")),
    "a mask of bits in signed bytes": lambda: masked(np.array([3], "i1")),
    "a mask of bools": lambda: masked(np.zeros(2, "?"), Nulls("bytemask", 1)),
    "a mask of bytes": lambda: masked(np.zeros(2, "u1"), Nulls("bytemask", 1)),
    "a mask of signed bytes": lambda: masked(np.zeros(2, "i1"), Nulls("bytemask", 1)),
    "offsets": lambda: text(np.zeros(3, "i4")),
    "offsets in bytes": lambda: text(bytes(12)),
    "text of signed bytes": lambda: text(bytes(12), np.zeros(2, "i1")),
    "sizes": lambda: listed(np.zeros(2, "i4"), np.zeros(2, "i4")),
    "type ids and offsets": lambda: union(np.zeros(2, "i1"), np.zeros(2, "i4")),
    "views as records": lambda: viewed(np.zeros(2, RECORD16)),
    "views as bytes": lambda: viewed(np.zeros((2, 16), "u1"), [np.array([b"abc"])]),
}


@pytest.mark.parametrize("case", TAKEN)
def test_bytes_and_what_a_column_stores_are_taken(case):
    assert len(TAKEN[case]()) == 2


@pytest.mark.parametrize(
    ("make", "remedy"),
    [
        (lambda: masked(np.zeros(2, "?"), Nulls("bitmask", 0)), 'nulls=Nulls("bytemask", missing=0)'),
        (lambda: of("bool_packed", np.zeros(2, "?")), 'the dtype "bool" for bools of a byte each'),
    ],
)
def test_bools_given_as_bits_are_told_how_bools_are_given(make, remedy):
    with pytest.raises(MalformedDescriptor) as caught:
        make()
    assert remedy in str(caught.value)


def test_what_was_refused_is_taken_by_the_remedy():
    assert of("float64", lend.buffer(np.array([0, 1]))).tolist() == [0.0, 5e-324]
