"""lend.h tells plain memory without a record in between: it says what `lend.view` says, and refuses what it refuses."""

import pathlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lend
from lend.errors import LendError, MalformedDescriptor
from support.c_modules import compile_module
from support.counting import CountingBuffer

HERE = pathlib.Path(__file__).parent

READONLY, C, F, ALIGNED = 1, 2, 4, 8
WILD = st.sampled_from([-(2**63), -(2**62), -1, 0, 1, 2, 3, 8, 24, 2**31 - 1, 2**31, 2**32, 2**61, 2**62, 2**63 - 1])
EXTENTS = st.lists(st.integers(0, 3), min_size=0, max_size=4).map(tuple)
WAYS = pytest.mark.parametrize("way", ["acquired", "borrowed"])


def facts_of(view):
    flags = READONLY * view.readonly | C * view.c_contiguous | F * view.f_contiguous | ALIGNED * view.aligned
    return {
        "address": view.ptr,
        "nbytes": view.nbytes,
        "shape": view.shape,
        "strides": view.strides,
        "flags": flags,
        "itemsize": view.itemsize,
        "device": (1, 0),
        "offset": 0,
    }


def told(consumer, way, obj):
    said = getattr(consumer, way)(obj)
    return {name: said[name] for name in facts_of(lend.view(b"")) if name != "itemsize"} | {
        "itemsize": said["dtype"][5]
    }


def outcome(function, *args):
    """What it returned, or the first line of its refusal."""
    try:
        return function(*args)
    except LendError as refusal:
        return type(refusal), str(refusal).splitlines()[0]


@WAYS
@given(
    st.dictionaries(st.sampled_from(["ndim", "itemsize", "len", "readonly"]), st.integers(-1, 70) | WILD, max_size=2),
    st.none() | st.tuples(WILD, WILD),
    st.none() | st.tuples(WILD, WILD),
    st.none() | st.sampled_from([0, 1, -1, -8, -48]),
    st.sampled_from(["d", "q", "Q", "P", "n", "D", "Zf", "l", "e", "B", "O", "8x", "", "é", "<q", "@d", ">d", "dd"]),
)
def test_a_buffer_that_lies_is_told_or_refused_as_by_view(consumer, way, lie, shape, strides, buf, format):
    for name, said in (("shape", shape), ("strides", strides), ("buf", buf)):
        if said is not None:
            lie[name] = said
    if not 0 <= lie.get("ndim", 2) <= 2:
        lie.pop("shape", None)
        lie.pop("strides", None)
    small = {"ndim", "itemsize", "readonly"}
    lie = {name: value for name, value in lie.items() if name not in small or abs(value) < 2**31}
    exporter = CountingBuffer(48, format=format, itemsize=8, shape=(2, 3), lie=lie)
    expected = outcome(lambda: facts_of(lend.view(exporter)))
    assert outcome(told, consumer, way, exporter) == expected
    assert exporter.audit() == []


@WAYS
@given(EXTENTS, st.sampled_from("?bBhHiIlLqQnNPefdg"), st.integers(0, 9), st.booleans())
def test_every_letter_and_shape_is_told_as_by_view(consumer, way, shape, letter, offset, readonly):
    size = 16 if letter == "g" else struct.calcsize(letter)
    exporter = CountingBuffer(
        81 * size + 16, format=letter, itemsize=size, shape=shape, offset=offset, readonly=readonly
    )
    assert outcome(told, consumer, way, exporter) == outcome(lambda: facts_of(lend.view(exporter)))
    assert exporter.audit() == []


ARRAYS = {
    "0-d": "np.array(1.5)",
    "1-d": "np.arange(5)",
    "3-d": "np.zeros((2, 3, 4), 'f4')",
    "3-d, extents of 1": "np.zeros((1, 3, 1), 'f4')",
    "columns": "np.zeros((2, 3), order='F')",
    "empty": "np.zeros((0, 3))",
    "reversed": "np.arange(5)[::-1]",
    "gaps": "np.zeros((4, 4))[::2, ::2]",
    "rows of a table": "np.zeros((4, 4))[1:3]",
    "repeated": "np.broadcast_to(np.arange(3), (2, 3))",
    "read-only": "np.frombuffer(bytes(8), 'i4')",
    "unaligned": "np.frombuffer(bytes(9), 'u1')[1:].view('f8')",
    "swapped": "np.arange(3).astype('>i4')",
    "complex": "np.zeros(3, 'c16')[1:]",
    "half": "np.zeros(3, 'f2')",
    "long double": "np.zeros(3, 'g')",
    "bool": "np.zeros(3, '?')",
    "records": "np.zeros(2, [('a', 'i4'), ('b', 'f8')])",
    "eight dimensions": "np.zeros((1, 2) * 4)",
    "nine dimensions": "np.zeros((1, 2, 1) * 3)",
    "dates": "np.zeros(2, 'M8[s]')",
}


@WAYS
@pytest.mark.parametrize("made", ARRAYS.values(), ids=ARRAYS)
def test_an_array_is_told_as_by_view(consumer, way, made):
    array = eval(made, {"np": pytest.importorskip("numpy")})
    assert told(consumer, way, array) == facts_of(lend.view(array)) | (
        {"address": told(consumer, way, array)["address"]} if array.size == 0 else {}
    )


TENSORS = {
    "0-d": "torch.tensor(3)",
    "int64": "torch.arange(6)",
    "3-d": "torch.zeros((2, 3, 4), dtype=torch.int32)",
    "transposed": "torch.zeros((2, 3), dtype=torch.int32).T",
    "empty": "torch.zeros((0, 3), dtype=torch.int64)",
    "a part": "torch.arange(9)[3:]",
    "gaps": "torch.arange(9)[::2]",
    "repeated": "torch.arange(3).expand(2, 3)",
    "floats": "torch.zeros(3)",
    "bytes": "torch.zeros(3, dtype=torch.uint8)",
    "bool": "torch.zeros(3, dtype=torch.bool)",
    "bfloat16": "torch.zeros(3, dtype=torch.bfloat16)",
    "complex": "torch.zeros(3, dtype=torch.complex64)[1:]",
    "float8": "torch.zeros(3, dtype=torch.float8_e4m3fn)",
    "a gradient": "torch.zeros(3, requires_grad=True)",
    "negated": "torch.zeros(3, dtype=torch.complex64).conj().imag",
    "conjugated": "torch.zeros(3, dtype=torch.complex64).conj()",
}


@WAYS
@pytest.mark.parametrize("made", TENSORS.values(), ids=TENSORS)
def test_a_tensor_is_told_as_by_view(consumer, way, made):
    tensor = eval(made, {"torch": pytest.importorskip("torch")})
    expected = outcome(lambda: facts_of(lend.view(tensor)))
    said = outcome(told, consumer, way, tensor)
    if tensor.numel() == 0:
        said["address"] = expected["address"]
    assert said == expected


@pytest.fixture(scope="module")
def passing(tmp_path_factory):
    return compile_module(HERE / "passing.c", "passing", tmp_path_factory.mktemp("passing")).Passing


@WAYS
def test_a_buffer_that_is_of_another_object_is_held(consumer, passing, way):
    thing = passing(False)
    lend.view(thing)  # from here on its type is known
    assert getattr(consumer, way)(thing)["held"]
    assert consumer.bytes_of(thing) == bytes([7]) * (1 << 20)


@WAYS
def test_a_buffer_that_is_of_nobody_is_refused(consumer, passing, way):
    lend.view(passing(False))  # from here on its type is known
    with pytest.raises(MalformedDescriptor, match="does not say whose it is"):
        getattr(consumer, way)(passing(True))
