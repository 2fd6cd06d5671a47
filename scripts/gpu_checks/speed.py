"""The benchmark: copies of lend beside one copy of as many bytes by the driver, and the limit of the bus."""

import ctypes
import mmap
import time


def least(*calls, rounds=5):
    """The least time of each, taken in turns."""
    found = [float("inf")] * len(calls)
    for _ in range(rounds):
        for at, call in enumerate(calls):
            begun = time.perf_counter()
            made = call()
            found[at] = min(found[at], time.perf_counter() - begun)
            del made
    return found


def speed(gpu, size):
    """The rows of the benchmark, each copy into memory that was never touched before, as a copy of lend's is."""
    import lend
    from lend.devices import copying

    width = min(16384, size)
    size -= size % width
    device, pinned = gpu.allocate(2 * size), gpu.out("cuMemHostAlloc", size, 0)
    host = lend.view(bytearray(b"\1") * size)
    there = lend.View.from_pointer(device, (size // width, 2 * width), "uint8", owner=gpu, device="cuda:0")

    def fresh():
        return mmap.mmap(-1, size)

    def from_device():
        room = fresh()
        gpu.call("cuMemcpyDtoH_v2", ctypes.addressof(ctypes.c_char.from_buffer(room)), device, size)

    def to_device():
        block = gpu.allocate(size)
        gpu.call("cuMemcpyHtoD_v2", block, host.ptr, size)
        gpu.call("cuMemFree_v2", block)

    def on_device():
        block = gpu.allocate(size)
        gpu.call("cuMemcpyDtoD_v2", block, device, size)
        gpu.call("cuCtxSynchronize")
        gpu.call("cuMemFree_v2", block)

    def copied(view):
        return lambda: copying.to_device(view, 2, 0, "measured", "none")

    def to_host(view):
        return lambda: lend.to(view, "memoryview", device="cpu", sync="none")

    in_pinned = lend.View.from_pointer(pinned, size, "uint8", owner=gpu, device="cuda_host")
    whole = there.reshape(-1)[:size]
    rows = {
        "host to device": (lambda: lend.view(host, device="cuda:0"), to_device, "cuMemcpyHtoD_v2", "ratio"),
        "device to host": (to_host(whole), from_device, "cuMemcpyDtoH_v2", "ratio"),
        "device to host, rows that lie apart": (to_host(there[:, :width]), from_device, "cuMemcpyDtoH_v2", "to_bus"),
        "device to device": (copied(whole), on_device, "cuMemcpyDtoD_v2", "ratio"),
        "device to device, rows that lie apart": (copied(there[:, :width]), on_device, "cuMemcpyDtoD_v2", "ratio"),
        "pinned memory, read in place": (lambda: memoryview(in_pinned), from_device, "cuMemcpyDtoH_v2", "ratio"),
    }
    for what, (ours, driver, bus, goal) in rows.items():
        to, source = (device, pinned) if bus.startswith("cuMemcpyHtoD") else (pinned, device)
        if bus == "cuMemcpyDtoD_v2":
            to = device + size
        lend_s, driver_s, bus_s = least(
            ours, driver, lambda bus=bus, to=to, source=source: gpu.call(bus, to, source, size)
        )
        row = {"what": what, "bytes": size, "lend_s": lend_s, "driver_s": driver_s, "bus_s": bus_s}
        row |= {"ratio": lend_s / driver_s, "to_bus": lend_s / bus_s, "goal": goal}
        yield row | {"met": row[goal] <= 1.2}
