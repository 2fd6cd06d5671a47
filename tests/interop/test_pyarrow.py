"""pyarrow: what comes from it and what it gets (RO-8, RO-12, DTYPE-8, DTYPE-16)."""

import pytest

import lend
from lend.errors import CopyRequired, LendError, UnsupportedLayout, UnsupportedType
from support.names import plain_str

pa = pytest.importorskip("pyarrow")

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]


def memory(dtype, n=4):
    """A View of n zeros, writable."""
    size = lend.DType(dtype).itemsize
    return lend.view(bytearray(n * size)).reinterpret(dtype)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("copy", [None, False])
def test_one_dimension_of_numbers_becomes_an_array_over_the_same_memory(name, copy):
    view = memory(name)
    made = lend.to(view, "pyarrow", copy=copy)
    assert isinstance(made, pa.Array)
    assert (made.type, made.buffers()[1].address) == (getattr(pa, name)(), view.ptr)
    assert made.to_pylist() == [0, 0, 0, 0]


def test_half_floats_are_half_floats():
    assert lend.to(memory("float16"), "pyarrow").type == pa.float16()


def test_more_dimensions_become_a_tensor():
    view = memory("int32", 6).reshape(2, 3)
    made = lend.to(view, "pyarrow", copy=False)
    assert (type(made), made.shape, made.strides) == (pa.Tensor, (2, 3), (12, 4))
    assert lend.view(made).ptr == view.ptr


def test_no_dimension_becomes_a_tensor():
    assert lend.to(memory("int32", 1).reshape(()), "pyarrow").shape == ()


@pytest.mark.parametrize(("target", "kind"), [(pa.Tensor, pa.Tensor), (pa.Array, pa.Array), (pa.Buffer, pa.Buffer)])
def test_a_class_says_which_kind_is_wanted(target, kind):
    view = memory("int32")
    made = lend.to(view, target, copy=False)
    assert isinstance(made, kind)


def test_an_array_has_one_dimension():
    with pytest.raises(UnsupportedLayout, match=r"(?s)Array has one dimension, and this has 2.*pyarrow\.Tensor"):
        lend.to(memory("int32").reshape(2, 2), pa.Array)


@pytest.mark.parametrize("lender", [b"1234", bytearray(b"1234")])
def test_a_buffer_becomes_a_buffer_that_is_mutable_if_it_was(lender):
    buffer = lend.buffer(lender)
    made = lend.to(buffer, "pyarrow")
    assert (type(made), made.is_mutable, made.address) == (pa.Buffer, isinstance(lender, bytearray), buffer.ptr)
    assert made.to_pybytes() == b"1234"


def test_read_only_memory_stays_read_only():
    view = lend.view(bytes(16)).reinterpret("int32")
    assert not lend.to(view, "pyarrow").buffers()[1].is_mutable
    assert not lend.to(view.reshape(2, 2), "pyarrow").is_mutable


def test_the_array_holds_the_lease():
    lender = bytearray(16)
    made = lend.to(lender, "pyarrow")
    with pytest.raises(BufferError):
        lender.append(1)
    del made
    lender.append(1)


def test_writable_memory_is_aliased_and_the_plan_says_so():
    assert "aliased: later writes to the source are visible there" in lend.explain(bytearray(4), "pyarrow").notes
    assert not any("aliased" in note for note in lend.explain(b"1234", "pyarrow").notes)


def test_strided_memory_is_copied():
    view = memory("int32")[::2]
    assert "row-major memory without gaps" in lend.explain(view, "pyarrow").copies[0].why
    assert lend.to(view, "pyarrow").to_pylist() == [0, 0]
    with pytest.raises(CopyRequired, match=r"\(contiguous\)"):
        lend.to(view, "pyarrow", copy=False)


