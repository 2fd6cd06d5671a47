"""Types that lend.view has no dtype for, and C has a code for: text, bytes, records, eight-bit floats."""

import array
import ctypes
import pathlib
import re

import pytest

import lend
from support.counting import CountingBuffer, CountingDLPack, CountingExchange
from support.producers import ArrayInterface

INCLUDE = pathlib.Path(__file__).parent.parent.parent / "src" / "lend" / "include"
OPAQUE, BYTES, UCS4, RECORD = 128, 131, 132, 133
NATIVE = "<" if memoryview(array.array("H", [1])).cast("B")[0] else ">"


def sized(code, itemsize, order="|"):
    """The fields of a dtype that is measured in bytes alone."""
    return (code, order, 0, 0, 1, itemsize, 1)


FORMATS = {
    "5s": (5, sized(BYTES, 5)),
    "s": (1, sized(BYTES, 1)),
    "c": (1, sized(BYTES, 1)),
    "<c": (1, sized(BYTES, 1)),
    "2w": (8, sized(UCS4, 8, NATIVE)),
    "w": (4, sized(UCS4, 4, NATIVE)),
    ">3w": (12, sized(UCS4, 12, ">")),
    "<3w": (12, sized(UCS4, 12, "<")),
    "7x": (7, sized(OPAQUE, 7)),
    "x": (1, sized(OPAQUE, 1)),
    "T{i:a:d:b:}": (16, sized(RECORD, 16)),
    "<T{i:O:=i:b:}": (8, sized(RECORD, 8)),
    "T{T{b:a:b:b:}:c:}": (2, sized(RECORD, 2)),
    "bfloat16": (2, (4, NATIVE, 0, 16, 1, 2, 1)),
    "Zf": (8, (5, NATIVE, 0, 64, 1, 8, 1)),
    ">Zd": (16, (5, ">", 0, 128, 1, 16, 1)),
    "F": (8, (5, NATIVE, 0, 64, 1, 8, 1)),
    "D": (16, (5, NATIVE, 0, 128, 1, 16, 1)),
    "!h": (2, (0, ">", 0, 16, 1, 2, 1)),
    "<l": (8, (0, "<", 0, 64, 1, 8, 1)),  # as ctypes writes a long
    "@l": (ctypes.sizeof(ctypes.c_long), (0, NATIVE, 0, 8 * ctypes.sizeof(ctypes.c_long), 1, 8, 1)),
    "=L": (4, (1, NATIVE, 0, 32, 1, 4, 1)),
    "P": (8, (1, NATIVE, 0, 64, 1, 8, 1)),
    "^e": (2, (2, NATIVE, 0, 16, 1, 2, 1)),
    "g": (ctypes.sizeof(ctypes.c_longdouble), (2, NATIVE, 0, 8 * ctypes.sizeof(ctypes.c_longdouble), 1, 16, 1)),
    ">?": (1, (6, "|", 0, 8, 1, 1, 1)),
}


@pytest.mark.parametrize("text", FORMATS)
def test_a_format_is_read(taker, text):
    itemsize, expected = FORMATS[text]
    taken = taker(CountingBuffer(bytes(64), format=text, itemsize=itemsize, shape=(2,)))
    assert taken.dtype[:5] == expected[:5]
    assert (taken.itemsize, taken.multiplier) == (itemsize, 1)


@pytest.mark.parametrize(
    ("text", "itemsize"),
    [
        ("5s", 4),
        ("2w", 4),
        ("3x", 2),
        ("2c", 2),
        ("f", 8),
        ("h", 1),
        ("Zf", 16),
        ("?", 2),
        ("bfloat16", 4),
        ("E", 4),
        ("1i", 4),
        ("2q", 8),
        ("ii", 4),
        ("ix", 4),
    ],
)
def test_a_format_of_another_size_is_refused(taker, text, itemsize):
    with pytest.raises(BufferError, match="format"):
        taker(CountingBuffer(bytes(64), format=text, itemsize=itemsize, shape=(2,)))


@pytest.mark.filterwarnings("ignore:The 'u' type code is deprecated:DeprecationWarning")  # of Python 3.13
def test_characters_of_an_array_are_text(taker):
    taken = taker(array.array("u", "lend"))
    assert taken.dtype == sized(UCS4, 4, NATIVE)
    assert taken.tobytes().decode(f"utf-32-{'le' if NATIVE == '<' else 'be'}") == "lend"


TYPESTRS = {
    "|S5": sized(BYTES, 5),
    "<U2": sized(UCS4, 8, "<"),
    ">U2": sized(UCS4, 8, ">"),
    "U1": sized(UCS4, 4, NATIVE),
    "|V6": sized(OPAQUE, 6),
    "=f4": (2, NATIVE, 0, 32, 1, 4, 1),
    ">M8[ms]": (129, ">", 8, 64, 1, 8, 1),
    "<m8[7D]": (130, "<", 4, 64, 1, 8, 7),
    "<i16": (0, "<", 0, 128, 1, 16, 1),
}


