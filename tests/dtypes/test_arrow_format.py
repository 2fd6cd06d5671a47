"""Format strings of the Arrow C data interface: read, written, and refused by the name of what they mean."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lend.dtypes import DType
from lend.errors import UnsupportedType

NUMBERS = {
    "c": "int8", "C": "uint8", "s": "int16", "S": "uint16", "i": "int32", "I": "uint32", "l": "int64", "L": "uint64",
    "e": "float16", "f": "float32", "g": "float64",
}  # fmt: skip
UNITS = {"s": "s", "m": "ms", "u": "us", "n": "ns"}
TIMED = {f"ts{letter}:": f"datetime64[{unit}]" for letter, unit in UNITS.items()}
TIMED |= {f"tD{letter}": f"timedelta64[{unit}]" for letter, unit in UNITS.items()}
WIDE = {f"w:{width}": f"opaque[{width}]" for width in (0, 1, 7, 16, 2**31 - 1)}
BOTH_WAYS = NUMBERS | TIMED | WIDE


@pytest.mark.parametrize("text", BOTH_WAYS)
def test_a_format_is_read_and_written_again(text):
    assert DType.from_arrow(text) == BOTH_WAYS[text]
    assert DType.from_arrow(text).arrow == text
    assert DType(BOTH_WAYS[text]).arrow == text


def test_days_in_milliseconds_are_datetimes():
    assert DType.from_arrow("tdm") == "datetime64[ms]"


REFUSED = {
    "n": "null", "b": "bool, which Arrow packs eight to a byte", "tdD": "date32", "tts": "time32[s]",
    "ttm": "time32[ms]", "ttu": "time64[us]", "ttn": "time64[ns]", "tiM": "interval[month]",
    "tiD": "interval[day, time]", "tin": "interval[month, day, nano]", "u": "utf8", "U": "large_utf8",
    "vu": "utf8_view", "z": "binary", "Z": "large_binary", "vz": "binary_view", "d:10,2": "decimal(10,2)",
    "d:19,10,256": "decimal(19,10,256)", "tss:UTC": "zone 'UTC'", "tsn:+02:00": "zone '+02:00'", "+l": "nested",
    "+s": "nested", "+w:3": "nested",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_no_dtype_says_is_refused_by_its_name(text):
    with pytest.raises(UnsupportedType, match=re.escape(f"Arrow format {text!r}: ") + ".*" + re.escape(REFUSED[text])):
        DType.from_arrow(text)


def test_the_way_round_a_zone_works():
    with pytest.raises(UnsupportedType) as caught:
        DType.from_arrow("tsu:Europe/Paris")
    assert eval(caught.value.remedy.partition(", the")[0], {"DType": DType}) == "datetime64[us]"


WRONG = ["", "x", "cc", "ts", "tss", "tsx:", "tDx", "w", "w:", "w:-1", "w:x", "w: 3", "w:²", f"w:{2**31}", "c\0", "é"]


@pytest.mark.parametrize("text", [*WRONG, "w:" + "0" * 5000 + "7", "_pli128"], ids=lambda text: repr(text[:10]))
def test_what_is_no_format_is_refused(text):
    with pytest.raises(UnsupportedType, match="no dtype for the Arrow format"):
        DType.from_arrow(text)


@pytest.mark.parametrize("thing", [None, 3, b"c", ["c"]], ids=repr)
def test_what_is_no_text_is_a_type_error(thing):
    with pytest.raises(TypeError, match="an Arrow format is a str"):
        DType.from_arrow(thing)


@given(st.text(st.sampled_from("cCsSiIlLefgbnuUzZvtDmdw:+,0123456789 é\0"), max_size=8))
def test_any_text_is_read_or_refused(text):
    try:
        dtype = DType.from_arrow(text)
    except UnsupportedType:
        return
    assert DType.from_arrow(dtype.arrow) == dtype


UNSAID = {
    "bool": 'reinterpret("uint8")', "complex64": 'reinterpret("float32")', "complex128": 'reinterpret("float64")',
    "bfloat16": 'reinterpret("uint16")', "int128": 'reinterpret("opaque[16]")', "datetime64": 'reinterpret("int64")',
    "datetime64[D]": 'reinterpret("int64")', "timedelta64[25s]": 'reinterpret("int64")', "bytes[4]": "uint8",
    "text[2]": 'reinterpret("uint32")', "float32x2": 'reinterpret("float32")', "int4": 'reinterpret("uint8")',
    "handle": 'reinterpret("uint64")', "longdouble": "a copy as float64",
}  # fmt: skip


@pytest.mark.parametrize("name", UNSAID)
def test_what_arrow_cannot_say_is_refused_with_a_remedy(name):
    with pytest.raises(UnsupportedType, match=f"Arrow cannot say {re.escape(name)}") as caught:
        _ = DType(name).arrow
    assert UNSAID[name] in caught.value.remedy
    other = re.search(r'reinterpret\("(.*)"\)', caught.value.remedy)
    if other:
        assert DType(other[1]).arrow


@pytest.mark.parametrize("name", ["int32", "datetime64[s]"])
def test_another_byte_order_is_refused(name):
    with pytest.raises(UnsupportedType, match="Arrow cannot say"):
        _ = DType(name).newbyteorder("swap").arrow


def test_what_is_no_number_at_all_is_refused():
    for dtype in ("object", [("a", "int32")]):
        with pytest.raises(UnsupportedType, match="Arrow cannot say"):
            _ = DType(dtype).arrow


# -- as pyarrow says it --------------------------------------------------------------------------------------------


def exported(pa, kind):
    """The format string that pyarrow gives of a type."""
    import ctypes

    capsule = kind.__arrow_c_schema__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer(capsule, b"arrow_schema")
    return ctypes.cast(address, ctypes.POINTER(ctypes.c_char_p))[0].decode()


def kinds(pa):
    yield from (getattr(pa, name)() for name in NUMBERS.values())
    yield from (pa.timestamp(unit) for unit in UNITS.values())
    yield from (pa.duration(unit) for unit in UNITS.values())
    yield from (pa.date64(), pa.binary(0), pa.binary(1), pa.binary(7))


def test_every_type_of_pyarrow_with_a_fixed_width_is_read():
    pa = pytest.importorskip("pyarrow")
    for kind in kinds(pa):
        dtype = DType.from_arrow(exported(pa, kind))
        assert 8 * dtype.itemsize == kind.bit_width, kind
        assert dtype.arrow == exported(pa, kind) or kind == pa.date64()
        assert dtype.unit == getattr(kind, "unit", "ms" if kind == pa.date64() else None)
        if not pa.types.is_fixed_size_binary(kind):
            assert dtype.__numpy_dtype__ == kind.to_pandas_dtype() or dtype.unit, kind


def test_every_other_type_of_pyarrow_is_refused_by_name():
    pa = pytest.importorskip("pyarrow")
    others = [pa.null(), pa.bool_(), pa.date32(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]
    others += [pa.utf8(), pa.large_utf8(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()]
    others += [pa.decimal32(5), pa.decimal64(10), pa.decimal128(20, 3), pa.decimal256(40), pa.timestamp("s", "UTC")]
    others += [pa.list_(pa.int8()), pa.struct([("a", pa.int8())]), pa.month_day_nano_interval(), pa.list_(pa.int8(), 2)]
    for kind in others:
        with pytest.raises(UnsupportedType, match="Arrow format .*: "):
            DType.from_arrow(exported(pa, kind))
