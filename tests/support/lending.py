"""A model of lending: which leases must still be open, and which bytes must be read, after anything that was done.

Two kinds of nodes. A `Lease` is one loan of a producer's memory. A `Thing` is an object that somebody has in hand, or
that another one keeps alive: a View, a memoryview, a capsule, a tensor. `pins` are the nodes that a node keeps alive;
what can be reached from the things in hand is alive, nothing else is.
"""

import functools
import threading
from dataclasses import dataclass, field
from typing import Any

ITEMSIZES = {"uint8": 1, "int16": 2, "int32": 4, "float64": 8, "float32": 4, "record": 3}


@dataclass(frozen=True)
class Layout:
    """Where the elements of an array lie in a block of bytes: `offset` and `strides` count bytes."""

    offset: int
    shape: tuple
    strides: tuple
    dtype: str

    @property
    def itemsize(self):
        return ITEMSIZES[self.dtype]

    @property
    def size(self):
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @functools.cached_property
    def is_row_major(self):
        return self.size == 0 or self._steps() == [(n, s) for n, s in _row_major(self.shape, self.itemsize) if n > 1]

    @property
    def is_sayable_by_dlpack(self):
        """DLPack counts strides in elements, and lend sends no negative ones; it has no records."""
        return self.dtype != "record" and self._lies_for_dlpack()

    def _lies_for_dlpack(self):
        return self.is_row_major or all(step >= 0 and step % self.itemsize == 0 for _, step in self._steps())

    def _steps(self):
        """Extent and stride of the dimensions that decide something."""
        return [(n, s) for n, s in zip(self.shape, self.strides, strict=True) if n > 1]

    def offsets(self):
        """Byte offsets of the elements in row-major order."""
        found = [self.offset]
        for extent, stride in zip(self.shape, self.strides, strict=True):
            found = [at + i * stride for at in found for i in range(extent)]
        return found

    @property
    def has_gaps(self):
        """True when a byte between the lowest and the highest belongs to no element."""
        covered = {at + i for at in self.offsets() for i in range(self.itemsize)}
        return len(covered) < self.span().size

    def read(self, block):
        """The bytes of the elements in row-major order."""
        return b"".join(bytes(block[at : at + self.itemsize]) for at in self.offsets())

    def indexed(self, index):
        """Basic indexing with integers, slices and None."""
        offset, shape, strides, dim = self.offset, [], [], 0
        for entry in index:
            if entry is None:
                shape.append(1)
                strides.append(self.itemsize)
                continue
            extent, stride = self.shape[dim], self.strides[dim]
            dim += 1
            if isinstance(entry, int):
                offset += (entry % extent) * stride
                continue
            places = range(*entry.indices(extent))
            offset += places.start * stride if places else 0
            shape.append(len(places))
            strides.append(stride * places.step)
        return Layout(offset, (*shape, *self.shape[dim:]), (*strides, *self.strides[dim:]), self.dtype)

    def transposed(self):
        return Layout(self.offset, self.shape[::-1], self.strides[::-1], self.dtype)

    def reinterpreted(self, dtype):
        """NumPy's rule: only the last dimension may change. None when it cannot."""
        itemsize = ITEMSIZES[dtype]
        if itemsize == self.itemsize:
            return Layout(self.offset, self.shape, self.strides, dtype)
        if not self.shape:
            return None
        nbytes = self.shape[-1] * self.itemsize
        has_gaps = self.shape[-1] != 1 and self.size and self.strides[-1] != self.itemsize
        if has_gaps or nbytes % itemsize:
            return None
        return Layout(self.offset, (*self.shape[:-1], nbytes // itemsize), (*self.strides[:-1], itemsize), dtype)

    def travelled(self):
        """The layout after a pickle: this very one if the elements leave no gap, else a compact one."""
        offsets = set(self.offsets())
        if not offsets or sorted(offsets) == list(range(min(offsets), max(offsets) + 1, self.itemsize)):
            return self
        return row_major(self.shape, self.dtype)

    def field(self, offset, dtype):
        """One field of the records."""
        return Layout(self.offset + offset, self.shape, self.strides, dtype)

    def span(self):
        """The bytes from the lowest to the highest."""
        offsets = self.offsets()
        low, high = (min(offsets), max(offsets) + self.itemsize) if offsets else (self.offset, self.offset)
        return Layout(low, (high - low,), (1,), "uint8")


def row_major(shape, dtype):
    """The layout of a fresh array."""
    return Layout(0, tuple(shape), tuple(step for _, step in _row_major(shape, ITEMSIZES[dtype])), dtype)


def _row_major(shape, itemsize):
    pairs, step = [], itemsize
    for extent in reversed(shape):
        pairs.append((extent, step))
        step *= max(extent, 1)
    return pairs[::-1]


@dataclass(eq=False)
class Block:
    """Memory that a producer owns, as it must be now; its address is learned from the first who tells it."""

    data: bytearray
    address: int | None = None
    writes: int = 0

    def write(self, at, data):
        self.data[at : at + len(data)] = data
        self.writes += 1


@dataclass(eq=False)
class Lease:
    """One loan; of lend's own memory when there is no producer."""

    producer: Any
    block: Block
    pins: list = field(default_factory=list)


@dataclass(eq=False)
class Thing:
    """An object in hand. `kind` says what it can do; `on` is the object of whose Py_buffer it is the holder."""

    kind: str
    obj: Any
    lease: Lease
    layout: Layout
    readonly: bool
    pins: list
    on: Any = None
    perhaps_on: Any = None
    counted: bool = False  # as one open export of the lease
    told: bool = False  # its address left by an array interface
    released: bool = False
    _read: tuple = (-1, b"")

    def bytes(self):
        """What must be read; worked out anew when somebody has written."""
        block = self.lease.block
        if self._read[0] != block.writes:
            self._read = block.writes, self.layout.read(block.data)
        return self._read[1]


def reachable(things):
    """Every node that the things in hand keep alive."""
    found, waiting = {}, list(things)
    while waiting:
        node = waiting.pop()
        if id(node) not in found:
            found[id(node)] = node
            waiting += node.pins
    return list(found.values())


def on_a_thread(work):
    """Run `work` on another thread; give or raise what it gave or raised."""
    answer = []

    def run():
        try:
            answer.append((True, work()))
        except BaseException as error:
            answer.append((False, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    went_well, value = answer.pop()
    try:
        if not went_well:
            raise value
        return value
    finally:
        del value  # an error in a local name of its own traceback is a cycle, which would keep `work` alive


def grows(block):
    """Whether a bytearray may be resized: exactly while nothing of it is lent."""
    try:
        block.append(0)
    except BufferError:
        return False
    block.pop()
    return True
