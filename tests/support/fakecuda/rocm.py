"""For a child with the double of HIP (`hip=6`): memory of each kind of ROCm's, and producers over it."""

import ctypes

from support import counting

from . import fake

CPU, ROCM, ROCM_HOST = 1, 10, 11
SIZE_T, PTR, ANY_TO_ANY = fake.SIZE, fake.PTR, 4


def made(name, size, *rest):
    return fake.out(name, SIZE_T(size), *rest)


def stream():
    return fake.out("hipStreamCreateWithFlags", 1)


def copy(to, address, size, on):
    fake.ok("hipMemcpyAsync", PTR(to), PTR(address), SIZE_T(size), ANY_TO_ANY, PTR(on))


def read_on(address, size, on):
    """Bytes of the device as work of a stream finds them."""
    there = made("hipHostMalloc", size, 0)
    copy(there, address, size, on)
    fake.ok("hipStreamSynchronize", PTR(on))
    return ctypes.string_at(there, size)


def last_error():
    return fake.lib.hipPeekAtLastError()


def current_device():
    return fake.out("hipGetDevice", kind=ctypes.c_int)


def use(device):
    fake.ok("hipSetDevice", device)


class Memory:
    """Bytes of a kind on the current device: "device", "pinned", "registered", "alias", "managed" or "pages".

    "alias" is the device's address of registered memory, "pages" what malloc gives, which HIP does not know.
    """

    def __init__(self, data, kind="device"):
        self.kind, self.size, self.device, self.stream = kind, len(data), current_device(), stream()
        if kind in ("registered", "alias", "pages"):
            self.keeps = ctypes.create_string_buffer(bytes(data), self.size)
            self.address = self.host = ctypes.addressof(self.keeps)
            if kind != "pages":
                fake.ok("hipHostRegister", PTR(self.host), SIZE_T(self.size), 0)
            if kind == "alias":
                self.address = fake.out("hipHostGetDevicePointer", PTR(self.host), 0)
            return
        name, *rest = {"device": ("hipMalloc",), "pinned": ("hipHostMalloc", 0), "managed": ("hipMallocManaged", 1)}[
            kind
        ]
        self.address = self.host = made(name, max(self.size, 1), *rest)
        fake.poke(self.address, data)

    def fill(self, data):
        """Queue the copy of these bytes."""
        self.data = bytes(data)
        staged = made("hipHostMalloc", self.size, 0)
        ctypes.memmove(staged, self.data, self.size)
        copy(self.address, staged, self.size, self.stream)


class Tensor(counting.CountingDLPack):
    """`__dlpack__` as CuPy's and torch's for ROCm: 0 and None are the default stream, 1 and 2 forbidden."""

    def __new__(cls, memory, code=ROCM, shape=None, **facts):
        return super().__new__(cls, 0, shape or (memory.size // 4,))

    def __init__(self, memory, code=ROCM, shape=None, **facts):
        facts = {"dtype": (1, 32, 1), "device": (code, memory.device), "data": memory.address} | facts
        super().__init__(0, shape or (memory.size // 4,), **facts)
        self.block = memory

    def __dlpack__(self, *, stream=None, **asked):
        if stream in (1, 2):
            raise ValueError(f"{stream} is forbidden on ROCm")
        if self.announced[0] == ROCM_HOST and stream not in (None, -1):
            raise BufferError(f"memory of the host has no stream, and {stream} was given")
        if stream != -1 and self.announced[0] == ROCM:
            before = current_device()
            use(self.block.device)
            event = fake.out("hipEventCreateWithFlags", 2)
            fake.ok("hipEventRecord", PTR(event), PTR(self.block.stream))
            fake.ok("hipStreamWaitEvent", PTR(stream or None), PTR(event), 0)
            use(before)
        return super().__dlpack__(stream=stream, **asked)


class Described:
    """`__cuda_array_interface__` of memory of ROCm, as torch has it there, with the device that it announces."""

    def __init__(self, memory, stream):
        self.block = memory
        self.__cuda_array_interface__ = {
            "shape": (memory.size // 4,), "typestr": "<u4", "data": (memory.address, False), "version": 3,
            "stream": stream,
        }  # fmt: skip

    def __dlpack_device__(self):
        return ROCM, self.block.device
