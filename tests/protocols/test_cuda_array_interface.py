"""`__cuda_array_interface__`, both ways: what the dict says is shown as it is, and nothing of the memory is read."""

import gc
import struct
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lend
from lend.errors import LeaseLost, LendError, MalformedDescriptor, NotHostAccessible, ReadOnlyMemory, UnsupportedType
from support import counting
from support.counting import CountingDLPack
from support.device_producers import ADDRESS, CUDA, LIKE, CudaInterface, TorchLike, announcing
from support.names import plain_repr, plain_str
from support.producers import ABSENT, Only

# -- taken -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LIKE.values(), ids=LIKE)
def test_the_dict_is_shown_as_it_is(kind):
    lender = kind()
    view = lend.view(lender)
    assert (view.ptr, view.shape) == (ADDRESS, lender.facts["shape"])
    assert view.dtype == lend.DType(lender.facts["typestr"])
    assert (view.readonly, view.c_contiguous, view.device.name) == (False, True, "cuda")


@pytest.mark.parametrize("take", [lend.view, lend.buffer], ids=["view", "buffer"])
@pytest.mark.parametrize("kind", LIKE.values(), ids=LIKE)
def test_the_attribute_is_read_once(take, kind):
    lender = kind()
    for count in (1, 2):  # a type that is met, and one that is known
        take(lender)
        assert lender.reads == count


@pytest.mark.parametrize("asked", ["cuda", "cuda:0", (2, 0), lend.Device("cuda:1")], ids=plain_repr)
def test_a_device_that_was_asked_for_is_quoted_as_it_was(asked):
    with pytest.raises(UnsupportedType) as caught:
        lend.view(CudaInterface(), device=asked)
    assert str(caught.value).startswith(f"device={asked!r} needs the number of the device")


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_every_version_up_to_3_is_taken(version):
    assert lend.view(CudaInterface(version=version)).shape == (2, 3)


@pytest.mark.parametrize("version", [4, 99, -1, "3", 3.0, True, 2**70], ids=plain_repr)
def test_a_version_that_means_nothing_yet_is_refused(version):
    with pytest.raises(MalformedDescriptor, match="version"):
        lend.view(CudaInterface(version=version))


@pytest.mark.parametrize("strides", [(12, 4), (4, 8), (-12, 4), (5, -1), (0, 4), (6, 6)], ids=plain_str)
def test_strides_of_any_number_of_bytes_are_kept(strides):
    assert lend.view(CudaInterface(strides=strides)).strides == strides


def test_read_only_memory_stays_so():
    lender = CudaInterface(data=(ADDRESS, True))
    assert lend.view(lender).readonly
    with pytest.raises(ReadOnlyMemory):
        lend.view(lender, writable=True)


@pytest.mark.parametrize("pointer", [0, ADDRESS, 2**64 - 1], ids=hex)
def test_the_pointer_of_an_empty_array_means_nothing(pointer):
    view = lend.view(CudaInterface(shape=(0, 3), data=(pointer, False)))
    assert (view.ptr, view.size, view.__cuda_array_interface__["data"]) == (0, 0, (0, False))


@pytest.mark.parametrize("typestr", [">f4", ">i2", ">u8", ">c8", ">M8[s]"])
def test_big_endian_numbers_are_refused(typestr):
    with pytest.raises(MalformedDescriptor, match="typestr.*little-endian"):
        lend.view(CudaInterface(typestr=typestr))


def test_a_mask_is_refused_and_can_be_taken_by_itself():
    x = CudaInterface(mask=CudaInterface(typestr="|b1"))
    with pytest.raises(UnsupportedType, match=r"(?s)has a mask.*__\[\"mask\"\]\).*from_pointer"):
        lend.view(x)
    data = lend.View.from_pointer(ADDRESS, (2, 3), "float32", owner=x, device="cuda:0")
    assert (data.shape, lend.view(x.__cuda_array_interface__["mask"]).dtype) == ((2, 3), lend.DType("bool"))


def test_a_mask_of_none_is_none():
    assert lend.view(CudaInterface(mask=None)).shape == (2, 3)


