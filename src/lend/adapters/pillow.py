"""Pillow: images in, by a copy that Pillow makes.

An image shows `__array_interface__`, and writes its pixels into fresh bytes whenever that is read (`Image.tobytes`,
Pillow 13 and before): what comes is never the image's own memory. So `lend.view` refuses an image unless copy=True, and
`lend.to` names the producer as the one who copies.
"""

import sys

from lend.adapters.asking import guarded
from lend.errors import CopyRequired
from lend.protocols.classes import full_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.doors import Door

_WHY = "Pillow writes its pixels into fresh bytes whenever its array interface is read"


def doors(obj: "Any") -> "list[Door] | None":
    """Refuse an image, whose only door copies; None for what else comes from Pillow."""
    pending = unresolved(obj)
    if pending is None:
        return None
    raise CopyRequired.build(
        f"this {full_name(type(obj))} cannot be lent as it lies: {_WHY} (producer)",
        came=f"{full_name(type(obj))}, mode {obj.mode}, {obj.size[0]} x {obj.size[1]}",
        remedy="lend.view(x, copy=True), or lend.to(x, target): one copy by Pillow, and told",
    )


class Pixels:
    """The pixels that Pillow has still to write out.

    Attributes
    ----------
    shape : tuple of int
    dtype : str
        The typestr.
    word, why : str
        What is pending, in a word and in a sentence.
    """

    __slots__ = ("dtype", "image", "shape", "why", "word")

    readonly = True
    alignment = 16  # of a bytes object
    door = "array interface"

    def __init__(self, image: "Any", typestr: str, shape: "tuple[int, ...]") -> None:
        self.image = image
        self.dtype = typestr
        self.shape = shape
        self.word = "producer"
        self.why = _WHY

    def resolve(self) -> "Any":
        """Let Pillow write them."""
        return Written(_write(self.image))


@guarded
def _write(image: "Any") -> "dict[str, Any]":
    found: dict[str, Any] = image.__array_interface__
    return found


class Written:
    """The interface as it was read, once: its bytes are what is lent. To messages it is what users know, an image."""

    __module__ = "PIL.Image"
    __qualname__ = "Image"
    __slots__ = ("__array_interface__",)

    def __init__(self, interface: "dict[str, Any]") -> None:
        self.__array_interface__ = interface


@guarded
def unresolved(obj: "Any") -> "Pixels | None":
    """The pixels of an image; told from its mode and size, without writing them."""
    module = sys.modules.get("PIL.Image")
    if module is None or not issubclass(type(obj), module.Image):
        return None
    from PIL import ImageMode

    mode = ImageMode.getmode(obj.mode)
    bands = len(mode.bands)
    height, width = obj.size[1], obj.size[0]
    return Pixels(obj, mode.typestr, (height, width) if bands == 1 else (height, width, bands))
