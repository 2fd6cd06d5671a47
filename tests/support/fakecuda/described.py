"""For a child with the double: memory whose work is pending, and producers that describe it by a dict alone."""

import ctypes

from . import fake

UNTOLD = object()  # leaves a key away
KINDS = {
    "device": fake.malloc_device,
    "managed": fake.malloc_managed,
    "pinned": fake.malloc_pinned,
    "pool": fake.malloc_pool,
    "pool managed": fake.malloc_pool_managed,
}


class Memory:
    """Memory of the current device, or of `device`, with `data` in it; or on its way into it, with `pending`.

    The work is queued on `.stream`, one of its own unless another is given: it is done when that is waited for, and
    not before. `kind`: a word of KINDS, or "registered", "alias" (its address for the device), "created", "node".
    """

    def __init__(self, data, kind="device", *, pending=False, stream=UNTOLD, device=None):
        self.data, self.size, self.kind = bytes(data), len(data), kind
        self.device = fake.current_device() if device is None else device
        with fake.on(self.device):
            self.stream = fake.stream() if stream is UNTOLD else stream
            self.keeps, self.address, self._free = self._made(kind)
            if pending:
                self.fill(data)
        if data and not pending:
            fake.poke(self.address, data)

    def _made(self, kind):
        if kind in KINDS:
            address = KINDS[kind](max(self.size, 1))
            return None, address, lambda: fake.free(address)
        if kind in ("registered", "alias"):
            keeps = fake.malloc_registered(max(self.size, 1))
            return keeps, keeps.device if kind == "alias" else keeps.address, keeps.unregister
        keeps = (
            fake.Mapped(device=self.device)
            if kind == "created"
            else fake.Mapped(device=None, access=("device", "host"))
        )
        return keeps, keeps.address, keeps.unmap

    def fill(self, data):
        """Queue the copy of these bytes; what is there stays until somebody waits."""
        self.data = bytes(data)
        fake.h2d(self.address, data, self.stream)

    @property
    def now(self):
        """The bytes as they are, ordered after nothing."""
        return fake.peek(self.address, self.size)

    @property
    def is_ready(self):
        return self.now == self.data

    def free(self):
        self._free()


def strides_of(shape, itemsize):
    """Row-major strides in bytes."""
    found, step = [], itemsize
    for extent in reversed(tuple(shape)):
        found.append(step)
        step *= max(extent, 1)
    return tuple(reversed(found))


class CudaArray:
    """`__cuda_array_interface__` alone, over a Memory; every reading of it is counted.

    `stream`: UNTOLD, None, 0, 1, 2, a handle, or "own" for that of the memory. Other keywords replace keys of the dict,
    UNTOLD removes one. `mask`: another object with the interface.
    """

    version = 3

    def __init__(self, memory, shape, typestr="<f4", *, stream=None, readonly=False, offset=0, **changed):
        self.block, self.reads = memory, 0
        handle = memory.stream if isinstance(stream, str) else stream
        facts = {
            "shape": tuple(shape),
            "typestr": typestr,
            "data": (memory.address + offset if memory.size else 0, readonly),
            "strides": None,
            "version": self.version,
            "stream": handle if self.version >= 3 else UNTOLD,
        }
        self.facts = {key: value for key, value in (facts | changed).items() if value is not UNTOLD}

    def told(self):
        self.reads += 1
        return self.facts

    __cuda_array_interface__ = property(told)


class CudaArray2(CudaArray):
    """As version 2 has it, without a stream."""

    version = 2


class CudaArray0(CudaArray):
    """As version 0 has it: no stream, no mask, often no strides."""

    version = 0


def buffer_over(address, size):
    """A Python buffer over any address: made without touching it, and read by whoever believes it."""
    return memoryview((ctypes.c_ubyte * size).from_address(address))


class LyingInterface:
    """`__array_interface__`, which is for memory of the host, with the address of something else."""

    def __init__(self, memory, shape, typestr="<f4", *, readonly=False):
        self.block, self.reads = memory, 0
        self.facts = {"version": 3, "shape": tuple(shape), "typestr": typestr, "data": (memory.address, readonly)}

    @property
    def __array_interface__(self):
        self.reads += 1
        return self.facts


class LyingStruct:
    """`__array_struct__` with such an address."""

    def __init__(self, memory, shape, **facts):
        self.block, self.shape, self.facts = memory, tuple(shape), facts

    @property
    def __array_struct__(self):
        from support import counting

        return counting.array_struct(self.block.data, self.shape, data=self.block.address, **self.facts)