# -- streams ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [None, 1, 2, 0x5555_0000_1230, 2**64 - 1], ids=plain_repr)
def test_the_stream_is_kept_by_the_owner(stream):
    view = lend.view(CudaInterface(stream=stream))
    assert view[1:].owner.stream == stream
    assert view.__cuda_array_interface__["stream"] == stream


@pytest.mark.parametrize(
    "changed",
    [{"stream": ABSENT}, *({"version": v, "stream": s} for v in (0, 1, 2) for s in (ABSENT, None, 7, 0))],
    ids=plain_str,
)
def test_a_stream_that_is_not_told_is_unknown_and_not_nothing(changed):
    view = lend.view(CudaInterface(**changed))
    assert view.owner.stream == "unknown"
    assert "stream" not in view.__cuda_array_interface__


def test_a_version_that_is_absent_tells_no_stream():
    assert lend.view(CudaInterface(version=ABSENT, stream=7)).owner.stream == "unknown"


def test_a_stream_that_fails_to_compare_is_refused_as_others_are():
    class Odd:
        def __eq__(self, other):
            raise RuntimeError("compared")

    with pytest.raises(LendError, match="it is no handle of a stream"):
        lend.view(CudaInterface(stream=Odd()))


@pytest.mark.parametrize("stream", [0, -1, 2**64, True, "1", "unknown", 1.0, object()], ids=plain_repr)
def test_a_stream_that_is_none_is_an_error_of_value(stream):
    with pytest.raises(LendError, match="stream") as caught:
        lend.view(CudaInterface(stream=stream))
    assert isinstance(caught.value, ValueError)


# -- the device ------------------------------------------------------------------------------------------------------


def test_the_number_of_the_device_is_unknown_and_said_to_be():
    view = lend.view(CudaInterface())
    assert (str(view.device), tuple(view.device)) == ("cuda:?", (2, -1))
    assert view.device == lend.Device("cuda:?") != lend.Device("cuda:0")
    assert "cuda:?" in repr(view)


def test_the_number_that_the_object_announces_is_taken():
    view = lend.view(announcing(CudaInterface, (2, 3))())
    assert str(view.device) == "cuda:3"
    assert counting.consume(view.__dlpack__(max_version=(1, 0))).fields["device"] == (2, 3)


@pytest.mark.parametrize("device", [(3, 0), (13, 0)])
def test_pinned_and_managed_memory_is_not_read_by_the_host_before_it_waited(device):
    view = lend.view(announcing(CudaInterface, device)())
    assert str(view.device) == "cuda:?"
    with pytest.raises(NotHostAccessible):
        view.tolist()


@pytest.mark.parametrize("device", [(1, 0), (14, 0), (8, 0)])
def test_another_device_than_cuda_is_a_contradiction(device):
    with pytest.raises(MalformedDescriptor, match="contradicts itself"):
        lend.view(announcing(CudaInterface, device)())


@pytest.mark.parametrize(
    "answer", [None, 2, (2,), (2, 0, 0), ("cuda", 0), (0, 0), (256, 0), (2, -2), (2, 2**31)], ids=plain_repr
)
def test_an_announcement_that_is_none_is_refused(answer):
    with pytest.raises(LendError, match="__dlpack_device__"):
        lend.view(announcing(CudaInterface, answer)())


UNKNOWN = {
    "a capsule": lambda view: view.__dlpack__(max_version=(1, 0)),
    "an unversioned capsule": lambda view: view.__dlpack__(),
    "a capsule for a device": lambda view: view.__dlpack__(dl_device=(2, 0), max_version=(1, 0)),
    "a capsule of bytes": lambda view: view.buffer.__dlpack__(max_version=(1, 0)),
    "an exchange": counting.exchange_take,
    "its pair": lambda view: view.__dlpack_device__(),
    "a required number": lambda view: lend.view(view, device="cuda:0"),
    "a target on a device": lambda view: lend.to(view, id, device="cuda:0"),
    "a plan for it": lambda view: lend.explain(view, id, device="cuda:0"),
}


