"""The table of what the host may touch, row by row."""

from gpu_checks import IN_PLACE, REFUSED, SIGNED, Skipped, bytes_of, check
from gpu_checks.driver import ATTRIBUTES, HOST_POINTER, KINDS, MEMORY_TYPE, SIZE, ByDLPack, Memory


def by_name(memory, view):
    """What `device="cpu"` does."""
    import lend

    data = memory.later()
    try:
        with lend.copies() as made:
            here = lend.view(view, device="cpu")
    except lend.errors.LendError:
        return REFUSED
    if here.tobytes() != data:
        return "old bytes"
    return "copied, and counted" if made.bytes == SIZE else "shared"


def expected_of(gpu, memory):
    """Names of the row by the table, what a read comes to, and what `device="cpu"` does."""
    kind, told = memory.kind, gpu.pointer(HOST_POINTER, memory.address)
    if kind == "pages of the host, called a device's":
        if gpu.attribute(ATTRIBUTES["pageable"]):
            return ["pages of the host that the device reaches"], IN_PLACE, "shared"
        return ["unknown to the driver"], REFUSED, REFUSED
    if kind == "pageable":
        return ["host"], IN_PLACE, "shared"
    if kind.startswith("managed"):
        if not gpu.attribute(ATTRIBUTES["concurrent"]):
            return ["managed, for the host while the device is idle"], SIGNED, "copied, and counted"
        return ["managed"] if kind == "managed" else ["managed", "managed, of a pool", "pinned"], IN_PLACE, "shared"
    if kind == "created on a node of the host" and gpu.pointer(MEMORY_TYPE, memory.address) != 1:
        raise Skipped("this driver does not call it the host's")
    if kind.startswith("device"):
        if told == memory.address:
            return ["device, with an address for the host"], SIGNED, "copied, and counted"
        return ["device"], REFUSED, "copied, and counted"
    return ["pinned" if told == memory.address else "the device's address of pinned memory"], IN_PLACE, "shared"


def check_kind(gpu, say, kind):
    import lend
    from lend.devices.access import access

    memory = Memory(gpu, kind)
    names, reading, named = expected_of(gpu, memory)
    producers = {"DLPack": ByDLPack(memory)}
    if kind == "pageable":
        producers["a buffer"] = memory.keeps
    else:
        producers["an interface with its stream"] = memory.told()
    before = gpu.current()
    for way, producer in producers.items():
        data = memory.later()
        if kind == "pageable":
            gpu.wait(memory.stream)  # nobody knows of it
        say(f"{way}: which row of the table", names, access(lend.view(producer)).name)
        say(
            f"{way}: a read by the host",
            [REFUSED if reading == SIGNED else reading],
            bytes_of(lend.view(producer), data),
        )
        if reading == SIGNED:
            gpu.call("cuCtxSynchronize")
            say(
                f"{way}: the same, signed for",
                [IN_PLACE],
                bytes_of(lend.view(producer, device="cpu", copy=False), data),
            )
        if kind != "pageable":
            say(f'{way}: device="cpu"', [named], by_name(memory, lend.view(producer)))
        gpu.wait(memory.stream)
    say("the current context", ["as it was"], "as it was" if gpu.current() == before else "another")


for each in KINDS:
    check("table", each)(lambda gpu, say, kind=each: check_kind(gpu, say, kind))
