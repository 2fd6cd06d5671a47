"""What a caller requires of a View, and what is said when it is not met: the remedy works, wrong words are told."""

import array

import pytest

import lend
from lend.errors import LendError, UnsupportedLayout, UnsupportedType

np = pytest.importorskip("numpy")


@pytest.mark.parametrize("keyword", ["ndim", "align"])
def test_what_is_no_integer_is_told(keyword):
    with pytest.raises(TypeError, match=f"{keyword} is an integer or None, not '2'"):
        lend.view(b"1234", **{keyword: "2"})


@pytest.mark.parametrize("ndim", [2, 3])
def test_more_dimensions_are_made_as_told(ndim):
    x = array.array("d", [1.0, 2.0])
    with pytest.raises(UnsupportedLayout, match=f"a View of {ndim} dimensions was required; this memory has 1") as told:
        lend.view(x, ndim=ndim)
    assert eval(told.value.remedy, {"lend": lend, "x": x}).ndim == ndim


def test_another_dtype_is_converted_or_read_as_told():
    x = array.array("f", [1.0, 2.0])
    with pytest.raises(UnsupportedType, match="lend does not convert values") as told:
        lend.view(x, dtype="int32")
    assert 'lend.to(x, "numpy").astype("int32")' in told.value.remedy
    assert lend.to(x, "numpy").astype("int32").tolist() == [1, 2]
    assert 'lend.view(x).reinterpret("int32")' in told.value.remedy
    assert lend.view(x).reinterpret("int32").tolist() == [0x3F800000, 0x40000000]


def test_a_dtype_of_another_size_is_not_told_to_be_reinterpreted():
    with pytest.raises(UnsupportedType) as told:
        lend.view(array.array("f", [1.0]), dtype="float64")
    assert "reinterpret" not in told.value.remedy


@pytest.mark.parametrize("held", ["<i4", ">i4", "<f8", ">f8", "<c8", ">c8", "<M8[s]", ">M8[s]"])
@pytest.mark.parametrize("wanted", ["<", ">"])
def test_a_copy_in_a_byte_order_has_the_same_values_and_that_order(held, wanted):
    source = lend.view(bytes(range(32))).reinterpret(held)
    made = lend.view(source, dtype=wanted + held[1:], copy=True)
    assert (made.dtype, made.tolist()) == (lend.DType(wanted + held[1:]), source.tolist())


REMEDIES = {
    "bytes as numbers": (bytes(16), {"dtype": "float64"}, 'lend.view(x).reinterpret("float64")'),
    "fewer dimensions": (memoryview(bytes(6)).cast("B", (2, 3)), {"ndim": 1}, "lend.view(x).reshape(-1)"),
    "one dimension fewer": (memoryview(bytes(12)).cast("B", (2, 3, 2)), {"ndim": 2}, "lend.view(x).reshape(-1, 2)"),
}


@pytest.mark.parametrize(("x", "asked", "remedy"), REMEDIES.values(), ids=REMEDIES)
def test_the_remedy_of_a_requirement_meets_it(x, asked, remedy):
    with pytest.raises(LendError) as refused:
        lend.view(x, **asked)
    assert refused.value.remedy.startswith(remedy)
    met = eval(remedy, {"lend": lend, "x": x})
    lend.view(met, **asked)


def test_objects_are_offered_no_reinterpretation():
    np = pytest.importorskip("numpy")
    with pytest.raises(LendError) as refused:
        lend.view(np.array([1.0], object), dtype="float64")
    assert "reinterpret" not in refused.value.remedy


def test_a_record_is_offered_its_fields():
    np = pytest.importorskip("numpy")
    with pytest.raises(LendError) as refused:
        lend.view(np.zeros(2, "i4,f4"), dtype="int32")
    assert "lend.view(x)[name]" in refused.value.remedy