@pytest.mark.parametrize("use", UNKNOWN.values(), ids=UNKNOWN)
def test_what_needs_the_number_is_refused_and_not_guessed(use):
    view = lend.view(CudaInterface())
    with pytest.raises(UnsupportedType, match=r"number of the device(?s:.*)cuda:\?"):
        use(view)
    assert view.owner.exports == 0


def test_any_number_of_a_kind_may_be_required():
    for kind in (CudaInterface, announcing(CudaInterface, (2, 1))):
        assert lend.view(kind(), device="cuda:?").device.name == "cuda"
        assert lend.to(kind(), lambda view: view.device.name, device="cuda:?") == "cuda"


HOST = {
    "numpy": lambda view: lend.to(view, "numpy"),
    "memoryview": memoryview,
    "item": lambda view: view[0, 0].item(),
    "tolist": lambda view: view.tolist(),
    "tobytes": lambda view: view.tobytes(),
    "bytes": lambda view: bytes(view.buffer),
    "copy": lambda view: view.copy(),
    "copy=True": lambda view: lend.view(view, copy=True),
    "a copied capsule": lambda view: view.__dlpack__(copy=True),
    "to the cpu": lambda view: lend.to(view, "memoryview", device="cpu"),
}


@pytest.mark.parametrize("read", HOST.values(), ids=HOST)
def test_the_host_never_touches_the_memory(read):
    if read is HOST["numpy"]:
        pytest.importorskip("numpy")
    with pytest.raises(NotHostAccessible):
        read(lend.view(CudaInterface()))


@pytest.mark.parametrize("name", ["__array_interface__", "__array_struct__"])
def test_the_interfaces_of_the_host_are_hidden(name):
    assert not hasattr(lend.view(CudaInterface()), name)


# -- given -----------------------------------------------------------------------------------------------------------


def tensor(device=(2, 1), **facts):
    return lend.view(CountingDLPack(64, (2, 3), dtype=(2, 32, 1), device=device, data=ADDRESS, **facts))


@pytest.mark.parametrize("device", [(2, 1), (3, 0), (13, 0)])
def test_cuda_memory_that_came_by_dlpack_is_given(device):
    assert tensor(device).__cuda_array_interface__ == {
        "shape": (2, 3),
        "typestr": "<f4",
        "data": (ADDRESS, False),
        "strides": None,
        "version": 2,  # there is no driver, so nobody knows of what is pending
    }


@pytest.mark.parametrize("device", [(4, 0), (8, 0), (10, 0), (14, 0), (99, 0)])
def test_other_devices_hide_the_attribute(device):
    with pytest.raises(AttributeError, match="CUDA memory"):
        tensor(device).__cuda_array_interface__


def test_host_memory_hides_the_attribute():
    for lent in (lend.view(b"1234"), lend.buffer(b"1234")):
        assert not hasattr(lent, CUDA)


def test_a_dtype_without_a_typestr_hides_the_attribute():
    view = lend.view(CountingDLPack(64, (2,), dtype=(4, 16, 1), device=(2, 0), data=ADDRESS))
    with pytest.raises(AttributeError, match="bfloat16"):
        view.__cuda_array_interface__


def test_strides_are_told_where_they_are_not_row_major():
    view = lend.view(CudaInterface())
    assert view.T.__cuda_array_interface__["strides"] == (4, 12)
    assert view[::-1].__cuda_array_interface__ == CudaInterface().facts | {
        "strides": (-12, 4),
        "data": (ADDRESS + 12, False),
    }


def test_each_reading_gives_a_dict_of_its_own():
    view = lend.view(CudaInterface())
    view.__cuda_array_interface__.clear()
    assert view.__cuda_array_interface__["shape"] == (2, 3)


def test_a_buffer_gives_its_bytes():
    told = lend.buffer(CudaInterface(strides=(12, 4), stream=5)).__cuda_array_interface__
    assert told == {
        "shape": (24,),
        "typestr": "|u1",
        "data": (ADDRESS, False),
        "strides": None,
        "version": 3,
        "stream": 5,
    }


