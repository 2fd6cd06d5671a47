"""The seeds of the fuzzer, made and not committed: each path taken in each way, and then used in each way.

An input is: path, oddities, what the producer claims, how lend is asked, what is done with what came out. A 0 is always
the well-behaved choice, so a seed is mostly zeros.
"""

import hashlib
import pathlib

USED = [0, 0, 1, 0, 2, 0, 2, 1, 13, 0, 6, 0, 8, 0, 9, 1, 3, 41, 1, 0, 4, 0, 1, 0, 7, 0, 10, 0, 12, 1, 14, 0]
CLAIMS = 12  # bytes of a claim that chooses nothing but 0, and a few to spare


def made(fuzz):
    """All seeds, as bytes."""
    for path in range(len(fuzz.paths)):
        for taker in range(len(fuzz.takers)):
            yield bytes([path, 0, *([0] * CLAIMS), taker])
        for use in range(len(fuzz.uses)):
            yield bytes([path, 0, *([0] * CLAIMS), 0, use, 1, use, 0, use])
        for dtype in range(30):
            # one dimension of six elements, to the last byte of the memory; values read
            yield bytes([path, 0, 0, dtype, 0, 6, *([0] * (CLAIMS - 4)), 0, 10, 0, 10, 2, 13, 0, 12, 1])
        for mode in range(10):
            # three dimensions, with each kind of strides
            yield bytes([path, 0, 0, 1, 3, 3, 2, 4, 0, mode, 5, 0, 0, 0, 0, 0, 0, 0, 10, 0, 2, 1, 0, 10, 2])
        for oddity in range(0xA0, 0x100, 3):
            yield bytes([path, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, oddity, 0xC5, 0, 0, 0, 0])
        for mood in range(0xD0, 0xF0):
            yield bytes([path, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, mood, 0, 0, 0, 0])
    for path, name in enumerate(fuzz.paths):
        for format in range(42 if name.startswith("arrow") else 0):
            for way in range(4):
                for room in (12, 30, 60):
                    # rows of one format, whole or within a table; then used in each way
                    for use in range(0, len(USED), 16):
                        head = [path, 0, way, 0, 5, *([0] * 6 if way & 1 else []), format]
                        yield bytes([*head, *([0] * room), *USED[use : use + 16]])


def write(fuzz, folder):
    """Write the seeds into a folder, under names that tell what is in them."""
    for seed in made(fuzz):
        name = hashlib.sha256(seed).hexdigest()[:16]
        pathlib.Path(folder, f"seed-{name}").write_bytes(seed)
