"""What is a case of its own: no bytes, freed memory, lies, forks, several devices, streams, captures, copies."""

import ctypes
import gc
import os
import signal
import weakref

from gpu_checks import DIES, NOT_FOR_THE_HOST, Skipped, check, refused, right
from gpu_checks.driver import HOST_POINTER, SIZE, ByDLPack, Memory, Told


@check("single", "size 0")
def size_nought(gpu, say):
    import lend

    memory = Memory(gpu)
    gpu.call("cuMemFree_v2", memory.address)
    view = lend.view(memory.told(size=0))
    say("a read of no bytes at an address that was freed", [str([])], str(view.tolist()))
    say("its device", ["cuda"], str(view.device).split(":")[0])
    say("the address that is told on", ["0"], str(view.__cuda_array_interface__["data"][0]))


@check("single", "freed")
def freed(gpu, say):
    import lend

    memory = Memory(gpu)
    view = lend.view(memory.told())
    gpu.call("cuMemFree_v2", memory.address)
    say("a read of device memory that was freed", [NOT_FOR_THE_HOST], refused(view.tobytes))


@check("single", "beyond its allocation")
def beyond(gpu, say):
    import lend

    for kind in ("managed", "pinned"):
        far = Memory(gpu, kind).told(size=1 << 32)
        say(
            f"{kind} memory, said to be of 4 GiB",
            [NOT_FOR_THE_HOST],
            refused(lambda far=far: memoryview(lend.view(far))),
        )


@check("single", "called the host's")
def lying(gpu, say):
    import lend

    memory = Memory(gpu)
    room = (ctypes.c_ubyte * SIZE).from_address(memory.address)

    class Interface:
        @property
        def __array_interface__(self):
            return {"shape": (SIZE,), "typestr": "|u1", "data": (memory.address, False), "version": 3}

    for name, liar in {"a buffer": memoryview(room), "ctypes": room, "an interface of the host": Interface()}.items():
        say(f"{name} over device memory", [NOT_FOR_THE_HOST], refused(lambda liar=liar: lend.view(liar).tobytes()))


@check("single", "a bare read by the host", dies=True)
def bare(gpu, say):
    memory = Memory(gpu)
    if gpu.pointer(HOST_POINTER, memory.address):
        raise Skipped("the driver gives an address of device memory for the host")
    ctypes.string_at(memory.address, 1)
    say("device memory at its own address, without lend", [DIES], "read")


@check("single", "after a fork")
def after_fork(gpu, say):
    import lend
    from lend.devices.access import access

    view = lend.view(Memory(gpu).told())
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(10)
        try:
            os.write(writing, f"{access(view).name}; {refused(view.tobytes)}".encode())
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    os.close(writing)
    got = f"ended with {status}" if status else os.read(reading, 1000).decode()
    say("device memory in a child that was forked", [f"device, as told; {NOT_FOR_THE_HOST}"], got)


@check("single", "another device")
def other_devices(gpu, say):
    import lend

    if gpu.count < 2:
        raise Skipped("there is one device")
    before = gpu.current()
    say("a device that has no context", ["refused: LendError"], refused(lambda: lend.view(b"1234", device="cuda:1")))
    gpu.use(1)
    memory = Memory(gpu, device=1)
    gpu.call("cuCtxSetCurrent", before)
    data = memory_on(gpu, memory)
    view = lend.view(memory.told())
    say("a copy to the host while device 0 is current", ["right"], right(lend.view(view, device="cpu"), data))
    say(
        "a copy from device to device",
        ["right"],
        right(lend.view(lend.view(view, device="cuda:0"), device="cpu"), data),
    )
    say("the number of the device by the driver", ["1"], str(lend.view(view, device="cuda:1").device.id))
    say("the current context", ["as it was"], "as it was" if gpu.current() == before else "another")


def memory_on(gpu, memory):
    before = gpu.current()
    gpu.use(memory.number)
    data = memory.later()
    gpu.call("cuCtxSetCurrent", before)
    return data


