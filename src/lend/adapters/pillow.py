"""Pillow: images in, by a copy that Pillow makes.

An image shows `__array_interface__`, and writes its pixels into fresh bytes whenever that is read (`Image.tobytes`,
Pillow 13 and before): what comes is never the image's own memory. So `lend.view` refuses an image unless copy=True, and
`lend.to` names the producer as the one who copies.
"""

import sys

from lend.errors import CopyRequired

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
        f"this {type(obj).__qualname__} cannot be lent as it lies: {_WHY} (producer)",
        came=f"{type(obj).__module__}.{type(obj).__qualname__}, mode {obj.mode}, {obj.size[0]} x {obj.size[1]}",
        remedy="copy=True, or lend.to(image, target): one copy by Pillow, and told",
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
        return Written(self.image.__array_interface__)


class Written:
    """The interface as it was read, once: its bytes are what is lent."""

    __slots__ = ("__array_interface__",)

    def __init__(self, interface: "dict[str, Any]") -> None:
        self.__array_interface__ = interface


def unresolved(obj: "Any") -> "Pixels | None":
    """The pixels of an image; told from its mode and size, without writing them."""
    module = sys.modules.get("PIL.Image")
    if module is None or not isinstance(obj, module.Image):
        return None
    from PIL import ImageMode

    mode = ImageMode.getmode(obj.mode)
    bands = len(mode.bands)
    height, width = obj.size[1], obj.size[0]
    return Pixels(obj, mode.typestr, (height, width) if bands == 1 else (height, width, bands))
