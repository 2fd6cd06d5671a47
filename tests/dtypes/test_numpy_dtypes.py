"""NumPy's own spellings and ours agree."""

import pytest

from lend.dtypes import DType
from lend.errors import UnsupportedType
from support.names import plain_repr, plain_str

np = pytest.importorskip("numpy")

CHARS = "?bBhHiIlLqQpPefdgFDG"
EVERY = [np.dtype(char).newbyteorder(order) for char in CHARS for order in "<>"]
TIMED = [np.dtype(kind + "8" + unit) for kind in "Mm" for unit in ("", "[ns]", "[25s]", "[Y]", "[7as]")]


@pytest.mark.parametrize("dtype", [*EVERY, *TIMED, np.dtype("V7"), np.dtype("V0")], ids=plain_str)
def test_typestr_is_numpys(dtype):
    assert DType(dtype).typestr == DType(dtype.str).typestr == dtype.str


@pytest.mark.parametrize("dtype", [*EVERY, *TIMED, np.dtype("V7")], ids=plain_str)
def test_numpy_dtype_comes_back(dtype):
    assert DType(dtype).__numpy_dtype__ == dtype


@pytest.mark.parametrize("dtype", [np.dtype(char) for char in CHARS], ids=lambda dtype: dtype.char)
def test_native_format_is_read_and_written_as_numpy_does(dtype):
    exported = memoryview(np.zeros(1, dtype)).format
    ours = DType.from_format(exported, dtype.itemsize)
    assert ours == DType(dtype)
    assert np.asarray(memoryview(np.zeros(1, ours.typestr))).dtype == dtype


@pytest.mark.parametrize("char", [char for char in CHARS if char not in "qQgG"])
def test_native_format_is_the_one_numpy_writes(char):
    exported = memoryview(np.zeros(1, char))
    assert DType(np.dtype(char)).format == exported.format


@pytest.mark.parametrize(
    "dtype", [dtype for dtype in EVERY if dtype.char not in "gG" and not dtype.isnative], ids=plain_str
)
def test_swapped_format_is_the_one_numpy_writes(dtype):
    exported = memoryview(np.zeros(1, dtype))
    assert DType(dtype).format == exported.format
    assert DType.from_format(exported.format, exported.itemsize) == DType(dtype)


@pytest.mark.parametrize("size", [1, 7])
def test_void_format_is_the_one_numpy_writes(size):
    assert DType(f"opaque[{size}]").format == memoryview(np.zeros(1, f"V{size}")).format


@pytest.mark.parametrize("dtype", TIMED, ids=plain_str)
def test_unit_is_numpys(dtype):
    assert (DType(dtype).unit, DType(dtype).multiplier) == np.datetime_data(dtype)


@pytest.mark.parametrize("dtype", [np.dtype(char) for char in CHARS], ids=lambda dtype: dtype.char)
def test_scalar_type_names_its_dtype(dtype):
    assert DType(dtype.type) == DType(dtype)


@pytest.mark.parametrize("dtype", [("i4", (2, 2))], ids=plain_str)
def test_dtype_that_lend_lacks_is_refused(dtype):
    with pytest.raises(UnsupportedType, match="lend has no dtype for"):
        DType(np.dtype(dtype))


@pytest.mark.parametrize("cls", [np.void, np.str_, np.bytes_, np.number, np.generic], ids=plain_str)
def test_scalar_type_that_lend_lacks_is_refused(cls):
    with pytest.raises(UnsupportedType, match="lend has no dtype for"):
        DType(cls)


def test_numpy_takes_our_dtype():
    assert np.zeros(3, DType("int32").__numpy_dtype__).dtype == np.dtype("int32")


@pytest.mark.parametrize("name", ["int128", "complex32", "float32x4", "handle", "opaque[2147483648]"])
def test_what_numpy_lacks_is_refused(name):
    with pytest.raises(UnsupportedType, match="NumPy cannot say"):
        DType(name).__numpy_dtype__


@pytest.mark.parametrize("thing", [np.ndarray, np.zeros(3), np.ufunc], ids=plain_str)
def test_what_is_no_dtype_of_numpy_is_a_type_error(thing):
    with pytest.raises(TypeError, match="takes a dtype"):
        DType(thing)


@pytest.mark.parametrize("other", [np.float32, np.dtype("f4"), np.dtype("<f4")], ids=plain_repr)
def test_a_dtype_equals_what_numpy_calls_it(other):
    assert DType("float32") == other
    assert other == DType("float32") or isinstance(other, type)
    assert DType("float64") != other
    assert DType("float32") in (np.int8, other)


def test_a_dtype_equals_pythons_own_types():
    for name, cls in (("float64", float), ("int64", int), ("bool", bool), ("complex128", complex)):
        assert DType(name) == cls
        assert DType("float32") != cls


@pytest.mark.parametrize("other", [None, 3, str, list, object(), type, [("a", "f4")]], ids=plain_repr)
def test_a_dtype_differs_from_what_is_none(other):
    assert (DType("float32") == other) is False
    assert (DType("float32") != other) is True