@pytest.mark.parametrize("copy", [None, True])
@pytest.mark.parametrize("values", [[0, 1, 2, 255, 0, 1, 1, 0, 7], [1], []])
def test_bools_are_packed_by_pyarrow_and_what_is_not_zero_is_true(values, copy):
    view = lend.view(bytearray(values)).reinterpret("bool")
    plan = lend.explain(view, "pyarrow", copy=copy)
    made = lend.to(view, "pyarrow", copy=copy)
    assert (made.type, made.to_pylist()) == (pa.bool_(), [bool(value) for value in values])
    if values:
        assert [(step.who, step.nbytes) for step in plan.copies] == [("target", (len(values) + 7) // 8)]


def test_bools_cannot_be_shared():
    with pytest.raises(CopyRequired, match=r"\(bit-packed\)"):
        lend.to(lend.view(bytearray(3)).reinterpret("bool"), "pyarrow", copy=False)


def test_opaque_bytes_become_binary_of_that_width():
    view = lend.view(bytearray(b"abcdef")).reinterpret("opaque[3]")
    assert lend.to(view, "pyarrow", copy=False).to_pylist() == [b"abc", b"def"]


@pytest.mark.parametrize("dtype", ["datetime64[ns]", "timedelta64[s]"])
@pytest.mark.parametrize("copy", [None, True])
def test_datetimes_go_as_columns_because_nat_is_a_null_in_arrow(dtype, copy):
    array = lend.to(memory(dtype), "numpy").copy()
    array[0] = "NaT"
    assert lend.to(lend.view(array), "pyarrow", copy=copy).null_count == 1


@pytest.mark.parametrize("dtype", ["complex64", "bfloat16", "longdouble", "float32x2"])
def test_a_dtype_that_arrow_lacks_is_refused_by_name(dtype):
    with pytest.raises(UnsupportedType, match=rf"pyarrow\.Array has no {dtype}"):
        lend.to(memory(dtype), "pyarrow")
    with pytest.raises(UnsupportedType, match=rf"pyarrow\.Tensor has no {dtype}"):
        lend.to(memory(dtype).reshape(2, 2), "pyarrow")


def test_an_empty_view_becomes_an_empty_array():
    made = lend.to(memory("float64", 0), "pyarrow", copy=False)
    assert (len(made), made.type) == (0, pa.float64())


@pytest.mark.parametrize("offset", [0, 3])
def test_an_array_comes_back_where_it_lies(offset):
    source = pa.array([1, 2, 3, 4, 5])[offset:]
    made = lend.to(source, "pyarrow", copy=False)
    first = source.buffers()[1].address + 8 * offset
    assert (made.to_pylist(), made.buffers()[1].address + 8 * made.offset) == (source.to_pylist(), first)


@pytest.mark.parametrize("source", [pa.array([1, None]), pa.array(["a"])], ids=plain_str)
def test_what_a_view_cannot_carry_is_refused(source):
    with pytest.raises(LendError):
        lend.to(source, "memoryview")


@pytest.mark.parametrize("take", [lend.view, lend.buffer, lambda x: lend.to(x, "numpy", copy=False)], ids=plain_str)
def test_dtype_16_bools_of_arrow_are_refused_as_bit_packed(take):
    with pytest.raises(LendError, match=r"(?si)bit-packed.*one byte of each"):
        take(pa.array([True, False, True]))


@pytest.mark.parametrize(
    "source", [pa.array([1, None]), pa.array([True, None]), pa.nulls(3)], ids=["ints", "bools", "null"]
)
@pytest.mark.parametrize("copy", [None, True, False])
def test_dtype_16_nulls_are_refused_whatever_copy_is(source, copy):
    with pytest.raises(LendError, match="null"):
        lend.to(source, "numpy", copy=copy)


def test_a_buffer_of_pyarrow_is_taken():
    source = pa.py_buffer(b"1234")
    assert lend.to(source, "pyarrow", copy=False).buffers()[1].address == source.address


NARROW = {
    "Int8Array": "int8",
    "UInt64Array": "uint64",
    "HalfFloatArray": "float16",
    "FloatArray": "float32",
    "DoubleArray": "float64",
    "BooleanArray": "bool",
    "FixedSizeBinaryArray": "opaque[7]",
}


@pytest.mark.parametrize("name", NARROW)
def test_the_class_of_one_dtype_is_made_of_memory_of_that_dtype(name):
    cls = getattr(pa, name)
    made = lend.to(memory(NARROW[name]), cls)
    assert type(made) is cls
    assert lend.explain(memory(NARROW[name]), cls).target == f"pyarrow.{name}"


@pytest.mark.parametrize("function", [lend.to, lend.explain], ids=["to", "explain"])
def test_the_class_of_another_dtype_is_refused_with_a_remedy_that_works(function):
    x = memory("int16")
    with pytest.raises(UnsupportedType, match="a pyarrow.FloatArray holds float32, and this is int16") as refused:
        function(x, pa.FloatArray)
    remedy = refused.value.remedy.partition(", which")[0]
    assert type(eval(remedy, {"lend": lend, "pyarrow": pa, "x": x})) is pa.FloatArray


def test_a_class_of_pyarrow_that_this_is_not_made_into_is_refused_naming_what_is_made():
    with pytest.raises(LendError, match="pyarrow makes a pyarrow.Int16Array of this, and no pyarrow.StringArray") as no:
        lend.to(memory("int16"), pa.StringArray)
    assert no.value.remedy.startswith('lend.to(x, "pyarrow"), a pyarrow.Int16Array')


@pytest.mark.parametrize("values", [[5, 6, 5], [0.5, 1.5, 0.5]], ids=["integers", "floats"])
def test_a_dictionary_is_not_decoded_in_silence(values):
    # its __array__(copy=False) writes the values anew, into memory that looks like shared
    dictionary = pa.array(values).dictionary_encode()
    for ask in (lend.view, lambda x: lend.to(x, "numpy"), lambda x: lend.explain(x, "numpy")):
        with pytest.raises(LendError, match="decoded|indices of a dictionary"):
            ask(dictionary)
    assert lend.view(dictionary, copy=True).tolist() == values
    assert lend.to(dictionary, "numpy", storage=True).ctypes.data == dictionary.indices.buffers()[1].address
