"""`__sycl_usm_array_interface__`, both ways: strides and offset count elements, the context goes with the memory."""

import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lend
from lend.errors import LendError, MalformedDescriptor, NotHostAccessible, UnsupportedType
from support.counting import CountingDLPack
from support.device_producers import ADDRESS, SYCL, SyclInterface, announcing
from support.names import plain_repr
from support.producers import ABSENT, Only


def test_the_dict_is_shown_as_it_is():
    lender = SyclInterface()
    view = lend.view(lender)
    assert (view.ptr, view.shape, view.dtype) == (ADDRESS, (2, 3), lend.DType("float32"))
    assert (str(view.device), view.owner.context, view.owner.stream) == ("oneapi:?", "opencl:gpu:0", "unknown")
    assert lender.reads == 1


def test_strides_and_offset_count_elements():
    view = lend.view(SyclInterface(strides=(-6, 2), offset=8))
    assert (view.strides, view.ptr) == ((-24, 8), ADDRESS + 32)


def test_a_negative_offset_goes_back():
    assert lend.view(SyclInterface(offset=-2)).ptr == ADDRESS - 8


@pytest.mark.parametrize("typestr", ["|b1", "|i1", "<u2", "<i8", "<f2", "<f8", "<c8", "<c16"])
def test_numbers_are_taken(typestr):
    assert lend.view(SyclInterface(typestr=typestr)).dtype == lend.DType(typestr)


@pytest.mark.parametrize("typestr", ["<M8[s]", "<m8", "|V4", ">f4", "|S4", "|O"])
def test_what_is_no_number_of_a_device_is_refused(typestr):
    with pytest.raises(LendError, match="typestr"):
        lend.view(SyclInterface(typestr=typestr))


@pytest.mark.parametrize("version", [0, 2, None, "1", True, ABSENT], ids=plain_repr)
def test_another_version_is_refused(version):
    with pytest.raises(MalformedDescriptor, match="version"):
        lend.view(SyclInterface(version=version))


@pytest.mark.parametrize("offset", [-(2**62), 2**62, 2**70, -(ADDRESS // 4 + 1), "8", 1.0], ids=plain_repr)
def test_an_offset_that_leaves_the_address_space_is_refused(offset):
    with pytest.raises(MalformedDescriptor, match="offset"):
        lend.view(SyclInterface(offset=offset))


def test_strides_that_overflow_as_bytes_are_refused_where_they_decide():
    with pytest.raises(MalformedDescriptor, match="strides"):
        lend.view(SyclInterface(strides=(2**61, 1)))
    assert lend.view(SyclInterface(shape=(1, 3), strides=(2**62, 1))).shape == (1, 3)


def test_the_number_that_the_object_announces_is_taken():
    assert str(lend.view(announcing(SyclInterface, (14, 2))()).device) == "oneapi:2"


def test_another_device_than_oneapi_is_a_contradiction():
    with pytest.raises(MalformedDescriptor, match="contradicts itself"):
        lend.view(announcing(SyclInterface, (2, 0))())


def test_what_needs_the_number_is_refused_and_not_guessed():
    with pytest.raises(UnsupportedType, match=r"oneapi:\?"):
        lend.view(SyclInterface()).__dlpack__(max_version=(1, 0))


def test_the_host_never_touches_the_memory():
    with pytest.raises(NotHostAccessible):
        lend.view(SyclInterface()).tolist()


# -- given -----------------------------------------------------------------------------------------------------------


def test_it_is_given_with_its_context():
    queue = object()
    told = lend.view(SyclInterface(syclobj=queue)).__sycl_usm_array_interface__
    assert told == SyclInterface(syclobj=queue).facts


def test_negative_strides_begin_at_the_lowest_byte():
    told = lend.view(SyclInterface())[::-1].__sycl_usm_array_interface__
    assert (told["data"][0], told["offset"], told["strides"]) == (ADDRESS, 3, (-3, 1))


def test_a_buffer_gives_its_bytes():
    told = lend.buffer(SyclInterface()).__sycl_usm_array_interface__
    assert (told["shape"], told["typestr"], told["syclobj"]) == ((24,), "|u1", "opencl:gpu:0")


@pytest.mark.parametrize("syclobj", [None, ABSENT], ids=plain_repr)
def test_memory_without_a_context_hides_the_attribute(syclobj):
    view = lend.view(SyclInterface(syclobj=syclobj))
    assert view.owner.context is None
    assert not hasattr(view, SYCL)


def test_memory_that_came_by_dlpack_has_no_context():
    view = lend.view(CountingDLPack(64, (4,), dtype=(2, 32, 1), device=(14, 0), data=ADDRESS))
    assert not hasattr(view, SYCL)


def test_a_stride_of_part_of_an_item_hides_the_attribute():
    view = lend.view(SyclInterface(typestr="|u1", shape=(4, 6)))[:, :4].reinterpret("uint32")
    assert (view.strides[0], hasattr(view, SYCL)) == (6, False)


def test_host_memory_hides_the_attribute():
    assert not hasattr(lend.view(b"1234"), SYCL)


def test_a_producer_of_ours_gives_it_too():
    class Ours(lend.Producer):
        def lend(self):
            return lend.view(SyclInterface())

    assert Ours().__sycl_usm_array_interface__ == SyclInterface().facts


@st.composite
def dicts(draw):
    shape = draw(st.lists(st.integers(0, 5), max_size=4).map(tuple))
    steps = st.integers(-64, 64).filter(bool)
    return {
        "shape": shape,
        "typestr": draw(st.sampled_from(["|u1", "<i2", "<f4", "<c16"])),
        "data": (draw(st.integers(2**20, 2**46)), draw(st.booleans())),
        "strides": draw(st.none() | st.tuples(*[steps] * len(shape))),
        "offset": draw(st.integers(0, 1000)),
        "syclobj": "gpu",
        "version": 1,
    }


def elements(facts):
    """Where the dict says that every element lies."""
    size = int(facts["typestr"][2:])
    places, step = [facts["data"][0] + facts["offset"] * size], 1
    steps = []
    for extent in reversed(facts["shape"]):
        steps.insert(0, step)
        step *= extent
    for extent, stride in zip(facts["shape"], facts["strides"] or steps, strict=True):
        places = [place + i * stride * size for place in places for i in range(extent)]
    return places


@given(dicts())
def test_what_is_taken_is_given_again(facts):
    told = lend.view(SyclInterface(**facts)).__sycl_usm_array_interface__
    assert elements(told) == elements(facts)
    assert told["offset"] >= 0
    same = ("shape", "typestr", "syclobj", "version")
    assert [told[key] for key in same] == [facts[key] for key in same]


@given(dicts())
def test_a_second_loan_says_the_same(facts):
    first = lend.view(SyclInterface(**facts))
    again = lend.view(Only(first, SYCL))
    assert again.__sycl_usm_array_interface__ == first.__sycl_usm_array_interface__


def test_the_owner_keeps_object_and_context_and_lets_them_go():
    class Queue:
        pass

    queue = Queue()
    lender = SyclInterface(syclobj=queue)
    gone, view = [weakref.ref(lender), weakref.ref(queue)], lend.view(lender)
    lender.facts = {}
    del lender, queue
    assert None not in [ref() for ref in gone]
    del view
    assert [ref() for ref in gone] == [None, None]
