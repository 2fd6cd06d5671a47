"""What lend_wrap is told by the flags of a description: filled in, believed where it is true, refused where not."""

import itertools

import pytest

import lend
from lend.errors import MalformedDescriptor
from support import by_lend_h
from support.producers import Memory

READONLY, C, F, ALIGNED, EXCLUSIVE, HANDLE, SYNC_UNKNOWN = 1, 2, 4, 8, 16, 32, 64
NAMES = {C: "LEND_C_CONTIGUOUS", F: "LEND_F_CONTIGUOUS", ALIGNED: "LEND_ALIGNED"}
MEMORY = Memory(bytes(range(256)))
MIDDLE = MEMORY.address + 128
INT16, UINT4 = (0, ord("<"), 0, 16, 1, 2, 1), (1, ord("|"), 0, 4, 1, 0, 1)


class Owner:
    """Keeps nothing."""


def wrap(**said):
    return by_lend_h.wrap(Owner(), **{"data": MIDDLE, "dtype": INT16} | said)


def orders_of(shape, strides):
    """Which contiguity flags are true, by the definition: an extent of 1 decides nothing, one of 0 everything."""
    if 0 in shape:
        return C | F
    held = 0
    for flag, axes in ((C, range(len(shape) - 1, -1, -1)), (F, range(len(shape)))):
        step, true = 2, True
        for axis in axes:
            true = true and (shape[axis] == 1 or strides[axis] == step)
            step *= shape[axis]
        held |= flag * true
    return held


def natural(shape, order):
    strides, step = [0] * len(shape), 2
    for axis in range(len(shape)) if order == F else range(len(shape) - 1, -1, -1):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


SHAPES = [(), (1,), (3,), (0,), (3, 4), (1, 4), (4, 1), (1, 1), (0, 3), (3, 0), (2, 1, 3), (2, 3, 2)]
SHAPES.append((1,) * 8 + (2, 3))


def descriptions():
    for shape in SHAPES:
        steps = {natural(shape, C), natural(shape, F), (0,) * len(shape), (2,) * len(shape), (4,) * len(shape)}
        steps |= {tuple(-step for step in natural(shape, C)), (0, *natural(shape, C)[1:])[: len(shape)]}
        steps.add((*natural(shape, C)[:-1], 98)[: len(shape)])
        yield from itertools.product([shape], sorted(steps), [0, C, F, C | F])


@pytest.mark.parametrize(("shape", "strides", "flags"), list(descriptions()), ids=str)
def test_an_order_is_filled_in_or_true_or_refused(shape, strides, flags):
    said = {"shape": shape, "strides": strides, "flags": flags}
    stepping = [step for extent, step in zip(shape, strides, strict=True) if extent > 1]
    if stepping and not any(stepping) and not flags:
        with pytest.raises(MalformedDescriptor, match="strides of the lend_view is 0"):
            wrap(**said)
        return
    if flags and not any(stepping):
        strides = natural(shape, F if flags == F else C)
    false = flags & ~orders_of(shape, strides)
    if false:
        with pytest.raises(MalformedDescriptor) as caught:
            wrap(**said)
        told = str(caught.value).partition("\n")[0]
        assert f"flags of the lend_view are {flags:#x} (" in told
        assert told.endswith(f"shape and strides contradict {NAMES[false & -false]}")
        assert ("one order of the two" in told) == (flags == C | F)
        return
    view = wrap(**said)
    assert view.shape == shape
    assert 0 in shape or view.strides == strides
    assert C * view.c_contiguous | F * view.f_contiguous == orders_of(shape, strides)


@pytest.mark.parametrize("flag", [C, F, C | F])
@pytest.mark.parametrize("shape", [(5,), (3, 4), (1, 4), (0, 3), ()], ids=str)
def test_of_elements_that_share_bytes_an_order_is_as_true(shape, flag):
    said = {"dtype": UINT4, "shape": shape, "strides": (0,) * len(shape), "flags": flag}
    if flag & F and shape == (3, 4):
        with pytest.raises(MalformedDescriptor, match="not LEND_C_CONTIGUOUS alone: elements that share bytes lie row"):
            wrap(**said)
    else:
        assert wrap(**said).shape == shape


