"""Layouts that nobody thought of: generated, taken by both implementations, and compared with lists made by hand.

The model knows nothing of arrays: it unpacks one element after the other from bytes, at an address it counts itself.
"""

import itertools
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.both import BOTH
from support.counting import CountingBuffer, CountingDLPack
from support.producers import ArrayInterface, Memory

# the dtype as a typestr has it without its order -> code of struct, DLPack's code and bits
DTYPES = {
    "b1": ("?", (6, 8)), "i1": ("b", (0, 8)), "u1": ("B", (1, 8)), "i2": ("h", (0, 16)), "u2": ("H", (1, 16)),
    "f2": ("e", (2, 16)), "i4": ("i", (0, 32)), "u4": ("I", (1, 32)), "f4": ("f", (2, 32)), "i8": ("q", (0, 64)),
    "u8": ("Q", (1, 64)), "f8": ("d", (2, 64)), "c8": ("ff", (5, 64)), "c16": ("dd", (5, 128)),
}  # fmt: skip


def casts(code):
    try:
        return memoryview(bytes(16)).cast(code).format == code
    except ValueError:  # "e" before some version of Python
        return False


CAST = [code for code, _ in DTYPES.values() if casts(code)]


class Layout:
    """Elements that lie in `data`: the first at `offset`, the others as many bytes away as the strides say."""

    def __init__(self, data, shape, strides, offset, dtype, order):
        self.data, self.shape, self.strides, self.offset = data, shape, strides, offset
        self.dtype, self.order, (self.code, self.dlpack) = dtype, order, DTYPES[dtype]

    @property
    def itemsize(self):
        return int(self.dtype[1:])

    @property
    def typestr(self):
        return ("|" if self.itemsize == 1 else self.order) + self.dtype

    def element(self, index):
        at = self.offset + sum(i * step for i, step in zip(index, self.strides, strict=True))
        numbers = struct.unpack_from(self.order + self.code, self.data, at)
        return complex(*numbers) if len(numbers) == 2 else numbers[0]

    def tolist(self, *index):
        """The values as lists of lists."""
        if len(index) == len(self.shape):
            return self.element(index)
        return [self.tolist(*index, i) for i in range(self.shape[len(index)])]

    def steps(self):
        """The strides that mean something."""
        empty = 0 in self.shape
        return tuple(0 if empty or n == 1 else step for n, step in zip(self.shape, self.strides, strict=True))

    def repeats(self):
        """Whether several elements are one place."""
        return 0 not in self.shape and any(
            n > 1 and step == 0 for n, step in zip(self.shape, self.strides, strict=True)
        )

    def is_contiguous(self):
        step = self.itemsize
        if 0 in self.shape:
            return True
        for extent, stride in zip(reversed(self.shape), reversed(self.steps()), strict=True):
            if extent > 1 and stride != step:
                return False
            step *= extent
        return True

    def ends(self):
        """The lowest byte, counted from the first element, and the one behind the highest."""
        if 0 in self.shape:
            return 0, 0
        reach = [(n - 1) * step for n, step in zip(self.shape, self.strides, strict=True)]
        return sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach) + self.itemsize


@st.composite
def layouts(draw, *, whole=False, order=("<", ">"), most=4):
    """A Layout in bytes of its own; with `whole`, strides are a number of elements."""
    dtype = draw(st.sampled_from(sorted(DTYPES)))
    size = int(dtype[1:])
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=most)))
    unit = size if whole else 1
    strides = tuple(unit * draw(st.integers(-20, 20)) for _ in shape)
    if draw(st.booleans()):  # strides that something has: of parts of an array that lies row by row
        steps, step = [], size
        for extent in reversed(shape):
            steps.append(step * draw(st.sampled_from([1, 1, 2, -1])))
            step *= max(extent, 1) * 2
        strides = tuple(draw(st.permutations(steps[::-1])))
    found = Layout(b"", shape, strides, 0, dtype, draw(st.sampled_from(order)))
    low, high = found.ends()
    before, behind = draw(st.integers(0, 9)), draw(st.integers(0, 9))
    found.offset = before - low
    seed = draw(st.integers(0, 255))
    found.data = bytes((seed + 37 * i) % 251 for i in range(before - low + high + behind))
    return found


def by_interface(layout):
    memory = ArrayInterface(layout.data, layout.shape, layout.typestr, strides=layout.strides)
    memory.facts["data"] = (memory.memory.address + layout.offset, False)
    return memory


def by_interface_over_bytes(layout):
    made = ArrayInterface(b"", layout.shape, layout.typestr, strides=layout.strides)
    made.facts |= {"data": bytearray(layout.data), "offset": layout.offset}
    return made


