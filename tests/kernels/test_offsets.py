"""Offsets from 32 to 64 bits and back, and whether they only rise."""

import itertools
import random
import struct

import pytest

from support.bare_memory import LENGTHS, PAINT, Input, Output, strided

ENDS, MONOTONE, EACH = 0, 1, 2
LENGTHS = [*LENGTHS, 513]
STEPS = [-3, -2, -1, 0, 1, 2, 3]  # in elements
MOST = 2**31 - 1
NAT = -(2**63)


def narrow(kernels, values, base=0, check=ENDS, step=1, shift=0):
    memory = strided([struct.pack("<q", value) for value in values], 8, 8 * step, shift)
    to = Output(4 * len(values), shift)
    return kernels.narrow(to.address, memory.first, 8 * step, base, check, len(values)), to.read()


def untouched(count):
    return bytes([PAINT]) * (4 * count)


@pytest.mark.parametrize("base", [0, 7, -5, 2**31, -(2**40)])
def test_widened_numbers_are_less_by_the_base(kernels, base):
    source = random.Random(1)
    for n in LENGTHS:
        step = STEPS[(n + base) % 7]
        values = [source.choice([0, -1, MOST, -(2**31), source.randrange(MOST)]) for _ in range(n)]
        if step == 0:
            values = values[:1] * n
        memory = strided([struct.pack("<i", value) for value in values], 4, 4 * step, shift=n % 2)
        to = Output(8 * n, shift=n // 2 % 2)
        kernels.widen(to.address, memory.first, 4 * step, base, n)
        assert to.read() == struct.pack(f"<{n}q", *(value - base for value in values))


@pytest.mark.parametrize("check", [ENDS, MONOTONE, EACH])
def test_narrowed_offsets_are_less_by_the_base(kernels, check):
    source = random.Random(2)
    for n, step in itertools.product(LENGTHS, [0, 1, 2, 3]):
        base = source.choice([0, 2**40, 12])
        values = [base, *sorted(base + source.randrange(2**31) for _ in range(n - 2)), base + MOST][:n]
        if step == 0:
            values = values[:1] * n
        assert narrow(kernels, values, base, check, step, shift=n % 2) == (
            -1,
            struct.pack(f"<{n}i", *(value - base for value in values)),
        )


@pytest.mark.parametrize("check", [ENDS, MONOTONE])
@pytest.mark.parametrize("last", [MOST + 1, 2**32, 2**63 - 1, -1, NAT])
def test_last_offset_that_does_not_fit_stops_before_anything_is_written(kernels, check, last):
    assert narrow(kernels, [0, 1, 2, last], 0, check) == (3, untouched(4))


@pytest.mark.parametrize("check", [ENDS, MONOTONE])
@pytest.mark.parametrize("first", [-1, NAT, 2**32])
def test_first_offset_that_does_not_fit_stops_before_anything_is_written(kernels, check, first):
    assert narrow(kernels, [first, 1, 2], 0, check) == (0, untouched(3))


def test_last_offset_is_asked_after_the_base_is_taken(kernels):
    assert narrow(kernels, [2**40, 2**40 + MOST], 2**40) == (-1, struct.pack("<2i", 0, MOST))
    assert narrow(kernels, [2**40, 2**40 + MOST], 2**40 - 1) == (1, untouched(2))


@pytest.mark.parametrize("value", [-1, NAT, 2**63 - 1, 5])
def test_narrowed_offset_that_falls_is_told_on_request(kernels, value):
    for row in (1, 2, 63, 64, 65, 128):
        values = list(range(10, 140))
        values[row] = value
        first = row if value < values[row - 1] else row + 1
        assert narrow(kernels, values, 0, MONOTONE)[0] == first


@pytest.mark.parametrize("value", [MOST + 1, -(2**31) - 1, 2**32, 2**63 - 1, NAT + 1])
def test_number_that_does_not_fit_is_told(kernels, value):
    for row in (0, 1, 63, 64, 129):
        values = [-(2**31), MOST] * 65
        values[row] = value
        assert narrow(kernels, values, 0, EACH)[0] == row


def test_nat_becomes_the_least_of_32_bits(kernels):
    assert narrow(kernels, [5, NAT, -5], 1, EACH) == (-1, struct.pack("<3i", 4, -(2**31), -6))


def check_offsets(kernels, values, size, shift=0):
    memory = Input(struct.pack(f"<{len(values)}{'i' if size == 4 else 'q'}", *values), shift)
    return kernels.check_offsets(memory.address, size, len(values))


@pytest.mark.parametrize("size", [4, 8])
def test_offsets_that_rise_or_stay_are_right(kernels, size):
    source = random.Random(size)
    for n in LENGTHS:
        values = sorted(source.choice([0, 1, 2 ** (8 * size - 1) - 1, source.randrange(1000)]) for _ in range(n))
        assert check_offsets(kernels, values, size, shift=n % 2) == -1


@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 66, 128, 129, 200])
def test_first_offset_that_falls_or_is_negative_is_told(kernels, size, n):
    least, most = -(2 ** (8 * size - 1)), 2 ** (8 * size - 1) - 1
    for row in range(n):
        for value in (-1, least, least + 1, row - 1 if row else -1):
            values = list(range(1, n + 1))
            values[row] = value
            assert check_offsets(kernels, values, size) == row
        values = list(range(n))
        values[row] = most
        assert check_offsets(kernels, values, size) == (row + 1 if row + 1 < n else -1)
