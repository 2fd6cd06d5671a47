"""Types of lend._core.kernels.

An address is an integer, or None for NULL; that of a value may be a bytes object with the value in it. Lengths n count
elements or bits, steps are bytes from one element to the next, offsets and `at` are bits. Whether the addresses may be
read and written is not asked. What each function does and where it stops is told in kernels.h.

A mask is four arguments: `mask` (None: all rows are valid), `at`, `mask_step` and `invert`. If `mask_step` is 0 it has
bits, from bit `at` on, else bytes.
"""

from typing import Final

# kind of nulls_to_bits
INTEGER: Final = 0
FLOAT: Final = 1
BFLOAT: Final = 2
# check of narrow
ENDS: Final = 0
MONOTONE: Final = 1
EACH: Final = 2

# these return the count of zeros, of nulls, in what was or would have been written
def bytes_to_bits(to: int | None, at: int, source: int, step: int, invert: int, n: int, /) -> int: ...
def copy_bits(to: int | None, at: int, source: int | None, offset: int, invert: int, n: int, /) -> int: ...
def and_bits(
    to: int | None, at: int, first: int | None, first_offset: int, second: int | None, second_offset: int, n: int, /
) -> int: ...

# value: an element, None for NaN; nothing is written if the result is 0
def nulls_to_bits(
    to: int | None, at: int, source: int, step: int, size: int, kind: int, value: int | bytes | None, n: int, /
) -> int: ...
def nulls_to_bytes(
    to: int,
    to_step: int,
    source: int,
    step: int,
    size: int,
    kind: int,
    value: int | bytes | None,
    invert: int,
    n: int,
    /,
) -> int: ...

# these have no result
def bits_to_bytes(to: int, step: int, source: int | None, offset: int, invert: int, n: int, /) -> None: ...
def gather(to: int, to_step: int, source: int, step: int, size: int, swap: int, n: int, /) -> None: ...
def fill_nulls(
    to: int,
    source: int,
    step: int,
    size: int,
    mask: int | None,
    at: int,
    mask_step: int,
    invert: int,
    value: int | bytes,
    n: int,
    /,
) -> None: ...
def widen(to: int, source: int, step: int, base: int, n: int, /) -> None: ...

# these return the first row that is wrong, or -1
def narrow(to: int, source: int, step: int, base: int, check: int, n: int, /) -> int: ...
def to_float64(
    to: int,
    source: int,
    step: int,
    size: int,
    signed: int,
    mask: int | None,
    at: int,
    mask_step: int,
    invert: int,
    null: int | bytes,
    n: int,
    /,
) -> int: ...
def check_offsets(source: int, size: int, n: int, /) -> int: ...
def check_indices(
    source: int,
    step: int,
    size: int,
    signed: int,
    mask: int | None,
    at: int,
    mask_step: int,
    invert: int,
    limit: int,
    n: int,
    /,
) -> int: ...
def remap(
    to: int,
    to_size: int,
    source: int,
    step: int,
    size: int,
    signed: int,
    mask: int | None,
    at: int,
    mask_step: int,
    invert: int,
    map: int,
    limit: int,
    n: int,
    /,
) -> int: ...