@check("single", "a device that is not there")
def no_such_device(gpu, say):
    import lend

    say("a copy to device 77", ["refused: LendError"], refused(lambda: lend.view(b"1234", device="cuda:77")))


@check("order", "the consumer's stream")
def consumers_stream(gpu, say):
    import lend

    for way in ("an interface with its stream", "DLPack"):
        for stream in (gpu.stream(), 1, 2):
            memory = Memory(gpu)
            there = gpu.out("cuMemHostAlloc", SIZE, 0)
            ctypes.memset(there, 0, SIZE)
            data = memory.later()
            view = lend.view(memory.told() if way != "DLPack" else ByDLPack(memory))
            capsule = view.__dlpack__(stream=stream, max_version=(1, 0))
            gpu.call("cuMemcpyAsync", there, memory.address, SIZE, stream)
            gpu.wait(stream)
            got = "after the producer's work" if ctypes.string_at(there, SIZE) == data else "too early"
            say(f"{way}: work on stream {stream if stream < 3 else 'of its own'}", ["after the producer's work"], got)
            del capsule


@check("order", "a release")
def release(gpu, say):
    import lend
    from lend.devices import parking

    memory, stream = Memory(gpu), gpu.stream()
    producer = Told(memory, SIZE, {"version": 2})
    del producer.__cuda_array_interface__["stream"]
    held = weakref.ref(producer)
    view = lend.view(producer)
    view.__dlpack__(stream=stream, max_version=(1, 0))
    gpu.delay(stream)
    gpu.call("cuMemcpyAsync", memory.staged, memory.address, SIZE, stream)
    del view, producer
    gc.collect()
    say("a lease while its consumer's stream works", ["kept"], "kept" if held() is not None else "given back")
    gpu.wait(stream)
    parking.waiting()
    gc.collect()
    say("the same, when the stream is done", ["given back"], "kept" if held() is not None else "given back")


@check("order", "a capture")
def capture(gpu, say):
    import lend

    memory, stream, graph = Memory(gpu, "pinned"), gpu.stream(), ctypes.c_void_p()
    view = lend.view(memory.told(stream=stream))
    gpu.call("cuStreamBeginCapture_v2", stream, 0)
    gpu.call("cuMemcpyAsync", memory.address, memory.staged, SIZE, stream)
    say("a read whose wait would end a capture", ["refused: StreamError"], refused(lambda: memoryview(view)))
    gpu.call("cuStreamEndCapture", stream, ctypes.byref(graph))
    say("the capture", ["whole"], "whole" if graph.value else "lost")


@check("copies", "layouts")
def layouts(gpu, say):
    import lend

    host = lend.view(bytes(i * 7 % 251 for i in range(6 * 32 * 256))).reshape((6, 32, 256))
    there = lend.view(host, device="cuda:0")
    keys = {
        "whole": (),
        "rows": (2,),
        "rows that lie apart": (0, slice(None), slice(0, 128)),
        "slices and rows that lie apart": (slice(None, None, 2), slice(1, 30, 3), slice(64, 192)),
        "narrow columns": (0, slice(None), slice(None, None, 4)),
        "backwards": (slice(None, None, -1),),
    }
    for name, key in keys.items():
        for turned in (False, True):
            part, wanted = (there[key].T, host[key].T) if turned else (there[key], host[key])
            with lend.copies() as made:
                here = lend.view(part, device="cpu")
            asked = f"{name}{', transposed' if turned else ''}"
            say(f"{asked}: to the host", ["right"], "right" if here.tolist() == wanted.tolist() else "wrong")
            say(f"{asked}: counted", [str(wanted.nbytes)], str(made.bytes))
            back = lend.view(lend.view(wanted, device="cuda:0"), device="cpu")
            say(f"{asked}: to the device", ["right"], "right" if back.tolist() == wanted.tolist() else "wrong")
    plan = lend.explain(there, "memoryview", device="cpu")
    say("what the plan says of a copy", [str(there.nbytes)], str(plan.bytes_copied))
    say("a copy that nobody named", [NOT_FOR_THE_HOST], refused(lambda: lend.to(there, "memoryview")))