@pytest.mark.parametrize("typestr", TYPESTRS)
def test_a_typestr_is_read(taker, typestr):
    assert taker(ArrayInterface(bytes(64), (2,), typestr)).dtype == TYPESTRS[typestr]


UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]


@pytest.mark.parametrize(("unit", "number"), list(zip(UNITS, range(1, 14), strict=True)))
def test_every_unit_has_its_number(taker, unit, number):
    taken = taker(ArrayInterface(bytes(8), (1,), f"<M8[3{unit}]"))
    assert (taken.unit, taken.multiplier) == (number, 3)


DESCRS = {
    "fields": ([("a", "<i4"), ("b", "<f4")], RECORD),
    "padding": ([("a", "<i4"), ("", "|V4")], RECORD),
    "a title": ([(("title", "a"), "<i4"), ("b", "|S4")], RECORD),
    "a subarray": ([("a", "<i2", (2, 2))], RECORD),
    "an extent alone": ([("a", "<i2", 4)], RECORD),
    "records within": ([("a", [("b", "<i4"), ("c", "|u1", (4,))])], RECORD),
    "text within": ([("a", "<U2")], RECORD),
    "a date within": ([("a", "<M8[ns]")], RECORD),
    "a field of bytes": ([("a", "|V8")], RECORD),
    "bytes with a title": ([(("title", ""), "|V8")], RECORD),
    "bytes alone": ([("", "|V8")], OPAQUE),
    "none": (None, OPAQUE),
}


@pytest.mark.parametrize("name", DESCRS)
def test_a_descr_tells_records_from_bytes(taker, name):
    descr, code = DESCRS[name]
    assert taker(ArrayInterface(bytes(64), (2,), "|V8", descr=descr)).dtype == sized(code, 8)


class Named(ArrayInterface):
    """An array interface of plain bytes, and a dtype with a name."""

    class dtype:
        name = "bfloat16"


NAMES = ["float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2"]
NAMES += ["float8_e5m2fnuz", "float8_e8m0fnu"]


@pytest.mark.parametrize(("name", "code"), list(zip(NAMES, range(7, 15), strict=True)))
def test_an_eight_bit_float_is_told_by_its_name(taker, monkeypatch, name, code):
    monkeypatch.setattr(Named.dtype, "name", name)
    assert taker(Named(bytes(8), (2,), "|V1")).dtype == (code, "|", 0, 8, 1, 1, 1)


@pytest.mark.parametrize("typestr", ["<f1", "f1"])
def test_a_float_of_one_byte_must_have_a_name(taker, monkeypatch, typestr):
    """ml_dtypes calls one of them a float."""
    for name, code in (("float8_e5m2", 12), ("float8_e4m3fn", 10)):
        monkeypatch.setattr(Named.dtype, "name", name)
        assert taker(Named(bytes(8), (2,), typestr, descr=[("", typestr)])).code == code
    for name in ("void8", "float32", None):
        monkeypatch.setattr(Named.dtype, "name", name)
        with pytest.raises(BufferError, match=r"dtype"):
            taker(Named(bytes(8), (2,), typestr))


def test_a_bfloat_is_told_by_its_name(taker):
    assert taker(Named(bytes(8), (2,), "<V2")).dtype == (4, NATIVE, 0, 16, 1, 2, 1)


@pytest.mark.parametrize(
    ("name", "typestr"), [("int4", "|V2"), ("int3", "|V1"), ("bfloat16", "|V4"), ("float8_e5m2", "|V2"), ("u", "|V1")]
)
def test_a_name_that_c_has_no_word_for_is_refused(taker, monkeypatch, name, typestr):
    monkeypatch.setattr(Named.dtype, "name", name)
    with pytest.raises(BufferError, match=name):
        taker(Named(bytes(8), (2,), typestr))


@pytest.mark.parametrize("name", ["void64", "record64"])
def test_names_of_bytes_are_no_obstacle(taker, monkeypatch, name):
    monkeypatch.setattr(Named.dtype, "name", name)
    assert taker(Named(bytes(16), (2,), "|V8")).dtype == sized(OPAQUE, 8)


@pytest.mark.parametrize("kind", [CountingDLPack, CountingExchange])
@pytest.mark.parametrize("code", range(7, 15))
def test_an_eight_bit_float_comes_through_dlpack(taker, kind, code):
    taken = taker(kind(bytes(8), (2, 4), dtype=(code, 8, 1)))
    assert (taken.dtype, taken.nbytes) == ((code, "|", 0, 8, 1, 1, 1), 8)


