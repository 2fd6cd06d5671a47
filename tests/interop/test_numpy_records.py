"""Structured arrays, fixed bytes, text and objects of NumPy; the rows DTYPE-* of the cases by their names."""

import ctypes

import pytest

import lend
from lend.errors import LendError, UnsupportedType

np = pytest.importorskip("numpy")

DTYPES = {
    "packed": [("a", "i4"), ("b", "f8")],
    "aligned": np.dtype([("a", "i1"), ("b", "f8"), ("c", "i2")], align=True),
    "titles": [(("T", "a"), ">i4"), ("b", [("x", "<u2", (2, 3)), ("y", "S3")])],
    "padded": {"names": ["a"], "formats": ["i4"], "offsets": [0], "itemsize": 8},
    "out of order": {"names": ["b", "a"], "formats": ["i4", "i4"], "offsets": [4, 0]},
    "overlapping": {"names": ["b", "a"], "formats": ["i4", "i2"], "offsets": [0, 0]},
    "aligned, out of order": np.dtype({"names": ["b", "a"], "formats": ["i4", "i4"], "offsets": [4, 0]}, align=True),
    "dates": [("a", "M8[s]"), ("b", "m8[25ns]")],
    "void": [("a", "V3"), ("b", "?")],
    "wide": [("a", "i1"), ("b", "g"), ("c", "G")],
    "colon": [("a:b", "i4")],
    "objects": [("a", "O"), ("b", "i4")],
    "no fields": {"names": [], "formats": [], "itemsize": 8},
    "big-endian with a gap": {"names": ["a", "b"], "formats": [">i4", ">i8"], "offsets": [0, 8]},
    "big-endian, overlapping": {"names": ["a", "b"], "formats": [">i8", ">i2"], "offsets": [0, 2], "itemsize": 12},
    "bytes": "S3",
    "text": ">U2",
    "object": "O",
}


@pytest.mark.parametrize("name", DTYPES)
def test_a_dtype_comes_back_as_it_was_and_over_the_same_memory(name):
    dtype = np.dtype(DTYPES[name])
    array = np.zeros((4, 6), dtype)[::-1, ::2]
    view = lend.view(array)
    for back in (lend.to(view, "numpy"), lend.to(array, "numpy")):
        assert str(back.dtype) == str(dtype)
        assert (back.dtype, back.dtype.isalignedstruct) == (dtype, dtype.isalignedstruct)
        assert (back.ctypes.data, back.strides) == (array.ctypes.data, array.strides)
    assert view.dtype.__numpy_dtype__ == dtype


@pytest.mark.parametrize("name", ["packed", "aligned", "padded", "out of order", "overlapping", "bytes"])
def test_values_are_those_of_numpy(name):
    dtype = np.dtype(DTYPES[name])
    array = np.frombuffer(np.arange(5 * dtype.itemsize, dtype="u1").tobytes(), dtype)
    assert lend.view(array).tolist() == array.tolist()


def test_a_read_only_array_of_records_stays_so():
    array = np.zeros(3, DTYPES["packed"])
    array.flags.writeable = False
    assert lend.view(array).readonly
    assert not lend.to(array, "numpy").flags.writeable


def test_scalars_of_records_and_text_are_lent():
    assert lend.view(np.array([(1, 2.0)], DTYPES["packed"])[0]).tolist() == (1, 2.0)
    assert lend.view(np.str_("ab")).tolist() == "ab"


@pytest.mark.parametrize("target", ["torch", "jax", "tvm_ffi"])
def test_a_record_is_handed_over_field_by_field(target):
    pytest.importorskip(target)
    array = np.array([(1, 2.0), (3, 4.0)], [("a", "i4"), ("b", "f4")])
    with pytest.raises(UnsupportedType, match=r"has no record(?s:.*)lend\.view\(x\)\['a'\]"):
        lend.to(array, target)
    lend.to(lend.view(array)["b"], target)


