"""The driver, by ctypes, and memory of every kind that it makes."""

import contextlib
import ctypes
import mmap

from gpu_checks import Skipped

ATTRIBUTES = {
    "pageable": 88, "host_page_tables": 100, "concurrent": 89, "direct_managed": 101, "registered_same": 91,
    "integrated": 18,
}  # fmt: skip
CUDA, CUDA_HOST, CUDA_MANAGED = 2, 3, 13  # DLPack's codes
MEMORY_TYPE, HOST_POINTER, NON_BLOCKING = 2, 4, 1
SIZE, LATE = 4096, 60_000  # bytes of a row; microseconds that pending work waits before it does anything


class DriverError(RuntimeError):
    """What the driver answered."""


class Gpu:
    """The driver, with the context of device 0 current."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        self.double = hasattr(self.lib, "fakecuda_calls")
        self.call("cuInit", 0)
        self.count = self.out("cuDeviceGetCount", kind=ctypes.c_int)
        if self.count:
            self.use(0)

    def call(self, name, *args):
        """Integers go as 64 bits, which registers and stack have room for whatever is read of them."""
        number = getattr(self.lib, name)(*(ctypes.c_uint64(arg) if isinstance(arg, int) else arg for arg in args))
        if number:
            text = ctypes.c_char_p()
            self.lib.cuGetErrorName(number, ctypes.byref(text))
            raise DriverError(f"{name}: {(text.value or b'an error').decode()} ({number})")

    def out(self, name, *args, kind=ctypes.c_uint64):
        value = kind()
        self.call(name, ctypes.byref(value), *args)
        return value.value or 0

    def use(self, device):
        self.call("cuCtxSetCurrent", self.out("cuDevicePrimaryCtxRetain", device, kind=ctypes.c_void_p))

    def attribute(self, number, device=0):
        return self.out("cuDeviceGetAttribute", number, device, kind=ctypes.c_int)

    def name(self, device):
        room = ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", room, 100, device)
        return room.value.decode()

    def pointer(self, attribute, address):
        """What the driver says of an address; 0: nothing."""
        with contextlib.suppress(DriverError):
            return self.out("cuPointerGetAttribute", attribute, address)
        return 0

    def stream(self):
        return self.out("cuStreamCreate", NON_BLOCKING)

    def delay(self, stream):
        """Let a stream do nothing for a while; no Python runs for it, so nobody can wait for the GIL."""
        self.call("cuLaunchHostFunc", stream, ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p), LATE)

    def wait(self, stream):
        self.call("cuStreamSynchronize", stream)

    def current(self):
        return self.out("cuCtxGetCurrent", kind=ctypes.c_void_p)

    def allocate(self, size):
        return self.out("cuMemAlloc_v2", size)

    def bytes_at(self, address, size):
        room = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", room, address, size)
        return room.raw


class _Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class _PoolProps(ctypes.Structure):
    _fields_ = [
        ("alloc_type", ctypes.c_int), ("handle_types", ctypes.c_int), ("location", _Location),
        ("security", ctypes.c_void_p), ("max_size", ctypes.c_size_t), ("usage", ctypes.c_ushort),
        ("reserved", ctypes.c_ubyte * 54),
    ]  # fmt: skip


def created(gpu, place, number, readers):
    """A block that is created, mapped and opened by steps."""
    props = (ctypes.c_int * 8)(1, 0, place, number)
    size = gpu.out("cuMemGetAllocationGranularity", props, 0, kind=ctypes.c_size_t)
    address = gpu.out("cuMemAddressReserve", size, 0, 0, 0)
    gpu.call("cuMemMap", address, size, 0, gpu.out("cuMemCreate", size, props, 0), 0)
    for reader in readers:
        gpu.call("cuMemSetAccess", address, size, (ctypes.c_int * 3)(reader, 0, 3), 1)
    return address


def registered(gpu, device_alias):
    pages = mmap.mmap(-1, SIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    gpu.call("cuMemHostRegister_v2", address, SIZE, 0)
    return (gpu.out("cuMemHostGetDevicePointer_v2", address, 0) if device_alias else address), pages


def pages_of_the_host():
    pages = mmap.mmap(-1, SIZE)
    return ctypes.addressof(ctypes.c_char.from_buffer(pages)), pages


def managed_of_a_pool(gpu):
    pool = gpu.out("cuMemPoolCreate", ctypes.byref(_PoolProps(alloc_type=2, location=_Location(1, 0))))
    return gpu.out("cuMemAllocFromPoolAsync", SIZE, pool, 0)


# kind of memory -> DLPack's code, how it is made (an address, or that and what keeps it)
KINDS = {
    "pageable": (1, lambda gpu: pages_of_the_host()),
    "pinned": (CUDA_HOST, lambda gpu: gpu.out("cuMemHostAlloc", SIZE, 0)),
    "pinned, write-combined": (CUDA_HOST, lambda gpu: gpu.out("cuMemHostAlloc", SIZE, 4)),
    "registered": (CUDA_HOST, lambda gpu: registered(gpu, device_alias=False)),
    "registered, at the address for the device": (CUDA, lambda gpu: registered(gpu, device_alias=True)),
    "managed": (CUDA_MANAGED, lambda gpu: gpu.out("cuMemAllocManaged", SIZE, 1)),
    "managed of a pool": (CUDA_MANAGED, managed_of_a_pool),
    "device": (CUDA, lambda gpu: gpu.allocate(SIZE)),
    "device, of a pool": (CUDA, lambda gpu: gpu.out("cuMemAllocAsync", SIZE, 0)),
    "device, created by steps": (CUDA, lambda gpu: created(gpu, 1, 0, [1])),
    "created on a node of the host": (CUDA_HOST, lambda gpu: created(gpu, 3, 0, [1, 3])),
    "pages of the host, called a device's": (CUDA, lambda gpu: pages_of_the_host()),
}
MAY_LACK = {
    "managed of a pool", "device, of a pool", "device, created by steps", "created on a node of the host",
}  # fmt: skip


KEPT = []  # pages that the driver may know still: nobody else may get their addresses


class Memory:
    """SIZE bytes of a kind, with a stream of their own; they live as long as the process."""

    def __init__(self, gpu, kind="device", device=0):
        self.gpu, self.kind, self.number = gpu, kind, device
        self.code, make = KINDS[kind]
        try:
            made = make(gpu)
        except (DriverError, AttributeError) as error:
            if kind in MAY_LACK:
                raise Skipped(str(error)) from None
            raise
        self.address, self.keeps = made if isinstance(made, tuple) else (made, None)
        self.stream, self.count = gpu.stream(), 0
        self.staged = gpu.allocate(SIZE)
        KEPT.append(self.keeps)
        gpu.call("cuCtxSynchronize")  # of a pool: it is there now

    def later(self):
        """Queue new bytes that come late, and say which."""
        self.count += 1
        data = bytes([self.count]) * SIZE
        self.gpu.call("cuMemcpyHtoD_v2", self.staged, data, SIZE)
        self.gpu.delay(self.stream)
        self.gpu.call("cuMemcpyAsync", self.address, self.staged, SIZE, self.stream)
        return data

    def told(self, *, size=SIZE, **changed):
        return Told(self, size, changed)


class Told:
    """`__cuda_array_interface__` alone."""

    def __init__(self, memory, size, changed):
        facts = {"shape": (size,), "typestr": "|u1", "data": (memory.address, False), "version": 3}
        self.memory, self.__cuda_array_interface__ = memory, facts | {"stream": memory.stream} | changed


class ByDLPack:
    """DLPack alone, over memory that its code says the place of."""

    def __init__(self, memory):
        import lend

        place = "cpu" if memory.code == 1 else (memory.code, memory.number)
        self.memory, self.asked = memory, []
        self.view = lend.View.from_pointer(
            memory.address, SIZE, "uint8", owner=memory, device=place, readonly=False
        )  # fmt: skip

    def __dlpack_device__(self):
        return self.view.__dlpack_device__()

    def __dlpack__(self, *, stream=None, **words):
        """Order the work of the memory's stream before that of the consumer, as the protocol wants it."""
        gpu = self.memory.gpu
        self.asked.append(stream)
        if stream is not None and stream != -1:
            event = gpu.out("cuEventCreate", 2)
            gpu.call("cuEventRecord", event, self.memory.stream)
            gpu.call("cuStreamWaitEvent", stream, event, 0)
        return self.view.__dlpack__(stream=-1 if self.memory.code != 1 else None, **words)
