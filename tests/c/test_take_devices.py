"""Memory of devices: described, ordered, refused, and never looked at. No device is needed, as nothing is read."""

import pytest

import lend
from support.counting import IS_COPIED, CountingBuffer, CountingDLPack, CountingExchange
from support.producers import ArrayInterface, Only

ADDRESS = 0x7F0000001000
CUDA, SYCL = "__cuda_array_interface__", "__sycl_usm_array_interface__"
READONLY, OPAQUE_HANDLE, SYNC_UNKNOWN = 1, 32, 64


def shows(attribute=CUDA, base=object, **facts):
    """An object with a device interface on its type, of two rows of three floats unless said otherwise."""
    newest = 1 if attribute == SYCL else 3
    facts = {"shape": (2, 3), "typestr": "<f4", "data": (ADDRESS, False), "version": newest} | facts
    return type("Shows", (base,), {attribute: property(lambda self: facts)})()


def test_cuda_memory_is_described(taker):
    taken = taker(shows())
    assert (taken.ptr, taken.shape, taken.strides, taken.nbytes) == (ADDRESS, (2, 3), (12, 4), 24)
    assert taken.device == (2, -1)  # the interface does not tell the number
    assert (taken.sync, taken.readonly, taken.c_contiguous) == (0, False, True)


class Index:
    def __index__(self):
        return 1


VERSIONS = [-1, 0, 1, 2, 3, 4, 2**64, None, "3", 3.0, True, Index()]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: str(version)[:10])
@pytest.mark.parametrize("attribute", [CUDA, SYCL])
def test_a_version_is_read_and_refused_as_lend_does(taker, attribute, version):
    source = shows(attribute, version=version)
    try:
        lend.view(source)
    except BufferError:
        with pytest.raises(BufferError, match="its version is"):
            taker(source)
    else:
        assert taker(source).ptr == ADDRESS


def test_an_interface_of_sycl_without_a_version_is_refused(taker):
    source = type("Shows", (), {SYCL: {"shape": (1,), "typestr": "<f4", "data": (ADDRESS, False)}})()
    with pytest.raises(BufferError, match="its version is None"):
        taker(source)


