"""The wording of what is refused of memory on devices; loaded when something is refused, never before."""

from lend.errors import LendError, MalformedDescriptor, NotHostAccessible, StreamError
from lend.protocols.refusals import facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend._core.owners import Protocol

NO_CONTEXT = -3
COPY = 'lend.to(x, target, device="cpu") or lend.view(x, device="cpu"), which copies it, by name'

# row of the table -> why the host may not read such memory, and what to do
_WHY = {
    "device": ("the driver gives no address of it for the host", COPY),
    "device, with an address for the host": (
        "the driver gives an address of it for the host, of which nobody says that it is coherent or fast",
        f'copy=False beside device="cpu", if you take that upon yourself; {COPY}',
    ),
    "ROCm device, with an address for the host": (
        "HIP gives an address of it for the host, of which nobody says that it is coherent or fast",
        f'copy=False beside device="cpu", if you take that upon yourself; {COPY}',
    ),
    "managed, for the host while the device is idle": (
        "the host may touch managed memory here only while no work at all runs on the device (attribute 89 is 0)",
        f'copy=False beside device="cpu", which waits for the device: begin nothing on it while you read; {COPY}',
    ),
    "pages of the host, as a bare descriptor": (
        "the driver does not know it; here it may be memory of the host's own, but no object that lives says so",
        'the object that made it, in place of the capsule; or copy=False beside device="cpu"',
    ),
    "unknown to the driver": (
        "its driver does not know the address: it was freed, or belongs to somebody else",
        "an object that keeps its memory for as long as it is lent",
    ),
    "device, as told": (
        "its producer says so, and there is no driver in this process that could be asked (none that has begun)",
        "the library that made it, in the process that made it",
    ),
    "device, called the host's": (
        "its producer calls it memory of the host, and the driver says that it is a device's",
        "a protocol of its producer that tells the device, such as __dlpack__ or __cuda_array_interface__",
    ),
    "beyond its allocation": (
        "it reaches beyond the allocation that it begins in, by the driver's word",
        "what its producer says of it by another protocol",
    ),
    "USM device": (
        "it is device memory of SYCL, which only its device reads",
        "a copy by the library that made it (of dpctl: dpctl.tensor.asnumpy, or copy_to_host() of its memory)",
    ),
    "USM of a kind that is not told": (
        "its owner does not say of which kind it is (usm_type: device, shared or host)",
        "the object that made it, in place of a capsule; or a copy by the library that made it",
    ),
    "a handle": ("what is told of it is a handle of its device, and no address", "a copy by the library that made it"),
    "a device of another kind": (
        "there is no driver of such a device that lend knows and could ask",
        "a copy by the library that made it",
    ),
}  # fmt: skip


# what its own library copies to the host, when it is asked by name
_ASKED = ("device, as told", "USM device", "USM of a kind that is not told", "a handle", "a device of another kind")


def not_readable(shown: "Any", row: str, signed: bool) -> LendError:
    why, remedy = _WHY[row]
    if row in _ASKED and hasattr(type(getattr(getattr(shown, "owner", None), "producer", None)), "__dlpack__"):
        remedy = f'lend.to(x, target, device="cpu"), which asks its library for a copy by name; or {remedy}'
    return NotHostAccessible.build(
        f"the host may not read memory on {shown.device} ({row}): {why}"
        if not signed
        else f"the host reads memory on {shown.device} ({row}) only where you sign for it: {why}",
        wanted="memory that the host may read now",
        came=facts(shown),
        tried="the table of what the host may touch",
        remedy=remedy,
    )


def not_copied(shown: "Any", answer: str) -> LendError:
    return NotHostAccessible.build(
        f"the memory on {shown.device} was to be copied to the host by its producer, and was not",
        came=facts(shown),
        tried=f"__dlpack__(dl_device=(1, 0)) -> {answer}",
        remedy="a copy by the library that made it",
    )


def not_cut_out(shown: "Any") -> LendError:
    return NotHostAccessible.build(
        f"a part of memory on {shown.device} cannot be cut out of the copy that its producer makes of the whole, "
        "which lies in another order",
        came=facts(shown),
        remedy='lend.view(x, device="cpu") of the whole, and the part of that',
    )


def called_the_hosts(producer: "Any", protocol: "Protocol") -> LendError:
    from lend.protocols.refusals import name

    return NotHostAccessible.build(
        f"the {protocol.name} of {name(producer)} calls it the host's, and the driver says that it is a device's",
        came=name(producer),
        tried=f"{protocol.dunder} -> address",
        remedy="a protocol of its producer that tells the device, such as __dlpack__ or __cuda_array_interface__; or "
        'View.from_pointer(..., device="cuda:0")',
    )


def capturing(shown: "Any") -> LendError:
    return StreamError.build(
        "a stream is being captured into a graph, which any wait would end: nothing is waited for",
        came=facts(shown),
        remedy='sync="none", if nothing is pending on this memory; or do this before or after the capture',
    )


def no_driver(shown: "Any", kind: int, ordinal: int) -> LendError:
    from lend.adapters import advice
    from lend.device import Device

    device = Device(kind, ordinal)
    return NotHostAccessible.build(
        f"there is no driver of {device.name} in this process, which could copy to such a device",
        came=facts(shown),
        remedy=[
            f"{advice.to_device(device)}",
            "import a library that has such devices first, and let it begin: lend starts no driver",
        ],
    )


def elsewhere(shown: "Any", ordinal: int) -> LendError:
    return MalformedDescriptor.build(
        f"its producer says that it is on {shown.device}, and the driver that it is on device {ordinal}",
        came=facts(shown),
        remedy="a producer that tells the device of its memory",
    )


def no_event_there(owner: "Any") -> LendError:
    return MalformedDescriptor.build(
        "the event after which an Arrow array may be read is told at an address where nothing is",
        came=f"a device array of {owner.producer_type}",
        remedy="a producer that tells the address of its event, which lives until the array is released",
    )


def no_queue(shown: "Any") -> LendError:
    return StreamError.build(
        f"there is no queue that could be waited for: the memory on {shown.device} came with a context alone",
        came=facts(shown),
        remedy='wait for your queue and pass sync="none"',
    )


def driver_failed(shown: "Any", doing: str, error: int, name: str) -> LendError:
    if error == NO_CONTEXT:
        return LendError.build(
            f"{doing} failed: the device has no context in this process, and lend makes none ({name})",
            came=facts(shown),
            remedy="use the device once with its library first (torch.cuda.init(), cupy.cuda.Device(n).use())",
        )
    return LendError.build(
        f"{doing} failed: {name} ({error})",
        came=facts(shown),
        remedy="what the driver's documentation says of this error: one that came of earlier work is told by any call",
    )
