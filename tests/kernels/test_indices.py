"""Indices into a dictionary: whether they are in range, and what they become in another one."""

import itertools
import random
import struct

import pytest

from support.bare_memory import Input, Output, strided

from .test_fill import FORMS, INTEGERS, LENGTHS, STEPS, Mask, validity

NO_MASK = (None, 0, 0, 0)


def indices(values, size, signed, step=1, shift=0):
    return strided([struct.pack("<" + INTEGERS[size, signed], value) for value in values], size, step * size, shift)


def beyond(size, signed, limit):
    """Indices that are out of range."""
    found = [limit, (1 << 8 * size - signed) - 1]
    return [*found, -1, -(1 << 8 * size - 1)] if signed else found


@pytest.mark.parametrize(("size", "signed"), INTEGERS)
def test_indices_are_in_range_where_they_are_valid(kernels, size, signed):
    source = random.Random(size)
    for n in LENGTHS:
        form = FORMS[n % 5]
        valid, step, limit = validity(n, form, size), STEPS[n % 7] or 1, source.randrange(1, 100)
        wrong = beyond(size, signed, limit)
        values = [source.randrange(limit) if v else source.choice([0, *wrong]) for v in valid]
        memory, mask = indices(values, size, signed, step, shift=n % 2), Mask(valid, form, n)
        assert kernels.check_indices(memory.first, step * size, size, signed, *mask.arguments, limit, n) == -1


@pytest.mark.parametrize(("size", "signed"), INTEGERS)
def test_first_index_out_of_range_is_told(kernels, size, signed):
    for row, value in itertools.product([0, 1, 63, 64, 65, 129], beyond(size, signed, 100)):
        values = [99, 0] * 65
        values[row] = values[-1] = value
        memory = indices(values, size, signed)
        assert kernels.check_indices(memory.first, size, size, signed, *NO_MASK, 100, 130) == row


@pytest.mark.parametrize("call", ["check_indices", "remap"])
def test_no_index_is_in_range_of_nothing(kernels, call):
    memory, to, mask = indices([0, 0], 4, 1), Output(8), Mask([False, True], "bits", 1)
    if call == "remap":
        found = kernels.remap(to.address, 4, memory.first, 4, 4, 1, *mask.arguments, memory.first, 0, 2)
    else:
        found = kernels.check_indices(memory.first, 4, 4, 1, *mask.arguments, 0, 2)
    assert found == 1


def remap(kernels, values, to_size, size, signed, mask, table, step=1, shift=0):
    memory, to = indices(values, size, signed, step, shift), Output(len(values) * to_size)
    map = Input(struct.pack(f"<{len(table)}i", *table), shift)
    bad = kernels.remap(
        to.address, to_size, memory.first, step * size, size, signed, *mask, map.address, len(table), len(values)
    )
    return bad, to.read()


@pytest.mark.parametrize("to_size", [1, 2, 4, 8])
@pytest.mark.parametrize(("size", "signed"), INTEGERS)
def test_valid_indices_are_mapped_and_others_keep_their_number(kernels, size, signed, to_size):
    source = random.Random(size)
    table = [source.randrange(-1, 128) for _ in range(100)]
    table[5] = -(2**31) if to_size >= 4 else -128
    for n in LENGTHS:
        form = FORMS[(n + to_size) % 5]
        valid, step = validity(n, form, size), STEPS[n % 7]
        values = [source.randrange(100) if v else source.choice([0, *beyond(size, signed, 100)]) for v in valid]
        if step == 0:
            values, valid = values[:1] * n, valid[:1] * n
        mask = Mask(valid, form, n)
        bad, data = remap(kernels, values, to_size, size, signed, mask.arguments, table, step, shift=n % 2)
        wanted = [table[value] if v else value for value, v in zip(values, valid, strict=True)]
        kept = [(value + (1 << 31)) % (1 << 32) - (1 << 31) for value in wanted]  # as far as 32 bits hold it
        width = (1 << 8 * to_size) - 1
        assert bad == -1
        assert data == b"".join((value & width).to_bytes(to_size, "little") for value in kept), (n, step)


@pytest.mark.parametrize("row", [0, 63, 64, 129])
def test_first_index_that_the_map_lacks_is_told(kernels, row):
    values = [1] * 130
    values[row] = values[-1] = 3
    assert remap(kernels, values, 2, 1, 1, NO_MASK, [5, 6, 7])[0] == row
