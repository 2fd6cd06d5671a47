"""Strided elements to contiguous or strided memory, bytes swapped on the way."""

import random

import pytest

from support.bare_memory import LENGTHS, PAINT, Input, Output, strided

SIZES = [1, 2, 3, 4, 5, 8, 10, 12, 16, 32]
STEPS = [-3, -2, -1, 0, 1, 2, 3]  # in elements


def swaps(size):
    """Units whose bytes can be reversed in elements of this size: one of them in each, or several."""
    return [1, *(unit for unit in (2, 4, 5, 8, 10, 16) if size % unit == 0)]


def swapped(item, unit):
    return b"".join(item[i : i + unit][::-1] for i in range(0, len(item), unit))


def spread(items, size, step, total):
    """Paint with these items in it, so far apart."""
    wanted = bytearray([PAINT]) * total
    first = total - size if step < 0 else 0
    for i, item in enumerate(items):
        wanted[first + i * step : first + i * step + size] = item
    return wanted


@pytest.mark.parametrize("size", SIZES)
def test_elements_are_gathered_from_every_step(kernels, size):
    source = random.Random(size)
    for i, swap in enumerate(swaps(size)):
        check_gather(kernels, size, swap, LENGTHS[i % 3 :: 3], source)


def check_gather(kernels, size, swap, lengths, source):
    for n in lengths:
        step = STEPS[n % 7]
        items = [source.randbytes(size) for _ in range(n)]
        if step == 0:
            items = items[:1] * n
        memory, to = strided(items, size, step * size, shift=n % 2), Output(n * size, shift=n // 2 % 2)
        kernels.gather(to.address, size, memory.first, step * size, size, swap, n)
        assert to.read() == b"".join(swapped(item, swap) for item in items), n


@pytest.mark.parametrize("size", SIZES)
def test_elements_are_written_at_every_step(kernels, size):
    source = random.Random(size)
    for n in LENGTHS[1:]:
        to_step = STEPS[n % 7]
        items = [source.randbytes(size) for _ in range(n)]
        to = Output(abs(to_step) * size * (n - 1) + size, shift=n % 2)
        memory = Input(b"".join(items))
        first = to.address + (to.size - size if to_step < 0 else 0)
        kernels.gather(first, to_step * size, memory.address, size, size, size, n)
        assert to.read() == spread([item[::-1] for item in items], size, to_step * size, to.size), n


@pytest.mark.parametrize("size", SIZES)
def test_steps_need_not_be_multiples_of_the_size(kernels, size):
    source = random.Random(size)
    items = [source.randbytes(size) for _ in range(100)]
    memory, to = strided(items, size, size + 1), Output(99 * (size + 3) + size)
    kernels.gather(to.address, size + 3, memory.first, size + 1, size, 1, 100)
    assert to.read() == spread(items, size, size + 3, to.size)
