"""Arrays and scalars of NumPy, and of ml_dtypes: as lend.view says them, and what it has no dtype for by kind."""

import pytest

import lend
from lend.errors import LendError

np = pytest.importorskip("numpy")

NUMBERS = "?bBhHiIlLqQefdgFDG"
DTYPES = [np.dtype(code) for code in NUMBERS]
DTYPES += [dtype.newbyteorder() for dtype in DTYPES if dtype.itemsize > 1]
DTYPES += [np.dtype(text) for text in ("M8[ns]", "m8[us]", ">M8[D]", "M8[25s]", "m8", "M8", "V5", "V16")]


def filled(dtype, count=24):
    raw = np.arange(count * np.dtype(dtype).itemsize, dtype="u1") % (2 if np.dtype(dtype).kind == "b" else 120)
    return np.frombuffer(bytearray(raw.tobytes()), dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_is_taken(taker, same, dtype):
    source = filled(dtype)
    same(taker(source), lend.view(source))
    same(taker(source.reshape(2, 3, 4)[::-1, ::2, 1:]), lend.view(source.reshape(2, 3, 4)[::-1, ::2, 1:]))


LAYOUTS = {
    "row-major": lambda a: a.reshape(4, 6),
    "column-major": lambda a: a.reshape(4, 6, order="F"),
    "transposed": lambda a: a.reshape(2, 3, 4).T,
    "strided": lambda a: a.reshape(4, 6)[::2, ::3],
    "reversed": lambda a: a[::-1],
    "reversed both ways": lambda a: a.reshape(4, 6)[::-1, ::-1],
    "broadcast": lambda a: np.broadcast_to(a, (3, 24)),
    "one column": lambda a: a.reshape(4, 6)[:, 2:3],
    "one element": lambda a: a[5:6],
    "no dimensions": lambda a: a[5].reshape(()),
    "a slice of no dimensions": lambda a: a[5, ...],
    "empty": lambda a: a[:0],
    "empty within": lambda a: a.reshape(4, 6)[:, 3:3],
    "empty rows": lambda a: np.zeros((0, 3), a.dtype),
    "new axes": lambda a: a[None, :, None],
    "nine dimensions": lambda a: a.reshape(1, 2, 1, 3, 1, 4, 1, 1, 1),
    "32 dimensions": lambda a: a.reshape((24,) + (1,) * 31),
    "read-only": lambda a: (a.setflags(write=False), a)[1],
    "unaligned": lambda a: np.frombuffer(bytearray(a.nbytes + 1), "u1")[1:].view(a.dtype),
    "odd strides": lambda a: np.lib.stride_tricks.as_strided(a, (5,), (a.itemsize + 1,)),
    "a diagonal": lambda a: a[:16].reshape(4, 4).diagonal(),
    "windows": lambda a: np.lib.stride_tricks.sliding_window_view(a, 5),
}


@pytest.mark.parametrize("dtype", ["f8", ">i4", "M8[s]", "V3"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_taken(taker, same, layout, dtype):
    source = LAYOUTS[layout](filled(dtype))
    same(taker(source), lend.view(source))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_copied(taker, layout):
    source = LAYOUTS[layout](filled("i4"))
    for flags, order in ((4096, "C"), (4096 | 512, "C"), (4096 | 1024, "F")):
        taken = taker(source, flags=flags)
        assert (taken.shape, taken.tobytes()) == (source.shape, source.tobytes("C"))
        if flags != 4096 and source.size:
            assert taken.strides == np.empty(source.shape, "i4", order).strides


SCALARS = [np.float64(1.5), np.int8(-3), np.bool_(True), np.complex64(1 + 2j), np.datetime64("2020-02-02", "D")]
SCALARS += [np.timedelta64(7, "ms"), np.datetime64(5, "25s"), np.longdouble(2), np.bytes_(b"lend")]


@pytest.mark.parametrize("scalar", SCALARS, ids=repr)
def test_scalars_are_taken(taker, same, scalar):
    same(taker(scalar), lend.view(scalar))


def test_a_scalar_with_a_date_is_no_row_of_bytes(taker):
    taken = taker(np.datetime64("1970-01-02", "h"))
    assert (taken.shape, taken.code, taken.unit) == ((), 129, 5)
    assert int.from_bytes(taken.tobytes(), "little" if taken.order == "<" else "big") == 24


KINDS = {"S5": 131, "U3": 132, ">U3": 132, "i4,f8": 133, "S1": 131}


@pytest.mark.parametrize("text", KINDS)
def test_text_and_records_are_told_by_kind(taker, text):
    source = np.zeros((2, 3), text)[:, ::2]
    taken = taker(source)
    assert (taken.code, taken.itemsize, taken.bits) == (KINDS[text], source.itemsize, 0)
    assert (taken.shape, taken.strides, taken.tobytes()) == (source.shape, source.strides, source.tobytes())
    assert taken.order == (source.dtype.byteorder.replace("=", taken.order) if text[-2] == "U" else "|")


def test_a_record_scalar_is_taken(taker):
    scalar = np.zeros(2, "i4,f8")[0]
    assert (taker(scalar).code, taker(scalar).itemsize) == (133, 12)


def test_a_record_with_dates_is_taken_by_its_interface(taker):
    source = np.zeros(3, [("when", "M8[s]"), ("what", "S3")])
    taken = taker(source)
    assert (taken.code, taken.itemsize, taken.ptr) == (133, 11, source.__array_interface__["data"][0])


REFUSED = {
    "objects": lambda: np.array([1, "x"], dtype=object),
    "records of objects": lambda: np.zeros(2, [("a", "O")]),
    "records of objects and dates": lambda: np.zeros(2, [("a", "O"), ("b", "M8[s]")]),
    "text of any length": lambda: np.array(["a", "bc"], dtype=np.dtypes.StringDType()),
    "a masked array": lambda: np.ma.array([1.0, 2.0], mask=[0, 1]),
    "a masked array without a mask": lambda: np.ma.array([1.0, 2.0]),
    "masked records": lambda: np.ma.zeros(2, "i4,f8"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_block_of_memory_says_is_refused(taker, name):
    source = REFUSED[name]()
    with pytest.raises(BufferError, match=r"ndarray|Masked"):
        taker(source)
    if "objects" in name:
        # the header does not count references; a View reads them
        assert lend.view(source).dtype.has_objects
        return
    with pytest.raises(LendError):
        lend.view(source)


def test_subclasses_are_taken(taker, same):
    for kind in (np.recarray, type("Own", (np.ndarray,), {})):
        source = np.eye(3).view(kind)
        same(taker(source), lend.view(source))


def test_a_memory_map_is_taken(taker, same, tmp_path):
    (tmp_path / "map").write_bytes(bytes(range(64)))
    source = np.memmap(tmp_path / "map", dtype="i2", mode="r", shape=(4, 8))
    same(taker(source), lend.view(source))


def test_an_array_is_written_through(taker):
    source = np.zeros(3, "i4")
    taker(source, flags=256).fill(1)
    assert source.tolist() == [0x01010101] * 3


@pytest.mark.parametrize("text", ["f4", "S3"])
def test_a_read_only_array_is_not_given_for_writing(taker, text):
    source = np.zeros(3, text)
    source.setflags(write=False)
    with pytest.raises(BufferError, match=r"writable memory was required"):
        taker(source, flags=256)
    copied = taker(source, flags=256 | 2048)
    assert copied.exclusive and not copied.readonly


def test_an_array_of_dates_is_not_given_for_writing_either(taker):
    source = np.zeros(3, "M8[s]")
    assert not taker(source, flags=256).readonly
    source.setflags(write=False)
    with pytest.raises(BufferError, match=r"writable memory was required"):
        taker(source, flags=256)


def test_an_array_of_dates_tells_what_every_door_said_if_none_opens(taker):
    class Closed(np.ndarray):
        __array_interface__ = property(lambda self: 5)

    with pytest.raises(BufferError) as raised:
        taker(np.zeros(3, "M8[s]").view(Closed))
    said = str(raised.value)
    assert "buffer protocol -> it refused: ValueError" in said
    assert "DLPack -> it refused: BufferError" in said
    assert "array interface -> its __array_interface__ is int, not a dict" in said


ml_dtypes = pytest.importorskip("ml_dtypes")
ADDED = {
    "bfloat16": 4, "float8_e3m4": 7, "float8_e4m3": 8, "float8_e4m3b11fnuz": 9, "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11, "float8_e5m2": 12, "float8_e5m2fnuz": 13, "float8_e8m0fnu": 14,
}  # fmt: skip


@pytest.mark.parametrize("name", ADDED)
def test_types_of_ml_dtypes_are_told_by_name(taker, name):
    source = np.ones((2, 3), getattr(ml_dtypes, name))
    taken = taker(source)
    assert (taken.code, taken.bits, taken.itemsize) == (ADDED[name], 8 * source.itemsize, source.itemsize)
    assert taken.tobytes() == source.tobytes()


def test_a_bfloat_of_ml_dtypes_is_as_lend_says(taker, same):
    source = np.ones((2, 3), ml_dtypes.bfloat16)
    same(taker(source), lend.view(source))


SMALL = {
    "int4": (0, 4), "uint4": (1, 4), "int2": (0, 2), "uint2": (1, 2), "float4_e2m1fn": (17, 4),
    "float6_e2m3fn": (15, 6), "float6_e3m2fn": (16, 6),
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_types_of_less_than_a_byte_stand_one_to_a_byte(taker, name):
    source = np.ones(3, getattr(ml_dtypes, name))
    taken = taker(source)
    assert (taken.code, taken.bits, taken.itemsize) == (*SMALL[name], 1)
    assert taken.tobytes() == source.tobytes()


def test_a_type_of_ml_dtypes_that_c_has_no_word_for_is_refused(taker):
    with pytest.raises(BufferError, match="int1"):
        taker(np.zeros(3, ml_dtypes.int1))
