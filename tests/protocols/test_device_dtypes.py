"""Records, text and what else is no plain number in the interfaces of devices: said with all its fields, or refused."""

import pytest

import lend
from lend.errors import MalformedDescriptor, UnsupportedType
from support.device_producers import ADDRESS, CUDA, SYCL, CudaInterface, SyclInterface

POINT = [("x", "<i4"), ("", "|V4"), ("at", "<f8", (2,))]


@pytest.mark.parametrize("typestr", ["|S7", "<U7", "|V7"])
def test_fixed_bytes_and_text_keep_their_typestr(typestr):
    assert getattr(lend.view(CudaInterface(typestr=typestr)), CUDA)["typestr"] == typestr


def test_a_record_keeps_its_fields_and_their_padding():
    view = lend.view(CudaInterface(typestr="|V24", descr=POINT))
    assert view.dtype == lend.DType({"names": ["x", "at"], "formats": ["i4", ("f8", (2,))], "offsets": [0, 8]})
    said = getattr(view, CUDA)
    assert (said["typestr"], said["descr"]) == ("|V24", POINT)


def test_a_field_of_a_record_is_a_view_of_its_own():
    view = lend.view(CudaInterface(typestr="|V24", descr=POINT))["at"]
    assert (view.ptr, view.shape, view.strides) == (ADDRESS + 8, (2, 3, 2), (72, 24, 8))
    assert "descr" not in getattr(view, CUDA)


def test_the_low_part_of_device_memory_is_found_without_touching_it():
    view = lend.view(CudaInterface(typestr="<u8")).low("uint8")
    assert (view.ptr, view.strides) == (ADDRESS, (24, 8))


def test_a_record_with_fields_of_the_other_order_is_refused():
    with pytest.raises(MalformedDescriptor, match="typestr.*little-endian"):
        lend.view(CudaInterface(typestr="|V4", descr=[("x", ">i4")]))


def test_a_descr_of_another_size_is_refused():
    with pytest.raises(MalformedDescriptor, match="descr"):
        lend.view(CudaInterface(typestr="|V25", descr=POINT))


def test_a_record_that_no_descr_says_hides_the_attribute():
    overlapping = lend.DType({"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": [0, 2]})
    view = lend.View.from_pointer(ADDRESS, (2,), overlapping, owner=POINT, device="cuda:0")
    with pytest.raises(AttributeError, match="no word for record"):
        getattr(view, CUDA)


OBJECTS = {"objects": {"typestr": "|O"}, "a field": {"typestr": "|V8", "descr": [("x", "|O")]}}


@pytest.mark.parametrize("take", [lend.view, lend.buffer], ids=["view", "buffer"])
@pytest.mark.parametrize("facts", OBJECTS.values(), ids=OBJECTS)
def test_pointers_to_python_objects_are_refused_on_a_device(take, facts):
    with pytest.raises(UnsupportedType, match=r"CUDA array interface of .* Python objects"):
        take(CudaInterface(**facts))


@pytest.mark.parametrize("typestr", ["|V4", "|S4", "<U1", "<M8[s]"])
def test_sycl_computes_with_numbers_alone(typestr):
    with pytest.raises(MalformedDescriptor, match="typestr"):
        lend.view(SyclInterface(typestr=typestr))


def test_a_record_on_a_device_of_sycl_hides_its_attribute():
    view = lend.View.from_pointer(ADDRESS, (2,), [("x", "i4")], owner=POINT, device="oneapi:0")
    with pytest.raises(AttributeError, match=SYCL):
        getattr(view, SYCL)
