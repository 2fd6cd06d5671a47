"""For a child with the double: libraries in outline, each with exactly the doors that the real one has.

They hold memory of the double; nothing of the libraries is imported.
"""

import struct

from . import fake
from .described import UNTOLD, CudaArray, Memory
from .tensors import CUDA, CUDA_MANAGED, Tensor


def floats(count=4):
    return struct.pack(f"<{count}f", *range(count))


FLOATS = floats()


def _memory(data, keywords, **usual):
    """Takes its own keywords out of these."""
    own = usual | {name: keywords.pop(name) for name in ("kind", "pending", "stream", "device") if name in keywords}
    return Memory(data, **own)


class CupyLike(Tensor):
    """CuPy: DLPack, a version 3 interface that tells its current stream, and no way to the host but by name.

    The stream is the legacy one, told as 1, unless another is given. `kind`, `pending`, `stream` and `device` are those
    of its Memory, here and in the other classes.
    """

    def __init__(self, data=FLOATS, **keywords):
        memory = _memory(data, keywords, stream=None)
        self.described = CudaArray(memory, (len(data) // 4,), stream=memory.stream or 1)
        kind = CUDA_MANAGED if memory.kind == "managed" else CUDA
        super().__init__(memory, (len(data) // 4,), device=(kind, memory.device), **keywords)

    @property
    def __cuda_array_interface__(self):
        return self.described.told()

    def __array__(self, dtype=None, copy=None):
        raise TypeError("an implicit copy to the host is not allowed")

    def get(self):
        return fake.d2h(self.block.address, self.block.size, self.current)


class TorchLike(CupyLike):
    """torch: DLPack and a version 2 interface, which tells no stream."""

    def __init__(self, data=FLOATS, **keywords):
        super().__init__(data, **keywords)
        self.described.facts.pop("stream")
        self.described.facts["version"] = 2


class NumbaLike(CudaArray):
    """numba-cuda: the interface alone, with stream None; `__array__` copies to the host unasked, and is counted."""

    def __init__(self, data=FLOATS, *, tells=None, **keywords):
        super().__init__(_memory(data, keywords), (len(data) // 4,), stream=tells, **keywords)
        self.copied = 0

    def __array__(self, dtype=None, copy=None):
        import numpy as np

        self.copied += 1
        return np.frombuffer(fake.d2h(self.block.address, self.block.size, self.block.stream), "<f4")


class RmmLike(CudaArray):
    """rmm's DeviceBuffer: bytes, interface of version 0, pointer and size beside it."""

    version = 0

    def __init__(self, data=FLOATS, **keywords):
        super().__init__(_memory(data, keywords), (len(data),), "|u1", **keywords)
        self.ptr, self.size, self.nbytes = self.block.address, len(data), len(data)


class Gpumemoryview(CudaArray):
    """pylibcudf's: bytes of a part of a column, which says nothing of streams and is never read-only."""

    def __init__(self, memory):
        super().__init__(memory, (memory.size,), "|u1", stream=UNTOLD)
        self.ptr, self.nbytes, self.obj = memory.address, memory.size, memory


class PylibcudfColumn:
    """pylibcudf's Column: each buffer, and each child, has an owner of its own. Methods, as there."""

    def __init__(self, size, data=None, null_mask=None, children=(), *, null_count=0, offset=0, type=None, **keywords):
        self._size, self._null_count, self._offset, self._type = size, null_count, offset, type
        self._data = None if data is None else Gpumemoryview(Memory(data, **keywords))
        self._null_mask = None if null_mask is None else Gpumemoryview(Memory(null_mask, **keywords))
        self._children = list(children)
        self.asked = []

    def _told(self, name):
        self.asked.append(name)
        return getattr(self, f"_{name}")

    def type(self):
        return self._told("type")

    def size(self):
        return self._told("size")

    def null_count(self):
        return self._told("null_count")

    def offset(self):
        return self._told("offset")

    def data(self):
        return self._told("data")

    def null_mask(self):
        return self._told("null_mask")

    def children(self):
        return self._told("children")

    def num_children(self):
        return len(self._told("children"))

    def child(self, index):
        return self._told("children")[index]


class CudfLike(CudaArray):
    """cudf's Series: version 3 without a stream; nulls are a mask of BITS, told as bytes; reading it has an effect."""

    def __init__(self, data=FLOATS, *, valid=None, typestr="<f4", **keywords):
        memory = _memory(data, keywords)
        count = len(data) // int(typestr[2:])
        mask = UNTOLD
        if valid is not None:
            bits = sum(bool(is_valid) << row for row, is_valid in enumerate(valid))
            mask = Gpumemoryview(Memory(bits.to_bytes(-(-len(valid) // 8), "little")))
        super().__init__(memory, (count,), typestr, stream=UNTOLD, mask=mask, **keywords)

    @property
    def exposed(self):
        """A buffer that may be spilled no longer is after the interface was read."""
        return self.reads > 0

    def __array__(self, dtype=None, copy=None):
        raise TypeError("an implicit copy to the host is not allowed")