@pytest.mark.parametrize(
    "dtype", [(15, 4, 1), (16, 8, 1), (17, 6, 1), (7, 6, 1), (14, 16, 1), (18, 8, 1), (1, 1, 8), (0, 3, 8), (3, 32, 1)]
)
def test_a_tensor_of_no_known_type_is_refused(taker, dtype):
    producer = CountingDLPack(bytes(8), (2,), dtype=dtype, keep=True)
    with pytest.raises(BufferError, match=f"code {dtype[0]}, bits {dtype[1]}.*not understood"):
        taker(producer)
    assert producer.names == ["dltensor_versioned"]


PADDED = 4
SMALL = {
    "int4": (0, 4), "uint4": (1, 4), "int2": (0, 2), "uint2": (1, 2), "float6_e2m3fn": (15, 6),
    "float6_e3m2fn": (16, 6), "float4_e2m1fn": (17, 4),
}  # fmt: skip


@pytest.mark.parametrize("lanes", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("flags", [0, PADDED])
@pytest.mark.parametrize("kind", [CountingDLPack, CountingExchange])
@pytest.mark.parametrize("name", SMALL)
def test_values_of_less_than_a_byte_are_taken_where_they_fill_bytes(taker, kind, name, flags, lanes):
    code, bits = SMALL[name]
    producer = kind(bytes(range(64)), (2, 3), strides=(3, 1), dtype=(code, bits, lanes), flags=flags)
    if not flags and bits * lanes % 8:
        told = "" if lanes == 1 else f"{lanes} lanes of "
        with pytest.raises(BufferError, match=f"(?s)of {told}{name}, packed .DLPack code {code}.*share a byte.*try  "):
            taker(producer)
        assert lend.view(producer).itemsize == 0  # lend itself shows them
        return
    taken, view = taker(producer), lend.view(producer)
    itemsize = lanes if flags else bits * lanes // 8
    assert taken.dtype == (code, "|", 0, bits, lanes, itemsize, 1)
    assert (taken.shape, taken.strides, taken.aligned) == (view.shape, view.strides, view.aligned)
    assert taken.tobytes() == view.tobytes()


def test_a_flag_of_the_future_may_say_how_they_lie(taker):
    with pytest.raises(BufferError, match="not understood"):
        taker(CountingDLPack(bytes(8), (2,), dtype=(0, 4, 1), flags=PADDED | 8))


def test_a_request_tells_by_itemsize_how_they_lie(taker):
    padded = CountingDLPack(bytes(8), (2,), dtype=(0, 4, 2), flags=PADDED)
    packed = CountingDLPack(bytes(8), (2,), dtype=(0, 4, 2))
    wanted = [(0, ord("|"), 0, 4, 2, itemsize, 1) for itemsize in (2, 1)]
    assert taker(padded, dtype=wanted[0]).itemsize == 2
    assert taker(packed, dtype=wanted[1]).itemsize == 1
    with pytest.raises(BufferError, match="lanes of int4, packed was required, and it holds 2 lanes of int4, one to a"):
        taker(padded, dtype=wanted[1])
    with pytest.raises(BufferError, match="one to a byte was required"):
        taker(packed, dtype=wanted[0])


CODES = re.findall(r"\bLEND_(FLOAT[468]_\w+) = (\d+)", (INCLUDE / "lend.h").read_text(encoding="utf-8"))


def test_the_small_floats_have_names():
    assert [int(code) for _, code in CODES] == list(range(7, 18))


@pytest.mark.parametrize(("name", "code"), CODES)
def test_a_small_float_is_called_as_its_dtype_is(name, code):
    bits = int(name[5])
    assert lend.DType(name.lower()) == lend.DType.from_dlpack(int(code), bits, padded=bits < 8)


ALIGNED = [("B", 1, 1, True), ("5s", 5, 1, True), ("w", 4, 2, False), ("w", 4, 4, True), ("d", 8, 4, False)]
ALIGNED += [("Zf", 8, 4, True), ("Zf", 8, 2, False), ("T{i:a:}", 4, 1, True), ("g", 16, 8, False), ("7x", 7, 1, True)]


@pytest.mark.parametrize(("text", "itemsize", "offset", "expected"), ALIGNED)
def test_alignment_is_that_of_what_is_loaded(taker, text, itemsize, offset, expected):
    taken = taker(CountingBuffer(bytes(64), format=text, itemsize=itemsize, shape=(2,), offset=offset))
    assert taken.aligned is expected


def test_lanes_multiply_the_size_and_not_the_alignment(taker):
    taken = taker(CountingDLPack(bytes(64), (2,), dtype=(2, 32, 4), byte_offset=4))
    assert (taken.lanes, taken.bits, taken.itemsize, taken.nbytes) == (4, 32, 16, 32)
    assert taken.aligned
