"""The kernels beside numpy.copyto of the same bytes and the C floor, warm outputs, one interleaved run.

    python benchmarks/kernels.py [--rows 10000000] [--rounds 25] [NAME ...]

Minima in ms, and as multiples of the first column. The floor is built with AVX2 where its name does not say otherwise,
lend keeps to the baseline of the platform; without an x86-64 compiler its columns are left out.
"""

import argparse
import gc
import sys
import time

import numpy as np
from harness import build
from harness.case import FLOOR

from lend._core import kernels as k

NAT = np.iinfo("i8").min


def aligned(rows, dtype):
    """Zeros at a multiple of 64."""
    raw = np.zeros(rows * np.dtype(dtype).itemsize + 64, "u1")
    return raw[-raw.ctypes.data % 64 :][: rows * np.dtype(dtype).itemsize].view(dtype)


def copy_of(traffic):
    """numpy.copyto that reads and writes so many bytes in all."""
    source, to = aligned(int(traffic) // 2, "u1"), aligned(int(traffic) // 2, "u1")
    source[:] = 1
    return lambda: np.copyto(to, source)


def cases(n, floor):
    """Row to {column: what is timed}, the first to compare the others with; and what holds the memory."""
    at = lambda array: array.ctypes.data
    random = np.random.default_rng(1)
    bools, out1, bits, out_bits = (aligned(size, "u1") for size in (n, n, n // 8 + 8, n // 8 + 8))
    bools[:] = random.random(n) < 0.9
    bits[: n // 8] = np.packbits(bools, bitorder="little")[: n // 8]
    f8, plain8, i8, out8, pairs = (aligned(size, "f8") for size in (n, n, n, n, 2 * n))
    f8[:] = random.random(n)
    f8[::17] = np.nan
    i8, nat8, i4, out4, index = i8.view("i8"), aligned(n, "i8"), aligned(n, "i4"), aligned(n, "i4"), aligned(n, "i4")
    i8[:] = i4[:] = np.arange(n)
    nat8[:] = i8
    nat8[::13] = NAT
    index[:] = random.integers(0, 1000, n)
    table = np.arange(1000, dtype="i4")[::-1].copy()
    nat, zero, nan = NAT.to_bytes(8, "little", signed=True), bytes(8), np.float64("nan").tobytes()
    kept = (bools, out1, bits, out_bits, f8, plain8, i8, out8, pairs, nat8, i4, out4, index, table)
    a1, ao1, ab, aob, af8, ap8, ai8, ao8, app, an8, ai4, ao4, aix, atb = map(at, kept)
    every = (None, 0, 0, 0)
    rows = {
        "bool bytes -> bitmap": {
            "np.packbits": lambda: np.packbits(bools, bitorder="little"),
            "floor (SSE2)": lambda: floor.k_pack_sse2(bools, out_bits),
            "ours": lambda: k.bytes_to_bits(aob, 0, a1, 1, 0, n),
        },
        "bitmap -> bool bytes": {
            "copyto": copy_of(n * 9 / 8),
            "floor": lambda: floor.k_unpack_nt(bits, out1),
            "ours": lambda: k.bits_to_bytes(ao1, 1, ab, 0, 0, n),
            "ours, shifted": lambda: k.bits_to_bytes(ao1, 1, ab, 3, 0, n),
        },
        "bitmap -> bitmap": {
            "copyto": copy_of(n / 4),
            "shift": lambda: k.copy_bits(aob, 0, ab, 3, 0, n),
            "and": lambda: k.and_bits(aob, 0, ab, 3, ab, 0, n),
            "count": lambda: k.copy_bits(None, 0, ab, 3, 0, n),
        },
        "NaN -> bitmap": {
            "copyto": copy_of(n * 8.125),
            "floor": lambda: floor.k_nan(f8, out_bits),
            "ours": lambda: k.nulls_to_bits(aob, 0, af8, 8, 8, k.FLOAT, None, n),
            "ours, none": lambda: k.nulls_to_bits(aob, 0, ap8, 8, 8, k.FLOAT, None, n),
        },
        "NaT -> bitmap": {
            "copyto": copy_of(n * 8.125),
            "floor": lambda: floor.k_sent(nat8, out_bits),
            "ours": lambda: k.nulls_to_bits(aob, 0, an8, 8, 8, k.INTEGER, nat, n),
        },
        "float64 with a fill": {
            "copyto": copy_of(n * 16),
            "bits": lambda: k.fill_nulls(ao8, af8, 8, 8, ab, 0, 0, 0, zero, n),
            "bytes": lambda: k.fill_nulls(ao8, af8, 8, 8, a1, 0, 1, 0, zero, n),
        },
        "int -> float64 with NaN": {
            "copyto": copy_of(n * 16),
            "int64": lambda: k.to_float64(ao8, ai8, 8, 8, 1, ab, 0, 0, 0, nan, n),
            "int32": lambda: k.to_float64(ao8, ai4, 4, 4, 1, ab, 0, 0, 0, nan, n),
        },
        "stride 2": {
            "copyto": lambda: np.copyto(out8, pairs[::2]),
            "floor": lambda: floor.k_gather_nt(pairs[::2], out8),
            "ours": lambda: k.gather(ao8, 8, app, 16, 8, 1, n),
        },
        "reversed": {
            "copyto": lambda: np.copyto(out8, f8[::-1]),
            "floor": lambda: floor.k_gather_nt(f8[::-1], out8),
            "ours": lambda: k.gather(ao8, 8, af8 + 8 * n - 8, -8, 8, 1, n),
            "ours, swapped": lambda: k.gather(ao8, 8, af8, 8, 8, 8, n),
        },
        "offsets int32 -> int64": {
            "copyto": copy_of(n * 12),
            "floor": lambda: floor.k_off32to64_nt(i4, out8.view("i8")),
            "ours": lambda: k.widen(ao8, ai4, 4, 0, n),
        },
        "offsets int64 -> int32": {
            "copyto": copy_of(n * 12),
            "floor": lambda: floor.k_off64to32(i8, out4),
            "ends": lambda: k.narrow(ao4, ai8, 8, 0, k.ENDS, n),
            "monotone": lambda: k.narrow(ao4, ai8, 8, 0, k.MONOTONE, n),
            "each": lambda: k.narrow(ao4, ai8, 8, 0, k.EACH, n),
        },
        "looked at": {
            "copyto": copy_of(n * 4),
            "offsets, int32": lambda: k.check_offsets(ai4, 4, n),
            "indices, int32": lambda: k.check_indices(aix, 4, 4, 1, *every, 1000, n),
        },
        "indices remapped": {
            "copyto": copy_of(n * 8),
            "int32": lambda: k.remap(ao4, 4, aix, 4, 4, 1, *every, atb, 1000, n),
            "int32, nulls": lambda: k.remap(ao4, 4, aix, 4, 4, 1, ab, 0, 0, 0, atb, 1000, n),
        },
    }
    for row in rows.values():
        for column in [column for column in row if column.startswith("floor") and not floor]:
            del row[column]
    return rows, kept


def interleaved(row, rounds):
    """The least of so many turns of each, in ms; who begins rotates."""
    columns, least = list(row), dict.fromkeys(row, float("inf"))
    for turn in range(rounds):
        for i in range(len(columns)):
            column = columns[(turn + i) % len(columns)]
            began = time.perf_counter()
            row[column]()
            least[column] = min(least[column], 1e3 * (time.perf_counter() - began))
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="rows with one of these words; default: all")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=25)
    options = parser.parse_args()
    sys.path.insert(0, str(FLOOR))
    try:
        build.floor()
        import kernelfloor as floor
    except (ImportError, OSError, build.subprocess.CalledProcessError):
        floor = None
    gc.disable()
    rows, _kept = cases(options.rows // 8 * 8, floor)
    for name, row in rows.items():
        if options.names and not any(word in name for word in options.names):
            continue
        least = interleaved(row, options.rounds)
        first = next(iter(least.values()))
        print(f"{name:25}", "   ".join(f"{column} {ms:.3f} (x{ms / first:.2f})" for column, ms in least.items()))


if __name__ == "__main__":
    main()
