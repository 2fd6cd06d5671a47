"""NaN, NaT and sentinels to bits and bytes: every type, width and step, against a comparison of Python's."""

import itertools
import math
import random
import struct

import pytest

from support.bare_memory import LENGTHS, PAINT, Input, Output, strided

INTEGER, FLOAT, BFLOAT = 0, 1, 2
LENGTHS = [*LENGTHS, 512, 513, 700]
STEPS = [-3, -2, -1, 0, 1, 2, 3]  # in elements


def bfloat(value):
    return struct.pack("<f", value)[2:]


def packed(size, kind):
    """What turns a value into its bytes."""
    if kind == BFLOAT:
        return bfloat
    letter = {(1, 0): "b", (2, 0): "h", (4, 0): "i", (8, 0): "q", (2, 1): "e", (4, 1): "f", (8, 1): "d"}[size, kind]
    return struct.Struct("<" + letter).pack


# bits of a NaN with another payload, and with the sign
NANS = {
    (2, FLOAT): (0x7C01, 0xFE00),
    (2, BFLOAT): (0x7F81, 0xFFC0),
    (4, FLOAT): (0x7F800001, 0xFFC00000),
    (8, FLOAT): (0x7FF0000000000001, 0xFFF8000000000000),
}
FLOATS = sorted(NANS)
WIDTHS = [1, 2, 4, 8]


def float_items(size, kind, n, nulls, seed):
    """n floats, of which those in `nulls` are NaN of some kind; no other is."""
    source, pack = random.Random(seed), packed(size, kind)
    values = [0.0, -0.0, 1.5, -2.0, math.inf, -math.inf]
    nans = [pack(math.nan), *(bits.to_bytes(size, "little") for bits in NANS[size, kind])]
    return [source.choice(nans) if i in nulls else pack(source.choice(values)) for i in range(n)]


def bitmap(at, n, nulls):
    """Bytes of paint with the validity written at a position."""
    size = (at + n + 7) // 8
    paint = int.from_bytes(bytes([PAINT]) * size, "little") & ((1 << at) - 1)
    return (paint | sum((i not in nulls) << i for i in range(n)) << at).to_bytes(size, "little")


def some(n, seed):
    """A few of n rows; now and then none, all, the first or the last."""
    source = random.Random(1000 * seed + n)
    return source.choice([
        set(), set(range(n)), {0} & set(range(n)), {n - 1} & set(range(n)),
        {i for i in range(n) if source.random() < 0.3},
    ])  # fmt: skip


def every_other(steps):
    """(n, step) of every length, each with every second step: the other ones with the next length."""
    return [(n, steps[i]) for row, n in enumerate(LENGTHS) for i in range(row % 2, len(steps), 2)]


def check(kernels, items, size, kind, value, step, at, nulls, shift=0):
    n = len(items)
    memory, to = strided(items, size, step * size, shift), Output((at + n + 7) // 8)
    count = kernels.nulls_to_bits(to.address, at, memory.first, step * size, size, kind, value, n)
    assert count == len(nulls)
    assert to.read() == (bitmap(at, n, nulls) if nulls else bytes([PAINT]) * to.size), (n, at, nulls)


@pytest.mark.parametrize(("size", "kind"), FLOATS)
def test_every_nan_becomes_a_null_and_no_other_float_does(kernels, size, kind):
    for n, step in every_other(STEPS):
        nulls = some(n, step)
        items = float_items(size, kind, n, nulls, n)
        if step == 0 and n:
            items, nulls = items[:1] * n, set(range(n)) if 0 in nulls else set()
        check(kernels, items, size, kind, None, step, (11 * n + step) % 64, nulls, shift=n % 2)


def test_nulls_are_written_at_every_position(kernels):
    for n, at in itertools.product(LENGTHS[::5], range(64)):
        nulls = some(n, at)
        check(kernels, float_items(8, FLOAT, n, nulls, at), 8, FLOAT, None, 1, at, nulls)


@pytest.mark.parametrize("size", WIDTHS)
def test_integer_sentinel_becomes_a_null_and_its_neighbours_do_not(kernels, size):
    pack = packed(size, INTEGER)
    least = -(1 << 8 * size - 1)
    others = [0, 1, -1, least + 1, -least - 1, least // 2, *([least + (1 << 32)] if size == 8 else [])]
    for n, step in every_other(STEPS):
        nulls = some(n, step)
        items = [pack(least if i in nulls else others[i % len(others)]) for i in range(n)]
        if step == 0 and n:
            items, nulls = items[:1] * n, set(range(n)) if 0 in nulls else set()
        check(kernels, items, size, INTEGER, pack(least), step, (3 * n + step) % 64, nulls, shift=n % 3)


@pytest.mark.parametrize("size", WIDTHS)
def test_integers_that_differ_in_one_bit_differ(kernels, size):
    pack = struct.Struct("<" + " BH I   Q"[size]).pack
    items = [pack(7 ^ (1 << bit)) for bit in range(8 * size)] + [pack(7)]
    check(kernels, items * 2, size, INTEGER, pack(7), 1, 0, {8 * size, 16 * size + 1})


@pytest.mark.parametrize(("size", "kind"), FLOATS)
def test_float_sentinel_is_compared_as_floats_are(kernels, size, kind):
    pack = packed(size, kind)
    values = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan] * 20
    for sentinel in (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf):
        nulls = {i for i, value in enumerate(values) if value == sentinel}
        check(kernels, [pack(value) for value in values], size, kind, pack(sentinel), 1, 5, nulls)


@pytest.mark.parametrize(("size", "kind"), FLOATS)
def test_a_sentinel_that_is_nan_means_any_nan(kernels, size, kind):
    items = float_items(size, kind, 130, {3, 64, 129}, 1)
    check(kernels, items, size, kind, NANS[size, kind][1].to_bytes(size, "little"), 1, 0, {3, 64, 129})


def test_nulls_that_begin_late_are_written_from_the_first_row_on(kernels):
    for first in (511, 512, 1023, 1024, 1100):
        nulls = {first, 1150}
        check(kernels, float_items(4, FLOAT, 1151, nulls, 1), 4, FLOAT, None, 1, 13, nulls)


def test_nulls_are_counted_without_an_output(kernels):
    memory = Input(b"".join(float_items(8, FLOAT, 1000, {0, 700, 999}, 1)))
    assert kernels.nulls_to_bits(None, 0, memory.address, 8, 8, FLOAT, None, 1000) == 3


@pytest.mark.parametrize("invert", [0, 1])
@pytest.mark.parametrize(("size", "kind"), [(1, INTEGER), (8, INTEGER), (2, BFLOAT), (8, FLOAT)])
def test_nulls_become_bytes(kernels, size, kind, invert):
    pack = packed(size, kind)
    for n, to_step in every_other([-2, -1, 1, 2, 3]):
        if not n:
            continue
        nulls = some(n, to_step)
        items = [pack(-1 if i in nulls else 2) for i in range(n)]
        memory, to = Input(b"".join(items)), Output(abs(to_step) * (n - 1) + 1)
        first = to.address + (to.size - 1 if to_step < 0 else 0)
        count = kernels.nulls_to_bytes(first, to_step, memory.address, size, size, kind, pack(-1), invert, n)
        wanted = bytearray([PAINT]) * to.size
        wanted[:: abs(to_step)] = bytes((i in nulls) ^ invert for i in range(n))[:: 1 if to_step > 0 else -1]
        assert count == len(nulls)
        assert to.read() == wanted
