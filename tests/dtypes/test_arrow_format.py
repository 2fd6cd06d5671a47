"""Format strings of the Arrow C data interface: read, written, and refused by the name of what they mean."""

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lend.dtypes import DType
from lend.errors import LendError, UnsupportedType

NUMBERS = {
    "c": "int8", "C": "uint8", "s": "int16", "S": "uint16", "i": "int32", "I": "uint32", "l": "int64", "L": "uint64",
    "e": "float16", "f": "float32", "g": "float64",
}  # fmt: skip
UNITS = {"s": "s", "m": "ms", "u": "us", "n": "ns"}
TIMED = {f"ts{letter}:": f"datetime64[{unit}]" for letter, unit in UNITS.items()}
TIMED |= {f"tD{letter}": f"timedelta64[{unit}]" for letter, unit in UNITS.items()}
WIDE = {f"w:{width}": f"opaque[{width}]" for width in (0, 1, 7, 16, 2**31 - 1)}
OF_POLARS = {"_pli128": "int128", "_plu128": "uint128"}
BOTH_WAYS = NUMBERS | TIMED | WIDE | OF_POLARS


@pytest.mark.parametrize("text", BOTH_WAYS)
def test_a_format_is_read_and_written_again(text):
    assert DType.from_arrow(text) == BOTH_WAYS[text]
    assert DType.from_arrow(text).arrow == text
    assert DType(BOTH_WAYS[text]).arrow == text


WRONG = ["", "x", "cc", "ts", "tss", "tsx:", "tDx", "w", "w:", "w:-1", "w:x", "w: 3", "w:²", f"w:{2**31}", "c\0", "é"]
WRONG += [
    "tdd",
    "tdDD",
    "ttx",
    "tix",
    "uu",
    "v",
    "vU",
    "tsu:\0",
    "tsu:\ud800",
    "tDs:",
    "\ud800",
    "a",
    "N",
    "G",
    "E",
    "@",
]
WRONG += [
    "d",
    "d:",
    "d:3",
    "d:x,1",
    "d:3,x",
    "d:3,1,x",
    "d:3,1,",
    "d:3,1,64,2",
    "d:3,1,16",
    "d:0,0",
    "d:-1,0",
    "d:39,0",
]
WRONG += ["d:10,0,32", "d:19,0,64", "d:77,0,256", "d:3,+1", "d:3,- 1", "d:3,²", "d:3,1,2147483648", "d:3,9999999999"]
WRONG += [
    "+",
    "+x",
    "+ll",
    "+u",
    "+u:1",
    "+ux:1",
    "+w",
    "+w:",
    "+w:x",
    "+w:-1",
    f"+w:{2**31}",
    "+ud:x",
    "+ud:128",
    "+us:-1",
]
WRONG += ["+ud:1,1", "+ud:,", "+ud:1,", "+vx", "+sd"]


@pytest.mark.parametrize("text", [*WRONG, "w:" + "0" * 5000 + "7"], ids=lambda text: ascii(text[:16]))
def test_what_is_no_format_is_refused(text):
    with pytest.raises(UnsupportedType, match="no dtype for the Arrow format"):
        DType.from_arrow(text)


@pytest.mark.parametrize(("text", "why"), [
    ("_pli256", "a format of one library alone"), ("_", "a format of one library alone"),
    ("d:39,0", "a decimal of 128 bits has 1 to 38 digits, not 39"), ("d:0,0,32", "32 bits has 1 to 9 digits, not 0"),
    ("d:3", "a decimal is d:DIGITS,SCALE or d:DIGITS,SCALE,BITS, of 32, 64, 128, 256 bits"),
    ("+w:x", "'x' is no width"), ("w:²", "'²' is no width"), ("+zz", "no nested type of Arrow's"),
    ("+ud:1,1", "the ids of a union are different numbers from 0 to 127"),
])  # fmt: skip
def test_a_format_is_refused_with_what_is_wrong_about_it(text, why):
    with pytest.raises(UnsupportedType) as caught:
        DType.from_arrow(text)
    assert caught.value.fact.startswith(f"lend has no dtype for the Arrow format {text!r}: ")
    assert caught.value.fact.endswith(why)


@pytest.mark.parametrize("thing", [None, 3, b"c", ["c"]], ids=repr)
def test_what_is_no_text_is_a_type_error(thing):
    with pytest.raises(TypeError, match="an Arrow format is a str"):
        DType.from_arrow(thing)


@given(st.text(st.sampled_from("cCsSiIlLefgbnuUzZvtDmdw:+,0123456789 é\0"), max_size=8))
def test_any_text_is_read_or_refused(text):
    try:
        dtype = DType.from_arrow(text)
    except LendError:
        return
    assert dtype.kind in ("struct", "union_dense", "union_sparse") or DType.from_arrow(dtype.arrow) == dtype


UNSAID = {
    "bool": 'reinterpret("uint8")', "complex64": 'reinterpret("float32")', "complex128": 'reinterpret("float64")',
    "bfloat16": 'reinterpret("uint16")', "datetime64": 'reinterpret("int64")',
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
    yield from (pa.binary(0), pa.binary(1), pa.binary(7))


def test_every_type_of_pyarrow_that_is_plain_is_read():
    pa = pytest.importorskip("pyarrow")
    for kind in kinds(pa):
        dtype = DType.from_arrow(exported(pa, kind))
        assert 8 * dtype.itemsize == kind.bit_width, kind
        assert dtype.arrow == exported(pa, kind)
        assert dtype.unit == getattr(kind, "unit", None)
        if not pa.types.is_fixed_size_binary(kind):
            assert dtype.__numpy_dtype__ == kind.to_pandas_dtype() or dtype.unit, kind


def test_every_other_type_of_pyarrow_without_parts_is_read():
    pa = pytest.importorskip("pyarrow")
    others = [pa.null(), pa.bool_(), pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us")]
    others += [pa.time64("ns"), pa.utf8(), pa.large_utf8(), pa.string_view(), pa.binary(), pa.large_binary()]
    others += [pa.binary_view(), pa.decimal32(5), pa.decimal64(10, -3), pa.decimal128(20, 3), pa.decimal256(40)]
    others += [pa.timestamp("s", "UTC"), pa.timestamp("ns", "+02:00"), pa.month_day_nano_interval()]
    for kind in others:
        dtype = DType.from_arrow(exported(pa, kind))
        assert dtype.arrow == exported(pa, kind)
        with contextlib.suppress(ValueError):  # of any width
            assert dtype.bits == kind.bit_width, kind
        assert (dtype.precision, dtype.scale) == (getattr(kind, "precision", None), getattr(kind, "scale", None))
        assert dtype.zone == getattr(kind, "tz", None)
