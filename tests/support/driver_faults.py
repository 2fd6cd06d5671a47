"""For a child with the double: each thing that lend does with a driver, while one function of that fails.

`told(function, codes)` prints one JSON list: for each code and operation what came of it, and what was left.
"""

import ctypes
import gc
import json
import struct

import lend
from lend.errors import LendError
from support.arrow_device_structs import OnDevice
from support.arrow_structs import Node
from support.fakecuda import fake
from support.fakecuda.described import UNTOLD, CudaArray, Memory
from support.fakecuda.tensors import CUDA, CUDA_MANAGED, Tensor

OLD, NEW = struct.pack("64I", *range(64)), struct.pack("64I", *range(100, 164))


class Numbered(CudaArray):
    """It says on which device it is."""

    def __dlpack_device__(self):
        return CUDA, self.block.device


class Scene:
    """Memory on device 1, while device 0 is current, with work pending; and what lend made of it before the fault."""

    def __init__(self):
        with fake.on(1):
            self.managed, self.far = Memory(OLD, "managed"), Memory(OLD)
            self.consumer = fake.stream()
            self.event = fake.event()
            self.managed.fill(NEW)
            self.far.fill(NEW)
            fake.record(self.event, self.far.stream)
        self.pointer = ctypes.c_void_p(self.event)
        self.host = lend.view(bytearray(NEW))

    def end(self):
        for stream in (self.managed.stream, self.far.stream, self.consumer):
            fake.destroy_stream(stream)
        fake.destroy_event(self.event)
        self.managed.free()
        self.far.free()

    def told(self, memory, kind=Numbered, **said):
        said.setdefault("stream", "own")
        return lend.view(kind(memory, (64,), "<u4", **said))

    def column(self):
        node = Node("I", 64, buffers=[None, self.far.address])
        return lend.column(OnDevice(node, CUDA, 1, sync_event=ctypes.addressof(self.pointer)))

    def tensor(self, memory, device, **said):
        return lend.view(Tensor(memory, (64,), dtype=(1, 32, 1), device=(device, 1), **said))

    def consumed(self, data):
        return fake.d2h(data, len(NEW), self.consumer)


def exported(scene, view, stream=None):
    view.__dlpack__(stream=stream or scene.consumer, max_version=(1, 1))
    with fake.on(1):
        return scene.consumed(view.ptr)


def on_device(view):
    return fake.peek(view.ptr, view.nbytes)


def halved(data):
    return b"".join(data[at : at + 4] for at in range(0, len(data), 8))


def rows(data):
    return b"".join(data[at : at + 64] for at in range(0, len(data), 128))


def by_event(scene):
    pair = scene.column().__arrow_c_device_array__()
    with fake.on(1):
        again = lend.column(pair)
        return lend.view(again.view(), device="cpu").tobytes()


def interface(scene):
    view = scene.tensor(scene.far, CUDA)
    stream = view.__cuda_array_interface__.get("stream", "unknown")
    with fake.on(1):
        if stream == "unknown":
            fake.sync_device()
        return fake.d2h(view.ptr, len(NEW), None if stream in (1, "unknown") else stream)


def released(scene):
    view = scene.tensor(scene.far, CUDA)
    view.__dlpack__(stream=scene.consumer, max_version=(1, 1))
    del view
    gc.collect()


def one_event(scene):
    table = lend.table({"a": lend.column(scene.told(scene.far)), "b": scene.column()})
    again = lend.table(table.__arrow_c_device_array__())
    return lend.view(again["b"].view(), device="cpu").tobytes()


# what is done, and the bytes that must come of it
OPERATIONS = {
    "a memoryview, by a stream": (lambda s: bytes(memoryview(s.told(s.managed))), NEW),
    "a memoryview, by nobody's": (lambda s: bytes(memoryview(s.told(s.managed, stream=UNTOLD))), NEW),
    "a memoryview, by a producer": (lambda s: bytes(memoryview(s.tensor(s.managed, CUDA_MANAGED))), NEW),
    "to the cpu": (lambda s: lend.view(s.told(s.far), device="cpu").tobytes(), NEW),
    "to the cpu, by a producer": (lambda s: lend.view(s.tensor(s.far, CUDA), device="cpu").tobytes(), NEW),
    "to the cpu, by an event": (lambda s: lend.view(s.column().view(), device="cpu").tobytes(), NEW),
    "to the cpu, put in order": (lambda s: lend.view(s.told(s.far)[::2], device="cpu").tobytes(), halved(NEW)),
    "to the cpu, rows": (
        lambda s: lend.view(s.told(s.far).reshape(2, 32)[:, :16], device="cpu").tobytes(),
        NEW[:64] + NEW[128:192],
    ),
    "to a device, from the host": (lambda s: on_device(lend.view(s.host, device="cuda:1")), NEW),
    "to a device, from another": (lambda s: on_device(lend.view(s.told(s.far), device="cuda:0")), NEW),
    "to a device, rows": (
        lambda s: on_device(lend.view(s.told(s.far).reshape(2, 32)[:, :16], device="cuda:0")),
        NEW[:64] + NEW[128:192],
    ),
    "DLPack, by a stream": (lambda s: exported(s, s.told(s.far)), NEW),
    "DLPack, by nobody's": (lambda s: exported(s, s.told(s.far, stream=UNTOLD)), NEW),
    "DLPack, by an event": (lambda s: exported(s, s.column().view()), NEW),
    "an interface": (interface, NEW),
    "an Arrow array": (by_event, NEW),
    "an Arrow array of several": (one_event, NEW),
    "a release": (released, None),
    "a host exporter": (lambda s: lend.view(OnHost()).tobytes(), OLD),
}


class OnHost:
    """A type that nobody knows, with memory of the host: the driver is asked about it."""

    def __init__(self):
        self.memory = ctypes.create_string_buffer(OLD, len(OLD))

    @property
    def __array_interface__(self):
        return {"version": 3, "shape": (64,), "typestr": "<u4", "data": (ctypes.addressof(self.memory), False)}


def outcome(operation, scene, wanted):
    try:
        came = operation(scene)
    except LendError as refused:
        return f"{type(refused).__name__}: {refused}".partition("\n")[0]
    except fake.Refused:
        return "the consumer failed"
    return "right" if came == wanted else "stale" if came == OLD else "wrong"


def told(function, *codes):
    from lend.devices import parking

    fake.init()
    fake.retain(1)
    found = []
    for code in map(int, codes):
        for name, (operation, wanted) in OPERATIONS.items():
            scene = Scene()
            outcome(operation, scene, wanted)  # once without, so that what is made once is there
            fake.sync(scene.consumer)
            while parking.waiting():
                pass
            scene.end()
            scene, books, context = Scene(), None, fake.current()
            books = [fake.books(), fake.refs(0), fake.refs(1)]
            fake.reset()
            fake.fail(function, code)
            came = outcome(operation, scene, wanted)
            used = fake.calls(function)
            fake.fail(function, 0, 0)
            gc.collect()
            with fake.on(1):
                fake.sync_device()
            for _ in range(20):
                parking.waiting()
            left = [fake.books(), fake.refs(0), fake.refs(1)] == books, fake.current() == context
            found.append([code, name, used > 0, came, *left])
            if not all(left):
                print_left = [fake.books(), fake.refs(0), fake.refs(1)], books
                found[-1].append(print_left)
            scene.end()
    print(json.dumps(found))