def by_buffer(layout):
    format = layout.order + {"ff": "Zf", "dd": "Zd"}.get(layout.code, layout.code)
    facts = {"shape": layout.shape, "strides": layout.strides, "offset": layout.offset}
    return CountingBuffer(layout.data, format=format, itemsize=layout.itemsize, **facts)


def by_dlpack(layout):
    strides = tuple(step // layout.itemsize for step in layout.strides)
    facts = {"strides": strides, "byte_offset": layout.offset, "dtype": (*layout.dlpack, 1)}
    return CountingDLPack(layout.data, layout.shape, **facts)


def same(values, others):
    """Equal, of NaN as well."""
    if isinstance(values, list):
        return len(values) == len(others) and all(map(same, values, others))
    return repr(values) == repr(others)


def checked(layout, lender):
    first = BOTH[0].take(lender)  # kept, as counting producers overwrite what nobody holds
    facts, other = (side.asked(lender) for side in BOTH)
    assert facts == other
    assert (facts.shape, facts.dtype) == (layout.shape, layout.typestr)
    assert facts.strides == layout.steps()
    assert facts.readonly == layout.repeats()
    assert facts.c_contiguous == layout.is_contiguous()
    assert facts.nbytes == layout.itemsize * math.prod(layout.shape)
    spans = [side.asked_for_bytes(lender) for side in BOTH]
    low, high = layout.ends()
    assert spans[0] == spans[1]
    assert spans[0].nbytes == high - low
    assert spans[0].ptr == (facts.ptr + low if facts.nbytes else 0)
    for side in BOTH:
        assert same(side.take(lender).tolist(), layout.tolist()), side.name
    assert same(first.tolist(), layout.tolist())


@given(layouts())
def test_an_interface_with_an_address_is_read_as_it_lies(layout):
    checked(layout, by_interface(layout))


@given(layouts())
def test_an_interface_over_bytes_is_read_as_it_lies(layout):
    checked(layout, by_interface_over_bytes(layout))


@given(layouts())
def test_a_buffer_is_read_as_it_lies(layout):
    lender = by_buffer(layout)
    checked(layout, lender)
    assert lender.audit() == []


@given(layouts(whole=True, order="<"))
def test_a_tensor_is_read_as_it_lies(layout):
    lender = by_dlpack(layout)
    checked(layout, lender)
    assert lender.audit() == []


@given(layouts(), st.integers(-40, 40), st.integers(0, 60))
def test_what_leaves_its_bytes_is_refused_by_both_and_nothing_else_is(layout, offset, length):
    lender = by_interface_over_bytes(layout)
    lender.facts |= {"data": bytearray(length), "offset": offset}
    low, high = layout.ends()
    inside = offset + low >= 0 and offset + high <= length
    for side in BOTH:
        assert (side.asked(lender) != "refused") == inside, side.name


@given(layouts(order="<"))
def test_a_memoryview_shows_the_values_or_is_refused(layout):
    taken = BOTH[0].take(by_interface(layout))
    shown = layout.is_contiguous() and layout.code in CAST and (0 not in layout.shape or len(layout.shape) == 1)
    if not shown:
        with pytest.raises(BOTH[0].refusal):
            taken.memoryview()
        return
    view = taken.memoryview()
    assert (view.shape, view.readonly, view.nbytes) == (layout.shape, layout.repeats(), taken.nbytes)
    assert same(view.tolist(), layout.tolist())


@given(layouts(), st.slices(60))
def test_a_slice_of_a_buffer_is_that_of_its_bytes(layout, part):
    part = slice(part.start, part.stop)
    span = BOTH[0].take_bytes(by_interface(layout))
    assert bytes(span[part].memoryview()) == bytes(span.memoryview())[part]


HUGE = st.integers(0, 3) | st.builds(lambda power, less, sign: sign * (2**power - less), st.integers(56, 66),
                                     st.integers(-1, 1), st.sampled_from([1, -1]))  # fmt: skip


@given(st.data(), st.lists(HUGE, max_size=4))
def test_huge_numbers_are_refused_by_both_alike(data, shape):
    strides = data.draw(st.none() | st.tuples(*[HUGE for _ in shape]))
    memory = Memory(bytes(64))
    lender = ArrayInterface(b"", tuple(shape), "<f8", strides=strides, data=(memory.address, False))
    small, large = (side.asked(lender) for side in BOTH)
    assert small == large


def test_the_model_reads_what_the_interpreter_reads():
    layout = Layout(bytes(range(24)), (2, 3), (12, 4), 0, "i4", "<")
    assert layout.tolist() == memoryview(layout.data).cast("i", (2, 3)).tolist()
    assert list(itertools.chain(*layout.tolist())) == list(struct.unpack("<6i", layout.data))