def test_a_producer_of_ours_gives_it_too():
    class Ours(lend.Producer):
        def lend(self):
            return lend.view(CudaInterface(stream=2))

    assert Ours().__cuda_array_interface__ == CudaInterface(stream=2).facts


# what __cuda_array_interface__ may say, well-formed
shapes = st.lists(st.integers(0, 5), max_size=4).map(tuple)


@st.composite
def dicts(draw):
    shape = draw(shapes)
    size = draw(st.sampled_from([1, 2, 4, 8]))
    kind = draw(st.sampled_from("iu"))
    steps = st.integers(-64, 64).filter(bool)
    facts = {
        "shape": shape,
        "typestr": f"{'|' if size == 1 else '<'}{kind}{size}",
        "data": (draw(st.integers(2**20, 2**46)), draw(st.booleans())),
        "strides": draw(st.none() | st.tuples(*[steps] * len(shape))),
        "version": 3,
    }
    stream = draw(st.just(ABSENT) | st.none() | st.integers(1, 2**64 - 1))
    return facts if stream is ABSENT else facts | {"stream": stream}


@given(dicts())
def test_what_is_taken_is_given_again(facts):
    told = lend.view(CudaInterface(**{"stream": ABSENT} | facts)).__cuda_array_interface__
    facts = facts if "stream" in facts else facts | {"version": 2}
    if 0 in facts["shape"]:
        assert told == facts | {"data": (0, facts["data"][1]), "strides": None}
    elif told["strides"] is None or facts["strides"] is None:
        assert told | {"strides": None} == facts | {"strides": None}
        assert lend.view(CudaInterface(**facts)).c_contiguous
    else:
        # the stride of an extent of 1 decides nothing
        assert told | {"strides": None} == facts | {"strides": None}
        pairs = zip(facts["shape"], facts["strides"], told["strides"], strict=True)
        assert all(said == given for extent, said, given in pairs if extent > 1)


@given(dicts())
def test_a_second_loan_says_the_same(facts):
    first = lend.view(CudaInterface(**{"stream": ABSENT} | facts))
    again = lend.view(Only(first, CUDA))
    assert again.__cuda_array_interface__ == first.__cuda_array_interface__
    assert again.owner.stream == first.owner.stream


# -- life ------------------------------------------------------------------------------------------------------------


def test_the_owner_keeps_the_object_and_lets_it_go():
    lender = CudaInterface()
    gone, part = weakref.ref(lender), lend.view(lender)[1:]
    del lender
    assert part.owner.producer is gone()
    del part
    assert gone() is None


def test_a_cycle_through_a_view_is_collected():
    lender = CudaInterface()
    lender.view = lend.view(lender)
    gone = weakref.ref(lender)
    del lender
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "changed", [{"mask": 1}, {"stream": 0}, {"typestr": ">f4"}, {"data": 5}, {"version": 9}], ids=plain_str
)
def test_a_refusal_holds_nothing(changed):
    lender = CudaInterface(**changed)
    gone = weakref.ref(lender)
    with pytest.raises(LendError):
        lend.view(lender)
    del lender
    assert gone() is None


@pytest.mark.parametrize("take", [lend.view, lend.buffer], ids=["view", "buffer"])
def test_a_release_after_the_address_was_told_keeps_the_object(take):
    lender = CudaInterface()
    gone, lent = weakref.ref(lender), take(lender)
    assert lent.__cuda_array_interface__["data"][0] == ADDRESS
    lent.release()
    del lender
    with pytest.raises(LeaseLost):
        lent.__cuda_array_interface__
    assert gone() is not None
    del lent
    assert gone() is None


def test_a_refused_reading_tells_no_address():
    class Tracked(bytearray):
        pass

    lender = Tracked(struct.pack("f", 1.0))
    gone, lent = weakref.ref(lender), lend.view(lender)
    assert not hasattr(lent, CUDA)
    lent.release()
    del lender
    assert gone() is None


def test_loans_tell_it():
    lender = TorchLike(shape=(1000,))
    view = lend.view(lender)
    [loan] = [loan for loan in lend.loans() if loan.producer is lender]
    assert (loan.kind, loan.nbytes, loan.device) == ("device", 4000, view.device)