def test_a_version_that_raises_is_told(taker):
    with pytest.raises(BufferError, match=r"(?s)ZeroDivisionError.*-> version"):
        taker(shows(version=type("Raises", (), {"__index__": lambda self: 1 // 0})()))


@pytest.mark.parametrize("version", [0, 1, 2, None])
def test_a_stream_before_version_3_tells_nothing(taker, version):
    taken = taker(shows(version=version, stream=2))
    assert (taken.sync, bool(taken.flags & SYNC_UNKNOWN)) == (0, True)


@pytest.mark.parametrize("stream", [1, 2, 0x5555])
def test_the_stream_of_the_producer_is_told(taker, stream):
    assert taker(shows(stream=stream)).sync == stream


@pytest.mark.parametrize("stream", [0, -1, 2**64, "1", 1.0, True], ids=repr)
def test_a_stream_that_is_none_is_refused(taker, stream):
    with pytest.raises(BufferError, match="stream"):
        taker(shows(stream=stream))


WRONG = {
    "no shape": ({"shape": None}, "shape"),
    "a number of strides": ({"strides": (4,)}, "strides"),
    "a bare pointer": ({"data": ADDRESS}, "data"),
    "a buffer": ({"data": bytearray(24)}, "data"),
    "no data": ({"data": None}, "data"),
    "three parts": ({"data": (ADDRESS, False, 0)}, "data"),
    "pointer 0": ({"data": (0, False)}, "data"),
    "a pointer at the end of all": ({"data": (2**64 - 4, False)}, "bounds"),
    "a mask": ({"mask": shows(typestr="|u1")}, "mask"),
    "big-endian": ({"typestr": ">f4"}, "big-endian"),
    "objects": ({"typestr": "|O"}, "typestr"),
    "bits": ({"typestr": "|t1"}, "typestr"),
    "a negative extent": ({"shape": (-1, 3)}, "shape"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_malformed_cuda_interface_is_refused_naming_the_key(taker, name):
    changes, told = WRONG[name]
    with pytest.raises(BufferError, match=f"(?s){told}.*CUDA array interface.*try  "):
        taker(shows(**changes))


def test_strides_and_writability_are_kept(taker):
    taken = taker(shows(strides=(5, -1), data=(ADDRESS, True)))
    assert (taken.strides, taken.readonly, taken.c_contiguous) == ((5, -1), True, False)


def test_a_broadcast_of_a_device_is_read_only(taker):
    assert taker(shows(strides=(0, 4))).readonly


def test_an_empty_array_of_a_device_has_no_address(taker):
    taken = taker(shows(shape=(0, 3), data=(0, False)))
    assert (taken.ptr, taken.nbytes) == (0, 0)


def test_an_offset_means_nothing_there(taker):
    assert taker(shows(offset=8)).ptr == ADDRESS


def test_an_unknown_number_meets_no_number_and_any(taker):
    with pytest.raises(BufferError, match="device type 2, id 0 was required.*id -1"):
        taker(shows(), device_type=2)
    assert taker(shows(), device_type=2, device_id=-1).device == (2, -1)


def test_a_number_that_is_announced_is_told(taker):
    source = shows()
    type(source).__dlpack_device__ = lambda self: (2, 3)
    assert taker(source, device_type=2, device_id=3).device == (2, 3)


def test_a_number_that_is_not_known_is_not_told_as_the_first(taker):
    source = shows()
    type(source).__dlpack_device__ = lambda self: (2, -1)
    assert taker(source).device == (2, -1)


@pytest.mark.parametrize("number", [-2, 1 << 40, None, "0"])
def test_a_number_that_is_none_is_refused_as_lend_does(taker, number):
    source = shows()
    type(source).__dlpack_device__ = lambda self: (2, number)
    for take in (lend.view, taker):
        with pytest.raises(BufferError, match="__dlpack_device__"):
            take(source)


def test_a_typestr_with_a_zero_byte_is_refused(taker):
    with pytest.raises(BufferError, match="typestr"):
        taker(shows(typestr="<f4\0"))


@pytest.mark.parametrize(("announced", "kind"), [((3, 0), 2), ((13, 0), 2), ((11, 0), 10), ((10, 1), 10)])
def test_what_the_host_could_reach_stays_memory_of_the_device_that_works_on_it(taker, announced, kind):
    source = shows()
    type(source).__dlpack_device__ = lambda self: announced
    assert taker(source).device == (kind, announced[1] if announced[0] == kind else -1)
    for request in ({"device_type": 1}, {"flags": 4096}):  # LEND_COPY
        with pytest.raises(BufferError, match="host"):
            taker(source, **request)


@pytest.mark.parametrize(("attribute", "announced"), [(CUDA, (14, 0)), (CUDA, (4, 0)), (SYCL, (2, 0)), (SYCL, (13, 0))])
def test_an_interface_of_another_device_than_is_announced_is_refused(taker, attribute, announced):
    source = shows(attribute, version=1 if attribute == SYCL else 3)
    type(source).__dlpack_device__ = lambda self: announced
    with pytest.raises(BufferError, match="contradicts"):
        taker(source)


@pytest.mark.parametrize(("attribute", "typestr"), [(CUDA, "<q3"), (SYCL, "<M8[s]")])
@pytest.mark.parametrize("flags", [0, 4096])
def test_the_host_interface_of_what_has_a_device_interface_is_not_read_when_that_is_refused(
    taker, attribute, typestr, flags
):
    source = shows(attribute, typestr=typestr)
    type(source).__array_interface__ = {"shape": (4,), "typestr": "<f4", "data": (ADDRESS, False), "version": 3}
    with pytest.raises(BufferError, match="typestr"):
        taker(source, flags=flags)


@pytest.mark.parametrize("device", [1, 4, 8, 9, 12, 14, 99])
def test_a_device_that_cannot_have_a_cuda_interface_contradicts_it(taker, device):
    source = shows()
    type(source).__dlpack_device__ = lambda self: (device, 0)
    with pytest.raises(BufferError, match=f"announces device type {device}, which contradicts its {CUDA}"):
        taker(source)


@pytest.mark.parametrize("device", [1, 2, 13, 10, 8])
def test_a_device_that_cannot_have_a_sycl_interface_contradicts_it(taker, device):
    source = shows(SYCL, version=1)
    type(source).__dlpack_device__ = lambda self: (device, 0)
    with pytest.raises(BufferError, match=f"announces device type {device}, which contradicts its {SYCL}"):
        taker(source)


def test_an_interface_on_the_instance_is_found(taker):
    assert taker(Only(shows(), CUDA)).device == (2, -1)


def test_sycl_strides_and_offset_count_elements(taker):
    taken = taker(shows(SYCL, strides=(-6, 2), offset=8, version=1, syclobj=None))
    assert (taken.strides, taken.ptr) == ((-24, 8), ADDRESS + 32)
    assert taken.device == (14, -1)


@pytest.mark.parametrize("typestr", ["<M8[s]", "|V4", "|S4", "<U1", "<m8"])
def test_sycl_memory_is_of_numbers(taker, typestr):
    with pytest.raises(BufferError, match="typestr"):
        taker(shows(SYCL, typestr=typestr))


@pytest.mark.parametrize("offset", [-(2**62), 2**62, 2**70, -(ADDRESS // 4 + 1), "8"], ids=repr)
def test_a_sycl_offset_that_leaves_the_address_space_is_refused(taker, offset):
    with pytest.raises(BufferError, match="offset"):
        taker(shows(SYCL, offset=offset))


def test_sycl_strides_that_overflow_are_refused(taker):
    with pytest.raises(BufferError, match="strides"):
        taker(shows(SYCL, strides=(2**62, 1)))
    assert taker(shows(SYCL, shape=(1, 3), strides=(2**62, 1))).shape == (1, 3)


# -- which door ----------------------------------------------------------------------------------------------------


class Device(CountingBuffer):
    """A buffer slot that should not be asked, beside a device interface."""

    announced = (2, 0)

    def __dlpack_device__(self):
        return self.announced

    @property
    def __cuda_array_interface__(self):
        return {"shape": (16,), "typestr": "|u1", "data": (ADDRESS, False), "version": 3}


@pytest.mark.parametrize("attribute", [CUDA, SYCL])
def test_the_buffer_of_what_announces_a_device_is_not_asked(taker, attribute):
    source = Device(16)
    if attribute == SYCL:
        facts = {"shape": (16,), "typestr": "|u1", "data": (ADDRESS, False), "version": 1}
        source = type("Sycl", (CountingBuffer,), {SYCL: facts})(16)
        type(source).__dlpack_device__ = lambda self: (14, 0)
    taken = taker(source)
    assert (taken.ptr, source.gets) == (ADDRESS, 0)


def test_the_buffer_of_what_announces_no_device_is_not_asked_either(taker):
    source = type("Silent", (CountingBuffer,), {CUDA: Device.__cuda_array_interface__})(16)
    assert taker(source).ptr == ADDRESS
    assert source.gets == 0


def test_the_buffer_of_what_announces_the_host_is_asked(taker):
    source = Device(16)
    source.announced = (1, 0)
    assert taker(source).device == (1, 0)
    assert source.gets == 1


def test_a_device_that_cannot_be_told_closes_the_buffer(taker):
    asked = []
    source = type("Raises", (Device,), {"__dlpack_device__": lambda self: asked.append(self) or 1 / 0})(16)
    assert taker(source).ptr == ADDRESS
    assert (source.gets, len(asked)) == (0, 1)


def test_what_was_said_of_a_device_is_told_when_no_door_opens(taker):
    facts = {"__dlpack_device__": lambda self: 1 / 0, CUDA: property(lambda self: 5)}
    with pytest.raises(BufferError, match=r"(?s)ZeroDivisionError.*__cuda_array_interface__ is int"):
        taker(type("Raises", (CountingBuffer,), facts)(16))


def test_dlpack_is_asked_before_a_device_interface(taker):
    kind = type("Both", (CountingDLPack,), {CUDA: property(lambda self: 1 / 0)})
    assert taker(kind(16, (4,), device=(2, 1))).device == (2, 1)


# -- DLPack of devices ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", [2, 3, 9, 10, 11, 12, 13, 14, 16, 17, 18])
@pytest.mark.parametrize("kind", [CountingDLPack, CountingExchange])
def test_memory_with_addresses_is_placed(taker, kind, device):
    taken = taker(kind(16, (2,), device=(device, 1), data=ADDRESS, byte_offset=8))
    assert (taken.data, taken.byte_offset, taken.ptr) == (ADDRESS + 8, 0, ADDRESS + 8)
    assert (taken.device, taken.flags & OPAQUE_HANDLE) == ((device, 1), 0)


@pytest.mark.parametrize("device", [4, 7, 8, 15, 99, 255])
@pytest.mark.parametrize("kind", [CountingDLPack, CountingExchange])
def test_a_handle_is_kept_apart_from_its_offset(taker, kind, device):
    taken = taker(kind(16, (2,), device=(device, 0), data=0x1234, byte_offset=8))
    assert (taken.data, taken.byte_offset, taken.ptr) == (0x1234, 8, 0x1234)
    assert taken.flags & OPAQUE_HANDLE
    assert taken.aligned


def test_a_handle_may_be_0(taker):
    assert taker(CountingDLPack(16, (2,), device=(4, 0), data=0)).data == 0


@pytest.mark.parametrize("data", [0x1000, 0x1234567, 0])
@pytest.mark.parametrize("byte_offset", [0, 2, 4, 64])
def test_what_lies_behind_a_handle_is_aligned_as_lend_says_it_by_its_offset(taker, data, byte_offset):
    producer = CountingDLPack(128, (2,), device=(4, 0), data=data, byte_offset=byte_offset)
    assert taker(producer).aligned is lend.view(producer).aligned is (byte_offset != 2)
    for align in (1, 2, 16):
        if byte_offset % align == 0:
            assert lend.view(producer, align=align).ptr == byte_offset
            assert taker(producer, align=align).byte_offset == byte_offset
            continue
        with pytest.raises(BufferError, match="align"):
            lend.view(producer, align=align)
        with pytest.raises(BufferError, match="align"):
            taker(producer, align=align)


@pytest.mark.parametrize("device", [2, 4, 13, 99])
@pytest.mark.parametrize("number", [-1, -(2**31)])
@pytest.mark.parametrize("kind", [CountingDLPack, CountingExchange])
def test_a_tensor_on_a_device_of_no_number_is_refused_as_lend_does(taker, kind, device, number):
    producer = kind(16, (2,), device=(device, number))
    with pytest.raises(BufferError, match="device"):
        lend.view(producer)
    with pytest.raises(BufferError, match=f"the id of its device .type {device}. is {number}"):
        taker(producer)


def test_the_number_of_the_cpu_is_not_believed(taker):
    assert taker(CountingDLPack(16, (2,), device=(1, -1))).device == (1, 0)


def test_an_empty_array_of_handles_has_none(taker):
    taken = taker(CountingDLPack(16, (0,), device=(4, 0), data=0x1234, byte_offset=8))
    assert (taken.data, taken.byte_offset) == (0, 0)


@pytest.mark.parametrize("facts", [{"byte_offset": 2**63}, {"strides": (-4,), "byte_offset": 8}], ids=str)
def test_an_offset_that_leaves_the_handle_is_refused(taker, facts):
    with pytest.raises(BufferError, match="byte_offset"):
        taker(CountingDLPack(16, (2,), device=(4, 0), data=0x1234, **({"dtype": (2, 32, 1)} | facts)))


def asked(producer):
    return [{key: value for key, value in keywords.items() if key != "max_version"} for keywords in producer.asked]


def test_the_stream_of_a_request_is_given_to_dlpack(taker):
    producer = CountingDLPack(16, (4,), device=(2, 0))
    taken = taker(producer, stream=0x77)
    assert asked(producer) == [{"stream": 0x77}]
    assert taken.sync == 0x77


def test_without_one_the_memory_is_ordered_on_the_default_stream(taker):
    producer = CountingDLPack(16, (4,), device=(2, 0))
    assert taker(producer).sync == 1  # CUDA's name of its legacy default stream
    assert asked(producer) == [{}]


def test_memory_of_rocm_is_ordered_on_the_stream_of_a_request(taker):
    producer = CountingDLPack(16, (4,), device=(10, 0))
    assert taker(producer, stream=0x77).sync == 0x77
    assert taker(producer).sync == 0


@pytest.mark.parametrize("device", [1, 3, 11, 14])
def test_other_memory_is_given_no_stream(taker, device):
    producer = CountingDLPack(16, (4,), device=(device, 0))
    assert taker(producer, stream=0x77).sync == 0
    assert asked(producer) == [{}]


def test_a_stream_stays_when_the_signature_is_refused(taker):
    class StreamOnly(CountingDLPack):
        def __dlpack__(self, stream=None):
            self.asked.append({"stream": stream})
            return self.capsule(True)

    producer = StreamOnly(16, (4,), device=(2, 0))
    assert taker(producer, stream=0x77).sync == 0x77
    assert asked(producer) == [{"stream": 0x77}]


def test_a_table_tells_the_stream_that_its_producer_works_on(taker):
    # the helper's table answers NULL, CUDA's legacy default stream
    assert taker(CountingExchange(16, (4,), device=(2, 0))).sync == 1
    assert taker(CountingExchange(16, (4,), device=(10, 0))).sync == 0
    assert taker(CountingExchange(16, (4,), device=(1, 0))).sync == 0


def test_a_table_is_passed_over_when_a_stream_is_to_be_waited_for(taker):
    kind = type("Both", (CountingDLPack,), {"__dlpack_c_exchange_api__": CountingExchange.__dlpack_c_exchange_api__})
    producer = kind(16, (4,), device=(2, 0))
    taker(producer)
    assert producer.asked == []
    assert taker(producer, stream=0x77).sync == 0x77
    assert asked(producer) == [{"stream": 0x77}]


def test_a_private_copy_of_a_device_is_told(taker):
    assert taker(CountingDLPack(16, (4,), device=(2, 0), flags=IS_COPIED)).exclusive


ORDERS = {
    "CUDA's interface, no work": (lambda: shows(version=3, stream=None), False),
    "CUDA's interface, a stream": (lambda: shows(version=3, stream=2), False),
    "CUDA's interface without the key": (lambda: shows(version=2), True),
    "a table": (lambda: CountingExchange(16, (4,), device=(2, 0)), False),
    "DLPack on CUDA": (lambda: CountingDLPack(16, (4,), device=(2, 0)), False),
    "DLPack on ROCm": (lambda: CountingDLPack(16, (4,), device=(10, 0)), False),
    "DLPack on OpenCL": (lambda: CountingDLPack(16, (4,), device=(4, 0)), True),
    "DLPack on oneAPI": (lambda: CountingDLPack(16, (4,), device=(14, 0)), True),
    "a bare capsule": (lambda: CountingDLPack(16, (4,), device=(2, 0)).capsule(True), True),
    "pinned": (lambda: CountingDLPack(16, (4,), device=(3, 0)), True),
    "the host": (lambda: b"abcd", False),
}


@pytest.mark.parametrize(("make", "unknown"), ORDERS.values(), ids=ORDERS)
def test_an_order_that_nobody_told_is_not_taken_for_none(taker, make, unknown):
    assert bool(taker(make()).flags & SYNC_UNKNOWN) is unknown


@pytest.mark.parametrize("announced", [(2, 0), (10, 1), (14, 0), "nonsense"], ids=repr)
def test_an_address_of_what_was_announced_elsewhere_is_not_taken_for_the_hosts(taker, announced):
    facts = {"__dlpack_device__": lambda self: announced}
    with pytest.raises(BufferError):
        taker(type("Elsewhere", (ArrayInterface,), facts)(bytes(8), (8,), "|u1"))


def test_an_address_of_what_was_announced_on_the_host_is_taken(taker):
    facts = {"__dlpack_device__": lambda self: (1, 0)}
    assert taker(type("Here", (ArrayInterface,), facts)(b"12345678", (8,), "|u1")).tobytes() == b"12345678"
