"""For a child with the double: DLPack producers over its memory, whose work may pend and whose tensors are counted."""

import ctypes

from support import counting

from . import fake
from .described import Memory

CPU, CUDA, CUDA_HOST, OPENCL, VULKAN, METAL = 1, 2, 3, 4, 7, 8
ROCM, ROCM_HOST, CUDA_MANAGED, ONEAPI = 10, 11, 13, 14
FLOAT32 = (2, 32, 1)
HOST = (CPU, 0)


class StreamRefused(ValueError):
    """A stream that the protocol forbids for this device."""


class _Lends:
    """What DLPack and the exchange table share: the memory, its device, the stream that the producer calls current."""

    def _keep(self, memory, current):
        self.block = memory
        self.current = memory.stream if current is None else current


class Tensor(_Lends, counting.CountingDLPack):
    """`__dlpack__` over a Memory, its `.block`; the books of `CountingDLPack`, and its other parameters by keyword.

    It orders its current stream before the one that it is given, as `order` has it for the device, and keeps every call
    in `.asked`. (`current` another than the one on which the work is pending: the classic mistake.)
    `to_host`: what it makes of `dl_device=(1, 0)`: "copies" (waits, and gives host memory), "refuses", "ignores";
    of `copy=False` beside that, `no_copy` is raised.
    """

    def __init__(self, memory, shape, *, current=None, to_host="copies", no_copy=ValueError, dtype=FLOAT32, **keywords):
        keywords.setdefault("device", (CUDA, memory.device))
        keywords.setdefault("data", memory.address if memory.size else 0)
        super().__init__(0, shape, dtype=dtype, **keywords)
        self._keep(memory, current)
        self.shape, self.dtype, self.to_host, self.no_copy = tuple(shape), dtype, to_host, no_copy
        self.given = []  # what it made in answer to a request for a copy

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        told = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        if dl_device == HOST and self.announced != HOST and self.to_host != "ignores":
            self.asked.append(told)
            return self._on_the_host(copy, max_version)
        if dl_device not in (None, self.announced, HOST):
            raise BufferError(f"{self.announced} is not {dl_device}")
        order(self.announced[0], self.current, stream, self.block.device)
        if copy:
            return self._copied(max_version, told)
        return super().__dlpack__(**told)

    def _on_the_host(self, copy, max_version):
        if self.to_host == "refuses":
            raise BufferError("this memory does not go to the host")
        if copy is False:
            raise self.no_copy("the host cannot have it without a copy")
        data = fake.d2h(self.block.address, self.block.size, self.current)
        made = counting.CountingDLPack(data, self.shape, dtype=self.dtype, flags=counting.IS_COPIED)
        self.given.append(made)
        return made.__dlpack__(max_version=max_version)

    def _copied(self, max_version, told):
        self.asked.append(told)
        twin = Memory(bytes(self.block.size), self.block.kind, stream=self.current, device=self.block.device)
        fake.copy_async(twin.address, self.block.address, twin.size, self.current)
        twin.data = self.block.data
        made = Tensor(twin, self.shape, dtype=self.dtype, device=self.announced, flags=counting.IS_COPIED)
        self.given.append(made)
        return made.__dlpack__(stream=-1, max_version=max_version)


def order(device, current, stream, number):
    """What a producer on device `number` does with `stream`, by the type of device: events, and no wait of the host."""
    if stream == -1:
        return
    if device in (CUDA, CUDA_MANAGED):
        if stream == 0:
            raise StreamRefused("0 is ambiguous on CUDA")
        fake.order(current, stream, number)  # None: the legacy stream
    elif device == ROCM:
        if stream in (1, 2):
            raise StreamRefused(f"{stream} is forbidden on ROCm")
        fake.order(current, stream or None, number)
    elif device in (CPU, CUDA_HOST, ROCM_HOST) and stream is not None:
        raise BufferError(f"memory of the host has no stream, and {stream} was given")


class ExchangeTensor(_Lends, counting.CountingExchange):
    """The exchange table alone. Its functions wait for nothing; `current_work_stream` tells the producer's stream.

    The stream is the one of the class: `ExchangeTensor.works_on(handle)`.
    """

    asked_for_stream = []
    _handle = [None]

    def __init__(self, memory, shape, *, current=None, dtype=FLOAT32, **keywords):
        keywords.setdefault("device", (CUDA, memory.device))
        keywords.setdefault("data", memory.address if memory.size else 0)
        super().__init__(0, shape, dtype=dtype, **keywords)
        self._keep(memory, current)
        self.works_on(self.current)

    @classmethod
    def works_on(cls, handle):
        cls._handle[0] = handle


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
def _current_work_stream(device, number, out):
    ExchangeTensor.asked_for_stream.append((device, number))
    out[0] = ExchangeTensor._handle[0]
    return 0


def _table_with_stream():
    capsule = counting.exchange_table()
    address = ctypes.pythonapi.PyCapsule_GetPointer
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = address(capsule, b"dlpack_exchange_api")
    last = table + 48  # behind the header (16 bytes) and four functions
    ctypes.c_void_p.from_address(last).value = ctypes.cast(_current_work_stream, ctypes.c_void_p).value
    return capsule


ExchangeTensor.__dlpack_c_exchange_api__ = _table_with_stream()