@pytest.mark.parametrize("flag", [0, C, F])
def test_elements_that_share_bytes_have_no_strides_whatever_the_flags(flag):
    with pytest.raises(MalformedDescriptor, match="strides of the lend_view .*share bytes"):
        wrap(dtype=UINT4, shape=(3, 4), strides=(0, 1), flags=flag)


@pytest.mark.parametrize(
    ("data", "strides", "true"), [(0, (8, 2), True), (1, (8, 2), False), (0, (9, 2), False)], ids=str
)
def test_an_alignment_is_true_or_refused(data, strides, true):
    said = {"data": MIDDLE + data, "shape": (3, 4), "strides": strides, "flags": ALIGNED}
    if true:
        assert wrap(**said).aligned
    else:
        with pytest.raises(MalformedDescriptor, match="are 0x8 .LEND_ALIGNED., not true: address or strides"):
            wrap(**said)
    said["flags"] = 0
    assert wrap(**said).aligned is true


REQUESTED = {
    256: "LEND_WRITABLE", 512: "LEND_C_ORDER", 1024: "LEND_F_ORDER", 2048: "LEND_COPY_IF_NEEDED", 4096: "LEND_COPY",
    8192: "LEND_NEED_ALIGNED",
}  # fmt: skip


@pytest.mark.parametrize(("flag", "name"), REQUESTED.items(), ids=REQUESTED.values())
@pytest.mark.parametrize("more", [0, READONLY | C])
def test_a_flag_of_a_request_is_refused_by_its_name(flag, name, more):
    with pytest.raises(MalformedDescriptor, match=rf"are {flag | more:#x} .*{name}.*{flag:#x} is not .*of a request"):
        wrap(shape=(3,), strides=(2,), flags=flag | more)


@pytest.mark.parametrize("flag", [128, 1 << 14, 1 << 31])
def test_a_flag_that_this_lend_does_not_know_is_refused(flag):
    with pytest.raises(MalformedDescriptor, match=rf"are {flag:#x} \(.*\), not what a lend_view has: {flag:#x} is not"):
        wrap(shape=(3,), strides=(2,), flags=flag)


@pytest.mark.parametrize("offset", [1, 2, 2**63])
def test_an_offset_without_a_handle_is_refused(offset):
    with pytest.raises(MalformedDescriptor, match=f"byte_offset of the lend_view is {offset}, not 0"):
        wrap(shape=(3,), strides=(2,), byte_offset=offset)


@pytest.mark.parametrize("offset", [0, 8])
def test_a_handle_is_refused(offset):
    with pytest.raises(MalformedDescriptor, match="are 0x20 .LEND_OPAQUE_HANDLE., not those of memory that has addr"):
        wrap(shape=(3,), strides=(2,), flags=HANDLE, byte_offset=offset)


@pytest.mark.parametrize("flags", [READONLY, EXCLUSIVE, SYNC_UNKNOWN, READONLY | C | F | ALIGNED | EXCLUSIVE])
def test_the_flags_of_a_view_that_was_acquired_may_stay(flags):
    view = wrap(shape=(3,), strides=(2,), flags=flags)
    assert (view.readonly, view.exclusive) == (bool(flags & READONLY), bool(flags & EXCLUSIVE))


def test_what_is_refused_keeps_no_dimensions():
    """Above 8 of them they lie apart."""
    resource = pytest.importorskip("resource")
    said = {"shape": (1,) * 62 + (3, 4), "strides": (0,) * 62 + (98, 2), "flags": C}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20_000):
        try:
            wrap(**said)
        except lend.LendError:
            continue
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8_000  # KiB; 20 MB if they stayed


def test_memory_that_a_callback_gives_back_may_lie_elsewhere_than_that_of_the_object_beside_it():
    np = pytest.importorskip("numpy")
    given = by_lend_h.wrap(np.zeros(4), data=MIDDLE, dtype=INT16, shape=(4,), strides=(2,), flags=C)
    given.verify()
    assert len(given.tolist()) == 4