def test_fixed_bytes_that_nothing_pads_go_to_arrow_as_they_are():
    pa = pytest.importorskip("pyarrow")
    array = np.array([b"ab", b"cd"])
    made = lend.to(array, "pyarrow")
    assert made.type == pa.binary(2)
    assert made.to_pylist() == [b"ab", b"cd"]
    assert made.buffers()[1].address == array.ctypes.data


def test_a_field_that_numpy_does_not_have_is_refused_with_its_record():
    view = lend.view(bytes(16)).reinterpret([("a", "int128")])
    with pytest.raises(UnsupportedType, match=r"NumPy has no such record: NumPy cannot say int128"):
        lend.to(view, "numpy")


def test_objects_are_exported_by_the_buffer_protocol_and_the_array_interface_only():
    view = lend.view(np.array([[1, "x"], [None, 2.5]], dtype=object).T)
    assert view.tolist() == [[1, None], ["x", 2.5]]
    assert memoryview(view).format == "O"
    assert view.__array_interface__["typestr"] == "|O"
    with pytest.raises(UnsupportedType, match="DLPack"):
        view.__dlpack__(max_version=(1, 0))
    assert not hasattr(view, "__array_struct__")


def test_objects_are_no_tensor():
    pytest.importorskip("torch")
    with pytest.raises(LendError, match="object"):
        lend.to(np.array([1, "x"], dtype=object), "torch")


# -- rows of the cases -------------------------------------------------------------------------------------------------


def test_dtype_1_small_floats_share_memory_and_know_their_names():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.ones(3, ml_dtypes.float8_e4m3fn)
    view = lend.view(array)
    assert (view.dtype, view.ptr, view.dtype.dlpack) == (lend.DType("float8_e4m3fn"), array.ctypes.data, (10, 8, 1))
    with pytest.raises(UnsupportedType, match="uint8"):
        memoryview(view)


def test_dtype_1_and_3_small_floats_go_to_torch_and_back():
    torch, ml_dtypes = pytest.importorskip("torch"), pytest.importorskip("ml_dtypes")
    array = np.array([1, 0.5, -2], ml_dtypes.float8_e5m2)
    tensor = lend.to(array, "torch")
    assert (tensor.dtype, tensor.data_ptr()) == (torch.float8_e5m2, array.ctypes.data)
    back = lend.to(tensor, "numpy")
    assert (back.dtype, back.ctypes.data) == (array.dtype, array.ctypes.data)


def test_dtype_2_a_plain_format_must_have_the_size_of_the_item():
    from support.counting import CountingBuffer

    with pytest.raises(UnsupportedType, match=r"format 'B'(?s:.*)itemsize 2"):
        lend.view(CountingBuffer(bytes(4), format="B", itemsize=2, poison=False))


def test_dtype_2_a_format_that_lies_is_left_for_dlpack_which_tells_the_type():
    from support.counting import CountingBuffer, CountingDLPack

    class Both(CountingBuffer):
        def __dlpack__(self, **keywords):
            return CountingDLPack(bytes(4), (2,), dtype=(4, 16, 1)).__dlpack__(**keywords)

        def __dlpack_device__(self):
            return (1, 0)

    view = lend.view(Both(bytes(4), format="B", itemsize=2, poison=False))
    assert (str(view.dtype), view.shape) == ("bfloat16", (2,))


def test_dtype_4_dates_in_records_keep_their_unit():
    array = np.zeros(2, [("when", "M8[25s]")])
    assert lend.view(array)["when"].dtype == lend.DType("datetime64[25s]")


