"""Generated descriptors of every protocol, true and false: taken or refused, and given back once (LIFE-7 to 9, DESC).

What is taken and small is read as well, where the protocol gives bounds: an address that was believed wrongly would end
the process or show what lies beside.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lend
from lend.errors import LendError
from support.counting import CountingBuffer, CountingDLPack, CountingExchange
from support.device_producers import CudaInterface, SyclInterface
from support.producers import ABSENT

TAKES = pytest.mark.parametrize("take", [lend.view, lend.buffer], ids=["view", "buffer"])
wild = st.sampled_from([0, 1, -1, 2, 8, -8, 2**31, 2**32, 2**59, -(2**59), 2**62, -(2**62), 2**63 - 1, -(2**63)])
small = st.integers(0, 3)
extents = st.lists(small | small | wild, max_size=4).map(tuple)
steps = st.lists(st.integers(-4, 4) | wild, max_size=4).map(tuple)
codes = st.tuples(st.integers(0, 18) | st.integers(0, 255), st.sampled_from([1, 2, 4, 6, 8, 16, 32, 64, 128, 7]),
                  st.sampled_from([1, 1, 1, 2, 4, 3, 0, 65535]))  # fmt: skip


@st.composite
def tensors(draw):
    shape = draw(extents)
    strides = st.lists(st.integers(-4, 4) | wild, min_size=len(shape), max_size=len(shape)).map(tuple)
    facts = {"dtype": draw(codes), "strides": draw(st.none() | strides)}
    unusual = {
        "device": st.tuples(st.integers(-1, 20), st.integers(-1, 2)),
        "byte_offset": st.integers(0, 64) | st.sampled_from([2**63, 2**64 - 1]),
        "flags": st.integers(0, 16) | st.just(2**63),
        "version": st.tuples(st.integers(0, 2), st.integers(0, 9)),
        "ndim": st.integers(-1, 70).filter(lambda ndim: ndim <= len(shape) or ndim > 64),
        "data": st.just(0),
        "null_shape": st.booleans(),
    }
    for name in draw(st.lists(st.sampled_from(sorted(unusual)), max_size=2, unique=True)):
        facts[name] = draw(unusual[name])
    return shape, facts


class Described:
    def __init__(self, facts):
        self.__array_interface__ = facts


def outcome(take, source):
    try:
        return take(source)
    except LendError:
        return None


@TAKES
@given(tensors(), st.sampled_from(["newest", "legacy", "versioned"]))
def test_a_capsule_is_taken_and_deleted_once_or_left_alone(take, tensor, protocol):
    shape, facts = tensor
    producer = CountingDLPack(64, shape, protocol=protocol, keep=True, **facts)
    made = outcome(take, producer)
    assert sum(name.startswith("used") for name in producer.names) == (made is not None)
    assert producer.deleted == 0
    again = outcome(lend.view, producer.capsules[-1]) if producer.capsules else None
    if made is not None:
        assert again is None  # it is consumed
    del made, again
    producer.capsules.clear()
    assert producer.audit() == []


@TAKES
@given(tensors())
def test_a_tensor_of_a_table_is_deleted_once(take, tensor):
    shape, facts = tensor
    producer = CountingExchange(64, shape, **facts)
    made = outcome(take, producer)
    assert producer.live == (made is not None)
    del made
    assert producer.audit() == []


@TAKES
@given(
    st.dictionaries(st.sampled_from(["ndim", "itemsize", "len", "readonly"]), st.integers(-1, 70) | wild, max_size=2),
    st.none() | st.lists(wild | small, min_size=2, max_size=2).map(tuple),
    st.none() | st.lists(wild | small, min_size=2, max_size=2).map(tuple),
    st.sampled_from(["d", "B", "Zd", "3s", "2w", "O", "T{i:a:i:b:}", "T{d:a:", "(2)f", "x", "8x", "&i", "", "é", "<q"]),
)
def test_a_buffer_is_taken_and_released_once_or_refused_and_released(take, lie, shape, strides, format):
    for name, dims in (("shape", shape), ("strides", strides)):
        if dims is not None:
            lie[name] = dims
    if not 0 <= lie.get("ndim", 2) <= 2:
        lie.pop("shape", None)
        lie.pop("strides", None)
    lie = {
        name: value
        for name, value in lie.items()
        if name in ("shape", "strides") or abs(value) < 2**31 or name == "len"
    }
    exporter = CountingBuffer(48, format=format, itemsize=8, shape=(2, 3), lie=lie)
    made = outcome(take, exporter)
    assert exporter.live == (made is not None)
    del made
    assert exporter.audit() == []


@st.composite
def dicts(draw, usual):
    shape = draw(extents)
    facts = dict(usual, shape=shape)
    words = {
        "typestr": st.sampled_from(
            ["<f4", ">f4", "|b1", "<c16", "|V8", "|V0", "|S3", "<U2", "|O", "<M8[s]", "<i3", "|t1", ""]
        ),
        "strides": st.none() | steps,
        "offset": st.integers(-8, 64) | wild,
        "descr": st.sampled_from([[("a", "<i4"), ("b", "<f4")], [("", "|V8")], [("a", "|O")], [("a",)], [], "a"]),
        "mask": st.none() | st.just(bytearray(4)),
        "version": st.integers(-1, 5),
        "shape": st.just(ABSENT) | extents.map(list),
    }
    for name in draw(st.lists(st.sampled_from(sorted(words)), max_size=3, unique=True)):
        facts[name] = draw(words[name])
    return {key: value for key, value in facts.items() if value is not ABSENT}


@TAKES
@given(dicts({"typestr": "<f4", "version": 3}))
def test_an_interface_over_a_buffer_never_leaves_it(take, facts):
    memory = bytearray(64)
    made = outcome(take, Described(facts | {"data": memory}))
    if made is None:
        memory.append(0)  # and it is held by nobody
        return
    if made.size and made.nbytes < 4096:
        made.tobytes()
        low = made.ptr + sum(min((extent - 1) * step, 0) for extent, step in zip(*spread(made), strict=True))
        high = made.ptr + sum(max((extent - 1) * step, 0) for extent, step in zip(*spread(made), strict=True))
        start = lend.buffer(memory).ptr
        assert start <= low <= high + made_itemsize(made) <= start + 64
    made.release()
    del made
    memory.append(0)


def spread(made):
    return (made.shape, made.strides) if isinstance(made, lend.View) else ((made.nbytes,), (1,))


def made_itemsize(made):
    return made.itemsize if isinstance(made, lend.View) else 1


@TAKES
@pytest.mark.parametrize("kind", [CudaInterface, SyclInterface])
@given(data=st.data())
def test_an_interface_of_a_device_is_described_or_refused_and_never_read(take, kind, data):
    made = outcome(take, kind(**data.draw(dicts(kind.usual))))
    if made is not None:
        assert repr(made)
        if made.nbytes:
            with pytest.raises(LendError):
                made.tobytes()
        else:
            assert made.tobytes() == b""
