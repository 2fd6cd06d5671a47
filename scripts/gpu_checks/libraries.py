"""Libraries that are there, as producers and as consumers."""

import ctypes
import importlib

from gpu_checks import IN_PLACE, REFUSED, Skipped, bytes_of, check, right
from gpu_checks.driver import ATTRIBUTES, SIZE


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Skipped(str(error)) from None


def in_place(say, name, view, data):
    """Ask for one read by the host, of memory that it may read."""
    say(f"{name}: a read by the host", [IN_PLACE], bytes_of(view, data))


def by_name_alone(say, name, view, data):
    """Ask for device memory: it is refused, and copied by name."""
    import lend

    say(f"{name}: a read by the host", [REFUSED], bytes_of(view, data))
    say(f'{name}: device="cpu"', ["right"], right(lend.view(view, device="cpu"), data))


def same(first, second):
    return "the same memory" if first == second else "other memory"


@check("torch", "tensors")
def of_torch(gpu, say):
    import lend

    torch = library("torch")
    if not torch.cuda.is_available():
        raise Skipped("torch cannot use this driver")
    host = torch.arange(SIZE, dtype=torch.float32)
    data = bytes(memoryview(lend.view(host)))
    tensor, source, stream = torch.zeros(SIZE, device="cuda:0"), host.to("cuda:0"), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        gpu.delay(stream.cuda_stream)
        tensor.copy_(source)
        by_name_alone(say, "a tensor, written by the current stream", lend.view(tensor), data)
    here = lend.view(lend.view(tensor)[::2], device="cpu").tolist()
    say("every second element", ["right"], "right" if here == host[::2].tolist() else "wrong")
    say(
        "a View as a tensor",
        ["the same memory"],
        same(torch.from_dlpack(lend.view(tensor)).data_ptr(), tensor.data_ptr()),
    )
    made = torch.from_dlpack(lend.view(host, device="cuda:0"))
    say(
        "a copy of lend's as a tensor",
        ["cuda:0, right"],
        f"{made.device}, {'right' if torch.equal(made.cpu(), host) else 'wrong'}",
    )
    made = lend.to(host, "torch", device="cuda:0")
    say(
        'lend.to(x, "torch", device="cuda:0")',
        ["cuda:0, right"],
        f"{made.device}, {'right' if torch.equal(made.cpu(), host) else 'wrong'}",
    )
    in_place(say, "a pinned tensor", lend.view(host.pin_memory()), data)


@check("cupy", "arrays")
def of_cupy(gpu, say):
    import lend

    cupy = library("cupy")
    source = cupy.arange(SIZE, dtype="f4")
    data, stream = source.get().tobytes(), cupy.cuda.Stream(non_blocking=True)
    for name, allocator in {"device": None, "managed": cupy.cuda.malloc_managed}.items():
        with cupy.cuda.using_allocator(allocator or cupy.get_default_memory_pool().malloc):
            array = cupy.zeros(SIZE, "f4")
        cupy.cuda.Device().synchronize()
        with stream:
            gpu.delay(stream.ptr)
            array[...] = source
            ask = in_place if name == "managed" and gpu.attribute(ATTRIBUTES["concurrent"]) else by_name_alone
            ask(say, f"a {name} array, written by the current stream", lend.view(array), data)
        stream.synchronize()
        say(
            f"a View of {name} memory as an array",
            ["the same memory"],
            same(cupy.from_dlpack(lend.view(array)).data.ptr, array.data.ptr),
        )
        say(
            f"the same of {name} memory, by its interface",
            ["the same memory"],
            same(cupy.asarray(lend.view(array)).data.ptr, array.data.ptr),
        )
    here = lend.view(lend.view(source)[::2], device="cpu").tolist()
    say("every second element", ["right"], "right" if here == source[::2].get().tolist() else "wrong")
    made = cupy.asarray(lend.view(data, device="cuda:0"))
    say("a copy of lend's as an array", ["right"], "right" if made.get().tobytes() == data else "wrong")


@check("numba", "arrays")
def of_numba(gpu, say):
    import lend

    numpy, cuda = library("numpy"), library("numba.cuda")
    host = numpy.arange(SIZE, dtype="f4")
    stream, array = cuda.stream(), cuda.device_array(SIZE, "f4")
    source = cuda.to_device(host)
    cuda.synchronize()
    array = cuda.device_array(SIZE, "f4", stream=stream)
    gpu.delay(stream.handle.value if hasattr(stream.handle, "value") else int(stream.handle))
    array.copy_to_device(source, stream=stream)
    by_name_alone(say, "an array, written by its stream", lend.view(array), host.tobytes())
    here = lend.view(source[::2], device="cpu").tolist()
    say("every second element", ["right"], "right" if here == host[::2].tolist() else "wrong")
    made = cuda.as_cuda_array(lend.view(source))
    say(
        "a View as an array",
        ["the same memory"],
        same(made.device_ctypes_pointer.value, source.device_ctypes_pointer.value),
    )
    made = cuda.as_cuda_array(lend.view(host, device="cuda:0"))
    say("a copy of lend's as an array", ["right"], "right" if (made.copy_to_host() == host).all() else "wrong")
    for name, make in {"managed": cuda.managed_array, "pinned": cuda.pinned_array, "mapped": cuda.mapped_array}.items():
        there = make(SIZE, "f4")
        there[:] = host
        if name == "managed" and not gpu.attribute(ATTRIBUTES["concurrent"]):
            continue
        in_place(say, f"a {name} array", lend.view(there), host.tobytes())


@check("cuda.core", "buffers")
def of_cuda_core(gpu, say):
    import lend

    core, utils = library("cuda.core"), library("cuda.core.utils")
    device = core.Device(0)
    device.set_current()
    stream, data = device.create_stream(), bytes(range(256)) * (SIZE // 256)
    pinned = core.LegacyPinnedMemoryResource().allocate(SIZE, stream=stream)
    ctypes.memmove(int(pinned.handle), data, SIZE)
    in_place(say, "a pinned buffer", lend.view(pinned), data)
    block = device.allocate(SIZE, stream=stream)
    gpu.delay(int(stream.handle))
    block.copy_from(pinned, stream=stream)
    by_name_alone(say, "a buffer, written by a stream", lend.view(block), data)
    seen = utils.StridedMemoryView.from_any_interface(lend.view(block), stream_ptr=-1)
    say("a View as a StridedMemoryView", ["the same memory"], same(seen.ptr, int(block.handle)))
    managed = core.ManagedMemoryResource().allocate(SIZE, stream=stream)
    gpu.delay(int(stream.handle))
    managed.copy_from(pinned, stream=stream)
    if gpu.attribute(ATTRIBUTES["concurrent"]):
        in_place(say, "a managed buffer, written by a stream", lend.view(managed), data)
    stream.sync()
