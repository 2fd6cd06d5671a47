"""CuPy in outline, over the double: what `scripts/check_on_gpu.py` asks of it, each by the name and the ways of the
real one (14.2.0), so that its rows are carried out. On PYTHONPATH, with `LEND_FAKECUDA` set, it is `import cupy`."""

import contextlib

import numpy

from support import counting
from support.fakecuda import fake
from support.fakecuda.described import Memory
from support.fakecuda.tensors import CUDA, CUDA_MANAGED, Tensor

float32 = numpy.float32
_state = {"stream": None, "kind": "device"}


class _Taken:
    """Memory of somebody else's, at an address of a device."""

    kind, device, stream = "taken", 0, None

    def __init__(self, address, size, keeps):
        self.address, self.size, self.keeps = address, size, keeps


class _Pointer:
    def __init__(self, ptr):
        self.ptr = ptr


class ndarray(Tensor):
    def __init__(self, block, dtype, code):
        self.typestr = numpy.dtype(dtype).str
        letter, bits = "iuf".index(self.typestr[1]), 8 * int(self.typestr[2:])
        shape = (block.size // (bits // 8),)
        super().__init__(block, shape, dtype=(letter, bits, 1), device=(code, block.device))
        self.data = _Pointer(block.address)

    # the stream is the current one of the thread, whenever it is asked for
    current = property(lambda self: _state["stream"], lambda self, value: None)

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": self.shape, "typestr": self.typestr, "data": (self.block.address, False), "version": 3,
            "strides": None, "stream": _state["stream"] or 1,
        }  # fmt: skip

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def get(self):
        return numpy.frombuffer(fake.d2h(self.block.address, self.block.size, _state["stream"]), self.typestr)

    def __getitem__(self, key):
        return _Part(self, key)

    def __setitem__(self, key, source):
        assert key is Ellipsis
        fake.copy_async(self.block.address, source.block.address, self.block.size, _state["stream"])


class _Part:
    def __init__(self, whole, key):
        self.whole, self.key = whole, key

    def get(self):
        return self.whole.get()[self.key]


def _array(data, dtype):
    kind = _state["kind"]
    return ndarray(Memory(data, kind), dtype, CUDA_MANAGED if kind == "managed" else CUDA)


def arange(count, dtype):
    return _array(numpy.arange(count, dtype=dtype).tobytes(), dtype)


def zeros(count, dtype):
    return _array(bytes(count * numpy.dtype(dtype).itemsize), dtype)


def from_dlpack(obj):
    code, _ = obj.__dlpack_device__()
    if code not in (CUDA, CUDA_MANAGED):
        raise BufferError(f"device {code}")
    taken = counting.consume(obj.__dlpack__(stream=_state["stream"] or 1, max_version=(1, 0)))
    fields = taken.fields
    size = int(numpy.prod(fields["shape"])) * fields["dtype"][1] // 8
    typestr = f"{'iuf'[fields['dtype'][0]]}{fields['dtype'][1] // 8}"
    return ndarray(_Taken(fields["data"] + fields["byte_offset"], size, taken), typestr, code)


def asarray(obj):
    facts = obj.__cuda_array_interface__
    if facts.get("stream") is not None:
        fake.sync(facts["stream"])
    size = int(numpy.prod(facts["shape"])) * int(facts["typestr"][2:])
    return ndarray(_Taken(facts["data"][0], size, obj), facts["typestr"], CUDA)


def get_default_memory_pool():
    return _Pool()


class _Pool:
    malloc = "device"


class cuda:
    malloc_managed = "managed"

    class Device:
        def synchronize(self):
            fake.sync_device()

    class Stream:
        def __init__(self, *, non_blocking=False):
            self.ptr = fake.stream(blocking=not non_blocking)
            self.before = []

        def __enter__(self):
            self.before.append(_state["stream"])
            _state["stream"] = self.ptr
            return self

        def __exit__(self, *error):
            _state["stream"] = self.before.pop()

        def synchronize(self):
            fake.sync(self.ptr)

    @staticmethod
    @contextlib.contextmanager
    def using_allocator(allocator):
        before, _state["kind"] = _state["kind"], allocator
        try:
            yield
        finally:
            _state["kind"] = before
