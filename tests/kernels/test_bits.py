"""Bits and bytes: every length, every position of the first bit, against integers of Python's."""

import itertools
import random

import pytest

from support.bare_memory import LENGTHS, PAINT, Input, Output, strided

LENGTHS = [*LENGTHS, 511, 512, 513, 1100]
INVERT = pytest.mark.parametrize("invert", [0, 1])


def positions(n):
    """Each residue of a byte, in another word for each length: lengths in a row go through all 64."""
    return [8 * (n % 8) + residue for residue in range(8)]


def number(data):
    return int.from_bytes(data, "little")


def cut(data, offset, n):
    """n bits from an offset on."""
    return number(data) >> offset & ((1 << n) - 1)


def cases(seed):
    """(n, offset, at, bytes that hold n bits from the offset on): no byte more than that."""
    source = random.Random(seed)
    for n in LENGTHS:
        for offset in positions(n):
            at = (5 * offset + n) % 64
            yield n, offset, at, source.randbytes((offset + n + 7) // 8)


def expected(at, n, bits):
    """What bits written at a position make of paint: those before them stay, those after them in the byte are 0."""
    size = (at + n + 7) // 8
    paint = number(bytes([PAINT]) * size)
    return (paint & ((1 << at) - 1) | bits << at if n else paint).to_bytes(size, "little")


def check(output, at, n, bits, zeros, case):
    assert output.read() == expected(at, n, bits), case
    assert zeros == n - bits.bit_count(), case


@INVERT
def test_bits_move_to_any_position_and_are_counted(kernels, invert):
    for n, offset, at, data in cases(1):
        source, to = Input(data), Output((at + n + 7) // 8)
        zeros = kernels.copy_bits(to.address, at, source.address, offset, invert, n)
        bits = cut(data, offset, n) ^ ((1 << n) - 1) * invert
        check(to, at, n, bits, zeros, (n, offset, at))


def test_no_bit_is_written_for_no_rows(kernels):
    to = Output(8)
    assert kernels.copy_bits(to.address, 3, None, 0, 0, 0) == 0
    assert to.read() == bytes([PAINT]) * 8


@INVERT
def test_bits_of_nowhere_are_all_ones(kernels, invert):
    for n, _, at, _ in cases(2):
        to = Output((at + n + 7) // 8)
        zeros = kernels.copy_bits(to.address, at, None, 0, invert, n)
        check(to, at, n, 0 if invert else (1 << n) - 1, zeros, (n, at))


def test_bits_are_counted_without_an_output(kernels):
    for n, offset, _, data in cases(3):
        source = Input(data)
        assert kernels.copy_bits(None, 0, source.address, offset, 0, n) == n - cut(data, offset, n).bit_count()


@pytest.mark.parametrize("missing", ["neither", "first", "second"])
def test_what_is_valid_in_both_is_valid(kernels, missing):
    source = random.Random(4)
    for n, offset, at, data in cases(4):
        other_offset = (3 * offset + 2 * n) % 64
        more = source.randbytes((other_offset + n + 7) // 8)
        first, second, to = Input(data), Input(more), Output((at + n + 7) // 8)
        zeros = kernels.and_bits(
            to.address, at,
            None if missing == "first" else first.address, offset,
            None if missing == "second" else second.address, other_offset,
            n,
        )  # fmt: skip
        bits = (1 << n) - 1
        bits &= bits if missing == "first" else cut(data, offset, n)
        bits &= bits if missing == "second" else cut(more, other_offset, n)
        check(to, at, n, bits, zeros, (n, offset, at))


def test_validity_of_chunks_is_appended_bit_by_bit(kernels):
    source = random.Random(5)
    for _ in range(40):
        chunks = [(source.randrange(90), source.randrange(64)) for _ in range(6)]
        to = Output((sum(n for n, _ in chunks) + 7) // 8)
        at, bits, zeros = 0, 0, 0
        for n, offset in chunks:
            data = source.randbytes((offset + n + 7) // 8)
            chunk = Input(data)
            zeros += kernels.copy_bits(to.address, at, chunk.address, offset, 0, n)
            bits |= cut(data, offset, n) << at
            at += n
        assert to.read() == bits.to_bytes(to.size, "little")
        assert zeros == at - bits.bit_count()


@INVERT
def test_bytes_other_than_zero_become_bits(kernels, invert):
    source = random.Random(7)
    for n, step in itertools.product(LENGTHS, range(-3, 4)):
        at = (7 * n + step) % 64
        items = [source.choice([b"\0", b"\1", b"\2", b"\x80", b"\xff"]) for _ in range(n)]
        if step == 0:
            items = items[:1] * n
        memory, to = strided(items, 1, step), Output((at + n + 7) // 8)
        zeros = kernels.bytes_to_bits(to.address, at, memory.first, step, invert, n)
        bits = sum(((item != b"\0") ^ invert) << i for i, item in enumerate(items))
        check(to, at, n, bits, zeros, (n, at))


def test_bytes_become_bits_at_every_position(kernels):
    source = random.Random(8)
    for n, residue in itertools.product(LENGTHS[::5], range(64)):
        data = bytes(source.choices(range(2), k=n))
        memory, to = Input(data, shift=1), Output((residue + n + 7) // 8)
        zeros = kernels.bytes_to_bits(to.address, residue, memory.address, 1, 0, n)
        check(to, residue, n, sum(byte << i for i, byte in enumerate(data)), zeros, n)


@INVERT
def test_bits_become_bytes_of_0_or_1(kernels, invert):
    for n, offset, at, data in cases(6):
        to, source = Output(n, shift=at % 3), Input(data)
        kernels.bits_to_bytes(to.address, 1, source.address, offset, invert, n)
        bits = cut(data, offset, n)
        assert to.read() == bytes((bits >> i & 1) ^ invert for i in range(n)), (n, offset)


def test_bits_become_bytes_that_stand_apart(kernels):
    for n, offset, at, data in cases(9):
        step = [-3, -2, -1, 2, 3][at % 5]
        if not n:
            continue
        reach = abs(step) * (n - 1) + 1
        to, source = Output(reach), Input(data)
        kernels.bits_to_bytes(to.address + (reach - 1 if step < 0 else 0), step, source.address, offset, 0, n)
        wanted = bytearray([PAINT]) * reach
        wanted[:: abs(step)] = [cut(data, offset, n) >> i & 1 for i in range(n)][:: 1 if step > 0 else -1]
        assert to.read() == wanted, (n, offset)
