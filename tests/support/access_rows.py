"""For a child with the double: the rows of the table of what the host may touch, made, asked about and tried.

`told(names)` prints one JSON object: for each row what lend says of it, and what came of every export, by producer.
"""

import ctypes
import json

import lend
from lend.devices.access import access
from lend.errors import NotHostAccessible
from support import host_exports
from support.arrow_device_structs import OnDevice
from support.arrow_structs import Node
from support.fakecuda import fake
from support.fakecuda.described import UNTOLD, CudaArray, CudaArray0, CudaArray2, Memory
from support.fakecuda.tensors import CUDA, CUDA_HOST, CUDA_MANAGED, ExchangeTensor, Tensor
from support.host_exports import COUNT, SIZE, numbers

FIRST = [1, 2, 3, 4]
CODES = {"managed": CUDA_MANAGED, "managed of a pool": CUDA_MANAGED}
CODES |= dict.fromkeys(("pinned", "registered", "created on a node"), CUDA_HOST)
KINDS = {"managed of a pool": "pool managed", "created on a node": "node"}


class Pages:
    """Memory of the host that a GPU library calls its own, as CuPy does where devices reach all memory."""

    kind, device, size = "pages", 0, SIZE

    def __init__(self):
        data = numbers(FIRST)
        self.memory = ctypes.create_string_buffer(data, SIZE)
        self.address, self.stream, self.data = ctypes.addressof(self.memory), fake.stream(), data

    def fill(self, data):
        staged = fake.malloc_device(data)
        fake.copy_async(self.address, staged, SIZE, self.stream)
        self.data = data

    def free(self):
        """The collector does."""


def arrow(memory, code):
    """The same four numbers as a column of Arrow's on a device, with an event after the work on them."""
    with fake.on(memory.device):
        event = ctypes.c_void_p(fake.event())
        fake.record(event.value, memory.stream)
    node = Node("I", COUNT, 0, buffers=[None, memory.address])
    made = OnDevice(node, code, memory.device, sync_event=ctypes.addressof(event))
    made.event = event
    return made


def producers(memory, code):
    """Whatever may tell of memory on a device, by how much it knows of the work on it."""
    return {
        "an interface with its stream": CudaArray(memory, (COUNT,), "<u4", stream="own"),
        "an interface without a stream": CudaArray(memory, (COUNT,), "<u4", stream=UNTOLD),
        "an interface of version 2": CudaArray2(memory, (COUNT,), "<u4"),
        "an interface of version 0": CudaArray0(memory, (COUNT,), "<u4"),
        "DLPack": Tensor(memory, (COUNT,), dtype=(1, 32, 1), device=(code, memory.device)),
        "unversioned DLPack": Tensor(
            memory, (COUNT,), dtype=(1, 32, 1), device=(code, memory.device), protocol="legacy"
        ),
        "an exchange table": ExchangeTensor(memory, (COUNT,), dtype=(1, 32, 1), device=(code, memory.device)),
    }


def tried(name):
    memory = Pages() if name == "pages" else Memory(numbers(FIRST), KINDS.get(name, name))
    code = CODES.get(name, CUDA)
    found = {"ways": {}}
    for producer, obj in producers(memory, code).items():
        view = lend.view(obj)
        seen = access(view)
        found["says"] = (seen.name, seen.host, seen.wait)
        found["address"] = "none" if not seen.address else "same" if seen.address == view.ptr else "another"
        found["ways"][producer] = host_exports.tried(host_exports.VIEW, lambda obj=obj: lend.view(obj), memory.fill)
        found["ways"][f"{producer}, bytes"] = host_exports.tried(
            host_exports.BUFFER, lambda obj=obj: lend.buffer(obj), memory.fill
        )
        found["ways"][f"{producer}, a column"] = host_exports.tried(
            host_exports.COLUMN, lambda obj=obj: lend.column(obj), memory.fill
        )
    found["ways"]["Arrow, a column"] = host_exports.tried(
        host_exports.COLUMN, lambda: lend.column(arrow(memory, code)), memory.fill
    )
    view = lend.view(CudaArray(memory, (COUNT,), "<u4", stream="own"))
    found["explained"] = explained(view)
    found["by name"] = by_name(view, memory)
    fake.sync_device()
    memory.free()
    return found


def explained(view):
    try:
        plan = lend.explain(view, "numpy")
    except NotHostAccessible:
        return "refused"
    return [step.kind for step in plan.steps], plan.bytes_copied


def by_name(view, memory):
    """What `device="cpu"` does, which may copy; and what is said of it before."""
    memory.fill(numbers([91, 92, 93, 94]))
    try:
        said = lend.explain(view, "numpy", device="cpu").bytes_copied
    except NotHostAccessible:
        said = "refused"
    fake.reset()
    try:
        made = lend.to(view, "numpy", device="cpu").tolist()
    except NotHostAccessible:
        made = "refused"
    return said, made, fake.copies()


def told(*names):
    fake.init()
    print(json.dumps({name: tried(name) for name in names}))
