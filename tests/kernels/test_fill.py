"""Copies with a value under the nulls, and integers to float64: every mask, width and step."""

import math
import random
import struct

import pytest

from support.bare_memory import LENGTHS, Input, Output, strided

LENGTHS = [*LENGTHS, 512, 513, 700]
STEPS = [-3, -2, -1, 0, 1, 2, 3]  # in elements
SIZES = [1, 2, 3, 4, 8, 10, 16, 32]
INTEGERS = {(1, 1): "b", (1, 0): "B", (2, 1): "h", (2, 0): "H", (4, 1): "i", (4, 0): "I", (8, 1): "q", (8, 0): "Q"}
EXACT = 1 << 53


class Mask:
    """Which rows are valid, in one of the forms that a kernel reads; `arguments` are those of the functions."""

    def __init__(self, valid, form, seed):
        source = random.Random(seed)
        invert = int(form.endswith("inverted"))
        values = [bool(row) ^ invert for row in valid]
        at = step = 0
        if form == "none":
            self.memory, address = None, None
        elif form.startswith("bits"):
            at = source.randrange(64)
            data = bytearray(source.randbytes((at + len(values) + 7) // 8))
            for i, value in enumerate(values):
                byte, bit = divmod(at + i, 8)
                data[byte] = data[byte] & ~(1 << bit) | value << bit
            self.memory = Input(data)
            address = self.memory.address
        else:
            step = source.choice([-3, -1, 1, 2])
            self.memory = strided([bytes([source.randrange(1, 256) if v else 0]) for v in values], 1, step)
            address = self.memory.first
        self.arguments = address, at, step, invert


FORMS = ["none", "bits", "bits inverted", "bytes", "bytes inverted"]


def validity(n, form, seed):
    source = random.Random(1000 * seed + n)
    share = 1 if form == "none" else source.choice([0, 0.5, 0.99, 1])
    return [source.random() < share for _ in range(n)]


@pytest.mark.parametrize("size", SIZES)
def test_nulls_are_filled_and_the_rest_is_copied(kernels, size):
    source = random.Random(size)
    value = source.randbytes(size)
    for n in LENGTHS:
        form = FORMS[(n + size) % 5]
        valid, step = validity(n, form, size), STEPS[n % 7]
        items = [source.randbytes(size) for _ in range(n)]
        if step == 0:
            items = items[:1] * n
        memory, mask = strided(items, size, step * size, shift=n % 2), Mask(valid, form, n)
        to = Output(n * size, shift=n // 2 % 2)
        kernels.fill_nulls(to.address, memory.first, step * size, size, *mask.arguments, value, n)
        assert to.read() == b"".join(i if v else value for i, v in zip(items, valid, strict=True)), (n, step)


def test_nan_is_written_under_nulls_bit_for_bit(kernels):
    payload = 0x7FF8000000000123.to_bytes(8, "little")
    memory, mask, to = Input(struct.pack("<3d", 1, 2, 3)), Mask([1, 0, 1], "bits", 1), Output(24)
    kernels.fill_nulls(to.address, memory.address, 8, 8, *mask.arguments, payload, 3)
    assert to.read() == struct.pack("<d", 1) + payload + struct.pack("<d", 3)


def to_float64(kernels, values, size, signed, mask, step=1, null=math.nan, shift=0):
    items = [struct.pack("<" + INTEGERS[size, signed], value) for value in values]
    memory, to = strided(items, size, step * size, shift), Output(8 * len(items))
    null = struct.pack("<d", null)
    bad = kernels.to_float64(to.address, memory.first, step * size, size, signed, *mask, null, len(items))
    return bad, to.read()


@pytest.mark.parametrize(("size", "signed"), INTEGERS)
def test_integers_become_float64_with_nan_under_nulls(kernels, size, signed):
    source = random.Random(size)
    low = max(-(1 << 8 * size - 1), -EXACT) if signed else 0
    high = min((1 << 8 * size - signed) - 1, EXACT)
    for n in LENGTHS:
        form = FORMS[n % 5]
        valid, step = validity(n, form, size), STEPS[n % 7]
        values = [source.choice([low, high, 0, high // 2, source.randint(low, high)]) for _ in range(n)]
        if step == 0:
            values = values[:1] * n
        mask = Mask(valid, form, n)
        bad, data = to_float64(kernels, values, size, signed, mask.arguments, step, shift=n % 2)
        assert bad == -1
        wanted = [float(value) if v else math.nan for value, v in zip(values, valid, strict=True)]
        assert data == struct.pack(f"<{n}d", *wanted), (n, step)


@pytest.mark.parametrize(
    ("value", "signed"),
    [(EXACT + 1, 1), (-EXACT - 1, 1), (2**63 - 1, 1), (-(2**63), 1), (EXACT + 1, 0), (2**64 - 1, 0), (2**63, 0)],
)
def test_first_integer_without_an_exact_float64_is_told(kernels, value, signed):
    for row in (0, 1, 63, 64, 129):
        values = [EXACT] * 130
        values[row] = values[-1] = value
        assert to_float64(kernels, values, 8, signed, (None, 0, 0, 0))[0] == row


def test_integer_without_an_exact_float64_may_lie_under_a_null(kernels):
    mask = Mask([i != 70 for i in range(130)], "bits", 1)
    values = [i if i != 70 else 2**60 for i in range(130)]
    bad, data = to_float64(kernels, values, 8, 1, mask.arguments, null=-1.0)
    assert bad == -1
    assert data == struct.pack("<130d", *(i if i != 70 else -1.0 for i in range(130)))
