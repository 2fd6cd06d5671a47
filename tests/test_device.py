"""lend.device: what names a device, what a device is equal to, what is refused."""

import copy
import enum
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lend.device import Device
from support.names import plain_repr

CODES = {
    "cpu": 1,
    "cuda": 2,
    "cuda_host": 3,
    "opencl": 4,
    "vulkan": 7,
    "metal": 8,
    "vpi": 9,
    "rocm": 10,
    "rocm_host": 11,
    "ext_dev": 12,
    "cuda_managed": 13,
    "oneapi": 14,
    "webgpu": 15,
    "hexagon": 16,
    "maia": 17,
    "trn": 18,
}
devices = st.builds(
    Device, st.integers(1, 2**31 - 1) | st.sampled_from(list(CODES.values())), st.integers(-1, 2**31 - 1)
)


class Kind(enum.IntEnum):
    CUDA = 2


class PlainKind(enum.Enum):
    CUDA = 2


class TorchLike:
    """What torch.device tells of itself."""

    def __init__(self, kind, index):
        self.type, self.index = kind, index


class JaxLike:
    """What a device of jax tells of itself."""

    def __init__(self, platform, number, hardware=None, client=""):
        self.platform, self.id, self.local_hardware_id = platform, number, hardware
        self.client = type("Client", (), {"platform_version": client})()


@pytest.mark.parametrize(
    ("device", "is_"),
    [
        (JaxLike("cpu", 3), "cpu"),
        (JaxLike("gpu", 1, client="PJRT C API\ncuda 12090"), "cuda:1"),
        (JaxLike("gpu", 9, hardware=1, client="cuda 12090"), "cuda:1"),
        (JaxLike("gpu", 0, client="rocm 60300"), "rocm:0"),
        (JaxLike("cuda", 2), "cuda:2"),
    ],
)
def test_device_of_jax_is_read(device, is_):
    assert Device(device) == Device(is_)


def test_device_of_jax_that_dlpack_has_no_code_for_is_refused():
    with pytest.raises(ValueError, match="'tpu' names no device"):
        Device(JaxLike("tpu", 0))


def test_device_that_jax_makes_is_read():
    jax = pytest.importorskip("jax")
    assert Device(jax.devices("cpu")[0]) == Device("cpu")


@pytest.mark.parametrize(("name", "code"), CODES.items())
def test_name_and_dlpack_code_are_the_same_device(name, code):
    assert Device(name) == Device(code)
    assert Device(code).name == name


@pytest.mark.parametrize(
    "spelling",
    ["cuda:1", (2, 1), [2, 1], (Kind.CUDA, 1), (PlainKind.CUDA, 1), ("cuda", 1), TorchLike("cuda", 1), Device(2, 1)],
    ids=plain_repr,
)
def test_every_spelling_of_a_device_is_read(spelling):
    assert tuple(Device(spelling)) == (2, 1)


@pytest.mark.parametrize("spelling", ["cuda", 2, Kind.CUDA, (2, None), TorchLike("cuda", None)], ids=plain_repr)
def test_number_is_zero_where_none_is_told(spelling):
    assert Device(spelling).id == 0


@pytest.mark.parametrize("spelling", ["cpu", "cpu:0", "cpu:3", (1, 0), (1, -1), (1, None), (1, 7)], ids=plain_repr)
def test_all_cpus_are_one(spelling):
    assert Device(spelling) == Device("cpu")
    assert hash(Device(spelling)) == hash(Device("cpu"))
    assert tuple(Device(spelling)) == (1, 0)


def test_devices_with_different_numbers_differ():
    assert Device("cuda:0") != Device("cuda:1")


@pytest.mark.parametrize("spelling", ["cuda:?", (2, -1), ("cuda", -1), TorchLike("cuda", -1)], ids=plain_repr)
def test_a_number_that_is_not_known_is_minus_one_and_shown_as_such(spelling):
    device = Device(spelling)
    assert (tuple(device), str(device), repr(device)) == ((2, -1), "cuda:?", "Device('cuda:?')")
    assert device == Device("cuda:?") != Device("cuda:0")


@pytest.mark.parametrize("text", ["cpu", "cuda:0", "cuda:?", "rocm:3", "device type 99:1"])
def test_device_equals_its_text_and_has_its_hash(text):
    device = Device(text)
    assert device == text == device
    assert hash(device) == hash(text)
    assert {text: 1}[device] == 1


@pytest.mark.parametrize("other", ["cuda", "cuda:1", "CUDA:0", "no device", "", (2, 0), 2, None], ids=plain_repr)
def test_device_equals_no_other_text_and_no_pair(other):
    assert Device("cuda:0") != other


def test_device_shows_itself_by_name():
    assert (str(Device("cpu")), str(Device("cuda")), repr(Device(2, 3))) == ("cpu", "cuda:0", "Device('cuda:3')")


def test_unknown_code_shows_its_number():
    assert (Device(99).name, str(Device(99, 1))) == ("device type 99", "device type 99:1")


@given(devices)
def test_str_is_read_back(device):
    assert Device(str(device)) == device


@given(devices)
def test_device_survives_pickle_and_copy(device):
    assert pickle.loads(pickle.dumps(device)) == copy.copy(device) == copy.deepcopy(device) == device


@pytest.mark.parametrize("code", CODES.values())
def test_of_the_cpu_alone_nothing_is_asked_and_nothing_waited_for(code):
    assert Device(code).is_host == (code == 1)


@pytest.mark.parametrize("name", ["type", "id", "name", "other"])
def test_device_is_immutable(name):
    with pytest.raises(AttributeError):
        setattr(Device("cpu"), name, 1)


def test_device_cannot_lose_an_attribute():
    with pytest.raises(AttributeError):
        del Device("cpu").id


@pytest.mark.parametrize(
    ("slip", "near"), [("cdua", "cuda"), ("CUDA:0", "cuda"), ("gpu", "cuda, rocm"), ("mps", "metal"), ("xyzzy", "cpu")]
)
def test_unknown_name_is_refused_with_near_ones(slip, near):
    with pytest.raises(ValueError, match=f"names no device; near: .*{near}"):
        Device(slip)


@pytest.mark.parametrize(
    "nonsense",
    ["", ":", "cuda:", "cuda:-1", "cuda:x", "cuda:²", "cuda: 1", "cuda:1:2", "device type ", "device type 0"],
)
def test_malformed_text_is_refused(nonsense):
    with pytest.raises(ValueError, match="device"):
        Device(nonsense)


@pytest.mark.parametrize(
    "pair", [(0, 0), (-1, 0), (2, -2), (2, 2**31), (2**31, 0), (1, -2), (2,), (2, 0, 0)], ids=plain_repr
)
def test_numbers_out_of_range_are_refused(pair):
    with pytest.raises(ValueError, match=r"device|CPU"):
        Device(pair)


@pytest.mark.parametrize("thing", [None, 2.0, True, b"cpu", {}, (2, "0"), (2, True)], ids=plain_repr)
def test_what_is_no_device_is_a_type_error(thing):
    with pytest.raises(TypeError, match="of a device is an int"):
        Device(thing)


def test_second_number_is_refused():
    with pytest.raises(ValueError, match="one too many"):
        Device("cuda:0", 1)


@given(st.text())
def test_any_text_is_read_or_a_value_error(text):
    try:
        device = Device(text)
    except ValueError:
        return
    assert Device(str(device)) == device


def test_long_text_makes_a_short_message():
    with pytest.raises(ValueError, match="names no device") as caught:
        Device("x" * 100_000)
    assert len(str(caught.value)) < 200
