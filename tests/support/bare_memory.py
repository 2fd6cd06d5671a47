"""Memory by its address: inputs that end where their allocation ends, outputs between guards."""

import ctypes
import os

_libc = ctypes.CDLL(None)
_libc.malloc.restype = ctypes.c_void_p
_libc.malloc.argtypes = [ctypes.c_size_t]
_libc.free.argtypes = [ctypes.c_void_p]

GUARD = 64
PAINT = 0xA5
LENGTHS = range(
    0, 131, int(os.environ.get("LEND_TEST_EVERY_LENGTH", "1"))
)  # of it an odd number: all residues still come


class Input:
    """A copy of some bytes that ends with its allocation, so that a sanitizer sees every read past it."""

    def __init__(self, data, shift=0):
        self.block = _libc.malloc(max(len(data) + shift, 1))
        self.address = self.block + shift  # an odd shift: aligned to nothing
        ctypes.memmove(self.address, bytes(data), len(data))

    def __del__(self):
        _libc.free(self.block)


class Output:
    """Bytes of paint, or those given, between two guards; at an address that is a multiple of 16, plus the shift."""

    def __init__(self, size, shift=0, data=None):
        self.size, self.shift = size, shift
        self.block = _libc.malloc(2 * GUARD + size + shift)
        ctypes.memset(self.block, PAINT, 2 * GUARD + size + shift)
        self.address = self.block + GUARD + shift
        if data is not None:
            ctypes.memmove(self.address, bytes(data), len(data))

    def __del__(self):
        _libc.free(self.block)

    def read(self):
        """The bytes between the guards, which must be as they were."""
        guards = ctypes.string_at(self.block, GUARD + self.shift), ctypes.string_at(self.address + self.size, GUARD)
        assert set(guards[0] + guards[1]) == {PAINT}, "written outside of the output"
        return ctypes.string_at(self.address, self.size)


def strided(items, size, step, shift=0, filler=0x5A):
    """Input that holds these items `step` bytes apart, in either direction; with the address of the first."""
    reach = abs(step) * max(len(items) - 1, 0) + (size if items else 0)
    data = bytearray([filler]) * reach
    first = reach - size if step < 0 and items else 0
    for i, item in enumerate(items):
        data[first + i * step : first + i * step + size] = item
    memory = Input(data, shift)
    memory.first = memory.address + first
    return memory
