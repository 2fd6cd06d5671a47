"""The wording of what the device interfaces refuse; loaded when something is refused, never before."""

from lend.errors import LendError, MalformedDescriptor, StreamError, UnsupportedType
from lend.protocols.refusals import facts, name, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend._core.owners import Protocol
    from lend.device import Device


def stream(obj: "Any", protocol: "Protocol", got: "Any") -> LendError:
    why = "0 is ambiguous" if type(got) is int and got == 0 else "it is no handle of a stream"
    return StreamError.build(
        f"the {protocol.name} of {name(obj)} cannot be true: stream is {shown(got)}, and {why}",
        wanted="None (nothing is pending), 1 (legacy default), 2 (per thread) or a handle",
        came=name(obj),
        tried=f"{protocol.dunder} -> stream",
    )


def elsewhere(obj: "Any", protocol: "Protocol", announced: int) -> LendError:
    from lend.device import Device

    return MalformedDescriptor.build(
        f"the device of {name(obj)} contradicts itself: it has the {protocol.name}, and __dlpack_device__() says "
        f"{Device(announced).name}",
        came=name(obj),
        tried=f"{protocol.dunder} -> device",
        remedy="another way of its library to show the memory, such as __dlpack__",
    )


def hidden(obj: "Any", protocol: "Protocol", memory: str, here: bool) -> AttributeError:
    if not here:
        why = f"it is on {obj.device}, and this is for {memory}"
    else:
        why = f"it has no word for {obj.dtype if hasattr(obj, 'dtype') else 'it'} of this layout; DLPack may"
    return AttributeError(f"this {type(obj).__name__} has no {protocol.dunder}: {why}")


def no_number(obj: "Any", asked: str) -> LendError:
    """Of a device whose number nobody told: the interface has none, and no driver was asked."""
    return unnumbered(obj.device, facts(obj), asked)


def unnumbered(device: "Device", came: str, asked: str) -> LendError:
    return UnsupportedType.build(
        f"{asked} needs the number of the device, and only its kind is known: the memory is on {device}",
        came=came,
        remedy="the interface it came by, v.__cuda_array_interface__ or v.__sycl_usm_array_interface__; or a producer "
        "with __dlpack_device__, or View.from_pointer(..., device=(2, 0)), which say the number",
    )