def test_dtype_6_packed_halves_of_bytes_are_said_to_be_packed():
    torch = pytest.importorskip("torch")
    if not hasattr(torch, "float4_e2m1fn_x2"):
        pytest.skip("this torch has no float4")
    tensor = torch.tensor([0x21, 0xF0], dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    view = lend.view(tensor)
    assert (view.dtype.bits, view.dtype.lanes, view.dtype.itemsize, view.dtype.dlpack) == (4, 2, 1, (17, 4, 2))
    assert "packed" in str(view.dtype)
    assert view.tolist() == [(0.5, 1.0), (0.0, -6.0)]
    assert lend.to(view, "torch").data_ptr() == tensor.data_ptr()
    with pytest.raises(UnsupportedType, match="float4_e2m1fn"):
        lend.to(view, "numpy")


def test_dtype_6_small_floats_go_to_jax_and_back():
    jax, ml_dtypes = pytest.importorskip("jax"), pytest.importorskip("ml_dtypes")
    made = lend.to(np.array([1, 2, 3], ml_dtypes.float8_e4m3fn), "jax")
    assert made.dtype == jax.numpy.float8_e4m3fn
    assert lend.view(made).tolist() == [1.0, 2.0, 3.0]


def test_dtype_7_shell_dtypes_are_refused_by_name():
    torch = pytest.importorskip("torch")
    with pytest.raises(UnsupportedType, match=r"torch\.int4"):
        lend.view(torch.zeros(4, dtype=torch.uint8).view(torch.int4))


class Padded(ctypes.Structure):
    _fields_ = (("a", ctypes.c_byte), ("b", ctypes.c_long), ("c", ctypes.c_short * 3))


class Packed(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("a", ctypes.c_byte), ("b", ctypes.c_int32))


class Swapped(ctypes.BigEndianStructure):
    _fields_ = (("a", ctypes.c_byte), ("b", ctypes.c_int32))


class Derived(Padded):
    _fields_ = (("more", Padded), ("tail", ctypes.c_double))


class Bits(ctypes.Structure):
    _fields_ = (("a", ctypes.c_int, 3), ("b", ctypes.c_int, 5), ("c", ctypes.c_longlong))


class Either(ctypes.Union):
    _fields_ = (("a", ctypes.c_int), ("b", ctypes.c_float))


@pytest.mark.parametrize("cls", [Padded, Packed, Swapped, Derived])
@pytest.mark.parametrize("shown", [lambda x: x, memoryview], ids=["object", "memoryview"])
def test_dtype_10_a_ctypes_structure_has_the_offsets_of_ctypes(cls, shown):
    view = lend.view(shown((cls * 2)()))
    assert (view.shape, view.itemsize) == ((2,), ctypes.sizeof(cls))
    for name, field in view.dtype.fields.items():
        assert field.offset == getattr(cls, name).offset


def test_dtype_10_values_of_a_ctypes_structure():
    assert lend.view(Padded(1, -2, (3, 4, 5))).item() == (1, -2, [3, 4, 5])
    assert lend.view(Swapped(1, 0x01020304)).item() == (1, 0x01020304)


@pytest.mark.parametrize("cls", [Bits, Either])
def test_dtype_10_what_a_format_cannot_describe_is_refused(cls):
    with pytest.raises(UnsupportedType, match="format"):
        lend.view(cls())


def test_dtype_13_nothing_leaves_as_opaque_bytes_that_had_a_name():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    record = np.zeros(2, [("a", ml_dtypes.bfloat16), ("b", ml_dtypes.float8_e5m2)])
    view = lend.view(record)
    assert view.dtype == lend.DType([("a", "bfloat16"), ("b", "float8_e5m2")])
    assert lend.to(view, "numpy").dtype == record.dtype


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, MemoryError, RecursionError])
def test_an_interrupt_while_a_record_type_is_read_passes_and_leaves_no_lease(raised):
    class Interrupted(np.ndarray):
        armed = False

        @property
        def dtype(self):
            if self.armed:
                raise raised("mine")
            return super().dtype

    memory = bytearray(24)
    array = np.frombuffer(memory, [("a", "u1"), ("b", "<i4")], count=4).view(Interrupted)
    array.armed = True
    with pytest.raises(raised, match="mine"):
        lend.view(array)
    del array
    memory.append(0)  # refused while anybody still has the memory
